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

/* The graph has a text attribute of this name and value. */
static const char *of_graph(char *text, size_t size, const char *name, const char *value)
{
    char keys[200], data[600];
    snprintf(keys, sizeof keys, "<key id='g' for='graph' attr.name='%s' attr.type='string'/>", name);
    snprintf(data, sizeof data, "<data key='g'>%s</data>", value);
    return file(text, size, keys, "", data);
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
    char text[3000], key[200], data[200];
    snprintf(key, sizeof key, "<key id='f' for='node' attr.name='forwards' attr.type='%s'/>", type);
    snprintf(data, sizeof data, "<data key='f'>%s</data>", value);
    rlt_topology *t = test_import(file(text, sizeof text, key, data, ""));
    bool does = rlt_topology_forwards(t, test_node(t, "s"));
    rlt_topology_free(t);
    return does;
}

static void attributes_of_nodes(void **state)
{
    (void)state;
    char text[3000];
    assert_true(forwards("string", "true") && forwards("string", "") && forwards("boolean", "true"));
    static const char *const free_ones[] = {"<key id='f' for='node' attr.name='label' attr.type='string'/>",
                                            "<key id='f' for='edge' attr.name='id' attr.type='string'/>",
                                            "<key id='f' for='edge' attr.name='dim' attr.type='string'/>"};
    for (size_t i = 0; i < sizeof free_ones / sizeof *free_ones; i++)
        rlt_topology_free(test_import(file(text, sizeof text, free_ones[i], "", "")));
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
        char key[200], data[200] = "";
        snprintf(key, sizeof key, "<key id='f' for='%s' attr.name='%s' attr.type='%s'/>", wrong[i].of,
                 wrong[i].name, wrong[i].type);
        if (wrong[i].value)
            snprintf(data, sizeof data, "<data key='f'>%s</data>", wrong[i].value);
        test_import_wrong(file(text, sizeof text, key, data, ""), wrong[i].where, wrong[i].what);
    }
}

/* Edges need both quantities, with their units. */
static void attributes_of_edges(void **state)
{
    static const struct {
        const char *keys, *data, *where, *what;
    } wrong[] = {
        {"<key id='b' for='edge' attr.name='bandwidth' attr.type='string'/>", "", "f",
         "edges have no attribute 'latency'"},
        {"<key id='l' for='edge' attr.name='latency' attr.type='string'/>", "", "f",
         "edges have no attribute 'bandwidth'"},
        {"<key id='b' for='edge' attr.name='bandwidth' attr.type='string'/>"
         "<key id='l' for='edge' attr.name='latency' attr.type='double'/>",
         "", "f", "missing unit: 'latency' of edges must be a string such as '500ns'"},
        {"<key id='b' for='edge' attr.name='bandwidth' attr.type='double'/>"
         "<key id='l' for='edge' attr.name='latency' attr.type='string'/>",
         "", "f", "missing unit: 'bandwidth' of edges must be a string such as '400Gbps'"},
        {"<key id='b' for='edge' attr.name='bandwidth' attr.type='string'/>"
         "<key id='l' for='edge' attr.name='latency' attr.type='string'/>",
         "<data key='b'>1</data>", "f:4: edge 0", "missing latency"},
        {"<key id='b' for='edge' attr.name='bandwidth' attr.type='string'/>"
         "<key id='l' for='edge' attr.name='latency' attr.type='string'/>",
         "<data key='l'>1us</data>", "f:4: edge 0", "missing bandwidth"},
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
