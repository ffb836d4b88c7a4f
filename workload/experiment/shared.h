/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inputs that experiments share: topologies with their placements, and workloads. Each is loaded once, on the
 * thread that prepares (igraph is called there alone), and never changed afterwards; a bounded number is kept
 * beyond what is in use. Only what loaded is kept: an error is that of the experiment that asked.
 */
#ifndef RLT_WORKLOAD_EXPERIMENT_SHARED_H
#define RLT_WORKLOAD_EXPERIMENT_SHARED_H

#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/options.h"
#include "sim/text/tree.h"
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

typedef struct rlt_shared {
    rlt_kept_all nets, works;
    /* Told of every input that was read; may be NULL. */
    int (*note)(void *ctx, const char *what, const char *path, uint64_t hash, rlt_error *err);
    void *ctx;
} rlt_shared;

/* By options, of which `texts` are those of an experiment. The net enters itself in `sim`. */
int rlt_shared_net_of(rlt_shared *s, const rlt_option_group *groups, const rlt_option_texts *texts,
                      rlt_settings *sim, rlt_shared_net **out, rlt_error *err) RLT_MUST_USE;
/* *out NULL: this workload is not one that is shared. */
int rlt_shared_work_of(rlt_shared *s, const rlt_option_texts *texts, const rlt_parsed *parsed,
                       const rlt_run_settings *settings, const rlt_shared_net *net, rlt_shared_work **out,
                       rlt_error *err) RLT_MUST_USE;
/* Finds the cuts that bounds ask for, so that no worker has to: igraph does. */
int rlt_shared_prime(rlt_shared_net *net, const rlt_shared_work *work, rlt_error *err) RLT_MUST_USE;
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

/* Hash of the texts of those options that `names` (NULL-terminated) has, or of all others. */
void rlt_option_key(const rlt_option_group *groups, const rlt_option_texts *texts, const char *const *names,
                    bool others, uint64_t key[2]);
/* Whether an option says what the network is, or what the workload is. */
bool rlt_shared_is_of_net(const char *option);
bool rlt_shared_is_of_work(const char *option);

/* A part of rlt_shared_free; internal. */
void rlt__shared_works_free(rlt_shared *s);

#endif
