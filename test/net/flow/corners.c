/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Corners of the max-min solver by hand: equal flows on idle links, links that are used again, bytes that
 * are left at an end; and stars with many flows at once, whose rates are found anew by filling links one at
 * a time.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "net/flow/maxmin.h"
#include "sim/base/time.h"
#include "test/support/dice.h"

#define TB UINT64_C(1000000000000) /* a byte a picosecond */

static rlt_maxmin *solver(uint32_t n, const uint64_t *bw_Bps)
{
    rlt_maxmin *mm = NULL;
    assert_int_equal(rlt_maxmin_create(n, bw_Bps, &mm, NULL), 0);
    return mm;
}

static uint32_t start(rlt_maxmin *mm, rlt_time now, uint32_t a, uint32_t b, uint64_t bytes, bool joins)
{
    bool merged;
    uint32_t flow = rlt_maxmin_start(mm, now, (uint32_t[]){a, b}, 2, bytes, &merged);
    assert_int_not_equal(flow, RLT_NONE);
    assert_true(merged == joins);
    return flow;
}

static void end(rlt_maxmin *mm, rlt_time now, uint32_t flow)
{
    assert_int_equal(rlt_maxmin_next(mm), now);
    assert_true(rlt_maxmin_remaining(mm, flow, now) == 0);
    assert_int_equal(rlt_maxmin_drain(mm, now), 0);
    assert_int_equal(mm->drained.n, 1);
    assert_int_equal(mm->drained.items[0], flow);
    rlt_maxmin_release(mm, flow);
    assert_int_equal(rlt_maxmin_solve(mm, now), 0);
}

/* The first flow on idle links has its rate at once; an equal one joins it at that instant only. */
static void equal_flows_join(void **state)
{
    (void)state;
    for (int note = 0; note < 2; note++)
        for (int slow = 0; slow < 2; slow++)
            for (int round = 0; round < 3; round++) {
                rlt_maxmin *mm = solver(2, (uint64_t[]){TB, slow ? TB / 2 : TB});
                rlt_time now = 0, each = slow ? 2 : 1;
                mm->note_idle = note;
                for (int k = 0; k < round; k++, now += 100 * each) /* the links have been used before */
                    end(mm, now + 100 * each, start(mm, now, 0, 1, 100, false));
                uint32_t flow = start(mm, now, 0, 1, 1000, false);
                assert_int_equal(start(mm, now, 0, 1, 1000, true), flow);
                assert_int_equal(rlt_maxmin_solve(mm, now), 0);
                assert_int_equal(mm->flows[flow].weight, 2);
                uint32_t later = start(mm, now + 500 * each, 0, 1, 750, false);
                assert_int_equal(rlt_maxmin_solve(mm, now + 500 * each), 0);
                assert_true(rlt_maxmin_remaining(mm, flow, now + 500 * each) == 750);
                assert_true(fabs(rlt_maxmin_remaining(mm, flow, now + 800 * each) - 650) < 1e-6);
                assert_true(fabs(rlt_maxmin_remaining(mm, later, now + 800 * each) - 650) < 1e-6);
                rlt_maxmin_free(mm);
            }
}

/* A flow begins on links that have been used; another one joins it halfway. */
static void links_are_used_again(void **state)
{
    (void)state;
    rlt_maxmin *mm = solver(3, (uint64_t[]){TB, TB, TB});
    end(mm, 1000, start(mm, 0, 0, 1, 1000, false));
    end(mm, 3000, start(mm, 2000, 1, 0, 1000, false));
    uint32_t first = start(mm, 4000, 0, 1, 1000, false);
    assert_true(rlt_maxmin_remaining(mm, first, 4000) == 1000);
    assert_true(rlt_maxmin_remaining(mm, first, 4250) == 750);
    uint32_t second = start(mm, 4500, 0, 2, 200, false);
    assert_int_equal(rlt_maxmin_solve(mm, 4500), 0);
    assert_true(rlt_maxmin_remaining(mm, first, 4700) == 400);
    assert_true(rlt_maxmin_remaining(mm, second, 4700) == 100);
    end(mm, 4900, second);
    assert_true(rlt_maxmin_rate(mm, first) == 1);
    end(mm, 5200, first);
    assert_int_equal(rlt_maxmin_next(mm), -1);
    rlt_maxmin_free(mm);
}

/* The bottleneck of two equal flows gets faster between their starts: the other link is the bottleneck then, and the first
 * one has its whole capacity for what follows. */
static void faster_between_starts(void **state)
{
    (void)state;
    rlt_maxmin *mm = solver(3, (uint64_t[]){TB, 2 * TB, TB});
    uint32_t flow = start(mm, 0, 0, 1, 1000, false);
    assert_int_equal(rlt_maxmin_capacity(mm, 0, 4 * TB), 0);
    start(mm, 0, 0, 1, 1000, true);
    assert_int_equal(rlt_maxmin_solve(mm, 0), 0);
    assert_true(rlt_maxmin_rate(mm, flow) == 1);
    end(mm, 1000, flow);
    uint32_t a = start(mm, 1000, 0, 2, 1000, false), b = start(mm, 1000, 0, 1, 1000, false);
    assert_int_equal(rlt_maxmin_solve(mm, 1000), 0);
    assert_true(rlt_maxmin_rate(mm, a) == 1 && rlt_maxmin_rate(mm, b) == 2);
    end(mm, 1500, b);
    end(mm, 2000, a);
    assert_int_equal(rlt_maxmin_capacity(mm, 0, TB), 0);
    a = start(mm, 2000, 0, 2, 1000, false), b = start(mm, 2000, 0, 1, 1000, false);
    assert_int_equal(rlt_maxmin_solve(mm, 2000), 0);
    assert_true(rlt_maxmin_rate(mm, a) == 0.5 && rlt_maxmin_rate(mm, b) == 0.5);
    rlt_maxmin_free(mm);
}

/* A flow is cancelled at a changed level, and another one begins on its links before the next solve. */
static void a_flow_takes_the_place_of_another(void **state)
{
    (void)state;
    for (int solved = 0; solved < 2; solved++)
        for (int swap = 0; swap < 2; swap++) {
            rlt_maxmin *mm = solver(3, (uint64_t[]){TB, TB, TB});
            uint32_t first = start(mm, 0, 0, 1, 1000, false), second = start(mm, 0, 0, 2, 100, false);
            assert_int_equal(rlt_maxmin_solve(mm, 0), 0);
            end(mm, 200, second);
            assert_true(rlt_maxmin_remaining(mm, first, 300) == 800);
            assert_int_equal(rlt_maxmin_cancel(mm, first), 0);
            rlt_maxmin_release(mm, first);
            if (solved)
                assert_int_equal(rlt_maxmin_solve(mm, 300), 0);
            uint32_t next = start(mm, 300, swap ? 1 : 0, swap ? 0 : 1, 1000, false);
            assert_int_equal(rlt_maxmin_solve(mm, 300), 0);
            assert_true(rlt_maxmin_remaining(mm, next, 300) == 1000);
            uint32_t other = start(mm, 500, 0, 2, 100, false);
            assert_int_equal(rlt_maxmin_solve(mm, 500), 0);
            assert_true(rlt_maxmin_remaining(mm, next, 600) == 750);
            end(mm, 700, other);
            assert_true(rlt_maxmin_remaining(mm, next, 800) == 600);
            end(mm, 1400, next);
            rlt_maxmin_free(mm);
        }
}

/* Asked again and again: what one path crossed is forgotten for the next. */
static void paths_that_name_a_link_twice(void **state)
{
    dice d = {.seed = 3};
    (void)state;
    rlt_maxmin *mm = solver(8, (uint64_t[]){TB, TB, TB, TB, TB, TB, TB, TB});
    for (int c = 0; c < 300; c++) {
        uint32_t links[6], n = below(&d, 6);
        bool simple = true;
        for (uint32_t i = 0; i < 6; i++)
            links[i] = below(&d, 8);
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t k = 0; k < i; k++)
                simple &= links[i] != links[k];
        assert_true(rlt_maxmin_is_simple(mm, links, n) == simple);
    }
    rlt_maxmin_free(mm);
}

/* Equal paths of many links join, in whatever order a path names them; a multiple counts where it is
 * taken. */
static void long_paths_join(void **state)
{
    enum { LONG = 20 };
    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        uint64_t bw[LONG];
        uint32_t links[LONG], times[LONG];
        bool merged;
        for (uint32_t i = 0; i < LONG; i++) {
            bw[i] = TB;
            links[i] = turn ? LONG - 1 - i : i;
            times[i] = i + 1 < LONG ? 1 : 5;
        }
        rlt_maxmin *mm = solver(LONG, bw);
        uint32_t flow = rlt_maxmin_start_times(mm, 0, links, times, LONG - 1, 1000, &merged);
        assert_false(merged);
        assert_false(mm->has_times); /* the multiple stands behind the path */
        assert_int_equal(rlt_maxmin_start(mm, 0, links, LONG - 1, 1000, &merged), flow);
        assert_true(merged);
        assert_int_not_equal(rlt_maxmin_start(mm, 0, links + 1, LONG - 1, 1000, &merged), flow);
        assert_false(merged);
        rlt_maxmin_free(mm);
        mm = solver(LONG, bw);
        flow = rlt_maxmin_start_times(mm, 0, links, times, LONG, 1000, &merged);
        assert_true(mm->has_times);
        assert_int_equal(rlt_maxmin_start_times(mm, 0, links, times, LONG, 1000, &merged), flow);
        assert_true(merged);
        assert_int_equal(rlt_maxmin_solve(mm, 0), 0);
        assert_true(fabs(rlt_maxmin_rate(mm, flow) - 0.1) < 1e-10);
        assert_int_equal(rlt_maxmin_next(mm), 10000);
        rlt_maxmin_free(mm);
    }
}

/* ---- many flows at once ---- */

enum { PORTS = 40, FLOWS = 200, CASES = 30 };

typedef struct flows {
    uint32_t n, from[FLOWS], to[FLOWS], id[FLOWS];
    bool gone[FLOWS];
    double rate[FLOWS];
} flows;

/* Fills the link with the least share of what is left, until every flow has a rate. */
static void fill(flows *f, const uint64_t *bw_Bps)
{
    double left[2 * PORTS];
    bool done[FLOWS] = {false};
    for (uint32_t l = 0; l < 2 * PORTS; l++)
        left[l] = (double)bw_Bps[l] / 1e12;
    for (;;) {
        uint32_t least = RLT_NONE;
        double level = INFINITY;
        uint32_t open[2 * PORTS] = {0};
        for (uint32_t i = 0; i < f->n; i++)
            if (!done[i] && !f->gone[i]) {
                open[f->from[i]]++;
                open[f->to[i]]++;
            }
        for (uint32_t l = 0; l < 2 * PORTS; l++)
            if (open[l] && left[l] / open[l] < level) {
                level = left[l] / open[l];
                least = l;
            }
        if (least == RLT_NONE)
            return;
        for (uint32_t i = 0; i < f->n; i++)
            if (!done[i] && !f->gone[i] && (f->from[i] == least || f->to[i] == least)) {
                done[i] = true;
                f->rate[i] = level;
                left[f->from[i]] -= level;
                left[f->to[i]] -= level;
            }
    }
}

static void compare(const flows *f, const rlt_maxmin *mm)
{
    for (uint32_t i = 0; i < f->n; i++)
        if (!f->gone[i] && fabs(rlt_maxmin_rate(mm, f->id[i]) - f->rate[i]) > 1e-9 * f->rate[i])
            fail_msg("flow %u: %.17g, expected %.17g", (unsigned)i, rlt_maxmin_rate(mm, f->id[i]),
                     f->rate[i]);
}

/* Every port has another capacity, so that links change places often while levels rise. Flows are
 * cancelled, too. */
static void stars_of_many_flows(void **state)
{
    dice d = {.seed = 7};
    (void)state;
    for (int c = 0; c < CASES; c++) {
        uint64_t bw[2 * PORTS];
        flows f = {.n = 50 + below(&d, FLOWS - 50)};
        for (uint32_t l = 0; l < 2 * PORTS; l++)
            bw[l] = TB / 1000 + roll(&d, TB);
        rlt_maxmin *mm = solver(2 * PORTS, bw);
        for (uint32_t i = 0; i < f.n; i++) {
            f.from[i] = below(&d, 1 + below(&d, PORTS));
            f.to[i] = PORTS + below(&d, PORTS);
            f.id[i] = start(mm, 0, f.from[i], f.to[i], TB + i, false);
        }
        assert_int_equal(rlt_maxmin_solve(mm, 0), 0);
        fill(&f, bw);
        compare(&f, mm);
        for (rlt_time now = 1; now < 6; now++) {
            for (uint32_t k = 0; k < f.n / 8; k++) {
                uint32_t i = below(&d, f.n);
                if (f.gone[i])
                    continue;
                f.gone[i] = true;
                assert_int_equal(rlt_maxmin_cancel(mm, f.id[i]), 0);
                rlt_maxmin_release(mm, f.id[i]);
            }
            uint32_t l = below(&d, 2 * PORTS);
            bw[l] = TB / 1000 + roll(&d, TB);
            assert_int_equal(rlt_maxmin_capacity(mm, l, bw[l]), 0);
            assert_int_equal(rlt_maxmin_solve(mm, now), 0);
            fill(&f, bw);
            compare(&f, mm);
        }
        rlt_maxmin_free(mm);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_flows_join),
        cmocka_unit_test(links_are_used_again),
        cmocka_unit_test(faster_between_starts),
        cmocka_unit_test(a_flow_takes_the_place_of_another),
        cmocka_unit_test(paths_that_name_a_link_twice),
        cmocka_unit_test(long_paths_join),
        cmocka_unit_test(stars_of_many_flows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
