/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One collective by an algorithm of steps, or those of several tenants at once, from plan to end. */
#ifndef RLT_WORKLOAD_EXPERIMENT_COLL_STEPS_H
#define RLT_WORKLOAD_EXPERIMENT_COLL_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "collectives/fold.h"
#include "net/links.h"
#include "net/route.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "sim/watch.h"
#include "workload/setup/settings.h"

/* When one of several tenants' collectives ended. */
typedef struct rlt_coll_ended {
    rlt_time time_ps, bound_ps;
} rlt_coll_ended;

/* Zero-initialise; rlt_coll_end frees what is there. */
typedef struct rlt_coll_run {
    rlt_sim *sim;
    rlt_router *router;
    rlt_exec *exec;
    rlt_plan plan;           /* of the first tenant */
    rlt_plan *others;        /* of the others */
    uint32_t planned;        /* tenants that have one */
    rlt_coll_ended *tenants; /* by tenant */
    rlt_fold fold;
    uint32_t simulated;         /* members: one of each class of the fold, or all */
    uint64_t bytes;             /* as asked for; the plan's are more where its blocks were made even */
    rlt_time time_ps, bound_ps; /* the longest of all tenants */
    rlt_busiest busiest;
    rlt_busiest over;           /* a link over capacity under alpha-beta; RLT_NONE: none */
    const rlt_watch *watch;     /* borrowed while it simulates */
    uint64_t expected_messages; /* for progress */
} rlt_coll_run;

typedef struct rlt_coll_how {
    const rlt_setup *setup;
    const rlt_algorithm *algorithm; /* NULL: chosen */
    bool check;                     /* run the symbolic checker first */
    uint32_t tenants;               /* collectives at once; 0: 1 */
    rlt_time straggler_ps;          /* the last rank begins so much later, and all wait for it */
    bool fold, verify_fold;         /* by symmetry; then also simulate all, and compare; of one tenant */
    rlt_time series_ps;
    const rlt_watch *watch; /* NULL: nobody looks on */
} rlt_coll_how;

/* Plans only: tells whether the algorithm can do the request (RLT_EUNSUPPORTED, RLT_ETOPOLOGY). `req` points
 * to the request of each tenant. */
int rlt_coll_plan(rlt_coll_run *run, const rlt_coll_how *how, const rlt_coll_request *req,
                  rlt_error *err) RLT_MUST_USE;
/* Simulates the plan and checks the accounts and the bound. */
int rlt_coll_simulate(rlt_coll_run *run, const rlt_coll_how *how, rlt_error *err) RLT_MUST_USE;
void rlt_coll_end(rlt_coll_run *run);

#endif
