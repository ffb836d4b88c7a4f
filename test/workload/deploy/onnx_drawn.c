/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Layers, times and weights of random ONNX graphs against a plain model of the rules in onnx.c and onnx_cost.c.
 * Nodes stand in the file in any order. The model walks over them and lists layers with their work;
 * the roofline and rlt_opgraph_of_layers, which have tests of their own, make a graph of the list. Both graphs
 * are equal in every field.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/base/time.h"
#include "sim/text/protowire.h"
#include "test/support/dice.h"
#include "test/support/traces/onnx.h"
#include "test/support/traces/onnx_drawing.h"
#include "workload/deploy/opgraph.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"

enum { CASES = 400 };

/* Accelerators with another efficiency for each kind of work: one is bound by memory, one by its FLOPs. */
static char devices[2][64];

/* ---- the file, and the layers that it should become ---- */

static void put_node(drawing *g, const one_node *n)
{
    char in[96] = "", out[96] = "", name[16];
    for (uint32_t i = 0; i < n->n_in; i++)
        snprintf(in + strlen(in), sizeof in - strlen(in), " %s", name_of(name, n->in[i]));
    for (uint32_t i = 0; i < n->n_out; i++)
        snprintf(out + strlen(out), sizeof out - strlen(out), " %s", name_of(name, n->out[i]));
    if (strcmp(n->kind, "Constant") != 0) {
        node(&g->m, n->kind, in, out, n->more);
        return;
    }
    rlt_pb_out t = {0}, a = {0}, o = {0};
    char shape[80];
    shape_text(shape, sizeof shape, &g->at[n->out[0]]);
    tensor_dims(&t, shape);
    rlt__pb_put_uint(&t, 2, 1);
    put_text(&a, 1, "value");
    put(&a, 5, &t);
    put_text(&o, 2, name_of(name, n->out[0]));
    put_text(&o, 4, "Constant");
    put(&o, 5, &a);
    put(&g->m.graph, 1, &o);
}

static double bytes_of_value(const drawing *g, const tensor *t)
{
    return elements(t) * (t->size ? t->size : g->element) * (t->constant ? 1 : g->scale);
}

static bool is_weight_of(const drawing *g, const one_node *n, uint32_t i)
{
    const tensor *t = &g->at[n->in[i]];
    bool formula = n->form == ELEMENTS || n->form == MOVES;
    return t->constant && t->size == 0 && (n->weights >> i & 1) && t->from != SHAPES &&
           !(formula && (t->from != INITIAL || elements(t) <= 1));
}

static uint32_t list_layer(drawing *g, const char *name, rlt_layer_node l)
{
    uint32_t k = g->n_layers++;
    assert_true(k < VALUES);
    snprintf(g->names[k], sizeof g->names[k], "%s", name);
    l.name = g->names[k];
    g->layers[k] = l;
    return k;
}

/* The layer that a value comes from; inputs become layers when they are first read. */
static uint32_t layer_of(drawing *g, uint32_t v)
{
    tensor *t = &g->at[v];
    char name[16];
    if (t->input && t->layer == RLT_NONE)
        t->layer = list_layer(g, name_of(name, v),
                              (rlt_layer_node){.kind = "Input",
                                               .input = true,
                                               .output_bytes = (uint64_t)nearbyint(bytes_of_value(g, t))});
    return t->layer;
}

static void join(drawing *g, const one_node *n, uint32_t to)
{
    uint32_t before = g->n_edges;
    for (uint32_t i = 0; i < n->n_in; i++) {
        bool there = false;
        uint32_t from = n->in[i] == RLT_NONE ? RLT_NONE : layer_of(g, n->in[i]);
        for (uint32_t e = before; e < g->n_edges; e++)
            there = there || g->edges[2 * e] == from;
        if (there || from == RLT_NONE)
            continue;
        g->edges[2 * g->n_edges] = from;
        g->edges[2 * g->n_edges++ + 1] = to;
    }
}

static void list_node(drawing *g, const one_node *n, const rlt_roofline *roofline)
{
    bool split = strcmp(n->kind, "Split") == 0, twice = n->twice;
    rlt_roofline back = *roofline;
    rlt_work w = {
        .kind = n->work, .flop = n->flop * g->scale, .m = n->rows * g->scale, .n = n->width, .k = n->width};
    double parameters = 0;
    char name[32];
    if (g->at[n->out[0]].constant)
        return;
    if (n->form == VIEWS) {
        g->at[n->out[0]].layer = layer_of(g, n->in[0]);
        return;
    }
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != RLT_NONE)
            w.bytes += bytes_of_value(g, &g->at[n->out[i]]) * (n->form == LOOKUPS ? 2 : 1);
    for (uint32_t i = 0; i < n->n_in; i++) {
        if (n->form != LOOKUPS || i)
            w.bytes += bytes_of_value(g, &g->at[n->in[i]]);
        if (!is_weight_of(g, n, i))
            continue;
        tensor *root = &g->at[g->at[n->in[i]].root];
        twice = true;
        parameters += root->counted ? 0 : elements(root);
        root->counted = true;
    }
    for (int k = 0; k < RLT_WORK_KINDS; k++)
        back.most[k] *= back.backward;
    for (uint32_t i = 0; i < n->n_out; i++) {
        if (n->out[i] == RLT_NONE || (i && !split))
            continue;
        double size = bytes_of_value(g, &g->at[n->out[i]]);
        w.bytes = split ? 2 * size : w.bytes;
        rlt_work again = w;
        again.flop *= twice ? 2 : 1;
        again.bytes *= twice ? 2 : 1;
        snprintf(name, sizeof name, split ? "v%u.%u" : "v%u", n->out[0], i);
        uint32_t k = list_layer(g, name,
                                (rlt_layer_node){.kind = n->kind,
                                                 .forward_ps = rlt_roofline_time(roofline, &w),
                                                 .backward_ps = rlt_roofline_time(&back, &again),
                                                 .output_bytes = (uint64_t)nearbyint(size),
                                                 .parameter_bytes = (uint64_t)(parameters * g->element)});
        for (uint32_t o = i; o < n->n_out && (o == i || !split); o++)
            if (n->out[o] != RLT_NONE)
                g->at[n->out[o]].layer = k;
        join(g, n, k);
    }
}

/* Puts the nodes into the file in a random order, and lists their layers: of the nodes whose inputs are there,
 * the one that stands first in the file is next. */
static void put_and_list(drawing *g, const rlt_roofline *roofline)
{
    uint32_t place[NODES], done = 0;
    bool there[VALUES], gone[NODES] = {false};
    for (uint32_t i = 0; i < g->n; i++)
        there[i] = true;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        uint32_t j = below(&g->d, i + 1);
        place[i] = place[j];
        place[j] = i;
    }
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const one_node *n = &g->nodes[place[i]];
        put_node(g, n);
        for (uint32_t k = 0; k < n->n_out; k++)
            if (n->out[k] != RLT_NONE)
                there[n->out[k]] = false;
    }
    for (uint32_t i = 0; i < g->n_nodes;) {
        const one_node *n = &g->nodes[place[i]];
        bool ready = !gone[i];
        for (uint32_t k = 0; k < n->n_in; k++)
            ready = ready && there[n->in[k]];
        if (!ready) {
            i++;
            continue;
        }
        list_node(g, n, roofline);
        gone[i] = true;
        done++;
        for (uint32_t k = 0; k < n->n_out; k++)
            if (n->out[k] != RLT_NONE)
                there[n->out[k]] = true;
        i = 0;
    }
    assert_int_equal(done, g->n_nodes);
}

/* ---- comparison ---- */

static void same_operator(uint64_t seed, const rlt_operator *a, const rlt_operator *b)
{
    if (strcmp(a->name, b->name) != 0 || strcmp(a->kind, b->kind) != 0 || a->time_ps != b->time_ps ||
        a->launch_ps != b->launch_ps || a->parameter_bytes != b->parameter_bytes ||
        a->kept_bytes != b->kept_bytes || a->forward != b->forward || a->together != b->together ||
        a->pass != b->pass || a->splittable != b->splittable)
        fail_msg(
            "case %llu: %s (%s) of %lld ps, %llu and %llu bytes, not %s (%s) of %lld ps, %llu and %llu bytes",
            (unsigned long long)seed, a->name, a->kind, (long long)a->time_ps,
            (unsigned long long)a->parameter_bytes, (unsigned long long)a->kept_bytes, b->name, b->kind,
            (long long)b->time_ps, (unsigned long long)b->parameter_bytes, (unsigned long long)b->kept_bytes);
}

static void same_graph(uint64_t seed, const rlt_opgraph *a, const rlt_opgraph *b)
{
    for (uint32_t i = 0; i < a->n_ops && i < b->n_ops; i++)
        same_operator(seed, &a->ops[i], &b->ops[i]);
    assert_int_equal(a->n_ops, b->n_ops);
    assert_int_equal(a->n_tensors, b->n_tensors);
    for (uint32_t i = 0; i < a->n_tensors; i++) {
        const rlt_tensor *t = &a->tensors[i], *u = &b->tensors[i];
        if (t->src != u->src || t->dst != u->dst || t->bytes != u->bytes || t->kind != u->kind)
            fail_msg("case %llu: tensor %u from %u to %u, not from %u to %u", (unsigned long long)seed, i,
                     t->src, t->dst, u->src, u->dst);
    }
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->batch, b->batch);
    assert_int_equal(a->hash, b->hash);
}

static const struct {
    const char *name;
    uint32_t bytes;
} precisions[] = {{"fp32", 4}, {NULL, 4}, {"fp16", 2}, {"bf16", 2}, {"fp64", 8}, {"fp8", 1}, {"tf32", 4}};

static void one_case(uint64_t seed)
{
    drawing *g = calloc(1, sizeof *g);
    assert_non_null(g);
    *g = (drawing){.d = {.seed = seed}};
    uint32_t p = below(&g->d, 7), asked = below(&g->d, 3) ? 1 + below(&g->d, 9) : 0,
             fixed = 1 + below(&g->d, 6);
    bool open = below(&g->d, 2);
    tensor x = sized(2 + below(&g->d, 2), open ? (asked ? asked : 32) : fixed, 1 + below(&g->d, 6),
                     1 + below(&g->d, 8));
    const char *device = devices[below(&g->d, 2)],
               *precision = precisions[p].name ? precisions[p].name : "fp32";
    char shape[80], notes[400], name[16], plain[16] = "N";
    rlt_accelerator a;
    rlt_roofline roofline;
    x.input = true;
    x.dims[2] = x.rank == 3 ? x.dims[2] : 0;
    g->element = precisions[p].bytes;
    g->scale = open || !asked ? 1 : (double)asked / fixed;
    for (uint32_t i = 0; i < 2; i++) { /* the second one is perhaps not read */
        shape_text(shape, sizeof shape, &x);
        snprintf(plain + 1, sizeof plain - 1, "%s", strchr(shape, ' '));
        input(&g->m, name_of(name, new_value(g, x)), open ? plain : shape);
        g->at[i].input = true;
    }
    for (uint32_t i = 0, n = below(&g->d, 14); (i < n && g->n_nodes < NODES - 30) || g->n_nodes == 0; i++)
        draw_work(g);
    if (rlt_accelerator_load(device, NULL, &a, &err) ||
        rlt_accelerator_roofline(&a, NULL, precision, &roofline, &err))
        fail_msg("%s", err.what);
    roofline.launch_ps = 0;
    put_and_list(g, &roofline);
    snprintf(notes, sizeof notes, "%stimes are estimated: roofline of device in %s\n",
             open && !asked ? "the model leaves its batch open: 32 samples are assumed\n" : "", precision);
    if (!open && asked && asked != fixed)
        snprintf(notes, sizeof notes,
                 "the model has a batch of %u: work and activations are scaled to %u\n"
                 "times are estimated: roofline of device in %s\n",
                 fixed, asked, precision);
    rlt_opgraph *got = NULL, *wanted = NULL;
    rlt_growing said = {0};
    rlt_error own = {0};
    rlt_pb_out o = model_bytes(&g->m);
    const uint32_t batch = asked ? asked : (uint32_t)x.dims[0];
    const rlt_layer_costs costs = RLT_LAYER_COSTS_DEFAULT;
    int rc = read_bytes(o.data, o.length, (test_options){device, asked, precisions[p].name, &said}, &got);
    int want = g->n_layers ? rlt_opgraph_of_layers(&(rlt_layer_graph){"net", batch, g->layers, g->n_layers,
                                                                      g->edges, g->n_edges},
                                                   &costs, &wanted, &own)
                           : RLT_EMALFORMED;
    if (!g->n_layers)
        snprintf(own.what, sizeof own.what, "no node depends on an input");
    if (rc != want || (rc && strcmp(err.what, own.what) != 0))
        fail_msg("case %llu: %d, %s, not %d, %s", (unsigned long long)seed, rc, err.what, want, own.what);
    if (!rc)
        same_graph(seed, got, wanted);
    assert_string_equal(said.text, notes);
    rlt_opgraph_free(got);
    rlt_opgraph_free(wanted);
    free(said.text);
    rlt__pb_out_free(&o);
    rlt__pb_out_free(&g->m.graph);
    free(g);
}

static void drawn(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++)
        one_case(seed);
}

static int make_devices(void **state)
{
    for (int i = make_files(state) ? 2 : 0; i < 2; i++) {
        snprintf(devices[i], sizeof devices[i], "%s/device%d.json", folder, i);
        FILE *f = fopen(devices[i], "w");
        if (!f)
            return -1;
        fprintf(
            f,
            "{\"name\": \"device\", \"source\": \"drawn\", \"memory\": \"1GB\", \"bandwidth\": \"%dGB/s\", "
            "\"launch\": \"1us\", \"peaks\": {\"fp32\": \"10GFLOPS\", \"tf32\": \"11GFLOPS\", \"fp16\": "
            "\"20GFLOPS\", \"bf16\": \"21GFLOPS\", \"fp64\": \"5GFLOPS\", \"fp8\": \"40GFLOPS\"}, "
            "\"kernels\": {\"most\": {\"matmul\": 0.7, \"attention\": 0.6, \"convolution\": 0.5, "
            "\"lookup\": 0.4, \"vector\": 0.3}, \"memory\": 0.8, \"rows_half\": 3, \"outputs_half\": 4, "
            "\"inputs_half\": 5, \"area_half\": 6, \"backward\": 0.9}}\n",
            i ? 100 : 2);
        if (fclose(f))
            return -1;
    }
    return 0;
}

static int remove_devices(void **state)
{
    return unlink(devices[0]) || unlink(devices[1]) || remove_files(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(drawn)};
    return cmocka_run_group_tests(tests, make_devices, remove_devices);
}
