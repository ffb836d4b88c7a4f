/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The policy of TAG: a graph attention network over operator groups and device groups of different kinds,
 * which says how promising each action is for the group that is decided next.
 *
 * Encoder: h = norm(tanh(Dense(x))) for nodes, f = norm(tanh(Dense(x))) for edges; then `layers` layers of
 * attention with `heads` heads over five kinds of edges, each with weights of its own:
 *
 *     z_e = norm(W_s [h_src || f_e]),  z_d = norm(W_d h_dst),  s_e = LeakyReLU_0.2(a_l . z_e + a_r . z_d),
 *     alpha_e = softmax of s_e over the edges into dst,  o_dst = sum_e alpha_e z_e  (heads concatenated)
 *
 * o is averaged over the kinds of edges into a kind of node, goes through Dense and tanh (none in the last
 * layer), and is added to h. Decoder, for each action a of group i: u_d = tanh Dense(tanh Dense([h_d ||
 * placed_a(d)])), u = mean of u_d, y_a = Dense(tanh Dense([u || h_i || onehot(way_a)])), log p =
 * log_softmax(y).
 *
 * `norm` is an affine map by channel, gamma x + beta (the released code never updates its batch statistics).
 * Width H 64 has 918 465 parameters, 256 has 14 290 689. Source: TAG, arXiv 2302.06126, and its released
 * model.
 */
#ifndef RLT_TOOLS_DEPLOY_POLICY_POLICY_H
#define RLT_TOOLS_DEPLOY_POLICY_POLICY_H

#include <stdint.h>

#include "sim/base/error.h"

/* Kinds of edges. */
enum {
    RLT_EDGE_LINK,  /* device -> device, all ordered pairs */
    RLT_EDGE_PREV,  /* operator group -> the group that its tensors feed */
    RLT_EDGE_SUCC,  /* the reverse of PREV */
    RLT_EDGE_PLACE, /* operator group -> device, all pairs */
    RLT_EDGE_SERVE, /* device -> operator group, all pairs */
    RLT_EDGE_KINDS
};
enum {
    RLT_OP_FEATURES = 13,
    RLT_DEVICE_FEATURES = 5,
    RLT_LINK_FEATURES = 1,
    RLT_FLOW_FEATURES = 1,
    RLT_PLACE_FEATURES = 5,
    RLT_POLICY_WAYS = 3
};

/* Features of an edge of each kind. */
extern const uint8_t rlt_policy_edge_features[RLT_EDGE_KINDS];

/* A state of the search as numbers. All arrays are row-major and borrowed. */
typedef struct rlt_policy_state {
    uint32_t n_ops, n_devices; /* operator groups, device groups */
    const double *ops;         /* n_ops x RLT_OP_FEATURES */
    const double *devices;     /* n_devices x RLT_DEVICE_FEATURES */
    struct rlt_policy_edges {
        uint32_t n;
        const uint32_t *src, *dst;
        const double *features; /* n x 1 (link, prev, succ) or n x RLT_PLACE_FEATURES (place, serve) */
    } edges[RLT_EDGE_KINDS];
    uint32_t deciding; /* operator group that is decided */
    uint32_t n_actions;
    const uint32_t *placement; /* by action: bit d set if device group d is used */
    const uint8_t *way;        /* by action: 0 .. RLT_POLICY_WAYS - 1 */
} rlt_policy_state;

typedef struct rlt_policy_shape {
    uint32_t width;  /* H, a multiple of 4; edges have H / 4 */
    uint32_t layers; /* 4 */
    uint32_t heads;  /* 4 */
} rlt_policy_shape;
#define RLT_POLICY_DEFAULT ((rlt_policy_shape){64, 4, 4})
enum { RLT_POLICY_MAX_WIDTH = 1024, RLT_POLICY_MAX_LAYERS = 8, RLT_POLICY_MAX_HEADS = 16 };

typedef struct rlt_policy rlt_policy;         /* weights: immutable while several threads evaluate */
typedef struct rlt_policy_run rlt_policy_run; /* memory of an evaluation; one for each thread */

/* Creates a policy with random weights (variance scaling, fan_avg, scale sqrt(2) for attention; Glorot
 * uniform for dense layers; gamma 1, beta 0), drawn from the seed. */
int rlt_policy_create(const rlt_policy_shape *shape, uint64_t seed, rlt_policy **out,
                      rlt_error *err) RLT_MUST_USE;
void rlt_policy_free(rlt_policy *p);
uint64_t rlt_policy_parameters(const rlt_policy *p);
double *rlt_policy_weights(rlt_policy *p); /* all of them, in a fixed order */

/* Weights as a file: a line of text (format, version, shape, provenance), then little-endian 32-bit floats
 * and a checksum. Reading refuses damaged, truncated and foreign files. `note` says how the weights came
 * about. */
int rlt_policy_save(const rlt_policy *p, const char *path, const char *note, rlt_error *err) RLT_MUST_USE;
int rlt_policy_load(const char *path, rlt_policy **out, rlt_error *err) RLT_MUST_USE;
const char *rlt_policy_note(const rlt_policy *p);
const rlt_policy_shape *rlt_policy_shape_of(const rlt_policy *p);

int rlt_policy_run_create(const rlt_policy *p, rlt_policy_run **out, rlt_error *err) RLT_MUST_USE;
void rlt_policy_run_free(rlt_policy_run *r);
/* log_p[a] = logarithm of the probability of action a. */
int rlt_policy_evaluate(rlt_policy_run *r, const rlt_policy_state *s, double *log_p,
                        rlt_error *err) RLT_MUST_USE;
/* Adds the gradient of the cross-entropy -sum_a target[a] log p(a) to gradient[] (rlt_policy_parameters
 * numbers), and returns the cross-entropy in *loss. */
int rlt_policy_gradient(rlt_policy_run *r, const rlt_policy_state *s, const double *target, double *gradient,
                        double *loss, rlt_error *err) RLT_MUST_USE;

/* Adam (Kingma, Ba, ICLR 2015) with the gradient clipped to a global norm. */
typedef struct rlt_adam {
    double rate, beta1, beta2, epsilon, clip; /* defaults 1e-4, 0.9, 0.999, 1e-7, 0.6 */
    uint64_t step;
    double *m, *v; /* one per parameter */
} rlt_adam;
int rlt_adam_create(const rlt_policy *p, rlt_adam *out, rlt_error *err) RLT_MUST_USE;
void rlt_adam_step(rlt_adam *a, rlt_policy *p, double *gradient); /* clips and clears the gradient */
void rlt_adam_free(rlt_adam *a);

#endif
