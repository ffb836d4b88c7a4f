/* SPDX-License-Identifier: GPL-3.0-or-later */
/* InfraGraphs that are refused beside those of infragraph.c: documents, links, paths, annotations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/topology/topology.h"
#include "test/support/networks/imported.h"

#define LINKS "[{name: l, physical: {bandwidth: {gigabytes_per_second: 1}, latency: {us: 1}}}]"
#define PAIR(links, edges)                                                                                   \
    "devices:\n- name: d\n  components: [{name: x, count: 2, choice: xpu}]\n  links: " links                 \
    "\n  edges: " edges "\n"
#define JOINED "[{ep1: {component: 'x[0]'}, ep2: {component: 'x[1]'}, scheme: one2one, link: l}]"
#define ONE    "instances: [{name: i, device: d, count: 1}]\n"
#define HOST   PAIR(LINKS, JOINED) ONE
#define OF_NODE(name, attribute, value)                                                                      \
    HOST "annotations: {nodes: [{name: " name ", attributes: [{attribute: " attribute ", value: " value      \
         "}]}]}\n"
#define OF_LINK(attribute, value)                                                                            \
    HOST "annotations: {links: [{name: l, attributes: [{attribute: " attribute ", value: " value "}]}]}\n"
#define OF_GRAPH(attribute, value)                                                                           \
    HOST "annotations: {graph: [{attribute: " attribute ", value: " value "}]}\n"

#define FIFTY "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghij"
#define LONG  FIFTY FIFTY FIFTY FIFTY /* the longest name of a node */

typedef struct fault {
    const char *text, *where, *what;
} fault;

static void refuse_all(const fault *table, size_t n)
{
    for (size_t i = 0; i < n; i++)
        test_import_wrong(table[i].text, table[i].where, table[i].what);
}

static void documents(void **state)
{
    static const fault table[] = {
        {PAIR(LINKS, JOINED) "instances: [{name: i, device: d, count: 0}]\n", "f:6:41: instances[0].count",
         "expected at least 1"},
        {"[{\"instances\": 1, \"devices\": 1, \"components\": 1}]", "f:1:1", "expected an infrastructure"},
        {"x: {devices: 1, instances: 1, components: 1}", "f:1:4: x", "unknown key 'x'"},
        {"devices: [{name: d, components: []}]\nx: {instances: 1}\n", "f:2:4: x", "unknown key 'x'"},
        {"name: 'devices: components: '\ninstances: []\n", "f:1:1", "missing 'devices'"},
        {"name: 'instances: components: '\ndevices: []\n", "f:1:1", "missing 'instances'"},
        {PAIR("7", JOINED) ONE, "f:4:10: devices[0].links", "expected a list of links"},
        {PAIR("[{name: l}, {name: l}]", JOINED) ONE, "f:4:22: devices[0].links[1]",
         "the name 'l' is given to two links"},
        {PAIR("[{name: l, physical: {latency: {choice: us, ns: 1}}}]", JOINED) ONE,
         "f:4:41: devices[0].links[0].physical.latency", "the choice is 'us', but 'us' is missing"},
        {PAIR(LINKS, "7") ONE, "f:5:10: devices[0].edges", "expected a list of edges"},
        {PAIR("[{name: l, physical: {bandwidth: {gigabytes_per_second: 1}, latency: {us: 1}}}, {name: m}]",
              "[{ep1: {component: 'x[0]'}, ep2: {component: 'x[1]'}, scheme: one2one, link: l}, "
              "{ep1: {component: 'x[1]'}, ep2: {component: 'x[0]'}, scheme: one2one, link: m}]") ONE,
         "f:4:90: devices[0].links[1]", "are joined by the links 'l' and 'm'"},
    };
    (void)state;
    refuse_all(table, sizeof table / sizeof *table);
}

static void paths(void **state)
{
#define TO(path)                                                                                             \
    PAIR(LINKS, "[{ep1: {component: 'x[0]'}, ep2: {component: '" path "'}, scheme: one2one, link: l}]") ONE
    static const char place[] = "f:5:55: devices[0].edges[0].ep2.component";
    static const char *const wrong[] = {TO("[1]"),   TO("x[]"), TO("x[1"), TO("x[1:"),
                                        TO("x[1]y"), TO("x]"),  TO("x[a]")};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        test_import_wrong(wrong[i], place, "expected a name and a slice");
    rlt_topology_free(test_import(TO("x[1]")));
    /* An instance is no path: what is inside of it stands at 'component'. */
    test_import_wrong(
        HOST "edges: [{ep1: {instance: i.x, component: 'x[0]'}, ep2: {instance: i, component: 'x[1]'}, "
             "scheme: one2one, link: l}]\n",
        "f:7:15: edges[0].ep1", "such as nic, nic[0] or nic[0:4:2]; got 'i.x'");
}

static void annotations_of_nodes(void **state)
{
    static const char place[] = "f:7:52: annotations.nodes[0].attributes[0]",
                      node[] = "f:7:23: annotations.nodes[0]";
    static const char name[] = "the name of one node, such as host.0.xpu.1";
    const fault table[] = {
        {OF_NODE("i.0.x.0", "ringlet_colour", "red"), place,
         "no attribute of ringlet is named 'ringlet_colour'"},
        {OF_NODE("i.0.x.0", "ringlet_kind", "gpu"), place, "expected one of: accelerator"},
        {OF_NODE("i.0.x.0", "ringlet_name", "''"), place, "a name of 1 to 200 bytes"},
        {OF_NODE("i.0.x.0", "ringlet_name", LONG "k"), place, "a name of 1 to 200 bytes"},
        {OF_NODE("i.0.x.0", "ringlet_name", "i.0.x.1"), "f", "two nodes are named 'i.0.x.1'"},
        {OF_NODE("i.0.x.1", "ringlet_name", "i.0.x.0"), "f", "two nodes are named 'i.0.x.0'"},
        {OF_NODE("i.0.x.0", "ringlet_forwards", "'yes'"), place, "expected true or false"},
        {OF_NODE("i.0.x.0", "ringlet_in_network", "'magic'"), place, "'magic'"},
        {OF_NODE("i.0.x.0", "rank", "'0'"), "f", "i.0.x.1 has no rank, but others have"},
        {OF_NODE("i", "rank", "'0'"), node, name},
        {OF_NODE("i.0.x", "rank", "'0'"), node, name},
        {HOST "annotations: {nodes: [{name: i.0.x.0, attributes: 7}]}\n",
         "f:7:51: annotations.nodes[0].attributes", "expected a list of attributes"},
        {HOST "annotations: {nodes: 7}\n", "f:7:22: annotations.nodes", "expected a list"},
        {HOST "annotations: {nodes: [7]}\n", "f:7:23: annotations.nodes[0]", "expected an annotation"},
    };
    (void)state;
    refuse_all(table, sizeof table / sizeof *table);
    /* What other programs say is left alone. */
    rlt_topology_free(test_import(OF_NODE("i.0.x.0", "colour", "red")));
    rlt_topology *t = test_import(OF_NODE("i.0.x.1", "ringlet_name", "second"));
    assert_int_equal(test_between(t, "i.0.x.0", "second"), 1000000000);
    rlt_topology_free(t);
    t = test_import(OF_NODE("i.0.x.1", "ringlet_name", LONG));
    assert_int_equal(test_between(t, "i.0.x.0", LONG), 1000000000);
    rlt_topology_free(t);
}

static void annotations_of_links_and_graph(void **state)
{
    static const char cables[] = "f:4:11: devices[0].links[0]", graph[] = "f:7:23: annotations.graph[0]";
    const fault table[] = {
        {OF_LINK("ringlet_colour", "red"), "f:7:46: annotations.links[0].attributes[0]",
         "no attribute of ringlet is named"},
        {HOST "annotations: {links: [{name: l, attributes: 7}]}\n", "f:7:45: annotations.links[0].attributes",
         "expected a list of attributes"},
        {HOST
         "annotations: {links: [{name: m, attributes: [{attribute: ringlet_cables, value: '1/1 | 1/1'}]}]}\n",
         "f:7:23: annotations.links[0]", "no link is named 'm'"},
        {OF_LINK("ringlet_cables", "'1/1234567890123456789 | 1/1'"), cables,
         "expected ringlet_cables such as"},
        {OF_LINK("ringlet_cables", "'12345678901234567890/1 | 1/1'"), cables,
         "expected ringlet_cables such as"},
        {OF_LINK("ringlet_cables", "'1/ 5 | 1/1'"), cables, "expected ringlet_cables such as"},
        {OF_LINK("ringlet_cables", "'1/+5 | 1/1'"), cables, "expected ringlet_cables such as"},
        {OF_LINK("ringlet_cables", "'1/5x | 1/1'"), cables, "expected ringlet_cables such as"},
        {OF_LINK("ringlet_cables", "'1'"), cables, "expected ringlet_cables such as"},
        {HOST
         "annotations: {graph: [{attribute: ringlet, value: '{}'}, {attribute: ringlet, value: '{}'}]}\n",
         "f:7:58: annotations.graph[1]", "the attribute 'ringlet' is given twice"},
        {OF_LINK("ringlet_cables", "'1000/5'"), cables, "expected ringlet_cables such as"},
        {OF_LINK("ringlet_cables", "'1000 | 1000'"), cables, "got '1000 | 1000'"},
        {OF_LINK("ringlet_cables", "'x/1 | 1/1'"), cables, "expected ringlet_cables such as"},
        {OF_LINK("ringlet_cables", "'1/1 | 1/-1'"), cables, "expected ringlet_cables such as"},
        {OF_LINK("ringlet_cables", "'1/1 | 1/1 | 1/1'"), cables, "expected ringlet_cables such as"},
        {OF_GRAPH("ringlet_colour", "red"), graph, "no attribute of ringlet is named"},
        {OF_GRAPH("ringlet", "'{\"pxn\": \"maybe\"}'"), "f:7:23: annotations.graph[0]: ringlet:1:9: pxn",
         "expected on or off, got 'maybe'"},
        {OF_GRAPH("ringlet", "'{\"dims\": [1,1,1,1,1,1,1,1,2]}'"),
         "f:7:23: annotations.graph[0]: ringlet:1:10: dims", "more than 8 dimensions"},
        {OF_GRAPH("ringlet", "'{\"dims\": 7}'"), "f:7:23: annotations.graph[0]: ringlet:1:10: dims",
         "expected a list of numbers"},
    };
    (void)state;
    refuse_all(table, sizeof table / sizeof *table);
    rlt_topology *t = test_import(OF_LINK("ringlet_cables", "'1000/5 1000/5 | 3000/5'"));
    assert_int_equal(test_between(t, "i.0.x.0", "i.0.x.1"), 2000);
    assert_int_equal(test_between(t, "i.0.x.1", "i.0.x.0"), 3000);
    rlt_topology_free(t);
    t = test_import(OF_GRAPH("ringlet", "'{\"dims\": [1,1,1,1,1,1,1,2]}'"));
    assert_int_equal(rlt_topology_dims(t), 8);
    rlt_topology_free(t);
}

/* Annotations stand beside the infrastructure, or inside it; not in both places. */
static void places_of_annotations(void **state)
{
#define INSIDE                                                                                                  \
    "{\"infrastructure\":{\"devices\":[{\"name\":\"d\",\"components\":[{\"name\":\"x\",\"count\":1,\"choice\":" \
    "\"xpu\"}]}],\"instances\":[{\"name\":\"i\",\"device\":\"d\",\"count\":1}]"
#define CALLED(name)                                                                                         \
    "\"annotations\":{\"graph\":[{\"attribute\":\"ringlet\",\"value\":\"{\\\"name\\\":\\\"" name "\\\"}\"}]}"
    (void)state;
    rlt_topology *t = test_import(INSIDE "}," CALLED("beside") "}");
    assert_string_equal(rlt_topology_name(t), "beside");
    rlt_topology_free(t);
    t = test_import(INSIDE "," CALLED("inside") "}}");
    assert_string_equal(rlt_topology_name(t), "inside");
    rlt_topology_free(t);
    test_import_wrong(INSIDE "," CALLED("inside") "}," CALLED("beside") "}",
                      "f:1:162: infrastructure.annotations",
                      "annotations stand beside the infrastructure, too");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents),
        cmocka_unit_test(paths),
        cmocka_unit_test(annotations_of_nodes),
        cmocka_unit_test(annotations_of_links_and_graph),
        cmocka_unit_test(places_of_annotations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
