/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Between the parts of a training: its schedule, its builder. Internal to workload/. */
#ifndef RLT_TRAINING_INTERNAL_H
#define RLT_TRAINING_INTERNAL_H

#include "workload/replay.h"
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

/* Of each layer and one microbatch on one rank. */
typedef struct rlt__times {
    rlt_time *forward, *backward, *weights,
        *again;       /* weights: their gradients, where apart; again: recomputed */
    rlt_time host_ps; /* of the stack, an iteration */
} rlt__times;
int rlt__training_times(const rlt_training *t, rlt__times *out, rlt_error *err);
void rlt__training_times_free(rlt__times *x);
/* Of an optimizer's step over so many parameters. */
rlt_time rlt__training_step(const rlt_training *t, double parameters);

/* Of a folded training: groups with their real ranks, and how long their collectives take alone. */
typedef struct rlt__folded_known {
    uint32_t group;
    rlt_coll_kind kind;
    uint64_t bytes;
    rlt_time duration_ps;
} rlt__folded_known;
typedef struct rlt__folded {
    const rlt_replay_options *how;
    const rlt_placement *where; /* of the real ranks */
    rlt_timing *alone;
    rlt_group *groups;
    uint32_t n_groups, groups_room;
    rlt__folded_known *known;
    uint32_t n_known, known_room;
} rlt__folded;
int rlt__folded_group(rlt__folded *f, const uint32_t *ranks, uint32_t n, uint32_t *index, rlt_error *err);
int rlt__folded_time(rlt__folded *f, uint32_t group, rlt_coll_kind kind, uint64_t bytes,
                     rlt_time *duration_ps, rlt_error *err);
void rlt__folded_free(rlt__folded *f);

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
