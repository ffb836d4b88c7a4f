/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the programs of DASO and Horovod: a rank's chain of device operations, batch by batch. */
#ifndef RLT_WORKLOAD_DASO_INTERNAL_H
#define RLT_WORKLOAD_DASO_INTERNAL_H

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/daso/daso.h"
#include "workload/models/model.h"
#include "workload/program/program.h"

/* Names of operations, each interned once. */
typedef struct rlt_dp_names {
    uint32_t *forward, *backward; /* by layer */
} rlt_dp_names;

/* A rank while its operations are built. */
typedef struct rlt_dp_rank {
    const rlt_daso *d;
    const rlt_daso_work *w;
    const rlt_dp_names *names;
    rlt_builder *b;
    uint32_t rank;
    uint32_t compute;  /* compute stream */
    uint32_t last;     /* last operation of the chain */
    uint32_t waits[4]; /* other operations that the next one waits for: at most three */
    uint32_t n_waits;
    uint16_t step;
    double factor; /* jitter factor of this batch */
} rlt_dp_rank;

/* Gradients that travel together, in the order of the backward pass: tensors in reverse order. */
typedef struct rlt_dp_bucket {
    uint64_t elements;
    uint32_t layer; /* layer whose backward pass completes the bucket */
    uint32_t tensors;
    rlt_time tick_ps; /* Horovod: when the background thread takes it, at or after `ready_ps` */
    rlt_time ready_ps;
} rlt_dp_bucket;

typedef struct rlt_dp_buckets {
    rlt_dp_bucket *list;
    uint32_t n, room;
} rlt_dp_buckets;

/* Builds PyTorch's buckets: closed once they hold bucket_bytes, the first one first_bucket_bytes. */
int rlt__ddp_buckets(const rlt_daso *d, const rlt_daso_work *w, rlt_dp_buckets *out,
                     rlt_error *err) RLT_MUST_USE;
int rlt__bucket_add(rlt_dp_buckets *list, rlt_dp_bucket bucket, rlt_error *err) RLT_MUST_USE;

int rlt__dp_check(const rlt_daso *d, const rlt_daso_work *w, uint64_t others, rlt_error *err) RLT_MUST_USE;
int rlt__dp_names_make(rlt_dp_names *n, rlt_builder *b, const rlt_model *m, rlt_error *err) RLT_MUST_USE;
void rlt__dp_names_free(rlt_dp_names *n);
uint64_t rlt__dp_parameters(const rlt_model *m);

void rlt__dp_rank_begin(rlt_dp_rank *k, uint32_t rank);
/* Begins batch `b` of the epoch, with the jitter of (rank, draw, batch). */
void rlt__dp_batch_begin(rlt_dp_rank *k, uint32_t draw, uint32_t b);
/* Makes the next operation of the chain wait for `op` as well. */
void rlt__dp_wait(rlt_dp_rank *k, uint32_t op);
/* Adds the next operation of the chain, on the compute stream unless `resource` names another. */
uint32_t rlt__dp_chain(rlt_dp_rank *k, rlt_op_kind kind, uint32_t resource, const char *name,
                       rlt_time duration_ps);
/* Adds an operation beside the chain, after `on`. */
uint32_t rlt__dp_aside(rlt_dp_rank *k, rlt_op_kind kind, uint32_t resource, const char *name,
                       rlt_time duration_ps, uint32_t on);
uint32_t rlt__dp_collective(rlt_dp_rank *k, rlt_coll_kind kind, uint32_t resource, const char *name,
                            uint32_t group, uint32_t root, uint64_t bytes, uint32_t on);
void rlt__dp_forward(rlt_dp_rank *k);
/* Adds one layer of the backward pass; returns its operation. */
uint32_t rlt__dp_backward(rlt_dp_rank *k, uint32_t layer);
void rlt__dp_optimizer(rlt_dp_rank *k);

rlt_time rlt__dp_moved(const rlt_daso *d, uint64_t elements, uint32_t bytes_each);

/* Purpose of the random stream. The entity is the rank, the counter the draw and the batch. */
enum { RLT_DP_JITTER = 0x6a697474 };
double rlt__dp_jitter(double cv, uint64_t seed, uint32_t rank, uint32_t draw, uint32_t batch);

#endif
