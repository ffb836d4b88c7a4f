/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Synthesised collectives: published times, proofs by the symbolic checker, and runs that take the
 * synthesised time. */
#include "collectives/synthesis/tacos.h"
#include "collectives/algorithm.h"
#include "collectives/check/checker.h"
#include "collectives/collective.h"
#include "collectives/plan.h"
#include "net/endpoint/endpoint.h"
#include "net/network.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/support.h"

/* Published times of an all-gather (tests of the authors' program, tolerance 1 %). A link serves one transfer
 * until it has arrived: `blocking`. Each is also the lower bound of a corner, or of any member of a torus. With
 * equal links: on the mesh of 5 x 5, 24 chunks come over two links, so 12 x (chunk/B + 0.5 us). With links of
 * 50 and 75 GiB/s: 10 and 14 chunks, so 10 x (chunk/B + 0.5 us). A pipelined link (`nic`) only saves
 * the latencies of these transfers. */
static const struct published {
    const char *topology;
    uint64_t gib;
    uint32_t chunks;
    double us, latencies_us;
} published[] = {
    {"mesh:5x5@200GiB/s,0.5us", 1, 1, 9606.00, 6},
    {"mesh:10x10@400GiB/s,1us", 1, 2, 5049.00, 99},
    {"mesh:7x12@400GiB/s,1us", 4, 3, 19966.27, 125},
    {"torus:3x3x3@300GiB/s,0.5us", 1, 1, 3706.20, 2.5},
    {"torus:3x4x5@300GiB/s,0.5us", 2, 2, 6676.67, 10},
    {"ring:4@100GiB/s,0.5us*ring:2@100GiB/s,0.5us*ring:3@100GiB/s,0.5us", 3, 3, 11673.67, 7},
    {"mesh:3x3x3@300GiB/s,0.5us", 1, 1, 6671.17, 4.5},
    {"mesh:3x4x5@300GiB/s,0.5us", 2, 2, 13353.33, 20},
    {"mesh:4@100GiB/s,0.5us*mesh:2@100GiB/s,0.5us*mesh:3@100GiB/s,0.5us", 3, 3, 19178.17, 11.5},
    {"mesh:5@100GiB/s,0.5us*mesh:5@150GiB/s,0.5us", 1, 1, 8005.00, 5},
    {"mesh:8@160GiB/s,1us*mesh:5@70GiB/s,1us", 1, 2, 8595.43, 24},
    {"mesh:7@32GiB/s,1.5us*mesh:10@146GiB/s,1.5us", 4, 3, 44612.47, 255},
};

static void published_times(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        const struct published *p = &published[i];
        test_net net = {.topology = p->topology,
                        .model = &rlt_net_flow,
                        .injection = RLT_INJECT_BLOCKING,
                        .algorithm = "tacos",
                        .chunks = p->chunks};
        double us = (double)test_collective(&net, RLT_ALL_GATHER, p->gib << 30, NULL).time_ps / RLT_US;
        if (us < p->us - 0.01 || us > p->us + 0.01)
            fail_msg("%s: %f us, published %f", p->topology, us, p->us);
        net.injection = RLT_INJECT_NIC;
        double nic = (double)test_collective(&net, RLT_ALL_GATHER, p->gib << 30, NULL).time_ps / RLT_US;
        if (nic > us || nic < us - p->latencies_us)
            fail_msg("%s, nic: %f us", p->topology, nic);
    }
}

static const rlt_coll_kind kinds[] = {RLT_ALL_GATHER, RLT_REDUCE_SCATTER, RLT_ALL_REDUCE, RLT_BROADCAST,
                                      RLT_REDUCE};
static const char *const networks[] = {
    "mesh:3x4@80GB/s,1us",
    "torus:3x3@40GB/s,1us",
    "torus:2x3x2@60GB/s,0ns",
    "mesh:3x2x2@60GB/s,1us",
    "ring:5@10GB/s,2us",
    "fully-connected:5@40GB/s,300ns",
    "switch:6@50GB/s,500ns",
    "ring:4@200GB/s,1us*switch:3@50GB/s,500ns",
    "mesh:3@6GB/s,1us*ring:3@1GB/s,2us",
    "fat-tree:8@50GB/s,500ns",
    "dgx1-v100-8",
};
enum { NETWORKS = sizeof networks / sizeof networks[0] };

/* Every kind on every network, with roots, several chunks, and sizes that do not divide evenly. */
static void plans_are_proven(void **state)
{
    (void)state;
    for (size_t w = 0; w < NETWORKS; w++) {
        test_group s;
        test_group_open(&s, networks[w], 0);
        for (uint32_t i = 0; i < 5 * 3; i++) {
            rlt_coll_request req = rlt_group_request(&s.g, kinds[i / 3], i % 3 == 0 ? 1 : 1000003);
            rlt_plan plan;
            rlt_error err = {0};
            req.params.chunks = i % 3 == 2 ? 3 : 0;
            req.root = (i / 3 + 1) % req.n;
            if (rlt_plan_create(&rlt_tacos, &req, &plan, &err) < 0 || rlt_plan_check(&plan, &err) < 0)
                fail_msg("%s %s: %s: %s", networks[w], rlt_coll_name(req.kind), err.where, err.what);
            rlt_plan_free(&plan);
        }
        test_group_close(&s);
    }
}

/* A run under either model takes the synthesised time, up to a picosecond of rounding per message of a chain.
 * An all-reduce takes at most that, since its second half may begin before the first is over. If a link
 * inside a network is wider than a transfer, alpha-beta and flow agree as well. */
static void runs_take_what_was_synthesised(void **state)
{
    (void)state;
    for (size_t w = 0; w < NETWORKS; w++) {
        test_group s;
        test_group_open(&s, networks[w], 0);
        for (uint32_t i = 0; i < 5 * 2; i++) {
            rlt_coll_request req = rlt_group_request(&s.g, kinds[i / 2], 1000000);
            rlt_plan plan;
            assert_int_equal(rlt_plan_create(&rlt_tacos, &req, &plan, NULL), 0);
            /* includes costs of whole collectives, which the synthesis does not know */
            bool tuned = plan.tuning.on;
            rlt_time said = rlt_tacos_time(&plan) + rlt_topology_endpoint(s.t)->launch_ps,
                     slack = 2 * (rlt_time)plan.blocks * req.n;
            rlt_plan_free(&plan);
            test_net net = {.topology = networks[w],
                            .model = i % 2 ? &rlt_net_flow : &rlt_net_alpha_beta,
                            .algorithm = "tacos",
                            .injection = rlt_topology_endpoint(s.t)->injection};
            rlt_time ran = test_collective(&net, req.kind, req.bytes, NULL).time_ps;
            if (!tuned && (ran > said + slack || (req.kind != RLT_ALL_REDUCE && ran < said - slack)))
                fail_msg("%s %s: ran %lld ps, synthesised %lld", networks[w], rlt_coll_name(req.kind),
                         (long long)ran, (long long)said);
        }
        test_group_close(&s);
    }
}

/* Serialisation alone: a ring with two links each way in, and 2 chunks of each of 7 others, take 7 chunk
 * times in any order. The greedy order may waste a few at most. Between a fast and a slow dimension, a
 * schedule beats a single ring, which carries everything over the slow links of one member. */
static void chunks_and_uneven_links(void **state)
{
    (void)state;
    test_net ring = {
        .topology = "ring:8@20GB/s,1ns", .model = &rlt_net_flow, .algorithm = "tacos", .chunks = 2};
    rlt_time t = test_collective(&ring, RLT_ALL_GATHER, 16000000, NULL).time_ps; /* 1 MB at 10 GB/s: 100 us */
    assert_in_range(t, 700 * RLT_US, 850 * RLT_US);
    test_net two = {.topology = "ring:4@200GB/s,500ns*switch:8@50GB/s,500ns", .model = &rlt_net_flow};
    two.algorithm = "ring";
    two.channels = 1;
    rlt_time natural = test_collective(&two, RLT_ALL_GATHER, 64u << 20, NULL).time_ps;
    two.algorithm = "tacos";
    two.channels = 0;
    assert_true(2 * test_collective(&two, RLT_ALL_GATHER, 64u << 20, NULL).time_ps < natural);
}

/* Shares of 1, 2 and 3 MB on a ring of three, each sent directly to both others: the longest decides. */
static void counted_shares(void **state)
{
    (void)state;
    static const uint64_t counts[] = {1000000, 2000000, 3000000};
    test_net net = {.topology = "ring:3@20GB/s,1us", .model = &rlt_net_flow, .algorithm = "tacos"};
    assert_int_equal(test_collective(&net, RLT_ALL_GATHER, 6000000, counts).time_ps, 301 * RLT_US);
    assert_int_equal(test_collective(&net, RLT_REDUCE_SCATTER, 6000000, counts).time_ps, 301 * RLT_US);
}

/* The synthesis counts the costs in force, not those of the topology: 100 us for 1 MB, 1 us of latency, and here
 * 5 us per message. */
static void costs_in_force(void **state)
{
    (void)state;
    test_group s;
    rlt_plan plan;
    test_group_open(&s, "ring:3@20GB/s,1us", 0);
    rlt_endpoint e = *rlt_topology_endpoint(s.t);
    e.message_ps = 5 * RLT_US;
    rlt_coll_request req = rlt_group_request(&s.g, RLT_ALL_GATHER, 3000000);
    req.endpoint = &e;
    assert_int_equal(rlt_plan_create(&rlt_tacos, &req, &plan, NULL), 0);
    assert_int_equal(rlt_tacos_time(&plan), 106 * RLT_US);
    rlt_plan_free(&plan);
    test_group_close(&s);
}

/* Two chunks over one link: 100 ns each and 1 us of latency. The edge is tried three times, at 0, 100 and
 * 200 ns; twice it asks one word for chunks, and the rule RAREST (odd restarts) looks at both chunks, then
 * at the other one: 5, or 8. Either chunk may be the first. */
static void tries_of_one_link(void **state)
{
    (void)state;
    static const uint32_t restarts[][2] = {{1, 5}, {2, 5 + 8}, {17, 9 * 5 + 8 * 8}};
    rlt_tacos_edge edge = {.src = 0, .dst = 1, .hops = 1, .bw_Bps = 10000000000, .latency_ps = RLT_US};
    uint32_t zero = 0, users[] = {0, 1}, out[] = {0, 1, 1}, in[] = {0, 0, 1}, owner[] = {0, 0},
             first[2] = {0};
    uint64_t bytes[] = {1000, 1000};
    rlt_endpoint endpoint = {.injection = RLT_INJECT_NIC};
    rlt_tacos_net net = {.n = 2,
                         .n_edges = 1,
                         .n_links = 1,
                         .n_path = 1,
                         .edges = &edge,
                         .path = &zero,
                         .link_Bps = &edge.bw_Bps,
                         .user_first = users,
                         .user = &zero,
                         .out_first = out,
                         .out = &zero,
                         .in_first = in,
                         .in = &zero};
    rlt_tacos_job job = {.net = &net, .chunks = 2, .owner = owner, .bytes = bytes, .endpoint = &endpoint};
    for (; job.seed < 20; job.seed++)
        for (size_t i = 0; i < sizeof restarts / sizeof *restarts; i++) {
            rlt_tacos_send sends[2];
            rlt_time time_ps = 0;
            uint64_t tried = 0;
            job.restarts = restarts[i][0];
            assert_int_equal(rlt_tacos_match(&job, sends, &time_ps, &tried, NULL), 0);
            assert_int_equal(time_ps, 1200000);
            assert_int_equal(tried, restarts[i][1]);
            assert_int_equal(sends[0].start_ps, 0);
            assert_int_equal(sends[0].end_ps, 1100000);
            assert_int_equal(sends[1].start_ps, 100000);
            assert_int_equal(sends[0].chunk + sends[1].chunk, 1);
            first[sends[0].chunk]++;
        }
    assert_true(first[0] > 10 && first[1] > 10);
}

static int plan_steps(const rlt_coll_request *req, rlt_step *steps, uint32_t room, uint32_t *n)
{
    rlt_plan plan;
    int rc = rlt_plan_create(&rlt_tacos, req, &plan, NULL);
    *n = 0;
    for (uint32_t m = 0; rc == 0 && m < req->n; m++)
        for (uint32_t l = 0; l < plan.lanes; l++)
            for (uint32_t k = 0; k < plan.algorithm->steps(&plan, m, l) && *n < room; k++) {
                rlt_step_clear(&steps[*n]);
                plan.algorithm->step(&plan, m, l, k, &steps[(*n)++]);
            }
    rlt_plan_free(&plan);
    return rc;
}

static void same_request_same_plan(void **state)
{
    (void)state;
    enum { ROOM = 4096 };
    static rlt_step a[ROOM], b[ROOM];
    uint32_t n_a, n_b;
    test_group s;
    test_group_open(&s, "torus:4x4@40GB/s,1us", 0);
    rlt_coll_request req = rlt_group_request(&s.g, RLT_ALL_GATHER, 1000000);
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    assert_int_equal(plan_steps(&req, a, ROOM, &n_a), 0);
    assert_int_equal(plan_steps(&req, b, ROOM, &n_b), 0);
    assert_int_equal(n_a, 2 * 16 * 15);
    assert_int_equal(n_b, n_a);
    for (uint32_t i = 0; i < n_a; i++) {
        assert_int_equal(a[i].send_to, b[i].send_to);
        assert_int_equal(a[i].peer_step, b[i].peer_step);
        assert_int_equal(a[i].send.first, b[i].send.first);
        assert_int_equal(a[i].wait_step, b[i].wait_step);
    }
    test_group_close(&s);
}

/* A broadcast is cut into pieces of 512 KiB, at least one and at most 64; other kinds have a share of each member. */
static void pieces(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        uint32_t pieces;
    } cases[] = {{0, 1},          {1, 1},         {524288, 1},    {524289, 2},
                 {2 * 524288, 2}, {33030144, 63}, {33030145, 64}, {34 << 20, 64}};
    test_group s;
    test_group_open(&s, "ring:3@20GB/s,1us", 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint32_t k = 0; k < 2; k++) {
            rlt_plan plan;
            rlt_coll_request req = rlt_group_request(&s.g, k ? RLT_REDUCE : RLT_BROADCAST, cases[i].bytes);
            assert_int_equal(rlt_plan_create(&rlt_tacos, &req, &plan, NULL), 0);
            assert_int_equal(plan.chunks, cases[i].pieces);
            assert_int_equal(plan.blocks, cases[i].pieces);
            rlt_plan_free(&plan);
            req.kind = RLT_ALL_GATHER;
            assert_int_equal(rlt_plan_create(&rlt_tacos, &req, &plan, NULL), 0);
            assert_int_equal(plan.chunks, 1);
            assert_int_equal(plan.blocks, 3);
            rlt_plan_free(&plan);
        }
    test_group_close(&s);
}

/* Edges of a ring: two for each member. A switch is unwound into a ring one way. Which networks are uneven, in
 * bandwidth or in latency. */
static void edges(void **state)
{
    (void)state;
    static const struct {
        const char *topology;
        uint32_t edges, links;
        bool uneven;
    } cases[] = {{"ring:5@20GB/s,1us", 10, 10, false},
                 {"switch:5@20GB/s,1us", 5, 10, false},
                 {"mesh:3x3@40GB/s,1us", 24, 24, false},
                 {"ring:3@20GB/s,1us*ring:3@20GB/s,1us", 36, 36, false},
                 {"ring:3@20GB/s,1us*ring:3@20GB/s,2us", 36, 36, true},
                 {"ring:3@20GB/s,1us*ring:3@30GB/s,1us", 36, 36, true},
                 {"ring:3@30GB/s,2us*ring:3@20GB/s,1us", 36, 36, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_group s;
        rlt_tacos_net net;
        test_group_open(&s, cases[i].topology, 0);
        rlt_coll_request req = rlt_group_request(&s.g, RLT_ALL_GATHER, 1000000);
        assert_int_equal(rlt_tacos_net_create(&req, &net, NULL), 0);
        assert_int_equal(net.n, s.g.n);
        assert_int_equal(net.n_edges, cases[i].edges);
        assert_int_equal(net.n_links, cases[i].links);
        assert_int_equal(net.uneven, cases[i].uneven);
        for (uint32_t m = 0; m < net.n; m++) {
            for (uint32_t k = net.out_first[m]; k < net.out_first[m + 1]; k++)
                assert_int_equal(net.edges[net.out[k]].src, m);
            for (uint32_t k = net.in_first[m]; k < net.in_first[m + 1]; k++)
                assert_int_equal(net.edges[net.in[k]].dst, m);
        }
        assert_int_equal(net.out_first[net.n], net.n_edges);
        assert_int_equal(net.in_first[net.n], net.n_edges);
        rlt_tacos_net_free(&net);
        test_group_close(&s);
    }
}

static void refusals(void **state)
{
    (void)state;
    test_group s;
    rlt_plan plan;
    rlt_error err = {0};
    test_group_open(&s, "ring:600@40GB/s,1us", 0);
    rlt_coll_request req = rlt_group_request(&s.g, RLT_ALL_GATHER, 1000000);
    assert_int_equal(rlt_plan_create(&rlt_tacos, &req, &plan, &err), RLT_EUNSUPPORTED);
    assert_non_null(strstr(err.what, "512"));
    test_group_close(&s);
    test_group_open(&s, "ring:300@40GB/s,1us", 0);
    req = rlt_group_request(&s.g, RLT_ALL_GATHER, 1000000);
    req.params.chunks = 64;
    assert_int_equal(rlt_plan_create(&rlt_tacos, &req, &plan, NULL), RLT_EUNSUPPORTED);
    req.params.chunks = 1;
    req.topology = NULL;
    assert_int_equal(rlt_plan_create(&rlt_tacos, &req, &plan, NULL), RLT_EUNSUPPORTED);
    test_group_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_times),
        cmocka_unit_test(plans_are_proven),
        cmocka_unit_test(runs_take_what_was_synthesised),
        cmocka_unit_test(chunks_and_uneven_links),
        cmocka_unit_test(counted_shares),
        cmocka_unit_test(costs_in_force),
        cmocka_unit_test(tries_of_one_link),
        cmocka_unit_test(same_request_same_plan),
        cmocka_unit_test(pieces),
        cmocka_unit_test(edges),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests_name("tacos", tests, NULL, NULL);
}
