/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * SwitchML on packets: golden times of an independent packet model and of closed forms, to the picosecond.
 * Packets of 1024 + 82 bytes at 100 Gb/s (tau = 88.48 ns), links of 1 us, switches of 500 ns.
 */
#include "collectives/in_network/reactive.h"
#include "net/aggregation/aggregator.h"
#include "net/packet/packets.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/networks/fabric.h"

enum { TAU = 88480, D = 1000000, S = 500000, P = 1024 };

static const test_leaves star = {.workers = 8, .leaf_can = "reduce+multicast"};
static const test_leaves two = {
    .workers = 8, .leaves = 2, .spines = 1, .leaf_can = "reduce+multicast", .spine_can = "reduce+multicast"};

/* Loses the first packets of a worker's chunk on its way up, or its first copies on the way down: one, or `times`. */
typedef struct loser {
    bool up;
    uint32_t chunk, worker, lost, times;
} loser;

static bool lose(void *ctx, uint32_t job, const rlt_packet *p, uint32_t member)
{
    loser *l = ctx;
    (void)job;
    bool up = p->src == member;
    if (l->lost >= (l->times ? l->times : 1) || up != l->up || p->key != l->chunk || member != l->worker)
        return false;
    l->lost++;
    return true;
}

static rlt_react_result run(const test_leaves *net, const char *settings, uint32_t chunks, loser *l)
{
    rlt_fabric_config cfg = test_fabric_config();
    cfg.lose = l ? lose : NULL;
    cfg.lose_ctx = l;
    test_fabric x = test_fabric_open(net, cfg);
    rlt_react_request q = test_request("switchml", settings, net->workers, (uint64_t)chunks * P);
    uint32_t job = test_add(&x, &q);
    test_finish(&x);
    rlt_react_result r = rlt_fabric_result(x.fabric, job);
    /* Without losses, links carry every chunk once each way; they are never busy beyond the run. */
    const rlt_usage *usage = rlt_packets_usage(rlt_fabric_packets(x.fabric));
    for (uint32_t i = 0; i < rlt_topology_links(x.topology); i++) {
        rlt_link_usage u = rlt_usage_link(usage, i);
        assert_true(u.busy_ps <= r.time_ps);
        if (!l)
            assert_int_equal(u.bytes, (uint64_t)chunks * (P + 82));
    }
    assert_int_equal(r.switches.refused, 0);
    assert_int_equal(r.switches.completions, (uint64_t)chunks * r.adders);
    assert_int_equal(r.lost, !l ? 0 : l->times ? l->times : 1);
    test_fabric_close(&x);
    return r;
}

static rlt_time star_of(uint32_t n, uint32_t window, uint32_t chunks)
{
    test_leaves net = star;
    char settings[32];
    net.workers = n;
    snprintf(settings, sizeof settings, "window=%u", window);
    rlt_react_result r = run(&net, settings, chunks, NULL);
    assert_int_equal(r.retransmissions, 0);
    assert_int_equal(r.switches.duplicates, 0);
    return r.time_ps;
}

static void test_star(void **state)
{
    (void)state;
    assert_int_equal(star_of(8, 256, 4096), 365002560);
    assert_int_equal(star_of(4, 1, 1000), 2676960000);
    assert_int_equal(star_of(8, 1, 4096), 10964828160);
    assert_int_equal(star_of(8, 2, 4096), 5482502560);
    assert_int_equal(star_of(8, 4, 4096), 2741472480);
    assert_int_equal(star_of(8, 8, 4096), 1371222880);
    assert_int_equal(star_of(8, 30, 4096), 368070720);
    static const uint32_t wide[] = {31, 32, 64, 128};
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(star_of(8, wide[i], 4096), 365002560);
    static const uint32_t many[] = {2, 4, 16, 64};
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(star_of(many[i], 256, 4096), 365002560);
}

static void test_two_leaves(void **state)
{
    (void)state;
    assert_int_equal(run(&two, "window=256", 4096, NULL).time_ps, 368179520);
    assert_int_equal(run(&two, "window=66", 4096, NULL).time_ps, 369062400);
    assert_int_equal(run(&two, "window=67", 4096, NULL).time_ps, 368179520);
}

static void test_loss(void **state)
{
    (void)state;
    static const struct {
        uint32_t chunk;
        rlt_time time_ps;
    } cases[] = {{0, 1042919840}, {100, 1051767840}, {3900, 1347837440}, {4095, 1365091040}};
    for (uint32_t i = 0; i < 4; i++)
        for (int up = 0; up < 2; up++) {
            loser l = {.up = up, .chunk = cases[i].chunk, .worker = 3};
            rlt_react_result r = run(&star, "window=256 rto=1ms", 4096, &l);
            assert_int_equal(r.time_ps, cases[i].time_ps);
            assert_int_equal(r.retransmissions, up ? 8 : 1);
            assert_int_equal(r.timeouts, up ? 8 : 1);
            assert_int_equal(r.switches.duplicates, up ? 7 : 1);
            /* Workers whose second copy arrives after the missing one. */
            assert_int_equal(r.switches.unicasts, up ? 4 : 1);
        }
    loser l = {.up = true, .chunk = 0, .worker = 3};
    assert_int_equal(run(&two, "window=256 rto=1ms", 4096, &l).time_ps, 1093751200);
}

/* A chunk that is lost again and again: the timeout doubles after every `backoff` retransmissions, ten times at
 * most. What a loss costs beside the timeout is the same each time. */
static void test_backoff(void **state)
{
    (void)state;
    const rlt_time none = run(&star, "", 1, NULL).time_ps;
    loser once = {.up = true, .worker = 3};
    const rlt_time beside = run(&star, "rto=1ms", 1, &once).time_ps - none - RLT_MS;
    for (uint32_t backoff = 0; backoff <= 4; backoff++) {
        for (uint32_t times = 1; times <= 14; times += 1 + times / 8) {
            loser l = {.up = true, .worker = 3, .times = times};
            char settings[64];
            snprintf(settings, sizeof settings, "rto=1ms tries=20 backoff=%u", backoff);
            rlt_time end = none;
            for (uint32_t i = 0; i < times; i++) {
                uint32_t doublings = backoff ? i / backoff : 0;
                end += beside + RLT_MS * (rlt_time)(1u << (doublings < 10 ? doublings : 10));
            }
            rlt_react_result r = run(&star, settings, 1, &l);
            assert_int_equal(r.time_ps, end);
            assert_int_equal(r.timeouts, 8 * times);
        }
    }
}

static void test_straggler(void **state)
{
    (void)state;
    test_fabric x = test_fabric_open(&star, test_fabric_config());
    rlt_time late[8] = {0};
    rlt_react_request q = test_request("switchml", "window=256", 8, 4096 * P);
    late[7] = 500 * RLT_US;
    q.late_ps = late;
    uint32_t job = test_add(&x, &q), node;
    test_finish(&x);
    rlt_react_result r = rlt_fabric_result(x.fabric, job);
    assert_int_equal(r.time_ps, 865002560);
    const rlt_aggregator *a = rlt_fabric_switch(x.fabric, 0, &node);
    assert_non_null(a);
    rlt_agg_occupancy o = rlt_aggregator_occupancy(a, r.time_ps);
    assert_int_equal(o.peak, 256);
    assert_true(o.mean > 236.645 && o.mean < 236.655);
    assert_int_equal(rlt_aggregator_memory(a).value_bytes, 524288);
    assert_null(rlt_fabric_switch(x.fabric, 1, &node));
    test_fabric_close(&x);
}

/* Utilisation of a worker's link up. */
static void test_utilisation(void **state)
{
    (void)state;
    static const struct {
        const test_leaves *net;
        const char *settings;
        double least, most;
    } cases[] = {{&star, "window=256", .992905, .992915},
                 {&two, "window=256", .984335, .984345},
                 {&two, "window=66", .981985, .981995}};
    for (uint32_t i = 0; i < 3; i++) {
        double t = (double)run(cases[i].net, cases[i].settings, 4096, NULL).time_ps;
        double utilisation = 4096.0 * TAU / t;
        assert_true(utilisation > cases[i].least && utilisation < cases[i].most);
    }
}

/* T = (C-1) tau + RTT, or by windows; to the picosecond within the conditions of the closed form. */
static void test_closed_form(void **state)
{
    (void)state;
    static const uint32_t windows[] = {1, 3, 7, 16, 29, 31, 40, 100};
    for (uint32_t levels = 1; levels <= 2; levels++)
        for (uint32_t i = 0; i < 8; i++)
            for (uint32_t chunks = 1; chunks <= 1000; chunks = chunks * 3 + 1) {
                rlt_time rtt = 2 * (rlt_time)levels * (TAU + D) + (2 * (rlt_time)levels - 1) * S;
                rlt_time w = windows[i], last = chunks - 1;
                rlt_time t = w * TAU >= rtt ? last * TAU + rtt : last / w * rtt + last % w * TAU + rtt;
                char settings[32];
                snprintf(settings, sizeof settings, "window=%u", windows[i]);
                assert_int_equal(run(levels == 1 ? &star : &two, settings, chunks, NULL).time_ps, t);
            }
}

/* Goodput is the smaller of the wire's and the window's; the knee is at ceil(RTT / tau). */
static void test_knee(void **state)
{
    (void)state;
    static const uint32_t windows[] = {2, 10, 25, 30, 31, 32, 50, 66, 67, 68, 100};
    for (int levels = 1; levels <= 2; levels++) {
        double rtt = levels == 1 ? 2676960 : 5853920, full = 0;
        uint32_t knee = 0;
        for (uint32_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
            const uint32_t chunks = 10000, w = windows[i];
            char settings[32];
            snprintf(settings, sizeof settings, "window=%u", w);
            double t = (double)run(levels == 1 ? &star : &two, settings, chunks, NULL).time_ps;
            double goodput = (double)chunks * P / t, wire = (double)P / TAU, window = w * (double)P / rtt;
            double least = wire < window ? wire : window;
            assert_true(goodput > 0.99 * least && goodput < 1.01 * least);
            if (goodput > full * 1.000001) {
                full = goodput;
                knee = w;
            }
        }
        assert_int_equal(knee, levels == 1 ? 31 : 67);
    }
}

/* 2893.3 million elements a second at 100 Gb/s, for any number of workers. */
static void test_ceiling(void **state)
{
    (void)state;
    static const uint32_t many[] = {4, 8, 16};
    for (uint32_t i = 0; i < 3; i++) {
        test_leaves net = star;
        net.workers = many[i];
        const uint32_t chunks = 20000;
        double t = (double)run(&net, "window=256", chunks, NULL).time_ps;
        double millions = chunks * (P / 4.0) / t * 1e6;
        assert_true(millions > 2893.3 * 0.995 && millions < 2893.3 * 1.005);
    }
}

/* A leaf that cannot add forwards each of its workers' packets: its uplink carries k M, and is the
 * bottleneck. */
static void test_dumb_leaf(void **state)
{
    (void)state;
    test_leaves net = two;
    net.odd_can = "multicast";
    test_fabric x = test_fabric_open(&net, test_fabric_config());
    rlt_react_request q = test_request("switchml", "window=1024", 8, 4096 * P);
    uint32_t job = test_add(&x, &q);
    test_finish(&x);
    rlt_react_result r = rlt_fabric_result(x.fabric, job);
    assert_int_equal(r.adders, 2);
    assert_int_equal(r.time_ps, 4 * 4096 * (rlt_time)TAU + 3 * TAU + 4 * D + 3 * S);
    test_fabric_close(&x);
}

/* Random loss: every sum is right (or the run fails), and the same seed repeats the run. */
static void test_random_loss(void **state)
{
    (void)state;
    static const double losses[] = {0.0001, 0.001, 0.01, 0.05};
    for (uint32_t i = 0; i < 8; i++) {
        rlt_time first = 0;
        for (int again = 0; again < 2; again++) {
            rlt_fabric_config cfg = test_fabric_config();
            cfg.packets.loss = losses[i / 2];
            cfg.packets.seed = i;
            cfg.aggregator.reemit = true;
            test_fabric x = test_fabric_open(i % 2 ? &two : &star, cfg);
            rlt_react_request q = test_request("switchml", "window=64 rto=50us", 8, 2000 * P);
            uint32_t job = test_add(&x, &q);
            test_finish(&x);
            rlt_react_result r = rlt_fabric_result(x.fabric, job);
            assert_int_equal(r.switches.refused, 0);
            assert_int_equal(r.switches.completions, 2000 * r.adders);
            assert_true(i < 2 || (r.lost > 0 && r.retransmissions > 0));
            assert_true(!again || r.time_ps == first);
            first = r.time_ps;
            uint32_t node;
            for (uint32_t k = 0; k < r.adders; k++)
                assert_int_equal(rlt_aggregator_unfinished(rlt_fabric_switch(x.fabric, k, &node)), 0);
            test_fabric_close(&x);
        }
    }
}

/* Everything is lost: a named stall, also without a timer. */
static void test_stall(void **state)
{
    (void)state;
    for (int timer = 0; timer < 2; timer++) {
        rlt_fabric_config cfg = test_fabric_config();
        cfg.packets.loss = 1;
        test_fabric x = test_fabric_open(&star, cfg);
        rlt_react_request q = test_request("switchml", timer ? "rto=10us tries=20" : "rto=0", 8, 100 * P);
        rlt_error err = {0};
        test_add(&x, &q);
        assert_int_equal(rlt_fabric_run(x.fabric, &err), RLT_ESTALL);
        assert_non_null(strstr(err.what, "rank 0"));
        test_fabric_close(&x);
    }
}

/* Jobs share the links and the slots: half the rate each. Exhausted slots are a reason for refusal. */
static void test_jobs(void **state)
{
    (void)state;
    rlt_fabric_config cfg = test_fabric_config();
    cfg.aggregator.slots = 256;
    cfg.aggregator.jobs = 2;
    test_fabric x = test_fabric_open(&star, cfg);
    rlt_react_request q = test_request("switchml", "window=256", 8, 4096 * P);
    uint32_t a = test_add(&x, &q), b = test_add(&x, &q), c;
    rlt_error err = {0};
    assert_int_equal(rlt_fabric_add(x.fabric, &q, &c, &err), RLT_EUNSUPPORTED);
    assert_non_null(strstr(err.what, "no slots left"));
    test_finish(&x);
    for (uint32_t job = a; job <= b; job++) {
        rlt_react_result r = rlt_fabric_result(x.fabric, job);
        assert_int_equal(r.window, 128);
        assert_int_equal(r.slots, 128);
        assert_true(r.time_ps > 2 * 4096 * (rlt_time)TAU - 200 * TAU);
        assert_true(r.time_ps < 2 * 4096 * (rlt_time)TAU + 2676960 + TAU);
    }
    test_fabric_close(&x);
}

/* Slots are given first come, first served. The other jobs run over servers on their members, and say why. */
static void test_fallback(void **state)
{
    (void)state;
    rlt_fabric_config cfg = test_fabric_config();
    cfg.aggregator.slots = 300;
    cfg.aggregator.sharing = RLT_SHARE_FIRST_COME;
    test_fabric x = test_fabric_open(&star, cfg);
    rlt_react_request q = test_request("switchml", "window=256", 8, 512 * P);
    rlt_react_request servers =
        test_request("ps-switch", "share=0 answers=server servers=8 servers_at=members", 8, 0);
    q.fallback = servers.protocol;
    memcpy(q.fallback_settings, servers.settings, sizeof servers.settings);
    static const uint32_t slots[] = {256, 44, 0, 0};
    uint32_t job[4];
    for (uint32_t i = 0; i < 4; i++)
        job[i] = test_add(&x, &q);
    test_finish(&x);
    for (uint32_t i = 0; i < 4; i++) {
        rlt_react_result r = rlt_fabric_result(x.fabric, job[i]);
        assert_int_equal(r.slots, slots[i]);
        assert_int_equal(r.chunks, 512);
        if (slots[i]) {
            assert_null(r.fell_back);
            assert_int_equal(r.switches.completions, 512);
        } else {
            assert_non_null(strstr(r.fell_back, "no slots left"));
            assert_int_equal(r.unaggregated, 512 * 8);
        }
    }
    test_fabric_close(&x);
    /* No switch that adds up: the same. */
    test_leaves dull = star;
    dull.leaf_can = "";
    x = test_fabric_open(&dull, test_fabric_config());
    job[0] = test_add(&x, &q);
    test_finish(&x);
    assert_non_null(strstr(rlt_fabric_result(x.fabric, job[0]).fell_back, "in_network"));
    test_fabric_close(&x);
}

/* Trees over two spines; a window of exponents ahead; the last chunk is a whole packet. */
static void test_settings(void **state)
{
    (void)state;
    test_leaves net = two;
    net.spines = 2;
    net.uplink = "50Gbps"; /* half: one spine is not enough */
    rlt_time times[2];
    for (uint32_t trees = 1; trees <= 2; trees++) {
        test_fabric x = test_fabric_open(&net, test_fabric_config());
        char settings[48];
        snprintf(settings, sizeof settings, "window=512 trees=%u", trees);
        rlt_react_request q = test_request("switchml", settings, 8, 4096 * P);
        uint32_t job = test_add(&x, &q);
        test_finish(&x);
        times[trees - 1] = rlt_fabric_result(x.fabric, job).time_ps;
        test_fabric_close(&x);
    }
    assert_true(times[0] > 2 * 4096 * (rlt_time)TAU);
    assert_true((double)times[1] < 1.05 * 4096 * TAU);
    test_fabric x = test_fabric_open(&star, test_fabric_config());
    rlt_react_request q = test_request("switchml", "window=256 exponents=on", 8, 4095 * P + 1);
    uint32_t job = test_add(&x, &q);
    test_finish(&x);
    assert_int_equal(rlt_fabric_result(x.fabric, job).chunks, 4096 + 256);
    assert_int_equal(rlt_fabric_result(x.fabric, job).time_ps, 365002560 + 256 * TAU);
    test_fabric_close(&x);
    rlt_error err = {0};
    assert_int_equal(rlt_settings_set(q.protocol, q.settings, "windows", "3", &err), RLT_EUSAGE);
    assert_non_null(strstr(err.what, "unknown setting of switchml; did you mean 'window'?"));
    assert_int_equal(rlt_settings_set(q.protocol, q.settings, "window", "0", NULL), RLT_EUSAGE);
    assert_int_equal(rlt_settings_set(q.protocol, q.settings, "place", "to", NULL), RLT_EUSAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_star),        cmocka_unit_test(test_two_leaves),
        cmocka_unit_test(test_loss),        cmocka_unit_test(test_backoff),
        cmocka_unit_test(test_straggler),   cmocka_unit_test(test_utilisation),
        cmocka_unit_test(test_closed_form), cmocka_unit_test(test_knee),
        cmocka_unit_test(test_ceiling),     cmocka_unit_test(test_dumb_leaf),
        cmocka_unit_test(test_random_loss), cmocka_unit_test(test_stall),
        cmocka_unit_test(test_jobs),        cmocka_unit_test(test_fallback),
        cmocka_unit_test(test_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
