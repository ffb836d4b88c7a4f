/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * DASO, hierarchical asynchronous data parallelism (Coquelin et al., arXiv 2104.05588, J. Big Data 9:14; its
 * implementation in heat, heat/optim/dp_optimizer.py), and Horovod, which it was compared with.
 *
 * Rank = node * gpus + local rank. The GPUs of a node average gradients every batch (PyTorch DDP). The ranks
 * with local rank i of all nodes form global group i. Every B batches one group, in turn, averages parameters
 * over the nodes without waiting. W batches later it merges the result with its current parameters and
 * broadcasts them inside its node:
 *
 *   x = (2 S x_local + sum of the P copies sent) / (2 S + P)
 *
 * S is the number of batches it was meant to wait, P the number of copies. Example: 16 nodes and S = 1 give
 * x_local the weight 2/18 and each copy 1/18.
 *
 * Three parts, each usable alone. Schedule: the (B, L, W) of each epoch, and the actions of each batch; pure
 * functions. Programs: one epoch of either strategy, for replay. Total: epochs of every kind replayed and
 * added up.
 *
 * Times are in picoseconds, payloads in bytes or elements of 4 bytes. Epochs and batches count from 0.
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
    RLT_DASO_CYCLING, /* B is halved whenever the loss is on a plateau, and reset after B = 1 */
    RLT_DASO_FIXED,   /* constant B and W, except in a soft cool-down (B = 2, W = 0) and the cool-down */
} rlt_daso_variant;

/* Loss at the end of epoch e: start, or floor + (start - floor) ratio^(e+1), or values[e]. */
typedef struct rlt_daso_loss {
    double start, ratio, floor;
    double *values; /* owned by the rlt_daso; NULL: the formula */
    uint32_t n;
} rlt_daso_loss;

typedef struct rlt_daso {
    uint32_t nodes, gpus;
    uint32_t epochs;
    uint32_t batches; /* per epoch and rank; 0: samples / (ranks * batch), rounded up */
    uint64_t samples;
    uint32_t batch; /* samples per rank and batch */

    rlt_daso_variant variant;
    uint32_t warmup, cooldown, soft_cooldown; /* in epochs */
    /* an epoch is an improvement if its loss < best * (1 - stability) */
    double stability;
    uint32_t patience;  /* epochs in a row without improvement that are tolerated */
    uint32_t max_skips; /* B after a reset; the fixed variant: always */
    /* B is divided by skip_factor; after a reset, L = W = max_skips / local_factor */
    uint32_t skip_factor, local_factor;
    /* B, L, W of the first cycling epoch; fixed variant: L, W */
    uint32_t first_skips, first_local, first_wait;
    rlt_daso_loss loss;

    uint64_t chunk_elements;                   /* larger buffers are split into chunks of this size */
    uint32_t downcast_bytes;                   /* bytes per element in blocking phases: 2 (bf16, fp16) or 4 */
    bool broadcast_each;                       /* local broadcasts per tensor; false: one transfer */
    rlt_time launch_ps;                        /* host time per broadcast tensor */
    uint64_t bucket_bytes, first_bucket_bytes; /* bytes of gradients per local all-reduce, 4 per element */
    uint64_t memory_Bps;                       /* for optimiser, packing and merging */
    uint32_t optimizer_bytes;                  /* moved per parameter by an optimiser step */
    uint64_t staging_Bps; /* rate each way at which global buffers pass through host memory; 0: they do not */
    uint64_t reduce_Bps;  /* rate at which the CPU adds up buffers; 0: free */

    /* coefficient of variation of compute per rank and batch, log-normal with mean 1; 0: none */
    double jitter;
    uint64_t seed;
    uint32_t draws; /* epochs replayed per kind, with different jitter */

    /* Horovod */
    uint64_t fusion_bytes; /* size of the fusion buffer */
    rlt_time cycle_ps;
    rlt_time negotiation_ps;   /* per fused all-reduce */
    uint32_t compressed_bytes; /* bytes per gradient element on the wire: 2 or 4 */
    bool loss_each_batch;      /* blocking all-reduce of the loss after each batch */
    rlt_time overhead_ps;      /* further host time at the end of each batch */
    rlt_time tensor_ps;        /* host time per tensor that synchronize() spends on its handle */
} rlt_daso;

/*
 * Returns the defaults. heat: 4 + 4 epochs of warm-up and cool-down, stability 0.05, patience 2, at most 8
 * skips, chunks of 10,000,000 elements, bf16. ResNet-50 on ImageNet: 90 epochs, 1,281,167 images, 256 per
 * GPU. 16 nodes of 4 A100 (1555 GB/s). SGD with momentum in fp32 (20 bytes per parameter). Horovod 0.21 (128
 * MB, 1 ms; 0.20: 64 MB, 5 ms). No jitter; no overheads except 20 us per broadcast tensor and 50 us per
 * negotiation (both assumed).
 */
RLT_API rlt_daso rlt_daso_default(void);
RLT_API void rlt_daso_free(rlt_daso *d); /* frees what the settings own */
/*
 * Sets one field by name and text with unit. `variant` "fixed" also sets max_skips 4, no warm-up, and 2
 * epochs each of soft cool-down and cool-down; "cycling" restores the defaults. `loss`: a number,
 * START,RATIO,FLOOR, or a file with one number per line, where # begins a comment. `horovod`: "0.20" or
 * "0.21" sets fusion and cycle. `calibration` "juwels" sets jitter and host time per tensor as in settings.c.
 * RLT_EUSAGE lists the names.
 */
RLT_API int rlt_daso_set(rlt_daso *d, const char *name, const char *value, rlt_error *err) RLT_MUST_USE;
/* Returns the table of these settings, of an rlt_daso. */
RLT_API const rlt_param *rlt_daso_parameters(void);
/* Checks that the settings agree. All functions below call it. */
RLT_API int rlt_daso_check(const rlt_daso *d, rlt_error *err) RLT_MUST_USE;

/* Schedule */

typedef struct rlt_daso_phase {
    uint32_t skips; /* B: batches between global syncs; 0: a blocking sync every batch */
    uint32_t local; /* L: gradients are averaged in the node every L-th batch; 0 or 1: every batch */
    uint32_t wait;  /* W: batches between sending and merging */
} rlt_daso_phase;

/* Fills phases[] with the phase of each of d->epochs epochs. */
RLT_API int rlt_daso_schedule(const rlt_daso *d, rlt_daso_phase *phases, rlt_error *err) RLT_MUST_USE;

/* Actions of one batch after its backward pass and its optimiser step, in this order. */
typedef struct rlt_daso_batch {
    uint32_t batch;
    bool local_sync;       /* gradients were averaged in the node */
    uint32_t sender;       /* group that packs its parameters and starts an all-reduce; RLT_NONE: none */
    uint32_t weight;       /* S of the parameters sent */
    uint32_t merger;       /* group that waits for its all-reduce and merges the result; RLT_NONE: none */
    uint32_t sent_at;      /* batch in which the merged parameters were sent */
    uint32_t merge_weight; /* S of the merged parameters */
    uint32_t relay;        /* local rank that then broadcasts in its node; RLT_NONE: none */
    bool redundant;        /* broadcasts without having merged */
    bool blocking; /* the sender waits for its own all-reduce, takes the plain mean and broadcasts it */
} rlt_daso_batch;

/* Iterator over the batches of an epoch. */
typedef struct rlt_daso_epoch {
    rlt_daso_phase phase;
    uint32_t batches, gpus;
    uint32_t next, group, previous;    /* next batch; next group to send; group that sent last, or RLT_NONE */
    uint32_t pending, sent_at, weight; /* pending: group whose transfer is under way, or RLT_NONE */
    bool local_on;
} rlt_daso_epoch;
RLT_API rlt_daso_epoch rlt_daso_epoch_begin(const rlt_daso *d, rlt_daso_phase phase);
RLT_API bool rlt_daso_epoch_next(rlt_daso_epoch *e, rlt_daso_batch *out); /* false at the end of the epoch */

/* Totals of one epoch. */
typedef struct rlt_daso_sums {
    uint32_t batches, local_syncs, sends, merges, blocking, broadcasts, redundant;
    uint64_t global_bytes;    /* bytes that each sending rank gave to all-reduces */
    uint64_t broadcast_bytes; /* bytes that each node broadcast */
} rlt_daso_sums;
RLT_API rlt_daso_sums rlt_daso_count(const rlt_daso *d, rlt_daso_phase phase, uint64_t parameters);

RLT_API uint32_t rlt_daso_batches(const rlt_daso *d); /* per epoch, at least 1 */
/* Bytes per element sent in a phase; number of chunks of a buffer; size of chunk i. The first chunk takes the
 * remainder. */
RLT_API uint32_t rlt_daso_element_bytes(const rlt_daso *d, rlt_daso_phase phase);
RLT_API uint32_t rlt_daso_chunks(const rlt_daso *d, uint64_t parameters);
RLT_API uint64_t rlt_daso_chunk(const rlt_daso *d, uint64_t parameters, uint32_t i); /* in elements */
/* Computes the shares of x_local and of each of the P copies in a merge; S = 0 counts x_local once. */
RLT_API void rlt_daso_merge_shares(uint32_t copies, uint32_t weight, double *local, double *each);

/* Programs */

/* Compute times of one batch at speed 1, by layer of the model; all borrowed. */
typedef struct rlt_daso_work {
    const rlt_model *model;
    const rlt_time *forward_ps, *backward_ps;
} rlt_daso_work;

/* Spreads the time of a measured batch over the layers by their FLOPs. The arrays have model->n_layers
 * entries. */
RLT_API void rlt_daso_spread(const rlt_model *model, rlt_time batch_ps, rlt_time *forward_ps,
                             rlt_time *backward_ps);

/*
 * Builds the program of one epoch of a phase. Steps are batches. The last one ends with an all-reduce of the
 * loss over all ranks, a barrier, so that epochs do not overlap. `draw` numbers the epochs that differ in
 * jitter; DASO and Horovod have equal jitter in equal draws. O(ranks * batches * (layers + buckets))
 * operations.
 *
 * With one GPU per node nothing is local; with one node nothing is global. An epoch begins with local sync
 * on.
 */
RLT_API int rlt_daso_program(const rlt_daso *d, const rlt_daso_work *w, rlt_daso_phase phase, uint32_t draw,
                             rlt_program **out, rlt_error *err) RLT_MUST_USE;
/*
 * Builds the program of one epoch of Horovod. Gradients that become ready within one cycle of the background
 * thread are fused up to the size of the buffer. Cycles count from the begin of the batch at speed 1. Fused
 * gradients are compressed, all-reduced over all ranks in order, and decompressed. The host's overheads and
 * the optimiser follow. The blocking all-reduce of the loss waits half a cycle on average.
 */
RLT_API int rlt_horovod_program(const rlt_daso *d, const rlt_daso_work *w, uint32_t draw, rlt_program **out,
                                rlt_error *err) RLT_MUST_USE;

/* Total */

typedef struct rlt_daso_kind {
    rlt_daso_phase phase;
    uint32_t epochs;
    rlt_time epoch_ps; /* mean over the draws */
    rlt_daso_sums sums;
} rlt_daso_kind;

/* More than any schedule has: B is at least halved by each step, from its first value and from max_skips. */
enum { RLT_DASO_MAX_KINDS = 256 };

typedef struct rlt_daso_result {
    uint32_t batches; /* per epoch */
    rlt_daso_kind kinds[RLT_DASO_MAX_KINDS];
    uint32_t n_kinds; /* in order of first appearance */
    rlt_time daso_ps, horovod_ps, horovod_epoch_ps;
    double saving;                          /* 1 - daso / horovod */
    uint64_t global_bytes, broadcast_bytes; /* of the whole training, as in rlt_daso_sums */
    uint64_t horovod_bytes;                 /* gradients that each rank gave to all-reduces */
} rlt_daso_result;

/*
 * Computes the training time of both. An epoch depends only on its phase and on jitter, and begins after all
 * ranks have ended the one before. Each distinct phase is replayed for `draws` whole epochs; the mean is
 * multiplied by the number of epochs of that phase in the schedule. `how`: network, algorithms and timing as
 * for any replay; borrowed.
 */
RLT_API int rlt_daso_run(const rlt_daso *d, const rlt_daso_work *w, const rlt_replay_options *how,
                         rlt_daso_result *out, rlt_error *err) RLT_MUST_USE;

/*
 * Effect of variation between ranks alone, without a network. With DASO, nodes wait for the slowest of their
 * own GPUs in every batch, and for other nodes only at a sync. In the baseline, all ranks wait for the
 * slowest one in every batch. Times are in units of the mean compute time per batch. c(p) is the clock of
 * node p, from 0. In batch k = 0, 1, ...
 *
 *   c(p) += max over the GPUs of p of their time for batch k
 *   if k mod B = 0, no sync is pending, and k + W < batches: a sync begins and completes at
 *       T = max over p of c(p) + transfer
 *   if a sync began in batch k - W: c(p) = max(c(p), T)
 *
 * DASO takes max over p of c(p) at the end. The baseline takes the sum over k of (max over all GPUs +
 * overhead). Draws are those of the programs (draw 0).
 */
typedef struct rlt_straggler {
    uint32_t nodes, gpus, batches, skips, wait;
    double jitter;
    double transfer; /* of a global sync */
    double overhead; /* of the baseline, per batch */
    uint64_t seed;
    const rlt_watch *watch; /* may stop the run: RLT_ECANCELLED; NULL: never stopped */
} rlt_straggler;
typedef struct rlt_straggler_result {
    double baseline, daso, saving;
} rlt_straggler_result;
RLT_API int rlt_straggler_run(const rlt_straggler *s, rlt_straggler_result *out, rlt_error *err) RLT_MUST_USE;
/* Returns in *saving the result of another implementation of this recurrence for the same settings, with its
 * own draws; agreement is within one point. Returns false if it has no result for these settings. */
RLT_API bool rlt_straggler_reference(const rlt_straggler *s, double *saving);

#ifdef __cplusplus
}
#endif
#endif
