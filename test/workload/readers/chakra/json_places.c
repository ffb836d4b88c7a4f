/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Chakra traces in JSON: what is wrong is named with its line, in both forms; brackets and quotes inside of texts
 * are text; an attribute's description and its values that are no integers are ignored.
 */
#include "test/support/support.h"

#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/text/protowire.h"
#include "workload/readers/chakra/node.h"

static int convert(const char *text, rlt_pb_out *out, rlt_error *err)
{
    *err = (rlt_error){0};
    return rlt__chakra_from_json("f", text, strlen(text), out, err);
}

static void places(void **state)
{
    static const struct {
        const char *text, *where, *what;
    } rows[] = {
        {"{\"version\": \"1\"}\n{\"b\": \"}", "f:2", "an object does not end"},
        {"{\"version\": \"1\"}\n\n{\"b\": \"}\n\\\"}", "f:3", "an object does not end"},
        {"{\"version\": \"1\"}\n{\"b\": \"\\", "f:2", "an object does not end"},
        {"{\"version\": \"1\"}\n\n 7", "f:3", "expected an object"},
        {"{\"version\":\n\"1\"}\n[", "f:3", "expected an object"},
        {"{\"workload_graph\":\n [\n{\"Id\": 1}\n, 7]}", "f:4",
         "expected a node or the end of workload_graph"},
        {"{\"workload_graph\":\n [\n{\"Id\": 1},\n{\"Id\":\n 2}", "f:5",
         "expected a node or the end of workload_graph"},
        {"{\"version\": \"1\"}\n{\"id\": 1}\n\n{\"id\":\n\"x\"}", "f:4", ""},
        {"{\"workload_graph\": [{\"Id\": 1},\n\n{\"Id\": \"x\"}]}", "f:3", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_pb_out out = {0};
        rlt_error err;
        int rc = convert(rows[i].text, &out, &err);
        if (rc >= 0 || strncmp(err.where, rows[i].where, 3) != 0 || !strstr(err.what, rows[i].what))
            fail_msg("row %zu: %d, '%s: %s'", i, rc, err.where, err.what);
        assert_int_equal(out.length, 0);
        assert_null(out.data);
    }
}

/* Counts the messages that a text becomes: its metadata, and its nodes. */
static uint32_t messages(const char *text)
{
    rlt_pb_out out = {0};
    rlt_error err;
    uint32_t n = 0;
    if (convert(text, &out, &err))
        fail_msg("%s: '%s: %s'", text, err.where, err.what);
    rlt_pb all = {out.data, out.data + out.length}, one;
    while (all.at < all.end) {
        assert_int_equal(rlt__pb_piece(&all, &one), 0);
        n++;
    }
    rlt__pb_out_free(&out);
    return n;
}

static void texts(void **state)
{
    (void)state;
    assert_int_equal(messages(""), 0);
    assert_int_equal(messages(" \n"), 0);
    assert_int_equal(messages("{\"version\": \"1\"}"), 1);
    assert_int_equal(messages("{\"version\": \"}{]\\\"{\\\\\"} {\"id\": 1},\r\n\t{\"id\": 2}"), 3);
    assert_int_equal(messages("{\"workload_graph\" : []}"), 1);
    assert_int_equal(messages("{\"x\": 1, \"workload_graph\": [{\"Id\": 1, \"Name\": \"]}\"} {\"Id\": 2}]}"),
                     3);
    assert_int_equal(messages("{\"version\": \"1\"}{\"id\": 1, \"attr\": [{\"name\": \"comm_size\","
                              "\"docString\": [1.5], \"doubleVal\": 2.5, \"floatVal\": 1e9,"
                              "\"bytesVal\": \"x\", \"int64Val\": 7}]}"),
                     2);
}

/* What an attribute says beside integers and texts is as if it were not there. */
static void ignored_values(void **state)
{
    static const char *const said[] = {"\"docString\": \"x\"",
                                       "\"docString\": [1.5]",
                                       "\"floatVal\": 1.5",
                                       "\"floatList\": {\"values\": [1.5]}",
                                       "\"doubleVal\": 1.5",
                                       "\"doubleList\": {\"values\": [2.5]}",
                                       "\"bytesVal\": \"AAA=\"",
                                       "\"bytesList\": {\"values\": [\"AAA=\"]}",
                                       "\"stringList\": {\"values\": [\"x\"]}"};
    static const char before[] = "{\"version\": \"1\"}{\"id\": 1, \"attr\": [{\"name\": \"comm_size\"";
    rlt_pb_out without = {0}, with = {0};
    char text[200];
    rlt_error err;
    (void)state;
    snprintf(text, sizeof text, "%s}]}", before);
    assert_int_equal(convert(text, &without, &err), 0);
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        snprintf(text, sizeof text, "%s, %s}]}", before, said[i]);
        if (convert(text, &with, &err))
            fail_msg("%s: %s", text, err.what);
        if (with.length != without.length || memcmp(with.data, without.data, with.length) != 0)
            fail_msg("%s is not ignored", said[i]);
        rlt__pb_out_free(&with);
    }
    rlt__pb_out_free(&without);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(places), cmocka_unit_test(texts),
                                       cmocka_unit_test(ignored_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
