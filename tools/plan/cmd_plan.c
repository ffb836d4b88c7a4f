/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet plan: the best layout of a training on a cluster, with a proof. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/watch.h"
#include "tools/base/command.h"
#include "tools/base/commands.h"
#include "tools/base/interrupt.h"
#include "tools/base/progress.h"
#include "tools/output/report_options.h"
#include "tools/plan/plan.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/experiment/run/run.h"
#include "workload/experiment/run/training.h"
#include "workload/experiment/run/workload.h"
#include "workload/plan/plan.h"
#include "workload/replay/failures.h"
#include "workload/setup/settings.h"

#define AT(field) .offset = offsetof(rlt_plan_asked, field)
static const rlt_option own_options[] = {
    {"within", 0, RLT_PARAM_TEXT, "SHARE",
     "Find all layouts within this share of the fastest, such as 3%. Measured times differ by a few per cent "
     "between two runs.",
     AT(within), .preset = "0"},
    {"gap", 0, RLT_PARAM_TEXT, "SHARE",
     "Stop when the fastest layout found is at most this share slower than the optimum can be.", AT(gap),
     .preset = "0"},
    {"headroom", 0, RLT_PARAM_TEXT, "SHARE", "Leave this share of the memory free, such as 5%.", AT(headroom),
     .preset = "0"},
    {"top", 0, RLT_PARAM_COUNT, "N", "Show at most N layouts.", AT(top), .preset = "10", .min = 1},
    {"most", 0, RLT_PARAM_COUNT, "N", "Simulate at most N layouts; the result says how far the proof is.",
     AT(most)},
    {"verify", 0, RLT_PARAM_FLAG, NULL,
     "Simulate the layouts shown with all ranks, too. The proof is about folded times.", AT(verify)},
    {"quiet", 'q', RLT_PARAM_FLAG, NULL, "Show no progress.", AT(quiet), .unrecorded = true},
    {"robust", 0, RLT_PARAM_TEXT, "NAME=LOW:HIGH,...",
     "Find the layout with the least worst regret over what is uncertain: factors on the bandwidth of the "
     "outermost dimension, on the efficiency of accelerators, and on the half_sizes of kernels, such as "
     "bandwidth=0.1:1,efficiency=0.8:1.1. Cases are the corners of these ranges, and 1.",
     AT(robust)},
    {"measured", 0, RLT_PARAM_TEXT, "FILE",
     "Learn from your own runs, a CSV file with columns such as tp, pp, dp, microbatch, zero and seconds: "
     "factors on the bandwidth of the outermost dimension, on the efficiency of accelerators, and on "
     "half_sizes. The layouts are those under these factors, "
     "within 3% of the fastest unless --within says otherwise, and one of them is to be measured next.",
     AT(measured)},
    {"failures", 0, RLT_PARAM_TEXT, "NAME=TIME,...",
     "Show the expected time of an iteration when accelerators fail, and the goodput. "
     "mtbf=1000h,checkpoint=60s,restart=5min,interval=1h as for a run; without interval, the best one.",
     AT(run.faults.failures)},
    {"iterations", 0, RLT_PARAM_COUNT, "N", "Iterations of the whole run, for --failures. Default: endless.",
     AT(run.faults.iterations), .min = 1},
    {0}};
#undef AT

#define RUN(field) offsetof(rlt_plan_asked, run) + offsetof(rlt_run_settings, field)
static const rlt_option_group groups[] = {{"Search", own_options, 0},
                                          {"Training", rlt_training_options, offsetof(rlt_plan_asked, run)},
                                          {"Workload", rlt_workload_options, offsetof(rlt_plan_asked, run)},
                                          {"Network", rlt_settings_options, RUN(sim)},
                                          {"What if", rlt_what_if_options, offsetof(rlt_plan_asked, run)},
                                          {"Report", rlt_format_options, offsetof(rlt_plan_asked, report)},
                                          {0}};
#undef RUN

/* Reads a share: "3%" or "0.03". */
static int read_share(const char *text, const char *option, double most, double *out, rlt_error *err)
{
    char *end;
    double x = strtod(text, &end);
    bool percent = *end == '%';
    x /= percent ? 100 : 1;
    if (end == text || end[percent] || !isfinite(x) || x < 0 || x > most)
        return rlt_fail(err, RLT_EUSAGE, option, "expected a share such as 3%% or 0.03, at most %g, got '%s'",
                        most, text);
    *out = x;
    return 0;
}

/* Refuses options with which ranks differ, or which a layout takes the place of. */
static int check(const rlt_parsed *args, const rlt_plan_asked *s, rlt_error *err)
{
    static const char *const refused[] = {"trace", "map",        "fold",       "fold-stages", "any-memory",
                                          "until", "rank-delay", "link-scale", "timing",      "no-skew"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (rlt_given(args, refused[i]))
            return rlt_fail(err, RLT_EUSAGE, refused[i], "is no option of a search for layouts");
    if (!s->run.model)
        return rlt_fail(err, RLT_EUSAGE, "--model", "is missing: a model such as llama3-70b");
    return 0;
}

static void count(void *ctx, uint64_t done, uint64_t total)
{
    rlt_progress_update(ctx, done, total);
}

const rlt_watch *rlt_plan_watch_begin(rlt_plan_watch *w, const rlt_plan_asked *s)
{
    *w = (rlt_plan_watch){.watch = rlt_interrupt_watcher(), .shown = !s->quiet};
    if (w->shown) {
        rlt_progress_start(&w->bar, "layouts simulated");
        w->watch.ctx = &w->bar;
        w->watch.progress = count;
    }
    return &w->watch;
}

void rlt_plan_watch_end(rlt_plan_watch *w)
{
    if (w->shown)
        rlt_progress_end(&w->bar);
}

static int search(rlt_layouts *l, const rlt_plan_asked *s, const rlt_layout_search *how, rlt_error *err)
{
    rlt_plan_watch watch;
    rlt_layout_search p = *how;
    p.watch = rlt_plan_watch_begin(&watch, s);
    int rc = rlt_layouts_find(l, &p, err);
    rlt_plan_watch_end(&watch);
    return rc;
}

static int plan(const rlt_parsed *args, void *settings, rlt_error *err)
{
    const rlt_plan_asked *s = settings;
    rlt_layouts l = {0};
    rlt_layout_search how = {.most = s->most};
    rlt_planned *rows = NULL;
    uint32_t n = 0, shown = 0;
    rlt_failures failures;
    int rc = check(args, s, err);
    if (rc || (rc = rlt_plan_failures(s, &failures, err)) ||
        (rc = read_share(s->within, "--within", 10, &how.within, err)) ||
        (rc = read_share(s->gap, "--gap", 1, &how.gap, err)) ||
        (rc = read_share(s->headroom, "--headroom", 1, &how.headroom, err)))
        return rc;
    rc = rlt_layouts_open(&l, &s->run, args, err);
    if (rc)
        goto out;
    if (s->robust || s->measured) {
        rc = (s->measured ? rlt_plan_measured : rlt_plan_robust)(&l, s, args, &how, err);
        goto out;
    }
    rc = search(&l, s, &how, err);
    if (rc && rc != RLT_ECANCELLED)
        goto out;
    double limit = l.result.n ? (double)l.result.points[0].time_ps * (1 + how.within) : 0;
    for (n = 0; n < l.result.n && n < s->top; n++)
        if (how.within > 0 && (double)l.result.points[n].time_ps > limit)
            break;
    rows = calloc((size_t)n + 1, sizeof *rows);
    int failed = rows ? 0 : rlt_nomem(err);
    for (; shown < n && !failed && !rlt_interrupted(); shown++) {
        failed = rlt_plan_run(&l, s, args, &l.result.points[shown], &rows[shown], err);
        failed = failed ? failed : rlt_plan_goodput(&l, s, &rows[shown], err);
    }
    rc = failed && failed != RLT_ECANCELLED ? failed : rlt_plan_report(&l, s, args, rows, shown, rc, err);
out:
    for (uint32_t i = 0; rows && i < n; i++)
        free(rows[i].command);
    free(rows);
    rlt_layouts_close(&l);
    return rc;
}

static const rlt_columns *const tables[] = {&rlt_plan_columns, &rlt_plan_robust_columns,
                                            &rlt_plan_measured_columns, NULL};

const rlt_command rlt_cmd_plan = {
    .name = "plan",
    .summary = "the best layout of a training on a cluster, with a proof",
    .description =
        "Searches the layouts of a training: sizes of groups, microbatch, recomputation, order of "
        "the groups, schedule, chunks and ZeRO stage. --layout and --train fix an axis (tp=8), give a list "
        "(tp=2+4+8), a range (pp=1:16) or all values (microbatch=auto); axes that are not named are open.\n\n"
        "The fastest is proven: each other layout was simulated, or does not fit the memory, or cannot be "
        "faster than a bound. The last lines count them. Each row has the command that runs it.",
    .example = "ringlet plan --model llama3-8b --accelerator h100-sxm --topology "
               "'switch:8@450GB/s,500ns*switch:2@50GB/s,2us' --train batch=128 --strategy megatron",
    .options = groups,
    .settings_size = sizeof(rlt_plan_asked),
    .run = plan,
    .tables = tables,
};
