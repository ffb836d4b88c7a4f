/* SPDX-License-Identifier: GPL-3.0-or-later */
/* State of a judge. Internal to workload/deploy. */
#ifndef RLT_WORKLOAD_DEPLOY_JUDGE_INTERNAL_H
#define RLT_WORKLOAD_DEPLOY_JUDGE_INTERNAL_H

#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/deploy/execution.h"
#include "workload/deploy/judge.h"
#include "workload/deploy/strategy.h"

typedef struct rlt__ending {
    rlt_time end_ps;
    uint32_t task;
} rlt__ending;

typedef struct rlt__times {
    rlt_time start_ps, end_ps;
} rlt__times;

struct rlt_judge {
    rlt__rewriter rewriter;
    rlt__execution execution;
    /* Resources: devices, links of device pairs, links of group pairs, the queue of collectives. */
    rlt_time *free_ps;
    uint32_t n_resources;
    rlt_time *busy_ps;                     /* by device */
    rlt_time *makespan_ps, *idle_after_ps; /* by operator */
    rlt__times *times;                     /* by task */
    rlt__ending *heap;
    uint32_t *ready;
    uint32_t times_room, heap_room, ready_room;
};

/* Rewrites a strategy and weighs its memory; the time is left at 0. */
int rlt__judge_rewrite(rlt_judge *j, const rlt_strategy *s, rlt_verdict *out, rlt_error *err) RLT_MUST_USE;
/* Compares what devices need with what they have. */
void rlt__judge_weigh(const rlt_judge *j, rlt_verdict *out);
/* The resource that a task occupies, below n_resources; RLT_NONE: none. */
uint32_t rlt__judge_resource(const rlt_judge *j, const rlt__task *t);

#endif
