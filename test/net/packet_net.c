/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The packet model compared with closed forms and with the flow model, and invariants of every run. tau:
 * serialisation time of a packet; ta: of an answer; d: latency of a link; s: latency of a switch.
 */
#include <stdio.h>

#include "net/endpoint/endpoint.h"
#include "net/import/import.h"
#include "net/network.h"
#include "net/packet/packet.h"
#include "net/packet/packets.h"
#include "net/route.h"
#include "net/topology/build.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/param.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "test/support/support.h"

enum { MOST = 4000, NS = 1000, US = 1000000 };

typedef struct bench {
    rlt_topology *t;
    rlt_placement place;
    rlt_router *router;
    rlt_sim *sim;
    rlt_net *net;
    rlt_time injected[MOST], delivered[MOST];
    uint32_t order[MOST], to[MOST], n_delivered, n;
    uint32_t goal; /* messages of a random run; 0: those that are posted */
    uint64_t seed;
    bool settles; /* when the goal is reached */
    int rc;
    rlt_error err;
} bench;

enum { CHAINS = 20 };

static void post_random(bench *b, uint32_t i, uint32_t src);

static void note_injected(void *ctx, uint64_t tx)
{
    bench *b = ctx;
    assert_int_equal(b->injected[tx], -1);
    b->injected[tx] = rlt_sim_now(b->sim);
}

static void note_delivered(void *ctx, uint64_t tx, uint64_t rx)
{
    bench *b = ctx;
    assert_int_equal(rx, tx + 1);
    assert_int_equal(b->delivered[tx], -1); /* delivered once */
    b->delivered[tx] = rlt_sim_now(b->sim);
    b->order[b->n_delivered++] = (uint32_t)tx;
    if (tx + CHAINS < b->goal)
        post_random(b, (uint32_t)tx + CHAINS, b->to[tx]);
    if (b->settles && b->n_delivered == b->goal)
        rlt_net_settle(b->net);
}

static bench *open_with_series(const char *spec, rlt_routing routing, const rlt_packet_settings *set,
                               rlt_time bin_ps)
{
    bench *b = calloc(1, sizeof *b);
    assert_non_null(b);
    int rc = rlt_topology_load(spec, "topologies", &b->t, &b->err);
    if (rc)
        fail_msg("%s: %s", b->err.where, b->err.what);
    assert_int_equal(rlt_placement_identity(b->t, rlt_topology_accelerators(b->t), &b->place, NULL), 0);
    assert_int_equal(rlt_router_create(b->t, &b->place, routing, &b->router, NULL), 0);
    assert_int_equal(rlt_sim_create(&b->sim, NULL), 0);
    rlt_net_config cfg = {.sim = b->sim,
                          .router = b->router,
                          .endpoint = rlt_endpoint_default(),
                          .client = {b, note_injected, note_delivered},
                          .bandwidth_scale = 1,
                          .latency_scale = 1,
                          .series_bin_ps = bin_ps,
                          .local = true,
                          .packet = set};
    if (rlt_net_packet.create(&cfg, &b->net, &b->err))
        fail_msg("%s", b->err.what);
    for (int i = 0; i < MOST; i++)
        b->injected[i] = b->delivered[i] = -1;
    return b;
}

static bench *open_bench(const char *spec, rlt_routing routing, const rlt_packet_settings *set)
{
    return open_with_series(spec, routing, set, 0);
}

static uint32_t post_as(bench *b, uint32_t i, uint32_t src, uint32_t dst, uint64_t bytes, uint64_t key)
{
    assert_true(i < MOST);
    b->n++;
    b->to[i] = dst;
    rlt_message m = {.src = src, .dst = dst, .bytes = bytes, .route_key = key, .tx = i, .rx = i + 1};
    rlt_time t = rlt_net_send(b->net, &m);
    if (t >= 0)
        b->injected[i] = t;
    return i;
}

static uint32_t post(bench *b, uint32_t src, uint32_t dst, uint64_t bytes, uint64_t key)
{
    return post_as(b, b->n, src, dst, bytes, key);
}

/* Posts message i of a random run from where message i - CHAINS has arrived: what happens at one place must
 * not act on another one at once. There are few sizes, so that many packets meet at one instant. */
static void post_random(bench *b, uint32_t i, uint32_t src)
{
    uint32_t ranks = rlt_topology_accelerators(b->t);
    uint32_t to =
        (uint32_t)rlt_random_below(b->seed, 41, i, 0, rlt_random_below(b->seed, 42, 0, 0, ranks - 1) + 1);
    uint64_t most = rlt_random_below(b->seed, 45, i, 1, 10) ? 30000 : 200000;
    uint64_t bytes =
        rlt_random_below(b->seed, 43, i, 0, 3) ? 5000 : rlt_random_below(b->seed, 44, i, 0, most);
    post_as(b, i, src, (src + 1 + to) % ranks, bytes, rlt_random_below(b->seed, 45, i, 0, 2));
}

static void run(bench *b)
{
    b->rc = rlt_sim_run(b->sim, RLT_TIME_MAX, &b->err);
    rlt_net_settle(b->net);
}

/* Checks: all delivered, accounts balanced, no link above its capacity. */
static void run_to_end(bench *b)
{
    run(b);
    if (b->rc)
        fail_msg("%s: %s", b->err.where, b->err.what);
    char text[500];
    assert_int_equal(rlt_net_packet.waits(b->net, text, sizeof text), 0);
    assert_int_equal(b->n_delivered, b->n);
    assert_int_equal(b->net->bytes_offered, b->net->bytes_delivered);
    for (uint32_t i = 0; i < b->n; i++) {
        assert_true(b->injected[i] >= 0 && b->delivered[i] >= b->injected[i]);
    }
    for (uint32_t i = 0; i < rlt_topology_links(b->t); i++) {
        rlt_link_usage u = rlt_usage_link(b->net->usage, i);
        assert_true(u.active_ps <= rlt_sim_now(b->sim));
        assert_true(u.busy_ps <= u.active_ps + (rlt_time)u.messages);
    }
}

static void close_bench(bench *b)
{
    rlt_net_free(b->net);
    rlt_sim_free(b->sim);
    rlt_router_free(b->router);
    rlt_placement_free(&b->place);
    rlt_topology_free(b->t);
    free(b);
}

/* Sums the counts of all links. */
static rlt_port_counts totals(const bench *b)
{
    rlt_port_counts sum = {0};
    for (uint32_t i = 0; i < rlt_topology_links(b->t); i++) {
        rlt_port_counts c;
        assert_true(rlt_usage_port(b->net->usage, i, &c));
        sum.packets += c.packets;
        sum.drops += c.drops;
        sum.losses += c.losses;
        sum.marks += c.marks;
        sum.pauses += c.pauses;
        sum.peak_bytes = c.peak_bytes > sum.peak_bytes ? c.peak_bytes : sum.peak_bytes;
    }
    return sum;
}

/* 1000 B on the wire take 100 ns; answers of 100 B take 10 ns. */
static rlt_packet_settings plain(void)
{
    rlt_packet_settings s = rlt_packet_default();
    s.mtu = 900;
    s.header = 100;
    s.ack_bytes = 100;
    return s;
}
static const char star[] = "switch:8@10GB/s,700ns";
static const rlt_time tau = 100 * NS, ta = 10 * NS, d = 700 * NS;

static void one_message_by_itself(void **state)
{
    (void)state;
    for (uint64_t n = 1; n < 40; n += 3) {
        rlt_packet_settings s = plain();
        s.switch_ps = 250 * NS;
        s.ack = n % 4;
        bench *b = open_bench(star, RLT_ROUTE_DMODK, &s);
        rlt_time c = (rlt_time)n;
        post(b, 0, 5, n * 900, 0);
        post(b, 3, 3, 12345, 0); /* to itself */
        post(b, 1, 6, 0, 0);     /* only a header */
        post(b, 2, 7, n * 900 - 450, 0);
        run_to_end(b);
        assert_int_equal(b->injected[0], c * tau);
        assert_int_equal(b->delivered[0], (c - 1) * tau + 2 * (tau + d) + s.switch_ps);
        assert_int_equal(b->delivered[1], 0);
        assert_int_equal(b->delivered[2], 2 * (10 * NS + d) + s.switch_ps);
        assert_int_equal(b->injected[3], c * tau - 45 * NS);
        /* The last packet, of 550 B, waits for the previous one. */
        assert_int_equal(b->delivered[3], (n > 1 ? c * tau + 55 * NS : 2 * 55 * NS) + 2 * d + s.switch_ps);
        uint64_t answers = s.ack ? (n + s.ack - 1) / s.ack : 0;
        assert_int_equal(totals(b).packets, 2 * (2 * n + 1) + 2 * (2 * answers + (s.ack ? 1 : 0)));
        close_bench(b);
    }
}

/* Messages of one flow follow each other; flows of one port take turns. */
static void flows_take_turns(void **state)
{
    (void)state;
    rlt_packet_settings s = plain();
    s.ack = 0;
    bench *b = open_bench(star, RLT_ROUTE_DMODK, &s);
    post(b, 0, 1, 9000, 0);
    post(b, 0, 1, 900, 0);
    post(b, 0, 2, 9000, 0);
    run_to_end(b);
    /* The first packet leaves at once; then the flows take turns: a a b a b a b ... */
    assert_int_equal(b->delivered[0], 18 * tau + tau + 2 * d);
    assert_int_equal(b->delivered[1], 20 * tau + tau + 2 * d);
    assert_int_equal(b->delivered[2], 21 * tau + tau + 2 * d);
    assert_int_equal(b->injected[1], 20 * tau);
    close_bench(b);
}

/* A window of w packets allows w packets per round trip of 2 (tau + d) + 2 (ta + d). */
static void a_window_bounds_the_rate(void **state)
{
    (void)state;
    const rlt_time there = 2 * (tau + d), trip = there + 2 * (ta + d);
    for (uint64_t w = 1; w < 40; w++) {
        rlt_packet_settings s = plain();
        s.window = w;
        bench *b = open_bench(star, RLT_ROUTE_DMODK, &s);
        post(b, 0, 1, 900 * 100, 0);
        run_to_end(b);
        rlt_time last =
            (rlt_time)w * tau >= trip ? 99 * tau : 99 / (rlt_time)w * trip + 99 % (rlt_time)w * tau;
        assert_int_equal(b->delivered[0], last + there);
        close_bench(b);
    }
}

static bool loses(uint64_t seed, uint32_t link, uint64_t k, double loss)
{
    return rlt_random_unit(seed, link, RLT_RANDOM_LOSS, k) < loss;
}

/* Finds a seed under which, of the first 100 packets on the four links, only packet k on the first link is
 * lost. */
static uint64_t seed_that_loses(const uint32_t links[4], uint64_t k, double loss)
{
    for (uint64_t seed = 0; seed < 10000000; seed++) {
        bool fits = loses(seed, links[0], k, loss);
        for (uint64_t i = 0; i < 100 && fits; i++)
            for (int l = 0; l < 4 && fits; l++)
                fits = loses(seed, links[l], i, loss) == (l == 0 && i == k);
        if (fits)
            return seed;
    }
    fail_msg("no seed");
    return 0;
}

/* One of 40 packets, number k, is lost on the first link. The arrival of the next one reveals it at (k + 3)
 * tau + 2 d. The sender knows 2 (ta + d) later, and retransmits at the next end of a packet, if packets are
 * left. */
static void one_loss_costs_what_it_must(void **state)
{
    (void)state;
    const double loss = 0.002;
    const rlt_time n = 40;
    for (int k = 0; k < n; k += 3) {
        for (int selective = 0; selective < 2; selective++) {
            rlt_packet_settings s = plain();
            s.selective = selective;
            s.loss = loss;
            bench *b = open_bench(star, RLT_ROUTE_DMODK, &s);
            rlt_path there, back;
            uint32_t links[4];
            assert_int_equal(rlt_route(b->router, 0, 1, 0, &there), 0);
            memcpy(links, there.links, 8);
            assert_int_equal(rlt_route(b->router, 1, 0, 0, &back), 0);
            memcpy(links + 2, back.links, 8);
            close_bench(b);
            s.seed = seed_that_loses(links, (uint64_t)k, loss);
            b = open_bench(star, RLT_ROUTE_DMODK, &s);
            post(b, 0, 1, 900 * (uint64_t)n, 0);
            run_to_end(b);
            rlt_time known = (k + 3) * tau + 2 * d + 2 * (ta + d), expected;
            rlt_time again = known >= n * tau ? known : (known + tau - 1) / tau * tau;
            if (k == n - 1) /* no later packet reveals it: the timer does */
                expected = n * tau + 2 * d + 2 * (ta + d) + s.rto_ps + 2 * (tau + d);
            else if (!selective)
                expected = again + (n - k) * tau + tau + 2 * d;
            else if (again < n * tau)
                expected = (n + 2) * tau + 2 * d;
            else
                expected = again + 2 * (tau + d);
            assert_int_equal(b->delivered[0], expected);
            assert_int_equal(totals(b).losses, 1);
            close_bench(b);
        }
    }
}

static rlt_packet_settings bare(void)
{
    rlt_packet_settings s = rlt_packet_default();
    s.header = 0;
    s.ack = 0;
    return s;
}

/* Without headers and answers, rings without contention take the flow model's time plus at most one packet
 * per hop and message: 2 (n - 1) steps of at most four links. */
static void rings_take_the_time_of_flows(void **state)
{
    (void)state;
    const rlt_packet_settings set = bare();
    const char *nets[] = {"switch:8@50GB/s,500ns", "ring:6@100GB/s,300ns", "leaf-spine-16",
                          "fully-connected:5@40GB/s,1us", "ring:4@200GB/s,500ns*switch:4@50GB/s,500ns"};
    const uint64_t sizes[] = {1, 3000, 100000, 1 << 20, 12345678};
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            test_net n = {.topology = nets[i], .model = &rlt_net_flow, .algorithm = "ring", .packet = &set};
            n.channels = 1;
            test_run flow = test_collective(&n, RLT_ALL_REDUCE, sizes[k], NULL);
            n.model = &rlt_net_packet;
            test_run packet = test_collective(&n, RLT_ALL_REDUCE, sizes[k], NULL);
            rlt_time steps = 30, slowest = 4096 * 25; /* 40 GB/s */
            assert_true(packet.time_ps + steps >= flow.time_ps);
            assert_true(packet.time_ps <= flow.time_ps + steps * 4 * slowest + steps);
            assert_int_equal(packet.delivered, flow.delivered);
            assert_true(packet.max_utilization <= 1.0);
        }
}

/* A lower bound from an independent packet simulator: 30 steps within leaves, each with one store-and-forward
 * hop, and eight messages across, with two more hops each. */
static void the_ring_on_a_leaf_spine(void **state)
{
    (void)state;
    const rlt_packet_settings set = bare();
    test_net n = {.topology = "leaf-spine-16", .model = &rlt_net_packet, .algorithm = "ring", .packet = &set};
    test_run r = test_collective(&n, RLT_ALL_REDUCE, 64 << 20, NULL);
    assert_true(r.time_ps > 2558351000 - 2000 && r.time_ps < 2558351000 + 2000);
}

static rlt_packet_settings random_settings(uint64_t seed, rlt_routing *routing)
{
    rlt_packet_settings s = rlt_packet_default();
    s.mtu = 256 + rlt_random_below(seed, 1, 0, 0, 4000);
    s.selective = (int)rlt_random_below(seed, 2, 0, 0, 2);
    s.ack = 1 + rlt_random_below(seed, 3, 0, 0, 8);
    s.window = rlt_random_below(seed, 4, 0, 0, 2) ? s.ack + rlt_random_below(seed, 5, 0, 0, 30) : 0;
    s.loss = 0.05 * rlt_random_unit(seed, 6, 0, 0);
    if (rlt_random_below(seed, 7, 0, 0, 3) == 0)
        s.buffer = (s.mtu + s.header) * (1 + rlt_random_below(seed, 8, 0, 0, 20));
    s.dcqcn = rlt_random_below(seed, 9, 0, 0, 4) == 0;
    s.cut_through = rlt_random_below(seed, 10, 0, 0, 2) == 0;
    if (rlt_random_below(seed, 11, 0, 0, 4) == 0) {
        s.pause = rlt_random_below(seed, 12, 0, 0, 2) ? RLT_PAUSE_CREDIT : RLT_PAUSE_PFC;
        s.buffer = (s.mtu + s.header) * (2 + rlt_random_below(seed, 8, 0, 0, 20));
    }
    s.rto_ps = 20 * US;
    s.retries = 200;
    s.seed = seed;
    *routing = (rlt_routing)rlt_random_below(seed, 13, 0, 0, 3);
    return s;
}

static uint64_t random_run(uint64_t seed)
{
    static const char *const nets[] = {star, "leaf-spine-16", "ring:5@20GB/s,100ns"};
    rlt_routing routing;
    rlt_packet_settings s = random_settings(seed, &routing);
    bench *b = open_bench(nets[rlt_random_below(seed, 20, 0, 0, 3)], routing, &s);
    uint32_t ranks = rlt_topology_accelerators(b->t), src[40], dst[40], key[40];
    for (uint32_t i = 0; i < 40; i++) {
        src[i] = (uint32_t)rlt_random_below(seed, 21, i, 0, ranks);
        dst[i] = (uint32_t)rlt_random_below(seed, 22, i, 0, ranks);
        key[i] = (uint32_t)rlt_random_below(seed, 23, i, 0, 2);
        if (src[i] == dst[i]) /* delivered at once, before earlier ones */
            dst[i] = (dst[i] + 1) % ranks;
        post(b, src[i], dst[i], rlt_random_below(seed, 24, i, 0, 40000), key[i]);
    }
    run_to_end(b);
    for (uint32_t i = 0; i < 40; i++)
        for (uint32_t k = i + 1; k < 40; k++)
            if (src[i] == src[k] && dst[i] == dst[k] && key[i] == key[k])
                assert_true(b->delivered[i] <= b->delivered[k]);
    uint64_t hash = rlt_sim_events(b->sim);
    for (uint32_t i = 0; i < 40; i++)
        hash = rlt_mix64(hash + (uint64_t)b->delivered[b->order[i]] * 64 + b->order[i]);
    hash = rlt_mix64(hash + totals(b).packets);
    close_bench(b);
    return hash;
}

/* Loss of up to 5 % a link, small buffers, windows, any transport and routing: each message is delivered
 * once, flows stay in order, and the same seed gives the same run. */
static void whatever_is_lost_is_delivered_once(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 1500; seed++) {
        uint64_t hash = random_run(seed);
        if (seed % 50 == 0)
            assert_int_equal(random_run(seed), hash);
    }
}

static rlt_packet_settings quiet_settings(uint64_t seed)
{
    rlt_packet_settings s = rlt_packet_default();
    s.mtu = 300 + rlt_random_below(seed, 50, 0, 0, 2) * 700;
    s.header = rlt_random_below(seed, 51, 0, 0, 100);
    s.ack = rlt_random_below(seed, 52, 0, 0, 10);
    s.ack_bytes = rlt_random_below(seed, 53, 0, 0, 2) ? s.mtu : 60;
    s.selective = (int)rlt_random_below(seed, 54, 0, 0, 2);
    s.switch_ps = (rlt_time)rlt_random_below(seed, 55, 0, 0, 2) * 300 * NS;
    s.cut_through = rlt_random_below(seed, 59, 0, 0, 3) == 0;
    return s;
}

/* Hosts that hand on the packets of others; hosts with two links to their switch. */
#define NODE(id, kind) "{\"id\": \"" id "\", \"kind\": \"" kind "\", \"forwards\": true}"
#define LINK(a, b)                                                                                           \
    "{\"src\": \"" a "\", \"dst\": \"" b                                                                     \
    "\", \"bandwidth\": \"50GB/s\", \"latency\": \"100ns\", \"duplex\": false}"
#define HOSTS       NODE("a", "accelerator") "," NODE("b", "accelerator") "," NODE("c", "accelerator")
#define TWICE(host) LINK(host, "s") "," LINK(host, "s") "," LINK("s", host)
static const char one_way[] =
    "{\"nodes\": [" HOSTS "], \"links\": [" LINK("a", "b") "," LINK("b", "c") "," LINK("c", "a") "]}";
static const char two_links[] =
    "{\"nodes\": [" HOSTS
    "," NODE("s", "switch") "], \"links\": [" TWICE("a") "," TWICE("b") "," TWICE("c") "]}";

static bench *quiet_run(uint64_t seed, uint64_t window, rlt_time bin_ps)
{
    static const char *const nets[] = {"switch:8@50GB/s,500ns",
                                       "leaf-spine-16",
                                       "ring:5@33GB/s,100ns",
                                       "fat-tree:16@40GB/s,0ns,levels=2,hosts_per_leaf=4",
                                       "switch:6@50GB/s,30ns",
                                       one_way,
                                       two_links};
    rlt_packet_settings s = quiet_settings(seed);
    s.window = window;
    bench *b =
        open_with_series(nets[rlt_random_below(seed, 56, 0, 0, sizeof nets / sizeof *nets)],
                         rlt_random_below(seed, 57, 0, 0, 2) ? RLT_ROUTE_ECMP : RLT_ROUTE_DMODK, &s, bin_ps);
    b->seed = seed;
    b->goal = 200;
    b->settles = rlt_random_below(seed, 58, 0, 0, 2);
    while (b->n < CHAINS)
        post_random(b, b->n, (uint32_t)rlt_random_below(seed, 40, b->n, 0, rlt_topology_accelerators(b->t)));
    run_to_end(b);
    return b;
}

/* Messages arrive at each rank in the same order. */
static void assert_same_orders(const bench *a, const bench *b)
{
    for (uint32_t rank = 0; rank < rlt_topology_accelerators(a->t); rank++)
        for (uint32_t i = 0, k = 0; i < a->n; i++) {
            if (a->to[a->order[i]] != rank)
                continue;
            while (b->to[b->order[k]] != rank)
                k++;
            assert_int_equal(a->order[i], b->order[k++]);
        }
}

static void assert_same_run(const bench *a, const bench *b)
{
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->injected, b->injected, sizeof a->injected);
    assert_memory_equal(a->delivered, b->delivered, sizeof a->delivered);
    assert_same_orders(a, b);
    assert_int_equal(rlt_sim_events(a->sim), rlt_sim_events(b->sim));
    for (uint32_t i = 0; i < rlt_topology_links(a->t); i++) {
        rlt_link_usage u = rlt_usage_link(a->net->usage, i), v = rlt_usage_link(b->net->usage, i);
        rlt_port_counts c, e;
        assert_true(rlt_usage_port(a->net->usage, i, &c) && rlt_usage_port(b->net->usage, i, &e));
        assert_true(u.bytes == v.bytes && u.busy_ps == v.busy_ps && u.active_ps == v.active_ps);
        assert_true(u.messages == v.messages && c.packets == e.packets && c.peak_bytes == e.peak_bytes);
    }
}

/* Packets whose arrival changes nothing are not heard. The same run with a time series, or with a window that
 * no flow fills, hears every packet. */
static void unheard_packets_change_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        bench *quiet = quiet_run(seed, 0, 0), *twin = quiet_run(seed, 0, 10 * US);
        assert_same_run(quiet, twin);
        close_bench(twin);
        if (quiet_settings(seed).ack) {
            twin = quiet_run(seed, 1 << 20, 0);
            assert_same_run(quiet, twin);
            close_bench(twin);
        }
        close_bench(quiet);
    }
}

/* Seven senders, one receiver. The last link is the bottleneck: no run beats 7 messages on it, lossless runs
 * reach that. */
static void incasts_end(void **state)
{
    (void)state;
    const uint64_t n = 200;
    rlt_port_counts dropping = {0};
    for (int kind = 0; kind < 5; kind++) {
        rlt_packet_settings s = plain();
        s.buffer = kind ? 20000 : 0;
        s.dcqcn = kind == 2;
        s.pause = kind == 3 ? RLT_PAUSE_PFC : kind == 4 ? RLT_PAUSE_CREDIT : RLT_PAUSE_NONE;
        s.ecn_min = s.ecn_max = kind == 2 ? 3000 : 0;
        bench *b = open_bench(star, RLT_ROUTE_DMODK, &s);
        for (uint32_t r = 1; r < 8; r++)
            post(b, r, 0, n * 900, 0);
        run_to_end(b);
        rlt_time last = 0, floor = (rlt_time)(7 * n) * tau + tau + 2 * d;
        for (uint32_t i = 0; i < 7; i++)
            last = b->delivered[i] > last ? b->delivered[i] : last;
        rlt_port_counts c = totals(b);
        assert_true(last >= floor);
        if (kind == 0)
            assert_int_equal(last, floor);
        if (kind == 1)
            dropping = c;
        if (kind == 1 || kind == 2)
            assert_true(c.drops > 0 && c.peak_bytes <= 20000);
        if (kind == 2)
            assert_true(c.marks > 0 && c.drops < dropping.drops);
        if (kind >= 3)
            assert_true(c.drops == 0 && c.pauses > 0);
        if (kind == 4)
            assert_true(last < floor + floor / 10);
        close_bench(b);
    }
}

/* Two leaves. The port of b is slow: the pauses that it causes reach the link between the switches. They
 * delay a flow to c that does not use b's port. */
static void pauses_spread_to_bystanders(void **state)
{
    (void)state;
    static const char net[] =
        "{\"nodes\": [{\"id\": \"a\", \"kind\": \"accelerator\"}, {\"id\": \"x\", \"kind\": \"accelerator\"},"
        "{\"id\": \"b\", \"kind\": \"accelerator\"}, {\"id\": \"c\", \"kind\": \"accelerator\"},"
        "{\"id\": \"s\", \"kind\": \"switch\"}, {\"id\": \"t\", \"kind\": \"switch\"}], \"links\": ["
        "{\"src\": \"a\", \"dst\": \"s\", \"bandwidth\": \"10GB/s\", \"latency\": \"100ns\"},"
        "{\"src\": \"x\", \"dst\": \"s\", \"bandwidth\": \"10GB/s\", \"latency\": \"100ns\"},"
        "{\"src\": \"s\", \"dst\": \"t\", \"bandwidth\": \"20GB/s\", \"latency\": \"100ns\"},"
        "{\"src\": \"t\", \"dst\": \"b\", \"bandwidth\": \"1GB/s\", \"latency\": \"100ns\"},"
        "{\"src\": \"t\", \"dst\": \"c\", \"bandwidth\": \"10GB/s\", \"latency\": \"100ns\"}]}";
    rlt_time time[2];
    for (int paused = 0; paused < 2; paused++) {
        rlt_packet_settings s = plain();
        s.pause = paused ? RLT_PAUSE_PFC : RLT_PAUSE_NONE;
        s.pause_at = 10000;
        bench *b = open_bench(net, RLT_ROUTE_DMODK, &s);
        post(b, 0, 2, 900 * 2000, 0);
        uint32_t bystander = post(b, 1, 3, 900 * 1000, 0);
        run_to_end(b);
        time[paused] = b->delivered[bystander];
        assert_int_equal(totals(b).drops, 0);
        close_bench(b);
    }
    /* Alone: 1000 packets of 100 ns and three hops. Behind the pauses of a port that is ten times slower: at
     * least five times that. */
    assert_true(time[0] < 1010 * tau);
    assert_true(time[1] > 5 * time[0]);
}

/* Nothing gets through: the run returns a result, or an error that names who waits. It never hangs. */
static void stalls_are_named(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        rlt_packet_settings s = plain();
        char text[600] = "";
        s.selective = kind == 1;
        if (kind < 2)
            s.loss = 1;
        else
            s.buffer = 999;
        if (kind == 3)
            s.pause = RLT_PAUSE_CREDIT;
        bench *b = open_bench(star, RLT_ROUTE_DMODK, &s);
        post(b, 4, 2, 5000, 0);
        run(b);
        assert_int_equal(b->n_delivered, 0);
        assert_true(rlt_net_packet.waits(b->net, text, sizeof text) == 1);
        assert_non_null(strstr(text, "from rank 4 to rank 2"));
        if (kind == 3) {
            assert_int_equal(b->rc, 0);
            assert_non_null(strstr(text, "credit"));
        } else {
            assert_int_equal(b->rc, RLT_ESTALL);
            assert_non_null(strstr(b->err.where, "from rank 4 to rank 2"));
            /* The timeout doubles six times, then stays at 64 ms: 63 + 11 x 64 ms. */
            assert_int_equal(rlt_sim_now(b->sim), (63 + 11 * 64) * RLT_MS);
        }
        close_bench(b);
    }
    /* Room for one packet is enough, if slow. */
    rlt_packet_settings s = plain();
    s.buffer = 1000;
    bench *b = open_bench(star, RLT_ROUTE_DMODK, &s);
    for (uint32_t r = 1; r < 8; r++)
        post(b, r, 0, 9000, 0);
    run_to_end(b);
    close_bench(b);
}

static void settings_by_name(void **state)
{
    (void)state;
    rlt_packet_settings s = rlt_packet_default();
    static const char *const good[][2] = {
        {"mtu", "1500B"},          {"header", "0B"},     {"ack", "8"},          {"ack_bytes", "64B"},
        {"window", "64"},          {"rto", "500us"},     {"retries", "7"},      {"transport", "selective"},
        {"congestion", "dcqcn"},   {"buffer", "1MiB"},   {"ecn_min", "100KB"},  {"ecn_max", "400KB"},
        {"ecn_probability", "1%"}, {"pause", "pfc"},     {"pause_at", "64KiB"}, {"resume_at", "32KiB"},
        {"loss", "0.1%"},          {"lose", "3:17,5:1"}, {"seed", "42"},        {"switch_latency", "300ns"},
        {"switching", "cut"}};
    static const char *const bad[][2] = {
        {"mtu", "0B"},      {"mtu", "1500"}, {"loss", "101%"},  {"loss", "-1"},    {"rto", "0"},
        {"pause", "maybe"}, {"speed", "1"},  {"transport", ""}, {"window", "1e9"}, {"header", "1GB"},
        {"lose", "3"},      {"lose", "3:0"}, {"lose", ":1"}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(rlt_packet_set(&s, good[i][0], good[i][1], NULL), 0);
    uint32_t names = 0;
    for (const rlt_param *p = rlt_packet_parameters(); p->name; p++, names++)
        assert_non_null(p->help);
    assert_int_equal(names, sizeof good / sizeof *good);
    assert_int_equal(s.mtu, 1500);
    assert_true(s.lose.n == 2 && strcmp(s.lose.items[0].name, "3") == 0 && s.lose.items[0].number == 17);
    assert_int_equal(s.ecn_max, 400000);
    assert_true(s.loss == 0.001 && s.selective == 1 && s.pause == RLT_PAUSE_PFC && s.switch_ps == 300 * NS);
    assert_int_equal(rlt_packet_check(&s, NULL), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_true(rlt_packet_set(&s, bad[i][0], bad[i][1], NULL) < 0);
    for (int i = 0; i < 5; i++) {
        rlt_packet_settings wrong = rlt_packet_default();
        wrong.ack = i == 0 ? 0 : 1;
        wrong.loss = i == 0 ? 0.1 : 0;
        wrong.ecn_min = i == 1 ? 5 : 0;
        wrong.pause = i == 2 ? RLT_PAUSE_CREDIT : RLT_PAUSE_NONE;
        wrong.window = i == 3 ? 4 : 0;
        wrong.ack = i == 3 ? 8 : wrong.ack;
        wrong.resume_at = i == 4 ? 1 << 30 : 0;
        assert_int_equal(rlt_packet_check(&wrong, NULL), RLT_EUSAGE);
    }
}

/* The most, and one more. */
static void bounds_of_settings(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        {"mtu", "1048576B", "1048577B"},   {"mtu", "1B", "0B"},
        {"header", "65536B", "65537B"},    {"ack", "65536", "65537"},
        {"ack_bytes", "65536B", "65537B"}, {"window", "1048576", "1048577"},
        {"retries", "1000", "1001"},       {"rto", "1ps", "0ps"},
        {"loss", "100%", "100.001%"},      {"buffer", "1TiB", "1099511627777B"}};
    rlt_packet_settings s = rlt_packet_default();
    assert_int_equal(s.mtu, 4096);
    assert_int_equal(s.header, 82);
    assert_int_equal(s.ack, 1);
    assert_int_equal(s.ack_bytes, 86);
    assert_int_equal(s.rto_ps, RLT_MS);
    assert_int_equal(s.retries, 16);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rlt_packet_set(&s, rows[i][0], rows[i][1], NULL))
            fail_msg("%s=%s is refused", rows[i][0], rows[i][1]);
        if (!rlt_packet_set(&s, rows[i][0], rows[i][2], NULL))
            fail_msg("%s=%s is taken", rows[i][0], rows[i][2]);
    }
}

/* What is not given follows from what is; an item of a list fits its room or is refused whole. */
static void settings_that_follow(void **state)
{
    (void)state;
    rlt_packet_settings s = rlt_packet_default();
    assert_int_equal(rlt_packet_check(&s, NULL), 0);
    assert_int_equal(s.pause_at, 256 << 10);
    assert_int_equal(s.resume_at, 128 << 10);
    s = rlt_packet_default();
    s.buffer = 1000;
    s.dcqcn = 1;
    assert_int_equal(rlt_packet_check(&s, NULL), 0);
    assert_int_equal(s.pause_at, 500);
    assert_int_equal(s.resume_at, 250);
    assert_int_equal(s.ecn_min, 5000);
    assert_int_equal(s.ecn_max, 200000);
    s.pause_at = s.resume_at = 7;
    s.ecn_max = 1 << 20;
    assert_int_equal(rlt_packet_check(&s, NULL), 0);
    assert_int_equal(s.resume_at, 7);
    assert_int_equal(s.ecn_max, 1 << 20);
    enum { ROOM = RLT_NAMED_LINK + 24 };
    char item[ROOM + 1], text[64];
    for (size_t n = ROOM - 1; n <= ROOM; n++) {
        memset(item, '0', n);
        memcpy(item, "3:", 2);
        memcpy(item + n - 2, "12", 3);
        assert_int_equal(rlt_packet_set(&s, "lose", item, NULL), n < ROOM ? 0 : RLT_EUSAGE);
        assert_int_equal(s.lose.items[0].number, 12);
    }
    char many[8 * (RLT_NAMED_LOSSES + 1)] = "";
    for (int i = 0; i < RLT_NAMED_LOSSES; i++)
        snprintf(many + strlen(many), 8, "%s%d:1", i ? "," : "", i % 10);
    assert_int_equal(rlt_packet_set(&s, "lose", many, NULL), 0);
    assert_int_equal(s.lose.n, RLT_NAMED_LOSSES);
    strcat(many, ",5:1");
    rlt_error err = {0};
    assert_int_equal(rlt_packet_set(&s, "lose", many, &err), RLT_EUSAGE);
    snprintf(text, sizeof text, "expected at most %d packets", RLT_NAMED_LOSSES);
    assert_string_equal(err.what, text);
    assert_int_equal(rlt_packet_set(&s, "lose", "a:b:2,5:1", NULL), 0);
    const rlt_param *p = rlt_params_find(rlt_packet_parameters(), "lose");
    assert_string_equal(rlt_param_write(p, &s, text, sizeof text), "a:b:2,5:1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_message_by_itself),
        cmocka_unit_test(flows_take_turns),
        cmocka_unit_test(a_window_bounds_the_rate),
        cmocka_unit_test(one_loss_costs_what_it_must),
        cmocka_unit_test(rings_take_the_time_of_flows),
        cmocka_unit_test(the_ring_on_a_leaf_spine),
        cmocka_unit_test(whatever_is_lost_is_delivered_once),
        cmocka_unit_test(unheard_packets_change_nothing),
        cmocka_unit_test(incasts_end),
        cmocka_unit_test(pauses_spread_to_bystanders),
        cmocka_unit_test(stalls_are_named),
        cmocka_unit_test(settings_by_name),
        cmocka_unit_test(settings_that_follow),
        cmocka_unit_test(bounds_of_settings),
    };
    return cmocka_run_group_tests_name("packet network", tests, NULL, NULL);
}
