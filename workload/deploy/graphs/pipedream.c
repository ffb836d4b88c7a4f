/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes an operator graph of the layers that PipeDream's profiler lists. Stages are left out: placement is
 * what deployment decides. The batch follows from the bytes of the only input if it holds images of
 * 3 x 224 x 224 floats.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "workload/deploy/graphs/graphs.h"
#include "workload/deploy/opgraph.h"
#include "workload/readers/pipedream.h"

enum { IMAGE_BYTES = 4 * 3 * 224 * 224 };

static bool probe(const char *head, size_t n)
{
    return rlt__pipedream_probe(head, n) > 0;
}

/* Returns the number of images in the only input, or `otherwise`. */
static uint32_t batch_of(const rlt_pipedream *d, uint32_t otherwise)
{
    uint64_t bytes = 0;
    uint32_t inputs = 0;
    for (uint32_t i = 0; i < d->n; i++)
        if (d->nodes[i].input) {
            inputs++;
            bytes = d->nodes[i].output_bytes;
        }
    uint64_t images = bytes / IMAGE_BYTES;
    bool known = inputs == 1 && images && images * IMAGE_BYTES == bytes;
    return known ? (uint32_t)images : otherwise;
}

/* Makes the layers. Their kind is the first word of the description: "Conv2d". */
static int make_layers(rlt_pipedream *d, rlt_layer_node *layers, uint32_t *edges, rlt_error *err)
{
    for (uint32_t i = 0; i < d->n; i++) {
        const rlt_pipedream_node *k = &d->nodes[i];
        layers[i] = (rlt_layer_node){
            .name = k->name,
            .kind = rlt_arena_strndup(&d->arena, k->description, strcspn(k->description, "(")),
            .forward_ps = k->forward_ps,
            .backward_ps = k->backward_ps,
            .output_bytes = k->output_bytes,
            .parameter_bytes = k->parameter_bytes,
            .input = k->input};
        if (!layers[i].kind)
            return rlt_nomem(err);
    }
    for (uint32_t i = 0; i < d->n_edges; i++) {
        edges[2 * i] = d->edges[i].from;
        edges[2 * i + 1] = d->edges[i].to;
    }
    return 0;
}

static int read(const char *path, const char *text, size_t length, const rlt_graph_options *o,
                rlt_opgraph **out, rlt_error *err)
{
    rlt_pipedream d;
    char name[64];
    int rc = rlt__pipedream_parse(path, text, length, &d, err);
    rlt_layer_node *layers = malloc(((size_t)d.n + 1) * sizeof *layers);
    uint32_t *edges = malloc((2 * (size_t)d.n_edges + 1) * sizeof *edges);
    if (!rc)
        rc = layers && edges ? make_layers(&d, layers, edges, err) : rlt_nomem(err);
    rlt__graph_name(path, name, sizeof name);
    if (!rc)
        rc = rlt_opgraph_of_layers(
            &(rlt_layer_graph){name, batch_of(&d, o->batch), layers, d.n, edges, d.n_edges}, &o->costs, out,
            err);
    rlt__pipedream_free(&d);
    free(layers);
    free(edges);
    return rc;
}

const rlt_graph_reader rlt__graph_pipedream = {
    .name = "pipedream",
    .summary = "layer graph of PipeDream's profiler (graph.txt)",
    .probe = probe,
    .read = read,
};
