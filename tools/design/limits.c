/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text of limits on the split. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/units.h"
#include "tools/design/design.h"
#include "workload/design/design.h"

typedef struct reading {
    const rlt_limits *limits;
    const char *text, *at;
    double a[RLT_MAX_DIMS]; /* coefficients of bandwidths, all moved to the left side */
    double cost, rate, plain;
    bool has_bw, has_cost, has_rate;
    rlt_error *err;
} reading;

static int expected(const reading *r, const char *what)
{
    return rlt_fail(r->err, RLT_EUSAGE, "--constraint", "'%s': expected %s at '%.20s'", r->text, what, r->at);
}

static void skip_blanks(reading *r)
{
    while (isblank((unsigned char)*r->at))
        r->at++;
}

/* Reads a decimal number with optional fraction and exponent. */
static int read_number(reading *r, double *out)
{
    char digits[40];
    const char *p = r->at;
    p += strspn(p, "0123456789.");
    if ((*p == 'e' || *p == 'E') &&
        (isdigit((unsigned char)p[1]) || ((p[1] == '+' || p[1] == '-') && isdigit((unsigned char)p[2]))))
        p += 2 + strspn(p + 2, "0123456789");
    size_t n = (size_t)(p - r->at);
    if (n == 0 || n >= sizeof digits)
        return expected(r, "a number");
    memcpy(digits, r->at, n);
    digits[n] = '\0';
    if (rlt_parse_number(digits, 0, out, NULL, NULL))
        return expected(r, "a number");
    r->at = p;
    return 0;
}

static bool word(reading *r, const char *w)
{
    size_t n = strlen(w);
    if (strncmp(r->at, w, n) != 0 || isalnum((unsigned char)r->at[n]))
        return false;
    r->at += n;
    return true;
}

/* Adds factor times b1, a level, total or cost. */
static int read_name(reading *r, double factor)
{
    uint32_t n = r->limits->n_dims;
    char *end = NULL, what[80];
    if (word(r, "cost")) {
        r->cost += factor;
        r->has_cost = true;
        return 0;
    }
    r->has_bw = true;
    if (word(r, "total")) {
        for (uint32_t d = 0; d < n; d++)
            r->a[d] += factor;
        return 0;
    }
    for (int l = 0; l < RLT_LEVELS; l++) {
        if (!word(r, rlt_level_name((rlt_level)l)))
            continue;
        bool any = r->limits->shapes_vary;
        for (uint32_t d = 0; d < n; d++) {
            any = any || (int)r->limits->level[d] == l;
            r->a[d] += (int)r->limits->level[d] == l ? factor : 0;
        }
        return any ? 0
                   : rlt_fail(r->err, RLT_EUSAGE, "--constraint",
                              "'%s': no dimension is at the level %s; --levels sets the levels", r->text,
                              rlt_level_name((rlt_level)l));
    }
    unsigned long d = *r->at == 'b' && isdigit((unsigned char)r->at[1]) ? strtoul(r->at + 1, &end, 10) : 0;
    snprintf(what, sizeof what, "b1%s%.0u, a level, total, cost, a rate or a number", n > 1 ? " to b" : "",
             n > 1 ? n : 0);
    if (d < 1 || d > n)
        return expected(r, what);
    r->a[d - 1] += factor;
    r->at = end;
    return 0;
}

static int read_term(reading *r, double sign)
{
    double x = 1;
    const char *begin = r->at;
    if (!isdigit((unsigned char)*r->at) && *r->at != '.')
        return read_name(r, sign);
    int rc = read_number(r, &x);
    skip_blanks(r);
    if (rc)
        return rc;
    if (*r->at == '*') {
        r->at++;
        skip_blanks(r);
        return read_name(r, sign * x);
    }
    if (!isalpha((unsigned char)*r->at)) {
        r->plain += sign * x;
        return 0;
    }
    char rate[64];
    uint64_t bw;
    while (isalpha((unsigned char)*r->at) || *r->at == '/')
        r->at++;
    snprintf(rate, sizeof rate, "%.*s", (int)(r->at - begin), begin);
    rc = rlt_parse_rate(rate, &bw, "--constraint", r->err);
    r->rate += sign * (double)bw;
    r->has_rate = true;
    return rc;
}

static int read_sum(reading *r, double sign)
{
    double next = sign;
    for (;;) {
        skip_blanks(r);
        if (*r->at == '-') {
            r->at++;
            next = -next;
            skip_blanks(r);
        }
        int rc = read_term(r, next);
        if (rc)
            return rc;
        skip_blanks(r);
        if (*r->at != '+' && *r->at != '-')
            return 0;
        next = *r->at++ == '+' ? sign : -sign;
    }
}

static int read_relation(reading *r, int *relation)
{
    *relation = *r->at == '<' ? -1 : *r->at == '>' ? 1 : 0;
    if (*r->at != '<' && *r->at != '>' && *r->at != '=')
        return expected(r, "<=, >= or =");
    r->at++;
    r->at += *r->at == '=';
    return 0;
}

static int append(rlt_limits *l, const char *text, rlt_limit **out, rlt_error *err)
{
    if (l->n == RLT_MAX_LIMITS - RLT_MAX_DIMS)
        return rlt_fail(err, RLT_EUSAGE, "--constraint", "more than %d", RLT_MAX_LIMITS - RLT_MAX_DIMS);
    *out = &l->items[l->n++];
    **out = (rlt_limit){0};
    snprintf((*out)->text, sizeof(*out)->text, "%s", text);
    return 0;
}

int rlt_limits_add(rlt_limits *l, const char *text, const double dollars[RLT_MAX_DIMS], double fixed,
                   rlt_error *err)
{
    reading r = {.limits = l, .text = text, .at = text, .err = err};
    rlt_limit *x = NULL;
    int relation, rc;
    if ((rc = read_sum(&r, 1)) || (rc = read_relation(&r, &relation)) || (rc = read_sum(&r, -1)))
        return rc;
    if (*r.at)
        return expected(&r, "the end");
    if (!r.has_bw && !r.has_cost)
        return rlt_fail(err, RLT_EUSAGE, "--constraint", "'%s' has no b1, total or cost", text);
    if (r.has_cost && (r.has_bw || r.has_rate))
        return rlt_fail(err, RLT_EUSAGE, "--constraint", "'%s' compares dollars with bandwidths", text);
    if (!r.has_cost && r.plain != 0)
        return rlt_fail(err, RLT_EUSAGE, "--constraint", "'%s': %g needs a unit, such as GB/s", text,
                        fabs(r.plain));
    if ((rc = append(l, text, &x, err)))
        return rc;
    double sign = relation > 0 ? -1 : 1;
    for (uint32_t d = 0; d < l->n_dims; d++)
        x->a[d] = sign * (r.has_cost ? r.cost * dollars[d] : r.a[d]);
    x->b = sign * (r.has_cost ? -r.plain - r.cost * fixed : -r.rate);
    x->equal = relation == 0;
    return 0;
}

int rlt_limits_range(rlt_limits *l, uint32_t d, double low, double high, rlt_error *err)
{
    bool equal = low == high;
    int rc = 0;
    for (int side = equal ? 1 : 0; side < 2 && !rc; side++) {
        char text[RLT_LIMIT_TEXT], rate[32];
        double b = side ? high : low;
        rlt_limit *x = NULL;
        snprintf(text, sizeof text, "b%u %s %s", d + 1,
                 equal  ? "="
                 : side ? "<="
                        : ">=",
                 rlt_format_rate(rate, sizeof rate, (uint64_t)b));
        if ((rc = append(l, text, &x, err)))
            return rc;
        x->a[d] = side ? 1 : -1;
        x->b = side ? b : -b;
        x->equal = equal;
    }
    return rc;
}

int rlt_limits_total(rlt_limits *l, double total, rlt_error *err)
{
    char text[RLT_LIMIT_TEXT], rate[32];
    rlt_limit *x = NULL;
    snprintf(text, sizeof text, "total = %s", rlt_format_rate(rate, sizeof rate, (uint64_t)total));
    int rc = append(l, text, &x, err);
    for (uint32_t d = 0; d < l->n_dims && !rc; d++)
        x->a[d] = 1;
    if (!rc) {
        x->b = total;
        x->equal = true;
    }
    return rc;
}
