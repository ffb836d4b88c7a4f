/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Collectives between nodes: what a step costs there, by hand, and what auto takes, against the published table
 * of NCCL 2.30's choices.
 */
#include <stdbool.h>
#include <stdio.h>

#include "collectives/algorithm.h"
#include "collectives/candidate.h"
#include "collectives/collective.h"
#include "collectives/plan.h"
#include "collectives/selector.h"
#include "net/endpoint/endpoint.h"
#include "net/endpoint/internode.h"
#include "net/network.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/support.h"

enum { US = 1000000, KIB = 1024, MIB = 1024 * 1024 };

/* Two nodes of two: LL costs 1 us a message inside, launches take 5 us. */
static rlt_time tree_of_nothing(const char *network, const char *gpu)
{
    char topology[1024];
    snprintf(
        topology, sizeof topology,
        "{\"endpoint\": {\"launch\": \"5us\", \"thread_blocks\": 24, \"gpu\": \"%s\", \"protocols\": ["
        "{\"name\": \"LL\", \"message\": \"1us\", \"wire\": \"16/8\", \"tuner_base\": \"6us\", "
        "\"tuner_step\": \"1us\", \"tuner_bandwidth\": \"50GB/s\"}]}, \"dims\": ["
        "{\"shape\": \"switch\", \"size\": 2, \"bandwidth\": \"450GB/s\", \"latency\": \"0ns\"}, "
        "{\"shape\": \"switch\", \"size\": 2, \"bandwidth\": \"50GB/s\", \"latency\": \"500ns\"%s%s%s}]}",
        gpu, *network ? ", \"network\": \"" : "", network, *network ? "\"" : "");
    test_net net = {.topology = topology, .model = &rlt_net_flow, .algorithm = "tree"};
    return test_collective(&net, RLT_ALL_REDUCE, 0, NULL).time_ps;
}

/*
 * A tree of two nodes: one message inside a node, one between them, and both back: 5 + 1 + h + h + 1 us. NCCL
 * counts 5 us for h under LL, which is a path of 1 us and 4 us of its own. The network needs 6 us to wake up, of
 * which the first message inside hides 1: 5 us more.
 */
static void steps_between_nodes(void **state)
{
    (void)state;
    assert_int_equal(tree_of_nothing("infiniband", "hopper"), (12 + 2 * 5) * US);
    assert_int_equal(tree_of_nothing("roce", "hopper"), (12 + 2 * 5 + 2 * 5) * US);
    assert_int_equal(tree_of_nothing("efa", "hopper"), (12 + 2 * 5 + 2 * 66) * US);
    /* tuned endpoints take the first class unless another is stated */
    assert_int_equal(tree_of_nothing("", "hopper"), (12 + 2 * 5) * US);
    /* without costs of its own the network has the path's latency, and the endpoint's message */
    assert_int_equal(tree_of_nothing("none", "hopper"), (7 + 2 * 2) * US);
    /* the cost does not depend on the tuner */
    assert_int_equal(tree_of_nothing("roce", "unknown"), (12 + 2 * 5 + 2 * 5) * US);
}

/* Two nodes of `node`: LL takes 1 us a message inside, and 1 us for a line of 4 KiB; `more` follows. */
static rlt_time lines_over_nodes(uint32_t node, const char *algorithm, const char *launch, const char *more)
{
    char topology[1024];
    snprintf(topology, sizeof topology,
             "{\"endpoint\": {\"launch\": \"5us\", \"thread_blocks\": 24, \"protocols\": ["
             "{\"name\": \"LL\", \"message\": \"1us\", \"wire\": \"16/8\", \"line\": \"4KiB\", "
             "\"line_time\": \"1us\"%s}]}, \"dims\": ["
             "{\"shape\": \"switch\", \"size\": %u, \"bandwidth\": \"450GB/s\", \"latency\": \"0ns\"}, "
             "{\"shape\": \"switch\", \"size\": 2, \"bandwidth\": \"50GB/s\", \"latency\": \"500ns\"}]}",
             more, node);
    test_group s;
    test_group_open(&s, topology, 0);
    rlt_endpoint e = *rlt_topology_endpoint(s.t);
    test_group_close(&s);
    assert_int_equal(rlt_endpoint_set(&e, "network_launch", launch, NULL), 0);
    test_net net = {.topology = topology, .model = &rlt_net_flow, .algorithm = algorithm, .endpoint = &e};
    return test_collective(&net, RLT_ALL_REDUCE, 4 * KIB, NULL).time_ps;
}

/* 4 KiB in one channel are a line in each message inside a node; in 24 channels they are none (up to 1 KiB
 * a line costs nothing), however many messages the data are cut into. Nodes of 4: six messages inside. */
static void lines_by_channel(void **state)
{
    const char *one = ", \"channel\": \"4KiB\"";
    (void)state;
    assert_int_equal(lines_over_nodes(4, "tree", "0us", one) - lines_over_nodes(4, "tree", "0us", ""),
                     6 * US);
}

/* The network wakes up once, beside the first chain of a tree: one message for nodes of 2, three for nodes of
 * 4. A ring's first messages leave the node at once. */
static void network_wakes_once(void **state)
{
    static const struct {
        uint32_t node;
        const char *algorithm, *launch;
        rlt_time paid;
    } rows[] = {{2, "tree", "10us", 9 * US}, {4, "tree", "10us", 7 * US},  {4, "tree", "3us", 0},
                {4, "tree", "2us", 0},       {2, "ring", "10us", 10 * US}, {4, "ring", "10us", 10 * US}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(lines_over_nodes(rows[i].node, rows[i].algorithm, rows[i].launch, "") -
                             lines_over_nodes(rows[i].node, rows[i].algorithm, "0us", ""),
                         rows[i].paid);
}

/* Members of one node never pay for the network. */
static void inside_a_node(void **state)
{
    (void)state;
    test_net alone = {.topology = "hgx-h100-8", .model = &rlt_net_flow, .algorithm = "ring"};
    test_net joined = {.topology = "hgx-h100-8*rail:2@400Gbps,2us,network=efa",
                       .model = &rlt_net_flow,
                       .algorithm = "ring",
                       .ranks = 8};
    for (uint64_t bytes = 8; bytes < (uint64_t)1 << 31; bytes *= 64)
        assert_int_equal(test_collective(&alone, RLT_ALL_GATHER, bytes, NULL).time_ps,
                         test_collective(&joined, RLT_ALL_GATHER, bytes, NULL).time_ps);
}

/* Without GPU-direct a node sends at its host's rate: 4 NICs of 50 GB/s behind 20 GB/s. Ring, 16 members: the
 * NICs carry 2 * 15/16 of the data, times 1 / 0.945. */
static void data_pass_the_host(void **state)
{
    test_group s;
    (void)state;
    test_group_open(&s, "hgx-h100-8*switch:2@50GB/s,500ns,nics=4", 0);
    rlt_endpoint e = *rlt_topology_endpoint(s.t);
    test_group_close(&s);
    assert_int_equal(rlt_endpoint_set(&e, "network_host", "20GB/s", NULL), 0);
    assert_int_equal(rlt_endpoint_set(&e, "protocol", "Simple", NULL), 0);
    test_net net = {.topology = "hgx-h100-8*switch:2@50GB/s,500ns,nics=4",
                    .model = &rlt_net_flow,
                    .algorithm = "ring",
                    .endpoint = &e};
    const uint64_t bytes = (uint64_t)1 << 30;
    double seconds = (double)test_collective(&net, RLT_ALL_REDUCE, bytes, NULL).time_ps / 1e12;
    double least = (double)bytes * 2 * 15 / 16 / 0.945 / 20e9;
    assert_true(seconds > least && seconds < 1.01 * least);
}

static void chosen(const char *topology, uint64_t bytes, const char *algorithm, const char *protocol)
{
    test_group s;
    rlt_candidate all[RLT_MAX_CANDIDATES];
    test_group_open(&s, topology, 0);
    rlt_coll_request req = rlt_group_request(&s.g, RLT_ALL_REDUCE, bytes);
    uint32_t n = rlt_candidates(&req, all);
    assert_true(n > 0);
    const char *name = rlt_topology_endpoint(s.t)->protocols[all[0].protocol].name;
    if (strcmp(all[0].algorithm->name, algorithm) != 0 || strcmp(name, protocol) != 0)
        fail_msg("%s, %llu bytes: %s %s instead of %s %s", topology, (unsigned long long)bytes,
                 all[0].algorithm->name, name, algorithm, protocol);
    for (uint32_t i = 1; i < n; i++)
        assert_true(all[i].excluded || all[i].estimate_ps >= all[0].estimate_ps);
    test_group_close(&s);
}

/* NCCL 2.30.7, InfiniBand: sizes from which it takes each (derived from src/graph/tuning.cc). */
static void choice_by_size(void **state)
{
    static const struct {
        const char *topology;
        uint64_t from;
        const char *algorithm, *protocol;
    } rows[] = {
        {"dgx-a100-8*rail:2@200Gbps,500ns", 8, "tree", "LL"},
        {"dgx-a100-8*rail:2@200Gbps,500ns", 256 * KIB, "tree", "LL128"},
        {"dgx-a100-8*rail:2@200Gbps,500ns", 16 * MIB, "ring", "LL128"},
        {"dgx-a100-8*rail:2@200Gbps,500ns", 128 * MIB, "ring", "Simple"},
        {"dgx-a100-8*rail:16@200Gbps,500ns", 8, "tree", "LL"},
        {"dgx-a100-8*rail:16@200Gbps,500ns", 256 * KIB, "tree", "LL128"},
        {"dgx-a100-8*rail:16@200Gbps,500ns", 256 * MIB, "ring", "LL128"},
        {"dgx-a100-8*rail:16@200Gbps,500ns", 1024ull * MIB, "ring", "Simple"},
        {"hgx-h100-8*rail:2@400Gbps,500ns", 8, "tree", "LL"},
        {"hgx-h100-8*rail:2@400Gbps,500ns", 256 * KIB, "tree", "LL128"},
        {"hgx-h100-8*rail:2@400Gbps,500ns", 4 * MIB, "nvls_tree", "NVLS"},
        {"hgx-h100-8*rail:4@400Gbps,500ns", 16 * MIB, "nvls_tree", "NVLS"},
        {"hgx-h100-8*rail:4@400Gbps,500ns", 1024ull * MIB, "ring", "Simple"},
        {"hgx-h100-8*rail:16@400Gbps,500ns", 32 * MIB, "nvls_tree", "NVLS"},
        {"hgx-h100-8*rail:16@400Gbps,500ns", 8192ull * MIB, "ring", "Simple"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        chosen(rows[i].topology, rows[i].from, rows[i].algorithm, rows[i].protocol);
        if (i && strcmp(rows[i].topology, rows[i - 1].topology) == 0 && rows[i - 1].from < rows[i].from / 2)
            chosen(rows[i].topology, rows[i].from / 2, rows[i - 1].algorithm, rows[i - 1].protocol);
    }
}

/* In a class without LL128 no candidate with it can be chosen, and the others keep their predictions. */
static void protocols_of_the_network(void **state)
{
    test_group with, without;
    rlt_candidate a[RLT_MAX_CANDIDATES], b[RLT_MAX_CANDIDATES];
    uint32_t seen = 0;
    (void)state;
    test_group_open(&with, "dgx-a100-8*rail:2@200Gbps,500ns", 0);
    test_group_open(&without, "dgx-a100-8*rail:2@200Gbps,500ns,network=slingshot", 0);
    rlt_coll_request x = rlt_group_request(&with.g, RLT_ALL_REDUCE, 512 * KIB);
    rlt_coll_request y = rlt_group_request(&without.g, RLT_ALL_REDUCE, 512 * KIB);
    uint32_t n = rlt_candidates(&x, a), m = rlt_candidates(&y, b);
    assert_string_equal(rlt_topology_endpoint(with.t)->protocols[a[0].protocol].name, "LL128");
    assert_int_equal(n, m);
    for (uint32_t i = 0; i < m; i++) {
        bool lines = strcmp(rlt_topology_endpoint(without.t)->protocols[b[i].protocol].name, "LL128") == 0;
        seen += lines;
        assert_true(!lines || b[i].excluded);
        for (uint32_t k = 0; k < n; k++)
            if (a[k].algorithm == b[i].algorithm && a[k].protocol == b[i].protocol)
                assert_int_equal(a[k].estimate_ps, b[i].estimate_ps);
    }
    assert_int_equal(seen, 2); /* ring and tree */
    test_group_close(&with);
    test_group_close(&without);
}

static void same_tuning(const test_group *s, rlt_coll_kind kind, uint64_t bytes)
{
    rlt_coll_request req = rlt_group_request(&s->g, kind, bytes);
    rlt_plan chosen, named;
    assert_int_equal(rlt_plan_create(NULL, &req, &chosen, NULL), 0);
    assert_int_equal(rlt_plan_create(chosen.algorithm, &req, &named, NULL), 0);
    assert_true(chosen.tuning.on || kind == RLT_ALL_TO_ALL);
    assert_int_equal(chosen.tuning.on, named.tuning.on);
    assert_int_equal(chosen.tuning.index, named.tuning.index);
    assert_int_equal(chosen.tuning.channels, named.tuning.channels);
    assert_int_equal(chosen.tuning.setup_ps, named.tuning.setup_ps);
    assert_int_equal(chosen.tuning.step.delay_ps, named.tuning.step.delay_ps);
    rlt_plan_free(&chosen);
    rlt_plan_free(&named);
}

/* A plan whose algorithm auto chose costs what the plan of that algorithm does. */
static void chosen_or_named(void **state)
{
    static const char *const machines[] = {"hgx-h100-8*rail:4@400Gbps,500ns,in_network=reduce+multicast",
                                           "dgx-a100-8*rail:2@200Gbps,500ns", "hgx-h100-8", "mi300x-8"};
    (void)state;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        test_group s;
        test_group_open(&s, machines[i], 0);
        for (int kind = RLT_ALL_REDUCE; kind <= RLT_REDUCE; kind++)
            for (uint64_t bytes = 8; bytes <= 1024ull * MIB; bytes *= 32)
                same_tuning(&s, (rlt_coll_kind)kind, bytes);
        test_group_close(&s);
    }
}

/* An algorithm that the tuner would not run here, as PAT on nodes of eight, has the costs of a tuned endpoint in any
 * case, with more than 1 us for a step between nodes. */
static void named_against_the_tuner(void **state)
{
    test_group s;
    rlt_plan plan;
    (void)state;
    test_group_open(&s, "hgx-h100-8*rail:4@400Gbps,500ns", 0);
    rlt_coll_request req = rlt_group_request(&s.g, RLT_ALL_GATHER, 8);
    assert_int_equal(rlt_plan_create(rlt_algorithm_find("pat", NULL), &req, &plan, NULL), 0);
    assert_true(plan.tuning.on && plan.tuning.far);
    assert_true(plan.tuning.step.delay_ps > US);
    rlt_plan_free(&plan);
    test_group_close(&s);
}

/* Two nodes of two: 100 GB/s inside a node, a NIC of 10 GB/s for each member. */
static const char pairs[] = "switch:2@100GB/s,0ns*switch:2@10GB/s,500ns,nics=2";

/* LL, LL128 and Simple take 1 us a message inside a node, and lines of 4 KiB; direct messages have one of their
 * own. */
static rlt_endpoint roce_endpoint(void)
{
    static const char *const names[] = {"LL", "LL128", "Simple", "Direct", "P2P-LL"};
    rlt_endpoint e = rlt_endpoint_default();
    e.channels = 24;
    e.ramp_ppm = 600000;
    for (int i = 0; i < 5; i++) {
        rlt_protocol *p = &e.protocols[e.n_protocols++];
        *p = rlt_protocol_default();
        strcpy(p->name, names[i]);
        p->message_ps = US;
        p->line_bytes = 4096;
        p->serves = i >= 3 ? RLT_FOR_DIRECT : RLT_FOR_STEPS;
    }
    assert_int_equal(rlt_endpoint_set(&e, "network", "roce", NULL), 0);
    return e;
}

/* Tunes a plan of one lane for a protocol in 24 channels, with chunks of 1000 bytes. */
static rlt_tuning tuned(const char *topology, const rlt_endpoint *e, const char *algorithm,
                        rlt_coll_kind kind, uint64_t bytes, uint32_t protocol)
{
    test_group s;
    rlt_plan plan;
    rlt_error err = {0};
    rlt_tuning t;
    test_group_open(&s, topology, 0);
    rlt_coll_request req = rlt_group_request(&s.g, kind, bytes);
    req.endpoint = e;
    req.params.channels = req.params.chunks = 1;
    if (rlt_plan_create(rlt_algorithm_find(algorithm, NULL), &req, &plan, &err))
        fail_msg("%s: %s", err.where, err.what);
    rlt_candidate c = {
        .algorithm = plan.algorithm, .protocol = protocol, .channels = 24, .chunk_bytes = 1000};
    rlt_tuning_choose(&plan, &c, &t);
    assert_true(t.on && t.index == protocol);
    assert_int_equal(t.far, plan.req.node != plan.req.n);
    if (t.far)
        assert_int_equal(t.channels, 24 / plan.lanes);
    rlt_plan_free(&plan);
    test_group_close(&s);
    return t;
}

/*
 * RoCE adds 5 us to a step, and no more up to 8 KiB. NCCL's figures less a path of 1 us: rings 1.7, 3 and 13 us under
 * LL, LL128 and Simple; trees 4, 7.5 and 13 us. Under LL the host passes on 39 GB/s: 7800 bytes take 200 ns, the half
 * that a node passes on in a ring 100 ns.
 */
static void delays_between_nodes(void **state)
{
    static const struct {
        const char *algorithm;
        rlt_coll_kind kind;
        uint32_t protocol;
        rlt_time ns;
    } rows[] = {{"ring", RLT_ALL_REDUCE, 0, 6800},    {"ring", RLT_ALL_GATHER, 0, 6800},
                {"ring", RLT_BROADCAST, 0, 6900},     {"ring", RLT_ALL_REDUCE, 1, 8000},
                {"ring", RLT_ALL_REDUCE, 2, 18000},   {"tree", RLT_ALL_REDUCE, 0, 9200},
                {"tree", RLT_ALL_REDUCE, 1, 12500},   {"tree", RLT_ALL_REDUCE, 2, 18000},
                {"direct", RLT_ALL_TO_ALL, 3, 18000}, {"direct", RLT_ALL_TO_ALL, 4, 9200}};
    rlt_endpoint e = roce_endpoint();
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_tuning t = tuned(pairs, &e, rows[i].algorithm, rows[i].kind, 7800, rows[i].protocol);
        assert_int_equal(t.step.delay_ps, rows[i].ns * 1000);
        assert_int_equal(t.step.gap_ps, 4651);
    }
    rlt_tuning near = tuned("switch:4@10GB/s,500ns", &e, "ring", RLT_ALL_REDUCE, 7800, 0);
    assert_int_equal(near.channels, 24);
    assert_int_equal(near.line_least, 0);
    assert_int_equal(near.setup_ps, 0);
}

/* A node of two NICs sends 20 GB/s. A slower host lengthens what is on the wire, twice the bytes under LL, by the
 * ratio of both: at most 4000 times, and below 2^32 millionths. */
static void hosts_lengthen_messages(void **state)
{
    static const struct {
        uint64_t host_Bps;
        uint32_t num, den;
    } rows[] = {{0, 2, 1},
                {20000000000, 2, 1},
                {19999999999, 2000000, 1000000},
                {5000000000, 8000000, 1000000},
                {20000000, 2000000000, 1000000},
                {8000000, UINT32_MAX, 1000000},
                {1, UINT32_MAX, 1000000}};
    rlt_endpoint e = roce_endpoint();
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        e.internode.host_Bps = rows[i].host_Bps;
        rlt_tuning t = tuned(pairs, &e, "ring", RLT_ALL_REDUCE, 7800, 0);
        assert_int_equal(t.step.wire_num, rows[i].num);
        assert_int_equal(t.step.wire_den, rows[i].den);
    }
    /* LL128 has 128/120 on the wire: 1.066666 times 2500 */
    e.internode.host_Bps = 8000000;
    rlt_tuning t = tuned(pairs, &e, "ring", RLT_ALL_REDUCE, 7800, 1);
    assert_int_equal(t.step.wire_num, 2666665000);
    /* where 2^32 is far, the ratio itself ends at 4000 */
    e.internode.host_Bps = 1;
    e.internode.efficiency_ppm = 1000000;
    t = tuned(pairs, &e, "ring", RLT_ALL_REDUCE, 7800, 2);
    assert_int_equal(t.step.wire_num, 4000000000);
}

/*
 * A channel moves its part of the data at once: under LL at most a line of 4 KiB in a tree, and in a ring of a
 * member's share; under LL128 at most a chunk of 1000 bytes in a tree, for all 24 channels, which the plan's lanes
 * share. The ramp of a tree is that of all lanes.
 */
static void what_moves_at_once(void **state)
{
    static const struct {
        const char *algorithm;
        rlt_coll_kind kind;
        uint32_t protocol;
        uint64_t bytes, line_least, ramp_least;
        uint32_t lanes; /* 0: no ramp */
    } rows[] = {
        {"ring", RLT_ALL_REDUCE, 0, 9600, 100, 0, 0},
        {"ring", RLT_ALL_GATHER, 0, 96 * 4096, 4096, 0, 0},
        {"ring", RLT_ALL_REDUCE, 0, 192 * 4096, 4096, 0, 0},
        {"ring", RLT_BROADCAST, 0, 9600, 0, 0, 0},
        {"ring", RLT_ALL_REDUCE, 1, 9600, 0, 0, 0},
        {"tree", RLT_ALL_REDUCE, 0, 9600, 400, 0, 1},
        {"tree", RLT_ALL_REDUCE, 0, 48 * 4096, 4096, 0, 1},
        {"tree", RLT_ALL_REDUCE, 1, 9600, 0, 9600, 1},
        {"tree", RLT_ALL_REDUCE, 1, 48000, 0, 24000, 1},
        {"tree", RLT_ALL_REDUCE, 2, 9600, 0, 0, 1},
        {"tree", RLT_BROADCAST, 0, 9600, 0, 0, 1},
    };
    rlt_endpoint e = roce_endpoint();
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_tuning t = tuned(pairs, &e, rows[i].algorithm, rows[i].kind, rows[i].bytes, rows[i].protocol);
        uint32_t lanes = 24 / t.channels;
        if (t.line_least != rows[i].line_least || t.ramp_least * lanes != rows[i].ramp_least)
            fail_msg("row %zu: %llu, %llu", i, (unsigned long long)t.line_least,
                     (unsigned long long)t.ramp_least);
        assert_int_equal(t.ramp_ppm, rows[i].lanes ? 600000 * lanes : 0);
    }
    e.ramp_ppm = UINT32_MAX;
    assert_int_equal(tuned(pairs, &e, "tree", RLT_ALL_REDUCE, 9600, 0).ramp_ppm, UINT32_MAX);
}

/* The network needs 6 us to wake up, beside the setup and one message of 1 us in the tree of a node of two.
 * All-to-all takes 1 us for each of the two members on the other node. */
static void setups_between_nodes(void **state)
{
    static const struct {
        const char *algorithm;
        rlt_coll_kind kind;
        uint32_t protocol;
        rlt_time start_us, us;
    } rows[] = {{"ring", RLT_ALL_REDUCE, 0, 0, 6},   {"ring", RLT_ALL_REDUCE, 0, 5, 6},
                {"ring", RLT_ALL_REDUCE, 0, 7, 7},   {"tree", RLT_ALL_REDUCE, 0, 0, 5},
                {"tree", RLT_BROADCAST, 0, 0, 6},    {"direct", RLT_ALL_TO_ALL, 3, 0, 8},
                {"direct", RLT_ALL_TO_ALL, 3, 9, 11}};
    rlt_endpoint e = roce_endpoint();
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        e.protocols[rows[i].protocol].start_ps = rows[i].start_us * US;
        assert_int_equal(tuned(pairs, &e, rows[i].algorithm, rows[i].kind, 960, rows[i].protocol).setup_ps,
                         rows[i].us * US);
    }
    e.internode.peer_ps = RLT_TIME_MAX;
    assert_true(tuned(pairs, &e, "direct", RLT_ALL_TO_ALL, 960, 3).setup_ps == RLT_TIME_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_between_nodes),      cmocka_unit_test(lines_by_channel),
        cmocka_unit_test(network_wakes_once),       cmocka_unit_test(inside_a_node),
        cmocka_unit_test(data_pass_the_host),       cmocka_unit_test(choice_by_size),
        cmocka_unit_test(protocols_of_the_network), cmocka_unit_test(chosen_or_named),
        cmocka_unit_test(named_against_the_tuner),  cmocka_unit_test(delays_between_nodes),
        cmocka_unit_test(hosts_lengthen_messages),  cmocka_unit_test(what_moves_at_once),
        cmocka_unit_test(setups_between_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
