/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cuts counted by hand and by trying all sets of nodes, and the bounds that follow from them. */
#include <stdio.h>

#include "collectives/algorithm.h"
#include "collectives/bound.h"
#include "collectives/collective.h"
#include "collectives/plan.h"
#include "net/import/import.h"
#include "net/network.h"
#include "net/route.h"
#include "net/topology/build.h"
#include "net/topology/cut.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
#include "test/support/support.h"

#define GBps 1000000000ull

static rlt_topology *load(const char *text)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    int rc = rlt_topology_load(text, "topologies", &t, &err);
    if (rc < 0)
        fail_msg("%s: %s", err.where, err.what);
    return t;
}

static rlt_cut cut_of(const rlt_topology *t, rlt_cut_question q)
{
    uint32_t all[64];
    rlt_cut c;
    for (uint32_t i = 0; i < 64; i++)
        all[i] = i;
    q.accelerators = all;
    if (!q.n)
        q.n = rlt_topology_accelerators(t);
    assert_int_equal(rlt_cut_find(t, &q, &c, NULL), 0);
    rlt_cut again;
    assert_int_equal(rlt_cut_find(t, &q, &again, NULL), 0); /* cached */
    assert_int_equal(c.bw_Bps, again.bw_Bps);
    assert_int_equal(c.inside, again.inside);
    return c;
}

#define ANY                                                                                                  \
    (rlt_cut_question)                                                                                       \
    {                                                                                                        \
        .source = RLT_NONE, .sink = RLT_NONE                                                                 \
    }

static void by_hand(void **state)
{
    (void)state;
    static const struct {
        const char *topology;
        uint64_t bw_Bps;
        uint32_t inside;
    } cases[] = {
        {"ring:8@50GB/s,1us", 50 * GBps, 7},      /* outside: one node with two links */
        {"mesh:5x5@200GB/s,1us", 100 * GBps, 24}, /* outside: a corner with two links of 50 */
        {"torus:3x3@200GB/s,1us", 200 * GBps, 8}, /* outside: one node with four links of 50 */
        {"dgx1-v100-8", 150 * GBps, 7},           /* outside: one GPU, six NVLinks; 6 / 4 between halves */
        {"ring:4@200GB/s,1us*switch:8@50GB/s,1us", 200 * GBps, 28},   /* outside: a ring, four ports of 50 */
        {"fat-tree:16@50GB/s,1us,oversubscription=4", 50 * GBps, 15}, /* 50 / 12 out of three leaves, */
                                                                      /* 50 / 15 into one host */
        {"ring:4@10GB/s,1us*ring:4@100GB/s,1us", 40 * GBps, 12},      /* a column of four, not 110 / 15 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rlt_topology *t = load(cases[i].topology);
        rlt_cut c = cut_of(t, ANY);
        if (c.bw_Bps * cases[i].inside != cases[i].bw_Bps * c.inside || !c.inside)
            fail_msg("%s: %llu B/s for %u", cases[i].topology, (unsigned long long)c.bw_Bps, c.inside);
        rlt_topology_free(t);
    }
}

/* Two clusters of four hosts on switches of 50 GB/s a port, joined by a thin link: 20 GB/s to b, 10 GB/s
 * back. */
static const char two_clusters[] =
    "{\"nodes\":[{\"id\":\"g\",\"count\":8,\"kind\":\"accelerator\"},{\"id\":\"a\",\"kind\":\"switch\"},"
    "{\"id\":\"b\",\"kind\":\"switch\"}],\"links\":["
    "{\"src\":\"g0\",\"dst\":\"a\",\"bandwidth\":\"50GB/s\",\"latency\":\"1us\"},"
    "{\"src\":\"g1\",\"dst\":\"a\",\"bandwidth\":\"50GB/s\",\"latency\":\"1us\"},"
    "{\"src\":\"g2\",\"dst\":\"a\",\"bandwidth\":\"50GB/s\",\"latency\":\"1us\"},"
    "{\"src\":\"g3\",\"dst\":\"a\",\"bandwidth\":\"50GB/s\",\"latency\":\"1us\"},"
    "{\"src\":\"g4\",\"dst\":\"b\",\"bandwidth\":\"50GB/s\",\"latency\":\"1us\"},"
    "{\"src\":\"g5\",\"dst\":\"b\",\"bandwidth\":\"50GB/s\",\"latency\":\"1us\"},"
    "{\"src\":\"g6\",\"dst\":\"b\",\"bandwidth\":\"50GB/s\",\"latency\":\"1us\"},"
    "{\"src\":\"g7\",\"dst\":\"b\",\"bandwidth\":\"50GB/s\",\"latency\":\"1us\"},"
    "{\"src\":\"a\",\"dst\":\"b\",\"bandwidth\":\"20GB/s\",\"latency\":\"1us\",\"duplex\":false},"
    "{\"src\":\"b\",\"dst\":\"a\",\"bandwidth\":\"10GB/s\",\"latency\":\"1us\",\"duplex\":false}]}";

static rlt_bound bound_on(const rlt_topology *t, rlt_coll_kind kind, uint32_t root, uint64_t bytes)
{
    rlt_placement p = {0};
    rlt_router *router = NULL;
    rlt_bound b;
    assert_int_equal(rlt_placement_identity(t, rlt_topology_accelerators(t), &p, NULL), 0);
    assert_int_equal(rlt_router_create(t, &p, RLT_ROUTE_DMODK, &router, NULL), 0);
    rlt_coll_request req = {.kind = kind, .n = p.n, .root = root, .bytes = bytes};
    assert_int_equal(rlt_coll_bound(&req, router, 1, 1, &b, NULL), 0);
    rlt_router_free(router);
    rlt_placement_free(&p);
    return b;
}

/* 80 MB, 10 MB per member. The data that must cross the thin link takes 20 GB/s towards b and 10 GB/s
 * back. */
static void a_thin_link_decides(void **state)
{
    (void)state;
    static const struct {
        rlt_coll_kind kind;
        uint32_t root;
        rlt_time cut_ps;
    } cases[] = {
        {RLT_ALL_GATHER, 0, 4 * RLT_MS},     /* 40 MB each way; the way back is slower */
        {RLT_REDUCE_SCATTER, 0, 4 * RLT_MS}, /* sums of 40 MB each way */
        {RLT_ALL_REDUCE, 0, 8 * RLT_MS},     /* 80 MB each way */
        {RLT_BROADCAST, 0, 4 * RLT_MS},      /* 80 MB towards b */
        {RLT_BROADCAST, 5, 8 * RLT_MS},      {RLT_REDUCE, 0, 8 * RLT_MS},
        {RLT_REDUCE, 5, 4 * RLT_MS},         {RLT_GATHER, 0, 4 * RLT_MS}, /* 40 MB back */
        {RLT_GATHER, 5, 2 * RLT_MS},         {RLT_SCATTER, 5, 4 * RLT_MS},
        {RLT_ALL_TO_ALL, 0, 16 * RLT_MS}, /* 4 x 4 pieces of 10 MB back */
    };
    rlt_topology *t = load(two_clusters);
    rlt_cut c = cut_of(t, ANY);
    assert_int_equal(c.bw_Bps, 10 * GBps);
    assert_int_equal(c.inside, 4);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rlt_bound b = bound_on(t, cases[i].kind, cases[i].root, 80000000);
        if (b.cut_ps != cases[i].cut_ps)
            fail_msg("%s, root %u: %lld ps", rlt_coll_name(cases[i].kind), cases[i].root,
                     (long long)b.cut_ps);
        assert_true(b.time_ps >= b.cut_ps);
    }
    assert_int_equal(bound_on(t, RLT_BARRIER, 0, 0).cut_ps, 0);
    rlt_topology_free(t);
}

/* Eight rings of four on ports of 50 GB/s. Each ring must take in 7/8 M at 200 GB/s; the 250 GB/s of a single
 * member would allow more. All-reduce: twice 7 M over the 32 ports. The bound also holds where no cut is
 * searched. */
static void dimensions_apart(void **state)
{
    (void)state;
    rlt_topology *t = load("ring:4@200GB/s,500ns*switch:8@50GB/s,500ns");
    assert_int_equal(bound_on(t, RLT_ALL_GATHER, 0, 32000000).cut_ps, 140 * RLT_US);
    assert_int_equal(bound_on(t, RLT_ALL_REDUCE, 0, 32000000).cut_ps, 280 * RLT_US);
    assert_int_equal(bound_on(t, RLT_ALL_TO_ALL, 0, 32000000).cut_ps, 560 * RLT_US); /* 28 MB per member */
    rlt_topology_free(t);
    /* Halves of a torus: 8 x 8 pieces of 1 MB over 8 links of 50 GB/s. A member alone: 15 MB at 200 GB/s. */
    t = load("torus:4x4@200GB/s,500ns");
    assert_int_equal(bound_on(t, RLT_ALL_TO_ALL, 0, 16000000).cut_ps, 160 * RLT_US);
    rlt_topology_free(t);
    t = load("ring:4@200GB/s,500ns*switch:1024@50GB/s,500ns");
    assert_int_equal(bound_on(t, RLT_ALL_GATHER, 0, 4096 * 50000).cut_ps, 1023 * RLT_US);
    rlt_topology_free(t);
}

/* Ports of 50 GB/s, M = 50 MB: 1 ms. In a network that reduces and replicates, every member sends its data
 * once and receives the result once. The bound by a single member's input remains. */
static void networks_that_reduce(void **state)
{
    (void)state;
    rlt_topology *t = load("switch:8@50GB/s,1us");
    rlt_placement p = {0};
    rlt_router *router = NULL;
    rlt_bound b;
    assert_int_equal(rlt_placement_identity(t, 8, &p, NULL), 0);
    assert_int_equal(rlt_router_create(t, &p, RLT_ROUTE_DMODK, &router, NULL), 0);
    rlt_plan plan = {.req = {.kind = RLT_ALL_REDUCE, .n = 8, .bytes = 50000000}};
    assert_int_equal(rlt_plan_bound(&plan, router, 1, 1, &b, NULL), 0);
    assert_int_equal(b.time_ps, 1750 * RLT_US);
    plan.reduces = plan.multicasts = true;
    assert_int_equal(rlt_plan_bound(&plan, router, 1, 1, &b, NULL), 0);
    assert_int_equal(b.time_ps, RLT_MS);
    plan.req.kind = RLT_ALL_GATHER;
    assert_int_equal(rlt_plan_bound(&plan, router, 1, 1, &b, NULL), 0);
    assert_int_equal(b.time_ps, 875 * RLT_US);
    rlt_router_free(router);
    rlt_placement_free(&p);
    rlt_topology_free(t);
}

/* A small random graph: a ring of all nodes both ways, then links at random, but for each third. */
enum { NODES = 7, EXTRA = 8, MAX_LINKS = 2 * NODES + EXTRA };

typedef struct small {
    uint32_t members, n, src[MAX_LINKS], dst[MAX_LINKS], bw[MAX_LINKS];
    char text[8192];
} small;

static void make_small(small *g, uint32_t seed)
{
    uint64_t k = 0;
    g->n = 0;
    g->members = 3 + (uint32_t)rlt_random_below(1, seed, 0, k++, NODES - 2);
    for (uint32_t i = 0; i < (seed % 3 ? MAX_LINKS : 2 * NODES); i++) {
        uint32_t a = i / 2 % NODES, b = (a + 1) % NODES;
        if (i >= 2 * NODES) {
            a = (uint32_t)rlt_random_below(1, seed, 0, k++, NODES);
            b = (a + 1 + (uint32_t)rlt_random_below(1, seed, 0, k++, NODES - 1)) % NODES;
        }
        g->src[g->n] = i % 2 ? b : a;
        g->dst[g->n] = i % 2 ? a : b;
        g->bw[g->n++] = 1 + (uint32_t)rlt_random_below(1, seed, 0, k++, 9);
    }
    int at = snprintf(g->text, sizeof g->text,
                      "{\"nodes\":[{\"id\":\"g\",\"count\":%u,\"kind\":\"accelerator\",\"forwards\":true}",
                      g->members);
    for (uint32_t s = g->members; s < NODES; s++)
        at += snprintf(g->text + at, sizeof g->text - (size_t)at, ",{\"id\":\"s%u\",\"kind\":\"switch\"}", s);
    at += snprintf(g->text + at, sizeof g->text - (size_t)at, "],\"links\":[");
    for (uint32_t i = 0; i < g->n; i++) {
        bool sa = g->src[i] >= g->members, sb = g->dst[i] >= g->members;
        at += snprintf(g->text + at, sizeof g->text - (size_t)at,
                       "%s{\"src\":\"%s%u\",\"dst\":\"%s%u\",\"bandwidth\":\"%uGB/s\",\"latency\":\"1us\","
                       "\"duplex\":false}",
                       i ? "," : "", sa ? "s" : "g", g->src[i], sb ? "s" : "g", g->dst[i], g->bw[i]);
    }
    snprintf(g->text + at, sizeof g->text - (size_t)at, "]}");
}

/* Finds the least ratio over all sets of nodes, as a fraction. */
static void try_all(const small *g, rlt_cut_question q, uint64_t *bw, uint32_t *inside)
{
    *bw = 1;
    *inside = 0;
    for (uint32_t set = 1; set < 1u << NODES; set++) {
        uint32_t in = 0, outside = 0;
        uint64_t b = 0;
        bool given = true;
        for (uint32_t m = 0; m < g->members; m++) {
            bool has = set >> m & 1;
            in += has && (q.source == RLT_NONE || q.source == m);
            outside += !has && (q.sink == RLT_NONE || q.sink == m);
            given = given && (!q.split || has == (m < q.split));
        }
        for (uint32_t i = 0; i < g->n; i++) {
            bool from = set >> g->src[i] & 1, to = set >> g->dst[i] & 1;
            b += (q.inwards ? to && !from : from && !to) ? g->bw[i] : 0;
        }
        if (given && in && outside && (!*inside || b * *inside < *bw * in)) {
            *bw = b;
            *inside = in;
        }
    }
}

static void against_every_set(void **state)
{
    (void)state;
    static small g;
    for (uint32_t seed = 0; seed < 60; seed++) {
        make_small(&g, seed);
        rlt_topology *t = load(g.text);
        for (uint32_t i = 0; i < 10; i++) {
            rlt_cut_question q = ANY;
            q.split = i / 2 == 4 ? 1 + seed % (g.members - 1) : 0;
            q.inwards = i & 1;
            q.source = i / 2 == 1 ? seed % g.members : i / 2 == 3 ? 0 : RLT_NONE;
            q.sink = i / 2 == 2 ? seed % g.members : i / 2 == 3 ? 1 : RLT_NONE;
            uint64_t bw;
            uint32_t inside;
            rlt_cut c = cut_of(t, q);
            try_all(&g, q, &bw, &inside);
            if (!c.inside || c.bw_Bps * inside != bw * GBps * c.inside)
                fail_msg("seed %u question %u: %llu / %u, not %llu / %u: %s", seed, i,
                         (unsigned long long)c.bw_Bps, c.inside, (unsigned long long)bw, inside, g.text);
        }
        rlt_topology_free(t);
    }
}

/* Two leaves of four hosts, 100 GB/s between them. Under flow 64 MB must cross. Alpha-beta does not limit
 * inner links: its bound is 15 MB through each host's own port. */
static void models_that_share_ports_only(void **state)
{
    (void)state;
    test_net net = {.topology = "fat-tree:16@100GB/s,0ns,hosts_per_leaf=4,oversubscription=4",
                    .model = &rlt_net_flow,
                    .algorithm = "direct"};
    assert_int_equal(test_collective(&net, RLT_ALL_TO_ALL, 16000000, NULL).bound_ps, 320 * RLT_US);
    net.model = &rlt_net_alpha_beta;
    test_run run = test_collective(&net, RLT_ALL_TO_ALL, 16000000, NULL);
    assert_int_equal(run.bound_ps, 150 * RLT_US);
    assert_in_range(run.time_ps, 150 * RLT_US, 300 * RLT_US);
}

static void limits(void **state)
{
    (void)state;
    rlt_topology *t = load("fully-connected:66@65GB/s,1us"); /* 4290 links */
    assert_int_equal(cut_of(t, (rlt_cut_question){.n = 4, .source = RLT_NONE, .sink = RLT_NONE}).inside, 0);
    rlt_topology_free(t);
    t = load("ring:64@50GB/s,1us");
    assert_int_equal(cut_of(t, (rlt_cut_question){.n = 1, .source = RLT_NONE, .sink = RLT_NONE}).inside, 0);
    assert_int_equal(cut_of(t, ANY).inside, 63);
    /* With all inside, nobody is outside. */
    for (uint32_t split = 62; split < 66; split++) {
        rlt_cut c =
            cut_of(t, (rlt_cut_question){.n = 64, .source = RLT_NONE, .sink = RLT_NONE, .split = split});
        assert_int_equal(c.inside, split < 64 ? split : 0);
        assert_int_equal(c.bw_Bps, split < 64 ? 50 * GBps : 0);
    }
    rlt_topology_free(t);
}

/* Runs every algorithm where cuts decide; no run is faster than its bound. */
static void no_run_beats_it(void **state)
{
    (void)state;
    static const char *const networks[] = {"mesh:3x3@40GB/s,10ns", "dgx1-v100-8",
                                           "fat-tree:8@50GB/s,10ns,oversubscription=2",
                                           "ring:4@200GB/s,10ns*switch:2@5GB/s,10ns"};
    for (size_t w = 0; w < sizeof networks / sizeof networks[0]; w++) {
        for (uint32_t a = 0; rlt_algorithm_at(a); a++) {
            const rlt_algorithm *algorithm = rlt_algorithm_at(a);
            for (uint32_t k = 0; k < RLT_COLL_KINDS; k++) {
                rlt_topology *t = load(networks[w]);
                rlt_coll_request req = {.kind = (rlt_coll_kind)k,
                                        .n = rlt_topology_accelerators(t),
                                        .bytes = 7200000,
                                        .topology = t};
                rlt_placement p = {.n = req.n};
                rlt_plan plan;
                req.placement = &p;
                bool can = algorithm->kinds >> k & 1 && rlt_plan_create(algorithm, &req, &plan, NULL) == 0;
                bool plain = can && !plan.reduces && !plan.multicasts;
                if (can)
                    rlt_plan_free(&plan);
                rlt_topology_free(t);
                test_net net = {
                    .topology = networks[w], .model = &rlt_net_flow, .algorithm = algorithm->name};
                if (plain)
                    test_collective(&net, (rlt_coll_kind)k, 7200000, NULL);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(a_thin_link_decides),
        cmocka_unit_test(dimensions_apart),
        cmocka_unit_test(networks_that_reduce),
        cmocka_unit_test(against_every_set),
        cmocka_unit_test(models_that_share_ports_only),
        cmocka_unit_test(limits),
        cmocka_unit_test(no_run_beats_it),
    };
    return cmocka_run_group_tests_name("cut", tests, NULL, NULL);
}
