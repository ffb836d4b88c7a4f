/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Builds topologies from the specification that the readers (JSON, GraphML, YAML, compact form) fill.
 * Internal to net/. All checks that do not depend on the file format are here: sizes, positive finite
 * bandwidth, connected accelerators, duplicate names, ring orders that are permutations.
 */
#ifndef RLT_NET_TOPOLOGY_BUILD_H
#define RLT_NET_TOPOLOGY_BUILD_H

#include "net/endpoint/endpoint.h"
#include "net/shapes/factor.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"

/* Bytes of a node's name: one limit for all formats, so that a file which is read can be written in any. */
enum { RLT_MAX_NODE_NAME = 200 };

typedef struct rlt_graph_node {
    const char *name; /* 1 to RLT_MAX_NODE_NAME bytes of UTF-8 without control characters */
    rlt_node_kind kind;
    int8_t forwards;    /* 1, 0, or -1: default of the kind (accelerators do not relay, others do) */
    uint8_t in_network; /* flags RLT_CAN_... */
    const char *where;  /* place for errors; may be NULL */
} rlt_graph_node;

typedef struct rlt_graph_link {
    uint32_t src, dst; /* indices of nodes */
    uint64_t bw_Bps;
    rlt_time latency_ps;
    const char *where; /* place for errors; may be NULL */
} rlt_graph_link;

typedef struct rlt_static_route {
    uint32_t src, dst; /* nodes */
    uint32_t n;        /* number of relaying nodes, without the ends */
    const uint32_t *via;
    const char *where;
} rlt_static_route;

/* A specification. Strings and arrays are borrowed; rlt_topology_build copies them. */
typedef struct rlt_topology_spec {
    const char *name, *source;
    const char *where; /* place of errors without a place of their own: the file */
    uint64_t hash;     /* hash of the text that it was read from */
    rlt_endpoint endpoint;
    uint32_t n_rings;
    const uint32_t *const *rings; /* each has one id per accelerator (in a graph: in order of appearance) */
    uint32_t node_size;           /* accelerators of a node, also of a graph; 0: see rlt_topology_node_size */
    uint32_t n_choices;
    const rlt_choice *choices; /* see rlt_topology_choices */
    /* Either a product: */
    uint32_t n_dims;
    const rlt_dim_spec *dims;
    /* or a graph (n_nodes > 0) of directed links. `logical` gives its dimensions for hierarchical
     * collectives, innermost first; their product is the number of accelerators (0: one dimension of all, or
     * the node and the nodes). */
    rlt_pxn pxn;
    uint32_t n_nodes, n_links, n_routes, n_logical;
    const rlt_graph_node *nodes; /* renumbered: accelerators first, in order of appearance */
    const rlt_graph_link *links;
    const rlt_static_route *routes;
    const uint32_t *logical;
} rlt_topology_spec;

/* net/topology/build.c: returns true if the text at s begins with a character that every format can hold:
 * UTF-8, no control character, no noncharacter of XML. *bytes is its length; 1 if it is no UTF-8. */
bool rlt__is_plain(const char *s, size_t *bytes);
/* net/topology/build_graph.c: fills the graph of a topology whose other fields are set. */
int rlt_build_graph(const rlt_topology_spec *spec, rlt_topology *t, rlt_error *err) RLT_MUST_USE;

int rlt_topology_build(const rlt_topology_spec *spec, rlt_topology **out, rlt_error *err) RLT_MUST_USE;

#endif
