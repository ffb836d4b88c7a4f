/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ringlet trace generate`: a workload from its description, for others to run. */
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "tools/base/command.h"
#include "tools/base/message.h"
#include "tools/run/daso.h"
#include "tools/run/run.h"
#include "tools/run/training.h"
#include "tools/trace/trace.h"
#include "workload/models/accelerator.h"
#include "workload/models/generator.h"
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
     "transformer: data-parallel, compute from its FLOPs, gradients all-reduced in buckets during the "
     "backward pass. With --accelerator any that 'ringlet list models' shows, or a table of layers.",
     AT(run.model), .preset = "transformer"},
    {"set", 's', RLT_PARAM_LIST, "NAME=VALUE",
     "A property of the transformer, such as ranks=8, layers=24, hidden=1024, sequence=2048, bucket=25MiB "
     "or peak=150TFLOPS; a wrong name lists them all. May be repeated.",
     AT(set), .named = true},
    {"accelerator", 0, RLT_PARAM_TEXT, "NAME",
     "What the model runs on: a file, or a name that 'ringlet list accelerators' shows.",
     AT(run.accelerator)},
    {"layout", 'l', RLT_PARAM_TEXT, "LIST", "How the model is spread: dp=64,tp=8,pp=4, as in 'ringlet run'.",
     AT(run.layout)},
    {"train", 0, RLT_PARAM_TEXT, "LIST", "How it trains, as in 'ringlet run'.", AT(run.train)},
    {"strategy", 0, RLT_PARAM_TEXT, "NAME", "A way of training by name, as in 'ringlet run'.",
     AT(run.strategy)},
    {"ranks", 0, RLT_PARAM_COUNT, "N",
     "How many there are, with --accelerator (default: as many as the layout has, dp being 1).", AT(ranks)},
    {"any-memory", 0, RLT_PARAM_FLAG, NULL, "Go on where the training does not fit into the memory.",
     AT(run.any_memory)},
    {0}};
#undef AT
static const rlt_option_group options[] = {
    {"Model", model_options, 0},
    {"Output", rlt_trace_write_options, offsetof(generate_settings, write)},
    {0}};

static int transformer(const rlt_texts *set, rlt_program **out, rlt_error *err)
{
    rlt_transformer m = rlt_transformer_default();
    int rc;
    for (uint32_t i = 0; i < set->n; i++) {
        char name[64];
        const char *value;
        if ((rc = rlt_split_setting(set->items[i], name, sizeof name, &value, "--set", err)))
            return rc;
        if ((rc = rlt_transformer_set(&m, name, value, err))) {
            rlt_error_prefix(err, "--set");
            return rc == RLT_ENOMEM ? rc : RLT_EUSAGE;
        }
    }
    if ((rc = rlt_transformer_program(&m, out, err)))
        return rc;
    rlt_note("%.4g million parameters on each of %u ranks", (double)rlt_transformer_parameters(&m) * 1e-6,
             m.ranks);
    return 0;
}

static int training(const generate_settings *s, rlt_program **out, rlt_error *err)
{
    rlt_model model = {0};
    rlt_accelerator accelerator;
    rlt_training t;
    uint64_t ranks = 1;
    int rc = rlt_training_read(&s->run, &model, &accelerator, &t, err);
    if (rc)
        goto out;
    for (int a = 0; a < RLT_AXES_OF_LAYOUT; a++)
        ranks *= t.size[a] ? t.size[a] : 1;
    if (s->ranks)
        ranks = s->ranks;
    if (t.order_auto || ranks > UINT32_MAX)
        rc = rlt_fail(err, RLT_EUSAGE, "--layout",
                      t.order_auto ? "order=auto needs a network: 'ringlet run' tells which it takes"
                                   : "too many ranks");
    if (!rc && !(rc = rlt_training_plan(&t, (uint32_t)ranks, err)) && !s->run.any_memory)
        rc = rlt_training_fits(&t, err);
    if (!rc)
        rc = rlt_training_program(&t, out, err);
out:
    rlt_model_free(&model);
    return rc;
}

static int run(const rlt_parsed *args, void *settings, rlt_error *err)
{
    const generate_settings *s = settings;
    rlt_program *p = NULL;
    bool trains = s->run.accelerator != NULL;
    int rc = 0;
    (void)args;
    if (rlt_run_is_daso(&s->run))
        return rlt_fail(err, RLT_EUSAGE, "--strategy", "daso is a whole training, not an iteration");
    if (trains && s->set.n)
        return rlt_fail(err, RLT_EUSAGE, "--set",
                        "is of the transformer; with --accelerator use --model "
                        "NAME:setting=value, --layout and --train");
    if (!trains && (s->run.layout || s->run.train || s->run.strategy || s->ranks))
        return rlt_fail(err, RLT_EUSAGE, NULL,
                        "--layout, --train, --strategy and --ranks need --accelerator");
    if (!trains && strcmp(s->run.model, "transformer") != 0)
        return rlt_fail(err, RLT_EUSAGE, "--model", "%s needs --accelerator", s->run.model);
    if ((rc = trains ? training(s, &p, err) : transformer(&s->set, &p, err)))
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
        "Makes a training iteration from a description and writes it as Chakra execution traces, for ringlet "
        "and others. Without --accelerator compute times follow from the FLOPs of each layer (Narayanan et "
        "al., arXiv 2104.04473, section 5.1) and the rate that --set peak=... gives.\n\n"
        "With --accelerator it is any model in any layout, as 'ringlet run' simulates it.",
    .example = "ringlet trace generate --set ranks=8 --set layers=12 -o gpt/\n"
               "ringlet trace generate --model gpt2-small --accelerator h100 --layout dp=4,pp=2 -o gpt2/",
    .options = options,
    .settings_size = sizeof(generate_settings),
    .run = run,
};
