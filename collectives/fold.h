/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Folding by symmetry. Members whose steps, peers and routes are alike do the same things at the same times,
 * so one member of each class is simulated. Links that carry the same load form classes, too (net/fold.h).
 * The folded run equals the whole run to the picosecond. There are four ways to find the classes:
 *
 *   translations   Algorithm and topology share a group of renumberings that takes any member to any other.
 *                  Then all members are one class. O(dimensions), whatever the number of members; needs
 *                  blocks of one size.
 *   turns          Algorithm and topology stay the same if all nodes are turned by a member. Then the members
 *                  of a node are a class. O(members + links).
 *   blocks         The network stays the same if blocks of accelerators are exchanged, such as the pods of a
 *                  fat tree, and the algorithm if it moves on by the members of a block. Then the members at
 *                  one place of their blocks are a class. The group may be a part of the topology.
 *                  O(members).
 *   refinement     Otherwise: the coarsest equitable partition of members and links over all messages of
 *                  the plan (sim/partition.h). A partition is equitable if any two members (or links) of a
 *                  class have the same number of messages of each sort with each other class. A slow link, a
 *                  root, uneven blocks or an uneven group split classes. O(m log m) for m links on paths of
 *                  messages, where messages of consecutive steps to one member count once. Where the
 *                  algorithm says that members are alike, the steps of only one are read. The search gives up
 *                  once it has cost a given part of what simulating all members would.
 *
 * Example: a ring all-reduce of 8 members over a ring of 8 equal links is one class of 8 by translation. With
 * one slower link, refinement gives every member a class of its own, and nothing is folded.
 */
#ifndef RLT_COLLECTIVES_FOLD_H
#define RLT_COLLECTIVES_FOLD_H

#include "collectives/algorithm.h"
#include "net/fold.h"
#include "net/network.h"
#include "net/route.h"
#include "sim/base/error.h"
#include "sim/watch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_fold {
    uint32_t n_classes;
    uint32_t *rep;       /* lowest member of each class, the one that is simulated */
    uint32_t *size;      /* members in each class */
    uint32_t *of_member; /* class of each member; NULL: all are in class 0 */
    rlt_net_fold net;
} rlt_fold;

/* A percentage without a limit. */
#define RLT_FOLD_ANYWAY UINT32_MAX

typedef struct rlt_fold_options {
    /* Whether the endpoint's injection rule is `blocking`; whether the network serialises at receive ports
     * (alpha-beta). */
    bool blocking, serialises;
    /* Effort that refinement may take, in percent of what it would cost to simulate all members: beyond it,
     * nothing is folded. 0: never refine. */
    uint32_t percent;
    const rlt_watch *watch; /* may stop the search with RLT_ECANCELLED; NULL: none */
} rlt_fold_options;

/* Fills *out. RLT_EUNSUPPORTED, with the reason, if nothing can be folded. The router gives the routes. */
RLT_API int rlt_fold_create(const rlt_plan *plan, rlt_router *router, const rlt_fold_options *how,
                            rlt_fold *out, rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_fold_free(rlt_fold *f);
static inline uint32_t rlt_fold_class(const rlt_fold *f, uint32_t member)
{
    return f->of_member ? f->of_member[member] : 0;
}

/* Whether all blocks of the plan have one size in every lane. */
RLT_API bool rlt_plan_is_even(const rlt_plan *plan);
/* Whether the algorithm says that the members of an even plan are alike. */
RLT_API bool rlt_plan_is_alike(const rlt_plan *plan);

/* Makes room for classes of members, whose contents the caller writes. Freed by rlt_fold_free, also after
 * RLT_ENOMEM. Internal. */
int rlt__fold_room(rlt_fold *out, uint32_t classes, uint32_t members, rlt_error *err) RLT_MUST_USE;
/* Folds by blocks. RLT_EUNSUPPORTED without a reason if there are none. Internal. */
int rlt__fold_blocks(const rlt_plan *plan, rlt_router *router, rlt_fold *out, rlt_error *err) RLT_MUST_USE;
/* Folds by refinement. Internal. */
int rlt__fold_refine(const rlt_plan *plan, rlt_router *router, const rlt_fold_options *how, rlt_fold *out,
                     rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
