/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Links that change while a router is in use, and routes around those that have failed: shortest ones over
 * the links that are left, whatever the shape of the topology. Internal to net/; one router owns one.
 */
#ifndef RLT_NET_DETOUR_H
#define RLT_NET_DETOUR_H

#include "net/topology/route_graph.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"

typedef struct rlt_detour {
    const rlt_topology *t;
    rlt_topology *whole;     /* a product, made a graph when a link first fails; NULL until then */
    uint64_t *bw_Bps;        /* of each link, now; 0: it has failed */
    uint32_t failed;         /* how many have */
    rlt_graph_routes *reach; /* over those that have not; NULL: to be made */
} rlt_detour;

/* Every link as built. */
int rlt_detour_create(const rlt_topology *t, rlt_detour **out, rlt_error *err) RLT_MUST_USE;
void rlt_detour_free(rlt_detour *d);
void rlt_detour_set(rlt_detour *d, uint32_t link, uint64_t bw_Bps);
/* The first failed link on the way, RLT_NONE: there is none; *bw_Bps is then the least bandwidth on it. */
uint32_t rlt_detour_failed(const rlt_detour *d, const uint32_t *links, uint32_t n, uint64_t *bw_Bps);
/* For routes around failed links, until the next rlt_detour_set. */
int rlt_detour_reach(rlt_detour *d, rlt_graph_routes **out) RLT_MUST_USE;

#endif
