/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Between the tree of a search and the workers that answer its questions. */
#ifndef RLT_WORKLOAD_PLAN_INTERNAL_H
#define RLT_WORKLOAD_PLAN_INTERNAL_H

#include <stdbool.h>

#include "sim/base/error.h"
#include "sim/watch.h"
#include "workload/plan/bounds.h"
#include "workload/plan/plan.h"

/* A worker has its own times of collectives. Zero it and set `plan`; it must stay where it is. */
typedef struct rlt__worker {
    rlt_layout_search plan; /* its watch is that of the question under way */
    rlt__bounds bounds;
    bool open;
} rlt__worker;

/* Opens a worker unless it is open. Close it in every case. */
int rlt__worker_open(rlt__worker *w, rlt_error *err) RLT_MUST_USE;
void rlt__worker_close(rlt__worker *w);
/* Answers a question; opens the worker if need be. An error is an outcome, too. A stop leaves the question
 * unanswered. */
void rlt__worker_answer(rlt__worker *w, const rlt_layout_task *t, const rlt_watch *watch,
                        rlt_layout_outcome *out);

#endif
