/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A training's program while it is built, rank by rank: what passes, reductions and steps of the optimizer
 * are made of. Compute is gathered until something interrupts it and then becomes one operation.
 */
#ifndef RLT_WORKLOAD_TRAINING_WORK_H
#define RLT_WORKLOAD_TRAINING_WORK_H

#include "collectives/collective.h"
#include "sim/base/time.h"
#include "workload/program/program.h"
#include "workload/training/internal.h"
#include "workload/training/training.h"

enum { RLT__WORK_NAMES = 32 };
typedef struct rlt__work_named {
    const char *text;
    uint32_t id;
} rlt__work_named;

typedef struct rlt__work {
    const rlt_training *t;
    rlt_builder *b;
    rlt__times times;
    rlt__folded *folded; /* NULL: all ranks */
    uint32_t folds;      /* its axes, or 0 */
    rlt__work_named names[RLT__WORK_NAMES];
    uint32_t n_names;
    uint32_t *firsts; /* first layer of each chunk, and the end */
    uint16_t step;
    /* The rank being built: */
    uint32_t rank, at[RLT_AXES_OF_LAYOUT], groups[RLT__GROUPS];
    uint32_t compute, gradients;
    uint32_t last;          /* operation that the next one on the compute stream follows */
    uint32_t pending_after; /* one more that it follows: a receive, a gather; or RLT_NONE */
    uint32_t ahead;         /* the gather of the next block's weights, or RLT_NONE */
    rlt_time gathered;      /* compute not yet made an operation */
    const char *doing;      /* what it is called */
    uint64_t bucket[2];     /* gradients gathered: dense, of experts; in elements */
    bool first_bucket;
    uint32_t origin, n_ops; /* the rank's first operation, and how many */
    uint32_t opened;        /* first operation of the pass, or RLT_NONE */
    bool records;           /* its passes */
    uint32_t *reductions;   /* of gradients, in this step */
    uint32_t n_reductions, reductions_room;
} rlt__work;

/* Names are literals: each is entered once. */
uint32_t rlt__work_name(rlt__work *w, const char *name);
/* The layers of a chunk. */
void rlt__work_layers(const rlt__work *w, uint32_t chunk, uint32_t *first, uint32_t *end);
/* An operation of this step, after another one or RLT_NONE. */
uint32_t rlt__work_op(rlt__work *w, rlt_op_desc *d, uint32_t after);
/* What was gathered becomes an operation. */
void rlt__work_flush(rlt__work *w, const char *name);
/* A collective on a stream, after what was computed so far. Folded, it takes the time that it takes alone. */
uint32_t rlt__work_collective(rlt__work *w, uint32_t stream, int group, rlt_coll_kind kind, uint64_t bytes,
                              const char *name);
/* One that the compute after it waits for; nothing where the rank has no such group. */
void rlt__work_communicate(rlt__work *w, int group, rlt_coll_kind kind, double bytes, const char *name);
/* The optimizer waits for it. */
void rlt__work_reduction(rlt__work *w, uint32_t op);

/* The optimizer's part of an iteration (optimize.c): what tied copies owe each other, after the
 * data-parallel reductions; the steps themselves. */
void rlt__work_reduce_tied(rlt__work *w);
void rlt__work_optimize(rlt__work *w);
void rlt__work_optimize_offloaded(rlt__work *w);

#endif
