/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ringlet sweep compare`: two points, the options in which they differ, and their figures side by side. */
#include <stdlib.h>
#include <string.h>

#include "sim/time.h"
#include "sim/units.h"
#include "tools/file.h"
#include "tools/settings.h"
#include "tools/sweep/queries.h"

typedef struct compare_settings {
    rlt_report_settings report;
} compare_settings;
static const rlt_option_group groups[] = {{"Output", rlt_format_options, offsetof(compare_settings, report)},
                                          {0}};

typedef struct side {
    int64_t point;
    int64_t named; /* which of the study's, or -1 */
    uint32_t at[RLT_SWEEP_AXES], n_at;
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
    for (uint32_t i = 0; i + 3 < n && i < RLT_FIGURES; i++) {
        s->figures[i] = c[i + 3];
        if (c[i + 3].kind == RLT_CELL_TEXT)
            snprintf(s->busiest, sizeof s->busiest, "%s", c[i + 3].text);
    }
    return 0;
}

static int see_place(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err)
{
    side *s = ctx;
    (void)n;
    (void)err;
    if (c[0].integer >= 0 && s->n_at < RLT_SWEEP_AXES)
        s->at[s->n_at++] = (uint32_t)c[0].integer;
    return 0;
}

/* A point by its number, or the first replica of a named one. */
static int find_side(rlt_asked *a, const char *which, side *s, rlt_error *err)
{
    char columns[600] = "";
    uint64_t number;
    for (int i = 0; i < RLT_FIGURES; i++) {
        strcat(columns, ", r.");
        strcat(columns, rlt_figure_infos[i].name);
    }
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
    char *sql = condition
                    ? rlt_arena_printf(&a->arena,
                                       "SELECT p.point, p.status, p.error%s FROM point p LEFT JOIN result r "
                                       "USING(point) WHERE %s ORDER BY p.point LIMIT 1",
                                       columns, condition)
                    : NULL;
    int rc = sql ? rlt_store_query(a->store, sql, see_point, s, err) : rlt_nomem(err);
    if (!rc && !s->there)
        return rlt_fail(err, RLT_EUSAGE, which, "no point of this number or name is in the database");
    if (rc)
        return rc;
    sql = rlt_arena_printf(&a->arena,
                           "SELECT j.value FROM point p, json_each(p.coordinates) j WHERE p.point=%lld",
                           (long long)s->point);
    return sql ? rlt_store_query(a->store, sql, see_place, s, err) : rlt_nomem(err);
}

static int see_text(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err)
{
    char **out = ctx;
    (void)n;
    *out = strdup(c[0].text ? c[0].text : "");
    return *out ? 0 : rlt_nomem(err);
}

static int options_of(const rlt_sweep_study *st, side *s, rlt_arena *arena, rlt_error *err)
{
    rlt_sweep_point p = {.id = (uint64_t)s->point, .named = RLT_NONE};
    uint64_t draw = p.id / st->replicas;
    p.replica = (uint32_t)(p.id % st->replicas);
    if (draw >= st->draws)
        p.named = (uint32_t)(draw - st->draws);
    memcpy(p.at, s->at, sizeof p.at);
    return rlt_sweep_options(st, &p, arena, &s->texts, err);
}

/* All texts of an option, separated by blanks. */
static void join(const rlt_option_texts *t, uint32_t option, char *buffer, size_t size)
{
    size_t used = 0;
    buffer[0] = '\0';
    for (uint32_t i = 0; i < t->n; i++)
        if (t->items[i].option == option && used < size)
            used += (size_t)snprintf(buffer + used, size - used, "%s%s", used ? " " : "",
                                     t->items[i].text[0] ? t->items[i].text : "on");
}

static const rlt_column columns[] = {
    {"what", "what", NULL, RLT_COL_TEXT, 0, 0},
    {"first", "first", NULL, RLT_COL_TEXT, 0, 0},
    {"second", "second", NULL, RLT_COL_TEXT, 0, 0},
    {"ratio", "second / first", NULL, RLT_COL_REAL, 14, 4},
};

static void put_options(rlt_table *t, const rlt_sweep_study *st, const side *a, const side *b)
{
    const rlt_option *o;
    for (uint32_t i = 0; (o = rlt_option_at(st->command->options, i, NULL)); i++) {
        char first[600], second[600], name[80];
        join(&a->texts, i, first, sizeof first);
        join(&b->texts, i, second, sizeof second);
        if (strcmp(first, second) == 0)
            continue;
        snprintf(name, sizeof name, "--%s", o->name);
        rlt_value v[] = {rlt_text(name), rlt_text(first[0] ? first : "-"), rlt_text(second[0] ? second : "-"),
                         rlt_absent()};
        rlt_table_row(t, v);
    }
}

static void figure_text(const side *s, int f, char *buffer, size_t size)
{
    const rlt_store_cell *c = &s->figures[f];
    if (c->kind == RLT_CELL_INTEGER)
        snprintf(buffer, size, "%lld", (long long)c->integer);
    else if (c->kind == RLT_CELL_REAL)
        snprintf(buffer, size, "%.15g", c->real);
    else
        snprintf(buffer, size, "%s", c->kind == RLT_CELL_TEXT ? s->busiest : "-");
}

static void put_figures(rlt_table *t, const side *a, const side *b)
{
    for (int f = 0; f < RLT_FIGURES; f++) {
        const rlt_store_cell *x = &a->figures[f], *y = &b->figures[f];
        char first[200], second[200];
        if (x->kind == RLT_CELL_NULL && y->kind == RLT_CELL_NULL)
            continue;
        double p = x->kind == RLT_CELL_INTEGER ? (double)x->integer : x->kind == RLT_CELL_REAL ? x->real : 0;
        double q = y->kind == RLT_CELL_INTEGER ? (double)y->integer : y->kind == RLT_CELL_REAL ? y->real : 0;
        figure_text(a, f, first, sizeof first);
        figure_text(b, f, second, sizeof second);
        rlt_value v[] = {rlt_text(rlt_figure_infos[f].name), rlt_text(first), rlt_text(second),
                         p > 0 && q > 0 ? rlt_real(q / p) : rlt_absent()};
        rlt_table_row(t, v);
    }
    if (a->status || b->status) {
        rlt_value v[] = {rlt_text("error"), rlt_text(a->error), rlt_text(b->error), rlt_absent()};
        rlt_table_row(t, v);
    }
}

static int put_all(const rlt_sweep_study *st, const side *sides, const rlt_report_settings *report,
                   rlt_error *err)
{
    rlt_format format = rlt_format_of(report->format);
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
    rlt_table_begin(&t, format, columns, 4, f.stream, &json);
    put_options(&t, st, &sides[0], &sides[1]);
    put_figures(&t, &sides[0], &sides[1]);
    rc = rlt_table_end(&t, err);
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
    char *text = NULL;
    side *sides = calloc(2, sizeof *sides);
    int rc = rlt_asked_open(&a, args->operands[0], err);
    if (!sides)
        rc = rlt_nomem(err);
    for (int k = 0; k < 2 && !rc; k++)
        rc = find_side(&a, args->operands[k + 1], &sides[k], err);
    if (!rc)
        rc = rlt_store_query(a.store, "SELECT text FROM study", see_text, &text, err);
    if (!rc)
        rc = rlt_sweep_study_parse(args->operands[0], text, &study, err);
    for (int k = 0; k < 2 && !rc; k++)
        rc = options_of(&study, &sides[k], &a.arena, err);
    if (!rc)
        rc = put_all(&study, sides, &s->report, err);
    for (int k = 0; k < 2 && sides; k++)
        free(sides[k].texts.items);
    free(sides);
    free(text);
    rlt_sweep_study_free(&study);
    rlt_asked_close(&a);
    return rc;
}

const rlt_command rlt_sweep_compare = {
    .name = "compare",
    .summary = "two points: options that differ, figures side by side",
    .operands = "DB A B",
    .min_operands = 3,
    .max_operands = 3,
    .description = "A and B are numbers of points, or names of named ones.",
    .example = "ringlet sweep compare study.sqlite 0 17",
    .options = groups,
    .settings_size = sizeof(compare_settings),
    .run = run,
};
