/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ringlet sweep query`, `top`, `pareto`, `merge`, and `--status`. */
#include "tools/sweep/queries.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "sim/base/mem.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "tools/base/message.h"
#include "tools/output/output.h"
#include "tools/output/report_options.h"
#include "tools/sweep/asked.h"
#include "tools/sweep/chart.h"
#include "workload/setup/settings.h"

typedef struct query_settings {
    rlt_report_settings report;
    rlt_chart_settings chart;
    const char *columns, *where, *order, *by, *goal;
    uint64_t n;
    bool all, commands;
} query_settings;

enum { SHORT_TABLE = 12 }; /* columns of a short table */

#define AT(field) .offset = offsetof(query_settings, field)
#define COLUMNS                                                                                              \
    {                                                                                                        \
        "columns", 'c', RLT_PARAM_TEXT, "LIST",                                                              \
            "Columns to show: axes, point, name, replica, status, error and figures, such as bw,time_ps "    \
            "(default: those of the study; a table omits empty ones).",                                      \
            AT(columns)                                                                                      \
    }
#define COMMANDS                                                                                             \
    {                                                                                                        \
        "commands", 0, RLT_PARAM_FLAG, NULL,                                                                 \
            "Print the ringlet command that repeats each point, below a table, or as the last column. JSON " \
            "always has it. Run it in the folder of the sweep: paths of inputs may be relative.",            \
            AT(commands)                                                                                     \
    }
#define ALL                                                                                                  \
    {                                                                                                        \
        "all", 0, RLT_PARAM_FLAG, NULL, "Show all columns that have values.", AT(all)                        \
    }
static const rlt_option query_options[] = {
    {"where", 'w', RLT_PARAM_TEXT, "CONDITION",
     "Show only rows that meet this SQL condition over the columns: bw = '25GB/s' and time_ps < 2e10.",
     AT(where)},
    {"order", 0, RLT_PARAM_TEXT, "COLUMNS", "Order of the rows, in SQL: time_ps desc (default: by number).",
     AT(order), .preset = "point"},
    COLUMNS,
    COMMANDS,
    {0}};
static const rlt_option top_options[] = {
    {"by", 0, RLT_PARAM_TEXT, "COLUMN", "Column to rank by (default: the study's first objective).", AT(by)},
    {"goal", 0, RLT_PARAM_WORD, "GOAL",
     "Whether small or large values are best (default: the study's goal, else min).", AT(goal),
     .words = "min|max"},
    {"number", 'n', RLT_PARAM_COUNT, "N", "Number of points.", AT(n), .preset = "10", .min = 1},
    COLUMNS,
    ALL,
    COMMANDS,
    {0}};
static const rlt_option pareto_options[] = {COLUMNS, ALL, COMMANDS, {0}};
#undef ALL
#undef COMMANDS
#undef COLUMNS
#undef AT
#define FORMAT                                                                                               \
    {                                                                                                        \
        "Output", rlt_format_options, offsetof(query_settings, report)                                       \
    }
static const rlt_option_group query_groups[] = {
    {"Rows", query_options, 0},
    FORMAT,
    {"Picture, in place of rows", rlt_chart_options, offsetof(query_settings, chart)},
    {0}};
static const rlt_option_group top_groups[] = {{"Rows", top_options, 0}, FORMAT, {0}};
static const rlt_option_group pareto_groups[] = {
    {"Rows", pareto_options, 0},
    FORMAT,
    {"Picture", rlt_front_options, offsetof(query_settings, chart)},
    {0}};

/* Writes rows: SELECT the wanted columns, followed by `tail`. A table has at most `most` unless the user
 * chooses. */
static int select_rows(rlt_asked *a, const query_settings *s, uint32_t most, const char *from,
                       const char *tail, rlt_error *err)
{
    char *columns;
    rlt_format format = rlt_format_of(s->report.format, s->report.output);
    int rc = rlt_asked_select(a, s->columns, format == RLT_FORMAT_TABLE, &columns, err);
    bool told = !rc && strstr(columns, "ringlet_command("), want = s->commands || format == RLT_FORMAT_JSON;
    char *sql = rc ? NULL
                   : rlt_arena_printf(&a->arena, "SELECT %s%s FROM %s %s", columns,
                                      want && !told ? ", ringlet_command(point) AS command" : "", from, tail);
    if (rc || !sql)
        return rc ? rc : rlt_nomem(err);
    most = s->columns ? 0 : s->all ? RLT_MAX_COLUMNS : most;
    return rlt_asked_write(a, sql, most, s->report.format, s->report.output, err);
}

/* Reports what the study's rules drop, below a table. */
static int note_dropped(rlt_asked *a, const query_settings *s, rlt_error *err)
{
    char dropped[2000];
    int64_t points;
    if (rlt_format_of(s->report.format, s->report.output) != RLT_FORMAT_TABLE)
        return 0;
    int rc = rlt_store_scope(a->store, dropped, sizeof dropped, &points, err);
    if (!rc && *dropped)
        rlt_note("%s", dropped);
    return rc;
}

/* Adds the list of columns to SQLite's error about a condition. */
static int say_columns(int rc, rlt_error *err)
{
    rlt_error why = *err;
    if (strncmp(why.what, "no such column", 14) != 0 && strncmp(why.what, "unrecognized token", 18) != 0)
        return rc;
    *err = (rlt_error){0};
    return rlt_fail(err, rc, why.where, "%s; columns are those of the table, texts as in bw = '25GB/s'",
                    why.what);
}

static int run_query(const rlt_parsed *args, void *settings, rlt_error *err)
{
    query_settings *s = settings;
    rlt_asked a;
    int rc = rlt_asked_open(&a, args->operands[0], err);
    s->chart.where = s->where;
    if (!rc && s->chart.path) {
        rc = rlt_chart_lines(&a, &s->chart, err);
        rlt_asked_close(&a);
        return rc;
    }
    char *tail =
        rc ? NULL
           : rlt_arena_printf(&a.arena, "WHERE (%s\n) ORDER BY %s", s->where ? s->where : "1", s->order);
    if (!rc)
        rc = tail ? select_rows(&a, s, RLT_MAX_COLUMNS, "points", tail, err) : rlt_nomem(err);
    rc = rc == RLT_EUSAGE ? say_columns(rc, err) : rc;
    rlt_asked_close(&a);
    return rc;
}

/* Shows a column as if it were one of the objectives. */
static int show_column(rlt_asked *a, const char *name, rlt_error *err)
{
    char **more = rlt_arena_array(&a->arena, a->n_objectives + 1, sizeof *more);
    if (!more)
        return rlt_nomem(err);
    if (rlt__asked_listed(a->objectives, a->n_objectives, name))
        return 0;
    memcpy(more, a->objectives, a->n_objectives * sizeof *more);
    if (!(more[a->n_objectives++] = rlt_arena_strdup(&a->arena, name)))
        return rlt_nomem(err);
    a->objectives = more;
    return 0;
}

static int run_top(const rlt_parsed *args, void *settings, rlt_error *err)
{
    const query_settings *s = settings;
    rlt_asked a;
    char tail[200];
    int rc = rlt_asked_open(&a, args->operands[0], err);
    if (!rc && s->by)
        rc = rlt_asked_column(s->by, "--by", err);
    if (!rc) {
        const char *by = s->by ? s->by : a.objectives[0];
        bool max = s->goal && s->goal[1] == 'a';
        for (uint32_t i = 0; i < a.n_objectives && !s->goal; i++)
            max |= strcmp(by, a.objectives[i]) == 0 && a.max[i];
        snprintf(tail, sizeof tail, "WHERE status=0 AND %s IS NOT NULL ORDER BY %s %s, point LIMIT %llu", by,
                 by, max ? "DESC" : "ASC", (unsigned long long)s->n);
        rc = show_column(&a, by, err);
        if (!rc)
            rc = select_rows(&a, s, SHORT_TABLE, a.ranked, tail, err);
    }
    if (!rc)
        rc = note_dropped(&a, s, err);
    rlt_asked_close(&a);
    return rc;
}

typedef struct candidate {
    int64_t point;
    double value[RLT_SWEEP_OBJECTIVES]; /* sign changed if maximised: smaller is better */
} candidate;

typedef struct candidates {
    const rlt_asked *a;
    candidate *items;
    uint32_t n, capacity;
} candidates;

static int see_candidate(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err)
{
    candidates *l = ctx;
    int rc = rlt_grow(&l->items, &l->capacity, sizeof *l->items, (uint64_t)l->n + 1, RLT_SWEEP_POINTS,
                      "points", err);
    if (rc)
        return rc;
    candidate *x = &l->items[l->n++];
    x->point = c[0].integer;
    for (uint32_t i = 1; i < n; i++) {
        double v = c[i].kind == RLT_CELL_INTEGER ? (double)c[i].integer : c[i].real;
        x->value[i - 1] = l->a->max[i - 1] ? -v : v;
    }
    return 0;
}

static int compare_candidates(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    for (int i = 0; i < RLT_SWEEP_OBJECTIVES; i++)
        if (x->value[i] != y->value[i])
            return x->value[i] < y->value[i] ? -1 : 1;
    return x->point < y->point ? -1 : 1;
}

/* Returns true if x is better in one objective and not worse in any other. */
static bool dominates(const candidate *x, const candidate *y, uint32_t n)
{
    bool better = false;
    for (uint32_t i = 0; i < n; i++) {
        if (x->value[i] > y->value[i])
            return false;
        better |= x->value[i] < y->value[i];
    }
    return better;
}

/* Keeps the front. Sorted by the first objective, a point can be dominated only by points already on the
 * front. */
static int keep_front(candidates *l, uint32_t n_objectives, rlt_error *err)
{
    uint32_t kept = 0;
    (void)err;
    if (l->n)
        qsort(l->items, l->n, sizeof *l->items, compare_candidates);
    for (uint32_t i = 0; i < l->n; i++) {
        bool out = false;
        for (uint32_t k = kept; k-- > 0 && !out;)
            out = dominates(&l->items[k], &l->items[i], n_objectives);
        if (!out)
            l->items[kept++] = l->items[i];
    }
    l->n = kept;
    return 0;
}

static int draw_front(rlt_asked *a, const candidates *l, const rlt_chart_settings *s, rlt_error *err)
{
    double *x = rlt_arena_array(&a->arena, 2 * (size_t)l->n + 1, sizeof *x);
    if (!x)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < l->n && a->n_objectives > 1; i++) {
        x[i] = a->max[1] ? -l->items[i].value[1] : l->items[i].value[1];
        x[l->n + i] = a->max[0] ? -l->items[i].value[0] : l->items[i].value[0];
    }
    return rlt_chart_front(a, s, x, x + l->n, l->n, err);
}

static int run_pareto(const rlt_parsed *args, void *settings, rlt_error *err)
{
    const query_settings *s = settings;
    rlt_asked a;
    candidates l = {.a = &a};
    char sql[800] = "SELECT point";
    size_t used = strlen(sql);
    int rc = rlt_asked_open(&a, args->operands[0], err);
    for (uint32_t i = 0; !rc && i < a.n_objectives; i++)
        used += (size_t)snprintf(sql + used, sizeof sql - used, ", %s", a.objectives[i]);
    if (!rc)
        used += (size_t)snprintf(sql + used, sizeof sql - used, " FROM %s WHERE status=0", a.ranked);
    for (uint32_t i = 0; !rc && i < a.n_objectives; i++)
        used += (size_t)snprintf(sql + used, sizeof sql - used, " AND %s IS NOT NULL", a.objectives[i]);
    if (!rc && !(rc = rlt_store_query(a.store, sql, see_candidate, &l, err)) &&
        !(rc = keep_front(&l, a.n_objectives, err)))
        rc = rlt_store_query(a.store, "CREATE TEMP TABLE front(place INTEGER PRIMARY KEY, point INTEGER)",
                             NULL, NULL, err);
    for (uint32_t i = 0; i < l.n && !rc; i++) {
        snprintf(sql, sizeof sql, "INSERT INTO front VALUES(%u,%lld)", i, (long long)l.items[i].point);
        rc = rlt_store_query(a.store, sql, NULL, NULL, err);
    }
    if (!rc && s->chart.path)
        rc = draw_front(&a, &l, &s->chart, err);
    if (!rc)
        rc = select_rows(&a, s, SHORT_TABLE, a.ranked, "JOIN front USING(point) ORDER BY place", err);
    free(l.items);
    rlt_asked_close(&a);
    return rc;
}

typedef struct merged {
    char hash[17];
    int64_t points;
} merged;

static int see_merged(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err)
{
    merged *m = ctx;
    (void)n;
    (void)err;
    snprintf(m->hash, sizeof m->hash, "%s", c[0].text ? c[0].text : "");
    m->points = c[1].integer;
    return 0;
}

static int read_merged(const char *path, merged *m, rlt_error *err)
{
    rlt_store *store = NULL;
    rlt_error why = {0};
    int rc = rlt_store_open(path, RLT_STORE_READ, &store, err);
    if (!rc && rlt_store_query(store, "SELECT hash, points FROM study", see_merged, m, &why))
        rc = rlt_fail(err, RLT_ESCHEMA, path, "is not a database of a sweep: %s", why.what);
    if (!rc && !m->hash[0])
        rc = rlt_fail(err, RLT_ESCHEMA, path, "is not a database of a sweep");
    rlt_store_close(store);
    return rc;
}

/* Checks all databases before anything is written. */
static int check_merge(const rlt_parsed *args, merged *first, rlt_error *err)
{
    struct stat out, in;
    bool there = stat(args->operands[0], &out) == 0;
    int rc = 0;
    for (int i = 1; i < args->n_operands && !rc; i++) {
        merged m = {0};
        if (there && stat(args->operands[i], &in) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
            return rlt_fail(err, RLT_EUSAGE, args->operands[i], "is the target of the merge");
        if ((rc = read_merged(args->operands[i], i == 1 ? first : &m, err)))
            return rc;
        if (i > 1 && strcmp(m.hash, first->hash) != 0)
            return rlt_fail(err, RLT_ESCHEMA, args->operands[i], "is of another study than %s",
                            args->operands[1]);
    }
    return 0;
}

static int run_merge(const rlt_parsed *args, void *settings, rlt_error *err)
{
    rlt_store *store = NULL;
    merged of = {0};
    uint64_t done = 0, failed;
    int64_t last;
    (void)settings;
    int rc = check_merge(args, &of, err);
    if (!rc)
        rc = rlt_store_open(args->operands[0], RLT_STORE_WRITE, &store, err);
    for (int i = 1; i < args->n_operands && !rc; i++)
        rc = rlt_store_merge(store, args->operands[i], err);
    if (!rc && !(rc = rlt_store_settle(store, err)))
        rc = rlt_store_count(store, &done, &failed, &last, err);
    if (!rc && (int64_t)done < of.points)
        rlt_note("%llu of %lld points are in %s; 'ringlet sweep' with it runs the rest",
                 (unsigned long long)done, (long long)of.points, args->operands[0]);
    else if (!rc)
        rlt_store_done(store);
    rlt_store_close(store);
    return rc;
}

typedef struct status_of {
    char name[120], shard[32];
    double points, began_s, committed_s, added;
    int64_t scope; /* points of this database; -1: not recorded */
} status_of;

static int see_status(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err)
{
    status_of *s = ctx;
    rlt_sweep_study study = {0};
    uint32_t i = 0, shards = 1;
    (void)n;
    snprintf(s->name, sizeof s->name, "%s", c[0].text ? c[0].text : "");
    snprintf(s->shard, sizeof s->shard, "%s", c[2].text ? c[2].text : "");
    s->points = (double)c[1].integer;
    if (s->scope >= 0) {
        s->points = (double)s->scope;
    } else if (s->shard[0]) { /* a database of an earlier version */
        int rc = rlt_sweep_study_parse("study", c[6].text ? c[6].text : "", &study, err);
        if (!rc && !(rc = rlt_sweep_shard(s->shard, &i, &shards, err)))
            s->points = (double)rlt_sweep_share(&study, i, shards);
        rlt_sweep_study_free(&study);
        if (rc)
            return rc;
    }
    s->began_s = c[3].real;
    s->committed_s = c[4].real;
    s->added = (double)c[5].integer;
    return 0;
}

static void print_status(const status_of *s, uint64_t done, uint64_t failed)
{
    double spent = s->committed_s - s->began_s, rate = spent > 0 ? s->added / spent : 0,
           left = s->points - (double)done;
    printf("%s%s%s: %llu of %.0f points (%.1f %%), %llu failed", s->name, s->shard[0] ? ", shard " : "",
           s->shard, (unsigned long long)done, s->points,
           s->points > 0 ? 100 * (double)done / s->points : 100, (unsigned long long)failed);
    if (left > 0 && rate > 0)
        printf("; %.1f points/s, %.0f s left", rate, left / rate);
    double silent = (double)time(NULL) - s->committed_s;
    if (left > 0 && silent > 5)
        printf("; nothing new for %.0f s", silent);
    printf("\n");
}

int rlt_sweep_status(const char *db, rlt_error *err)
{
    rlt_store *store = NULL;
    rlt_error why = {0};
    status_of s = {.points = -1};
    uint64_t done = 0, failed = 0, hidden = 0;
    char dropped[2000];
    int64_t last;
    int rc = rlt_store_open(db, RLT_STORE_READ, &store, err);
    if (!rc)
        rc = rlt_store_scope(store, dropped, sizeof dropped, &s.scope, err);
    if (!rc &&
        rlt_store_query(
            store,
            "SELECT s.name, s.points, s.shard, p.began_s, p.committed_s, p.added, s.text FROM study s LEFT "
            "JOIN progress p",
            see_status, &s, &why))
        rc = rlt_fail(err, RLT_ESCHEMA, db, "is not a database of a sweep: %s", why.what);
    if (!rc)
        rc = rlt_store_count(store, &done, &failed, &last, err);
    if (!rc)
        rc = rlt_store_hidden(store, &hidden, err);
    rlt_store_close(store);
    if (rc)
        return rc;
    print_status(&s, done, failed);
    if (hidden)
        printf("%llu result%s of earlier versions of the study %s kept and not shown\n",
               (unsigned long long)hidden, rlt_s(hidden), hidden == 1 ? "is" : "are");
    if (*dropped)
        printf("%s\n", dropped);
    return 0;
}

const rlt_command rlt_sweep_query = {
    .name = "query",
    .summary = "the points of a sweep, with their axes and figures",
    .operands = "DB",
    .min_operands = 1,
    .max_operands = 1,
    .description =
        "Lists rows in the study's order: point, name, a column for each axis, replica, status, error, "
        "figures. --format json writes one object a line.",
    .example = "ringlet sweep query study.sqlite --format csv",
    .options = query_groups,
    .settings_size = sizeof(query_settings),
    .run = run_query,
};
const rlt_command rlt_sweep_top = {
    .name = "top",
    .summary = "the best points by an objective",
    .operands = "DB",
    .min_operands = 1,
    .max_operands = 1,
    .description =
        "Lists the best points by the study's first objective, or by another column. A table has the axes, "
        "the objectives, and figures that differ between its rows: 12 columns at most, unless --all or "
        "--columns asks for others. --commands adds the command that repeats each point. Replicas are one "
        "row, with their mean and the number of the first. They are left out if one "
        "of them failed.",
    .example = "ringlet sweep top study.sqlite -n 5",
    .options = top_groups,
    .settings_size = sizeof(query_settings),
    .run = run_top,
};
const rlt_command rlt_sweep_pareto = {
    .name = "pareto",
    .summary = "the points that no other beats in all objectives",
    .operands = "DB",
    .min_operands = 1,
    .max_operands = 1,
    .description =
        "Lists the Pareto front, in order of the first objective. No other point is better in one objective "
        "and no worse in the rest. Replicas are one point with their mean.",
    .example = "ringlet sweep pareto study.sqlite",
    .options = pareto_groups,
    .settings_size = sizeof(query_settings),
    .run = run_pareto,
};
const rlt_command rlt_sweep_merge = {
    .name = "merge",
    .summary = "merge the databases of several shards",
    .operands = "OUT DB...",
    .min_operands = 2,
    .max_operands = -1,
    .description =
        "Adds the points of databases of the same study to the first one, which is created if missing. "
        "'ringlet sweep' with that database then runs the missing points.",
    .example = "ringlet sweep merge study.sqlite shard-1.sqlite shard-2.sqlite",
    .run = run_merge,
};
