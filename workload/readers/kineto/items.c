/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lists the relevant events of one recording's window in the order of time: launches with their device work,
 * synchronising calls, stream waits, and meetings of host threads. Then processes the list.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "workload/program/program.h"
#include "workload/readers/kineto/graph.h"
#include "workload/readers/kineto/kineto.h"

typedef struct keyed {
    int64_t key, t;
    uint32_t index;
} keyed;

static int by_key(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->t != y->t)
        return x->t < y->t ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

void rlt__kin_sort(void *things, uint32_t n, size_t size, int (*order)(const void *, const void *))
{
    const char *at = things;
    uint32_t i = 1;
    while (i < n && order(at + (i - 1) * size, at + i * size) <= 0)
        i++;
    if (i < n)
        qsort(things, n, size, order);
}

static bool is_work(const rlt_kin_event *e)
{
    return e->cat == RLT_KIN_KERNEL || e->cat == RLT_KIN_MEMORY;
}

static bool in_window(const rlt_kin_graph *g, int64_t t)
{
    return t >= g->w.begin && t < g->w.end;
}

/* Indexes device work by correlation, or runtime calls by time. */
static int index_events(const rlt_kin_graph *g, bool work, keyed **out, uint32_t *n)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < g->k->n_events; i++)
        count += work ? is_work(&g->k->events[i]) : g->k->events[i].cat == RLT_KIN_RUNTIME;
    keyed *v = malloc(((size_t)count + 1) * sizeof *v);
    if (!v)
        return rlt_nomem(g->err);
    *n = 0;
    for (uint32_t i = 0; i < g->k->n_events; i++) {
        const rlt_kin_event *e = &g->k->events[i];
        if (work ? is_work(e) : e->cat == RLT_KIN_RUNTIME)
            v[(*n)++] = (keyed){.key = work ? e->correlation : e->ts, .t = e->ts, .index = i};
    }
    rlt__kin_sort(v, count, sizeof *v, by_key);
    *out = v;
    return 0;
}

static bool key_before(const void *thing, const void *key)
{
    return ((const keyed *)thing)->key < *(const int64_t *)key;
}

static int add_launch(rlt_kin_graph *g, uint32_t call, uint32_t work, int64_t t, bool early)
{
    int rc = rlt_grow(&g->launches, &g->launches_capacity, sizeof *g->launches, (uint64_t)g->n_launches + 1,
                      RLT_MAX_OPS, "launches", g->err);
    if (rc == 0)
        rc = rlt__kin_add_item(g, RLT_KIN_ITEM_LAUNCH, t,
                               call == RLT_NONE ? RLT_NONE : g->k->events[call].row, g->n_launches);
    if (rc < 0)
        return rc;
    const rlt_kin_event *w = &g->k->events[work];
    if (w->ts > g->w.end && w->ts - g->w.end > RLT_TIME_MAX / RLT_NS / 2)
        return rlt_fail(g->err, RLT_ERANGE, g->k->path, "device work more than 13 days after the last step");
    g->items[g->n_items - 1].b = w->role == RLT_KIN_NCCL;
    g->items[g->n_items - 1].early = early;
    g->launches[g->n_launches++] = (rlt_kin_launch){.call = call, .work = work};
    return 0;
}

/* Adds a call and its launches. The host's part ends with the call, or when the work begins. */
static int add_call(rlt_kin_graph *g, uint32_t call, keyed *works, uint32_t n)
{
    const rlt_kin_event *c = &g->k->events[call];
    int rc = 0;
    uint32_t first =
        c->correlation < 0 ? n : rlt__kin_first(works, n, sizeof *works, key_before, &c->correlation);
    for (uint32_t i = first; i < n && works[i].key == c->correlation && rc == 0; i++) {
        const rlt_kin_event *w = &g->k->events[works[i].index];
        if (works[i].t == INT64_MIN) /* launched by an earlier call */
            continue;
        works[i].t = INT64_MIN;
        if (c->ts >= g->w.end || (c->ts < g->w.begin && rlt__kin_end(w) <= g->w.begin)) {
            g->outside++;
            continue;
        }
        if (c->ts < g->w.begin) { /* launched before the first step, but runs inside it */
            g->carried++;
            rc = add_launch(g, RLT_NONE, works[i].index, w->ts, true);
            continue;
        }
        bool blocks = c->role == RLT_KIN_BLOCKING_COPY || w->role == RLT_KIN_PAGEABLE_DTOH;
        int64_t cut = rlt__kin_end(c) < w->ts ? rlt__kin_end(c) : w->ts;
        rc = add_launch(g, call, works[i].index, blocks || cut < c->ts ? c->ts : cut, false);
    }
    return rc;
}

/* Begins of work on a stream: the first one launched in the window, and the last one launched before it. */
typedef struct starts {
    int64_t launched, early;
} starts;

/* Finds them. A stream runs its work in order, so work before either of them was launched early. *out is
 * malloc'ed. */
static int find_starts(const rlt_kin_graph *g, starts **out)
{
    starts *all = malloc(((size_t)g->k->rows.n + 1) * sizeof *all);
    if (!all)
        return rlt_nomem(g->err);
    for (uint32_t r = 0; r < g->k->rows.n; r++)
        all[r] = (starts){INT64_MIN, INT64_MIN};
    for (uint32_t i = 0; i < g->n_launches; i++) {
        const rlt_kin_event *w = &g->k->events[g->launches[i].work];
        starts *s = &all[w->row];
        if (g->launches[i].call == RLT_NONE)
            s->early = w->ts > s->early ? w->ts : s->early;
        else if (s->launched == INT64_MIN || w->ts < s->launched)
            s->launched = w->ts;
    }
    *out = all;
    return 0;
}

/* Adds the work whose launch was not recorded. It is placed by its time, unless it was launched early. */
static int add_unlaunched(rlt_kin_graph *g, const keyed *works, uint32_t n)
{
    starts *first = NULL;
    int rc = find_starts(g, &first);
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        const rlt_kin_event *w = &g->k->events[works[i].index];
        if (works[i].t == INT64_MIN)
            continue;
        bool early = w->ts < g->w.begin || w->ts < first[w->row].launched || w->ts < first[w->row].early;
        if ((w->ts >= g->w.end && !early) || rlt__kin_end(w) <= g->w.begin) {
            g->outside++;
            continue;
        }
        g->carried++;
        rc = add_launch(g, RLT_NONE, works[i].index, w->ts, early);
    }
    free(first);
    return rc;
}

static bool is_comms(const rlt_kin_event *e)
{
    return e->role == RLT_KIN_COMMS || e->role == RLT_KIN_COMMS_WAIT;
}

static int find_comms_calls(const rlt_kin_graph *g, rlt_kin_call **out, uint32_t *n)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < g->k->n_events; i++)
        count += is_comms(&g->k->events[i]);
    rlt_kin_call *calls = malloc(((size_t)count + 1) * sizeof *calls);
    if (!calls)
        return rlt_nomem(g->err);
    *n = 0;
    for (uint32_t i = 0; i < g->k->n_events; i++) {
        const rlt_kin_event *e = &g->k->events[i];
        if (is_comms(e))
            calls[(*n)++] = rlt__kin_call_of(e);
    }
    rlt__kin_order_calls(calls, *n);
    for (uint32_t i = 0; i < g->n_launches; i++) {
        const rlt_kin_launch *l = &g->launches[i];
        if (l->call == RLT_NONE || g->k->events[l->work].role != RLT_KIN_NCCL)
            continue;
        rlt_kin_call *c = rlt__kin_call_around(calls, *n, &g->k->events[l->call]);
        if (c)
            c->launches = true;
    }
    *out = calls;
    return 0;
}

/* Adds a stream wait whose event is not recorded, in the order of time, with running counts. */
static int add_inferred_wait(rlt_kin_graph *g, const rlt_kin_event *e, rlt_kin_call *calls, uint32_t n_calls)
{
    const rlt_kin_call *c = rlt__kin_call_around(calls, n_calls, e);
    if (c && c->launches)
        return 0;
    struct rlt_kin_wait w = {.t = e->ts};
    if (g->n_waits > 0) {
        w.comm = g->waits[g->n_waits - 1].comm;
        w.other = g->waits[g->n_waits - 1].other;
    }
    w.comm += c != NULL;
    w.other += c == NULL;
    g->waits[g->n_waits++] = w;
    return 0;
}

static int add_calls(rlt_kin_graph *g, const keyed *calls, uint32_t n)
{
    rlt_kin_call *comms = NULL;
    uint32_t n_comms = 0;
    int rc = find_comms_calls(g, &comms, &n_comms);
    g->waits = malloc(((size_t)n + 1) * sizeof *g->waits);
    if (rc == 0 && !g->waits)
        rc = rlt_nomem(g->err);
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        const rlt_kin_event *e = &g->k->events[calls[i].index];
        if (!in_window(g, e->ts))
            continue;
        if (e->role == RLT_KIN_DEVICE_SYNC || e->role == RLT_KIN_STREAM_SYNC || e->role == RLT_KIN_EVENT_SYNC)
            rc = rlt__kin_add_item(g, RLT_KIN_ITEM_SYNC, e->ts, e->row, calls[i].index);
        else if (e->role == RLT_KIN_RECORD_EVENT && g->k->n_syncs > 0)
            rc = rlt__kin_add_item(g, RLT_KIN_ITEM_RECORD, e->ts, e->row, calls[i].index);
        else if (e->role == RLT_KIN_WAIT_EVENT && g->explicit_waits)
            rc = rlt__kin_add_item(g, RLT_KIN_ITEM_WAIT, e->ts, e->row, calls[i].index);
        else if (e->role == RLT_KIN_WAIT_EVENT)
            rc = add_inferred_wait(g, e, comms, n_comms);
    }
    free(comms);
    return rc;
}

static int collect(rlt_kin_graph *g)
{
    keyed *works = NULL, *calls = NULL;
    uint32_t n_works, n_calls;
    int rc = index_events(g, true, &works, &n_works);
    rc = rc ? rc : index_events(g, false, &calls, &n_calls);
    for (uint32_t i = 0; rc == 0 && i < n_calls; i++)
        rc = add_call(g, calls[i].index, works, n_works);
    rc = rc ? rc : add_unlaunched(g, works, n_works);
    rc = rc ? rc : add_calls(g, calls, n_calls);
    free(works);
    free(calls);
    return rc;
}

/* At one time on one thread: first its begin, then its calls, then its end. */
static int phase(const rlt_kin_item *i)
{
    switch (i->type) {
    case RLT_KIN_ITEM_RESUME:
    case RLT_KIN_ITEM_BEGIN:
        return 0;
    case RLT_KIN_ITEM_CUT:
        return 1;
    case RLT_KIN_ITEM_BLOCK:
    case RLT_KIN_ITEM_END:
        return 3;
    default:
        return 2;
    }
}

static int by_item(const void *a, const void *b)
{
    const rlt_kin_item *x = a, *y = b;
    if (x->early != y->early)
        return x->early ? -1 : 1;
    if (x->t != y->t)
        return x->t < y->t ? -1 : 1;
    if (x->other != y->other)
        return x->other ? 1 : -1;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    if (phase(x) != phase(y))
        return phase(x) - phase(y);
    return (x->order > y->order) - (x->order < y->order);
}

/* Drops the calls of threads that do not count, and orders the rest. */
static void order_items(rlt_kin_graph *g)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < g->n_items; i++) {
        rlt_kin_item it = g->items[i];
        const rlt_kin_thread *t = it.row == RLT_NONE ? NULL : &g->threads[it.row];
        if (it.type == RLT_KIN_ITEM_SYNC && t && it.row != g->main && !t->autograd && t->launches == 0)
            continue;
        it.other = it.row != g->main;
        g->items[kept++] = it;
    }
    g->n_items = kept;
    rlt__kin_sort(g->items, kept, sizeof *g->items, by_item);
}

static int index_syncs(rlt_kin_graph *g)
{
    uint32_t n = g->k->n_syncs;
    keyed *v = malloc(((size_t)n + 1) * sizeof *v);
    g->sync_by_call = malloc(((size_t)n + 1) * sizeof *g->sync_by_call);
    g->sync_by_record = malloc(((size_t)n + 1) * sizeof *g->sync_by_record);
    g->syncs = malloc(((size_t)n + 1) * sizeof *g->syncs);
    if (!v || !g->sync_by_call || !g->sync_by_record || !g->syncs) {
        free(v);
        return rlt_nomem(g->err);
    }
    if (n > 0)
        memcpy(g->syncs, g->k->syncs, n * sizeof *g->syncs);
    for (int record = 0; record < 2; record++) {
        for (uint32_t i = 0; i < n; i++) {
            v[i] = (keyed){.key = record ? g->syncs[i].record : g->syncs[i].correlation, .index = i};
            g->explicit_waits |= g->syncs[i].kind == RLT_KIN_SYNC_STREAM_WAIT;
        }
        qsort(v, n, sizeof *v, by_key);
        for (uint32_t i = 0; i < n; i++)
            (record ? g->sync_by_record : g->sync_by_call)[i] = v[i].index;
    }
    free(v);
    return 0;
}

static int prepare(rlt_kin_graph *g)
{
    size_t rows = (size_t)g->k->rows.n + 1;
    g->threads = calloc(rows, sizeof *g->threads);
    g->streams = calloc(rows, sizeof *g->streams);
    g->streams_used = calloc(rows, sizeof *g->streams_used);
    if (!g->threads || !g->streams || !g->streams_used)
        return rlt_nomem(g->err);
    for (size_t r = 0; r < rows; r++) {
        g->threads[r].last = g->threads[r].extra = g->threads[r].stream = RLT_NONE;
        g->streams[r] = (rlt_kin_stream){.last = RLT_NONE,
                                         .last_work = RLT_NONE,
                                         .work_before = RLT_NONE,
                                         .waits_seen = g->w.begin,
                                         .work_waited = RLT_NONE,
                                         .first_pending = RLT_NONE,
                                         .resource = RLT_NONE};
    }
    int rc = index_syncs(g);
    rc = rc ? rc : collect(g);
    rc = rc ? rc : rlt__kin_host_prepare(g);
    if (rc == 0)
        order_items(g);
    g->issued = malloc(((size_t)g->n_launches + 1) * sizeof *g->issued);
    return rc == 0 && !g->issued ? rlt_nomem(g->err) : rc;
}

/* Finds the collectives of the NCCL kernels, in launch order. */
static int find_comms(rlt_kin_graph *g)
{
    rlt_kin_launch *nccl = malloc(((size_t)g->n_launches + 1) * sizeof *nccl);
    uint32_t n = 0, early = 0;
    if (!nccl)
        return rlt_nomem(g->err);
    for (uint32_t i = 0; i < g->n_items; i++)
        if (g->items[i].type == RLT_KIN_ITEM_LAUNCH && g->items[i].b) {
            nccl[n++] = g->launches[g->items[i].a];
            early += g->items[i].early;
        }
    int rc = rlt__kin_comms_create(g->run, g->k, nccl, n, early, &g->comms, g->err);
    free(nccl);
    return rc;
}

static void note(const rlt_kin_graph *g)
{
    const struct {
        uint64_t count;
        const char *text;
    } notes[] = {
        {g->dropped, "inferred dependencies dropped: the recording contradicts them"},
        {g->outside, "device operations left out: launched outside the steps"},
        {g->carried, "device operations without a launch in the steps: placed by their recorded time"},
        {g->evident, "device operations that began just after a collective, with no other reason: they wait "
                     "for it"},
        {g->overlapping,
         "device operations that overlap the previous operation of their stream: both run at the same time"},
        {g->long_gaps, "device operations that started over 50 us after their last known dependency: the gap "
                       "is replayed as recorded"},
        {g->unexplained, "synchronising calls over 100 us with no known device work to wait for: the gap is "
                         "replayed as recorded"},
        {g->concurrent, "parts of the backward pass during which the main thread continued"},
        {g->tail, "device operations that end after the last step: the rank's span includes them"},
    };
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if (notes[i].count > 0)
            rlt_build_note(g->b, notes[i].count, "%s", notes[i].text);
    if (g->comms)
        rlt__kin_comms_note(g->comms, g->b);
}

static void clear(rlt_kin_graph *g)
{
    rlt__kin_comms_free(g->comms);
    free(g->ends);
    free(g->deps);
    free(g->threads_used);
    free(g->streams_used);
    free(g->threads);
    free(g->streams);
    free(g->launches);
    free(g->items);
    free(g->sync_by_call);
    free(g->sync_by_record);
    free(g->syncs);
    free(g->waits);
    free(g->pending);
    free(g->issued);
}

int rlt__kin_graph(const rlt_kin_run *run, const rlt_kin_recording *k, uint32_t rank, rlt_builder *b,
                   rlt_error *err)
{
    rlt_error own = {.code = 0};
    rlt_kin_graph g = {.run = run,
                       .k = k,
                       .rank = rank,
                       .b = b,
                       .err = err ? err : &own,
                       .main = RLT_NONE,
                       .last_stream = RLT_NONE};
    int rc = rlt__kin_window(run, k, &g.w, g.err);
    rc = rc ? rc : prepare(&g);
    if (rc == 0 && !run->opts->keep_waits)
        rc = find_comms(&g);
    if (rc == 0 && g.comms)
        rc = rlt__kin_comms_require(g.comms, g.err);
    if (rc == 0) {
        rlt_build_rank_start(b, rank, rlt__kin_ps(&g, g.w.begin));
        g.device_end = g.w.end;
        rlt__kin_walk(&g);
        rlt_build_rank_recorded(b, rank, (g.device_end - g.w.begin) * RLT_NS);
        note(&g);
    }
    clear(&g);
    return rc;
}

int rlt__kin_survey(const rlt_kin_run *run, const rlt_kin_recording *k, rlt_kin_comms **out, rlt_error *err)
{
    rlt_error own = {.code = 0};
    rlt_kin_graph g = {.run = run, .k = k, .err = err ? err : &own, .main = RLT_NONE};
    *out = NULL;
    int rc = rlt__kin_window(run, k, &g.w, g.err);
    rc = rc ? rc : index_syncs(&g);
    rc = rc ? rc : collect(&g);
    if (rc == 0) {
        rlt__kin_sort(g.items, g.n_items, sizeof *g.items, by_item);
        rc = find_comms(&g);
    }
    *out = g.comms;
    g.comms = NULL;
    clear(&g);
    return rc;
}
