/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Errors of predictions: over all, by group, the worst, and the rows that were refused. */
#include "tools/calibrate/training/report.h"
#include "tools/base/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/calibrate/calibrate.h"
#include "workload/models/accelerator.h"
#include "workload/models/stack.h"
#include "workload/training/training.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

static const rlt_column summary_columns[] = {
    {"models", "models", NULL, RLT_COL_TEXT, 0, 0, "which rows"},
    {"left_out_by", "left out by", NULL, RLT_COL_TEXT, 0, 0, "rows that are left out of the fit together"},
    {"rows", "rows", NULL, RLT_COL_COUNT, 5, 0, "measured rows"},
    {"left_out_median", "median", "left out", RLT_COL_PERCENT, 8, 1,
     "at least half of the rows, left out, are not above this error"},
    {"left_out_p90", "p90", "left out", RLT_COL_PERCENT, 8, 1,
     "at least 90 % of the rows, left out, are not above this error"},
    {"within", "in 80 %", "interval", RLT_COL_PERCENT, 8, 0,
     "share of the rows, left out, within the 80 % interval of their prediction"},
    {"width", "width", "interval", RLT_COL_PERCENT, 8, 0,
     "median over the rows of high / predicted - 1 of the interval"},
    {"median", "median", "in sample", RLT_COL_PERCENT, 9, 1,
     "at least half of the rows are not above this error"},
    {"p90", "p90", "in sample", RLT_COL_PERCENT, 9, 1, "at least 90 % of the rows are not above this error"},
};
const rlt_columns rlt__train_summary = {"Errors over all: `ringlet calibrate-training`, JSON `summary[]`",
                                        summary_columns, COUNT(summary_columns)};

static const rlt_column group_columns[] = {
    {"accelerator", "accelerator", NULL, RLT_COL_TEXT, 0, 0, "name of the accelerator"},
    {"stack", "stack", NULL, RLT_COL_TEXT, 0, 0, "software whose efficiency was used"},
    {"family", "family", NULL, RLT_COL_TEXT, 0, 0, "models of the group; with --by-source: its source"},
    {"rows", "rows", NULL, RLT_COL_COUNT, 5, 0, "measured rows of the group"},
    {"left_out_median", "median", "left out", RLT_COL_PERCENT, 8, 1,
     "at least half of the rows, left out, are not above this error"},
    {"left_out_p90", "p90", "left out", RLT_COL_PERCENT, 8, 1,
     "at least 90 % of the rows, left out, are not above this error"},
    {"median", "median", "%", RLT_COL_PERCENT, 7, 1, "at least half of the rows are not above this error"},
    {"p90", "p90", "%", RLT_COL_PERCENT, 7, 1, "at least 90 % of the rows are not above this error"},
    {"worst", "worst", "%", RLT_COL_PERCENT, 8, 1, "largest error"},
    {"predicted_over_measured", "pred/meas", NULL, RLT_COL_REAL, 9, 3, "median of predicted / measured"},
};
const rlt_columns rlt__train_groups = {"Groups of trainings: `ringlet calibrate-training`, JSON `groups[]`",
                                       group_columns, COUNT(group_columns)};

static const rlt_column row_columns[] = {
    {"line", "line", NULL, RLT_COL_COUNT, 5, 0, "line of the measured row"},
    {"model", "model", NULL, RLT_COL_TEXT, 0, 0, "name of the model"},
    {"accelerator", "accelerator", NULL, RLT_COL_TEXT, 0, 0, "name of the accelerator"},
    {"precision", "precision", NULL, RLT_COL_TEXT, 0, 0, "number format of the computation"},
    {"stack", "stack", NULL, RLT_COL_TEXT, 0, 0, "software whose efficiency was used"},
    {"ranks", "ranks", NULL, RLT_COL_COUNT, 5, 0, "accelerators of the training"},
    {"measured_s", "measured", "s", RLT_COL_REAL, 9, 4, "measured time of an iteration"},
    {"predicted_s", "predicted", "s", RLT_COL_REAL, 9, 4, "predicted time of an iteration"},
    {"error", "error", "%", RLT_COL_PERCENT, 7, 1, "predicted / measured - 1"},
    {"left_out_error", "left out", "%", RLT_COL_PERCENT, 8, 1,
     "error of the row if it is left out of the fit"},
    {"source", "source", NULL, RLT_COL_TEXT, 0, 0, "where the row was published"},
    {"not_covered", "not covered", NULL, RLT_COL_TEXT, 0, 0, "why the row could not be predicted"},
};
const rlt_columns rlt__train_rows = {"Measured trainings: `ringlet calibrate-training`, JSON `rows[]`",
                                     row_columns, COUNT(row_columns)};

static const rlt_column worst_columns[] = {
    {"line", "line", NULL, RLT_COL_COUNT, 5, 0, "line of the measured row"},
    {"model", "model", NULL, RLT_COL_TEXT, 0, 0, "name of the model"},
    {"accelerator", "accelerator", NULL, RLT_COL_TEXT, 0, 0, "name of the accelerator"},
    {"stack", "stack", NULL, RLT_COL_TEXT, 0, 0, "software whose efficiency was used"},
    {"precision", "precision", NULL, RLT_COL_TEXT, 0, 0, "number format of the computation"},
    {"left_out_error", "left out", "%", RLT_COL_PERCENT, 8, 1,
     "error of the row if it is left out of the fit"},
    {"error", "error", "%", RLT_COL_PERCENT, 7, 1, "predicted / measured - 1"},
    {"reason", "reason", NULL, RLT_COL_TEXT, 0, 0, "what the tables say about such a row"},
};
const rlt_columns rlt__train_worst = {"Worst rows: `ringlet calibrate-training`, JSON `worst[]`",
                                      worst_columns, COUNT(worst_columns)};

static const rlt_column refused_columns[] = {
    {"rows", "rows", NULL, RLT_COL_COUNT, 5, 0, "measured rows that were refused"},
    {"reason", "reason", NULL, RLT_COL_TEXT, 0, 0, "why the rows could not be predicted"},
    {"lines", "lines", NULL, RLT_COL_TEXT, 0, 0, "where they stand, the first ones"},
};
const rlt_columns rlt__train_refused = {"Refused rows: `ringlet calibrate-training`, JSON `refused[]`",
                                        refused_columns, COUNT(refused_columns)};

void rlt__report_begin(const rlt_train_report *r, rlt_table *t, const rlt_columns *c, const char *name,
                       const char *title)
{
    *t = (rlt_table){0};
    if (r->format == RLT_FORMAT_JSON)
        rlt_jw_array(r->json, name);
    else if (r->format == RLT_FORMAT_TABLE)
        rlt_heading(r->out, "%s%s", c == &rlt__train_summary ? "" : "\n", title);
    rlt_table_begin(t, r->format, c->list, c->n, r->out, r->json);
}

int rlt__report_end(const rlt_train_report *r, rlt_table *t, rlt_error *err)
{
    int rc = rlt_table_end(t, err);
    if (r->format == RLT_FORMAT_JSON)
        rlt_jw_end_array(r->json);
    return rc;
}

double rlt__report_time(const rlt_train_row *row, int by)
{
    return *row->reason ? 0 : by == RLT__IN_SAMPLE ? row->predicted_s : row->left_out_s[by];
}

/* ---- over all ---- */

typedef bool chosen_fn(const rlt_train_row *row);

static bool is_dense(const rlt_train_row *row)
{
    return row->dense;
}
static bool is_training(const rlt_train_row *row)
{
    return row->dense && !*row->layouts;
}
static bool is_layout(const rlt_train_row *row)
{
    return row->dense && *row->layouts && row->ranks > row->node;
}
static bool is_small_layout(const rlt_train_row *row)
{
    return row->dense && *row->layouts && row->ranks <= row->node;
}
static bool has_experts(const rlt_train_row *row)
{
    return !row->dense;
}

static const struct {
    const char *name;
    chosen_fn *chosen;
} classes[] = {{"dense", is_dense},
               {"dense: trainings", is_training},
               {"dense: layouts over nodes", is_layout},
               {"dense: layouts on one node", is_small_layout},
               {"experts", has_experts}};

/* Returns true if the rows stand in one line of the table of groups. */
static bool grouped(const rlt_train_report *r, const rlt_train_row *a, const rlt_train_row *b)
{
    return rlt_train_together(r->by_source ? RLT_LEAVE_SOURCE : RLT_LEAVE_GROUP, a, b);
}

/* Returns the errors of chosen rows; of those in the group of a row only, unless it is NULL. */
static rlt_errors errors_of(const rlt_train_report *r, chosen_fn *chosen, const rlt_train_row *of, int by)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->rows->n; i++) {
        const rlt_train_row *row = &r->rows->rows[i];
        double s = rlt__report_time(row, by);
        if (s > 0 && chosen(row) && (!of || grouped(r, row, of)))
            r->first[n++] = s / row->measured_s;
    }
    return n ? rlt_errors_of(r->first, n) : (rlt_errors){0};
}

/* Counts left-out rows within their intervals, and returns their share; -1: no other rows tell an interval.
 * *width: the median of the intervals. */
static double coverage(const rlt_train_report *r, chosen_fn *chosen, rlt_leave by, double *width)
{
    uint32_t n = 0, within = 0;
    for (uint32_t i = 0; i < r->rows->n; i++) {
        const rlt_train_row *row = &r->rows->rows[i];
        double s = rlt__report_time(row, (int)by);
        if (s <= 0 || !chosen(row))
            continue;
        rlt_train_like like = {row->training.accelerator, row->training.stack, row->dense, by, row};
        rlt_spread spread = rlt_train_spread(r->rows, &like);
        if (spread.low <= 0)
            continue;
        within += row->measured_s >= s * spread.low && row->measured_s <= s * spread.high;
        r->first[n++] = spread.high - 1;
    }
    qsort(r->first, n, sizeof *r->first, rlt_by_value);
    *width = n ? r->first[(n - 1) / 2] : 0;
    return n ? (double)within / n : -1;
}

int rlt__report_summary(const rlt_train_report *r, rlt_error *err)
{
    rlt_table t;
    uint32_t lines = r->n_by ? r->n_by : 1;
    rlt__report_begin(r, &t, &rlt__train_summary, "summary", "errors |predicted / measured - 1|");
    for (size_t c = 0; c < COUNT(classes); c++)
        for (uint32_t k = 0; k < lines; k++) {
            rlt_errors e = errors_of(r, classes[c].chosen, NULL, RLT__IN_SAMPLE), out = {0};
            double within = -1, width = 0;
            if (r->n_by) {
                out = errors_of(r, classes[c].chosen, NULL, (int)r->by[k]);
                within = coverage(r, classes[c].chosen, r->by[k], &width);
            }
            rlt_value absent = rlt_absent();
            rlt_value v[] = {rlt_text(classes[c].name),
                             rlt_text(r->n_by ? rlt_leave_name(r->by[k]) : NULL),
                             rlt_count(e.rows),
                             out.rows ? rlt_real(out.median) : absent,
                             out.rows ? rlt_real(out.p90) : absent,
                             within >= 0 ? rlt_real(within) : absent,
                             within >= 0 ? rlt_real(width) : absent,
                             rlt_real(e.median),
                             rlt_real(e.p90)};
            if (e.rows)
                rlt_table_row(&t, v);
        }
    return rlt__report_end(r, &t, err);
}

/* ---- groups ---- */

/* Adds the line of a group, of which `row` is a row. */
static void put_group(const rlt_train_report *r, rlt_table *t, const rlt_train_row *row, chosen_fn *chosen)
{
    rlt_errors e = errors_of(r, chosen, row, RLT__IN_SAMPLE), out = {0};
    if (r->n_by)
        out = errors_of(r, chosen, row, (int)r->by[0]);
    rlt_value v[] = {
        rlt_text(row->training.accelerator->name),
        rlt_text(row->training.stack),
        rlt_text(r->by_source ? row->source : row->family),
        rlt_count(e.rows),
        out.rows ? rlt_real(out.median) : rlt_absent(),
        out.rows ? rlt_real(out.p90) : rlt_absent(),
        rlt_real(e.median),
        rlt_real(e.p90),
        rlt_real(e.worst),
        rlt_real(e.ratio),
    };
    if (e.rows)
        rlt_table_row(t, v);
}

int rlt__report_groups(const rlt_train_report *r, rlt_error *err)
{
    rlt_table t;
    rlt__report_begin(r, &t, &rlt__train_groups, "groups", "groups");
    for (int dense = 1; dense >= 0; dense--)
        for (uint32_t i = 0; i < r->rows->n; i++) {
            const rlt_train_row *row = &r->rows->rows[i];
            bool told = *row->reason != '\0';
            for (uint32_t k = 0; k < i && !told; k++)
                told = !*r->rows->rows[k].reason && grouped(r, &r->rows->rows[k], row);
            if (!told)
                put_group(r, &t, row, dense ? is_dense : has_experts);
        }
    return rlt__report_end(r, &t, err);
}

/* ---- the worst ---- */

/* Returns true if both rows name the same training on the same machine. */
static bool same_settings(const rlt_train_row *a, const rlt_train_row *b)
{
    const rlt_training *x = &a->training, *y = &b->training;
    return a->machine == b->machine && a->on == b->on && a->ranks == b->ranks &&
           strcmp(a->spec, b->spec) == 0 && strcmp(x->stack, y->stack) == 0 &&
           strcmp(x->precision, y->precision) == 0 && memcmp(x->size, y->size, sizeof x->size) == 0 &&
           x->ep == y->ep && x->vp == y->vp && x->batch == y->batch && x->microbatch == y->microbatch &&
           x->zero == y->zero && x->recompute == y->recompute;
}

/* Says what the tables know about a row: its system's note, other runs of its settings, how alone it is. */
static const char *reason_of(const rlt_train_report *r, const rlt_train_row *row, char *text, size_t size)
{
    double apart = 1;
    uint32_t alike = 0;
    int used = snprintf(text, size, "%s", row->note);
    for (uint32_t i = 0; i < r->rows->n; i++) {
        const rlt_train_row *o = &r->rows->rows[i];
        if (*o->reason || o == row)
            continue;
        double ratio = fabs(log(o->measured_s / row->measured_s));
        if (same_settings(o, row) && ratio > log(apart))
            apart = exp(ratio);
        alike += o->group != row->group && o->dense == row->dense &&
                 strcmp(o->training.precision, row->training.precision) == 0 &&
                 rlt_train_together(RLT_LEAVE_GENERATION, o, row);
    }
    if (apart > 1.05)
        used += snprintf(text + used, size - (size_t)used, "%sruns of these settings differ by %.2fx",
                         used ? "; " : "", apart);
    if (!alike)
        snprintf(text + used, size - (size_t)used, "%sno other group of its generation in %s",
                 used ? "; " : "", row->training.precision);
    return *text ? text : NULL;
}

/* Returns the row with the largest error below `limit`; NULL: there is none. */
static const rlt_train_row *worst_below(const rlt_train_report *r, double limit, double *size)
{
    const rlt_train_row *worst = NULL;
    *size = 0;
    for (uint32_t i = 0; i < r->rows->n; i++) {
        const rlt_train_row *row = &r->rows->rows[i];
        double s = rlt__report_time(row, r->n_by ? (int)r->by[0] : RLT__IN_SAMPLE);
        double by = s > 0 ? fabs(log(s / row->measured_s)) : 0;
        if (by > *size && by < limit) {
            *size = by;
            worst = row;
        }
    }
    return worst;
}

int rlt__report_worst(const rlt_train_report *r, rlt_error *err)
{
    enum { SHOWN = 10 };
    rlt_table t;
    char text[512];
    double limit = HUGE_VAL;
    rlt__report_begin(r, &t, &rlt__train_worst, "worst", "the worst rows");
    for (int i = 0; i < SHOWN; i++) {
        const rlt_train_row *row = worst_below(r, limit, &limit);
        if (!row)
            break;
        rlt_value v[] = {rlt_count(row->line),
                         rlt_text(row->model),
                         rlt_text(row->training.accelerator->name),
                         rlt_text(row->training.stack),
                         rlt_text(row->precision),
                         r->n_by ? rlt_real(row->left_out_s[r->by[0]] / row->measured_s - 1) : rlt_absent(),
                         rlt_real(row->predicted_s / row->measured_s - 1),
                         rlt_text(reason_of(r, row, text, sizeof text))};
        rlt_table_row(&t, v);
    }
    return rlt__report_end(r, &t, err);
}

/* ---- rows ---- */

/* Lists the lines of rows with this reason, from row `first` on, the first few of them. Returns their
 * number. */
static uint32_t lines_of(const rlt_train_report *r, uint32_t first, char *text, size_t size)
{
    enum { SHOWN = 8 };
    const rlt_train_row *rows = r->rows->rows;
    uint32_t n = 0, file = UINT32_MAX;
    size_t used = 0;
    for (uint32_t k = first; k < r->rows->n; k++) {
        if (strcmp(rows[k].reason, rows[first].reason) != 0)
            continue;
        const char *path = r->paths[rows[k].file], *slash = strrchr(path, '/');
        if (n++ >= SHOWN || used + 100 > size)
            continue;
        if (rows[k].file != file)
            used += (size_t)snprintf(text + used, size - used, "%s%.60s:", n > 1 ? " " : "",
                                     slash ? slash + 1 : path);
        file = rows[k].file;
        used += (size_t)snprintf(text + used, size - used, " %u", rows[k].line);
    }
    if (n > SHOWN)
        snprintf(text + used, size - used, " ...");
    return n;
}

int rlt__report_refused(const rlt_train_report *r, rlt_error *err)
{
    rlt_table t;
    char title[128], lines[1024];
    const rlt_train_row *rows = r->rows->rows;
    snprintf(title, sizeof title, "%u runs: %u covered, %u refused", r->rows->n, r->rows->covered,
             r->rows->n - r->rows->covered);
    if (r->rows->covered == r->rows->n && r->format == RLT_FORMAT_TABLE) {
        rlt_heading(r->out, "\n%s", title);
        return 0;
    }
    rlt__report_begin(r, &t, &rlt__train_refused, "refused", title);
    for (uint32_t i = 0; i < r->rows->n; i++) {
        bool told = !*rows[i].reason;
        for (uint32_t k = 0; k < i && !told; k++)
            told = strcmp(rows[k].reason, rows[i].reason) == 0;
        if (told)
            continue;
        uint32_t n = lines_of(r, i, lines, sizeof lines);
        rlt_value v[] = {rlt_count(n), rlt_text(rows[i].reason), rlt_text(lines)};
        rlt_table_row(&t, v);
    }
    return rlt__report_end(r, &t, err);
}

int rlt__report_rows(const rlt_train_report *r, rlt_error *err)
{
    rlt_table t;
    rlt__report_begin(r, &t, &rlt__train_rows, "rows", "runs");
    for (uint32_t i = 0; i < r->rows->n; i++) {
        const rlt_train_row *row = &r->rows->rows[i];
        bool known = row->predicted_s > 0, left = r->n_by && row->left_out_s[r->by[0]] > 0;
        rlt_value v[] = {
            rlt_count(row->line),
            rlt_text(row->model),
            rlt_text(*row->accelerator ? row->accelerator : NULL),
            rlt_text(*row->precision ? row->precision : NULL),
            rlt_text(*row->training.stack ? row->training.stack : NULL),
            rlt_count(row->ranks),
            rlt_real(row->measured_s),
            known ? rlt_real(row->predicted_s) : rlt_absent(),
            known ? rlt_real(row->predicted_s / row->measured_s - 1) : rlt_absent(),
            left ? rlt_real(row->left_out_s[r->by[0]] / row->measured_s - 1) : rlt_absent(),
            rlt_text(*row->source ? row->source : NULL),
            rlt_text(*row->reason ? row->reason : NULL),
        };
        rlt_table_row(&t, v);
    }
    return rlt__report_end(r, &t, err);
}
