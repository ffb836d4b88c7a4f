/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A search of layouts at random that keeps each answer it gets, and what it says after each round; and the training
 * that a question is about.
 */
#ifndef RLT_TEST_SUPPORT_TRAININGS_ANSWERS_H
#define RLT_TEST_SUPPORT_TRAININGS_ANSWERS_H

#include <math.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "sim/watch.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "test/support/trainings/layouts.h"
#include "workload/plan/plan.h"
#include "workload/replay/alone.h"
#include "workload/timing/timing.h"
#include "workload/training/cost.h"
#include "workload/training/training.h"

enum { MOST = 8192 };

typedef struct kept {
    rlt_layout_task task;
    rlt_layout_outcome outcome;
    rlt_time bound_ps; /* the largest on its way */
    double below;      /* points below it that were answered */
    uint32_t next;     /* the first question that begins here; MOST: none */
} kept;

/* What a search said after a round. */
typedef struct told {
    uint32_t n; /* answers so far */
    uint64_t simulated;
    rlt_time best_ps, least_ps;
} told;

typedef struct asked {
    layouts l;
    rlt_layout_search s;
    rlt_timing *alone;
    rlt_spans *spans;
    double room;
    bool in_a_row, two_ways;
    kept *log;
    told *rounds;
    uint32_t n, n_rounds, seen[4][4][6]; /* answers by question, level and state */
    uint32_t polls, stops_at;            /* stops when it is asked so often; 0: never */
    uint64_t progress;
    bool runs; /* a simulation is said to run */
} asked;

static inline const rlt_layout_axis *axis(const asked *m, const char *name)
{
    for (uint32_t i = 0; i < m->l.space.n; i++)
        if (strcmp(m->l.space.axes[i].name, name) == 0)
            return &m->l.space.axes[i];
    fail_msg("no axis %s", name);
    return NULL;
}

static inline bool has(const rlt_layout_axis *a, const char *value)
{
    for (uint32_t v = 0; v < a->n; v++)
        if (strcmp(a->values[v], value) == 0)
            return true;
    return false;
}

static inline void set(rlt_training *t, const char *name, const char *value)
{
    rlt_error err = {0};
    if (rlt_training_set(t, name, value, &err))
        fail_msg("%s: %s", err.where, err.what);
}

/* The training of a partial point: what it leaves open asks for least. */
static inline rlt_training training_of(const asked *m, const uint16_t *at, rlt_layout_level level)
{
    rlt_training t = m->l.f.t;
    if (level < RLT_LAYOUT_STAGES) {
        set(&t, "schedule", "1f1b");
        set(&t, "vp", "1");
        set(&t, "zero", t.shard ? "3" : "0");
    }
    if (level < RLT_LAYOUT_KERNELS) {
        set(&t, "microbatch", "1");
        set(&t, "recompute", "none");
        set(&t, "sp", "on");
    }
    for (uint32_t i = 0; i < m->l.space.known[level]; i++)
        set(&t, m->l.space.axes[i].name, m->l.space.axes[i].values[at[i]]);
    return t;
}

/* Model state and activations of one microbatch, the mean over the stages. */
static inline double mean_memory(const rlt_training *t)
{
    double sum = 0;
    for (uint32_t stage = 0; stage < t->size[RLT_AXIS_PP]; stage++) {
        rlt_training_memory b = rlt_training_memory_of(t, stage);
        sum += b.parameters + b.gradients + b.optimizer + (b.activations - b.backward) / b.in_flight;
    }
    return sum / t->size[RLT_AXIS_PP] * t->fragmentation + (double)t->context_bytes;
}

static inline int keep(void *ctx, const rlt_layout_task *q, const rlt_layout_outcome *o, rlt_error *err)
{
    asked *m = ctx;
    (void)err;
    assert_true(m->n < MOST);
    m->log[m->n++] = (kept){.task = *q, .outcome = *o, .next = MOST};
    m->seen[q->what][q->level][o->state]++;
    return 0;
}

static inline void round_ends(void *ctx, uint64_t simulated, rlt_time best_ps, rlt_time least_ps)
{
    asked *m = ctx;
    assert_true(m->n_rounds < MOST);
    m->rounds[m->n_rounds++] = (told){m->n, simulated, best_ps, least_ps};
}

static inline void running(void *ctx, rlt_sim *sim)
{
    asked *m = ctx;
    assert_true(m->runs == !sim);
    m->runs = sim != NULL;
}

static inline void progress(void *ctx, uint64_t done, uint64_t total)
{
    ((asked *)ctx)->progress = done;
    assert_true(total == 0);
}

static inline bool stopped(void *ctx)
{
    asked *m = ctx;
    return m->stops_at && ++m->polls >= m->stops_at;
}

/* Opens the times of a case, and learns about its schedules. */
static inline void learn(asked *m)
{
    rlt_error err = {0};
    const rlt_layout_axis *schedule = axis(m, "schedule"), *order = axis(m, "order");
    m->in_a_row = true;
    m->two_ways = false;
    for (uint32_t v = 0; v < schedule->n; v++) {
        const char *word = schedule->values[v];
        m->two_ways |= !strcmp(word, "dualpipe") || !strcmp(word, "dualpipev") || !strcmp(word, "message");
        m->in_a_row &= !strcmp(word, "1f1b") || !strcmp(word, "gpipe");
    }
    if (rlt_timing_alone(&m->l.how, &m->alone, &err) ||
        rlt_spans_create(&m->l.how, m->alone, &m->spans, &err))
        fail_msg("%s: %s", err.where, err.what);
    for (uint32_t v = 0; v < order->n; v++) {
        rlt_training t = m->l.f.t;
        set(&t, "order", order->values[v]);
        assert_int_equal(rlt_spans_add_order(m->spans, t.order, &err), 0);
    }
    m->room = (double)m->l.f.accelerator.memory_bytes * (1 - m->s.headroom);
}

static inline void end(asked *m)
{
    rlt_spans_free(m->spans);
    rlt_timing_free(m->alone);
    layouts_free(&m->l);
}

/* Draws a case: a space, how far its search goes, and its memory. */
static inline void begin(asked *m, dice *r, uint32_t i)
{
    static const double shares[] = {10, 0, 0.1, 0}, speeds[] = {1, 1, 0.7, 2};
    static const char *const counts[] = {"1", "2", "3", "0"};
    layouts_draw(&m->l, r);
    test_set(&m->l.f, "recompute", below(r, 2) ? "none" : "full"); /* axes: their values do not matter */
    test_set(&m->l.f, "sp", below(r, 2) ? "on" : "off");
    test_set(&m->l.f, "schedule", below(r, 2) ? "gpipe" : "interleaved");
    test_set(&m->l.f, "microbatch", counts[below(r, 3)]);
    test_set(&m->l.f, "vp", counts[below(r, 3)]);
    test_set(&m->l.f, "zero", counts[below(r, 4)]);
    if (below(r, 6) == 0 && has(axis(m, "zero"), "3"))
        test_set(&m->l.f, "shard", "2");
    if (below(r, 6) == 0)
        test_set(&m->l.f, "sync_every", "2");
    m->l.how.compute_scale = speeds[below(r, 4)];
    m->s =
        (rlt_layout_search){.base = &m->l.f.t, .how = &m->l.how, .ranks = m->l.ranks, .space = &m->l.space};
    m->s.within = shares[i % 4];
    m->s.gap = i % 4 == 3 ? 0.2 : 0;
    m->s.no_bounds = below(r, 8) == 0;
    m->s.most = below(r, 6) == 0 ? 1 + below(r, 6) : 0;
    m->s.visit = below(r, 4) == 0 ? i + 1 : 0;
    m->stops_at = below(r, 5) == 0 ? 1 + below(r, 100) : 0;
    m->s.headroom = below(r, 2) ? 0.25 : 0;
    m->s.wrong = below(r, 6) == 0 ? 0.5 : 0;
    learn(m);
}

/* Returns what a partial point needs to the byte; 0: nothing is known of it. */
static inline double edge_of(const asked *m, const rlt_layout_task *q)
{
    rlt_error why = {0};
    rlt_training t = training_of(m, q->at, q->level);
    bool known = q->level < RLT_LAYOUT_STAGES && !rlt_training_plan(&t, m->l.ranks, &why);
    const rlt_layout_axis *zero = axis(m, "zero");
    if (known)
        set(&t, "zero", zero->values[zero->n - 1]);
    if (known && q->level == RLT_LAYOUT_SIZES)
        set(&t, "recompute", axis(m, "recompute")->values[0]);
    return known ? mean_memory(&t) : 0;
}

/* Makes the memory so small that some of the points seen so far do not fit, in one of three ways. */
static inline void shrink(asked *m, dice *r)
{
    double least = HUGE_VAL, most = 0;
    for (uint32_t k = 0; k < m->n; k++) {
        double bytes = m->log[k].outcome.memory_bytes;
        if (bytes > 0) {
            least = fmin(least, bytes);
            most = fmax(most, bytes);
        }
    }
    if (most <= 0)
        return;
    m->room = least + (most - least) * fraction(r) * fraction(r);
    uint32_t any = below(r, below(r, 2) ? m->n : 1 + m->n / 8);
    const rlt_layout_task *q = &m->log[any].task;
    double edge = q->level == RLT_LAYOUT_STAGES ? m->log[any].outcome.memory_bytes : edge_of(m, q);
    uint32_t way = below(r, 4);
    if (way >= 2 && edge > 0)
        m->room = edge;
    if (way) {
        m->s.capacity_bytes = m->room;
    } else {
        m->l.f.accelerator.memory_bytes = (uint64_t)m->room;
        m->room = (double)m->l.f.accelerator.memory_bytes * (1 - m->s.headroom);
    }
}

static inline asked empty(void)
{
    static kept log[MOST];
    static told rounds[MOST];
    return (asked){.log = log, .rounds = rounds};
}

/* Searches, and returns the code. */
static inline int search(asked *m, rlt_layout_result *r)
{
    rlt_error err = {0};
    const rlt_layout_hooks hooks = {.ctx = m, .keep = keep, .seen = round_ends};
    const rlt_watch watch = {.ctx = m, .running = running, .progress = progress, .stopped = stopped};
    m->n = m->n_rounds = m->polls = 0;
    m->s.watch = &watch;
    m->s.hooks = &hooks;
    int rc = rlt_layout_find(&m->s, r, &err);
    if (rc && rc != RLT_ECANCELLED)
        fail_msg("%s: %s", err.where, err.what);
    bool watched = m->stops_at && m->polls >= m->stops_at;
    assert_true(rc ? watched || (m->s.most && r->n == m->s.most) : !watched);
    assert_true(!rc || strcmp(err.what, "stopped") == 0);
    assert_true(!m->s.most || r->n <= m->s.most);
    assert_true(!m->runs && (m->n_rounds == 0 || m->progress == r->n));
    return rc;
}

/* Gives the next search limits among the times of the last one. */
static inline void limit(asked *m, uint32_t i, const rlt_layout_result *r)
{
    m->s.limit_ps = i % 3 == 0 && r->n ? r->points[r->n / 2].time_ps : 0;
    m->s.until_ps = i % 5 == 0 && r->n ? r->points[r->n / 3].time_ps : 0;
    m->s.mark_ps = r->n ? r->points[r->n / 2].time_ps : RLT_TIME_MAX;
}

#endif
