/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Linear programs with few unknowns: whether limits can be met, which ones conflict, and the range of each
 * bandwidth. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "tools/design/design.h"

enum {
    MAX_ROWS = RLT_MAX_LIMITS + RLT_MAX_DIMS,
    MAX_COLUMNS = RLT_MAX_DIMS + 2 * MAX_ROWS + 1,
};
#define TINY 1e-10
/* Residual of an infeasible problem, relative to the size of its row. */
#define FEASIBLE 1e-9

typedef struct tableau {
    double at[MAX_ROWS + 1][MAX_COLUMNS]; /* last row: the negated objective; last column: values */
    uint32_t basis[MAX_ROWS];
    uint32_t rows, columns; /* columns: without the values */
    uint32_t artificial;    /* first artificial column */
} tableau;

static double *value(tableau *t, uint32_t row)
{
    return &t->at[row][t->columns];
}

/* Adds a x <= b (or == b). The signs are changed if b < 0, so that b >= 0. */
static void add_row(tableau *t, uint32_t n, const double *a, double b, bool equal, uint32_t slack,
                    uint32_t artificial)
{
    uint32_t r = t->rows++;
    double size = fabs(b);
    for (uint32_t i = 0; i < n; i++)
        size = fmax(size, fabs(a[i]));
    double sign = b < 0 ? -1 : 1, scale = size > 0 ? sign / size : 1;
    for (uint32_t i = 0; i < n; i++)
        t->at[r][i] = a[i] * scale;
    *value(t, r) = b * scale;
    if (!equal)
        t->at[r][slack] = sign;
    if (!equal && sign > 0) {
        t->basis[r] = slack;
        return;
    }
    t->at[r][artificial] = 1;
    t->basis[r] = artificial;
}

static void pivot(tableau *t, uint32_t row, uint32_t column)
{
    double by = t->at[row][column];
    for (uint32_t c = 0; c <= t->columns; c++)
        t->at[row][c] /= by;
    for (uint32_t r = 0; r <= t->rows; r++) {
        double f = t->at[r][column];
        for (uint32_t c = 0; c <= t->columns && r != row && f != 0; c++)
            t->at[r][c] -= f * t->at[row][c];
    }
    t->basis[row] = column;
}

/* Runs the simplex method by Bland's rule: the entering column is the first that improves; among the rows
 * that limit it, the one with the first basic variable leaves. */
static bool run(tableau *t, uint32_t columns)
{
    for (;;) {
        uint32_t in = 0, out = t->rows;
        double least = INFINITY;
        while (in < columns && t->at[t->rows][in] > -TINY)
            in++;
        if (in == columns)
            return true;
        for (uint32_t r = 0; r < t->rows; r++) {
            double step = t->at[r][in] > TINY ? *value(t, r) / t->at[r][in] : INFINITY;
            if (step < least - TINY ||
                (out < t->rows && step <= least + TINY && t->basis[r] < t->basis[out])) {
                least = fmin(step, least);
                out = r;
            }
        }
        if (out == t->rows)
            return false;
        pivot(t, out, in);
    }
}

/* Sets the last row for "maximise sum of c_i x_i", expressed in nonbasic variables. */
static void set_goal(tableau *t, const double *c, uint32_t n)
{
    double size = 0;
    memset(t->at[t->rows], 0, sizeof t->at[t->rows]);
    for (uint32_t i = 0; i < n; i++)
        size = fmax(size, fabs(c[i]));
    for (uint32_t i = 0; i < n && size > 0; i++)
        t->at[t->rows][i] = -c[i] / size;
    for (uint32_t r = 0; r < t->rows; r++) {
        double f = t->at[t->rows][t->basis[r]];
        for (uint32_t k = 0; k <= t->columns && f != 0; k++)
            t->at[t->rows][k] -= f * t->at[r][k];
    }
}

/* Replaces basic artificial variables at zero by other variables, where possible. */
static void drive_out(tableau *t)
{
    for (uint32_t r = 0; r < t->rows; r++)
        for (uint32_t c = 0; c < t->artificial && t->basis[r] >= t->artificial; c++)
            if (fabs(t->at[r][c]) > 1e-7)
                pivot(t, r, c);
}

/* Unknowns are bandwidths above RLT_LEAST_BPS, in GB/s, so that numbers are near one. */
rlt_lp rlt_limits_most(const rlt_limits *l, const double c[RLT_MAX_DIMS], uint64_t skip,
                       double bw[RLT_MAX_DIMS])
{
    static const double unit = 1e9;
    tableau t = {.columns = l->n_dims + 2 * l->n, .artificial = l->n_dims + l->n};
    double goal[MAX_COLUMNS] = {0}, left = 0, floor[RLT_MAX_DIMS];
    for (uint32_t d = 0; d < l->n_dims; d++)
        floor[d] = skip >> (63 - d) & 1 ? 0 : RLT_LEAST_BPS;
    for (uint32_t i = 0; i < l->n; i++) {
        const rlt_limit *x = &l->items[i];
        double a[RLT_MAX_DIMS], b = x->b;
        if (skip >> i & 1)
            continue;
        for (uint32_t d = 0; d < l->n_dims; d++) {
            a[d] = x->a[d] * unit;
            b -= x->a[d] * floor[d];
        }
        add_row(&t, l->n_dims, a, b, x->equal, l->n_dims + i, t.artificial + i);
    }
    for (uint32_t k = t.artificial; k < t.columns; k++)
        goal[k] = -1;
    set_goal(&t, goal, t.columns);
    (void)run(&t, t.columns);
    for (uint32_t r = 0; r < t.rows; r++)
        left += t.basis[r] >= t.artificial ? *value(&t, r) : 0;
    if (left > FEASIBLE)
        return RLT_LP_INFEASIBLE;
    drive_out(&t);
    set_goal(&t, c, l->n_dims);
    if (!run(&t, t.artificial))
        return RLT_LP_UNBOUNDED;
    for (uint32_t d = 0; d < l->n_dims; d++)
        bw[d] = floor[d];
    for (uint32_t r = 0; r < t.rows; r++)
        if (t.basis[r] < l->n_dims)
            bw[t.basis[r]] += *value(&t, r) * unit;
    return RLT_LP_DONE;
}

/* Names a smallest conflict. Drops each limit without which the others still conflict (deletion filter:
 * Chinneck and Dravnieks, ORSA J. Computing 3, 1991). */
static int name_conflict(const rlt_limits *l, rlt_error *err)
{
    const double none[RLT_MAX_DIMS] = {0};
    double bw[RLT_MAX_DIMS];
    char list[900] = "", name[32];
    uint64_t skip = 0;
    for (uint32_t d = 0; d < l->n_dims; d++)
        if (rlt_limits_most(l, none, skip | 1ull << (63 - d), bw) == RLT_LP_INFEASIBLE)
            skip |= 1ull << (63 - d);
    for (uint32_t i = 0; i < l->n; i++)
        if (rlt_limits_most(l, none, skip | 1ull << i, bw) == RLT_LP_INFEASIBLE)
            skip |= 1ull << i;
    for (uint32_t i = 0; i < l->n; i++)
        if (!(skip >> i & 1))
            rlt_list_name(list, sizeof list, l->items[i].text);
    for (uint32_t d = 0; d < l->n_dims; d++)
        if (!(skip >> (63 - d) & 1)) {
            snprintf(name, sizeof name, "b%u > 0", d + 1);
            rlt_list_name(list, sizeof list, name);
        }
    return rlt_fail(err, RLT_ECHECK, "--constraint", "no split meets all of: %s", list);
}

int rlt_limits_check(const rlt_limits *l, rlt_error *err)
{
    double bw[RLT_MAX_DIMS];
    for (uint32_t d = 0; d < l->n_dims; d++) {
        double c[RLT_MAX_DIMS] = {0};
        c[d] = 1;
        rlt_lp how = rlt_limits_most(l, c, 0, bw);
        if (how == RLT_LP_INFEASIBLE)
            return name_conflict(l, err);
        if (how == RLT_LP_UNBOUNDED)
            return rlt_fail(err, RLT_EUSAGE, "--constraint",
                            "b%u has no upper bound; use --total or --constraint", d + 1);
    }
    return 0;
}

double rlt_limits_violation(const rlt_limits *l, const double bw[RLT_MAX_DIMS])
{
    double worst = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        const rlt_limit *x = &l->items[i];
        double sum = 0, size = fabs(x->b);
        for (uint32_t d = 0; d < l->n_dims; d++) {
            sum += x->a[d] * bw[d];
            size = fmax(size, fabs(x->a[d] * bw[d]));
        }
        double over = x->equal ? fabs(sum - x->b) : sum - x->b;
        worst = fmax(worst, size > 0 ? over / size : 0);
    }
    return worst;
}
