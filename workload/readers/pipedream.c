/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads PipeDream's profile (graph.txt) into a program of one minibatch: nodes with times and bytes, and
 * edges between them. Nodes named Input load data and take no time here.
 *
 * Without stages all ranks run all nodes: forward in an order that the edges allow, backward in reverse. They
 * reduce each node's parameters beside the backward pass. With stage_id, rank s * d + i is copy i of stage s.
 * Data that crosses a cut is sent once to each stage that needs it, and its gradient comes back with the same
 * size. The copies of a stage reduce its parameters.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/text/file.h"
#include "workload/program/reader.h"
#include "workload/readers/pipedream.h"

#define MAX_FILE_BYTES ((size_t)1 << 28)
#define MAX_BYTES      0x1p48
#define MAX_MS         1e9
enum { MAX_EDGES = 1 << 22, MAX_STAGES = 4096, MAX_NAME = 200 };

typedef struct reading {
    rlt_pipedream d;
    const char *at, *end;
    uint32_t line;
    uint32_t edge_capacity, stage_capacity;
    rlt_error *err;
} reading;

typedef struct span {
    const char *at, *end;
} span;

static int malformed(const reading *r, const char *what, span s)
{
    ptrdiff_t n = s.end - s.at;
    return rlt__layer_fail(&r->d.t, r->line, RLT_EMALFORMED, r->err, "expected %s, got '%.*s'", what,
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

/* Reads a decimal number and moves *s past it. */
static int decimal(const reading *r, const char *what, double max, span *s, double *out)
{
    char text[64];
    size_t n = 0;
    while (s->at + n < s->end && n + 1 < sizeof text && strchr("0123456789.", s->at[n]))
        n++;
    memcpy(text, s->at, n);
    text[n] = '\0';
    char *end = text;
    double v = n ? strtod(text, &end) : 0;
    if (n == 0 || *end)
        return malformed(r, what, *s);
    if (v > max)
        return rlt__layer_fail(&r->d.t, r->line, RLT_ERANGE, r->err, "%s: '%s' is too large", what, text);
    s->at += n;
    *out = v;
    return 0;
}

/* Reads "NAME=number" or "NAME=[number; number]", and a comma. */
static int field(const reading *r, const char *name, double max, span *s, double *out)
{
    span rest;
    double v = 0;
    *out = 0;
    while (s->at < s->end && (*s->at == ' ' || *s->at == ','))
        s->at++;
    if (!begins(*s, name, &rest))
        return malformed(r, name, *s);
    bool list = begins(rest, "[", &rest);
    int rc = decimal(r, name, max, &rest, &v);
    for (*out = v; !rc && list && begins(rest, "; ", &rest); *out += v)
        rc = decimal(r, name, max, &rest, &v);
    if (!rc && list && !begins(rest, "]", &rest))
        rc = malformed(r, "']'", rest);
    if (!rc && *out > max)
        rc = rlt__layer_fail(&r->d.t, r->line, RLT_ERANGE, r->err, "%s is too large", name);
    *s = rest;
    return rc;
}

/* Finds the number of a node by name, or adds one. */
static int node_of(reading *r, span name, uint32_t *out)
{
    span digits;
    if (!begins(name, "node", &digits) || digits.at == digits.end || name.end - name.at > MAX_NAME)
        return malformed(r, "a node", name);
    *out = rlt_intern(&r->d.ids, name.at, (size_t)(name.end - name.at));
    return *out == RLT_NONE ? rlt_nomem(r->err) : 0;
}

/* Makes room for the layer of a number. line 0: not described yet. */
static int make_room(reading *r, uint32_t node)
{
    rlt_layer_table *t = &r->d.t;
    if (node < t->n)
        return 0;
    int rc = rlt_grow(&t->layers, &t->capacity, sizeof *t->layers, (uint64_t)node + 1, RLT_MAX_LAYERS,
                      "nodes", r->err);
    if (!rc)
        rc = rlt_grow(&r->d.nodes, &r->stage_capacity, sizeof *r->d.nodes, (uint64_t)node + 1, RLT_MAX_LAYERS,
                      "nodes", r->err);
    for (; !rc && t->n <= node; t->n++) {
        t->layers[t->n] = (rlt_layer){.line = 0};
        r->d.nodes[t->n] = (rlt_pipedream_node){.first_line = r->line};
    }
    return rc;
}

static int read_edge(reading *r, span line)
{
    span a, b;
    rlt_pipedream_edge e;
    int rc;
    if (!cut(line, false, &a, &b))
        return malformed(r, "nodeA -- nodeB", line);
    if ((rc = node_of(r, a, &e.from)) || (rc = make_room(r, e.from)) || (rc = node_of(r, b, &e.to)) ||
        (rc = make_room(r, e.to)))
        return rc;
    rc = rlt_grow(&r->d.edges, &r->edge_capacity, sizeof *r->d.edges, (uint64_t)r->d.n_edges + 1, MAX_EDGES,
                  "edges", r->err);
    if (!rc)
        r->d.edges[r->d.n_edges++] = e;
    return rc;
}

static int read_stage(reading *r, span text, uint32_t *stage)
{
    double v = 0;
    int rc = decimal(r, "a stage", MAX_STAGES - 1, &text, &v);
    if (!rc && (text.at != text.end || floor(v) != v))
        rc = malformed(r, "a stage", text);
    *stage = (uint32_t)v;
    return rc;
}

static int read_node(reading *r, span line)
{
    span id, rest, name, figures, stage;
    uint32_t node = 0;
    double forward = 0, backward = 0, activation = 0, parameters = 0;
    int rc;
    if (!cut(line, false, &id, &rest) || !cut(rest, true, &name, &figures))
        return malformed(r, "node -- description -- forward_compute_time=...", line);
    if ((rc = node_of(r, id, &node)) || (rc = make_room(r, node)))
        return rc;
    rlt_layer *l = &r->d.t.layers[node];
    rlt_pipedream_node *k = &r->d.nodes[node];
    if (l->line)
        return rlt__layer_fail(&r->d.t, r->line, RLT_ESCHEMA, r->err, "this node appears a second time");
    l->line = r->line;
    k->stage = RLT_NONE;
    if (begins(figures, "stage_id=", &stage)) {
        rest = name;
        if (!cut(rest, true, &name, &figures))
            return malformed(r, "expected measurements before stage_id", rest);
        if ((rc = read_stage(r, stage, &k->stage)))
            return rc;
        r->d.stages = k->stage >= r->d.stages ? k->stage + 1 : r->d.stages;
    }
    if ((rc = field(r, "forward_compute_time=", MAX_MS, &figures, &forward)) ||
        (rc = field(r, "backward_compute_time=", MAX_MS, &figures, &backward)) ||
        (rc = field(r, "activation_size=", MAX_BYTES, &figures, &activation)) ||
        (rc = field(r, "parameter_size=", MAX_BYTES, &figures, &parameters)))
        return rc;
    if (figures.at != figures.end)
        return malformed(r, "the end of the line", figures);
    ptrdiff_t length = name.end - name.at;
    l->name = rlt_intern(&r->d.t.names, name.at, length < MAX_NAME ? (size_t)length : MAX_NAME);
    if (l->name == RLT_NONE)
        return rlt_nomem(r->err);
    k->input = begins(name, "Input", &rest);
    l->compute_ns[RLT_FORWARD] = k->input ? 0 : (uint64_t)(forward * 1e6 + 0.5);
    l->compute_ns[RLT_INPUT_GRADIENT] = k->input ? 0 : (uint64_t)(backward * 1e6 + 0.5);
    k->activation = (uint64_t)(activation + 0.5);
    l->comm[RLT_WEIGHT_GRADIENT] = (rlt_layer_comm){.any = parameters >= 1,
                                                    .kind = RLT_ALL_REDUCE,
                                                    .scope = RLT_OVER_ALL,
                                                    .bytes = (uint64_t)(parameters + 0.5)};
    return 0;
}

static int read_lines(reading *r)
{
    const char *from, *to;
    int rc = 0;
    while (!rc && rlt__text_line(&r->at, r->end, &r->line, &from, &to)) {
        if (from == to)
            continue;
        if (memchr(from, '\0', (size_t)(to - from)))
            return rlt__layer_fail(&r->d.t, r->line, RLT_EMALFORMED, r->err, "a zero byte");
        rc = *from == '\t' ? read_edge(r, (span){from + 1, to}) : read_node(r, (span){from, to});
    }
    if (!rc && r->d.t.n == 0)
        rc = rlt__layer_fail(&r->d.t, r->line ? r->line : 1, RLT_ESCHEMA, r->err, "the file has no nodes");
    return rc;
}

/* Checks that every node is described, that all nodes or none have a stage, and that every stage has
 * nodes. */
static int check_nodes(reading *r)
{
    const rlt_layer_table *t = &r->d.t;
    uint8_t seen[MAX_STAGES] = {0};
    for (uint32_t i = 0; i < t->n; i++) {
        if (!t->layers[i].line)
            return rlt__layer_fail(t, r->d.nodes[i].first_line, RLT_ESCHEMA, r->err, "no line defines '%s'",
                                   rlt_interned(&r->d.ids, i));
        if (r->d.stages && r->d.nodes[i].stage == RLT_NONE)
            return rlt__layer_fail(t, t->layers[i].line, RLT_ESCHEMA, r->err,
                                   "this node has no stage_id, but other nodes have one");
        if (r->d.stages)
            seen[r->d.nodes[i].stage] = 1;
    }
    for (uint32_t s = 0; s < r->d.stages; s++)
        if (!seen[s])
            return rlt__layer_fail(t, 1, RLT_ESCHEMA, r->err, "stage %" PRIu32 " of %" PRIu32 " has no nodes",
                                   s, r->d.stages);
    return 0;
}

/* Sorts nodes into order[], each after the nodes it needs. */
static int sort_nodes(reading *r)
{
    rlt_pipedream *d = &r->d;
    size_t n = (size_t)d->t.n + 1;
    uint32_t *missing = calloc(n, sizeof *missing), *first = calloc(n, sizeof *first), done = 0,
             *then = malloc(((size_t)d->n_edges + 1) * sizeof *then);
    int rc = 0;
    d->order = malloc(n * sizeof *d->order);
    if (!missing || !first || !then || !d->order) {
        rc = rlt_nomem(r->err);
        goto out;
    }
    for (uint32_t i = 0; i < d->n_edges; i++) {
        missing[d->edges[i].to]++;
        first[d->edges[i].from]++;
    }
    for (uint32_t i = 0, sum = 0; i <= d->t.n; i++)
        first[i] = sum += first[i];
    for (uint32_t i = d->n_edges; i-- > 0;)
        then[--first[d->edges[i].from]] = d->edges[i].to;
    for (uint32_t i = 0; i < d->t.n; i++)
        if (missing[i] == 0)
            d->order[done++] = i;
    for (uint32_t i = 0; i < done; i++)
        for (uint32_t k = first[d->order[i]]; k < first[d->order[i] + 1]; k++)
            if (--missing[then[k]] == 0)
                d->order[done++] = then[k];
    for (uint32_t i = 0; i < d->t.n && done < d->t.n && !rc; i++)
        if (missing[i])
            rc = rlt__layer_fail(&d->t, d->t.layers[i].line, RLT_ESCHEMA, r->err,
                                 "the edges form a cycle through this node");
out:
    free(missing);
    free(first);
    free(then);
    return rc;
}

/* Builds the table in running order, the same for all ranks. */
static int build_alike(reading *r, const rlt_read_options *opts, uint64_t hash, rlt_program **out)
{
    rlt_layer_table *t = &r->d.t;
    rlt_layer *sorted = malloc((size_t)t->n * sizeof *sorted);
    if (!sorted)
        return rlt_nomem(r->err);
    for (uint32_t i = 0; i < t->n; i++)
        sorted[i] = t->layers[r->d.order[i]];
    free(t->layers);
    t->layers = sorted;
    t->capacity = t->n;
    t->input_first = true;
    t->model = t->expert = t->stages = 1;
    return rlt__layers_build(t, opts, "pipedream", hash, out, r->err);
}

static int build(reading *r, const char *const *paths, uint32_t n, const rlt_read_options *opts,
                 uint64_t hash, rlt_program **out)
{
    uint32_t stages = r->d.stages;
    int rc = rlt__layers_ranks(&r->d.t, paths, n, opts, stages ? stages : 2, r->err);
    if (rc || !stages)
        return rc ? rc : build_alike(r, opts, hash, out);
    if (!opts->n_ranks && r->d.t.ranks > stages)
        r->d.t.ranks -= r->d.t.ranks % stages; /* as many copies as fit */
    if (r->d.t.ranks % stages)
        return rlt_fail(r->err, RLT_ESCHEMA, paths[0],
                        "%" PRIu32 " ranks are not a multiple of %" PRIu32 " stages", r->d.t.ranks, stages);
    return rlt__pipedream_stages(&r->d, hash, out, r->err);
}

static int read_pipedream(const char *const *paths, uint32_t n, const rlt_read_options *opts,
                          rlt_program **out, rlt_error *err)
{
    char *text = NULL;
    size_t length = 0;
    reading r = {.err = err, .d.t.late = RLT_NONE};
    *out = NULL;
    if (n == 0)
        return rlt_fail(err, RLT_EUSAGE, NULL, "no trace files");
    r.d.t.file = paths[0];
    int rc = rlt_read_file(paths[0], MAX_FILE_BYTES, &text, &length, err);
    r.at = text;
    r.end = text ? text + length : NULL;
    if (!rc && !(rc = read_lines(&r)) && !(rc = check_nodes(&r)) && !(rc = sort_nodes(&r)))
        rc = build(&r, paths, n, opts, rlt_hash_bytes(text, length, 0), out);
    rlt__layers_free(&r.d.t);
    rlt_strings_free(&r.d.ids);
    free(r.d.nodes);
    free(r.d.edges);
    free(r.d.order);
    free(text);
    return rc;
}

static int probe(const char *path, const char *head, size_t n)
{
    const char *end = memchr(head, '\n', n);
    span line = {head, end ? end : head + n}, a, b, rest;
    (void)path;
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

const rlt_reader rlt_reader_pipedream = {
    .name = "pipedream",
    .summary = "PipeDream's profile of a network's nodes (graph.txt), with or without stages",
    .probe = probe,
    .read = read_pipedream,
    .check = NULL,
};
