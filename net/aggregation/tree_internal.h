/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A tree being mapped: between the choice of its root and its layout. Internal to net/. */
#ifndef RLT_NET_AGGREGATION_TREE_INTERNAL_H
#define RLT_NET_AGGREGATION_TREE_INTERNAL_H

#include "net/aggregation/tree.h"
#include "sim/base/error.h"

typedef struct rlt_tree_node {
    uint32_t need, copies; /* from below, and for below */
    uint32_t branches;
    uint32_t up_load, down_load; /* of the edge above */
    bool member, adds, replicates;
} rlt_tree_node;

typedef struct rlt_tree_cost {
    double busiest;
    uint32_t depth, edges, root;
} rlt_tree_cost;

/* Edges lead away from roots: link[e], whose counterpart is back[e]. */
typedef struct rlt_mapper {
    const rlt_reduction_request *req;
    uint32_t nodes, n_edges;
    uint32_t *src, *dst, *link, *back;
    uint32_t *in_first, *in; /* edges that enter a node */
    uint32_t *all;           /* 0 .. nodes-1 */
    uint8_t *tor;
    /* of the present root: */
    uint32_t root, depth;
    const uint32_t *distance; /* from it */
    uint32_t *best_distance;
    uint32_t *parent; /* edge that enters a node of the tree */
    uint32_t *order;  /* nodes of the tree, parents first */
    uint32_t n_order;
    uint8_t *in_tree;
    rlt_tree_node *node;
} rlt_mapper;

/* The tree that m holds, as stops and ways. */
int rlt__reduction_lay_out(const rlt_mapper *m, const rlt_tree_cost *cost, rlt_reduction **out,
                           rlt_error *err) RLT_MUST_USE;
/* The edge by which a shortest way from the root enters v; RLT_NONE: none. */
uint32_t rlt__choose_edge(const rlt_mapper *m, uint32_t v);

#endif
