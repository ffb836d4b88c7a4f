/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shortest routes in a graph topology: fewest links, then lowest latency. Only nodes that forward relay. One
 * backward breadth-first search per destination, run when first needed and kept in a cache of bounded size.
 * Internal to net/; each router owns one.
 */
#ifndef RLT_NET_TOPOLOGY_ROUTE_GRAPH_H
#define RLT_NET_TOPOLOGY_ROUTE_GRAPH_H

#include "net/shapes/shape.h"
#include "net/topology/frozen.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"

/* A route under construction. */
typedef struct rlt_walk {
    uint32_t *links;
    uint32_t n, capacity;
    rlt_time latency_ps;
    uint64_t bw_Bps;
} rlt_walk;

static inline void rlt_walk_clear(rlt_walk *w)
{
    w->n = 0;
    w->latency_ps = 0;
    w->bw_Bps = UINT64_MAX;
}

/* The choice among equal next hops. Unless by_destination is set, `value` is consumed as a mixed-radix
 * number. */
typedef struct rlt_graph_pick {
    bool by_destination;
    uint64_t value;
    uint32_t turn; /* by_destination: offset among parallel links */
    bool digits;   /* by_destination: `value` is consumed, too */
} rlt_graph_pick;

typedef struct rlt_graph_routes rlt_graph_routes;

/* Creates a cache for the tables of as many destinations as fit in `bytes`, at least two. bw_Bps has the
 * bandwidth of each link, borrowed. Links with 0 are not used, and then no static routes either; NULL: all
 * links and static routes are used. */
int rlt_graph_routes_create(const rlt_topology *t, size_t bytes, const uint64_t *bw_Bps,
                            rlt_graph_routes **out, rlt_error *err) RLT_MUST_USE;
/* Lets only nodes v with relays[v] != 0 pass on messages of others. Before the first route. Borrowed. */
void rlt_graph_routes_relay(rlt_graph_routes *r, const uint8_t *relays);
void rlt_graph_routes_free(rlt_graph_routes *r);
/* Appends the route between two different nodes to `walk`: a static one if given, otherwise a shortest one.
 * RLT_ETOPOLOGY if there is no path. */
int rlt_graph_routes_route(rlt_graph_routes *r, uint32_t src, uint32_t dst, rlt_graph_pick pick,
                           rlt_walk *walk) RLT_MUST_USE;
/* Returns the number of links and the latency from every node to dst (RLT_NONE links: no path). Valid until
 * the next call. */
int rlt_graph_routes_to(rlt_graph_routes *r, uint32_t dst, const uint32_t **hops,
                        const rlt_time **latency_ps) RLT_MUST_USE;

#endif
