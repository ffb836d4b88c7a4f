/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One collective of one size by one algorithm: a row of an experiment, simulated to its checked end, and what
 * it says. On any thread, several at once; what was asked for is only read.
 */
#ifndef RLT_WORKLOAD_EXPERIMENT_COLL_ONE_H
#define RLT_WORKLOAD_EXPERIMENT_COLL_ONE_H

#include <stdbool.h>
#include <stdint.h>

#include "collectives/collective.h"
#include "net/links.h"
#include "net/usage.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/watch.h"
#include "workload/experiment/coll/coll.h"
#include "workload/experiment/coll/react.h"
#include "workload/experiment/coll/steps.h"
#include "workload/experiment/coll/tenants.h"

/* Names are borrowed from what was asked for. Values are absent where they mean nothing to what ran. */
typedef struct rlt_coll_result {
    rlt_coll_kind kind;
    const char *algorithm, *ran; /* ran: what a protocol that was refused ran as */
    uint64_t bytes;              /* as asked for */
    uint32_t ranks;              /* of one tenant */
    rlt_time time_ps, bound_ps;  /* the longest of all tenants */
    double factor;               /* of the bus bandwidth */
    rlt_value algbw_GBps, busbw_GBps;
    rlt_busiest busiest;
    uint64_t events, messages, simulated; /* simulated: ranks, one of each class where they were folded */
    rlt_value offered;                    /* bytes given to the network */
    rlt_value retransmissions, fallback, peak, mean, server_bytes;
    rlt_value fairness; /* of tenants */
} rlt_coll_result;

/* Zero-initialise; rlt_coll_one_end frees what is there. */
typedef struct rlt_coll_one {
    const rlt_coll_ask *ask;
    uint32_t row;
    rlt_time series_ps;
    rlt_coll_request *reqs; /* of each tenant */
    rlt_coll_run run;       /* of steps; or */
    rlt_react_run react;    /* of a protocol that reacts: its fabric is there */
    rlt_tenants tenants;
    rlt_coll_result result;
} rlt_coll_one;

/* Row i of what was asked for. Tells whether the algorithm can do it, as rlt_coll_plan and rlt_react_open do.
 * `series_ps`: bins of links and slots over time; 0: none. */
int rlt_coll_one_open(rlt_coll_one *one, const rlt_coll_ask *ask, uint32_t i, rlt_time series_ps,
                      rlt_error *err) RLT_MUST_USE;
/* `watch` NULL: nobody looks on. */
int rlt_coll_one_simulate(rlt_coll_one *one, const rlt_watch *watch, rlt_error *err) RLT_MUST_USE;
/* What the links did; until the run is dropped. */
const rlt_usage *rlt_coll_one_usage(const rlt_coll_one *one);
/* Frees the simulation and keeps what it said. */
void rlt_coll_one_drop(rlt_coll_one *one);
void rlt_coll_one_end(rlt_coll_one *one);

/* Finds the cuts that the bounds of row 0 ask for, which the topology then knows: igraph does, so that no
 * other thread has to. */
int rlt_coll_prime(const rlt_coll_ask *ask, rlt_error *err) RLT_MUST_USE;

#endif
