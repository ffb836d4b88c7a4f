/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One simulated collective by an algorithm, or several at once. */
#include <stdio.h>
#include <stdlib.h>

#include "collectives/algorithm.h"
#include "collectives/bound.h"
#include "collectives/check/checker.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "collectives/fold.h"
#include "collectives/plan.h"
#include "net/endpoint/endpoint.h"
#include "net/links.h"
#include "net/network.h"
#include "net/route.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "sim/watch.h"
#include "workload/experiment/coll/steps.h"
#include "workload/setup/settings.h"

/* With more messages than this, a plan of uneven blocks gets even ones if that lets it fold. */
#define TOO_MANY_MESSAGES ((uint64_t)1 << 23)
#define AT_MOST_PERCENT   10

/* Estimates about one message per step. */
static uint64_t expect_messages(const rlt_plan *p)
{
    uint64_t steps = 0;
    for (uint32_t lane = 0; lane < p->lanes; lane++)
        steps += p->algorithm->steps(p, 0, lane);
    return steps * p->req.n;
}

/* Rounds the bytes up to whole blocks, if only that lets a collective fold that is too large otherwise. */
static int make_even(rlt_plan *plan, rlt_error *err)
{
    uint32_t sizes[RLT_MAX_TRANSLATIONS];
    const rlt_algorithm *a = plan->algorithm;
    if (plan->req.counts || rlt_plan_is_even(plan) || expect_messages(plan) < TOO_MANY_MESSAGES ||
        !a->symmetry || a->symmetry(plan, sizes) == 0)
        return 0;
    rlt_coll_request req = plan->req;
    req.bytes += plan->blocks - req.bytes % plan->blocks;
    rlt_plan_free(plan);
    return rlt_plan_create(a, &req, plan, err);
}

static uint32_t tenants_of(const rlt_coll_how *how)
{
    return how->tenants ? how->tenants : 1;
}

static const rlt_plan *plan_of(const rlt_coll_run *run, uint32_t tenant)
{
    return tenant ? &run->others[tenant - 1] : &run->plan;
}

static bool may_fold(const rlt_coll_how *how)
{
    return how->fold && !how->series_ps && (how->setup->model->can & RLT_NET_FOLDS) && tenants_of(how) == 1;
}

int rlt_coll_plan(rlt_coll_run *run, const rlt_coll_how *how, const rlt_coll_request *req, rlt_error *err)
{
    uint32_t n = tenants_of(how);
    run->tenants = calloc(n, sizeof *run->tenants);
    run->others = calloc(n, sizeof *run->others);
    if (!run->tenants || !run->others)
        return rlt_nomem(err);
    int rc = rlt_plan_create(how->algorithm, req, &run->plan, err);
    run->bytes = rc ? 0 : run->plan.req.bytes;
    if (!rc && may_fold(how))
        rc = make_even(&run->plan, err);
    run->planned = rc == 0;
    for (; run->planned < n && !rc; run->planned += rc == 0)
        rc = rlt_plan_create(how->algorithm, &req[run->planned], &run->others[run->planned - 1], err);
    return rc;
}

static void note_end(void *ctx, uint64_t cookie)
{
    rlt_coll_run *run = ctx;
    rlt_net *net = rlt_exec_net(run->exec);
    run->tenants[cookie].time_ps = run->time_ps = rlt_sim_now(run->sim);
    if (++run->ended == run->planned && (net->model->can & RLT_NET_PACKETS))
        rlt_sim_post(run->sim, run->time_ps, RLT_OBSERVE, run->on_settle, 0);
}

/* Closes the accounts when all that happens at the last end has happened, in whichever order. */
static void on_settle(void *ctx, uint64_t payload)
{
    rlt_coll_run *run = ctx;
    (void)payload;
    rlt_net_settle(rlt_exec_net(run->exec));
    run->events--; /* no event of the network */
}

/* Finds the bounds with a router of its own: asking for routes must not advance the choices of spraying. */
static int find_bounds(rlt_coll_run *run, const rlt_setup *s, rlt_error *err)
{
    rlt_router *router;
    rlt_bound bound;
    int rc = rlt_router_create(s->topology, &s->placement, s->routing, &router, err);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < run->planned && !rc; i++) {
        rc = rlt_plan_bound(plan_of(run, i), router, 1, 1, &bound, err);
        rlt_time bound_ps = rc ? 0 : rlt_bound_under(&bound, s->model);
        run->tenants[i].bound_ps = bound_ps;
        run->bound_ps = bound_ps > run->bound_ps ? bound_ps : run->bound_ps;
    }
    rlt_router_free(router);
    return rc;
}

/* Finds the fold. It is no error if nothing folds. */
static int find_fold(rlt_coll_run *run, const rlt_coll_how *how, rlt_error *err)
{
    const rlt_setup *s = how->setup;
    rlt_fold_options options = {.blocking = s->endpoint.injection == RLT_INJECT_BLOCKING,
                                .serialises = !(s->model->can & RLT_NET_SHARES_LINKS),
                                .percent = AT_MOST_PERCENT,
                                .watch = how->watch};
    rlt_error why = {0};
    int rc = rlt_fold_create(&run->plan, run->router, &options, &run->fold, &why);
    if (rc == 0)
        run->simulated = run->fold.n_classes;
    else
        snprintf(run->unfolded, sizeof run->unfolded, "%.180s", why.what);
    return rc == 0 || rc == RLT_EUNSUPPORTED ? 0 : rlt_fail(err, rc, why.where, "%s", why.what);
}

static int prepare(rlt_coll_run *run, const rlt_coll_how *how, rlt_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < run->planned && how->check && !rc; i++)
        rc = rlt_plan_check(plan_of(run, i), err);
    run->watch = how->watch;
    run->time_ps = -1;
    run->events = 0;
    run->simulated = run->plan.req.n * run->planned;
    run->expected_messages = expect_messages(&run->plan) * run->planned;
    return rc ? rc : find_bounds(run, how->setup, err);
}

static int create(rlt_coll_run *run, const rlt_coll_how *how, rlt_error *err)
{
    const rlt_setup *s = how->setup;
    int rc = rlt_sim_create(&run->sim, err);
    if (rc ||
        (rc = rlt_sim_register(run->sim, run, &(rlt_handler_entry){on_settle, &run->on_settle}, 1, err)) ||
        (rc = rlt_router_create(s->topology, &s->placement, s->routing, &run->router, err)))
        return rc;
    rlt_net_config cfg = rlt_setup_net(s, run->sim, run->router, how->series_ps);
    if (may_fold(how) && (rc = find_fold(run, how, err)))
        return rc;
    cfg.fold = run->fold.n_classes ? &run->fold.net : NULL;
    cfg.local = true;
    cfg.orderly = run->plan.lanes > 1 && !(s->model->can & RLT_NET_SHARES_LINKS);
    return rlt_exec_create(s->model, &cfg, &run->exec, err);
}

/* Checks that no run beats the bound, except by the rounding of each message's end to a picosecond. */
static int check_bound(const rlt_coll_run *run, rlt_error *err)
{
    uint64_t members = (uint64_t)run->plan.req.n * run->planned;
    rlt_time rounding = (rlt_time)(rlt_exec_net(run->exec)->messages / members) + 1;
    for (uint32_t i = 0; i < run->planned; i++) {
        const rlt_coll_ended *t = &run->tenants[i];
        if (t->time_ps + rounding < t->bound_ps)
            return rlt_fail(err, RLT_ECHECK, "bound", "%s by %s took %lld ps, below the bound of %lld ps",
                            rlt_coll_name(run->plan.req.kind), run->plan.algorithm->name,
                            (long long)t->time_ps, (long long)t->bound_ps);
    }
    return 0;
}

static void tell_progress(void *ctx, const rlt_sim *sim)
{
    const rlt_coll_run *run = ctx;
    (void)sim;
    rlt_watch_progress(run->watch, rlt_exec_net(run->exec)->messages, run->expected_messages);
}

static void begin(rlt_coll_run *run, const rlt_watch *watch)
{
    enum { EVENTS = 1 << 15 };
    rlt_sim_on_progress(run->sim, EVENTS, tell_progress, run);
    rlt_watch_running(watch, run->sim);
}

/* Simulates every member and compares: time and link accounts must be equal to the folded ones. */
static int verify(const rlt_coll_run *run, const rlt_coll_how *how, rlt_error *err)
{
    const rlt_topology *t = how->setup->topology;
    const char *name = run->plan.algorithm->name;
    rlt_coll_how whole = *how;
    whole.straggler_ps = 0;
    rlt_coll_run other = {0};
    whole.fold = whole.verify_fold = whole.check = false;
    whole.algorithm = run->plan.algorithm;
    int rc = rlt_coll_plan(&other, &whole, &run->plan.req, err);
    if (!rc)
        rc = rlt_coll_simulate(&other, &whole, err);
    if (!rc && other.time_ps != run->time_ps)
        rc =
            rlt_fail(err, RLT_ECHECK, "fold", "%s took %lld ps folded, but %lld ps with every rank simulated",
                     name, (long long)run->time_ps, (long long)other.time_ps);
    for (uint32_t i = 0; !rc && i < rlt_topology_links(t); i++) {
        rlt_link_usage a = rlt_usage_link(rlt_exec_net(run->exec)->usage, i);
        rlt_link_usage b = rlt_usage_link(rlt_exec_net(other.exec)->usage, i);
        if (a.bytes != b.bytes || a.messages != b.messages || a.active_ps != b.active_ps)
            rc = rlt_fail(
                err, RLT_ECHECK, "fold",
                "%s: folded, link %u carried %llu bytes in %llu messages and was active %lld ps; with "
                "every rank simulated, %llu bytes, %llu messages, %lld ps",
                name, i, (unsigned long long)a.bytes, (unsigned long long)a.messages, (long long)a.active_ps,
                (unsigned long long)b.bytes, (unsigned long long)b.messages, (long long)b.active_ps);
    }
    rlt_coll_end(&other);
    return rc;
}

/* Adds the delay of the last rank: steps wait until it begins, so its delay comes on top of the simulated
 * time. */
static void delay(rlt_coll_run *run, rlt_time straggler_ps)
{
    rlt_time before = run->time_ps;
    if (straggler_ps == 0)
        return;
    run->time_ps = rlt_time_add(run->time_ps, straggler_ps);
    for (uint32_t i = 0; i < run->planned; i++)
        run->tenants[i].time_ps = rlt_time_add(run->tenants[i].time_ps, straggler_ps);
    run->busiest.utilization *= (double)before / (double)run->time_ps;
}

static int simulate_alone(rlt_coll_run *run, const rlt_coll_how *how, rlt_error *err)
{
    rlt_exec_client client = {.ctx = run, .done = note_end};
    char waits[900];
    int rc = create(run, how, err);
    if (rc)
        return rc;
    begin(run, how->watch);
    for (uint32_t i = 0; i < run->planned; i++) {
        uint32_t id = rlt_exec_add_folded(run->exec, plan_of(run, i), run->fold.n_classes ? &run->fold : NULL,
                                          &client, i, 0);
        if (id == RLT_NONE)
            break;
        rlt_exec_arrive_all(run->exec, id);
    }
    rc = rlt_sim_run(run->sim, RLT_TIME_MAX, err);
    rlt_watch_running(how->watch, NULL);
    if (rc)
        return rc;
    if (rlt_exec_pending(run->exec, waits, sizeof waits) > 0 || run->time_ps < 0)
        return rlt_fail(err, RLT_ESTALL, rlt_coll_name(run->plan.req.kind), "stalled: %s", waits);
    run->events += rlt_sim_events(run->sim);
    run->threads = 1;
    return 0;
}

/* Simulates on several threads if that was asked for and is possible, otherwise on one. A run that fails on
 * several is repeated on one: its error must not depend on their number. */
static int simulate(rlt_coll_run *run, const rlt_coll_how *how, rlt_error *err)
{
    rlt_error why = {0};
    int rc = how->threads > 1 ? rlt__coll_simulate_parts(run, how, &why) : RLT_EUNSUPPORTED;
    if (rc == 0)
        return 0;
    if (rc == RLT_ECANCELLED)
        return rlt_fail(err, rc, why.where, "%s", why.what);
    if (rc == RLT_EUNSUPPORTED && how->threads > 1)
        snprintf(run->alone, sizeof run->alone, "%.199s", why.what);
    return simulate_alone(run, how, err);
}

int rlt_coll_simulate(rlt_coll_run *run, const rlt_coll_how *how, rlt_error *err)
{
    const rlt_topology *t = how->setup->topology;
    int rc = prepare(run, how, err);
    if (rc || (rc = simulate(run, how, err)))
        return rc;
    rlt_net_settle(rlt_exec_net(run->exec));
    run->busiest = rlt_links_busiest(t, rlt_exec_net(run->exec)->usage, run->time_ps);
    rc = rlt_accounts_check(rlt_exec_net(run->exec), t, run->time_ps, &run->over, err);
    if (!rc)
        rc = check_bound(run, err);
    if (!rc && how->verify_fold && run->fold.n_classes)
        rc = verify(run, how, err);
    if (!rc)
        delay(run, how->straggler_ps);
    return rc;
}

void rlt_coll_end(rlt_coll_run *run)
{
    rlt_exec_free(run->exec);
    rlt_router_free(run->router);
    rlt_sim_free(run->sim);
    rlt_fold_free(&run->fold);
    for (uint32_t i = 0; i < run->planned; i++)
        rlt_plan_free(i ? &run->others[i - 1] : &run->plan);
    free(run->others);
    free(run->tenants);
    *run = (rlt_coll_run){0};
}
