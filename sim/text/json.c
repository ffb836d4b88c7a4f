/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Strict JSON documents on top of cJSON. cJSON keeps no positions and accepts invalid text: duplicate keys,
 * trailing text, leading zeros, control characters. It turns every number into a double. Therefore the text
 * is first scanned for grammar and depth, then parsed. Then tree and text are walked side by side, and each
 * node's valueint (otherwise unused) becomes the offset of its value in the text. Places and exact digits are
 * read at that offset; paths are only searched for messages.
 */
#include "sim/text/json.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/base/units.h"
#include "sim/text/file.h"
#include "sim/text/json_build.h"
#include "sim/text/json_scan.h"

enum { MAX_DEPTH = RLT__JSON_DEPTH, MAX_BYTES = 256 << 20, MAX_KEY = 64 };

struct rlt_json_doc {
    char *name, *text;
    size_t length;
    cJSON *root;
};

/* ---- places and paths ---- */

static void line_column(const rlt_json_doc *doc, size_t offset, unsigned *line, unsigned *column)
{
    *line = *column = 1;
    for (size_t i = 0; i < offset; i++) {
        bool newline = doc->text[i] == '\n';
        *line += newline;
        *column = newline ? 1 : *column + 1;
    }
}

int rlt__json_fail_at(const rlt_json_doc *doc, size_t offset, rlt_error *err, const char *what)
{
    char where[sizeof err->where];
    unsigned line, column;
    line_column(doc, offset, &line, &column);
    snprintf(where, sizeof where, "%.400s:%u:%u", doc->name, line, column);
    return rlt_fail(err, RLT_EMALFORMED, where, "%s", what);
}

/* Gives every node its offset. The text is known to be valid and to match the tree. */
static void place(cJSON *node, rlt__json_scanner *s)
{
    rlt__json_space(s);
    node->valueint = (int)(s->p - s->text);
    if (!cJSON_IsObject(node) && !cJSON_IsArray(node)) {
        rlt__json_scan(s, 0);
        return;
    }
    s->p++;
    for (cJSON *child = node->child; child; child = child->next) {
        rlt__json_space(s);
        if (cJSON_IsObject(node)) {
            rlt__json_scan_string(s);
            rlt__json_space(s);
            s->p++;
        }
        place(child, s);
        rlt__json_space(s);
        s->p += *s->p == ',';
    }
    rlt__json_space(s);
    s->p++;
}

static int by_key(const void *a, const void *b)
{
    const cJSON *x = *(const cJSON *const *)a, *y = *(const cJSON *const *)b;
    int order = strcmp(x->string, y->string);
    return order ? order : (x->valueint > y->valueint) - (x->valueint < y->valueint);
}

static int refuse_duplicates_here(const rlt_json_doc *doc, const cJSON *object, rlt_error *err)
{
    size_t n = (size_t)cJSON_GetArraySize(object), i = 0;
    if (n < 2)
        return 0;
    const cJSON **members = malloc(n * sizeof *members);
    if (!members)
        return rlt_nomem(err);
    for (const cJSON *c = object->child; c; c = c->next)
        members[i++] = c;
    qsort(members, n, sizeof *members, by_key);
    const cJSON *twice = NULL;
    for (i = 1; i < n; i++)
        if (strcmp(members[i - 1]->string, members[i]->string) == 0 &&
            (!twice || members[i]->valueint < twice->valueint))
            twice = members[i];
    free(members);
    if (!twice)
        return 0;
    return rlt_json_fail((rlt_json){doc, twice}, RLT_EMALFORMED, err, "the key '%.64s' is given twice",
                         twice->string);
}

static int refuse_duplicates(const rlt_json_doc *doc, const cJSON *node, rlt_error *err)
{
    int rc = cJSON_IsObject(node) ? refuse_duplicates_here(doc, node, err) : 0;
    for (const cJSON *c = node->child; c && rc == 0; c = c->next)
        if (c->child)
            rc = refuse_duplicates(doc, c, err);
    return rc;
}

/* Fills the nodes from the root to `target` and returns their number, or 0. Nodes are in text order, so
 * offsets tell which child to enter. */
static int find_path(const cJSON *root, const cJSON *target, const cJSON **path)
{
    int n = 0;
    const cJSON *node = root;
    while (node && n <= MAX_DEPTH) {
        path[n++] = node;
        if (node == target)
            return n;
        const cJSON *inside = NULL;
        for (const cJSON *c = node->child; c && c->valueint <= target->valueint; c = c->next)
            inside = c;
        node = inside;
    }
    return 0;
}

static size_t append_step(char *buffer, size_t size, size_t used, const cJSON *parent, const cJSON *child,
                          bool first)
{
    int n;
    if (cJSON_IsObject(parent)) {
        n = snprintf(buffer + used, size - used, "%s%.64s", first ? "" : ".", child->string);
    } else {
        unsigned i = 0;
        for (const cJSON *c = parent->child; c != child; c = c->next)
            i++;
        n = snprintf(buffer + used, size - used, "[%u]", i);
    }
    return n < 0 || (size_t)n >= size - used ? size - 1 : used + (size_t)n;
}

void rlt_json_where(rlt_json v, char *buffer, size_t size)
{
    if (size == 0)
        return;
    buffer[0] = 0;
    if (!v.node)
        return;
    const cJSON *node = v.node, *path[MAX_DEPTH + 1];
    unsigned line, column;
    line_column(v.doc, (size_t)node->valueint, &line, &column);
    int head = snprintf(buffer, size, "%.200s:%u:%u", v.doc->name, line, column);
    size_t used = head < 0 ? 0 : (size_t)head < size ? (size_t)head : size - 1, start;
    int n = find_path(v.doc->root, node, path);
    if (n > 1 && used + 3 < size) {
        memcpy(buffer + used, ": ", 3);
        used += 2;
    }
    start = used;
    for (int i = 1; i < n; i++)
        used = append_step(buffer, size, used, path[i - 1], path[i], i == 1);
    for (; start < used; start++)
        if ((unsigned char)buffer[start] < 0x20)
            buffer[start] = '?';
}

void rlt_json_extent(rlt_json v, size_t *begin, size_t *end)
{
    const cJSON *node = v.node;
    *begin = *end = 0;
    if (!node)
        return;
    *begin = (size_t)node->valueint;
    rlt__json_scanner s = {
        .text = v.doc->text, .p = v.doc->text + *begin, .end = v.doc->text + v.doc->length};
    rlt__json_scan(&s, 0);
    *end = (size_t)(s.p - v.doc->text);
}

int rlt_json_fail(rlt_json v, int code, rlt_error *err, const char *fmt, ...)
{
    char where[sizeof err->where];
    va_list args;
    if (!err)
        return code;
    rlt_json_where(v, where, sizeof where);
    va_start(args, fmt);
    rlt_vfail(err, code, where, fmt, args);
    va_end(args);
    return code;
}

/* ---- documents ---- */

static int build(rlt_json_doc *doc, rlt_error *err)
{
    const char *text = doc->text;
    size_t bom = doc->length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    rlt__json_scanner s = {.text = text, .p = text + bom, .end = text + doc->length};
    if (rlt__json_scan(&s, 0)) {
        rlt__json_space(&s);
        if (s.p < s.end)
            s.what = "text after the end of the document";
    }
    if (s.what)
        return rlt__json_fail_at(doc, (size_t)(s.p - text), err, s.what);
    doc->root = cJSON_ParseWithLength(text + bom, doc->length - bom);
    if (!doc->root)
        return rlt_nomem(err); /* the grammar was checked above */
    s.p = text + bom;
    place(doc->root, &s);
    return refuse_duplicates(doc, doc->root, err);
}

int rlt__json_create(const char *name, const char *text, size_t length, rlt_json_doc **out, rlt_error *err)
{
    *out = NULL;
    if (length > MAX_BYTES)
        return rlt_fail(err, RLT_ERANGE, name, "the file is larger than %d MiB", MAX_BYTES >> 20);
    rlt_json_doc *doc = calloc(1, sizeof *doc);
    if (!doc)
        return rlt_nomem(err);
    doc->name = strdup(name ? name : "");
    doc->text = malloc(length + 1);
    doc->length = length;
    if (!doc->name || !doc->text) {
        rlt_json_free(doc);
        return rlt_nomem(err);
    }
    if (length > 0)
        memcpy(doc->text, text, length);
    doc->text[length] = 0;
    *out = doc;
    return 0;
}

int rlt_json_parse(const char *name, const char *text, size_t length, rlt_json_doc **out, rlt_error *err)
{
    int rc = rlt__json_create(name, text, length, out, err);
    if (rc == 0 && (rc = build(*out, err)) < 0) {
        rlt_json_free(*out);
        *out = NULL;
    }
    return rc;
}

static cJSON *new_node(rlt__json_kind kind, const char *text)
{
    switch (kind) {
    case RLT__JSON_NUMBER:
        return cJSON_Parse(text);
    case RLT__JSON_STRING:
        return cJSON_CreateString(text);
    case RLT__JSON_ARRAY:
        return cJSON_CreateArray();
    case RLT__JSON_OBJECT:
        return cJSON_CreateObject();
    default:
        return kind == RLT__JSON_NULL ? cJSON_CreateNull() : cJSON_CreateBool(kind == RLT__JSON_TRUE);
    }
}

rlt_json rlt__json_add(rlt_json_doc *doc, rlt_json parent, const char *key, rlt__json_kind kind,
                       const char *text, size_t offset)
{
    cJSON *node = new_node(kind, text), *to = (cJSON *)(uintptr_t)parent.node;
    if (node && to && !(key ? cJSON_AddItemToObject(to, key, node) : cJSON_AddItemToArray(to, node))) {
        cJSON_Delete(node);
        node = NULL;
    }
    if (!node)
        return (rlt_json){NULL, NULL};
    node->valueint = (int)offset;
    if (!to)
        doc->root = node;
    return (rlt_json){doc, node};
}

int rlt__json_finish(const rlt_json_doc *doc, rlt_error *err)
{
    return refuse_duplicates(doc, doc->root, err);
}

int rlt_json_load(const char *path, rlt_json_doc **out, rlt_error *err)
{
    char *text = NULL;
    size_t length;
    *out = NULL;
    int rc = rlt_read_file(path, MAX_BYTES, &text, &length, err);
    if (rc < 0)
        return rc;
    rc = rlt_json_parse(strcmp(path, "-") == 0 ? "standard input" : path, text, length, out, err);
    free(text);
    return rc;
}

void rlt_json_free(rlt_json_doc *doc)
{
    if (!doc)
        return;
    cJSON_Delete(doc->root);
    free(doc->text);
    free(doc->name);
    free(doc);
}

/* ---- values ---- */

static rlt_json value(const rlt_json_doc *doc, const cJSON *node)
{
    return (rlt_json){node ? doc : NULL, node};
}

const char *rlt_json_text(const rlt_json_doc *doc)
{
    return doc->text;
}

rlt_json rlt_json_root(const rlt_json_doc *doc)
{
    return value(doc, doc->root);
}

bool rlt_json_is_object(rlt_json v)
{
    return cJSON_IsObject(v.node);
}

bool rlt_json_is_array(rlt_json v)
{
    return cJSON_IsArray(v.node);
}

bool rlt_json_is_string(rlt_json v)
{
    return cJSON_IsString(v.node);
}

bool rlt_json_is_number(rlt_json v)
{
    return cJSON_IsNumber(v.node);
}

bool rlt_json_is_true(rlt_json v)
{
    return cJSON_IsTrue(v.node);
}

rlt_json rlt_json_get(rlt_json v, const char *key)
{
    return value(v.doc, cJSON_IsObject(v.node) ? cJSON_GetObjectItemCaseSensitive(v.node, key) : NULL);
}

uint32_t rlt_json_count(rlt_json v)
{
    return v.node ? (uint32_t)cJSON_GetArraySize(v.node) : 0;
}

rlt_json rlt_json_first(rlt_json v)
{
    return value(v.doc, v.node ? ((const cJSON *)v.node)->child : NULL);
}

rlt_json rlt_json_next(rlt_json v)
{
    return value(v.doc, v.node ? ((const cJSON *)v.node)->next : NULL);
}

rlt_json rlt_json_at(rlt_json v, uint32_t i)
{
    rlt_json c = rlt_json_first(v);
    while (rlt_json_is(c) && i-- > 0)
        c = rlt_json_next(c);
    return c;
}

const char *rlt_json_key(rlt_json v)
{
    return v.node ? ((const cJSON *)v.node)->string : NULL;
}

const char *rlt_json_string(rlt_json v)
{
    return cJSON_IsString(v.node) ? ((const cJSON *)v.node)->valuestring : NULL;
}

/* ---- strict objects and typed members ---- */

/* Returns the number of edits (insert, delete, replace) that turn a into b. Both are cut at MAX_KEY. */
static size_t edits(const char *a, const char *b)
{
    size_t row[MAX_KEY + 1], n = strnlen(a, MAX_KEY), m = strnlen(b, MAX_KEY);
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            best = row[j] + 1 < best ? row[j] + 1 : best;
            row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
        }
    }
    return row[m];
}

static int unknown_key(rlt_json member, const char *const *keys, rlt_error *err)
{
    const char *key = rlt_json_key(member), *nearest = NULL;
    char list[512] = "";
    size_t least = SIZE_MAX;
    for (; *keys; keys++) {
        size_t d = edits(key, *keys);
        if (d < least) {
            least = d;
            nearest = *keys;
        }
        rlt_list_name(list, sizeof list, *keys);
    }
    if (nearest && least * 2 <= strlen(nearest))
        return rlt_json_fail(member, RLT_ESCHEMA, err, "unknown key '%.64s', did you mean '%s'?", key,
                             nearest);
    return rlt_json_fail(member, RLT_ESCHEMA, err, "unknown key '%.64s', expected one of: %s", key, list);
}

int rlt_json_only(rlt_json v, const char *const *keys, rlt_error *err)
{
    if (!rlt_json_is_object(v))
        return rlt_json_fail(v, RLT_ESCHEMA, err, "expected an object");
    for (rlt_json m = rlt_json_first(v); rlt_json_is(m); m = rlt_json_next(m)) {
        const char *key = rlt_json_key(m);
        const char *const *k = keys;
        while (*k && strcmp(*k, key) != 0)
            k++;
        if (!*k && key[0] != '_')
            return unknown_key(m, keys, err);
    }
    return 0;
}

/* Returns 1 with *m, 0 if the member is absent and optional, or a negative code if it is absent and
 * required. */
static int member(rlt_json v, const char *key, bool required, rlt_json *m, rlt_error *err)
{
    *m = rlt_json_get(v, key);
    if (rlt_json_is(*m))
        return 1;
    return required ? rlt_json_fail(v, RLT_ESCHEMA, err, "missing '%s'", key) : 0;
}

/* Copies the digits of a number as they stand in the text. */
static void digits(rlt_json v, char *buffer, size_t size)
{
    const char *p = v.doc->text + ((const cJSON *)v.node)->valueint;
    size_t n = strspn(p, "+-.0123456789eE");
    snprintf(buffer, size, "%.*s", (int)(n < size ? n : size - 1), p);
}

int rlt_json_get_string(rlt_json v, const char *key, bool required, const char **out, rlt_error *err)
{
    rlt_json m;
    int rc = member(v, key, required, &m, err);
    if (rc <= 0)
        return rc;
    if (!rlt_json_is_string(m))
        return rlt_json_fail(m, RLT_ESCHEMA, err, "expected a string");
    *out = rlt_json_string(m);
    return 0;
}

int rlt_json_u64(rlt_json v, uint64_t max, uint64_t *out, rlt_error *err)
{
    char raw[32];
    if (!rlt_json_is_number(v))
        return rlt_json_fail(v, RLT_ESCHEMA, err, "expected a whole number");
    digits(v, raw, sizeof raw);
    if (raw[0] == '-')
        return rlt_json_fail(v, RLT_ERANGE, err, "expected a number from 0 to %llu, got %s",
                             (unsigned long long)max, raw);
    uint64_t n = 0;
    for (const char *p = raw; *p; p++) {
        if (*p < '0' || *p > '9')
            return rlt_json_fail(v, RLT_ESCHEMA, err, "expected a whole number, got %s", raw);
        uint64_t d = (uint64_t)(*p - '0');
        if (n > max / 10 || n * 10 > max - (d < max ? d : max) || d > max)
            return rlt_json_fail(v, RLT_ERANGE, err, "expected a number from 0 to %llu, got %s",
                                 (unsigned long long)max, raw);
        n = n * 10 + d;
    }
    *out = n;
    return 0;
}

int rlt_json_get_u64(rlt_json v, const char *key, bool required, uint64_t max, uint64_t *out, rlt_error *err)
{
    rlt_json m;
    int rc = member(v, key, required, &m, err);
    return rc <= 0 ? rc : rlt_json_u64(m, max, out, err);
}

int rlt_json_get_double(rlt_json v, const char *key, bool required, double *out, rlt_error *err)
{
    rlt_json m;
    int rc = member(v, key, required, &m, err);
    if (rc <= 0)
        return rc;
    if (!rlt_json_is_number(m))
        return rlt_json_fail(m, RLT_ESCHEMA, err, "expected a number");
    double x = ((const cJSON *)m.node)->valuedouble;
    if (!isfinite(x))
        return rlt_json_fail(m, RLT_ERANGE, err, "the number is too large");
    *out = x;
    return 0;
}

int rlt_json_get_bool(rlt_json v, const char *key, bool required, bool *out, rlt_error *err)
{
    rlt_json m;
    int rc = member(v, key, required, &m, err);
    if (rc <= 0)
        return rc;
    if (!cJSON_IsBool(m.node))
        return rlt_json_fail(m, RLT_ESCHEMA, err, "expected true or false");
    *out = rlt_json_is_true(m);
    return 0;
}

const char *rlt_json_scalar(rlt_json v, char *buffer, size_t size)
{
    if (rlt_json_is_string(v))
        return rlt_json_string(v);
    if (!rlt_json_is_number(v))
        return NULL;
    digits(v, buffer, size);
    return buffer;
}

/* Returns the text of a quantity: a string, or bare digits, which the parser of units then accepts (0) or
 * refuses with its own message. Fills `where` only for a wrong quantity, because finding a place costs a
 * walk. */
static int quantity(rlt_json m, char *buffer, size_t size, const char **text, rlt_error *err)
{
    *text = rlt_json_scalar(m, buffer, size);
    return *text ? 0 : rlt_json_fail(m, RLT_ESCHEMA, err, "expected a string with a number and a unit");
}

/* Reads a member with a unit, by one of the parsers of units. */
static int measured(rlt_json v, const char *key, bool required, uint64_t *out,
                    int (*parse)(const char *, uint64_t *, const char *, rlt_error *), rlt_error *err)
{
    char buffer[64], where[sizeof err->where];
    const char *text;
    rlt_json m;
    int rc = member(v, key, required, &m, err);
    if (rc <= 0 || (rc = quantity(m, buffer, sizeof buffer, &text, err)) < 0 ||
        (rc = parse(text, out, NULL, NULL)) == 0)
        return rc;
    rlt_json_where(m, where, sizeof where);
    return parse(text, out, where, err);
}

int rlt_json_get_rate(rlt_json v, const char *key, bool required, uint64_t *bw_Bps, rlt_error *err)
{
    return measured(v, key, required, bw_Bps, rlt_parse_rate, err);
}

int rlt_json_get_size(rlt_json v, const char *key, bool required, uint64_t *out, rlt_error *err)
{
    return measured(v, key, required, out, rlt_parse_size, err);
}

int rlt_json_get_flops(rlt_json v, const char *key, bool required, uint64_t *out, rlt_error *err)
{
    return measured(v, key, required, out, rlt_parse_flops, err);
}

int rlt_json_get_duration(rlt_json v, const char *key, bool required, rlt_time *out, rlt_error *err)
{
    char buffer[64], where[sizeof err->where];
    const char *text;
    rlt_json m;
    int rc = member(v, key, required, &m, err);
    if (rc <= 0 || (rc = quantity(m, buffer, sizeof buffer, &text, err)) < 0 ||
        (rc = rlt_parse_duration(text, out, NULL, NULL)) == 0)
        return rc;
    rlt_json_where(m, where, sizeof where);
    return rlt_parse_duration(text, out, where, err);
}

const char *rlt_json_version(void)
{
    return cJSON_Version();
}
