/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a rank of a training holds over the simulated time, in bytes. Weights, gradients, optimizer state and
 * buffers are there all the time. The activations of a microbatch, of a chunk of mean size as
 * rlt_training_memory_of counts them, are there from the beginning of its forward pass through the chunk to
 * the end of the last pass that needs them: the backward one or, where weight gradients are apart, theirs.
 * While a backward pass recomputes, its working set is there once. Weights that ZeRO 3 gathers and buffers of
 * communication are not counted.
 *
 * The most is rlt_training_memory_of's total in the schedules that are fixed; for what is driven by messages
 * that is a bound, which is reached where forward passes run ahead far enough.
 *
 * Passes are recorded while a program is built, of one rank of each stage: ranks of a stage have the same
 * operations in the same order. The curve reads the times of a replay.
 */
#ifndef RLT_WORKLOAD_TRAINING_MEMORY_TIME_H
#define RLT_WORKLOAD_TRAINING_MEMORY_TIME_H

#include "workload/training/training.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rlt_pass { RLT_PASS_FORWARD, RLT_PASS_BACKWARD, RLT_PASS_WEIGHTS } rlt_pass;

/* A microbatch through a chunk, one way. Operations are counted from the first one of their rank. */
typedef struct rlt_training_pass {
    uint32_t first;             /* RLT_NONE: it takes no time, and is when `last` has ended */
    uint32_t last;              /* RLT_NONE: nothing came before it either */
    uint32_t microbatch, chunk; /* chunk of the stage */
    rlt_pass kind;
} rlt_training_pass;

typedef struct rlt_stage_passes {
    uint32_t first, n; /* of the passes */
    uint32_t n_ops;    /* of each rank of the stage */
} rlt_stage_passes;

/* Zero before the first use; every building begins anew. */
typedef struct rlt_training_passes {
    uint32_t folded; /* axes, as in rlt_training_fold */
    uint32_t n_stages, n, room;
    rlt_stage_passes *stages;
    rlt_training_pass *at; /* of a stage in the order built: not always that in which they run */
} rlt_training_passes;
void rlt_training_passes_free(rlt_training_passes *p);

typedef struct rlt_memory_step {
    rlt_time time_ps;
    double bytes; /* from then on */
} rlt_memory_step;
typedef struct rlt_memory_curve {
    uint32_t stage, n;
    rlt_memory_step *steps; /* the first when the rank starts; times ascend, neighbours differ */
    double base_bytes;      /* without activations: what it comes back to at the end of each iteration */
    double peak_bytes;
    rlt_time peak_ps; /* when it is reached first */
} rlt_memory_curve;

/* Of a rank of the program that `t` was built into, which may be the first part of a joined one. A replay
 * that was stopped has it up to then. RLT_ERANGE for a rank that the training lacks, RLT_ECHECK where the
 * program is not the one recorded. O(p log p) for p passes of a rank. */
int rlt_memory_curve_of(const rlt_training *t, const rlt_training_passes *p, const rlt_program *program,
                        const rlt_replay *r, uint32_t rank, rlt_memory_curve *out,
                        rlt_error *err) RLT_MUST_USE;
void rlt_memory_curve_free(rlt_memory_curve *c);
/* The first rank of a stage, which stands for the others. */
uint32_t rlt_stage_rank(const rlt_training *t, const rlt_training_passes *p, uint32_t stage);

#ifdef __cplusplus
}
#endif
#endif
