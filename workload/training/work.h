/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A training's program while it is built, rank by rank: building blocks of passes, reductions and optimizer
 * steps. Compute is accumulated until something interrupts it, and then becomes one operation.
 */
#ifndef RLT_WORKLOAD_TRAINING_WORK_H
#define RLT_WORKLOAD_TRAINING_WORK_H

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/models/model.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"
#include "workload/training/internal.h"
#include "workload/training/training.h"

enum { RLT__WORK_NAMES = 32 };
typedef struct rlt__opened {
    uint32_t group, members;
} rlt__opened;

typedef struct rlt__work_named {
    const char *text;
    uint32_t id;
} rlt__work_named;

/* Streams of a rank, by which time is counted where nothing is built. */
enum { RLT__WORK_COMPUTE, RLT__WORK_GRADIENTS, RLT__WORK_BESIDE, RLT__WORK_STREAMS };
enum { RLT__WORK_EXPOSED = RLT__WORK_STREAMS, RLT__WORK_TIMES }; /* communication on the stream of compute */

typedef struct rlt__work {
    const rlt_training *t;
    rlt_builder *b; /* NULL: operations are not built; their times are added to `spent` */
    rlt_time spent[RLT__WORK_TIMES];
    rlt_error failed;        /* the first failure, if nothing is built */
    struct rlt_spans *spans; /* durations of collectives, if nothing is built */
    int communication;       /* rlt_cost_communication: which of them count */
    rlt__times times;
    rlt__folded *folded;  /* NULL: all ranks */
    uint32_t folds;       /* folded axes, or 0 */
    double speed;         /* speed of the rank's compute, if nothing is built */
    const double *speeds; /* the same by stage; NULL: 1 */
    rlt__work_named names[RLT__WORK_NAMES];
    uint32_t n_names;
    uint32_t *firsts; /* first layer of each chunk, and the end of the last */
    uint16_t step;
    /* The rank being built: */
    uint32_t rank, at[RLT_AXES_OF_LAYOUT], groups[RLT__GROUPS], members[RLT__GROUPS];
    /* By kind of group and rank: the group, and its members, once one of them has opened it; else 0
     * members. */
    rlt__opened *known;
    uint32_t ranks;
    uint32_t compute, gradients, tensors; /* streams; tensors: RLT_NONE without tp_overlap */
    uint32_t
        ways[2]; /* DualPipe: streams of communication of a forward pass and of the backward pass beside it */
    uint32_t aside;   /* stream of communication while both are built; RLT_NONE: it holds up all compute */
    uint32_t experts; /* stream of exchanges with experts; RLT_NONE: none */
    uint32_t beside;  /* last exchange that goes on beside compute, or RLT_NONE */
    uint32_t last;    /* operation that precedes the next one on the compute stream */
    uint32_t pending_after; /* second operation that precedes it, a receive or a gather; RLT_NONE: none */
    uint32_t ahead;         /* gather of the next block's weights, or RLT_NONE */
    rlt_time gathered;      /* accumulated compute, not yet an operation */
    const char *doing;      /* name of the accumulated compute */
    uint64_t bucket[2];     /* accumulated gradients in elements: dense, experts */
    bool first_bucket;
    uint32_t origin, n_ops; /* the rank's first operation; number of its operations */
    uint32_t opened;        /* first operation of the pass, or RLT_NONE */
    bool records;           /* records the passes of this rank */
    uint32_t *reductions;   /* gradient reductions of this step */
    uint32_t n_reductions, reductions_room;
} rlt__work;

/* Returns the string of a name, which must be a literal: each is entered once. */
uint32_t rlt__work_name(rlt__work *w, const char *name);
/* Returns the layers of a chunk. */
void rlt__work_layers(const rlt__work *w, uint32_t chunk, uint32_t *first, uint32_t *end);
/* Adds an operation of this step after another one; RLT_NONE: after none. */
uint32_t rlt__work_op(rlt__work *w, rlt_op_desc *d, uint32_t after);
/* Makes an operation depend on another one. */
void rlt__work_dep(rlt__work *w, uint32_t op, uint32_t on);
/* Keeps a failure; the first one is returned when the program is finished. */
void rlt__work_fail(rlt__work *w, const rlt_error *err);
/* Turns the accumulated compute into an operation. */
void rlt__work_flush(rlt__work *w, const char *name);
/* Adds a collective on a stream, after the compute so far. If it is folded away, adds a delay of the time
 * that the collective takes alone. */
uint32_t rlt__work_collective(rlt__work *w, uint32_t stream, int group, rlt_coll_kind kind, uint64_t bytes,
                              const char *name);
/* Returns the stream of communication that the following compute waits for. */
uint32_t rlt__work_stream(const rlt__work *w);
/* Adds a collective that the following compute waits for. Adds nothing if the rank has no such group. */
void rlt__work_communicate(rlt__work *w, int group, rlt_coll_kind kind, double bytes, const char *name);
/* Adds a time on a stream, after the compute so far, for this purpose. */
uint32_t rlt__work_delay(rlt__work *w, uint32_t stream, rlt_time duration_ps, rlt_purpose purpose,
                         const char *name);
/* Makes the compute that follows depend on this operation. */
void rlt__work_follow(rlt__work *w, uint32_t op);
/* Returns the bytes of elements per sample for a microbatch, on a rank of context parallelism. */
double rlt__work_bytes(const rlt__work *w, double elements);

/* Exchanges with experts (exchange.c): dispatches tokens, or combines results. `narrow`: as the dispatcher's
 * precision says. */
void rlt__work_exchange(rlt__work *w, const rlt_model_layer *l, bool combine, bool narrow);
/* Returns true if a token is sent once to each node, so that exchanges depend on where nodes begin. */
bool rlt__sends_per_node(const rlt_training *t);
/* Waits for the exchanges that went on beside the pass. */
void rlt__work_join_exchanges(rlt__work *w);
/* Returns true if tensor parallelism divides a product of a layer that is not an expert's. */
bool rlt__divides_dense(const rlt_model *m, const rlt_model_layer *l);
/* Adds the tensor-parallel communication after a layer of experts that differ inside the group. Without
 * sequence parallelism the parts of the tokens are brought together. Only shared experts need all tokens. */
void rlt__work_join_parts(rlt__work *w, const rlt_model_layer *l, double bytes);

/* Finds the layers of each chunk. */
int rlt__work_chunks(rlt__work *w, rlt_error *err);
/* Adds the forward pass of a chunk. gathers: ZeRO 3 gathers its weights, if it keeps them. */
void rlt__work_forward(rlt__work *w, uint32_t chunk, bool gathers);
/* Adds the backward pass of a turn. gradients: they are given to buckets, which are reduced when full. */
void rlt__work_backward(rlt__work *w, uint32_t chunk, const rlt__turn *turn, bool gradients);
/* Adds the gradients of a layer to the buckets; reduces a bucket: of dense layers (0) or of experts (1). */
void rlt__work_give_gradients(rlt__work *w, const rlt_model_layer *l);
void rlt__work_reduce_bucket(rlt__work *w, int which);
/* Gathers the parts of the activations, or of their gradient, that came from another stage. */
void rlt__work_gather_parts(rlt__work *w, const rlt__turn *turn);
/* Finds the groups of a stage that are folded away, for durations. `ranks` has room for all ranks. */
int rlt__spans_groups(rlt__work *w, uint32_t *ranks, rlt_error *err);
/* Finds the duration of a collective of such a group. */
int rlt__span(rlt__work *w, int group, rlt_coll_kind kind, uint64_t bytes, rlt_time *duration_ps,
              rlt_error *err);
const rlt_replay_options *rlt__spans_how(const struct rlt_spans *s);
/* Prepares for trainings of this many ranks: those of others are forgotten. */
void rlt__spans_begin(struct rlt_spans *s, uint32_t ranks);
/* Adds what follows the passes of an iteration: the last buckets, the optimizer, the host. */
void rlt__work_end(rlt__work *w);

/* Makes the optimizer wait for an operation. */
void rlt__work_reduction(rlt__work *w, uint32_t op);

/* The optimizer's part of an iteration (optimize.c): sums of the gradients of tied copies, after the
 * data-parallel reductions, and the steps themselves. */
void rlt__work_reduce_tied(rlt__work *w);
void rlt__work_optimize(rlt__work *w);
void rlt__work_optimize_offloaded(rlt__work *w);

#endif
