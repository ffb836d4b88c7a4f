/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Counter-based random streams: Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy
 * as 1, 2, 3", SC'11). A stream is named by (seed, entity, purpose) and indexed by a counter k. The k-th
 * number of a stream depends neither on the order of events nor on other streams.
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
/* Returns the k-th 64-bit number of the stream. */
RLT_API uint64_t rlt_random_u64(uint64_t seed, uint32_t entity, uint32_t purpose, uint64_t k);
/* Uniform in [0, 1) with 53 bits. */
RLT_API double rlt_random_unit(uint64_t seed, uint32_t entity, uint32_t purpose, uint64_t k);
/* Uniform in [0, n), n > 0. Multiply-shift on 64 bits: the bias is below n / 2^64. */
RLT_API uint64_t rlt_random_below(uint64_t seed, uint32_t entity, uint32_t purpose, uint64_t k, uint64_t n);
/*
 * Random variates with the same bits on every machine: they use only +, -, *, / and square roots, each
 * rounded as IEEE 754 requires, and no other function of libm.
 *
 *   normal       mean 0, variance 1 (Box, Muller: "A note on the generation of random normal deviates", 1958)
 *   lognormal    mean 1, standard deviation cv >= 0: exp(s z - s^2 / 2) with s^2 = log(1 + cv^2), z normal
 *   exponential  mean 1
 */
RLT_API double rlt_random_normal(uint64_t seed, uint32_t entity, uint32_t purpose, uint64_t k);
RLT_API double rlt_random_lognormal(uint64_t seed, uint32_t entity, uint32_t purpose, uint64_t k, double cv);
RLT_API double rlt_random_exponential(uint64_t seed, uint32_t entity, uint32_t purpose, uint64_t k);
/* Logarithm (x > 0, finite) and exponential (|x| < 700) that the variates use. Both are within a few units in
 * the last place. */
RLT_API double rlt_fixed_log(double x);
RLT_API double rlt_fixed_exp(double x);

#ifdef __cplusplus
}
#endif
#endif
