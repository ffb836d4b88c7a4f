/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events of a page's timeline, reduced and packed. */
#include "tools/report/timeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/mem.h"
#include "tools/report/pack.h"

enum { MAX_EVENTS = 1 << 26, MAX_TRACKS = 1 << 22, MAX_STRINGS = 50000 };

int rlt_timeline_add_track(rlt_timeline *t, uint32_t rank, uint32_t order, const char *name, uint32_t *track,
                           rlt_error *err)
{
    int rc = rlt_grow(&t->tracks, &t->tracks_capacity, sizeof *t->tracks, (uint64_t)t->n_tracks + 1,
                      MAX_TRACKS, "tracks of a timeline", err);
    uint32_t text = rlt_intern(&t->strings, name, strlen(name));
    if (rc)
        return rc;
    if (text == RLT_NONE)
        return rlt_nomem(err);
    *track = t->n_tracks;
    t->tracks[t->n_tracks++] = (rlt_timeline_track){rank, text, order};
    return 0;
}

int rlt_timeline_add(rlt_timeline *t, uint32_t track, const char *category, const char *name,
                     const char *detail, rlt_time from_ps, rlt_time to_ps, rlt_error *err)
{
    char label[320];
    if (t->n_events == MAX_EVENTS) {
        t->dropped++;
        return 0;
    }
    int n = snprintf(label, sizeof label, "%.32s\t%.160s\t%.110s", category, name, detail);
    uint32_t text = rlt_intern_find(&t->strings, label, (size_t)n);
    if (text == RLT_NONE) {
        /* Too many distinct names: events are then labelled by their category. */
        if (t->strings.n >= MAX_STRINGS)
            n = snprintf(label, sizeof label, "%.32s\t\t", category);
        text = rlt_intern(&t->strings, label, (size_t)n);
    }
    if (text == RLT_NONE)
        return rlt_nomem(err);
    int rc = rlt_grow(&t->events, &t->events_capacity, sizeof *t->events, (uint64_t)t->n_events + 1,
                      MAX_EVENTS, "events of a timeline", err);
    if (rc)
        return rc;
    t->events[t->n_events++] = (rlt_timeline_event){from_ps, to_ps, track, text};
    return 0;
}

static int by_place(const void *a, const void *b)
{
    const rlt_timeline_event *x = a, *y = b;
    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    if (x->from_ps != y->from_ps)
        return x->from_ps < y->from_ps ? -1 : 1;
    if (x->to_ps != y->to_ps)
        return x->to_ps < y->to_ps ? -1 : 1;
    return (x->label > y->label) - (x->label < y->label);
}

/* A drawn event: the events from `first` on that are merged into it. */
typedef struct drawn {
    rlt_time from_ps, to_ps, busy_ps;
    uint32_t n, label; /* label: that of the longest event */
} drawn;

static drawn next_drawn(const rlt_timeline *t, uint32_t first, rlt_time resolution_ps)
{
    const rlt_timeline_event *e = &t->events[first];
    rlt_time longest = e->to_ps - e->from_ps;
    drawn d = {e->from_ps, e->to_ps, longest, 1, e->label};
    for (uint32_t i = first + 1; longest < resolution_ps && i < t->n_events; i++) {
        const rlt_timeline_event *x = &t->events[i];
        rlt_time length = x->to_ps - x->from_ps;
        if (x->track != e->track || length >= resolution_ps || x->from_ps - d.from_ps >= resolution_ps)
            break;
        if (length > longest) {
            longest = length;
            d.label = x->label;
        }
        d.to_ps = x->to_ps > d.to_ps ? x->to_ps : d.to_ps;
        d.busy_ps += length;
        d.n++;
    }
    return d;
}

/* Events of one track, contiguous after sorting. Equal tracks of ranks are written once: `like` is the first
 * such track, or the track itself. */
typedef struct segment {
    uint32_t first, n, like;
} segment;

static bool same_events(const rlt_timeline_event *a, const rlt_timeline_event *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (a[i].from_ps != b[i].from_ps || a[i].to_ps != b[i].to_ps || a[i].label != b[i].label)
            return false;
    return true;
}

static uint64_t hash_events(const rlt_timeline_event *e, uint32_t n)
{
    uint64_t h = n;
    for (uint32_t i = 0; i < n; i++) {
        int64_t parts[3] = {e[i].from_ps, e[i].to_ps, e[i].label};
        h = rlt_hash_bytes(parts, sizeof parts, h);
    }
    return h;
}

static int find_segments(const rlt_timeline *t, segment **out, uint32_t *n, rlt_error *err)
{
    segment *list = malloc(((size_t)t->n_tracks + 1) * sizeof *list);
    rlt_map seen = {0};
    int rc = list ? 0 : rlt_nomem(err);
    *out = list;
    *n = 0;
    for (uint32_t i = 0; i < t->n_events && !rc; ++*n) {
        segment *s = &list[*n];
        *s = (segment){.first = i, .like = *n};
        while (i < t->n_events && t->events[i].track == t->events[s->first].track)
            i++;
        s->n = i - s->first;
        uint64_t hash = hash_events(&t->events[s->first], s->n);
        uint32_t old = rlt_map_get(&seen, hash);
        if (old == RLT_NONE)
            rc = rlt_map_put(&seen, hash, *n) ? rlt_nomem(err) : 0;
        else if (list[old].n == s->n && same_events(&t->events[list[old].first], &t->events[s->first], s->n))
            s->like = old;
    }
    rlt_map_free(&seen);
    return rc;
}

static uint32_t count_drawn(const rlt_timeline *t, const segment *list, uint32_t n, rlt_time resolution_ps)
{
    uint32_t total = 0;
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = list[k].first; list[k].like == k && i < list[k].first + list[k].n; total++)
            i += next_drawn(t, i, resolution_ps).n;
    return total;
}

static uint32_t put_track(const rlt_timeline *t, const segment *s, rlt_time resolution_ps, rlt_pack *pack)
{
    uint32_t n = 0;
    rlt_time end_ps = 0;
    for (uint32_t i = s->first; i < s->first + s->n; n++) {
        drawn d = next_drawn(t, i, resolution_ps);
        i += d.n;
        rlt_time from = d.from_ps > end_ps ? d.from_ps : end_ps, to = d.to_ps > from ? d.to_ps : from;
        rlt_pack_number(pack, (uint64_t)(from - end_ps));
        rlt_pack_number(pack, (uint64_t)(to - from));
        rlt_pack_number(pack, (uint64_t)d.label * 2 + (d.n > 1));
        if (d.n > 1) {
            rlt_pack_number(pack, d.n);
            rlt_pack_number(pack, (uint64_t)d.busy_ps);
        }
        end_ps = to;
    }
    return n;
}

static int put_data(const rlt_timeline *t, const segment *s, rlt_time resolution_ps, rlt_pack *pack,
                    rlt_jw *w, rlt_error *err)
{
    pack->n = 0;
    uint32_t n = put_track(t, s, resolution_ps, pack);
    char *text = rlt_pack_base64(pack);
    if (!text)
        return rlt_nomem(err);
    rlt_jw_u64(w, "n", n);
    rlt_jw_string(w, "data", text);
    free(text);
    return 0;
}

static int put_tracks(const rlt_timeline *t, const segment *list, uint32_t n, rlt_time resolution_ps,
                      rlt_jw *w, rlt_error *err)
{
    rlt_pack pack = {0};
    int rc = 0;
    rlt_jw_array(w, "tracks");
    for (uint32_t i = 0; i < n && !rc; i++) {
        const rlt_timeline_track *track = &t->tracks[t->events[list[i].first].track];
        rlt_jw_object(w, NULL);
        rlt_jw_u64(w, "rank", track->rank);
        rlt_jw_u64(w, "order", track->order);
        rlt_jw_string(w, "name", rlt_interned(&t->strings, track->name));
        if (list[i].like != i)
            rlt_jw_u64(w, "like", list[i].like);
        else
            rc = put_data(t, &list[i], resolution_ps, &pack, w, err);
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
    free(pack.bytes);
    return rc;
}

/* Returns the finest resolution that leaves at most `most` events; 0: nothing is merged. */
static rlt_time find_resolution(const rlt_timeline *t, const segment *list, uint32_t n, uint32_t most,
                                rlt_time end_ps, uint32_t *shown)
{
    rlt_time resolution_ps = 512;
    uint32_t all = 0;
    for (uint32_t i = 0; i < n; i++)
        all += list[i].like == i ? list[i].n : 0;
    *shown = all;
    /* At a resolution beyond the end of the run each track is one event, the minimum. */
    while (*shown > most && resolution_ps <= end_ps) {
        resolution_ps *= 2;
        *shown = count_drawn(t, list, n, resolution_ps);
    }
    return *shown == all ? 0 : resolution_ps;
}

int rlt_timeline_json(rlt_timeline *t, uint32_t most, rlt_jw *w, rlt_error *err)
{
    rlt_time end_ps = 0;
    segment *list = NULL;
    uint32_t n, shown;
    if (t->n_events)
        qsort(t->events, t->n_events, sizeof *t->events, by_place);
    for (uint32_t i = 0; i < t->n_events; i++)
        end_ps = t->events[i].to_ps > end_ps ? t->events[i].to_ps : end_ps;
    int rc = find_segments(t, &list, &n, err);
    if (!rc) {
        rlt_time resolution_ps = find_resolution(t, list, n, most, end_ps, &shown);
        rlt_jw_object(w, "timeline");
        rlt_jw_i64(w, "end_ps", end_ps);
        rlt_jw_u64(w, "events", t->n_events);
        rlt_jw_u64(w, "shown", shown);
        rlt_jw_u64(w, "dropped", t->dropped);
        rlt_jw_i64(w, "resolution_ps", resolution_ps);
        rlt_jw_array(w, "labels");
        for (uint32_t i = 0; i < t->strings.n; i++)
            rlt_jw_string(w, NULL, rlt_interned(&t->strings, i));
        rlt_jw_end_array(w);
        rc = put_tracks(t, list, n, resolution_ps, w, err);
        rlt_jw_end_object(w);
    }
    free(list);
    return rc;
}

void rlt_timeline_free(rlt_timeline *t)
{
    rlt_strings_free(&t->strings);
    free(t->tracks);
    free(t->events);
    *t = (rlt_timeline){0};
}
