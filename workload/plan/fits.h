/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether a space has a layout that is against no rule and fits the memory, without any times.
 *
 * Points are visited in the order of their values. A rule that a point is against holds for others, too, and
 * skips them: rules of sizes depend on the sizes, that of the batch also on the microbatch, those of a
 * pipeline also on schedule and chunks. The order of the groups changes neither rules nor memory.
 * Once 1F1B is possible for sizes and a microbatch, other schedules and chunks are left out: they keep no
 * fewer activations.
 */
#ifndef RLT_WORKLOAD_PLAN_FITS_H
#define RLT_WORKLOAD_PLAN_FITS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/watch.h"
#include "workload/plan/plan.h"
#include "workload/training/training.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_layout_fit {
    bool possible, fits;    /* some point is against no rule; one of these needs at most `room` */
    rlt_layout_point point; /* the first that fits; else the possible one that needs least */
    rlt_error why; /* if none is possible: the last rule, in the order of planning, that a point is against */
} rlt_layout_fit;

/* Looks for the first point that needs at most `room` bytes. RLT_ECANCELLED if stopped. O(points) plans at
 * worst. */
int rlt_layout_first_fit(const rlt_layout_space *s, const rlt_training *base, uint32_t ranks, double room,
                         const rlt_watch *watch, rlt_layout_fit *out, rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
