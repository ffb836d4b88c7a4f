/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A training job: a model on accelerators in a parallel layout. It gives an execution graph and the memory
 * per rank. In an iteration each rank does this:
 *
 *   - Microbatches go forward and backward through the chunks of its pipeline stage, in the order of the
 *     schedule. Inside a chunk, tensor, context and expert parallelism communicate layer by layer.
 *   - The gradients of the last microbatch (of each one, from ZeRO 2 on) are summed over the data-parallel
 *     ranks bucket by bucket, while the backward pass goes on.
 *   - The optimizer steps over the parameters that the rank holds. In embedding tables it updates only the
 *     rows that the iteration's samples reference (at most moved - output elements per sample; their
 *     gradients are sparse).
 *
 * A training is a plain value. Set model and accelerator, then rlt_training_plan checks it and derives the
 * rest.
 */
#ifndef RLT_WORKLOAD_TRAINING_TRAINING_H
#define RLT_WORKLOAD_TRAINING_TRAINING_H

#include "net/topology/placement.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/registry.h"
#include "sim/base/time.h"
#include "workload/experts/experts.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"
#include "workload/timing/timing.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RLT_MAX_STAGES = 4096, RLT_MAX_SPLIT = 256 };

/*
 * Axes of a layout. Experts have a layout of their own over the tp * cp * dp ranks of a stage, as in
 * Megatron: in the order tp, cp, dp, each `etp` consecutive ranks share an expert's matrices, `ep` such sets
 * share the experts, and the rest are copies. With etp = tp, ep divides cp * dp. With etp = 1 it divides
 * tp * cp * dp.
 *
 * Example: tp = 2, dp = 4 and ep = 8 has etp = 1, and all 8 ranks share the experts.
 */
typedef enum rlt_axis { RLT_AXIS_TP, RLT_AXIS_CP, RLT_AXIS_DP, RLT_AXIS_PP, RLT_AXES_OF_LAYOUT } rlt_axis;

/*
 * Schedules of a pipeline:
 *   GPIPE        all forward passes, then all backward passes
 *   ONE_F_ONE_B  Narayanan et al., SOSP 2019
 *   INTERLEAVED  several chunks per stage (arXiv 2104.04473, section 2.2)
 *   ZERO_BUBBLE  weight gradients are computed apart, after the input gradients that other stages wait for
 *                (ZB-H1, Qi et al., arXiv 2401.10241)
 *   DUALPIPE     microbatches from both ends, on two copies of each chunk; a forward and a backward pass side
 *                by side, so that communication of one overlaps compute of the other (DeepSeek-AI, arXiv
 *                2412.19437, section 3.2.1)
 *   DUALPIPEV    the same without copies: one pipeline of 2 pp chunks, folded in the middle
 *                (deepseek-ai/DualPipe)
 *   MESSAGE      in order of arrival, with at most pp microbatches under way (AxoNN, Singh & Bhatele,
 *                IPDPS 2022, algorithms 1 and 2)
 */
typedef enum rlt_schedule {
    RLT_SCHEDULE_GPIPE,
    RLT_SCHEDULE_1F1B,
    RLT_SCHEDULE_INTERLEAVED,
    RLT_SCHEDULE_ZERO_BUBBLE,
    RLT_SCHEDULE_MESSAGE,
    RLT_SCHEDULE_DUALPIPE,
    RLT_SCHEDULE_DUALPIPEV,
    RLT_SCHEDULES
} rlt_schedule;

/*
 * Activations that the backward pass computes again:
 *   SELECTIVE  attention scores (Korthikanti et al., arXiv 2205.05198)
 *   PRODUCTS   all of a block but attention and every second matrix product (torchtitan's "op")
 *   FULL       blocks
 */
typedef enum rlt_recompute {
    RLT_RECOMPUTE_NONE,
    RLT_RECOMPUTE_SELECTIVE,
    RLT_RECOMPUTE_PRODUCTS,
    RLT_RECOMPUTE_FULL
} rlt_recompute;

/* Whether ZeRO 3 gives gathered weights back after a pass; AUTO: not in a pipeline. If not, weights are
 * gathered in the first forward pass of an iteration, and gradients are reduced in the last backward pass. */
typedef enum rlt_reshard { RLT_RESHARD_ON, RLT_RESHARD_OFF, RLT_RESHARD_AUTO } rlt_reshard;

/* What is dispatched in fp8, with a scale of 4 bytes for 128 elements: nothing, tokens in the forward pass,
 * or also the gradients that go to experts in the backward pass (DeepSeek-AI, arXiv 2412.19437, section
 * 3.3.3). Results, and gradients that come back, have the precision of an element. */
typedef enum rlt_dispatch_fp8 {
    RLT_DISPATCH_ELEMENT,
    RLT_DISPATCH_FP8,
    RLT_DISPATCH_FP8_BOTH
} rlt_dispatch_fp8;

/*
 * How layers are divided over the chunks of a pipeline, in order. Embeddings belong to the first chunk and
 * logits to the last.
 *   BLOCKS  equal numbers of blocks; the first chunks have one more
 *   TIME    the longest chunk is as short as possible; the time of a layer is that of its passes on the
 *           accelerator, recomputation included, communication not.
 *   LIST    blocks of each chunk, as named (Megatron-LM's pipeline_model_parallel_layout,
 *           decoder_first_pipeline_num_layers)
 */
typedef enum rlt_chunking { RLT_CHUNKS_BLOCKS, RLT_CHUNKS_TIME, RLT_CHUNKS_LIST } rlt_chunking;

typedef struct rlt_training {
    const rlt_model *model;
    const rlt_accelerator *accelerator;
    char stack[32], precision[16];
    bool stack_named;                  /* set by name: the accelerator must know it */
    bool stack_auto;                   /* set by rlt_training_plan: it chose the stack */
    uint32_t size[RLT_AXES_OF_LAYOUT]; /* dp 0: derived from the number of ranks */
    uint32_t ranks;                    /* uses only ranks 0 .. ranks - 1; 0: all */
    uint32_t ep, vp;                   /* vp: chunks per stage */
    rlt_chunking split;
    /* Blocks of each chunk, and the number of chunks; not for BLOCKS. Set by rlt_training_plan for TIME. */
    uint16_t chunk_blocks[RLT_MAX_SPLIT];
    uint32_t n_split;
    uint32_t etp; /* ranks that share an expert; 0: tp, or 1 if ep needs it */
    /* Routing of tokens to experts and the dispatcher of their copies (workload/experts/experts.h). */
    char routing[128], dispatcher[32];
    double capacity; /* room of an expert, over the equal share; 0: unlimited */
    rlt_dispatch_fp8 dispatch_fp8;
    uint32_t token_nodes;               /* nodes that the experts of a token are on, at most; 0: any number */
    bool expert_overlap;                /* exchanges go on beside the compute of other microbatches */
    uint32_t node;                      /* ranks of a node, for dispatchers; 0: 8 */
    rlt_axis order[RLT_AXES_OF_LAYOUT]; /* innermost first; a rank is its indices as a mixed-radix number */
    bool order_auto;                    /* order=auto: the caller must choose the order */
    bool sequence_parallel;
    rlt_schedule schedule;
    rlt_recompute recompute;
    uint32_t checkpoint; /* full recomputation: blocks between kept activations */
    uint32_t zero;       /* ZeRO stage: 1 divides optimizer state, 2 also gradients, 3 also parameters */
    /* samples per iteration over all ranks; 0: one microbatch per stage and data-parallel rank */
    uint64_t batch;
    uint32_t microbatch;          /* samples per microbatch */
    uint32_t steps;               /* iterations to build */
    uint32_t element_bytes;       /* bytes of an activation or weight */
    uint32_t gradient_bytes;      /* bytes of a gradient on the wire */
    uint32_t main_gradient_bytes; /* bytes of a further, full-precision gradient; 0: none */
    /* Memory of a framework; allocator.c has the forms. 0: not counted.
     *   accumulate_bytes   per gradient kept; 0: element_bytes + main_gradient_bytes
     *   loss_bytes         per logit while a loss is computed; loss_split_bytes if tp > 1 (0: the same)
     *   gathered           zero 3: blocks whose weights are gathered at once
     *   fragmentation      bytes that the allocator reserves per byte allocated
     *   context_bytes      outside the allocator: CUDA context, NCCL */
    uint32_t accumulate_bytes, loss_bytes, loss_split_bytes, gathered;
    rlt_reshard reshard;
    double fragmentation;
    uint64_t context_bytes;
    /* bytes of optimizer state per parameter, master weight included; Adam: 12 */
    uint32_t state_bytes;
    bool state_named;   /* set by name: the optimizer does not change it */
    uint32_t optimizer; /* index in the table of optimizers.c */
    /* Formats (precision.h) of weights of products inside blocks, as they are gathered, and held unless
     * ZeRO 3 divides them; and of the inputs of these products, kept for the backward pass. 0:
     * element_bytes. */
    uint32_t param_precision, activation_precision;
    uint32_t shard;              /* zero=3: ranks that divide the state, copied over others (HSDP); 0: all */
    uint32_t sync_every;         /* iterations between sums of parameters (local SGD); 1: gradients instead */
    uint32_t lora_rank;          /* rank of the adapters that alone are trained (LoRA); 0: all weights are */
    bool scatter_gather;         /* a pipeline's messages are divided over the tensor-parallel group */
    bool tp_overlap;             /* tensor-parallel communication overlaps the products that it belongs to */
    uint64_t bucket_bytes;       /* bytes of gradients per all-reduce; PyTorch DDP: 25 MiB */
    uint64_t first_bucket_bytes; /* bytes of the first one; PyTorch DDP: 1 MiB */
    bool prefetch;               /* ZeRO 3: gathers a block's weights while the block before is computed */
    bool overlap;                /* communicates gradients during the backward pass; false: after it */
    /* If true, the gradients of tied parameters and of their copy on the last stage are summed (Megatron-LM's
     * embedding group). If false, the copy is trained on its own, as in AxoNN. */
    bool tie;
    bool drain; /* lets the pipeline come to rest before gradients are communicated after the backward pass */
    /* Time per pass of a microbatch through a chunk that is not of its layers: synchronising, handing
     * over. */
    rlt_time pass_ps;
    rlt_time host_ps; /* further fixed time per iteration: data, logging, gradient norm, ... */
    /* Compressed state (SAMO, IPDPS 2023): sparsity is the pruned fraction of the weights; 0: dense.
     * Gradients are compressed after each microbatch, at `compress_rate` parameters per second. */
    double sparsity, compress_rate;
    /* Optimizer state and full-precision gradients stay in the host's memory and are brought over in buckets.
     * Gradients are summed in chunks of `offload_chunk` buckets, during the steps over earlier chunks (AxoNN,
     * IPDPS 2022). offload_bucket is in elements; offload_Bps is bytes per second between host and
     * accelerator, both ways together. */
    bool offload;
    uint32_t offload_bucket, offload_chunk;
    uint64_t offload_Bps;
    double slowdown; /* factor on the time of matrix kernels, for sparse ones (Sputnik); 1: dense */
    /* factor on rows_half and area_half (workload/models/accelerator.h): above 1, small microbatches lose
     * more */
    double half_sizes;
    /* Set by rlt_training_plan: where a stage of this model may begin. n blocks, the first at layer `first`,
     * and then one every `each` layers (0: at unequal distances); the head (logits) begins at `head`. Layers
     * from `alike` to `alike_end` are the longest row of such blocks that are equal, of `period` layers each;
     * it is empty where no two are. */
    struct {
        const rlt_model *of;
        uint32_t n, first, each, head, alike, alike_end, period;
    } blocks;
    /* Set by rlt_training_plan: stages that hold tied parameters (home) and their copy (away), equal if there
     * is no copy. `copies` is the first layer that uses the copy. */
    uint32_t home, away, copies;
    rlt_expert_load load; /* set, too, as is the dispatcher */
    rlt_dispatcher dispatch;
    /* Records the passes while a program is built; borrowed; NULL: not recorded. */
    struct rlt_training_passes *passes;
} rlt_training;

RLT_API rlt_training rlt_training_default(void);
RLT_API const char *rlt_axis_name(rlt_axis a); /* "tp" */

/* A named strategy: settings that later ones may override. */
typedef struct rlt_training_strategy {
    const char *name, *summary;
    const char *settings; /* as for --train */
} rlt_training_strategy;
RLT_API rlt_registry *rlt_training_strategies(void);
RLT_API const rlt_training_strategy *rlt_training_strategy_at(uint32_t i); /* NULL past the end */
/* Sets one field by name and text: dp, tp, cp, pp, ep, vp, order (tp-cp-dp-pp, auto), sp, schedule,
 * recompute, zero, batch, microbatch, steps, precision, stack, gradient, state, bucket, overlap, host,
 * sparsity, ... RLT_EUSAGE lists the names. */
RLT_API int rlt_training_set(rlt_training *t, const char *name, const char *value,
                             rlt_error *err) RLT_MUST_USE;
/* Returns the table of these settings, of an rlt_training. */
RLT_API const rlt_param *rlt_training_parameters(void);

/* Checks all settings. Derives dp from the number of ranks (0: as the layout says), and batch.
 * RLT_EUNSUPPORTED if stack_named is set and the accelerator does not know that stack. */
RLT_API int rlt_training_plan(rlt_training *t, uint32_t ranks, rlt_error *err) RLT_MUST_USE;
RLT_API uint32_t rlt_training_ranks(const rlt_training *t);
/* Returns the ranks that share an expert's matrices (expert tensor parallelism). */
RLT_API uint32_t rlt_training_etp(const rlt_training *t);
/* Returns the microbatches per iteration of one pipeline. */
RLT_API uint32_t rlt_training_microbatches(const rlt_training *t);
/* Returns the distance between neighbours in a group of an axis, in ranks. */
RLT_API uint64_t rlt_training_stride(const rlt_training *t, rlt_axis axis);
/* Computes the place of a rank: its index along each axis. */
RLT_API void rlt_training_place(const rlt_training *t, uint32_t rank, uint32_t at[RLT_AXES_OF_LAYOUT]);
RLT_API uint32_t rlt_training_rank(const rlt_training *t, const uint32_t at[RLT_AXES_OF_LAYOUT]);
/* Returns the layers [*first, *end) of a chunk; chunk = stage + vp index * pp, unless the schedule goes two
 * ways. */
RLT_API void rlt_training_layers(const rlt_training *t, uint32_t chunk, uint32_t *first, uint32_t *end);

/* Memory of one rank of a stage, in bytes. Model state by Rajbhandari et al. (arXiv 1910.02054, section 3)
 * or, with sparsity, by SAMO's table. Activations by Korthikanti et al. (arXiv 2205.05198), times the
 * microbatches that the schedule has under way. memory.c has the formulas, allocator.c those of a framework:
 * `activations` include what the loss or a backward pass adds, `gathered` are weights and gradients of ZeRO 3
 * that are whole. The sum of all up to `gathered` is allocated, `reserved` is that with fragments, `total`
 * also has the context. */
typedef struct rlt_training_memory {
    double parameters, gradients, optimizer, activations, buffers, gathered, allocated, reserved, total;
    double backward;    /* activations that one backward pass adds */
    uint32_t in_flight; /* microbatches (of one chunk) whose activations are kept at once */
} rlt_training_memory;
RLT_API rlt_training_memory rlt_training_memory_of(const rlt_training *t, uint32_t stage);
/* Returns the bytes of the stage that needs most; *stage (may be NULL) is which, the first of equals. */
RLT_API double rlt_training_fullest(const rlt_training *t, uint32_t *stage);
/* Returns true if selective recomputation saves no memory, because attention is fused. */
RLT_API bool rlt_training_saves_nothing(const rlt_training *t);
/* RLT_ERANGE if a stage does not fit; the message says by how much, and what would fit. */
RLT_API int rlt_training_fits(const rlt_training *t, rlt_error *err) RLT_MUST_USE;

/* Computes the times of each layer for one microbatch on one rank, without recomputation. The arrays have
 * model->n_layers entries. */
RLT_API int rlt_training_layer_times(const rlt_training *t, rlt_time *forward_ps, rlt_time *backward_ps,
                                     rlt_error *err) RLT_MUST_USE;
/* Returns the FLOPs of an iteration without recomputation (model FLOPs). */
RLT_API double rlt_training_flop(const rlt_training *t);
/* Builds the program. O(ranks x microbatches x layers with communication). */
RLT_API int rlt_training_program(const rlt_training *t, rlt_program **out, rlt_error *err) RLT_MUST_USE;
/*
 * Builds the program folded along `axes`. It keeps only the ranks with index 0 along these axes, in their
 * order. *where is their placement, malloc'ed. Collectives along folded axes become delays: the time that
 * `alone` (rlt_timing_alone) gives for all their members, under how's topology, placement, endpoint and
 * parameters. O(ranks kept x microbatches x layers).
 *   RLT_FOLD_PLANES  folds tensor parallelism. The iteration time is that of all ranks if tensor-parallel
 *                    groups have dimensions of a product to themselves: the other ranks then communicate in
 *                    planes that are alike.
 *   RLT_FOLD_STAGES  folds all axes but the pipeline. Exact if the ranks of a stage are alike and no two
 *                    simultaneous communications share a link.
 * Example: tp=8, dp=4, pp=2 has 64 ranks. RLT_FOLD_PLANES keeps 8 of them, RLT_FOLD_STAGES 2.
 */
enum {
    RLT_FOLD_PLANES = 1 << RLT_AXIS_TP,
    RLT_FOLD_STAGES = 1 << RLT_AXIS_TP | 1 << RLT_AXIS_CP | 1 << RLT_AXIS_DP
};
RLT_API int rlt_training_fold(const rlt_training *t, uint32_t axes, const rlt_replay_options *how,
                              rlt_timing *alone, rlt_program **out, rlt_placement *where,
                              rlt_error *err) RLT_MUST_USE;
/* Number of ranks, place of a rank, and rank at a place, without the folded axes (0: with all). */
RLT_API uint32_t rlt_folded_ranks(const rlt_training *t, uint32_t axes);
RLT_API void rlt_folded_place(const rlt_training *t, uint32_t axes, uint32_t rank,
                              uint32_t at[RLT_AXES_OF_LAYOUT]);
RLT_API uint32_t rlt_folded_rank(const rlt_training *t, uint32_t axes, const uint32_t at[RLT_AXES_OF_LAYOUT]);
/*
 * Finds the speeds of the ranks kept: the least of those that each stands for. With one straggler, the folded
 * time is still that of all ranks, under the same conditions. Proof: let every rank of its stage be as slow.
 * That takes no less time, and is what is simulated. It takes no more, either: the straggler and the ranks of
 * its pipeline have the operations of the ranks kept, in the same order, and their collectives begin when the
 * last member arrives. So none of their operations ends earlier than with all slow. With several stragglers
 * in different pipelines the folded time may be too long. `out` may be `speeds`. O(ranks).
 */
RLT_API void rlt_folded_speeds(const rlt_training *t, uint32_t axes, const double *speeds, double *out);

#ifdef __cplusplus
}
#endif
#endif
