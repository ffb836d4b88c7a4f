/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ringlet sweep wins`: by axis, the number of cases in which the best other point beats the baseline, and by
 * how much. */
#include <stdlib.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/options.h"
#include "sim/base/text.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "tools/base/command.h"
#include "tools/base/file.h"
#include "tools/base/numbers.h"
#include "tools/output/output.h"
#include "tools/output/report_options.h"
#include "tools/sweep/asked.h"
#include "tools/sweep/chart.h"
#include "tools/sweep/queries.h"
#include "tools/sweep/store/store.h"
#include "tools/sweep/study/study.h"
#include "workload/setup/settings.h"

enum { N_COLUMNS = 7, MAX_CASES = 1 << 24 };
static const rlt_column columns[N_COLUMNS] = {
    {"axis", "axis", NULL, RLT_COL_TEXT, 9, 0, "axis of the study"},
    {"value", "value", NULL, RLT_COL_TEXT, 9, 0, "value of the axis in the cases that the row counts"},
    {"points", "points", NULL, RLT_COL_COUNT, 6, 0, "cases that were compared"},
    {"wins", "wins", NULL, RLT_COL_COUNT, 6, 0,
     "cases in which the best other point beats the best baseline"},
    {"least", "least", "x", RLT_COL_REAL, 8, 2,
     "smallest gain of a case: the best other point against the best baseline"},
    {"median", "median", "x", RLT_COL_REAL, 8, 2, "median gain of the cases"},
    {"most", "most", "x", RLT_COL_REAL, 8, 2, "largest gain of a case"},
};

/* A case: points that differ only in the compared axis. The best other point is compared with the best
 * baseline. */
typedef struct one_case {
    double gain;
    uint32_t at[RLT_SWEEP_AXES];
    uint32_t best, baseline; /* values of the compared axis */
} one_case;

typedef struct wins {
    rlt_asked *a;
    rlt_chart_axis axes[RLT_SWEEP_AXES]; /* values as shown to people */
    one_case *cases;
    uint32_t n, capacity;
    double *gains; /* gains of the gathered cases, sorted */
    uint32_t n_gains, n_wins;
    FILE *out;
    rlt_jw *json; /* NULL: table or CSV */
    rlt_table table;
} wins;

static int see_case(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err)
{
    wins *w = ctx;
    int rc = rlt_grow(&w->cases, &w->capacity, sizeof *w->cases, (uint64_t)w->n + 1, MAX_CASES, "cases", err);
    if (rc)
        return rc;
    one_case *x = &w->cases[w->n++];
    *x = (one_case){c[0].kind == RLT_CELL_INTEGER ? (double)c[0].integer : c[0].real, {0}, 0, 0};
    x->best = (uint32_t)c[1].integer;
    x->baseline = (uint32_t)c[2].integer;
    for (uint32_t i = 0; i + 3 < n; i++)
        x->at[i] = (uint32_t)c[i + 3].integer;
    return 0;
}

/* Makes the query: a row per case with the gain, the two values of the compared axis, and the coordinates.
 * With min() or max() SQLite takes the other columns from a row that has that value. */
static char *statement(const rlt_asked *a)
{
    const char *aim = a->objectives[0], *best = a->max[0] ? "max" : "min";
    char *sql = NULL;
    size_t length;
    FILE *f = rlt_text_stream(&sql, &length);
    if (!f)
        return NULL;
    fprintf(f,
            "WITH rlt_all AS (SELECT point, coordinates AS rlt_at, \"rlt_case\", replica, %s AS rlt_aim, "
            "(%s\n) AS "
            "rlt_base FROM points JOIN (SELECT point, coordinates FROM main.point WHERE name IS NULL) "
            "USING(point) WHERE status=0 AND rlt_aim>0) ",
            aim, a->baseline);
    fprintf(f, "SELECT %s, json_extract(o.at,'$[%u]'), json_extract(b.at,'$[%u]')",
            a->max[0] ? "1.0*o.v/b.v" : "1.0*b.v/o.v", a->compared, a->compared);
    for (uint32_t i = 0; i < a->n_axes; i++)
        fprintf(f, ", json_extract(o.at,'$[%u]')", i);
    fprintf(f, " FROM");
    for (int k = 0; k < 2; k++)
        fprintf(f,
                "%s (SELECT \"rlt_case\" AS c, replica AS r, %s(rlt_aim) AS v, rlt_at AS at FROM "
                "(SELECT * FROM rlt_all WHERE %srlt_base ORDER BY point) GROUP BY 1, 2) %s",
                k ? " JOIN" : "", best, k ? "" : "NOT ", k ? "b" : "o");
    fprintf(f, " ON o.c=b.c AND o.r=b.r ORDER BY ");
    for (uint32_t i = 0; i < a->n_axes; i++)
        if (i != a->compared)
            fprintf(f, "%u, ", i + 4);
    fprintf(f, "o.r");
    if (fclose(f)) {
        free(sql);
        sql = NULL;
    }
    return sql;
}

/* Gathers the cases with this value of an axis; RLT_NONE: all. */
static void gather(wins *w, uint32_t axis, uint32_t value)
{
    w->n_gains = w->n_wins = 0;
    for (uint32_t i = 0; i < w->n; i++)
        if (axis == RLT_NONE || w->cases[i].at[axis] == value) {
            w->gains[w->n_gains++] = w->cases[i].gain;
            w->n_wins += w->cases[i].gain > 1;
        }
    qsort(w->gains, w->n_gains, sizeof *w->gains, rlt_by_value);
}

static void put_row(wins *w, uint32_t axis, uint32_t value)
{
    uint32_t n = w->n_gains;
    rlt_value v[N_COLUMNS] = {rlt_text(w->a->axes[axis].name),
                              rlt_text(w->axes[axis].names[value]),
                              rlt_count(n),
                              rlt_count(w->n_wins),
                              n ? rlt_real(w->gains[0]) : rlt_absent(),
                              n ? rlt_real((w->gains[(n - 1) / 2] + w->gains[n / 2]) / 2) : rlt_absent(),
                              n ? rlt_real(w->gains[n - 1]) : rlt_absent()};
    if (!w->json) {
        rlt_table_row(&w->table, v);
        return;
    }
    rlt_jw_object(w->json, NULL);
    rlt_row_json(w->json, columns, N_COLUMNS, v);
    rlt_jw_end_object(w->json);
}

/* Prints a case, such as "size 4MiB, workers 8, slots 32: switchml against ring". */
static void put_extreme(wins *w, const char *word, const one_case *x)
{
    char *text = NULL;
    size_t length;
    FILE *f = rlt_text_stream(&text, &length);
    for (uint32_t i = 0, said = 0; f && i < w->a->n_axes; i++)
        if (i != w->a->compared)
            fprintf(f, "%s%s %s", said++ ? ", " : "", w->a->axes[i].name, w->axes[i].names[x->at[i]]);
    if (f)
        fprintf(f, ": %s against %s", w->axes[w->a->compared].names[x->best],
                w->axes[w->a->compared].names[x->baseline]);
    if (!f || fclose(f))
        return;
    if (!w->json) {
        fprintf(w->out, "# %-5s %.2fx: %s\n", word, x->gain, text);
    } else {
        rlt_jw_object(w->json, word);
        rlt_jw_double(w->json, "gain", x->gain, 6);
        rlt_jw_string(w->json, "where", text);
        rlt_jw_end_object(w->json);
    }
    free(text);
}

/* Prints the extreme cases, the first of equal ones. */
static void put_extremes(wins *w)
{
    const one_case *least = w->cases, *most = w->cases;
    for (uint32_t i = 1; i < w->n; i++) {
        least = w->cases[i].gain < least->gain ? &w->cases[i] : least;
        most = w->cases[i].gain > most->gain ? &w->cases[i] : most;
    }
    put_extreme(w, "most", most);
    put_extreme(w, "least", least);
}

static int put_all(wins *w, rlt_format format, rlt_error *err)
{
    const rlt_asked *a = w->a;
    gather(w, RLT_NONE, 0);
    if (w->json) {
        rlt_jw_object(w->json, NULL);
        rlt_jw_string(w->json, "baseline", a->baseline);
        rlt_jw_u64(w->json, "points", w->n);
        rlt_jw_u64(w->json, "wins", w->n_wins);
    } else if (format == RLT_FORMAT_TABLE) {
        fprintf(w->out, "# %s: the best beats the baseline (%s) at %u of %u points\n",
                a->axes[a->compared].name, a->baseline, w->n_wins, w->n);
    }
    if (w->n && format != RLT_FORMAT_CSV)
        put_extremes(w);
    if (w->json)
        rlt_jw_array(w->json, "axes");
    else
        rlt_table_begin(&w->table, format, columns, N_COLUMNS, w->out, NULL);
    for (uint32_t axis = 0; axis < a->n_axes; axis++)
        for (uint32_t v = 0; v < w->axes[axis].n && axis != a->compared; v++) {
            gather(w, axis, v);
            put_row(w, axis, v);
        }
    if (!w->json)
        return rlt_table_end(&w->table, err);
    rlt_jw_end_array(w->json);
    rlt_jw_end_object(w->json);
    return 0;
}

static int put(wins *w, rlt_format format, rlt_error *err)
{
    rlt_jw json;
    if (format != RLT_FORMAT_JSON)
        return put_all(w, format, err);
    rlt_jw_init(&json, true);
    w->json = &json;
    int rc = put_all(w, format, err);
    char *text = rlt_jw_finish(&json, NULL);
    if (text)
        fprintf(w->out, "%s", text);
    free(text);
    return rc || text ? rc : rlt_nomem(err);
}

int rlt_asked_wins(rlt_asked *a, const char *format, const char *path, rlt_error *err)
{
    wins w = {.a = a};
    rlt_file f = {0};
    int rc = 0;
    if (!a->baseline)
        return rlt_fail(
            err, RLT_EUSAGE, "wins",
            "the study has no baseline: \"baseline\": {\"axis\": \"algorithm\", \"where\": \"algorithm = "
            "'ring'\"} names the points that others are compared with");
    for (uint32_t i = 0; i < a->n_axes && !rc; i++)
        rc = rlt__chart_axis(a, i, &w.axes[i], err);
    char *sql = rc ? NULL : statement(a);
    rlt_store_guard(a->store);
    if (!rc)
        rc = sql ? rlt_store_query(a->store, sql, see_case, &w, err) : rlt_nomem(err);
    if (!rc && !(w.gains = calloc((size_t)w.n + 1, sizeof *w.gains)))
        rc = rlt_nomem(err);
    if (!rc && !(rc = rlt_file_open(&f, path, err))) {
        w.out = f.stream;
        rc = put(&w, rlt_format_of(format, path), err);
        if (rc)
            rlt_file_discard(&f);
        else
            rc = rlt_file_close(&f, err);
    }
    free(sql);
    free(w.gains);
    free(w.cases);
    return rc;
}

static int run(const rlt_parsed *args, void *settings, rlt_error *err)
{
    const rlt_report_settings *s = settings;
    rlt_asked a;
    int rc = rlt_asked_open(&a, args->operands[0], err);
    if (!rc)
        rc = rlt_asked_wins(&a, s->format, s->output, err);
    rlt_asked_close(&a);
    return rc;
}

static const rlt_option_group groups[] = {{"Output", rlt_format_options, 0}, {0}};
static const rlt_columns table = {"Cases won against the baseline: `ringlet sweep wins`", columns, N_COLUMNS};
static const rlt_columns *const tables[] = {&table, NULL};

const rlt_command rlt_sweep_wins = {
    .name = "wins",
    .summary = "cases in which points beat the study's baseline, by axis",
    .operands = "DB",
    .min_operands = 1,
    .max_operands = 1,
    .description =
        "A case is a set of points that differ only in the axis of the study's baseline. In each case the "
        "best other point is compared with the best baseline. Shows how many cases are won, and the largest "
        "and smallest gain. For each value of each other axis: the number of wins, and the least, median and "
        "largest gain. The column gain of query and of plots has the gain of each point.",
    .example = "ringlet sweep wins ina.sqlite",
    .options = groups,
    .settings_size = sizeof(rlt_report_settings),
    .run = run,
    .tables = tables,
};
