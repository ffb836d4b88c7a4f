/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Graph algorithms and graph files, by igraph: plain arrays in, plain arrays out. Only net/topology/graph.c
 * knows igraph, which is not thread-safe: every call here holds one lock, and none belongs in a simulation's
 * loop. Internal to net/.
 *
 * Edges are directed. igraph's own messages come back as the `what` of the error.
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
/* distance[i * n_to + j] = edges on a shortest path from from[i] to to[j]; RLT_NONE where there is none. */
int rlt_graph_distances(const rlt_edges *g, const uint32_t *from, uint32_t n_from, const uint32_t *to,
                        uint32_t n_to, uint32_t *distance, rlt_error *err) RLT_MUST_USE;
/* Maximum flow from source to sink = capacity of the smallest cut between them. Exact for sums below 2^53. */
int rlt_graph_max_flow(const rlt_edges *g, const double *capacity, uint32_t source, uint32_t sink,
                       double *value, rlt_error *err) RLT_MUST_USE;

/* The same, and side[node] = 1 on the source's side of a smallest cut, else 0. */
int rlt_graph_min_cut(const rlt_edges *g, const double *capacity, uint32_t source, uint32_t sink,
                      double *value, uint8_t *side, rlt_error *err) RLT_MUST_USE;

/* An attribute of all nodes or all edges of a file. Where one lacks it: NaN in numbers, "" in texts. */
typedef enum rlt_attribute_type {
    RLT_ATTRIBUTE_NUMBER,
    RLT_ATTRIBUTE_TEXT,
    RLT_ATTRIBUTE_BOOL
} rlt_attribute_type;
typedef struct rlt_attribute {
    const char *name; /* attr.name of the <key> */
    rlt_attribute_type type;
    const double *numbers;    /* numbers and booleans (1, 0); NULL for texts */
    const char *const *texts; /* NULL for numbers and booleans */
} rlt_attribute;

/*
 * A GraphML file. The arena owns everything. A boolean attribute that an element lacks reads as the default
 * of its key, or 0. An undirected file has each edge once: the reader makes two links of it.
 */
typedef struct rlt_graphml {
    uint32_t n_nodes, n_edges;
    bool directed;
    const char *const *ids;                /* of nodes, in the order of the file */
    const uint32_t *node_line, *edge_line; /* from 1 */
    const uint32_t *src, *dst;
    uint32_t n_node_attributes, n_edge_attributes, n_graph_attributes;
    const rlt_attribute *node_attributes, *edge_attributes;
    const rlt_attribute *graph_attributes; /* arrays of one */
    rlt_arena arena;
} rlt_graphml;

/*
 * Reads text[0..length). Stricter than igraph: refuses an edge to a node that is not declared (igraph invents
 * it), a node declared twice, hyperedges, nested or several graphs, entity declarations, and an edge whose
 * direction is not the file's. `name` is what messages call the text. RLT_EMALFORMED, RLT_ESCHEMA,
 * RLT_ERANGE, RLT_ENOMEM. On success rlt_graphml_free it.
 */
int rlt_graphml_parse(const char *name, const char *text, size_t length, rlt_graphml *out,
                      rlt_error *err) RLT_MUST_USE;
void rlt_graphml_free(rlt_graphml *g);
/* The attribute of that name, or NULL. */
const rlt_attribute *rlt_attribute_find(const rlt_attribute *list, uint32_t n, const char *name);

/* A directed graph with attributes, to be written. Graph attributes are texts. */
typedef struct rlt_graph_text {
    rlt_edges edges;
    const rlt_attribute *node_attributes, *edge_attributes, *graph_attributes;
    uint32_t n_node_attributes, n_edge_attributes, n_graph_attributes;
} rlt_graph_text;
/* *text is malloc'ed, owned by the caller. */
int rlt_graphml_write(const rlt_graph_text *g, char **text, rlt_error *err) RLT_MUST_USE;
int rlt_dot_write(const rlt_graph_text *g, char **text, rlt_error *err) RLT_MUST_USE;

/* Version of igraph. */
const char *rlt_graph_version(void);

#ifdef __cplusplus
}
#endif
#endif
