/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Encoder: features of nodes and edges, then layers of attention. */
#include <string.h>

#include "tools/deploy/policy/policy.h"
#include "tools/deploy/policy/tape.h"
#include "tools/deploy/policy/weights.h"

static const double *features_of(const rlt_policy_state *s, int kind)
{
    return kind == RLT__OP ? s->ops : s->devices;
}

/* norm(tanh(Dense(features))) for nodes and edges. */
static void read_in(rlt_policy_run *r, const rlt_policy_state *s)
{
    const rlt_policy *p = r->policy;
    for (int t = 0; t < RLT__NODE_KINDS; t++) {
        uint32_t n = rlt__nodes(s, t);
        rlt__matrix y = rlt__mat(r->node_tanh[t], n, p->shape.width);
        rlt__dense_forward(p, &p->at.node_in[t], rlt__mat(features_of(s, t), n, rlt__node_features[t]), y);
        rlt__tanh(y.x, (size_t)n * p->shape.width);
        rlt__affine_forward(p, &p->at.node_norm[t], y, r->layers[0].h[t]);
    }
    for (int k = 0; k < RLT_EDGE_KINDS; k++) {
        uint32_t n = s->edges[k].n, w = rlt__edge_width(p);
        rlt__matrix y = rlt__mat(r->edge_tanh[k], n, w);
        rlt__dense_forward(p, &p->at.edge_in[k],
                           rlt__mat(s->edges[k].features, n, rlt_policy_edge_features[k]), y);
        rlt__tanh(y.x, (size_t)n * w);
        rlt__affine_forward(p, &p->at.edge_norm[k], y, r->edge[k]);
    }
}

void rlt__encode(rlt_policy_run *r, const rlt_policy_state *s)
{
    const rlt_policy *p = r->policy;
    uint32_t h = p->shape.width, c = rlt__channels(p);
    read_in(r, s);
    for (uint32_t i = 0; i < p->shape.layers; i++) {
        struct rlt__tape_layer *l = &r->layers[i];
        for (int t = 0; t < RLT__NODE_KINDS; t++)
            memset(l->o[t], 0, (size_t)rlt__nodes(s, t) * c * sizeof *l->o[t]);
        for (int k = 0; k < RLT_EDGE_KINDS; k++)
            rlt__attend(r, s, i, k);
        for (int t = 0; t < RLT__NODE_KINDS; t++) {
            uint32_t n = rlt__nodes(s, t);
            double *next = i + 1 < p->shape.layers ? r->layers[i + 1].h[t] : r->h[t];
            rlt__dense_forward(p, &p->at.layers[i].out[t], rlt__mat(l->o[t], n, c), rlt__mat(l->y[t], n, h));
            if (i + 1 < p->shape.layers)
                rlt__tanh(l->y[t], (size_t)n * h);
            for (size_t k = 0; k < (size_t)n * h; k++)
                next[k] = l->h[t][k] + l->y[t][k];
        }
    }
}

static void read_in_backward(rlt_policy_run *r, const rlt_policy_state *s, double *gradient)
{
    const rlt_policy *p = r->policy;
    rlt__matrix nothing = {0};
    for (int t = 0; t < RLT__NODE_KINDS; t++) {
        uint32_t n = rlt__nodes(s, t), h = p->shape.width;
        rlt__affine_backward(p, &p->at.node_norm[t], rlt__mat(r->node_tanh[t], n, h), r->d_h[t], gradient);
        rlt__tanh_backward(r->node_tanh[t], r->d_h[t], (size_t)n * h);
        rlt__dense_backward(p, &p->at.node_in[t], rlt__mat(features_of(s, t), n, rlt__node_features[t]),
                            rlt__mat(r->d_h[t], n, h), nothing, gradient);
    }
    for (int k = 0; k < RLT_EDGE_KINDS; k++) {
        uint32_t n = s->edges[k].n, w = rlt__edge_width(p);
        rlt__affine_backward(p, &p->at.edge_norm[k], rlt__mat(r->edge_tanh[k], n, w), r->d_edge[k], gradient);
        rlt__tanh_backward(r->edge_tanh[k], r->d_edge[k], (size_t)n * w);
        rlt__dense_backward(p, &p->at.edge_in[k],
                            rlt__mat(s->edges[k].features, n, rlt_policy_edge_features[k]),
                            rlt__mat(r->d_edge[k], n, w), nothing, gradient);
    }
}

void rlt__encode_backward(rlt_policy_run *r, const rlt_policy_state *s, double *gradient)
{
    const rlt_policy *p = r->policy;
    uint32_t h = p->shape.width, c = rlt__channels(p);
    for (int k = 0; k < RLT_EDGE_KINDS; k++)
        memset(r->d_edge[k], 0, (size_t)s->edges[k].n * rlt__edge_width(p) * sizeof *r->d_edge[k]);
    for (uint32_t i = p->shape.layers; i-- > 0;) {
        struct rlt__tape_layer *l = &r->layers[i];
        for (int t = 0; t < RLT__NODE_KINDS; t++) {
            uint32_t n = rlt__nodes(s, t);
            memcpy(r->d_y, r->d_h[t], (size_t)n * h * sizeof *r->d_y);
            if (i + 1 < p->shape.layers)
                rlt__tanh_backward(l->y[t], r->d_y, (size_t)n * h);
            memset(r->d_o[t], 0, (size_t)n * c * sizeof *r->d_o[t]);
            rlt__dense_backward(p, &p->at.layers[i].out[t], rlt__mat(l->o[t], n, c), rlt__mat(r->d_y, n, h),
                                rlt__mat(r->d_o[t], n, c), gradient);
        }
        for (int k = 0; k < RLT_EDGE_KINDS; k++)
            rlt__attend_backward(r, s, i, k, gradient);
    }
    read_in_backward(r, s, gradient);
}
