/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rings over nodes of several members: a ring visits all members of a node, then goes on to the next node.
 * Each of several rings enters and leaves a node elsewhere, so that together they use all its NICs. Nodes
 * with odd numbers are visited backwards, so that a ring enters a node where it left the one before, on the
 * same rail (NCCL since 2.20: src/graph/connect.cc with NCCL_CROSS_NIC=2).
 *
 *   Example: three members a node. Ring 1 visits 1 2 0 of node 0, then 0 2 1 of node 1. Ring 2: 2 0 1, 1 0 2.
 *
 * Nodes of eight fully connected members take the paths of xgmi.h instead, which use all their links.
 *
 * g members a node, N nodes, n = N g. Ring c of C: s = c g / C, rounded down; node 0 is entered at member s.
 */
#ifndef RLT_COLLECTIVES_NODES_NODE_RING_H
#define RLT_COLLECTIVES_NODES_NODE_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"

/* Returns the rings that a request should use, unless it states `channels`: one for each member of a node.
 * 0: it has no nodes of several members, or rings of its own. */
uint32_t rlt_node_rings(const rlt_coll_request *req);
/* Returns the member at place `place` of ring c. */
uint32_t rlt_node_ring_at(uint32_t node, uint32_t start, uint32_t place);

/*
 * Closed form, in which all members do the same: for an even number of nodes and a multiple of g channels.
 * Lane l of a member is the ring in which it is place l mod g of its node, and copy l / g of that ring. So a
 * message goes from lane l to the next one, round g. Lanes share one set of blocks: block m C + k g + c is
 * the share of member m in copy k of ring c.
 */
bool rlt_node_ring_closed(const rlt_coll_request *req);
/* Step k of an all-reduce; `first` is subtracted from the number of the step that waits (see ring.c). */
void rlt_node_ring_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, uint32_t first,
                        rlt_step *out);

#endif
