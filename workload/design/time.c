/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The time of an iteration in closed form. */
#include <math.h>
#include <stdlib.h>

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "workload/design/design.h"
#include "workload/design/internal.h"

/* Shares that differ by less belong to one shape: their bytes are sums of a few products. */
#define SAME_SHARE 1e-9

rlt_design_loop rlt_design_loop_default(void)
{
    return (rlt_design_loop){.forward_passes = 1, .forward_compute = 1, .compute_scale = 1};
}

int rlt__design_groups_of(const rlt_design_net *net, const rlt_design_work *w, rlt__design_groups *out,
                          rlt_error *err)
{
    for (uint32_t i = 0; i < RLT_MAX_DIMS; i++)
        out->of[RLT_DESIGN_EVERY].size[i] = i < net->n ? net->dims[i].size : 1;
    return rlt_design_map(net, w->model, w->data, &out->of[RLT_DESIGN_MODEL], &out->of[RLT_DESIGN_DATA], err);
}

typedef struct adding {
    rlt_design_model *m;
    const rlt_design_net *net;
    rlt__design_groups groups;
    double factor;
} adding;

/* Finds the shape of a collective and its bytes; RLT_NONE if it sends nothing. */
static int shape_of(adding *a, const rlt_design_comm *c, uint32_t *shape, double *bytes, rlt_error *err)
{
    double moved[RLT_MAX_DIMS];
    rlt_design_shape s;
    *shape = RLT_NONE;
    *bytes = 0;
    if (!c->any)
        return 0;
    int rc = rlt_design_traffic(a->net, c->kind, &a->groups.of[c->over], c->bytes, moved, err);
    for (uint32_t i = 0; i < a->net->n && !rc; i++) {
        moved[i] *= rlt_design_handicap(a->net, i, a->groups.of[c->over].size[i], c->over != RLT_DESIGN_DATA);
        *bytes += moved[i];
    }
    if (rc || *bytes <= 0)
        return rc;
    for (uint32_t i = 0; i < RLT_MAX_DIMS; i++)
        s.share[i] = moved[i] / *bytes;
    for (uint32_t k = 0; k < a->m->n_shapes; k++) {
        double far = 0;
        for (uint32_t i = 0; i < RLT_MAX_DIMS; i++)
            far = fmax(far, fabs(s.share[i] - a->m->shapes[k].share[i]));
        if (far < SAME_SHARE) {
            *shape = k;
            return 0;
        }
    }
    if (a->m->n_shapes == RLT_DESIGN_SHAPES)
        return rlt_fail(err, RLT_ERANGE, NULL,
                        "collectives load the dimensions in more than %d different proportions",
                        RLT_DESIGN_SHAPES);
    *shape = a->m->n_shapes++;
    a->m->shapes[*shape] = s;
    a->m->bytes[*shape] = 0;
    return 0;
}

static int add_serial(adding *a, const rlt_design_comm *c, double times, rlt_error *err)
{
    uint32_t shape;
    double bytes;
    int rc = shape_of(a, c, &shape, &bytes, err);
    if (!rc && shape != RLT_NONE)
        a->m->bytes[shape] += bytes * times * a->factor;
    return rc;
}

static bool same_choice(const rlt_design_choice *a, const rlt_design_choice *b)
{
    for (int k = 0; k < 2; k++)
        if (a->shape[k] != b->shape[k] || a->bytes[k] != b->bytes[k] || a->seconds[k] != b->seconds[k])
            return false;
    return true;
}

/* Adds max(I + c_i, I + W + c_w). Equal layers are counted; layers whose maximum is known in advance are
 * added up. */
static int add_overlapped(adding *a, const rlt_design_layer *l, double scale, rlt_error *err)
{
    rlt_design_model *m = a->m;
    double i_s = l->compute_s[1] * scale, w_s = l->compute_s[2] * scale;
    rlt_design_choice c = {.count = a->factor, .seconds = {i_s, i_s + w_s}};
    int rc = shape_of(a, &l->comm[1], &c.shape[0], &c.bytes[0], err);
    if (!rc)
        rc = shape_of(a, &l->comm[2], &c.shape[1], &c.bytes[1], err);
    if (rc)
        return rc;
    if (c.shape[0] == RLT_NONE || (c.shape[0] == c.shape[1] && c.bytes[0] <= c.bytes[1])) {
        m->fixed_s += c.seconds[1] * a->factor;
        if (c.shape[1] != RLT_NONE)
            m->bytes[c.shape[1]] += c.bytes[1] * a->factor;
        return 0;
    }
    for (uint32_t k = 0; k < m->n_choices; k++)
        if (same_choice(&m->choices[k], &c)) {
            m->choices[k].count += a->factor;
            return 0;
        }
    rc = rlt_grow(&m->choices, &m->room, sizeof *m->choices, (uint64_t)m->n_choices + 1, RLT_DESIGN_CHOICES,
                  "distinct layers", err);
    if (!rc)
        m->choices[m->n_choices++] = c;
    return rc;
}

int rlt_design_model_add(rlt_design_model *m, const rlt_design_net *net, const rlt_design_work *w,
                         const rlt_design_loop *loop, double factor, rlt_error *err)
{
    adding a = {.m = m, .net = net, .factor = factor};
    int rc = rlt__design_groups_of(net, w, &a.groups, err);
    m->n_dims = net->n;
    for (uint32_t i = 0; i < w->n && !rc; i++) {
        const rlt_design_layer *l = &w->layers[i];
        double forward = l->compute_s[0] * loop->forward_compute * loop->compute_scale,
               backward = (l->compute_s[1] + l->compute_s[2]) * loop->compute_scale;
        m->fixed_s += forward * factor;
        m->compute_s += (forward + backward) * factor;
        rc = add_serial(&a, &l->comm[0], loop->forward_passes, err);
        if (rc)
            break;
        if (loop->overlap) {
            rc = add_overlapped(&a, l, loop->compute_scale, err);
            continue;
        }
        m->fixed_s += backward * factor;
        rc = add_serial(&a, &l->comm[1], 1, err);
        if (!rc)
            rc = add_serial(&a, &l->comm[2], 1, err);
    }
    return rc;
}

void rlt_design_model_free(rlt_design_model *m)
{
    free(m->choices);
    *m = (rlt_design_model){0};
}

double rlt_design_time(const rlt_design_model *m, const double bw[RLT_MAX_DIMS])
{
    double tau[RLT_DESIGN_SHAPES], t = m->fixed_s;
    for (uint32_t k = 0; k < m->n_shapes; k++) {
        tau[k] = 0;
        for (uint32_t i = 0; i < m->n_dims; i++)
            if (m->shapes[k].share[i] > 0)
                tau[k] = fmax(tau[k], m->shapes[k].share[i] / bw[i]);
        t += m->bytes[k] > 0 ? m->bytes[k] * tau[k] : 0;
    }
    for (uint32_t j = 0; j < m->n_choices; j++) {
        const rlt_design_choice *c = &m->choices[j];
        double side[2];
        for (int k = 0; k < 2; k++)
            side[k] = c->seconds[k] + (c->shape[k] == RLT_NONE ? 0 : c->bytes[k] * tau[c->shape[k]]);
        t += c->count * fmax(side[0], side[1]);
    }
    return t;
}

bool rlt_design_closed_form(const rlt_design_model *m, double total, double bw[RLT_MAX_DIMS])
{
    double roots = 0;
    uint32_t used[RLT_MAX_DIMS] = {0};
    if (m->n_choices || !m->n_shapes)
        return false;
    for (uint32_t k = 0; k < m->n_shapes; k++) {
        roots += sqrt(m->bytes[k]);
        for (uint32_t i = 0; i < m->n_dims; i++)
            if (m->shapes[k].share[i] > 0 && used[i]++)
                return false;
    }
    for (uint32_t i = 0; i < RLT_MAX_DIMS; i++)
        bw[i] = 0;
    for (uint32_t k = 0; k < m->n_shapes; k++)
        for (uint32_t i = 0; i < m->n_dims; i++)
            bw[i] += total * sqrt(m->bytes[k]) / roots * m->shapes[k].share[i];
    return true;
}
