/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet plan: the best layout of a training on a cluster, with a proof. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "tools/base/command.h"
#include "tools/base/commands.h"
#include "tools/base/pool.h"
#include "tools/output/report_options.h"
#include "tools/plan/answers.h"
#include "tools/plan/plan.h"
#include "tools/plan/workers.h"
#include "tools/sweep/ranks.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/experiment/run/run.h"
#include "workload/experiment/run/training.h"
#include "workload/experiment/run/workload.h"
#include "workload/plan/plan.h"
#include "workload/replay/failures.h"
#include "workload/setup/settings.h"

#define AT(field) .offset = offsetof(rlt_plan_asked, field)
static const rlt_option search_options[] = {
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
     AT(most), .min = 1},
    {"verify", 0, RLT_PARAM_FLAG, NULL,
     "Simulate the layouts shown with all ranks, too. The proof is about folded times.", AT(verify)},
    {"jobs", 'j', RLT_PARAM_COUNT, "N",
     "Threads of the search (default: one per processor; under mpirun or srun, which share the work among "
     "their ranks, one for each rank). The result does not depend on it.",
     AT(jobs), .min = 1, .max = RLT_POOL_THREADS, .unrecorded = true},
    {"save", 0, RLT_PARAM_TEXT, "FILE",
     "Keep what costs time in FILE as the search goes. If it is stopped or killed, the same command goes on "
     "from there, and prints the same bytes.",
     AT(save), .unrecorded = true, .writes = true},
    {"quiet", 'q', RLT_PARAM_FLAG, NULL, "Show no progress.", AT(quiet), .unrecorded = true},
    {0}};
static const rlt_option goal_options[] = {
    {"accelerators", 0, RLT_PARAM_TEXT, "A:B",
     "Search the number of accelerators, too: a range, or a list such as 64+128. The outermost dimension of "
     "--topology is resized.",
     AT(accelerators)},
    {"objective", 0, RLT_PARAM_WORD, NULL,
     "What is best where the number of accelerators is open: the time, the fewest accelerators that meet "
     "--deadline, or the fewest accelerator-hours by any of the other names.",
     AT(objective), .words = "time|tokens-per-accelerator|cost|energy|accelerators", .preset = "time"},
    {"deadline", 0, RLT_PARAM_TEXT, "TIME",
     "Take only layouts that reach --tokens in this time: 30days, 12h.", AT(deadline)},
    {"tokens", 0, RLT_PARAM_TEXT, "N", "Tokens to train: 15T, 300B.", AT(tokens)},
    {"price", 0, RLT_PARAM_TEXT, "PRICE", "Dollars of an accelerator and hour: 2.5/h.", AT(price)},
    {"power", 0, RLT_PARAM_TEXT, "WATTS", "Power of an accelerator: 700W. Default: that of its data sheet.",
     AT(power)},
    {"front", 0, RLT_PARAM_TEXT, "X,Y",
     "Find all layouts that no other one beats in both of time, memory, accelerators, cost, energy.",
     AT(front)},
    {"plot", 0, RLT_PARAM_TEXT, "FILE",
     "Draw the rows as SVG: by the two goals of --front, by accelerators and time, or by time and memory.",
     AT(plot), .unrecorded = true, .writes = true},
    {0}};
static const rlt_option advice_options[] = {
    {"mine", 0, RLT_PARAM_TEXT, "AXIS=VALUE,...",
     "Say where this layout stands: its time, why it is slower than the fastest, and how many are faster. "
     "Axes that are not named are fixed as in --layout and --train, or as 'ringlet run' has them.",
     AT(mine)},
    {"advice", 0, RLT_PARAM_FLAG, NULL,
     "Search again with more memory and more bandwidth, too: three more searches.", AT(advice)},
    {"reach", 0, RLT_PARAM_TEXT, "SHARE",
     "Search again with this share of memory more, such as 5%, and list faster layouts that are just out of "
     "reach (default: 0, or 5% with --advice).",
     AT(reach)},
    {"sample", 0, RLT_PARAM_COUNT, "N",
     "Draw N possible layouts at random, and say how many of them are faster than --than.", AT(sample),
     .max = 1000000},
    {"than", 0, RLT_PARAM_TEXT, "TIME",
     "With --sample: compare with this time of an iteration, such as 12.3s (default: the fastest and those "
     "--within its share).",
     AT(than)},
    {0}};
static const rlt_option uncertain_options[] = {
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
static const rlt_option_group groups[] = {
    {"Search", search_options, 0},
    {"Goals", goal_options, 0},
    {"Advice", advice_options, 0},
    {"What is uncertain", uncertain_options, 0},
    {"Bandwidths", rlt_plan_bandwidth_options, offsetof(rlt_plan_asked, bandwidths)},
    {"Training", rlt_training_options, offsetof(rlt_plan_asked, run)},
    {"Workload", rlt_workload_options, offsetof(rlt_plan_asked, run)},
    {"Network", rlt_settings_options, RUN(sim)},
    {"What if", rlt_what_if_options, offsetof(rlt_plan_asked, run)},
    {"Report", rlt_format_options, offsetof(rlt_plan_asked, report)},
    {0}};
#undef RUN

int rlt_plan_share(const char *text, const char *option, double most, double *out, rlt_error *err)
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

int rlt_plan_refuse(const rlt_parsed *args, const char *const *names, const char *why, rlt_error *err)
{
    for (; *names; names++)
        if (rlt_given(args, *names + 2))
            return rlt_fail(err, RLT_EUSAGE, *names, "%s", why);
    return 0;
}

/* Refuses options with which ranks differ, or which a layout takes the place of. */
static int check(const rlt_parsed *args, const rlt_plan_asked *s, rlt_error *err)
{
    static const char *const refused[] = {
        "--trace", "--map",        "--fold",       "--fold-stages", "--any-memory",
        "--until", "--rank-delay", "--link-scale", "--timing",      "--no-skew",
        NULL};
    static const char *const of_bandwidths[] = {"--total", "--budget", "--steps", "--cost",
                                                "--radix", "--levels", NULL};
    int rc = rlt_plan_refuse(args, refused, "is no option of a search for layouts", err);
    if (!rc && !s->bandwidths.with_network)
        rc = rlt_plan_refuse(args, of_bandwidths, "needs --with-network", err);
    if (rc)
        return rc;
    if (rlt_given(args, "within") && rlt_given(args, "gap"))
        return rlt_fail(err, RLT_EUSAGE, "--gap",
                        "does not go with --within, which needs the times of all layouts near the fastest");
    if (!s->run.model)
        return rlt_fail(err, RLT_EUSAGE, "--model", "is missing: a model such as llama3-70b");
    return 0;
}

/* Questions other than the fastest layouts, by the option that asks them. */
static const struct {
    const char *option;
    rlt_plan_mode *run;
} modes[] = {{"--with-network", rlt_plan_bandwidths_too},
             {"--accelerators", rlt_plan_fleets},
             {"--front", rlt_plan_fleets},
             {"--robust", rlt_plan_robust},
             {"--measured", rlt_plan_measured}};

/* Finds what is asked. Two questions at once are refused. */
static int find_mode(const rlt_parsed *args, rlt_plan_mode **run, rlt_error *err)
{
    const char *asked = NULL;
    *run = rlt_plan_one;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        if (!rlt_given(args, modes[i].option + 2))
            continue;
        if (asked && *run != modes[i].run)
            return rlt_fail(err, RLT_EUSAGE, modes[i].option, "does not go with %s: ask one after the other",
                            asked);
        asked = modes[i].option;
        *run = modes[i].run;
    }
    static const char *const of_one[] = {"--save",   "--mine", "--reach", "--advice",
                                         "--sample", "--than", NULL};
    if (!asked)
        return 0;
    if (*run != rlt_plan_fleets && rlt_given(args, "plot"))
        return rlt_fail(err, RLT_EUSAGE, "--plot", "draws no rows of %s", asked);
    return rlt_plan_refuse(args, of_one, "is about one search; the question makes several", err);
}

static int plan(const rlt_parsed *args, void *settings, rlt_error *err)
{
    rlt_plan_asked *s = settings;
    rlt_plan_workers w;
    rlt_plan_mode *run;
    rlt_failures failures;
    rlt_layout_search how = {.most = s->most};
    int rc = rlt_plan_workers_open(&w, s->jobs, err);
    if (!rc && !(rc = check(args, s, err)) && !(rc = find_mode(args, &run, err)) &&
        !(rc = rlt_plan_failures(s, &failures, err)) &&
        !(rc = rlt_plan_share(s->within, "--within", 10, &how.within, err)) &&
        !(rc = rlt_plan_share(s->gap, "--gap", 1, &how.gap, err)) &&
        !(rc = rlt_plan_share(s->headroom, "--headroom", 0.9999, &how.headroom, err)) &&
        !(rc = rlt_plan_worth_read(s, args, &s->worth, err)))
        rc = run(&w, s, args, &how, err);
    rlt_plan_workers_close(&w);
    return w.rank ? 0 : rc; /* rank 0 has the same error */
}

static int become(char **argv, rlt_error *err)
{
    return rlt_ranks_become("plan", argv, err);
}

static const rlt_columns *const tables[] = {&rlt_plan_columns, &rlt_plan_bandwidth_columns,
                                            &rlt_plan_robust_columns, &rlt_plan_measured_columns, NULL};

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
    .become = become,
    .run = plan,
    .tables = tables,
};
