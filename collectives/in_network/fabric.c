/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A fabric: one network with its packets, its aggregating switches, and the jobs that share them. */
#include "collectives/in_network/fabric.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/bound.h"
#include "collectives/collective.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"

#define MAX_CHUNKS   UINT32_MAX
#define MAX_RECEIPTS ((uint64_t)1 << 34)

static void on_timer(void *ctx, uint64_t payload)
{
    const rlt_fabric *f = ctx;
    rlt_fabric_job *j = f->jobs[payload >> 48];
    if (j->closed)
        return;
    j->req.protocol->timer(j, payload & ((UINT64_C(1) << 48) - 1));
}

static void on_begin(void *ctx, uint64_t payload)
{
    const rlt_fabric *f = ctx;
    rlt_fabric_job *j = f->jobs[payload >> 32];
    j->req.protocol->begin(j, (uint32_t)payload);
}

void rlt__fabric_worker_done(rlt_fabric_job *j, uint32_t worker)
{
    const rlt_fabric_client *c = &j->fabric->cfg.client;
    if (c->worker_done)
        c->worker_done(c->ctx, j->req.cookie, worker);
}

/* Closes the accounts of the links once all jobs of a run are done. */
static void close_accounts(rlt_fabric *f)
{
    for (uint32_t i = 0; i < f->n_jobs; i++)
        if (!f->jobs[i]->done)
            return;
    rlt_packets_settle(f->packets);
}

void rlt__fabric_job_done(rlt_fabric_job *j)
{
    const rlt_fabric_client *c = &j->fabric->cfg.client;
    j->done = true;
    if (j->fabric->runs_alone)
        close_accounts(j->fabric);
    if (!c->done)
        return;
    /* The protocol is still running: its state is freed in an event of its own, before anything else
     * begins. */
    rlt_sim_post(j->sim, rlt_sim_now(j->sim), RLT_COMPLETE, j->fabric->on_close, j->number);
    c->done(c->ctx, j->req.cookie);
}

static void on_dropped(void *ctx, const rlt_packet *p, uint32_t link)
{
    const rlt_fabric *f = ctx;
    rlt_fabric_job *j = f->jobs[p->flow];
    (void)link;
    if (j->closed)
        return;
    j->result.lost++;
    if ((p->kind & ~(unsigned)RLT_PK_LOST) == RLT_PK_PARTIAL)
        rlt_fabric_job_take_note(j, p->aux);
}

static bool is_for_server(uint8_t kind)
{
    return kind == RLT_PK_SUM || kind == RLT_PK_PARTIAL || kind == RLT_PK_ALONE;
}

static void on_arrived(void *ctx, const rlt_packet *p)
{
    const rlt_fabric *f = ctx;
    rlt_fabric_job *j = f->jobs[p->flow];
    if (j->closed)
        return;
    if (p->kind & RLT_PK_LOST) {
        on_dropped(ctx, p, RLT_NONE);
        return;
    }
    if (p->dst >= rlt_topology_accelerators(f->cfg.packets.topology)) {
        if (p->kind >= RLT_PK_OWN && j->req.protocol->at_switch)
            j->req.protocol->at_switch(j, p);
        else
            rlt__fabric_stop(j, p);
        return;
    }
    uint32_t who = rlt_map_get(&j->member_of, p->dst);
    if (is_for_server(p->kind)) {
        who -= j->first_server;
        j->result.server_bytes += p->bytes;
        j->result.aggregated += p->kind == RLT_PK_SUM;
        j->result.unaggregated += p->kind == RLT_PK_ALONE;
    }
    j->req.protocol->packet(j, p, who);
}

static rlt_agg_counts switch_counts(const rlt_fabric_job *j)
{
    rlt_agg_counts sum = {0};
    for (uint32_t i = 0; i < j->n_trees && j->trees; i++)
        for (uint32_t s = 0; s < j->trees[i].map->n_stops; s++)
            if (j->trees[i].agg_job[s] != RLT_NONE) {
                rlt_agg_counts c = rlt_aggregator_counts(j->fabric->switches[j->trees[i].agg[s]].agg,
                                                         j->trees[i].agg_job[s]);
                rlt_agg_counts_add(&sum, &c);
            }
    return sum;
}

/* Frees what a job needs only while it runs. */
static void empty(rlt_fabric_job *j)
{
    if (j->req.protocol->release)
        j->req.protocol->release(j);
    rlt__fabric_uproot(j);
    rlt_map_free(&j->member_of);
    rlt_pool_free(&j->notes);
    free(j->state);
    free(j->nodes);
    free(j->late);
    free((void *)(uintptr_t)j->req.ranks);
    free(j->expected);
    free(j->received);
    free(j->lacks);
}

static void on_close(void *ctx, uint64_t payload)
{
    const rlt_fabric *f = ctx;
    rlt_fabric_job *j = f->jobs[payload];
    j->result.switches = switch_counts(j);
    empty(j);
    j->state = NULL;
    j->nodes = NULL;
    j->late = NULL;
    j->req.ranks = NULL;
    j->expected = j->received = NULL;
    j->lacks = NULL;
    j->closed = true;
}

int rlt_fabric_create(const rlt_fabric_config *cfg, rlt_fabric **out, rlt_error *err)
{
    *out = NULL;
    rlt_fabric *f = calloc(1, sizeof *f);
    if (!f)
        return rlt_nomem(err);
    f->cfg = *cfg;
    rlt_pool_init(&f->held, sizeof(rlt_packet));
    rlt_pool_init(&f->clocks, sizeof(rlt_slot_clock));
    int rc = 0;
    if (cfg->host)
        f->sim = cfg->packets.sim;
    else
        rc = rlt_sim_create(&f->sim, err);
    if (rc)
        goto fail;
    const rlt_handler_entry handlers[] = {{on_timer, &f->on_timer},
                                          {on_begin, &f->on_begin},
                                          {on_close, &f->on_close},
                                          {rlt__fabric_on_held, &f->on_held},
                                          {rlt__fabric_on_clock, &f->on_clock},
                                          {rlt__fabric_on_pass, &f->on_pass}};
    rc = rlt_sim_register(f->sim, f, handlers, sizeof handlers / sizeof *handlers, err);
    if (rc)
        goto fail;
    rlt_packets_config *p = &f->cfg.packets;
    p->sim = f->sim;
    p->client = (rlt_packets_client){.ctx = f, .arrived = on_arrived, .dropped = on_dropped};
    f->packets = cfg->host;
    if (cfg->host)
        rlt_packets_guest(cfg->host, &p->client);
    else
        rc = rlt_packets_create(p, &f->packets, err);
    if (!rc)
        rc = rlt_router_create(p->topology, cfg->placement, RLT_ROUTE_DMODK, &f->router, err);
    if (rc)
        goto fail;
    *out = f;
    return 0;
fail:
    rlt_fabric_free(f);
    return rc;
}

static void job_free(rlt_fabric_job *j)
{
    if (!j)
        return;
    if (!j->closed)
        empty(j);
    free(j);
}

void rlt_fabric_free(rlt_fabric *f)
{
    if (!f)
        return;
    for (uint32_t i = 0; i < f->n_jobs; i++)
        job_free(f->jobs[i]);
    for (uint32_t i = 0; i < f->n_switches; i++) {
        rlt_aggregator_free(f->switches[i].agg);
        free(f->switches[i].owners);
    }
    rlt_pool_free(&f->held);
    rlt_pool_free(&f->clocks);
    free(f->jobs);
    free(f->switches);
    rlt_map_free(&f->switch_of);
    rlt_router_free(f->router);
    if (!f->cfg.host) {
        rlt_packets_free(f->packets);
        rlt_sim_free(f->sim);
    }
    free(f);
}

/* Resolves the members' ranks and nodes, and when each begins. */
static int place_members(rlt_fabric_job *j, rlt_error *err)
{
    const rlt_fabric *f = j->fabric;
    const char *name = j->req.protocol->name;
    const uint32_t *given = j->req.ranks;
    uint32_t n = j->req.n, *ranks = malloc(n * sizeof *ranks);
    j->req.ranks = ranks;
    j->nodes = malloc(n * sizeof *j->nodes);
    j->late = calloc(n, sizeof *j->late);
    if (!ranks || !j->nodes || !j->late)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < n; i++) {
        ranks[i] = given ? given[i] : i;
        j->late[i] = j->req.late_ps ? j->req.late_ps[i] : 0;
        if (ranks[i] >= f->cfg.placement->n)
            return rlt_fail(err, RLT_ERANGE, name, "rank %u does not exist; the placement has %u ranks",
                            ranks[i], f->cfg.placement->n);
        if (j->late[i] < 0)
            return rlt_fail(err, RLT_ERANGE, name, "the delay of rank %u is negative; expected at least 0",
                            ranks[i]);
        j->nodes[i] = rlt_placed(f->cfg.placement, ranks[i]);
        if (rlt_map_get(&j->member_of, j->nodes[i]) != RLT_NONE)
            return rlt_fail(err, RLT_ESCHEMA, name, "rank %u is named twice", ranks[i]);
        if (rlt_map_put(&j->member_of, j->nodes[i], i))
            return rlt_nomem(err);
    }
    j->req.late_ps = NULL;
    return 0;
}

static int check_request(const rlt_fabric *f, const rlt_react_request *req, rlt_error *err)
{
    const char *name = req->protocol->name;
    if (!rlt_reactive_does(req->protocol, req->kind))
        return rlt_fail(err, RLT_EUNSUPPORTED, name, "does not support %s", rlt_coll_name(req->kind));
    if (req->n == 0 || req->n > f->cfg.placement->n)
        return rlt_fail(err, RLT_ERANGE, name, "expected 1 to %u members, got %u", f->cfg.placement->n,
                        req->n);
    if (req->start_ps < 0)
        return rlt_fail(err, RLT_ERANGE, name, "expected a start of at least 0 ps, got %lld ps",
                        (long long)req->start_ps);
    return 0;
}

/* Allocates the account of received chunks. */
static int open_books(rlt_fabric_job *j, rlt_error *err)
{
    uint64_t receipts = (uint64_t)j->workers * j->chunks;
    if (receipts > MAX_RECEIPTS)
        return rlt_fail(err, RLT_ERANGE, j->req.protocol->name, "%u chunks for %u workers are too many",
                        j->chunks, j->workers);
    j->expected = calloc((size_t)j->chunks + 1, sizeof *j->expected);
    j->received = calloc((size_t)(receipts / 64 + 1), sizeof *j->received);
    j->lacks = malloc(((size_t)j->workers + 1) * sizeof *j->lacks);
    for (uint32_t w = 0; w < j->workers && j->lacks; w++)
        j->lacks[w] = j->chunks;
    j->missing = receipts;
    j->done = receipts == 0;
    if (j->done)
        j->result.end_ps = j->req.start_ps;
    return j->expected && j->received && j->lacks ? 0 : rlt_nomem(err);
}

static void schedule(rlt_fabric_job *j)
{
    for (uint32_t i = 0; i < j->workers && !j->done && !j->req.arrives; i++)
        rlt_sim_at(j->sim, rlt_time_add(j->req.start_ps, j->late[i]), RLT_START, j->fabric->on_begin,
                   (uint64_t)j->number << 32 | i);
}

void rlt_fabric_arrive(rlt_fabric *f, uint32_t job, uint32_t worker)
{
    rlt_sim_at(f->sim, rlt_sim_now(f->sim), RLT_START, f->on_begin, (uint64_t)job << 32 | worker);
}

static int make_job(rlt_fabric *f, const rlt_react_request *req, rlt_fabric_job **out, rlt_error *err)
{
    rlt_fabric_job *j = calloc(1, sizeof *j);
    if (!j)
        return rlt_nomem(err);
    j->fabric = f;
    j->sim = f->sim;
    j->packets = f->packets;
    j->number = f->n_jobs;
    j->req = *req;
    j->n_trees = 1;
    j->note_words = (req->n + 63) / 64;
    rlt_pool_init(&j->notes, j->note_words * sizeof(uint64_t));
    int rc = place_members(j, err);
    if (!rc) {
        j->workers = req->n;
        rc = req->protocol->start(j, err);
    }
    if (!rc)
        rc = open_books(j, err);
    j->req.updates = NULL;
    if (rc)
        job_free(j);
    else
        *out = j;
    return rc;
}

/* Makes the job with its fallback protocol, after switches refused it, and keeps the reason. */
static int make_fallback(rlt_fabric *f, const rlt_react_request *req, const rlt_error *why,
                         rlt_fabric_job **out, rlt_error *err)
{
    rlt_react_request other = *req;
    other.protocol = req->fallback;
    other.fallback = NULL;
    memcpy(other.settings, req->fallback_settings, sizeof other.settings);
    int rc = check_request(f, &other, err);
    if (!rc)
        rc = make_job(f, &other, out, err);
    if (!rc)
        snprintf((*out)->fell_back, sizeof(*out)->fell_back, "%.255s", why->what);
    return rc;
}

int rlt_fabric_add(rlt_fabric *f, const rlt_react_request *req, uint32_t *job, rlt_error *err)
{
    rlt_fabric_job *j = NULL;
    rlt_error why = {0};
    *job = RLT_NONE;
    int rc = check_request(f, req, err);
    if (rc)
        return rc;
    rc = rlt_grow(&f->jobs, &f->jobs_room, sizeof *f->jobs, (uint64_t)f->n_jobs + 1, RLT_MAX_JOBS, "jobs",
                  err);
    if (rc)
        return rc;
    rc = make_job(f, req, &j, &why);
    if (req->fallback && (rc == RLT_EUNSUPPORTED || rc == RLT_ETOPOLOGY))
        rc = make_fallback(f, req, &why, &j, err);
    else if (rc)
        rlt_fail(err, rc, why.where, "%s", why.what);
    if (rc)
        return rc;
    f->jobs[f->n_jobs++] = j;
    *job = j->number;
    schedule(j);
    return 0;
}

/* Describes the first worker that lacks a chunk, and its first missing chunk. */
static void say_waits(const rlt_fabric_job *j, char *text, size_t size)
{
    uint32_t w = 0, c = 0;
    while (w + 1 < j->workers && j->lacks[w] == 0)
        w++;
    for (; c + 1 < j->chunks; c++) {
        uint64_t at = (uint64_t)w * j->chunks + c;
        if (!(j->received[at / 64] >> (at % 64) & 1))
            break;
    }
    snprintf(text, size,
             "rank %u waits for chunk %u of %u, but no packet is under way (%" PRIu64 " packets were lost)",
             j->req.ranks[w], c, j->chunks, j->result.lost);
}

bool rlt_fabric_waits(const rlt_fabric *f, char *text, size_t size)
{
    for (uint32_t i = 0; i < f->n_jobs; i++) {
        char what[200];
        if (f->jobs[i]->done)
            continue;
        say_waits(f->jobs[i], what, sizeof what);
        snprintf(text, size, "%s: %s", f->jobs[i]->req.protocol->name, what);
        return true;
    }
    return false;
}

static int stalled(const rlt_fabric_job *j, rlt_error *err)
{
    char what[200];
    say_waits(j, what, sizeof what);
    return rlt_fail(err, RLT_ESTALL, j->req.protocol->name, "%s", what);
}

int rlt_fabric_run(rlt_fabric *f, rlt_error *err)
{
    f->runs_alone = true;
    int rc = rlt_sim_run(f->sim, RLT_TIME_MAX, err);
    for (uint32_t i = 0; i < f->n_jobs && !rc; i++)
        if (!f->jobs[i]->done)
            rc = stalled(f->jobs[i], err);
    return rc;
}

rlt_react_result rlt_fabric_result(const rlt_fabric *f, uint32_t job)
{
    const rlt_fabric_job *j = f->jobs[job];
    rlt_react_result r = j->result;
    r.workers = j->workers;
    r.servers = j->n_servers;
    r.chunks = j->chunks;
    r.window = j->window;
    r.protocol = j->req.protocol->name;
    r.fell_back = j->fell_back[0] ? j->fell_back : NULL;
    if (!j->closed)
        r.switches = switch_counts(j);
    return r;
}

uint32_t rlt_fabric_jobs(const rlt_fabric *f)
{
    return f->n_jobs;
}

int rlt_react_bound(const rlt_react_result *r, const rlt_coll_request *req, rlt_router *router,
                    double bandwidth_scale, rlt_time *bound_ps, rlt_error *err)
{
    bool helped = r->adders || r->servers;
    rlt_plan plan = {.req = *req, .reduces = helped, .multicasts = helped};
    rlt_bound bound;
    plan.req.n = r->workers;
    *bound_ps = 0;
    if (plan.req.n < 2 ||
        plan.req.n > req->n) /* a fallback works with the servers as well: no bound is known */
        return 0;
    int rc = rlt_plan_bound(&plan, router, bandwidth_scale, 1 / bandwidth_scale, &bound, err);
    if (!rc)
        *bound_ps = bound.time_ps;
    return rc;
}

rlt_time rlt_fabric_end(const rlt_fabric *f)
{
    rlt_time end = 0;
    for (uint32_t i = 0; i < f->n_jobs; i++)
        if (f->jobs[i]->result.end_ps > end)
            end = f->jobs[i]->result.end_ps;
    return end;
}

double rlt_fabric_fairness(const rlt_fabric *f)
{
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < f->n_jobs; i++) {
        const rlt_fabric_job *j = f->jobs[i];
        double rate = j->result.time_ps > 0 ? (double)j->req.bytes / (double)j->result.time_ps : 0;
        sum += rate;
        squares += rate * rate;
    }
    return rlt_jain(sum, squares, f->n_jobs);
}

rlt_sim *rlt_fabric_sim(rlt_fabric *f)
{
    return f->sim;
}

rlt_packets *rlt_fabric_packets(rlt_fabric *f)
{
    return f->packets;
}

const rlt_aggregator *rlt_fabric_switch(const rlt_fabric *f, uint32_t i, uint32_t *node)
{
    if (i >= f->n_switches)
        return NULL;
    *node = f->switches[i].node;
    return f->switches[i].agg;
}
