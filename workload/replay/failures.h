/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A long training run whose accelerators fail. Any failure stops all of them. A restart takes `restart`, may
 * fail as well, and resumes from the last checkpoint. A checkpoint is written after each `interval` of work
 * and at the end. Failures are independent and exponential. One accelerator fails every `mtbf` on average, so
 * n of them fail every M = mtbf / n.
 *
 * W is the work, t the work between checkpoints, C the time of a checkpoint, R that of a restart.
 *   expected     mean time for a stretch of work t: M e^(R/M) (e^((t+C)/M) - 1). The whole has W/t stretches
 *                (Daly: "A higher order estimate of the optimum checkpoint interval for restart dumps",
 *                FGCS 22, 2006)
 *   first order  in 1/M: W (1 + C/t) (1 + (R + (t+C)/2) / M)
 *   best         interval by Daly's estimate: sqrt(2CM) (1 + sqrt(C/2M)/3 + (C/2M)/9) - C if C < 2M, else M.
 *                Its leading term is Young's (CACM 17, 1974)
 *   simulated    timelines drawn from a seed, the same on every machine
 * Example: mtbf = 10000 h and n = 1000 give M = 10 h. With C = 0.1 h, R = 0.2 h and t = 1 h a stretch takes
 * 10 e^0.02 (e^0.11 - 1) = 1.186 h on average, and the first order gives 1.1 (1 + 0.75/10) = 1.183 h.
 *
 * Times are in seconds as double: training takes longer than simulated time can reach.
 */
#ifndef RLT_WORKLOAD_REPLAY_FAILURES_H
#define RLT_WORKLOAD_REPLAY_FAILURES_H

#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/param.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_failures {
    double mtbf_s, checkpoint_s, restart_s;
    double interval_s; /* 0: the best one */
} rlt_failures;

typedef struct rlt_failures_result {
    /* work_s: without failures and checkpoints; mtbf_s: of all accelerators together */
    double work_s, mtbf_s;
    double interval_s, best_s; /* interval_s: at most all of the work */
    double expected_s, first_order_s;
    /* Means over `trials` timelines. 0 trials: there would be too many failures to draw. mean_s = work_s +
     * checkpoint_s + lost_s + restart_s. */
    uint32_t trials;
    double mean_s, error_s; /* error_s: standard error of the mean */
    double failures, checkpoint_s, lost_s, restart_s;
} rlt_failures_result;

/* Returns the table of --failures, of an rlt_failures. */
const rlt_param *rlt_failures_parameters(void);
/* Parses "mtbf=1000h,checkpoint=60s,interval=1h,restart=5min"; mtbf and checkpoint are required. Units: ms,
 * s, min, h, d. RLT_EUSAGE. */
int rlt_failures_parse(const char *text, rlt_failures *out, rlt_error *err) RLT_MUST_USE;
/* Estimates the time of a run. RLT_ERANGE if a stretch of work would hardly ever end (longer than 700 M). */
int rlt_failures_estimate(const rlt_failures *f, uint32_t accelerators, double work_s, uint64_t seed,
                          rlt_failures_result *out, rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
