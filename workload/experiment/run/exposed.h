/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exposed communication of the ranks of a run, by the dimensions in use. */
#ifndef RLT_WORKLOAD_EXPERIMENT_RUN_EXPOSED_H
#define RLT_WORKLOAD_EXPERIMENT_RUN_EXPOSED_H

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/experiment/run/run.h"

/* Exposed communication of each rank by the set of dimensions in use by all communications under way; on a
 * graph these are its logical dimensions. Over all sets it adds up to the rank's exposed_comm_ps. Also the
 * dimensions of each communication. */
typedef struct rlt_exposed {
    uint32_t n;     /* number of sets: 2^dimensions */
    rlt_time *ps;   /* by rank * n + set, a bit per dimension; set 0: dimensions unknown */
    uint32_t *dims; /* by communication: its set */
    bool used[1 << RLT_MAX_DIMS];
} rlt_exposed;
int rlt_run_exposed(const rlt_run *r, rlt_exposed *out, rlt_error *err) RLT_MUST_USE;
void rlt_exposed_free(rlt_exposed *e);

#endif
