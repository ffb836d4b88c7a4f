/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Variation of work: a factor on the durations of each rank's operations in each step. Factors of several
 * kinds multiply. A factor depends only on the seed, the place in the list, the rank and the step. It depends
 * neither on the order of events nor on the machine (sim/base/random.h).
 *   lognormal  mean 1, coefficient of variation `cv`; drawn anew in each step
 *   operation  as lognormal, but drawn anew for each operation
 *   measured   drawn anew for each operation, from the recording: see below
 *   markov     1, or `slow` while the rank is slow. From one step to the next a rank becomes slow with
 *              probability `enter` and recovers with probability `leave`. At the start it is slow with the
 *              long-run probability enter / (enter + leave)
 * operation and measured may be limited to operations whose names contain a text.
 *
 * measured. The k-th operation of a name in a step of a rank took d(s) in each recorded step s. Let m be the
 * mean of these durations. The ratios d(s) / m of all k and ranks are the distribution of that name. A replay
 * takes m times a ratio drawn from it. Example: a kernel took 9, 10 and 11 us in three steps. Each time, it
 * takes 9, 10 or 11 us with equal probability.
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

typedef enum rlt_noise_kind {
    RLT_NOISE_LOGNORMAL,
    RLT_NOISE_MARKOV,
    RLT_NOISE_OPERATION,
    RLT_NOISE_MEASURED
} rlt_noise_kind;

typedef enum rlt_noise_on { RLT_NOISE_ON_COMPUTE, RLT_NOISE_ON_HOST, RLT_NOISE_ON_BOTH } rlt_noise_on;

typedef struct rlt_noise {
    rlt_noise_kind kind;
    rlt_noise_on on;
    double cv;
    double slow, enter, leave;
    char name[64]; /* part of the names of operations; "": all */
} rlt_noise;

typedef struct rlt_noise_info {
    const char *name;
    const rlt_param *parameters; /* members are fields of an rlt_noise */
} rlt_noise_info;
/* Returns kind i, or NULL past the end. */
RLT_API const rlt_noise_info *rlt_noise_kind_at(uint32_t i);
/* Parses "lognormal:cv=0.1", "markov:slow=2,enter=0.01,leave=0.2", "operation:cv=0.1,name=gemm" or
 * "measured:name=gemm". Each also takes on=compute (the default), host or both. RLT_EUSAGE. */
RLT_API int rlt_noise_parse(const char *text, rlt_noise *out, rlt_error *err) RLT_MUST_USE;
/* Returns true if each operation has a factor of its own. */
RLT_API bool rlt_noise_by_operation(const rlt_noise *n);
/* Returns true if durations on the host vary (`host`), or else those of compute. */
RLT_API bool rlt_noise_is_on(const rlt_noise *n, bool host);
/* Multiplies factors[rank * steps + step] by the factors of all entries of the list that act on the host
 * (`host`), or else on compute. Leaves out those by operation. */
RLT_API void rlt_noise_fill(const rlt_noise *list, uint32_t n, bool host, uint64_t seed, uint32_t ranks,
                            uint32_t steps, double *factors);

#ifdef __cplusplus
}
#endif
#endif
