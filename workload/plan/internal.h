/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Between the tree of a search and the answers to its questions. */
#ifndef RLT_WORKLOAD_PLAN_INTERNAL_H
#define RLT_WORKLOAD_PLAN_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"
#include "sim/watch.h"
#include "workload/plan/plan.h"
#include "workload/timing/timing.h"
#include "workload/training/cost.h"
#include "workload/training/training.h"

/* A worker: what a search knows from the start, and its own times of collectives. */
typedef struct rlt__search {
    const rlt_layout_search *plan;
    const rlt_layout_space *space;
    rlt_timing *alone; /* owned; NULL until needed */
    rlt_spans *spans;  /* owned; durations for bounds */
    rlt_training base; /* that of the plan, with its blocks found */
    bool in_a_row;     /* all schedules of the space are 1F1B or GPipe: a stage has one chunk */
    bool two_ways;     /* some schedule lets communication of a pass go on beside another pass */
    /* Bounds of orders known so far, by the values of kernels and orders. */
    rlt_strings orders;
    rlt_time *of_orders;
    uint32_t n_orders, orders_room;
} rlt__search;

/* Begins a worker: it finds out about the space. */
void rlt__search_begin(rlt__search *s, const rlt_layout_search *p);
/* Makes the worker's times of collectives, if there are none yet. */
int rlt__search_alone(rlt__search *s, rlt_error *err) RLT_MUST_USE;
/* Answers. An error is an outcome, too; RLT_ECANCELLED is none. */
void rlt__search_answer(rlt__search *worker, const rlt_layout_task *t, const rlt_watch *watch,
                        rlt_layout_outcome *out);
void rlt__search_free(rlt__search *s); /* frees all that the worker owns */

/* Sets the axes that a level knows, `at` by axis, and for the others what asks for least. */
int rlt__search_training(const rlt__search *s, const uint16_t *at, rlt_layout_level level, rlt_training *t,
                         rlt_error *err) RLT_MUST_USE;
/* Returns true if the rule that a partial point above the level of stages is against holds for all its
 * points. */
bool rlt__holds_below(const rlt_error *why, rlt_layout_level level);
/* Returns true if another point stands for all points of a planned training of the level of stages, or for
 * the point. For a point only its order is looked at. */
bool rlt__layout_repeats(const rlt_layout_space *s, const rlt_training *t, const uint16_t *at,
                         rlt_layout_level level);
/* Returns the memory that a rank may use. */
double rlt__capacity(const rlt__search *s);
/* Returns a lower bound of the memory of the fullest stage of all points below a planned training, the least
 * over the values of ZeRO, and of recomputation while it is open; or a bound of some that is within the
 * capacity. */
double rlt__least_memory(const rlt__search *s, const rlt_training *t, rlt_layout_level level);
/* Bounds a planned training by its parts. */
int rlt__bound_by_cost(rlt__search *s, const rlt_training *t, rlt_layout_level level,
                       rlt_cost_communication communication, rlt_time *bound_ps, rlt_error *err) RLT_MUST_USE;
/* Bounds a layout: the least over the values of the microbatch that divide the batch. */
int rlt__bound_layout(rlt__search *s, const rlt_training *layout, rlt_time *bound_ps,
                      rlt_error *err) RLT_MUST_USE;
/* Bounds the kernels of a point in its order, with communication, whatever the other axes are. Points that
 * share both are bounded once. */
int rlt__bound_order(rlt__search *s, const uint16_t *at, rlt_time *bound_ps, rlt_error *err) RLT_MUST_USE;

#endif
