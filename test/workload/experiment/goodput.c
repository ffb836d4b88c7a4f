/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Iterations with failures, against Daly's expected time of a stretch: M e^(R/M) (e^((W+C)/M) - 1). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/experiment/layouts/goodput.h"
#include "workload/replay/failures.h"

static const double hour = 3600;

static rlt_layout_goodput of(double interval_s, uint32_t accelerators, rlt_time iteration_ps, uint64_t n)
{
    rlt_failures f = {.mtbf_s = 10000 * hour,
                      .checkpoint_s = 0.1 * hour,
                      .restart_s = 0.2 * hour,
                      .interval_s = interval_s};
    rlt_layout_goodput g = {0};
    rlt_error err = {0};
    if (rlt_layout_goodput_of(&f, accelerators, iteration_ps, n, &g, &err))
        fail_msg("%s: %s", err.where, err.what);
    return g;
}

/* In hours, with M = 10: a stretch of one takes 10 e^0.02 (e^0.11 - 1) = 1.186, for all iterations. */
static void endless(void **state)
{
    (void)state;
    for (uint32_t accelerators = 500; accelerators <= 2000; accelerators *= 2)
        for (int seconds = 10; seconds <= 40; seconds *= 2) {
            double m = 10000.0 / accelerators, stretch = m * exp(0.2 / m) * (exp(1.1 / m) - 1);
            rlt_layout_goodput g = of(hour, accelerators, seconds * RLT_S, 0);
            assert_true(fabs(g.expected_s - seconds * stretch) < 1e-9 * seconds);
            assert_true(fabs(g.goodput - 1 / stretch) < 1e-9);
            assert_true(fabs(g.interval_s - hour) < 1e-6);
        }
    rlt_layout_goodput g = of(hour, 1000, 10 * RLT_S, 0);
    assert_true(fabs(g.expected_s - 11.86) < 0.005 && fabs(g.goodput - 0.843) < 0.0005);
}

/* An interval below a second is one, too: an hour of M, a hundredth of a second of C and a tenth of R, in seconds. */
static void short_intervals(void **state)
{
    (void)state;
    for (double interval = 0.25; interval < 3; interval *= 2) {
        rlt_failures f = {.mtbf_s = hour, .checkpoint_s = 0.01, .restart_s = 0.1, .interval_s = interval};
        rlt_layout_goodput g = {0};
        rlt_error err = {0};
        double stretch = hour * exp(0.1 / hour) * (exp((interval + 0.01) / hour) - 1);
        assert_int_equal(rlt_layout_goodput_of(&f, 1, RLT_S, 0, &g, &err), 0);
        assert_true(fabs(g.interval_s - interval) < 1e-9);
        assert_true(fabs(g.goodput - interval / stretch) < 1e-9);
        assert_true(fabs(g.expected_s - stretch / interval) < 1e-9);
    }
}

/* Without an interval it is the best one: half of it and twice it are worse. */
static void best_interval(void **state)
{
    (void)state;
    rlt_layout_goodput best = of(0, 1000, 10 * RLT_S, 0);
    assert_true(best.interval_s > hour && best.interval_s < 2 * hour); /* about sqrt(2 M C) = 1.41 h */
    assert_true(best.goodput > of(best.interval_s / 2, 1000, 10 * RLT_S, 0).goodput);
    assert_true(best.goodput > of(best.interval_s * 2, 1000, 10 * RLT_S, 0).goodput);
}

/* A run shorter than the interval is one stretch of its own work. */
static void short_run(void **state)
{
    (void)state;
    rlt_layout_goodput g = of(hour, 1000, 10 * RLT_S, 36);
    assert_true(fabs(g.interval_s - 360) < 1e-6);
    assert_true(fabs(g.expected_s * g.goodput - 10) < 1e-9);
}

static void never_ends(void **state)
{
    rlt_failures f = {.mtbf_s = 1, .checkpoint_s = 1, .interval_s = 3600};
    rlt_layout_goodput g = {0};
    rlt_error err = {0};
    (void)state;
    assert_int_equal(rlt_layout_goodput_of(&f, 1000, RLT_S, 0, &g, &err), RLT_ERANGE);
    f.interval_s = 0; /* the search for the best interval is refused */
    f.mtbf_s = 1e-4;
    assert_int_equal(rlt_layout_goodput_of(&f, 1000, RLT_S, 0, &g, NULL), RLT_ERANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(endless),   cmocka_unit_test(short_intervals), cmocka_unit_test(best_interval),
        cmocka_unit_test(short_run), cmocka_unit_test(never_ends),
    };
    return cmocka_run_group_tests_name("goodput", tests, NULL, NULL);
}
