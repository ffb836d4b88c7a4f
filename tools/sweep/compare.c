/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ringlet sweep compare`: two points, the options in which they differ, and their figures. */
#include <stdlib.h>
#include <string.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/options.h"
#include "sim/base/text.h"
#include "sim/base/units.h"
#include "sim/text/json.h"
#include "sim/text/tree.h"
#include "tools/base/command.h"
#include "tools/base/file.h"
#include "tools/output/output.h"
#include "tools/output/report_options.h"
#include "tools/run/report.h"
#include "tools/sweep/asked.h"
#include "tools/sweep/queries.h"
#include "tools/sweep/store/store.h"
#include "tools/sweep/study/study.h"
#include "workload/experiment/figures.h"
#include "workload/experiment/run/run.h"
#include "workload/setup/settings.h"

typedef struct compare_settings {
    rlt_report_settings report;
} compare_settings;
static const rlt_option_group groups[] = {{"Output", rlt_format_options, offsetof(compare_settings, report)},
                                          {0}};

typedef struct side {
    int64_t point;
    int64_t status;
    char error[400];
    rlt_store_cell figures[RLT_FIGURES];
    char busiest[160];
    bool there;
    rlt_option_texts texts;
} side;

static int see_point(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err)
{
    side *s = ctx;
    (void)err;
    s->there = true;
    s->point = c[0].integer;
    s->status = c[1].integer;
    snprintf(s->error, sizeof s->error, "%s", c[2].kind == RLT_CELL_TEXT ? c[2].text : "");
    for (uint32_t i = 0; i + 3 < n && i < RLT_FIG_STORED; i++) {
        s->figures[i] = c[i + 3];
        if (c[i + 3].kind == RLT_CELL_TEXT)
            snprintf(s->busiest, sizeof s->busiest, "%s", c[i + 3].text);
    }
    return 0;
}

/* Finds a point by number, or the first replica of a named point. */
static int find_side(rlt_asked *a, const char *which, side *s, rlt_error *err)
{
    char figures[RLT_FIGURE_LIST];
    uint64_t number;
    char *quoted = rlt_arena_alloc(&a->arena, 2 * strlen(which) + 1), *q = quoted;
    if (!quoted)
        return rlt_nomem(err);
    for (const char *p = which; *p; p++) {
        if (*p == '\'')
            *q++ = *p;
        *q++ = *p;
    }
    char *condition = rlt_parse_count(which, &number, NULL, NULL) == 0
                          ? rlt_arena_printf(&a->arena, "p.point=%llu", (unsigned long long)number)
                          : rlt_arena_printf(&a->arena, "p.name='%s'", quoted);
    char *sql =
        condition ? rlt_arena_printf(&a->arena,
                                     "SELECT p.point, p.status, p.error, %s FROM point p LEFT JOIN result r "
                                     "USING(point) WHERE %s ORDER BY p.point LIMIT 1",
                                     rlt_figure_list("r.", false, figures), condition)
                  : NULL;
    int rc = sql ? rlt_store_query(a->store, sql, see_point, s, err) : rlt_nomem(err);
    if (!rc && !s->there)
        return rlt_fail(
            err, RLT_EUSAGE, which,
            "the database has no point with this number or name; 'ringlet sweep query DB -c point,name' "
            "lists them");
    return rc;
}

static int options_of(rlt_asked *a, const rlt_sweep_study *st, side *s, rlt_error *err)
{
    rlt_sweep_point p;
    int rc = rlt_asked_point(a, st, s->point, &p, err);
    return rc ? rc : rlt_sweep_options(st, &p, &a->arena, &s->texts, err);
}

/* Returns all texts of an option, joined by blanks; "" if it is not given. */
static const char *join(const rlt_option_texts *t, uint32_t option, rlt_arena *arena)
{
    const char *all = "";
    for (uint32_t i = 0; i < t->n && all; i++)
        if (t->items[i].option == option)
            all = rlt_arena_printf(arena, "%s%s%s", all, *all ? " " : "",
                                   t->items[i].text[0] ? t->items[i].text : "on");
    return all;
}

/* A table shows times with their difference. CSV and JSON have plain numbers. */
enum { WHAT, FIRST, SECOND, DIFFERENCE, RATIO, COLUMNS };
static const rlt_column columns[COLUMNS] = {
    {"what", "what", NULL, RLT_COL_TEXT, 0, 0, "option or figure in which two points differ"},
    {"first", "first", NULL, RLT_COL_TEXT, 0, 0, "value at the first point"},
    {"second", "second", NULL, RLT_COL_TEXT, 0, 0, "value at the second point"},
    {NULL, "difference", NULL, RLT_COL_TEXT, 0, 0, "second - first"},
    {"ratio", "second / first", NULL, RLT_COL_REAL, 14, 4, "second / first"},
};

static void put_texts(rlt_table *t, const char *what, const char *first, const char *second)
{
    rlt_value v[COLUMNS] = {rlt_text(what), rlt_text(first[0] ? first : "-"),
                            rlt_text(second[0] ? second : "-"), rlt_text(""), rlt_absent()};
    rlt_table_row(t, v);
}

typedef struct difference {
    rlt_table *table;
    rlt_arena *arena;
    rlt_error *err;
} difference;

/* Returns a scalar as text, any other value as JSON. */
static const char *text_of(const difference *d, const rlt_json_tree *v)
{
    char *made = NULL, *kept = NULL;
    size_t length;
    if (!v)
        return "-";
    if (v->kind == RLT_TREE_STRING || v->kind == RLT_TREE_NUMBER)
        return v->text;
    FILE *f = rlt_text_stream(&made, &length);
    if (!f)
        return NULL;
    rlt_tree_write(v, NULL, f);
    if (!fclose(f))
        kept = rlt_arena_strdup(d->arena, made);
    free(made);
    return kept;
}

/* Writes a row for each place in which two values differ. */
static int put_places(const difference *d, const char *path, const rlt_json_tree *a, const rlt_json_tree *b)
{
    bool both = a && b && a->kind == b->kind;
    int rc = 0;
    if (both && rlt_tree_same(a, b))
        return 0;
    if (!both || (a->kind != RLT_TREE_OBJECT && a->kind != RLT_TREE_ARRAY)) {
        const char *first = text_of(d, a), *second = text_of(d, b);
        if (!first || !second)
            return rlt_nomem(d->err);
        put_texts(d->table, path, first, second);
        return 0;
    }
    for (int pass = 0; pass < 2; pass++) {
        uint32_t i = 0;
        for (const rlt_json_tree *c = pass ? b->first : a->first; c && !rc; c = c->next, i++) {
            const rlt_json_tree *other = pass ? a : b;
            other = c->key ? rlt_tree_get(other, c->key) : rlt_tree_at(other, i);
            if (pass && other)
                continue;
            char *place = c->key ? rlt_arena_printf(d->arena, "%s/%s", path, c->key)
                                 : rlt_arena_printf(d->arena, "%s/%u", path, i);
            rc = place ? put_places(d, place, pass ? other : c, pass ? c : other) : rlt_nomem(d->err);
        }
    }
    return rc;
}

/* Compares two objects, such as topologies: writes only differing places. */
static int put_objects(const difference *d, const char *name, const char *const texts[2], bool *done)
{
    rlt_json_doc *docs[2] = {NULL, NULL};
    rlt_json_tree *trees[2] = {NULL, NULL};
    rlt_error ignored = {0};
    int rc = 0;
    for (int k = 0; k < 2 && !rc; k++)
        if (!(rc = rlt_json_parse(name, texts[k], strlen(texts[k]), &docs[k], &ignored)))
            rc = rlt_tree_make(d->arena, rlt_json_root(docs[k]), &trees[k], &ignored);
    *done = rc == 0;
    char *path = rc ? NULL : rlt_arena_printf(d->arena, "%s ", name);
    if (!rc)
        rc = path ? put_places(d, path, trees[0], trees[1]) : rlt_nomem(d->err);
    for (int k = 0; k < 2; k++)
        rlt_json_free(docs[k]);
    return *done ? rc : 0;
}

static int put_options(const difference *d, const rlt_sweep_study *st, const side *sides)
{
    const rlt_option *o;
    int rc = 0;
    for (uint32_t i = 0; (o = rlt_option_at(st->command->options, i, NULL)) && !rc; i++) {
        const char *given[2] = {join(&sides[0].texts, i, d->arena), join(&sides[1].texts, i, d->arena)};
        char name[80];
        bool done = false;
        if (!given[0] || !given[1])
            return rlt_nomem(d->err);
        if (strcmp(given[0], given[1]) == 0)
            continue;
        snprintf(name, sizeof name, "--%s", o->name);
        if (d->table->format == RLT_FORMAT_TABLE && o->inline_json && given[0][0] == '{' &&
            given[1][0] == '{')
            rc = put_objects(d, name, given, &done);
        if (!done)
            put_texts(d->table, name, given[0], given[1]);
    }
    return rc;
}

static double number_of(const rlt_store_cell *c)
{
    return c->kind == RLT_CELL_INTEGER ? (double)c->integer : c->kind == RLT_CELL_REAL ? c->real : 0;
}

static void figure_text(const side *s, int f, bool people, char *buffer, size_t size)
{
    const rlt_store_cell *c = &s->figures[f];
    rlt_column shape = rlt_figure_column((rlt_figure)f);
    if (c->kind == RLT_CELL_NULL || c->kind == RLT_CELL_TEXT) {
        snprintf(buffer, size, "%s", c->kind == RLT_CELL_TEXT ? s->busiest : "-");
    } else if (people) {
        rlt_value v = rlt_figure_value(&shape, c->kind == RLT_CELL_REAL, c->integer, c->real);
        rlt_cell_text(&shape, &v, buffer, size);
        if (shape.unit)
            snprintf(buffer + strlen(buffer), size - strlen(buffer), " %s", shape.unit);
    } else if (c->kind == RLT_CELL_INTEGER) {
        snprintf(buffer, size, "%lld", (long long)c->integer);
    } else {
        snprintf(buffer, size, "%.15g", c->real);
    }
}

static void put_figures(rlt_table *t, const side *a, const side *b)
{
    bool people = t->format == RLT_FORMAT_TABLE;
    for (int f = 0; f < RLT_FIG_STORED; f++) {
        const rlt_store_cell *x = &a->figures[f], *y = &b->figures[f];
        char first[520], second[520], more[40] = "";
        if (x->kind == RLT_CELL_NULL && y->kind == RLT_CELL_NULL)
            continue;
        double p = number_of(x), q = number_of(y);
        figure_text(a, f, people, first, sizeof first);
        figure_text(b, f, people, second, sizeof second);
        if (rlt_figure_column((rlt_figure)f).kind == RLT_COL_TIME && x->kind == RLT_CELL_INTEGER &&
            y->kind == RLT_CELL_INTEGER)
            rlt_format_difference(more, sizeof more, x->integer, y->integer);
        rlt_value v[COLUMNS] = {rlt_text(rlt_figure_infos[f].name), rlt_text(first), rlt_text(second),
                                rlt_text(more), p > 0 && q > 0 ? rlt_real(q / p) : rlt_absent()};
        rlt_table_row(t, v);
    }
    if (a->status || b->status)
        put_texts(t, "error", a->error, b->error);
}

static int put_all(const rlt_sweep_study *st, const side *sides, const rlt_report_settings *report,
                   rlt_arena *arena, rlt_error *err)
{
    rlt_format format = rlt_format_of(report->format, report->output);
    rlt_file f = {0};
    rlt_table t;
    rlt_jw json;
    int rc = rlt_file_open(&f, report->output, err);
    if (rc)
        return rc;
    if (format == RLT_FORMAT_TABLE)
        fprintf(f.stream, "# points %lld and %lld of %s\n", (long long)sides[0].point,
                (long long)sides[1].point, st->name);
    rlt_jw_init(&json, true);
    rlt_jw_array(&json, NULL);
    rlt_table_begin(&t, format, columns, COLUMNS, f.stream, &json);
    rc = put_options(&(difference){&t, arena, err}, st, sides);
    put_figures(&t, &sides[0], &sides[1]);
    int ended = rlt_table_end(&t, rc ? NULL : err);
    rc = rc ? rc : ended;
    rlt_jw_end_array(&json);
    char *text = rlt_jw_finish(&json, NULL);
    if (format == RLT_FORMAT_JSON && text)
        fputs(text, f.stream);
    free(text);
    if (rc)
        rlt_file_discard(&f);
    return rc ? rc : rlt_file_close(&f, err);
}

static int run(const rlt_parsed *args, void *settings, rlt_error *err)
{
    const compare_settings *s = settings;
    rlt_sweep_study study = {0};
    rlt_asked a;
    side *sides = calloc(2, sizeof *sides);
    int rc = rlt_asked_open(&a, args->operands[0], err);
    if (!sides)
        rc = rlt_nomem(err);
    for (int k = 0; k < 2 && !rc; k++)
        rc = find_side(&a, args->operands[k + 1], &sides[k], err);
    if (!rc)
        rc = rlt_asked_study_of(&a, &study, err);
    for (int k = 0; k < 2 && !rc; k++)
        rc = options_of(&a, &study, &sides[k], err);
    if (!rc)
        rc = put_all(&study, sides, &s->report, &a.arena, err);
    for (int k = 0; k < 2 && sides; k++)
        free(sides[k].texts.items);
    free(sides);
    rlt_sweep_study_free(&study);
    rlt_asked_close(&a);
    return rc;
}

static const rlt_columns table = {"Difference of two points: `ringlet sweep compare`", columns, COLUMNS};
static const rlt_columns *const tables[] = {&table, NULL};

const rlt_command rlt_sweep_compare = {
    .name = "compare",
    .summary = "compare two points: different options, and all figures",
    .operands = "DB A B",
    .min_operands = 3,
    .max_operands = 3,
    .description = "A and B are numbers of points, or names of named points.",
    .example = "ringlet sweep compare study.sqlite 0 17",
    .options = groups,
    .settings_size = sizeof(compare_settings),
    .run = run,
    .tables = tables,
};
