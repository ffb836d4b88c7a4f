/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A training job: a model on accelerators in a parallel layout, as an execution graph, and the memory that it
 * takes. What each rank does in an iteration:
 *
 *   - Microbatches go forward and backward through the chunks of its pipeline stage, in the order of the
 *     schedule. Inside a chunk, tensor, context and expert parallelism communicate layer by layer.
 *   - The gradients of the last microbatch (of each one, from ZeRO 2 on) are summed over the data-parallel
 *     ranks bucket by bucket, while the backward pass goes on.
 *   - The optimizer steps over the parameters that the rank holds. In embedding tables it updates only the
 *     rows that the iteration's samples reference (at most moved - output elements a sample; their gradients
 *     are sparse).
 *
 * A training is a value; rlt_training_plan checks it and derives the
 * rest, once model and accelerator are set.
 */
#ifndef RLT_WORKLOAD_TRAINING_TRAINING_H
#define RLT_WORKLOAD_TRAINING_TRAINING_H

#include "net/topology/placement.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/registry.h"
#include "sim/base/time.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"
#include "workload/timing/timing.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RLT_MAX_STAGES = 4096 };

/* Dimensions of a layout. Experts are spread over `ep` of the data- and context-parallel ranks, which are
 * consecutive among them: ep divides cp * dp. */
typedef enum rlt_axis { RLT_AXIS_TP, RLT_AXIS_CP, RLT_AXIS_DP, RLT_AXIS_PP, RLT_AXES_OF_LAYOUT } rlt_axis;

/*
 * Schedules of a pipeline:
 *   GPIPE        all forward, then all backward
 *   ONE_F_ONE_B  Narayanan et al., SOSP 2019
 *   INTERLEAVED  several chunks a stage (arXiv 2104.04473, section 2.2)
 *   ZERO_BUBBLE  weight gradients apart, after the input gradients that others wait for (ZB-H1, Qi et al.,
 *                arXiv 2401.10241)
 *   MESSAGE      whatever arrives first is done first, with at most pp microbatches under way (AxoNN, Singh &
 *                Bhatele, IPDPS 2022, algorithms 1 and 2)
 */
typedef enum rlt_schedule {
    RLT_SCHEDULE_GPIPE,
    RLT_SCHEDULE_1F1B,
    RLT_SCHEDULE_INTERLEAVED,
    RLT_SCHEDULE_ZERO_BUBBLE,
    RLT_SCHEDULE_MESSAGE,
    RLT_SCHEDULES
} rlt_schedule;

typedef enum rlt_recompute { RLT_RECOMPUTE_NONE, RLT_RECOMPUTE_SELECTIVE, RLT_RECOMPUTE_FULL } rlt_recompute;

typedef struct rlt_training {
    const rlt_model *model;
    const rlt_accelerator *accelerator;
    char stack[32], precision[16];
    bool stack_named;                   /* by a setting: there must be a surface of it */
    uint32_t size[RLT_AXES_OF_LAYOUT];  /* dp 0: as many as there are ranks for */
    uint32_t ranks;                     /* the first so many of those there are; 0: all */
    uint32_t ep, vp;                    /* vp: chunks a stage */
    rlt_axis order[RLT_AXES_OF_LAYOUT]; /* innermost first: rank = mixed radix */
    bool order_auto;                    /* asked for: the caller is to choose the order */
    bool sequence_parallel;
    rlt_schedule schedule;
    rlt_recompute recompute;
    uint32_t checkpoint;    /* full recomputation: blocks between activations that are kept */
    uint32_t zero;          /* ZeRO stage: 1 optimizer state, 2 gradients too, 3 parameters too */
    uint64_t batch;         /* samples of an iteration over all ranks; 0: one microbatch for each of dp, pp */
    uint32_t microbatch;    /* samples */
    uint32_t steps;         /* iterations */
    uint32_t element_bytes; /* of activations and weights */
    uint32_t gradient_bytes;      /* an element, as it is communicated */
    uint32_t main_gradient_bytes; /* kept beside, in full precision; 0: none */
    uint32_t state_bytes;         /* of the optimizer for a parameter, master weights included: Adam's 12 */
    uint64_t bucket_bytes;        /* PyTorch DDP's 25 MiB */
    uint64_t first_bucket_bytes;  /* and its first one's 1 MiB */
    bool prefetch;                /* ZeRO 3: a block's weights are gathered beside the one before */
    bool overlap;                 /* gradients are communicated beside the backward pass; else after it */
    /* The copy of tied parameters on the last stage gets the sum of the gradients of both (Megatron-LM's
     * embedding group); else it goes its own way, as in AxoNN. */
    bool tie;
    bool drain; /* the pipeline comes to rest before gradients are communicated after the backward pass */
    /* The time of a microbatch through a chunk, one way, beside its layers: synchronising, handing over. */
    rlt_time pass_ps;
    rlt_time host_ps; /* fixed time of an iteration, beside: data, logging, gradient norm, ... */
    /* Compressed state (SAMO, IPDPS 2023): weights pruned by this fraction; 0: dense. Gradients are
     * compressed after each microbatch, at `compress_rate` parameters a second. */
    double sparsity, compress_rate;
    /* Optimizer state and full-precision gradients in the host's memory, brought over bucket by bucket;
     * gradients are summed in chunks of so many buckets, beside the steps over those before (AxoNN, IPDPS
     * 2022). In elements, at bytes a second between host and accelerator, both ways together. */
    bool offload;
    uint32_t offload_bucket, offload_chunk;
    uint64_t offload_Bps;
    double slowdown; /* of matrix kernels: sparse ones (Sputnik) are so many times slower; 1: dense */
    /* Set by rlt_training_plan: the stages of tied parameters and of their copy, which `copies` is the first
     * layer to use; the same stage where there is none. */
    uint32_t home, away, copies;
    /* Records the passes of a program that is being built; borrowed; NULL: not wanted. */
    struct rlt_training_passes *passes;
} rlt_training;

RLT_API rlt_training rlt_training_default(void);
RLT_API const char *rlt_axis_name(rlt_axis a); /* "tp" */

/* A way of training that is known by a name: settings, which those given after it may change. */
typedef struct rlt_training_strategy {
    const char *name, *summary;
    const char *settings; /* as --train takes them */
} rlt_training_strategy;
RLT_API rlt_registry *rlt_training_strategies(void);
RLT_API const rlt_training_strategy *rlt_training_strategy_at(uint32_t i); /* NULL past the end */
/* One setting by name and text: dp, tp, cp, pp, ep, vp, order (tp-cp-dp-pp, auto), sp, schedule, recompute,
 * zero, batch, microbatch, steps, precision, stack, gradient, state, bucket, overlap, host, sparsity, ...
 * RLT_EUSAGE lists the names. */
RLT_API int rlt_training_set(rlt_training *t, const char *name, const char *value,
                             rlt_error *err) RLT_MUST_USE;
/* The table of them, of an rlt_training. */
RLT_API const rlt_param *rlt_training_parameters(void);

/* Checks the whole; fills dp from the number of ranks (0: what the layout says) and batch.
 * RLT_EUNSUPPORTED for a stack that was set, without stack_named being cleared since,
 * and of which the accelerator has no surface. */
RLT_API int rlt_training_plan(rlt_training *t, uint32_t ranks, rlt_error *err) RLT_MUST_USE;
RLT_API uint32_t rlt_training_ranks(const rlt_training *t);
/* Microbatches of a pipeline in an iteration. */
RLT_API uint32_t rlt_training_microbatches(const rlt_training *t);
/* Where a rank is: its index along each axis. */
RLT_API void rlt_training_place(const rlt_training *t, uint32_t rank, uint32_t at[RLT_AXES_OF_LAYOUT]);
RLT_API uint32_t rlt_training_rank(const rlt_training *t, const uint32_t at[RLT_AXES_OF_LAYOUT]);
/* The layers of a chunk (stage + vp index * pp): [*first, *end). */
RLT_API void rlt_training_layers(const rlt_training *t, uint32_t chunk, uint32_t *first, uint32_t *end);

/* What one rank of a stage holds, in bytes. Model state by Rajbhandari et al. (arXiv 1910.02054, section 3)
 * or, with sparsity, SAMO's table; activations by Korthikanti et al. (arXiv 2205.05198) times the
 * microbatches that the schedule has under way. */
typedef struct rlt_training_memory {
    double parameters, gradients, optimizer, activations, buffers, total;
    uint32_t in_flight; /* microbatches whose activations are kept at once (of one chunk's size) */
} rlt_training_memory;
RLT_API rlt_training_memory rlt_training_memory_of(const rlt_training *t, uint32_t stage);
/* RLT_ERANGE where some stage does not fit, telling by how much and what would fit. */
RLT_API int rlt_training_fits(const rlt_training *t, rlt_error *err) RLT_MUST_USE;

/* Times of each layer of the model for one microbatch on one rank,
 * recomputation not counted; arrays of model->n_layers. */
RLT_API int rlt_training_layer_times(const rlt_training *t, rlt_time *forward_ps, rlt_time *backward_ps,
                                     rlt_error *err) RLT_MUST_USE;
/* FLOPs of an iteration, recomputation not counted (model FLOPs). */
RLT_API double rlt_training_flop(const rlt_training *t);
/* O(ranks x microbatches x layers with communication). */
RLT_API int rlt_training_program(const rlt_training *t, rlt_program **out, rlt_error *err) RLT_MUST_USE;
/*
 * The same folded: only the first rank along these axes, the others keeping their order; where[rank] is its
 * place, malloc'ed. Collectives along those axes become delays: the time that `alone` tells
 * (rlt_timing_alone) for all their members, under how's topology, placement, endpoint and parameters. O(ranks
 * left x microbatches x layers).
 *   RLT_FOLD_PLANES  tensor parallelism. The time of an iteration is that of all ranks if its groups have
 *                    dimensions of a product of their own, as the others then communicate in planes that are
 *                    alike.
 *   RLT_FOLD_STAGES  all but the pipeline. Exact if the ranks of a stage are alike and no two communications
 *                    of one instant share a link.
 */
enum {
    RLT_FOLD_PLANES = 1 << RLT_AXIS_TP,
    RLT_FOLD_STAGES = 1 << RLT_AXIS_TP | 1 << RLT_AXIS_CP | 1 << RLT_AXIS_DP
};
RLT_API int rlt_training_fold(const rlt_training *t, uint32_t axes, const rlt_replay_options *how,
                              rlt_timing *alone, rlt_program **out, rlt_placement *where,
                              rlt_error *err) RLT_MUST_USE;
/* Ranks, of which each is where, and its number, without these axes (0: with all). */
RLT_API uint32_t rlt_folded_ranks(const rlt_training *t, uint32_t axes);
RLT_API void rlt_folded_place(const rlt_training *t, uint32_t axes, uint32_t rank,
                              uint32_t at[RLT_AXES_OF_LAYOUT]);
RLT_API uint32_t rlt_folded_rank(const rlt_training *t, uint32_t axes, const uint32_t at[RLT_AXES_OF_LAYOUT]);

#ifdef __cplusplus
}
#endif
#endif
