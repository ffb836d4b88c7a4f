/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The weights of a policy: where they lie, and how they begin. */
#include "tools/deploy/policy/weights.h"

#include <math.h>
#include <stdlib.h>

#include "sim/base/error.h"
#include "sim/base/random.h"
#include "tools/deploy/policy/policy.h"

enum { PURPOSE = 0x9011c7 };

const uint8_t rlt__edge_src[RLT_EDGE_KINDS] = {RLT__DEVICE, RLT__OP, RLT__OP, RLT__OP, RLT__DEVICE};
const uint8_t rlt__edge_dst[RLT_EDGE_KINDS] = {RLT__DEVICE, RLT__OP, RLT__OP, RLT__DEVICE, RLT__OP};
const uint8_t rlt_policy_edge_features[RLT_EDGE_KINDS] = {
    RLT_LINK_FEATURES, RLT_FLOW_FEATURES, RLT_FLOW_FEATURES, RLT_PLACE_FEATURES, RLT_PLACE_FEATURES};
const uint8_t rlt__node_features[RLT__NODE_KINDS] = {RLT_OP_FEATURES, RLT_DEVICE_FEATURES};
const uint8_t rlt__entering[RLT__NODE_KINDS] = {3, 2};

static size_t take(rlt__layout *l, size_t n)
{
    size_t at = l->n;
    l->n += n;
    return at;
}

static rlt__dense dense(rlt__layout *l, uint32_t in, uint32_t out)
{
    size_t w = take(l, (size_t)in * out);
    return (rlt__dense){w, take(l, out), in, out};
}

static rlt__affine affine(rlt__layout *l, uint32_t n)
{
    size_t gamma = take(l, n);
    return (rlt__affine){gamma, take(l, n)};
}

static void lay_out(const rlt_policy_shape *s, rlt__layout *l)
{
    uint32_t h = s->width, e = h / 4, c = h * s->heads;
    *l = (rlt__layout){0};
    for (int t = 0; t < RLT__NODE_KINDS; t++) {
        l->node_in[t] = dense(l, rlt__node_features[t], h);
        l->node_norm[t] = affine(l, h);
    }
    for (int k = 0; k < RLT_EDGE_KINDS; k++) {
        l->edge_in[k] = dense(l, rlt_policy_edge_features[k], e);
        l->edge_norm[k] = affine(l, e);
    }
    for (uint32_t i = 0; i < s->layers; i++) {
        for (int k = 0; k < RLT_EDGE_KINDS; k++) {
            rlt__attention *a = &l->layers[i].kinds[k];
            a->source = take(l, (size_t)h * c);
            a->edge = take(l, (size_t)e * c);
            a->target = take(l, (size_t)h * c);
            a->norm_source = affine(l, c);
            a->norm_target = affine(l, c);
            a->left = take(l, c);
            a->right = take(l, c);
        }
        for (int t = 0; t < RLT__NODE_KINDS; t++)
            l->layers[i].out[t] = dense(l, c, h);
    }
    l->decoder[0] = dense(l, h + 1, h);
    l->decoder[1] = dense(l, h, h);
    l->decoder[2] = dense(l, 2 * h + RLT_POLICY_WAYS, h);
    l->decoder[3] = dense(l, h, 1);
}

int rlt__policy_make(const rlt_policy_shape *shape, rlt_policy **out, rlt_error *err)
{
    *out = NULL;
    if (shape->width < 4 || shape->width > RLT_POLICY_MAX_WIDTH || shape->width % 4 || shape->layers < 1 ||
        shape->layers > RLT_POLICY_MAX_LAYERS || shape->heads < 1 || shape->heads > RLT_POLICY_MAX_HEADS)
        return rlt_fail(
            err, RLT_ERANGE, "policy",
            "width %u, %u layers, %u heads: a policy has a width of 4 to %d in steps of 4, 1 to %d "
            "layers and 1 to %d heads",
            shape->width, shape->layers, shape->heads, RLT_POLICY_MAX_WIDTH, RLT_POLICY_MAX_LAYERS,
            RLT_POLICY_MAX_HEADS);
    rlt_policy *p = calloc(1, sizeof *p);
    if (!p)
        return rlt_nomem(err);
    p->shape = *shape;
    lay_out(shape, &p->at);
    p->weights = calloc(p->at.n, sizeof *p->weights);
    if (!p->weights) {
        free(p);
        return rlt_nomem(err);
    }
    *out = p;
    return 0;
}

void rlt_policy_free(rlt_policy *p)
{
    if (p) {
        free(p->weights);
        free(p->note);
        free(p);
    }
}

uint64_t rlt_policy_parameters(const rlt_policy *p)
{
    return p->at.n;
}

double *rlt_policy_weights(rlt_policy *p)
{
    return p->weights;
}

const rlt_policy_shape *rlt_policy_shape_of(const rlt_policy *p)
{
    return &p->shape;
}

const char *rlt_policy_note(const rlt_policy *p)
{
    return p->note ? p->note : "";
}

/* Uniform within +- sqrt(6 / (in + out)): Glorot, Bengio, AISTATS 2010. Biases stay 0. */
static void draw_dense(rlt_policy *p, uint64_t seed, const rlt__dense *d)
{
    double most = sqrt(6.0 / (d->in + d->out));
    for (size_t i = 0; i < (size_t)d->in * d->out; i++)
        p->weights[d->w + i] = most * (2 * rlt_random_unit(seed, 0, PURPOSE, d->w + i) - 1);
}

/* Normal, variance sqrt(2) / mean of fan in and fan out. */
static void draw_normal(rlt_policy *p, uint64_t seed, size_t at, size_t n, double fans)
{
    double deviation = sqrt(sqrt(2) / (fans / 2));
    for (size_t i = 0; i < n; i++)
        p->weights[at + i] = deviation * rlt_random_normal(seed, 1, PURPOSE, at + i);
}

static void draw_affine(rlt_policy *p, const rlt__affine *a, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        p->weights[a->gamma + i] = 1;
}

static void draw_attention(rlt_policy *p, uint64_t seed, const rlt__attention *a)
{
    uint32_t h = p->shape.width, e = rlt__edge_width(p), c = rlt__channels(p);
    draw_normal(p, seed, a->source, (size_t)(h + e) * c, h + e + c);
    draw_normal(p, seed, a->target, (size_t)h * c, h + c);
    draw_affine(p, &a->norm_source, c);
    draw_affine(p, &a->norm_target, c);
    draw_normal(p, seed, a->left, c, h + 1);
    draw_normal(p, seed, a->right, c, h + 1);
}

int rlt_policy_create(const rlt_policy_shape *shape, uint64_t seed, rlt_policy **out, rlt_error *err)
{
    int rc = rlt__policy_make(shape, out, err);
    rlt_policy *p = *out;
    if (rc)
        return rc;
    for (int t = 0; t < RLT__NODE_KINDS; t++) {
        draw_dense(p, seed, &p->at.node_in[t]);
        draw_affine(p, &p->at.node_norm[t], shape->width);
    }
    for (int k = 0; k < RLT_EDGE_KINDS; k++) {
        draw_dense(p, seed, &p->at.edge_in[k]);
        draw_affine(p, &p->at.edge_norm[k], rlt__edge_width(p));
    }
    for (uint32_t i = 0; i < shape->layers; i++) {
        for (int k = 0; k < RLT_EDGE_KINDS; k++)
            draw_attention(p, seed, &p->at.layers[i].kinds[k]);
        for (int t = 0; t < RLT__NODE_KINDS; t++)
            draw_dense(p, seed, &p->at.layers[i].out[t]);
    }
    for (int i = 0; i < 4; i++)
        draw_dense(p, seed, &p->at.decoder[i]);
    return 0;
}
