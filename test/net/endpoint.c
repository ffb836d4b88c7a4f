/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Endpoint settings and message costs, compared with numbers computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "net/endpoint/endpoint.h"
#include "net/endpoint/internode.h"
#include "sim/base/error.h"
#include "sim/base/time.h"

static rlt_protocol protocol(const char *name, rlt_time message_ps, uint32_t num, uint32_t den)
{
    rlt_protocol p = rlt_protocol_default();
    strncpy(p.name, name, sizeof p.name - 1);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_between_nodes),        cmocka_unit_test(wire_between_nodes),
        cmocka_unit_test(defaults_cost_nothing),      cmocka_unit_test(settings_by_name),
        cmocka_unit_test(wrong_settings_are_refused), cmocka_unit_test(costs_by_hand),
        cmocka_unit_test(auto_takes_the_cheapest),    cmocka_unit_test(extremes_saturate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
