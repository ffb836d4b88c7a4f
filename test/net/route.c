/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Routes: connected walks of the right length in every shape, D-mod-k without contention, and routes in
 * graphs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/import/read.h"
#include "net/route.h"
#include "net/topology/build.h"
#include "net/topology/graph.h"
#include "net/topology/placement.h"
#include "net/topology/route_graph.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"

static const uint64_t GB = 1000000000u;

typedef struct bench {
    rlt_topology *t;
    rlt_placement *p; /* borrowed by the router, so its address must not change */
    rlt_router *r;
} bench;

static bench with(rlt_topology *t, rlt_placement p, rlt_routing routing)
{
    bench b = {.t = t, .p = malloc(sizeof p)};
    assert_non_null(b.p);
    *b.p = p;
    assert_int_equal(rlt_router_create(t, b.p, routing, &b.r, NULL), 0);
    return b;
}

static bench setup(const char *spec, rlt_routing routing)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    if (rlt_topology_from_compact(spec, NULL, &t, &err) != 0)
        fail_msg("%s: %s: %s", spec, err.where, err.what);
    return with(t, (rlt_placement){.n = rlt_topology_accelerators(t)}, routing);
}

static void teardown(bench *b)
{
    rlt_router_free(b->r);
    free(b->p);
    rlt_topology_free(b->t);
}

/* Checks that the path connects the two accelerators over existing links, and that its sums are right. */
static void check_walk(const rlt_topology *t, const rlt_path *path, uint32_t src, uint32_t dst)
{
    uint32_t at = src;
    rlt_time latency = 0;
    uint64_t bw = UINT64_MAX;
    for (uint32_t i = 0; i < path->n; i++) {
        assert_true(path->links[i] < rlt_topology_links(t));
        rlt_link l = rlt_topology_link(t, path->links[i]);
        assert_int_equal(l.src, at);
        at = l.dst;
        latency += l.latency_ps;
        bw = l.bw_Bps < bw ? l.bw_Bps : bw;
    }
    assert_int_equal(at, dst);
    assert_int_equal(path->latency_ps, latency);
    assert_int_equal(path->bw_Bps, bw);
}

/* Counts edges on shortest paths between all accelerators, by igraph on the whole graph. */
static uint32_t *shortest(const rlt_topology *t)
{
    uint32_t n = rlt_topology_accelerators(t), m = rlt_topology_links(t);
    uint32_t *src = calloc(m, sizeof *src), *dst = calloc(m, sizeof *dst), *all = calloc(n, sizeof *all);
    uint32_t *distance = calloc((size_t)n * n, sizeof *distance);
    for (uint32_t i = 0; i < m; i++) {
        src[i] = rlt_topology_link(t, i).src;
        dst[i] = rlt_topology_link(t, i).dst;
    }
    for (uint32_t i = 0; i < n; i++)
        all[i] = i;
    rlt_edges g = {.n_nodes = rlt_topology_nodes(t), .n_edges = m, .src = src, .dst = dst};
    assert_int_equal(rlt_graph_distances(&g, all, n, all, n, distance, NULL), 0);
    free(all);
    free(dst);
    free(src);
    return distance;
}

static const char *const minimal[] = {
    "ring:2@100GB/s,10ns",
    "ring:7@100GB/s,10ns",
    "ring:8@100GB/s,10ns",
    "fully-connected:6@100GB/s,10ns",
    "switch:9@100GB/s,10ns",
    "torus:64@120GB/s,10ns,sizes=4x4x4",
    "torus:30@120GB/s,10ns,sizes=2x3x5",
    "mesh:24@120GB/s,10ns,sizes=2x4x3",
    "mesh:6@120GB/s,10ns",
    "fat-tree:64@100GB/s,10ns,hosts_per_leaf=8,oversubscription=2",
    "fat-tree:16@100GB/s,10ns,levels=3,hosts_per_leaf=2,leaves_per_pod=2",
    "fat-tree:64@100GB/s,10ns,levels=3,hosts_per_leaf=4,cores=3",
    "rail-optimised:32@100GB/s,10ns,gpus_per_node=4,nvlink_bandwidth=300GB/s,nodes_per_leaf=4",
    "ring:4@100GB/s,10ns*switch:3@50GB/s,20ns",
    "switch:2@100GB/s,1ns*torus:12@60GB/s,2ns,sizes=4x3*fully-connected:3@10GB/s,3ns",
    "ring:3@100GB/s,1ns*fat-tree:4@50GB/s,2ns,hosts_per_leaf=2*mesh:4@20GB/s,3ns,sizes=2x2*switch:2@9GB/"
    "s,4ns",
    "ring:1@100GB/s,1ns*ring:5@50GB/s,2ns*switch:1@1GB/s,1ns",
    "rail-optimised:8@100GB/s,5ns,gpus_per_node=2,nvlink_bandwidth=300GB/s,nvlink_latency=1ns*ring:3@10GB/"
    "s,7ns",
};

static void every_route_is_a_shortest_walk(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof minimal / sizeof minimal[0]; k++)
        for (int routing = 0; routing < 3; routing++) {
            bench b = setup(minimal[k], (rlt_routing)routing);
            uint32_t *distance = shortest(b.t), n = b.p->n;
            for (uint32_t s = 0; s < n; s++)
                for (uint32_t d = 0; d < n; d++)
                    for (uint64_t key = 0; key < 3; key++) {
                        rlt_path path;
                        assert_int_equal(rlt_route(b.r, s, d, key, &path), 0);
                        check_walk(b.t, &path, s, d);
                        assert_int_equal(path.n, distance[s * n + d]);
                    }
            free(distance);
            teardown(&b);
        }
}

/* At most one global cable, and one local one on each side. Router indices are part of the switches' ids. */
static void dragonfly_routes_take_one_global_cable(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "dragonfly:72@100GB/s,10ns,groups=9,routers=4,hosts=2,global=2",
        "dragonfly:72@100GB/s,10ns,groups=9,routers=4,hosts=2,global=2,arrangement=absolute",
        "dragonfly:24@100GB/s,10ns,groups=3,routers=4,global=2",
        "dragonfly:6@100GB/s,10ns,groups=3,routers=1,global=2",
        "dragonfly:12@100GB/s,10ns,groups=1,routers=4",
    };
    const uint32_t routers[] = {4, 4, 4, 1, 4}, hosts[] = {2, 2, 2, 2, 3};
    for (size_t k = 0; k < sizeof specs / sizeof specs[0]; k++)
        for (int routing = 0; routing < 3; routing++) {
            bench b = setup(specs[k], (rlt_routing)routing);
            for (uint32_t s = 0; s < b.p->n; s++)
                for (uint32_t d = 0; d < b.p->n; d++) {
                    rlt_path path;
                    uint32_t global = 0, local = 0, per_group = routers[k] * hosts[k];
                    assert_int_equal(rlt_route(b.r, s, d, 1, &path), 0);
                    check_walk(b.t, &path, s, d);
                    for (uint32_t i = 1; i + 1 < path.n; i++) {
                        rlt_link l = rlt_topology_link(b.t, path.links[i]);
                        bool same = (l.src - b.p->n) / routers[k] == (l.dst - b.p->n) / routers[k];
                        global += !same;
                        local += same;
                    }
                    assert_int_equal(global, s / per_group != d / per_group);
                    assert_true(local <=
                                global + (s / per_group == d / per_group && s / hosts[k] != d / hosts[k]) +
                                    global);
                }
            teardown(&b);
        }
}

static uint32_t around(uint32_t a, uint32_t b, uint32_t n)
{
    uint32_t d = a > b ? a - b : b - a;
    return d < n - d ? d : n - d;
}

static void lengths_by_formula(void **state)
{
    (void)state;
    bench torus = setup("torus:60@120GB/s,10ns,sizes=4x3x5", RLT_ROUTE_DMODK);
    bench tree = setup("fat-tree:64@100GB/s,10ns,levels=3,hosts_per_leaf=4", RLT_ROUTE_DMODK);
    rlt_path path;
    for (uint32_t s = 0; s < 60; s++)
        for (uint32_t d = 0; d < 60; d++) {
            assert_int_equal(rlt_route(torus.r, s, d, 0, &path), 0);
            assert_int_equal(path.n, around(s % 4, d % 4, 4) + around(s / 4 % 3, d / 4 % 3, 3) +
                                         around(s / 12, d / 12, 5));
        }
    for (uint32_t s = 0; s < 64; s++)
        for (uint32_t d = 0; d < 64; d++) {
            assert_int_equal(rlt_route(tree.r, s, d, 0, &path), 0);
            assert_int_equal(path.n, s == d ? 0 : s / 4 == d / 4 ? 2 : s / 16 == d / 16 ? 4 : 6);
        }
    teardown(&tree);
    teardown(&torus);
}

static void ring_ties_go_up(void **state)
{
    (void)state;
    bench b = setup("ring:8@100GB/s,10ns", RLT_ROUTE_DMODK);
    rlt_path path;
    for (uint32_t s = 0; s < 8; s++) {
        assert_int_equal(rlt_route(b.r, s, (s + 4) % 8, 0, &path), 0);
        assert_int_equal(path.n, 4);
        for (uint32_t i = 0; i < 4; i++)
            assert_int_equal(rlt_topology_link(b.t, path.links[i]).dst, (s + i + 1) % 8);
    }
    teardown(&b);
    b = setup("torus:12@100GB/s,10ns,sizes=3x4", RLT_ROUTE_DMODK);
    for (uint32_t s = 0; s < 12; s++) {
        assert_int_equal(rlt_route(b.r, s, (s + 6) % 12, 0, &path), 0);
        assert_int_equal(path.n, 2);
        assert_int_equal(rlt_topology_link(b.t, path.links[0]).dst, (s + 3) % 12);
    }
    teardown(&b);
}

/* Zahavi: D-mod-k carries every shift permutation of a full-bisection fat tree with one flow a link. */
static void dmodk_shifts_do_not_contend(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "fat-tree:64@50GB/s,500ns,hosts_per_leaf=8",
        "fat-tree:64@50GB/s,500ns,hosts_per_leaf=16",
        "fat-tree:64@50GB/s,500ns,levels=3,hosts_per_leaf=4",
        "rail-optimised:64@50GB/s,500ns,gpus_per_node=4,nvlink_bandwidth=300GB/s",
    };
    for (size_t k = 0; k < sizeof specs / sizeof specs[0]; k++) {
        bench b = setup(specs[k], RLT_ROUTE_DMODK);
        uint32_t links = rlt_topology_links(b.t), *flows = calloc(links, sizeof *flows);
        for (uint32_t shift = 1; shift < 64; shift++) {
            memset(flows, 0, links * sizeof *flows);
            for (uint32_t s = 0; s < 64; s++) {
                rlt_path path;
                assert_int_equal(rlt_route(b.r, s, (s + shift) % 64, 0, &path), 0);
                for (uint32_t i = 0; i < path.n; i++)
                    flows[path.links[i]]++;
            }
            for (uint32_t i = 0; i < links; i++)
                assert_true(flows[i] <= 1);
        }
        free(flows);
        teardown(&b);
    }
}

static void dmodk_spine_is_destination_modulo_spines(void **state)
{
    (void)state;
    bench b = setup("fat-tree:64@50GB/s,500ns,hosts_per_leaf=8,spines=5", RLT_ROUTE_DMODK);
    for (uint32_t d = 8; d < 64; d++) {
        rlt_path path;
        char name[32], expected[32];
        assert_int_equal(rlt_route(b.r, 3, d, 77, &path), 0);
        rlt_topology_node_name(b.t, rlt_topology_link(b.t, path.links[1]).dst, name, sizeof name);
        snprintf(expected, sizeof expected, "sw0.0.%u", 8 + d % 5);
        assert_string_equal(name, expected);
    }
    teardown(&b);
}

static uint32_t second_link(rlt_router *r, uint32_t s, uint32_t d, uint64_t key)
{
    rlt_path path;
    assert_int_equal(rlt_route(r, s, d, key, &path), 0);
    return path.links[1];
}

static void ecmp_is_a_function_of_the_flow(void **state)
{
    (void)state;
    bench b = setup("fat-tree:64@50GB/s,500ns,hosts_per_leaf=8", RLT_ROUTE_ECMP);
    bench again = setup("fat-tree:64@50GB/s,500ns,hosts_per_leaf=8", RLT_ROUTE_ECMP);
    uint32_t seen[8] = {0}, used = 0;
    for (uint64_t key = 0; key < 800; key++) {
        uint32_t link = second_link(b.r, 0, 60, key);
        (void)second_link(b.r, 0, 61, key);
        (void)second_link(b.r, 0, 60, key + 1);
        assert_int_equal(second_link(b.r, 0, 60, key), link);
        assert_int_equal(second_link(again.r, 0, 60, key), link);
        seen[rlt_topology_link(b.t, link).dst - 64 - 8]++;
    }
    /* 100 per spine expected, standard deviation 9.4. */
    for (int i = 0; i < 8; i++)
        used += seen[i] > 50 && seen[i] < 150;
    assert_int_equal(used, 8);
    teardown(&again);
    teardown(&b);
}

static void spray_is_balanced(void **state)
{
    (void)state;
    bench b = setup("fat-tree:64@50GB/s,500ns,levels=3,hosts_per_leaf=4", RLT_ROUTE_SPRAY);
    uint32_t *count = calloc(rlt_topology_links(b.t), sizeof *count);
    for (uint32_t i = 0; i < 160; i++) {
        rlt_path path;
        assert_int_equal(rlt_route(b.r, 5, 60, 9, &path), 0);
        for (uint32_t k = 0; k < path.n; k++)
            count[path.links[k]]++;
    }
    /* 4 aggregation switches x 4 cores: 40 messages on each first cable, 10 on each second. */
    for (uint32_t i = 0; i < rlt_topology_links(b.t); i++)
        assert_true(count[i] == 0 || count[i] == 10 || count[i] == 40 || count[i] == 160);
    free(count);
    teardown(&b);
}

static void repeats_return_the_same_path(void **state)
{
    (void)state;
    bench b = setup("ring:101@100GB/s,10ns*switch:3@50GB/s,20ns", RLT_ROUTE_DMODK);
    for (uint32_t s = 0; s < 303; s += 7)
        for (uint32_t d = 0; d < 303; d += 11) {
            rlt_path first, second;
            uint32_t links[64];
            assert_int_equal(rlt_route(b.r, s, d, 0, &first), 0);
            assert_true(first.n <= 52);
            memcpy(links, first.links, first.n * sizeof *links);
            assert_int_equal(rlt_route(b.r, (s + 1) % 303, d, 5, &second), 0);
            assert_int_equal(rlt_route(b.r, s, d, 1, &second), 0);
            assert_int_equal(second.n, first.n);
            assert_int_equal(second.latency_ps, first.latency_ps);
            assert_int_equal(second.bw_Bps, first.bw_Bps);
            assert_int_equal(memcmp(links, second.links, first.n * sizeof *links), 0);
            check_walk(b.t, &second, s, d);
        }
    rlt_path path;
    assert_int_equal(rlt_route(b.r, 303, 0, 0, &path), RLT_ERANGE);
    assert_int_equal(rlt_route(b.r, 0, 303, 0, &path), RLT_ERANGE);
    assert_int_equal(rlt_route(b.r, 0, RLT_NONE, 0, &path), RLT_ERANGE);
    assert_int_equal(rlt_route(b.r, 9, 9, 0, &path), 0);
    assert_int_equal(path.n, 0);
    assert_int_equal(path.latency_ps, 0);
    assert_true(path.bw_Bps == UINT64_MAX);
    teardown(&b);
}

static void placement_says_where_ranks_are(void **state)
{
    (void)state;
    bench b = setup("ring:8@100GB/s,10ns", RLT_ROUTE_DMODK);
    uint32_t where[3] = {5, 1, 6}, bad[3] = {5, 1, 8};
    rlt_placement p = {.n = 3, .accelerator = where}, wrong = {.n = 3, .accelerator = bad}, many = {.n = 9};
    rlt_router *r = NULL;
    rlt_path path;
    assert_int_equal(rlt_router_create(b.t, &p, RLT_ROUTE_DMODK, &r, NULL), 0);
    for (uint32_t s = 0; s < 3; s++)
        for (uint32_t d = 0; d < 3; d++) {
            assert_int_equal(rlt_route(r, s, d, 0, &path), 0);
            check_walk(b.t, &path, where[s], where[d]);
        }
    assert_ptr_equal(rlt_router_topology(r), b.t);
    assert_ptr_equal(rlt_router_placement(r), &p);
    rlt_router_free(r);
    assert_int_equal(rlt_router_create(b.t, &wrong, RLT_ROUTE_DMODK, &r, NULL), RLT_ERANGE);
    assert_int_equal(rlt_router_create(b.t, &many, RLT_ROUTE_DMODK, &r, NULL), RLT_ERANGE);
    assert_null(r);
    teardown(&b);
}

/* Cables of a hand-made graph. The first letter of a node's name gives its kind. */
typedef struct cable {
    uint32_t a, b;
    uint64_t GBps;
    rlt_time latency_ns;
} cable;

static rlt_topology *build(const char *const *names, const cable *cables, uint32_t n,
                           const rlt_static_route *route)
{
    rlt_graph_node nodes[32];
    rlt_graph_link links[128];
    rlt_topology_spec spec = {.name = "hand-made", .nodes = nodes, .links = links, .n_links = 2 * n};
    for (uint32_t i = 0; names[i]; i++, spec.n_nodes++) {
        rlt_node_kind kind = names[i][0] == 'g' ? RLT_ACCELERATOR : names[i][0] == 'n' ? RLT_NIC : RLT_SWITCH;
        nodes[i] = (rlt_graph_node){.name = names[i], .kind = kind, .forwards = -1};
    }
    for (uint32_t i = 0; i < n; i++) {
        links[2 * i] = (rlt_graph_link){.src = cables[i].a,
                                        .dst = cables[i].b,
                                        .bw_Bps = cables[i].GBps * GB,
                                        .latency_ps = cables[i].latency_ns * RLT_NS};
        links[2 * i + 1] = links[2 * i];
        links[2 * i + 1].src = cables[i].b;
        links[2 * i + 1].dst = cables[i].a;
    }
    if (route) {
        spec.routes = route;
        spec.n_routes = 1;
    }
    rlt_topology *t = NULL;
    rlt_error err = {0};
    if (rlt_topology_build(&spec, &t, &err) != 0)
        fail_msg("%s", err.what);
    return t;
}

static void expect_nodes(bench *b, uint32_t s, uint32_t d, uint64_t key, const char *expected)
{
    rlt_path path;
    char text[256] = "", name[64];
    assert_int_equal(rlt_route(b->r, s, d, key, &path), 0);
    check_walk(b->t, &path, rlt_placed(b->p, s), rlt_placed(b->p, d));
    for (uint32_t i = 0; i + 1 < path.n; i++) {
        if (i)
            strcat(text, " ");
        strcat(text,
               rlt_topology_node_name(b->t, rlt_topology_link(b->t, path.links[i]).dst, name, sizeof name));
    }
    assert_string_equal(text, expected);
}

static void graphs_fewest_links_then_latency(void **state)
{
    (void)state;
    /* g0 to g1: two links over x or y; y is quicker. Also two over g2, but accelerators do not relay. g2 is
     * behind z. */
    static const char *const names[] = {"g0", "g1", "g2", "x", "y", "z", NULL};
    static const cable cables[] = {{0, 3, 10, 5}, {3, 1, 10, 5}, {0, 4, 10, 1}, {4, 1, 10, 2}, {0, 2, 10, 0},
                                   {2, 1, 10, 0}, {4, 5, 10, 1}, {5, 2, 10, 1}, {0, 3, 20, 5}};
    bench b = with(build(names, cables, 9, NULL), (rlt_placement){.n = 3}, RLT_ROUTE_DMODK);
    expect_nodes(&b, 0, 1, 0, "y");
    expect_nodes(&b, 1, 0, 0, "y");
    expect_nodes(&b, 0, 2, 0, "");
    teardown(&b);

    const uint32_t via[] = {4, 5, 2};
    const rlt_static_route route = {.src = 0, .dst = 1, .n = 3, .via = via};
    b = with(build(names, cables, 9, &route), (rlt_placement){.n = 3}, RLT_ROUTE_ECMP);
    expect_nodes(&b, 0, 1, 3, "y z g2");
    expect_nodes(&b, 1, 0, 3, "y");
    rlt_topology_facts facts;
    assert_int_equal(rlt_topology_analyse(b.t, &facts, NULL), 0);
    assert_int_equal(facts.diameter_hops, 4);
    teardown(&b);
}

/* Routes of a graph asked for directly: links of one byte a second count, those of none do not. */
static void tables_of_routes(void **state)
{
    (void)state;
    /* g0 to g1 over x, y or z; two cables from y to g1, the second as quick; by z it takes longer. w is
     * behind g1. */
    static const char *const names[] = {"g0", "g1", "x", "y", "z", "w", NULL};
    static const cable cables[] = {{0, 2, 10, 5}, {2, 1, 10, 5}, {0, 3, 10, 5}, {3, 1, 10, 5},
                                   {3, 1, 20, 5}, {0, 4, 10, 5}, {4, 1, 10, 6}, {1, 5, 1, 1}};
    enum { X = 2, Y = 6, Y2 = 8, Z = 12 }; /* links that lead to g1 */
    static const struct {
        rlt_graph_pick pick;
        uint32_t first, second; /* links */
    } cases[] = {
        {{.value = 0}, 0, X},
        {{.value = 1}, 4, Y},
        {{.value = 2}, 0, X},
        {{.value = 3}, 4, Y2}, /* 3 = 1 + 2 x 1 */
        {{.by_destination = true, .value = 0}, 0, X},
        {{.by_destination = true, .value = 1}, 4, Y2}, /* the same number chooses again */
        {{.by_destination = true, .value = 1, .digits = true}, 4, Y},
        {{.by_destination = true, .value = 3, .digits = true}, 4, Y2},
        {{.by_destination = true, .value = 1, .turn = 1}, 4, Y}, /* one on from Y2, round */
        {{.by_destination = true, .value = 1, .turn = 2}, 4, Y2},
        {{.by_destination = true, .value = 1, .digits = true, .turn = 1}, 4, Y2},
        {{.by_destination = true, .value = 1, .digits = true, .turn = 3}, 4, Y2},
        {{.by_destination = true, .value = 0, .turn = 1}, 0, X},
        {{.value = 1, .turn = 1}, 4, Y}, /* turns are by destination */
    };
    rlt_topology *t = build(names, cables, 8, NULL);
    rlt_graph_routes *r;
    rlt_walk walk = {0};
    const uint32_t *hops;
    const rlt_time *latency;
    uint64_t bw[16];
    assert_int_equal(rlt_graph_routes_create(t, 0, NULL, &r, NULL), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rlt_walk_clear(&walk);
        assert_int_equal(rlt_graph_routes_route(r, 0, 1, cases[i].pick, &walk), 0);
        assert_int_equal(walk.n, 2);
        if (walk.links[0] != cases[i].first || walk.links[1] != cases[i].second)
            fail_msg("case %zu: links %u and %u", i, walk.links[0], walk.links[1]);
        assert_int_equal(walk.latency_ps, 10 * RLT_NS);
        assert_int_equal(walk.bw_Bps, 10 * GB);
    }
    /* A second route is appended; accelerators do not relay. */
    assert_int_equal(rlt_graph_routes_route(r, 1, 5, (rlt_graph_pick){0}, &walk), 0);
    assert_int_equal(walk.n, 3);
    assert_int_equal(walk.links[2], 14);
    assert_int_equal(walk.latency_ps, 11 * RLT_NS);
    assert_int_equal(walk.bw_Bps, GB);
    assert_int_equal(rlt_graph_routes_route(r, 0, 5, (rlt_graph_pick){0}, &walk), RLT_ETOPOLOGY);
    assert_int_equal(walk.n, 3);
    /* Two tables are kept; the third takes the place of the oldest. */
    for (uint32_t round = 0; round < 3; round++)
        for (uint32_t dst = 0; dst < 6; dst++) {
            static const uint32_t to[6][6] = {{0, 2, 1, 1, 1, 9}, {2, 0, 1, 1, 1, 1}, {1, 1, 0, 9, 9, 9},
                                              {1, 1, 9, 0, 9, 9}, {1, 1, 9, 9, 0, 9}, {9, 1, 9, 9, 9, 0}};
            assert_int_equal(rlt_graph_routes_to(r, dst, &hops, &latency), 0);
            for (uint32_t v = 0; v < 6; v++)
                assert_int_equal(hops[v], to[v][dst] == 9 ? RLT_NONE : to[v][dst]);
            assert_int_equal(latency[dst], 0);
            if (dst == 1)
                assert_int_equal(latency[0], 10 * RLT_NS);
        }
    rlt_graph_routes_free(r);
    for (uint32_t i = 0; i < 16; i++)
        bw[i] = i == X ? 0 : 1;
    assert_int_equal(rlt_graph_routes_create(t, 1 << 20, bw, &r, NULL), 0);
    rlt_walk_clear(&walk);
    assert_int_equal(rlt_graph_routes_route(r, 0, 1, (rlt_graph_pick){0}, &walk), 0);
    assert_int_equal(walk.links[1], Y);
    bw[Y] = bw[Y2] = 0;
    rlt_graph_routes_free(r);
    assert_int_equal(rlt_graph_routes_create(t, 1 << 20, bw, &r, NULL), 0);
    rlt_walk_clear(&walk);
    assert_int_equal(rlt_graph_routes_route(r, 0, 1, (rlt_graph_pick){0}, &walk), 0);
    assert_int_equal(walk.links[1], Z);
    rlt_graph_routes_free(r);
    /* Others relay. */
    static const uint8_t relays[6] = {0, 1, 0, 0, 1, 0};
    assert_int_equal(rlt_graph_routes_create(t, 1 << 20, NULL, &r, NULL), 0);
    rlt_graph_routes_relay(r, relays);
    rlt_walk_clear(&walk);
    assert_int_equal(rlt_graph_routes_route(r, 0, 5, (rlt_graph_pick){.value = 1}, &walk), 0);
    assert_int_equal(walk.n, 3);
    assert_int_equal(walk.links[1], Z);
    assert_int_equal(walk.latency_ps, 12 * RLT_NS);
    rlt_graph_routes_free(r);
    free(walk.links);
    rlt_topology_free(t);
}

static void graphs_choose_by_policy(void **state)
{
    (void)state;
    /* Two leaves, three spines, two accelerators per leaf. */
    static const char *const names[] = {"g0", "g1", "g2", "g3", "l0", "l1", "s0", "s1", "s2", NULL};
    static const cable cables[] = {{0, 4, 1, 1}, {1, 4, 1, 1}, {2, 5, 1, 1}, {3, 5, 1, 1}, {4, 6, 1, 1},
                                   {4, 7, 1, 1}, {4, 8, 1, 1}, {5, 6, 1, 1}, {5, 7, 1, 1}, {5, 8, 1, 1}};
    rlt_topology *t = build(names, cables, 10, NULL);
    bench b = with(t, (rlt_placement){.n = 4}, RLT_ROUTE_DMODK);
    expect_nodes(&b, 0, 1, 0, "l0");
    expect_nodes(&b, 0, 2, 0, "l0 s2 l1"); /* 2 mod 3 */
    expect_nodes(&b, 1, 3, 0, "l0 s0 l1"); /* 3 mod 3 */
    expect_nodes(&b, 3, 1, 9, "l1 s1 l0");
    rlt_router_free(b.r);
    free(b.p);
    b = with(t, (rlt_placement){.n = 4}, RLT_ROUTE_SPRAY);
    expect_nodes(&b, 0, 2, 0, "l0 s0 l1");
    expect_nodes(&b, 0, 2, 0, "l0 s1 l1");
    expect_nodes(&b, 0, 2, 0, "l0 s2 l1");
    expect_nodes(&b, 0, 3, 0, "l0 s0 l1");
    expect_nodes(&b, 1, 2, 0, "l0 s0 l1");
    rlt_router_free(b.r);
    free(b.p);
    b = with(t, (rlt_placement){.n = 4}, RLT_ROUTE_ECMP);
    uint32_t spine[3] = {0};
    for (uint64_t key = 0; key < 300; key++) {
        uint32_t link = second_link(b.r, 0, 2, key);
        assert_int_equal(second_link(b.r, 0, 2, key), link);
        spine[rlt_topology_link(t, link).dst - 6]++;
    }
    for (int i = 0; i < 3; i++)
        assert_true(spine[i] > 60 && spine[i] < 140);
    teardown(&b);
}

static void ranks_leave_by_their_nic(void **state)
{
    (void)state;
    /* Two hosts: each has two accelerators and two NICs behind a switch; n0 and n2 are quicker. A fabric
     * joins the NICs. */
    static const char *const names[] = {"g0", "g1", "g2", "g3", "x",      "y",
                                        "n0", "n1", "n2", "n3", "fabric", NULL};
    static const cable cables[] = {{0, 4, 9, 1},  {1, 4, 9, 1},  {2, 5, 9, 1},  {3, 5, 9, 1},
                                   {4, 6, 9, 1},  {4, 7, 9, 2},  {5, 8, 9, 1},  {5, 9, 9, 2},
                                   {6, 10, 9, 1}, {7, 10, 9, 1}, {8, 10, 9, 1}, {9, 10, 9, 1}};
    rlt_topology *t = build(names, cables, 12, NULL);
    bench b = with(t, (rlt_placement){.n = 4}, RLT_ROUTE_DMODK);
    expect_nodes(&b, 0, 2, 0, "x n0 fabric n2 y");
    rlt_router_free(b.r);
    free(b.p);
    uint32_t nic[4] = {rlt_topology_find_node(t, "n1"), RLT_NONE, RLT_NONE, rlt_topology_find_node(t, "n3")};
    b = with(t, (rlt_placement){.n = 4, .nic = nic}, RLT_ROUTE_DMODK);
    expect_nodes(&b, 0, 1, 0, "x");
    expect_nodes(&b, 0, 2, 0, "x n1 fabric n2 y");
    expect_nodes(&b, 0, 3, 0, "x n1 fabric n3 y");
    expect_nodes(&b, 1, 3, 0, "x n0 fabric n3 y");
    expect_nodes(&b, 3, 0, 0, "y n3 fabric n1 x");
    expect_nodes(&b, 2, 1, 0, "y n2 fabric n0 x");
    teardown(&b);
    uint32_t wrong[4] = {4, RLT_NONE, RLT_NONE, RLT_NONE};
    rlt_placement p = {.n = 4, .nic = wrong};
    rlt_router *r;
    t = build(names, cables, 12, NULL);
    assert_int_equal(rlt_router_create(t, &p, RLT_ROUTE_DMODK, &r, NULL), RLT_ERANGE);
    rlt_topology_free(t);
}

/* An exported product is read as a graph: searched routes are as long as those in closed form. A cache of two
 * tables gives the same routes as one that keeps all. */
static void searched_routes_match_closed_forms(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof minimal / sizeof minimal[0]; k++) {
        bench product = setup(minimal[k], RLT_ROUTE_DMODK);
        char *text;
        rlt_topology *t;
        rlt_graph_routes *small, *large;
        rlt_walk walk = {0}, other = {0};
        assert_int_equal(rlt_topology_export(product.t, "json", &text, NULL), 0);
        assert_int_equal(rlt_topology_from_json("t.json", text, strlen(text), NULL, &t, NULL), 0);
        bench b = with(t, (rlt_placement){.n = product.p->n}, RLT_ROUTE_DMODK);
        assert_int_equal(rlt_graph_routes_create(t, 0, NULL, &small, NULL), 0);
        assert_int_equal(rlt_graph_routes_create(t, (size_t)1 << 24, NULL, &large, NULL), 0);
        for (uint32_t s = 0; s < b.p->n; s++)
            for (uint32_t d = 0; d < b.p->n; d++) {
                rlt_path closed, searched;
                assert_int_equal(rlt_route(product.r, s, d, 0, &closed), 0);
                assert_int_equal(rlt_route(b.r, s, d, 0, &searched), 0);
                check_walk(t, &searched, s, d);
                assert_int_equal(searched.n, closed.n);
                assert_true(searched.latency_ps <= closed.latency_ps);
                if (s == d)
                    continue;
                rlt_graph_pick pick = {.by_destination = true, .value = d};
                rlt_walk_clear(&walk);
                rlt_walk_clear(&other);
                assert_int_equal(rlt_graph_routes_route(small, s, d, pick, &walk), 0);
                assert_int_equal(rlt_graph_routes_route(large, s, d, pick, &other), 0);
                assert_int_equal(walk.n, searched.n);
                assert_int_equal(memcmp(walk.links, other.links, walk.n * sizeof *walk.links), 0);
            }
        rlt_graph_routes_free(large);
        free(other.links);
        free(walk.links);
        free(text);
        rlt_graph_routes_free(small);
        teardown(&b);
        teardown(&product);
    }
}

static void policies_have_names(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        rlt_routing r;
        assert_int_equal(rlt_routing_parse(rlt_routing_name((rlt_routing)i), &r, NULL), 0);
        assert_int_equal(r, i);
    }
    rlt_error err = {0};
    rlt_routing r;
    assert_int_equal(rlt_routing_parse("valiant", &r, &err), RLT_EUSAGE);
    assert_non_null(strstr(err.what, "dmodk"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_route_is_a_shortest_walk),
        cmocka_unit_test(dragonfly_routes_take_one_global_cable),
        cmocka_unit_test(lengths_by_formula),
        cmocka_unit_test(ring_ties_go_up),
        cmocka_unit_test(dmodk_shifts_do_not_contend),
        cmocka_unit_test(dmodk_spine_is_destination_modulo_spines),
        cmocka_unit_test(ecmp_is_a_function_of_the_flow),
        cmocka_unit_test(spray_is_balanced),
        cmocka_unit_test(repeats_return_the_same_path),
        cmocka_unit_test(placement_says_where_ranks_are),
        cmocka_unit_test(graphs_fewest_links_then_latency),
        cmocka_unit_test(tables_of_routes),
        cmocka_unit_test(graphs_choose_by_policy),
        cmocka_unit_test(ranks_leave_by_their_nic),
        cmocka_unit_test(searched_routes_match_closed_forms),
        cmocka_unit_test(policies_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
