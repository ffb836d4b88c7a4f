/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lower bounds worked out by hand: bytes that must cross divided by the bandwidth, and the smallest
 * latency. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "collectives/algorithm.h"
#include "collectives/bound.h"
#include "collectives/collective.h"
#include "collectives/plan.h"
#include "net/import/import.h"
#include "net/route.h"
#include "net/topology/build.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"

typedef struct setting {
    rlt_topology *t;
    rlt_placement p;
    rlt_router *router;
} setting;

/* The router keeps a pointer to the placement, so the setting must not move. */
static void open_network(setting *s, const char *text, uint32_t ranks)
{
    rlt_error err = {0};
    int rc = rlt_topology_load(text, NULL, &s->t, &err);
    if (rc < 0)
        fail_msg("%s: %s", err.where, err.what);
    s->p = (rlt_placement){.n = ranks};
    assert_int_equal(rlt_router_create(s->t, &s->p, RLT_ROUTE_DMODK, &s->router, &err), 0);
}

static void close_network(setting *s)
{
    rlt_router_free(s->router);
    rlt_topology_free(s->t);
}

static rlt_bound bound_of(const setting *s, const rlt_coll_request *req)
{
    rlt_bound b;
    rlt_error err = {0};
    if (rlt_coll_bound(req, s->router, 1.0, 1.0, &b, &err) < 0)
        fail_msg("%s: %s", err.where, err.what);
    rlt_time bytes = b.traffic_ps > b.cut_ps ? b.traffic_ps : b.cut_ps;
    assert_int_equal(b.time_ps, bytes > b.latency_ps ? bytes : b.latency_ps);
    return b;
}

/* Four members on a crossbar of 50 GB/s, 20 ps a byte; every path has two links of 500 ns. M = 10^9 bytes. */
static void kinds_by_hand(void **state)
{
    (void)state;
    static const struct {
        rlt_coll_kind kind;
        rlt_time traffic_ps;
    } cases[] = {
        {RLT_ALL_REDUCE, 30 * RLT_MS}, /* 2 * 3/4 M */
        {RLT_REDUCE_SCATTER, 15 * RLT_MS},
        {RLT_ALL_GATHER, 15 * RLT_MS},
        {RLT_ALL_TO_ALL, 15 * RLT_MS},
        {RLT_BROADCAST, 20 * RLT_MS}, /* M leaves the root; all together send 3/4 M each */
        {RLT_REDUCE, 20 * RLT_MS},
        {RLT_BARRIER, 0},
        {RLT_GATHER, 15 * RLT_MS}, /* three quarters of M into the root */
        {RLT_SCATTER, 15 * RLT_MS},
    };
    setting s;
    open_network(&s, "switch:4@50GB/s,500ns", 4);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rlt_coll_request req = {.kind = cases[i].kind, .n = 4, .bytes = 1000000000};
        rlt_bound b = bound_of(&s, &req);
        assert_int_equal(b.traffic_ps, cases[i].traffic_ps);
        assert_int_equal(b.latency_ps, RLT_US);
    }
    rlt_coll_request one = {.kind = RLT_ALL_REDUCE, .n = 1, .bytes = 1000};
    assert_int_equal(bound_of(&s, &one).time_ps, 0);
    rlt_coll_request pair = {.kind = RLT_SEND_RECV, .n = 2, .bytes = 1000000};
    assert_int_equal(bound_of(&s, &pair).time_ps, 20 * RLT_US);
    pair.bytes = 3;
    assert_int_equal(bound_of(&s, &pair).traffic_ps, 60);
    assert_int_equal(bound_of(&s, &pair).time_ps, RLT_US);
    close_network(&s);
}

/* An accelerator of a product may use all its dimensions: 200 + 50 GB/s. */
static void dimensions_add_up(void **state)
{
    (void)state;
    setting s;
    open_network(&s, "ring:4@200GB/s,300ns*switch:8@50GB/s,500ns", 32);
    rlt_coll_request req = {.kind = RLT_ALL_REDUCE, .n = 32, .bytes = 32u * 1000 * 1000};
    rlt_bound b = bound_of(&s, &req);
    assert_int_equal(b.traffic_ps, 2 * 31 * 4 * RLT_US); /* 62 MB at 250 GB/s */
    assert_int_equal(b.latency_ps, 300 * RLT_NS);
    close_network(&s);
}

/* Counts: member 0 sends 10 and 20 kB, the others only to themselves; then the same as a column. */
static void counts_by_hand(void **state)
{
    (void)state;
    setting s;
    open_network(&s, "switch:3@50GB/s,1ns", 3);
    uint64_t row[9] = {999999, 10000, 20000, 0, 999999, 0, 0, 0, 999999};
    uint64_t column[9] = {0, 0, 0, 10000, 0, 0, 21000, 0, 0};
    rlt_coll_request req = {.kind = RLT_ALL_TO_ALL, .n = 3, .counts = row};
    assert_int_equal(bound_of(&s, &req).traffic_ps, 600 * RLT_NS);
    req.counts = column;
    assert_int_equal(bound_of(&s, &req).traffic_ps, 620 * RLT_NS);
    /* Shares of 5, 15 and 40 kB at 20 ps a byte: member 0 receives 55 kB, root 2 only 20 kB. */
    uint64_t shares[3] = {5000, 15000, 40000};
    static const rlt_coll_kind kinds[] = {RLT_ALL_GATHER, RLT_REDUCE_SCATTER, RLT_GATHER, RLT_SCATTER};
    static const rlt_time expected[] = {1100 * RLT_NS, 1100 * RLT_NS, 400 * RLT_NS, 400 * RLT_NS};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        rlt_coll_request v = {.kind = kinds[i], .n = 3, .root = 2, .bytes = 60000, .counts = shares};
        assert_int_equal(bound_of(&s, &v).traffic_ps, expected[i]);
    }
    close_network(&s);
}

/* One member's link is ten times slower: its own bytes decide. */
static void slow_members_decide(void **state)
{
    (void)state;
    static const char text[] =
        "{\"nodes\":[{\"id\":\"sw\",\"kind\":\"switch\"},{\"id\":\"g\",\"count\":4,\"kind\":\"accelerator\"}]"
        ","
        "\"links\":[{\"src\":\"g0\",\"dst\":\"sw\",\"bandwidth\":\"100GB/s\",\"latency\":\"1us\"},"
        "{\"src\":\"g1\",\"dst\":\"sw\",\"bandwidth\":\"100GB/s\",\"latency\":\"1us\"},"
        "{\"src\":\"g2\",\"dst\":\"sw\",\"bandwidth\":\"100GB/s\",\"latency\":\"2us\"},"
        "{\"src\":\"g3\",\"dst\":\"sw\",\"bandwidth\":\"10GB/s\",\"latency\":\"1us\"}]}";
    setting s;
    open_network(&s, text, 4);
    rlt_coll_request req = {.kind = RLT_ALL_REDUCE, .n = 4, .bytes = 4000000};
    rlt_bound b = bound_of(&s, &req);
    assert_int_equal(b.traffic_ps, 400 * RLT_US); /* 4 MB at 10 GB/s; together 24 MB at 310 GB/s */
    assert_int_equal(b.latency_ps, 2 * RLT_US);
    req.kind = RLT_ALL_GATHER;
    assert_int_equal(bound_of(&s, &req).traffic_ps, 300 * RLT_US); /* 3 MB in */
    req.kind = RLT_REDUCE_SCATTER;
    assert_int_equal(bound_of(&s, &req).traffic_ps, 300 * RLT_US); /* 3 MB out */
    static const uint32_t fast[] = {0, 2};
    rlt_coll_request two = {.kind = RLT_ALL_REDUCE, .n = 2, .ranks = fast, .bytes = 4000000};
    assert_int_equal(bound_of(&s, &two).traffic_ps, 40 * RLT_US);
    assert_int_equal(bound_of(&s, &two).latency_ps, 3 * RLT_US);
    close_network(&s);
}

static void scales_and_rounding(void **state)
{
    (void)state;
    setting s;
    open_network(&s, "switch:2@3GB/s,500ns", 2);
    rlt_coll_request req = {.kind = RLT_ALL_GATHER, .n = 2, .bytes = 2};
    rlt_error err = {0};
    rlt_bound b = bound_of(&s, &req);
    assert_int_equal(b.traffic_ps, 333); /* 1000 / 3, down */
    req.bytes = 6000000;
    assert_int_equal(rlt_coll_bound(&req, s.router, 0.5, 3.0, &b, &err), 0);
    assert_in_range(b.traffic_ps, 2 * RLT_MS - 1, 2 * RLT_MS); /* never above */
    assert_int_equal(b.latency_ps, 3 * RLT_US);
    assert_int_equal(rlt_coll_bound(&req, s.router, 0.0, 1.0, &b, &err), RLT_ERANGE);
    uint32_t outside[] = {0, 2};
    req.ranks = outside;
    err.code = 0;
    assert_int_equal(rlt_coll_bound(&req, s.router, 1.0, 1.0, &b, &err), RLT_ERANGE);
    close_network(&s);
}

/* Large groups are not routed pair by pair: the fastest link is the lower bound. */
static void large_groups_use_the_fastest_link(void **state)
{
    (void)state;
    setting s;
    open_network(&s, "switch:16@50GB/s,700ns*switch:16@50GB/s,500ns", 256);
    rlt_coll_request req = {.kind = RLT_BARRIER, .n = 256};
    assert_int_equal(bound_of(&s, &req).time_ps, 500 * RLT_NS);
    close_network(&s);
}

/* The bytes that algorithms really send per member are never below the member's bound. */
static void algorithms_respect_it(void **state)
{
    (void)state;
    setting s;
    open_network(&s, "switch:5@1GB/s,0ns", 5); /* 1000 ps a byte: small sizes count */
    for (uint32_t i = 0; i < 7 * 40; i++) {
        rlt_coll_request req = {
            .kind = (rlt_coll_kind)(i % 7), .n = 5, .bytes = i / 7, .params = {.channels = 3, .chunks = 2}};
        const rlt_algorithm *algorithms[] = {&rlt_ring, &rlt_direct, &rlt_hierarchical};
        rlt_time bound = bound_of(&s, &req).time_ps;
        for (int a = 0; a < 3; a++) {
            rlt_plan plan;
            uint64_t most = 0, in[5] = {0};
            assert_int_equal(rlt_plan_create(algorithms[a], &req, &plan, NULL), 0);
            for (uint32_t m = 0; m < 5; m++) {
                uint64_t out = 0;
                for (uint32_t l = 0; l < plan.lanes; l++) {
                    for (uint32_t k = 0; k < plan.algorithm->steps(&plan, m, l); k++) {
                        rlt_step step;
                        rlt_step_clear(&step);
                        plan.algorithm->step(&plan, m, l, k, &step);
                        if (step.send_to == RLT_NONE)
                            continue;
                        out += step.send_bytes;
                        in[step.send_to] += step.send_bytes;
                    }
                }
                most = out > most ? out : most;
            }
            for (uint32_t m = 0; m < 5; m++)
                most = in[m] > most ? in[m] : most;
            if ((uint64_t)bound > most * 1000)
                fail_msg("%s %s of %u bytes: bound %lld ps, %llu bytes", plan.algorithm->name,
                         rlt_coll_name(req.kind), i / 7, (long long)bound, (unsigned long long)most);
            rlt_plan_free(&plan);
        }
    }
    close_network(&s);
}

/* Members 0 to 2 on one switch and 3 on another, at 100 GB/s each. The trunk carries 10 GB/s there, 5 GB/s back. */
static const char trunk[] =
    "{\"nodes\":[{\"id\":\"a\",\"kind\":\"switch\"},{\"id\":\"b\",\"kind\":\"switch\"},"
    "{\"id\":\"g\",\"count\":4,\"kind\":\"accelerator\"}],\"links\":["
    "{\"src\":\"g0\",\"dst\":\"a\",\"bandwidth\":\"100GB/s\",\"latency\":\"1us\"},"
    "{\"src\":\"g1\",\"dst\":\"a\",\"bandwidth\":\"100GB/s\",\"latency\":\"1us\"},"
    "{\"src\":\"g2\",\"dst\":\"a\",\"bandwidth\":\"100GB/s\",\"latency\":\"1us\"},"
    "{\"src\":\"g3\",\"dst\":\"b\",\"bandwidth\":\"100GB/s\",\"latency\":\"1us\"},"
    "{\"src\":\"a\",\"dst\":\"b\",\"bandwidth\":\"10GB/s\",\"latency\":\"1us\",\"duplex\":false},"
    "{\"src\":\"b\",\"dst\":\"a\",\"bandwidth\":\"5GB/s\",\"latency\":\"1us\",\"duplex\":false}]}";

/* 40 MB: 4 ms over the trunk, 8 ms back. A share of 10 MB: 1 ms, 2 ms back; of three members 3 and 6 ms. */
static void cuts_have_directions(void **state)
{
    static const struct {
        rlt_coll_kind kind;
        uint32_t root;
        rlt_time ms;
    } rows[] = {{RLT_ALL_REDUCE, 0, 8}, {RLT_ALL_GATHER, 0, 3}, {RLT_REDUCE_SCATTER, 0, 6},
                {RLT_ALL_TO_ALL, 0, 6}, {RLT_BROADCAST, 0, 4},  {RLT_BROADCAST, 3, 8},
                {RLT_REDUCE, 0, 8},     {RLT_REDUCE, 3, 4},     {RLT_GATHER, 0, 2},
                {RLT_GATHER, 3, 3},     {RLT_SCATTER, 0, 1},    {RLT_SCATTER, 3, 6},
                {RLT_BARRIER, 0, 0}};
    setting s;
    (void)state;
    open_network(&s, trunk, 4);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_coll_request req = {.kind = rows[i].kind, .n = 4, .root = rows[i].root, .bytes = 40000000};
        if (bound_of(&s, &req).cut_ps != rows[i].ms * RLT_MS)
            fail_msg("row %zu: %lld ps", i, (long long)bound_of(&s, &req).cut_ps);
        assert_int_equal(bound_of(&s, &req).latency_ps, 2 * RLT_US);
    }
    static const uint32_t there[] = {1, 3}, back[] = {3, 1}, near[] = {2, 1};
    rlt_coll_request pair = {.kind = RLT_SEND_RECV, .n = 2, .ranks = there, .bytes = 40000000};
    assert_int_equal(bound_of(&s, &pair).cut_ps, 4 * RLT_MS);
    assert_int_equal(bound_of(&s, &pair).latency_ps, 3 * RLT_US);
    assert_int_equal(bound_of(&s, &pair).traffic_ps, 400 * RLT_US);
    pair.ranks = back;
    assert_int_equal(bound_of(&s, &pair).cut_ps, 8 * RLT_MS);
    pair.ranks = near;
    assert_int_equal(bound_of(&s, &pair).cut_ps, 400 * RLT_US);
    /* counts have no cut */
    uint64_t shares[] = {10000000, 10000000, 10000000, 10000000};
    rlt_coll_request counted = {.kind = RLT_ALL_GATHER, .n = 4, .bytes = 40000000, .counts = shares};
    assert_int_equal(bound_of(&s, &counted).cut_ps, 0);
    close_network(&s);
}

/*
 * 64 nodes of 64 members, M = 4096 MB: 200 GB/s inside, 10 GB/s between nodes; too many links for cuts but those of
 * the product. P groups exchange 2 (P - 1) M or (P - 1) M. Over all 4096 members a byte a second of each is 1 us
 * for 4096 MB / 1 GB/s: M takes 1 ms at 1 GB/s of each. All-to-all between nodes: 63/64 of 4096 M.
 */
static void groups_of_products(void **state)
{
    static const struct {
        rlt_coll_kind kind;
        double cut_ms;
    } rows[] = {
        {RLT_ALL_REDUCE, 2 * 4095 / 210.0}, /* between members: 39 ms; between nodes: 2 * 63 / 10 = 12.6 ms */
        {RLT_ALL_GATHER, 4095 / 210.0},
        {RLT_BROADCAST, 4095 / 210.0},
        {RLT_REDUCE_SCATTER, 4095 / 210.0},
        {RLT_REDUCE, 4095 / 210.0},
        {RLT_ALL_TO_ALL, 4096 * 63 / 64 / 10.0},
        {RLT_GATHER, 0},
        {RLT_BARRIER, 0},
    };
    setting s;
    (void)state;
    open_network(&s, "switch:64@200GB/s,700ns*switch:64@10GB/s,500ns", 4096);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_coll_request req = {.kind = rows[i].kind, .n = 4096, .bytes = 4096000000};
        double ms = (double)bound_of(&s, &req).cut_ps / 1e9;
        if (ms > rows[i].cut_ms || ms < rows[i].cut_ms - 2e-9)
            fail_msg("row %zu: %.9g ms", i, ms);
        assert_int_equal(bound_of(&s, &req).latency_ps, 500 * RLT_NS);
    }
    rlt_coll_request part = {.kind = RLT_ALL_REDUCE, .n = 4095, .bytes = 4096000000};
    assert_int_equal(bound_of(&s, &part).cut_ps, 0);
    close_network(&s);
    /* Two groups over 1 GB/s: 2 M / 4096 GB/s decides. */
    open_network(&s, "switch:2048@200GB/s,700ns*switch:2@0.01GB/s,500ns", 4096);
    rlt_coll_request two = {.kind = RLT_ALL_REDUCE, .n = 4096, .bytes = 4096000000};
    assert_int_equal(bound_of(&s, &two).cut_ps, 200 * RLT_MS); /* members: 2 * 4095 / 200.01 = 40.9 ms */
    two.kind = RLT_ALL_TO_ALL;                                 /* half of 4096 M */
    assert_int_equal(bound_of(&s, &two).cut_ps, 4096 / 2 * 100 * RLT_MS);
    close_network(&s);
}

/* Sums and copies in the network: M once out of each group and into it, all-gathers M out of all, reductions M into
 * all. If switches do that inside nodes only, groups of whole nodes exchange 2 (P - 1) M as without it. */
static void verbs_save_bytes(void **state)
{
    static const struct {
        rlt_coll_kind kind;
        bool reduces, multicasts, inside;
        double cut_ms, traffic_ms;
    } rows[] = {
        /* between members: 4096 M out and in */
        {RLT_ALL_REDUCE, true, true, false, 4096 / 210.0, 4096 / 210.0},
        {RLT_ALL_REDUCE, true, false, false, 4096 / 210.0, 4096 / 210.0},
        {RLT_ALL_REDUCE, false, true, false, 4096 / 210.0, 4096 / 210.0},
        {RLT_ALL_GATHER, false, true, false, 4095 / 210.0, 4095 / 210.0},
        {RLT_REDUCE_SCATTER, true, false, false, 4095 / 210.0, 4095 / 210.0},
        {RLT_REDUCE, true, true, false, 4095 / 210.0, 4096 / 210.0},
        {RLT_BROADCAST, true, true, false, 4095 / 210.0, 4096 / 210.0},
        {RLT_ALL_REDUCE, true, true, true, 4096 / 210.0, 4096 / 210.0},
    };
    setting s;
    (void)state;
    open_network(&s, "switch:64@200GB/s,700ns*switch:64@10GB/s,500ns,nics=64", 4096);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_plan plan = {.req = {.kind = rows[i].kind, .n = 4096, .bytes = 4096000000},
                         .reduces = rows[i].reduces,
                         .multicasts = rows[i].multicasts,
                         .inside = rows[i].inside};
        rlt_bound b;
        assert_int_equal(rlt_plan_bound(&plan, s.router, 1, 1, &b, NULL), 0);
        double cut = (double)b.cut_ps / 1e9, traffic = (double)b.traffic_ps / 1e9;
        if (cut > rows[i].cut_ms || cut < rows[i].cut_ms - 2e-9 || traffic > rows[i].traffic_ms ||
            traffic < rows[i].traffic_ms - 2e-9)
            fail_msg("row %zu: %.9g ms, %.9g ms", i, cut, traffic);
    }
    close_network(&s);
    /* two nodes over 0.01 GB/s: 2 M / 40.96 GB/s with or without sums of their own: out of and into both */
    static const rlt_coll_kind kinds[] = {RLT_ALL_REDUCE, RLT_ALL_GATHER, RLT_REDUCE};
    static const struct {
        uint32_t members;
        bool inside;
        rlt_time ms[3];
    } nodes[] = {{3, true, {400, 200, 200}}, {3, false, {300, 200, 200}}};
    open_network(&s, "switch:1024@200GB/s,700ns*switch:3@0.01GB/s,500ns,nics=1024", 3072);
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; k < 3; k++) {
            rlt_plan plan = {.req = {.kind = kinds[k], .n = 3072, .bytes = 3072000000},
                             .reduces = true,
                             .multicasts = true,
                             .inside = nodes[i].inside};
            rlt_bound b;
            assert_int_equal(rlt_plan_bound(&plan, s.router, 1, 1, &b, NULL), 0);
            if (b.cut_ps != nodes[i].ms[k] * RLT_MS)
                fail_msg("row %zu, %zu: %lld ps", i, k, (long long)b.cut_ps);
        }
    }
    close_network(&s);
}

/* Halves by number and by coordinate: on a line of 8 at 10 GB/s a link, the middle carries 4 * 4 of 64 pieces. */
static void halves_of_members(void **state)
{
    setting s;
    (void)state;
    open_network(&s, "mesh:8@10GB/s,500ns", 8);
    rlt_coll_request req = {.kind = RLT_ALL_TO_ALL, .n = 8, .bytes = 8000000};
    rlt_link middle = rlt_topology_link(s.t, 0);
    /* 16 MB over one link */
    assert_int_equal(bound_of(&s, &req).cut_ps, 16000000 * (1000000000000 / (rlt_time)middle.bw_Bps));
    close_network(&s);
    /* 4 x 2: the halves of the outer dimension are those by number, that of the inner one is 0 1 4 5 */
    open_network(&s, "mesh:4x2@8GB/s,500ns", 8);
    middle = rlt_topology_link(s.t, 0);
    rlt_time byte_ps = 1000000000000 / (rlt_time)middle.bw_Bps;
    /* two rows: 4 * 4 pieces over two links of the long dimension, not over four of the short one */
    assert_int_equal(bound_of(&s, &req).cut_ps, 16000000 / 2 * byte_ps);
    close_network(&s);
}

/* Large numbers and scales never raise a bound, nor overflow. */
static void bounds_saturate(void **state)
{
    setting s;
    rlt_bound b;
    rlt_error err = {0};
    (void)state;
    open_network(&s, "switch:2@1B/s,500ns", 2);
    rlt_coll_request req = {.kind = RLT_ALL_REDUCE, .n = 2, .bytes = (uint64_t)1 << 48};
    assert_true(bound_of(&s, &req).traffic_ps == RLT_TIME_MAX);
    assert_int_equal(rlt_coll_bound(&req, s.router, 0.5, 1e18, &b, NULL), 0);
    assert_true(b.traffic_ps == RLT_TIME_MAX && b.latency_ps == RLT_TIME_MAX && b.time_ps == RLT_TIME_MAX);
    req.bytes = 1000;
    assert_int_equal(rlt_coll_bound(&req, s.router, 2.0, 0.5, &b, NULL), 0);
    assert_in_range(b.traffic_ps, (rlt_time)500e12 - 10, (rlt_time)500e12);
    assert_int_equal(b.latency_ps, 500 * RLT_NS);
    assert_int_equal(rlt_coll_bound(&req, s.router, 1.0, 0.0, &b, NULL), 0);
    assert_int_equal(b.latency_ps, 0);
    assert_int_equal(rlt_coll_bound(&req, s.router, 0.0, 1.0, &b, &err), RLT_ERANGE);
    assert_string_equal(err.where, "bound");
    assert_string_equal(err.what,
                        "expected a bandwidth scale above 0 and a latency scale of at least 0, got 0 and 1");
    assert_int_equal(rlt_coll_bound(&req, s.router, 1.0, -1.0, &b, NULL), RLT_ERANGE);
    static const uint32_t outside[] = {0, 2};
    req.ranks = outside;
    err = (rlt_error){0};
    assert_int_equal(rlt_coll_bound(&req, s.router, 1.0, 1.0, &b, &err), RLT_ERANGE);
    assert_string_equal(err.where, "all_reduce");
    assert_string_equal(err.what, "rank 2 does not exist; the placement has 2 ranks");
    close_network(&s);
}

/* Shares that differ by a byte: of 7 bytes over 4 members the first three have 2. At 1 GB/s a byte takes 1000 ps. */
static void uneven_shares(void **state)
{
    static const struct {
        rlt_coll_kind kind;
        uint32_t root;
        uint64_t bytes;
    } rows[] = {{RLT_REDUCE_SCATTER, 0, 6},                         /* the last sends all but 1 */
                {RLT_ALL_GATHER, 0, 6},     {RLT_ALL_TO_ALL, 0, 6}, /* 3 times 2 bytes in */
                {RLT_GATHER, 0, 5},         {RLT_GATHER, 3, 6},     {RLT_SCATTER, 2, 5}, {RLT_SCATTER, 3, 6},
                {RLT_BROADCAST, 2, 7},      {RLT_ALL_REDUCE, 0, 10}}; /* 2 * 3 * 7 / 4 = 10.5 */
    setting s;
    (void)state;
    open_network(&s, "switch:4@1GB/s,0ns", 4);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_coll_request req = {.kind = rows[i].kind, .n = 4, .root = rows[i].root, .bytes = 7};
        rlt_time ps = bound_of(&s, &req).traffic_ps;
        if (ps / 1000 != (rlt_time)rows[i].bytes)
            fail_msg("row %zu: %lld ps", i, (long long)ps);
        static const uint32_t listed[] = {0, 1, 2, 3}; /* counted one by one */
        req.ranks = listed;
        assert_int_equal(bound_of(&s, &req).traffic_ps, ps);
    }
    close_network(&s);
}

/*
 * The traffic bound from what a collective is: a piece of data has holders, whose contributions are added up, and
 * takers. A member sends what others need of it, and receives what it takes and others hold. Together, h holders and
 * t takers of a piece exchange h - 1 + t copies, one less if a taker holds.
 */
typedef struct piece {
    uint64_t bytes;
    uint32_t holders, takers; /* one bit a member */
} piece;

enum { STAR = 7, ALL_PIECES = STAR * STAR };

static uint32_t pieces_of(const rlt_coll_request *req, piece *out)
{
    uint32_t n = req->n, count = 0, all = (1u << n) - 1, root = 1u << req->root;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < (req->kind == RLT_ALL_TO_ALL ? n : 1); j++) {
            piece p = {rlt_part_size(req->bytes, n, i), 1u << i, 1u << i};
            bool added =
                req->kind == RLT_ALL_REDUCE || req->kind == RLT_REDUCE || req->kind == RLT_REDUCE_SCATTER;
            if (req->counts)
                p.bytes = req->counts[req->kind == RLT_ALL_TO_ALL ? i * n + j : i];
            else if (req->kind == RLT_ALL_TO_ALL)
                p.bytes = rlt_part_size(req->bytes, n, j);
            if (added)
                p.holders = all;
            if (req->kind == RLT_ALL_REDUCE || req->kind == RLT_ALL_GATHER || req->kind == RLT_BROADCAST)
                p.takers = all;
            if (req->kind == RLT_BROADCAST || req->kind == RLT_SCATTER)
                p.holders = root;
            if (req->kind == RLT_REDUCE || req->kind == RLT_GATHER)
                p.takers = root;
            if (req->kind == RLT_ALL_TO_ALL)
                p.takers = 1u << j;
            if (req->kind == RLT_SEND_RECV) {
                p.holders = 1;
                p.takers = 2;
            }
            out[count++] = p;
        }
    return req->kind == RLT_BARRIER ? 0 : count;
}

/* Bytes a second of member m to its switch (0) and back (1), by the rank that it is. */
static rlt_time derived(const rlt_plan *plan, uint64_t Bps[STAR][2])
{
    const rlt_coll_request *req = &plan->req;
    piece pieces[ALL_PIECES];
    uint32_t n = pieces_of(req, pieces);
    unsigned __int128 ps = 1000000000000u, total = 0, sum[2] = {0, 0}, most = 0, whole = req->bytes;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t copies =
            (uint32_t)(__builtin_popcount(pieces[k].holders) - 1 + __builtin_popcount(pieces[k].takers));
        total +=
            (unsigned __int128)pieces[k].bytes * (copies - ((pieces[k].holders & pieces[k].takers) != 0));
    }
    for (uint32_t m = 0; m < req->n; m++) {
        const uint64_t *bw = Bps[req->ranks[m]];
        unsigned __int128 way[2] = {0, 0};
        for (uint32_t k = 0; k < n; k++) {
            bool holds = pieces[k].holders >> m & 1, takes = pieces[k].takers >> m & 1;
            way[0] += holds && (pieces[k].takers & ~(1u << m)) ? pieces[k].bytes : 0;
            way[1] += takes && (pieces[k].holders & ~(1u << m)) ? pieces[k].bytes : 0;
        }
        for (uint32_t w = 0; w < 2; w++) {
            sum[w] += bw[w];
            most = way[w] * ps / bw[w] > most ? way[w] * ps / bw[w] : most;
        }
    }
    bool copied = req->kind == RLT_ALL_GATHER || req->kind == RLT_BROADCAST;
    bool added = req->kind == RLT_REDUCE_SCATTER || req->kind == RLT_REDUCE;
    for (uint32_t w = 0; w < 2; w++) {
        unsigned __int128 all = total; /* a copy leaves once, a sum enters once */
        if ((w == 0 && copied && plan->multicasts) || (w == 1 && added && plan->reduces))
            all = whole;
        if (req->kind == RLT_ALL_REDUCE && (plan->multicasts || plan->reduces))
            all = whole * req->n;
        most = all * ps / sum[w] > most ? all * ps / sum[w] : most;
    }
    return (rlt_time)most;
}

static void random_star(dice *d, setting *s, uint64_t Bps[STAR][2])
{
    char text[STAR * 300 + 200];
    bool alike = below(d, 2); /* but for the direction: sums decide */
    uint64_t base[2] = {1000000000 + roll(d, 9000000000), 1000000000 + roll(d, 9000000000)};
    int used = snprintf(text, sizeof text,
                        "{\"nodes\":[{\"id\":\"s\",\"kind\":\"switch\"},{\"id\":\"g\",\"count\":%d,"
                        "\"kind\":\"accelerator\"}],\"links\":[",
                        STAR);
    for (uint32_t m = 0; m < STAR; m++)
        for (uint32_t w = 0; w < 2; w++) {
            Bps[m][w] = alike ? base[w] + roll(d, 1000000) : 1000000000 + roll(d, 9000000000);
            used += snprintf(
                text + used, sizeof text - (size_t)used,
                w ? "%s{\"src\":\"s\",\"dst\":\"g%u\",\"bandwidth\":\"%lluB/s\",\"latency\":\"1us\",\"duplex\":false}"
                  : "%s{\"src\":\"g%u\",\"dst\":\"s\",\"bandwidth\":\"%lluB/s\",\"latency\":\"1us\",\"duplex\":false}",
                m || w ? "," : "", m, (unsigned long long)Bps[m][w]);
        }
    snprintf(text + used, sizeof text - (size_t)used, "]}");
    open_network(s, text, STAR);
}

static void traffic_is_what_the_collective_needs(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        dice d = {.seed = seed};
        setting s;
        uint64_t Bps[STAR][2], counts[ALL_PIECES];
        uint32_t ranks[STAR] = {0, 1, 2, 3, 4, 5, 6};
        random_star(&d, &s, Bps);
        for (uint32_t m = STAR - 1; m > 0; m--) { /* shuffled */
            uint32_t other = below(&d, m + 1), rank = ranks[m];
            ranks[m] = ranks[other];
            ranks[other] = rank;
        }
        for (int kind = 0; kind < RLT_COLL_KINDS; kind++) {
            rlt_coll_request req = {
                .kind = (rlt_coll_kind)kind, .n = 2 + below(&d, STAR - 1), .ranks = ranks};
            req.root = below(&d, req.n);
            bool each = kind == RLT_ALL_GATHER || kind == RLT_REDUCE_SCATTER || kind == RLT_GATHER ||
                        kind == RLT_SCATTER;
            req.bytes = roll(&d, 10000000);
            if ((each || kind == RLT_ALL_TO_ALL) && below(&d, 2)) {
                req.counts = counts;
                req.bytes = 0;
                for (uint32_t i = 0; i < (each ? req.n : req.n * req.n); i++)
                    req.bytes += counts[i] = below(&d, 3) ? roll(&d, 5000000) : 0;
            }
            rlt_plan plan = {.req = req, .reduces = below(&d, 2), .multicasts = below(&d, 2)};
            rlt_bound b;
            assert_int_equal(rlt_plan_bound(&plan, s.router, 1, 1, &b, NULL), 0);
            rlt_time want = derived(&plan, Bps), got = b.traffic_ps;
            if (got != want)
                fail_msg("case %llu, %s of %u: %lld ps instead of %lld ps", (unsigned long long)seed,
                         rlt_coll_name(req.kind), req.n, (long long)got, (long long)want);
        }
        close_network(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_by_hand),         cmocka_unit_test(dimensions_add_up),
        cmocka_unit_test(counts_by_hand),        cmocka_unit_test(slow_members_decide),
        cmocka_unit_test(scales_and_rounding),   cmocka_unit_test(large_groups_use_the_fastest_link),
        cmocka_unit_test(algorithms_respect_it), cmocka_unit_test(cuts_have_directions),
        cmocka_unit_test(groups_of_products),    cmocka_unit_test(verbs_save_bytes),
        cmocka_unit_test(halves_of_members),     cmocka_unit_test(bounds_saturate),
        cmocka_unit_test(uneven_shares),         cmocka_unit_test(traffic_is_what_the_collective_needs),
    };
    return cmocka_run_group_tests_name("bound", tests, NULL, NULL);
}
