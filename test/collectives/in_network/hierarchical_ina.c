/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reduce-scatter inside nodes, switches between them, all-gather inside: against the closed forms of the
 * phases, one after another and pipelined, and byte for byte on every link.
 */
#include <math.h>

#include "collectives/in_network/reactive.h"
#include "net/import/import.h"
#include "net/packet/packets.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/networks/fabric.h"

enum { P = 1024 };

/* Nodes of k accelerators behind a switch of 400 GB/s. Member r of every node is on rail r, 100 Gb/s; a spine
 * above the rails. 1 us and 500 ns as elsewhere. */
static rlt_topology *build(uint32_t nodes, uint32_t k, const char *rail_can)
{
    static char text[1 << 16];
    size_t used = 0, size = sizeof text;
    rlt_topology *t = NULL;
    rlt_error err = {0};
#define PUT(...) used += (size_t)snprintf(text + used, size - used, __VA_ARGS__)
    PUT("{\"nodes\": [");
    for (uint32_t i = 0; i < nodes * k; i++)
        PUT("{\"id\": \"g%u\", \"kind\": \"accelerator\"},\n", i);
    for (uint32_t i = 0; i < nodes; i++)
        PUT("{\"id\": \"inner%u\", \"kind\": \"switch\", \"in_network\": \"reduce+multicast\"},\n", i);
    for (uint32_t i = 0; i < k; i++)
        PUT("{\"id\": \"rail%u\", \"kind\": \"switch\", \"in_network\": \"%s\"},\n", i, rail_can);
    PUT("{\"id\": \"spine\", \"kind\": \"switch\"}],\n\"links\": [");
    for (uint32_t i = 0; i < nodes * k; i++) {
        PUT("{\"src\": \"g%u\", \"dst\": \"inner%u\", \"bandwidth\": \"400GB/s\", \"latency\": \"1us\"},\n",
            i, i / k);
        PUT("{\"src\": \"g%u\", \"dst\": \"rail%u\", \"bandwidth\": \"100Gbps\", \"latency\": \"1us\"},\n", i,
            i % k);
    }
    for (uint32_t i = 0; i < k; i++)
        PUT("%s{\"src\": \"rail%u\", \"dst\": \"spine\", \"bandwidth\": \"100Gbps\", \"latency\": \"1us\"}",
            i ? ",\n" : "", i);
    PUT("]}");
#undef PUT
    assert_true(used < size);
    if (rlt_topology_load(text, NULL, &t, &err))
        fail_msg("%s: %s", err.where, err.what);
    return t;
}

typedef struct outcome {
    rlt_react_result r;
    double inner_bytes, rail_bytes; /* most bytes that leave one member */
} outcome;

static outcome run(uint32_t nodes, uint32_t k, const char *settings, uint64_t bytes, const rlt_time *late)
{
    outcome o = {0};
    rlt_error err = {0};
    uint32_t job;
    rlt_fabric_config cfg = test_fabric_config();
    test_fabric x = {.topology = build(nodes, k, "reduce+multicast"),
                     .placement = calloc(1, sizeof *x.placement)};
    assert_non_null(x.placement);
    assert_int_equal(rlt_placement_identity(x.topology, nodes * k, x.placement, &err), 0);
    cfg.packets.topology = x.topology;
    cfg.placement = x.placement;
    assert_int_equal(rlt_fabric_create(&cfg, &x.fabric, &err), 0);
    char text[200];
    snprintf(text, sizeof text, "node=%u %s", k, settings);
    rlt_react_request q = test_request("hierarchical-ina", text, nodes * k, bytes);
    q.late_ps = late;
    job = test_add(&x, &q);
    test_finish(&x);
    o.r = rlt_fabric_result(x.fabric, job);
    assert_string_equal(o.r.fallback, "");
    for (uint32_t l = 0; l < rlt_topology_links(x.topology); l++) {
        rlt_link e = rlt_topology_link(x.topology, l);
        double carried = (double)rlt_usage_link(rlt_packets_usage(rlt_fabric_packets(x.fabric)), l).bytes;
        double *most = e.dst >= nodes * k + nodes ? &o.rail_bytes : &o.inner_bytes;
        if (e.src < nodes * k && carried > *most)
            *most = carried;
    }
    test_fabric_close(&x);
    return o;
}

/* Time of one chunk beyond the closed form: its way out, its way through the rail's switch, and its way
 * back. */
static const double way = 2 * (2 * 1e6 + 0.5e6 + 2 * 2560) + 2 * 1e6 + 0.5e6 + 2 * 88480;

static void test_apart(void **state)
{
    (void)state;
    static const uint32_t shapes[][2] = {{2, 2}, {4, 4}, {2, 8}, {8, 2}, {3, 5}};
    for (uint32_t i = 0; i < 5; i++) {
        uint32_t nodes = shapes[i][0], k = shapes[i][1];
        double m = (double)k * 2048 * P;
        outcome o = run(nodes, k, "phases=apart header=0B", (uint64_t)m, NULL);
        double law = 2 * (k - 1) / (double)k * m / 400e9 * 1e12 + m / k / 12.5e9 * 1e12;
        assert_true((double)o.r.time_ps > law && (double)o.r.time_ps < law + 1.05 * way);
        assert_true(fabs(o.inner_bytes - 2 * (k - 1) / (double)k * m) < 1);
        assert_true(fabs(o.rail_bytes - m / k) < 1);
        assert_int_equal(o.r.switches.completions, (uint64_t)k * 2048);
        assert_int_equal(o.r.adders, k);
    }
}

static void test_pipelined(void **state)
{
    (void)state;
    double m = 8.0 * 8192 * P;
    /* The links between nodes are the slowest: work inside is hidden except for one chunk's way. */
    outcome o = run(4, 8, "header=0B", (uint64_t)m, NULL),
            apart = run(4, 8, "header=0B phases=apart", (uint64_t)m, NULL);
    double law = m / 8 / 12.5e9 * 1e12;
    assert_true((double)o.r.time_ps > law && (double)o.r.time_ps < law + 1.2 * way);
    double saved = 2 * 7 / 8.0 * m / 400e9 * 1e12;
    assert_true(fabs((double)(apart.r.time_ps - o.r.time_ps) - saved) < 0.1 * saved);
    assert_true(fabs(o.inner_bytes - 2 * 7 / 8.0 * m) < 1);
    /* With SHARP's share of the link. */
    o = run(4, 8, "between=sharp eta=0.95", (uint64_t)m, NULL);
    assert_true(fabs((double)o.r.time_ps - law / 0.95 - way) < 0.02 * law);
    /* A window that is too small: window x payload / RTT. */
    o = run(4, 8, "header=0B window=4", (uint64_t)m, NULL);
    double rtt = 2 * 1e6 + 0.5e6 + 2 * 81920;
    assert_true(fabs((double)o.r.time_ps - 8192 / 4 * rtt) < 0.01 * 8192 / 4 * rtt);
}

/* The node's own switch adds up and replicates. */
static void test_nvls(void **state)
{
    (void)state;
    static const uint32_t shapes[][2] = {{2, 2}, {4, 4}, {2, 8}, {1, 8}};
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t nodes = shapes[i][0], k = shapes[i][1];
        double m = (double)k * 2048 * P, between = nodes > 1 ? m / k / 12.5e9 * 1e12 : 0;
        outcome o = run(nodes, k, "phases=apart inside=nvls header=0B", (uint64_t)m, NULL);
        double law = 2 * m / 400e9 * 1e12 + between;
        assert_true((double)o.r.time_ps > law && (double)o.r.time_ps < law + 1.05 * way);
        assert_true(fabs(o.inner_bytes - (k + 1) / (double)k * m) < 1);
        assert_int_equal(o.r.duplicates, 0);
        o = run(nodes, k, "inside=nvls header=0B ahead=3072", (uint64_t)m, NULL);
        double inside = (k + 1) / (double)k * m / 400e9 * 1e12;
        law = inside > between ? inside : between;
        assert_true((double)o.r.time_ps > law && (double)o.r.time_ps < 1.03 * law + 1.2 * way);
    }
}

static void test_corners(void **state)
{
    (void)state;
    /* One node only: no switch between nodes. One member per node: no peers inside. */
    double m = 4.0 * 1024 * P;
    outcome o = run(1, 4, "phases=apart", (uint64_t)m, NULL);
    double law = 2 * 3 / 4.0 * m / 400e9 * 1e12;
    assert_true((double)o.r.time_ps > law && (double)o.r.time_ps < law + 1.05 * way);
    assert_true(o.rail_bytes < 1);
    o = run(6, 1, "header=82B", 1024 * P, NULL);
    assert_int_equal(o.r.time_ps, 1023 * (rlt_time)88480 + 2 * 88480 + 2500000);
    for (uint64_t bytes = 1; bytes < 12 * P; bytes += 700)
        for (uint32_t nodes = 1; nodes < 4; nodes++)
            (void)run(nodes, 3, "window=1 ahead=1", bytes, NULL);
    /* Everyone waits for a straggler. */
    rlt_time late[32] = {[13] = 300 * RLT_US};
    o = run(4, 8, "header=0B", (uint64_t)(8 * 1024 * P), NULL);
    outcome after = run(4, 8, "header=0B", (uint64_t)(8 * 1024 * P), late);
    assert_true(after.r.time_ps > 300 * RLT_US && after.r.time_ps <= o.r.time_ps + 300 * RLT_US);
}

static void test_refusals(void **state)
{
    (void)state;
    rlt_error err = {0};
    for (int i = 0; i < 3; i++) {
        rlt_fabric_config cfg = test_fabric_config();
        test_fabric x = {.topology = build(2, 4, i ? "reduce+multicast" : "multicast"),
                         .placement = calloc(1, sizeof *x.placement)};
        assert_non_null(x.placement);
        assert_int_equal(rlt_placement_identity(x.topology, 8, x.placement, &err), 0);
        cfg.packets.topology = x.topology;
        cfg.placement = x.placement;
        cfg.packets.loss = i == 1 ? 0.01 : 0;
        assert_int_equal(rlt_fabric_create(&cfg, &x.fabric, &err), 0);
        rlt_react_request q = test_request("hierarchical-ina", i == 2 ? "node=3" : "node=4", 8, 1 << 20);
        uint32_t job;
        if (i < 2) {
            job = test_add(&x, &q);
            test_finish(&x);
            assert_true(strlen(rlt_fabric_result(x.fabric, job).fallback) > 10);
            q = test_request("hierarchical-ina", "node=4 refused=fail", 8, 1 << 20);
            assert_int_equal(rlt_fabric_add(x.fabric, &q, &job, &err), i ? RLT_EUNSUPPORTED : RLT_ETOPOLOGY);
        } else {
            assert_int_equal(rlt_fabric_add(x.fabric, &q, &job, &err), RLT_ERANGE);
            /* Eight members are not next to one switch. */
            q = test_request("hierarchical-ina", "node=8 inside=nvls refused=fail", 8, 1 << 20);
            assert_int_equal(rlt_fabric_add(x.fabric, &q, &job, &err), RLT_ETOPOLOGY);
        }
        test_fabric_close(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_apart),   cmocka_unit_test(test_pipelined), cmocka_unit_test(test_nvls),
        cmocka_unit_test(test_corners), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
