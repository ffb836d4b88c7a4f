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
    uint32_t place;       /* in the list of algorithms */
    uint64_t bytes, work; /* work: cost of its simulation, in events */
    rlt_time time_ps, bound_ps;
    double bus_factor;
} rlt_coll_point;
typedef struct rlt_coll_points {
    rlt_coll_point *items;
    uint32_t n, capacity;
} rlt_coll_points;
int rlt_coll_note_point(rlt_coll_points *p, const rlt_coll_point *point, rlt_error *err) RLT_MUST_USE;
void rlt_coll_points_free(rlt_coll_points *p);
/* Simulates more sizes where, between two neighbours, another algorithm becomes the fastest, until these are
 * at most 5 % apart; then where neighbours are more than twofold apart. Stops when these sizes have cost as
 * much as the rows, or about a second if that is more. Adds them to the rows. */
int rlt_coll_refine(const rlt_coll_ask *ask, uint32_t jobs, rlt_coll_points *points,
                    rlt_error *err) RLT_MUST_USE;
/* Write where another algorithm becomes the fastest: as comment lines, with the sizes that they rest on, and
 * as "crossovers": [...]. */
void rlt_coll_put_crossings(FILE *out, const rlt_coll_ask *ask, const rlt_coll_points *p);
void rlt_coll_json_crossings(rlt_jw *w, const rlt_coll_ask *ask, const rlt_coll_points *p);
/* Plots time and bus bandwidth over size as SVG, for each collective: one line an algorithm, the bound
 * dashed. */
int rlt_coll_plot(const char *path, const char *title, const rlt_coll_points *p, rlt_error *err) RLT_MUST_USE;

/* How the rows are shown. */
typedef struct rlt_coll_output {
    const rlt_report_settings *report;
    rlt_time series_ps;
    uint32_t jobs;    /* threads */
    const char *plot; /* file, or NULL */
    bool why, all;    /* all: also the slower rows of a comparison of all algorithms */
} rlt_coll_output;
/* Simulates all that was asked for, on several threads, and writes the rows in order. The output does not
 * depend on the number of threads. */
int rlt_coll_table(const rlt_coll_ask *ask, const rlt_coll_output *output, rlt_error *err) RLT_MUST_USE;
/* Returns true if place `a` of the list of algorithms is `auto`, of any version. */
bool rlt_coll_is_auto(const rlt_coll_ask *ask, uint32_t a);
/* Say at which sizes, from the first to the last one asked for, `auto` changes its choice, a line for each
 * collective: in a note with protocols and reasons, as comment lines, and as "choices": [...]. Nothing is
 * simulated. */
void rlt_coll_choices(const rlt_coll_ask *ask);
void rlt_coll_put_choices(FILE *out, const rlt_coll_ask *ask);
void rlt_coll_json_choices(rlt_jw *w, const rlt_coll_ask *ask);
/* Writes the plan, in a format by name. RLT_EUSAGE if the settings ask for several plans. */
int rlt_coll_plan_export(const rlt_coll_ask *ask, const char *path, const char *format,
                         rlt_error *err) RLT_MUST_USE;

extern const rlt_command rlt_coll_arithmetic; /* ringlet coll arithmetic */

#endif
