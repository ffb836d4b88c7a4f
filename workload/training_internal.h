/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Between the parts of a training: its schedule, its builder. Internal to workload/. */
#ifndef RLT_TRAINING_INTERNAL_H
#define RLT_TRAINING_INTERNAL_H

#include "workload/training.h"

/* What a stage does next. */
typedef enum rlt__pass { RLT__PASS_FORWARD, RLT__PASS_BACKWARD, RLT__PASS_WEIGHTS } rlt__pass;
typedef struct rlt__turn {
    uint8_t pass;
    uint32_t chunk; /* of the stage: 0 .. vp-1 */
    uint32_t microbatch;
} rlt__turn;
/* The turns of a stage in order; *turns malloc'ed. */
int rlt__training_turns(const rlt_training *t, uint32_t stage, rlt__turn **turns, uint32_t *n,
                        rlt_error *err);
/* Microbatches (of a chunk) whose activations a stage keeps at once, at most. */
uint32_t rlt__training_in_flight(const rlt_training *t, uint32_t stage);

/* What a rank holds of a layer: parameters, dense and of experts. */
static inline double rlt__held(const rlt_training *t, const rlt_model_layer *l)
{
    return (double)l->parameters / (l->sharded ? t->size[RLT_AXIS_TP] : 1);
}
static inline double rlt__held_experts(const rlt_training *t, const rlt_model_layer *l)
{
    return (double)l->expert_parameters / t->ep / (l->sharded ? t->size[RLT_AXIS_TP] : 1);
}

#endif
