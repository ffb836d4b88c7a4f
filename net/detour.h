/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Links that change while a router is in use, and routes around failed links: shortest routes over the
 * remaining links, for any topology. Internal to net/; each router owns one detour.
 */
#ifndef RLT_NET_DETOUR_H
#define RLT_NET_DETOUR_H

#include "net/topology/route_graph.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"

typedef struct rlt_detour {
    const rlt_topology *t;
    rlt_topology *whole;     /* a product as an explicit graph; NULL until a link fails first */
    uint64_t *bw_Bps;        /* current bandwidth of each link; 0: failed */
    rlt_graph_routes *reach; /* routes over links that have not failed; NULL: not made yet */
} rlt_detour;

/* Creates a detour with every link as built. */
int rlt_detour_create(const rlt_topology *t, rlt_detour **out, rlt_error *err) RLT_MUST_USE;
void rlt_detour_free(rlt_detour *d);
void rlt_detour_set(rlt_detour *d, uint32_t link, uint64_t bw_Bps);
/* Returns the first failed link among links[0 .. n), or RLT_NONE. In the latter case *bw_Bps is the smallest
 * bandwidth among them. */
uint32_t rlt_detour_failed(const rlt_detour *d, const uint32_t *links, uint32_t n, uint64_t *bw_Bps);
/* Returns the table of routes around failed links. Valid until the next rlt_detour_set. */
int rlt_detour_reach(rlt_detour *d, rlt_graph_routes **out) RLT_MUST_USE;

#endif
