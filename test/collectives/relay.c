/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The time of a relay in closed form equals that of a simulation of every member, to the picosecond. */
#include "collectives/relay.h"

#include <stdio.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "collectives/plan.h"
#include "net/endpoint/endpoint.h"
#include "net/import/import.h"
#include "net/network.h"
#include "net/packet/packet.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "test/support/dice.h"
#include "test/support/support.h"

enum { CASES = 14000, MAX_MEMBERS = 64 };

static const rlt_coll_kind kinds[] = {RLT_ALL_REDUCE, RLT_REDUCE_SCATTER, RLT_ALL_GATHER, RLT_BARRIER};

static const char *const texts[] = {
    "switch:12@50GB/s,500ns", "switch:2@300GB/s,100ns*fat-tree:24@47GB/s,500ns,hosts_per_leaf=4",
    "switch:2@450GB/s,1us*fat-tree:27@50GB/s,500ns,levels=3,hosts_per_leaf=3",
    "fat-tree:32@50GB/s,500ns,levels=3,hosts_per_leaf=8,leaves_per_pod=2",
    "fat-tree:24@37GB/s,300ns,hosts_per_leaf=6,oversubscription=3", "torus:4x4@25GB/s,1us",
    "ring:4@100GB/s,200ns*switch:8@50GB/s,500ns", "switch:4@300GB/s,500ns*rail:8@50GB/s,2us",
    "hgx-h100-8*rail:4@400Gbps,2us",
    /* little latency: own messages may leave after data has come */
    "switch:12@50GB/s,0ns", "torus:4x3@7GB/s,0ns", "switch:4@1GB/s,3ns*rail:4@50GB/s,0ns",
    "ring:4@50GB/s,0ns*switch:4@1GB/s,20ns", "fully-connected:3@9GB/s,1ns*ring:4@3GB/s,2ns"};

typedef struct world {
    rlt_topology *t;
    rlt_placement where;
    rlt_router *router;
    rlt_sim *sim;
    const rlt_net_model *model;
    rlt_net_config cfg;
} world;

static void open_world(world *w, const char *text, rlt_routing routing)
{
    rlt_error err = {0};
    *w = (world){.model = &rlt_net_flow};
    if (rlt_topology_load(text, "topologies", &w->t, &err))
        fail_msg("%s: %s", err.where, err.what);
    w->where.n = rlt_topology_accelerators(w->t);
    assert_int_equal(rlt_router_create(w->t, &w->where, routing, &w->router, &err), 0);
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

/* A relay of any number of steps, in which what begins at a member has any of five sizes. */
typedef struct passing {
    uint32_t steps;
    uint64_t bytes[MAX_MEMBERS]; /* of what begins at each member */
} passing;

static uint32_t passing_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    (void)member;
    assert_int_equal(lane, 0);
    return ((const passing *)plan->data)->steps;
}

static void passing_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    uint32_t n = plan->req.n;
    rlt_step cleared;
    rlt_step_clear(&cleared);
    assert_memory_equal(out, &cleared, sizeof cleared);
    assert_int_equal(lane, 0);
    out->send_to = (member + 1) % n;
    out->recv_from = (member + n - 1) % n;
    out->recv_count = 1;
    out->peer_step = k;
    out->send_bytes = ((const passing *)plan->data)->bytes[(member + n - k % n) % n];
}

static bool passes(const rlt_plan *plan)
{
    (void)plan;
    return true;
}

static bool passes_not(const rlt_plan *plan)
{
    (void)plan;
    return false;
}

static const rlt_algorithm passes_on = {
    .name = "passes_on", .steps = passing_steps, .step = passing_step, .relays = passes};

/* Compares a drawn relay. Returns true if its time is known; it is not with five sizes. */
static bool one_drawn(dice *k, world *w)
{
    uint32_t ranks[MAX_MEMBERS], n = draw_group(k, w->where.n, ranks), sizes[5], kinds_of = 0;
    bool seen[5] = {false};
    rlt_error err = {0};
    passing p;
    rlt_time time_ps = 0;
    rlt_plan plan = {.algorithm = &passes_on, .lanes = 1, .blocks = 1, .data = &p};
    draw_network(k, w);
    plan.req = (rlt_coll_request){.n = n, .ranks = ranks, .topology = w->t, .placement = &w->where};
    p.steps = 1 + below(k, 3 * n);
    for (uint32_t i = 0; i < 5; i++)
        sizes[i] = 100 * i + below(k, below(k, 2) ? 100 : 1u << 20);
    uint32_t most = 1 + below(k, 5);
    for (uint32_t i = 0; i < n; i++)
        p.bytes[i] = sizes[below(k, most)];
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < 5; j++)
            seen[j] = seen[j] || p.bytes[i] == sizes[j];
    for (uint32_t j = 0; j < 5; j++)
        kinds_of += seen[j];
    int rc = rlt__relay_time(&plan, w->model, &w->cfg, &time_ps, &err);
    assert_true(rc == 0 || rc == RLT_EUNSUPPORTED);
    assert_true(rc || kinds_of < 5);
    if (rc == 0)
        assert_int_equal(time_ps, simulate(w, &plan));
    return rc == 0;
}

static void drawn_as_simulated(void **state)
{
    uint32_t known = 0;
    dice k = {.seed = 29};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        world w;
        open_world(&w, texts[i], i % 2 ? RLT_ROUTE_ECMP : RLT_ROUTE_DMODK);
        for (uint32_t c = 0; c < 300; c++)
            known += one_drawn(&k, &w);
        close_world(&w);
    }
    print_message("%u relays\n", known);
    assert_true(known > 1000);
}

static void as_simulated(void **state)
{
    uint32_t known = 0;
    dice k = {.seed = 23};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        world w;
        open_world(&w, texts[i], i % 2 ? RLT_ROUTE_DMODK : RLT_ROUTE_ECMP);
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
        open_world(&w, i ? "ring:8@100GB/s,500ns" : "switch:4@50GB/s,500ns", RLT_ROUTE_DMODK);
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

/* Returns the code for a ring on a network. */
static int ring_time(const char *network, rlt_coll_kind kind, uint64_t bytes_each, rlt_injection injection,
                     rlt_time *time_ps)
{
    world w;
    rlt_group g;
    rlt_plan plan = {0};
    rlt_error err = {0};
    open_world(&w, network, RLT_ROUTE_DMODK);
    w.model = &rlt_net_flow;
    w.cfg.endpoint.injection = injection;
    assert_int_equal(rlt_group_create(w.t, &w.where, NULL, w.where.n, &g, &err), 0);
    rlt_coll_request req = rlt_group_request(&g, kind, bytes_each * w.where.n);
    req.params.channels = 1;
    assert_int_equal(rlt_plan_create(&rlt_ring, &req, &plan, &err), 0);
    *time_ps = 0;
    int rc = rlt__relay_time(&plan, w.model, &w.cfg, time_ps, &err);
    rlt_plan_free(&plan);
    rlt_group_free(&g);
    close_world(&w);
    return rc;
}

/*
 * Every second route has 1 GB/s, and the others 50 GB/s: the slow ones hold their sender. 12 000 members in 23 998
 * steps are too many to look at each, unless a formula knows the time: 1 us for 1000 bytes, and 10 ns. At 1 byte a second, 3
 * steps of 400 000 s and 4 more are beyond the clock; of 300 000 s they are not.
 */
static void limits(void **state)
{
    static const char many[] = "switch:2@50GB/s,0ns*switch:6000@1GB/s,5ns", slow[] = "switch:4@1B/s,0ns";
    rlt_time t;
    (void)state;
    assert_int_equal(ring_time(many, RLT_ALL_REDUCE, 1000, RLT_INJECT_NIC, &t), RLT_EUNSUPPORTED);
    assert_int_equal(ring_time(many, RLT_ALL_REDUCE, 1000, RLT_INJECT_BLOCKING, &t), 0);
    assert_int_equal(t, 23998 * 1010 * RLT_NS);
    /* where all routes are alike there is a formula, too */
    assert_int_equal(ring_time("switch:12000@1GB/s,5ns", RLT_ALL_REDUCE, 1000, RLT_INJECT_NIC, &t), 0);
    assert_int_equal(t, 23998 * 1010 * RLT_NS);
    assert_int_equal(ring_time(slow, RLT_ALL_GATHER, 400000, RLT_INJECT_NIC, &t), RLT_EUNSUPPORTED);
    assert_int_equal(ring_time(slow, RLT_ALL_GATHER, 300000, RLT_INJECT_NIC, &t), 0);
    assert_int_equal(t, 900000 * RLT_S);
}

/* Each accelerator of a switch has links of its own bandwidth: as many sorts of routes as members, up to 32. */
static void sorts_of_routes(void **state)
{
    (void)state;
    for (uint32_t n = 31; n <= 33; n++) {
        world w;
        passing p = {.steps = 70};
        char text[40];
        rlt_error err = {0};
        rlt_time time_ps = 0;
        snprintf(text, sizeof text, "switch:%u@50GB/s,100ns", n);
        open_world(&w, text, RLT_ROUTE_DMODK);
        for (uint32_t i = 0; i < n; i++) {
            p.bytes[i] = 1000;
            snprintf(text, sizeof text, "acc%u", i);
            assert_int_equal(rlt_topology_scale_links(w.t, text, 1.0 / (i + 2), &err), 0);
        }
        rlt_plan plan = {.algorithm = &passes_on, .lanes = 1, .blocks = 1, .data = &p, .req = {.n = n}};
        assert_int_equal(rlt__relay_time(&plan, w.model, &w.cfg, &time_ps, &err),
                         n > 32 ? RLT_EUNSUPPORTED : 0);
        assert_true(n > 32 || time_ps == simulate(&w, &plan));
        close_world(&w);
    }
}

/* One member, several lanes, sprayed messages, a graph, a model that does not fold, steps that are no relay. */
static void what_is_no_relay(void **state)
{
    static const struct {
        const char *network;
        uint32_t n, lanes;
        rlt_routing routing;
        const rlt_net_model *model;
        bool relays, says;
        int rc;
    } rows[] = {
        {"switch:4@50GB/s,100ns", 4, 1, RLT_ROUTE_DMODK, &rlt_net_flow, true, true, 0},
        {"switch:4@50GB/s,100ns", 2, 1, RLT_ROUTE_DMODK, &rlt_net_flow, true, true, 0},
        {"switch:4@50GB/s,100ns", 1, 1, RLT_ROUTE_DMODK, &rlt_net_flow, true, true, RLT_EUNSUPPORTED},
        {"switch:4@50GB/s,100ns", 4, 2, RLT_ROUTE_DMODK, &rlt_net_flow, true, true, RLT_EUNSUPPORTED},
        {"switch:4@50GB/s,100ns", 4, 1, RLT_ROUTE_SPRAY, &rlt_net_flow, true, true, RLT_EUNSUPPORTED},
        {"dgx1-v100-8", 2, 1, RLT_ROUTE_DMODK, &rlt_net_flow, true, true, RLT_EUNSUPPORTED},
        {"switch:4@50GB/s,100ns", 4, 1, RLT_ROUTE_DMODK, &rlt_net_packet, true, true, RLT_EUNSUPPORTED},
        {"switch:4@50GB/s,100ns", 4, 1, RLT_ROUTE_DMODK, &rlt_net_flow, false, true, RLT_EUNSUPPORTED},
        {"switch:4@50GB/s,100ns", 4, 1, RLT_ROUTE_DMODK, &rlt_net_flow, true, false, RLT_EUNSUPPORTED},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        world w;
        rlt_error err = {0};
        rlt_time t = 0;
        passing p = {.steps = 3, .bytes = {10, 10, 10, 10}};
        rlt_algorithm a = passes_on;
        a.relays = !rows[i].relays ? NULL : rows[i].says ? passes : passes_not;
        rlt_plan plan = {
            .algorithm = &a, .lanes = rows[i].lanes, .blocks = 1, .data = &p, .req = {.n = rows[i].n}};
        open_world(&w, rows[i].network, rows[i].routing);
        assert_int_equal(rlt__relay_time(&plan, rows[i].model, &w.cfg, &t, &err), rows[i].rc);
        assert_string_equal(err.what, "");
        assert_true(t == (rows[i].rc ? 0 : 3 * 200200));
        close_world(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand), cmocka_unit_test(as_simulated),    cmocka_unit_test(drawn_as_simulated),
        cmocka_unit_test(limits),  cmocka_unit_test(sorts_of_routes), cmocka_unit_test(what_is_no_relay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
