/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Points at random against a walk over all points: each is possible, each possible one is drawn about as often as
 * the others, and those that are faster than a time are as many as the walk says.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "sim/watch.h"
#include "test/support/trainings/layouts.h"
#include "workload/plan/plan.h"
#include "workload/replay/alone.h"
#include "workload/timing/timing.h"
#include "workload/training/cost.h"
#include "workload/training/training.h"

enum { CASES = 16, DRAWN = 400 };

static uint32_t index_of(const layouts *l, const uint16_t *at)
{
    uint32_t k = 0;
    for (uint32_t a = 0; a < l->space.n; a++)
        k = k * l->space.axes[a].n + at[a];
    return k;
}

static bool possible(const layouts *l, const layouts_point *p)
{
    return p->planned && !p->repeats && p->memory_bytes <= (double)l->f.accelerator.memory_bytes;
}

static rlt_layout_sample sample(const layouts *l, uint32_t n, uint64_t seed, rlt_time than_ps)
{
    rlt_error err = {0};
    rlt_layout_sample s;
    rlt_layout_search how = {.base = &l->f.t, .how = &l->how, .ranks = l->ranks, .space = &l->space};
    if (rlt_layout_draw(&how, n, seed, than_ps, &s, &err))
        fail_msg("%s: %s", err.where, err.what);
    return s;
}

/* Counts are within five standard deviations of what equal chances give. */
static void assert_share(uint32_t count, uint32_t of, double share)
{
    double mean = of * share, deviation = sqrt(mean * (1 - share));
    assert_true(fabs(count - mean) <= 5 * deviation + 1e-9);
}

static rlt_time bound_of(const layouts *l, const rlt_training *t, rlt_timing *alone)
{
    rlt_error err = {0};
    rlt_training_cost c = {0};
    assert_int_equal(rlt_training_cost_find(t, &l->how, alone, false, &c, &err), 0);
    rlt_time bound = rlt_training_bound(t, &c);
    rlt_training_cost_free(&c);
    return bound;
}

/* Each point has its bound, and its time if the bound is below than_ps. */
static void check_points(const layouts *l, const layouts_walk *w, const rlt_layout_sample *s)
{
    rlt_error err = {0};
    rlt_timing *alone = NULL;
    uint32_t simulated = 0, faster = 0;
    assert_int_equal(rlt_timing_alone(&l->how, &alone, &err), 0);
    for (uint32_t i = 0; i < s->n; i++) {
        rlt_training t;
        const rlt_layout_point *p = &s->points[i];
        const layouts_point *known = &w->points[index_of(l, p->at)];
        assert_int_equal(rlt_layout_training(&l->space, &l->f.t, l->ranks, p, &t, &err), 0);
        rlt_time bound = bound_of(l, &t, NULL), more = bound < s->than_ps ? bound_of(l, &t, alone) : 0;
        bound = more > bound ? more : bound;
        assert_int_equal(p->bound_ps, bound);
        assert_int_equal(p->time_ps, bound < s->than_ps ? known->time_ps : 0);
        assert_true(p->memory_bytes == known->memory_bytes);
        simulated += bound < s->than_ps;
        faster += known->time_ps < s->than_ps;
    }
    assert_true(s->simulated == simulated && s->faster == faster && s->drawn >= s->n);
    rlt_timing_free(alone);
}

static void check(const layouts *l, const layouts_walk *w, uint64_t seed)
{
    const layouts_point *median = NULL;
    uint32_t n = 0, faster = 0, *times = calloc(w->n, sizeof *times);
    assert_non_null(times);
    for (uint32_t i = 0; i < w->n; i++)
        if (possible(l, &w->points[i]) && n++ % 3 == 1)
            median = &w->points[i];
    for (uint32_t i = 0; i < w->n; i++)
        faster += possible(l, &w->points[i]) && w->points[i].time_ps < median->time_ps;
    rlt_layout_sample s = sample(l, DRAWN, seed, median->time_ps);
    assert_int_equal(s.n, DRAWN);
    assert_true(s.than_ps == median->time_ps);
    check_points(l, w, &s);
    for (uint32_t i = 0; i < s.n; i++) {
        const rlt_layout_point *p = &s.points[i];
        const layouts_point *known = &w->points[index_of(l, p->at)];
        times[index_of(l, p->at)]++;
        assert_true(possible(l, known) && p->bound_ps <= known->time_ps);
        assert_true(p->time_ps == known->time_ps || (p->time_ps == 0 && known->time_ps >= median->time_ps));
    }
    assert_share(s.faster, s.n, (double)faster / n);
    for (uint32_t i = 0; i < w->n; i++)
        if (possible(l, &w->points[i]))
            assert_share(times[i], s.n, 1.0 / n);
    rlt_layout_sample again = sample(l, DRAWN / 2, seed, median->time_ps);
    assert_memory_equal(again.points, s.points, again.n * sizeof *again.points);
    rlt_layout_sample_free(&again);
    assert_true(!again.points && again.n == 0);
    rlt_layout_sample_free(&s);
    free(times);
}

static void against_the_walk(void **state)
{
    dice r = {.seed = 11};
    (void)state;
    for (uint32_t i = 0; i < CASES; i++) {
        layouts l;
        layouts_walk w = layouts_draw_walked(&l, &r, 6);
        uint32_t n = 0;
        for (uint32_t k = 0; k < w.n; k++)
            n += possible(&l, &w.points[k]);
        if (n >= 2)
            check(&l, &w, i);
        free(w.points);
        layouts_free(&l);
    }
}

static void nothing_is_possible(void **state)
{
    dice r = {.seed = 12};
    layouts l;
    (void)state;
    layouts_walk w = layouts_draw_walked(&l, &r, 6);
    l.f.accelerator.memory_bytes = 1;
    rlt_layout_sample s = sample(&l, 1, 0, RLT_TIME_MAX);
    assert_int_equal(s.n, 0);
    assert_true(s.drawn == 100000);
    rlt_layout_sample_free(&s);
    free(w.points);
    layouts_free(&l);
}

typedef struct seen {
    bool runs;
    uint32_t asked, stops_at, began;
} seen;

static void running(void *ctx, rlt_sim *sim)
{
    seen *s = ctx;
    assert_true(s->runs == !sim);
    s->runs = sim != NULL;
    s->began += s->runs;
}

static bool stops(void *ctx)
{
    seen *s = ctx;
    return ++s->asked == s->stops_at;
}

/* A watch is told of each simulation, and stops the drawing; memory that is kept free is not there. */
static void watched(void **state)
{
    dice r = {.seed = 13};
    (void)state;
    for (uint32_t i = 0; i < 8; i++) {
        layouts l;
        layouts_walk w = layouts_draw_walked(&l, &r, 6);
        seen told = {.stops_at = i % 2 ? 5 : 0};
        rlt_watch watch = {.ctx = &told, .running = running, .stopped = stops};
        rlt_error err = {0};
        rlt_layout_sample s;
        double most = 0, half = 0;
        for (uint32_t k = 0; k < w.n; k++)
            most = possible(&l, &w.points[k]) ? fmax(most, w.points[k].memory_bytes) : most;
        l.f.accelerator.memory_bytes = 2 * (uint64_t)most - 2;
        rlt_layout_search how = {.base = &l.f.t, .how = &l.how, .ranks = l.ranks, .space = &l.space};
        how.headroom = 0.5;
        how.watch = &watch;
        int rc = rlt_layout_draw(&how, 30, i, RLT_TIME_MAX, &s, &err);
        assert_int_equal(rc, i % 2 && told.asked >= 5 ? RLT_ECANCELLED : 0);
        assert_true(!rc || (strcmp(err.what, "stopped") == 0 && s.drawn == 4));
        assert_true(!told.runs && told.began >= s.n);
        for (uint32_t k = 0; k < s.n; k++)
            half = fmax(half, s.points[k].memory_bytes);
        assert_true(half < most);
        rlt_layout_sample_free(&s);
        free(w.points);
        layouts_free(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(against_the_walk),
                                       cmocka_unit_test(nothing_is_possible), cmocka_unit_test(watched)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
