/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Host threads of a recording. The thread that carries the step marks is the main one. Its time from the
 * begin of the first step to the end of the last one is replayed completely, except for its waiting. It is
 * cut wherever something depends on it. The threads of the autograd engine get work while the main thread is
 * inside backward(). Each stretch of their work begins when the main thread has come that far; the main
 * thread continues when they have ended. Where one begins a while after another has ended, it waits for that
 * one and for that while. Other threads count only if they launch device work.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "workload/program/program.h"
#include "workload/readers/kineto/graph.h"
#include "workload/readers/kineto/kineto.h"

typedef struct span {
    int64_t begin, end;
    uint32_t row, event;
    bool autograd;
} span;

typedef struct spans {
    span *at;
    uint32_t n, capacity;
} spans;

static int add_span(spans *s, span v, rlt_error *err)
{
    int rc = rlt_grow(&s->at, &s->capacity, sizeof *s->at, (uint64_t)s->n + 1, RLT_KIN_MAX_EVENTS,
                      "host events", err);
    if (rc == 0)
        s->at[s->n++] = v;
    return rc;
}

static int by_time(const void *a, const void *b)
{
    const span *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end > y->end ? -1 : 1; /* the enclosing one first */
    return x->autograd != y->autograd ? (x->autograd ? -1 : 1) : (x->row > y->row) - (x->row < y->row);
}

static bool in_window(const rlt_kin_graph *g, const rlt_kin_event *e)
{
    return e->ts >= g->w.begin && e->ts < g->w.end;
}

static bool on_host(const rlt_kin_event *e)
{
    return e->cat == RLT_KIN_CPU_OP || e->cat == RLT_KIN_RUNTIME;
}

static void survey(rlt_kin_graph *g)
{
    for (uint32_t i = 0; i < g->k->n_events; i++) {
        const rlt_kin_event *e = &g->k->events[i];
        if (!on_host(e) || !in_window(g, e))
            continue;
        g->threads[e->row].events++;
        g->threads[e->row].autograd |= e->role == RLT_KIN_AUTOGRAD;
    }
    for (uint32_t i = 0; i < g->n_launches; i++)
        if (g->launches[i].call != RLT_NONE)
            g->threads[g->k->events[g->launches[i].call].row].launches++;
}

static uint32_t find_main(const rlt_kin_graph *g)
{
    if (g->w.n_steps > 0)
        return g->k->steps[g->w.first_step].row;
    uint32_t best = RLT_NONE;
    for (uint32_t r = 0; r < g->k->rows.n; r++) {
        const rlt_kin_thread *t = &g->threads[r];
        if (t->events > 0 &&
            (best == RLT_NONE || t->launches > g->threads[best].launches ||
             (t->launches == g->threads[best].launches && t->events > g->threads[best].events)))
            best = r;
    }
    return best;
}

/* Collects the outermost events of the main thread, or of the other threads that run autograd, in time
 * order. */
static int outermost(const rlt_kin_graph *g, bool of_main, spans *out)
{
    spans all = {0};
    int rc = 0;
    for (uint32_t i = 0; i < g->k->n_events && rc == 0; i++) {
        const rlt_kin_event *e = &g->k->events[i];
        if (!on_host(e) || !in_window(g, e) || (e->row == g->main) != of_main ||
            !(of_main || g->threads[e->row].autograd))
            continue;
        int64_t end = rlt__kin_end(e) < g->w.end ? rlt__kin_end(e) : g->w.end;
        rc = add_span(&all, (span){e->ts, end, e->row, i, e->role == RLT_KIN_AUTOGRAD}, g->err);
    }
    rlt__kin_sort(all.at, all.n, sizeof *all.at, by_time);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < all.n; i++)
        if (kept == 0 || all.at[i].row != all.at[kept - 1].row || all.at[i].begin >= all.at[kept - 1].end)
            all.at[kept++] = all.at[i];
    all.n = kept;
    *out = all;
    return rc;
}

static bool begins_before(const void *a, const void *t)
{
    return ((const span *)a)->begin < *(const int64_t *)t;
}

/* Returns the first span that begins at or after t. */
static uint32_t first_from(const spans *own, int64_t t)
{
    return rlt__kin_first(own->at, own->n, sizeof *own->at, begins_before, &t);
}

/* Returns true if the main thread begins an event that is not autograd in [from, to). */
static bool main_acts(const spans *own, int64_t from, int64_t to)
{
    for (uint32_t i = first_from(own, from); i < own->n && own->at[i].begin < to; i++)
        if (!own->at[i].autograd)
            return true;
    return false;
}

/* Blocks the main thread from the first event of a stretch to its end, except while it works for the autograd
 * engine itself. */
static int block(rlt_kin_graph *g, const spans *own, const span *stretch, int64_t end)
{
    int64_t from = stretch->begin;
    int rc = 0;
    uint32_t first = first_from(own, from);
    for (uint32_t i = first > 0 ? first - 1 : 0; i < own->n && rc == 0 && own->at[i].begin < end; i++) {
        const span *s = &own->at[i];
        if (!s->autograd || s->end <= from)
            continue;
        if (s->begin > from) {
            rc = rlt__kin_add_item(g, RLT_KIN_ITEM_BLOCK, from, g->main, stretch->event);
            rc = rc ? rc : rlt__kin_add_item(g, RLT_KIN_ITEM_RESUME, s->begin, g->main, 0);
        }
        from = s->end;
    }
    if (rc == 0 && from < end) {
        rc = rlt__kin_add_item(g, RLT_KIN_ITEM_BLOCK, from, g->main, stretch->event);
        rc = rc ? rc : rlt__kin_add_item(g, RLT_KIN_ITEM_RESUME, end, g->main, 0);
    }
    return rc;
}

/* Adds begin and end items for the stretches of each thread among the spans first .. last. */
static int begin_threads(rlt_kin_graph *g, const spans *engine, uint32_t first, uint32_t last)
{
    int rc = 0;
    for (uint32_t i = first; i <= last && rc == 0; i++) {
        rlt_kin_thread *t = &g->threads[engine->at[i].row];
        if (!t->begun) {
            t->begun = true;
            t->cur = engine->at[i].end;
            rc = rlt__kin_add_item(g, RLT_KIN_ITEM_BEGIN, engine->at[i].begin, engine->at[i].row, 0);
        } else if (engine->at[i].end > t->cur)
            t->cur = engine->at[i].end;
    }
    for (uint32_t i = first; i <= last && rc == 0; i++) {
        rlt_kin_thread *t = &g->threads[engine->at[i].row];
        if (t->begun)
            rc = rlt__kin_add_item(g, RLT_KIN_ITEM_END, t->cur, engine->at[i].row, 0);
        t->begun = false;
    }
    return rc;
}

/* Finds stretches of engine work: two events belong to one unless the main thread acts between them. */
static int stretches(rlt_kin_graph *g, const spans *own, const spans *engine)
{
    int rc = 0;
    for (uint32_t first = 0, last; first < engine->n && rc == 0; first = last + 1) {
        int64_t end = engine->at[first].end;
        for (last = first; last + 1 < engine->n; last++) {
            int64_t next = engine->at[last + 1].begin;
            if (next > end && main_acts(own, end, next))
                break;
            end = engine->at[last + 1].end > end ? engine->at[last + 1].end : end;
        }
        rc = begin_threads(g, engine, first, last);
        if (rc < 0)
            break;
        if (main_acts(own, engine->at[first].begin, end))
            g->concurrent++;
        else
            rc = block(g, own, &engine->at[first], end);
    }
    return rc;
}

static int use_threads(rlt_kin_graph *g)
{
    g->threads_used = calloc((size_t)g->k->rows.n + 1, sizeof *g->threads_used);
    if (!g->threads_used)
        return rlt_nomem(g->err);
    for (uint32_t r = 0; r < g->k->rows.n; r++) {
        rlt_kin_thread *t = &g->threads[r];
        if (r != g->main && !t->autograd && t->launches == 0)
            continue;
        char text[100];
        snprintf(text, sizeof text, "thread %.80s", strrchr(rlt_interned(&g->k->rows, r), '/') + 1);
        t->resource = rlt_build_resource(g->b, g->rank, RLT_RES_HOST, text);
        t->cur = g->w.begin;
        t->begun = r == g->main;
        g->threads_used[g->n_threads_used++] = r;
    }
    return 0;
}

int rlt__kin_host_prepare(rlt_kin_graph *g)
{
    spans own = {0}, engine = {0};
    survey(g);
    g->main = find_main(g);
    g->host_name = rlt_build_string(g->b, "host", 4);
    int rc = 0;
    if (g->main != RLT_NONE) {
        g->threads[g->main].autograd = false;
        rc = outermost(g, true, &own);
        rc = rc ? rc : outermost(g, false, &engine);
        rc = rc ? rc : stretches(g, &own, &engine);
        for (uint32_t s = 1; s < g->w.n_steps && rc == 0; s++)
            rc = rlt__kin_add_item(g, RLT_KIN_ITEM_CUT, g->k->steps[g->w.first_step + s].begin, g->main, 0);
    }
    free(own.at);
    free(engine.at);
    return rc ? rc : use_threads(g);
}

static uint32_t host_op(rlt_kin_graph *g, rlt_kin_thread *t, rlt_op_kind kind, int64_t to)
{
    rlt_op_desc d = rlt_op_desc_init(kind, g->rank);
    d.resource = t->resource;
    d.name = g->host_name;
    d.duration_ps = (to - t->cur) * RLT_NS;
    d.recorded_ps = rlt__kin_ps(g, t->cur);
    d.recorded_duration_ps = d.duration_ps;
    d.step = rlt__kin_step_at(g->k, &g->w, t->cur);
    t->cur = to;
    t->last = rlt__kin_build(g, &d, to);
    t->extra = RLT_NONE;
    return t->last;
}

/* Returns a delay up to t behind an operation that ended at `from`. */
static uint32_t delay(rlt_kin_graph *g, uint32_t op, int64_t from, int64_t t)
{
    rlt_op_desc d = rlt_op_desc_init(RLT_OP_DELAY, g->rank);
    rlt__kin_depend(g, op);
    d.duration_ps = t > from ? (t - from) * RLT_NS : 0;
    d.recorded_ps = rlt__kin_ps(g, from);
    d.recorded_duration_ps = d.duration_ps;
    d.step = rlt__kin_step_at(g->k, &g->w, t);
    return rlt__kin_build(g, &d, t);
}

/* While the main thread is blocked, a thread at work gives work to others, or the one that stopped last. */
static uint32_t host_at_work(rlt_kin_graph *g, uint32_t except, int64_t t)
{
    if (!g->threads[g->main].blocked)
        return rlt__kin_host_until(g, g->main, t);
    for (uint32_t i = 0; i < g->n_threads_used; i++) {
        uint32_t r = g->threads_used[i];
        if (r != except && g->threads[r].active && g->threads[r].cur <= t)
            return rlt__kin_host_until(g, r, t);
    }
    const rlt_kin_thread *stopped = &g->threads[g->main];
    for (uint32_t i = 0; i < g->n_threads_used; i++) {
        const rlt_kin_thread *other = &g->threads[g->threads_used[i]];
        if (other->autograd && other->cur > stopped->cur && other->cur <= t)
            stopped = other;
    }
    return stopped->cur < t ? delay(g, stopped->last, stopped->cur, t) : stopped->last;
}

/* Returns the operation that the host has reached at time t, on any running thread other than `except`. */
static uint32_t ambient(rlt_kin_graph *g, uint32_t except, int64_t t)
{
    if (g->main == RLT_NONE || g->main == except)
        return RLT_NONE;
    uint32_t op = host_at_work(g, except, t);
    if (op == RLT_NONE || rlt__kin_op_end(g, op) <= t + RLT_KIN_TOLERANCE_NS)
        return op;
    g->dropped++;
    return delay(g, RLT_NONE, g->w.begin, t);
}

uint32_t rlt__kin_host_until(rlt_kin_graph *g, uint32_t row, int64_t to)
{
    rlt_kin_thread *t = &g->threads[row];
    if (t->blocked)
        return t->last;
    if (!t->begun) { /* neither main nor autograd: begins when it is first seen */
        t->begun = true;
        t->cur = to;
        t->extra = ambient(g, row, to);
    }
    if (to <= t->cur && t->extra == RLT_NONE)
        return t->last;
    rlt__kin_depend(g, t->last);
    rlt__kin_depend(g, t->extra);
    return host_op(g, t, RLT_OP_HOST, to > t->cur ? to : t->cur);
}

static void begin_stretch(rlt_kin_graph *g, const rlt_kin_item *item)
{
    rlt_kin_thread *t = &g->threads[item->row];
    uint32_t from = ambient(g, item->row, item->t);
    t->begun = t->active = true;
    if (item->t > t->cur)
        t->cur = item->t;
    t->extra = from;
}

static void resume(rlt_kin_graph *g, const rlt_kin_item *item)
{
    rlt_kin_thread *main = &g->threads[item->row];
    for (uint32_t i = 0; i < g->n_threads_used; i++) {
        uint32_t r = g->threads_used[i];
        if (g->threads[r].active && g->threads[r].cur <= item->t)
            rlt__kin_host_until(g, r, item->t);
    }
    rlt__kin_depend(g, main->last);
    for (uint32_t i = 0; i < g->n_threads_used; i++) {
        const rlt_kin_thread *t = &g->threads[g->threads_used[i]];
        if (t->autograd && t->last != RLT_NONE && t->cur >= main->since && t->cur <= item->t)
            rlt__kin_depend(g, t->last);
    }
    main->blocked = false;
    main->cur = item->t;
    host_op(g, main, RLT_OP_HOST, item->t);
}

void rlt__kin_host_item(rlt_kin_graph *g, const rlt_kin_item *item)
{
    rlt_kin_thread *t = &g->threads[item->row];
    switch (item->type) {
    case RLT_KIN_ITEM_BLOCK:
        rlt__kin_host_until(g, item->row, item->t);
        t->blocked = true;
        t->since = g->k->events[item->a].ts;
        break;
    case RLT_KIN_ITEM_RESUME:
        if (t->blocked)
            resume(g, item);
        break;
    case RLT_KIN_ITEM_BEGIN:
        begin_stretch(g, item);
        break;
    case RLT_KIN_ITEM_END:
        rlt__kin_host_until(g, item->row, item->t);
        t->active = false;
        break;
    default:
        rlt__kin_host_until(g, item->row, item->t);
        break;
    }
}

/* A call that waits for unknown device work: a gap, which no faster host shortens. */
static void wait_as_recorded(rlt_kin_graph *g, rlt_kin_thread *t, int64_t end)
{
    if (end <= t->cur)
        return;
    g->unexplained++;
    rlt__kin_depend(g, t->last);
    rlt__kin_depend(g, t->extra);
    host_op(g, t, RLT_OP_DELAY, end);
}

void rlt__kin_host_wait(rlt_kin_graph *g, uint32_t row, int64_t begin, int64_t end)
{
    rlt_kin_thread *t = &g->threads[row];
    int64_t done = begin > t->cur ? begin : t->cur;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < g->n_deps; i++) {
        int64_t e = rlt__kin_op_end(g, g->deps[i]);
        if (e > end + RLT_KIN_TOLERANCE_NS) {
            g->dropped++;
            continue;
        }
        done = e > done ? e : done;
        g->deps[kept++] = g->deps[i];
    }
    g->n_deps = kept;
    if (kept == 0) {
        if (end - begin > 100 * RLT_KIN_TOLERANCE_NS)
            wait_as_recorded(g, t, end);
        return;
    }
    if (done > end)
        done = end > t->cur ? end : t->cur;
    rlt__kin_depend(g, t->last);
    t->cur = done;
    host_op(g, t, RLT_OP_HOST, done);
}
