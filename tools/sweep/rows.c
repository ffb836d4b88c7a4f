/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of a sweep's database as a table for people, as CSV, and as JSON lines. */
#include <stdlib.h>
#include <string.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/text/tree.h"
#include "tools/base/file.h"
#include "tools/base/message.h"
#include "tools/output/output.h"
#include "tools/sweep/asked.h"
#include "tools/sweep/store/store.h"
#include "workload/experiment/figures.h"

enum { MAX_COLUMNS = 128, MAX_VALUES = 1 << 28 };

typedef struct column {
    const char *name;
    const rlt_asked_axis *axis; /* NULL: the column is no axis */
    rlt_column shape;           /* format in a table */
    bool told;                  /* some row has a value in it */
} column;

typedef struct writer {
    const rlt_asked *asked;
    rlt_format format;
    FILE *out;
    rlt_arena arena;
    column columns[MAX_COLUMNS];
    uint32_t n;
    rlt_value *values; /* for a table, by row */
    uint32_t n_values, values_capacity;
} writer;

static void cell_text(const rlt_store_cell *c, char *buffer, size_t size)
{
    if (c->kind == RLT_CELL_INTEGER)
        snprintf(buffer, size, "%lld", (long long)c->integer);
    else if (c->kind == RLT_CELL_REAL)
        snprintf(buffer, size, "%.15g", c->real);
    else
        snprintf(buffer, size, "%s", c->kind == RLT_CELL_TEXT ? c->text : "");
}

static void write_csv(writer *w, const rlt_store_cell *c, uint32_t n)
{
    for (uint32_t i = 0; i < n && !w->n; i++) {
        fputs(i ? "," : "", w->out);
        rlt_csv_text(w->out, c[i].name);
    }
    if (!w->n)
        putc('\n', w->out);
    w->n = n;
    for (uint32_t i = 0; i < n; i++) {
        char text[64];
        fputs(i ? "," : "", w->out);
        if (c[i].kind != RLT_CELL_TEXT)
            cell_text(&c[i], text, sizeof text);
        rlt_csv_text(w->out, c[i].kind == RLT_CELL_TEXT ? c[i].text : text);
    }
    putc('\n', w->out);
}

static void write_json(writer *w, const rlt_store_cell *c, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        char text[64];
        putc(i ? ',' : '{', w->out);
        rlt_tree_write_string(c[i].name, w->out);
        putc(':', w->out);
        if (c[i].kind == RLT_CELL_TEXT) {
            rlt_tree_write_string(c[i].text, w->out);
            continue;
        }
        cell_text(&c[i], text, sizeof text);
        fputs(c[i].kind == RLT_CELL_NULL ? "null" : text, w->out);
    }
    fputs("}\n", w->out);
}

static void begin_table(writer *w, const rlt_store_cell *c, uint32_t n)
{
    w->n = n;
    for (uint32_t i = 0; i < n; i++) {
        column *k = &w->columns[i];
        k->name = rlt_arena_strdup(&w->arena, c[i].name);
        k->shape = rlt_figure_column(rlt_figure_find(c[i].name, NULL));
        k->shape.name = k->shape.title = k->name;
        for (uint32_t a = 0; a < w->asked->n_axes; a++)
            if (strcmp(w->asked->axes[a].name, c[i].name) == 0)
                k->axis = &w->asked->axes[a];
    }
}

static bool is_zero_by_default(const char *name)
{
    return strcmp(name, "status") == 0 || strcmp(name, "replica") == 0;
}

static int keep_row(writer *w, const rlt_store_cell *c, uint32_t n, rlt_error *err)
{
    if (!w->n)
        begin_table(w, c, n);
    int rc = rlt_grow(&w->values, &w->values_capacity, sizeof *w->values, (uint64_t)w->n_values + n,
                      MAX_VALUES, "cells of a table", err);
    for (uint32_t i = 0; i < n && !rc; i++) {
        column *k = &w->columns[i];
        rlt_value *v = &w->values[w->n_values++];
        char number[64];
        k->told |= is_zero_by_default(k->name) ? c[i].integer != 0 : c[i].kind != RLT_CELL_NULL;
        *v = rlt_absent();
        if (c[i].kind == RLT_CELL_NULL)
            continue;
        if (k->shape.kind != RLT_COL_TEXT && c[i].kind != RLT_CELL_TEXT) {
            *v = rlt_figure_value(&k->shape, c[i].kind == RLT_CELL_REAL, c[i].integer, c[i].real);
            continue;
        }
        if (c[i].kind != RLT_CELL_TEXT)
            cell_text(&c[i], number, sizeof number);
        *v = rlt_text(c[i].kind != RLT_CELL_TEXT ? rlt_arena_strdup(&w->arena, number)
                      : k->axis                  ? rlt_asked_shown(&w->arena, k->axis, c[i].text, err)
                                                 : rlt_arena_strdup(&w->arena, c[i].text));
        rc = v->text ? 0 : rlt_nomem(err);
    }
    return rc;
}

enum { TIERS = 4 };

/* Returns 0 for a column that a short table has in any case, 1 for axes and names, 2 for the figures that
 * people look at first, 3 for others. */
static int tier_of(const writer *w, const column *c)
{
    static const rlt_figure first[] = {RLT_FIG_COMPUTE, RLT_FIG_COMM,   RLT_FIG_BUSIEST, RLT_FIG_MEMORY,
                                       RLT_FIG_MFU,     RLT_FIG_TOKENS, RLT_FIG_BUSBW};
    rlt_figure f = rlt_figure_find(c->name, NULL);
    int tier = f == RLT_FIGURES ? 1 : 3;
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        tier = f == first[i] ? 2 : tier;
    if (f == RLT_FIG_TIME || strcmp(c->name, "point") == 0 ||
        rlt__asked_listed(w->asked->objectives, w->asked->n_objectives, c->name))
        tier = 0;
    return tier;
}

static bool same_value(const column *c, const rlt_value *a, const rlt_value *b)
{
    if (a->absent || b->absent)
        return a->absent == b->absent;
    return c->shape.kind == RLT_COL_TEXT ? strcmp(a->text, b->text) == 0 : a->count == b->count;
}

/* Returns true for a figure that tells rows of a short table apart no more than others do: it is equal in all
 * rows, or in each row equal to one of a lower tier or before it. */
static bool is_dull(const writer *w, uint32_t i)
{
    const column *c = &w->columns[i];
    int tier = tier_of(w, c);
    if (tier < 2 || w->n_values < 2 * w->n || !w->asked->usual)
        return false;
    for (uint32_t k = 0; k <= w->n; k++) { /* w->n: the value in the first row */
        const column *other = k < w->n ? &w->columns[k] : c;
        bool equal = k == w->n || (other->shape.kind == c->shape.kind && k != i &&
                                   (tier_of(w, other) < tier || (tier_of(w, other) == tier && k < i)));
        for (uint32_t row = 0; row < w->n_values && equal; row += w->n)
            equal = same_value(c, &w->values[row + i], &w->values[k < w->n ? row + k : i]);
        if (equal)
            return true;
    }
    return false;
}

/* Chooses the columns of a table. Returns their number; *left is the number of others that have values. */
static uint32_t choose_columns(const writer *w, uint32_t most, uint32_t from[RLT_MAX_COLUMNS], uint32_t *left)
{
    bool chosen[MAX_COLUMNS] = {false};
    uint32_t n = 0, room = most && most < RLT_MAX_COLUMNS ? most : RLT_MAX_COLUMNS;
    bool brief = most && most < RLT_MAX_COLUMNS;
    *left = 0;
    for (int tier = 0; tier < TIERS; tier++)
        for (uint32_t i = 0; i < w->n; i++) {
            const column *c = &w->columns[i];
            if ((most && !c->told && !c->axis) || strcmp(c->name, "command") == 0 ||
                tier != (most ? tier_of(w, c) : 0))
                continue;
            chosen[i] = n < room && !(brief && is_dull(w, i));
            *left += !chosen[i];
            n += chosen[i];
        }
    n = 0;
    for (uint32_t i = 0; i < w->n; i++)
        if (chosen[i])
            from[n++] = i;
    return n;
}

/* Writes the command of each row below a table. */
static void write_commands(const writer *w)
{
    uint32_t point = w->n, command = w->n;
    for (uint32_t i = 0; i < w->n; i++) {
        point = strcmp(w->columns[i].name, "point") == 0 ? i : point;
        command = strcmp(w->columns[i].name, "command") == 0 ? i : command;
    }
    for (uint32_t row = 0; command < w->n && row < w->n_values; row += w->n) {
        const char *text = w->values[row + command].text;
        fputs(row ? "" : "\n", w->out);
        if (point < w->n)
            fprintf(w->out, "# point %s\n", w->values[row + point].text);
        fprintf(w->out, "%s\n", text ? text : "# its options are wrong: it has no command");
    }
}

static int write_table(writer *w, uint32_t most, rlt_error *err)
{
    rlt_column columns[RLT_MAX_COLUMNS] = {{0}};
    uint32_t from[RLT_MAX_COLUMNS], left, n = choose_columns(w, most, from, &left);
    rlt_table t;
    for (uint32_t i = 0; i < n; i++)
        columns[i] = w->columns[from[i]].shape;
    rlt_table_begin(&t, RLT_FORMAT_TABLE, columns, n, w->out, NULL);
    for (uint32_t row = 0; row < w->n_values; row += w->n) {
        rlt_value values[RLT_MAX_COLUMNS];
        for (uint32_t i = 0; i < n; i++)
            values[i] = w->values[row + from[i]];
        rlt_table_row(&t, values);
    }
    int rc = rlt_table_end(&t, err);
    if (!rc)
        write_commands(w);
    if (left && most && most < RLT_MAX_COLUMNS)
        rlt_note("%u more column%s: --all shows them, --columns chooses", left, rlt_s(left));
    else if (left)
        rlt_note("a table has %d columns: %u are left out, --columns chooses", RLT_MAX_COLUMNS, left);
    return rc;
}

static int write_row(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err)
{
    writer *w = ctx;
    n = n < MAX_COLUMNS ? n : MAX_COLUMNS;
    if (w->format == RLT_FORMAT_TABLE)
        return keep_row(w, c, n, err);
    if (w->format == RLT_FORMAT_CSV)
        write_csv(w, c, n);
    else
        write_json(w, c, n);
    return 0;
}

int rlt_asked_write(rlt_asked *a, const char *sql, uint32_t most, const char *format, const char *path,
                    rlt_error *err)
{
    rlt_file f = {0};
    writer *w = calloc(1, sizeof *w);
    if (!w)
        return rlt_nomem(err);
    w->asked = a;
    w->format = rlt_format_of(format, path);
    int rc = rlt_file_open(&f, path, err);
    w->out = f.stream;
    rlt_store_guard(a->store);
    if (!rc)
        rc = rlt_store_query(a->store, sql, write_row, w, err);
    if (!rc && w->n && w->format == RLT_FORMAT_TABLE)
        rc = write_table(w, most, err);
    else if (!rc && w->format == RLT_FORMAT_TABLE)
        rlt_note("there is no such point");
    if (!rc && w->format != RLT_FORMAT_JSON)
        rlt_mark_partial(f.stream);
    if (!rc)
        rc = rlt_file_close(&f, err);
    else
        rlt_file_discard(&f);
    free(w->values);
    rlt_arena_free(&w->arena);
    free(w);
    return rc;
}
