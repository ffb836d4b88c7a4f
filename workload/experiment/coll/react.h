/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A collective by a reactive protocol, or those of several tenants at once: a packet fabric run to its end,
 * and the activity of its switches and servers.
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
    const rlt_setup *setup; /* gives the packet settings, losses and switches of the fabric */
    const rlt_reacting *reacting;
    const rlt_coll_request *req; /* one per tenant, equal except for their ranks */
    uint32_t tenants;            /* 0 means 1 */
    rlt_time straggler_ps;       /* delay of the last worker of each tenant */
    /* True: req->n counts only workers, and parameter servers are the ranks after them. Member k of tenant j
     * is then rank k * tenants + j, whatever the ranks of the requests. */
    bool exact_workers;
    rlt_time series_ps;    /* bins of link usage; 0: none */
    rlt_time occupancy_ps; /* bins of slot usage */
} rlt_react_ask;

/* Zero-initialise; rlt_react_end frees it. */
typedef struct rlt_react_run {
    rlt_fabric *fabric;
    rlt_react_result *results; /* by tenant */
    uint32_t tenants, slowest;
    rlt_react_result result; /* that of the slowest tenant, with the traffic, losses and fallbacks of all */
    bool servers;            /* some tenant has servers */
    double fairness;         /* Jain's index of the tenants' rates */
    rlt_time bound_ps;       /* longest of all tenants */
    rlt_busiest busiest;
    uint32_t node;                 /* the switch with the most slots in use; RLT_NONE: none aggregates */
    uint32_t peak;                 /* most slots in use at that switch */
    double mean;                   /* average slots in use there, until the end */
    const rlt_aggregator *fullest; /* that switch */
    uint64_t events, expected;     /* expected: packets, for progress */
} rlt_react_run;

/* Creates the jobs. RLT_EUNSUPPORTED, RLT_ETOPOLOGY or RLT_ERANGE if one is not possible. */
int rlt_react_open(rlt_react_run *run, const rlt_react_ask *ask, rlt_error *err) RLT_MUST_USE;
/* Runs the jobs. RLT_ECHECK for a wrong sum, or a time below the bound. */
int rlt_react_simulate(rlt_react_run *run, const rlt_react_ask *ask, const rlt_watch *watch,
                       rlt_error *err) RLT_MUST_USE;
void rlt_react_end(rlt_react_run *run);

/* Returns the share of contributions of n jobs that reached a server without being aggregated; absent without
 * servers. */
rlt_value rlt_react_fallback(const rlt_react_result *r, uint32_t n);
/* Returns what a job ran as, and why, if it differs from what was asked for; else NULL. */
const char *rlt_react_ran(const rlt_react_result *r, const rlt_react_ask *ask);
const char *rlt_react_reason(const rlt_react_result *r);

#endif
