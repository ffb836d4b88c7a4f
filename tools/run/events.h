/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What happened in a run, event by event, for whoever draws it. A track is one serial resource, so that
 * events on it never overlap: host threads, streams, and, for communication without a stream, as many lanes
 * as are in flight at once. A collective shows as two events, its wait and its transfer.
 */
#ifndef RLT_TOOLS_RUN_EVENTS_H
#define RLT_TOOLS_RUN_EVENTS_H

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "tools/output/report_options.h"
#include "workload/experiment/run/run.h"

typedef struct rlt_run_event {
    uint32_t rank, track;    /* tracks are numbered over all ranks; lanes from RLT_LANE_TRACK on, by rank */
    const char *category;    /* compute, memory, host, delay, wait, collective, send, recv */
    const char *name;        /* of the operation; may be "" */
    rlt_time from_ps, to_ps; /* since the run began */
    uint32_t comm;           /* RLT_NONE: none */
    uint32_t for_rank;       /* of a wait: who came last */
    const char *algorithm;   /* of a transfer; "" where there is none */
} rlt_run_event;

enum { RLT_LANE_TRACK = 1000000 };

typedef struct rlt_run_sink {
    void *ctx;
    /* Before the first event on it. */
    int (*track)(void *ctx, uint32_t rank, uint32_t track, const char *name, rlt_error *err);
    int (*event)(void *ctx, const rlt_run *r, const rlt_run_event *e, rlt_error *err);
} rlt_run_sink;

/* Walks all operations that ended. *dropped: those that found no lane. */
int rlt_run_events(const rlt_run *r, const rlt_run_sink *sink, uint64_t *dropped,
                   rlt_error *err) RLT_MUST_USE;

#endif
