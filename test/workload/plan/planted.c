/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Errors put into the search on purpose, against the walk: a bound that is a little too high is noticed, and a byte
 * of memory at the edge decides whether a layout is taken.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "test/support/trainings/layouts.h"
#include "workload/plan/plan.h"

enum { CASES = 60 };

static rlt_layout_search search_of(const layouts *l)
{
    return (rlt_layout_search){.base = &l->f.t, .how = &l->how, .ranks = l->ranks, .space = &l->space};
}

/* Returns true if the search fails, or finds another optimum than the walk. */
static bool noticed(const layouts *l, const layouts_walk *w, double wrong, bool *failed)
{
    rlt_error err = {0};
    rlt_layout_result r;
    rlt_layout_search s = search_of(l);
    const layouts_point *best = layouts_fastest(w, (double)l->f.accelerator.memory_bytes);
    s.wrong = wrong;
    int rc = rlt_layout_find(&s, &r, &err);
    bool other = !r.n || memcmp(r.points[0].at, best->at, sizeof best->at) != 0;
    *failed = rc != 0;
    if (rc) {
        assert_int_equal(rc, RLT_ECHECK);
        assert_string_equal(err.where, "bound");
        assert_non_null(strstr(err.what, "tp="));
    }
    rlt_layout_result_free(&r);
    return rc || other;
}

static void wrong_bounds(void **state)
{
    static const double by[] = {1, 1.05, 1.5};
    uint32_t all[3] = {0}, failed[3] = {0};
    dice r = {.seed = 3};
    (void)state;
    for (uint32_t i = 0; i < CASES; i++) {
        layouts l;
        layouts_walk w = layouts_draw_walked(&l, &r, 6);
        for (int k = 0; k < 3; k++) {
            bool fails;
            all[k] += noticed(&l, &w, by[k], &fails);
            failed[k] += fails;
        }
        free(w.points);
        layouts_free(&l);
    }
    printf(
        "# of %d spaces, a bound 5 %% too high is noticed in %u (by the search itself in %u), 50 %% in %u\n",
        CASES, all[1], failed[1], all[2]);
    assert_int_equal(all[0], 0);
    assert_true(all[1] > CASES / 4 && failed[1] > 0 && all[2] >= all[1]);
}

/* Searches with this room. Returns true if it finds `expected`; NULL: nothing. */
static bool finds(layouts *l, uint64_t room, const layouts_point *expected)
{
    rlt_error err = {0};
    rlt_layout_result r;
    l->f.accelerator.memory_bytes = room;
    rlt_layout_search s = search_of(l);
    if (rlt_layout_find(&s, &r, &err))
        fail_msg("%s: %s", err.where, err.what);
    bool same = expected ? r.n && memcmp(r.points[0].at, expected->at, sizeof expected->at) == 0 &&
                               r.points[0].time_ps == expected->time_ps
                         : r.n == 0;
    rlt_layout_result_free(&r);
    return same;
}

static void byte_at_the_edge(void **state)
{
    dice r = {.seed = 4};
    (void)state;
    for (uint32_t i = 0; i < CASES; i++) {
        layouts l;
        layouts_walk w = layouts_draw_walked(&l, &r, 6);
        const layouts_point *best = layouts_fastest(&w, (double)l.f.accelerator.memory_bytes);
        uint64_t edge = (uint64_t)ceil(best->memory_bytes);
        const layouts_point *less = layouts_fastest(&w, (double)(edge - 1));
        assert_true(less != best);
        assert_true(finds(&l, edge, layouts_fastest(&w, (double)edge)));
        assert_true(finds(&l, edge - 1, less));
        assert_false(finds(&l, edge - 1, best));
        free(w.points);
        layouts_free(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(wrong_bounds), cmocka_unit_test(byte_at_the_edge)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
