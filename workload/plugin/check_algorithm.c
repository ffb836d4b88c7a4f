/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The proof grid of an algorithm. For each kind that it claims, it covers 2 to 17, 24 and 32 members, sizes
 * that divide and sizes that do not, one lane and several. Each plan that the algorithm does not refuse
 *   is correct by the symbolic checker: every contribution is in its place, exactly once, without deadlock;
 *   ends when it runs, under the flow and the alpha-beta model, and beats no lower bound;
 *   takes the same time to the picosecond when it is folded.
 * A kind that is claimed but refused at every point fails.
 */
#include <stdio.h>

#include "collectives/algorithm.h"
#include "collectives/bound.h"
#include "collectives/check/checker.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "collectives/fold.h"
#include "collectives/plan.h"
#include "net/import/import.h"
#include "net/network.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "workload/plugin/internal.h"

enum { LARGEST = 32 };

typedef struct grid {
    const rlt_algorithm *algorithm;
    rlt_topology *topology;
    rlt_placement placement;
    rlt_router *router;
    rlt_group group;
    uint32_t plans, runs, folded;
} grid;

static void note_end(void *ctx, uint64_t cookie)
{
    (void)cookie;
    *(bool *)ctx = true;
}

static int simulate(const grid *g, const rlt_plan *plan, const rlt_fold *fold, const rlt_net_model *model,
                    rlt_time *time_ps, uint64_t *messages, rlt_error *err)
{
    rlt_sim *sim = NULL;
    rlt_exec *exec = NULL;
    bool done = false;
    rlt_exec_client client = {.ctx = &done, .done = note_end};
    int rc = rlt_sim_create(&sim, err);
    if (rc)
        return rc;
    rlt_net_config net = {.sim = sim,
                          .router = g->router,
                          .endpoint = *rlt_topology_endpoint(g->topology),
                          .bandwidth_scale = 1,
                          .latency_scale = 1,
                          .fold = fold ? &fold->net : NULL,
                          .orderly = plan->lanes > 1 && !(model->can & RLT_NET_SHARES_LINKS)};
    if ((rc = rlt_exec_create(model, &net, &exec, err)))
        goto out;
    uint32_t id = rlt_exec_add_folded(exec, plan, fold, &client, 0, 0);
    if (id != RLT_NONE)
        rlt_exec_arrive_all(exec, id);
    if ((rc = rlt_sim_run(sim, RLT_TIME_MAX, err)))
        goto out;
    char waits[600] = "";
    if (!done) {
        rlt_exec_pending(exec, waits, sizeof waits);
        rc = rlt_fail(err, RLT_ECHECK, "run", "ends with work pending: %s", waits);
    }
    *time_ps = rlt_sim_now(sim);
    *messages = rlt_exec_net(exec)->messages;
out:
    rlt_exec_free(exec);
    rlt_sim_free(sim);
    return rc;
}

static int run_under(grid *g, const rlt_plan *plan, const rlt_net_model *model, const rlt_bound *bound,
                     rlt_error *err)
{
    rlt_fold fold = {0};
    rlt_fold_options how = {.serialises = !(model->can & RLT_NET_SHARES_LINKS), .percent = RLT_FOLD_ANYWAY};
    rlt_error why = {0};
    rlt_time whole_ps = 0, folded_ps = 0, bound_ps = rlt_bound_under(bound, model);
    uint64_t messages = 0, folded_messages = 0;
    int rc = simulate(g, plan, NULL, model, &whole_ps, &messages, err);
    if (rc)
        return rc;
    g->runs++;
    /* Each message's end is rounded to a picosecond. */
    if (whole_ps + (rlt_time)(messages / plan->req.n) + 1 < bound_ps)
        return rlt_fail(err, RLT_ECHECK, "bound", "takes %lld ps under %s, below the bound of %lld ps",
                        (long long)whole_ps, model->name, (long long)bound_ps);
    rc = rlt_fold_create(plan, g->router, &how, &fold, &why);
    if (rc == RLT_EUNSUPPORTED)
        return 0;
    if (rc)
        return rlt_fail(err, rc, why.where, "%s", why.what);
    rc = simulate(g, plan, &fold, model, &folded_ps, &folded_messages, err);
    if (!rc && folded_ps != whole_ps)
        rc = rlt_fail(
            err, RLT_ECHECK, "fold",
            "takes %lld ps folded, but %lld ps with every rank simulated, under %s: the declared symmetry is "
            "wrong",
            (long long)folded_ps, (long long)whole_ps, model->name);
    g->folded += rc == 0;
    rlt_fold_free(&fold);
    return rc;
}

static int prove_plan(grid *g, const rlt_coll_request *req, rlt_error *err)
{
    rlt_plan plan = {0};
    rlt_bound bound = {0};
    rlt_error why = {0};
    int rc = rlt_plan_create(g->algorithm, req, &plan, &why);
    if (rc == RLT_EUNSUPPORTED || rc == RLT_ETOPOLOGY || rc == RLT_ERANGE)
        return why.what[0] ? 0 : rlt_fail(err, RLT_ECHECK, "plan", "fails without a message");
    if (rc)
        return rlt_fail(err, RLT_ECHECK, "plan", "%s", why.what);
    if (plan.lanes == 0 || plan.blocks == 0 || plan.buffers == 0 || plan.result >= plan.buffers)
        rc = rlt_fail(err, RLT_ECHECK, "plan", "sets %u lanes, %u blocks, %u buffers and result buffer %u",
                      plan.lanes, plan.blocks, plan.buffers, plan.result);
    if (!rc && !(rc = rlt_plan_check(&plan, err)) &&
        !(rc = rlt_plan_bound(&plan, g->router, 1, 1, &bound, err)) &&
        !(rc = run_under(g, &plan, &rlt_net_flow, &bound, err)))
        rc = run_under(g, &plan, &rlt_net_alpha_beta, &bound, err);
    g->plans += rc == 0;
    rlt_plan_free(&plan);
    return rc;
}

static int prove_kind(grid *g, rlt_coll_kind kind, rlt_error *err)
{
    static const uint64_t sizes[] = {0, 1, 1000, 65536};
    char where[120];
    int rc = 0;
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes && !rc; i++) {
        rlt_coll_request req = rlt_group_request(&g->group, kind, kind == RLT_BARRIER ? 0 : sizes[i / 2]);
        req.params.channels = req.params.chunks =
            i % 2 ? 2 : 0; /* alternates between the algorithm's choice and several lanes */
        req.root = rlt_coll_rooted(kind) ? (uint32_t)(i % req.n) : 0;
        snprintf(where, sizeof where, "%s of %llu bytes, %u members, %u channels, root %u",
                 rlt_coll_name(kind), (unsigned long long)req.bytes, req.n, req.params.channels, req.root);
        if ((rc = prove_plan(g, &req, err)))
            rlt_error_prefix(err, where);
    }
    return rc;
}

static int prove_members(grid *g, uint32_t n, bool done[RLT_COLL_KINDS], rlt_error *err)
{
    char spec[64];
    snprintf(spec, sizeof spec, "switch:%u@10GB/s,500ns", n);
    int rc = rlt_topology_load(spec, NULL, &g->topology, err);
    if (!rc && !(rc = rlt_placement_identity(g->topology, n, &g->placement, err)) &&
        !(rc = rlt_router_create(g->topology, &g->placement, RLT_ROUTE_DMODK, &g->router, err)))
        rc = rlt_group_create(g->topology, &g->placement, NULL, n, &g->group, err);
    for (uint32_t kind = 0; kind < RLT_COLL_KINDS && !rc; kind++) {
        uint32_t before = g->plans;
        if (g->algorithm->kinds >> kind & 1 && (kind != RLT_SEND_RECV || n == 2))
            rc = prove_kind(g, (rlt_coll_kind)kind, err);
        done[kind] |= g->plans != before;
    }
    rlt_group_free(&g->group);
    rlt_router_free(g->router);
    rlt_placement_free(&g->placement);
    rlt_topology_free(g->topology);
    g->router = NULL;
    return rc;
}

int rlt__prove_algorithm(const rlt_algorithm *a, char *line, size_t size, rlt_error *err)
{
    grid g = {.algorithm = a};
    bool done[RLT_COLL_KINDS] = {0};
    int rc = 0;
    if (a->kinds >> RLT_COLL_KINDS)
        return rlt_fail(err, RLT_ECHECK, "kinds", "claims unknown kinds of collectives");
    for (uint32_t n = 2; n <= LARGEST && !rc; n += n < 17 ? 1 : n == 17 ? 7 : 8)
        rc = prove_members(&g, n, done, err);
    for (uint32_t kind = 0; kind < RLT_COLL_KINDS && !rc; kind++)
        if (a->kinds >> kind & 1 && !done[kind])
            rc = rlt_fail(err, RLT_ECHECK, rlt_coll_name((rlt_coll_kind)kind),
                          "is claimed, but fails for every group");
    snprintf(line, size,
             "%u plans of 2 to %d members are right; %u runs end, none below its bound; %u equal when folded",
             g.plans, LARGEST, g.runs, g.folded);
    return rc;
}
