/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The timeline as Chrome trace events, which Perfetto opens. A process is a rank, a thread is a track. Times
 * are microseconds with six decimals, written from integer picoseconds.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "net/links.h"
#include "net/network.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "tools/base/file.h"
#include "tools/base/message.h"
#include "tools/run/events.h"
#include "tools/run/report.h"
#include "workload/experiment/run/result.h"
#include "workload/experiment/run/run.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"

enum { MAX_EVENTS = 1000000, MAX_TRACKS = 32 };

typedef struct writer {
    FILE *out;
    uint64_t written, dropped;
    bool first;
} writer;

static void quote(FILE *out, const char *s)
{
    fputc('"', out);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 0x20)
            fprintf(out, "\\u%04x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

static void begin(writer *w)
{
    fputs(w->first ? "\n" : ",\n", w->out);
    w->first = false;
}

static void metadata(writer *w, const char *what, uint32_t pid, uint32_t tid, const char *key,
                     const char *text, uint32_t number)
{
    begin(w);
    fprintf(w->out, "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"args\":{\"%s\":", what, pid, tid,
            key);
    if (text)
        quote(w->out, text);
    else
        fprintf(w->out, "%u", number);
    fputs("}}", w->out);
}

/* Writes an event without its closing brace. Returns false if it was dropped. */
static bool event(writer *w, uint32_t pid, uint32_t tid, const char *category, const char *name,
                  const char *suffix, rlt_time from, rlt_time to)
{
    char ts[32], dur[32], label[200];
    if (w->written >= MAX_EVENTS) {
        w->dropped++;
        return false;
    }
    w->written++;
    begin(w);
    snprintf(label, sizeof label, "%.150s%s", name[0] ? name : category, suffix);
    fprintf(w->out, "{\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"ts\":%s,\"dur\":%s,\"cat\":\"%s\",\"name\":", pid,
            tid, rlt_format_us(ts, sizeof ts, from), rlt_format_us(dur, sizeof dur, to - from), category);
    quote(w->out, label);
    return true;
}

static int put_track(void *ctx, uint32_t rank, uint32_t track, const char *name, rlt_error *err)
{
    (void)err;
    metadata(ctx, "thread_name", rank, track, "name", name, 0);
    metadata(ctx, "thread_sort_index", rank, track, "sort_index", NULL, track);
    return 0;
}

static int put_event(void *ctx, const rlt_run *r, const rlt_run_event *e, rlt_error *err)
{
    writer *w = ctx;
    bool wait = strcmp(e->category, "wait") == 0;
    (void)err;
    if (!event(w, e->rank, e->track, e->category, e->name, wait ? " (wait)" : "", e->from_ps, e->to_ps))
        return 0;
    if (wait)
        fprintf(w->out, ",\"args\":{\"for_rank\":%u}}", e->for_rank);
    else if (e->comm != RLT_NONE)
        fprintf(w->out,
                ",\"args\":{\"collective\":\"%s\",\"algorithm\":\"%s\",\"bytes\":%" PRIu64 ",\"ranks\":%u}}",
                rlt_coll_name(r->program->comms[e->comm].kind), e->algorithm,
                r->program->comms[e->comm].bytes, rlt_run_comm_ranks(r, e->comm));
    else
        fputs("}", w->out);
    return 0;
}

static void names(writer *w, const rlt_run *r)
{
    const rlt_program *p = r->program;
    for (uint32_t i = 0; i < p->n_ranks; i++) {
        char name[32];
        snprintf(name, sizeof name, "rank %u", i);
        metadata(w, "process_name", i, 0, "name", name, 0);
        metadata(w, "process_sort_index", i, 0, "sort_index", NULL, i);
    }
}

/* Writes the utilization of the busiest links over time as counters of an extra process. */
static int counters(writer *w, const rlt_run *r, rlt_error *err)
{
    const rlt_net *net = rlt_replay_net(r->replay);
    rlt_link_class *list = NULL;
    uint32_t n = 0, pid = r->program->n_ranks;
    rlt_time bin = net && r->settings->series_ps ? rlt_usage_bin_ps(net->usage) : 0;
    int rc;
    if (!bin)
        return 0;
    if ((rc = rlt_run_links(r, true, &list, &n, err)))
        return rc;
    metadata(w, "process_name", pid, 0, "name", "links: utilization", 0);
    for (uint32_t i = 0; i < n && i < MAX_TRACKS && list[i].usage.bytes; i++) {
        char name[160], ts[32];
        rlt_link_class_name(r->setup.topology, &list[i], name, sizeof name);
        /* The capacity as built: it may have changed during the run. */
        double full = (double)rlt_topology_link(r->setup.topology, list[i].first).bw_Bps *
                      r->options.network_scale * (double)bin * 1e-12;
        uint32_t bins = rlt_usage_bins(net->usage);
        for (uint32_t b = 0; b <= bins; b++) { /* a final zero, since a counter keeps its last value */
            begin(w);
            fprintf(w->out, "{\"ph\":\"C\",\"pid\":%u,\"tid\":0,\"ts\":%s,\"name\":", pid,
                    rlt_format_us(ts, sizeof ts, (rlt_time)b * bin));
            quote(w->out, name);
            fprintf(w->out, ",\"args\":{\"utilization\":%.4f}}",
                    b < bins ? rlt_usage_bin_bytes(net->usage, list[i].first, b) / full : 0);
        }
    }
    free(list);
    return 0;
}

int rlt_run_timeline(const rlt_run *r, const char *path, rlt_error *err)
{
    rlt_file f = {0};
    int rc = rlt_file_open(&f, path, err);
    if (rc)
        return rc;
    writer w = {.out = f.stream, .first = true};
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", f.stream);
    names(&w, r);
    rlt_run_sink sink = {&w, put_track, put_event};
    uint64_t no_lane;
    rc = rlt_run_events(r, &sink, &no_lane, err);
    w.dropped += no_lane;
    if (!rc)
        rc = counters(&w, r, err);
    uint64_t counts = 0;
    if (!rc)
        rc = rlt_run_memory_counters(r, f.stream, &counts, err);
    if (rc) {
        rlt_file_discard(&f);
        return rc;
    }
    fprintf(f.stream, "\n],\"otherData\":{\"generator\":\"ringlet\",\"dropped_events\":%" PRIu64 "}}\n",
            w.dropped + counts);
    if (w.dropped)
        rlt_warn("%s: %" PRIu64 " events beyond the first %d were left out", path, w.dropped, MAX_EVENTS);
    return rlt_file_close(&f, err);
}
