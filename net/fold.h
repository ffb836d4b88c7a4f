/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A network folded by symmetry: links that carry the same traffic at the same times stand in one class, of
 * which one link is simulated. Whoever folds guarantees that messages come in classes as well: message m
 * stands for m.count equal ones, one from each rank of its sender's class, which are spread evenly over the
 * links of every class that its path touches. If the path has h links of a class of s links, each link of the
 * class carries m.count * h / s of them (a whole number) at the same time. m.fan_in of them reach one
 * receiver.
 *
 * Models keep their state and the usage by class instead of by link; `fold` NULL: every link is a class of
 * its own.
 */
#ifndef RLT_NET_FOLD_H
#define RLT_NET_FOLD_H

#include <stdint.h>

#include "net/topology.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_net_fold {
    uint32_t n_classes;
    const uint32_t *size;    /* links in each class */
    const uint32_t *link;    /* one link of each: the lowest id */
    const uint32_t *of_link; /* class of each link, or NULL: the topology is a product whose links fall into
                                classes by dimension and part, see rlt_net_fold_class */
    const rlt_topology *topology;
    uint32_t first_class[RLT_MAX_DIMS]; /* of each dimension, where of_link is NULL */
    uint32_t split[RLT_MAX_DIMS]; /* local links of a dimension's factor below it are of its first class, the
                                     others of the next */
} rlt_net_fold;

RLT_API uint32_t rlt_net_fold_class(const rlt_net_fold *f, uint32_t link);

#ifdef __cplusplus
}
#endif
#endif
