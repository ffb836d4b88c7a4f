/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GraphML, DOT and JSON of graphs: what is read, what is refused and where, and what is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/import/import.h"
#include "net/topology/frozen.h"
#include "net/topology/graph.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"

#define HEAD                                                                                                 \
    "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n"                                            \
    "<key id=\"k\" for=\"node\" attr.name=\"kind\" attr.type=\"string\"/>\n"                                 \
    "<key id=\"w\" for=\"edge\" attr.name=\"weight\" attr.type=\"double\"/>\n"
#define NODES "<node id=\"a\"><data key=\"k\">x&amp;y</data></node>\n<node id=\"b&lt;\"/>\n"

static int parse(const char *text, rlt_graphml *g, rlt_error *err)
{
    *err = (rlt_error){0};
    return rlt_graphml_parse("f.graphml", text, strlen(text), g, err);
}

static void graphml_is_read(void **state)
{
    (void)state;
    rlt_graphml g;
    rlt_error err;
    static const char text[] = "<?xml version=\"1.0\"?>\n<!-- <node id=\"no\"/> -->\n" HEAD
                               "<graph edgedefault=\"directed\">\n" NODES
                               "<edge source=\"a\" target=\"b&lt;\"><data key=\"w\">2.5</data></edge>\n"
                               "<edge source='b&lt;' target='a'/>\n</graph></graphml>\n";
    if (parse(text, &g, &err) != 0)
        fail_msg("%s: %s", err.where, err.what);
    assert_int_equal(g.n_nodes, 2);
    assert_int_equal(g.n_edges, 2);
    assert_true(g.directed);
    assert_string_equal(g.ids[1], "b<");
    assert_int_equal(g.node_line[0], 7);
    assert_int_equal(g.edge_line[1], 10);
    assert_int_equal(g.src[1], 1);
    assert_int_equal(g.dst[1], 0);
    const rlt_attribute *kind = rlt_attribute_find(g.node_attributes, g.n_node_attributes, "kind");
    const rlt_attribute *weight = rlt_attribute_find(g.edge_attributes, g.n_edge_attributes, "weight");
    assert_non_null(kind);
    assert_non_null(weight);
    assert_int_equal(kind->type, RLT_ATTRIBUTE_TEXT);
    assert_string_equal(kind->texts[0], "x&y");
    assert_string_equal(kind->texts[1], "");
    assert_int_equal(weight->type, RLT_ATTRIBUTE_NUMBER);
    assert_true(weight->numbers[0] > 2.49 && weight->numbers[0] < 2.51);
    assert_true(weight->numbers[1] != weight->numbers[1]);
    rlt_graphml_free(&g);
}

static void strange_graphml_is_refused(void **state)
{
    (void)state;
    const struct {
        const char *text, *where, *says;
    } cases[] = {
        {HEAD "<graph edgedefault=\"directed\">\n" NODES
              "<edge source=\"a\" target=\"ghost\"/></graph></graphml>",
         "f.graphml:7:", "'ghost'"},
        {HEAD "<graph edgedefault=\"directed\">\n" NODES "<node id=\"a\"/></graph></graphml>",
         "f.graphml:7:", "twice"},
        {HEAD "<graph edgedefault=\"directed\">\n" NODES "<hyperedge/></graph></graphml>",
         "f.graphml:7:", "hyperedges"},
        {HEAD "<graph edgedefault=\"directed\">\n" NODES
              "</graph><graph edgedefault=\"directed\"/></graphml>",
         "f.graphml:7:", "second <graph>"},
        {HEAD "<graph edgedefault=\"directed\">\n" NODES
              "<edge directed=\"false\" source=\"a\" target=\"a\"/></graph></graphml>",
         "f.graphml:7:", "directed"},
        {"<!DOCTYPE x [<!ENTITY a \"b\">]>\n" HEAD "</graphml>", "f.graphml:1:", "entity"},
        {HEAD "<graph edgedefault=\"directed\">\n" NODES "</grap></graphml>", "f.graphml", ""},
        {HEAD "<graph edgedefault=\"directed\">\n" NODES, "f.graphml", ""},
        {"", "f.graphml", "no <node>"},
        {"<", "f.graphml", "no <node>"},
        {"<node id=\"a", "f.graphml", ""},
        {"{\"nodes\": []}", "f.graphml", "no <node>"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rlt_graphml g;
        rlt_error err;
        int rc = parse(cases[i].text, &g, &err);
        if (rc >= 0 || strncmp(err.where, cases[i].where, strlen(cases[i].where)) != 0 ||
            !strstr(err.what, cases[i].says) || !err.what[0])
            fail_msg("case %zu: %d %s: %s", i, rc, err.where, err.what);
    }
}

/* Attributes of each type, of the graph, nodes and edges, with and without defaults. */
static void attributes_of_all_types(void **state)
{
    (void)state;
    static const char text[] =
        "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">"
        "<key id=\"a\" for=\"graph\" attr.name=\"gb\" attr.type=\"boolean\"/>"
        "<key id=\"b\" for=\"graph\" attr.name=\"gn\" attr.type=\"double\"/>"
        "<key id=\"c\" for=\"graph\" attr.name=\"gt\" attr.type=\"string\"/>"
        "<key id=\"d\" for=\"node\" attr.name=\"nb\" attr.type=\"boolean\"><default>true</default></key>"
        "<key id=\"e\" for=\"node\" attr.name=\"nn\" attr.type=\"double\"/>"
        "<key id=\"f\" for=\"edge\" attr.name=\"eb\" attr.type=\"boolean\"/>"
        "<key id=\"g\" for=\"edge\" attr.name=\"et\" attr.type=\"string\"/>"
        "<graph edgedefault=\"undirected\"><data key=\"a\">true</data><data key=\"b\">3.5</data>"
        "<data key=\"c\">hello</data>"
        "<node id=\"x\"><data key=\"d\">false</data></node><node id=\"y\"><data key=\"e\">-2</data></node>"
        "<edge source=\"x\" target=\"y\"><data key=\"f\">true</data></edge>"
        "<edge source=\"y\" target=\"x\" directed=\"false\"><data key=\"g\">cable</data></edge>"
        "</graph></graphml>";
    rlt_graphml g;
    rlt_error err;
    if (parse(text, &g, &err) != 0)
        fail_msg("%s: %s", err.where, err.what);
    assert_false(g.directed);
    assert_int_equal(g.n_graph_attributes, 3);
    assert_int_equal(g.n_node_attributes, 3); /* and the id */
    assert_int_equal(g.n_edge_attributes, 2);
    const rlt_attribute *a = rlt_attribute_find(g.graph_attributes, 3, "gb");
    assert_int_equal(a->type, RLT_ATTRIBUTE_BOOL);
    assert_true(a->numbers[0] > 0.5 && !a->texts);
    a = rlt_attribute_find(g.graph_attributes, 3, "gn");
    assert_int_equal(a->type, RLT_ATTRIBUTE_NUMBER);
    assert_true(a->numbers[0] > 3.4 && a->numbers[0] < 3.6);
    a = rlt_attribute_find(g.graph_attributes, 3, "gt");
    assert_int_equal(a->type, RLT_ATTRIBUTE_TEXT);
    assert_string_equal(a->texts[0], "hello");
    assert_null(a->numbers);
    a = rlt_attribute_find(g.node_attributes, 3, "nb");
    assert_int_equal(a->type, RLT_ATTRIBUTE_BOOL);
    assert_true(a->numbers[0] < 0.5 && a->numbers[1] > 0.5);
    a = rlt_attribute_find(g.node_attributes, 3, "nn");
    assert_int_equal(a->type, RLT_ATTRIBUTE_NUMBER);
    assert_true(a->numbers[0] != a->numbers[0] && a->numbers[1] < -1.5);
    a = rlt_attribute_find(g.edge_attributes, 2, "eb");
    assert_true(a->numbers[0] > 0.5 && a->numbers[1] < 0.5);
    a = rlt_attribute_find(g.edge_attributes, 2, "et");
    assert_string_equal(a->texts[0], "");
    assert_string_equal(a->texts[1], "cable");
    assert_null(rlt_attribute_find(g.edge_attributes, 2, "nb"));
    assert_null(rlt_attribute_find(g.edge_attributes, 1, "et"));
    rlt_graphml_free(&g);
    assert_int_equal(g.n_nodes, 0);
}

/* Ids of up to 255 bytes; each refusal with its line, from 1. */
static void ids_and_places(void **state)
{
    (void)state;
    static char text[2000], id[257];
    rlt_graphml g;
    rlt_error err;
    for (size_t n = 255; n <= 256; n++) {
        memset(id, 'i', n);
        id[n] = '\0';
        snprintf(text, sizeof text,
                 HEAD "<graph edgedefault=\"directed\">\n<node id=\"%s\"/></graph></graphml>", id);
        int rc = parse(text, &g, &err);
        assert_int_equal(rc, n == 255 ? 0 : RLT_ERANGE);
        if (rc == 0) {
            assert_string_equal(g.ids[0], id);
            assert_int_equal(g.n_edges, 0);
            rlt_graphml_free(&g);
            continue;
        }
        assert_string_equal(err.what, "the value of 'id' is longer than 255 bytes");
    }
    static const struct {
        const char *element;
        int code;
        const char *what;
    } cases[] = {
        {"<node id=\"\"/>", RLT_ESCHEMA, "a node without an id"},
        {"<node id=\"a\"/>", RLT_ESCHEMA, "node 'a' is declared twice"},
        {"<edge source=\"a\" target=\"z\"/>", RLT_ESCHEMA,
         "the edge names node 'z', which is not declared before it"},
        {"<edge source=\"y\" target=\"a\"/>", RLT_ESCHEMA,
         "the edge names node 'y', which is not declared before it"},
        {"<edge source=\"a\" target=\"a\" directed=\"no\"/>", RLT_ESCHEMA,
         "edge with directed=\"no\" in a graph whose edges are otherwise"},
        {"<edge source=\"a\" target=\"a\" directed=\"true\"/>", 0, ""},
        {"<hyperedge/>", RLT_ESCHEMA, "hyperedges are not supported: add a switch node"},
        {"<graph/>", RLT_ESCHEMA, "a second <graph>: one per file, not nested"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(text, sizeof text, HEAD "<graph edgedefault=\"directed\">\n" NODES "%s</graph></graphml>",
                 cases[i].element);
        int rc = parse(text, &g, &err);
        assert_string_equal(err.what, cases[i].what);
        assert_int_equal(rc, cases[i].code);
        if (rc == 0)
            rlt_graphml_free(&g);
        else
            assert_memory_equal(err.where, "f.graphml:7", 11);
    }
    assert_int_equal(parse("<graphml/>", &g, &err), RLT_EMALFORMED);
    assert_string_equal(err.what, "no GraphML: no <node> in it");
    assert_string_equal(err.where, "f.graphml");
    /* The scan takes it; GraphML has no such type. */
    assert_int_equal(parse("<graphml><key id=\"k\" for=\"node\" attr.name=\"x\" attr.type=\"odd\"/>"
                           "<graph><node id=\"a\"/></graph></graphml>",
                           &g, &err),
                     RLT_EMALFORMED);
    assert_true(err.what[0] != '\0');
}

/* What is written is read as the same. */
static void written_attributes_come_back(void **state)
{
    (void)state;
    static const uint32_t src[] = {0, 1, 1}, dst[] = {1, 0, 2};
    static const double numbers[] = {0.5, 0, 1e6}, bools[] = {1, 0, 1};
    static const char *const texts[] = {"a<b", "", "c\"d"}, *const title[] = {"net"};
    const rlt_attribute of[] = {{"number", RLT_ATTRIBUTE_NUMBER, numbers, NULL},
                                {"bool", RLT_ATTRIBUTE_BOOL, bools, NULL},
                                {"text", RLT_ATTRIBUTE_TEXT, NULL, texts}},
                        whole[] = {{"title", RLT_ATTRIBUTE_TEXT, NULL, title}};
    const rlt_graph_text t = {.edges = {.n_nodes = 3, .n_edges = 3, .src = src, .dst = dst},
                              .node_attributes = of,
                              .n_node_attributes = 3,
                              .edge_attributes = of,
                              .n_edge_attributes = 3,
                              .graph_attributes = whole,
                              .n_graph_attributes = 1};
    rlt_graphml g;
    rlt_error err;
    char *text;
    assert_int_equal(rlt_graphml_write(&t, &text, NULL), 0);
    if (parse(text, &g, &err) != 0)
        fail_msg("%s: %s", err.where, err.what);
    free(text);
    assert_true(g.directed);
    assert_int_equal(g.n_edges, 3);
    assert_memory_equal(g.src, src, sizeof src);
    assert_memory_equal(g.dst, dst, sizeof dst);
    assert_string_equal(rlt_attribute_find(g.graph_attributes, g.n_graph_attributes, "title")->texts[0],
                        "net");
    for (int edges = 0; edges < 2; edges++) {
        const rlt_attribute *list = edges ? g.edge_attributes : g.node_attributes;
        assert_int_equal(edges ? g.n_edge_attributes : g.n_node_attributes,
                         edges ? 3 : 4); /* nodes: the id */
        const rlt_attribute *number = rlt_attribute_find(list, edges ? 3 : 4, "number"),
                            *b = rlt_attribute_find(list, edges ? 3 : 4, "bool"),
                            *named = rlt_attribute_find(list, edges ? 3 : 4, "text");
        assert_int_equal(b->type, RLT_ATTRIBUTE_BOOL);
        assert_memory_equal(number->numbers, numbers, sizeof numbers);
        assert_memory_equal(b->numbers, bools, sizeof bools);
        for (int i = 0; i < 3; i++)
            assert_string_equal(named->texts[i], texts[i]);
    }
    rlt_graphml_free(&g);
    assert_int_equal(rlt_dot_write(&t, &text, NULL), 0);
    assert_non_null(strstr(text, "digraph"));
    assert_non_null(strstr(text, "1 -> 2"));
    assert_null(strstr(text, "0 -> 2"));
    free(text);
}

static const char own_text[] =
    "{\n"
    "  \"name\": \"n\",\n"
    "  \"source\": \"s\",\n"
    "  \"endpoint\": {\n"
    "    \"injection\": \"blocking\",\n"
    "    \"launch\": \"1000000ps\",\n"
    "    \"message\": \"2ps\",\n"
    "    \"byte\": \"0.005ps\",\n"
    "    \"thread_blocks\": \"4\",\n"
    "    \"protocols\": [{\"name\": \"LL\", \"message\": \"3ps\", \"wire\": \"2/1\"}, {\"name\": \"Simple\"}],\n"
    "    \"protocol\": \"LL\"\n"
    "  },\n"
    "  \"auto\": {\n"
    "    \"all_gather\": \"ring\",\n"
    "    \"all_reduce\": \"tree:1024B:ring:1048576B:direct\"\n"
    "  },\n"
    "  \"dims\": [1, 2],\n"
    "  \"node_size\": 1,\n"
    "  \"pxn\": \"off\",\n"
    "  \"nodes\": [\n"
    "    {\"id\": \"g0\", \"kind\": \"accelerator\", \"forwards\": false},\n"
    "    {\"id\": \"g1\", \"kind\": \"accelerator\", \"forwards\": true},\n"
    "    {\"id\": \"x\", \"kind\": \"switch\", \"forwards\": true, \"in_network\": \"reduce+multicast\"},\n"
    "    {\"id\": \"n\", \"kind\": \"nic\", \"forwards\": true},\n"
    "    {\"id\": \"p\", \"kind\": \"pcie\", \"forwards\": false},\n"
    "    {\"id\": \"c\", \"kind\": \"cpu\", \"forwards\": true}\n"
    "  ],\n"
    "  \"links\": [\n"
    "    {\"src\": \"g0\", \"dst\": \"x\", \"bandwidth\": \"1000000001B/s\", \"latency\": \"7ps\", \"duplex\": false},\n"
    "    {\"src\": \"x\", \"dst\": \"g0\", \"bandwidth\": \"2B/s\", \"latency\": \"0ps\", \"duplex\": false},\n"
    "    {\"src\": \"x\", \"dst\": \"n\", \"bandwidth\": \"3B/s\", \"latency\": \"1ps\", \"duplex\": false},\n"
    "    {\"src\": \"n\", \"dst\": \"g1\", \"bandwidth\": \"4B/s\", \"latency\": \"2ps\", \"duplex\": false},\n"
    "    {\"src\": \"g1\", \"dst\": \"x\", \"bandwidth\": \"5B/s\", \"latency\": \"3ps\", \"duplex\": false}\n"
    "  ],\n"
    "  \"routes\": [\n"
    "    {\"src\": \"g0\", \"dst\": \"g1\", \"via\": [\"x\", \"n\"]},\n"
    "    {\"src\": \"x\", \"dst\": \"n\", \"via\": []}\n"
    "  ],\n"
    "  \"rings\": [\n"
    "    [1, 0],\n"
    "    [0, 1]\n"
    "  ]\n"
    "}\n";

/* A text in the words and the order of the writer is written as it was read. */
static void json_is_written(void **state)
{
    (void)state;
    rlt_topology *t;
    rlt_error err = {0};
    char *text;
    if (rlt_topology_read("own", own_text, strlen(own_text), NULL, &t, &err) != 0)
        fail_msg("%s: %s", err.where, err.what);
    assert_int_equal(rlt_topology_export(t, "json", &text, NULL), 0);
    assert_string_equal(text, own_text);
    free(text);
    assert_int_equal(rlt_topology_export(t, "dot", &text, NULL), 0);
    assert_non_null(strstr(text, "in_network=\"reduce+multicast\""));
    assert_non_null(strstr(text, "in_network=none"));
    assert_non_null(strstr(text, "dims=\"1x2\""));
    assert_non_null(strstr(text, "node_size=1"));
    assert_non_null(strstr(text, "pxn=off"));
    assert_non_null(strstr(text, "label=g0"));
    assert_null(strstr(text, "ringlet"));
    free(text);
    rlt_topology_free(t);
}

/* What a reader would take by itself is not stated. */
static void what_is_usual_is_left_out(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *dims, *node;
        bool pxn;
    } cases[] = {
        {"switch:4@1GB/s,0", "\"dims\": [4],", NULL, false},
        {"switch:4@1GB/s,0*switch:2@1GB/s,0", "\"dims\": [4, 2],", "\"node_size\": 8,", false},
        {"switch:4@1GB/s,0*switch:2@1GB/s,0,nics=2", "\"dims\": [4, 2],", "\"node_size\": 4,", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rlt_topology *t;
        char *text;
        assert_int_equal(rlt_topology_load(cases[i].spec, NULL, &t, NULL), 0);
        assert_int_equal(rlt_topology_export(t, "json", &text, NULL), 0);
        assert_non_null(strstr(text, cases[i].dims));
        if (cases[i].node)
            assert_non_null(strstr(text, cases[i].node));
        else
            assert_null(strstr(text, "node_size"));
        assert_true((strstr(text, "\"pxn\": \"on\"") != NULL) == cases[i].pxn);
        assert_null(strstr(text, "in_network"));
        assert_null(strstr(text, "routes"));
        assert_null(strstr(text, "rings"));
        assert_null(strstr(text, "auto"));
        assert_null(strstr(text, "protocol"));
        free(text);
        assert_int_equal(rlt_topology_export(t, "dot", &text, NULL), 0);
        assert_null(strstr(text, "in_network"));
        assert_true((strstr(text, "node_size") != NULL) == (cases[i].node != NULL));
        assert_true((strstr(text, "pxn=on") != NULL) == cases[i].pxn);
        assert_true((strstr(text, "dim=1") != NULL) == (i > 0));
        free(text);
        rlt_topology_free(t);
    }
}

static void large_topologies_are_not_written(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *what;
    } cases[] = {
        {"switch:1398101@1GB/s,0", NULL}, /* 4194304 */
        {"switch:1398102@1GB/s,0", "1398103 nodes and 2796204 links; at most 4194304 are written out"},
    };
    for (size_t i = 0; i < 2; i++) {
        rlt_topology *t;
        rlt_error err = {0};
        char *text;
        assert_int_equal(rlt_topology_load(cases[i].spec, NULL, &t, NULL), 0);
        assert_int_equal(rlt__export_check(t, &err), cases[i].what ? RLT_ERANGE : 0);
        assert_string_equal(err.what, cases[i].what ? cases[i].what : "");
        if (cases[i].what) {
            assert_int_equal(rlt_topology_export(t, "dot", &text, NULL), RLT_ERANGE);
            assert_null(text);
        }
        rlt_topology_free(t);
    }
    rlt_topology *t;
    rlt_error err = {0};
    char *text;
    assert_int_equal(rlt_topology_load("ring:3@1GB/s,0", NULL, &t, NULL), 0);
    assert_int_equal(rlt_topology_export(t, "svg", &text, &err), RLT_EUSAGE);
    assert_string_equal(err.what, "unknown format 'svg'; known are graphml, dot, json");
    rlt_topology_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphml_is_read),
        cmocka_unit_test(strange_graphml_is_refused),
        cmocka_unit_test(attributes_of_all_types),
        cmocka_unit_test(ids_and_places),
        cmocka_unit_test(written_attributes_come_back),
        cmocka_unit_test(json_is_written),
        cmocka_unit_test(what_is_usual_is_left_out),
        cmocka_unit_test(large_topologies_are_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
