/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Skewed updates: Zipf's law without arrays, recorded counts, and samples of both. */
#include "collectives/in_network/libra/workload.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/base/random.h"
#include "sim/text/file.h"

enum { EXACT_TERMS = 128, PURPOSE_UPDATES = 0x4c69 };
#define MAX_PARAMETERS (UINT64_C(1) << 52)
#define MAX_TEXT       ((size_t)1 << 32)

/* Integral of x^-s from 1 to x, and its inverse. Both are smooth through s = 1. */
static double area(double x, double s)
{
    double l = log(x), t = (1 - s) * l;
    return fabs(t) > 1e-12 ? expm1(t) / (1 - s) : l;
}

static double area_inverse(double a, double s)
{
    double t = (1 - s) * a;
    if (t <= -1)
        return HUGE_VAL;
    return exp(fabs(t) > 1e-12 ? log1p(t) / (1 - s) : a);
}

/* Sum of i^-s for from <= i <= to, from >> 1, by Euler and Maclaurin's formula. The truncation error is below
 * 1e-15. */
static double tail(double from, double to, double s)
{
    double a = pow(from, -s), b = pow(to, -s);
    double sum = area(to, s) - area(from, s) + (a + b) / 2;
    double f1 = -s * (b / to - a / from);
    double f3 = -s * (s + 1) * (s + 2) * (b / (to * to * to) - a / (from * from * from));
    return sum + f1 / 12 - f3 / 720;
}

static double harmonic(uint64_t n, double s)
{
    double sum = n > EXACT_TERMS ? tail(EXACT_TERMS + 1, (double)n, s) : 0;
    for (uint64_t i = n < EXACT_TERMS ? n : EXACT_TERMS; i > 0; i--)
        sum += pow((double)i, -s);
    return sum;
}

int rlt_skew_zipf(double s, uint64_t n, rlt_skew *out, rlt_error *err)
{
    memset(out, 0, sizeof *out);
    if (!(s >= 0 && s <= 8))
        return rlt_fail(err, RLT_ERANGE, "zipf", "expected an exponent from 0 to 8, got %g", s);
    if (n == 0 || n > MAX_PARAMETERS)
        return rlt_fail(err, RLT_ERANGE, "zipf", "expected 1 to 2^52 parameters, got %" PRIu64, n);
    out->n = n;
    out->s = s;
    out->sum = harmonic(n, s);
    out->low = area(1.5, s) - 1;
    out->high = area((double)n + 0.5, s);
    return 0;
}

/* Recorded counts. */

typedef struct record {
    uint64_t id, count;
} record;

static int by_id(const void *a, const void *b)
{
    const record *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static int by_count(const void *a, const void *b)
{
    const record *x = a, *y = b;
    return x->count > y->count ? -1 : x->count < y->count ? 1 : by_id(a, b);
}

/* Reads digits, if there are any; what follows them is for the caller to judge. */
static int number(const char **p, const char *end, uint64_t *out)
{
    uint64_t v = 0;
    for (; *p < end && **p >= '0' && **p <= '9'; (*p)++) {
        if (v > (UINT64_MAX - 9) / 10)
            return -1;
        v = v * 10 + (uint64_t)(**p - '0');
    }
    *out = v;
    return 0;
}

static void skip_blanks(const char **p, const char *end)
{
    while (*p < end && (**p == ' ' || **p == '\t' || **p == ',' || **p == '\r'))
        (*p)++;
}

/* Reads a line. Returns 1 for a record, 0 for an empty line, -1 for anything else. */
static int read_line(const char *p, const char *end, uint64_t line, record *r)
{
    skip_blanks(&p, end);
    if (p == end || *p == '#')
        return 0;
    r->id = line;
    if (number(&p, end, &r->count))
        return -1;
    skip_blanks(&p, end);
    if (p < end && *p != '#') {
        r->id = r->count;
        if (number(&p, end, &r->count))
            return -1;
        skip_blanks(&p, end);
    }
    return p == end || *p == '#' ? 1 : -1;
}

static int read_records(const char *text, size_t length, const char *where, record **records, uint32_t *n,
                        rlt_error *err)
{
    uint32_t room = 0;
    uint64_t line = 0, parameter = 0;
    const char *end = text + length;
    for (const char *p = text; p < end; line++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        record r;
        if (!stop)
            stop = end;
        int found = read_line(p, stop, parameter, &r);
        if (found < 0) {
            char place[320];
            snprintf(place, sizeof place, "%.256s:%" PRIu64, where, line + 1);
            return rlt_fail(err, RLT_EMALFORMED, place, "expected \"count\" or \"id count\"");
        }
        if (found) {
            int rc = rlt_grow(records, &room, sizeof **records, (uint64_t)*n + 1, RLT_MAX_RECORDED,
                              "recorded parameters", err);
            if (rc)
                return rc;
            (*records)[(*n)++] = r;
            parameter++;
        }
        p = stop < end ? stop + 1 : end;
    }
    return 0;
}

/* Merges records of one id, sorts by falling count, and drops ids that were never updated. */
static uint32_t merge(record *r, uint32_t n)
{
    uint32_t kept = 0;
    if (n)
        qsort(r, n, sizeof *r, by_id);
    for (uint32_t i = 0; i < n; i++) {
        if (kept && r[kept - 1].id == r[i].id)
            r[kept - 1].count += r[i].count;
        else
            r[kept++] = r[i];
    }
    if (kept)
        qsort(r, kept, sizeof *r, by_count);
    while (kept && r[kept - 1].count == 0)
        kept--;
    return kept;
}

int rlt_skew_parse(const char *text, size_t length, const char *where, rlt_skew *out, rlt_error *err)
{
    record *r = NULL;
    uint32_t n = 0;
    memset(out, 0, sizeof *out);
    int rc = read_records(text, length, where, &r, &n, err);
    if (rc)
        goto done;
    n = merge(r, n);
    if (n == 0) {
        rc = rlt_fail(err, RLT_ESCHEMA, where, "no parameter has updates");
        goto done;
    }
    out->n = n;
    out->ids = malloc(n * sizeof *out->ids);
    out->upto = malloc(n * sizeof *out->upto);
    if (!out->ids || !out->upto) {
        rlt_skew_free(out);
        rc = rlt_nomem(err);
        goto done;
    }
    for (uint32_t i = 0; i < n; i++) {
        out->sum += (double)r[i].count;
        out->ids[i] = r[i].id;
        out->upto[i] = out->sum;
    }
done:
    free(r);
    return rc;
}

int rlt_skew_read(const char *path, rlt_skew *out, rlt_error *err)
{
    char *text = NULL;
    size_t length = 0;
    memset(out, 0, sizeof *out);
    int rc = rlt_read_file(path, MAX_TEXT, &text, &length, err);
    if (!rc)
        rc = rlt_skew_parse(text, length, path, out, err);
    free(text);
    return rc;
}

void rlt_skew_free(rlt_skew *k)
{
    free(k->ids);
    free(k->upto);
    memset(k, 0, sizeof *k);
}

double rlt_skew_share(const rlt_skew *k, uint64_t rank)
{
    if (rank >= k->n)
        return 0;
    if (k->ids)
        return (k->upto[rank] - (rank ? k->upto[rank - 1] : 0)) / k->sum;
    return pow((double)rank + 1, -k->s) / k->sum;
}

double rlt_skew_coverage(const rlt_skew *k, uint64_t top)
{
    if (top >= k->n)
        return 1;
    if (top == 0)
        return 0;
    return (k->ids ? k->upto[top - 1] : harmonic(top, k->s)) / k->sum;
}

/* Draws from Zipf's law by rejection-inversion. x^-s is convex, so its integral from i - 1/2 to i + 1/2 is at
 * least i^-s. A point is drawn evenly under the curve; if it lies in cell i, it is accepted in the last i^-s
 * of the cell's area. */
static uint64_t draw_zipf(const rlt_skew *k, uint64_t seed, uint32_t entity, uint64_t i)
{
    for (uint64_t attempt = 0;; attempt++) {
        double u =
            k->high + rlt_random_unit(seed, entity, PURPOSE_UPDATES, i << 8 | attempt) * (k->low - k->high);
        double x = floor(area_inverse(u, k->s) + 0.5);
        if (!(x >= 1))
            x = 1;
        if (x > (double)k->n)
            x = (double)k->n;
        /* At most 1.4 tries are needed on average: 255 in a row do not happen. */
        if (u >= area(x + 0.5, k->s) - pow(x, -k->s) || attempt == 255)
            return (uint64_t)x - 1;
    }
}

uint64_t rlt_skew_draw(const rlt_skew *k, uint64_t seed, uint32_t entity, uint64_t i)
{
    if (!k->ids)
        return draw_zipf(k, seed, entity, i);
    double u = rlt_random_unit(seed, entity, PURPOSE_UPDATES, i << 8) * k->sum;
    uint64_t low = 0, high = k->n - 1;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (k->upto[middle] > u)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}
