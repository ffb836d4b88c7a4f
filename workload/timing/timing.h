/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Timing modes, which replace the network: they give the duration of a communication in closed form, once all
 * its members have arrived. Meant for agreement with other simulators (`--timing astra`). Links carry
 * nothing, and the result says so.
 */
#ifndef RLT_WORKLOAD_TIMING_TIMING_H
#define RLT_WORKLOAD_TIMING_TIMING_H

#include "collectives/collective.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/program/reader.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_timing rlt_timing;
struct rlt_timing {
    const char *name;
    /* Computes the duration from the last arrival to the end, equal for all members. */
    int (*duration)(rlt_timing *t, const rlt_coll_request *req, rlt_time *duration_ps, rlt_error *err);
    /* NULL: unknown. Finds the class of a group, counted from 0: for groups of a class, all requests that
     * differ in their members only take the same time. Kind and bytes of the request mean nothing. */
    int (*classify)(rlt_timing *t, const rlt_coll_request *req, uint32_t *index, rlt_error *err);
    void (*destroy)(rlt_timing *t);
};

/*
 * Creates the timing of ASTRA-sim 2.0's analytical back-ends from its system JSON and a topology read from
 * its network YAML: chunk rounding, integer nanoseconds, endpoint delay, local reduction. `aware` selects the
 * congestion-aware back-end, where its times have a closed form. Sets in `opts` the settings of the system
 * file that affect reading (serial communication, roofline).
 */
RLT_API int rlt_timing_astra(const char *system_json, bool aware, const rlt_topology *t,
                             rlt_read_options *opts, rlt_timing **out, rlt_error *err) RLT_MUST_USE;

static inline void rlt_timing_free(rlt_timing *t)
{
    if (t)
        t->destroy(t);
}

#ifdef __cplusplus
}
#endif
#endif
