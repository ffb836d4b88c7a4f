/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ranking of layouts: Kendall's tau, and the regret of the layout that predictions take. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/words.h"
#include "tools/base/numbers.h"
#include "tools/calibrate/training/report.h"
#include "tools/calibrate/training/train.h"
#include "tools/output/output.h"

enum { LEAST_ROWS = 3 }; /* a group of fewer ranks nothing */
#define COUNT(list) (sizeof(list) / sizeof *(list))

rlt_ranking rlt_ranking_of(const double *measured, const double *time, uint32_t n)
{
    rlt_ranking r = {.rows = n};
    double pairs = 0, least = n ? measured[0] : 0;
    uint32_t pick = 0;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < i; k++) {
            double same = (measured[i] - measured[k]) * (time[i] - time[k]);
            r.tau += (same > 0) - (same < 0);
            pairs++;
        }
        least = measured[i] < least ? measured[i] : least;
        pick = time[i] < time[pick] ? i : pick;
    }
    r.tau = pairs > 0 ? r.tau / pairs : 0;
    r.regret = n ? measured[pick] / least - 1 : 0;
    return r;
}

static const rlt_column layout_columns[] = {
    {"layouts", "groups of layouts", NULL, RLT_COL_TEXT, 0, 0, "which groups of layouts"},
    {"left_out_by", "left out by", NULL, RLT_COL_TEXT, 0, 0,
     "rows that are left out of the fit together; empty: none are"},
    {"groups", "groups", NULL, RLT_COL_COUNT, 6, 0, "groups with at least three layouts that ran"},
    {"rows", "rows", NULL, RLT_COL_COUNT, 5, 0, "measured rows of the groups"},
    {"tau_median", "median", "tau", RLT_COL_REAL, 6, 2, "median of Kendall's tau over the groups"},
    {"tau_mean", "mean", "tau", RLT_COL_REAL, 6, 2, "mean of Kendall's tau over the groups"},
    {"regret_median", "median", "regret", RLT_COL_PERCENT, 6, 1, "median of the regret over the groups"},
    {"regret_mean", "mean", "regret", RLT_COL_PERCENT, 6, 1, "mean of the regret over the groups"},
    {"regret_worst", "worst", "regret", RLT_COL_PERCENT, 6, 1, "largest regret of a group"},
    {"error_median", "median", "error", RLT_COL_PERCENT, 6, 1,
     "median of |predicted / measured - 1| over the rows"},
};
const rlt_columns rlt__train_layouts = {"Layouts over all: `ringlet calibrate-training`, JSON `layouts[]`",
                                        layout_columns, COUNT(layout_columns)};

static const rlt_column ranking_columns[] = {
    {"layouts", "group", NULL, RLT_COL_TEXT, 0, 0, "name of the group of layouts"},
    {"left_out_by", "left out by", NULL, RLT_COL_TEXT, 0, 0,
     "rows that are left out of the fit together; empty: none are"},
    {"rows", "rows", NULL, RLT_COL_COUNT, 5, 0, "layouts of the group that ran"},
    {"left_out_tau", "tau", "left out", RLT_COL_REAL, 8, 2, "Kendall's tau of rows left out of the fit"},
    {"left_out_regret", "regret", "left out", RLT_COL_PERCENT, 8, 1,
     "measured time of the layout predicted to be the fastest / least measured time - 1"},
    {"tau", "tau", "in sample", RLT_COL_REAL, 9, 2, "Kendall's tau"},
    {"regret", "regret", "in sample", RLT_COL_PERCENT, 9, 1, "the same regret, in sample"},
};
const rlt_columns rlt__train_rankings = {"Groups of layouts: `ringlet calibrate-training`, JSON `rankings[]`",
                                         ranking_columns, COUNT(ranking_columns)};

/* Returns true if row i is the first one of its group that was predicted. */
static bool begins_group(const rlt_train_report *r, uint32_t i)
{
    const rlt_train_row *rows = r->rows->rows;
    if (*rows[i].reason || !*rows[i].layouts)
        return false;
    for (uint32_t k = 0; k < i; k++)
        if (!*rows[k].reason && strcmp(rows[k].layouts, rows[i].layouts) == 0)
            return false;
    return true;
}

static rlt_ranking ranking_of(const rlt_train_report *r, uint32_t first, int by)
{
    const rlt_train_row *rows = r->rows->rows;
    uint32_t n = 0;
    for (uint32_t i = first; i < r->rows->n; i++) {
        double s = rlt__report_time(&rows[i], by);
        if (s <= 0 || strcmp(rows[i].layouts, rows[first].layouts) != 0)
            continue;
        r->first[n] = rows[i].measured_s;
        r->second[n++] = s;
    }
    return rlt_ranking_of(r->first, r->second, n);
}

static bool over_nodes(const rlt_train_row *row)
{
    return row->ranks > row->node;
}

/* Groups that one line is about: those whose names begin with `begins`, or those over nodes or on one. */
typedef struct line {
    const char *begins; /* NULL: by the nodes */
    size_t length;
    bool nodes;
} line;

static bool about(const line *l, const rlt_train_row *row)
{
    return l->begins ? strncmp(row->layouts, l->begins, l->length) == 0 : over_nodes(row) == l->nodes;
}

static double median(double *values, uint32_t n)
{
    qsort(values, n, sizeof *values, rlt_by_value);
    return n ? (values[(n - 1) / 2] + values[n / 2]) / 2 : 0;
}

/* Returns the median error of the times that the groups of a line have. */
static double median_error(const rlt_train_report *r, const line *l, int by)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->rows->n; i++) {
        const rlt_train_row *row = &r->rows->rows[i];
        double s = rlt__report_time(row, by);
        if (s > 0 && *row->layouts && about(l, row))
            r->first[n++] = fabs(s / row->measured_s - 1);
    }
    return median(r->first, n);
}

/* Adds the line of some groups. */
static int put_all(const rlt_train_report *r, rlt_table *t, const line *l, int by, rlt_error *err)
{
    double *tau = calloc(2 * ((size_t)r->rows->n + 1), sizeof *tau), sum = 0, regret = 0, worst = 0;
    double *regrets = tau + r->rows->n;
    uint32_t n = 0, rows = 0;
    char name[64];
    if (!tau)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < r->rows->n; i++) {
        if (!begins_group(r, i) || !about(l, &r->rows->rows[i]))
            continue;
        rlt_ranking k = ranking_of(r, i, by);
        if (k.rows < LEAST_ROWS)
            continue;
        regrets[n] = k.regret;
        tau[n++] = k.tau;
        sum += k.tau;
        rows += k.rows;
        regret += k.regret;
        worst = k.regret > worst ? k.regret : worst;
    }
    snprintf(name, sizeof name, "%.*s", (int)(l->begins && l->length < 64 ? l->length : 63),
             l->begins  ? l->begins
             : l->nodes ? "over nodes"
                        : "on one node");
    rlt_value v[] = {rlt_text(name),
                     rlt_text(by == RLT__IN_SAMPLE ? NULL : rlt_leave_name((rlt_leave)by)),
                     rlt_count(n),
                     rlt_count(rows),
                     rlt_real(median(tau, n)),
                     rlt_real(sum / (n ? n : 1)),
                     rlt_real(median(regrets, n)),
                     rlt_real(regret / (n ? n : 1)),
                     rlt_real(worst),
                     rlt_real(median_error(r, l, by))};
    if (n)
        rlt_table_row(t, v);
    free(tau);
    return 0;
}

int rlt__series_known(const rlt_train_rows *rows, const char *series, rlt_error *err)
{
    line l = {.nodes = false};
    for (const char *list = series; list && (l.begins = rlt_next_item(&list, ',', &l.length));) {
        uint32_t i = 0;
        while (i < rows->n && !(l.length && *rows->rows[i].layouts && about(&l, &rows->rows[i])))
            i++;
        if (i == rows->n)
            return rlt_fail(err, RLT_EUSAGE, "--series", "no group of layouts begins with '%.*s'",
                            (int)(l.length < 40 ? l.length : 40), l.begins);
    }
    return 0;
}

/* Adds a line for some groups: for each way to leave rows out, and in sample. */
static int put_line(const rlt_train_report *r, rlt_table *t, const line *l, rlt_error *err)
{
    int rc = 0;
    for (uint32_t k = 0; k < r->n_by && !rc; k++)
        rc = put_all(r, t, l, (int)r->by[k], err);
    return rc ? rc : put_all(r, t, l, RLT__IN_SAMPLE, err);
}

/* Writes a line for each group over nodes, and with `each` for those on one node, too. */
static int report_rankings(const rlt_train_report *r, rlt_error *err)
{
    rlt_table t;
    rlt__report_begin(r, &t, &rlt__train_rankings, "rankings", "ranking of layouts by group");
    for (uint32_t i = 0; i < r->rows->n; i++) {
        if (!begins_group(r, i) ||
            !(r->each || r->format == RLT_FORMAT_JSON || over_nodes(&r->rows->rows[i])))
            continue;
        for (uint32_t k = 0; k < (r->n_by ? r->n_by : 1); k++) {
            rlt_ranking in = ranking_of(r, i, RLT__IN_SAMPLE);
            rlt_ranking out = r->n_by ? ranking_of(r, i, (int)r->by[k]) : (rlt_ranking){0};
            rlt_value v[] = {rlt_text(r->rows->rows[i].layouts),
                             rlt_text(r->n_by ? rlt_leave_name(r->by[k]) : NULL),
                             rlt_count(in.rows),
                             out.rows ? rlt_real(out.tau) : rlt_absent(),
                             out.rows ? rlt_real(out.regret) : rlt_absent(),
                             rlt_real(in.tau),
                             rlt_real(in.regret)};
            if (in.rows >= LEAST_ROWS)
                rlt_table_row(&t, v);
        }
    }
    return rlt__report_end(r, &t, err);
}

int rlt__report_layouts(const rlt_train_report *r, rlt_error *err)
{
    rlt_table t;
    bool any = false;
    int rc = 0;
    for (uint32_t i = 0; i < r->rows->n && !any; i++)
        any = begins_group(r, i);
    if (!any && r->format == RLT_FORMAT_TABLE)
        return 0;
    rlt__report_begin(r, &t, &rlt__train_layouts, "layouts", "ranking of layouts");
    line l = {.nodes = true};
    for (const char *list = r->series; list && !rc && (l.begins = rlt_next_item(&list, ',', &l.length));)
        rc = put_line(r, &t, &l, err);
    for (int nodes = 1; nodes >= 0 && !rc; nodes--)
        rc = put_line(r, &t, &(line){.nodes = nodes == 1}, err);
    int end = rlt__report_end(r, &t, err);
    return rc || end ? rc ? rc : end : report_rankings(r, err);
}
