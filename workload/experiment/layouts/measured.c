/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload/experiment/layouts/measured.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/time.h"
#include "workload/experiment/layouts/world.h"

enum { N = RLT_LAYOUT_FACTORS, ROUNDS = 8, HALVINGS = 4 };
static const double noise = 0.03, step = 0.02;
/* Widths of the priors, assumed: networks may be several times slower than their data sheet, accelerators of
 * one kind and stack differ by a fifth, and small kernels may lose twice as much. */
static const double width[N] = {1.5, 0.2, 0.7};

typedef struct fit {
    const rlt_layouts *l;
    const rlt_watch *watch;
    rlt_measured *m;
    double *residuals, *trial; /* log(predicted / measured) */
    double *slopes;            /* N for each run */
} fit;

/* Returns the factors of logarithms, at most 500 from 1. */
static rlt_layout_factors factors_at(const double *x)
{
    const double most = log(500);
    double f[N];
    for (uint32_t k = 0; k < N; k++)
        f[k] = exp(fmax(-most, fmin(most, x[k])));
    return (rlt_layout_factors){f[0], f[1], f[2]};
}

static int simulate(rlt__world *w, const rlt_training *t, const rlt_watch *watch, double *log_s,
                    rlt_error *err)
{
    rlt_time time_ps = 0;
    int rc = rlt__world_simulate(w, t, watch, &time_ps, err);
    *log_s = log((double)time_ps * 1e-12);
    return rc;
}

/* Predicts the runs [first, end). */
static int predict(const fit *f, const double *x, uint32_t first, uint32_t end, double *residuals,
                   rlt_error *err)
{
    rlt__world w;
    rlt_layout_factors at = factors_at(x);
    int rc = rlt__world_open(&w, f->l, &at, err);
    for (uint32_t i = first; i < end && !rc; i++) {
        rlt_training t;
        double log_s = 0;
        rc = rlt__measured_training(&w.l, f->m, &f->m->runs[i], &t, err);
        if (!rc)
            rc = simulate(&w, &t, f->watch, &log_s, err);
        residuals[i] = log_s - log(f->m->runs[i].measured_s);
    }
    rlt__world_close(&w);
    return rc;
}

static int derive(const fit *f, const double *x, rlt_error *err)
{
    int rc = 0;
    for (uint32_t k = f->m->bandwidth_is_fixed; k < N && !rc; k++) {
        double moved[N];
        memcpy(moved, x, sizeof moved);
        moved[k] += step;
        rc = predict(f, moved, 0, f->m->n, f->trial, err);
        for (uint32_t i = 0; i < f->m->n; i++)
            f->slopes[i * N + k] = (f->trial[i] - f->residuals[i]) / step;
    }
    return rc;
}

static double cost_of(const fit *f, const double *x, const double *residuals)
{
    double sum = 0;
    for (uint32_t i = 0; i < f->m->n; i++)
        sum += residuals[i] * residuals[i] / (noise * noise);
    for (uint32_t k = 0; k < N; k++)
        sum += x[k] * x[k] / (width[k] * width[k]);
    return sum;
}

/* Inverts a symmetric positive definite matrix by Gauss-Jordan elimination. */
static void invert(double a[N][N])
{
    for (uint32_t p = 0; p < N; p++) {
        double pivot = a[p][p];
        a[p][p] = 1;
        for (uint32_t j = 0; j < N; j++)
            a[p][j] /= pivot;
        for (uint32_t i = 0; i < N; i++) {
            double by = a[i][p];
            if (i == p)
                continue;
            a[i][p] = 0;
            for (uint32_t j = 0; j < N; j++)
                a[i][j] -= by * a[p][j];
        }
    }
}

/* Solves the linear problem around x without run `without` (n: with all). C is its covariance. */
static void solve(const fit *f, const double *x, double s, uint32_t without, double c[N][N], double *by)
{
    double b[N];
    for (uint32_t k = 0; k < N; k++) {
        memset(c[k], 0, sizeof c[k]);
        c[k][k] = 1 / (width[k] * width[k]);
        b[k] = -x[k] / (width[k] * width[k]);
    }
    for (uint32_t i = 0; i < f->m->n; i++) {
        const double *j = f->slopes + (size_t)i * N;
        for (uint32_t k = 0; k < N && i != without; k++) {
            b[k] -= j[k] * f->residuals[i] / (s * s);
            for (uint32_t q = 0; q < N; q++)
                c[k][q] += j[k] * j[q] / (s * s);
        }
    }
    invert(c);
    for (uint32_t k = 0; k < N; k++) {
        by[k] = 0;
        for (uint32_t q = 0; q < N; q++)
            by[k] += c[k][q] * b[q];
    }
}

/* Takes a step of Gauss-Newton, halved until it helps. *moved: it did. */
static int improve(const fit *f, double *x, double *cost, bool *moved, rlt_error *err)
{
    double c[N][N], by[N], to[N];
    int rc = derive(f, x, err);
    *moved = false;
    if (rc)
        return rc;
    solve(f, x, noise, f->m->n, c, by);
    for (int half = 0; half < HALVINGS && !rc; half++) {
        for (uint32_t k = 0; k < N; k++)
            to[k] = x[k] + by[k] / (1 << half);
        if ((rc = predict(f, to, 0, f->m->n, f->trial, err)))
            break;
        double now = cost_of(f, to, f->trial);
        if (!(now < *cost - 1e-6))
            continue;
        *cost = now;
        *moved = true;
        memcpy(x, to, sizeof to);
        memcpy(f->residuals, f->trial, f->m->n * sizeof *f->trial);
        break;
    }
    return rc;
}

/* Goes down from a start. */
static int descend(const fit *f, double *x, int rounds, double *cost, rlt_error *err)
{
    bool moved = true;
    int rc = predict(f, x, 0, f->m->n, f->residuals, err);
    if (!rc)
        *cost = cost_of(f, x, f->residuals);
    for (int k = 0; k < rounds && !rc && moved; k++)
        rc = improve(f, x, cost, &moved, err);
    return rc;
}

/* Finds the best start by one step each, and goes down from there. */
static int search(const fit *f, double *x, rlt_error *err)
{
    static const double starts[] = {1, 0.3, 0.1, 0.03};
    double least = INFINITY, cost = 0;
    int rc = 0;
    for (size_t i = 0; i < sizeof starts / sizeof *starts && !rc; i++) {
        double from[N] = {log(starts[i]), 0, 0};
        rc = descend(f, from, 1, &cost, err);
        if (!rc && cost < least) {
            least = cost;
            memcpy(x, from, sizeof from);
        }
        if (f->m->bandwidth_is_fixed)
            break;
    }
    if (!rc)
        rc = descend(f, x, ROUNDS, &cost, err);
    return rc ? rc : derive(f, x, err);
}

/* Predicts each run with what the others say. */
static int leave_out(const fit *f, const double *x, rlt_error *err)
{
    rlt_measured *m = f->m;
    int rc = 0;
    for (uint32_t i = 0; i < m->n && m->n >= 3 && !rc; i++) {
        double c[N][N], by[N];
        solve(f, x, noise, i, c, by);
        for (uint32_t k = 0; k < N; k++)
            by[k] += x[k];
        rc = predict(f, by, i, i + 1, f->trial, err);
        m->runs[i].left_out_s = m->runs[i].measured_s * exp(f->trial[i]);
        m->left_out += fabs(f->trial[i]) / m->n;
    }
    return rc;
}

static void settle(const fit *f, const double *x)
{
    rlt_measured *m = f->m;
    double squares = 0, by[N];
    m->factors = factors_at(x);
    for (uint32_t i = 0; i < m->n; i++) {
        m->runs[i].predicted_s = m->runs[i].measured_s * exp(f->residuals[i]);
        m->error += fabs(f->residuals[i]) / m->n;
        squares += f->residuals[i] * f->residuals[i] / m->n;
    }
    solve(f, x, squares > noise * noise ? sqrt(squares) : noise, m->n, m->covariance, by);
    for (uint32_t k = 0; k < N; k++)
        m->sd[k] = sqrt(m->covariance[k][k]);
}

/* Returns true if the bandwidth of the outermost dimension can take a factor. */
static bool scales(const rlt_layouts *l)
{
    const rlt_layout_factors at = {0.9, 1, 1};
    rlt__world w;
    int rc = rlt__world_open(&w, l, &at, NULL);
    rlt__world_close(&w);
    return rc == 0;
}

int rlt_measured_fit(const rlt_layouts *l, const rlt_watch *watch, rlt_measured *m, rlt_error *err)
{
    fit f = {.l = l, .watch = watch, .m = m};
    double x[N] = {0};
    m->bandwidth_is_fixed = !scales(l);
    f.residuals = calloc(m->n, sizeof *f.residuals);
    f.trial = calloc(m->n, sizeof *f.trial);
    f.slopes = calloc((size_t)m->n * N, sizeof *f.slopes);
    int rc = f.residuals && f.trial && f.slopes ? 0 : rlt_nomem(err);
    if (!rc)
        rc = search(&f, x, err);
    if (!rc) {
        settle(&f, x);
        rc = leave_out(&f, x, err);
    }
    free(f.residuals);
    free(f.trial);
    free(f.slopes);
    return rc;
}

int rlt_measured_uncertain(const rlt_layouts *l, const rlt_measured *m, const rlt_watch *watch,
                           const rlt_layout_point *points, uint32_t n, double *sd, rlt_error *err)
{
    const double x[N] = {log(m->factors.bandwidth), log(m->factors.efficiency), log(m->factors.half_sizes)};
    double *slopes = calloc((size_t)n * N + 1, sizeof *slopes);
    int rc = slopes ? 0 : rlt_nomem(err);
    for (uint32_t k = m->bandwidth_is_fixed; k < N && !rc; k++) {
        double moved[N];
        rlt__world w;
        memcpy(moved, x, sizeof moved);
        moved[k] += step;
        rlt_layout_factors at = factors_at(moved);
        rc = rlt__world_open(&w, l, &at, err);
        for (uint32_t i = 0; i < n && !rc; i++) {
            rlt_training t;
            double log_s = 0;
            if (!(rc = rlt_layouts_training(&w.l, &points[i], &t, err)))
                rc = simulate(&w, &t, watch, &log_s, err);
            slopes[i * N + k] = (log_s - log((double)points[i].time_ps * 1e-12)) / step;
        }
        rlt__world_close(&w);
    }
    for (uint32_t i = 0; i < n && !rc; i++) {
        double sum = 0;
        for (uint32_t k = 0; k < N; k++)
            for (uint32_t q = 0; q < N; q++)
                sum += slopes[i * N + k] * m->covariance[k][q] * slopes[i * N + q];
        sd[i] = sqrt(sum > 0 ? sum : 0);
    }
    free(slopes);
    return rc;
}

bool rlt_measured_has(const rlt_layouts *l, const rlt_measured *m, const rlt_layout_point *p)
{
    rlt_training t, run;
    rlt_error err = {0};
    if (rlt_layouts_training(l, p, &t, &err))
        return false;
    for (uint32_t i = 0; i < m->n; i++)
        if (!rlt__measured_training(l, m, &m->runs[i], &run, &err) && rlt_layout_same_run(&t, &run))
            return true;
    return false;
}
