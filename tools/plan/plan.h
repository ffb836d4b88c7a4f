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
#include "tools/output/sheet.h"
#include "tools/plan/workers.h"
#include "workload/experiment/layouts/advice.h"
#include "workload/experiment/layouts/fleets.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/experiment/run/run.h"
#include "workload/plan/plan.h"
#include "workload/replay/failures.h"

/* Bandwidths searched together with the layout (network.c). */
typedef struct rlt_plan_bandwidths {
    bool with_network;
    uint64_t total_Bps, steps, radix;
    const char *budget, *cost, *levels;
} rlt_plan_bandwidths;
extern const rlt_option rlt_plan_bandwidth_options[]; /* offsets are in rlt_plan_bandwidths */
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
    rlt_plan_bandwidths bandwidths;
    const char *within, *gap, *headroom, *save;
    const char *accelerators, *objective, *deadline, *tokens, *price, *power, *front, *plot;
    rlt_plan_worth worth; /* read from these */
    const char *robust, *measured, *reach, *mine, *than;
    uint64_t top, most, jobs, sample;
    bool verify, quiet, advice;
} rlt_plan_asked;

/* A question that the command answers: searches, and on rank 0 writes the result. `how` has what is asked
 * for. */
typedef int rlt_plan_mode(rlt_plan_workers *w, rlt_plan_asked *s, const rlt_parsed *args,
                          const rlt_layout_search *how, rlt_error *err);
/* Refuses options, named as "--until", the last NULL. `why` ends the message. */
int rlt_plan_refuse(const rlt_parsed *args, const char *const *names, const char *why,
                    rlt_error *err) RLT_MUST_USE;
/* Reads a share: "3%" or "0.03". RLT_EUSAGE names the option. */
int rlt_plan_share(const char *text, const char *option, double most, double *out,
                   rlt_error *err) RLT_MUST_USE;
/* Which layouts are the fastest? */
rlt_plan_mode rlt_plan_one;

/* A layout of the result: its figures from a run of its own, and the command that repeats the run. */
typedef struct rlt_planned {
    const rlt_layouts *from;
    const rlt_layout_point *point;
    rlt_time whole_ps;    /* simulated unfolded; 0: not asked for */
    rlt_time time_ps;     /* time of this run: folded, or whole */
    rlt_time expected_ps; /* with failures; 0: not asked for */
    double goodput;
    double mfu, bubble, exposed[6], tokens_per_s;
    double memory_bytes;  /* needed by the fullest stage */
    double compute, host; /* shares of the time, as are bubble and exposed */
    char *command;
} rlt_planned;

/* Runs a layout by the settings that its command has, and fills the figures. The topology is that of `s`,
 * which may be another one than `args` has. Free `command`. */
int rlt_plan_run(const rlt_layouts *l, const rlt_plan_asked *s, const rlt_parsed *args,
                 const rlt_layout_point *p, rlt_planned *out, rlt_error *err) RLT_MUST_USE;

/* The same for values of --layout and --train; `train` may be NULL. */
typedef struct rlt_plan_texts {
    const char *layout, *train;
} rlt_plan_texts;
int rlt_plan_run_settings(const rlt_layouts *l, const rlt_plan_asked *s, const rlt_parsed *args,
                          const rlt_plan_texts *texts, rlt_planned *out, rlt_error *err) RLT_MUST_USE;

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

/* Searches over numbers of accelerators, or for a front, and writes the result. */
rlt_plan_mode rlt_plan_fleets;
/* Reads the goals of --front, or of --objective. Returns how many; RLT_EUSAGE. */
int rlt_plan_goals(const rlt_plan_asked *s, rlt_goal goals[2], rlt_error *err) RLT_MUST_USE;
/* Draws a front of rows. */
int rlt_plan_front_draw(const rlt_plan_asked *s, const rlt_planned *rows, uint32_t n,
                        rlt_error *err) RLT_MUST_USE;

/* The text below a table. If it cannot be opened, the sheet is closed. Closing it closes the sheet, too: `rc`
 * is how the rest went. */
typedef struct rlt_plan_legend {
    FILE *out;
    char *text;
    size_t length;
} rlt_plan_legend;
int rlt_plan_legend_open(rlt_plan_legend *l, rlt_sheet *sheet, rlt_error *err) RLT_MUST_USE;
int rlt_plan_legend_close(rlt_plan_legend *l, rlt_sheet *sheet, int rc, rlt_error *err) RLT_MUST_USE;

extern const rlt_columns rlt_plan_columns;
/* Parts of a report: the heading, with the number of accelerators if there are several; a row; what stands
 * below. `shown` lives as long as the sheet. best_ps is the time of the fastest row. */
enum { RLT_PLAN_COLUMNS = 21 };
void rlt_plan_heading(rlt_sheet *sheet, const rlt_plan_asked *s, rlt_column shown[RLT_PLAN_COLUMNS]);
void rlt_plan_row(rlt_sheet *sheet, const rlt_plan_asked *s, const rlt_planned *row, rlt_time best_ps);
void rlt_plan_print_commands(FILE *out, const rlt_planned *rows, uint32_t n);
void rlt_plan_print_certificate(FILE *out, const rlt_layout_result *r);
void rlt_plan_counts_json(rlt_jw *w, const rlt_layout_result *r); /* where each point went */
void rlt_plan_certificate_json(rlt_jw *w, const rlt_layout_result *r);
void rlt_plan_print_grounds(FILE *out, const rlt_layouts *l);
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
    uint32_t n, more; /* rows, and those left out by --top */
    int rc;
    const rlt_plan_mine *mine;
    const rlt_layouts_advice *advice;
} rlt_plan_answer;

/* --failures: reads it; finds the expected time of a row, if it was asked for. */
int rlt_plan_failures(const rlt_plan_asked *s, rlt_failures *out, rlt_error *err) RLT_MUST_USE;
int rlt_plan_goodput(const rlt_layouts *l, const rlt_plan_asked *s, rlt_planned *row,
                     rlt_error *err) RLT_MUST_USE;
/* Writes the values of a point, leaving out axes that have one value only or change nothing. */
void rlt_plan_describe(const rlt_layouts *l, const rlt_layout_point *p, char *text, size_t size);
/* Says what binds the fastest layout, what would help it, and where the user's own stands. */
void rlt_plan_explain(FILE *out, const rlt_layouts *l, const rlt_plan_answer *a);
void rlt_plan_explain_json(rlt_jw *w, const rlt_layouts *l, const rlt_plan_answer *a);

/* Writes the result. Returns a->rc, or the error met here. */
int rlt_plan_report(const rlt_layouts *l, const rlt_plan_asked *s, const rlt_parsed *args,
                    const rlt_plan_answer *a, rlt_error *err) RLT_MUST_USE;

extern const rlt_columns rlt_plan_bandwidth_columns;
/* Searches layout and bandwidths together, and writes the result. `how` has what is asked for. */
rlt_plan_mode rlt_plan_bandwidths_too;

extern const rlt_columns rlt_plan_robust_columns, rlt_plan_measured_columns;
/* Searches under factors, given or learned from runs, and writes the result. */
rlt_plan_mode rlt_plan_robust, rlt_plan_measured;

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
