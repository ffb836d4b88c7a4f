/* SPDX-License-Identifier: GPL-3.0-or-later */
/* XML: the events that handlers receive, places counted by hand, and refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/base/error.h"
#include "sim/text/xml.h"

/* All events, as one text. */
typedef struct seen {
    char text[4096];
    size_t used;
    const char *fail_at; /* element at which a handler fails */
} seen;

static void put(seen *s, const char *fmt, ...) RLT_PRINTF(2);
static void put(seen *s, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(s->text + s->used, sizeof s->text - s->used, fmt, args);
    va_end(args);
    if (n > 0 && s->used + (size_t)n < sizeof s->text)
        s->used += (size_t)n;
}

static int on_start(void *user, const rlt_xml_tag *tag, rlt_error *err)
{
    seen *s = user;
    put(s, "<%s@%u:%u/%u", tag->name, tag->line, tag->column, tag->depth);
    for (const char *const *a = tag->attributes; *a; a += 2)
        put(s, " %s=%s", a[0], a[1]);
    put(s, ">");
    if (s->fail_at && rlt_xml_is(tag, s->fail_at))
        return rlt_xml_fail(tag, RLT_ESCHEMA, err, "no %s here", tag->name);
    return 0;
}

static int on_end(void *user, const rlt_xml_tag *tag, rlt_error *err)
{
    (void)err;
    put(user, "</%s/%u>", tag->name, tag->depth);
    return 0;
}

static int on_text(void *user, const rlt_xml_tag *tag, const char *text, size_t length, rlt_error *err)
{
    (void)err;
    put(user, "[%s:%.*s]", tag->name, (int)length, text);
    return 0;
}

static const rlt_xml_handler all = {on_start, on_end, on_text};

static int read_text(const char *text, seen *s, rlt_error *err)
{
    *err = (rlt_error){0};
    return rlt_xml_read("f.xml", text, strlen(text), &all, s, err);
}

static void elements_have_places_and_attributes(void **state)
{
    seen s = {0};
    rlt_error err;
    (void)state;
    assert_int_equal(read_text("<?xml version=\"1.0\"?>\n<!-- <c/> -->\n<a x='1' y=\"&lt;2&#65;\">\n  <g:b/>"
                               "<c>h\xc3\xa9</c></a>\n",
                               &s, &err),
                     0);
    assert_string_equal(s.text,
                        "<a@3:1/0 x=1 y=<2A>[a:\n][a:  ]<b@4:3/1></b/1><c@4:9/1>[c:h\xc3\xa9]</c/1></a/0>");
}

static void a_handler_ends_the_reading(void **state)
{
    seen s = {.fail_at = "b"};
    rlt_error err;
    (void)state;
    assert_int_equal(read_text("<a>\n<b/><c/></a>", &s, &err), RLT_ESCHEMA);
    assert_string_equal(err.where, "f.xml:2:1");
    assert_string_equal(err.what, "no b here");
    assert_null(strstr(s.text, "</b"));
    assert_null(strstr(s.text, "<c"));
}

static void what_is_refused(void **state)
{
    static const struct {
        const char *text, *where, *what;
        int rc;
    } table[] = {
        {"", "f.xml:1:1", "no element found", RLT_EMALFORMED},
        {"<a>\n <b></a>", "f.xml:2:7", "mismatched tag", RLT_EMALFORMED},
        {"<a x='1' x='2'/>", "f.xml:1:", "duplicate attribute", RLT_EMALFORMED},
        {"<a/>\n<b/>", "f.xml:2:1", "junk", RLT_EMALFORMED},
        {"<a>&nobody;</a>", "f.xml:1:4", "undefined entity", RLT_EMALFORMED},
        {"<!DOCTYPE a [<!ENTITY x \"y\"><!ENTITY z \"&x;&x;\">]>\n<a>&z;</a>", "f.xml:1:", "document types",
         RLT_EMALFORMED},
        {"<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>", "f.xml:1:", "document types", RLT_EMALFORMED},
        {"<a>\xff</a>", "f.xml:1:4", "invalid token", RLT_EMALFORMED},
        {"<?xml version='1.0' encoding='klingon'?><a/>", "f.xml:1:", "encoding", RLT_EMALFORMED},
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        seen s = {0};
        rlt_error err;
        assert_int_equal(read_text(table[i].text, &s, &err), table[i].rc);
        if (strncmp(err.where, table[i].where, strlen(table[i].where)) != 0 ||
            !strstr(err.what, table[i].what))
            fail_msg("%s -> %s: %s", table[i].text, err.where, err.what);
    }
}

/* n opening tags, then n closing tags. */
static char *nested(uint32_t n)
{
    char *text = malloc(8 * (size_t)n + 1), *p = text;
    assert_non_null(text);
    for (uint32_t i = 0; i < n; i++)
        p = memcpy(p, "<a>", 3), p += 3;
    for (uint32_t i = 0; i < n; i++)
        p = memcpy(p, "</a>", 4), p += 4;
    *p = '\0';
    return text;
}

static void limits_hold(void **state)
{
    static const rlt_xml_handler none = {0};
    char many[RLT_XML_MAX_ATTRIBUTES * 16 + 64] = "<a";
    rlt_error err = {0};
    (void)state;
    char *fits = nested(RLT_XML_MAX_DEPTH), *deep = nested(RLT_XML_MAX_DEPTH + 1);
    assert_int_equal(rlt_xml_read("f", fits, strlen(fits), &none, NULL, &err), 0);
    assert_int_equal(rlt_xml_read("f", deep, strlen(deep), &all, &(seen){0}, &err), RLT_ERANGE);
    assert_string_equal(err.where, "f:1:193"); /* 64 tags of three bytes precede it */
    free(fits);
    free(deep);
    for (int i = 0; i <= RLT_XML_MAX_ATTRIBUTES; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many), " x%d='%d'", i, i);
    strcat(many, "/>");
    err = (rlt_error){0};
    assert_int_equal(rlt_xml_read("f", many, strlen(many), &none, NULL, &err), RLT_ERANGE);
    assert_int_equal(rlt_xml_read("f", "", (size_t)RLT_XML_MAX_BYTES + 1, &none, NULL, NULL), RLT_ERANGE);
}

static int sum_of_n(void *user, const rlt_xml_tag *tag, rlt_error *err)
{
    int64_t n = 0;
    int rc = rlt_xml_only(tag, (const char *const[]){"m", "n", NULL}, err);
    rc = rc ? rc : rlt_xml_get_i64(tag, "n", true, 0, 100, &n, err);
    *(int64_t *)user += n;
    return rc;
}

/* Prefixes of attributes do not count. */
static void prefixes(void **state)
{
    const char *text = "<a n='1'><b g:n='10' m='7'/><c m='n' g:h:n='100'/></a>",
               *wrong = "<a n='1' n:k='1'/>";
    rlt_xml_handler h = {.start = sum_of_n};
    int64_t sum = 0;
    rlt_error err = {0};
    (void)state;
    assert_int_equal(rlt_xml_read("f", text, strlen(text), &h, &sum, &err), 0);
    assert_int_equal(sum, 111);
    assert_int_equal(rlt_xml_read("f", wrong, strlen(wrong), &h, &sum, &err), RLT_ESCHEMA);
    assert_non_null(strstr(err.what, "'n:k'"));
}

static void typed_attributes(void **state)
{
    static const char *const list[] = {
        "n", "-7", "big", "9223372036854775808", "f", "1.5", "e", "", "s", " 1", "t", "x", NULL, NULL};
    static const char *const bounds[] = {
        "a", "0", "b", "9", "c", "9223372036854775799", "d", "-9223372036854775799", "e", "-",
        "f", "/", "g", ":", "h", "9223372036854775800", NULL};
    static const rlt_xml_tag edge = {.file = "f", .name = "e", .attributes = bounds};
    static const struct {
        const char *name;
        int64_t value;
        int rc;
    } cases[] = {{"a", 0, 0},
                 {"b", 9, 0},
                 {"c", 9223372036854775799, 0},
                 {"d", -9223372036854775799, 0},
                 {"e", 0, RLT_ERANGE},
                 {"f", 0, RLT_ERANGE},
                 {"g", 0, RLT_ERANGE},
                 {"h", 0, RLT_ERANGE}};
    rlt_xml_tag tag = {.file = "f", .name = "e", .attributes = list, .line = 3, .column = 4};
    static const char *const wrong[] = {"big", "f", "e", "s", "t"};
    int64_t v = 5;
    const char *text = "kept";
    rlt_error err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t is = 0;
        assert_int_equal(rlt_xml_get_i64(&edge, cases[i].name, true, INT64_MIN, INT64_MAX, &is, NULL),
                         cases[i].rc);
        assert_int_equal(is, cases[i].value);
    }
    assert_int_equal(rlt_xml_get_i64(&edge, "b", true, 9, 9, &v, NULL), 0);
    assert_int_equal(rlt_xml_get_i64(&edge, "b", true, 0, 8, &v, &err), RLT_ERANGE);
    assert_string_equal(err.what, "expected 'b' of <e> to be an integer from 0 to 8, got '9'");
    err = (rlt_error){0};
    assert_int_equal(rlt_xml_get_i64(&tag, "n", true, -10, 10, &v, &err), 0);
    assert_int_equal(v, -7);
    assert_int_equal(rlt_xml_get_i64(&tag, "n", true, -6, 10, &v, NULL), RLT_ERANGE);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(rlt_xml_get_i64(&tag, wrong[i], true, INT64_MIN, INT64_MAX, &v, NULL), RLT_ERANGE);
    assert_int_equal(rlt_xml_get_i64(&tag, "no", false, 0, 1, &v, &err), 0);
    assert_int_equal(rlt_xml_get_text(&tag, "no", false, &text, &err), 0);
    assert_int_equal(v, -7);
    assert_string_equal(text, "kept");
    assert_int_equal(rlt_xml_get_text(&tag, "no", true, &text, &err), RLT_ESCHEMA);
    assert_string_equal(err.where, "f:3:4");
    assert_int_equal(rlt_xml_only(&tag, (const char *const[]){"n", "big", "f", "e", "s", NULL}, NULL),
                     RLT_ESCHEMA);
    assert_int_equal(rlt_xml_only(&tag, (const char *const[]){"n", "big", "f", "e", "s", "t", NULL}, NULL),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_have_places_and_attributes),
        cmocka_unit_test(a_handler_ends_the_reading),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(prefixes),
        cmocka_unit_test(typed_attributes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
