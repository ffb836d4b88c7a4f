/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shortest routes in a graph topology, searched backwards from each destination. */
#include "net/topology/route_graph.h"

#include <stdlib.h>
#include <string.h>

#include "net/shapes/shapes.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"

/* Distances of every node to one destination. */
typedef struct table {
    uint32_t dst;
    uint32_t *hops;
    rlt_time *latency_ps;
} table;

struct rlt_graph_routes {
    const rlt_topology *t;
    const uint64_t *bw_Bps; /* bandwidth per link; links with 0 are not used. NULL: all are */
    const uint8_t *relays;  /* nodes that pass on messages */
    table *tables;
    uint32_t n, max, next; /* next: the oldest table, replaced when all are in use */
    uint32_t *slot_of;     /* table of each destination node, or RLT_NONE */
    uint32_t *queue;
};

int rlt_graph_routes_create(const rlt_topology *t, size_t bytes, const uint64_t *bw_Bps,
                            rlt_graph_routes **out, rlt_error *err)
{
    size_t each = (sizeof(uint32_t) + sizeof(rlt_time)) * t->nodes, max = bytes / each;
    rlt_graph_routes *r = calloc(1, sizeof *r);
    *out = r;
    if (!r)
        return rlt_nomem(err);
    r->t = t;
    r->bw_Bps = bw_Bps;
    r->relays = t->graph.forwards;
    r->max = max < 2 ? 2 : max > t->nodes ? t->nodes : (uint32_t)max;
    r->tables = calloc(r->max, sizeof *r->tables);
    r->slot_of = malloc(t->nodes * sizeof *r->slot_of);
    r->queue = malloc(t->nodes * sizeof *r->queue);
    if (!r->tables || !r->slot_of || !r->queue) {
        rlt_graph_routes_free(r);
        *out = NULL;
        return rlt_nomem(err);
    }
    memset(r->slot_of, 0xff, t->nodes * sizeof *r->slot_of);
    return 0;
}

void rlt_graph_routes_relay(rlt_graph_routes *r, const uint8_t *relays)
{
    r->relays = relays;
}

void rlt_graph_routes_free(rlt_graph_routes *r)
{
    if (!r)
        return;
    for (uint32_t i = 0; r->tables && i < r->n; i++) {
        free(r->tables[i].hops);
        free(r->tables[i].latency_ps);
    }
    free(r->queue);
    free(r->slot_of);
    free(r->tables);
    free(r);
}

static inline bool usable(const rlt_graph_routes *r, uint32_t link)
{
    return !r->bw_Bps || r->bw_Bps[link] > 0;
}

/* Breadth-first search. All nodes of one distance are final before the next distance begins, so latencies
 * need no second pass. */
static void search(rlt_graph_routes *r, table *b)
{
    const rlt_frozen_graph *g = &r->t->graph;
    uint32_t head = 0, tail = 0;
    memset(b->hops, 0xff, r->t->nodes * sizeof *b->hops);
    b->hops[b->dst] = 0;
    b->latency_ps[b->dst] = 0;
    r->queue[tail++] = b->dst;
    while (head < tail) {
        uint32_t w = r->queue[head++];
        if (w != b->dst && !r->relays[w])
            continue;
        for (uint32_t i = g->in_first[w]; i < g->in_first[w + 1]; i++) {
            const rlt_link *l = &g->links[g->in[i]];
            if (!usable(r, g->in[i]))
                continue;
            rlt_time latency = rlt_time_add(b->latency_ps[w], l->latency_ps);
            if (b->hops[l->src] == RLT_NONE) {
                b->hops[l->src] = b->hops[w] + 1;
                b->latency_ps[l->src] = latency;
                r->queue[tail++] = l->src;
            } else if (b->hops[l->src] == b->hops[w] + 1 && latency < b->latency_ps[l->src]) {
                b->latency_ps[l->src] = latency;
            }
        }
    }
}

static table *table_of(rlt_graph_routes *r, uint32_t dst)
{
    if (r->slot_of[dst] != RLT_NONE)
        return &r->tables[r->slot_of[dst]];
    table *b;
    if (r->n < r->max) {
        b = &r->tables[r->n];
        b->hops = malloc(r->t->nodes * sizeof *b->hops);
        b->latency_ps = malloc(r->t->nodes * sizeof *b->latency_ps);
        if (!b->hops || !b->latency_ps) {
            free(b->hops);
            free(b->latency_ps);
            b->hops = NULL;
            b->latency_ps = NULL;
            return NULL;
        }
        r->n++;
    } else {
        b = &r->tables[r->next];
        r->next = (r->next + 1) % r->max;
        r->slot_of[b->dst] = RLT_NONE;
    }
    b->dst = dst;
    r->slot_of[dst] = (uint32_t)(b - r->tables);
    search(r, b);
    return b;
}

int rlt_graph_routes_to(rlt_graph_routes *r, uint32_t dst, const uint32_t **hops, const rlt_time **latency_ps)
{
    const table *b = table_of(r, dst);
    if (!b)
        return RLT_ENOMEM;
    *hops = b->hops;
    *latency_ps = b->latency_ps;
    return 0;
}

static void append(const rlt_topology *t, rlt_walk *walk, uint32_t link)
{
    const rlt_link *l = &t->graph.links[link];
    walk->links[walk->n++] = link;
    walk->latency_ps = rlt_time_add(walk->latency_ps, l->latency_ps);
    if (l->bw_Bps < walk->bw_Bps)
        walk->bw_Bps = l->bw_Bps;
}

static bool leads_on(const rlt_graph_routes *r, const table *b, uint32_t link)
{
    const rlt_link *l = &r->t->graph.links[link];
    return usable(r, link) && (l->dst == b->dst || r->relays[l->dst]) && b->hops[l->dst] != RLT_NONE &&
           b->hops[l->dst] + 1 == b->hops[l->src] &&
           rlt_time_add(b->latency_ps[l->dst], l->latency_ps) == b->latency_ps[l->src];
}

/* Returns the link `turn` places after the chosen one, among its parallel links that lead on, too. */
static uint32_t parallel(const rlt_graph_routes *r, const table *b, uint32_t at, uint32_t chosen,
                         uint32_t turn)
{
    const rlt_frozen_graph *g = &r->t->graph;
    uint32_t n = 0, place = 0, dst = g->links[g->out[chosen]].dst;
    for (uint32_t i = g->out_first[at]; i < g->out_first[at + 1]; i++) {
        if (g->links[g->out[i]].dst != dst || !leads_on(r, b, g->out[i]))
            continue;
        place = i == chosen ? n : place;
        n++;
    }
    place = (place + turn) % n;
    for (uint32_t i = g->out_first[at];; i++) {
        if (g->links[g->out[i]].dst == dst && leads_on(r, b, g->out[i]) && place-- == 0)
            return g->out[i];
    }
}

/* Returns the next link from `at`: the one that `pick` chooses among the links of shortest routes, in link
 * order. */
static uint32_t next_link(const rlt_graph_routes *r, const table *b, uint32_t at, rlt_graph_pick *pick)
{
    const rlt_frozen_graph *g = &r->t->graph;
    uint32_t choices = 0, first = RLT_NONE;
    for (uint32_t i = g->out_first[at]; i < g->out_first[at + 1]; i++)
        if (leads_on(r, b, g->out[i])) {
            if (first == RLT_NONE)
                first = i;
            choices++;
        }
    if (choices < 2)
        return g->out[first];
    uint32_t chosen = (uint32_t)(pick->value % choices);
    if (!pick->by_destination || pick->digits)
        pick->value /= choices;
    for (uint32_t i = first;; i++)
        if (leads_on(r, b, g->out[i]) && chosen-- == 0)
            return pick->turn && pick->by_destination ? parallel(r, b, at, i, pick->turn) : g->out[i];
}

int rlt_graph_routes_route(rlt_graph_routes *r, uint32_t src, uint32_t dst, rlt_graph_pick pick,
                           rlt_walk *walk)
{
    const rlt_topology *t = r->t;
    const rlt_frozen_graph *g = &t->graph;
    uint32_t fixed =
        g->n_routes && !r->bw_Bps ? rlt_map_get(&g->route_of, (uint64_t)src << 32 | dst) : RLT_NONE;
    const table *b = fixed == RLT_NONE ? table_of(r, dst) : NULL;
    uint32_t n;
    if (fixed != RLT_NONE)
        n = g->route_first[fixed + 1] - g->route_first[fixed];
    else if (!b)
        return RLT_ENOMEM;
    else if ((n = b->hops[src]) == RLT_NONE)
        return RLT_ETOPOLOGY;
    int rc = rlt_grow(&walk->links, &walk->capacity, sizeof *walk->links, (uint64_t)walk->n + n,
                      RLT_MAX_LINKS, "links of a route", NULL);
    if (rc)
        return rc;
    if (fixed != RLT_NONE) {
        for (uint32_t i = 0; i < n; i++)
            append(t, walk, g->route_links[g->route_first[fixed] + i]);
        return 0;
    }
    for (uint32_t at = src; at != dst; at = g->links[walk->links[walk->n - 1]].dst)
        append(t, walk, next_link(r, b, at, &pick));
    return 0;
}
