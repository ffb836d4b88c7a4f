/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One collective of one size by one algorithm, with the options of `ringlet coll` and without its table. */
#ifndef RLT_TOOLS_COLL_SINGLE_H
#define RLT_TOOLS_COLL_SINGLE_H

#include "collectives/listed.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/watch.h"
#include "tools/base/pool.h"
#include "tools/coll/coll.h"
#include "tools/coll/react.h"
#include "tools/coll/row.h"
#include "workload/setup/inputs.h"
#include "workload/setup/settings.h"

typedef struct rlt_coll_single {
    rlt_coll_run run;    /* of steps; or */
    rlt_react_run react; /* of a protocol that reacts: its fabric is there */
    rlt_coll_row row;
    const rlt_topology *topology;
    const rlt_usage *usage;
} rlt_coll_single;

/* What it reads from files beside the topology. */
typedef struct rlt_coll_files {
    rlt_listed *plans;
    uint32_t n_plans;
    uint64_t *counts;
    struct rlt_skew *updates;
    rlt_inputs inputs;
} rlt_coll_files;
/* As the settings say; the struct is to be freed in any case. */
int rlt_coll_files_load(const rlt_parsed *args, void *settings, rlt_coll_files *out,
                        rlt_error *err) RLT_MUST_USE;
void rlt_coll_files_free(rlt_coll_files *files);
/* In place of reading them; borrowed, and not changed. */
void rlt_coll_lend(void *settings, rlt_coll_files *files);

/* `settings` are those of the command, filled; they may bring a loaded topology along (rlt_settings.loaded).
 * `take` sees the result before it is freed. */
int rlt_coll_single_run(const rlt_parsed *args, void *settings, const rlt_watch *watch,
                        int (*take)(void *ctx, const rlt_coll_single *one, rlt_error *err), void *ctx,
                        rlt_error *err) RLT_MUST_USE;
/* Finds the cuts that its bound asks for, which the topology then knows. */
int rlt_coll_prime(const rlt_parsed *args, void *settings, rlt_error *err) RLT_MUST_USE;
/* The part of the settings that says where and how. */
rlt_settings *rlt_coll_settings_sim(void *settings);

#endif
