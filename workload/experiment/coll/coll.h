/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Experiments on collectives: the kinds, sizes and algorithms that the settings ask for, with their network
 * and ranks. Several of each form a list of rows for the caller to walk through (one.h). Nothing is printed.
 *
 * Opening loads everything, on a thread that may call igraph. Afterwards nothing changes, and threads can
 * share it.
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

/* Contents of files beside the topology. */
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
    uint64_t ranks, workers, root, threads;
    rlt_time straggler_ps;
    bool no_fold, verify_fold, check;
    const rlt_coll_files *files; /* not an option: files already read, borrowed; NULL: reads them */
} rlt_coll_settings;
extern const rlt_option rlt_coll_options[]; /* offsets are in rlt_coll_settings */

typedef struct rlt_coll_case {
    rlt_coll_kind kind;
    uint64_t bytes;
} rlt_coll_case;

/* An experiment as asked for. Row i is case i / n_algorithms by algorithm i % n_algorithms. */
enum { RLT_COLL_ALGORITHMS = 64 };
typedef struct rlt_coll_ask {
    const rlt_coll_settings *settings; /* this and the next two are set by the caller */
    const rlt_parsed *args;
    const rlt_watch *watch; /* may stop the opening; NULL: never stopped */
    rlt_setup setup;
    rlt_group group, pair; /* pair: for send_recv; empty in a group of one */
    rlt_group *tenants;    /* groups of ranks, one per tenant; NULL: no tenants */
    uint32_t n_tenants;
    uint32_t root;    /* member index of the root */
    uint64_t *counts; /* for all_to_all; NULL: equal shares */
    rlt_coll_case *cases;
    uint32_t n_cases, n_kinds, n_sizes, n_algorithms;
    const rlt_algorithm *algorithms[RLT_COLL_ALGORITHMS]; /* NULL: chosen by the selector */
    /* reactive protocol, in place of an algorithm; NULL: none */
    const rlt_reacting *reacting[RLT_COLL_ALGORITHMS];
    /* plans from files, for the algorithms that are plans */
    const rlt_listed *listed[RLT_COLL_ALGORITHMS];
    rlt_listed *plans; /* owned, unless the settings bring files */
    uint32_t n_plans;
    /* version of NCCL or RCCL that chooses, for "auto=nccl-2.23"; 0: the endpoint's */
    uint32_t libraries[RLT_COLL_ALGORITHMS];
    struct rlt_coll_label *labels; /* names of their rows, such as "tree@nccl-2.23"; NULL: no versions */
    bool all_algorithms;
    uint32_t element; /* in bytes; 0: not given */
} rlt_coll_ask;

/* Loads and checks. If the settings name no algorithm, the selector's choice is used; with `compare`, all
 * algorithms, in groups of up to 64 ranks. Close it in every case. */
int rlt_coll_open(rlt_coll_ask *ask, bool compare, rlt_error *err) RLT_MUST_USE;
/* Loads and checks one collective of one size by one algorithm. RLT_EUSAGE if the settings ask for
 * several. */
int rlt_coll_open_one(rlt_coll_ask *ask, rlt_error *err) RLT_MUST_USE;
void rlt_coll_close(rlt_coll_ask *ask);

/* Returns the name of row i if an algorithm serves it: its own, or with the version that chose it. */
const char *rlt_coll_label_of(const rlt_coll_ask *ask, uint32_t i, const rlt_algorithm *a);
/* Returns the request of row i, which borrows from the ask. With tenants it is the request of one of them. */
rlt_coll_request rlt_coll_request_of(const rlt_coll_ask *ask, uint32_t i, uint32_t tenant);

/* Loads the files of one collective, for several experiments to share. Free them in every case. */
int rlt_coll_files_load(const rlt_coll_settings *settings, const rlt_parsed *args, rlt_coll_files *out,
                        rlt_error *err) RLT_MUST_USE;
void rlt_coll_files_free(rlt_coll_files *files);
/* Lends files to settings, which then do not read them. They are borrowed and not changed. */
void rlt_coll_lend(rlt_coll_settings *settings, const rlt_coll_files *files);

#endif
