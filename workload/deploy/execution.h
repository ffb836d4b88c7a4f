/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The execution graph of a strategy: every replica of every operator, the transfers between devices, and the
 * collectives. Internal to workload/deploy.
 *
 * An operator's output is in parts (each replica has its slice of the batch) if the operator is splittable
 * and its group is replicated; otherwise every replica has all of it. Rules of conversion, S = bytes of the
 * whole batch, a producers, b consumers:
 *
 *     parts -> parts, same devices   slice i stays where it is
 *     parts -> parts, otherwise      each overlap of two slices: S * overlap, from the producer's device
 *     parts -> whole                 every consumer gets every part: S / a each
 *     whole -> parts                 from the consumer's own device, else S / b from the first producer
 *     whole -> whole                 from the consumer's own device, else S from the first producer
 *     gradient in parts -> update    same devices and all-reduce: one collective of S; otherwise every
 *                                    replica sends S to a server, which adds up and sends S to every
 *                                    update. Server of operator i: device i mod b of the update's devices.
 *
 * A tensor that stays on its device is no task. Sources: TAG's released rewriter; overlaps are sent directly.
 */
#ifndef RLT_WORKLOAD_DEPLOY_EXECUTION_H
#define RLT_WORKLOAD_DEPLOY_EXECUTION_H

#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/opgraph.h"
#include "workload/deploy/strategy.h"

typedef enum rlt__task_kind {
    RLT__TASK_COMPUTE,
    RLT__TASK_TRANSFER,   /* device `from` -> device `to` */
    RLT__TASK_ALL_REDUCE, /* over the devices of `placement` */
    RLT__TASK_JOIN,       /* takes no time: a server has all summands */
} rlt__task_kind;

typedef struct rlt__task {
    rlt_time time_ps;
    uint64_t bytes;
    uint32_t op;    /* operator that computes, or whose output is moved */
    uint32_t from;  /* device; an all-reduce: placement */
    uint32_t to;    /* device; compute, join: the same as `from` */
    uint32_t waits; /* number of tasks before it */
    uint8_t kind;
} rlt__task;

typedef struct rlt__execution {
    rlt__task *tasks;
    uint32_t n_tasks, tasks_room;
    uint32_t *edges; /* from, to; in pairs, in the order they were added */
    uint32_t n_edges, edges_room;
    uint32_t *next_first, *next; /* tasks after task i: next[next_first[i] .. next_first[i + 1]) */
    uint32_t next_first_room, next_room;
    uint32_t *first_task; /* task of the first replica of each operator; further replicas follow */
    uint32_t *replicas;   /* of each operator */
    uint64_t *bytes;      /* memory needed on each device */
} rlt__execution;

/* State that all strategies of a judge share. */
typedef struct rlt__rewriter {
    const rlt_opgraph *graph;
    const rlt_grouping *grouping;
    const rlt_cluster *cluster;
    double *position;  /* of each operator in its group's time, 0 to 1, for model parallelism */
    uint32_t *devices; /* devices of a placement, by placement: devices[device_first[p] ..] */
    uint32_t *device_first;
} rlt__rewriter;

int rlt__rewriter_make(const rlt_opgraph *g, const rlt_grouping *p, const rlt_cluster *c, rlt__rewriter *out,
                       rlt_error *err) RLT_MUST_USE;
void rlt__rewriter_free(rlt__rewriter *w);
/* Devices of a placement, ascending. */
const uint32_t *rlt__placement_devices(const rlt__rewriter *w, uint32_t placement, uint32_t *n);

/* Rewrites a strategy into *x, whose memory is reused. O(operators * devices + tensors * devices^2). */
int rlt__rewrite(const rlt__rewriter *w, const rlt_strategy *s, rlt__execution *x,
                 rlt_error *err) RLT_MUST_USE;
void rlt__execution_free(rlt__execution *x);

#endif
