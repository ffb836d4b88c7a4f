/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An evaluation of the policy, and its gradient. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "tools/deploy/policy/policy.h"
#include "tools/deploy/policy/tape.h"
#include "tools/deploy/policy/weights.h"

int rlt_policy_run_create(const rlt_policy *p, rlt_policy_run **out, rlt_error *err)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return rlt_nomem(err);
    (*out)->policy = p;
    return 0;
}

void rlt_policy_run_free(rlt_policy_run *r)
{
    if (r)
        free(r->memory);
    free(r);
}

/* Gives out memory; with `memory` NULL it only counts. */
typedef struct taker {
    double *memory;
    size_t used;
} taker;

static void take(taker *t, double **out, size_t rows, size_t columns)
{
    *out = t->memory ? t->memory + t->used : NULL;
    t->used += rows * columns;
}

static void take_encoder(rlt_policy_run *r, const rlt_policy_state *s, taker *t)
{
    const rlt_policy *p = r->policy;
    uint32_t h = p->shape.width, c = rlt__channels(p), w = rlt__edge_width(p), heads = p->shape.heads;
    for (int n = 0; n < RLT__NODE_KINDS; n++) {
        take(t, &r->node_tanh[n], rlt__nodes(s, n), h);
        take(t, &r->h[n], rlt__nodes(s, n), h);
        take(t, &r->d_h[n], rlt__nodes(s, n), h);
        take(t, &r->d_o[n], rlt__nodes(s, n), c);
    }
    for (int k = 0; k < RLT_EDGE_KINDS; k++) {
        take(t, &r->edge_tanh[k], s->edges[k].n, w);
        take(t, &r->edge[k], s->edges[k].n, w);
        take(t, &r->d_edge[k], s->edges[k].n, w);
    }
    for (uint32_t i = 0; i < p->shape.layers; i++) {
        struct rlt__tape_layer *l = &r->layers[i];
        for (int n = 0; n < RLT__NODE_KINDS; n++) {
            take(t, &l->h[n], rlt__nodes(s, n), h);
            take(t, &l->o[n], rlt__nodes(s, n), c);
            take(t, &l->y[n], rlt__nodes(s, n), h);
        }
        for (int k = 0; k < RLT_EDGE_KINDS; k++) {
            take(t, &l->kinds[k].source, s->edges[k].n, c);
            take(t, &l->kinds[k].target, rlt__nodes(s, rlt__edge_dst[k]), c);
            take(t, &l->kinds[k].score, s->edges[k].n, heads);
            take(t, &l->kinds[k].alpha, s->edges[k].n, heads);
        }
    }
}

static void take_decoder(rlt_policy_run *r, const rlt_policy_state *s, taker *t)
{
    uint32_t h = r->policy->shape.width, rows = 2 * s->n_devices;
    take(t, &r->placed, rows, h + 1);
    take(t, &r->u_hidden, rows, h);
    take(t, &r->u, rows, h);
    take(t, &r->joined, s->n_actions, 2 * h + RLT_POLICY_WAYS);
    take(t, &r->hidden, s->n_actions, h);
    take(t, &r->y, s->n_actions, 1);
    take(t, &r->d_joined, s->n_actions, 2 * h + RLT_POLICY_WAYS);
    take(t, &r->d_hidden, s->n_actions, h);
    take(t, &r->d_u, rows, h);
    take(t, &r->d_u_hidden, rows, h);
    take(t, &r->d_placed, rows, h + 1);
}

static void take_sums(rlt_policy_run *r, const rlt_policy_state *s, taker *t)
{
    uint32_t c = rlt__channels(r->policy), heads = r->policy->shape.heads, edges = 0;
    uint32_t nodes = s->n_ops > s->n_devices ? s->n_ops : s->n_devices;
    for (int k = 0; k < RLT_EDGE_KINDS; k++)
        edges = s->edges[k].n > edges ? s->edges[k].n : edges;
    take(t, &r->z, edges, c);
    take(t, &r->d_z, edges, c);
    take(t, &r->d_alpha, edges, heads);
    take(t, &r->z_target, nodes, c);
    take(t, &r->d_target, nodes, c);
    take(t, &r->projected, nodes, c);
    take(t, &r->d_projected, nodes, c);
    take(t, &r->most, nodes, heads);
    take(t, &r->sum, nodes, heads);
    take(t, &r->d_y, nodes, r->policy->shape.width);
}

static size_t take_all(rlt_policy_run *r, const rlt_policy_state *s, double *memory)
{
    taker t = {memory, 0};
    take_encoder(r, s, &t);
    take_decoder(r, s, &t);
    take_sums(r, s, &t);
    return t.used;
}

/* Makes room for a state. */
static int prepare(rlt_policy_run *r, const rlt_policy_state *s, rlt_error *err)
{
    if (!s->n_ops || !s->n_devices || !s->n_actions || s->deciding >= s->n_ops)
        return rlt_fail(
            err, RLT_ERANGE, "policy",
            "a state of %u operator groups, %u device groups and %u actions that decides group %u", s->n_ops,
            s->n_devices, s->n_actions, s->deciding);
    size_t need = take_all(r, s, NULL);
    if (need > r->room) {
        free(r->memory);
        r->room = 0;
        r->memory = malloc(need * sizeof *r->memory);
        if (!r->memory)
            return rlt_nomem(err);
        r->room = need;
    }
    take_all(r, s, r->memory);
    return 0;
}

int rlt_policy_evaluate(rlt_policy_run *r, const rlt_policy_state *s, double *log_p, rlt_error *err)
{
    int rc = prepare(r, s, err);
    if (rc)
        return rc;
    rlt__encode(r, s);
    rlt__decode(r, s);
    memcpy(log_p, r->y, s->n_actions * sizeof *log_p);
    return 0;
}

int rlt_policy_gradient(rlt_policy_run *r, const rlt_policy_state *s, const double *target, double *gradient,
                        double *loss, rlt_error *err)
{
    int rc = prepare(r, s, err);
    if (rc)
        return rc;
    rlt__encode(r, s);
    rlt__decode(r, s);
    *loss = 0;
    for (uint32_t a = 0; a < s->n_actions; a++)
        *loss -= target[a] > 0 ? target[a] * r->y[a] : 0;
    rlt__decode_backward(r, s, target, gradient);
    rlt__encode_backward(r, s, gradient);
    return 0;
}
