/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * DASO, hierarchical asynchronous data parallelism (Coquelin et al., arXiv 2104.05588, J. Big Data 9:14; its
 * implementation in heat, heat/optim/dp_optimizer.py), and what it was compared with, Horovod.
 *
 * Rank = node * gpus + local rank. The GPUs of a node average gradients every batch (PyTorch DDP); local rank
 * i of every node is global group i. Every B batches one group, another one each time, averages parameters
 * over the nodes without waiting, merges what comes back W batches later with what it has by then, and
 * broadcasts the result inside its node:
 *
 *   x = (2 S x_local + sum of the P copies sent) / (2 S + P),   S = batches it was given to wait
 *
 * Three parts, each usable alone. Schedule: which (B, L, W) is in force in each epoch, and what each batch of
 * an epoch does; pure functions. Programs: one epoch of either strategy for the replay. Total: epochs of
 * every kind replayed and added up.
 *
 * Times are picoseconds, payloads bytes or elements of 4 bytes; epochs and batches count from 0.
 */
#ifndef RLT_WORKLOAD_DASO_DASO_H
#define RLT_WORKLOAD_DASO_DASO_H

#include <stdbool.h>

#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/watch.h"
#include "workload/models/model.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RLT_DASO_MAX_EPOCHS = 1 << 20, RLT_DASO_MAX_BATCHES = 60000, RLT_DASO_MAX_SKIPS = 1 << 16 };

typedef enum rlt_daso_variant {
    RLT_DASO_CYCLING, /* B is halved whenever the loss stays on a plateau, and begins again after B = 1 */
    RLT_DASO_FIXED,   /* one B and W but for a soft cool-down (B = 2, W = 0) and the cool-down */
} rlt_daso_variant;

/* Loss at the end of epoch e: start, or floor + (start - floor) ratio^(e+1), or the e-th of `values`. */
typedef struct rlt_daso_loss {
    double start, ratio, floor;
    double *values; /* owned by the rlt_daso; NULL: a formula */
    uint32_t n;
} rlt_daso_loss;

typedef struct rlt_daso {
    uint32_t nodes, gpus;
    uint32_t epochs;
    uint32_t batches; /* of an epoch and rank; 0: samples / (ranks * batch), rounded up */
    uint64_t samples;
    uint32_t batch; /* samples of one rank */

    rlt_daso_variant variant;
    uint32_t warmup, cooldown, soft_cooldown; /* epochs */
    double stability;                         /* an epoch is better if its loss < best * (1 - stability) */
    uint32_t patience;                        /* epochs that may be worse in a row */
    uint32_t max_skips;                       /* B after a reset; of the fixed variant, always */
    uint32_t skip_factor, local_factor;       /* B is divided by; L and W after a reset are max_skips over */
    uint32_t first_skips, first_local, first_wait; /* B, L, W of the first cycling epoch; fixed: L, W */
    rlt_daso_loss loss;

    uint64_t chunk_elements;                   /* larger buffers are split */
    uint32_t downcast_bytes;                   /* of an element in blocking phases: 2 (bf16, fp16) or 4 */
    bool broadcast_each;                       /* local broadcasts tensor by tensor, else as one transfer */
    rlt_time launch_ps;                        /* of the host for each tensor that is broadcast */
    uint64_t bucket_bytes, first_bucket_bytes; /* gradients of the local all-reduce, 4 bytes each */
    uint64_t memory_Bps;                       /* optimiser, packing, merging */
    uint32_t optimizer_bytes;                  /* moved per parameter by its step */
    uint64_t staging_Bps; /* global buffers go through host memory at this rate each way; 0: directly */
    uint64_t reduce_Bps;  /* and are added up by the CPU, bytes of one buffer a second; 0: at no cost */

    double jitter; /* coefficient of variation of compute per rank and batch, log-normal with mean 1 */
    uint64_t seed;
    uint32_t draws; /* epochs replayed of each kind, with different jitter */

    /* Horovod */
    uint64_t fusion_bytes; /* buffer */
    rlt_time cycle_ps;
    rlt_time negotiation_ps;   /* for each fused all-reduce */
    uint32_t compressed_bytes; /* of a gradient element on the wire: 2 or 4 */
    bool loss_each_batch;      /* blocking all-reduce of the loss */
    rlt_time overhead_ps;      /* of the host at each batch's end, beside: */
    rlt_time tensor_ps;        /* for each tensor: what synchronize() spends on its handle */
} rlt_daso;

/*
 * Defaults: heat's (4 + 4 epochs of warm-up and cool-down, stability 0.05, patience 2, at most 8 skips,
 * chunks of 10,000,000 elements, bf16), ResNet-50 on ImageNet (90 epochs, 1,281,167 images, 256 a GPU), 16
 * nodes of 4 A100 (1555 GB/s), SGD with momentum in fp32 (20 bytes a parameter), Horovod 0.21 (128 MB, 1 ms;
 * before 64 MB, 5 ms), no jitter, no overheads beyond 20 us a tensor broadcast and 50 us a negotiation
 * (assumed).
 */
RLT_API rlt_daso rlt_daso_default(void);
RLT_API void rlt_daso_free(rlt_daso *d); /* what settings own */
/*
 * One setting by name and text with unit. `variant` "fixed" also sets max_skips 4, no warm-up, 2 epochs each
 * of soft cool-down and cool-down; "cycling" puts the defaults back. `loss`: a number, START,RATIO,FLOOR, or
 * a file of one number a line, # begins a comment. `horovod`: "0.20" or "0.21" sets fusion and cycle.
 * `calibration` "juwels": jitter and host time a tensor as in settings.c. RLT_EUSAGE lists the names.
 */
RLT_API int rlt_daso_set(rlt_daso *d, const char *name, const char *value, rlt_error *err) RLT_MUST_USE;
/* The table of them, of an rlt_daso. */
RLT_API const rlt_param *rlt_daso_parameters(void);
/* Sensible together? Done by all that follow. */
RLT_API int rlt_daso_check(const rlt_daso *d, rlt_error *err) RLT_MUST_USE;

/* Schedule */

typedef struct rlt_daso_phase {
    uint32_t skips; /* B: batches between global syncs; 0: a blocking one every batch */
    uint32_t local; /* L: gradients are averaged in the node every L-th batch; 0, 1: always */
    uint32_t wait;  /* W: batches between sending and merging */
} rlt_daso_phase;

/* The phase of each of d->epochs epochs, into phases[]. */
RLT_API int rlt_daso_schedule(const rlt_daso *d, rlt_daso_phase *phases, rlt_error *err) RLT_MUST_USE;

/* What one batch does after its backward pass and its optimiser step, in this order. */
typedef struct rlt_daso_batch {
    uint32_t batch;
    bool local_sync;       /* gradients were averaged in the node */
    uint32_t sender;       /* group that packs and posts its parameters; RLT_NONE: none */
    uint32_t weight;       /* S of what is sent */
    uint32_t merger;       /* group that waits for what it sent and merges it; RLT_NONE: none */
    uint32_t sent_at;      /* batch in which it had been sent */
    uint32_t merge_weight; /* S of it */
    uint32_t relay;        /* local rank that broadcasts in its node then; RLT_NONE: none */
    bool redundant;        /* although it has merged nothing */
    bool blocking; /* the sender waits for its own all-reduce, takes the plain mean, and broadcasts it */
} rlt_daso_batch;

/* The batches of an epoch, one after the other. */
typedef struct rlt_daso_epoch {
    rlt_daso_phase phase;
    uint32_t batches, gpus;
    uint32_t next, group, previous;    /* batch; group to send next; group that sent last, or RLT_NONE */
    uint32_t pending, sent_at, weight; /* group whose transfer is under way, or RLT_NONE */
    bool local_on;
} rlt_daso_epoch;
RLT_API rlt_daso_epoch rlt_daso_epoch_begin(const rlt_daso *d, rlt_daso_phase phase);
RLT_API bool rlt_daso_epoch_next(rlt_daso_epoch *e, rlt_daso_batch *out); /* false: the epoch is over */

/* Counts of one epoch. */
typedef struct rlt_daso_sums {
    uint32_t batches, local_syncs, sends, merges, blocking, broadcasts, redundant;
    uint64_t global_bytes;    /* buffers that each sending rank gave to all-reduces */
    uint64_t broadcast_bytes; /* buffers that each node broadcast */
} rlt_daso_sums;
RLT_API rlt_daso_sums rlt_daso_count(const rlt_daso *d, rlt_daso_phase phase, uint64_t parameters);

RLT_API uint32_t rlt_daso_batches(const rlt_daso *d); /* of an epoch, at least 1 */
/* Bytes of an element sent in a phase, and how a buffer is cut: the remainder first. */
RLT_API uint32_t rlt_daso_element_bytes(const rlt_daso *d, rlt_daso_phase phase);
RLT_API uint32_t rlt_daso_chunks(const rlt_daso *d, uint64_t parameters);
RLT_API uint64_t rlt_daso_chunk(const rlt_daso *d, uint64_t parameters, uint32_t i); /* elements */
/* Shares of x_local and of each of the P copies in a merge; S = 0 counts x_local once. */
RLT_API void rlt_daso_merge_shares(uint32_t copies, uint32_t weight, double *local, double *each);

/* Programs */

/* Compute times of one batch at speed 1, by layer of the model; all borrowed. */
typedef struct rlt_daso_work {
    const rlt_model *model;
    const rlt_time *forward_ps, *backward_ps;
} rlt_daso_work;

/* Spreads the time of a measured batch over the layers by their FLOPs; arrays of model->n_layers. */
RLT_API void rlt_daso_spread(const rlt_model *model, rlt_time batch_ps, rlt_time *forward_ps,
                             rlt_time *backward_ps);

/*
 * One epoch of a phase. Steps are batches; the last ends with the all-reduce of the loss over all ranks, a
 * barrier, so epochs do not overlap. `draw` numbers the epochs that differ in jitter; equal ones of DASO and
 * Horovod draw the same. Operations: O(ranks * batches * (layers + buckets)).
 *
 * Of a node with one GPU nothing is local; of one node nothing is global. An epoch begins with local sync on.
 */
RLT_API int rlt_daso_program(const rlt_daso *d, const rlt_daso_work *w, rlt_daso_phase phase, uint32_t draw,
                             rlt_program **out, rlt_error *err) RLT_MUST_USE;
/*
 * Horovod: gradients ready within a cycle of the background thread, counted from the batch's begin at speed
 * 1, are fused up to the buffer's size, compressed, all-reduced over all ranks in order, decompressed; then
 * the host's overheads and the optimiser. The blocking all-reduce of the loss waits half a cycle on average.
 */
RLT_API int rlt_horovod_program(const rlt_daso *d, const rlt_daso_work *w, uint32_t draw, rlt_program **out,
                                rlt_error *err) RLT_MUST_USE;

/* Total */

typedef struct rlt_daso_kind {
    rlt_daso_phase phase;
    uint32_t epochs;
    rlt_time epoch_ps; /* mean of the draws */
    rlt_daso_sums sums;
} rlt_daso_kind;

enum { RLT_DASO_MAX_KINDS = 256 };

typedef struct rlt_daso_result {
    uint32_t batches; /* of an epoch */
    rlt_daso_kind kinds[RLT_DASO_MAX_KINDS];
    uint32_t n_kinds; /* in order of appearance */
    rlt_time daso_ps, horovod_ps, horovod_epoch_ps;
    double saving;                          /* 1 - daso / horovod */
    uint64_t global_bytes, broadcast_bytes; /* of the whole training, as in rlt_daso_sums */
    uint64_t horovod_bytes;                 /* gradients that each rank gave to all-reduces */
} rlt_daso_result;

/*
 * Training time of both. An epoch depends on its phase and on jitter only, and begins when all ranks have
 * ended the one before: each distinct phase is replayed `draws` epochs long, whole, and the mean counted as
 * often as the schedule has it. `how`: network, algorithms, timing as for any replay; borrowed.
 */
RLT_API int rlt_daso_run(const rlt_daso *d, const rlt_daso_work *w, const rlt_replay_options *how,
                         rlt_daso_result *out, rlt_error *err) RLT_MUST_USE;

/*
 * What variation between ranks alone makes of it: nodes that wait for the slowest of their own GPUs every
 * batch and for other nodes only where a sync is due, against all waiting for the slowest of all every batch.
 * Units of mean compute per batch; the draws are those of the programs (draw 0). Merges W batches after
 * sending whatever B; a sync begins every B batches unless one is pending, or fewer than W batches are left.
 */
typedef struct rlt_straggler {
    uint32_t nodes, gpus, batches, skips, wait;
    double jitter;
    double transfer; /* of a global sync */
    double overhead; /* of the baseline, each batch */
    uint64_t seed;
    const rlt_watch *watch; /* may stop it: RLT_ECANCELLED; NULL: nobody does */
} rlt_straggler;
typedef struct rlt_straggler_result {
    double baseline, daso, saving;
} rlt_straggler_result;
RLT_API int rlt_straggler_run(const rlt_straggler *s, rlt_straggler_result *out, rlt_error *err) RLT_MUST_USE;
/* The saving that another implementation of the recurrence found for the same settings with draws of its own:
 * within a point. false: it was not asked for these. */
RLT_API bool rlt_straggler_reference(const rlt_straggler *s, double *saving);

#ifdef __cplusplus
}
#endif
#endif
