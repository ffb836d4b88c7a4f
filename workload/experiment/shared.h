/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inputs that experiments share: topologies with their placements, workloads, and what collectives read from
 * files. Each is loaded once, on the thread that prepares (igraph is called there alone), and never changed
 * afterwards; a bounded number is kept beyond what is in use. Only what loaded is kept: an error is that of
 * the experiment that asked.
 */
#ifndef RLT_WORKLOAD_EXPERIMENT_SHARED_H
#define RLT_WORKLOAD_EXPERIMENT_SHARED_H

#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/options.h"
#include "sim/text/tree.h"
#include "sim/watch.h"
#include "workload/experiment/coll/coll.h"
#include "workload/experiment/figures.h"
#include "workload/experiment/kept.h"
#include "workload/experiment/run/run.h"
#include "workload/setup/inputs.h"
#include "workload/setup/settings.h"

typedef struct rlt_shared_net {
    rlt_kept kept;
    rlt_topology *topology;
    rlt_placement placement;
    bool placed;
    rlt_map *primed; /* workloads whose bounds the topology knows */
} rlt_shared_net;

typedef struct rlt_shared_work {
    rlt_kept kept;
    rlt_run stem;
    rlt_placement pinned; /* by --map; its n is 0 without */
} rlt_shared_work;

typedef struct rlt_shared_files {
    rlt_kept kept;
    rlt_coll_files files;
} rlt_shared_files;

typedef struct rlt_shared {
    rlt_kept_all nets, works, files;
    /* Told of every input that was read; may be NULL. */
    int (*note)(void *ctx, const char *what, const char *path, uint64_t hash, rlt_error *err);
    void *ctx;
} rlt_shared;

typedef enum rlt_experiment_kind {
    RLT_EXPERIMENT_RUN,  /* settings begin with rlt_run_settings */
    RLT_EXPERIMENT_COLL, /* with rlt_coll_settings */
} rlt_experiment_kind;

/* An experiment, and what it takes of the inputs. The caller's are first; they outlive it. */
typedef struct rlt_prepared {
    rlt_experiment_kind kind;
    const rlt_option_texts *texts; /* of the options */
    const rlt_parsed *parsed;
    void *settings;
    rlt_shared_net *net;     /* from here on NULL: it has none that is shared */
    rlt_shared_work *work;   /* of a run */
    rlt_shared_files *files; /* of a collective */
} rlt_prepared;
/* The part of its settings that says where and how. */
rlt_settings *rlt_prepared_sim(const rlt_prepared *p);

/* The net enters itself in the settings. */
int rlt_shared_net_of(rlt_shared *s, rlt_prepared *p, rlt_error *err) RLT_MUST_USE;
/* The workload of a run, with its net; NULL: this workload is not one that is shared. */
int rlt_shared_work_of(rlt_shared *s, rlt_prepared *p, rlt_error *err) RLT_MUST_USE;
/* The files of a collective, with its net, entered in its settings; NULL: it reads none. */
int rlt_shared_files_of(rlt_shared *s, rlt_prepared *p, rlt_error *err) RLT_MUST_USE;
/* Finds the cuts that bounds ask for, so that no worker has to: igraph does. */
int rlt_shared_prime(rlt_shared_net *net, const rlt_shared_work *work, rlt_error *err) RLT_MUST_USE;
int rlt_shared_prime_coll(rlt_prepared *p, rlt_error *err) RLT_MUST_USE;
/* What is wrong with settings of a collective for which all was loaded and found before. */
int rlt_shared_check_coll(const rlt_prepared *p, rlt_error *err) RLT_MUST_USE;
/* Whether `key` was entered before; it is from now on. */
int rlt_shared_primed(rlt_shared_net *net, uint64_t key, bool *known, rlt_error *err) RLT_MUST_USE;
/* Tells of what was read, but for the topology, which is told of where it is loaded. */
int rlt_shared_note(rlt_shared *s, const rlt_inputs *in, rlt_error *err) RLT_MUST_USE;
void rlt_shared_free(rlt_shared *s);

/* A whole run of a workload that is shared (NULL: it loads its own), on any thread, from struct with args,
 * settings and watch to its checked end, or to its own limit of time. To be ended in every case. */
int rlt_shared_run(const rlt_shared_work *work, rlt_run *r, rlt_error *err) RLT_MUST_USE;
void rlt_shared_run_end(const rlt_shared_work *work, rlt_run *r);
/* What it yields, in the columns of figures.h, with links as asked for. */
int rlt_run_figures(const rlt_run *r, rlt_figure_links links, rlt_outcome *out, rlt_error *err) RLT_MUST_USE;

/* One collective of one size by one algorithm, from settings to figures, on any thread. */
int rlt_shared_coll(const rlt_prepared *p, const rlt_watch *watch, rlt_figure_links links, rlt_outcome *out,
                    rlt_error *err) RLT_MUST_USE;

/* Hash of the texts of those options that `names` (NULL-terminated) has, or of all others. */
void rlt_option_key(const rlt_option_group *groups, const rlt_option_texts *texts, const char *const *names,
                    bool others, uint64_t key[2]);
/* Whether an option says what the network is, what the workload is, or which files there are. */
bool rlt_shared_is_of_net(const char *option);
bool rlt_shared_is_of_work(const char *option);
bool rlt_shared_is_of_files(const char *option);

/* A part of rlt_shared_free; internal. */
void rlt__shared_works_free(rlt_shared *s);
void rlt__shared_files_free(rlt_shared *s);

#endif
