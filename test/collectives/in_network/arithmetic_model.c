/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Second models of the arithmetic of switches. Addition by tables: each entry is computed anew for the middle
 * of its cell, for random shapes. Sums of arrays: each mode restated value by value, with its report. In
 * random order, sums are those of all orders, each as often as the others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>

#include "collectives/in_network/libra/float_tables.h"
#include "collectives/in_network/libra/quantise.h"
#include "sim/base/error.h"
#include "sim/watch.h"
#include "test/support/dice.h"

static bool same(double a, double b)
{
    return !(a < b) && !(a > b);
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

/* A number of the format: (-1)^negative * whole * 2^(exponent - significand_bits), or 0 with whole = 0. */
typedef struct number {
    bool negative;
    int exponent;
    int64_t whole; /* from 2^significand_bits to twice that */
} number;

static int64_t power(uint32_t bits)
{
    return INT64_C(1) << bits;
}

static number limited(const rlt_float_shape *s, number x, rlt_float_events *e)
{
    int most = (int)power(s->exponent_bits - 1) - 1;
    if (x.whole == 2 * power(s->significand_bits)) {
        x.exponent++;
        x.whole /= 2;
    }
    if (x.exponent > most) {
        e->overflows++;
        return (number){x.negative, most, 2 * power(s->significand_bits) - 1};
    }
    if (x.exponent < 1 - most) {
        e->underflows++;
        return (number){0};
    }
    return x;
}

static uint32_t bits_of(const rlt_float_shape *s, number x)
{
    int64_t bias = power(s->exponent_bits - 1) - 1;
    if (x.whole == 0)
        return 0;
    return (uint32_t)(x.negative * power(s->exponent_bits + s->significand_bits) +
                      (x.exponent + bias) * power(s->significand_bits) + x.whole -
                      power(s->significand_bits));
}

static double value_of(const rlt_float_shape *s, number x)
{
    double v = ldexp((double)x.whole, x.exponent - (int)s->significand_bits);
    return x.negative ? -v : v;
}

static number encoded(const rlt_float_shape *s, double x, rlt_float_events *e)
{
    if (same(x, 0))
        return (number){0};
    int exponent = (int)logb(x);
    double units = ldexp(fabs(x), (int)s->significand_bits - exponent), whole = floor(units);
    if (units - whole > 0.5 || (same(units - whole, 0.5) && !same(fmod(whole, 2), 0)))
        whole++;
    return limited(s, (number){x < 0, exponent, (int64_t)whole}, e);
}

/* Middle of the cell of `width` that contains x. */
static long double middle(uint64_t x, uint64_t width)
{
    return (long double)(x / width * width) + (long double)(width - 1) / 2;
}

static int64_t logarithm(const rlt_float_shape *s, number x)
{
    uint64_t part = (uint64_t)(x.whole - power(s->significand_bits));
    uint64_t width = (uint64_t)power(s->significand_bits - s->log_bits);
    long double l = log2l(1 + middle(part, width) / (long double)power(s->significand_bits));
    return x.exponent * power(s->fraction_bits) + llrintl(l * (long double)power(s->fraction_bits));
}

/* D of a difference d > 0 of logarithms, in their units; 0 if the smaller summand does not count. */
static int64_t correction(const rlt_float_shape *s, uint64_t d, bool unlike)
{
    uint64_t one = (uint64_t)power(s->fraction_bits), width = 1;
    if (unlike) {
        if (d >= 16 * one)
            return 0;
        while (d / width >= 2 * (uint64_t)power(s->minus_bits))
            width *= 2;
        long double m = middle(d, width) / (long double)one;
        return llrintl(log2l(1 - exp2l(-m)) * (long double)one);
    }
    uint64_t whole = d / one;
    if (whole > s->plus_bits)
        return 0;
    width = one / ((uint64_t)power(s->plus_bits) >> whole);
    return llrintl(log2l(1 + exp2l(-middle(d, width) / (long double)one)) * (long double)one);
}

static number added(const rlt_float_shape *s, number a, number b, rlt_float_events *e)
{
    if (a.whole == 0 || b.whole == 0)
        return a.whole ? a : b;
    bool swap = a.exponent < b.exponent || (a.exponent == b.exponent && a.whole < b.whole);
    number big = swap ? b : a, small = swap ? a : b;
    bool unlike = a.negative != b.negative;
    int64_t x = logarithm(s, big), one = power(s->fraction_bits);
    uint64_t d = (uint64_t)(x - logarithm(s, small));
    if (unlike && d == 0)
        return (number){0};
    int64_t more = correction(s, d, unlike);
    if (unlike ? d >= 16 * (uint64_t)one : d / (uint64_t)one > s->plus_bits)
        return big;
    x += more;
    int64_t exponent = x >= 0 ? x / one : -((-x + one - 1) / one);
    uint64_t fraction = (uint64_t)(x - exponent * one);
    long double m = middle(fraction, (uint64_t)power(s->fraction_bits - s->power_bits)) / (long double)one;
    int64_t part = llrintl((exp2l(m) - 1) * (long double)power(s->significand_bits));
    return limited(s, (number){big.negative, (int)exponent, power(s->significand_bits) + part}, e);
}

static uint32_t between(dice *d, uint32_t low, uint32_t high)
{
    return low + below(d, high - low + 1);
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static rlt_float_shape any_shape(dice *d)
{
    rlt_float_shape s = {.exponent_bits = between(d, 2, 8), .significand_bits = between(d, 2, 23)};
    s.fraction_bits = between(d, 4, 24);
    s.log_bits = between(d, 0, least(s.significand_bits, 8));
    s.plus_bits = between(d, 1, least(s.fraction_bits, 8));
    s.minus_bits = between(d, 0, least(s.fraction_bits, 8));
    s.power_bits = between(d, 0, least(s.fraction_bits, 8));
    return s;
}

/* A value of any size that the format has, and now and then beyond; at times close to the last one. */
static double any_value(dice *d, const rlt_float_shape *s, double last)
{
    int most = (int)power(s->exponent_bits - 1);
    if (below(d, 12) == 0)
        return 0;
    if (below(d, 4) == 0)
        return -last * (1 + (below(d, 9) - 4.0) * ldexp(1, -(int)below(d, s->significand_bits + 3)));
    double x = ldexp(1 + fraction(d), (int)below(d, 2 * (uint32_t)most + 1) - most);
    if (below(d, 4) == 0)
        x = ldexp(1 + ldexp((double)roll(d, (uint64_t)power(s->significand_bits + 1)),
                            -(int)s->significand_bits - 1),
                  ilogb(x));
    return below(d, 2) ? x : -x;
}

/* An entry takes 2 bytes, or 4 if it has more than 16 bits: those of -D have five before the point, as -D
 * comes up to fraction_bits + 1, all others one. */
static size_t memory_of(const rlt_float_shape *s)
{
    size_t n_plus = 0, n_minus = (size_t)power(s->minus_bits);
    for (uint32_t whole = 0; whole <= s->plus_bits; whole++)
        n_plus += (size_t)power(s->plus_bits - whole);
    for (uint32_t octave = s->minus_bits; octave < s->fraction_bits + 4; octave++)
        n_minus += (size_t)power(s->minus_bits);
    return (size_t)(power(s->log_bits) + (int64_t)n_plus) * (s->fraction_bits + 1 > 16 ? 4 : 2) +
           n_minus * (s->fraction_bits + 5 > 16 ? 4 : 2) +
           (size_t)power(s->power_bits) * (s->significand_bits + 1 > 16 ? 4 : 2);
}

static void compare_adder(const rlt_float_shape *s, dice *d, uint32_t times)
{
    rlt_float_tables t;
    rlt_error err = {0};
    assert_int_equal(rlt_float_tables_create(s, &t, &err), 0);
    assert_int_equal(t.bytes, memory_of(s));
    assert_memory_equal(&t.shape, s, sizeof *s);
    rlt_float_events got = {0}, want = {0};
    double last = 1;
    for (uint32_t k = 0; k < times; k++) {
        double x = any_value(d, s, last), y = any_value(d, s, x);
        last = y;
        number a = encoded(s, x, &want), b = encoded(s, y, &want), sum = added(s, a, b, &want);
        uint32_t p = rlt_float_encode(&t, x, &got), q = rlt_float_encode(&t, y, &got);
        uint32_t r = rlt_float_add(&t, p, q, &got);
        if (p != bits_of(s, a) || q != bits_of(s, b) || r != bits_of(s, sum) ||
            !same(rlt_float_decode(&t, r), value_of(s, sum)) || got.overflows != want.overflows ||
            got.underflows != want.underflows)
            fail_msg("{%u,%u,%u,%u,%u,%u,%u}: %a + %a: %x + %x = %x, expected %x + %x = %x", s->exponent_bits,
                     s->significand_bits, s->log_bits, s->fraction_bits, s->plus_bits, s->minus_bits,
                     s->power_bits, x, y, p, q, r, bits_of(s, a), bits_of(s, b), bits_of(s, sum));
    }
    rlt_float_tables_free(&t);
    rlt_float_tables_free(&t);
    assert_true(!t.bytes && !t.n_plus);
}

static void adder(void **state)
{
    (void)state;
    dice d = {.seed = 1};
    for (uint32_t i = 0; i < 250; i++) {
        rlt_float_shape s = any_shape(&d);
        compare_adder(&s, &d, 200);
    }
    compare_adder(&rlt_float16_shape, &d, 6000);
    compare_adder(&rlt_float32_shape, &d, 6000);
    /* A refused shape leaves nothing to give back. */
    rlt_float_tables t;
    memset(&t, 1, sizeof t);
    assert_int_equal(rlt_float_tables_create(&(rlt_float_shape){0}, &t, NULL), RLT_ERANGE);
    rlt_float_tables_free(&t);
}

/* Sums of arrays. */
enum { ARRAYS = 40, LENGTH = 600 };

typedef struct task {
    rlt_num_config cfg;
    uint32_t n, length;
    float values[ARRAYS][LENGTH];
    const float *x[ARRAYS];
} task;

typedef struct answer {
    double sum[LENGTH];
    rlt_num_report r;
} answer;

static void make(dice *d, task *t)
{
    static const int highest[] = {0, 7, 8, 16, 31, 128, 128};
    t->cfg = (rlt_num_config){.mode = (rlt_num_mode)below(d, RLT_NUM_MODES),
                              .block = below(d, 3) ? between(d, 1, 9) : 0,
                              .single = below(d, 2),
                              .scale = below(d, 2) ? 0 : ldexp(1 + fraction(d), (int)below(d, 30)),
                              .limit = below(d, 2) ? 0 : ldexp(1 + fraction(d), (int)below(d, 20) - 4)};
    t->n = below(d, 8) ? between(d, 1, 9) : between(d, 1, ARRAYS);
    t->length = below(d, 10) ? below(d, 40) : between(d, 200, LENGTH);
    int top = highest[below(d, 7)], span = 1 + (int)below(d, below(d, 2) ? 3 : 80);
    if (below(d, 2)) {
        t->cfg.scale = ldexp(1 + fraction(d), 28 - top + (int)below(d, 4));
        t->cfg.limit = ldexp(1 + fraction(d), top - 1);
    }
    uint32_t zeros = below(d, 3) ? 0 : between(d, 1, 9);
    for (uint32_t w = 0; w < t->n; w++) {
        for (uint32_t i = 0; i < t->length; i++) {
            float v = ldexpf((float)(1 + fraction(d)) / 2, top - (int)below(d, (uint32_t)span));
            if (isinf(v))
                v = FLT_MAX;
            if (below(d, 6) == 0)
                v = ldexpf(1, ilogbf(v));
            t->values[w][i] = below(d, 10) < zeros ? 0 : below(d, 3) ? v : -v;
        }
        t->x[w] = t->values[w];
    }
}

static double truth(const task *t, uint32_t i)
{
    long double sum = 0;
    for (uint32_t w = 0; w < t->n; w++)
        sum += (long double)t->values[w][i];
    return (double)sum;
}

/* Integers nearest to scaled values; each saturates at 31 bits, the sum wraps around. */
static double by_integers(const task *t, uint32_t i, double scale, uint64_t *overflows)
{
    int64_t sum = 0;
    for (uint32_t w = 0; w < t->n; w++) {
        float v = t->values[w][i];
        double y = t->cfg.single ? (double)((float)scale * v) : scale * (double)v;
        bool beyond = fabs(y) > INT32_MAX;
        *overflows += beyond;
        sum += beyond ? (y > 0 ? INT32_MAX : -INT32_MAX) : llround(y);
    }
    *overflows += sum > INT32_MAX || sum < INT32_MIN;
    while (sum > INT32_MAX)
        sum -= power(32);
    while (sum < INT32_MIN)
        sum += power(32);
    return (double)sum / scale;
}

static double by_native(const task *t, uint32_t i, uint64_t *overflows)
{
    float sum = 0;
    for (uint32_t w = 0; w < t->n; w++) {
        sum += t->values[w][i];
        *overflows += fabsf(sum) > FLT_MAX;
        sum = fminf(fmaxf(sum, -FLT_MAX), FLT_MAX);
    }
    return (double)sum;
}

/* A block of 16-bit floats is moved so that n of its values, each below 2^e, stay below 2^15 together. */
static double by_tables(const task *t, uint32_t i, int e, rlt_float_events *events)
{
    bool wide = t->cfg.mode == RLT_NUM_TABLE32;
    const rlt_float_shape *s = wide ? &rlt_float32_shape : &rlt_float16_shape;
    int up = wide ? 0 : 15 - e;
    for (uint32_t room = 1; !wide && room < t->n; room *= 2)
        up--;
    number sum = {0};
    for (uint32_t w = 0; w < t->n; w++)
        sum = added(s, sum, encoded(s, ldexp((double)t->values[w][i], up), events), events);
    return ldexp(value_of(s, sum), -up);
}

static bool has_beyond(const task *t, uint32_t i, double limit)
{
    for (uint32_t w = 0; w < t->n; w++)
        if (fabs((double)t->values[w][i]) > limit)
            return true;
    return false;
}

/* The integers' scale of a block with |x| < 2^e. */
static double scale_of(const task *t, int e)
{
    if (t->cfg.mode == RLT_NUM_FIXED)
        return t->cfg.scale > 0 ? t->cfg.scale : 1e6;
    double scale = INT32_MAX / (t->n * ldexp(1, e));
    return t->cfg.single && scale > FLT_MAX ? FLT_MAX : scale;
}

static double one_sum(const task *t, uint32_t i, int e, answer *a, rlt_float_events *events)
{
    double limit = t->cfg.limit > 0 ? t->cfg.limit : 213;
    switch (t->cfg.mode) {
    case RLT_NUM_BLOCK:
        return by_integers(t, i, scale_of(t, e), &a->r.overflows);
    case RLT_NUM_FIXED:
        if (!has_beyond(t, i, limit))
            return by_integers(t, i, scale_of(t, e), &a->r.overflows);
        a->r.outside++;
        return truth(t, i);
    case RLT_NUM_NATIVE:
        return by_native(t, i, &a->r.overflows);
    case RLT_NUM_TABLE16:
    case RLT_NUM_TABLE32:
    case RLT_NUM_MODES:
        break;
    }
    return by_tables(t, i, e, events);
}

/* The bound of the README for one sum, with what rounding to 32 bits adds: half a unit of scale, and of each
 * product. */
static double bound_of(const task *t, int e, double all)
{
    double n = t->n, high = ldexp(1, e), rounding = t->cfg.single ? n * (0x1p-23 + 0x1p-47) * high : 0;
    switch (t->cfg.mode) {
    case RLT_NUM_BLOCK:
        if (!(t->cfg.single && INT32_MAX / (n * high) > FLT_MAX))
            return n * n * high / (2.0 * INT32_MAX) + rounding;
        return n / 2 / FLT_MAX + rounding;
    case RLT_NUM_FIXED:
        return n / (2 * scale_of(t, e)) + rounding;
    case RLT_NUM_NATIVE:
        return (n - 1) * 0x1p-24 / (1 - (n - 1) * 0x1p-24) * all;
    case RLT_NUM_TABLE16:
    case RLT_NUM_TABLE32:
    case RLT_NUM_MODES:
        break;
    }
    return 0;
}

static void model(const task *t, answer *a)
{
    rlt_float_events events = {0};
    double squares = 0, true_squares = 0;
    uint32_t block = t->cfg.block ? t->cfg.block : 256;
    memset(a, 0, sizeof *a);
    for (uint32_t i = 0; i < t->length; i++) {
        uint32_t first = i / block * block;
        int e = -160;
        double all = 0, most = 0;
        for (uint32_t k = first; k < first + block && k < t->length; k++)
            for (uint32_t w = 0; w < t->n; w++)
                most = fmax(most, fabs((double)t->values[w][k]));
        while (most > 0 && ldexp(1, e) <= most)
            e++;
        if (!(most > 0))
            e = 0;
        for (uint32_t w = 0; w < t->n; w++)
            all += fabs((double)t->values[w][i]);
        a->sum[i] = one_sum(t, i, e, a, &events);
        double off = fabs(a->sum[i] - truth(t, i)), relative = all > 0 ? off / all : 0;
        squares += off * off;
        true_squares += truth(t, i) * truth(t, i);
        a->r.worst = fmax(a->r.worst, off);
        a->r.worst_of_block = fmax(a->r.worst_of_block, off / ldexp(1, e));
        a->r.worst_relative = fmax(a->r.worst_relative, relative);
        a->r.mean_relative += relative / t->length;
        a->r.bound = fmax(a->r.bound, bound_of(t, e, all));
    }
    a->r.rms_relative = true_squares > 0 ? sqrt(squares / true_squares) : 0;
    a->r.overflows += events.overflows;
    a->r.underflows = events.underflows;
    if (a->r.overflows)
        a->r.bound = 0;
    a->r.reproducible = t->n < 3 || t->cfg.mode == RLT_NUM_BLOCK || t->cfg.mode == RLT_NUM_FIXED;
    if (t->cfg.mode == RLT_NUM_TABLE16)
        a->r.table_bytes = memory_of(&rlt_float16_shape);
    if (t->cfg.mode == RLT_NUM_TABLE32)
        a->r.table_bytes = memory_of(&rlt_float32_shape);
}

static void compare_sums(const task *t, uint32_t i, uint64_t *overflows)
{
    static answer want;
    double sum[LENGTH];
    rlt_num_report r, again;
    rlt_error err = {0};
    model(t, &want);
    memset(&r, 1, sizeof r);
    if (rlt_num_sum(&t->cfg, t->n, t->length, t->x, sum, &r, &err))
        fail_msg("%s: %s", err.where, err.what);
    for (uint32_t k = 0; k < t->length; k++)
        if (!same(sum[k], want.sum[k]))
            fail_msg("case %u, %s of %u: sum %u is %a, expected %a", i, rlt_num_name(t->cfg.mode), t->n, k,
                     sum[k], want.sum[k]);
    const rlt_num_report *w = &want.r;
    if (!near(r.worst, w->worst) || !near(r.worst_of_block, w->worst_of_block) ||
        !near(r.worst_relative, w->worst_relative) || !near(r.mean_relative, w->mean_relative) ||
        !near(r.rms_relative, w->rms_relative) || r.bound < w->bound || r.bound > w->bound * (1 + 0x1.1p-20))
        fail_msg("case %u, %s of %u: errors %g %g %g %g %g of %g, expected %g %g %g %g %g of %g", i,
                 rlt_num_name(t->cfg.mode), t->n, r.worst, r.worst_of_block, r.worst_relative,
                 r.mean_relative, r.rms_relative, r.bound, w->worst, w->worst_of_block, w->worst_relative,
                 w->mean_relative, w->rms_relative, w->bound);
    assert_true(same(r.bound, 0) || r.worst <= r.bound);
    assert_int_equal(r.overflows, w->overflows);
    assert_int_equal(r.underflows, w->underflows);
    assert_int_equal(r.outside, w->outside);
    assert_int_equal(r.reproducible, w->reproducible);
    assert_int_equal(r.table_bytes, w->table_bytes);
    assert_int_equal(rlt_num_sum(&t->cfg, t->n, t->length, t->x, NULL, &again, &err), 0);
    assert_memory_equal(&again, &r, sizeof r);
    overflows[t->cfg.mode] += r.overflows > 0;
}

static void arrays(void **state)
{
    (void)state;
    static task t;
    dice d = {.seed = 2};
    uint64_t overflows[RLT_NUM_MODES] = {0};
    for (uint32_t i = 0; i < 800; i++) {
        make(&d, &t);
        compare_sums(&t, i, overflows);
    }
    assert_int_equal(overflows[RLT_NUM_TABLE16], 0);
    assert_true(overflows[RLT_NUM_FIXED] > 9 && overflows[RLT_NUM_TABLE32] > 9 &&
                overflows[RLT_NUM_NATIVE] > 9);
}

/* Three workers add 0.1 in fixed point: the result is 0.3, as by hand in the README. */
static void tenths(void **state)
{
    (void)state;
    const float tenth = 0.1f, *x[] = {&tenth, &tenth, &tenth};
    rlt_num_config cfg = {.mode = RLT_NUM_FIXED};
    rlt_num_report r;
    double sum;
    assert_int_equal(rlt_num_sum(&cfg, 3, 1, x, &sum, &r, NULL), 0);
    assert_true(same(sum, 300000 / 1e6) && fabs(r.worst - 4.47e-9) < 1e-11);
    assert_true(fabs(r.bound / 1.5e-6 - 1) < 2e-6);
}

/* In random order, each order of the summands is as likely: 1 and two large values, where 1 is lost in two
 * orders of six; and four values that saturate, in all 24 orders. */
static void any_order(void **state)
{
    (void)state;
    enum { N = 12000 };
    static float values[4][N];
    static double sums[N];
    const float *x[] = {values[0], values[1], values[2], values[3]};
    static const float three[] = {1, 0x1p24f, -0x1p24f};
    for (uint32_t w = 0; w < 3; w++)
        for (uint32_t i = 0; i < N; i++)
            values[w][i] = three[w];
    rlt_num_config cfg = {.mode = RLT_NUM_NATIVE, .any_order = true, .seed = 5};
    rlt_num_report r;
    rlt_error err = {0};
    assert_int_equal(rlt_num_sum(&cfg, 3, N, x, sums, &r, &err), 0);
    /* 1 - 2^24 is exact, so 1 is lost only where it meets 2^24 first: in two of six orders. */
    uint32_t lost = 0, other = 0;
    for (uint32_t i = 0; i < N; i++)
        lost += same(sums[i], 0);
    assert_true(fabs(lost - N / 3.0) < 5 * sqrt(N * 2 / 9.0));
    assert_false(r.reproducible);
    double first = sums[0];
    cfg.seed = 6;
    assert_int_equal(rlt_num_sum(&cfg, 3, N, x, sums, &r, &err), 0);
    for (uint32_t i = 0; i < N; i++)
        other += same(sums[i], first);
    assert_in_range(other, N / 4, 3 * N / 4);
    /* Saturation keeps the order: after the largest float twice, what follows begins there. */
    static const float four[] = {FLT_MAX, FLT_MAX, -FLT_MAX, -FLT_MAX / 2};
    uint32_t seen[5] = {0};
    for (uint32_t w = 0; w < 4; w++)
        for (uint32_t i = 0; i < N; i++)
            values[w][i] = four[w];
    assert_int_equal(rlt_num_sum(&cfg, 4, N, x, sums, &r, &err), 0);
    for (uint32_t i = 0; i < N; i++)
        seen[(uint32_t)lrint(2 + 2 * sums[i] / (double)FLT_MAX)]++;
    uint32_t want[5] = {0};
    for (uint32_t order = 0; order < 256; order++) {
        double sum = 0;
        uint32_t used = 0;
        for (uint32_t k = 0; k < 4; k++) {
            uint32_t w = order >> 2 * k & 3;
            used |= 1u << w;
            sum = fmax(-1, fmin(1, sum + (double)four[w] / (double)FLT_MAX));
        }
        if (used == 15)
            want[(uint32_t)lrint(2 + 2 * sum)]++;
    }
    for (uint32_t k = 0; k < 5; k++) {
        double p = want[k] / 24.0;
        assert_true(fabs(seen[k] - N * p) <= 5 * sqrt(N * p * (1 - p)));
    }
}

static bool at_once(void *ctx)
{
    ++*(uint32_t *)ctx;
    return true;
}

/* Names there and back; how many arrays there may be; the end that a watch asks for. */
static void words_and_limits(void **state)
{
    (void)state;
    static const float *x[RLT_MAX_SUMMANDS + 1];
    static const float ones[] = {1, 1, 1};
    rlt_num_report r;
    rlt_error err = {0};
    for (uint32_t m = 0; m < RLT_NUM_MODES; m++) {
        rlt_num_mode mode = RLT_NUM_MODES;
        assert_int_equal(rlt_num_parse(rlt_num_name(m), "here", &mode, &err), 0);
        assert_int_equal(mode, m);
    }
    rlt_num_mode mode;
    assert_null(rlt_num_name(RLT_NUM_MODES));
    assert_int_equal(rlt_num_parse("blocks", "here", &mode, &err), RLT_EUSAGE);
    assert_string_equal(err.where, "here");
    assert_string_equal(err.what, "expected block, fixed, table16, table32 or native, got 'blocks'");
    for (uint32_t w = 0; w <= RLT_MAX_SUMMANDS; w++)
        x[w] = ones;
    double sum[3] = {0};
    rlt_num_config cfg = {.mode = RLT_NUM_NATIVE};
    assert_int_equal(rlt_num_sum(&cfg, RLT_MAX_SUMMANDS, 3, x, sum, &r, NULL), 0);
    assert_true(same(sum[2], RLT_MAX_SUMMANDS) && same(r.worst, 0));
    assert_int_equal(rlt_num_sum(&cfg, RLT_MAX_SUMMANDS + 1, 3, x, sum, &r, NULL), RLT_ERANGE);
    static const float first[] = {INFINITY, 1, 1}, last[] = {1, 1, -INFINITY};
    for (uint32_t i = 0; i < 2; i++) {
        x[1] = i ? last : first;
        rlt_error refusal = {0};
        assert_int_equal(rlt_num_sum(&cfg, 2, 3, x, sum, &r, &refusal), RLT_ERANGE);
        assert_string_equal(refusal.what,
                            i ? "value 2 of worker 1 is not finite" : "value 0 of worker 1 is not finite");
    }
    x[1] = ones;
    uint32_t asked = 0;
    rlt_watch watch = {.ctx = &asked, .stopped = at_once};
    cfg.watch = &watch;
    cfg.block = 1;
    assert_int_equal(rlt_num_sum(&cfg, 2, 3, x, sum, &r, NULL), RLT_ECANCELLED);
    assert_int_equal(asked, 1);
    assert_true(same(sum[0], 2) && same(sum[1], RLT_MAX_SUMMANDS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adder),     cmocka_unit_test(arrays),           cmocka_unit_test(tenths),
        cmocka_unit_test(any_order), cmocka_unit_test(words_and_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
