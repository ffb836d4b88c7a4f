/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Floating-point addition by tables of logarithms. */
#include "collectives/in_network/libra/float_tables.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A difference of 2^4 = 16 or more adds nothing that fraction_bits could show. */
enum { MINUS_OCTAVES = 4 };

const rlt_float_shape rlt_float16_shape = {5, 10, 10, 15, 15, 12, 15};
const rlt_float_shape rlt_float32_shape = {8, 23, 15, 20, 14, 11, 15};

static double one(const rlt_float_tables *t)
{
    return (double)(UINT64_C(1) << t->shape.fraction_bits);
}

/* Index in `plus` for a difference of logarithms in units of 2^-fraction_bits. UINT32_MAX: the smaller
 * summand does not count. */
static uint32_t plus_cell(const rlt_float_shape *s, uint64_t d)
{
    uint64_t whole = d >> s->fraction_bits, part = d & ((UINT64_C(1) << s->fraction_bits) - 1);
    uint32_t cells = 1u << s->plus_bits;
    if (whole > s->plus_bits)
        return UINT32_MAX;
    uint32_t shift = s->fraction_bits - s->plus_bits + (uint32_t)whole;
    uint32_t first = whole == 0 ? 0 : 2 * cells - (2 * cells >> whole);
    return first + (uint32_t)(part >> shift);
}

static uint32_t minus_cell(const rlt_float_shape *s, uint64_t d)
{
    uint32_t bits = s->minus_bits, octave = 0;
    if (d >> bits == 0)
        return (uint32_t)d;
    while (d >> (bits + octave + 1) != 0)
        octave++;
    if (bits + octave >= s->fraction_bits + MINUS_OCTAVES)
        return UINT32_MAX;
    return (octave << bits) + (uint32_t)(d >> octave);
}

/* Fills `plus` or `minus`. An entry stands for the middle of all differences that share it. */
static void fill(const rlt_float_tables *t, uint32_t *table, bool minus)
{
    const rlt_float_shape *s = &t->shape;
    uint64_t first = minus; /* at difference 0 nothing is left */
    uint32_t n = minus ? t->n_minus : t->n_plus;
    for (uint32_t i = (uint32_t)first; i < n; i++) {
        uint64_t width;
        if (minus)
            width = i >> s->minus_bits == 0 ? 1 : UINT64_C(1) << ((i >> s->minus_bits) - 1);
        else
            width = UINT64_C(1) << (s->fraction_bits - s->plus_bits + (first >> s->fraction_bits));
        double d = ((double)first + (double)(width - 1) / 2) / one(t);
        double value = minus ? -log2(-expm1(-d * M_LN2)) : log1p(exp2(-d)) / M_LN2;
        table[i] = (uint32_t)lrint(value * one(t));
        first += width;
    }
}

static void fill_logarithm(const rlt_float_tables *t)
{
    const rlt_float_shape *s = &t->shape;
    uint32_t n = 1u << s->log_bits, width = 1u << (s->significand_bits - s->log_bits);
    double whole = (double)(1u << s->significand_bits);
    for (uint32_t i = 0; i < n; i++)
        t->logarithm[i] = (uint32_t)lrint(log2(1 + (i * (double)width + (width - 1) / 2.0) / whole) * one(t));
}

static void fill_power(const rlt_float_tables *t)
{
    const rlt_float_shape *s = &t->shape;
    uint32_t n = 1u << s->power_bits, width = 1u << (s->fraction_bits - s->power_bits);
    for (uint32_t i = 0; i < n; i++) {
        double fraction = (i * (double)width + (width - 1) / 2.0) / one(t);
        t->power[i] = (uint32_t)lrint((exp2(fraction) - 1) * (double)(1u << s->significand_bits));
    }
}

static bool makes_sense(const rlt_float_shape *s)
{
    return s->exponent_bits >= 2 && s->exponent_bits <= 8 && s->significand_bits >= 2 &&
           s->significand_bits <= 23 && s->log_bits <= s->significand_bits && s->fraction_bits >= 4 &&
           s->fraction_bits <= 24 && s->plus_bits <= s->fraction_bits && s->plus_bits >= 1 &&
           s->minus_bits <= s->fraction_bits && s->power_bits <= s->fraction_bits;
}

static size_t entry(uint32_t bits)
{
    return bits <= 16 ? 2 : 4;
}

int rlt_float_tables_create(const rlt_float_shape *shape, rlt_float_tables *out, rlt_error *err)
{
    const rlt_float_shape *s = shape;
    memset(out, 0, sizeof *out);
    if (!makes_sense(s))
        return rlt_fail(err, RLT_ERANGE, "float tables",
                        "the bit widths of the table shape are out of range");
    out->shape = *s;
    out->n_plus = (2u << s->plus_bits) - 1;
    out->n_minus = (s->fraction_bits + MINUS_OCTAVES - s->minus_bits + 1) << s->minus_bits;
    size_t n_log = (size_t)1 << s->log_bits, n_power = (size_t)1 << s->power_bits;
    out->logarithm = calloc(n_log, sizeof *out->logarithm);
    out->plus = calloc(out->n_plus, sizeof *out->plus);
    out->minus = calloc(out->n_minus, sizeof *out->minus);
    out->power = calloc(n_power, sizeof *out->power);
    if (!out->logarithm || !out->plus || !out->minus || !out->power) {
        rlt_float_tables_free(out);
        return rlt_nomem(err);
    }
    fill_logarithm(out);
    fill(out, out->plus, false);
    fill(out, out->minus, true);
    fill_power(out);
    /* -D reaches fraction_bits + 1, so it needs five bits before the point. */
    out->bytes = n_log * entry(s->fraction_bits + 1) + out->n_plus * entry(s->fraction_bits + 1) +
                 out->n_minus * entry(s->fraction_bits + 5) + n_power * entry(s->significand_bits + 1);
    return 0;
}

void rlt_float_tables_free(rlt_float_tables *t)
{
    free(t->logarithm);
    free(t->plus);
    free(t->minus);
    free(t->power);
    memset(t, 0, sizeof *t);
}

static uint32_t assemble(const rlt_float_tables *t, bool negative, int64_t exponent, uint32_t significand,
                         rlt_float_events *events)
{
    const rlt_float_shape *s = &t->shape;
    int64_t bias = (INT64_C(1) << (s->exponent_bits - 1)) - 1, most = (INT64_C(1) << s->exponent_bits) - 2;
    uint32_t sign = (uint32_t)negative << (s->exponent_bits + s->significand_bits);
    if (significand >> s->significand_bits) {
        significand = 0;
        exponent++;
    }
    if (exponent + bias > most) {
        events->overflows++;
        exponent = most - bias;
        significand = (1u << s->significand_bits) - 1;
    }
    if (exponent + bias < 1) {
        events->underflows++;
        return 0;
    }
    return sign | (uint32_t)(exponent + bias) << s->significand_bits | significand;
}

uint32_t rlt_float_encode(const rlt_float_tables *t, double x, rlt_float_events *events)
{
    int exponent;
    if (x == 0)
        return 0;
    double part = frexp(fabs(x), &exponent) * 2 - 1;
    uint32_t significand = (uint32_t)lrint(part * (double)(1u << t->shape.significand_bits));
    return assemble(t, x < 0, exponent - 1, significand, events);
}

static uint32_t magnitude(const rlt_float_tables *t, uint32_t bits)
{
    return bits & ((1u << (t->shape.exponent_bits + t->shape.significand_bits)) - 1);
}

double rlt_float_decode(const rlt_float_tables *t, uint32_t bits)
{
    const rlt_float_shape *s = &t->shape;
    uint32_t rest = magnitude(t, bits), part = rest & ((1u << s->significand_bits) - 1);
    int exponent = (int)(rest >> s->significand_bits) - (1 << (s->exponent_bits - 1)) + 1;
    if (rest == 0)
        return 0;
    double x = ldexp(1 + part / (double)(1u << s->significand_bits), exponent);
    return rest == bits ? x : -x;
}

/* Biased logarithm of a magnitude. */
static uint64_t project(const rlt_float_tables *t, uint32_t rest)
{
    const rlt_float_shape *s = &t->shape;
    uint32_t part = rest & ((1u << s->significand_bits) - 1);
    return ((uint64_t)(rest >> s->significand_bits) << s->fraction_bits) +
           t->logarithm[part >> (s->significand_bits - s->log_bits)];
}

uint32_t rlt_float_add(const rlt_float_tables *t, uint32_t a, uint32_t b, rlt_float_events *events)
{
    const rlt_float_shape *s = &t->shape;
    uint32_t big = magnitude(t, a), small = magnitude(t, b);
    bool negative = a != big, unlike = negative != (b != small);
    if (small == 0)
        return a;
    if (big == 0)
        return b;
    if (small > big) {
        uint32_t swap = big;
        big = small;
        small = swap;
        negative = b != magnitude(t, b);
    }
    int64_t sum = (int64_t)project(t, big);
    uint64_t apart = (uint64_t)sum - project(t, small);
    uint32_t cell = unlike ? minus_cell(s, apart) : plus_cell(s, apart);
    if (cell == UINT32_MAX)
        return negative == (a != magnitude(t, a)) && magnitude(t, a) == big ? a : b;
    if (unlike && apart == 0)
        return 0;
    sum += unlike ? -(int64_t)t->minus[cell] : (int64_t)t->plus[cell];
    /* Below a biased exponent of 0 the format has no normal number. */
    if (sum < 0) {
        events->underflows++;
        return 0;
    }
    uint64_t fraction = (uint64_t)sum & ((UINT64_C(1) << s->fraction_bits) - 1);
    int64_t exponent = (sum >> s->fraction_bits) - (INT64_C(1) << (s->exponent_bits - 1)) + 1;
    return assemble(t, negative, exponent, t->power[fraction >> (s->fraction_bits - s->power_bits)], events);
}
