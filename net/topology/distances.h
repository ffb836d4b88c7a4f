/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Distances from the roots of aggregation trees, cached per topology. Internal to net/. */
#ifndef RLT_NET_TOPOLOGY_DISTANCES_H
#define RLT_NET_TOPOLOGY_DISTANCES_H

#include "net/topology/frozen.h"
#include "net/topology/graph.h"
#include "sim/base/error.h"

/* Finds distances[i * g->n_nodes + v], from roots[i] to node v over the edges of g. The edges must depend on
 * the topology alone; `all` lists the nodes. igraph finds missing rows. Any thread. */
int rlt_distances_find(struct rlt_distance_memo *m, const rlt_edges *g, const uint32_t *all,
                       const uint32_t *roots, uint32_t n, uint32_t *distances, rlt_error *err) RLT_MUST_USE;

#endif
