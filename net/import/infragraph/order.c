/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers of nodes, nodes of accelerators, and which graphs need accelerators that relay. */
#include <inttypes.h>
#include <stdlib.h>

#include "net/import/infragraph/build.h"
#include "net/import/infragraph/document.h"
#include "net/import/infragraph/graph.h"
#include "net/import/machine.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"
#include "sim/text/json.h"

/* A vertex and what it is sorted by. */
typedef struct numbered {
    bool other; /* no accelerator */
    uint32_t key, vertex;
} numbered;

static int by_key(const void *a, const void *b)
{
    const numbered *x = a, *y = b;
    if (x->other != y->other)
        return x->other ? 1 : -1;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->vertex > y->vertex) - (x->vertex < y->vertex);
}

/* Returns the number that a file states for a vertex; RLT_NONE: none. */
static uint32_t stated(const rlt__ig_graph *g, const rlt__ig_vertex *v)
{
    if (v->kind == RLT_ACCELERATOR && v->rank != RLT_NONE)
        return v->rank;
    return rlt_json_is(g->own) ? v->id : RLT_NONE;
}

/* Ranks are numbered from 0 without gaps, or there are none. */
static int check_ranks(const rlt__ig_graph *g, const numbered *list, uint32_t n)
{
    char name[256];
    uint32_t ranked = 0;
    for (uint32_t i = 0; i < n; i++)
        ranked += stated(g, &g->vertices[list[i].vertex]) != RLT_NONE;
    for (uint32_t i = 0; ranked && i < n; i++) {
        uint32_t v = list[i].vertex, rank = stated(g, &g->vertices[v]);
        rlt__ig_name(g->d, v, name, sizeof name);
        if (rank == RLT_NONE)
            return rlt_fail(g->d->err, RLT_ESCHEMA, g->d->file, "%.120s has no rank, but others have", name);
        if (rank != i)
            return rlt_fail(g->d->err, RLT_ESCHEMA, g->d->file,
                            "%.120s has rank %" PRIu32 ", expected the ranks 0 to %" PRIu32 ", each once",
                            name, rank, n - 1);
    }
    return 0;
}

int rlt__ig_order_make(const rlt__ig_graph *g, rlt__ig_order *order)
{
    uint32_t n = g->d->n_vertices;
    numbered *list = malloc((n + 1ull) * sizeof *list);
    order->vertex = malloc((n + 1ull) * sizeof *order->vertex);
    order->node = malloc((n + 1ull) * sizeof *order->node);
    int rc = list && order->vertex && order->node ? 0 : rlt_nomem(g->d->err);
    for (uint32_t v = 0; v < n && !rc; v++) {
        const rlt__ig_vertex *at = &g->vertices[v];
        order->node[v] = RLT_NONE;
        if (at->removed)
            continue;
        uint32_t key = stated(g, at);
        bool other = at->kind != RLT_ACCELERATOR;
        order->n_accelerators += !other;
        list[order->n++] = (numbered){other, key, v};
    }
    if (!rc) {
        qsort(list, order->n, sizeof *list, by_key);
        rc = check_ranks(g, list, order->n_accelerators);
    }
    for (uint32_t i = 0; i < order->n && !rc; i++) {
        order->vertex[i] = list[i].vertex;
        order->node[list[i].vertex] = i;
    }
    free(list);
    return rc;
}

void rlt__ig_order_free(rlt__ig_order *order)
{
    free(order->vertex);
    free(order->node);
}

void rlt__ig_boundary(const rlt__ig_graph *g, const rlt__ig_order *order, rlt__machine *m)
{
    uint32_t size = 0, run = 0, before = RLT_NONE, runs = 0;
    for (uint32_t a = 0; a <= order->n_accelerators; a++) {
        uint32_t index, first = RLT_NONE;
        if (a < order->n_accelerators) {
            const rlt__ig_instance *in = rlt__ig_instance_of(g->d, order->vertex[a], &index);
            first = in->first + index * g->d->devices[in->device].size;
        }
        if (first != before && a > 0) {
            size = size ? size : run;
            if (run != size)
                return;
            run = 0;
            runs++;
        }
        before = first;
        run++;
    }
    if (runs < 2 || size < 2)
        return;
    /* As many runs as instances that hold accelerators: otherwise their ranks are mixed. */
    uint64_t holders = 0;
    for (uint32_t i = 0; i < g->d->n_instances; i++)
        holders += g->d->devices[g->d->instances[i].device].xpu ? g->d->instances[i].count : 0;
    if (runs != holders)
        return;
    m->n_logical = 2;
    m->logical[0] = size;
    m->logical[1] = runs;
}

/* ---- relaying ---- */

static uint32_t root_of(uint32_t *parent, uint32_t v)
{
    while (parent[v] != v)
        v = parent[v] = parent[parent[v]];
    return v;
}

/* Joins the parts that are no accelerators, and counts links between accelerators. */
static uint64_t join_others(const rlt__ig_graph *g, uint32_t *parent)
{
    uint64_t direct = 0;
    for (uint32_t v = 0; v < g->d->n_vertices; v++)
        parent[v] = v;
    for (uint32_t i = 0; i < g->n_edges; i++) {
        const rlt__ig_edge *e = &g->edges[i];
        bool a = g->vertices[e->a].kind == RLT_ACCELERATOR, b = g->vertices[e->b].kind == RLT_ACCELERATOR;
        if (e->link && !a && !b)
            parent[root_of(parent, e->a)] = root_of(parent, e->b);
        direct += e->link && a && b;
    }
    return direct;
}

int rlt__ig_needs_relay(const rlt__ig_graph *g, const rlt__ig_order *order, bool *needed)
{
    uint64_t n = order->n_accelerators;
    uint32_t *parent = malloc((g->d->n_vertices + 1ull) * sizeof *parent);
    uint32_t *reached = calloc(g->d->n_vertices + 1ull, sizeof *reached); /* accelerators, by root */
    rlt_map seen = {0};
    int rc = parent && reached ? 0 : rlt_nomem(g->d->err);
    *needed = !rc && join_others(g, parent) < n * (n - 1) / 2;
    for (uint32_t i = 0; i < g->n_edges && !rc && *needed; i++) {
        const rlt__ig_edge *e = &g->edges[i];
        bool a = g->vertices[e->a].kind == RLT_ACCELERATOR, b = g->vertices[e->b].kind == RLT_ACCELERATOR;
        if (!e->link || a == b)
            continue;
        uint32_t root = root_of(parent, a ? e->b : e->a);
        uint64_t key = (uint64_t)root << 32 | (a ? e->a : e->b);
        if (rlt_map_get(&seen, key) != RLT_NONE)
            continue;
        rc = rlt_map_put(&seen, key, 0) ? rlt_nomem(g->d->err) : 0;
        *needed = ++reached[root] < n;
    }
    rlt_map_free(&seen);
    free(parent);
    free(reached);
    return rc;
}
