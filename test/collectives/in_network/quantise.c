/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gradients as integers of switches: errors on real arrays within the theoretical bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <math.h>

#include "collectives/in_network/libra/quantise.h"
#include "sim/base/error.h"
#include "sim/base/random.h"

enum { N = 4096, MOST = 32, BLOCK = 256 };

typedef struct arrays {
    float values[MOST][N];
    const float *x[MOST];
    double sum[N];
} arrays;

/* Values like gradients: bell-shaped around zero (a sum of uniforms), with very different sizes from block to
 * block. */
static arrays *make(uint64_t seed, double size)
{
    arrays *a = calloc(1, sizeof *a);
    assert_non_null(a);
    for (uint32_t w = 0; w < MOST; w++) {
        for (uint32_t i = 0; i < N; i++) {
            double bell = 0;
            for (uint32_t k = 0; k < 4; k++)
                bell += rlt_random_unit(seed, w, k, i) - 0.5;
            a->values[w][i] = (float)(bell * size * ldexp(1, (int)(i / BLOCK) - 8));
        }
        a->x[w] = a->values[w];
    }
    return a;
}

static rlt_num_report sum(rlt_num_config cfg, uint32_t n, const float *const *x, double *sums)
{
    rlt_num_report r;
    rlt_error err = {0};
    if (rlt_num_sum(&cfg, n, N, x, sums, &r, &err))
        fail_msg("%s: %s", err.where, err.what);
    return r;
}

/* Error n^2 / 2^32 of 2^e in double precision; in single precision 2^-24 of each value more. */
static void test_block(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= MOST; n++) {
        arrays *a = make(n, 1);
        rlt_num_report r = sum((rlt_num_config){.mode = RLT_NUM_BLOCK, .block = BLOCK}, n, a->x, a->sum);
        assert_true(r.worst_of_block > 0.05 * n * n / 0x1p32);
        assert_true(r.worst_of_block <= (double)n * n / 0x1p32 * 1.000001);
        assert_true(r.bound > 0 && r.worst <= r.bound);
        assert_int_equal(r.overflows, 0);
        assert_true(r.reproducible);
        for (uint32_t i = 0; i < N; i += 37) {
            double exact = 0;
            for (uint32_t w = 0; w < n; w++)
                exact += (double)a->values[w][i];
            assert_true(fabs(a->sum[i] - exact) <= r.worst);
        }
        r = sum((rlt_num_config){.mode = RLT_NUM_BLOCK, .block = BLOCK, .single = true}, n, a->x, a->sum);
        assert_true(r.worst_of_block <= (double)n * n / 0x1p32 + n * 0x1p-23);
        free(a);
    }
}

/* All values equal to one power of two: e must be strictly larger, since with equality sums would leave 32
 * bits. */
static void test_powers(void **state)
{
    (void)state;
    arrays *a = make(1, 1);
    for (uint32_t n = 1; n <= MOST; n *= 2)
        for (int sign = -1; sign <= 1; sign += 2) {
            for (uint32_t w = 0; w < n; w++)
                for (uint32_t i = 0; i < N; i++)
                    a->values[w][i] = (float)(sign * ldexp(1, (int)(i / BLOCK) - 6));
            rlt_num_report r = sum((rlt_num_config){.mode = RLT_NUM_BLOCK}, n, a->x, NULL);
            assert_int_equal(r.overflows, 0);
            assert_true(r.worst_of_block <= (double)n * n / 0x1p32 * 1.000001);
        }
    free(a);
}

static void test_fixed(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= MOST; n++) {
        arrays *a = make(n, 0.05);
        rlt_num_report r = sum((rlt_num_config){.mode = RLT_NUM_FIXED}, n, a->x, NULL);
        assert_true(r.worst > 0 && r.worst <= n * 0.5e-6 * 1.000001);
        assert_int_equal(r.overflows + r.outside, 0);
        /* All values at the limit: the sum of ten workers fits into 31 bits, of eleven not. */
        for (uint32_t w = 0; w < n; w++)
            for (uint32_t i = 0; i < N; i++)
                a->values[w][i] = i % 2 ? -213 : 213;
        a->values[0][5] = 214;
        r = sum((rlt_num_config){.mode = RLT_NUM_FIXED}, n, a->x, NULL);
        assert_int_equal(r.overflows, n > 10 ? N - 1 : 0);
        assert_int_equal(r.outside, 1);
        free(a);
    }
}

/* Floats in another order give other sums; integers give the same. */
static void test_order(void **state)
{
    (void)state;
    static const rlt_num_mode modes[] = {RLT_NUM_NATIVE, RLT_NUM_BLOCK, RLT_NUM_FIXED};
    arrays *a = make(3, 0.05);
    const float *back[MOST];
    double *other = malloc(sizeof a->sum);
    assert_non_null(other);
    for (uint32_t w = 0; w < MOST; w++)
        back[w] = a->x[MOST - 1 - w];
    for (uint32_t m = 0; m < 3; m++) {
        uint32_t differ = 0;
        rlt_num_report r = sum((rlt_num_config){.mode = modes[m]}, MOST, a->x, a->sum);
        sum((rlt_num_config){.mode = modes[m]}, MOST, back, other);
        for (uint32_t i = 0; i < N; i++)
            differ += a->sum[i] < other[i] || a->sum[i] > other[i];
        assert_true(r.reproducible == (m > 0));
        assert_true(m == 0 ? differ > N / 10 : differ == 0);
        assert_true(m > 0 || r.worst_relative < MOST * 0x1p-24);
    }
    free(other);
    free(a);
}

static void test_refused(void **state)
{
    (void)state;
    arrays *a = make(1, 1);
    rlt_num_report r;
    a->values[1][7] = INFINITY;
    for (int m = 0; m < RLT_NUM_MODES; m++) {
        rlt_num_config cfg = {.mode = (rlt_num_mode)m};
        assert_int_not_equal(rlt_num_sum(&cfg, 2, N, a->x, a->sum, &r, NULL), 0);
        assert_int_not_equal(rlt_num_sum(&cfg, 0, N, a->x, a->sum, &r, NULL), 0);
    }
    free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_block), cmocka_unit_test(test_powers),  cmocka_unit_test(test_fixed),
        cmocka_unit_test(test_order), cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
