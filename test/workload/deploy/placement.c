/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Graphs of dnn-partitioning, written here: operator graphs, layer graphs, and refused files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/base/error.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
#include "workload/deploy/graphs/graphs.h"
#include "workload/deploy/opgraph.h"

static rlt_error err;

/* A node of the format: id, time in ms, pass, color class, size. */
#define NODE(id, ms, backward, color, size)                                                                  \
    "{\"id\": " #id ", \"supportedOnFpga\": true, \"cpuLatency\": 9, \"fpgaLatency\": " #ms                  \
    ", \"isBackwardNode\": " #backward ", \"colorClass\": " #color ", \"size\": " #size "}"
#define EDGE(a, b, size) "{\"sourceId\": " #a ", \"destId\": " #b ", \"cost\": 0.5, \"size\": " #size "}"
#define FILE_OF(nodes, edges)                                                                                \
    "{\"maxSizePerFPGA\": 1e9, \"maxFPGAs\": 2, \"maxCPUs\": 1, \"nodes\": [" nodes "],\n\"edges\": [" edges \
    "]}"

static int read_length(const char *text, size_t length, rlt_opgraph **g)
{
    rlt_graph_options o = RLT_GRAPH_OPTIONS_DEFAULT;
    *g = NULL;
    err = (rlt_error){0};
    return rlt__graph_placement.read("net.json", text, length, &o, g, &err);
}

static rlt_opgraph *read_text(const char *text)
{
    rlt_opgraph *g;
    assert_true(rlt__graph_placement.probe(text, strlen(text)));
    if (read_length(text, strlen(text), &g))
        fail_msg("%s: %s", err.where, err.what);
    return g;
}

static void refused(const char *text, const char *where, const char *what)
{
    rlt_opgraph *g;
    assert_int_not_equal(read_length(text, strlen(text), &g), 0);
    assert_null(g);
    if (!strstr(err.where, where) || !strstr(err.what, what))
        fail_msg("'%s: %s' does not contain '%s' and '%s'", err.where, err.what, where, what);
}

/* Input 1, weight 2, product 3; loss gradient 4, weight gradient 5, update 6. */
static const char operators[] =
    FILE_OF(NODE(1, 0, false, 1, 64) ", " NODE(2, 0, false, 7, 400) ", " NODE(3, 1.5, 0, 7, 80) ", " NODE(
                4, 0.25, 1, 8, 80) ", " NODE(5, 3, true, 8, 400) ", " NODE(6, 0.0000015, true, 7, 0),
            EDGE(1, 3, 64) ", " EDGE(2, 3, 400) ", " EDGE(3, 4, 80) ", " EDGE(4, 5, 80) ", " EDGE(
                1, 5, 64) ", " EDGE(5, 6, 400) ", " EDGE(2, 6, 400));

static void operator_graph(void **state)
{
    (void)state;
    rlt_opgraph *g = read_text(operators);
    uint32_t group[6], n;
    assert_string_equal(g->name, "net");
    assert_int_equal(g->n_ops, 6);
    assert_int_equal(g->n_tensors, 7);
    assert_int_equal(g->forward_ps, 1.5 * RLT_MS);
    assert_int_equal(g->backward_ps, 3.25 * RLT_MS);
    assert_int_equal(g->update_ps, 1500);
    assert_int_equal(g->parameter_bytes, 400);
    assert_string_equal(g->ops[2].name, "node3");
    assert_int_equal(g->ops[2].launch_ps, 8 * RLT_US);
    assert_int_equal(g->ops[0].launch_ps, 0);
    assert_int_equal(g->ops[1].kept_bytes, 0); /* a weight is no activation */
    assert_int_equal(g->ops[2].kept_bytes, 80);
    assert_int_equal(g->ops[5].pass, RLT_OPERATOR_UPDATE);
    assert_int_equal(g->ops[5].forward, 1);
    assert_false(g->ops[5].splittable);
    assert_true(g->ops[4].splittable);
    /* Colour classes 1, 7, 8. */
    assert_int_equal(rlt_opgraph_base_groups(g, group, &n, &err), 0);
    assert_int_equal(n, 3);
    assert_true(group[1] == group[2] && group[2] == group[5] && group[3] == group[4] && group[0] != group[1]);
    uint32_t kinds[3] = {0};
    for (uint32_t i = 0; i < g->n_tensors; i++)
        kinds[g->tensors[i].kind]++;
    assert_int_equal(kinds[RLT_TENSOR_FULL], 2);
    assert_int_equal(kinds[RLT_TENSOR_GRADIENT], 1);
    rlt_opgraph_free(g);
}

/* Three layers; backward edges run parallel to forward edges. Layer 2 has 100 bytes of weights, layer 3 40. */
#define LAYERS                                                                                               \
    NODE(1, 0.5, 0, 1, 64)                                                                                   \
    ", " NODE(2, 1, 0, 2, 132) ", " NODE(3, 2, 0, 3, 56) ", " NODE(4, 0, 1, 1, 64) ", " NODE(                \
        5, 2, 1, 2, 132) ", " NODE(6, 4, 1, 3, 56)

static void layer_graph(void **state)
{
    (void)state;
    rlt_opgraph *g = read_text(
        FILE_OF(LAYERS, EDGE(1, 2, 64) ", " EDGE(2, 3, 32) ", " EDGE(4, 5, 32) ", " EDGE(5, 6, 16)));
    assert_int_equal(g->n_ops, 6 + 2);
    assert_int_equal(g->n_tensors, 4 + 3 + 2);
    assert_int_equal(g->forward_ps + g->backward_ps, 9.5 * RLT_MS);
    assert_int_equal(g->parameter_bytes, 140);
    assert_int_equal(g->update_ps, 140 * RLT_S / 400000000000);
    assert_int_equal(g->ops[1].kept_bytes, 32);
    assert_int_equal(g->ops[2].kept_bytes, 16);
    assert_int_equal(g->ops[4].forward, 1);
    assert_int_equal(g->ops[6].together, g->ops[1].together);
    /* Gradients: 6 -> 5 of layer 2's output, 5 -> 4 of layer 1's. */
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const rlt_tensor *t = &g->tensors[i];
        if (t->src == 5 && t->dst < 6)
            assert_true(t->dst == 4 && t->bytes == 32);
        if (t->src == 4 && t->dst < 6)
            assert_true(t->dst == 3 && t->bytes == 64);
    }
    rlt_opgraph_free(g);
    /* The same with backward edges in the direction of the gradients. */
    g = read_text(
        FILE_OF(LAYERS, EDGE(1, 2, 64) ", " EDGE(2, 3, 32) ", " EDGE(5, 4, 64) ", " EDGE(6, 5, 32)));
    assert_int_equal(g->n_ops, 6 + 2);
    rlt_opgraph_free(g);
}

static void inference(void **state)
{
    (void)state;
    rlt_opgraph *g =
        read_text(FILE_OF(NODE(10, 1, 0, 1, 8) ", {\"id\": 11, \"name\": \"last\", \"fpgaLatency\": 2, "
                                               "\"isBackwardNode\": 0, \"size\": 8}",
                          EDGE(10, 11, 0.125)));
    assert_int_equal(g->n_ops, 2);
    assert_int_equal(g->tensors[0].bytes, 0);
    assert_string_equal(g->ops[1].name, "last");
    assert_int_equal(g->ops[1].together, RLT_NONE);
    rlt_opgraph_free(g);
}

static void refusals(void **state)
{
    (void)state;
    refused(FILE_OF(NODE(1, 1, 0, 1, 8) ", " NODE(1, 1, 0, 1, 8), ""), "nodes[1]",
            "a second node has the id 1");
    refused(FILE_OF(NODE(1, 1, 0, 1, 8), EDGE(1, 2, 8)), "net.json:2:", "no node has the id 2");
    refused(FILE_OF(NODE(1, -1, 0, 1, 8), ""), "nodes[0].fpgaLatency", "expected a number from 0");
    refused(FILE_OF(NODE(1, 1, 0, 1, 8) ", " NODE(2, 1, 1, 1, 8), EDGE(2, 1, 8)), "edges[0]",
            "backward node to a");
    refused(FILE_OF(NODE(1, 1, 0, 1, 8) ", " NODE(2, 1, 1, 2, 8), ""), "nodes[1]", "of the same colorClass");
    refused(FILE_OF(NODE(1, 1, 0, 1, 8) ", " NODE(2, 1, 1, 1, 8) ", " NODE(3, 1, 1, 1, 8), ""), "nodes[2]",
            "one forward and one backward node");
    refused(FILE_OF(NODE(1, 1, 0, 1, 8) ", " NODE(2, 1, 0, 2, 8), EDGE(1, 2, 8) ", " EDGE(2, 1, 8)), "net",
            "cycle");
    refused(FILE_OF(NODE(1, 1, 0, 1, 8) ", " NODE(2, 1, 0, 2, 8),
                    "{\"sourceId\": 1, \"destId\": 2, \"cost\": 1}"),
            "edges[0]", "size");
    refused("{\"nodes\": [], \"fpgaLatency\": 1}", "net.json:1", "expected 'nodes' and 'edges', two arrays");
    refused(FILE_OF("3", ""), "nodes[0]", "expected a node, an object");
}

/* Numbers of nodes and classes are below 2^63. */
static void largest_numbers(void **state)
{
#define TWO(id, color, from, to) FILE_OF(NODE(id, 1, 0, color, 8) ", " NODE(2, 1, 0, 4, 8), EDGE(from, to, 8))
    static const char most[] = "expected a number from 0 to 9223372036854775807, got 9223372036854775808";
    (void)state;
    rlt_opgraph_free(read_text(TWO(9223372036854775807, 9223372036854775807, 9223372036854775807, 2)));
    refused(TWO(9223372036854775808, 3, 1, 2), "nodes[0].id", most);
    refused(TWO(1, 9223372036854775808, 1, 2), "nodes[0].colorClass", most);
    refused(TWO(1, 3, 9223372036854775808, 2), "edges[0].sourceId", most);
    refused(TWO(1, 3, 1, 9223372036854775808), "edges[0].destId", most);
#undef TWO
}

/* Times end at 2^53 ps, sizes at 2^53 bytes. */
static void largest_amounts(void **state)
{
    (void)state;
    rlt_opgraph_free(read_text(FILE_OF(NODE(1, 9007199.25, 0, 1, 9007199254740992), "")));
    refused(FILE_OF(NODE(1, 9007199.26, 0, 1, 8), ""), "nodes[0].fpgaLatency",
            "expected a number from 0 to 9.0072e+06");
    refused(FILE_OF(NODE(1, 1, 0, 1, 9007199254740994), ""), "nodes[0].size",
            "expected a number from 0 to 9.0072e+15");
    refused(FILE_OF(NODE(1, 1, 0, 1, -1), ""), "nodes[0].size", "expected a number from 0 to 9.0072e+15");
}

/* An optimizer updates something in a microsecond, whether the graph has updates or not. */
static void speed_of_updates(void **state)
{
    (void)state;
    for (int i = -1; i < 2; i++) {
        rlt_graph_options o = RLT_GRAPH_OPTIONS_DEFAULT;
        rlt_opgraph *g = NULL;
        o.costs.update_bytes_per_us = i;
        err = (rlt_error){0};
        int rc = rlt__graph_placement.read("net.json", operators, strlen(operators), &o, &g, &err);
        assert_int_equal(rc, i > 0 ? 0 : RLT_EUSAGE);
        if (rc)
            assert_string_equal(err.what, "the optimizer needs more than 0 bytes a microsecond");
        rlt_opgraph_free(g);
    }
}

static void damaged(void **state)
{
    (void)state;
    size_t length = strlen(operators);
    for (size_t n = 0; n < length; n++) {
        rlt_opgraph *g;
        assert_int_not_equal(read_length(operators, n, &g), 0);
        assert_null(g);
    }
    for (uint32_t i = 0; i < 5000; i++) {
        char copy[sizeof operators];
        rlt_opgraph *g;
        memcpy(copy, operators, sizeof copy);
        copy[rlt_random_below(1, 0, 0, i, length)] = (char)(' ' + rlt_random_below(1, 0, 1, i, 95));
        if (read_length(copy, length, &g))
            assert_true(err.code && err.what[0]);
        rlt_opgraph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operator_graph),  cmocka_unit_test(layer_graph),
        cmocka_unit_test(inference),       cmocka_unit_test(refusals),
        cmocka_unit_test(damaged),         cmocka_unit_test(largest_numbers),
        cmocka_unit_test(largest_amounts), cmocka_unit_test(speed_of_updates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
