/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Time of an iteration with failures, checkpoints and restarts (workload/replay/failures.h): its expected
 * share of a long run. With the number of accelerators fixed it grows with the time without failures, so the
 * fastest layout stays the fastest. Between numbers of accelerators it decides: more of them fail more often.
 *
 * Example: T = 10 s, 1000 accelerators with mtbf = 10000 h, C = 0.1 h, R = 0.2 h, an hour between
 * checkpoints: a stretch of an hour takes 1.186 h, so an iteration takes 11.86 s, goodput 84.3 %.
 */
#ifndef RLT_WORKLOAD_EXPERIMENT_LAYOUTS_GOODPUT_H
#define RLT_WORKLOAD_EXPERIMENT_LAYOUTS_GOODPUT_H

#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/replay/failures.h"

typedef struct rlt_layout_goodput {
    double expected_s; /* per iteration */
    double goodput;    /* time without failures and checkpoints / expected time */
    double interval_s; /* work between checkpoints */
} rlt_layout_goodput;

/* Finds it for a run of `iterations`, or an endless one (0). RLT_ERANGE if a stretch of work would hardly
 * ever end. */
int rlt_layout_goodput_of(const rlt_failures *f, uint32_t accelerators, rlt_time iteration_ps,
                          uint64_t iterations, rlt_layout_goodput *out, rlt_error *err) RLT_MUST_USE;

#endif
