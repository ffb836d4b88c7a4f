/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `ringlet run`, in parts: cmd_run.c reads the options; load.c loads and replays; table.c,
 * json.c, links.c, react.c, memory.c, timeline.c and explain.c report the finished
 * (or stopped) replay.
 */
#ifndef RLT_TOOLS_RUN_RUN_H
#define RLT_TOOLS_RUN_RUN_H

#include "tools/base/file.h"
#include "tools/base/pool.h"
#include "tools/output/links.h"
#include "tools/run/faults.h"
#include "tools/run/jobs.h"
#include "tools/settings/settings.h"
#include "tools/settings/trace_options.h"
#include "workload/daso/daso.h"
#include "workload/models/generator.h"
#include "workload/program/reader.h"
#include "workload/replay/replay.h"
#include "workload/training/memory_time.h"
#include "workload/training/training.h"

typedef struct rlt_run_settings {
    rlt_settings sim;
    rlt_report_settings report;
    rlt_trace_settings recording;
    rlt_fault_settings faults;
    rlt_job_settings jobs;
    rlt_texts trace, rank_scale, rank_delay;
    const char *accelerator, *layout, *map, *train, *strategy;
    const char *memory_csv;
    bool any_memory, fold, fold_stages, compare;
    const char *model, *timing, *astra_system, *algorithm, *timeline, *page, *plot;
    double host_scale, compute_scale, network_scale, overlap_slowdown;
    bool no_skew, keep_waits, explain, quiet;
    rlt_time until_ps;
} rlt_run_settings;

/* Orders of a layout's axes that were tried for order=auto, the fastest first; n is 0 without. */
typedef struct rlt_tried_order {
    rlt_axis order[RLT_AXES_OF_LAYOUT];
    rlt_time time_ps; /* of an iteration */
} rlt_tried_order;
typedef struct rlt_mapping {
    uint32_t n;
    rlt_tried_order tried[24];
    bool folded;
} rlt_mapping;

typedef struct rlt_run {
    const rlt_parsed *args;
    const rlt_run_settings *settings;
    /* A loaded run whose workload is this one's, too: borrowed, and not changed, so that threads may share
     * it. NULL: the workload is its own. */
    const struct rlt_run *stem;
    rlt_setup setup;
    rlt_program *program;
    rlt_replay_options options;
    rlt_replay *replay;
    rlt_timing *timing;
    bool trains; /* a model in a layout: */
    rlt_model trained;
    rlt_accelerator accelerator;
    rlt_training training;
    rlt_mapping mapping;
    rlt_training_passes passes;
    uint32_t folds;                     /* axes of the layout (rlt_training_fold), or 0 */
    double *host_scale, *compute_scale; /* per rank, or NULL */
    rlt_time *delay_ps;
    rlt_algorithm_rule *rules;
    rlt_faults faults;
    rlt_jobs jobs;
    bool unbounded;     /* bounds of collectives stay 0 (rlt_replay_options) */
    bool partial;       /* stopped before its end */
    uint32_t last_rank; /* the one that ends last: totals are its own */
} rlt_run;

/* A run in steps, on a struct with args and settings, and zeros. Load: topology and workload; a topology that
 * the settings bring along, or a stem, is borrowed. Prepare: the replay. Simulate: under a job it is watched
 * by that job's pool, else by Ctrl-C and a progress bar. Check: every account that must balance, for a run
 * that came to its end. Close frees what is there, in every case. */
int rlt_run_load(rlt_run *r, rlt_error *err) RLT_MUST_USE;
int rlt_run_prepare(rlt_run *r, rlt_error *err) RLT_MUST_USE;
int rlt_run_simulate(rlt_run *r, rlt_task *job, rlt_error *err) RLT_MUST_USE;
int rlt_run_check(const rlt_run *r, rlt_error *err) RLT_MUST_USE;
void rlt_run_close(rlt_run *r);
/* Whether what stopped the simulation was the user's own --until. */
bool rlt_run_was_limited(const rlt_run *r, int rc);

/* `--timing loggops`: a GOAL file by LogGOPSim's cost model; no topology, no replay. */
int rlt_run_loggops(const rlt_parsed *args, const rlt_run_settings *s, rlt_error *err) RLT_MUST_USE;

/* Two runs side by side. */
int rlt_run_compare(const rlt_parsed *args, const rlt_run_settings *s, rlt_error *err) RLT_MUST_USE;
/* "+1.2 ms": what b takes beside a. */
char *rlt_format_difference(char *buffer, size_t size, rlt_time a, rlt_time b);

extern const rlt_option rlt_workload_options[]; /* offsets in rlt_run_settings */
/* What of the workload's settings does not go together. RLT_EUSAGE. */
int rlt_workload_check(const rlt_run_settings *s, const char *operand, rlt_error *err) RLT_MUST_USE;
/* The recording of --trace and operands. */
int rlt_workload_trace(const rlt_run_settings *s, char *const *operands, uint32_t n_operands,
                       const rlt_read_options *o, rlt_program **out, rlt_error *err) RLT_MUST_USE;
/* A workload by the name of a model and its settings. */
int rlt_run_generate(const char *text, uint32_t ranks, rlt_program **out, rlt_error *err) RLT_MUST_USE;

/* All links folded into classes, most utilized first; `folded` false: every link its own. *classes malloc'ed;
 * none under a timing mode. */
int rlt_run_links(const rlt_run *r, bool folded, rlt_link_class **classes, uint32_t *n,
                  rlt_error *err) RLT_MUST_USE;
/* The instant at which the simulation ended: what utilization is relative to. */
rlt_time rlt_run_end(const rlt_run *r);

/* Exposed communication of each rank by the dimensions in use (of all communications under way; of a graph
 * its logical ones), which add up to the rank's exposed_comm_ps; and the dimensions of each communication. */
typedef struct rlt_exposed {
    uint32_t n;     /* sets of dimensions: 2^dimensions */
    rlt_time *ps;   /* of rank * n + a bit for each dimension; 0: none is known */
    uint32_t *dims; /* of a communication */
    bool used[1 << RLT_MAX_DIMS];
} rlt_exposed;
int rlt_run_exposed(const rlt_run *r, rlt_exposed *out, rlt_error *err) RLT_MUST_USE;
void rlt_exposed_free(rlt_exposed *e);
/* "exposed_dims": ["dim 0", "dim 0+1"], and, in its order, "exposed_by_dims_ps" of a rank; "dims" of a
 * communication; into an open object. */
void rlt_exposed_names(const rlt_exposed *e, rlt_jw *w);
void rlt_exposed_rank(const rlt_exposed *e, uint32_t rank, rlt_jw *w);
void rlt_exposed_comm(const rlt_exposed *e, uint32_t comm, rlt_jw *w);
/* The dimensions in which the members of a communication differ, a bit each; 0: not known. */
uint32_t rlt_run_comm_dims(const rlt_run *r, uint32_t comm);

int rlt_run_table(const rlt_run *r, FILE *out, rlt_error *err) RLT_MUST_USE;
/* The members of the JSON result into a writer, whose top object is left open; `full` false: for a page, with
 * what bounds the run and without series. The writer is to be freed in every case. */
int rlt_run_document(const rlt_run *r, bool full, rlt_jw *w, rlt_error *err) RLT_MUST_USE;
/* The page of a run (tools/report/) with all that a finished run knows. */
int rlt_run_report(const rlt_run *r, const char *path, rlt_error *err) RLT_MUST_USE;
int rlt_run_json(const rlt_run *r, const char *path, rlt_error *err) RLT_MUST_USE;
/* The busiest links over time as SVG, at least one of each dimension that carried something; and, before the
 * run, what does not go with it. RLT_EUSAGE. */
int rlt_run_plot(const rlt_run *r, const char *path, rlt_error *err) RLT_MUST_USE;
int rlt_plot_check(const rlt_run_settings *s, rlt_error *err) RLT_MUST_USE;
/* One row a rank. */
int rlt_run_csv(const rlt_run *r, FILE *out, rlt_error *err) RLT_MUST_USE;
/* What bounds the run, for people, from the critical path. */
int rlt_run_explain(const rlt_run *r, FILE *out, rlt_error *err) RLT_MUST_USE;
/* The same as an object "explain" inside an open JSON object. */
int rlt_run_explain_json(const rlt_run *r, rlt_jw *w, rlt_error *err) RLT_MUST_USE;
/* Chrome/Perfetto JSON. */
int rlt_run_timeline(const rlt_run *r, const char *path, rlt_error *err) RLT_MUST_USE;

/* The critical path summed up. Times of its stretches by kind add up to the end of the run. */
typedef struct rlt_path_sum {
    rlt_path_item *items; /* as rlt_replay_critical_path gives them; freed by rlt_path_sum_free */
    uint32_t n;
    rlt_time total_ps, by_kind_ps[RLT_PATH_START + 1];
    rlt_time by_coll_ps[RLT_COLL_KINDS]; /* of the transfers */
    uint32_t by_coll[RLT_COLL_KINDS];    /* how many */
} rlt_path_sum;
int rlt_run_path(const rlt_run *r, rlt_path_sum *out, rlt_error *err) RLT_MUST_USE;
void rlt_path_sum_free(rlt_path_sum *p);
/* "transfer", "compute", ... */
const char *rlt_path_name(const rlt_run *r, rlt_path_kind kind);
/* One line: what share of the run is what, and the busiest link. */
int rlt_run_verdict(const rlt_run *r, char *buffer, size_t size, rlt_error *err) RLT_MUST_USE;

/* What switches that add up did: nothing where no protocol reacts. */
void rlt_run_react_table(const rlt_run *r, FILE *out);
/* "in_network": {...} into an open object. */
void rlt_run_react_json(const rlt_run *r, rlt_jw *w);

/* Recorded time over that of the run, which is as if without stragglers; 0: neither is known. */
double rlt_run_slowdown(const rlt_run *r);

extern const rlt_option rlt_training_options[]; /* offsets in rlt_run_settings */
/* Settings as "dp=64,pp=8" into a training. RLT_EUSAGE. */
int rlt_training_apply(rlt_training *t, const char *list, const char *where, rlt_error *err) RLT_MUST_USE;
/* `--strategy daso`: a whole training by DASO and by Horovod, and what the one saves. */
bool rlt_run_is_daso(const rlt_run_settings *s);
int rlt_run_daso(const rlt_parsed *args, const rlt_run_settings *s, rlt_error *err) RLT_MUST_USE;
/* Its picture, as SVG. */
int rlt_daso_plot(const rlt_daso *d, const rlt_daso_result *x, const char *title, const char *path,
                  rlt_error *err) RLT_MUST_USE;
/* What the setup says of the network, into r->options. */
int rlt_run_network(rlt_run *r, rlt_error *err) RLT_MUST_USE;
/* --model, --accelerator, --strategy, --layout and --train as they are; free the model in every case. */
int rlt_training_read(const rlt_run_settings *s, rlt_model *m, rlt_accelerator *a, rlt_training *t,
                      rlt_error *err) RLT_MUST_USE;
/* --model on --accelerator in --layout, planned and checked for the ranks that are placed; --map places them
 * anew. The training borrows model and accelerator; free the model in every case. */
int rlt_training_open(const rlt_run_settings *s, const rlt_topology *topology, rlt_placement *where,
                      rlt_model *m, rlt_accelerator *a, rlt_training *t, rlt_error *err) RLT_MUST_USE;
/* "tp=0,pp=1,dp=2": the order of the axes, dp where it is open, and the ranks' places. RLT_EUSAGE names what
 * does not fit. */
int rlt_mapping_pin(const char *map, const rlt_topology *t, rlt_training *tr, rlt_placement *where,
                    rlt_error *err) RLT_MUST_USE;
/* Simulates every order that makes a difference, on what is placed there, and takes the fastest. `folded`:
 * one rank of each stage, as of large ones anyway. */
int rlt_mapping_choose(rlt_training *t, const rlt_replay_options *how, bool folded, rlt_mapping *m,
                       rlt_error *err) RLT_MUST_USE;
/* r->options as far as orders depend on them. */
int rlt_mapping_options(rlt_run *r, const rlt_accelerator *a, rlt_error *err) RLT_MUST_USE;
void rlt_mapping_table(const rlt_run *r, FILE *out);
void rlt_mapping_json(const rlt_run *r, rlt_jw *w);
/* Its program, into the run. */
int rlt_run_train(rlt_run *r, rlt_error *err) RLT_MUST_USE;
/* The same with ranks that do the same once (--fold, --fold-stages), placed where they are. RLT_EUSAGE where
 * something makes ranks unlike. */
int rlt_run_fold(rlt_run *r, rlt_error *err) RLT_MUST_USE;
/* One line: what was folded; nothing where nothing was. */
void rlt_run_fold_line(const rlt_run *r, FILE *out);
void rlt_run_training_table(const rlt_run *r, FILE *out);
/* Of a run that trains: bytes of the fullest stage, model FLOPs over the peak, tokens (samples) a second. */
typedef struct rlt_training_figures {
    double memory_bytes, utilization, tokens_per_s;
    uint32_t fullest;
} rlt_training_figures;
rlt_training_figures rlt_run_training_figures(const rlt_run *r);
/* "training": {...} into an open object. */
int rlt_run_training_json(const rlt_run *r, rlt_jw *w, rlt_error *err) RLT_MUST_USE;

/* What a training's ranks hold over time (workload/training/memory_time.h); of other runs, and of programs
 * that --rescale changed, nothing is known. */
/* What does not go with --memory-csv. RLT_EUSAGE. */
int rlt_memory_check(const rlt_run_settings *s, rlt_error *err) RLT_MUST_USE;
/* One row a change. */
/* "memory_curves": [{stage, rank, every, steps[] time_ps, bytes, ...}] into an open object, of the first rank
 * of each stage; of `every` neighbours the highest. */
int rlt_run_memory_curves(const rlt_run *r, rlt_jw *w, rlt_error *err) RLT_MUST_USE;
int rlt_run_memory_csv(const rlt_run *r, const char *path, rlt_error *err) RLT_MUST_USE;
/* A counter of each rank, behind other events of a timeline; adds up what was left out. */
int rlt_run_memory_counters(const rlt_run *r, FILE *out, uint64_t *dropped, rlt_error *err) RLT_MUST_USE;
/* "memory": [...], of the first rank of each stage, into an open object. */
int rlt_run_memory_json(const rlt_run *r, rlt_jw *w, rlt_error *err) RLT_MUST_USE;

/* Bandwidth that nccl-tests would print for a communication of this duration, bytes a second. */
double rlt_run_busbw(const rlt_run *r, uint32_t comm, rlt_time transfer_ps);
uint32_t rlt_run_comm_ranks(const rlt_run *r, uint32_t comm);

#endif
