/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Classes of links and their names, the check of the accounts, stretches that repeat, messages in line,
 * handlers that run out, and the books behind them: bins of a series, and capacities that change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/endpoint/endpoint.h"
#include "net/fold.h"
#include "net/import/import.h"
#include "net/links.h"
#include "net/network.h"
#include "net/network_internal.h"
#include "net/packet/packet.h"
#include "net/packet/packets.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "net/usage_internal.h"
#include "sim/base/error.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
#include "sim/sim.h"

typedef struct bench {
    rlt_topology *t;
    rlt_placement *p;
    rlt_router *router;
    rlt_sim *sim;
    rlt_net *net;
    rlt_net_config cfg;
} bench;

static void nothing(void *ctx, uint64_t tx)
{
    (void)ctx, (void)tx;
}

static void nothing_came(void *ctx, uint64_t tx, uint64_t rx)
{
    (void)ctx, (void)tx, (void)rx;
}

static bench open_bench(const char *spec)
{
    bench b = {.p = calloc(1, sizeof *b.p)};
    rlt_error err = {0};
    assert_non_null(b.p);
    if (rlt_topology_load(spec, NULL, &b.t, &err))
        fail_msg("%s: %s", err.where, err.what);
    assert_int_equal(rlt_placement_identity(b.t, rlt_topology_accelerators(b.t), b.p, NULL), 0);
    assert_int_equal(rlt_router_create(b.t, b.p, RLT_ROUTE_DMODK, &b.router, NULL), 0);
    assert_int_equal(rlt_sim_create(&b.sim, NULL), 0);
    b.cfg = (rlt_net_config){.sim = b.sim,
                             .router = b.router,
                             .endpoint = rlt_endpoint_default(),
                             .client = {NULL, nothing, nothing_came},
                             .bandwidth_scale = 1,
                             .latency_scale = 1};
    return b;
}

static void close_bench(bench *b)
{
    rlt_net_free(b->net);
    rlt_sim_free(b->sim);
    rlt_router_free(b->router);
    rlt_placement_free(b->p);
    free(b->p);
    rlt_topology_free(b->t);
}

static void make(bench *b, const rlt_net_model *model)
{
    rlt_error err = {0};
    if (model->create(&b->cfg, &b->net, &err))
        fail_msg("%s", err.what);
}

static void send_one(bench *b, uint32_t src, uint32_t dst, uint64_t bytes)
{
    (void)rlt_net_send(b->net, &(rlt_message){.src = src, .dst = dst, .bytes = bytes});
}

static void finish(bench *b)
{
    assert_int_equal(rlt_sim_run(b->sim, RLT_TIME_MAX, NULL), 0);
}

/* A ring of four of 1 GB/s links: everyone sends 1000 bytes to the next, the first one twice as many: 2
 * us. */
static void classes_of_links(void **state)
{
    (void)state;
    bench b = open_bench("ring:4@2GB/s,0");
    make(&b, &rlt_net_flow);
    for (uint32_t i = 0; i < 4; i++)
        send_one(&b, i, (i + 1) % 4, i ? 1000 : 2000);
    finish(&b);
    rlt_net_settle(b.net);
    static const struct {
        uint32_t first, count;
        uint64_t bytes;
        const char *name;
    } expected[] = {{0, 1, 2000, "acc0->acc1"}, {2, 3, 1000, "dim 0 ring x 3"}, {1, 4, 0, "dim 0 ring x 4"}};
    rlt_link_class *list;
    uint32_t n;
    char name[64];
    const rlt_time end = 4 * RLT_US;
    assert_int_equal(rlt_links_list(b.t, b.net->usage, end, true, &list, &n, NULL), 0);
    assert_int_equal(n, 3);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(list[i].first, expected[i].first);
        assert_int_equal(list[i].count, expected[i].count);
        assert_int_equal(list[i].usage.bytes, expected[i].bytes);
        assert_int_equal(list[i].link.bw_Bps, 1000000000);
        assert_false(list[i].packets);
        assert_true(list[i].utilization * 4000 > (double)expected[i].bytes - 0.001);
        assert_true(list[i].utilization * 4000 < (double)expected[i].bytes + 0.001);
        rlt_link_class_name(b.t, &list[i], name, sizeof name);
        assert_string_equal(name, expected[i].name);
    }
    free(list);
    assert_int_equal(rlt_links_list(b.t, b.net->usage, end, false, &list, &n, NULL), 0);
    assert_int_equal(n, 8);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(list[i].first, i);
        assert_int_equal(list[i].count, 1);
    }
    free(list);
    rlt_busiest busiest = rlt_links_busiest(b.t, b.net->usage, end), over;
    assert_int_equal(busiest.link, 0);
    assert_true(busiest.utilization > 0.499 && busiest.utilization < 0.501);
    assert_string_equal(busiest.name, "dim 0 ring");
    assert_true(rlt_links_busiest(b.t, b.net->usage, 0).utilization <= 0);
    /* The busiest link needs 2 us; a picosecond for its message is forgiven. */
    rlt_error err = {0};
    assert_int_equal(rlt_accounts_check(b.net, b.t, end, &over, &err), 0);
    assert_int_equal(over.link, RLT_NONE);
    assert_int_equal(rlt_accounts_check(b.net, b.t, 2 * RLT_US - 1, NULL, &err), 0);
    assert_int_equal(rlt_accounts_check(b.net, b.t, 2 * RLT_US - 2, NULL, &err), RLT_ECHECK);
    assert_string_equal(err.what, "link 0 (dim 0 ring) was busy for 2000000 ps in a run of 1999998 ps");
    b.net->bytes_offered += 7;
    err = (rlt_error){0};
    assert_int_equal(rlt_accounts_check(b.net, b.t, end, NULL, &err), RLT_ECHECK);
    assert_string_equal(err.what,
                        "5007 bytes were offered to the network and 0 replicated there, 5000 delivered and 0 "
                        "added up there");
    b.net->bytes_abandoned = 4;
    b.net->bytes_absorbed = 5;
    b.net->bytes_replicated = 2;
    assert_int_equal(rlt_accounts_check(b.net, b.t, end, NULL, NULL), 0);
    close_bench(&b);
}

/* Under alpha-beta two messages share the link between two leaves, which carries each as if alone. */
static void crowded_links(void **state)
{
    (void)state;
    bench b = open_bench(
        "{\"nodes\":[{\"id\":\"g\",\"count\":4,\"kind\":\"accelerator\"},{\"id\":\"x\",\"kind\":\"switch\"},"
        "{\"id\":\"y\",\"kind\":\"switch\"}],\"links\":["
        "{\"src\":\"g0\",\"dst\":\"x\",\"bandwidth\":\"1GB/s\",\"latency\":\"0\"},"
        "{\"src\":\"g1\",\"dst\":\"x\",\"bandwidth\":\"1GB/s\",\"latency\":\"0\"},"
        "{\"src\":\"x\",\"dst\":\"y\",\"bandwidth\":\"1GB/s\",\"latency\":\"0\"},"
        "{\"src\":\"g2\",\"dst\":\"y\",\"bandwidth\":\"1GB/s\",\"latency\":\"0\"},"
        "{\"src\":\"g3\",\"dst\":\"y\",\"bandwidth\":\"1GB/s\",\"latency\":\"0\"}]}");
    rlt_busiest over;
    rlt_link_class *list;
    uint32_t n;
    char name[64];
    make(&b, &rlt_net_alpha_beta);
    assert_int_equal(rlt_links_busiest(b.t, b.net->usage, 1).link, RLT_NONE);
    assert_int_equal(rlt_accounts_check(b.net, b.t, 0, &over, NULL), 0);
    assert_int_equal(over.link, RLT_NONE);
    send_one(&b, 0, 2, 1000);
    send_one(&b, 1, 3, 1000);
    finish(&b);
    rlt_net_settle(b.net);
    assert_int_equal(rlt_accounts_check(b.net, b.t, RLT_US, &over, NULL), 0);
    assert_int_equal(over.link, 4);
    assert_string_equal(over.name, "x -> y");
    assert_true(over.utilization > 1.99 && over.utilization < 2.01);
    assert_int_equal(rlt_links_list(b.t, b.net->usage, RLT_US, true, &list, &n, NULL), 0);
    assert_int_equal(n, 3);
    rlt_link_class_name(b.t, &list[0], name, sizeof name);
    assert_string_equal(name, "x->y");
    rlt_link_class_name(b.t, &list[1], name, sizeof name);
    assert_string_equal(name, "g0->x and 3 like it");
    free(list);
    close_bench(&b);
}

static void names_of_busy_links(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *name;
        uint32_t from[2], to[2];
    } cases[] = {
        {"switch:4@1GB/s,0", "dim 0 switch up", {0, 0}, {1, 2}},
        {"switch:4@1GB/s,0", "dim 0 switch down", {0, 1}, {3, 3}},
        {"fat-tree:4@1GB/s,0,hosts_per_leaf=2,spines=1", "dim 0 fat-tree between switches", {0, 1}, {2, 3}},
        {"switch:2@9GB/s,0*ring:4@1GB/s,0", "dim 1 ring", {0, 0}, {2, 2}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bench b = open_bench(cases[i].spec);
        make(&b, &rlt_net_flow);
        for (int k = 0; k < 2; k++)
            send_one(&b, cases[i].from[k], cases[i].to[k], 1000);
        finish(&b);
        rlt_net_settle(b.net);
        assert_string_equal(rlt_links_busiest(b.t, b.net->usage, 1).name, cases[i].name);
        close_bench(&b);
    }
}

/* What happened since the mark happens three more times. */
static void stretches_repeat(void **state)
{
    (void)state;
    bench b = open_bench("ring:4@2GB/s,0");
    make(&b, &rlt_net_flow);
    send_one(&b, 2, 3, 500); /* before the mark */
    finish(&b);
    assert_int_equal(rlt_net_mark(b.net), 0);
    send_one(&b, 0, 1, 1000);
    send_one(&b, 0, 1, 2000);
    finish(&b);
    b.net->bytes_absorbed += 70; /* as switches do that add or copy */
    b.net->bytes_replicated += 11;
    rlt_net_repeat(b.net, 3, 10 * RLT_US);
    assert_int_equal(b.net->bytes_absorbed, 70 * 4);
    assert_int_equal(b.net->bytes_replicated, 11 * 4);
    assert_int_equal(b.net->messages, 1 + 2 * 4);
    assert_int_equal(b.net->bytes_offered, 500 + 3000 * 4);
    assert_int_equal(b.net->bytes_delivered, 500 + 3000 * 4);
    rlt_link_usage u = rlt_usage_link(b.net->usage, 0);
    assert_int_equal(u.bytes, 3000 * 4);
    assert_int_equal(u.messages, 2 * 4);
    assert_int_equal(u.busy_ps, 12 * RLT_US);
    u = rlt_usage_link(b.net->usage, 4);
    assert_int_equal(u.bytes, 500);
    assert_int_equal(u.messages, 1);
    close_bench(&b);
    for (int i = 0; i < 2; i++) {
        b = open_bench("ring:4@2GB/s,0");
        b.cfg.series_bin_ps = i ? 0 : RLT_US;
        make(&b, i ? &rlt_net_packet : &rlt_net_flow);
        assert_int_equal(rlt_net_mark(b.net), RLT_EUNSUPPORTED);
        close_bench(&b);
    }
}

static int by_place(const void *a, const void *b)
{
    const rlt_arrival *x = a, *y = b;
    if (x->port != y->port)
        return x->port < y->port ? -1 : 1;
    if (x->rx != y->rx)
        return x->rx < y->rx ? -1 : 1;
    return (x->tx > y->tx) - (x->tx < y->tx);
}

/* Any line is taken in the order of port, rx and tx, and nothing outside its room is touched. */
static void lines_are_sorted(void **state)
{
    (void)state;
    enum { MOST = 40, ROOM = 2 * MOST, SPARE = 3 * ROOM };
    static rlt_arrival memory[SPARE + ROOM + SPARE], sorted[MOST];
    for (uint64_t seed = 0; seed < 400; seed++) {
        uint64_t k = 0;
        uint32_t n = (uint32_t)rlt_random_below(seed, 0, 0, k++, MOST) + 1;
        rlt_arrivals line = {.items = memory + SPARE, .n = n, .room = 2 * n};
        memset(memory, 0x5a, sizeof memory);
        for (uint32_t i = 0; i < n; i++, k += 3)
            sorted[i] = line.items[i] = (rlt_arrival){.port = (uint32_t)rlt_random_below(seed, 0, 0, k, 3),
                                                      .rx = rlt_random_below(seed, 0, 0, k + 1, 4),
                                                      .tx = rlt_random_below(seed, 0, 0, k + 2, 1 << 20),
                                                      .index = i};
        qsort(sorted, n, sizeof *sorted, by_place);
        const rlt_arrival *got = rlt__line_take(&line);
        assert_int_equal(line.n, 0);
        assert_true(got == line.items || got == line.items + n);
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(by_place(&got[i], &sorted[i]), 0);
        const unsigned char *bytes = (const unsigned char *)memory;
        for (size_t i = 0; i < sizeof memory; i++)
            if (i < SPARE * sizeof *memory || i >= (SPARE + 2 * n) * sizeof *memory)
                assert_int_equal(bytes[i], 0x5a);
    }
}

/* 1000 bytes at 1 ns each, and of the endpoint 2.5 ps a byte, 3 ns a message, or both. */
static void delays_of_the_endpoint(void **state)
{
    (void)state;
    static const rlt_net_model *const models[] = {&rlt_net_alpha_beta, &rlt_net_flow};
    for (size_t i = 0; i < 3 * sizeof models / sizeof *models; i++) {
        bench b = open_bench("ring:4@2GB/s,0");
        b.cfg.endpoint.byte_fs = i % 3 != 1 ? 2500 : 0;
        b.cfg.endpoint.message_ps = i % 3 != 0 ? 3000 : 0;
        make(&b, models[i / 3]);
        send_one(&b, 0, 1, 1000);
        send_one(&b, 2, 3, 500);
        finish(&b);
        assert_int_equal(rlt_sim_now(b.sim), 1000000 + (i % 3 != 1 ? 2500 : 0) + (i % 3 != 0 ? 3000 : 0));
        close_bench(&b);
    }
}

typedef struct arrival {
    rlt_sim *sim;
    rlt_time at[2];
} arrival;

static void note_arrival(void *ctx, uint64_t tx, uint64_t rx)
{
    arrival *a = ctx;
    (void)rx;
    a->at[tx] = rlt_sim_now(a->sim);
}

/* A packet of 1000 bytes at half of 10 GB/s, over two links of twice 700 ns, and twice the endpoint's 3
 * ns a message and 1 ps a byte. */
static void packets_with_delays(void **state)
{
    (void)state;
    rlt_packet_settings set = rlt_packet_default();
    set.header = 100;
    bench b = open_bench("switch:4@10GB/s,700ns");
    arrival a = {b.sim, {-1, -1}};
    b.cfg.client = (rlt_net_client){&a, nothing, note_arrival};
    b.cfg.packet = &set;
    b.cfg.bandwidth_scale = 0.5;
    b.cfg.latency_scale = 2;
    b.cfg.endpoint.message_ps = 3000;
    b.cfg.endpoint.byte_fs = 1000;
    make(&b, &rlt_net_packet);
    (void)rlt_net_send(b.net, &(rlt_message){.src = 0, .dst = 1, .bytes = 900});
    (void)rlt_net_send(b.net, &(rlt_message){.src = 2, .dst = 2, .bytes = 500, .tx = 1});
    finish(&b);
    assert_int_equal(a.at[0], 2 * (200000 + 1400000 + 3000 + 900));
    assert_int_equal(a.at[1], 2 * (3000 + 500));
    for (uint32_t i = 0; i < rlt_topology_links(b.t); i++) {
        rlt_port_counts is = {0};
        rlt_link_class c = rlt_link_class_of(b.t, b.net->usage, i, 1000000);
        assert_true(rlt_usage_port(b.net->usage, i, &is) && c.packets);
        assert_memory_equal(&c.port, &is, sizeof is);
        assert_true(c.first == i && c.count == 1 && c.link.bw_Bps == 5000000000);
    }
    close_bench(&b);
    static const char *const why[] = {"the packet model cannot be folded",
                                      "packets on links that fail are lost: they need acknowledgements"};
    for (int i = 0; i < 2; i++) {
        const rlt_net_fold none = {0};
        rlt_error err = {0};
        b = open_bench("switch:4@10GB/s,700ns");
        b.cfg.packet = &set;
        b.cfg.fold = i == 0 ? &none : NULL;
        b.cfg.changes = i == 1 ? RLT_LINKS_FAIL : RLT_LINKS_STAY;
        set.ack = i == 1 ? 0 : 1;
        assert_int_equal(rlt_net_packet.create(&b.cfg, &b.net, &err), i ? RLT_EUSAGE : RLT_EUNSUPPORTED);
        assert_string_equal(err.what, why[i]);
        assert_null(b.net);
        close_bench(&b);
    }
}

/* A network takes some handlers of its simulation: with one less than it needs it is refused, never half
 * made. */
static void handlers_run_out(void **state)
{
    (void)state;
    rlt_packet_settings pausing = rlt_packet_default(), credits = pausing;
    pausing.buffer = credits.buffer = 1 << 20;
    pausing.pause = RLT_PAUSE_PFC;
    credits.pause = RLT_PAUSE_CREDIT;
    const struct {
        const rlt_net_model *model;
        rlt_link_changes changes;
        const rlt_packet_settings *packet;
        bool orderly;
    } cases[] = {
        {&rlt_net_alpha_beta, RLT_LINKS_STAY, NULL, false},
        {&rlt_net_alpha_beta, RLT_LINKS_CHANGE, NULL, true},
        {&rlt_net_flow, RLT_LINKS_STAY, NULL, false},
        {&rlt_net_flow, RLT_LINKS_CHANGE, NULL, false},
        {&rlt_net_packet, RLT_LINKS_STAY, NULL, false},
        {&rlt_net_packet, RLT_LINKS_CHANGE, NULL, false},
        {&rlt_net_packet, RLT_LINKS_STAY, &pausing, false},
        {&rlt_net_packet, RLT_LINKS_STAY, &credits, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int all = 0, needs = 0;
        for (int left = -1; left <= needs; left++) {
            bench b = open_bench("switch:4@1GB/s,0");
            rlt_error err = {0};
            b.cfg.changes = cases[i].changes;
            b.cfg.packet = cases[i].packet;
            b.cfg.orderly = cases[i].orderly;
            for (int k = 0; left >= 0 && k < all - left; k++)
                assert_true(rlt_sim_handler(b.sim, nothing, NULL) >= 0);
            b.net = (rlt_net *)(void *)&b; /* nothing is left of it */
            int rc = cases[i].model->create(&b.cfg, &b.net, &err);
            if (left < 0) { /* nobody else takes one */
                assert_int_equal(rc, 0);
                needs = rlt_sim_handlers(b.sim);
                for (all = needs; rlt_sim_handler(b.sim, nothing, NULL) >= 0;)
                    all++;
            } else {
                assert_int_equal(rc, left < needs ? RLT_ERANGE : 0);
                assert_string_equal(err.what,
                                    left < needs ? "too many event handlers in one simulation" : "");
                assert_true((b.net == NULL) == (rc != 0));
            }
            close_bench(&b);
        }
        assert_true(needs > 0);
    }
}

static rlt_usage *open_usage(rlt_topology **t, rlt_time bin_ps)
{
    rlt_usage *u = NULL;
    assert_int_equal(rlt_topology_load("ring:4@2GB/s,0", NULL, t, NULL), 0);
    assert_int_equal(rlt_usage_create(*t, bin_ps, &u, NULL), 0);
    return u;
}

static void close_usage(rlt_usage *u, rlt_topology *t)
{
    rlt_usage_free(u);
    rlt_topology_free(t);
}

/* Compares the bins of a link, as whole bytes, and that there are no more. */
static void check_bins(const rlt_usage *u, uint32_t link, uint32_t n, const int *bytes)
{
    assert_int_equal(rlt_usage_bins(u), n);
    for (uint32_t i = 0; i < n + 3; i++) {
        double is = rlt_usage_bin_bytes(u, link, i), must = i < n ? bytes[i] : 0;
        if (is < must - 1e-9 || is > must + 1e-9)
            fail_msg("bin %u: %g, not %g", i, is, must);
    }
}

#define BINS(u, link, ...)                                                                                   \
    check_bins(u, link, sizeof((int[]){__VA_ARGS__}) / sizeof(int), (const int[]){__VA_ARGS__})

/* Bins of 10 ps: spread evenly, half open; what has no length falls into the bin of its moment. */
static void bins_by_hand(void **state)
{
    (void)state;
    rlt_topology *t;
    rlt_usage *u = open_usage(&t, 10);
    assert_int_equal(rlt__usage_spread(u, 2, 0, 100, 0), 0); /* nothing */
    assert_int_equal(rlt_usage_bins(u), 0);
    assert_int_equal(rlt__usage_spread(u, 2, 10, 20, 40), 0);
    BINS(u, 2, 0, 40);
    assert_int_equal(rlt__usage_spread(u, 2, 5, 37, 32), 0);
    BINS(u, 2, 5, 50, 10, 7);
    assert_int_equal(rlt__usage_spread(u, 2, 40, 40, 3), 0);
    assert_int_equal(rlt__usage_spread(u, 2, 39, 39, 2), 0);
    BINS(u, 2, 5, 50, 10, 9, 3);
    BINS(u, 0, 0, 0, 0, 0, 0); /* another link */
    assert_int_equal(rlt__usage_spread(u, 0, 12, 14, 8), 0);
    BINS(u, 0, 0, 8, 0, 0, 0);
    BINS(u, 2, 5, 50, 10, 9, 3);
    /* rates in bytes a picosecond */
    assert_int_equal(rlt__usage_rate(u, 1, 5, 2), 0);
    BINS(u, 1, 0, 0, 0, 0, 0);
    assert_int_equal(rlt__usage_rate(u, 1, 25, 3), 0);
    BINS(u, 1, 10, 20, 10, 0, 0);
    assert_int_equal(rlt__usage_rate(u, 1, 27, 0), 0);
    assert_int_equal(rlt__usage_rate(u, 1, 60, 1), 0);
    BINS(u, 1, 10, 20, 16, 0, 0);
    /* A run that ends at 35 ps keeps what was planned in the bin that it ended in; the rate ends with it. */
    assert_int_equal(rlt__usage_rate(u, 1, 32, 4), 0);
    rlt__usage_settle(u, 35);
    BINS(u, 2, 5, 50, 10, 9);
    BINS(u, 1, 10, 20, 16, 12);
    assert_int_equal(rlt_usage_bin_ps(u), 10);
    close_usage(u, t);
    u = open_usage(&t, 10);
    assert_int_equal(rlt__usage_spread(u, 0, 0, 60, 60), 0);
    assert_int_equal(rlt__usage_rate(u, 1, 0, 1), 0);
    rlt__usage_settle(u, 40); /* the end of a bin */
    BINS(u, 0, 10, 10, 10, 10);
    BINS(u, 1, 10, 10, 10, 10);
    close_usage(u, t);
}

/* There are 1024 bins: bins 2 k and 2 k + 1 become bin k, as often as needed. */
static void bins_are_merged(void **state)
{
    (void)state;
    rlt_topology *t;
    rlt_usage *u = open_usage(&t, 10);
    for (int k = 0; k < 1024; k++)
        assert_int_equal(rlt__usage_spread(u, 0, 10 * k, 10 * k + 10, k + 1), 0);
    for (int k = 0; k < 5; k++)
        assert_int_equal(rlt__usage_spread(u, 1, 10 * k, 10 * k, 1 << k), 0);
    assert_int_equal(rlt_usage_bins(u), 1024);
    assert_int_equal(rlt_usage_bin_ps(u), 10);
    assert_int_equal(rlt__usage_spread(u, 1, 10240, 10240, 100), 0);
    assert_int_equal(rlt_usage_bins(u), 513);
    assert_int_equal(rlt_usage_bin_ps(u), 20);
    for (uint32_t k = 0; k < 512; k++) /* 2 k + 1 and 2 k + 2 */
        assert_int_equal((int)(rlt_usage_bin_bytes(u, 0, k) + 0.5), 4 * k + 3);
    static const int merged[] = {3, 12, 16, 0};
    for (uint32_t k = 0; k < 4; k++)
        assert_int_equal((int)(rlt_usage_bin_bytes(u, 1, k) + 0.5), merged[k]);
    assert_int_equal((int)(rlt_usage_bin_bytes(u, 1, 512) + 0.5), 100);
    assert_true(rlt_usage_bin_bytes(u, 0, 512) <= 0);
    /* 8 times as wide: 40 ps up to 40960, 80 ps up to 81920, 160 ps */
    assert_int_equal(rlt__usage_spread(u, 1, 81900, 81921, 21), 0);
    assert_int_equal(rlt_usage_bin_ps(u), 160);
    assert_int_equal(rlt_usage_bins(u), 513);
    assert_int_equal((int)(rlt_usage_bin_bytes(u, 1, 0) + 0.5), 31);
    assert_int_equal((int)(rlt_usage_bin_bytes(u, 1, 64) + 0.5), 100);
    assert_int_equal((int)(rlt_usage_bin_bytes(u, 1, 511) + 0.5), 20);
    assert_int_equal((int)(rlt_usage_bin_bytes(u, 1, 512) + 0.5), 1);
    double all = 0;
    for (uint32_t k = 0; k < 64; k++) /* 16 of the first bins each */
        all += rlt_usage_bin_bytes(u, 0, k);
    assert_true(all > 524799.5 && all < 524800.5); /* 1024 * 1025 / 2 */
    assert_int_equal((int)(rlt_usage_bin_bytes(u, 0, 1) + 0.5), 16 * (17 + 32) / 2);
    close_usage(u, t);
    /* A bin that no time has room for. */
    rlt_error err = {0};
    assert_int_equal(rlt_topology_load("ring:4@2GB/s,0", NULL, &t, NULL), 0);
    assert_int_equal(rlt_usage_create(t, RLT_TIME_MAX / 1024, &u, &err), 0);
    rlt_usage_free(u);
    assert_int_equal(rlt_usage_create(t, RLT_TIME_MAX / 1024 + 1, &u, &err), RLT_ERANGE);
    assert_null(u);
    assert_int_equal(rlt_usage_create(t, -1, &u, &err), RLT_ERANGE);
    close_usage(u, t);
}

/* Accounts that are closed again have no more, but for transfers that are still there. */
static void closed_twice(void **state)
{
    (void)state;
    rlt_topology *t;
    rlt_usage *u = open_usage(&t, 0);
    assert_int_equal(rlt__usage_span(u, 0, 0, 10, 30), 0);
    assert_int_equal(rlt__usage_span(u, 0, 0, 40, 50), 0);
    assert_int_equal(rlt__usage_span(u, 1, 0, 5, 6), 0);
    rlt__usage_join(u, 2, 7, 3);
    for (rlt_time now = 20; now < 60; now += 5) {
        rlt__usage_settle(u, now);
        assert_int_equal(rlt_usage_link(u, 0).active_ps, 10);
        assert_int_equal(rlt_usage_link(u, 1).active_ps, 1);
        assert_int_equal(rlt_usage_link(u, 2).active_ps, now - 7);
        assert_int_equal(rlt_usage_link(u, 3).active_ps, 0);
    }
    close_usage(u, t);
}

/* 1 ns a byte, then half of it, then none: each stretch at the capacity in force, with parts of bytes. */
static void capacities_by_hand(void **state)
{
    (void)state;
    rlt_topology *t;
    rlt_usage *u = open_usage(&t, 0);
    u->links[3].bytes = 10;
    assert_int_equal(rlt_usage_link(u, 3).busy_ps, 10000);
    assert_int_equal(rlt__usage_capacity(u, 3, 2.5, 2000000000), 0);
    assert_int_equal(rlt_usage_link(u, 3).busy_ps,
                     12500); /* ten are counted, two and a half are on their way */
    assert_int_equal(rlt_usage_link(u, 3).bw_Bps, 2000000000);
    assert_int_equal(rlt_usage_link(u, 2).bw_Bps, 1000000000);
    u->links[3].bytes = 12; /* of which half a byte was counted before */
    assert_int_equal(rlt_usage_link(u, 3).busy_ps, 12500);
    u->links[3].bytes = 13;
    assert_int_equal(rlt_usage_link(u, 3).busy_ps, 12500 + 250);
    u->links[3].bytes = 20;
    assert_int_equal(rlt_usage_link(u, 3).busy_ps, 12500 + 3750);
    assert_int_equal(rlt__usage_capacity(u, 3, 1.25, 0), 0);
    assert_int_equal(rlt_usage_link(u, 3).busy_ps, 12500 + 3750 + 625);
    u->links[3].bytes = 100; /* failed: it takes no time */
    assert_int_equal(rlt_usage_link(u, 3).busy_ps, 16875);
    assert_int_equal(rlt_usage_link(u, 3).bw_Bps, 0);
    u->links[3].bytes = 21;
    assert_int_equal(rlt__usage_capacity(u, 3, 0, 1000000000), 0);
    u->links[3].bytes = 22;
    assert_int_equal(rlt_usage_link(u, 3).busy_ps, 16875 + 1000);
    /* Bytes that were counted apart: later ones only at the capacity. */
    rlt__usage_busy(u, 3, 5, 777);
    assert_int_equal(rlt_usage_link(u, 3).busy_ps, 16875 + 777);
    assert_int_equal(rlt__usage_capacity(u, 3, 0.5, 500000000), 0); /* fewer than counted: these stay */
    u->links[3].bytes = 26;
    assert_int_equal(rlt_usage_link(u, 3).busy_ps, 16875 + 777);
    u->links[3].bytes = 29;
    assert_int_equal(rlt_usage_link(u, 3).busy_ps, 16875 + 777 + 3 * 2000);
    u->links[2].bytes = 4;
    assert_int_equal(rlt_usage_link(u, 2).busy_ps, 4000);
    close_usage(u, t);
}

/* Whether two links belong together, as net/links.h says. */
static bool alike(const rlt_topology *t, const rlt_usage *u, uint32_t i, uint32_t k)
{
    rlt_link_usage x = rlt_usage_link(u, i), y = rlt_usage_link(u, k);
    return rlt_topology_link(t, i).dim == rlt_topology_link(t, k).dim && x.bytes == y.bytes &&
           x.busy_ps == y.busy_ps && x.active_ps == y.active_ps;
}

/* Random accounts of few values: a class has its lowest link, all that are like it, and its place after
 * those that are busier, and after lower ones that are as busy. */
static void random_classes(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        rlt_topology *t = NULL;
        rlt_usage *u = NULL;
        rlt_link_class *list;
        uint64_t k = 0;
        uint32_t n, all = 0, classes = 0;
        const rlt_time end = 40000;
        assert_int_equal(rlt_topology_load(seed % 2 ? "ring:4@2GB/s,0*ring:3@2GB/s,0" : "switch:5@1GB/s,0",
                                           NULL, &t, NULL),
                         0);
        assert_int_equal(rlt_usage_create(t, 0, &u, NULL), 0);
        const uint32_t links = rlt_topology_links(t);
        for (uint32_t i = 0; i < links; i++) {
            u->links[i].bytes = 10 * rlt_random_below(seed, 0, 0, k++, 2);
            if (rlt_random_below(seed, 0, 0, k++, 4) == 0)
                assert_int_equal(rlt__usage_capacity(u, i, 0, 500000000), 0);
            u->links[i].bytes += 10 * rlt_random_below(seed, 0, 0, k++, 2);
            u->links[i].active = (rlt_time)rlt_random_below(seed, 0, 0, k++, 2) + 1;
        }
        assert_int_equal(rlt_links_list(t, u, end, true, &list, &n, NULL), 0);
        for (uint32_t i = 0; i < links; i++) {
            uint32_t first = 0, members = 0, before = 0;
            while (!alike(t, u, first, i))
                first++;
            for (uint32_t l = 0; l < links; l++) {
                rlt_time busy = rlt_usage_link(u, l).busy_ps, own = rlt_usage_link(u, i).busy_ps;
                uint32_t of = 0;
                while (!alike(t, u, of, l))
                    of++;
                members += of == first;
                before += of == l && (busy > own || (busy == own && of < first));
            }
            if (first != i)
                continue;
            classes++;
            assert_in_range(before, 0, n - 1);
            assert_int_equal(list[before].first, i);
            assert_int_equal(list[before].count, members);
            assert_int_equal(list[before].usage.busy_ps, rlt_usage_link(u, i).busy_ps);
            assert_true(list[before].utilization * (double)end > (double)list[before].usage.busy_ps - 0.001 &&
                        list[before].utilization * (double)end < (double)list[before].usage.busy_ps + 0.001);
            all += members;
        }
        assert_int_equal(n, classes);
        assert_int_equal(all, links);
        free(list);
        close_usage(u, t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_of_links),    cmocka_unit_test(random_classes),
        cmocka_unit_test(crowded_links),       cmocka_unit_test(names_of_busy_links),
        cmocka_unit_test(stretches_repeat),    cmocka_unit_test(lines_are_sorted),
        cmocka_unit_test(handlers_run_out),    cmocka_unit_test(delays_of_the_endpoint),
        cmocka_unit_test(packets_with_delays), cmocka_unit_test(bins_by_hand),
        cmocka_unit_test(bins_are_merged),     cmocka_unit_test(closed_twice),
        cmocka_unit_test(capacities_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
