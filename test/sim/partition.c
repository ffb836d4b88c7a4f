/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The coarsest equitable partition of random networks against colour refinement round by round, which
 * compares whole surroundings and no hashes. Chains. Effort that runs out, and a watch that wants the end. */
#include "sim/partition.h"

#include <string.h>

#include "sim/base/error.h"
#include "sim/watch.h"
#include "test/support/dice.h"
#include "test/support/support.h"

enum { MOST = 40, PLACES = 4, WORDS = MOST * PLACES };

typedef struct net {
    uint32_t things, messages;
    uint32_t first[MOST + 1], joined[WORDS];
    uint64_t of_thing[MOST], of_message[MOST];
} net;

/* Draws a network. Half of them repeat a pattern round a ring of things, so that many are alike. */
static net draw(dice *k)
{
    net g = {.things = 1 + below(k, MOST), .messages = below(k, MOST + 1)};
    bool regular = below(k, 2), odd = below(k, 2);
    uint32_t joins = 1 + below(k, PLACES), by[PLACES];
    for (uint32_t p = 0; p < PLACES; p++)
        by[p] = below(k, g.things);
    for (uint32_t m = 0; m < g.messages; m++) {
        uint32_t n = regular ? joins : below(k, PLACES + 1);
        g.first[m + 1] = g.first[m] + n;
        for (uint32_t p = 0; p < n; p++)
            g.joined[g.first[m] + p] = regular ? (m + by[p]) % g.things : below(k, g.things);
        g.of_message[m] = regular ? 5 : below(k, 2);
    }
    for (uint32_t i = 0; i < g.things; i++)
        g.of_thing[i] = regular ? odd && i == 0 : below(k, 2);
    return g;
}

/* Lists what a thing (or message) sees, in a row that can be compared: for a thing, how many messages of each
 * class it has in each place; for a message, the class of what stands in each place. */
static void look(const net *g, const uint32_t *class, uint32_t e, uint32_t *row)
{
    memset(row, 0, (2 * MOST * PLACES + 1) * sizeof *row);
    row[0] = class[e];
    for (uint32_t m = 0; m < g->messages; m++)
        for (uint32_t i = g->first[m]; i < g->first[m + 1]; i++) {
            uint32_t p = i - g->first[m];
            if (g->joined[i] == e)
                row[1 + class[g->things + m] * PLACES + p]++;
            if (g->things + m == e)
                row[1 + p] = 1 + class[g->joined[i]];
        }
}

/* Refines round by round. Fills class[] of things, then messages; returns their number. */
static uint32_t rounds(const net *g, uint32_t *class)
{
    static uint32_t rows[2 * MOST][2 * MOST * PLACES + 1];
    uint32_t total = g->things + g->messages, n = 0, before = UINT32_MAX;
    for (uint32_t i = 0; i < total; i++) {
        uint64_t own = i < g->things ? g->of_thing[i] : g->of_message[i - g->things];
        uint32_t j = 0;
        while (j < i && ((j < g->things) != (i < g->things) ||
                         (j < g->things ? g->of_thing[j] : g->of_message[j - g->things]) != own))
            j++;
        class[i] = j < i ? class[j] : n++;
    }
    while (n != before) {
        before = n;
        n = 0;
        for (uint32_t i = 0; i < total; i++)
            look(g, class, i, rows[i]);
        for (uint32_t i = 0; i < total; i++) {
            uint32_t j = 0;
            while (j < i && memcmp(rows[i], rows[j], sizeof rows[i]) != 0)
                j++;
            class[i] = j < i ? class[j] : n++;
        }
    }
    return n;
}

static uint32_t classes_of(const uint32_t *class, uint32_t n)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = 0;
        while (class[j] != class[i])
            j++;
        found += j == i;
    }
    return found;
}

static void random_networks(void **state)
{
    (void)state;
    dice k = {.seed = 7};
    uint32_t coarse = 0;
    for (uint32_t t = 0; t < 3000; t++) {
        net g = draw(&k);
        rlt_joins joins = {g.things, g.messages, g.first, g.joined};
        rlt_effort effort = {.limit = UINT64_MAX};
        uint32_t a[MOST], b[2 * MOST], n;
        assert_int_equal(rlt_partition(&joins, g.of_thing, g.of_message, &effort, a, &n), 0);
        rounds(&g, b);
        for (uint32_t i = 0; i < g.things; i++) {
            assert_true(a[i] < n);
            for (uint32_t j = 0; j < i; j++)
                assert_int_equal(a[i] == a[j], b[i] == b[j]);
        }
        coarse += g.things > 2 && classes_of(a, g.things) * 2 <= g.things;
    }
    print_message("%u networks with at most half as many classes as things\n", coarse);
    assert_true(coarse > 300);
}

/* A chain of messages. Every thing differs from every other, at a cost of n log n. */
static int chain(uint32_t n, rlt_effort *effort, uint32_t *classes)
{
    uint32_t *lists = calloc((size_t)n * 4 + 4, sizeof *lists), total;
    uint64_t *hash = calloc((size_t)n * 2, sizeof *hash);
    assert_non_null(lists);
    assert_non_null(hash);
    uint32_t *first = lists, *joined = lists + n, *class = joined + 2 * (size_t)n;
    for (uint32_t m = 0; m + 1 < n; m++) {
        joined[2 * m] = m;
        joined[2 * m + 1] = m + 1;
        first[m + 1] = 2 * (m + 1);
    }
    rlt_joins joins = {n, n - 1, first, joined};
    int rc = rlt_partition(&joins, hash, hash + n, effort, class, &total);
    *classes = 0;
    for (uint32_t i = 0; i < n && !rc; i++)
        hash[class[i]] = 1;
    for (uint32_t i = 0; i < 2 * n && !rc; i++)
        *classes += hash[i] == 1;
    free(lists);
    free(hash);
    return rc;
}

static void chains(void **state)
{
    (void)state;
    uint64_t before = 0;
    for (uint32_t n = 1 << 10; n <= 1 << 16; n *= 2) {
        rlt_effort effort = {.limit = UINT64_MAX};
        uint32_t classes;
        assert_int_equal(chain(n, &effort, &classes), 0);
        assert_int_equal(classes, n);
        assert_true(!before || effort.spent < before * 22 / 10);
        before = effort.spent;
    }
}

static bool now(void *ctx)
{
    return ++*(uint32_t *)ctx > 0;
}

static void it_ends(void **state)
{
    (void)state;
    uint32_t classes, asked = 0;
    rlt_effort little = {.limit = 5000000};
    assert_int_equal(chain(1 << 14, &little, &classes), RLT_EUNSUPPORTED);
    assert_in_range(little.spent, little.limit, little.limit * 11 / 10);
    rlt_watch watch = {.ctx = &asked, .stopped = now};
    rlt_effort watched = {.limit = UINT64_MAX, .watch = &watch};
    assert_int_equal(chain(1 << 16, &watched, &classes), RLT_ECANCELLED);
    assert_int_equal(asked, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_networks),
        cmocka_unit_test(chains),
        cmocka_unit_test(it_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
