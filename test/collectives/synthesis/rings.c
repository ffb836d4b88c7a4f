/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rings searched in the network: along its links, the bandwidth they reach, and plans along cycles found. */
#include <stdio.h>

#include "collectives/algorithm.h"
#include "collectives/check/checker.h"
#include "collectives/check/cycles.h"
#include "collectives/collective.h"
#include "collectives/plan.h"
#include "net/network.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"

enum { MOST = 256 };
static uint8_t capacity[MOST * MOST], left[MOST * MOST];
static uint32_t orders[MOST * MOST];

static rlt_coll_request open_group(test_group *s, const char *text, rlt_coll_kind kind, uint64_t bytes)
{
    test_group_open(s, text, 0);
    return rlt_group_request(&s->g, kind, bytes);
}

/* Lanes that send from u to v are at most the direct links from u to v. Also checks the number of lanes. */
static void lanes_follow_links(void **state)
{
    (void)state;
    static const struct {
        const char *topology;
        uint32_t lanes;
    } cases[] = {{"dgx1-v100-8", 6}, /* as many as its file recommends */
                 {"torus:4x4@200GB/s,1us", 4},
                 {"tpu-v4-4x4x4", 6},
                 {"fully-connected:8@350GB/s,1us", 6},
                 {"fully-connected:9@400GB/s,1us", 8},
                 {"ring:6@50GB/s,1us", 2},
                 {"mesh:4x3@200GB/s,1us", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        test_group s;
        rlt_plan plan;
        rlt_coll_request req = open_group(&s, cases[i].topology, RLT_ALL_REDUCE, 1000000);
        uint32_t n = req.n;
        assert_int_equal(rlt_plan_create(&rlt_rings, &req, &plan, NULL), 0);
        assert_int_equal(plan.lanes, cases[i].lanes);
        assert_int_equal(plan.channels, cases[i].lanes);
        memset(left, 0, (size_t)n * n);
        for (uint32_t l = 0; l < rlt_topology_links(s.t); l++) {
            rlt_link link = rlt_topology_link(s.t, l);
            left[link.src * n + link.dst]++;
        }
        for (uint32_t m = 0; m < n; m++) {
            for (uint32_t lane = 0; lane < plan.lanes; lane++) {
                rlt_step step;
                rlt_step_clear(&step);
                plan.algorithm->step(&plan, m, lane, 0, &step);
                assert_true(left[m * n + step.send_to] > 0);
                left[m * n + step.send_to]--;
            }
        }
        rlt_plan_free(&plan);
        test_group_close(&s);
    }
}

/* All four are linked, three pairs twice as well: the closed form of complete graphs has one cycle, the network two. */
#define ONCE  "\"bandwidth\":\"50GB/s\",\"latency\":\"500ns\"}"
#define TWICE "\"bandwidth\":\"100GB/s\",\"latency\":\"500ns\"}"
static const char four[] =
    "{\"nodes\":[{\"id\":\"g\",\"count\":4,\"kind\":\"accelerator\"}],\"links\":["
    "{\"src\":\"g0\",\"dst\":\"g1\"," ONCE ",{\"src\":\"g0\",\"dst\":\"g2\"," ONCE
    ",{\"src\":\"g0\",\"dst\":\"g3\"," TWICE ",{\"src\":\"g1\",\"dst\":\"g2\"," TWICE
    ",{\"src\":\"g1\",\"dst\":\"g3\"," ONCE ",{\"src\":\"g2\",\"dst\":\"g3\"," TWICE "]}";

/* k rings over links of 50 GB/s: 2(n-1) steps of a piece M/(kn). Eight fully connected members use six of the
 * seven links of each; seven members use all six. */
static void bandwidth_in_closed_form(void **state)
{
    (void)state;
    static const struct {
        const char *topology;
        uint64_t bytes;
        rlt_time time_ps;
    } cases[] = {
        {"fully-connected:8@350GB/s,500ns", 48000000, 14 * (20 * RLT_US + 500 * RLT_NS)},
        {"fully-connected:7@300GB/s,500ns", 42000000, 12 * (20 * RLT_US + 500 * RLT_NS)},
        {"torus:4x4@200GB/s,500ns", 64000000, 30 * (20 * RLT_US + 500 * RLT_NS)},
        {"torus:3x3x3@300GB/s,500ns", 162000000, 52 * (20 * RLT_US + 500 * RLT_NS)},
        {"ring:5@100GB/s,500ns", 10000000, 8 * (20 * RLT_US + 500 * RLT_NS)},
        {four, 16000000, 6 * (20 * RLT_US + 500 * RLT_NS)},
        {"switch:5@50GB/s,500ns", 5000000, 8 * (20 * RLT_US + RLT_US)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        test_net net = {.topology = cases[i].topology, .model = &rlt_net_flow, .algorithm = "rings"};
        assert_int_equal(test_collective(&net, RLT_ALL_REDUCE, cases[i].bytes, NULL).time_ps,
                         cases[i].time_ps);
    }
    /* The rings found in the cube mesh are as good as those that its file recommends. */
    test_net dgx = {.topology = "dgx1-v100-8", .model = &rlt_net_flow, .algorithm = "ring"};
    rlt_time recommended = test_collective(&dgx, RLT_ALL_REDUCE, 256u << 20, NULL).time_ps;
    dgx.algorithm = "rings";
    rlt_time found = test_collective(&dgx, RLT_ALL_REDUCE, 256u << 20, NULL).time_ps;
    assert_true(found <= recommended + recommended / 50);
}

static void plans_are_proven(void **state)
{
    (void)state;
    static const char *const networks[] = {"torus:3x4@200GB/s,1us", "dgx1-v100-8", "switch:5@50GB/s,1us",
                                           "ring:2@50GB/s,1us", "fully-connected:6@50GB/s,1us"};
    for (size_t w = 0; w < sizeof networks / sizeof networks[0]; w++) {
        for (uint32_t k = 0; k < RLT_COLL_KINDS; k++) {
            test_group s;
            rlt_plan plan;
            rlt_error err = {0};
            rlt_coll_request req = open_group(&s, networks[w], (rlt_coll_kind)k, 100003);
            req.root = 1;
            if (rlt_rings.kinds >> k & 1) {
                if (rlt_plan_create(&rlt_rings, &req, &plan, &err) < 0 || rlt_plan_check(&plan, &err) < 0)
                    fail_msg("%s %s: %s: %s", networks[w], rlt_coll_name(req.kind), err.where, err.what);
                rlt_plan_free(&plan);
            }
            test_group_close(&s);
        }
    }
}

static void same_plans(const rlt_plan *a, const rlt_plan *b)
{
    assert_true(a->lanes == b->lanes && a->blocks == b->blocks && a->buffers == b->buffers);
    assert_true(a->result == b->result && a->shared == b->shared && a->chunks == b->chunks);
    assert_true(a->channels == b->channels && a->directions == b->directions);
    for (uint32_t m = 0; m < a->req.n; m++)
        for (uint32_t lane = 0; lane < a->lanes; lane++) {
            uint32_t steps = a->algorithm->steps(a, m, lane);
            assert_int_equal(steps, b->algorithm->steps(b, m, lane));
            for (uint32_t k = 0; k < steps; k++) {
                rlt_step x, y;
                rlt_step_clear(&x);
                rlt_step_clear(&y);
                a->algorithm->step(a, m, lane, k, &x);
                b->algorithm->step(b, m, lane, k, &y);
                assert_memory_equal(&x, &y, sizeof x);
            }
        }
}

/* Bandwidth of the direct links between two members; the slower direction counts. */
static uint64_t between(const test_group *s, const rlt_group *g, uint32_t a, uint32_t b)
{
    uint64_t there = 0, back = 0;
    uint32_t u = g->ranks ? g->ranks[a] : a, v = g->ranks ? g->ranks[b] : b;
    for (uint32_t i = 0; i < rlt_topology_links(s->t); i++) {
        rlt_link l = rlt_topology_link(s->t, i);
        there += l.src == u && l.dst == v ? l.bw_Bps : 0;
        back += l.src == v && l.dst == u ? l.bw_Bps : 0;
    }
    return there < back ? there : back;
}

/* Puts cycles, there and back, in place of a request's rings. Returns the code of the search. */
static int take_cycles(const test_group *s, const rlt_group *g, rlt_coll_request *req,
                       const uint32_t *rings[2 * MOST])
{
    static uint32_t backwards[MOST * MOST];
    uint32_t n = g->n, found = 0;
    uint64_t unit = UINT64_MAX;
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < n; b++)
            if (between(s, g, a, b) && between(s, g, a, b) < unit)
                unit = between(s, g, a, b);
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < n; b++) {
            uint64_t share = between(s, g, a, b) / unit;
            capacity[a * n + b] = (uint8_t)(share < 15 ? share : 15);
        }
    if (unit == UINT64_MAX)
        return 0;
    req->n_rings = 0;
    if (n == 2)
        return 0;
    assert_int_equal(rlt_cycles_find(n, capacity, n, orders, &found, NULL), 0);
    for (uint32_t c = 0; c < found; c++) {
        rings[c] = orders + c * n;
        rings[found + c] = backwards + c * n;
        for (uint32_t i = 0; i < n; i++)
            backwards[c * n + n - 1 - i] = orders[c * n + i];
    }
    req->n_rings = 2 * found;
    req->rings = rings;
    return found ? 0 : RLT_ETOPOLOGY;
}

/* The plan is that of "ring" along the cycles of the members' links, counted in the slowest pair's bandwidth. Random
 * groups and bandwidths. */
static void rings_along_cycles(void **state)
{
    static const char *const networks[] = {"fully-connected:6@50GB/s,1us",
                                           "torus:3x4@200GB/s,1us",
                                           "dgx1-v100-8",
                                           "ring:5@50GB/s,1us",
                                           "switch:5@50GB/s,1us",
                                           "mesh:2x3@30GB/s,1us",
                                           "ring:3@9GB/s,1us*ring:3@4GB/s,1us"};
    static const double factors[] = {0.5, 2, 3.5, 20, 1};
    static const rlt_coll_kind kinds[] = {RLT_ALL_REDUCE, RLT_ALL_GATHER, RLT_BROADCAST};
    dice k = {.seed = 71};
    uint32_t along = 0;
    (void)state;
    for (uint32_t i = 0; i < 175; i++) {
        const uint32_t *rings[2 * MOST];
        uint32_t ranks[16];
        test_group s;
        rlt_group g;
        rlt_plan a, b;
        test_group_open(&s, networks[i % 7], 0);
        uint32_t all = s.g.n, n = below(&k, 3) ? all : 2 + below(&k, all - 1);
        for (uint32_t c = below(&k, 4); c > 0; c--) {
            char which[24];
            snprintf(which, sizeof which, "%u", below(&k, rlt_topology_links(s.t)));
            assert_int_equal(rlt_topology_scale_links(s.t, which, factors[below(&k, 5)], NULL), 0);
        }
        for (uint32_t m = 0; m < all; m++)
            ranks[m] = m;
        for (uint32_t m = all; m > 1 && i % 2; m--) {
            uint32_t j = below(&k, m), was = ranks[j];
            ranks[j] = ranks[m - 1];
            ranks[m - 1] = was;
        }
        assert_int_equal(rlt_group_create(s.t, &s.p, ranks, n, &g, NULL), 0);
        rlt_coll_request req = rlt_group_request(&g, kinds[below(&k, 3)], roll(&k, 1000000));
        int rc = rlt_plan_create(&rlt_rings, &req, &a, NULL);
        assert_int_equal(rc, take_cycles(&s, &g, &req, rings));
        along += req.n_rings > 0;
        if (rc == 0) {
            assert_int_equal(rlt_plan_create(&rlt_ring, &req, &b, NULL), 0);
            same_plans(&a, &b);
            rlt_plan_free(&a);
            rlt_plan_free(&b);
        }
        rlt_group_free(&g);
        test_group_close(&s);
    }
    assert_true(along > 40);
}

static void refusals(void **state)
{
    (void)state;
    static const struct {
        const char *topology;
        int code;
    } cases[] = {{"ring:4@200GB/s,1us*switch:4@50GB/s,1us", RLT_ETOPOLOGY},
                 {"mesh:3x3@50GB/s,1us", RLT_ETOPOLOGY},
                 {"ring:256@50GB/s,1us", 0},
                 {"ring:257@50GB/s,1us", RLT_EUNSUPPORTED}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        test_group s;
        rlt_plan plan;
        rlt_coll_request req = open_group(&s, cases[i].topology, RLT_ALL_REDUCE, 1000);
        assert_int_equal(rlt_plan_create(&rlt_rings, &req, &plan, NULL), cases[i].code);
        if (cases[i].code == 0)
            rlt_plan_free(&plan);
        req.topology = NULL;
        assert_int_equal(rlt_plan_create(&rlt_rings, &req, &plan, NULL), RLT_EUNSUPPORTED);
        test_group_close(&s);
    }
}

/* Six rings that share a double NVLink take one link each: 14 steps of M/48 at 25 GB/s a link. The protocol's
 * overhead per step does not depend on the size. */
static void parallel_links_in_turn(void **state)
{
    (void)state;
    test_net net = {.topology = "dgx1-v100-8", .algorithm = "ring"};
    for (int flow = 0; flow < 2; flow++) {
        net.model = flow ? &rlt_net_flow : &rlt_net_alpha_beta;
        uint64_t bytes = (uint64_t)48 << 20;
        test_run one = test_collective(&net, RLT_ALL_REDUCE, bytes, NULL),
                 two = test_collective(&net, RLT_ALL_REDUCE, 2 * bytes, NULL);
        assert_int_equal(two.time_ps - one.time_ps, 14 * (rlt_time)(bytes / 48) * 40);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_follow_links), cmocka_unit_test(bandwidth_in_closed_form),
        cmocka_unit_test(plans_are_proven),   cmocka_unit_test(rings_along_cycles),
        cmocka_unit_test(refusals),           cmocka_unit_test(parallel_links_in_turn),
    };
    return cmocka_run_group_tests_name("rings", tests, NULL, NULL);
}
