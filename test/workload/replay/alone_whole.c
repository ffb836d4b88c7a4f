/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collectives of random groups, each timed alone once for many, against the same with every member simulated. */
#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "collectives/plan.h"
#include "net/endpoint/endpoint.h"
#include "net/import/import.h"
#include "net/network.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "workload/replay/alone.h"
#include "workload/replay/replay.h"
#include "workload/timing/timing.h"

static void shuffle(dice *k, uint32_t *list, uint32_t n)
{
    for (uint32_t i = n; i > 1; i--) {
        uint32_t j = below(k, i), was = list[j];
        list[j] = list[i - 1];
        list[i - 1] = was;
    }
}

/* Draws a group along the tree of a machine of nodes of two: some places of each of several blocks, the
 * blocks in any order; or, one time in four, any ranks. Returns its size. */
static uint32_t draw_group(dice *k, uint32_t hosts, uint32_t block, uint32_t *ranks)
{
    uint32_t blocks = hosts / block, order[64], places[64], n = 0, side = below(k, 2);
    bool any = below(k, 4) == 0;
    for (uint32_t i = 0; i < (any ? hosts : blocks); i++)
        order[i] = i;
    shuffle(k, order, any ? hosts : blocks);
    if (any) {
        for (n = 0; n < hosts && (n < 2 || below(k, 8)); n++)
            ranks[n] = 2 * order[n] + side;
        return n;
    }
    uint32_t used = 2 + below(k, blocks - 1), each = 1 + below(k, block);
    for (uint32_t i = 0; i < block; i++)
        places[i] = i;
    if (below(k, 2))
        shuffle(k, places, block);
    for (uint32_t b = 0; b < used; b++)
        for (uint32_t i = 0; i < each; i++)
            ranks[n++] = 2 * (order[b] * block + places[i]) + side;
    return n;
}

/* Returns the time of a collective with every member simulated; -1: its algorithm does not serve it. */
static rlt_time time_whole(const rlt_replay_options *o, const rlt_placement *where,
                           const rlt_coll_request *req)
{
    rlt_error err = {0};
    rlt_router *router = NULL;
    rlt_sim *sim = NULL;
    rlt_exec *x = NULL;
    rlt_plan plan = {0};
    if (rlt_plan_create(o->algorithm[req->kind], req, &plan, &err))
        return -1;
    assert_int_equal(rlt_router_create(o->topology, where, o->routing, &router, &err), 0);
    assert_int_equal(rlt_sim_create(&sim, &err), 0);
    rlt_net_config cfg = {
        .sim = sim, .router = router, .endpoint = o->endpoint, .bandwidth_scale = 1, .latency_scale = 1};
    assert_int_equal(rlt_exec_create(o->model, &cfg, &x, &err), 0);
    rlt_exec_arrive_all(x, rlt_exec_add(x, &plan, NULL, 0, 0));
    assert_int_equal(rlt_sim_run(sim, RLT_TIME_MAX, &err), 0);
    rlt_time end = rlt_sim_now(sim);
    rlt_plan_free(&plan);
    rlt_exec_free(x);
    rlt_sim_free(sim);
    rlt_router_free(router);
    return end;
}

/* Returns an algorithm of a kind that a network without switches that add up can run; NULL: the selector's. */
static const rlt_algorithm *draw_algorithm(dice *k, rlt_coll_kind kind)
{
    uint32_t n = 0;
    const rlt_algorithm *a;
    while (rlt_algorithm_at(n))
        n++;
    do
        a = below(k, 4) ? rlt_algorithm_at(below(k, n)) : NULL;
    while (a && !(a->kinds >> kind & 1));
    return a;
}

/* Times a collective of a random group. Returns true if its algorithm serves it. */
static bool one_as_whole(dice *k, rlt_timing *timing, const rlt_replay_options *o, uint32_t hosts,
                         uint32_t block)
{
    static const rlt_coll_kind kinds[] = {RLT_ALL_REDUCE, RLT_REDUCE_SCATTER, RLT_ALL_GATHER, RLT_ALL_TO_ALL,
                                          RLT_BROADCAST};
    uint32_t ranks[64], n = draw_group(k, hosts, block, ranks);
    rlt_error err = {0};
    rlt_placement where = {.n = rlt_topology_accelerators(o->topology)};
    rlt_group g;
    rlt_time known = 0;
    assert_int_equal(rlt_group_create(o->topology, &where, ranks, n, &g, &err), 0);
    rlt_coll_request req =
        rlt_group_request(&g, kinds[below(k, 5)], (uint64_t)n * n * 960 * (1 + below(k, 3)) + !below(k, 4));
    req.root = rlt_coll_rooted(req.kind) ? below(k, n) : 0;
    req.endpoint = &o->endpoint;
    rlt_request_params(&req, &o->params);
    rlt_time whole = time_whole(o, &where, &req);
    if (whole >= 0)
        assert_int_equal(timing->duration(timing, &req, &known, &err), 0);
    if (whole >= 0 && known != whole)
        fail_msg("%s of %llu bytes by %s, %u ranks from %u, on %s: %lld ps remembered, %lld ps whole",
                 rlt_coll_name(req.kind), (unsigned long long)req.bytes,
                 o->algorithm[req.kind] ? o->algorithm[req.kind]->name : "auto", n, ranks[0],
                 rlt_topology_name(o->topology), (long long)known, (long long)whole);
    rlt_group_free(&g);
    return whole >= 0;
}

/* One timing for many groups, against each of them with every member simulated. Random cases with a fixed
 * seed. */
static void as_whole(void **state)
{
    static const struct {
        const char *text;
        uint32_t hosts, block;
    } trees[] = {
        {"switch:2@300GB/s,100ns*fat-tree:16@50GB/s,500ns,hosts_per_leaf=4", 16, 4},
        {"switch:2@300GB/s,100ns*fat-tree:18@40GB/s,300ns,hosts_per_leaf=6,oversubscription=2", 18, 6},
        {"switch:2@300GB/s,100ns*fat-tree:16@50GB/s,500ns,hosts_per_leaf=4,spines=3", 16, 4},
        {"switch:2@300GB/s,100ns*fat-tree:24@50GB/s,500ns,levels=3,hosts_per_leaf=2,leaves_per_pod=3", 24, 6},
        {"switch:2@300GB/s,100ns*switch:8@50GB/s,500ns", 8, 1},
        {"switch:2@300GB/s,100ns*fat-tree:16@50GB/s,500ns,levels=3,hosts_per_leaf=4,cores=7", 16, 4},
        {"switch:2@300GB/s,100ns*fat-tree:8192@50GB/s,500ns,levels=3,hosts_per_leaf=2", 32, 4}};
    dice k = {.seed = 19};
    uint32_t served = 0;
    (void)state;
    for (uint32_t i = 0; i < 124; i++) {
        rlt_error err = {0};
        rlt_topology *t = NULL;
        rlt_timing *timing = NULL;
        rlt_replay_options o = rlt_replay_options_default();
        uint32_t at = i < 120 ? i % 6 : 6; /* the last one is large: simulated on the links used */
        assert_int_equal(rlt_topology_load(trees[at].text, NULL, &t, &err), 0);
        o.topology = t;
        o.endpoint = *rlt_topology_endpoint(t);
        o.endpoint.injection = i / 6 & 1 ? RLT_INJECT_BLOCKING : RLT_INJECT_NIC;
        o.routing = at == 6 && i & 1 ? RLT_ROUTE_ECMP : RLT_ROUTE_DMODK;
        o.model = i / 12 & 1 ? &rlt_net_alpha_beta : &rlt_net_flow;
        for (int kind = 0; kind < RLT_COLL_KINDS; kind++)
            o.algorithm[kind] = draw_algorithm(&k, (rlt_coll_kind)kind);
        assert_int_equal(rlt_timing_alone(&o, &timing, &err), 0);
        for (uint32_t c = 0; c < 30; c++)
            served += one_as_whole(&k, timing, &o, trees[at].hosts, trees[at].block);
        rlt_timing_free(timing);
        rlt_topology_free(t);
    }
    print_message("%u collectives timed alone\n", served);
    assert_true(served > 1500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_whole)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
