/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A collective by a reactive protocol, or those of several tenants at once. */
#include "workload/experiment/coll/react.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/in_network/libra/libra.h"
#include "net/packet/packet.h"
#include "net/packet/packets.h"
#include "net/route.h"

static rlt_fabric_config config_of(const rlt_react_ask *ask)
{
    const rlt_setup *s = ask->setup;
    const rlt_packet_settings *p = &s->packet;
    rlt_fabric_config cfg = {
        .packets = rlt_packet_links(p), .placement = &s->placement, .aggregator = s->aggregator};
    cfg.packets.topology = s->topology;
    cfg.packets.series_bin_ps = ask->series_ps;
    cfg.aggregator.series_bin_ps = ask->occupancy_ps;
    cfg.aggregator.jobs = ask->tenants > 1 ? ask->tenants : 0;
    /* Partial sums may be lost between switches. */
    cfg.aggregator.reemit = rlt_packet_may_lose(p) || (p->buffer && !p->pause);
    return cfg;
}

static uint32_t tenants_of(const rlt_react_ask *ask)
{
    return ask->tenants ? ask->tenants : 1;
}

/* Takes the result of each tenant, and their totals. */
static void take_results(rlt_react_run *run)
{
    rlt_react_result *all = &run->result;
    run->slowest = 0;
    run->servers = false;
    for (uint32_t i = 0; i < run->tenants; i++) {
        run->results[i] = rlt_fabric_result(run->fabric, i);
        run->servers |= run->results[i].servers > 0;
        if (run->results[i].time_ps > run->results[run->slowest].time_ps)
            run->slowest = i;
    }
    *all = run->results[run->slowest];
    for (uint32_t i = 0; i < run->tenants; i++) {
        const rlt_react_result *r = &run->results[i];
        if (i == run->slowest)
            continue;
        all->packets += r->packets;
        all->retransmissions += r->retransmissions;
        all->timeouts += r->timeouts;
        all->duplicates += r->duplicates;
        all->lost += r->lost;
        all->aggregated += r->aggregated;
        all->unaggregated += r->unaggregated;
        all->server_bytes += r->server_bytes;
        all->left_out += r->left_out;
        rlt_agg_counts_add(&all->switches, &r->switches);
    }
    run->fairness = rlt_fabric_fairness(run->fabric);
}

static int add_tenant(rlt_react_run *run, const rlt_react_ask *ask, const rlt_react_request *all,
                      uint32_t tenant, rlt_error *err)
{
    rlt_react_request q = *all;
    uint32_t n = tenants_of(ask), job, *ranks = NULL;
    q.ranks = ask->req[tenant].ranks;
    if (ask->exact_workers) {
        if (!(ranks = malloc(q.n * sizeof *ranks)))
            return rlt_nomem(err);
        for (uint32_t k = 0; k < q.n; k++)
            ranks[k] = k * n + tenant;
        q.ranks = ranks;
    }
    int rc = rlt_fabric_add(run->fabric, &q, &job, err);
    if (rc && ask->tenants > 1) {
        char who[32];
        snprintf(who, sizeof who, "tenant %u", tenant);
        rlt_error_prefix(err, who);
    }
    free(ranks);
    return rc;
}

/* Creates the fabric and enters jobs of n members. */
static int open_with(rlt_react_run *run, const rlt_react_ask *ask, uint32_t n, rlt_error *err)
{
    const rlt_setup *s = ask->setup;
    rlt_fabric_config cfg = config_of(ask);
    rlt_time *late_ps = calloc(n, sizeof *late_ps);
    rlt_react_request q = {.protocol = ask->reacting->protocol,
                           .kind = ask->req->kind,
                           .n = n,
                           .bytes = ask->req->bytes,
                           .late_ps = late_ps,
                           .fallback = s->fallback.protocol,
                           .updates = s->updates};
    memcpy(q.settings, ask->reacting->values, sizeof q.settings);
    memcpy(q.fallback_settings, s->fallback.values, sizeof q.fallback_settings);
    run->tenants = tenants_of(ask);
    run->results = calloc(run->tenants, sizeof *run->results);
    int rc = run->results && late_ps ? rlt_fabric_create(&cfg, &run->fabric, err) : rlt_nomem(err);
    uint32_t apart = rlt_reacting_servers(ask->reacting);
    if (!rc && apart < n)
        late_ps[n - apart - 1] = ask->straggler_ps;
    for (uint32_t i = 0; i < run->tenants && !rc; i++)
        rc = add_tenant(run, ask, &q, i, err);
    if (!rc)
        take_results(run);
    free(late_ps);
    return rc;
}

int rlt_react_open(rlt_react_run *run, const rlt_react_ask *ask, rlt_error *err)
{
    uint32_t n = ask->req->n, most = ask->setup->placement.n / tenants_of(ask);
    uint32_t apart = ask->exact_workers ? rlt_reacting_servers(ask->reacting) : 0;
    if (apart > most || n > most - apart)
        return rlt_fail(err, RLT_ERANGE, rlt_reactive_name(ask->reacting->protocol),
                        "%u workers and %u separate server%s exceed the %u ranks%s", n, apart,
                        apart == 1 ? "" : "s", most, ask->tenants > 1 ? " of a tenant" : "");
    return open_with(run, ask, n + apart, err);
}

/* Checks that no tenant beats the bound of its own members alone. */
static int check_bounds(rlt_react_run *run, const rlt_react_ask *ask, rlt_error *err)
{
    const rlt_setup *s = ask->setup;
    rlt_router *router;
    int rc = rlt_router_create(s->topology, &s->placement, s->routing, &router, err);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < run->tenants && !rc; i++) {
        rlt_time bound_ps, time_ps = run->results[i].time_ps;
        rc = rlt_react_bound(&run->results[i], &ask->req[i], router, 1, &bound_ps, err);
        run->bound_ps = bound_ps > run->bound_ps ? bound_ps : run->bound_ps;
        if (!rc && time_ps < bound_ps)
            rc = rlt_fail(err, RLT_ECHECK, "bound", "%s took %lld ps, below the bound of %lld ps",
                          rlt_react_ran(&run->results[i], ask), (long long)time_ps, (long long)bound_ps);
    }
    rlt_router_free(router);
    return rc;
}

static void look_at_switches(rlt_react_run *run)
{
    const rlt_aggregator *a;
    uint32_t node;
    run->node = RLT_NONE;
    for (uint32_t i = 0; (a = rlt_fabric_switch(run->fabric, i, &node)); i++) {
        rlt_agg_occupancy o = rlt_aggregator_occupancy(a, rlt_fabric_end(run->fabric));
        if (run->node != RLT_NONE && o.peak <= run->peak)
            continue;
        run->node = node;
        run->peak = o.peak;
        run->mean = o.mean;
        run->fullest = a;
    }
}

typedef struct watcher {
    rlt_react_run *run;
    const rlt_watch *watch;
} watcher;

static void tell_progress(void *ctx, const rlt_sim *sim)
{
    const watcher *w = ctx;
    uint64_t packets = 0;
    (void)sim;
    for (uint32_t i = 0; i < w->run->tenants; i++)
        packets += rlt_fabric_result(w->run->fabric, i).packets;
    rlt_watch_progress(w->watch, packets, w->run->expected);
}

int rlt_react_simulate(rlt_react_run *run, const rlt_react_ask *ask, const rlt_watch *watch, rlt_error *err)
{
    enum { EVENTS = 1 << 15 };
    watcher w = {run, watch};
    rlt_sim *sim = rlt_fabric_sim(run->fabric);
    int rc;
    run->expected = run->result.chunks * run->result.workers * run->tenants;
    rlt_sim_on_progress(sim, EVENTS, tell_progress, &w);
    rlt_watch_running(watch, sim);
    rc = rlt_fabric_run(run->fabric, err);
    rlt_watch_running(watch, NULL);
    rlt_sim_on_progress(sim, EVENTS, NULL, NULL);
    if (rc)
        return rc;
    rlt_packets_settle(rlt_fabric_packets(run->fabric));
    take_results(run);
    run->events = rlt_sim_events(sim);
    run->busiest = rlt_links_busiest(ask->setup->topology, rlt_packets_usage(rlt_fabric_packets(run->fabric)),
                                     run->result.time_ps);
    look_at_switches(run);
    return check_bounds(run, ask, err);
}

void rlt_react_end(rlt_react_run *run)
{
    rlt_fabric_free(run->fabric);
    free(run->results);
    *run = (rlt_react_run){0};
}

rlt_value rlt_react_fallback(const rlt_react_result *r, uint32_t n)
{
    double all = 0, alone = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (r[i].servers == 0)
            continue;
        all += (double)r[i].chunks * r[i].workers;
        alone += (double)r[i].unaggregated;
    }
    if (all <= 0)
        return rlt_absent();
    return rlt_real(alone < all ? alone / all : 1);
}

const char *rlt_react_ran(const rlt_react_result *r, const rlt_react_ask *ask)
{
    if (r->fallback[0])
        return rlt_reactive_name(&rlt_host_ring);
    return rlt_reactive_name(r->fell_back ? ask->setup->fallback.protocol : ask->reacting->protocol);
}

const char *rlt_react_reason(const rlt_react_result *r)
{
    return r->fell_back ? r->fell_back : r->fallback[0] ? r->fallback : NULL;
}
