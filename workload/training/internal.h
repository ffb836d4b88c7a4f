/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Interface between the schedule and the builder of a training. Internal to workload/. */
#ifndef RLT_WORKLOAD_TRAINING_INTERNAL_H
#define RLT_WORKLOAD_TRAINING_INTERNAL_H

#include "collectives/collective.h"
#include "net/topology/placement.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "workload/models/model.h"
#include "workload/models/precision.h"
#include "workload/replay/replay.h"
#include "workload/timing/timing.h"
#include "workload/training/passes.h"
#include "workload/training/training.h"

/* Turns of a stage. */
typedef enum rlt__pass {
    RLT__PASS_FORWARD = RLT_PASS_FORWARD,
    RLT__PASS_BACKWARD = RLT_PASS_BACKWARD,
    RLT__PASS_WEIGHTS = RLT_PASS_WEIGHTS
} rlt__pass;
typedef struct rlt__turn {
    uint8_t pass;
    bool apart;     /* a backward pass without weight gradients, which have a turn of their own */
    bool paired;    /* a forward pass beside the backward pass that is the next turn */
    uint32_t chunk; /* index within the stage: 0 .. vp-1 */
    uint32_t microbatch;
} rlt__turn;
/* Lists the turns of a stage in order; *turns is malloc'ed. */
int rlt__training_turns(const rlt_training *t, uint32_t stage, rlt__turn **turns, uint32_t *n,
                        rlt_error *err);
/* Returns true for DualPipe and DualPipeV, where a stage has two chunks and microbatches pass both ways. */
static inline bool rlt__two_ways(const rlt_training *t)
{
    return t->schedule == RLT_SCHEDULE_DUALPIPE || t->schedule == RLT_SCHEDULE_DUALPIPEV;
}
/* Return the number of chunks of layers, the chunk that a stage has at `index` (0 .. vp-1), and the stage
 * of a chunk; of two with copies of it, the first. */
uint32_t rlt__chunks(const rlt_training *t);
uint32_t rlt__chunk_at(const rlt_training *t, uint32_t stage, uint32_t index);
uint32_t rlt__stage_of(const rlt_training *t, uint32_t chunk);
/* The parameter `split` (split.c): reads and writes it, checks it against the model, divides layers by time,
 * and finds the stages of tied parameters. */
int rlt__split_read(const rlt_param *p, void *into, const char *text, const char *where, rlt_error *err);
void rlt__split_write(const rlt_param *p, const void *from, char *text, size_t size);
int rlt__check_split(const rlt_training *t, rlt_error *err);
int rlt__split_layers(rlt_training *t, rlt_error *err);
void rlt__find_copies(rlt_training *t);
/* Finds the stage that has the chunk before (by < 0) or after this one. Returns false if there is none, or it
 * is the same stage. */
bool rlt__next_stage(const rlt_training *t, uint32_t stage, uint32_t index, int by, uint32_t *next);
/* Finds the microbatches that pass a chunk of a stage. */
void rlt__microbatches_of(const rlt_training *t, uint32_t stage, uint32_t index, uint32_t *first,
                          uint32_t *n);
/* Returns true if some weight gradients are computed apart from those of inputs. */
static inline bool rlt__defers_weights(const rlt_training *t)
{
    return t->schedule == RLT_SCHEDULE_ZERO_BUBBLE || rlt__two_ways(t);
}
/* Returns true if ZeRO 3 keeps gathered weights, and whole gradients, over an iteration. */
static inline bool rlt__keeps_whole(const rlt_training *t)
{
    return t->zero == 3 &&
           (t->reshard == RLT_RESHARD_OFF || (t->reshard == RLT_RESHARD_AUTO && t->size[RLT_AXIS_PP] > 1));
}
/* Returns the largest number of microbatches (of one chunk) whose activations a stage keeps at once. */
uint32_t rlt__training_in_flight(const rlt_training *t, uint32_t stage);

/* Elements kept per sample by one microbatch in a chunk of mean size, and the bytes that a backward pass
 * adds. */
typedef struct rlt__kept {
    double elements, backward_bytes;
} rlt__kept;
rlt__kept rlt__training_kept(const rlt_training *t, uint32_t stage);
/* Returns the bytes of activations of this many microbatches; `backward`: one is in its backward pass. */
double rlt__kept_bytes(const rlt_training *t, const rlt__kept *k, uint32_t microbatches, bool backward);
/* Sets allocated, reserved and total from the parts. */
void rlt__memory_sum(const rlt_training *t, rlt_training_memory *m);
/* Returns true if logits are counted with the loss only, since a backward pass follows at once. */
static inline bool rlt__loss_once(const rlt_training *t)
{
    return t->loss_bytes && t->schedule != RLT_SCHEDULE_GPIPE;
}
/* Returns the bytes that a backward pass adds, if it recomputes `recomputed` bytes. */
double rlt__backward_bytes(const rlt_training *t, uint32_t stage, double recomputed);
/* Returns the bytes of whole weights and gradients that ZeRO 3 keeps. */
double rlt__gathered_bytes(const rlt_training *t, uint32_t stage);

/* Returns the number of blocks at which a stage may begin. O(layers). */
uint32_t rlt__blocks_of(const rlt_model *m);
/* Finds where a stage of the model may begin. O(layers). */
void rlt__find_blocks(rlt_training *t);

/* Groups of a rank. TIED: the two stages that hold tied parameters. */
typedef enum rlt__group {
    RLT__GROUP_TP,
    RLT__GROUP_CP,
    RLT__GROUP_DP,
    RLT__GROUP_EP,
    RLT__GROUP_EXPERT_DP,
    RLT__GROUP_EP_ACROSS, /* ranks of an expert-parallel group with the same place in their nodes */
    RLT__GROUP_EP_INSIDE, /* ranks of an expert-parallel group on one node */
    RLT__GROUP_EXPERT_TP, /* ranks that share an expert, if they are more than one and fewer than tp */
    RLT__GROUP_PP,
    RLT__GROUP_TIED,
    RLT__GROUP_SHARD,   /* ranks that divide the state (HSDP) */
    RLT__GROUP_REPLICA, /* ranks with the same part of it */
    RLT__GROUPS
} rlt__group;
/* Returns the name of a group, which rlt_purpose_of understands. */
const char *rlt__group_name(int group);
/* Lists the members of a group of the rank at `where`, ordered along the group's axis. `ranks` has room for
 * all ranks. Returns how many; 0 if the rank has no such group. */
uint32_t rlt__training_members(const rlt_training *t, const uint32_t where[RLT_AXES_OF_LAYOUT],
                               rlt__group group, uint32_t *ranks);

/* Times of each layer for one microbatch on one rank. */
typedef struct rlt__times {
    /* weights: time of weight gradients, if computed apart; again: recomputation */
    rlt_time *forward, *backward, *weights, *again;
    rlt_time host_ps, pass_ps; /* times of the stack: per iteration, per pass of a microbatch */
} rlt__times;
int rlt__training_times(const rlt_training *t, rlt__times *out, rlt_error *err);
void rlt__training_times_free(rlt__times *x);
/* Returns the time of an optimizer step over this many parameters, which also takes `flop` of products. */
rlt_time rlt__training_step(const rlt_training *t, double parameters, double flop);

/* State of folding: groups with their real ranks, and the times that their collectives take alone. */
typedef struct rlt__folded_known {
    uint32_t group;
    rlt_coll_kind kind;
    uint64_t bytes;
    rlt_time duration_ps;
} rlt__folded_known;
typedef struct rlt__folded {
    uint32_t axes;
    bool spread; /* the ranks of a tensor-parallel group have different experts */
    const rlt_replay_options *how;
    const rlt_placement *where; /* placement of the real ranks */
    rlt_timing *alone;
    rlt_group *groups;
    uint32_t n_groups, groups_room;
    rlt__folded_known *known;
    uint32_t n_known, known_room;
} rlt__folded;
/* Returns true if the members of these groups differ along a folded axis. */
bool rlt__folded_away(const rlt__folded *f, int group);
int rlt__folded_group(rlt__folded *f, const uint32_t *ranks, uint32_t n, uint32_t *index, rlt_error *err);
int rlt__folded_time(rlt__folded *f, uint32_t group, rlt_coll_kind kind, uint64_t bytes,
                     rlt_time *duration_ps, rlt_error *err);
void rlt__folded_free(rlt__folded *f);

/* Returns true if a layer belongs to a block at which a stage may begin. Such blocks are recomputed; other
 * layers are not. `before`: the result for the layer before it. */
static inline bool rlt__repeats(const rlt_model *m, uint32_t i, bool before)
{
    return i == 0 || m->layers[i].block != m->layers[i - 1].block ? m->layers[i].movable : before;
}

/* Returns the dense parameters of a layer that a rank holds, copies of tied ones included; rlt__held_experts
 * returns those of experts. */
static inline double rlt__held(const rlt_training *t, const rlt_model_layer *l)
{
    bool copy = t->home != t->away && l == &t->model->layers[t->copies];
    uint64_t n = l->parameters + (copy ? l->tied_parameters : 0);
    return (double)n / (l->sharded ? t->size[RLT_AXIS_TP] : 1);
}
static inline double rlt__held_experts(const rlt_training *t, const rlt_model_layer *l)
{
    return (double)l->expert_parameters / t->ep / (l->sharded ? rlt_training_etp(t) : 1);
}
/* Returns true if the ranks of a tensor-parallel group have different experts. */
static inline bool rlt__experts_spread(const rlt_training *t)
{
    return rlt_training_etp(t) < t->size[RLT_AXIS_TP];
}
/* Returns true if the layout of experts differs from that of the other layers. */
static inline bool rlt__experts_apart(const rlt_training *t)
{
    return t->ep > 1 || rlt__experts_spread(t);
}
/* Returns the bytes of a weight of a layer, as it is gathered. `repeats`: the layer belongs to a block. */
static inline double rlt__weight_bytes(const rlt_training *t, const rlt_model_layer *l, bool repeats)
{
    uint32_t format = l->work == RLT_WORK_MATMUL && repeats ? t->param_precision : 0;
    return rlt_precision_bytes(format, t->element_bytes);
}
/* Returns the number of ranks that ZeRO divides dense state over. */
static inline double rlt__shards(const rlt_training *t)
{
    double copies = t->schedule == RLT_SCHEDULE_DUALPIPE ? 2 : 1; /* each chunk is on two stages */
    return t->shard ? t->shard : copies * t->size[RLT_AXIS_DP] * t->size[RLT_AXIS_CP];
}
/* Returns the ranks of a node. */
static inline uint32_t rlt__node(const rlt_training *t)
{
    return t->node ? t->node : 8;
}
/* Finds the dispatcher, and the load of the experts. */
int rlt__plan_experts(rlt_training *t, rlt_error *err);
/* Returns the number of ranks that ZeRO divides the state of experts over. */
static inline double rlt__expert_shards(const rlt_training *t)
{
    return rlt__shards(t) * t->size[RLT_AXIS_TP] / rlt_training_etp(t) / t->ep;
}
/* With LoRA: the parameters of a layer's adapters, and their forward FLOPs per sample. */
static inline double rlt__adapters(const rlt_training *t, const rlt_model_layer *l)
{
    return (double)t->lora_rank * (double)l->sides;
}
static inline double rlt__adapter_flop(const rlt_training *t, const rlt_model_layer *l)
{
    return t->lora_rank * l->sides_flop;
}
/* Returns the FLOPs per sample of the weight gradients of a layer, half of its backward pass if it has
 * weights. */
static inline double rlt__weights_flop(const rlt_model_layer *l)
{
    return l->parameters + l->tied_parameters + l->expert_parameters > 0 ? l->backward_flop / 2 : 0;
}
/* Returns the FLOPs per sample of a backward pass. Frozen weights (LoRA) have no gradients. */
static inline double rlt__backward_flop(const rlt_training *t, const rlt_model_layer *l)
{
    return l->backward_flop - (t->lora_rank ? rlt__weights_flop(l) : 0) + 2 * rlt__adapter_flop(t, l);
}
/* Returns the dense parameters of a layer that a rank trains. rlt__learning_experts returns those of
 * experts. */
static inline double rlt__learning(const rlt_training *t, const rlt_model_layer *l)
{
    return t->lora_rank ? rlt__adapters(t, l) : rlt__held(t, l);
}
/* Returns the expert parameters updated per iteration. For embedding tables these are the rows that samples
 * reference, all assumed distinct. A rank holds 1 / ep of the tables, for the samples of ep ranks. */
static inline double rlt__learning_experts(const rlt_training *t, const rlt_model_layer *l)
{
    double held = rlt__held_experts(t, l), a_sample = l->moved_elements - (double)l->output_elements,
           rows = a_sample * (double)(t->batch / t->size[RLT_AXIS_DP]);
    held = t->lora_rank ? 0 : held; /* adapters of experts are among the dense ones */
    return l->work == RLT_WORK_LOOKUP && rows > 0 && rows < held ? rows : held;
}

#endif
