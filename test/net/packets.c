/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Packets on links compared with closed forms. tau = bytes / bandwidth; d: latency of a link; s: latency of a
 * switch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/import/import.h"
#include "net/packet/packets.h"
#include "net/topology/build.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"

enum { MAX_PACKETS = 100000 };

typedef struct seen {
    uint64_t data;
    rlt_time at;
    uint32_t node, link;
    uint16_t hop;
    uint8_t flags;
} seen;

typedef struct bench {
    rlt_topology *t;
    rlt_sim *sim;
    rlt_packets *net;
    rlt_packets_config cfg;
    seen *arrived, *dropped, *left, *passed;
    uint32_t n_arrived, n_dropped, n_left, n_passed;
    uint32_t take_at; /* node that takes probes off, or RLT_NONE */
    rlt_error err;
} bench;

static void note(bench *b, seen *list, uint32_t *n, const rlt_packet *p, uint32_t node, uint32_t link)
{
    assert_true(*n < MAX_PACKETS);
    list[(*n)++] = (seen){p->data, rlt_sim_now(b->sim), node, link, p->hop, p->flags};
}

static void on_arrived(void *ctx, const rlt_packet *p)
{
    bench *b = ctx;
    note(b, b->arrived, &b->n_arrived, p, p->dst, RLT_NONE);
}

static void on_dropped(void *ctx, const rlt_packet *p, uint32_t link)
{
    bench *b = ctx;
    note(b, b->dropped, &b->n_dropped, p, RLT_NONE, link);
}

static void on_left(void *ctx, const rlt_packet *p)
{
    bench *b = ctx;
    note(b, b->left, &b->n_left, p, p->src, RLT_NONE);
}

static bool on_pass(void *ctx, uint32_t node, const rlt_packet *p)
{
    bench *b = ctx;
    note(b, b->passed, &b->n_passed, p, node, RLT_NONE);
    return node == b->take_at;
}

static bench open_bench(const char *spec)
{
    bench b = {.take_at = RLT_NONE};
    rlt_error err = {0};
    int rc = rlt_topology_load(spec, NULL, &b.t, &err);
    if (rc)
        fail_msg("%s: %s", err.where, err.what);
    assert_int_equal(rlt_sim_create(&b.sim, NULL), 0);
    seen **lists[] = {&b.arrived, &b.dropped, &b.left, &b.passed};
    for (int i = 0; i < 4; i++) {
        *lists[i] = malloc(MAX_PACKETS * sizeof(seen));
        assert_non_null(*lists[i]);
    }
    b.cfg = (rlt_packets_config){.sim = b.sim,
                                 .topology = b.t,
                                 .bandwidth_scale = 1,
                                 .latency_scale = 1,
                                 .client = {.arrived = on_arrived, .dropped = on_dropped}};
    return b;
}

static void make(bench *b)
{
    b->cfg.client.ctx = b;
    if (rlt_packets_create(&b->cfg, &b->net, &b->err))
        fail_msg("%s", b->err.what);
}

static void close_bench(bench *b)
{
    rlt_packets_free(b->net);
    rlt_sim_free(b->sim);
    rlt_topology_free(b->t);
    free(b->arrived);
    free(b->dropped);
    free(b->left);
    free(b->passed);
}

static uint32_t link_between(const bench *b, uint32_t src, uint32_t dst)
{
    for (uint32_t i = 0; i < rlt_topology_links(b->t); i++) {
        rlt_link l = rlt_topology_link(b->t, i);
        if (l.src == src && l.dst == dst)
            return i;
    }
    fail_msg("no link from %u to %u", src, dst);
    return RLT_NONE;
}

/* Makes a route over nodes; RLT_NONE ends the list. */
static uint32_t route_over(bench *b, const uint32_t *nodes)
{
    uint32_t links[16], n = 0;
    for (; nodes[n + 1] != RLT_NONE; n++)
        links[n] = link_between(b, nodes[n], nodes[n + 1]);
    uint32_t r = rlt_packets_route(b->net, links, n);
    assert_int_not_equal(r, RLT_NONE);
    assert_int_equal(rlt_packets_route(b->net, links, n), r);
    return r;
}
#define ROUTE(b, ...) route_over(b, (const uint32_t[]){__VA_ARGS__, RLT_NONE})

static void send_many(bench *b, uint32_t route, uint32_t bytes, uint32_t count, uint64_t first, uint8_t flags)
{
    for (uint32_t i = 0; i < count; i++) {
        rlt_packet p = {.bytes = bytes, .route = route, .data = first + i, .flags = flags};
        rlt_packets_send(b->net, &p);
    }
}

static void run(bench *b)
{
    char text[200];
    if (rlt_sim_run(b->sim, RLT_TIME_MAX, &b->err))
        fail_msg("%s", b->err.what);
    assert_int_equal(rlt_packets_pending(b->net, text, sizeof text), 0);
    rlt_packets_settle(b->net);
}

/* Four accelerators on one switch (node 4), 10 GB/s (100 ps a byte), 1 us a link. */
static const char star[] = "switch:4@10GB/s,1us";

/* A line: accelerator, k switches, accelerator. Link i has rate[i] (in GB/s) and latency d. */
static bench open_line(uint32_t switches, const uint32_t *rate, const char *latency)
{
    char text[4096];
    size_t used = (size_t)snprintf(text, sizeof text,
                                   "{\"nodes\": [{\"id\": \"a\", \"kind\": \"accelerator\"}, {\"id\": \"b\", "
                                   "\"kind\": \"accelerator\"}");
    for (uint32_t i = 0; i < switches; i++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used, ", {\"id\": \"s%u\", \"kind\": \"switch\"}", i);
    used += (size_t)snprintf(text + used, sizeof text - used, "], \"links\": [");
    for (uint32_t i = 0; i <= switches; i++) {
        char from[16] = "a", to[16] = "b";
        if (i > 0)
            snprintf(from, sizeof from, "s%u", i - 1);
        if (i < switches)
            snprintf(to, sizeof to, "s%u", i);
        used += (size_t)snprintf(
            text + used, sizeof text - used,
            "%s{\"src\": \"%s\", \"dst\": \"%s\", \"bandwidth\": \"%uGB/s\", \"latency\": \"%s\"}",
            i ? ", " : "", from, to, rate[i], latency);
    }
    snprintf(text + used, sizeof text - used, "]}");
    return open_bench(text);
}

enum { NS = 1000, US = 1000000 };

/* C packets over h hops take (C-1) tau + h tau + h d + (h-1) s, for any number of switches. */
static void a_train_over_hops_store_and_forward(void **state)
{
    (void)state;
    const uint32_t rate[] = {10, 10, 10, 10, 10, 10};
    for (uint32_t k = 0; k < 6; k++) {
        bench b = open_line(k, rate, "700ns");
        b.cfg.switch_ps = 300 * NS;
        make(&b);
        uint32_t nodes[8] = {0};
        for (uint32_t i = 0; i < k; i++)
            nodes[i + 1] = 2 + i;
        nodes[k + 1] = 1;
        nodes[k + 2] = RLT_NONE;
        send_many(&b, route_over(&b, nodes), 1000, 50, 0, 0);
        run(&b);
        const rlt_time tau = 100000, h = k + 1;
        assert_int_equal(b.n_arrived, 50);
        for (uint32_t i = 0; i < 50; i++) {
            assert_int_equal(b.arrived[i].data, i);
            assert_int_equal(b.arrived[i].hop, h);
            assert_int_equal(b.arrived[i].at, i * tau + h * (tau + 700 * NS) + (h - 1) * 300 * NS);
        }
        rlt_link_usage u = rlt_usage_link(rlt_packets_usage(b.net), link_between(&b, 0, nodes[1]));
        assert_int_equal(u.bytes, 50000);
        assert_int_equal(u.messages, 50);
        assert_int_equal(u.active_ps, 50 * tau);
        close_bench(&b);
    }
}

/* Accounts closed while a packet is on the wire: its sent part counts, what follows does not. */
static void accounts_close_at_any_time(void **state)
{
    (void)state;
    const uint32_t rate[] = {10};
    for (rlt_time gap = 0; gap <= 200 * NS; gap += 200 * NS) {
        bench b = open_line(0, rate, "700ns");
        make(&b);
        uint32_t route = ROUTE(&b, 0, 1);
        send_many(&b, route, 1000, 1, 0, 0); /* 100 ns */
        assert_int_equal(rlt_sim_run(b.sim, gap, NULL), 0);
        send_many(&b, route, 1000, 3, 1, RLT_PACKET_UNHEARD);
        assert_int_equal(rlt_sim_run(b.sim, gap + 150 * NS, NULL), 0);
        rlt_packets_settle(b.net);
        run(&b);
        assert_int_equal(b.n_arrived, 4);
        rlt_link_usage u = rlt_usage_link(rlt_packets_usage(b.net), 0);
        assert_int_equal(u.active_ps, gap ? 250 * NS : 150 * NS);
        assert_int_equal(u.bytes, gap ? 2500 : 1500);
        assert_int_equal(u.messages, 4);
        close_bench(&b);
    }
}

/* Cut-through: a switch waits only for the header, unless its output is faster than its input. */
static void cut_through_waits_for_headers(void **state)
{
    (void)state;
    const uint32_t even[] = {10, 10, 10}, up[] = {10, 20, 20}, down[] = {20, 10, 5};
    const struct {
        const uint32_t *rate;
        rlt_time first, gap;
    } cases[] = {
        /* 100 ps a byte: two headers of 6.4 ns, then the packet. */
        {even, 2 * 6400 + 100000 + 3 * 500 * NS + 2 * 200 * NS, 100000},
        /* The whole packet, then a header of 3.2 ns, then the packet at 50 ps a byte. */
        {up, 100000 + 3200 + 50000 + 3 * 500 * NS + 2 * 200 * NS, 100000},
        {down, 3200 + 6400 + 200000 + 3 * 500 * NS + 2 * 200 * NS, 200000},
    };
    for (int i = 0; i < 3; i++) {
        bench b = open_line(2, cases[i].rate, "500ns");
        b.cfg.switch_ps = 200 * NS;
        b.cfg.cut_through = true;
        b.cfg.header_bytes = 64;
        make(&b);
        send_many(&b, ROUTE(&b, 0, 2, 3, 1), 1000, 7, 0, 0);
        run(&b);
        assert_int_equal(b.n_arrived, 7);
        for (int k = 0; k < 7; k++)
            assert_int_equal(b.arrived[k].at, cases[i].first + k * cases[i].gap);
        close_bench(&b);
    }
}

/* At 3 GB/s the time of a packet is rounded once, to nearest: 1000 B take 333 333 ps. */
static void times_are_rounded_once_a_packet(void **state)
{
    (void)state;
    const uint32_t rate[] = {3, 3};
    bench b = open_line(1, rate, "0");
    make(&b);
    send_many(&b, ROUTE(&b, 0, 2, 1), 1000, 10, 0, 0);
    send_many(&b, ROUTE(&b, 0, 2, 1), 500, 1, 10, 0);
    run(&b);
    assert_int_equal(b.arrived[9].at, 11 * 333333);
    assert_int_equal(b.arrived[10].at, 11 * 333333 + 166667);
    close_bench(&b);
}

/* Two flows into one port: packets leave in order of arrival, one every tau. */
static void flows_share_a_port_in_order(void **state)
{
    (void)state;
    bench b = open_bench(star);
    make(&b);
    send_many(&b, ROUTE(&b, 0, 4, 2), 1000, 20, 0, 0);
    send_many(&b, ROUTE(&b, 1, 4, 2), 1000, 20, 100, 0);
    run(&b);
    assert_int_equal(b.n_arrived, 40);
    for (int i = 0; i < 40; i++) {
        assert_int_equal(b.arrived[i].data, i / 2 + i % 2 * 100);
        assert_int_equal(b.arrived[i].at, (i + 2) * 100000 + 2 * US);
    }
    rlt_port_counts c = rlt_packets_port(b.net, link_between(&b, 4, 2));
    assert_int_equal(c.packets, 40);
    assert_int_equal(c.peak_bytes, 21000); /* two arrive for each that leaves */
    assert_int_equal(c.drops + c.marks + c.losses + c.pauses, 0);
    close_bench(&b);
}

/* Two packets arrive for each that leaves: a buffer of k packets is full after k - 1 rounds, then every
 * second one is dropped. */
static void a_full_buffer_drops_the_last(void **state)
{
    (void)state;
    const char *nets[] = {star, "switch:4@3GB/s,1us"};
    for (uint32_t k = 1; k < 45; k++) {
        bench b = open_bench(nets[k % 2]);
        b.cfg.buffer_bytes = 1000 * (uint64_t)k;
        make(&b);
        send_many(&b, ROUTE(&b, 0, 4, 2), 1000, 40, 0, 0);
        send_many(&b, ROUTE(&b, 1, 4, 2), 1000, 40, 100, 0);
        run(&b);
        uint32_t drops = k > 40 ? 0 : 40 - k + 1;
        assert_int_equal(b.n_dropped, drops);
        assert_int_equal(b.n_arrived, 80 - drops);
        for (uint32_t i = 0; i < drops; i++) {
            assert_true(b.dropped[i].data >= 100);
            assert_int_equal(b.dropped[i].link, link_between(&b, 4, 2));
        }
        rlt_port_counts c = rlt_packets_port(b.net, link_between(&b, 4, 2));
        assert_int_equal(c.drops, drops);
        assert_int_equal(c.packets, 80 - drops);
        assert_int_equal(c.peak_bytes, 1000 * (k > 40 ? 41 : k));
        close_bench(&b);
    }
}

/* The memory of a host is no buffer of a switch: nothing is dropped there, nor marked. */
static void hosts_drop_nothing(void **state)
{
    (void)state;
    const uint32_t rate[] = {10};
    bench b = open_line(0, rate, "700ns");
    b.cfg.buffer_bytes = 1000;
    b.cfg.ecn_min_bytes = b.cfg.ecn_max_bytes = 1;
    make(&b);
    send_many(&b, ROUTE(&b, 0, 1), 1000, 20, 0, RLT_PACKET_ECT);
    run(&b);
    assert_int_equal(b.n_arrived, 20);
    assert_int_equal(b.n_dropped, 0);
    assert_int_equal(rlt_packets_port(b.net, 0).marks, 0);
    close_bench(&b);
}

/* A packet with more than the threshold in front of it is marked, if it may be. */
static void marks_follow_the_queue(void **state)
{
    (void)state;
    for (uint32_t threshold = 0; threshold < 50; threshold += 7) {
        bench b = open_bench(star);
        b.cfg.ecn_min_bytes = 1000 * (uint64_t)threshold + (threshold == 0); /* 0 marks nothing */
        b.cfg.ecn_max_bytes = b.cfg.ecn_min_bytes;
        b.cfg.ecn_probability = 1;
        make(&b);
        send_many(&b, ROUTE(&b, 0, 4, 2), 1000, 40, 0, RLT_PACKET_ECT);
        send_many(&b, ROUTE(&b, 1, 4, 2), 1000, 40, 100, RLT_PACKET_ECT);
        run(&b);
        /* In round m = 0 .. 39 the first packet finds m packets, the second m + 1. */
        uint32_t expected = 0, marked = 0;
        for (uint32_t m = 0; m < 40; m++)
            expected += (m > threshold ? 1u : 0) + (m + 1 > threshold ? 1u : 0);
        for (uint32_t i = 0; i < b.n_arrived; i++)
            marked += (b.arrived[i].flags & RLT_PACKET_CE) != 0;
        assert_int_equal(marked, expected);
        assert_int_equal(rlt_packets_port(b.net, link_between(&b, 4, 2)).marks, expected);
        close_bench(&b);
    }
    bench b = open_bench(star);
    b.cfg.ecn_max_bytes = 1;
    make(&b);
    send_many(&b, ROUTE(&b, 0, 4, 2), 1000, 40, 0, 0);
    send_many(&b, ROUTE(&b, 1, 4, 2), 1000, 40, 100, 0);
    run(&b);
    assert_int_equal(rlt_packets_port(b.net, link_between(&b, 4, 2)).marks, 0);
    close_bench(&b);
}

/* Between the thresholds the probability rises linearly. Over a queue that grows linearly from 0 to the upper
 * threshold, the mean is half the maximum. 10 000 packets: five standard deviations are 217. */
static void marks_have_their_probability(void **state)
{
    (void)state;
    bench b = open_bench(star);
    b.cfg.ecn_max_bytes = 10000000;
    b.cfg.ecn_probability = 0.5;
    b.cfg.seed = 7;
    make(&b);
    send_many(&b, ROUTE(&b, 0, 4, 2), 1000, 5000, 0, RLT_PACKET_ECT);
    send_many(&b, ROUTE(&b, 1, 4, 2), 1000, 5000, 0, RLT_PACKET_ECT);
    run(&b);
    double expected = 0, marks = (double)rlt_packets_port(b.net, link_between(&b, 4, 2)).marks;
    for (int m = 0; m < 5000; m++)
        expected += 0.5 * (m + m + 1) / 10000;
    assert_true(marks > expected - 217 && marks < expected + 217);
    close_bench(&b);
}

static uint64_t lost_of(const char *spec, uint64_t seed, double loss, uint64_t *which)
{
    bench b = open_bench(spec);
    b.cfg.loss = loss;
    b.cfg.seed = seed;
    make(&b);
    send_many(&b, ROUTE(&b, 0, 4, 2), 1000, 10000, 0, 0);
    run(&b);
    assert_int_equal(b.n_arrived + b.n_dropped, 10000);
    uint64_t up = rlt_packets_port(b.net, link_between(&b, 0, 4)).losses;
    assert_int_equal(up + rlt_packets_port(b.net, link_between(&b, 4, 2)).losses, b.n_dropped);
    assert_int_equal(rlt_packets_port(b.net, link_between(&b, 0, 4)).packets, 10000);
    assert_int_equal(rlt_packets_port(b.net, link_between(&b, 4, 2)).packets, 10000 - up);
    *which = 0;
    for (uint32_t i = 0; i < b.n_dropped; i++)
        *which = *which * 31 + b.dropped[i].data + b.dropped[i].link; /* per link, in order */
    uint64_t lost = b.n_dropped;
    close_bench(&b);
    return lost;
}

/* Over two links a packet is lost with probability 1 - (1 - p)^2. The set of lost packets depends only on the
 * seed. */
static void losses_are_random_and_repeat(void **state)
{
    (void)state;
    uint64_t a, again, other;
    uint64_t n = lost_of(star, 1, 0.02, &a);
    assert_true(n > 396 - 98 && n < 396 + 98); /* five standard deviations */
    assert_int_equal(lost_of(star, 1, 0.02, &again), n);
    assert_int_equal(a, again);
    lost_of(star, 2, 0.02, &other);
    assert_int_not_equal(a, other);
    assert_int_equal(lost_of("switch:4@40GB/s,3us", 1, 0.02, &again), n);
    assert_int_equal(lost_of(star, 1, 1, &a), 10000);
    assert_int_equal(lost_of(star, 1, 0, &a), 0);
}

/* PFC loses nothing and keeps the port busy. The bytes waiting from one link are at most the threshold plus
 * what arrives while the pause travels back and during one packet: 5000 + 2 d / tau packets + 2. */
static void pauses_hold_back_and_lose_nothing(void **state)
{
    (void)state;
    bench b = open_bench("switch:4@10GB/s,200ns");
    b.cfg.pause = RLT_PAUSE_PFC;
    b.cfg.pause_bytes = 5000;
    b.cfg.resume_bytes = 5000;
    make(&b);
    send_many(&b, ROUTE(&b, 0, 4, 2), 1000, 400, 0, 0);
    send_many(&b, ROUTE(&b, 1, 4, 2), 1000, 400, 1000, 0);
    run(&b);
    assert_int_equal(b.n_arrived, 800);
    assert_int_equal(b.n_dropped, 0);
    assert_int_equal(b.arrived[799].at, (800 + 1) * 100000 + 2 * 200 * NS);
    rlt_port_counts up = rlt_packets_port(b.net, link_between(&b, 0, 4));
    assert_true(up.pauses > 10 && up.paused_ps > 0 && up.paused_ps < b.arrived[799].at);
    rlt_port_counts down = rlt_packets_port(b.net, link_between(&b, 4, 2));
    assert_true(down.peak_bytes <= 2 * (5000 + 4000 + 2000));
    assert_int_equal(down.pauses, 0);
    close_bench(&b);
}

/* Credit for w packets on a link returns after a loop of 2 tau + 2 d + s. Packet m w + j leaves at m loop + j
 * tau, if the loop is longer than w tau. */
static void credits_bound_what_is_under_way(void **state)
{
    (void)state;
    const uint32_t rate[] = {10, 10};
    const rlt_time tau = 100000, loop = 2 * tau + 2 * 500 * NS + 300 * NS;
    for (uint32_t w = 1; w < 20; w++) {
        bench b = open_line(1, rate, "500ns");
        b.cfg.switch_ps = 300 * NS;
        b.cfg.pause = RLT_PAUSE_CREDIT;
        b.cfg.buffer_bytes = 1000 * (uint64_t)w;
        make(&b);
        send_many(&b, ROUTE(&b, 0, 2, 1), 1000, 100, 0, 0);
        run(&b);
        assert_int_equal(b.n_arrived, 100);
        for (uint32_t i = 0; i < 100; i++) {
            rlt_time starts = w * tau >= loop ? i * tau : (i / w) * loop + (i % w) * tau;
            assert_int_equal(b.arrived[i].at, starts + loop);
        }
        close_bench(&b);
    }
}

/* A switch that takes a packet returns its credit at once, on the link that brought it: the loop
 * takes tau + 2 d + s. */
static void credit_returns_for_what_a_switch_takes(void **state)
{
    (void)state;
    const uint32_t rate[] = {10, 10, 10};
    const rlt_time tau = 100000, d = 500 * NS, s = 300 * NS, loop = tau + 2 * d + s;
    for (uint32_t w = 1; w < 20; w++) {
        bench b = open_line(2, rate, "500ns");
        b.cfg.switch_ps = s;
        b.cfg.pause = RLT_PAUSE_CREDIT;
        b.cfg.buffer_bytes = 1000 * (uint64_t)w;
        b.cfg.client.pass = on_pass;
        b.take_at = 2;
        make(&b);
        send_many(&b, ROUTE(&b, 0, 2, 3, 1), 1000, 100, 0, RLT_PACKET_PROBE);
        run(&b);
        assert_int_equal(b.n_passed, 100);
        assert_int_equal(b.n_arrived, 0);
        for (uint32_t i = 0; i < 100; i++) {
            rlt_time starts = w * tau >= loop ? i * tau : (i / w) * loop + (i % w) * tau;
            assert_int_equal(b.passed[i].at, starts + tau + d + s);
        }
        close_bench(&b);
    }
}

static const char triangle[] =
    "{\"nodes\": [{\"id\": \"a0\", \"kind\": \"accelerator\"}, {\"id\": \"a1\", \"kind\": \"accelerator\"},"
    " {\"id\": \"a2\", \"kind\": \"accelerator\"}, {\"id\": \"s0\", \"kind\": \"switch\"},"
    " {\"id\": \"s1\", \"kind\": \"switch\"}, {\"id\": \"s2\", \"kind\": \"switch\"}], \"links\": ["
    "{\"src\": \"a0\", \"dst\": \"s0\", \"bandwidth\": \"10GB/s\", \"latency\": \"100ns\"},"
    "{\"src\": \"a1\", \"dst\": \"s1\", \"bandwidth\": \"10GB/s\", \"latency\": \"100ns\"},"
    "{\"src\": \"a2\", \"dst\": \"s2\", \"bandwidth\": \"10GB/s\", \"latency\": \"100ns\"},"
    "{\"src\": \"s0\", \"dst\": \"s1\", \"bandwidth\": \"10GB/s\", \"latency\": \"100ns\"},"
    "{\"src\": \"s1\", \"dst\": \"s2\", \"bandwidth\": \"10GB/s\", \"latency\": \"100ns\"},"
    "{\"src\": \"s2\", \"dst\": \"s0\", \"bandwidth\": \"10GB/s\", \"latency\": \"100ns\"}]}";

/* Three switches in a circle, each packet goes two switches on: full buffers wait for each other forever. The
 * run ends, and the report names one of them. */
static void a_circle_of_full_buffers_is_named(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        bench b = open_bench(triangle);
        char text[400];
        b.cfg.pause = i ? RLT_PAUSE_CREDIT : RLT_PAUSE_PFC;
        b.cfg.buffer_bytes = 1000;
        make(&b);
        send_many(&b, ROUTE(&b, 0, 3, 4, 5, 2), 1000, 100, 0, 0);
        send_many(&b, ROUTE(&b, 1, 4, 5, 3, 0), 1000, 100, 0, 0);
        send_many(&b, ROUTE(&b, 2, 5, 3, 4, 1), 1000, 100, 0, 0);
        assert_int_equal(rlt_sim_run(b.sim, RLT_TIME_MAX, &b.err), 0);
        uint64_t waiting = rlt_packets_pending(b.net, text, sizeof text);
        assert_true(waiting > 3);
        assert_int_equal(waiting + b.n_arrived, 300);
        char packet[3][8], place[2][8], by[8];
        assert_int_equal(sscanf(text, "a packet of 1000 B from %7s to %7s waits at %2s->%2s %7s", packet[0],
                                packet[1], place[0], place[1], by),
                         5);
        assert_true(packet[0][0] == 'a' && packet[1][0] == 'a' &&
                    (place[0][0] == 's' || place[0][0] == 'a') && place[1][0] == 's');
        assert_string_equal(by, i ? "for" : ",");
        assert_non_null(strstr(text, i ? " for credit (available: 0 B); " : ", paused since "));
        close_bench(&b);
    }
}

/* Switches see probes after their latency; a packet addressed to a switch also arrives after it. */
static void switches_see_probes(void **state)
{
    (void)state;
    const uint32_t rate[] = {10, 10, 10};
    for (int taken = 0; taken < 2; taken++) {
        bench b = open_line(2, rate, "500ns");
        b.cfg.switch_ps = 200 * NS;
        b.cfg.client.pass = on_pass;
        b.cfg.client.left = on_left;
        b.take_at = taken ? 3 : RLT_NONE;
        make(&b);
        uint32_t whole = ROUTE(&b, 0, 2, 3, 1);
        rlt_packet probe = {.bytes = 1000, .route = whole, .data = 1, .flags = RLT_PACKET_PROBE};
        rlt_packet plain = {.bytes = 1000, .route = whole, .data = 2};
        rlt_packet short_way = {.bytes = 1000, .route = ROUTE(&b, 0, 2), .data = 3, .dst = 2};
        rlt_packet nowhere = {.bytes = 1000, .route = rlt_packets_route(b.net, NULL, 0), .data = 4};
        assert_int_equal(rlt_packets_leaves(b.net, whole, 1000), 100000);
        rlt_packets_send(b.net, &probe);
        assert_int_equal(rlt_packets_leaves(b.net, whole, 1000), 200000);
        rlt_packets_send(b.net, &plain);
        rlt_packets_send(b.net, &short_way);
        rlt_packets_send(b.net, &nowhere);
        run(&b);
        assert_int_equal(b.n_passed, 2);
        assert_int_equal(b.passed[0].node, 2);
        assert_int_equal(b.passed[0].hop, 1);
        assert_int_equal(b.passed[0].at, 100000 + 500 * NS + 200 * NS);
        assert_int_equal(b.passed[1].node, 3);
        assert_int_equal(b.passed[1].at, 2 * (100000 + 500 * NS + 200 * NS));
        assert_int_equal(b.n_arrived, taken ? 3 : 4);
        assert_int_equal(b.arrived[0].data, 4);
        assert_int_equal(b.arrived[0].at, 0);
        assert_int_equal(b.arrived[1].data, 3);
        assert_int_equal(b.arrived[1].at, 300000 + 500 * NS + 200 * NS);
        assert_int_equal(b.n_left, 3);
        for (int i = 0; i < 3; i++)
            assert_int_equal(b.left[i].at, (i + 1) * 100000);
        close_bench(&b);
    }
}

static void wrong_settings_are_refused(void **state)
{
    (void)state;
    bench b = open_bench(star);
    const rlt_packets_config usual = b.cfg;
    enum { GOOD = 9, ALL = 21 };
    rlt_packets_config c[ALL];
    static const char *const why[ALL] = {
        [GOOD] = "a probability of loss (1.5) or of a mark (0) that is not in [0, 1]",
        "a probability of loss (-0.5) or of a mark (0) that is not in [0, 1]",
        "a probability of loss (0) or of a mark (1.5) that is not in [0, 1]",
        "a probability of loss (0) or of a mark (-1) that is not in [0, 1]",
        "ecn_max is below ecn_min",
        "credits need a buffer of a known size",
        "resume_at is above pause_at",
        "a scale of bandwidth (0) or latency (1) that is not in (0, 1e9]",
        "a scale of bandwidth (1e+09) or latency (1) that is not in (0, 1e9]",
        "a scale of bandwidth (1) or latency (-1) that is not in (0, 1e9]",
        "a scale of bandwidth (1) or latency (1e+09) that is not in (0, 1e9]",
        "a switch latency of -1 ps"};
    for (int i = 0; i < ALL; i++)
        c[i] = usual;
    c[0].bandwidth_scale = 1e9;
    c[1].latency_scale = 1e9;
    c[2].latency_scale = 0;
    c[3].loss = 1;
    c[4].ecn_probability = 1;
    c[5].ecn_min_bytes = c[5].ecn_max_bytes = 5;
    c[6].pause = RLT_PAUSE_PFC;
    c[6].pause_bytes = c[6].resume_bytes = 2;
    c[7].pause = RLT_PAUSE_CREDIT;
    c[7].buffer_bytes = 1;
    c[8].resume_bytes = 2; /* without pauses */
    c[GOOD].loss = 1.5;
    c[10].loss = -0.5;
    c[11].ecn_probability = 1.5;
    c[12].ecn_probability = -1;
    c[13].ecn_min_bytes = 5;
    c[14].pause = RLT_PAUSE_CREDIT;
    c[15].pause = RLT_PAUSE_PFC;
    c[15].resume_bytes = 2;
    c[16].bandwidth_scale = 0;
    c[17].bandwidth_scale = 1e9 + 0.5;
    c[18].latency_scale = -1;
    c[19].latency_scale = 1e9 + 0.5;
    c[20].switch_ps = -1;
    for (int i = 0; i < ALL; i++) {
        rlt_error err = {0};
        assert_int_equal(rlt_packets_create(&c[i], &b.net, &err), why[i] ? RLT_ERANGE : 0);
        assert_string_equal(err.what, why[i] ? why[i] : "");
        rlt_packets_free(b.net);
    }
    b.net = NULL;
    c[20].switch_ps = RLT_TIME_MAX;
    assert_int_equal(rlt_packets_create(&c[20], &b.net, NULL), RLT_ERANGE);
    close_bench(&b);
}

/* Packets to lose name links of the network: by number, by name, and a node for all links to and from it. */
static void packets_to_lose(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t link, times;
        const char *why;
    } rows[] = {
        {"", 7, 1, NULL},
        {"", 8, 1, "8: there are links 0 to 7"},
        {"7", 99, 1, NULL},
        {"acc1", 99, 8, NULL}, /* two links each: 16 */
        {"acc1", 99, 9, "expected at most 16 packets: one on each link of a name"},
        {"acc9", 0, 1, "acc9: "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bench b = open_bench("switch:4@10GB/s,1us");
        rlt_error err = {0};
        b.cfg.lose.n = rows[i].times;
        for (uint32_t k = 0; k < rows[i].times; k++) {
            b.cfg.lose.items[k].link = rows[i].link;
            b.cfg.lose.items[k].number = k + 1;
            snprintf(b.cfg.lose.items[k].name, RLT_NAMED_LINK, "%s", rows[i].name);
        }
        assert_int_equal(rlt_packets_create(&b.cfg, &b.net, &err), rows[i].why ? RLT_EUSAGE : 0);
        if (rows[i].why) {
            assert_string_equal(err.where, "lose");
            assert_int_equal(strncmp(err.what, rows[i].why, strlen(rows[i].why)), 0);
        }
        close_bench(&b);
    }
}

/* Routes are found again by all of their links; one without links ends where it begins. */
static void routes_by_their_links(void **state)
{
    (void)state;
    enum { N = 300 };
    bench b = open_bench("ring:9@10GB/s,1us");
    make(&b);
    uint32_t links[N], number[N];
    for (uint32_t i = 0; i < N; i++)
        links[i] = i * 7 % 18;
    for (int again = 0; again < 2; again++)
        for (uint32_t n = 0; n < N; n++) {
            uint32_t r = rlt_packets_route(b.net, links, n);
            if (!again)
                number[n] = r;
            assert_int_equal(r, number[n]);
            assert_int_equal(r, n);
            assert_int_equal(rlt_packets_first_link(b.net, r), n ? 0 : RLT_NONE);
        }
    assert_int_equal(rlt_packets_leaves(b.net, number[0], 1000), 0);
    assert_int_equal(rlt_packets_leaves(b.net, number[2], 1000), 200000); /* half of 10 GB/s each way */
    links[0] = 1;
    assert_int_equal(rlt_packets_route(b.net, links, 5), N);
    links[4] = 18; /* there is none */
    assert_int_equal(rlt_packets_route(b.net, links, 5), RLT_NONE);
    assert_int_equal(rlt_packets_route(b.net, links, 4), N + 1);
    close_bench(&b);
}

/* Half the bandwidth, twice the latency; 1.5 ps are rounded to 2. What is under way is counted. */
static void networks_are_scaled(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        double bandwidth, latency;
        rlt_time each;
    } rows[] = {{"switch:4@10GB/s,1us", 1, 1, 1100000},
                {"switch:4@10GB/s,1us", 0.5, 2, 2200000},
                {"switch:4@10GB/s,1us", 2, 0, 50000},
                {"switch:4@10GB/s,3ps", 1, 0.5, 100002}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bench b = open_bench(rows[i].spec);
        char text[100] = "x";
        b.cfg.bandwidth_scale = rows[i].bandwidth;
        b.cfg.latency_scale = rows[i].latency;
        b.cfg.switch_ps = 70;
        make(&b);
        assert_int_equal(rlt_packets_pending(b.net, text, sizeof text), 0);
        assert_string_equal(text, "");
        send_many(&b, ROUTE(&b, 0, 4, 1), 1000, 1, 0, 0);
        assert_int_equal(rlt_packets_pending(b.net, text, sizeof text), 1);
        assert_string_equal(text, "1 packets are under way");
        assert_int_equal(rlt_packets_pending(b.net, NULL, 0), 1);
        run(&b);
        assert_int_equal(b.arrived[0].at, 2 * rows[i].each + 70);
        rlt_port_counts c = rlt_packets_port(b.net, 0);
        assert_int_equal(c.packets, 1);
        assert_int_equal(c.peak_bytes, 1000);
        close_bench(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_train_over_hops_store_and_forward),
        cmocka_unit_test(accounts_close_at_any_time),
        cmocka_unit_test(cut_through_waits_for_headers),
        cmocka_unit_test(times_are_rounded_once_a_packet),
        cmocka_unit_test(flows_share_a_port_in_order),
        cmocka_unit_test(a_full_buffer_drops_the_last),
        cmocka_unit_test(hosts_drop_nothing),
        cmocka_unit_test(marks_follow_the_queue),
        cmocka_unit_test(marks_have_their_probability),
        cmocka_unit_test(losses_are_random_and_repeat),
        cmocka_unit_test(pauses_hold_back_and_lose_nothing),
        cmocka_unit_test(credits_bound_what_is_under_way),
        cmocka_unit_test(credit_returns_for_what_a_switch_takes),
        cmocka_unit_test(a_circle_of_full_buffers_is_named),
        cmocka_unit_test(switches_see_probes),
        cmocka_unit_test(wrong_settings_are_refused),
        cmocka_unit_test(packets_to_lose),
        cmocka_unit_test(routes_by_their_links),
        cmocka_unit_test(networks_are_scaled),
    };
    return cmocka_run_group_tests_name("packets", tests, NULL, NULL);
}
