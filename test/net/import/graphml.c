/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attributes of GraphML files: of the graph, of nodes and of edges, and those that are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "net/import/import.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "test/support/networks/imported.h"

/* Two accelerators behind a switch. `keys` are more <key>, `node` is data of the switch, `graph` of the graph. */
static const char *file(char *text, size_t size, const char *keys, const char *node, const char *graph)
{
    static const char edges[] =
        "<edge source='s' target='a'><data key='b'>1GB/s</data><data key='l'>1us</data></edge>\n"
        "<edge source='b' target='s'><data key='b'>1GB/s</data><data key='l'>1us</data></edge>\n";
    snprintf(text, size,
             "<graphml>\n<key id='k' for='node' attr.name='kind' attr.type='string'/>\n"
             "<key id='b' for='edge' attr.name='bandwidth' attr.type='string'/>\n"
             "<key id='l' for='edge' attr.name='latency' attr.type='string'/>%s\n"
             "<graph edgedefault='undirected'>%s\n<node id='a'><data key='k'>accelerator</data></node>\n"
             "<node id='b'><data key='k'>accelerator</data></node>\n"
             "<node id='s'><data key='k'>switch</data>%s</node>\n%s</graph></graphml>\n",
             keys, graph, node, edges);
    return text;
}

/* The file states an attribute of this name and type for graphs, nodes or edges. The graph or the switch has the value, if
 * there is one. */
static const char *with(char *text, size_t size, const char *of, const char *name, const char *type,
                        const char *value)
{
    char key[200], data[600] = "";
    snprintf(key, sizeof key, "<key id='f' for='%s' attr.name='%s' attr.type='%s'/>", of, name, type);
    if (value)
        snprintf(data, sizeof data, "<data key='f'>%s</data>", value);
    bool graph = strcmp(of, "graph") == 0;
    return file(text, size, key, graph ? "" : data, graph ? data : "");
}

static const char *of_graph(char *text, size_t size, const char *name, const char *value)
{
    return with(text, size, "graph", name, "string", value);
}

static void attributes_of_the_graph(void **state)
{
    char text[3000];
    (void)state;
    rlt_topology *t = test_import(of_graph(text, sizeof text, "dims", "1x2x1x1x1x1x1x1"));
    assert_int_equal(rlt_topology_dims(t), RLT_MAX_DIMS);
    assert_int_equal(rlt_topology_dim(t, 0).size, 1);
    assert_int_equal(rlt_topology_dim(t, 1).size, 2);
    assert_string_equal(rlt_topology_name(t), "f");
    rlt_topology_free(t);
    t = test_import(of_graph(text, sizeof text, "name", "two"));
    assert_string_equal(rlt_topology_name(t), "two");
    rlt_topology_free(t);
    t = test_import(of_graph(text, sizeof text, "source", "by hand"));
    assert_string_equal(rlt_topology_source(t), "by hand");
    rlt_topology_free(t);
    for (uint32_t size = 1; size <= 2; size++) {
        t = test_import(of_graph(text, sizeof text, "node_size", size == 1 ? "1" : "2"));
        assert_int_equal(rlt_topology_node_size(t), size);
        rlt_topology_free(t);
    }
    static const struct {
        const char *name, *value, *what;
    } wrong[] = {
        {"dims", "2x", "dims such as"},
        {"dims", "x2", "dims such as"},
        {"dims", "2xx1", "dims such as"},
        {"dims", "2y", "dims such as"},
        {"dims", "0", "dims such as"},
        {"dims", "4194305", "dims such as"},
        {"dims", "2x1x1x1x1x1x1x1x1", "dims such as"},
        {"dims", "4194304", "do not multiply to the number of accelerators, 2"},
        {"node_size", "0", "expected node_size to be a number of accelerators, got '0'"},
        {"node_size", "two", "got 'two'"},
        {"node_size", "4194305", "got '4194305'"},
        {"pxn", "maybe", "expected pxn to be on or off, got 'maybe'"},
        {"colour", "red", "unknown attribute 'colour' of the graph"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        test_import_wrong(of_graph(text, sizeof text, wrong[i].name, wrong[i].value), "f", wrong[i].what);
    static const struct {
        const char *value, *where, *what;
    } rest[] = {
        {"{\"rings\":[[0]]}", "f: ringlet:1:11: rings[0]", "expected every accelerator once"},
        {"{\"rings\":[7]}", "f: ringlet:1:11: rings[0]", "expected a list of numbers"},
        {"{\"rings\":[[0,2]]}", "f: ringlet:1:14: rings[0][1]", "2"},
        {"{\"routes\":[[0]]}", "f: ringlet:1:12: routes[0]", "expected the nodes of a route"},
        {"{\"ring\":[]}", "f: ringlet:1:9: ring", "did you mean 'rings'?"},
        {"{", "f: ringlet:1:2", "key"},
    };
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        test_import_wrong(of_graph(text, sizeof text, "ringlet", rest[i].value), rest[i].where, rest[i].what);
}

/* Returns whether the switch forwards, which the file says in an attribute of this type. */
static bool forwards(const char *type, const char *value)
{
    char text[3000];
    rlt_topology *t = test_import(with(text, sizeof text, "node", "forwards", type, value));
    bool does = rlt_topology_forwards(t, test_node(t, "s"));
    rlt_topology_free(t);
    return does;
}

static void attributes_of_nodes(void **state)
{
    (void)state;
    char text[3000];
    assert_true(forwards("string", "true") && forwards("string", "") && forwards("boolean", "true"));
    rlt_topology_free(test_import(with(text, sizeof text, "node", "label", "string", NULL)));
    rlt_topology_free(test_import(with(text, sizeof text, "edge", "id", "string", NULL)));
    rlt_topology_free(test_import(with(text, sizeof text, "edge", "dim", "string", NULL)));
    static const struct {
        const char *of, *name, *type, *value, *where, *what;
    } wrong[] = {
        {"node", "forwards", "string", "yes", "f:8", "expected forwards to be true or false, got 'yes'"},
        {"node", "forwards", "double", "1", "f", "'forwards' of nodes must be a boolean"},
        {"node", "forwards", "string", "false", "f", "cannot reach"},
        {"node", "forwards", "boolean", "false", "f", "cannot reach"},
        {"node", "name", "string", "b", "f:8", "two nodes have the name 'b'"},
        {"node", "in_network", "string", "magic", "f:8", "expected in_network to be"},
        {"node", "colour", "string", "red", "f", "unknown attribute 'colour' of nodes"},
        {"edge", "colour", "string", NULL, "f", "unknown attribute 'colour' of edges"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        test_import_wrong(with(text, sizeof text, wrong[i].of, wrong[i].name, wrong[i].type, wrong[i].value),
                          wrong[i].where, wrong[i].what);
    }
}

/* Edges need both quantities, with their units. */
static void attributes_of_edges(void **state)
{
#define BANDWIDTH(type) "<key id='b' for='edge' attr.name='bandwidth' attr.type='" type "'/>"
#define LATENCY(type)   "<key id='l' for='edge' attr.name='latency' attr.type='" type "'/>"
    static const struct {
        const char *keys, *data, *where, *what;
    } wrong[] = {
        {BANDWIDTH("string"), "", "f", "edges have no attribute 'latency'"},
        {LATENCY("string"), "", "f", "edges have no attribute 'bandwidth'"},
        {BANDWIDTH("string") LATENCY("double"), "", "f",
         "missing unit: 'latency' of edges must be a string such as '500ns'"},
        {BANDWIDTH("double") LATENCY("string"), "", "f",
         "missing unit: 'bandwidth' of edges must be a string such as '400Gbps'"},
        {BANDWIDTH("string") LATENCY("string"), "<data key='b'>1</data>", "f:4: edge 0", "missing latency"},
        {BANDWIDTH("string") LATENCY("string"), "<data key='l'>1us</data>", "f:4: edge 0",
         "missing bandwidth"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[2000];
        snprintf(text, sizeof text,
                 "<graphml><key id='k' for='node' attr.name='kind' attr.type='string'/>%s<graph>\n"
                 "<node id='a'><data key='k'>accelerator</data></node>\n"
                 "<node id='b'><data key='k'>accelerator</data></node>\n"
                 "<edge source='a' target='b'>%s</edge></graph></graphml>",
                 wrong[i].keys, wrong[i].data);
        test_import_wrong(text, wrong[i].where, wrong[i].what);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attributes_of_the_graph),
        cmocka_unit_test(attributes_of_nodes),
        cmocka_unit_test(attributes_of_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
