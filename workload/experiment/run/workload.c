/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The workload of a run: recorded or generated. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/words.h"
#include "workload/experiment/run/run.h"
#include "workload/experiment/run/workload.h"
#include "workload/models/model.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/setup/locate.h"

#define AT(field) .offset = offsetof(rlt_run_settings, field)
const rlt_option rlt_workload_options[] = {
    {"trace", 'T', RLT_PARAM_LIST, "TRACE",
     "The recording: a directory, files (one per rank), a PREFIX whose files are PREFIX.<rank>.et, or a name "
     "that 'ringlet list traces' shows. The format is recognised by content; 'ringlet list readers' shows "
     "the known ones.",
     AT(trace)},
    {"model", 'm', RLT_PARAM_TEXT, "MODEL",
     "Train a model instead of replaying a trace: a name that 'ringlet list models' shows, a family with "
     "settings (transformer:layers=24,hidden=1024), a config.json, or a table of layers. Settings of the "
     "training may follow as well: ranks=4,microbatch=8. One rank per accelerator unless ranks=N.",
     AT(model)},
    {"keep-waits", 0, RLT_PARAM_FLAG, NULL,
     "Replay communication with its recorded durations, waiting included, instead of simulating it. "
     "Communication then counts as compute.",
     AT(keep_waits)},
    {0}};
#undef AT

static bool sets(const char *list, const char *name)
{
    const char *item;
    size_t length, n = strlen(name);
    while (list && (item = rlt_next_item(&list, ',', &length)))
        if (length > n && memcmp(item, name, n) == 0 && item[n] == '=')
            return true;
    return false;
}

int rlt_workload_check(const rlt_run_settings *s, const char *operand, rlt_error *err)
{
    bool traced = s->trace.n || operand, jobs = s->jobs.job.n != 0;
    if (!s->model && (s->accelerator || s->layout || s->train || s->strategy || s->map || s->any_memory ||
                      (s->fold && !traced) || s->fold_stages))
        return rlt_fail(err, RLT_EUSAGE, s->accelerator ? "--accelerator" : NULL,
                        s->accelerator ? "needs --model"
                                       : "--layout, --train, --strategy, --map, --any-memory and "
                                         "--fold-stages need --model, --fold that or --trace");
    if (s->map && s->sim.placement)
        return rlt_fail(err, RLT_EUSAGE, "--map", "places ranks: it does not go with --placement");
    if (s->map && (sets(s->layout, "order") || sets(s->train, "order")))
        return rlt_fail(err, RLT_EUSAGE, "--map",
                        "orders the axes of the layout: it does not go with order=");
    if (traced && s->model)
        return s->trace.n
                   ? rlt_fail(err, RLT_EUSAGE, "--trace", "does not go with --model: give one of them")
                   : rlt_fail(err, RLT_EUSAGE, operand,
                              "is a trace, which does not go with --model: give one of them (write lists "
                              "with commas and no blanks)");
    if (!traced && !s->model && !jobs)
        return rlt_fail(err, RLT_EUSAGE, NULL, "expected --trace, --model or --job");
    if (s->verify_fold && !s->fold && !s->fold_stages)
        return rlt_fail(err, RLT_EUSAGE, "--verify-fold", "needs --fold or --fold-stages");
    if ((s->fold || s->fold_stages) && jobs)
        return rlt_fail(err, RLT_EUSAGE, "--fold", "is for a single workload: it does not go with --job");
    if (s->model && s->recording.ideal)
        return rlt_fail(err, RLT_EUSAGE, "--ideal", "needs --trace: a generated workload has no stragglers");
    return 0;
}

int rlt_workload_trace(const rlt_run_settings *s, char *const *operands, uint32_t n_operands,
                       const rlt_read_options *o, rlt_program **out, rlt_error *err)
{
    const rlt_texts *given = &s->trace;
    const char **specs = calloc((size_t)given->n + n_operands + 1, sizeof *specs);
    uint32_t n = 0;
    if (!specs)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < given->n; i++)
        specs[n++] = given->items[i];
    for (uint32_t i = 0; i < n_operands; i++)
        specs[n++] = operands[i];
    int rc = rlt_find_trace(specs, n, o, out, err);
    free(specs);
    return rc;
}
