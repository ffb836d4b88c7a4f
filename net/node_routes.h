/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Routes between the nodes of a graph that states pxn (net/topology/topology.h). A message to another node
 * first moves inside its own to the accelerator at the receiver's place, if pxn is on and their ports have
 * other places, or if the network does not join the two ports. It then leaves by its port and enters by the
 * receiver's. A message inside a node does not leave it. If there is no such way, the shortest one is taken.
 * Internal to net/; each router owns one.
 */
#ifndef RLT_NET_NODE_ROUTES_H
#define RLT_NET_NODE_ROUTES_H

#include "net/topology/route_graph.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"

typedef struct rlt_node_routes rlt_node_routes;

/* Makes routes; *out is NULL for a product, and for a graph that does not state pxn. */
int rlt_node_routes_create(const rlt_topology *t, size_t bytes, rlt_node_routes **out,
                           rlt_error *err) RLT_MUST_USE;
void rlt_node_routes_free(rlt_node_routes *r);
/* Appends the route from accelerator src to accelerator dst. `any` has the shortest routes. */
int rlt_node_routes_route(rlt_node_routes *r, rlt_graph_routes *any, uint32_t src, uint32_t dst,
                          rlt_graph_pick pick, rlt_walk *walk) RLT_MUST_USE;

#endif
