/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Counter-based random streams: Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy
 * as 1, 2, 3", SC'11), keyed by (seed, entity, purpose) and indexed by a counter: the k-th number of a stream
 * does not depend on the order of events or on other streams.
 */
#ifndef RLT_SIM_BASE_RANDOM_H
#define RLT_SIM_BASE_RANDOM_H

#include <stdint.h>

#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The ten-round block function, exposed for the known-answer test. */
RLT_API void rlt_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);
/* k-th 64-bit number of the stream. */
RLT_API uint64_t rlt_random_u64(uint64_t seed, uint32_t entity, uint32_t purpose, uint64_t k);
/* Uniform in [0, 1), 53 bits. */
RLT_API double rlt_random_unit(uint64_t seed, uint32_t entity, uint32_t purpose, uint64_t k);
/* Uniform in [0, n), n > 0, without modulo bias worth naming (multiply-shift on 64 bits). */
RLT_API uint64_t rlt_random_below(uint64_t seed, uint32_t entity, uint32_t purpose, uint64_t k, uint64_t n);
/*
 * Variates with the same bits on every machine: only +, -, *, / and square roots, each rounded as IEEE 754
 * says, and no other function of libm.
 *   normal       mean 0, variance 1 (Box, Muller: "A note on the generation of random normal deviates", 1958)
 *   lognormal    mean 1, standard deviation cv >= 0: exp(s z - s^2 / 2) with s^2 = log(1 + cv^2)
 *   exponential  mean 1
 */
RLT_API double rlt_random_normal(uint64_t seed, uint32_t entity, uint32_t purpose, uint64_t k);
RLT_API double rlt_random_lognormal(uint64_t seed, uint32_t entity, uint32_t purpose, uint64_t k, double cv);
RLT_API double rlt_random_exponential(uint64_t seed, uint32_t entity, uint32_t purpose, uint64_t k);
/* Logarithm (x > 0, finite) and exponential (|x| < 700) used by the variates; both are within a few units in
 * the last place. */
RLT_API double rlt_fixed_log(double x);
RLT_API double rlt_fixed_exp(double x);

#ifdef __cplusplus
}
#endif
#endif
