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
#include "tools/output/report_options.h"
#include "workload/experiment/layouts/advice.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/experiment/run/run.h"
#include "workload/plan/plan.h"

typedef struct rlt_plan_asked {
    rlt_run_settings run; /* must be first */
    rlt_report_settings report;
    const char *within, *gap, *headroom;
    uint64_t top, most;
    bool verify, quiet;
    const char *reach, *mine;
    bool advice;
} rlt_plan_asked;

/* A layout of the result: its figures from a run of its own, and the command that repeats the run. */
typedef struct rlt_planned {
    const rlt_layout_point *point;
    rlt_time whole_ps; /* simulated unfolded; 0: not asked for */
    rlt_time time_ps;  /* time of this run: folded, or whole */
    double mfu, bubble, exposed[6], tokens_per_s;
    double memory_bytes;  /* needed by the fullest stage */
    double compute, host; /* shares of the time, as are bubble and exposed */
    char *command;
} rlt_planned;

/* Runs a layout by the settings that its command has, and fills the figures. Free `command`. */
int rlt_plan_run(const rlt_layouts *l, const rlt_plan_asked *s, const rlt_parsed *args,
                 const rlt_layout_point *p, rlt_planned *out, rlt_error *err) RLT_MUST_USE;

/* The same for settings of --layout and --train; `train` may be NULL. */
int rlt_plan_run_settings(const rlt_plan_asked *s, const rlt_parsed *args, const char *layout,
                          const char *train, rlt_planned *out, rlt_error *err) RLT_MUST_USE;

/* The user's own layout (--mine). */
typedef struct rlt_plan_mine {
    bool asked, runs;
    char *layout; /* settings, malloc'ed */
    rlt_planned run;
    rlt_error why; /* if it does not run */
} rlt_plan_mine;
/* Runs the layout. `out->runs` is false if it is against a rule or does not fit. Free it in every case. */
int rlt_plan_mine_run(const rlt_layouts *l, const rlt_plan_asked *s, const rlt_parsed *args,
                      rlt_plan_mine *out, rlt_error *err) RLT_MUST_USE;
void rlt_plan_mine_free(rlt_plan_mine *m);

/* A result: rows, and texts beside them. `rc` is how the search ended. */
typedef struct rlt_plan_answer {
    const rlt_planned *rows;
    uint32_t n;
    int rc;
    const rlt_plan_mine *mine;
    const rlt_layouts_advice *advice;
} rlt_plan_answer;

/* Writes the values of a point, leaving out axes that have one value only or change nothing. */
void rlt_plan_describe(const rlt_layouts *l, const rlt_layout_point *p, char *text, size_t size);
/* Says what binds the fastest layout, what would help it, and where the user's own stands. */
void rlt_plan_explain(FILE *out, const rlt_layouts *l, const rlt_plan_answer *a);
void rlt_plan_explain_json(rlt_jw *w, const rlt_layouts *l, const rlt_plan_answer *a);

extern const rlt_columns rlt_plan_columns;
/* Writes the result. Returns a->rc, or the error met here. */
int rlt_plan_report(const rlt_layouts *l, const rlt_plan_asked *s, const rlt_parsed *args,
                    const rlt_plan_answer *a, rlt_error *err) RLT_MUST_USE;

#endif
