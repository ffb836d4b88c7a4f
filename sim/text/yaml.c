/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recursive descent by indentation. A block value is read with the cursor on its first character. Afterwards
 * the cursor is on the first character after the value and after blank lines; its column tells which
 * enclosing value continues.
 */
#include "sim/text/yaml.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sim/text/json_build.h"
#include "sim/text/json_scan.h"

enum { MAX_DEPTH = RLT__JSON_DEPTH };

typedef struct reader {
    rlt_json_doc *doc;
    const char *text, *p, *end, *line_start; /* *end is a zero byte */
    char *scratch;                           /* room for a scalar, as long as the text */
    int depth;
    rlt_error *err;
} reader;

/* Destination of a value. */
typedef struct place {
    rlt_json parent;
    const char *key; /* NULL in a list */
} place;

static int fail_at(const reader *r, const char *at, const char *what)
{
    return rlt__json_fail_at(r->doc, (size_t)(at - r->text), r->err, what);
}

static int fail(const reader *r, const char *what)
{
    return fail_at(r, r->p, what);
}

static size_t column(const reader *r)
{
    return (size_t)(r->p - r->line_start);
}

static bool at(const reader *r, char c)
{
    return r->p < r->end && *r->p == c;
}

static bool ends_word(const reader *r, const char *p)
{
    return p >= r->end || *p == ' ' || *p == '\t' || *p == '\n' || *p == '\r';
}

/* Returns true at the mark c (- : ?), which counts only before a blank. */
static bool at_mark(const reader *r, char c)
{
    return at(r, c) && ends_word(r, r->p + 1);
}

/* Skips blanks and a comment, which begins a line or follows a blank. */
static void skip_blanks(reader *r)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || (*r->p == '\r' && ends_word(r, r->p + 1))))
        r->p++;
    if (at(r, '#') && (r->p == r->line_start || ends_word(r, r->p - 1)))
        while (r->p < r->end && *r->p != '\n')
            r->p++;
}

/* Moves to the next token, possibly lines below. In block style, where indentation counts, it refuses
 * tabs. */
static int skip_lines(reader *r, bool flow)
{
    for (skip_blanks(r); at(r, '\n'); skip_blanks(r))
        r->line_start = ++r->p;
    const char *tab = flow ? NULL : memchr(r->line_start, '\t', column(r));
    return tab && r->p < r->end && strspn(r->line_start, " \t") == column(r)
               ? fail_at(r, tab, "expected blanks, not tabs, as indentation")
               : 0;
}

static int end_line(reader *r)
{
    skip_blanks(r);
    return r->p == r->end || *r->p == '\n' ? skip_lines(r, false) : fail(r, "expected the end of the line");
}

static rlt_json add(reader *r, place to, rlt__json_kind kind, const char *text, const char *from)
{
    rlt_json v = rlt__json_add(r->doc, to.parent, to.key, kind, text, (size_t)(from - r->text));
    if (!rlt_json_is(v))
        (void)rlt_nomem(r->err);
    return v;
}

/* ---- scalars ---- */

/* Copies one character of a quoted or plain scalar. */
static int put_character(reader *r, char **out)
{
    size_t n = (unsigned char)*r->p < 0x80 ? 1 : rlt_utf8_length(r->p);
    if (n == 0 || (size_t)(r->end - r->p) < n)
        return fail(r, "a character that is not UTF-8");
    if ((unsigned char)*r->p < 0x20 && *r->p != '\t')
        return fail(r, "a control character");
    memcpy(*out, r->p, n);
    *out += n;
    r->p += n;
    return 0;
}

static int put_escape(reader *r, char **out)
{
    static const char names[] = "\"\\/nrtbfe0", values[] = "\"\\/\n\r\t\b\f\x1b";
    const char *name = r->p[1] ? strchr(names, r->p[1]) : NULL;
    if (!name || *name == '0')
        return fail(r, "expected one of the escapes \\\" \\\\ \\/ \\n \\r \\t \\b \\f \\e");
    *(*out)++ = values[name - names];
    r->p += 2;
    return 0;
}

static int read_quoted(reader *r)
{
    char quote = *r->p++, *out = r->scratch;
    int rc = 0;
    while (rc == 0) {
        if (r->p == r->end || *r->p == '\n' || *r->p == '\r')
            return fail(r, "expected the closing quote");
        if (*r->p == quote && !(quote == '\'' && r->p[1] == quote))
            break;
        if (*r->p == quote)
            r->p++;
        rc = quote == '"' && *r->p == '\\' ? put_escape(r, &out) : put_character(r, &out);
    }
    r->p++;
    *out = '\0';
    return rc;
}

static bool ends_plain(const reader *r, bool flow)
{
    if (r->p == r->end || *r->p == '\n' || at_mark(r, ':'))
        return true;
    if (*r->p == '#' || *r->p == '\r')
        return ends_word(r, r->p[0] == '#' ? r->p - 1 : r->p + 1);
    return flow &&
           (strchr(",[]{}", *r->p) || (*r->p == ':' && r->p + 1 < r->end && strchr(",[]{}", r->p[1])));
}

/* Ends the scalar, without the blanks before its end. Returns the end. */
static char *end_scalar(const reader *r, char *out)
{
    while (out > r->scratch && (out[-1] == ' ' || out[-1] == '\t'))
        out--;
    *out = '\0';
    return out;
}

static int read_plain(reader *r, bool flow)
{
    char *out = r->scratch;
    int rc = 0;
    if (r->p == r->end || strchr("\n\r,[]{}#", *r->p) || at_mark(r, '-') || at_mark(r, ':') ||
        at_mark(r, '?'))
        return fail(r, "expected a word or a number");
    if (strchr("&*!|>%@`", *r->p))
        return fail(
            r, "expected a word or a number: anchors, tags and texts of several lines are not supported");
    while (rc == 0 && !ends_plain(r, flow))
        rc = put_character(r, &out);
    end_scalar(r, out);
    return rc;
}

/* Moves to the next line if it continues a plain scalar: it is further in than `outer`, and no comment.
 * Otherwise stays. */
static bool continues(reader *r, size_t outer)
{
    const char *line = r->p + (at(r, '\r') ? 1 : 0), *p;
    if (line == r->end || *line != '\n')
        return false;
    for (p = ++line; p < r->end && *p == ' ';)
        p++;
    if (p == r->end || strchr("\t\r\n#", *p) || (size_t)(p - line) <= outer)
        return false;
    r->line_start = line;
    r->p = p;
    return true;
}

/* Reads the further lines of a plain scalar in block style. A blank takes the place of each line end. */
static int read_plain_rest(reader *r, size_t outer)
{
    char *out = r->scratch + strlen(r->scratch);
    int rc = 0;
    while (!rc && continues(r, outer)) {
        const char *from = r->p;
        *out++ = ' ';
        while (rc == 0 && !ends_plain(r, false))
            rc = put_character(r, &out);
        if (!rc && at_mark(r, ':'))
            return fail_at(r, from, "expected a key with the indentation of the key before it");
        out = end_scalar(r, out);
    }
    return rc;
}

static bool is_quote(char c)
{
    return c == '"' || c == '\'';
}

static int read_scalar(reader *r, bool flow)
{
    return r->p < r->end && is_quote(*r->p) ? read_quoted(r) : read_plain(r, flow);
}

static bool is_one_of(const char *word, const char *const *words)
{
    while (*words && strcmp(word, *words) != 0)
        words++;
    return *words != NULL;
}

static rlt__json_kind kind_of(const char *word)
{
    static const char *const no[] = {"null", "Null", "NULL", "~", NULL};
    static const char *const on[] = {"true", "True", "TRUE", NULL}, *const off[] = {"false", "False", "FALSE",
                                                                                    NULL};
    rlt__json_scanner s = {.text = word, .p = word, .end = word + strlen(word)};
    if (is_one_of(word, no))
        return RLT__JSON_NULL;
    if (is_one_of(word, on) || is_one_of(word, off))
        return is_one_of(word, on) ? RLT__JSON_TRUE : RLT__JSON_FALSE;
    bool number = strchr("-0123456789", word[0]) && word[0] && rlt__json_scan(&s, 0) && s.p == s.end;
    return number ? RLT__JSON_NUMBER : RLT__JSON_STRING;
}

/* Adds the scalar in `scratch`, which began at `from`. */
static int add_scalar(reader *r, place to, const char *from)
{
    rlt__json_kind kind = is_quote(*from) ? RLT__JSON_STRING : kind_of(r->scratch);
    return rlt_json_is(add(r, to, kind, r->scratch, from)) ? 0 : RLT_ENOMEM;
}

static char *key_of(reader *r)
{
    char *key = strdup(r->scratch);
    if (!key)
        (void)rlt_nomem(r->err);
    return key;
}

static int deeper(reader *r)
{
    return r->depth++ < MAX_DEPTH ? 0 : fail(r, "nested too deeply");
}

/* ---- flow style: [a, b] and {a: 1, b: 2} ---- */

static int read_flow(reader *r, place to);

static int read_flow_entry(reader *r, rlt_json in, bool object)
{
    char *key = NULL;
    int rc = 0;
    if (object) {
        if ((rc = read_scalar(r, true)) || (rc = skip_lines(r, true)))
            return rc;
        if (!at(r, ':'))
            return fail(r, "expected ':' after a key");
        r->p++;
        if (!(key = key_of(r)))
            return RLT_ENOMEM;
        rc = skip_lines(r, true);
    }
    if (!rc)
        rc = read_flow(r, (place){in, key});
    free(key);
    return rc;
}

static int read_flow(reader *r, place to)
{
    const char *from = r->p;
    bool object = at(r, '{');
    int rc;
    if (!object && !at(r, '[')) {
        rc = read_scalar(r, true);
        return rc ? rc : add_scalar(r, to, from);
    }
    if ((rc = deeper(r)))
        return rc;
    rlt_json in = add(r, to, object ? RLT__JSON_OBJECT : RLT__JSON_ARRAY, NULL, from);
    char close = object ? '}' : ']';
    r->p++;
    rc = rlt_json_is(in) ? skip_lines(r, true) : RLT_ENOMEM;
    for (bool first = true; !rc && (!first || !at(r, close)); first = false) {
        if (!(rc = read_flow_entry(r, in, object)) && !(rc = skip_lines(r, true))) {
            if (at(r, close))
                break;
            if (!at(r, ','))
                return fail(r, object ? "expected ',' or '}'" : "expected ',' or ']'");
            r->p++;
            rc = skip_lines(r, true);
        }
    }
    r->p += !rc;
    r->depth--;
    return rc;
}

/* ---- block style ---- */

static int read_block(reader *r, place to, bool root);

/* Reads the value after "key:": on the same line, or below and further in. A list may stand at the key's
 * column. */
static int read_member(reader *r, rlt_json in, const char *key, size_t outer)
{
    place to = {in, key};
    const char *from = r->p;
    int rc;
    skip_blanks(r);
    if (r->p < r->end && *r->p != '\n') {
        from = r->p;
        rc = at(r, '[') || at(r, '{') ? read_flow(r, to) : read_scalar(r, false);
        if (!rc && !strchr("[{\"'", *from))
            rc = read_plain_rest(r, outer);
        if (!rc && *from != '[' && *from != '{')
            rc = add_scalar(r, to, from);
        return rc ? rc : end_line(r);
    }
    if ((rc = skip_lines(r, false)))
        return rc;
    if (r->p < r->end && (column(r) > outer || (column(r) == outer && at_mark(r, '-'))))
        return read_block(r, to, false);
    return rlt_json_is(add(r, to, RLT__JSON_NULL, NULL, from)) ? 0 : RLT_ENOMEM;
}

/* Reads a mapping. Its first key is in `scratch` and the cursor is behind it. */
static int read_mapping(reader *r, place to, const char *from, size_t col)
{
    rlt_json in = add(r, to, RLT__JSON_OBJECT, NULL, from);
    int rc = rlt_json_is(in) ? 0 : RLT_ENOMEM;
    while (!rc) {
        skip_blanks(r);
        if (!at_mark(r, ':'))
            return fail(r, "expected ':' after a key");
        char *key = key_of(r);
        r->p++;
        rc = key ? read_member(r, in, key, col) : RLT_ENOMEM;
        free(key);
        if (rc || r->p == r->end || column(r) < col)
            break;
        if (column(r) > col)
            return fail(r, "expected a key with the indentation of the key before it");
        rc = read_scalar(r, false);
    }
    return rc;
}

static int read_list(reader *r, place to)
{
    size_t col = column(r);
    rlt_json in = add(r, to, RLT__JSON_ARRAY, NULL, r->p);
    int rc = rlt_json_is(in) ? 0 : RLT_ENOMEM;
    while (!rc && column(r) == col && at_mark(r, '-')) {
        const char *from = r->p++;
        if (!(rc = skip_lines(r, true)) && r->p < r->end && column(r) > col)
            rc = read_block(r, (place){in, NULL}, false);
        else if (!rc && !rlt_json_is(add(r, (place){in, NULL}, RLT__JSON_NULL, NULL, from)))
            rc = RLT_ENOMEM;
    }
    if (!rc && r->p < r->end && column(r) > col)
        return fail(r, "expected '-' with the indentation of the '-' before it");
    return rc;
}

/* Reads the value at the cursor: a list, a mapping, a flow value or a scalar. The root must not be a
 * scalar. */
static int read_block(reader *r, place to, bool root)
{
    const char *from = r->p;
    size_t col = column(r);
    int rc = deeper(r);
    if (rc)
        return rc;
    if (at_mark(r, '-')) {
        rc = read_list(r, to);
    } else if (at(r, '[') || at(r, '{')) {
        if (!(rc = read_flow(r, to)))
            rc = end_line(r);
    } else if (!(rc = read_scalar(r, false))) {
        skip_blanks(r);
        if (root || at_mark(r, ':'))
            rc = read_mapping(r, to, from, col);
        else if (!(rc = add_scalar(r, to, from)))
            rc = end_line(r);
    }
    r->depth--;
    return rc;
}

static int read_document(reader *r)
{
    place root = {{NULL, NULL}, NULL};
    int rc;
    if (r->end - r->p >= 3 && memcmp(r->p, "\xef\xbb\xbf", 3) == 0)
        r->line_start = r->p += 3;
    if ((rc = skip_lines(r, false)))
        return rc;
    if (r->end - r->p >= 3 && memcmp(r->p, "---", 3) == 0 && ends_word(r, r->p + 3)) {
        r->p += 3;
        if ((rc = end_line(r)))
            return rc;
    }
    if (r->p == r->end)
        return rlt_json_is(add(r, root, RLT__JSON_NULL, NULL, r->p)) ? 0 : RLT_ENOMEM;
    if ((rc = read_block(r, root, true)))
        return rc;
    return r->p == r->end ? rlt__json_finish(r->doc, r->err) : fail(r, "expected the end of the document");
}

int rlt_yaml_parse(const char *name, const char *text, size_t length, rlt_json_doc **out, rlt_error *err)
{
    int rc = rlt__json_create(name, text, length, out, err);
    if (rc)
        return rc;
    text = rlt_json_text(*out);
    reader r = {.doc = *out, .text = text, .p = text, .end = text + length, .line_start = text, .err = err};
    r.scratch = malloc(length + 1);
    rc = r.scratch ? read_document(&r) : rlt_nomem(err);
    free(r.scratch);
    if (rc) {
        rlt_json_free(*out);
        *out = NULL;
    }
    return rc;
}
