/* SPDX-License-Identifier: GPL-3.0-or-later */
/* State between the choice of a root and the layout of its tree. Internal to net/. */
#ifndef RLT_NET_AGGREGATION_TREE_INTERNAL_H
#define RLT_NET_AGGREGATION_TREE_INTERNAL_H

#include "net/aggregation/tree.h"
#include "sim/base/error.h"

typedef struct rlt_tree_node {
    uint32_t need, copies; /* contributions from below, copies for below */
    uint32_t branches;
    uint32_t up_load, down_load; /* packets on the edge above */
    bool member, adds, replicates;
} rlt_tree_node;

typedef struct rlt_tree_cost {
    double busiest;
    uint32_t depth, edges, root;
} rlt_tree_cost;

/* Edges lead away from the root. Edge e is link[e]; its link back is back[e]. */
typedef struct rlt_mapper {
    const rlt_reduction_request *req;
    uint32_t nodes, n_edges;
    uint32_t *src, *dst, *link, *back;
    uint32_t *in_first, *in; /* edges that enter each node, as rows */
    uint32_t *all;           /* 0 .. nodes-1 */
    uint8_t *tor;
    /* For the current root: */
    uint32_t root, depth;
    const uint32_t *distance; /* distance of each node from the root */
    uint32_t *best_distance;
    uint32_t *parent; /* edge by which the tree enters each node */
    uint32_t *order;  /* nodes of the tree, parents first */
    uint32_t n_order;
    uint8_t *in_tree;
    rlt_tree_node *node;
} rlt_mapper;

/* Lays out the tree that m holds as stops and paths. */
int rlt__reduction_lay_out(const rlt_mapper *m, const rlt_tree_cost *cost, rlt_reduction **out,
                           rlt_error *err) RLT_MUST_USE;
/* Returns the edge by which a shortest path from the root enters v; RLT_NONE if there is none. */
uint32_t rlt__choose_edge(const rlt_mapper *m, uint32_t v);

#endif
