/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lower bound on a collective's time on a topology, without aggregation or replication in the network. The
 * larger of traffic   all-reduce: 2(n-1) M bytes must leave the members in all (each of the other n-1 copies
 * of every byte is sent towards its sum and back), reduce-scatter, all-gather, reduce, broadcast: (n-1) M;
 * over the members' total egress (ingress) bandwidth; for each member what it alone must send or receive over
 * its own (Patarasuk, Yuan: "Bandwidth optimal all-reduce algorithms", JPDC 2009; Chan et al., CCPE 2007);
 *   latency   the smallest zero-load latency between two members, times the hops any algorithm needs
 *             (1 for every kind with n >= 2; 2 for barrier-free reductions to all is NOT assumed: direct
 * exchange needs 1). Endpoint delays and protocol overheads only add to it. Picoseconds, rounded down.
 */
#ifndef RLT_BOUND_H
#define RLT_BOUND_H

#include "collectives/collective.h"
#include "net/route.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_bound {
    rlt_time time_ps;
    rlt_time traffic_ps, latency_ps;
} rlt_bound;

/* scale multiplies every bandwidth. `router` is used for latencies (a bounded sample of pairs on large
 * groups: minimum over neighbours in member order is not a bound, so large groups use the smallest link
 * latency instead). */
RLT_API int rlt_coll_bound(const rlt_coll_request *req, rlt_router *router, double bandwidth_scale,
                           double latency_scale, rlt_bound *out, rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
