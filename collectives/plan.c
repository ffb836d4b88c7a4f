/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collectives/plan.h"

#include <math.h>
#include <string.h>

#include "collectives/candidate.h"
#include "collectives/forecast/forecast.h"
#include "collectives/selector.h"
#include "collectives/stated.h"
#include "net/endpoint/endpoint.h"
#include "net/topology/topology.h"
#include "sim/base/time.h"

/* Another algorithm than the usual one is taken if it takes less than this part of its time. Forms are that
 * exact, and within it the usual one is what libraries would run. */
static const double clearly = 2.0 / 3;

/* Above these numbers of messages it takes long to simulate that everyone sends to everyone: if networks do
 * not fold, and if only a few of their members are alike. */
enum { MANY_MESSAGES = 1 << 16, MANY_FOLDED = 1 << 20 };

static const rlt_algorithm *const ways[RLT_WAYS] = {
    [RLT_WAY_RING] = &rlt_ring,     [RLT_WAY_HIERARCHICAL] = &rlt_hierarchical,
    [RLT_WAY_DIRECT] = &rlt_direct, [RLT_WAY_RECURSIVE] = &rlt_recursive_doubling,
    [RLT_WAY_TREE] = &rlt_tree,     [RLT_WAY_RINGS] = &rlt_rings,
};

static double seconds(rlt_time t)
{
    return (double)t * 1e-12;
}

/* Appends the axes of dimension i of a group: those of a torus or mesh, else one. Returns false if forms do
 * not know it. */
static bool add_axes(const rlt_coll_request *req, uint32_t i, rlt_forecast *f)
{
    static const struct {
        const char *shape;
        rlt_axis_form form;
    } known[] = {{"switch", RLT_AXIS_PORT}, {"fat-tree", RLT_AXIS_PORT}, {"fully-connected", RLT_AXIS_FULL},
                 {"ring", RLT_AXIS_RING},   {"torus", RLT_AXIS_RING},    {"mesh", RLT_AXIS_LINE}};
    uint32_t k = 0, sizes[RLT_MAX_DIMS] = {req->dims[i]}, n = 1;
    while (k < sizeof known / sizeof known[0] && strcmp(known[k].shape, req->shapes[i]) != 0)
        k++;
    if (k == sizeof known / sizeof known[0] || req->axes[i] == RLT_NONE)
        return false;
    rlt_dim dim = rlt_topology_dim(req->topology, req->axes[i]);
    bool port = known[k].form == RLT_AXIS_PORT;
    double Bps = (double)(port ? dim.bw_Bps : dim.link_Bps);
    if (!dim.link_Bps || Bps == 0 || (!port && dim.size != req->dims[i]))
        return false;
    if (!port)
        n = rlt_topology_sub_sizes(req->topology, req->axes[i], sizes);
    for (uint32_t s = 0; s < n; s++) {
        if (sizes[s] < 2)
            continue;
        f->axes[f->n_axes++] = (rlt_axis){.form = known[k].form,
                                          .joined = s > 0,
                                          .size = sizes[s],
                                          .block = dim.leaf,
                                          .link_Bps = Bps,
                                          .near_s = seconds(port ? 2 * dim.latency_ps : dim.latency_ps),
                                          .far_s = seconds(dim.far_ps)};
    }
    return true;
}

/* Describes the network of a request. Returns false if it is not a product of known dimensions. */
static bool describe(const rlt_coll_request *req, rlt_forecast *f)
{
    if (!req->topology || !rlt_topology_is_product(req->topology) || !req->n_dims || req->n < 3)
        return false;
    const rlt_endpoint *e = req->endpoint ? req->endpoint : rlt_topology_endpoint(req->topology);
    *f = (rlt_forecast){.n = req->n,
                        .node = req->node,
                        .message_s = seconds(e->message_ps),
                        .bytes = (double)req->bytes,
                        .tree_pieces = 1};
    for (uint32_t i = 0; i < req->n_dims && i < RLT_MAX_DIMS; i++)
        if (req->dims[i] > 1 && !add_axes(req, i, f))
            return false;
    return f->n_axes > 0;
}

/* Plans a request and forgets the plan. Returns its number of pieces; 0 if the algorithm cannot serve it. */
static uint32_t pieces_of(const rlt_algorithm *a, const rlt_coll_request *req)
{
    rlt_plan plan = {0};
    uint32_t pieces = rlt__plan_untuned(a, req, &plan, NULL) ? 0 : plan.channels * plan.chunks;
    rlt_plan_free(&plan);
    return pieces;
}

/* Whether so many messages can be simulated in a short time. One switch folds to one member. */
static bool is_affordable(const rlt_forecast *f, rlt_way way)
{
    bool port = f->n_axes == 1 && f->axes[0].form == RLT_AXIS_PORT;
    if (way != RLT_WAY_DIRECT || (port && f->axes[0].block >= f->n))
        return true;
    return (uint64_t)f->n * f->n <= (port ? MANY_FOLDED : MANY_MESSAGES);
}

/* Returns the algorithm that is clearly faster than the usual one by closed form; NULL: none is known. */
static const rlt_algorithm *choose_fastest(const rlt_coll_request *req, const rlt_algorithm *usual)
{
    static const rlt_task tasks[RLT_COLL_KINDS] = {[RLT_BARRIER] = RLT_TASK_BARRIER,
                                                   [RLT_BROADCAST] = RLT_TASK_COPY,
                                                   [RLT_REDUCE] = RLT_TASK_COPY,
                                                   [RLT_GATHER] = RLT_TASK_ROOT,
                                                   [RLT_SCATTER] = RLT_TASK_ROOT};
    rlt_forecast f;
    rlt_task task = tasks[req->kind];
    bool inwards = req->kind == RLT_REDUCE || req->kind == RLT_GATHER, asked = req->params.schedule;
    for (uint32_t i = 0; i < RLT_MAX_DIMS; i++)
        asked = asked || req->params.patterns[i];
    if (asked || req->counts || task == RLT_TASK_NONE || !describe(req, &f))
        return NULL;
    uint32_t pieces = task == RLT_TASK_COPY ? pieces_of(&rlt_tree, req) : 0;
    f.tree_pieces = pieces ? pieces : 1;
    double least = INFINITY;
    for (rlt_way w = 0; w < RLT_WAYS; w++)
        if (ways[w] == usual)
            least = rlt_forecast_s(&f, task, w, inwards) * clearly;
    const rlt_algorithm *best = NULL;
    for (rlt_way w = 0; w < RLT_WAYS; w++) {
        double s =
            ways[w] == usual || !is_affordable(&f, w) ? INFINITY : rlt_forecast_s(&f, task, w, inwards);
        if (s < least && pieces_of(ways[w], req)) {
            least = s;
            best = ways[w];
        }
    }
    return best;
}

/* Returns the default algorithm. If a tuner chose it, *chosen is its candidate; else chosen->algorithm is
 * NULL. */
static const rlt_algorithm *choose(const rlt_coll_request *req, rlt_candidate *chosen)
{
    rlt_candidate all[RLT_MAX_CANDIDATES];
    const rlt_algorithm *stated = rlt_algorithm_stated(req);
    if (stated)
        return stated;
    uint32_t n = rlt_candidates(req, all);
    const rlt_algorithm *usual = rlt_algorithm_usual(req), *faster = n ? NULL : choose_fastest(req, usual);
    if (n == 0 || all[0].excluded)
        return faster ? faster : usual;
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
