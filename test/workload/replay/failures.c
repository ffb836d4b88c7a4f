/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Failures, checkpoints and restarts: simulated timelines compared with Daly's formula, its limits, and the
 * best interval. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "sim/base/error.h"
#include "workload/replay/failures.h"

static rlt_failures_result estimate(rlt_failures f, uint32_t n, double work_s, uint64_t seed)
{
    rlt_failures_result r;
    rlt_error err = {0};
    if (rlt_failures_estimate(&f, n, work_s, seed, &r, &err))
        fail_msg("%s", err.what);
    return r;
}

/* M e^(R/M) (e^((t+C)/M) - 1) W/t with libm's exponential. */
static double daly(double m, double checkpoint, double restart, double interval, double work)
{
    return m * exp(restart / m) * expm1((interval + checkpoint) / m) * work / interval;
}

static void test_formula(void **state)
{
    (void)state;
    const double intervals[] = {60, 600, 3600, 14400};
    for (uint32_t n = 1; n <= 4096; n *= 8)
        for (int i = 0; i < 4; i++) {
            rlt_failures f = {
                .mtbf_s = 3.6e7, .checkpoint_s = 45, .interval_s = intervals[i], .restart_s = 300};
            rlt_failures_result r = estimate(f, n, 144000, 1);
            double want = daly(3.6e7 / n, 45, 300, intervals[i], 144000);
            assert_true(fabs(r.expected_s / want - 1) < 1e-12);
            assert_true(r.mtbf_s == 3.6e7 / n);
            assert_true(r.interval_s == intervals[i]);
        }
    /* The last stretch is shorter. */
    rlt_failures f = {.mtbf_s = 1e5, .checkpoint_s = 10, .interval_s = 1000, .restart_s = 20};
    rlt_failures_result r = estimate(f, 10, 2500, 1);
    double m = 1e4, want = m * exp(20 / m) * (2 * expm1(1010 / m) + expm1(510 / m));
    assert_true(fabs(r.expected_s / want - 1) < 1e-12);
}

/* Simulated timelines: their mean is within three standard errors, and the parts of their time add up. */
static void test_simulated(void **state)
{
    (void)state;
    const struct {
        rlt_failures f;
        uint32_t n;
        double work;
    } rows[] = {
        {{.mtbf_s = 3.6e6, .checkpoint_s = 60, .interval_s = 3600, .restart_s = 300}, 64, 720000},
        {{.mtbf_s = 3.6e6, .checkpoint_s = 60, .interval_s = 3600, .restart_s = 300},
         1000,
         720000}, /* M = t */
        {{.mtbf_s = 3.6e6, .checkpoint_s = 60, .interval_s = 0, .restart_s = 3600}, 1000, 100000},
        {{.mtbf_s = 1e6, .checkpoint_s = 0, .interval_s = 500, .restart_s = 0}, 2000, 50000},
        {{.mtbf_s = 1e6, .checkpoint_s = 30, .interval_s = 1e9, .restart_s = 10}, 100, 20000}, /* never */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            rlt_failures_result r = estimate(rows[i].f, rows[i].n, rows[i].work, seed);
            assert_int_equal(r.trials, 1000);
            if (fabs(r.mean_s - r.expected_s) > 3 * r.error_s)
                fail_msg("row %zu, seed %d: mean %.1f, expected %.1f within 3 x %.1f", i, (int)seed, r.mean_s,
                         r.expected_s, r.error_s);
            assert_true(r.error_s > 0 && r.error_s < 0.2 * r.mean_s);
            double sum = r.work_s + r.checkpoint_s + r.lost_s + r.restart_s;
            assert_true(fabs(sum / r.mean_s - 1) < 1e-9);
            /* One failure every M of the total time; Poisson. */
            double failures = r.mean_s / r.mtbf_s;
            assert_true(fabs(r.failures - failures) <
                        4 * sqrt(failures / r.trials) + 3 * r.error_s / r.mtbf_s);
            rlt_failures_result again = estimate(rows[i].f, rows[i].n, rows[i].work, seed);
            assert_memory_equal(&r, &again, sizeof r);
        }
}

static void test_limits(void **state)
{
    (void)state;
    /* No failures: only work and checkpoints. */
    rlt_failures f = {.mtbf_s = 1e15, .checkpoint_s = 60, .interval_s = 3600, .restart_s = 300};
    rlt_failures_result r = estimate(f, 1, 36000, 1);
    assert_true(fabs(r.expected_s - 36600) < 1e-3 && fabs(r.first_order_s - 36600) < 1e-3);
    assert_true(r.mean_s == 36600 && r.error_s == 0 && r.failures == 0 && r.lost_s == 0);
    /* The first order is the limit of the formula for large M: the difference falls as 1 / M^2. */
    double before = 0;
    for (double mtbf = 1e6; mtbf <= 1e8; mtbf *= 10) {
        f.mtbf_s = mtbf;
        r = estimate(f, 1, 36000, 1);
        double off = r.expected_s - r.first_order_s;
        assert_true(off > 0);
        if (before > 0)
            assert_true(before / off > 95 && before / off < 105);
        before = off;
    }
    /* Free checkpoints after each bit of work and no restart time: nothing is lost. */
    f = (rlt_failures){.mtbf_s = 1e4, .interval_s = 0.01};
    r = estimate(f, 10, 1000, 1);
    assert_true(r.expected_s / 1000 - 1 < 1e-5);
}

/* Young's interval if checkpoints are cheap. Daly's estimate costs less than 0.2 % more than the true
 * optimum, found by search. */
static void test_best(void **state)
{
    (void)state;
    rlt_failures f = {.mtbf_s = 1e9, .checkpoint_s = 1};
    rlt_failures_result r = estimate(f, 1, 1e7, 1);
    assert_true(fabs(r.best_s / sqrt(2 * 1e9) - 1) < 1e-4 && r.interval_s == r.best_s);
    for (double c = 1; c < 3000; c *= 3) {
        double least = INFINITY, m = 3600;
        for (double t = 1; t < 50000; t *= 1.002)
            least = fmin(least, daly(m, c, 0, t, 1e6));
        f = (rlt_failures){.mtbf_s = m, .checkpoint_s = c};
        r = estimate(f, 1, 1e6, 1);
        double at_best = daly(m, c, 0, r.best_s, 1e6);
        if (at_best > 1.002 * least)
            fail_msg("C = %g: %.1f at the interval of %.1f, at best %.1f", c, at_best, r.best_s, least);
    }
}

static void test_words(void **state)
{
    (void)state;
    rlt_failures f;
    rlt_error err = {0};
    assert_int_equal(rlt_failures_parse("mtbf=1000h,checkpoint=60s,interval=1.5h,restart=5min", &f, &err), 0);
    assert_true(f.mtbf_s == 3.6e6 && f.checkpoint_s == 60 && f.interval_s == 5400 && f.restart_s == 300);
    assert_int_equal(rlt_failures_parse("checkpoint=500ms,mtbf=400d", &f, &err), 0);
    assert_true(f.mtbf_s == 400 * 86400.0 && f.checkpoint_s == 0.5 && f.interval_s == 0);
    const char *wrong[] = {"",
                           "mtbf=1000h",
                           "checkpoint=60s",
                           "mtbf=0h,checkpoint=60s",
                           "mtbf=1000,checkpoint=60s",
                           "mtbf=h,checkpoint=60s",
                           "mtbf=1000h,checkpoint=-1s",
                           "mtbf=1000h,checkpoint",
                           "mtbf=1000h,checkpoint=1s,every=2s",
                           "mtbf=1000h,checkpoint=0s"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rlt_error e = {0};
        assert_true(rlt_failures_parse(wrong[i], &f, &e) < 0);
        assert_true(e.what[0] != '\0');
    }
    rlt_failures_result r;
    f = (rlt_failures){.mtbf_s = 100, .checkpoint_s = 60, .interval_s = 3600};
    assert_int_equal(rlt_failures_estimate(&f, 100, 1e5, 1, &r, &err), RLT_ERANGE);
    for (int i = 0; i < 3; i++) { /* no work, less than that, and what is no number */
        err = (rlt_error){0};
        assert_int_equal(rlt_failures_estimate(&f, 1,
                                               i == 0   ? 0
                                               : i == 1 ? -1.0
                                                        : (double)NAN,
                                               1, &r, &err),
                         RLT_ERANGE);
        assert_string_equal(err.what, "the training run has no duration");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formula), cmocka_unit_test(test_simulated), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_best),    cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
