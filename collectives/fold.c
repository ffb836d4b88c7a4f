/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Folding by translations, for plans whose members are all alike, and by turns of the nodes. */
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

/* Whether the blocks, the routing and the group leave the symmetry of the plan whole. */
static int check_regular(const rlt_plan *plan, const rlt_router *router, rlt_error *err)
{
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
    return 0;
}

static int fold_translations(const rlt_plan *plan, rlt_router *router, rlt_fold *out, rlt_error *err)
{
    uint32_t all[RLT_MAX_TRANSLATIONS], sizes[RLT_MAX_TRANSLATIONS], n = 0, given;
    if (!plan->algorithm->symmetry || (given = plan->algorithm->symmetry(plan, all)) == 0)
        return rlt_fail(err, RLT_EUNSUPPORTED, plan->algorithm->name,
                        "the members of the plan are not alike");
    int rc = check_regular(plan, router, err);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < given; i++) {
        if (all[i] > 1)
            sizes[n++] = all[i];
    }
    rc = rlt_net_fold_translations(rlt_router_topology(router), sizes, n, &out->net, err);
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

int rlt__fold_room(rlt_fold *out, uint32_t classes, uint32_t members, rlt_error *err)
{
    out->rep = malloc(classes * sizeof *out->rep);
    out->size = malloc(classes * sizeof *out->size);
    out->of_member = malloc(members * sizeof *out->of_member);
    out->n_classes = classes;
    return out->rep && out->size && out->of_member ? 0 : rlt_nomem(err);
}

/* Makes a class of the members of each node. */
static int fold_turns(const rlt_plan *plan, rlt_router *router, rlt_fold *out, rlt_error *err)
{
    const rlt_topology *t = rlt_router_topology(router);
    uint32_t n = plan->req.n, g = plan->req.node;
    if (!plan->algorithm->turns || g != rlt_topology_node_size(t))
        return rlt_fail(err, RLT_EUNSUPPORTED, plan->algorithm->name, "the nodes of the plan differ");
    int rc = check_regular(plan, router, err);
    if (rc || (rc = rlt_net_fold_turns(t, &out->net, err)) != 0)
        return rc;
    if ((rc = rlt__fold_room(out, n / g, n, err)))
        return rc;
    for (uint32_t m = 0; m < n; m++) {
        out->of_member[m] = m / g;
        out->rep[m / g] = m - m % g;
        out->size[m / g] = g;
    }
    return 0;
}

/* Forgets a reason that does not count any more. */
static rlt_error *anew(rlt_error *err)
{
    if (err)
        *err = (rlt_error){0};
    return err;
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
    if (rc == RLT_EUNSUPPORTED && verbs) {
        rc = fold_turns(plan, router, out, err);
    } else if (rc == RLT_EUNSUPPORTED) {
        rc = rlt__fold_blocks(plan, router, out, err);
        if (rc == RLT_EUNSUPPORTED && how->percent)
            rc = rlt__fold_refine(plan, router, how, out, anew(err));
    }
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
