/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Floating-point addition with tables and integers only, as a switch has them. The idea is that of NetFC (Cui
 * et al., ICNP 2021), which Libra uses: after projection on logarithms, the huge table of all pairs becomes a
 * few small ones. The tables here are our design; theirs is not published in that detail.
 *
 *   |x| +- |y| = 2^(X + D), X = log2 |x| >= Y = log2 |y|, D = log2(1 +- 2^-(X - Y))
 *
 *   logarithm  X, indexed by the first `log_bits` of the significand, in units of 2^-fraction_bits
 *   plus       D of sums, indexed by X - Y: 2^plus_bits cells for differences below 1, then half as many for
 *              each further whole number, since the slope halves
 *   minus      D of differences. D has a pole at 0, so cells are relative: the leading bit of X - Y and the
 *              next minus_bits bits, as prefix rules match them
 *   power      the inverse logarithm, indexed by the first `power_bits` of the fraction
 *
 * Example: 3 + 1: X - Y = 1.585, D = log2(1 + 1/3) = 0.415, X + D = 2, so the sum is 4.
 *
 * A table entry holds the value in the middle of its cell. Sums beyond the format saturate, and results below
 * its smallest normal number become 0; both are counted.
 */
#ifndef RLT_COLLECTIVES_IN_NETWORK_LIBRA_FLOAT_TABLES_H
#define RLT_COLLECTIVES_IN_NETWORK_LIBRA_FLOAT_TABLES_H

#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_float_shape {
    uint32_t exponent_bits, significand_bits; /* of the format: 5 and 10, or 8 and 23 */
    uint32_t log_bits, fraction_bits, plus_bits, minus_bits, power_bits;
} rlt_float_shape;

/* Shapes whose tables take at most 448 KiB and 496 KiB. */
extern const rlt_float_shape rlt_float16_shape, rlt_float32_shape;

typedef struct rlt_float_tables {
    rlt_float_shape shape;
    uint32_t n_plus, n_minus;
    uint32_t *logarithm, *plus, *minus, *power; /* `minus` holds -D */
    size_t bytes;                               /* size in a switch, with entries of 2 or 4 bytes */
} rlt_float_tables;

typedef struct rlt_float_events {
    uint64_t overflows, underflows;
} rlt_float_events;

/* Builds the tables. RLT_ERANGE for impossible shapes: fraction_bits must be 4 to 24, and the other widths at
 * most the number of bits that they index. */
int rlt_float_tables_create(const rlt_float_shape *shape, rlt_float_tables *out, rlt_error *err) RLT_MUST_USE;
void rlt_float_tables_free(rlt_float_tables *t);
/* Numbers of the format as bit patterns. Encoding rounds to nearest, ties to even. `events` counts overflows
 * and underflows. */
uint32_t rlt_float_encode(const rlt_float_tables *t, double x, rlt_float_events *events);
double rlt_float_decode(const rlt_float_tables *t, uint32_t bits);
uint32_t rlt_float_add(const rlt_float_tables *t, uint32_t a, uint32_t b, rlt_float_events *events);

#ifdef __cplusplus
}
#endif
#endif
