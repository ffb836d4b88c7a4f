/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tree-shaped transfers: the links of one reduction or multicast. The tree is made of the routes from all
 * ranks to the root, each link once; a multicast goes the other way on the same cables. Where the root is one
 * of the ranks, its own part too goes to the first switch that can, and comes back with the sum (or copy).
 * Internal to net/.
 */
#ifndef RLT_NET_NETWORK_TREE_H
#define RLT_NET_NETWORK_TREE_H

#include "net/network.h"
#include "net/network_internal.h"
#include "sim/base/error.h"

/* What a link of the tree is, in c->shares.times. */
enum { RLT_TREE_INNER, RLT_TREE_FIRST, RLT_TREE_LAST };

/* Fills c->shares with the links of the tree in the direction of travel, each marked FIRST (it leaves
 * a rank that has something to send), LAST (it enters a rank that gets something) or INNER. Also
 * fills the cost of the transfer, with the longest branch as its path, and counts what is offered. A
 * failure has been told to the simulation. */
int rlt__net_tree(rlt_net_core *c, const rlt_tree_message *m, bool reduce, rlt_leg *leg) RLT_MUST_USE;
/* Bytes that arrive in all. */
static inline uint64_t rlt__tree_bytes(const rlt_tree_message *m, bool reduce)
{
    return reduce ? m->bytes : m->bytes * m->n;
}

#endif
