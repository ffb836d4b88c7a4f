/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shared by the two halves of the JSON reader: net/import/topo_json.c reads what products and graphs have in
 * common, net/import/topo_json_graph.c reads nodes, links and routes.
 */
#ifndef RLT_NET_IMPORT_TOPO_JSON_H
#define RLT_NET_IMPORT_TOPO_JSON_H

#include "net/endpoint/endpoint.h"
#include "net/topology/build.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/text/json.h"

typedef struct rlt__json_graph {
    rlt_strings ids;       /* names of nodes; index = node */
    uint32_t *accelerator; /* accelerator number of each node, or RLT_NONE */
    uint32_t n_accelerators;
} rlt__json_graph;

/* Fills the graph part of spec. Arrays belong to the arena, ids to the caller, also on failure. */
int rlt__json_graph_read(rlt_json root, rlt_arena *arena, rlt__json_graph *graph, rlt_topology_spec *spec,
                         rlt_error *err);
/* Reads an endpoint over one that is set to defaults. */
int rlt__json_endpoint_read(rlt_json v, rlt_endpoint *e, rlt_error *err) RLT_MUST_USE;
/* Adds the choices of "auto" to spec; they belong to the arena. net/import/topo_json_auto.c */
int rlt__json_choices_read(rlt_json v, rlt_arena *arena, rlt_topology_spec *spec, rlt_error *err);
/* net/import/rest.c: reads the endpoint, choices, rings and routes that ringlet adds to other formats; `spec`
 * has its nodes. Arrays belong to the arena. Then numbers below a limit. */
int rlt__json_rest_read(rlt_json v, uint32_t accelerators, rlt_arena *arena, rlt_topology_spec *spec,
                        rlt_error *err) RLT_MUST_USE;
int rlt__json_list_read(rlt_json v, rlt_arena *arena, uint32_t below, uint32_t **out,
                        rlt_error *err) RLT_MUST_USE;
/* Returns the place of a value, kept in the arena; NULL when out of memory. */
const char *rlt__json_place(rlt_arena *arena, rlt_json v);

#endif
