/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parallel aggregated trees: messages by hand, proof over sizes and aggregations, times in closed form. */
#include <stdio.h>

#include "collectives/algorithm.h"
#include "collectives/check/checker.h"
#include "collectives/collective.h"
#include "collectives/plan.h"
#include "net/network.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/support.h"

static rlt_plan planned(rlt_coll_kind kind, uint32_t n, uint64_t bytes, const char *aggregate)
{
    rlt_coll_request req = {.kind = kind, .n = n, .bytes = bytes};
    rlt_plan plan;
    rlt_error err = {0};
    if (aggregate)
        assert_int_equal(rlt_coll_params_set(&req.params, "pat.aggregate", aggregate, &err), 0);
    if (rlt_plan_create(&rlt_pat, &req, &plan, &err) != 0)
        fail_msg("%s: %s", err.where, err.what);
    return plan;
}

/* Shares of the messages of member 0, and how far they go. */
static void messages(const rlt_plan *plan, uint32_t expected[][2], uint32_t n)
{
    uint32_t at = 0;
    for (uint32_t k = 0; k < rlt_pat.steps(plan, 0, 0); k++) {
        rlt_step s;
        rlt_step_clear(&s);
        rlt_pat.step(plan, 0, 0, k, &s);
        if (s.send_to == RLT_NONE)
            continue;
        assert_true(at < n);
        assert_int_equal(s.send_to, expected[at][0]);
        assert_int_equal(s.send.reps, expected[at][1]);
        at++;
    }
    assert_int_equal(at, n);
}

static void by_hand(void **state)
{
    uint32_t five[][2] = {{4, 1}, {2, 1}, {1, 2}}, back[][2] = {{4, 2}, {3, 1}, {1, 1}};
    uint32_t eight[][2] = {{4, 1}, {2, 2}, {1, 4}}, pairs[][2] = {{4, 1}, {2, 2}, {1, 2}, {1, 2}};
    uint32_t single[][2] = {{4, 1}, {2, 1}, {2, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
    (void)state;
    rlt_plan plan = planned(RLT_ALL_GATHER, 5, 5000, NULL);
    messages(&plan, five, 3);
    rlt_plan_free(&plan);
    plan = planned(RLT_REDUCE_SCATTER, 5, 5000, NULL);
    messages(&plan, back, 3);
    rlt_plan_free(&plan);
    plan = planned(RLT_ALL_GATHER, 8, 8000, NULL);
    messages(&plan, eight, 3);
    rlt_plan_free(&plan);
    plan = planned(RLT_ALL_GATHER, 8, 8000, "3999B"); /* three shares of 1000 B fit: two, a power of two */
    messages(&plan, pairs, 4);
    rlt_plan_free(&plan);
    plan = planned(RLT_ALL_GATHER, 8, 8000, "1999B");
    messages(&plan, single, 7);
    rlt_plan_free(&plan);
}

/* What a message holds is counted by the shares of a lane. */
static void by_lane(void **state)
{
    uint32_t pairs[][2] = {{4, 1}, {2, 2}, {1, 2}, {1, 2}};
    (void)state;
    for (uint32_t lanes = 1; lanes <= 6; lanes++) {
        rlt_coll_request req = {.kind = RLT_ALL_GATHER, .n = 8, .bytes = 8000 * lanes};
        rlt_plan plan;
        rlt_error err = {0};
        assert_int_equal(rlt_coll_params_set(&req.params, "pat.aggregate", "3999B", &err), 0);
        req.params.channels = lanes % 3 ? lanes : lanes / 3;
        req.params.chunks = lanes % 3 ? 1 : 3;
        assert_int_equal(rlt_plan_create(&rlt_pat, &req, &plan, &err), 0);
        assert_int_equal(plan.lanes, lanes);
        messages(&plan, pairs, 4);
        rlt_plan_free(&plan);
    }
}

static void proof(void **state)
{
    static const char *const aggregate[] = {NULL, "1B", "700B", "64KiB"};
    uint64_t counts[70];
    (void)state;
    for (uint32_t n = 1; n <= 70; n++)
        for (uint32_t i = 0; i < 32; i++) {
            rlt_coll_request req = {.kind = i % 2 ? RLT_ALL_GATHER : RLT_REDUCE_SCATTER, .n = n};
            rlt_plan plan;
            rlt_error err = {0};
            req.params.channels = i / 8 % 2 ? 2 : 0;
            req.params.chunks = i / 8 % 2 ? 3 : 0;
            req.bytes = i / 16 ? 0 : 10007;
            for (uint32_t m = 0; m < n && i / 16; m++)
                req.bytes += counts[m] = m % 3 ? 100 * m : 0;
            req.counts = i / 16 ? counts : NULL;
            if (aggregate[i / 2 % 4])
                assert_int_equal(
                    rlt_coll_params_set(&req.params, "pat.aggregate", aggregate[i / 2 % 4], &err), 0);
            assert_int_equal(rlt_plan_create(&rlt_pat, &req, &plan, &err), 0);
            if (rlt_plan_check(&plan, &err) != 0)
                fail_msg("%u members, case %u: %s: %s", n, i, err.where, err.what);
            rlt_plan_free(&plan);
        }
}

/* Rounds of one latency each, and every share but one over each link: ceil(log2(n)) L + (n-1) s/B. */
static void times(void **state)
{
    static const uint32_t sizes[][2] = {{2, 1}, {3, 2}, {4, 2}, {5, 3}, {8, 3}, {24, 5}, {64, 6}, {100, 7}};
    (void)state;
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int big = 0; big < 2; big++)
            for (int kind = 0; kind < 2; kind++) {
                char topology[64];
                uint64_t share = big ? 400000 : 1000; /* 400 kB: a message of its own */
                uint32_t n = sizes[i][0];
                snprintf(topology, sizeof topology, "switch:%u@50GB/s,500ns", n);
                test_net net = {.topology = topology, .model = &rlt_net_flow, .algorithm = "pat"};
                test_run r =
                    test_collective(&net, kind ? RLT_ALL_GATHER : RLT_REDUCE_SCATTER, share * n, NULL);
                assert_int_equal(r.time_ps, sizes[i][1] * 1000000 + (rlt_time)(n - 1) * (rlt_time)share * 20);
                assert_int_equal(r.offered, (uint64_t)(n - 1) * n * share);
            }
}

/* Shares of several chunks keep the links busy across rounds. */
static void bandwidth(void **state)
{
    (void)state;
    for (uint32_t n = 3; n <= 48; n = n * 2 + 1) {
        char topology[64];
        uint64_t bytes = (uint64_t)n << 25;
        snprintf(topology, sizeof topology, "switch:%u@50GB/s,2us", n);
        test_net net = {.topology = topology, .model = &rlt_net_flow, .algorithm = "pat"};
        double least = (double)bytes * (n - 1) / n * 20;
        for (int kind = 0; kind < 2; kind++) {
            rlt_time took =
                test_collective(&net, kind ? RLT_ALL_GATHER : RLT_REDUCE_SCATTER, bytes, NULL).time_ps;
            assert_true((double)took < 1.01 * least + 4e6 * 6);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand), cmocka_unit_test(by_lane),   cmocka_unit_test(proof),
        cmocka_unit_test(times),   cmocka_unit_test(bandwidth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
