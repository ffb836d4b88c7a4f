/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Network files of ASTRA-sim's analytical backend, read as they are: four lists with one entry a dimension,
 *   topology (Ring, FullyConnected, Switch), npus_count, bandwidth, latency.
 * Its units: bandwidth of each link and direction in 2^30 bytes a second, latency of each hop in nanoseconds.
 * Only this flat subset of YAML is understood: comments, "[a, b]" (over several lines, too) and "- a" lists.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "net/import/read.h"
#include "net/shapes/factor.h"
#include "net/shapes/shapes.h"
#include "net/topology/build.h"
#include "net/topology/endpoint.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/units.h"

enum { KEYS = 4, MIN_NPUS = 2, MAX_ITEM = 40 };

static const char *const key_names[KEYS] = {"topology", "npus_count", "bandwidth", "latency"};
enum { TOPOLOGY, NPUS_COUNT, BANDWIDTH, LATENCY };

typedef struct item {
    char text[MAX_ITEM];
    unsigned line, column;
} item;

typedef struct reader {
    const char *name, *p, *end, *line_start;
    unsigned line;
    rlt_error *err;
    struct {
        bool given;
        uint32_t n;
        item items[RLT_MAX_DIMS];
    } lists[KEYS];
} reader;

static int fail_at(const reader *r, int code, unsigned line, unsigned column, const char *what,
                   const char *detail)
{
    char where[300];
    snprintf(where, sizeof where, "%.200s:%u:%u", r->name, line, column);
    return rlt_fail(r->err, code, where, "%s%s%.64s%s", what, detail ? ", got '" : "", detail ? detail : "",
                    detail ? "'" : "");
}

static unsigned column(const reader *r)
{
    return (unsigned)(r->p - r->line_start) + 1;
}

static int fail_here(const reader *r, const char *what)
{
    return fail_at(r, RLT_EMALFORMED, r->line, column(r), what, NULL);
}

static bool at(const reader *r, char c)
{
    return r->p < r->end && *r->p == c;
}

/* Blanks and comments; with `lines` also line ends. A '#' starts a comment only after a blank. */
static void skip(reader *r, bool lines)
{
    for (; r->p < r->end; r->p++) {
        bool fresh = r->p == r->line_start || r->p[-1] == ' ' || r->p[-1] == '\t';
        if (*r->p == '#' && fresh)
            while (r->p + 1 < r->end && r->p[1] != '\n')
                r->p++;
        else if (*r->p == '\n' && lines)
            r->line++, r->line_start = r->p + 1;
        else if (*r->p != ' ' && *r->p != '\t' && *r->p != '\r')
            return;
    }
}

/* A plain or quoted word. */
static int read_item(reader *r, item *out)
{
    char quote = at(r, '"') || at(r, '\'') ? *r->p : 0;
    out->line = r->line;
    out->column = column(r);
    r->p += quote != 0;
    const char *start = r->p;
    while (r->p < r->end &&
           (isalnum((unsigned char)*r->p) || *r->p == '_' || *r->p == '.' || *r->p == '+' || *r->p == '-'))
        r->p++;
    size_t n = (size_t)(r->p - start);
    if (n == 0)
        return fail_here(r, "expected a word or a number");
    if (n >= sizeof out->text)
        return fail_at(r, RLT_EMALFORMED, out->line, out->column, "the word is too long", NULL);
    if (quote && !at(r, quote))
        return fail_here(r, "expected the closing quote");
    r->p += quote != 0;
    memcpy(out->text, start, n);
    out->text[n] = 0;
    return 0;
}

static int add_item(reader *r, int key)
{
    uint32_t *n = &r->lists[key].n;
    if (*n == RLT_MAX_DIMS)
        return fail_at(r, RLT_ERANGE, r->line, column(r), "more than 8 dimensions", NULL);
    return read_item(r, &r->lists[key].items[(*n)++]);
}

static int read_flow_list(reader *r, int key)
{
    int rc;
    r->p++;
    do {
        skip(r, true);
        if ((rc = add_item(r, key)) < 0)
            return rc;
        skip(r, true);
    } while (at(r, ',') && r->p++);
    if (!at(r, ']'))
        return fail_here(r, "expected ',' or ']'");
    r->p++;
    return 0;
}

static int read_block_list(reader *r, int key)
{
    skip(r, true);
    if (!at(r, '-'))
        return fail_here(r, "expected a list");
    while (at(r, '-')) {
        r->p++;
        if (!at(r, ' ') && !at(r, '\t'))
            return fail_here(r, "expected a blank after '-'");
        skip(r, false);
        int rc = add_item(r, key);
        if (rc < 0)
            return rc;
        skip(r, false);
        if (r->p < r->end && *r->p != '\n')
            return fail_here(r, "expected the end of the line");
        skip(r, true);
    }
    return 0;
}

static int read_entry(reader *r)
{
    item key;
    int rc = read_item(r, &key), k = 0;
    if (rc < 0)
        return rc;
    while (k < KEYS && strcmp(key.text, key_names[k]) != 0)
        k++;
    if (k == KEYS)
        return fail_at(r, RLT_ESCHEMA, key.line, key.column,
                       "expected one of topology, npus_count, bandwidth, latency", key.text);
    if (r->lists[k].given)
        return fail_at(r, RLT_EMALFORMED, key.line, key.column, "the key is given twice", key.text);
    r->lists[k].given = true;
    skip(r, false);
    if (!at(r, ':'))
        return fail_here(r, "expected ':' after a key");
    r->p++;
    skip(r, false);
    if (!at(r, '['))
        return read_block_list(r, k);
    if ((rc = read_flow_list(r, k)) < 0)
        return rc;
    skip(r, false);
    return r->p == r->end || *r->p == '\n' ? 0 : fail_here(r, "expected the end of the line");
}

static int read_entries(reader *r)
{
    if (r->end - r->p >= 3 && memcmp(r->p, "\xef\xbb\xbf", 3) == 0)
        r->p += 3, r->line_start = r->p;
    skip(r, true);
    if (r->end - r->p >= 4 && memcmp(r->p, "---", 3) == 0 && isspace((unsigned char)r->p[3]))
        r->p += 3;
    for (skip(r, true); r->p < r->end; skip(r, true)) {
        int rc = read_entry(r);
        if (rc < 0)
            return rc;
    }
    for (int k = 0; k < KEYS; k++) {
        if (!r->lists[k].given)
            return rlt_fail(r->err, RLT_ESCHEMA, r->name, "missing '%s'", key_names[k]);
        if (r->lists[k].n != r->lists[0].n)
            return rlt_fail(r->err, RLT_ESCHEMA, r->name, "%s has %u entries, topology %u", key_names[k],
                            (unsigned)r->lists[k].n, (unsigned)r->lists[0].n);
    }
    return 0;
}

static int number(reader *r, const item *i, int64_t scale, int64_t least, const char *expected,
                  int64_t *value)
{
    if (rlt_parse_decimal(i->text, strlen(i->text), scale, value) < 0 || *value < least)
        return fail_at(r, RLT_ESCHEMA, i->line, i->column, expected, i->text);
    return 0;
}

static int read_dim(reader *r, uint32_t d, rlt_arena *arena, rlt_dim_spec *dim)
{
    static const char *const shapes[][2] = {
        {"Ring", "ring"}, {"FullyConnected", "fully-connected"}, {"Switch", "switch"}};
    const item *shape = &r->lists[TOPOLOGY].items[d], *size = &r->lists[NPUS_COUNT].items[d];
    int64_t bw, latency;
    uint64_t n;
    int rc;
    for (size_t i = 0; i < 3; i++)
        if (strcmp(shape->text, shapes[i][0]) == 0)
            dim->shape = shapes[i][1];
    if (!dim->shape)
        return fail_at(r, RLT_ESCHEMA, shape->line, shape->column, "expected Ring, FullyConnected or Switch",
                       shape->text);
    if (rlt_parse_count(size->text, &n, NULL, NULL) < 0 || n < MIN_NPUS || n > RLT_MAX_ACCELERATORS)
        return fail_at(r, RLT_ESCHEMA, size->line, size->column, "expected a number of at least 2",
                       size->text);
    if ((rc = number(r, &r->lists[BANDWIDTH].items[d], 1 << 30, 1, "expected a bandwidth in GiB/s", &bw)) <
            0 ||
        (rc = number(r, &r->lists[LATENCY].items[d], 1000, 0, "expected a latency in ns", &latency)) < 0)
        return rc;
    dim->size = (uint32_t)n;
    dim->link_bw_Bps = (uint64_t)bw;
    dim->latency_ps = latency;
    dim->where = rlt_arena_printf(arena, "%.200s:%u:%u: dimension %u", r->name, shape->line, shape->column,
                                  (unsigned)d);
    return dim->where ? 0 : rlt_nomem(r->err);
}

int rlt_topology_from_astra(const char *name, const char *text, size_t length, rlt_topology **out,
                            rlt_error *err)
{
    reader r = {.name = name, .p = text, .end = text + length, .line_start = text, .line = 1, .err = err};
    rlt_dim_spec dims[RLT_MAX_DIMS] = {{0}};
    rlt_arena arena = {0};
    rlt_topology_spec spec = {
        .where = name, .source = "", .hash = rlt_hash_bytes(text, length, 0), .dims = dims};
    *out = NULL;
    int rc = read_entries(&r);
    for (uint32_t d = 0; rc == 0 && d < r.lists[0].n; d++)
        rc = read_dim(&r, d, &arena, &dims[d]);
    if (rc == 0 && !(spec.name = rlt__topo_stem(&arena, name)))
        rc = rlt_nomem(err);
    if (rc == 0) {
        spec.n_dims = r.lists[0].n;
        spec.endpoint = rlt_endpoint_default();
        rc = rlt_topology_build(&spec, out, err);
    }
    rlt_arena_free(&arena);
    return rc;
}
