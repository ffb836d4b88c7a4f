/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decoder: log p of each action for the group that is decided. */
#include <math.h>
#include <string.h>

#include "tools/deploy/policy/policy.h"
#include "tools/deploy/policy/tape.h"
#include "tools/deploy/policy/weights.h"

/* u of a device group depends only on whether the action places on it: two rows for each. */
static void device_rows(rlt_policy_run *r, const rlt_policy_state *s)
{
    const rlt_policy *p = r->policy;
    uint32_t h = p->shape.width, rows = 2 * s->n_devices;
    for (uint32_t i = 0; i < rows; i++) {
        memcpy(r->placed + (size_t)i * (h + 1), r->h[RLT__DEVICE] + (size_t)(i / 2) * h,
               h * sizeof *r->placed);
        r->placed[(size_t)i * (h + 1) + h] = i % 2;
    }
    rlt__dense_forward(p, &p->at.decoder[0], rlt__mat(r->placed, rows, h + 1),
                       rlt__mat(r->u_hidden, rows, h));
    rlt__tanh(r->u_hidden, (size_t)rows * h);
    rlt__dense_forward(p, &p->at.decoder[1], rlt__mat(r->u_hidden, rows, h), rlt__mat(r->u, rows, h));
    rlt__tanh(r->u, (size_t)rows * h);
}

static uint32_t row_of(const rlt_policy_state *s, uint32_t action, uint32_t device)
{
    return 2 * device + (s->placement[action] >> device & 1);
}

static void join(rlt_policy_run *r, const rlt_policy_state *s)
{
    uint32_t h = r->policy->shape.width, width = 2 * h + RLT_POLICY_WAYS;
    memset(r->joined, 0, (size_t)s->n_actions * width * sizeof *r->joined);
    for (uint32_t a = 0; a < s->n_actions; a++) {
        double *x = r->joined + (size_t)a * width;
        for (uint32_t d = 0; d < s->n_devices; d++)
            for (uint32_t k = 0; k < h; k++)
                x[k] += r->u[(size_t)row_of(s, a, d) * h + k] / s->n_devices;
        memcpy(x + h, r->h[RLT__OP] + (size_t)s->deciding * h, h * sizeof *x);
        x[2 * h + s->way[a]] = 1;
    }
}

void rlt__decode(rlt_policy_run *r, const rlt_policy_state *s)
{
    const rlt_policy *p = r->policy;
    uint32_t h = p->shape.width, n = s->n_actions;
    double most = -INFINITY, sum = 0;
    device_rows(r, s);
    join(r, s);
    rlt__dense_forward(p, &p->at.decoder[2], rlt__mat(r->joined, n, 2 * h + RLT_POLICY_WAYS),
                       rlt__mat(r->hidden, n, h));
    rlt__tanh(r->hidden, (size_t)n * h);
    rlt__dense_forward(p, &p->at.decoder[3], rlt__mat(r->hidden, n, h), rlt__mat(r->y, n, 1));
    for (uint32_t a = 0; a < n; a++)
        most = fmax(most, r->y[a]);
    for (uint32_t a = 0; a < n; a++)
        sum += exp(r->y[a] - most);
    for (uint32_t a = 0; a < n; a++)
        r->y[a] -= most + log(sum);
}

static void devices_backward(rlt_policy_run *r, const rlt_policy_state *s, double *gradient)
{
    const rlt_policy *p = r->policy;
    uint32_t h = p->shape.width, rows = 2 * s->n_devices;
    rlt__tanh_backward(r->u, r->d_u, (size_t)rows * h);
    memset(r->d_u_hidden, 0, (size_t)rows * h * sizeof *r->d_u_hidden);
    rlt__dense_backward(p, &p->at.decoder[1], rlt__mat(r->u_hidden, rows, h), rlt__mat(r->d_u, rows, h),
                        rlt__mat(r->d_u_hidden, rows, h), gradient);
    rlt__tanh_backward(r->u_hidden, r->d_u_hidden, (size_t)rows * h);
    memset(r->d_placed, 0, (size_t)rows * (h + 1) * sizeof *r->d_placed);
    rlt__dense_backward(p, &p->at.decoder[0], rlt__mat(r->placed, rows, h + 1),
                        rlt__mat(r->d_u_hidden, rows, h), rlt__mat(r->d_placed, rows, h + 1), gradient);
    for (uint32_t i = 0; i < rows; i++)
        for (uint32_t k = 0; k < h; k++)
            r->d_h[RLT__DEVICE][(size_t)(i / 2) * h + k] += r->d_placed[(size_t)i * (h + 1) + k];
}

void rlt__decode_backward(rlt_policy_run *r, const rlt_policy_state *s, const double *target,
                          double *gradient)
{
    const rlt_policy *p = r->policy;
    uint32_t h = p->shape.width, n = s->n_actions, width = 2 * h + RLT_POLICY_WAYS;
    double all = 0;
    for (int t = 0; t < RLT__NODE_KINDS; t++)
        memset(r->d_h[t], 0, (size_t)rlt__nodes(s, t) * h * sizeof *r->d_h[t]);
    for (uint32_t a = 0; a < n; a++)
        all += target[a];
    for (uint32_t a = 0; a < n; a++)
        r->y[a] = all * exp(r->y[a]) - target[a];
    memset(r->d_hidden, 0, (size_t)n * h * sizeof *r->d_hidden);
    rlt__dense_backward(p, &p->at.decoder[3], rlt__mat(r->hidden, n, h), rlt__mat(r->y, n, 1),
                        rlt__mat(r->d_hidden, n, h), gradient);
    rlt__tanh_backward(r->hidden, r->d_hidden, (size_t)n * h);
    memset(r->d_joined, 0, (size_t)n * width * sizeof *r->d_joined);
    rlt__dense_backward(p, &p->at.decoder[2], rlt__mat(r->joined, n, width), rlt__mat(r->d_hidden, n, h),
                        rlt__mat(r->d_joined, n, width), gradient);
    memset(r->d_u, 0, (size_t)2 * s->n_devices * h * sizeof *r->d_u);
    for (uint32_t a = 0; a < n; a++) {
        const double *d_x = r->d_joined + (size_t)a * width;
        for (uint32_t k = 0; k < h; k++)
            r->d_h[RLT__OP][(size_t)s->deciding * h + k] += d_x[h + k];
        for (uint32_t d = 0; d < s->n_devices; d++)
            for (uint32_t k = 0; k < h; k++)
                r->d_u[(size_t)row_of(s, a, d) * h + k] += d_x[k] / s->n_devices;
    }
    devices_backward(r, s, gradient);
}
