/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Experiments on collectives: which kinds, sizes and algorithms the settings ask for, on which network and
 * ranks. Several of each are a list for the caller to walk through (one.h). Nothing is printed.
 *
 * Opening loads, on a thread that may call igraph; afterwards nothing changes, and threads share it.
 */
#ifndef RLT_WORKLOAD_EXPERIMENT_COLL_COLL_H
#define RLT_WORKLOAD_EXPERIMENT_COLL_COLL_H

#include <stdbool.h>
#include <stdint.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/in_network/reactive.h"
#include "collectives/listed.h"
#include "net/topology/placement.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/watch.h"
#include "workload/setup/inputs.h"
#include "workload/setup/settings.h"

/* What is read from files beside the topology. */
typedef struct rlt_coll_files {
    rlt_listed *plans;
    uint32_t n_plans;
    uint64_t *counts;
    struct rlt_skew *updates;
    rlt_inputs inputs;
} rlt_coll_files;

typedef struct rlt_coll_settings {
    rlt_settings sim;
    rlt_texts plans;
    const char *collective, *algorithm, *bytes, *group, *counts, *tenants, *dtype;
    uint64_t ranks, workers, root;
    rlt_time straggler_ps;
    bool no_fold, verify_fold, check;
    const rlt_coll_files *files; /* read already, borrowed; NULL: to be read. Not an option */
} rlt_coll_settings;
extern const rlt_option rlt_coll_options[]; /* offsets in rlt_coll_settings */

typedef struct rlt_coll_case {
    rlt_coll_kind kind;
    uint64_t bytes;
} rlt_coll_case;

/* What is asked for: each case by each algorithm, case i / n_algorithms by algorithm i % n_algorithms. */
enum { RLT_COLL_ALGORITHMS = 64 };
typedef struct rlt_coll_ask {
    const rlt_coll_settings *settings; /* this and the next two: of the caller, who fills them */
    const rlt_parsed *args;
    const rlt_watch *watch; /* while it is opened; NULL: nobody looks on */
    rlt_setup setup;
    rlt_group group, pair; /* pair: of send_recv; empty in a group of one */
    rlt_group *tenants;    /* of the group's ranks; NULL: it was not asked for tenants */
    uint32_t n_tenants;
    uint32_t root;    /* member */
    uint64_t *counts; /* of all_to_all; NULL: even */
    rlt_coll_case *cases;
    uint32_t n_cases, n_kinds, n_sizes, n_algorithms;
    const rlt_algorithm *algorithms[RLT_COLL_ALGORITHMS]; /* NULL: chosen */
    const rlt_reacting *reacting[RLT_COLL_ALGORITHMS];    /* in place of steps; NULL: steps */
    const rlt_listed *listed[RLT_COLL_ALGORITHMS];        /* of those that are plans from files */
    rlt_listed *plans;                                    /* owned, unless the settings bring files */
    uint32_t n_plans;
    bool all_algorithms;
    uint32_t element; /* bytes; 0: not said */
} rlt_coll_ask;

/* Loads and checks. Where the settings name no algorithm, it is the one that would be chosen; with `compare`
 * all, in groups of up to 64 ranks. To be closed in every case. */
int rlt_coll_open(rlt_coll_ask *ask, bool compare, rlt_error *err) RLT_MUST_USE;
/* The same for one collective of one size by one algorithm. RLT_EUSAGE: the settings ask for several. */
int rlt_coll_open_one(rlt_coll_ask *ask, rlt_error *err) RLT_MUST_USE;
void rlt_coll_close(rlt_coll_ask *ask);

/* The request of row i, borrowing from the ask; with tenants that of one of them. */
rlt_coll_request rlt_coll_request_of(const rlt_coll_ask *ask, uint32_t i, uint32_t tenant);

/* The files of one collective, for several experiments to share; to be freed in every case. */
int rlt_coll_files_load(const rlt_coll_settings *settings, const rlt_parsed *args, rlt_coll_files *out,
                        rlt_error *err) RLT_MUST_USE;
void rlt_coll_files_free(rlt_coll_files *files);
/* In place of reading them; borrowed, and not changed. */
void rlt_coll_lend(rlt_coll_settings *settings, const rlt_coll_files *files);

#endif
