/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A run from its settings to its end: a workload loaded, prepared, replayed over a network and checked.
 * Nothing is printed.
 *
 * This header holds all data of a run. The functions are in headers of their own: workload.h and training.h
 * (what runs), mapping.h (where), jobs.h (what else runs), faults.h (disturbances), daso.h (many runs as one
 * training), result.h and exposed.h (results beside the replay).
 */
#ifndef RLT_WORKLOAD_EXPERIMENT_RUN_RUN_H
#define RLT_WORKLOAD_EXPERIMENT_RUN_RUN_H

#include "collectives/collective.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "sim/watch.h"
#include "workload/daso/daso.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/replay/background.h"
#include "workload/replay/causes.h"
#include "workload/replay/failures.h"
#include "workload/replay/noise.h"
#include "workload/replay/replay.h"
#include "workload/setup/settings.h"
#include "workload/setup/trace_options.h"
#include "workload/timing/timing.h"
#include "workload/training/memory_time.h"
#include "workload/training/passes.h"
#include "workload/training/training.h"

/* Settings of changing links, noise and failures: see faults.h. */
typedef struct rlt_fault_settings {
    rlt_texts link_event, noise;
    const char *failures;
    uint64_t seed, iterations;
} rlt_fault_settings;

/* Settings of other jobs and background traffic: see jobs.h. */
typedef struct rlt_job_settings {
    rlt_texts job, background;
    bool alone;
} rlt_job_settings;

typedef struct rlt_run_settings {
    rlt_settings sim;
    rlt_trace_settings recording;
    rlt_fault_settings faults;
    rlt_job_settings jobs;
    rlt_texts trace, rank_scale, rank_delay;
    const char *accelerator, *layout, *map, *train, *strategy;
    bool any_memory, fold, fold_stages, verify_fold, no_skew, keep_waits;
    const char *model, *timing, *astra_system, *algorithm;
    double host_scale, compute_scale, network_scale, overlap_slowdown;
    rlt_time until_ps, series_ps;
} rlt_run_settings;
extern const rlt_option rlt_what_if_options[]; /* offsets are in rlt_run_settings */

/* Disturbances of a run, as loaded. */
typedef struct rlt_faults {
    rlt_link_event *link_events;
    rlt_noise *noise;
    uint32_t n_link_events, n_noise;
    rlt_failures failures;
    bool fails; /* failures were asked for */
} rlt_faults;

/* Several jobs on one network, and background traffic, as loaded. */
typedef struct rlt_jobs {
    uint32_t n;               /* jobs; 0: only the command's own workload */
    bool own;                 /* the first one is the command's own */
    uint32_t *first_rank;     /* n + 1 entries */
    char **names;             /* names of the other jobs */
    double *overlap_slowdown; /* by rank */
    rlt_program **parts;      /* with --alone: programs of the jobs */
    rlt_time *alone_ps;       /* with --alone: end of each job alone; NULL: unknown */
    rlt_background *background;
    uint32_t n_background;
    rlt_placement placement; /* of all ranks; n is 0 if the setup's placement holds */
} rlt_jobs;

/* Orders of a layout's axes that order=auto tried, the fastest first; n is 0 without it. */
typedef struct rlt_tried_order {
    rlt_axis order[RLT_AXES_OF_LAYOUT];
    rlt_time time_ps; /* per iteration */
} rlt_tried_order;
typedef struct rlt_mapping {
    uint32_t n;
    rlt_tried_order tried[24];
    bool folded;
} rlt_mapping;

typedef struct rlt_run {
    const rlt_parsed *args;
    const rlt_run_settings *settings;
    const rlt_watch *watch; /* NULL: never stopped */
    /* A loaded run whose workload this run uses; borrowed and not changed, so that threads may share it.
     * NULL: the workload is this run's own. */
    const struct rlt_run *stem;
    rlt_setup setup;
    rlt_program *program;
    rlt_replay_options options;
    rlt_replay *replay;
    rlt_rank_causes *causes; /* by rank; NULL before the run */
    rlt_timing *timing;
    bool trains; /* the workload is a model in a layout: */
    rlt_model trained;
    rlt_accelerator accelerator;
    rlt_training training;
    rlt_mapping mapping;
    rlt_training_passes passes;
    uint32_t folds;                     /* folded axes of the layout (rlt_training_fold), or 0 */
    rlt_time series_ps;                 /* bins of links, if the settings have none */
    double *host_scale, *compute_scale; /* by rank, or NULL */
    rlt_time *delay_ps;
    rlt_algorithm_rule *rules;
    rlt_faults faults;
    rlt_jobs jobs;
    bool unbounded;     /* leaves bounds of collectives at 0 (rlt_replay_options.no_bounds) */
    bool partial;       /* stopped before its end */
    uint32_t last_rank; /* the rank that ends last; totals are its own */
} rlt_run;

/* A run in steps, on a zeroed struct with args and settings. Load reads topology and workload; a topology in
 * the settings, or a stem, is borrowed. Prepare creates the replay; set series_ps before it. Simulate returns
 * RLT_ECANCELLED and sets partial if the run was stopped. Check verifies all accounts of a run that came to
 * its end (*over, may be NULL: see rlt_accounts_check). Close frees in every case. */
int rlt_run_load(rlt_run *r, rlt_error *err) RLT_MUST_USE;
int rlt_run_prepare(rlt_run *r, rlt_error *err) RLT_MUST_USE;
int rlt_run_simulate(rlt_run *r, rlt_error *err) RLT_MUST_USE;
struct rlt_busiest;
int rlt_run_check(const rlt_run *r, struct rlt_busiest *over, rlt_error *err) RLT_MUST_USE;
void rlt_run_close(rlt_run *r);
/* Returns true if a simulation that ended with `rc` was stopped by the settings' own limit of time. */
bool rlt_run_was_limited(const rlt_run *r, int rc);

/* Reads --rank-scale for n ranks into host_scale and compute_scale, which stay NULL without it. */
int rlt_run_rank_scales(rlt_run *r, uint32_t n, rlt_error *err) RLT_MUST_USE;
/* Fills r->options with the network of the setup. */
int rlt_run_network(rlt_run *r, rlt_error *err) RLT_MUST_USE;

#endif
