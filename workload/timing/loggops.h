/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * LogGOPSim's cost model over a GOAL file (Hoefler, Schneider, Lumsdaine, "LogGOPSim - Simulating Large-Scale
 * Applications in the LogGOPS Model", LSAP 2010). It has no network, only costs of CPUs and NICs. The rules
 * are those of the published program, and finish times agree to the nanosecond.
 *
 *   calc c      begins when the CPU is free, at t: CPU busy to t + c
 *   send of s   begins when CPU and NIC are free, at t: CPU to t + o + (s-1) O, NIC to t + g + (s-1) G; the
 *               message arrives at t + o + L. A send of up to S bytes ends at once, a larger one with its
 *               receive.
 *   message     is received when the receiver's CPU and NIC are free, at t: CPU to t + o + (s-1) max(O, G),
 *               NIC to t + g + (s-1) G; it meets the first receive of its sender and tag, or waits for one.
 *   receive     costs nothing itself; ends with its message, at once if the message is already waiting.
 *
 * Example: L = 2500, o = 1500, g = 1000, G = 6, O = 0; s = 1001 sent at 0. The sender's CPU is busy to 1500
 * and its NIC to 7000. The message arrives at 4000; the receiver's CPU is busy to 4000 + 1500 + 6000 = 11500.
 *
 * An operation that becomes ready begins at the rank's own clock. A message of 0 bytes costs as much as one
 * of 1 byte.
 */
#ifndef RLT_WORKLOAD_TIMING_LOGGOPS_H
#define RLT_WORKLOAD_TIMING_LOGGOPS_H

#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/param.h"

#ifdef __cplusplus
extern "C" {
#endif

/* L, o, g in ns; G, O in ns per byte; S in bytes. Each is at most 10^15. */
typedef struct rlt_loggops {
    uint64_t L, o, g, G, O, S;
} rlt_loggops;

typedef struct rlt_loggops_result {
    uint32_t ranks;
    uint64_t messages, calculations, bytes;
    uint64_t end_ns;       /* end of the last rank */
    uint64_t *rank_end_ns; /* by rank: when all its CPUs are done */
} rlt_loggops_result;

/* Returns LogGOPSim's own defaults. */
/* Returns the table of an rlt_loggops. */
const rlt_param *rlt_loggops_parameters(void);
rlt_loggops rlt_loggops_default(void);
/* Parses "L=2500,o=1500,g=1000,G=6,O=0,S=65535". Fields that are not named keep their values. */
int rlt_loggops_parse(const char *text, rlt_loggops *p, rlt_error *err) RLT_MUST_USE;
int rlt_loggops_run(const char *path, const rlt_loggops *p, rlt_loggops_result *out,
                    rlt_error *err) RLT_MUST_USE;
void rlt_loggops_free(rlt_loggops_result *r);

#ifdef __cplusplus
}
#endif
#endif
