/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads the layer graphs of PipeDream's profiler. A line is a node or, after a tab, an edge:
 *
 *     node12 -- Conv2d(128, 256) -- forward_compute_time=MS, backward_compute_time=MS,
 *         activation_size=BYTES, parameter_size=BYTES                                    (one line)
 *     <tab>node12 -- node13
 *
 * activation_size may be a list in brackets, separated by semicolons: the sizes are added up. The description
 * may contain commas and equals signs, so attributes are read from the last " -- " on. Nodes of kind Input
 * provide the data: the time they took to load it is dropped. The batch follows from the bytes of the only
 * input if it holds images of 3 x 224 x 224 floats.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "workload/deploy/graphs/graphs.h"
#include "workload/deploy/opgraph.h"

enum { MAX_LINE = 1 << 16, IMAGE_BYTES = 4 * 3 * 224 * 224 };

typedef struct reader {
    const char *path;
    uint32_t line;
    rlt_arena arena;
    rlt_layer_node *layers;
    uint32_t n, room;
    uint32_t *edges;
    uint32_t n_edges, edges_room;
    rlt_strings names; /* of the layers, in their order */
    uint64_t input_bytes;
    uint32_t inputs;
    rlt_error *err;
} reader;

static int bad(const reader *r, const char *what, const char *found, size_t n)
{
    char where[600];
    snprintf(where, sizeof where, "%.500s:%" PRIu32, r->path, r->line);
    return rlt_fail(r->err, RLT_EMALFORMED, where, "%s, got '%.*s'", what, (int)(n < 80 ? n : 80), found);
}

/* Returns the layer of a name, or RLT_NONE. */
static uint32_t layer_of(const reader *r, const char *name, size_t n)
{
    return rlt_intern_find(&r->names, name, n);
}

/* Returns the value of an attribute in `text`, up to the next comma, or NULL. */
static const char *attribute(const char *text, size_t n, const char *name, size_t *length)
{
    size_t k = strlen(name);
    for (size_t i = 0; i + k < n; i++)
        if ((i == 0 || text[i - 1] == ' ' || text[i - 1] == ',') && memcmp(text + i, name, k) == 0 &&
            text[i + k] == '=') {
            const char *value = text + i + k + 1;
            *length = 0;
            while (value + *length < text + n && value[*length] != ',')
                ++*length;
            return value;
        }
    return NULL;
}

/* Reads a number of at least 0, times `scale`. */
static int figure(const reader *r, const char *text, size_t n, const char *name, int64_t scale,
                  int64_t *value)
{
    size_t length;
    const char *v = attribute(text, n, name, &length);
    char expected[80];
    snprintf(expected, sizeof expected, "expected %s=NUMBER", name);
    if (!v)
        return bad(r, expected, text, n);
    while (length && (v[length - 1] == '\r' || v[length - 1] == ' '))
        length--;
    bool list = length >= 2 && v[0] == '[' && v[length - 1] == ']';
    const char *end = list ? v + length - 1 : v + length;
    *value = 0;
    for (const char *at = list ? v + 1 : v; at <= end;) {
        int64_t one;
        const char *stop = at;
        while (stop < end && !(list && *stop == ';'))
            stop++;
        while (at < stop && *at == ' ')
            at++;
        if (rlt_parse_decimal(at, (size_t)(stop - at), scale, &one) != 0 || one < 0 ||
            one > INT64_MAX - *value)
            return bad(r, expected, v, length);
        *value += one;
        at = stop + 1;
    }
    return 0;
}

/* A part of a line. */
typedef struct part {
    const char *at;
    size_t n;
} part;

static int add_layer(reader *r, part name, part kind, part rest)
{
    const int64_t ps_per_ms = RLT_MS;
    int64_t forward, backward, output, parameters;
    int rc;
    if ((rc = figure(r, rest.at, rest.n, "forward_compute_time", ps_per_ms, &forward)) ||
        (rc = figure(r, rest.at, rest.n, "backward_compute_time", ps_per_ms, &backward)) ||
        (rc = figure(r, rest.at, rest.n, "activation_size", 1, &output)) ||
        (rc = figure(r, rest.at, rest.n, "parameter_size", 1, &parameters)))
        return rc;
    if (layer_of(r, name.at, name.n) != RLT_NONE)
        return bad(r, "expected each node once", name.at, name.n);
    if ((rc = rlt_grow(&r->layers, &r->room, sizeof *r->layers, (uint64_t)r->n + 1, RLT_MAX_OPERATORS,
                       "layers", r->err)))
        return rc;
    bool input = kind.n >= 5 && memcmp(kind.at, "Input", 5) == 0;
    size_t word = 0;
    while (word < kind.n && kind.at[word] != '(')
        word++;
    rlt_layer_node *l = &r->layers[r->n];
    *l = (rlt_layer_node){.name = rlt_arena_strndup(&r->arena, name.at, name.n),
                          .kind = rlt_arena_strndup(&r->arena, kind.at, word),
                          .forward_ps = input ? 0 : forward,
                          .backward_ps = backward,
                          .output_bytes = (uint64_t)output,
                          .parameter_bytes = (uint64_t)parameters,
                          .input = input};
    if (!l->name || !l->kind || rlt_intern(&r->names, name.at, name.n) == RLT_NONE)
        return rlt_nomem(r->err);
    r->inputs += input;
    r->input_bytes = input ? (uint64_t)output : r->input_bytes;
    r->n++;
    return 0;
}

/* Returns the first " -- " in [at, end), or NULL. */
static const char *dashes(const char *at, const char *end)
{
    for (; at + 4 <= end; at++)
        if (memcmp(at, " -- ", 4) == 0)
            return at;
    return NULL;
}

static int read_node(reader *r, const char *line, const char *end)
{
    const char *first = dashes(line, end), *last = first;
    for (const char *more = first; more; more = dashes(more + 4, end))
        last = more;
    if (!first || last == first)
        return bad(r, "expected 'NAME -- KIND -- forward_compute_time=…'", line, (size_t)(end - line));
    return add_layer(r, (part){line, (size_t)(first - line)}, (part){first + 4, (size_t)(last - first - 4)},
                     (part){last + 4, (size_t)(end - last - 4)});
}

static int read_edge(reader *r, const char *line, const char *end)
{
    const char *d = dashes(line, end);
    if (!d)
        return bad(r, "expected '<tab>NAME -- NAME'", line, (size_t)(end - line));
    uint32_t a = layer_of(r, line, (size_t)(d - line)), b = layer_of(r, d + 4, (size_t)(end - d - 4));
    if (a == RLT_NONE || b == RLT_NONE)
        return bad(r, "expected two nodes of this file", line, (size_t)(end - line));
    int rc = rlt_grow(&r->edges, &r->edges_room, sizeof *r->edges, 2 * (uint64_t)r->n_edges + 2,
                      2 * RLT_MAX_TENSORS, "edges", r->err);
    if (rc)
        return rc;
    r->edges[2 * r->n_edges] = a;
    r->edges[2 * r->n_edges + 1] = b;
    r->n_edges++;
    return 0;
}

/* Reads all lines of a kind: nodes before edges, whatever their order in the file. */
static int read_lines(reader *r, const char *text, size_t length, bool edges)
{
    int rc = 0;
    r->line = 0;
    for (const char *at = text, *stop = text + length, *end; at < stop && !rc; at = end + 1) {
        r->line++;
        end = memchr(at, '\n', (size_t)(stop - at));
        if (!end)
            end = stop;
        const char *last = end > at && end[-1] == '\r' ? end - 1 : end;
        if (last == at)
            continue;
        if (last - at > MAX_LINE)
            rc = bad(r, "expected lines of at most 65536 bytes", at, 40);
        else if (*at == '\t' && edges)
            rc = read_edge(r, at + 1, last);
        else if (*at != '\t' && !edges)
            rc = read_node(r, at, last);
    }
    return rc;
}

static bool probe(const char *head, size_t n)
{
    size_t line = 0;
    while (line < n && head[line] != '\n')
        line++;
    for (size_t i = 0; i + 21 <= line; i++)
        if (memcmp(head + i, "forward_compute_time=", 21) == 0)
            return true;
    return false;
}

static uint32_t batch_of(const reader *r, const rlt_graph_options *o)
{
    uint64_t images = r->input_bytes / IMAGE_BYTES;
    if (r->inputs == 1 && images && images * IMAGE_BYTES == r->input_bytes && images < UINT32_MAX)
        return (uint32_t)images;
    return o->batch;
}

static int read(const char *path, const char *text, size_t length, const rlt_graph_options *o,
                rlt_opgraph **out, rlt_error *err)
{
    reader r = {.path = path, .err = err};
    char name[64];
    int rc = read_lines(&r, text, length, false);
    if (!rc)
        rc = read_lines(&r, text, length, true);
    rlt__graph_name(path, name, sizeof name);
    if (!rc)
        rc = rlt_opgraph_of_layers(
            &(rlt_layer_graph){name, batch_of(&r, o), r.layers, r.n, r.edges, r.n_edges}, &o->costs, out,
            err);
    rlt_arena_free(&r.arena);
    rlt_strings_free(&r.names);
    free(r.layers);
    free(r.edges);
    return rc;
}

const rlt_graph_reader rlt__graph_pipedream = {
    .name = "pipedream",
    .summary = "layer graph of PipeDream's profiler (graph.txt)",
    .probe = probe,
    .read = read,
};
