/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fields of a topology. Nothing changes them after it is built, until it is freed. Internal to net/. */
#ifndef RLT_NET_TOPOLOGY_FROZEN_H
#define RLT_NET_TOPOLOGY_FROZEN_H

#include <stdbool.h>
#include <stdint.h>

#include "net/endpoint/endpoint.h"
#include "net/shapes/factor.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"
#include "sim/text/json.h"

typedef struct rlt_part rlt_part;

/* How accelerators reach a dimension, see net/topology/ports.h. */
typedef enum rlt_port_kind {
    RLT_PORTS_PLAIN,    /* each by a port of its own; one plane for each index inside the node */
    RLT_PORTS_OWN,      /* each by a port of its own; other planes, or messages do not move inside first */
    RLT_PORTS_NICS,     /* by NICs, which are nodes of the dimension */
    RLT_PORTS_IN_GRAPH, /* by NICs of the graph that is dimension 0 */
} rlt_port_kind;

/*
 * A dimension of a product. `group` is the mixed-radix index of the other coordinates.
 *
 *   local node x < n of group g    accelerator g % stride + x * stride + g / stride * stride * n
 *   local node x >= n of group g   switch first_switch + g * switches + (x - n)
 *
 *   Example: ring:4*switch:8, dimension 1: n = 8, stride 4. Local node 3 of group 1 is accelerator 13.
 *
 * Unless the ports are plain, group g is plane g mod planes of the outer index g / planes, and local node x
 * < n is the port of NIC (x mod per_plane) * planes + plane in node x / per_plane.
 */
typedef struct rlt_product_dim {
    rlt_factor f;
    uint32_t size; /* nodes along its coordinate; f.n counts ports */
    uint32_t stride, groups, first_link, first_switch;
    rlt_port_kind ports;
    uint32_t nics, planes, per_plane; /* in a node; per_plane = nics / planes */
    bool pxn;
    uint32_t network;          /* class of network that it states, plus 1; 0: none */
    uint32_t first_nic;        /* node, for RLT_PORTS_NICS */
    uint32_t first_nic_link;   /* 2a: from accelerator a to its NIC; 2a + 1: back */
    rlt_factor_links nic_link; /* bandwidth and latency of a link to a NIC */
} rlt_product_dim;

/* A graph. Links are in order of ids; the links of each node are compressed rows. */
typedef struct rlt_frozen_graph {
    rlt_link *links;
    uint8_t *kind;             /* rlt_node_kind of each node */
    uint8_t *forwards;         /* 1 or 0 */
    uint8_t *in_network;       /* flags RLT_CAN_... */
    uint32_t *out_first, *out; /* links that leave node v: out[out_first[v] .. out_first[v + 1]), ascending */
    uint32_t *in_first, *in;
    rlt_strings names; /* index = node */
    rlt_map route_of;  /* (source << 32 | destination) -> static route */
    uint32_t n_routes;
    uint32_t *route_first, *route_links; /* route r: route_links[route_first[r] .. route_first[r + 1]) */
    uint32_t n_logical, logical[RLT_MAX_DIMS];
    const char
        *shape[RLT_MAX_DIMS]; /* shapes of the logical dimensions, by direct links; see build_graph.c */
    rlt_pxn pxn;
} rlt_frozen_graph;

/* A link of a product whose bandwidth differs from that of its class, see rlt_topology_scale_links. */
typedef struct rlt_changed_link {
    uint32_t src, dst;
    uint64_t bw_Bps, was_Bps;
} rlt_changed_link;

struct rlt_topology {
    char *name, *source;
    uint64_t hash;
    rlt_endpoint endpoint;
    uint32_t accelerators, nodes, links;
    uint32_t n_rings, *rings; /* accelerators of all rings, one ring after the other */
    uint32_t n_choices;
    rlt_choice *choices;
    uint32_t n_dims; /* 0 in a graph */
    rlt_product_dim dims[RLT_MAX_DIMS];
    rlt_part *parts[RLT_MAX_DIMS]; /* graphs that are dimensions; NULL for the others */
    bool plain;                    /* all ports are plain, and no dimension is a graph */
    uint32_t node_size;            /* accelerators of a node */
    rlt_node_facts node;
    uint32_t n_changed, changed_room;
    rlt_changed_link *changed;
    rlt_map changed_at; /* link -> index into changed */
    rlt_frozen_graph graph;
    /* Caches. They are the only fields that change; each has a lock of its own. */
    struct rlt_cut_memo *cuts;
    struct rlt_distance_memo *distances;
};

/* net/topology/cut.c */
int rlt_cut_memo_create(struct rlt_cut_memo **out) RLT_MUST_USE;
void rlt_cut_memo_free(struct rlt_cut_memo *m);
/* net/topology/distances.c */
int rlt_distance_memo_create(struct rlt_distance_memo **out) RLT_MUST_USE;
void rlt_distance_memo_free(struct rlt_distance_memo *m);

/* Returns the bandwidth of a link in a product with changed links; `bw` is that of its class. */
static inline uint64_t rlt_changed_bw(const rlt_topology *t, uint32_t link, uint64_t bw)
{
    uint32_t i = rlt_map_get(&t->changed_at, link);
    return i == RLT_NONE ? bw : t->changed[i].bw_Bps;
}

/* net/topology/export.c: refuses a topology that is too large to be written. */
int rlt__export_check(const rlt_topology *t, rlt_error *err) RLT_MUST_USE;
/* Writes the members "endpoint", "auto", "routes" and "rings", for formats of nodes and links that have no
 * place for them. Routes are lists of nodes, with both ends. Read by net/import/rest.c. */
int rlt__export_rest(rlt_jw *w, const rlt_topology *t, rlt_error *err) RLT_MUST_USE;
/* net/topology/analyse.c: fills t->node, of a topology that is complete. */
void rlt__find_node_facts(rlt_topology *t);
/* net/topology/build_graph.c: makes the rows of a graph from its links; the `first` arrays are zeroed. */
void rlt__graph_rows(rlt_topology *t);
#endif
