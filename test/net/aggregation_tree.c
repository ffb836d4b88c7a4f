/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reductions mapped on networks: trees worked out by hand. Every tree, also those of random networks, is
 * checked independently: paths lead from node to node, every member contributes once and gets one copy, and
 * the load of each edge is the sum of the paths over it.
 */
#include "net/import/import.h"
#include "test/support/networks/leaves.h"

#include "net/aggregation/tree.h"
#include "net/shapes/shapes.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/random.h"
#include "sim/base/time.h"

#define BOTH "reduce+multicast"

enum { MAX_NODES = 64 };

static void check_way(const rlt_topology *t, const rlt_reduction *r, rlt_way w, uint32_t from, uint32_t to,
                      uint32_t *load)
{
    for (uint32_t i = 0; i < w.n; i++) {
        rlt_link l = rlt_topology_link(t, r->links[w.first + i]);
        assert_int_equal(l.src, from);
        from = l.dst;
        if (load)
            load[r->links[w.first + i]]++;
    }
    assert_int_equal(from, to);
}

static void check_stop(const rlt_reduction_request *q, const rlt_reduction *r, uint32_t s, uint32_t *load,
                       uint32_t *gave, uint32_t *got)
{
    const rlt_stop *x = &r->stops[s];
    for (uint32_t i = 0; i < (x->adds ? x->need : 0); i++) {
        const rlt_contributor *c = &r->contributors[x->first_contributor + i];
        assert_true((c->member == RLT_NONE) != (c->stop == RLT_NONE));
        uint32_t node = c->stop == RLT_NONE ? q->nodes[c->member] : r->stops[c->stop].node;
        check_way(q->topology, r, c->up, node, x->node, load);
        check_way(q->topology, r, c->down, x->node, node, NULL);
        if (c->stop == RLT_NONE) {
            gave[c->member]++;
            assert_int_equal(r->member_stop[c->member], s);
            assert_int_equal(r->member_child[c->member], i);
        } else {
            assert_true(r->stops[c->stop].adds);
            assert_int_equal(r->stops[c->stop].parent, s);
            assert_int_equal(r->stops[c->stop].child, i);
        }
    }
    assert_true(x->n_branches > 0);
    for (uint32_t i = 0; i < x->n_branches; i++) {
        const rlt_branch *b = &r->branches[x->first_branch + i];
        uint32_t node = b->stop == RLT_NONE ? q->nodes[b->member] : r->stops[b->stop].node;
        check_way(q->topology, r, b->down, x->node, node, load);
        if (b->stop == RLT_NONE)
            got[b->member]++;
    }
}

static void check(const rlt_reduction_request *q, const rlt_reduction *r)
{
    uint32_t *load = calloc(rlt_topology_links(q->topology), sizeof *load), gave[MAX_NODES] = {0},
             got[MAX_NODES] = {0};
    assert_non_null(load);
    for (uint32_t s = 0; s < r->n_stops; s++) {
        const rlt_stop *x = &r->stops[s];
        uint32_t can = rlt_topology_in_network(q->topology, x->node);
        assert_true(can & (x->adds ? RLT_CAN_REDUCE : RLT_CAN_MULTICAST));
        assert_true(!x->adds || !q->barred || !q->barred[x->node]);
        assert_true((x->parent == RLT_NONE) == (s == 0 || !x->adds));
        check_stop(q, r, s, load, gave, got);
    }
    for (uint32_t i = 0; i < q->n; i++) {
        assert_int_equal(gave[i], 1);
        assert_int_equal(got[i], 1);
    }
    double busiest = 0;
    for (uint32_t i = 0; i < r->n_edges; i++) {
        const rlt_tree_edge *e = &r->edges[i];
        assert_int_equal(rlt_topology_reverse(q->topology, e->up), e->down);
        assert_int_equal(load[e->up], e->up_load);
        assert_int_equal(load[e->down], e->down_load);
        double up = e->up_load / (double)rlt_topology_link(q->topology, e->up).bw_Bps;
        double down = e->down_load / (double)rlt_topology_link(q->topology, e->down).bw_Bps;
        load[e->up] = load[e->down] = 0;
        busiest = up > busiest ? up : busiest;
        busiest = down > busiest ? down : busiest;
    }
    if (!q->load)
        assert_true(r->busiest >= busiest && r->busiest <= busiest);
    for (uint32_t i = 0; i < rlt_topology_links(q->topology); i++)
        assert_int_equal(load[i], 0); /* no load outside the edges */
    for (uint32_t i = 0; i < q->n_servers; i++) {
        check_way(q->topology, r, r->to_server[i], r->stops[0].node, q->servers[i], NULL);
        check_way(q->topology, r, r->from_server[i], q->servers[i], r->stops[0].node, NULL);
    }
    free(load);
}

static const uint32_t in_order[MAX_NODES] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                             16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                             32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
                                             48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};

static rlt_reduction_request request(const rlt_topology *t, uint32_t n)
{
    return (rlt_reduction_request){.topology = t, .n = n, .nodes = in_order, .root = RLT_NONE};
}

static rlt_reduction *map(const rlt_reduction_request *q)
{
    rlt_reduction *r = NULL;
    rlt_error err = {0};
    if (rlt_reduction_create(q, &r, &err))
        fail_msg("%s: %s", err.where, err.what);
    check(q, r);
    return r;
}

static uint32_t node(const rlt_topology *t, const char *name)
{
    uint32_t v = rlt_topology_find_node(t, name);
    assert_int_not_equal(v, RLT_NONE);
    return v;
}

/* Expects these packets of a chunk from one node to the next, and back. */
static void expect_edge(const rlt_topology *t, const rlt_reduction *r, const char *from, const char *to,
                        uint32_t up, uint32_t down)
{
    for (uint32_t i = 0; i < r->n_edges; i++) {
        rlt_link l = rlt_topology_link(t, r->edges[i].up);
        if (l.src == node(t, from) && l.dst == node(t, to)) {
            assert_int_equal(r->edges[i].up_load, up);
            assert_int_equal(r->edges[i].down_load, down);
            return;
        }
    }
    fail_msg("the tree has no edge from %s to %s", from, to);
}

static void expect_stop(const rlt_topology *t, const rlt_reduction *r, const char *name, uint32_t need)
{
    for (uint32_t s = 0; s < r->n_stops; s++)
        if (r->stops[s].node == node(t, name)) {
            assert_int_equal(r->stops[s].adds, need > 0);
            assert_int_equal(r->stops[s].need, need);
            return;
        }
    fail_msg("%s is no stop", name);
}

static void test_star(void **state)
{
    (void)state;
    rlt_topology *t = test_leaves_build(&(test_leaves){.workers = 9, .leaf_can = BOTH});
    const uint32_t server = 8;
    rlt_reduction_request q = request(t, 8);
    q.n_servers = 1;
    q.servers = &server;
    rlt_reduction *r = map(&q);
    assert_int_equal(r->n_stops, 1);
    assert_int_equal(r->depth, 1);
    assert_int_equal(r->levels, 1);
    expect_stop(t, r, "leaf0", 8);
    for (uint32_t i = 0; i < r->n_edges; i++)
        assert_int_equal(r->edges[i].up_load + r->edges[i].down_load, 2);
    rlt_reduction_free(r);
    q.width = 4;
    assert_int_equal(rlt_reduction_create(&q, &r, NULL), RLT_ETOPOLOGY);
    q.width = 0;
    q.place = RLT_ADD_SPINE;
    assert_int_equal(rlt_reduction_create(&q, &r, NULL), RLT_ETOPOLOGY);
    rlt_topology_free(t);
}

static void test_two_leaves(void **state)
{
    (void)state;
    rlt_topology *t = test_leaves_build(
        &(test_leaves){.workers = 8, .leaves = 2, .spines = 1, .leaf_can = BOTH, .spine_can = BOTH});
    rlt_reduction_request q = request(t, 8);
    q.width = 4;
    rlt_reduction *r = map(&q);
    assert_int_equal(r->n_stops, 3);
    assert_int_equal(r->stops[0].node, node(t, "spine0"));
    assert_int_equal(r->depth, 2);
    assert_int_equal(r->levels, 2);
    expect_stop(t, r, "spine0", 2);
    expect_stop(t, r, "leaf0", 4);
    expect_stop(t, r, "leaf1", 4);
    expect_edge(t, r, "leaf0", "spine0", 1, 1);
    rlt_reduction_free(r);

    /* Only switches next to accelerators add: one leaf is the root of the other. */
    q.width = 0;
    q.place = RLT_ADD_TOR;
    r = map(&q);
    assert_int_equal(r->stops[0].node, node(t, "leaf0"));
    expect_stop(t, r, "leaf0", 5);
    expect_stop(t, r, "leaf1", 4);
    expect_edge(t, r, "leaf1", "spine0", 1, 1);
    expect_edge(t, r, "spine0", "leaf0", 1, 1);
    rlt_reduction_free(r);

    /* Only other switches add: uplinks carry every packet; leaves still replicate. */
    q.place = RLT_ADD_SPINE;
    r = map(&q);
    expect_stop(t, r, "spine0", 8);
    expect_stop(t, r, "leaf0", 0);
    expect_edge(t, r, "leaf0", "spine0", 4, 1);
    rlt_reduction_free(r);

    /* A switch that refused. */
    uint8_t barred[11] = {0};
    barred[node(t, "spine0")] = 1;
    q.place = RLT_ADD_ALL;
    q.barred = barred;
    r = map(&q);
    assert_int_equal(r->stops[0].node, node(t, "leaf0"));
    rlt_reduction_free(r);
    rlt_topology_free(t);
}

/* A leaf that cannot add forwards every contribution of its hosts, and every copy unless it can replicate. */
static void test_dumb_leaf(void **state)
{
    (void)state;
    for (int can = 0; can < 2; can++) {
        rlt_topology *t = test_leaves_build(&(test_leaves){.workers = 8,
                                                           .leaves = 2,
                                                           .spines = 1,
                                                           .leaf_can = BOTH,
                                                           .spine_can = BOTH,
                                                           .odd_can = can ? "multicast" : ""});
        rlt_reduction_request q = request(t, 8);
        rlt_reduction *r = map(&q);
        expect_stop(t, r, "spine0", 5);
        expect_stop(t, r, "leaf0", 4);
        expect_edge(t, r, "leaf0", "spine0", 1, 1);
        expect_edge(t, r, "leaf1", "spine0", 4, can ? 1 : 4);
        expect_edge(t, r, "w1", "leaf1", 1, 1);
        assert_int_equal(r->n_stops, can ? 3 : 2);
        assert_true(r->busiest > 3.19e-10 && r->busiest < 3.21e-10); /* 4 / 12.5 GB/s */
        rlt_reduction_free(r);
        rlt_topology_free(t);
    }
    rlt_topology *t = test_leaves_build(&(test_leaves){.workers = 4, .leaf_can = "multicast"});
    rlt_reduction *r;
    rlt_error err = {0};
    rlt_reduction_request q = request(t, 4);
    assert_int_equal(rlt_reduction_create(&q, &r, &err), RLT_ETOPOLOGY);
    assert_non_null(strstr(err.what, "in_network"));
    rlt_topology_free(t);
}

/* Trees that know each other's load take different spines. */
static void test_several(void **state)
{
    (void)state;
    rlt_topology *t = test_leaves_build(
        &(test_leaves){.workers = 8, .leaves = 2, .spines = 2, .leaf_can = BOTH, .spine_can = BOTH});
    uint32_t *load = calloc(rlt_topology_links(t), sizeof *load), roots[4];
    assert_non_null(load);
    for (uint32_t k = 0; k < 4; k++) {
        rlt_reduction_request q = request(t, 8);
        q.load = load;
        q.place = RLT_ADD_SPINE;
        rlt_reduction *r = map(&q);
        roots[k] = r->stops[0].node;
        rlt_reduction_load(r, load);
        rlt_reduction_free(r);
    }
    assert_int_equal(roots[0], node(t, "spine0"));
    assert_int_equal(roots[1], node(t, "spine1"));
    assert_int_equal(roots[2], node(t, "spine0"));
    assert_int_equal(roots[3], node(t, "spine1"));
    free(load);
    rlt_topology_free(t);
}

static void test_products(void **state)
{
    (void)state;
    rlt_topology *t = NULL;
    rlt_error err = {0};
    assert_int_equal(rlt_topology_load("fat-tree:16@50GB/s,500ns,levels=2,hosts_per_leaf=4,spines=2,"
                                       "in_network=" BOTH,
                                       NULL, &t, &err),
                     0);
    rlt_reduction_request q = request(t, 16);
    rlt_reduction *r = map(&q);
    assert_int_equal(r->n_stops, 5);
    assert_int_equal(r->stops[0].need, 4);
    assert_int_equal(r->levels, 2);
    rlt_reduction_free(r);
    q = request(t, 4); /* all below one leaf */
    r = map(&q);
    assert_int_equal(r->n_stops, 1);
    assert_int_equal(r->depth, 1);
    rlt_reduction_free(r);
    rlt_topology_free(t);

    /* Two dimensions: accelerators do not relay, so no switch reaches all of them. */
    assert_int_equal(rlt_topology_load("switch:4@50GB/s,500ns,in_network=" BOTH
                                       "*switch:2@50GB/s,500ns,in_network=" BOTH,
                                       NULL, &t, &err),
                     0);
    q = request(t, 8);
    assert_int_equal(rlt_reduction_create(&q, &r, &err), RLT_ETOPOLOGY);
    q = request(t, 4);
    r = map(&q);
    assert_int_equal(r->stops[0].need, 4);
    rlt_reduction_free(r);
    rlt_topology_free(t);
}

static void expect_refused(const rlt_reduction_request *q, int code, const char *what)
{
    rlt_reduction *r = NULL;
    rlt_error err = {0};
    assert_int_equal(rlt_reduction_create(q, &r, &err), code);
    assert_string_equal(err.what, what);
    assert_string_equal(err.where, "aggregation tree");
    assert_null(r);
}

static rlt_topology *net(const char *text)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    if (rlt_topology_load(text, NULL, &t, &err))
        fail_msg("%s: %s", err.where, err.what);
    return t;
}

#define HOST(i)     "{\"id\":\"w" i "\",\"kind\":\"accelerator\"},"
#define ADDER(name) "{\"id\":\"" name "\",\"kind\":\"switch\",\"in_network\":\"reduce+multicast\"}"
#define CABLE(a, b) "{\"src\":\"" a "\",\"dst\":\"" b "\",\"bandwidth\":\"10GB/s\",\"latency\":\"1us\"}"
#define ONEWAY(a, b)                                                                                         \
    "{\"src\":\"" a "\",\"dst\":\"" b "\",\"bandwidth\":\"10GB/s\",\"latency\":\"1us\",\"duplex\":false}"

static void test_refusals(void **state)
{
    (void)state;
    rlt_topology *t = test_leaves_build(
        &(test_leaves){.workers = 8, .leaves = 2, .spines = 1, .leaf_can = BOTH, .spine_can = ""});
    char what[256];
    rlt_reduction_request q = request(t, 0);
    expect_refused(&q, RLT_ERANGE, "expected 1 to 8 members, got 0");
    q.n = 9;
    expect_refused(&q, RLT_ERANGE, "expected 1 to 8 members, got 9");
    q.n = 8;
    q.place = RLT_ADD_SPINE;
    snprintf(what, sizeof what, "no switch of '%s' away from the accelerators can add up: see in_network",
             rlt_topology_name(t));
    expect_refused(&q, RLT_ETOPOLOGY, what);
    q.place = RLT_ADD_ALL;
    q.width = 4; /* the root has five contributions: four of its own, and the other leaf's */
    snprintf(what, sizeof what, "every tree in '%s' has a switch with more than 4 contributions to add",
             rlt_topology_name(t));
    expect_refused(&q, RLT_ETOPOLOGY, what);
    q.width = 5;
    rlt_reduction_free(map(&q));
    q.width = 0;
    q.root = node(t, "spine0");
    snprintf(what, sizeof what, "no switch of '%s' can add up: see in_network", rlt_topology_name(t));
    expect_refused(&q, RLT_ETOPOLOGY, what);
    rlt_topology_free(t);
    t = test_leaves_build(
        &(test_leaves){.workers = 4, .leaves = 2, .spines = 1, .leaf_can = "", .spine_can = BOTH});
    q = request(t, 4);
    q.place = RLT_ADD_TOR;
    snprintf(what, sizeof what, "no switch of '%s' next to an accelerator can add up: see in_network",
             rlt_topology_name(t));
    expect_refused(&q, RLT_ETOPOLOGY, what);
    assert_int_equal(rlt_reduction_prime(t, NULL), 0);
    rlt_topology_free(t);
    /* A link without a way back is none; a server has to be reached, too. */
    t = net("{\"name\":\"odd\",\"nodes\":[" HOST("0") HOST("1")
                ADDER("a") ",{\"id\":\"b\",\"kind\":\"switch\"}],\"links\":[" CABLE("w0", "a") "," CABLE(
                    "w1", "b") "," ONEWAY("w1", "a") "," ONEWAY("a", "b") "," ONEWAY("b", "w0") "]}");
    q = request(t, 2);
    static const char unreached[] =
        "no switch of 'odd' that can add up reaches all 2 members by links of its own: combine "
        "it with another algorithm by dimension";
    expect_refused(&q, RLT_ETOPOLOGY, unreached);
    q = request(t, 1);
    rlt_reduction_free(map(&q));
    static const uint32_t server = 1;
    q.n_servers = 1;
    q.servers = &server;
    expect_refused(&q, RLT_ETOPOLOGY,
                   "no switch of 'odd' that can add up reaches all 1 members by links of its own: combine "
                   "it with another algorithm by dimension");
    assert_int_equal(rlt_reduction_prime(t, NULL), 0);
    rlt_topology_free(t);
}

/* Of roots that are as good: the nearest to the farthest member, then that of fewest edges, then the first. */
static void test_ties(void **state)
{
    (void)state;
    /* Chain w0 - a - b - c - w1: every adder has the same load; b is nearest to both. */
    rlt_topology *t =
        net("{\"nodes\":[" HOST("0") HOST("1") ADDER("a") "," ADDER("b") "," ADDER("c") "],\"links\":[" CABLE(
            "w0", "a") "," CABLE("a", "b") "," CABLE("b", "c") "," CABLE("c", "w1") "]}");
    rlt_reduction_request q = request(t, 2);
    rlt_reduction *r = map(&q);
    assert_int_equal(r->stops[0].node, node(t, "b"));
    assert_int_equal(r->depth, 2);
    assert_int_equal(r->n_edges, 4);
    assert_int_equal(r->n_stops, 1);
    rlt_reduction_free(r);
    q.n = 1; /* next to w0 */
    r = map(&q);
    assert_int_equal(r->stops[0].node, node(t, "a"));
    assert_int_equal(r->n_edges, 1);
    rlt_reduction_free(r);
    q.n = 2;
    q.root = node(t, "c");
    r = map(&q);
    assert_int_equal(r->depth, 3);
    assert_int_equal(r->levels, 1);
    rlt_reduction_free(r);
    rlt_topology_free(t);
    /* A way of five links, from the far end of a chain. */
    t = net(
        "{\"nodes\":[" HOST("0") HOST("1")
            ADDER("a") "," ADDER("b") "," ADDER("c") "," ADDER("d") "," ADDER("e") "],\"links\":[" CABLE(
                "w0", "a") "," CABLE("a",
                                     "b") "," CABLE("b",
                                                    "c") "," CABLE("c",
                                                                   "d") "," CABLE("d",
                                                                                  "e") "," CABLE("e",
                                                                                                 "w1") "]}");
    q = request(t, 2);
    q.root = node(t, "e");
    r = map(&q);
    assert_int_equal(r->depth, 5);
    rlt_reduction_free(r);
    rlt_topology_free(t);
    /* Three leaves of two members, three spines. */
    t = test_leaves_build(
        &(test_leaves){.workers = 6, .leaves = 3, .spines = 3, .leaf_can = BOTH, .spine_can = BOTH});
    q = request(t, 6);
    r = map(&q);
    assert_int_equal(r->stops[0].node, node(t, "spine0")); /* the first of three alike */
    assert_int_equal(r->n_stops, 4);
    assert_int_equal(r->levels, 2);
    assert_int_equal(r->n_edges, 9);
    rlt_reduction_free(r);
    uint8_t barred[12] = {0};
    barred[node(t, "spine0")] = 1;
    q.barred = barred;
    r = map(&q);
    assert_int_equal(r->stops[0].node, node(t, "spine1"));
    rlt_reduction_free(r);
    /* Seeds of the choice spread the ways to a leaf as root over all spines. */
    uint32_t seen = 0;
    q.barred = NULL;
    q.root = node(t, "leaf0");
    for (uint64_t seed = 1; seed < 40; seed++) {
        q.spread = seed;
        r = map(&q);
        for (uint32_t i = 0; i < r->n_edges; i++)
            for (uint32_t k = 0; k < 3; k++) {
                char name[8];
                snprintf(name, sizeof name, "spine%u", k);
                rlt_link l = rlt_topology_link(t, r->edges[i].up);
                seen |= l.src == node(t, name) ? 1u << k : 0;
            }
        rlt_reduction_free(r);
    }
    assert_int_equal(seen, 7);
    q.spread = 0; /* the lowest links: all over the first spine */
    r = map(&q);
    assert_int_equal(r->n_edges, 9);
    expect_edge(t, r, "leaf1", "spine0", 1, 1);
    expect_edge(t, r, "leaf2", "spine0", 1, 1);
    expect_edge(t, r, "spine0", "leaf0", 1, 1);
    rlt_reduction_free(r);
    rlt_topology_free(t);
}

static rlt_topology *random_network(uint64_t seed, uint32_t *workers)
{
    static const char *const cans[] = {"", "reduce", "multicast", BOTH};
    static const char *const rates[] = {"10GB/s", "25GB/s", "100GB/s"};
    static const uint32_t below[8] = {20, 5, 3, 4, 4, 4, 3, 3};
    uint32_t d[8];
    for (uint32_t i = 0; i < 8; i++)
        d[i] = (uint32_t)rlt_random_below(seed, 1, 1, i, below[i]);
    *workers = 2 + d[0];
    return test_leaves_build(&(test_leaves){.workers = *workers,
                                            .leaves = d[1],
                                            .spines = 1 + d[2],
                                            .leaf_can = cans[d[3]],
                                            .spine_can = cans[d[4]],
                                            .odd_can = cans[d[5]],
                                            .bandwidth = rates[d[6]],
                                            .uplink = rates[d[7]]});
}

static void test_random(void **state)
{
    (void)state;
    uint32_t mapped = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        uint32_t workers;
        rlt_topology *t = random_network(seed, &workers);
        rlt_reduction_request q = request(t, workers > 3 ? workers - 1 : workers);
        const uint32_t server = workers - 1;
        rlt_reduction *r = NULL;
        q.place = (rlt_add_place)(seed % 3);
        q.spread = seed % 2 ? seed : 0;
        if (q.n < workers) {
            q.n_servers = 1;
            q.servers = &server;
        }
        int rc = rlt_reduction_create(&q, &r, NULL);
        assert_true(rc == 0 || rc == RLT_ETOPOLOGY);
        if (!rc) {
            mapped++;
            check(&q, r);
            /* No other root is better. */
            for (uint32_t v = 0; v < rlt_topology_nodes(t); v++) {
                rlt_reduction *other = NULL;
                q.root = v;
                if (rlt_reduction_create(&q, &other, NULL) == 0) {
                    check(&q, other);
                    assert_true(other->busiest >= r->busiest);
                }
                rlt_reduction_free(other);
            }
        }
        rlt_reduction_free(r);
        rlt_topology_free(t);
    }
    assert_true(mapped > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_star),     cmocka_unit_test(test_two_leaves), cmocka_unit_test(test_dumb_leaf),
        cmocka_unit_test(test_several),  cmocka_unit_test(test_products),   cmocka_unit_test(test_random),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_ties),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
