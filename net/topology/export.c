/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes a topology as a whole graph, in the words of the readers: node kind and forwards, link bandwidth and
 * latency with exact units, logical dimensions. A product that is exported keeps its nodes and links, but not
 * its closed-form routes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/endpoint/endpoint.h"
#include "net/shapes/shape.h"
#include "net/shapes/shapes.h"
#include "net/topology/frozen.h"
#include "net/topology/graph.h"
#include "net/topology/part.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/param.h"
#include "sim/text/json.h"

static const char *kind_name(rlt_node_kind kind)
{
    static const char *const names[] = {"accelerator", "nic", "pcie", "cpu", "switch"};
    return names[kind];
}

/* Writes "4x2" into at least 100 bytes. */
static const char *dims_text(const rlt_topology *t, char *buffer, size_t size)
{
    size_t used = 0;
    for (uint32_t i = 0; i < rlt_topology_dims(t); i++)
        used += (size_t)snprintf(buffer + used, size - used, "%s%" PRIu32, i ? "x" : "",
                                 rlt_topology_dim(t, i).size);
    return buffer;
}

/* Returns the word for moves inside nodes; NULL: the graph states none, or nothing says where nodes end. */
static const char *pxn_name(const rlt_topology *t)
{
    rlt_pxn pxn = t->node_size < t->accelerators ? rlt_topology_pxn(t) : RLT_PXN_UNSTATED;
    return pxn == RLT_PXN_UNSTATED ? NULL : pxn == RLT_PXN_ON ? "on" : "off";
}

/* Returns true if a reader would not find the accelerators of a node by itself: it takes the first dimension,
 * or all. */
static bool states_node(const rlt_topology *t)
{
    return t->node_size < t->accelerators || rlt_topology_dims(t) > 1;
}

/* All attributes as columns; strings live in the arena. */
typedef struct columns {
    rlt_arena arena;
    uint32_t *src, *dst;
    const char **name, **kind, **in_network, **bandwidth, **latency;
    double *forwards, *dim;
    bool some_in_network;
    char can[4][64]; /* words of in_network, per value */
} columns;

static int make_columns(const rlt_topology *t, columns *c, rlt_error *err)
{
    rlt_arena *a = &c->arena;
    char name[256];
    c->src = rlt_arena_array(a, t->links, sizeof *c->src);
    c->dst = rlt_arena_array(a, t->links, sizeof *c->dst);
    c->name = rlt_arena_array(a, t->nodes, sizeof *c->name);
    c->kind = rlt_arena_array(a, t->nodes, sizeof *c->kind);
    c->in_network = rlt_arena_array(a, t->nodes, sizeof *c->in_network);
    c->forwards = rlt_arena_array(a, t->nodes, sizeof *c->forwards);
    c->bandwidth = rlt_arena_array(a, t->links, sizeof *c->bandwidth);
    c->latency = rlt_arena_array(a, t->links, sizeof *c->latency);
    c->dim = rlt_arena_array(a, t->links, sizeof *c->dim);
    if (!c->src || !c->dst || !c->name || !c->kind || !c->in_network || !c->forwards || !c->bandwidth ||
        !c->latency || !c->dim)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < sizeof c->can / sizeof *c->can; i++)
        (void)rlt_param_word(&rlt_in_network_parameter, i, c->can[i]);
    for (uint32_t v = 0; v < t->nodes; v++) {
        c->name[v] = rlt_arena_strdup(a, rlt_topology_node_name(t, v, name, sizeof name));
        c->kind[v] = kind_name(rlt_topology_node_kind(t, v));
        c->in_network[v] = c->can[rlt_topology_in_network(t, v)];
        c->some_in_network |= rlt_topology_in_network(t, v) != 0;
        c->forwards[v] = rlt_topology_forwards(t, v);
        if (!c->name[v])
            return rlt_nomem(err);
    }
    for (uint32_t i = 0; i < t->links; i++) {
        rlt_link l = rlt_topology_link(t, i);
        c->src[i] = l.src;
        c->dst[i] = l.dst;
        c->dim[i] = l.dim;
        c->bandwidth[i] = rlt_arena_printf(a, "%" PRIu64 "B/s", l.bw_Bps);
        c->latency[i] = rlt_arena_printf(a, "%" PRId64 "ps", l.latency_ps);
        if (!c->bandwidth[i] || !c->latency[i])
            return rlt_nomem(err);
    }
    return 0;
}

/* Writes the parameters from `p` on that differ from `usual`; if `usual` is NULL, those before `end`. */
static void json_params(rlt_jw *w, const rlt_param *p, const char *end, const void *of, const void *usual)
{
    char text[64], without[64];
    for (; p->name && !(end && strcmp(p->name, end) == 0); p++) {
        rlt_param_write(p, of, text, sizeof text);
        if (!usual || strcmp(text, rlt_param_write(p, usual, without, sizeof without)) != 0)
            rlt_jw_string(w, p->name, text);
    }
}

/* Writes an endpoint. Common settings stand before "protocol"; the settings of each protocol follow. */
static void json_endpoint(rlt_jw *w, const rlt_endpoint *e)
{
    const rlt_param *all = rlt_endpoint_parameters(), *which = rlt_params_find(all, "protocol");
    const rlt_endpoint usual = rlt_endpoint_default();
    const rlt_protocol plain = rlt_protocol_default();
    char text[64];
    rlt_jw_object(w, "endpoint");
    json_params(w, all, which->name, e, NULL);
    json_params(w, which + 1, NULL, e, &usual);
    if (e->n_protocols) {
        rlt_jw_array(w, "protocols");
        for (uint32_t i = 0; i < e->n_protocols; i++) {
            rlt_jw_object(w, NULL);
            rlt_jw_string(w, "name", e->protocols[i].name);
            json_params(w, rlt_protocol_parameters(), NULL, &e->protocols[i], &plain);
            rlt_jw_end_object(w);
        }
        rlt_jw_end_array(w);
        rlt_jw_string(w, which->name, rlt_param_write(which, e, text, sizeof text));
    }
    rlt_jw_end_object(w);
}

static void json_nodes_and_links(rlt_jw *w, const rlt_topology *t, const columns *c)
{
    rlt_jw_array(w, "nodes");
    for (uint32_t v = 0; v < t->nodes; v++) {
        rlt_jw_object(w, NULL);
        rlt_jw_string(w, "id", c->name[v]);
        rlt_jw_string(w, "kind", c->kind[v]);
        rlt_jw_bool(w, "forwards", c->forwards[v] > 0);
        if (rlt_topology_in_network(t, v))
            rlt_jw_string(w, "in_network", c->in_network[v]);
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
    rlt_jw_array(w, "links");
    for (uint32_t i = 0; i < t->links; i++) {
        rlt_jw_object(w, NULL);
        rlt_jw_string(w, "src", c->name[c->src[i]]);
        rlt_jw_string(w, "dst", c->name[c->dst[i]]);
        rlt_jw_string(w, "bandwidth", c->bandwidth[i]);
        rlt_jw_string(w, "latency", c->latency[i]);
        rlt_jw_bool(w, "duplex", false);
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
}

/* Writes the static routes of a graph, whose links begin at number `base` of the topology. */
typedef void write_routes(rlt_jw *w, const rlt_topology *t, const rlt_frozen_graph *g, uint32_t base,
                          const columns *c);

static void named_routes(rlt_jw *w, const rlt_topology *t, const rlt_frozen_graph *g, uint32_t base,
                         const columns *c)
{
    (void)t;
    for (uint32_t r = 0; r < g->n_routes; r++) {
        uint32_t first = g->route_first[r], end = g->route_first[r + 1];
        rlt_jw_object(w, NULL);
        rlt_jw_string(w, "src", c->name[c->src[base + g->route_links[first]]]);
        rlt_jw_string(w, "dst", c->name[c->dst[base + g->route_links[end - 1]]]);
        rlt_jw_array(w, "via");
        for (uint32_t i = first; i + 1 < end; i++)
            rlt_jw_string(w, NULL, c->name[c->dst[base + g->route_links[i]]]);
        rlt_jw_end_array(w);
        rlt_jw_end_object(w);
    }
}

static void numbered_routes(rlt_jw *w, const rlt_topology *t, const rlt_frozen_graph *g, uint32_t base,
                            const columns *c)
{
    (void)c;
    for (uint32_t r = 0; r < g->n_routes; r++) {
        rlt_jw_array(w, NULL);
        for (uint32_t i = g->route_first[r]; i < g->route_first[r + 1]; i++) {
            rlt_link l = rlt_topology_link(t, base + g->route_links[i]);
            if (i == g->route_first[r])
                rlt_jw_u64(w, NULL, l.src);
            rlt_jw_u64(w, NULL, l.dst);
        }
        rlt_jw_end_array(w);
    }
}

/* Writes static routes: of a graph, or of each copy of a graph that is a dimension. */
static void json_routes(rlt_jw *w, const rlt_topology *t, const columns *c, write_routes *write)
{
    uint32_t routes = t->graph.n_routes;
    for (uint32_t d = 0; d < t->n_dims; d++)
        routes += t->parts[d] ? t->parts[d]->graph->graph.n_routes : 0;
    if (!routes)
        return;
    rlt_jw_array(w, "routes");
    write(w, t, &t->graph, 0, c);
    for (uint32_t d = 0; d < t->n_dims; d++)
        for (uint32_t k = 0; t->parts[d] && k < t->dims[d].groups; k++)
            write(w, t, &t->parts[d]->graph->graph, t->dims[d].first_link + k * t->dims[d].f.links, c);
    rlt_jw_end_array(w);
}

static void json_rings(rlt_jw *w, const rlt_topology *t)
{
    if (!t->n_rings)
        return;
    rlt_jw_array(w, "rings");
    for (uint32_t r = 0; r < t->n_rings; r++) {
        rlt_jw_array(w, NULL);
        for (uint32_t i = 0; i < t->accelerators; i++)
            rlt_jw_u64(w, NULL, rlt_topology_ring(t, r)[i]);
        rlt_jw_end_array(w);
    }
    rlt_jw_end_array(w);
}

/* Writes the choices as {"all_reduce": "tree:1048576B:ring"}. */
static int json_choices(rlt_jw *w, const rlt_topology *t, rlt_error *err)
{
    rlt_arena arena = {0};
    int rc = 0;
    if (!t->n_choices)
        return 0;
    rlt_jw_object(w, "auto");
    for (uint32_t i = 0; i < t->n_choices && !rc;) {
        const rlt_choice *first = &t->choices[i], *c;
        const char *chain = first->algorithm;
        for (i++;
             chain && i < t->n_choices && strcmp((c = &t->choices[i])->collective, first->collective) == 0;
             i++)
            chain = rlt_arena_printf(&arena, "%s:%" PRIu64 "B:%s", chain, c->from_bytes, c->algorithm);
        rc = chain ? 0 : rlt_nomem(err);
        rlt_jw_string(w, first->collective, chain ? chain : "");
    }
    rlt_jw_end_object(w);
    rlt_arena_free(&arena);
    return rc;
}

int rlt__export_rest(rlt_jw *w, const rlt_topology *t, rlt_error *err)
{
    json_endpoint(w, &t->endpoint);
    int rc = json_choices(w, t, err);
    json_routes(w, t, NULL, numbered_routes);
    json_rings(w, t);
    return rc;
}

static int write_json(const rlt_topology *t, char **text, rlt_error *err)
{
    columns c = {0};
    int rc = make_columns(t, &c, err);
    if (!rc) {
        rlt_jw w;
        rlt_jw_init(&w, true);
        rlt_jw_object(&w, NULL);
        rlt_jw_string(&w, "name", t->name);
        rlt_jw_string(&w, "source", t->source);
        json_endpoint(&w, &t->endpoint);
        rc = json_choices(&w, t, err);
        rlt_jw_array(&w, "dims");
        for (uint32_t i = 0; i < rlt_topology_dims(t); i++)
            rlt_jw_u64(&w, NULL, rlt_topology_dim(t, i).size);
        rlt_jw_end_array(&w);
        if (states_node(t))
            rlt_jw_u64(&w, "node_size", t->node_size);
        if (pxn_name(t))
            rlt_jw_string(&w, "pxn", pxn_name(t));
        json_nodes_and_links(&w, t, &c);
        json_routes(&w, t, &c, named_routes);
        json_rings(&w, t);
        rlt_jw_end_object(&w);
        *text = rlt_jw_finish(&w, NULL);
        rc = rc ? rc : *text ? 0 : rlt_nomem(err);
    }
    rlt_arena_free(&c.arena);
    return rc;
}

static int rest_text(const rlt_topology *t, char **text, rlt_error *err)
{
    rlt_jw w;
    rlt_jw_init(&w, false);
    rlt_jw_object(&w, NULL);
    int rc = rlt__export_rest(&w, t, err);
    rlt_jw_end_object(&w);
    *text = rlt_jw_finish(&w, NULL);
    return rc ? rc : *text ? 0 : rlt_nomem(err);
}

static rlt_attribute text_attribute(const char *name, const char *const *text)
{
    return (rlt_attribute){.name = name, .type = RLT_ATTRIBUTE_TEXT, .texts = text};
}

static int write_graph(const rlt_topology *t, bool graphml, char **text, rlt_error *err)
{
    columns c = {0};
    char dims[128], *rest = NULL;
    const char *name = t->name, *source = t->source, *sizes = dims_text(t, dims, sizeof dims);
    const char *pxn = pxn_name(t);
    char node[16];
    const char *node_size = node;
    int rc = make_columns(t, &c, err);
    if (!rc && graphml)
        rc = rest_text(t, &rest, err);
    const char *own = rest;
    snprintf(node, sizeof node, "%" PRIu32, t->node_size);
    if (!rc) {
        const rlt_attribute nodes[] = {
            {.name = graphml ? "name" : "label", .type = RLT_ATTRIBUTE_TEXT, .texts = c.name},
            {.name = "kind", .type = RLT_ATTRIBUTE_TEXT, .texts = c.kind},
            {.name = "forwards", .type = RLT_ATTRIBUTE_BOOL, .numbers = c.forwards},
            {.name = "in_network", .type = RLT_ATTRIBUTE_TEXT, .texts = c.in_network},
        };
        const rlt_attribute edges[] = {
            {.name = "bandwidth", .type = RLT_ATTRIBUTE_TEXT, .texts = c.bandwidth},
            {.name = "latency", .type = RLT_ATTRIBUTE_TEXT, .texts = c.latency},
            {.name = "dim", .type = RLT_ATTRIBUTE_NUMBER, .numbers = c.dim},
        };
        rlt_attribute graph[6];
        uint32_t n = 0;
        graph[n++] = text_attribute("name", &name);
        graph[n++] = text_attribute("source", &source);
        graph[n++] = text_attribute("dims", &sizes);
        if (states_node(t))
            graph[n++] = text_attribute("node_size", &node_size);
        if (pxn)
            graph[n++] = text_attribute("pxn", &pxn);
        if (own)
            graph[n++] = text_attribute("ringlet", &own);
        rlt_graph_text g = {.edges = {.n_nodes = t->nodes, .n_edges = t->links, .src = c.src, .dst = c.dst},
                            .node_attributes = nodes,
                            .n_node_attributes = c.some_in_network ? 4 : 3,
                            .edge_attributes = edges,
                            .n_edge_attributes = 3,
                            .graph_attributes = graph,
                            .n_graph_attributes = n};
        rc = graphml ? rlt_graphml_write(&g, text, err) : rlt_dot_write(&g, text, err);
    }
    free(rest);
    rlt_arena_free(&c.arena);
    return rc;
}

int rlt__export_check(const rlt_topology *t, rlt_error *err)
{
    enum { MAX_ELEMENTS = 1 << 22 };
    if ((uint64_t)t->nodes + t->links <= MAX_ELEMENTS)
        return 0;
    return rlt_fail(err, RLT_ERANGE, t->name,
                    "%" PRIu32 " nodes and %" PRIu32 " links; at most %d are written out", t->nodes, t->links,
                    MAX_ELEMENTS);
}

int rlt_topology_export(const rlt_topology *t, const char *format, char **text, rlt_error *err)
{
    *text = NULL;
    int rc = rlt__export_check(t, err);
    if (rc)
        return rc;
    if (strcmp(format, "json") == 0)
        return write_json(t, text, err);
    if (strcmp(format, "graphml") == 0 || strcmp(format, "dot") == 0)
        return write_graph(t, format[0] == 'g', text, err);
    return rlt_fail(err, RLT_EUSAGE, NULL, "unknown format '%.40s'; known are graphml, dot, json", format);
}
