/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inputs that experiments share: topologies with their placements, workloads, and files of collectives. Each
 * is loaded once, on the thread that prepares (the only one that calls igraph), and never changed afterwards.
 * A bounded number is kept beyond those in use. Failures are not kept: an error belongs to the experiment
 * that asked.
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
    rlt_map *primed; /* workloads whose cuts the topology knows */
} rlt_shared_net;

typedef struct rlt_shared_work {
    rlt_kept kept;
    rlt_run stem;
    rlt_placement pinned; /* placement by --map; n is 0 without */
} rlt_shared_work;

typedef struct rlt_shared_files {
    rlt_kept kept;
    rlt_coll_files files;
} rlt_shared_files;

typedef struct rlt_shared {
    rlt_kept_all nets, works, files;
    /* Called for every input that was read; may be NULL. */
    int (*note)(void *ctx, const char *what, const char *path, uint64_t hash, rlt_error *err);
    void *ctx;
} rlt_shared;

typedef enum rlt_experiment_kind {
    RLT_EXPERIMENT_RUN,  /* settings begin with rlt_run_settings */
    RLT_EXPERIMENT_COLL, /* settings begin with rlt_coll_settings */
} rlt_experiment_kind;

/* An experiment, and the shared inputs it uses. The caller sets the first fields and keeps them alive. */
typedef struct rlt_prepared {
    rlt_experiment_kind kind;
    const rlt_option_texts *texts; /* texts of the options */
    const rlt_parsed *parsed;
    void *settings;
    rlt_shared_net *net;     /* this and the following: NULL if not shared */
    rlt_shared_work *work;   /* for a run */
    rlt_shared_files *files; /* for a collective */
} rlt_prepared;
/* Returns the part of the settings that says where and how. */
rlt_settings *rlt_prepared_sim(const rlt_prepared *p);

/* Finds or loads the network, and enters it in the settings. */
int rlt_shared_net_of(rlt_shared *s, rlt_prepared *p, rlt_error *err) RLT_MUST_USE;
/* Finds or loads the workload of a run; needs its net. p->work NULL: workloads of this kind are not
 * shared. */
int rlt_shared_work_of(rlt_shared *s, rlt_prepared *p, rlt_error *err) RLT_MUST_USE;
/* Finds or loads the files of a collective and enters them in its settings; needs its net. p->files NULL: it
 * reads none. */
int rlt_shared_files_of(rlt_shared *s, rlt_prepared *p, rlt_error *err) RLT_MUST_USE;
/* Find the cuts that bounds need, so that no worker calls igraph. */
int rlt_shared_prime(rlt_shared_net *net, const rlt_shared_work *work, rlt_error *err) RLT_MUST_USE;
int rlt_shared_prime_coll(rlt_prepared *p, rlt_error *err) RLT_MUST_USE;
/* Checks the settings of a collective if the cache had all of its inputs. */
int rlt_shared_check_coll(const rlt_prepared *p, rlt_error *err) RLT_MUST_USE;
/* Tells whether `key` was entered before, and enters it. */
int rlt_shared_primed(rlt_shared_net *net, uint64_t key, bool *known, rlt_error *err) RLT_MUST_USE;
/* Reports inputs that were read, except the topology, which is reported when it is loaded. */
int rlt_shared_note(rlt_shared *s, const rlt_inputs *in, rlt_error *err) RLT_MUST_USE;
/* Returns true if workloads in use leave room for another one that no thread needs yet. */
bool rlt_shared_has_room(const rlt_shared *s);
void rlt_shared_free(rlt_shared *s);

/* Runs a shared workload (NULL: the run loads its own) on any thread, from a struct with args, settings and
 * watch to its checked end or to its own limit of time. End it in every case. */
int rlt_shared_run(const rlt_shared_work *work, rlt_run *r, rlt_error *err) RLT_MUST_USE;
void rlt_shared_run_end(const rlt_shared_work *work, rlt_run *r);
/* Fills the figures of a run, with the links asked for. */
int rlt_run_figures(const rlt_run *r, rlt_figure_links links, rlt_outcome *out, rlt_error *err) RLT_MUST_USE;

/* Runs one collective of one size by one algorithm, from settings to figures, on any thread. */
int rlt_shared_coll(const rlt_prepared *p, const rlt_watch *watch, rlt_figure_links links, rlt_outcome *out,
                    rlt_error *err) RLT_MUST_USE;

/* Hashes the texts of the options in `names` (NULL-terminated), or of all `others`. */
void rlt_option_key(const rlt_option_group *groups, const rlt_option_texts *texts, const char *const *names,
                    bool others, uint64_t key[2]);
/* Tell whether an option determines the network, the workload, or the files of a collective. */
bool rlt_shared_is_of_net(const char *option);
bool rlt_shared_is_of_work(const char *option);
bool rlt_shared_is_of_files(const char *option);

/* Internal to workload/experiment/shared*.c. Adds bytes to both halves of a key. */
void rlt__key_add(uint64_t key[2], const void *data, size_t length);
/* Parts of rlt_shared_free; internal. */
void rlt__shared_works_free(rlt_shared *s);
void rlt__shared_files_free(rlt_shared *s);

#endif
