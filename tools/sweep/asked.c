/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A database opened to be asked, and rows as tables, CSV and JSON lines. */
#include <stdlib.h>
#include <string.h>

#include "tools/file.h"
#include "tools/message.h"
#include "tools/sweep/queries.h"

static const char *const own_columns[] = {"point", "name", "replica", "status", "error", NULL};

int rlt_asked_column(const char *name, const char *where, rlt_error *err)
{
    rlt_error why = {0};
    if (rlt_figure_find(name, &why) != RLT_FIGURES)
        return 0;
    return rlt_fail(err, RLT_EUSAGE, where, "%s", why.what);
}

static int add_text(rlt_asked *a, char ***list, uint32_t *n, const char *text, rlt_error *err)
{
    char **more = rlt_arena_array(&a->arena, *n + 1, sizeof **list);
    if (!more)
        return rlt_nomem(err);
    if (*n)
        memcpy(more, *list, *n * sizeof **list);
    more[*n] = rlt_arena_strdup(&a->arena, text);
    *list = more;
    return more[(*n)++] ? 0 : rlt_nomem(err);
}

/* An axis is a column of its name, or "axis_NAME" where another column has that. */
static int see_axis(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err)
{
    rlt_asked *a = ctx;
    char name[200];
    bool taken = rlt_figure_find(c[0].text, NULL) != RLT_FIGURES;
    (void)n;
    for (int i = 0; own_columns[i]; i++)
        taken |= strcmp(own_columns[i], c[0].text) == 0;
    snprintf(name, sizeof name, "%s%.180s", taken ? "axis_" : "", c[0].text);
    return add_text(a, &a->axes, &a->n_axes, name, err);
}

static int see_column(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err)
{
    rlt_asked *a = ctx;
    (void)n;
    return add_text(a, &a->columns, &a->n_columns, c[0].text, err);
}

static int see_objective(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err)
{
    rlt_asked *a = ctx;
    bool *max = rlt_arena_array(&a->arena, a->n_objectives + 1, sizeof *max);
    (void)n;
    if (!max)
        return rlt_nomem(err);
    if (a->n_objectives)
        memcpy(max, a->max, a->n_objectives * sizeof *max);
    max[a->n_objectives] = strcmp(c[1].text, "max") == 0;
    a->max = max;
    return add_text(a, &a->objectives, &a->n_objectives, c[0].text, err);
}

/* "name", with quotes inside doubled. */
static void put_name(FILE *f, const char *name)
{
    putc('"', f);
    for (; *name; name++)
        fprintf(f, *name == '"' ? "\"\"" : "%c", *name);
    putc('"', f);
}

static int make_view(rlt_asked *a, rlt_error *err)
{
    char *sql = NULL;
    size_t length;
    FILE *f = open_memstream(&sql, &length);
    int rc = f ? 0 : rlt_nomem(err);
    if (rc)
        return rc;
    fputs("CREATE TEMP VIEW points AS SELECT p.point, p.name, ", f);
    for (uint32_t i = 0; i < a->n_axes; i++) {
        fprintf(f,
                "(SELECT v FROM temp.axis_value WHERE axis=%u AND i=json_extract(p.coordinates,'$[%u]')) AS ",
                i, i);
        put_name(f, a->axes[i]);
        fputs(", ", f);
    }
    fputs("p.replica, p.status, p.error", f);
    for (int i = 0; i < RLT_FIGURES; i++)
        fprintf(f, ", r.%s", rlt_figure_infos[i].name);
    fputs(" FROM point p LEFT JOIN result r ON r.point=p.point", f);
    if (fclose(f))
        rc = rlt_nomem(err);
    if (!rc)
        rc = rlt_store_query(a->store, sql, NULL, NULL, err);
    free(sql);
    return rc;
}

int rlt_asked_open(rlt_asked *a, const char *db, rlt_error *err)
{
    static const char *const values[] = {
        "CREATE TEMP TABLE axis_value(axis INTEGER, i INTEGER, v, PRIMARY KEY(axis,i)) WITHOUT ROWID",
        "INSERT INTO temp.axis_value SELECT a.axis, j.key, j.value FROM axis a, json_each(a.\"values\") j"};
    rlt_error why = {0};
    *a = (rlt_asked){0};
    int rc = rlt_store_open(db, RLT_STORE_READ, &a->store, err);
    if (rc)
        return rc;
    if (rlt_store_query(a->store, "SELECT name FROM axis ORDER BY axis", see_axis, a, &why))
        return rlt_fail(err, RLT_ESCHEMA, db, "is no database of a sweep: %s", why.what);
    if ((rc =
             rlt_store_query(a->store, "SELECT j.value FROM study, json_each(study.columns) j ORDER BY j.key",
                             see_column, a, err)) ||
        (rc = rlt_store_query(
             a->store,
             "SELECT json_extract(j.value,'$.column'), json_extract(j.value,'$.goal') FROM study, "
             "json_each(study.objectives) j ORDER BY j.key",
             see_objective, a, err)))
        return rc;
    for (int i = 0; i < RLT_FIGURES && !rc && a->n_columns < RLT_FIGURES && (i || !a->n_columns); i++)
        rc = add_text(a, &a->columns, &a->n_columns, rlt_figure_infos[i].name, err);
    for (int i = 0; i < 2 && !rc; i++)
        rc = rlt_store_query(a->store, values[i], NULL, NULL, err);
    return rc ? rc : make_view(a, err);
}

void rlt_asked_close(rlt_asked *a)
{
    rlt_store_close(a->store);
    rlt_arena_free(&a->arena);
    *a = (rlt_asked){0};
}

char *rlt_asked_select(rlt_asked *a)
{
    char *text = NULL, *kept = NULL;
    size_t length;
    FILE *f = open_memstream(&text, &length);
    if (!f)
        return NULL;
    fputs("point, name", f);
    for (uint32_t i = 0; i < a->n_axes; i++) {
        fputs(", ", f);
        put_name(f, a->axes[i]);
    }
    fputs(", replica, status, error", f);
    for (uint32_t i = 0; i < a->n_columns; i++)
        fprintf(f, ", %s", a->columns[i]);
    if (!fclose(f))
        kept = rlt_arena_strdup(&a->arena, text);
    free(text);
    return kept;
}

typedef struct writer {
    rlt_format format;
    FILE *out;
    rlt_table table;
    rlt_column columns[128];
    bool begun;
    char cells[128][400], names[128][80];
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

static void put_csv(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\n\r")) {
        fputs(text, out);
        return;
    }
    putc('"', out);
    for (; *text; text++)
        fprintf(out, *text == '"' ? "\"\"" : "%c", *text);
    putc('"', out);
}

static int write_csv(writer *w, const rlt_store_cell *c, uint32_t n)
{
    for (uint32_t i = 0; i < n && !w->begun; i++) {
        fputs(i ? "," : "", w->out);
        put_csv(w->out, c[i].name);
    }
    if (!w->begun)
        putc('\n', w->out);
    w->begun = true;
    for (uint32_t i = 0; i < n; i++) {
        char text[400];
        cell_text(&c[i], text, sizeof text);
        fputs(i ? "," : "", w->out);
        put_csv(w->out, c[i].kind == RLT_CELL_TEXT ? c[i].text : text);
    }
    putc('\n', w->out);
    return 0;
}

static int write_json(writer *w, const rlt_store_cell *c, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        char text[400];
        cell_text(&c[i], text, sizeof text);
        putc(i ? ',' : '{', w->out);
        rlt_tree_write_string(c[i].name, w->out);
        putc(':', w->out);
        if (c[i].kind == RLT_CELL_TEXT)
            rlt_tree_write_string(c[i].text, w->out);
        else
            fputs(c[i].kind == RLT_CELL_NULL ? "null" : text, w->out);
    }
    fputs("}\n", w->out);
    return 0;
}

static bool is_duration(const char *name)
{
    size_t n = strlen(name);
    return n > 3 && strcmp(name + n - 3, "_ps") == 0;
}

static int write_table(writer *w, const rlt_store_cell *c, uint32_t n)
{
    rlt_value values[RLT_MAX_COLUMNS];
    n = n < RLT_MAX_COLUMNS ? n : RLT_MAX_COLUMNS;
    for (uint32_t i = 0; i < n && !w->begun; i++)
        snprintf(w->names[i], sizeof w->names[i], "%s", c[i].name);
    for (uint32_t i = 0; i < n && !w->begun; i++)
        w->columns[i] = (rlt_column){.name = w->names[i],
                                     .title = w->names[i],
                                     .kind = is_duration(c[i].name) ? RLT_COL_TIME : RLT_COL_TEXT};
    if (!w->begun)
        rlt_table_begin(&w->table, RLT_FORMAT_TABLE, w->columns, n, w->out, NULL);
    w->begun = true;
    for (uint32_t i = 0; i < n; i++) {
        cell_text(&c[i], w->cells[i], sizeof w->cells[i]);
        if (c[i].kind == RLT_CELL_REAL)
            snprintf(w->cells[i], sizeof w->cells[i], "%.4g", c[i].real);
        values[i] = c[i].kind == RLT_CELL_NULL           ? rlt_absent()
                    : w->columns[i].kind == RLT_COL_TIME ? rlt_ps(c[i].integer)
                                                         : rlt_text(w->cells[i]);
    }
    rlt_table_row(&w->table, values);
    return 0;
}

static int write_row(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err)
{
    writer *w = ctx;
    (void)err;
    return w->format == RLT_FORMAT_CSV    ? write_csv(w, c, n)
           : w->format == RLT_FORMAT_JSON ? write_json(w, c, n)
                                          : write_table(w, c, n);
}

int rlt_asked_write(rlt_asked *a, const char *sql, const char *format, const char *path, rlt_error *err)
{
    rlt_file f = {0};
    writer *w = calloc(1, sizeof *w);
    if (!w)
        return rlt_nomem(err);
    w->format = rlt_format_of(format);
    int rc = rlt_file_open(&f, path, err);
    w->out = f.stream;
    if (!rc && (rc = rlt_store_query(a->store, sql, write_row, w, err)))
        rlt_file_discard(&f);
    if (!rc && w->begun && w->format == RLT_FORMAT_TABLE)
        rc = rlt_table_end(&w->table, err);
    if (!rc)
        rc = rlt_file_close(&f, err);
    else
        rlt_file_discard(&f);
    free(w);
    return rc;
}
