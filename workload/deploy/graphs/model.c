/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A model of workload/models as an operator graph: its layers one after the other, each with a forward and a
 * backward operator. Times follow from FLOPs and bytes on an accelerator, as in a training on one device.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/text.h"
#include "workload/deploy/graphs/graphs.h"
#include "workload/deploy/opgraph.h"
#include "workload/models/accelerator.h"
#include "workload/models/layer.h"
#include "workload/models/model.h"

enum { DEFAULT_BATCH = 32 };

/* The accelerator that times follow from. */
typedef struct device {
    rlt_accelerator a;
    rlt_roofline roofline;
    uint32_t element_bytes;
} device;

static int open_device(const rlt_graph_options *o, device *d, rlt_error *err)
{
    const char *precision = o->precision ? o->precision : "fp32";
    int rc = rlt_accelerator_load(o->accelerator ? o->accelerator : "v100", o->accelerator_dirs, &d->a, err);
    if (!rc)
        rc = rlt_accelerator_roofline(&d->a, "any", precision, &d->roofline, err);
    d->roofline.launch_ps = 0; /* the options state it */
    d->element_bytes = strncmp(precision, "fp32", 4) == 0 || strncmp(precision, "tf32", 4) == 0 ? 4 : 2;
    if (!rc && o->notes)
        rlt_growing_add(o->notes, "times are estimated: roofline of %s in %s\n", d->a.name, precision);
    return rc;
}

static rlt_layer_node node_of(const device *d, const rlt_model *m, uint32_t i, uint32_t batch)
{
    const rlt_model_layer *l = &m->layers[i];
    const rlt_layer_share share = {.samples = batch,
                                   .tp = 1,
                                   .ep = 1,
                                   .element_bytes = d->element_bytes,
                                   .gradient_bytes = d->element_bytes,
                                   .slowdown = 1};
    double passes[3];
    for (int k = 0; k < 3; k++)
        passes[k] = rlt_layer_time(m, i, &d->roofline, &share, (rlt_layer_pass)k);
    double output = (double)l->output_elements * batch * d->element_bytes;
    double parameters = (double)(l->parameters + l->expert_parameters) * d->element_bytes;
    return (rlt_layer_node){.name = l->name,
                            .kind = "layer",
                            .forward_ps = rlt_time_of(passes[RLT_LAYER_FORWARD]),
                            .backward_ps = rlt_time_of(passes[RLT_LAYER_INPUTS] + passes[RLT_LAYER_WEIGHTS]),
                            .output_bytes = (uint64_t)output,
                            .parameter_bytes = (uint64_t)parameters};
}

int rlt_opgraph_of_model(const char *spec, const rlt_graph_options *o, rlt_opgraph **out, rlt_error *err)
{
    rlt_model m = {0};
    device d = {0};
    uint32_t batch = o->batch ? o->batch : DEFAULT_BATCH;
    rlt_layer_node *nodes = NULL;
    uint32_t *edges = NULL;
    *out = NULL;
    int rc = rlt_model_open(spec, &m, err);
    if (rc)
        return rc;
    if (!(rc = open_device(o, &d, err))) {
        nodes = malloc((size_t)m.n_layers * sizeof *nodes);
        edges = malloc(2 * (size_t)m.n_layers * sizeof *edges);
        rc = nodes && edges ? 0 : rlt_nomem(err);
    }
    for (uint32_t i = 0; i < m.n_layers && !rc; i++) {
        nodes[i] = node_of(&d, &m, i, batch);
        edges[2 * i] = i;
        edges[2 * i + 1] = i + 1;
    }
    if (!rc) {
        rlt_layer_graph g = {m.name, batch, nodes, m.n_layers, edges, m.n_layers - 1};
        rc = rlt_opgraph_of_layers(&g, &o->costs, out, err);
    }
    free(nodes);
    free(edges);
    rlt_model_free(&m);
    return rc;
}
