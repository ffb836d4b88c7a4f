/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Network models compared with closed forms: single messages, shared ports, rings and all-to-alls driven by
 * hand, accounts, cancelled runs, and independence of the order of issue.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/endpoint/endpoint.h"
#include "net/import/import.h"
#include "net/network.h"
#include "net/route.h"
#include "net/topology/build.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "net/usage_internal.h"
#include "sim/base/error.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
#include "sim/sim.h"

enum { MAX_MESSAGES = 5000 };
static const rlt_net_model *const both[] = {&rlt_net_alpha_beta, &rlt_net_flow};
static const rlt_injection rules[] = {RLT_INJECT_NIC, RLT_INJECT_BLOCKING};

typedef struct bench {
    rlt_topology *t;
    rlt_placement *place; /* borrowed by the router, so its address must not change */
    rlt_router *router;
    rlt_sim *sim;
    rlt_net *net;
    rlt_net_config cfg;
    uint32_t accelerator[4];
    rlt_time *injected, *delivered; /* time for each cookie; -1: not yet */
    uint64_t sent;
    rlt_error err;
} bench;

static void note_injected(void *ctx, uint64_t tx)
{
    bench *b = ctx;
    assert_int_equal(b->injected[tx], -1);
    b->injected[tx] = rlt_sim_now(b->sim);
}

static void note_delivered(void *ctx, uint64_t tx, uint64_t rx)
{
    bench *b = ctx;
    assert_int_equal(tx + 1000000, rx);
    assert_int_equal(b->delivered[tx], -1);
    b->delivered[tx] = rlt_sim_now(b->sim);
}

static rlt_topology *load(const char *spec)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    int rc = rlt_topology_load(spec, NULL, &t, &err);
    if (rc)
        fail_msg("%s: %s", err.where, err.what);
    return t;
}

/* Opens a network over all accelerators of a topology, with plain endpoints. */
static bench open_bench(const char *spec)
{
    bench b = {.t = load(spec), .place = calloc(1, sizeof(rlt_placement))};
    assert_non_null(b.place);
    assert_int_equal(rlt_placement_identity(b.t, rlt_topology_accelerators(b.t), b.place, NULL), 0);
    assert_int_equal(rlt_router_create(b.t, b.place, RLT_ROUTE_DMODK, &b.router, NULL), 0);
    assert_int_equal(rlt_sim_create(&b.sim, NULL), 0);
    b.cfg = (rlt_net_config){.sim = b.sim,
                             .router = b.router,
                             .endpoint = rlt_endpoint_default(),
                             .bandwidth_scale = 1,
                             .latency_scale = 1};
    b.injected = malloc(MAX_MESSAGES * sizeof(rlt_time));
    b.delivered = malloc(MAX_MESSAGES * sizeof(rlt_time));
    assert_true(b.injected && b.delivered);
    for (int i = 0; i < MAX_MESSAGES; i++)
        b.injected[i] = b.delivered[i] = -1;
    return b;
}

static void make_net(bench *b, const rlt_net_model *model)
{
    if (!b->cfg.client.delivered)
        b->cfg.client = (rlt_net_client){b, note_injected, note_delivered};
    if (model->create(&b->cfg, &b->net, &b->err))
        fail_msg("%s", b->err.what);
}

static uint64_t post(bench *b, uint32_t src, uint32_t dst, uint64_t bytes)
{
    uint64_t tx = b->sent++;
    assert_true(tx < MAX_MESSAGES);
    rlt_message m = {.src = src, .dst = dst, .bytes = bytes, .tx = tx, .rx = tx + 1000000};
    rlt_time t = rlt_net_send(b->net, &m);
    if (t >= 0)
        b->injected[tx] = t;
    return tx;
}

/* Checks that hold for every finished run. */
static void check_accounts(bench *b)
{
    rlt_time end = rlt_sim_now(b->sim);
    uint64_t link_messages = 0;
    rlt_net_settle(b->net);
    assert_int_equal(b->net->bytes_offered, b->net->bytes_delivered);
    for (uint32_t i = 0; i < rlt_topology_links(b->t); i++) {
        rlt_link_usage u = rlt_usage_link(b->net->usage, i);
        uint64_t bw = rlt__scaled_bw(rlt_topology_link(b->t, i).bw_Bps, b->cfg.bandwidth_scale);
        assert_int_equal(u.busy_ps, rlt_transfer_time(u.bytes, bw));
        assert_true(u.active_ps <= end);
        /* Each message rounds once. */
        assert_true(u.active_ps + (rlt_time)u.messages >= u.busy_ps);
        link_messages += u.messages;
    }
    assert_true(link_messages > 0 || b->net->messages == 0);
}

static void run(bench *b)
{
    if (rlt_sim_run(b->sim, RLT_TIME_MAX, &b->err))
        fail_msg("%s: %s", b->err.where, b->err.what);
    check_accounts(b);
}

static void close_bench(bench *b)
{
    rlt_net_free(b->net);
    rlt_sim_free(b->sim);
    rlt_router_free(b->router);
    rlt_placement_free(b->place);
    free(b->place);
    rlt_topology_free(b->t);
    free(b->injected);
    free(b->delivered);
}

static rlt_link_usage usage_between(bench *b, const char *src, const char *dst)
{
    uint32_t s = rlt_topology_find_node(b->t, src), d = rlt_topology_find_node(b->t, dst);
    for (uint32_t i = 0; i < rlt_topology_links(b->t); i++) {
        rlt_link l = rlt_topology_link(b->t, i);
        if (l.src == s && l.dst == d)
            return rlt_usage_link(b->net->usage, i);
    }
    fail_msg("no link %s -> %s", src, dst);
    return (rlt_link_usage){0};
}

static const char xbar4[] = "switch:4@50GB/s,500ns";
static const char unequal[] =
    "{\"nodes\":[{\"id\":\"a\",\"kind\":\"accelerator\"},{\"id\":\"b\",\"kind\":\"accelerator\"},"
    "{\"id\":\"s\",\"kind\":\"switch\"}],\"links\":["
    "{\"src\":\"a\",\"dst\":\"s\",\"bandwidth\":\"50GB/s\",\"latency\":\"300ns\"},"
    "{\"src\":\"b\",\"dst\":\"s\",\"bandwidth\":\"25GB/s\",\"latency\":\"200ns\"}]}";
/* Four hosts in two pairs. The pairs share one cable of half their speed. */
static const char dumbbell[] =
    "{\"nodes\":[{\"id\":\"a\",\"kind\":\"accelerator\"},{\"id\":\"b\",\"kind\":\"accelerator\"},"
    "{\"id\":\"c\",\"kind\":\"accelerator\"},{\"id\":\"d\",\"kind\":\"accelerator\"},"
    "{\"id\":\"s\",\"kind\":\"switch\"},{\"id\":\"t\",\"kind\":\"switch\"}],\"links\":["
    "{\"src\":\"a\",\"dst\":\"s\",\"bandwidth\":\"50GB/s\",\"latency\":\"100ns\"},"
    "{\"src\":\"b\",\"dst\":\"s\",\"bandwidth\":\"50GB/s\",\"latency\":\"100ns\"},"
    "{\"src\":\"c\",\"dst\":\"t\",\"bandwidth\":\"50GB/s\",\"latency\":\"100ns\"},"
    "{\"src\":\"d\",\"dst\":\"t\",\"bandwidth\":\"50GB/s\",\"latency\":\"100ns\"},"
    "{\"src\":\"s\",\"dst\":\"t\",\"bandwidth\":\"25GB/s\",\"latency\":\"100ns\"}]}";

static void test_one_message(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0, 1, 999, 1048576, 3000000001u};
    for (int model = 0; model < 2; model++)
        for (int rule = 0; rule < 2; rule++)
            for (int i = 0; i < 5; i++) {
                bench b = open_bench(xbar4);
                b.cfg.endpoint.injection = rules[rule];
                make_net(&b, both[model]);
                post(&b, 1, 3, sizes[i]);
                run(&b);
                rlt_time drain = 20 * (rlt_time)sizes[i];
                assert_int_equal(b.delivered[0], drain + 1000000);
                bool late = model == 1 && rule == 1 && sizes[i];
                assert_int_equal(b.injected[0], late ? drain + 1000000 : drain);
                rlt_link_usage u = usage_between(&b, "acc1", "sw0.0.0");
                assert_int_equal(u.bytes, sizes[i]);
                assert_int_equal(u.busy_ps, drain);
                assert_int_equal(u.active_ps, drain);
                assert_int_equal(u.messages, 1);
                close_bench(&b);
            }
}

/* Both models round the time of an undisturbed message equally, at any bandwidth and size. */
static void test_models_agree_alone(void **state)
{
    (void)state;
    for (uint64_t k = 0; k < 200; k++) {
        char spec[64];
        uint64_t bw = 1 + rlt_random_below(7, 0, 0, 2 * k, k % 2 ? 1000000000000u : 5000);
        uint64_t bytes = 1 + rlt_random_below(7, 0, 0, 2 * k + 1, 100000000);
        snprintf(spec, sizeof(spec), "switch:2@%lluB/s,7ns", (unsigned long long)bw);
        for (int model = 0; model < 2; model++) {
            bench b = open_bench(spec);
            make_net(&b, both[model]);
            post(&b, 0, 1, bytes);
            run(&b);
            rlt_time span = rlt_transfer_time(bytes, bw);
            assert_int_equal(b.delivered[0], 14000 + (span || !model ? span : 1));
            close_bench(&b);
        }
    }
}

static void test_two_bandwidths(void **state)
{
    (void)state;
    for (int model = 0; model < 2; model++) {
        bench b = open_bench(unequal);
        make_net(&b, both[model]);
        post(&b, 0, 1, 1000);
        run(&b);
        assert_int_equal(b.delivered[0], 40 * 1000 + 500000);
        /* In alpha-beta the sender is free when its own port is; in flow a message leaves at the rate of its
         * bottleneck. */
        assert_int_equal(b.injected[0], model == 0 ? 20 * 1000 : 40 * 1000);
        assert_int_equal(usage_between(&b, "a", "s").busy_ps, 20000);
        assert_int_equal(usage_between(&b, "a", "s").active_ps, model == 0 ? 20000 : 40000);
        assert_int_equal(usage_between(&b, "s", "b").active_ps, 40000);
        close_bench(&b);
    }
}

/* k messages through one port: fairly shared they end together; queued they end one after the other. */
static void test_shared_ports(void **state)
{
    (void)state;
    const rlt_time m = 10007;
    for (int gather = 0; gather < 2; gather++)
        for (uint32_t k = 1; k < 16; k++)
            for (int model = 0; model < 2; model++) {
                bench b = open_bench("switch:16@50GB/s,500ns");
                make_net(&b, both[model]);
                for (uint32_t i = 1; i <= k; i++)
                    post(&b, gather ? i : 0, gather ? 0 : i, (uint64_t)m);
                run(&b);
                for (uint32_t i = 0; i < k; i++) {
                    rlt_time port = 20 * m * (model ? k : i + 1);
                    assert_int_equal(b.delivered[i], port + 1000000);
                    assert_int_equal(b.injected[i], gather && !model ? 20 * m : port);
                }
                const char *src = gather ? "sw0.0.0" : "acc0", *dst = gather ? "acc0" : "sw0.0.0";
                rlt_link_usage u = usage_between(&b, src, dst);
                assert_int_equal(u.bytes, k * m);
                assert_int_equal(u.messages, k);
                assert_int_equal(u.active_ps, 20 * m * k);
                assert_int_equal(u.busy_ps, 20 * m * k);
                close_bench(&b);
            }
}

/* Messages of one rank to changing destinations, with and without a series: each is injected after all
 * earlier ones. */
static void test_one_sender(void **state)
{
    (void)state;
    static const uint32_t dst[] = {1, 1, 2, 2, 1, 3, 3, 3, 1};
    static const uint64_t bytes[] = {5, 7, 1000, 0, ((uint64_t)1 << 31) + 5, 1, 1, 12345, 9};
    for (int series = 0; series < 2; series++) {
        bench b = open_bench(xbar4);
        b.cfg.series_bin_ps = series ? 1000000 : 0;
        make_net(&b, &rlt_net_alpha_beta);
        rlt_time free = 0;
        for (int i = 0; i < 9; i++)
            post(&b, 0, dst[i], bytes[i]);
        run(&b);
        for (int i = 0; i < 9; i++) {
            free += 20 * (rlt_time)bytes[i];
            assert_int_equal(b.injected[i], free);
            assert_int_equal(b.delivered[i], free + 1000000);
        }
        assert_int_equal(usage_between(&b, "acc0", "sw0.0.0").active_ps, free);
        assert_int_equal(usage_between(&b, "sw0.0.0", "acc3").bytes, 12347);
        close_bench(&b);
    }
}

/* Equal messages of one pair are one weighted flow, but each is reported. */
static void test_equal_messages(void **state)
{
    (void)state;
    bench b = open_bench(xbar4);
    make_net(&b, &rlt_net_flow);
    for (int i = 0; i < 5; i++)
        post(&b, 0, 1, 1000);
    post(&b, 2, 1, 1000);
    run(&b);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(b.injected[i], 6 * 20000);
        assert_int_equal(b.delivered[i], 6 * 20000 + 1000000);
    }
    assert_int_equal(usage_between(&b, "acc0", "sw0.0.0").bytes, 5000);
    assert_int_equal(usage_between(&b, "acc0", "sw0.0.0").messages, 5);
    assert_int_equal(usage_between(&b, "sw0.0.0", "acc1").bytes, 6000);
    close_bench(&b);
}

/* Two pairs over a cable of 25 GB/s: alpha-beta does not share it, and reports that it was over capacity. */
static void test_inner_link(void **state)
{
    (void)state;
    for (int model = 0; model < 2; model++) {
        bench b = open_bench(dumbbell);
        make_net(&b, both[model]);
        post(&b, 0, 2, 1000);
        post(&b, 1, 3, 1000);
        assert_int_equal(rlt_sim_run(b.sim, RLT_TIME_MAX, NULL), 0);
        rlt_net_settle(b.net);
        assert_int_equal(b.delivered[0], (model ? 80000 : 40000) + 300000);
        assert_int_equal(b.delivered[1], b.delivered[0]);
        rlt_link_usage u = usage_between(&b, "s", "t");
        assert_int_equal(u.bytes, 2000);
        assert_int_equal(u.busy_ps, 80000);
        assert_int_equal(u.active_ps, model ? 80000 : 40000);
        close_bench(&b);
    }
}

static void test_endpoint_costs(void **state)
{
    (void)state;
    for (int model = 0; model < 2; model++) {
        bench b = open_bench(xbar4);
        b.cfg.endpoint.message_ps = 2000000;
        b.cfg.endpoint.byte_fs = 1500;
        b.cfg.endpoint.n_protocols = 1;
        b.cfg.endpoint.protocols[0] =
            (rlt_protocol){.name = "LL", .message_ps = 1000, .wire_num = 2, .wire_den = 1};
        b.cfg.bandwidth_scale = 0.5;
        b.cfg.latency_scale = 3;
        make_net(&b, both[model]);
        post(&b, 0, 1, 1000);
        run(&b);
        /* 2000 B on the wire at 25 GB/s; latencies of 1 us and 2 us, 1 ns a message and 1.5 ps a byte, all
         * times three. */
        assert_int_equal(b.delivered[0], 80000 + 3 * (1000000 + 2000000 + 1000 + 1500));
        assert_int_equal(usage_between(&b, "acc0", "sw0.0.0").bytes, 2000);
        assert_int_equal(usage_between(&b, "acc0", "sw0.0.0").busy_ps, 80000);
        assert_int_equal(b.net->bytes_delivered, 1000);
        close_bench(&b);
    }
}

/* Ranks on one accelerator use no link. */
static void test_same_accelerator(void **state)
{
    (void)state;
    for (int model = 0; model < 2; model++) {
        bench b = open_bench(xbar4);
        rlt_router_free(b.router);
        uint32_t accelerators[2] = {2, 2};
        rlt_placement shared = {.n = 2, .accelerator = accelerators};
        assert_int_equal(rlt_router_create(b.t, &shared, RLT_ROUTE_DMODK, &b.router, NULL), 0);
        b.cfg.router = b.router;
        b.cfg.endpoint.message_ps = 777;
        make_net(&b, both[model]);
        post(&b, 0, 1, 1000);
        assert_int_equal(rlt_sim_run(b.sim, RLT_TIME_MAX, NULL), 0);
        assert_int_equal(b.injected[0], 0);
        assert_int_equal(b.delivered[0], 777);
        assert_int_equal(b.net->bytes_delivered, 1000);
        close_bench(&b);
    }
}

/* A ring all-reduce by hand, 2(n-1) steps. A rank sends step s+1 when it has received step s from its
 * neighbour, and its own send of step s is injected (nic) or delivered (blocking). */
typedef struct ring {
    bench b;
    uint32_t n, *received, *freed, *sent;
    uint64_t bytes;
    bool blocking;
} ring;

static void ring_go(ring *r, uint32_t rank);

static void ring_freed(void *ctx, uint64_t tx)
{
    ring *r = ctx;
    if (r->blocking)
        return;
    r->freed[tx]++;
    ring_go(r, (uint32_t)tx);
}

static void ring_start(void *ctx, uint64_t rank)
{
    ring_freed(ctx, rank);
}

static void ring_delivered(void *ctx, uint64_t tx, uint64_t rx)
{
    ring *r = ctx;
    r->received[rx]++;
    if (r->blocking) {
        r->freed[tx]++;
        ring_go(r, (uint32_t)tx);
    }
    ring_go(r, (uint32_t)rx);
}

static int ring_handler;

static void ring_go(ring *r, uint32_t rank)
{
    uint32_t s = r->sent[rank];
    if (s == 2 * (r->n - 1) || r->received[rank] < s || r->freed[rank] < s)
        return;
    r->sent[rank]++;
    uint32_t next = (rank + 1) % r->n;
    rlt_time t = rlt_net_send(
        r->b.net, &(rlt_message){.src = rank, .dst = next, .bytes = r->bytes, .tx = rank, .rx = next});
    if (t >= 0)
        rlt_sim_at(r->b.sim, t, RLT_COMPLETE, ring_handler, rank);
}

static rlt_time ring_time(const char *spec, const rlt_net_model *model, rlt_injection rule, uint64_t total)
{
    ring r = {.b = open_bench(spec), .blocking = rule == RLT_INJECT_BLOCKING};
    r.n = r.b.place->n;
    r.bytes = total / r.n;
    r.received = calloc(3 * (size_t)r.n, sizeof(uint32_t));
    assert_non_null(r.received);
    r.freed = r.received + r.n;
    r.sent = r.freed + r.n;
    r.b.cfg.endpoint.injection = rule;
    r.b.cfg.client = (rlt_net_client){&r, ring_freed, ring_delivered};
    make_net(&r.b, model);
    ring_handler = rlt_sim_handler(r.b.sim, ring_start, &r);
    for (uint32_t i = 0; i < r.n; i++)
        ring_go(&r, i);
    run(&r.b);
    rlt_time end = rlt_sim_now(r.b.sim);
    assert_int_equal(r.b.net->messages, (uint64_t)r.n * 2 * (r.n - 1));
    for (uint32_t i = 0; i < r.n; i++)
        assert_int_equal(r.received[i], 2 * (r.n - 1));
    free(r.received);
    close_bench(&r.b);
    return end;
}

static void test_ring(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        rlt_time nic, blocking;
    } rows[] = {
        {"switch:16@50GB/s,500ns", 2546582400, 2546582400},
        {"switch:64@50GB/s,500ns", 2768411520, 2768411520},
        {"fat-tree:16@50GB/s,500ns,hosts_per_leaf=4", 2554582400, 2576582400},
        {"fat-tree:64@50GB/s,500ns,hosts_per_leaf=16", 2776411520, 2894411520},
    };
    for (int i = 0; i < 4; i++)
        for (int model = 0; model < 2; model++) {
            assert_int_equal(ring_time(rows[i].spec, both[model], RLT_INJECT_NIC, 64 << 20), rows[i].nic);
            assert_int_equal(ring_time(rows[i].spec, both[model], RLT_INJECT_BLOCKING, 64 << 20),
                             rows[i].blocking);
        }
}

static rlt_time all_to_all(uint32_t n, bool jitter, bool reverse, uint64_t *digest)
{
    char spec[64];
    snprintf(spec, sizeof(spec), "switch:%u@50GB/s,500ns", n);
    bench b = open_bench(spec);
    make_net(&b, &rlt_net_flow);
    double m = (double)((64u << 20) / n);
    for (uint32_t k = 0; k < n * n; k++) {
        uint32_t at = reverse ? n * n - 1 - k : k, i = at / n, j = at % n;
        double more = jitter ? 0.5 * (double)((at * 7919u) % 1000) / 1000 : 0;
        if (i != j)
            post(&b, i, j, (uint64_t)(m * (1 + more)));
    }
    run(&b);
    rlt_time end = rlt_sim_now(b.sim);
    *digest = 0;
    for (uint64_t k = 0; k < b.sent; k++) {
        uint64_t index = reverse ? b.sent - 1 - k : k;
        *digest = *digest * 1099511628211u + (uint64_t)b.delivered[index];
    }
    close_bench(&b);
    return end;
}

static void test_all_to_all(void **state)
{
    (void)state;
    uint64_t a, c;
    assert_int_equal(all_to_all(16, false, false, &a), 20 * 15 * (rlt_time)(64 << 20) / 16 + 1000000);
    assert_int_equal(all_to_all(64, false, false, &a), 1322205760);
    assert_int_equal(all_to_all(16, true, false, &a), 1627005700);
    assert_int_equal(all_to_all(16, true, true, &c), 1627005700);
    assert_int_equal(a, c); /* each message ends at the same time in any order of issue */
    assert_int_equal(all_to_all(32, true, false, &a), 1662300600);
}

static void shuffle(uint32_t *order, uint32_t n, uint64_t seed, uint32_t stream)
{
    for (uint32_t i = n - 1; i > 0; i--) {
        uint32_t k = (uint32_t)rlt_random_below(seed, stream, 0, i, i + 1), x = order[i];
        order[i] = order[k];
        order[k] = x;
    }
}

/* Messages of one instant may be issued in any order. */
static void test_order_of_issue(void **state)
{
    (void)state;
    enum { K = 40 };
    for (uint64_t seed = 0; seed < 50; seed++) {
        uint32_t src[K], dst[K], order[K];
        uint64_t bytes[K];
        rlt_time first[K];
        for (uint32_t i = 0; i < K; i++) {
            src[i] = (uint32_t)rlt_random_below(seed, 1, 0, i, 16);
            dst[i] = (src[i] + 1 + (uint32_t)rlt_random_below(seed, 2, 0, i, 15)) % 16;
            bytes[i] = 1000 * (1 + rlt_random_below(seed, 3, 0, i, 5));
            order[i] = i;
        }
        for (uint32_t round = 0; round < 3; round++) {
            bench b = open_bench("fat-tree:16@50GB/s,500ns,hosts_per_leaf=4,spines=2");
            make_net(&b, &rlt_net_flow);
            uint64_t cookie[K];
            for (uint32_t i = 0; i < K; i++)
                cookie[order[i]] = post(&b, src[order[i]], dst[order[i]], bytes[order[i]]);
            run(&b);
            for (uint32_t i = 0; i < K; i++) {
                if (round == 0)
                    first[i] = b.delivered[cookie[i]];
                assert_int_equal(b.delivered[cookie[i]], first[i]);
            }
            close_bench(&b);
            shuffle(order, K, seed, 4 + round);
        }
    }
}

/* In order, a port serves the messages that reach it at one instant by their rx, however they were issued. Every
 * rank sends 1000 B to one of three ports, three times over; all arrive after 1020 ns, and each takes 20 ns. */
static void test_served_in_order(void **state)
{
    (void)state;
    enum { K = 40 };
    for (uint64_t seed = 0; seed < 50; seed++) {
        bench b = open_bench("switch:43@50GB/s,500ns");
        b.cfg.orderly = true;
        make_net(&b, &rlt_net_alpha_beta);
        uint32_t order[K], dst[K];
        for (uint32_t i = 0; i < K; i++) {
            order[i] = i;
            dst[i] = (uint32_t)rlt_random_below(seed, 1, 0, i, 3);
        }
        for (uint32_t first = 0; first < 3 * K; first += K) {
            rlt_time arrive = rlt_sim_now(b.sim) + 1020000, free_at[3] = {arrive, arrive, arrive};
            shuffle(order, K, seed, first);
            for (uint32_t i = 0; i < K; i++) {
                uint64_t tx = first + order[i];
                rlt_message m = {
                    .src = 3 + order[i], .dst = dst[order[i]], .bytes = 1000, .tx = tx, .rx = tx + 1000000};
                b.injected[tx] = rlt_net_send(b.net, &m);
            }
            assert_int_equal(rlt_sim_run(b.sim, RLT_TIME_MAX, &b.err), 0);
            for (uint32_t i = 0; i < K; i++, free_at[dst[i - 1]] += 20000)
                assert_int_equal(b.delivered[first + i], free_at[dst[i]]);
        }
        check_accounts(&b);
        close_bench(&b);
    }
}

/* A stopped run counts the bytes carried so far. Two messages of 1000 B share 50 GB/s for 40 ns. After 10 ns
 * each has sent 250 B (flow), or the first 500 and the second none (alpha-beta). */
static void test_cancelled_run(void **state)
{
    (void)state;
    for (int model = 0; model < 2; model++) {
        bench b = open_bench(xbar4);
        make_net(&b, both[model]);
        post(&b, 0, 1, 1000);
        post(&b, 0, 2, 1000);
        assert_int_equal(rlt_sim_run(b.sim, 10000, NULL), 0);
        rlt_net_settle(b.net);
        rlt_link_usage u = usage_between(&b, "acc0", "sw0.0.0"), v = usage_between(&b, "sw0.0.0", "acc1");
        assert_int_equal(u.bytes, 500);
        assert_int_equal(u.busy_ps, 10000);
        assert_int_equal(u.active_ps, 10000);
        assert_int_equal(u.messages, 0);
        assert_int_equal(v.bytes, model ? 250 : 0);
        assert_int_equal(v.active_ps, model ? 10000 : 0);
        assert_int_equal(b.net->bytes_offered, 2000);
        assert_int_equal(b.net->bytes_delivered, 0);
        close_bench(&b);
    }
    /* Also on the inner links. */
    for (int model = 0; model < 2; model++) {
        bench b = open_bench(dumbbell);
        make_net(&b, both[model]);
        post(&b, 0, 2, 1000);
        assert_int_equal(rlt_sim_run(b.sim, 10000, NULL), 0);
        rlt_net_settle(b.net);
        assert_int_equal(usage_between(&b, "s", "t").bytes, 250);
        assert_int_equal(usage_between(&b, "s", "t").active_ps, 10000);
        close_bench(&b);
    }
}

/* Under the blocking rule a flow takes no share during its latency. */
static void test_latency_first(void **state)
{
    (void)state;
    bench b = open_bench(xbar4);
    b.cfg.endpoint.injection = RLT_INJECT_BLOCKING;
    make_net(&b, &rlt_net_flow);
    post(&b, 0, 1, 1000);
    assert_int_equal(rlt_sim_run(b.sim, 1005000, NULL), 0);
    rlt_net_settle(b.net);
    assert_int_equal(usage_between(&b, "acc0", "sw0.0.0").bytes, 250);
    assert_int_equal(usage_between(&b, "acc0", "sw0.0.0").active_ps, 5000);
    close_bench(&b);
}

static void test_overflow_is_an_error(void **state)
{
    (void)state;
    for (int model = 0; model < 2; model++)
        for (int rule = 0; rule < 2; rule++) {
            bench b = open_bench(xbar4);
            b.cfg.endpoint.injection = rules[rule];
            make_net(&b, both[model]);
            post(&b, 0, 1, UINT64_MAX / 2);
            post(&b, 0, 1, UINT64_MAX / 2);
            assert_int_equal(rlt_sim_run(b.sim, RLT_TIME_MAX, &b.err), RLT_ERANGE);
            assert_int_equal(b.delivered[0], -1);
            close_bench(&b);
        }
}

static void test_time_series(void **state)
{
    (void)state;
    for (int model = 0; model < 2; model++) {
        bench b = open_bench(xbar4);
        b.cfg.series_bin_ps = 10000;
        make_net(&b, both[model]);
        post(&b, 0, 1, 1000); /* alone at a receive port that it later shares with the next two */
        post(&b, 2, 1, 2000);
        run(&b);
        rlt_usage *u = b.net->usage;
        double sum[64] = {0};
        for (uint32_t l = 0; l < rlt_topology_links(b.t); l++) {
            for (uint32_t k = 0; k < rlt_usage_bins(u); k++) {
                double bytes = rlt_usage_bin_bytes(u, l, k);
                assert_true(bytes >= 0 && bytes <= 500 * (1 + 1e-9)); /* 10 ns of 50 GB/s */
                sum[l] += bytes;
            }
            double off = sum[l] - (double)rlt_usage_link(u, l).bytes;
            assert_true(off < 1e-6 && off > -1e-6);
        }
        if (model == 1) { /* 3000 B through one port: 60 ns, six full bins */
            assert_int_equal(rlt_usage_bins(u), 6);
            assert_int_equal(rlt_usage_bin_ps(u), 10000);
        }
        close_bench(&b);
    }
    /* A series does not change times. */
    rlt_time end[2];
    for (int on = 0; on < 2; on++) {
        bench b = open_bench("switch:8@33.3GB/s,500ns");
        b.cfg.series_bin_ps = on;
        make_net(&b, &rlt_net_flow);
        for (uint32_t i = 0; i < 7; i++)
            post(&b, i, (i * 5 + 1) % 7, 1001 + 13 * i);
        run(&b);
        end[on] = rlt_sim_now(b.sim);
        assert_true(!on || rlt_usage_bins(b.net->usage) <= RLT_MAX_BINS);
        close_bench(&b);
    }
    assert_int_equal(end[0], end[1]);
}

/* Unions of random intervals compared with a bitmap. */
static void test_union_of_spans(void **state)
{
    (void)state;
    enum { HORIZON = 400 };
    for (uint64_t seed = 0; seed < 500; seed++) {
        rlt_topology *t = load(xbar4);
        rlt_usage *u = NULL;
        char present[HORIZON] = {0};
        assert_int_equal(rlt_usage_create(t, 0, &u, NULL), 0);
        uint64_t k = 0, longest = 1 + rlt_random_below(seed, 0, 0, k++, 40);
        for (rlt_time now = 0; now < 200; now += (rlt_time)rlt_random_below(seed, 0, 0, k++, 30)) {
            rlt_time from = now + (rlt_time)rlt_random_below(seed, 0, 0, k++, 80);
            rlt_time to = from + (rlt_time)rlt_random_below(seed, 0, 0, k++, longest);
            assert_int_equal(rlt__usage_span(u, 0, now, from, to), 0);
            memset(present + from, 1, (size_t)(to - from));
        }
        rlt_time cut = seed % 2 ? HORIZON : 220, expected = 0;
        for (rlt_time i = 0; i < cut; i++)
            expected += present[i];
        rlt__usage_settle(u, cut);
        assert_int_equal(rlt_usage_link(u, 0).active_ps, expected);
        rlt_usage_free(u);
        rlt_topology_free(t);
    }
}

static void test_models_by_name(void **state)
{
    (void)state;
    rlt_error err = {0};
    assert_ptr_equal(rlt_net_model_find("flow", &err), &rlt_net_flow);
    assert_ptr_equal(rlt_net_model_find("alpha-beta", &err), &rlt_net_alpha_beta);
    assert_null(rlt_net_model_find("beta", &err));
    assert_int_equal(err.code, RLT_EUSAGE);
    assert_non_null(strstr(err.what, "alpha-beta, flow, packet"));
    assert_non_null(rlt_net_model_at(2));
    assert_null(rlt_net_model_at(3));
}

/* Scales are above 0 and at most 1e9; a latency scale of 0 takes all latency away. 1 MB at 50 GB/s takes 20 us. */
static void test_scales(void **state)
{
    static const struct {
        double bandwidth, latency;
        rlt_time takes; /* -1: refused */
    } rows[] = {{1, 0, 20000000}, {1, 1, 21000000}, {0.5, 0, 40000000}, {1, 1e9, 1000000020000000},
                {1, 1.001e9, -1}, {1, -1, -1},      {0, 1, -1},         {-1, 1, -1},
                {1.001e9, 1, -1}, {1, 2, 22000000}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int model = 0; model < 2; model++) {
            bench b = open_bench("switch:2@50GB/s,500ns");
            b.cfg.bandwidth_scale = rows[i].bandwidth;
            b.cfg.latency_scale = rows[i].latency;
            if (rows[i].takes >= 0) {
                make_net(&b, both[model]);
                post(&b, 0, 1, 1000000);
                assert_int_equal(rlt_sim_run(b.sim, RLT_TIME_MAX, &b.err), 0);
                assert_int_equal(b.delivered[0], rows[i].takes);
            } else {
                assert_int_equal(both[model]->create(&b.cfg, &b.net, &b.err), RLT_ERANGE);
                assert_non_null(strstr(b.err.what, "that is not in (0, 1e9]"));
            }
            close_bench(&b);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scales),
        cmocka_unit_test(test_one_message),
        cmocka_unit_test(test_models_agree_alone),
        cmocka_unit_test(test_two_bandwidths),
        cmocka_unit_test(test_shared_ports),
        cmocka_unit_test(test_equal_messages),
        cmocka_unit_test(test_inner_link),
        cmocka_unit_test(test_one_sender),
        cmocka_unit_test(test_endpoint_costs),
        cmocka_unit_test(test_same_accelerator),
        cmocka_unit_test(test_ring),
        cmocka_unit_test(test_all_to_all),
        cmocka_unit_test(test_order_of_issue),
        cmocka_unit_test(test_cancelled_run),
        cmocka_unit_test(test_latency_first),
        cmocka_unit_test(test_overflow_is_an_error),
        cmocka_unit_test(test_time_series),
        cmocka_unit_test(test_union_of_spans),
        cmocka_unit_test(test_models_by_name),
        cmocka_unit_test(test_served_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
