/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Topologies compared with counts, degrees, cuts and distances by formula, and refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/import/read.h"
#include "net/shapes/factor.h"
#include "net/shapes/shapes.h"
#include "net/topology/build.h"
#include "net/topology/graph.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "test/support/networks/small_graph.h"

static const uint64_t GB = 1000000000u;

static rlt_topology *load(const char *spec)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    if (rlt_topology_from_compact(spec, NULL, &t, &err) != 0)
        fail_msg("%s: %s: %s", spec, err.where, err.what);
    return t;
}

static int refused(const char *spec, rlt_error *err)
{
    rlt_topology *t = NULL;
    *err = (rlt_error){0};
    int rc = rlt_topology_from_compact(spec, NULL, &t, err);
    assert_null(t);
    assert_int_equal(rc, err->code);
    return rc;
}

/* Returns all links as arrays; the caller frees both. */
static rlt_edges edges_of(const rlt_topology *t, uint32_t **src, uint32_t **dst)
{
    uint32_t n = rlt_topology_links(t);
    *src = calloc(n + 1, sizeof **src);
    *dst = calloc(n + 1, sizeof **dst);
    for (uint32_t i = 0; i < n; i++) {
        rlt_link l = rlt_topology_link(t, i);
        (*src)[i] = l.src;
        (*dst)[i] = l.dst;
    }
    return (rlt_edges){.n_nodes = rlt_topology_nodes(t), .n_edges = n, .src = *src, .dst = *dst};
}

static uint32_t longest_distance(const rlt_topology *t)
{
    uint32_t *src, *dst, n = rlt_topology_accelerators(t), longest = 0;
    rlt_edges g = edges_of(t, &src, &dst);
    uint32_t *all = calloc(n, sizeof *all), *distance = calloc((size_t)n * n, sizeof *distance);
    for (uint32_t i = 0; i < n; i++)
        all[i] = i;
    assert_int_equal(rlt_graph_distances(&g, all, n, all, n, distance, NULL), 0);
    for (size_t i = 0; i < (size_t)n * n; i++)
        longest = distance[i] > longest ? distance[i] : longest;
    free(distance);
    free(all);
    free(dst);
    free(src);
    return longest;
}

/* Checks that every link has a partner in the other direction, and that the bandwidth out of an accelerator
 * is as stated. */
static void check_links(const rlt_topology *t)
{
    uint32_t nodes = rlt_topology_nodes(t), *src, *dst, components;
    int64_t *balance = calloc(nodes, sizeof *balance);
    uint64_t *egress = calloc(nodes, sizeof *egress), *ingress = calloc(nodes, sizeof *ingress), pairs = 0;
    rlt_edges g = edges_of(t, &src, &dst);
    for (uint32_t i = 0; i < g.n_edges; i++) {
        rlt_link l = rlt_topology_link(t, i);
        assert_true(l.src < nodes && l.dst < nodes && l.src != l.dst && l.bw_Bps > 0);
        balance[l.src]++;
        balance[l.dst]--;
        egress[l.src] += l.bw_Bps;
        ingress[l.dst] += l.bw_Bps;
        /* mix is odd under reversal of (src, dst), so the sum over all links is 0 if every link has a
         * partner. */
        uint64_t x = (uint64_t)l.src << 32 | l.dst, y = (uint64_t)l.dst << 32 | l.src;
        pairs += x * x * 0x9e3779b97f4a7c15u - y * y * 0x9e3779b97f4a7c15u;
    }
    assert_int_equal(pairs, 0);
    for (uint32_t v = 0; v < nodes; v++)
        assert_int_equal(balance[v], 0);
    for (uint32_t a = 0; a < rlt_topology_accelerators(t); a++) {
        assert_int_equal(rlt_topology_egress_Bps(t, a), egress[a]);
        assert_int_equal(rlt_topology_ingress_Bps(t, a), ingress[a]);
    }
    uint32_t *component = calloc(nodes, sizeof *component);
    assert_int_equal(rlt_graph_components(&g, component, &components, NULL), 0);
    assert_int_equal(components, 1);
    free(component);
    free(dst);
    free(src);
    free(ingress);
    free(egress);
    free(balance);
}

/* Counts by formula: accelerators, switches, directed links, and the longest route. */
static const struct {
    const char *spec;
    uint32_t n, switches, links, hops;
    uint64_t egress_GBps;
    rlt_time diameter_ns;
} shapes[] = {
    {"ring:1@100GB/s,10ns", 1, 0, 0, 0, 0, 0},
    {"ring:2@100GB/s,10ns", 2, 0, 4, 1, 100, 10},
    {"ring:7@100GB/s,10ns", 7, 0, 14, 3, 100, 30},
    {"ring:8@100GB/s,10ns", 8, 0, 16, 4, 100, 40},
    {"fully-connected:6@100GB/s,10ns", 6, 0, 6 * 5, 1, 100, 10},
    {"switch:9@100GB/s,10ns", 9, 1, 18, 2, 100, 20},
    {"torus:64@120GB/s,10ns,sizes=4x4x4", 64, 0, 64 * 6, 6, 120, 60},
    {"torus:30@120GB/s,10ns,sizes=2x3x5", 30, 0, 30 * 6, 1 + 1 + 2, 120, 40},
    {"torus:5@120GB/s,10ns", 5, 0, 10, 2, 120, 20},
    {"fat-tree:16@100GB/s,10ns,hosts_per_leaf=4", 16, 4 + 4, 2 * (16 + 4 * 4), 4, 100, 40},
    {"fat-tree:64@100GB/s,10ns,hosts_per_leaf=8,oversubscription=2", 64, 8 + 4, 2 * (64 + 8 * 4), 4, 100, 40},
    {"fat-tree:24@100GB/s,10ns,hosts_per_leaf=8,spines=3", 24, 3 + 3, 2 * (24 + 3 * 3), 4, 100, 40},
    /* Al-Fares: k-ary fat tree with k = 4: 5k^2/4 switches, 3k^3/4 cables. */
    {"fat-tree:16@100GB/s,10ns,levels=3,hosts_per_leaf=2,leaves_per_pod=2", 16, 20, 2 * 48, 6, 100, 60},
    {"fat-tree:64@100GB/s,10ns,levels=3,hosts_per_leaf=4", 64, 16 + 16 + 16, 2 * 3 * 64, 6, 100, 60},
    /* Kim et al.: p = 2, a = 4, h = 2, g = ah + 1 = 9. */
    {"dragonfly:72@100GB/s,10ns,groups=9,routers=4,hosts=2,global=2", 72, 36, 2 * 72 + 36 * 3 + 9 * 8, 5, 100,
     50},
    {"dragonfly:72@100GB/s,10ns,groups=9,routers=4,arrangement=absolute", 72, 36, 324, 5, 100, 50},
    {"dragonfly:24@100GB/s,10ns,groups=3,routers=4,global=2", 24, 12, 48 + 12 * 3 + 3 * 2 * 4, 5, 100, 50},
    {"rail-optimised:32@100GB/s,10ns,gpus_per_node=4,nvlink_bandwidth=300GB/s,nodes_per_leaf=4", 32,
     8 + 8 + 4, 4 * 32 + 2 * 8 * 4, 4, 400, 40},
    {"rail-optimised:32@100GB/s,10ns,gpus_per_node=4,nvlink_bandwidth=300GB/"
     "s,nvlink_latency=50ns,oversubscription=2",
     32, 8 + 4 + 4, 4 * 32 + 2 * 4 * 4, 4, 400, 100},
    {"ring:4@100GB/s,10ns*switch:3@50GB/s,20ns", 12, 4, 3 * 8 + 4 * 6, 2 + 2, 150, 20 + 40},
    {"fully-connected:4@90GB/s,10ns*fat-tree:4@50GB/s,20ns,hosts_per_leaf=2*ring:3@10GB/s,1ns", 48, 12 * 4,
     12 * 12 + 12 * 16 + 16 * 6, 1 + 4 + 1, 150, 10 + 80 + 1},
};

static void counts_degrees_distances(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        rlt_topology *t = load(shapes[i].spec);
        rlt_topology_facts facts;
        assert_int_equal(rlt_topology_accelerators(t), shapes[i].n);
        assert_int_equal(rlt_topology_nodes(t), shapes[i].n + shapes[i].switches);
        assert_int_equal(rlt_topology_links(t), shapes[i].links);
        check_links(t);
        assert_int_equal(rlt_topology_analyse(t, &facts, NULL), 0);
        assert_int_equal(facts.diameter_hops, shapes[i].hops);
        assert_int_equal(facts.diameter_ps, shapes[i].diameter_ns * RLT_NS);
        assert_int_equal(facts.min_egress_Bps, shapes[i].egress_GBps * GB);
        assert_int_equal(facts.max_egress_Bps, shapes[i].egress_GBps * GB);
        /* Minimal routing in a dragonfly uses one global cable, so a shorter route may exist. */
        if (!strstr(shapes[i].spec, "dragonfly"))
            assert_int_equal(longest_distance(t), shapes[i].hops);
        rlt_topology_free(t);
    }
}

static void mesh_lacks_its_border(void **state)
{
    (void)state;
    rlt_topology *t = load("mesh:12@120GB/s,10ns,sizes=4x3");
    rlt_topology_facts facts;
    assert_int_equal(rlt_topology_links(t), 2 * 3 * 3 + 2 * 2 * 4);
    check_links(t);
    assert_int_equal(longest_distance(t), 3 + 2);
    assert_int_equal(rlt_topology_analyse(t, &facts, NULL), 0);
    assert_int_equal(facts.diameter_hops, 5);
    assert_int_equal(facts.min_egress_Bps, 2 * 30 * GB); /* a corner */
    assert_int_equal(facts.max_egress_Bps, 4 * 30 * GB);
    assert_int_equal(rlt_topology_dim(t, 0).bw_Bps, 0);
    rlt_topology_free(t);
}

static void bandwidth_is_shared_over_links(void **state)
{
    (void)state;
    const struct {
        const char *spec;
        uint64_t link_Bps, dim_Bps;
    } cases[] = {
        {"ring:4@200GB/s,0", 100 * GB, 200 * GB},
        {"ring:2@200GB/s,0", 100 * GB, 200 * GB},
        {"fully-connected:5@200GB/s,0", 50 * GB, 200 * GB},
        {"switch:5@200GB/s,0", 200 * GB, 200 * GB},
        {"torus:27@600GB/s,0,sizes=3x3x3", 100 * GB, 600 * GB},
        {"mesh:9@200GB/s,0,sizes=3x3", 50 * GB, 0},
        {"fat-tree:8@200GB/s,0,hosts_per_leaf=2", 200 * GB, 200 * GB},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rlt_topology *t = load(cases[i].spec);
        for (uint32_t k = 0; k < rlt_topology_links(t); k++)
            assert_int_equal(rlt_topology_link(t, k).bw_Bps, cases[i].link_Bps);
        assert_int_equal(rlt_topology_dim(t, 0).bw_Bps, cases[i].dim_Bps);
        rlt_topology_free(t);
    }
    rlt_dim_spec dim = {.shape = "fully-connected", .size = 5, .link_bw_Bps = 25 * GB};
    rlt_topology_spec spec = {.name = "own", .n_dims = 1, .dims = &dim};
    rlt_topology *t;
    assert_int_equal(rlt_topology_build(&spec, &t, NULL), 0);
    assert_int_equal(rlt_topology_link(t, 7).bw_Bps, 25 * GB);
    assert_int_equal(rlt_topology_dim(t, 0).bw_Bps, 4 * 25 * GB);
    rlt_topology_free(t);
}

static void product_coordinates_and_names(void **state)
{
    (void)state;
    const uint32_t size[3] = {4, 3, 2};
    rlt_topology *t = load("ring:4@100GB/s,10ns*switch:3@50GB/s,20ns*fat-tree:2@25GB/s,5ns,hosts_per_leaf=1");
    uint32_t per_dim[3] = {0};
    for (uint32_t i = 0; i < rlt_topology_links(t); i++) {
        rlt_link l = rlt_topology_link(t, i);
        per_dim[l.dim]++;
        if (l.src >= 24 || l.dst >= 24)
            continue;
        /* A link changes only the coordinate of its own dimension. */
        for (uint32_t d = 0, a = l.src, b = l.dst; d < 3; a /= size[d], b /= size[d], d++)
            assert_int_equal(a % size[d] != b % size[d], d == l.dim);
    }
    assert_int_equal(per_dim[0], 6 * 8);
    assert_int_equal(per_dim[1], 8 * 6);
    assert_int_equal(per_dim[2], 12 * 2 * (2 + 2));
    for (uint32_t v = 0; v < rlt_topology_nodes(t); v++) {
        char name[32];
        rlt_topology_node_name(t, v, name, sizeof name);
        assert_int_equal(rlt_topology_find_node(t, name), v);
        assert_int_equal(rlt_topology_node_kind(t, v), v < 24 ? RLT_ACCELERATOR : RLT_SWITCH);
    }
    char name[32];
    assert_string_equal(rlt_topology_node_name(t, 24, name, sizeof name), "sw1.0.0");
    assert_string_equal(rlt_topology_node_name(t, 24 + 8, name, sizeof name), "sw2.0.0");
    static const char *const absent[] = {"acc24",
                                         "acc",
                                         "acc01",
                                         "acc09",
                                         "acc-1",
                                         "sw0.0.0",
                                         "sw1.8.0",
                                         "sw1.0.1",
                                         "sw3.0.0",
                                         "sw1.0.0x",
                                         "acc99999999999999999999",
                                         "",
                                         "x"};
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++)
        assert_int_equal(rlt_topology_find_node(t, absent[i]), RLT_NONE);
    rlt_topology_free(t);
}

static void bisection_by_min_cut(void **state)
{
    (void)state;
    const struct {
        const char *spec;
        uint64_t GBps;
    } cases[] = {
        {"ring:8@200GB/s,0", 2 * 100},
        {"fully-connected:6@50GB/s,0", 3 * 3 * 10},
        {"torus:64@600GB/s,0,sizes=4x4x4", 2 * 16 * 100},
        {"mesh:64@600GB/s,0,sizes=4x4x4", 16 * 100},
        {"switch:8@50GB/s,0", 4 * 50},
        {"fat-tree:16@50GB/s,0,hosts_per_leaf=4", 8 * 50},
        {"fat-tree:16@50GB/s,0,hosts_per_leaf=4,oversubscription=2", 2 * 2 * 50},
        {"ring:4@100GB/s,0*ring:8@20GB/s,0", 4 * 2 * 10},
        {"ring:1@100GB/s,0", 0},
        /* Cuts across the longest sub-dimension: eight rings of 2 x 100/6 GB/s; and across the slower
         * dimension. */
        {"torus:32@600GB/s,0,sizes=4x4x2", 8 * 2 * 100},
        {"torus:32@600GB/s,0,sizes=2x4x4", 8 * 2 * 100},
        {"ring:8@20GB/s,0*ring:4@100GB/s,0", 4 * 2 * 10},
        {"mesh:12@40GB/s,0,sizes=4x3", 3 * 10},
        {"switch:3@50GB/s,0*switch:4@20GB/s,0", 6 * 20},
        {"ring:2097152@200GB/s,0", 2 * 100}, /* 2^22 links; more are not counted */
        {"ring:2097153@200GB/s,0", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rlt_topology *t = load(cases[i].spec);
        rlt_topology_facts facts;
        assert_int_equal(rlt_topology_analyse(t, &facts, NULL), 0);
        assert_int_equal(facts.bisection_Bps, cases[i].GBps * GB);
        rlt_topology_free(t);
    }
}

static void a_million_ranks_cost_nothing(void **state)
{
    (void)state;
    rlt_topology *t = load("ring:1000000@100GB/s,500ns");
    assert_int_equal(rlt_topology_links(t), 2000000);
    rlt_link last = rlt_topology_link(t, 2 * 999999);
    assert_int_equal(last.src, 999999);
    assert_int_equal(last.dst, 0);
    rlt_topology_free(t);
}

static void impossible_products_are_refused(void **state)
{
    (void)state;
    const struct {
        const char *spec, *says;
        int code;
    } cases[] = {
        {"ring:16777216@1GB/s,1ns*ring:2@1GB/s,1ns", "16777216 accelerators", RLT_ERANGE},
        {"ring:65536@1GB/s,0*ring:65536@1GB/s,0*ring:65536@1GB/s,0", "16777216 accelerators", RLT_ERANGE},
        {"fully-connected:100000@100GB/s,1ns", "links", RLT_ERANGE},
        /* n (n - 1) is 111214 modulo 2^32. */
        {"fully-connected:92683@100GB/s,1ns", "links", RLT_ERANGE},
        {"fully-connected:1024@100GB/s,0*ring:1024@1GB/s,0", "links", RLT_ERANGE},
        {"ring:8@1B/s,1ns", "less than 1 B/s", RLT_ERANGE},
        {"hypercube:8@1GB/s,1ns", "unknown shape", RLT_ESCHEMA},
        {"ring:8@1GB/s,1ns,radix=3", "radix: unknown setting; shape ring has none", RLT_ESCHEMA},
        {"fat-tree:8@1GB/s,1ns,level=3", "level: unknown setting of shape fat-tree; did you mean 'levels'?",
         RLT_ESCHEMA},
        {"ring:8@1GB/s,1ns,in_network=reduce", "a ring has no switches", RLT_ESCHEMA},
        {"switch:8@1GB/s,1ns,in_network=add", "in_network: expected one of none, reduce", RLT_ESCHEMA},
        {"torus:16@1GB/s,1ns,sizes=4x4,sizes=4x4", "'sizes' is given twice", RLT_ESCHEMA},
        {"torus:12@1GB/s,1ns,sizes=4x4", "do not multiply", RLT_ESCHEMA},
        {"torus:12@1GB/s,1ns,sizes=12x1", "sizes: expected one to 6 numbers", RLT_ESCHEMA},
        {"torus:12@1GB/s,1ns,sizes=4x", "sizes: expected one to 6 numbers", RLT_ESCHEMA},
        {"fat-tree:12@1GB/s,1ns,hosts_per_leaf=5", "does not divide", RLT_ESCHEMA},
        {"fat-tree:16@1GB/s,1ns,hosts_per_leaf=4,oversubscription=3", "does not divide", RLT_ESCHEMA},
        {"fat-tree:16@1GB/s,1ns,levels=4", "levels: expected 2 to 3, got '4'", RLT_ESCHEMA},
        {"fat-tree:16@1GB/s,1ns,hosts_per_leaf=1,spines=16777216", "links", RLT_ERANGE},
        {"dragonfly:72@1GB/s,1ns,groups=9,routers=4,hosts=3", "is not size 72", RLT_ESCHEMA},
        {"dragonfly:72@1GB/s,1ns,groups=9,routers=4,global=1", "reach 4 of 8", RLT_ESCHEMA},
        {"rail-optimised:32@1GB/s,1ns,gpus_per_node=5,nvlink_bandwidth=2GB/s", "does not divide",
         RLT_ESCHEMA},
        {"rail-optimised:32@1GB/s,1ns", "needs gpus_per_node", RLT_ESCHEMA},
    };
    rlt_error err;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int rc = refused(cases[i].spec, &err);
        if (rc != cases[i].code || !strstr(err.what, cases[i].says))
            fail_msg("%s: %d %s", cases[i].spec, rc, err.what);
    }
    rlt_dim_spec dim = {.shape = "ring", .size = 4, .bw_Bps = 0, .where = "f.json:3:5: dims[0]"};
    rlt_topology_spec spec = {.name = "zero", .n_dims = 1, .dims = &dim};
    rlt_topology *t;
    err = (rlt_error){0};
    assert_int_equal(rlt_topology_build(&spec, &t, &err), RLT_ESCHEMA);
    assert_string_equal(err.where, "f.json:3:5: dims[0]");
    dim.bw_Bps = dim.link_bw_Bps = GB;
    assert_int_equal(rlt_topology_build(&spec, &t, NULL), RLT_ESCHEMA);
    dim.link_bw_Bps = 0;
    dim.latency_ps = RLT_TIME_MAX / 2;
    assert_int_equal(rlt_topology_build(&spec, &t, NULL), RLT_ERANGE);
    dim.latency_ps = 0;
    dim.size = 0;
    assert_int_equal(rlt_topology_build(&spec, &t, NULL), RLT_ERANGE);
    spec.n_dims = 0;
    assert_int_equal(rlt_topology_build(&spec, &t, NULL), RLT_ETOPOLOGY);
    assert_null(t);
}

static void graph_puts_accelerators_first(void **state)
{
    (void)state;
    static const char *const names[] = {"sw", "gpu0", "nic0", "gpu1", NULL};
    static const uint32_t pairs[][2] = {{1, 2}, {2, 0}, {3, 0}};
    static const uint32_t ring[] = {1, 0}, *const rings[] = {ring},
                          wrong[] = {1, 1}, *const wrongs[] = {wrong};
    test_small g = test_small_graph(names, pairs, 3);
    rlt_topology *t;
    rlt_error err;
    char name[32];
    g.spec.rings = rings;
    g.spec.n_rings = 1;
    assert_int_equal(test_small_build(&g, &t, &err), 0);
    assert_int_equal(rlt_topology_accelerators(t), 2);
    assert_string_equal(rlt_topology_node_name(t, 1, name, sizeof name), "gpu1");
    assert_int_equal(rlt_topology_find_node(t, "sw"), 2);
    assert_int_equal(rlt_topology_find_node(t, "nic0"), 3);
    assert_int_equal(rlt_topology_find_node(t, "acc0"), RLT_NONE);
    assert_int_equal(rlt_topology_node_kind(t, 3), RLT_NIC);
    assert_int_equal(rlt_topology_link(t, 2).src, 3);
    assert_int_equal(rlt_topology_link(t, 2).dst, 2);
    assert_int_equal(rlt_topology_egress_Bps(t, 0), GB);
    assert_int_equal(rlt_topology_ingress_Bps(t, 0), 2 * GB);
    assert_int_equal(rlt_topology_ring(t, 0)[0], 1);
    assert_null(rlt_topology_ring(t, 1));
    assert_int_equal(rlt_topology_dims(t), 1);
    assert_int_equal(rlt_topology_dim(t, 0).size, 2);
    rlt_topology_facts facts;
    assert_int_equal(rlt_topology_analyse(t, &facts, &err), 0);
    assert_int_equal(facts.diameter_hops, 3);
    assert_int_equal(facts.diameter_ps, 3000);
    assert_int_equal(facts.bisection_Bps, GB);
    rlt_topology_free(t);
    g.spec.rings = wrongs;
    assert_int_equal(test_small_build(&g, &t, &err), RLT_ESCHEMA);
}

static void impossible_graphs_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"gpu0", "gpu1", "gpu2", "sw", NULL};
    static const uint32_t chain[][2] = {{0, 1}, {1, 2}}, star[][2] = {{0, 3}, {1, 3}, {2, 3}};
    rlt_topology *t;
    rlt_error err;
    /* Accelerators relay only if the file says so. */
    test_small g = test_small_graph(names, chain, 2);
    assert_int_equal(test_small_build(&g, &t, &err), RLT_ETOPOLOGY);
    assert_non_null(strstr(err.what, "'gpu2'"));
    g.nodes[1].forwards = 1;
    assert_int_equal(test_small_build(&g, &t, &err), 0);
    rlt_topology_free(t);

    g = test_small_graph(names, star, 3);
    assert_int_equal(test_small_build(&g, &t, &err), 0);
    rlt_topology_free(t);
    g.nodes[3].forwards = 0;
    assert_int_equal(test_small_build(&g, &t, &err), RLT_ETOPOLOGY);
    g = test_small_graph(names, star, 2);
    assert_int_equal(test_small_build(&g, &t, &err), RLT_ETOPOLOGY);
    assert_non_null(strstr(err.what, "'gpu2'"));
    g = test_small_graph(names, star, 3); /* gpu2 cannot send */
    g.links[4].src = 0;
    assert_int_equal(test_small_build(&g, &t, &err), RLT_ETOPOLOGY);
    assert_non_null(strstr(err.what, "'gpu2'"));
    g = test_small_graph(names, star, 3); /* gpu2 cannot receive */
    g.links[5].dst = 0;
    assert_int_equal(test_small_build(&g, &t, &err), RLT_ETOPOLOGY);
    assert_non_null(strstr(err.what, "'gpu2'"));

    g = test_small_graph(names, star, 3);
    g.links[2].bw_Bps = 0;
    assert_int_equal(test_small_build(&g, &t, &err), RLT_ERANGE);
    g = test_small_graph(names, star, 3);
    g.links[2].latency_ps = -1;
    assert_int_equal(test_small_build(&g, &t, &err), RLT_ERANGE);
    g = test_small_graph(names, star, 3);
    g.links[2].dst = g.links[2].src;
    assert_int_equal(test_small_build(&g, &t, &err), RLT_ESCHEMA);
    g = test_small_graph(names, star, 3);
    g.links[2].dst = 4;
    assert_int_equal(test_small_build(&g, &t, &err), RLT_ESCHEMA);
    g = test_small_graph(names, star, 3);
    g.nodes[2].name = "gpu1";
    assert_int_equal(test_small_build(&g, &t, &err), RLT_ESCHEMA);
    g = test_small_graph(names, star, 3);
    uint32_t logical[2] = {2, 2}, via[1] = {2};
    g.spec.n_logical = 2;
    g.spec.logical = logical;
    assert_int_equal(test_small_build(&g, &t, &err), RLT_ESCHEMA);
    g = test_small_graph(names, star, 3);
    rlt_static_route route = {.src = 0, .dst = 1, .n = 1, .via = via, .where = "f.json:9:1"};
    g.spec.n_routes = 1;
    g.spec.routes = &route;
    assert_int_equal(test_small_build(&g, &t, &err), RLT_ETOPOLOGY);
    assert_string_equal(err.where, "f.json:9:1");
    for (int i = 0; i < 3; i++)
        g.nodes[i].kind = RLT_CPU;
    g.spec.n_routes = 0;
    assert_int_equal(test_small_build(&g, &t, &err), RLT_ETOPOLOGY);
    assert_non_null(strstr(err.what, "no accelerator"));
}

/* ---- links by name ---- */

/* Links of the ring of four: 2i leads from i to i + 1, 2i + 1 to i - 1. */
static void links_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *which, *links, *what;
    } cases[] = {
        {"0", "0 ", NULL},
        {"7", "7 ", NULL},
        {"8", NULL, "there are links 0 to 7"},
        {"acc1", "0 2 3 5 ", NULL},
        {"acc0->acc1", "0 ", NULL},
        {"acc0 -> acc1", "0 ", NULL},
        {"acc0  ->   acc1", "0 ", NULL},
        {"acc1->acc0", "3 ", NULL},
        {"acc0->acc2", NULL, "there is no such link"},
        {"acc4", NULL, ""},
        {"acc4->acc0", NULL, ""},
        {"acc0->acc4", NULL, ""},
        {"acc0->", NULL, ""},
        {"->acc0", NULL, ""},
        {"-1", NULL, ""},
    };
    rlt_topology *t = load("ring:4@100GB/s,10ns");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t *links, n;
        rlt_error err = {0};
        char text[64] = "";
        int rc = rlt_topology_find_links(t, cases[i].which, &links, &n, &err);
        for (uint32_t k = 0; k < n; k++)
            snprintf(text + strlen(text), 8, "%u ", links[k]);
        free(links);
        if (cases[i].links) {
            assert_int_equal(rc, 0);
            assert_string_equal(text, cases[i].links);
            continue;
        }
        assert_int_equal(rc, RLT_ERANGE);
        assert_int_equal(n, 0);
        assert_string_equal(err.where, cases[i].which);
        assert_string_equal(err.what,
                            cases[i].what[0]
                                ? cases[i].what
                                : "expected the number of a link, a node, or FROM->TO, as 'ringlet run "
                                  "--links --expand-links' lists them");
    }
    /* A name that no node can have. */
    char which[300];
    uint32_t *links, n;
    memset(which, ' ', sizeof which);
    memcpy(which, "acc0", 4);
    memcpy(which + 290, "->acc1", 7);
    assert_int_equal(rlt_topology_find_links(t, which, &links, &n, NULL), 0);
    free(links);
    memset(which, 'a', 290);
    assert_int_equal(rlt_topology_find_links(t, which, &links, &n, NULL), RLT_ERANGE);
    rlt_topology_free(t);
    t = load("switch:4@100GB/s,10ns*switch:2@10GB/s,10ns");
    assert_int_equal(rlt_topology_find_links(t, "sw0.1.0", &links, &n, NULL), 0);
    assert_int_equal(n, 8);
    for (uint32_t k = 0; k < n; k++)
        assert_int_equal(links[k], 8 + k);
    free(links);
    rlt_topology_free(t);
}

/* What one link loses, its accelerators lose; a product remembers what a link had, and a graph does not. */
static void links_are_scaled(void **state)
{
    (void)state;
    static const char *const names[] = {"gpu0", "gpu1", NULL};
    static const uint32_t pairs[][2] = {{0, 1}};
    rlt_topology *t = load("ring:4@100GB/s,10ns");
    rlt_error err = {0};
    uint64_t Bps;
    assert_true(rlt_topology_uniform_Bps(t, &Bps));
    assert_int_equal(rlt_topology_exchanges(t, 0), 0);
    assert_int_equal(rlt_topology_scale_links(t, "acc0->acc1", 0.5, &err), 0);
    assert_int_equal(rlt_topology_scale_links(t, "2", 0.1, &err), 0); /* 1 to 2 */
    assert_int_equal(rlt_topology_scale_links(t, "acc1->acc2", 0.5, &err), 0);
    static const uint64_t expected[8] = {25, 50, 0, 50, 50, 50, 50, 50}; /* GB/s; link 2: 2.5 */
    for (uint32_t k = 0; k < 8; k++)
        assert_int_equal(rlt_topology_link(t, k).bw_Bps, k == 2 ? 5 * GB / 2 : expected[k] * GB);
    static const uint64_t out[4] = {750, 525, 1000, 1000}, in[4] = {1000, 750, 525, 1000}; /* 0.1 GB/s */
    for (uint32_t a = 0; a < 4; a++) {
        assert_int_equal(rlt_topology_egress_Bps(t, a), out[a] * GB / 10);
        assert_int_equal(rlt_topology_ingress_Bps(t, a), in[a] * GB / 10);
    }
    assert_false(rlt_topology_uniform_Bps(t, &Bps));
    static const char range[] = "expected a factor above 0, at most 1e6";
    static const double factors[] = {0, -1, 1000000.5};
    for (size_t i = 0; i < 3; i++) {
        err = (rlt_error){0};
        assert_int_equal(rlt_topology_scale_links(t, "0", factors[i], &err), RLT_ERANGE);
        assert_string_equal(err.what, range);
        assert_string_equal(err.where, "0");
    }
    err = (rlt_error){0};
    assert_int_equal(rlt_topology_scale_links(t, "1", 20001, &err), RLT_ERANGE);
    assert_string_equal(err.what, "link 1 would be faster than 1 PB/s");
    assert_int_equal(rlt_topology_scale_links(t, "1", 20000, &err), 0);
    assert_int_equal(rlt_topology_scale_links(t, "1", 1e-30, NULL), 0);
    assert_int_equal(rlt_topology_link(t, 1).bw_Bps, 1);
    assert_int_equal(rlt_topology_scale_links(t, "1", 1e6, NULL), 0);
    assert_int_equal(rlt_topology_link(t, 1).bw_Bps, 1000000);
    rlt_topology_free(t);
    test_small g = test_small_graph(names, pairs, 1);
    assert_int_equal(test_small_build(&g, &t, &err), 0);
    assert_int_equal(rlt_topology_scale_links(t, "gpu1->gpu0", 0.25, NULL), 0);
    assert_int_equal(rlt_topology_scale_links(t, "1", 0.5, NULL), 0);
    assert_int_equal(rlt_topology_egress_Bps(t, 1), GB / 4);
    assert_int_equal(rlt_topology_ingress_Bps(t, 0), GB / 4);
    assert_int_equal(rlt_topology_egress_Bps(t, 0), GB);
    assert_false(rlt_topology_uniform_Bps(t, &Bps));
    rlt_topology_free(t);
}

static void same_counts(const rlt_topology *a, const rlt_topology *b)
{
    char name[64];
    assert_int_equal(rlt_topology_accelerators(a), rlt_topology_accelerators(b));
    assert_int_equal(rlt_topology_nodes(a), rlt_topology_nodes(b));
    assert_int_equal(rlt_topology_links(a), rlt_topology_links(b));
    assert_int_equal(rlt_topology_dims(a), rlt_topology_dims(b));
    for (uint32_t v = 0; v < rlt_topology_nodes(a); v++)
        assert_int_equal(rlt_topology_find_node(b, rlt_topology_node_name(a, v, name, sizeof name)), v);
    for (uint32_t i = 0; i < rlt_topology_links(a); i++) {
        rlt_link x = rlt_topology_link(a, i), y = rlt_topology_link(b, i);
        assert_true(x.src == y.src && x.dst == y.dst && x.bw_Bps == y.bw_Bps && x.latency_ps == y.latency_ps);
    }
}

static void written_topologies_read_back(void **state)
{
    (void)state;
    for (size_t i = 1; i < sizeof shapes / sizeof shapes[0]; i++) {
        rlt_topology *t = load(shapes[i].spec), *again = NULL;
        rlt_error err = {0};
        char *text;
        assert_int_equal(rlt_topology_export(t, "graphml", &text, &err), 0);
        if (rlt_topology_from_graphml("x.graphml", text, strlen(text), &again, &err) != 0)
            fail_msg("%s: %s", err.where, err.what);
        same_counts(t, again);
        rlt_topology_free(again);
        free(text);
        assert_int_equal(rlt_topology_export(t, "json", &text, &err), 0);
        if (rlt_topology_from_json("x.json", text, strlen(text), NULL, &again, &err) != 0)
            fail_msg("%s: %s", err.where, err.what);
        same_counts(t, again);
        rlt_topology_free(again);
        free(text);
        assert_int_equal(rlt_topology_export(t, "dot", &text, &err), 0);
        uint32_t arrows = 0;
        for (const char *p = text; (p = strstr(p, " -> ")) != NULL; p++)
            arrows++;
        assert_int_equal(arrows, shapes[i].links);
        free(text);
        assert_int_equal(rlt_topology_export(t, "svg", &text, &err), RLT_EUSAGE);
        rlt_topology_free(t);
    }
}

static void hash_tells_topologies_apart(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "ring:4@100GB/s,10ns",
        "ring:4@100GB/s,11ns",
        "ring:4@101GB/s,10ns",
        "ring:5@100GB/s,10ns",
        "switch:4@100GB/s,10ns",
        "torus:4@100GB/s,10ns,sizes=2x2",
        "ring:4@100GB/s,10ns*ring:1@100GB/s,10ns",
    };
    enum { N = sizeof specs / sizeof specs[0] };
    rlt_topology *t[N];
    for (int i = 0; i < N; i++)
        t[i] = load(specs[i]);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < i; k++)
            assert_true(rlt_topology_hash(t[i]) != rlt_topology_hash(t[k]));
    for (int i = 0; i < N; i++)
        rlt_topology_free(t[i]);
}

static void shapes_are_listed(void **state)
{
    (void)state;
    uint32_t n = 0;
    while (rlt_shape_list(n)) {
        assert_true(strlen(rlt_shape_list(n)->summary) > 10);
        for (const rlt_param *p = rlt_shape_list(n)->parameters; p && p->name; p++)
            assert_non_null(p->help);
        n++;
    }
    assert_int_equal(n, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_degrees_distances),
        cmocka_unit_test(mesh_lacks_its_border),
        cmocka_unit_test(bandwidth_is_shared_over_links),
        cmocka_unit_test(product_coordinates_and_names),
        cmocka_unit_test(bisection_by_min_cut),
        cmocka_unit_test(a_million_ranks_cost_nothing),
        cmocka_unit_test(impossible_products_are_refused),
        cmocka_unit_test(graph_puts_accelerators_first),
        cmocka_unit_test(impossible_graphs_are_refused),
        cmocka_unit_test(links_are_found),
        cmocka_unit_test(links_are_scaled),
        cmocka_unit_test(written_topologies_read_back),
        cmocka_unit_test(hash_tells_topologies_apart),
        cmocka_unit_test(shapes_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
