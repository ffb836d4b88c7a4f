/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ringlet run stragglers`: time that DASO saves if ranks vary, without a network. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/watch.h"
#include "tools/base/command.h"
#include "tools/base/interrupt.h"
#include "tools/base/progress.h"
#include "tools/output/output.h"
#include "tools/output/report_options.h"
#include "tools/output/sheet.h"
#include "tools/run/report.h"
#include "workload/daso/daso.h"
#include "workload/experiment/coll/lists.h"
#include "workload/program/program.h"

enum { MOST = 64 }; /* most values of a list */

typedef struct stragglers_settings {
    const char *nodes, *jitter, *overhead;
    uint32_t gpus, batches, skips, wait;
    uint64_t seed;
    double transfer;
    rlt_report_settings report;
} stragglers_settings;

#define AT(field) RLT_FIELD(stragglers_settings, field)
static const rlt_option own_options[] = {
    {"nodes", 'n', RLT_PARAM_TEXT, "N[,...]",
     "Numbers of nodes: a number, a list or a range such as 4:64:x2.", AT(nodes), .preset = "16"},
    {"jitter", 'j', RLT_PARAM_TEXT, "CV[,...]",
     "Coefficients of variation of a GPU's compute time per batch: log-normal with mean 1, independent "
     "between GPUs and batches. Numbers or percentages.",
     AT(jitter), .preset = "0,0.05,0.1,0.15,0.2,0.25,0.3"},
    {"overhead", 0, RLT_PARAM_TEXT, "X[,...]",
     "Additional time of Horovod per batch, relative to the mean compute time of a batch. Numbers or "
     "percentages.",
     AT(overhead), .preset = "0,0.1"},
    {"gpus", 'g', RLT_PARAM_COUNT, "N", "GPUs per node.", AT(gpus), .preset = "4", .min = 1, .max = 4096},
    {"batches", 'b', RLT_PARAM_COUNT, "N", "Batches.", AT(batches), .preset = "240", .min = 1,
     .max = RLT_DASO_MAX_BATCHES},
    {"skips", 0, RLT_PARAM_COUNT, "N", "Batches between global syncs, B.", AT(skips), .preset = "4", .min = 1,
     .max = RLT_DASO_MAX_SKIPS},
    {"wait", 0, RLT_PARAM_COUNT, "N",
     "Batches between sending and merging, W (default: a quarter of --skips, at least 1).", AT(wait),
     .max = RLT_DASO_MAX_SKIPS},
    {"transfer", 0, RLT_PARAM_NUMBER, "X",
     "Duration of a global sync, relative to the mean compute time of a batch.", AT(transfer), .preset = "0",
     .max = 1e9},
    {"seed", 0, RLT_PARAM_COUNT, "N", "Seed of the jitter.", AT(seed), .preset = "11"},
    {0}};
#undef AT
static const rlt_option_group groups[] = {
    {"Training", own_options, 0},
    {"Output", rlt_format_options, offsetof(stragglers_settings, report)},
    {NULL, rlt_quiet_options, offsetof(stragglers_settings, report)},
    {0}};

static const rlt_column columns[] = {
    {"nodes", "nodes", NULL, RLT_COL_COUNT, 7, 0, "nodes that train together"},
    {"jitter", "jitter", "%", RLT_COL_PERCENT, 6, 1,
     "standard deviation of a batch's compute time / its mean"},
    {"overhead", "overhead", "%", RLT_COL_PERCENT, 8, 1,
     "time that a synchronisation costs / mean compute time of a batch"},
    {"horovod_batches", "Horovod", "batches", RLT_COL_REAL, 10, 2,
     "training time, synchronised after each batch, in mean compute times of a batch"},
    {"daso_batches", "DASO", "batches", RLT_COL_REAL, 10, 2,
     "training time, synchronised by DASO, in mean compute times of a batch"},
    {"saving", "saved", "%", RLT_COL_PERCENT, 6, 1, "1 - DASO / Horovod"},
    {"reference", "reference", "%", RLT_COL_PERCENT, 9, 1, "saving as another implementation drew it"},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* The values of the three lists. Each list is malloc'ed. */
typedef struct cases {
    uint64_t *nodes;
    double *overheads, *jitters;
    uint32_t n_nodes, n_overheads, n_jitters;
} cases;

static int read_cases(const stragglers_settings *s, cases *c, rlt_error *err)
{
    uint64_t most = RLT_MAX_RANKS / s->gpus;
    int rc = rlt_parse_counts(s->nodes, "--nodes", MOST, &c->nodes, &c->n_nodes, err);
    for (uint32_t i = 0; i < c->n_nodes && !rc; i++)
        if (c->nodes[i] < 1 || c->nodes[i] > most)
            rc = rlt_fail(err, RLT_EUSAGE, "--nodes",
                          "expected whole numbers from 1 to %" PRIu64 ", got '%" PRIu64 "'", most,
                          c->nodes[i]);
    rc = rc ? rc : rlt_parse_shares(s->jitter, "--jitter", 10, MOST, &c->jitters, &c->n_jitters, err);
    return rc ? rc
              : rlt_parse_shares(s->overhead, "--overhead", 1e9, MOST, &c->overheads, &c->n_overheads, err);
}

static void free_cases(cases *c)
{
    free(c->nodes);
    free(c->overheads);
    free(c->jitters);
}

static int put_row(rlt_sheet *sheet, const rlt_straggler *s, rlt_error *err)
{
    rlt_straggler_result r;
    double reference;
    int rc = rlt_straggler_run(s, &r, err);
    if (rc)
        return rc;
    rlt_value v[COLUMNS] = {rlt_count(s->nodes),
                            rlt_real(s->jitter),
                            rlt_real(s->overhead),
                            rlt_real(r.baseline),
                            rlt_real(r.daso),
                            rlt_real(r.saving),
                            rlt_straggler_reference(s, &reference) ? rlt_real(reference) : rlt_absent()};
    rlt_sheet_row(sheet, v);
    return 0;
}

static int put_rows(rlt_sheet *sheet, rlt_straggler s, const cases *c, rlt_error *err)
{
    rlt_progress progress;
    uint64_t done = 0, all = (uint64_t)c->n_nodes * c->n_overheads * c->n_jitters;
    int rc = 0;
    rlt_progress_start(&progress, "stragglers");
    for (uint64_t i = 0; i < all && !rc; i++) {
        s.jitter = c->jitters[i % c->n_jitters];
        s.overhead = c->overheads[i / c->n_jitters % c->n_overheads];
        s.nodes = (uint32_t)c->nodes[i / c->n_jitters / c->n_overheads];
        rc = put_row(sheet, &s, err);
        rlt_progress_update(&progress, ++done, all);
    }
    rlt_progress_clear();
    return rc;
}

static int report(const rlt_parsed *args, const stragglers_settings *s, const cases *c, rlt_error *err)
{
    rlt_watch watch = rlt_interrupt_watcher();
    rlt_sheet sheet;
    uint32_t quarter = s->skips < 8 ? 1 : s->skips / 4;
    rlt_straggler one = {.gpus = s->gpus,
                         .batches = s->batches,
                         .skips = s->skips,
                         .wait = rlt_given(args, "wait") ? s->wait : quarter,
                         .transfer = s->transfer,
                         .seed = s->seed,
                         .watch = &watch};
    int rc = rlt_sheet_open(&sheet, &s->report, "run stragglers", args, NULL, err);
    if (rc)
        return rc;
    if (sheet.format == RLT_FORMAT_TABLE)
        fprintf(sheet.file.stream,
                "# %u GPUs a node, %u batches, a global sync every %u, merged after %u; seed %" PRIu64 "\n",
                one.gpus, one.batches, one.skips, one.wait, one.seed);
    rlt_sheet_heading(&sheet, columns, COLUMNS);
    rc = put_rows(&sheet, one, c, err);
    return rlt_sheet_close(
        &sheet, rc,
        "# batches: relative to mean compute; saved: 1 - DASO / Horovod; reference: another implementation's "
        "random numbers,\n# which differ by up to a point\n",
        err);
}

static int run(const rlt_parsed *args, void *settings, rlt_error *err)
{
    cases c = {0};
    int rc = read_cases(settings, &c, err);
    if (!rc)
        rc = report(args, settings, &c, err);
    free_cases(&c);
    return rc;
}

static const rlt_columns table = {"Stragglers: `ringlet run stragglers`", columns, COLUMNS};
static const rlt_columns *const tables[] = {&table, NULL};

const rlt_command rlt_run_stragglers = {
    .name = "stragglers",
    .summary = "time saved by DASO if ranks vary, from waiting alone",
    .description =
        "GPUs take different times for a batch. Under Horovod all GPUs wait for the slowest in every batch. "
        "Under DASO a node waits for the slowest of its own GPUs, and for other nodes only when a global "
        "sync is merged. Both times are summed batch by batch, with the same random numbers and without a "
        "network. There is one row for each number of nodes, overhead and jitter. The defaults are the 16 "
        "nodes for which another implementation's savings are known.\n\n'ringlet run --strategy daso' "
        "replays whole trainings over a network instead.",
    .example = "ringlet run stragglers --nodes 4,16,64 --jitter 0.18",
    .options = groups,
    .settings_size = sizeof(stragglers_settings),
    .run = run,
    .tables = tables,
};
