/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Decisions of a deployment: operators are divided into groups, and each group gets an action, that is, a set
 * of device groups and how to use them.
 *
 * Number of actions for n device groups: 3 (2^n - 1) less 2 for each set with a single device, where the
 * three ways are one. Two, three, four and seven groups of several devices have 9, 21, 45 and 381.
 */
#ifndef RLT_WORKLOAD_DEPLOY_STRATEGY_H
#define RLT_WORKLOAD_DEPLOY_STRATEGY_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/opgraph.h"

/* How a group of operators uses the devices of its placement. */
typedef enum rlt_use {
    RLT_USE_PS,         /* replicas of the batch; gradients meet at a parameter server among them */
    RLT_USE_ALL_REDUCE, /* replicas of the batch; gradients are all-reduced */
    RLT_USE_MODEL,      /* model parallel: each operator on one of the devices */
    RLT_USE_DUPLICATE,  /* every replica does the whole batch: nothing is reduced */
    RLT_USES
} rlt_use;

typedef struct rlt_action {
    uint32_t placement; /* bit g: device group g; not 0 */
    uint8_t use;        /* rlt_use */
} rlt_action;

/* A division of the operators into groups. Groups are sorted by decreasing total time. */
typedef struct rlt_grouping {
    uint32_t n;
    uint32_t *of_op;   /* group of each operator */
    rlt_time *time_ps; /* total time of each group on the reference device */
} rlt_grouping;

typedef struct rlt_strategy {
    uint32_t n;          /* groups */
    rlt_action *actions; /* by group */
    uint8_t
        *broadcast; /* by operator: 1 = duplicated, with its inputs gathered (sufficient factors); or NULL */
} rlt_strategy;

/* Lists the actions of a cluster, in order of placement, then of use. `duplicate`: RLT_USE_DUPLICATE too. The
 * caller frees the list. */
int rlt_actions_list(const rlt_cluster *c, bool duplicate, rlt_action **list, uint32_t *n,
                     rlt_error *err) RLT_MUST_USE;
/* Makes a grouping of group numbers by operator (any numbers below `n`; empty ones are left out). */
int rlt_grouping_make(const rlt_opgraph *g, const uint32_t *of_op, uint32_t n, rlt_grouping *out,
                      rlt_error *err) RLT_MUST_USE;
void rlt_grouping_free(rlt_grouping *p);

/* A strategy that gives every group one action. */
int rlt_strategy_uniform(uint32_t n_groups, rlt_action a, rlt_strategy *out, rlt_error *err) RLT_MUST_USE;
void rlt_strategy_free(rlt_strategy *s);

/*
 * A deployment as JSON, which stands alone in a file or under "strategy":
 *
 *     {"graph", "graph_hash", "cluster", "cluster_hash",
 *      "device_groups": [{"type", "count", "factor", "memory_bytes"}, ...],
 *      "groups": [{"devices": [0, 2], "use": "all_reduce"}, ...],
 *      "operators": [{"name", "group", "broadcast", "time_ps", ...}, ...],
 *      "tensors": [[src, dst, bytes, kind], ...]}
 *
 * `devices` are indices of device groups; src and dst are indices of operators. The operators and tensors are
 * the whole graph, so that a file needs no other. Members writes all that into an open object.
 */
void rlt_strategy_members(rlt_jw *w, const rlt_opgraph *g, const rlt_cluster *c, const rlt_grouping *p,
                          const rlt_strategy *s);
/* The object of a document that is read. */
rlt_json rlt_strategy_object(const rlt_json_doc *doc);
/* Reads the decisions for a graph and a cluster that are there already. RLT_ESCHEMA with line and column for
 * an operator that the graph has not, or that the file lacks, and for device groups that the cluster has
 * not. */
int rlt_strategy_read(rlt_json_doc *doc, const rlt_opgraph *g, const rlt_cluster *c, rlt_grouping *p,
                      rlt_strategy *s, rlt_error *err) RLT_MUST_USE;
/* "ps", "all_reduce", "model", "duplicate". */
const char *rlt_use_name(uint8_t use);

#endif
