/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collectives/plan.h"

#include "collectives/candidate.h"
#include "collectives/selector.h"
#include "collectives/stated.h"

/* Returns the default algorithm. If a tuner chose it, *chosen is its candidate; else chosen->algorithm is
 * NULL. */
static const rlt_algorithm *choose(const rlt_coll_request *req, rlt_candidate *chosen)
{
    rlt_candidate all[RLT_MAX_CANDIDATES];
    const rlt_algorithm *stated = rlt_algorithm_stated(req);
    if (stated)
        return stated;
    if (rlt_candidates(req, all) == 0 || all[0].excluded)
        return rlt_algorithm_usual(req);
    *chosen = all[0];
    return chosen->algorithm;
}

const rlt_algorithm *rlt_algorithm_choose(const rlt_coll_request *req)
{
    rlt_candidate chosen = {0};
    return choose(req, &chosen);
}

int rlt_plan_create(const rlt_algorithm *algorithm, const rlt_coll_request *req, rlt_plan *out,
                    rlt_error *err)
{
    rlt_candidate chosen = {0};
    int rc;
    *out = (rlt_plan){0};
    /* The choice needs a valid request. */
    if (!algorithm && (rc = rlt__plan_checks(req, err)))
        return rc;
    rc = rlt__plan_untuned(algorithm ? algorithm : choose(req, &chosen), req, out, err);
    if (!rc)
        rlt_tuning_choose(out, chosen.algorithm ? &chosen : NULL, &out->tuning);
    return rc;
}
