/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet plan: the best layouts of a training, as rows with commands, and the proof. */
#ifndef RLT_TOOLS_PLAN_PLAN_H
#define RLT_TOOLS_PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "sim/watch.h"
#include "tools/base/progress.h"
#include "tools/output/report_options.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/experiment/run/run.h"
#include "workload/plan/plan.h"
#include "workload/replay/failures.h"

typedef struct rlt_plan_asked {
    rlt_run_settings run; /* must be first */
    rlt_report_settings report;
    const char *within, *gap, *headroom, *robust, *measured;
    uint64_t top, most;
    bool verify, quiet;
} rlt_plan_asked;

/* A layout of the result: its figures from a run of its own, and the command that repeats the run. */
typedef struct rlt_planned {
    const rlt_layout_point *point;
    rlt_time whole_ps;    /* simulated unfolded; 0: not asked for */
    rlt_time expected_ps; /* with failures; 0: not asked for */
    double goodput;
    double mfu, bubble, exposed[6], tokens_per_s;
    char *command;
} rlt_planned;

/* Runs a layout by the settings that its command has, and fills the figures. Free `command`. */
int rlt_plan_run(const rlt_layouts *l, const rlt_plan_asked *s, const rlt_parsed *args,
                 const rlt_layout_point *p, rlt_planned *out, rlt_error *err) RLT_MUST_USE;

/* Observes a search: Ctrl-C stops it, and unless --quiet is given a line shows how far it is. */
typedef struct rlt_plan_watch {
    rlt_progress bar;
    rlt_watch watch;
    bool shown;
} rlt_plan_watch;
const rlt_watch *rlt_plan_watch_begin(rlt_plan_watch *w, const rlt_plan_asked *s);
void rlt_plan_watch_end(rlt_plan_watch *w);

/* Writes the values of a point, leaving out axes that have one value only or change nothing. */
void rlt_plan_describe(const rlt_layouts *l, const rlt_layout_point *p, char *text, size_t size);
/* Writes the certificate: as lines, or as members of an open object. */
void rlt_plan_certificate(FILE *out, const rlt_layout_result *r);
void rlt_plan_certificate_json(rlt_jw *w, const rlt_layout_result *r);
/* --failures: reads it; finds the expected time of a row, if it was asked for. */
int rlt_plan_failures(const rlt_plan_asked *s, rlt_failures *out, rlt_error *err) RLT_MUST_USE;
int rlt_plan_goodput(const rlt_layouts *l, const rlt_plan_asked *s, rlt_planned *row,
                     rlt_error *err) RLT_MUST_USE;

extern const rlt_columns rlt_plan_columns, rlt_plan_robust_columns, rlt_plan_measured_columns;
/* Writes the result. `rc` is how the search ended; returns it, or the error met here. */
int rlt_plan_report(const rlt_layouts *l, const rlt_plan_asked *s, const rlt_parsed *args,
                    const rlt_planned *rows, uint32_t n, int rc, rlt_error *err) RLT_MUST_USE;

/* --robust and --measured: search and write the result. `l` is open. */
int rlt_plan_robust(rlt_layouts *l, const rlt_plan_asked *s, const rlt_parsed *args,
                    const rlt_layout_search *how, rlt_error *err) RLT_MUST_USE;
int rlt_plan_measured(rlt_layouts *l, const rlt_plan_asked *s, const rlt_parsed *args,
                      const rlt_layout_search *how, rlt_error *err) RLT_MUST_USE;

#endif
