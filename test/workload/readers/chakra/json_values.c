/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of Chakra traces in JSON: numbers with and without quotes, negative ones, lists, bools and texts, in both forms; and what is
 * no integer. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "test/support/traces/chakra.h"
#include "workload/readers/chakra/node.h"

/* The node of a text, which is proto's form or the feeder's. Returns what reading says. */
static int read_text(const char *whole, rlt_chakra_file *f, rlt_chakra_node *n, rlt_error *err)
{
    char path[256];
    *n = (rlt_chakra_node){0};
    *err = (rlt_error){0};
    save("v.json", whole, strlen(whole));
    int rc = rlt__chakra_open(path_of("v.json", path, sizeof path), f, n, err);
    return rc ? rc : rlt__chakra_next(f, n, err);
}

#define PROTO(attr)                                                                                          \
    "{\"version\": \"1\"}\n{\"id\": \"5\", \"type\": \"COMM_COLL_NODE\", \"attr\": [" attr "]}\n"
#define FEEDER(value)    "{\"workload_graph\": [{\"Id\": 5, \"NodeType\": 7, \"comm_size\": " value "}]}"
#define ATTR(key, value) PROTO("{\"name\": \"comm_size\", \"" key "\": " value "}")

static void numbers(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
    } all[] = {
        {ATTR("int64Val", "\"120\""), 120},
        {ATTR("int64Val", "120"), 120},
        {ATTR("int32Val", "-120"), -120},
        {ATTR("sint64Val", "\"-9223372036854775808\""), INT64_MIN},
        {ATTR("uint64Val", "\"18446744073709551615\""), -1},
        {ATTR("fixed64Val", "\"90\""), 90},
        {ATTR("boolVal", "true"), 1},
        {ATTR("boolVal", "false"), 0},
        {FEEDER("120"), 120},
        {FEEDER("-120"), -120},
        {FEEDER("true"), 1},
        {FEEDER("false"), 0},
        {FEEDER("null"), 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rlt_chakra_file f;
        rlt_chakra_node n;
        rlt_error err;
        uint64_t found = 77;
        if (read_text(all[i].text, &f, &n, &err) != 1)
            fail_msg("%zu: %s: %s", i, err.where, err.what);
        assert_int_equal(n.id, 5);
        assert_int_equal(n.type, RLT_CHAKRA_COLL);
        assert_int_equal(rlt__chakra_u64(&n, RLT_CHAKRA_ATTR_COMM_SIZE, UINT64_MAX, &found, &err), 1);
        if ((int64_t)found != all[i].value)
            fail_msg("%zu: %lld", i, (long long)found);
        free(n.deps);
        rlt__chakra_close(&f);
    }
    clean();
}

static void lists(void **state)
{
    static const struct {
        const char *text;
        uint32_t n;
        uint64_t values[4];
    } all[] = {
        {ATTR("int64List", "{\"values\": [\"120\", 30, true, false]}"), 4, {120, 30, 1, 0}},
        {ATTR("boolList", "{\"values\": [true, false, true]}"), 3, {1, 0, 1}},
        {ATTR("uint64List", "{\"values\": []}"), 0, {0}},
        {FEEDER("[120, 30, true, false]"), 4, {120, 30, 1, 0}},
        {FEEDER("[]"), 0, {0}},
        {FEEDER("[null, 5]"), 2, {0, 5}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rlt_chakra_file f;
        rlt_chakra_node n;
        rlt_error err;
        uint64_t found[4] = {0};
        uint32_t count = 9;
        if (read_text(all[i].text, &f, &n, &err) != 1)
            fail_msg("%zu: %s: %s", i, err.where, err.what);
        assert_int_equal(rlt__chakra_integers(&n, RLT_CHAKRA_ATTR_COMM_SIZE, found, 4, &count, &err), 0);
        assert_int_equal(count, all[i].n);
        assert_memory_equal(found, all[i].values, sizeof found);
        free(n.deps);
        rlt__chakra_close(&f);
    }
    clean();
}

static void no_integers(void **state)
{
    static const char *const all[] = {
        ATTR("int64Val", "\"12x\""),
        ATTR("int64Val", "\"\""),
        ATTR("int64Val", "\"-\""),
        ATTR("int64Val", "1.5"),
        ATTR("int64Val", "[1]"),
        ATTR("int64Val", "true"),
        ATTR("int64Val", "null"),
        ATTR("int64Val", "\" 1\""),
        ATTR("int64Val", "\"18446744073709551616\""),
        ATTR("int64Val", "\"-9223372036854775809\""),
        ATTR("int64List", "{\"values\": [1, \"x\"]}"),
        FEEDER("1.5"),
        FEEDER("[1, \"x\"]"),
        "{\"version\": \"1\"}\n{\"id\": [5], \"type\": \"COMP_NODE\"}\n",
        "{\"version\": \"1\"}\n{\"id\": {}, \"type\": \"COMP_NODE\"}\n",
        "{\"version\": \"1\"}\n{\"id\": 5, \"type\": \"COMP_NODE\", \"dataDeps\": [\"x\"]}\n",
        "{\"workload_graph\": [{\"Id\": {}, \"NodeType\": 7}]}",
        "{\"workload_graph\": [{\"Id\": 1, \"NodeType\": 7, \"runtime\": \"x\"}]}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rlt_chakra_file f;
        rlt_chakra_node n;
        rlt_error err;
        int rc = read_text(all[i], &f, &n, &err);
        if (rc != RLT_ESCHEMA || strcmp(err.what, "expected an integer") != 0)
            fail_msg("%zu: %d: %s: %s", i, rc, err.where, err.what);
        free(n.deps);
    }
    clean();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(lists),
        cmocka_unit_test(no_integers),
    };
    return cmocka_run_group_tests_name("chakra_json_values", tests, set_up, tear_down);
}
