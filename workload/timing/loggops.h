/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * LogGOPSim's cost model over a GOAL file: no network, but costs of CPUs and NICs (Hoefler, Schneider,
 * Lumsdaine, "LogGOPSim - Simulating Large-Scale Applications in the LogGOPS Model", LSAP 2010), with the
 * rules of the published program, so that its finish times are met to the nanosecond:
 *
 *   calc c      when the CPU is free at t: CPU busy to t + c
 *   send of s   when CPU and NIC are free at t: CPU to t + o + (s-1) O, NIC to t + g + (s-1) G; the message
 *               comes at t + o + L. Of up to S bytes it is over at once, above that with the receive.
 *   message     when the receiver's CPU and NIC are free at t: CPU to t + o + (s-1) max(O, G), NIC to
 *               t + g + (s-1) G; it meets the first receive of its sender and tag, or waits for one.
 *   receive     costs nothing itself; over when its message is, at once if that waits.
 *
 * What can go next begins at the rank's own clock. A message of no bytes costs what one byte costs.
 */
#ifndef RLT_WORKLOAD_TIMING_LOGGOPS_H
#define RLT_WORKLOAD_TIMING_LOGGOPS_H

#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/param.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ns; ns a byte; bytes. Each at most 10^15. */
typedef struct rlt_loggops {
    uint64_t L, o, g, G, O, S;
} rlt_loggops;

typedef struct rlt_loggops_result {
    uint32_t ranks;
    uint64_t messages, calculations, bytes;
    uint64_t end_ns;       /* of the last rank */
    uint64_t *rank_end_ns; /* when a rank's CPUs are all done */
} rlt_loggops_result;

/* LogGOPSim's own defaults. */
/* The table of an rlt_loggops. */
const rlt_param *rlt_loggops_parameters(void);
rlt_loggops rlt_loggops_default(void);
/* "L=2500,o=1500,g=1000,G=6,O=0,S=65535"; what is not named stays. */
int rlt_loggops_parse(const char *text, rlt_loggops *p, rlt_error *err) RLT_MUST_USE;
int rlt_loggops_run(const char *path, const rlt_loggops *p, rlt_loggops_result *out,
                    rlt_error *err) RLT_MUST_USE;
void rlt_loggops_free(rlt_loggops_result *r);

#ifdef __cplusplus
}
#endif
#endif
