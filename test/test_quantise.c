/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gradients as integers of switches: errors on real arrays within the bounds that arithmetic gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <math.h>

#include "collectives/quantise.h"
#include "sim/random.h"

enum { N = 4096, MOST = 32, BLOCK = 256 };

typedef struct arrays {
    float values[MOST][N];
    const float *x[MOST];
    float sum[N];
} arrays;

/* Like gradients: a bell around zero (a sum of uniforms), of very different sizes from block to block. */
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

static void test_exponent(void **state)
{
    (void)state;
    assert_int_equal(rlt_block_exponent((const float[]){1}, 1), 1); /* strictly more than 1 */
    assert_int_equal(rlt_block_exponent((const float[]){0.75f, -0.5f}, 2), 0);
    assert_int_equal(rlt_block_exponent((const float[]){0.25f, -3, 0}, 3), 2);
    assert_int_equal(rlt_block_exponent((const float[]){0, -0.0f}, 2), INT32_MIN);
    assert_int_equal(rlt_block_exponent((const float[]){0x1p-149f}, 1), -148);
}

/* n^2 / 2^32 of 2^e, in double precision; in single precision 2^-24 of each value more. */
static void test_block_exponent(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= MOST; n++) {
        arrays *a = make(n, 1);
        rlt_sum_error e;
        assert_int_equal(rlt_sum_block_exponent(a->x, n, N, BLOCK, false, a->sum, &e, NULL), 0);
        assert_true(e.max_of_bound > 0.05 && e.max_of_bound <= 1.000001);
        assert_true(e.max_relative <= (double)n * n / 0x1p32 * 1.000001);
        assert_true(e.rms > 0 && e.rms < e.max);
        assert_int_equal(e.overflows, 0);
        for (uint32_t i = 0; i < N; i += 37) {
            double sum = 0;
            for (uint32_t w = 0; w < n; w++)
                sum += a->values[w][i];
            assert_true(fabs((double)a->sum[i] - sum) <= e.max + 0x1p-23 * fabs(sum));
        }
        assert_int_equal(rlt_sum_block_exponent(a->x, n, N, BLOCK, true, a->sum, &e, NULL), 0);
        assert_true(e.max_relative <= (double)n * n / 0x1p32 + n * 0x1p-23);
        free(a);
    }
}

/* Equal powers of two use up the range, and do not leave it. */
static void test_powers(void **state)
{
    (void)state;
    arrays *a = make(1, 1);
    for (uint32_t n = 1; n <= MOST; n *= 2)
        for (int sign = -1; sign <= 1; sign += 2) {
            rlt_sum_error e;
            for (uint32_t w = 0; w < n; w++)
                for (uint32_t i = 0; i < N; i++)
                    a->values[w][i] = (float)(sign * ldexp(1, (int)(i / BLOCK) - 6));
            assert_int_equal(rlt_sum_block_exponent(a->x, n, N, BLOCK, false, a->sum, &e, NULL), 0);
            assert_int_equal(e.overflows, 0);
            assert_true(e.max_of_bound <= 1.000001);
        }
    free(a);
}

static void test_fixed_scale(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= MOST; n++) {
        arrays *a = make(n, 0.05);
        rlt_sum_error e;
        assert_int_equal(rlt_sum_fixed_scale(a->x, n, N, 1e6, 213, a->sum, &e, NULL), 0);
        assert_true(e.max > 0 && e.max <= n * 0.5e-6 * 1.000001);
        assert_int_equal(e.overflows, 0);
        assert_int_equal(e.unscaled, 0);
        /* All at the limit: ten workers fit into 31 bits, eleven do not. */
        for (uint32_t w = 0; w < n; w++)
            for (uint32_t i = 0; i < N; i++)
                a->values[w][i] = i % 2 ? -213 : 213;
        a->values[0][5] = 214;
        assert_int_equal(rlt_sum_fixed_scale(a->x, n, N, 1e6, 213, a->sum, &e, NULL), 0);
        assert_int_equal(e.overflows, n > 10 ? N - 1 : 0);
        assert_int_equal(e.unscaled, 1);
        free(a);
    }
}

/* Floats in another order give other sums, each within n roundings. */
static void test_float(void **state)
{
    (void)state;
    arrays *a = make(3, 1);
    uint32_t order[MOST], differ = 0;
    float *first = malloc(sizeof a->sum);
    rlt_sum_error e;
    assert_non_null(first);
    for (uint32_t w = 0; w < MOST; w++)
        order[w] = MOST - 1 - w;
    assert_int_equal(rlt_sum_float(a->x, MOST, N, NULL, first, &e, NULL), 0);
    assert_true(e.max_relative < MOST * MOST * 0x1p-24);
    assert_int_equal(rlt_sum_float(a->x, MOST, N, order, a->sum, &e, NULL), 0);
    for (uint32_t i = 0; i < N; i++)
        differ += first[i] < a->sum[i] || first[i] > a->sum[i];
    assert_true(differ > N / 10);
    /* Integers do not: any order is the same sum. */
    const float *back[MOST];
    for (uint32_t w = 0; w < MOST; w++)
        back[w] = a->x[order[w]];
    assert_int_equal(rlt_sum_block_exponent(a->x, MOST, N, BLOCK, false, first, &e, NULL), 0);
    assert_int_equal(rlt_sum_block_exponent(back, MOST, N, BLOCK, false, a->sum, &e, NULL), 0);
    assert_memory_equal(first, a->sum, sizeof a->sum);
    free(first);
    free(a);
}

static void test_refused(void **state)
{
    (void)state;
    arrays *a = make(1, 1);
    rlt_sum_error e;
    assert_int_equal(rlt_sum_block_exponent(a->x, 0, N, BLOCK, false, a->sum, &e, NULL), RLT_EUSAGE);
    assert_int_equal(rlt_sum_block_exponent(a->x, 2, N, 0, false, a->sum, &e, NULL), RLT_EUSAGE);
    assert_int_equal(rlt_sum_fixed_scale(a->x, 2, N, 0, 1, a->sum, &e, NULL), RLT_ERANGE);
    a->values[1][7] = INFINITY;
    assert_int_equal(rlt_sum_block_exponent(a->x, 2, N, BLOCK, false, a->sum, &e, NULL), RLT_ERANGE);
    assert_int_equal(rlt_sum_float(a->x, 2, N, NULL, a->sum, &e, NULL), RLT_ERANGE);
    free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exponent), cmocka_unit_test(test_block_exponent),
        cmocka_unit_test(test_powers),   cmocka_unit_test(test_fixed_scale),
        cmocka_unit_test(test_float),    cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
