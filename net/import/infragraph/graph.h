/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The graph that a document stands for: vertices, edges, and what annotations say about them. Vertices are
 * numbered instance by instance. Internal to net/import/infragraph/.
 */
#ifndef RLT_NET_IMPORT_INFRAGRAPH_GRAPH_H
#define RLT_NET_IMPORT_INFRAGRAPH_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "net/import/infragraph/document.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"
#include "sim/text/json.h"

/* An edge, both ways. Edges that reduce.c removed have no link. */
typedef struct rlt__ig_edge {
    uint32_t a, b;
    rlt__ig_link *link;
    uint64_t bw_Bps; /* set by reduce.c: of the link, or of the links that were folded into it */
    rlt_time latency_ps;
} rlt__ig_edge;

typedef struct rlt__ig_vertex {
    uint32_t rank, id; /* annotated; RLT_NONE: not */
    int8_t kind;       /* rlt_node_kind; -1: not known yet */
    int8_t forwards;   /* annotated: 1 or 0; -1: not */
    uint8_t in_network;
    bool removed;     /* by reduce.c */
    const char *name; /* annotated; NULL: not */
} rlt__ig_vertex;

typedef struct rlt__ig_graph {
    rlt__ig_document *d;
    rlt__ig_vertex *vertices; /* n_vertices of the document */
    rlt__ig_edge *edges;
    uint32_t n_edges, edge_capacity;
    rlt_map between; /* (lower vertex << 32 | higher) -> edge */
    /* The annotation that ringlet writes; absent in files of others. */
    rlt_json_doc *own_doc;
    rlt_json own;
    uint32_t pruned, folded; /* vertices */
} rlt__ig_graph;

/* net/import/infragraph/expand.c: makes vertices and edges. */
int rlt__ig_expand(rlt__ig_graph *g) RLT_MUST_USE;
void rlt__ig_graph_free(rlt__ig_graph *g);

static inline uint64_t rlt__ig_between(uint32_t a, uint32_t b)
{
    return a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
}

/* net/import/infragraph/annotate.c: reads the annotations. */
int rlt__ig_annotate(rlt__ig_graph *g) RLT_MUST_USE;

/* net/import/infragraph/reduce.c: gives each vertex its kind; removes parts that carry nothing, and folds
 * those that only join two links. */
int rlt__ig_reduce(rlt__ig_graph *g) RLT_MUST_USE;

#endif
