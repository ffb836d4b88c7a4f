/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Variation of work: a factor on the durations of each rank's operations in each step. Factors of several
 * kinds multiply. A factor depends only on the seed, the place in the list, the rank and the step. It depends
 * neither on the order of events nor on the machine (sim/base/random.h).
 *   lognormal  mean 1, coefficient of variation `cv`; drawn anew in each step
 *   markov     1, or `slow` while the rank is slow. From one step to the next a rank becomes slow with
 *              probability `enter` and recovers with probability `leave`. At the start it is slow with the
 *              long-run probability enter / (enter + leave)
 */
#ifndef RLT_WORKLOAD_REPLAY_NOISE_H
#define RLT_WORKLOAD_REPLAY_NOISE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/param.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rlt_noise_kind { RLT_NOISE_LOGNORMAL, RLT_NOISE_MARKOV } rlt_noise_kind;

typedef enum rlt_noise_on { RLT_NOISE_ON_COMPUTE, RLT_NOISE_ON_HOST, RLT_NOISE_ON_BOTH } rlt_noise_on;

typedef struct rlt_noise {
    rlt_noise_kind kind;
    rlt_noise_on on;
    double cv;
    double slow, enter, leave;
} rlt_noise;

typedef struct rlt_noise_info {
    const char *name;
    const rlt_param *parameters; /* members are fields of an rlt_noise */
} rlt_noise_info;
/* Returns kind i, or NULL past the end. */
RLT_API const rlt_noise_info *rlt_noise_kind_at(uint32_t i);
/* Parses "lognormal:cv=0.1" or "markov:slow=2,enter=0.01,leave=0.2". Each also takes on=compute (the
 * default), host or both. RLT_EUSAGE. */
RLT_API int rlt_noise_parse(const char *text, rlt_noise *out, rlt_error *err) RLT_MUST_USE;
/* Returns true if durations on the host vary (`host`), or else those of compute. */
RLT_API bool rlt_noise_is_on(const rlt_noise *n, bool host);
/* Multiplies factors[rank * steps + step] by the factors of all entries of the list that act on the host
 * (`host`), or else on compute. */
RLT_API void rlt_noise_fill(const rlt_noise *list, uint32_t n, bool host, uint64_t seed, uint32_t ranks,
                            uint32_t steps, double *factors);

#ifdef __cplusplus
}
#endif
#endif
