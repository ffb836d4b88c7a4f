/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The search of layouts against a walk over all points of small spaces at random: the same optimum and the same
 * counts, whatever it prunes and in whatever order it goes. TWIN_SEED draws other spaces.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/trainings/layouts.h"
#include "workload/plan/plan.h"
#include "workload/training/training.h"

enum { CASES = 500, MOST_RATIOS = 1 << 16 };

typedef struct tally {
    uint32_t points, planned, repeated, feasible, runs, empty;
    double pruned, simulated;
} tally;
static tally count;
static struct {
    double *of;
    uint32_t n;
} ratios[RLT_SCHEDULES];

static rlt_layout_search search_of(const layouts *l)
{
    return (rlt_layout_search){.base = &l->f.t, .how = &l->how, .ranks = l->ranks, .space = &l->space};
}

static rlt_layout_result find(const layouts *l, const rlt_layout_search *s, uint32_t i, const char *what)
{
    rlt_error err = {0};
    rlt_layout_result r;
    if (rlt_layout_find(s, &r, &err))
        fail_msg("%s: %s: %s", layouts_name(l, i, what), err.where, err.what);
    count.runs++;
    return r;
}

/* Returns the walk's knowledge of a point. */
static const layouts_point *known(const layouts *l, const layouts_walk *w, const uint16_t *at)
{
    size_t k = 0;
    for (uint32_t a = 0; a < l->space.n; a++)
        k = k * l->space.axes[a].n + at[a];
    return &w->points[k];
}

/* Returns true if q can stand for p: the same time and memory, or one stage that is not interleaved. */
static bool stands_for(const layouts_point *q, const layouts_point *p, bool earlier)
{
    if (!q->planned || q->repeats)
        return false;
    if (earlier && q->time_ps == p->time_ps && q->memory_bytes <= p->memory_bytes &&
        q->memory_bytes >= p->memory_bytes)
        return true;
    return p->pp == 1 && p->schedule == RLT_SCHEDULE_INTERLEAVED && q->pp == 1 &&
           q->schedule == RLT_SCHEDULE_1F1B;
}

/* Each point that repeats another has an earlier one that runs in the same time and memory. */
static void check_repeats(const layouts *l, const layouts_walk *w, uint32_t i)
{
    char text[400];
    for (uint32_t k = 0; k < w->n; k++) {
        const layouts_point *p = &w->points[k];
        bool found = false;
        for (uint32_t e = 0; p->planned && p->repeats && e < w->n && !found; e++)
            found = stands_for(&w->points[e], p, e < k);
        layouts_values(l, p->at, text, sizeof text);
        if (p->planned && p->repeats && !found)
            fail_msg("%s: no earlier point runs as%s", layouts_name(l, i, "repeats"), text);
    }
}

/* What holds for every search that came to its end. */
static void check_result(const layouts *l, const layouts_walk *w, const rlt_layout_result *r, double room,
                         const char *name)
{
    double sum = r->repeated + r->against_rules + r->out_of_memory + r->pruned + r->n, feasible = 0;
    if (!r->proven || sum < r->total || sum > r->total || r->total < w->n || r->total > w->n)
        fail_msg("%s: %g of %u points are counted", name, sum, w->n);
    for (uint32_t k = 0; k < w->n; k++)
        feasible += w->points[k].planned && !w->points[k].repeats && w->points[k].memory_bytes <= room;
    if (r->n + r->pruned < feasible)
        fail_msg("%s: %g points are feasible, %u simulated, %g pruned", name, feasible, r->n, r->pruned);
    for (uint32_t k = 0; k < r->n; k++) {
        const layouts_point *p = known(l, w, r->points[k].at);
        if (!p->planned || p->repeats || p->memory_bytes > room || p->time_ps != r->points[k].time_ps ||
            p->memory_bytes < r->points[k].memory_bytes || p->memory_bytes > r->points[k].memory_bytes)
            fail_msg("%s: point %u (%lld ps) is another one to the walk: %lld ps, %g bytes", name, k,
                     (long long)r->points[k].time_ps, (long long)p->time_ps, p->memory_bytes);
        if (k && r->points[k - 1].time_ps > r->points[k].time_ps)
            fail_msg("%s: points are not sorted", name);
    }
}

/* All points within a share of the best one are in the result. */
static void check_within(const layouts_walk *w, const rlt_layout_result *r, double room, double share,
                         const char *name)
{
    const layouts_point *best = layouts_fastest(w, room);
    uint32_t expected = 0, got = 0;
    if (!best != !r->n)
        fail_msg("%s: %s", name, best ? "found nothing" : "found what does not fit");
    if (!best)
        return;
    if (memcmp(best->at, r->points[0].at, sizeof best->at) != 0 || best->time_ps != r->points[0].time_ps)
        fail_msg("%s: best is %lld ps, to the walk %lld ps", name, (long long)r->points[0].time_ps,
                 (long long)best->time_ps);
    rlt_time limit = (rlt_time)((double)best->time_ps * (1 + share));
    for (uint32_t k = 0; k < w->n; k++)
        expected += w->points[k].planned && !w->points[k].repeats && w->points[k].memory_bytes <= room &&
                    w->points[k].time_ps <= limit;
    for (uint32_t k = 0; k < r->n; k++)
        got += r->points[k].time_ps <= limit;
    if (got != expected)
        fail_msg("%s: %u points are within %g, to the walk %u", name, got, share, expected);
}

/* Without bounds nothing is pruned: what fits is simulated. With room for all, all counts are the walk's. */
static void without_bounds(const layouts *l, const layouts_walk *w, uint32_t i, double room, bool all)
{
    rlt_layout_search s = search_of(l);
    s.no_bounds = true;
    s.visit = i % 2 ? i : 0;
    rlt_layout_result r = find(l, &s, i, "no bounds");
    const char *name = layouts_name(l, i, "no bounds");
    double repeated = 0, against = 0;
    check_result(l, w, &r, room, name);
    check_within(w, &r, room, 1e3, name);
    for (uint32_t k = 0; k < w->n; k++) {
        repeated += w->points[k].planned && w->points[k].repeats;
        against += !w->points[k].planned;
    }
    if (r.pruned > 0 || r.repeated > repeated || r.against_rules > against)
        fail_msg("%s: %g pruned, %g repeated, %g against rules", name, r.pruned, r.repeated, r.against_rules);
    if (all && (r.repeated < repeated || r.against_rules < against || r.out_of_memory > 0))
        fail_msg("%s: %g repeated, to the walk %g; %g against rules, to it %g", name, r.repeated, repeated,
                 r.against_rules, against);
    double reasons = 0;
    for (uint32_t k = 0; k < r.n_reasons; k++)
        reasons += r.reasons[k].points;
    assert_true(reasons <= r.against_rules &&
                (r.n_reasons == RLT_LAYOUT_REASONS || reasons >= r.against_rules));
    rlt_layout_result_free(&r);
}

static void add_ratios(const layouts *l, const layouts_walk *w, const rlt_layout_result *r)
{
    for (uint32_t k = 0; k < r->n; k++) {
        rlt_schedule of = known(l, w, r->points[k].at)->schedule;
        if (!ratios[of].of)
            ratios[of].of = calloc(MOST_RATIOS, sizeof(double));
        assert_non_null(ratios[of].of);
        if (ratios[of].n < MOST_RATIOS)
            ratios[of].of[ratios[of].n++] = (double)r->points[k].bound_ps / (double)r->points[k].time_ps;
    }
}

/* Searches with bounds: to the optimum, in a random order, for all near it, and with a gap. */
static void with_bounds(const layouts *l, const layouts_walk *w, uint32_t i, double room)
{
    static const double shares[] = {0, 0, 10, 0.02, 0.2};
    const layouts_point *best = layouts_fastest(w, room);
    for (uint32_t k = 0; k < sizeof shares / sizeof *shares; k++) {
        rlt_layout_search s = search_of(l);
        s.within = shares[k];
        s.visit = k == 1 || (k == 3 && i % 2) ? i + 1 : 0;
        if (k >= 3 && i % 2 != k % 2)
            continue;
        rlt_layout_result r = find(l, &s, i, "bounds");
        const char *name = layouts_name(l, i, k == 1 ? "in a random order" : "bounds");
        check_result(l, w, &r, room, name);
        check_within(w, &r, room, shares[k], name);
        if (r.n && r.pruned > 0 &&
            (double)r.least_pruned_ps < (double)r.points[0].time_ps * (1 + shares[k]) - 1)
            fail_msg("%s: pruned %lld ps", name, (long long)r.least_pruned_ps);
        if (shares[k] > 1)
            add_ratios(l, w, &r);
        if (k == 0) {
            count.pruned += r.pruned;
            count.simulated += r.n;
        }
        rlt_layout_result_free(&r);
    }
    rlt_layout_search s = search_of(l);
    s.gap = i % 2 ? 0.05 : 0.5;
    s.visit = i % 4 ? 0 : i + 1;
    rlt_layout_result r = find(l, &s, i, "gap");
    check_result(l, w, &r, room, layouts_name(l, i, "gap"));
    if (!best != !r.n || (best && (double)r.points[0].time_ps > (double)best->time_ps * (1 + s.gap) + 1))
        fail_msg("%s: %lld ps is not near %lld ps", layouts_name(l, i, "gap"), (long long)r.points[0].time_ps,
                 (long long)best->time_ps);
    rlt_layout_result_free(&r);
}

static double draw_room(const layouts_walk *w, dice *r)
{
    double least = 0, most = 0;
    for (uint32_t k = 0; k < w->n; k++) {
        const layouts_point *p = &w->points[k];
        least = p->planned && (least <= 0 || p->memory_bytes < least) ? p->memory_bytes : least;
        most = p->memory_bytes > most ? p->memory_bytes : most;
    }
    double x = fraction(r); /* more often small: few points fit */
    return least + (most - least) * x * x + 1;
}

/* Draws a case and walks its space. */
static layouts_walk begin(layouts *l, dice *r)
{
    layouts_walk w = layouts_draw_walked(l, r, 6);
    count.points += w.n;
    for (uint32_t k = 0; k < w.n; k++) {
        count.planned += w.points[k].planned;
        count.repeated += w.points[k].repeats;
    }
    return w;
}

static void end(layouts *l, layouts_walk *w)
{
    free(w->points);
    layouts_free(l);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_ratios(void)
{
    static const char *const names[] = {"gpipe",   "1f1b",     "interleaved", "zero-bubble",
                                        "message", "dualpipe", "dualpipev"};
    for (int k = 0; k < RLT_SCHEDULES; k++) {
        uint32_t n = ratios[k].n;
        if (!n)
            continue;
        qsort(ratios[k].of, n, sizeof(double), by_size);
        printf("# bound / simulated, %s: %u points, median %.3f, least %.3f, most %.3f\n", names[k], n,
               ratios[k].of[n / 2], ratios[k].of[0], ratios[k].of[n - 1]);
        assert_true(ratios[k].of[n - 1] <= 1);
        assert_true(k != RLT_SCHEDULE_1F1B || ratios[k].of[n / 2] >= 0.9);
        free(ratios[k].of);
    }
}

static void same_as_walk(void **state)
{
    const char *seed = getenv("TWIN_SEED");
    dice r = {.seed = seed ? strtoul(seed, NULL, 10) : 11};
    (void)state;
    for (uint32_t i = 0; i < CASES; i++) {
        layouts l;
        layouts_walk w = begin(&l, &r);
        check_repeats(&l, &w, i);
        without_bounds(&l, &w, i, (double)l.f.accelerator.memory_bytes, true);
        l.f.accelerator.memory_bytes = (uint64_t)draw_room(&w, &r);
        double room = (double)l.f.accelerator.memory_bytes;
        for (uint32_t k = 0; k < w.n; k++)
            count.feasible += w.points[k].planned && !w.points[k].repeats && w.points[k].memory_bytes <= room;
        count.empty += !layouts_fastest(&w, room);
        without_bounds(&l, &w, i, room, false);
        with_bounds(&l, &w, i, room);
        end(&l, &w);
    }
    printf(
        "# %d spaces: %u points, %u planned, %u repeated, %u fit, nothing in %u; %u searches; to the optimum: "
        "%g pruned, %g simulated\n",
        CASES, count.points, count.planned, count.repeated, count.feasible, count.empty, count.runs,
        count.pruned, count.simulated);
    print_ratios();
    assert_true(count.feasible > CASES && count.repeated > CASES && count.pruned > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_as_walk)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
