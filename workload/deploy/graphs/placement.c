/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads the inputs of msr-fiddle/dnn-partitioning (NeurIPS 2020), JSON:
 *
 *     {"nodes": [{"id": 3, "fpgaLatency": 0.696, "isBackwardNode": 0, "colorClass": 3, "size": 131325952}],
 *      "edges": [{"sourceId": 3, "destId": 5, "cost": 0.002, "size": 4194304}], ...}
 *
 * fpgaLatency is the accelerator's time in ms; "FPGA" stands for any accelerator. Operators with one
 * colorClass stand together. An edge needs its size: its cost is a time on somebody else's bus. Limits of
 * the machine, cpuLatency, and the support of operators by the accelerator are not used.
 *
 * There are two kinds of training graphs. In operator graphs the weights are nodes. An update is a backward
 * node that feeds nobody and has two inputs of one size, a backward node and a source. That source is a
 * weight.
 *
 * In layer graphs no edge leads from the forward to the backward nodes, and backward edges run parallel to
 * forward edges, although gradients flow the other way. Then, for each layer k with forward node F, backward
 * node B and outputs of size s:
 *
 *     F(k) -> B(k) of s(k);  B(b) -> B(a) of the size of F(a) -> F(b);  weights = size(k) - s(k)
 *
 * and a layer with weights gets an update, as in rlt_opgraph_of_layers. A layer that feeds nobody gets s from
 * the backward edges into its B. Example: resnet50_training has 177 layers with 102 228 128 bytes of weights.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "workload/deploy/graphs/graphs.h"
#include "workload/deploy/opgraph.h"

enum { HEAD = 1 << 16 };

typedef struct node {
    rlt_json at;
    uint64_t id, size, output; /* output: bytes of the largest edge out of it */
    rlt_time time_ps;
    uint32_t together; /* first node of its color class; RLT_NONE: none */
    uint32_t mate;     /* layer graphs: the node of the other pass. Updates: the weight */
    uint32_t n_in, n_out;
    uint64_t weights; /* bytes */
    uint8_t pass;     /* rlt_operator_pass */
    bool weight;      /* the node is a weight */
} node;

typedef struct edge {
    rlt_json at;
    uint32_t src, dst; /* nodes */
    uint64_t bytes;
} edge;

typedef struct reader {
    node *nodes;
    edge *edges;
    uint32_t n, n_edges;
    bool layers; /* layer graph of a training */
    const rlt_graph_options *options;
    rlt_error *err;
} reader;

static int get_flag(rlt_json v, const char *key, bool *flag, rlt_error *err)
{
    rlt_json m = rlt_json_get(v, key);
    uint64_t one = 0;
    int rc = 0;
    *flag = rlt_json_is_true(m);
    if (rlt_json_is_number(m) && !(rc = rlt_json_get_u64(v, key, true, 1, &one, err)))
        *flag = one == 1;
    return rc;
}

/* Reads a number of at least 0, times `scale`, rounded to nearest. */
static int get_amount(rlt_json v, const char *key, double scale, uint64_t *out, rlt_error *err)
{
    const double most = 9007199254740992.0; /* 2^53 */
    double x = 0;
    int rc = rlt_json_get_double(v, key, true, &x, err);
    if (!rc && !(x >= 0 && x * scale <= most))
        rc = rlt_json_fail(rlt_json_get(v, key), RLT_ERANGE, err, "expected a number from 0 to %g",
                           most / scale);
    *out = rc ? 0 : (uint64_t)nearbyint(x * scale);
    return rc;
}

static int read_node(reader *r, rlt_json v, rlt_map *ids, rlt_map *classes)
{
    node *x = &r->nodes[r->n];
    uint64_t time, class = 0;
    bool backward;
    int rc;
    *x = (node){.at = v, .together = RLT_NONE, .mate = RLT_NONE};
    if (!rlt_json_is_object(v))
        return rlt_json_fail(v, RLT_ESCHEMA, r->err, "expected a node, an object");
    if ((rc = rlt_json_get_u64(v, "id", true, UINT64_MAX / 2, &x->id, r->err)) ||
        (rc = get_amount(v, "fpgaLatency", (double)RLT_MS, &time, r->err)) ||
        (rc = get_amount(v, "size", 1, &x->size, r->err)) ||
        (rc = get_flag(v, "isBackwardNode", &backward, r->err)) ||
        (rc = rlt_json_get_u64(v, "colorClass", false, UINT64_MAX / 2, &class, r->err)))
        return rc;
    x->time_ps = (rlt_time)time;
    x->pass = backward ? RLT_OPERATOR_BACKWARD : RLT_OPERATOR_FORWARD;
    if (rlt_map_get(ids, x->id) != RLT_NONE)
        return rlt_json_fail(v, RLT_ESCHEMA, r->err, "a second node has the id %" PRIu64, x->id);
    if (rlt_map_put(ids, x->id, r->n))
        return rlt_nomem(r->err);
    if (rlt_json_is(rlt_json_get(v, "colorClass"))) {
        x->together = rlt_map_get(classes, class);
        if (x->together == RLT_NONE && rlt_map_put(classes, class, x->together = r->n))
            return rlt_nomem(r->err);
    }
    r->n++;
    return 0;
}

static int read_end(const reader *r, rlt_json v, const char *key, const rlt_map *ids, uint32_t *end)
{
    uint64_t id = 0;
    int rc = rlt_json_get_u64(v, key, true, UINT64_MAX / 2, &id, r->err);
    *end = rc ? RLT_NONE : rlt_map_get(ids, id);
    if (!rc && *end == RLT_NONE)
        rc = rlt_json_fail(rlt_json_get(v, key), RLT_ESCHEMA, r->err, "no node has the id %" PRIu64, id);
    return rc;
}

static int read_edge(reader *r, rlt_json v, const rlt_map *ids)
{
    edge *e = &r->edges[r->n_edges];
    int rc;
    *e = (edge){.at = v};
    if (!rlt_json_is_object(v))
        return rlt_json_fail(v, RLT_ESCHEMA, r->err, "expected an edge, an object");
    if ((rc = read_end(r, v, "sourceId", ids, &e->src)) || (rc = read_end(r, v, "destId", ids, &e->dst)) ||
        (rc = get_amount(v, "size", 1, &e->bytes, r->err)))
        return rc;
    node *a = &r->nodes[e->src], *b = &r->nodes[e->dst];
    a->n_out++;
    b->n_in++;
    if (a->output < e->bytes)
        a->output = e->bytes;
    if (a->pass == RLT_OPERATOR_BACKWARD && b->pass == RLT_OPERATOR_FORWARD)
        return rlt_json_fail(v, RLT_ESCHEMA, r->err, "an edge from a backward node to a forward node");
    r->n_edges++;
    return 0;
}

static int read_all(reader *r, rlt_json root)
{
    rlt_map ids = {0}, classes = {0};
    rlt_json nodes = rlt_json_get(root, "nodes"), edges = rlt_json_get(root, "edges");
    if (!rlt_json_is_array(nodes) || !rlt_json_is_array(edges))
        return rlt_json_fail(root, RLT_ESCHEMA, r->err, "expected 'nodes' and 'edges', two arrays");
    uint32_t n = rlt_json_count(nodes), m = rlt_json_count(edges);
    if (n > RLT_MAX_OPERATORS / 2 || m > RLT_MAX_TENSORS / 2)
        return rlt_json_fail(root, RLT_ERANGE, r->err, "expected at most %d nodes and %d edges",
                             RLT_MAX_OPERATORS / 2, RLT_MAX_TENSORS / 2);
    r->nodes = calloc((size_t)n + 1, sizeof *r->nodes);
    r->edges = calloc((size_t)m + 1, sizeof *r->edges);
    int rc = r->nodes && r->edges ? 0 : rlt_nomem(r->err);
    for (rlt_json v = rlt_json_first(nodes); rlt_json_is(v) && !rc; v = rlt_json_next(v))
        rc = read_node(r, v, &ids, &classes);
    for (rlt_json v = rlt_json_first(edges); rlt_json_is(v) && !rc; v = rlt_json_next(v))
        rc = read_edge(r, v, &ids);
    rlt_map_free(&ids);
    rlt_map_free(&classes);
    return rc;
}

/* ---- operator graphs ---- */

/* Finds weights and updates: inputs[2 * i] and inputs[2 * i + 1] become the two edges into node i. */
static int find_weights(reader *r)
{
    uint32_t *inputs = malloc(((size_t)r->n + 1) * 2 * sizeof *inputs), *met = calloc((size_t)r->n + 1, 4);
    int rc = inputs && met ? 0 : rlt_nomem(r->err);
    for (uint32_t i = 0; i < r->n_edges && !rc; i++) {
        uint32_t to = r->edges[i].dst;
        if (met[to] < 2)
            inputs[2 * to + met[to]++] = i;
    }
    for (uint32_t i = 0; i < r->n && !rc; i++) {
        node *x = &r->nodes[i];
        if (x->pass != RLT_OPERATOR_BACKWARD || x->n_out || x->n_in != 2)
            continue;
        const edge *a = &r->edges[inputs[2 * i]], *b = &r->edges[inputs[2 * i + 1]];
        if (r->nodes[a->src].pass == RLT_OPERATOR_BACKWARD) {
            const edge *other = a;
            a = b;
            b = other;
        }
        node *w = &r->nodes[a->src];
        if (w->pass != RLT_OPERATOR_FORWARD || w->n_in || r->nodes[b->src].pass != RLT_OPERATOR_BACKWARD ||
            a->bytes != b->bytes)
            continue;
        x->pass = RLT_OPERATOR_UPDATE;
        x->mate = a->src;
        x->weights = w->weights = w->size;
        w->weight = true;
    }
    free(inputs);
    free(met);
    return rc;
}

/* ---- layer graphs ---- */

/* Finds out whether the file is a layer graph of a training. Pairs forward and backward nodes. */
static int pair_layers(reader *r)
{
    uint32_t backward = 0;
    for (uint32_t i = 0; i < r->n; i++)
        backward += r->nodes[i].pass == RLT_OPERATOR_BACKWARD;
    for (uint32_t i = 0; i < r->n_edges; i++)
        if (r->nodes[r->edges[i].src].pass != r->nodes[r->edges[i].dst].pass)
            return 0;
    if (!backward)
        return 0;
    r->layers = true;
    for (uint32_t i = 0; i < r->n; i++) {
        node *x = &r->nodes[i], *first = x->together == RLT_NONE ? x : &r->nodes[x->together];
        if (first == x)
            continue;
        if (first->mate != RLT_NONE || first->pass == x->pass)
            return rlt_json_fail(x->at, RLT_ESCHEMA, r->err,
                                 "no edge joins the passes: expected one forward and one backward node in "
                                 "each colorClass");
        first->mate = i;
        x->mate = x->together;
    }
    for (uint32_t i = 0; i < r->n; i++)
        if (r->nodes[i].pass == RLT_OPERATOR_BACKWARD && r->nodes[i].mate == RLT_NONE)
            return rlt_json_fail(r->nodes[i].at, RLT_ESCHEMA, r->err,
                                 "no edge joins the passes: expected a forward node of the same colorClass");
    return 0;
}

static uint64_t ends(uint32_t src, uint32_t dst)
{
    return (uint64_t)src << 32 | dst;
}

/* Turns the backward edges round, and derives the sizes of weights. */
static int turn_backward_edges(reader *r)
{
    rlt_map forward = {0}; /* ends of a forward edge -> edge */
    int rc = 0;
    for (uint32_t i = 0; i < r->n_edges && !rc; i++) {
        const edge *e = &r->edges[i];
        if (r->nodes[e->src].pass == RLT_OPERATOR_FORWARD && rlt_map_put(&forward, ends(e->src, e->dst), i))
            rc = rlt_nomem(r->err);
    }
    for (uint32_t i = 0; i < r->n_edges && !rc; i++) {
        edge *e = &r->edges[i];
        const node *a = &r->nodes[e->src], *b = &r->nodes[e->dst];
        if (a->pass == RLT_OPERATOR_FORWARD)
            continue;
        uint32_t with = rlt_map_get(&forward, ends(a->mate, b->mate));
        if (with == RLT_NONE) /* written in the direction of the gradients */
            continue;
        node *layer = &r->nodes[b->mate];
        if (layer->n_out == 0 && layer->output < e->bytes)
            layer->output = e->bytes;
        *e = (edge){e->at, e->dst, e->src, r->edges[with].bytes};
    }
    rlt_map_free(&forward);
    for (uint32_t i = 0; i < r->n && !rc; i++) {
        node *x = &r->nodes[i];
        if (x->pass == RLT_OPERATOR_FORWARD && x->mate != RLT_NONE && x->size > x->output && x->time_ps)
            x->weights = x->size - x->output;
    }
    return rc;
}

/* ---- building ---- */

static const char *name_of(const node *x, char *buffer, size_t size)
{
    const char *name = rlt_json_string(rlt_json_get(x->at, "name"));
    if (name && *name)
        snprintf(buffer, size, "%s", name);
    else
        snprintf(buffer, size, "node%" PRIu64, x->id);
    return buffer;
}

static void add_operator(const reader *r, rlt_opgraph_builder *b, uint32_t i)
{
    const node *x = &r->nodes[i];
    char name[200];
    bool update = x->pass == RLT_OPERATOR_UPDATE, forward = x->pass == RLT_OPERATOR_FORWARD;
    rlt_operator o = {.name = name_of(x, name, sizeof name),
                      .kind = x->weight ? "Weight"
                              : update  ? "Update"
                                        : "Operator",
                      .time_ps = x->time_ps,
                      .launch_ps = x->time_ps && !update ? r->options->costs.launch_ps : 0,
                      .parameter_bytes = x->weights,
                      .kept_bytes = x->weight || update ? 0
                                    : r->layers         ? (forward ? x->size - x->weights : 0)
                                                        : x->size,
                      .forward = forward || x->mate == RLT_NONE ? i : x->mate,
                      .together = x->together,
                      .pass = x->pass,
                      .splittable = !x->weight && !update};
    (void)rlt_opgraph_op(b, &o);
}

/* Adds what layer graphs leave out: tensors from the forward to the backward node, and the updates. */
static void add_layer(const reader *r, rlt_opgraph_builder *b, uint32_t i)
{
    const node *x = &r->nodes[i];
    char name[256] = "update ";
    if (x->pass != RLT_OPERATOR_FORWARD || x->mate == RLT_NONE)
        return;
    rlt_opgraph_tensor(b, &(rlt_tensor){i, x->mate, x->output, RLT_TENSOR_BATCHED});
    if (!x->weights)
        return;
    double us = (double)x->weights / r->options->costs.update_bytes_per_us;
    (void)name_of(x, name + strlen(name), sizeof name - strlen(name));
    uint32_t update = rlt_opgraph_op(b, &(rlt_operator){.name = name,
                                                        .kind = "Update",
                                                        .time_ps = (rlt_time)nearbyint(us * (double)RLT_US),
                                                        .parameter_bytes = x->weights,
                                                        .forward = i,
                                                        .together = x->together,
                                                        .pass = RLT_OPERATOR_UPDATE});
    rlt_opgraph_tensor(b, &(rlt_tensor){x->mate, update, x->weights, RLT_TENSOR_GRADIENT});
}

static int build(const reader *r, const char *path, rlt_opgraph **out)
{
    rlt_opgraph_builder *b;
    char name[64];
    rlt__graph_name(path, name, sizeof name);
    int rc = rlt_opgraph_begin(name, &b, r->err);
    if (rc)
        return rc;
    rlt_opgraph_batch(b, r->options->batch);
    for (uint32_t i = 0; i < r->n; i++)
        add_operator(r, b, i);
    for (uint32_t i = 0; i < r->n_edges; i++) {
        const edge *e = &r->edges[i];
        uint8_t kind = r->nodes[e->src].weight                        ? RLT_TENSOR_FULL
                       : r->nodes[e->dst].pass == RLT_OPERATOR_UPDATE ? RLT_TENSOR_GRADIENT
                                                                      : RLT_TENSOR_BATCHED;
        rlt_opgraph_tensor(b, &(rlt_tensor){e->src, e->dst, e->bytes, kind});
    }
    for (uint32_t i = 0; i < r->n && r->layers; i++)
        add_layer(r, b, i);
    return rlt_opgraph_finish(b, out, r->err);
}

static bool probe(const char *head, size_t n)
{
    static const char key[] = "\"fpgaLatency\"";
    size_t k = sizeof key - 1, i = 0;
    while (i < n && strchr(" \t\r\n", head[i]) && head[i])
        i++;
    if (i == n || head[i] != '{')
        return false;
    for (n = n < HEAD ? n : HEAD; i + k <= n; i++)
        if (memcmp(head + i, key, k) == 0)
            return true;
    return false;
}

static int read(const char *path, const char *text, size_t length, const rlt_graph_options *o,
                rlt_opgraph **out, rlt_error *err)
{
    reader r = {.options = o, .err = err};
    rlt_json_doc *doc = NULL;
    int rc = rlt_json_parse(path, text, length, &doc, err);
    if (!rc && !(o->costs.update_bytes_per_us > 0))
        rc = rlt_fail(err, RLT_EUSAGE, path, "the optimizer needs more than 0 bytes a microsecond");
    if (!rc && !(rc = read_all(&r, rlt_json_root(doc))) && !(rc = pair_layers(&r)))
        rc = r.layers ? turn_backward_edges(&r) : find_weights(&r);
    if (!rc)
        rc = build(&r, path, out);
    rlt_json_free(doc);
    free(r.nodes);
    free(r.edges);
    return rc;
}

const rlt_graph_reader rlt__graph_placement = {
    .name = "placement",
    .summary = "operator or layer graph of dnn-partitioning (JSON)",
    .probe = probe,
    .read = read,
};
