/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The events of a run, for drawing. A track is one serial resource, so that its events never overlap: host
 * threads and streams. Communications without a stream get as many lanes as are in flight at once. A
 * collective is two events: its wait and its transfer.
 */
#ifndef RLT_TOOLS_RUN_EVENTS_H
#define RLT_TOOLS_RUN_EVENTS_H

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "tools/output/report_options.h"
#include "workload/experiment/run/run.h"

typedef struct rlt_run_event {
    uint32_t rank, track;    /* tracks are numbered over all ranks; lanes of a rank from RLT_LANE_TRACK on */
    const char *category;    /* compute, memory, host, delay, wait, collective, send, recv */
    const char *name;        /* operation's name; may be "" */
    rlt_time from_ps, to_ps; /* since the run began */
    uint32_t comm;           /* RLT_NONE: none */
    uint32_t for_rank;       /* for a wait: the rank that came last */
    const char *algorithm;   /* for a transfer: its algorithm; "": none */
} rlt_run_event;

enum { RLT_LANE_TRACK = 1000000 };

typedef struct rlt_run_sink {
    void *ctx;
    /* Names a track. Called before its first event. */
    int (*track)(void *ctx, uint32_t rank, uint32_t track, const char *name, rlt_error *err);
    int (*event)(void *ctx, const rlt_run *r, const rlt_run_event *e, rlt_error *err);
} rlt_run_sink;

/* Passes all operations that ended to the sink. *dropped counts those without a free lane. */
int rlt_run_events(const rlt_run *r, const rlt_run_sink *sink, uint64_t *dropped,
                   rlt_error *err) RLT_MUST_USE;

#endif
