/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Routes between ranks. Each source rank remembers its last route: up to four links in its entry, longer
 * routes in a block of their own while a memory budget lasts. Product routes are computed in closed form,
 * graph routes are looked up.
 */
#include "net/route.h"

#include <stdlib.h>
#include <string.h>

#include "net/detour.h"
#include "net/node_routes.h"
#include "net/shapes/factor.h"
#include "net/shapes/shape.h"
#include "net/shapes/shapes.h"
#include "net/topology/frozen.h"
#include "net/topology/part.h"
#include "net/topology/ports.h"
#include "net/topology/route_graph.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"

enum { INLINE_LINKS = 4 };
static const size_t long_budget_bytes = (size_t)64 << 20;
static const size_t reach_budget_bytes = (size_t)256 << 20;

/* The last route of a rank. 48 bytes: a million ranks take 48 MB. */
typedef struct last_route {
    uint32_t to; /* destination rank + 1; 0: none, so that zeroed (unused) entries cost no memory */
    uint32_t n;
    uint64_t key;
    rlt_time latency_ps;
    uint64_t bw_Bps;
    uint32_t links[INLINE_LINKS];
} last_route;

struct rlt_router {
    last_route *last; /* last route per source rank */
    uint32_t ranks;
    uint64_t key_mask;    /* bits of the key that matter; D-mod-k uses only the turn, and only in graphs */
    uint32_t **long_last; /* per source rank: capacity, then links; NULL until the first long route */
    size_t long_bytes;
    uint32_t *sprayed; /* messages so far, per source rank */
    rlt_walk walk;
    const rlt_topology *t;
    const rlt_placement *p;
    rlt_routing routing;
    rlt_graph_routes *reach;
    rlt_node_routes *nodes; /* NULL: shortest routes */
    rlt_detour *detour;     /* NULL until a link changes */
    uint32_t blocked;       /* failed link that was last in the way */
};

static int check_placement(const rlt_topology *t, const rlt_placement *p, rlt_error *err)
{
    if (p->n < 1 || p->n > t->accelerators)
        return rlt_fail(err, RLT_ERANGE, "placement", "%u ranks on %u accelerators", p->n, t->accelerators);
    for (uint32_t i = 0; (p->accelerator || p->nic) && i < p->n; i++) {
        if (rlt_placed(p, i) >= t->accelerators)
            return rlt_fail(err, RLT_ERANGE, "placement", "rank %u is on node %u, which is no accelerator", i,
                            rlt_placed(p, i));
        if (p->nic && p->nic[i] != RLT_NONE &&
            (p->nic[i] >= t->nodes || rlt_topology_node_kind(t, p->nic[i]) != RLT_NIC))
            return rlt_fail(err, RLT_ERANGE, "placement", "rank %u: node %u is no NIC", i, p->nic[i]);
    }
    return 0;
}

static int reserve_walk(rlt_router *r, rlt_error *err)
{
    uint64_t longest = INLINE_LINKS;
    for (uint32_t i = 0; i < r->t->n_dims; i++)
        longest += r->t->dims[i].f.max_hops + rlt_port_hops(r->t, &r->t->dims[i]);
    return rlt_grow(&r->walk.links, &r->walk.capacity, sizeof *r->walk.links, longest, RLT_MAX_LINKS,
                    "links of a route", err);
}

int rlt_router_create(const rlt_topology *t, const rlt_placement *p, rlt_routing routing, rlt_router **out,
                      rlt_error *err)
{
    *out = NULL;
    int rc = check_placement(t, p, err);
    if (rc)
        return rc;
    rlt_router *r = calloc(1, sizeof *r);
    if (!r)
        return rlt_nomem(err);
    r->t = t;
    r->p = p;
    r->ranks = p->n;
    r->routing = routing;
    r->key_mask = routing == RLT_ROUTE_ECMP ? UINT64_MAX : t->n_dims ? 0 : UINT64_MAX << 32;
    r->last = calloc(p->n, sizeof *r->last);
    if (routing == RLT_ROUTE_SPRAY)
        r->sprayed = calloc(p->n, sizeof *r->sprayed);
    if (!r->last || (routing == RLT_ROUTE_SPRAY && !r->sprayed))
        rc = rlt_nomem(err);
    if (!rc)
        rc = reserve_walk(r, err);
    if (!rc && !t->n_dims)
        rc = rlt_graph_routes_create(t, reach_budget_bytes, NULL, &r->reach, err);
    if (!rc)
        rc = rlt_node_routes_create(t, reach_budget_bytes, &r->nodes, err);
    if (rc) {
        rlt_router_free(r);
        return rc;
    }
    *out = r;
    return 0;
}

void rlt_router_free(rlt_router *r)
{
    if (!r)
        return;
    rlt_graph_routes_free(r->reach);
    rlt_node_routes_free(r->nodes);
    rlt_detour_free(r->detour);
    for (uint32_t i = 0; r->long_last && i < r->ranks; i++)
        free(r->long_last[i]);
    free(r->long_last);
    free(r->walk.links);
    free(r->sprayed);
    free(r->last);
    free(r);
}

__attribute__((noinline)) static uint64_t slowest_link(const rlt_topology *t, const uint32_t *links,
                                                       uint32_t n, uint64_t class_Bps)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t k = 0; k < n; k++) {
        uint64_t bw = rlt_changed_bw(t, links[k], class_Bps);
        least = bw < least ? bw : least;
    }
    return least;
}

static void step_over(rlt_router *r, uint32_t link, rlt_factor_links cls)
{
    rlt_walk *w = &r->walk;
    uint64_t bw = r->t->n_changed ? rlt_changed_bw(r->t, link, cls.bw_Bps) : cls.bw_Bps;
    w->links[w->n++] = link;
    w->latency_ps += cls.latency_ps;
    w->bw_Bps = bw < w->bw_Bps ? bw : w->bw_Bps;
}

/* Goes from accelerator `from` to accelerator `to`, which differ in coordinate d alone. */
static void walk_dim(rlt_router *r, const rlt_product_dim *d, uint32_t from, uint32_t to, rlt_pick pick)
{
    uint32_t x = from / d->stride % d->size, y = to / d->stride % d->size;
    uint32_t group = from % d->stride + from / d->stride / d->size * d->stride;
    uint32_t *links = r->walk.links + r->walk.n, n = d->f.shape->route(&d->f, x, y, pick, links);
    for (uint32_t k = 0; k < n; k++)
        step_over(r, d->first_link + group * d->f.links + links[k], rlt_dim_link(d, links[k]));
}

/* Goes between an accelerator and its NIC: out of the node, or back. */
static void walk_nic(rlt_router *r, const rlt_product_dim *d, uint32_t accelerator, bool back)
{
    const rlt_topology *t = r->t;
    if (d->ports == RLT_PORTS_NICS)
        step_over(r, d->first_nic_link + 2 * accelerator + back, d->nic_link);
    if (d->ports != RLT_PORTS_IN_GRAPH)
        return;
    const rlt_product_dim *inside = &t->dims[0];
    const rlt_part *part = inside->f.part;
    uint32_t n, a = accelerator % part->n, nic = part->n + part->nic_of[a];
    const uint32_t *links = rlt_part_route(part, back ? nic : a, back ? a : nic, &n);
    for (uint32_t k = 0; k < n; k++)
        step_over(r, inside->first_link + accelerator / part->n * inside->f.links + links[k],
                  rlt_dim_link(inside, links[k]));
}

/* Crosses dimension d by the ports of both accelerators, which may differ in the coordinates below, too. */
static void walk_ports(rlt_router *r, const rlt_product_dim *d, uint32_t from, uint32_t to, rlt_pick pick)
{
    uint32_t out = rlt_port_nic(r->t, d, from), in = rlt_port_nic(r->t, d, to), outer = d->stride * d->size;
    uint32_t group = from / outer * d->planes + out % d->planes;
    uint32_t x = from / d->stride % d->size * d->per_plane + out / d->planes;
    uint32_t y = to / d->stride % d->size * d->per_plane + in / d->planes;
    walk_nic(r, d, from, false);
    uint32_t *links = r->walk.links + r->walk.n, n = d->f.shape->route(&d->f, x, y, pick, links);
    for (uint32_t k = 0; k < n; k++)
        step_over(r, d->first_link + group * d->f.links + links[k], rlt_dim_link(d, links[k]));
    walk_nic(r, d, to, true);
}

/* Whether a message first moves inside its node, see net/topology/ports.h. */
static bool moves_inside(const rlt_router *r, const rlt_product_dim *d, uint32_t from, uint32_t to)
{
    uint32_t out = rlt_port_nic(r->t, d, from), in = rlt_port_nic(r->t, d, to);
    return out % d->planes != in % d->planes || (d->pxn && out != in);
}

/* As route_product, where ports are not plain or a dimension is a graph. The lowest dimension that differs
 * and has ports decides whether the coordinates below it change before it or with it. */
static void route_ports(rlt_router *r, uint32_t src, uint32_t dst, rlt_pick pick)
{
    const rlt_topology *t = r->t;
    uint32_t at = src, first = 0;
    rlt_walk_clear(&r->walk);
    for (uint32_t i = 0; i < t->n_dims && !first; i++) {
        const rlt_product_dim *d = &t->dims[i];
        if (d->ports != RLT_PORTS_PLAIN && src / d->stride % d->size != dst / d->stride % d->size) {
            if (moves_inside(r, d, src, dst))
                break;
            first = i;
        }
    }
    for (uint32_t i = first; i < t->n_dims; i++) {
        const rlt_product_dim *d = &t->dims[i];
        uint32_t span = d->stride * d->size;
        uint32_t to = at - at % span +
                      (first && i == first ? dst % span : at % d->stride + dst % span - dst % d->stride);
        if (at / d->stride % d->size == to / d->stride % d->size)
            continue;
        if (d->ports == RLT_PORTS_PLAIN)
            walk_dim(r, d, at, to, pick);
        else
            walk_ports(r, d, at, to, pick);
        at = to;
    }
}

/* Dimension order: below the current dimension, coordinates are those of the destination; above it, those of
 * the source. */
static void route_product(rlt_router *r, uint32_t src, uint32_t dst, rlt_pick pick)
{
    const rlt_topology *t = r->t;
    rlt_walk *w = &r->walk;
    uint32_t low = 0, high = src, to = dst, used = 0;
    rlt_time latency = 0;
    uint64_t bw = UINT64_MAX;
    for (uint32_t i = 0, n_dims = t->n_dims; i < n_dims; i++) {
        const rlt_product_dim *d = &t->dims[i];
        const rlt_factor *f = &d->f;
        uint32_t x = high % f->n, y = to % f->n;
        high /= f->n;
        to /= f->n;
        if (x != y) {
            uint32_t *links = w->links + used, base = d->first_link + (low + high * d->stride) * f->links;
            uint32_t n = f->shape->route(f, x, y, pick, links);
            /* Links of one class are contiguous, and no route mixes classes. */
            const rlt_factor_links *cls = rlt_factor_class(f, links[0]);
            for (uint32_t k = 0; base && k < n; k++)
                links[k] += base;
            used += n;
            latency += cls->latency_ps * (rlt_time)n;
            uint64_t slowest = t->n_changed ? slowest_link(t, links, n, cls->bw_Bps) : cls->bw_Bps;
            bw = slowest < bw ? slowest : bw;
        }
        low += y * d->stride;
    }
    w->n = used;
    w->latency_ps = latency;
    w->bw_Bps = bw;
}

static bool crosses_nic(const rlt_router *r)
{
    const rlt_frozen_graph *g = &r->t->graph;
    for (uint32_t i = 0; i + 1 < r->walk.n; i++)
        if (g->kind[g->links[r->walk.links[i]].dst] == RLT_NIC)
            return true;
    return false;
}

/* Routes in a graph. A route that leaves the host uses the NICs that the placement names, unless the file
 * fixes this route. */
static int route_graph(rlt_router *r, rlt_graph_routes *reach, uint32_t src_rank, uint32_t dst_rank,
                       rlt_graph_pick pick)
{
    const rlt_placement *p = r->p;
    uint32_t src = rlt_placed(p, src_rank), dst = rlt_placed(p, dst_rank);
    bool whole = reach == r->reach; /* no link has failed */
    if (whole && r->nodes && !p->nic)
        return rlt_node_routes_route(r->nodes, reach, src, dst, pick, &r->walk);
    int rc = rlt_graph_routes_route(reach, src, dst, pick, &r->walk);
    if (rc || !p->nic || (p->nic[src_rank] == RLT_NONE && p->nic[dst_rank] == RLT_NONE))
        return rc;
    if (!crosses_nic(r) ||
        (whole && rlt_map_get(&r->t->graph.route_of, (uint64_t)src << 32 | dst) != RLT_NONE))
        return 0;
    uint32_t at = src, stops[3] = {p->nic[src_rank], p->nic[dst_rank], dst};
    rlt_walk_clear(&r->walk);
    for (int i = 0; i < 3; i++) {
        if (stops[i] == RLT_NONE || stops[i] == at)
            continue;
        if ((rc = rlt_graph_routes_route(reach, at, stops[i], pick, &r->walk)) != 0)
            return rc;
        at = stops[i];
    }
    return 0;
}

/* If a link of the normal route has failed, replaces it by a route around. */
static int around(rlt_router *r, uint32_t src_rank, uint32_t dst_rank, rlt_graph_pick pick)
{
    rlt_walk *w = &r->walk;
    rlt_graph_routes *reach;
    uint32_t failed = rlt_detour_failed(r->detour, w->links, w->n, &w->bw_Bps);
    if (failed == RLT_NONE)
        return 0;
    r->blocked = failed;
    int rc = rlt_detour_reach(r->detour, &reach);
    rlt_walk_clear(w);
    if (!rc)
        rc = route_graph(r, reach, src_rank, dst_rank, pick);
    if (!rc)
        rlt_detour_failed(r->detour, w->links, w->n, &w->bw_Bps);
    return rc == RLT_ETOPOLOGY ? RLT_ESTALL : rc;
}

static uint64_t flow_hash(uint32_t src, uint32_t dst, uint64_t key)
{
    return rlt_mix64(rlt_mix64((uint64_t)src << 32 | dst) + rlt_mix64(key + 0x9e3779b97f4a7c15u));
}

/* Returns room for n links that outlives the call, or NULL when the budget is used up. */
static uint32_t *long_block(rlt_router *r, uint32_t rank, uint32_t n)
{
    if (!r->long_last && !(r->long_last = calloc(r->ranks, sizeof *r->long_last)))
        return NULL;
    uint32_t *block = r->long_last[rank], capacity = 8;
    if (block && block[0] >= n)
        return block + 1;
    while (capacity < n)
        capacity *= 2;
    size_t more = (capacity + 1 - (block ? block[0] + 1 : 0)) * sizeof *block;
    if (more > long_budget_bytes - r->long_bytes)
        return NULL;
    block = realloc(block, ((size_t)capacity + 1) * sizeof *block);
    if (!block)
        return NULL;
    r->long_bytes += more;
    block[0] = capacity;
    r->long_last[rank] = block;
    return block + 1;
}

static void remember(rlt_router *r, uint32_t src, uint32_t dst, uint64_t key)
{
    const rlt_walk *w = &r->walk;
    last_route *e = &r->last[src];
    if (w->n <= INLINE_LINKS) {
        memcpy(e->links, w->links, sizeof e->links); /* the walk has room for all of them */
    } else {
        uint32_t *links = long_block(r, src, w->n);
        if (!links) {
            e->to = 0;
            return;
        }
        memcpy(links, w->links, w->n * sizeof *links);
    }
    e->to = dst + 1;
    e->n = w->n;
    e->key = key;
    e->latency_ps = w->latency_ps;
    e->bw_Bps = w->bw_Bps;
}

/* Out of line, so that the fast path for a repeat saves no registers. */
#if defined(__GNUC__)
__attribute__((noinline))
#endif
static int
find(rlt_router *r, uint32_t src, uint32_t dst, uint64_t key, rlt_path *path)
{
    rlt_walk *w = &r->walk;
    if (src >= r->ranks || dst >= r->ranks)
        return RLT_ERANGE;
    rlt_walk_clear(w);
    uint32_t from = rlt_placed(r->p, src), to = rlt_placed(r->p, dst);
    uint64_t value = 0;
    bool by_destination = r->routing == RLT_ROUTE_DMODK;
    if (r->routing == RLT_ROUTE_ECMP)
        value = flow_hash(from, to, key);
    else if (r->routing == RLT_ROUTE_SPRAY)
        value = r->sprayed[src]++;
    rlt_graph_pick pick = {.by_destination = by_destination,
                           .value = by_destination ? to : value,
                           .turn = (uint32_t)(key >> 32)};
    int rc = 0;
    if (from != to && r->t->n_dims && !r->t->plain)
        route_ports(r, from, to, (rlt_pick){.by_destination = by_destination, .value = (uint32_t)value});
    else if (from != to && r->t->n_dims)
        route_product(r, from, to, (rlt_pick){.by_destination = by_destination, .value = (uint32_t)value});
    else if (from != to)
        rc = route_graph(r, r->reach, src, dst, pick);
    if (!rc && r->detour && from != to) {
        pick.turn = (uint32_t)((key & r->key_mask) >> 32); /* the part that the cache distinguishes */
        rc = around(r, src, dst, pick);
    }
    if (rc)
        return rc;
    if (r->routing != RLT_ROUTE_SPRAY)
        remember(r, src, dst, key & r->key_mask);
    *path = (rlt_path){.links = w->links, .n = w->n, .latency_ps = w->latency_ps, .bw_Bps = w->bw_Bps};
    return 0;
}

int rlt_route(rlt_router *r, uint32_t src_rank, uint32_t dst_rank, uint64_t key, rlt_path *path)
{
    if (src_rank >= r->ranks)
        return RLT_ERANGE;
    const last_route *e = &r->last[src_rank];
    if (e->to != dst_rank + 1 || e->key != (key & r->key_mask) || dst_rank == RLT_NONE)
        return find(r, src_rank, dst_rank, key, path);
    path->links = e->n <= INLINE_LINKS ? e->links : r->long_last[src_rank] + 1;
    path->n = e->n;
    path->latency_ps = e->latency_ps;
    path->bw_Bps = e->bw_Bps;
    return 0;
}

int rlt_router_set_link(rlt_router *r, uint32_t link, uint64_t bw_Bps)
{
    rlt_error ignored;
    int rc = r->detour ? 0 : rlt_detour_create(r->t, &r->detour, &ignored);
    if (rc)
        return rc;
    rlt_detour_set(r->detour, link, bw_Bps);
    for (uint32_t i = 0; i < r->ranks; i++)
        r->last[i].to = 0;
    return 0;
}

uint64_t rlt_router_link_Bps(const rlt_router *r, uint32_t link)
{
    return r->detour ? r->detour->bw_Bps[link] : rlt_topology_link(r->t, link).bw_Bps;
}

uint32_t rlt_router_blocked(const rlt_router *r)
{
    return r->blocked;
}

uint64_t rlt_router_key_mask(const rlt_router *r)
{
    return r->key_mask;
}

const rlt_topology *rlt_router_topology(const rlt_router *r)
{
    return r->t;
}

const rlt_placement *rlt_router_placement(const rlt_router *r)
{
    return r->p;
}

rlt_routing rlt_router_routing(const rlt_router *r)
{
    return r->routing;
}

static const char *const routing_names[] = {"dmodk", "ecmp", "spray"};

int rlt_routing_parse(const char *name, rlt_routing *out, rlt_error *err)
{
    for (int i = 0; i < 3; i++)
        if (strcmp(routing_names[i], name) == 0) {
            *out = (rlt_routing)i;
            return 0;
        }
    return rlt_fail(err, RLT_EUSAGE, NULL, "unknown routing '%.40s'; known are dmodk, ecmp, spray", name);
}

const char *rlt_routing_name(rlt_routing r)
{
    return routing_names[r];
}
