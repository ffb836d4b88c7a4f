/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Between the tree of a search and the answers to its questions. */
#ifndef RLT_WORKLOAD_PLAN_INTERNAL_H
#define RLT_WORKLOAD_PLAN_INTERNAL_H

#include <stdbool.h>

#include "sim/base/error.h"
#include "sim/watch.h"
#include "workload/plan/plan.h"
#include "workload/timing/timing.h"

/* A worker: what a search knows from the start, and its own times of collectives. */
typedef struct rlt__search {
    const rlt_layout_search *plan;
    const rlt_layout_space *space;
    rlt_timing *alone; /* owned; NULL until needed */
    bool two_ways;     /* some schedule lets communication of a pass go on beside another pass */
} rlt__search;

/* Returns true if a schedule of the space is none of those in a fixed order, one pass after the other. */
bool rlt__layout_two_ways(const rlt_layout_search *p);
/* Makes the worker's times of collectives, if there are none yet. */
int rlt__search_alone(rlt__search *s, rlt_error *err) RLT_MUST_USE;
/* Answers. An error is an outcome, too; RLT_ECANCELLED is none. */
void rlt__search_answer(rlt__search *worker, const rlt_layout_task *t, const rlt_watch *watch,
                        rlt_layout_outcome *out);

#endif
