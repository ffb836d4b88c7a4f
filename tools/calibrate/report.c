/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output of `ringlet calibrate`: constants, errors by class, single rows. */
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "net/topology/topology.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/text/json.h"
#include "tools/calibrate/calibrate.h"
#include "tools/calibrate/measure/measure.h"
#include "tools/output/output.h"

static const rlt_column constant_columns[] = {
    {"constant", "constant", NULL, RLT_COL_TEXT, 0, 0, "constant of the machine that was fitted"},
    {"before", "before", NULL, RLT_COL_TEXT, 0, 0, "value before the fit"},
    {"after", "after", NULL, RLT_COL_TEXT, 0, 0, "value after the fit"},
    {"low", "low", NULL, RLT_COL_TEXT, 0, 0,
     "lower end of the interval of 95 %: linearised, robust scale; absent: not determined"},
    {"high", "high", NULL, RLT_COL_TEXT, 0, 0, "upper end of that interval"},
    {"rows", "rows", NULL, RLT_COL_COUNT, 5, 0, "fitted rows whose time it changes by more than 0.1 %"},
    {"determined_by", "determined by", NULL, RLT_COL_TEXT, 0, 0,
     "collectives and sizes of those rows, or why the constant was left as it was"},
    {"state", NULL, NULL, RLT_COL_TEXT, 0, 0,
     "fitted, untouched (no row depends on it), degenerate (others do the same to every row), or set (by one "
     "row of a machine left out)"},
    {"least_bytes", NULL, NULL, RLT_COL_SIZE, 0, 0, "smallest of those sizes"},
    {"most_bytes", NULL, NULL, RLT_COL_SIZE, 0, 0, "largest of those sizes"},
};
enum { N_CONSTANT = sizeof constant_columns / sizeof *constant_columns };

static const rlt_column error_columns[] = {
    {"system", "system", NULL, RLT_COL_TEXT, 0, 0, "measured system"},
    {"collective", "collective", NULL, RLT_COL_TEXT, 0, 0, "kind of the collective"},
    {"size", "size", NULL, RLT_COL_TEXT, 0, 0, "class of sizes"},
    {"rows", "rows", NULL, RLT_COL_COUNT, 5, 0, "measured rows"},
    {"median", "median", "%", RLT_COL_PERCENT, 7, 1, "at least half of the rows are not above this error"},
    {"p90", "p90", "%", RLT_COL_PERCENT, 7, 1, "at least 90 % of the rows are not above this error"},
    {"worst", "worst", "%", RLT_COL_PERCENT, 8, 1, "largest error"},
    {"simulated_over_measured", "sim/meas", NULL, RLT_COL_REAL, 8, 3, "median of simulated / measured"},
    {"set", "set", NULL, RLT_COL_TEXT, 8, 0, "fitted: the rows that the fit saw; held out: the others"},
    {"median_before", "median", "before", RLT_COL_PERCENT, 7, 1, "median of the errors before the fit"},
    {"p90_before", "p90", "before", RLT_COL_PERCENT, 7, 1, "90th percentile of the errors before the fit"},
    {"median_in_sample", "median", "in smpl", RLT_COL_PERCENT, 7, 1,
     "median of the errors of a fit that saw the row"},
    {"p90_in_sample", "p90", "in smpl", RLT_COL_PERCENT, 7, 1, "90th percentile of those errors"},
    {"median_interpolated", "median", "interp.", RLT_COL_PERCENT, 7, 1,
     "median of the errors of log-log interpolation between fitted rows"},
    {"p90_interpolated", "p90", "interp.", RLT_COL_PERCENT, 7, 1, "90th percentile of those errors"},
};
enum { N_ERROR = sizeof error_columns / sizeof *error_columns, N_CHECK = N_ERROR - 7 };

static const rlt_column row_columns[] = {
    {"system", "system", NULL, RLT_COL_TEXT, 0, 0, "measured system"},
    {"topology", "topology", NULL, RLT_COL_TEXT, 0, 0, "topology that was simulated"},
    {"collective", "collective", NULL, RLT_COL_TEXT, 0, 0, "kind of the collective"},
    {"ranks", "ranks", NULL, RLT_COL_COUNT, 5, 0, "ranks that take part"},
    {"nodes", "nodes", NULL, RLT_COL_COUNT, 5, 0, "nodes that take part"},
    {"dtype", "dtype", NULL, RLT_COL_TEXT, 0, 0, "type of the elements"},
    {"bytes", "size", NULL, RLT_COL_SIZE, 9, 0, "size as nccl-tests counts it: the buffer of a rank"},
    {"measured_ps", "measured", "us", RLT_COL_TIME, 10, 0, "measured time"},
    {"simulated_ps", "simulated", "us", RLT_COL_TIME, 10, 0, "simulated time"},
    {"error", "error", "%", RLT_COL_PERCENT, 7, 1, "simulated / measured - 1"},
    {"set", "set", NULL, RLT_COL_TEXT, 8, 0, "fitted: the fit saw the row; held out: it did not"},
    {"file", NULL, NULL, RLT_COL_TEXT, 0, 0, "file of the measured row"},
    {"line", "line", NULL, RLT_COL_COUNT, 6, 0, "line of the measured row"},
};
enum { N_ROW = sizeof row_columns / sizeof *row_columns };

const rlt_columns rlt_calib_tables[] = {
    {"Fitted constants: `ringlet calibrate`, JSON `constants[]`", constant_columns, N_CONSTANT},
    {"Errors: `ringlet calibrate`, JSON `errors[]`", error_columns, N_ERROR},
    {"Measured rows: `ringlet calibrate`, JSON `rows[]`", row_columns, N_ROW},
};

static void begin(const rlt_calib_report *r, rlt_table *t, const char *name, const rlt_column *columns,
                  uint32_t n)
{
    *t = (rlt_table){0};
    if (r->format == RLT_FORMAT_JSON)
        rlt_jw_array(r->json, name);
    rlt_table_begin(t, r->format, columns, n, r->out, r->json);
}

static int end(const rlt_calib_report *r, rlt_table *t, rlt_error *err)
{
    int rc = rlt_table_end(t, err);
    if (r->format == RLT_FORMAT_JSON)
        rlt_jw_end_array(r->json);
    return rc;
}

/* Formats "41 rows, all_reduce, all_gather 1 KiB to 1 MiB", or why the constant was not fitted. */
static void determined_text(const rlt_constant *c, char *text, size_t size)
{
    char kinds[256] = "", least[32], most[32];
    for (int k = 0; k < RLT_COLL_KINDS; k++)
        if (c->kinds >> k & 1)
            rlt_list_name(kinds, sizeof kinds, rlt_coll_name((rlt_coll_kind)k));
    rlt_format_size(least, sizeof least, c->least);
    rlt_format_size(most, sizeof most, c->most);
    if (c->frozen == RLT_UNTOUCHED)
        snprintf(text, size, "no row: kept");
    else if (c->frozen == RLT_DEGENERATE)
        snprintf(text, size, "same effect as %s: kept", c->with);
    else if (c->frozen == RLT_SET)
        snprintf(text, size, "set by 1 row, %s %s", kinds, least);
    else if (c->rows == 0)
        snprintf(text, size, "no row at this value");
    else
        snprintf(text, size, "%u row%s, %s %s to %s%s", c->rows, c->rows == 1 ? "" : "s", kinds, least, most,
                 c->bounded ? "" : "; not determined");
}

static void write_constant(rlt_table *t, const rlt_constant *c)
{
    static const char *const states[] = {"fitted", "untouched", "degenerate", "set"};
    char name[200], before[64], after[64], low[64], high[64], by[400];
    const char *slash = c->of ? strrchr(c->of, '/') : NULL;
    snprintf(name, sizeof name, c->of ? "%s (%s)" : "%s", c->name, slash ? slash + 1 : c->of);
    rlt_constant_text(c, c->before, c->unit, 4, before, sizeof before);
    rlt_constant_text(c, c->value, c->unit, 4, after, sizeof after);
    rlt_constant_text(c, c->from, c->unit, 4, low, sizeof low);
    rlt_constant_text(c, c->to, c->unit, 4, high, sizeof high);
    determined_text(c, by, sizeof by);
    rlt_value v[N_CONSTANT] = {
        rlt_text(name),
        rlt_text(before),
        rlt_text(c->frozen == RLT_UNTOUCHED || c->frozen == RLT_DEGENERATE ? before : after),
        c->bounded ? rlt_text(low) : rlt_absent(),
        c->bounded ? rlt_text(high) : rlt_absent(),
        rlt_count(c->rows),
        rlt_text(by),
        rlt_text(states[c->frozen]),
        c->rows ? rlt_count(c->least) : rlt_absent(),
        c->rows ? rlt_count(c->most) : rlt_absent(),
    };
    rlt_table_row(t, v);
}

int rlt_report_constants(const rlt_calib_report *r, const rlt_constant *c, uint32_t n, rlt_error *err)
{
    rlt_table t;
    begin(r, &t, "constants", constant_columns, N_CONSTANT);
    for (uint32_t i = 0; i < n; i++)
        write_constant(&t, &c[i]);
    return end(r, &t, err);
}

/* Returns the line of another list for the same class. A list of a fit to all rows has no sets. */
static const rlt_errors_row *same_class(const rlt_errors_list *list, const rlt_errors_row *like, bool any_set)
{
    for (uint32_t i = 0; list && i < list->n; i++) {
        const rlt_errors_row *e = &list->rows[i];
        if (strcmp(e->system, like->system) == 0 && e->kind == like->kind && e->small == like->small &&
            (any_set || e->held_out == like->held_out))
            return e;
    }
    return NULL;
}

static const char *set_name(int held_out)
{
    return held_out < 0 ? "all" : held_out ? "held out" : "fitted";
}

static void put_pair(rlt_value *v, uint32_t *n, const rlt_errors_row *e)
{
    v[(*n)++] = e ? rlt_real(e->errors.median) : rlt_absent();
    v[(*n)++] = e ? rlt_real(e->errors.p90) : rlt_absent();
}

int rlt_report_errors(const rlt_calib_report *r, const rlt_errors_list *rows, const rlt_errors_beside *beside,
                      rlt_error *err)
{
    rlt_column columns[N_ERROR];
    uint32_t n = N_CHECK;
    rlt_table t;
    memcpy(columns, error_columns, sizeof columns);
    if (beside) {
        n = N_CHECK + 3;
        if (beside->in_sample)
            n += 2;
        for (uint32_t k = 0; k < 2 && beside->interpolated; k++)
            columns[n++] = error_columns[N_ERROR - 2 + k];
    }
    begin(r, &t, "errors", columns, n);
    for (uint32_t i = 0; i < rows->n; i++) {
        const rlt_errors_row *e = &rows->rows[i];
        rlt_value v[N_ERROR] = {
            rlt_text(e->system),
            rlt_text(e->kind == RLT_COLL_KINDS ? "all" : rlt_coll_name((rlt_coll_kind)e->kind)),
            rlt_text(e->small ? "< 1 MiB" : ">= 1 MiB"),
            rlt_count(e->errors.rows),
            rlt_real(e->errors.median),
            rlt_real(e->errors.p90),
            rlt_real(e->errors.worst),
            rlt_real(e->errors.ratio),
            rlt_text(set_name(e->held_out)),
        };
        uint32_t used = 9;
        if (beside)
            put_pair(v, &used, same_class(beside->before, e, false));
        if (beside && beside->in_sample)
            put_pair(v, &used, same_class(beside->in_sample, e, true));
        if (beside && beside->interpolated)
            put_pair(v, &used, same_class(beside->interpolated, e, false));
        rlt_table_row(&t, v);
    }
    return end(r, &t, err);
}

int rlt_report_rows(const rlt_calib_report *r, const rlt_trial *trial, rlt_error *err)
{
    rlt_table t;
    begin(r, &t, "rows", row_columns, N_ROW);
    for (uint32_t i = 0; i < trial->n_rows; i++) {
        const rlt_trial_row *row = &trial->rows[i];
        const rlt_measurement *m = row->m;
        rlt_time time_ps = trial->cases[row->at].time_ps;
        rlt_value v[N_ROW] = {
            rlt_text(m->system),
            rlt_text(rlt_topology_name(trial->machines[row->machine].setup.topology)),
            rlt_text(rlt_coll_name(m->kind)),
            rlt_count(m->ranks),
            rlt_count(m->nodes),
            rlt_text(*m->dtype ? m->dtype : NULL),
            rlt_count(m->bytes),
            rlt_ps(m->time_ps),
            time_ps > 0 ? rlt_ps(time_ps) : rlt_absent(),
            time_ps > 0 ? rlt_real((double)time_ps / (double)m->time_ps - 1) : rlt_absent(),
            rlt_text(set_name(row->held_out)),
            rlt_text(m->file),
            rlt_count(m->line),
        };
        rlt_table_row(&t, v);
    }
    return end(r, &t, err);
}
