/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Attention over one kind of edges. W_s [h || f] is computed as W_s's upper rows times h, once for each node,
 * and its lower rows times f, once for each edge.
 */
#include <math.h>
#include <string.h>

#include "tools/deploy/policy/policy.h"
#include "tools/deploy/policy/tape.h"
#include "tools/deploy/policy/weights.h"

static const double slope = 0.2; /* of LeakyReLU */

/* W_s [h_src || f] of all edges, and W_d h of all nodes that edges enter. */
static void project(rlt_policy_run *r, const rlt_policy_state *s, uint32_t layer, int kind)
{
    const rlt_policy *p = r->policy;
    const rlt__attention *a = &p->at.layers[layer].kinds[kind];
    const struct rlt_policy_edges *e = &s->edges[kind];
    struct rlt__tape_layer *l = &r->layers[layer];
    struct rlt__tape_attention *t = &l->kinds[kind];
    int src = rlt__edge_src[kind], dst = rlt__edge_dst[kind];
    uint32_t h = p->shape.width, c = rlt__channels(p), w = rlt__edge_width(p);
    uint32_t n_src = rlt__nodes(s, src), n_dst = rlt__nodes(s, dst);
    rlt__multiply(rlt__mat(r->projected, n_src, c), rlt__mat(l->h[src], n_src, h),
                  rlt__mat(p->weights + a->source, h, c), 0);
    for (uint32_t i = 0; i < e->n; i++)
        memcpy(t->source + (size_t)i * c, r->projected + (size_t)e->src[i] * c, c * sizeof *t->source);
    rlt__multiply(rlt__mat(t->source, e->n, c), rlt__mat(r->edge[kind], e->n, w),
                  rlt__mat(p->weights + a->edge, w, c), 1);
    rlt__multiply(rlt__mat(t->target, n_dst, c), rlt__mat(l->h[dst], n_dst, h),
                  rlt__mat(p->weights + a->target, h, c), 0);
    rlt__affine_forward(p, &a->norm_source, rlt__mat(t->source, e->n, c), r->z);
    rlt__affine_forward(p, &a->norm_target, rlt__mat(t->target, n_dst, c), r->z_target);
}

static double product(const double *a, const double *b, uint32_t n)
{
    double sum[4] = {0}; /* four sums, so that the compiler may use vectors */
    for (uint32_t i = 0; i + 4 <= n; i += 4)
        for (uint32_t k = 0; k < 4; k++)
            sum[k] += a[i + k] * b[i + k];
    return sum[0] + sum[1] + (sum[2] + sum[3]); /* widths are multiples of 4 */
}

/* alpha: softmax of the scores over the edges that enter a node, for each head. */
static void normalise(rlt_policy_run *r, const rlt_policy_state *s, const struct rlt__tape_attention *t,
                      int kind)
{
    const struct rlt_policy_edges *e = &s->edges[kind];
    uint32_t heads = r->policy->shape.heads, n = rlt__nodes(s, rlt__edge_dst[kind]);
    for (uint32_t i = 0; i < n * heads; i++) {
        r->most[i] = -INFINITY;
        r->sum[i] = 0;
    }
    for (uint32_t i = 0; i < e->n * heads; i++) {
        double score = t->score[i] * (t->score[i] > 0 ? 1 : slope);
        double *most = &r->most[e->dst[i / heads] * heads + i % heads];
        t->alpha[i] = score;
        *most = fmax(*most, score);
    }
    for (uint32_t i = 0; i < e->n * heads; i++) {
        uint32_t to = e->dst[i / heads] * heads + i % heads;
        t->alpha[i] = exp(t->alpha[i] - r->most[to]);
        r->sum[to] += t->alpha[i];
    }
    for (uint32_t i = 0; i < e->n * heads; i++)
        t->alpha[i] /= r->sum[e->dst[i / heads] * heads + i % heads];
}

void rlt__attend(rlt_policy_run *r, const rlt_policy_state *s, uint32_t layer, int kind)
{
    const rlt_policy *p = r->policy;
    const rlt__attention *a = &p->at.layers[layer].kinds[kind];
    const struct rlt_policy_edges *e = &s->edges[kind];
    struct rlt__tape_attention *t = &r->layers[layer].kinds[kind];
    uint32_t h = p->shape.width, c = rlt__channels(p), heads = p->shape.heads;
    double *o = r->layers[layer].o[rlt__edge_dst[kind]], share = 1.0 / rlt__entering[rlt__edge_dst[kind]];
    project(r, s, layer, kind);
    for (uint32_t i = 0; i < rlt__nodes(s, rlt__edge_dst[kind]) * heads; i++)
        r->sum[i] = product(p->weights + a->right + i % heads * h, r->z_target + (size_t)i * h, h);
    for (uint32_t i = 0; i < e->n * heads; i++)
        t->score[i] = product(p->weights + a->left + i % heads * h, r->z + (size_t)i * h, h) +
                      r->sum[e->dst[i / heads] * heads + i % heads];
    normalise(r, s, t, kind);
    for (uint32_t i = 0; i < e->n * heads; i++) {
        double *to = o + (size_t)e->dst[i / heads] * c + i % heads * h, weight = share * t->alpha[i];
        const double *z = r->z + (size_t)i * h;
        for (uint32_t k = 0; k < h; k++)
            to[k] += weight * z[k];
    }
}

/* Gradient of the scores from that of o; d_z gets what comes through o. */
static void scores_backward(rlt_policy_run *r, const rlt_policy_state *s, uint32_t layer, int kind)
{
    const struct rlt_policy_edges *e = &s->edges[kind];
    const struct rlt__tape_attention *t = &r->layers[layer].kinds[kind];
    int dst = rlt__edge_dst[kind];
    uint32_t h = r->policy->shape.width, c = rlt__channels(r->policy), heads = r->policy->shape.heads;
    double share = 1.0 / rlt__entering[dst];
    memset(r->sum, 0, (size_t)rlt__nodes(s, dst) * heads * sizeof *r->sum);
    for (uint32_t i = 0; i < e->n * heads; i++) {
        uint32_t edge = i / heads, k = i % heads, to = e->dst[edge];
        const double *g = r->d_o[dst] + (size_t)to * c + k * h;
        double *d_z = r->d_z + (size_t)edge * c + k * h;
        r->d_alpha[i] = share * product(g, r->z + (size_t)edge * c + k * h, h);
        r->sum[to * heads + k] += t->alpha[i] * r->d_alpha[i];
        for (uint32_t j = 0; j < h; j++)
            d_z[j] = share * t->alpha[i] * g[j];
    }
    for (uint32_t i = 0; i < e->n * heads; i++) {
        double d = t->alpha[i] * (r->d_alpha[i] - r->sum[e->dst[i / heads] * heads + i % heads]);
        r->d_alpha[i] = d * (t->score[i] > 0 ? 1 : slope);
    }
}

/* Adds what comes through the scores to d_z and d_target, and the gradients of a_l and a_r. */
static void vectors_backward(rlt_policy_run *r, const rlt_policy_state *s, const rlt__attention *a, int kind,
                             double *gradient)
{
    const struct rlt_policy_edges *e = &s->edges[kind];
    const double *weights = r->policy->weights;
    uint32_t h = r->policy->shape.width, c = rlt__channels(r->policy), heads = r->policy->shape.heads;
    memset(r->d_target, 0, (size_t)rlt__nodes(s, rlt__edge_dst[kind]) * c * sizeof *r->d_target);
    for (uint32_t i = 0; i < e->n * heads; i++) {
        double d = r->d_alpha[i];
        size_t at = (size_t)i * h, to = (size_t)e->dst[i / heads] * c + i % heads * h;
        size_t left = a->left + i % heads * h, right = a->right + i % heads * h;
        for (uint32_t k = 0; k < h; k++) {
            r->d_z[at + k] += d * weights[left + k];
            r->d_target[to + k] += d * weights[right + k];
            gradient[left + k] += d * r->z[at + k];
            gradient[right + k] += d * r->z_target[to + k];
        }
    }
}

void rlt__attend_backward(rlt_policy_run *r, const rlt_policy_state *s, uint32_t layer, int kind,
                          double *gradient)
{
    const rlt_policy *p = r->policy;
    const rlt__attention *a = &p->at.layers[layer].kinds[kind];
    const struct rlt_policy_edges *e = &s->edges[kind];
    struct rlt__tape_layer *l = &r->layers[layer];
    struct rlt__tape_attention *t = &l->kinds[kind];
    int src = rlt__edge_src[kind], dst = rlt__edge_dst[kind];
    uint32_t h = p->shape.width, c = rlt__channels(p), w = rlt__edge_width(p);
    uint32_t n_src = rlt__nodes(s, src), n_dst = rlt__nodes(s, dst);
    rlt__matrix d_z = rlt__mat(r->d_z, e->n, c), d_target = rlt__mat(r->d_target, n_dst, c);
    rlt__affine_forward(p, &a->norm_source, rlt__mat(t->source, e->n, c), r->z);
    rlt__affine_forward(p, &a->norm_target, rlt__mat(t->target, n_dst, c), r->z_target);
    scores_backward(r, s, layer, kind);
    vectors_backward(r, s, a, kind, gradient);
    rlt__affine_backward(p, &a->norm_source, rlt__mat(t->source, e->n, c), d_z.x, gradient);
    rlt__affine_backward(p, &a->norm_target, rlt__mat(t->target, n_dst, c), d_target.x, gradient);
    rlt__add_at_b(rlt__mat(gradient + a->edge, w, c), rlt__mat(r->edge[kind], e->n, w), d_z);
    rlt__add_a_bt(rlt__mat(r->d_edge[kind], e->n, w), d_z, rlt__mat(p->weights + a->edge, w, c));
    memset(r->d_projected, 0, (size_t)n_src * c * sizeof *r->d_projected);
    for (uint32_t i = 0; i < e->n; i++)
        for (uint32_t k = 0; k < c; k++)
            r->d_projected[(size_t)e->src[i] * c + k] += d_z.x[(size_t)i * c + k];
    rlt__matrix d_projected = rlt__mat(r->d_projected, n_src, c);
    rlt__add_at_b(rlt__mat(gradient + a->source, h, c), rlt__mat(l->h[src], n_src, h), d_projected);
    rlt__add_a_bt(rlt__mat(r->d_h[src], n_src, h), d_projected, rlt__mat(p->weights + a->source, h, c));
    rlt__add_at_b(rlt__mat(gradient + a->target, h, c), rlt__mat(l->h[dst], n_dst, h), d_target);
    rlt__add_a_bt(rlt__mat(r->d_h[dst], n_dst, h), d_target, rlt__mat(p->weights + a->target, h, c));
}
