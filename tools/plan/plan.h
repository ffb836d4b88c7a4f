/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet plan: the best layouts of a training, as rows with commands, and the proof. */
#ifndef RLT_TOOLS_PLAN_PLAN_H
#define RLT_TOOLS_PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "tools/output/report_options.h"
#include "tools/plan/workers.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/experiment/run/run.h"
#include "workload/plan/plan.h"

/* Bandwidths searched together with the layout (network.c). */
typedef struct rlt_plan_bandwidths {
    bool with_network;
    uint64_t total_Bps, steps, radix;
    const char *budget, *cost, *levels;
} rlt_plan_bandwidths;
extern const rlt_option rlt_plan_bandwidth_options[]; /* offsets are in rlt_plan_bandwidths */

typedef struct rlt_plan_asked {
    rlt_run_settings run; /* must be first */
    rlt_report_settings report;
    rlt_plan_bandwidths bandwidths;
    const char *within, *gap, *headroom, *save;
    uint64_t top, most, jobs;
    bool verify, quiet;
} rlt_plan_asked;

/* A layout of the result: its figures from a run of its own, and the command that repeats the run. */
typedef struct rlt_planned {
    const rlt_layout_point *point;
    rlt_time whole_ps; /* simulated unfolded; 0: not asked for */
    double mfu, bubble, exposed[6], tokens_per_s;
    char *command;
} rlt_planned;

/* Runs a layout by the settings that its command has, and fills the figures. The topology is that of `s`,
 * which may be another one than `args` has. Free `command`. */
int rlt_plan_run(const rlt_layouts *l, const rlt_plan_asked *s, const rlt_parsed *args,
                 const rlt_layout_point *p, rlt_planned *out, rlt_error *err) RLT_MUST_USE;

extern const rlt_columns rlt_plan_columns;
/* Writes the result. `rc` is how the search ended; returns it, or the error met here. */
int rlt_plan_report(const rlt_layouts *l, const rlt_plan_asked *s, const rlt_parsed *args,
                    const rlt_planned *rows, uint32_t n, int rc, rlt_error *err) RLT_MUST_USE;

/* Writes the values of a point, leaving out axes that have one value only or change nothing. */
void rlt_plan_describe(const rlt_layouts *l, const rlt_layout_point *p, char *text, size_t size);
/* Fails with the reason why no layout can run, and which is nearest. */
int rlt_plan_nothing(const rlt_layouts *l, rlt_error *err) RLT_MUST_USE;

extern const rlt_columns rlt_plan_bandwidth_columns;
/* Searches layout and bandwidths together, and writes the result. `how` has what is asked for. */
int rlt_plan_bandwidths_too(rlt_plan_workers *w, const rlt_plan_asked *s, const rlt_parsed *args,
                            const rlt_layout_search *how, rlt_error *err) RLT_MUST_USE;

#endif
