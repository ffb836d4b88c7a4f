/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a reduced graph to a machine. Internal to net/import/infragraph/. */
#ifndef RLT_NET_IMPORT_INFRAGRAPH_BUILD_H
#define RLT_NET_IMPORT_INFRAGRAPH_BUILD_H

#include <stdint.h>

#include "net/endpoint/endpoint.h"
#include "net/import/infragraph/graph.h"
#include "net/import/machine.h"
#include "sim/base/error.h"

/* Nodes and links of a graph, in the order that depends on nothing but the graph. */
typedef struct rlt__ig_order {
    uint32_t *vertex; /* vertex of node i */
    uint32_t *node;   /* node of vertex v; RLT_NONE: removed */
    uint32_t n, n_accelerators;
} rlt__ig_order;

/* net/import/infragraph/order.c: numbers the nodes: accelerators by rank, then the others. */
int rlt__ig_order_make(const rlt__ig_graph *g, rlt__ig_order *order) RLT_MUST_USE;
void rlt__ig_order_free(rlt__ig_order *order);
/* Sets the accelerators of a node if instances are equal and their ranks consecutive. */
void rlt__ig_boundary(const rlt__ig_graph *g, const rlt__ig_order *order, rlt__machine *m);
/* *needed is true if some accelerators reach each other only through other accelerators: neither are all
 * linked to one network, nor each to each. */
int rlt__ig_needs_relay(const rlt__ig_graph *g, const rlt__ig_order *order, bool *needed) RLT_MUST_USE;

/* net/import/infragraph/own.c: sets what ringlet wrote into the annotation of the graph. `endpoint` is room
 * for it. */
int rlt__ig_own(const rlt__ig_graph *g, rlt__machine *m, rlt_endpoint *endpoint,
                const char **source) RLT_MUST_USE;

#endif
