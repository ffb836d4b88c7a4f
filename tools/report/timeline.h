/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The timeline of a page: events on tracks, thinned until the page stays small, and written so that a browser
 * decodes a million of them at once.
 *
 * Thinning: of events on one track that are shorter than a resolution, those that begin within it become one
 * drawn event, which says how many they are and how long they took together. The resolution is the smallest
 * power of two picoseconds that leaves as few as asked for; longer events are never merged. Tracks that are
 * the same throughout are written once and count once.
 */
#ifndef RLT_TOOLS_REPORT_TIMELINE_H
#define RLT_TOOLS_REPORT_TIMELINE_H

#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"
#include "sim/text/json.h"

typedef struct rlt_timeline_track {
    uint32_t rank, name; /* of the strings */
    uint32_t order;      /* among those of its rank */
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
    uint64_t dropped; /* never entered */
} rlt_timeline;

int rlt_timeline_add_track(rlt_timeline *t, uint32_t rank, uint32_t order, const char *name, uint32_t *track,
                           rlt_error *err) RLT_MUST_USE;
/* `detail` is what a reader sees of it beside its name; may be "". Past 2^26 events: counted as dropped. */
int rlt_timeline_add(rlt_timeline *t, uint32_t track, const char *category, const char *name,
                     const char *detail, rlt_time from_ps, rlt_time to_ps, rlt_error *err) RLT_MUST_USE;
/* "timeline": {end_ps, events, shown, dropped, resolution_ps, labels[], tracks[] {rank, order, name, n,
 * data, or like: number of a track before it}} into an open object; sorts the events. data is base64 of
 * LEB128 numbers, for each drawn event: gap from the end of the one before, duration, 2 * label + merged,
 * and, where merged, how many and their time in all. Of two that overlap the later begins where the other
 * ends. RLT_ENOMEM. */
int rlt_timeline_json(rlt_timeline *t, uint32_t most, rlt_jw *w, rlt_error *err) RLT_MUST_USE;
void rlt_timeline_free(rlt_timeline *t);

/* Reads Chrome trace events as `ringlet run --timeline` writes them. */
int rlt_timeline_read(const char *path, rlt_timeline *t, rlt_error *err) RLT_MUST_USE;

#endif
