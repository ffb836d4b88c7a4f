/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Estimates for other speeds, from a replay that has run, with bounds. The operations, their order on every
 * resource and who waits for whom stay the same; only durations change, and all starts are computed anew.
 *
 * Let operation i have taken d(i). At x times the speed of one part (network, compute or hosts) it takes
 *
 *   d(i) - b(i) + b(i) / x        with 0 <= b(i) <= d(i), the time that depends on that part
 *
 * and the run takes T(b). T never falls when a duration grows, so if every b(i) lies between low(i) and
 * high(i), the run lies between T(low) and T(high). The three readings of b:
 *
 *                         low                       middle                     high
 *   network  transfer     what its links need       all but the launch         all
 *            hidden       0                         0, recorded times: all     all (certificate.h)
 *   compute  device work  0 if it communicates      all                        all
 *            gap          0                         0                          all
 *   hosts    host work    all                       all                        all
 *            gap          0                         0                          all
 *
 * Example: compute 4 ms, then a transfer of 6 ms, of which its links need 5 ms and the launch takes 0.5 ms.
 * On a network twice as fast: 4 + 1 + 2.5 = 7.5, 4 + 0.5 + 2.75 = 7.25 and 4 + 3 = 7 ms.
 */
#ifndef RLT_WORKLOAD_REPLAY_WHATIF_WHATIF_H
#define RLT_WORKLOAD_REPLAY_WHATIF_WHATIF_H

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"
#include "workload/replay/whatif/certificate.h"

typedef enum rlt_part { RLT_PART_NETWORK, RLT_PART_COMPUTE, RLT_PART_HOST } rlt_part;

typedef struct rlt_estimate {
    rlt_time low_ps, ps, high_ps; /* run time; low_ps <= ps <= high_ps */
} rlt_estimate;

typedef struct rlt_what_if rlt_what_if;

/* Prepares estimates for a replay that came to its end. All is borrowed. c: of the same program; NULL: none.
 * launch_ps: part of each collective that does not depend on the network's speed. */
int rlt_what_if_create(const rlt_replay *r, const rlt_program *p, const rlt_certificate *c,
                       rlt_time launch_ps, rlt_what_if **out, rlt_error *err) RLT_MUST_USE;
void rlt_what_if_free(rlt_what_if *w);
/* Estimates the run with one part `speed` times as fast, above 0. At speed 1: the time of the replay. O(n) in
 * operations and dependencies. */
rlt_estimate rlt_what_if_estimate(rlt_what_if *w, rlt_part part, double speed);

#endif
