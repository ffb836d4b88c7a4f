/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums in the arithmetic of switches, and their errors. */
#include "collectives/in_network/libra/quantise.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/in_network/libra/float_tables.h"
#include "sim/base/random.h"

enum { PURPOSE_ORDER = 0x6f72 };
#define MOST 2147483647.0 /* 2^31 - 1 */

static const char *const names[RLT_NUM_MODES] = {"block", "fixed", "table16", "table32", "native"};

typedef struct sums {
    const rlt_num_config *cfg;
    uint32_t n;
    const float *const *x;
    rlt_num_report *report;
    rlt_float_tables tables;
    rlt_float_events events;
    uint32_t *order;
    double squares, true_squares;
} sums;

const char *rlt_num_name(uint32_t mode)
{
    return mode < RLT_NUM_MODES ? names[mode] : NULL;
}

int rlt_num_parse(const char *name, const char *where, rlt_num_mode *mode, rlt_error *err)
{
    for (int i = 0; i < RLT_NUM_MODES; i++)
        if (strcmp(name, names[i]) == 0) {
            *mode = (rlt_num_mode)i;
            return 0;
        }
    return rlt_fail(err, RLT_EUSAGE, where, "expected block, fixed, table16, table32 or native, got '%.64s'",
                    name);
}

/* Smallest e with 2^e > |x| for all values of the block, since frexp's significand is below 1. 0 if all are
 * 0. */
static int exponent(const sums *s, size_t first, size_t end)
{
    double most = 0;
    int e = 0;
    for (uint32_t w = 0; w < s->n; w++)
        for (size_t i = first; i < end; i++)
            most = fmax(most, fabs((double)s->x[w][i]));
    frexp(most, &e);
    return e;
}

static double add_integers(sums *s, size_t i, double scale)
{
    int64_t sum = 0;
    for (uint32_t w = 0; w < s->n; w++) {
        double scaled = s->x[w][i] * scale;
        if (s->cfg->single)
            scaled = (double)(float)((float)scale * s->x[w][i]);
        /* Hardware differs beyond int32; saturation is the mildest case. */
        if (fabs(scaled) > MOST) {
            s->report->overflows++;
            scaled = copysign(MOST, scaled);
        }
        sum += (int64_t)round(scaled);
    }
    if (sum > (int64_t)MOST || sum < -(int64_t)MOST - 1) {
        s->report->overflows++;
        sum = (int64_t)(((uint64_t)sum + (UINT64_C(1) << 31)) & UINT32_MAX) - (INT64_C(1) << 31);
    }
    return (double)sum / scale;
}

/* Factor from values to integers. In single precision, a block of the smallest floats would need a factor
 * beyond the largest float. */
static double scale_of(const sums *s, int e)
{
    if (s->cfg->mode == RLT_NUM_FIXED)
        return s->cfg->scale > 0 ? s->cfg->scale : RLT_NUM_SCALE;
    double scale = MOST / (s->n * ldexp(1, e));
    return s->cfg->single ? fmin(scale, FLT_MAX) : scale;
}

/* Theoretical bound on the error of a block's sum. Integers: 1/2 for each worker; in single precision also
 * the rounding of scale and product, 2^-24 of the value each. Floats in any order: (n - 1) 2^-24 of the sum
 * of all |x|, with second-order terms (Higham: Accuracy and Stability of Numerical Algorithms, section 4.2).
 * The last factor covers the rounding of this computation in doubles. */
static double bound_of(const sums *s, int e, double all)
{
    double bound = 0, rounded = (s->n - 1) * 0x1p-24;
    if (s->cfg->mode == RLT_NUM_NATIVE)
        bound = rounded / (1 - rounded) * all;
    else if (s->cfg->mode == RLT_NUM_BLOCK || s->cfg->mode == RLT_NUM_FIXED)
        bound = s->n * (0.5 / scale_of(s, e) + (s->cfg->single ? ldexp(0x1p-23 + 0x1p-47, e) : 0));
    return bound * (1 + 0x1p-20);
}

static double add_truly(const sums *s, size_t i)
{
    long double sum = 0;
    for (uint32_t w = 0; w < s->n; w++)
        sum += (long double)s->x[w][i];
    return (double)sum;
}

static double add_fixed(sums *s, size_t i)
{
    double limit = s->cfg->limit > 0 ? s->cfg->limit : RLT_NUM_LIMIT;
    for (uint32_t w = 0; w < s->n; w++)
        if (fabs((double)s->x[w][i]) > limit) {
            s->report->outside++;
            return add_truly(s, i);
        }
    return add_integers(s, i, scale_of(s, 0));
}

/* Order of arrival for one value: a Fisher-Yates shuffle, or the natural order. */
static void shuffle(sums *s, size_t i)
{
    for (uint32_t w = 0; w < s->n; w++)
        s->order[w] = w;
    for (uint32_t w = s->n; s->cfg->any_order && w > 1; w--) {
        uint32_t other = (uint32_t)rlt_random_below(s->cfg->seed, w, PURPOSE_ORDER, i, w);
        uint32_t swap = s->order[w - 1];
        s->order[w - 1] = s->order[other];
        s->order[other] = swap;
    }
}

static double add_native(sums *s, size_t i)
{
    float sum = 0;
    shuffle(s, i);
    for (uint32_t w = 0; w < s->n; w++) {
        sum += s->x[s->order[w]][i];
        if (isinf(sum)) {
            s->report->overflows++;
            sum = copysignf(FLT_MAX, sum);
        }
    }
    return (double)sum;
}

/* Adds by tables. With 16 bits, a block is scaled by a power of two to the upper end of the format, so that
 * few values fall below its lower end. */
static double add_by_tables(sums *s, size_t i, int shift)
{
    uint32_t sum = 0;
    shuffle(s, i);
    for (uint32_t w = 0; w < s->n; w++) {
        double x = ldexp((double)s->x[s->order[w]][i], shift);
        sum = rlt_float_add(&s->tables, sum, rlt_float_encode(&s->tables, x, &s->events), &s->events);
    }
    return ldexp(rlt_float_decode(&s->tables, sum), -shift);
}

static double add_one(sums *s, size_t i, int e)
{
    switch (s->cfg->mode) {
    case RLT_NUM_BLOCK:
        return add_integers(s, i, scale_of(s, e));
    case RLT_NUM_FIXED:
        return add_fixed(s, i);
    case RLT_NUM_TABLE16:
        return add_by_tables(s, i, 15 - e - (int)ceil(log2(s->n)));
    case RLT_NUM_TABLE32:
        return add_by_tables(s, i, 0);
    case RLT_NUM_NATIVE:
    case RLT_NUM_MODES:
        break;
    }
    return add_native(s, i);
}

static void note(sums *s, size_t i, int e, double got)
{
    rlt_num_report *r = s->report;
    double truth = add_truly(s, i), error = fabs(got - truth), all = 0;
    for (uint32_t w = 0; w < s->n; w++)
        all += fabs((double)s->x[w][i]);
    s->squares += error * error;
    s->true_squares += truth * truth;
    r->worst = fmax(r->worst, error);
    r->worst_of_block = fmax(r->worst_of_block, error / ldexp(1, e));
    r->worst_relative = fmax(r->worst_relative, all > 0 ? error / all : 0);
    r->mean_relative += all > 0 ? error / all : 0;
    r->bound = fmax(r->bound, bound_of(s, e, all));
}

static void add_block(sums *s, size_t first, size_t end, double *sum)
{
    int e = exponent(s, first, end);
    for (size_t i = first; i < end; i++) {
        double got = add_one(s, i, e);
        note(s, i, e, got);
        if (sum)
            sum[i] = got;
    }
}

static int check(uint32_t n, size_t length, const float *const *x, rlt_error *err)
{
    if (n == 0 || n > RLT_MAX_SUMMANDS)
        return rlt_fail(err, RLT_ERANGE, "numbers", "expected 1 to %d arrays, got %u", RLT_MAX_SUMMANDS, n);
    for (uint32_t w = 0; w < n; w++)
        for (size_t i = 0; i < length; i++)
            if (!isfinite(x[w][i]))
                return rlt_fail(err, RLT_ERANGE, "numbers", "value %zu of worker %u is not finite", i, w);
    return 0;
}

int rlt_num_sum(const rlt_num_config *cfg, uint32_t n, size_t length, const float *const *x, double *sum,
                rlt_num_report *report, rlt_error *err)
{
    sums s = {.cfg = cfg, .n = n, .x = x, .report = report};
    memset(report, 0, sizeof *report);
    int rc = check(n, length, x, err);
    if (rc)
        return rc;
    bool tables = cfg->mode == RLT_NUM_TABLE16 || cfg->mode == RLT_NUM_TABLE32;
    if (tables)
        rc = rlt_float_tables_create(cfg->mode == RLT_NUM_TABLE16 ? &rlt_float16_shape : &rlt_float32_shape,
                                     &s.tables, err);
    if (!rc && !(s.order = malloc(n * sizeof *s.order)))
        rc = rlt_nomem(err);
    size_t block = cfg->block ? cfg->block : RLT_NUM_BLOCK_VALUES;
    for (size_t i = 0; !rc && i < length; i += block) {
        add_block(&s, i, i + block < length ? i + block : length, sum);
        if (rlt_watch_stopped(cfg->watch))
            rc = rlt_fail(err, RLT_ECANCELLED, NULL, "interrupted");
    }
    report->mean_relative /= length ? (double)length : 1;
    report->rms_relative = s.true_squares > 0 ? sqrt(s.squares / s.true_squares) : 0;
    report->overflows += s.events.overflows;
    if (report->overflows)
        report->bound = 0;
    report->underflows = s.events.underflows;
    report->reproducible = cfg->mode == RLT_NUM_BLOCK || cfg->mode == RLT_NUM_FIXED || n <= 2;
    report->table_bytes = s.tables.bytes;
    free(s.order);
    rlt_float_tables_free(&s.tables);
    return rc;
}
