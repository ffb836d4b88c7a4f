/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The cut that limits a collective most (Zhao et al.: "ForestColl", arXiv 2402.06787).
 *
 * Symbols: S is a set of nodes that leaves at least one member outside; B(S) is the bandwidth of the links
 * that leave S; n(S) is the number of members in S. The cut is the S with the least ratio B(S) / n(S). If
 * every member has D bytes that all others need, no algorithm takes less than D n(S) / B(S).
 *
 *   Example: two nodes of 8 GPUs, joined by 8 links of 50 GB/s each way. S = one node: B = 400 GB/s, n = 8.
 *   With D = 1 GB, 8 GB must leave the node: at least 20 ms.
 *
 * Method: an auxiliary source feeds every member at a rate x. igraph finds the smallest cut from the source.
 * While a cut is violated, x is lowered to its ratio. Sums are of integers, so the result is the ratio of a
 * real cut, whatever the rounding in between.
 *
 * All nodes are assumed to relay and to copy, and links inside S to be free, so the cut bounds any algorithm.
 * Results are kept with the topology; any thread may ask. Not computed above RLT_CUT_LINKS links of the
 * topology, or RLT_CUT_WORK members times links.
 */
#ifndef RLT_NET_TOPOLOGY_CUT_H
#define RLT_NET_TOPOLOGY_CUT_H

#include <stdbool.h>
#include <stdint.h>

#include "net/topology/topology.h"
#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RLT_CUT_LINKS = 1 << 12, RLT_CUT_WORK = 1 << 16 };

typedef struct rlt_cut_question {
    const uint32_t *accelerators; /* accelerators of the members */
    uint32_t n;
    uint32_t source; /* only member that counts in S, or RLT_NONE: all count */
    uint32_t sink;   /* only member that must be outside, or RLT_NONE: any */
    uint32_t split;  /* if not 0: S has exactly the first `split` members; other nodes are free */
    bool inwards;    /* use the bandwidth that enters S instead */
} rlt_cut_question;

/* A cut. inside == 0: not computed, or there is none. */
typedef struct rlt_cut {
    uint64_t bw_Bps; /* bandwidth of the links that leave (enter) S */
    uint32_t inside; /* number of members that count in S */
} rlt_cut;

int rlt_cut_find(const rlt_topology *t, const rlt_cut_question *q, rlt_cut *out, rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
