/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a timeline of any length from the Chrome trace events of `ringlet run --timeline`. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/text/json_stream.h"
#include "tools/report/timeline.h"

typedef struct reading {
    rlt_jstream *stream;
    rlt_timeline *t;
    rlt_map tracks; /* (pid, tid) -> track */
} reading;

static bool number(const rlt_jpiece *p, uint32_t object, const char *key, int shift, int64_t *out)
{
    const char *text = rlt_jpiece_text(p, rlt_jpiece_get(p, object, key));
    return text && rlt_decimal_i64(text, shift, out);
}

static const char *text_of(const rlt_jpiece *p, uint32_t object, const char *key)
{
    const char *text = rlt_jpiece_text(p, rlt_jpiece_get(p, object, key));
    return text ? text : "";
}

static int track_of(reading *r, const rlt_jpiece *p, const char *name, uint32_t *track, rlt_error *err)
{
    int64_t pid, tid;
    if (!number(p, 0, "pid", 0, &pid) || !number(p, 0, "tid", 0, &tid) || pid < 0 || tid < 0 ||
        pid > UINT32_MAX || tid > UINT32_MAX)
        return rlt_jstream_fail(r->stream, p, RLT_ESCHEMA, err, "expected an event with pid and tid");
    uint64_t key = (uint64_t)pid << 32 | (uint64_t)tid;
    *track = rlt_map_get(&r->tracks, key);
    if (*track != RLT_NONE)
        return 0;
    int rc = rlt_timeline_add_track(r->t, (uint32_t)pid, (uint32_t)tid, name, track, err);
    if (!rc && rlt_map_put(&r->tracks, key, *track))
        rc = rlt_nomem(err);
    return rc;
}

static void describe(const rlt_jpiece *p, char *detail, size_t size)
{
    uint32_t args = rlt_jpiece_get(p, 0, "args");
    int64_t rank, bytes, ranks;
    char amount[32];
    detail[0] = '\0';
    if (number(p, args, "for_rank", 0, &rank))
        snprintf(detail, size, "for rank %" PRId64, rank);
    else if (number(p, args, "bytes", 0, &bytes) && number(p, args, "ranks", 0, &ranks) && bytes >= 0)
        snprintf(detail, size, "%s %s, %s, %" PRId64 " ranks", text_of(p, args, "collective"),
                 text_of(p, args, "algorithm"), rlt_format_size(amount, sizeof amount, (uint64_t)bytes),
                 ranks);
}

static int one_event(reading *r, const rlt_jpiece *p, rlt_error *err)
{
    const char *phase = text_of(p, 0, "ph");
    int64_t from, length;
    uint32_t track;
    char detail[112];
    int rc;
    if (strcmp(phase, "M") == 0 && strcmp(text_of(p, 0, "name"), "thread_name") == 0)
        return track_of(r, p, text_of(p, rlt_jpiece_get(p, 0, "args"), "name"), &track, err);
    if (strcmp(phase, "X") != 0)
        return 0;
    if (!number(p, 0, "ts", 6, &from) || !number(p, 0, "dur", 6, &length) || from < 0 || length < 0 ||
        from > RLT_TIME_MAX / 2 || length > RLT_TIME_MAX / 2)
        return rlt_jstream_fail(r->stream, p, RLT_ESCHEMA, err, "expected an event with ts and dur in us");
    if ((rc = track_of(r, p, "", &track, err)))
        return rc;
    describe(p, detail, sizeof detail);
    return rlt_timeline_add(r->t, track, text_of(p, 0, "cat"), text_of(p, 0, "name"), detail, from,
                            from + length, err);
}

int rlt_timeline_read(const char *path, rlt_timeline *t, rlt_error *err)
{
    static const char *const members[] = {"traceEvents", "otherData", NULL};
    reading r = {.t = t};
    rlt_jpiece piece;
    bool any = false;
    int rc = rlt_jstream_open(path, members, &r.stream, err);
    if (rc)
        return rc;
    while ((rc = rlt_jstream_next(r.stream, &piece, err)) > 0) {
        int64_t dropped;
        if (strcmp(piece.key, "otherData") == 0) {
            if (number(&piece, 0, "dropped_events", 0, &dropped) && dropped > 0)
                t->dropped += (uint64_t)dropped;
            continue;
        }
        any = true;
        if ((rc = one_event(&r, &piece, err)))
            break;
    }
    if (!rc && !any)
        rc =
            rlt_fail(err, RLT_ESCHEMA, path, "expected a timeline: 'traceEvents', as --timeline writes them");
    rlt_map_free(&r.tracks);
    rlt_jstream_close(r.stream);
    return rc;
}
