/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The operator graph of a training iteration: what deployment search places. Operators have times and sizes,
 * tensors connect them. Collected by the calls below, checked once by rlt_opgraph_finish, then immutable, so
 * that threads can share it.
 *
 * Times are those of the whole batch on the reference device, in picoseconds. Sizes are those of the whole
 * batch, in bytes. A device of factor f takes f times as long; a replica of c that share the batch takes
 *
 *     time_ps * f / c + launch_ps        (splittable operators; others: c = 1).
 *
 * Example: a convolution of 10 ms and a launch of 8 us, on 4 replicas of factor 1.5: 3.758 ms each.
 */
#ifndef RLT_WORKLOAD_DEPLOY_OPGRAPH_H
#define RLT_WORKLOAD_DEPLOY_OPGRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/time.h"

enum { RLT_MAX_OPERATORS = 1 << 20, RLT_MAX_TENSORS = 1 << 22 };

typedef enum rlt_operator_pass {
    RLT_OPERATOR_FORWARD,
    RLT_OPERATOR_BACKWARD,
    RLT_OPERATOR_UPDATE
} rlt_operator_pass;

/* How the parts that replicas hold make up a tensor. */
typedef enum rlt_tensor_kind {
    RLT_TENSOR_BATCHED,  /* each part is a slice of the batch: parts are concatenated */
    RLT_TENSOR_GRADIENT, /* each part is a summand of the whole: parts are added up */
    RLT_TENSOR_FULL,     /* every replica has all of it */
} rlt_tensor_kind;

typedef struct rlt_operator {
    const char *name, *kind; /* "node12", "Conv2d"; owned by the graph */
    rlt_time time_ps, launch_ps;
    uint64_t parameter_bytes; /* forward: weights it owns; update: weights it updates; backward: 0 */
    uint64_t kept_bytes;      /* activations kept from the forward to the backward pass */
    uint32_t forward;         /* forward operator that this one belongs to; a forward operator: itself */
    uint32_t together; /* operators of one number share one placement; below n_ops, or RLT_NONE: free */
    uint8_t pass;      /* rlt_operator_pass */
    bool splittable;   /* false: each replica does the whole batch */
} rlt_operator;

typedef struct rlt_tensor {
    uint32_t src, dst; /* operators */
    uint64_t bytes;
    uint8_t kind; /* rlt_tensor_kind */
} rlt_tensor;

typedef struct rlt_opgraph {
    char name[64];
    uint32_t n_ops, n_tensors;
    uint32_t batch; /* samples; 0: unknown */
    bool unsized;   /* 0 bytes of a batched tensor mean that its size is unknown */
    const rlt_operator *ops;
    const rlt_tensor *tensors; /* by source, in the order they were added */
    const uint32_t *out_first; /* tensors out of operator i: tensors[out_first[i] .. out_first[i + 1]) */
    const uint32_t *in_first;  /* tensors into i: in[in_first[i] .. in_first[i + 1]), indices into tensors */
    const uint32_t *in;
    const uint32_t *order; /* a topological order; the operator added first goes first */
    rlt_time forward_ps, backward_ps, update_ps; /* sums of time_ps */
    uint64_t parameter_bytes;                    /* sum over the forward operators */
    uint64_t hash;
    struct rlt_opgraph_store *store; /* owner of all arrays and texts */
} rlt_opgraph;

typedef struct rlt_opgraph_builder rlt_opgraph_builder;

int rlt_opgraph_begin(const char *name, rlt_opgraph_builder **out, rlt_error *err) RLT_MUST_USE;
void rlt_opgraph_drop(rlt_opgraph_builder *b);
/* Adds an operator and copies its texts. Returns its index, or RLT_NONE after a failure that
 * rlt_opgraph_finish will report. */
uint32_t rlt_opgraph_op(rlt_opgraph_builder *b, const rlt_operator *op);
void rlt_opgraph_tensor(rlt_opgraph_builder *b, const rlt_tensor *t);
void rlt_opgraph_batch(rlt_opgraph_builder *b, uint32_t samples);
void rlt_opgraph_unsized(rlt_opgraph_builder *b);
/* Checks and freezes; frees the builder in every case. Refuses, naming the operators: no operator at all, an
 * unknown or equal end of a tensor, a cycle, a graph in several pieces, a graph without any time, a size
 * whose sum passes 2^62. O(operators + tensors). */
int rlt_opgraph_finish(rlt_opgraph_builder *b, rlt_opgraph **out, rlt_error *err) RLT_MUST_USE;
void rlt_opgraph_free(rlt_opgraph *g);

/* A layer of a model: a forward and a backward time under one name, as profilers list them. */
typedef struct rlt_layer_node {
    const char *name, *kind;
    rlt_time forward_ps, backward_ps;
    uint64_t output_bytes, parameter_bytes;
    bool input;        /* it only provides data: no backward pass, and its forward time is dropped */
    bool unsplittable; /* it cannot divide the batch */
} rlt_layer_node;

/* Costs that profiles of layers do not list. Defaults, as in the reference's prototype (assumed there):
 * 8 us a launch; the optimizer reads and writes 4e5 bytes of weights a microsecond. */
typedef struct rlt_layer_costs {
    rlt_time launch_ps;
    double update_bytes_per_us;
} rlt_layer_costs;
#define RLT_LAYER_COSTS_DEFAULT ((rlt_layer_costs){8 * RLT_US, 4e5})

/* A graph of layers. `edges` holds 2 * n_edges layer indices: from, to. Borrowed. */
typedef struct rlt_layer_graph {
    const char *name;
    uint32_t batch; /* samples; 0: unknown */
    const rlt_layer_node *layers;
    uint32_t n;
    const uint32_t *edges;
    uint32_t n_edges;
} rlt_layer_graph;

/*
 * Makes the training graph of layers. For each layer k
 * there is a forward operator F(k); unless it is an input, a backward operator B(k); if it has parameters, an
 * update U(k), which stands together with F(k). Tensors: F(a) -> F(b) and B(b) -> B(a) of output_bytes(a) for
 * each edge (the second if both have a B), F(k) -> B(k) of output_bytes(k), all batched; B(k) -> U(k) of
 * parameter_bytes(k), a gradient. Example: vgg16 has 41 layers, 1 input, 16 with weights: 97 operators.
 */
int rlt_opgraph_of_layers(const rlt_layer_graph *layers, const rlt_layer_costs *costs, rlt_opgraph **out,
                          rlt_error *err) RLT_MUST_USE;

/*
 * Base groups: operators that must share one decision. Operators with equal `together` form one, and an
 * operator joins the operator that feeds it a tensor of kind FULL from an input. group[op] = number of its
 * base group, in order of first appearance. *n = number of base groups. O(operators + tensors).
 */
int rlt_opgraph_base_groups(const rlt_opgraph *g, uint32_t *group, uint32_t *n, rlt_error *err) RLT_MUST_USE;

#endif
