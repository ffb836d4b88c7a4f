/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Adding floating-point numbers where there are only tables and integers: a switch. The idea is that of NetFC
 * (Cui et al., ICNP 2021), which Libra uses: project both on logarithms and the one huge table of all pairs
 * falls apart into small ones. The tables themselves are our design; theirs is not public in that detail.
 *
 *   |x| + |y| = 2^(X + D), X = log2 |x| >= Y = log2 |y|, D = log2(1 +- 2^-(X - Y))
 *
 *   logarithm  by the first `log_bits` of the significand: fractions of 2^-fraction_bits
 *   plus       D of sums, by X - Y: 2^plus_bits cells for differences below 1, and half as many for each
 *              whole number more, as its slope halves
 *   minus      D of differences: it has a pole at 0, so cells are relative: by the leading bit of X - Y and
 *              the minus_bits after it, as prefix rules match them
 *   power      back, by the first `power_bits` of the fraction
 *
 * A value in a table stands for the middle of its cell. Sums beyond the format saturate, numbers below its
 * least normal one become 0; both are told.
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

/* Within 448 KiB, and within 496 KiB. */
extern const rlt_float_shape rlt_float16_shape, rlt_float32_shape;

typedef struct rlt_float_tables {
    rlt_float_shape shape;
    uint32_t n_plus, n_minus;
    uint32_t *logarithm, *plus, *minus, *power; /* minus: of -D */
    size_t bytes;                               /* in a switch, entries being of 2 or 4 bytes */
} rlt_float_tables;

typedef struct rlt_float_events {
    uint64_t overflows, underflows;
} rlt_float_events;

/* RLT_ERANGE for shapes that make no sense: fraction_bits 4 to 24, others no more than what they index. */
int rlt_float_tables_create(const rlt_float_shape *shape, rlt_float_tables *out, rlt_error *err) RLT_MUST_USE;
void rlt_float_tables_free(rlt_float_tables *t);
/* Numbers of the format as its bits: to nearest, ties to even. */
uint32_t rlt_float_encode(const rlt_float_tables *t, double x, rlt_float_events *events);
double rlt_float_decode(const rlt_float_tables *t, uint32_t bits);
uint32_t rlt_float_add(const rlt_float_tables *t, uint32_t a, uint32_t b, rlt_float_events *events);

#ifdef __cplusplus
}
#endif
#endif
