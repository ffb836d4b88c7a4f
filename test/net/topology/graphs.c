/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Graphs given as nodes and links: what is refused and in which words, the shapes and nodes seen in them, and
 * what their hash covers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/endpoint/endpoint.h"
#include "net/shapes/factor.h"
#include "net/shapes/shapes.h"
#include "net/topology/build.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/networks/small_graph.h"

static const uint64_t GB = 1000000000u;

static const char *const star_names[] = {"gpu0", "gpu1", "gpu2", "sw", NULL};
static const uint32_t star_pairs[][2] = {{0, 3}, {1, 3}, {2, 3}};

static test_small star(void)
{
    return test_small_graph(star_names, star_pairs, 3);
}

static void expect_built(test_small *g)
{
    rlt_topology *t;
    rlt_error err;
    if (test_small_build(g, &t, &err) != 0)
        fail_msg("%s", err.what);
    rlt_topology_free(t);
}

/* The whole message is compared. */
static void expect_refused(test_small *g, int code, const char *where, const char *what)
{
    rlt_topology *t;
    rlt_error err;
    assert_int_equal(test_small_build(g, &t, &err), code);
    assert_string_equal(err.what, what);
    assert_string_equal(err.where, where);
    assert_null(t);
}

static void names_that_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *what; /* NULL: it is taken */
    } cases[] = {
        {"", "a node without a name"},
        {NULL, "a node without a name"},
        {"sw", NULL},
        {"a name\xc3\xa9\xe2\x82\xac", NULL},
        {"tab\there", "a control character in the name of node 'tab\there'"},
        {"us\x1f", "a control character in the name of node 'us\x1f'"},
        {"del\x7f", "a control character in the name of node 'del\x7f'"},
        {"tilde~", NULL},
        {"\xc3", "a character that is not UTF-8 text in the name of node '\xc3'"},
        {"x\x80", "a character that is not UTF-8 text in the name of node 'x\x80'"},
        {"\xef\xbf\xbd", NULL}, /* U+FFFD */
        {"\xef\xbf\xbe", "a character that is not UTF-8 text in the name of node '\xef\xbf\xbe'"},
        {"\xef\xbf\xbf", "a character that is not UTF-8 text in the name of node '\xef\xbf\xbf'"},
        {"\xef\xbe\xbf", NULL},
        {"gpu1", "two nodes are named 'gpu1'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_small g = star();
        rlt_topology *t;
        rlt_error err;
        g.nodes[3].name = cases[i].name;
        g.nodes[3].where = "f:4";
        int rc = test_small_build(&g, &t, &err);
        if (cases[i].what && (rc != RLT_ESCHEMA || strcmp(err.where, "f:4") != 0))
            fail_msg("case %zu: %d %s", i, rc, err.where);
        /* Messages are printable. */
        char what[128];
        snprintf(what, sizeof what, "%s", cases[i].what ? cases[i].what : "");
        rlt_make_printable(what);
        assert_string_equal(err.what, what);
        rlt_topology_free(t);
    }
    char name[RLT_MAX_NODE_NAME + 2];
    test_small g = star();
    memset(name, 'x', sizeof name);
    name[RLT_MAX_NODE_NAME] = '\0';
    g.nodes[3].name = name;
    expect_built(&g);
    name[RLT_MAX_NODE_NAME] = 'x';
    name[RLT_MAX_NODE_NAME + 1] = '\0';
    expect_refused(
        &g, RLT_ESCHEMA, "",
        "the name of node 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
        "xxxx...' is longer than 200 bytes");
}

static void links_that_are_refused(void **state)
{
    (void)state;
    static const char speed[] = "bandwidth from 'gpu1' to 'sw' must be above zero and at most 1 PB/s";
    static const struct {
        rlt_graph_link link;
        int code;
        const char *what;
    } cases[] = {
        {{1, 3, RLT_MAX_LINK_Bps, RLT_TIME_MAX - 1, NULL}, 0, NULL},
        {{1, 3, 1, 0, NULL}, 0, NULL},
        {{1, 3, 0, 0, NULL}, RLT_ERANGE, speed},
        {{1, 3, RLT_MAX_LINK_Bps + 1, 0, NULL}, RLT_ERANGE, speed},
        {{1, 3, 1, -1, NULL}, RLT_ERANGE, "latency out of range"},
        {{1, 3, 1, RLT_TIME_MAX, NULL}, RLT_ERANGE, "latency out of range"},
        {{4, 3, 1, 0, NULL}, RLT_ESCHEMA, "link 2 leads to a node that is not there"},
        {{1, 4, 1, 0, NULL}, RLT_ESCHEMA, "link 2 leads to a node that is not there"},
        {{3, 3, 1, 0, NULL}, RLT_ESCHEMA, "a link from 'sw' to itself"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_small g = star();
        g.links[2] = cases[i].link;
        g.links[2].where = "f:7";
        g.spec.where = "f";
        if (cases[i].code)
            expect_refused(&g, cases[i].code, "f:7", cases[i].what);
        else
            expect_built(&g);
    }
}

static void routes_that_are_refused(void **state)
{
    (void)state;
    static const uint32_t sw[] = {3}, gone[] = {4}, twice[] = {3, 2};
    static const struct {
        rlt_static_route route;
        int code;
        const char *what;
    } cases[] = {
        {{0, 1, 1, sw, "f:9"}, 0, NULL},
        {{1, 0, 1, sw, "f:9"}, RLT_ESCHEMA, "two routes from 'gpu1' to 'gpu0'"},
        {{4, 1, 1, sw, "f:9"}, RLT_ESCHEMA, "a route needs two different nodes"},
        {{0, 4, 1, sw, "f:9"}, RLT_ESCHEMA, "a route needs two different nodes"},
        {{2, 2, 1, sw, "f:9"}, RLT_ESCHEMA, "a route needs two different nodes"},
        {{0, 1, 1, gone, "f:9"}, RLT_ESCHEMA, "a route over a node that is not there"},
        {{0, 1, 0, sw, "f:9"}, RLT_ETOPOLOGY, "no link from 'gpu0' to 'gpu1' on this route"},
        {{0, 1, 2, twice, "f:9"}, RLT_ETOPOLOGY, "no link from 'gpu2' to 'gpu1' on this route"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_small g = star();
        const rlt_static_route routes[] = {{1, 0, 1, sw, "f:8"}, cases[i].route};
        g.spec.routes = routes;
        g.spec.n_routes = 2;
        if (cases[i].code)
            expect_refused(&g, cases[i].code, "f:9", cases[i].what);
        else
            expect_built(&g);
    }
}

/* Accelerators do not relay unless they are told to. gpu0 is the node that others are searched from. */
static void unconnected_graphs_are_refused(void **state)
{
    (void)state;
    test_small g = star();
    g.spec.where = "f";
    g.links[4].src = 0; /* of gpu2 there is only the link to it */
    expect_refused(&g, RLT_ETOPOLOGY, "f", "accelerator 'gpu2' cannot reach 'gpu0'");
    g = star();
    g.links[5].dst = 0; /* only the link from it */
    expect_refused(&g, RLT_ETOPOLOGY, "", "accelerator 'gpu2' cannot be reached from 'gpu0'");
    /* gpu0 between two switches that have no link: all reach gpu0 and are reached by it. */
    static const char *const names[] = {"gpu0", "gpu1", "gpu2", "sw", "sx", NULL};
    static const uint32_t pairs[][2] = {{0, 3}, {1, 3}, {0, 4}, {2, 4}};
    g = test_small_graph(names, pairs, 4);
    expect_refused(&g, RLT_ETOPOLOGY, "", "accelerator 'gpu2' cannot be reached from 'gpu1'");
    g.nodes[0].forwards = 1;
    expect_built(&g);
    g.nodes[4].forwards = 0;
    expect_refused(&g, RLT_ETOPOLOGY, "", "accelerator 'gpu2' cannot reach 'gpu0'");
}

/* A switch that relays is not enough: gpu2 sends to, or hears from, one that leads nowhere. */
static void switches_that_lead_nowhere(void **state)
{
    (void)state;
    static const char *const names[] = {"gpu0", "gpu1", "gpu2", "sw", "sx", NULL};
    static const uint32_t pairs[][2] = {{0, 3}, {1, 3}, {2, 4}};
    test_small g = test_small_graph(names, pairs, 3);
    g.links[5] = (rlt_graph_link){3, 2, 1, 1, NULL}; /* sw to gpu2, and gpu2 to sx */
    expect_refused(&g, RLT_ETOPOLOGY, "", "accelerator 'gpu2' cannot reach 'gpu0'");
    g.links[4] = (rlt_graph_link){2, 3, 1, 1, NULL};
    g.links[5] = (rlt_graph_link){4, 2, 1, 1, NULL}; /* sx to gpu2, and gpu2 to sw */
    expect_refused(&g, RLT_ETOPOLOGY, "", "accelerator 'gpu2' cannot be reached from 'gpu0'");
}

/* Direct links alone: each accelerator reaches the others without anyone's help. */
static void direct_links_are_enough(void **state)
{
    (void)state;
    static const char *const names[] = {"gpu0", "gpu1", "gpu2", NULL};
    static const uint32_t pairs[][2] = {{0, 1}, {0, 2}, {1, 2}};
    test_small g = test_small_graph(names, pairs, 3);
    expect_built(&g);
    g.spec.n_links = 5; /* no link from gpu2 to gpu1 */
    expect_refused(&g, RLT_ETOPOLOGY, "", "accelerator 'gpu1' cannot be reached from 'gpu2'");
    g.nodes[0].forwards = 1;
    expect_built(&g);
    static const char *const one[] = {"gpu0", "sw", NULL};
    g = test_small_graph(one, pairs, 0);
    expect_built(&g);
}

static void counts_are_bounded(void **state)
{
    (void)state;
    test_small g = star();
    uint32_t logical[RLT_MAX_DIMS + 1] = {3, 1, 1, 1, 1, 1, 1, 1, 1};
    g.spec.logical = logical;
    g.spec.n_logical = RLT_MAX_DIMS;
    expect_built(&g);
    g.spec.n_logical++;
    expect_refused(&g, RLT_ERANGE, "", "9 dimensions; at most 8");
    static const char product[] =
        "the sizes of the dimensions do not multiply to the number of accelerators, 3";
    g.spec.n_logical = 2;
    logical[0] = 0;
    expect_refused(&g, RLT_ESCHEMA, "", product);
    logical[0] = 2;
    expect_refused(&g, RLT_ESCHEMA, "", product);
    logical[0] = logical[1] = UINT32_MAX;
    expect_refused(&g, RLT_ESCHEMA, "", product);
    g = star();
    g.spec.n_nodes = (1 << 24) + 1; /* the array is not looked at */
    expect_refused(&g, RLT_ERANGE, "", "16777217 nodes and 6 links; at most 16777216 and 268435456");
    g = star();
    g.spec.n_links = RLT_MAX_LINKS + 1u;
    expect_refused(&g, RLT_ERANGE, "", "4 nodes and 268435457 links; at most 16777216 and 268435456");
    g = star();
    for (int i = 0; i < 3; i++)
        g.nodes[i].kind = RLT_CPU;
    expect_refused(&g, RLT_ETOPOLOGY, "", "no accelerator among 4 nodes");
}

static void nodes_and_pxn(void **state)
{
    (void)state;
    static const char *const names[] = {"gpu0", "gpu1", "gpu2", "gpu3", "sw", NULL};
    static const uint32_t pairs[][2] = {{0, 4}, {1, 4}, {2, 4}, {3, 4}};
    static const struct {
        uint32_t node_size, n_logical, logical[3];
        rlt_pxn pxn;
        uint32_t node, dims, first; /* what is seen */
        const char *what;
    } cases[] = {
        {0, 0, {0}, 0, 4, 1, 4, NULL},
        {2, 0, {0}, RLT_PXN_ON, 2, 2, 2, NULL},
        {1, 0, {0}, RLT_PXN_OFF, 1, 2, 1, NULL},
        {4, 0, {0}, 0, 4, 1, 4, NULL},
        {0, 1, {4}, 0, 4, 1, 4, NULL},
        {0, 2, {2, 2}, RLT_PXN_OFF, 2, 2, 2, NULL},
        {2, 2, {2, 2}, RLT_PXN_ON, 2, 2, 2, NULL},
        {4, 2, {2, 2}, 0, 4, 2, 2, NULL},
        {2, 3, {1, 2, 2}, 0, 2, 3, 1, NULL},
        {1, 2, {2, 2}, 0, 1, 2, 2, NULL},
        {2, 2, {4, 1}, 0, 0, 0, 0, "node_size 2 is no product of the first of the dims"},
        {8, 0, {0}, 0, 0, 0, 0, "node_size 8 does not divide the 4 accelerators"},
        {3, 0, {0}, 0, 0, 0, 0, "node_size 3 does not divide the 4 accelerators"},
        {4,
         0,
         {0},
         RLT_PXN_ON,
         0,
         0,
         0,
         "pxn is about messages between nodes: state node_size, or dims of several sizes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_small g = test_small_graph(names, pairs, 4);
        rlt_topology *t;
        rlt_error err;
        g.spec.node_size = cases[i].node_size;
        g.spec.n_logical = cases[i].n_logical;
        g.spec.logical = cases[i].logical;
        g.spec.pxn = cases[i].pxn;
        if (cases[i].what) {
            expect_refused(&g, RLT_ESCHEMA, "", cases[i].what);
            continue;
        }
        if (test_small_build(&g, &t, &err) != 0)
            fail_msg("case %zu: %s", i, err.what);
        assert_int_equal(rlt_topology_node_size(t), cases[i].node);
        assert_int_equal(rlt_topology_dims(t), cases[i].dims);
        assert_int_equal(rlt_topology_dim(t, 0).size, cases[i].first);
        assert_int_equal(rlt_topology_pxn(t), cases[i].pxn);
        rlt_topology_free(t);
    }
}

/* Eight accelerators and a switch; links "ab" between accelerators a and b, both ways. */
static void shapes_by_direct_links(void **state)
{
    (void)state;
    static const char *const names[] = {"gpu0", "gpu1", "gpu2", "gpu3", "gpu4",
                                        "gpu5", "gpu6", "gpu7", "sw",   NULL};
    static const struct {
        uint32_t n, n_logical, logical[2];
        const char *cables, *shape[2];
    } cases[] = {
        {1, 0, {0}, "", {"graph"}},
        {2, 0, {0}, "01", {"fully-connected"}},
        {2, 0, {0}, "", {"graph"}},
        {3, 0, {0}, "01 12 20", {"fully-connected"}},
        {3, 0, {0}, "01 12", {"graph"}},
        {4, 0, {0}, "01 12 23 30", {"ring"}},
        {4, 0, {0}, "01 12 23 30 01 23", {"ring"}}, /* parallel cables are one */
        {4, 0, {0}, "01 12 23 30 02", {"graph"}},
        {4, 0, {0}, "01 12 23 30 02 13", {"fully-connected"}},
        {4, 0, {0}, "01 12 23", {"graph"}},
        {4, 0, {0}, "02 21 13 30", {"graph"}}, /* a ring in another order */
        {5, 0, {0}, "02 24 41 13 30", {"graph"}},
        {5, 0, {0}, "01 12 23 34 40", {"ring"}},
        {4, 2, {2, 2}, "01 23 02 13", {"fully-connected", "fully-connected"}},
        {4, 2, {2, 2}, "01 23 02", {"fully-connected", "graph"}},
        {4, 2, {2, 2}, "01 02 13 03", {"graph", "fully-connected"}},
        {8, 2, {4, 2}, "01 12 23 30 45 56 67 74 04 15 26 37", {"ring", "fully-connected"}},
        {8, 2, {4, 2}, "01 12 23 30 45 56 67 74 04 15 26 36", {"ring", "graph"}},
        {8, 2, {2, 4}, "02 24 46 60 13 35 57 71 01 23 45 67", {"fully-connected", "ring"}},
        {8, 2, {2, 4}, "02 24 46 60 13 35 57 70 01 23 45 67", {"fully-connected", "graph"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t pairs[32][2], n = 0;
        rlt_topology *t;
        rlt_error err;
        for (const char *p = cases[i].cables; *p; p += p[2] ? 3 : 2, n++) {
            pairs[n][0] = (uint32_t)(p[0] - '0');
            pairs[n][1] = (uint32_t)(p[1] - '0');
        }
        for (uint32_t a = 0; a < cases[i].n; a++, n++) {
            pairs[n][0] = a;
            pairs[n][1] = cases[i].n;
        }
        const char *these[16] = {0};
        memcpy(these, names, cases[i].n * sizeof *names);
        these[cases[i].n] = "sw";
        test_small g = test_small_graph(these, pairs, n);
        g.spec.n_logical = cases[i].n_logical;
        g.spec.logical = cases[i].logical;
        if (test_small_build(&g, &t, &err) != 0)
            fail_msg("case %zu: %s", i, err.what);
        for (uint32_t d = 0; d < rlt_topology_dims(t); d++)
            if (strcmp(rlt_topology_dim(t, d).shape, cases[i].shape[d]) != 0)
                fail_msg("case %zu, dimension %u: %s", i, d, rlt_topology_dim(t, d).shape);
        rlt_topology_free(t);
    }
}

/* Each change of what affects a result gives another hash; another name does not. */
static void the_hash_covers_all(void **state)
{
    (void)state;
    static const char *const names[] = {"gpu0", "gpu1", "gpu2", "gpu3", "sw", "sx", NULL};
    static const uint32_t pairs[][2] = {{0, 4}, {1, 4}, {2, 4}, {3, 4}, {4, 5}, {0, 5}, {1, 5}};
    static const uint32_t logical[] = {2, 2}, swapped[] = {1, 4}, via[] = {4}, around[] = {5},
                          order[] = {1, 0, 2, 3},
                          other[] = {0, 1, 3, 2}, *const rings[] = {order}, *const others[] = {other};
    static const rlt_static_route route = {0, 1, 1, via, NULL}, detour = {0, 1, 1, around, NULL};
    static const rlt_choice choices[] = {{"all_reduce", "ring", 0},
                                         {"all_reduce", "tree", 0},
                                         {"all_gather", "ring", 0},
                                         {"all_reduce", "ring", 1}};
    enum { N = 26 };
    uint64_t hash[N];
    for (uint32_t i = 0; i < N; i++) {
        test_small g = test_small_graph(names, pairs, 7);
        rlt_endpoint *e = &g.spec.endpoint;
        *e = rlt_endpoint_default();
        rlt_topology *t;
        rlt_error err;
        if (i >= 21) { /* protocols, of which one is chosen */
            e->n_protocols = 1;
            e->protocols[0] = rlt_protocol_default();
        }
        switch (i) {
        case 0:
            break;
        case 1:
            g.nodes[5].kind = RLT_PCIE;
            break;
        case 2:
            g.nodes[0].forwards = 1;
            break;
        case 3:
            g.links[10].src = 2;
            break;
        case 4:
            g.links[10].dst = 4;
            break;
        case 5:
            g.links[13].bw_Bps++;
            break;
        case 6:
            g.links[13].latency_ps++;
            break;
        case 7:
            g.spec.routes = &route, g.spec.n_routes = 1;
            break;
        case 8:
            g.spec.routes = &detour, g.spec.n_routes = 1;
            break;
        case 9:
            g.spec.logical = logical, g.spec.n_logical = 2;
            break;
        case 10:
            g.spec.logical = swapped, g.spec.n_logical = 2;
            break;
        case 11:
            g.spec.logical = logical, g.spec.n_logical = 2, g.spec.pxn = RLT_PXN_ON;
            break;
        case 12:
            g.spec.logical = logical, g.spec.n_logical = 2, g.spec.pxn = RLT_PXN_OFF;
            break;
        case 13:
            g.spec.rings = rings, g.spec.n_rings = 1;
            break;
        case 14:
            g.spec.rings = others, g.spec.n_rings = 1;
            break;
        case 15:
            g.spec.hash = 1;
            break;
        case 16:
            e->injection = RLT_INJECT_BLOCKING;
            break;
        case 17:
            e->launch_ps = 1;
            break;
        case 18:
            e->message_ps = 1;
            break;
        case 19:
            e->byte_fs = 1;
            break;
        case 20:
            e->protocol = 0;
            break;
        case 21:
            break;
        case 22:
            e->protocols[0].message_ps = 1;
            break;
        case 23:
            e->protocols[0].wire_num = 2;
            break;
        case 24:
            e->protocols[0].wire_num = 2, e->protocols[0].wire_den = 2;
            break;
        default:
            e->n_protocols = 2, e->protocols[1] = e->protocols[0];
            break;
        }
        if (test_small_build(&g, &t, &err) != 0)
            fail_msg("case %u: %s", i, err.what);
        hash[i] = rlt_topology_hash(t);
        rlt_topology_free(t);
        for (uint32_t k = 0; k < i; k++)
            if (hash[k] == hash[i])
                fail_msg("cases %u and %u", k, i);
    }
    test_small g = test_small_graph(names, pairs, 7);
    rlt_topology *t;
    rlt_error err;
    g.spec.name = "another";
    g.spec.endpoint = rlt_endpoint_default();
    assert_int_equal(test_small_build(&g, &t, &err), 0);
    assert_true(rlt_topology_hash(t) == hash[0]);
    rlt_topology_free(t);
    for (uint32_t i = 0; i < 4; i++) {
        g.spec.choices = &choices[i];
        g.spec.n_choices = 1;
        assert_int_equal(test_small_build(&g, &t, &err), 0);
        for (uint32_t k = 0; k < i; k++)
            assert_true(hash[k] != rlt_topology_hash(t));
        hash[i] = rlt_topology_hash(t);
        rlt_topology_free(t);
    }
}

static void rings_are_permutations(void **state)
{
    (void)state;
    static const uint32_t good[] = {2, 0, 1}, repeats[] = {0, 2, 0}, beyond[] = {1, 3, 0};
    static const struct {
        const uint32_t *second;
        const char *what;
    } cases[] = {
        {good, NULL},
        {repeats, "ring 1 is not a permutation of the accelerators: repeats 0 at position 2"},
        {beyond, "ring 1 is not a permutation of the accelerators: no accelerator 3 at position 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_small g = star();
        const uint32_t *const rings[] = {good, cases[i].second};
        g.spec.rings = rings;
        g.spec.n_rings = 2;
        g.spec.where = "f";
        if (cases[i].what)
            expect_refused(&g, RLT_ESCHEMA, "f", cases[i].what);
        else
            expect_built(&g);
    }
    static const uint32_t *many[1025];
    for (size_t i = 0; i < 1025; i++)
        many[i] = good;
    test_small g = star();
    rlt_topology *t;
    rlt_error err;
    g.spec.rings = many;
    g.spec.n_rings = 1024;
    assert_int_equal(test_small_build(&g, &t, &err), 0);
    assert_int_equal(rlt_topology_rings(t), 1024);
    assert_memory_equal(rlt_topology_ring(t, 1023), good, sizeof good);
    assert_null(rlt_topology_ring(t, 1024));
    rlt_topology_free(t);
    g.spec.n_rings = 1025;
    expect_refused(&g, RLT_ERANGE, "", "1025 rings; at most 1024");
}

static void choices_by_size(void **state)
{
    (void)state;
    static const rlt_choice choices[] = {{"all_gather", "direct", 0},
                                         {"all_reduce", "tree", 0},
                                         {"all_reduce", "ring", 1024},
                                         {"broadcast", "ring", 10}};
    test_small g = star();
    rlt_topology *t;
    rlt_error err;
    uint32_t n;
    g.spec.choices = choices;
    g.spec.n_choices = 4;
    assert_int_equal(test_small_build(&g, &t, &err), 0);
    assert_memory_equal(rlt_topology_choices(t, &n), choices, sizeof choices);
    assert_int_equal(n, 4);
    assert_string_equal(rlt_topology_chosen(t, "all_reduce", 0), "tree");
    assert_string_equal(rlt_topology_chosen(t, "all_reduce", 1023), "tree");
    assert_string_equal(rlt_topology_chosen(t, "all_reduce", 1024), "ring");
    assert_string_equal(rlt_topology_chosen(t, "all_gather", 1 << 20), "direct");
    assert_null(rlt_topology_chosen(t, "broadcast", 9));
    assert_string_equal(rlt_topology_chosen(t, "broadcast", 10), "ring");
    assert_null(rlt_topology_chosen(t, "gather", 10));
    rlt_topology_free(t);
}

static void texts_are_made_plain(void **state)
{
    (void)state;
    test_small g = star();
    rlt_topology *t;
    rlt_error err;
    g.spec.name = "a\tb\xc3\xa9\xef\xbf\xbf-\xff.";
    g.spec.source = NULL;
    assert_int_equal(test_small_build(&g, &t, &err), 0);
    assert_string_equal(rlt_topology_name(t), "a?b\xc3\xa9?\?\?-?.");
    assert_string_equal(rlt_topology_source(t), "");
    rlt_topology_free(t);
    rlt_dim_spec dim = {.shape = "ring", .size = 3, .bw_Bps = 1000, .latency_ps = 1};
    g = star();
    g.spec.n_dims = 1;
    g.spec.dims = &dim;
    expect_refused(&g, RLT_ESCHEMA, "", "dimensions and nodes exclude each other");
    g.spec.n_dims = g.spec.n_nodes = 0;
    expect_refused(&g, RLT_ETOPOLOGY, "", "no accelerator: neither dimensions nor nodes");
}

/* Two leaves of two accelerators, joined by a cable; figures in GB/s and ns, there and back. */
typedef struct cable {
    uint32_t a, b;
    uint64_t there, back;
    rlt_time ns;
} cable;

static rlt_topology *with_figures(const char *const *names, const cable *cables, uint32_t n,
                                  uint32_t node_size)
{
    uint32_t pairs[16][2];
    for (uint32_t i = 0; i < n; i++) {
        pairs[i][0] = cables[i].a;
        pairs[i][1] = cables[i].b;
    }
    test_small g = test_small_graph(names, pairs, n);
    rlt_topology *t;
    rlt_error err;
    for (uint32_t i = 0; i < n; i++) {
        g.links[2 * i].bw_Bps = cables[i].there * GB;
        g.links[2 * i + 1].bw_Bps = cables[i].back * GB;
        g.links[2 * i].latency_ps = g.links[2 * i + 1].latency_ps = cables[i].ns * RLT_NS;
    }
    g.spec.node_size = node_size;
    if (test_small_build(&g, &t, &err) != 0)
        fail_msg("%s", err.what);
    return t;
}

/* The bisection counts what leads from the lower half to the upper. */
static void facts_of_graphs(void **state)
{
    (void)state;
    static const char *const names[] = {"gpu0", "gpu1", "gpu2", "gpu3", "leaf0", "leaf1", NULL};
    static const struct {
        uint32_t n;
        cable cables[8];
        rlt_topology_facts f; /* GB/s and ns */
    } cases[] = {
        /* 3 GB/s between leaves is least. */
        {5,
         {{0, 4, 2, 7, 1}, {1, 4, 2, 7, 1}, {2, 5, 7, 2, 1}, {3, 5, 7, 2, 1}, {4, 5, 3, 1, 4}},
         {3, 6, 3, 2, 7, {10}}},
        /* What the upper half takes in is least. */
        {5,
         {{0, 4, 9, 1, 1}, {1, 4, 9, 1, 1}, {2, 5, 1, 2, 2}, {3, 5, 1, 3, 3}, {4, 5, 7, 1, 4}},
         {3, 8, 5, 1, 9, {10}}},
        /* What the lower half sends is least; a direct cable counts, too. 0 to 2 takes it; its way is not the
         * longest. */
        {6,
         {{0, 4, 1, 9, 1},
          {1, 4, 2, 9, 1},
          {2, 5, 9, 8, 5},
          {3, 5, 9, 8, 1},
          {4, 5, 7, 1, 4},
          {0, 2, 20, 30, 50}},
         {3, 50, 23, 2, 39, {12}}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlt_topology *t = with_figures(names, cases[i].cables, cases[i].n, 0);
        const rlt_topology_facts *want = &cases[i].f;
        rlt_topology_facts is;
        assert_int_equal(rlt_topology_analyse(t, &is, NULL), 0);
        if (is.diameter_hops != want->diameter_hops || is.diameter_ps != want->diameter_ps * RLT_NS ||
            is.bisection_Bps != want->bisection_Bps * GB || is.min_egress_Bps != want->min_egress_Bps * GB ||
            is.max_egress_Bps != want->max_egress_Bps * GB || is.links_by_dim[0] != want->links_by_dim[0])
            fail_msg("case %zu: %u links, %lld ps, %llu B/s, %llu to %llu B/s, %u links", i, is.diameter_hops,
                     (long long)is.diameter_ps, (unsigned long long)is.bisection_Bps,
                     (unsigned long long)is.min_egress_Bps, (unsigned long long)is.max_egress_Bps,
                     is.links_by_dim[0]);
        rlt_topology_free(t);
    }
}

/* A static route may be the longest, or shorten what is. */
static void routes_of_files_count(void **state)
{
    (void)state;
    static const char *const names[] = {"gpu0", "gpu1", "sw", "sx", "sy", NULL};
    static const uint32_t pairs[][2] = {{0, 2}, {1, 2}, {0, 3}, {3, 4}, {4, 1}}, via[] = {3, 4};
    static const rlt_static_route route = {0, 1, 2, via, NULL};
    test_small g = test_small_graph(names, pairs, 5);
    rlt_topology *t;
    rlt_error err;
    rlt_topology_facts f;
    g.links[6].latency_ps = 7000; /* sx to sy */
    g.spec.routes = &route;
    for (g.spec.n_routes = 0; g.spec.n_routes < 2; g.spec.n_routes++) {
        assert_int_equal(test_small_build(&g, &t, &err), 0);
        assert_int_equal(rlt_topology_analyse(t, &f, NULL), 0);
        assert_int_equal(f.diameter_hops, g.spec.n_routes ? 3 : 2);
        assert_int_equal(f.diameter_ps, g.spec.n_routes ? 9000 : 2000);
        rlt_topology_free(t);
    }
}

/* Nodes of two with a NIC each: what the first accelerator has to its node and to switches; the slowest way from
 * a NIC to a switch. */
static void nodes_of_graphs(void **state)
{
    (void)state;
    static const char *const names[] = {"gpu0", "gpu1", "gpu2", "gpu3", "nic0", "nic1", "sw", "pcie", NULL};
    static const cable cables[] = {{0, 1, 11, 1, 1}, {0, 2, 100, 1, 1}, {0, 6, 22, 1, 1}, {0, 4, 400, 1, 1},
                                   {4, 6, 5, 1, 1},  {5, 6, 3, 1, 1},   {5, 7, 1, 1, 1},  {1, 6, 1, 1, 1},
                                   {2, 6, 1, 1, 1},  {3, 6, 1, 1, 1}};
    static const struct {
        uint32_t node_size, nics;
        uint64_t inside;
    } cases[] = {{2, 1, 33}, {4, 2, 133}, {1, 0, 22}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlt_topology *t = with_figures(names, cables, 10, cases[i].node_size);
        const rlt_node_facts *f = rlt_topology_node(t);
        assert_int_equal(f->accelerators, cases[i].node_size);
        assert_int_equal(f->nics, cases[i].nics);
        assert_int_equal(f->inside_Bps, cases[i].inside * GB);
        assert_int_equal(f->nic_Bps, cases[i].nics ? 3 * GB : 0);
        rlt_topology_free(t);
    }
}

/* A link back is that of the same cable, or any between the same two; there may be none. */
static void links_back(void **state)
{
    (void)state;
    static const char *const names[] = {"gpu0", "gpu1", "gpu2", NULL};
    static const uint32_t pairs[][2] = {{0, 1}, {1, 2}, {2, 0}};
    test_small g = test_small_graph(names, pairs, 3);
    rlt_topology *t;
    rlt_error err;
    for (uint32_t i = 0; i < 3; i++) { /* links 0 1 2 go round, 3 4 5 back; 5 once more */
        g.links[i] = (rlt_graph_link){i, (i + 1) % 3, 1, 0, NULL};
        g.links[i + 3] = (rlt_graph_link){(i + 1) % 3, i, 1, 0, NULL};
    }
    g.links[6] = g.links[5];
    g.spec.n_links = 7;
    assert_int_equal(test_small_build(&g, &t, &err), 0);
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(rlt_topology_reverse(t, i), (i + 3) % 6);
    assert_int_equal(rlt_topology_reverse(t, 6), 2);
    rlt_topology_free(t);
    g.spec.n_links = 3;
    for (int i = 0; i < 3; i++)
        g.nodes[i].forwards = 1;
    assert_int_equal(test_small_build(&g, &t, &err), 0);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(rlt_topology_reverse(t, i), RLT_NONE);
    rlt_topology_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_are_refused),
        cmocka_unit_test(links_that_are_refused),
        cmocka_unit_test(routes_that_are_refused),
        cmocka_unit_test(unconnected_graphs_are_refused),
        cmocka_unit_test(switches_that_lead_nowhere),
        cmocka_unit_test(direct_links_are_enough),
        cmocka_unit_test(counts_are_bounded),
        cmocka_unit_test(nodes_and_pxn),
        cmocka_unit_test(shapes_by_direct_links),
        cmocka_unit_test(the_hash_covers_all),
        cmocka_unit_test(rings_are_permutations),
        cmocka_unit_test(choices_by_size),
        cmocka_unit_test(texts_are_made_plain),
        cmocka_unit_test(facts_of_graphs),
        cmocka_unit_test(routes_of_files_count),
        cmocka_unit_test(nodes_of_graphs),
        cmocka_unit_test(links_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
