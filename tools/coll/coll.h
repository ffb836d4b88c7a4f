/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of `ringlet coll`: the table, statements over several rows, and the export of plans. */
#ifndef RLT_TOOLS_COLL_COLL_H
#define RLT_TOOLS_COLL_COLL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "tools/base/command.h"
#include "tools/output/report_options.h"
#include "workload/experiment/coll/coll.h"

/* The rows, kept for statements over several rows. Names are borrowed. */
typedef struct rlt_coll_point {
    rlt_coll_kind kind;
    const char *algorithm;
    uint64_t bytes;
    rlt_time time_ps, bound_ps;
    double bus_factor;
} rlt_coll_point;
typedef struct rlt_coll_points {
    rlt_coll_point *items;
    uint32_t n, capacity;
} rlt_coll_points;
int rlt_coll_note_point(rlt_coll_points *p, const rlt_coll_point *point, rlt_error *err) RLT_MUST_USE;
void rlt_coll_points_free(rlt_coll_points *p);
/* Write where, between two neighbouring sizes, another algorithm becomes the fastest: as comment lines, and
 * as "crossovers": [...]. */
void rlt_coll_put_crossings(FILE *out, const rlt_coll_points *p);
void rlt_coll_json_crossings(rlt_jw *w, const rlt_coll_points *p);
/* Plots time and bus bandwidth over size as SVG, for each collective: one line an algorithm, the bound
 * dashed. */
int rlt_coll_plot(const char *path, const char *title, const rlt_coll_points *p, rlt_error *err) RLT_MUST_USE;

/* How the rows are shown. */
typedef struct rlt_coll_output {
    const rlt_report_settings *report;
    rlt_time series_ps;
    uint32_t jobs;    /* threads */
    const char *plot; /* file, or NULL */
    bool why;
} rlt_coll_output;
/* Simulates all that was asked for, on several threads, and writes the rows in order. The output does not
 * depend on the number of threads. */
int rlt_coll_table(const rlt_coll_ask *ask, const rlt_coll_output *output, rlt_error *err) RLT_MUST_USE;
/* Notes at which sizes, from the first to the last one asked for, `auto` changes its choice: a line for each
 * collective. Nothing is simulated. */
void rlt_coll_choices(const rlt_coll_ask *ask);
/* Writes the plan, in a format by name. RLT_EUSAGE if the settings ask for several plans. */
int rlt_coll_plan_export(const rlt_coll_ask *ask, const char *path, const char *format,
                         rlt_error *err) RLT_MUST_USE;

extern const rlt_command rlt_coll_arithmetic; /* ringlet coll arithmetic */

#endif
