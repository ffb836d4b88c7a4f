/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The links of one tree-shaped transfer (reduction or multicast): the union of the routes from all ranks to
 * the root, each link once. A multicast uses the same cables in the other direction. If the root is one of
 * the ranks, its own part also goes to the first switch that can do the operation, and returns with the sum
 * (or copy). A sum for all ranks uses all these cables in both directions. Internal to net/.
 */
#ifndef RLT_NET_NETWORK_TREE_H
#define RLT_NET_NETWORK_TREE_H

#include "net/network.h"
#include "net/network_internal.h"
#include "sim/base/error.h"

/* Role of a link in the tree, stored in c->shares.times. */
enum { RLT_TREE_INNER, RLT_TREE_FIRST, RLT_TREE_LAST };

/* Fills c->shares with the links of the tree in the direction of travel. Each is FIRST (leaves a rank that
 * has something to send), LAST (enters a rank that receives) or INNER. Fills the cost of the transfer, whose
 * path is the longest branch, and counts the offered bytes. A failure has already gone to rlt_sim_fail. */
int rlt__net_tree(rlt_net_core *c, const rlt_tree_message *m, bool reduce, rlt_leg *leg) RLT_MUST_USE;
/* Returns the sum of the bytes that arrive. */
static inline uint64_t rlt__tree_bytes(const rlt_tree_message *m, bool reduce)
{
    return reduce && !m->all ? m->bytes : m->bytes * m->n;
}

#endif
