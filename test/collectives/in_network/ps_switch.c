/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parameter servers behind a switch that aggregates a share of the chunks: golden times of an independent
 * packet model, the law of shares and servers, and jobs with losses and too few slots. Every chunk must still
 * reach every worker once and complete.
 */
#include <math.h>

#include "collectives/in_network/reactive.h"
#include "net/aggregation/aggregator.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/networks/fabric.h"

enum { TAU = 88480, D = 1000000, S = 500000, P = 1024 };

static test_leaves hosts(uint32_t n)
{
    return (test_leaves){.workers = n, .leaf_can = "reduce+multicast"};
}

static rlt_react_result run(uint32_t workers, uint32_t servers, const char *settings, uint32_t chunks)
{
    test_leaves net = hosts(workers + servers);
    test_fabric x = test_fabric_open(&net, test_fabric_config());
    rlt_react_request q = test_request("ps-switch", settings, workers + servers, (uint64_t)chunks * P);
    uint32_t job = test_add(&x, &q), node;
    test_finish(&x);
    rlt_react_result r = rlt_fabric_result(x.fabric, job);
    assert_int_equal(r.retransmissions, 0);
    assert_int_equal(r.lost, 0);
    if (r.adders)
        assert_int_equal(rlt_aggregator_unfinished(rlt_fabric_switch(x.fabric, 0, &node)), 0);
    test_fabric_close(&x);
    return r;
}

static void test_golden(void **state)
{
    (void)state;
    static const struct {
        uint32_t n;
        rlt_time none, half, all;
    } cases[] = {{4, 1454921760, 911300640, 367679520},
                 {8, 2904578080, 1636128800, 367679520},
                 {16, 5803890720, 3085785120, 367679520}};
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t n = cases[i].n;
        assert_int_equal(run(n, 1, "share=0", 4096).time_ps, cases[i].none);
        rlt_react_result r = run(n, 1, "share=0.5", 4096);
        assert_int_equal(r.time_ps, cases[i].half);
        assert_int_equal(r.aggregated, 2048);
        assert_int_equal(r.unaggregated, 2048 * n);
        assert_int_equal(r.server_bytes, (2048 + 2048 * n) * (P + 82));
        assert_int_equal(r.switches.completions, 2048);
        assert_int_equal(run(n, 1, "share=1", 4096).time_ps, cases[i].all);
    }
}

/* T = (f + n (1 - f)) C tau + 3 tau + 4 d + 2 s, for whole numbers of chunks. */
static void test_law(void **state)
{
    (void)state;
    static const uint32_t many[] = {2, 5, 8, 12};
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t eighths = 0; eighths <= 8; eighths++) {
            uint32_t n = many[i];
            char settings[32];
            snprintf(settings, sizeof settings, "share=%u.%03u", eighths / 8, eighths % 8 * 125);
            double f = eighths / 8.0, t = (double)run(n, 1, settings, 2048).time_ps;
            double law = (f + n * (1 - f)) * 2048 * TAU + 3 * TAU + 4 * D + 2 * S;
            assert_true(fabs(t - law) < 0.001 * law);
        }
}

/* The speed-up over the server alone, n / (n (1 - f) + f), covers 1.5 to 4 at the shares that the law
 * gives. */
static void test_speedup(void **state)
{
    (void)state;
    static const double speedups[] = {1.5, 2, 3, 4};
    const uint32_t n = 8, chunks = 4096;
    double plain = (double)run(n, 1, "share=0", chunks).time_ps;
    for (uint32_t i = 0; i < 4; i++) {
        double f = (1 - 1 / speedups[i]) * n / (n - 1);
        char settings[32];
        snprintf(settings, sizeof settings, "share=%.6f", f);
        double s = plain / (double)run(n, 1, settings, chunks).time_ps;
        assert_true(s > 0.98 * speedups[i] && s < 1.02 * speedups[i]);
    }
}

/* P servers: max(1, (f + n (1 - f)) / P) C tau. */
static void test_servers(void **state)
{
    (void)state;
    static const uint32_t servers[] = {2, 3, 4, 8};
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t halves = 0; halves <= 2; halves++) {
            char settings[64];
            double f = halves / 2.0, p = servers[i], least = (f + 8 * (1 - f)) / p;
            /* A window of one chunk per server at a time keeps all of them busy. */
            snprintf(settings, sizeof settings, "share=%.1f servers=%u window=1024", f, servers[i]);
            double t = (double)run(8, servers[i], settings, 4096).time_ps;
            double law = (least > 1 ? least : 1) * 4096 * TAU + 3 * TAU + 4 * D + 2 * S;
            assert_true(t > 0.999 * law && t < 1.05 * law);
        }
    /* Servers on the workers' own hosts, which answer one by one: at most 2 (n-1)/n M / B on each port in
     * both directions. */
    test_leaves net = hosts(8);
    test_fabric x = test_fabric_open(&net, test_fabric_config());
    rlt_react_request q = test_request(
        "ps-switch", "share=0 answers=server servers=8 servers_at=members window=1024", 8, 8192 * P);
    uint32_t job = test_add(&x, &q);
    test_finish(&x);
    double t = (double)rlt_fabric_result(x.fabric, job).time_ps, law = 2 * 7.0 / 8 * 8192 * TAU;
    assert_true(t > law && t < 1.03 * law);
    test_fabric_close(&x);
}

/* Without an aggregating switch: the server sends every copy, n C tau each way. */
static void test_plain(void **state)
{
    (void)state;
    test_leaves net = hosts(9);
    net.leaf_can = "";
    test_fabric x = test_fabric_open(&net, test_fabric_config());
    rlt_react_request q = test_request("ps-switch", "share=0 answers=server", 9, 1000 * P);
    uint32_t job = test_add(&x, &q), none;
    test_finish(&x);
    rlt_react_result r = rlt_fabric_result(x.fabric, job);
    /* The first answers leave when the first chunk is complete; from then on there is always one to send. */
    assert_int_equal(r.time_ps, (8 * 1000 + 8) * (rlt_time)TAU + 2 * TAU + 4 * D + 2 * S);
    assert_int_equal(r.adders, 0);
    test_fabric_close(&x);
    x = test_fabric_open(&net, test_fabric_config());
    rlt_error err = {0};
    q = test_request("ps-switch", "share=0", 9, 1000 * P);
    assert_int_equal(rlt_fabric_add(x.fabric, &q, &none, &err), RLT_ETOPOLOGY);
    q = test_request("ps-switch", "share=1 answers=server", 9, 1000 * P);
    assert_int_equal(rlt_fabric_add(x.fabric, &q, &none, &err), RLT_ESCHEMA);
    q = test_request("ps-switch", "servers=9", 9, 1000 * P);
    assert_int_equal(rlt_fabric_add(x.fabric, &q, &none, &err), RLT_ERANGE);
    q.kind = RLT_ALL_GATHER;
    assert_int_equal(rlt_fabric_add(x.fabric, &q, &none, &err), RLT_EUNSUPPORTED);
    test_fabric_close(&x);
}

static void test_loss(void **state)
{
    (void)state;
    static const double losses[] = {0.0005, 0.01, 0.05};
    uint64_t evicted = 0;
    for (uint32_t i = 0; i < 12; i++) {
        rlt_time first = 0;
        for (int again = 0; again < 2; again++) {
            test_leaves net = {.workers = 9,
                               .leaves = i % 2 ? 2 : 0,
                               .spines = 1,
                               .leaf_can = "reduce+multicast",
                               .spine_can = "reduce+multicast"};
            rlt_fabric_config cfg = test_fabric_config();
            cfg.packets.loss = losses[i / 4];
            cfg.packets.seed = i;
            test_fabric x = test_fabric_open(&net, cfg);
            rlt_react_request q = test_request(
                "ps-switch", i % 4 < 2 ? "share=1 window=32 rto=60us" : "share=0.5 window=32 rto=100us", 9,
                1000 * P);
            uint32_t job = test_add(&x, &q);
            test_finish(&x);
            rlt_react_result r = rlt_fabric_result(x.fabric, job);
            assert_true(r.lost > 0 && r.retransmissions > 0);
            evicted += r.switches.evictions;
            assert_true(!again || r.time_ps == first);
            first = r.time_ps;
            test_fabric_close(&x);
        }
    }
    assert_true(evicted > 100);
}

/* Two to eight jobs with slots for less than one of them: all finish, and the counts of unaggregated packets
 * add up. */
static void test_jobs(void **state)
{
    (void)state;
    for (uint32_t jobs = 2; jobs <= 8; jobs++)
        for (int sharing = 0; sharing < 3; sharing++) {
            rlt_fabric_config cfg = test_fabric_config();
            test_leaves net = hosts(5);
            uint32_t job[8];
            cfg.packets.loss = jobs % 2 ? 0.01 : 0;
            cfg.aggregator.slots = 20;
            cfg.aggregator.sharing = (rlt_slot_sharing)sharing;
            cfg.aggregator.jobs = jobs;
            cfg.aggregator.preempt = jobs > 4;
            test_fabric x = test_fabric_open(&net, cfg);
            rlt_react_request q = test_request("ps-switch", "window=32 rto=300us", 5, 400 * P);
            for (uint32_t i = 0; i < jobs; i++) {
                q.priority = (uint8_t)i;
                job[i] = test_add(&x, &q);
            }
            test_finish(&x);
            uint64_t fallbacks = 0;
            for (uint32_t i = 0; i < jobs; i++) {
                rlt_react_result r = rlt_fabric_result(x.fabric, job[i]);
                fallbacks += r.switches.fallbacks;
                assert_true(r.time_ps > 400 * TAU);
                assert_int_equal(r.switches.refused, 0);
                /* Without losses the server received exactly the packets that were not aggregated, and one
                 * sum for each other chunk of which nothing was evicted. */
                if (jobs % 2 == 0)
                    assert_int_equal(r.unaggregated, r.switches.fallbacks + r.switches.resends);
            }
            assert_true(fallbacks > 0);
            test_fabric_close(&x);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),  cmocka_unit_test(test_law),   cmocka_unit_test(test_speedup),
        cmocka_unit_test(test_servers), cmocka_unit_test(test_plain), cmocka_unit_test(test_loss),
        cmocka_unit_test(test_jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
