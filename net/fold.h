/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A network folded by symmetry: links that carry the same traffic at the same times form a class, and one
 * link of each class is simulated.
 *
 * The caller that folds guarantees that messages come in classes as well. Message m stands for m.count equal
 * messages, one from each rank of its sender's class, spread evenly over the links of every class on its
 * path. If the path has h links of a class of s links, each link of the class carries m.count * h / s of them
 * (a whole number) at the same time. m.fan_in of them reach one receiver.
 *
 * Models keep their state and the usage by class instead of by link. Without a fold every link is its own
 * class.
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
    uint32_t *link;    /* one link of each: the lowest id */
    uint32_t *of_link; /* class of each link; NULL: a product's links, by dimension and place in it */
    const rlt_topology *topology;       /* borrowed */
    uint32_t first_class[RLT_MAX_DIMS]; /* of each dimension, where of_link is NULL */
} rlt_net_fold;

/* Class of a link; O(dimensions). */
RLT_API uint32_t rlt_net_fold_class(const rlt_net_fold *f, uint32_t link);
/*
 * The fold of a product under all translations: links that a translation along the dimensions takes into each
 * other are one class. sizes[0 .. n): what the translations are along, innermost first (a torus counts with
 * each of its sub-dimensions), sizes of 1 left out. RLT_EUNSUPPORTED with a reason where the topology is not
 * such a product of rings, tori, switches and fully connected dimensions. Memory O(classes).
 */
RLT_API int rlt_net_fold_translations(const rlt_topology *t, const uint32_t *sizes, uint32_t n,
                                      rlt_net_fold *out, rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_net_fold_free(rlt_net_fold *f);
/* A number that links have in common which symmetry may take into each other, smaller for those that leave an
 * accelerator: of a product the class of the link under all translations its shapes have, of a graph by what
 * the link's ends are. Ties that are broken by it first are broken alike whether links are folded or not.
 * O(dimensions). Internal. */
uint32_t rlt__link_kind(const rlt_topology *t, uint32_t link);

#ifdef __cplusplus
}
#endif
#endif
