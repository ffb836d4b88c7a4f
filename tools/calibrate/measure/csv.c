/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measurements from CSV. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/text/csv.h"
#include "tools/calibrate/measure/measure.h"

typedef enum field {
    F_COLLECTIVE,
    F_RANKS,
    F_BYTES,
    F_TIME, /* fields up to here are required */
    F_NODES,
    F_BUFFERS,
    F_BUSBW,
    F_SYSTEM, /* fields from here on are texts that are kept */
    F_SETTING,
    F_DTYPE,
    F_SOURCE,
    F_NOTE,
    N_FIELDS
} field;

static const struct {
    const char *name;
    field f;
    rlt_time scale; /* picoseconds per unit of a time */
} columns_known[] = {{"collective", F_COLLECTIVE, 0}, {"n_ranks", F_RANKS, 0}, {"ranks", F_RANKS, 0},
                     {"size_bytes", F_BYTES, 0},      {"bytes", F_BYTES, 0},   {"time_us", F_TIME, RLT_US},
                     {"time_ps", F_TIME, RLT_PS},     {"n_nodes", F_NODES, 0}, {"nodes", F_NODES, 0},
                     {"inplace", F_BUFFERS, 0},       {"system", F_SYSTEM, 0}, {"dtype", F_DTYPE, 0},
                     {"source", F_SOURCE, 0},         {"note", F_NOTE, 0},     {"setting", F_SETTING, 0},
                     {"busbw_GBps", F_BUSBW, 0}};
enum { N_COLUMNS_KNOWN = sizeof columns_known / sizeof *columns_known };

typedef struct csv {
    rlt_measurements *t;
    const rlt_measure_text *in;
    rlt_csv x;
    int column[N_FIELDS]; /* -1: none */
    rlt_time time_scale;
    const char *kept[N_FIELDS]; /* texts of the last row, which often repeat */
} csv;

static int find_columns(csv *c, rlt_error *err)
{
    static const char *const required[] = {"collective", "n_ranks", "size_bytes", "time_us"};
    for (int f = 0; f < N_FIELDS; f++)
        c->column[f] = -1;
    for (uint32_t i = 0; i < c->x.n_columns; i++)
        for (int k = 0; k < N_COLUMNS_KNOWN; k++) {
            if (strcmp(c->x.columns[i], columns_known[k].name) != 0)
                continue;
            if (c->column[columns_known[k].f] >= 0)
                return rlt_csv_fail(&c->x, (int)i, RLT_ESCHEMA, err,
                                    "the columns '%s' and '%s' mean the same",
                                    c->x.columns[c->column[columns_known[k].f]], c->x.columns[i]);
            c->column[columns_known[k].f] = (int)i;
            if (columns_known[k].f == F_TIME)
                c->time_scale = columns_known[k].scale;
        }
    for (int f = 0; f <= F_TIME; f++)
        if (c->column[f] < 0)
            return rlt_csv_fail(&c->x, -1, RLT_ESCHEMA, err,
                                "no column '%s': a table of measurements needs collective, n_ranks, "
                                "size_bytes and time_us",
                                required[f]);
    return 0;
}

static const char *cell(const csv *c, field f)
{
    return c->column[f] < 0 ? "" : c->x.cells[c->column[f]];
}

static int read_count(const csv *c, field f, uint64_t max, uint64_t *n, rlt_error *err)
{
    const char *text = cell(c, f), *name = f == F_BYTES ? "size_bytes" : f == F_NODES ? "n_nodes" : "n_ranks";
    if (!*text)
        return rlt_csv_fail(&c->x, c->column[f], RLT_EMALFORMED, err, "%s is blank", name);
    if (rlt_parse_count(text, n, NULL, NULL) || *n > max)
        return rlt_csv_fail(&c->x, c->column[f], RLT_EMALFORMED, err,
                            "%s: expected a whole number up to %llu, got '%.40s'", name,
                            (unsigned long long)max, text);
    return 0;
}

/* Returns the cell's text with the lifetime of the table. */
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
    const char *text = cell(c, F_TIME), *name = c->time_scale == RLT_PS ? "time_ps" : "time_us";
    double busbw;
    if (!*text && !rlt_parse_number(cell(c, F_BUSBW), 0, &busbw, NULL, NULL) && busbw > 0) {
        double ps = (double)m->bytes * rlt_busbw_factor(m->kind, m->ranks) * 1e3 / busbw;
        m->time_ps = ps < (double)RLT_TIME_MAX ? (rlt_time)ps : RLT_TIME_MAX;
        return 0;
    }
    if (!*text)
        return rlt_csv_fail(&c->x, c->column[F_TIME], RLT_EMALFORMED, err, "%s is blank", name);
    if (rlt_parse_decimal(text, strlen(text), c->time_scale, &m->time_ps) || m->time_ps <= 0)
        return rlt_csv_fail(&c->x, c->column[F_TIME], RLT_EMALFORMED, err,
                            "%s: expected a time above zero, got '%.40s'", name, text);
    return 0;
}

static int read_buffers(const csv *c, rlt_measurement *m, rlt_error *err)
{
    const char *text = cell(c, F_BUFFERS);
    if (*text && strcmp(text, "out") != 0 && strcmp(text, "in") != 0)
        return rlt_csv_fail(&c->x, c->column[F_BUFFERS], RLT_ESCHEMA, err,
                            "inplace: expected out, in or nothing, got '%.40s'", text);
    m->buffers = !*text ? RLT_BUFFERS_UNKNOWN : *text == 'o' ? RLT_OUT_OF_PLACE : RLT_IN_PLACE;
    return 0;
}

static int read_cells(csv *c, rlt_error *err)
{
    rlt_measurement m = {.file = c->in->path, .line = c->x.line, .nodes = 1};
    uint64_t ranks = 0, nodes = 1;
    rlt_error why = {0};
    char where[600];
    int rc;
    if (rlt_measure_kind(cell(c, F_COLLECTIVE), &m.kind, &why))
        return rlt_csv_fail(&c->x, c->column[F_COLLECTIVE], RLT_ESCHEMA, err, "%s", why.what);
    if ((rc = read_count(c, F_RANKS, RLT_MAX_MEMBERS, &ranks, err)) ||
        (*cell(c, F_NODES) && (rc = read_count(c, F_NODES, RLT_MAX_MEMBERS, &nodes, err))) ||
        (rc = read_count(c, F_BYTES, (uint64_t)1 << 48, &m.bytes, err)) || (rc = read_buffers(c, &m, err)))
        return rc;
    m.ranks = (uint32_t)ranks;
    m.nodes = (uint32_t)nodes;
    if ((rc = read_time(c, &m, err)) || (rc = keep(c, F_SYSTEM, &m.system, err)) ||
        (rc = keep(c, F_SETTING, &m.setting, err)) || (rc = keep(c, F_DTYPE, &m.dtype, err)) ||
        (rc = keep(c, F_SOURCE, &m.source, err)) || (rc = keep(c, F_NOTE, &m.note, err)))
        return rc;
    if (!*m.system)
        m.system = c->in->system;
    snprintf(where, sizeof where, "%.400s:%u", c->in->path, c->x.line);
    return rlt_measure_add(c->t, &m, where, err);
}

int rlt_measure_csv(rlt_measurements *t, const rlt_measure_text *in, rlt_error *err)
{
    csv *c = calloc(1, sizeof *c);
    int rc = 0;
    if (!c)
        return rlt_nomem(err);
    c->t = t;
    c->in = in;
    if (!(rc = rlt_csv_begin(&c->x, in->path, in->text, in->length, err)))
        rc = find_columns(c, err);
    while (!rc && (rc = rlt_csv_next(&c->x, err)) == 1) {
        rlt_error why = {0};
        rc = read_cells(c, &why) ? rlt_measure_skip(t, in, c->x.line, &why) : 0;
        if (rc)
            rlt_nomem(err);
    }
    free(c);
    return rc;
}
