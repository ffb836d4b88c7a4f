/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adam: Kingma, Ba: "Adam: a method for stochastic optimization", ICLR 2015. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "tools/deploy/policy/policy.h"
#include "tools/deploy/policy/weights.h"

int rlt_adam_create(const rlt_policy *p, rlt_adam *out, rlt_error *err)
{
    *out = (rlt_adam){.rate = 1e-4, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-7, .clip = 0.6};
    out->m = calloc(p->at.n, sizeof *out->m);
    out->v = calloc(p->at.n, sizeof *out->v);
    if (out->m && out->v)
        return 0;
    rlt_adam_free(out);
    return rlt_nomem(err);
}

void rlt_adam_free(rlt_adam *a)
{
    free(a->m);
    free(a->v);
    a->m = a->v = NULL;
}

void rlt_adam_step(rlt_adam *a, rlt_policy *p, double *gradient)
{
    size_t n = p->at.n;
    double squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += gradient[i] * gradient[i];
    double norm = sqrt(squares), scale = norm > a->clip ? a->clip / norm : 1;
    a->step++;
    double rate = a->rate * sqrt(1 - pow(a->beta2, (double)a->step)) / (1 - pow(a->beta1, (double)a->step));
    for (size_t i = 0; i < n; i++) {
        double g = gradient[i] * scale;
        a->m[i] += (1 - a->beta1) * (g - a->m[i]);
        a->v[i] += (1 - a->beta2) * (g * g - a->v[i]);
        p->weights[i] -= rate * a->m[i] / (sqrt(a->v[i]) + a->epsilon);
    }
    memset(gradient, 0, n * sizeof *gradient);
}
