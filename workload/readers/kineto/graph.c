/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Turns the events of one recording into operations of one rank.
 *
 * Device work runs on its stream in launch order and waits for the host call that launched it. Dependencies
 * between streams come from cuda_sync events, if the recording has them. If it has none, they are inferred:
 *   - A collective waits for the work launched last on the stream that its thread was using.
 *   - If cudaStreamWaitEvent was called since a stream's last launch, its next work waits for the collective
 *     that explains when it started, and for the last work of the stream used before. Inside the wait() of a
 *     collective it waits for the oldest collective not waited for yet.
 *   - Work that begins just after the end of a collective, and long after everything else that it waits for,
 *     waits for that collective. This holds beside cuda_sync events, too: a host may poll.
 * Every edge is checked against the recording: work must not start before the end of the work it waits for.
 *
 * Early work was launched before the window, or before the profiler began, but runs inside. It comes first on
 * its stream. Nothing is known of the waits before it, so times alone tell what it waits for.
 *
 * The time between the last of these ends and the recorded start (launch latency, gaps between kernels)
 * becomes a delay. Only recorded waiting is regenerated.
 */
#include "workload/readers/kineto/graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/map.h"
#include "sim/base/mem.h"

/* A collective explains the start of work that begins within this time after its end. */
#define EVIDENCE_NS 10000
/* A gap longer than launch latency. */
#define LONG_GAP_NS 50000
enum { COMMS_BACK = 256 };

/* Makes room for one more item in an array of the graph; the builder keeps a failure. */
static bool make_room(rlt_kin_graph *g, void *items, uint32_t *capacity, size_t size, uint32_t n,
                      const char *what)
{
    rlt_error err = {.code = 0};
    int rc = rlt_grow(items, capacity, size, (uint64_t)n + 1, RLT_MAX_OPS, what, &err);
    rlt_build_fail(g->b, &err);
    return rc == 0;
}

uint32_t rlt__kin_build(rlt_kin_graph *g, const rlt_op_desc *d, int64_t end)
{
    uint32_t op = rlt_build_op(g->b, d);
    if (op == RLT_NONE)
        return RLT_NONE;
    if (g->n_ops == 0)
        g->first_op = op;
    if (g->n_ops == g->ends_capacity &&
        !make_room(g, &g->ends, &g->ends_capacity, sizeof *g->ends, g->n_ops, "operations"))
        return RLT_NONE;
    g->ends[g->n_ops++] = end;
    for (uint32_t i = 0; i < g->n_deps; i++)
        rlt_build_dep(g->b, op, g->deps[i]);
    g->n_deps = 0;
    return op;
}

void rlt__kin_depend(rlt_kin_graph *g, uint32_t op)
{
    if (op == RLT_NONE)
        return;
    for (uint32_t i = 0; i < g->n_deps && i < 16; i++)
        if (g->deps[i] == op)
            return;
    if (g->n_deps < g->deps_capacity ||
        make_room(g, &g->deps, &g->deps_capacity, sizeof *g->deps, g->n_deps, "dependencies"))
        g->deps[g->n_deps++] = op;
}

int rlt__kin_add_item(rlt_kin_graph *g, rlt_kin_item_type type, int64_t t, uint32_t row, uint32_t a)
{
    int rc = rlt_grow(&g->items, &g->items_capacity, sizeof *g->items, (uint64_t)g->n_items + 1, RLT_MAX_OPS,
                      "host calls", g->err);
    if (rc < 0)
        return rc;
    g->items[g->n_items] =
        (rlt_kin_item){.t = t, .row = row, .order = g->n_items, .a = a, .type = (uint8_t)type};
    g->n_items++;
    return 0;
}

static bool step_begun(const void *step, const void *t)
{
    return ((const rlt_kin_step *)step)->begin <= *(const int64_t *)t;
}

uint16_t rlt__kin_step_at(const rlt_kin_recording *k, const rlt_kin_window *w, int64_t t)
{
    const rlt_kin_step *steps = w->n_steps ? k->steps + w->first_step : NULL;
    uint32_t begun = rlt__kin_first(steps, w->n_steps, sizeof *steps, step_begun, &t);
    return (uint16_t)(begun > 0 ? begun - 1 : 0);
}

/* Adds an edge from work to work if the recording agrees with it. */
static bool depend_checked(rlt_kin_graph *g, uint32_t op, int64_t start)
{
    if (op == RLT_NONE)
        return false;
    if (rlt__kin_op_end(g, op) > start + RLT_KIN_TOLERANCE_NS) {
        g->dropped++;
        return false;
    }
    rlt__kin_depend(g, op);
    return true;
}

static void depend_pending(rlt_kin_graph *g, rlt_kin_stream *s, int64_t start)
{
    for (uint32_t p = s->first_pending; p != RLT_NONE; p = g->pending[p].next)
        depend_checked(g, g->pending[p].op, start);
    s->first_pending = RLT_NONE;
}

static bool waits_before(const void *wait, const void *t)
{
    return ((const struct rlt_kin_wait *)wait)->t < *(const int64_t *)t;
}

/* Counts the stream waits of both classes with times in [from, to). *last: time of the last one. */
static void count_waits(const rlt_kin_graph *g, int64_t from, int64_t to, uint32_t *comm, uint32_t *other,
                        int64_t *last)
{
    uint32_t before = rlt__kin_first(g->waits, g->n_waits, sizeof *g->waits, waits_before, &from);
    uint32_t until = rlt__kin_first(g->waits, g->n_waits, sizeof *g->waits, waits_before, &to);
    *comm = *other = 0;
    if (until <= before)
        return;
    const struct rlt_kin_wait *end = &g->waits[until - 1], *begin = before ? &g->waits[before - 1] : NULL;
    *comm = end->comm - (begin ? begin->comm : 0);
    *other = end->other - (begin ? begin->other : 0);
    *last = end->t;
}

/* Returns the collective that explains a stream wait of work starting at `start`: the last one that ended
 * just before, if nothing else held the work up that long; else, inside a wait(), the oldest one. */
static uint32_t find_comm(const rlt_kin_graph *g, const rlt_kin_stream *s, int64_t before, int64_t held,
                          int64_t start, bool in_wait)
{
    uint32_t n = g->n_issued, oldest = RLT_NONE;
    uint32_t first = n > COMMS_BACK && s->comm_waited < n - COMMS_BACK ? n - COMMS_BACK : s->comm_waited;
    for (uint32_t i = n; i > first; i--) {
        int64_t end = rlt__kin_op_end(g, g->issued[i - 1].op);
        if (g->issued[i - 1].t >= before || end > start + RLT_KIN_TOLERANCE_NS)
            continue;
        if (start + RLT_KIN_TOLERANCE_NS - end <= EVIDENCE_NS && end > held - 2 * RLT_KIN_TOLERANCE_NS)
            return i - 1;
        oldest = i - 1;
    }
    return in_wait ? oldest : RLT_NONE;
}

/* Returns the work launched last before a time on the most recently used stream other than `row`. */
static uint32_t find_other_stream(const rlt_kin_graph *g, uint32_t row, int64_t before)
{
    uint32_t best = RLT_NONE;
    for (uint32_t i = 0; i < g->n_streams_used; i++) {
        uint32_t r = g->streams_used[i];
        const rlt_kin_stream *s = &g->streams[r];
        if (r != row && s->last_work != RLT_NONE && s->last_work_t < before &&
            (best == RLT_NONE || s->last_work_t > g->streams[best].last_work_t))
            best = r;
    }
    return best == RLT_NONE ? RLT_NONE : g->streams[best].last_work;
}

static int64_t latest(const rlt_kin_graph *g, int64_t t)
{
    for (uint32_t i = 0; i < g->n_deps; i++) {
        int64_t end = rlt__kin_op_end(g, g->deps[i]);
        t = end > t ? end : t;
    }
    return t;
}

/* Adds edges for the stream waits called since the stream's last launch. */
static void depend_inferred(rlt_kin_graph *g, uint32_t row, int64_t called, int64_t cut, int64_t start)
{
    rlt_kin_stream *s = &g->streams[row];
    uint32_t comm, other;
    int64_t last = 0;
    count_waits(g, s->waits_seen, called, &comm, &other, &last);
    s->waits_seen = called;
    if (comm + other == 0)
        return;
    uint32_t found = find_comm(g, s, last, latest(g, cut), start, comm > 0);
    if (found != RLT_NONE) {
        rlt__kin_depend(g, g->issued[found].op);
        s->comm_waited = found + 1;
    }
    uint32_t work = other > 0 ? find_other_stream(g, row, last) : RLT_NONE;
    if (work != RLT_NONE && work != s->work_waited && depend_checked(g, work, start))
        s->work_waited = work;
}

static uint32_t stream_resource(rlt_kin_graph *g, uint32_t row)
{
    rlt_kin_stream *s = &g->streams[row];
    if (s->resource == RLT_NONE) {
        g->streams_used[g->n_streams_used++] = row;
        const char *name = rlt_interned(&g->k->rows, row) + 1, *slash = strrchr(name, '/');
        char text[160];
        snprintf(text, sizeof text, "device %.*s stream %.70s", (int)(slash - name), name, slash + 1);
        s->resource = rlt_build_resource(g->b, g->rank, RLT_RES_STREAM, text);
    }
    return s->resource;
}

/* Adds a delay from `base`, the end of everything that the work waits for, to its start. */
static void insert_delay(rlt_kin_graph *g, int64_t base, int64_t start, uint16_t step)
{
    if (start <= base)
        return;
    g->long_gaps += start - base > LONG_GAP_NS;
    rlt_op_desc d = rlt_op_desc_init(RLT_OP_DELAY, g->rank);
    d.duration_ps = (start - base) * RLT_NS;
    d.recorded_ps = rlt__kin_ps(g, base);
    d.recorded_duration_ps = d.duration_ps;
    d.step = step;
    uint32_t delay = rlt__kin_build(g, &d, start);
    rlt__kin_depend(g, delay);
}

/* Fills kind, duration and other fields of a launch. `nccl`: index among the rank's collectives, or
 * RLT_NONE. */
static int describe(rlt_kin_graph *g, const rlt_kin_event *work, uint32_t nccl, rlt_op_desc *d)
{
    *d = rlt_op_desc_init(work->cat == RLT_KIN_MEMORY ? RLT_OP_MEMORY : RLT_OP_COMPUTE, g->rank);
    const char *name = rlt_interned(&g->k->strings, work->name);
    d->name = rlt_build_string(g->b, name, strlen(name));
    if (nccl == RLT_NONE || g->run->opts->keep_waits)
        return 0;
    return rlt__kin_comms_describe(g->comms, nccl, g->b, d, g->err);
}

/* Returns the stream that the calling thread uses: the one it launched on last, else any thread's. */
static uint32_t current_stream(const rlt_kin_graph *g, uint32_t thread)
{
    uint32_t s = thread == RLT_NONE ? RLT_NONE : g->threads[thread].stream;
    return s == RLT_NONE ? g->last_stream : s;
}

static void remember(rlt_kin_graph *g, uint32_t row, uint32_t thread, uint32_t op, int64_t called, bool comm)
{
    rlt_kin_stream *s = &g->streams[row];
    s->last = op;
    if (comm) {
        g->issued[g->n_issued++] = (struct rlt_kin_issued){.op = op, .row = row, .t = called};
        return;
    }
    s->work_before = s->last_work;
    s->last_work = op;
    s->last_work_t = called;
    g->last_stream = row;
    if (thread != RLT_NONE)
        g->threads[thread].stream = row;
}

/* Adds edges from an early collective to the last work of every other stream that ended before it began: what
 * it waited for was called before the window. */
static void depend_on_streams(rlt_kin_graph *g, const rlt_kin_event *work)
{
    for (uint32_t i = 0; i < g->n_streams_used; i++) {
        const rlt_kin_stream *s = &g->streams[g->streams_used[i]];
        uint32_t op = s->last_work;
        if (op != RLT_NONE && rlt__kin_op_end(g, op) > work->ts + RLT_KIN_TOLERANCE_NS)
            op = s->work_before;
        if (g->streams_used[i] != work->row)
            depend_checked(g, op, work->ts);
    }
}

/* Adds an edge to the collective that explains a gap before work for which no wait is known. The collective
 * ended near the end of the gap: in its last twentieth, which one in twenty would by chance, and no earlier
 * than launch latency explains. */
static void depend_on_evidence(rlt_kin_graph *g, uint32_t row, int64_t cut, int64_t start)
{
    int64_t base = latest(g, cut > g->w.begin ? cut : g->w.begin), rest = (start - base) / 20;
    uint32_t n = g->n_issued, best = RLT_NONE;
    if (start - base <= EVIDENCE_NS)
        return;
    rest = rest < EVIDENCE_NS ? EVIDENCE_NS : rest > LONG_GAP_NS ? LONG_GAP_NS : rest;
    for (uint32_t i = n; i > 0 && i + COMMS_BACK > n; i--) {
        uint32_t op = g->issued[i - 1].op;
        int64_t end = rlt__kin_op_end(g, op);
        if (g->issued[i - 1].row != row && end <= start + RLT_KIN_TOLERANCE_NS && start - end <= rest &&
            (best == RLT_NONE || end > rlt__kin_op_end(g, best)))
            best = op;
    }
    g->evident += best != RLT_NONE;
    rlt__kin_depend(g, best);
}

/* Adds edges from the work to other work. `called`: time of the launch on the host. */
static void depend_on_work(rlt_kin_graph *g, const rlt_kin_event *work, const rlt_kin_item *item,
                           int64_t called)
{
    rlt_kin_stream *s = &g->streams[work->row];
    uint32_t from = current_stream(g, item->row);
    depend_pending(g, s, work->ts);
    if (item->early && work->role == RLT_KIN_NCCL)
        depend_on_streams(g, work);
    if (item->early || g->explicit_waits)
        return;
    if (work->role != RLT_KIN_NCCL)
        depend_inferred(g, work->row, called, item->t, work->ts);
    else if (from != RLT_NONE && from != work->row)
        depend_checked(g, g->streams[from].last_work, work->ts);
}

static uint32_t add_work(rlt_kin_graph *g, const rlt_kin_item *item, uint32_t host, uint32_t nccl)
{
    const rlt_kin_launch *l = &g->launches[item->a];
    const rlt_kin_event *work = &g->k->events[l->work];
    int64_t called = item->early ? g->w.begin : l->call == RLT_NONE ? item->t : g->k->events[l->call].ts;
    int64_t start = work->ts > g->w.begin ? work->ts : g->w.begin, end = rlt__kin_end(work);
    end = end > start ? end : start; /* clocks of host and device may contradict each other */
    rlt_kin_stream *s = &g->streams[work->row];
    rlt_op_desc d;
    int rc = describe(g, work, nccl, &d);
    if (rc < 0) {
        rlt_build_fail(g->b, g->err);
        return RLT_NONE;
    }
    rlt__kin_depend(g, host);
    bool overlaps = s->last != RLT_NONE && rlt__kin_op_end(g, s->last) > start + RLT_KIN_TOLERANCE_NS;
    if (!overlaps)
        rlt__kin_depend(g, s->last);
    g->overlapping += overlaps;
    depend_on_work(g, work, item, called);
    if (work->role != RLT_KIN_NCCL)
        depend_on_evidence(g, work->row, item->early ? g->w.begin : item->t, start);
    d.step = rlt__kin_step_at(g->k, &g->w, l->call == RLT_NONE ? start : item->t);
    int64_t base = latest(g, g->w.begin);
    insert_delay(g, base, start, d.step);
    uint32_t resource = stream_resource(g, work->row);
    d.resource = overlaps ? RLT_NONE : resource;
    d.recorded_ps = rlt__kin_ps(g, start);
    d.recorded_duration_ps = (end - start) * RLT_NS;
    base = base > start ? base : start; /* times rounded to 1 us may overlap */
    d.duration_ps = end > base ? (end - base) * RLT_NS : 0;
    uint32_t op = rlt__kin_build(g, &d, end > base ? end : base);
    if (op != RLT_NONE)
        remember(g, work->row, item->row, op, called, work->role == RLT_KIN_NCCL);
    g->tail += end > g->w.end;
    g->device_end = end > g->device_end ? end : g->device_end;
    return op;
}

typedef struct sync_key {
    const rlt_kin_sync *syncs;
    int64_t correlation;
    bool by_record;
} sync_key;

static bool sync_before(const void *index, const void *key)
{
    const sync_key *k = key;
    const rlt_kin_sync *s = &k->syncs[*(const uint32_t *)index];
    return (k->by_record ? s->record : s->correlation) < k->correlation;
}

/* Returns where a correlation begins in g's sync index (ordered by call or record). */
static uint32_t find_sync(const rlt_kin_graph *g, bool by_record, int64_t correlation)
{
    const uint32_t *index = by_record ? g->sync_by_record : g->sync_by_call;
    sync_key key = {.syncs = g->syncs, .correlation = correlation, .by_record = by_record};
    return rlt__kin_first(index, g->k->n_syncs, sizeof *index, sync_before, &key);
}

static const rlt_kin_sync *sync_of(const rlt_kin_graph *g, const rlt_kin_event *call)
{
    uint32_t i = call->correlation < 0 ? g->k->n_syncs : find_sync(g, false, call->correlation);
    const rlt_kin_sync *s = i < g->k->n_syncs ? &g->syncs[g->sync_by_call[i]] : NULL;
    return s && s->correlation == call->correlation ? s : NULL;
}

/* cudaEventRecord: a wait for this record waits for the last work of its stream so far. */
static void record_event(rlt_kin_graph *g, const rlt_kin_event *call)
{
    for (uint32_t i = find_sync(g, true, call->correlation); i < g->k->n_syncs; i++) {
        rlt_kin_sync *s = &g->syncs[g->sync_by_record[i]];
        if (s->record != call->correlation)
            break;
        if (s->source != RLT_NONE)
            s->found = g->streams[s->source].last;
    }
}

/* Returns the operation that a recorded wait waits for. */
static uint32_t sync_source(const rlt_kin_graph *g, const rlt_kin_sync *s)
{
    if (s->record >= 0 || s->source == RLT_NONE)
        return s->found;
    return g->streams[s->source].last;
}

static void wait_event(rlt_kin_graph *g, const rlt_kin_event *call)
{
    const rlt_kin_sync *s = sync_of(g, call);
    uint32_t op = s && s->kind == RLT_KIN_SYNC_STREAM_WAIT ? sync_source(g, s) : RLT_NONE;
    if (op == RLT_NONE || s->waiter == RLT_NONE ||
        !make_room(g, &g->pending, &g->pending_capacity, sizeof *g->pending, g->n_pending, "stream waits"))
        return;
    rlt_kin_stream *w = &g->streams[s->waiter];
    g->pending[g->n_pending].op = op;
    g->pending[g->n_pending].next = w->first_pending;
    w->first_pending = g->n_pending++;
}

/* For a call that waits for an unnamed stream or event: returns the latest work to end inside the call, among
 * the last launches of all streams. */
static uint32_t find_ending(const rlt_kin_graph *g, int64_t begin, int64_t end)
{
    uint32_t best = RLT_NONE;
    for (uint32_t i = 0; i < g->n_streams_used; i++) {
        uint32_t op = g->streams[g->streams_used[i]].last;
        int64_t e = rlt__kin_op_end(g, op);
        if (e > begin && e <= end + RLT_KIN_TOLERANCE_NS &&
            (best == RLT_NONE || e > rlt__kin_op_end(g, best)))
            best = op;
    }
    return best;
}

static void synchronise(rlt_kin_graph *g, uint32_t row, const rlt_kin_event *call)
{
    int64_t begin = call->ts, end = rlt__kin_end(call);
    rlt__kin_host_until(g, row, begin);
    const rlt_kin_sync *s = sync_of(g, call);
    if (call->role == RLT_KIN_DEVICE_SYNC) {
        for (uint32_t i = 0; i < g->n_streams_used; i++)
            rlt__kin_depend(g, g->streams[g->streams_used[i]].last);
    } else if (s && s->kind == RLT_KIN_SYNC_STREAM && s->waiter != RLT_NONE)
        rlt__kin_depend(g, g->streams[s->waiter].last);
    else if (s && s->kind == RLT_KIN_SYNC_EVENT && sync_source(g, s) != RLT_NONE)
        rlt__kin_depend(g, sync_source(g, s));
    else {
        uint32_t stream = call->role == RLT_KIN_STREAM_SYNC ? current_stream(g, row) : RLT_NONE;
        uint32_t op = stream == RLT_NONE ? RLT_NONE : g->streams[stream].last;
        bool agrees = op != RLT_NONE && rlt__kin_op_end(g, op) <= end + RLT_KIN_TOLERANCE_NS;
        bool waited = op != RLT_NONE && rlt__kin_op_end(g, op) > begin;
        if (!agrees || (!waited && end - begin > 20 * RLT_KIN_TOLERANCE_NS)) {
            uint32_t ending = find_ending(g, begin, end);
            op = ending != RLT_NONE ? ending : agrees ? op : RLT_NONE;
        }
        rlt__kin_depend(g, op);
    }
    rlt__kin_host_wait(g, row, begin, end);
}

static void launch(rlt_kin_graph *g, const rlt_kin_item *item, uint32_t *n_nccl)
{
    const rlt_kin_launch *l = &g->launches[item->a];
    const rlt_kin_event *work = &g->k->events[l->work];
    const rlt_kin_event *call = l->call == RLT_NONE ? NULL : &g->k->events[l->call];
    uint32_t host = call ? rlt__kin_host_until(g, item->row, item->t) : RLT_NONE;
    uint32_t nccl = item->b ? (*n_nccl)++ : RLT_NONE;
    uint32_t op = add_work(g, item, host, nccl);
    if (op == RLT_NONE || !call ||
        (call->role != RLT_KIN_BLOCKING_COPY && work->role != RLT_KIN_PAGEABLE_DTOH))
        return;
    if (rlt__kin_op_end(g, op) > rlt__kin_end(call) + RLT_KIN_TOLERANCE_NS)
        return; /* the call did not block */
    rlt__kin_depend(g, op);
    rlt__kin_host_wait(g, item->row, item->t, rlt__kin_end(call));
}

void rlt__kin_walk(rlt_kin_graph *g)
{
    uint32_t nccl = 0;
    for (uint32_t i = 0; i < g->n_items && !rlt_build_failed(g->b); i++) {
        const rlt_kin_item *item = &g->items[i];
        const rlt_kin_event *call = &g->k->events[item->a];
        if (item->type == RLT_KIN_ITEM_LAUNCH)
            launch(g, item, &nccl);
        else if (item->type == RLT_KIN_ITEM_RECORD)
            record_event(g, call);
        else if (item->type == RLT_KIN_ITEM_WAIT)
            wait_event(g, call);
        else if (item->type == RLT_KIN_ITEM_SYNC)
            synchronise(g, item->row, call);
        else
            rlt__kin_host_item(g, item);
    }
    if (g->main != RLT_NONE && !rlt_build_failed(g->b))
        rlt__kin_host_until(g, g->main, g->w.end);
}
