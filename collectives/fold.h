/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Folding by symmetry: members whose steps, peers and routes are alike do the same things at the same times,
 * so one member of each class is simulated. The links that they load alike form one class too (net/fold.h).
 * The simulation of the classes equals the whole run to the picosecond. Classes come from
 *
 *   translations   where algorithm and topology share a group that takes any member to any other: one class,
 *                  found in O(dimensions) whatever the number of members; needs blocks of one size
 *   refinement     else: the coarsest equitable partition of members and links (colour refinement, Weisfeiler
 *                  and Leman 1968; Paige and Tarjan, SIAM J. Comput. 16, 1987), over all messages of the
 *                  plan. A slow link, a root, uneven blocks or an uneven group split classes. O(rounds *
 *                  messages * path)
 */
#ifndef RLT_COLLECTIVES_FOLD_H
#define RLT_COLLECTIVES_FOLD_H

#include "collectives/algorithm.h"
#include "net/fold.h"
#include "net/network.h"
#include "net/route.h"
#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_fold {
    uint32_t n_classes;
    uint32_t *rep;       /* of each class: the member that is simulated, its lowest */
    uint32_t *size;      /* members in it */
    uint32_t *of_member; /* class of a member; NULL: all are in class 0 */
    rlt_net_fold net;
} rlt_fold;

typedef struct rlt_fold_options {
    /* The endpoint's injection rule; whether the network's receive ports serialise (alpha-beta). */
    bool blocking, serialises;
    uint64_t max_messages; /* refinement is not tried on plans with more; 0: never */
} rlt_fold_options;

/* Fills *out; RLT_EUNSUPPORTED, with the reason, if nothing can be folded. The router is used for routes. */
RLT_API int rlt_fold_create(const rlt_plan *plan, rlt_router *router, const rlt_fold_options *how,
                            rlt_fold *out, rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_fold_free(rlt_fold *f);
static inline uint32_t rlt_fold_class(const rlt_fold *f, uint32_t member)
{
    return f->of_member ? f->of_member[member] : 0;
}

/* Whether all blocks of the plan are of one size in every lane. */
RLT_API bool rlt_plan_is_even(const rlt_plan *plan);

/* The second way; internal. */
int rlt__fold_refine(const rlt_plan *plan, rlt_router *router, const rlt_fold_options *how, rlt_fold *out,
                     rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
