/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One simulation of collectives on several threads. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "net/network.h"
#include "net/packet/parts.h"
#include "net/route.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "sim/watch.h"
#include "sim/windows.h"
#include "workload/experiment/coll/steps.h"
#include "workload/setup/settings.h"

typedef struct part {
    rlt_sim *sim;
    rlt_router *router;
    rlt_exec *exec;
    rlt_net_part place;
    rlt_exec_client client;
    rlt_time *ends; /* by tenant: when its last member here was done; -1: none was */
    rlt_time last;
} part;

typedef struct parts {
    rlt_coll_run *run;
    uint32_t asked; /* number of parts wanted; dealt.n may be less */
    rlt_packet_parts dealt;
    rlt_windows *windows;
    part *of; /* `asked` of them */
} parts;

static void note_end(void *ctx, uint64_t cookie)
{
    part *p = ctx;
    p->ends[cookie] = p->last = rlt_sim_now(p->sim);
    if (rlt_exec_pending(p->exec, NULL, 0) == 0)
        rlt_packet_part_ended(rlt_exec_net(p->exec));
}

static rlt_time ended(void *ctx)
{
    const part *p = ctx;
    return rlt_exec_pending(p->exec, NULL, 0) > 0 ? -1 : p->last;
}

static void tell_progress(void *ctx, const rlt_sim *sim)
{
    const parts *all = ctx;
    (void)sim;
    rlt_watch_progress(all->run->watch, rlt_exec_net(all->of[0].exec)->messages * all->dealt.n,
                       all->run->expected_messages);
}

/* Creates the clock and the routes of a part, unless it has them. */
static int open_network(part *p, const rlt_setup *s, rlt_error *err)
{
    int rc = p->sim ? 0 : rlt_sim_create(&p->sim, err);
    if (!rc && !p->router)
        rc = rlt_router_create(s->topology, &s->placement, s->routing, &p->router, err);
    return rc;
}

/* Creates the simulation of part i. */
static int open_part(parts *all, const rlt_setup *s, uint32_t i, rlt_error *err)
{
    part *p = &all->of[i];
    uint32_t planned = all->run->planned;
    p->place = (rlt_net_part){&all->dealt, all->windows, all->dealt.of_rank, i};
    p->client = (rlt_exec_client){.ctx = p, .done = note_end};
    p->ends = malloc(planned * sizeof *p->ends);
    if (!p->ends)
        return rlt_nomem(err);
    int rc = open_network(p, s, err);
    if (rc)
        return rc;
    rlt_net_config cfg = rlt_setup_net(s, p->sim, p->router, 0);
    cfg.part = &p->place;
    cfg.local = true;
    if ((rc = rlt_exec_create(s->model, &cfg, &p->exec, err)))
        return rc;
    rlt_windows_join(all->windows, i, p->sim, ended, p);
    for (uint32_t k = 0; k < planned; k++) {
        const rlt_plan *plan = k ? &all->run->others[k - 1] : &all->run->plan;
        p->ends[k] = -1;
        uint32_t id = rlt_exec_add(p->exec, plan, &p->client, k, 0);
        if (id == RLT_NONE)
            break; /* the run will tell */
        rlt_exec_arrive_all(p->exec, id);
    }
    if (rlt_exec_pending(p->exec, NULL, 0) == 0) /* all members are elsewhere */
        rlt_packet_part_ended(rlt_exec_net(p->exec));
    return 0;
}

/* Deals the network and creates all parts. */
static int open_all(parts *all, const rlt_coll_how *how, rlt_error *err)
{
    const rlt_setup *s = how->setup;
    if (!(s->model->can & RLT_NET_PACKETS))
        return rlt_fail(err, RLT_EUNSUPPORTED, NULL, "only --network packet is simulated in parts");
    all->of = calloc(all->asked, sizeof *all->of);
    if (!all->of)
        return rlt_nomem(err);
    int rc = open_network(&all->of[0], s, err);
    if (rc)
        return rc;
    rlt_net_config cfg = rlt_setup_net(s, all->of[0].sim, all->of[0].router, how->series_ps);
    rc = rlt_packet_deal(&cfg, all->asked, &all->dealt, err);
    if (!rc)
        rc = rlt_windows_create(all->dealt.n, all->dealt.ahead, &all->windows, err);
    for (uint32_t i = 0; i < all->dealt.n && !rc; i++)
        rc = open_part(all, s, i, err);
    return rc;
}

static void free_part(part *p)
{
    rlt_exec_free(p->exec);
    rlt_router_free(p->router);
    rlt_sim_free(p->sim);
    free(p->ends);
}

static bool all_ended(const parts *all)
{
    for (uint32_t i = 0; i < all->dealt.n; i++)
        if (ended(&all->of[i]) < 0)
            return false;
    return true;
}

/* Makes the run that of part 0, with the accounts and times of all. */
static void gather(parts *all)
{
    rlt_coll_run *run = all->run;
    part *first = &all->of[0];
    for (uint32_t i = 0; i < all->dealt.n; i++) {
        const part *p = &all->of[i];
        if (i)
            rlt_packet_gather(rlt_exec_net(first->exec), rlt_exec_net(p->exec));
        run->events += rlt_sim_events(p->sim) - (i ? run->planned : 0); /* each part begins each collective */
        for (uint32_t k = 0; k < run->planned; k++) {
            rlt_coll_ended *t = &run->tenants[k];
            t->time_ps = p->ends[k] > t->time_ps ? p->ends[k] : t->time_ps;
            run->time_ps = t->time_ps > run->time_ps ? t->time_ps : run->time_ps;
        }
    }
    run->threads = all->dealt.n;
    run->sim = first->sim;
    run->router = first->router;
    run->exec = first->exec;
    first->sim = NULL;
    first->router = NULL;
    first->exec = NULL;
}

int rlt__coll_simulate_parts(rlt_coll_run *run, const rlt_coll_how *how, rlt_error *err)
{
    enum { EVENTS = 1 << 15 };
    parts all = {.run = run, .asked = how->threads};
    int rc = open_all(&all, how, err);
    if (!rc) {
        rlt_sim_on_progress(all.of[0].sim, EVENTS, tell_progress, &all);
        rlt_watch_running(how->watch, all.of[0].sim);
        rc = rlt_windows_run(all.windows, err);
        rlt_watch_running(how->watch, NULL);
        rlt_sim_on_progress(all.of[0].sim, 0, NULL, NULL);
    }
    if (!rc && !all_ended(&all))
        rc = rlt_fail(err, RLT_ESTALL, NULL, "stalled");
    if (!rc)
        gather(&all);
    for (uint32_t i = 0; all.of && i < all.asked; i++)
        free_part(&all.of[i]);
    free(all.of);
    rlt_windows_free(all.windows);
    rlt_packet_parts_free(&all.dealt);
    return rc;
}
