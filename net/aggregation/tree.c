/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reductions mapped on a network: choice of the root. */
#include "net/aggregation/tree.h"

#include <stdlib.h>
#include <string.h>

#include "net/aggregation/tree_internal.h"
#include "net/shapes/shapes.h"
#include "net/topology/distances.h"
#include "net/topology/graph.h"
#include "sim/base/map.h"
#include "sim/base/time.h"

/* Limit of links that keeps the search, roots x (nodes + links), within seconds. */
enum { MAX_LINKS = 1 << 22 };
#define MAX_STEPS 1e10
#define MAX_BATCH ((uint64_t)1 << 22) /* distances per call */

static bool relays(const rlt_topology *t, uint32_t node)
{
    if (rlt_topology_is_product(t))
        return node >= t->accelerators;
    return t->graph.forwards[node];
}

static bool is_switch(const rlt_topology *t, uint32_t node)
{
    return rlt_topology_node_kind(t, node) == RLT_SWITCH;
}

/* Lists links whose tail relays and that have a reverse link, as edges for igraph and in rows by head. */
static int list_edges(rlt_mapper *m, rlt_error *err)
{
    const rlt_topology *t = m->req->topology;
    uint32_t links = rlt_topology_links(t), n = 0;
    for (uint32_t i = 0; i < links; i++) {
        rlt_link l = rlt_topology_link(t, i);
        uint32_t back = rlt_topology_reverse(t, i);
        if (back == RLT_NONE || !relays(t, l.src))
            continue;
        m->src[n] = l.src;
        m->dst[n] = l.dst;
        m->link[n] = i;
        m->back[n++] = back;
        m->in_first[l.dst + 1]++;
    }
    m->n_edges = n;
    for (uint32_t v = 0; v < m->nodes; v++)
        m->in_first[v + 1] += m->in_first[v];
    uint32_t *next = malloc(((size_t)m->nodes + 1) * sizeof *next);
    if (!next)
        return rlt_nomem(err);
    memcpy(next, m->in_first, ((size_t)m->nodes + 1) * sizeof *next);
    for (uint32_t e = 0; e < n; e++)
        m->in[next[m->dst[e]]++] = e;
    free(next);
    return 0;
}

/* Marks switches next to a member's accelerator, or with only NICs, PCIe and CPUs in between. */
static void mark_tors(rlt_mapper *m)
{
    const rlt_topology *t = m->req->topology;
    uint32_t *todo = m->order, n = 0;
    for (uint32_t i = 0; i < m->req->n; i++)
        todo[n++] = m->req->nodes[i];
    while (n > 0) {
        uint32_t v = todo[--n];
        for (uint32_t k = m->in_first[v]; k < m->in_first[v + 1]; k++) {
            uint32_t u = m->src[m->in[k]];
            if (m->tor[u] || u < t->accelerators)
                continue;
            m->tor[u] = 1;
            if (!is_switch(t, u))
                todo[n++] = u;
        }
    }
}

static bool can_add(const rlt_mapper *m, uint32_t node)
{
    const rlt_reduction_request *q = m->req;
    if (!(rlt_topology_in_network(q->topology, node) & RLT_CAN_REDUCE) || (q->barred && q->barred[node]))
        return false;
    return q->place == RLT_ADD_ALL || (q->place == RLT_ADD_TOR) == m->tor[node];
}

/* Returns the edge from node v towards the root; RLT_NONE if there is none. */
uint32_t rlt__choose_edge(const rlt_mapper *m, uint32_t v)
{
    uint32_t best = RLT_NONE;
    uint64_t best_key = UINT64_MAX;
    for (uint32_t k = m->in_first[v]; k < m->in_first[v + 1]; k++) {
        uint32_t e = m->in[k];
        if (m->distance[m->src[e]] == RLT_NONE || m->distance[m->src[e]] + 1 != m->distance[v])
            continue;
        uint64_t key = m->req->spread ? rlt_mix64(m->req->spread ^ rlt_mix64(m->link[e])) : m->link[e];
        if (best == RLT_NONE || key < best_key) {
            best = e;
            best_key = key;
        }
    }
    return best;
}

/* Lists the nodes on the paths from the root to all members, each after its parent: m->order[0 .. n_order).
 * Returns false if a member is unreachable. */
static bool grow_tree(rlt_mapper *m, uint32_t root)
{
    const rlt_reduction_request *q = m->req;
    for (uint32_t i = 0; i < m->n_order; i++)
        m->parent[m->order[i]] = RLT_NONE, m->in_tree[m->order[i]] = 0;
    m->n_order = 0;
    m->root = root;
    m->depth = 0;
    for (uint32_t i = 0; i < q->n; i++) {
        uint32_t begin = m->n_order;
        if (m->distance[q->nodes[i]] == RLT_NONE)
            return false;
        if (m->distance[q->nodes[i]] > m->depth)
            m->depth = m->distance[q->nodes[i]];
        for (uint32_t v = q->nodes[i]; !m->in_tree[v];) {
            m->order[m->n_order++] = v;
            m->in_tree[v] = 1;
            if (v == root)
                break;
            m->parent[v] = rlt__choose_edge(m, v);
            v = m->src[m->parent[v]];
        }
        for (uint32_t a = begin, b = m->n_order; a + 1 < b; a++) { /* the path came from below: reverse */
            uint32_t v = m->order[a];
            m->order[a] = m->order[--b];
            m->order[b] = v;
        }
    }
    for (uint32_t i = 0; i < q->n_servers; i++)
        if (m->distance[q->servers[i]] == RLT_NONE)
            return false;
    return true;
}

/* Counts contributions and copies of each node, from the members up. Returns false if an adder has too
 * many. */
static bool weigh(rlt_mapper *m)
{
    const rlt_reduction_request *q = m->req;
    for (uint32_t i = 0; i < m->n_order; i++)
        m->node[m->order[i]] = (rlt_tree_node){0};
    for (uint32_t i = 0; i < q->n; i++)
        m->node[q->nodes[i]].member = true;
    for (uint32_t i = m->n_order; i-- > 0;) {
        uint32_t v = m->order[i];
        rlt_tree_node *x = &m->node[v];
        x->need += x->member;
        x->copies += x->member;
        x->branches += x->member;
        x->adds = v == m->root || (x->branches > 1 && can_add(m, v));
        x->replicates =
            !x->adds && x->branches > 1 && (rlt_topology_in_network(q->topology, v) & RLT_CAN_MULTICAST);
        if (x->adds && q->width && x->need > q->width)
            return false;
        x->up_load = x->adds ? 1 : x->need;
        x->down_load = x->adds || x->replicates ? 1 : x->copies;
        if (v == m->root)
            continue;
        rlt_tree_node *p = &m->node[m->src[m->parent[v]]];
        p->need += x->up_load;
        p->copies += x->down_load;
        p->branches++;
    }
    return true;
}

static double busy(const rlt_mapper *m, uint32_t link, uint32_t packets)
{
    if (m->req->load)
        packets += m->req->load[link];
    return packets / (double)rlt_topology_link(m->req->topology, link).bw_Bps;
}

static void measure(const rlt_mapper *m, rlt_tree_cost *c)
{
    *c = (rlt_tree_cost){.depth = m->depth, .edges = m->n_order - 1, .root = m->root};
    for (uint32_t i = 0; i < m->n_order; i++) {
        uint32_t v = m->order[i];
        if (v == m->root)
            continue;
        double up = busy(m, m->back[m->parent[v]], m->node[v].up_load);
        double down = busy(m, m->link[m->parent[v]], m->node[v].down_load);
        double both = up > down ? up : down;
        if (both > c->busiest)
            c->busiest = both;
    }
}

static bool is_better(const rlt_tree_cost *a, const rlt_tree_cost *b)
{
    if (a->busiest < b->busiest || b->busiest < a->busiest)
        return a->busiest < b->busiest;
    if (a->depth != b->depth)
        return a->depth < b->depth;
    return a->edges != b->edges ? a->edges < b->edges : a->root < b->root;
}

static int find_distances(rlt_mapper *m, const uint32_t *roots, uint32_t n, uint32_t *distances,
                          rlt_error *err)
{
    rlt_edges g = {m->nodes, m->n_edges, m->src, m->dst};
    if (!m->req->topology->distances) /* distances of a network with removed links are not cached */
        return rlt_graph_distances(&g, roots, n, m->all, m->nodes, distances, err);
    return rlt_distances_find(m->req->topology->distances, &g, m->all, roots, n, distances, err);
}

/* Lists the candidates: the given root, or all nodes that can add. */
static uint32_t list_roots(rlt_mapper *m, uint32_t *roots)
{
    uint32_t n = 0;
    for (uint32_t v = 0; v < m->nodes; v++)
        if ((m->req->root == RLT_NONE || m->req->root == v) && can_add(m, v))
            roots[n++] = v;
    return n;
}

static int refuse(const rlt_mapper *m, uint32_t candidates, bool too_wide, rlt_error *err)
{
    const rlt_reduction_request *q = m->req;
    const char *name = rlt_topology_name(q->topology), *where = "aggregation tree";
    if (candidates == 0)
        return rlt_fail(err, RLT_ETOPOLOGY, where, "no switch of '%s'%s can add up: see in_network", name,
                        q->place == RLT_ADD_TOR     ? " next to an accelerator"
                        : q->place == RLT_ADD_SPINE ? " away from the accelerators"
                                                    : "");
    if (too_wide)
        return rlt_fail(err, RLT_ETOPOLOGY, where,
                        "every tree in '%s' has a switch with more than %u contributions to add", name,
                        q->width);
    return rlt_fail(err, RLT_ETOPOLOGY, where,
                    "no switch of '%s' that can add up reaches all %u members by links of its own: combine "
                    "it with another algorithm by dimension",
                    name, q->n);
}

/* Chooses the best root; m then holds its tree. */
static int choose_root(rlt_mapper *m, rlt_tree_cost *best, rlt_error *err)
{
    uint32_t *roots = malloc(m->nodes * sizeof *roots), *distances = NULL;
    uint32_t n = 0, batch;
    bool found = false, too_wide = false;
    int rc = roots ? 0 : rlt_nomem(err);
    if (rc)
        goto out;
    n = list_roots(m, roots);
    if ((double)n * ((double)m->nodes + m->n_edges) > MAX_STEPS) {
        rc = rlt_fail(err, RLT_ERANGE, "aggregation tree", "%u switches of %u nodes are too many to try", n,
                      m->nodes);
        goto out;
    }
    batch = MAX_BATCH / m->nodes > n ? n : (uint32_t)(MAX_BATCH / m->nodes);
    batch = batch ? batch : 1;
    distances = malloc((size_t)batch * m->nodes * sizeof *distances);
    rc = distances ? 0 : rlt_nomem(err);
    for (uint32_t i = 0; i < n && !rc; i += batch) {
        uint32_t some = n - i < batch ? n - i : batch;
        rc = find_distances(m, roots + i, some, distances, err);
        for (uint32_t k = 0; k < some && !rc; k++) {
            rlt_tree_cost c;
            m->distance = distances + (size_t)k * m->nodes;
            if (!grow_tree(m, roots[i + k]))
                continue;
            if (!weigh(m)) {
                too_wide = true;
                continue;
            }
            measure(m, &c);
            if (!found || is_better(&c, best)) {
                *best = c;
                memcpy(m->best_distance, m->distance, m->nodes * sizeof *m->distance);
            }
            found = true;
        }
    }
    if (!rc && !found)
        rc = refuse(m, n, too_wide, err);
    m->distance = m->best_distance;
    if (!rc && (!grow_tree(m, best->root) || !weigh(m)))
        rc = rlt_fail(err, RLT_ETOPOLOGY, "aggregation tree", "no tree could be built");
out:
    free(roots);
    free(distances);
    return rc;
}

static void mapper_free(rlt_mapper *m)
{
    free(m->src);
    free(m->dst);
    free(m->link);
    free(m->back);
    free(m->in);
    free(m->in_first);
    free(m->parent);
    free(m->order);
    free(m->best_distance);
    free(m->all);
    free(m->tor);
    free(m->in_tree);
    free(m->node);
}

static int mapper_init(rlt_mapper *m, const rlt_reduction_request *req, rlt_error *err)
{
    size_t nodes = rlt_topology_nodes(req->topology), links = (size_t)rlt_topology_links(req->topology) + 1;
    *m = (rlt_mapper){.req = req, .nodes = (uint32_t)nodes};
    m->src = malloc(links * sizeof *m->src);
    m->dst = malloc(links * sizeof *m->dst);
    m->link = malloc(links * sizeof *m->link);
    m->back = malloc(links * sizeof *m->back);
    m->in = malloc(links * sizeof *m->in);
    m->in_first = calloc(nodes + 1, sizeof *m->in_first);
    m->parent = malloc(nodes * sizeof *m->parent);
    m->order = malloc((nodes + req->n) * sizeof *m->order);
    m->best_distance = malloc(nodes * sizeof *m->best_distance);
    m->all = malloc(nodes * sizeof *m->all);
    m->tor = calloc(nodes, 1);
    m->in_tree = calloc(nodes, 1);
    m->node = calloc(nodes, sizeof *m->node);
    if (!m->src || !m->dst || !m->link || !m->back || !m->in || !m->in_first || !m->parent || !m->order ||
        !m->best_distance || !m->all || !m->tor || !m->in_tree || !m->node)
        return rlt_nomem(err);
    for (uint32_t v = 0; v < nodes; v++) {
        m->all[v] = v;
        m->parent[v] = RLT_NONE;
    }
    return list_edges(m, err);
}

static int check(const rlt_reduction_request *req, rlt_error *err)
{
    if (req->n == 0 || req->n > rlt_topology_accelerators(req->topology))
        return rlt_fail(err, RLT_ERANGE, "aggregation tree", "expected 1 to %u members, got %u",
                        rlt_topology_accelerators(req->topology), req->n);
    if (rlt_topology_links(req->topology) > MAX_LINKS)
        return rlt_fail(err, RLT_ERANGE, "aggregation tree", "a network of more than %d links", MAX_LINKS);
    return 0;
}

int rlt_reduction_create(const rlt_reduction_request *req, rlt_reduction **out, rlt_error *err)
{
    rlt_mapper m;
    rlt_tree_cost best = {0};
    *out = NULL;
    int rc = check(req, err);
    if (rc)
        return rc;
    rc = mapper_init(&m, req, err);
    if (!rc) {
        mark_tors(&m);
        rc = choose_root(&m, &best, err);
    }
    if (!rc)
        rc = rlt__reduction_lay_out(&m, &best, out, err);
    mapper_free(&m);
    return rc;
}

int rlt_reduction_prime(const rlt_topology *t, rlt_error *err)
{
    uint32_t member = 0;
    rlt_reduction_request q = {.topology = t, .n = 1, .nodes = &member, .root = RLT_NONE};
    rlt_reduction *tree = NULL;
    if (!(rlt_topology_in_networks(t) & RLT_CAN_REDUCE))
        return 0;
    int rc = rlt_reduction_create(&q, &tree, NULL);
    rlt_reduction_free(tree);
    return rc == RLT_ENOMEM ? rlt_nomem(err) : 0;
}
