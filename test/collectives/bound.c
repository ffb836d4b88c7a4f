/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lower bounds worked out by hand: bytes that must cross divided by the bandwidth, and the smallest
 * latency. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_by_hand),         cmocka_unit_test(dimensions_add_up),
        cmocka_unit_test(counts_by_hand),        cmocka_unit_test(slow_members_decide),
        cmocka_unit_test(scales_and_rounding),   cmocka_unit_test(large_groups_use_the_fastest_link),
        cmocka_unit_test(algorithms_respect_it),
    };
    return cmocka_run_group_tests_name("bound", tests, NULL, NULL);
}
