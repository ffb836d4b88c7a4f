/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Routes between ranks. A router belongs to one simulation, since it keeps caches. It borrows the topology
 * and the placement, which are frozen.
 *
 *   products  Dimension order, innermost first; inside a dimension in closed form per shape (ring: shorter
 *             way round, ties upwards; torus and mesh: dimension order; fat-tree: up to the lowest common
 *             level, then down).
 *   graphs    Fewest links, then lowest latency, over nodes that forward. Next hops come from a lazy
 *             breadth-first search per destination, kept in a bounded cache, never an N^2 table.
 *
 * A static route in the file takes precedence over both.
 *
 * If several up links or equal-cost next hops exist, the policy chooses:
 *
 *   dmodk  the default: by destination modulo the choices (Zahavi: "D-Mod-K routing", contention-free shift
 *          permutations; on rails by the node of the destination); in graphs by destination id modulo the
 *          choices in link order
 *   ecmp   by a hash of (source, destination, flow key): a flow stays on its path
 *   spray  round robin over the choices, message by message
 *
 * Under ecmp and spray, a tie between the two ways round a ring is such a choice, too. Among parallel links
 * between the same two nodes, the turn in the flow's key (rlt_route_key) chooses, so that channels that know
 * of each other share them.
 */
#ifndef RLT_NET_ROUTE_H
#define RLT_NET_ROUTE_H

#include <stdint.h>

#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rlt_routing { RLT_ROUTE_DMODK, RLT_ROUTE_ECMP, RLT_ROUTE_SPRAY } rlt_routing;

typedef struct rlt_path {
    const uint32_t *links; /* links from source to destination; n == 0 if both ranks share an accelerator */
    uint32_t n;
    rlt_time latency_ps; /* sum over the links */
    uint64_t bw_Bps;     /* smallest bandwidth on the path; UINT64_MAX when n == 0 */
} rlt_path;

typedef struct rlt_router rlt_router;

RLT_API int rlt_router_create(const rlt_topology *t, const rlt_placement *p, rlt_routing routing,
                              rlt_router **out, rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_router_free(rlt_router *r);
/* Returns the key of a flow: its number, and its turn among flows between the same two nodes. */
static inline uint64_t rlt_route_key(uint32_t flow, uint32_t turn)
{
    return (uint64_t)turn << 32 | flow;
}
/* Returns the bits of a key that matter: keys that differ only in other bits have the same route. */
RLT_API uint64_t rlt_router_key_mask(const rlt_router *r);
/* Finds the path of a message; valid until the next call. A repeat of a rank's last destination is O(1),
 * except under spray. `key` distinguishes flows of one pair (a channel number). RLT_ETOPOLOGY if there is no
 * path, RLT_ENOMEM. */
RLT_API int rlt_route(rlt_router *r, uint32_t src_rank, uint32_t dst_rank, uint64_t key,
                      rlt_path *path) RLT_MUST_USE;
/* Sets the bandwidth of a link from now on; 0 makes it fail. A route that crosses a failed link is replaced
 * by a shortest one over the remaining links (the policy chooses among equals, in products as in graphs). If
 * none leads to the destination, rlt_route returns RLT_ESTALL, and rlt_router_blocked returns the first
 * failed link on the way there. O(ranks). RLT_ENOMEM. */
RLT_API int rlt_router_set_link(rlt_router *r, uint32_t link, uint64_t bw_Bps) RLT_MUST_USE;
RLT_API uint64_t rlt_router_link_Bps(const rlt_router *r, uint32_t link);
RLT_API uint32_t rlt_router_blocked(const rlt_router *r);
RLT_API const rlt_topology *rlt_router_topology(const rlt_router *r);
RLT_API const rlt_placement *rlt_router_placement(const rlt_router *r);
RLT_API rlt_routing rlt_router_routing(const rlt_router *r);
RLT_API int rlt_routing_parse(const char *name, rlt_routing *out, rlt_error *err) RLT_MUST_USE;
RLT_API const char *rlt_routing_name(rlt_routing r);

#ifdef __cplusplus
}
#endif
#endif
