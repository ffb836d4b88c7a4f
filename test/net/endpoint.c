/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Endpoint settings and message costs, compared with numbers computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "net/endpoint/endpoint.h"
#include "net/endpoint/internode.h"
#include "net/endpoint/version.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/time.h"

static rlt_protocol protocol(const char *name, rlt_time message_ps, uint32_t num, uint32_t den)
{
    rlt_protocol p = rlt_protocol_default();
    snprintf(p.name, sizeof p.name, "%s", name);
    p.message_ps = message_ps;
    p.wire_num = num;
    p.wire_den = den;
    return p;
}

/* NCCL's protocols on NVLink: latency of a step in us, wire bytes per data byte. */
static rlt_endpoint nccl(void)
{
    rlt_endpoint e = rlt_endpoint_default();
    e.n_protocols = 3;
    e.protocols[0] = protocol("LL", 600000, 16, 8);
    e.protocols[1] = protocol("LL128", 1900000, 128, 120);
    e.protocols[2] = protocol("Simple", 3400000, 1, 1);
    return e;
}

static void defaults_cost_nothing(void **state)
{
    (void)state;
    rlt_endpoint e = rlt_endpoint_default();
    assert_int_equal(e.injection, RLT_INJECT_NIC);
    rlt_message_cost c = rlt_endpoint_cost(&e, 123456789, 50000000000u);
    assert_int_equal(c.delay_ps, 0);
    assert_int_equal(c.wire_bytes, 123456789);
}

static void settings_by_name(void **state)
{
    (void)state;
    rlt_endpoint e = nccl();
    assert_int_equal(rlt_endpoint_set(&e, "injection", "blocking", NULL), 0);
    assert_int_equal(e.injection, RLT_INJECT_BLOCKING);
    assert_int_equal(rlt_endpoint_set(&e, "launch", "6.6us", NULL), 0);
    assert_int_equal(e.launch_ps, 6600000);
    assert_int_equal(rlt_endpoint_set(&e, "message", "1us", NULL), 0);
    assert_int_equal(e.message_ps, 1000000);
    assert_int_equal(rlt_endpoint_set(&e, "protocol", "ll128", NULL), 0);
    assert_int_equal(e.protocol, 1);
    assert_int_equal(rlt_endpoint_set(&e, "protocol", "auto", NULL), 0);
    assert_int_equal(e.protocol, RLT_PROTOCOL_AUTO);
    static const struct {
        const char *text;
        uint32_t fs;
    } bytes[] = {{"0.5ps", 500}, {"0", 0},        {"2.5 ps", 2500}, {"1ns", 1000000},
                 {"7fs", 7},     {"0.0004ps", 0}, {"0.0006ps", 1}};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        assert_int_equal(rlt_endpoint_set(&e, "byte", bytes[i].text, NULL), 0);
        assert_int_equal(e.byte_fs, bytes[i].fs);
    }
}

static void wrong_settings_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value;
        int rc;
    } table[] = {
        {"lunch", "1us", RLT_EUSAGE},        {"injection", "NIC", RLT_EUSAGE},
        {"protocol", "LL64", RLT_EUSAGE},    {"byte", "1", RLT_EMALFORMED},
        {"byte", "ps", RLT_EMALFORMED},      {"byte", "-1ps", RLT_EMALFORMED},
        {"byte", "1.2.3ps", RLT_EMALFORMED}, {"byte", "5us", RLT_ERANGE},
        {"byte", "", RLT_EMALFORMED},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        rlt_endpoint e = nccl(), before = e;
        rlt_error err = {0};
        assert_int_equal(rlt_endpoint_set(&e, table[i].name, table[i].value, &err), table[i].rc);
        assert_true(err.what[0] != 0);
        assert_int_equal(memcmp(&e, &before, sizeof e), 0);
    }
    rlt_endpoint e = nccl();
    rlt_error err = {0};
    assert_true(rlt_endpoint_set(&e, "launch", "5", &err) < 0);
    assert_true(rlt_endpoint_set(&e, "message", "-5us", NULL) < 0);
    err = (rlt_error){0};
    assert_int_equal(rlt_endpoint_set(&e, "temperature", "red", &err), RLT_EUSAGE);
    assert_non_null(strstr(err.what, "an endpoint has injection, launch, message, byte, protocol"));
    err = (rlt_error){0};
    assert_int_equal(rlt_endpoint_set(&e, "lunch", "1us", &err), RLT_EUSAGE);
    assert_string_equal(err.what, "unknown setting of an endpoint; did you mean 'launch'?");
    err = (rlt_error){0};
    assert_int_equal(rlt_endpoint_set(&e, "protocol", "x", &err), RLT_EUSAGE);
    assert_non_null(strstr(err.what, "auto, LL, LL128, Simple"));
}

static void costs_by_hand(void **state)
{
    (void)state;
    rlt_endpoint e = nccl();
    e.protocol = 0;
    rlt_message_cost c = rlt_endpoint_cost(&e, 1001, 1);
    assert_int_equal(c.wire_bytes, 2002);
    assert_int_equal(c.delay_ps, 600000);
    e.protocol = 1;
    e.message_ps = 100;
    e.byte_fs = 2500;
    c = rlt_endpoint_cost(&e, 121, 1);
    assert_int_equal(c.wire_bytes, 130);               /* 129.07 rounded up */
    assert_int_equal(c.delay_ps, 1900000 + 100 + 303); /* 302.5 ps rounded up */
    e.byte_fs = 499;
    assert_int_equal(rlt_endpoint_cost(&e, 1, 1).delay_ps, 1900000 + 100);
}

/* On 1 GB/s (1000 ps a byte), m bytes cost 0.6 us + 2000 m with LL, 1.9 us + 1066.7 m with LL128, 3.4 us +
 * 1000 m with Simple. LL is best below 1392 B, LL128 up to 22500 B. */
static void auto_takes_the_cheapest(void **state)
{
    (void)state;
    rlt_endpoint e = nccl();
    static const struct {
        uint64_t bytes;
        rlt_time delay_ps;
    } table[] = {{0, 600000},      {1390, 600000},   {1395, 1900000},
                 {22440, 1900000}, {22560, 3400000}, {1u << 30, 3400000}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        assert_int_equal(rlt_endpoint_cost(&e, table[i].bytes, 1000000000).delay_ps, table[i].delay_ps);
}

static void extremes_saturate(void **state)
{
    (void)state;
    rlt_endpoint e = nccl();
    e.byte_fs = UINT32_MAX;
    e.protocol = 0;
    rlt_message_cost c = rlt_endpoint_cost(&e, UINT64_MAX, 1);
    assert_true(c.delay_ps == RLT_TIME_MAX);
    assert_true(c.wire_bytes == UINT64_MAX);
}

/* Lines of 1000 bytes that take 750 ps: none up to a quarter, 1 ps a byte up to a line, then whole lines. */
static void lines_by_hand(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        uint32_t channels;
        rlt_time ps;
    } rows[] = {{0, 1, 0},       {250, 1, 0},     {251, 1, 1},     {500, 1, 250},   {999, 1, 749},
                {1000, 1, 750},  {1001, 1, 1500}, {2000, 1, 1500}, {2001, 1, 2250}, {2000, 2, 750},
                {2001, 2, 1500}, {500, 2, 0},     {501, 2, 1}};
    rlt_protocol p = rlt_protocol_default();
    assert_int_equal(rlt_protocol_lines(&p, 1000000, 1), 0);
    p.line_bytes = 1000;
    p.line_ps = 750;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(rlt_protocol_lines(&p, rows[i].bytes, rows[i].channels), rows[i].ps);
    p.line_ps = RLT_TIME_MAX;
    assert_true(rlt_protocol_lines(&p, 5000, 1) == RLT_TIME_MAX);
}

/* 10000 bytes on 1 GB/s: w = 10 us, unless the row says otherwise. */
static void tuned_messages_by_hand(void **state)
{
    (void)state;
    const rlt_time us = 1000000;
    const struct {
        rlt_time message;
        uint32_t share, fill; /* per cent */
        uint64_t fill_bytes;
        uint32_t channels, together, wire;
        uint64_t bytes, Bps;
        rlt_time delay;
        uint64_t wire_bytes;
    } rows[] = {
        {4 * us, 100, 0, 0, 1, 1, 1, 10000, 1000000000, 4 * us, 10000}, /* the example of the header */
        {4 * us, 50, 0, 0, 1, 1, 1, 10000, 1000000000, 0, 10000},       /* 4 + 5 is less than 10 */
        {7 * us, 50, 0, 0, 1, 1, 1, 10000, 1000000000, 2 * us, 10000},
        {4 * us, 100, 0, 0, 1, 1, 1, 10000, 0, 4 * us, 10000}, /* nowhere to be carried */
        {4 * us, 100, 0, 0, 1, 1, 1, 0, 1000000000, 4 * us, 0},
        {0, 50, 25, 4000, 2, 1, 1, 10000, 1000000000, 2 * us, 10000}, /* a quarter of 8 us */
        {0, 50, 25, 4000, 3, 1, 1, 10000, 1000000000, 2 * us + us / 2,
         10000},                                                           /* 12000 is more than there is */
        {0, 50, 25, 4000, 2, 1, 2, 10000, 1000000000, 4 * us, 20000},      /* the buffer's wire bytes, too */
        {0, 50, 25, 4000, 2, 3, 1, 10000, 1000000000, 6 * us, 10000},      /* of three messages */
        {9 * us, 50, 25, 4000, 2, 1, 1, 10000, 1000000000, 4 * us, 10000}, /* 9 + 5 - 10 is more than 2 */
        {15 * us, 50, 0, 0, 1, 2, 1, 10000, 1000000000, 5 * us, 10000},    /* 15 + 10 - 20 */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_endpoint e = rlt_endpoint_default();
        rlt_tuning t = {.on = true, .channels = rows[i].channels, .together = rows[i].together};
        t.protocol = protocol("x", rows[i].message, rows[i].wire, 1);
        t.protocol.share_ppm = rows[i].share * 10000;
        t.protocol.fill_ppm = rows[i].fill * 10000;
        t.protocol.fill_bytes = rows[i].fill_bytes;
        rlt_message_cost c = rlt_tuning_cost(&e, &t, rows[i].bytes, rows[i].Bps);
        if (c.delay_ps != rows[i].delay || c.wire_bytes != rows[i].wire_bytes)
            fail_msg("row %zu: %lld ps, %llu bytes", i, (long long)c.delay_ps,
                     (unsigned long long)c.wire_bytes);
        /* The endpoint's own delays add: 3 ns, and half a picosecond a byte. */
        e.message_ps = 3000;
        e.byte_fs = 500;
        assert_int_equal(rlt_tuning_cost(&e, &t, rows[i].bytes, rows[i].Bps).delay_ps,
                         rows[i].delay + 3000 + (rlt_time)rows[i].bytes / 2);
    }
}

/* What pieces of a larger message cost: lines, ramps; and single bytes, rounded. */
static void pieces_by_hand(void **state)
{
    (void)state;
    rlt_endpoint e = rlt_endpoint_default();
    rlt_tuning t = {.on = true, .channels = 2, .together = 1};
    t.protocol = protocol("x", 0, 1, 1);
    t.protocol.share_ppm = 1000000;
    t.protocol.line_bytes = 1000;
    t.protocol.line_ps = 750;
    assert_int_equal(rlt_tuning_cost(&e, &t, 1000, 1000000000).delay_ps, 250);
    t.line_least = 1000; /* for each channel */
    assert_int_equal(rlt_tuning_cost(&e, &t, 1000, 1000000000).delay_ps, 750);
    assert_int_equal(rlt_tuning_cost(&e, &t, 4000, 1000000000).delay_ps, 1500);
    t.line_least = t.protocol.line_bytes = 0;
    t.ramp_ppm = 250000;
    assert_int_equal(rlt_tuning_cost(&e, &t, 1000, 1000000000).delay_ps, 250000);
    assert_int_equal(rlt_tuning_cost(&e, &t, 1000, 0).delay_ps, 0);
    t.ramp_least = 4000;
    assert_int_equal(rlt_tuning_cost(&e, &t, 1000, 1000000000).delay_ps, 1000000);
    assert_int_equal(rlt_tuning_cost(&e, &t, 8000, 1000000000).delay_ps, 2000000);
    t.ramp_ppm = 0;
    e.byte_fs = 1;
    assert_int_equal(rlt_tuning_cost(&e, &t, 499, 0).delay_ps, 0);
    assert_int_equal(rlt_tuning_cost(&e, &t, 500, 0).delay_ps, 1);
    t.protocol.message_ps = 10; /* no bandwidth: nothing hides it */
    t.protocol.share_ppm = 0;
    assert_int_equal(rlt_tuning_cost(&e, &t, 499, 0).delay_ps, 10);
    t.protocol.message_ps = 0;
    t.protocol.share_ppm = 1000000;
    /* Between nodes: the step's delay; three bytes for two, rounded up; a gap of 8 ns on 1 GB/s. */
    t.step = (rlt_internode_step){.delay_ps = 40, .gap_ps = 8000, .wire_num = 3, .wire_den = 2};
    e.message_ps = 7;
    rlt_message_cost c = rlt_tuning_far_cost(&e, &t, 499, 1000000000);
    assert_int_equal(c.delay_ps, 47);
    assert_int_equal(c.wire_bytes, 749);
    assert_int_equal(rlt_tuning_far_cost(&e, &t, 500, 1000000000).delay_ps, 48);
    assert_int_equal(rlt_tuning_far_cost(&e, &t, 5, 1000000000).wire_bytes, 8);
    assert_int_equal(rlt_tuning_far_cost(&e, &t, 6, 1000000000).wire_bytes, 9);
    assert_int_equal(rlt_tuning_far_cost(&e, &t, 0, 1000000000).wire_bytes, 0);
    t.step.wire_num = 2000000000;
    t.step.wire_den = 1;
    e.byte_fs = UINT32_MAX;
    c = rlt_tuning_far_cost(&e, &t, UINT64_MAX, 1);
    assert_true(c.wire_bytes == UINT64_MAX && c.delay_ps == RLT_TIME_MAX);
}

static void fractions_of_the_wire(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t num, den; /* den 0: refused */
    } rows[] = {
        {"16/8", 16, 8},
        {"128/120", 128, 120},
        {"1.25", 1250000, 1000000},
        {"1", 1000000, 1000000},
        {"3/3", 3, 3},
        {"1000", 1000000000, 1000000},
        {"1000000000/1", 1000000000, 1},
        {"1000000001/1", 0, 0},
        {"1000.000001", 0, 0},
        {"0.999999", 0, 0},
        {"7/8", 0, 0},
        {"1/0", 0, 0},
        {"0/0", 0, 0},
        {"/1", 0, 0},
        {"1/", 0, 0},
        {"", 0, 0},
        {"x", 0, 0},
        {"-1", 0, 0},
        {"1x", 0, 0},
        {"2/1/1", 0, 0},
        {"0000000000000000000000000000016/8", 16, 8},
        {"00000000000000000000000000000016/8", 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_endpoint e = nccl();
        rlt_error err = {0};
        int rc = rlt_endpoint_set(&e, "protocols.ll128.wire", rows[i].text, &err);
        if ((rc == 0) != (rows[i].den != 0) ||
            (rc == 0 && (e.protocols[1].wire_num != rows[i].num || e.protocols[1].wire_den != rows[i].den)))
            fail_msg("%s: %d %u/%u", rows[i].text, rc, e.protocols[1].wire_num, e.protocols[1].wire_den);
    }
    rlt_endpoint e = nccl();
    rlt_error err = {0};
    assert_int_equal(rlt_endpoint_set(&e, "LL.message", "2us", &err), 0);
    assert_int_equal(e.protocols[0].message_ps, 2000000);
    assert_int_equal(rlt_endpoint_set(&e, "LL.wire", "0.5", &err), RLT_EMALFORMED);
    assert_string_equal(err.what,
                        "expected wire bytes over data bytes, at least 1, such as 16/8 or 1.25, got '0.5'");
    static const char *const none[] = {"L.message", "LL1.message", ".message"};
    for (size_t i = 0; i < 3; i++) {
        char what[64];
        err = (rlt_error){0};
        assert_int_equal(rlt_endpoint_set(&e, none[i], "2us", &err), RLT_EUSAGE);
        snprintf(what, sizeof what, "this topology has no protocol '%.*s'",
                 (int)(strchr(none[i], '.') - none[i]), none[i]);
        assert_string_equal(err.what, what);
    }
    err = (rlt_error){0};
    assert_int_equal(rlt_endpoint_set(&e, "network", "myrinet", &err), RLT_EUSAGE);
    assert_string_equal(err.what,
                        "unknown network 'myrinet': known are none, infiniband, roce, efa, efa-v2, efa-v3, "
                        "slingshot, omni-path, ethernet");
}

static void versions_in_words(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t number;
        bool known; /* as a version */
    } rows[] = {
        {"2.18", 21899, true},     {"2.31", 23199, true},
        {"2.23.4", 22304, true},   {"nccl-2.23.04", 22304, true},
        {"02.23.99", 22399, true}, {"2.17", 0, true},
        {"2.32", 0, true},         {"1.20", 0, true},
        {"3.20", 0, true},         {"0.20", 0, true},
        {"2.220", 0, false},       {"2.20.100", 0, false},
        {"2", 0, false},           {"2.", 0, false},
        {"2.20.", 0, false},       {"2.20x", 0, false},
        {"x.20", 0, false},        {"2.2:", 0, false},
        {"2./0", 0, false},        {"", 0, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_library_version v = {0};
        rlt_error err = {0};
        char what[128] = "";
        int rc = rlt_library_version_parse(rows[i].text, &v, &err);
        if (!rows[i].known)
            snprintf(what, sizeof what, "expected a version such as 2.23, 2.23.4 or rccl, got '%s'",
                     rows[i].text);
        else if (!rows[i].number)
            snprintf(what, sizeof what, "the tuner is known from NCCL 2.18 to 2.31, got '%s'", rows[i].text);
        assert_string_equal(err.what, what);
        assert_int_equal(rc, rows[i].number ? 0 : RLT_EUSAGE);
        assert_int_equal(v.number, rows[i].number);
        assert_false(v.rccl);
    }
    rlt_library_version v;
    assert_int_equal(rlt_library_version_parse("rccl", &v, NULL), 0);
    assert_true(v.rccl && v.number == 22105);
}

/* Settings are written as they are read. */
static void settings_are_written(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"injection", "blocking"}, {"byte", "1.005ps"}, {"protocol", "LL128"}, {"protocol", "LL"},
        {"protocol", "auto"},      {"byte", "0.999ps"}, {"byte", "12.000ps"},  {"nccl", "2.22"},
        {"nccl", "2.22.3"},        {"nccl", "newest"},  {"network", "roce"},   {"network_ll128", "off"},
        {"gpu", "ampere"},         {"host", "power"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_endpoint e = nccl();
        char text[64];
        assert_int_equal(rlt_endpoint_set(&e, rows[i][0], rows[i][1], NULL), 0);
        const rlt_param *p = rlt_params_find(rlt_endpoint_parameters(), rows[i][0]);
        assert_string_equal(rlt_param_write(p, &e, text, sizeof text), rows[i][1]);
    }
}

/* The clock divides, rounded; equal protocols: the first; those for other collectives are not asked. */
static void kernels_and_choices(void **state)
{
    (void)state;
    rlt_endpoint e = nccl();
    assert_int_equal(rlt_endpoint_kernel(&e, 5), 5);
    e.clock_ppm = 2000000;
    assert_int_equal(rlt_endpoint_kernel(&e, 4), 2);
    assert_int_equal(rlt_endpoint_kernel(&e, 5), 3);
    e.clock_ppm = 3000000;
    assert_int_equal(rlt_endpoint_kernel(&e, 4), 1);
    assert_int_equal(rlt_endpoint_kernel(&e, 5), 2);
    e.clock_ppm = 1;
    assert_true(rlt_endpoint_kernel(&e, RLT_TIME_MAX / 2) == RLT_TIME_MAX);
    e.clock_ppm = 2000000;
    assert_int_equal(rlt_endpoint_kernel(&e, 2000000000000), 1000000000000);
    e = nccl();
    e.clock_ppm = 2000000;
    assert_int_equal(rlt_endpoint_cost(&e, 0, 1000000000).delay_ps, 300000);
    e = nccl();
    e.protocols[1] = protocol("same", 600000, 16, 8);
    e.protocols[0].serves = RLT_FOR_DIRECT;
    rlt_message_cost c = rlt_endpoint_cost(&e, 1000000, 1000000000);
    assert_int_equal(c.wire_bytes, 1000000); /* Simple */
    c = rlt_endpoint_cost(&e, 1000000, 0);
    assert_int_equal(c.wire_bytes, 2000000); /* without links, the least message time */
    for (uint32_t i = 0; i < 3; i++)
        e.protocols[i].serves = RLT_FOR_NVLS;
    c = rlt_endpoint_cost(&e, 1000000, 1000000000);
    assert_true(c.wire_bytes == 1000000 && c.delay_ps == 0);
}

static rlt_internode_step step(const rlt_endpoint *e, rlt_hop hop, rlt_line line, uint64_t bytes, bool single)
{
    return rlt_internode_cost(
        &e->internode,
        &(rlt_internode_use){.hop = hop, .line = line, .bytes = bytes, .passed = bytes, .single = single});
}

/* Steps between nodes, by hand: the hop of NCCL less 1 us, the class's own, and its growth with the size. */
static void steps_between_nodes(void **state)
{
    static const struct {
        rlt_hop hop;
        rlt_line line;
        uint64_t bytes;
        rlt_time delay_ps;
    } rows[] = {
        {RLT_HOP_RING, RLT_LINE_LL, 0, 1700000 + 5000000},
        {RLT_HOP_TREE, RLT_LINE_LL, 0, 4000000 + 5000000},
        {RLT_HOP_TREE, RLT_LINE_LL128, 8192, 7500000 + 5000000},
        {RLT_HOP_TREE, RLT_LINE_LL128, 16384, 7500000 + 5000000 + 1500000},
        {RLT_HOP_TREE, RLT_LINE_SIMPLE, 32768, 13000000 + 5000000 + 3000000},
        {RLT_HOP_TREE, RLT_LINE_SIMPLE, (uint64_t)1 << 34, 13000000 + 5000000 + 3000000},
        {RLT_HOP_NVLS_TREE, RLT_LINE_SIMPLE, 0, 19900000 + 5000000},
        {RLT_HOP_COLLNET, RLT_LINE_SIMPLE, 0, 30000000 + 5000000},
        {RLT_HOP_PAT, RLT_LINE_SIMPLE, 0, 3000000 + 5000000},
        /* 39 MB of lines at 39 GB/s: 1 ms */
        {RLT_HOP_TREE, RLT_LINE_LL, 39000000, 4000000 + 5000000 + 3000000 + 1000000000},
    };
    rlt_endpoint e = nccl();
    (void)state;
    assert_int_equal(rlt_endpoint_set(&e, "network", "roce", NULL), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(step(&e, rows[i].hop, rows[i].line, rows[i].bytes, false).delay_ps,
                         rows[i].delay_ps);
    assert_int_equal(step(&e, RLT_HOP_RING, RLT_LINE_LL, 0, true).delay_ps,
                     4000000 + 5000000); /* one member a node: the tree's */
    assert_int_equal(rlt_endpoint_set(&e, "network_latency", "1us", NULL), 0);
    assert_int_equal(step(&e, RLT_HOP_RING, RLT_LINE_LL, 0, false).delay_ps, 2700000);
    assert_int_equal(rlt_endpoint_set(&e, "network", "myrinet", NULL), RLT_EUSAGE);
    assert_int_equal(rlt_endpoint_set(&e, "nccl", "2.22", NULL), 0);
    assert_int_equal(e.nccl, 22299);
    const char *wrong[] = {"new", "2.17", "2.32", "1.0", "2", "2.20.", "-2.20", "rccl"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(rlt_endpoint_set(&e, "nccl", wrong[i], NULL), RLT_EUSAGE);
    assert_int_equal(e.nccl, 22299);
    assert_int_equal(rlt_endpoint_set(&e, "nccl", "nccl-2.20.3", NULL), 0);
    assert_int_equal(e.nccl, 22003);
    assert_int_equal(rlt_endpoint_set(&e, "nccl", "newest", NULL), 0);
    assert_int_equal(e.nccl, 0);
    assert_int_equal(rlt_endpoint_set(&e, "gpu", "hopper", NULL), 0);
    assert_int_equal(e.gpu, RLT_GPU_HOPPER);
}

/* Wire bytes between nodes: 16/8, 128/120, 1/0.945, 1/0.9; and a NIC that is taken for a gap. */
static void wire_between_nodes(void **state)
{
    static const struct {
        rlt_hop hop;
        rlt_line line;
        uint64_t bytes, wire_bytes;
    } rows[] = {{RLT_HOP_TREE, RLT_LINE_LL, 1000000, 2000000},
                {RLT_HOP_TREE, RLT_LINE_LL128, 1200000, 1280000},
                {RLT_HOP_RING, RLT_LINE_SIMPLE, 945000, 1000000},
                {RLT_HOP_TREE, RLT_LINE_SIMPLE, 900000, 1000000},
                {RLT_HOP_TREE, RLT_LINE_LL, 8, 500}, /* 10 ns of 50 GB/s */
                {RLT_HOP_TREE, RLT_LINE_LL, 0, 0}};
    rlt_endpoint e = nccl();
    rlt_tuning t = {.on = true, .far = true};
    (void)state;
    assert_int_equal(rlt_endpoint_set(&e, "network", "infiniband", NULL), 0);
    assert_int_equal(rlt_endpoint_set(&e, "network_gap", "10ns", NULL), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        t.step = step(&e, rows[i].hop, rows[i].line, 0, false);
        assert_int_equal(rlt_tuning_far_cost(&e, &t, rows[i].bytes, 50000000000u).wire_bytes,
                         rows[i].wire_bytes);
    }
}

/* The network's growth with the size, in millionths: rise times log2(S / 8 KiB) / 2, by a line in each octave. */
static void growth_by_hand(void **state)
{
    static const struct {
        uint64_t bytes;
        rlt_time ppm;
    } rows[] = {{0, 0},          {8192, 0},       {8193, 61},      {12288, 250000},  {16383, 499938},
                {16384, 500000}, {24576, 750000}, {32767, 999969}, {32768, 1000000}, {UINT64_MAX, 1000000}};
    rlt_internode f = rlt_internode_class(RLT_INTERNODE_USUAL);
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const rlt_internode_use use = {.hop = RLT_HOP_TREE, .line = RLT_LINE_SIMPLE, .bytes = rows[i].bytes};
        f.rise_ps = 1000000000000;
        assert_int_equal(rlt_internode_cost(&f, &use).delay_ps, 13000000 + rows[i].ppm * 1000000);
    }
}

/* NCCL's hops in ns, less the 1000 of a path, for LL, LL128 and Simple. */
static void hops_by_hand(void **state)
{
    static const rlt_time ns[RLT_HOPS][RLT_LINES] = {{1700, 3000, 13000},   {4000, 7500, 13000},
                                                     {19900, 19900, 19900}, {30000, 30000, 30000},
                                                     {3000, 3000, 3000},    {4000, 7500, 13000}};
    const rlt_internode f = rlt_internode_class(RLT_INTERNODE_USUAL);
    (void)state;
    for (uint32_t hop = 0; hop < RLT_HOPS; hop++)
        for (uint32_t line = 0; line < RLT_LINES; line++)
            for (int single = 0; single < 2; single++) {
                const rlt_internode_use use = {.hop = (rlt_hop)hop, .line = (rlt_line)line, .single = single};
                const rlt_time *own = single && hop == RLT_HOP_RING ? ns[RLT_HOP_TREE] : ns[hop];
                assert_int_equal(rlt_internode_cost(&f, &use).delay_ps, own[line] * 1000);
            }
}

/* What the classes charge, as net/endpoint/internode.c cites it; times in us, efficiencies in 1/1000. */
static void classes_of_networks(void **state)
{
    static const struct {
        const char *name;
        rlt_time latency, rise, launch, peer, plugin, gap_ps;
        uint32_t rings, trees, single, no_LL128;
        uint64_t staging_GBps;
    } rows[] = {
        {"none", 0, 0, 0, 0, 0, 0, 1000, 1000, 1000, 0, 0},
        {"infiniband", 0, 0, 6, 1, 0, 4651, 945, 900, 870, 0, 39},
        {"roce", 5, 3, 6, 1, 0, 4651, 945, 900, 870, 0, 39},
        {"efa", 66, 24, 6, 2, 75, 0, 945, 900, 870, 1, 39},
        {"efa-v2", 15, 55, 6, 1, 75, 0, 945, 900, 870, 0, 39},
        {"efa-v3", 13, 17, 6, 1, 35, 0, 945, 900, 870, 0, 39},
        {"slingshot", 2, 0, 6, 1, 0, 0, 945, 900, 870, 1, 39},
        {"omni-path", 2, 0, 6, 1, 0, 0, 945, 900, 870, 1, 39},
        {"ethernet", 25, 0, 6, 5, 0, 0, 900, 900, 870, 1, 39},
    };
    const uint32_t n = sizeof rows / sizeof *rows;
    const rlt_time us = 1000000;
    (void)state;
    for (uint32_t i = 0; i < n; i++) {
        rlt_internode f = rlt_internode_class(i);
        assert_string_equal(rlt_internode_name(i), rows[i].name);
        assert_non_null(rlt_internode_source(i));
        assert_int_equal(f.kind, i);
        assert_int_equal(f.latency_ps, rows[i].latency * us);
        assert_int_equal(f.rise_ps, rows[i].rise * us);
        assert_int_equal(f.launch_ps, rows[i].launch * us);
        assert_int_equal(f.peer_ps, rows[i].peer * us);
        assert_int_equal(f.gap_ps, rows[i].gap_ps);
        assert_int_equal(f.efficiency_ppm, rows[i].rings * 1000);
        assert_int_equal(f.tree_efficiency_ppm, rows[i].trees * 1000);
        assert_int_equal(f.single_ppm, rows[i].single * 1000);
        assert_int_equal(f.no_LL128, rows[i].no_LL128);
        assert_int_equal(f.staging_Bps, rows[i].staging_GBps * 1000000000);
        assert_int_equal(f.host_Bps, 0);
        assert_int_equal(rlt_internode_plugin(i), rows[i].plugin * us);
    }
    assert_null(rlt_internode_name(n));
    assert_null(rlt_internode_source(n));
    assert_int_equal(rlt_internode_plugin(n), 0);
    assert_int_equal(rlt_internode_class(n).kind, 0);
    assert_int_equal(rlt_internode_class(n).launch_ps, 0);
}

/* Under Simple a step's bytes are divided by the efficiency, which one member a node lowers. */
static void efficiencies_between_nodes(void **state)
{
    (void)state;
    static const struct {
        rlt_hop hop;
        bool single;
        uint32_t den;
    } rows[] = {{RLT_HOP_RING, false, 500000}, {RLT_HOP_TREE, false, 400000}, {RLT_HOP_PAT, false, 500000},
                {RLT_HOP_RING, true, 150000},  {RLT_HOP_TREE, true, 150000},  {RLT_HOP_DIRECT, true, 150000}};
    rlt_internode f = rlt_internode_class(RLT_INTERNODE_USUAL);
    f.efficiency_ppm = 500000;
    f.tree_efficiency_ppm = 400000;
    f.single_ppm = 300000;
    rlt_internode_use use = {.line = RLT_LINE_SIMPLE, .passed = 39000000000};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        use.hop = rows[i].hop;
        use.single = rows[i].single;
        rlt_internode_step s = rlt_internode_cost(&f, &use);
        assert_int_equal(s.wire_num, 1000000);
        assert_int_equal(s.wire_den, rows[i].den);
        assert_true(s.delay_ps < 1000000000); /* nothing is staged */
        assert_int_equal(s.gap_ps, 4651);
    }
    f.efficiency_ppm = f.single_ppm = 1;
    assert_int_equal(rlt_internode_cost(&f, &use).wire_den, 1);
    use.line = RLT_LINE_LL128;
    assert_int_equal(rlt_internode_cost(&f, &use).wire_num, 128);
    assert_int_equal(rlt_internode_cost(&f, &use).wire_den, 120);
    /* LL: one second in the host; without a limit, none */
    use.line = RLT_LINE_LL;
    use.hop = RLT_HOP_PAT;
    assert_int_equal(rlt_internode_cost(&f, &use).delay_ps, 1000000000000 + 3000000);
    assert_int_equal(rlt_internode_cost(&f, &use).wire_num, 2);
    assert_int_equal(rlt_internode_cost(&f, &use).wire_den, 1);
    f.staging_Bps = 0;
    assert_int_equal(rlt_internode_cost(&f, &use).delay_ps, 3000000);
    f.kind = 0;
    rlt_internode_step s = rlt_internode_cost(&f, &use);
    assert_true(s.delay_ps == 0 && s.gap_ps == 0 && s.wire_num == 1 && s.wire_den == 1);
}

/* The ends of what settings may be, and what they are without a word. */
static void bounds_of_settings(void **state)
{
    (void)state;
    static const struct {
        const char *name, *inside, *outside;
    } rows[] = {
        {"byte", "4.294967295us", "4.294967296us"},
        {"thread_blocks", "1024", "1025"},
        {"peer_blocks", "1024", "1025"},
        {"clock", "1000", "1000.000001"},
        {"clock", "0.000001", "0"},
        {"copy", "1000", "1000.000001"},
        {"copy", "0", "-0.000001"},
        {"copy_lines", "1000", "1000.000001"},
        {"reduce_lines", "1000", "1000.000001"},
        {"ramp", "10", "10.000001"},
        {"nvls_tree", "10", "10.000001"},
        {"network_efficiency", "1", "1.000001"},
        {"network_efficiency", "0.000001", "0"},
        {"network_tree_efficiency", "1", "1.000001"},
        {"network_tree_efficiency", "0.000001", "0"},
        {"network_single", "1", "1.000001"},
        {"network_single", "0.000001", "0"},
        {"LL.share", "1000", "1000.000001"},
        {"LL.fill", "1000", "1000.000001"},
        {"LL.wire", "1000", "1000.000001"},
    };
    rlt_endpoint e = rlt_endpoint_default();
    assert_int_equal(e.ramp_ppm, 600000);
    assert_int_equal(e.nvls_tree_ppm, 1075000);
    assert_int_equal(e.protocol, RLT_PROTOCOL_AUTO);
    assert_true(e.gpu == RLT_GPU_UNKNOWN && e.host == RLT_HOST_INTEL && e.internode.kind == 0);
    assert_true(!e.launch_ps && !e.message_ps && !e.byte_fs && !e.channels && !e.clock_ppm && !e.nccl);
    rlt_protocol p = rlt_protocol_default();
    assert_int_equal(p.share_ppm, 1000000);
    assert_int_equal(p.wire_num, p.wire_den);
    assert_int_equal(p.serves, RLT_FOR_STEPS);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        e = nccl();
        if (rlt_endpoint_set(&e, rows[i].name, rows[i].inside, NULL))
            fail_msg("%s=%s is refused", rows[i].name, rows[i].inside);
        if (!rlt_endpoint_set(&e, rows[i].name, rows[i].outside, NULL))
            fail_msg("%s=%s is taken", rows[i].name, rows[i].outside);
    }
    rlt_error err = {0};
    assert_int_equal(rlt_endpoint_set(&e, "byte", "5us", &err), RLT_ERANGE);
    assert_string_equal(err.what, "at most 4.29us for each byte, got '5us'");
    err = (rlt_error){0};
    assert_int_equal(rlt_endpoint_set(&e, "byte", "ps", &err), RLT_EMALFORMED);
    assert_string_equal(err.what, "expected a duration with a unit, such as 0.5ps, got 'ps'");
}

/* A refused word names the place of the file that has it. */
static void places_of_refused_words(void **state)
{
    (void)state;
    static const char *const rows[][4] = {
        {"nccl", "2.5", "f.json: nccl: version", "the tuner is known from NCCL 2.18 to 2.31, got '2.5'"},
        {"nccl", "rccl", "f.json: nccl", "expected a version of NCCL such as 2.27, got 'rccl'"},
        {"network", "x", "f.json: nccl", NULL},
        {"protocol", "x", "f.json: nccl", "unknown protocol 'x': this topology has auto, LL, LL128, Simple"},
        {"byte", "x", "f.json: nccl", "expected a duration with a unit, such as 0.5ps, got 'x'"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_endpoint e = nccl();
        rlt_error err = {0};
        const rlt_param *p = rlt_params_find(rlt_endpoint_parameters(), rows[i][0]);
        assert_int_not_equal(rlt_param_read(p, &e, rows[i][1], "f.json: nccl", &err), 0);
        assert_string_equal(err.where, rows[i][2]);
        if (rows[i][3])
            assert_string_equal(err.what, rows[i][3]);
    }
    /* eight protocols with the longest names */
    rlt_endpoint e = rlt_endpoint_default();
    rlt_error err = {0};
    for (e.n_protocols = 0; e.n_protocols < RLT_MAX_PROTOCOLS; e.n_protocols++) {
        char name[16];
        snprintf(name, sizeof name, "protocol-name-%u", e.n_protocols);
        e.protocols[e.n_protocols] = protocol(name, 0, 1, 1);
    }
    assert_int_equal(rlt_endpoint_set(&e, "protocol", "x", &err), RLT_EUSAGE);
    assert_string_equal(err.what,
                        "unknown protocol 'x': this topology has auto, protocol-name-0, protocol-name-1, "
                        "protocol-name-2, protocol-name-3, protocol-name-4, protocol-name-5, "
                        "protocol-name-6, protocol-name-7");
    assert_int_equal(rlt_endpoint_set(&e, "protocol", "Protocol-Name-7", NULL), 0);
    assert_int_equal(e.protocol, 7);
    assert_int_equal(rlt_endpoint_set(&e, "protocols.protocol-name-7.start", "3ns", NULL), 0);
    assert_int_equal(e.protocols[7].start_ps, 3000);
    assert_int_equal(e.protocols[6].start_ps, 0);
}

/* Fractions of the wire are written as they were read, and equal bytes as 1/1. */
static void fractions_are_written(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"16/8", "16/8"}, {"128/120", "128/120"}, {"3/3", "1/1"}, {"1", "1/1"}, {"1.25", "1250000/1000000"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_endpoint e = nccl();
        char text[64];
        assert_int_equal(rlt_endpoint_set(&e, "LL.wire", rows[i][0], NULL), 0);
        const rlt_param *p = rlt_params_find(rlt_protocol_parameters(), "wire");
        assert_string_equal(rlt_param_write(p, &e.protocols[0], text, sizeof text), rows[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_by_hand),
        cmocka_unit_test(tuned_messages_by_hand),
        cmocka_unit_test(pieces_by_hand),
        cmocka_unit_test(fractions_of_the_wire),
        cmocka_unit_test(versions_in_words),
        cmocka_unit_test(settings_are_written),
        cmocka_unit_test(kernels_and_choices),
        cmocka_unit_test(steps_between_nodes),
        cmocka_unit_test(wire_between_nodes),
        cmocka_unit_test(defaults_cost_nothing),
        cmocka_unit_test(settings_by_name),
        cmocka_unit_test(wrong_settings_are_refused),
        cmocka_unit_test(costs_by_hand),
        cmocka_unit_test(auto_takes_the_cheapest),
        cmocka_unit_test(extremes_saturate),
        cmocka_unit_test(growth_by_hand),
        cmocka_unit_test(hops_by_hand),
        cmocka_unit_test(classes_of_networks),
        cmocka_unit_test(efficiencies_between_nodes),
        cmocka_unit_test(bounds_of_settings),
        cmocka_unit_test(places_of_refused_words),
        cmocka_unit_test(fractions_are_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
