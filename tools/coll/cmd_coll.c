/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet coll: one simulation for each collective, size and algorithm, with a table like that of nccl-tests.
 * This file holds the options. */
#include <string.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/watch.h"
#include "sim/windows.h"
#include "tools/base/command.h"
#include "tools/base/commands.h"
#include "tools/base/interrupt.h"
#include "tools/base/pool.h"
#include "tools/coll/coll.h"
#include "tools/coll/row.h"
#include "tools/coll/tenants.h"
#include "tools/output/output.h"
#include "tools/output/report_options.h"
#include "workload/experiment/coll/coll.h"
#include "workload/setup/settings.h"

typedef struct coll_settings {
    rlt_coll_settings coll; /* must be first: sweeps read it there */
    rlt_report_settings report;
    const char *plot, *study, *export, *as;
    uint64_t jobs;
    rlt_time series_ps;
    bool why, all;
} coll_settings;

#define AT(field) .offset = offsetof(coll_settings, field)
static const rlt_option own_options[] = {
    {"why", 0, RLT_PARAM_FLAG, NULL,
     "Show the algorithms, protocols and channels that a tuned endpoint chose from, with its estimate for "
     "each, and at which of the sizes between the first and the last one the choice changes. Like NCCL's "
     "tuner it predicts and does not measure: its choice is not always the fastest.",
     AT(why), .unrecorded = true},
    {"all", 0, RLT_PARAM_FLAG, NULL,
     "Show all rows of a table that compares all algorithms at several sizes. By default it has the fastest "
     "of each size. CSV and JSON always have all.",
     AT(all), .unrecorded = true},
    {"plot", 0, RLT_PARAM_TEXT, "FILE",
     "Also plot time and bus bandwidth over size as SVG: a line per algorithm, logarithmic axes, the bound "
     "dashed.",
     AT(plot), .unrecorded = true, .writes = true},
    {"jobs", 'j', RLT_PARAM_COUNT, "N",
     "Rows simulated at the same time, each in a thread with its own memory (default: one per processor). "
     "The output does not depend on it.",
     AT(jobs), .min = 1, .max = RLT_POOL_THREADS, .unrecorded = true},
    {"threads", 0, RLT_PARAM_COUNT, "N",
     "Threads that simulate one row together, each a part of the network (--network packet without "
     "back-pressure and spraying) [1]. The output does not depend on it. Use it for few large rows, --jobs "
     "for many.",
     AT(coll.threads), .min = 1, .max = RLT_MAX_PARTS, .unrecorded = true},
    {"study", 0, RLT_PARAM_TEXT, "NAME", "Studies are run by 'ringlet sweep NAME'.", AT(study),
     .unrecorded = true},
    {"export-plan", 0, RLT_PARAM_TEXT, "FILE",
     "Write the plan of the collective, size and algorithm to this file. - is standard output; then nothing "
     "is simulated.",
     AT(export), .unrecorded = true, .writes = true},
    {"as", 0, RLT_PARAM_WORD, "FORMAT",
     "Format of --export-plan. json is exact; msccl lacks in-network transfers; goal has the messages of "
     "this size without their contents.",
     AT(as), .preset = "json", .words = "json|msccl|goal", .unrecorded = true},
    {0}};
#undef AT

static const rlt_option_group options[] = {
    {"What to run", rlt_coll_options, offsetof(coll_settings, coll)},
    {NULL, own_options, 0},
    {NULL, rlt_quiet_options, offsetof(coll_settings, report)},
    {"Where and how", rlt_settings_options, offsetof(coll_settings, coll) + offsetof(rlt_coll_settings, sim)},
    {"Output", rlt_format_options, offsetof(coll_settings, report)},
    {"Links", rlt_link_options, offsetof(coll_settings, report)},
    {NULL, rlt_series_options, offsetof(coll_settings, series_ps)},
    {0}};

/* Loads the request. Without --algorithm all algorithms are compared, unless a plan or the links of one row
 * are written. */
static int open_all(rlt_coll_ask *ask, const coll_settings *s, rlt_error *err)
{
    int rc = rlt_coll_open(ask, !s->report.links_csv && !s->export, err);
    if (!rc && s->report.links_csv && (uint64_t)ask->n_cases * ask->n_algorithms > 1)
        rc = rlt_fail(err, RLT_EUSAGE, "--links-csv", "is for one collective, size and algorithm");
    return rc;
}

static int run(const rlt_parsed *args, void *settings, rlt_error *err)
{
    const coll_settings *s = settings;
    rlt_watch watch = rlt_interrupt_watcher();
    rlt_coll_ask ask = {.settings = &s->coll, .args = args, .watch = &watch};
    if (s->study)
        return rlt_fail(err, RLT_EUSAGE, "--study",
                        "studies are run by 'ringlet sweep %s', with the same options", s->study);
    int rc = open_all(&ask, s, err);
    if (!rc && s->export)
        rc = rlt_coll_plan_export(&ask, s->export, s->as, err);
    if (!rc && !(s->export && strcmp(s->export, "-") == 0)) {
        rlt_coll_output output = {.report = &s->report,
                                  .series_ps = s->series_ps,
                                  .jobs = rlt_pool_threads(s->jobs),
                                  .plot = s->plot,
                                  .why = s->why,
                                  .all = s->all};
        rc = rlt_coll_table(&ask, &output, err);
    }
    rlt_coll_close(&ask);
    return rc;
}

static const rlt_command *const verbs[] = {&rlt_coll_arithmetic, NULL};

static const rlt_columns row_table = {"Rows of `ringlet coll`: JSON `results[]`, CSV", rlt_row_columns,
                                      RLT_ROW_COLUMNS};
static const rlt_columns *const tables[] = {&row_table, &rlt_tenant_columns, NULL};

const rlt_command rlt_cmd_coll = {
    .name = "coll",
    .summary = "one collective at many sizes: a table like that of nccl-tests",
    .description =
        "Simulates collectives over a network, one row for each collective, size and algorithm. A row has "
        "the time, the lower bound for any algorithm, and the busiest link. Bandwidths are those of "
        "nccl-tests: algbw = bytes / time, busbw = algbw x factor. The fastest algorithm of each size is "
        "marked with *.\n\nEach run is checked: all bytes offered arrive, no link exceeds its capacity, no "
        "time beats the bound. Otherwise the exit status is 1.",
    .example = "ringlet coll -t 'ring:4@200GB/s,500ns*switch:8@50GB/s,500ns' -c all_reduce -a all -b "
               "1MiB:1GiB:x4",
    .options = options,
    .settings_size = sizeof(coll_settings),
    .run = run,
    .verbs = verbs,
    .tables = tables,
};
