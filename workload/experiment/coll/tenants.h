/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results of several equal jobs that ran at once on one network. */
#ifndef RLT_WORKLOAD_EXPERIMENT_COLL_TENANTS_H
#define RLT_WORKLOAD_EXPERIMENT_COLL_TENANTS_H

#include "collectives/collective.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "workload/experiment/coll/react.h"
#include "workload/experiment/coll/steps.h"

typedef struct rlt_tenant {
    rlt_time time_ps;
    /* absent if they have no meaning for this run */
    rlt_value slots, fallback, retransmissions, server_bytes;
    const char *ran; /* protocol or algorithm; borrowed */
    char why[256];   /* reason why another one ran, or why nothing was aggregated; "": neither */
} rlt_tenant;
typedef struct rlt_tenants {
    rlt_tenant *list; /* NULL: none */
    uint32_t n;
    double fairness; /* Jain's index of the tenants' rates */
} rlt_tenants;

/* Collect the results of a run that has ended. Free them with rlt_tenants_free. */
int rlt_tenants_of_steps(const rlt_coll_run *run, rlt_tenants *out, rlt_error *err) RLT_MUST_USE;
int rlt_tenants_of_protocol(const rlt_react_run *run, const rlt_react_ask *ask, rlt_tenants *out,
                            rlt_error *err) RLT_MUST_USE;
void rlt_tenants_free(rlt_tenants *t);

#endif
