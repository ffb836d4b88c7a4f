/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Products with whole topologies for dimensions, and small files of several formats: limits, and what is wrong. Run
 * from the root of the repository.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "net/endpoint/endpoint.h"
#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/networks/imported.h"
#include "test/support/text_file.h"

#define RAIL "{\"shape\":\"rail\",\"size\":2,\"bandwidth\":\"50GB/s\",\"latency\":\"2us\"}"

static rlt_topology *load(const char *text)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    if (rlt_topology_load(text, "topologies", &t, &err))
        fail_msg("%s: %s: %s", text, err.where, err.what);
    return t;
}

/* A product has the endpoint and the node of its innermost topology. What a file states stands over that. */
static void products_have_an_endpoint(void **state)
{
    static const struct {
        const char *text;
        uint32_t protocols, node; /* protocols 0: as the node */
        rlt_time launch_ps;       /* 0: as the node's */
    } rows[] = {{"hgx-h100-8*rail:2@400Gbps,2us", 0, 8, 0},
                {"{\"dims\":[\"hgx-h100-8\"," RAIL "]}", 0, 8, 0},
                {"{\"endpoint\":{\"launch\":\"7us\"},\"dims\":[\"hgx-h100-8\"," RAIL "]}", 0, 8, 7 * RLT_US},
                {"{\"endpoint\":{\"launch\":\"7us\",\"protocols\":[{\"name\":\"LL\",\"message\":\"1us\"}]},"
                 "\"dims\":[\"hgx-h100-8\"," RAIL "]}",
                 1, 8, 7 * RLT_US},
                {"{\"endpoint\":{\"launch\":\"7us\"},\"dims\":[" RAIL "]}", 0, 2, 7 * RLT_US}};
    rlt_topology *node = load("hgx-h100-8");
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_topology *t = load(rows[i].text);
        const rlt_endpoint *e = rlt_topology_endpoint(t), *of = rlt_topology_endpoint(node);
        assert_int_equal(e->n_protocols, rows[i].node < 8    ? 0
                                         : rows[i].protocols ? rows[i].protocols
                                                             : of->n_protocols);
        assert_int_equal(e->launch_ps, rows[i].launch_ps ? rows[i].launch_ps : of->launch_ps);
        assert_int_equal(rlt_topology_node_size(t), rows[i].node);
        rlt_topology_free(t);
    }
    rlt_topology_free(node);
}

/* Sizes of a dimension as a list: as many as fit a line of 112 characters. */
static void lists_of_sizes(void **state)
{
    (void)state;
    for (int n = 50; n < 80; n++) {
        char text[600];
        size_t used = (size_t)snprintf(
            text, sizeof text,
            "{\"dims\":[{\"shape\":\"torus\",\"bandwidth\":\"1GB/s\",\"latency\":\"1us\",\"sizes\":[2,2");
        for (int i = 2; i < n; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, ",1");
        snprintf(text + used, sizeof text - used, "]}]}");
        rlt_topology *t = NULL;
        rlt_error err = {0};
        int rc = rlt_topology_read("f", text, strlen(text), NULL, &t, &err);
        bool fits = 2 * n - 1 <= 112;
        if (!fits && (rc != RLT_ERANGE || strcmp(err.what, "the sizes multiply to more than 16777216") != 0))
            fail_msg("%d sizes: %d %s: %s", n, rc, err.where, err.what);
        if (fits && rc && strstr(err.what, "multiply"))
            fail_msg("%d sizes: %s", n, err.what);
        rlt_topology_free(t);
    }
}

/* Files that name files, eight inside the first one, and nine. */
static void files_in_files(void **state)
{
    (void)state;
    for (int deep = 8; deep < 10; deep++) {
        char path[10][32], text[160] = "{\"dims\":[" RAIL "]}";
        rlt_topology *t = NULL;
        rlt_error err = {0};
        for (int i = deep; i >= 0; i--) {
            snprintf(path[i], sizeof path[i], "/tmp/ringlet-deep-XXXXXX");
            test_write_new(path[i], text, strlen(text));
            snprintf(text, sizeof text, "{\"dims\":[\"%s\"]}", path[i]);
        }
        assert_int_equal(rlt_topology_load(path[0], NULL, &t, &err), deep < 9 ? 0 : RLT_ERANGE);
        assert_int_equal(strstr(err.what, "more than 8 deep") != NULL, deep > 8);
        rlt_topology_free(t);
        for (int i = 0; i <= deep; i++)
            unlink(path[i]);
    }
}

/* Eight dimensions are the most, also in ASTRA-sim's files. */
static void most_dimensions(void **state)
{
    static const char *const lines[] = {"topology: [Ring", "npus_count: [2", "bandwidth: [10", "latency: [0"};
    static const char *const more[] = {", Ring", ", 2", ", 10", ", 500"};
    (void)state;
    for (uint32_t n = 7; n < 10; n++) {
        char text[400];
        size_t used = 0;
        rlt_topology *t = NULL;
        rlt_error err = {0};
        for (int k = 0; k < 4; k++) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s", lines[k]);
            for (uint32_t i = 1; i < n; i++)
                used += (size_t)snprintf(text + used, sizeof text - used, "%s", more[k]);
            used += (size_t)snprintf(text + used, sizeof text - used, "]\n");
        }
        int rc = rlt_topology_read("f", text, strlen(text), NULL, &t, &err);
        if (rc != (n < 9 ? 0 : RLT_ERANGE) || (rc && strcmp(err.what, "more than 8 dimensions") != 0))
            fail_msg("%u: %d %s: %s", n, rc, err.where, err.what);
        assert_true(rc || rlt_topology_dims(t) == n);
        rlt_topology_free(t);
    }
}

/* Attributes of GraphML: those that mean something here, or nothing to anybody; no others. */
static void unknown_attributes(void **state)
{
#define KEY(of, name) "<key id=\"" of name "\" for=\"" of "\" attr.name=\"" name "\" attr.type=\"string\"/>\n"
#define GRAPH(keys)                                                                                             \
    "<?xml version=\"1.0\"?>\n<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n" KEY(                 \
        "node", "kind") KEY("edge", "bandwidth") KEY("edge", "latency") keys                                    \
        "<graph edgedefault=\"undirected\">\n<node id=\"a\"><data key=\"nodekind\">accelerator</data></node>\n" \
        "<node id=\"b\"><data key=\"nodekind\">accelerator</data></node>\n<edge source=\"a\" target=\"b\">"     \
        "<data key=\"edgebandwidth\">1GB/s</data><data key=\"edgelatency\">1us</data></edge></graph></graphml>\n"
    (void)state;
    rlt_topology *t = test_import(GRAPH(KEY("node", "label") KEY("edge", "id") KEY("edge", "dim")));
    assert_int_equal(rlt_topology_links(t), 2);
    rlt_topology_free(t);
    test_import_wrong(GRAPH(KEY("node", "colour")), "f", "unknown attribute 'colour' of nodes");
    test_import_wrong(GRAPH(KEY("edge", "kind")), "f", "unknown attribute 'kind' of edges");
    test_import_wrong(GRAPH(KEY("graph", "kind")), "f", "unknown attribute 'kind' of the graph");
}

static void wrong_products(void **state)
{
#define PROTOCOL(name)                                                                                       \
    "{\"endpoint\":{\"protocols\":[{\"name\":\"" name "\",\"message\":\"1us\"}]},\"dims\":[" RAIL "]}"
    static const char letters[] = "expected a name of 1 to 15 letters, not 'auto'";
    static const char place[] = "f:1:35: endpoint.protocols[0].name";
    (void)state;
    test_import_wrong("{\"dims\":[\"-\"]}", "f:1:10: dims[0]: -",
                      "standard input cannot be a part of a product");
    test_import_wrong(PROTOCOL(""), place, letters);
    /* A setting that is wrong on a command line is wrong in the file here. */
    static const char launch[] = "{\"endpoint\":{\"injection\":\"wire\"},\"dims\":[" RAIL "]}";
    rlt_topology *t = NULL;
    assert_int_equal(rlt_topology_read("f", launch, strlen(launch), NULL, &t, NULL), RLT_ESCHEMA);
    test_import_wrong(PROTOCOL("auto"), place, letters);
    test_import_wrong(PROTOCOL("a.b"), place, letters);
    test_import_wrong(PROTOCOL("abcdefghijklmnop"), place, letters);
    rlt_topology_free(load(PROTOCOL("abcdefghijklmno")));
    rlt_topology_free(load(PROTOCOL("a")));
    test_import_wrong(
        "{\"dims\":[{\"shape\":\"ring\",\"size\":4,\"bandwidth\":\"0GB/s\",\"latency\":\"1us\"}]}",
        "f:1:10: dims[0]", "the bandwidth is zero");
    test_import_wrong(
        "{\"dims\":[{\"shape\":\"ring\",\"size\":4,\"link_bandwidth\":\"0GB/s\",\"latency\":\"1us\"}]}",
        "f:1:10: dims[0]", "the bandwidth is zero");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_have_an_endpoint),
                                       cmocka_unit_test(lists_of_sizes),
                                       cmocka_unit_test(files_in_files),
                                       cmocka_unit_test(most_dimensions),
                                       cmocka_unit_test(unknown_attributes),
                                       cmocka_unit_test(wrong_products)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
