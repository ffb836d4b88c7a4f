/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory, maps and random streams. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/random.h"
#include "sim/base/text.h"
#include "test/support/dice.h"

#define N(a) (sizeof(a) / sizeof *(a))

/* A stream of test numbers, one per call. */
static void arenas(void **state)
{
    (void)state;
    rlt_arena a = {0};
    dice d = {.seed = 5};
    enum { COUNT = 3000 };
    static unsigned char *blocks[COUNT];
    static size_t sizes[COUNT];
    for (int round = 0; round < 2; round++) { /* usable again after free */
        size_t total = 0;
        for (unsigned i = 0; i < COUNT; i++) {
            sizes[i] = i % 500 == 0 ? 3000000 : (size_t)roll(&d, 300);
            blocks[i] = rlt_arena_alloc(&a, sizes[i]);
            assert_non_null(blocks[i]);
            assert_int_equal((uintptr_t)blocks[i] % 16, 0);
            for (size_t k = 0; k < sizes[i]; k += 97)
                assert_int_equal(blocks[i][k], 0);
            memset(blocks[i], (int)(i % 251) + 1, sizes[i]);
            total += sizes[i];
        }
        assert_true(a.used_bytes >= total);
        for (unsigned i = 0; i < COUNT; i++) /* no object was overwritten */
            for (size_t k = 0; k < sizes[i]; k += 31)
                assert_int_equal(blocks[i][k], i % 251 + 1);
        assert_null(rlt_arena_array(&a, SIZE_MAX / 2, 3));
        assert_null(rlt_arena_alloc(&a, SIZE_MAX));
        assert_null(rlt_arena_alloc(&a, SIZE_MAX - 40));
        assert_non_null(rlt_arena_array(&a, 0, 8));
        assert_string_equal(rlt_arena_strdup(&a, "abc"), "abc");
        assert_string_equal(rlt_arena_strndup(&a, "abcdef", 2), "ab");
        assert_string_equal(rlt_arena_strndup(&a, "ab", 100), "ab");
        assert_string_equal(rlt_arena_printf(&a, "%d-%s", 42, "x"), "42-x");
        rlt_arena_free(&a);
        assert_int_equal(a.used_bytes, 0);
    }
}

static void growing_arrays(void **state)
{
    (void)state;
    uint64_t *items = NULL;
    uint32_t capacity = 0, moves = 0, before = 0;
    for (uint32_t i = 0; i < 100000; i++) {
        assert_int_equal(rlt_grow(&items, &capacity, sizeof *items, i + 1, 100000, "things", NULL), 0);
        assert_true(capacity > i && capacity <= 100000);
        moves += capacity != before;
        before = capacity;
        items[i] = i;
    }
    assert_true(moves < 20);
    for (uint32_t i = 0; i < 100000; i++)
        assert_int_equal(items[i], i);
    uint64_t *same = items;
    rlt_error err = {0};
    assert_int_equal(rlt_grow(&items, &capacity, sizeof *items, 100001, 100000, "things", &err), RLT_ERANGE);
    assert_non_null(strstr(err.what, "things"));
    assert_non_null(strstr(err.what, "100000"));
    assert_ptr_equal(items, same);
    assert_int_equal(capacity, 100000);
    assert_int_equal(rlt_grow(&items, &capacity, SIZE_MAX / 4, 200000, UINT64_MAX, "things", NULL),
                     RLT_ENOMEM);
    assert_int_equal(rlt_grow(&items, &capacity, 1, UINT64_MAX, UINT64_MAX, "things", NULL), RLT_ERANGE);
    assert_ptr_equal(items, same);
    free(items);
}

static void pools(void **state)
{
    (void)state;
    enum { COUNT = 2000 };
    static uint32_t held[COUNT];
    rlt_pool p;
    rlt_pool_init(&p, 24);
    for (uint32_t i = 0; i < COUNT; i++) {
        held[i] = rlt_pool_get(&p);
        assert_int_equal(held[i], i);
        memset(rlt_pool_at(&p, held[i]), (int)(i % 256), 24);
    }
    for (uint32_t i = 0; i < COUNT; i++)
        for (unsigned k = 0; k < 24; k++)
            assert_int_equal(((unsigned char *)rlt_pool_at(&p, held[i]))[k], i % 256);
    for (uint32_t i = 0; i < COUNT; i += 2)
        rlt_pool_put(&p, held[i]);
    static bool taken[COUNT];
    memset(taken, 0, sizeof taken);
    for (uint32_t i = 0; i < COUNT / 2; i++) { /* the freed objects come back, each once */
        uint32_t k = rlt_pool_get(&p);
        assert_true(k < COUNT && k % 2 == 0 && !taken[k]);
        taken[k] = true;
    }
    assert_int_equal(rlt_pool_get(&p), COUNT);
    rlt_pool_free(&p);
    assert_int_equal(rlt_pool_get(&p), 0);
    rlt_pool_free(&p);
}

static void maps_follow_a_plain_array(void **state)
{
    (void)state;
    enum { KEYS = 700 };
    static uint32_t want[KEYS];
    /* Consecutive keys, keys that differ only in high bits, and random keys. */
    for (int kind = 0; kind < 3; kind++) {
        rlt_map m = {0};
        dice d = {.seed = (uint64_t)kind + 20};
        uint32_t n = 0;
        memset(want, 0xff, sizeof want);
        for (int step = 0; step < 60000; step++) {
            uint32_t i = (uint32_t)roll(&d, KEYS);
            uint64_t key = kind == 0 ? i : kind == 1 ? (uint64_t)i << 54 : rlt_random_u64(9, i, 0, 0);
            assert_int_equal(rlt_map_get(&m, key), want[i]);
            if (roll(&d, 100) < (step / 5000 % 2 ? 30u : 70u)) {
                uint32_t value = (uint32_t)roll(&d, UINT32_MAX);
                assert_int_equal(rlt_map_put(&m, key, value), 0);
                n += want[i] == UINT32_MAX;
                want[i] = value;
            } else {
                rlt_map_remove(&m, key);
                n -= want[i] != UINT32_MAX;
                want[i] = UINT32_MAX;
            }
            assert_int_equal(m.n, n);
        }
        for (uint32_t i = 0; i < KEYS; i++) {
            uint64_t key = kind == 0 ? i : kind == 1 ? (uint64_t)i << 54 : rlt_random_u64(9, i, 0, 0);
            assert_int_equal(rlt_map_get(&m, key), want[i]);
        }
        rlt_map_free(&m);
        assert_int_equal(rlt_map_get(&m, 1), UINT32_MAX);
        rlt_map_remove(&m, 1);
        assert_int_equal(rlt_map_put(&m, 1, UINT32_MAX), RLT_EUSAGE); /* reserved for empty slots */
        rlt_map_free(&m);
    }
}

static void strings(void **state)
{
    (void)state;
    rlt_strings t = {0};
    char text[32];
    assert_int_equal(rlt_intern_find(&t, "x", 1), UINT32_MAX);
    for (uint32_t i = 0; i < 50000; i++) {
        int n = snprintf(text, sizeof text, "rank.%u", i * 7);
        assert_int_equal(rlt_intern(&t, text, (size_t)n), i);
        assert_int_equal(rlt_intern(&t, text, (size_t)n), i);
    }
    for (uint32_t i = 0; i < 50000; i++) {
        int n = snprintf(text, sizeof text, "rank.%u", i * 7);
        assert_string_equal(rlt_interned(&t, i), text);
        assert_int_equal(rlt_intern_find(&t, text, (size_t)n), i);
    }
    assert_int_equal(rlt_intern_find(&t, "rank.1", 6), UINT32_MAX);
    assert_int_equal(rlt_intern(&t, "", 0), 50000);
    assert_int_equal(rlt_intern(&t, NULL, 0), 50000);
    assert_int_equal(rlt_intern(&t, "a\0b", 3), 50001); /* a NUL is an ordinary byte */
    assert_int_equal(rlt_intern(&t, "a", 1), 50002);
    assert_int_equal(rlt_intern(&t, "a\0c", 3), 50003);
    assert_string_equal(rlt_interned(&t, 50003), "a");
    assert_string_equal(rlt_interned(&t, UINT32_MAX), "");
    for (uint32_t i = 0; i < 2000; i++) { /* a part of the table's own text, which moves many times */
        const char *whole = rlt_interned(&t, i);
        size_t n = strlen(whole);
        char copy[32];
        memcpy(copy, whole + 1, n);
        assert_string_equal(rlt_interned(&t, rlt_intern(&t, whole + 1, n - 1)), copy);
    }
    rlt_strings_free(&t);
    assert_int_equal(rlt_intern(&t, "again", 5), 0);
    rlt_strings_free(&t);
}

/* Each byte and the length of a text count, up to several words. */
static void hashes_of_words(void **state)
{
    unsigned char text[40] = {0};
    (void)state;
    for (size_t n = 0; n < sizeof text; n++) {
        uint64_t plain = rlt_hash_words(text, n, 0);
        assert_true(plain != rlt_hash_words(text, n + 1, 0));
        assert_true(plain != rlt_hash_words(text, n, 1));
        for (size_t i = 0; i < sizeof text; i++) {
            text[i] = 1;
            assert_int_equal(plain != rlt_hash_words(text, n, 0), i < n);
            text[i] = 0;
        }
    }
}

/* Published values: FNV-1a of "foobar" (Fowler, Noll,
 * Vo) and splitmix64's first output from seed 0 (Vigna). */
static void hashes(void **state)
{
    (void)state;
    assert_true(rlt_mix64(0x9e3779b97f4a7c15u) == 0xe220a8397b1dcdafu);
    assert_true(rlt_hash_bytes("foobar", 6, 0) == rlt_mix64(0x85944171f73967e8u));
    assert_true(rlt_hash_bytes("", 0, 0) == rlt_mix64(0xcbf29ce484222325u));
    assert_true(rlt_hash_bytes("foobar", 6, 1) != rlt_hash_bytes("foobar", 6, 0));
}

/* Known answers of Random123's kat_vectors for philox4x32-10. */
static void philox_known_answers(void **state)
{
    (void)state;
    static const uint32_t vectors[][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d, 0x41c83b0e,
         0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09, 0x94fdcceb,
         0x5001e420, 0x24126ea1},
    };
    for (size_t i = 0; i < N(vectors); i++) {
        uint32_t out[4];
        rlt_philox4x32(vectors[i], vectors[i] + 4, out);
        assert_memory_equal(out, vectors[i] + 6, sizeof out);
    }
}

static void streams_are_uniform_and_apart(void **state)
{
    (void)state;
    enum { DRAWS = 200000, CELLS = 64 };
    unsigned counts[CELLS] = {0}, small[7] = {0};
    double sum = 0, products = 0;
    for (uint64_t k = 0; k < DRAWS; k++) {
        double u = rlt_random_unit(42, 7, 1, k), v = rlt_random_unit(42, 8, 1, k);
        assert_true(u >= 0 && u < 1);
        counts[(unsigned)(u * CELLS)]++;
        sum += u;
        products += (u - 0.5) * (v - 0.5);
        uint64_t below = rlt_random_below(42, 7, 2, k, 7);
        assert_true(below < 7);
        small[below]++;
    }
    double chi2 = 0, chi2_small = 0;
    for (unsigned i = 0; i < CELLS; i++) {
        double off = counts[i] - (double)DRAWS / CELLS;
        chi2 += off * off / ((double)DRAWS / CELLS);
    }
    for (unsigned i = 0; i < 7; i++) {
        double off = small[i] - DRAWS / 7.0;
        chi2_small += off * off / (DRAWS / 7.0);
    }
    assert_true(chi2 < 120);      /* 63 degrees of freedom: beyond 120 once in 10^5 seeds */
    assert_true(chi2_small < 30); /* 6 degrees of freedom: beyond 30 once in 2 * 10^4 */
    /* Six standard deviations: 1/sqrt(12 n) of the mean, 1/(12 sqrt n) of the correlation. */
    assert_true(sum / DRAWS > 0.5 - 0.0039 && sum / DRAWS < 0.5 + 0.0039);
    assert_true(products / DRAWS > -0.00112 && products / DRAWS < 0.00112);
    uint64_t base = rlt_random_u64(1, 2, 3, 4);
    assert_true(base != rlt_random_u64(2, 2, 3, 4) && base != rlt_random_u64(1, 3, 3, 4));
    assert_true(base != rlt_random_u64(1, 2, 4, 4) && base != rlt_random_u64(1, 2, 3, 5));
    assert_true(base != rlt_random_u64(1 + (UINT64_C(1) << 32), 2, 3, 4));
    assert_true(base != rlt_random_u64(1, 2, 3, 4 + (UINT64_C(1) << 32)));
    assert_int_equal(rlt_random_below(1, 2, 3, 4, 1), 0);
}

/* Lists of numbers below 50, so that many are equal: each is as often in the sorted list, which ascends. */
static void sorted_numbers(void **state)
{
    (void)state;
    dice d = {.seed = 11};
    for (int round = 0; round < 300; round++) {
        uint32_t narrow[64], counts[50] = {0};
        uint64_t wide[64], n = roll(&d, 65);
        for (uint64_t i = 0; i < n; i++) {
            narrow[i] = (uint32_t)roll(&d, 50);
            wide[i] = (uint64_t)narrow[i] << 40;
            counts[narrow[i]]++;
        }
        rlt_sort_u32(narrow, n);
        rlt_sort_u64(wide, n);
        for (uint64_t i = 0, k = 0; i < n; i++) {
            while (counts[k] == 0)
                k++;
            counts[k]--;
            assert_int_equal(narrow[i], k);
            assert_int_equal(wide[i], k << 40);
        }
    }
}

/* A stream to a text has what was written, of any length, and knows how much. */
static void streams_to_texts(void **state)
{
    (void)state;
    char *text = NULL;
    size_t length = 1;
    FILE *f = rlt_text_stream(&text, &length);
    assert_non_null(f);
    assert_int_equal(fclose(f), 0);
    assert_string_equal(text, "");
    assert_int_equal(length, 0);
    free(text);
    assert_non_null(f = rlt_text_stream(&text, &length));
    for (long i = 0; i < 20000; i++) {
        assert_int_equal(ftell(f), 6 * i);
        fprintf(f, "%05ld,", i);
    }
    assert_int_equal(fclose(f), 0);
    assert_int_equal(length, 120000);
    assert_int_equal(strlen(text), length);
    assert_string_equal(text + length - 12, "19998,19999,");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arenas),
        cmocka_unit_test(sorted_numbers),
        cmocka_unit_test(growing_arrays),
        cmocka_unit_test(pools),
        cmocka_unit_test(maps_follow_a_plain_array),
        cmocka_unit_test(strings),
        cmocka_unit_test(hashes),
        cmocka_unit_test(hashes_of_words),
        cmocka_unit_test(philox_known_answers),
        cmocka_unit_test(streams_are_uniform_and_apart),
        cmocka_unit_test(streams_to_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
