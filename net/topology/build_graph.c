/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Builds graph topologies: accelerators first, links in rows, static routes as links. Checks that every
 * accelerator reaches every other.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "net/shapes/factor.h"
#include "net/shapes/shapes.h"
#include "net/topology/build.h"
#include "net/topology/frozen.h"
#include "net/topology/graph.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"

enum { MAX_NODES = 1 << 24, MAX_ROUTE_LINKS = 1 << 26 };

static const char *name_of(const rlt_topology *t, uint32_t node)
{
    return rlt_interned(&t->graph.names, node);
}

static int check_name(const rlt_graph_node *node, rlt_error *err)
{
    const char *name = node->name;
    if (!name || !*name)
        return rlt_fail(err, RLT_ESCHEMA, node->where, "a node without a name");
    if (strlen(name) > RLT_MAX_NODE_NAME)
        return rlt_fail(err, RLT_ESCHEMA, node->where, "the name of node '%.80s...' is longer than %d bytes",
                        name, RLT_MAX_NODE_NAME);
    for (size_t n; *name; name += n)
        if (!rlt__is_plain(name, &n))
            return rlt_fail(err, RLT_ESCHEMA, node->where, "%s in the name of node '%.80s'",
                            n == 1 && (unsigned char)*name < 0x80 ? "a control character"
                                                                  : "a character that is not UTF-8 text",
                            node->name);
    return 0;
}

/* Fills id[i] = final id of the specification's node i: accelerators first, each kind in order of
 * appearance. */
static int number_nodes(const rlt_topology_spec *spec, rlt_topology *t, uint32_t *id, rlt_error *err)
{
    uint32_t next = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < spec->n_nodes; i++) {
            const rlt_graph_node *node = &spec->nodes[i];
            if ((node->kind == RLT_ACCELERATOR) != (pass == 0))
                continue;
            int rc = check_name(node, err);
            if (rc)
                return rc;
            uint32_t k = rlt_intern(&t->graph.names, node->name, strlen(node->name));
            if (k == RLT_NONE)
                return rlt_nomem(err);
            if (k != next)
                return rlt_fail(err, RLT_ESCHEMA, node->where, "two nodes are named '%.80s'", node->name);
            id[i] = next;
            t->graph.kind[next] = (uint8_t)node->kind;
            t->graph.in_network[next] = node->in_network;
            t->graph.forwards[next] =
                node->forwards < 0 ? node->kind != RLT_ACCELERATOR : node->forwards != 0;
            next++;
        }
        if (pass == 0)
            t->accelerators = next;
    }
    t->nodes = next;
    if (!t->accelerators)
        return rlt_fail(err, RLT_ETOPOLOGY, spec->where, "no accelerator among %" PRIu32 " nodes", t->nodes);
    return 0;
}

static int copy_links(const rlt_topology_spec *spec, rlt_topology *t, const uint32_t *id, rlt_error *err)
{
    for (uint32_t i = 0; i < spec->n_links; i++) {
        const rlt_graph_link *l = &spec->links[i];
        if (l->src >= spec->n_nodes || l->dst >= spec->n_nodes)
            return rlt_fail(err, RLT_ESCHEMA, l->where, "link %" PRIu32 " leads to a node that is not there",
                            i);
        if (l->src == l->dst)
            return rlt_fail(err, RLT_ESCHEMA, l->where, "a link from '%.80s' to itself",
                            name_of(t, id[l->src]));
        if (!l->bw_Bps || l->bw_Bps > RLT_MAX_LINK_Bps)
            return rlt_fail(err, RLT_ERANGE, l->where,
                            "bandwidth from '%.80s' to '%.80s' must be above zero and at most 1 PB/s",
                            name_of(t, id[l->src]), name_of(t, id[l->dst]));
        if (l->latency_ps < 0 || l->latency_ps >= RLT_TIME_MAX)
            return rlt_fail(err, RLT_ERANGE, l->where, "latency out of range");
        t->graph.links[i] = (rlt_link){
            .src = id[l->src], .dst = id[l->dst], .bw_Bps = l->bw_Bps, .latency_ps = l->latency_ps};
    }
    t->links = spec->n_links;
    return 0;
}

/* Counting sort of link ids by one end; `first` has nodes + 1 zeroed entries. */
static void make_rows(const rlt_topology *t, bool by_source, uint32_t *first, uint32_t *ids)
{
    const rlt_link *links = t->graph.links;
    for (uint32_t i = 0; i < t->links; i++)
        first[(by_source ? links[i].src : links[i].dst) + 1]++;
    for (uint32_t v = 0; v < t->nodes; v++)
        first[v + 1] += first[v];
    for (uint32_t i = t->links; i-- > 0;)
        ids[--first[(by_source ? links[i].src : links[i].dst) + 1]] = i;
    /* Entry v + 1 now holds the start of row v; shift back. */
    for (uint32_t v = 0; v < t->nodes; v++)
        first[v] = first[v + 1];
    first[t->nodes] = t->links;
}

void rlt__graph_rows(rlt_topology *t)
{
    make_rows(t, true, t->graph.out_first, t->graph.out);
    make_rows(t, false, t->graph.in_first, t->graph.in);
}

static uint32_t link_between(const rlt_topology *t, uint32_t src, uint32_t dst)
{
    const rlt_frozen_graph *g = &t->graph;
    for (uint32_t i = g->out_first[src]; i < g->out_first[src + 1]; i++)
        if (g->links[g->out[i]].dst == dst)
            return g->out[i];
    return RLT_NONE;
}

static int copy_route(const rlt_topology_spec *spec, const rlt_static_route *r, rlt_topology *t,
                      const uint32_t *id, uint32_t *used, rlt_error *err)
{
    if (r->src >= spec->n_nodes || r->dst >= spec->n_nodes || r->src == r->dst)
        return rlt_fail(err, RLT_ESCHEMA, r->where, "a route needs two different nodes");
    uint64_t key = (uint64_t)id[r->src] << 32 | id[r->dst];
    if (rlt_map_get(&t->graph.route_of, key) != RLT_NONE)
        return rlt_fail(err, RLT_ESCHEMA, r->where, "two routes from '%.80s' to '%.80s'",
                        name_of(t, id[r->src]), name_of(t, id[r->dst]));
    uint32_t at = id[r->src];
    for (uint32_t k = 0; k <= r->n; k++) {
        uint32_t node = k < r->n ? r->via[k] : r->dst;
        if (node >= spec->n_nodes)
            return rlt_fail(err, RLT_ESCHEMA, r->where, "a route over a node that is not there");
        uint32_t link = link_between(t, at, id[node]);
        if (link == RLT_NONE)
            return rlt_fail(err, RLT_ETOPOLOGY, r->where, "no link from '%.80s' to '%.80s' on this route",
                            name_of(t, at), name_of(t, id[node]));
        t->graph.route_links[(*used)++] = link;
        at = id[node];
    }
    if (rlt_map_put(&t->graph.route_of, key, t->graph.n_routes) != 0)
        return rlt_nomem(err);
    t->graph.route_first[++t->graph.n_routes] = *used;
    return 0;
}

static int copy_routes(const rlt_topology_spec *spec, rlt_topology *t, const uint32_t *id, rlt_error *err)
{
    uint64_t total = 0;
    uint32_t used = 0;
    if (!spec->n_routes)
        return 0;
    for (uint32_t i = 0; i < spec->n_routes; i++)
        total += (uint64_t)spec->routes[i].n + 1;
    if (total > MAX_ROUTE_LINKS)
        return rlt_fail(err, RLT_ERANGE, spec->where, "static routes of %" PRIu64 " links; at most %d", total,
                        MAX_ROUTE_LINKS);
    t->graph.route_links = calloc((size_t)total, sizeof *t->graph.route_links);
    t->graph.route_first = calloc((size_t)spec->n_routes + 1, sizeof *t->graph.route_first);
    if (!t->graph.route_links || !t->graph.route_first)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < spec->n_routes; i++) {
        int rc = copy_route(spec, &spec->routes[i], t, id, &used, err);
        if (rc)
            return rc;
    }
    return 0;
}

/* Sets the nodes, whose accelerators are consecutive: those of the specification, or the first dimension. */
static int set_node(const rlt_topology_spec *spec, rlt_topology *t, rlt_error *err)
{
    rlt_frozen_graph *g = &t->graph;
    t->node_size = spec->node_size ? spec->node_size : g->n_logical > 1 ? g->logical[0] : t->accelerators;
    if (t->node_size > t->accelerators || t->accelerators % t->node_size)
        return rlt_fail(err, RLT_ESCHEMA, spec->where,
                        "node_size %" PRIu32 " does not divide the %" PRIu32 " accelerators", t->node_size,
                        t->accelerators);
    uint32_t inside = 1;
    for (uint32_t i = 0; i < spec->n_logical && inside < t->node_size; i++)
        inside *= g->logical[i];
    if (spec->n_logical && inside != t->node_size)
        return rlt_fail(err, RLT_ESCHEMA, spec->where,
                        "node_size %" PRIu32 " is no product of the first of the dims", t->node_size);
    if (spec->pxn && t->node_size == t->accelerators)
        return rlt_fail(err, RLT_ESCHEMA, spec->where,
                        "pxn is about messages between nodes: state node_size, or dims of several sizes");
    g->pxn = spec->pxn;
    if (!spec->n_logical && t->node_size < t->accelerators) {
        g->n_logical = 2;
        g->logical[0] = t->node_size;
        g->logical[1] = t->accelerators / t->node_size;
    }
    return 0;
}

static int copy_logical(const rlt_topology_spec *spec, rlt_topology *t, rlt_error *err)
{
    rlt_frozen_graph *g = &t->graph;
    if (!spec->n_logical) {
        g->n_logical = 1;
        g->logical[0] = t->accelerators;
        return 0;
    }
    if (spec->n_logical > RLT_MAX_DIMS)
        return rlt_fail(err, RLT_ERANGE, spec->where, "%" PRIu32 " dimensions; at most %d", spec->n_logical,
                        RLT_MAX_DIMS);
    uint64_t product = 1;
    for (uint32_t i = 0; i < spec->n_logical && product && product <= t->accelerators; i++) {
        g->logical[i] = spec->logical[i];
        product *= spec->logical[i];
    }
    g->n_logical = spec->n_logical;
    if (product != t->accelerators)
        return rlt_fail(err, RLT_ESCHEMA, spec->where,
                        "the sizes of the dimensions do not multiply to the number of accelerators, %" PRIu32,
                        t->accelerators);
    return 0;
}

/* Finds the accelerators to which `a` has a direct link along a dimension. Returns how many; *near: all are
 * the next one or the one before. seen[b] is a + 1 for those found before. */
static uint32_t along(const rlt_topology *t, uint32_t a, uint32_t stride, uint32_t size, uint32_t *seen,
                      bool *near)
{
    const rlt_frozen_graph *g = &t->graph;
    uint32_t n = 0, x = a / stride % size;
    for (uint32_t i = g->out_first[a]; i < g->out_first[a + 1]; i++) {
        uint32_t b = g->links[g->out[i]].dst, y = b / stride % size;
        bool same = b < t->accelerators && a % stride == b % stride &&
                    a / stride / size == b / stride / size && x != y;
        if (!same || seen[b] == a + 1)
            continue;
        seen[b] = a + 1;
        *near = *near && ((x + 1) % size == y || (y + 1) % size == x);
        n++;
    }
    return n;
}

/* Names the shape of a logical dimension: "fully-connected" or "ring" if direct links make it so, else
 * "graph". Patterns inside a dimension depend on it. */
static int see_shapes(rlt_topology *t, rlt_error *err)
{
    rlt_frozen_graph *g = &t->graph;
    uint32_t stride = 1;
    for (uint32_t d = 0; d < g->n_logical; stride *= g->logical[d++]) {
        uint32_t size = g->logical[d], *seen = calloc(t->accelerators, sizeof *seen);
        bool complete = size > 1, ring = size > 3;
        if (!seen)
            return rlt_nomem(err);
        for (uint32_t a = 0; a < t->accelerators && (complete || ring); a++) {
            uint32_t n = along(t, a, stride, size, seen, &ring);
            complete = complete && n == size - 1;
            ring = ring && n == 2;
        }
        g->shape[d] = complete ? "fully-connected" : ring ? "ring" : "graph";
        free(seen);
    }
    return 0;
}

/* Marks every node that src reaches (forward), or that reaches src, over nodes that forward. Returns how
 * many. */
static uint32_t reach(const rlt_topology *t, uint32_t src, bool forward, uint8_t *mark, uint32_t *queue)
{
    const rlt_frozen_graph *g = &t->graph;
    const uint32_t *first = forward ? g->out_first : g->in_first, *ids = forward ? g->out : g->in;
    uint32_t head = 0, tail = 0, found = 0;
    memset(mark, 0, t->nodes);
    mark[src] = 1;
    queue[tail++] = src;
    while (head < tail) {
        uint32_t v = queue[head++];
        found += v < t->accelerators;
        if (v != src && !g->forwards[v])
            continue;
        for (uint32_t i = first[v]; i < first[v + 1]; i++) {
            uint32_t w = forward ? g->links[ids[i]].dst : g->links[ids[i]].src;
            if (!mark[w]) {
                mark[w] = 1;
                queue[tail++] = w;
            }
        }
    }
    return found;
}

static int refuse(const rlt_topology_spec *spec, const rlt_topology *t, uint32_t src, bool forward,
                  const uint8_t *mark, rlt_error *err)
{
    uint32_t v = 0;
    while (mark[v])
        v++;
    return rlt_fail(err, RLT_ETOPOLOGY, spec->where, "accelerator '%.80s' %s '%.80s'", name_of(t, v),
                    forward ? "cannot be reached from" : "cannot reach", name_of(t, src));
}

/*
 * *yes is true if every accelerator is in one strongly connected component of the forwarding nodes, or has a
 * link to it and from it. Then all reach all. The usual case, and cheap to check.
 */
static int one_fabric(const rlt_topology *t, bool *yes, rlt_error *err)
{
    const rlt_frozen_graph *g = &t->graph;
    int rc = 0;
    *yes = false;
    uint32_t n = 0, components = 0, anchor = RLT_NONE;
    uint32_t *src = calloc((size_t)t->links + 1, sizeof *src),
             *dst = calloc((size_t)t->links + 1, sizeof *dst);
    uint32_t *component = calloc(t->nodes, sizeof *component);
    if (!src || !dst || !component) {
        rc = rlt_nomem(err);
        goto done;
    }
    for (uint32_t i = 0; i < t->links; i++)
        if (g->forwards[g->links[i].src] && g->forwards[g->links[i].dst]) {
            src[n] = g->links[i].src;
            dst[n++] = g->links[i].dst;
        }
    rlt_edges edges = {.n_nodes = t->nodes, .n_edges = n, .src = src, .dst = dst};
    if ((rc = rlt_graph_components(&edges, component, &components, err)) != 0)
        goto done;
    /* The first forwarding node that accelerator 0 sends to determines the common component. */
    if (g->forwards[0])
        anchor = component[0];
    for (uint32_t i = g->out_first[0]; anchor == RLT_NONE && i < g->out_first[1]; i++)
        if (g->forwards[g->links[g->out[i]].dst])
            anchor = component[g->links[g->out[i]].dst];
    *yes = anchor != RLT_NONE;
    for (uint32_t a = 0; *yes && a < t->accelerators; a++) {
        bool out = g->forwards[a] && component[a] == anchor, in = out;
        for (uint32_t i = g->out_first[a]; !out && i < g->out_first[a + 1]; i++)
            out = g->forwards[g->links[g->out[i]].dst] && component[g->links[g->out[i]].dst] == anchor;
        for (uint32_t i = g->in_first[a]; !in && i < g->in_first[a + 1]; i++)
            in = g->forwards[g->links[g->in[i]].src] && component[g->links[g->in[i]].src] == anchor;
        *yes = out && in;
    }
done:
    free(component);
    free(dst);
    free(src);
    return rc;
}

/* Checks that all accelerators reach each other. Reachability is not transitive if accelerators do not relay,
 * so an unusual graph is searched from each of them; above MAX_WORK only from a sample, and the router
 * reports a missing path. */
static int check_connected(const rlt_topology_spec *spec, const rlt_topology *t, rlt_error *err)
{
    const uint64_t max_work = 2000000000u;
    bool yes = false;
    int rc = t->accelerators == 1 ? 0 : one_fabric(t, &yes, err);
    if (rc || yes || t->accelerators == 1)
        return rc;
    uint8_t *mark = malloc(t->nodes);
    uint32_t *queue = calloc(t->nodes, sizeof *queue);
    uint64_t work = (uint64_t)t->nodes + t->links;
    uint64_t searches = max_work / work < t->accelerators ? max_work / work + 1 : t->accelerators;
    if (!mark || !queue)
        rc = rlt_nomem(err);
    else if (reach(t, 0, false, mark, queue) < t->accelerators)
        rc = refuse(spec, t, 0, false, mark, err);
    for (uint32_t a = 0; !rc && a < searches; a++)
        if (reach(t, a, true, mark, queue) < t->accelerators)
            rc = refuse(spec, t, a, true, mark, err);
    free(queue);
    free(mark);
    return rc;
}

static void hash_graph(rlt_topology *t)
{
    const rlt_frozen_graph *g = &t->graph;
    t->hash = rlt_hash_bytes(g->kind, t->nodes, t->hash);
    t->hash = rlt_hash_bytes(g->forwards, t->nodes, t->hash);
    for (uint32_t i = 0; i < t->links; i++) {
        uint64_t word[3] = {(uint64_t)g->links[i].src << 32 | g->links[i].dst, g->links[i].bw_Bps,
                            (uint64_t)g->links[i].latency_ps};
        t->hash = rlt_hash_bytes(word, sizeof word, t->hash);
    }
    if (g->n_routes)
        t->hash =
            rlt_hash_bytes(g->route_links, g->route_first[g->n_routes] * sizeof *g->route_links, t->hash);
    t->hash = rlt_hash_bytes(g->logical, sizeof g->logical, t->hash);
    if (g->pxn) {
        uint64_t nodes = (uint64_t)g->pxn << 32 | t->node_size;
        t->hash = rlt_hash_bytes(&nodes, sizeof nodes, t->hash);
    }
}

int rlt_build_graph(const rlt_topology_spec *spec, rlt_topology *t, rlt_error *err)
{
    rlt_frozen_graph *g = &t->graph;
    int rc;
    if (spec->n_nodes > MAX_NODES || spec->n_links > RLT_MAX_LINKS)
        return rlt_fail(err, RLT_ERANGE, spec->where,
                        "%" PRIu32 " nodes and %" PRIu32 " links; at most %d and %d", spec->n_nodes,
                        spec->n_links, MAX_NODES, RLT_MAX_LINKS);
    size_t nodes = spec->n_nodes, links = (size_t)spec->n_links + 1;
    uint32_t *id = calloc(nodes, sizeof *id);
    g->kind = calloc(nodes, 1);
    g->forwards = calloc(nodes, 1);
    g->in_network = calloc(nodes, 1);
    g->links = calloc(links, sizeof *g->links);
    g->out_first = calloc(nodes + 1, sizeof *g->out_first);
    g->in_first = calloc(nodes + 1, sizeof *g->in_first);
    g->out = calloc(links, sizeof *g->out);
    g->in = calloc(links, sizeof *g->in);
    if (!id || !g->kind || !g->forwards || !g->in_network || !g->links || !g->out_first || !g->in_first ||
        !g->out || !g->in)
        rc = rlt_nomem(err);
    else if ((rc = number_nodes(spec, t, id, err)) == 0 && (rc = copy_links(spec, t, id, err)) == 0) {
        rlt__graph_rows(t);
        if ((rc = copy_routes(spec, t, id, err)) == 0 && (rc = copy_logical(spec, t, err)) == 0 &&
            (rc = set_node(spec, t, err)) == 0 && (rc = see_shapes(t, err)) == 0)
            rc = check_connected(spec, t, err);
        hash_graph(t);
    }
    free(id);
    return rc;
}
