/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Readers of operator graphs. The format is recognised by content. A reader is one file and one line in the
 * table of graphs.c.
 */
#ifndef RLT_WORKLOAD_DEPLOY_GRAPHS_GRAPHS_H
#define RLT_WORKLOAD_DEPLOY_GRAPHS_GRAPHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/text.h"
#include "workload/deploy/opgraph.h"

enum { RLT_MAX_GRAPH_FILE = 1 << 28 };

typedef struct rlt_graph_options {
    rlt_layer_costs costs; /* for formats that list layers */
    /* Samples of the whole batch, where the file does not say; 0: unknown. An ONNX model that leaves its
     * batch open gets 32 then; one that fixes its batch is scaled to this number. A trace needs it. */
    uint32_t batch;
    /* For formats without times, such as ONNX: */
    const char *accelerator;      /* a file, or a name in accelerator_dirs; NULL: "v100" */
    const char *accelerator_dirs; /* see sim/base/find.h; NULL: none */
    const char *precision;        /* NULL: "fp32" */
    rlt_growing *notes;           /* gets a line for each assumption of the reader; NULL: nobody reads them */
} rlt_graph_options;
#define RLT_GRAPH_OPTIONS_DEFAULT ((rlt_graph_options){.costs = RLT_LAYER_COSTS_DEFAULT})

typedef struct rlt_graph_reader {
    const char *name, *summary;
    /* Returns true if a file whose first n bytes are `head` is of this format. */
    bool (*probe)(const char *head, size_t n);
    /* Reads the content of a file. Errors name the file with line and column, or byte. */
    int (*read)(const char *path, const char *text, size_t length, const rlt_graph_options *o,
                rlt_opgraph **out, rlt_error *err);
} rlt_graph_reader;

/* Reads a graph file of any of the formats ("-": standard input, except for traces). RLT_EMALFORMED names the
 * formats that are known if it is none of them. */
int rlt_opgraph_read(const char *path, const rlt_graph_options *o, rlt_opgraph **out,
                     rlt_error *err) RLT_MUST_USE;

/* Makes the graph of a model, named as in rlt_model_open: its layers one after the other. The batch is 32
 * unless the options say another. */
int rlt_opgraph_of_model(const char *spec, const rlt_graph_options *o, rlt_opgraph **out,
                         rlt_error *err) RLT_MUST_USE;

/* Names a graph after its file: the base name up to the first dot. */
void rlt__graph_name(const char *path, char *name, size_t size);

extern const rlt_graph_reader rlt__graph_pipedream, rlt__graph_placement, rlt__graph_onnx, rlt__graph_trace;

#endif
