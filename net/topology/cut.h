/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The cut that limits a collective most. Over all sets S of nodes that leave some member outside, it is the
 * least ratio of the bandwidth that leaves S to the number of members in S (Zhao et al.: "ForestColl", arXiv
 * 2402.06787).
 *
 * An auxiliary source feeds every member at a rate x. igraph finds the smallest cut from the source; while a
 * cut is violated, x is lowered to its ratio. Sums are of integers, so the ratio given is that of a real cut
 * whatever the rounding in between.
 *
 * Every node is taken to relay and to copy, and links inside S to be free, so the cut bounds any algorithm.
 * Results are kept with the topology, which any number of threads may ask. Not computed above RLT_CUT_LINKS
 * links of the topology, or RLT_CUT_WORK members times links.
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
    const uint32_t *accelerators; /* of the members */
    uint32_t n;
    uint32_t source; /* the one member that counts in S, or RLT_NONE: all count */
    uint32_t sink;   /* the one member that must be outside, or RLT_NONE: any */
    uint32_t split;  /* not 0: S has exactly the first `split` members; only the other nodes are to choose */
    bool inwards;    /* bandwidth that enters S instead */
} rlt_cut_question;

/* inside == 0: not computed, or there is no such cut. */
typedef struct rlt_cut {
    uint64_t bw_Bps; /* of the links that leave (enter) S */
    uint32_t inside; /* members that count in S */
} rlt_cut;

int rlt_cut_find(const rlt_topology *t, const rlt_cut_question *q, rlt_cut *out, rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
