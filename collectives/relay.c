/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The time of a plan whose members pass data round a cycle, over links that no two of them share. */
#include "collectives/relay.h"

#include <stdbool.h>
#include <stdlib.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "net/endpoint/endpoint.h"
#include "net/fold.h"
#include "net/network.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/sim.h"

/* Sorts of routes, and sizes of what is passed on. */
enum { MAX_ROUTES = 32, MAX_SIZES = 4, MAX_LINKS = 1 << 20, MAX_STEPS = 1 << 27 };

typedef struct relay {
    const rlt_plan *plan;
    rlt_router *router;
    uint32_t n, steps;
    bool serialises;             /* messages may queue at a receive port */
    unsigned char *route, *size; /* by place in the cycle: sort of the route to the next, and own size */
    uint32_t n_routes, n_sizes;
    uint32_t from[MAX_ROUTES]; /* a member with such a route */
    uint64_t bytes[MAX_SIZES];
    rlt_map known;                                                      /* hash of a route -> its sort */
    rlt_map crossed;                                                    /* links of all routes */
    uint32_t *links, n_links, n_room;                                   /* links of the routes from `from` */
    rlt_time held[MAX_ROUTES][MAX_SIZES], taken[MAX_ROUTES][MAX_SIZES]; /* s and w */
} relay;

/* Messages under way to measure s and w of one size. */
typedef struct trial {
    relay *r;
    rlt_net *net;
    rlt_sim *sim;
    rlt_time begin;
    uint32_t size;
    bool blocking;
} trial;

static inline void first_step(const relay *r, uint32_t member, rlt_step *s)
{
    rlt_step_clear(s);
    r->plan->algorithm->step(r->plan, member, 0, 0, s);
}

/* Returns a hash of what the time of a message depends on, beside its size. */
static uint64_t sort_of(const relay *r, uint32_t from, uint32_t to, const rlt_path *path)
{
    const rlt_topology *t = rlt_router_topology(r->router);
    const rlt_placement *p = rlt_router_placement(r->router);
    uint32_t node = rlt_topology_node_size(t);
    uint64_t hash = rlt_placed(p, from) / node != rlt_placed(p, to) / node;
    for (uint32_t i = 0; i < path->n; i++) {
        rlt_link l = rlt_topology_link(t, path->links[i]);
        hash = rlt_mix64(hash ^ rlt__link_kind(t, path->links[i])) + l.bw_Bps;
        hash = rlt_mix64(hash) ^ (uint64_t)l.latency_ps;
    }
    return rlt_mix64(hash + path->n);
}

static int add_route(relay *r, uint32_t member, uint64_t hash, const rlt_path *path, rlt_error *err)
{
    if (r->n_routes == MAX_ROUTES || path->n > MAX_LINKS - r->n_links)
        return RLT_EUNSUPPORTED;
    if (rlt_map_put(&r->known, hash, r->n_routes))
        return rlt_nomem(err);
    r->from[r->n_routes++] = member;
    int rc = rlt_grow(&r->links, &r->n_room, sizeof *r->links, (uint64_t)r->n_links + path->n, MAX_LINKS,
                      "links of a route", err);
    for (uint32_t i = 0; i < path->n && !rc; i++)
        r->links[r->n_links++] = path->links[i];
    return rc;
}

/* Notes that the links of a route are used. RLT_EUNSUPPORTED if one of them is used already, or if messages
 * can leave faster than they are received. */
static int cross(relay *r, const rlt_path *path, rlt_error *err)
{
    const rlt_topology *t = rlt_router_topology(r->router);
    for (uint32_t i = 0; i < path->n; i++) {
        if (rlt_map_get(&r->crossed, path->links[i]) != RLT_NONE)
            return RLT_EUNSUPPORTED;
        if (rlt_map_put(&r->crossed, path->links[i], 0))
            return rlt_nomem(err);
    }
    bool queues = path->n && rlt_topology_link(t, path->links[0]).bw_Bps >
                                 rlt_topology_link(t, path->links[path->n - 1]).bw_Bps;
    return path->n == 0 || (queues && r->serialises) ? RLT_EUNSUPPORTED : 0;
}

/* Adds the messages of the member at a place. */
static int add_member(relay *r, uint32_t place, uint32_t member, const rlt_step *s, rlt_error *err)
{
    const rlt_coll_request *req = &r->plan->req;
    uint32_t from = rlt_member_rank(req, member), to = rlt_member_rank(req, s->send_to), size = 0;
    rlt_path path;
    int rc = rlt_route(r->router, from, to, rlt_route_key(0, s->turn), &path);
    if (rc)
        return rlt_fail(err, rc, r->plan->algorithm->name, "no route from rank %u to rank %u", from, to);
    uint64_t hash = sort_of(r, from, to, &path);
    if ((rc = cross(r, &path, err)) ||
        (rlt_map_get(&r->known, hash) == RLT_NONE && (rc = add_route(r, member, hash, &path, err))))
        return rc;
    while (size < r->n_sizes && r->bytes[size] != s->send_bytes)
        size++;
    if (size == MAX_SIZES)
        return RLT_EUNSUPPORTED;
    r->bytes[size] = s->send_bytes;
    r->n_sizes += size == r->n_sizes;
    r->route[place] = (unsigned char)rlt_map_get(&r->known, hash);
    r->size[place] = (unsigned char)size;
    return 0;
}

/* Goes round the cycle. RLT_EUNSUPPORTED if it does not lead to every member. */
static int walk(relay *r, rlt_error *err)
{
    uint32_t member = 0;
    for (uint32_t place = 0; place < r->n; place++) {
        rlt_step s;
        if (place && member == 0)
            return RLT_EUNSUPPORTED;
        first_step(r, member, &s);
        int rc = add_member(r, place, member, &s, err);
        if (rc)
            return rc;
        member = s.send_to;
    }
    return member == 0 ? 0 : RLT_EUNSUPPORTED;
}

static void on_injected(void *ctx, uint64_t route)
{
    const trial *t = ctx;
    if (!t->blocking)
        t->r->held[route][t->size] = rlt_sim_now(t->sim) - t->begin;
}

static void on_delivered(void *ctx, uint64_t route, uint64_t rx)
{
    const trial *t = ctx;
    rlt_time taken = rlt_sim_now(t->sim) - t->begin;
    (void)rx;
    t->r->taken[route][t->size] = taken;
    if (t->blocking)
        t->r->held[route][t->size] = taken;
}

static void on_send(void *ctx, uint64_t payload)
{
    const trial *t = ctx;
    relay *r = t->r;
    const rlt_plan *plan = r->plan;
    (void)payload;
    for (uint32_t i = 0; i < r->n_routes; i++) {
        rlt_step s;
        first_step(r, r->from[i], &s);
        rlt_message m = {.src = rlt_member_rank(&plan->req, r->from[i]),
                         .dst = rlt_member_rank(&plan->req, s.send_to),
                         .bytes = r->bytes[t->size],
                         .route_key = rlt_route_key(0, s.turn),
                         .tx = i,
                         .tuning = plan->tuning.on ? &plan->tuning : NULL};
        rlt_time injected = rlt_net_send(t->net, &m);
        if (injected >= 0 && !t->blocking)
            r->held[i][t->size] = injected - t->begin;
    }
}

/* Measures s and w: sends a message of each size over a route of each sort. */
static int measure(relay *r, const rlt_net_model *model, const rlt_net_config *cfg, rlt_error *err)
{
    trial t = {.r = r, .sim = cfg->sim, .blocking = cfg->endpoint.injection == RLT_INJECT_BLOCKING};
    int handlers = rlt_sim_handlers(t.sim), send;
    rlt_net_config with = *cfg;
    rlt_net_fold used = {0};
    int rc = rlt_sim_register(t.sim, &t, &(rlt_handler_entry){on_send, &send}, 1, err);
    if (rc)
        return rc;
    rlt_sort_u32(r->links, r->n_links);
    rc = rlt_net_fold_used(rlt_router_topology(r->router), r->links, r->n_links, &used, err);
    with.client = (rlt_net_client){.ctx = &t, .injected = on_injected, .delivered = on_delivered};
    with.fold = &used;
    if (!rc)
        rc = model->create(&with, &t.net, err);
    for (t.size = 0; t.size < r->n_sizes && !rc; t.size++) {
        t.begin = rlt_sim_now(t.sim);
        rlt_sim_at(t.sim, t.begin, RLT_START, send, 0);
        rc = rlt_sim_run(t.sim, RLT_TIME_MAX, err);
    }
    if (!rc)
        rlt_sim_forget(t.sim, handlers);
    rlt_net_free(t.net);
    rlt_net_fold_free(&used);
    return rc;
}

/* The extremes of s and w. */
typedef struct extremes {
    rlt_time least, most, held; /* least and greatest w, greatest s */
    rlt_time differ;            /* greatest difference of w that sizes make */
    bool slowest_holds;         /* s = w for the greatest w */
} extremes;

static extremes find_extremes(const relay *r)
{
    extremes e = {.least = RLT_TIME_MAX};
    for (uint32_t i = 0; i < r->n_routes; i++) {
        rlt_time low = RLT_TIME_MAX, high = 0;
        for (uint32_t k = 0; k < r->n_sizes; k++) {
            rlt_time w = r->taken[i][k], s = r->held[i][k];
            low = w < low ? w : low;
            high = w > high ? w : high;
            e.held = s > e.held ? s : e.held;
            e.slowest_holds = w > e.most ? s == w : e.slowest_holds;
            e.most = w > e.most ? w : e.most;
        }
        e.least = low < e.least ? low : e.least;
        e.differ = high - low > e.differ ? high - low : e.differ;
    }
    return e;
}

/* Returns the longest time that data of one size takes over as many routes as there are steps. */
static rlt_time longest_of(const relay *r, uint32_t size)
{
    rlt_time round = 0, rest = 0, most = 0;
    uint32_t turns = r->steps / r->n, left = r->steps % r->n;
    for (uint32_t i = 0; i < r->n; i++) {
        round += r->taken[r->route[i]][size];
        rest += i < left ? r->taken[r->route[i]][size] : 0;
    }
    for (uint32_t i = 0; i < r->n; i++) { /* data that begins at i */
        rlt_time time = round * turns + rest;
        if (r->size[i] == size && time > most)
            most = time;
        rest += r->taken[r->route[(i + left) % r->n]][size] - r->taken[r->route[i]][size];
    }
    return most;
}

static rlt_time longest(const relay *r)
{
    rlt_time time = 0;
    for (uint32_t k = 0; k < r->n_sizes; k++) {
        rlt_time t = longest_of(r, k);
        time = t > time ? t : time;
    }
    return time;
}

/* Computes v of all members, step by step. RLT_EUNSUPPORTED if that takes too long. */
static int every_step(const relay *r, rlt_time *time, rlt_error *err)
{
    uint32_t n = r->n;
    if ((uint64_t)n * r->steps > MAX_STEPS)
        return RLT_EUNSUPPORTED;
    rlt_time *v = calloc(n, sizeof *v);
    if (!v)
        return rlt_nomem(err);
    for (uint32_t k = 0; k < r->steps; k++) {
        uint32_t from = (n - k % n) % n; /* where the data that is now at member 0 began */
        rlt_time brought = v[n - 1] + r->taken[r->route[n - 1]][r->size[(from + n - 1) % n]];
        for (uint32_t i = 0; i < n; i++, from = from + 1 == n ? 0 : from + 1) {
            rlt_time ready = v[i] + r->held[r->route[i]][r->size[from]],
                     passed = v[i] + r->taken[r->route[i]][r->size[from]];
            v[i] = ready > brought ? ready : brought;
            brought = passed;
        }
    }
    for (uint32_t i = 0; i < n; i++)
        *time = v[i] > *time ? v[i] : *time;
    free(v);
    return 0;
}

static int total(const relay *r, rlt_time *time, rlt_error *err)
{
    extremes e = find_extremes(r);
    *time = 0;
    if (rlt_time_mul(e.most, (uint64_t)r->steps + r->n) == RLT_TIME_MAX)
        return RLT_EUNSUPPORTED;
    if (e.least - e.held >= rlt_time_mul(e.differ, r->steps))
        *time = longest(r);
    else if (r->n_sizes == 1 && e.slowest_holds)
        *time = e.most * r->steps;
    else
        return every_step(r, time, err);
    return 0;
}

int rlt__relay_time(const rlt_plan *plan, const rlt_net_model *model, const rlt_net_config *cfg,
                    rlt_time *time_ps, rlt_error *err)
{
    relay r = {.plan = plan,
               .router = cfg->router,
               .n = plan->req.n,
               .serialises = !(model->can & RLT_NET_SHARES_LINKS)};
    if (r.n < 2 || plan->lanes > 1 || !plan->algorithm->relays || !plan->algorithm->relays(plan) ||
        !(model->can & RLT_NET_FOLDS) || rlt_router_routing(r.router) == RLT_ROUTE_SPRAY ||
        !rlt_topology_is_product(rlt_router_topology(r.router)))
        return RLT_EUNSUPPORTED;
    r.steps = plan->algorithm->steps(plan, 0, 0);
    r.route = malloc(r.n);
    r.size = malloc(r.n);
    int rc = r.route && r.size ? walk(&r, err) : rlt_nomem(err);
    if (!rc)
        rc = measure(&r, model, cfg, err);
    rlt_time time = 0;
    if (!rc)
        rc = total(&r, &time, err);
    if (!rc)
        *time_ps =
            time + rlt_endpoint_kernel(&cfg->endpoint, cfg->endpoint.launch_ps) + plan->tuning.setup_ps;
    free(r.route);
    free(r.size);
    free(r.links);
    rlt_map_free(&r.known);
    rlt_map_free(&r.crossed);
    return rc;
}
