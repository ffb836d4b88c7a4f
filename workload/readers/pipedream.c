/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses PipeDream's graph.txt. */
#include "workload/readers/pipedream.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "workload/readers/layers.h"

enum { MAX_NODES = 1 << 20, MAX_EDGES = 1 << 22, MAX_STAGES = 4096, MAX_NAME = 200, MAX_LINE = 1 << 16 };
#define MAX_BYTES ((int64_t)1 << 48)
#define MAX_PS    (1000000 * RLT_S)

typedef struct parser {
    rlt_pipedream *out;
    rlt_layer_table table; /* only names the file in errors */
    rlt_strings ids;       /* names of nodes, by number */
    uint8_t *defined;      /* by node */
    uint32_t line;
    uint32_t nodes_room, edges_room, defined_room;
    rlt_error *err;
} parser;

typedef struct span {
    const char *at, *end;
} span;

static int malformed(const parser *r, const char *what, span s)
{
    ptrdiff_t n = s.end - s.at;
    return rlt__layer_fail(&r->table, r->line, RLT_EMALFORMED, r->err, "expected %s, got '%.*s'", what,
                           (int)(n < 80 ? n : 80), s.at);
}

static const char separator[] = " -- ";
enum { SEPARATOR = sizeof separator - 1 };

/* Splits s at its first or last separator. Returns false if it has none. */
static bool cut(span s, bool last, span *left, span *right)
{
    const char *found = NULL;
    for (const char *p = s.at; s.end - p >= SEPARATOR && !(found && !last); p++)
        if (memcmp(p, separator, SEPARATOR) == 0)
            found = p;
    if (!found)
        return false;
    *left = (span){s.at, found};
    *right = (span){found + SEPARATOR, s.end};
    return true;
}

static bool begins(span s, const char *word, span *rest)
{
    size_t n = strlen(word);
    if ((size_t)(s.end - s.at) < n || memcmp(s.at, word, n) != 0)
        return false;
    *rest = (span){s.at + n, s.end};
    return true;
}

/* A number that a line has: how it is called there, its unit, and the largest that is allowed. */
typedef struct figure {
    const char *name;
    int64_t scale, max;
} figure;

static int too_large(const parser *r, const figure *f, span s)
{
    ptrdiff_t n = s.end - s.at;
    return rlt__layer_fail(&r->table, r->line, RLT_ERANGE, r->err, "%s'%.*s' is too large", f->name,
                           (int)(n < 80 ? n : 80), s.at);
}

/* Reads a decimal number without sign and exponent, and moves *s past it. */
static int decimal(const parser *r, const figure *f, span *s, int64_t *out)
{
    span digits = {s->at, s->at};
    while (digits.end < s->end && ((*digits.end >= '0' && *digits.end <= '9') || *digits.end == '.'))
        digits.end++;
    int rc = digits.at == digits.end
                 ? RLT_EMALFORMED
                 : rlt_parse_decimal(digits.at, (size_t)(digits.end - digits.at), f->scale, out);
    if (rc == RLT_ERANGE || (rc == 0 && *out > f->max))
        return too_large(r, f, digits);
    if (rc) {
        char what[64];
        snprintf(what, sizeof what, "%sNUMBER", f->name);
        return malformed(r, what, *s);
    }
    s->at = digits.end;
    return 0;
}

/* Reads "NAME=number" or "NAME=[number; number]", and a comma. */
static int field(const parser *r, const figure *f, span *s, int64_t *out)
{
    span rest;
    int64_t v = 0;
    *out = 0;
    while (s->at < s->end && (*s->at == ' ' || *s->at == ','))
        s->at++;
    if (!begins(*s, f->name, &rest))
        return malformed(r, f->name, *s);
    bool list = begins(rest, "[", &rest);
    int rc = decimal(r, f, &rest, out);
    while (!rc && list && begins(rest, "; ", &rest)) {
        if ((rc = decimal(r, f, &rest, &v)))
            break;
        if (v > f->max - *out)
            return too_large(r, f, (span){s->at, rest.at});
        *out += v;
    }
    if (!rc && list && !begins(rest, "]", &rest))
        rc = malformed(r, "']'", rest);
    *s = rest;
    return rc;
}

/* Finds the number of a node by name, or adds one that is not defined yet. */
static int node_of(parser *r, span name, uint32_t *out)
{
    rlt_pipedream *d = r->out;
    span digits;
    size_t length = (size_t)(name.end - name.at);
    if (!begins(name, "node", &digits) || digits.at == digits.end || length > MAX_NAME)
        return malformed(r, "a node", name);
    if ((*out = rlt_intern_find(&r->ids, name.at, length)) != RLT_NONE)
        return 0;
    uint64_t need = (uint64_t)d->n + 1;
    int rc = rlt_grow(&d->nodes, &r->nodes_room, sizeof *d->nodes, need, MAX_NODES, "nodes", r->err);
    if (rc || (rc = rlt_grow(&r->defined, &r->defined_room, 1, need, MAX_NODES, "nodes", r->err)))
        return rc;
    d->nodes[d->n] = (rlt_pipedream_node){
        .name = rlt_arena_strndup(&d->arena, name.at, length), .line = r->line, .stage = RLT_NONE};
    r->defined[d->n] = false;
    *out = rlt_intern(&r->ids, name.at, length);
    if (!d->nodes[d->n].name || *out == RLT_NONE)
        return rlt_nomem(r->err);
    d->n++;
    return 0;
}

static int read_edge(parser *r, span line)
{
    rlt_pipedream *d = r->out;
    span a, b;
    rlt_pipedream_edge e;
    int rc;
    if (!cut(line, false, &a, &b))
        return malformed(r, "<tab>nodeA -- nodeB", line);
    if ((rc = node_of(r, a, &e.from)) || (rc = node_of(r, b, &e.to)) ||
        (rc = rlt_grow(&d->edges, &r->edges_room, sizeof *d->edges, (uint64_t)d->n_edges + 1, MAX_EDGES,
                       "edges", r->err)))
        return rc;
    d->edges[d->n_edges++] = e;
    return 0;
}

static int read_stage(parser *r, span text, uint32_t *stage)
{
    static const figure f = {"stage_id=", 1, MAX_STAGES - 1};
    span whole = text;
    int64_t v = 0;
    int rc = decimal(r, &f, &text, &v);
    if (!rc && (text.at != text.end || memchr(whole.at, '.', (size_t)(whole.end - whole.at))))
        rc = malformed(r, "a stage", whole);
    *stage = (uint32_t)v;
    if (!rc && *stage >= r->out->stages)
        r->out->stages = *stage + 1;
    return rc;
}

/* Reads the figures of a node. */
static int read_figures(parser *r, span s, rlt_pipedream_node *k)
{
    static const figure figures[] = {{"forward_compute_time=", RLT_MS, MAX_PS},
                                     {"backward_compute_time=", RLT_MS, MAX_PS},
                                     {"activation_size=", 1, MAX_BYTES},
                                     {"parameter_size=", 1, MAX_BYTES}};
    int64_t v[4] = {0};
    int rc = 0;
    for (int i = 0; i < 4 && !rc; i++)
        rc = field(r, &figures[i], &s, &v[i]);
    if (!rc && s.at != s.end)
        rc = malformed(r, "the end of the line", s);
    k->forward_ps = k->input ? 0 : v[0];
    k->backward_ps = k->input ? 0 : v[1];
    k->output_bytes = (uint64_t)v[2];
    k->parameter_bytes = (uint64_t)v[3];
    return rc;
}

static int read_node(parser *r, span line)
{
    span id, rest, name, figures, stage;
    uint32_t node = 0;
    int rc;
    if (!cut(line, false, &id, &rest) || !cut(rest, true, &name, &figures))
        return malformed(r, "node -- description -- forward_compute_time=...", line);
    if ((rc = node_of(r, id, &node)))
        return rc;
    rlt_pipedream_node *k = &r->out->nodes[node];
    if (r->defined[node])
        return rlt__layer_fail(&r->table, r->line, RLT_ESCHEMA, r->err,
                               "'%s' appears a second time: line %" PRIu32 " defines it", k->name, k->line);
    r->defined[node] = true;
    k->line = r->line;
    if (begins(figures, "stage_id=", &stage)) {
        rest = name;
        if (!cut(rest, true, &name, &figures))
            return malformed(r, "measurements before stage_id", rest);
        if ((rc = read_stage(r, stage, &k->stage)))
            return rc;
    }
    k->input = begins(name, "Input", &rest);
    size_t length = (size_t)(name.end - name.at);
    k->description = rlt_arena_strndup(&r->out->arena, name.at, length < MAX_NAME ? length : MAX_NAME);
    return k->description ? read_figures(r, figures, k) : rlt_nomem(r->err);
}

static int read_lines(parser *r, const char *text, size_t length)
{
    const char *from, *to, *end = text + length;
    int rc = 0;
    while (!rc && rlt__text_line(&text, end, &r->line, &from, &to)) {
        if (from == to)
            continue;
        if (to - from > MAX_LINE)
            return rlt__layer_fail(&r->table, r->line, RLT_EMALFORMED, r->err,
                                   "expected lines of at most %d bytes, got %td", MAX_LINE, to - from);
        if (memchr(from, '\0', (size_t)(to - from)))
            return rlt__layer_fail(&r->table, r->line, RLT_EMALFORMED, r->err, "a zero byte");
        rc = *from == '\t' ? read_edge(r, (span){from + 1, to}) : read_node(r, (span){from, to});
    }
    if (!rc && r->out->n == 0)
        rc = rlt__layer_fail(&r->table, r->line ? r->line : 1, RLT_ESCHEMA, r->err, "the file has no nodes");
    return rc;
}

/* Checks that every node is defined, that all nodes or none have a stage, and that every stage has nodes. */
static int check_nodes(const parser *r)
{
    const rlt_pipedream *d = r->out;
    uint8_t seen[MAX_STAGES] = {0};
    for (uint32_t i = 0; i < d->n; i++) {
        const rlt_pipedream_node *k = &d->nodes[i];
        if (!r->defined[i])
            return rlt__layer_fail(&r->table, k->line, RLT_ESCHEMA, r->err,
                                   "expected two nodes of this file, but no line defines '%s'", k->name);
        if (d->stages && k->stage == RLT_NONE)
            return rlt__layer_fail(&r->table, k->line, RLT_ESCHEMA, r->err,
                                   "this node has no stage_id, but other nodes have one");
        if (d->stages)
            seen[k->stage] = 1;
    }
    for (uint32_t s = 0; s < d->stages; s++)
        if (!seen[s])
            return rlt__layer_fail(&r->table, 1, RLT_ESCHEMA, r->err,
                                   "stage %" PRIu32 " of %" PRIu32 " has no nodes", s, d->stages);
    return 0;
}

int rlt__pipedream_parse(const char *path, const char *text, size_t length, rlt_pipedream *out,
                         rlt_error *err)
{
    parser r = {.out = out, .table.file = path, .err = err};
    *out = (rlt_pipedream){0};
    int rc = read_lines(&r, text, length);
    if (!rc)
        rc = check_nodes(&r);
    rlt_strings_free(&r.ids);
    free(r.defined);
    return rc;
}

void rlt__pipedream_free(rlt_pipedream *d)
{
    free(d->nodes);
    free(d->edges);
    rlt_arena_free(&d->arena);
    *d = (rlt_pipedream){0};
}

int rlt__pipedream_probe(const char *head, size_t n)
{
    const char *end = memchr(head, '\n', n);
    span line = {head, end ? end : head + n}, a, b, rest;
    if (begins(line, "\t", &line))
        return cut(line, false, &a, &b) && begins(a, "node", &rest) && begins(b, "node", &rest) ? 60 : 0;
    if (!begins(line, "node", &rest) || !cut(line, false, &a, &b))
        return 0;
    while (cut(b, false, &a, &rest)) {
        b = rest;
        if (begins(b, "forward_compute_time=", &rest))
            return 95;
    }
    return 0;
}
