/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The record of an evaluation, kept for the gradient. Internal to tools/deploy/policy. */
#ifndef RLT_TOOLS_DEPLOY_POLICY_TAPE_H
#define RLT_TOOLS_DEPLOY_POLICY_TAPE_H

#include <stddef.h>
#include <stdint.h>

#include "tools/deploy/policy/policy.h"
#include "tools/deploy/policy/weights.h"

/* C channels, H width, K heads; edges, nodes: those of the kind in question. */
struct rlt_policy_run {
    const rlt_policy *policy;
    double *memory; /* all arrays below */
    size_t room;
    double *node_tanh[RLT__NODE_KINDS];                       /* nodes x H */
    double *edge_tanh[RLT_EDGE_KINDS], *edge[RLT_EDGE_KINDS]; /* edges x H / 4; edge: f */
    struct rlt__tape_layer {
        double *h[RLT__NODE_KINDS]; /* nodes x H: input of the layer */
        double *o[RLT__NODE_KINDS]; /* nodes x C */
        double *y[RLT__NODE_KINDS]; /* nodes x H: what the layer adds to h */
        struct rlt__tape_attention {
            double *source; /* edges x C: W_s [h_src || f] */
            double *target; /* nodes x C: W_d h_dst */
            double *score;  /* edges x K: before LeakyReLU */
            double *alpha;  /* edges x K */
        } kinds[RLT_EDGE_KINDS];
    } layers[RLT_POLICY_MAX_LAYERS];
    double *h[RLT__NODE_KINDS]; /* of the last layer */
    /* Decoder. Row 2 d + b is device group d, placed (b 1) or not (b 0). */
    double *placed, *u_hidden, *u; /* 2 devices x H + 1, H, H */
    double *joined, *hidden, *y;   /* actions x 2 H + RLT_POLICY_WAYS, H, 1; y: log p in the end */
    /* Room for sums. */
    double *z, *z_target, *projected; /* edges x C, nodes x C, nodes x C */
    double *most, *sum;               /* nodes x K */
    /* Gradients, by the same shapes. */
    double *d_h[RLT__NODE_KINDS], *d_o[RLT__NODE_KINDS], *d_y;
    double *d_z, *d_target, *d_projected, *d_edge[RLT_EDGE_KINDS];
    double *d_alpha; /* edges x K */
    double *d_joined, *d_hidden, *d_u, *d_u_hidden, *d_placed;
};

static inline uint32_t rlt__nodes(const rlt_policy_state *s, int kind)
{
    return kind == RLT__OP ? s->n_ops : s->n_devices;
}

/* Encoder: fills h of the last layer. Backward: turns d_h of the last layer into gradients of weights. */
void rlt__encode(rlt_policy_run *r, const rlt_policy_state *s);
void rlt__encode_backward(rlt_policy_run *r, const rlt_policy_state *s, double *gradient);
/* Decoder: fills y with log p. Backward: takes d log p's cross-entropy with `target`; fills d_h. */
void rlt__decode(rlt_policy_run *r, const rlt_policy_state *s);
void rlt__decode_backward(rlt_policy_run *r, const rlt_policy_state *s, const double *target,
                          double *gradient);
/* Attention over one kind of edges, in layer l: adds its share to o of the nodes that the edges enter;
 * backward adds to d_h of both ends. */
void rlt__attend(rlt_policy_run *r, const rlt_policy_state *s, uint32_t layer, int kind);
void rlt__attend_backward(rlt_policy_run *r, const rlt_policy_state *s, uint32_t layer, int kind,
                          double *gradient);

#endif
