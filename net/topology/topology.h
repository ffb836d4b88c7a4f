/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Topologies are built once, checked, then frozen. Any number of threads may share a const rlt_topology.
 *
 * Two kinds behind one interface:
 *
 *   product  A list of dimensions, innermost first, each a shape (ring, switch, fat-tree, ...) over n
 *            accelerators. An accelerator's id is mixed radix, dimension 0 fastest. Only the factors are
 *            stored; links and routes of the product are computed in closed form. Nodes: the accelerators,
 *            then the switches of dimension 0 group by group, those of dimension 1, and so on. Accelerators
 *            relay along rings, meshes and tori, and from one dimension to the next.
 *   graph    Any nodes and links, as CSR arrays, from JSON node and link lists or GraphML. Accelerators relay
 *            only where the file says so.
 *
 * Links are directed; a full-duplex cable is two links. Link ids are dense, 0 .. rlt_topology_links()-1. In a
 * product the links of dimension d are contiguous:
 *
 *   id = base(d) + group * links_of_factor(d) + local link
 *
 * `group` is the mixed-radix index of the other coordinates.
 *
 *   Example: ring:4*switch:8. Accelerator 13 has the coordinates (13 mod 4, 13 div 4) = (1, 3). Dimension 0
 *   has 8 groups of 8 links, so base(1) = 64. The uplink of accelerator 13 in dimension 1 is local link 2 * 3
 *   of group 1: 64 + 1 * 16 + 6 = 86.
 *
 * Bandwidth of a dimension is what one accelerator can send into it in one direction. Share of a link:
 *
 *   ring                            1/2
 *   fully connected                 1/(n-1)
 *   mesh, torus                     1/(2k), k sub-dimensions
 *   switch, fat-tree, dragonfly, rail   1
 *
 * `link_bandwidth` gives a link's own bandwidth instead.
 *
 * Units: bytes a second, picoseconds. rlt_topology_free frees everything reached from a topology.
 */
#ifndef RLT_NET_TOPOLOGY_TOPOLOGY_H
#define RLT_NET_TOPOLOGY_TOPOLOGY_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/endpoint/endpoint.h"
#include "net/shapes/shapes.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/registry.h"
#include "sim/base/time.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RLT_MAX_DIMS = 8 };

typedef enum rlt_node_kind {
    RLT_ACCELERATOR,
    RLT_NIC,
    RLT_PCIE,
    RLT_CPU,
    RLT_SWITCH,
} rlt_node_kind;

typedef struct rlt_link {
    uint32_t src, dst; /* node ids */
    uint32_t dim;      /* dimension in a product; 0 in a graph */
    uint64_t bw_Bps;
    rlt_time latency_ps;
} rlt_link;

/* Returns a bandwidth times a factor; at least one byte a second. */
static inline uint64_t rlt__scaled_bw(uint64_t bw_Bps, double scale)
{
    if (scale == 1.0)
        return bw_Bps;
    double bw = nearbyint((double)bw_Bps * scale);
    return bw < 1 ? 1 : bw >= 0x1p63 ? (uint64_t)1 << 63 : (uint64_t)bw;
}

/* A dimension, as seen from outside. In a graph: a logical dimension that the file states (at least one). */
typedef struct rlt_dim {
    const char *shape; /* "ring", "switch", ...; "graph" */
    uint32_t size;
    uint64_t bw_Bps; /* one accelerator into this dimension, one direction; 0 if it differs between them */
    rlt_time latency_ps; /* latency of one link; 0 if links differ */
    uint64_t link_Bps;   /* bandwidth of one link; 0 if links differ */
    rlt_time far_ps;     /* largest latency inside it; 0 in a graph */
    uint32_t leaf;       /* accelerators at a switch; all of them if it has no leaves */
    uint32_t in_network; /* flags RLT_CAN_... of its switches */
} rlt_dim;

typedef struct rlt_topology rlt_topology;

RLT_API void rlt_topology_free(rlt_topology *t);
/* Finds links by name: the number of one, "FROM->TO" (node names: all links from one to the other), or a node
 * (all links to and from it). *links is malloc'ed. */
RLT_API int rlt_topology_find_links(const rlt_topology *t, const char *which, uint32_t **links, uint32_t *n,
                                    rlt_error *err) RLT_MUST_USE;
/* Multiplies the bandwidth of these links (for what-if studies), before anything is made from the
 * topology. */
RLT_API int rlt_topology_scale_links(rlt_topology *t, const char *which, double factor,
                                     rlt_error *err) RLT_MUST_USE;

/* Multiplies the bandwidth of all links of dimension d, before anything is made from the topology and before
 * single links are scaled. Links of a dimension stay alike. Only for a product, and a dimension that is no
 * graph: RLT_EUNSUPPORTED. */
RLT_API int rlt_topology_scale_dim(rlt_topology *t, uint32_t d, double factor, rlt_error *err) RLT_MUST_USE;

RLT_API const char *rlt_topology_name(const rlt_topology *t);   /* never NULL */
RLT_API const char *rlt_topology_source(const rlt_topology *t); /* source of its numbers; may be "" */
RLT_API uint64_t rlt_topology_hash(const rlt_topology *t);      /* hash of everything that affects a result */
RLT_API bool rlt_topology_is_product(const rlt_topology *t);
RLT_API uint32_t rlt_topology_accelerators(const rlt_topology *t);
RLT_API uint32_t rlt_topology_nodes(const rlt_topology *t); /* accelerators are 0 .. accelerators-1 */
RLT_API uint32_t rlt_topology_links(const rlt_topology *t);
RLT_API rlt_link rlt_topology_link(const rlt_topology *t, uint32_t id); /* O(dimensions) */
RLT_API rlt_node_kind rlt_topology_node_kind(const rlt_topology *t, uint32_t node);
/* Returns true if a node relays traffic of others. Accelerators of a product do, between its dimensions and
 * along rings and grids. */
RLT_API bool rlt_topology_forwards(const rlt_topology *t, uint32_t node);
RLT_API uint32_t rlt_topology_in_network(const rlt_topology *t, uint32_t node); /* flags RLT_CAN_... */
RLT_API uint32_t rlt_topology_in_networks(const rlt_topology *t);               /* union over all its nodes */
/* Returns the link in the other direction between the same two nodes (the other half of its cable), or
 * RLT_NONE. */
RLT_API uint32_t rlt_topology_reverse(const rlt_topology *t, uint32_t link);
/* Writes the name of a node: "acc3", "sw1.0.2" (dimension, group, local), or its name in the file. Writes at
 * most `size` bytes and returns `buffer`. */
RLT_API const char *rlt_topology_node_name(const rlt_topology *t, uint32_t node, char *buffer, size_t size);
/* Returns the node with that name, or RLT_NONE. */
RLT_API uint32_t rlt_topology_find_node(const rlt_topology *t, const char *name);

RLT_API uint32_t rlt_topology_dims(const rlt_topology *t);
RLT_API rlt_dim rlt_topology_dim(const rlt_topology *t, uint32_t d);
/* Writes the sub-dimensions of a torus or mesh, the first fastest, into sizes[]; for any other shape only its
 * size. Returns how many. */
RLT_API uint32_t rlt_topology_sub_sizes(const rlt_topology *t, uint32_t d, uint32_t sizes[RLT_MAX_DIMS]);
/* Returns the sum of the bandwidths of the links that leave (enter) an accelerator. */
RLT_API uint64_t rlt_topology_egress_Bps(const rlt_topology *t, uint32_t accelerator);
RLT_API uint64_t rlt_topology_ingress_Bps(const rlt_topology *t, uint32_t accelerator);
/* Returns true, with the bandwidth, if all accelerators have the same egress and ingress and this is known
 * without looking at each (products without borders). */
RLT_API bool rlt_topology_uniform_Bps(const rlt_topology *t, uint64_t *bw_Bps);

/* Returns the least b such that any renumbering of the coordinates of dimension d that moves whole blocks of
 * b, the same for all accelerators, takes links to links of the same speed, and D-mod-k routes to such
 * routes; 0: none is known. It is 1 for switches, whatever the routing, and for rails of one leaf on which
 * messages do not change the rail; and inside a node only if each accelerator has a port of its own. In a fat
 * tree it is a leaf or a pod. */
RLT_API uint32_t rlt_topology_exchanges(const rlt_topology *t, uint32_t d);

/* Returns the parameters of a dimension of any shape: how accelerators reach it (net/topology/ports.h). */
RLT_API const rlt_param *rlt_port_parameters(void);

/* Returns the accelerators of a node, which are consecutive: those that reach each other without the network
 * between nodes; all of them if nothing says where nodes end. In a product written out, a node ends before
 * the first dimension that is a rail or states NICs, planes or pxn, or has less than half the bandwidth of
 * the one before it. */
RLT_API uint32_t rlt_topology_node_size(const rlt_topology *t);

/* How a node of a machine is joined inside and to the network. */
typedef struct rlt_node_facts {
    uint32_t accelerators, nics;
    uint64_t inside_Bps; /* one accelerator to the others of its node; 0: unknown */
    uint64_t nic_Bps;    /* one NIC into the network; 0: unknown, or NICs differ */
    uint32_t in_network; /* flags RLT_CAN_... that all switches inside a node have */
    uint32_t outside;    /* and those of the network between nodes */
} rlt_node_facts;
/* Returns the facts of a node; those of a graph from its first node. */
RLT_API const rlt_node_facts *rlt_topology_node(const rlt_topology *t);

/* Whether a message between nodes of a graph first moves inside its node to the accelerator at the receiver's
 * place, as in a product (net/topology/ports.h). If a graph states neither, all routes are shortest paths. */
typedef enum rlt_pxn { RLT_PXN_UNSTATED, RLT_PXN_ON, RLT_PXN_OFF } rlt_pxn;
/* Returns what the graph states; of a product, what its outermost dimension does. */
RLT_API rlt_pxn rlt_topology_pxn(const rlt_topology *t);

/* Rings that the file recommends for ring algorithms, one per channel; each is a permutation of
 * accelerators. */
RLT_API uint32_t rlt_topology_rings(const rlt_topology *t);
RLT_API const uint32_t *rlt_topology_ring(const rlt_topology *t, uint32_t i);

/*
 * Algorithm that `auto` takes for a collective from a size on: what a machine's log says it chose, or what
 * its file states. Names are those of collectives/; this room does not know them.
 */
typedef struct rlt_choice {
    char collective[24], algorithm[32];
    uint64_t from_bytes;
} rlt_choice;
/* Returns the choices, those of one collective together and in order of size. *n is their number. */
RLT_API const rlt_choice *rlt_topology_choices(const rlt_topology *t, uint32_t *n);
/* Returns the name of the algorithm that is stated for a collective of that many bytes; NULL: none. */
RLT_API const char *rlt_topology_chosen(const rlt_topology *t, const char *collective, uint64_t bytes);

/* Returns the endpoint settings of the file, or the defaults. */
RLT_API const rlt_endpoint *rlt_topology_endpoint(const rlt_topology *t);

/*
 * Analysis. The longest routes come from the shapes of a product, or from a search of a graph from every
 * accelerator (0 if that would take more than 4e9 steps). The bisection is the smallest cut by igraph, with
 * each half contracted to one node (0: not computed, above 2^22 links, or 2^18 between switches). Loading
 * thread only.
 */
typedef struct rlt_topology_facts {
    /* largest number of links, and zero-load latency, between two accelerators; more than any route has, if
     * accelerators of a node share several NICs */
    uint32_t diameter_hops;
    rlt_time diameter_ps;
    uint64_t bisection_Bps; /* least cut between halves: by number, and by each coordinate of a product */
    uint64_t min_egress_Bps, max_egress_Bps;
    uint32_t links_by_dim[RLT_MAX_DIMS];
} rlt_topology_facts;
RLT_API int rlt_topology_analyse(const rlt_topology *t, rlt_topology_facts *facts,
                                 rlt_error *err) RLT_MUST_USE;

/* Writes the whole graph as "graphml", "dot" or "json". *text is malloc'ed and owned by the caller. */
RLT_API int rlt_topology_export(const rlt_topology *t, const char *format, char **text,
                                rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
