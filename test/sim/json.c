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
        cmocka_unit_test(typed_members),
        cmocka_unit_test(unknown_keys_get_a_suggestion),
        cmocka_unit_test(children_in_file_order),
        cmocka_unit_test(damaged_texts_never_crash),
        cmocka_unit_test(writer_compact),
        cmocka_unit_test(writer_pretty),
        cmocka_unit_test(writer_output_is_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
