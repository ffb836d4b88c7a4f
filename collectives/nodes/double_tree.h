/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * NCCL's double binary tree over n places (NCCL src/graph/trees.cc; after Sanders, Speck, Träff, 2009): an
 * inner place of one tree is a leaf of the other, but for a few.
 *
 * First tree: place 0 is the root, its child the largest power of two below n. Another place p with lowest
 * set bit b has the parent (p ^ b) | 2b, or p ^ b if that is n or more, and the children p - b/2 and p + b/2;
 * an upper one past the end is halved towards p until it is not. Second tree: mirrored, p becomes n - 1 - p,
 * if n is even; shifted by one if n is odd.
 *
 *   Example, n = 4: first 0 - 2, 2 - 1 and 3. Second 3 - 1, 1 - 2 and 0.
 */
#ifndef RLT_COLLECTIVES_NODES_DOUBLE_TREE_H
#define RLT_COLLECTIVES_NODES_DOUBLE_TREE_H

#include <stdint.h>

typedef struct rlt_tree_place {
    uint32_t parent; /* RLT_NONE: the root */
    uint32_t n_children, children[2];
} rlt_tree_place;

/* Returns the neighbours of a place in tree 0 or 1. O(log n). */
rlt_tree_place rlt_double_tree(uint32_t n, uint32_t place, uint32_t tree);
/*
 * Returns the largest number of messages that a place sends in an all-reduce over both trees: one to its
 * parent and one to each child. Each tree carries half of the bytes, so the place sends lambda = load / 2
 * times them. Example: n = 2: 2, n = 3: 3, n = 4: an inner place sends 3 in one tree and 1 in the other, 4.
 * O(n log n).
 */
uint32_t rlt_double_tree_load(uint32_t n);

#endif
