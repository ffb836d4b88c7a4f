/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Scans a GraphML text before igraph reads it: which nodes it declares, the places of nodes and edges, and
 * whether it uses features that a topology cannot express. Internal to net/.
 */
#ifndef RLT_NET_TOPOLOGY_GRAPHML_SCAN_H
#define RLT_NET_TOPOLOGY_GRAPHML_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/map.h"

typedef struct rlt_graphml_scan {
    rlt_strings ids; /* index = node, in order of declaration */
    uint32_t *node_line, *edge_line, *src, *dst;
    uint32_t n_nodes, n_edges, node_capacity, edge_capacity[3];
    bool directed;
} rlt_graphml_scan;

/* Scans a text. Errors have file:line:column. Call rlt_graphml_scan_free in every case. */
int rlt_graphml_scan_text(const char *name, const char *text, size_t length, rlt_graphml_scan *s,
                          rlt_error *err) RLT_MUST_USE;
void rlt_graphml_scan_free(rlt_graphml_scan *s);

#endif
