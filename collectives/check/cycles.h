/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hamiltonian cycles of a small multigraph that share no edge, as many as a search with a budget finds: at
 * most half the least degree. Complete graphs have theirs in closed form (Walecki's zigzags; Alspach: "The
 * wonderful Walecki construction", 2008). Otherwise cycles are grown one by one by lengthening and rotating a
 * path (Posa, 1976), preferring nodes with few ways left; and where only one cycle's edges remain, and they
 * fall into several pieces, pieces are joined by exchanging edges with the cycles found before. The same
 * graph always gives the same cycles. Internal to collectives/.
 */
#ifndef RLT_COLLECTIVES_CHECK_CYCLES_H
#define RLT_COLLECTIVES_CHECK_CYCLES_H

#include <stdint.h>

#include "sim/base/error.h"

enum { RLT_CYCLES_MAX_NODES = 256 };

/* For 3 to RLT_CYCLES_MAX_NODES nodes. capacity[u * n + v]: edges between u and v, symmetric. orders[c * n
 * ..): the nodes of cycle c in order, for up to `max` cycles; *found: how many. */
int rlt_cycles_find(uint32_t n, const uint8_t *capacity, uint32_t max, uint32_t *orders, uint32_t *found,
                    rlt_error *err) RLT_MUST_USE;

#endif
