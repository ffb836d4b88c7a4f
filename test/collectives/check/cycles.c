/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cycles of small multigraphs at random: valid, and as many as there can be, counted by trying all sets of cycles.
 * Larger graphs are put together from cycles, of which as many are found again.
 */
#include "collectives/check/cycles.h"

#include <stdbool.h>
#include <string.h>

#include "test/support/dice.h"
#include "test/support/support.h"

enum { MOST = 40, SMALL = 6 };

typedef struct graph {
    uint32_t n;
    uint8_t capacity[MOST * MOST];
} graph;

static void join(graph *g, uint32_t u, uint32_t v, int times)
{
    g->capacity[u * g->n + v] = (uint8_t)(g->capacity[u * g->n + v] + times);
    g->capacity[v * g->n + u] = g->capacity[u * g->n + v];
}

static uint32_t degree_bound(const graph *g)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t u = 0; u < g->n; u++) {
        uint32_t degree = 0;
        for (uint32_t v = 0; v < g->n; v++)
            degree += g->capacity[u * g->n + v];
        least = degree / 2 < least ? degree / 2 : least;
    }
    return least;
}

/* Finds at most `max` cycles: each visits all nodes once, no edge is used more often than it is there, and what stands
 * behind them is not touched. */
static uint32_t find(const graph *g, uint32_t max)
{
    static uint32_t orders[MOST * MOST + 1];
    graph left = *g;
    uint32_t found = 0, n = g->n;
    memset(orders, 0xaa, sizeof orders);
    assert_int_equal(rlt_cycles_find(n, g->capacity, max, orders, &found, NULL), 0);
    assert_true(found <= max && found <= degree_bound(g));
    for (uint32_t c = 0; c < found; c++) {
        bool seen[MOST] = {false};
        for (uint32_t i = 0; i < n; i++) {
            uint32_t u = orders[c * n + i], v = orders[c * n + (i + 1) % n];
            assert_true(u < n && !seen[u]);
            seen[u] = true;
            assert_true(v < n && left.capacity[u * n + v] > 0);
            join(&left, u, v, -1);
        }
    }
    assert_int_equal(orders[found * n], 0xaaaaaaaa);
    return found;
}

/* Returns the most cycles that the rest of a graph holds, each counted from node 0 on. */
static uint32_t most_of(graph *g, uint32_t *path, uint32_t length, uint32_t used)
{
    uint32_t best = 0, last = path[length - 1];
    if (length == g->n) {
        if (!g->capacity[last * g->n])
            return 0;
        join(g, last, 0, -1);
        uint32_t next[SMALL] = {0};
        best = 1 + (degree_bound(g) ? most_of(g, next, 1, 1) : 0);
        join(g, last, 0, 1);
        return best;
    }
    for (uint32_t v = 1; v < g->n; v++)
        if (!(used >> v & 1) && g->capacity[last * g->n + v]) {
            join(g, last, v, -1);
            path[length] = v;
            uint32_t one = most_of(g, path, length + 1, used | 1U << v);
            best = one > best ? one : best;
            join(g, last, v, 1);
        }
    return best;
}

/* A complete graph, or one less an edge anywhere, or with an edge more. */
static void one_edge_more_or_less(void **state)
{
    (void)state;
    for (uint32_t n = 3; n <= 9; n++)
        for (uint32_t times = 1; times <= 3; times++)
            for (uint32_t u = 0; u < n; u++)
                for (uint32_t v = u + 1; v < n; v++)
                    for (int more = -1; more <= 1; more += 2) {
                        graph g = {.n = n};
                        for (uint32_t a = 0; a < n; a++)
                            for (uint32_t b = a + 1; b < n; b++)
                                join(&g, a, b, (int)times);
                        join(&g, u, v, more);
                        uint32_t at_least = (more < 0 ? times - 1 : times) * ((n - 1) / 2);
                        assert_true(find(&g, 100) >= at_least);
                        assert_true(find(&g, 1) == (degree_bound(&g) > 0));
                    }
}

/* As many as the best set of cycles has. */
static void as_many_as_there_are(void **state)
{
    uint32_t several = 0, none = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 1500; seed++) {
        dice d = {.seed = seed};
        graph g = {.n = 3 + below(&d, SMALL - 2)};
        uint32_t path[SMALL] = {0}, percent = 40 + 10 * below(&d, 7);
        for (uint32_t u = 0; u < g.n; u++)
            for (uint32_t v = u + 1; v < g.n; v++)
                join(&g, u, v, below(&d, 100) < percent ? 1 + (below(&d, 3) == 0) : 0);
        uint32_t want = most_of(&g, path, 1, 1), got = find(&g, 100);
        if (got != want)
            fail_msg("graph %llu of %u nodes: %u cycles, and there are %u", (unsigned long long)seed, g.n,
                     got, want);
        several += want > 1;
        none += want == 0;
    }
    assert_true(several > 100 && none > 100);
}

/* Cycles at random, put together: as many are found. */
static void cycles_put_together(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 1500; seed++) {
        dice d = {.seed = seed, .stream = 1};
        graph g = {.n = 8 + below(&d, MOST - 8)};
        uint32_t k = 2 + below(&d, 6), order[MOST];
        for (uint32_t c = 0; c < k; c++) {
            for (uint32_t i = 0; i < g.n; i++) {
                uint32_t j = below(&d, i + 1);
                order[i] = order[j];
                order[j] = i;
            }
            for (uint32_t i = 0; i < g.n; i++)
                join(&g, order[i], order[(i + 1) % g.n], 1);
        }
        uint32_t found = find(&g, MOST - 1);
        if (found != k)
            fail_msg("graph %llu of %u nodes: %u of %u cycles", (unsigned long long)seed, g.n, found, k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_edge_more_or_less),
                                       cmocka_unit_test(as_many_as_there_are),
                                       cmocka_unit_test(cycles_put_together)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
