/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dimensions that groups of ranks span: whole, partial and strided sub-grids, irregular groups, placements,
 * rings, refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "collectives/algorithm.h"
#include "collectives/check/checker.h"
#include "collectives/collective.h"
#include "collectives/plan.h"
#include "net/import/import.h"
#include "net/topology/build.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"

enum { MAX = 32 };

static rlt_topology *load(const char *text)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    int rc = rlt_topology_load(text, NULL, &t, &err);
    if (rc < 0)
        fail_msg("%s: %s", err.where, err.what);
    return t;
}

typedef struct group_case {
    const char *name;
    uint32_t n, ranks[MAX], n_dims, dims[3];
    const char *shapes[3];
} group_case;

/* On ring:4 * fully-connected:2 * switch:4; accelerator = x + 4 y + 8 z. */
static const group_case cases[] = {
    {"innermost", 4, {0, 1, 2, 3}, 1, {4}, {"ring"}},
    {"innermost, elsewhere", 4, {12, 13, 14, 15}, 1, {4}, {"ring"}},
    {"outermost", 4, {5, 13, 21, 29}, 1, {4}, {"switch"}},
    {"middle", 2, {3, 7}, 1, {2}, {"fully-connected"}},
    {"inner two", 8, {0, 1, 2, 3, 4, 5, 6, 7}, 2, {4, 2}, {"ring", "fully-connected"}},
    {"outer two", 8, {1, 5, 9, 13, 17, 21, 25, 29}, 2, {2, 4}, {"fully-connected", "switch"}},
    {"first and last", 8, {0, 1, 2, 3, 8, 9, 10, 11}, 2, {4, 2}, {"ring", "switch"}},
    {"part of a dimension", 3, {1, 2, 3}, 1, {3}, {"ring"}},
    {"every other place", 2, {1, 3}, 1, {2}, {"ring"}},
    {"parts of all", 8, {1, 2, 5, 6, 9, 10, 13, 14}, 3, {2, 2, 2}, {"ring", "fully-connected", "switch"}},
    {"strided parts", 4, {0, 2, 16, 18}, 2, {2, 2}, {"ring", "switch"}},
    {"outermost fastest", 4, {0, 8, 1, 9}, 2, {2, 2}, {"switch", "ring"}},
    {"one", 1, {9}, 1, {1}, {"switch"}},
    {"backwards", 4, {3, 2, 1, 0}, 1, {4}, {"switch"}},
    {"a corner missing", 3, {0, 1, 4}, 1, {3}, {"switch"}},
    {"a diagonal", 2, {0, 5}, 1, {2}, {"switch"}},
    {"second row moved", 4, {0, 1, 5, 6}, 1, {4}, {"switch"}},
    {"uneven places", 3, {0, 1, 3}, 1, {3}, {"switch"}},
    {"over the edge", 3, {2, 3, 4}, 1, {3}, {"switch"}},
    {"one dimension twice", 4, {0, 16, 8, 24}, 1, {4}, {"switch"}},
};

static void sub_grids_are_found(void **state)
{
    (void)state;
    rlt_topology *t = load("ring:4@200GB/s,500ns*fully-connected:2@100GB/s,500ns*switch:4@50GB/s,500ns");
    rlt_placement p = {.n = 32};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const group_case *c = &cases[i];
        rlt_group g;
        rlt_error err = {0};
        assert_int_equal(rlt_group_create(t, &p, c->ranks, c->n, &g, &err), 0);
        if (g.n_dims != c->n_dims)
            fail_msg("%s: %u dimensions of %u ...", c->name, g.n_dims, g.dims[0]);
        for (uint32_t d = 0; d < c->n_dims; d++) {
            if (g.dims[d] != c->dims[d] || strcmp(g.shapes[d], c->shapes[d]) != 0)
                fail_msg("%s: dimension %u is %s of %u", c->name, d, g.shapes[d], g.dims[d]);
        }
        rlt_coll_request req = rlt_group_request(&g, RLT_ALL_REDUCE, 1000);
        for (uint32_t m = 0; m < c->n; m++)
            assert_int_equal(rlt_member_rank(&req, m), c->ranks[m]);
        rlt_plan plan;
        assert_int_equal(rlt_plan_create(NULL, &req, &plan, &err), 0);
        assert_int_equal(rlt_plan_check(&plan, &err), 0);
        rlt_plan_free(&plan);
        rlt_group_free(&g);
    }
    rlt_topology_free(t);
}

static void everybody_needs_no_list(void **state)
{
    (void)state;
    rlt_topology *t = load("ring:4@200GB/s,500ns*switch:8@50GB/s,500ns");
    rlt_placement p = {.n = 32};
    rlt_group g;
    rlt_error err = {0};
    assert_int_equal(rlt_group_create(t, &p, NULL, 32, &g, &err), 0);
    assert_null(g.ranks);
    assert_int_equal(g.n_dims, 2);
    assert_int_equal(g.dims[0], 4);
    assert_int_equal(g.dims[1], 8);
    rlt_coll_request req = rlt_group_request(&g, RLT_ALL_GATHER, 77);
    assert_int_equal(req.n, 32);
    assert_int_equal(req.bytes, 77);
    assert_int_equal(req.kind, RLT_ALL_GATHER);
    assert_ptr_equal(rlt_algorithm_choose(&req), &rlt_hierarchical);
    rlt_group_free(&g);
    rlt_topology_free(t);
}

/* Ranks in an order that undoes the placement form a grid; the same ranks in their own order do not. */
static void placement_counts(void **state)
{
    (void)state;
    rlt_topology *t = load("ring:4@200GB/s,500ns*switch:2@50GB/s,500ns");
    uint32_t accelerator[] = {0, 4, 1, 5, 2, 6, 3, 7}, undone[] = {0, 2, 4, 6, 1, 3, 5, 7};
    rlt_placement p = {.n = 8, .accelerator = accelerator};
    rlt_group g;
    rlt_error err = {0};
    assert_int_equal(rlt_group_create(t, &p, NULL, 8, &g, &err), 0);
    assert_int_equal(g.n_dims, 2);
    assert_int_equal(g.dims[0], 2);
    assert_string_equal(g.shapes[0], "switch");
    rlt_group_free(&g);
    assert_int_equal(rlt_group_create(t, &p, undone, 8, &g, &err), 0);
    assert_int_equal(g.dims[0], 4);
    assert_string_equal(g.shapes[0], "ring");
    rlt_group_free(&g);
    rlt_topology_free(t);
}

static const char graph[] =
    "{\"nodes\":[{\"id\":\"sw\",\"kind\":\"switch\"},{\"id\":\"g\",\"count\":6,\"kind\":\"accelerator\"}],"
    "\"links\":[{\"src\":\"g0\",\"dst\":\"sw\",\"bandwidth\":\"25GB/s\",\"latency\":\"1us\"},"
    "{\"src\":\"g1\",\"dst\":\"sw\",\"bandwidth\":\"25GB/s\",\"latency\":\"1us\"},"
    "{\"src\":\"g2\",\"dst\":\"sw\",\"bandwidth\":\"25GB/s\",\"latency\":\"1us\"},"
    "{\"src\":\"g3\",\"dst\":\"sw\",\"bandwidth\":\"25GB/s\",\"latency\":\"1us\"},"
    "{\"src\":\"g4\",\"dst\":\"sw\",\"bandwidth\":\"25GB/s\",\"latency\":\"1us\"},"
    "{\"src\":\"g5\",\"dst\":\"sw\",\"bandwidth\":\"25GB/s\",\"latency\":\"1us\"}],"
    "\"dims\":[2,3],\"rings\":[[0,2,4,5,3,1],[5,0,4,1,3,2]]}";

/* Logical dimensions of a graph, and its ring orders restricted to the group, as member numbers. */
static void graphs_have_dims_and_rings(void **state)
{
    (void)state;
    rlt_topology *t = load(graph);
    rlt_placement p = {.n = 6};
    uint32_t ranks[] = {4, 0, 5};
    rlt_group g;
    rlt_error err = {0};
    assert_int_equal(rlt_group_create(t, &p, NULL, 6, &g, &err), 0);
    assert_int_equal(g.n_dims, 2);
    assert_int_equal(g.dims[0], 2);
    assert_int_equal(g.dims[1], 3);
    assert_int_equal(g.n_rings, 2);
    assert_int_equal(g.rings[0][3], 5);
    rlt_coll_request req = rlt_group_request(&g, RLT_ALL_REDUCE, 1000);
    rlt_plan plan;
    assert_int_equal(rlt_plan_create(&rlt_ring, &req, &plan, &err), 0);
    assert_int_equal(plan.channels, 2); /* one per ring */
    assert_int_equal(rlt_plan_check(&plan, &err), 0);
    rlt_plan_free(&plan);
    rlt_group_free(&g);

    assert_int_equal(rlt_group_create(t, &p, ranks, 3, &g, &err), 0);
    static const uint32_t expected[2][3] = {{1, 0, 2}, {2, 1, 0}}; /* accelerators 0 4 5 and 5 0 4 */
    assert_int_equal(g.n_rings, 2);
    for (int r = 0; r < 2; r++)
        assert_memory_equal(g.rings[r], expected[r], sizeof expected[r]);
    rlt_group_free(&g);
    rlt_topology_free(t);
}

static void bad_groups_are_refused(void **state)
{
    (void)state;
    rlt_topology *t = load("ring:4@200GB/s,500ns");
    rlt_placement p = {.n = 3};
    uint32_t twice[] = {0, 2, 0}, outside[] = {0, 3};
    rlt_group g;
    rlt_error err = {0};
    assert_int_equal(rlt_group_create(t, &p, twice, 3, &g, &err), RLT_ESCHEMA);
    assert_non_null(strstr(err.what, "rank 0"));
    memset(&err, 0, sizeof err);
    assert_int_equal(rlt_group_create(t, &p, outside, 2, &g, &err), RLT_ERANGE);
    assert_non_null(strstr(err.what, "rank 3"));
    assert_int_equal(rlt_group_create(t, &p, NULL, 4, &g, NULL), RLT_ERANGE);
    assert_int_equal(rlt_group_create(t, &p, NULL, 0, &g, NULL), RLT_ERANGE);
    rlt_group_free(&g);
    rlt_group_free(NULL);
    rlt_topology_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sub_grids_are_found),    cmocka_unit_test(everybody_needs_no_list),
        cmocka_unit_test(placement_counts),       cmocka_unit_test(graphs_have_dims_and_rings),
        cmocka_unit_test(bad_groups_are_refused),
    };
    return cmocka_run_group_tests_name("group", tests, NULL, NULL);
}
