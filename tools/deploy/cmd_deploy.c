/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ringlet deploy`: options and help. The work is done by ringlet-deploy. */
#include <stddef.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "tools/base/command.h"
#include "tools/base/commands.h"
#include "tools/deploy/deploy.h"
#include "tools/output/report_options.h"
#include "tools/search/search.h"

static const char *method_word(uint32_t i)
{
    const rlt_search_method *m = rlt_search_method_at(i);
    return m ? m->name : NULL;
}

#define AT(field) RLT_FIELD(rlt_deploy_settings, field)
static const rlt_option one_options[] = {
    {"graph", 'g', RLT_PARAM_TEXT, "FILE|MODEL",
     "Operator graph: PipeDream's graph.txt, ONNX, JSON of dnn-partitioning, or the trace of one rank "
     "(Chakra, Kineto). Or a model, as for run --model: its layers one after the other.",
     AT(graph), .required = true},
    {"topology", 't', RLT_PARAM_TEXT, "T",
     "Network, as everywhere. A topology file may say which devices it has; those named testbed-* do.",
     AT(topology), .required = true},
    {0}};
static const rlt_option many_options[] = {
    {"graphs", 'g', RLT_PARAM_TEXT, "FILE[,...]", "Operator graphs, or names of models.", AT(graph),
     .required = true},
    {"topologies", 't', RLT_PARAM_TEXT, "T[;...]", "Networks, separated by semicolons.", AT(topology),
     .required = true},
    {0}};
static const rlt_option graph_options[] = {
    {"batch", 0, RLT_PARAM_COUNT, "N",
     "Samples of a batch, for graphs that leave it open (default: 32). Traces need it.", AT(batch), .min = 1,
     .max = 1 << 20},
    {"accelerator", 'a', RLT_PARAM_TEXT, "NAME|FILE",
     "Reference device of a graph without times: they follow from FLOPs and bytes on it (default: v100).",
     AT(accelerator)},
    {"precision", 0, RLT_PARAM_TEXT, "NAME", "Precision of that device's rates (default: fp32).",
     AT(precision)},
    {0}};
static const rlt_option cluster_options[] = {
    {"devices", 0, RLT_PARAM_TEXT, "TYPE:N[,...]",
     "Accelerators of the network in their order, such as v100:4,1080ti:8. Known types: v100, p100, 1080ti; "
     "another is stated as TYPE=FACTOR@MEMORY:N, such as mine=1.3@24GiB:8 (factor: its time over that of the "
     "device on which the graph was profiled).",
     AT(devices)},
    {0}};
static const rlt_option grouping_options[] = {
    {"groups", 0, RLT_PARAM_COUNT, "N", "Groups of operators that are placed together, at most.", AT(groups),
     .preset = "20", .min = 1, .max = 4096},
    {"balance", 0, RLT_PARAM_NUMBER, "X", "Largest load of a group over the average.", AT(balance),
     .preset = "5", .min = 1, .max = 1000},
    {"duplicate", 0, RLT_PARAM_FLAG, NULL, "Also let all devices of a group do the whole batch.",
     AT(duplicate)},
    {0}};
static const rlt_option search_options[] = {
    {"method", 'm', RLT_PARAM_WORD, "NAME", "Search method.", AT(method), .preset = "portfolio",
     .word_at = method_word},
    {"budget", 'b', RLT_PARAM_COUNT, "N", "Strategies to judge.", AT(budget), .preset = "2000", .min = 1,
     .max = 1u << 30},
    {"polish", 0, RLT_PARAM_SHARE, "X",
     "mcts: share of the budget for refining the best strategy by annealing and descent.", AT(polish),
     .preset = "0.75"},
    {"refine", 0, RLT_PARAM_COUNT, "N",
     "Strategies to judge over the network afterwards, from the best so far; 0: none.", AT(refine),
     .preset = "300", .max = 1u << 30},
    {"no-factors", 0, RLT_PARAM_FLAG, NULL,
     "Do not look for operators that are better duplicated, with their inputs gathered, than all-reduced "
     "(sufficient factors).",
     AT(no_factors)},
    {"seed", 0, RLT_PARAM_COUNT, "N", "Seed of the search.", AT(seed), .preset = "1"},
    {0}};
static const rlt_option resume_options[] = {
    {"resume", 0, RLT_PARAM_TEXT, "FILE", "Strategy to begin with: the JSON output of an earlier search.",
     AT(resume)},
    {"plot", 0, RLT_PARAM_TEXT, "FILE", "Draw the best time over the strategies judged, as SVG.", AT(plot),
     .unrecorded = true},
    {0}};
static const rlt_option methods_options[] = {
    {"methods", 'm', RLT_PARAM_TEXT, "NAME[,...]", "Search methods.", AT(method),
     .preset = "portfolio,mcts,anneal,descent,genetic,uniform,random"},
    {"budget", 'b', RLT_PARAM_COUNT, "N", "Strategies to judge in each search.", AT(budget), .preset = "2000",
     .min = 1, .max = 1u << 30},
    {"seeds", 0, RLT_PARAM_COUNT, "N", "Searches of each method, with seeds --seed, --seed + 1, ...",
     AT(seeds), .preset = "5", .min = 1, .max = 1000},
    {"seed", 0, RLT_PARAM_COUNT, "N", "First seed.", AT(seed), .preset = "1"},
    {"polish", 0, RLT_PARAM_SHARE, "X",
     "mcts: share of the budget for refining the best strategy by annealing and descent.", AT(polish),
     .preset = "0.75"},
    {"jobs", 'j', RLT_PARAM_COUNT, "N",
     "Threads (default: one for each processor). Results do not depend on it.", AT(jobs), .max = 1024},
    {0}};
static const rlt_option judges_options[] = {
    {"budget", 'b', RLT_PARAM_COUNT, "N", "Random strategies.", AT(budget), .preset = "500", .min = 3,
     .max = 1u << 20},
    {"seed", 0, RLT_PARAM_COUNT, "N", "Seed of the strategies.", AT(seed), .preset = "1"},
    {0}};
#undef AT
#define OUTPUT                                                                                               \
    {                                                                                                        \
        "Output", rlt_format_options, offsetof(rlt_deploy_settings, report)                                  \
    }
static const rlt_option_group search_groups[] = {{"Input", one_options, 0},
                                                 {"Graph", graph_options, 0},
                                                 {"Cluster", cluster_options, 0},
                                                 {"Groups", grouping_options, 0},
                                                 {"Search", search_options, 0},
                                                 {"Files", resume_options, 0},
                                                 OUTPUT,
                                                 {0}};
static const rlt_option_group evaluate_groups[] = {{"Input", many_options, 0},
                                                   {"Graph", graph_options, 0},
                                                   {"Cluster", cluster_options, 0},
                                                   {"Groups", grouping_options, 0},
                                                   {"Search", methods_options, 0},
                                                   OUTPUT,
                                                   {0}};
static const rlt_option_group judges_groups[] = {{"Input", many_options, 0},
                                                 {"Graph", graph_options, 0},
                                                 {"Cluster", cluster_options, 0},
                                                 {"Groups", grouping_options, 0},
                                                 {"Strategies", judges_options, 0},
                                                 OUTPUT,
                                                 {0}};

static int run_search(const rlt_parsed *args, void *settings, rlt_error *err)
{
    return rlt_deploy_search(args, settings, err);
}

static int run_evaluate(const rlt_parsed *args, void *settings, rlt_error *err)
{
    return rlt_deploy_evaluate(args, settings, err);
}

static int run_judges(const rlt_parsed *args, void *settings, rlt_error *err)
{
    return rlt_deploy_judges(args, settings, err);
}

static const rlt_columns *const evaluate_tables[] = {&rlt_deploy_evaluations, NULL};
static const rlt_command evaluate = {
    .name = "evaluate",
    .summary = "search methods compared on graphs and clusters",
    .description =
        "Searches each graph on each cluster with each method and each seed, with the same budget. The "
        "groups of "
        "operators are the same for all methods. Shows the median, the least and the most of the seeds, "
        "beside data "
        "parallelism and the best strategy that treats all groups alike.",
    .example =
        "ringlet deploy evaluate --graphs traces/small-cnn.graph.txt --topologies testbed-4xv100-4xv100 "
        "--budget 200 --seeds 3",
    .options = evaluate_groups,
    .settings_size = sizeof(rlt_deploy_settings),
    .run = run_evaluate,
    .tables = evaluate_tables,
};
static const rlt_columns *const judges_tables[] = {&rlt_deploy_correlations, NULL};
static const rlt_command judges = {
    .name = "judges",
    .summary = "whether the two timings rank strategies alike",
    .description =
        "Times random strategies twice: as the search does, with the reference's timing, and over the "
        "network, "
        "where links are shared. Shows Spearman's rank correlation of the two.",
    .example = "ringlet deploy judges --graphs traces/small-cnn.graph.txt --topologies testbed-4xv100-4xv100 "
               "--budget 50",
    .options = judges_groups,
    .settings_size = sizeof(rlt_deploy_settings),
    .run = run_judges,
    .tables = judges_tables,
};
static const rlt_command *const verbs[] = {&evaluate, &judges, NULL};
static const rlt_columns *const tables[] = {&rlt_deploy_groups, NULL};

const rlt_command rlt_cmd_deploy = {
    .name = "deploy",
    .summary = "where each part of a model runs on a cluster of unlike devices",
    .description =
        "Divides a model's operator graph into groups and searches for each group the devices that run it "
        "and how "
        "they share it: replicas with all-reduce, replicas with a parameter server, or model parallel. "
        "Strategies are "
        "timed as TAG does (arXiv 2302.06126): quickly, with a link for each pair of devices. The best one "
        "is then refined over the network, where links are shared, and operators are duplicated where "
        "gathering "
        "their inputs is cheaper than reducing their gradients. Of all these and data parallelism, the "
        "strategy that is fastest over the network is returned.\n\nThe JSON output is a strategy file: "
        "--resume begins another "
        "search with it. Ctrl-C ends the "
        "search with the best strategy so far.",
    .example = "ringlet deploy --graph traces/small-cnn.graph.txt --topology testbed-4xv100-8x1080ti-4xp100",
    .options = search_groups,
    .settings_size = sizeof(rlt_deploy_settings),
    .become = rlt_deploy_become,
    .run = run_search,
    .verbs = verbs,
    .tables = tables,
};
