/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random variates: their functions compared with libm, moments with theory within three standard errors of
 * the sample, the tail with the normal distribution, expected maxima with a table, each number with its
 * definition. That all builds give the same bits is shown by test/determinism.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/base/random.h"

enum { SAMPLES = 1 << 20 };

/* Checks |got - want| of a mean of n samples with that standard deviation. */
static void near(const char *what, double got, double want, double deviation, double n)
{
    double error = deviation / sqrt(n);
    if (fabs(got - want) > 3 * error)
        fail_msg("%s: %.6f, expected %.6f within 3 x %.6f", what, got, want, error);
}

static void test_functions(void **state)
{
    (void)state;
    for (int i = 1; i < 20000; i++) {
        double x = i * 0.00371, y = i * 0.065 - 650;
        assert_true(fabs(rlt_fixed_log(x) - log(x)) <= 4e-16 * fabs(log(x)) + 3e-16);
        assert_true(fabs(rlt_fixed_log(x * 0x1p-50) - log(x * 0x1p-50)) <= 1e-14);
        assert_true(fabs(rlt_fixed_exp(y) / exp(y) - 1) <= 2e-13);
        assert_true(fabs(rlt_fixed_exp(y / 100) / exp(y / 100) - 1) <= 2e-15);
    }
    assert_true(rlt_fixed_log(1) == 0 && rlt_fixed_exp(0) == 1);
}

/* Moments of the standard normal: 0, 1, 0, 3; their variances: 1, 2, 15, 96. */
static void test_normal(void **state)
{
    (void)state;
    double sum[5] = {0};
    int beyond_2 = 0;
    for (uint64_t k = 0; k < SAMPLES; k++) {
        double z = rlt_random_normal(1, 2, 3, k), p = z;
        for (int i = 1; i <= 4; i++, p *= z)
            sum[i] += p;
        beyond_2 += fabs(z) > 2;
    }
    near("mean", sum[1] / SAMPLES, 0, 1, SAMPLES);
    near("variance", sum[2] / SAMPLES, 1, sqrt(2), SAMPLES);
    near("third moment", sum[3] / SAMPLES, 0, sqrt(15), SAMPLES);
    near("fourth moment", sum[4] / SAMPLES, 3, sqrt(96), SAMPLES);
    double tail = erfc(sqrt(2)); /* P(|z| > 2) */
    near("tail", (double)beyond_2 / SAMPLES, tail, sqrt(tail * (1 - tail)), SAMPLES);
}

/* Mean 1 and variance cv^2. The fourth central moment of a lognormal gives the error of the variance. */
static void test_lognormal(void **state)
{
    (void)state;
    const double cvs[] = {0.05, 0.1, 0.5};
    for (uint32_t c = 0; c < 3; c++) {
        double sum = 0, square = 0, cv2 = cvs[c] * cvs[c], w = 1 + cv2;
        for (uint64_t k = 0; k < SAMPLES; k++) {
            double x = rlt_random_lognormal(7, c, 3, k, cvs[c]);
            assert_true(x > 0);
            sum += x;
            square += (x - 1) * (x - 1);
        }
        double fourth = cv2 * cv2 * (w * w * w * w + 2 * w * w * w + 3 * w * w - 3);
        near("mean of the lognormal", sum / SAMPLES, 1, cvs[c], SAMPLES);
        near("its variance", square / SAMPLES, cv2, sqrt(fourth - cv2 * cv2), SAMPLES);
    }
    assert_true(rlt_random_lognormal(7, 0, 3, 12, 0) == 1);
}

static void test_exponential(void **state)
{
    (void)state;
    double sum = 0, square = 0;
    for (uint64_t k = 0; k < SAMPLES; k++) {
        double x = rlt_random_exponential(3, 0, 9, k);
        assert_true(x >= 0);
        sum += x;
        square += x * x;
    }
    near("mean of the exponential", sum / SAMPLES, 1, 1, SAMPLES);
    near("its second moment", square / SAMPLES, 2, sqrt(20), SAMPLES); /* E x^4 = 24 */
}

/* Expected maxima of n standard normals, to two decimals (tables of order statistics: Harter 1961). */
static void test_maxima(void **state)
{
    (void)state;
    const struct {
        uint32_t n;
        double expected;
    } rows[] = {{4, 1.03}, {16, 1.77}, {64, 2.34}, {256, 2.82}};
    for (int i = 0; i < 4; i++) {
        enum { TRIALS = 4096 };
        double sum = 0, square = 0;
        for (uint64_t k = 0; k < TRIALS; k++) {
            double most = -100;
            for (uint32_t r = 0; r < rows[i].n; r++)
                most = fmax(most, rlt_random_normal(11, r, 5, k));
            sum += most;
            square += most * most;
        }
        double mean = sum / TRIALS, error = sqrt((square / TRIALS - mean * mean) / TRIALS);
        if (fabs(mean - rows[i].expected) > 3 * error + 0.005) /* the table is rounded */
            fail_msg("maximum of %u: %.4f, expected %.2f within 3 x %.4f", rows[i].n, mean, rows[i].expected,
                     error);
    }
}

/*
 * Each number from its definition, with libm in long double: the block of Philox (known answers: mem.c), two
 * uniform numbers of 53 bits, Box and Muller's formula. With r = sqrt(-2 log u) the bound is that of
 * test_functions for the logarithm, 4e-16 |log u| + 3e-16, divided by r, and r times the roundings of
 * the root, the angle, the cosine and the product: 8 of 2^-53 cover them.
 */
static void test_definitions(void **state)
{
    const long double two_pi = 6.283185307179586476925286766559L, cv = 0.3L;
    const uint64_t seed = UINT64_C(0x123456789abcdef0);
    (void)state;
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t k = i % 2 ? i : i << 32 | i;
        const uint32_t counter[4] = {(uint32_t)k, (uint32_t)(k >> 32), 11, 22};
        const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
        uint32_t w[4];
        rlt_philox4x32(counter, key, w);
        uint64_t first = (uint64_t)w[1] << 32 | w[0], second = (uint64_t)w[3] << 32 | w[2];
        long double u = (long double)((first >> 11) + 1) * 0x1p-53L,
                    v = (long double)(second >> 11) * 0x1p-53L;
        long double log_u = logl(u), r = sqrtl(-2 * log_u), z = r * cosl(two_pi * v);
        long double bound = (4e-16L * -log_u + 3e-16L) / r + 8 * 0x1p-53L * r;
        long double s2 = logl(1 + cv * cv), x = expl(sqrtl(s2) * z - s2 / 2);
        assert_true(rlt_random_u64(seed, 11, 22, k) == first);
        assert_true(fabsl(rlt_random_normal(seed, 11, 22, k) - z) <= bound);
        /* exp multiplies an absolute error of its argument into a relative one of its result. */
        assert_true(fabsl(rlt_random_lognormal(seed, 11, 22, k, 0.3) / x - 1) <= bound + 3e-15L);
        assert_true(fabsl(rlt_random_exponential(seed, 11, 22, k) + log_u) <= 4e-16L * -log_u + 3e-16L);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions),   cmocka_unit_test(test_normal), cmocka_unit_test(test_lognormal),
        cmocka_unit_test(test_exponential), cmocka_unit_test(test_maxima), cmocka_unit_test(test_definitions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
