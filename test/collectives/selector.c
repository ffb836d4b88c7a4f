/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The choice of protocols against NCCL's rule worked out by hand, and the costs of tuned messages against
 * closed forms.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "collectives/algorithm.h"
#include "collectives/candidate.h"
#include "collectives/collective.h"
#include "collectives/library.h"
#include "collectives/plan.h"
#include "collectives/selector.h"
#include "net/endpoint/endpoint.h"
#include "net/import/import.h"
#include "net/network.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "test/support/support.h"

static void set_protocol(rlt_protocol *p, const char *name, const char *value)
{
    assert_int_equal(rlt_params_set(rlt_protocol_parameters(), "a protocol", p, name, value, NULL), 0);
}

static void put(rlt_endpoint *e, const char *name, const char *base, const char *step, const char *bandwidth)
{
    rlt_protocol p = rlt_protocol_default();
    strncpy(p.name, name, sizeof p.name - 1);
    set_protocol(&p, "tuner_base", base);
    set_protocol(&p, "tuner_step", step);
    set_protocol(&p, "tuner_bandwidth", bandwidth);
    e->protocols[e->n_protocols++] = p;
}

/* NCCL 2.27's constants for one node of A100: 12 rings of 20 GB/s. */
static rlt_endpoint a100(void)
{
    rlt_endpoint e = rlt_endpoint_default();
    e.channels = 24;
    e.peer_channels = 32;
    put(&e, "LL", "6.6us", "0.6us", "87.7GB/s");
    put(&e, "LL128", "14us", "1.9us", "220.8GB/s");
    put(&e, "Simple", "8.4us", "3.4us", "240GB/s");
    e.protocols[0].channel_bytes = 4096;
    return e;
}

static const char *chosen(const rlt_endpoint *e, rlt_coll_kind kind, uint32_t n, uint64_t bytes)
{
    rlt_coll_request req = {.kind = kind, .n = n, .bytes = bytes, .endpoint = e};
    rlt_candidate all[RLT_MAX_CANDIDATES];
    assert_true(rlt_candidates(&req, all) >= 3);
    assert_ptr_equal(all[0].algorithm, &rlt_ring);
    return e->protocols[all[0].protocol].name;
}

/*
 * Where two lines cross: bytes = (difference of latencies) / (difference of inverse bandwidths).
 *   all-reduce of 2: LL 7.8 us, 87.7 GB/s; Simple 15.2 us, 240 GB/s: at 1.0226 MB; LL128 17.8 us never
 *   all-reduce of 8: LL 15 us, 50.114 GB/s; LL128 40.6 us, 126.17 GB/s: at 2.1282 MB;
 *                    Simple 56 us, 137.14 GB/s: at 24.29 MB
 *   all-gather of 4: LL 8.4 us, 116.93 GB/s; Simple 18.6 us, 320 GB/s: at 1.8798 MB; LL128 19.7 us never
 *   all-gather of 8: LL 10.8 us, 100.23 GB/s; LL128 27.3 us, 252.34 GB/s: at 2.7437 MB;
 *                    Simple 32.2 us, 274.29 GB/s: at 15.456 MB
 */
static void protocols_change_where_the_lines_cross(void **state)
{
    (void)state;
    static const struct {
        rlt_coll_kind kind;
        uint32_t n;
        uint64_t bytes;
        const char *name;
    } table[] = {
        {RLT_ALL_REDUCE, 2, 512, "LL"},         {RLT_ALL_REDUCE, 2, 1020000, "LL"},
        {RLT_ALL_REDUCE, 2, 1025000, "Simple"}, {RLT_ALL_REDUCE, 2, 1u << 30, "Simple"},
        {RLT_ALL_REDUCE, 8, 2120000, "LL"},     {RLT_ALL_REDUCE, 8, 2135000, "LL128"},
        {RLT_ALL_REDUCE, 8, 24200000, "LL128"}, {RLT_ALL_REDUCE, 8, 24400000, "Simple"},
        {RLT_ALL_GATHER, 4, 1875000, "LL"},     {RLT_ALL_GATHER, 4, 1885000, "Simple"},
        {RLT_ALL_GATHER, 8, 2735000, "LL"},     {RLT_ALL_GATHER, 8, 2750000, "LL128"},
        {RLT_ALL_GATHER, 8, 15400000, "LL128"}, {RLT_ALL_GATHER, 8, 15500000, "Simple"},
        {RLT_REDUCE_SCATTER, 4, 1875000, "LL"}, {RLT_REDUCE_SCATTER, 4, 1885000, "Simple"},
    };
    rlt_endpoint e = a100();
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        assert_string_equal(chosen(&e, table[i].kind, table[i].n, table[i].bytes), table[i].name);
}

static void a_protocol_that_is_set_is_taken(void **state)
{
    (void)state;
    rlt_endpoint e = a100();
    assert_int_equal(rlt_endpoint_set(&e, "protocol", "LL128", NULL), 0);
    assert_string_equal(chosen(&e, RLT_ALL_REDUCE, 2, 512), "LL128");
    assert_string_equal(chosen(&e, RLT_ALL_REDUCE, 2, 1u << 30), "LL128");
}

/* NCCL gives LL one thread block for each 512 threads x 8 bytes that a member sends: nBytes >= nc * 512 * 8 *
 * members. */
static void channels_grow_with_bytes(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        uint32_t channels;
    } table[] = {{512, 1}, {65528, 1}, {65536, 2}, {262144, 8}, {524288, 16}, {1048576, 24}};
    rlt_endpoint e = a100();
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        rlt_coll_request req = {.kind = RLT_ALL_GATHER, .n = 8, .bytes = table[i].bytes, .endpoint = &e};
        rlt_candidate all[RLT_MAX_CANDIDATES];
        assert_true(rlt_candidates(&req, all) > 0);
        assert_int_equal(all[0].channels, table[i].channels);
    }
}

static void without_a_tuner_all_is_as_usual(void **state)
{
    (void)state;
    rlt_endpoint e = a100();
    e.channels = 0;
    rlt_coll_request req = {.kind = RLT_ALL_REDUCE, .n = 8, .bytes = 1000, .endpoint = &e};
    rlt_candidate all[RLT_MAX_CANDIDATES];
    rlt_plan plan;
    assert_int_equal(rlt_candidates(&req, all), 0);
    assert_int_equal(rlt_plan_create(NULL, &req, &plan, NULL), 0);
    assert_false(plan.tuning.on);
    rlt_plan_free(&plan);
}

/* Over one switch or fat tree the default for a broadcast or reduce is never twice as slow as the best of the
 * table that is simulated. Above 256 members rings and direct are left out, which are slower by far. */
static void default_of_rooted_kinds(void **state)
{
    (void)state;
    static const char *const networks[] = {"switch:%u@50GB/s,500ns", "fat-tree:%u@7GB/s,2us,levels=3"};
    static const uint32_t sizes[] = {2, 3, 4, 6, 8, 16, 64, 256, 4096};
    static const uint64_t bytes[] = {1 << 10, 16 << 10, 64 << 10, 1 << 20, 16 << 20};
    static const char *const algorithms[] = {"tree", "ring", "direct", "hierarchical", "ps"};
    for (uint32_t i = 0; i < 2 * 9 * 5 * 2; i++) {
        char text[80];
        uint32_t n = sizes[i / 2 % 9];
        snprintf(text, sizeof text, networks[i % 2], n);
        test_net net = {.topology = text, .model = &rlt_net_flow};
        rlt_coll_kind kind = i / 18 % 2 ? RLT_REDUCE : RLT_BROADCAST;
        rlt_time best = test_collective(&net, kind, bytes[i / 36], NULL).time_ps, chosen = best;
        for (uint32_t a = 0; a < (n > 256 ? 1 : sizeof algorithms / sizeof *algorithms); a++) {
            net.algorithm = algorithms[a];
            rlt_time time = test_collective(&net, kind, bytes[i / 36], NULL).time_ps;
            best = time < best ? time : best;
        }
        if (chosen > 2 * best)
            fail_msg("%s of %llu bytes on %s takes %lld ps, the best %lld ps", rlt_coll_name(kind),
                     (unsigned long long)bytes[i / 36], text, (long long)chosen, (long long)best);
    }
}

/* Time of a message: max(w + fill min(w, buffers), message + lines + share w), minus w, the time on the link.
 * At 1 GB/s a byte takes 1000 ps. */
static void costs_of_a_tuned_message(void **state)
{
    (void)state;
    static const struct {
        const char *share, *fill, *fill_bytes, *line, *line_time, *wire;
        uint64_t bytes;
        uint32_t channels, together;
        rlt_time delay_ps;
        uint64_t wire_bytes;
    } table[] = {
        /* message 3 us, all of it beside the transfer */
        {"1", "0", "0", "0", "0", "1", 1000, 1, 1, 3000000, 1000},
        /* hidden: w = 1 us, 2 us remain; w = 5 us, none */
        {"0", "0", "0", "0", "0", "1", 1000, 1, 1, 2000000, 1000},
        {"0", "0", "0", "0", "0", "1", 5000, 1, 1, 0, 5000},
        /* half hidden: w = 4 us, 3 + 2 - 4 = 1 us */
        {"0.5", "0", "0", "0", "0", "1", 4000, 1, 1, 1000000, 4000},
        /* three messages at once: w = 3 us, 3 us are hidden */
        {"0", "0", "0", "0", "0", "1", 1000, 1, 3, 0, 1000},
        /* wire 5/4: w = 5 us on 4000 B */
        {"1", "0", "0", "0", "0", "1.25", 4000, 1, 1, 3000000, 5000},
        /* two channels of 8 KiB each: 2 lines of 4 KiB: 2 x 0.5 us */
        {"1", "0", "0", "4KiB", "0.5us", "1", 16384, 2, 1, 4000000, 16384},
        /* a line and one byte take two lines; a quarter of a line is free; half a line takes a third of its
         * time */
        {"1", "0", "0", "4KiB", "0.5us", "1", 4097, 1, 1, 4000000, 4097},
        {"1", "0", "0", "4KiB", "0.6us", "1", 1024, 1, 1, 3000000, 1024},
        {"1", "0", "0", "4KiB", "0.6us", "1", 2048, 1, 1, 3200000, 2048},
        /* fill: half of w = 8 us; then half of the buffers' 3 us
         * (two channels of 1500 B) but at least 3 us */
        {"1", "0.5", "64KiB", "0", "0", "1", 8000, 1, 1, 4000000, 8000},
        {"0", "0.5", "1500B", "0", "0", "1", 8000, 2, 1, 1500000, 8000},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        rlt_endpoint e = rlt_endpoint_default();
        rlt_tuning t = {.on = true,
                        .protocol = rlt_protocol_default(),
                        .channels = table[i].channels,
                        .together = table[i].together};
        const char *const set[][2] = {{"message", "3us"},      {"share", table[i].share},
                                      {"fill", table[i].fill}, {"fill_bytes", table[i].fill_bytes},
                                      {"line", table[i].line}, {"line_time", table[i].line_time},
                                      {"wire", table[i].wire}};
        for (size_t k = 0; k < sizeof set / sizeof *set; k++)
            set_protocol(&t.protocol, set[k][0], set[k][1]);
        rlt_message_cost c = rlt_tuning_cost(&e, &t, table[i].bytes, 1000000000);
        assert_int_equal(c.delay_ps, table[i].delay_ps);
        assert_int_equal(c.wire_bytes, table[i].wire_bytes);
    }
}

/* A ring all-gather of 4 by Simple over a switch: launch + start + 2.5 own share / bandwidth + 3 (message +
 * share / bandwidth). With one-byte elements, an all-reduce adds 3/4 of the bytes at `narrow`. */
static void a_whole_collective(void **state)
{
    (void)state;
    rlt_endpoint e = a100();
    static const char *const set[][2] = {
        {"launch", "7us"}, {"protocol", "Simple"}, {"Simple.start", "5us"}, {"Simple.message", "2us"},
        {"copy", "2.5"},   {"narrow", "3GB/s"},    {"Simple.wire", "5/4"}};
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        assert_int_equal(rlt_endpoint_set(&e, set[i][0], set[i][1], NULL), 0);
    struct {
        rlt_coll_kind kind;
        uint32_t element;
        rlt_time us;
    } table[] = {
        {RLT_ALL_GATHER, 0, 7 + 5 + 250 + 3 * (2 + 125)},
        {RLT_ALL_GATHER, 1, 7 + 5 + 250 + 3 * (2 + 125)},
        {RLT_REDUCE_SCATTER, 0, 7 + 5 + 250 + 3 * (2 + 125)},
        {RLT_ALL_REDUCE, 2, 7 + 5 + 250 + 6 * (2 + 125)},
        {RLT_ALL_REDUCE, 1, 7 + 5 + 250 + 6 * (2 + 125) + 1000},
    };
    /* 4 MB over links of 10 GB/s: a share of 1 MB takes 125 us with its wire bytes, and 250 us to copy. */
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        for (int alpha_beta = 0; alpha_beta < 2; alpha_beta++) {
            test_net net = {.topology = "switch:4@10GB/s,0ns",
                            .model = alpha_beta ? &rlt_net_alpha_beta : &rlt_net_flow,
                            .endpoint = &e,
                            .element = table[i].element};
            test_run run = test_collective(&net, table[i].kind, 4000000, NULL);
            assert_int_equal(run.time_ps, table[i].us * 1000000);
        }
    }
}

static rlt_time nvls_run(const char *topology, const char *fill, uint64_t bytes)
{
    rlt_endpoint e = a100();
    put(&e, "NVLS", "0ps", "0ps", "100GB/s");
    set_protocol(&e.protocols[3], "for", "nvls");
    set_protocol(&e.protocols[3], "fill", fill);
    set_protocol(&e.protocols[3], "fill_bytes", "1MiB");
    test_net net = {.topology = topology, .model = &rlt_net_alpha_beta, .algorithm = "nvls", .endpoint = &e};
    return test_collective(&net, RLT_ALL_REDUCE, bytes, NULL).time_ps;
}

/* NVLS: `fill` of the time of fill_bytes for each member, or of all bytes if those are fewer. At 1 GB/s,
 * 1 MiB takes 1048.576 us. */
static void nvls_fills_for_each_member(void **state)
{
    (void)state;
    static const struct {
        const char *topology;
        uint64_t MiB, filled;
    } table[] = {{"switch:4@1GB/s,0ns,in_network=reduce+multicast", 64, 4},
                 {"switch:8@1GB/s,0ns,in_network=reduce+multicast", 64, 8},
                 {"switch:8@1GB/s,0ns,in_network=reduce+multicast", 7, 7}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        rlt_time with = nvls_run(table[i].topology, "0.5", table[i].MiB << 20),
                 without = nvls_run(table[i].topology, "0", table[i].MiB << 20);
        assert_int_equal(with - without, table[i].filled * 1048576000 / 2);
    }
}

static void same_params(const rlt_param *p, const void *a, const void *b)
{
    char x[64], y[64];
    for (; p->name; p++)
        assert_string_equal(rlt_param_write(p, a, x, sizeof x), rlt_param_write(p, b, y, sizeof y));
}

/* Every setting of every protocol, as text. */
static void same_endpoints(const rlt_endpoint *a, const rlt_endpoint *b)
{
    assert_int_equal(a->n_protocols, b->n_protocols);
    same_params(rlt_endpoint_parameters(), a, b);
    for (uint32_t i = 0; i < a->n_protocols; i++) {
        assert_string_equal(a->protocols[i].name, b->protocols[i].name);
        same_params(rlt_protocol_parameters(), &a->protocols[i], &b->protocols[i]);
    }
}

static void exported_endpoints_read_back(void **state)
{
    (void)state;
    static const char *const names[] = {"hgx-h100-8", "dgx-a100-8", "gb300-tray-4", "dgx1-v100-8"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        rlt_topology *a, *b;
        char *text;
        rlt_error err = {0};
        assert_int_equal(rlt_topology_load(names[i], "topologies", &a, &err), 0);
        assert_int_equal(rlt_topology_export(a, "json", &text, &err), 0);
        if (rlt_topology_load(text, NULL, &b, &err) < 0)
            fail_msg("%s: %s", err.where, err.what);
        assert_true(rlt_topology_endpoint(a)->n_protocols >= 3);
        same_endpoints(rlt_topology_endpoint(a), rlt_topology_endpoint(b));
        free(text);
        rlt_topology_free(a);
        rlt_topology_free(b);
    }
}

static void wrong_settings_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value, *says;
    } table[] = {
        {"LL.mesage", "1us", "message"},   {"LL.message", "1", "unit"},
        {"LL.share", "-1", "from 0"},      {"LL.share", "", "from 0"},
        {"LL.share", "1001", "from 0"},    {"LL.wire", "0.9", "at least 1"},
        {"LL.wire", "8/16", "at least 1"}, {"LL.wire", "1/0", "at least 1"},
        {"LL.wire", "x", "at least 1"},    {"LL.for", "trees", "direct"},
        {"LL64.message", "1us", "LL64"},   {"thread_blocks", "1025", "0 to 1024"},
        {"thread_blocks", "-1", "thread"}, {"clock", "fast", "number"},
        {"copy", "GB/s", "number"},        {"narrow", "1", "unit"},
        {"LL.line", "4", "unit"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        rlt_endpoint e = a100();
        rlt_error err = {0};
        assert_true(rlt_endpoint_set(&e, table[i].name, table[i].value, &err) < 0);
        if (!strstr(err.what, table[i].says) && !strstr(err.where, table[i].says))
            fail_msg("%s = %s: %s: %s", table[i].name, table[i].value, err.where, err.what);
    }
}

/* The largest possible settings do not overflow. */
static void extremes_saturate(void **state)
{
    (void)state;
    rlt_endpoint e = a100();
    rlt_candidate all[RLT_MAX_CANDIDATES];
    e.protocols[0].tuner_Bps = e.protocols[1].tuner_Bps = e.protocols[2].tuner_Bps = 1;
    rlt_coll_request req = {
        .kind = RLT_ALL_REDUCE, .n = RLT_MAX_MEMBERS, .bytes = (uint64_t)1 << 48, .endpoint = &e};
    assert_true(rlt_candidates(&req, all) >= 3);
    for (int i = 0; i < 3; i++)
        assert_true(all[i].estimate_ps == RLT_TIME_MAX);
    rlt_tuning t = {.on = true, .protocol = rlt_protocol_default(), .channels = 1, .together = UINT32_MAX};
    t.protocol.message_ps = t.protocol.line_ps = RLT_TIME_MAX;
    t.protocol.line_bytes = 1;
    t.protocol.fill_ppm = t.protocol.share_ppm = 1000000000;
    t.protocol.fill_bytes = UINT64_MAX;
    rlt_message_cost c = rlt_tuning_cost(&e, &t, UINT64_MAX, 1);
    assert_true(c.delay_ps == RLT_TIME_MAX);
    assert_true(c.wire_bytes == UINT64_MAX);
}

/* The members of one switch that adds and copies; 1 GB/s. */
static void open_switch(test_group *s, uint32_t members)
{
    char text[80];
    snprintf(text, sizeof text, "switch:%u@1GB/s,0ns,in_network=reduce+multicast", members);
    test_group_open(s, text, 0);
}

/* An endpoint with one protocol for each kind of algorithm, of which the tuner expects 1 us, 1 us for a step, and
 * 1 GB/s. */
static rlt_endpoint simple_tuner(void)
{
    rlt_endpoint e = rlt_endpoint_default();
    e.channels = 24;
    put(&e, "S", "1us", "1us", "1GB/s");
    put(&e, "D", "1us", "1us", "1GB/s");
    put(&e, "N", "1us", "1us", "1GB/s");
    set_protocol(&e.protocols[1], "for", "direct");
    set_protocol(&e.protocols[2], "for", "nvls");
    return e;
}

/* 4 members, 4000 bytes, which take 4 us: 1 us + steps + 4 us * steps / 4. NVLS: 4/3 of the time of the bytes. */
static void predictions_by_hand(void **state)
{
    static const struct {
        rlt_coll_kind kind;
        const char *algorithm;
        uint32_t protocol;
        rlt_time us, nvls_us;
    } rows[] = {{RLT_ALL_REDUCE, "ring", 0, 1 + 6 + 6, 1 + 6 + 8},
                {RLT_ALL_GATHER, "ring", 0, 1 + 3 + 3, 0},
                {RLT_REDUCE_SCATTER, "ring", 0, 1 + 3 + 3, 0},
                {RLT_BROADCAST, "ring", 0, 1 + 4 + 4, 0},
                {RLT_REDUCE, "ring", 0, 1 + 4 + 4, 0},
                {RLT_ALL_TO_ALL, "direct", 1, 1 + 3 + 3, 0}};
    test_group s;
    rlt_endpoint e = simple_tuner();
    (void)state;
    open_switch(&s, 4);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_candidate all[RLT_MAX_CANDIDATES];
        rlt_coll_request req = rlt_group_request(&s.g, rows[i].kind, 4000);
        req.endpoint = &e;
        uint32_t n = rlt_candidates(&req, all), nvls = 0;
        assert_true(n > 0);
        assert_string_equal(all[0].algorithm->name, rows[i].algorithm);
        assert_int_equal(all[0].protocol, rows[i].protocol);
        assert_int_equal(all[0].estimate_ps, rows[i].us * RLT_US);
        assert_null(all[0].excluded);
        for (uint32_t k = 1; k < n; k++, nvls++) {
            assert_int_equal(all[k].algorithm->served_by, RLT_FOR_NVLS);
            assert_int_equal(all[k].protocol, 2);
            assert_int_equal(all[k].estimate_ps, rows[i].nvls_us * RLT_US);
        }
        assert_int_equal(nvls > 0, rows[i].nvls_us > 0);
    }
    e.protocols[0].tuner_Bps = 0;
    rlt_candidate all[RLT_MAX_CANDIDATES];
    rlt_coll_request req = rlt_group_request(&s.g, RLT_ALL_GATHER, 4000);
    req.endpoint = &e;
    assert_int_equal(rlt_candidates(&req, all), 1);
    assert_int_equal(all[0].estimate_ps, RLT_TIME_MAX);
    test_group_close(&s);
}

/* A protocol's limit counts a member's share, rounded up; the switch adds no single bytes; what is set excludes the
 * others of its sort. */
static void reasons_against(void **state)
{
    static const struct {
        rlt_coll_kind kind;
        uint64_t bytes;
        bool allowed;
    } limits[] = {{RLT_ALL_GATHER, 4000, true}, {RLT_ALL_GATHER, 4001, false},
                  {RLT_BROADCAST, 1000, true},  {RLT_BROADCAST, 1001, false},
                  {RLT_REDUCE, 1001, false},    {RLT_REDUCE_SCATTER, 4000, true}};
    rlt_endpoint e = simple_tuner();
    rlt_candidate all[RLT_MAX_CANDIDATES];
    (void)state;
    e.protocols[0].limit_bytes = 1000;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        rlt_coll_request req = {.kind = limits[i].kind, .n = 4, .bytes = limits[i].bytes, .endpoint = &e};
        assert_int_equal(rlt_candidates(&req, all), 1);
        if (limits[i].allowed)
            assert_null(all[0].excluded);
        else
            assert_string_equal(all[0].excluded, "messages above its limit");
    }
    e = simple_tuner();
    test_group s;
    open_switch(&s, 4);
    for (uint32_t element = 0; element < 3; element++) {
        rlt_coll_request req = rlt_group_request(&s.g, RLT_ALL_REDUCE, 4000);
        req.endpoint = &e;
        req.element = element;
        uint32_t n = rlt_candidates(&req, all);
        assert_true(n > 1);
        assert_ptr_equal(all[0].algorithm, &rlt_ring);
        for (uint32_t k = 1; k < n; k++)
            assert_int_equal(all[k].excluded != NULL, element == 1);
        assert_true(element != 1 || strstr(all[1].excluded, "elements of one byte"));
    }
    /* NVLS is set: rings are out; direct messages are another sort */
    e.protocol = 2;
    rlt_coll_request sum = rlt_group_request(&s.g, RLT_ALL_REDUCE, 4000);
    sum.endpoint = &e;
    uint32_t n = rlt_candidates(&sum, all);
    assert_int_equal(all[0].protocol, 2);
    assert_ptr_equal(all[n - 1].algorithm == &rlt_ring ? all[n - 1].algorithm : all[1].algorithm, &rlt_ring);
    for (uint32_t k = 0; k < n; k++)
        assert_int_equal(all[k].excluded != NULL, all[k].algorithm == &rlt_ring);
    e.protocol = 0; /* that of rings */
    n = rlt_candidates(&sum, all);
    for (uint32_t k = 0; k < n; k++)
        assert_int_equal(all[k].excluded != NULL, all[k].algorithm != &rlt_ring);
    e.protocol = 2;
    sum.kind = RLT_ALL_TO_ALL;
    assert_int_equal(rlt_candidates(&sum, all), 1);
    assert_null(all[0].excluded);
    e.protocol = 1;
    sum.kind = RLT_ALL_GATHER;
    assert_int_equal(rlt_candidates(&sum, all), 1);
    assert_null(all[0].excluded);
    test_group_close(&s);
}

/* Rings take a channel for each full channel_bytes of a message; direct messages for each that is begun, of the
 * channels that a peer has. */
static void channels_by_hand(void **state)
{
    static const struct {
        rlt_coll_kind kind;
        uint32_t n, peer_channels;
        uint64_t channel_bytes, bytes;
        uint32_t channels;
    } rows[] = {
        {RLT_BROADCAST, 2, 0, 0, 1, 24},        {RLT_BROADCAST, 2, 0, 1000, 999, 1},
        {RLT_BROADCAST, 2, 0, 1000, 1999, 1},   {RLT_BROADCAST, 2, 0, 1000, 2000, 2},
        {RLT_REDUCE, 2, 0, 1000, 24000, 24},    {RLT_REDUCE, 2, 32, 1000, 25000, 24},
        {RLT_ALL_TO_ALL, 8, 32, 0, 8, 4},       {RLT_ALL_TO_ALL, 8, 32, 1000, 8000, 1},
        {RLT_ALL_TO_ALL, 8, 32, 1000, 8001, 2}, {RLT_ALL_TO_ALL, 8, 0, 0, 8, 24},
        {RLT_ALL_TO_ALL, 8, 7, 0, 8, 1},        {RLT_SEND_RECV, 2, 32, 0, 8, 16},
        {RLT_SEND_RECV, 2, 32, 1000, 5001, 6},  {RLT_ALL_TO_ALL, 8, 32, 1000, 80000, 4},
        {RLT_ALL_TO_ALL, 8, 32, 1000, 0, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_endpoint e = simple_tuner();
        rlt_candidate all[RLT_MAX_CANDIDATES];
        e.peer_channels = rows[i].peer_channels;
        e.protocols[0].channel_bytes = e.protocols[1].channel_bytes = rows[i].channel_bytes;
        rlt_coll_request req = {.kind = rows[i].kind, .n = rows[i].n, .bytes = rows[i].bytes, .endpoint = &e};
        assert_true(rlt_candidates(&req, all) > 0);
        if (all[0].channels != rows[i].channels)
            fail_msg("row %zu: %u channels", i, all[0].channels);
    }
}

/* Estimates of 5, 3, 3 and 4 us: the first of the least comes to the front, the others stay in order. */
static void the_best_comes_first(void **state)
{
    rlt_endpoint e = rlt_endpoint_default();
    rlt_candidate all[RLT_MAX_CANDIDATES];
    (void)state;
    e.channels = 1;
    put(&e, "a", "5us", "0us", "1GB/s");
    put(&e, "b", "3us", "0us", "1GB/s");
    put(&e, "c", "3us", "0us", "1GB/s");
    put(&e, "d", "4us", "0us", "1GB/s");
    rlt_coll_request req = {.kind = RLT_ALL_GATHER, .n = 2, .endpoint = &e};
    static const uint32_t all_allowed[] = {1, 0, 2, 3}, none_of_three[] = {3, 0, 1, 2};
    assert_int_equal(rlt_candidates(&req, all), 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(all[i].protocol, all_allowed[i]);
    e.protocol = 3;
    assert_int_equal(rlt_candidates(&req, all), 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(all[i].protocol, none_of_three[i]);
}

static void who_is_tuned(void **state)
{
    rlt_endpoint e = simple_tuner();
    rlt_coll_request req = {.kind = RLT_ALL_GATHER, .n = 2, .endpoint = &e};
    (void)state;
    assert_ptr_equal(rlt_request_endpoint(&req), &e);
    req.n = 1;
    assert_null(rlt_request_endpoint(&req));
    req.n = 2;
    e.n_protocols = 0;
    assert_null(rlt_request_endpoint(&req));
    req.endpoint = NULL;
    assert_null(rlt_request_endpoint(&req));
    test_group s;
    test_group_open(&s, "hgx-h100-8", 0);
    req = rlt_group_request(&s.g, RLT_ALL_GATHER, 8);
    assert_ptr_equal(rlt_request_endpoint(&req), rlt_topology_endpoint(s.t));
    test_group_close(&s);
}

/* Makes the plan of four members of a switch, or of unknown ones, and returns its tuning. */
static rlt_tuning tuned(const test_group *s, const rlt_endpoint *e, const char *algorithm, rlt_coll_kind kind,
                        uint64_t bytes, uint32_t element)
{
    rlt_coll_request req = {.kind = kind, .n = 4, .bytes = bytes};
    rlt_plan plan;
    rlt_error err = {0};
    if (s)
        req = rlt_group_request(&s->g, kind, bytes);
    req.endpoint = e;
    req.element = element;
    if (rlt_plan_create(rlt_algorithm_find(algorithm, NULL), &req, &plan, &err))
        fail_msg("%s: %s", err.where, err.what);
    rlt_tuning t = plan.tuning;
    rlt_plan_free(&plan);
    return t;
}

/* 5 us, and 1 us for each other member; 16 KiB are 4 KiB for a member: a line of 0.5 us. At 1 GB/s a byte takes
 * 1000 ps; the copy of the own share takes half of that. */
static void setups_by_hand(void **state)
{
    const rlt_time own = 4096 * 1000 / 2,
                   line = 750000; /* one line and a half for each line that is copied */
    static const struct {
        rlt_coll_kind kind;
        bool copies;
    } rows[] = {{RLT_ALL_REDUCE, true},
                {RLT_REDUCE_SCATTER, true},
                {RLT_ALL_GATHER, true},
                {RLT_BROADCAST, false},
                {RLT_REDUCE, false}};
    rlt_endpoint e = simple_tuner();
    test_group s;
    (void)state;
    open_switch(&s, 4);
    e.protocols[0].start_ps = 5 * RLT_US;
    e.protocols[0].member_ps = RLT_US;
    e.copy_ppm = 500000;
    e.copy_lines_ppm = 1500000;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        e.protocols[0].line_bytes = 0;
        rlt_tuning t = tuned(&s, &e, "ring", rows[i].kind, 16384, 0);
        assert_true(t.on && t.index == 0 && t.together == 1 && t.channels == 24 && !t.far);
        assert_int_equal(t.setup_ps, 8 * RLT_US + (rows[i].copies ? own : 0));
        /* where the network is unknown, so is the time of a copy */
        assert_int_equal(tuned(NULL, &e, "ring", rows[i].kind, 16384, 0).setup_ps, 8 * RLT_US);
        e.protocols[0].line_bytes = 4096;
        e.protocols[0].line_ps = 500000;
        e.protocols[0].channel_bytes = 1 << 20; /* one channel */
        assert_int_equal(tuned(NULL, &e, "ring", rows[i].kind, 16384, 0).setup_ps,
                         8 * RLT_US + (rows[i].copies ? line : 0));
        e.protocols[0].channel_bytes = 0;
    }
    e.protocols[0].line_bytes = 0;
    /* one-byte elements that are added: 3/4 of 16 KiB at 1 GB/s; 3 shares of 4 KiB */
    e.narrow_Bps = 1000000000;
    e.copy_ppm = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool adds = rows[i].kind != RLT_ALL_GATHER && rows[i].kind != RLT_BROADCAST;
        assert_int_equal(tuned(NULL, &e, "ring", rows[i].kind, 16384, 1).setup_ps,
                         8 * RLT_US + (adds ? 3 * 4096 * 1000 : 0));
        assert_int_equal(tuned(NULL, &e, "ring", rows[i].kind, 16384, 2).setup_ps, 8 * RLT_US);
    }
    /* direct messages: three at once; the copy of a share */
    e.copy_ppm = 500000;
    rlt_tuning t = tuned(&s, &e, "direct", RLT_ALL_TO_ALL, 16384, 0);
    assert_int_equal(t.together, 3);
    assert_int_equal(t.index, 1);
    assert_int_equal(t.setup_ps, own);
    /* NVLS copies nothing; half of the time of the 1000 bytes that fill it, for each of 4 members */
    e.protocols[2].fill_ppm = 500000;
    e.protocols[2].fill_bytes = 1000;
    t = tuned(&s, &e, "nvls", RLT_ALL_REDUCE, 16384, 0);
    assert_int_equal(t.setup_ps, 4 * 1000 * 1000 / 2);
    assert_int_equal(t.protocol.fill_ppm, 0);
    e.protocols[2].fill_bytes = 4096; /* all bytes, which are no fewer */
    assert_int_equal(tuned(&s, &e, "nvls", RLT_ALL_REDUCE, 16384, 0).setup_ps, 16384 * 1000 / 2);
    test_group_close(&s);
}

/* At 2 GHz kernel times halve; a line that is summed takes 1.5 times as long. No allowed protocol: no tuning. */
static void protocols_are_adapted(void **state)
{
    rlt_endpoint e = simple_tuner();
    (void)state;
    e.clock_ppm = 2000000;
    e.reduce_lines_ppm = 1500000;
    e.protocols[0].message_ps = 2 * RLT_US;
    e.protocols[0].start_ps = 4 * RLT_US;
    e.protocols[0].member_ps = 6 * RLT_US;
    e.protocols[0].line_ps = 8 * RLT_US;
    rlt_tuning t = tuned(NULL, &e, "ring", RLT_ALL_GATHER, 16384, 0);
    assert_int_equal(t.protocol.message_ps, RLT_US);
    assert_int_equal(t.protocol.start_ps, 2 * RLT_US);
    assert_int_equal(t.protocol.member_ps, 3 * RLT_US);
    assert_int_equal(t.protocol.line_ps, 4 * RLT_US);
    assert_int_equal(t.setup_ps, (2 + 3 * 3) * RLT_US);
    static const rlt_coll_kind sums[] = {RLT_ALL_REDUCE, RLT_REDUCE_SCATTER, RLT_REDUCE};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        assert_int_equal(tuned(NULL, &e, "ring", sums[i], 16384, 0).protocol.line_ps, 6 * RLT_US);
    assert_int_equal(tuned(NULL, &e, "ring", RLT_BROADCAST, 16384, 0).protocol.line_ps, 4 * RLT_US);
    e.protocols[0].limit_bytes = 1;
    assert_false(tuned(NULL, &e, "ring", RLT_ALL_GATHER, 16384, 0).on);
    /* members whose time overflows */
    e = simple_tuner();
    e.protocols[0].member_ps = RLT_TIME_MAX / 2;
    assert_true(tuned(NULL, &e, "ring", RLT_ALL_GATHER, 16384, 0).setup_ps == RLT_TIME_MAX);
}

static void texts_of_candidates(void **state)
{
    static const char other[] = "another protocol is set", limit[] = "messages above its limit";
    rlt_endpoint e = a100();
    put(&e, "NVLS", "0ps", "0ps", "100GB/s");
    e.protocols[3].serves = RLT_FOR_NVLS;
    rlt_candidate all[] = {
        {.algorithm = &rlt_ring, .protocol = 1, .channels = 24, .estimate_ps = 40600000},
        {.algorithm = &rlt_tree, .protocol = 0, .channels = 1, .estimate_ps = RLT_TIME_MAX},
        {.algorithm = &rlt_ring, .protocol = 0, .channels = 2, .excluded = other},
        {.algorithm = &rlt_nvls, .protocol = 3, .channels = 2, .excluded = limit},
        {.algorithm = &rlt_tree, .protocol = 2, .channels = 2, .excluded = other},
    };
    const struct {
        uint32_t first, n;
        const char *chosen, *excluded;
    } rows[] = {
        {0, 5, "ring, LL128, 24 channels: 40.6 us; tree, LL, 1 channel",
         "ring LL, tree Simple (another protocol is set); nvls (messages above its limit)"},
        {0, 1, "ring, LL128, 24 channels: 40.6 us", ""},
        {2, 1, "no candidate", "ring LL (another protocol is set)"},
        {3, 2, "no candidate", "nvls (messages above its limit); tree Simple (another protocol is set)"},
        {0, 0, "no candidate", ""}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[200] = "before";
        rlt_candidates_text(all + rows[i].first, rows[i].n, &e, text, sizeof text);
        assert_string_equal(text, rows[i].chosen);
        rlt_excluded_text(all + rows[i].first, rows[i].n, &e, text, sizeof text);
        assert_string_equal(text, rows[i].excluded);
        for (size_t size = 0; size < 40; size++) { /* a prefix, and nothing behind it */
            char part[48];
            memset(part, '#', sizeof part);
            rlt_candidates_text(all + rows[i].first, rows[i].n, &e, part, size);
            assert_true(size == 0 || strncmp(part, rows[i].chosen, size - 1) == 0);
            assert_true(size == 0 || strlen(part) < size);
            assert_int_equal(part[size], '#');
            memset(part, '#', sizeof part);
            rlt_excluded_text(all + rows[i].first, rows[i].n, &e, part, size);
            assert_true(size == 0 || strncmp(part, rows[i].excluded, size - 1) == 0);
            assert_int_equal(part[size], '#');
        }
    }
}

/* Who chooses: the endpoint's constants, or a version that knows its GPUs. */
static void who_chooses(void **state)
{
    static const struct {
        const char *topology, *library;
        rlt_coll_kind kind;
        const char *text; /* of constants: no version can be asked for */
    } rows[] = {
        {"hgx-h100-8*rail:2@400Gbps,500ns", NULL, RLT_ALL_REDUCE, "NCCL 2.30"},
        {"hgx-h100-8*rail:2@400Gbps,500ns", "2.23.4", RLT_ALL_REDUCE, "NCCL 2.23"},
        {"hgx-h100-8*rail:2@400Gbps,500ns", "2.31", RLT_BROADCAST, "NCCL 2.31, constants of 2.30.7"},
        {"hgx-h100-8*rail:2@400Gbps,500ns", "2.23", RLT_ALL_TO_ALL, NULL},
        {"hgx-h100-8*rail:2@400Gbps,500ns", "rccl", RLT_ALL_REDUCE, NULL},
        {"hgx-h100-8", "2.23", RLT_ALL_REDUCE, NULL},
        {"mi300x-8", "rccl", RLT_ALL_REDUCE, "RCCL, constants of MI300X alone"},
        {"mi300x-8", "2.23", RLT_ALL_REDUCE, NULL},
        {"switch:4@1GB/s,0ns", "2.23", RLT_ALL_REDUCE, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        test_group s;
        char text[120];
        rlt_error err = {0};
        test_group_open(&s, rows[i].topology, 0);
        rlt_coll_request req = rlt_group_request(&s.g, rows[i].kind, 1 << 20);
        assert_int_equal(rlt_library_check(&req, &err), 0); /* nothing is asked for */
        if (rows[i].library)
            assert_int_equal(rlt_library_read(rows[i].library, &req.library, &err), 0);
        assert_int_equal(rlt_chooser(&req, text, sizeof text), rows[i].text != NULL);
        assert_string_equal(text, rows[i].text ? rows[i].text : "constants of the endpoint");
        assert_int_equal(rlt_library_check(&req, &err), rows[i].text ? 0 : RLT_EUNSUPPORTED);
        if (!rows[i].text)
            assert_true(strcmp(err.where, "auto") == 0 && strstr(err.what, "a version of NCCL chooses for"));
        test_group_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(protocols_change_where_the_lines_cross),
        cmocka_unit_test(a_protocol_that_is_set_is_taken),
        cmocka_unit_test(channels_grow_with_bytes),
        cmocka_unit_test(without_a_tuner_all_is_as_usual),
        cmocka_unit_test(default_of_rooted_kinds),
        cmocka_unit_test(costs_of_a_tuned_message),
        cmocka_unit_test(a_whole_collective),
        cmocka_unit_test(nvls_fills_for_each_member),
        cmocka_unit_test(exported_endpoints_read_back),
        cmocka_unit_test(wrong_settings_are_refused),
        cmocka_unit_test(extremes_saturate),
        cmocka_unit_test(predictions_by_hand),
        cmocka_unit_test(reasons_against),
        cmocka_unit_test(channels_by_hand),
        cmocka_unit_test(the_best_comes_first),
        cmocka_unit_test(who_is_tuned),
        cmocka_unit_test(setups_by_hand),
        cmocka_unit_test(protocols_are_adapted),
        cmocka_unit_test(texts_of_candidates),
        cmocka_unit_test(who_chooses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
