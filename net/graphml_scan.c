/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scans a GraphML text for its nodes and edges. */
#include "net/graphml_scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/mem.h"
#include "sim/time.h"

enum { MAX_ELEMENTS = 1 << 26, MAX_ID = 256 };

typedef struct cursor {
    const char *name, *p, *end;
    uint32_t line;
    int graphs; /* <graph> elements so far */
    rlt_graphml_scan *s;
    rlt_error *err;
} cursor;

static int fail(const cursor *c, int code, const char *format, const char *detail)
{
    char where[512];
    snprintf(where, sizeof where, "%s:%u", c->name, c->line);
    return rlt_fail(c->err, code, where, format, detail);
}

static bool at(const cursor *c, const char *text)
{
    size_t n = strlen(text);
    return (size_t)(c->end - c->p) >= n && memcmp(c->p, text, n) == 0;
}

/* Past the next occurrence of `text`, or to the end. */
static void skip_past(cursor *c, const char *text)
{
    for (; c->p < c->end; c->p++) {
        if (at(c, text)) {
            c->p += strlen(text);
            return;
        }
        c->line += *c->p == '\n';
    }
}

static bool blank(char ch)
{
    return ch == ' ' || ch == '\t' || ch == '\r' || ch == '\n';
}

/* One attribute: key and value as they stand in the text; false at the end of the tag. */
static bool attribute(cursor *c, const char **key, size_t *key_n, const char **value, size_t *value_n)
{
    while (c->p < c->end && (blank(*c->p) || *c->p == '/'))
        c->line += *c->p++ == '\n';
    *key = c->p;
    while (c->p < c->end && !blank(*c->p) && *c->p != '=' && *c->p != '>')
        c->p++;
    *key_n = (size_t)(c->p - *key);
    while (c->p < c->end && blank(*c->p))
        c->line += *c->p++ == '\n';
    if (c->p >= c->end || *c->p != '=' || !*key_n)
        return false;
    c->p++;
    while (c->p < c->end && blank(*c->p))
        c->line += *c->p++ == '\n';
    if (c->p >= c->end || (*c->p != '"' && *c->p != '\''))
        return false;
    char quote = *c->p++;
    *value = c->p;
    while (c->p < c->end && *c->p != quote)
        c->line += *c->p++ == '\n';
    *value_n = (size_t)(c->p - *value);
    if (c->p < c->end)
        c->p++;
    return true;
}

/* Replaces the five entities of XML; other references stay as they are, which is all an id needs. */
static size_t decode(char *out, const char *text, size_t n)
{
    static const struct {
        const char *name;
        char ch;
    } entity[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    size_t used = 0;
    for (size_t i = 0; i < n;) {
        size_t e = 0, skip = 0;
        for (; text[i] == '&' && e < 5; e++) {
            skip = strlen(entity[e].name);
            if (n - i >= skip && memcmp(text + i, entity[e].name, skip) == 0)
                break;
        }
        if (text[i] == '&' && e < 5) {
            out[used++] = entity[e].ch;
            i += skip;
        } else {
            out[used++] = text[i++];
        }
    }
    out[used] = '\0';
    return used;
}

/* The attributes of a tag that matter here. */
typedef struct tag {
    char id[MAX_ID], source[MAX_ID], target[MAX_ID], direction[MAX_ID];
    bool has_id, has_source, has_target, has_direction;
} tag;

static int read_tag(cursor *c, tag *t)
{
    const char *key, *value;
    size_t key_n, value_n;
    *t = (tag){0};
    while (attribute(c, &key, &key_n, &value, &value_n)) {
        struct {
            const char *key;
            char *to;
            bool *has;
        } wanted[] = {{"id", t->id, &t->has_id},
                      {"source", t->source, &t->has_source},
                      {"target", t->target, &t->has_target},
                      {"directed", t->direction, &t->has_direction},
                      {"edgedefault", t->direction, &t->has_direction}};
        for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
            if (strlen(wanted[i].key) != key_n || memcmp(wanted[i].key, key, key_n) != 0)
                continue;
            if (value_n >= MAX_ID)
                return fail(c, RLT_ERANGE, "the value of '%s' is longer than 255 bytes", wanted[i].key);
            decode(wanted[i].to, value, value_n);
            *wanted[i].has = true;
        }
    }
    return 0;
}

static int add_node(cursor *c, const tag *t, uint32_t line)
{
    rlt_graphml_scan *s = c->s;
    if (!t->has_id || !t->id[0])
        return fail(c, RLT_ESCHEMA, "%s", "a node without an id");
    uint32_t k = rlt_intern(&s->ids, t->id, strlen(t->id));
    if (k == RLT_NONE)
        return rlt_nomem(c->err);
    if (k != s->n_nodes)
        return fail(c, RLT_ESCHEMA, "node '%s' is declared twice", t->id);
    int rc = rlt_grow(&s->node_line, &s->node_capacity, sizeof *s->node_line, s->n_nodes + 1ull, MAX_ELEMENTS,
                      "nodes", c->err);
    if (!rc)
        s->node_line[s->n_nodes++] = line;
    return rc;
}

static int add_edge(cursor *c, const tag *t, uint32_t line)
{
    rlt_graphml_scan *s = c->s;
    uint32_t **arrays[3] = {&s->edge_line, &s->src, &s->dst};
    if (!t->has_source || !t->has_target)
        return fail(c, RLT_ESCHEMA, "%s", "an edge without source or target");
    uint32_t src = rlt_intern_find(&s->ids, t->source, strlen(t->source));
    uint32_t dst = rlt_intern_find(&s->ids, t->target, strlen(t->target));
    if (src == RLT_NONE || dst == RLT_NONE)
        return fail(c, RLT_ESCHEMA, "the edge names node '%s', which is not declared before it",
                    src == RLT_NONE ? t->source : t->target);
    if (t->has_direction && (strcmp(t->direction, "true") == 0) != s->directed)
        return fail(c, RLT_ESCHEMA, "edge with directed=\"%s\" in a graph whose edges are otherwise",
                    t->direction);
    for (int i = 0; i < 3; i++) {
        int rc = rlt_grow(arrays[i], &s->edge_capacity[i], sizeof **arrays[i], s->n_edges + 1ull,
                          MAX_ELEMENTS, "edges", c->err);
        if (rc)
            return rc;
    }
    s->edge_line[s->n_edges] = line;
    s->src[s->n_edges] = src;
    s->dst[s->n_edges++] = dst;
    return 0;
}

static int element(cursor *c)
{
    const char *start = ++c->p;
    uint32_t line = c->line;
    while (c->p < c->end && !blank(*c->p) && *c->p != '>' && *c->p != '/') {
        if (*c->p++ == ':')
            start = c->p; /* a namespace prefix */
    }
    size_t n = (size_t)(c->p - start);
    tag t;
    int rc = read_tag(c, &t);
    if (rc)
        return rc;
    if (n == 4 && memcmp(start, "node", n) == 0)
        return add_node(c, &t, line);
    if (n == 4 && memcmp(start, "edge", n) == 0)
        return add_edge(c, &t, line);
    if (n == 9 && memcmp(start, "hyperedge", n) == 0)
        return fail(c, RLT_ESCHEMA, "%s", "hyperedges are not supported: add a switch node");
    if (n == 5 && memcmp(start, "graph", n) == 0) {
        if (c->graphs++)
            return fail(c, RLT_ESCHEMA, "%s", "a second <graph>: one per file, not nested");
        c->s->directed = t.has_direction && strcmp(t.direction, "directed") == 0;
    }
    return 0;
}

int rlt_graphml_scan_text(const char *name, const char *text, size_t length, rlt_graphml_scan *s,
                          rlt_error *err)
{
    cursor c = {.name = name, .p = text, .end = text + length, .line = 1, .s = s, .err = err};
    *s = (rlt_graphml_scan){0};
    while (c.p < c.end) {
        int rc = 0;
        if (*c.p != '<') {
            c.line += *c.p++ == '\n';
        } else if (at(&c, "<!--")) {
            skip_past(&c, "-->");
        } else if (at(&c, "<![CDATA[")) {
            skip_past(&c, "]]>");
        } else if (at(&c, "<?")) {
            skip_past(&c, "?>");
        } else if (at(&c, "<!")) {
            rc = fail(&c, RLT_EMALFORMED, "%s", "document types and entity declarations are not read");
        } else if (at(&c, "</")) {
            skip_past(&c, ">");
        } else {
            rc = element(&c);
        }
        if (rc)
            return rc;
    }
    return 0;
}

void rlt_graphml_scan_free(rlt_graphml_scan *s)
{
    rlt_strings_free(&s->ids);
    free(s->node_line);
    free(s->edge_line);
    free(s->src);
    free(s->dst);
}
