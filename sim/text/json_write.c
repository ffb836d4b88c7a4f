/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes JSON into one growing text. Each invalid byte of a string becomes U+FFFD, so that the output is
 * always valid. The same values give the same bytes in any locale.
 */
#include "sim/text/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(rlt_jw *w, const char *bytes, size_t n)
{
    if (w->failed)
        return;
    if (n >= w->capacity - w->length) {
        size_t capacity = w->capacity ? w->capacity : 256;
        while (n >= capacity - w->length) {
            if (capacity > SIZE_MAX / 2) {
                w->failed = 1;
                return;
            }
            capacity *= 2;
        }
        char *text = realloc(w->text, capacity);
        if (!text) {
            w->failed = 1;
            return;
        }
        w->text = text;
        w->capacity = capacity;
    }
    memcpy(w->text + w->length, bytes, n);
    w->length += n;
    w->text[w->length] = 0;
}

static void put_text(rlt_jw *w, const char *s)
{
    put(w, s, strlen(s));
}

size_t rlt_utf8_length(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] < 0x80)
        return 1;
    size_t n = s[0] >= 0xc2 && s[0] < 0xe0   ? 2
               : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
               : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                             : 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
        (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return n;
}

static void put_quoted(rlt_jw *w, const char *value)
{
    const unsigned char *p = (const unsigned char *)value;
    put(w, "\"", 1);
    while (*p) {
        size_t n = rlt_utf8_length((const char *)p);
        char escape[8];
        if (n == 0)
            put_text(w, "\xef\xbf\xbd");
        else if (*p == '"' || *p == '\\')
            put(w, (char[]){'\\', (char)*p}, 2);
        else if (*p == '\n' || *p == '\t')
            put_text(w, *p == '\n' ? "\\n" : "\\t");
        else if (*p < 0x20 || *p == 0x7f)
            put(w, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", *p));
        else
            put(w, (const char *)p, n);
        p += n ? n : 1;
    }
    put(w, "\"", 1);
}

static void new_line(rlt_jw *w)
{
    put(w, "\n", 1);
    for (int i = 0; i < w->depth; i++)
        put(w, "  ", 2);
}

/* Writes what precedes a value: a comma, a line break, a key. In arrays only containers get a line of their
 * own. */
static void begin(rlt_jw *w, const char *key, bool container)
{
    if (w->comma)
        put(w, ",", 1);
    if (w->pretty && w->depth > 0 && w->depth <= 2 && (key || container))
        new_line(w);
    else if (w->pretty && w->comma)
        put(w, " ", 1);
    if (key) {
        put_quoted(w, key);
        put_text(w, w->pretty ? ": " : ":");
    }
    w->comma = true;
}

static void open_container(rlt_jw *w, const char *key, const char *bracket)
{
    begin(w, key, true);
    put_text(w, bracket);
    w->depth++;
    w->comma = false;
}

static void close_container(rlt_jw *w, const char *bracket)
{
    char last = w->length ? w->text[w->length - 1] : 0;
    bool lines = bracket[0] == '}' || last == '}' || last == ']';
    w->depth--;
    if (w->pretty && w->comma && lines && w->depth < 2)
        new_line(w);
    put_text(w, bracket);
    if (w->pretty && w->depth == 0)
        put_text(w, "\n");
    w->comma = true;
}

void rlt_jw_init(rlt_jw *w, bool pretty)
{
    *w = (rlt_jw){.pretty = pretty};
}

void rlt_jw_object(rlt_jw *w, const char *key)
{
    open_container(w, key, "{");
}

void rlt_jw_array(rlt_jw *w, const char *key)
{
    open_container(w, key, "[");
}

void rlt_jw_end_object(rlt_jw *w)
{
    close_container(w, "}");
}

void rlt_jw_end_array(rlt_jw *w)
{
    close_container(w, "]");
}

void rlt_jw_string(rlt_jw *w, const char *key, const char *value)
{
    if (!value) {
        rlt_jw_null(w, key);
        return;
    }
    begin(w, key, false);
    put_quoted(w, value);
}

void rlt_jw_i64(rlt_jw *w, const char *key, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    rlt_jw_raw(w, key, text);
}

void rlt_jw_u64(rlt_jw *w, const char *key, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    rlt_jw_raw(w, key, text);
}

static void put_real(rlt_jw *w, const char *key, char form, double value, int digits)
{
    char text[400]; /* 309 digits, a sign, a point, 17 decimals */
    if (!isfinite(value)) {
        rlt_jw_null(w, key);
        return;
    }
    if (form == 'g')
        snprintf(text, sizeof text, "%.*g", digits, value);
    else
        snprintf(text, sizeof text, "%.*f", digits, value);
    /* The decimal point depends on the locale: it is the part that is neither digit nor sign. */
    size_t point = strspn(text, "-0123456789"), after = strcspn(text + point, "0123456789");
    if (text[point] && text[point] != 'e') {
        text[point] = '.';
        memmove(text + point + 1, text + point + after, strlen(text + point + after) + 1);
    }
    bool zero = text[strspn(text, "-0.")] == 0;
    rlt_jw_raw(w, key, zero && text[0] == '-' ? text + 1 : text);
}

void rlt_jw_double(rlt_jw *w, const char *key, double value, int decimals)
{
    put_real(w, key, 'f', value, decimals < 0 ? 0 : decimals > 17 ? 17 : decimals);
}

void rlt_jw_digits(rlt_jw *w, const char *key, double value, int digits)
{
    put_real(w, key, 'g', value, digits < 1 ? 1 : digits > 17 ? 17 : digits);
}

void rlt_jw_bool(rlt_jw *w, const char *key, bool value)
{
    rlt_jw_raw(w, key, value ? "true" : "false");
}

void rlt_jw_null(rlt_jw *w, const char *key)
{
    rlt_jw_raw(w, key, "null");
}

void rlt_jw_raw(rlt_jw *w, const char *key, const char *json)
{
    begin(w, key, false);
    put_text(w, json);
}

char *rlt_jw_finish(rlt_jw *w, size_t *length)
{
    char *text = w->failed ? NULL : w->text;
    if (!text)
        free(w->text);
    if (length)
        *length = text ? w->length : 0;
    *w = (rlt_jw){.pretty = w->pretty};
    return text;
}
