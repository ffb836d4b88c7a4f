/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `ringlet deploy`: searches where each group of operators goes on a cluster of unlike devices. The graph,
 * the cluster and the judge are workload/deploy; the search is tools/search; this room groups operators with
 * METIS, guides the search with the policy, and reports.
 */
#ifndef RLT_TOOLS_DEPLOY_DEPLOY_H
#define RLT_TOOLS_DEPLOY_DEPLOY_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "tools/output/report_options.h"
#include "tools/search/search.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/judge.h"
#include "workload/deploy/opgraph.h"
#include "workload/deploy/strategy.h"

typedef struct rlt_deploy_settings {
    const char *graph, *topology, *devices; /* evaluate: lists of graphs and topologies */
    const char *method;                     /* evaluate: a list */
    const char *accelerator, *precision;    /* for graphs without times */
    const char *plot;                       /* SVG of the search, or NULL */
    const char *page;                       /* HTML page of the result, or NULL */
    const char *resume;                     /* a strategy file to begin with, or NULL */
    uint64_t budget, refine, seed;
    uint32_t jobs, trials, groups, seeds, batch;
    double polish, balance;
    bool duplicate, no_factors;
    const char *weights; /* of the policy: to read, or for train to write */
    uint32_t width, games, rounds, minibatch;
    uint64_t playouts, steps;
    bool unguided;
    double rate;
    rlt_report_settings report;
} rlt_deploy_settings;

/* Hands over to ringlet-deploy, which has METIS. */
const char *rlt_deploy_version(void);
int rlt_deploy_become(char **argv, rlt_error *err) RLT_MUST_USE;
/* The command and its verbs. In the common executable: RLT_EUNSUPPORTED with what is missing. */
int rlt_deploy_search(const rlt_parsed *args, const rlt_deploy_settings *s, rlt_error *err) RLT_MUST_USE;
int rlt_deploy_evaluate(const rlt_parsed *args, const rlt_deploy_settings *s, rlt_error *err) RLT_MUST_USE;
int rlt_deploy_judges(const rlt_parsed *args, const rlt_deploy_settings *s, rlt_error *err) RLT_MUST_USE;
int rlt_deploy_policy(const rlt_parsed *args, const rlt_deploy_settings *s, rlt_error *err) RLT_MUST_USE;
int rlt_deploy_train(const rlt_parsed *args, const rlt_deploy_settings *s, rlt_error *err) RLT_MUST_USE;
extern const rlt_columns rlt_deploy_groups, rlt_deploy_evaluations, rlt_deploy_correlations,
    rlt_deploy_rounds, rlt_deploy_benefits;

/* Methods: "tag", which is mcts guided by the policy, and those of tools/search. NULL after the last. */
const char *rlt_deploy_method_at(uint32_t i);
int rlt_deploy_method_find(const char *name, const rlt_search_method **out, bool *guided,
                           rlt_error *err) RLT_MUST_USE;

/*
 * Divides the operators into at most `n` groups that exchange little: METIS, k-way, over base groups. Vertex
 * weight 1 + sqrt(microseconds) summed over the operators; edge weight 1 + KB; `balance`: load of a group
 * over the average, at most (5 in the reference). Empty parts are left out. With fewer than 4 n base groups
 * recursive bisection is used; with at most n, each base group is a group. *cut: share of the bytes between
 * groups.
 */
int rlt_deploy_group(const rlt_opgraph *g, uint32_t n, double balance, rlt_grouping *out, double *cut,
                     rlt_error *err) RLT_MUST_USE;

/* A deployment as a problem of tools/search: variable i is group i, option o is action o. */
typedef struct rlt_deployment {
    const rlt_opgraph *graph;
    const rlt_grouping *grouping;
    const rlt_cluster *cluster;
    rlt_action *actions;
    uint32_t n_actions;
    uint32_t *options;             /* n_actions for each group */
    uint8_t *reduces;              /* by group: gradients flow into it */
    uint16_t *instead;             /* by action: the one that means the same for other groups */
    uint16_t *baseline;            /* data parallelism; model parallelism if that does not fit */
    rlt_judge **judges;            /* by trial */
    rlt_strategy *strategies;      /* by trial */
    rlt_verdict *verdicts;         /* by trial: of the point judged last */
    struct rlt_guide *guide;       /* gives the prior of a search by the policy; NULL: none. Borrowed */
    struct rlt_progress *progress; /* bar of a search, or NULL */
    uint64_t judged, to_judge;
    uint32_t trials;
} rlt_deployment;

int rlt_deployment_make(const rlt_opgraph *g, const rlt_grouping *p, const rlt_cluster *c, bool duplicate,
                        uint32_t trials, rlt_deployment *out, rlt_error *err) RLT_MUST_USE;
void rlt_deployment_free(rlt_deployment *d);
/* Fills the search problem of a deployment: with the reference's timing, or over the network. */
rlt_search_problem rlt_deployment_problem(rlt_deployment *d, bool network);
/* Turns a point into a strategy, which belongs to the deployment's trial. */
const rlt_strategy *rlt_deployment_strategy(rlt_deployment *d, uint32_t trial, const uint16_t *point);

#endif
