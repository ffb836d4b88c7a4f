/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Products with whole topologies for dimensions: limits, and what is wrong. Run from the root of the repository.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Fails unless this is refused with these words. */
static void refused(const char *text, int code, const char *what)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    int rc = rlt_topology_load(text, "topologies", &t, &err);
    if (rc != code || !strstr(err.what, what))
        fail_msg("%s: expected %d %s\ngot %d %s: %s", text, code, what, rc, err.where, err.what);
    assert_null(t);
}

static void wrong_products(void **state)
{
#define RINGS6 "ring:1@1GB/s,0*ring:1@1GB/s,0*ring:1@1GB/s,0*ring:1@1GB/s,0*ring:1@1GB/s,0*ring:1@1GB/s,0"
    (void)state;
    test_import_wrong("{\"dims\":[\"-\"]}", "f:1:10: dims[0]: -",
                      "standard input cannot be a part of a product");
    /* Topologies of two dimensions, and of none, where there is room for one more, or for none. */
    refused(RINGS6 "*ring:1@1GB/s,0*rashidi-2d", RLT_ERANGE, "more than 8 dimensions");
    refused("rashidi-2d*" RINGS6 "*dgx1-v100-8", RLT_ERANGE, "more than 8 dimensions");
    refused(RINGS6 "*ring:1@1GB/s,0*rail-optimised:8@1GB/s,0,gpus_per_node=4,nvlink_bandwidth=1GB/s",
            RLT_ERANGE, "more than 8 dimensions");
    rlt_topology_free(load("rashidi-2d*" RINGS6));
    refused("rail-optimised:8@1GB/s,0,gpus_per_node=x,nvlink_bandwidth=1GB/s", RLT_ESCHEMA, "'x'");
    refused("rail-optimised:8@1GB/s,0,gpus_per_node=3,nvlink_bandwidth=1GB/s", RLT_ESCHEMA,
            "does not divide size 8");
    refused("rail-optimised:8@1GB/s,0,gpus_per_node=4", RLT_ESCHEMA,
            "needs gpus_per_node and nvlink_bandwidth");
}

/* The graph is the first dimension of two. */
static void part_refused(const char *graph, int code, const char *what)
{
    char path[] = "/tmp/ringlet-part-XXXXXX", product[64];
    test_write_new(path, graph, strlen(graph));
    snprintf(product, sizeof product, "%s*switch:2@1GB/s,0", path);
    refused(product, code, what);
    unlink(path);
}

/* A graph that is a dimension: at most 1024 accelerators and NICs, and each accelerator reaches a NIC. */
static void wrong_parts(void **state)
{
    enum { N = 1025, SIZE = 100 * N };
    char *text = malloc(SIZE);
    size_t at = 0;
    (void)state;
    assert_non_null(text);
#define PUT(...) at += (size_t)snprintf(text + at, SIZE - at, __VA_ARGS__)
    PUT("{\"nodes\":[{\"id\":\"g\",\"count\":%d,\"kind\":\"accelerator\"},{\"id\":\"s\",\"kind\":\"switch\"}],\"links\":[",
        N);
    for (int i = 0; i < N; i++)
        PUT("%s{\"src\":\"g%d\",\"dst\":\"s\",\"bandwidth\":\"1GB/s\",\"latency\":\"0\"}", i ? "," : "", i);
    PUT("]}");
#undef PUT
    part_refused(text, RLT_ERANGE, "1025 accelerators and NICs; as a part of a product at most 1024");
    free(text);
    part_refused(
        "{\"nodes\":[{\"id\":\"g\",\"count\":2,\"kind\":\"accelerator\"},{\"id\":\"n\",\"kind\":\"nic\"}],\"links\":["
        "{\"src\":\"g0\",\"dst\":\"g1\",\"bandwidth\":\"1GB/s\",\"latency\":\"0\"},"
        "{\"src\":\"n\",\"dst\":\"g0\",\"bandwidth\":\"1GB/s\",\"latency\":\"0\",\"duplex\":false}]}",
        RLT_ETOPOLOGY, "reaches no NIC");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_have_an_endpoint),
                                       cmocka_unit_test(files_in_files), cmocka_unit_test(most_dimensions),
                                       cmocka_unit_test(wrong_products), cmocka_unit_test(wrong_parts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
