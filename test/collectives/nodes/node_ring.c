/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rings over nodes of several members: their order, their proof, and the NICs that they fill. */
#include "collectives/nodes/node_ring.h"

#include <stdio.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/check/checker.h"
#include "collectives/collective.h"
#include "collectives/plan.h"
#include "net/network.h"
#include "sim/base/error.h"
#include "test/support/support.h"

static void by_hand(void **state)
{
    static const uint32_t one[] = {1, 2, 0, 3, 5, 4}, two[] = {2, 0, 1, 4, 3, 5};
    (void)state;
    for (uint32_t place = 0; place < 6; place++) {
        assert_int_equal(rlt_node_ring_at(3, 1, place), one[place]);
        assert_int_equal(rlt_node_ring_at(3, 2, place), two[place]);
    }
}

/* A ring visits each member once, node after node. It leaves each node where it enters the next one, but for
 * the way back to the first of an odd number of nodes. All rings together enter and leave a node once at each
 * of its members. */
static void order(void **state)
{
    (void)state;
    for (uint32_t nodes = 2; nodes <= 7; nodes++)
        for (uint32_t g = 2; g <= 8; g++) {
            uint32_t n = nodes * g, entered[64] = {0}, left[64] = {0};
            for (uint32_t start = 0; start < g; start++) {
                bool seen[64] = {false};
                for (uint32_t place = 0; place < n; place++) {
                    uint32_t m = rlt_node_ring_at(g, start, place);
                    uint32_t next = rlt_node_ring_at(g, start, (place + 1) % n);
                    assert_true(m < n && !seen[m]);
                    seen[m] = true;
                    assert_int_equal(m / g, place / g);
                    uint32_t apart = (m % g + g - next % g) % g;
                    if (m / g == next / g)
                        assert_true(apart == 1 || apart == g - 1);
                    else if (nodes % 2 == 0)
                        assert_int_equal(apart, 0);
                    entered[m] += place % g == 0;
                    left[m] += place % g == g - 1;
                }
            }
            for (uint32_t m = 0; m < n; m++)
                assert_true(entered[m] == 1 && left[m] == 1);
        }
}

/* Proven by the checker: all kinds, even and odd numbers of nodes, channels that fit the nodes or not, shares
 * of several sizes. */
static void proof(void **state)
{
    static const uint32_t channels[] = {0, 1, 3, 4, 8};
    uint32_t plans = 0;
    (void)state;
    for (uint32_t nodes = 2; nodes <= 4; nodes++)
        for (int kind = 0; kind < RLT_COLL_KINDS; kind++)
            for (size_t c = 0; c < sizeof channels / sizeof *channels && kind != RLT_SEND_RECV; c++)
                for (uint64_t bytes = kind == RLT_BARRIER ? 0 : 1001; bytes < 2100; bytes += 1047) {
                    rlt_coll_request req = {.kind = (rlt_coll_kind)kind,
                                            .n = nodes * 4,
                                            .node = 4,
                                            .bytes = kind == RLT_BARRIER ? 0 : bytes,
                                            .root = 5,
                                            .params = {.channels = channels[c]}};
                    rlt_plan plan;
                    rlt_error err = {0};
                    assert_int_equal(rlt_plan_create(&rlt_ring, &req, &plan, &err), 0);
                    if (rlt_plan_check(&plan, &err) != 0)
                        fail_msg("%u nodes, %s, %u channels: %s: %s", nodes, rlt_coll_name(req.kind),
                                 channels[c], err.where, err.what);
                    plans++;
                    rlt_plan_free(&plan);
                }
    assert_true(plans > 200);
}

/* In the closed form each step waits for the member that sends to it. */
static void steps_know_their_senders(void **state)
{
    uint32_t steps = 0;
    (void)state;
    for (uint32_t nodes = 2; nodes <= 4; nodes += 2)
        for (int kind = 0; kind < RLT_COLL_KINDS; kind++)
            for (uint32_t channels = 0; channels <= 8; channels += 4) {
                rlt_coll_request req = {
                    .kind = (rlt_coll_kind)kind, .n = nodes * 4, .node = 4, .bytes = 1001};
                rlt_plan plan;
                req.params.channels = channels;
                if (!rlt_node_ring_closed(&req))
                    continue;
                assert_int_equal(rlt_plan_create(&rlt_ring, &req, &plan, NULL), 0);
                for (uint32_t m = 0; m < req.n; m++)
                    for (uint32_t lane = 0; lane < plan.lanes; lane++)
                        for (uint32_t k = 0; k < rlt_ring.steps(&plan, m, lane); k++, steps++) {
                            rlt_step s, r;
                            rlt_step_clear(&s);
                            rlt_step_clear(&r);
                            rlt_ring.step(&plan, m, lane, k, &s);
                            rlt_ring.step(&plan, s.send_to, (lane + s.peer_shift) % plan.lanes, s.peer_step,
                                          &r);
                            assert_int_equal(r.recv_from, m);
                            assert_int_equal(r.recv_count, 1);
                        }
                rlt_plan_free(&plan);
            }
    assert_true(steps > 5000);
}

/* Large rings reach the lesser of the NVLink and all NICs: here eight of 50 GB/s, or four shared ones of 25. */
static void all_nics_are_used(void **state)
{
    static const struct {
        const char *topology;
        double busbw_GBps;
        uint32_t n;
    } machines[] = {
        {"switch:8@450GB/s,500ns*rail:4@50GB/s,500ns", 400, 32},
        {"switch:8@450GB/s,500ns*rail:3@50GB/s,500ns", 400, 24},
        {"switch:8@450GB/s,500ns*rail:4@50GB/s,500ns,pxn=off", 400, 32},
        {"switch:8@300GB/s,500ns*fat-tree:4@25GB/s,500ns,nics=4,planes=1", 100, 32},
        {"switch:4@120GB/s,500ns*rail:2@50GB/s,500ns", 120 * 4 / 3.0, 8}, /* NVLink: three hops in four */
    };
    (void)state;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        test_net net = {.topology = machines[i].topology, .model = &rlt_net_flow, .algorithm = "ring"};
        uint64_t bytes = (uint64_t)1 << 30;
        double seconds = (double)test_collective(&net, RLT_ALL_REDUCE, bytes, NULL).time_ps / 1e12;
        double busbw = (double)bytes / seconds * 2 * (machines[i].n - 1) / machines[i].n / 1e9;
        if (busbw < 0.95 * machines[i].busbw_GBps || busbw > 1.001 * machines[i].busbw_GBps)
            fail_msg("%s: %.1f GB/s of %.1f", machines[i].topology, busbw, machines[i].busbw_GBps);
    }
}

/* Which requests have rings over nodes, and of which all members do the same. */
static void which_requests(void **state)
{
    static const struct {
        rlt_coll_kind kind;
        uint32_t n, node, n_rings, channels, directions, rings;
        bool counted, closed;
    } rows[] = {
        {RLT_ALL_REDUCE, 8, 4, 0, 0, 0, 4, false, true},     {RLT_BARRIER, 8, 4, 0, 0, 0, 4, false, true},
        {RLT_REDUCE_SCATTER, 8, 4, 0, 8, 1, 4, false, true}, {RLT_ALL_GATHER, 8, 4, 0, 4, 0, 4, false, true},
        {RLT_ALL_GATHER, 8, 4, 0, 4, 0, 4, true, false},     {RLT_BROADCAST, 8, 4, 0, 0, 0, 4, false, false},
        {RLT_ALL_REDUCE, 8, 4, 0, 6, 0, 4, false, false},    {RLT_ALL_REDUCE, 8, 4, 0, 0, 2, 4, false, false},
        {RLT_ALL_REDUCE, 12, 4, 0, 0, 0, 4, false, false},   {RLT_ALL_REDUCE, 8, 1, 0, 0, 0, 0, false, false},
        {RLT_ALL_REDUCE, 8, 8, 0, 0, 0, 0, false, false},    {RLT_ALL_REDUCE, 8, 4, 1, 0, 0, 0, false, false},
        {RLT_ALL_TO_ALL, 8, 4, 0, 0, 0, 0, false, false},    {RLT_ALL_REDUCE, 8, 0, 0, 0, 0, 0, false, false},
        {RLT_ALL_REDUCE, 4, 2, 0, 0, 0, 2, false, true},
    };
    static const uint64_t counts[8] = {0};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_coll_request req = {.kind = rows[i].kind,
                                .n = rows[i].n,
                                .node = rows[i].node,
                                .n_rings = rows[i].n_rings,
                                .counts = rows[i].counted ? counts : NULL,
                                .params = {.channels = rows[i].channels, .directions = rows[i].directions}};
        assert_int_equal(rlt_node_rings(&req), rows[i].rings);
        assert_int_equal(rlt_node_ring_closed(&req), rows[i].closed);
    }
}

/* Rings over nodes share their lanes, up to the largest number of them. */
static void most_lanes(void **state)
{
    (void)state;
    for (uint32_t chunks = 1; chunks <= 2; chunks++)
        for (uint32_t more = 0; more < 2; more++) {
            uint32_t channels = RLT_MAX_LANES / chunks + more;
            rlt_coll_request req = {.kind = RLT_ALL_REDUCE,
                                    .n = 4,
                                    .node = 2,
                                    .bytes = 1 << 20,
                                    .params = {.channels = channels, .chunks = chunks}};
            rlt_plan plan;
            rlt_error err = {0};
            char what[100];
            assert_int_equal(rlt_plan_create(&rlt_ring, &req, &plan, &err), more ? RLT_ERANGE : 0);
            snprintf(what, sizeof what, "%u channels x 1 directions x %u chunks are more than 4096 lanes",
                     channels, chunks);
            assert_string_equal(err.what, more ? what : "");
            if (!more)
                assert_true(plan.shared && plan.lanes == RLT_MAX_LANES && plan.blocks == 4 * plan.channels);
            rlt_plan_free(&plan);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),        cmocka_unit_test(order),
        cmocka_unit_test(proof),          cmocka_unit_test(all_nics_are_used),
        cmocka_unit_test(which_requests), cmocka_unit_test(steps_know_their_senders),
        cmocka_unit_test(most_lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
