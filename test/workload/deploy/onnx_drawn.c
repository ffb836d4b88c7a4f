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
#include "workload/deploy/opgraph.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"

enum { CASES = 400, VALUES = 160, NODES = 80, RANK = 4, ENDS = 5 };

/* From which numbers a constant is made. Only those of the file are weights of every operator. */
typedef enum source { SHAPES, NODE, INITIAL } source;

typedef struct tensor {
    int64_t dims[RANK];
    uint32_t rank;
    uint32_t size; /* bytes of an element; 0: a floating-point number */
    bool constant;
    source from;
    uint32_t root;  /* constants: the one whose elements these are */
    uint32_t layer; /* RLT_NONE: none yet */
    bool counted, input;
} tensor;

typedef enum cost { VIEWS, MOVES, ELEMENTS, LOOKUPS, OTHERS, MAKES } cost;

typedef struct one_node {
    const char *kind;
    char more[64]; /* attributes */
    uint32_t in[ENDS], out[ENDS];
    uint32_t n_in, n_out;
    cost form;
    rlt_work_kind work;
    uint32_t weights; /* bit i: input i may be one */
    double flop;      /* of the batch in the file */
    double rows, width;
    bool twice;
} one_node;

typedef struct drawing {
    dice d;
    model m;
    tensor at[VALUES];
    uint32_t n;
    one_node nodes[NODES];
    uint32_t n_nodes;
    rlt_layer_node layers[VALUES];
    char names[VALUES][16];
    uint32_t edges[2 * VALUES * ENDS];
    uint32_t n_layers, n_edges;
    double scale; /* samples asked for, of each in the file */
    uint32_t element;
} drawing;

/* Accelerators with another efficiency for each kind of work: one is bound by memory, one by its FLOPs. */
static char devices[2][64];

static double elements(const tensor *t)
{
    double n = 1;
    for (uint32_t i = 0; i < t->rank; i++)
        n *= (double)t->dims[i];
    return n;
}

static tensor sized(uint32_t rank, int64_t a, int64_t b, int64_t c)
{
    return (tensor){.dims = {a, b, c}, .rank = rank};
}

static uint32_t new_value(drawing *g, tensor t)
{
    assert_true(g->n < VALUES);
    t.layer = RLT_NONE;
    t.root = g->n;
    g->at[g->n] = t;
    return g->n++;
}

static one_node *new_node(drawing *g, const char *kind, cost form, uint32_t weights)
{
    assert_true(g->n_nodes < NODES);
    one_node *n = &g->nodes[g->n_nodes++];
    *n = (one_node){.kind = kind, .form = form, .weights = weights, .work = RLT_WORK_VECTOR};
    return n;
}

/* Adds an output to a node that has its inputs. */
static uint32_t result(drawing *g, one_node *n, tensor like)
{
    tensor t = like;
    bool all = n->n_in > 0, real = false, moved = n->form <= MOVES;
    t.input = false;
    t.from = n->form == MAKES ? (n->n_in ? SHAPES : NODE) : INITIAL;
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i] != RLT_NONE) {
            all = all && g->at[n->in[i]].constant;
            real = real || g->at[n->in[i]].size == 0;
            moved = moved && (i == 0 || g->at[n->in[i]].size);
        }
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i] != RLT_NONE && (!real || g->at[n->in[i]].size == 0) && g->at[n->in[i]].from < t.from)
            t.from = g->at[n->in[i]].from;
    t.constant = all || n->form == MAKES;
    uint32_t v = new_value(g, t);
    if (all && moved && g->at[n->in[0]].size == 0)
        g->at[v].root = g->at[n->in[0]].root;
    n->out[n->n_out++] = v;
    return v;
}

static void takes(one_node *n, uint32_t a)
{
    n->in[n->n_in++] = a;
}

/* ---- constants ---- */

static const char *name_of(char text[16], uint32_t v)
{
    if (v == RLT_NONE)
        return "-";
    snprintf(text, 16, "v%u", v);
    return text;
}

static void shape_text(char *text, size_t size, const tensor *t)
{
    text[0] = '\0';
    for (uint32_t i = 0; i < t->rank; i++)
        snprintf(text + strlen(text), size - strlen(text), "%s%lld", i ? " " : "", (long long)t->dims[i]);
}

static uint32_t initial(drawing *g, tensor t)
{
    char shape[80], name[16];
    t.constant = true;
    t.input = false;
    t.from = INITIAL;
    uint32_t v = new_value(g, t);
    shape_text(shape, sizeof shape, &t);
    weight(&g->m, name_of(name, v), shape);
    if (below(&g->d, 3) == 0) /* as files of old versions list it */
        input(&g->m, name, shape);
    return v;
}

/* Puts a list of whole numbers into the file: a shape. */
static uint32_t whole_list(drawing *g, const tensor *t)
{
    char list[80], name[16];
    uint32_t v =
        new_value(g, (tensor){.dims = {t->rank}, .rank = 1, .size = 8, .constant = true, .from = INITIAL});
    shape_text(list, sizeof list, t);
    numbers(&g->m, name_of(name, v), list);
    return v;
}

/* Draws a constant of a shape: of the file, used before perhaps, or made by nodes of others. */
static uint32_t constant(drawing *g, tensor t, uint32_t depth)
{
    one_node *n;
    uint32_t how = below(&g->d, depth ? 12 : 4), a, b;
    t.size = 0;
    t.constant = true;
    for (uint32_t v = 0; v < g->n && how >= 10; v++) /* one there is */
        if (g->at[v].constant && g->at[v].size == 0 && g->at[v].rank == t.rank &&
            memcmp(g->at[v].dims, t.dims, sizeof t.dims) == 0 && below(&g->d, 2))
            return v;
    switch (how) {
    case 4: /* turned */
        if (t.rank != 2)
            return initial(g, t);
        a = constant(g, sized(2, t.dims[1], t.dims[0], 0), 0);
        n = new_node(g, "Transpose", MOVES, 0);
        takes(n, a);
        return result(g, n, t);
    case 5:
        a = constant(g, t, 0);
        n = new_node(g, below(&g->d, 2) ? "Identity" : "Cast", VIEWS, 0);
        n->form = n->kind[0] == 'C' ? MOVES : VIEWS;
        snprintf(n->more, sizeof n->more, "%s", n->kind[0] == 'C' ? "to=10" : "");
        takes(n, a);
        return result(g, n, t);
    case 6: /* worked out: other numbers than those of its operands */
        a = constant(g, t, 0);
        b = constant(g, t, 0);
        n = new_node(g, t.rank == 0 || below(&g->d, 2) ? "Mul" : "Concat", ELEMENTS, 0xff);
        if (n->kind[0] == 'C') {
            n->form = MOVES;
            snprintf(n->more, sizeof n->more, "axis=0");
            t.dims[0] *= 2;
        }
        takes(n, a);
        takes(n, b);
        if (n->kind[0] == 'C') { /* the shape asked for is half of it */
            uint32_t both = result(g, n, t);
            t.dims[0] /= 2;
            n = new_node(g, "Split", MOVES, 0);
            snprintf(n->more, sizeof n->more, "axis=0");
            takes(n, both);
            a = result(g, n, t);
            b = result(g, n, t);
            return below(&g->d, 2) ? a : b;
        }
        return result(g, n, t);
    case 7:
        a = whole_list(g, &t);
        n = new_node(g, "ConstantOfShape", MOVES, 0);
        takes(n, a);
        return result(g, n, t);
    case 8:
        n = new_node(g, "Constant", MAKES, 0);
        return result(g, n, t);
    default:
        return initial(g, t);
    }
}

/* ---- work on activations ---- */

static void elementwise(drawing *g, uint32_t a)
{
    static const struct {
        const char *kind;
        int flop;
        uint32_t weights;
    } rows[] = {{"Add", 1, 0xff}, {"Mul", 1, 0xff}, {"Min", 1, 0xff}, {"Pow", 4, 0}, {"Less", 1, 0}};
    uint32_t k = below(&g->d, 5), other = a;
    const tensor t = g->at[a];
    tensor c = {.rank = below(&g->d, t.rank + 1)};
    one_node *n;
    for (uint32_t i = 0; i < c.rank; i++)
        c.dims[i] = t.rank - c.rank + i == 0 || below(&g->d, 4) == 0 ? 1 : t.dims[t.rank - c.rank + i];
    if (below(&g->d, 2))
        other = constant(g, c, 1);
    else
        for (uint32_t v = 0; v < g->n; v++)
            if (!g->at[v].constant && g->at[v].size == 0 && g->at[v].rank == t.rank &&
                memcmp(g->at[v].dims, t.dims, sizeof t.dims) == 0 && below(&g->d, 3) == 0)
                other = v;
    n = new_node(g, rows[k].kind, ELEMENTS, rows[k].weights);
    bool turned = below(&g->d, 2);
    takes(n, turned ? other : a);
    takes(n, turned ? a : other);
    n->flop = elements(&t) * rows[k].flop;
    tensor y = t;
    y.size = k == 4 ? 1 : 0;
    uint32_t v = result(g, n, y);
    if (k < 4)
        return;
    other = constant(g, c, 0);
    n = new_node(g, "Where", ELEMENTS, 6); /* choose by truth values */
    n->flop = elements(&t);
    turned = below(&g->d, 2);
    takes(n, v);
    takes(n, turned ? other : a);
    takes(n, turned ? a : other);
    result(g, n, t);
}

static void alone(drawing *g, uint32_t a)
{
    static const struct {
        const char *kind;
        int flop;
        cost form;
        const char *more;
    } rows[] = {{"Relu", 1, ELEMENTS, ""},           {"Sigmoid", 6, ELEMENTS, ""},
                {"Softmax", 8, ELEMENTS, ""},        {"Clip", 2, ELEMENTS, ""},
                {"Dropout", 2, ELEMENTS, ""},        {"Identity", 0, VIEWS, ""},
                {"Cast", 0, MOVES, "to=7"},          {"Cast", 0, MOVES, "to=16"},
                {"Flatten", 0, VIEWS, "axis=1"},     {"ReduceMean", 1, OTHERS, "axes=[-1]"},
                {"ReduceL2", 2, OTHERS, "axes=[-1]"}};
    uint32_t k = below(&g->d, 11);
    tensor t = g->at[a];
    one_node *n = new_node(g, rows[k].kind, rows[k].form, 0);
    snprintf(n->more, sizeof n->more, "%s", rows[k].more);
    takes(n, a);
    n->flop = elements(&t) * rows[k].flop;
    if (k == 8)
        t = sized(2, t.dims[0], (int64_t)elements(&t) / t.dims[0], 0);
    t.size = k == 6 ? 8 : 0;
    if (k >= 9)
        t.dims[t.rank - 1] = 1;
    result(g, n, t);
    t.size = 1;
    if (k == 4 && below(&g->d, 2))
        result(g, n, t); /* the mask of a dropout */
}

static void norm(drawing *g, uint32_t a)
{
    static const struct {
        const char *kind;
        int flop;
        uint32_t inputs, weights;
    } rows[] = {{"BatchNormalization", 2, 5, 6},
                {"LayerNormalization", 8, 3, 6},
                {"LayerNormalization", 8, 2, 6},
                {"RMSNormalization", 5, 2, 2},
                {"PRelu", 2, 2, 2}};
    uint32_t k = below(&g->d, 5), with[ENDS] = {a};
    for (uint32_t i = 1; i < rows[k].inputs; i++)
        with[i] = constant(g, sized(1, g->at[a].dims[1], 0, 0), 1);
    one_node *n = new_node(g, rows[k].kind, OTHERS, rows[k].weights);
    n->flop = elements(&g->at[a]) * rows[k].flop;
    for (uint32_t i = 0; i < rows[k].inputs; i++)
        takes(n, with[i]);
    result(g, n, g->at[a]);
}

/* Says the shape of a product: `other` has the rows of activations, weights have inner x columns. */
static void shaped(one_node *n, double all, double inner, double columns)
{
    n->work = RLT_WORK_MATMUL;
    n->rows = all / inner;
    n->width = inner < columns ? inner : columns;
}

static void product(drawing *g, uint32_t a)
{
    const tensor t = g->at[a];
    int64_t last = t.dims[t.rank - 1], c = 1 + below(&g->d, 40);
    tensor y = t;
    uint32_t how = below(&g->d, t.rank == 2 ? 5 : 2), w, bias = RLT_NONE;
    bool ta = how == 3, tb = below(&g->d, 2);
    one_node *n;
    if (how <= 1) { /* times weights */
        w = constant(g, sized(2, last, c, 0), 1);
        n = new_node(g, "MatMul", OTHERS, 3);
        y.dims[t.rank - 1] = c;
        shaped(n, elements(&t), (double)last, (double)c);
    } else if (how == 2) { /* weights on the left */
        w = a;
        a = constant(g, sized(2, c, t.dims[0], 0), 1);
        n = new_node(g, "MatMul", OTHERS, 3);
        y.dims[0] = c;
        shaped(n, elements(&t), (double)t.dims[0], (double)c);
        last = t.dims[0];
    } else if (how == 3) { /* with itself, turned */
        w = a;
        n = new_node(g, "Gemm", OTHERS, 7);
        n->work = RLT_WORK_ATTENTION;
        tb = false;
        y = sized(2, t.dims[1], t.dims[1], 0);
        last = t.dims[0];
    } else {
        ta = below(&g->d, 2);
        last = t.dims[!ta];
        w = constant(g, sized(2, tb ? c : last, tb ? last : c, 0), 1);
        bias = below(&g->d, 2) ? constant(g, sized(1, c, 0, 0), 1) : RLT_NONE;
        n = new_node(g, "Gemm", OTHERS, 7);
        y = sized(2, t.dims[ta], c, 0);
        shaped(n, elements(&t), (double)last, (double)c);
    }
    if (how >= 3)
        snprintf(n->more, sizeof n->more, "transA=%d transB=%d", ta, tb);
    takes(n, a);
    takes(n, w);
    if (bias != RLT_NONE)
        takes(n, bias);
    n->twice = true;
    n->flop = 2 * elements(&y) * (double)last;
    result(g, n, y);
}

/* Convolutions of one dimension, and pools. */
static void window(drawing *g, uint32_t a)
{
    const tensor t = g->at[a];
    uint32_t how = below(&g->d, 4), bias = RLT_NONE, w;
    int64_t group = t.dims[1] % 2 == 0 && below(&g->d, 2) ? 2 : 1, c = group * (1 + below(&g->d, 4)), k = 1;
    tensor y = t;
    one_node *n;
    if (t.rank != 3)
        return;
    k += below(&g->d, (uint32_t)(t.dims[2] < 3 ? t.dims[2] : 3));
    if (how == 0) {
        n = new_node(g, below(&g->d, 2) ? "MaxPool" : "LpPool", OTHERS, 0);
        snprintf(n->more, sizeof n->more, "kernel_shape=[%d]", (int)k);
        y.dims[2] -= k - 1;
        takes(n, a);
        n->flop = elements(&y) * (double)k;
        result(g, n, y);
        if (n->kind[0] == 'M' && below(&g->d, 2))
            result(g, n, y); /* where the largest are */
        return;
    }
    if (how == 1) {
        n = new_node(g, "GlobalAveragePool", OTHERS, 0);
        y.dims[2] = 1;
        takes(n, a);
        n->flop = elements(&t);
        result(g, n, y);
        return;
    }
    bool conv = how == 2;
    w = constant(g, sized(3, conv ? c : t.dims[1], (conv ? t.dims[1] : c) / group, k), 1);
    bias = below(&g->d, 2) ? constant(g, sized(1, c, 0, 0), 1) : RLT_NONE;
    n = new_node(g, conv ? "Conv" : "ConvTranspose", OTHERS, 6);
    snprintf(n->more, sizeof n->more, "group=%d", (int)group);
    y.dims[1] = c;
    y.dims[2] += conv ? 1 - k : k - 1;
    n->work = RLT_WORK_CONVOLUTION;
    n->twice = true;
    n->flop = 2 * (conv ? elements(&y) : elements(&t)) * (double)((conv ? t.dims[1] : c) / group * k);
    takes(n, a);
    takes(n, w);
    if (bias != RLT_NONE)
        takes(n, bias);
    result(g, n, y);
}

/* Rows of a table, by whole numbers that are activations. */
static void lookup(drawing *g, uint32_t a)
{
    tensor at = g->at[a], table = sized(2, 5 + below(&g->d, 4), 1 + below(&g->d, 9), 0);
    uint32_t w;
    if (at.rank == RANK)
        return;
    one_node *n = new_node(g, "Cast", MOVES, 0);
    snprintf(n->more, sizeof n->more, "to=6");
    takes(n, a);
    at.size = 4;
    uint32_t whole = result(g, n, at);
    w = constant(g, table, 1);
    n = new_node(g, "Gather", LOOKUPS, 1);
    n->work = RLT_WORK_LOOKUP;
    takes(n, w);
    takes(n, whole);
    at.size = 0;
    at.dims[at.rank++] = table.dims[1];
    result(g, n, at);
}

/* Cuts the last dimension in parts, some of which nobody gets, or adds to it. */
static void parts(drawing *g, uint32_t a)
{
    const tensor t = g->at[a];
    uint32_t last = t.rank - 1, count = 1 + below(&g->d, 3), other;
    tensor y = t;
    one_node *n;
    if (below(&g->d, 2) && t.dims[last] % count == 0) {
        n = new_node(g, "Split", MOVES, 0);
        snprintf(n->more, sizeof n->more, "axis=-1");
        takes(n, a);
        y.dims[last] /= count;
        for (uint32_t i = 0; i < count; i++)
            if (i && below(&g->d, 3) == 0)
                n->out[n->n_out++] = RLT_NONE;
            else
                result(g, n, y);
        return;
    }
    other = below(&g->d, 2) ? constant(g, t, 1) : a;
    n = new_node(g, "Concat", MOVES, 0xff);
    snprintf(n->more, sizeof n->more, "axis=%u", last);
    for (uint32_t i = 0; i < count + 1; i++)
        takes(n, i ? other : a);
    y.dims[last] *= count + 1;
    result(g, n, y);
}

/* Shapes of activations make constants, and whatever is made of those has no weights. */
static void zeros(drawing *g, uint32_t a)
{
    const tensor t = g->at[a];
    one_node *n = new_node(g, "Shape", MAKES, 0);
    takes(n, a);
    uint32_t v = result(g, n, (tensor){.dims = {t.rank}, .rank = 1, .size = 8});
    n = new_node(g, "ConstantOfShape", MOVES, 0);
    takes(n, v);
    v = result(g, n, t);
    if (below(&g->d, 2)) {
        uint32_t w = constant(g, t, 1);
        n = new_node(g, "Add", ELEMENTS, 0xff);
        takes(n, v);
        takes(n, w);
        v = result(g, n, t);
    }
    n = new_node(g, "Sub", ELEMENTS, 0xff);
    n->flop = elements(&t);
    takes(n, a);
    takes(n, v);
    result(g, n, t);
}

static void draw_work(drawing *g)
{
    static void (*const kinds[])(drawing *, uint32_t) = {elementwise, alone, norm,  product, window,
                                                         lookup,      parts, zeros, product, window};
    uint32_t a;
    do
        a = below(&g->d, g->n);
    while (g->at[a].constant || g->at[a].size || elements(&g->at[a]) > 1e6);
    if (g->at[a].rank >= 2)
        kinds[below(&g->d, 10)](g, a);
}

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
