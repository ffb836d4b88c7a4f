/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PipeDream's graph, between its reader and the builder of programs with stages. */
#ifndef RLT_WORKLOAD_READERS_PIPEDREAM_H
#define RLT_WORKLOAD_READERS_PIPEDREAM_H

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "workload/program/program.h"
#include "workload/readers/layers.h"

typedef struct rlt_pipedream_node {
    uint32_t stage, first_line; /* stage RLT_NONE: none */
    uint64_t activation;
    bool input;
} rlt_pipedream_node;

typedef struct rlt_pipedream_edge {
    uint32_t from, to;
} rlt_pipedream_edge;

typedef struct rlt_pipedream {
    rlt_layer_table t; /* layer i is node i */
    rlt_strings ids;   /* names of nodes, by number */
    rlt_pipedream_node *nodes;
    rlt_pipedream_edge *edges;
    uint32_t n_edges, stages; /* stages 0: none */
    uint32_t *order;          /* nodes, each after the nodes it needs */
} rlt_pipedream;

/* Builds the program. t.ranks must be a multiple of the number of stages. */
int rlt__pipedream_stages(const rlt_pipedream *d, uint64_t hash, rlt_program **out,
                          rlt_error *err) RLT_MUST_USE;

#endif
