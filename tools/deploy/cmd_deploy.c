/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ringlet deploy`: options and help. The work is done by ringlet-deploy. */
#include <stddef.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "tools/base/command.h"
#include "tools/base/commands.h"
#include "tools/base/file.h"
#include "tools/deploy/deploy.h"
#include "tools/output/report_options.h"
#include "tools/search/search.h"

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
     "another is stated as TYPE=FACTOR@MEMORY:N, such as mine=1.3@24GiB:8 (factor: its time over that of "
     "the device on which the graph was profiled).",
     AT(devices)},
    {0}};
static const rlt_option grouping_options[] = {
    {"groups", 0, RLT_PARAM_COUNT, "N", "Groups of operators that are placed together, at most.", AT(groups),
     .preset = "20", .min = 1, .max = 4096},
    {"balance", 0, RLT_PARAM_NUMBER, "X", "Largest load of a group over the average.", AT(balance),
     .preset = "5", .min = 1, .max = 1000},
    {0}};
static const rlt_option action_options[] = {{"duplicate", 0, RLT_PARAM_FLAG, NULL,
                                             "Also let all devices of a group do the whole batch.",
                                             AT(duplicate)},
                                            {0}};
static const rlt_option search_options[] = {
    {"method", 'm', RLT_PARAM_WORD, "NAME", "Search method.", AT(method), .preset = "tag",
     .word_at = rlt_deploy_method_at},
    {"budget", 'b', RLT_PARAM_COUNT, "N", "Strategies to judge.", AT(budget), .preset = "2000", .min = 1,
     .max = 1u << 30},
    {"polish", 0, RLT_PARAM_SHARE, "X",
     "tag, mcts: share of the budget for refining the best strategy by the portfolio.", AT(polish),
     .preset = "0.9"},
    {"refine", 0, RLT_PARAM_COUNT, "N",
     "Strategies to judge over the network afterwards, from the best so far; 0: none.", AT(refine),
     .preset = "300", .max = 1u << 30},
    {"no-factors", 0, RLT_PARAM_FLAG, NULL,
     "Do not look for operators that are better duplicated, with their inputs gathered, than all-reduced "
     "(sufficient factors).",
     AT(no_factors)},
    {"seed", 0, RLT_PARAM_COUNT, "N", "Seed of the search.", AT(seed), .preset = "1"},
    {"trials", 0, RLT_PARAM_COUNT, "N",
     "Independent searches that share the budget; they run at the same time.", AT(trials), .preset = "1",
     .min = 1, .max = 1024},
    {"jobs", 'j', RLT_PARAM_COUNT, "N",
     "Threads (default: one for each processor). Results do not depend on it.", AT(jobs), .max = 1024},
    {0}};
static const rlt_option resume_options[] = {
    {"resume", 0, RLT_PARAM_TEXT, "FILE", "Strategy to begin with: the JSON output of an earlier search.",
     AT(resume)},
    {"plot", 0, RLT_PARAM_TEXT, "FILE", "Draw the best time over the strategies judged, as SVG.", AT(plot),
     .unrecorded = true, .writes = true},
    {"report", 0, RLT_PARAM_TEXT, "FILE",
     "Write an HTML page to this file: the answer, the search, where each group runs and why, and the "
     "memory of each device.",
     AT(page), .unrecorded = true, .writes = true},
    {0}};
static const rlt_option methods_options[] = {
    {"methods", 'm', RLT_PARAM_TEXT, "NAME[,...]", "Search methods.", AT(method),
     .preset = "tag,portfolio,mcts,anneal,descent,genetic,uniform,random"},
    {"budget", 'b', RLT_PARAM_COUNT, "N", "Strategies to judge in each search.", AT(budget), .preset = "2000",
     .min = 1, .max = 1u << 30},
    {"seeds", 0, RLT_PARAM_COUNT, "N", "Searches of each method, with seeds --seed, --seed + 1, ...",
     AT(seeds), .preset = "5", .min = 1, .max = 1000},
    {"seed", 0, RLT_PARAM_COUNT, "N", "First seed.", AT(seed), .preset = "1"},
    {"polish", 0, RLT_PARAM_SHARE, "X",
     "tag, mcts: share of the budget for refining the best strategy by the portfolio.", AT(polish),
     .preset = "0.9"},
    {"jobs", 'j', RLT_PARAM_COUNT, "N",
     "Threads (default: one for each processor). Results do not depend on it.", AT(jobs), .max = 1024},
    {0}};
static const rlt_option judges_options[] = {
    {"budget", 'b', RLT_PARAM_COUNT, "N", "Random strategies.", AT(budget), .preset = "500", .min = 3,
     .max = 1u << 20},
    {"seed", 0, RLT_PARAM_COUNT, "N", "Seed of the strategies.", AT(seed), .preset = "1"},
    {0}};
static const rlt_option weights_options[] = {
    {"weights", 0, RLT_PARAM_TEXT, "FILE",
     "Weights of the policy that guides method tag (default: those shipped with ringlet).", AT(weights)},
    {0}};
static const rlt_option policy_options[] = {
    {"graphs", 'g', RLT_PARAM_TEXT, "FILE[,...]", "Operator graphs, or names of models, which take turns.",
     AT(graph), .required = true},
    {"pairs", 'n', RLT_PARAM_COUNT, "N", "Pairs of a graph and a random cluster.", AT(games), .preset = "100",
     .min = 1, .max = 4096},
    {"budget", 'b', RLT_PARAM_COUNT, "N", "Strategies to judge, at most, until one beats data parallelism.",
     AT(budget), .preset = "2000", .min = 1, .max = 1u << 30},
    {"playouts", 0, RLT_PARAM_COUNT, "N", "Playouts before a decision of a game.", AT(playouts),
     .preset = "800", .min = 1, .max = 1 << 20},
    {"unguided", 0, RLT_PARAM_FLAG, NULL,
     "Compare the policy with visits of a search that it does not guide.", AT(unguided)},
    {"seed", 0, RLT_PARAM_COUNT, "N", "Seed of clusters and games.", AT(seed), .preset = "1000001"},
    {0}};
static const rlt_option train_options[] = {
    {"graphs", 'g', RLT_PARAM_TEXT, "FILE[,...]",
     "Operator graphs, or names of models, which take turns (default: random models).", AT(graph)},
    {"output", 'o', RLT_PARAM_TEXT, "FILE", "Weights, for --weights.", AT(weights), .required = true,
     .unrecorded = true, .writes = true},
    {"width", 0, RLT_PARAM_COUNT, "H", "Width of the network, a multiple of 4.", AT(width), .preset = "32",
     .min = 4, .max = 1024},
    {"rounds", 0, RLT_PARAM_COUNT, "N", "Rounds of games and learning.", AT(rounds), .preset = "5", .min = 1,
     .max = 10000},
    {"games", 0, RLT_PARAM_COUNT, "N", "Games in each round; every tenth is left out of learning.", AT(games),
     .preset = "200", .min = 1, .max = 1 << 20},
    {"playouts", 0, RLT_PARAM_COUNT, "N", "Playouts before a decision of a game.", AT(playouts),
     .preset = "800", .min = 1, .max = 1 << 20},
    {"steps", 0, RLT_PARAM_COUNT, "N", "Steps of the optimiser in each round.", AT(steps), .preset = "4000",
     .min = 1, .max = 1u << 30},
    {"minibatch", 0, RLT_PARAM_COUNT, "N", "States of a step.", AT(minibatch), .preset = "1", .min = 1,
     .max = 1024},
    {"rate", 0, RLT_PARAM_NUMBER, "X", "Learning rate of the first step; it falls to a tenth.", AT(rate),
     .preset = "0.001", .min = 0, .max = 1},
    {"seed", 0, RLT_PARAM_COUNT, "N", "Seed of models, clusters, games and weights.", AT(seed),
     .preset = "1"},
    {"jobs", 'j', RLT_PARAM_COUNT, "N",
     "Threads (default: one for each processor). Results do not depend on it.", AT(jobs), .max = 1024},
    {0}};
#undef AT
#define QUIET                                                                                                \
    {                                                                                                        \
        NULL, rlt_quiet_options, offsetof(rlt_deploy_settings, report)                                       \
    }
#define OUTPUT                                                                                               \
    {                                                                                                        \
        "Output", rlt_format_options, offsetof(rlt_deploy_settings, report)                                  \
    }
static const rlt_option_group search_groups[] = {{"Input", one_options, 0},
                                                 {"Graph", graph_options, 0},
                                                 {"Cluster", cluster_options, 0},
                                                 {"Groups", grouping_options, 0},
                                                 {NULL, action_options, 0},
                                                 {"Search", search_options, 0},
                                                 QUIET,
                                                 {"Policy", weights_options, 0},
                                                 {"Files", resume_options, 0},
                                                 OUTPUT,
                                                 {0}};
static const rlt_option_group evaluate_groups[] = {{"Input", many_options, 0},
                                                   {"Graph", graph_options, 0},
                                                   {"Cluster", cluster_options, 0},
                                                   {"Groups", grouping_options, 0},
                                                   {NULL, action_options, 0},
                                                   {"Search", methods_options, 0},
                                                   QUIET,
                                                   {"Policy", weights_options, 0},
                                                   OUTPUT,
                                                   {0}};
static const rlt_option_group judges_groups[] = {{"Input", many_options, 0},
                                                 {"Graph", graph_options, 0},
                                                 {"Cluster", cluster_options, 0},
                                                 {"Groups", grouping_options, 0},
                                                 {NULL, action_options, 0},
                                                 {"Strategies", judges_options, 0},
                                                 QUIET,
                                                 OUTPUT,
                                                 {0}};
static const rlt_option_group train_groups[] = {
    {"Training", train_options, 0}, QUIET, {"Groups", grouping_options, 0}, {0}};

static const rlt_option_group policy_groups[] = {{"Comparison", policy_options, 0},
                                                 {"Graph", graph_options, 0},
                                                 {"Groups", grouping_options, 0},
                                                 {"Policy", weights_options, 0},
                                                 QUIET,
                                                 OUTPUT,
                                                 {0}};

static int run_policy(const rlt_parsed *args, void *settings, rlt_error *err)
{
    return rlt_deploy_policy(args, settings, err);
}

static int run_search(const rlt_parsed *args, void *settings, rlt_error *err)
{
    const rlt_deploy_settings *s = settings;
    const char *const outputs[] = {s->page, s->plot, s->report.output};
    int rc = 0;
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs && !rc; i++)
        rc = rlt_file_check(outputs[i], err);
    return rc ? rc : rlt_deploy_search(args, s, err);
}

static int run_evaluate(const rlt_parsed *args, void *settings, rlt_error *err)
{
    return rlt_deploy_evaluate(args, settings, err);
}

static int run_judges(const rlt_parsed *args, void *settings, rlt_error *err)
{
    return rlt_deploy_judges(args, settings, err);
}

static int run_train(const rlt_parsed *args, void *settings, rlt_error *err)
{
    return rlt_deploy_train(args, settings, err);
}

static const rlt_columns *const evaluate_tables[] = {&rlt_deploy_evaluations, NULL};
static const rlt_command evaluate = {
    .name = "evaluate",
    .summary = "search methods compared on graphs and clusters",
    .description =
        "Searches each graph on each cluster with each method and each seed, with the same budget. The "
        "groups of operators are the same for all methods. Shows the median, the least and the most of the "
        "seeds, beside data parallelism and the best strategy that treats all groups alike.",
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
        "network, where links are shared. Shows Spearman's rank correlation of the two.",
    .example = "ringlet deploy judges --graphs traces/small-cnn.graph.txt --topologies testbed-4xv100-4xv100 "
               "--budget 50",
    .options = judges_groups,
    .settings_size = sizeof(rlt_deploy_settings),
    .run = run_judges,
    .tables = judges_tables,
};
static const rlt_columns *const policy_tables[] = {&rlt_deploy_benefits, NULL};
static const rlt_command policy = {
    .name = "policy",
    .summary = "what the policy of method tag is worth on given graphs and random clusters",
    .description =
        "Pairs each graph with random clusters of eight devices. On each pair, Monte-Carlo tree search runs "
        "twice: guided by the policy, and with all actions alike. The one that needs fewer strategies to "
        "find one better than data parallelism wins. Then a game is played, and the policy is compared with "
        "the visits: the cross-entropy, in nats.",
    .example =
        "ringlet deploy policy --graphs traces/small-cnn.graph.txt --pairs 10 --budget 200 --playouts 50",
    .options = policy_groups,
    .settings_size = sizeof(rlt_deploy_settings),
    .run = run_policy,
    .tables = policy_tables,
};
static const rlt_columns *const train_tables[] = {&rlt_deploy_rounds, NULL};
static const rlt_command train = {
    .name = "train",
    .summary = "trains the policy of method tag on random models and clusters",
    .description =
        "In each round, plays games of Monte-Carlo tree search, each with another model and cluster, both "
        "random. In the first round all actions are alike; then the policy guides the search. Before each "
        "decision the visits of the actions are noted. The policy then learns to foretell them, from the "
        "last three rounds. Every tenth game is left out, to see how well it does on others. The defaults "
        "make the weights that come with ringlet.",
    .example = "ringlet deploy train --games 10 --rounds 1 --steps 20 --playouts 50 -o weights.bin",
    .options = train_groups,
    .settings_size = sizeof(rlt_deploy_settings),
    .run = run_train,
    .tables = train_tables,
};
static const rlt_command *const verbs[] = {&evaluate, &judges, &policy, &train, NULL};
static const rlt_columns *const tables[] = {&rlt_deploy_groups, NULL};

const rlt_command rlt_cmd_deploy = {
    .name = "deploy",
    .summary = "where each part of a model runs on a cluster of unlike devices",
    .description =
        "Divides a model's operator graph into groups and searches for each group the devices that run it "
        "and how "
        "they share it: replicas with all-reduce, replicas with a parameter server, or model parallel. "
        "A graph network guides the search. Strategies are "
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
