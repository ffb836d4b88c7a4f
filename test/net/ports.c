/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Products whose accelerators share NICs, whose planes are joined, and whose nodes are graphs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "net/import/import.h"
#include "net/route.h"
#include "net/shapes/shapes.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"

static char directory[] = "/tmp/rlt-ports-XXXXXX";

/* Two accelerators at one PCIe switch with a NIC, two at another, joined by their CPUs; NVLink in pairs. */
static const char node_text[] =
    "{\"nodes\":[{\"id\":\"a\",\"kind\":\"accelerator\"},{\"id\":\"b\",\"kind\":\"accelerator\"},"
    "{\"id\":\"c\",\"kind\":\"accelerator\"},{\"id\":\"d\",\"kind\":\"accelerator\"},"
    "{\"id\":\"p\",\"kind\":\"pcie\"},{\"id\":\"q\",\"kind\":\"pcie\"},{\"id\":\"u\",\"kind\":\"cpu\"},"
    "{\"id\":\"v\",\"kind\":\"cpu\"},{\"id\":\"m\",\"kind\":\"nic\"},{\"id\":\"n\",\"kind\":\"nic\"}],"
    "\"links\":[{\"src\":\"a\",\"dst\":\"b\",\"bandwidth\":\"100GB/s\",\"latency\":\"1ns\"},"
    "{\"src\":\"c\",\"dst\":\"d\",\"bandwidth\":\"100GB/s\",\"latency\":\"1ns\"},"
    "{\"src\":\"a\",\"dst\":\"p\",\"bandwidth\":\"20GB/s\",\"latency\":\"2ns\"},"
    "{\"src\":\"b\",\"dst\":\"p\",\"bandwidth\":\"20GB/s\",\"latency\":\"2ns\"},"
    "{\"src\":\"c\",\"dst\":\"q\",\"bandwidth\":\"20GB/s\",\"latency\":\"2ns\"},"
    "{\"src\":\"d\",\"dst\":\"q\",\"bandwidth\":\"20GB/s\",\"latency\":\"2ns\"},"
    "{\"src\":\"p\",\"dst\":\"u\",\"bandwidth\":\"20GB/s\",\"latency\":\"4ns\"},"
    "{\"src\":\"q\",\"dst\":\"v\",\"bandwidth\":\"20GB/s\",\"latency\":\"4ns\"},"
    "{\"src\":\"u\",\"dst\":\"v\",\"bandwidth\":\"10GB/s\",\"latency\":\"8ns\"},"
    "{\"src\":\"p\",\"dst\":\"m\",\"bandwidth\":\"20GB/s\",\"latency\":\"16ns\"},"
    "{\"src\":\"q\",\"dst\":\"n\",\"bandwidth\":\"20GB/s\",\"latency\":\"16ns\"}]}";

static void write_file(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s.json", directory, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fputs(text, f) >= 0, 1);
    assert_int_equal(fclose(f), 0);
}

static rlt_topology *load(const char *spec)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    if (rlt_topology_load(spec, directory, &t, &err) != 0)
        fail_msg("%s: %s: %s", spec, err.where, err.what);
    return t;
}

/* Returns the route as "acc0 nic1.0.0 sw1.0.0 nic1.1.0 acc5". */
static const char *route(const rlt_topology *t, uint32_t src, uint32_t dst)
{
    static char text[512];
    char name[64];
    rlt_placement p = {.n = rlt_topology_accelerators(t)};
    rlt_router *r;
    rlt_path path;
    assert_int_equal(rlt_router_create(t, &p, RLT_ROUTE_DMODK, &r, NULL), 0);
    assert_int_equal(rlt_route(r, src, dst, 0, &path), 0);
    size_t used =
        (size_t)snprintf(text, sizeof text, "%s", rlt_topology_node_name(t, src, name, sizeof name));
    for (uint32_t i = 0; i < path.n; i++)
        used += (size_t)snprintf(
            text + used, sizeof text - used, " %s",
            rlt_topology_node_name(t, rlt_topology_link(t, path.links[i]).dst, name, sizeof name));
    rlt_router_free(r);
    return text;
}

static const struct {
    const char *spec;
    uint32_t n, others, links, hops, node;
    uint64_t egress_GBps, bisection_GBps;
    rlt_time diameter_ns;
} machines[] = {
    {"switch:8@300GB/s,1ns*switch:4@25GB/s,10ns,nics=4", 32, 4 + 4 + 16, 2 * (32 + 16 + 32), 6, 8, 325, 200,
     22},
    {"switch:8@300GB/s,1ns*fat-tree:4@25GB/s,10ns,hosts_per_leaf=2,nics=4", 32, 4 + 4 * (2 + 2) + 16,
     2 * (32 + 4 * (4 + 4) + 32), 8, 8, 325, 200, 42},
    {"switch:8@300GB/s,1ns*fat-tree:4@25GB/s,10ns,hosts_per_leaf=4,nics=4,planes=1", 32, 4 + 4 + 4 + 16,
     2 * (32 + 16 + 16 + 32), 8, 8, 325, 200, 42},
    {"switch:8@300GB/s,1ns*rail:4@25GB/s,10ns", 32, 4 + 8 + 4, 2 * (32 + 32 + 32), 6, 8, 325, 400, 42},
    {"switch:8@300GB/s,1ns*rail:4@25GB/s,10ns,planes=8", 32, 4 + 8, 2 * (32 + 32), 4, 8, 325, 400, 22},
    {"switch:8@300GB/s,1ns*rail:4@25GB/s,10ns,pxn=off", 32, 4 + 8 + 4, 2 * (32 + 32 + 32), 4, 8, 325, 400,
     40},
    {"switch:8@300GB/s,1ns*switch:4@25GB/s,10ns,nics=1,pcie=50GB/s", 32, 4 + 1 + 4, 2 * (32 + 4 + 32), 4, 8,
     350, 50, 20},
    {"pair*rail:3@50GB/s,100ns", 12, 3 * 6 + 2 + 3, 2 * (3 * 11 + 6 + 2 * 3), 14, 4, 120, 0, 458},
};

static void counts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        rlt_topology *t = load(machines[i].spec);
        rlt_topology_facts facts;
        assert_int_equal(rlt_topology_analyse(t, &facts, NULL), 0);
        assert_int_equal(rlt_topology_accelerators(t), machines[i].n);
        assert_int_equal(rlt_topology_nodes(t), machines[i].n + machines[i].others);
        assert_int_equal(rlt_topology_links(t), machines[i].links);
        assert_int_equal(rlt_topology_node_size(t), machines[i].node);
        assert_true(facts.min_egress_Bps == machines[i].egress_GBps * 1000000000);
        bool graph = strncmp(machines[i].spec, "pair", 4) == 0; /* each accelerator may be the farthest */
        assert_true(graph ? facts.diameter_hops >= machines[i].hops
                          : facts.diameter_hops == machines[i].hops);
        assert_true(graph ? facts.diameter_ps >= machines[i].diameter_ns * RLT_NS
                          : facts.diameter_ps == machines[i].diameter_ns * RLT_NS);
        uint64_t links[RLT_MAX_DIMS] = {0};
        for (uint32_t l = 0; l < machines[i].links; l++)
            links[rlt_topology_link(t, l).dim]++;
        for (uint32_t d = 0; d < RLT_MAX_DIMS; d++)
            assert_int_equal(facts.links_by_dim[d], links[d]);
        if (machines[i].bisection_GBps)
            assert_true(facts.bisection_Bps == machines[i].bisection_GBps * 1000000000);
        rlt_topology_free(t);
    }
}

/* Every route is a walk over existing links whose sums are right; names lead back to their nodes; links come
 * in pairs. */
static void routes_are_walks(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        rlt_topology *t = load(machines[i].spec);
        rlt_placement p = {.n = machines[i].n};
        rlt_router *r;
        for (uint32_t v = 0; v < rlt_topology_nodes(t); v++) {
            char name[64];
            assert_int_equal(rlt_topology_find_node(t, rlt_topology_node_name(t, v, name, sizeof name)), v);
        }
        for (uint32_t l = 0; l < rlt_topology_links(t); l++)
            assert_true(rlt_topology_reverse(t, l) != RLT_NONE);
        for (int routing = 0; routing < 3; routing++) {
            assert_int_equal(rlt_router_create(t, &p, (rlt_routing)routing, &r, NULL), 0);
            for (uint32_t pair = 0; pair < p.n * p.n; pair++) {
                uint32_t at = pair / p.n;
                rlt_time latency = 0;
                uint64_t bw = UINT64_MAX;
                rlt_path path;
                assert_int_equal(rlt_route(r, at, pair % p.n, 0, &path), 0);
                assert_true(path.n <= machines[i].hops);
                for (uint32_t k = 0; k < path.n; k++) {
                    rlt_link l = rlt_topology_link(t, path.links[k]);
                    assert_int_equal(l.src, at);
                    at = l.dst;
                    latency += l.latency_ps;
                    bw = l.bw_Bps < bw ? l.bw_Bps : bw;
                }
                assert_int_equal(at, pair % p.n);
                assert_true(path.latency_ps == latency && path.bw_Bps == bw);
                assert_true(latency <= machines[i].diameter_ns * RLT_NS);
            }
            rlt_router_free(r);
        }
        rlt_topology_free(t);
    }
}

/* Accelerators 0 and 1 share NIC 0, 2 and 3 NIC 1. A message moves inside its node to the receiver's index,
 * unless both use one NIC. */
static void messages_move_inside(void **state)
{
    (void)state;
    rlt_topology *t = load("switch:4@100GB/s,1ns*switch:2@10GB/s,1ns,nics=2");
    assert_string_equal(route(t, 0, 1), "acc0 sw0.0.0 acc1");
    assert_string_equal(route(t, 0, 5), "acc0 nic1.0.0 sw1.0.0 nic1.1.0 acc5");
    assert_string_equal(route(t, 0, 7), "acc0 sw0.0.0 acc3 nic1.0.1 sw1.1.0 nic1.1.1 acc7");
    rlt_topology_free(t);
    t = load("switch:4@100GB/s,1ns*switch:2@10GB/s,1ns,nics=2,planes=1,pxn=off");
    assert_string_equal(route(t, 0, 7), "acc0 nic1.0.0 sw1.0.0 nic1.1.1 acc7");
    rlt_topology_free(t);
    t = load("switch:4@100GB/s,1ns*rail:4@10GB/s,1ns,nodes_per_leaf=2,pxn=off");
    assert_string_equal(route(t, 0, 6), "acc0 sw1.0.0 sw1.0.9 sw1.0.2 acc6");
    assert_string_equal(route(t, 0, 4), "acc0 sw1.0.0 acc4");
    rlt_topology_free(t);
    t = load("switch:4@100GB/s,1ns*rail:4@10GB/s,1ns,nodes_per_leaf=2");
    assert_string_equal(route(t, 0, 6), "acc0 sw0.0.0 acc2 sw1.0.2 acc6");
    rlt_topology_free(t);
}

/* An accelerator of a graph takes the NIC at its own PCIe switch. */
static void a_graph_has_its_own_nics(void **state)
{
    (void)state;
    rlt_topology *t = load("pair*rail:2@50GB/s,100ns");
    assert_string_equal(route(t, 0, 1), "acc0 acc1");
    assert_string_equal(route(t, 0, 2), "acc0 p.0.0 u.0.0 v.0.0 q.0.0 acc2");
    assert_string_equal(route(t, 0, 5), "acc0 p.0.0 m.0.0 sw1.0.0 m.0.1 p.0.1 acc5");
    assert_string_equal(route(t, 3, 6), "acc3 q.0.0 n.0.0 sw1.0.1 n.0.1 q.0.1 acc6");
    assert_string_equal(route(t, 3, 4),
                        "acc3 q.0.0 v.0.0 u.0.0 p.0.0 acc0 p.0.0 m.0.0 sw1.0.0 m.0.1 p.0.1 acc4");
    assert_int_equal(rlt_topology_node_kind(t, rlt_topology_find_node(t, "m.0.1")), RLT_NIC);
    assert_int_equal(rlt_topology_node_kind(t, rlt_topology_find_node(t, "u.0.0")), RLT_CPU);
    rlt_topology_free(t);
    t = load(
        "pair*switch:2@60GB/s,10ns*rail:2@50GB/s,100ns"); /* a node of two graphs with NICs of their own */
    for (uint32_t a = 0; a < 8; a++) {
        char text[128], pcie = "pq"[a / 2 % 2], nic = "mn"[a / 2 % 2];
        snprintf(text, sizeof text, "acc%u %c.0.%u %c.0.%u sw2.0.%u %c.0.%u %c.0.%u acc%u", a, pcie, a / 4,
                 nic, a / 4, a / 2, nic, a / 4 + 2, pcie, a / 4 + 2, a + 8);
        assert_string_equal(route(t, a, a + 8), text);
    }
    rlt_topology_free(t);
    t = load("pair*rail:2@50GB/s,100ns,pxn=off");
    assert_string_equal(route(t, 3, 4), "acc3 q.0.0 n.0.0 sw1.0.1 sw1.0.3 sw1.0.0 m.0.1 p.0.1 acc4");
    rlt_topology_free(t);
}

/* A graph that states pxn takes the routes of the product that it was exported from: by each accelerator's own
 * NIC, over the same spines, whatever the routing. */
static void an_exported_product_keeps_its_routes(void **state)
{
    static const char *const specs[] = {
        "switch:8@300GB/s,1ns*rail:4@25GB/s,10ns",
        "switch:8@300GB/s,1ns*rail:4@25GB/s,10ns,pxn=off",
        "switch:4@300GB/s,1ns*rail:6@25GB/s,10ns,nodes_per_leaf=3,spines=2,pxn=off",
        "switch:8@300GB/s,1ns*switch:4@25GB/s,10ns,nics=4",
        "switch:8@300GB/s,1ns*switch:4@25GB/s,10ns,nics=4,planes=2,pxn=off",
        "switch:4@300GB/s,1ns*fat-tree:16@25GB/s,10ns",
        "switch:2@300GB/s,1ns*fat-tree:16@25GB/s,10ns,levels=3,hosts_per_leaf=4,leaves_per_pod=2",
        "pair*rail:3@50GB/s,100ns",
        "pair*rail:3@50GB/s,100ns,pxn=off",
    };
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        rlt_topology *t = load(specs[i]), *graph;
        char *text, name[64];
        assert_int_equal(rlt_topology_export(t, "json", &text, NULL), 0);
        assert_int_equal(rlt_topology_load(text, directory, &graph, NULL), 0);
        assert_int_equal(rlt_topology_node_size(graph), rlt_topology_node_size(t));
        rlt_placement p = {.n = rlt_topology_accelerators(t)};
        rlt_router *a, *b;
        rlt_path x, y;
        assert_int_equal(rlt_router_create(t, &p, RLT_ROUTE_DMODK, &a, NULL), 0);
        assert_int_equal(rlt_router_create(graph, &p, RLT_ROUTE_DMODK, &b, NULL), 0);
        for (uint32_t pair = 0; pair < p.n * p.n; pair++) {
            assert_int_equal(rlt_route(a, pair / p.n, pair % p.n, 0, &x), 0);
            assert_int_equal(rlt_route(b, pair / p.n, pair % p.n, 0, &y), 0);
            if (x.n != y.n || memcmp(x.links, y.links, x.n * sizeof *x.links) != 0)
                fail_msg("%s: %u to %s", specs[i], pair / p.n,
                         rlt_topology_node_name(t, pair % p.n, name, sizeof name));
        }
        rlt_router_free(a);
        rlt_router_free(b);
        free(text);
        rlt_topology_free(graph);
        rlt_topology_free(t);
    }
}

/* A topology in a product stands for its dimensions: written out, from a file, and in JSON. */
static void parts_stand_for_their_dimensions(void **state)
{
    (void)state;
    write_file("box", "{\"endpoint\":{\"launch\":\"3us\"},\"dims\":[{\"shape\":\"switch\",\"size\":8,"
                      "\"bandwidth\":\"300GB/s\",\"latency\":\"1ns\"}]}");
    write_file("cluster", "{\"dims\":[\"box\",{\"shape\":\"rail\",\"size\":4,\"bandwidth\":\"25GB/s\","
                          "\"latency\":\"10ns\"}]}");
    const char *const same[] = {"switch:8@300GB/s,1ns*rail:4@25GB/s,10ns", "box*rail:4@25GB/s,10ns",
                                "cluster", "{\"dims\":[\"cluster\"]}"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        rlt_topology *t = load(same[i]);
        assert_int_equal(rlt_topology_dims(t), 2);
        assert_int_equal(rlt_topology_node_size(t), 8);
        assert_true(rlt_topology_endpoint(t)->launch_ps == (i ? 3 * RLT_US : 0));
        assert_string_equal(route(t, 0, 18), "acc0 sw0.0.0 acc2 sw1.0.2 acc18");
        rlt_topology_free(t);
    }
}

/* ---- names, kinds and facts ---- */

static uint32_t find(const rlt_topology *t, const char *name)
{
    return rlt_topology_find_node(t, name);
}

static void names_of_nodes(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *name;
        uint32_t node;
        rlt_node_kind kind;
        bool forwards;
        uint32_t in_network;
    } cases[] = {
        /* Accelerators 0 to 7; sw0.0.0 and sw0.1.0; then of dimension 1 one switch and two NICs a node. */
        {"nics", "acc7", 7, RLT_ACCELERATOR, true, 0},
        {"nics", "sw0.1.0", 9, RLT_SWITCH, true, RLT_CAN_REDUCE},
        {"nics", "sw1.0.0", 10, RLT_SWITCH, true, RLT_CAN_MULTICAST},
        {"nics", "nic1.0.0", 11, RLT_NIC, true, 0},
        {"nics", "nic1.1.1", 14, RLT_NIC, true, 0},
        {"nics", "nic1.1.2", RLT_NONE, 0, 0, 0},
        {"nics", "nic1.2.0", RLT_NONE, 0, 0, 0},
        {"nics", "nic0.0.0", RLT_NONE, 0, 0, 0},
        {"nics", "nic2.0.0", RLT_NONE, 0, 0, 0},
        {"nics", "nic1.0.0x", RLT_NONE, 0, 0, 0},
        {"nics", "nic1.0", RLT_NONE, 0, 0, 0},
        {"nics", "nic1.0,0", RLT_NONE, 0, 0, 0},
        {"nics", "nic1,0.0", RLT_NONE, 0, 0, 0},
        {"nics", "nic1.00.0", RLT_NONE, 0, 0, 0},
        {"nics", "nic1.09.0", RLT_NONE, 0, 0, 0},
        {"nics", "nic1.0.268435456", RLT_NONE, 0, 0, 0},
        {"nics", "sw1.0.1", RLT_NONE, 0, 0, 0},
        {"nics", "sw1.1.0", RLT_NONE, 0, 0, 0},
        {"nics", "acc8", RLT_NONE, 0, 0, 0},
        {"nics", "acc07", RLT_NONE, 0, 0, 0},
        {"nics", "acc09", RLT_NONE, 0, 0, 0},
        {"nics", "acc0x", RLT_NONE, 0, 0, 0},
        {"nics", "acc:", RLT_NONE, 0, 0, 0},
        {"nics", "acc/", RLT_NONE, 0, 0, 0},
        {"nics", "bcc7", RLT_NONE, 0, 0, 0},
        /* Ten nodes: accelerators a to d, then p q u v m n. Three copies: 12 accelerators, 18 others. */
        {"pair*rail:3@50GB/s,100ns", "acc11", 11, RLT_ACCELERATOR, true, 0},
        {"pair*rail:3@50GB/s,100ns", "p.0.0", 12, RLT_PCIE, true, 0},
        {"pair*rail:3@50GB/s,100ns", "u.0.1", 12 + 6 + 2, RLT_CPU, true, 0},
        {"pair*rail:3@50GB/s,100ns", "n.0.2", 12 + 17, RLT_NIC, true, 0},
        {"pair*rail:3@50GB/s,100ns", "sw1.0.0", 12 + 18, RLT_SWITCH, true, 0},
        {"pair*rail:3@50GB/s,100ns", "sw1.0.4", 12 + 18 + 4, RLT_SWITCH, true, 0},
        {"pair*rail:3@50GB/s,100ns", "sw1.0.5", RLT_NONE, 0, 0, 0},
        {"pair*rail:3@50GB/s,100ns", "sw0.0.0", RLT_NONE, 0, 0, 0},
        {"pair*rail:3@50GB/s,100ns", "nic1.0.0", RLT_NONE, 0, 0, 0},
        {"pair*rail:3@50GB/s,100ns", "d.0.0", RLT_NONE, 0, 0, 0},
        {"pair*rail:3@50GB/s,100ns", "p.1.0", RLT_NONE, 0, 0, 0},
        {"pair*rail:3@50GB/s,100ns", "p.2.0", RLT_NONE, 0, 0, 0},
        {"pair*rail:3@50GB/s,100ns", "p.0.3", RLT_NONE, 0, 0, 0},
        {"pair*rail:3@50GB/s,100ns", "p.0.0x", RLT_NONE, 0, 0, 0},
        {"pair*rail:3@50GB/s,100ns", "p.0x.0", RLT_NONE, 0, 0, 0},
        {"pair*rail:3@50GB/s,100ns", "p.0", RLT_NONE, 0, 0, 0},
        {"pair*rail:3@50GB/s,100ns", ".0.0", RLT_NONE, 0, 0, 0},
        {"pair*rail:3@50GB/s,100ns", "z.0.0", RLT_NONE, 0, 0, 0},
        {"pair*rail:3@50GB/s,100ns", "p", RLT_NONE, 0, 0, 0},
        {"pair*rail:3@50GB/s,100ns", "", RLT_NONE, 0, 0, 0},
        /* Names of the graph may hold dots, or begin as those of products. */
        {"odd*ring:2@1GB/s,0,nics=1", "acc.0.1", 4 + 4, RLT_SWITCH, true, RLT_CAN_REDUCE},
        {"odd*ring:2@1GB/s,0,nics=1", "sw.1.0.0", 4 + 1, RLT_SWITCH, false, 0},
        {"odd*ring:2@1GB/s,0,nics=1", "nic.0.0", 4 + 2, RLT_SWITCH, true, 0},
        {"odd*ring:2@1GB/s,0,nics=1", "sw0.0.0.0.1", 4 + 4 + 3, RLT_SWITCH, true, 0},
        {"odd*ring:2@1GB/s,0,nics=1", "sw0.0.0", RLT_NONE, 0, 0, 0},
        {"odd*ring:2@1GB/s,0,nics=1", "nic1.0.0", 4 + 8, RLT_NIC, true, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *spec = strcmp(cases[i].spec, "nics")
                               ? cases[i].spec
                               : "switch:4@9GB/s,1ns,in_network=reduce*"
                                 "switch:2@6GB/s,7ns,nics=2,planes=1,in_network=multicast";
        rlt_topology *t = load(spec);
        char name[64];
        uint32_t v = find(t, cases[i].name);
        if (v != cases[i].node)
            fail_msg("%s: '%s' is %u", spec, cases[i].name, v);
        if (v != RLT_NONE) {
            assert_string_equal(rlt_topology_node_name(t, v, name, sizeof name), cases[i].name);
            assert_int_equal(rlt_topology_node_kind(t, v), cases[i].kind);
            assert_int_equal(rlt_topology_forwards(t, v), cases[i].forwards);
            assert_int_equal(rlt_topology_in_network(t, v), cases[i].in_network);
        }
        rlt_topology_free(t);
    }
}

static void facts_of_nodes(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        rlt_node_facts f; /* bandwidths in GB/s */
    } cases[] = {
        {"switch:8@300GB/s,1ns*switch:4@25GB/s,10ns", {8, 8, 300, 25, 0, 0}},
        {"switch:8@300GB/s,1ns*switch:4@25GB/s,10ns,nics=4", {8, 4, 300, 25, 0, 0}},
        {"switch:8@300GB/s,1ns,in_network=reduce*switch:4@25GB/s,10ns,in_network=reduce+multicast",
         {8, 8, 300, 25, 1, 3}},
        {"switch:4@300GB/s,1ns,in_network=reduce*switch:2@200GB/s,1ns,in_network=multicast*"
         "switch:3@25GB/s,10ns,in_network=multicast*switch:5@20GB/s,1ns,in_network=reduce+multicast",
         {8, 8, 500, 25, 0, 2}},
        {"ring:4@20GB/s,1ns*ring:4@20GB/s,1ns", {16, 0, 40, 0, 0, 3}},
        {"ring:4@20GB/s,1ns*ring:4@10GB/s,1ns", {16, 0, 30, 0, 0, 3}}, /* half is not less than half */
        {"ring:4@22GB/s,1ns*ring:4@10GB/s,1ns", {4, 4, 22, 10, 0, 0}},
        /* The first accelerator is at the border of a mesh, and has half. */
        {"ring:4@20GB/s,1ns*mesh:4@2GB/s,1ns", {16, 0, 21, 0, 0, 3}},
        {"mesh:4@20GB/s,1ns*ring:3@10GB/s,1ns,nics=4", {4, 4, 10, 10, 0, 0}},
        {"pair*rail:3@50GB/s,100ns", {4, 2, 120, 50, 0, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlt_topology *t = load(cases[i].spec);
        const rlt_node_facts *is = rlt_topology_node(t), *f = &cases[i].f;
        const uint64_t GB = 1000000000;
        if (is->accelerators != f->accelerators || is->nics != f->nics ||
            is->inside_Bps != f->inside_Bps * GB || is->nic_Bps != f->nic_Bps * GB ||
            is->in_network != f->in_network || is->outside != f->outside)
            fail_msg("%s: %u accelerators, %u NICs, %llu and %llu B/s, can %u and %u", cases[i].spec,
                     is->accelerators, is->nics, (unsigned long long)is->inside_Bps,
                     (unsigned long long)is->nic_Bps, is->in_network, is->outside);
        rlt_topology_free(t);
    }
}

/* Products that differ in one thing: the order of their dimensions, one class of links, NICs, planes, what passes
 * inside a node, or the graph of a node. */
static void hashes_of_products(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "ring:4@20GB/s,1ns*ring:6@20GB/s,1ns",
        "ring:6@20GB/s,1ns*ring:4@20GB/s,1ns",
        "switch:4@20GB/s,1ns*switch:6@20GB/s,1ns",
        "switch:6@20GB/s,1ns*switch:4@20GB/s,1ns",
        "switch:4@20GB/s,1ns",
        "switch:4@21GB/s,1ns",
        "switch:4@20GB/s,2ns",
        "fat-tree:16@20GB/s,1ns,hosts_per_leaf=4",
        "fat-tree:16@20GB/s,1ns,hosts_per_leaf=8",
        "fat-tree:16@20GB/s,1ns,hosts_per_leaf=4,oversubscription=2",
        "switch:8@300GB/s,1ns*switch:4@25GB/s,10ns",
        "switch:8@300GB/s,1ns*switch:4@25GB/s,10ns,nics=4",
        "switch:8@300GB/s,1ns*switch:4@25GB/s,10ns,nics=2",
        "switch:8@300GB/s,1ns*switch:4@25GB/s,10ns,nics=2,pcie=50GB/s",
        "switch:8@300GB/s,1ns*switch:4@25GB/s,10ns,nics=2,pcie=60GB/s",
        "switch:8@300GB/s,1ns*rail:4@25GB/s,10ns",
        "switch:8@300GB/s,1ns*rail:4@25GB/s,10ns,planes=8",
        "switch:8@300GB/s,1ns*rail:4@25GB/s,10ns,planes=4",
        "switch:8@300GB/s,1ns*rail:4@25GB/s,10ns,pxn=off",
        "pair*rail:3@50GB/s,100ns",
    };
    enum { N = sizeof specs / sizeof *specs };
    uint64_t hash[N];
    for (int i = 0; i < N; i++) {
        rlt_topology *t = load(specs[i]);
        hash[i] = rlt_topology_hash(t);
        rlt_topology_free(t);
        for (int k = 0; k < i; k++)
            if (hash[i] == hash[k])
                fail_msg("%s and %s have one hash", specs[k], specs[i]);
    }
}

/* The steps between nodes have one class of network, which any dimension may state. */
static void one_class_of_network(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *why;
    } cases[] = {
        {"ring:4@20GB/s,1ns*switch:2@10GB/s,1ns,network=roce*switch:2@5GB/s,1ns,network=roce", NULL},
        {"ring:4@20GB/s,1ns*switch:2@10GB/s,1ns*switch:2@5GB/s,1ns,network=roce", NULL},
        {"ring:4@20GB/s,1ns*switch:2@10GB/s,1ns,network=roce*switch:2@5GB/s,1ns", NULL},
        {"ring:4@20GB/s,1ns*switch:2@10GB/s,1ns,network=roce*switch:2@5GB/s,1ns,network=efa",
         "network=efa, but a dimension before it states roce: the steps between nodes have one class"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlt_topology *t = NULL;
        rlt_error err = {0};
        assert_int_equal(rlt_topology_load(cases[i].spec, NULL, &t, &err), cases[i].why ? RLT_ESCHEMA : 0);
        if (cases[i].why)
            assert_string_equal(err.what, cases[i].why);
        rlt_topology_free(t);
    }
}

/* Bandwidth that all accelerators share is known without looking at each. */
static void uniform_bandwidth(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        bool uniform;
        uint64_t GBps;
    } cases[] = {
        {"ring:4@20GB/s,1ns*switch:4@10GB/s,1ns", true, 30},
        {"ring:4@20GB/s,1ns*mesh:4@10GB/s,1ns", false, 0},
        {"ring:4@20GB/s,1ns*mesh:1@10GB/s,1ns", true, 20},
        {"one*switch:4@10GB/s,1ns,nics=1", true, 10}, /* no link inside a node of one */
        {"one*switch:4@10GB/s,1ns,nics=1,pcie=7GB/s", true, 7},
        {"pair*rail:3@50GB/s,100ns", true, 120},
        {"odd*switch:2@1GB/s,0,nics=1", false, 0},
        {"pair", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlt_topology *t = load(cases[i].spec);
        uint64_t Bps = 0;
        bool uniform = rlt_topology_uniform_Bps(t, &Bps);
        if (uniform != cases[i].uniform || (uniform && Bps != cases[i].GBps * 1000000000))
            fail_msg("%s: %d %llu", cases[i].spec, uniform, (unsigned long long)Bps);
        for (uint32_t a = 0; uniform && a < rlt_topology_accelerators(t); a++) {
            assert_true(rlt_topology_egress_Bps(t, a) == Bps);
            assert_true(rlt_topology_ingress_Bps(t, a) == Bps);
        }
        rlt_topology_free(t);
    }
}

/* A dimension that is scaled: its links, those to its NICs, and what is known of nodes. */
static void dimensions_are_scaled(void **state)
{
    (void)state;
    rlt_topology *t = load("switch:4@9GB/s,1ns*switch:2@6GB/s,7ns,nics=2,pcie=8GB/s*mesh:2@2GB/s,0");
    rlt_error err = {0};
    const uint64_t GB = 1000000000, before = rlt_topology_hash(t);
    uint32_t links = rlt_topology_links(t);
    assert_int_equal(rlt_topology_scale_dim(t, 1, 0.5, &err), 0);
    assert_true(rlt_topology_hash(t) != before);
    for (uint32_t i = 0; i < links; i++) {
        rlt_link l = rlt_topology_link(t, i);
        bool pcie = l.src < 16 || l.dst < 16;
        assert_true(l.bw_Bps == (l.dim == 0 ? 9 : l.dim == 2 ? 1 : pcie ? 4 : 3) * GB);
    }
    assert_true(rlt_topology_dim(t, 1).bw_Bps == 3 * GB / 2); /* two NICs of 3 GB/s for four */
    assert_true(rlt_topology_node(t)->nic_Bps == 3 * GB);
    assert_true(rlt_topology_egress_Bps(t, 0) == (9 + 4 + 1) * GB);
    assert_int_equal(rlt_topology_scale_dim(t, 2, 3, &err), 0);
    assert_true(rlt_topology_dim(t, 2).bw_Bps == 0); /* that of a mesh stays unknown */
    assert_true(rlt_topology_link(t, links - 1).bw_Bps == 3 * GB);
    rlt_topology_free(t);
    static const struct {
        const char *spec;
        uint32_t d;
        double factor;
        int code;
        const char *what;
    } cases[] = {
        {"ring:4@1GB/s,0", 0, 0, RLT_ERANGE, "expected a factor above 0, at most 1e6"},
        {"ring:4@1GB/s,0", 0, -1, RLT_ERANGE, "expected a factor above 0, at most 1e6"},
        {"ring:4@1GB/s,0", 0, 1000001, RLT_ERANGE, "expected a factor above 0, at most 1e6"},
        {"ring:4@1GB/s,0", 0, 1e6, 0, ""},
        {"switch:4@1GB/s,0", 0, 1e6, 0, ""}, /* 1 PB/s */
        {"switch:4@1.001GB/s,0", 0, 1e6, RLT_ERANGE, "the dimension would be faster than 1 PB/s"},
        {"ring:4@1.001GB/s,0", 0, 1e6, RLT_ERANGE, "the dimension would be faster than 1 PB/s"},
        {"switch:4@1GB/s,0*switch:2@1GB/s,0,pcie=2GB/s", 1, 1e6, RLT_ERANGE,
         "the dimension would be faster than 1 PB/s"},
        {"switch:4@1GB/s,0*switch:2@1GB/s,0", 2, 2, RLT_ERANGE,
         "switch:4@1GB/s,0*switch:2@1GB/s,0 has dimensions 0 to 1, not 2"},
        {"pair*rail:3@50GB/s,100ns", 0, 2, RLT_EUNSUPPORTED,
         "dimension 0 of pair*rail:3@50GB/s,100ns is a graph: scale its links by --link-scale"},
        {"pair*rail:3@50GB/s,100ns", 1, 2, 0, ""},
        {"{\"name\":\"g\",\"nodes\":[{\"id\":\"a\",\"kind\":\"accelerator\"}],\"links\":[]}", 0, 2,
         RLT_EUNSUPPORTED, "g is a graph: its links have no dimension, scale them by --link-scale"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t = load(cases[i].spec);
        err = (rlt_error){0};
        assert_int_equal(rlt_topology_scale_dim(t, cases[i].d, cases[i].factor, &err), cases[i].code);
        assert_string_equal(err.what, cases[i].what);
        rlt_topology_free(t);
    }
}

/* Four accelerators at a switch; the rest of the text follows. */
#define GRAPH                                                                                                \
    "{\"nodes\":[{\"id\":\"a\",\"kind\":\"accelerator\",\"count\":4},{\"id\":\"s\",\"kind\":\"switch\"}],"   \
    "\"links\":[{\"src\":\"a0\",\"dst\":\"s\",\"bandwidth\":\"1GB/s\",\"latency\":\"1ns\"},"                 \
    "{\"src\":\"a1\",\"dst\":\"s\",\"bandwidth\":\"1GB/s\",\"latency\":\"1ns\"},"                            \
    "{\"src\":\"a2\",\"dst\":\"s\",\"bandwidth\":\"1GB/s\",\"latency\":\"1ns\"},"                            \
    "{\"src\":\"a3\",\"dst\":\"s\",\"bandwidth\":\"1GB/s\",\"latency\":\"1ns\"}],"

static const struct {
    const char *spec, *what;
} wrong[] = {
    {"switch:8@300GB/s,1ns*switch:4@25GB/s,10ns,nics=3", "3 NICs do not divide the 8 accelerators of a node"},
    {"switch:8@300GB/s,1ns*switch:4@25GB/s,10ns,nics=4,planes=3", "3 planes do not divide the 4 NICs"},
    {"switch:8@300GB/s,1ns*ring:4@25GB/s,10ns,planes=1", "one port of a node in each plane"},
    {"pair*switch:4@25GB/s,10ns,nics=4", "has NICs of its own, 2 a node"},
    {"pair*switch:4@25GB/s,10ns,pcie=4GB/s", "has NICs of its own"},
    {"bare*switch:4@25GB/s,10ns", "has no NICs: state how many a node has with nics="},
    {"switch:8@300GB/s,1ns*switch:4@25GB/s,10ns,nics=4,nics=4", "given twice"},
    {"switch:8@300GB/s,1ns*switch:4@25GB/s,10ns,pxn=maybe", "pxn"},
    {"switch:8@300GB/s,1ns*switch:4@25GB/s,10ns,nics=16", "nics=16 for nodes of 8 accelerators"},
    {"switch:8@300GB/s,1ns,nics=4*switch:4@25GB/s,10ns", "nics=4 for nodes of 1 accelerators"},
    {"switch:8@300GB/s,1ns,pxn=off*switch:4@25GB/s,10ns", "nodes have one accelerator here"},
    {"switch:8@300GB/s,1ns*switch:4@25GB/s,10ns,pxn=off", "each of the 8 NICs has a network of its own"},
    {"switch:8@300GB/s,1ns*rail:4@25GB/s,10ns,planes=8,pxn=off", "messages have to move"},
    {"switch:8@300GB/s,1ns*rail:4@25GB/s,10ns,nics=0", "expected 1 to"},
    {"switch:8@300GB/s,1ns*rail:4@25GB/s,10ns,pcie=0GB/s", "pcie"},
    {"switch:8@300GB/s,1ns*rail:4@25GB/s,10ns,spines=2,oversubscription=2", "not both"},
    {"switch:2@300GB/s,1ns*cluster", "can only come first"},
    {"bare*switch:4@25GB/s,10ns,nics=3", "nics=3 for nodes of 2 accelerators"},
    {"{\"dims\":[{\"shape\":\"switch\",\"size\":8,\"bandwidth\":\"300GB/s\",\"link_bandwidth\":\"1GB/s\","
     "\"latency\":\"1ns\"}]}",
     "either 'bandwidth' or 'link_bandwidth'"},
    {GRAPH "\"node_size\":3}", "node_size 3 does not divide the 4 accelerators"},
    {GRAPH "\"node_size\":0}", "node_size 0 does not divide"},
    {GRAPH "\"pxn\":\"on\"}", "pxn is about messages between nodes"},
    {GRAPH "\"node_size\":2,\"pxn\":\"maybe\"}", "expected on or off, got 'maybe'"},
    {GRAPH "\"node_size\":2,\"dims\":[4]}", "node_size 2 is no product of the first of the dims"},
    {GRAPH "\"node_size\":2,\"dims\":[3]}", "the sizes must multiply to the 4 accelerators"},
    {"pear*switch:4@25GB/s,10ns", "no such file"},
    {"loop", "topologies inside topologies"},
    {"-*switch:4@25GB/s,10ns", "standard input"},
    {"pair**switch:4@25GB/s,10ns", "expected a shape"},
};

static void wrong_parts(void **state)
{
    (void)state;
    write_file("bare",
               "{\"nodes\":[{\"id\":\"a\",\"kind\":\"accelerator\"},{\"id\":\"b\",\"kind\":\"accelerator\"}],"
               "\"links\":[{\"src\":\"a\",\"dst\":\"b\",\"bandwidth\":\"100GB/s\",\"latency\":\"1ns\"}]}");
    write_file("loop", "{\"dims\":[\"loop\"]}");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rlt_topology *t = NULL;
        rlt_error err = {0};
        if (rlt_topology_load(wrong[i].spec, directory, &t, &err) == 0)
            fail_msg("%s was read", wrong[i].spec);
        if (!strstr(err.what, wrong[i].what))
            fail_msg("%s: %s: '%s' lacks '%s'", wrong[i].spec, err.where, err.what, wrong[i].what);
        assert_null(t);
    }
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(directory))
        return 1;
    write_file("pair", node_text);
    write_file("one", "{\"nodes\":[{\"id\":\"a\",\"kind\":\"accelerator\"}],\"links\":[]}");
    write_file(
        "odd",
        "{\"nodes\":[{\"id\":\"a\",\"kind\":\"accelerator\",\"count\":2},"
        "{\"id\":\"acc\",\"kind\":\"switch\",\"in_network\":\"reduce\"},"
        "{\"id\":\"sw.1\",\"kind\":\"switch\",\"forwards\":false},{\"id\":\"nic\",\"kind\":\"switch\"},"
        "{\"id\":\"sw0.0.0\",\"kind\":\"switch\"}],\"links\":["
        "{\"src\":\"a0\",\"dst\":\"acc\",\"bandwidth\":\"1GB/s\",\"latency\":\"1ns\"},"
        "{\"src\":\"a1\",\"dst\":\"acc\",\"bandwidth\":\"2GB/s\",\"latency\":\"1ns\"}]}");
    return 0;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"pair", "one", "odd", "box", "cluster", "bare", "loop"};
    char path[128];
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s.json", directory, names[i]);
        unlink(path);
    }
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),
        cmocka_unit_test(routes_are_walks),
        cmocka_unit_test(messages_move_inside),
        cmocka_unit_test(a_graph_has_its_own_nics),
        cmocka_unit_test(an_exported_product_keeps_its_routes),
        cmocka_unit_test(parts_stand_for_their_dimensions),
        cmocka_unit_test(names_of_nodes),
        cmocka_unit_test(facts_of_nodes),
        cmocka_unit_test(hashes_of_products),
        cmocka_unit_test(one_class_of_network),
        cmocka_unit_test(uniform_bandwidth),
        cmocka_unit_test(dimensions_are_scaled),
        cmocka_unit_test(wrong_parts),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
