/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The timeline of a page: events on tracks, reduced so that the page stays small, and encoded so that a
 * browser decodes a million events at once.
 *
 * Reduction: let r be the resolution, a power of two picoseconds. Events of one track that are shorter than r
 * and begin within the same r become one drawn event, with their number and total duration. Longer events are
 * never merged. r is the smallest value that leaves at most the number of events asked for. Equal tracks are
 * written once and count once.
 */
#ifndef RLT_TOOLS_REPORT_TIMELINE_H
#define RLT_TOOLS_REPORT_TIMELINE_H

#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"
#include "sim/text/json.h"

typedef struct rlt_timeline_track {
    uint32_t rank, name; /* name: index in `strings` */
    uint32_t order;      /* position among the tracks of its rank */
} rlt_timeline_track;

typedef struct rlt_timeline_event {
    rlt_time from_ps, to_ps;
    uint32_t track, label;
} rlt_timeline_event;

/* Zero-initialise. */
typedef struct rlt_timeline {
    rlt_strings strings;
    rlt_timeline_track *tracks;
    rlt_timeline_event *events;
    uint32_t n_tracks, tracks_capacity, n_events, events_capacity;
    uint64_t dropped; /* events that were not added */
} rlt_timeline;

int rlt_timeline_add_track(rlt_timeline *t, uint32_t rank, uint32_t order, const char *name, uint32_t *track,
                           rlt_error *err) RLT_MUST_USE;
/* Adds an event. `detail` is shown beside its name; may be "". Events past 2^26 are counted as dropped. */
int rlt_timeline_add(rlt_timeline *t, uint32_t track, const char *category, const char *name,
                     const char *detail, rlt_time from_ps, rlt_time to_ps, rlt_error *err) RLT_MUST_USE;
/* Writes "timeline": {end_ps, events, shown, dropped, resolution_ps, labels[], tracks[] {rank, order, name,
 * n, data, or like: number of an earlier track}} into an open object. Sorts the events. data is base64 of
 * LEB128 numbers, for each drawn event: gap from the end of the one before, duration, 2 * label + merged,
 * and, if merged, their number and total duration. If two overlap, the later one begins where the earlier
 * ends. RLT_ENOMEM. */
int rlt_timeline_json(rlt_timeline *t, uint32_t most, rlt_jw *w, rlt_error *err) RLT_MUST_USE;
void rlt_timeline_free(rlt_timeline *t);

/* Reads Chrome trace events written by `ringlet run --timeline`. */
int rlt_timeline_read(const char *path, rlt_timeline *t, rlt_error *err) RLT_MUST_USE;

#endif
