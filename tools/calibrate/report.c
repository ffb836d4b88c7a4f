/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output of `ringlet calibrate`: constants, errors by class, single rows. */
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "net/topology/topology.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "tools/calibrate/calibrate.h"
#include "tools/calibrate/measure/measure.h"
#include "tools/output/output.h"

static const rlt_column constant_columns[] = {
    {"constant", "constant", NULL, RLT_COL_TEXT, 0, 0, "constant of the machine that was fitted"},
    {"before", "before", NULL, RLT_COL_TEXT, 0, 0, "value before the fit"},
    {"after", "after", NULL, RLT_COL_TEXT, 0, 0, "value after the fit"},
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
};
enum { N_ERROR = sizeof error_columns / sizeof *error_columns, N_CHECK = N_ERROR - 3 };

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

int rlt_report_constants(const rlt_calib_report *r, const rlt_constant *c, uint32_t n, rlt_error *err)
{
    rlt_table t;
    begin(r, &t, "constants", constant_columns, N_CONSTANT);
    for (uint32_t i = 0; i < n; i++) {
        char before[64], after[64];
        rlt_constant_text(&c[i], c[i].before, c[i].unit, 4, before, sizeof before);
        rlt_constant_text(&c[i], c[i].value, c[i].unit, 4, after, sizeof after);
        rlt_value v[N_CONSTANT] = {rlt_text(c[i].name), rlt_text(before), rlt_text(after)};
        rlt_table_row(&t, v);
    }
    return end(r, &t, err);
}

static const rlt_errors_row *same_class(const rlt_errors_row *rows, uint32_t n, const rlt_errors_row *like)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(rows[i].system, like->system) == 0 && rows[i].kind == like->kind &&
            rows[i].small == like->small && rows[i].held_out == like->held_out)
            return &rows[i];
    return NULL;
}

static const char *set_name(int held_out)
{
    return held_out < 0 ? "all" : held_out ? "held out" : "fitted";
}

int rlt_report_errors(const rlt_calib_report *r, const rlt_errors_row *rows, uint32_t n,
                      const rlt_errors_row *before, uint32_t n_before, rlt_error *err)
{
    rlt_table t;
    begin(r, &t, "errors", error_columns, before ? N_ERROR : N_CHECK);
    for (uint32_t i = 0; i < n; i++) {
        const rlt_errors_row *e = &rows[i], *b = before ? same_class(before, n_before, e) : NULL;
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
            b ? rlt_real(b->errors.median) : rlt_absent(),
            b ? rlt_real(b->errors.p90) : rlt_absent(),
        };
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
