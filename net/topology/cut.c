/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cut with the least ratio of bandwidth to members inside, and a cache of results. */
#include "net/topology/cut.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "net/topology/frozen.h"
#include "net/topology/graph.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"

enum { MAX_KEPT = 1 << 14 };
#define NEAR 1e-12 /* relative error of sums of capacities */

typedef struct kept {
    uint64_t key[2];
    rlt_cut cut;
} kept;

struct rlt_cut_memo {
    pthread_mutex_t lock;
    kept *all;
    uint32_t n, capacity;
};

int rlt_cut_memo_create(struct rlt_cut_memo **out)
{
    struct rlt_cut_memo *m = *out = calloc(1, sizeof *m);
    if (m && pthread_mutex_init(&m->lock, NULL) == 0)
        return 0;
    free(m);
    *out = NULL;
    return RLT_ENOMEM;
}

void rlt_cut_memo_free(struct rlt_cut_memo *m)
{
    if (!m)
        return;
    pthread_mutex_destroy(&m->lock);
    free(m->all);
    free(m);
}

static void key_of(const rlt_cut_question *q, bool inwards, uint64_t key[2])
{
    uint32_t numbers[] = {q->n, q->source, q->sink, q->split, inwards};
    for (uint64_t i = 0; i < 2; i++) {
        key[i] = rlt_hash_bytes(numbers, sizeof numbers, i);
        key[i] = rlt_hash_bytes(q->accelerators, q->n * sizeof *q->accelerators, key[i] + i);
    }
}

static const kept *recall(const struct rlt_cut_memo *m, const uint64_t key[2])
{
    for (uint32_t i = 0; i < m->n; i++)
        if (m->all[i].key[0] == key[0] && m->all[i].key[1] == key[1])
            return &m->all[i];
    return NULL;
}

static int keep(struct rlt_cut_memo *m, const uint64_t key[2], rlt_cut cut, rlt_error *err)
{
    if (m->n == MAX_KEPT)
        return 0;
    int rc = rlt_grow(&m->all, &m->capacity, sizeof *m->all, (uint64_t)m->n + 1, MAX_KEPT, "cuts", err);
    if (rc == 0)
        m->all[m->n++] = (kept){.key = {key[0], key[1]}, .cut = cut};
    return rc;
}

/* Links of the topology (parallel ones merged), then one arc from the auxiliary source to each member. */
typedef struct flow_graph {
    const rlt_cut_question *q;
    uint32_t *src, *dst;
    uint64_t *bw_Bps;
    double *capacity, *left; /* left: what `carries` has not used */
    uint8_t *side;
    uint32_t *first, *arcs; /* arcs by source, for `carries` */
    uint32_t *next, *level, *path;
    uint32_t n_nodes, n_links, source;
    bool symmetric;
} flow_graph;

static void free_graph(flow_graph *g)
{
    free(g->path);
    free(g->level);
    free(g->next);
    free(g->arcs);
    free(g->first);
    free(g->side);
    free(g->left);
    free(g->capacity);
    free(g->bw_Bps);
    free(g->dst);
    free(g->src);
}

static int draw_links(const rlt_topology *t, bool inwards, flow_graph *g)
{
    rlt_map known = {0};
    int rc = 0;
    for (uint32_t i = 0; i < t->links && rc == 0; i++) {
        rlt_link l = rlt_topology_link(t, i);
        uint32_t from = inwards ? l.dst : l.src, to = inwards ? l.src : l.dst;
        uint64_t key = (uint64_t)from << 32 | to;
        uint32_t e = rlt_map_get(&known, key);
        if (e == RLT_NONE) {
            e = g->n_links++;
            g->src[e] = from;
            g->dst[e] = to;
            rc = rlt_map_put(&known, key, e);
        }
        g->bw_Bps[e] += l.bw_Bps;
    }
    g->symmetric = true;
    for (uint32_t e = 0; e < g->n_links && rc == 0; e++) {
        uint32_t back = rlt_map_get(&known, (uint64_t)g->dst[e] << 32 | g->src[e]);
        g->symmetric = g->symmetric && back != RLT_NONE && g->bw_Bps[back] == g->bw_Bps[e];
        g->capacity[e] = (double)g->bw_Bps[e];
    }
    rlt_map_free(&known);
    return rc;
}

static int draw(const rlt_topology *t, const rlt_cut_question *q, bool inwards, flow_graph *g, rlt_error *err)
{
    size_t room = (size_t)t->links + q->n;
    *g = (flow_graph){.q = q, .n_nodes = t->nodes + 2, .source = t->nodes};
    g->src = malloc(room * sizeof *g->src);
    g->dst = malloc(room * sizeof *g->dst);
    g->bw_Bps = calloc(room, sizeof *g->bw_Bps);
    g->capacity = calloc(room, sizeof *g->capacity);
    g->left = malloc(room * sizeof *g->left);
    g->side = malloc(g->n_nodes);
    g->first = calloc((size_t)g->n_nodes + 1, sizeof *g->first);
    g->arcs = malloc(room * sizeof *g->arcs);
    g->next = malloc(g->n_nodes * sizeof *g->next);
    g->level = malloc(g->n_nodes * sizeof *g->level);
    g->path = malloc(g->n_nodes * sizeof *g->path);
    if (!g->src || !g->dst || !g->bw_Bps || !g->capacity || !g->left || !g->side || !g->first || !g->arcs ||
        !g->next || !g->level || !g->path || draw_links(t, inwards, g))
        return rlt_nomem(err);
    for (uint32_t i = 0; i < q->n; i++) {
        bool out = q->split && i >= q->split;
        g->src[g->n_links + i] = out ? q->accelerators[i] : g->source;
        g->dst[g->n_links + i] = out ? g->source + 1 : q->accelerators[i];
    }
    for (uint32_t e = 0; e < g->n_links + q->n; e++)
        g->first[g->src[e] + 1]++;
    for (uint32_t v = 0; v < g->n_nodes; v++)
        g->next[v] = g->first[v + 1] += g->first[v];
    for (uint32_t e = g->n_links + q->n; e-- > 0;)
        g->arcs[--g->next[g->src[e]]] = e;
    return 0;
}

/* Numbers nodes by their distance from the source over arcs with capacity left. Returns true if one of them
 * is the sink. */
static bool find_levels(flow_graph *g, uint32_t sink)
{
    uint32_t *queue = g->path, n = 0;
    memset(g->level, 0xff, g->n_nodes * sizeof *g->level);
    g->level[g->source] = 0;
    queue[n++] = g->source;
    for (uint32_t k = 0; k < n && g->level[sink] == RLT_NONE; k++)
        for (uint32_t i = g->first[queue[k]]; i < g->first[queue[k] + 1]; i++) {
            uint32_t to = g->dst[g->arcs[i]];
            if (g->left[g->arcs[i]] > 0 && g->level[to] == RLT_NONE) {
                g->level[to] = g->level[queue[k]] + 1;
                queue[n++] = to;
            }
        }
    return g->level[sink] != RLT_NONE;
}

/* Fills one more shortest path. Returns what it carries, 0 if there is none. */
static double fill_path(flow_graph *g, uint32_t sink)
{
    uint32_t at = g->source, n = 0;
    while (at != sink) {
        uint32_t i = g->next[at], end = g->first[at + 1];
        while (i < end && (g->left[g->arcs[i]] <= 0 || g->level[g->dst[g->arcs[i]]] != g->level[at] + 1))
            i++;
        g->next[at] = i;
        if (i < end) {
            g->path[n++] = g->arcs[i];
            at = g->dst[g->arcs[i]];
        } else if (n) {
            at = g->src[g->path[--n]];
            g->next[at]++;
        } else {
            return 0;
        }
    }
    double least = g->left[g->path[0]];
    for (uint32_t i = 1; i < n; i++)
        least = g->left[g->path[i]] < least ? g->left[g->path[i]] : least;
    for (uint32_t i = 0; i < n; i++)
        g->left[g->path[i]] -= least;
    return least;
}

/*
 * Fills shortest paths, then longer ones, and never takes back. True: a flow of this size was found, so no
 * cut is smaller. False says nothing. Most networks are so even that this is enough, and igraph, which
 * takes longer to load than most collectives to simulate, is not needed.
 */
static bool carries(flow_graph *g, uint32_t sink, double wanted)
{
    double found = 0;
    memcpy(g->left, g->capacity, (g->n_links + g->q->n) * sizeof *g->left);
    while (find_levels(g, sink)) {
        memcpy(g->next, g->first, g->n_nodes * sizeof *g->next);
        for (double more; (more = fill_path(g, sink)) > 0;)
            found += more;
        if (found >= wanted * (1 - NEAR))
            return true;
    }
    return false;
}

/* Returns the cut that g->side describes. */
static rlt_cut measure(const flow_graph *g)
{
    rlt_cut c = {0};
    for (uint32_t e = 0; e < g->n_links; e++)
        c.bw_Bps += g->side[g->src[e]] && !g->side[g->dst[e]] ? g->bw_Bps[e] : 0;
    for (uint32_t i = 0; i < g->q->n; i++)
        c.inside += (g->q->source == RLT_NONE || g->q->source == i) && g->side[g->q->accelerators[i]];
    return c;
}

static bool tighter(rlt_cut a, rlt_cut b)
{
    return b.inside == 0 || (rlt_wide)a.bw_Bps * b.inside < (rlt_wide)b.bw_Bps * a.inside;
}

/* Lowers *best until every member can send at the rate of its ratio to this sink. */
static int try_sink(flow_graph *g, uint32_t sink, rlt_cut *best, rlt_error *err)
{
    const rlt_cut_question *q = g->q;
    for (;;) {
        double each = (double)best->bw_Bps / best->inside, value, wanted = 0;
        rlt_edges edges = {.n_nodes = g->n_nodes, .n_edges = g->n_links + q->n, .src = g->src, .dst = g->dst};
        for (uint32_t i = 0; i < q->n; i++) {
            g->capacity[g->n_links + i] = q->source == RLT_NONE || q->source == i ? each : 0;
            wanted += g->capacity[g->n_links + i];
        }
        if (carries(g, q->accelerators[sink], wanted))
            return 0;
        int rc =
            rlt_graph_min_cut(&edges, g->capacity, g->source, q->accelerators[sink], &value, g->side, err);
        if (rc || value >= wanted * (1 - NEAR))
            return rc;
        rlt_cut found = measure(g);
        if (found.inside == 0 || !tighter(found, *best))
            return 0;
        *best = found;
    }
}

/* Returns a first guess, which is often the result: all members except one inside (the links that enter that
 * one), or only the source inside (its own links). */
static rlt_cut guess(flow_graph *g)
{
    const rlt_cut_question *q = g->q;
    rlt_cut best = {0};
    for (uint32_t i = 0; i < q->n; i++) {
        bool alone = q->source == i, open = q->sink == RLT_NONE || q->sink == i;
        if (!alone && !open)
            continue;
        memset(g->side, !alone, g->n_nodes);
        g->side[q->accelerators[i]] = alone;
        rlt_cut c = measure(g);
        if (c.inside && tighter(c, best))
            best = c;
    }
    return best;
}

/* Returns the smaller of two cuts between the members inside and those outside: only the former are in S, or
 * only the latter are not. */
static rlt_cut guess_given(flow_graph *g)
{
    rlt_cut best = {0};
    for (int others = 0; others < 2; others++) {
        memset(g->side, others, g->n_nodes);
        for (uint32_t i = 0; i < g->q->n; i++)
            g->side[g->q->accelerators[i]] = i < g->q->split;
        rlt_cut c = measure(g);
        best = others == 0 || tighter(c, best) ? c : best;
    }
    return best;
}

/* Finds a smallest cut between the members inside and those outside. Arcs without limit hold them there. */
static int cut_given(flow_graph *g, rlt_cut *out, rlt_error *err)
{
    const rlt_cut_question *q = g->q;
    rlt_edges edges = {.n_nodes = g->n_nodes, .n_edges = g->n_links + q->n, .src = g->src, .dst = g->dst};
    double all = 1, value;
    for (uint32_t e = 0; e < g->n_links; e++)
        all += g->capacity[e];
    for (uint32_t i = 0; i < q->n; i++)
        g->capacity[g->n_links + i] = all;
    *out = guess_given(g);
    if (carries(g, g->source + 1, (double)out->bw_Bps))
        return 0;
    int rc = rlt_graph_min_cut(&edges, g->capacity, g->source, g->source + 1, &value, g->side, err);
    if (rc == 0)
        *out = measure(g);
    return rc;
}

static int search(flow_graph *g, rlt_cut *out, rlt_error *err)
{
    if (g->q->split)
        return cut_given(g, out, err);
    const rlt_cut_question *q = g->q;
    rlt_cut best = guess(g);
    int rc = 0;
    for (uint32_t i = 0; i < q->n && rc == 0 && best.inside; i++)
        if (q->source != i && (q->sink == RLT_NONE || q->sink == i))
            rc = try_sink(g, i, &best, err);
    *out = best;
    return rc;
}

/* Finds a cut. The lock is held. */
static int find(const rlt_topology *t, const rlt_cut_question *q, bool inwards, rlt_cut *out, rlt_error *err)
{
    uint64_t key[2];
    flow_graph g;
    key_of(q, inwards, key);
    const kept *k = recall(t->cuts, key);
    if (k) {
        *out = k->cut;
        return 0;
    }
    int rc = draw(t, q, inwards, &g, err);
    if (rc == 0 && inwards && g.symmetric)
        rc = find(t, q, false, out, err);
    else if (rc == 0)
        rc = search(&g, out, err);
    free_graph(&g);
    return rc ? rc : keep(t->cuts, key, *out, err);
}

int rlt_cut_find(const rlt_topology *t, const rlt_cut_question *q, rlt_cut *out, rlt_error *err)
{
    *out = (rlt_cut){0};
    if (q->n < 2 || q->split >= q->n || t->links > RLT_CUT_LINKS || (uint64_t)q->n * t->links > RLT_CUT_WORK)
        return 0;
    pthread_mutex_lock(&t->cuts->lock);
    int rc = find(t, q, q->inwards, out, err);
    pthread_mutex_unlock(&t->cuts->lock);
    return rc;
}
