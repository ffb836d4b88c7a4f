/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Libra's parts against closed forms: skew and coverage, the hot set, its placement, the law of the hot
 * share. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "collectives/in_network/libra/place.h"
#include "collectives/in_network/libra/workload.h"
#include "sim/base/error.h"
#include "test/support/support.h"

static rlt_skew zipf(double s, uint64_t n)
{
    rlt_skew k;
    rlt_error err = {0};
    assert_int_equal(rlt_skew_zipf(s, n, &k, &err), 0);
    return k;
}

/* Short sums term by term; closed forms for long ones: n for s = 0, pi^2 / 6 for s = 2. */
static void sums(void **state)
{
    (void)state;
    static const double exponents[] = {0, 0.3, 0.8, 0.999999, 1, 1.000001, 1.2, 2, 3.5};
    for (size_t e = 0; e < sizeof exponents / sizeof *exponents; e++) {
        static const uint64_t sizes[] = {1, 2, 127, 128, 129, 130, 1000, 300000};
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            long double sum = 0;
            for (uint64_t r = sizes[i]; r > 0; r--)
                sum += powl((long double)r, -(long double)exponents[e]);
            rlt_skew k = zipf(exponents[e], sizes[i]);
            assert_true(fabsl(k.sum / sum - 1) < 1e-13L);
        }
    }
    assert_true(fabs(zipf(0, UINT64_C(1) << 40).sum / 0x1p40 - 1) < 1e-13);
    /* The rest of the series beyond n is 1/n - 1/(2 n^2). */
    assert_true(fabs(zipf(2, 1000000000).sum - (M_PI * M_PI / 6 - 1e-9)) < 1e-14);
    /* log n + Euler's constant + 1/(2n) */
    assert_true(fabs(zipf(1, 1000000000).sum - (log(1e9) + 0.57721566490153286 + 0.5e-9)) < 1e-12);
}

/* The published model's table: share of the 30 000 most popular parameters. */
static void coverage(void **state)
{
    (void)state;
    static const double s[] = {0.8, 0.9, 1.0, 1.1, 1.2, 1.3};
    static const double want[4][6] = {{.466, .612, .756, .869, .939, .975},
                                      {.288, .457, .652, .817, .919, .968},
                                      {.179, .347, .573, .780, .907, .965},
                                      {.112, .266, .511, .753, .899, .963}};
    uint64_t n = 1000000;
    for (int i = 0; i < 4; i++, n *= 10)
        for (int e = 0; e < 6; e++) {
            rlt_skew k = zipf(s[e], n);
            assert_true(fabs(rlt_skew_coverage(&k, 30000) - want[i][e]) <= 0.0005001);
            assert_true(rlt_skew_coverage(&k, n) == 1);
            assert_true(rlt_skew_coverage(&k, 0) == 0);
        }
}

static int up(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Samples against shares: each of the first ranks, and whole decades, within five standard errors. */
static void samples(void **state)
{
    (void)state;
    enum { N = 400000 };
    static const double exponents[] = {0, 0.7, 1, 1.3, 2.5};
    uint64_t *draw = malloc(N * sizeof *draw);
    assert_non_null(draw);
    for (size_t e = 0; e < sizeof exponents / sizeof *exponents; e++) {
        rlt_skew k = zipf(exponents[e], 1000000000);
        for (uint64_t i = 0; i < N; i++) {
            draw[i] = rlt_skew_draw(&k, 7, (uint32_t)e, i);
            assert_true(draw[i] < k.n);
            assert_true(i > 0 || draw[0] == rlt_skew_draw(&k, 7, (uint32_t)e, 0));
        }
        qsort(draw, N, sizeof *draw, up);
        for (uint64_t top = 1; top <= 100000000; top = top < 20 ? top + 1 : top * 10) {
            double below = 0, p = rlt_skew_coverage(&k, top);
            for (uint64_t i = 0; i < N && draw[i] < top; i++)
                below++;
            assert_true(fabs(below - N * p) <= 5 * sqrt(N * p * (1 - p)) + 1);
        }
    }
    /* Few parameters: the first and the last are not favoured. */
    rlt_skew k = zipf(1, 3);
    double seen[3] = {0};
    for (uint64_t i = 0; i < N; i++)
        seen[rlt_skew_draw(&k, 1, 0, i)]++;
    for (int r = 0; r < 3; r++) {
        double p = 6.0 / 11 / (r + 1);
        assert_true(fabs(seen[r] - N * p) <= 5 * sqrt(N * p * (1 - p)));
    }
    free(draw);
}

static void recorded(void **state)
{
    (void)state;
    rlt_error err = {0};
    rlt_skew k;
    const char *plain = "# counts\n5\n\n0\n10 # third\r\n5";
    assert_int_equal(rlt_skew_parse(plain, strlen(plain), "plain", &k, &err), 0);
    assert_int_equal(k.n, 3);
    assert_int_equal(k.ids[0], 2);
    assert_int_equal(k.ids[1], 0);
    assert_int_equal(k.ids[2], 3);
    assert_true(rlt_skew_share(&k, 0) == 0.5 && rlt_skew_coverage(&k, 2) == 0.75);
    double first = 0;
    for (uint64_t i = 0; i < 40000; i++)
        first += rlt_skew_draw(&k, 3, 0, i) == 0;
    assert_true(fabs(first - 20000) <= 5 * 100);
    rlt_skew_free(&k);
    const char *named = "900 1\n7 2\n900 3\n";
    assert_int_equal(rlt_skew_parse(named, strlen(named), "named", &k, &err), 0);
    assert_int_equal(k.n, 2);
    assert_int_equal(k.ids[0], 900);
    assert_true(k.sum == 6 && rlt_skew_share(&k, 1) == 2.0 / 6);
    rlt_skew_free(&k);
    static const struct {
        const char *text, *place;
        int rc;
    } bad[] = {{"", "f", RLT_ESCHEMA},
               {"0\n0\n", "f", RLT_ESCHEMA},
               {"1\n-2\n", "f:2", RLT_EMALFORMED},
               {"1 2 3\n", "f:1", RLT_EMALFORMED},
               {"99999999999999999999999\n", "f:1", RLT_EMALFORMED}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err = (rlt_error){0};
        assert_int_equal(rlt_skew_parse(bad[i].text, strlen(bad[i].text), "f", &k, &err), bad[i].rc);
        assert_string_equal(err.where, bad[i].place);
        assert_null(k.ids);
    }
    memset(&k, 0xff, sizeof k);
    assert_int_equal(rlt_skew_read("no/such/file", &k, NULL), RLT_EIO);
    assert_true(!k.n && !k.ids && !k.upto);
    assert_int_equal(rlt_skew_zipf(-1, 10, &k, NULL), RLT_ERANGE);
    assert_int_equal(rlt_skew_zipf(NAN, 10, &k, NULL), RLT_ERANGE);
    assert_int_equal(rlt_skew_zipf(1, 0, &k, NULL), RLT_ERANGE);
}

/* What could not be read, or asked for, leaves nothing behind. */
static void nothing_left(void **state)
{
    static const rlt_skew no_skew;
    static const rlt_hot_set no_set;
    rlt_skew k, even = zipf(0, 100);
    rlt_hot_set h;
    (void)state;
    memset(&k, 1, sizeof k);
    assert_int_equal(rlt_skew_read("/nowhere/counts", &k, NULL), RLT_EIO);
    assert_memory_equal(&k, &no_skew, sizeof k);
    memset(&k, 1, sizeof k);
    assert_int_equal(rlt_skew_parse("x", 1, "f", &k, NULL), RLT_EMALFORMED);
    assert_memory_equal(&k, &no_skew, sizeof k);
    memset(&h, 1, sizeof h);
    rlt_hot_request q = {.workers = 2, .updates = 50, .steps = 100, .sampled = 1.5, .hot = 100};
    assert_int_equal(rlt_hot_find(&even, &q, &h, NULL), RLT_ERANGE);
    assert_memory_equal(&h, &no_set, sizeof h);
}

/* The registers limit the size of the hot set. The more steps are sampled, the nearer it is to the best
 * choice, and never better. */
static void hot_set(void **state)
{
    (void)state;
    rlt_error err = {0};
    rlt_skew k = zipf(1.1, 10000000);
    rlt_hot_request q = {.workers = 8,
                         .updates = 5000,
                         .steps = 40,
                         .sampled = 0.025,
                         .memory_bytes = 4100,
                         .arrays = 8,
                         .entry_bytes = 4,
                         .seed = 5};
    assert_int_equal(rlt_hot_room(4100, 8, 4), 1024);
    assert_int_equal(rlt_hot_room(4100, 0, 4), 0);
    double before = 0;
    for (int i = 0; i < 3; i++, q.sampled *= 6) {
        rlt_hot_set h;
        assert_int_equal(rlt_hot_find(&k, &q, &h, &err), 0);
        assert_int_equal(h.n, 1024);
        assert_int_equal(h.memory_bytes, 4096);
        assert_int_equal(h.counted, i == 0 ? 40000 : i == 1 ? 240000 : 1440000);
        assert_true(h.share > before && h.share <= h.best + 1e-12);
        assert_true(fabs(h.best - rlt_skew_coverage(&k, 1024)) < 1e-12);
        before = h.share;
        /* Distinct hot parameters: at most as many as exist, and as updates to them. */
        assert_true(h.touched <= 1024 && h.touched <= 40000 * h.share && h.touched_alone < h.touched);
        rlt_hot_free(&h);
    }
    assert_true(before > 0.99 * rlt_skew_coverage(&k, 1024));
    /* E[u_H] if all are equally popular: N (1 - (1 - 1/N)^(n m)). */
    rlt_skew even = zipf(0, 100);
    rlt_hot_set h;
    q = (rlt_hot_request){
        .workers = 2, .updates = 50, .steps = 100, .sampled = 1, .hot = 100, .entry_bytes = 4};
    assert_int_equal(rlt_hot_find(&even, &q, &h, &err), 0);
    assert_int_equal(h.n, 100);
    assert_true(fabs(h.touched - 100 * (1 - pow(0.99, 100))) < 1e-9);
    assert_true(fabs(h.share - 1) < 1e-12);
    rlt_hot_free(&h);
    /* A part of one step. */
    q.sampled = 0.001;
    assert_int_equal(rlt_hot_find(&even, &q, &h, &err), 0);
    assert_int_equal(h.counted, 10);
    assert_true(h.n <= 10 && h.n == h.seen);
    rlt_hot_free(&h);
    q.sampled = 1.5;
    memset(&h, 0xff, sizeof h);
    assert_int_equal(rlt_hot_find(&even, &q, &h, NULL), RLT_ERANGE);
    assert_true(!h.n && !h.ranks && h.share == 0 && h.touched == 0);
    q.sampled = 1;
    q.updates = UINT64_MAX;
    assert_int_equal(rlt_hot_find(&even, &q, &h, NULL), RLT_ERANGE);
}

static void law(void **state)
{
    (void)state;
    static const struct {
        uint32_t n;
        double share[4];
    } want[] = {{4, {.444, .667, .889, 1}},
                {8, {.381, .571, .762, .857}},
                {16, {.356, .533, .711, .800}},
                {32, {.344, .516, .688, .774}}};
    static const double gain[4] = {1.5, 2, 3, 4};
    for (int i = 0; i < 4; i++)
        for (int g = 0; g < 4; g++) {
            assert_true(fabs(rlt_libra_share(want[i].n, gain[g]) - want[i].share[g]) <= 0.0005001);
            assert_true(fabs(rlt_libra_gain(want[i].n, rlt_libra_share(want[i].n, gain[g])) - gain[g]) <
                        1e-12);
        }
    assert_true(rlt_libra_up(1000, 0.5, 4, 12) == 8000);
    assert_true(rlt_libra_in(8, 1000, 0.75, 100, 4, 12) == 8 * 1000 * 0.25 * 12 + 400);
}

/* Mean of the fullest bin over all ways to throw k balls into a bins. */
static double fullest(uint32_t k, uint32_t a)
{
    uint64_t ways = 1, sum = 0;
    for (uint32_t i = 0; i < k; i++)
        ways *= a;
    for (uint64_t w = 0; w < ways; w++) {
        uint32_t load[8] = {0}, most = 0;
        uint64_t rest = w;
        for (uint32_t i = 0; i < k; i++, rest /= a)
            if (++load[rest % a] > most)
                most = load[rest % a];
        sum += most;
    }
    return (double)sum / (double)ways;
}

static void passes(void **state)
{
    (void)state;
    for (uint32_t a = 1; a <= 4; a++)
        for (uint32_t k = 1; k <= 8; k++)
            assert_true(fabs(rlt_passes_random(k, a) - fullest(k, a)) < 1e-9);
    static const uint32_t values[] = {1, 8, 31, 32, 62, 64, 256, 1024}, arrays[] = {1, 4, 8, 12, 32, 64};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        for (size_t j = 0; j < sizeof arrays / sizeof *arrays; j++) {
            uint32_t k = values[i], a = arrays[j], even = (k + a - 1) / a;
            rlt_hot_layout heat, chance;
            rlt_error err = {0};
            uint64_t n = (uint64_t)k * 400 + k / 2;
            assert_int_equal(rlt_passes_even(k, a), even);
            assert_true(rlt_passes_random(k, a) >= even);
            assert_int_equal(rlt_hot_place(n, k, a, RLT_PLACE_HEAT, 1, &heat, &err), 0);
            assert_int_equal(rlt_hot_place(n, k, a, RLT_PLACE_RANDOM, 1, &chance, &err), 0);
            assert_int_equal(heat.packets, k > 1 ? 401 : 400);
            assert_int_equal(heat.passes_most, even);
            assert_int_equal(heat.entries, (n + a - 1) / a);
            assert_true(heat.passes_mean <= even && heat.passes_mean <= chance.passes_mean);
            /* 400 full packets and a half-full one; the fullest bin has a smaller spread than a single
             * bin. */
            double spread = sqrt((double)k / a) + 1;
            assert_true(fabs(chance.passes_mean - rlt_passes_random(k, a)) <=
                        5 * spread / 20 + rlt_passes_random(k, a) / 401);
            rlt_hot_layout_free(&heat);
            rlt_hot_layout_free(&chance);
        }
    rlt_recirculation r = rlt_recirculate(3, 88480, 4.8e9);
    assert_true(r.packets_per_s == 1.6e9 && r.later_ps == 2 * 88480.0);
    r = rlt_recirculate(1, 88480, 4.8e9);
    assert_true(r.packets_per_s == 4.8e9 && r.later_ps == 0);
    rlt_hot_layout l;
    assert_int_equal(rlt_hot_place(10, 0, 4, RLT_PLACE_HEAT, 1, &l, NULL), RLT_ERANGE);
    assert_int_equal(rlt_hot_place(10, 4, 0, RLT_PLACE_HEAT, 1, &l, NULL), RLT_ERANGE);
}

/* All parameters equally popular: a packet of k of N parameters is touched with probability 1 - (1 -
 * k/N)^m. */
static void packets_touched(void **state)
{
    (void)state;
    rlt_error err = {0};
    rlt_skew k = zipf(0, 6400);
    rlt_hot_request q = {
        .workers = 4, .updates = 100, .steps = 1000, .sampled = 1, .hot = 6400, .entry_bytes = 4};
    rlt_hot_set h;
    double fill = 0;
    assert_int_equal(rlt_hot_find(&k, &q, &h, &err), 0);
    assert_int_equal(h.n, 6400);
    double packets = rlt_hot_packets_touched(&k, &h, 64, 100, &fill);
    assert_true(fabs(packets - 100 * (1 - pow(0.99, 100))) < 1e-6);
    assert_true(fabs(fill - h.touched_alone / (packets * 64)) < 1e-9);
    rlt_hot_free(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums),     cmocka_unit_test(coverage),        cmocka_unit_test(samples),
        cmocka_unit_test(recorded), cmocka_unit_test(hot_set),         cmocka_unit_test(law),
        cmocka_unit_test(passes),   cmocka_unit_test(packets_touched), cmocka_unit_test(nothing_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
