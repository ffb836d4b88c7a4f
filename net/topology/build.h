/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Building topologies: what the readers (JSON, GraphML, YAML, compact form) hand over. Internal to net/.
 * All checks that do not depend on the file format are made here: sizes, positive finite bandwidth,
 * connectedness of the accelerators, duplicate names, ring orders that are permutations.
 */
#ifndef RLT_NET_TOPOLOGY_BUILD_H
#define RLT_NET_TOPOLOGY_BUILD_H

#include "net/topology/topology.h"

enum { RLT_MAX_DIM_PARAMS = 8 };

typedef struct rlt_dim_spec {
    const char *shape;
    uint32_t size;        /* accelerators in the dimension */
    uint64_t bw_Bps;      /* of one accelerator into the dimension, or 0 if link_bw_Bps is given */
    uint64_t link_bw_Bps; /* of one link, or 0 */
    rlt_time latency_ps;  /* of one link */
    uint32_t n_params;    /* the shape's own: "sizes=4x4x4", "levels=3", "oversubscription=2", ... */
    struct {
        const char *name, *value;
    } params[RLT_MAX_DIM_PARAMS];
    const char *where; /* place for errors, such as "fabric.json:12:5: dims[1]"; may be NULL */
} rlt_dim_spec;

typedef struct rlt_graph_node {
    const char *name;
    rlt_node_kind kind;
    int8_t forwards;    /* 1, 0, or -1: the kind's default (accelerators do not relay, all others do) */
    uint8_t in_network; /* RLT_CAN_... */
    const char *where;  /* may be NULL */
} rlt_graph_node;

/* "reduce+multicast" to RLT_CAN_... */
bool rlt_in_network_parse(const char *text, uint8_t *out);
#define RLT_IN_NETWORK_WORDS "reduce, multicast or reduce+multicast"

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

int rlt_topology_build(const rlt_topology_spec *spec, rlt_topology **out, rlt_error *err) RLT_MUST_USE;

/* Readers: text to topology. `name` is the file's name for messages. */
int rlt_topology_from_json(const char *name, const char *text, size_t length, rlt_topology **out,
                           rlt_error *err) RLT_MUST_USE;
int rlt_topology_from_graphml(const char *name, const char *text, size_t length, rlt_topology **out,
                              rlt_error *err) RLT_MUST_USE;
int rlt_topology_from_astra(const char *name, const char *text, size_t length, rlt_topology **out,
                            rlt_error *err) RLT_MUST_USE;
int rlt_topology_from_compact(const char *text, rlt_topology **out, rlt_error *err) RLT_MUST_USE;

#endif
