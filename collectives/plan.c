/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collectives/plan.h"

#include "collectives/candidate.h"
#include "collectives/selector.h"
#include "collectives/stated.h"

const rlt_algorithm *rlt_algorithm_choose(const rlt_coll_request *req)
{
    rlt_candidate all[RLT_MAX_CANDIDATES];
    const rlt_algorithm *stated = rlt_algorithm_stated(req);
    if (stated)
        return stated;
    return rlt_candidates(req, all) && !all[0].excluded ? all[0].algorithm : rlt_algorithm_usual(req);
}

int rlt_plan_create(const rlt_algorithm *algorithm, const rlt_coll_request *req, rlt_plan *out,
                    rlt_error *err)
{
    int rc;
    *out = (rlt_plan){0};
    /* The choice needs a valid request. */
    if (!algorithm && (rc = rlt__plan_checks(req, err)))
        return rc;
    rc = rlt__plan_untuned(algorithm ? algorithm : rlt_algorithm_choose(req), req, out, err);
    if (!rc)
        rlt_tuning_choose(out, &out->tuning);
    return rc;
}
