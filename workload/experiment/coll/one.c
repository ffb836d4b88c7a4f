/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload/experiment/coll/one.h"

#include <stdlib.h>

#include "collectives/algorithm.h"
#include "collectives/bound.h"
#include "collectives/executor.h"
#include "collectives/in_network/reactive.h"
#include "collectives/selector.h"
#include "net/network.h"
#include "net/packet/packets.h"
#include "net/route.h"
#include "sim/sim.h"
#include "workload/setup/settings.h"

/* Edges and chunks that a synthesis tries in the time of an event. */
enum { TRIES = 8 };

static const rlt_reacting *reacting_of(const rlt_coll_one *one)
{
    return one->ask->reacting[one->row % one->ask->n_algorithms];
}

static uint32_t tenants_of(const rlt_coll_ask *ask)
{
    return ask->tenants ? ask->n_tenants : 1;
}

static rlt_coll_how how_of(const rlt_coll_one *one, const rlt_watch *watch)
{
    const rlt_coll_ask *ask = one->ask;
    const rlt_coll_settings *s = ask->settings;
    return (rlt_coll_how){.setup = &ask->setup,
                          .algorithm = ask->algorithms[one->row % ask->n_algorithms],
                          .check = s->check,
                          .tenants = ask->n_tenants,
                          .straggler_ps = s->straggler_ps,
                          .fold = !s->no_fold,
                          .verify_fold = s->verify_fold,
                          .series_ps = one->series_ps,
                          .threads = (uint32_t)s->threads,
                          .watch = watch};
}

static rlt_react_ask react_of(const rlt_coll_one *one)
{
    const rlt_coll_ask *ask = one->ask;
    return (rlt_react_ask){.setup = &ask->setup,
                           .reacting = reacting_of(one),
                           .req = one->reqs,
                           .tenants = ask->n_tenants,
                           .straggler_ps = ask->settings->straggler_ps,
                           .exact_workers = ask->settings->workers > 0,
                           .series_ps = one->series_ps,
                           .occupancy_ps = one->series_ps};
}

/* Returns the columns that every row has. */
static rlt_coll_result result_of(const rlt_coll_request *req, rlt_time time_ps, uint64_t bytes,
                                 uint32_t members)
{
    double seconds = (double)time_ps * 1e-12, factor = rlt_busbw_factor(req->kind, members);
    double algbw = (double)bytes / seconds * 1e-9;
    bool timed = time_ps > 0;
    return (rlt_coll_result){.kind = req->kind,
                             .bytes = bytes,
                             .ranks = req->n,
                             .time_ps = time_ps,
                             .factor = factor,
                             .algbw_GBps = timed ? rlt_real(algbw) : rlt_absent(),
                             .busbw_GBps = timed ? rlt_real(algbw * factor) : rlt_absent(),
                             .offered = rlt_absent(),
                             .retransmissions = rlt_absent(),
                             .fallback = rlt_absent(),
                             .peak = rlt_absent(),
                             .mean = rlt_absent(),
                             .server_bytes = rlt_absent(),
                             .collided = rlt_absent()};
}

static rlt_coll_result result_of_steps(const rlt_coll_run *run)
{
    const rlt_coll_request *req = &run->plan.req;
    rlt_coll_result r = result_of(req, run->time_ps, run->bytes, req->n);
    r.algorithm = r.ran = req->listed ? req->listed->name : run->plan.algorithm->name;
    r.bound_ps = run->bound_ps;
    r.busiest = run->busiest;
    r.events = run->events;
    r.work = run->events + (uint64_t)req->n * run->planned + run->plan.tried / TRIES;
    r.messages = rlt_exec_net(run->exec)->messages;
    r.simulated = run->simulated;
    r.offered = rlt_count(rlt_exec_net(run->exec)->bytes_offered);
    return r;
}

static rlt_coll_result result_of_protocol(const rlt_react_run *run, const rlt_react_ask *ask)
{
    const rlt_react_result *all = &run->result;
    rlt_coll_result r = result_of(ask->req, all->time_ps, ask->req->bytes, all->workers);
    r.algorithm = rlt_reactive_name(ask->reacting->protocol);
    r.ran = rlt_react_ran(all, ask);
    r.bound_ps = run->bound_ps;
    r.busiest = run->busiest;
    r.events = r.work = run->events;
    r.messages = all->packets;
    r.simulated = (uint64_t)ask->req->n * run->tenants;
    r.retransmissions = rlt_count(all->retransmissions);
    r.fallback = rlt_react_fallback(run->results, run->tenants);
    if (run->node != RLT_NONE) {
        r.peak = rlt_count(run->peak);
        r.mean = rlt_real(run->mean);
    }
    if (run->tenants > 1 && all->switches.packets)
        r.collided = rlt_real((double)all->switches.foreign / (double)all->switches.packets);
    if (run->servers)
        r.server_bytes = rlt_count(all->server_bytes);
    return r;
}

static int make_requests(rlt_coll_one *one, rlt_error *err)
{
    uint32_t n = tenants_of(one->ask);
    one->reqs = calloc(n, sizeof *one->reqs);
    if (!one->reqs)
        return rlt_nomem(err);
    for (uint32_t k = 0; k < n; k++)
        one->reqs[k] = rlt_coll_request_of(one->ask, one->row, k);
    return 0;
}

int rlt_coll_one_open(rlt_coll_one *one, const rlt_coll_ask *ask, uint32_t i, rlt_time series_ps,
                      rlt_error *err)
{
    one->ask = ask;
    one->row = i;
    one->series_ps = series_ps;
    int rc = make_requests(one, err);
    if (rc || (rc = rlt_library_check(one->reqs, err)))
        return rc;
    if (reacting_of(one)) {
        rlt_react_ask react = react_of(one);
        return rlt_react_open(&one->react, &react, err);
    }
    rlt_coll_how how = how_of(one, NULL);
    return rlt_coll_plan(&one->run, &how, one->reqs, err);
}

static int simulate_protocol(rlt_coll_one *one, const rlt_watch *watch, rlt_error *err)
{
    rlt_react_ask react = react_of(one);
    int rc = rlt_react_simulate(&one->react, &react, watch, err);
    if (!rc && one->ask->tenants)
        rc = rlt_tenants_of_protocol(&one->react, &react, &one->tenants, err);
    if (!rc)
        one->result = result_of_protocol(&one->react, &react);
    return rc;
}

static int simulate_steps(rlt_coll_one *one, const rlt_watch *watch, rlt_error *err)
{
    rlt_coll_how how = how_of(one, watch);
    int rc = rlt_coll_simulate(&one->run, &how, err);
    if (!rc && one->ask->tenants)
        rc = rlt_tenants_of_steps(&one->run, &one->tenants, err);
    if (!rc)
        one->result = result_of_steps(&one->run);
    if (!rc && one->reqs->library)
        one->result.algorithm = rlt_coll_label_of(one->ask, one->row, one->run.plan.algorithm);
    return rc;
}

int rlt_coll_one_simulate(rlt_coll_one *one, const rlt_watch *watch, rlt_error *err)
{
    int rc = reacting_of(one) ? simulate_protocol(one, watch, err) : simulate_steps(one, watch, err);
    one->result.network = one->ask->setup.model->name;
    one->result.fairness = one->tenants.list ? rlt_real(one->tenants.fairness) : rlt_absent();
    return rc;
}

const rlt_usage *rlt_coll_one_usage(const rlt_coll_one *one)
{
    return one->react.fabric ? rlt_packets_usage(rlt_fabric_packets(one->react.fabric))
                             : rlt_exec_net(one->run.exec)->usage;
}

void rlt_coll_one_drop(rlt_coll_one *one)
{
    rlt_coll_end(&one->run);
    rlt_react_end(&one->react);
    free(one->reqs);
    one->reqs = NULL;
}

void rlt_coll_one_end(rlt_coll_one *one)
{
    rlt_coll_one_drop(one);
    rlt_tenants_free(&one->tenants);
    *one = (rlt_coll_one){0};
}

/* Finds the cuts of a protocol's bound, which counts workers and allows aggregation in switches. */
static int prime_protocol(rlt_coll_one *one, rlt_router *router, rlt_error *err)
{
    rlt_react_ask react = react_of(one);
    rlt_time bound_ps;
    int rc = rlt_react_open(&one->react, &react, err);
    for (uint32_t i = 0; i < one->react.tenants && !rc; i++)
        rc = rlt_react_bound(&one->react.results[i], &one->reqs[i], router, 1, &bound_ps, err);
    return rc;
}

int rlt_coll_prime(const rlt_coll_ask *ask, rlt_error *err)
{
    rlt_coll_one one = {.ask = ask};
    rlt_router *router = NULL;
    rlt_bound bound;
    const rlt_setup *s = &ask->setup;
    int rc = make_requests(&one, err);
    if (!rc)
        rc = rlt_router_create(s->topology, &s->placement, s->routing, &router, err);
    for (uint32_t i = 0; !rc && i < tenants_of(ask); i++)
        rc = rlt_coll_bound(&one.reqs[i], router, 1, 1, &bound, err);
    if (!rc && reacting_of(&one))
        rc = prime_protocol(&one, router, err);
    rlt_router_free(router);
    rlt_coll_one_end(&one);
    return rc;
}
