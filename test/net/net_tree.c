/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reductions and multicasts in the network, in both models: closed forms, load of each link, accounts, and
 * refusals.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/endpoint/endpoint.h"
#include "net/import/import.h"
#include "net/import/read.h"
#include "net/network.h"
#include "net/route.h"
#include "net/shapes/shapes.h"
#include "net/topology/build.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"

static const rlt_net_model *const both[] = {&rlt_net_alpha_beta, &rlt_net_flow};
static const rlt_injection rules[] = {RLT_INJECT_NIC, RLT_INJECT_BLOCKING};

enum { MAX_TREES = 8 };

typedef struct bench {
    rlt_topology *t;
    rlt_placement place;
    rlt_router *router;
    rlt_sim *sim;
    rlt_net *net;
    rlt_time injected[MAX_TREES], delivered[MAX_TREES];
    uint32_t n;
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
    assert_int_equal(rx, tx + 100);
    assert_int_equal(b->delivered[tx], -1);
    b->delivered[tx] = rlt_sim_now(b->sim);
}

static void begin(bench *b, const char *spec, const rlt_net_model *model, rlt_injection rule,
                  rlt_routing routing)
{
    *b = (bench){0};
    int rc = rlt_topology_load(spec, NULL, &b->t, &b->err);
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
                          .latency_scale = 1};
    cfg.endpoint.injection = rule;
    assert_int_equal(model->create(&cfg, &b->net, &b->err), 0);
    for (int i = 0; i < MAX_TREES; i++)
        b->injected[i] = b->delivered[i] = -1;
}

static void end(bench *b)
{
    rlt_net_free(b->net);
    rlt_sim_free(b->sim);
    rlt_router_free(b->router);
    rlt_placement_free(&b->place);
    rlt_topology_free(b->t);
}

static void tree(bench *b, bool reduce, const uint32_t *ranks, uint32_t n, uint32_t root, uint64_t bytes)
{
    uint32_t i = b->n++;
    rlt_tree_message m = {
        .ranks = ranks, .n = n, .root = root, .bytes = bytes, .tx = i, .rx = (uint64_t)i + 100};
    rlt_time at = reduce ? b->net->model->reduce_to(b->net, &m) : b->net->model->multicast(b->net, &m);
    if (at >= 0)
        b->injected[i] = at;
}

static void run(bench *b)
{
    if (rlt_sim_run(b->sim, RLT_TIME_MAX, &b->err))
        fail_msg("%s: %s", b->err.where, b->err.what);
    rlt_net_settle(b->net);
    for (uint32_t i = 0; i < b->n; i++)
        assert_true(b->injected[i] >= 0 && b->injected[i] <= b->delivered[i]);
    assert_int_equal(b->net->bytes_offered + b->net->bytes_replicated,
                     b->net->bytes_delivered + b->net->bytes_absorbed);
}

static uint64_t carried(const bench *b, const char *src, const char *dst)
{
    uint32_t s = rlt_topology_find_node(b->t, src), d = rlt_topology_find_node(b->t, dst);
    uint64_t bytes = 0;
    assert_true(s != RLT_NONE && d != RLT_NONE);
    for (uint32_t i = 0; i < rlt_topology_links(b->t); i++) {
        rlt_link l = rlt_topology_link(b->t, i);
        if (l.src == s && l.dst == d)
            bytes += rlt_usage_link(b->net->usage, i).bytes;
    }
    return bytes;
}

static uint64_t carried_by_all(const bench *b)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < rlt_topology_links(b->t); i++)
        bytes += rlt_usage_link(b->net->usage, i).bytes;
    return bytes;
}

static const char nvswitch[] = "switch:8@50GB/s,500ns,in_network=reduce+multicast";

/* Eight contributions meet in the switch, the root's own among them. */
static void test_one_switch(void **state)
{
    (void)state;
    for (int m = 0; m < 2; m++)
        for (int r = 0; r < 2; r++)
            for (int reduce = 0; reduce < 2; reduce++) {
                bench b;
                begin(&b, nvswitch, both[m], rules[r], RLT_ROUTE_DMODK);
                tree(&b, reduce, NULL, 8, 3, 1000000);
                run(&b);
                assert_int_equal(b.delivered[0], 1000000 * 20 + 1000000);
                assert_int_equal(b.net->messages, reduce ? 8 : 1);
                assert_int_equal(b.net->bytes_offered, reduce ? 8000000 : 1000000);
                assert_int_equal(b.net->bytes_delivered, reduce ? 1000000 : 8000000);
                assert_int_equal(b.net->bytes_absorbed, reduce ? 7000000 : 0);
                assert_int_equal(b.net->bytes_replicated, reduce ? 0 : 7000000);
                for (uint32_t i = 0; i < 8; i++) {
                    char name[8] = {'a', 'c', 'c', (char)('0' + i)};
                    assert_int_equal(carried(&b, name, "sw0.0.0"), reduce || i == 3 ? 1000000 : 0);
                    assert_int_equal(carried(&b, "sw0.0.0", name), !reduce || i == 3 ? 1000000 : 0);
                }
                end(&b);
            }
}

/* A root that is no rank, a subset of the ranks, and no bytes. */
static void test_some_ranks(void **state)
{
    (void)state;
    static const uint32_t some[3] = {6, 1, 2};
    for (int m = 0; m < 2; m++) {
        bench b;
        begin(&b, nvswitch, both[m], RLT_INJECT_NIC, RLT_ROUTE_DMODK);
        tree(&b, true, some, 3, 4, 1000);
        run(&b);
        assert_int_equal(b.delivered[0], 1000 * 20 + 1000000);
        assert_int_equal(carried_by_all(&b), 4000);
        assert_int_equal(carried(&b, "acc4", "sw0.0.0"), 0);
        end(&b);
        begin(&b, nvswitch, both[m], RLT_INJECT_NIC, RLT_ROUTE_DMODK);
        tree(&b, false, some, 3, 4, 1000);
        tree(&b, false, some, 3, 1, 0);
        tree(&b, true, some + 1, 1, 1, 500);
        run(&b);
        assert_int_equal(b.delivered[0], 1000 * 20 + 1000000);
        assert_int_equal(b.delivered[1], 1000000);
        assert_int_equal(b.delivered[2], 0); /* a single rank: nothing to do */
        assert_int_equal(carried_by_all(&b), 4000);
        end(&b);
    }
}

/* Trees with common links share their bandwidth (flow), or follow each other (alpha-beta). */
static void test_together(void **state)
{
    (void)state;
    bench b;
    for (int reduce = 0; reduce < 2; reduce++) {
        begin(&b, nvswitch, &rlt_net_flow, RLT_INJECT_NIC, RLT_ROUTE_DMODK);
        for (uint32_t i = 0; i < 8; i++)
            tree(&b, reduce, NULL, 8, i, 1000);
        run(&b);
        for (uint32_t i = 0; i < 8; i++)
            assert_int_equal(b.delivered[i], 8 * 1000 * 20 + 1000000);
        assert_int_equal(carried_by_all(&b), 8 * 9 * 1000);
        end(&b);
        begin(&b, nvswitch, &rlt_net_alpha_beta, RLT_INJECT_NIC, RLT_ROUTE_DMODK);
        for (uint32_t i = 0; i < 8; i++)
            tree(&b, reduce, NULL, 8, i, 1000);
        run(&b);
        for (uint32_t i = 0; i < 8; i++)
            assert_int_equal(b.delivered[i], (i + 1) * 1000 * 20 + 1000000);
        assert_int_equal(carried_by_all(&b), 8 * 9 * 1000);
        end(&b);
    }
    /* One tree each way: they meet on the way up from 1 and on the way down to 0. */
    begin(&b, nvswitch, &rlt_net_flow, RLT_INJECT_NIC, RLT_ROUTE_DMODK);
    tree(&b, true, NULL, 8, 0, 1000);
    tree(&b, false, NULL, 8, 1, 3000);
    run(&b);
    assert_int_equal(b.delivered[0], 2 * 1000 * 20 + 1000000);
    assert_int_equal(b.delivered[1], 4000 * 20 + 1000000);
    end(&b);
}

/* Leaves sum the contributions of their hosts: one message on each cable, over the spine that the root's
 * number selects. */
static void test_fat_tree(void **state)
{
    (void)state;
    for (int m = 0; m < 2; m++)
        for (int reduce = 0; reduce < 2; reduce++) {
            bench b;
            begin(&b, "fat-tree:16@50GB/s,500ns,hosts_per_leaf=4,in_network=reduce+multicast", both[m],
                  RLT_INJECT_NIC, RLT_ROUTE_DMODK);
            tree(&b, reduce, NULL, 16, 5, 1000);
            run(&b);
            assert_int_equal(b.delivered[0], 1000 * 20 + 4 * 500000);
            /* 16 hosts, 3 other leaves, the root's leaf, the root. */
            assert_int_equal(carried_by_all(&b), (16 + 3 + 1 + 1) * 1000);
            end(&b);
        }
}

#define NODE(id, more) "{\"id\":\"" id "\",\"kind\":" more "}"
#define CABLE(a, b, rate, time)                                                                              \
    "{\"src\":\"" a "\",\"dst\":\"" b "\",\"bandwidth\":\"" rate "\",\"latency\":\"" time "\"}"
/* clang-format off */
#define BOX(can)                                                                                             \
    "{\"nodes\":["                                                                                           \
    NODE("a", "\"accelerator\"") "," NODE("b", "\"accelerator\"") "," NODE("c", "\"accelerator\"") ","       \
    NODE("n", "\"nic\"") "," NODE("s", "\"switch\"" can)                                                     \
    "],\"links\":["                                                                                          \
    CABLE("a", "n", "50GB/s", "100ns") "," CABLE("n", "s", "25GB/s", "200ns") ","                            \
    CABLE("b", "s", "100GB/s", "300ns") "," CABLE("c", "s", "50GB/s", "1us") "]}"
/* clang-format on */

/* The slowest link sets the rate of the tree, the longest path its latency; a NIC on the path forwards. */
static void test_unequal(void **state)
{
    (void)state;
    static const char box[] = BOX(",\"in_network\":\"reduce+multicast\"");
    for (int m = 0; m < 2; m++)
        for (int reduce = 0; reduce < 2; reduce++) {
            bench b;
            begin(&b, box, both[m], RLT_INJECT_NIC, RLT_ROUTE_DMODK);
            tree(&b, reduce, NULL, 3, 0, 1000);
            run(&b);
            assert_int_equal(b.delivered[0], 1000 * 40 + 1300000); /* c to a */
            assert_int_equal(carried(&b, "a", "n"), 1000);
            assert_int_equal(carried(&b, "n", "a"), 1000);
            assert_int_equal(carried(&b, "n", "s"), 1000);
            assert_int_equal(carried(&b, "s", "n"), 1000);
            assert_int_equal(carried_by_all(&b), 6000);
            end(&b);
            begin(&b, box, both[m], RLT_INJECT_NIC, RLT_ROUTE_DMODK);
            tree(&b, reduce, (uint32_t[]){1, 2}, 2, 2, 1000);
            run(&b);
            assert_int_equal(b.delivered[0], 1000 * 20 + 2000000); /* c to itself */
            end(&b);
        }
}

static void sum_for_all(bench *b, const uint32_t *ranks, uint32_t n, uint32_t root, uint64_t bytes)
{
    uint32_t i = b->n++;
    rlt_tree_message m = {
        .ranks = ranks, .n = n, .root = root, .bytes = bytes, .tx = i, .rx = (uint64_t)i + 100, .all = true};
    rlt_time at = b->net->model->reduce_to(b->net, &m);
    if (at >= 0)
        b->injected[i] = at;
}

/* The sum lands at all ranks. Every cable carries the bytes once each way. The latency is that of the longest
 * way up to the switch of the root, and down from there: in the fat tree three links each, in the box 1 us. */
static void test_sum_for_all(void **state)
{
    static const struct {
        const char *spec;
        uint32_t n, root, links, byte_ps;
        rlt_time latency_ps;
    } rows[] = {
        {nvswitch, 8, 3, 16, 20, 1000000},
        {nvswitch, 2, 0, 4, 20, 1000000},
        {"fat-tree:16@50GB/s,500ns,hosts_per_leaf=4,in_network=reduce+multicast", 16, 5, 40, 20, 3000000},
        {BOX(",\"in_network\":\"reduce+multicast\""), 3, 0, 8, 40, 2000000},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int m = 0; m < 2; m++)
            for (int r = 0; r < 2; r++) {
                bench b;
                uint32_t n = rows[i].n;
                begin(&b, rows[i].spec, both[m], rules[r], RLT_ROUTE_DMODK);
                sum_for_all(&b, NULL, n, rows[i].root, 1000);
                run(&b);
                assert_int_equal(b.delivered[0], 1000 * rows[i].byte_ps + rows[i].latency_ps);
                assert_int_equal(b.net->bytes_offered, n * 1000);
                assert_int_equal(b.net->bytes_delivered, n * 1000);
                assert_int_equal(b.net->bytes_absorbed, (n - 1) * 1000);
                assert_int_equal(b.net->bytes_replicated, (n - 1) * 1000);
                assert_int_equal(carried_by_all(&b), rows[i].links * 1000);
                end(&b);
            }
    bench b;
    begin(&b, "switch:8@50GB/s,500ns,in_network=reduce", &rlt_net_flow, RLT_INJECT_NIC, RLT_ROUTE_DMODK);
    sum_for_all(&b, NULL, 8, 0, 1000);
    assert_int_equal(rlt_sim_run(b.sim, RLT_TIME_MAX, &b.err), RLT_EUNSUPPORTED);
    assert_non_null(strstr(b.err.what, "sw0.0.0 cannot add up and replicate"));
    end(&b);
}

static void refused(const char *spec, rlt_routing routing, bool reduce, uint32_t n, uint32_t root,
                    const char *expected)
{
    for (int m = 0; m < 2; m++) {
        bench b;
        begin(&b, spec, both[m], RLT_INJECT_NIC, routing);
        tree(&b, reduce, NULL, n, root, 1000);
        assert_int_equal(rlt_sim_run(b.sim, RLT_TIME_MAX, &b.err), RLT_EUNSUPPORTED);
        if (!strstr(b.err.what, expected))
            fail_msg("'%s' does not say '%s'", b.err.what, expected);
        end(&b);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    refused("switch:8@50GB/s,500ns", RLT_ROUTE_DMODK, true, 8, 0, "sw0.0.0 cannot add up");
    refused("switch:8@50GB/s,500ns", RLT_ROUTE_DMODK, false, 8, 0, "sw0.0.0 cannot replicate");
    refused("switch:2@50GB/s,500ns", RLT_ROUTE_DMODK, true, 2, 0, "sw0.0.0 cannot add up");
    refused("switch:8@50GB/s,500ns,in_network=multicast", RLT_ROUTE_DMODK, true, 8, 0, "cannot add up");
    refused("switch:8@50GB/s,500ns,in_network=reduce", RLT_ROUTE_DMODK, false, 8, 0, "cannot replicate");
    refused("ring:4@50GB/s,500ns", RLT_ROUTE_DMODK, true, 4, 0, "acc0 cannot add up");
    refused("ring:2@50GB/s,500ns", RLT_ROUTE_DMODK, true, 2, 0, "acc1 cannot add up");
    refused("ring:2@50GB/s,500ns*switch:4@50GB/s,500ns,in_network=reduce", RLT_ROUTE_DMODK, true, 8, 0,
            "acc0 cannot add up");
    refused(BOX(""), RLT_ROUTE_DMODK, true, 3, 0, "s cannot add up");
    refused("fat-tree:64@50GB/s,500ns,hosts_per_leaf=8,in_network=reduce", RLT_ROUTE_ECMP, true, 64, 0,
            "they are no tree");
}

/* Capabilities of switches are read from every format, refused where they make no sense, and survive
 * export. */
static void test_read_and_written(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"switch:8@50GB/s,500ns,in_network=add", "reduce+multicast, got 'add'"},
        {"ring:8@50GB/s,500ns,in_network=reduce", "has no switches"},
        {BOX(",\"in_network\":\"sum\""), "got 'sum'"},
        {"{\"dims\":[{\"shape\":\"torus\",\"sizes\":[2,2],\"bandwidth\":\"1GB/s\",\"latency\":\"0ns\","
         "\"in_network\":\"multicast\"}]}",
         "has no switches"}};
    for (uint32_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        rlt_topology *t = NULL;
        rlt_error err = {0};
        int rc = rlt_topology_load(bad[i][0], NULL, &t, &err);
        assert_int_equal(rc, RLT_ESCHEMA);
        if (!strstr(err.what, bad[i][1]))
            fail_msg("'%s' does not say '%s'", err.what, bad[i][1]);
    }
    rlt_topology *t = NULL, *again = NULL;
    assert_int_equal(rlt_topology_from_compact("switch:3@50GB/s,500ns,in_network=multicast", NULL, &t, NULL),
                     0);
    for (int graphml = 0; graphml < 2; graphml++) {
        char *text = NULL;
        assert_int_equal(rlt_topology_export(t, graphml ? "graphml" : "json", &text, NULL), 0);
        assert_int_equal(graphml ? rlt_topology_from_graphml("x", text, strlen(text), &again, NULL)
                                 : rlt_topology_from_json("x", text, strlen(text), NULL, &again, NULL),
                         0);
        assert_int_equal(rlt_topology_in_network(again, rlt_topology_find_node(again, "sw0.0.0")),
                         RLT_CAN_MULTICAST);
        assert_int_equal(rlt_topology_in_network(again, 0), 0);
        assert_int_equal(rlt_topology_in_networks(again), RLT_CAN_MULTICAST);
        rlt_topology_free(again);
        free(text);
    }
    rlt_topology_free(t);
}

/* After a tree with its root among its ranks comes one without: the root of that sends nothing. */
static void test_one_after_another(void **state)
{
    (void)state;
    static const uint32_t some[3] = {6, 1, 2};
    for (int m = 0; m < 2; m++) {
        bench b;
        begin(&b, nvswitch, both[m], RLT_INJECT_NIC, RLT_ROUTE_DMODK);
        tree(&b, true, some, 3, 1, 1000);
        tree(&b, true, some, 3, 4, 1000);
        run(&b);
        assert_int_equal(carried(&b, "acc4", "sw0.0.0"), 0);
        assert_int_equal(carried(&b, "acc1", "sw0.0.0"), 2000);
        assert_int_equal(carried_by_all(&b), (3 + 1 + 3 + 1) * 1000);
        end(&b);
    }
}

/* Sprayed trees take one spine after the other; others are found again. */
static void test_sprayed(void **state)
{
    (void)state;
    static const uint32_t one = 0;
    for (int spray = 0; spray < 2; spray++) {
        bench b;
        begin(&b, "fat-tree:4@50GB/s,500ns,hosts_per_leaf=2,spines=2,in_network=reduce", &rlt_net_flow,
              RLT_INJECT_NIC, spray ? RLT_ROUTE_SPRAY : RLT_ROUTE_DMODK);
        for (int i = 0; i < 4; i++)
            tree(&b, true, &one, 1, 3, 1000);
        run(&b);
        uint64_t left = carried(&b, "sw0.0.0", "sw0.0.2"), right = carried(&b, "sw0.0.0", "sw0.0.3");
        assert_int_equal(left + right, 4000);
        assert_int_equal(left < right ? left : right, spray ? 2000 : 0);
        end(&b);
    }
}

/* Sprayed messages of one pair take one switch after the other, although the route of the last one is known. */
static void test_sprayed_messages(void **state)
{
    static const char two[] =
        "{\"nodes\":[{\"id\":\"g\",\"count\":2,\"kind\":\"accelerator\"},"
        "{\"id\":\"x\",\"count\":2,\"kind\":\"switch\"}],\"links\":["
        "{\"src\":\"g0\",\"dst\":\"x0\",\"bandwidth\":\"50GB/s\",\"latency\":\"500ns\",\"duplex\":true},"
        "{\"src\":\"g0\",\"dst\":\"x1\",\"bandwidth\":\"50GB/s\",\"latency\":\"500ns\",\"duplex\":true},"
        "{\"src\":\"g1\",\"dst\":\"x0\",\"bandwidth\":\"50GB/s\",\"latency\":\"500ns\",\"duplex\":true},"
        "{\"src\":\"g1\",\"dst\":\"x1\",\"bandwidth\":\"50GB/s\",\"latency\":\"500ns\",\"duplex\":true}]}";
    (void)state;
    for (int spray = 0; spray < 2; spray++) {
        bench b;
        begin(&b, two, &rlt_net_flow, RLT_INJECT_NIC, spray ? RLT_ROUTE_SPRAY : RLT_ROUTE_DMODK);
        while (b.n < 4) {
            rlt_message m = {.src = 0, .dst = 1, .bytes = 1000, .tx = b.n, .rx = b.n + 100};
            assert_int_equal(b.net->model->send(b.net, &m), -1);
            b.n++;
            run(&b);
        }
        uint64_t first = carried(&b, "g0", "x0"), all = carried_by_all(&b) / 2;
        assert_int_equal(all, 4000);
        assert_int_equal(first < all - first ? first : all - first, spray ? 2000 : 0);
        end(&b);
    }
}

/* Returns when a tree is delivered under a tuning by which a step between nodes of two takes 7 us more, or not. */
static rlt_time tuned(const rlt_net_model *model, const uint32_t *ranks, uint32_t n, uint32_t root,
                      bool reduce, bool far)
{
    const rlt_tuning tuning = {.on = true,
                               .protocol = {.wire_num = 1, .wire_den = 1},
                               .channels = 1,
                               .together = 1,
                               .far = far,
                               .step = {.delay_ps = 7000000, .wire_num = 1, .wire_den = 1}};
    bench b;
    begin(&b,
          "switch:2@50GB/s,100ns,in_network=reduce+multicast*switch:2@10GB/s,1us,in_network=reduce+multicast",
          model, RLT_INJECT_NIC, RLT_ROUTE_DMODK);
    assert_int_equal(rlt_topology_node_size(b.t), 2);
    rlt_tree_message m = {.ranks = ranks, .n = n, .root = root, .bytes = 1000, .rx = 100, .tuning = &tuning};
    b.n = 1;
    b.injected[0] = reduce ? b.net->model->reduce_to(b.net, &m) : b.net->model->multicast(b.net, &m);
    run(&b);
    rlt_time at = b.delivered[0];
    end(&b);
    return at;
}

/* A tree whose ranks are on several nodes costs what a step between nodes does. */
static void test_between_nodes(void **state)
{
    (void)state;
    static const struct {
        uint32_t ranks[2], n, root; /* ranks 0, 0: the first n */
        bool far;
    } cases[] = {{{0, 1}, 2, 0, false}, {{2, 3}, 2, 3, false}, {{0, 2}, 2, 0, true}, {{1, 3}, 2, 3, true},
                 {{0, 0}, 2, 0, false}, {{0, 0}, 1, 1, false}, {{3, 0}, 1, 2, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int way = 0; way < 4; way++) {
            const uint32_t *ranks = cases[i].ranks[0] || cases[i].ranks[1] ? cases[i].ranks : NULL;
            rlt_time with = tuned(both[way / 2], ranks, cases[i].n, cases[i].root, way % 2, true),
                     without = tuned(both[way / 2], ranks, cases[i].n, cases[i].root, way % 2, false);
            assert_int_equal(with - without, cases[i].far ? 7000000 : 0);
        }
}

/* Stopped half-way: counts the bytes carried so far. */
static void test_stopped(void **state)
{
    (void)state;
    for (int m = 0; m < 2; m++) {
        bench b;
        begin(&b, nvswitch, both[m], RLT_INJECT_NIC, RLT_ROUTE_DMODK);
        tree(&b, true, NULL, 8, 0, 1000000);
        assert_true(rlt_sim_run(b.sim, 5000000, &b.err) >= 0);
        rlt_net_settle(b.net);
        assert_int_equal(carried(&b, "acc5", "sw0.0.0"), 250000);
        assert_int_equal(carried(&b, "acc0", "sw0.0.0"), 250000);
        end(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_switch),       cmocka_unit_test(test_some_ranks),
        cmocka_unit_test(test_together),         cmocka_unit_test(test_fat_tree),
        cmocka_unit_test(test_unequal),          cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_read_and_written), cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_sum_for_all),      cmocka_unit_test(test_one_after_another),
        cmocka_unit_test(test_sprayed),          cmocka_unit_test(test_sprayed_messages),
        cmocka_unit_test(test_between_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
