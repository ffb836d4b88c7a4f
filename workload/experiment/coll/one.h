/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One row of an experiment: one collective of one size by one algorithm, simulated to its checked end, and
 * its result. Rows may run on any thread, several at once. They only read the ask.
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

/* Names are borrowed from the ask. A value is absent if it has no meaning for this row. */
typedef struct rlt_coll_result {
    rlt_coll_kind kind;
    const char *algorithm, *ran; /* ran: what actually ran, if switches refused the protocol */
    const char *network;         /* the model */
    uint64_t bytes;              /* as asked for */
    uint32_t ranks;              /* per tenant */
    rlt_time time_ps, bound_ps;  /* longest of all tenants */
    double factor;               /* bus bandwidth over algorithm bandwidth */
    rlt_value algbw_GBps, busbw_GBps;
    rlt_busiest busiest;
    uint64_t events, messages, simulated; /* simulated: ranks, or one per class if folded */
    uint64_t work;                        /* estimated cost of the simulation and its plan, in events */
    rlt_value offered;                    /* bytes offered to the network */
    rlt_value retransmissions, fallback, peak, mean, server_bytes;
    rlt_value collided; /* share of the packets at switches whose slot another job held */
    rlt_value fairness; /* between tenants */
} rlt_coll_result;

/* Zero-initialise; rlt_coll_one_end frees it. */
typedef struct rlt_coll_one {
    const rlt_coll_ask *ask;
    uint32_t row;
    rlt_time series_ps;
    rlt_coll_request *reqs; /* one per tenant */
    rlt_coll_run run;       /* used by algorithms */
    rlt_react_run react;    /* used by reactive protocols: set if it has a fabric */
    rlt_tenants tenants;
    rlt_coll_result result;
} rlt_coll_one;

/* Opens row i of the ask. Returns the errors of rlt_coll_plan and rlt_react_open if the algorithm cannot do
 * it. `series_ps`: width of the bins of links and slots over time; 0: none. */
int rlt_coll_one_open(rlt_coll_one *one, const rlt_coll_ask *ask, uint32_t i, rlt_time series_ps,
                      rlt_error *err) RLT_MUST_USE;
/* `watch` NULL: never stopped. */
int rlt_coll_one_simulate(rlt_coll_one *one, const rlt_watch *watch, rlt_error *err) RLT_MUST_USE;
/* Returns the usage of links; valid until the run is dropped. */
const rlt_usage *rlt_coll_one_usage(const rlt_coll_one *one);
/* Frees the simulation and keeps the result. */
void rlt_coll_one_drop(rlt_coll_one *one);
void rlt_coll_one_end(rlt_coll_one *one);

/* Finds the cuts that the bounds of row 0 need and stores them in the topology. igraph finds them, so this
 * call keeps other threads from calling it. */
int rlt_coll_prime(const rlt_coll_ask *ask, rlt_error *err) RLT_MUST_USE;

#endif
