/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rings in a fully connected group that together use its n (n-1) directed links evenly.
 *
 *   n odd    n-1 rings, each link once (Walecki's zigzags; B. Alspach: "The wonderful Walecki construction",
 *            2008)
 *   n = 8    7 rings, each link once (T. Tillson: "A Hamiltonian decomposition of K*_2m, 2m >= 8", Journal of
 *            Combinatorial Theory B 29, 1980)
 *   n even   n-1 zigzags, both ways: 2 (n-1) rings, each link twice
 *
 *   Example: eight GPUs, each with a link of B to each other one: seven rings, bus bandwidth 7 B.
 *
 * RCCL covers the same links with eight paths of seven hops (src/graph/rome_models.cc).
 */
#ifndef RLT_COLLECTIVES_NODES_FULL_RINGS_H
#define RLT_COLLECTIVES_NODES_FULL_RINGS_H

#include <stdint.h>

#include "collectives/collective.h"

/* Returns the number of rings that a request should use; 0: it is not in one fully connected dimension of 3
 * to 32 members, has rings of its own, states `directions` = 2, or is neither an all-reduce nor one of its
 * halves. */
uint32_t rlt_full_rings(const rlt_coll_request *req);
/* Returns the rings of n members, all of which can run at once; n >= 3. */
uint32_t rlt_full_ring_count(uint32_t n);
/* Fills order[0 .. n) with ring c modulo their number; ring 0 is the natural order. n is 3 to 32. */
void rlt_full_ring(uint32_t n, uint32_t c, uint32_t *order);

#endif
