/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A collective by an algorithm, or those of several tenants at once, from plan to end. */
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

/* End of one tenant's collective. */
typedef struct rlt_coll_ended {
    rlt_time time_ps, bound_ps;
} rlt_coll_ended;

/* Zero-initialise; rlt_coll_end frees it. */
typedef struct rlt_coll_run {
    rlt_sim *sim;
    rlt_router *router;
    rlt_exec *exec;
    rlt_plan plan;           /* plan of the first tenant */
    rlt_plan *others;        /* plans of the other tenants */
    uint32_t planned;        /* tenants that have a plan */
    uint32_t ended;          /* tenants whose collective has ended */
    rlt_coll_ended *tenants; /* by tenant */
    rlt_fold fold;
    uint32_t simulated;         /* members simulated: one per class of the fold, or all */
    char unfolded[200];         /* why nothing folds; empty: it does, or was not asked to */
    uint64_t bytes;             /* as asked for; the plan has more if its blocks were made even */
    rlt_time time_ps, bound_ps; /* longest of all tenants */
    rlt_busiest busiest;
    rlt_busiest over;           /* a link over capacity under alpha-beta; RLT_NONE: none */
    const rlt_watch *watch;     /* borrowed during the simulation */
    uint64_t expected_messages; /* for progress */
    uint64_t events;
    int on_settle;
    uint32_t threads; /* on which it ran */
    char alone[200];  /* why it ran on one thread, although it was asked for several */
} rlt_coll_run;

typedef struct rlt_coll_how {
    const rlt_setup *setup;
    const rlt_algorithm *algorithm; /* NULL: chosen by the selector */
    bool check;                     /* runs the symbolic checker first */
    uint32_t tenants;               /* simultaneous collectives; 0 means 1 */
    rlt_time straggler_ps;          /* delay of the last rank; all others wait for it */
    /* folds by symmetry; verify_fold also simulates all members and compares. One tenant only */
    bool fold, verify_fold;
    rlt_time series_ps;
    uint32_t threads;       /* threads of one simulation, where its network can be in parts; 0 means 1 */
    const rlt_watch *watch; /* NULL: never stopped */
} rlt_coll_how;

/* Plans without running. RLT_EUNSUPPORTED or RLT_ETOPOLOGY if the algorithm cannot do the request. `req`
 * points to the requests of all tenants. */
int rlt_coll_plan(rlt_coll_run *run, const rlt_coll_how *how, const rlt_coll_request *req,
                  rlt_error *err) RLT_MUST_USE;
/* Simulates the plan and checks the accounts and the bound. */
int rlt_coll_simulate(rlt_coll_run *run, const rlt_coll_how *how, rlt_error *err) RLT_MUST_USE;
void rlt_coll_end(rlt_coll_run *run);

/* Part of rlt_coll_simulate (steps_parts.c): simulates on how->threads threads, each with a part of the
 * network (net/packet/parts.h) and an executor for the ranks there. Fills the run's simulation, network and
 * times as one thread would. RLT_EUNSUPPORTED, with the reason, if the network cannot be in parts. After an
 * error the run is as before; which part fails first depends on their number. */
int rlt__coll_simulate_parts(rlt_coll_run *run, const rlt_coll_how *how, rlt_error *err) RLT_MUST_USE;

#endif
