/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ringlet sweep sensitivity`: the effect of each axis. */
#include <stdlib.h>
#include <string.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/text/json.h"
#include "tools/base/command.h"
#include "tools/base/file.h"
#include "tools/output/output.h"
#include "tools/output/report_options.h"
#include "tools/sweep/asked.h"
#include "tools/sweep/chart.h"
#include "tools/sweep/queries.h"
#include "tools/sweep/store/store.h"
#include "tools/sweep/study/study.h"
#include "workload/experiment/figures.h"
#include "workload/setup/settings.h"

typedef struct sensitivity_settings {
    rlt_report_settings report;
    const char *by;
} sensitivity_settings;

static const rlt_option own_options[] = {{"by", 0, RLT_PARAM_TEXT, "COLUMN",
                                          "Figure to explain (default: the study's first objective).",
                                          .offset = offsetof(sensitivity_settings, by)},
                                         {0}};
static const rlt_option_group groups[] = {
    {"Figure", own_options, 0}, {"Output", rlt_format_options, offsetof(sensitivity_settings, report)}, {0}};

/* Effect of one axis, from the means by value. */
typedef struct effect {
    double mean; /* over all points */
    double between, n, lowest, highest;
    uint32_t values;
} effect;

static double number(const rlt_store_cell *c)
{
    return c->kind == RLT_CELL_INTEGER ? (double)c->integer : c->kind == RLT_CELL_REAL ? c->real : 0;
}

static int see_value(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err)
{
    effect *e = ctx;
    double count = number(&c[0]), mean = number(&c[1]), d = mean - e->mean;
    (void)n;
    (void)err;
    e->between += count * d * d;
    e->n += count;
    e->lowest = e->values == 0 || mean < e->lowest ? mean : e->lowest;
    e->highest = e->values == 0 || mean > e->highest ? mean : e->highest;
    e->values++;
    return 0;
}

typedef struct whole {
    double n, mean, squares;
} whole;

static int see_mean(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err)
{
    whole *w = ctx;
    (void)n;
    (void)err;
    w->n = number(&c[0]);
    w->mean = number(&c[1]);
    return 0;
}

static int see_squares(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err)
{
    (void)n;
    (void)err;
    ((whole *)ctx)->squares = number(c);
    return 0;
}

/* Stored figures come from their table, computed ones from the view. */
#define OF "FROM point p JOIN %s r USING(point) WHERE p.status=0 AND p.name IS NULL AND r.%s IS NOT NULL"

static int find_effects(rlt_asked *a, const char *by, whole *w, effect *effects, rlt_error *err)
{
    char sql[400];
    const char *from = rlt_figure_find(by, NULL) < RLT_FIG_STORED ? "result" : "points";
    snprintf(sql, sizeof sql, "SELECT count(*), avg(%s) " OF, by, from, by);
    int rc = rlt_store_query(a->store, sql, see_mean, w, err);
    snprintf(sql, sizeof sql, "SELECT total((%s-(%.17g))*(%s-(%.17g))) " OF, by, w->mean, by, w->mean, from,
             by);
    if (!rc)
        rc = rlt_store_query(a->store, sql, see_squares, w, err);
    for (uint32_t i = 0; i < a->n_axes && !rc; i++) {
        effects[i] = (effect){.mean = w->mean};
        snprintf(sql, sizeof sql,
                 "SELECT count(*), avg(%s) " OF " GROUP BY json_extract(p.coordinates,'$[%u]')", by, from, by,
                 i);
        rc = rlt_store_query(a->store, sql, see_value, &effects[i], err);
    }
    return rc;
}

int rlt_asked_shares(rlt_asked *a, const char *column, double *shares, rlt_error *err)
{
    effect effects[RLT_SWEEP_AXES];
    whole w = {0};
    int rc = find_effects(a, column, &w, effects, err);
    for (uint32_t i = 0; i < a->n_axes && !rc; i++)
        shares[i] = w.squares > 0 ? effects[i].between / w.squares : 0;
    return rc;
}

enum { COLUMNS = 5 };
static const rlt_column usual[COLUMNS] = {
    {"axis", "axis", NULL, RLT_COL_TEXT, 0, 0, "axis of the study"},
    {"values", "values", NULL, RLT_COL_COUNT, 6, 0, "values of the axis"},
    {"share", "share of variance", "%", RLT_COL_PERCENT, 17, 1,
     "variance of the means over the axis / variance of all points"},
    {"lowest_mean", "lowest mean", NULL, RLT_COL_REAL, 18, 3, "lowest mean over the values of the axis"},
    {"highest_mean", "highest mean", NULL, RLT_COL_REAL, 18, 3, "highest mean over the values of the axis"},
};

/* Makes the columns: means are shown as the figures of that column; in CSV and JSON they are unscaled. */
static void make_columns(const char *by, bool people, rlt_column columns[COLUMNS])
{
    memcpy(columns, usual, sizeof usual);
    for (int i = 3; i < COLUMNS && people; i++) {
        columns[i] = rlt_figure_column(rlt_figure_find(by, NULL));
        columns[i].title = usual[i].title;
        columns[i].width = usual[i].width;
    }
}

/* Writes the axes, the one with the largest share first. */
static void put_rows(rlt_table *t, const rlt_asked *a, const whole *w, effect *effects)
{
    double rest = 1;
    for (uint32_t k = 0; k < a->n_axes; k++) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < a->n_axes; i++)
            if (effects[i].between > effects[best].between)
                best = i;
        double share = w->squares > 0 ? effects[best].between / w->squares : 0;
        rlt_value v[] = {rlt_text(a->axes[best].name), rlt_count(effects[best].values), rlt_real(share),
                         rlt_figure_value(&t->columns[3], true, 0, effects[best].lowest),
                         rlt_figure_value(&t->columns[4], true, 0, effects[best].highest)};
        rlt_table_row(t, v);
        rest -= share;
        effects[best].between = -1;
    }
    rlt_value v[] = {rlt_text("(together, replicas)"), rlt_absent(),
                     w->squares > 0 ? rlt_real(rest) : rlt_absent(), rlt_absent(), rlt_absent()};
    rlt_table_row(t, v);
}

static int run(const rlt_parsed *args, void *settings, rlt_error *err)
{
    const sensitivity_settings *s = settings;
    rlt_format format = rlt_format_of(s->report.format, s->report.output);
    effect effects[RLT_SWEEP_AXES];
    rlt_asked a;
    whole w = {0};
    rlt_table t;
    rlt_file f = {0};
    rlt_jw json;
    rlt_column columns[COLUMNS];
    int rc = rlt_asked_open(&a, args->operands[0], err);
    if (!rc && s->by)
        rc = rlt_asked_column(s->by, "--by", err);
    const char *by = rc ? NULL : s->by ? s->by : a.objectives[0];
    if (!rc)
        rc = find_effects(&a, by, &w, effects, err);
    if (!rc && w.n < 2)
        rc = rlt_fail(err, RLT_ESCHEMA, args->operands[0], "fewer than two points of its axes have a %s", by);
    if (!rc)
        make_columns(by, format == RLT_FORMAT_TABLE, columns);
    if (!rc && format == RLT_FORMAT_JSON) {
        rlt_jw_init(&json, true);
        rlt_jw_object(&json, NULL);
        rlt_jw_string(&json, "column", by);
        rlt_jw_u64(&json, "points", (uint64_t)w.n);
        rlt_jw_array(&json, "axes");
        rlt_table_begin(&t, format, columns, COLUMNS, NULL, &json);
        put_rows(&t, &a, &w, effects);
        rc = rlt_table_end(&t, err);
        rlt_jw_end_array(&json);
        rlt_jw_end_object(&json);
        size_t length;
        char *text = rlt_jw_finish(&json, &length);
        if (!rc)
            rc = text ? rlt_file_write(s->report.output, text, length, err) : rlt_nomem(err);
        free(text);
    } else if (!rc && !(rc = rlt_file_open(&f, s->report.output, err))) {
        if (format == RLT_FORMAT_TABLE)
            fprintf(f.stream, "# first-order shares of the variance of %s over %.0f points\n", by, w.n);
        rlt_table_begin(&t, format, columns, COLUMNS, f.stream, NULL);
        put_rows(&t, &a, &w, effects);
        rc = rlt_table_end(&t, err);
        if (rc)
            rlt_file_discard(&f);
        else
            rc = rlt_file_close(&f, err);
    }
    rlt_asked_close(&a);
    return rc;
}

static const rlt_columns table = {"Effects of the axes: `ringlet sweep sensitivity`, JSON `axes[]`", usual,
                                  COLUMNS};
static const rlt_columns *const tables[] = {&table, NULL};

const rlt_command rlt_sweep_sensitivity = {
    .name = "sensitivity",
    .summary = "effect of each axis, by variance",
    .operands = "DB",
    .min_operands = 1,
    .max_operands = 1,
    .description =
        "For each axis, shows the first-order share of the variance of a figure. It is the variance of the "
        "means over all points with the same value on that axis, divided by the variance of all points. The "
        "rest is due to axes together, and to replicas. Shares are exact on a full grid. Where filters or "
        "samples leave values unequally combined, shares overlap and may add up to more than 1.",
    .example = "ringlet sweep sensitivity study.sqlite",
    .options = groups,
    .settings_size = sizeof(sensitivity_settings),
    .run = run,
    .tables = tables,
};
