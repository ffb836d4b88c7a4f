/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A graph as a dimension of a product: its ends, its routes, and its shape. */
#include "net/topology/part.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "net/shapes/shapes.h"
#include "net/topology/route_graph.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"

enum { MAX_ROUTE_LINKS = 1 << 24 };

static uint32_t node_of(const rlt_part *p, uint32_t end)
{
    return end < p->n ? end : p->nic[end - p->n];
}

static int find_nics(rlt_part *p, const char *where, rlt_error *err)
{
    const rlt_topology *t = p->graph;
    for (uint32_t v = 0; v < t->nodes; v++)
        p->n_nics += rlt_topology_node_kind(t, v) == RLT_NIC;
    if ((uint64_t)p->n + p->n_nics > RLT_MAX_PART_ENDS)
        return rlt_fail(err, RLT_ERANGE, where,
                        "'%s' has %" PRIu32 " accelerators and NICs; as a part of a product at most %d",
                        t->name, p->n + p->n_nics, RLT_MAX_PART_ENDS);
    uint32_t ends = p->n + p->n_nics;
    p->nic = malloc((p->n_nics + 1) * sizeof *p->nic);
    p->nic_of = malloc(p->n * sizeof *p->nic_of);
    p->first = calloc((size_t)ends * ends + 1, sizeof *p->first);
    if (!p->nic || !p->nic_of || !p->first)
        return rlt_nomem(err);
    for (uint32_t v = 0, i = 0; v < t->nodes; v++)
        if (rlt_topology_node_kind(t, v) == RLT_NIC)
            p->nic[i++] = v;
    return 0;
}

/* Appends the route from end a to end b, if there is one. */
static int add_route(rlt_part *p, rlt_graph_routes *routes, uint32_t a, uint32_t b, rlt_walk *walk)
{
    uint32_t ends = p->n + p->n_nics, from = node_of(p, a), to = node_of(p, b);
    uint32_t *begin = &p->first[(size_t)a * ends + b], before = walk->n;
    int rc = a == b ? 0
                    : rlt_graph_routes_route(routes, from, to,
                                             (rlt_graph_pick){.by_destination = true, .value = b}, walk);
    *begin = before;
    if (rc == RLT_ETOPOLOGY)
        walk->n = before;
    else if (rc)
        return rc;
    return walk->n > MAX_ROUTE_LINKS ? RLT_ERANGE : 0;
}

/* All routes, destination by destination, since the tables of a few destinations are kept. Then they are put
 * in order of sources. */
static int make_routes(rlt_part *p, const char *where, rlt_error *err)
{
    uint32_t ends = p->n + p->n_nics;
    rlt_graph_routes *routes = NULL;
    rlt_walk walk = {0};
    rlt_walk_clear(&walk);
    int rc = rlt_graph_routes_create(p->graph, (size_t)256 << 20, NULL, &routes, err);
    for (uint32_t a = 0; a < ends && !rc; a++)
        for (uint32_t b = 0; b < ends && !rc; b++)
            rc = add_route(p, routes, a, b, &walk);
    p->first[(size_t)ends * ends] = walk.n;
    p->links = walk.links;
    rlt_graph_routes_free(routes);
    if (rc == RLT_ERANGE)
        return rlt_fail(err, rc, where, "the routes of '%s' have more than %d links", p->graph->name,
                        MAX_ROUTE_LINKS);
    return rc ? rlt_nomem(err) : 0;
}

static rlt_time latency_of(const rlt_part *p, const uint32_t *links, uint32_t n)
{
    rlt_time sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum = rlt_time_add(sum, p->graph->graph.links[links[i]].latency_ps);
    return sum;
}

static bool crosses_cpu(const rlt_part *p, const uint32_t *links, uint32_t n)
{
    for (uint32_t i = 0; i + 1 < n; i++)
        if (rlt_topology_node_kind(p->graph, p->graph->graph.links[links[i]].dst) == RLT_CPU)
            return true;
    return false;
}

/* Returns how far a NIC is: through a CPU is farther than not, then by links. UINT32_MAX: there is no way. */
static uint32_t distance(const rlt_part *p, uint32_t accelerator, uint32_t nic)
{
    uint32_t n;
    const uint32_t *links = rlt_part_route(p, accelerator, p->n + nic, &n);
    return n == 0 ? UINT32_MAX : n + (crosses_cpu(p, links, n) ? (uint32_t)RLT_MAX_PART_ENDS : 0);
}

/* Gives each accelerator the nearest NIC. Among equally near ones it takes the one that the fewest before it
 * took, the first in order. */
static int choose_nics(rlt_part *p, const char *where, rlt_error *err)
{
    uint32_t *taken = calloc((size_t)p->n_nics + 1, sizeof *taken);
    int rc = taken ? 0 : rlt_nomem(err);
    for (uint32_t a = 0; a < p->n && p->n_nics && !rc; a++) {
        uint32_t best = 0, least = UINT32_MAX;
        for (uint32_t i = 0; i < p->n_nics; i++) {
            uint32_t far = distance(p, a, i);
            if (far < least || (far == least && taken[i] < taken[best])) {
                least = far;
                best = i;
            }
        }
        p->nic_of[a] = best;
        taken[best]++;
        if (least == UINT32_MAX)
            rc = rlt_fail(err, RLT_ETOPOLOGY, where, "accelerator '%s' of '%s' reaches no NIC",
                          rlt_interned(&p->graph->graph.names, a), p->graph->name);
    }
    free(taken);
    return rc;
}

static void find_longest(rlt_part *p)
{
    for (uint32_t a = 0; a < p->n; a++)
        for (uint32_t b = 0; b < p->n + (p->n_nics > 0); b++) {
            uint32_t n, end = b < p->n ? b : p->n + p->nic_of[a];
            const uint32_t *links = rlt_part_route(p, a, end, &n);
            rlt_time latency = latency_of(p, links, n);
            p->max_hops = n > p->max_hops ? n : p->max_hops;
            p->max_ps = latency > p->max_ps ? latency : p->max_ps;
        }
}

int rlt_part_create(rlt_topology *graph, const char *where, rlt_part **out, rlt_error *err)
{
    rlt_part *p = *out = calloc(1, sizeof *p);
    if (!p) {
        rlt_topology_free(graph);
        return rlt_nomem(err);
    }
    p->graph = graph;
    p->n = graph->accelerators;
    int rc = find_nics(p, where, err);
    if (!rc)
        rc = make_routes(p, where, err);
    if (!rc)
        rc = choose_nics(p, where, err);
    if (!rc)
        find_longest(p);
    if (rc) {
        rlt_part_free(p);
        *out = NULL;
    }
    return rc;
}

void rlt_part_free(rlt_part *p)
{
    if (!p)
        return;
    rlt_topology_free(p->graph);
    free(p->nic);
    free(p->nic_of);
    free(p->first);
    free(p->links);
    free(p);
}

const uint32_t *rlt_part_route(const rlt_part *p, uint32_t a, uint32_t b, uint32_t *n)
{
    const uint32_t *first = p->first + (size_t)a * (p->n + p->n_nics) + b;
    *n = first[1] - first[0];
    return p->links + first[0];
}

/* ---- shape ---- */

static void ends(const rlt_factor *f, uint32_t link, uint32_t *src, uint32_t *dst)
{
    *src = f->part->graph->graph.links[link].src;
    *dst = f->part->graph->graph.links[link].dst;
}

static uint32_t route(const rlt_factor *f, uint32_t src, uint32_t dst, rlt_pick pick, uint32_t *links)
{
    uint32_t n;
    const uint32_t *from = rlt_part_route(f->part, src, dst, &n);
    (void)pick;
    memcpy(links, from, n * sizeof *links);
    return n;
}

static const rlt_shape shape_graph = {
    .info = {"graph", "nodes and links of a file", NULL},
    .ends = ends,
    .route = route,
};

void rlt_part_factor(const rlt_part *p, rlt_factor *f)
{
    const rlt_topology *t = p->graph;
    uint64_t least = UINT64_MAX, most = 0;
    for (uint32_t a = 0; a < p->n; a++) {
        uint64_t bw = rlt_topology_egress_Bps(t, a);
        least = bw < least ? bw : least;
        most = bw > most ? bw : most;
    }
    *f = (rlt_factor){.shape = &shape_graph,
                      .n = p->n,
                      .switches = t->nodes - p->n,
                      .links = t->links,
                      .in_network = (uint8_t)rlt_topology_in_networks(t),
                      .max_hops = p->max_hops,
                      .max_ps = p->max_ps,
                      .bw_Bps = least == most ? least : 0,
                      .split = UINT32_MAX,
                      .part = p};
}
