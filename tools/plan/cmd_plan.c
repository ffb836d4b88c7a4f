/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet plan: the best layout of a training on a cluster, with a proof. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
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
    {"sample", 0, RLT_PARAM_COUNT, "N",
     "Draw N possible layouts at random, and say how many of them are faster than --than.", AT(sample),
     .max = 1000000},
    {"than", 0, RLT_PARAM_TEXT, "TIME",
     "With --sample: compare with this time of an iteration, such as 12.3s (default: the fastest and those "
     "--within its share).",
     AT(than)},
    {"quiet", 'q', RLT_PARAM_FLAG, NULL, "Show no progress.", AT(quiet), .unrecorded = true},
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
    static const char *const refused[] = {"trace",      "map",    "fold",       "fold-stages",
                                          "any-memory", "until",  "rank-scale", "rank-delay",
                                          "link-scale", "timing", "no-skew"};
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

static int search(rlt_layouts *l, const rlt_plan_asked *s, const rlt_layout_search *how, rlt_error *err)
{
    rlt_progress bar;
    rlt_watch watch = rlt_interrupt_watcher();
    rlt_layout_search p = *how;
    if (!s->quiet) {
        rlt_progress_start(&bar, "layouts simulated");
        watch.ctx = &bar;
        watch.progress = count;
    }
    p.watch = &watch;
    int rc = rlt_layouts_find(l, &p, err);
    if (!s->quiet)
        rlt_progress_end(&bar);
    return rc;
}

static int plan(const rlt_parsed *args, void *settings, rlt_error *err)
{
    const rlt_plan_asked *s = settings;
    rlt_layouts l = {0};
    rlt_layout_search how = {.most = s->most};
    rlt_planned *rows = NULL;
    uint32_t n = 0, shown = 0;
    rlt_time than_ps;
    int rc = check(args, s, err);
    if (rc || (rc = read_share(s->within, "--within", 10, &how.within, err)) ||
        (rc = read_share(s->gap, "--gap", 1, &how.gap, err)) ||
        (rc = read_share(s->headroom, "--headroom", 1, &how.headroom, err)) ||
        (rc = rlt_plan_than(s, &than_ps, err)))
        return rc;
    rc = rlt_layouts_open(&l, &s->run, args, err);
    if (rc)
        goto out;
    rc = search(&l, s, &how, err);
    if (rc && rc != RLT_ECANCELLED)
        goto out;
    if (!rc && (rc = rlt_plan_draw(&l, s, &how, than_ps, err)) && rc != RLT_ECANCELLED)
        goto out;
    double limit = l.result.n ? (double)l.result.points[0].time_ps * (1 + how.within) : 0;
    for (n = 0; n < l.result.n && n < s->top; n++)
        if (how.within > 0 && (double)l.result.points[n].time_ps > limit)
            break;
    rows = calloc((size_t)n + 1, sizeof *rows);
    int failed = rows ? 0 : rlt_nomem(err);
    for (; shown < n && !failed && !rlt_interrupted(); shown++)
        failed = rlt_plan_run(&l, s, args, &l.result.points[shown], &rows[shown], err);
    rc = failed && failed != RLT_ECANCELLED ? failed : rlt_plan_report(&l, s, args, rows, shown, rc, err);
out:
    for (uint32_t i = 0; rows && i < n; i++)
        free(rows[i].command);
    free(rows);
    rlt_layouts_close(&l);
    return rc;
}

static const rlt_columns *const tables[] = {&rlt_plan_columns, NULL};

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
