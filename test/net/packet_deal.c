/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How the places of a network of packets are dealt to threads: by hand, and random networks by brute force. */
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
#include "net/network.h"
#include "net/packet/packet.h"
#include "net/packet/packets.h"
#include "net/packet/parts.h"
#include "net/route.h"
#include "net/topology/build.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/networks/graph.h"

typedef struct dealt {
    rlt_topology *t;
    rlt_router *router;
    rlt_net_config cfg;
    rlt_packet_settings packet;
    rlt_packet_parts parts;
    rlt_error err;
} dealt;

static dealt *begin_on(rlt_topology *t, const rlt_placement *place, rlt_routing routing)
{
    dealt *d = calloc(1, sizeof *d);
    assert_non_null(d);
    d->t = t;
    if (rlt_router_create(d->t, place, routing, &d->router, &d->err))
        fail_msg("%s", d->err.what);
    d->packet = rlt_packet_default();
    d->cfg = (rlt_net_config){.router = d->router,
                              .endpoint = rlt_endpoint_default(),
                              .bandwidth_scale = 1,
                              .latency_scale = 1,
                              .packet = &d->packet};
    return d;
}

static dealt *begin(const char *spec, const rlt_placement *place, rlt_routing routing)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    if (rlt_topology_load(spec, NULL, &t, &err))
        fail_msg("%s: %s", err.where, err.what);
    return begin_on(t, place, routing);
}

static void end(dealt *d)
{
    rlt_packet_parts_free(&d->parts);
    assert_null(d->parts.owner);
    rlt_router_free(d->router);
    rlt_topology_free(d->t);
    free(d);
}

static uint8_t owner_of_node(const dealt *d, const char *name)
{
    uint32_t node = rlt_topology_find_node(d->t, name);
    assert_true(node != RLT_NONE);
    return d->parts.owner[rlt_topology_links(d->t) + node];
}

static uint8_t owner_of_link(const dealt *d, const char *src, const char *dst)
{
    uint32_t s = rlt_topology_find_node(d->t, src), e = rlt_topology_find_node(d->t, dst);
    for (uint32_t i = 0; i < rlt_topology_links(d->t); i++) {
        rlt_link l = rlt_topology_link(d->t, i);
        if (l.src == s && l.dst == e)
            return d->parts.owner[i];
    }
    fail_msg("no link from %s to %s", src, dst);
    return 0;
}

/* The example of the header. */
static void four_hosts_on_a_switch(void **state)
{
    (void)state;
    static const char *const hosts[] = {"acc0", "acc1", "acc2", "acc3"};
    const rlt_placement place = {.n = 4};
    dealt *d = begin("switch:4@1GB/s,1us", &place, RLT_ROUTE_DMODK);
    d->packet.switch_ps = 30000;
    d->cfg.latency_scale = 0.5;
    assert_int_equal(rlt_packet_deal(&d->cfg, 2, &d->parts, &d->err), 0);
    assert_int_equal(d->parts.n, 2);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(owner_of_node(d, hosts[i]), i / 2);
        assert_int_equal(owner_of_link(d, hosts[i], "sw0.0.0"), i / 2);
        assert_int_equal(owner_of_link(d, "sw0.0.0", hosts[i]), i / 2);
        assert_int_equal(d->parts.of_rank[i], i / 2);
    }
    assert_int_equal(d->parts.ahead, 500000 + 30000);
    end(d);
    d = begin("switch:4@1GB/s,1us", &place, RLT_ROUTE_DMODK);
    d->cfg.packet = NULL; /* the usual settings: no time in a switch */
    assert_int_equal(rlt_packet_deal(&d->cfg, 9, &d->parts, &d->err), 0);
    assert_int_equal(d->parts.n, 4); /* as many as ranks */
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(d->parts.of_rank[i], i);
    assert_int_equal(d->parts.ahead, 1000000);
    end(d);
}

/* Hosts without ranks go with the next one that has some; two ranks on a host count once. */
static void ranks_on_some_hosts(void **state)
{
    (void)state;
    static const struct {
        uint32_t n, on[4], asked, parts;
        const char *homes; /* of the eight accelerators */
    } rows[] = {
        {3, {1, 4, 6}, 3, 3, "00111222"},    {3, {1, 4, 6}, 2, 2, "00000111"},
        {3, {6, 1, 4}, 8, 3, "00111222"},    {4, {1, 1, 4, 4}, 4, 2, "00111111"},
        {4, {0, 2, 4, 6}, 2, 2, "00011111"}, {4, {7, 6, 5, 4}, 3, 3, "00000012"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t on[4];
        memcpy(on, rows[i].on, sizeof on);
        const rlt_placement place = {.n = rows[i].n, .accelerator = on};
        dealt *d = begin("switch:8@1GB/s,1us", &place, RLT_ROUTE_DMODK);
        assert_int_equal(rlt_packet_deal(&d->cfg, rows[i].asked, &d->parts, &d->err), 0);
        assert_int_equal(d->parts.n, rows[i].parts);
        uint32_t links = rlt_topology_links(d->t);
        for (uint32_t a = 0; a < 8; a++)
            if (d->parts.owner[links + a] != rows[i].homes[a] - '0')
                fail_msg("row %zu: accelerator %u in part %u", i, a, d->parts.owner[links + a]);
        for (uint32_t r = 0; r < rows[i].n; r++)
            assert_int_equal(d->parts.of_rank[r], rows[i].homes[on[r]] - '0');
        end(d);
    }
}

/* Ports between switches go with the end that is nearer to hosts, in both directions. */
static void ports_between_switches(void **state)
{
    (void)state;
    const rlt_placement place = {.n = 8};
    dealt *d = begin("fat-tree:8@1GB/s,1us,hosts_per_leaf=2,spines=2", &place, RLT_ROUTE_DMODK);
    assert_int_equal(rlt_packet_deal(&d->cfg, 4, &d->parts, &d->err), 0);
    static const char *const leaf[] = {"sw0.0.0", "sw0.0.1", "sw0.0.2", "sw0.0.3"}, *const spine[] = {
                                                                                        "sw0.0.4", "sw0.0.5"};
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(owner_of_node(d, leaf[i]), i);
        for (uint32_t k = 0; k < 2; k++) {
            assert_int_equal(owner_of_link(d, leaf[i], spine[k]), i);
            assert_int_equal(owner_of_link(d, spine[k], leaf[i]), i);
        }
    }
    end(d);
    /* Hosts that relay own their links. */
    d = begin("ring:8@1GB/s,1us", &place, RLT_ROUTE_DMODK);
    d->packet.switch_ps = 30000; /* there is no switch */
    assert_int_equal(rlt_packet_deal(&d->cfg, 4, &d->parts, &d->err), 0);
    for (uint32_t i = 0; i < rlt_topology_links(d->t); i++)
        assert_int_equal(d->parts.owner[i], rlt_topology_link(d->t, i).src / 2);
    assert_int_equal(d->parts.ahead, 1000000);
    end(d);
}

#define GRAPH(more)                                                                                          \
    "{\"nodes\":[{\"id\":\"g\",\"count\":4,\"kind\":\"accelerator\"},{\"id\":\"s\",\"kind\":\"switch\"},"    \
    "{\"id\":\"t\",\"kind\":\"switch\"},{\"id\":\"n\",\"kind\":\"nic\"}],\"links\":["                        \
    "{\"src\":\"g0\",\"dst\":\"s\",\"bandwidth\":\"1GB/s\",\"latency\":\"100ns\"},"                          \
    "{\"src\":\"g1\",\"dst\":\"s\",\"bandwidth\":\"1GB/s\",\"latency\":\"100ns\"},"                          \
    "{\"src\":\"g2\",\"dst\":\"t\",\"bandwidth\":\"1GB/s\",\"latency\":\"100ns\"},"                          \
    "{\"src\":\"g3\",\"dst\":\"t\",\"bandwidth\":\"1GB/s\",\"latency\":\"100ns\"}," more "]}"

/* Only links that lead to what another part has bound the distance: here those between the switches. */
static void distance_of_parts(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        uint32_t parts;
        rlt_time ahead;
    } rows[] = {
        {GRAPH("{\"src\":\"s\",\"dst\":\"t\",\"bandwidth\":\"1GB/s\",\"latency\":\"700ns\"}"), 2, 730000},
        {GRAPH("{\"src\":\"s\",\"dst\":\"t\",\"bandwidth\":\"1GB/s\",\"latency\":\"700ns\"}"), 4, 130000},
        /* a NIC between them takes no time */
        {GRAPH("{\"src\":\"s\",\"dst\":\"n\",\"bandwidth\":\"1GB/s\",\"latency\":\"400ns\"},"
               "{\"src\":\"n\",\"dst\":\"t\",\"bandwidth\":\"1GB/s\",\"latency\":\"500ns\"}"),
         2, 400000},
        /* the longer way between them */
        {GRAPH(
             "{\"src\":\"s\",\"dst\":\"t\",\"bandwidth\":\"1GB/s\",\"latency\":\"700ns\",\"duplex\":false},"
             "{\"src\":\"t\",\"dst\":\"s\",\"bandwidth\":\"1GB/s\",\"latency\":\"600ns\",\"duplex\":false}"),
         2, 630000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const rlt_placement place = {.n = 4};
        dealt *d = begin(rows[i].spec, &place, RLT_ROUTE_DMODK);
        d->packet.switch_ps = 30000;
        assert_int_equal(rlt_packet_deal(&d->cfg, rows[i].parts, &d->parts, &d->err), 0);
        assert_int_equal(d->parts.ahead, rows[i].ahead);
        assert_int_equal(owner_of_node(d, "g3"), rows[i].parts - 1);
        assert_int_equal(owner_of_node(d, "s"), 0);
        assert_int_equal(owner_of_node(d, "t"), rows[i].parts / 2);
        end(d);
    }
}

#define ONE_WAY(a, b)                                                                                        \
    "{\"src\":\"" a "\",\"dst\":\"" b "\",\"bandwidth\":\"1GB/s\",\"latency\":\"100ns\",\"duplex\":false}"

/* Two hosts in a circle of one-way links: a switch goes with the host next to it, against the links, too. */
static void one_way_circle(void **state)
{
    (void)state;
    const rlt_placement place = {.n = 2};
    dealt *d = begin(
        "{\"nodes\":[{\"id\":\"g\",\"count\":2,\"kind\":\"accelerator\"},{\"id\":\"s\",\"count\":4,\"kind\":"
        "\"switch\"}],\"links\":[" ONE_WAY("g0", "s0") "," ONE_WAY("s0", "s1") "," ONE_WAY(
            "s1", "g1") "," ONE_WAY("g1", "s2") "," ONE_WAY("s2", "s3") "," ONE_WAY("s3", "g0") "]}",
        &place, RLT_ROUTE_DMODK);
    assert_int_equal(rlt_packet_deal(&d->cfg, 2, &d->parts, &d->err), 0);
    static const char *const nodes[] = {"g0", "s0", "s3", "g1", "s1", "s2"};
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(owner_of_node(d, nodes[i]), i / 3);
    assert_int_equal(owner_of_link(d, "g0", "s0"), 0);
    assert_int_equal(owner_of_link(d, "s0", "s1"), 0);
    assert_int_equal(owner_of_link(d, "s1", "g1"), 1);
    end(d);
}

static void not_in_parts(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        uint32_t ranks;
        const char *why;
    } rows[] = {
        {"switch:4@1GB/s,1us", 4, "with blocking injection a sender learns of a delivery at once"},
        {"switch:4@1GB/s,1us", 4, "under back-pressure the ports of a switch depend on each other at once"},
        {"switch:4@1GB/s,1us", 4, "sprayed packets of all senders share their turns"},
        {"switch:4@1GB/s,1us", 4, "a link that changes does so for all at once"},
        {"switch:4@1GB/s,1us", 4, "a series over time has bins of one width for all links"},
        {"switch:2796203@1GB/s,1us", 4, "it has more than 8 million links and nodes"},
        {"switch:4@1GB/s,1us", 1, "it has only one rank"},
        {"switch:4@1GB/s,0", 4, "links without latency leave threads no time to work alone"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const rlt_placement place = {.n = rows[i].ranks};
        dealt *d = begin(rows[i].spec, &place, i == 2 ? RLT_ROUTE_SPRAY : RLT_ROUTE_DMODK);
        d->cfg.endpoint.injection = i == 0 ? RLT_INJECT_BLOCKING : RLT_INJECT_NIC;
        d->packet.pause = i == 1 ? RLT_PAUSE_PFC : RLT_PAUSE_NONE;
        d->cfg.changes = i == 3 ? RLT_LINKS_CHANGE : RLT_LINKS_STAY;
        d->cfg.series_bin_ps = i == 4;
        assert_int_equal(rlt_packet_deal(&d->cfg, 2, &d->parts, &d->err), RLT_EUNSUPPORTED);
        assert_string_equal(d->err.what, rows[i].why);
        end(d);
    }
    const rlt_placement place = {.n = 4};
    dealt *d = begin("switch:4@1GB/s,1us", &place, RLT_ROUTE_DMODK);
    assert_int_equal(rlt_packet_deal(&d->cfg, 1, &d->parts, &d->err), RLT_EUNSUPPORTED);
    end(d);
}

/* Two hosts with 600 switches between them in a line: those next to a host go with it, however long the line. */
static void long_line(void **state)
{
    enum { SWITCHES = 600, ALL = SWITCHES + 2 };
    static char names[ALL][8];
    static rlt_graph_node nodes[ALL];
    static rlt_graph_link links[2 * (ALL - 1)];
    const rlt_placement place = {.n = 2};
    (void)state;
    for (uint32_t i = 0; i < ALL; i++) {
        snprintf(names[i], sizeof names[i], "n%u", i);
        nodes[i] =
            (rlt_graph_node){.name = names[i], .kind = i < 2 ? RLT_ACCELERATOR : RLT_SWITCH, .forwards = 1};
    }
    for (uint32_t i = 0; i + 1 < ALL; i++) { /* n0, n2, n3, ..., n601, n1 */
        uint32_t a = i ? i + 1 : 0, b = i + 2 < ALL ? i + 2 : 1;
        links[2 * i] = (rlt_graph_link){a, b, 1000000000, 1000, NULL};
        links[2 * i + 1] = (rlt_graph_link){b, a, 1000000000, 1000, NULL};
    }
    dealt *d = begin_on(test_graph(nodes, ALL, links, 2 * (ALL - 1)), &place, RLT_ROUTE_DMODK);
    assert_int_equal(rlt_packet_deal(&d->cfg, 2, &d->parts, &d->err), 0);
    assert_int_equal(d->parts.n, 2);
    for (uint32_t i = 0; i < 200; i++) {
        assert_int_equal(d->parts.owner[2 * (ALL - 1) + 2 + i], 0);
        assert_int_equal(d->parts.owner[2 * (ALL - 1) + ALL - 1 - i], 1);
    }
    end(d);
}

/* 2^23 links and nodes are the most: 2 188 332 hosts, 364 722 leaves and two spines. */
static void largest(void **state)
{
    (void)state;
    const rlt_placement place = {.n = 1};
    dealt *d = begin("fat-tree:2188332@1GB/s,1us,hosts_per_leaf=6,spines=2", &place, RLT_ROUTE_DMODK);
    assert_int_equal(rlt_topology_links(d->t) + rlt_topology_nodes(d->t), 1 << 23);
    assert_int_equal(rlt_packet_deal(&d->cfg, 2, &d->parts, &d->err), RLT_EUNSUPPORTED);
    assert_string_equal(d->err.what, "it has only one rank");
    end(d);
}

/* There are at most 64 parts. */
static void many_parts(void **state)
{
    (void)state;
    const rlt_placement place = {.n = 130};
    dealt *d = begin("switch:130@1GB/s,1us", &place, RLT_ROUTE_DMODK);
    assert_int_equal(rlt_packet_deal(&d->cfg, 130, &d->parts, &d->err), 0);
    assert_int_equal(d->parts.n, 64);
    for (uint32_t i = 0; i < 130; i++)
        assert_int_equal(d->parts.of_rank[i], i * 64 / 130);
    end(d);
}

enum { HOSTS = 5, NODES = 11, EDGES = 20, RANKS = HOSTS };

/* A circle through all nodes, and other links. */
static rlt_topology *draw_graph(dice *d)
{
    static const rlt_node_kind inner[] = {RLT_SWITCH, RLT_SWITCH, RLT_NIC, RLT_CPU};
    char names[NODES][8];
    rlt_graph_node nodes[NODES];
    rlt_graph_link links[EDGES];
    uint32_t stride = 1 + below(d, NODES - 1);
    for (uint32_t i = 0; i < NODES; i++) {
        snprintf(names[i], sizeof names[i], "n%u", i);
        nodes[i] = (rlt_graph_node){
            .name = names[i], .kind = i < HOSTS ? RLT_ACCELERATOR : inner[below(d, 4)], .forwards = 1};
    }
    for (uint32_t i = 0; i < EDGES; i++) {
        uint32_t src = i < NODES ? i * stride % NODES : below(d, NODES);
        uint32_t dst = i < NODES ? (i + 1) * stride % NODES : (src + 1 + below(d, NODES - 1)) % NODES;
        links[i] = (rlt_graph_link){src, dst, 1000000000, 2 + 2 * (rlt_time)roll(d, 500), NULL};
    }
    return test_graph(nodes, NODES, links, EDGES);
}

/* Steps over links, in either direction, from a node to the next host. */
static void find_distances(const rlt_topology *t, uint32_t *distance)
{
    for (uint32_t i = 0; i < NODES; i++)
        distance[i] = i < HOSTS ? 0 : NODES;
    for (uint32_t round = 0; round < NODES; round++)
        for (uint32_t i = 0; i < rlt_topology_links(t); i++) {
            rlt_link l = rlt_topology_link(t, i);
            uint32_t *a = &distance[l.src], *b = &distance[l.dst];
            *a = *a < *b + 1 ? *a : *b + 1;
            *b = *b < *a + 1 ? *b : *a + 1;
        }
}

/* A node that is no host goes with a neighbour that is nearer to hosts; ports go with their ends. */
static void check_owners(const dealt *d, const uint32_t *distance)
{
    uint32_t links = rlt_topology_links(d->t);
    const uint8_t *of_node = d->parts.owner + links;
    bool follows[NODES] = {false};
    for (uint32_t i = 0; i < links; i++) {
        rlt_link l = rlt_topology_link(d->t, i);
        follows[l.dst] |= distance[l.src] < distance[l.dst] && of_node[l.src] == of_node[l.dst];
        follows[l.src] |= distance[l.dst] < distance[l.src] && of_node[l.dst] == of_node[l.src];
        bool by_end = l.src >= HOSTS && distance[l.dst] < distance[l.src];
        assert_int_equal(d->parts.owner[i], of_node[by_end ? l.dst : l.src]);
    }
    for (uint32_t i = HOSTS; i < NODES; i++)
        assert_true(follows[i]);
}

/* The least time from the begin of a link to a port, or a host, of another part at its end. */
static rlt_time least_ahead(const dealt *d)
{
    rlt_time least = RLT_TIME_MAX - 1;
    uint32_t links = rlt_topology_links(d->t);
    for (uint32_t i = 0; i < links; i++) {
        rlt_link l = rlt_topology_link(d->t, i);
        rlt_time time = (rlt_time)((double)l.latency_ps * d->cfg.latency_scale);
        time += rlt_topology_node_kind(d->t, l.dst) == RLT_SWITCH ? d->packet.switch_ps : 0;
        bool other = l.dst < HOSTS && d->parts.owner[links + l.dst] != d->parts.owner[i];
        for (uint32_t k = 0; k < links; k++)
            other |= rlt_topology_link(d->t, k).src == l.dst && d->parts.owner[k] != d->parts.owner[i];
        least = other && time < least ? time : least;
    }
    return least;
}

/* Hosts with ranks, in order, k of n times parts over hosts; others with the next such host, or the last. */
static void check_hosts(const dealt *d, const rlt_placement *place, uint32_t asked)
{
    bool has_rank[HOSTS] = {false};
    uint32_t used = 0, before = 0, links = rlt_topology_links(d->t);
    for (uint32_t r = 0; r < place->n; r++)
        has_rank[place->accelerator[r]] = true;
    for (uint32_t i = 0; i < HOSTS; i++)
        used += has_rank[i];
    assert_int_equal(d->parts.n, asked < used ? asked : used);
    for (uint32_t i = 0; i < HOSTS; before += has_rank[i++])
        assert_int_equal(d->parts.owner[links + i], (before < used ? before : used - 1) * d->parts.n / used);
    for (uint32_t r = 0; r < place->n; r++)
        assert_int_equal(d->parts.of_rank[r], d->parts.owner[links + place->accelerator[r]]);
}

static void random_networks(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        dice die = {.seed = seed};
        uint32_t on[RANKS], distance[NODES], asked = 2 + below(&die, 5);
        const rlt_placement place = {.n = 2 + below(&die, RANKS - 1), .accelerator = on};
        for (uint32_t r = 0; r < place.n; r++)
            on[r] = r < 2 ? r * (1 + below(&die, HOSTS - 1)) : below(&die, HOSTS);
        dealt *d = begin_on(draw_graph(&die), &place, RLT_ROUTE_DMODK);
        d->packet.switch_ps = (rlt_time)roll(&die, 1000);
        d->cfg.latency_scale = below(&die, 2) ? 1 : 0.5;
        if (rlt_packet_deal(&d->cfg, asked, &d->parts, &d->err))
            fail_msg("case %llu: %s", (unsigned long long)seed, d->err.what);
        find_distances(d->t, distance);
        check_hosts(d, &place, asked);
        check_owners(d, distance);
        assert_int_equal(d->parts.ahead, least_ahead(d));
        end(d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_hosts_on_a_switch),
        cmocka_unit_test(ranks_on_some_hosts),
        cmocka_unit_test(ports_between_switches),
        cmocka_unit_test(distance_of_parts),
        cmocka_unit_test(not_in_parts),
        cmocka_unit_test(many_parts),
        cmocka_unit_test(one_way_circle),
        cmocka_unit_test(random_networks),
        cmocka_unit_test(largest),
        cmocka_unit_test(long_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
