/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reductions mapped on a network: stops, and the paths between them. */
#include <stdlib.h>

#include "net/aggregation/tree.h"
#include "net/aggregation/tree_internal.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"

typedef struct layout {
    const rlt_mapper *m;
    rlt_reduction *r;
    uint32_t *stop; /* stop at each node */
    uint32_t links_room;
    rlt_error *err;
} layout;

static bool stops(const rlt_mapper *m, uint32_t v)
{
    return m->node[v].adds || m->node[v].replicates;
}

static uint32_t above(const rlt_mapper *m, uint32_t v)
{
    return m->src[m->parent[v]];
}

/* Returns the nearest adder (or stop of any kind) above v. */
static uint32_t next_up(const rlt_mapper *m, uint32_t v, bool adder)
{
    do
        v = above(m, v);
    while (adder ? !m->node[v].adds : !stops(m, v));
    return v;
}

/* Adds the path between v and a node above it (RLT_NONE: the root, over edges of shortest paths). */
static int add_way(layout *l, uint32_t v, uint32_t top, bool up, rlt_way *way)
{
    const rlt_mapper *m = l->m;
    rlt_reduction *r = l->r;
    *way = (rlt_way){.first = r->n_links};
    while (v != (top == RLT_NONE ? m->root : top)) {
        uint32_t e = top == RLT_NONE ? rlt__choose_edge(m, v) : m->parent[v];
        int rc = rlt_grow(&r->links, &l->links_room, sizeof *r->links, (uint64_t)r->n_links + 1, UINT32_MAX,
                          "links of a tree", l->err);
        if (rc)
            return rc;
        r->links[r->n_links++] = up ? m->back[e] : m->link[e];
        way->n++;
        v = m->src[e];
    }
    for (uint32_t i = 0; !up && i < way->n / 2; i++) {
        uint32_t *a = &r->links[way->first + i], *b = &r->links[way->first + way->n - 1 - i], link = *a;
        *a = *b;
        *b = link;
    }
    return 0;
}

/* Numbers the stops from the root down, and reserves room for the contributors of each. */
static int number_stops(layout *l)
{
    const rlt_mapper *m = l->m;
    rlt_reduction *r = l->r;
    for (uint32_t i = 0; i < m->n_order; i++) {
        uint32_t v = m->order[i];
        if (!stops(m, v))
            continue;
        uint32_t s = l->stop[v] = v == m->root ? 0 : ++r->n_stops;
        r->stops[s] = (rlt_stop){.node = v, .adds = m->node[v].adds, .parent = RLT_NONE, .child = RLT_NONE};
    }
    r->n_stops++;
    for (uint32_t s = 0; s < r->n_stops; s++) {
        rlt_stop *x = &r->stops[s];
        x->first_contributor = r->n_contributors;
        x->first_branch = r->n_branches;
        x->n_branches = m->node[x->node].copies;
        r->n_branches += x->n_branches;
        if (x->adds)
            r->n_contributors += x->need = m->node[x->node].need;
    }
    r->contributors = calloc((size_t)r->n_contributors + 1, sizeof *r->contributors);
    r->branches = calloc((size_t)r->n_branches + 1, sizeof *r->branches);
    return r->contributors && r->branches ? 0 : rlt_nomem(l->err);
}

/* Adds the member or stop at node v as a contributor of the next adder above. */
static int add_contributor(layout *l, uint32_t *fill, uint32_t v, rlt_contributor who, uint32_t *parent,
                           uint32_t *child)
{
    rlt_reduction *r = l->r;
    uint32_t top = next_up(l->m, v, true);
    *parent = l->stop[top];
    *child = fill[*parent]++;
    rlt_contributor *c = &r->contributors[r->stops[*parent].first_contributor + *child];
    *c = who;
    int rc = add_way(l, v, top, true, &c->up);
    return rc ? rc : add_way(l, v, top, false, &c->down);
}

static int add_branch(layout *l, uint32_t *fill, uint32_t v, uint32_t member, uint32_t stop)
{
    uint32_t top = next_up(l->m, v, false), s = l->stop[top];
    rlt_branch *b = &l->r->branches[l->r->stops[s].first_branch + fill[s]++];
    *b = (rlt_branch){.member = member, .stop = stop};
    return add_way(l, v, top, false, &b->down);
}

static int connect(layout *l)
{
    rlt_reduction *r = l->r;
    const rlt_reduction_request *q = l->m->req;
    uint32_t *given = calloc(r->n_stops, sizeof *given), *taken = calloc(r->n_stops, sizeof *taken);
    int rc = given && taken ? 0 : rlt_nomem(l->err);
    for (uint32_t i = 0; i < q->n && !rc; i++) {
        rc = add_contributor(l, given, q->nodes[i], (rlt_contributor){.member = i, .stop = RLT_NONE},
                             &r->member_stop[i], &r->member_child[i]);
        if (!rc)
            rc = add_branch(l, taken, q->nodes[i], i, RLT_NONE);
    }
    for (uint32_t s = 1; s < r->n_stops && !rc; s++) {
        rlt_stop *x = &r->stops[s];
        if (x->adds)
            rc = add_contributor(l, given, x->node, (rlt_contributor){.member = RLT_NONE, .stop = s},
                                 &x->parent, &x->child);
        if (!rc)
            rc = add_branch(l, taken, x->node, RLT_NONE, s);
    }
    for (uint32_t i = 0; i < q->n_servers && !rc; i++) {
        rc = add_way(l, q->servers[i], RLT_NONE, false, &r->to_server[i]);
        if (!rc)
            rc = add_way(l, q->servers[i], RLT_NONE, true, &r->from_server[i]);
    }
    free(given);
    free(taken);
    return rc;
}

static void list_tree_edges(layout *l)
{
    const rlt_mapper *m = l->m;
    for (uint32_t i = 0; i < m->n_order; i++) {
        uint32_t v = m->order[i];
        if (v != m->root)
            l->r->edges[l->r->n_edges++] = (rlt_tree_edge){.up = m->back[m->parent[v]],
                                                           .down = m->link[m->parent[v]],
                                                           .up_load = m->node[v].up_load,
                                                           .down_load = m->node[v].down_load};
    }
}

static void count_levels(rlt_reduction *r)
{
    for (uint32_t s = 0; s < r->n_stops; s++) {
        uint32_t levels = 0;
        for (uint32_t x = s; r->stops[s].adds && x != RLT_NONE; x = r->stops[x].parent)
            levels++;
        if (levels > r->levels)
            r->levels = levels;
    }
}

int rlt__reduction_lay_out(const rlt_mapper *m, const rlt_tree_cost *cost, rlt_reduction **out,
                           rlt_error *err)
{
    uint32_t n = m->req->n, servers = m->req->n_servers;
    rlt_reduction *r = calloc(1, sizeof *r);
    layout l = {.m = m, .r = r, .err = err};
    if (!r)
        return rlt_nomem(err);
    r->depth = cost->depth;
    r->busiest = cost->busiest;
    r->stops = calloc(m->n_order, sizeof *r->stops);
    r->edges = calloc(m->n_order, sizeof *r->edges);
    r->member_stop = calloc(n, sizeof *r->member_stop);
    r->member_child = calloc(n, sizeof *r->member_child);
    r->to_server = calloc((size_t)servers + 1, sizeof *r->to_server);
    r->from_server = calloc((size_t)servers + 1, sizeof *r->from_server);
    l.stop = calloc(m->nodes, sizeof *l.stop);
    int rc =
        r->stops && r->edges && r->member_stop && r->member_child && r->to_server && r->from_server && l.stop
            ? 0
            : rlt_nomem(err);
    if (!rc)
        rc = number_stops(&l);
    if (!rc)
        rc = connect(&l);
    free(l.stop);
    if (rc) {
        rlt_reduction_free(r);
        return rc;
    }
    list_tree_edges(&l);
    count_levels(r);
    *out = r;
    return 0;
}

void rlt_reduction_free(rlt_reduction *r)
{
    if (!r)
        return;
    free(r->stops);
    free(r->contributors);
    free(r->branches);
    free(r->member_stop);
    free(r->member_child);
    free(r->to_server);
    free(r->from_server);
    free(r->edges);
    free(r->links);
    free(r);
}

void rlt_reduction_load(const rlt_reduction *r, uint32_t *load)
{
    for (uint32_t i = 0; i < r->n_edges; i++) {
        load[r->edges[i].up] += r->edges[i].up_load;
        load[r->edges[i].down] += r->edges[i].down_load;
    }
}
