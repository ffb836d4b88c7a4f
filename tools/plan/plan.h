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
#include "tools/output/report_options.h"
#include "tools/output/sheet.h"
#include "workload/experiment/layouts/fleets.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/experiment/run/run.h"
#include "workload/plan/plan.h"

/* Worth of a layout's time, and its limit. Dollars, energy and days are those to `tokens`. */
typedef struct rlt_plan_worth {
    double price_h;    /* dollars of an accelerator and hour; 0: not said */
    double power_w;    /* power of an accelerator; 0: unknown */
    double tokens;     /* 10^12 if they are not said */
    double deadline_s; /* 0: none */
    rlt_time limit_ps; /* longest iteration, from the deadline; 0: none */
} rlt_plan_worth;

typedef struct rlt_plan_asked {
    rlt_run_settings run; /* must be first */
    rlt_report_settings report;
    const char *within, *gap, *headroom;
    const char *accelerators, *objective, *deadline, *tokens, *price, *power, *front, *plot;
    rlt_plan_worth worth; /* read from these */
    uint64_t top, most;
    bool verify, quiet;
} rlt_plan_asked;

/* A layout of the result: its figures from a run of its own, and the command that repeats the run. */
typedef struct rlt_planned {
    const rlt_layouts *from;
    const rlt_layout_point *point;
    rlt_time whole_ps; /* simulated unfolded; 0: not asked for */
    double mfu, bubble, exposed[6], tokens_per_s;
    char *command;
} rlt_planned;

/* Runs a layout by the settings that its command has, and fills the figures. Free `command`. */
int rlt_plan_run(const rlt_layouts *l, const rlt_plan_asked *s, const rlt_parsed *args,
                 const rlt_layout_point *p, rlt_planned *out, rlt_error *err) RLT_MUST_USE;

/* Reads price, power, tokens and deadline, and checks that an objective or a front has the options that it
 * needs. RLT_EUSAGE names both. */
int rlt_plan_worth_read(const rlt_plan_asked *s, const rlt_parsed *args, rlt_plan_worth *out,
                        rlt_error *err) RLT_MUST_USE;
/* Adds what the opened training says: its accelerator's power, and the limit of an iteration. */
int rlt_plan_worth_settle(const rlt_plan_asked *s, const rlt_layouts *l, rlt_plan_worth *w,
                          rlt_error *err) RLT_MUST_USE;
/* Returns the seconds to the tokens. */
double rlt_plan_seconds(const rlt_plan_worth *w, const rlt_planned *row);
double rlt_plan_dollars(const rlt_plan_worth *w, const rlt_planned *row);
double rlt_plan_kWh(const rlt_plan_worth *w, const rlt_planned *row);
/* Says below a table what dollars and energy are about. */
void rlt_plan_worth_print(FILE *out, const rlt_plan_asked *s);

/* Fails: the deadline is missed. The fastest layout takes fastest_ps on `ranks` accelerators; 0: unknown.
 * `counts` ends the message. */
int rlt_plan_missed(const rlt_plan_asked *s, uint32_t ranks, rlt_time fastest_ps, const char *counts,
                    rlt_error *err);

/* Runs a search that Ctrl-C stops, with a bar of progress unless it is quiet. */
typedef int rlt_plan_search(void *ctx, const rlt_layout_search *how, rlt_error *err);
int rlt_plan_watched(bool quiet, rlt_plan_search *search, void *ctx, const rlt_layout_search *how,
                     rlt_error *err) RLT_MUST_USE;
/* Searches over numbers of accelerators, or for a front, and writes the result. */
int rlt_plan_fleets(rlt_plan_asked *s, const rlt_parsed *args, const rlt_layout_search *how,
                    rlt_error *err) RLT_MUST_USE;
/* Reads the goals of --front, or of --objective. Returns how many; RLT_EUSAGE. */
int rlt_plan_goals(const rlt_plan_asked *s, rlt_goal goals[2], rlt_error *err) RLT_MUST_USE;
/* Draws a front of rows. */
int rlt_plan_front_draw(const rlt_plan_asked *s, const rlt_planned *rows, uint32_t n,
                        rlt_error *err) RLT_MUST_USE;

extern const rlt_columns rlt_plan_columns;
/* Parts of a report: the heading, with the number of accelerators if there are several; a row; what stands
 * below. `shown` lives as long as the sheet. best_ps is the time of the fastest row. */
enum { RLT_PLAN_COLUMNS = 19 };
void rlt_plan_heading(rlt_sheet *sheet, const rlt_plan_asked *s, rlt_column shown[RLT_PLAN_COLUMNS]);
void rlt_plan_row(rlt_sheet *sheet, const rlt_plan_asked *s, const rlt_planned *row, rlt_time best_ps);
void rlt_plan_print_commands(FILE *out, const rlt_planned *rows, uint32_t n);
void rlt_plan_print_certificate(FILE *out, const rlt_layout_result *r);
void rlt_plan_print_grounds(FILE *out, const rlt_layouts *l);
/* Writes the result. `rc` is how the search ended; returns it, or the error met here. */
int rlt_plan_report(const rlt_layouts *l, const rlt_plan_asked *s, const rlt_parsed *args,
                    const rlt_planned *rows, uint32_t n, int rc, rlt_error *err) RLT_MUST_USE;

#endif
