/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Graph algorithms and graph files, by igraph: plain arrays in, plain arrays out. Only net/topology/graph.c
 * knows igraph, which is not thread-safe: every call here holds one lock and must stay out of a simulation's
 * loop. Internal to net/.
 *
 * Edges are directed. igraph's own messages become the `what` of the error.
 */
#ifndef RLT_NET_TOPOLOGY_GRAPH_H
#define RLT_NET_TOPOLOGY_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_edges {
    uint32_t n_nodes, n_edges;
    const uint32_t *src, *dst; /* n_edges each */
} rlt_edges;

/* component[node] = number of its strongly connected component, 0 .. *n-1. */
int rlt_graph_components(const rlt_edges *g, uint32_t *component, uint32_t *n, rlt_error *err) RLT_MUST_USE;
/* distance[i * n_to + j] = number of edges on a shortest path from from[i] to to[j]; RLT_NONE if there is
 * none. */
int rlt_graph_distances(const rlt_edges *g, const uint32_t *from, uint32_t n_from, const uint32_t *to,
                        uint32_t n_to, uint32_t *distance, rlt_error *err) RLT_MUST_USE;
/* Finds the maximum flow from source to sink = the capacity of the smallest cut between them. Exact for sums
 * below 2^53. */
int rlt_graph_max_flow(const rlt_edges *g, const double *capacity, uint32_t source, uint32_t sink,
                       double *value, rlt_error *err) RLT_MUST_USE;

/* Finds a smallest cut: side[node] = 1 on the side of the source, else 0. Of several it takes the one with
 * most nodes on that side. The value is as in rlt_graph_max_flow. */
int rlt_graph_min_cut(const rlt_edges *g, const double *capacity, uint32_t source, uint32_t sink,
                      double *value, uint8_t *side, rlt_error *err) RLT_MUST_USE;

/* An attribute of all nodes or all edges of a file. Elements without it have NaN (numbers) or "" (texts). */
typedef enum rlt_attribute_type {
    RLT_ATTRIBUTE_NUMBER,
    RLT_ATTRIBUTE_TEXT,
    RLT_ATTRIBUTE_BOOL
} rlt_attribute_type;
typedef struct rlt_attribute {
    const char *name; /* its attr.name in the <key> */
    rlt_attribute_type type;
    const double *numbers;    /* numbers and booleans (1, 0); NULL for texts */
    const char *const *texts; /* NULL for numbers and booleans */
} rlt_attribute;

/*
 * A GraphML file. The arena owns everything. An element without a boolean attribute has the default of its
 * key, or 0. An undirected file lists each edge once; the reader makes two links of it.
 */
typedef struct rlt_graphml {
    uint32_t n_nodes, n_edges;
    bool directed;
    const char *const *ids;                /* ids of the nodes, in file order */
    const uint32_t *node_line, *edge_line; /* lines of nodes and edges, from 1 */
    const uint32_t *src, *dst;
    uint32_t n_node_attributes, n_edge_attributes, n_graph_attributes;
    const rlt_attribute *node_attributes, *edge_attributes;
    const rlt_attribute *graph_attributes; /* arrays of length 1 */
    rlt_arena arena;
} rlt_graphml;

/*
 * Reads text[0..length). Stricter than igraph: refuses an edge to an undeclared node (igraph invents the
 * node), a node declared twice, hyperedges, nested graphs and several graphs. Also refuses entity
 * declarations, and an edge whose direction differs from the file's. `name` is the name of the text in
 * messages. RLT_EMALFORMED, RLT_ESCHEMA, RLT_ERANGE, RLT_ENOMEM. On success the caller frees it with
 * rlt_graphml_free.
 */
int rlt_graphml_parse(const char *name, const char *text, size_t length, rlt_graphml *out,
                      rlt_error *err) RLT_MUST_USE;
void rlt_graphml_free(rlt_graphml *g);
/* Returns the attribute with that name, or NULL. */
const rlt_attribute *rlt_attribute_find(const rlt_attribute *list, uint32_t n, const char *name);

/* A directed graph with attributes, for writing. Graph attributes are texts. */
typedef struct rlt_graph_text {
    rlt_edges edges;
    const rlt_attribute *node_attributes, *edge_attributes, *graph_attributes;
    uint32_t n_node_attributes, n_edge_attributes, n_graph_attributes;
} rlt_graph_text;
/* Writes GraphML. *text is malloc'ed and owned by the caller. */
int rlt_graphml_write(const rlt_graph_text *g, char **text, rlt_error *err) RLT_MUST_USE;
int rlt_dot_write(const rlt_graph_text *g, char **text, rlt_error *err) RLT_MUST_USE;

/* Returns the version of igraph. */
const char *rlt_graph_version(void);

#ifdef __cplusplus
}
#endif
#endif
