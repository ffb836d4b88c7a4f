/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A second model of the time of a kernel, written from workload/models/accelerator.h. */
#ifndef RLT_TEST_SUPPORT_TRAININGS_KERNEL_H
#define RLT_TEST_SUPPORT_TRAININGS_KERNEL_H

#include <math.h>

#include "workload/models/accelerator.h"
#include "workload/models/model.h"

/* A dimension of 0 is long: it loses nothing. */
static inline double kernel_loss(double size, double half)
{
    return size > 0 ? size / (size + half) : 1;
}

/* Areas that a sum of k inputs is split into. */
static inline double kernel_pieces(double k, double inputs_half)
{
    return k > 4096 ? (k + inputs_half) / (4096 + inputs_half) : 1;
}

/* FLOPs over efficiency, but for the kind's own factor, of the fastest product that holds m x k times k x n: more
 * rows and more outputs, in turn, until neither is faster. */
static inline double kernel_product_flop(const rlt_roofline *r, const rlt_work *w)
{
    double m = w->m, n = w->n, pieces = kernel_pieces(w->k, r->inputs_half), area = r->area_half / pieces;
    for (int i = 0; i < 60 && m > 0 && n > 0; i++) {
        m = fmax(w->m, sqrt(r->rows_half * area / n));
        n = fmax(w->n, sqrt(r->outputs_half * area / m));
    }
    double larger = m > 0 && n > 0 ? m / w->m * n / w->n : 1;
    return w->flop * larger /
           (kernel_loss(m, r->rows_half) * kernel_loss(n, r->outputs_half) *
            kernel_loss(w->k, r->inputs_half) * kernel_loss(m * n * pieces, r->area_half));
}

/* Seconds without the launch. */
static inline double kernel_seconds(const rlt_roofline *r, const rlt_work *w)
{
    double e = r->most[w->kind], peak = (double)r->peak_Flops;
    double flop = w->kind == RLT_WORK_MATMUL ? kernel_product_flop(r, w) : w->flop;
    if (w->kind == RLT_WORK_CONVOLUTION)
        e *= kernel_loss(w->m, r->rows_half) *
             kernel_loss(fmax(w->m, 128) * w->n * kernel_pieces(w->k, 0), r->area_half);
    if (w->kind == RLT_WORK_ATTENTION)
        peak = (double)r->peak_16_Flops;
    return fmax(flop / (peak * e), w->bytes / ((double)r->memory_Bps * r->memory));
}

#endif
