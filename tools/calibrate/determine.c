/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which constants the fitted rows determine, and how well. All of it follows from simulations with one
 * constant changed, so no name and no formula of a constant is known here.
 *
 * Let t_i(c) be the simulated time of fitted row i, and J_ik = d log t_i / d log c_k, by central differences.
 *
 *   untouched    neither twice nor half of the constant changes a time by more than 0.1 %
 *   degenerate   the part of its column of J that is perpendicular to the columns of greater norm is below
 *                1 % of the column: other constants can do the same to every row
 *   interval     c_k exp(+- 1.96 s sqrt((J'J)^-1_kk)), with s = 1.4826 sqrt(pi / 2) median
 *                |log(t_i / measured_i)| sqrt(n / (n - p)) for n rows and p constants: linearised, with a
 *                robust scale. The factor pi / 2 is the variance of a fit of least absolute residuals over
 *                that of least squares, for normal residuals.
 *
 *   Example: rows of 10 us, of which launch is 5 us, and a median residual of 2 %: J = 0.5 in each of 100
 *   rows, s = 0.037, so launch is known to +- 1.96 * 0.037 / (0.5 * 10) = 1.5 %.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "tools/base/numbers.h"
#include "tools/calibrate/calibrate.h"
#include "tools/calibrate/measure/measure.h"

static const double TOUCH = 2, NUDGE = 1.02, MOVES = 0.001, SAME = 0.01, UNBOUNDED = 3.4;

/* A matrix of rows x constants, and the logarithms of times. */
typedef struct probe {
    rlt_calibration *c;
    uint32_t n;   /* fitted rows */
    double *base; /* n */
    double *up, *down;
    double *j; /* [constant][row] */
} probe;

static void probe_free(probe *p)
{
    free(p->base);
    free(p->up);
    free(p->down);
    free(p->j);
}

/* Simulates the fitted rows with the current values. */
static int times_of(probe *p, double *out, rlt_error *err)
{
    const rlt_trial *t = p->c->trial;
    int rc = rlt_calibration_apply(p->c, RLT_SEARCH_DIGITS, err);
    if (!rc)
        rc = rlt_trial_run(p->c->trial, RLT_FITTED, err);
    for (uint32_t i = 0, n = 0; i < t->n_rows && !rc; i++)
        if (!t->rows[i].held_out)
            out[n++] = log((double)t->cases[t->rows[i].at].time_ps);
    return rc;
}

static int probe_begin(probe *p, rlt_calibration *c, rlt_error *err)
{
    *p = (probe){.c = c};
    for (uint32_t i = 0; i < c->trial->n_rows; i++)
        p->n += !c->trial->rows[i].held_out;
    p->base = calloc(p->n + 1, sizeof *p->base);
    p->up = calloc(p->n + 1, sizeof *p->up);
    p->down = calloc(p->n + 1, sizeof *p->down);
    p->j = calloc((size_t)c->n_constants * p->n + 1, sizeof *p->j);
    if (!p->base || !p->up || !p->down || !p->j)
        return rlt_nomem(err);
    return times_of(p, p->base, err);
}

/* Simulates with constant k changed by a factor, within its bounds. *step is the change of its logarithm. */
static int with_factor(probe *p, uint32_t k, double factor, double *out, double *step, rlt_error *err)
{
    rlt_constant *c = &p->c->constants[k];
    double value = c->value;
    c->value = fmin(c->high, fmax(c->low, value * factor));
    if (c->whole)
        c->value = factor > 1 ? fmax(round(c->value), value + 1) : fmin(round(c->value), fmax(1, value - 1));
    *step = log(c->value / value);
    int rc = times_of(p, out, err);
    c->value = value;
    return rc;
}

/* Notes the rows whose time depends on constant k. A value that cannot be simulated counts as an effect. */
static int touch(probe *p, uint32_t k, rlt_error *err)
{
    rlt_constant *c = &p->c->constants[k];
    const rlt_trial *t = p->c->trial;
    rlt_error why = {0};
    double step;
    int up = with_factor(p, k, TOUCH, p->up, &step, &why),
        down = up == RLT_ECANCELLED || up == RLT_ENOMEM ? up
                                                        : with_factor(p, k, 1 / TOUCH, p->down, &step, &why);
    if (down == RLT_ECANCELLED || down == RLT_ENOMEM)
        return rlt_fail(err, down, why.where, "%s", why.what);
    c->rows = c->kinds = 0;
    for (uint32_t i = 0, n = 0; i < t->n_rows; i++) {
        const rlt_measurement *m = t->rows[i].m;
        if (t->rows[i].held_out)
            continue;
        if (up || down || fabs(p->up[n] - p->base[n]) > MOVES || fabs(p->down[n] - p->base[n]) > MOVES) {
            c->least = c->rows == 0 || m->bytes < c->least ? m->bytes : c->least;
            c->most = c->rows == 0 || m->bytes > c->most ? m->bytes : c->most;
            c->kinds |= 1u << m->kind;
            c->rows++;
        }
        n++;
    }
    return 0;
}

/* Fills the column of constant k; leaves zeros if its neighbourhood cannot be simulated. */
static int differentiate(probe *p, uint32_t k, rlt_error *err)
{
    double *column = &p->j[(size_t)k * p->n], up, down;
    rlt_error why = {0};
    int rc = with_factor(p, k, NUDGE, p->up, &up, &why);
    if (!rc)
        rc = with_factor(p, k, 1 / NUDGE, p->down, &down, &why);
    if (rc == RLT_ECANCELLED || rc == RLT_ENOMEM)
        return rlt_fail(err, rc, why.where, "%s", why.what);
    for (uint32_t i = 0; i < p->n && !rc && up > down; i++)
        column[i] = (p->up[i] - p->down[i]) / (up - down);
    return 0;
}

static double dot(const double *a, const double *b, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Returns the free constant whose column is most parallel to a direction. */
static uint32_t most_like(const probe *p, const double *original, uint32_t k)
{
    uint32_t best = k;
    double most = -1;
    for (uint32_t i = 0; i < p->c->n_constants; i++) {
        const double *a = &original[(size_t)i * p->n], *b = &original[(size_t)k * p->n];
        double norms = sqrt(dot(a, a, p->n) * dot(b, b, p->n));
        if (i != k && !p->c->constants[i].frozen && norms > 0 && fabs(dot(a, b, p->n)) / norms > most) {
            most = fabs(dot(a, b, p->n)) / norms;
            best = i;
        }
    }
    return best;
}

/* Notes that `like` does what `constant` does. */
static void copy_name(const rlt_constant *like, rlt_constant *constant)
{
    size_t n = strlen(like->name);
    n = n < sizeof constant->with ? n : sizeof constant->with - 1;
    memmove(constant->with, like->name, n);
    constant->with[n] = 0;
}

/* Takes columns by falling norm of what is perpendicular to those already taken, and freezes the rest
 * (Gram-Schmidt with pivots). A column without local effect stays free: larger steps have one. */
static int freeze_degenerate(probe *p, rlt_error *err)
{
    rlt_calibration *c = p->c;
    size_t size = (size_t)c->n_constants * p->n;
    double *original = malloc((size + 1) * sizeof *original), norm[RLT_MAX_CONSTANTS];
    bool done[RLT_MAX_CONSTANTS] = {0};
    if (!original)
        return rlt_nomem(err);
    memcpy(original, p->j, size * sizeof *original);
    for (uint32_t k = 0; k < c->n_constants; k++) {
        norm[k] = sqrt(dot(&p->j[(size_t)k * p->n], &p->j[(size_t)k * p->n], p->n));
        done[k] = c->constants[k].frozen || norm[k] < 1e-6;
    }
    for (;;) {
        double most = 0;
        uint32_t best = RLT_MAX_CONSTANTS;
        for (uint32_t k = 0; k < c->n_constants; k++) {
            double *v = &p->j[(size_t)k * p->n], left = sqrt(dot(v, v, p->n));
            if (done[k] || left <= most)
                continue;
            if (left < SAME * norm[k]) {
                c->constants[k].frozen = RLT_DEGENERATE;
                copy_name(&c->constants[most_like(p, original, k)], &c->constants[k]);
                done[k] = true;
                continue;
            }
            most = left;
            best = k;
        }
        if (best == RLT_MAX_CONSTANTS)
            break;
        done[best] = true;
        double *q = &p->j[(size_t)best * p->n];
        for (uint32_t i = 0; i < p->n; i++)
            q[i] /= most;
        for (uint32_t k = 0; k < c->n_constants; k++) {
            double *v = &p->j[(size_t)k * p->n], along = done[k] ? 0 : dot(v, q, p->n);
            for (uint32_t i = 0; i < p->n && !done[k]; i++)
                v[i] -= along * q[i];
        }
    }
    free(original);
    return 0;
}

/* Puts back the texts of the machines, which probing has edited. */
static int restore(rlt_trial *t, char **texts, rlt_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < t->n_machines && texts[i]; i++) {
        free(t->machines[i].text);
        t->machines[i].text = texts[i];
        t->machines[i].length = strlen(texts[i]);
        int failed = rlt_machine_rebuild(&t->machines[i], rc ? NULL : err);
        rc = rc ? rc : failed;
    }
    return rc;
}

static int freeze(rlt_calibration *c, rlt_error *err)
{
    probe p;
    uint32_t fitted = 0;
    int rc = probe_begin(&p, c, err);
    for (uint32_t k = 0; k < c->n_constants && !rc; k++) {
        rc = touch(&p, k, err);
        if (!rc && c->constants[k].rows == 0)
            c->constants[k].frozen = RLT_UNTOUCHED;
        else if (!rc)
            rc = differentiate(&p, k, err);
    }
    if (!rc)
        rc = freeze_degenerate(&p, err);
    for (uint32_t k = 0; k < c->n_constants; k++)
        fitted += !c->constants[k].frozen;
    probe_free(&p);
    if (!rc && fitted == 0)
        return rlt_fail(err, RLT_ESCHEMA, "--fit", "no measured row depends on %s",
                        c->n_constants == 1 ? c->constants[0].name : "any of the constants");
    return rc;
}

int rlt_constants_freeze(rlt_calibration *c, rlt_error *err)
{
    rlt_trial *t = c->trial;
    char **texts = calloc(t->n_machines + 1, sizeof *texts);
    int rc = texts ? 0 : rlt_nomem(err);
    for (uint32_t i = 0; i < t->n_machines && !rc; i++)
        if (!(texts[i] = strdup(t->machines[i].text)))
            rc = rlt_nomem(err);
    if (!rc)
        rc = freeze(c, err);
    if (texts) {
        int back = restore(t, texts, rc ? NULL : err);
        rc = rc ? rc : back;
    }
    free(texts);
    return rc;
}

/* ---- intervals ---- */

/* Returns the median of the absolute residuals as a standard deviation, for a fit of absolute residuals. */
static double robust_scale(const probe *p)
{
    const rlt_trial *t = p->c->trial;
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n_rows; i++)
        if (!t->rows[i].held_out) {
            p->up[n] = fabs(p->base[n] - log((double)t->rows[i].m->time_ps));
            n++;
        }
    qsort(p->up, n, sizeof *p->up, rlt_by_value);
    return n ? 1.4826 * 1.2533 * p->up[n / 2] : 0;
}

/* Inverts the matrix a (n x n, symmetric, unit diagonal) in place, by Gauss and Jordan. Returns false if it
 * is singular. */
static bool invert(double *a, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        double pivot = a[k * n + k];
        if (!(fabs(pivot) > 1e-12))
            return false;
        a[k * n + k] = 1;
        for (uint32_t j = 0; j < n; j++)
            a[k * n + j] /= pivot;
        for (uint32_t i = 0; i < n; i++) {
            double f = a[i * n + k];
            if (i == k)
                continue;
            a[i * n + k] = 0;
            for (uint32_t j = 0; j < n; j++)
                a[i * n + j] -= f * a[k * n + j];
        }
    }
    return true;
}

/* Computes the intervals from the columns of the constants that have a local effect. */
static int set_intervals(const probe *p, rlt_error *err)
{
    rlt_calibration *c = p->c;
    uint32_t at[RLT_MAX_CONSTANTS], n = 0;
    double norm[RLT_MAX_CONSTANTS], *a = calloc((size_t)c->n_constants * c->n_constants + 1, sizeof *a);
    if (!a)
        return rlt_nomem(err);
    for (uint32_t k = 0; k < c->n_constants; k++) {
        const double *v = &p->j[(size_t)k * p->n];
        norm[n] = sqrt(dot(v, v, p->n));
        if (!c->constants[k].frozen && norm[n] > 1e-6)
            at[n++] = k;
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++)
            a[i * n + j] =
                dot(&p->j[(size_t)at[i] * p->n], &p->j[(size_t)at[j] * p->n], p->n) / norm[i] / norm[j];
    if (p->n > n && n && invert(a, n)) {
        double s = robust_scale(p) * sqrt((double)p->n / (double)(p->n - n));
        for (uint32_t i = 0; i < n; i++) {
            rlt_constant *k = &c->constants[at[i]];
            double half = 1.96 * s * sqrt(fabs(a[i * n + i])) / norm[i];
            k->bounded = half < UNBOUNDED;
            k->from = k->value * exp(-half);
            k->to = k->value * exp(half);
        }
    }
    free(a);
    return 0;
}

int rlt_constants_bound(rlt_calibration *c, rlt_error *err)
{
    probe p;
    int rc = probe_begin(&p, c, err);
    for (uint32_t k = 0; k < c->n_constants && !rc; k++)
        if (!c->constants[k].frozen && !(rc = touch(&p, k, err)))
            rc = differentiate(&p, k, err);
    if (!rc)
        rc = set_intervals(&p, err);
    probe_free(&p);
    return rc;
}
