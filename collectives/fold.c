/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Folding by translations: plans whose members are all alike. */
#include "collectives/fold.h"

#include <stdlib.h>

#include "collectives/collective.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"

bool rlt_plan_is_even(const rlt_plan *plan)
{
    return !plan->req.counts && plan->req.bytes % plan->blocks == 0;
}

bool rlt_plan_is_alike(const rlt_plan *plan)
{
    const rlt_algorithm *a = plan->algorithm;
    uint32_t sizes[RLT_MAX_TRANSLATIONS];
    return a->alike ? a->alike(plan) : a->symmetry && a->symmetry(plan, sizes) > 0;
}

/* Whether the group is the whole topology in order: member i on accelerator i, for all accelerators. */
static bool is_whole(const rlt_plan *plan, const rlt_router *router)
{
    const rlt_placement *p = rlt_router_placement(router);
    const rlt_coll_request *req = &plan->req;
    if (p->nic || req->n != rlt_topology_accelerators(rlt_router_topology(router)))
        return false;
    for (uint32_t m = 0; (req->ranks || p->accelerator) && m < req->n; m++) {
        if (rlt_placed(p, rlt_member_rank(req, m)) != m)
            return false;
    }
    return true;
}

static int fold_translations(const rlt_plan *plan, rlt_router *router, rlt_fold *out, rlt_error *err)
{
    uint32_t all[RLT_MAX_TRANSLATIONS], sizes[RLT_MAX_TRANSLATIONS], n = 0, given;
    if (!plan->algorithm->symmetry || (given = plan->algorithm->symmetry(plan, all)) == 0)
        return rlt_fail(err, RLT_EUNSUPPORTED, plan->algorithm->name,
                        "the members of the plan are not alike");
    if (!rlt_plan_is_even(plan))
        return rlt_fail(err, RLT_EUNSUPPORTED, plan->algorithm->name,
                        "%llu bytes are not a multiple of the plan's %u blocks",
                        (unsigned long long)plan->req.bytes, plan->blocks);
    if (rlt_router_routing(router) != RLT_ROUTE_DMODK)
        return rlt_fail(err, RLT_EUNSUPPORTED, plan->algorithm->name, "the routing is %s; expected dmodk",
                        rlt_routing_name(rlt_router_routing(router)));
    if (!is_whole(plan, router))
        return rlt_fail(err, RLT_EUNSUPPORTED, plan->algorithm->name,
                        "the group is not the whole topology in accelerator order");
    for (uint32_t i = 0; i < given; i++) {
        if (all[i] > 1)
            sizes[n++] = all[i];
    }
    int rc = rlt_net_fold_translations(rlt_router_topology(router), sizes, n, &out->net, err);
    if (rc)
        return rc;
    out->rep = calloc(1, sizeof *out->rep);
    out->size = calloc(1, sizeof *out->size);
    if (!out->rep || !out->size)
        return rlt_nomem(err);
    out->n_classes = 1;
    out->size[0] = plan->req.n;
    return 0;
}

int rlt_fold_create(const rlt_plan *plan, rlt_router *router, const rlt_fold_options *how, rlt_fold *out,
                    rlt_error *err)
{
    *out = (rlt_fold){0};
    bool verbs = plan->reduces || plan->multicasts;
    if (verbs && (!plan->algorithm->reach || how->serialises))
        return rlt_fail(err, RLT_EUNSUPPORTED, plan->algorithm->name,
                        "the algorithm aggregates in the network");
    if (rlt_router_routing(router) == RLT_ROUTE_SPRAY)
        return rlt_fail(err, RLT_EUNSUPPORTED, plan->algorithm->name, "messages are sprayed over the routes");
    if (plan->req.n < 2)
        return rlt_fail(err, RLT_EUNSUPPORTED, plan->algorithm->name, "the group has only one member");
    int rc = fold_translations(plan, router, out, err);
    if (rc == RLT_EUNSUPPORTED && !verbs)
        rc = rlt__fold_refine(plan, router, how, out, err);
    if (rc)
        rlt_fold_free(out);
    return rc;
}

void rlt_fold_free(rlt_fold *f)
{
    if (!f)
        return;
    free(f->rep);
    free(f->size);
    free(f->of_member);
    rlt_net_fold_free(&f->net);
    *f = (rlt_fold){0};
}
