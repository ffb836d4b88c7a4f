/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet plan: the best layouts of a training, as rows with commands, and the proof. */
#ifndef RLT_TOOLS_PLAN_PLAN_H
#define RLT_TOOLS_PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "tools/output/report_options.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/experiment/run/run.h"
#include "workload/plan/plan.h"

typedef struct rlt_plan_asked {
    rlt_run_settings run; /* must be first */
    rlt_report_settings report;
    const char *within, *gap, *headroom, *than;
    uint64_t top, most, sample;
    bool verify, quiet;
} rlt_plan_asked;

/* A layout of the result: its figures from a run of its own, and the command that repeats the run. */
typedef struct rlt_planned {
    const rlt_layout_point *point;
    rlt_time whole_ps; /* simulated unfolded; 0: not asked for */
    double mfu, bubble, exposed[6], tokens_per_s;
    char *command;
} rlt_planned;

/* Runs a layout by the settings that its command has, and fills the figures. Free `command`. */
int rlt_plan_run(const rlt_layouts *l, const rlt_plan_asked *s, const rlt_parsed *args,
                 const rlt_layout_point *p, rlt_planned *out, rlt_error *err) RLT_MUST_USE;

extern const rlt_columns rlt_plan_columns;
/* Writes the result. `rc` is how the search ended; returns it, or the error met here. */
int rlt_plan_report(const rlt_layouts *l, const rlt_plan_asked *s, const rlt_parsed *args,
                    const rlt_planned *rows, uint32_t n, int rc, rlt_error *err) RLT_MUST_USE;

/* Reads --than. RLT_EUSAGE without --sample. */
int rlt_plan_than(const rlt_plan_asked *s, rlt_time *than_ps, rlt_error *err) RLT_MUST_USE;
/* Draws layouts at random, if asked for. Counts those that are faster than `than_ps`; without --than, those
 * within the share of the fastest. */
int rlt_plan_draw(rlt_layouts *l, const rlt_plan_asked *s, const rlt_layout_search *how, rlt_time than_ps,
                  rlt_error *err) RLT_MUST_USE;
/* Write the share of the sample, with its interval, if there is one. */
void rlt_plan_sample_json(rlt_jw *w, const rlt_layouts *l);
void rlt_plan_sample_print(FILE *out, const rlt_layouts *l);

#endif
