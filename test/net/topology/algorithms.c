/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Components, distances, flows and cuts of graphs, by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/topology/graph.h"
#include "sim/base/time.h"

/* Two triangles, 0 1 2 and 3 4 5, a one-way link from 2 to 3, and node 6 alone. */
static void components_and_distances(void **state)
{
    (void)state;
    static const uint32_t src[] = {0, 1, 2, 3, 4, 5, 2}, dst[] = {1, 2, 0, 4, 5, 3, 3};
    const rlt_edges g = {.n_nodes = 7, .n_edges = 7, .src = src, .dst = dst};
    uint32_t component[7], n = 0;
    assert_int_equal(rlt_graph_components(&g, component, &n, NULL), 0);
    assert_int_equal(n, 3);
    for (uint32_t i = 0; i < 7; i++)
        for (uint32_t k = 0; k < 7; k++)
            assert_int_equal(component[i] == component[k], i / 3 == k / 3);
    static const uint32_t from[] = {0, 3, 6}, to[] = {2, 5, 0, 6};
    static const uint32_t expected[] = {2,        5,        0,        RLT_NONE, RLT_NONE, 2,
                                        RLT_NONE, RLT_NONE, RLT_NONE, RLT_NONE, RLT_NONE, 0};
    uint32_t distance[12];
    assert_int_equal(rlt_graph_distances(&g, from, 3, to, 4, distance, NULL), 0);
    assert_memory_equal(distance, expected, sizeof expected);
}

/* 1200 x 1200 distances in a directed ring: more than one block. */
static void distances_in_blocks(void **state)
{
    enum { N = 1200 };
    (void)state;
    static uint32_t src[N], dst[N], distance[N * N];
    for (uint32_t i = 0; i < N; i++) {
        src[i] = i;
        dst[i] = (i + 1) % N;
    }
    const rlt_edges g = {.n_nodes = N, .n_edges = N, .src = src, .dst = dst};
    assert_int_equal(rlt_graph_distances(&g, src, N, src, N, distance, NULL), 0);
    for (uint32_t i = 0; i < N; i++)
        for (uint32_t k = 0; k < N; k++)
            assert_true(distance[i * N + k] == (k + N - i) % N);
}

/* s = 0 to t = 3 over 1 (5, then 2) and 2 (3, then 4), and 1 to 2 (1): flow 6. The smallest cuts are {s, 1} =
 * 3 + 1 + 2 and {s, 1, 2} = 2 + 4; the one with more nodes is taken. */
static void flows_and_cuts(void **state)
{
    (void)state;
    static const uint32_t src[] = {0, 1, 0, 2, 1}, dst[] = {1, 3, 2, 3, 2};
    static const double capacity[] = {5, 2, 3, 4, 1};
    static const uint8_t expected[] = {1, 1, 1, 0};
    const rlt_edges g = {.n_nodes = 4, .n_edges = 5, .src = src, .dst = dst};
    double value = 0;
    uint8_t side[4];
    assert_int_equal(rlt_graph_max_flow(&g, capacity, 0, 3, &value, NULL), 0);
    assert_true(value > 5.5 && value < 6.5);
    value = 0;
    assert_int_equal(rlt_graph_min_cut(&g, capacity, 0, 3, &value, side, NULL), 0);
    assert_true(value > 5.5 && value < 6.5);
    assert_memory_equal(side, expected, sizeof side);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(components_and_distances),
        cmocka_unit_test(distances_in_blocks),
        cmocka_unit_test(flows_and_cuts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
