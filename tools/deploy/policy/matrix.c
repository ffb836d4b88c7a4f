/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Products of matrices, and the layers that are made of them. */
#include <cblas.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "tools/deploy/policy/policy.h"
#include "tools/deploy/policy/weights.h"

/* An OpenBLAS built for one thread may not be entered by two, and no CBLAS says how it was built. */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

/* out = a b + keep out, with a or b transposed. */
static void gemm(rlt__matrix out, rlt__matrix a, bool turn_a, rlt__matrix b, bool turn_b, double keep)
{
    uint32_t inner = turn_a ? a.rows : a.columns;
    if (!out.rows || !out.columns)
        return;
    (void)pthread_mutex_lock(&one_at_a_time);
    cblas_dgemm(CblasRowMajor, turn_a ? CblasTrans : CblasNoTrans, turn_b ? CblasTrans : CblasNoTrans,
                (int)out.rows, (int)out.columns, (int)inner, 1, a.x, (int)a.columns, b.x, (int)b.columns,
                keep, out.x, (int)out.columns);
    (void)pthread_mutex_unlock(&one_at_a_time);
}

void rlt__multiply(rlt__matrix out, rlt__matrix a, rlt__matrix b, double keep)
{
    gemm(out, a, false, b, false, keep);
}

void rlt__add_at_b(rlt__matrix out, rlt__matrix a, rlt__matrix b)
{
    if (a.rows)
        gemm(out, a, true, b, false, 1);
}

void rlt__add_a_bt(rlt__matrix out, rlt__matrix a, rlt__matrix b)
{
    if (a.rows)
        gemm(out, a, false, b, true, 1);
}

void rlt__dense_forward(const rlt_policy *p, const rlt__dense *d, rlt__matrix x, rlt__matrix y)
{
    for (uint32_t i = 0; i < y.rows; i++)
        for (uint32_t k = 0; k < d->out; k++)
            y.x[(size_t)i * d->out + k] = p->weights[d->b + k];
    rlt__multiply(y, x, rlt__mat(p->weights + d->w, d->in, d->out), 1);
}

void rlt__dense_backward(const rlt_policy *p, const rlt__dense *d, rlt__matrix x, rlt__matrix dy,
                         rlt__matrix dx, double *gradient)
{
    rlt__add_at_b(rlt__mat(gradient + d->w, d->in, d->out), x, dy);
    for (uint32_t i = 0; i < dy.rows; i++)
        for (uint32_t k = 0; k < d->out; k++)
            gradient[d->b + k] += dy.x[(size_t)i * d->out + k];
    if (dx.x)
        rlt__add_a_bt(dx, dy, rlt__mat(p->weights + d->w, d->in, d->out));
}

void rlt__tanh(double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = tanh(x[i]);
}

void rlt__tanh_backward(const double *y, double *dy, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dy[i] *= 1 - y[i] * y[i];
}

void rlt__affine_forward(const rlt_policy *p, const rlt__affine *a, rlt__matrix x, double *y)
{
    const double *gamma = p->weights + a->gamma, *beta = p->weights + a->beta;
    for (size_t i = 0; i < x.rows; i++)
        for (uint32_t k = 0; k < x.columns; k++)
            y[i * x.columns + k] = gamma[k] * x.x[i * x.columns + k] + beta[k];
}

void rlt__affine_backward(const rlt_policy *p, const rlt__affine *a, rlt__matrix x, double *dy,
                          double *gradient)
{
    const double *gamma = p->weights + a->gamma;
    for (size_t i = 0; i < x.rows; i++)
        for (uint32_t k = 0; k < x.columns; k++) {
            double *d = &dy[i * x.columns + k];
            gradient[a->gamma + k] += *d * x.x[i * x.columns + k];
            gradient[a->beta + k] += *d;
            *d *= gamma[k];
        }
}
