/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bounds of points and partial points (inside the room). What each level bounds is in plan.h. */
#ifndef RLT_WORKLOAD_PLAN_BOUNDS_H
#define RLT_WORKLOAD_PLAN_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/plan/plan.h"
#include "workload/timing/timing.h"
#include "workload/training/training.h"

/* What bounds of a search have in common. One thread uses it. */
typedef struct rlt__bounds {
    const rlt_layout_search *plan; /* borrowed */
    const rlt_layout_space *space;
    rlt_timing *alone; /* durations of collectives */
    bool two_ways;     /* some schedule lets communication of a pass go on beside another pass */
} rlt__bounds;

/* Opens bounds. Close them in every case. */
int rlt__bounds_open(const rlt_layout_search *p, rlt__bounds *out, rlt_error *err) RLT_MUST_USE;
void rlt__bounds_close(rlt__bounds *b);
/* Sets the axes that a level knows, `at` by axis, and for the others what asks for least. */
int rlt__bounds_training(const rlt__bounds *b, const uint16_t *at, rlt_layout_level level, rlt_training *t,
                         rlt_error *err) RLT_MUST_USE;
/* Returns true if the rule that a partial point is against holds for all its points. */
bool rlt__holds_below(const rlt_error *why, rlt_layout_level level);
/* Returns a lower bound of the memory of the fullest stage of all points below a planned training of a level
 * above that of points. */
double rlt__least_memory(const rlt__bounds *b, const rlt_training *t, rlt_layout_level level);
/* Bounds a planned training by its parts. Not `communicates`: collectives take no time. */
int rlt__bound_by_cost(rlt__bounds *b, const rlt_training *t, rlt_layout_level level, bool communicates,
                       rlt_time *bound_ps, rlt_error *err) RLT_MUST_USE;
/* Bounds a layout: the least over the values of the microbatch that divide the batch. */
int rlt__bound_layout(rlt__bounds *b, const rlt_training *layout, rlt_time *bound_ps,
                      rlt_error *err) RLT_MUST_USE;

#endif
