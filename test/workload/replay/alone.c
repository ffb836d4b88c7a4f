/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Groups that differ by an exchange of nodes are one class of the timing alone, and take the same time. */
#include "workload/replay/alone.h"

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
#include "test/support/support.h"
#include "workload/replay/replay.h"
#include "workload/timing/timing.h"

enum { MEMBERS = 4 };

/* Finds class and time of a collective among four ranks; `timing` NULL: by a timing of its own. */
static void ask(const rlt_topology *t, rlt_timing *timing, const uint32_t *ranks, uint32_t *class,
                rlt_time *time_ps)
{
    rlt_error err = {0};
    rlt_replay_options o = rlt_replay_options_default();
    rlt_placement where = {.n = rlt_topology_accelerators(t)};
    rlt_timing *own = NULL;
    rlt_group g;
    o.topology = t;
    o.endpoint = *rlt_topology_endpoint(t);
    if (!timing)
        assert_int_equal(rlt_timing_alone(&o, &own, &err), 0);
    timing = timing ? timing : own;
    assert_int_equal(rlt_group_create(t, &where, ranks, MEMBERS, &g, &err), 0);
    rlt_coll_request req = rlt_group_request(&g, RLT_ALL_REDUCE, 1 << 20);
    req.endpoint = &o.endpoint;
    rlt_request_params(&req, &o.params);
    assert_int_equal(timing->classify(timing, &req, class, &err), 0);
    assert_int_equal(timing->duration(timing, &req, time_ps, &err), 0);
    rlt_group_free(&g);
    rlt_timing_free(own);
}

static void rails(void **state)
{
    static const uint32_t groups[][MEMBERS] = {{0, 4, 8, 12}, {4, 12, 20, 28}, {1, 5, 9, 13}, {0, 1, 4, 5}};
    const char *text = "switch:4@300GB/s,500ns*rail:8@50GB/s,2us";
    rlt_error err = {0};
    rlt_topology *t = NULL;
    rlt_timing *shared = NULL;
    rlt_replay_options o = rlt_replay_options_default();
    uint32_t class[4], alone_class;
    (void)state;
    assert_int_equal(rlt_topology_load(text, NULL, &t, &err), 0);
    assert_true(rlt_topology_exchanges(t, 0) && rlt_topology_exchanges(t, 1));
    o.topology = t;
    o.endpoint = *rlt_topology_endpoint(t);
    assert_int_equal(rlt_timing_alone(&o, &shared, &err), 0);
    for (int i = 0; i < 4; i++) {
        rlt_time known, simulated;
        ask(t, shared, groups[i], &class[i], &known);
        ask(t, NULL, groups[i], &alone_class, &simulated);
        assert_true(known == simulated);
    }
    if (class[0] != class[1] || class[0] != class[2] || class[3] == class[0])
        fail_msg("classes %u, %u, %u, %u", class[0], class[1], class[2], class[3]);
    rlt_timing_free(shared);
    rlt_topology_free(t);
}

/* No switch here reduces. An algorithm that needs one is refused, or replaced by the default where that is allowed. */
static void where_able(void **state)
{
    static const uint32_t ranks[MEMBERS] = {0, 1, 2, 3};
    rlt_error err = {0};
    rlt_topology *t = NULL;
    rlt_time time_ps[3];
    (void)state;
    assert_int_equal(rlt_topology_load("switch:4@300GB/s,500ns", NULL, &t, &err), 0);
    for (int i = 0; i < 3; i++) { /* the default, the wish alone, the wish where able */
        rlt_replay_options o = rlt_replay_options_default();
        rlt_placement where = {.n = MEMBERS};
        rlt_timing *timing = NULL;
        rlt_group g;
        o.topology = t;
        o.endpoint = *rlt_topology_endpoint(t);
        o.algorithm[RLT_ALL_REDUCE] = i ? rlt_algorithm_find("nvls", &err) : NULL;
        o.algorithm_where_able = i == 2;
        assert_int_equal(rlt_timing_alone(&o, &timing, &err), 0);
        assert_int_equal(rlt_group_create(t, &where, ranks, MEMBERS, &g, &err), 0);
        rlt_coll_request req = rlt_group_request(&g, RLT_ALL_REDUCE, 1 << 20);
        req.endpoint = &o.endpoint;
        rlt_request_params(&req, &o.params);
        assert_int_equal(timing->duration(timing, &req, &time_ps[i], &err), i == 1 ? RLT_EUNSUPPORTED : 0);
        rlt_group_free(&g);
        rlt_timing_free(timing);
    }
    assert_true(time_ps[0] > 0 && time_ps[2] == time_ps[0]);
    rlt_topology_free(t);
}

static void not_exchanged(void **state)
{
    static const struct {
        const char *text;
        uint32_t inside, nodes;
    } cases[] = {
        {"switch:4@300GB/s,500ns*rail:8@50GB/s,2us,nics=2", 0, 1},
        {"switch:4@300GB/s,500ns*rail:8@50GB/s,2us,pxn=off", 0, 0},
        {"switch:4@300GB/s,500ns*rail:8@50GB/s,2us,nodes_per_leaf=4", 0, 0},
        {"switch:4@300GB/s,500ns*ring:8@50GB/s,2us", 1, 0},
        {"switch:4@300GB/s,500ns*switch:8@50GB/s,2us", 1, 1},
        {"switch:4@300GB/s,500ns*fat-tree:12@50GB/s,2us,hosts_per_leaf=4", 1, 4},
        {"switch:4@300GB/s,500ns*fat-tree:12@50GB/s,2us,hosts_per_leaf=4,spines=3", 1, 0},
        {"fat-tree:24@50GB/s,2us,levels=3,hosts_per_leaf=2,leaves_per_pod=3*switch:2@50GB/s,2us", 6, 1},
        {"fat-tree:24@50GB/s,2us,levels=3,hosts_per_leaf=2,cores=5*switch:2@50GB/s,2us", 0, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlt_error err = {0};
        rlt_topology *t = NULL;
        if (rlt_topology_load(cases[i].text, NULL, &t, &err))
            fail_msg("%s: %s: %s", cases[i].text, err.where, err.what);
        if (rlt_topology_exchanges(t, 0) != cases[i].inside || rlt_topology_exchanges(t, 1) != cases[i].nodes)
            fail_msg("%s", cases[i].text);
        rlt_topology_free(t);
    }
}

static uint32_t no_steps_of_first(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    return member ? rlt_direct.steps(plan, member, lane) : 0;
}

static int refuse(rlt_plan *plan, rlt_error *err)
{
    (void)plan;
    return rlt_fail(err, RLT_ETOPOLOGY, "refuse", "not here");
}

/* An algorithm whose first member does nothing, so that others wait for it: it has no time, and neither has what follows.
 * One that refuses the topology is not replaced by another. */
static void broken(void **state)
{
    static const uint32_t ranks[MEMBERS] = {0, 1, 2, 3};
    rlt_algorithm stalls = rlt_direct, refuses = rlt_direct;
    rlt_error err = {0};
    rlt_topology *t = NULL;
    rlt_timing *timing = NULL;
    rlt_replay_options o = rlt_replay_options_default();
    rlt_placement where = {.n = MEMBERS};
    rlt_time time_ps = 0;
    rlt_group g;
    (void)state;
    stalls.symmetry = NULL;
    stalls.alike = stalls.relays = NULL;
    stalls.turns = false;
    stalls.steps = no_steps_of_first;
    refuses.plan = refuse;
    assert_int_equal(rlt_topology_load("switch:4@300GB/s,500ns", NULL, &t, &err), 0);
    o.topology = t;
    o.endpoint = *rlt_topology_endpoint(t);
    o.algorithm[RLT_ALL_REDUCE] = &rlt_direct;
    o.algorithm[RLT_ALL_GATHER] = &stalls;
    o.algorithm[RLT_ALL_TO_ALL] = &refuses;
    o.algorithm_where_able = true;
    assert_int_equal(rlt_timing_alone(&o, &timing, &err), 0);
    assert_int_equal(rlt_group_create(t, &where, ranks, MEMBERS, &g, &err), 0);
    static const struct {
        rlt_coll_kind kind;
        int rc;
        const char *where, *what;
    } rows[] = {{RLT_ALL_REDUCE, 0, "", ""},
                {RLT_ALL_TO_ALL, RLT_ETOPOLOGY, "refuse", "not here"},
                {RLT_ALL_GATHER, RLT_ESTALL, "all_gather", "ended with work pending"},
                {RLT_REDUCE_SCATTER, RLT_ESTALL, "reduce_scatter", "follows a collective that did not end"},
                {RLT_ALL_REDUCE, 0, "", ""}}; /* it is known */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_coll_request req = rlt_group_request(&g, rows[i].kind, 1 << 20);
        req.endpoint = &o.endpoint;
        err = (rlt_error){0};
        assert_int_equal(timing->duration(timing, &req, &time_ps, &err), rows[i].rc);
        assert_string_equal(err.where, rows[i].where);
        assert_string_equal(err.what, rows[i].what);
    }
    rlt_group_free(&g);
    rlt_timing_free(timing);
    rlt_topology_free(t);
}

/* The switch can add up, but the model of the network cannot tell. */
static void weak_model(void **state)
{
    static const uint32_t ranks[MEMBERS] = {0, 1, 2, 3};
    rlt_net_model weak = rlt_net_flow;
    rlt_topology *t = NULL;
    rlt_placement where = {.n = MEMBERS};
    rlt_group g;
    rlt_error err = {0};
    (void)state;
    weak.reduce_to = NULL;
    assert_int_equal(rlt_topology_load("switch:4@300GB/s,500ns,in_network=reduce+multicast", NULL, &t, &err),
                     0);
    assert_int_equal(rlt_group_create(t, &where, ranks, MEMBERS, &g, &err), 0);
    for (int i = 0; i < 2; i++) {
        rlt_replay_options o = rlt_replay_options_default();
        rlt_timing *timing = NULL;
        rlt_time time_ps = 0;
        o.topology = t;
        o.endpoint = *rlt_topology_endpoint(t);
        o.model = i ? &weak : &rlt_net_flow;
        o.algorithm[RLT_ALL_REDUCE] = &rlt_nvls;
        assert_int_equal(rlt_timing_alone(&o, &timing, &err), 0);
        rlt_coll_request req = rlt_group_request(&g, RLT_ALL_REDUCE, 1 << 20);
        req.endpoint = &o.endpoint;
        assert_int_equal(timing->duration(timing, &req, &time_ps, &err), i ? RLT_EUNSUPPORTED : 0);
        rlt_timing_free(timing);
    }
    assert_string_equal(err.what, "the network model 'flow' has no in-network reduction");
    rlt_group_free(&g);
    rlt_topology_free(t);
}

typedef struct watch {
    const rlt_sim *sim;
    rlt_time end_ps;
} watch;

static void note_end(void *ctx, uint64_t cookie)
{
    watch *w = ctx;
    (void)cookie;
    w->end_ps = rlt_sim_now(w->sim);
}

/* A collective of packets ends when its last member does, whatever is still on the way back. */
static void packets(void **state)
{
    static const rlt_algorithm *const algorithms[] = {&rlt_direct, &rlt_ring, &rlt_tree};
    static const uint32_t ranks[MEMBERS] = {0, 1, 2, 3};
    rlt_error err = {0};
    rlt_topology *t = NULL;
    rlt_timing *timing = NULL;
    rlt_router *router = NULL;
    rlt_packet_settings packet = rlt_packet_default();
    rlt_placement where = {.n = MEMBERS};
    rlt_group g;
    (void)state;
    assert_int_equal(rlt_topology_load("switch:4@10GB/s,500ns", NULL, &t, &err), 0);
    assert_int_equal(rlt_router_create(t, &where, RLT_ROUTE_DMODK, &router, &err), 0);
    assert_int_equal(rlt_group_create(t, &where, ranks, MEMBERS, &g, &err), 0);
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
        rlt_replay_options o = rlt_replay_options_default();
        o.topology = t;
        o.endpoint = *rlt_topology_endpoint(t);
        o.model = &rlt_net_packet;
        o.packet = &packet;
        o.algorithm[RLT_ALL_REDUCE] = algorithms[i];
        assert_int_equal(rlt_timing_alone(&o, &timing, &err), 0);
        for (uint64_t bytes = 4; bytes <= 40000; bytes *= 100) {
            rlt_plan plan = {0};
            rlt_exec *x = NULL;
            rlt_sim *sim = NULL;
            rlt_time time_ps = 0;
            rlt_coll_request req = rlt_group_request(&g, RLT_ALL_REDUCE, bytes);
            req.endpoint = &o.endpoint;
            assert_int_equal(timing->duration(timing, &req, &time_ps, &err), 0);
            assert_int_equal(rlt_plan_create(algorithms[i], &req, &plan, &err), 0);
            assert_int_equal(rlt_sim_create(&sim, &err), 0);
            rlt_net_config cfg = {.sim = sim,
                                  .router = router,
                                  .endpoint = o.endpoint,
                                  .bandwidth_scale = 1,
                                  .latency_scale = 1,
                                  .packet = &packet};
            watch w = {.sim = sim};
            rlt_exec_client client = {.ctx = &w, .done = note_end};
            assert_int_equal(rlt_exec_create(&rlt_net_packet, &cfg, &x, &err), 0);
            rlt_exec_arrive_all(x, rlt_exec_add(x, &plan, &client, 0, 0));
            assert_int_equal(rlt_sim_run(sim, RLT_TIME_MAX, &err), 0);
            assert_int_equal(time_ps, w.end_ps);
            rlt_exec_free(x);
            rlt_sim_free(sim);
            rlt_plan_free(&plan);
        }
        rlt_timing_free(timing);
    }
    rlt_group_free(&g);
    rlt_router_free(router);
    rlt_topology_free(t);
}

/* A collective that was stopped has no time, and nothing is simulated on top of what it left. */
static void stopped(void **state)
{
    static const uint32_t ranks[MEMBERS] = {0, 1, 2, 3};
    rlt_error err = {0};
    rlt_topology *t = NULL;
    rlt_timing *timing = NULL;
    rlt_replay_options o = rlt_replay_options_default();
    rlt_placement where = {.n = 8};
    rlt_time time_ps = 0;
    rlt_group g;
    (void)state;
    assert_int_equal(rlt_topology_load("switch:8@300GB/s,500ns", NULL, &t, &err), 0);
    o.topology = t;
    o.endpoint = *rlt_topology_endpoint(t);
    assert_int_equal(rlt_timing_alone(&o, &timing, &err), 0);
    assert_int_equal(rlt_group_create(t, &where, ranks, MEMBERS, &g, &err), 0);
    rlt_coll_request req = rlt_group_request(&g, RLT_ALL_REDUCE, 1 << 20);
    req.endpoint = &o.endpoint;
    rlt_request_params(&req, &o.params);
    rlt_sim_stop(rlt_timing_alone_sim(timing));
    for (int i = 0; i < 3; i++) {
        req.bytes = i == 2 ? 1 << 10 : 1 << 20;
        assert_int_equal(timing->duration(timing, &req, &time_ps, &err), RLT_ECANCELLED);
    }
    rlt_group_free(&g);
    rlt_timing_free(timing);
    rlt_topology_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rails),         cmocka_unit_test(where_able),
                                       cmocka_unit_test(not_exchanged), cmocka_unit_test(stopped),
                                       cmocka_unit_test(packets),       cmocka_unit_test(weak_model),
                                       cmocka_unit_test(broken)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
