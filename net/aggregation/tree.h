/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Maps reductions on a network: a tree of shortest paths from a root switch to the members (distances by
 * igraph). Switches on it that can reduce (`in_network`) sum the packets that meet there.
 *
 *   adder        can reduce, is allowed to by `place`, and has two branches or more (the root: any number).
 *                It sends one packet up for each chunk, and hands results on to its branches.
 *   replicator   can multicast and has two branches or more: one packet of a result is enough for all below.
 *   others       only forward: up, as many packets of a chunk as contributions; down, as many as copies.
 *
 * Candidates are the roots that reach every member. The choice minimises, in this order: the load of the
 * busiest edge (packets of a chunk / bandwidth), the depth, the number of edges, the node number. Between
 * equally short paths the link with the lowest number wins, or, with `spread`, the link with the lowest hash,
 * so that several trees differ. Accelerators relay only if their file says so.
 *
 * Call it on the loading thread only, where igraph may be called. After the first tree of any root, the
 * topology knows the distances for all trees with these switches. The links of a path lead from one node to
 * the next.
 */
#ifndef RLT_NET_AGGREGATION_TREE_H
#define RLT_NET_AGGREGATION_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "net/topology/topology.h"
#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Switches that reduce, among those that can: all of them, those next to an accelerator, or all others. */
typedef enum rlt_add_place { RLT_ADD_ALL, RLT_ADD_TOR, RLT_ADD_SPINE } rlt_add_place;

typedef struct rlt_reduction_request {
    const rlt_topology *topology;
    uint32_t n;
    const uint32_t *nodes; /* accelerators of the members, all different */
    uint32_t n_servers;    /* other nodes that need a path to and from the root */
    const uint32_t *servers;
    rlt_add_place place;
    uint32_t width;        /* most contributions that an adder can tell apart; 0: no limit */
    uint32_t root;         /* root; RLT_NONE: choose the best */
    const uint8_t *barred; /* per node: 1 if it does not add (it refused); NULL: none */
    uint64_t spread;       /* seed of the choice among equal links; 0: lowest link */
    const uint32_t *load;  /* per link: packets of other trees, added to the load; NULL: none */
} rlt_reduction_request;

typedef struct rlt_way {
    uint32_t first, n; /* rlt_reduction.links[first .. first + n) */
} rlt_way;

/* A contributor of an adder: a member or a stop (the other is RLT_NONE). */
typedef struct rlt_contributor {
    uint32_t member, stop;
    rlt_way up, down; /* paths from it to the adder, and back */
} rlt_contributor;

/* A destination of copies of a result: a member or a stop. */
typedef struct rlt_branch {
    uint32_t member, stop;
    rlt_way down;
} rlt_branch;

/* An adder or a replicator. */
typedef struct rlt_stop {
    uint32_t node;
    bool adds;
    uint32_t parent, child; /* next adder above, and this stop's number there; RLT_NONE at the root */
    uint32_t need;          /* contributions to a sum: contributors[first_contributor + 0 .. need) */
    uint32_t first_contributor;
    uint32_t first_branch, n_branches;
} rlt_stop;

/* One edge of the tree: its links up and down, and the packets of one chunk on them. */
typedef struct rlt_tree_edge {
    uint32_t up, down;
    uint32_t up_load, down_load;
} rlt_tree_edge;

typedef struct rlt_reduction {
    uint32_t n_stops; /* stops[0] is the root */
    rlt_stop *stops;
    rlt_contributor *contributors;
    uint32_t n_contributors;
    rlt_branch *branches;
    uint32_t n_branches;
    uint32_t *member_stop, *member_child; /* adder that a member sends to, and the member's number there */
    rlt_way *to_server, *from_server;     /* paths between the root and each server */
    uint32_t n_edges;
    rlt_tree_edge *edges;
    uint32_t depth;  /* links from the root to the farthest member */
    uint32_t levels; /* most adders on the way up */
    double busiest;  /* load of the busiest edge: packets / (bytes a second), including `load` */
    uint32_t *links;
    uint32_t n_links;
} rlt_reduction;

/* Maps a reduction. RLT_ETOPOLOGY with a reason if no switch can do it; RLT_ERANGE for networks too large to
 * search. */
RLT_API int rlt_reduction_create(const rlt_reduction_request *req, rlt_reduction **out,
                                 rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_reduction_free(rlt_reduction *r);
/* Computes the distances that the trees of a topology need, so that no other thread calls igraph. A network
 * without a tree for all ranks reports that later, when a tree is asked for. */
int rlt_reduction_prime(const rlt_topology *t, rlt_error *err) RLT_MUST_USE;
/* Adds the packets of the tree to load[], per link. */
RLT_API void rlt_reduction_load(const rlt_reduction *r, uint32_t *load);

#ifdef __cplusplus
}
#endif
#endif
