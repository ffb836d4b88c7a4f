/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Edge-disjoint Hamiltonian cycles of a small multigraph: as many as a search with a budget finds, at most
 * half the smallest degree. Complete graphs have a closed form (Walecki's zigzags; Alspach: "The wonderful
 * Walecki construction", 2008). Example: the complete graph of 5 nodes has 2 such cycles, with all its 10
 * edges. Where an even number of nodes has several edges between each two, the closed form leaves some over:
 * 4 nodes with two edges between each two have 3 cycles, of which it finds 2.
 *
 * A graph is searched if the closed form finds fewer cycles than half the smallest degree. A cycle grows by
 * lengthening and rotating a path (Posa, 1976), preferring nodes with few free edges. If the edges that
 * remain form several closed pieces instead of one last cycle, the pieces are joined by exchanging edges with
 * the cycles found before. The same graph always gives the same cycles. Internal to collectives/.
 */
#ifndef RLT_COLLECTIVES_CHECK_CYCLES_H
#define RLT_COLLECTIVES_CHECK_CYCLES_H

#include <stdint.h>

#include "sim/base/error.h"

enum { RLT_CYCLES_MAX_NODES = 256 };

/* Finds up to `max` cycles of a graph with 3 to RLT_CYCLES_MAX_NODES nodes. capacity[u * n + v] is the number
 * of edges between u and v, symmetric; edges from a node to itself do not count. orders[c * n ..] receives
 * the nodes of cycle c in order, *found their number. */
int rlt_cycles_find(uint32_t n, const uint8_t *capacity, uint32_t max, uint32_t *orders, uint32_t *found,
                    rlt_error *err) RLT_MUST_USE;

#endif
