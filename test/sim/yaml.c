/* SPDX-License-Identifier: GPL-3.0-or-later */
/* YAML compared with the JSON of the same values; expectations follow the YAML 1.2 specification for the
 * supported part. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/random.h"
#include "sim/text/json.h"
#include "sim/text/yaml.h"

#define N(a) (sizeof(a) / sizeof *(a))

/* Compares two values: same keys in the same order, numbers digit by digit. */
static bool same(rlt_json a, rlt_json b)
{
    char x[64], y[64];
    const char *s = rlt_json_scalar(a, x, sizeof x), *t = rlt_json_scalar(b, y, sizeof y);
    if (rlt_json_is_object(a) != rlt_json_is_object(b) || rlt_json_is_array(a) != rlt_json_is_array(b) ||
        rlt_json_is_number(a) != rlt_json_is_number(b) || rlt_json_is_true(a) != rlt_json_is_true(b) ||
        !s != !t || (s && strcmp(s, t) != 0) || rlt_json_count(a) != rlt_json_count(b))
        return false;
    for (a = rlt_json_first(a), b = rlt_json_first(b); rlt_json_is(a);
         a = rlt_json_next(a), b = rlt_json_next(b))
        if ((rlt_json_key(a) && strcmp(rlt_json_key(a), rlt_json_key(b)) != 0) || !same(a, b))
            return false;
    return true;
}

static void values(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *json;
    } table[] = {
        {"", "null"},
        {"# nothing\n\n", "null"},
        {"---", "null"},
        {"a: 1\nb: two words\nc: 2.50e3\n", "{\"a\":1,\"b\":\"two words\",\"c\":2.50e3}"},
        {"---\n- 1\n- -2\n- x\n", "[1,-2,\"x\"]"},
        {"\xef\xbb\xbf"
         "a: 1",
         "{\"a\":1}"},
        {"a: 1 # one\r\nb: x#y\r\n", "{\"a\":1,\"b\":\"x#y\"}"},
        {"a: 0x1f\nb: 007\nc: 1_000\nd: +4\ne: .5\nf: 1.\ng: .nan\nh: 12:30\n",
         "{\"a\":\"0x1f\",\"b\":\"007\",\"c\":\"1_000\",\"d\":\"+4\",\"e\":\".5\",\"f\":\"1.\",\"g\":\".nan\",\"h\":\"12:30\"}"},
        {"- true\n- False\n- null\n- ~\n- yes\n- 'true'\n- \"1\"\n",
         "[true,false,null,null,\"yes\",\"true\",\"1\"]"},
        {"- 'it''s'\n- \"a\\\"b\\\\\\n\\t\"\n- ''\n- \"# no: comment\"\n",
         "[\"it's\",\"a\\\"b\\\\\\n\\t\",\"\",\"# no: comment\"]"},
        {"a:\n  b:\n    c: 1\n  d: 2\ne: 3\n", "{\"a\":{\"b\":{\"c\":1},\"d\":2},\"e\":3}"},
        {"a:\n- 1\n- 2\nb:\n  - 3\n", "{\"a\":[1,2],\"b\":[3]}"}, /* a list may start at its key's column */
        {"- a: 1\n  b: 2\n-\n  c: 3\n- - 4\n  - 5\n-\n- 6\n", "[{\"a\":1,\"b\":2},{\"c\":3},[4,5],null,6]"},
        {"a:\nb:\n", "{\"a\":null,\"b\":null}"},
        {"a: [1, two, [ ], {}, {x: 1, \"y\":2}]\n", "{\"a\":[1,\"two\",[],{},{\"x\":1,\"y\":2}]}"},
        {"a: [ 1, # one\n\t2\n, 3 ]\nb: {c:\n  4}\n", "{\"a\":[1,2,3],\"b\":{\"c\":4}}"},
        {"a: http://host:80/x\nb: c:d\n\"quoted key\": 1\n",
         "{\"a\":\"http://host:80/x\",\"b\":\"c:d\",\"quoted key\":1}"},
        {"links:\n  - name: n\n    physical: {bandwidth: {choice: g, g: 32}}\n",
         "{\"links\":[{\"name\":\"n\",\"physical\":{\"bandwidth\":{\"choice\":\"g\",\"g\":32}}}]}"},
        {"allreduce,: 300\n", "{\"allreduce,\":300}"},
        {"caf\xc3\xa9: \xe2\x82\xac\n", "{\"caf\xc3\xa9\":\"\xe2\x82\xac\"}"},
        {"a:\n  below\n", "{\"a\":\"below\"}"},
        {"a: one two\n  three\n   four  \nb: 1\r\n 2\r\n", "{\"a\":\"one two three four\",\"b\":\"1 2\"}"},
        {"- a: x\n    y\n  b: z\n", "[{\"a\":\"x y\",\"b\":\"z\"}]"},
    };
    for (size_t i = 0; i < N(table); i++) {
        rlt_json_doc *y = NULL, *j = NULL;
        rlt_error err = {0};
        if (rlt_yaml_parse("f", table[i].yaml, strlen(table[i].yaml), &y, &err))
            fail_msg("%s\n%s: %s", table[i].yaml, err.where, err.what);
        assert_int_equal(rlt_json_parse("f", table[i].json, strlen(table[i].json), &j, &err), 0);
        if (!same(rlt_json_root(y), rlt_json_root(j)))
            fail_msg("not the same: %s\n%s", table[i].yaml, table[i].json);
        rlt_json_free(y);
        rlt_json_free(j);
    }
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *where, *what;
    } table[] = {
        {"word\n", "f:1:5", "':' after a key"},
        {"a: 1\na: 2\n", "f:2:4: a", "twice"},
        {"a: {b: 1, b: 2}\n", "f:1:14: a.b", "twice"},
        {"a: 1\n  b: 2\n", "f:2:3", "indentation of the key"},
        {"a: x\n  y z\n  b: 2\n", "f:3:3", "indentation of the key"},
        {"a: 'x'\n  y\n", "f:2:3", "indentation of the key"},
        {"a:\n    b: 1\n  c: 2\n", "f:3:3", "indentation of the key"},
        {"- 1\n  - 2\n", "f:2:3", "indentation of the '-'"},
        {"a:\n\tb: 1\n", "f:2:1", "tabs"},
        {"  a: 1\nb: 2\n", "f:2:1", "end of the document"},
        {"a: [1, 2\n", "f:2:1", "',' or ']'"},
        {"a: [1, ]\n", "f:1:8", "a word"},
        {"a: {b 1}\n", "f:1:8", "':'"},
        {"a: {b: 1\n", "f:2:1", "',' or '}'"},
        {"a: [1] 2\n", "f:1:8", "end of the line"},
        {"a: b: c\n", "f:1:5", "end of the line"},
        {"a: - 1\n", "f:1:4", "a word"},
        {"a: 'x\n", "f:1:6", "closing quote"},
        {"a: \"x\\q\"\n", "f:1:6", "escapes"},
        {"a: 'x' y\n", "f:1:8", "end of the line"},
        {"a: &x 1\nb: *x\n", "f:1:4", "anchors"},
        {"a: |\n  text\n", "f:1:4", "several lines"},
        {"a: !!int 1\n", "f:1:4", "tags"},
        {"? a\n: 1\n", "f:1:1", "a word"},
        {"a: 1\n---\nb: 2\n", "f:2:4", "':'"},
        {"a: \xff\n", "f:1:4", "UTF-8"},
        {"a: x\x01\n", "f:1:5", "control"},
        {"a: @x\n", "f:1:4", "a word"},
    };
    for (size_t i = 0; i < N(table); i++) {
        rlt_json_doc *doc = NULL;
        rlt_error err = {0};
        int rc = rlt_yaml_parse("f", table[i].text, strlen(table[i].text), &doc, &err);
        if (rc != RLT_EMALFORMED || strcmp(err.where, table[i].where) != 0 ||
            !strstr(err.what, table[i].what))
            fail_msg("%s\nexpected '%s' with '%s', got %d '%s': %s", table[i].text, table[i].where,
                     table[i].what, rc, err.where, err.what);
        assert_null(doc);
    }
}

/* Depth is limited in both styles; a NUL does not end the text. */
static void hostile(void **state)
{
    (void)state;
    static char text[100000];
    rlt_json_doc *doc = NULL;
    rlt_error err = {0};
    memset(text, '[', sizeof text);
    assert_int_equal(rlt_yaml_parse("f", text, sizeof text, &doc, &err), RLT_EMALFORMED);
    assert_non_null(strstr(err.what, "deep"));
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = i % 2 ? ' ' : '-';
    err = (rlt_error){0};
    assert_int_equal(rlt_yaml_parse("f", text, sizeof text, &doc, &err), RLT_EMALFORMED);
    assert_non_null(strstr(err.what, "deep"));
    assert_int_equal(rlt_yaml_parse("f", "a: 1\0b: 2", 9, &doc, NULL), RLT_EMALFORMED);
    assert_int_equal(rlt_yaml_parse("f", "\0", 1, &doc, NULL), RLT_EMALFORMED);
    /* Pieces of YAML in random order are read or refused, and results can be walked. */
    static const char *const pieces[] = {"a",  ": ",   "- ",   "\n",   "  ", "[",  "]", "{",
                                         "}",  ", ",   "'",    "\"",   "#",  "\\", "1", "---",
                                         "\t", "\r\n", "\xc3", "\xa9", "?",  "~"};
    uint32_t read = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        size_t used = 0;
        for (uint32_t k = 0; k < 14; k++) {
            const char *p = pieces[rlt_random_below(11, i, 1, k, N(pieces))];
            memcpy(text + used, p, strlen(p));
            used += strlen(p);
        }
        char *copy = malloc(used); /* exact size, so that the sanitizers see any overrun */
        assert_non_null(copy);
        memcpy(copy, text, used);
        if (rlt_yaml_parse("f", copy, used, &doc, NULL) == 0) {
            assert_true(same(rlt_json_root(doc), rlt_json_root(doc)));
            rlt_json_free(doc);
            read++;
        }
        free(copy);
    }
    assert_in_range(read, 10, 19000);
}

/* The length alone is too much: no document, for either format. */
static void too_long(void **state)
{
    (void)state;
    rlt_json_doc *doc = (rlt_json_doc *)(void *)&doc;
    rlt_error err = {0};
    const size_t most = (size_t)256 << 20;
    assert_int_equal(rlt_json_parse("f", "", most + 1, &doc, &err), RLT_ERANGE);
    assert_null(doc);
    assert_string_equal(err.where, "f");
    assert_string_equal(err.what, "the file is larger than 256 MiB");
    doc = (rlt_json_doc *)(void *)&doc;
    assert_int_equal(rlt_yaml_parse("f", "", most + 1, &doc, NULL), RLT_ERANGE);
    assert_null(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(refused),
        cmocka_unit_test(hostile),
        cmocka_unit_test(too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
