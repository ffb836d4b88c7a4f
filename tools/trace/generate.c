/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ringlet trace generate`: writes a generated workload as a trace, for other simulators. */
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "tools/base/command.h"
#include "tools/base/message.h"
#include "tools/output/output.h"
#include "tools/output/report_options.h"
#include "tools/trace/trace.h"
#include "workload/experiment/run/daso.h"
#include "workload/experiment/run/run.h"
#include "workload/experiment/run/training.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/program/program.h"
#include "workload/training/training.h"

typedef struct generate_settings {
    rlt_run_settings run; /* its model, accelerator, layout, train, strategy */
    rlt_texts set;
    uint64_t ranks;
    rlt_trace_write_settings write;
} generate_settings;

#define AT(field) .offset = offsetof(generate_settings, field)
static const rlt_option model_options[] = {
    {"model", 'm', RLT_PARAM_TEXT, "MODEL",
     "Model that 'ringlet list models' shows, with settings after a colon, or a table of layers; as in "
     "'ringlet run'.",
     AT(run.model), .preset = "transformer"},
    {"set", 's', RLT_PARAM_LIST, "NAME=VALUE",
     "Setting of the model or its training, as after --model: layers=24, hidden=1024, sequence=2048, "
     "ranks=8, microbatch=4, bucket=25MiB. May be repeated.",
     AT(set), .named = true},
    {"accelerator", 0, RLT_PARAM_TEXT, "NAME",
     "Accelerator: a file, or a name that 'ringlet list accelerators' shows. "
     "Default: " RLT_DEFAULT_ACCELERATOR ".",
     AT(run.accelerator)},
    {"layout", 'l', RLT_PARAM_TEXT, "LIST", "Parallel layout: dp=64,tp=8,pp=4, as in 'ringlet run'.",
     AT(run.layout)},
    {"train", 0, RLT_PARAM_TEXT, "LIST", "Settings of the training, as in 'ringlet run'.", AT(run.train)},
    {"strategy", 0, RLT_PARAM_TEXT, "NAME", "Training strategy by name, as in 'ringlet run'.",
     AT(run.strategy)},
    {"ranks", 0, RLT_PARAM_COUNT, "N", "Number of ranks (default: the ranks of the layout, with dp=1).",
     AT(ranks)},
    {"any-memory", 0, RLT_PARAM_FLAG, NULL, "Continue if the training does not fit into memory.",
     AT(run.any_memory)},
    {0}};
#undef AT
static const rlt_option_group options[] = {
    {"Model", model_options, 0},
    {"Output", rlt_trace_write_options, offsetof(generate_settings, write)},
    {0}};

/* Returns "NAME:given,set,...", malloc'ed. */
static int with_settings(const char *model, const rlt_texts *set, char **out, rlt_error *err)
{
    size_t n = strlen(model) + 1;
    for (uint32_t i = 0; i < set->n; i++)
        n += strlen(set->items[i]) + 1;
    *out = malloc(n);
    if (!*out)
        return rlt_nomem(err);
    strcpy(*out, model);
    for (uint32_t i = 0; i < set->n; i++) {
        strcat(*out, strchr(*out, ':') ? "," : ":");
        strcat(*out, set->items[i]);
    }
    return 0;
}

static int training(const generate_settings *s, rlt_program **out, rlt_error *err)
{
    rlt_run_settings how = s->run;
    char *spec = NULL;
    rlt_model model = {0};
    rlt_accelerator accelerator;
    rlt_training t;
    uint64_t ranks = 1;
    int rc = with_settings(s->run.model, &s->set, &spec, err);
    if (rc)
        return rc;
    how.model = spec;
    if ((rc = rlt_training_read(&how, &model, &accelerator, &t, err)))
        goto out;
    for (int a = 0; a < RLT_AXES_OF_LAYOUT; a++)
        ranks *= t.size[a] ? t.size[a] : 1;
    if (t.ranks)
        ranks = t.ranks;
    if (s->ranks)
        ranks = s->ranks;
    if (t.order_auto || ranks > UINT32_MAX)
        rc = rlt_fail(err, RLT_EUSAGE, "--layout",
                      t.order_auto ? "order=auto needs a network: 'ringlet run' shows its choice"
                                   : "too many ranks");
    if (!rc && !(rc = rlt_training_plan(&t, (uint32_t)ranks, err)) && !s->run.any_memory)
        rc = rlt_training_fits(&t, err);
    if (!rc)
        rc = rlt_training_program(&t, out, err);
    if (!rc)
        rlt_note("%.4g million parameters; %u rank%s on %s", (double)model.parameters * 1e-6,
                 rlt_training_ranks(&t), rlt_s(rlt_training_ranks(&t)), accelerator.name);
    if (!rc && accelerator.overlap_slowdown > 1)
        rlt_note("communication slows compute on %s; a trace does not hold this: replay with "
                 "--overlap-slowdown %g",
                 accelerator.name, accelerator.overlap_slowdown);
out:
    free(spec);
    rlt_model_free(&model);
    return rc;
}

static int run(const rlt_parsed *args, void *settings, rlt_error *err)
{
    const generate_settings *s = settings;
    rlt_program *p = NULL;
    (void)args;
    if (rlt_run_is_daso(&s->run))
        return rlt_fail(err, RLT_EUSAGE, "--strategy", "daso is a whole training, not one iteration");
    int rc = training(s, &p, err);
    if (rc)
        return rc;
    rc = rlt_trace_write(p, &s->write, err);
    rlt_program_free(p);
    return rc;
}

const rlt_command rlt_trace_generate = {
    .name = "generate",
    .summary = "a trace from the description of a model",
    .min_operands = 0,
    .max_operands = 0,
    .description =
        "Generates a training iteration of a model in a layout, as simulated by 'ringlet run', and writes it "
        "as Chakra execution traces. Compute times follow from the FLOPs of each layer and the speed of the "
        "accelerator.",
    .example = "ringlet trace generate --set ranks=8 --set layers=24 -o gpt/\n"
               "ringlet trace generate --model gpt2-small --accelerator h100 --layout dp=4,pp=2 -o gpt2/",
    .options = options,
    .settings_size = sizeof(generate_settings),
    .run = run,
};
