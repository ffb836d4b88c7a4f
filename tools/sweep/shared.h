/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inputs that points of a sweep share: topologies with their placements, workloads, and what collectives read
 * from files. Each is loaded once,
 * on the thread that prepares, and never changed afterwards; a bounded number is kept beyond what is in use.
 * Only what loaded is kept: an error is that of the point that asked.
 */
#ifndef RLT_TOOLS_SWEEP_SHARED_H
#define RLT_TOOLS_SWEEP_SHARED_H

#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/options.h"
#include "tools/base/tree.h"
#include "tools/coll/single.h"
#include "tools/output/manifest.h"
#include "tools/run/run.h"
#include "tools/settings/settings.h"
#include "tools/sweep/store/kept.h"
#include "tools/sweep/study/study.h"

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

/* By options, of which `texts` are those of a point. The net enters itself in `sim`. */
int rlt_shared_net_of(rlt_shared *s, const rlt_option_group *groups, const rlt_option_texts *texts,
                      rlt_settings *sim, rlt_shared_net **out, rlt_error *err) RLT_MUST_USE;
/* *out NULL: this workload is not one that is shared. */
int rlt_shared_work_of(rlt_shared *s, const rlt_option_texts *texts, const rlt_parsed *parsed,
                       const rlt_run_settings *settings, const rlt_shared_net *net, rlt_shared_work **out,
                       rlt_error *err) RLT_MUST_USE;
/* Into a loaded run whose stem the workload is: what it takes beside the program, borrowed until it is
 * returned, just before the run is closed. */
void rlt_shared_lend(const rlt_shared_work *work, rlt_run *r);
void rlt_shared_return(rlt_run *r);
/* Finds the cuts that bounds ask for, so that no worker has to: igraph does. */
int rlt_shared_prime(rlt_shared_net *net, const rlt_shared_work *work, rlt_error *err) RLT_MUST_USE;
/* Whether `key` was entered before; it is from now on. */
int rlt_shared_primed(rlt_shared_net *net, uint64_t key, bool *known, rlt_error *err) RLT_MUST_USE;
/* Those of a point of `coll`, entered in its settings. *out NULL: it reads none. */
int rlt_shared_files_of(rlt_shared *s, const rlt_option_texts *texts, const rlt_parsed *parsed,
                        void *settings, const rlt_shared_net *net, rlt_shared_files **out,
                        rlt_error *err) RLT_MUST_USE;
void rlt_shared_free(rlt_shared *s);

/* Hash of the texts of those options that `names` (NULL-terminated) has, or of all others. */
void rlt_option_key(const rlt_option_group *groups, const rlt_option_texts *texts, const char *const *names,
                    bool others, uint64_t key[2]);

/* Whether points of the study differ in what a kind of input is made from. */
bool rlt_shared_net_varies(const rlt_sweep_study *s);
bool rlt_shared_work_varies(const rlt_sweep_study *s);
bool rlt_shared_files_vary(const rlt_sweep_study *s);
bool rlt__option_varies(const rlt_sweep_study *s, const char *const *names, bool others);

/* Tells of what was read, but for the topology, which is told of where it is loaded; internal. */
int rlt__shared_note(rlt_shared *s, const rlt_inputs *in, rlt_error *err) RLT_MUST_USE;
/* Of rlt_shared_free; internal. */
void rlt__shared_works_free(rlt_shared *s);
void rlt__shared_files_free(rlt_shared *s);

#endif
