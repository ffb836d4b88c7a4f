/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The operator graph of a trace, while it is made. Device work becomes operators. Host work, delays and
 * communication vanish: who waited for them waits for what they waited for. If there is host work, the trace
 * is a recording, which does not say what device work needs. It then follows the work before it on its
 * stream. Of several steps, the one of median device time is taken.
 *
 * The first rule that holds gives the pass. Upper and lower case are alike.
 *   1. "optimizer", "adam", "adagrad", "sgd", "multi_tensor_apply", "addcmul", "addcdiv" or the word "step"
 *      in the name: update
 *   2. in a recording, launched by another thread than the first work: backward (PyTorch's autograd thread)
 *   3. "backward", "autograd", "wgrad", "dgrad", "bwd" or "_bw_" in the name: backward
 *   4. in others than recordings, "forward" in the name: forward
 *   5. before the first work that is backward by these rules: forward; after the last: update; else backward
 *
 * All-reduces and reduce-scatters after backward operators are of gradients. In others than recordings,
 * nothing but updates may wait for them. The operator before one, its producer, yields a gradient of its
 * bytes, for an update operator with as many bytes of parameters. Where each gradient has an update of the
 * trace that alone waits for it, and each update such gradients, that update's time is divided over them by
 * bytes. Otherwise the sum of all updates is. Example: backward work of 3 ms and 1 ms, each all-reduced, 30
 * and 10 MB, then an optimizer step of 8 ms: two updates, of 6 and 2 ms.
 *
 * The weights of a gradient belong to a forward operator: the one of the producer's name but for the word of
 * the pass. If no other has that name, the one at the mirrored time: it runs as long before the end of the
 * forward pass as the producer runs after the beginning of the backward pass, both in shares of their pass.
 */
#ifndef RLT_WORKLOAD_DEPLOY_GRAPHS_TRACE_H
#define RLT_WORKLOAD_DEPLOY_GRAPHS_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "workload/deploy/graphs/graphs.h"
#include "workload/program/program.h"

/* The part that an operation plays. */
typedef enum rlt_trace_role {
    RLT_TRACE_GONE,
    RLT_TRACE_DEVICE,
    RLT_TRACE_GRADIENT, /* a reduction */
} rlt_trace_role;

typedef struct rlt_trace_node {
    uint32_t place;     /* in the order */
    uint32_t first, n;  /* no operator: what it waits for, in the items */
    uint32_t thread;    /* resource of the host thread that launched it; RLT_NONE: unknown */
    uint32_t id;        /* its number among the operators */
    uint32_t mate;      /* backward work: the forward work that it belongs to, or itself */
    uint32_t root;      /* leads to the representative of its piece of the graph */
    uint32_t waiters;   /* reductions: updates that wait for it. Updates: reductions that it waits for */
    uint32_t update;    /* reductions: the last of these updates */
    uint32_t mark;      /* the operation that met it last, plus one */
    uint8_t role, pass; /* rlt_trace_role, rlt_operator_pass */
    bool held_up;       /* reductions: other work than updates waits for it */
    uint64_t weights;   /* forward work: bytes */
} rlt_trace_node;

typedef struct rlt_trace_edge {
    uint32_t from, to; /* operations */
} rlt_trace_edge;

typedef struct rlt_trace_gradient {
    uint32_t producer, update; /* operations; update RLT_NONE: not known */
    uint64_t bytes;
} rlt_trace_gradient;

typedef struct rlt_trace_maker {
    const rlt_program *p;
    const rlt_graph_options *options;
    rlt_error *err;
    uint32_t step;
    bool recording;
    bool updates; /* the trace's updates are operators: there are no gradients */
    rlt_trace_node *nodes;
    uint32_t *order;
    uint32_t *items, n_items, items_room; /* lists of operations */
    uint32_t *met, n_met, met_room;       /* what the present operation waits for */
    uint32_t *last, *slot, *stamp;        /* by resource */
    rlt_map seen;                         /* (stream, other stream) -> place waited for */
    rlt_trace_edge *edges;
    rlt_trace_gradient *gradients;
    uint32_t n_edges, edges_room, n_gradients, gradients_room;
    uint32_t joined, n_pass[3];
    uint64_t bytes;              /* of gradients */
    uint64_t other, other_bytes; /* communication that is no gradient */
} rlt_trace_maker;

/* Adds a line to the options' notes. */
void rlt__trace_note(const rlt_trace_maker *m, const char *fmt, ...) RLT_PRINTF(2);
static inline const char *rlt__trace_name(const rlt_trace_maker *m, uint32_t op)
{
    return rlt_program_string(m->p, m->p->ops[op].name);
}

/* Chooses the step. RLT_EMALFORMED, naming the file, if no step has device work. */
int rlt__trace_step(rlt_trace_maker *m, const char *path) RLT_MUST_USE;
/* Puts operations in order: each follows those it waits for, otherwise as built. */
int rlt__trace_order(rlt_trace_maker *m) RLT_MUST_USE;
/* Gives device work of the step its role and pass. */
void rlt__trace_passes(rlt_trace_maker *m);
/* Gives backward work its forward work. */
int rlt__trace_mates(rlt_trace_maker *m) RLT_MUST_USE;

bool rlt__trace_is_operator(const rlt_trace_maker *m, uint32_t op);
/* Finds the dependencies between operators. */
int rlt__trace_edges(rlt_trace_maker *m) RLT_MUST_USE;
int rlt__trace_gradients(rlt_trace_maker *m) RLT_MUST_USE;
/* Joins the pieces of the graph: the first operator of a piece waits for the operator before it. */
int rlt__trace_join(rlt_trace_maker *m) RLT_MUST_USE;

#endif
