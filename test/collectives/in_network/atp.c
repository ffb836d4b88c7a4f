/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ATP: the bound of the window, the law of collisions, the traffic to servers, marks and losses, and slots
 * that do not wait for stragglers. Packets of 248 + 60 bytes at 100 Gb/s (tau = 24.64 ns), links of 1 us,
 * switches of 500 ns.
 */
#include <math.h>

#include "collectives/in_network/reactive.h"
#include "net/aggregation/aggregator.h"
#include "net/packet/packets.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "test/support/networks/fabric.h"

enum { TAU = 24640, D = 1000000, S = 500000, P = 248, WIRE = 308 };

static test_leaves hosts(uint32_t n)
{
    return (test_leaves){.workers = n, .leaf_can = "reduce+multicast"};
}

static rlt_react_result run(uint32_t n, const char *settings, uint32_t chunks)
{
    test_leaves net = hosts(n);
    test_fabric x = test_fabric_open(&net, test_fabric_config());
    rlt_react_request q = test_request("atp", settings, n, (uint64_t)chunks * P);
    uint32_t job = test_add(&x, &q);
    test_finish(&x);
    rlt_react_result r = rlt_fabric_result(x.fabric, job);
    test_fabric_close(&x);
    return r;
}

/* A slot is held for a round trip to the server, RTT = 4 tau + 4 d + 2 s. Throughput is at most window x
 * payload / RTT. */
static void test_window(void **state)
{
    (void)state;
    const rlt_time rtt = 4 * TAU + 4 * D + 2 * S;
    /* One packet at a time: exactly C RTT. A is large, so everything is aggregated. */
    rlt_react_result r = run(9, "window=1", 200);
    assert_int_equal(r.time_ps, 200 * rtt);
    assert_int_equal(r.aggregated, 200);
    assert_int_equal(r.unaggregated, 0);
    assert_int_equal(r.switches.contributions, 8 * 200);
    /* Places of one window may collide: it takes a few rounds until each has its own slot. */
    r = run(9, "window=64", 6400);
    assert_true(r.time_ps >= 99 * rtt + 63 * TAU);
    assert_true((double)r.time_ps < 1.15 * 100 * (double)rtt);
    assert_true(r.unaggregated < 8 * 64);
    assert_int_equal(r.unaggregated, r.switches.fallbacks + r.switches.resends);
}

/* The window is fixed, or grows by 1500 B per window: 1, 5, 10, ... packets, up to 100 after 21 windows. */
static void test_growth(void **state)
{
    (void)state;
    const rlt_time rtt = 4 * TAU + 4 * D + 2 * S;
    for (uint32_t k = 1; k <= 16; k *= 4) {
        char settings[96];
        const uint32_t chunks = 1000;
        snprintf(settings, sizeof settings, "start=%u increase=0 aggregators=65536", k);
        rlt_react_result r = run(5, settings, chunks);
        assert_int_equal(r.unaggregated, 0); /* too few packets under way to collide */
        assert_int_equal(r.time_ps, (chunks - 1) / k * rtt + (chunks - 1) % k * TAU + rtt);
    }
    double at_once = (double)run(5, "aggregators=65536", 20000).time_ps;
    double slowly = (double)run(5, "start=1 aggregators=65536", 20000).time_ps;
    assert_true(slowly > at_once + 5 * (double)rtt);
    assert_true(slowly < at_once + 22 * (double)rtt);
}

/* If others hold the slots of x throws into A, a share 1 - (1 - 1/A)^x of the packets collides. */
static void test_collisions(void **state)
{
    (void)state;
    enum { A = 2048, CHUNKS = 4096 };
    for (uint32_t x = 128; x <= 8 * A; x *= 4) {
        test_leaves net = hosts(6);
        rlt_fabric_config cfg = test_fabric_config();
        cfg.aggregator.slots = A;
        cfg.aggregator.sharing = RLT_SHARE_DYNAMIC;
        test_fabric f = test_fabric_open(&net, cfg);
        const uint32_t first[] = {0, 1, 4}, second[] = {2, 3, 5};
        const rlt_time late[] = {0, 10 * RLT_S, 0};
        char settings[96];
        /* Half a job, which waits for its other worker and keeps its slots. */
        snprintf(settings, sizeof settings, "window=%u start=%u aggregators=%u rto=100s", x, x, A);
        rlt_react_request q = test_request("atp", settings, 3, (uint64_t)x * P);
        q.ranks = first;
        q.late_ps = late;
        uint32_t one = test_add(&f, &q);
        snprintf(settings, sizeof settings, "window=%u start=1 increase=0 aggregators=%u", CHUNKS, A);
        q = test_request("atp", settings, 3, (uint64_t)CHUNKS * P);
        q.ranks = second;
        q.start_ps = RLT_S;
        uint32_t two = test_add(&f, &q);
        test_finish(&f);
        rlt_react_result r = rlt_fabric_result(f.fabric, two);
        assert_true(r.end_ps < 10 * RLT_S);
        double p = 1 - pow(1 - 1.0 / A, x), share = (double)r.switches.collisions / 2 / CHUNKS;
        /* The number of slots taken is itself random: balls into bins. */
        double l = (double)x / A, bins = (exp(-l) - (1 + l) * exp(-2 * l)) / A;
        double error = sqrt(p * (1 - p) / CHUNKS + bins);
        assert_true(fabs(share - p) <= 3 * error);
        assert_int_equal(r.switches.fallbacks, r.switches.collisions);
        assert_int_equal(r.unaggregated, r.switches.fallbacks);
        assert_int_equal(r.aggregated, CHUNKS - r.switches.collisions / 2);
        assert_true(rlt_fabric_result(f.fabric, one).end_ps > 10 * RLT_S);
        test_fabric_close(&f);
    }
}

/* Earlier jobs have all slots: everything of this job goes to the server, n C tau. */
static void test_no_slots(void **state)
{
    (void)state;
    enum { N = 8, C = 2000 };
    test_leaves net = hosts(N + 1 + 2);
    rlt_fabric_config cfg = test_fabric_config();
    cfg.aggregator.slots = 64;
    cfg.aggregator.sharing = RLT_SHARE_FIRST_COME;
    test_fabric f = test_fabric_open(&net, cfg);
    const uint32_t idle[] = {9, 10}, rest[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    rlt_react_request q = test_request("atp", "aggregators=64", 2, P);
    q.ranks = idle;
    (void)test_add(&f, &q);
    q = test_request("atp", "", N + 1, (uint64_t)C * P);
    q.ranks = rest;
    uint32_t job = test_add(&f, &q);
    test_finish(&f);
    rlt_react_result r = rlt_fabric_result(f.fabric, job);
    assert_int_equal(r.slots, 0);
    assert_int_equal(r.time_ps, (rlt_time)N * C * TAU + 3 * TAU + 4 * D + 2 * S);
    assert_int_equal(r.unaggregated, N * C);
    assert_int_equal(r.switches.fallbacks, N * C);
    assert_int_equal(r.server_bytes, (uint64_t)N * C * WIRE);
    test_fabric_close(&f);
}

/* Every queue marks: the window stays at one packet, and each takes a round trip and its turn at the port. */
static void test_marks(void **state)
{
    (void)state;
    enum { N = 8, C = 300 };
    test_leaves net = hosts(N + 1 + 2);
    rlt_time took[2];
    uint64_t queue[2];
    for (int ecn = 0; ecn < 2; ecn++) {
        rlt_fabric_config cfg = test_fabric_config();
        cfg.aggregator.slots = 1;
        cfg.aggregator.sharing = RLT_SHARE_FIRST_COME;
        cfg.packets.ecn_min_bytes = ecn ? 1 : 0;
        cfg.packets.ecn_max_bytes = ecn ? 2 : 0;
        cfg.packets.ecn_probability = 1;
        test_fabric f = test_fabric_open(&net, cfg);
        const uint32_t idle[] = {9, 10}, rest[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
        rlt_react_request q = test_request("atp", "", 2, P);
        q.ranks = idle;
        (void)test_add(&f, &q);
        q = test_request("atp", "start=1", N + 1, C * P);
        q.ranks = rest;
        uint32_t job = test_add(&f, &q);
        test_finish(&f);
        took[ecn] = rlt_fabric_result(f.fabric, job).time_ps;
        queue[ecn] = 0;
        for (uint32_t i = 0; i < rlt_topology_links(f.topology); i++) {
            uint64_t peak = rlt_packets_port(rlt_fabric_packets(f.fabric), i).peak_bytes;
            queue[ecn] = peak > queue[ecn] ? peak : queue[ecn];
        }
        test_fabric_close(&f);
    }
    assert_int_equal(took[1], C * (rlt_time)(4 * TAU + 4 * D + 2 * S + (N - 1) * TAU));
    assert_true(took[0] < took[1] / 3);
    assert_int_equal(queue[1], N * WIRE);
    assert_true(queue[0] > 20 * queue[1]);
}

/* A sum is marked if any of its parts is: here the parts of a leaf with a congested uplink. */
static void test_marks_below(void **state)
{
    (void)state;
    test_leaves net = {
        .workers = 9, .leaves = 2, .spines = 1, .leaf_can = "", .spine_can = "reduce+multicast"};
    rlt_fabric_config cfg = test_fabric_config();
    cfg.packets.ecn_min_bytes = 1;
    cfg.packets.ecn_max_bytes = 2;
    cfg.packets.ecn_probability = 1;
    net.uplink = "50Gbps";
    test_fabric f = test_fabric_open(&net, cfg);
    rlt_react_request q = test_request("atp", "start=1 aggregators=65536", 9, 100 * P);
    uint32_t job = test_add(&f, &q);
    test_finish(&f);
    rlt_react_result r = rlt_fabric_result(f.fabric, job);
    /* Four workers of a leaf send one packet each up a link on which a packet takes 2 tau. Up: tau, then 4 x
     * 2 tau. A sum goes down the same link and on to the server, and back. */
    rlt_time one_trip = (1 + 4 * 2) * TAU + (2 + 1) * TAU + (1 + 2) * TAU + (2 + 1) * TAU + 8 * D + 6 * S;
    assert_int_equal(r.unaggregated, 0);
    assert_true(r.time_ps > 100 * (one_trip - 4 * TAU) && r.time_ps < 100 * (one_trip + 4 * TAU));
    test_fabric_close(&f);
}

/* Everything waits for a straggler, exactly; unless slots send partial sums and the server answers with
 * them. */
static void test_late(void **state)
{
    (void)state;
    enum { MOST = 66, C = 8192 };
    static const struct {
        uint32_t n, leaves, straggler;
    } rows[] = {{8, 0, 3}, {8, 2, 3}, {MOST, 0, 64}};
    const rlt_time delta = 500 * RLT_US;
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        uint32_t n = rows[row].n, leaves = rows[row].leaves;
        test_leaves net = {.workers = n + 1,
                           .leaves = leaves,
                           .spines = 1,
                           .leaf_can = "reduce+multicast",
                           .spine_can = "reduce+multicast"};
        rlt_time late[MOST + 1] = {0}, took[4];
        uint64_t left_out = 0;
        static const char *const settings[] = {
            "rto=100ms aggregators=65536",
            "rto=100ms aggregators=65536",
            "rto=100ms aggregators=65536 ttl=20us",
            "rto=100ms aggregators=65536 ttl=5us late=leave",
        };
        for (uint32_t i = 0; i < 4; i++) {
            test_fabric f = test_fabric_open(&net, test_fabric_config());
            late[rows[row].straggler] = i ? delta : 0;
            rlt_react_request q = test_request("atp", settings[i], n + 1, (uint64_t)C * P);
            q.late_ps = late;
            uint32_t job = test_add(&f, &q);
            test_finish(&f);
            rlt_react_result r = rlt_fabric_result(f.fabric, job);
            took[i] = r.time_ps;
            left_out = r.left_out;
            assert_true(i == 3 ? r.switches.partials > 0 && left_out > 0 : left_out == 0);
            test_fabric_close(&f);
        }
        assert_int_equal(took[1], took[0] + delta);
        assert_true(took[3] < took[1]);
        /* Below one switch: a window per round trip and time to live, until all have arrived. */
        if (!leaves) {
            const rlt_time trip = 4 * TAU + 4 * D + 2 * S + 5 * RLT_US;
            assert_int_equal(left_out, (delta + trip - 1) / trip * 100);
        }
        assert_true((double)took[1] / (double)took[3] <= 1.8);
    }
}

/* No packet arrives: the run ends with a named stall after the allowed number of timeouts. */
static void test_stall(void **state)
{
    (void)state;
    for (uint32_t tries = 1; tries <= 100; tries *= 10) {
        rlt_fabric_config cfg = test_fabric_config();
        test_leaves net = hosts(5);
        char settings[32];
        cfg.packets.loss = 1;
        test_fabric f = test_fabric_open(&net, cfg);
        snprintf(settings, sizeof settings, "tries=%u", tries);
        rlt_react_request q = test_request("atp", settings, 5, 1 << 20);
        rlt_error err = {0};
        (void)test_add(&f, &q);
        assert_int_equal(rlt_fabric_run(f.fabric, &err), RLT_ESTALL);
        assert_non_null(strstr(err.what, "rank 0"));
        assert_true(rlt_sim_now(rlt_fabric_sim(f.fabric)) < (rlt_time)(tries + 1) * 64 * 210 * RLT_US);
        test_fabric_close(&f);
    }
}

/* One packet that never arrives: each timeout begins when the packet has left, and is twice as long as the
 * one before, up to 64 times. The timeout after the last allowed one ends the run. */
static void test_timeouts_double(void **state)
{
    (void)state;
    static const uint32_t sums[][2] = {{1, 1 + 2}, {2, 1 + 2 + 4}, {8, 127 + 64 + 64}};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        rlt_fabric_config cfg = test_fabric_config();
        test_leaves net = hosts(5);
        char settings[48];
        rlt_error err = {0};
        cfg.packets.loss = 1;
        test_fabric f = test_fabric_open(&net, cfg);
        snprintf(settings, sizeof settings, "tries=%u rto=100us", sums[i][0]);
        rlt_react_request q = test_request("atp", settings, 5, P);
        (void)test_add(&f, &q);
        assert_int_equal(rlt_fabric_run(f.fabric, &err), RLT_ESTALL);
        assert_int_equal(rlt_sim_now(rlt_fabric_sim(f.fabric)),
                         sums[i][1] * 100 * RLT_US + (rlt_time)(sums[i][0] + 1) * TAU);
        test_fabric_close(&f);
    }
}

/* Two timeouts in a row are allowed, and there are more in all: what is heard in between begins the count
 * anew. */
static void test_timeouts_in_a_row(void **state)
{
    (void)state;
    rlt_fabric_config cfg = test_fabric_config();
    test_leaves net = hosts(5);
    cfg.packets.loss = 0.001;
    test_fabric f = test_fabric_open(&net, cfg);
    rlt_react_request q = test_request("atp", "tries=2 start=1 window=1", 5, 2000 * P);
    uint32_t job = test_add(&f, &q);
    test_finish(&f);
    assert_true(rlt_fabric_result(f.fabric, job).timeouts > 3 * 4);
    test_fabric_close(&f);
}

/* A timeout, while three wait for a straggler, halves their window: eight packets become four in a round
 * trip, and stay so without an increase. They send four chunks again, to the server. The straggler's parts
 * of these stay at the switch until it has its timeout, too. */
static void test_timeout_halves(void **state)
{
    (void)state;
    enum { C = 4000 };
    const rlt_time rtt = 4 * TAU + 4 * D + 2 * S, late[5] = {[3] = 300 * RLT_US};
    test_leaves net = hosts(5);
    test_fabric f = test_fabric_open(&net, test_fabric_config());
    rlt_react_request q =
        test_request("atp", "start=8 window=8 increase=0 rto=200us aggregators=65536", 5, C * P);
    q.late_ps = late;
    uint32_t job = test_add(&f, &q);
    test_finish(&f);
    rlt_react_result r = rlt_fabric_result(f.fabric, job);
    assert_int_equal(r.timeouts, 4);
    double law = (double)late[3] + 200.0 * RLT_US + C / 4 * (double)rtt;
    assert_true(fabs((double)r.time_ps - law) < 0.02 * law);
    test_fabric_close(&f);
}

/* A chunk more than 2^31 - 1 is one too many. */
static void test_too_many_chunks(void **state)
{
    (void)state;
    static const char *const protocols[] = {"atp", "host-ring"};
    for (size_t i = 0; i < 2; i++) {
        test_leaves net = hosts(2);
        uint32_t job;
        rlt_error err = {0};
        test_fabric f = test_fabric_open(&net, test_fabric_config());
        rlt_react_request q = test_request(protocols[i], "payload=1B", 2, (uint64_t)1 << 31);
        assert_int_equal(rlt_fabric_add(f.fabric, &q, &job, &err), RLT_ERANGE);
        assert_string_equal(err.what, "too many chunks: 2147483648");
        test_fabric_close(&f);
    }
}

/* Jobs that compete for slots: shorter jobs first (ESA), or first come, first served (ATP). */
static void test_preempt(void **state)
{
    (void)state;
    double mean[2] = {0};
    for (int preempt = 0; preempt < 2; preempt++) {
        rlt_fabric_config cfg = test_fabric_config();
        enum { JOBS = 4, N = 5 };
        uint32_t job[JOBS];
        cfg.aggregator.slots = 64;
        cfg.aggregator.sharing = RLT_SHARE_DYNAMIC;
        cfg.aggregator.preempt = preempt;
        test_leaves net = hosts(JOBS * N);
        test_fabric f = test_fabric_open(&net, cfg);
        for (uint32_t i = 0; i < JOBS; i++) {
            uint32_t ranks[N];
            for (uint32_t k = 0; k < N; k++)
                ranks[k] = i * N + k;
            rlt_react_request q = test_request("atp", "aggregators=64", N, (uint64_t)(1000 << i) * P);
            q.ranks = ranks;
            q.priority = (uint8_t)(JOBS - i);
            job[i] = test_add(&f, &q);
        }
        test_finish(&f);
        for (uint32_t i = 0; i < JOBS; i++) {
            rlt_react_result r = rlt_fabric_result(f.fabric, job[i]);
            mean[preempt] += (double)r.time_ps / JOBS;
            assert_true(r.switches.collisions > 0);
            assert_true(preempt || r.switches.preemptions == 0);
        }
        test_fabric_close(&f);
    }
    assert_true(mean[0] / mean[1] > 1 && mean[0] / mean[1] <= 1.35);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_collisions),
        cmocka_unit_test(test_no_slots),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_marks_below),
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_stall),
        cmocka_unit_test(test_preempt),
        cmocka_unit_test(test_timeouts_double),
        cmocka_unit_test(test_timeouts_in_a_row),
        cmocka_unit_test(test_timeout_halves),
        cmocka_unit_test(test_too_many_chunks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
