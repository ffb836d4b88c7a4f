/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Building topologies: what the readers (JSON, GraphML, YAML, compact form) hand over. Internal to net/.
 * All checks that do not depend on the file format are made here: sizes, positive finite bandwidth,
 * connectedness of the accelerators, duplicate names, ring orders that are permutations.
 */
#ifndef RLT_NET_TOPOLOGY_BUILD_H
#define RLT_NET_TOPOLOGY_BUILD_H

#include "net/shapes/factor.h"
#include "net/topology/endpoint.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"

typedef struct rlt_graph_node {
    const char *name;
    rlt_node_kind kind;
    int8_t forwards;    /* 1, 0, or -1: the kind's default (accelerators do not relay, all others do) */
    uint8_t in_network; /* RLT_CAN_... */
    const char *where;  /* may be NULL */
} rlt_graph_node;

typedef struct rlt_graph_link {
    uint32_t src, dst; /* indices of nodes */
    uint64_t bw_Bps;
    rlt_time latency_ps;
    const char *where; /* may be NULL */
} rlt_graph_link;

typedef struct rlt_static_route {
    uint32_t src, dst; /* nodes */
    uint32_t n;        /* nodes on the way, without the ends */
    const uint32_t *via;
    const char *where;
} rlt_static_route;

/* All strings and arrays are borrowed and copied. */
typedef struct rlt_topology_spec {
    const char *name, *source;
    const char *where; /* the place of errors that have no other: the file */
    uint64_t hash;     /* of the text it was read from */
    rlt_endpoint endpoint;
    uint32_t n_rings;
    const uint32_t *const *rings; /* each of n accelerator ids (in a graph: in order of appearance) */
    /* a product: */
    uint32_t n_dims;
    const rlt_dim_spec *dims;
    /* or a graph (n_nodes > 0), directed links; `logical` gives its dimensions for hierarchical collectives,
     * innermost first, product = number of accelerators (0: one dimension of all) */
    uint32_t n_nodes, n_links, n_routes, n_logical;
    const rlt_graph_node *nodes; /* accelerators are renumbered to come first, in order of appearance */
    const rlt_graph_link *links;
    const rlt_static_route *routes;
    const uint32_t *logical;
} rlt_topology_spec;

/* net/topology/build_graph.c: fills the graph of a topology whose common part is set. */
int rlt_build_graph(const rlt_topology_spec *spec, rlt_topology *t, rlt_error *err) RLT_MUST_USE;

int rlt_topology_build(const rlt_topology_spec *spec, rlt_topology **out, rlt_error *err) RLT_MUST_USE;

#endif
