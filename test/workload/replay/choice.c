/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who carries a collective, on random rules and options: the last rule that applies and can; without one, the algorithm
 * or protocol of its kind; where able, the selector instead of those. It then takes the time of its plan alone.
 */
#include <stdio.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/bound.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "collectives/in_network/reactive.h"
#include "collectives/plan.h"
#include "net/aggregation/aggregator.h"
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
#include "workload/program/program.h"
#include "workload/replay/replay.h"

enum { RANKS = 6, RULES = 4 };

typedef struct drawn {
    rlt_coll_kind kind;
    uint32_t n, root, ranks[RANKS];
    uint64_t bytes;
} drawn;

typedef struct way {
    const rlt_algorithm *algorithm;
    const rlt_reacting *reacting;
    uint32_t library;
} way;

typedef struct outcome {
    int rc;
    const char *name;
    rlt_error why;
    rlt_time takes_ps, bound_ps; /* -1: a protocol's */
} outcome;

static rlt_topology *topology;
static bool aggregates; /* the switch of the network can */
static rlt_placement where;
static rlt_reacting switchml, server;
static rlt_algorithm versioned; /* for this library only */
enum { VERSION = 22304 };

static int plan_versioned(rlt_plan *plan, rlt_error *err)
{
    return plan->req.library == VERSION ? rlt_direct.plan(plan, err)
                                        : rlt_fail(err, RLT_EUNSUPPORTED, "versioned", "for another version");
}

static void open_reacting(rlt_reacting *x, const char *protocol)
{
    rlt_error err = {0};
    x->protocol = rlt_reactive_find(protocol, &err);
    assert_non_null(x->protocol);
    assert_int_equal(rlt_settings_preset(x->protocol, x->values, &err), 0);
}

static void draw(drawn *c, dice *d)
{
    static const rlt_coll_kind kinds[] = {RLT_ALL_REDUCE, RLT_ALL_REDUCE, RLT_ALL_GATHER, RLT_BROADCAST,
                                          RLT_REDUCE};
    static const uint64_t sizes[] = {0, 1, 4096, 20000};
    *c = (drawn){.kind = kinds[below(d, 5)], .n = 1 + below(d, RANKS), .bytes = sizes[below(d, 4)]};
    for (uint32_t i = 0; i < RANKS; i++) { /* the first n of a permutation */
        uint32_t k = below(d, i + 1);
        c->ranks[i] = c->ranks[k];
        c->ranks[k] = i;
    }
    if (rlt_coll_rooted(c->kind))
        c->root = below(d, c->n);
}

static way draw_way(dice *d, bool none)
{
    static const rlt_algorithm *const algorithms[] = {&rlt_ring, &rlt_tree,           &rlt_direct,
                                                      &rlt_nvls, &rlt_point_to_point, &versioned};
    uint32_t k = below(d, 12);
    if (k < 3)
        return (way){.reacting = k ? &switchml : &server};
    return (way){.algorithm = none && k < 6 ? NULL : algorithms[below(d, 6)]};
}

static rlt_program *build(const drawn *c)
{
    rlt_builder *b = NULL;
    rlt_program *p = NULL;
    rlt_error err = {0};
    assert_int_equal(rlt_builder_create(RANKS, &b, &err), 0);
    uint32_t group = rlt_build_group(b, "", c->ranks, c->n);
    for (uint32_t i = 0; i < c->n; i++) {
        rlt_op_desc o = rlt_op_desc_init(RLT_OP_COLLECTIVE, c->ranks[i]);
        o.coll = c->kind;
        o.group = group;
        o.root = c->root;
        o.bytes = c->bytes;
        o.name = rlt_build_string(b, "meet", 4);
        rlt_build_op(b, &o);
    }
    if (rlt_builder_finish(b, "test", &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    return p;
}

typedef struct watch {
    const rlt_sim *sim;
    rlt_time end_ps;
} watch;

static void note_end(void *ctx, uint64_t cookie)
{
    watch *c = ctx;
    (void)cookie;
    c->end_ps = rlt_sim_now(c->sim);
}

/* Finds the time of a plan alone, and its bound. */
static void time_of(const rlt_replay_options *o, const rlt_plan *plan, outcome *r)
{
    rlt_error err = {0};
    rlt_router *router = NULL;
    rlt_sim *sim = NULL;
    rlt_exec *x = NULL;
    assert_int_equal(rlt_router_create(topology, &where, o->routing, &router, &err), 0);
    assert_int_equal(rlt_sim_create(&sim, &err), 0);
    rlt_net_config cfg = {.sim = sim,
                          .router = router,
                          .endpoint = o->endpoint,
                          .bandwidth_scale = o->network_scale,
                          .latency_scale = 1 / o->network_scale,
                          .packet = o->packet};
    assert_int_equal(rlt_exec_create(o->model, &cfg, &x, &err), 0);
    watch c = {.sim = sim};
    rlt_exec_client client = {.ctx = &c, .done = note_end};
    rlt_exec_arrive_all(x, rlt_exec_add(x, plan, &client, 0, 0));
    assert_int_equal(rlt_sim_run(sim, RLT_TIME_MAX, &err), 0);
    r->takes_ps = c.end_ps;
    if (!o->no_bounds) {
        rlt_bound bound;
        assert_int_equal(rlt_plan_bound(plan, router, o->network_scale, 1 / o->network_scale, &bound, &err),
                         0);
        r->bound_ps = rlt_bound_under(&bound, o->model);
    }
    rlt_exec_free(x);
    rlt_sim_free(sim);
    rlt_router_free(router);
}

static outcome carry(const rlt_replay_options *o, const drawn *c, way w)
{
    outcome r = {.takes_ps = -1};
    if (w.reacting && c->bytes > 0 && c->n > 1) {
        /* A server of its own needs a rank beyond those that train; there is none. */
        r.rc = w.reacting == &server       ? RLT_ERANGE
               : c->kind != RLT_ALL_REDUCE ? RLT_EUNSUPPORTED
               : !aggregates               ? RLT_ETOPOLOGY
                                           : 0;
        r.name = rlt_reactive_name(w.reacting->protocol);
        return r;
    }
    rlt_group g;
    rlt_plan plan = {0};
    assert_int_equal(rlt_group_create(topology, &where, c->ranks, c->n, &g, &r.why), 0);
    rlt_coll_request req = rlt_group_request(&g, c->kind, c->bytes);
    req.root = c->root;
    req.endpoint = &o->endpoint;
    req.model = o->model;
    req.library = w.library;
    r.rc = rlt_plan_create(w.algorithm, &req, &plan, &r.why);
    if (!r.rc) {
        r.name = plan.algorithm->name;
        time_of(o, &plan, &r);
        rlt_plan_free(&plan);
    }
    rlt_group_free(&g);
    return r;
}

static bool refused(int rc)
{
    return rc == RLT_EUNSUPPORTED || rc == RLT_ETOPOLOGY;
}

static outcome expected(const rlt_replay_options *o, const drawn *c)
{
    outcome first = {.rc = 1};
    const rlt_algorithm *a = o->algorithm[c->kind];
    const rlt_reacting *reacting = o->reacting[c->kind];
    for (uint32_t i = o->n_rules; i-- > 0;) {
        const rlt_algorithm_rule *rule = &o->rules[i];
        bool applies = rule->kind == c->kind && (!rule->members || rule->members == c->n) &&
                       c->bytes >= rule->from_bytes;
        if (!applies)
            continue;
        outcome r =
            carry(o, c, (way){rule->algorithm, rule->reacting, rule->library ? rule->library : o->library});
        if (!refused(r.rc))
            return r;
        first = first.rc == 1 ? r : first;
    }
    if (first.rc == 1) /* an algorithm for other kinds is none */
        first = carry(o, c, (way){a && a->kinds >> c->kind & 1 ? a : NULL, reacting, o->library});
    if (refused(first.rc) && (a || reacting) && o->algorithm_where_able &&
        (first.rc == RLT_EUNSUPPORTED || reacting))
        return carry(o, c, (way){.library = o->library});
    return first;
}

static void assert_outcome(const rlt_replay_options *o, const drawn *c, uint64_t seed, uint32_t *carried)
{
    rlt_program *p = build(c);
    rlt_replay *x = NULL;
    rlt_error err = {0};
    outcome want = expected(o, c);
    assert_int_equal(rlt_replay_create(p, o, &x, &err), 0);
    int rc = rlt_replay_run(x, &err);
    if (rc != want.rc)
        fail_msg("case %llu: %d %s: %s, not %d %s", (unsigned long long)seed, rc, err.where, err.what,
                 want.rc, want.why.what);
    if (!rc) {
        rlt_comm_result r = rlt_replay_comm(x, 0);
        if (strcmp(r.algorithm, want.name) != 0)
            fail_msg("case %llu: by %s, not %s", (unsigned long long)seed, r.algorithm, want.name);
        assert_int_equal(r.job != RLT_NONE, want.takes_ps < 0);
        assert_true(r.first_arrival_ps == 0 && r.last_arrival_ps == 0);
        assert_true(want.takes_ps < 0 ? (r.bound_ps > 0) == !o->no_bounds : r.bound_ps == want.bound_ps);
        if (want.takes_ps >= 0 && r.end_ps != want.takes_ps)
            fail_msg("case %llu: %s of %llu bytes by %s among %u, on %s: %lld ps, not %lld",
                     (unsigned long long)seed, rlt_coll_name(c->kind), (unsigned long long)c->bytes,
                     r.algorithm, c->n, rlt_topology_name(topology), (long long)r.end_ps,
                     (long long)want.takes_ps);
        assert_int_equal(rlt_replay_time(x), r.end_ps);
    } else {
        assert_non_null(strstr(err.where, "meet"));
        if (want.why.what[0])
            assert_string_equal(err.what, want.why.what);
        assert_true(err.what[0] != '\0');
    }
    *carried += !rc;
    rlt_replay_free(x);
    rlt_program_free(p);
}

static void rules_and_options(void **state)
{
    static const char *const networks[] = {
        "switch:6@10GB/s,500ns,in_network=reduce+multicast", "switch:6@10GB/s,500ns",
        "switch:2@100GB/s,100ns*switch:3@10GB/s,1us", "ring:6@10GB/s,500ns"};
    uint32_t carried = 0;
    (void)state;
    open_reacting(&switchml, "switchml");
    open_reacting(&server, "ps-switch");
    versioned = rlt_direct;
    versioned.name = "versioned";
    versioned.plan = plan_versioned;
    for (uint64_t seed = 0; seed < 800; seed++) {
        dice d = {.seed = seed};
        rlt_error err = {0};
        drawn c;
        rlt_packet_settings packet = rlt_packet_default();
        rlt_aggregator_config aggregator = {0};
        rlt_algorithm_rule rules[RULES];
        rlt_replay_options o = rlt_replay_options_default();
        uint32_t net = below(&d, 5) % 4; /* more often the first */
        aggregates = net == 0;
        assert_int_equal(rlt_topology_load(networks[net], NULL, &topology, &err), 0);
        assert_int_equal(rlt_placement_identity(topology, RANKS, &where, &err), 0);
        draw(&c, &d);
        o.topology = topology;
        o.placement = &where;
        o.endpoint = *rlt_topology_endpoint(topology);
        o.endpoint.message_ps = below(&d, 2) ? 0 : 20 * RLT_US;
        o.model = &rlt_net_packet;
        o.packet = &packet;
        o.aggregator = &aggregator;
        o.network_scale = below(&d, 2) ? 1 : below(&d, 2) ? 2 : 0.5;
        o.no_bounds = below(&d, 3);
        o.library = below(&d, 3) ? 0 : VERSION - below(&d, 2);
        o.rules = rules;
        o.n_rules = below(&d, RULES + 1);
        for (uint32_t i = 0; i < o.n_rules; i++) {
            way w = draw_way(&d, true);
            rules[i] = (rlt_algorithm_rule){.kind = below(&d, 4) ? c.kind : RLT_ALL_TO_ALL,
                                            .members = below(&d, 2) ? 0 : c.n + (below(&d, 4) == 0),
                                            .from_bytes = c.bytes + below(&d, 4) / 2 - (c.bytes > 0),
                                            .algorithm = w.algorithm,
                                            .reacting = w.reacting,
                                            .library = below(&d, 2) ? 0 : VERSION - below(&d, 2)};
        }
        if (below(&d, 3)) {
            way w = draw_way(&d, true);
            o.algorithm[c.kind] = w.algorithm;
            o.reacting[c.kind] = w.reacting;
        }
        o.algorithm_where_able = below(&d, 2);
        assert_outcome(&o, &c, seed, &carried);
        rlt_placement_free(&where);
        rlt_topology_free(topology);
    }
    print_message("# %u of 800 carried\n", carried);
    assert_true(carried > 500 && carried < 750);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rules_and_options)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
