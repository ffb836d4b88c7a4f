/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reductions mapped on a network: a tree of shortest paths from a root switch to the members (distances by
 * igraph). Switches on it that can (`in_network`) add up what comes together there.
 *
 *   adder        can reduce, is allowed to by `place`, and has two branches or more (the root: any number).
 *                It sends one packet up for each chunk, and hands results on to its branches.
 *   replicator   can multicast and has two branches or more: one packet of a result is enough for all below.
 *   others       only forward: up, as many packets of a chunk as contributions; down, as many as copies.
 *
 * Candidates are the roots that reach every member. The choice takes, in this order: the least load of the
 * busiest edge (packets of a chunk / bandwidth), the least depth, the fewest edges, the lowest number.
 * Between equally short paths the link with the lowest number wins, or, with `spread`, the lowest hash of the
 * number, so that several trees differ. Accelerators relay only where their file says so.
 *
 * Loading thread only, where igraph may be called. Once a tree of any root was made, the topology knows the
 * distances of all trees with these switches. Links of a path lead from one node to the next.
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

/* Which of the switches that can add do so: all; those next to an accelerator; all but those. */
typedef enum rlt_add_place { RLT_ADD_ALL, RLT_ADD_TOR, RLT_ADD_SPINE } rlt_add_place;

typedef struct rlt_reduction_request {
    const rlt_topology *topology;
    uint32_t n;
    const uint32_t *nodes; /* of members: their accelerators, all different */
    uint32_t n_servers;    /* nodes besides, to and from which there is a way from the root */
    const uint32_t *servers;
    rlt_add_place place;
    uint32_t width;        /* most contributions that an adder can tell apart; 0: any number */
    uint32_t root;         /* RLT_NONE: the best */
    const uint8_t *barred; /* by node: 1 where it does not add (it refused); NULL: none */
    uint64_t spread;       /* 0: lowest link */
    const uint32_t *load;  /* by link: packets of other trees, which count; NULL: none */
} rlt_reduction_request;

typedef struct rlt_way {
    uint32_t first, n; /* rlt_reduction.links[first .. first + n) */
} rlt_way;

/* Whose sums or gradients an adder gets: of a member or a stop (the other is RLT_NONE). */
typedef struct rlt_contributor {
    uint32_t member, stop;
    rlt_way up, down; /* from there to the adder, and back */
} rlt_contributor;

/* Where copies of a result go. */
typedef struct rlt_branch {
    uint32_t member, stop;
    rlt_way down;
} rlt_branch;

/* An adder or a replicator. */
typedef struct rlt_stop {
    uint32_t node;
    bool adds;
    uint32_t parent, child; /* stop of the next adder above, and its number there; RLT_NONE at the root */
    uint32_t need;          /* contributions to a sum; contributors[first_contributor + 0 .. need) */
    uint32_t first_contributor;
    uint32_t first_branch, n_branches;
} rlt_stop;

/* One edge of the tree: the links up and down, and packets of one chunk on them. */
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
    uint32_t *member_stop, *member_child; /* the adder that a member sends to, and its number there */
    rlt_way *to_server, *from_server;     /* between the root and each server */
    uint32_t n_edges;
    rlt_tree_edge *edges;
    uint32_t depth;  /* links from the root to the farthest member */
    uint32_t levels; /* adders on the way up, at most */
    double busiest;  /* packets over bytes a second, of the busiest edge, `load` included */
    uint32_t *links;
    uint32_t n_links;
} rlt_reduction;

/* RLT_ETOPOLOGY where no switch can, with a reason; RLT_ERANGE for networks too large to search. */
RLT_API int rlt_reduction_create(const rlt_reduction_request *req, rlt_reduction **out,
                                 rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_reduction_free(rlt_reduction *r);
/* Adds its packets to load[], by link. */
RLT_API void rlt_reduction_load(const rlt_reduction *r, uint32_t *load);

#ifdef __cplusplus
}
#endif
#endif
