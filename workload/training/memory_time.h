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

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"
#include "workload/training/passes.h"
#include "workload/training/training.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* The curve of a rank of the program that `t` was built into, which may be the first part of a joined one. A
 * replay that was stopped has it up to then. RLT_ERANGE for a rank that the training lacks, RLT_ECHECK where
 * the program is not the one recorded. O(p log p) for p passes of a rank. */
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
