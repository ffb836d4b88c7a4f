/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * RCCL's orders of eight fully connected GPUs (xGMI). RCCL does not search such a box: it takes them from
 * tables (ROCm/rccl@0cbce2a, src/graph/rome_models.cc).
 *
 * Between nodes, eight paths (model 84): path k enters at GPU k's NIC and leaves at its last GPU's. Their 8 *
 * 7 hops use each of the 56 directed links once; one path starts, and one ends, at every GPU. Closed to
 * rings they would use 8 of the links twice, and move 8 * 48 / 2 = 192 GB/s.
 *
 * In one node, 14 closed rings (model 79, which has each of them twice): their 14 * 8 hops use each directed
 * link twice.
 *
 *   Example: links of 48 GB/s. Each ring has 24, all together 14 * 24 = 336 GB/s: the 7 links of a GPU.
 */
#ifndef RLT_COLLECTIVES_NODES_XGMI_H
#define RLT_COLLECTIVES_NODES_XGMI_H

#include <stdbool.h>
#include <stdint.h>

#include "collectives/collective.h"

enum { RLT_XGMI_GPUS = 8, RLT_XGMI_PATHS = 8, RLT_XGMI_RINGS = 14 };

/* Returns the paths between nodes: [k] is the order in which path k visits the GPUs. */
const uint32_t (*rlt_xgmi_paths(void))[RLT_XGMI_GPUS];
/* Returns the closed rings of one node. */
const uint32_t (*rlt_xgmi_rings(void))[RLT_XGMI_GPUS];

/* Whether a request is over several nodes, each of them eight fully connected members. */
bool rlt_xgmi_nodes(const rlt_coll_request *req);
/* Returns the member at place `place` of ring k modulo 8 over such nodes. Nodes with odd numbers are walked
 * backwards, so that a ring enters a node on the rail where it left the one before. */
uint32_t rlt_xgmi_ring_at(uint32_t k, uint32_t place);

#endif
