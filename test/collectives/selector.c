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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
