/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The streaming JSON reader: its pieces, its refusals with their places, and its limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/text/json_scan.h"
#include "sim/text/json_stream.h"

static char path[64];

static void write_text(const char *text, size_t n, bool compressed)
{
    if (compressed) {
        gzFile f = gzopen(path, "wb");
        assert_non_null(f);
        assert_int_equal(gzwrite(f, text, (unsigned)n), n);
        assert_int_equal(gzclose(f), Z_OK);
    } else {
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        assert_int_equal(fwrite(text, 1, n, f), n);
        fclose(f);
    }
}

/* Reads a whole document; writes its pieces as "key:root type,..." to out. Returns the last code. */
static int read_all(const char *text, bool compressed, const char *const *members, char *out, size_t size,
                    rlt_error *err)
{
    rlt_jstream *s;
    rlt_jpiece p;
    write_text(text, strlen(text), compressed);
    int rc = rlt_jstream_open(path, members, &s, err);
    assert_int_equal(rc, 0);
    out[0] = '\0';
    while ((rc = rlt_jstream_next(s, &p, err)) == 1) {
        size_t used = strlen(out);
        const char *t = rlt_jpiece_text(&p, 0);
        snprintf(out + used, size - used, "%s%s%d%s%s;", p.key, p.element ? "[]" : "=", (int)p.tokens[0].type,
                 t ? ":" : "", t ? t : "");
    }
    rlt_jstream_close(s);
    return rc;
}

static const char *const ab[] = {"a", "b", NULL};

static void pieces_and_skipping(void **state)
{
    const char *text =
        " {\"x\": {\"deep\": [1, {\"a\": [2]}]}, \"b\": {\"k\": 1}, \"a\": [1, \"two\", [], {}, null, "
        "true, -1.50e-3], \"y\": \"\\\"\", \"a\": []}\n";
    char out[300];
    rlt_error err = {0};
    (void)state;
    for (int gz = 0; gz < 2; gz++) {
        assert_int_equal(read_all(text, gz, ab, out, sizeof out, &err), 0);
        assert_string_equal(out, "b=6;a[]3:1;a[]4:two;a[]5;a[]6;a[]0;a[]2;a[]3:-1.50e-3;");
    }
    assert_int_equal(read_all("{}", false, ab, out, sizeof out, &err), 0);
    assert_string_equal(out, "");
}

static void members_of_a_piece(void **state)
{
    rlt_jstream *s;
    rlt_jpiece p;
    rlt_error err = {0};
    const char *text = "{\"a\":[{\"n\":{\"x\":[1,2,[3]],\"y\":\"z\"},\"m\":12345678901234567890.125}]}";
    (void)state;
    write_text(text, strlen(text), false);
    assert_int_equal(rlt_jstream_open(path, ab, &s, &err), 0);
    assert_int_equal(rlt_jstream_next(s, &p, &err), 1);
    assert_int_equal(p.offset, 6);
    assert_string_equal(rlt_jpiece_text(&p, rlt_jpiece_get(&p, 0, "m")), "12345678901234567890.125");
    uint32_t n = rlt_jpiece_get(&p, 0, "n"), x = rlt_jpiece_get(&p, n, "x"), count = 0;
    for (uint32_t c = rlt_jpiece_first(&p, x); c != RLT_NONE; c = rlt_jpiece_after(&p, x, c))
        count++;
    assert_int_equal(count, 3);
    assert_string_equal(rlt_jpiece_text(&p, rlt_jpiece_get(&p, n, "y")), "z");
    assert_int_equal(rlt_jpiece_get(&p, 0, "y"), RLT_NONE);
    assert_int_equal(rlt_jpiece_get(&p, x, "y"), RLT_NONE);
    assert_null(rlt_jpiece_text(&p, RLT_NONE));
    assert_int_equal(rlt_jstream_next(s, &p, &err), 0);
    rlt_jstream_close(s);
}

/* Members whose keys the caller did not name are missing, but checked. */
static void named_keys(void **state)
{
    static const char *const keys[] = {"x", "a long key indeed", "y", "", NULL};
    static const char *const kept[] = {"1", "2", "3", "4"};
    const char *text =
        "{\"a\":[{\"z\":[{\"x\":9},[\"\\u0041\"]],\"\\u0078\":1,\"a long k\":{\"y\":8},\"x\":7,"
        "\"\":4,\"a long key indeed\":2,\"a long key indee\":6,\"a long k\":6,\"y\":3,\"w\":{}}],\"b\":5}";
    rlt_jstream *s;
    rlt_jpiece p;
    rlt_error err = {0};
    uint32_t values[4];
    (void)state;
    write_text(text, strlen(text), false);
    assert_int_equal(rlt_jstream_open(path, ab, &s, &err), 0);
    rlt_jstream_keys(s, keys);
    assert_int_equal(rlt_jstream_next(s, &p, &err), 1);
    assert_int_equal(p.n_tokens, 11); /* the object and five members; the first x counts */
    rlt_jpiece_members(&p, 0, values, 4);
    for (int i = 0; i < 4; i++)
        assert_string_equal(rlt_jpiece_text(&p, values[i]), kept[i]);
    assert_int_equal(rlt_jpiece_get(&p, 0, "z"), RLT_NONE);
    assert_string_equal(rlt_jpiece_text(&p, rlt_jpiece_get(&p, 0, "y")), "3");
    assert_int_equal(rlt_jstream_next(s, &p, &err), 1);
    assert_string_equal(rlt_jpiece_text(&p, 0), "5");
    rlt_jpiece_members(&p, 0, values, 4);
    assert_int_equal(values[0], RLT_NONE);
    assert_int_equal(rlt_jstream_next(s, &p, &err), 0);
    rlt_jstream_close(s);
    write_text("{\"a\":[{\"z\":[tru]}]}", 20, false);
    assert_int_equal(rlt_jstream_open(path, ab, &s, &err), 0);
    rlt_jstream_keys(s, keys);
    assert_int_equal(rlt_jstream_next(s, &p, &err), RLT_EMALFORMED);
    rlt_jstream_close(s);
}

/* Keys that were seen are known by their bytes, until other names are looked up. */
static void keys_are_forgotten(void **state)
{
    static rlt__json_keys keys;
    static const char *const first[] = {"w", "xy", NULL}, *const second[] = {"xy", NULL};
    char text[2 * RLT__JSON_SEEN_MAX] = "xy\": 1}";
    (void)state;
    rlt__json_want(&keys, first);
    assert_null(rlt__json_seen_at(&keys, text));
    rlt__json_see(&keys, text, 5, 2);
    const rlt__json_seen *k = rlt__json_seen_at(&keys, text);
    assert_non_null(k);
    assert_true(k->size == 5 && k->length == 2 && k->index == 1);
    rlt__json_want(&keys, second);
    assert_null(rlt__json_seen_at(&keys, text));
    rlt__json_see(&keys, text, 5, 2);
    k = rlt__json_seen_at(&keys, text);
    assert_true(k && k->index == 0);
}

/* Writes the tokens of all pieces, or the refusal with its byte counted from `from`. */
static void write_tokens(const char *text, size_t from, const char *const *keys, char *out, size_t size)
{
    rlt_jstream *s;
    rlt_jpiece p;
    rlt_error err = {0};
    size_t used = 0;
    int rc;
    write_text(text, strlen(text), false);
    assert_int_equal(rlt_jstream_open(path, ab, &s, &err), 0);
    if (keys)
        rlt_jstream_keys(s, keys);
    while ((rc = rlt_jstream_next(s, &p, &err)) == 1) {
        if (p.offset < from)
            continue;
        for (uint32_t i = 0; i < p.n_tokens && used < size; i++)
            used +=
                (size_t)snprintf(out + used, size - used, "%u,%u,%d=%s;", p.tokens[i].type, p.tokens[i].next,
                                 (int)p.tokens[i].key, rlt_jpiece_text(&p, i) ? rlt_jpiece_text(&p, i) : "");
    }
    const char *byte = strstr(err.where, ": byte ");
    assert_true(rc == 0 || byte);
    snprintf(out + used, size - used, "%d %ld %s", rc, rc ? strtol(byte + 7, NULL, 10) - (long)from : 0,
             err.what);
    rlt_jstream_close(s);
}

static const char *any(uint32_t *seed, const char *const *of, uint32_t n)
{
    *seed = *seed * 1664525 + 1013904223;
    return of[(*seed >> 10) % n];
}

#define ANY(seed, list) any(seed, list, sizeof(list) / sizeof *(list))

/* Objects, some of them malformed, are read alike whether or not their keys have been met before. */
static void keys_met_before(void **state)
{
    static char long_number[140];
    static const char *const keys[] = {"ts", "a long key indeed", "", NULL};
    static const char *const names[] = {
        "ts",         "t",       "", "a long key indeed", "a long key, longer than a buffer of bytes",
        "n\\u0061me", "\\u0078", "x"};
    static const char *const blanks[] = {"", "", "", " ", "\n   ", "\t\r"};
    static const char *const values[] = {"1",
                                         "-0.5",
                                         "12345678901234567890.123456789",
                                         "1e+5",
                                         "0",
                                         "\"\"",
                                         "\"text\"",
                                         "\"longer than eight\"",
                                         "\"\\n\"",
                                         "\"tab\there\"",
                                         "true",
                                         "NaN",
                                         "{}",
                                         "[1,\"ts\",{\"ts\":2}]",
                                         "{\"x\": 1}",
                                         "{\"ts\":3,\"ts\": 4 }",
                                         "01",
                                         "-",
                                         "1.",
                                         "\"open",
                                         "1 2",
                                         "078\":1",
                                         "\"a\"\"b\"",
                                         long_number};
    static const char *const colons[] = {":", ":", ":", ":", ":", ":", ":", "0078\":", "", "::"};
    static const char *const after[] = {",", ",", ",", ",", ",", ",", ",", "}", ";", ",,", ""};
    char met[1000] = "{\"a\":[{", element[1500], text[3000], one[4000], two[4000];
    uint32_t seed = 5;
    (void)state;
    memset(long_number, '7', sizeof long_number - 1);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        snprintf(met + strlen(met), 200, "%s\"%s\":%s1", i ? "," : "", names[i], i % 2 ? " " : "");
    strcat(met, "},");
    for (int round = 0; round < 3000; round++) {
        int members = round % 6;
        snprintf(element, sizeof element, "{");
        for (int i = 0; i <= members; i++) {
            size_t used = strlen(element);
            snprintf(element + used, sizeof element - used, "%s\"%s\"%s%s%s%s%s%s", ANY(&seed, blanks),
                     ANY(&seed, names), seed >> 28 ? "" : " ", ANY(&seed, colons), ANY(&seed, blanks),
                     ANY(&seed, values), ANY(&seed, blanks), i < members ? ANY(&seed, after) : "}");
        }
        const char *const *asked = round % 3 ? keys : NULL;
        snprintf(text, sizeof text, "{\"a\":[%s]}", element);
        write_tokens(text, 6, asked, one, sizeof one);
        snprintf(text, sizeof text, "%s%s]}", met, element);
        write_tokens(text, strlen(met), asked, two, sizeof two);
        if (strcmp(one, two) != 0)
            fail_msg("%s: %s, but %s", element, one, two);
    }
}

/* Each kind of token at each place across the end of a block of the file, kept and skipped. */
static void block_ends(void **state)
{
    enum { BLOCK = 1 << 16 };
    const char *body =
        "[{\"key\\u00e9\":\"v\\ud83d\\ude00\\n\",\"m\":[true,null,-12.5e+3, {}]},17,\"t\\tx\"]";
    char *text = malloc(3 * BLOCK);
    (void)state;
    assert_non_null(text);
    for (int wanted = 0; wanted < 2; wanted++)
        for (size_t shift = 0; shift < strlen(body) + 8; shift++) {
            rlt_jstream *s;
            rlt_jpiece p;
            rlt_error err = {0};
            memset(text, ' ', 3 * BLOCK);
            size_t at = BLOCK - shift;
            int n = snprintf(text + at, BLOCK, "{\"%s\":%s}", wanted ? "a" : "x", body);
            text[at + (size_t)n] = ' ';
            write_text(text, 3 * BLOCK, shift % 2);
            assert_int_equal(rlt_jstream_open(path, ab, &s, &err), 0);
            if (wanted) {
                assert_int_equal(rlt_jstream_next(s, &p, &err), 1);
                assert_int_equal(p.offset, at + 6);
                assert_string_equal(rlt_jpiece_text(&p, rlt_jpiece_get(&p, 0, "key\xc3\xa9")),
                                    "v\xf0\x9f\x98\x80\n");
                uint32_t m = rlt_jpiece_get(&p, 0, "m"), c = rlt_jpiece_first(&p, m);
                c = rlt_jpiece_after(&p, m, rlt_jpiece_after(&p, m, c));
                assert_string_equal(rlt_jpiece_text(&p, c), "-12.5e+3");
                assert_int_equal(rlt_jstream_next(s, &p, &err), 1);
                assert_string_equal(rlt_jpiece_text(&p, 0), "17");
                assert_int_equal(rlt_jstream_next(s, &p, &err), 1);
                assert_string_equal(rlt_jpiece_text(&p, 0), "t\tx");
            }
            assert_int_equal(rlt_jstream_next(s, &p, &err), 0);
            rlt_jstream_close(s);
        }
    free(text);
}

static void escapes(void **state)
{
    char out[200];
    rlt_error err = {0};
    (void)state;
    assert_int_equal(
        read_all("{\"a\":[\"\\u00e9\\ud83d\\ude00\\n\\/\",\"\\ud83dx\",\"\\udc00\",\"a\\u0000b\"]}", false,
                 ab, out, sizeof out, &err),
        0);
    assert_string_equal(out, "a[]4:\xc3\xa9\xf0\x9f\x98\x80\n/;a[]4:\xef\xbf\xbdx;a[]4:\xef\xbf\xbd;"
                             "a[]4:a\xef\xbf\xbd"
                             "b;");
}

static void unknown_numbers(void **state)
{
    char out[200];
    rlt_error err = {0};
    (void)state;
    assert_int_equal(read_all("{\"a\":[NaN,-Infinity,Infinity]}", false, ab, out, sizeof out, &err), 0);
    assert_string_equal(out, "a[]3:NaN;a[]3:-Infinity;a[]3:Infinity;");
}

/* Each text is refused, and the message has the given byte. */
static void refused(void **state)
{
    static const struct {
        const char *text, *byte, *what;
    } cases[] = {
        {"", "byte 0", "ends here"},
        {"[1]", "byte 0", "start of an object"},
        {"{\"a\":[1,2", "byte 9", "ends here"},
        {"{\"a\":[1 2]}", "byte 8", "',' or ']'"},
        {"{\"a\":[1,]}", "byte 8", "expected a value, got ']'"},
        {"{\"a\" !}", "byte 5", "expected ':', got '!'"},
        {"{\"a\" ~}", "byte 5", "expected ':', got '~'"},
        {"{\"a\" \x7f}", "byte 5", "expected ':', got a byte of value 127"},
        {"{\"a\" \x01}", "byte 5", "expected ':', got a byte of value 1"},
        {"{\"a\":[01]}", "byte 6", "expected a value"},
        {"{\"a\":[1.]}", "byte 6", "expected a value"},
        {"{\"a\":[tru]}", "byte 6", "expected a value"},
        {"{\"x\":[tru]}", "byte 6", "expected a value"},
        {"{\"a\":1,}", "byte 7", "key in quotes"},
        {"{\"a\" 1}", "byte 5", "':'"},
        {"{\"a\":1} x", "byte 8", "end of the file"},
        {"{\"a\":\"\\q\"}", "byte 7", "escape"},
        {"{\"a\":\"\\u12g4\"}", "byte 10", "hexadecimal"},
        {"{\"a\":\"x\ny\"}", "byte 7", "end of a string"},
        {"{\"a\":[{\"b\":1]}", "byte 12", "',' or '}'"},
    };
    char out[200];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlt_error err = {0};
        assert_int_equal(read_all(cases[i].text, false, ab, out, sizeof out, &err), RLT_EMALFORMED);
        if (!strstr(err.where, cases[i].byte) || !strstr(err.what, cases[i].what))
            fail_msg("%s: '%s': '%s'", cases[i].text, err.where, err.what);
        assert_int_equal(strncmp(err.where, path, strlen(path)), 0);
    }
}

static void every_prefix_is_refused(void **state)
{
    const char *text = "{\"a\":[1,{\"k\":\"v\\u00e9\"},[true,null]],\"z\":{\"q\":[-1e5]}}";
    char out[300], part[100];
    (void)state;
    for (size_t n = 0; n < strlen(text); n++) {
        rlt_error err = {0};
        memcpy(part, text, n);
        part[n] = '\0';
        assert_int_equal(read_all(part, false, ab, out, sizeof out, &err), RLT_EMALFORMED);
    }
}

static void depth_is_bounded(void **state)
{
    char text[400], out[100];
    rlt_error err = {0};
    (void)state;
    for (int depth = RLT_JSON_DEPTH_MAX; depth <= RLT_JSON_DEPTH_MAX + 1; depth++)
        for (int wanted = 0; wanted < 2; wanted++) {
            err = (rlt_error){0};
            strcpy(text, wanted ? "{\"a\":[" : "{\"x\":");
            size_t n = strlen(text);
            memset(text + n, '[', (size_t)depth);
            memset(text + n + depth, ']', (size_t)depth);
            strcpy(text + n + 2 * depth, wanted ? "]}" : "}");
            assert_int_equal(read_all(text, false, ab, out, sizeof out, &err),
                             depth > RLT_JSON_DEPTH_MAX ? RLT_ERANGE : 0);
        }
}

static void size_is_bounded(void **state)
{
    size_t n = RLT_JSON_PIECE_MAX + 100;
    char *text = malloc(n + 32), out[100];
    assert_non_null(text);
    (void)state;
    for (int wanted = 0; wanted < 2; wanted++) { /* a skipped member may have any length */
        rlt_error err = {0};
        strcpy(text, wanted ? "{\"a\":\"" : "{\"x\":\"");
        memset(text + 6, 'y', n);
        strcpy(text + 6 + n, "\"}");
        assert_int_equal(read_all(text, true, ab, out, sizeof out, &err), wanted ? RLT_ERANGE : 0);
    }
    free(text);
}

/* A piece of blanks has no text, but its bytes are bounded: since the buffer doubles, a piece of twice the
 * limit is refused at the latest. */
static void blanks_are_bounded(void **state)
{
    size_t n = 2 * (size_t)RLT_JSON_SPAN_MAX + (1 << 18);
    char *text = malloc(n + 32), out[100];
    rlt_error err = {0};
    (void)state;
    assert_non_null(text);
    strcpy(text, "{\"a\":{");
    memset(text + 6, ' ', n);
    strcpy(text + 6 + n, "}}");
    assert_int_equal(read_all(text, true, ab, out, sizeof out, &err), RLT_ERANGE);
    assert_string_equal(err.what, "a value of more than 16 MiB");
    assert_int_equal(strncmp(err.where, path, strlen(path)), 0);
    free(text);
}

/* A list and its elements are parts. Too many of them are refused at the first one too many. */
static void parts_are_bounded(void **state)
{
    char *text = malloc(2 * RLT_JSON_TOKENS_MAX + 32), out[100], place[100];
    assert_non_null(text);
    (void)state;
    for (int wanted = 0; wanted < 2; wanted++)
        for (size_t more = 0; more < 2; more++) {
            size_t n = RLT_JSON_TOKENS_MAX - 1 + more;
            bool refuses = wanted && more;
            rlt_error err = {0};
            strcpy(text, wanted ? "{\"a\":[[0" : "{\"x\":[[0");
            for (size_t i = 1; i < n; i++)
                memcpy(text + 5 + 2 * i + 1, ",0", 2);
            strcpy(text + 5 + 2 * n + 1, "]]}");
            assert_int_equal(read_all(text, false, ab, out, sizeof out, &err), refuses ? RLT_ERANGE : 0);
            assert_string_equal(out, wanted && !more ? "a[]5;" : "");
            assert_string_equal(err.what, refuses ? "a value of more than 524288 parts" : "");
            snprintf(place, sizeof place, "%s: byte %zu", path, 5 + 2 * n);
            assert_string_equal(err.where, refuses ? place : "");
        }
    free(text);
}

/* 400 MiB of blanks compress a thousandfold: refused before they are all inflated. */
static void bomb(void **state)
{
    rlt_jstream *s;
    rlt_jpiece p;
    rlt_error err = {0};
    gzFile f = gzopen(path, "wb9");
    char *blanks = malloc(1 << 20);
    (void)state;
    assert_non_null(f);
    assert_non_null(blanks);
    memset(blanks, ' ', 1 << 20);
    assert_int_equal(gzwrite(f, "{", 1), 1);
    for (int i = 0; i < 450; i++)
        assert_int_equal(gzwrite(f, blanks, 1 << 20), 1 << 20);
    assert_int_equal(gzclose(f), Z_OK);
    free(blanks);
    assert_int_equal(rlt_jstream_open(path, ab, &s, &err), 0);
    assert_int_equal(rlt_jstream_next(s, &p, &err), RLT_ERANGE);
    rlt_jstream_close(s);
}

static void damaged_gzip(void **state)
{
    const char *text = "{\"a\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}";
    unsigned char whole[200];
    (void)state;
    write_text(text, strlen(text), true);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(whole, 1, sizeof whole, f);
    fclose(f);
    for (size_t cut = 3; cut < n; cut++) {
        rlt_jstream *s;
        rlt_jpiece p;
        rlt_error err = {0};
        int rc;
        write_text((const char *)whole, cut, false);
        assert_int_equal(rlt_jstream_open(path, ab, &s, &err), 0);
        do
            rc = rlt_jstream_next(s, &p, &err);
        while (rc == 1);
        rlt_jstream_close(s);
        assert_int_equal(rc, RLT_EMALFORMED);
    }
    whole[n - 5] ^= 1; /* its checksum */
    write_text((const char *)whole, n, false);
    rlt_jstream *s;
    rlt_jpiece p;
    rlt_error err = {0};
    int rc;
    assert_int_equal(rlt_jstream_open(path, ab, &s, &err), 0);
    do
        rc = rlt_jstream_next(s, &p, &err);
    while (rc == 1);
    rlt_jstream_close(s);
    assert_int_equal(rc, RLT_EMALFORMED);
    assert_non_null(strstr(err.what, "damaged"));
}

static void missing_file(void **state)
{
    rlt_jstream *s;
    rlt_error err = {0};
    (void)state;
    assert_int_equal(rlt_jstream_open("/nonexistent/file.json", ab, &s, &err), RLT_EIO);
    assert_null(s);
}

static void decimals(void **state)
{
    static const struct {
        const char *text;
        int shift;
        int64_t value;
    } cases[] = {
        {"0", 3, 0},
        {"12", 0, 12},
        {"4458676416788.066", 3, 4458676416788066},
        {"1.5", 3, 1500},
        {"1.5", 0, 1},
        {"-2.0009", 3, -2000},
        {"0.0005", 3, 0},
        {"1e3", 0, 1000},
        {"1.25e2", 3, 125000},
        {"125e-2", 3, 1250},
        {"3999999999999999999", 0, 3999999999999999999},
        {"1694128201426674", 3, 1694128201426674000},
        {"0.001", 6, 1000},
        {"0e999", 0, 0},
        {"1712195495519689.047", 3, 1712195495519689047},
        {"-1712195495519689.0479", 3, -1712195495519689047},
        {"4000000000000000000", 0, 4000000000000000000},
        {"4e18", 0, 4000000000000000000},
        {"-40E+17", 0, -4000000000000000000},
        {"3.9999999999999999999e18", 0, 3999999999999999999},
        {"1e-1000", 0, 0},
        {"0e1000", 0, 0},
        {"0.00001e5", 0, 1},
        {"123e-1", 0, 12},
        {"123e-3", 0, 0},
        {"123e-4", 0, 0},
        {"12.75e0", 1, 127},
        {"12.75e0", 3, 12750},
        {"-0", 0, 0},
        {"1.5", -1, 0},
        {"1234567.5", -6, 1},
        {"12345678.5", -7, 1},
        {"0.0000001", 7, 1},
        {"0.00000000000000000001", 20, 1}, /* 21 digits */
    };
    static const char *const bad[] = {"",
                                      "x",
                                      "1.",
                                      "--1",
                                      "NaN",
                                      "Infinity",
                                      "4000000000000000001",
                                      "1e19",
                                      "0e1001",
                                      "0e-1001",
                                      "4.000000000000000001e18",
                                      "01",
                                      "1e",
                                      "1a",
                                      "1.5x",
                                      "1e99999",
                                      " 1",
                                      "4000000000000000.001e3",
                                      "00",
                                      "-",
                                      "1.2.3",
                                      "9999999999999999999",
                                      "18446744073709551617"};
    int64_t v;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(rlt_decimal_i64(cases[i].text, cases[i].shift, &v));
        assert_int_equal(v, cases[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(rlt_decimal_i64(bad[i], 0, &v));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_and_skipping),
        cmocka_unit_test(members_of_a_piece),
        cmocka_unit_test(named_keys),
        cmocka_unit_test(keys_met_before),
        cmocka_unit_test(keys_are_forgotten),
        cmocka_unit_test(block_ends),
        cmocka_unit_test(escapes),
        cmocka_unit_test(unknown_numbers),
        cmocka_unit_test(refused),
        cmocka_unit_test(every_prefix_is_refused),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(size_is_bounded),
        cmocka_unit_test(blanks_are_bounded),
        cmocka_unit_test(parts_are_bounded),
        cmocka_unit_test(bomb),
        cmocka_unit_test(damaged_gzip),
        cmocka_unit_test(missing_file),
        cmocka_unit_test(decimals),
    };
    snprintf(path, sizeof path, "/tmp/rlt-json-%ld.json", (long)getpid());
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
