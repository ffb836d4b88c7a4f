/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Libra's protocol: golden times of an independent packet model, the law of the hot share, connections and
 * their cost, found hot sets, losses, and asynchronous training, whose updates must each be merged exactly
 * once.
 */
#include <math.h>

#include "collectives/in_network/libra/libra.h"
#include "collectives/in_network/libra/workload.h"
#include "collectives/in_network/reactive.h"
#include "sim/base/error.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
#include "test/support/networks/fabric.h"

enum { TAU = 88480, D = 1000000, S = 500000, P = 1024 };

typedef struct outcome {
    rlt_react_result r;
    rlt_libra_report l;
} outcome;

static outcome run_on(const test_leaves *net, rlt_fabric_config cfg, const char *settings, uint32_t chunks)
{
    test_fabric x = test_fabric_open(net, cfg);
    rlt_error err = {0};
    outcome o;
    rlt_react_request q = test_request("libra", settings, net->workers, (uint64_t)chunks * P);
    uint32_t job = test_add(&x, &q);
    test_finish(&x);
    o.r = rlt_fabric_result(x.fabric, job);
    assert_int_equal(rlt_libra_report_of(x.fabric, job, &o.l, &err), 0);
    assert_int_equal(rlt_libra_report_of(x.fabric, job + 1, &o.l, NULL), RLT_EUSAGE);
    test_fabric_close(&x);
    return o;
}

static outcome run(uint32_t workers, uint32_t servers, const char *settings, uint32_t chunks)
{
    test_leaves net = {.workers = workers + servers, .leaf_can = "reduce+multicast"};
    return run_on(&net, test_fabric_config(), settings, chunks);
}

static void golden(void **state)
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
        outcome o = run(n, 1, "share=0", 4096);
        assert_int_equal(o.r.time_ps, cases[i].none);
        assert_int_equal(o.l.incast, n);
        assert_int_equal(o.l.register_bytes, 0);
        o = run(n, 1, "share=0.5", 4096);
        assert_int_equal(o.r.time_ps, cases[i].half);
        assert_int_equal(o.r.aggregated, 2048);
        assert_int_equal(o.r.unaggregated, 2048 * n);
        assert_int_equal(o.r.server_bytes, (2048 + 2048 * n) * (P + 82));
        assert_int_equal(o.l.register_bytes, 2048 * P);
        assert_int_equal(o.l.incast, n);
        o = run(n, 1, "share=1", 4096);
        assert_int_equal(o.r.time_ps, cases[i].all);
        assert_int_equal(o.l.incast, 1);
        assert_int_equal(o.r.switches.collisions, 0);
    }
}

/* 1.5 to 4 times as fast as the server alone, at the shares that the law gives, within 2 %. */
static void speedup(void **state)
{
    (void)state;
    static const double gains[] = {1.5, 1.75, 2, 2.5, 3, 3.5, 4};
    double plain = (double)run(8, 1, "share=0", 4096).r.time_ps;
    for (uint32_t i = 0; i < sizeof gains / sizeof *gains; i++) {
        char settings[32];
        snprintf(settings, sizeof settings, "share=%.6f", rlt_libra_share(8, gains[i]));
        outcome o = run(8, 1, settings, 4096);
        double gain = plain / (double)o.r.time_ps;
        assert_true(gain > 0.98 * gains[i] && gain < 1.02 * gains[i]);
        assert_true(fabs(o.l.law / gains[i] - 1) < 1e-5);
    }
}

/* P servers: max(1, (f + n (1 - f)) / P) C tau; each handles the same number of hot packets. */
static void servers(void **state)
{
    (void)state;
    static const uint32_t many[] = {2, 4};
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t halves = 0; halves <= 2; halves++) {
            char settings[64];
            double f = halves / 2.0, least = (f + 8 * (1 - f)) / many[i];
            snprintf(settings, sizeof settings, "share=%.1f servers=%u window=1024", f, many[i]);
            double t = (double)run(8, many[i], settings, 4096).r.time_ps;
            double law = (least > 1 ? least : 1) * 4096 * TAU + 3 * TAU + 4 * D + 2 * S;
            assert_true(t > 0.999 * law && t < 1.05 * law);
        }
}

/* n P connections without the switch, n + P on the hot path. A step waits for the host to serve its
 * connections. */
static void connections(void **state)
{
    (void)state;
    outcome o = run(8, 2, "share=1 servers=2", 64);
    assert_int_equal(o.l.connections, 8 + 2);
    assert_int_equal(o.l.connections_plain, 16);
    assert_int_equal(o.l.server_connections, 1);
    o = run(8, 2, "share=0.5 servers=2", 64);
    assert_int_equal(o.l.connections, 8 + 2 + 16);
    assert_int_equal(o.l.server_connections, 1 + 8);
    o = run(8, 2, "share=0 servers=2", 64);
    assert_int_equal(o.l.connections, 16);
    assert_int_equal(o.l.server_connections, 8);
    /* One cold packet goes to one of the servers only. */
    o = run(8, 2, "share=0.99 servers=2", 64);
    assert_int_equal(o.l.cold_packets, 1);
    assert_int_equal(o.l.connections, 8 + 2 + 8);
    static const char *const shares[] = {"0", "0.5", "1"};
    static const rlt_time many[] = {8, 9, 1};
    for (uint32_t i = 0; i < 3; i++)
        for (rlt_time steps = 1; steps <= 3; steps++) {
            char free_of[64], costly[64];
            snprintf(free_of, sizeof free_of, "share=%s steps=%d", shares[i], (int)steps);
            snprintf(costly, sizeof costly, "share=%s steps=%d conn_cost=3us", shares[i], (int)steps);
            assert_int_equal(run(8, 1, costly, 64).r.time_ps,
                             run(8, 1, free_of, 64).r.time_ps + steps * many[i] * 3000000);
        }
}

/* Steps follow each other, each after its computation. */
static void steps(void **state)
{
    (void)state;
    rlt_time one = run(4, 1, "share=0.5", 100).r.time_ps;
    outcome o = run(4, 1, "share=0.5 steps=5 compute=7us", 100);
    assert_int_equal(o.r.time_ps, 5 * (one + 7000000));
    assert_int_equal(o.l.hot_packets, 50);
    assert_int_equal(o.l.register_bytes, 50 * P);
    assert_int_equal(o.r.switches.collisions, 0);
    assert_int_equal(o.r.switches.completions, 250);
    /* With jitter: the slowest of four, between no jitter and all of it. */
    o = run(4, 1, "share=0.5 steps=5 compute=100us jitter=1", 100);
    assert_true(o.r.time_ps > 5 * (one + 100000000) && o.r.time_ps < 5 * (one + 200000000));
}

/* 64 values on 32 arrays: two passes. A single port limits all packets; with enough ports only one packet's
 * delay remains. */
static void passes(void **state)
{
    (void)state;
    const char *hot = "share=1 payload=256B arrays=32 recirculation=";
    const rlt_time tau = (256 + 82) * 80;
    char settings[96];
    rlt_time whole = run(8, 1, "share=1 payload=256B", 1000).r.time_ps;
    snprintf(settings, sizeof settings, "%s8", hot);
    outcome o = run(8, 1, settings, 1000);
    assert_true(fabs(o.l.passes - 2) < 1e-12);
    assert_int_equal(o.r.time_ps, whole + tau + 7 * (tau / 8));
    snprintf(settings, sizeof settings, "%s1", hot);
    o = run(8, 1, settings, 1000);
    assert_int_equal(o.r.time_ps, 8 * 4000 * tau + 4 * tau + 4 * D + 2 * S);
    /* Everything in one pass: no cost. */
    assert_int_equal(run(8, 1, "share=1 payload=256B arrays=64 recirculation=1", 1000).r.time_ps, whole);
}

/* The hot set follows from the size of the registers, and the law then holds for the sampled share. */
static void sought(void **state)
{
    (void)state;
    outcome o =
        run(8, 1, "parameters=1000000 zipf=1.1 memory=120000B arrays=30 training_steps=1 sampled=1", 1024);
    rlt_skew k;
    rlt_error err = {0};
    assert_int_equal(rlt_skew_zipf(1.1, 1000000, &k, &err), 0);
    double best = rlt_skew_coverage(&k, 30000);
    assert_int_equal(o.l.hot, 30000);
    assert_int_equal(o.l.counted, 8 * 1024 * P / 4);
    assert_true(o.l.share < best && o.l.share > 0.99 * best);
    assert_true(fabs(o.l.law - 8 / (8 - 7 * o.l.share)) < 1e-9);
    double law = (8 - 7 * o.l.share) * 1024 * TAU + 3 * TAU + 4 * D + 2 * S;
    assert_true(fabs((double)o.r.time_ps / law - 1) < 0.005);
    /* The registers hold all hot parameters, in packets of 256; no packet found its slot taken. */
    assert_int_equal(o.l.register_bytes, 118 * P);
    assert_int_equal(o.r.switches.collisions, 0);
    assert_int_equal(o.r.window, (uint32_t)(118 / o.l.packet_share));
    /* 256 values on 30 arrays. */
    assert_true(fabs(o.l.passes - (117 * 9 + 2) / 118.0) < 1e-9 && o.l.passes_random > 13);
    o = run(8, 1, "share=0.5 order=random arrays=30", 64);
    assert_true(fabs(o.l.passes - o.l.passes_random) < 1);
    /* Registers for two packets: never more than two under way. */
    o = run(8, 1, "parameters=1000000 zipf=1.3 memory=2KiB training_steps=1 sampled=1", 256);
    assert_int_equal(o.r.slots, 2);
    assert_int_equal(o.r.window, (uint32_t)(2 / o.l.packet_share));
    assert_int_equal(o.r.switches.collisions, 0);
    /* Keys of 8 bytes beside values of 4: three cold packets instead of one. */
    o = run(8, 1, "share=0.75 cold_entry=12B", 1024);
    assert_int_equal(o.r.chunks, 1536);
    assert_true(fabs(o.l.packet_share - 0.5) < 1e-12);
    assert_int_equal(o.l.hot_packets, 768);
}

static rlt_fabric_config losing(double loss, uint64_t seed)
{
    rlt_fabric_config cfg = test_fabric_config();
    cfg.packets.loss = loss;
    cfg.packets.seed = seed;
    return cfg;
}

static test_leaves network(uint32_t i)
{
    return (test_leaves){.workers = 9,
                         .leaves = i % 2 ? 2 : 0,
                         .spines = 1,
                         .leaf_can = "reduce+multicast",
                         .spine_can = "reduce+multicast"};
}

/* Every worker gets every sum (the fabric checks), in one switch and a tree of them. */
static void losses(void **state)
{
    (void)state;
    static const double loss[] = {0.0005, 0.01, 0.05};
    uint64_t evicted = 0;
    for (uint32_t i = 0; i < 12; i++) {
        rlt_time first = 0;
        for (int again = 0; again < 2; again++) {
            test_leaves net = network(i);
            outcome o = run_on(
                &net, losing(loss[i / 4], i),
                i % 4 < 2 ? "share=1 window=32 rto=60us steps=2" : "share=0.5 window=32 rto=100us", 600);
            assert_true(o.r.lost > 0 && o.r.retransmissions > 0);
            evicted += o.r.switches.evictions;
            assert_true(!again || o.r.time_ps == first);
            first = o.r.time_ps;
        }
    }
    assert_true(evicted > 100);
}

/* A single worker has no staleness. Equally fast workers have at most the staleness of all others'
 * updates. */
static void staleness(void **state)
{
    (void)state;
    outcome o = run(1, 1, "share=0.5 mode=async steps=4", 64);
    assert_true(o.l.staleness_mean < 1e-12);
    assert_int_equal(o.l.staleness_worst, 0);
    /* All hot, in step: sums of all workers as in mode=sync, to the picosecond. */
    o = run(8, 1, "share=1 mode=async steps=3 flush=1ms", 512);
    assert_int_equal(o.l.flushes, 0);
    assert_int_equal(o.l.staleness_worst, 0);
    assert_int_equal(o.r.time_ps, run(8, 1, "share=1 steps=3", 512).r.time_ps);
    /* All cold, in step: a worker's update is merged after the updates of the others before it. */
    o = run(8, 1, "share=0 mode=async steps=3", 64);
    assert_true(o.l.staleness_worst >= 7 && o.l.staleness_mean > 1 && o.l.staleness_mean < 14);
}

/* Workers of different speed: in asynchronous mode the fast ones do not wait, and values are older. */
static void barriers(void **state)
{
    (void)state;
    const char *uneven = "share=0.75 steps=20 compute=100us jitter=2 flush=20us";
    char settings[160];
    outcome sync = run(8, 1, uneven, 64), async;
    snprintf(settings, sizeof settings, "%s mode=async", uneven);
    async = run(8, 1, settings, 64);
    assert_true(async.r.time_ps < sync.r.time_ps);
    assert_int_equal(sync.l.flushes, 0);
    assert_true(sync.l.staleness_mean < 1e-12);
    assert_true(async.l.flushes > 0 && async.l.staleness_mean > 0);
    /* Without losses, every update reached the server once: in sums, in partial sums, or alone. */
    assert_int_equal(async.r.retransmissions, 0);
    assert_true(async.r.unaggregated >= 20ull * 16 * 8);
}

static void async_losses(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 24; i++) {
        test_leaves net = network(i);
        rlt_fabric_config cfg = losing(i % 3 ? 0.002 * (1 + i) : 0, i);
        if (i % 4 == 3) {
            cfg.twice = 0.02;
            cfg.held = 0.05;
            cfg.hold_ps = 30000000;
        }
        outcome o =
            run_on(&net, cfg,
                   "share=0.6 mode=async window=16 steps=6 compute=20us jitter=3 flush=15us rto=90us", 60);
        assert_true(o.r.lost > 0 || i % 3 == 0);
        assert_int_equal(o.r.switches.refused, 0);
    }
}

/* All cold: the server answers each packet that comes once, to its worker alone. So each packet is lost, or its answer,
 * or the answer comes, and those that come twice are the retransmissions that nothing was lost of. */
static void answered_alone(void **state)
{
    (void)state;
    uint64_t lost = 0;
    for (uint32_t i = 0; i < 12; i++) {
        test_leaves net = {.workers = 5, .leaf_can = "reduce+multicast"};
        outcome o =
            run_on(&net, losing(0.01 + 0.01 * i, i), "share=0 mode=async window=4 steps=3 rto=150us", 40);
        assert_int_equal(o.r.packets, 4 * 40 * 3 + o.r.retransmissions + o.r.unaggregated);
        assert_int_equal(o.r.duplicates, o.r.retransmissions - o.r.lost);
        lost += o.r.lost;
    }
    assert_true(lost > 100);
}

/* Any mixture of settings, losses up to 5 %, duplicates and overtaking: every update is merged once, and all
 * jobs finish. */
static void schedules(void **state)
{
    (void)state;
    uint64_t partials = 0, collisions = 0, duplicates = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        test_leaves net = network(i);
        rlt_fabric_config cfg = losing(0.05 * rlt_random_unit(3, 0, 0, i), i);
        cfg.twice = i % 3 == 0 ? 0.05 : 0;
        cfg.held = i % 5 == 0 ? 0.1 : 0;
        cfg.hold_ps = 40000000;
        cfg.aggregator.slots = i % 7 == 0 ? 5 : 0;
        char settings[200];
        snprintf(settings, sizeof settings,
                 "share=%.3f servers=%u window=%u steps=%u mode=%s compute=9us jitter=%u flush=%uus rto=%uus",
                 rlt_random_unit(3, 0, 1, i), 1 + i % 3, 1 + i % 17, 1 + i % 4, i % 2 ? "async" : "sync",
                 i % 5, 1 + i % 40, 40 + i % 60);
        outcome o = run_on(&net, cfg, settings, 1 + i % 23);
        partials += o.l.flushes;
        collisions += o.r.switches.collisions;
        duplicates += o.r.duplicates;
    }
    assert_true(partials > 1000 && collisions > 100 && duplicates > 1000);
}

static void refused(void **state)
{
    (void)state;
    test_leaves net = {.workers = 9, .leaf_can = "reduce+multicast"};
    test_fabric x = test_fabric_open(&net, test_fabric_config());
    static const struct {
        const char *settings;
        int rc;
    } bad[] = {{"servers=9", RLT_ERANGE},
               {"payload=8KiB", RLT_ERANGE},
               {"parameters=1000 training_steps=1000000 sampled=1", RLT_ERANGE},
               {"parameters=1000 memory=1GB", RLT_ERANGE}};
    uint32_t job;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rlt_error err = {0};
        rlt_react_request q = test_request("libra", bad[i].settings, 9, 1000 * P);
        assert_int_equal(rlt_fabric_add(x.fabric, &q, &job, &err), bad[i].rc);
        assert_true(err.what[0] != 0);
    }
    rlt_react_request q = test_request("libra", "", 9, 0);
    job = test_add(&x, &q);
    test_finish(&x);
    assert_int_equal(rlt_fabric_result(x.fabric, job).time_ps, 0);
    test_fabric_close(&x);
    /* No packet arrives: a named stall. */
    x = test_fabric_open(&net, losing(1, 1));
    rlt_error err = {0};
    q = test_request("libra", "tries=3 rto=50us", 9, 10 * P);
    job = test_add(&x, &q);
    assert_int_equal(rlt_fabric_run(x.fabric, &err), RLT_ESTALL);
    test_fabric_close(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden),      cmocka_unit_test(speedup),        cmocka_unit_test(servers),
        cmocka_unit_test(connections), cmocka_unit_test(steps),          cmocka_unit_test(sought),
        cmocka_unit_test(passes),      cmocka_unit_test(losses),         cmocka_unit_test(staleness),
        cmocka_unit_test(barriers),    cmocka_unit_test(async_losses),   cmocka_unit_test(refused),
        cmocka_unit_test(schedules),   cmocka_unit_test(answered_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
