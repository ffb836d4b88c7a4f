/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads ONNX models. A file has no times: those are estimated by the roofline of an accelerator, without its
 * launch, which the options state. The backward pass takes twice the time of the forward pass for operators
 * with weights and for matrix products, once for the others.
 *
 * Constants, and nodes that only compute shapes, disappear. So do Reshape and its like: their consumers read
 * their input. Each output of a Split is a layer of its own, because edges carry all of a layer's output.
 *
 * Weights are the floating-point constants that operators with weights read (see onnx_cost.c). Light models,
 * in which ConstantOfShape makes the weights, are read alike.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/text/protowire.h"
#include "workload/deploy/graphs/graphs.h"
#include "workload/deploy/graphs/onnx.h"
#include "workload/deploy/opgraph.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"

typedef struct clock {
    rlt_accelerator accelerator;
    rlt_roofline forward, backward;
} clock;

typedef struct layers {
    rlt__onnx *m;
    const clock *clock;
    rlt_layer_node *at;
    uint32_t *reader; /* the layer that last got an edge from this one */
    uint32_t *edges;
    uint32_t n, room, readers_room, n_edges, edges_room;
} layers;

/* ---- times ---- */

static int set_clock(rlt__onnx *m, clock *c)
{
    const rlt_graph_options *o = m->options;
    const char *name = o->accelerator ? o->accelerator : "v100";
    const char *precision = o->precision ? o->precision : "fp32";
    int rc;
    if ((rc = rlt_accelerator_load(name, o->accelerator_dirs, &c->accelerator, m->err)) ||
        (rc = rlt_accelerator_roofline(&c->accelerator, NULL, precision, &c->forward, m->err)))
        return rc;
    c->forward.launch_ps = 0;
    c->backward = c->forward;
    for (int k = 0; k < RLT_WORK_KINDS; k++)
        c->backward.most[k] *= c->backward.backward;
    m->element = strcmp(precision, "fp16") == 0 || strcmp(precision, "bf16") == 0 ? 2
                 : strncmp(precision, "fp8", 3) == 0                              ? 1
                 : strcmp(precision, "fp64") == 0                                 ? 8
                                                                                  : 4;
    rlt__onnx_note(m, "times are estimated: roofline of %s in %s", c->accelerator.name, precision);
    return 0;
}

/* Returns the time of `times` times the work. */
static rlt_time time_of(const rlt_roofline *s, const rlt__onnx_work *w, double times)
{
    rlt_work work = {.kind = (rlt_work_kind)w->kind,
                     .flop = w->flop * times,
                     .bytes = w->bytes * times,
                     .m = w->rows,
                     .n = w->width,
                     .k = w->width};
    return rlt_roofline_time(s, &work);
}

/* ---- layers ---- */

static int add_layer(layers *l, const rlt_layer_node *layer, uint32_t *index)
{
    int rc;
    if ((rc = rlt_grow(&l->at, &l->room, sizeof *l->at, (uint64_t)l->n + 1, RLT_MAX_OPERATORS, "layers",
                       l->m->err)) ||
        (rc = rlt_grow(&l->reader, &l->readers_room, sizeof *l->reader, (uint64_t)l->n + 1, RLT_MAX_OPERATORS,
                       "layers", l->m->err)))
        return rc;
    l->at[l->n] = *layer;
    l->reader[l->n] = RLT_NONE;
    *index = l->n++;
    return 0;
}

static uint64_t bytes_of(const layers *l, const rlt__onnx_value *v)
{
    return (uint64_t)nearbyint(rlt__onnx_bytes(l->m, v));
}

/* Finds the layer that computes a value; RLT_NONE: a constant. Inputs become layers when they are read. */
static int source(layers *l, uint32_t value, uint32_t *from)
{
    rlt__onnx *m = l->m;
    rlt__onnx_value *v = &m->values[value];
    *from = v->layer;
    if (v->constant || v->layer != RLT_NONE || !v->input)
        return 0;
    rlt_layer_node layer = {.name = rlt_arena_strdup(&m->arena, rlt_interned(&m->names, value)),
                            .kind = "Input",
                            .output_bytes = bytes_of(l, v),
                            .input = true};
    int rc = layer.name ? add_layer(l, &layer, &v->layer) : rlt_nomem(m->err);
    *from = v->layer;
    return rc;
}

static int connect(layers *l, const rlt__onnx_node *n, uint32_t to)
{
    uint32_t from;
    int rc = 0;
    for (uint32_t i = 0; i < n->n_inputs && !rc; i++) {
        if (n->inputs[i] == RLT_NONE || (rc = source(l, n->inputs[i], &from)) || from == RLT_NONE ||
            l->reader[from] == to)
            continue;
        rc = rlt_grow(&l->edges, &l->edges_room, sizeof *l->edges, 2 * (uint64_t)l->n_edges + 2,
                      2 * RLT_MAX_TENSORS, "edges", l->m->err);
        if (rc)
            break;
        l->edges[2 * l->n_edges] = from;
        l->edges[2 * l->n_edges + 1] = to;
        l->n_edges++;
        l->reader[from] = to;
    }
    return rc;
}

/* Adds the layer of output k of a node; `all`: of all its outputs. */
static int add_output(layers *l, const rlt__onnx_node *n, rlt__onnx_work w, uint32_t k, bool all)
{
    rlt__onnx *m = l->m;
    rlt__onnx_value *v = &m->values[n->outputs[k]];
    uint32_t index;
    if (!all)
        w.bytes = 2 * rlt__onnx_bytes(m, v);
    const char *name = all ? n->name : rlt_arena_printf(&m->arena, "%s.%" PRIu32, n->name, k);
    if (!name)
        return rlt_nomem(m->err);
    rlt_layer_node layer = {.name = name,
                            .kind = n->kind,
                            .forward_ps = time_of(&l->clock->forward, &w, 1),
                            .backward_ps = time_of(&l->clock->backward, &w, w.twice ? 2 : 1),
                            .output_bytes = bytes_of(l, v),
                            .parameter_bytes = (uint64_t)(w.parameters * m->element)};
    int rc = add_layer(l, &layer, &index);
    for (uint32_t i = k; i < n->n_outputs && !rc && (all || i == k); i++)
        if (n->outputs[i] != RLT_NONE)
            m->values[n->outputs[i]].layer = index;
    return rc ? rc : connect(l, n, index);
}

static int add_node(layers *l, const rlt__onnx_node *n)
{
    rlt__onnx *m = l->m;
    rlt__onnx_work w;
    int rc = 0;
    if (m->values[n->outputs[0]].constant)
        return 0;
    if (n->op->cost == RLT__ONNX_VIEW)
        return source(l, n->inputs[0], &m->values[n->outputs[0]].layer);
    rlt__onnx_work_of(m, n, &w);
    if (strcmp(n->kind, "Split") != 0)
        return add_output(l, n, w, 0, true);
    for (uint32_t k = 0; k < n->n_outputs && !rc; k++)
        if (n->outputs[k] != RLT_NONE)
            rc = add_output(l, n, w, k, false);
    return rc;
}

static int make_graph(rlt__onnx *m, rlt_opgraph **out)
{
    clock c;
    layers l = {.m = m, .clock = &c};
    char name[64];
    int rc = set_clock(m, &c);
    for (uint32_t i = 0; i < m->n_nodes && !rc; i++)
        rc = add_node(&l, &m->nodes[m->order[i]]);
    rlt__graph_name(m->path, name, sizeof name);
    if (!rc && l.n == 0)
        rc = rlt_fail(m->err, RLT_EMALFORMED, m->path, "no node depends on an input");
    if (!rc)
        rc = rlt_opgraph_of_layers(
            &(rlt_layer_graph){name, (uint32_t)nearbyint(m->batch * m->scale), l.at, l.n, l.edges, l.n_edges},
            &m->options->costs, out, m->err);
    free(l.at);
    free(l.reader);
    free(l.edges);
    return rc;
}

/* ---- the reader ---- */

/* A model begins with fields of a ModelProto, up to its graph. Text files do not: '{' is no field's key. */
static bool probe(const char *head, size_t n)
{
    enum { IR_VERSION = 1, MODEL_VERSION = 5, GRAPH = 7, OPSET = 8, METADATA = 14 };
    rlt_pb r = {(const uint8_t *)head, (const uint8_t *)head + n};
    uint32_t known = 0;
    uint64_t key;
    while (r.at < r.end) {
        rlt_pb_field f;
        rlt_pb ahead = r;
        if (rlt__pb_varint(&ahead, &key) < 0)
            return false;
        bool number = key >> 3 == IR_VERSION || key >> 3 == MODEL_VERSION;
        bool text = (key >> 3 > IR_VERSION && key >> 3 <= OPSET && !number) || key >> 3 == METADATA;
        if (!(number && (key & 7) == RLT_PB_VARINT) && !(text && (key & 7) == RLT_PB_BYTES))
            return false;
        known++;
        /* A truncated graph is an ONNX model, too: the reader names the byte. */
        if (key >> 3 == GRAPH || rlt__pb_next(&r, &f) < 0)
            return known > 1;
    }
    return known > 1;
}

static int read(const char *path, const char *text, size_t length, const rlt_graph_options *o,
                rlt_opgraph **out, rlt_error *err)
{
    rlt__onnx m = {.path = path, .options = o, .err = err};
    int rc = rlt__onnx_parse(&m, text, length);
    if (!rc && m.external)
        rlt__onnx_note(&m, "%" PRIu32 " tensors have their contents in other files: their sizes suffice",
                       m.external);
    if (!rc && !(rc = rlt__onnx_shapes(&m)))
        rc = make_graph(&m, out);
    rlt_arena_free(&m.arena);
    rlt_strings_free(&m.names);
    rlt_strings_free(&m.symbols);
    free(m.values);
    free(m.nodes);
    return rc;
}

const rlt_graph_reader rlt__graph_onnx = {
    .name = "onnx",
    .summary = "ONNX model (operator sets 7 to 24); times by the roofline of an accelerator",
    .probe = probe,
    .read = read,
};
