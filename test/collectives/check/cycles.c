/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cycles of graphs: valid, and as many as theory allows. Of small multigraphs at random as many as there can be, counted
 * by trying all sets of cycles. Larger ones are put together from cycles, of which as many are found again.
 */
#include "collectives/check/cycles.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/dice.h"
#include "test/support/support.h"

enum { MOST = 256, SMALL = 6, LARGE = 40 };

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
            degree += u == v ? 0 : g->capacity[u * g->n + v];
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
    uint32_t found = 0, n = g->n, bound = degree_bound(g);
    memset(orders, 0xaa, ((size_t)bound * n + 1) * sizeof *orders);
    assert_int_equal(rlt_cycles_find(n, g->capacity, max, orders, &found, NULL), 0);
    assert_true(found <= max && found <= bound);
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

/* Fewer than three nodes, more than the search takes, or no cycle asked for: none, and no error. */
static void outside_of_the_limits(void **state)
{
    static const uint32_t sizes[] = {0, 1, 2, RLT_CYCLES_MAX_NODES + 1};
    (void)state;
    for (size_t i = 0; i <= sizeof sizes / sizeof *sizes; i++) {
        uint32_t n = i < sizeof sizes / sizeof *sizes ? sizes[i] : 3, found = 7;
        uint8_t *all = malloc((size_t)n * n + 1);
        uint32_t *room = malloc(((size_t)n * n + 1) * sizeof *room);
        assert_true(all && room);
        memset(all, 1, (size_t)n * n);
        assert_int_equal(rlt_cycles_find(n, all, n == 3 ? 0 : n, room, &found, NULL), 0);
        assert_int_equal(found, 0);
        free(all);
        free(room);
    }
}

/* Walecki, 1892: (n - 1) / 2, rounded down. With two links between each two all are used. */
static void complete_graphs(void **state)
{
    (void)state;
    for (uint32_t n = 3; n <= 65; n++) {
        for (uint8_t times = 1; times <= 2; times++) {
            graph g = {.n = n};
            memset(g.capacity, times, (size_t)n * n); /* also from a node to itself */
            assert_int_equal(find(&g, n), times * (n - 1) / 2);
        }
    }
}

/* Two-dimensional tori decompose into two Hamiltonian cycles (Kotzig, 1973), three-dimensional ones into
 * three (Foregger, 1978). */
static void tori(void **state)
{
    (void)state;
    static const uint32_t sizes[][3] = {{3, 3, 1}, {4, 4, 1}, {5, 7, 1}, {8, 8, 1}, {4, 16, 1}, {12, 10, 1},
                                        {3, 3, 3}, {4, 4, 4}, {2, 4, 4}, {5, 3, 4}, {4, 8, 8}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const uint32_t *d = sizes[i];
        uint32_t n = d[0] * d[1] * d[2];
        graph g = {.n = n};
        for (uint32_t u = 0; u < n; u++) {
            uint32_t x = u % d[0], y = u / d[0] % d[1], z = u / d[0] / d[1];
            join(&g, u, (x + 1) % d[0] + d[0] * (y + d[1] * z), 1);
            join(&g, u, x + d[0] * ((y + 1) % d[1] + d[1] * z), 1);
            if (d[2] > 1)
                join(&g, u, x + d[0] * (y + d[1] * ((z + 1) % d[2])), 1);
        }
        assert_int_equal(find(&g, n), d[2] > 1 ? 3 : 2);
    }
}

/* A mesh has one if a side is even, and none if both are odd: its nodes are coloured like a chess board. */
static void meshes_and_graphs_without(void **state)
{
    (void)state;
    for (uint32_t a = 3; a <= 8; a++) {
        for (uint32_t b = 3; b <= 8; b++) {
            graph g = {.n = a * b};
            for (uint32_t y = 0; y < b; y++)
                for (uint32_t x = 0; x < a; x++) {
                    if (x + 1 < a)
                        join(&g, x + a * y, x + 1 + a * y, 1);
                    if (y + 1 < b)
                        join(&g, x + a * y, x + a * (y + 1), 1);
                }
            assert_int_equal(find(&g, a * b), a % 2 && b % 2 ? 0 : 1);
        }
    }
    graph petersen = {.n = 10}; /* it has none */
    for (uint32_t i = 0; i < 5; i++) {
        join(&petersen, i, (i + 1) % 5, 1);
        join(&petersen, 5 + i, 5 + (i + 2) % 5, 1);
        join(&petersen, i, 5 + i, 1);
    }
    assert_int_equal(find(&petersen, 10), 0);
    graph squares = {.n = 7}; /* two squares that share a node */
    for (uint32_t i = 0; i < 4; i++) {
        join(&squares, i, (i + 1) % 4, 1);
        join(&squares, i ? i + 3 : 0, i == 3 ? 0 : i + 4, 1);
    }
    assert_int_equal(find(&squares, 7), 0);
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
        graph g = {.n = 8 + below(&d, LARGE - 8)};
        uint32_t k = 2 + below(&d, 6), order[LARGE];
        for (uint32_t c = 0; c < k; c++) {
            for (uint32_t i = 0; i < g.n; i++) {
                uint32_t j = below(&d, i + 1);
                order[i] = order[j];
                order[j] = i;
            }
            for (uint32_t i = 0; i < g.n; i++)
                join(&g, order[i], order[(i + 1) % g.n], 1);
        }
        uint32_t found = find(&g, LARGE - 1);
        if (found != k)
            fail_msg("graph %llu of %u nodes: %u of %u cycles", (unsigned long long)seed, g.n, found, k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(outside_of_the_limits),
                                       cmocka_unit_test(complete_graphs),
                                       cmocka_unit_test(tori),
                                       cmocka_unit_test(meshes_and_graphs_without),
                                       cmocka_unit_test(one_edge_more_or_less),
                                       cmocka_unit_test(as_many_as_there_are),
                                       cmocka_unit_test(cycles_put_together)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
