/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One collective by a protocol that reacts, or those of several tenants at once: a fabric of packets run to
 * its end, and what switches and servers did in it.
 */
#ifndef RLT_WORKLOAD_EXPERIMENT_COLL_REACT_H
#define RLT_WORKLOAD_EXPERIMENT_COLL_REACT_H

#include "collectives/collective.h"
#include "collectives/in_network/reactive.h"
#include "net/aggregation/aggregator.h"
#include "net/links.h"
#include "net/topology/topology.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "sim/text/json.h"
#include "sim/watch.h"
#include "workload/setup/settings.h"

typedef struct rlt_react_ask {
    const rlt_setup *setup; /* its packets, losses and switches are the fabric's */
    const rlt_reacting *reacting;
    const rlt_coll_request *req; /* of each tenant: equal but for their ranks */
    uint32_t tenants;            /* 0: 1 */
    rlt_time straggler_ps;       /* how much later than the others the last worker of each tenant begins */
    /* req->n is that of workers: servers apart are the ranks after them. Member k of tenant j is then rank
     * k * tenants + j, whatever the requests' ranks. */
    bool exact_workers;
    rlt_time series_ps;    /* of links; 0: none */
    rlt_time occupancy_ps; /* of slots */
} rlt_react_ask;

/* Zero-initialise; rlt_react_end frees what is there. */
typedef struct rlt_react_run {
    rlt_fabric *fabric;
    rlt_react_result *results; /* by tenant */
    uint32_t tenants, slowest;
    rlt_react_result result; /* the slowest one's, with what all of them sent, lost and left to servers */
    bool servers;            /* some tenant has */
    double fairness;         /* Jain's index of the tenants' rates */
    rlt_time bound_ps;       /* the longest of all tenants */
    rlt_busiest busiest;
    uint32_t node;                 /* the switch with most slots in use; RLT_NONE: none adds */
    uint32_t peak;                 /* its slots in use, at most */
    double mean;                   /* and on average, until the end */
    const rlt_aggregator *fullest; /* the same switch */
    uint64_t events, expected;     /* packets expected, for progress */
} rlt_react_run;

/* Enters the jobs: RLT_EUNSUPPORTED, RLT_ETOPOLOGY and RLT_ERANGE tell why one cannot be. */
int rlt_react_open(rlt_react_run *run, const rlt_react_ask *ask, rlt_error *err) RLT_MUST_USE;
/* Runs them. RLT_ECHECK for a wrong sum, or a time below the bound. */
int rlt_react_simulate(rlt_react_run *run, const rlt_react_ask *ask, const rlt_watch *watch,
                       rlt_error *err) RLT_MUST_USE;
void rlt_react_end(rlt_react_run *run);

/* Share of the contributions of n jobs that reached a server without having
 * been added up; absent without servers. */
rlt_value rlt_react_fallback(const rlt_react_result *r, uint32_t n);
/* What a job ran as, and why, where it was not as what was asked for; NULL: it was. */
const char *rlt_react_ran(const rlt_react_result *r, const rlt_react_ask *ask);
const char *rlt_react_reason(const rlt_react_result *r);

#endif
