/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * State shared by the host side (host.c) and the device side (graph.c) while one recording becomes the
 * operations of one rank. Both process one list of items in the order of recorded time.
 */
#ifndef RLT_WORKLOAD_READERS_KINETO_GRAPH_H
#define RLT_WORKLOAD_READERS_KINETO_GRAPH_H

#include <stddef.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/program/program.h"
#include "workload/readers/kineto/kineto.h"

typedef enum rlt_kin_item_type {
    RLT_KIN_ITEM_LAUNCH, /* a: launch */
    RLT_KIN_ITEM_SYNC,   /* a: event of the call */
    RLT_KIN_ITEM_RECORD, /* a: event of the call */
    RLT_KIN_ITEM_WAIT,   /* a: event of the call; b: rlt_kin_wait_class */
    RLT_KIN_ITEM_BLOCK,  /* the main thread begins to wait for autograd threads; a: their first event */
    RLT_KIN_ITEM_RESUME, /* the main thread continues */
    RLT_KIN_ITEM_BEGIN,  /* an autograd thread gets work */
    RLT_KIN_ITEM_END,    /* an autograd thread has no more work */
    RLT_KIN_ITEM_CUT,    /* a step begins */
} rlt_kin_item_type;

typedef enum rlt_kin_wait_class {
    RLT_KIN_WAIT_INTERNAL, /* NCCL's own, inside the launch of a collective */
    RLT_KIN_WAIT_COMM,     /* inside a wait for a collective */
    RLT_KIN_WAIT_OTHER,
} rlt_kin_wait_class;

typedef struct rlt_kin_item {
    int64_t t;
    uint32_t row;   /* row of the host thread; RLT_NONE: none */
    uint32_t order; /* place in the order of collection */
    uint32_t a;
    uint8_t type, b, other; /* other: 1 for threads other than the main thread */
    bool early;             /* a launch before the window, or before the profiler began */
} rlt_kin_item;

/* A host thread, by row. */
typedef struct rlt_kin_thread {
    uint32_t launches, events;
    bool autograd, begun, active;
    bool blocked;   /* main thread only */
    int64_t cur;    /* host time replayed so far */
    int64_t since;  /* main thread: begin of the stretch for which it was last blocked */
    uint32_t last;  /* operation that ends at cur; RLT_NONE: the rank's start */
    uint32_t extra; /* operation of another thread that the next one waits for, or RLT_NONE */
    uint32_t resource;
    uint32_t stream; /* row of the stream it launched on last, or RLT_NONE */
} rlt_kin_thread;

/* A stream, by row. */
typedef struct rlt_kin_stream {
    uint32_t last;        /* operation launched last, or RLT_NONE */
    uint32_t last_work;   /* the same, without collectives */
    uint32_t work_before; /* the one before last_work */
    int64_t last_work_t;  /* launch time of last_work */
    int64_t waits_seen;   /* launch time up to which waits have become edges */
    uint32_t comm_waited; /* collectives before this index need no edge any more */
    uint32_t work_waited; /* operation of another stream that it last waited for */
    uint32_t first_pending, resource;
} rlt_kin_stream;

typedef struct rlt_kin_graph {
    const rlt_kin_run *run;
    const rlt_kin_recording *k;
    rlt_kin_window w;
    uint32_t rank;
    rlt_builder *b;
    rlt_error *err;
    uint32_t first_op, n_ops, ends_capacity;
    int64_t *ends;  /* recorded end of each operation built */
    uint32_t *deps; /* dependencies of the operation being built; none between operations */
    uint32_t n_deps, deps_capacity;
    uint32_t host_name, main; /* main: row of the main thread, or RLT_NONE */
    uint32_t *threads_used, n_threads_used, *streams_used, n_streams_used;
    rlt_kin_thread *threads; /* by row */
    rlt_kin_stream *streams; /* by row */
    rlt_kin_launch *launches;
    uint32_t n_launches, launches_capacity;
    rlt_kin_item *items;
    uint32_t n_items, items_capacity;
    uint32_t *sync_by_call, *sync_by_record;
    rlt_kin_sync *syncs; /* a copy: this graph sets `found` */
    struct rlt_kin_wait {
        int64_t t;
        uint32_t comm, other; /* waits of each class so far, including this one */
    } * waits;
    uint32_t n_waits;
    struct rlt_kin_pending {
        uint32_t op, next;
    } * pending; /* edges for the next launch of a stream */
    uint32_t n_pending, pending_capacity;
    struct rlt_kin_issued {
        uint32_t op, row;
        int64_t t;
    } * issued; /* collectives in launch order */
    uint32_t n_issued, last_stream;
    bool explicit_waits; /* cuda_sync events give the stream waits */
    rlt_kin_comms *comms;
    int64_t device_end; /* end of the last device work */
    uint64_t dropped, outside, overlapping, long_gaps, unexplained, carried, concurrent, tail, evident;
} rlt_kin_graph;

/* Finds the main and autograd threads, and adds the items at which they meet. */
int rlt__kin_host_prepare(rlt_kin_graph *g) RLT_MUST_USE;
/* Sorts n things. What recordings list is mostly in order already; that costs one pass. */
void rlt__kin_sort(void *things, uint32_t n, size_t size, int (*order)(const void *, const void *));
int rlt__kin_add_item(rlt_kin_graph *g, rlt_kin_item_type type, int64_t t, uint32_t row,
                      uint32_t a) RLT_MUST_USE;
/* Replays the thread's host time up to `to`. Returns the operation that ends there; RLT_NONE: the rank's
 * start. */
uint32_t rlt__kin_host_until(rlt_kin_graph *g, uint32_t row, int64_t to);
/* Processes BLOCK, RESUME, BEGIN, END and CUT. */
void rlt__kin_host_item(rlt_kin_graph *g, const rlt_kin_item *item);
/* Makes the thread's host call from `begin` to `end` wait for g->deps. The recorded waiting is left out. */
void rlt__kin_host_wait(rlt_kin_graph *g, uint32_t row, int64_t begin, int64_t end);

/* Builds everything from the items, which must be in order. The builder keeps a failure. */
void rlt__kin_walk(rlt_kin_graph *g);
/* Builds the operation with dependencies g->deps and recorded end `end`. RLT_NONE: failed. */
uint32_t rlt__kin_build(rlt_kin_graph *g, const rlt_op_desc *d, int64_t end);
/* Adds a dependency to g->deps; ignores RLT_NONE. */
void rlt__kin_depend(rlt_kin_graph *g, uint32_t op);
/* Returns the recorded end of an operation of this rank. */
static inline int64_t rlt__kin_op_end(const rlt_kin_graph *g, uint32_t op)
{
    return g->ends[op - g->first_op];
}
/* Converts a recorded time to the program's time. */
static inline rlt_time rlt__kin_ps(const rlt_kin_graph *g, int64_t t)
{
    return (t + g->k->base - g->run->epoch) * RLT_NS;
}

#endif
