/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the weights lie, and the products of matrices. Internal to tools/deploy/policy. */
#ifndef RLT_TOOLS_DEPLOY_POLICY_WEIGHTS_H
#define RLT_TOOLS_DEPLOY_POLICY_WEIGHTS_H

#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "tools/deploy/policy/policy.h"

enum { RLT__OP, RLT__DEVICE, RLT__NODE_KINDS };

/* Kinds of nodes that an edge of each kind leaves and enters. */
extern const uint8_t rlt__edge_src[RLT_EDGE_KINDS], rlt__edge_dst[RLT_EDGE_KINDS];
extern const uint8_t rlt__node_features[RLT__NODE_KINDS];
/* Kinds of edges that enter a kind of node: o is their average. */
extern const uint8_t rlt__entering[RLT__NODE_KINDS];

/* x W + b: W is in x out, row-major, then b. All places are indices of the weights. */
typedef struct rlt__dense {
    size_t w, b;
    uint32_t in, out;
} rlt__dense;

/* gamma x + beta by channel. */
typedef struct rlt__affine {
    size_t gamma, beta;
} rlt__affine;

/* Attention over one kind of edges. W_s is two matrices: of h_src (H x C), then of f_e (E x C), for C = heads
 * x H channels. */
typedef struct rlt__attention {
    size_t source, edge, target; /* W_s for h, W_s for f, W_d */
    rlt__affine norm_source, norm_target;
    size_t left, right; /* a_l, a_r: C numbers each */
} rlt__attention;

typedef struct rlt__layout {
    rlt__dense node_in[RLT__NODE_KINDS], edge_in[RLT_EDGE_KINDS];
    rlt__affine node_norm[RLT__NODE_KINDS], edge_norm[RLT_EDGE_KINDS];
    struct rlt__layer {
        rlt__attention kinds[RLT_EDGE_KINDS];
        rlt__dense out[RLT__NODE_KINDS];
    } layers[RLT_POLICY_MAX_LAYERS];
    rlt__dense decoder[4]; /* [h_d || placed], u, [u || h_i || onehot], y */
    size_t n;
} rlt__layout;

struct rlt_policy {
    rlt_policy_shape shape;
    rlt__layout at;
    double *weights;
    char *note;
};

static inline uint32_t rlt__channels(const rlt_policy *p)
{
    return p->shape.heads * p->shape.width;
}

static inline uint32_t rlt__edge_width(const rlt_policy *p)
{
    return p->shape.width / 4;
}

/* A matrix, row-major. */
typedef struct rlt__matrix {
    double *x;
    uint32_t rows, columns;
} rlt__matrix;

static inline rlt__matrix rlt__mat(const double *x, uint32_t rows, uint32_t columns)
{
    return (rlt__matrix){(double *)(uintptr_t)x, rows, columns};
}

/* out = a b + keep out;  out += transposed a times b;  out += a times transposed b. */
void rlt__multiply(rlt__matrix out, rlt__matrix a, rlt__matrix b, double keep);
void rlt__add_at_b(rlt__matrix out, rlt__matrix a, rlt__matrix b);
void rlt__add_a_bt(rlt__matrix out, rlt__matrix a, rlt__matrix b);
/* y = x W + b, for all rows. */
void rlt__dense_forward(const rlt_policy *p, const rlt__dense *d, rlt__matrix x, rlt__matrix y);
/* Adds the gradients of W and b, and that of x unless dx.x is NULL. */
void rlt__dense_backward(const rlt_policy *p, const rlt__dense *d, rlt__matrix x, rlt__matrix dy,
                         rlt__matrix dx, double *gradient);
void rlt__tanh(double *x, size_t n);
/* dy *= 1 - y^2. */
void rlt__tanh_backward(const double *y, double *dy, size_t n);
/* y = gamma x + beta; backward turns dy into dx in place and adds the gradients. */
void rlt__affine_forward(const rlt_policy *p, const rlt__affine *a, rlt__matrix x, double *y);
void rlt__affine_backward(const rlt_policy *p, const rlt__affine *a, rlt__matrix x, double *dy,
                          double *gradient);

/* A policy of that shape with weights of 0. */
int rlt__policy_make(const rlt_policy_shape *shape, rlt_policy **out, rlt_error *err) RLT_MUST_USE;

#endif
