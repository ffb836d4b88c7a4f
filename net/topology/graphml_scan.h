/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A look at the elements of a GraphML text before igraph reads it: which nodes it declares, where nodes and
 * edges stand, and whether it uses what a topology cannot mean. Internal to net/.
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

/* Errors have file:line:column. Always rlt_graphml_scan_free. */
int rlt_graphml_scan_text(const char *name, const char *text, size_t length, rlt_graphml_scan *s,
                          rlt_error *err) RLT_MUST_USE;
void rlt_graphml_scan_free(rlt_graphml_scan *s);

#endif
