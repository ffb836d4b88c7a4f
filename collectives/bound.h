/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lower bounds on a collective's time on a topology: the largest of
 *
 *   traffic   for each member, the bytes it alone must send or receive over its own links; for all together,
 *             the bytes that must leave them, over their total bandwidth (Patarasuk, Yuan: "Bandwidth optimal
 *             all-reduce algorithms", JPDC 2009; Chan et al., CCPE 2007):
 *               all-reduce                             2(n-1) M: each of the other n-1 copies of every byte
 *                                                      is sent towards its sum and back
 *               reduce-scatter, all-gather,
 *               reduce, broadcast                      (n-1) M
 *   cut       the same with groups of members in place of members: the parts of a product with equal
 *             coordinates in some dimensions; and the tightest cut between members (net/topology/cut.h; Zhao
 *             et al., arXiv 2402.06787). Bytes that cross the border of a set S:
 *               all-gather           |S| M/n leave S
 *               reduce-scatter       |S| M/n enter S
 *               broadcast, reduce    M
 *               all-reduce           M both ways (its sum must reach the other side)
 *               all-to-all           |S| (n - |S|) M/n, over the all-gather's cut and over those between
 *                                    halves, by number and by coordinate
 *             There are no cuts for collectives with counts.
 *   latency   the smallest zero-load latency between two members: one message is the least
 *
 * Endpoint delays and protocol overheads only add to it. Picoseconds, rounded down.
 *
 * Where the network adds up and replicates, copies cross a link once. For sums over members the bound then
 * claims only what no network can save. Cuts hold there too: what is computed on the far side cannot cross.
 */
#ifndef RLT_COLLECTIVES_BOUND_H
#define RLT_COLLECTIVES_BOUND_H

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "net/network.h"
#include "net/route.h"
#include "sim/base/error.h"
#include "sim/base/time.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_bound {
    rlt_time time_ps;
    rlt_time traffic_ps, cut_ps, latency_ps;
} rlt_bound;

/* The bound that holds under a network model: cuts inside hold up only one that shares its links. */
static inline rlt_time rlt_bound_under(const rlt_bound *b, const rlt_net_model *model)
{
    rlt_time ports = b->traffic_ps > b->latency_ps ? b->traffic_ps : b->latency_ps;
    return model->can & RLT_NET_SHARES_LINKS ? b->time_ps : ports;
}

/* scale multiplies every bandwidth. `router` is used for latencies (a bounded sample of pairs on large
 * groups: minimum over neighbours in member order is not a bound, so large groups use the smallest link
 * latency instead). */
RLT_API int rlt_coll_bound(const rlt_coll_request *req, rlt_router *router, double bandwidth_scale,
                           double latency_scale, rlt_bound *out, rlt_error *err) RLT_MUST_USE;
/* The same for a plan, which may have the network reduce and multicast. */
RLT_API int rlt_plan_bound(const rlt_plan *plan, rlt_router *router, double bandwidth_scale,
                           double latency_scale, rlt_bound *out, rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
