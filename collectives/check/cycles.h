/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Edge-disjoint Hamiltonian cycles of a small multigraph: as many as a search with a budget finds, at most
 * half the smallest degree. Complete graphs have a closed form (Walecki's zigzags; Alspach: "The wonderful
 * Walecki construction", 2008), which leaves edges over where an even number of nodes has several edges
 * between each two, or some have more. Example: the complete graph of 5 nodes has 2 such cycles, with all its
 * 10 edges. That of 4 nodes has 1; with two edges between each two it has 3, of which the closed form finds 2.
 *
 * Graphs of which the closed form does not find the bound are searched. A cycle grows by lengthening and rotating a path (Posa, 1976), preferring nodes
 * with few free edges. If the edges that remain form several closed pieces instead of one last cycle, the
 * pieces are joined by exchanging edges with the cycles found before. The same graph always gives the same
 * cycles. Internal to collectives/.
 */
#ifndef RLT_COLLECTIVES_CHECK_CYCLES_H
#define RLT_COLLECTIVES_CHECK_CYCLES_H

#include <stdint.h>

#include "sim/base/error.h"

enum { RLT_CYCLES_MAX_NODES = 256 };

/* Finds up to `max` cycles of a graph with 3 to RLT_CYCLES_MAX_NODES nodes. capacity[u * n + v] is the number
 * of edges between u and v, symmetric; those from a node to itself do not count. orders[c * n ..] receives the nodes of cycle c in order, *found their
 * number. */
int rlt_cycles_find(uint32_t n, const uint8_t *capacity, uint32_t max, uint32_t *orders, uint32_t *found,
                    rlt_error *err) RLT_MUST_USE;

#endif
