/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lower bounds on the time of a collective over a topology. Endpoint delays and protocol overheads only add
 * to them. Picoseconds, rounded down.
 *
 * Let n be the number of members, M the collective's bytes, B_m what member m can send (or receive) a second
 * over its own links. The bound is the largest of three:
 *
 *   traffic   For each member m: (bytes that m alone must send or receive) / B_m. For all members together:
 *             (bytes that must leave them) / (sum of all B_m). Sources: Patarasuk, Yuan, "Bandwidth optimal
 *             all-reduce algorithms", JPDC 2009; Chan et al., CCPE 2007. Bytes that must leave all members:
 *               all-reduce                             2(n-1) M: each of the other n-1 copies of every byte
 *                                                      is sent towards its sum and back
 *               reduce-scatter, all-gather,
 *               reduce, broadcast                      (n-1) M
 *   cut       The same with P groups in place of n members. In a product of dimensions, the members with
 *             equal coordinates in some dimensions form a group. Traffic between the groups uses the links of
 *             these dimensions alone. Also the tightest cut between members (net/topology/cut.h; Zhao et al.,
 *             arXiv 2402.06787). Bytes that cross the border of a set S of members:
 *               all-gather           |S| M/n leave S
 *               reduce-scatter       |S| M/n enter S
 *               broadcast, reduce    M
 *               all-reduce           M both ways, since the sum must reach the other side
 *               all-to-all           |S| (n - |S|) M/n, over the all-gather's cut, and over cuts between
 *                                    halves of the members (by number, and by coordinate)
 *             Collectives with counts have no cut bound.
 *   latency   The smallest zero-load latency between two members: at least one message is needed.
 *
 * Example: all-reduce of M = 1 GB over a 2 x 2 product, n = 4. A member sends 50 GB/s into dimension 0 and
 * 12.5 GB/s into dimension 1. traffic: max(1 / 62.5, 2 * 3 * 1 / 250) s = 24 ms. cut: the two groups with
 * equal coordinates in dimension 1 exchange 2 * 1 GB over 4 * 12.5 GB/s, 40 ms. The bound is 40 ms.
 *
 * If the network adds up and replicates, a sum or a copy crosses a link once. The traffic bound then counts
 * only bytes that no network can save. Cuts still hold: a sum made on the far side must cross the cut, too.
 * If it does so inside nodes only, the parts of a product that are nodes exchange 2 (P - 1) M as without it.
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

/* Returns the bound under a network model. Cuts inside the network hold only for a model that shares inner
 * links between messages. */
static inline rlt_time rlt_bound_under(const rlt_bound *b, const rlt_net_model *model)
{
    rlt_time ports = b->traffic_ps > b->latency_ps ? b->traffic_ps : b->latency_ps;
    return model->can & RLT_NET_SHARES_LINKS ? b->time_ps : ports;
}

/* Computes the bound of a request. The scales multiply every bandwidth and latency. `router` gives the
 * latencies between all pairs of up to 64 members; larger groups use the smallest link latency, which is also
 * a lower bound. */
RLT_API int rlt_coll_bound(const rlt_coll_request *req, rlt_router *router, double bandwidth_scale,
                           double latency_scale, rlt_bound *out, rlt_error *err) RLT_MUST_USE;
/* Computes the bound of a plan, which may use reduction and multicast by the network. */
RLT_API int rlt_plan_bound(const rlt_plan *plan, rlt_router *router, double bandwidth_scale,
                           double latency_scale, rlt_bound *out, rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
