/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Topologies in GraphML. Nodes: kind (string), optionally name (string; default: the node's id) and forwards
 * (boolean, or the strings "true" and "false" if only some nodes state it). Edges: bandwidth and latency,
 * strings with units. Graph: name, source, dims ("8" or "4x2"). An undirected edge is one link each way.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "net/endpoint/endpoint.h"
#include "net/import/read.h"
#include "net/import/topo_json.h"
#include "net/shapes/factor.h"
#include "net/shapes/shapes.h"
#include "net/topology/build.h"
#include "net/topology/graph.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/text/json.h"

typedef struct reader {
    const char *name;
    const rlt_graphml *g;
    rlt_arena arena;
    rlt_strings names;
    char where[300];
    rlt_json_doc *rest;
    rlt_error *err;
} reader;

static int fail_line(reader *r, uint32_t line, const char *what, const char *detail)
{
    snprintf(r->where, sizeof r->where, "%.200s:%" PRIu32, r->name, line);
    return rlt_fail(r->err, RLT_ESCHEMA, r->where, "%s%s%.64s%s", what, detail ? " '" : "",
                    detail ? detail : "", detail ? "'" : "");
}

/* Returns the text of element i's attribute; "" if the file does not have the attribute. */
static const char *text_of(const rlt_attribute *a, uint32_t i)
{
    return a && a->type == RLT_ATTRIBUTE_TEXT && a->texts[i] ? a->texts[i] : "";
}

static int known_only(reader *r, const rlt_attribute *list, uint32_t n, const char *const *known,
                      const char *of)
{
    for (uint32_t i = 0; i < n; i++) {
        const char *const *k = known;
        while (*k && strcmp(*k, list[i].name) != 0)
            k++;
        if (!*k)
            return rlt_fail(r->err, RLT_ESCHEMA, r->name, "unknown attribute '%.64s' of %s", list[i].name,
                            of);
    }
    return 0;
}

static int check_attributes(reader *r)
{
    static const char *const node[] = {"kind", "forwards", "in_network", "name", "id", "label", NULL};
    static const char *const edge[] = {"bandwidth", "latency", "id", "label", "dim", "utilization", NULL};
    static const char *const graph[] = {"name", "source", "dims",    "node_size", "pxn",
                                        "id",   "label",  "ringlet", NULL};
    static const char *const quantities[] = {"bandwidth", "latency"};
    const rlt_graphml *g = r->g;
    int rc;
    if ((rc = known_only(r, g->node_attributes, g->n_node_attributes, node, "nodes")) < 0 ||
        (rc = known_only(r, g->edge_attributes, g->n_edge_attributes, edge, "edges")) < 0 ||
        (rc = known_only(r, g->graph_attributes, g->n_graph_attributes, graph, "the graph")) < 0)
        return rc;
    for (size_t i = 0; i < 2; i++) {
        const rlt_attribute *a = rlt_attribute_find(g->edge_attributes, g->n_edge_attributes, quantities[i]);
        if (!a)
            return rlt_fail(r->err, RLT_ESCHEMA, r->name, "edges have no attribute '%s'", quantities[i]);
        if (a->type != RLT_ATTRIBUTE_TEXT)
            return rlt_fail(r->err, RLT_ESCHEMA, r->name,
                            "missing unit: '%s' of edges must be a string such as '%s'", quantities[i],
                            i == 0 ? "400Gbps" : "500ns");
    }
    return 0;
}

static int read_forwards(reader *r, const rlt_attribute *a, uint32_t i, int8_t *forwards)
{
    *forwards = -1;
    if (!a)
        return 0;
    if (a->type == RLT_ATTRIBUTE_BOOL) {
        *forwards = a->numbers[i] != 0;
        return 0;
    }
    if (a->type == RLT_ATTRIBUTE_NUMBER)
        return rlt_fail(r->err, RLT_ESCHEMA, r->name, "'forwards' of nodes must be a boolean");
    const char *text = text_of(a, i);
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        *forwards = text[0] == 't';
    else if (text[0])
        return fail_line(r, r->g->node_line[i], "expected forwards to be true or false, got", text);
    return 0;
}

static int fail_in_network(reader *r, uint32_t line, const char *text)
{
    char form[64], what[128];
    snprintf(what, sizeof what, "expected in_network to be %s, got",
             rlt_param_form(&rlt_in_network_parameter, form, sizeof form));
    return fail_line(r, line, what, text);
}

static int read_nodes(reader *r, rlt_topology_spec *spec)
{
    const rlt_graphml *g = r->g;
    const rlt_attribute *kind = rlt_attribute_find(g->node_attributes, g->n_node_attributes, "kind");
    const rlt_attribute *forwards = rlt_attribute_find(g->node_attributes, g->n_node_attributes, "forwards");
    const rlt_attribute *name = rlt_attribute_find(g->node_attributes, g->n_node_attributes, "name");
    const rlt_attribute *in_network =
        rlt_attribute_find(g->node_attributes, g->n_node_attributes, "in_network");
    if (g->n_nodes > RLT_MAX_FILE_NODES)
        return rlt_fail(r->err, RLT_ERANGE, r->name, "more than %d nodes", RLT_MAX_FILE_NODES);
    rlt_graph_node *nodes = rlt_arena_array(&r->arena, (size_t)g->n_nodes + 1, sizeof *nodes);
    if (!nodes)
        return rlt_nomem(r->err);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const char *word = text_of(kind, i);
        nodes[i].name = text_of(name, i)[0] ? text_of(name, i) : g->ids[i];
        if (word[0] == 0)
            return fail_line(r, g->node_line[i], "no kind is given to node", nodes[i].name);
        if (!rlt__topo_kind(word, &nodes[i].kind))
            return fail_line(r, g->node_line[i], "expected one of " RLT__KINDS ", got kind", word);
        uint32_t index = rlt_intern(&r->names, nodes[i].name, strlen(nodes[i].name));
        if (index == RLT_NONE)
            return rlt_nomem(r->err);
        if (index != i)
            return fail_line(r, g->node_line[i], "two nodes have the name", nodes[i].name);
        const char *can = text_of(in_network, i);
        if (can[0] && rlt_param_read(&rlt_in_network_parameter, &nodes[i].in_network, can, NULL, NULL))
            return fail_in_network(r, g->node_line[i], can);
        int rc = read_forwards(r, forwards, i, &nodes[i].forwards);
        if (rc < 0)
            return rc;
    }
    spec->n_nodes = g->n_nodes;
    spec->nodes = nodes;
    return 0;
}

static int read_edge(reader *r, uint32_t i, const rlt_attribute *bandwidth, const rlt_attribute *latency,
                     rlt_graph_link *link)
{
    const rlt_graphml *g = r->g;
    const char *rate = text_of(bandwidth, i), *delay = text_of(latency, i);
    *link = (rlt_graph_link){.src = g->src[i], .dst = g->dst[i]};
    snprintf(r->where, sizeof r->where, "%.200s:%" PRIu32 ": edge %" PRIu32, r->name, g->edge_line[i], i);
    if (rate[0] == 0 || delay[0] == 0)
        return rlt_fail(r->err, RLT_ESCHEMA, r->where, "missing %s", rate[0] ? "latency" : "bandwidth");
    int rc = rlt_parse_rate(rate, &link->bw_Bps, r->where, r->err);
    if (rc < 0 || (rc = rlt_parse_duration(delay, &link->latency_ps, r->where, r->err)) < 0)
        return rc;
    if (link->bw_Bps == 0)
        return rlt_fail(r->err, RLT_ERANGE, r->where, "the bandwidth is zero");
    if (link->src == link->dst)
        return rlt_fail(r->err, RLT_ESCHEMA, r->where, "a link from a node to itself");
    return 0;
}

static int read_edges(reader *r, rlt_topology_spec *spec)
{
    const rlt_graphml *g = r->g;
    const rlt_attribute *bandwidth =
        rlt_attribute_find(g->edge_attributes, g->n_edge_attributes, "bandwidth");
    const rlt_attribute *latency = rlt_attribute_find(g->edge_attributes, g->n_edge_attributes, "latency");
    uint64_t n = (uint64_t)g->n_edges * (g->directed ? 1 : 2);
    uint32_t at = 0;
    if (n > RLT_MAX_FILE_LINKS)
        return rlt_fail(r->err, RLT_ERANGE, r->name, "more than %d links", RLT_MAX_FILE_LINKS);
    rlt_graph_link *links = rlt_arena_array(&r->arena, (size_t)n + 1, sizeof *links);
    if (!links)
        return rlt_nomem(r->err);
    for (uint32_t i = 0; i < g->n_edges; i++) {
        rlt_graph_link *link = &links[at++];
        int rc = read_edge(r, i, bandwidth, latency, link);
        if (rc < 0)
            return rc;
        if (!g->directed) {
            links[at] = *link;
            links[at].src = link->dst;
            links[at++].dst = link->src;
        }
    }
    spec->n_links = at;
    spec->links = links;
    return 0;
}

/* Parses "4x2". */
static int read_dims(reader *r, const char *text, rlt_topology_spec *spec)
{
    uint32_t *sizes = rlt_arena_array(&r->arena, RLT_MAX_DIMS, sizeof *sizes);
    if (!sizes)
        return rlt_nomem(r->err);
    while (*text) {
        char digits[16];
        uint64_t size;
        size_t n = strcspn(text, "x");
        snprintf(digits, sizeof digits, "%.*s", (int)(n < 15 ? n : 15), text);
        if (spec->n_logical == RLT_MAX_DIMS || rlt_parse_count(digits, &size, NULL, NULL) < 0 || size < 1 ||
            size > RLT_MAX_FILE_NODES || (text[n] == 'x' && text[n + 1] == 0))
            return rlt_fail(r->err, RLT_ESCHEMA, r->name, "expected dims such as 8 or 4x2");
        sizes[spec->n_logical++] = (uint32_t)size;
        text += n + (text[n] == 'x');
    }
    spec->logical = sizes;
    return 0;
}

/* Reads the size of nodes and whether messages move inside them. */
static int read_machines(reader *r, rlt_topology_spec *spec)
{
    const rlt_graphml *g = r->g;
    const rlt_attribute *size = rlt_attribute_find(g->graph_attributes, g->n_graph_attributes, "node_size");
    const rlt_attribute *pxn = rlt_attribute_find(g->graph_attributes, g->n_graph_attributes, "pxn");
    if (text_of(size, 0)[0]) {
        uint64_t n = 0;
        if (rlt_parse_count(text_of(size, 0), &n, NULL, NULL) < 0 || n < 1 || n > RLT_MAX_FILE_NODES)
            return rlt_fail(r->err, RLT_ESCHEMA, r->name,
                            "expected node_size to be a number of accelerators, got '%.40s'",
                            text_of(size, 0));
        spec->node_size = (uint32_t)n;
    }
    if (text_of(pxn, 0)[0] && !rlt__topo_pxn(text_of(pxn, 0), &spec->pxn))
        return rlt_fail(r->err, RLT_ESCHEMA, r->name, "expected pxn to be on or off, got '%.40s'",
                        text_of(pxn, 0));
    return 0;
}

/* Reads what ringlet adds: JSON in an attribute of the graph. */
static int read_rest(reader *r, rlt_topology_spec *spec)
{
    static const char *const keys[] = {"endpoint", "auto", "routes", "rings", NULL};
    const rlt_graphml *g = r->g;
    const char *text = text_of(rlt_attribute_find(g->graph_attributes, g->n_graph_attributes, "ringlet"), 0);
    uint32_t accelerators = 0;
    spec->endpoint = rlt_endpoint_default();
    if (!text[0])
        return 0;
    for (uint32_t i = 0; i < spec->n_nodes; i++)
        accelerators += spec->nodes[i].kind == RLT_ACCELERATOR;
    snprintf(r->where, sizeof r->where, "%.200s: ringlet", r->name);
    int rc = rlt_json_parse(r->where, text, strlen(text), &r->rest, r->err);
    if (!rc)
        rc = rlt_json_only(rlt_json_root(r->rest), keys, r->err);
    return rc ? rc : rlt__json_rest_read(rlt_json_root(r->rest), accelerators, &r->arena, spec, r->err);
}

static int read_graph(reader *r, rlt_topology_spec *spec)
{
    const rlt_graphml *g = r->g;
    const rlt_attribute *name = rlt_attribute_find(g->graph_attributes, g->n_graph_attributes, "name");
    const rlt_attribute *source = rlt_attribute_find(g->graph_attributes, g->n_graph_attributes, "source");
    const rlt_attribute *dims = rlt_attribute_find(g->graph_attributes, g->n_graph_attributes, "dims");
    int rc;
    if ((rc = check_attributes(r)) < 0 || (rc = read_nodes(r, spec)) < 0 || (rc = read_edges(r, spec)) < 0 ||
        (rc = read_dims(r, text_of(dims, 0), spec)) < 0 || (rc = read_machines(r, spec)) < 0 ||
        (rc = read_rest(r, spec)) < 0)
        return rc;
    spec->source = text_of(source, 0);
    spec->name = text_of(name, 0)[0] ? text_of(name, 0) : rlt__topo_stem(&r->arena, r->name);
    return spec->name ? 0 : rlt_nomem(r->err);
}

int rlt_topology_from_graphml(const char *name, const char *text, size_t length, rlt_topology **out,
                              rlt_error *err)
{
    rlt_graphml g;
    reader r = {.name = name, .g = &g, .err = err};
    rlt_topology_spec spec = {.where = name, .hash = rlt_hash_bytes(text, length, 0)};
    *out = NULL;
    int rc = rlt_graphml_parse(name, text, length, &g, err);
    if (rc < 0)
        return rc;
    rc = read_graph(&r, &spec);
    if (rc == 0)
        rc = rlt_topology_build(&spec, out, err);
    rlt_json_free(r.rest);
    rlt_strings_free(&r.names);
    rlt_arena_free(&r.arena);
    rlt_graphml_free(&g);
    return rc;
}
