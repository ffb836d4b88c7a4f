/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Nodes, links and routes of a topology in JSON. Errors that belong to a line of the file are found here,
 * where the place is known; checks of the whole graph are left to rlt_topology_build. Finding a place costs a
 * walk over the text, so only values with errors get one.
 */
#include <inttypes.h>
#include <string.h>

#include "net/import/read.h"
#include "net/import/topo_json.h"
#include "net/shapes/factor.h"
#include "net/shapes/shapes.h"
#include "net/topology/build.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/text/json.h"

/* Returns the index of the node that a member ("src") of v names. */
static int find_node(const rlt__json_graph *graph, rlt_json v, uint32_t *node, rlt_error *err)
{
    const char *id = rlt_json_string(v);
    if (!id)
        return rlt_json_fail(v, RLT_ESCHEMA, err, "expected the id of a node");
    *node = rlt_intern_find(&graph->ids, id, strlen(id));
    return *node != RLT_NONE ? 0 : rlt_json_fail(v, RLT_ESCHEMA, err, "no node has the id '%.64s'", id);
}

static int find_end(const rlt__json_graph *graph, rlt_json v, const char *key, uint32_t *node, rlt_error *err)
{
    rlt_json end = rlt_json_get(v, key);
    return rlt_json_is(end) ? find_node(graph, end, node, err)
                            : rlt_json_fail(v, RLT_ESCHEMA, err, "missing '%s'", key);
}

/* ---- nodes ---- */

static int count_nodes(rlt_json list, uint64_t *n, rlt_error *err)
{
    *n = 0;
    if (!rlt_json_is_array(list) || rlt_json_count(list) == 0)
        return rlt_json_fail(list, RLT_ESCHEMA, err, "expected a list of nodes");
    for (rlt_json v = rlt_json_first(list); rlt_json_is(v); v = rlt_json_next(v)) {
        uint64_t count = 1;
        int rc = rlt_json_get_u64(v, "count", false, RLT_MAX_FILE_NODES, &count, err);
        if (rc < 0)
            return rc;
        *n += count;
        if (*n > RLT_MAX_FILE_NODES)
            return rlt_json_fail(v, RLT_ERANGE, err, "more than %d nodes", RLT_MAX_FILE_NODES);
    }
    return 0;
}

static int add_id(rlt_json v, rlt__json_graph *graph, const char *id, uint32_t index, rlt_error *err)
{
    uint32_t i = rlt_intern(&graph->ids, id, strlen(id));
    if (i == RLT_NONE)
        return rlt_nomem(err);
    if (i != index)
        return rlt_json_fail(rlt_json_get(v, "id"), RLT_ESCHEMA, err, "the id '%.64s' is given to two nodes",
                             id);
    return 0;
}

/* Reads one entry: a node, or with "count" that many, numbered from 0. */
static int read_node(rlt_json v, rlt_arena *arena, rlt__json_graph *graph, rlt_graph_node *nodes,
                     uint32_t *at, rlt_error *err)
{
    static const char *const keys[] = {"id", "kind", "forwards", "count", "in_network", NULL};
    const char *id = NULL, *word = NULL, *can = "none";
    rlt_error why = {0};
    uint8_t in_network;
    rlt_node_kind kind;
    uint64_t count = 1;
    bool forwards = false;
    int rc;
    if ((rc = rlt_json_only(v, keys, err)) < 0 || (rc = rlt_json_get_string(v, "id", true, &id, err)) < 0 ||
        (rc = rlt_json_get_string(v, "kind", true, &word, err)) < 0 ||
        (rc = rlt_json_get_bool(v, "forwards", false, &forwards, err)) < 0 ||
        (rc = rlt_json_get_string(v, "in_network", false, &can, err)) < 0 ||
        (rc = rlt_json_get_u64(v, "count", false, RLT_MAX_FILE_NODES, &count, err)) < 0)
        return rc;
    if (id[0] == 0 || strlen(id) > RLT_MAX_NODE_NAME)
        return rlt_json_fail(rlt_json_get(v, "id"), RLT_ESCHEMA, err, "expected an id of 1 to %d bytes",
                             RLT_MAX_NODE_NAME);
    if (!rlt__topo_kind(word, &kind))
        return rlt_json_fail(rlt_json_get(v, "kind"), RLT_ESCHEMA, err,
                             "unknown kind '%.40s', expected one of: %s", word, RLT__KINDS);
    if (rlt_param_read(&rlt_in_network_parameter, &in_network, can, NULL, &why))
        return rlt_json_fail(rlt_json_get(v, "in_network"), RLT_ESCHEMA, err, "%s", why.what);
    bool numbered = rlt_json_is(rlt_json_get(v, "count"));
    int8_t relays = rlt_json_is(rlt_json_get(v, "forwards")) ? (int8_t)forwards : -1;
    for (uint64_t i = 0; i < count; i++, (*at)++) {
        const char *own = numbered ? rlt_arena_printf(arena, "%s%" PRIu64, id, i) : id;
        if (!own)
            return rlt_nomem(err);
        if ((rc = add_id(v, graph, own, *at, err)) < 0)
            return rc;
        nodes[*at] =
            (rlt_graph_node){.name = own, .kind = kind, .forwards = relays, .in_network = in_network};
        graph->accelerator[*at] = kind == RLT_ACCELERATOR ? graph->n_accelerators++ : RLT_NONE;
    }
    return 0;
}

static int read_nodes(rlt_json list, rlt_arena *arena, rlt__json_graph *graph, rlt_topology_spec *spec,
                      rlt_error *err)
{
    uint64_t n;
    uint32_t at = 0;
    int rc = count_nodes(list, &n, err);
    if (rc < 0)
        return rc;
    rlt_graph_node *nodes = rlt_arena_array(arena, (size_t)n + 1, sizeof *nodes);
    graph->accelerator = rlt_arena_array(arena, (size_t)n + 1, sizeof *graph->accelerator);
    if (!nodes || !graph->accelerator)
        return rlt_nomem(err);
    for (rlt_json v = rlt_json_first(list); rc == 0 && rlt_json_is(v); v = rlt_json_next(v))
        rc = read_node(v, arena, graph, nodes, &at, err);
    spec->n_nodes = at;
    spec->nodes = nodes;
    return rc;
}

/* ---- links ---- */

/* Returns the number of directed links of an entry. */
static int link_count(rlt_json v, uint64_t *n, rlt_error *err)
{
    uint64_t count = 1;
    bool duplex = true;
    int rc = rlt_json_get_u64(v, "count", false, RLT_MAX_PARALLEL, &count, err);
    if (rc < 0 || (rc = rlt_json_get_bool(v, "duplex", false, &duplex, err)) < 0)
        return rc;
    *n = count * (duplex ? 2 : 1);
    return count > 0 ? 0
                     : rlt_json_fail(rlt_json_get(v, "count"), RLT_ERANGE, err, "expected at least one link");
}

static int read_link(rlt_json v, const rlt__json_graph *graph, rlt_graph_link *links, uint32_t *at,
                     rlt_error *err)
{
    static const char *const keys[] = {"src", "dst", "bandwidth", "latency", "count", "duplex", NULL};
    rlt_graph_link forth = {0}, back;
    uint64_t n;
    bool duplex = true;
    int rc;
    if ((rc = rlt_json_only(v, keys, err)) < 0 || (rc = find_end(graph, v, "src", &forth.src, err)) < 0 ||
        (rc = find_end(graph, v, "dst", &forth.dst, err)) < 0 ||
        (rc = rlt_json_get_rate(v, "bandwidth", true, &forth.bw_Bps, err)) < 0 ||
        (rc = rlt_json_get_duration(v, "latency", true, &forth.latency_ps, err)) < 0 ||
        (rc = rlt_json_get_bool(v, "duplex", false, &duplex, err)) < 0 || (rc = link_count(v, &n, err)) < 0)
        return rc;
    if (forth.bw_Bps == 0)
        return rlt_json_fail(rlt_json_get(v, "bandwidth"), RLT_ERANGE, err, "the bandwidth is zero");
    if (forth.src == forth.dst)
        return rlt_json_fail(v, RLT_ESCHEMA, err, "a link from a node to itself");
    back = forth;
    back.src = forth.dst;
    back.dst = forth.src;
    while (n > 0) {
        links[(*at)++] = forth;
        n--;
        if (duplex) {
            links[(*at)++] = back;
            n--;
        }
    }
    return 0;
}

static int read_links(rlt_json list, rlt_arena *arena, const rlt__json_graph *graph, rlt_topology_spec *spec,
                      rlt_error *err)
{
    uint64_t n = 0, more;
    uint32_t at = 0;
    int rc = 0;
    if (!rlt_json_is_array(list))
        return rlt_json_fail(list, RLT_ESCHEMA, err, "expected a list of links");
    for (rlt_json v = rlt_json_first(list); rlt_json_is(v); v = rlt_json_next(v)) {
        if ((rc = link_count(v, &more, err)) < 0)
            return rc;
        n += more;
        if (n > RLT_MAX_FILE_LINKS)
            return rlt_json_fail(v, RLT_ERANGE, err, "more than %d links", RLT_MAX_FILE_LINKS);
    }
    rlt_graph_link *links = rlt_arena_array(arena, (size_t)n + 1, sizeof *links);
    if (!links)
        return rlt_nomem(err);
    for (rlt_json v = rlt_json_first(list); rc == 0 && rlt_json_is(v); v = rlt_json_next(v))
        rc = read_link(v, graph, links, &at, err);
    spec->n_links = at;
    spec->links = links;
    return rc;
}

/* ---- routes and logical dimensions ---- */

static int read_route(rlt_json v, rlt_arena *arena, const rlt__json_graph *graph, rlt_static_route *r,
                      uint32_t index, rlt_error *err)
{
    static const char *const keys[] = {"src", "dst", "via", NULL};
    rlt_json list = rlt_json_get(v, "via");
    uint32_t n = rlt_json_count(list), i = 0;
    int rc;
    if ((rc = rlt_json_only(v, keys, err)) < 0 || (rc = find_end(graph, v, "src", &r->src, err)) < 0 ||
        (rc = find_end(graph, v, "dst", &r->dst, err)) < 0)
        return rc;
    if (!rlt_json_is_array(list))
        return rlt_json_fail(rlt_json_is(list) ? list : v, RLT_ESCHEMA, err,
                             "expected 'via', a list of nodes on the way");
    uint32_t *via = rlt_arena_array(arena, (size_t)n + 1, sizeof *via);
    /* Files can list many routes: the first ones get their line as the place, the others their number. */
    r->where =
        index < 1024 ? rlt__json_place(arena, v) : rlt_arena_printf(arena, "routes[%" PRIu32 "]", index);
    if (!via || !r->where)
        return rlt_nomem(err);
    for (rlt_json node = rlt_json_first(list); rlt_json_is(node); node = rlt_json_next(node))
        if ((rc = find_node(graph, node, &via[i++], err)) < 0)
            return rc;
    r->n = n;
    r->via = via;
    return 0;
}

static int read_routes(rlt_json list, rlt_arena *arena, const rlt__json_graph *graph, rlt_topology_spec *spec,
                       rlt_error *err)
{
    uint32_t n = rlt_json_count(list), i = 0;
    int rc = 0;
    if (!rlt_json_is(list))
        return 0;
    if (!rlt_json_is_array(list))
        return rlt_json_fail(list, RLT_ESCHEMA, err, "expected a list of routes");
    rlt_static_route *routes = rlt_arena_array(arena, (size_t)n + 1, sizeof *routes);
    if (!routes)
        return rlt_nomem(err);
    for (rlt_json v = rlt_json_first(list); rc == 0 && rlt_json_is(v); v = rlt_json_next(v), i++)
        rc = read_route(v, arena, graph, &routes[i], i, err);
    spec->n_routes = n;
    spec->routes = routes;
    return rc;
}

static int read_logical(rlt_json list, rlt_arena *arena, const rlt__json_graph *graph,
                        rlt_topology_spec *spec, rlt_error *err)
{
    uint32_t n = rlt_json_count(list), i = 0;
    uint64_t product = 1;
    if (!rlt_json_is(list))
        return 0;
    if (!rlt_json_is_array(list) || n == 0 || n > RLT_MAX_DIMS)
        return rlt_json_fail(list, RLT_ESCHEMA, err, "expected a list of 1 to %d sizes, innermost first",
                             RLT_MAX_DIMS);
    uint32_t *sizes = rlt_arena_array(arena, n, sizeof *sizes);
    if (!sizes)
        return rlt_nomem(err);
    for (rlt_json v = rlt_json_first(list); rlt_json_is(v); v = rlt_json_next(v)) {
        uint64_t size;
        int rc = rlt_json_u64(v, RLT_MAX_FILE_NODES, &size, err);
        if (rc < 0)
            return rc;
        sizes[i++] = (uint32_t)size;
        product *= size;
        if (product == 0 || product > RLT_MAX_FILE_NODES)
            break;
    }
    if (product != graph->n_accelerators)
        return rlt_json_fail(list, RLT_ESCHEMA, err,
                             "the sizes must multiply to the %" PRIu32 " accelerators",
                             graph->n_accelerators);
    spec->n_logical = n;
    spec->logical = sizes;
    return 0;
}

static int read_machines(rlt_json root, const rlt__json_graph *graph, rlt_topology_spec *spec, rlt_error *err)
{
    const char *pxn = NULL;
    rlt_json size = rlt_json_get(root, "node_size");
    uint64_t n = 0;
    int rc;
    if ((rc = rlt_json_get_u64(root, "node_size", false, RLT_MAX_FILE_NODES, &n, err)) < 0 ||
        (rc = rlt_json_get_string(root, "pxn", false, &pxn, err)) < 0)
        return rc;
    if (rlt_json_is(size) && (n == 0 || graph->n_accelerators % n))
        return rlt_json_fail(size, RLT_ESCHEMA, err,
                             "node_size %" PRIu64 " does not divide the %" PRIu32 " accelerators", n,
                             graph->n_accelerators);
    if (pxn && !rlt__topo_pxn(pxn, &spec->pxn))
        return rlt_json_fail(rlt_json_get(root, "pxn"), RLT_ESCHEMA, err, "expected on or off, got '%.40s'",
                             pxn);
    spec->node_size = (uint32_t)n;
    return 0;
}

int rlt__json_graph_read(rlt_json root, rlt_arena *arena, rlt__json_graph *graph, rlt_topology_spec *spec,
                         rlt_error *err)
{
    rlt_json nodes = rlt_json_get(root, "nodes"), links = rlt_json_get(root, "links");
    int rc;
    if (!rlt_json_is(nodes) || !rlt_json_is(links))
        return rlt_json_fail(root, RLT_ESCHEMA, err, "missing '%s'", rlt_json_is(nodes) ? "links" : "nodes");
    if ((rc = read_nodes(nodes, arena, graph, spec, err)) < 0 ||
        (rc = read_links(links, arena, graph, spec, err)) < 0 ||
        (rc = read_routes(rlt_json_get(root, "routes"), arena, graph, spec, err)) < 0 ||
        (rc = read_machines(root, graph, spec, err)) < 0)
        return rc;
    return read_logical(rlt_json_get(root, "dims"), arena, graph, spec, err);
}
