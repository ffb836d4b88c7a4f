/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What `ringlet run` writes of a run that has ended or was stopped: tables, JSON, CSV, pages, pictures.
 * Functions named _json write into an open object.
 */
#ifndef RLT_TOOLS_RUN_REPORT_H
#define RLT_TOOLS_RUN_REPORT_H

#include <stdio.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "tools/base/command.h"
#include "tools/output/report_options.h"
#include "workload/daso/daso.h"
#include "workload/experiment/run/exposed.h"
#include "workload/experiment/run/run.h"
#include "workload/setup/settings.h"

/* What the command was asked for. The run's settings stand first: sweeps read them there. */
typedef struct rlt_run_asked {
    rlt_run_settings run;
    rlt_report_settings report;
    const char *memory_csv, *timeline, *page, *plot;
    bool compare, explain, quiet;
} rlt_run_asked;

/* Two runs side by side. */
int rlt_run_compare(const rlt_parsed *args, const rlt_run_asked *s, rlt_error *err) RLT_MUST_USE;
/* "+1.2 ms": what b takes beside a. */
char *rlt_format_difference(char *buffer, size_t size, rlt_time a, rlt_time b);

/* `--timing loggops`: a GOAL file by LogGOPSim's cost model; no topology, no replay. */
int rlt_run_loggops(const rlt_parsed *args, const rlt_run_asked *s, rlt_error *err) RLT_MUST_USE;

int rlt_run_table(const rlt_run *r, const rlt_run_asked *s, FILE *out, rlt_error *err) RLT_MUST_USE;
/* The members of the JSON result into a writer, whose top object is left open; `full` false: for a page, with
 * what bounds the run and without series. The writer is to be freed in every case. */
int rlt_run_document(const rlt_run *r, const rlt_run_asked *s, bool full, rlt_jw *w,
                     rlt_error *err) RLT_MUST_USE;
/* The page of a run (tools/report/) with all that a finished run knows. */
int rlt_run_report(const rlt_run *r, const rlt_run_asked *s, const char *path, rlt_error *err) RLT_MUST_USE;
int rlt_run_json(const rlt_run *r, const rlt_run_asked *s, const char *path, rlt_error *err) RLT_MUST_USE;
/* The busiest links over time as SVG, at least one of each dimension that carried something; and, before the
 * run, what does not go with it. RLT_EUSAGE. */
int rlt_run_plot(const rlt_run *r, const char *path, rlt_error *err) RLT_MUST_USE;
int rlt_plot_check(const rlt_run_asked *s, rlt_error *err) RLT_MUST_USE;
extern const rlt_command rlt_run_stragglers; /* ringlet run stragglers */

/* One row a rank. */
int rlt_run_csv(const rlt_run *r, FILE *out, rlt_error *err) RLT_MUST_USE;
/* What bounds the run, for people, from the critical path. */
int rlt_run_explain(const rlt_run *r, FILE *out, rlt_error *err) RLT_MUST_USE;
/* The same as an object "explain" inside an open JSON object. */
int rlt_run_explain_json(const rlt_run *r, rlt_jw *w, rlt_error *err) RLT_MUST_USE;
/* Chrome/Perfetto JSON. */
int rlt_run_timeline(const rlt_run *r, const char *path, rlt_error *err) RLT_MUST_USE;

/* What switches that add up did: nothing where no protocol reacts. */
void rlt_run_react_table(const rlt_run *r, FILE *out);
/* "in_network": {...} into an open object. */
void rlt_run_react_json(const rlt_run *r, rlt_jw *w);

/* `--strategy daso`: a whole training by DASO and by Horovod, and what the one saves. */
int rlt_run_daso(const rlt_parsed *args, const rlt_run_asked *s, rlt_error *err) RLT_MUST_USE;
/* Its picture, as SVG. */
int rlt_daso_plot(const rlt_daso *d, const rlt_daso_result *x, const char *title, const char *path,
                  rlt_error *err) RLT_MUST_USE;

void rlt_mapping_table(const rlt_run *r, FILE *out);
void rlt_mapping_json(const rlt_run *r, rlt_jw *w);

void rlt_run_training_table(const rlt_run *r, FILE *out);

/* "training": {...} into an open object. */
int rlt_run_training_json(const rlt_run *r, rlt_jw *w, rlt_error *err) RLT_MUST_USE;

/* What a training's ranks hold over time (workload/training/memory_time.h); of other runs, and of programs
 * that --rescale changed, nothing is known. */
/* What does not go with --memory-csv. RLT_EUSAGE. */
int rlt_memory_check(const rlt_run_asked *s, rlt_error *err) RLT_MUST_USE;
/* "memory_curves": [{stage, rank, every, steps[] time_ps, bytes, ...}] into an open object, of the first rank
 * of each stage; of `every` neighbours the highest. */
int rlt_run_memory_curves(const rlt_run *r, rlt_jw *w, rlt_error *err) RLT_MUST_USE;
/* One row a change. */
int rlt_run_memory_csv(const rlt_run *r, const char *path, rlt_error *err) RLT_MUST_USE;
/* A counter of each rank, behind other events of a timeline; adds up what was left out. */
int rlt_run_memory_counters(const rlt_run *r, FILE *out, uint64_t *dropped, rlt_error *err) RLT_MUST_USE;
/* "memory": [...], of the first rank of each stage, into an open object. */
int rlt_run_memory_json(const rlt_run *r, rlt_jw *w, rlt_error *err) RLT_MUST_USE;

/* When each job ended, and what background traffic there was; nothing where there was none. */
int rlt_jobs_table(const rlt_run *r, FILE *out, rlt_error *err) RLT_MUST_USE;
int rlt_jobs_json(const rlt_run *r, rlt_jw *w, rlt_error *err) RLT_MUST_USE;
/* What failures make of a training run of so many iterations like these; nothing where none was asked for. */
void rlt_failures_table(const rlt_run *r, FILE *out);
void rlt_failures_json(const rlt_run *r, rlt_jw *w);

#endif
