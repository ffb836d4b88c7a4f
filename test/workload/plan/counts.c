/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The result of a search against all the answers it got: each count, what is left, the points with their bounds, and
 * that each round takes the nodes of the least bounds. And bounds that are made too high are named.
 */
#include "test/support/trainings/answers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "sim/watch.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "test/support/trainings/layouts.h"
#include "workload/plan/plan.h"
#include "workload/training/training.h"

enum { CASES = 140 };

static double points_below(const asked *m, rlt_layout_level level)
{
    double n = 1;
    for (uint32_t i = m->l.space.known[level]; i < m->l.space.n; i++)
        n *= m->l.space.axes[i].n;
    return n;
}

/* Finds the open answer that a question follows; NULL: it is one of the first. */
static kept *before(const asked *m, const rlt_layout_task *q, uint32_t end)
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

static void count_memory(const asked *m, rlt_layout_result *e, const kept *k)
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

/* A bound with communication is asked before the parts of kernels, and before a point is simulated. */
static void check_turn(const asked *m, const kept *k, const kept *from)
{
    bool bounded = from && from->task.what == RLT_LAYOUT_BOUND;
    if (k->task.what == RLT_LAYOUT_SIMULATE)
        assert_true(bounded == !m->s.no_bounds);
    else if (k->task.what == RLT_LAYOUT_CONSIDER)
        assert_true(bounded == (k->task.level == RLT_LAYOUT_STAGES && !m->s.no_bounds && !m->two_ways));
}

/* Counts all answers. Points have the bound and the memory of the answers before. */
static void count(asked *m, const rlt_layout_result *r, rlt_layout_result *e)
{
    *e = (rlt_layout_result){.total = points_below(m, 0), .least_pruned_ps = RLT_TIME_MAX};
    for (uint32_t i = 0; i < m->l.space.known[RLT_LAYOUT_SIZES]; i++)
        e->total *= m->l.space.axes[i].n;
    for (uint32_t i = 0; i < m->n; i++) {
        kept *k = &m->log[i], *from = before(m, &k->task, i);
        const rlt_layout_outcome *o = &k->outcome;
        double points = points_below(m, k->task.level);
        check_turn(m, k, from);
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
static double limit_of(const asked *m, rlt_time best_ps)
{
    const rlt_layout_search *s = &m->s;
    double limit = s->until_ps               ? (double)s->until_ps
                   : best_ps == RLT_TIME_MAX ? HUGE_VAL
                   : s->within > 0           ? floor((double)best_ps * (1 + s->within))
                                             : floor((double)best_ps / (1 + s->gap));
    return s->limit_ps && (double)s->limit_ps < limit ? (double)s->limit_ps : limit;
}

/* Counts what is left. All of it is above the limit, unless the search was stopped. */
static void count_left(const asked *m, const rlt_layout_result *r, bool stopped, rlt_layout_result *e)
{
    double limit = limit_of(m, r->n ? r->points[0].time_ps : RLT_TIME_MAX), first = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        const kept *k = &m->log[i];
        bool followed = k->next < MOST && m->log[k->next].task.what != RLT_LAYOUT_CONSIDER;
        double points = points_below(m, k->task.level) - k->below;
        first += k->task.level == RLT_LAYOUT_SIZES ? points + k->below : 0;
        if (k->outcome.state != RLT_LAYOUT_OPEN || k->task.what == RLT_LAYOUT_SIMULATE || followed ||
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

static bool sooner(const asked *m, const kept *a, const kept *b)
{
    uint32_t d = 0;
    while (d < m->l.space.n && a->task.at[d] == b->task.at[d])
        d++;
    return a->bound_ps != b->bound_ps       ? a->bound_ps < b->bound_ps
           : a->task.level != b->task.level ? a->task.level < b->task.level
                                            : a->task.at[d] < b->task.at[d];
}

/* A round takes the nodes of the least bounds, none above the limit; the last one may be stopped. */
static void check_rounds(const asked *m, bool stopped)
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

static void check_counts(asked *m, const rlt_layout_result *r, bool stopped, uint32_t i)
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
    assert_memory_equal(r->nearest.at, e.nearest.at, sizeof e.nearest.at);
    assert_true(r->nearest.bound_ps == e.nearest.bound_ps && r->nearest.time_ps == e.nearest.time_ps &&
                r->nearest.memory_bytes == e.nearest.memory_bytes);
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

static void same_counts(void **state)
{
    asked m = empty();
    dice r = {.seed = 32};
    uint32_t stopped = 0;
    (void)state;
    for (uint32_t i = 0; i < CASES; i++) {
        begin(&m, &r, i);
        for (int k = 0; k < 2; k++) {
            rlt_layout_result result;
            int rc = search(&m, &result);
            check_counts(&m, &result, rc != 0, i);
            stopped += rc != 0;
            if (k == 0) {
                limit(&m, i, &result);
                shrink(&m, &r);
            }
            rlt_layout_result_free(&result);
            assert_true(!result.points && result.n == 0);
        }
        end(&m);
    }
    printf("# %u of %d searches were stopped\n", stopped, 2 * CASES);
    assert_true(stopped > CASES / 16);
}

/* A round asks more at once than there is room for. */
static void many(void **state)
{
    static const char *const given[] = {
        "tp=1+2", "cp=1", "pp=1+2", "ep=1", "vp=1:6", "microbatch=1+2+3+4+6", "order=tp-cp-dp-pp"};
    asked m = empty();
    dice r = {.seed = 77};
    (void)state;
    do {
        if (m.l.ranks)
            layouts_free(&m.l);
        layouts_draw(&m.l, &r);
    } while (m.l.ranks != 8);
    rlt_layout_space_free(&m.l.space);
    assert_int_equal(
        rlt_layout_space_open(&m.l.f.t, 8, given, sizeof given / sizeof *given, &m.l.space, &m.l.f.err), 0);
    m.s = (rlt_layout_search){.base = &m.l.f.t, .how = &m.l.how, .ranks = 8, .space = &m.l.space, .most = 3};
    learn(&m);
    static const uint32_t stops[] = {600, 900, 1100, 1300, 1500, 1600, 0};
    uint32_t most = 0;
    for (size_t k = 0; k < sizeof stops / sizeof *stops; k++) {
        rlt_layout_result result;
        m.stops_at = stops[k];
        int rc = search(&m, &result);
        check_counts(&m, &result, rc != 0, 0);
        rlt_layout_result_free(&result);
    }
    for (uint32_t j = 1; j < m.n_rounds; j++)
        most = m.rounds[j].n - m.rounds[j - 1].n > most ? m.rounds[j].n - m.rounds[j - 1].n : most;
    printf("# %u answers, %u in a round\n", m.n, most);
    assert_true(most > 1024);
    end(&m);
}

typedef struct other {
    rlt_watch watch;
    uint64_t began, stopped, at_once;
    bool stops;
} other;

static void begins(void *ctx, rlt_sim *sim)
{
    other *o = ctx;
    o->began += sim != NULL;
    if (sim && o->stops)
        rlt_sim_stop(sim);
}

static int answer_all(void *ctx, uint32_t n, rlt_layout_outcome *out, rlt_layout_answer answer, void *job,
                      rlt_error *err)
{
    other *o = ctx;
    (void)err;
    o->at_once = n > o->at_once ? n : o->at_once;
    for (uint32_t i = n; i-- > 0;)
        answer(job, i, 0, &o->watch, &out[i]);
    for (uint32_t i = 0; i < n; i++)
        if (out[i].state == RLT_LAYOUT_UNANSWERED) {
            assert_true(out[i].code == RLT_ECANCELLED && out[i].ps == 0);
            o->stopped++;
        }
    return 0;
}

/* Who answers has a watch, which is told of the simulations, and may stop them; that of the search is not. */
static void another_watch(void **state)
{
    asked m = empty();
    dice r = {.seed = 79};
    uint64_t began = 0, stopped = 0, at_once = 0;
    (void)state;
    for (uint32_t i = 0; i < 10; i++) {
        other mine = {.began = 0}, its = {.began = 0};
        const rlt_layout_hooks hooks = {.ctx = &its, .workers = 1, .each = answer_all};
        rlt_layout_result result;
        rlt_error err = {0};
        begin(&m, &r, 0);
        mine.watch = (rlt_watch){.ctx = &mine, .running = begins};
        its.watch = (rlt_watch){.ctx = &its, .running = begins};
        m.s.most = 0;
        m.s.wrong = 0;
        m.s.watch = &mine.watch;
        m.s.hooks = &hooks;
        its.stops = i % 2;
        int rc = rlt_layout_find(&m.s, &result, &err);
        assert_int_equal(rc, its.stopped ? RLT_ECANCELLED : 0);
        stopped += its.stopped;
        at_once = its.at_once > at_once ? its.at_once : at_once;
        assert_true(mine.began == 0 && its.began >= result.n);
        began += its.began;
        rlt_layout_result_free(&result);
        end(&m);
    }
    assert_true(began > 0 && stopped > 0 && at_once > 8);
}

/* Bounds that are made too high on purpose: the first point that takes less is named, with all its values. */
static void too_high(void **state)
{
    asked m = empty();
    dice r = {.seed = 78};
    uint32_t refused = 0;
    (void)state;
    for (uint32_t i = 0; i < CASES / 4; i++) {
        const rlt_layout_hooks hooks = {.ctx = &m, .keep = keep};
        rlt_layout_result result;
        rlt_error err = {0};
        char values[400] = "", text[600] = "";
        begin(&m, &r, 0);
        m.s.no_bounds = false;
        m.s.wrong = 1.5;
        m.s.hooks = &hooks;
        m.n = 0;
        int rc = rlt_layout_find(&m.s, &result, &err);
        for (uint32_t k = 0; k < m.n && !*text; k++) {
            kept *one = &m.log[k], *from = before(&m, &one->task, k);
            rlt_time bound = from ? from->bound_ps : 0, ps = one->outcome.ps;
            one->bound_ps = ps > bound ? ps : bound;
            if (one->task.what != RLT_LAYOUT_SIMULATE || ps >= bound)
                continue;
            for (uint32_t a = 0; a < m.l.space.n; a++)
                snprintf(values + strlen(values), sizeof values - strlen(values), "%s%s=%s", a ? "," : "",
                         m.l.space.axes[a].name, m.l.space.axes[a].values[one->task.at[a]]);
            snprintf(text, sizeof text, "%lld ps is above the simulated %lld ps: %s", (long long)bound,
                     (long long)ps, values);
        }
        assert_int_equal(rc, *text ? RLT_ECHECK : m.s.most && result.n == m.s.most ? RLT_ECANCELLED : 0);
        if (*text)
            assert_string_equal(err.what, text);
        refused += *text != 0;
        rlt_layout_result_free(&result);
        end(&m);
    }
    assert_true(refused > CASES / 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_counts),
        cmocka_unit_test(many),
        cmocka_unit_test(another_watch),
        cmocka_unit_test(too_high),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
