/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * InfraGraph: small clusters written by hand, with graphs worked out by hand; round trips; bad input. Run from
 * the root of the repository.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/endpoint/endpoint.h"
#include "net/import/import.h"
#include "net/import/infragraph/infragraph.h"
#include "net/import/read.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/text/file.h"
#include "test/support/networks/same_topology.h"

#define GB UINT64_C(1000000000)
#define NS ((rlt_time)1000)

static rlt_topology *read_with(const char *text, const rlt_import *import)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    if (rlt_topology_read("f", text, strlen(text), import, &t, &err) != 0)
        fail_msg("%s: %s", err.where, err.what);
    return t;
}

static uint32_t node(const rlt_topology *t, const char *name)
{
    uint32_t v = rlt_topology_find_node(t, name);
    if (v == UINT32_MAX)
        fail_msg("no node '%s'", name);
    return v;
}

/* Checks that one link leads from a to b and one back, both with this bandwidth and latency. */
static void cable(const rlt_topology *t, const char *a, const char *b, uint64_t bw_Bps, rlt_time latency_ps)
{
    uint32_t x = node(t, a), y = node(t, b), found = 0;
    for (uint32_t i = 0; i < rlt_topology_links(t); i++) {
        rlt_link l = rlt_topology_link(t, i);
        if ((l.src != x || l.dst != y) && (l.src != y || l.dst != x))
            continue;
        if (l.bw_Bps != bw_Bps || l.latency_ps != latency_ps)
            fail_msg("%s to %s: %.0f B/s, %.0f ps", a, b, (double)l.bw_Bps, (double)l.latency_ps);
        found++;
    }
    if (found != 2)
        fail_msg("%u links between %s and %s", found, a, b);
}

/* Reads what is written, twice: the second copy has the same hash, too. */
static void round_trip(const rlt_topology *t)
{
    rlt_topology *once = test_through(t, "infragraph"), *twice = test_through(once, "infragraph");
    test_comes_back(t);
    test_same_topology(once, twice);
    assert_true(rlt_topology_hash(once) == rlt_topology_hash(twice));
    rlt_topology_free(twice);
    rlt_topology_free(once);
}

/* ---- a cluster by hand */

/*
 * Two hosts of two accelerators on a switch chip each, and an adapter of three parts on a CPU. Two rails.
 *
 *   xpu0, xpu1 - fabric; cpu - adapter 0, 1: slot - asic - port - [port - asic of a rail switch]
 *   xpu0, xpu1 - cpu
 */
static const char cluster[] =
    "name: two hosts\n"
    "devices:\n"
    "- name: adapter\n"
    "  components:\n"
    "  - {name: slot, count: 1, choice: custom, custom: {type: pcie_endpoint}}\n"
    "  - {name: asic, count: 1, choice: cpu}\n"
    "  - {name: port, count: 1, choice: port}\n"
    "  links:\n"
    "  - {name: chip, physical: {bandwidth: {choice: gigabytes_per_second, gigabytes_per_second: 64}}}\n"
    "  edges:\n"
    "  - {ep1: {component: slot}, ep2: {component: asic}, scheme: one2one, link: chip}\n"
    "  - {ep1: {component: 'asic[0]'}, ep2: {component: 'port[:]'}, scheme: many2many, link: chip}\n"
    "- name: host\n"
    "  components:\n"
    "  - {name: cpu, count: 1, choice: cpu}\n"
    "  - {name: xpu, count: 2, choice: xpu}\n"
    "  - {name: fabric, count: 1, choice: switch}\n"
    "  - {name: adapter, count: 2, choice: device}\n"
    "  - {name: disk, count: 3, choice: memory}\n"
    "  links:\n"
    "  - {name: nvlink, physical: {bandwidth: {gigabits_per_second: 3600}, latency: {us: 0.25}}}\n"
    "  - {name: pcie, physical: {bandwidth: {gigabytes_per_second: 31.5}, latency: {choice: ns, ns: 300}}}\n"
    "  - {name: ddr}\n"
    "  edges:\n"
    "  - {ep1: {component: xpu}, ep2: {component: fabric}, scheme: many2many, link: nvlink}\n"
    "  - {ep1: {component: 'xpu[0:2:1]'}, ep2: {component: cpu}, scheme: many2many, link: pcie}\n"
    "  - {ep1: {component: cpu}, ep2: {device: 'adapter[0:]', component: 'slot[0]'}, scheme: many2many, link: "
    "pcie}\n"
    "  - {ep1: {component: cpu}, ep2: {component: disk}, scheme: many2many, link: ddr}\n"
    "  - {ep1: {component: cpu}, ep2: {component: cpu}, scheme: many2many, link: ddr}\n"
    "- name: rail\n"
    "  components:\n"
    "  - {name: asic, count: 1, choice: cpu}\n"
    "  - {name: port, count: 4, choice: port}\n"
    "  links:\n"
    "  - {name: chip, physical: {bandwidth: {gigabytes_per_second: 100}, latency: {ns: 50}}}\n"
    "  edges:\n"
    "  - {ep1: {component: asic}, ep2: {component: port}, scheme: many2many, link: chip}\n"
    "instances:\n"
    "- {name: host, device: host, count: 2}\n"
    "- {name: rail, device: rail, count: 2}\n"
    "links:\n"
    "- {name: cable, physical: {bandwidth: {gigabits_per_second: 400}, latency: {ms: 0.001}}}\n"
    "edges:\n"
    "- {ep1: {instance: 'host[0]', component: 'adapter.port[0]'}, ep2: {instance: 'rail', component: "
    "'port[0]'}, scheme: one2one, link: cable}\n"
    "- {ep1: {instance: 'host[1:]', component: 'adapter.port'}, ep2: {instance: 'rail[0:2]', component: "
    "'port[3]'}, scheme: one2one, link: cable}\n";

static void composed(void **state)
{
    const rlt_import with = {.latency = "10ns"};
    (void)state;
    rlt_topology *t = read_with(cluster, &with);
    assert_string_equal(rlt_topology_name(t), "two hosts");
    assert_non_null(strstr(rlt_topology_source(t), " Links that state none have 10ns (given)."));
    /* 2 * (1 cpu, 2 xpu, 1 switch, 2 * 3 of adapters, 3 disks) + 2 * 5 = 36 vertices; edges 2 * (2 * 2 in
     * adapters + 2 + 2 + 2 + 3) + 2 * 4 + 4 = 38. */
    assert_non_null(strstr(rlt_topology_source(t), "InfraGraph of 36 vertices and 38 edges"));
    assert_non_null(strstr(rlt_topology_source(t), "8 chip, 4 nvlink, 8 pcie, 6 ddr, 8 chip, 4 cable"));
    /* Per host 1 cpu, 2 xpu, 1 switch, 2 ports; 2 switches. The disks and free ports (2 of 4) are gone. */
    assert_int_equal(rlt_topology_accelerators(t), 4);
    assert_int_equal(rlt_topology_nodes(t), 2 * 6 + 2);
    assert_int_equal(rlt_topology_links(t), 2 * (2 * (2 + 2 + 2) + 4));
    assert_int_equal(rlt_topology_node_size(t), 2);
    assert_int_equal(rlt_topology_dims(t), 2);
    cable(t, "host.0.xpu.1", "host.0.fabric.0", 450 * GB, 250 * NS);
    cable(t, "host.1.xpu.0", "host.1.cpu.0", 63 * GB / 2, 300 * NS);
    /* pcie 300 ns + chip 10 ns + chip 10 ns; the least bandwidth is PCIe's. */
    cable(t, "host.1.cpu.0", "host.1.adapter.1.port.0", 63 * GB / 2, 320 * NS);
    /* cable 1 us + chip 50 ns; 400 Gb/s = 50 GB/s against 100. */
    cable(t, "host.0.adapter.1.port.0", "rail.1.asic.0", 50 * GB, 1050 * NS);
    cable(t, "host.1.adapter.0.port.0", "rail.0.asic.0", 50 * GB, 1050 * NS);
    assert_int_equal(rlt_topology_node_kind(t, node(t, "host.0.adapter.0.port.0")), RLT_NIC);
    assert_int_equal(rlt_topology_node_kind(t, node(t, "host.0.cpu.0")), RLT_CPU);
    assert_int_equal(rlt_topology_node_kind(t, node(t, "rail.0.asic.0")), RLT_SWITCH);
    assert_false(rlt_topology_forwards(t, 0));
    round_trip(t);
    rlt_topology_free(t);
    /* Without folding every vertex stays, and memory needs figures. */
    rlt_import all = {.latency = "10ns", .link_Bps = GB, .unfolded = 1};
    t = read_with(cluster, &all);
    assert_int_equal(rlt_topology_nodes(t), 36);
    assert_non_null(strstr(rlt_topology_source(t), " Links that state none have 1 GB/s and 10ns (given)."));
    assert_int_equal(rlt_topology_links(t), 2 * 38);
    cable(t, "host.0.cpu.0", "host.0.disk.2", GB, 10 * NS);
    round_trip(t);
    rlt_topology_free(t);
}

/* Ranks, by the node names of both notations, also in the service's own wrapper. */
static void ranks(void **state)
{
    static const char text[] =
        "{\"infrastructure\": {\"name\": \"A\\u0042\", \"devices\": [{\"name\": \"d\", \"components\": [{\"name\": \"xpu\", \"count\": 3, "
        "\"choice\": \"xpu\"}], \"links\": [{\"name\": \"l\", \"physical\": {\"bandwidth\": "
        "{\"gigabytes_per_second\": 1}, \"latency\": {\"ns\": 0}}}], \"edges\": [{\"ep1\": {\"component\": "
        "\"xpu\"}, \"ep2\": {\"component\": \"xpu\"}, \"scheme\": \"many2many\", \"link\": \"l\"}]}], "
        "\"instances\": [{\"name\": \"i\", \"device\": \"d\", \"count\": 1}]}, \"annotations\": {\"nodes\": "
        "[{\"name\": \"i.0.xpu.0\", \"attributes\": [{\"attribute\": \"rank\", \"value\": \"2\"}, "
        "{\"attribute\": \"colour\", \"value\": \"red\"}]}, {\"name\": \"i[0]xpu[1]\", \"attributes\": "
        "[{\"attribute\": \"rank\", \"value\": \"0\"}]}, {\"name\": \"i[0].xpu[2]\", \"attributes\": "
        "[{\"attribute\": \"rank\", \"value\": \"1\"}]}]}}";
    (void)state;
    rlt_topology *t = read_with(text, NULL);
    assert_string_equal(rlt_topology_name(t), "AB");
    assert_int_equal(node(t, "i.0.xpu.0"), 2);
    assert_int_equal(node(t, "i.0.xpu.1"), 0);
    assert_int_equal(node(t, "i.0.xpu.2"), 1);
    assert_int_equal(rlt_topology_links(t), 6); /* each pair once, both ways */
    round_trip(t);
    rlt_topology_free(t);
}

#define DEVICE(components, edges)                                                                            \
    "devices:\n"                                                                                             \
    "- name: d\n"                                                                                            \
    "  components: [" components "]\n"                                                                       \
    "  links: [{name: l, physical: {bandwidth: {gigabytes_per_second: 10}, latency: {ns: 100}}}]\n"          \
    "  edges: [" edges "]\n"
#define ONE_INSTANCE "instances: [{name: i, device: d, count: 1}]\n"
#define XPU(n)       "{name: x, count: " n ", choice: xpu}"
#define EDGE(a, b, scheme)                                                                                   \
    "{ep1: {component: '" a "'}, ep2: {component: '" b "'}, scheme: " scheme ", link: l}"
#define MACHINE(components, edges) DEVICE(components, edges) ONE_INSTANCE

/* A ring of accelerators that nothing else joins: they relay. With a switch beside it they do not. */
static void relaying(void **state)
{
    (void)state;
    rlt_topology *t = read_with(
        MACHINE(XPU("4"), EDGE("x[0:3]", "x[1:4]", "one2one") "," EDGE("x[3]", "x[0]", "one2one")), NULL);
    assert_true(rlt_topology_forwards(t, 0));
    assert_int_equal(rlt_topology_dims(t), 1);
    round_trip(t);
    rlt_topology_free(t);
    t = read_with(MACHINE(XPU("4") ",{name: s, count: 1, choice: switch}",
                          EDGE("x[0:4:2]", "x[1:4:2]", "one2one") "," EDGE("x", "s", "many2many")),
                  NULL);
    assert_false(rlt_topology_forwards(t, 0));
    cable(t, "i.0.x.2", "i.0.x.3", 10 * GB, 100 * NS);
    round_trip(t);
    rlt_topology_free(t);
}

/* ---- missing figures */

static void stated(void **state)
{
    static const char text[] = "devices:\n- name: d\n  components: [" XPU(
        "2") "]\n"
             "  links: [{name: fast link, physical: {bandwidth: {gigatransfers_per_second: 32}}}]\n"
             "  edges: [{ep1: {component: 'x[0]'}, ep2: {component: 'x[1]'}, scheme: one2one, link: fast link}]\n" ONE_INSTANCE;
    const char *both[] = {"fast link:64GB/s,300ns"}, *one[] = {"fast link:64GB/s", "fast link:1us"};
    const char *wrong[][1] = {
        {"slow:1GB/s"}, {"fast link"}, {"fast link:x"}, {":1GB/s"}, {"fast link:1us,1us"}};
    rlt_import with = {.links = {.items = both, .n = 1}};
    rlt_error err = {0};
    (void)state;
    rlt_topology *t = read_with(text, &with);
    cable(t, "i.0.x.0", "i.0.x.1", 64 * GB, 300 * NS);
    rlt_topology_free(t);
    with.links = (rlt_texts){.items = one, .n = 2};
    t = read_with(text, &with);
    cable(t, "i.0.x.0", "i.0.x.1", 64 * GB, 1000 * NS);
    rlt_topology_free(t);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        with.links = (rlt_texts){.items = wrong[i], .n = 1};
        assert_int_equal(rlt_topology_read("f", text, strlen(text), &with, &t, &err), RLT_EUSAGE);
    }
    /* A word has at most 63 characters. */
    for (int zeros = 57; zeros < 60; zeros++) {
        char long_word[100];
        const char *words[] = {long_word, "fast link:300ns"};
        snprintf(long_word, sizeof long_word, "fast link:%0*d.5GB/s", zeros, 1);
        with.links = (rlt_texts){.items = words, .n = 2};
        int rc = rlt_topology_read("f", text, strlen(text), &with, &t, &err);
        assert_int_equal(rc, zeros + 6 < 64 ? 0 : RLT_EUSAGE);
        if (!rc)
            cable(t, "i.0.x.0", "i.0.x.1", 3 * GB / 2, 300 * NS);
        rlt_topology_free(t);
    }
    /* The bandwidth of all links is no bandwidth for transfers. */
    err = (rlt_error){0};
    with = (rlt_import){.link_Bps = GB, .latency = "0ns"};
    assert_int_equal(rlt_topology_read("f", text, strlen(text), &with, &t, &err), RLT_ESCHEMA);
    assert_non_null(strstr(err.what, "--set link=fast link:64GB/s"));
}

/* A key stands before its colon; a byte of zero between them is none of the characters that may stand there. */
static void is_one(void **state)
{
    static const char texts[][60] = {"{\"devices\": [], \"components\": [], \"instances\" : []}",
                                     "{devices: [], 'components': [], instances: []}",
                                     "{<devices: [], components: [], instances: []}",
                                     "<devices: [], components: [], instances: []>",
                                     "{\"devices\": [], \"components\": [], \"instances\"\0: []}"};
    (void)state;
    for (int i = 0; i < 5; i++)
        assert_int_equal(rlt__topo_infragraph_is(texts[i], sizeof texts[i]), i < 3);
}

/* What the service accepts silently, as a setting. */
static void lenient(void **state)
{
    static const char text[] =
        MACHINE(XPU("2") ",{name: s, count: 1, choice: switch},{name: n, count: 3, choice: nic}",
                EDGE("x", "s", "many2many") "," EDGE("x", "n", "one2one") "," EDGE("x", "none", "many2many"));
    rlt_import with = {.lenient = 1};
    (void)state;
    rlt_topology *t = read_with(text, &with);
    assert_int_equal(rlt_topology_nodes(t), 5); /* n[2] has no edge */
    assert_int_equal(rlt_topology_links(t), 2 * 4);
    assert_non_null(
        strstr(rlt_topology_source(t), "1 unequal one2one, 1 unknown components, 1 unconnected parts"));
    rlt_topology_free(t);
}

/* Each place that an unknown component would have counts, also inside of devices. A network without edges has no
 * links to list. */
static void lenient_inside(void **state)
{
    static const char text[] = DEVICE(
        XPU("2") ",{name: s, count: 1, choice: switch}",
        EDGE(
            "x", "s",
            "many2many")) "- name: e\n"
                          "  components: [{name: d, count: 3, choice: device}, {name: t, count: 1, choice: switch}]\n"
                          "  links: [{name: l, physical: {bandwidth: {gigabytes_per_second: 10}, latency: {ns: 100}}}]\n"
                          "  edges: [" EDGE("d.s", "t", "many2many") "," EDGE(
                              "d[0:2].none", "t",
                              "many2many") "]\n"
                                           "instances: [{name: i, device: e, count: 1}]\n";
    rlt_import with = {.lenient = 1};
    (void)state;
    rlt_topology *t = read_with(text, &with);
    assert_int_equal(rlt_topology_links(t), 2 * 9);
    assert_non_null(
        strstr(rlt_topology_source(t), "0 unequal one2one, 2 unknown components, 0 unconnected parts"));
    rlt_topology_free(t);
    t = read_with(MACHINE(XPU("1"), ""), &with);
    static const char begins[] = "InfraGraph of 1 vertices and 0 edges ().";
    assert_memory_equal(rlt_topology_source(t), begins, strlen(begins));
    rlt_topology_free(t);
}

/* Devices inside of each other: as deep as is allowed, and one deeper. */
static void nesting(void **state)
{
    (void)state;
    for (uint32_t most = 32; most <= 33; most++) {
        char text[8192];
        size_t used = (size_t)snprintf(text, sizeof text, "devices:\n");
        for (uint32_t i = 0; i < most; i++)
            used += (size_t)snprintf(text + used, sizeof text - used,
                                     "- {name: d%u, components: [{name: d%u, count: 1, choice: device}]}\n",
                                     i, i + 1);
        snprintf(text + used, sizeof text - used, "- {name: d%u, components: [" XPU("1") "]}\n%s", most,
                 "instances: [{name: i, device: d0, count: 1}]\n");
        rlt_topology *t = NULL;
        rlt_error err = {0};
        rlt_import with = {.lenient = 1};
        int rc = rlt_topology_read("f", text, strlen(text), &with, &t, &err);
        assert_int_equal(rc, most == 32 ? 0 : RLT_ESCHEMA);
        assert_string_equal(err.what, most == 32 ? "" : "device 'd33' is nested too deeply");
        rlt_topology_free(t);
    }
}

/* Memory without other neighbours goes, be it the first of all vertices or the last. */
static void memory_at_the_end(void **state)
{
    static const char *const texts[] = {
        MACHINE("{name: n, count: 1, choice: memory}," XPU("2") ",{name: s, count: 1, choice: switch}",
                EDGE("x", "s", "many2many") "," EDGE("n", "s", "many2many")),
        MACHINE(XPU("2") ",{name: s, count: 1, choice: switch},{name: n, count: 1, choice: memory}",
                EDGE("x", "s", "many2many") "," EDGE("s", "n", "many2many"))};
    (void)state;
    for (int i = 0; i < 2; i++) {
        rlt_topology *t = read_with(texts[i], NULL);
        assert_int_equal(rlt_topology_nodes(t), 3);
        rlt_topology_free(t);
    }
}

/* ---- bad input */

typedef struct fault {
    const char *text, *where, *what;
} fault;

static void refuse(const fault *f)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    int rc = rlt_topology_read("f", f->text, strlen(f->text), NULL, &t, &err);
    if (rc >= 0 || strcmp(err.where, f->where) != 0 || !strstr(err.what, f->what))
        fail_msg("expected %s: %s\ngot %d %s: %s\nfor %s", f->where, f->what, rc, err.where, err.what,
                 f->text);
    assert_null(t);
}

#define SIXTY "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghij"
#define WRONG_RANK(value)                                                                                    \
    {                                                                                                        \
        DEVICE(XPU("1"), "")                                                                                 \
        ONE_INSTANCE "annotations: {nodes: [{name: i.0.x.0, attributes: [{attribute: rank, value: '" value   \
                     "'}]}]}\n",                                                                             \
            "f:7:52: annotations.nodes[0].attributes[0]", "expected a number below 4194304, got '" value "'" \
    }
#define IN_DEVICE "f:5:11: devices[0].edges[0]"

static void faults(void **state)
{
    static const fault table[] = {
        {MACHINE(XPU("2"), EDGE("x[0]", "y", "one2one")), "f:5:55: devices[0].edges[0].ep2.component",
         "device 'd' has no component 'y'"},
        {MACHINE(XPU("2"), EDGE("x[0]", "x[2]", "one2one")), "f:5:55: devices[0].edges[0].ep2.component",
         "x has 2, numbered from 0; got index 2"},
        {MACHINE(XPU("2"), EDGE("x[0]", SIXTY "1", "one2one")), "f:5:55: devices[0].edges[0].ep2.component",
         "device 'd' has no component '" SIXTY "'"},
        {MACHINE("{name: " SIXTY "1, count: 2, choice: xpu}", EDGE(SIXTY "1[0:2:0]", SIXTY "1", "one2one")),
         "f:5:29: devices[0].edges[0].ep1.component", "the step of " SIXTY " is zero"},
        {MACHINE(XPU("4"), EDGE("x[0:9]", "x", "one2one")), "f:5:29: devices[0].edges[0].ep1.component",
         "got index 8"},
        {MACHINE(XPU("4"), EDGE("x[2:2]", "x", "one2one")), "f:5:29: devices[0].edges[0].ep1.component",
         "slice of x is empty"},
        {MACHINE(XPU("4"), EDGE("x[0:2:0]", "x", "one2one")), "f:5:29: devices[0].edges[0].ep1.component",
         "step of x is zero"},
        {MACHINE(XPU("4"), EDGE("x[-1]", "x", "one2one")), "f:5:29: devices[0].edges[0].ep1.component",
         "expected a name and a slice"},
        {MACHINE(XPU("4"), EDGE("x[0", "x", "one2one")), "f:5:29: devices[0].edges[0].ep1.component",
         "expected a name and a slice"},
        {MACHINE(XPU("4"), EDGE("x.y", "x", "one2one")), "f:5:29: devices[0].edges[0].ep1.component",
         "'x' is no device"},
        {MACHINE(XPU("3"), EDGE("x[0:2]", "x[2]", "one2one")), IN_DEVICE, "one2one of 2 and 1 ends"},
        {MACHINE(XPU("3"), EDGE("x", "x", "one2one")), IN_DEVICE, "from a component to itself"},
        {MACHINE(XPU("3"), EDGE("x", "x", "ring")), "f:5:66: devices[0].edges[0].scheme",
         "expected one2one or many2many, got 'ring' (the schema has it"},
        {MACHINE(XPU("3"), "{ep1: {component: x}, ep2: {component: x}, link: l}"), IN_DEVICE,
         "missing 'scheme'"},
        {MACHINE(XPU("3"), "{ep1: {component: x}, ep2: {component: x}, scheme: many2many, link: m}"),
         "f:5:79: devices[0].edges[0].link", "the device has no link 'm'"},
        {MACHINE(XPU("3"), "{ep1: {component: x}, scheme: many2many, link: l}"), IN_DEVICE, "missing 'ep2'"},
        {MACHINE(XPU("3"), EDGE("x[0]", "x[1]", "one2one")), "f", "no edge leads to i.0.x.2"},
        {"devices:\n- name: d\n  components: []\n" ONE_INSTANCE, "f:3:15: devices[0].components",
         "expected 'components', a list of at least one"},
        {"devices:\n- name: d\n  components: {x: 1}\n" ONE_INSTANCE, "f:3:15: devices[0].components",
         "expected 'components', a list of at least one"},
        {MACHINE(XPU("0"), ""), "f:3:33: devices[0].components[0].count", "at least 1"},
        {MACHINE("{name: x, count: 2, choice: gpu}", ""), "f:3:44: devices[0].components[0].choice",
         "unknown kind 'gpu'"},
        {MACHINE("{name: x.y, count: 2, choice: xpu}", ""), "f:3:23: devices[0].components[0].name",
         "without . [ ] and :"},
        {MACHINE(XPU("1") "," XPU("1"), ""), "f:3:56: devices[0].components[1].name", "given twice"},
        {MACHINE("{name: e, count: 1, choice: device}", ""), "f:3:16: devices[0].components[0]",
         "no device is named 'e'"},
        {MACHINE("{name: d, count: 1, choice: device}", ""), "f:2:3: devices[0]", "'d' contains itself"},
        {MACHINE("{name: x, count: 2, choice: xpu, colour: red}", ""),
         "f:3:57: devices[0].components[0].colour", "unknown key"},
        {DEVICE(XPU("2"), EDGE("x[0]", "x[1]", "one2one")) "instances: [{name: i, device: e, count: 1}]\n",
         "f:6:31: instances[0].device", "no device is named 'e'"},
        {DEVICE(XPU("2"), EDGE("x[0]", "x[1]", "one2one")) "instances: []\n", "f:6:12: instances",
         "at least one instance"},
        {DEVICE(XPU("1"), "") "instances: [{name: i, device: d, count: 2}]\nedges:\n- {ep1: {instance: j, "
                              "component: x}, ep2: {instance: i, component: x}, scheme: one2one, link: l}\n",
         "f:8:9: edges[0].ep1", "no instance is named 'j'"},
        {DEVICE(XPU("1"), "") "instances: [{name: i, device: d, count: 2}]\nedges:\n- {ep1: {instance: " SIXTY
                              "1, "
                              "component: x}, ep2: {instance: i, component: x}, scheme: one2one, link: l}\n",
         "f:8:9: edges[0].ep1", "no instance is named '" SIXTY "'"},
        {DEVICE(XPU("1"),
                "") "instances: [{name: i, device: d, count: 2}]\nlinks: [{name: l}]\nedges:\n- "
                    "{ep1: {instance: 'i[0]', component: x}, ep2: {instance: 'i[1]', component: x}, "
                    "scheme: one2one, link: l}\n",
         "f:7:9: links[0]", "link 'l' has no bandwidth: state it with --set link=l:64GB/s"},
        {DEVICE(XPU("1"), "") "instances: [{name: i, device: d, count: 2}]\nlinks: [{name: l, physical: "
                              "{bandwidth: {gigabits_per_second: 8}}}]\nedges:\n- {ep1: {instance: 'i[0]', "
                              "component: x}, ep2: {instance: 'i[1]', component: x}, scheme: one2one, link: "
                              "l}\n",
         "f:7:9: links[0]", "--set latency=500ns"},
        {DEVICE(XPU("1"), "") ONE_INSTANCE "links: [{name: l, physical: {bandwidth: {choice: bits}}}]\n",
         "f:7:50: links[0].physical.bandwidth.choice", "unknown unit 'bits'"},
        {DEVICE(XPU("1"), "") ONE_INSTANCE
         "links: [{name: l, physical: {bandwidth: {gigabits_per_second: 0}}}]\n",
         "f:7:63: links[0].physical.bandwidth.gigabits_per_second", "bandwidth is zero"},
        {DEVICE(XPU("1"), "") ONE_INSTANCE
         "links: [{name: l, physical: {bandwidth: {gigabits_per_second: -1}}}]\n",
         "f:7:63: links[0].physical.bandwidth.gigabits_per_second", "expected a number that is not negative"},
        {DEVICE(XPU("1"), "") ONE_INSTANCE
         "links: [{name: l, physical: {bandwidth: {gigabits_per_second: 1e40}}}]\n",
         "f:7:63: links[0].physical.bandwidth.gigabits_per_second", "expected a number that is not negative"},
        {DEVICE(XPU("1"), "") ONE_INSTANCE "links: [{name: l, physical: {latency: {ns: 1, us: 1}}}]\n",
         "f:7:39: links[0].physical.latency", "several units"},
        {DEVICE(XPU("1"), "") ONE_INSTANCE
         "annotations: {nodes: [{name: i.0.x.0, attributes: [{attribute: rank, value: '1'}]}]}\n",
         "f", "i.0.x.0 has rank 1, expected the ranks 0 to 0"},
        WRONG_RANK("x"),
        WRONG_RANK(""),
        WRONG_RANK("1x"),
        WRONG_RANK(":"),
        WRONG_RANK("/"),
        WRONG_RANK("4194304"),
        {DEVICE(XPU("1"), "") ONE_INSTANCE
         "annotations: {nodes: [{name: i.0.y.0, attributes: [{attribute: rank, value: '0'}]}]}\n",
         "f:7:23: annotations.nodes[0]", "device 'd' has no component 'y'"},
        {DEVICE(XPU("1"), "") ONE_INSTANCE
         "annotations: {graph: [{attribute: ringlet, value: '{\"a\": 1}'}]}\n",
         "f:7:23: annotations.graph[0]: ringlet:1:7: a", "unknown key 'a'"},
        {DEVICE(XPU("1"), "") ONE_INSTANCE "annotations: {graph: [{attribute: ringlet}]}\n",
         "f:7:23: annotations.graph[0]", "value"},
        {DEVICE(XPU("1"), "") ONE_INSTANCE "annotations: {graph: [{value: '{}'}]}\n",
         "f:7:23: annotations.graph[0]", "attribute"},
        {"{\"devices\": [], \"instances\": [], \"edges\" 3}", "f:1:42", "expected ':'"},
        {DEVICE("{name: s, count: 2, choice: switch}", EDGE("s[0]", "s[1]", "one2one")) ONE_INSTANCE, "f",
         "no accelerator among 2 nodes"},
        {DEVICE(XPU("2"), EDGE("x[0]", "x[1]", "one2one")) "instances: [{name: i, device: d, count: 2}]\n",
         "f", "cannot"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        refuse(&table[i]);
}

/* Sizes that no memory holds are refused before any is taken: the process has a limit in the sanitizers. */
static void too_large(void **state)
{
    static const fault table[] = {
        {MACHINE(XPU("1000000000"), ""), "f:3:33: devices[0].components[0].count", ""},
        {MACHINE(XPU("4000000"), EDGE("x", "x", "many2many")), IN_DEVICE, "more than 16777216 edges"},
        {DEVICE(XPU("4000"), "") "instances: [{name: i, device: d, count: 4000}]\n", "f:6:13: instances[0]",
         "more than 4194304 vertices"},
        {DEVICE(XPU("4000"), EDGE("x", "x", "many2many")) "instances: [{name: i, device: d, count: 2}]\n",
         "f:2:3: devices[0]", "more than 16777216 edges"},
        {"devices:\n"
         "- {name: a, components: [" XPU(
             "2000") "]}\n"
                     "- {name: b, components: [{name: a, count: 2000, choice: device}]}\n"
                     "- {name: c, components: [{name: b, count: 2000, choice: device}]}\n" ONE_INSTANCE,
         "f:4:26: devices[2].components[0]", "device 'c' has more than 4194304 vertices"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        refuse(&table[i]);
}

/* ---- round trips of other topologies */

static void other_topologies(void **state)
{
    static const char *const specs[] = {
        "switch:8@450GB/s,500ns*rail:4@400Gbps,2us",
        "hgx-h100-8*rail:4@400Gbps,2us,nics=4",
        "dgx1-v100-8",
        "ring:2@100GB/s,1us",
        "torus:4x4@300GB/s,500ns",
        "ring:4@200GB/s,500ns*switch:2@150GB/s,500ns*fat-tree:16@50GB/s,500ns,hosts_per_leaf=4",
        "switch:8@450GB/s,500ns,in_network=reduce+multicast",
        "{\"dims\": [2, 2], \"nodes\": [{\"id\": \"a\", \"kind\": \"accelerator\", \"count\": 4}, {\"id\": "
        "\"s\", \"kind\": \"switch\", \"in_network\": \"reduce\"}, {\"id\": \"c\", \"kind\": \"cpu\", "
        "\"forwards\": false}, {\"id\": \"p\", \"kind\": \"pcie\"}], \"links\": [{\"src\": \"a0\", \"dst\": "
        "\"s\", \"bandwidth\": \"1GB/s\", \"latency\": \"1ns\", \"count\": 3}, {\"src\": \"a1\", \"dst\": "
        "\"s\", \"bandwidth\": \"1GB/s\", \"latency\": \"1ns\"}, {\"src\": \"a2\", \"dst\": \"s\", "
        "\"bandwidth\": \"1GB/s\", \"latency\": \"1ns\"}, {\"src\": \"a3\", \"dst\": \"s\", \"bandwidth\": "
        "\"2GB/s\", \"latency\": \"1ns\", \"duplex\": false}, {\"src\": \"s\", \"dst\": \"a3\", "
        "\"bandwidth\": \"3GB/s\", \"latency\": \"2ns\", \"duplex\": false}, {\"src\": \"p\", \"dst\": "
        "\"a3\", \"bandwidth\": \"1B/s\", \"latency\": \"1ps\", \"duplex\": false}, {\"src\": \"a0\", "
        "\"dst\": \"a3\", \"bandwidth\": \"999999999B/s\", \"latency\": \"1001ps\"}], \"routes\": [{\"src\": "
        "\"a0\", \"dst\": \"a3\", \"via\": [\"s\"]}], \"rings\": [[0, 2, 1, 3], [3, 2, 1, 0]]}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        rlt_topology *t = NULL;
        rlt_error err = {0};
        if (rlt_topology_load(specs[i], "topologies", &t, &err) != 0)
            fail_msg("%s: %s", err.where, err.what);
        round_trip(t);
        rlt_topology_free(t);
    }
}

/* What is written of two machines on a switch: equal ones are one device, and a device has the links that it uses. */
static void as_written(void **state)
{
    static const char machines[] =
        "{\"name\":\"azAZ09 _()><-/x\",\"node_size\":1,\"nodes\":[{\"id\":\"a\",\"count\":2,\"kind\":\"accelerator\"},{\"id\":\"p\",\"count\":2,\"kind\":\"pcie\"},{\"id\":\"s\",\"kind\":\"switch\"}],\"links\":["
        "{\"src\":\"a0\",\"dst\":\"p0\",\"bandwidth\":\"10GB/s\",\"latency\":\"100ns\"},{\"src\":\"a1\",\"dst\":\"p1\",\"bandwidth\":\"10GB/s\",\"latency\":\"100ns\"},{\"src\":\"p0\",\"dst\":\"s\",\"bandwidth\":\"25GB/s\",\"latency\":\"2us\"},{\"src\":\"p1\",\"dst\":\"s\",\"bandwidth\":\"25GB/s\",\"latency\":\"2us\"}]}";
    static const char *const parts[] = {
        "\"name\": \"azAZ09 _()><--x\",",
        "\"devices\": [{\"name\": \"machine0\", \"components\": [{\"name\": \"xpu\", \"count\": 1, \"choice\": \"xpu\"}, ",
        "{\"name\": \"pcie\", \"count\": 1, \"choice\": \"custom\", \"custom\": {\"type\": \"pcie\"}}], \"links\": [{\"name\": \"link0\", \"physical\": ",
        "{\"bandwidth\": {\"choice\": \"gigabytes_per_second\", \"gigabytes_per_second\": 10.000000000}, \"latency\": {\"choice\": \"ns\", \"ns\": 100.000}}}], ",
        "\"edges\": [{\"ep1\": {\"component\": \"xpu[0]\"}, \"ep2\": {\"component\": \"pcie[0]\"}, \"scheme\": \"one2one\", \"link\": \"link0\"}]}, ",
        "{\"name\": \"switch1\", \"components\": [{\"name\": \"switch\", \"count\": 1, \"choice\": \"switch\"}], \"links\": [], \"edges\": []}]",
        "\"links\": [{\"name\": \"link1\", \"physical\": {\"bandwidth\": {\"choice\": \"gigabytes_per_second\", \"gigabytes_per_second\": 25.000000000}, \"latency\": {\"choice\": \"ns\", \"ns\": 2000.000}}}],",
        "\"instances\": [{\"name\": \"machine0\", \"device\": \"machine0\", \"count\": 2}, {\"name\": \"switch1\", \"device\": \"switch1\", \"count\": 1}],",
        "\"edges\": [{\"ep1\": {\"instance\": \"machine0[0]\", \"component\": \"pcie[0]\"}, \"ep2\": {\"instance\": \"switch1[0]\", \"component\": \"switch[0]\"}, \"scheme\": \"one2one\", \"link\": \"link1\"}, ",
    };
    char *text = NULL, *at;
    rlt_topology *t = read_with(machines, NULL);
    (void)state;
    assert_int_equal(rlt_topology_to_infragraph(t, &text, NULL), 0);
    at = text;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char *found = strstr(at, parts[i]);
        if (!found)
            fail_msg("not there, or too early: %s\n%s", parts[i], text);
        at = found + strlen(parts[i]);
    }
    free(text);
    rlt_topology_free(t);
}

/* One device stands for equal machines; a machine that differs has its own. */
static void devices_are_shared(void **state)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    char *text = NULL;
    (void)state;
    assert_int_equal(rlt_topology_load("switch:8@450GB/s,500ns*rail:4@400Gbps,2us", NULL, &t, &err), 0);
    assert_int_equal(rlt_topology_to_infragraph(t, &text, &err), 0);
    assert_non_null(strstr(text, "\"name\": \"machine0\", \"device\": \"machine0\", \"count\": 4}"));
    assert_null(strstr(text, "\"machine1\""));
    free(text);
    assert_int_equal(rlt_topology_scale_links(t, "acc9->sw0.1.0", 0.5, &err), 0);
    assert_int_equal(rlt_topology_to_infragraph(t, &text, &err), 0);
    assert_non_null(strstr(text, "\"name\": \"machine0\", \"device\": \"machine0\", \"count\": 3}"));
    assert_non_null(strstr(text, "\"name\": \"machine1\", \"device\": \"machine1\", \"count\": 1}"));
    free(text);
    round_trip(t);
    rlt_topology_free(t);
}

/* ---- larger examples, if they are at hand */

static void examples(void **state)
{
    static const struct {
        const char *file, *counts, *links;
        uint32_t accelerators, nodes, cables, node_size;
    } all[] = {
        /* The 8 adapters of three parts become 8 NICs: 8 + 2 + 10 + 8 nodes; of 85 edges 16 are folded. */
        {"dgx-a100.yaml", "44 vertices and 85 edges", "16 internal, 1 fabric, 20 pcie4, 48 nvlink3x2", 8, 28,
         69, 8},
        /* 8 accelerators, 4 switches inside, 8 adapters, 7 switches outside. 16 + 8 + 12 cables. */
        {"clos-4-hosts.yaml", "139 vertices and 148 edges",
         "8 pcie, 8 nvlink, 112 ic, 8 leaf-link, 12 spine-link", 8, 27, 36, 2},
    };
    const rlt_import with = {.link_Bps = 64 * GB, .latency = "500ns"};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char path[256], *text = NULL;
        size_t length;
        rlt_error err = {0};
        snprintf(path, sizeof path, "test/data/infragraph/%s", all[i].file);
        assert_int_equal(rlt_read_file(path, 1 << 20, &text, &length, &err), 0);
        rlt_topology *t = read_with(text, &with);
        assert_non_null(strstr(rlt_topology_source(t), all[i].counts));
        assert_non_null(strstr(rlt_topology_source(t), all[i].links));
        assert_int_equal(rlt_topology_accelerators(t), all[i].accelerators);
        assert_int_equal(rlt_topology_nodes(t), all[i].nodes);
        assert_int_equal(rlt_topology_links(t), 2 * all[i].cables);
        assert_int_equal(rlt_topology_node_size(t), all[i].node_size);
        round_trip(t);
        rlt_topology_free(t);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(composed),
        cmocka_unit_test(ranks),
        cmocka_unit_test(relaying),
        cmocka_unit_test(stated),
        cmocka_unit_test(is_one),
        cmocka_unit_test(lenient),
        cmocka_unit_test(memory_at_the_end),
        cmocka_unit_test(lenient_inside),
        cmocka_unit_test(nesting),
        cmocka_unit_test(faults),
        cmocka_unit_test(too_large),
        cmocka_unit_test(other_topologies),
        cmocka_unit_test(as_written),
        cmocka_unit_test(devices_are_shared),
        cmocka_unit_test(examples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
