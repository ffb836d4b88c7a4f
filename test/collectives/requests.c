/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a request may ask for: names, element types, parameters, limits with their words, lanes and shares by hand. */
#include "sim/base/time.h"
#include "test/support/support.h"

#include <stdio.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/lanes.h"
#include "collectives/plan.h"
#include "net/network.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/registry.h"
#include "test/support/networks/idle.h"

static void element_types(void **state)
{
    static const char *const names[4] = {
        "int8 uint8 char fp8 f8e4m3 f8e5m2", "half bfloat16 fp16 bf16 Float16",
        "float int32 uint32 fp32 float_32 INT", "double int64 uint64 float64"};
    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        char text[80];
        snprintf(text, sizeof text, "%s", names[i]);
        for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
            assert_int_equal(rlt_dtype_bytes(word), 1u << i);
    }
    assert_int_equal(rlt_dtype_bytes("int16"), 0);
    assert_int_equal(rlt_dtype_bytes(""), 0);
    assert_int_equal(rlt_dtype_bytes("int8x"), 0);
}

/* nccl-tests: 2 (n - 1) / n, (n - 1) / n, or 1. */
static void bus_bandwidth(void **state)
{
    static const double eight[RLT_COLL_KINDS] = {
        [RLT_ALL_REDUCE] = 1.75,  [RLT_REDUCE_SCATTER] = 0.875,
        [RLT_ALL_GATHER] = 0.875, [RLT_ALL_TO_ALL] = 0.875,
        [RLT_GATHER] = 0.875,     [RLT_SCATTER] = 0.875,
        [RLT_BROADCAST] = 1,      [RLT_REDUCE] = 1,
        [RLT_BARRIER] = 1,        [RLT_SEND_RECV] = 1,
    };
    (void)state;
    for (int k = 0; k < RLT_COLL_KINDS; k++)
        assert_true(rlt_busbw_factor((rlt_coll_kind)k, 8) == eight[k]);
    assert_true(rlt_busbw_factor(RLT_ALL_REDUCE, 1) == 0);
    assert_true(rlt_busbw_factor(RLT_ALL_GATHER, 0) == 0);
    assert_string_equal(rlt_coll_name(RLT_COLL_KINDS), "unknown");
    rlt_coll_kind kind = RLT_SCATTER;
    assert_int_equal(rlt_coll_parse("All Reduc", &kind, NULL), RLT_ESCHEMA);
    assert_int_equal(rlt_coll_parse("-All Reduce_", &kind, NULL), 0);
    assert_int_equal(kind, RLT_ALL_REDUCE);
    rlt_error err = {0};
    assert_int_equal(rlt_coll_parse("x", &kind, &err), RLT_ESCHEMA);
    assert_string_equal(err.what,
                        "unknown collective 'x'; known: all_reduce, reduce_scatter, all_gather, all_to_all, "
                        "broadcast, reduce, barrier, send_recv, gather, scatter");
}

/* Patterns are given by dimension of the topology, and looked up by that of the group. */
static void patterns_follow_dimensions(void **state)
{
    rlt_coll_params p = {.channels = 3};
    rlt_error err = {0};
    char text[64];
    const rlt_param *row = rlt_coll_parameter("patterns");
    (void)state;
    assert_int_equal(rlt_coll_params_set(&p, "patterns", "ring,direct,nvls", &err), 0);
    assert_string_equal(p.patterns[0], "ring");
    assert_string_equal(p.patterns[1], "direct");
    assert_string_equal(p.patterns[2], "nvls");
    assert_null(p.patterns[3]);
    assert_string_equal(rlt_param_write(row, &p, text, sizeof text), "ring,direct,nvls");
    rlt_coll_request req = {.n_dims = 3, .axes = {2, RLT_NONE, 1}, .params.patterns = {"x", "x", "x", "x"}};
    rlt_request_params(&req, &p);
    assert_int_equal(req.params.channels, 3);
    assert_string_equal(req.params.patterns[0], "nvls");
    assert_null(req.params.patterns[1]);
    assert_string_equal(req.params.patterns[2], "direct");
    assert_null(req.params.patterns[3]);
    assert_int_equal(rlt_coll_params_set(&p, "patterns", "halving_doubling", &err), 0);
    assert_null(p.patterns[1]);
    assert_string_equal(rlt_param_write(row, &p, text, sizeof text), "halving_doubling");
    memset(text, '#', sizeof text);
    p.patterns[1] = "ring";
    rlt_write_patterns(row, &p, text, 8);
    assert_memory_equal(text, "halving\0#", 9);
    assert_int_equal(rlt_coll_params_set(&p, "patterns", "ring,rign", &err), RLT_EUSAGE);
    assert_non_null(strstr(err.what, "rign"));
    static const char seven[] = "ring,ring,ring,ring,ring,ring,ring,ring";
    assert_int_equal(RLT_MAX_DIMS, 8);
    assert_int_equal(rlt_coll_params_set(&p, "patterns", seven, &err), 0);
    assert_string_equal(p.patterns[7], "ring");
    snprintf(text, sizeof text, "%s,direct", seven);
    err = (rlt_error){0};
    assert_int_equal(rlt_coll_params_set(&p, "patterns", text, &err), RLT_EUSAGE);
    assert_string_equal(err.what, "'direct' is for dimension 8, but a topology has at most 8");
}

/* Names with and without the algorithm before a dot; those that nobody has. */
static void parameters_by_name(void **state)
{
    rlt_coll_params p = {0};
    rlt_error err = {0};
    char text[64];
    (void)state;
    assert_string_equal(rlt_coll_parameter("chunks")->name, "chunks");
    assert_string_equal(rlt_coll_parameter("tree.chunks")->name, "chunks");
    assert_null(rlt_coll_parameter("tree.servers"));
    assert_null(rlt_coll_parameter("tre.chunks"));
    assert_null(rlt_coll_parameter("chunk"));
    assert_int_equal(rlt_coll_params_set(&p, "tree.chunks", "5", &err), 0);
    assert_int_equal(p.chunks, 5);
    assert_int_equal(rlt_coll_params_set(&p, "channels", "0", &err), RLT_EUSAGE);
    assert_int_equal(rlt_coll_params_set(&p, "tree.chunks", "0", &err), RLT_EUSAGE);
    err = (rlt_error){0};
    assert_int_equal(rlt_coll_params_set(&p, "tree.chunk", "5", &err), RLT_EUSAGE);
    assert_true(strstr(err.where, "tree") || strstr(err.what, "tree"));
    err = (rlt_error){0};
    assert_int_equal(rlt_coll_params_set(&p, "chunk", "5", &err), RLT_EUSAGE);
    assert_true(strstr(err.where, "algorithms") || strstr(err.what, "algorithms"));
    /* what is set, and what an algorithm does not have, in the order of the table */
    assert_int_equal(rlt_coll_params_set(&p, "servers", "2", &err), 0);
    assert_int_equal(rlt_coll_params_set(&p, "schedule", "themis", &err), 0);
    assert_string_equal(rlt_coll_params_idle(&p, &rlt_tree, 0, text, sizeof text)->name, "servers");
    assert_string_equal(text, "2");
    assert_string_equal(rlt_coll_params_idle(&p, &rlt_tree, 1, text, sizeof text)->name, "schedule");
    assert_string_equal(text, "themis");
    assert_null(rlt_coll_params_idle(&p, &rlt_tree, 2, text, sizeof text));
    assert_string_equal(rlt_coll_params_idle(&p, &rlt_parameter_server, 0, text, sizeof text)->name,
                        "schedule");
    /* no room for another algorithm's own */
    static const rlt_param own[] = {
        {"beta", .kind = RLT_PARAM_COUNT, RLT_SLOT(1), .preset = "3", .min = 1, .max = 9, .help = "of mine"},
        {"gamma", .kind = RLT_PARAM_COUNT, RLT_SLOT(7), .preset = "3", .min = 1, .max = 9, .help = "of mine"},
        {0}};
    static rlt_algorithm mine;
    mine = rlt_direct;
    mine.name = "mine_too";
    mine.parameters = own;
    assert_int_equal(rlt_registry_add(rlt_algorithms(), &mine, "this test", NULL), 0);
    assert_int_equal(rlt_coll_params_set(&p, "mine_too.beta", "4", &err), 0);
    assert_int_equal(rlt_coll_params_set(&p, "gamma", "5", &err), 0);
    assert_int_equal(p.n_own, 2);
    assert_ptr_equal(p.own[1].row, &own[1]);
    assert_int_equal(p.own[1].value.u, 5);
    assert_string_equal(rlt_coll_params_idle(&p, &rlt_tree, 3, text, sizeof text)->name, "gamma");
    assert_string_equal(text, "5");
    for (uint32_t i = 1; i < RLT_MAX_OWN; i++)
        p.own[i].row = &own[2];
    p.n_own = RLT_MAX_OWN;
    assert_int_equal(rlt_coll_params_set(&p, "beta", "6", &err), 0); /* it is there */
    assert_int_equal(p.own[0].value.u, 6);
    assert_int_equal(p.n_own, RLT_MAX_OWN);
    err = (rlt_error){0};
    assert_int_equal(rlt_coll_params_set(&p, "gamma", "5", &err), RLT_ERANGE);
    assert_string_equal(err.where, "gamma");
    assert_string_equal(err.what, "more than 8 parameters of specific algorithms");
}

static void refused_with(const rlt_algorithm *a, const rlt_coll_request *req, int code, const char *where,
                         const char *what)
{
    rlt_plan plan;
    rlt_error err = {0};
    int rc = rlt_plan_create(a, req, &plan, &err);
    if (rc != code || strcmp(err.where, where) != 0 || strcmp(err.what, what) != 0)
        fail_msg("%d %s: %s, not %s", rc, err.where, err.what, what);
}

static void served(const rlt_algorithm *a, const rlt_coll_request *req)
{
    rlt_plan plan;
    rlt_error err = {0};
    if (rlt_plan_create(a, req, &plan, &err))
        fail_msg("%s: %s", err.where, err.what);
    rlt_plan_free(&plan);
}

/* What a refusal says, and the value beside it that is served. */
static void refusals_and_bounds(void **state)
{
    const rlt_coll_request ok = {.kind = RLT_ALL_REDUCE, .n = 4, .bytes = 100};
    rlt_coll_request r = ok;
    (void)state;
    rlt_plan_free(NULL);
    r.kind = RLT_COLL_KINDS;
    refused_with(&rlt_ring, &r, RLT_ERANGE, "", "unknown kind of collective 10");
    r = ok, r.n = 0;
    refused_with(&rlt_ring, &r, RLT_ERANGE, "all_reduce", "expected 1 to 16777216 members, got 0");
    r.n = RLT_MAX_MEMBERS;
    served(&rlt_ring, &r);
    r = ok, r.bytes = (uint64_t)1 << 48;
    served(&rlt_ring, &r);
    r.bytes++;
    refused_with(&rlt_ring, &r, RLT_ERANGE, "all_reduce",
                 "281474976710657 bytes are above the limit of 256 TiB");
    r = ok, r.kind = RLT_BROADCAST, r.root = 3;
    served(&rlt_ring, &r);
    r.root = 4;
    refused_with(&rlt_ring, &r, RLT_ERANGE, "broadcast", "root 4 is not a member; expected 0 to 3");
    r = ok, r.kind = RLT_SEND_RECV;
    refused_with(&rlt_point_to_point, &r, RLT_ETOPOLOGY, "send_recv", "expected 2 members, got 4");
    r = ok, r.params.directions = 2;
    served(&rlt_ring, &r);
    r.params.directions = 3;
    refused_with(&rlt_ring, &r, RLT_ERANGE, "all_reduce", "expected 1 or 2 directions, got 3");
    r = ok, r.params.schedule = RLT_CHUNK_SCHEDULES;
    refused_with(&rlt_ring, &r, RLT_ERANGE, "all_reduce", "unknown schedule 3 or order 0");
    r = ok, r.params.order = RLT_CHUNK_ORDERS;
    refused_with(&rlt_ring, &r, RLT_ERANGE, "all_reduce", "unknown schedule 0 or order 2");
    r = ok, r.n_dims = 9;
    refused_with(&rlt_ring, &r, RLT_ERANGE, "all_reduce", "9 dimensions are too many; the limit is 8");
    r = ok, r.n_dims = 8, r.dims[0] = 4;
    for (int d = 1; d < 8; d++)
        r.dims[d] = 1;
    served(&rlt_ring, &r);
    r.dims[7] = 2;
    refused_with(&rlt_ring, &r, RLT_ETOPOLOGY, "all_reduce",
                 "expected dimensions with a product of 4, the number of members");
    refused_with(&rlt_bruck, &ok, RLT_EUNSUPPORTED, "bruck", "does not support all_reduce");
    refused_with(NULL, &(rlt_coll_request){.kind = RLT_GATHER, .n = 2, .root = 2}, RLT_ERANGE, "gather",
                 "root 2 is not a member; expected 0 to 1");
}

static void refusals_of_counts(void **state)
{
    uint64_t counts[16] = {40, 30, 20, 10};
    const rlt_coll_request ok = {.kind = RLT_ALL_GATHER, .n = 4, .bytes = 100, .counts = counts};
    rlt_coll_request r = ok;
    (void)state;
    served(&rlt_direct, &r);
    r.kind = RLT_BROADCAST;
    refused_with(&rlt_direct, &r, RLT_EUNSUPPORTED, "broadcast", "takes no counts");
    r = ok, r.bytes = 99;
    refused_with(&rlt_direct, &r, RLT_ESCHEMA, "all_gather",
                 "the counts sum to 100 bytes, not to the collective's 99");
    r.kind = RLT_ALL_TO_ALL;
    served(&rlt_direct, &r);
    refused_with(&rlt_ring, &r, RLT_EUNSUPPORTED, "ring",
                 "does not support all_to_all with counts; use algorithm direct");
    counts[0] = 0, counts[1] = (uint64_t)1 << 48, counts[2] = counts[3] = 0;
    r = ok, r.bytes = (uint64_t)1 << 48;
    served(&rlt_direct, &r);
    counts[2] = 1;
    refused_with(&rlt_direct, &r, RLT_ERANGE, "all_gather", "the counts sum to more than 256 TiB");
    counts[1]++;
    refused_with(&rlt_direct, &r, RLT_ERANGE, "all_gather",
                 "a share of 281474976710657 bytes is above the limit of 256 TiB");
}

/* Shares of 3, 0, 5 and 8 bytes in two lanes: 2, 0, 3, 4 and 1, 0, 2, 4. */
static void counted_spans(void **state)
{
    uint64_t counts[] = {3, 0, 5, 8};
    rlt_plan plan = {
        .req = {.kind = RLT_ALL_GATHER, .n = 4, .bytes = 16, .counts = counts}, .lanes = 2, .blocks = 4};
    static const struct {
        rlt_blocks span;
        uint64_t bytes[2];
    } rows[] = {{{0, 4, 0, 1}, {9, 7}}, {{2, 1, 0, 1}, {3, 2}}, {{3, 2, 0, 1}, {6, 5}},
                {{0, 1, 2, 2}, {5, 3}}, {{3, 1, 3, 3}, {7, 6}}, {{2, 2, 2, 2}, {9, 7}},
                {{1, 0, 0, 1}, {0, 0}}, {{0, 1, 1, 0}, {0, 0}}};
    (void)state;
    assert_int_equal(rlt_lane_bytes(&plan, 0), 9);
    assert_int_equal(rlt_lane_bytes(&plan, 1), 7);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (uint32_t lane = 0; lane < 2; lane++)
            assert_int_equal(rlt_blocks_bytes(&plan, lane, rows[i].span), rows[i].bytes[lane]);
    plan.shared = true;
    plan.req.bytes = 77;
    assert_int_equal(rlt_lane_bytes(&plan, 1), 77);
    /* 23 bytes in 10 blocks over 2 lanes: blocks of 3 or 2 bytes, cut into 2 + 1 and 1 + 1 */
    plan = (rlt_plan){.req = {.bytes = 23}, .lanes = 2, .blocks = 10};
    assert_int_equal(rlt_lane_bytes(&plan, 0), 3 * 2 + 7);
    assert_int_equal(rlt_lane_bytes(&plan, 1), 3 + 7);
}

/* A network model that cannot sum or copy refuses plans that need it. */
static void models_that_cannot(void **state)
{
    rlt_net_model plain = rlt_net_flow;
    rlt_coll_request req = {.kind = RLT_ALL_REDUCE, .n = 4, .bytes = 4096, .model = &plain};
    rlt_plan plan;
    (void)state;
    assert_int_equal(rlt_plan_create(&rlt_nvls, &req, &plan, NULL), 0);
    bool sums = plan.reduces, copies = plan.multicasts;
    rlt_plan_free(&plan);
    assert_true(sums || copies);
    plain.name = "plain";
    plain.reduce_to = NULL;
    plain.multicast = NULL;
    served(&rlt_ring, &req);
    refused_with(&rlt_nvls, &req, RLT_EUNSUPPORTED, "nvls",
                 sums ? "the network model 'plain' has no in-network reduction"
                      : "the network model 'plain' has no multicast");
    plain.reduce_to = rlt_net_flow.reduce_to;
    if (copies)
        refused_with(&rlt_nvls, &req, RLT_EUNSUPPORTED, "nvls", "the network model 'plain' has no multicast");
}

/* A gather or all-to-all is direct; one dimension is a ring, several are hierarchical; one member is no dimension. */
static void usual_algorithms(void **state)
{
    static const struct {
        rlt_coll_kind kind;
        uint32_t n, dims[3];
        const rlt_algorithm *usual;
    } rows[] = {{RLT_SEND_RECV, 2, {2}, &rlt_point_to_point},
                {RLT_GATHER, 4, {4}, &rlt_direct},
                {RLT_SCATTER, 4, {2, 2}, &rlt_direct},
                {RLT_ALL_TO_ALL, 4, {2, 2}, &rlt_direct},
                {RLT_ALL_REDUCE, 4, {2, 2}, &rlt_hierarchical},
                {RLT_ALL_REDUCE, 4, {2, 1, 2}, &rlt_hierarchical},
                {RLT_ALL_REDUCE, 4, {4, 1, 1}, &rlt_ring},
                {RLT_BARRIER, 4, {1, 4}, &rlt_ring},
                {RLT_BROADCAST, 4, {0}, &rlt_ring}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_coll_request req = {.kind = rows[i].kind, .n = rows[i].n};
        while (req.n_dims < 3 && rows[i].dims[req.n_dims]) {
            req.dims[req.n_dims] = rows[i].dims[req.n_dims];
            req.n_dims++;
        }
        assert_ptr_equal(rlt_algorithm_usual(&req), rows[i].usual);
    }
}

/* As many lanes as fit, and one more; a lane's bytes, channel, direction and chunk. */
static void lanes_by_hand(void **state)
{
    rlt_plan plan = {.algorithm = &rlt_ring, .req.bytes = 1000, .blocks = 8};
    rlt_error err = {0};
    (void)state;
    assert_int_equal(rlt_lanes_set(&plan, 64, 2, 32, &err), 0);
    assert_int_equal(plan.lanes, 4096);
    assert_int_equal(rlt_lanes_set(&plan, 4096, 1, 1, &err), 0);
    assert_int_equal(rlt_lanes_set(&plan, 1, 2, 2048, &err), 0);
    assert_int_equal(rlt_lanes_set(&plan, 17, 1, 241, &err), RLT_ERANGE); /* 4097 */
    assert_string_equal(err.where, "ring");
    assert_string_equal(err.what, "17 channels x 1 directions x 241 chunks are more than 4096 lanes");
    assert_int_equal(rlt_lanes_set(&plan, UINT32_MAX, 1, UINT32_MAX, NULL), RLT_ERANGE);
    assert_int_equal(rlt_lanes_set(&plan, UINT32_MAX, 1, 1, NULL), RLT_ERANGE);
    assert_int_equal(rlt_lanes_set(&plan, 3, 2, 4, &err), 0);
    assert_true(plan.channels == 3 && plan.directions == 2 && plan.chunks == 4 && plan.lanes == 24);
    rlt_lane l = rlt_lane_at(&plan, 2 * 8 + 4 + 3, 4);
    assert_true(l.channel == 2 && l.reverse == 1 && l.chunk == 3);
    /* 125 bytes a block: 6 for the first 5 lanes, 5 for the others */
    assert_true(l.base == 5 && l.rest == 0);
    l = rlt_lane_at(&plan, 4, 4);
    assert_true(l.channel == 0 && l.reverse == 1 && l.chunk == 0 && l.base == 6 && l.rest == 0);
    plan.req.bytes = 1002; /* two blocks of 126: lanes 5 have a byte more of each */
    l = rlt_lane_at(&plan, 5, 4);
    assert_true(l.channel == 0 && l.reverse == 1 && l.chunk == 1 && l.base == 5 && l.rest == 2);
}

/* What auto takes where no tuner chooses: the usual algorithm, unless another takes less than 2/3 of its time. */
static void the_fastest_by_far(void **state)
{
    static const struct {
        const char *topology;
        rlt_coll_kind kind;
        uint64_t bytes;
        const char *algorithm;
    } rows[] = {
        /* six hops of 4 us and back, 5 of 6 counted twice: 40 us; directly the farthest is 3 links away: 10 us */
        {"ring:6@2GB/s,3us", RLT_BARRIER, 0, "direct"},
        /* one hop to everyone: as many as a ring has members */
        {"switch:8@50GB/s,500ns", RLT_BARRIER, 0, "direct"},
        {"switch:2@50GB/s,500ns", RLT_BARRIER, 0, "ring"},
        /* no forms for what is no root's task */
        {"switch:8@50GB/s,500ns", RLT_ALL_REDUCE, 8, "ring"},
        {"switch:8@50GB/s,500ns", RLT_ALL_GATHER, 8, "ring"},
        /* seven shares of one port are as fast as can be */
        {"switch:8@50GB/s,500ns", RLT_GATHER, 8 << 20, "direct"},
        {"switch:8@50GB/s,500ns", RLT_SCATTER, 8, "direct"},
        /* small: 1 hop and 7 messages, or 3 levels; large: a chain of pieces */
        {"switch:8@50GB/s,500ns", RLT_BROADCAST, 8, "direct"},
        {"switch:8@50GB/s,500ns", RLT_REDUCE, 8, "direct"},
        {"switch:8@50GB/s,500ns", RLT_BROADCAST, 1 << 30, "ring"},
        /* 1 us and 2 M/B against 2 us and 2 M/B: 1.5 times as fast up to M/B = 0.5 us */
        {"switch:3@50GB/s,500ns", RLT_BROADCAST, 24900, "direct"},
        {"switch:3@50GB/s,500ns", RLT_BROADCAST, 25100, "ring"},
        /* all to all of 300 members: too many messages for links, not for one switch */
        {"fully-connected:300@50GB/s,500ns", RLT_BARRIER, 0, "hierarchical"},
        {"fully-connected:256@50GB/s,500ns", RLT_BARRIER, 0, "direct"},
        {"switch:300@50GB/s,500ns", RLT_BARRIER, 0, "direct"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        test_group s;
        test_group_open(&s, rows[i].topology, 0);
        rlt_coll_request req = rlt_group_request(&s.g, rows[i].kind, rows[i].bytes);
        const char *name = rlt_algorithm_choose(&req)->name;
        if (strcmp(name, rows[i].algorithm) != 0)
            fail_msg("%s on %s: %s", rlt_coll_name(rows[i].kind), rows[i].topology, name);
        req.params.schedule =
            RLT_BASELINE; /* who asks for a schedule is not given an algorithm without one */
        assert_ptr_equal(rlt_algorithm_choose(&req), rlt_algorithm_usual(&req));
        req.params.schedule = 0;
        req.params.patterns[0] = "ring";
        assert_ptr_equal(rlt_algorithm_choose(&req), rlt_algorithm_usual(&req));
        test_group_close(&s);
    }
}

/* Parameters of one algorithm alone: what is given, or else the preset. Those that all have are not among them. */
enum { FIRST = 2, SECOND = 0 };
static const rlt_param own_rows[] = {
    RLT_HAS_CHUNKS("4"),
    {"first", .kind = RLT_PARAM_COUNT, .help = "a number", .preset = "3", RLT_SLOT(FIRST)},
    {"second", .kind = RLT_PARAM_CHOICE, .help = "a word", .words = "up|down|left", .preset = "left",
     RLT_SLOT(SECOND)},
    {0}};

static int own_plan(rlt_plan *plan, rlt_error *err)
{
    (void)err;
    plan->lanes = plan->blocks = plan->buffers = 1;
    return 0;
}

static void own_parameters(void **state)
{
    static const rlt_algorithm owner = {.name = "owner",
                                        .summary = "has parameters",
                                        .kinds = UINT32_MAX,
                                        .parameters = own_rows,
                                        .plan = own_plan,
                                        .steps = test_idle_steps,
                                        .step = test_idle_step};
    (void)state;
    for (int given = 0; given < 4; given++) {
        rlt_coll_request req = {.kind = RLT_BROADCAST, .n = 2, .bytes = 8};
        rlt_plan plan = {0};
        if (given & 1)
            req.params.own[req.params.n_own++] = (rlt_coll_own){&own_rows[2], {.u = 1}};
        if (given & 2)
            req.params.own[req.params.n_own++] = (rlt_coll_own){&own_rows[1], {.u = 7}};
        assert_int_equal(rlt_plan_create(&owner, &req, &plan, NULL), 0);
        assert_int_equal(plan.own[FIRST].u, given & 2 ? 7 : 3);
        assert_int_equal(plan.own[SECOND].u, given & 1 ? 1 : 2);
        assert_int_equal(plan.own[1].u, 0);
        rlt_plan_free(&plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(element_types),
        cmocka_unit_test(bus_bandwidth),
        cmocka_unit_test(patterns_follow_dimensions),
        cmocka_unit_test(parameters_by_name),
        cmocka_unit_test(refusals_and_bounds),
        cmocka_unit_test(refusals_of_counts),
        cmocka_unit_test(counted_spans),
        cmocka_unit_test(models_that_cannot),
        cmocka_unit_test(usual_algorithms),
        cmocka_unit_test(lanes_by_hand),
        cmocka_unit_test(the_fastest_by_far),
        cmocka_unit_test(own_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
