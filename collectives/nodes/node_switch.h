/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Switches that add up and replicate, inside nodes of g members and between the nodes. Member k g + i is head
 * i of node k. It owns slice i of the data, and head i of every node is on one rail.
 */
#ifndef RLT_COLLECTIVES_NODES_NODE_SWITCH_H
#define RLT_COLLECTIVES_NODES_NODE_SWITCH_H

#include <stdbool.h>
#include <stdint.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "sim/base/error.h"

/* Refuses a request without at least two nodes that have at least two members each, the same number on all.
 * RLT_ETOPOLOGY. */
int rlt_nodes_regular(const rlt_coll_request *req, const char *algorithm, rlt_error *err) RLT_MUST_USE;

/* Returns flags RLT_CAN_...: what a single switch can do that all members of a node (`inside`), or all heads
 * of one number, hang on. In a graph, what any of its switches can do: the network then decides. A request
 * without a topology: everything. */
uint32_t rlt_node_switch_can(const rlt_coll_request *req, bool inside);

/* Returns the number of chunks of a head's slice: as many of `piece` bytes as there are, at most `most`, and
 * fewer in large groups: `ways` lanes with this many chunks each, at all members, are at most 2^21 lanes. */
uint32_t rlt_node_chunks(const rlt_coll_request *req, uint32_t ways, uint64_t piece, uint32_t most);

/* The members of the node of a member, and the heads of its number. */
static inline rlt_reach rlt_node_members(const rlt_plan *plan, uint32_t member)
{
    uint32_t g = plan->req.node;
    return (rlt_reach){.first = member - member % g, .stride = 1, .n = g};
}
static inline rlt_reach rlt_node_heads(const rlt_plan *plan, uint32_t member)
{
    uint32_t g = plan->req.node;
    return (rlt_reach){.first = member % g, .stride = g, .n = plan->req.n / g};
}

#endif
