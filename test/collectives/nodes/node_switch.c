/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Switches that add up and replicate over nodes of several members: the algorithms nvls_tree and collnet.
 * Their proof over sizes and numbers of nodes, bandwidths and latencies in closed form, verdicts of the checker on
 * broken plans, and refusals.
 */
#include <stdio.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/check/checker.h"
#include "collectives/collective.h"
#include "collectives/nodes/node_switch.h"
#include "collectives/plan.h"
#include "net/network.h"
#include "net/shapes/shapes.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/support.h"

#define ADDS "in_network=reduce+multicast"

static const rlt_algorithm *const algorithms[] = {&rlt_nvls_tree, &rlt_collnet};

/* Topologies of small nodes: with and without a switch inside that adds up. */
static void prove_on(const rlt_algorithm *a, rlt_coll_kind kind, const char *inside, uint32_t g,
                     uint32_t nodes, uint32_t *plans)
{
    char topology[160];
    test_group s;
    snprintf(topology, sizeof topology, "switch:%u@100GB/s,500ns%s*switch:%u@10GB/s,1us," ADDS, g, inside,
             nodes);
    test_group_open(&s, topology, 0);
    assert_int_equal(s.g.node, g);
    for (uint32_t i = 0; i < 12; i++) {
        static const uint64_t bytes[] = {1003, 0, 1};
        rlt_coll_request req = rlt_group_request(&s.g, kind, bytes[i % 3]);
        rlt_plan plan;
        rlt_error err = {0};
        req.params.channels = i / 3 % 2 * 2;
        req.params.chunks = i / 6 * 5;
        req.params.window = i % 4;
        assert_int_equal(rlt_plan_create(a, &req, &plan, &err), 0);
        if (rlt_plan_check(&plan, &err) != 0)
            fail_msg("%s, %s, %u nodes of %u: %s: %s", a->name, rlt_coll_name(kind), nodes, g, err.where,
                     err.what);
        rlt_plan_free(&plan);
        ++*plans;
    }
    test_group_close(&s);
}

static void prove_kinds(uint32_t g, uint32_t nodes, uint32_t *plans)
{
    static const rlt_coll_kind kinds[] = {RLT_ALL_REDUCE, RLT_ALL_GATHER, RLT_REDUCE_SCATTER};
    prove_on(&rlt_nvls_tree, RLT_ALL_REDUCE, "," ADDS, g, nodes, plans);
    for (uint32_t k = 0; k < 3; k++) {
        prove_on(&rlt_collnet, kinds[k], "," ADDS, g, nodes, plans);
        prove_on(&rlt_collnet, kinds[k], "", g, nodes, plans);
    }
}

static void proof(void **state)
{
    uint32_t plans = 0;
    (void)state;
    for (uint32_t nodes = 2; nodes <= 9; nodes++)
        for (uint32_t g = 2; g <= 5; g++)
            prove_kinds(g, nodes, &plans);
    prove_kinds(18, 4, &plans);
    prove_kinds(8, 16, &plans);
    assert_int_equal(plans, (8 * 4 + 2) * 7 * 12);
}

/*
 * Nodes of g members with links V to their switch and NICs of R together. nvls_tree: R / 1, 1.5 or 2 for 2, 3
 * or more nodes, and g/(g+1) V. collnet: R, and g/(g+1) V; with messages inside g/(2(g-1)) V. Its all-gather and
 * reduce-scatter: R, which is what NCCL's tuner takes, too (g times the speed of a head); and V, with messages inside
 * g/(g-1) V.
 */
static void bandwidth(void **state)
{
    static const struct {
        const char *algorithm, *topology;
        double algbw_GBps;
        rlt_coll_kind kind;
    } rows[] = {
        {"nvls_tree", "switch:8@450GB/s,500ns," ADDS "*rail:2@50GB/s,500ns", 450 * 8 / 9.0, RLT_ALL_REDUCE},
        {"nvls_tree", "switch:8@450GB/s,500ns," ADDS "*rail:2@25GB/s,500ns", 200, RLT_ALL_REDUCE},
        {"nvls_tree", "switch:8@450GB/s,500ns," ADDS "*rail:3@50GB/s,500ns", 400 / 1.5, RLT_ALL_REDUCE},
        {"nvls_tree", "switch:8@450GB/s,500ns," ADDS "*rail:4@50GB/s,500ns", 400 / 2.0, RLT_ALL_REDUCE},
        {"nvls_tree", "switch:8@450GB/s,500ns," ADDS "*rail:9@50GB/s,500ns", 400 / 2.0, RLT_ALL_REDUCE},
        {"nvls_tree", "switch:4@450GB/s,500ns," ADDS "*fat-tree:4@50GB/s,500ns,nics=2,planes=1", 100 / 2.0,
         RLT_ALL_REDUCE},
        {"collnet", "switch:8@450GB/s,500ns," ADDS "*rail:2@50GB/s,500ns," ADDS, 400, RLT_ALL_REDUCE},
        {"collnet", "switch:8@450GB/s,500ns," ADDS "*fat-tree:4@25GB/s,500ns," ADDS, 200, RLT_ALL_REDUCE},
        {"collnet", "switch:8@450GB/s,500ns," ADDS "*rail:16@50GB/s,500ns," ADDS, 400, RLT_ALL_REDUCE},
        {"collnet", "switch:8@450GB/s,500ns," ADDS "*fat-tree:4@50GB/s,500ns,nics=4,planes=1," ADDS, 200,
         RLT_ALL_REDUCE},
        {"collnet", "switch:8@450GB/s,500ns*rail:4@25GB/s,500ns," ADDS, 200, RLT_ALL_REDUCE},
        {"collnet", "switch:8@450GB/s,500ns*rail:4@50GB/s,500ns," ADDS, 450 * 8 / 14.0, RLT_ALL_REDUCE},
        {"collnet", "switch:8@450GB/s,500ns," ADDS "*rail:4@50GB/s,500ns," ADDS, 400, RLT_ALL_GATHER},
        {"collnet", "switch:8@450GB/s,500ns," ADDS "*rail:4@50GB/s,500ns," ADDS, 400, RLT_REDUCE_SCATTER},
        {"collnet", "switch:4@100GB/s,500ns," ADDS "*rail:2@50GB/s,500ns," ADDS, 100, RLT_ALL_GATHER},
        {"collnet", "switch:4@100GB/s,500ns," ADDS "*rail:2@50GB/s,500ns," ADDS, 100, RLT_REDUCE_SCATTER},
        {"collnet", "switch:4@90GB/s,500ns*rail:2@50GB/s,500ns," ADDS, 90 * 4 / 3.0, RLT_ALL_GATHER},
        {"collnet", "switch:4@90GB/s,500ns*rail:2@50GB/s,500ns," ADDS, 90 * 4 / 3.0, RLT_REDUCE_SCATTER},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        test_net net = {.topology = rows[i].topology, .model = &rlt_net_flow, .algorithm = rows[i].algorithm};
        uint64_t bytes = (uint64_t)4 << 30; /* pipelines of many chunks */
        double seconds = (double)test_collective(&net, rows[i].kind, bytes, NULL).time_ps / 1e12;
        double algbw = (double)bytes / seconds / 1e9;
        if (algbw < 0.97 * rows[i].algbw_GBps || algbw > rows[i].algbw_GBps)
            fail_msg("%s, %s on %s: %.1f GB/s of %.1f", rows[i].algorithm, rlt_coll_name(rows[i].kind),
                     rows[i].topology, algbw, rows[i].algbw_GBps);
    }
}

/*
 * No bytes. A path inside takes 1 us, one between nodes 2 us. collnet: fetch, announcement, sum for all,
 * store; all-gather: share for all, store; reduce-scatter: fetch, announcement, sum for each. nvls_tree: fetch, up and down between four nodes along the longest way of the two trees (0-2-1: two steps),
 * store.
 */
static void latency(void **state)
{
    static const char net[] = "switch:4@100GB/s,500ns," ADDS "*rail:4@20GB/s,1us," ADDS;
    (void)state;
    for (int m = 0; m < 2; m++) {
        test_net n = {
            .topology = net, .model = m ? &rlt_net_flow : &rlt_net_alpha_beta, .algorithm = "collnet"};
        assert_int_equal(test_collective(&n, RLT_ALL_REDUCE, 0, NULL).time_ps, (1 + 2 + 2 + 1) * 1000000);
        assert_int_equal(test_collective(&n, RLT_ALL_GATHER, 0, NULL).time_ps, (2 + 1) * 1000000);
        assert_int_equal(test_collective(&n, RLT_REDUCE_SCATTER, 0, NULL).time_ps, (1 + 2 + 2) * 1000000);
        n.algorithm = "nvls_tree";
        assert_int_equal(test_collective(&n, RLT_ALL_REDUCE, 0, NULL).time_ps, (1 + 2 * 2 * 2 + 1) * 1000000);
    }
}

/* Each byte leaves a node at most once and enters it at most once, whatever the number of nodes. */
static void traffic(void **state)
{
    static const rlt_coll_kind kinds[] = {RLT_ALL_REDUCE, RLT_ALL_GATHER, RLT_REDUCE_SCATTER};
    (void)state;
    for (uint32_t i = 0; i < 9; i++) {
        uint32_t nodes = 2 + i / 3 * 2;
        char topology[160];
        const uint64_t bytes = 48 * 10000;
        snprintf(topology, sizeof topology, "switch:4@400GB/s,500ns," ADDS "*rail:%u@10GB/s,500ns," ADDS,
                 nodes);
        test_net net = {.topology = topology, .model = &rlt_net_flow, .algorithm = "collnet", .chunks = 4};
        test_run r = test_collective(&net, kinds[i % 3], bytes, NULL);
        double busy = r.max_utilization * (double)r.time_ps;
        assert_true(busy > (double)bytes / 4 * 100 - 1 && busy < (double)bytes / 4 * 100 + 1);
    }
}

/* Lower bounds between N nodes with NICs of R: 2 (N-1)/N M/R if switches add up inside nodes only, M/R if
 * also between. Four nodes of eight, R = 400 GB/s. All-gather and reduce-scatter: all but a node's own share must enter
 * or leave it in any case, (N-1)/N M/R; a member's own links carry (n-1)/n M at 500 GB/s, which is longer here. */
static void bounds(void **state)
{
    static const char net[] = "switch:8@450GB/s,500ns," ADDS "*rail:4@50GB/s,500ns," ADDS;
    const uint64_t bytes = 400 * 1000000;
    (void)state;
    for (int a = 0; a < 2; a++) {
        test_net n = {.topology = net, .model = &rlt_net_flow, .algorithm = algorithms[a]->name};
        rlt_time expected = a ? 1000000000 : 1500000000;
        assert_int_equal(test_collective(&n, RLT_ALL_REDUCE, bytes, NULL).bound_ps, expected);
        if (a == 0)
            continue;
        assert_int_equal(test_collective(&n, RLT_ALL_GATHER, bytes, NULL).bound_ps, 775000000);
        assert_int_equal(test_collective(&n, RLT_REDUCE_SCATTER, bytes, NULL).bound_ps, 775000000);
    }
}

/* Correct plans with one change in a step of member 2, number 0 of the second node of two. */
static const rlt_algorithm *whole;
static uint32_t broken_at;
static void (*breaks)(rlt_step *s);

static void broken_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    whole->step(plan, member, lane, k, out);
    if (member == 2 && k == broken_at && lane == 0)
        breaks(out);
}
static void silently(rlt_step *s)
{
    s->send_to = RLT_NONE;
}
static void replacing(rlt_step *s)
{
    s->reduce = 0;
}
static void another_slice(rlt_step *s)
{
    s->send.first = s->land.first = 1 - s->send.first;
}
static void over_the_sources(rlt_step *s)
{
    s->land_buffer = s->send_buffer;
}

static void defects_are_found(void **state)
{
    static const struct {
        const rlt_algorithm *a;
        uint32_t at;
        void (*breaks)(rlt_step *s);
        const char *says;
        rlt_coll_kind kind;
    } rows[] = {
        {&rlt_nvls_tree, 2, replacing, "replaces the contribution", RLT_ALL_REDUCE},
        {&rlt_nvls_tree, 2, silently, "waits for 1 messages, but none is sent", RLT_ALL_REDUCE},
        {&rlt_nvls_tree, 4, another_slice, "holds nothing", RLT_ALL_REDUCE},
        {&rlt_collnet, 2, silently, "waits for 1 messages, but none is sent", RLT_ALL_REDUCE},
        {&rlt_collnet, 4, another_slice, "holds nothing", RLT_ALL_REDUCE},
        {&rlt_collnet, 0, over_the_sources, "fetch", RLT_ALL_REDUCE},
        {&rlt_collnet, 0, silently, "waits for 2 messages, but", RLT_ALL_GATHER},
        {&rlt_collnet, 1, another_slice, "holds nothing", RLT_ALL_GATHER},
        {&rlt_collnet, 2, silently, "waits for 1 messages, but none is sent", RLT_REDUCE_SCATTER},
        {&rlt_collnet, 0, another_slice, "holds another block", RLT_REDUCE_SCATTER},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_algorithm broken = *rows[i].a;
        rlt_coll_request req = {
            .kind = rows[i].kind, .n = 4, .node = 2, .bytes = 4000, .params = {.chunks = 1}};
        rlt_plan plan;
        rlt_error err = {0};
        whole = rows[i].a;
        broken_at = rows[i].at;
        breaks = rows[i].breaks;
        broken.step = broken_step;
        assert_int_equal(rlt_plan_create(&broken, &req, &plan, &err), 0);
        assert_int_equal(rlt_plan_check(&plan, &err), RLT_ECHECK);
        if (!strstr(err.what, rows[i].says))
            fail_msg("row %zu: '%s' does not say '%s'", i, err.what, rows[i].says);
        rlt_plan_free(&plan);
    }
}

static void refusals(void **state)
{
    static const struct {
        const char *topology;
        uint32_t ranks;
        const char *says[2]; /* of nvls_tree and collnet; NULL: it does it */
    } rows[] = {
        {"switch:4@100GB/s,0ns," ADDS "*switch:2@10GB/s,0ns", 0, {NULL, "between the nodes"}},
        {"switch:4@100GB/s,0ns*switch:2@10GB/s,0ns," ADDS, 0, {"have no switch", NULL}},
        {"switch:4@100GB/s,0ns,in_network=reduce*switch:2@10GB/s,0ns,in_network=multicast",
         0,
         {"have no switch", "between the nodes"}},
        {"switch:4@100GB/s,0ns," ADDS "*switch:2@10GB/s,0ns," ADDS "*switch:2@5GB/s,0ns," ADDS,
         0,
         {NULL, "between the nodes"}},
        {"switch:4@100GB/s,0ns," ADDS, 0, {"on one node", "on one node"}},
        {"switch:4@100GB/s,0ns," ADDS "*switch:2@10GB/s,0ns," ADDS,
         7,
         {"equal number of members", "equal number of members"}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int a = 0; a < 2; a++) {
            test_group s;
            rlt_plan plan;
            rlt_error err = {0};
            test_group_open(&s, rows[i].topology, rows[i].ranks);
            rlt_coll_request req = rlt_group_request(&s.g, RLT_ALL_REDUCE, 32000);
            int rc = rlt_plan_create(algorithms[a], &req, &plan, &err);
            const char *says = rows[i].says[a];
            if (!says && rc == 0)
                rlt_plan_free(&plan);
            else if (rc == 0 || !says || !strstr(err.what, says))
                fail_msg("%s on %s: '%s' does not say '%s'", algorithms[a]->name, rows[i].topology, err.what,
                         says ? says : "nothing");
            test_group_close(&s);
        }
}

/* A head has bytes / ways / g of data: a chunk for each whole piece, at most `most`, within 4096 lanes a member and
 * 2^21 lanes in all, of which large groups keep four chunks. */
static void chunks_of_heads(void **state)
{
    static const struct {
        uint32_t n, node, ways;
        uint64_t bytes, piece;
        uint32_t most, chunks;
    } rows[] = {
        {16, 8, 1, 8000, 1000, 64, 1},        {16, 8, 1, 15999, 1000, 64, 1},
        {16, 8, 1, 16000, 1000, 64, 2},       {16, 8, 2, 31999, 1000, 64, 1},
        {16, 8, 2, 32000, 1000, 64, 2},       {16, 8, 1, 0, 1000, 64, 1},
        {16, 8, 1, 8000000, 1000, 64, 64},    {16, 8, 1, 512000, 1000, 64, 64},
        {16, 8, 1, 504000, 1000, 64, 63},     {16, 8, 4096, 1u << 30, 1, 64, 1},
        {16, 8, 2048, 1u << 30, 1, 64, 2},    {16, 8, 4097, 1u << 30, 1, 64, 1},
        {16, 8, 1000, 1u << 30, 1, 64, 4},    /* 4096 / 1000 */
        {1u << 18, 8, 1, 1u << 30, 1, 64, 8}, /* 2^21 / 2^18 */
        {1u << 17, 8, 2, 1u << 30, 1, 64, 8}, {1u << 19, 8, 1, 1u << 30, 1, 64, 4},
        {1u << 20, 8, 1, 1u << 30, 1, 64, 4}, {1u << 20, 8, 1, 1u << 30, 1, 3, 3},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_coll_request req = {.n = rows[i].n, .node = rows[i].node, .bytes = rows[i].bytes};
        uint32_t chunks = rlt_node_chunks(&req, rows[i].ways, rows[i].piece, rows[i].most);
        if (chunks != rows[i].chunks)
            fail_msg("row %zu: %u chunks", i, chunks);
    }
}

/* What the only switch of the members of a node can do, or that between the nodes; dimensions of one do not count. */
static void what_switches_can(void **state)
{
    enum { SUM = RLT_CAN_REDUCE, COPY = RLT_CAN_MULTICAST, BOTH = RLT_CAN_REDUCE | RLT_CAN_MULTICAST };
    static const struct {
        const char *topology;
        uint32_t node, inside, outside;
    } rows[] = {
        {"switch:4@100GB/s,0ns,in_network=reduce*switch:2@10GB/s,0ns,nics=4,in_network=multicast", 4, SUM,
         COPY},
        {"switch:4@100GB/s,0ns," ADDS "*switch:2@10GB/s,0ns,nics=4", 4, BOTH, 0},
        {"switch:4@100GB/s,0ns," ADDS "*switch:1@100GB/s,0ns*switch:2@10GB/s,0ns,nics=4," ADDS, 4, BOTH,
         BOTH},
        /* two dimensions in a node, or between nodes, are no single switch */
        {"switch:2@100GB/s,0ns," ADDS "*switch:2@100GB/s,0ns," ADDS "*switch:2@10GB/s,0ns,nics=4," ADDS, 4, 0,
         BOTH},
        {"switch:4@100GB/s,0ns," ADDS "*switch:2@10GB/s,0ns,nics=4," ADDS "*switch:2@10GB/s,0ns," ADDS, 4,
         BOTH, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        test_group s;
        test_group_open(&s, rows[i].topology, 0);
        rlt_coll_request req = rlt_group_request(&s.g, RLT_ALL_REDUCE, 8);
        assert_int_equal(rlt_topology_node_size(s.t), rows[i].node);
        assert_int_equal(rlt_node_switch_can(&req, true), rows[i].inside);
        assert_int_equal(rlt_node_switch_can(&req, false), rows[i].outside);
        req.topology = NULL;
        assert_int_equal(rlt_node_switch_can(&req, true), BOTH);
        test_group_close(&s);
    }
}

static void nodes_are_regular(void **state)
{
    static const struct {
        uint32_t n, node;
        const char *what; /* NULL: they are */
    } rows[] = {
        {16, 8, NULL},
        {4, 2, NULL},
        {16, 0, "needs nodes with an equal number of members each, in order of nodes"},
        {16, 1, "needs at least two nodes of at least two members; the 16 members are on a node each"},
        {16, 16, "needs at least two nodes of at least two members; the 16 members are on one node"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_coll_request req = {.n = rows[i].n, .node = rows[i].node};
        rlt_error err = {0};
        assert_int_equal(rlt_nodes_regular(&req, "mine", &err), rows[i].what ? RLT_ETOPOLOGY : 0);
        assert_string_equal(err.where, rows[i].what ? "mine" : "");
        assert_string_equal(err.what, rows[i].what ? rows[i].what : "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proof),
        cmocka_unit_test(bandwidth),
        cmocka_unit_test(latency),
        cmocka_unit_test(traffic),
        cmocka_unit_test(bounds),
        cmocka_unit_test(defects_are_found),
        cmocka_unit_test(refusals),
        cmocka_unit_test(chunks_of_heads),
        cmocka_unit_test(what_switches_can),
        cmocka_unit_test(nodes_are_regular),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
