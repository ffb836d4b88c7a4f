/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Columns of the tables of `ringlet deploy`. */
#include "sim/base/column.h"
#include "tools/deploy/deploy.h"
#include "tools/deploy/report.h"

static const rlt_column groups[RLT_GROUP_COLUMNS] = {
    {"group", "group", NULL, RLT_COL_COUNT, 5, 0, "group of operators, in order of decreasing time"},
    {"operators", "operators", NULL, RLT_COL_COUNT, 9, 0, "operators of the group"},
    {"first", "first operator", NULL, RLT_COL_TEXT, 0, 0, "the operator of the group that runs first"},
    {"compute_ps", "compute", NULL, RLT_COL_TIME, 10, 0,
     "time of the group's operators on the reference device"},
    {"parameter_bytes", "weights", NULL, RLT_COL_SIZE, 10, 0, "weights of the group"},
    {"devices", "devices", NULL, RLT_COL_TEXT, 0, 0, "device groups that run the group, with their devices"},
    {"use", "use", NULL, RLT_COL_TEXT, 0, 0,
     "ps, all_reduce: replicas that share the batch, and how gradients meet; model: each operator on one "
     "device; "
     "duplicate: every device does the whole batch"},
    {"slower", "slower", "%", RLT_COL_PERCENT, 6, 1,
     "how much longer the iteration takes if only this group is spread as under data parallelism"},
};
const rlt_columns rlt_deploy_groups = {"A deployment: `ringlet deploy`", groups, RLT_GROUP_COLUMNS};

static const rlt_column evaluations[RLT_EVALUATION_COLUMNS] = {
    {"graph", "graph", NULL, RLT_COL_TEXT, 0, 0, "operator graph"},
    {"cluster", "cluster", NULL, RLT_COL_TEXT, 0, 0, "name of the cluster"},
    {"groups", "groups", NULL, RLT_COL_COUNT, 6, 0, "groups of operators"},
    {"method", "method", NULL, RLT_COL_TEXT, 0, 0, "search method"},
    {"data_parallel_ps", "data par.", NULL, RLT_COL_TIME, 10, 0, "iteration under data parallelism"},
    {"uniform_ps", "uniform", NULL, RLT_COL_TIME, 10, 0,
     "iteration under the best strategy that treats all groups alike"},
    {"median_ps", "median", NULL, RLT_COL_TIME, 10, 0,
     "iteration of the strategy found, median of the seeds"},
    {"least_ps", "least", NULL, RLT_COL_TIME, 10, 0, "the same, least of the seeds"},
    {"most_ps", "most", NULL, RLT_COL_TIME, 10, 0, "the same, most of the seeds"},
    {"gain", "gain", NULL, RLT_COL_REAL, 6, 2, "data parallelism / median"},
    {"judged", "judged", NULL, RLT_COL_COUNT, 7, 0, "strategies judged, all seeds together"},
};
const rlt_columns rlt_deploy_evaluations = {"Search methods: `ringlet deploy evaluate`", evaluations,
                                            RLT_EVALUATION_COLUMNS};

static const rlt_column correlations[RLT_CORRELATION_COLUMNS] = {
    {"graph", "graph", NULL, RLT_COL_TEXT, 0, 0, "operator graph"},
    {"cluster", "cluster", NULL, RLT_COL_TEXT, 0, 0, "name of the cluster"},
    {"strategies", "strategies", NULL, RLT_COL_COUNT, 10, 0, "random strategies judged by both"},
    {"rank_correlation", "rank corr.", NULL, RLT_COL_REAL, 10, 3,
     "Spearman's rank correlation of the two judges' times"},
    {"ratio", "ratio", NULL, RLT_COL_REAL, 7, 3, "median of the network's time / the reference timing's"},
};
const rlt_columns rlt_deploy_correlations = {"Two judges: `ringlet deploy judges`", correlations,
                                             RLT_CORRELATION_COLUMNS};

static const rlt_column rounds[RLT_ROUND_COLUMNS] = {
    {"round", "round", NULL, RLT_COL_COUNT, 5, 0, "round of games"},
    {"lessons", "lessons", NULL, RLT_COL_COUNT, 7, 0, "states learnt from so far"},
    {"left_out", "left out", NULL, RLT_COL_COUNT, 8, 0, "states of games that were left out"},
    {"steps", "steps", NULL, RLT_COL_COUNT, 8, 0, "steps of the optimiser so far"},
    {"cross_entropy", "CE", NULL, RLT_COL_REAL, 7, 3, "mean cross-entropy of the states learnt from, nats"},
    {"cross_entropy_left_out", "CE left out", NULL, RLT_COL_REAL, 11, 3, "the same of those left out"},
    {"least", "least", NULL, RLT_COL_REAL, 7, 3,
     "the least possible on those left out: entropy of the visits"},
    {"uniform", "uniform", NULL, RLT_COL_REAL, 7, 3, "cross-entropy if all actions are alike"},
};
const rlt_columns rlt_deploy_rounds = {"Training: `ringlet deploy train`", rounds, RLT_ROUND_COLUMNS};

static const rlt_column benefits[RLT_BENEFIT_COLUMNS] = {
    {"graph", "graph", NULL, RLT_COL_TEXT, 0, 0, "operator graph"},
    {"pairs", "pairs", NULL, RLT_COL_COUNT, 5, 0, "random clusters of eight devices"},
    {"wins", "wins", NULL, RLT_COL_COUNT, 5, 0,
     "pairs on which the guided search needs fewer strategies to beat data parallelism"},
    {"ties", "ties", NULL, RLT_COL_COUNT, 5, 0, "pairs on which both need as many"},
    {"losses", "losses", NULL, RLT_COL_COUNT, 6, 0, "pairs on which it needs more"},
    {"guided", "guided", NULL, RLT_COL_COUNT, 6, 0,
     "strategies that the guided search judges until then, median"},
    {"plain", "plain", NULL, RLT_COL_COUNT, 6, 0, "the same if all actions are alike"},
    {"cross_entropy", "CE", NULL, RLT_COL_REAL, 6, 3,
     "mean cross-entropy of the policy with the visits, nats"},
    {"least", "least", NULL, RLT_COL_REAL, 6, 3, "the least possible: entropy of the visits"},
    {"uniform", "uniform", NULL, RLT_COL_REAL, 7, 3, "cross-entropy if all actions are alike"},
};
const rlt_columns rlt_deploy_benefits = {"The policy: `ringlet deploy policy`", benefits,
                                         RLT_BENEFIT_COLUMNS};
