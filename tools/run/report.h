/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Output of `ringlet run` for a run that ended or was stopped: tables, JSON, CSV, pages, plots. Functions
 * named _json write into an open object.
 */
#ifndef RLT_TOOLS_RUN_REPORT_H
#define RLT_TOOLS_RUN_REPORT_H

#include <stdio.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "tools/base/command.h"
#include "tools/output/report_options.h"
#include "workload/daso/daso.h"
#include "workload/experiment/run/columns.h"
#include "workload/experiment/run/exposed.h"
#include "workload/experiment/run/run.h"
#include "workload/setup/settings.h"

/* The options of the command. The run's settings stand first: sweeps read them there. */
typedef struct rlt_run_asked {
    rlt_run_settings run;
    rlt_report_settings report;
    const char *memory_csv, *timeline, *page, *plot;
    bool compare, explain, all, quiet;
} rlt_run_asked;

/* Columns of the tables for people, and of DASO and LogGOPSim. rlt_run_rank_columns: what the table of ranks
 * has beside rlt_rank_columns. */
extern const rlt_columns rlt_run_rank_columns, rlt_run_link_columns, rlt_run_class_columns,
    rlt_compare_columns, rlt_daso_columns, rlt_loggops_columns;

/* Compares two runs. */
int rlt_run_compare(const rlt_parsed *args, const rlt_run_asked *s, rlt_error *err) RLT_MUST_USE;
/* Formats b - a with its sign, such as "+1.2 ms". */
char *rlt_format_difference(char *buffer, size_t size, rlt_time a, rlt_time b);

/* `--timing loggops`: runs a GOAL file in LogGOPSim's cost model, without topology or replay. */
int rlt_run_loggops(const rlt_parsed *args, const rlt_run_asked *s, rlt_error *err) RLT_MUST_USE;

int rlt_run_table(const rlt_run *r, const rlt_run_asked *s, FILE *out, rlt_error *err) RLT_MUST_USE;
/* Writes the members of the JSON result; the top object is left open. With `full` false, for a page: includes
 * what bounds the run, leaves out series. Free the writer in every case. */
int rlt_run_document(const rlt_run *r, const rlt_run_asked *s, bool full, rlt_jw *w,
                     rlt_error *err) RLT_MUST_USE;
/* Writes the members of rank or communication i. Unknown numbers are left out; an unknown text is "". */
void rlt_run_row_json(const rlt_run *r, const rlt_run_column *c, uint32_t i, const rlt_exposed *e, rlt_jw *w);
/* Writes "collectives": [...]. Those that differ only in when they take place are one row, that of the first,
 * with "count" and "members", the ranks that take part in one of them. */
int rlt_run_collectives_json(const rlt_run *r, const rlt_exposed *e, rlt_jw *w, rlt_error *err) RLT_MUST_USE;
/* Writes the page of a run (tools/report/) with all results. */
int rlt_run_report(const rlt_run *r, const rlt_run_asked *s, const char *path, rlt_error *err) RLT_MUST_USE;
int rlt_run_json(const rlt_run *r, const rlt_run_asked *s, const char *path, rlt_error *err) RLT_MUST_USE;
/* Draws the busiest links over time as SVG, at least one of each dimension that carried something.
 * rlt_plot_check refuses, before the run, options that exclude a plot: RLT_EUSAGE. */
int rlt_run_plot(const rlt_run *r, const char *path, rlt_error *err) RLT_MUST_USE;
int rlt_plot_check(const rlt_run_asked *s, rlt_error *err) RLT_MUST_USE;
extern const rlt_command rlt_run_stragglers; /* ringlet run stragglers */

/* Writes one row a rank. */
int rlt_run_csv(const rlt_run *r, FILE *out, rlt_error *err) RLT_MUST_USE;
/* Causes of the time (workload/replay/causes.h): lines on the rank that ends last, and on levers; a table;
 * figures of that rank, written into an open object; the table, likewise. */
void rlt_run_causes_line(const rlt_run *r, FILE *out);
void rlt_run_causes_table(const rlt_run *r, FILE *out);
void rlt_run_causes_totals(const rlt_run *r, rlt_jw *w);
void rlt_run_causes_json(const rlt_run *r, rlt_jw *w);
/* The certificate of the trace (workload/replay/whatif/): a line, and an object. Nothing for a run without
 * recorded times. */
int rlt_run_certificate_line(const rlt_run *r, FILE *out, rlt_error *err) RLT_MUST_USE;
int rlt_run_certificate_json(const rlt_run *r, rlt_jw *w, rlt_error *err) RLT_MUST_USE;
/* Estimates of other speeds, with bounds: lines, and an array. */
int rlt_run_what_if_table(const rlt_run *r, FILE *out, rlt_error *err) RLT_MUST_USE;
int rlt_run_what_if_json(const rlt_run *r, rlt_jw *w, rlt_error *err) RLT_MUST_USE;
/* Prints what bounds the run, for people, from the critical path. */
int rlt_run_explain(const rlt_run *r, FILE *out, rlt_error *err) RLT_MUST_USE;
/* Writes the same as an object "explain" into an open object. */
int rlt_run_explain_json(const rlt_run *r, rlt_jw *w, rlt_error *err) RLT_MUST_USE;
/* Writes Chrome trace JSON, which Perfetto opens. */
int rlt_run_timeline(const rlt_run *r, const char *path, rlt_error *err) RLT_MUST_USE;

/* Prints the work of aggregating switches; nothing if no reactive protocol ran. */
void rlt_run_react_table(const rlt_run *r, FILE *out);
/* Writes "in_network": {...} into an open object. */
void rlt_run_react_json(const rlt_run *r, rlt_jw *w);

/* `--strategy daso`: a whole training by DASO and by Horovod, and the time saved. */
int rlt_run_daso(const rlt_parsed *args, const rlt_run_asked *s, rlt_error *err) RLT_MUST_USE;
/* Plots it as SVG. */
int rlt_daso_plot(const rlt_daso *d, const rlt_daso_result *x, const char *title, const char *path,
                  rlt_error *err) RLT_MUST_USE;

void rlt_mapping_table(const rlt_run *r, FILE *out);
void rlt_mapping_json(const rlt_run *r, rlt_jw *w);

void rlt_run_training_table(const rlt_run *r, FILE *out);

/* Writes "training": {...} into an open object. */
int rlt_run_training_json(const rlt_run *r, rlt_jw *w, rlt_error *err) RLT_MUST_USE;

/* Memory of a training's ranks over time (workload/training/memory_time.h). It is unknown for other runs and
 * for programs that --rescale changed. */
/* Refuses options that --memory-csv excludes. RLT_EUSAGE. */
int rlt_memory_check(const rlt_run_asked *s, rlt_error *err) RLT_MUST_USE;
/* Writes "memory_curves": [{stage, rank, every, steps[] time_ps, bytes, ...}] into an open object, for the
 * first rank of each stage. A step is the maximum of `every` neighbouring ones. */
int rlt_run_memory_curves(const rlt_run *r, rlt_jw *w, rlt_error *err) RLT_MUST_USE;
/* Writes one row a change. */
int rlt_run_memory_csv(const rlt_run *r, const char *path, rlt_error *err) RLT_MUST_USE;
/* Writes a counter for each rank after the other events of a timeline. Adds the number of events left out to
 * *dropped. */
int rlt_run_memory_counters(const rlt_run *r, FILE *out, uint64_t *dropped, rlt_error *err) RLT_MUST_USE;
/* Writes "memory": [...] into an open object, for the first rank of each stage. */
int rlt_run_memory_json(const rlt_run *r, rlt_jw *w, rlt_error *err) RLT_MUST_USE;

/* Prints the end of each job and the background traffic; nothing if there was neither. */
int rlt_jobs_table(const rlt_run *r, FILE *out, rlt_error *err) RLT_MUST_USE;
int rlt_jobs_json(const rlt_run *r, rlt_jw *w, rlt_error *err) RLT_MUST_USE;
/* Prints the effect of failures on a training of many such iterations; nothing if --failures was not
 * given. */
void rlt_failures_table(const rlt_run *r, FILE *out);
void rlt_failures_json(const rlt_run *r, rlt_jw *w);
/* Says what became of each --link-event: a line, and an array. */
void rlt_link_events_table(const rlt_run *r, FILE *out);
void rlt_link_events_json(const rlt_run *r, rlt_jw *w);
/* Names the packets to lose (--set lose) that their links never carried. */
int rlt_unlost_table(const rlt_run *r, FILE *out, rlt_error *err) RLT_MUST_USE;

#endif
