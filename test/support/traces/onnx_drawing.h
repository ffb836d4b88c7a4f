/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Draws ONNX graphs: nodes of most forms that there are, on activations, and constants of the file or made by other
 * nodes. Each node has what a plain model of its work needs. Constants go into the file when they are drawn, nodes
 * do not. Include after cmocka.h.
 */
#ifndef RLT_TEST_SUPPORT_TRACES_ONNX_DRAWING_H
#define RLT_TEST_SUPPORT_TRACES_ONNX_DRAWING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/traces/onnx.h"
#include "workload/deploy/opgraph.h"
#include "workload/models/model.h"

enum { VALUES = 160, NODES = 80, RANK = 4, ENDS = 5 };

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

static inline double elements(const tensor *t)
{
    double n = 1;
    for (uint32_t i = 0; i < t->rank; i++)
        n *= (double)t->dims[i];
    return n;
}

static inline tensor sized(uint32_t rank, int64_t a, int64_t b, int64_t c)
{
    return (tensor){.dims = {a, b, c}, .rank = rank};
}

static inline uint32_t new_value(drawing *g, tensor t)
{
    assert_true(g->n < VALUES);
    t.layer = RLT_NONE;
    t.root = g->n;
    g->at[g->n] = t;
    return g->n++;
}

static inline one_node *new_node(drawing *g, const char *kind, cost form, uint32_t weights)
{
    assert_true(g->n_nodes < NODES);
    one_node *n = &g->nodes[g->n_nodes++];
    *n = (one_node){.kind = kind, .form = form, .weights = weights, .work = RLT_WORK_VECTOR};
    return n;
}

/* Adds an output to a node that has its inputs. */
static inline uint32_t result(drawing *g, one_node *n, tensor like)
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

static inline void takes(one_node *n, uint32_t a)
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

static inline void shape_text(char *text, size_t size, const tensor *t)
{
    text[0] = '\0';
    for (uint32_t i = 0; i < t->rank; i++)
        snprintf(text + strlen(text), size - strlen(text), "%s%lld", i ? " " : "", (long long)t->dims[i]);
}

static inline uint32_t initial(drawing *g, tensor t)
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
static inline uint32_t whole_list(drawing *g, const tensor *t)
{
    char list[80], name[16];
    uint32_t v =
        new_value(g, (tensor){.dims = {t->rank}, .rank = 1, .size = 8, .constant = true, .from = INITIAL});
    shape_text(list, sizeof list, t);
    numbers(&g->m, name_of(name, v), list);
    return v;
}

/* Draws a constant of a shape: of the file, used before perhaps, or made by nodes of others. */
static inline uint32_t constant(drawing *g, tensor t, uint32_t depth)
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

static inline void elementwise(drawing *g, uint32_t a)
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

static inline void alone(drawing *g, uint32_t a)
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

static inline void norm(drawing *g, uint32_t a)
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
static inline void shaped(one_node *n, double all, double inner, double columns)
{
    n->work = RLT_WORK_MATMUL;
    n->rows = all / inner;
    n->width = inner < columns ? inner : columns;
}

static inline void product(drawing *g, uint32_t a)
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
static inline void window(drawing *g, uint32_t a)
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
static inline void lookup(drawing *g, uint32_t a)
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
static inline void parts(drawing *g, uint32_t a)
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
static inline void zeros(drawing *g, uint32_t a)
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

static inline void draw_work(drawing *g)
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

#endif
