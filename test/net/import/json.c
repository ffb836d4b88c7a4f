/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What ringlet's own JSON and one-line topologies may not say: the place and the reason of each refusal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "test/support/networks/imported.h"

#define RING "\"dims\":[{\"shape\":\"ring\",\"size\":4,\"bandwidth\":\"1GB/s\",\"latency\":\"1us\"}]"
#define PAIR "\"nodes\":[{\"id\":\"g\",\"count\":2,\"kind\":\"accelerator\"}]"
#define LINK "\"links\":[{\"src\":\"g0\",\"dst\":\"g1\",\"bandwidth\":\"1GB/s\",\"latency\":\"1us\"}]"

static void values_of_the_wrong_kind(void **state)
{
    static const struct {
        const char *text, *where, *what;
    } rows[] = {
        {"{\"endpoint\":{\"launch\":[1]}," RING "}", "f:1:23: endpoint.launch", "a string or a number"},
        {"{\"endpoint\":{\"launch\":\"x\"}," RING "}", "f:1:23: endpoint.launch", "'x'"},
        {"{\"endpoint\":{\"protocols\":7}," RING "}", "f:1:26: endpoint.protocols", "a list of protocols"},
        {"{\"rings\":7," RING "}", "f:1:10: rings", "a list of at most 1024 rings"},
        {"{\"rings\":[7]," RING "}", "f:1:11: rings[0]", "a list of all 4 accelerators"},
        {"{" PAIR ",\"links\":7}", "f:1:62: links", "a list of links"},
        {"{" PAIR "," LINK ",\"routes\":7}", "f:1:133: routes", "a list of routes"},
        {"{" PAIR "," LINK ",\"routes\":[{\"src\":\"g0\",\"dst\":\"g1\"}]}", "f:1:134: routes[0]",
         "'via', a list of nodes on the way"},
        {"{" PAIR "," LINK ",\"routes\":[{\"src\":\"g0\",\"dst\":\"g1\",\"via\":7}]}",
         "f:1:163: routes[0].via", "'via', a list of nodes on the way"},
        {"{" PAIR ",\"links\":[{\"src\":0,\"dst\":\"g1\"}]}", "f:1:70: links[0].src", "the id of a node"},
        {"{\"dims\":[{\"shape\":\"torus\",\"sizes\":[],\"bandwidth\":\"1GB/s\",\"latency\":\"1us\"}]}",
         "f:1:35: dims[0].sizes", "expected sizes, such as [4, 4, 4]"},
        {"{\"dims\":[{\"shape\":\"torus\",\"sizes\":true,\"bandwidth\":\"1GB/s\",\"latency\":\"1us\"}]}",
         "f:1:35: dims[0].sizes", "a string, a whole number or a list of sizes"},
        {"{\"nodes\":[{\"id\":\"\",\"kind\":\"nic\"}],\"links\":[]}", "f:1:17: nodes[0].id",
         "an id of 1 to 200 bytes"},
        {"{\"dims\":[{\"shape\":\"ring\",\"size\":4,\"bandwidth\":\"0GB/s\",\"latency\":\"1us\"}]}",
         "f:1:10: dims[0]", "the bandwidth is zero"},
        {"{\"dims\":[{\"shape\":\"ring\",\"size\":4,\"link_bandwidth\":\"0GB/s\",\"latency\":\"1us\"}]}",
         "f:1:10: dims[0]", "the bandwidth is zero"},
        {"{\"auto\":{\"a_collective_of_24_chars\":\"ring\"}," RING "}",
         "f:1:37: auto.a_collective_of_24_chars", "expected a collective, such as all_reduce"},
        /* Of dimensions that multiply to too many, no ring is checked. */
        {"{\"rings\":[[0]],\"dims\":[{\"shape\":\"ring\",\"size\":16777216,\"bandwidth\":\"1GB/s\",\"latency\":\"0\"},"
         "{\"shape\":\"ring\",\"size\":2,\"bandwidth\":\"1GB/s\",\"latency\":\"0\"}]}",
         "f:1:91: dims[1]", "more than 16777216 accelerators"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        test_import_wrong(rows[i].text, rows[i].where, rows[i].what);
}

/* A text of `before`, n copies of `item` with commas between them, and `after`. The caller frees it. */
static char *repeated(const char *before, const char *item, uint32_t n, const char *after)
{
    size_t size = strlen(before) + n * (strlen(item) + 1) + strlen(after) + 1;
    char *text = malloc(size), *p = text;
    assert_non_null(text);
    p += snprintf(p, size, "%s", before);
    for (uint32_t i = 0; i < n; i++)
        p += snprintf(p, size - (size_t)(p - text), "%s%s", i ? "," : "", item);
    snprintf(p, size - (size_t)(p - text), "%s", after);
    return text;
}

/* As many as the limit are read, one more is refused. */
static void as_many_as_the_limit(void **state)
{
#define DIM(size, more)                                                                                      \
    "{\"shape\":\"ring\",\"size\":" size more ",\"bandwidth\":\"1GB/s\",\"latency\":\"1us\"}"
    static const struct {
        const char *before, *item, *after;
        uint32_t most;
        const char *where, *what;
    } rows[] = {
        {"{\"dims\":[", DIM("1", ""), "]}", 8, "f:1:9: dims", "at most 8 dimensions"},
        {"{\"rings\":[", "[0,1,2,3]", "]," RING "}", 1024, "f:1:10: rings", "at most 1024 rings"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *text = repeated(rows[i].before, rows[i].item, rows[i].most, rows[i].after);
        rlt_topology_free(test_import(text));
        free(text);
        text = repeated(rows[i].before, rows[i].item, rows[i].most + 1, rows[i].after);
        test_import_wrong(text, rows[i].where, rows[i].what);
        free(text);
    }
}

/* A chain of n algorithms: "ring:1B:tree:2B:ring". */
static void chains(void **state)
{
    (void)state;
    for (uint32_t n = 1024; n <= 1025; n++) {
        size_t size = 20 * n + 300, at = 0;
        char *text = malloc(size);
        assert_non_null(text);
        at += (size_t)snprintf(text, size, "{\"auto\":{\"all_reduce\":\"ring");
        for (uint32_t i = 1; i < n; i++)
            at += (size_t)snprintf(text + at, size - at, ":%uB:%s", i, i % 2 ? "tree" : "ring");
        snprintf(text + at, size - at, "\"}," RING "}");
        test_import_up_to(n == 1024, text, "f:1:9: auto", "at most 1024 algorithms");
        free(text);
    }
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

/* A protocol's name is a word that no setting means. */
static void names_of_protocols(void **state)
{
#define RAIL "{\"shape\":\"rail\",\"size\":2,\"bandwidth\":\"50GB/s\",\"latency\":\"2us\"}"
#define PROTOCOL(name)                                                                                       \
    "{\"endpoint\":{\"protocols\":[{\"name\":\"" name "\",\"message\":\"1us\"}]},\"dims\":[" RAIL "]}"
    static const char *const wrong[] = {PROTOCOL(""), PROTOCOL("auto"), PROTOCOL("a.b"),
                                        PROTOCOL("abcdefghijklmnop")};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        test_import_wrong(wrong[i], "f:1:35: endpoint.protocols[0].name",
                          "expected a name of 1 to 15 letters, not 'auto'");
    rlt_topology_free(test_import(PROTOCOL("abcdefghijklmno")));
    rlt_topology_free(test_import(PROTOCOL("a")));
    rlt_topology_free(test_import("{\"rings\":[]," RING "}"));
    /* A setting that is wrong on a command line is wrong in the file here. */
    static const char launch[] = "{\"endpoint\":{\"injection\":\"wire\"},\"dims\":[" RAIL "]}";
    rlt_topology *t = NULL;
    assert_int_equal(rlt_topology_read("f", launch, strlen(launch), NULL, &t, NULL), RLT_ESCHEMA);
}

/* Protocols have names of their own. */
static void protocols(void **state)
{
    (void)state;
    for (uint32_t n = 8; n <= 9; n++) {
        char text[1000];
        size_t at = (size_t)snprintf(text, sizeof text, "{\"endpoint\":{\"protocols\":[");
        for (uint32_t i = 0; i < n; i++)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s{\"name\":\"p%u\"}", i ? "," : "", i);
        snprintf(text + at, sizeof text - at, "]}," RING "}");
        test_import_up_to(n == 8, text, "f:1:139: endpoint.protocols[8]", "at most 8 protocols");
    }
}

/* An id of 200 bytes is read, one of 201 is not. */
static void long_ids(void **state)
{
    (void)state;
    for (int n = 200; n <= 201; n++) {
        char text[500];
        snprintf(text, sizeof text, "{\"nodes\":[{\"id\":\"%0*d\",\"kind\":\"accelerator\"}],\"links\":[]}",
                 n, 0);
        test_import_up_to(n == 200, text, "f:1:17: nodes[0].id", "an id of 1 to 200 bytes");
    }
}

static void one_liner_wrong(const char *text, const char *place, const char *what)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    int rc = rlt_topology_load(text, NULL, &t, &err);
    if (rc >= 0 || !strstr(err.where, place) || !strstr(err.what, what))
        fail_msg("expected %s: %s\ngot %d %s: %s", place, what, rc, err.where, err.what);
    assert_null(t);
}

static void long_one_liners(void **state)
{
    char text[5000] = "ring:1@1GB/s,1us";
    rlt_topology *t;
    (void)state;
    for (int i = 1; i < 8; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "*ring:1@1GB/s,1us");
    assert_int_equal(rlt_topology_load(text, NULL, &t, NULL), 0);
    rlt_topology_free(t);
    snprintf(text + strlen(text), sizeof text - strlen(text), "*ring:1@1GB/s,1us");
    one_liner_wrong(text, "column 137", "more than 8 dimensions");
    one_liner_wrong("ring:4@1GB/s,1us,a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1", "column 50",
                    "at most 8 parameters of a shape");
    snprintf(text, sizeof text, "ring:%0*d@1GB/s,1us", 4097 - 15, 4);
    assert_int_equal(strlen(text), 4097);
    one_liner_wrong(text, "column 4097", "the topology's text is longer than 4096 bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_the_wrong_kind),
        cmocka_unit_test(as_many_as_the_limit),
        cmocka_unit_test(chains),
        cmocka_unit_test(lists_of_sizes),
        cmocka_unit_test(names_of_protocols),
        cmocka_unit_test(protocols),
        cmocka_unit_test(long_ids),
        cmocka_unit_test(long_one_liners),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
