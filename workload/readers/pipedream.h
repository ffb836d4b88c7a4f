/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The graphs of PipeDream's profiler (graph.txt). A line is a node or, after a tab, an edge:
 *
 *     node12 -- Conv2d(128, 256) -- forward_compute_time=MS, backward_compute_time=MS,
 *         activation_size=BYTES, parameter_size=BYTES [ -- stage_id=STAGE]               (one line)
 *     <tab>node12 -- node13
 *
 * An edge may come before its nodes. activation_size may be a list "[BYTES; BYTES]", which is added up. The
 * description may contain commas, equals signs and " -- ". Nodes whose description begins with Input provide
 * the data: the times they took to load it are dropped.
 */
#ifndef RLT_WORKLOAD_READERS_PIPEDREAM_H
#define RLT_WORKLOAD_READERS_PIPEDREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"

typedef struct rlt_pipedream_node {
    const char *name, *description; /* "node12"; "Conv2d(128, 256)", at most 200 bytes */
    uint32_t line;
    uint32_t stage; /* RLT_NONE: none */
    rlt_time forward_ps, backward_ps;
    uint64_t output_bytes, parameter_bytes;
    bool input;
} rlt_pipedream_node;

typedef struct rlt_pipedream_edge {
    uint32_t from, to; /* nodes */
} rlt_pipedream_edge;

typedef struct rlt_pipedream {
    uint32_t n, n_edges;
    uint32_t stages;           /* 0: none */
    rlt_pipedream_node *nodes; /* in the order in which the file names them first */
    rlt_pipedream_edge *edges;
    rlt_arena arena; /* texts */
} rlt_pipedream;

/* Returns how sure it is that a file with these first n bytes is such a graph, 0 to 100. */
int rlt__pipedream_probe(const char *head, size_t n);
/* Reads the text of a file; errors name `path` and the line. Refuses a graph without nodes, a node that no
 * line or more than one line defines, and stages of only some nodes or without nodes. Cycles are left to the
 * caller. Free it in every case. RLT_EMALFORMED, RLT_ESCHEMA, RLT_ERANGE, RLT_ENOMEM. */
int rlt__pipedream_parse(const char *path, const char *text, size_t length, rlt_pipedream *out,
                         rlt_error *err) RLT_MUST_USE;
void rlt__pipedream_free(rlt_pipedream *d);

#endif
