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
#include "sim/base/time.h"

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

/* Nodes of four, three of them: how many members each node has, if they stand in order. */
static void members_of_nodes(void **state)
{
    static const struct {
        uint32_t n, ranks[8], node;
    } rows[] = {
        {4, {0, 1, 4, 5}, 2},
        {3, {0, 4, 8}, 1},
        {4, {0, 1, 2, 3}, 4},
        {8, {4, 5, 6, 7, 0, 1, 2, 3}, 4},
        {1, {5}, 1},
        {6, {0, 1, 8, 9, 4, 5}, 2},
        {3, {0, 1, 4}, 0},          /* unequal */
        {6, {0, 1, 4, 5, 2, 3}, 0}, /* a node twice */
        {3, {0, 4, 1}, 0},
        {4, {0, 1, 4, 8}, 0}, /* two nodes in the place of one */
        {4, {0, 4, 8, 1}, 0}, /* more than there are */
    };
    rlt_topology *t = load("switch:4@100GB/s,0ns*switch:3@10GB/s,500ns,nics=4");
    rlt_placement p = {.n = 12};
    (void)state;
    assert_int_equal(rlt_topology_node_size(t), 4);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_group g;
        assert_int_equal(rlt_group_create(t, &p, rows[i].ranks, rows[i].n, &g, NULL), 0);
        if (g.node != rows[i].node)
            fail_msg("row %zu: %u members a node", i, g.node);
        assert_int_equal(rlt_group_request(&g, RLT_ALL_REDUCE, 8).node, rows[i].node);
        rlt_group_free(&g);
    }
    rlt_topology_free(t);
    /* 20 nodes of two, the last first; then two members change places */
    uint32_t ranks[40];
    t = load("switch:2@100GB/s,0ns*switch:20@10GB/s,500ns,nics=2");
    p.n = 40;
    for (uint32_t other = 0; other < 20; other++) {
        rlt_group g;
        for (uint32_t m = 0; m < 40; m++)
            ranks[m] = (19 - m / 2) * 2 + m % 2;
        ranks[38] = ranks[2 * other + 1];
        ranks[2 * other + 1] = 0;
        assert_int_equal(rlt_group_create(t, &p, ranks, 40, &g, NULL), 0);
        assert_int_equal(g.node, other == 19 ? 2 : 0);
        rlt_group_free(&g);
    }
    rlt_topology_free(t);
}

/* Dimensions of one member are left out, in a whole product and in a part of it; axes name those of the topology. */
static void axes_name_dimensions(void **state)
{
    static const struct {
        uint32_t n, ranks[8], n_dims, dims[2], axes[2];
    } rows[] = {
        {8, {0}, 2, {4, 2}, {0, 2}}, {4, {0, 1, 2, 3}, 1, {4}, {0}},     {4, {1, 2, 5, 6}, 2, {2, 2}, {0, 2}},
        {2, {1, 5}, 1, {2}, {2}},    {3, {0, 1, 4}, 1, {3}, {RLT_NONE}}, {1, {3}, 1, {1}, {RLT_NONE}},
    };
    rlt_topology *t = load("ring:4@200GB/s,500ns*switch:1@100GB/s,500ns*switch:2@50GB/s,500ns");
    rlt_placement p = {.n = 8};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_group g;
        const uint32_t *ranks = rows[i].n == 8 ? NULL : rows[i].ranks;
        assert_int_equal(rlt_group_create(t, &p, ranks, rows[i].n, &g, NULL), 0);
        rlt_coll_request req = rlt_group_request(&g, RLT_GATHER, 8);
        assert_int_equal(g.n_dims, rows[i].n_dims);
        assert_int_equal(req.n_dims, rows[i].n_dims);
        assert_ptr_equal(req.topology, t);
        assert_ptr_equal(req.placement, &p);
        for (uint32_t d = 0; d < g.n_dims; d++) {
            assert_int_equal(req.dims[d], rows[i].dims[d]);
            assert_int_equal(req.axes[d], rows[i].axes[d]);
        }
        rlt_group_free(&g);
    }
    rlt_topology_free(t);
    /* a part of the only dimension has its shape, though it is no sub-grid */
    rlt_group g;
    t = load("ring:4@200GB/s,500ns");
    p.n = 4;
    static const uint32_t backwards[] = {2, 1, 0};
    assert_int_equal(rlt_group_create(t, &p, backwards, 3, &g, NULL), 0);
    assert_string_equal(g.shapes[0], "ring");
    assert_int_equal(g.axes[0], RLT_NONE);
    rlt_group_free(&g);
    rlt_topology_free(t);
}

/* Ranks 0 .. n-1 need no list; others are copied. */
static void lists_of_ranks(void **state)
{
    uint32_t ranks[] = {0, 1, 2, 3};
    rlt_topology *t = load("ring:4@200GB/s,500ns");
    rlt_placement p = {.n = 4};
    rlt_group g;
    (void)state;
    assert_int_equal(rlt_group_create(t, &p, ranks, 4, &g, NULL), 0);
    assert_null(g.ranks);
    rlt_group_free(&g);
    ranks[0] = 1, ranks[1] = 0;
    assert_int_equal(rlt_group_create(t, &p, ranks, 4, &g, NULL), 0);
    ranks[0] = 9;
    static const uint32_t copied[] = {1, 0, 2, 3};
    assert_memory_equal(g.ranks, copied, sizeof copied);
    rlt_group_free(&g);
    rlt_topology_free(t);
}

static void refusals_name_ranks(void **state)
{
    uint32_t nowhere[] = {0, 4, 2, 3}, ranks[] = {0, 3, 3}, wide[90];
    rlt_topology *t = load("ring:4@200GB/s,500ns");
    rlt_placement all = {.n = 4}, beyond = {.n = 4, .accelerator = nowhere};
    rlt_group g;
    (void)state;
    const struct {
        const rlt_placement *p;
        const uint32_t *ranks;
        uint32_t n;
        int code;
        const char *what;
    } rows[] = {
        {&all, NULL, 5, RLT_ERANGE, "rank 4 does not exist; the placement has 4 ranks"},
        {&all, NULL, 0, RLT_ERANGE, "expected 1 to 16777216 ranks, got 0"},
        {&all, NULL, RLT_MAX_MEMBERS + 1, RLT_ERANGE, "expected 1 to 16777216 ranks, got 16777217"},
        {&all, ranks, 3, RLT_ESCHEMA, "rank 3 is named twice"},
        {&beyond, NULL, 4, RLT_ERANGE, "rank 1 is on accelerator 4, which does not exist"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_error err = {0};
        assert_int_equal(rlt_group_create(t, rows[i].p, rows[i].ranks, rows[i].n, &g, &err), rows[i].code);
        assert_string_equal(err.where, "group");
        assert_string_equal(err.what, rows[i].what);
        assert_null(g.ranks);
    }
    rlt_topology_free(t);
    /* any rank may be the one that comes twice */
    t = load("ring:90@200GB/s,500ns");
    all.n = 90;
    for (uint32_t i = 1; i < 90; i++) {
        for (uint32_t m = 0; m < 90; m++)
            wide[m] = m == 0 ? i : m;
        assert_int_equal(rlt_group_create(t, &all, wide, 90, &g, NULL), RLT_ESCHEMA);
        wide[i] = 0;
        assert_int_equal(rlt_group_create(t, &all, wide, 90, &g, NULL), 0);
        rlt_group_free(&g);
    }
    rlt_topology_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sub_grids_are_found),    cmocka_unit_test(everybody_needs_no_list),
        cmocka_unit_test(placement_counts),       cmocka_unit_test(graphs_have_dims_and_rings),
        cmocka_unit_test(bad_groups_are_refused), cmocka_unit_test(members_of_nodes),
        cmocka_unit_test(axes_name_dimensions),   cmocka_unit_test(lists_of_ranks),
        cmocka_unit_test(refusals_name_ranks),
    };
    return cmocka_run_group_tests_name("group", tests, NULL, NULL);
}
