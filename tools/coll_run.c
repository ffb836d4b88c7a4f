/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One simulated collective. */
#include "collectives/bound.h"
#include "collectives/checker.h"
#include "tools/coll.h"

int rlt_coll_plan(rlt_coll_run *run, const rlt_coll_how *how, const rlt_coll_request *req, rlt_error *err)
{
    int rc = rlt_plan_create(how->algorithm, req, &run->plan, err);
    run->planned = rc == 0;
    return rc;
}

static void note_end(void *ctx, uint64_t cookie)
{
    rlt_coll_run *run = ctx;
    (void)cookie;
    run->time_ps = rlt_sim_now(run->sim);
}

/* With a router of its own: asking for routes must not move the choices that spraying makes. */
static int find_bound(rlt_coll_run *run, const rlt_setup *s, rlt_error *err)
{
    rlt_router *router;
    rlt_bound bound;
    int rc = rlt_router_create(s->topology, &s->placement, s->routing, &router, err);
    if (rc)
        return rc;
    rc = rlt_coll_bound(&run->plan.req, router, 1, 1, &bound, err);
    if (!rc)
        run->bound_ps = bound.time_ps;
    rlt_router_free(router);
    return rc;
}

static int prepare(rlt_coll_run *run, const rlt_coll_how *how, rlt_error *err)
{
    const rlt_setup *s = how->setup;
    int rc;
    if ((how->check && (rc = rlt_plan_check(&run->plan, err))) || (rc = find_bound(run, s, err)) ||
        (rc = rlt_sim_create(&run->sim, err)) ||
        (rc = rlt_router_create(s->topology, &s->placement, s->routing, &run->router, err)))
        return rc;
    rlt_net_config cfg = rlt_setup_net(s, run->sim, run->router, how->series_ps);
    return rlt_exec_create(s->model, &cfg, &run->exec, err);
}

/* No run may beat the bound, but for the rounding of each message's end to a picosecond. */
static int check_bound(const rlt_coll_run *run, rlt_error *err)
{
    rlt_time rounding = (rlt_time)(rlt_exec_net(run->exec)->messages / run->plan.req.n) + 1;
    if (run->time_ps + rounding >= run->bound_ps)
        return 0;
    return rlt_fail(err, RLT_ECHECK, "bound", "%s by %s took %lld ps, below the bound of %lld ps",
                    rlt_coll_name(run->plan.req.kind), run->plan.algorithm->name, (long long)run->time_ps,
                    (long long)run->bound_ps);
}

/* About one message a step: near enough for a progress bar. */
static uint64_t expect_messages(const rlt_plan *p)
{
    uint64_t steps = 0;
    for (uint32_t lane = 0; lane < p->lanes; lane++)
        steps += p->algorithm->steps(p, 0, lane);
    return steps * p->req.n;
}

static void tell_progress(void *ctx, const rlt_sim *sim)
{
    const rlt_coll_run *run = ctx;
    (void)sim;
    rlt_job_progress(run->job, rlt_exec_net(run->exec)->messages, run->expected_messages);
}

static void watch(rlt_coll_run *run, rlt_job *job)
{
    enum { EVENTS = 1 << 15 };
    run->job = job;
    run->expected_messages = expect_messages(&run->plan);
    rlt_sim_on_progress(run->sim, EVENTS, tell_progress, run);
    rlt_job_watch(job, run->sim);
}

int rlt_coll_simulate(rlt_coll_run *run, const rlt_coll_how *how, rlt_error *err)
{
    rlt_exec_client client = {.ctx = run, .done = note_end};
    const rlt_topology *t = how->setup->topology;
    char waits[900];
    uint32_t id;
    int rc = prepare(run, how, err);
    if (rc)
        return rc;
    run->time_ps = -1;
    watch(run, how->job);
    id = rlt_exec_add(run->exec, &run->plan, &client, 0, 0);
    if (id != RLT_NONE)
        rlt_exec_arrive_all(run->exec, id);
    rc = rlt_sim_run(run->sim, RLT_TIME_MAX, err);
    rlt_job_watch(how->job, NULL);
    if (rc)
        return rc;
    if (rlt_exec_pending(run->exec, waits, sizeof waits) > 0 || run->time_ps < 0)
        return rlt_fail(err, RLT_ESTALL, rlt_coll_name(run->plan.req.kind), "stalled: %s", waits);
    rlt_net_settle(rlt_exec_net(run->exec));
    run->busiest = rlt_links_busiest(t, rlt_exec_net(run->exec)->usage, run->time_ps);
    rc = rlt_accounts_check(rlt_exec_net(run->exec), t, run->time_ps, &run->over, err);
    return rc ? rc : check_bound(run, err);
}

void rlt_coll_end(rlt_coll_run *run)
{
    rlt_exec_free(run->exec);
    rlt_router_free(run->router);
    rlt_sim_free(run->sim);
    if (run->planned)
        rlt_plan_free(&run->plan);
    *run = (rlt_coll_run){0};
}
