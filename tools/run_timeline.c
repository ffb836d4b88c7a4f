/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The timeline as Chrome trace events, which Perfetto opens. A process is a rank; a thread is one serial
 * resource, so that events on it never overlap: host threads, streams, and, for communication without a
 * stream, as many lanes as are in flight at once. A collective shows as two events, its wait and its
 * transfer. Times are microseconds with six decimals, written from integer picoseconds.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/units.h"
#include "tools/message.h"
#include "tools/run.h"

enum { MAX_EVENTS = 1000000, MAX_LANES = 64, LANE_TID = 1000000, MAX_TRACKS = 32 };

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

/* Writes all but the closing brace; false when the event was dropped. */
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

static const char *category(uint8_t kind)
{
    static const char *const names[] = {"compute", "memory", "host", "delay", "collective", "send", "recv"};
    return names[kind];
}

static void one_op(writer *w, const rlt_run *r, uint32_t index, uint32_t tid)
{
    const rlt_op *op = &r->program->ops[index];
    rlt_op_result t = rlt_replay_op(r->replay, index);
    const char *name = rlt_program_string(r->program, op->name);
    if (op->kind < RLT_OP_COLLECTIVE) {
        if (event(w, op->rank, tid, category(op->kind), name, "", t.start_ps, t.end_ps))
            fputs("}", w->out);
        return;
    }
    rlt_comm_result c = rlt_replay_comm(r->replay, op->comm);
    const rlt_comm *comm = &r->program->comms[op->comm];
    if (c.last_arrival_ps > t.start_ps &&
        event(w, op->rank, tid, "wait", name, " (wait)", t.start_ps, c.last_arrival_ps)) {
        fprintf(w->out, ",\"args\":{\"for_rank\":%u}}",
                r->program->ops[r->program->comm_ops[comm->first_op + c.last_member]].rank);
    }
    if (event(w, op->rank, tid, category(op->kind), name, "", c.last_arrival_ps, t.end_ps))
        fprintf(w->out,
                ",\"args\":{\"collective\":\"%s\",\"algorithm\":\"%s\",\"bytes\":%" PRIu64 ",\"ranks\":%u}}",
                rlt_coll_name(comm->kind), c.algorithm ? c.algorithm : "", comm->bytes,
                rlt_run_comm_ranks(r, op->comm));
}

typedef struct placed {
    rlt_time start_ps;
    uint32_t op;
} placed;

static int by_start(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    if (x->start_ps != y->start_ps)
        return x->start_ps < y->start_ps ? -1 : 1;
    return (x->op > y->op) - (x->op < y->op);
}

/* Communication without a resource: each goes to the first lane that is free. */
static int lanes_of_rank(writer *w, const rlt_run *r, uint32_t rank, rlt_error *err)
{
    const rlt_program *p = r->program;
    uint32_t first = p->rank_first[rank], n = p->rank_first[rank + 1] - first, k = 0, used = 0;
    placed *list = malloc(((size_t)n + 1) * sizeof *list);
    rlt_time free_at[MAX_LANES] = {0};
    if (!list)
        return rlt_nomem(err);
    for (uint32_t i = first; i < first + n; i++)
        if (p->ops[i].resource == RLT_NONE && rlt_replay_op(r->replay, i).end_ps >= 0)
            list[k++] = (placed){rlt_replay_op(r->replay, i).start_ps, i};
    qsort(list, k, sizeof *list, by_start);
    for (uint32_t i = 0; i < k; i++) {
        uint32_t lane = 0;
        while (lane < MAX_LANES && free_at[lane] > list[i].start_ps)
            lane++;
        if (lane == MAX_LANES) {
            w->dropped++;
            continue;
        }
        if (lane >= used) {
            char name[32];
            used = lane + 1;
            snprintf(name, sizeof name, "communication %u", lane);
            metadata(w, "thread_name", rank, LANE_TID + lane, "name", name, 0);
            metadata(w, "thread_sort_index", rank, LANE_TID + lane, "sort_index", NULL, LANE_TID + lane);
        }
        free_at[lane] = rlt_replay_op(r->replay, list[i].op).end_ps;
        one_op(w, r, list[i].op, LANE_TID + lane);
    }
    free(list);
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
    for (uint32_t i = 0; i < p->n_resources; i++) {
        const rlt_resource *res = &p->resources[i];
        const char *name = rlt_program_string(p, res->name);
        metadata(w, "thread_name", res->rank, i + 1, "name", name[0] ? name : "resource", 0);
        metadata(w, "thread_sort_index", res->rank, i + 1, "sort_index", NULL, i + 1);
    }
}

/* Utilization of the busiest links over time, as counters of a process of their own. */
static int counters(writer *w, const rlt_run *r, rlt_error *err)
{
    const rlt_net *net = rlt_replay_net(r->replay);
    rlt_link_class *list = NULL;
    uint32_t n = 0, pid = r->program->n_ranks;
    rlt_time bin = net ? rlt_usage_bin_ps(net->usage) : 0;
    int rc;
    if (!bin)
        return 0;
    if ((rc = rlt_run_links(r, true, &list, &n, err)))
        return rc;
    metadata(w, "process_name", pid, 0, "name", "links: utilization", 0);
    for (uint32_t i = 0; i < n && i < MAX_TRACKS && list[i].usage.bytes; i++) {
        char name[160], ts[32];
        rlt_link_class_name(r->setup.topology, &list[i], name, sizeof name);
        /* As built: its capacity may have changed. */
        double full = (double)rlt_topology_link(r->setup.topology, list[i].first).bw_Bps *
                      r->options.network_scale * (double)bin * 1e-12;
        uint32_t bins = rlt_usage_bins(net->usage);
        for (uint32_t b = 0; b <= bins; b++) { /* a last zero: a counter keeps its value for ever */
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
    const rlt_program *p = r->program;
    rlt_file f = {0};
    int rc = rlt_file_open(&f, path, err);
    if (rc)
        return rc;
    writer w = {.out = f.stream, .first = true};
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", f.stream);
    names(&w, r);
    for (uint32_t i = 0; i < p->n_ops; i++)
        if (p->ops[i].resource != RLT_NONE && rlt_replay_op(r->replay, i).end_ps >= 0)
            one_op(&w, r, i, p->ops[i].resource + 1);
    for (uint32_t i = 0; i < p->n_ranks && !rc; i++)
        rc = lanes_of_rank(&w, r, i, err);
    if (!rc)
        rc = counters(&w, r, err);
    if (rc) {
        rlt_file_discard(&f);
        return rc;
    }
    fprintf(f.stream, "\n],\"otherData\":{\"generator\":\"ringlet\",\"dropped_events\":%" PRIu64 "}}\n",
            w.dropped);
    if (w.dropped)
        rlt_warn("%s: %" PRIu64 " events beyond the first %d were left out", path, w.dropped, MAX_EVENTS);
    return rlt_file_close(&f, err);
}
