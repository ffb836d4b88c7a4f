/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The two halves of the JSON reader: net/import/topo_json.c reads what products and graphs share,
 * net/import/topo_json_graph.c nodes, links and routes. Internal to these two.
 */
#ifndef RLT_NET_IMPORT_TOPO_JSON_H
#define RLT_NET_IMPORT_TOPO_JSON_H

#include "net/topology/build.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/text/json.h"

typedef struct rlt__json_graph {
    rlt_strings ids;       /* index = node */
    uint32_t *accelerator; /* of node: its rank among the accelerators, or RLT_NONE */
    uint32_t n_accelerators;
} rlt__json_graph;

/* Fills the graph part of spec. Arrays belong to the arena; ids to the caller, also on failure. */
int rlt__json_graph_read(rlt_json root, rlt_arena *arena, rlt__json_graph *graph, rlt_topology_spec *spec,
                         rlt_error *err);
/* The place of a value, kept in the arena; NULL: no memory. */
const char *rlt__json_place(rlt_arena *arena, rlt_json v);

#endif
