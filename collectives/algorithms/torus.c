/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All dimensions at once: the data is cut into as many parts as there are dimensions, and part i visits them
 * in the order i, i+1, ..., cyclically. So in every phase each dimension works on another part (P. Sack, W.
 * Gropp, "Collective algorithms for multiported torus networks", ACM TOPC 2015; in two dimensions: H. Mikami
 * et al., "Massively distributed SGD", arXiv 1811.05233). Each part is halved again, one half for each
 * direction.
 *
 * On a torus of D dimensions with g members each (n = g^D), all 2 D links of an accelerator are busy all the
 * time. With latency l and bandwidth B of a link, an all-reduce of M bytes takes
 *
 *   2 sum over q = 0 .. D-1 of (g - 1) (l + M / (2 D g^(q+1) B))
 *
 * The bytes account for M (n-1)/n / (D B), the least that 2 D links can do.
 *
 * A dimension of the network that is a torus or a mesh is replaced by its sub-dimensions if the group covers
 * all of it. The patterns inside a dimension are those of the hierarchical algorithm. Lanes are channels x
 * directions x chunks; channel c begins with dimension c mod D.
 */
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/algorithms/grid.h"
#include "collectives/collective.h"
#include "collectives/lanes.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/param.h"

/* Sub-dimensions of the request's dimension i; its own size if it has none. */
static uint32_t parts_of(const rlt_coll_request *req, uint32_t i, uint32_t sizes[RLT_MAX_DIMS])
{
    const rlt_topology *t = req->topology;
    uint32_t axis = req->axes[i];
    bool grid = rlt_shape_is(req->shapes[i], "torus") || rlt_shape_is(req->shapes[i], "mesh");
    if (grid && t && axis < rlt_topology_dims(t) && rlt_topology_dim(t, axis).size == req->dims[i])
        return rlt_topology_sub_sizes(t, axis, sizes);
    sizes[0] = req->dims[i];
    return 1;
}

static int add_dims(const rlt_plan *plan, rlt_grid *g, rlt_error *err)
{
    const rlt_coll_request *req = &plan->req;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < req->n_dims; i++) {
        uint32_t sizes[RLT_MAX_DIMS], parts = parts_of(req, i, sizes);
        for (uint32_t s = 0; rc == 0 && s < parts; s++)
            rc = rlt_grid_add(plan, g, sizes[s], req->shapes[i], req->params.patterns[i], true, err);
    }
    if (rc == 0 && req->n_dims == 0)
        rc = rlt_grid_add(plan, g, req->n, NULL, req->params.patterns[0], true, err);
    return rc;
}

static int torus_plan(rlt_plan *plan, rlt_error *err)
{
    const rlt_coll_request *req = &plan->req;
    rlt_grid g = {.blocks = 1};
    int rc = add_dims(plan, &g, err);
    if (rc)
        return rc;
    uint32_t orders = g.n_dims ? g.n_dims : 1, chunks = req->params.chunks ? req->params.chunks : 1;
    uint32_t directions = req->params.directions ? req->params.directions : g.ring ? 2 : 1;
    if ((rc = rlt_lanes_set(plan, req->params.channels ? req->params.channels : orders, directions, chunks,
                            err)))
        return rc;
    plan->blocks = g.blocks;
    if ((rc = rlt_grid_verbs(plan, &g, err)))
        return rc;
    return rlt_grid_create(plan, &g, orders, chunks, err);
}

static uint32_t torus_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    (void)member;
    return rlt_grid_steps(plan->data, lane);
}

static const rlt_param parameters[] = {RLT_HAS_CHANNELS("one per dimension"),
                                       RLT_HAS_CHUNKS("1"),
                                       RLT_HAS_DIRECTIONS("2 if a dimension is a ring or torus, else 1"),
                                       RLT_HAS_PATTERNS("as for hierarchical"),
                                       {0}};

const rlt_algorithm rlt_torus = {
    .name = "torus",
    .summary = "all dimensions at once: each part of the data goes through them in another order",
    .parameters = parameters,
    .kinds = 1u << RLT_ALL_REDUCE | 1u << RLT_REDUCE_SCATTER | 1u << RLT_ALL_GATHER,
    .plan = torus_plan,
    .steps = torus_steps,
    .step = rlt_grid_step,
    .symmetry = rlt_grid_symmetry,
    .reach = rlt_grid_reach,
};
