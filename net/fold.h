/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A network folded by symmetry. Links that carry the same traffic at the same times form a class, and one
 * link of each class is simulated.
 *
 * Symbols: a class has s links. A message m stands for c = m.count equal messages, one from each rank of its
 * sender's class. Its path crosses h links of the class.
 *
 *   messages on each link of the class = c * h / s      (a whole number, or the fold is refused)
 *
 * The caller that folds guarantees the invariant behind this: at any time, all links of a class carry equal
 * messages with equal bytes left. The c messages are therefore spread evenly over the s links, and all of
 * them get the same rate. m.fan_in of the c messages reach one receiver.
 *
 * Partition. For a product it is computed here: two links are in one class if a translation along the
 * dimensions maps one to the other (rlt_net_fold_translations). For other topologies and traffic the caller
 * refines a partition of links and ranks until it is equitable: ranks of a class send the same over links of
 * the same classes, and links of a class carry the same from ranks of the same classes.
 *
 *   Example: ring:4 has 8 links. Translations map each of the four clockwise links to each other, and the
 *   four others, too: two classes with s = 4. If all ranks send to their clockwise neighbour, one message
 *   with c = 4 is simulated. Its path has h = 1, so each link carries 4 * 1 / 4 = 1 message. If all send
 *   two places on, h = 2 and each link carries 4 * 2 / 4 = 2 messages.
 *
 * Network models keep their state and the usage per class instead of per link. Without a fold every link is
 * its own class.
 */
#ifndef RLT_NET_FOLD_H
#define RLT_NET_FOLD_H

#include <stdint.h>

#include "net/topology/topology.h"
#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_net_fold {
    uint32_t n_classes;
    uint32_t *size;    /* links in each class */
    uint32_t *link;    /* representative of each class: the link with the lowest id */
    uint32_t *of_link; /* class of each link; NULL: a product, computed from dimension and local link */
    const rlt_topology *topology;       /* borrowed */
    uint32_t first_class[RLT_MAX_DIMS]; /* first class of each dimension, if of_link is NULL */
    struct rlt__part *part; /* a part of a product; first_class is then that of the links outside */
} rlt_net_fold;

/* Returns the class of a link. O(dimensions). */
RLT_API uint32_t rlt_net_fold_class(const rlt_net_fold *f, uint32_t link);
/*
 * Folds a product under all translations along its dimensions. sizes[0 .. n) are the cyclic sizes of the
 * algorithm, innermost first: one per dimension, a torus with one per sub-dimension, sizes of 1 left out.
 * RLT_EUNSUPPORTED with a reason if the topology is not such a product of rings, tori, switches and fully
 * connected dimensions. Memory O(classes).
 */
RLT_API int rlt_net_fold_translations(const rlt_topology *t, const uint32_t *sizes, uint32_t n,
                                      rlt_net_fold *out, rlt_error *err) RLT_MUST_USE;
/*
 * Folds a product under turns of its nodes: accelerator i of every node becomes accelerator i + 1. The first
 * dimension is the node. RLT_EUNSUPPORTED with a reason if turns do not map links and routes onto themselves.
 * Memory O(links).
 *
 *   Example: switch:8*rail:2048: 2048 classes of the 8 links up inside a node, and as many of those down; the
 *   same again for the links to and from the leaves.
 */
RLT_API int rlt_net_fold_turns(const rlt_topology *t, rlt_net_fold *out, rlt_error *err) RLT_MUST_USE;
/*
 * Folds the links that some blocks of a dimension use, when these blocks can be exchanged
 * (rlt_topology_exchanges): the same link of each of blocks[0 .. n) is a class. They are those beside
 * accelerator `beside`, which differs from theirs along the dimension only. All other links of a dimension
 * are one class, which must carry nothing. RLT_EUNSUPPORTED if a link is not in one block. O(classes) and a
 * bit for each block.
 *
 *   Example: fat-tree:16 with hosts_per_leaf=4: leaves 0 and 2 have 8 links to accelerators and 8 to spines
 *   each: 16 classes of two links, and one class with the 32 links of leaves 1 and 3.
 */
RLT_API int rlt_net_fold_blocks(const rlt_topology *t, uint32_t dim, uint32_t beside, const uint32_t *blocks,
                                uint32_t n, rlt_net_fold *out, rlt_error *err) RLT_MUST_USE;
/* Folds a product of which only the links[0 .. n) carry anything, in ascending order: each of them is a class
 * of its own, and all other links of a dimension are one. O(n). */
RLT_API int rlt_net_fold_used(const rlt_topology *t, const uint32_t *links, uint32_t n, rlt_net_fold *out,
                              rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_net_fold_free(rlt_net_fold *f);
/* Returns the class of a link of a part; RLT_NONE: it is outside. Internal. */
uint32_t rlt__part_class(const struct rlt__part *p, uint32_t link);
void rlt__fold_part_free(struct rlt__part *p);
/* Returns the kind of a link: a number that is equal for links that symmetry may map to each other, and
 * smaller for links that leave an accelerator. In a product it is the class of the link under all
 * translations of its shapes; in a graph it follows from the kinds of the link's ends. Ties that are broken
 * by kind first are broken alike in folded and unfolded networks. O(dimensions). Internal. */
uint32_t rlt__link_kind(const rlt_topology *t, uint32_t link);

#ifdef __cplusplus
}
#endif
#endif
