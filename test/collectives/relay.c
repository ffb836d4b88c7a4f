/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The time of a relay in closed form equals that of a simulation of every member, to the picosecond. */
#include "collectives/relay.h"

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

enum { CASES = 9000, MAX_MEMBERS = 64 };

static const rlt_coll_kind kinds[] = {RLT_ALL_REDUCE, RLT_REDUCE_SCATTER, RLT_ALL_GATHER, RLT_BARRIER};

static const char *const texts[] = {"switch:12@50GB/s,500ns",
                                    "switch:2@300GB/s,100ns*fat-tree:24@47GB/s,500ns,hosts_per_leaf=4",
                                    "switch:2@450GB/s,1us*fat-tree:27@50GB/s,500ns,levels=3,hosts_per_leaf=3",
                                    "fat-tree:32@50GB/s,500ns,levels=3,hosts_per_leaf=8,leaves_per_pod=2",
                                    "fat-tree:24@37GB/s,300ns,hosts_per_leaf=6,oversubscription=3",
                                    "torus:4x4@25GB/s,1us",
                                    "ring:4@100GB/s,200ns*switch:8@50GB/s,500ns",
                                    "switch:4@300GB/s,500ns*rail:8@50GB/s,2us",
                                    "hgx-h100-8*rail:4@400Gbps,2us"};

typedef struct world {
    rlt_topology *t;
    rlt_placement where;
    rlt_router *router;
    rlt_sim *sim;
    const rlt_net_model *model;
    rlt_net_config cfg;
} world;

static void open_world(world *w, const char *text)
{
    rlt_error err = {0};
    *w = (world){.model = &rlt_net_flow};
    if (rlt_topology_load(text, "topologies", &w->t, &err))
        fail_msg("%s: %s", err.where, err.what);
    w->where.n = rlt_topology_accelerators(w->t);
    assert_int_equal(rlt_router_create(w->t, &w->where, RLT_ROUTE_DMODK, &w->router, &err), 0);
    assert_int_equal(rlt_sim_create(&w->sim, &err), 0);
    w->cfg = (rlt_net_config){.sim = w->sim,
                              .router = w->router,
                              .endpoint = *rlt_topology_endpoint(w->t),
                              .bandwidth_scale = 1,
                              .latency_scale = 1};
}

static void close_world(world *w)
{
    rlt_sim_free(w->sim);
    rlt_router_free(w->router);
    rlt_topology_free(w->t);
}

/* Returns the time of a plan with every member simulated. */
static rlt_time simulate(const world *w, const rlt_plan *plan)
{
    rlt_error err = {0};
    rlt_exec *x = NULL;
    rlt_net_config cfg = w->cfg;
    assert_int_equal(rlt_sim_create(&cfg.sim, &err), 0);
    assert_int_equal(rlt_exec_create(w->model, &cfg, &x, &err), 0);
    rlt_exec_arrive_all(x, rlt_exec_add(x, plan, NULL, 0, 0));
    assert_int_equal(rlt_sim_run(cfg.sim, RLT_TIME_MAX, &err), 0);
    rlt_time end = rlt_sim_now(cfg.sim);
    rlt_exec_free(x);
    rlt_sim_free(cfg.sim);
    return end;
}

/* Every step goes to one next member, and passes on what the step before brought. */
static void check_relay(const rlt_plan *plan)
{
    uint32_t steps = plan->algorithm->steps(plan, 0, 0);
    for (uint32_t m = 0; m < plan->req.n; m++) {
        assert_int_equal(plan->algorithm->steps(plan, m, 0), steps);
        for (uint32_t k = 0; k < steps; k++) {
            rlt_step now, first, next = {0};
            rlt_step_clear(&now);
            rlt_step_clear(&first);
            rlt_step_clear(&next);
            plan->algorithm->step(plan, m, 0, k, &now);
            plan->algorithm->step(plan, m, 0, 0, &first);
            assert_true(now.send_to == first.send_to && now.turn == first.turn && now.peer_step == k);
            assert_true(now.recv_count == 1 && now.wait_lane == RLT_NONE && !now.peer_shift && !now.nowait);
            assert_true(!now.copy && now.verb == RLT_VERB_SEND);
            if (k + 1 == steps)
                continue;
            plan->algorithm->step(plan, now.send_to, 0, k + 1, &next);
            assert_true(next.recv_from == m && next.send_bytes == now.send_bytes);
        }
    }
}

/* Draws a group: accelerators at one distance, or any, in a random order. */
static uint32_t draw_group(dice *k, uint32_t all, uint32_t *ranks)
{
    uint32_t stride = 1 + below(k, 4), first = below(k, stride), n = 0;
    for (uint32_t i = first; i < all && n < MAX_MEMBERS; i += stride)
        ranks[n++] = i;
    for (uint32_t i = n; i > 1 && below(k, 6) == 0; i--) {
        uint32_t j = below(k, i), was = ranks[j];
        ranks[j] = ranks[i - 1];
        ranks[i - 1] = was;
    }
    return n < 3 ? n : 2 + below(k, n - 1);
}

static void draw_network(dice *k, world *w)
{
    w->model = below(k, 2) ? &rlt_net_alpha_beta : &rlt_net_flow;
    w->cfg.endpoint.injection = below(k, 2) ? RLT_INJECT_BLOCKING : RLT_INJECT_NIC;
    w->cfg.endpoint.message_ps = below(k, 3) ? 0 : below(k, 1000000);
    w->cfg.endpoint.launch_ps = below(k, 3) ? 0 : below(k, 1000000);
    w->cfg.bandwidth_scale = below(k, 3) ? 1 : 0.7;
}

/* Compares a random collective. Returns true if it is a relay whose time is known. */
static bool one(dice *k, world *w)
{
    uint32_t ranks[MAX_MEMBERS], n = draw_group(k, w->where.n, ranks);
    rlt_error err = {0};
    rlt_group g;
    rlt_plan plan = {0};
    rlt_time time_ps = 0;
    draw_network(k, w);
    assert_int_equal(rlt_group_create(w->t, &w->where, ranks, n, &g, &err), 0);
    uint64_t bytes = below(k, 2) ? below(k, 1u << 26) : below(k, 4096);
    rlt_coll_request req = rlt_group_request(&g, kinds[below(k, 4)], below(k, 2) ? bytes : bytes / n * n);
    req.endpoint = &w->cfg.endpoint;
    assert_int_equal(rlt_plan_create(&rlt_ring, &req, &plan, &err), 0);
    if (plan.lanes == 1 && rlt_ring.relays(&plan))
        check_relay(&plan);
    int rc = rlt__relay_time(&plan, w->model, &w->cfg, &time_ps, &err);
    assert_true(rc == 0 || rc == RLT_EUNSUPPORTED);
    rlt_time whole = rc ? 0 : simulate(w, &plan);
    if (rc == 0 && time_ps != whole)
        fail_msg("%s of %llu bytes, %u ranks from %u, on %s by %s: %lld ps, %lld ps simulated",
                 rlt_coll_name(req.kind), (unsigned long long)req.bytes, n, ranks[0], rlt_topology_name(w->t),
                 w->model->name, (long long)time_ps, (long long)whole);
    rlt_plan_free(&plan);
    rlt_group_free(&g);
    return rc == 0;
}

static void as_simulated(void **state)
{
    uint32_t known = 0;
    dice k = {.seed = 23};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        world w;
        open_world(&w, texts[i]);
        for (uint32_t c = 0; c < CASES / (sizeof texts / sizeof *texts); c++)
            known += one(&k, &w);
        close_world(&w);
    }
    print_message("%u relays\n", known);
    assert_true(known > CASES / 3);
}

/* 3 steps of 50 kB at 20 ps a byte, and of two links of 500 ns; nothing, where two members share a link. */
static void by_hand(void **state)
{
    static const uint32_t apart[] = {0, 1, 2, 3}, over[] = {0, 2, 1, 3};
    rlt_error err = {0};
    (void)state;
    for (int i = 0; i < 2; i++) {
        world w;
        rlt_group g;
        rlt_plan plan = {0};
        rlt_time time_ps = 0;
        open_world(&w, i ? "ring:8@100GB/s,500ns" : "switch:4@50GB/s,500ns");
        assert_int_equal(rlt_group_create(w.t, &w.where, i ? over : apart, 4, &g, &err), 0);
        rlt_coll_request req = rlt_group_request(&g, RLT_REDUCE_SCATTER, 200000);
        assert_int_equal(rlt_plan_create(&rlt_ring, &req, &plan, &err), 0);
        assert_int_equal(rlt__relay_time(&plan, w.model, &w.cfg, &time_ps, &err), i ? RLT_EUNSUPPORTED : 0);
        assert_true(i || time_ps == 3 * 2 * RLT_US);
        rlt_plan_free(&plan);
        rlt_group_free(&g);
        close_world(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_hand), cmocka_unit_test(as_simulated)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
