/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From vertices to nodes. A port, connector, chip or memory that one link reaches carries no traffic and is
 * removed. One that joins two links is folded: the two become one, with the lesser bandwidth and the sum of
 * the latencies, which changes no time. The outermost port of a machine is a NIC and stays.
 */
#include <stdlib.h>

#include "net/import/infragraph/document.h"
#include "net/import/infragraph/graph.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"
#include "sim/text/json.h"

typedef struct reducer {
    rlt__ig_graph *g;
    uint32_t *first, *edge; /* edges of vertex v: edge[first[v] .. first[v + 1]) */
    uint32_t *degree, *queue;
    rlt__ig_choice *choice;
    bool *small;  /* may be removed or folded */
    bool *linked; /* index = first vertex of an instance: true if an edge leads to another one */
} reducer;

/* ---- rows ---- */

static int make_rows(reducer *r)
{
    const rlt__ig_graph *g = r->g;
    uint32_t n = g->d->n_vertices;
    r->first = calloc(n + 2ull, sizeof *r->first);
    r->edge = calloc(2ull * g->n_edges + 1, sizeof *r->edge);
    r->degree = calloc(n + 1ull, sizeof *r->degree);
    r->queue = calloc(n + 1ull, sizeof *r->queue);
    r->choice = calloc(n + 1ull, sizeof *r->choice);
    r->small = calloc(n + 1ull, sizeof *r->small);
    r->linked = calloc(n + 1ull, sizeof *r->linked);
    if (!r->first || !r->edge || !r->degree || !r->queue || !r->choice || !r->small || !r->linked)
        return rlt_nomem(g->d->err);
    for (uint32_t i = 0; i < g->n_edges; i++) {
        r->degree[g->edges[i].a]++;
        r->degree[g->edges[i].b]++;
    }
    for (uint32_t v = 0; v < n; v++)
        r->first[v + 2] = r->first[v + 1] + r->degree[v];
    for (uint32_t i = 0; i < g->n_edges; i++) {
        r->edge[r->first[g->edges[i].a + 1]++] = i;
        r->edge[r->first[g->edges[i].b + 1]++] = i;
    }
    return 0;
}

static uint32_t other_end(const rlt__ig_edge *e, uint32_t v)
{
    return e->a == v ? e->b : e->a;
}

/* Returns the k-th edge of v that is still there, or RLT_NONE. */
static uint32_t live_edge(const reducer *r, uint32_t v, uint32_t k)
{
    for (uint32_t i = r->first[v]; i < r->first[v + 1]; i++)
        if (r->g->edges[r->edge[i]].link && k-- == 0)
            return r->edge[i];
    return RLT_NONE;
}

/* Returns the first vertex of the instance that holds v, which stands for it. */
static uint32_t home(const reducer *r, uint32_t v)
{
    uint32_t index;
    const rlt__ig_instance *instance = rlt__ig_instance_of(r->g->d, v, &index);
    return instance->first + index * r->g->d->devices[instance->device].size;
}

/* ---- kinds ---- */

/* A CPU of a device that has ports and no accelerator is the chip of an adapter or a switch. */
static rlt_node_kind kind_of(rlt__ig_choice choice, bool chip, bool machine)
{
    switch (choice) {
    case RLT__IG_XPU:
        return RLT_ACCELERATOR;
    case RLT__IG_NIC:
        return RLT_NIC;
    case RLT__IG_SWITCH:
        return RLT_SWITCH;
    case RLT__IG_CPU:
        return !chip ? RLT_CPU : machine ? RLT_PCIE : RLT_SWITCH;
    case RLT__IG_PORT:
        return machine ? RLT_PCIE : RLT_SWITCH;
    default:
        return RLT_PCIE;
    }
}

static void set_kinds(reducer *r)
{
    rlt__ig_graph *g = r->g;
    for (uint32_t v = 0; v < g->d->n_vertices; v++) {
        const rlt__ig_device *device;
        uint32_t index;
        r->choice[v] = rlt__ig_component_of(g->d, v, &device)->choice;
        bool machine = g->d->devices[rlt__ig_instance_of(g->d, v, &index)->device].xpu;
        bool chip = r->choice[v] == RLT__IG_CPU && device->ports && !device->xpu;
        r->small[v] = r->choice[v] == RLT__IG_PORT || r->choice[v] == RLT__IG_CUSTOM ||
                      r->choice[v] == RLT__IG_MEMORY || (chip && machine);
        if (g->vertices[v].kind < 0)
            g->vertices[v].kind = (int8_t)kind_of(r->choice[v], chip, machine);
    }
}

/* Returns true if the way from a port into its machine, over parts that join two links, begins at a NIC. */
static bool behind_nic(const reducer *r, uint32_t port, uint32_t edge)
{
    uint32_t at = port;
    for (uint32_t steps = 0; steps < 64; steps++) {
        at = other_end(&r->g->edges[edge], at);
        if (!r->small[at] || r->degree[at] != 2)
            break;
        edge = r->edge[r->first[at]] == edge ? r->edge[r->first[at] + 1] : r->edge[r->first[at]];
    }
    return r->choice[at] == RLT__IG_NIC;
}

/* Makes the outermost ports of machines NICs: those with an edge to another instance; in a machine that has
 * no such edge, those with a single edge. */
static void find_nics(reducer *r)
{
    rlt__ig_graph *g = r->g;
    for (uint32_t i = 0; i < g->n_edges; i++) {
        uint32_t a = home(r, g->edges[i].a), b = home(r, g->edges[i].b);
        r->linked[a] |= a != b;
        r->linked[b] |= a != b;
    }
    for (uint32_t v = 0; v < g->d->n_vertices; v++) {
        uint32_t index, inner = RLT_NONE, own = home(r, v);
        bool outer = false;
        if (r->choice[v] != RLT__IG_PORT || !g->d->devices[rlt__ig_instance_of(g->d, v, &index)->device].xpu)
            continue;
        for (uint32_t i = r->first[v]; i < r->first[v + 1]; i++) {
            bool inside = home(r, other_end(&g->edges[r->edge[i]], v)) == own;
            inner = inside ? r->edge[i] : inner;
            outer |= !inside;
        }
        outer |= r->degree[v] == 1 && !r->linked[own];
        if (!outer || (inner != RLT_NONE && behind_nic(r, v, inner)))
            continue;
        g->vertices[v].kind = RLT_NIC;
        r->small[v] = false;
    }
}

/* ---- removing and folding ---- */

static void remove_edge(reducer *r, uint32_t edge)
{
    rlt__ig_edge *e = &r->g->edges[edge];
    rlt_map_remove(&r->g->between, rlt__ig_between(e->a, e->b));
    e->link = NULL;
    r->degree[e->a]--;
    r->degree[e->b]--;
}

/* Removes small parts at the ends, and then those that come to the end. */
static void prune(reducer *r)
{
    rlt__ig_graph *g = r->g;
    uint32_t n = 0;
    for (uint32_t v = 0; v < g->d->n_vertices; v++)
        if (r->small[v] && r->degree[v] == 1)
            r->queue[n++] = v;
    while (n > 0) {
        uint32_t v = r->queue[--n], edge = live_edge(r, v, 0);
        if (edge == RLT_NONE) /* its only neighbour was such a part, too */
            continue;
        uint32_t next = other_end(&g->edges[edge], v);
        remove_edge(r, edge);
        g->vertices[v].removed = true;
        g->pruned++;
        if (r->small[next] && r->degree[next] == 1)
            r->queue[n++] = next;
    }
}

static int check_links(const reducer *r)
{
    rlt__ig_graph *g = r->g;
    for (uint32_t i = 0; i < g->n_edges; i++) {
        rlt__ig_edge *e = &g->edges[i];
        if (!e->link)
            continue;
        int rc = rlt__ig_link_check(g->d, e->link);
        if (rc < 0)
            return rc;
        e->bw_Bps = e->link->bw_Bps;
        e->latency_ps = e->link->latency_ps;
    }
    return 0;
}

static int fold(reducer *r, uint32_t v)
{
    rlt__ig_graph *g = r->g;
    uint32_t keep = live_edge(r, v, 0), drop = live_edge(r, v, 1);
    rlt__ig_edge *e = &g->edges[keep], *f = &g->edges[drop];
    uint32_t a = other_end(e, v), b = other_end(f, v);
    if (rlt_map_get(&g->between, rlt__ig_between(a, b)) != RLT_NONE)
        return 0; /* it would be a second link between the two */
    rlt_map_remove(&g->between, rlt__ig_between(v, a));
    rlt_map_remove(&g->between, rlt__ig_between(v, b));
    for (uint32_t i = r->first[b]; i < r->first[b + 1]; i++)
        if (r->edge[i] == drop)
            r->edge[i] = keep;
    e->bw_Bps = f->bw_Bps < e->bw_Bps ? f->bw_Bps : e->bw_Bps;
    e->latency_ps = rlt_time_add(e->latency_ps, f->latency_ps);
    e->a = a;
    e->b = b;
    f->link = NULL;
    r->degree[v] = 0;
    g->vertices[v].removed = true;
    g->folded++;
    return rlt_map_put(&g->between, rlt__ig_between(a, b), keep) ? rlt_nomem(g->d->err) : 0;
}

static int unconnected(rlt__ig_graph *g, const reducer *r)
{
    char name[256];
    for (uint32_t v = 0; v < g->d->n_vertices; v++) {
        if (r->degree[v] > 0 || (r->choice[v] == RLT__IG_XPU && g->d->n_vertices == 1))
            continue;
        if (!g->d->import->lenient)
            return rlt_fail(g->d->err, RLT_ETOPOLOGY, g->d->file,
                            "no edge leads to %.120s; --set lenient=on leaves such parts out",
                            rlt__ig_name(g->d, v, name, sizeof name));
        if (r->choice[v] == RLT__IG_XPU)
            continue; /* the builder refuses it */
        g->vertices[v].removed = true;
        g->d->lenience.unconnected++;
    }
    return 0;
}

static int reduce(reducer *r)
{
    rlt__ig_graph *g = r->g;
    int rc = make_rows(r);
    if (rc)
        return rc;
    set_kinds(r);
    bool own = rlt_json_is(g->own), shorten = !own && !g->d->import->unfolded;
    if (!own && (rc = unconnected(g, r)) < 0)
        return rc;
    if (shorten) {
        find_nics(r);
        prune(r);
    }
    if ((rc = check_links(r)) < 0)
        return rc;
    for (uint32_t v = 0; shorten && v < g->d->n_vertices && !rc; v++)
        if (r->small[v] && r->degree[v] == 2)
            rc = fold(r, v);
    return rc;
}

int rlt__ig_reduce(rlt__ig_graph *g)
{
    reducer r = {.g = g};
    int rc = reduce(&r);
    free(r.first);
    free(r.edge);
    free(r.degree);
    free(r.queue);
    free(r.choice);
    free(r.small);
    free(r.linked);
    return rc;
}
