/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measurements from CSV (RFC 4180, but no line breaks inside a cell). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/units.h"
#include "tools/measure.h"

enum { MAX_CELLS = 64, MAX_LINE = 1 << 16 };

typedef enum field {
    F_COLLECTIVE,
    F_RANKS,
    F_BYTES,
    F_TIME, /* so far required */
    F_NODES,
    F_BUFFERS,
    F_SYSTEM, /* from here on texts that are kept */
    F_DTYPE,
    F_SOURCE,
    F_NOTE,
    N_FIELDS
} field;

static const struct {
    const char *name;
    field f;
    rlt_time scale; /* of a time: picoseconds in one */
} columns_known[] = {{"collective", F_COLLECTIVE, 0}, {"n_ranks", F_RANKS, 0}, {"ranks", F_RANKS, 0},
                     {"size_bytes", F_BYTES, 0},      {"bytes", F_BYTES, 0},   {"time_us", F_TIME, RLT_US},
                     {"time_ps", F_TIME, RLT_PS},     {"n_nodes", F_NODES, 0}, {"nodes", F_NODES, 0},
                     {"inplace", F_BUFFERS, 0},       {"system", F_SYSTEM, 0}, {"dtype", F_DTYPE, 0},
                     {"source", F_SOURCE, 0},         {"note", F_NOTE, 0}};
enum { N_COLUMNS_KNOWN = sizeof columns_known / sizeof *columns_known };

typedef struct csv {
    rlt_measurements *t;
    const rlt_measure_text *in;
    uint32_t line;
    uint32_t n_cells, n_columns;
    const char *cells[MAX_CELLS]; /* of the line, unquoted, in the buffer */
    int column[N_FIELDS];         /* -1: none */
    rlt_time time_scale;
    const char *kept[N_FIELDS]; /* the last row's texts: they repeat */
    char buffer[MAX_LINE];
} csv;

/* The text of a cell that begins with a quote to *out; *p moves behind it. */
static int unquote(const csv *c, const char **p, const char *end, char **out, rlt_error *err)
{
    for (++*p; *p < end; ++*p) {
        if (**p != '"') {
            *(*out)++ = **p;
        } else if (*p + 1 < end && (*p)[1] == '"') {
            *(*out)++ = '"';
            ++*p;
        } else {
            ++*p;
            if (*p < end && **p != ',')
                return rlt_measure_fail(c->in, c->line, RLT_EMALFORMED, err, "text after a quoted cell");
            return 0;
        }
    }
    return rlt_measure_fail(c->in, c->line, RLT_EMALFORMED, err, "a quoted cell that does not end");
}

static int split_cells(csv *c, const char *p, const char *end, rlt_error *err)
{
    char *out = c->buffer;
    if (end - p >= MAX_LINE)
        return rlt_measure_fail(c->in, c->line, RLT_ERANGE, err, "a line of more than %d bytes", MAX_LINE);
    for (c->n_cells = 0;; p++) {
        int rc = 0;
        if (c->n_cells == MAX_CELLS)
            return rlt_measure_fail(c->in, c->line, RLT_ERANGE, err, "more than %d columns", MAX_CELLS);
        c->cells[c->n_cells++] = out;
        if (p < end && *p == '"')
            rc = unquote(c, &p, end, &out, err);
        while (p < end && *p != ',')
            *out++ = *p++;
        *out++ = 0; /* never more bytes than the line and its end had */
        if (rc || p == end)
            return rc;
    }
}

static int find_columns(csv *c, rlt_error *err)
{
    static const char *const required[] = {"collective", "n_ranks", "size_bytes", "time_us"};
    for (int f = 0; f < N_FIELDS; f++)
        c->column[f] = -1;
    c->n_columns = c->n_cells;
    for (uint32_t i = 0; i < c->n_cells; i++)
        for (int k = 0; k < N_COLUMNS_KNOWN; k++) {
            if (strcmp(c->cells[i], columns_known[k].name) != 0)
                continue;
            if (c->column[columns_known[k].f] >= 0)
                return rlt_measure_fail(c->in, c->line, RLT_ESCHEMA, err,
                                        "the columns '%s' and '%s' say the same",
                                        c->cells[c->column[columns_known[k].f]], c->cells[i]);
            c->column[columns_known[k].f] = (int)i;
            if (columns_known[k].f == F_TIME)
                c->time_scale = columns_known[k].scale;
        }
    for (int f = 0; f <= F_TIME; f++)
        if (c->column[f] < 0)
            return rlt_measure_fail(c->in, c->line, RLT_ESCHEMA, err,
                                    "no column '%s': a table of measurements needs collective, n_ranks, "
                                    "size_bytes and time_us",
                                    required[f]);
    return 0;
}

static const char *cell(const csv *c, field f)
{
    return c->column[f] < 0 ? "" : c->cells[c->column[f]];
}

static int read_count(const csv *c, field f, uint64_t max, uint64_t *n, rlt_error *err)
{
    const char *text = cell(c, f);
    if (rlt_parse_count(text, n, NULL, NULL) || *n > max)
        return rlt_measure_fail(c->in, c->line, RLT_EMALFORMED, err,
                                "%s: expected a whole number up to %llu, got '%.40s'",
                                f == F_BYTES   ? "size_bytes"
                                : f == F_NODES ? "n_nodes"
                                               : "n_ranks",
                                (unsigned long long)max, text);
    return 0;
}

/* The cell's text as long as the table lives. */
static int keep(csv *c, field f, const char **out, rlt_error *err)
{
    const char *text = cell(c, f);
    if (!c->kept[f] || strcmp(c->kept[f], text) != 0)
        c->kept[f] = rlt_arena_strdup(&c->t->arena, text);
    *out = c->kept[f];
    return *out ? 0 : rlt_nomem(err);
}

static int read_time(csv *c, rlt_measurement *m, rlt_error *err)
{
    const char *text = cell(c, F_TIME);
    if (rlt_parse_decimal(text, strlen(text), c->time_scale, &m->time_ps) || m->time_ps <= 0)
        return rlt_measure_fail(c->in, c->line, RLT_EMALFORMED, err,
                                "%s: expected a time above zero, got '%.40s'",
                                c->time_scale == RLT_PS ? "time_ps" : "time_us", text);
    return 0;
}

static int read_buffers(const csv *c, rlt_measurement *m, rlt_error *err)
{
    const char *text = cell(c, F_BUFFERS);
    if (*text && strcmp(text, "out") != 0 && strcmp(text, "in") != 0)
        return rlt_measure_fail(c->in, c->line, RLT_ESCHEMA, err,
                                "inplace: expected out, in or nothing, got '%.40s'", text);
    m->buffers = !*text ? RLT_BUFFERS_UNKNOWN : *text == 'o' ? RLT_OUT_OF_PLACE : RLT_IN_PLACE;
    return 0;
}

static int read_cells(csv *c, rlt_error *err)
{
    rlt_measurement m = {.file = c->in->path, .line = c->line, .nodes = 1};
    uint64_t ranks = 0, nodes = 1;
    rlt_error why = {0};
    char where[600];
    int rc;
    if (c->n_cells != c->n_columns)
        return rlt_measure_fail(c->in, c->line, RLT_EMALFORMED, err, "%u cells under %u columns", c->n_cells,
                                c->n_columns);
    if (rlt_measure_kind(cell(c, F_COLLECTIVE), &m.kind, &why))
        return rlt_measure_fail(c->in, c->line, RLT_ESCHEMA, err, "%s", why.what);
    if ((rc = read_count(c, F_RANKS, RLT_MAX_MEMBERS, &ranks, err)) ||
        (*cell(c, F_NODES) && (rc = read_count(c, F_NODES, RLT_MAX_MEMBERS, &nodes, err))) ||
        (rc = read_count(c, F_BYTES, (uint64_t)1 << 48, &m.bytes, err)) || (rc = read_buffers(c, &m, err)))
        return rc;
    if (!*cell(c, F_TIME)) {
        c->t->unusable++;
        return 0;
    }
    if ((rc = read_time(c, &m, err)) || (rc = keep(c, F_SYSTEM, &m.system, err)) ||
        (rc = keep(c, F_DTYPE, &m.dtype, err)) || (rc = keep(c, F_SOURCE, &m.source, err)) ||
        (rc = keep(c, F_NOTE, &m.note, err)))
        return rc;
    m.ranks = (uint32_t)ranks;
    m.nodes = (uint32_t)nodes;
    if (!*m.system)
        m.system = c->in->system;
    snprintf(where, sizeof where, "%.400s:%u", c->in->path, c->line);
    return rlt_measure_add(c->t, &m, where, err);
}

int rlt_measure_csv(rlt_measurements *t, const rlt_measure_text *in, rlt_error *err)
{
    const char *p = in->text, *end;
    csv *c = calloc(1, sizeof *c);
    bool heading = false;
    int rc = 0;
    if (!c)
        return rlt_nomem(err);
    c->t = t;
    c->in = in;
    if (in->length >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
        p += 3;
    for (; *p && !rc; p = *end ? end + 1 : end) {
        const char *stop;
        end = p + strcspn(p, "\n");
        stop = end > p && end[-1] == '\r' ? end - 1 : end;
        c->line++;
        if (p[strspn(p, " \t\r")] == '\n' || stop == p)
            continue;
        rc = split_cells(c, p, stop, err);
        if (!rc)
            rc = heading ? read_cells(c, err) : find_columns(c, err);
        heading = true;
    }
    free(c);
    return rc;
}
