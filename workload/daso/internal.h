/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the programs of DASO and Horovod share: a rank's chain of device operations, batch by batch. */
#ifndef RLT_WORKLOAD_DASO_INTERNAL_H
#define RLT_WORKLOAD_DASO_INTERNAL_H

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/daso/daso.h"
#include "workload/models/model.h"
#include "workload/program/program.h"

/* Names of operations, interned once. */
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
    uint32_t compute;  /* stream */
    uint32_t last;     /* operation that the next one of the chain follows */
    uint32_t waits[4]; /* and others that it waits for: at most three at once */
    uint32_t n_waits;
    uint16_t step;
    double factor; /* jitter of this batch */
} rlt_dp_rank;

/* Gradients that travel together, by the backward pass: tensors in reverse order. */
typedef struct rlt_dp_bucket {
    uint64_t elements;
    uint32_t layer; /* whose backward pass makes the last of them */
    uint32_t tensors;
    rlt_time tick_ps; /* Horovod: when the background thread takes them, after `ready_ps` */
    rlt_time ready_ps;
} rlt_dp_bucket;

typedef struct rlt_dp_buckets {
    rlt_dp_bucket *list;
    uint32_t n, room;
} rlt_dp_buckets;

/* PyTorch's: closed once they hold bucket_bytes, the first one first_bucket_bytes. */
int rlt__ddp_buckets(const rlt_daso *d, const rlt_daso_work *w, rlt_dp_buckets *out,
                     rlt_error *err) RLT_MUST_USE;
int rlt__bucket_add(rlt_dp_buckets *list, rlt_dp_bucket bucket, rlt_error *err) RLT_MUST_USE;

int rlt__dp_check(const rlt_daso *d, const rlt_daso_work *w, uint64_t others, rlt_error *err) RLT_MUST_USE;
int rlt__dp_names_make(rlt_dp_names *n, rlt_builder *b, const rlt_model *m, rlt_error *err) RLT_MUST_USE;
void rlt__dp_names_free(rlt_dp_names *n);
uint64_t rlt__dp_parameters(const rlt_model *m);

void rlt__dp_rank_begin(rlt_dp_rank *k, uint32_t rank);
/* Batch `b` of the epoch: jitter is that of (rank, draw, batch). */
void rlt__dp_batch_begin(rlt_dp_rank *k, uint32_t draw, uint32_t b);
/* The next operation of the chain waits for `op` too. */
void rlt__dp_wait(rlt_dp_rank *k, uint32_t op);
/* The chain's next operation: of the compute stream unless `resource` names another. */
uint32_t rlt__dp_chain(rlt_dp_rank *k, rlt_op_kind kind, uint32_t resource, const char *name,
                       rlt_time duration_ps);
/* Beside the chain, after `on`. */
uint32_t rlt__dp_aside(rlt_dp_rank *k, rlt_op_kind kind, uint32_t resource, const char *name,
                       rlt_time duration_ps, uint32_t on);
uint32_t rlt__dp_collective(rlt_dp_rank *k, rlt_coll_kind kind, uint32_t resource, const char *name,
                            uint32_t group, uint32_t root, uint64_t bytes, uint32_t on);
void rlt__dp_forward(rlt_dp_rank *k);
/* One layer of the backward pass; returns its operation. */
uint32_t rlt__dp_backward(rlt_dp_rank *k, uint32_t layer);
void rlt__dp_optimizer(rlt_dp_rank *k);

/* n times t, saturating. */
rlt_time rlt__dp_times(rlt_time t, uint32_t n);
rlt_time rlt__dp_moved(const rlt_daso *d, uint64_t elements, uint32_t bytes_each);

/* The purpose of the stream of random numbers: entity is the rank, counter draw and batch. */
enum { RLT_DP_JITTER = 0x6a697474 };
double rlt__dp_jitter(double cv, uint64_t seed, uint32_t rank, uint32_t draw, uint32_t batch);

#endif
