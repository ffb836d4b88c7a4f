/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a request to a plan: the algorithm taken where none is named, and the costs of its messages. */
#ifndef RLT_COLLECTIVES_PLAN_H
#define RLT_COLLECTIVES_PLAN_H

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The default for a request: what a tuned endpoint would take (collectives/selector.h), else
 * rlt_algorithm_usual. */
RLT_API const rlt_algorithm *rlt_algorithm_choose(const rlt_coll_request *req);

/* algorithm NULL: rlt_algorithm_choose. RLT_EUNSUPPORTED, RLT_ETOPOLOGY with a reason. */
RLT_API int rlt_plan_create(const rlt_algorithm *algorithm, const rlt_coll_request *req, rlt_plan *out,
                            rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
