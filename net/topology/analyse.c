/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Facts about a topology: longest routes, bisection, bandwidth into it. */
#include <stdlib.h>

#include "net/shapes/factor.h"
#include "net/shapes/shape.h"
#include "net/shapes/shapes.h"
#include "net/topology/frozen.h"
#include "net/topology/graph.h"
#include "net/topology/ports.h"
#include "net/topology/route_graph.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"

enum { MAX_CUT_LINKS = 1 << 22, MAX_CUT_EDGES = 1 << 18 };
static const uint64_t max_search_steps = 4000000000u;

static uint64_t add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Two halves of the accelerators by one digit of their number: lower and upper half of its values. */
typedef struct halves {
    uint32_t stride, size;
} halves;

static bool is_lower(const halves *h, uint32_t accelerator)
{
    return accelerator / h->stride % h->size < h->size / 2;
}

/* The graph of a cut. Node 0 is the lower half of the accelerators, node 1 the upper half; the other nodes
 * follow. */
typedef struct cut {
    halves h;
    uint64_t direct;        /* bandwidth of direct links between the halves */
    uint64_t *from, *to;    /* per other node: bandwidth from the lower half, to the upper half */
    uint32_t *src, *dst, n; /* links between other nodes, then those of the halves */
    uint64_t *bw;
    double *capacity;
} cut;

/* Fills the graph. Returns false if there are too many links between other nodes. */
static bool collect(const rlt_topology *t, cut *c)
{
    for (uint32_t i = 0; i < t->links; i++) {
        rlt_link l = rlt_topology_link(t, i);
        bool a = l.src < t->accelerators, b = l.dst < t->accelerators;
        bool lower = a && is_lower(&c->h, l.src), upper = b && !is_lower(&c->h, l.dst);
        if (a && b && lower && upper)
            c->direct = add(c->direct, l.bw_Bps);
        else if (a && !b && lower)
            c->from[l.dst - t->accelerators] = add(c->from[l.dst - t->accelerators], l.bw_Bps);
        else if (!a && b && upper)
            c->to[l.src - t->accelerators] = add(c->to[l.src - t->accelerators], l.bw_Bps);
        else if (!a && !b) {
            if (c->n == MAX_CUT_EDGES)
                return false;
            c->src[c->n] = l.src - t->accelerators + 2;
            c->dst[c->n] = l.dst - t->accelerators + 2;
            c->bw[c->n++] = l.bw_Bps;
        }
    }
    return true;
}

/* Capacities are divided by their common factor, so that igraph's floating point stays exact. */
static int solve_cut(cut *c, uint32_t others, uint64_t *value, rlt_error *err)
{
    uint64_t unit = 0;
    for (uint32_t v = 0; v < others; v++) {
        if (c->from[v]) {
            c->src[c->n] = 0;
            c->dst[c->n] = v + 2;
            c->bw[c->n++] = c->from[v];
        }
        if (c->to[v]) {
            c->src[c->n] = v + 2;
            c->dst[c->n] = 1;
            c->bw[c->n++] = c->to[v];
        }
    }
    for (uint32_t i = 0; i < c->n; i++)
        unit = gcd(unit, c->bw[i]);
    for (uint32_t i = 0; i < c->n; i++)
        c->capacity[i] = (double)(c->bw[i] / unit);
    rlt_edges edges = {.n_nodes = others + 2, .n_edges = c->n, .src = c->src, .dst = c->dst};
    double flow = 0;
    int rc = c->n ? rlt_graph_max_flow(&edges, c->capacity, 0, 1, &flow, err) : 0;
    *value = add(c->direct, (uint64_t)(flow + 0.5) * (unit ? unit : 1));
    return rc;
}

static int bisect(const rlt_topology *t, halves h, uint64_t *value, rlt_error *err)
{
    uint32_t others = t->nodes - t->accelerators;
    cut c = {.h = h};
    int rc = 0;
    *value = 0;
    if (t->accelerators < 2 || t->links > MAX_CUT_LINKS || others > MAX_CUT_LINKS)
        return 0;
    size_t room = (t->links < MAX_CUT_EDGES ? t->links : MAX_CUT_EDGES) + 2 * (size_t)others + 1;
    c.from = calloc((size_t)others + 1, sizeof *c.from);
    c.to = calloc((size_t)others + 1, sizeof *c.to);
    c.src = calloc(room, sizeof *c.src);
    c.dst = calloc(room, sizeof *c.dst);
    c.bw = calloc(room, sizeof *c.bw);
    c.capacity = calloc(room, sizeof *c.capacity);
    if (!c.from || !c.to || !c.src || !c.dst || !c.bw || !c.capacity)
        rc = rlt_nomem(err);
    else if (collect(t, &c))
        rc = solve_cut(&c, others, value, err);
    free(c.capacity);
    free(c.bw);
    free(c.dst);
    free(c.src);
    free(c.to);
    free(c.from);
    return rc;
}

/* Lowers *least to the cut between the halves of this digit, if smaller. An odd digit has no halves. */
static int try_halves(const rlt_topology *t, uint32_t stride, uint32_t size, uint64_t *least, rlt_error *err)
{
    uint64_t value = 0;
    if (size % 2)
        return 0;
    int rc = bisect(t, (halves){stride, size}, &value, err);
    if (value < *least)
        *least = value;
    return rc;
}

/* Tries the halves by number, and in a product those of every dimension and sub-dimension. */
static int least_bisection(const rlt_topology *t, uint64_t *value, rlt_error *err)
{
    uint32_t stride = 1;
    int rc = bisect(t, (halves){1, t->accelerators}, value, err);
    for (uint32_t d = 0; d < t->n_dims && rc == 0; d++) {
        const rlt_factor *f = &t->dims[d].f;
        bool grid = f->shape->grid;
        uint32_t inner = stride;
        for (uint32_t s = 1; grid && s <= f->number[0] && rc == 0; s++) {
            rc = try_halves(t, inner, f->number[s], value, err);
            inner *= f->number[s];
        }
        if (!grid && t->n_dims > 1 && rc == 0)
            rc = try_halves(t, stride, t->dims[d].size, value, err);
        stride *= t->dims[d].size;
    }
    return rc;
}

static void longer(rlt_topology_facts *facts, uint32_t hops, rlt_time latency_ps)
{
    if (hops > facts->diameter_hops)
        facts->diameter_hops = hops;
    if (latency_ps > facts->diameter_ps)
        facts->diameter_ps = latency_ps;
}

static void longer_fixed(const rlt_frozen_graph *g, uint32_t route, rlt_topology_facts *facts)
{
    rlt_time latency = 0;
    for (uint32_t i = g->route_first[route]; i < g->route_first[route + 1]; i++)
        latency = rlt_time_add(latency, g->links[g->route_links[i]].latency_ps);
    longer(facts, g->route_first[route + 1] - g->route_first[route], latency);
}

/* Finds the longest route of a graph: one table per destination. */
static int search_graph(const rlt_topology *t, rlt_topology_facts *facts, rlt_error *err)
{
    const rlt_frozen_graph *g = &t->graph;
    rlt_graph_routes *reach;
    if (((uint64_t)t->nodes + t->links) * t->accelerators > max_search_steps)
        return 0;
    int rc = rlt_graph_routes_create(t, 0, NULL, &reach, err);
    for (uint32_t dst = 0; !rc && dst < t->accelerators; dst++) {
        const uint32_t *hops;
        const rlt_time *latency;
        rc = rlt_graph_routes_to(reach, dst, &hops, &latency);
        for (uint32_t src = 0; !rc && src < t->accelerators; src++) {
            uint32_t fixed = g->n_routes ? rlt_map_get(&g->route_of, (uint64_t)src << 32 | dst) : RLT_NONE;
            if (fixed != RLT_NONE)
                longer_fixed(g, fixed, facts);
            else if (hops[src] != RLT_NONE)
                longer(facts, hops[src], latency[src]);
        }
    }
    rlt_graph_routes_free(reach);
    return rc ? rlt_nomem(err) : 0;
}

static void extremes_of_graph(const rlt_topology *t, rlt_topology_facts *facts)
{
    facts->min_egress_Bps = UINT64_MAX;
    for (uint32_t a = 0; a < t->accelerators; a++) {
        uint64_t egress = rlt_topology_egress_Bps(t, a);
        if (egress < facts->min_egress_Bps)
            facts->min_egress_Bps = egress;
        if (egress > facts->max_egress_Bps)
            facts->max_egress_Bps = egress;
    }
    facts->links_by_dim[0] = t->links;
}

/* Finds the longest route of a product. Coordinates are independent, so the extremes of the dimensions add
 * up. */
static void extremes_of_product(const rlt_topology *t, rlt_topology_facts *facts)
{
    for (uint32_t i = 0; i < t->n_dims; i++) {
        const rlt_product_dim *d = &t->dims[i];
        uint64_t least = rlt_dim_egress(d, 0), most = least;
        for (uint32_t a = 1; (d->f.shape->degree || d->f.part) && a < d->size; a++) {
            uint64_t egress = rlt_dim_egress(d, a);
            least = egress < least ? egress : least;
            most = egress > most ? egress : most;
        }
        facts->min_egress_Bps += least;
        facts->max_egress_Bps += most;
        facts->links_by_dim[i] =
            d->groups * d->f.links + (d->ports == RLT_PORTS_NICS ? 2 * t->accelerators : 0);
        uint32_t hops = d->f.max_hops + rlt_port_hops(t, d);
        rlt_time latency = d->f.max_ps + rlt_port_latency(t, d);
        bool direct =
            d->planes == 1 && (!d->pxn || d->nics == 1); /* no message moves inside the node first */
        if (i > 0 && direct) {
            facts->diameter_hops = facts->diameter_hops > hops ? facts->diameter_hops : hops;
            facts->diameter_ps = facts->diameter_ps > latency ? facts->diameter_ps : latency;
        } else {
            facts->diameter_hops += hops;
            facts->diameter_ps += latency;
        }
    }
}

int rlt_topology_analyse(const rlt_topology *t, rlt_topology_facts *facts, rlt_error *err)
{
    *facts = (rlt_topology_facts){0};
    if (t->n_dims) {
        extremes_of_product(t, facts);
    } else {
        extremes_of_graph(t, facts);
        int rc = search_graph(t, facts, err);
        if (rc)
            return rc;
    }
    return least_bisection(t, &facts->bisection_Bps, err);
}

/* ---- facts of a node ---- */

/* Facts of a node in a product: the dimensions below the node's size are inside, the next one is the
 * network. */
static rlt_node_facts product_node(const rlt_topology *t)
{
    rlt_node_facts f = {.accelerators = t->node_size};
    f.in_network = f.outside = RLT_CAN_REDUCE | RLT_CAN_MULTICAST;
    for (uint32_t i = 0; i < t->n_dims; i++) {
        const rlt_product_dim *d = &t->dims[i];
        bool inside = d->stride < t->node_size;
        *(inside ? &f.in_network : &f.outside) &= d->f.in_network;
        if (inside) {
            f.inside_Bps += rlt_dim_egress(d, 0);
        } else if (f.nics == 0 && d->size > 1) {
            f.nics = d->nics;
            f.nic_Bps = d->f.bw_Bps;
        }
    }
    return f;
}

/* Facts of a node in a graph: links of the first accelerator inside its node, and the slowest NIC. */
static rlt_node_facts graph_node(const rlt_topology *t)
{
    const rlt_frozen_graph *g = &t->graph;
    rlt_node_facts f = {.accelerators = t->node_size};
    uint32_t nics = 0, nodes = t->accelerators / (t->node_size ? t->node_size : 1);
    for (uint32_t v = 0; v < t->nodes; v++)
        nics += g->kind[v] == RLT_NIC;
    f.nics = nodes ? nics / nodes : 0;
    for (uint32_t i = g->out_first[0]; i < g->out_first[1]; i++) {
        const rlt_link *l = &g->links[g->out[i]];
        bool near = l->dst < t->node_size || g->kind[l->dst] == RLT_SWITCH;
        f.inside_Bps += near ? l->bw_Bps : 0;
    }
    for (uint32_t v = 0; v < t->nodes && f.nics; v++) {
        for (uint32_t i = g->out_first[v]; g->kind[v] == RLT_NIC && i < g->out_first[v + 1]; i++) {
            const rlt_link *l = &g->links[g->out[i]];
            if (g->kind[l->dst] == RLT_SWITCH && (f.nic_Bps == 0 || l->bw_Bps < f.nic_Bps))
                f.nic_Bps = l->bw_Bps;
        }
    }
    return f;
}

void rlt__find_node_facts(rlt_topology *t)
{
    t->node = t->n_dims ? product_node(t) : graph_node(t);
}
