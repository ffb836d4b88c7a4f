/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The network between nodes, as a kernel meets it: what a step costs beside its links. A class of networks
 * (InfiniBand, RoCE, EFA, ...) gives the constants; each can be set. They count only for messages of tuned
 * collectives that leave a node (rlt_topology_node_size). Messages inside a node keep the node's costs.
 *
 * A step between nodes is delayed by
 *
 *   hop(kind, protocol) - 1 us + latency + rise * r(S) + P / staging   (the last under LL only)
 *
 *   hop      NCCL's own figure of such a step (src/graph/tuning.cc of NCCL 2.30). It contains a path of 1 us,
 *            which is taken off, because the links of the topology have their own latency.
 *   latency  what the class adds to every step
 *   rise     what the class adds to large collectives: r(S) is 0 up to 8 KiB, 1 from 32 KiB on, and grows
 *            with log2(S) between. S is the size of the collective.
 *   staging  rate at which the host passes on LL's lines, which it copies from and to its own memory
 *   P        what a node passes on in a step: S / nodes in a ring, S elsewhere
 *
 * Threads of the host wake up when a kernel is launched. No message leaves its node before `launch` has
 * passed since then (collectives/selector.c: the setup and the first chain of a tree count).
 *
 * A message takes a NIC for at least `gap`, the inverse of its message rate. Without GPU-direct all data pass
 * through the host, at `host` for a node.
 *
 * On the wire a message has its bytes times 16/8 (LL), 128/120 (LL128), or 1 / efficiency (Simple). A node
 * with one member fills its NIC less well (single).
 *
 *   Example: a step of NCCL's tree under LL over RoCE, collective of 1 KiB, 39 GB/s: 5 - 1 + 5 = 9 us,
 *   and 26 ns for the lines. Two links of 500 ns make it 10 us.
 */
#ifndef RLT_NET_ENDPOINT_INTERNODE_H
#define RLT_NET_ENDPOINT_INTERNODE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/time.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of kernels that send between nodes. */
typedef enum rlt_hop {
    RLT_HOP_RING,
    RLT_HOP_TREE,
    RLT_HOP_NVLS_TREE,
    RLT_HOP_COLLNET,
    RLT_HOP_PAT,
    RLT_HOP_DIRECT,
    RLT_HOPS
} rlt_hop;

/* Protocols by what they put on the wire. */
typedef enum rlt_line { RLT_LINE_LL, RLT_LINE_LL128, RLT_LINE_SIMPLE, RLT_LINES } rlt_line;

enum { RLT_INTERNODE_NONE, RLT_INTERNODE_USUAL }; /* first classes: no costs; infiniband */

typedef struct rlt_internode {
    uint32_t kind; /* row of the table of classes; 0: no costs beside the links */
    rlt_time latency_ps, rise_ps;
    rlt_time launch_ps; /* no message leaves its node earlier than this after the launch */
    uint32_t efficiency_ppm, tree_efficiency_ppm; /* payload over wire bytes under Simple; trees */
    uint32_t single_ppm;                          /* factor of both if a node has one member */
    uint64_t staging_Bps;                         /* of a node; 0: no limit */
    uint64_t host_Bps; /* of a node whose GPUs do not reach its NICs; 0: they do (GPU-direct) */
    rlt_time gap_ps;   /* a message takes a NIC for at least this time */
    rlt_time peer_ps;  /* all-to-all: once for each member on other nodes */
    uint32_t no_LL128; /* 1: LL128 is not used between nodes */
} rlt_internode;

/* Cost of a step between nodes, for one collective. */
typedef struct rlt_internode_step {
    rlt_time delay_ps, gap_ps;
    uint32_t wire_num, wire_den; /* wire bytes = bytes * num / den, rounded up */
} rlt_internode_step;

/* Returns the name of class i, from 0 ("none"); NULL past the end. */
RLT_API const char *rlt_internode_name(uint32_t i);
/* Returns where the constants of class i come from. */
RLT_API const char *rlt_internode_source(uint32_t i);
/* Returns the latency that the class's plug-in reports to NCCL's tuner. */
RLT_API rlt_time rlt_internode_plugin(uint32_t i);
/* Returns the constants of class i. */
RLT_API rlt_internode rlt_internode_class(uint32_t i);
/* A step of a collective. */
typedef struct rlt_internode_use {
    rlt_hop hop;
    rlt_line line;
    uint64_t bytes, passed; /* bytes of the collective; passed on by a node in a step */
    bool single;            /* each node has one member */
} rlt_internode_use;
/* Returns the cost of a step. */
RLT_API rlt_internode_step rlt_internode_cost(const rlt_internode *f, const rlt_internode_use *use);

#ifdef __cplusplus
}
#endif
#endif
