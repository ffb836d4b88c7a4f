/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Each answer of a search against what its header promises: rules, repeated points, least memory and bounds,
 * worked out anew from the parts of workload/training; and all counts of the result against the answers.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "sim/watch.h"
#include "test/support/drawing.h"
#include "test/support/layouts.h"
#include "test/support/support.h"
#include "workload/models/layer.h"
#include "workload/plan/plan.h"
#include "workload/replay/alone.h"
#include "workload/timing/timing.h"
#include "workload/training/cost.h"
#include "workload/training/training.h"

enum { CASES = 140, MOST = 8192 };

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

typedef struct model {
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
} model;

static const rlt_layout_axis *axis(const model *m, const char *name)
{
    for (uint32_t i = 0; i < m->l.space.n; i++)
        if (strcmp(m->l.space.axes[i].name, name) == 0)
            return &m->l.space.axes[i];
    fail_msg("no axis %s", name);
    return NULL;
}

static bool has(const rlt_layout_axis *a, const char *value)
{
    for (uint32_t v = 0; v < a->n; v++)
        if (strcmp(a->values[v], value) == 0)
            return true;
    return false;
}

static void set(rlt_training *t, const char *name, const char *value)
{
    rlt_error err = {0};
    if (rlt_training_set(t, name, value, &err))
        fail_msg("%s: %s", err.where, err.what);
}

/* The training of a partial point: what it leaves open asks for least. */
static rlt_training training_of(const model *m, const uint16_t *at, rlt_layout_level level)
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

/* Rules of sizes hold whatever is open; that of the batch once the microbatch is known. */
static bool holds(const char *rule, rlt_layout_level level)
{
    static const char *const sizes[] = {"tp", "cp", "pp", "ep", "etp", "layout", "ranks"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (strcmp(rule, sizes[i]) == 0)
            return true;
    return level >= RLT_LAYOUT_STAGES || (level == RLT_LAYOUT_KERNELS && strcmp(rule, "batch") == 0);
}

static bool same_order(const rlt_training *t, const rlt_axis *a, const rlt_axis *b)
{
    rlt_axis x[RLT_AXES_OF_LAYOUT], y[RLT_AXES_OF_LAYOUT];
    uint32_t n = 0, k = 0;
    for (uint32_t i = 0; i < RLT_AXES_OF_LAYOUT; i++) {
        if (t->size[a[i]] > 1)
            x[n++] = a[i];
        if (t->size[b[i]] > 1)
            y[k++] = b[i];
    }
    return n == k && memcmp(x, y, n * sizeof *x) == 0;
}

/* The same run as with an earlier value of this axis. */
static bool repeats_axis(const model *m, const rlt_training *t, const uint16_t *at, uint32_t axis_at)
{
    const rlt_layout_axis *a = &m->l.space.axes[axis_at];
    bool one_copy = t->size[RLT_AXIS_DP] == 1 && t->size[RLT_AXIS_CP] == 1 && t->ep == 1;
    for (uint32_t v = 0; v < at[axis_at]; v++) {
        rlt_error why = {0};
        rlt_training other = *t;
        set(&other, a->name, a->values[v]);
        bool same = strcmp(a->name, "sp") == 0      ? t->size[RLT_AXIS_TP] == 1
                    : strcmp(a->name, "zero") == 0  ? one_copy && t->zero < 3 && other.zero < 3
                    : strcmp(a->name, "order") == 0 ? same_order(t, t->order, other.order)
                                                    : false;
        if (same && !rlt_training_plan(&other, 0, &why))
            return true;
    }
    return false;
}

static bool repeats(const model *m, const rlt_training *t, const uint16_t *at, rlt_layout_level level)
{
    const uint32_t *known = m->l.space.known;
    rlt_training plain = *t;
    rlt_error why = {0};
    if (level == RLT_LAYOUT_POINT) {
        for (uint32_t i = known[RLT_LAYOUT_STAGES]; i < m->l.space.n; i++)
            if (repeats_axis(m, t, at, i))
                return true;
        return false;
    }
    for (uint32_t i = 0; i < known[level]; i++)
        if (repeats_axis(m, t, at, i))
            return true;
    if (t->size[RLT_AXIS_PP] > 1 || t->schedule != RLT_SCHEDULE_INTERLEAVED ||
        !has(axis(m, "schedule"), "1f1b") || !has(axis(m, "vp"), "1"))
        return false;
    set(&plain, "schedule", "1f1b");
    set(&plain, "vp", "1");
    return !rlt_training_plan(&plain, 0, &why);
}

/* Model state and activations of one microbatch, the mean over the stages. */
static double mean_memory(const rlt_training *t)
{
    double sum = 0;
    for (uint32_t stage = 0; stage < t->size[RLT_AXIS_PP]; stage++) {
        rlt_training_memory b = rlt_training_memory_of(t, stage);
        sum += b.parameters + b.gradients + b.optimizer + (b.activations - b.backward) / b.in_flight;
    }
    return sum / t->size[RLT_AXIS_PP] * t->fragmentation + (double)t->context_bytes;
}

/* The least over ZeRO, from its last value, and over recomputation while it is open; the first within the room. */
static double least_memory(const model *m, const rlt_training *t, rlt_layout_level level)
{
    const rlt_layout_axis *zero = axis(m, "zero"), *recompute = axis(m, "recompute");
    double least = HUGE_VAL;
    if (m->two_ways)
        return 0;
    for (uint32_t i = 0; i < (level == RLT_LAYOUT_SIZES ? recompute->n : 1) && least > m->room; i++) {
        rlt_training other = *t;
        double of_zero = HUGE_VAL;
        if (level == RLT_LAYOUT_SIZES)
            set(&other, "recompute", recompute->values[i]);
        for (uint32_t v = zero->n; v-- > 0 && of_zero > m->room;) {
            set(&other, "zero", zero->values[v]);
            of_zero = fmin(of_zero, mean_memory(&other));
        }
        least = fmin(least, of_zero);
    }
    return least * (1 - 1e-9);
}

/* m times the mean work of a stage, less what is rounded; or the bound of workload/training/cost.h. */
static rlt_time bound_of(const model *m, const rlt_training *t, rlt_layout_level level,
                         rlt_cost_communication with)
{
    rlt_error err = {0};
    rlt_training_cost c = {0};
    bool passes_only = level < RLT_LAYOUT_STAGES;
    int rc = with == RLT_COST_LEAST
                 ? rlt_training_cost_of(t, m->spans, with, passes_only, &c, &err)
                 : rlt_training_cost_find(t, &m->l.how, with == RLT_COST_NONE ? NULL : m->alone, passes_only,
                                          &c, &err);
    if (rc)
        fail_msg("%s: %s", err.where, err.what);
    rlt_time bound = rlt_training_bound(t, &c), work = 0, passes = rlt_training_microbatches(t);
    if (passes_only && !m->in_a_row) {
        double speed = m->l.how.compute_scale, rounded = speed == 1 ? 1 : 3 + 1 / speed;
        for (uint32_t i = 0; i < c.pp * c.vp; i++)
            work += c.chunks[i].forward_ps + c.chunks[i].inputs_ps + c.chunks[i].weights_ps;
        bound = work * passes / c.pp - rlt_time_of(rounded * t->model->n_layers * (double)passes);
    }
    rlt_training_cost_free(&c);
    return m->s.wrong > 0 ? (rlt_time)((double)bound * m->s.wrong) : bound;
}

/* The least over the microbatches that divide the batch; 0 if schedules may make more possible. */
static rlt_time bound_of_sizes(const model *m, const rlt_training *sizes)
{
    const rlt_layout_axis *a = axis(m, "microbatch");
    rlt_time least = RLT_TIME_MAX;
    for (uint32_t v = 0; v < a->n; v++) {
        rlt_training t = *sizes;
        rlt_error why = {0};
        set(&t, "microbatch", a->values[v]);
        bool possible = !rlt_training_plan(&t, m->l.ranks, &why);
        if (!possible && holds(why.where, RLT_LAYOUT_KERNELS))
            continue;
        rlt_time bound = possible ? bound_of(m, &t, RLT_LAYOUT_SIZES, RLT_COST_NONE) : 0;
        least = bound < least ? bound : least;
    }
    return least;
}

/* Kernels with the communication of an order. */
static rlt_time bound_of_order(const model *m, const uint16_t *at)
{
    rlt_error why = {0};
    rlt_training t = training_of(m, at, RLT_LAYOUT_KERNELS);
    for (uint32_t i = m->l.space.known[RLT_LAYOUT_STAGES]; i < m->l.space.n; i++)
        set(&t, m->l.space.axes[i].name, m->l.space.axes[i].values[at[i]]);
    return rlt_training_plan(&t, m->l.ranks, &why) ? 0 : bound_of(m, &t, RLT_LAYOUT_KERNELS, RLT_COST_EXACT);
}

static rlt_layout_outcome considered(const model *m, const rlt_layout_task *q)
{
    rlt_layout_outcome o = {.state = RLT_LAYOUT_OPEN};
    rlt_layout_level level = q->level;
    rlt_error why = {0};
    rlt_training t = training_of(m, q->at, level);
    if (rlt_training_plan(&t, m->l.ranks, &why)) {
        if (holds(why.where, level)) {
            o.state = RLT_LAYOUT_AGAINST_RULE;
            snprintf(o.where, sizeof o.where, "%.63s", why.where);
            snprintf(o.what, sizeof o.what, "%.255s", why.what);
        }
        return o;
    }
    if (level >= RLT_LAYOUT_STAGES && repeats(m, &t, q->at, level)) {
        o.state = RLT_LAYOUT_REPEATED;
        return o;
    }
    if (level == RLT_LAYOUT_POINT) {
        o.ps = m->s.no_bounds || m->two_ways ? 0 : bound_of_order(m, q->at);
        return o;
    }
    for (uint32_t stage = 0; level == RLT_LAYOUT_STAGES && stage < t.size[RLT_AXIS_PP]; stage++)
        o.memory_bytes = fmax(o.memory_bytes, rlt_training_memory_of(&t, stage).total);
    if (level < RLT_LAYOUT_STAGES)
        o.memory_bytes = least_memory(m, &t, level);
    if (o.memory_bytes > m->room)
        o.state = RLT_LAYOUT_OUT_OF_MEMORY;
    else if (!m->s.no_bounds)
        o.ps = level == RLT_LAYOUT_SIZES     ? bound_of_sizes(m, &t)
               : level == RLT_LAYOUT_KERNELS ? bound_of(m, &t, level, RLT_COST_NONE)
                                             : bound_of(m, &t, level, RLT_COST_LEAST);
    return o;
}

static rlt_layout_outcome answer(const model *m, const rlt_layout_task *q)
{
    rlt_layout_outcome o = {.state = RLT_LAYOUT_OPEN};
    rlt_error err = {0};
    if (q->what == RLT_LAYOUT_CONSIDER)
        return considered(m, q);
    rlt_training t = training_of(m, q->at, q->level);
    bool possible = !rlt_training_plan(&t, m->l.ranks, &err);
    if (q->level == RLT_LAYOUT_KERNELS) {
        o.ps = possible ? bound_of(m, &t, q->level, RLT_COST_LEAST) : 0;
        return o;
    }
    assert_true(possible && q->level == RLT_LAYOUT_POINT);
    if (q->what == RLT_LAYOUT_BOUND)
        o.ps = bound_of(m, &t, q->level, RLT_COST_EXACT);
    else
        assert_int_equal(rlt_layout_simulate(&t, &m->l.how, true, NULL, NULL, &o.ps, &err), 0);
    return o;
}

static int keep(void *ctx, const rlt_layout_task *q, const rlt_layout_outcome *o, rlt_error *err)
{
    model *m = ctx;
    (void)err;
    assert_true(m->n < MOST);
    m->log[m->n++] = (kept){.task = *q, .outcome = *o, .next = MOST};
    m->seen[q->what][q->level][o->state]++;
    return 0;
}

static void round_ends(void *ctx, uint64_t simulated, rlt_time best_ps, rlt_time least_ps)
{
    model *m = ctx;
    assert_true(m->n_rounds < MOST);
    m->rounds[m->n_rounds++] = (told){m->n, simulated, best_ps, least_ps};
}

static void running(void *ctx, rlt_sim *sim)
{
    model *m = ctx;
    assert_true(m->runs == !sim);
    m->runs = sim != NULL;
}

static void progress(void *ctx, uint64_t done, uint64_t total)
{
    ((model *)ctx)->progress = done;
    assert_true(total == 0);
}

static bool stopped(void *ctx)
{
    model *m = ctx;
    return m->stops_at && ++m->polls >= m->stops_at;
}

static void check_answers(const model *m, uint32_t i)
{
    for (uint32_t k = 0; k < m->n; k++) {
        const rlt_layout_task *q = &m->log[k].task;
        const rlt_layout_outcome *o = &m->log[k].outcome;
        rlt_layout_outcome e = answer(m, q);
        char text[400];
        layouts_values(&m->l, q->at, text, sizeof text);
        if (o->state != e.state || o->ps != e.ps || o->memory_bytes != e.memory_bytes ||
            strcmp(o->where, e.where) != 0 || strcmp(o->what, e.what) != 0 || o->code != 0)
            fail_msg("%s: question %d, level %d of%s: %d, %lld ps, %.17g bytes %s; expected %d, %lld ps, "
                     "%.17g bytes %s",
                     layouts_name(&m->l, i, "answers"), (int)q->what, (int)q->level, text, (int)o->state,
                     (long long)o->ps, o->memory_bytes, o->what, (int)e.state, (long long)e.ps,
                     e.memory_bytes, e.what);
    }
}

static double points_below(const model *m, rlt_layout_level level)
{
    double n = 1;
    for (uint32_t i = m->l.space.known[level]; i < m->l.space.n; i++)
        n *= m->l.space.axes[i].n;
    return n;
}

/* Finds the open answer that a question follows; NULL: it is one of the first. */
static kept *before(const model *m, const rlt_layout_task *q, uint32_t end)
{
    rlt_layout_level level =
        q->what == RLT_LAYOUT_CONSIDER && q->level ? (rlt_layout_level)(q->level - 1) : q->level;
    kept *found = NULL;
    if (q->what == RLT_LAYOUT_CONSIDER && q->level == RLT_LAYOUT_SIZES)
        return NULL;
    for (uint32_t k = 0; k < end; k++) /* a bound is asked after the question whether it is possible */
        if (m->log[k].task.level == level && m->log[k].outcome.state == RLT_LAYOUT_OPEN &&
            m->log[k].task.what != RLT_LAYOUT_SIMULATE &&
            memcmp(m->log[k].task.at, q->at, m->l.space.known[level] * sizeof *q->at) == 0)
            found = &m->log[k];
    assert_non_null(found);
    return found;
}

static void count_reason(rlt_layout_result *e, const rlt_layout_outcome *o, double points)
{
    uint32_t i = 0;
    while (i < e->n_reasons && strncmp(e->reasons[i].where, o->where, 23) != 0)
        i++;
    if (i == RLT_LAYOUT_REASONS)
        return;
    if (i == e->n_reasons) {
        snprintf(e->reasons[i].where, sizeof e->reasons[i].where, "%.23s", o->where);
        snprintf(e->reasons[i].what, sizeof e->reasons[i].what, "%s", o->what);
        e->n_reasons++;
    }
    e->reasons[i].points += points;
}

static void count_memory(const model *m, rlt_layout_result *e, const kept *k)
{
    double needs = k->outcome.memory_bytes;
    e->out_of_memory += points_below(m, k->task.level);
    if (e->least_bytes == 0 || needs < e->least_bytes)
        e->least_bytes = needs;
    if (k->task.level < RLT_LAYOUT_STAGES ||
        (e->nearest.memory_bytes > 0 && needs >= e->nearest.memory_bytes))
        return;
    e->nearest.memory_bytes = needs;
    memcpy(e->nearest.at, k->task.at, sizeof e->nearest.at);
}

/* Finds a simulated point in the result. */
static const rlt_layout_point *point_of(const rlt_layout_result *r, const uint16_t *at)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (memcmp(r->points[i].at, at, sizeof r->points[i].at) == 0)
            return &r->points[i];
    fail_msg("a point is lost");
    return NULL;
}

/* Counts all answers. Points have the bound and the memory of the answers before. */
static void count(model *m, const rlt_layout_result *r, rlt_layout_result *e)
{
    *e = (rlt_layout_result){.total = points_below(m, 0), .least_pruned_ps = RLT_TIME_MAX};
    e->total = rlt_layout_size(&m->l.space);
    for (uint32_t i = 0; i < m->n; i++) {
        kept *k = &m->log[i], *from = before(m, &k->task, i);
        const rlt_layout_outcome *o = &k->outcome;
        double points = points_below(m, k->task.level);
        k->bound_ps = from ? from->bound_ps : 0;
        if (from)
            from->next = i < from->next ? i : from->next;
        if (from && k->task.what == RLT_LAYOUT_CONSIDER)
            from->below += points;
        if (o->state == RLT_LAYOUT_AGAINST_RULE) {
            e->against_rules += points;
            count_reason(e, o, points);
        } else if (o->state == RLT_LAYOUT_REPEATED) {
            e->repeated += points;
        } else if (o->state == RLT_LAYOUT_OUT_OF_MEMORY) {
            count_memory(m, e, k);
        } else if (k->task.what == RLT_LAYOUT_SIMULATE) {
            const rlt_layout_point *p = point_of(r, k->task.at);
            rlt_layout_task stages = {.what = RLT_LAYOUT_CONSIDER, .level = RLT_LAYOUT_POINT};
            memcpy(stages.at, k->task.at, sizeof stages.at);
            assert_true(p->time_ps == o->ps && p->bound_ps == k->bound_ps && o->ps >= k->bound_ps);
            assert_true(p->memory_bytes == before(m, &stages, i)->outcome.memory_bytes);
            e->n++;
        } else {
            k->bound_ps = o->ps > k->bound_ps ? o->ps : k->bound_ps;
            e->bounded++;
        }
    }
}

/* The bound above which nothing is looked for. */
static double limit_of(const model *m, rlt_time best_ps)
{
    const rlt_layout_search *s = &m->s;
    double limit = s->until_ps               ? (double)s->until_ps
                   : best_ps == RLT_TIME_MAX ? HUGE_VAL
                   : s->within > 0           ? floor((double)best_ps * (1 + s->within))
                                             : floor((double)best_ps / (1 + s->gap));
    return s->limit_ps && (double)s->limit_ps < limit ? (double)s->limit_ps : limit;
}

/* Counts what is left. All of it is above the limit, unless the search was stopped. */
static void count_left(const model *m, const rlt_layout_result *r, bool stopped, rlt_layout_result *e)
{
    double limit = limit_of(m, r->n ? r->points[0].time_ps : RLT_TIME_MAX), first = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        const kept *k = &m->log[i];
        bool asked = k->next < MOST && m->log[k->next].task.what != RLT_LAYOUT_CONSIDER;
        double points = points_below(m, k->task.level) - k->below;
        first += k->task.level == RLT_LAYOUT_SIZES ? points + k->below : 0;
        if (k->outcome.state != RLT_LAYOUT_OPEN || k->task.what == RLT_LAYOUT_SIMULATE || asked ||
            points == 0)
            continue;
        e->pruned += points;
        e->below_mark += k->bound_ps < m->s.mark_ps ? points : 0;
        e->least_pruned_ps = k->bound_ps < e->least_pruned_ps ? k->bound_ps : e->least_pruned_ps;
        if (!stopped && (double)k->bound_ps <= limit)
            fail_msg("%lld ps is left, below %.17g", (long long)k->bound_ps, limit);
    }
    assert_true(stopped || first == e->total);
    e->pruned += e->total - first;
    e->below_mark += m->s.mark_ps > 0 ? e->total - first : 0;
    e->least_pruned_ps = first < e->total ? 0 : e->least_pruned_ps;
}

static bool sooner(const model *m, const kept *a, const kept *b)
{
    uint32_t d = 0;
    while (d < m->l.space.n && a->task.at[d] == b->task.at[d])
        d++;
    return a->bound_ps != b->bound_ps       ? a->bound_ps < b->bound_ps
           : a->task.level != b->task.level ? a->task.level < b->task.level
                                            : a->task.at[d] < b->task.at[d];
}

/* A round takes the nodes of the least bounds, none above the limit; the last one may be stopped. */
static void check_rounds(const model *m, bool stopped)
{
    rlt_time best_ps = RLT_TIME_MAX;
    uint32_t begin = 0;
    while (begin < m->n && m->log[begin].task.level == RLT_LAYOUT_SIZES)
        begin++;
    for (uint32_t j = 0; j < m->n_rounds; j++) {
        uint32_t end = m->rounds[j].n;
        double limit = limit_of(m, best_ps);
        rlt_time least_ps = RLT_TIME_MAX;
        const kept *last = NULL, *left = NULL;
        uint64_t simulated = 0;
        for (uint32_t i = 0; i < end; i++) {
            const kept *k = &m->log[i];
            bool open = k->outcome.state == RLT_LAYOUT_OPEN;
            if (k->task.what == RLT_LAYOUT_SIMULATE) {
                simulated++;
                best_ps = k->outcome.ps < best_ps ? k->outcome.ps : best_ps;
            } else if (open && i < begin && k->next >= begin && k->next < end) {
                last = !last || sooner(m, last, k) ? k : last;
            } else if (open && k->next >= end) {
                left = i < begin && (!left || sooner(m, k, left)) ? k : left;
                least_ps = k->bound_ps < least_ps ? k->bound_ps : least_ps;
            }
        }
        assert_true(m->rounds[j].simulated == simulated && m->rounds[j].best_ps == best_ps);
        assert_true(!last || (double)last->bound_ps <= limit);
        bool whole = !stopped || j + 1 < m->n_rounds;
        assert_true(m->s.visit || !whole || m->rounds[j].least_ps == least_ps);
        assert_true(m->s.visit || !whole || !left || (last && sooner(m, last, left)));
        begin = end;
    }
}

static void check_counts(model *m, const rlt_layout_result *r, bool stopped, uint32_t i)
{
    static rlt_layout_result e;
    count(m, r, &e);
    count_left(m, r, stopped, &e);
    if (r->n != e.n || r->total != e.total || r->repeated != e.repeated ||
        r->against_rules != e.against_rules || r->out_of_memory != e.out_of_memory || r->pruned != e.pruned ||
        r->below_mark != e.below_mark || r->bounded != e.bounded)
        fail_msg("%s: counts", layouts_name(&m->l, i, "counts"));
    check_rounds(m, stopped);
    assert_true(r->least_bytes == e.least_bytes && r->least_pruned_ps == e.least_pruned_ps);
    assert_memory_equal(&r->nearest, &e.nearest, sizeof e.nearest);
    assert_true(r->n_reasons == e.n_reasons && r->proven == !stopped);
    for (uint32_t k = 0; k < e.n_reasons; k++) {
        assert_string_equal(r->reasons[k].where, e.reasons[k].where);
        assert_string_equal(r->reasons[k].what, e.reasons[k].what);
        assert_true(r->reasons[k].points == e.reasons[k].points);
    }
    for (uint32_t k = 1; k < r->n; k++) {
        const rlt_layout_point *a = &r->points[k - 1], *b = &r->points[k];
        uint32_t d = 0;
        while (d < m->l.space.n && a->at[d] == b->at[d])
            d++;
        assert_true(a->time_ps < b->time_ps || (a->time_ps == b->time_ps && a->at[d] < b->at[d]));
    }
}

/* Draws a case: a space, how far its search goes, and its memory. */
static void begin(model *m, drawing *r, uint32_t i)
{
    static const double shares[] = {10, 0, 0.1, 0}, speeds[] = {1, 1, 0.7, 2};
    static const char *const counts[] = {"1", "2", "3", "0"};
    rlt_error err = {0};
    const rlt_layout_axis *schedule, *order;
    layouts_draw(&m->l, r);
    test_set(&m->l.f, "recompute", below(r, 2) ? "none" : "full"); /* axes: their values do not matter */
    test_set(&m->l.f, "sp", below(r, 2) ? "on" : "off");
    test_set(&m->l.f, "schedule", below(r, 2) ? "gpipe" : "interleaved");
    test_set(&m->l.f, "microbatch", counts[below(r, 3)]);
    test_set(&m->l.f, "vp", counts[below(r, 3)]);
    test_set(&m->l.f, "zero", counts[below(r, 4)]);
    if (below(r, 6) == 0 && has(axis(m, "zero"), "3"))
        test_set(&m->l.f, "shard", "2");
    m->l.how.compute_scale = speeds[below(r, 4)];
    m->s =
        (rlt_layout_search){.base = &m->l.f.t, .how = &m->l.how, .ranks = m->l.ranks, .space = &m->l.space};
    m->s.within = shares[i % 4];
    m->s.gap = i % 4 == 3 ? 0.2 : 0;
    m->s.no_bounds = below(r, 8) == 0;
    m->s.most = below(r, 6) == 0 ? 1 + below(r, 6) : 0;
    m->s.visit = below(r, 4) == 0 ? i + 1 : 0;
    m->stops_at = below(r, 8) == 0 ? 1 + below(r, 100) : 0;
    m->s.headroom = below(r, 2) ? 0.25 : 0;
    m->s.wrong = below(r, 6) == 0 ? 0.5 : 0;
    schedule = axis(m, "schedule"), order = axis(m, "order");
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
}

/* Returns what a partial point needs to the byte; 0: nothing is known of it. */
static double edge_of(const model *m, const rlt_layout_task *q)
{
    rlt_error why = {0};
    rlt_training t = training_of(m, q->at, q->level);
    bool known = q->level < RLT_LAYOUT_STAGES && !rlt_training_plan(&t, m->l.ranks, &why);
    const rlt_layout_axis *zero = axis(m, "zero");
    if (known)
        set(&t, "zero", zero->values[zero->n - 1]);
    return known ? mean_memory(&t) : 0;
}

/* Makes the memory so small that some of the points seen so far do not fit, in one of three ways. */
static void shrink(model *m, drawing *r)
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
    m->room = least + (most - least) * unit(r) * unit(r);
    double edge = edge_of(m, &m->log[below(r, m->n)].task);
    uint32_t way = below(r, 3);
    if (way == 2 && edge > 0)
        m->room = edge;
    if (way) {
        m->s.capacity_bytes = m->room;
    } else {
        m->l.f.accelerator.memory_bytes = (uint64_t)m->room;
        m->room = (double)m->l.f.accelerator.memory_bytes * (1 - m->s.headroom);
    }
}

static void search(model *m, uint32_t i)
{
    rlt_error err = {0};
    rlt_layout_result r;
    const rlt_layout_hooks hooks = {.ctx = m, .keep = keep, .seen = round_ends};
    const rlt_watch watch = {.ctx = m, .running = running, .progress = progress, .stopped = stopped};
    m->n = m->n_rounds = m->polls = 0;
    m->s.watch = &watch;
    m->s.hooks = &hooks;
    int rc = rlt_layout_find(&m->s, &r, &err);
    if (rc && rc != RLT_ECANCELLED)
        fail_msg("%s: %s", err.where, err.what);
    bool watched = m->stops_at && m->polls >= m->stops_at;
    assert_true(rc ? watched || (m->s.most && r.n == m->s.most) : !watched);
    assert_true(!rc || strcmp(err.what, "stopped") == 0);
    assert_true(!m->s.most || r.n <= m->s.most);
    assert_true(!m->runs && (m->n_rounds == 0 || m->progress == r.n));
    check_answers(m, i);
    check_counts(m, &r, rc != 0, i);
    m->s.limit_ps = i % 3 == 0 && r.n ? r.points[r.n / 2].time_ps : 0;
    m->s.until_ps = i % 5 == 0 && r.n ? r.points[r.n / 3].time_ps : 0;
    m->s.mark_ps = r.n ? r.points[r.n / 2].time_ps : RLT_TIME_MAX;
    rlt_layout_result_free(&r);
}

static void as_promised(void **state)
{
    static model m;
    drawing r = {.seed = 31};
    uint32_t all = 0;
    (void)state;
    m.log = calloc(MOST, sizeof *m.log);
    m.rounds = calloc(MOST, sizeof *m.rounds);
    assert_true(m.log && m.rounds);
    for (uint32_t i = 0; i < CASES; i++) {
        begin(&m, &r, i);
        m.room = (double)m.l.f.accelerator.memory_bytes * (1 - m.s.headroom);
        search(&m, i);
        all += m.n;
        shrink(&m, &r);
        search(&m, i);
        all += m.n;
        rlt_spans_free(m.spans);
        rlt_timing_free(m.alone);
        layouts_free(&m.l);
    }
    free(m.log);
    free(m.rounds);
    printf("# %u answers\n", all);
    for (int what = 0; what < 3; what++)
        for (int level = 0; level < 4; level++)
            printf("# question %d, level %d: %u against rules, %u repeated, %u out of memory, %u open\n",
                   what, level, m.seen[what][level][1], m.seen[what][level][2], m.seen[what][level][3],
                   m.seen[what][level][4]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_promised)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
