/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Links that change during a run: closed forms to the picosecond, detours, waiting transfers and the link
 * they wait for, and the accounts.
 */
#include <stdio.h>
#include <string.h>

#include "net/endpoint/endpoint.h"
#include "net/import/import.h"
#include "net/network.h"
#include "net/packet/packet.h"
#include "net/packet/packets.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "test/support/support.h"

enum { MOST = 4000 };

typedef struct event {
    rlt_time when;
    const char *link;
    double factor;
} event;

typedef struct post {
    uint32_t src, dst;
    uint64_t bytes;
    rlt_time when;
    uint64_t key;
} post;

typedef struct bench {
    rlt_topology *t;
    rlt_placement place;
    rlt_router *router;
    rlt_sim *sim;
    rlt_net *net;
    rlt_net_config cfg;
    rlt_packet_settings packet;
    const event *events;
    const post *posts;
    int on_event, on_post;
    rlt_time injected[MOST], delivered[MOST];
    uint32_t n;
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
    assert_int_equal(rx, tx + 7);
    assert_int_equal(b->delivered[tx], -1);
    b->delivered[tx] = rlt_sim_now(b->sim);
}

static void on_event(void *ctx, uint64_t i)
{
    bench *b = ctx;
    uint32_t *links, n;
    assert_int_equal(rlt_topology_find_links(b->t, b->events[i].link, &links, &n, NULL), 0);
    rlt_net_link_event(b->net, links, n, b->events[i].factor);
    free(links);
}

static void send(bench *b, uint32_t i, const post *p)
{
    rlt_message m = {
        .src = p->src, .dst = p->dst, .bytes = p->bytes, .route_key = p->key, .tx = i, .rx = i + 7};
    rlt_time t = rlt_net_send(b->net, &m);
    if (t >= 0)
        b->injected[i] = t;
}

static void on_post(void *ctx, uint64_t i)
{
    bench *b = ctx;
    send(b, (uint32_t)i, &b->posts[i]);
}

static bench *open_bench(const char *spec, rlt_routing routing)
{
    bench *b = calloc(1, sizeof *b);
    rlt_error err = {0};
    assert_non_null(b);
    if (rlt_topology_load(spec, "topologies", &b->t, &err))
        fail_msg("%s: %s", err.where, err.what);
    assert_int_equal(rlt_placement_identity(b->t, rlt_topology_accelerators(b->t), &b->place, NULL), 0);
    assert_int_equal(rlt_router_create(b->t, &b->place, routing, &b->router, NULL), 0);
    assert_int_equal(rlt_sim_create(&b->sim, NULL), 0);
    b->packet = rlt_packet_default();
    b->cfg = (rlt_net_config){.sim = b->sim,
                              .router = b->router,
                              .endpoint = rlt_endpoint_default(),
                              .bandwidth_scale = 1,
                              .latency_scale = 1,
                              .packet = &b->packet,
                              .changes = RLT_LINKS_FAIL,
                              .client = {b, note_injected, note_delivered}};
    for (int i = 0; i < MOST; i++)
        b->injected[i] = b->delivered[i] = -1;
    return b;
}

static void make(bench *b, const rlt_net_model *model)
{
    rlt_error err = {0};
    if (model->create(&b->cfg, &b->net, &err))
        fail_msg("%s: %s", err.where, err.what);
    b->on_event = rlt_sim_handler(b->sim, on_event, b);
    b->on_post = rlt_sim_handler(b->sim, on_post, b);
}

/* Runs events and messages; returns when nothing is pending. */
static void run(bench *b, const event *events, uint32_t n_events, const post *posts, uint32_t n)
{
    rlt_error err = {0};
    b->events = events;
    b->posts = posts;
    b->n = n;
    for (uint32_t i = 0; i < n_events; i++)
        rlt_sim_at(b->sim, events[i].when, RLT_COMPLETE, b->on_event, i);
    for (uint32_t i = 0; i < n; i++)
        rlt_sim_at(b->sim, posts[i].when, RLT_START, b->on_post, i);
    if (rlt_sim_run(b->sim, RLT_TIME_MAX, &err))
        fail_msg("%s: %s", err.where, err.what);
    rlt_net_settle(b->net);
}

static void check_delivered(bench *b)
{
    assert_int_equal(b->net->bytes_offered + b->net->bytes_replicated,
                     b->net->bytes_delivered + b->net->bytes_absorbed);
    for (uint32_t i = 0; i < b->n; i++)
        assert_true(b->injected[i] >= 0 && b->delivered[i] >= b->injected[i]);
    for (uint32_t i = 0; i < rlt_topology_links(b->t) && b->net->model != &rlt_net_alpha_beta; i++) {
        rlt_link_usage u = rlt_usage_link(b->net->usage, i);
        if (u.busy_ps > u.active_ps + 2 * (rlt_time)u.messages + 2)
            fail_msg("link %u: busy %lld ps, active %lld ps", i, (long long)u.busy_ps,
                     (long long)u.active_ps);
        assert_true(u.active_ps <= rlt_sim_now(b->sim));
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

static rlt_link_usage usage(bench *b, const char *link)
{
    uint32_t *links, n;
    assert_int_equal(rlt_topology_find_links(b->t, link, &links, &n, NULL), 0);
    rlt_link_usage u = rlt_usage_link(b->net->usage, links[0]);
    free(links);
    return u;
}

/* M bytes over bandwidth B, which becomes f B at t and B again at t2; the remaining bytes then take the full
 * rate. */
static void test_slower(void **state)
{
    (void)state;
    const double factors[] = {0.5, 0.25, 2, 0.125, 1};
    for (int rule = 0; rule < 2; rule++)
        for (int i = 0; i < 5; i++) {
            bench *b = open_bench("switch:4@50GB/s,500ns", RLT_ROUTE_DMODK);
            const rlt_time t = 8 * RLT_MS, t2 = 12 * RLT_MS, late = rule ? RLT_US : 0; /* latency first */
            const uint64_t m = 1000000000;
            const event events[] = {{t, "acc0", factors[i]}, {t2, "acc0->sw0.0.0", 1}, {t2, "0", 1}};
            const post posts[] = {{.src = 0, .dst = 1, .bytes = m}};
            b->cfg.endpoint.injection = rule ? RLT_INJECT_BLOCKING : RLT_INJECT_NIC;
            make(b, &rlt_net_flow);
            run(b, events, 3, posts, 1);
            /* 20 ps a byte at full rate; a path is as fast as its narrowest link. */
            double f = factors[i] < 1 ? factors[i] : 1;
            double served = (double)(t - late) / 20 + f * (double)(t2 - t) / 20;
            rlt_time end = t2 + (rlt_time)(((double)m - served) * 20 + 0.5) + (rule ? 0 : RLT_US);
            assert_int_equal(b->delivered[0], end);
            rlt_link_usage u = usage(b, "acc0->sw0.0.0");
            assert_int_equal(u.bytes, m);
            assert_int_equal(u.bw_Bps, 50000000000u);
            assert_int_equal(u.active_ps, end - RLT_US);
            /* Busy as long as active, unless the link is faster than its neighbour. */
            rlt_time spare = factors[i] > 1 ? (t2 - t) / 2 : 0;
            assert_true(llabs(u.busy_ps - (u.active_ps - spare)) <= 1);
            check_delivered(b);
            close_bench(b);
        }
}

/* Two messages share acc0's link. The link of one of them to acc1 slows down; the other gets the rest of
 * acc0's link. */
static void test_shared(void **state)
{
    (void)state;
    bench *b = open_bench("switch:4@50GB/s,500ns", RLT_ROUTE_DMODK);
    const uint64_t m = 100000000;
    const rlt_time t = RLT_MS;
    const event events[] = {{t, "sw0.0.0->acc1", 0.2}};
    const post posts[] = {{.src = 0, .dst = 1, .bytes = m}, {.src = 0, .dst = 2, .bytes = m}};
    make(b, &rlt_net_flow);
    run(b, events, 1, posts, 2);
    const rlt_time left = (rlt_time)m - t / 40;                 /* bytes left; at 25 GB/s until then */
    assert_int_equal(b->delivered[1], t + left * 25 + RLT_US);  /* 40 GB/s */
    assert_int_equal(b->delivered[0], t + left * 100 + RLT_US); /* 10 GB/s */
    check_delivered(b);
    close_bench(b);
}

/* The link of a ring fails: the remaining bytes go round the other way. Checks the accounts of both ways. */
static void test_ring_goes_round(void **state)
{
    (void)state;
    for (int rule = 0; rule < 2; rule++) {
        bench *b = open_bench("ring:5@100GB/s,700ns", RLT_ROUTE_DMODK);
        const uint64_t m = 50000000;
        const rlt_time late = rule ? 700 * RLT_NS : 0, t = 400 * RLT_US + late;
        const event events[] = {{t, "acc0->acc1", 0}};
        const post posts[] = {{.src = 0, .dst = 1, .bytes = m},
                              {.src = 0, .dst = 1, .bytes = 1000, .when = 2 * RLT_MS},
                              {.src = 2, .dst = 3, .bytes = 1000, .when = 2 * RLT_MS}};
        b->cfg.endpoint.injection = rule ? RLT_INJECT_BLOCKING : RLT_INJECT_NIC;
        make(b, &rlt_net_flow);
        run(b, events, 1, posts, 3);
        assert_int_equal(b->delivered[0], (rlt_time)m * 20 + (rule ? 700 : 4 * 700) * RLT_NS);
        assert_int_equal(b->delivered[1], 2 * RLT_MS + 20000 + 4 * 700 * RLT_NS);
        assert_int_equal(b->delivered[2], 2 * RLT_MS + 20000 + 700 * RLT_NS);
        assert_int_equal(usage(b, "acc0->acc1").bytes, (t - late) / 20);
        assert_int_equal(usage(b, "acc0->acc1").bw_Bps, 0);
        assert_int_equal(usage(b, "acc0->acc1").busy_ps, t - late);
        assert_int_equal(usage(b, "acc3->acc2").bytes, m - (uint64_t)(t - late) / 20 + 1000);
        check_delivered(b);
        close_bench(b);
    }
}

/* A link fails while a message that waits for its latency first has no byte on it: all bytes go round, and a sum
 * over a tree waits until the link is back. */
static void test_before_the_first_byte(void **state)
{
    (void)state;
    bench *b = open_bench("ring:5@100GB/s,700ns", RLT_ROUTE_DMODK);
    const event events[] = {{300 * RLT_NS, "acc0->acc1", 0}};
    const post posts[] = {{.src = 0, .dst = 1, .bytes = 1000000}};
    b->cfg.endpoint.injection = RLT_INJECT_BLOCKING;
    make(b, &rlt_net_flow);
    run(b, events, 1, posts, 1);
    assert_int_equal(b->delivered[0], 1000000 * 20 + 700 * RLT_NS);
    assert_int_equal(usage(b, "acc0->acc1").bytes, 0);
    assert_int_equal(usage(b, "acc3->acc2").bytes, 1000000);
    check_delivered(b);
    close_bench(b);

    b = open_bench("switch:4@50GB/s,500ns,in_network=reduce+multicast", RLT_ROUTE_DMODK);
    const event both[] = {{300 * RLT_NS, "acc2->sw0.0.0", 0}, {30 * RLT_US, "acc2->sw0.0.0", 1}};
    rlt_tree_message m = {.n = 4, .root = 0, .bytes = 1000000, .tx = 0, .rx = 7};
    b->cfg.endpoint.injection = RLT_INJECT_BLOCKING;
    make(b, &rlt_net_flow);
    b->events = both;
    for (uint32_t i = 0; i < 2; i++)
        rlt_sim_at(b->sim, both[i].when, RLT_COMPLETE, b->on_event, i);
    assert_int_equal(b->net->model->reduce_to(b->net, &m), -1);
    assert_int_equal(rlt_sim_run(b->sim, RLT_TIME_MAX, NULL), 0);
    rlt_net_settle(b->net);
    assert_int_equal(b->delivered[0], 30 * RLT_US + 1000000 * 20);
    close_bench(b);
}

/* Two spines carry a flow each. One fails; both flows and later ones share the other. */
static const char leaf_spine[] =
    "{\"nodes\":[{\"id\":\"a\",\"kind\":\"accelerator\"},{\"id\":\"b\",\"kind\":\"accelerator\"},"
    "{\"id\":\"c\",\"kind\":\"accelerator\"},{\"id\":\"d\",\"kind\":\"accelerator\"},"
    "{\"id\":\"l0\",\"kind\":\"switch\"},{\"id\":\"l1\",\"kind\":\"switch\"},"
    "{\"id\":\"s0\",\"kind\":\"switch\"},{\"id\":\"s1\",\"kind\":\"switch\"}],\"links\":["
    "{\"src\":\"a\",\"dst\":\"l0\",\"bandwidth\":\"50GB/s\",\"latency\":\"100ns\"},"
    "{\"src\":\"b\",\"dst\":\"l0\",\"bandwidth\":\"50GB/s\",\"latency\":\"100ns\"},"
    "{\"src\":\"c\",\"dst\":\"l1\",\"bandwidth\":\"50GB/s\",\"latency\":\"100ns\"},"
    "{\"src\":\"d\",\"dst\":\"l1\",\"bandwidth\":\"50GB/s\",\"latency\":\"100ns\"},"
    "{\"src\":\"l0\",\"dst\":\"s0\",\"bandwidth\":\"50GB/s\",\"latency\":\"100ns\"},"
    "{\"src\":\"l0\",\"dst\":\"s1\",\"bandwidth\":\"50GB/s\",\"latency\":\"100ns\"},"
    "{\"src\":\"l1\",\"dst\":\"s0\",\"bandwidth\":\"50GB/s\",\"latency\":\"100ns\"},"
    "{\"src\":\"l1\",\"dst\":\"s1\",\"bandwidth\":\"50GB/s\",\"latency\":\"100ns\"}]}";

static void test_spine_fails(void **state)
{
    (void)state;
    bench *b = open_bench(leaf_spine, RLT_ROUTE_DMODK);
    const uint64_t m = 100000000; /* 2 ms alone */
    const event events[] = {{RLT_MS, "s1", 0}, {10 * RLT_MS, "s1", 1}};
    const post posts[] = {{.src = 0, .dst = 2, .bytes = m},
                          {.src = 1, .dst = 3, .bytes = m},
                          {.src = 0, .dst = 2, .bytes = m, .when = 20 * RLT_MS},
                          {.src = 1, .dst = 3, .bytes = m, .when = 20 * RLT_MS}};
    make(b, &rlt_net_flow);
    run(b, events, 2, posts, 4);
    const rlt_time latency = 400 * RLT_NS;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(b->delivered[i], 3 * RLT_MS + latency);
        assert_int_equal(b->delivered[2 + i], 22 * RLT_MS + latency);
    }
    assert_int_equal(usage(b, "l0->s0").bytes, m + m / 2 + m);
    assert_int_equal(usage(b, "l0->s1").bytes, m / 2 + m);
    check_delivered(b);
    close_bench(b);
}

/* Products with a failed link: all pairs keep a path, and it is a shortest one without that link. */
static void test_detours_of_products(void **state)
{
    (void)state;
    const struct {
        const char *spec, *link;
        uint32_t src, dst, links;
    } rows[] = {
        {"ring:2@100GB/s,1us", "0", 0, 1, 1},          /* the parallel link */
        {"ring:6@100GB/s,1us", "acc1->acc2", 0, 2, 4}, /* the other way */
        {"torus:16@100GB/s,1us,sizes=4x4", "acc0->acc1", 0, 1, 3},
        {"torus:16@100GB/s,1us,sizes=4x4", "acc0->acc1", 0, 5, 2}, /* the other dimension first */
        {"mesh:9@100GB/s,1us,sizes=3x3", "acc0->acc1", 0, 2, 4},
        {"ring:4@100GB/s,1us*switch:2@50GB/s,1us", "acc0->acc1", 0, 1, 3},
        {"fully-connected:4@300GB/s,1us*ring:3@50GB/s,1us", "acc0->acc3", 0, 3, 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bench *b = open_bench(rows[i].spec, RLT_ROUTE_DMODK);
        uint32_t *failed, n;
        rlt_path p;
        assert_int_equal(rlt_topology_find_links(b->t, rows[i].link, &failed, &n, NULL), 0);
        assert_int_equal(rlt_router_set_link(b->router, failed[0], 0), 0);
        assert_int_equal(rlt_route(b->router, rows[i].src, rows[i].dst, 0, &p), 0);
        if (p.n != rows[i].links)
            fail_msg("%s without %s: %u links from %u to %u", rows[i].spec, rows[i].link, p.n, rows[i].src,
                     rows[i].dst);
        uint32_t at = rows[i].src;
        rlt_time latency = 0;
        for (uint32_t k = 0; k < p.n; k++) {
            rlt_link l = rlt_topology_link(b->t, p.links[k]);
            assert_int_equal(l.src, at);
            assert_int_not_equal(p.links[k], failed[0]);
            at = l.dst;
            latency += l.latency_ps;
        }
        assert_int_equal(at, rows[i].dst);
        assert_int_equal(p.latency_ps, latency);
        /* As built, once the link is back. */
        assert_int_equal(rlt_router_set_link(b->router, failed[0], 1000), 0);
        assert_int_equal(rlt_route(b->router, rows[i].src, rows[i].dst, 0, &p), 0);
        assert_true(p.n <= rows[i].links);
        free(failed);
        close_bench(b);
    }
}

/* The text is appended to what is there, cut to the buffer, and nothing behind the buffer is touched. */
static void check_waits_are_cut(const bench *b, const char *whole)
{
    for (size_t size = 4; size < strlen(whole) + 40; size++) {
        char text[800];
        memset(text, '#', sizeof text);
        memcpy(text, "ABC", 4);
        rlt_net_waits(b->net, text, size);
        assert_non_null(memchr(text, '\0', size));
        assert_memory_equal(text, "ABC", 3);
        size_t more = strlen(text) - 3;
        if (more) /* "; " joins them */
            assert_true(more > 2 && !strncmp(text + 3, "; ", 2) && !strncmp(text + 5, whole + 2, more - 2));
        for (size_t i = size; i < sizeof text; i++)
            assert_int_equal(text[i], '#');
    }
}

/* Without a route, transfers wait under every model, are named, and continue when the link is back. */
static void test_waits(void **state)
{
    (void)state;
    const uint64_t m = 4096000;
    for (int model = 0; model < 3; model++)
        for (int back = 0; back < 2; back++) {
            bench *b = open_bench("switch:3@50GB/s,500ns", RLT_ROUTE_DMODK);
            const rlt_time t = 20 * RLT_US, t2 = RLT_MS, t3 = 5 * RLT_MS;
            const event events[] = {{t, "acc0->sw0.0.0", 0}, {t3, "acc0", 1}};
            const post posts[] = {{.src = 0, .dst = 1, .bytes = m},
                                  {.src = 0, .dst = 2, .bytes = m, .when = t2}};
            make(b, rlt_net_model_at((uint32_t)model));
            run(b, events, back ? 2 : 1, posts, 2);
            char text[700] = "";
            rlt_net_waits(b->net, text, sizeof text);
            if (!back) {
                assert_non_null(strstr(text, "link 0 (acc0->sw0.0.0), which has failed"));
                assert_int_equal(b->delivered[1], -1);
                check_waits_are_cut(b, text);
            } else {
                check_delivered(b);
                assert_true(text[0] == '\0');
            }
            rlt_time all = 20 * (rlt_time)m, latency = RLT_US;
            if (back && model == 0) { /* alpha-beta: the first had begun */
                assert_int_equal(b->delivered[0], all + latency);
                assert_int_equal(b->injected[1], t3 + all);
                assert_int_equal(b->delivered[1], t3 + all + latency);
            } else if (back && model == 1) { /* flow: both share the link from then on */
                assert_int_equal(b->delivered[0], t3 + 2 * (all - t) + latency);
                assert_int_equal(b->delivered[1], t3 + all + (all - t) + latency);
                assert_int_equal(usage(b, "acc0->sw0.0.0").busy_ps, 2 * all);
            } else if (back) { /* packet: lost packets are retransmitted */
                uint32_t link0 = 0;
                rlt_port_counts c;
                assert_true(rlt_usage_port(b->net->usage, link0, &c));
                assert_true(c.losses > 0);
                assert_true(b->delivered[0] >= t3 + all - t && b->delivered[1] >= t3 + all);
            }
            close_bench(b);
        }
}

/* A reduction over a tree keeps its links: it stops while one has failed, and a later one waits. */
static void test_trees_wait(void **state)
{
    (void)state;
    for (int model = 0; model < 2; model++) {
        bench *b = open_bench("switch:4@50GB/s,500ns,in_network=reduce+multicast", RLT_ROUTE_DMODK);
        const rlt_time t = 100 * RLT_US, t2 = 300 * RLT_US, all = 20 * 10000000;
        const event events[] = {{t, "acc2->sw0.0.0", 0}, {t2, "acc2->sw0.0.0", 1}};
        rlt_error err = {0};
        make(b, rlt_net_model_at((uint32_t)model));
        b->events = events;
        rlt_sim_at(b->sim, t, RLT_COMPLETE, b->on_event, 0);
        rlt_sim_at(b->sim, t2, RLT_COMPLETE, b->on_event, 1);
        rlt_tree_message m = {.n = 4, .root = 0, .bytes = 10000000, .tx = 0, .rx = 7};
        (void)b->net->model->reduce_to(b->net, &m);
        assert_int_equal(rlt_sim_run(b->sim, 200 * RLT_US, &err), 0);
        uint32_t ranks[] = {0, 1, 2, 3}; /* the caller's own, who may write over them */
        m.tx = 1;
        m.rx = 8;
        m.ranks = ranks;
        assert_int_equal(b->net->model->reduce_to(b->net, &m), -1);
        memset(ranks, 0, sizeof ranks);
        char text[700] = "";
        rlt_net_waits(b->net, text, sizeof text);
        assert_non_null(strstr(text, "acc2->sw0.0.0"));
        assert_int_equal(rlt_sim_run(b->sim, RLT_TIME_MAX, &err), 0);
        rlt_net_settle(b->net);
        rlt_time latency = RLT_US;
        if (model == 1) { /* half of the first is left; then both share */
            assert_int_equal(b->delivered[0], t2 + 2 * (all - t) + latency);
            assert_int_equal(b->delivered[1], t2 + all + (all - t) + latency);
        } else {
            assert_int_equal(b->delivered[0], all + latency);
            assert_int_equal(b->delivered[1], t2 + all + latency);
        }
        assert_int_equal(b->net->bytes_offered, b->net->bytes_delivered + b->net->bytes_absorbed);
        close_bench(b);
    }
}

/* Sums over other ranks, in turn: each goes over the links of its own. */
static void test_trees_apart(void **state)
{
    (void)state;
    for (int model = 0; model < 2; model++) {
        bench *b = open_bench("switch:4@50GB/s,500ns,in_network=reduce+multicast", RLT_ROUTE_DMODK);
        static const uint32_t ranks[][3] = {{0, 1, 2}, {0, 1, 3}, {0, 1, 2}};
        rlt_error err = {0};
        make(b, rlt_net_model_at((uint32_t)model));
        for (uint64_t i = 0; i < 3; i++) {
            rlt_tree_message m = {.ranks = ranks[i], .n = 3, .root = 1, .bytes = 1000, .tx = i, .rx = 7 + i};
            (void)b->net->model->reduce_to(b->net, &m);
            assert_int_equal(rlt_sim_run(b->sim, RLT_TIME_MAX, &err), 0);
        }
        rlt_net_settle(b->net);
        assert_int_equal(usage(b, "acc0->sw0.0.0").bytes, 3000);
        assert_int_equal(usage(b, "acc2->sw0.0.0").bytes, 2000);
        assert_int_equal(usage(b, "acc3->sw0.0.0").bytes, 1000);
        close_bench(b);
    }
}

/* Under alpha-beta, later messages are as slow as their path. */
static void test_alpha_beta_sees_it_later(void **state)
{
    (void)state;
    bench *b = open_bench("switch:3@50GB/s,500ns", RLT_ROUTE_DMODK);
    const event events[] = {{10 * RLT_US, "sw0.0.0->acc1", 0.5}};
    const post posts[] = {{.src = 0, .dst = 1, .bytes = 1000000},
                          {.src = 0, .dst = 1, .bytes = 1000000, .when = 10 * RLT_US}};
    make(b, &rlt_net_alpha_beta);
    run(b, events, 1, posts, 2);
    assert_int_equal(b->delivered[0], 21 * RLT_US);
    assert_int_equal(b->delivered[1], 20 * RLT_US + 40 * RLT_US + RLT_US);
    rlt_link_usage u = usage(b, "sw0.0.0->acc1");
    assert_int_equal(u.busy_ps, 20 * RLT_US + 40 * RLT_US);
    close_bench(b);
}

/* Packets of a slower link take longer: equal to the fluid model within one packet time. */
static void test_packets_slower(void **state)
{
    (void)state;
    bench *b = open_bench("switch:3@50GB/s,500ns", RLT_ROUTE_DMODK);
    const rlt_time t = 50 * RLT_US;
    const event events[] = {{t, "acc0", 0.5}};
    const post posts[] = {{.src = 0, .dst = 1, .bytes = 10000000}};
    b->cfg.changes = RLT_LINKS_CHANGE;
    b->packet.header = 0;
    make(b, &rlt_net_packet);
    run(b, events, 1, posts, 1);
    rlt_time packet = 40 * (rlt_time)b->packet.mtu, fluid = t + 2 * (20 * 10000000 - t) + RLT_US;
    assert_true(b->injected[0] >= fluid - RLT_US - packet && b->injected[0] <= fluid - RLT_US + packet);
    assert_true(b->delivered[0] >= fluid - packet &&
                b->delivered[0] <= fluid + 3 * packet + b->packet.switch_ps);
    check_delivered(b);
    close_bench(b);
}

/* Random messages on links that change, fail and recover: everything arrives once, accounts balance, and a
 * second run is identical. */
static void test_random(void **state)
{
    (void)state;
    static const char *const specs[] = {"ring:6@100GB/s,500ns",
                                        "torus:16@100GB/s,500ns,sizes=4x4",
                                        "switch:8@50GB/s,500ns",
                                        leaf_spine,
                                        "ring:4@200GB/s,500ns*switch:4@50GB/s,500ns",
                                        "fat-tree:16@50GB/s,500ns,hosts_per_leaf=4,spines=2"};
    static event events[80];
    static post posts[200];
    static char names[40][16];
    for (uint64_t seed = 1; seed <= 180; seed++) {
        rlt_time first[200];
        for (int again = 0; again < 2; again++) {
            const rlt_net_model *model = rlt_net_model_at((uint32_t)(seed % 3));
            bench *b = open_bench(specs[seed / 3 % 6], (rlt_routing)(seed % 2        ? RLT_ROUTE_ECMP
                                                                     : seed % 7 == 0 ? RLT_ROUTE_SPRAY
                                                                                     : RLT_ROUTE_DMODK));
            uint64_t k = 0;
            uint32_t links = rlt_topology_links(b->t), ranks = b->place.n;
            if (seed % 4 == 0)
                b->cfg.endpoint.injection = RLT_INJECT_BLOCKING;
            if (seed % 5 == 0) {
                b->packet.pause = seed % 2 ? RLT_PAUSE_PFC : RLT_PAUSE_CREDIT;
                b->packet.buffer = 1 << 20;
                assert_int_equal(rlt_packet_check(&b->packet, NULL), 0);
            }
            for (uint32_t i = 0; i < 40; i++) { /* each change is undone later */
                double factors[] = {0, 0.5, 3, 0};
                snprintf(names[i], sizeof names[i], "%u", (uint32_t)rlt_random_below(seed, 1, 1, k++, links));
                rlt_time when = (rlt_time)rlt_random_below(seed, 1, 1, k++, 400 * RLT_US);
                events[2 * i] = (event){when, names[i], factors[i % 4]};
                events[2 * i + 1] =
                    (event){500 * RLT_US + (rlt_time)rlt_random_below(seed, 1, 1, k++, RLT_MS), names[i], 1};
            }
            for (uint32_t i = 0; i < 200; i++) {
                posts[i].src = (uint32_t)rlt_random_below(seed, 1, 1, k++, ranks);
                posts[i].dst = (uint32_t)rlt_random_below(seed, 1, 1, k++, ranks);
                posts[i].bytes = rlt_random_below(seed, 1, 1, k++, 1000000);
                posts[i].when = (rlt_time)rlt_random_below(seed, 1, 1, k++, 600 * RLT_US);
                posts[i].key = i % 3;
            }
            make(b, model);
            run(b, events, 80, posts, 200);
            check_delivered(b);
            for (uint32_t i = 0; i < 200; i++) {
                if (again)
                    assert_int_equal(b->delivered[i], first[i]);
                first[i] = b->delivered[i];
            }
            close_bench(b);
        }
    }
}

/* Changes that were not announced are refused. */
static void test_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        bench *b = open_bench("switch:3@50GB/s,500ns", RLT_ROUTE_DMODK);
        rlt_error err = {0};
        b->cfg.changes = i ? RLT_LINKS_CHANGE : RLT_LINKS_STAY;
        make(b, &rlt_net_flow);
        const event events[] = {{0, "0", i ? 0 : 0.5}};
        b->events = events;
        rlt_sim_at(b->sim, 0, RLT_COMPLETE, b->on_event, 0);
        assert_int_equal(rlt_sim_run(b->sim, RLT_TIME_MAX, &err), RLT_EUSAGE);
        close_bench(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slower),          cmocka_unit_test(test_shared),
        cmocka_unit_test(test_ring_goes_round), cmocka_unit_test(test_before_the_first_byte),
        cmocka_unit_test(test_spine_fails),     cmocka_unit_test(test_detours_of_products),
        cmocka_unit_test(test_waits),           cmocka_unit_test(test_trees_wait),
        cmocka_unit_test(test_trees_apart),     cmocka_unit_test(test_alpha_beta_sees_it_later),
        cmocka_unit_test(test_packets_slower),  cmocka_unit_test(test_random),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
