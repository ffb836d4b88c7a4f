/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory of a rank of a training over simulated time, in bytes. Weights, gradients, optimizer state and
 * buffers are held all the time. A microbatch's activations are held from the beginning of its forward pass
 * through a chunk to the end of the last pass that needs them: the backward pass, or the pass of weight
 * gradients if they are computed apart. Each chunk counts at its mean size, as in rlt_training_memory_of.
 * What a backward pass adds (the loss, or blocks that are recomputed) is held once, during the pass.
 * Fragments follow the allocated bytes; context and the weights that ZeRO 3 gathers are held all the time.
 *
 * In fixed schedules the peak equals the total of rlt_training_memory_of. In the message-driven schedule that
 * total is an upper bound, reached if forward passes run ahead far enough.
 *
 * Passes are recorded while a program is built, for one rank per stage: all ranks of a stage have the same
 * operations in the same order. The curve takes its times from a replay.
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
    double bytes; /* memory from time_ps on */
} rlt_memory_step;
typedef struct rlt_memory_curve {
    uint32_t stage, n;
    /* the first is at the start of the rank; times ascend, and neighbours differ in bytes */
    rlt_memory_step *steps;
    double base_bytes; /* without activations: the level at the end of each iteration */
    double peak_bytes;
    rlt_time peak_ps; /* first time at which the peak is reached */
} rlt_memory_curve;

/* Computes the curve of a rank of the program that `t` was built into, which may be the first part of a
 * joined program. A replay that was stopped gives the curve up to then. RLT_ERANGE for a rank outside the
 * training, RLT_ECHECK if the program is not the recorded one. O(p log p) for p passes of a rank. */
int rlt_memory_curve_of(const rlt_training *t, const rlt_training_passes *p, const rlt_program *program,
                        const rlt_replay *r, uint32_t rank, rlt_memory_curve *out,
                        rlt_error *err) RLT_MUST_USE;
void rlt_memory_curve_free(rlt_memory_curve *c);
/* Returns the first rank of a stage, which represents the others. */
uint32_t rlt_stage_rank(const rlt_training *t, const rlt_training_passes *p, uint32_t stage);

#ifdef __cplusplus
}
#endif
#endif
