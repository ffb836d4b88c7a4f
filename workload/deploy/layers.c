/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes training graphs of layers, and base groups. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/deploy/opgraph.h"

typedef struct maker {
    rlt_opgraph_builder *builder;
    const rlt_layer_node *layers;
    uint32_t n;
    uint32_t *backward; /* backward operator of each layer, or RLT_NONE */
    const rlt_layer_costs *costs;
} maker;

static int check_layers(const rlt_layer_graph *l, rlt_error *err)
{
    const char *name = l->name;
    const rlt_layer_node *layers = l->layers;
    uint32_t n = l->n;
    if (n == 0)
        return rlt_fail(err, RLT_EMALFORMED, name, "the graph has no layers");
    if (n > RLT_MAX_OPERATORS / 3)
        return rlt_fail(err, RLT_ERANGE, name, "%u layers, where at most %d are possible", n,
                        RLT_MAX_OPERATORS / 3);
    for (uint32_t i = 0; i < 2 * l->n_edges; i++)
        if (l->edges[i] >= n)
            return rlt_fail(err, RLT_EMALFORMED, name, "an edge names layer %u, but there are only %u",
                            l->edges[i], n);
    for (uint32_t i = 0; i < n; i++)
        if (layers[i].forward_ps < 0 || layers[i].backward_ps < 0)
            return rlt_fail(err, RLT_ERANGE, layers[i].name, "a time below 0");
    return 0;
}

static uint32_t add(maker *m, uint32_t layer, rlt_operator_pass pass, rlt_time time_ps)
{
    static const char *const prefix[] = {"", "backward ", "update "};
    const rlt_layer_node *l = &m->layers[layer];
    char name[256];
    snprintf(name, sizeof name, "%s%s", prefix[pass], l->name);
    rlt_operator o = {.name = name,
                      .kind = l->kind,
                      .time_ps = time_ps,
                      .launch_ps = pass == RLT_OPERATOR_UPDATE ? 0 : m->costs->launch_ps,
                      .parameter_bytes = pass == RLT_OPERATOR_BACKWARD ? 0 : l->parameter_bytes,
                      .kept_bytes = pass == RLT_OPERATOR_FORWARD ? l->output_bytes : 0,
                      .forward = layer,
                      .together = l->parameter_bytes && pass != RLT_OPERATOR_BACKWARD ? layer : RLT_NONE,
                      .pass = (uint8_t)pass,
                      .splittable = pass != RLT_OPERATOR_UPDATE && !l->unsplittable};
    return rlt_opgraph_op(m->builder, &o);
}

static void connect(maker *m, uint32_t src, uint32_t dst, uint64_t bytes, rlt_tensor_kind kind)
{
    rlt_opgraph_tensor(m->builder, &(rlt_tensor){src, dst, bytes, (uint8_t)kind});
}

static void add_all(maker *m, const uint32_t *edges, uint32_t n_edges)
{
    for (uint32_t k = 0; k < m->n; k++)
        (void)add(m, k, RLT_OPERATOR_FORWARD, m->layers[k].input ? 0 : m->layers[k].forward_ps);
    for (uint32_t k = 0; k < m->n; k++)
        m->backward[k] =
            m->layers[k].input ? RLT_NONE : add(m, k, RLT_OPERATOR_BACKWARD, m->layers[k].backward_ps);
    for (uint32_t i = 0; i < n_edges; i++) {
        uint32_t a = edges[2 * i], b = edges[2 * i + 1];
        connect(m, a, b, m->layers[a].output_bytes, RLT_TENSOR_BATCHED);
        if (m->backward[a] != RLT_NONE && m->backward[b] != RLT_NONE)
            connect(m, m->backward[b], m->backward[a], m->layers[a].output_bytes, RLT_TENSOR_BATCHED);
    }
    for (uint32_t k = 0; k < m->n; k++) {
        const rlt_layer_node *l = &m->layers[k];
        if (m->backward[k] == RLT_NONE)
            continue;
        connect(m, k, m->backward[k], l->output_bytes, RLT_TENSOR_BATCHED);
        if (l->parameter_bytes == 0)
            continue;
        double us = (double)l->parameter_bytes / m->costs->update_bytes_per_us;
        uint32_t update = add(m, k, RLT_OPERATOR_UPDATE, (rlt_time)nearbyint(us * (double)RLT_US));
        connect(m, m->backward[k], update, l->parameter_bytes, RLT_TENSOR_GRADIENT);
    }
}

int rlt_opgraph_of_layers(const rlt_layer_graph *l, const rlt_layer_costs *costs, rlt_opgraph **out,
                          rlt_error *err)
{
    maker m = {.layers = l->layers, .n = l->n, .costs = costs};
    *out = NULL;
    int rc = check_layers(l, err);
    if (!rc && !(costs->update_bytes_per_us > 0))
        rc = rlt_fail(err, RLT_EUSAGE, l->name, "the optimizer needs more than 0 bytes a microsecond");
    if (rc || (rc = rlt_opgraph_begin(l->name, &m.builder, err)))
        return rc;
    m.backward = malloc((size_t)l->n * sizeof *m.backward);
    if (!m.backward) {
        rlt_opgraph_drop(m.builder);
        return rlt_nomem(err);
    }
    rlt_opgraph_batch(m.builder, l->batch);
    add_all(&m, l->edges, l->n_edges);
    free(m.backward);
    return rlt_opgraph_finish(m.builder, out, err);
}

/* Returns the representative of a set, and shortens the use to it. */
static uint32_t find(uint32_t *parent, uint32_t i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

int rlt_opgraph_base_groups(const rlt_opgraph *g, uint32_t *group, uint32_t *n, rlt_error *err)
{
    uint32_t *parent = malloc((size_t)g->n_ops * sizeof *parent);
    uint32_t *number = malloc((size_t)g->n_ops * sizeof *number);
    uint32_t *first =
        malloc((size_t)g->n_ops * sizeof *first); /* first operator with a value of `together` */
    int rc = parent && number && first ? 0 : rlt_nomem(err);
    *n = 0;
    for (uint32_t i = 0; i < g->n_ops && !rc; i++) {
        parent[i] = i;
        first[i] = number[i] = RLT_NONE;
    }
    for (uint32_t i = 0; i < g->n_ops && !rc; i++) {
        uint32_t t = g->ops[i].together;
        if (t == RLT_NONE)
            continue;
        if (first[t] == RLT_NONE)
            first[t] = i;
        else
            parent[find(parent, i)] = find(parent, first[t]);
    }
    for (uint32_t i = 0; i < g->n_tensors && !rc; i++) {
        const rlt_tensor *t = &g->tensors[i];
        bool from_input =
            g->in_first[t->src] == g->in_first[t->src + 1] && g->ops[t->src].pass == RLT_OPERATOR_FORWARD;
        if (t->kind == RLT_TENSOR_FULL && from_input)
            parent[find(parent, t->dst)] = find(parent, t->src);
    }
    for (uint32_t i = 0; i < g->n_ops && !rc; i++) {
        uint32_t r = find(parent, i);
        if (number[r] == RLT_NONE)
            number[r] = (*n)++;
        group[i] = number[r];
    }
    free(parent);
    free(number);
    free(first);
    return rc;
}
