/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Judges a strategy: rewrites the graph into an execution graph, times it, and accounts for memory.
 *
 * Two timings. RLT_JUDGE_TAG is that of TAG's reference simulator: a device takes tasks in the order in which
 * they became ready; each ordered pair of devices of a group, and each ordered pair of groups, has one link
 * that serialises; collectives are serial in the whole cluster and disturb nobody. RLT_JUDGE_NETWORK replays
 * the same execution graph over the cluster's topology, where links are shared.
 *
 * A judge is bound to a graph, a grouping and a cluster, which it borrows. It reuses its memory from call to
 * call. One thread uses it at a time; several judges share graph, grouping and cluster.
 */
#ifndef RLT_WORKLOAD_DEPLOY_JUDGE_H
#define RLT_WORKLOAD_DEPLOY_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/opgraph.h"
#include "workload/deploy/strategy.h"

typedef struct rlt_judge rlt_judge;

typedef struct rlt_verdict {
    rlt_time time_ps;
    uint32_t n_tasks;
    uint32_t over;         /* devices whose memory does not suffice; 0: the strategy fits */
    uint32_t worst_device; /* the device that lacks most memory; RLT_NONE if the strategy fits */
    uint64_t worst_bytes;  /* what it would need */
} rlt_verdict;

/* Results of a simulation, for the search. The arrays belong to the judge, until its next call. */
typedef struct rlt_feedback {
    const rlt_time
        *makespan_ps; /* by operator: from its first start to its last end, its transfers included */
    const rlt_time *idle_after_ps; /* by operator: smallest start of a consumer less its own end; sinks: 0 */
    const rlt_time *busy_ps;       /* by device */
    const uint64_t *peak_bytes;    /* by device */
} rlt_feedback;

int rlt_judge_create(const rlt_opgraph *g, const rlt_grouping *p, const rlt_cluster *c, rlt_judge **out,
                     rlt_error *err) RLT_MUST_USE;
void rlt_judge_free(rlt_judge *j);
/* Times a strategy as the reference does. `feedback` may be NULL. O(t log t) for t tasks. */
int rlt_judge_tag(rlt_judge *j, const rlt_strategy *s, rlt_verdict *out, rlt_feedback *feedback,
                  rlt_error *err) RLT_MUST_USE;

struct rlt_program;
/* The execution graph as a program for replay: rank d is device d; transfers are messages, reductions are
 * collectives. `tag`: one rank with the reference's timing instead, whose resources are the devices, the
 * links and the one queue of collectives; its replay takes the time that rlt_judge_tag says. */
int rlt_judge_program(rlt_judge *j, const rlt_strategy *s, bool tag, struct rlt_program **out,
                      rlt_error *err) RLT_MUST_USE;
/* Times a strategy under contention: replays rlt_judge_program over the cluster's topology. RLT_EUSAGE
 * without a topology. */
int rlt_judge_network(rlt_judge *j, const rlt_strategy *s, rlt_verdict *out, rlt_error *err) RLT_MUST_USE;

/* Reward of a time against the baseline's: -1 if the strategy does not fit, else r = baseline / time - 1, and
 * r^(1/4) where r > 1. Half the time gives 1; 1 / 4.56 of it 1.3736. */
double rlt_deploy_reward(rlt_time baseline_ps, const rlt_verdict *v);

#endif
