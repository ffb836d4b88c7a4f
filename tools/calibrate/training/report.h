/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables of `ringlet calibrate-training`. Internal to tools/calibrate/training/. */
#ifndef RLT_TOOLS_CALIBRATE_TRAINING_REPORT_H
#define RLT_TOOLS_CALIBRATE_TRAINING_REPORT_H

#include <stdio.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/text/json.h"
#include "tools/calibrate/training/train.h"
#include "tools/output/output.h"

typedef struct rlt_train_report {
    const rlt_train_rows *rows;
    const rlt_train_fit *fit;
    char *const *paths;       /* files of the tables, in the order read */
    rlt_leave by[RLT_LEAVES]; /* rows left out; tables with one column of errors left out show the first */
    uint32_t n_by;
    bool by_source;     /* groups are sources */
    bool each;          /* shows each run, and each group of layouts */
    const char *series; /* beginnings of names of groups of layouts, with commas between; NULL: none */
    rlt_format format;
    FILE *out;
    rlt_jw *json;
    double *first, *second; /* room for a number per row */
} rlt_train_report;

extern const rlt_columns rlt__train_summary, rlt__train_groups, rlt__train_layouts, rlt__train_rankings,
    rlt__train_worst, rlt__train_refused, rlt__train_rows;

/* Write a table each. For JSON, arrays: summary, groups, layouts, rankings, worst, refused, rows. */
int rlt__report_summary(const rlt_train_report *r, rlt_error *err) RLT_MUST_USE;
int rlt__report_groups(const rlt_train_report *r, rlt_error *err) RLT_MUST_USE;
int rlt__report_layouts(const rlt_train_report *r, rlt_error *err) RLT_MUST_USE;
int rlt__report_worst(const rlt_train_report *r, rlt_error *err) RLT_MUST_USE;
int rlt__report_refused(const rlt_train_report *r, rlt_error *err) RLT_MUST_USE;
int rlt__report_rows(const rlt_train_report *r, rlt_error *err) RLT_MUST_USE;
/* Fails with RLT_EUSAGE if no group of layouts begins with one of the names of a series. */
int rlt__series_known(const rlt_train_rows *rows, const char *series, rlt_error *err) RLT_MUST_USE;
/* Begins and ends a table; `title` is a heading for people. */
void rlt__report_begin(const rlt_train_report *r, rlt_table *t, const rlt_columns *c, const char *name,
                       const char *title);
int rlt__report_end(const rlt_train_report *r, rlt_table *t, rlt_error *err) RLT_MUST_USE;
/* Returns the predicted time, left out or not; 0: not predicted. */
double rlt__report_time(const rlt_train_row *row, int by);
enum { RLT__IN_SAMPLE = -1 };

#endif
