/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The JSON layer: places of errors, exact integers, strictness, the writer. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/text/json.h"

static rlt_json_doc *parse(const char *text)
{
    rlt_json_doc *doc = NULL;
    rlt_error err = {0};
    if (rlt_json_parse("t", text, strlen(text), &doc, &err) != 0)
        fail_msg("%s: %s: %s", text, err.where, err.what);
    return doc;
}

static void malformed_texts_name_line_and_column(void **state)
{
    (void)state;
    static const struct {
        const char *text, *where;
    } table[] = {
        {"", "t:1:1"},
        {"  \n ", "t:2:2"},
        {"{", "t:1:2"},
        {"{\"a\":1,}", "t:1:8"},
        {"{\"a\" 1}", "t:1:6"},
        {"{a:1}", "t:1:2"},
        {"[1,2", "t:1:5"},
        {"[1 2]", "t:1:4"},
        {"[1,\n 2,\n x]", "t:3:2"},
        {"[01]", "t:1:3"},
        {"[1.]", "t:1:4"},
        {"[+1]", "t:1:2"},
        {"[-]", "t:1:3"},
        {"[1e]", "t:1:4"},
        {"[NaN]", "t:1:2"},
        {"nul", "t:1:1"},
        {"[\"a\tb\"]", "t:1:4"},
        {"[\"\\q\"]", "t:1:3"},
        {"[\"\\u12g4\"]", "t:1:3"},
        {"[\"\\u0000\"]", "t:1:9"},
        {"[\"\\ud800\"]", "t:1:9"},
        {"[\"abc", "t:1:6"},
        {"[\"a\xff\"]",
         "t:1:4"}, /* RFC 3629: invalid byte, overlong form, surrogate, truncated, past the end */
        {"[\"a\xc0\xaf\"]", "t:1:4"},
        {"[\"a\xed\xa0\x80\"]", "t:1:4"},
        {"[\"a\xe2\x82\"]", "t:1:4"},
        {"[\"a\xf4\x90\x80\x80\"]", "t:1:4"},
        {"{} {}", "t:1:4"},
        {"{\"a\":1,\n \"b\":2,\n \"a\":3}", "t:3:6: a"},
        {"{\"x\":[{\"a\":1},{\"b\":2, \"\\u0062\":3}]}", "t:1:32: x[1].b"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        rlt_json_doc *doc;
        rlt_error err = {0};
        int rc = rlt_json_parse("t", table[i].text, strlen(table[i].text), &doc, &err);
        if (rc != RLT_EMALFORMED || strcmp(err.where, table[i].where) != 0 || !err.what[0])
            fail_msg("'%s': expected %s, got %d %s: %s", table[i].text, table[i].where, rc, err.where,
                     err.what);
        assert_null(doc);
    }
}

static void a_zero_byte_ends_no_document(void **state)
{
    (void)state;
    rlt_json_doc *doc;
    assert_int_equal(rlt_json_parse("t", "{}\0{}", 5, &doc, NULL), RLT_EMALFORMED);
    assert_int_equal(rlt_json_parse("t", "[\"a\0b\"]", 7, &doc, NULL), RLT_EMALFORMED);
}

static void depth_is_bounded(void **state)
{
    (void)state;
    char text[200];
    for (int depth = 63; depth <= 66; depth++) {
        rlt_json_doc *doc;
        rlt_error err = {0};
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        int rc = rlt_json_parse("t", text, (size_t)depth * 2, &doc, &err);
        assert_int_equal(rc, depth <= 64 ? 0 : RLT_EMALFORMED);
        if (rc < 0)
            assert_string_equal(err.where, "t:1:65");
        rlt_json_free(doc);
    }
}

static void values_know_their_places(void **state)
{
    (void)state;
    char where[256];
    rlt_json_doc *doc = parse("\xef\xbb\xbf{\n  \"dims\": [ {\"a\": [1, \"},{\", 3]},\n"
                              "    {\"k\\\"]\": { }, \"b\" :\t17} ]\n}");
    rlt_json dims = rlt_json_get(rlt_json_root(doc), "dims");
    rlt_json_where(rlt_json_at(rlt_json_get(rlt_json_at(dims, 0), "a"), 2), where, sizeof where);
    assert_string_equal(where, "t:2:30: dims[0].a[2]");
    rlt_json_where(rlt_json_get(rlt_json_at(dims, 1), "b"), where, sizeof where);
    assert_string_equal(where, "t:3:25: dims[1].b");
    rlt_json_where(dims, where, sizeof where);
    assert_string_equal(where, "t:2:11: dims");
    rlt_json_where(rlt_json_root(doc), where, 6);
    assert_int_equal(strlen(where), 5);
    rlt_error err = {0};
    assert_int_equal(rlt_json_fail(rlt_json_at(dims, 1), RLT_ESCHEMA, &err, "n %d", 7), RLT_ESCHEMA);
    assert_string_equal(err.where, "t:3:5: dims[1]");
    assert_string_equal(err.what, "n 7");
    rlt_json_free(doc);
}

static void integers_are_exact(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t max, value;
        int rc;
    } table[] = {
        {"9007199254740993", UINT64_MAX, 9007199254740993u, 0},
        {"18446744073709551615", UINT64_MAX, UINT64_MAX, 0},
        {"18446744073709551616", UINT64_MAX, 0, RLT_ERANGE},
        {"99999999999999999999999999999999999999999", UINT64_MAX, 0, RLT_ERANGE},
        {"0", 0, 0, 0},
        {"1", 0, 0, RLT_ERANGE},
        {"8", 8, 8, 0},
        {"9", 8, 0, RLT_ERANGE},
        {"7", 5, 0, RLT_ERANGE},
        {"15", 15, 15, 0},
        {"16", 15, 0, RLT_ERANGE},
        {"-1", 15, 0, RLT_ERANGE},
        {"1.0", 15, 0, RLT_ESCHEMA},
        {"1e1", 15, 0, RLT_ESCHEMA},
        {"\"1\"", 15, 0, RLT_ESCHEMA},
        {"true", 15, 0, RLT_ESCHEMA},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        rlt_json_doc *doc = parse(table[i].text);
        uint64_t n = 0;
        int rc = rlt_json_u64(rlt_json_root(doc), table[i].max, &n, NULL);
        if (rc != table[i].rc || n != table[i].value)
            fail_msg("%s: got %d, %llu", table[i].text, rc, (unsigned long long)n);
        rlt_json_free(doc);
    }
}

/* Texts that are taken (NULL), and the words and column of those that are not. */
static void the_grammar_from_both_sides(void **state)
{
    (void)state;
    static const struct {
        const char *text, *what;
        unsigned column;
    } table[] = {
        {"-0", NULL, 0},
        {"0.5", NULL, 0},
        {"10", NULL, 0},
        {"-9.09e+10", NULL, 0},
        {"1E5", NULL, 0},
        {"1e-05", NULL, 0},
        {"0e0", NULL, 0},
        {"-", "expected a digit", 2},
        {"-a", "expected a digit", 2},
        {"-/", "expected a digit", 2},
        {"-:", "expected a digit", 2},
        {"00", "a number with a leading zero", 2},
        {"-01", "a number with a leading zero", 3},
        {"1.", "expected a digit", 3},
        {"1.e5", "expected a digit", 3},
        {"1e", "expected a digit", 3},
        {"1e+", "expected a digit", 4},
        {"1e+-1", "expected a digit", 4},
        {"1 2", "text after the end of the document", 3},
        {".5", "expected a value", 1},
        {"true", NULL, 0},
        {"false", NULL, 0},
        {" null\r\n\t ", NULL, 0},
        {"tru", "expected a value", 1},
        {"nulL", "expected a value", 1},
        {"truex", "text after the end of the document", 5},
        {"\v1", "expected a value", 1},
        {"", "the text ends where a value is expected", 1},
        {"[]", NULL, 0},
        {"[ ]", NULL, 0},
        {"{}", NULL, 0},
        {"{ }", NULL, 0},
        {"[1 , 2]", NULL, 0},
        {"{\"a\" : 1 , \"b\" : 2 }", NULL, 0},
        {"[,1]", "expected a value", 2},
        {"[1,]", "expected a value", 4},
        {"[1", "expected ',' or ']' in an array", 3},
        {"[1}", "expected ',' or ']' in an array", 3},
        {"[1,", "the text ends where a value is expected", 4},
        {"[", "the text ends where a value is expected", 2},
        {"{\"a\":1]", "expected ',' or '}' in an object", 7},
        {"{\"a\":1", "expected ',' or '}' in an object", 7},
        {"{\"a\":1,}", "expected a key in double quotes", 8},
        {"{,}", "expected a key in double quotes", 2},
        {"{", "expected a key in double quotes", 2},
        {"{1:2}", "expected a key in double quotes", 2},
        {"{\"a\"}", "expected ':' after a key", 5},
        {"{\"a\"", "expected ':' after a key", 5},
        {"{\"a\":", "the text ends where a value is expected", 6},
        {"{\"a\":}", "expected a value", 6},
        {"{\"a", "the text ends inside a string", 4},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", NULL, 0},
        {"\"\\a\"", "unknown escape in a string", 2},
        {"\"\\", "the text ends inside a string", 2},
        {"\"\x1f\"", "a control character in a string", 2},
        {"\"\x20\x7f\"", NULL, 0},
        {"\"\\u0019\\uABCD\\uabef\\u0001\"", NULL, 0},
        {"\"\\u004\"", "expected four hexadecimal digits after \\u", 2},
        {"\"\\u004", "expected four hexadecimal digits after \\u", 2},
        {"\"\\u00/0\"", "expected four hexadecimal digits after \\u", 2},
        {"\"\\u00:0\"", "expected four hexadecimal digits after \\u", 2},
        {"\"\\u00@0\"", "expected four hexadecimal digits after \\u", 2},
        {"\"\\u00g0\"", "expected four hexadecimal digits after \\u", 2},
        {"\"\\u00G0\"", "expected four hexadecimal digits after \\u", 2},
        {"\"\\u00\x10\x10\"", "expected four hexadecimal digits after \\u", 2},
        {"\"\\u0000\"", "a zero character in a string", 8},
        {"\"\\ud7ff\\ue000\"", NULL, 0},
        {"\"\\ud800\\udc00\\udbff\\udfff\"", NULL, 0},
        {"\"\\udc00\"", "an unpaired surrogate in a string", 8},
        {"\"\\udfff\"", "an unpaired surrogate in a string", 8},
        {"\"\\ud800\"", "an unpaired surrogate in a string", 8},
        {"\"\\ud800x\"", "an unpaired surrogate in a string", 8},
        {"\"\\ud800\\n00000\"", "an unpaired surrogate in a string", 8},
        {"\"\\ud800\\ud800\"", "an unpaired surrogate in a string", 14},
        {"\"\\udbff\\ue000\"", "an unpaired surrogate in a string", 14},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        rlt_json_doc *doc;
        rlt_error err = {0};
        char where[32] = "";
        int rc = rlt_json_parse("t", table[i].text, strlen(table[i].text), &doc, &err);
        if (table[i].what)
            snprintf(where, sizeof where, "t:1:%u", table[i].column);
        if (rc != (table[i].what ? RLT_EMALFORMED : 0) || strcmp(err.where, where) != 0 ||
            strcmp(err.what, table[i].what ? table[i].what : "") != 0)
            fail_msg("'%s': %d %s: %s", table[i].text, rc, err.where, err.what);
        rlt_json_free(doc);
    }
    rlt_json_doc *doc;
    assert_int_equal(rlt_json_parse("t", "", ((size_t)256 << 20) + 1, &doc, NULL), RLT_ERANGE);
}

/* RFC 3629, from both sides of each bound, in strings and by itself. */
static void characters_of_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t length; /* 0: none */
    } table[] = {
        {"a", 1},
        {"\x7f", 1},
        {"\x80", 0},
        {"\xc1\xbf", 0},
        {"\xc2\x7f", 0},
        {"\xc2\x80", 2},
        {"\xdf\xbf", 2},
        {"\xc2\xc0", 0},
        {"\xe0\x9f\xbf", 0},
        {"\xe0\xa0\x80", 3},
        {"\xe1\x80\x80", 3},
        {"\xe1\x80\x7f", 0},
        {"\xe1\x80\xc0", 0},
        {"\xec\xbf\xbf", 3},
        {"\xed\x9f\xbf", 3},
        {"\xed\xa0\x80", 0},
        {"\xee\x80\x80", 3},
        {"\xef\xbf\xbf", 3},
        {"\xf0\x8f\xbf\xbf", 0},
        {"\xf0\x90\x80\x80", 4},
        {"\xf1\x80\x80\x80", 4},
        {"\xf1\x80\x80\x7f", 0},
        {"\xf1\x80\xc0\x80", 0},
        {"\xf4\x8f\xbf\xbf", 4},
        {"\xf4\x90\x80\x80", 0},
        {"\xf5\x80\x80\x80", 0},
        {"\xff", 0},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        rlt_json_doc *doc;
        rlt_error err = {0};
        char text[16];
        snprintf(text, sizeof text, "\"%s\"", table[i].text);
        assert_int_equal(rlt_utf8_length(table[i].text), table[i].length);
        assert_int_equal(rlt_json_parse("t", text, strlen(text), &doc, &err),
                         table[i].length ? 0 : RLT_EMALFORMED);
        assert_string_equal(err.what, table[i].length ? "" : "a string that is not UTF-8");
        rlt_json_free(doc);
    }
    /* The text ends in the middle of a character. */
    rlt_json_doc *doc;
    assert_int_equal(rlt_json_parse("t", "\"\xf1\x80\x80\x80", 4, &doc, NULL), RLT_EMALFORMED);
}

/* A key is suggested if at most half its letters have to be changed, inserted or deleted. */
static void nearest_keys(void **state)
{
    (void)state;
    static const struct {
        const char *key, *suggests;
    } table[] = {
        {"abcx", "abcd"},
        {"xabcd", "abcd"},
        {"bcd", "abcd"},
        {"axcy", "abcd"},
        {"abcdxy", "abcd"},
        {"ab", "abcd"},
        {"xabc", "abcd"},
        {"axyz", NULL},
        {"abcdxyz", NULL},
        {"a", NULL},
        {"xxabc", NULL},
        {"xxabcd", "abcd"},
        {"bacd", "abcd"},
        {"dcba", NULL},
        {"cd", "abcd"},
        {"d", NULL},
        {"longwrd", "longword"},
        {"lngwrd", "longword"},
        {"lonkwurt", "longword"},
        {"wordlong", NULL},
        {"longwordlong", "longword"},
        {"longwordlongs", NULL},
    };
    static const char *const keys[] = {"abcd", "longword", NULL};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char text[64], what[128];
        rlt_error err = {0};
        snprintf(text, sizeof text, "{\"%s\":1}", table[i].key);
        if (table[i].suggests)
            snprintf(what, sizeof what, "unknown key '%s', did you mean '%s'?", table[i].key,
                     table[i].suggests);
        else
            snprintf(what, sizeof what, "unknown key '%s', expected one of: abcd, longword", table[i].key);
        rlt_json_doc *doc = parse(text);
        assert_int_equal(rlt_json_only(rlt_json_root(doc), keys, &err), RLT_ESCHEMA);
        assert_string_equal(err.what, what);
        rlt_json_free(doc);
    }
    /* Of two keys as near, the first; a comment is no key; no keys at all. */
    static const char *const alike[] = {"abce", "abcd", NULL}, *const none[] = {NULL};
    rlt_error err = {0};
    rlt_json_doc *doc = parse("{\"_x\":1,\"abcf\":2}");
    assert_int_equal(rlt_json_only(rlt_json_root(doc), alike, &err), RLT_ESCHEMA);
    assert_string_equal(err.what, "unknown key 'abcf', did you mean 'abce'?");
    err = (rlt_error){0};
    assert_int_equal(rlt_json_only(rlt_json_root(doc), none, &err), RLT_ESCHEMA);
    assert_string_equal(err.what, "unknown key 'abcf', expected one of: ");
    rlt_json_free(doc);
}

static void messages_of_members(void **state)
{
    (void)state;
    rlt_json_doc *doc =
        parse("{\"n\":16,\"f\":1.5,\"m\":-1,\"s\":\"text\",\"e\":\"\",\"c\":\"a\\nb\",\"b\":false,"
              "\"q\":\"3TFLOPS\",\"l\":[]}");
    rlt_json root = rlt_json_root(doc);
    uint64_t u = 7;
    double d = 7;
    bool b = true;
    char text[6];
    const char *string;
#define EXPECT(call, code, message)                                                                          \
    do {                                                                                                     \
        rlt_error err = {0};                                                                                 \
        assert_int_equal(call, code);                                                                        \
        assert_string_equal(err.what, message);                                                              \
    } while (0)
    EXPECT(rlt_json_get_u64(root, "n", true, 15, &u, &err), RLT_ERANGE,
           "expected a number from 0 to 15, got 16");
    EXPECT(rlt_json_get_u64(root, "m", true, 15, &u, &err), RLT_ERANGE,
           "expected a number from 0 to 15, got -1");
    EXPECT(rlt_json_get_u64(root, "f", true, 15, &u, &err), RLT_ESCHEMA, "expected a whole number, got 1.5");
    EXPECT(rlt_json_get_u64(root, "s", true, 15, &u, &err), RLT_ESCHEMA, "expected a whole number");
    EXPECT(rlt_json_get_u64(root, "x", true, 15, &u, &err), RLT_ESCHEMA, "missing 'x'");
    assert_int_equal(u, 7);
    EXPECT(rlt_json_get_u64(root, "n", true, 16, &u, &err), 0, "");
    assert_int_equal(u, 16);
    EXPECT(rlt_json_get_string(root, "n", true, &string, &err), RLT_ESCHEMA, "expected a string");
    EXPECT(rlt_json_get_double(root, "s", true, &d, &err), RLT_ESCHEMA, "expected a number");
    EXPECT(rlt_json_get_bool(root, "s", true, &b, &err), RLT_ESCHEMA, "expected true or false");
    EXPECT(rlt_json_get_bool(root, "b", true, &b, &err), 0, "");
    assert_false(b);
    EXPECT(rlt_json_get_flops(root, "l", true, &u, &err), RLT_ESCHEMA,
           "expected a string with a number and a unit");
    EXPECT(rlt_json_get_duration(root, "b", true, (rlt_time *)&u, &err), RLT_ESCHEMA,
           "expected a string with a number and a unit");
    EXPECT(rlt_json_get_flops(root, "q", true, &u, &err), 0, "");
    assert_int_equal(u, 3000000000000u);
    EXPECT(rlt_json_get_flops(root, "x", false, &u, &err), 0, "");
    EXPECT(rlt_json_get_text(root, "s", true, text, 5, &err), 0, "");
    assert_string_equal(text, "text");
    EXPECT(rlt_json_get_text(root, "s", true, text, 4, &err), RLT_ERANGE, "expected a text of 1 to 3 bytes");
    EXPECT(rlt_json_get_text(root, "e", true, text, 4, &err), RLT_ERANGE, "expected a text of 1 to 3 bytes");
    EXPECT(rlt_json_get_text(root, "c", true, text, 4, &err), 0, "");
    assert_string_equal(text, "a?b");
    EXPECT(rlt_json_get_text(root, "x", false, text, 4, &err), 0, "");
    EXPECT(rlt_json_get_text(root, "x", true, text, 4, &err), RLT_ESCHEMA, "missing 'x'");
    assert_string_equal(text, "a?b");
    EXPECT(rlt_json_get_within(root, "f", true, (rlt_json_bounds){1.5, 2}, &d, &err), 0, "");
    assert_true(d > 1.4 && d < 1.6);
    EXPECT(rlt_json_get_within(root, "f", true, (rlt_json_bounds){1, 1.5}, &d, &err), 0, "");
    EXPECT(rlt_json_get_within(root, "f", true, (rlt_json_bounds){1, 1.25}, &d, &err), RLT_ERANGE,
           "expected a number from 1 to 1.25");
    EXPECT(rlt_json_get_within(root, "f", true, (rlt_json_bounds){1.75, 2}, &d, &err), RLT_ERANGE,
           "expected a number from 1.75 to 2");
#undef EXPECT
    rlt_json_free(doc);
}

/* The second of two equal keys is named; of several, the first in the text. */
static void keys_given_twice(void **state)
{
    (void)state;
    static const struct {
        const char *text, *where, *what;
    } table[] = {
        {"{\"b\":1,\"a\":2,\"a\":3,\"b\":4}", "t:1:18: a", "the key 'a' is given twice"},
        {"{\"a\":1,\"b\":2,\"a\":3,\"b\":4,\"a\":5}", "t:1:18: a", "the key 'a' is given twice"},
        {"[[1],{\"x\":{},\"y\":{\"k\":1,\"k\":2}}]", "t:1:29: [1].y.k", "the key 'k' is given twice"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        rlt_json_doc *doc;
        rlt_error err = {0};
        assert_int_equal(rlt_json_parse("t", table[i].text, strlen(table[i].text), &doc, &err),
                         RLT_EMALFORMED);
        assert_string_equal(err.where, table[i].where);
        assert_string_equal(err.what, table[i].what);
    }
}

/* Where values begin and end, and their places in buffers of every size. */
static void extents_and_short_places(void **state)
{
    (void)state;
    static const char text[] = " {\"k\\u0007\": [10, {\"a\":\"x y\"} ] }";
    static const char whole[] = "t:1:24: k?[1].a";
    rlt_json_doc *doc = parse(text);
    rlt_json list = rlt_json_first(rlt_json_root(doc)), object = rlt_json_at(list, 1),
             string = rlt_json_get(object, "a");
    size_t begin, end;
    char where[64];
    rlt_json_extent(list, &begin, &end);
    assert_memory_equal(text + begin, "[10, {\"a\":\"x y\"} ]", end - begin);
    assert_int_equal(end - begin, 18);
    rlt_json_extent(rlt_json_first(list), &begin, &end);
    assert_int_equal(end - begin, 2);
    rlt_json_extent(string, &begin, &end);
    assert_memory_equal(text + begin, "\"x y\"", 5);
    assert_int_equal(end - begin, 5);
    rlt_json_extent(rlt_json_get(object, "b"), &begin, &end);
    assert_true(begin == 0 && end == 0);
    for (size_t size = 1; size <= sizeof whole; size++) {
        memset(where, '#', sizeof where);
        rlt_json_where(string, where, size);
        assert_true(strlen(where) < size && where[size] == '#');
        /* ": " stands only if there is room for more. */
        if (size <= 7 || size >= 10)
            assert_memory_equal(where, whole, size - 1);
    }
    rlt_json_where((rlt_json){NULL, NULL}, where, sizeof where);
    assert_string_equal(where, "");
    rlt_json_free(doc);
}

static void typed_members(void **state)
{
    (void)state;
    rlt_json_doc *doc =
        parse("{\"s\":\"x\",\"d\":-2.5,\"b\":true,\"r\":\"400Gbps\",\"t\":\"1.5us\",\"z\":\"64KiB\",\n"
              "\"n\":null,\"bare\":50,\"zero\":0,\"neg\":\"-5ns\",\"big\":1e999}");
    rlt_json root = rlt_json_root(doc);
    const char *s = NULL;
    double d = 0;
    bool b = false;
    uint64_t u = 7;
    rlt_time t = 0;
    assert_int_equal(rlt_json_get_string(root, "s", true, &s, NULL), 0);
    assert_string_equal(s, "x");
    assert_int_equal(rlt_json_get_double(root, "d", true, &d, NULL), 0);
    assert_true(d == -2.5);
    assert_int_equal(rlt_json_get_double(root, "big", true, &d, NULL), RLT_ERANGE);
    assert_int_equal(rlt_json_get_bool(root, "b", true, &b, NULL), 0);
    assert_true(b);
    assert_int_equal(rlt_json_get_bool(root, "d", true, &b, NULL), RLT_ESCHEMA);
    assert_int_equal(rlt_json_get_rate(root, "r", true, &u, NULL), 0);
    assert_int_equal(u, 50000000000u);
    assert_int_equal(rlt_json_get_duration(root, "t", true, &t, NULL), 0);
    assert_int_equal(t, 1500000);
    assert_int_equal(rlt_json_get_size(root, "z", true, &u, NULL), 0);
    assert_int_equal(u, 65536);
    assert_int_equal(rlt_json_get_duration(root, "zero", true, &t, NULL), 0);
    assert_int_equal(t, 0);

    rlt_error err = {0};
    assert_true(rlt_json_get_rate(root, "bare", true, &u, &err) < 0);
    assert_string_equal(err.where, "t:2:17: bare");
    err = (rlt_error){0};
    assert_true(rlt_json_get_duration(root, "neg", true, &t, &err) < 0);
    assert_string_equal(err.where, "t:2:35: neg");
    err = (rlt_error){0};
    assert_int_equal(rlt_json_get_string(root, "n", false, &s, &err), RLT_ESCHEMA);
    assert_string_equal(err.where, "t:2:5: n");
    err = (rlt_error){0};
    assert_int_equal(rlt_json_get_u64(root, "gone", true, 9, &u, &err), RLT_ESCHEMA);
    assert_string_equal(err.where, "t:1:1");
    assert_non_null(strstr(err.what, "'gone'"));
    assert_int_equal(rlt_json_get_u64(root, "gone", false, 9, &u, NULL), 0);
    assert_int_equal(u, 65536);
    rlt_json_free(doc);
}

static void unknown_keys_get_a_suggestion(void **state)
{
    (void)state;
    static const char *const keys[] = {"bandwidth", "latency", "size", NULL};
    rlt_json_doc *doc = parse("{\"_note\":1,\"size\":2,\n \"bandwith\":3}");
    rlt_error err = {0};
    assert_int_equal(rlt_json_only(rlt_json_root(doc), keys, &err), RLT_ESCHEMA);
    assert_string_equal(err.where, "t:2:13: bandwith");
    assert_non_null(strstr(err.what, "did you mean 'bandwidth'?"));
    rlt_json_free(doc);
    doc = parse("{\"colour\":3}");
    err = (rlt_error){0};
    assert_int_equal(rlt_json_only(rlt_json_root(doc), keys, &err), RLT_ESCHEMA);
    assert_non_null(strstr(err.what, "bandwidth, latency, size"));
    assert_null(strstr(err.what, "did you mean"));
    rlt_json_free(doc);
    doc = parse("[]");
    assert_int_equal(rlt_json_only(rlt_json_root(doc), keys, NULL), RLT_ESCHEMA);
    rlt_json_free(doc);
}

static void children_in_file_order(void **state)
{
    (void)state;
    rlt_json_doc *doc = parse("{\"z\":1,\"a\":2,\"Z\":3}");
    rlt_json root = rlt_json_root(doc), m = rlt_json_first(root);
    assert_int_equal(rlt_json_count(root), 3);
    assert_string_equal(rlt_json_key(m), "z");
    assert_string_equal(rlt_json_key(rlt_json_next(m)), "a");
    assert_string_equal(rlt_json_key(rlt_json_at(root, 2)), "Z");
    assert_false(rlt_json_is(rlt_json_at(root, 3)));
    assert_false(rlt_json_is(rlt_json_get(root, "A")));
    assert_false(rlt_json_is(rlt_json_get(m, "z")));
    rlt_json_free(doc);
}

/* Every prefix and every text with one flipped bit is accepted or refused; the sanitizers watch. */
static void damaged_texts_never_crash(void **state)
{
    (void)state;
    static const char sample[] = "{\"name\":\"f\\u00e9\\ud83d\\ude00\\n\",\"a\":[1,-2.5e3,{\"b\":[true,false,"
                                 "null,[]]},{}],\"c\":\"\\\\\\\"\"}";
    size_t n = sizeof sample - 1, accepted = 0;
    for (size_t cut = 0; cut < n; cut++) {
        rlt_json_doc *doc;
        rlt_error err = {0};
        char *text = malloc(cut + 1);
        assert_non_null(text);
        memcpy(text, sample, cut);
        assert_int_equal(rlt_json_parse("t", text, cut, &doc, &err), RLT_EMALFORMED);
        free(text);
    }
    for (size_t bit = 0; bit < n * 8; bit++) {
        rlt_json_doc *doc;
        rlt_error err = {0};
        char *text = malloc(n);
        assert_non_null(text);
        memcpy(text, sample, n);
        text[bit / 8] = (char)(text[bit / 8] ^ (1 << bit % 8));
        int rc = rlt_json_parse("t", text, n, &doc, &err);
        assert_true(rc == 0 || rc == RLT_EMALFORMED);
        accepted += rc == 0;
        if (rc == 0) {
            char where[64];
            rlt_json_where(rlt_json_at(rlt_json_root(doc), 2), where, sizeof where);
        }
        rlt_json_free(doc);
        free(text);
    }
    assert_true(accepted > 0 && accepted < n * 8);
}

static void expect_text(rlt_jw *w, const char *expected)
{
    size_t length;
    char *text = rlt_jw_finish(w, &length);
    assert_non_null(text);
    assert_string_equal(text, expected);
    assert_int_equal(length, strlen(expected));
    free(text);
}

static void writer_compact(void **state)
{
    (void)state;
    rlt_jw w;
    rlt_jw_init(&w, false);
    rlt_jw_object(&w, NULL);
    rlt_jw_string(&w, "s", "a\"b\\c\n\x01\xc3\xa9\xff");
    rlt_jw_i64(&w, "i", INT64_MIN);
    rlt_jw_u64(&w, "u", UINT64_MAX);
    rlt_jw_double(&w, "d", 2.5, 3);
    rlt_jw_double(&w, "zero", -0.0001, 2);
    rlt_jw_double(&w, "nan", (double)NAN, 2);
    rlt_jw_array(&w, "l");
    rlt_jw_bool(&w, NULL, true);
    rlt_jw_null(&w, NULL);
    rlt_jw_object(&w, NULL);
    rlt_jw_end_object(&w);
    rlt_jw_end_array(&w);
    rlt_jw_raw(&w, "r", "[1]");
    rlt_jw_end_object(&w);
    expect_text(
        &w,
        "{\"s\":\"a\\\"b\\\\c\\n\\u0001\xc3\xa9\xef\xbf\xbd\",\"i\":-9223372036854775808,"
        "\"u\":18446744073709551615,\"d\":2.500,\"zero\":0.00,\"nan\":null,\"l\":[true,null,{}],\"r\":[1]}");
}

static void writer_pretty(void **state)
{
    (void)state;
    rlt_jw w;
    rlt_jw_init(&w, true);
    rlt_jw_object(&w, NULL);
    rlt_jw_i64(&w, "a", 1);
    rlt_jw_array(&w, "n");
    rlt_jw_i64(&w, NULL, 1);
    rlt_jw_i64(&w, NULL, 2);
    rlt_jw_end_array(&w);
    rlt_jw_array(&w, "o");
    rlt_jw_object(&w, NULL);
    rlt_jw_i64(&w, "x", 1);
    rlt_jw_i64(&w, "y", 2);
    rlt_jw_end_object(&w);
    rlt_jw_end_array(&w);
    rlt_jw_end_object(&w);
    expect_text(&w, "{\n  \"a\": 1,\n  \"n\": [1, 2],\n  \"o\": [\n    {\"x\": 1, \"y\": 2}\n  ]\n}\n");
}

/* Numbers with so many digits or decimals; what is no number is null. */
static void writer_numbers(void **state)
{
    (void)state;
    rlt_jw w;
    rlt_jw_init(&w, false);
    rlt_jw_array(&w, NULL);
    rlt_jw_digits(&w, NULL, 1.5e-6, 2);
    rlt_jw_digits(&w, NULL, 1234567, 3);
    rlt_jw_digits(&w, NULL, 2, 0);
    rlt_jw_digits(&w, NULL, 0.1, 18);
    rlt_jw_digits(&w, NULL, -0.0, 3);
    rlt_jw_digits(&w, NULL, -2.5, 3);
    rlt_jw_digits(&w, NULL, (double)INFINITY, 3);
    rlt_jw_double(&w, NULL, 2.75, -1);
    rlt_jw_double(&w, NULL, 0.5, 18);
    rlt_jw_double(&w, NULL, -0.04, 1);
    rlt_jw_double(&w, NULL, -0.06, 1);
    rlt_jw_double(&w, NULL, 12, 0);
    rlt_jw_string(&w, NULL, "\t\x1f\x20\x7f~");
    rlt_jw_bool(&w, NULL, false);
    rlt_jw_end_array(&w);
    expect_text(&w, "[1.5e-06,1.23e+06,2,0.10000000000000001,0,-2.5,null,3,0.50000000000000000,0.0,-0.1,12,"
                    "\"\\t\\u001f \\u007f~\",false]");
}

/* Two levels have lines of their own, if they hold anything. */
static void writer_lines(void **state)
{
    (void)state;
    rlt_jw w;
    rlt_jw_init(&w, true);
    rlt_jw_array(&w, NULL);
    rlt_jw_end_array(&w);
    expect_text(&w, "[]\n");
    rlt_jw_array(&w, NULL);
    rlt_jw_i64(&w, NULL, 1);
    rlt_jw_i64(&w, NULL, -2);
    rlt_jw_end_array(&w);
    expect_text(&w, "[1, -2]\n");
    rlt_jw_array(&w, NULL);
    rlt_jw_array(&w, NULL);
    rlt_jw_object(&w, NULL);
    rlt_jw_object(&w, "a");
    rlt_jw_u64(&w, "b", 1);
    rlt_jw_end_object(&w);
    rlt_jw_end_object(&w);
    rlt_jw_end_array(&w);
    rlt_jw_object(&w, NULL);
    rlt_jw_end_object(&w);
    rlt_jw_end_array(&w);
    expect_text(&w, "[\n  [\n    {\"a\": {\"b\": 1}}\n  ],\n  {}\n]\n");
    assert_null(rlt_jw_finish(&w, NULL));
}

/* A text of all lengths about the sizes of its memory. */
static void writer_grows(void **state)
{
    (void)state;
    static char text[1200];
    for (size_t n = 0; n < sizeof text - 1; n++) {
        rlt_jw w;
        size_t length;
        memset(text, 'x', n);
        rlt_jw_init(&w, false);
        rlt_jw_raw(&w, NULL, text);
        char *all = rlt_jw_finish(&w, &length);
        assert_int_equal(length, n);
        if (n)
            assert_string_equal(all, text);
        free(all);
    }
}

/* A string of all bytes that a C string can hold is written and read back. */
static void writer_output_is_valid(void **state)
{
    (void)state;
    char all[256];
    for (int i = 0; i < 255; i++)
        all[i] = (char)(i + 1);
    all[255] = 0;
    rlt_jw w;
    rlt_jw_init(&w, false);
    rlt_jw_array(&w, NULL);
    rlt_jw_string(&w, NULL, all);
    rlt_jw_string(&w, NULL, "\xed\xa0\x80\xe2\x82"); /* a surrogate; a truncated sequence */
    rlt_jw_string(&w, NULL, NULL);
    rlt_jw_end_array(&w);
    char *text = rlt_jw_finish(&w, NULL);
    assert_non_null(text);
    rlt_json_doc *doc = parse(text);
    const char *back = rlt_json_string(rlt_json_at(rlt_json_root(doc), 0));
    assert_int_equal(memcmp(back, all, 127), 0);
    assert_string_equal(back + 127, back + strlen(back) - 128 * 3); /* one U+FFFD for each of 0x80..0xff */
    assert_string_equal(rlt_json_string(rlt_json_at(rlt_json_root(doc), 1)),
                        "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    rlt_json_free(doc);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_texts_name_line_and_column),
        cmocka_unit_test(a_zero_byte_ends_no_document),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(values_know_their_places),
        cmocka_unit_test(integers_are_exact),
        cmocka_unit_test(the_grammar_from_both_sides),
        cmocka_unit_test(characters_of_utf8),
        cmocka_unit_test(nearest_keys),
        cmocka_unit_test(messages_of_members),
        cmocka_unit_test(keys_given_twice),
        cmocka_unit_test(extents_and_short_places),
        cmocka_unit_test(typed_members),
        cmocka_unit_test(unknown_keys_get_a_suggestion),
        cmocka_unit_test(children_in_file_order),
        cmocka_unit_test(damaged_texts_never_crash),
        cmocka_unit_test(writer_compact),
        cmocka_unit_test(writer_pretty),
        cmocka_unit_test(writer_numbers),
        cmocka_unit_test(writer_lines),
        cmocka_unit_test(writer_grows),
        cmocka_unit_test(writer_output_is_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
