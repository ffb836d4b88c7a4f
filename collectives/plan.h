/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a request to a plan: chooses the algorithm if none is named, and the costs of the messages. */
#ifndef RLT_COLLECTIVES_PLAN_H
#define RLT_COLLECTIVES_PLAN_H

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the default algorithm for a request: what the topology states (collectives/stated.h), else the
 * choice of a tuned endpoint (collectives/selector.h), else rlt_algorithm_usual. In place of
 * that, collectives with a root and barriers take an algorithm that is clearly faster by closed form, if the
 * members form a grid of known dimensions (collectives/forecast/forecast.h). */
RLT_API const rlt_algorithm *rlt_algorithm_choose(const rlt_coll_request *req);

/* Creates a plan. algorithm NULL: rlt_algorithm_choose. RLT_EUNSUPPORTED or RLT_ETOPOLOGY with a reason.
 * Free with rlt_plan_free. */
RLT_API int rlt_plan_create(const rlt_algorithm *algorithm, const rlt_coll_request *req, rlt_plan *out,
                            rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
