/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ONNX models, written here by a small encoder, against figures computed by hand. Two accelerators turn times
 * into counts: on one a FLOP takes 1 ns and bytes nothing, on the other a byte takes 1 ns and FLOPs nothing.
 */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim/base/error.h"
#include "sim/base/random.h"
#include "sim/base/text.h"
#include "sim/text/protowire.h"
#include "test/support/traces/onnx.h"
#include "workload/deploy/graphs/graphs.h"
#include "workload/deploy/opgraph.h"

/* ---- models ---- */

static model lenet(void)
{
    model m = {0};
    input(&m, "x", "N 1 28 28");
    weight(&m, "c1w", "6 1 5 5");
    weight(&m, "c1b", "6");
    weight(&m, "c2w", "16 6 5 5");
    weight(&m, "c2b", "16");
    weight(&m, "f1w", "120 400");
    weight(&m, "f1b", "120");
    weight(&m, "f2w", "84 120");
    weight(&m, "f2b", "84");
    weight(&m, "f3w", "10 84");
    weight(&m, "f3b", "10");
    node(&m, "Conv", "x c1w c1b", "c1", "kernel_shape=[5,5] pads=[2,2,2,2] strides=[1,1] group=1");
    node(&m, "Relu", "c1", "r1", NULL);
    node(&m, "MaxPool", "r1", "p1", "kernel_shape=[2,2] strides=[2,2]");
    node(&m, "Conv", "p1 c2w c2b", "c2", NULL);
    node(&m, "Relu", "c2", "r2", NULL);
    node(&m, "AveragePool", "r2", "p2", "kernel_shape=[2,2] strides=[2,2]");
    node(&m, "Flatten", "p2", "flat", "axis=1");
    node(&m, "Gemm", "flat f1w f1b", "f1", "transB=1");
    node(&m, "Relu", "f1", "r3", NULL);
    node(&m, "Gemm", "r3 f2w f2b", "f2", "transB=1");
    node(&m, "Relu", "f2", "r4", NULL);
    node(&m, "Gemm", "r4 f3w f3b", "f3", "transB=1");
    value(&m, 12, "f3", "N 10");
    return m;
}

static void test_lenet(void **state)
{
    (void)state;
    model m = lenet();
    rlt_growing notes = {0};
    rlt_opgraph *g = read_model(&m, (test_options){.accelerator = flops, .notes = &notes});
    assert_non_null(strstr(notes.text, "32 samples are assumed"));
    assert_int_equal(g->batch, 32);
    assert_true(parameters(g) == 61706);
    assert_int_equal(forward_ops(g), 12); /* the input too; Flatten is folded */
    assert_true(count(g, "Conv") == 32 * (2.0 * 6 * 784 * 25 + 2.0 * 1600 * 150));
    assert_true(count(g, "Gemm") == 32 * 2.0 * (400 * 120 + 120 * 84 + 84 * 10));
    assert_true(count(g, "Relu") == 32 * (4704.0 + 1600 + 120 + 84));
    assert_true(count(g, "MaxPool") == 32 * 1176.0 * 4 && count(g, "AveragePool") == 32 * 400.0 * 4);
    const rlt_operator *conv = find(g, "c1");
    assert_int_equal(conv->parameter_bytes, 156 * 4);
    assert_int_equal(conv->kept_bytes, 32 * 4704 * 4);
    assert_int_equal(find(g, "backward c1")->time_ps, 2 * conv->time_ps);
    assert_int_equal(find(g, "backward r1")->time_ps, find(g, "r1")->time_ps);
    assert_int_equal(find(g, "x")->time_ps, 0);
    rlt_opgraph_free(g);
    free(notes.text);
    /* Bytes: input, weights and output. */
    g = read_model(&m, (test_options){.accelerator = bytes, .batch = 8});
    assert_int_equal(g->batch, 8);
    assert_true(fabs((double)find(g, "c2")->time_ps / 1000 - 4 * (8 * 1176 + 2416 + 8 * 1600)) < 2);
    assert_true(fabs((double)find(g, "f1")->time_ps / 1000 - 4 * (8 * 400 + 48120 + 8 * 120)) < 2);
    rlt_opgraph_free(g);
    rlt__pb_out_free(&m.graph);
}

/* A batch fixed by the file, and the options' one: all but weights scales. */
static void test_batch(void **state)
{
    (void)state;
    rlt_growing notes = {0};
    model m = {0};
    input(&m, "x", "4 784");
    weight(&m, "w", "784 512");
    weight(&m, "b", "512");
    node(&m, "MatMul", "x w", "h", NULL);
    node(&m, "Add", "h b", "a", NULL);
    node(&m, "Sigmoid", "a", "y", NULL);
    rlt_opgraph *g = read_model(&m, (test_options){.accelerator = flops, .notes = &notes});
    assert_null(strstr(notes.text, "batch"));
    assert_int_equal(g->batch, 4);
    assert_true(count(g, "MatMul") == 4 * 2.0 * 784 * 512);
    assert_true(parameters(g) == 784 * 512 + 512);
    rlt_opgraph_free(g);
    g = read_model(&m, (test_options){.accelerator = flops, .batch = 64, .notes = &notes});
    assert_non_null(strstr(notes.text, "a batch of 4: work and activations are scaled to 64"));
    assert_int_equal(g->batch, 64);
    assert_true(count(g, "MatMul") == 64 * 2.0 * 784 * 512 && count(g, "Add") == 64 * 512);
    assert_true(parameters(g) == 784 * 512 + 512);
    assert_int_equal(find(g, "h")->kept_bytes, 64 * 512 * 4);
    rlt_opgraph_free(g);
    /* Half precision halves bytes. */
    g = read_model(&m, (test_options){.batch = 64, .precision = "fp16"});
    assert_int_equal(g->parameter_bytes, 2 * (784 * 512 + 512));
    assert_int_equal(find(g, "h")->kept_bytes, 64 * 512 * 2);
    rlt_opgraph_free(g);
    free(notes.text);
    rlt__pb_out_free(&m.graph);
    /* 0 is an open dimension, as is one without a name. */
    for (int i = 0; i < 2; i++) {
        m = (model){0};
        input(&m, "x", i ? "0 8" : "? 8");
        node(&m, "Relu", "x", "y", NULL);
        g = read_model(&m, (test_options){.accelerator = flops, .batch = 5});
        assert_true(count(g, NULL) == 40);
        rlt_opgraph_free(g);
        rlt__pb_out_free(&m.graph);
    }
}

static void batch_norm(model *m, const char *in, const char *out, int channels)
{
    char text[8][64];
    snprintf(text[0], 64, "%s %s.s %s.b %s.m %s.v", in, out, out, out, out);
    for (int i = 0; i < 4; i++) {
        snprintf(text[1], 64, "%s.%c", out, "sbmv"[i]);
        weightf(m, text[1], "%d", channels);
    }
    node(m, "BatchNormalization", text[0], out, NULL);
}

static void conv(model *m, const char *in, const char *out, const int size[3], int stride)
{
    char inputs[128], weights[64], attributes[160];
    int k = size[2], p = k / 2;
    snprintf(weights, sizeof weights, "%s.w", out);
    snprintf(inputs, sizeof inputs, "%s %s", in, weights);
    snprintf(attributes, sizeof attributes, "kernel_shape=[%d,%d] strides=[%d,%d] pads=[%d,%d,%d,%d]", k, k,
             stride, stride, p, p, p, p);
    weightf(m, weights, "%d %d %d %d", size[1], size[0], k, k);
    node(m, "Conv", inputs, out, attributes);
}

static void residual(void **state)
{
    (void)state;
    model m = {0};
    input(&m, "x", "N 64 56 56");
    conv(&m, "x", "a", (int[]){64, 64, 3}, 1);
    batch_norm(&m, "a", "b", 64);
    node(&m, "Relu", "b", "c", NULL);
    conv(&m, "c", "d", (int[]){64, 64, 3}, 1);
    batch_norm(&m, "d", "e", 64);
    node(&m, "Add", "e x", "f", NULL);
    node(&m, "Relu", "f", "y", NULL);
    rlt_opgraph *g = read_model(&m, (test_options){.accelerator = flops, .batch = 2});
    double elements = 2 * 64.0 * 56 * 56;
    assert_true(parameters(g) == 2 * 36864 + 2 * 128); /* running means and variances are not trained */
    assert_true(count(g, "Conv") == 2 * 2 * elements * 576);
    assert_true(count(g, "BatchNormalization") == 2 * 2 * elements);
    assert_true(count(g, "Add") == elements && count(g, "Relu") == 2 * elements);
    /* Two edges lead from the input: to the first convolution and past both. */
    uint32_t from = (uint32_t)(find(g, "x") - g->ops);
    assert_int_equal(g->out_first[from + 1] - g->out_first[from], 2);
    rlt_opgraph_free(g);
    /* The example of onnx_cost.c. */
    g = read_model(&m, (test_options){.accelerator = flops, .batch = 32});
    assert_true(fabs((double)find(g, "a")->time_ps / 1000 / 7.4e9 - 1) < 0.01);
    rlt_opgraph_free(g);
    g = read_model(&m, (test_options){.accelerator = bytes, .batch = 32});
    assert_true(fabs((double)find(g, "a")->time_ps / 1000 / 51.5e6 - 1) < 0.01);
    rlt_opgraph_free(g);
    rlt__pb_out_free(&m.graph);
}

/* A linear layer: MatMul and Add, as exporters write it. */
static void linear(model *m, const char *in, const char *out, int from, int to)
{
    char w[64], b[64], product[64], text[130];
    snprintf(w, sizeof w, "%s.w", out);
    snprintf(b, sizeof b, "%s.b", out);
    snprintf(product, sizeof product, "%s.mm", out);
    weightf(m, w, "%d %d", from, to);
    weightf(m, b, "%d", to);
    snprintf(text, sizeof text, "%s %s", in, w);
    node(m, "MatMul", text, product, NULL);
    snprintf(text, sizeof text, "%s %s", b, product);
    node(m, "Add", text, out, NULL);
}

/* A transformer block: hidden 64, 4 heads, feed-forward 256. The targets of Reshape are computed from Shape. */
static model transformer(void)
{
    model m = {0};
    input(&m, "x", "batch 16 64");
    weight(&m, "g1", "64");
    weight(&m, "g2", "64");
    weight(&m, "h1", "64");
    weight(&m, "h2", "64");
    numbers(&m, "zero", "0");
    numbers(&m, "one", "1");
    numbers(&m, "axes", "0");
    numbers(&m, "heads", "4");
    numbers(&m, "depth", "16");
    node(&m, "LayerNormalization", "x g1 h1", "n", "axis=-1");
    linear(&m, "n", "q", 64, 64);
    linear(&m, "n", "k", 64, 64);
    linear(&m, "n", "v", 64, 64);
    node(&m, "Shape", "n", "s", NULL);
    node(&m, "Gather", "s zero", "s0", "axis=0");
    node(&m, "Gather", "s one", "s1", "axis=0");
    node(&m, "Concat", "s0 s1 heads depth", "split", "axis=0");
    node(&m, "Constant", "", "minus", "value=#-1");
    node(&m, "Concat", "s0 s1 minus", "join", "axis=0");
    node(&m, "Reshape", "q split", "q4", NULL);
    node(&m, "Reshape", "k split", "k4", NULL);
    node(&m, "Reshape", "v split", "v4", NULL);
    node(&m, "Transpose", "q4", "qt", "perm=[0,2,1,3]");
    node(&m, "Transpose", "k4", "kt", "perm=[0,2,3,1]");
    node(&m, "Transpose", "v4", "vt", "perm=[0,2,1,3]");
    node(&m, "MatMul", "qt kt", "scores", NULL);
    node(&m, "Constant", "", "root", "value=#4");
    node(&m, "Div", "scores root", "scaled", NULL);
    node(&m, "Softmax", "scaled", "p", "axis=-1");
    node(&m, "MatMul", "p vt", "o4", NULL);
    node(&m, "Transpose", "o4", "ot", "perm=[0,2,1,3]");
    node(&m, "Reshape", "ot join", "o", NULL);
    linear(&m, "o", "proj", 64, 64);
    node(&m, "Add", "proj x", "r1", NULL);
    node(&m, "LayerNormalization", "r1 g2 h2", "n2", "axis=-1");
    linear(&m, "n2", "f1", 64, 256);
    node(&m, "Erf", "f1", "gelu", NULL);
    linear(&m, "gelu", "f2", 256, 64);
    node(&m, "Add", "f2 r1", "y", NULL);
    return m;
}

static void test_transformer(void **state)
{
    (void)state;
    model m = transformer();
    rlt_opgraph *g = read_model(&m, (test_options){.accelerator = flops, .batch = 8});
    assert_true(parameters(g) == 4 * (64 * 64 + 64) + 4 * 64 + 64 * 256 + 256 + 256 * 64 + 64);
    double tokens = 8 * 16, products = 2 * tokens * (4 * 64 * 64 + 2 * 64 * 256);
    assert_true(count(g, "MatMul") == products + 2 * (2 * 8 * 4 * 16 * 16 * 16));
    assert_true(count(g, "Softmax") == 8 * (8.0 * 4 * 16 * 16));
    assert_true(count(g, "Transpose") == 0);
    assert_int_equal(find(g, "scores")->kept_bytes, 8 * 4 * 16 * 16 * 4);
    assert_int_equal(find(g, "backward scores")->time_ps, 2 * find(g, "scores")->time_ps);
    for (uint32_t i = 0; i < g->n_ops; i++)
        assert_true(strcmp(g->ops[i].kind, "Reshape") != 0 && strcmp(g->ops[i].kind, "Shape") != 0 &&
                    strcmp(g->ops[i].kind, "Concat") != 0 && strcmp(g->ops[i].kind, "Constant") != 0);
    rlt_opgraph_free(g);
    rlt__pb_out_free(&m.graph);
}

/* ---- big models ---- */

/* An operator with weights of a shape and a bias of its first dimension. */
static void biased(model *m, const char *kind, const char *in, const char *out, const char *shape,
                   const char *attributes)
{
    char text[160], w[64], b[64];
    snprintf(w, sizeof w, "%s.w", out);
    snprintf(b, sizeof b, "%s.b", out);
    weight(m, w, shape);
    weightf(m, b, "%d", atoi(shape));
    snprintf(text, sizeof text, "%s %s %s", in, w, b);
    node(m, kind, text, out, attributes);
}

static void vgg19(void **state)
{
    static const int widths[] = {64,  64,  0,   128, 128, 0,   256, 256, 256, 256, 0,
                                 512, 512, 512, 512, 0,   512, 512, 512, 512, 0};
    (void)state;
    model m = {0};
    char from[16] = "x", to[16], shape[64];
    int channels = 3;
    input(&m, "x", "N 3 224 224");
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        snprintf(to, sizeof to, "l%zu", i);
        if (widths[i]) {
            snprintf(shape, sizeof shape, "%d %d 3 3", widths[i], channels);
            char between[16];
            snprintf(between, sizeof between, "c%zu", i);
            biased(&m, "Conv", from, between, shape, "kernel_shape=[3,3] pads=[1,1,1,1]");
            node(&m, "Relu", between, to, NULL);
            channels = widths[i];
        } else {
            node(&m, "MaxPool", from, to, "kernel_shape=[2,2] strides=[2,2]");
        }
        snprintf(from, sizeof from, "%s", to);
    }
    numbers(&m, "target", "0 -1");
    snprintf(shape, sizeof shape, "%s target", from);
    node(&m, "Reshape", shape, "flat", NULL);
    biased(&m, "Gemm", "flat", "f1", "4096 25088", "transB=1");
    node(&m, "Dropout", "f1", "d1 -", NULL);
    biased(&m, "Gemm", "d1", "f2", "4096 4096", "transB=1");
    node(&m, "Dropout", "f2", "d2 mask", NULL);
    biased(&m, "Gemm", "d2", "f3", "1000 4096", "transB=1");
    node(&m, "Softmax", "f3", "y", NULL);
    rlt_opgraph *g = read_model(&m, (test_options){.accelerator = flops, .batch = 1});
    assert_true(parameters(g) == 143667240);
    assert_true(fabs(count(g, NULL) / (2 * 19.6e9) - 1) < 0.01);
    assert_int_equal(forward_ops(g), 1 + 16 + 16 + 5 + 3 + 2 + 1);
    rlt_opgraph_free(g);
    /* On a V100: bound by its 15.7 TFLOPS, not by more than that. */
    g = read_model(&m, (test_options){.batch = 128});
    double seconds = (double)g->forward_ps / 1e12, least = 128 * 2 * 19.6e9 / 15.7e12;
    assert_true(seconds > least && seconds < 2 * least);
    rlt_opgraph_free(g);
    rlt__pb_out_free(&m.graph);
}

/* A bottleneck block of ResNet-50 v1.5: the stride is in the 3 x 3 convolution. */
static void bottleneck(model *m, const char *in, const char *out, const int size[2], int stride)
{
    char n[6][40], text[96];
    for (int i = 0; i < 6; i++)
        snprintf(n[i], sizeof n[i], "%s.%d", out, i);
    int width = size[1];
    conv(m, in, n[0], (int[]){size[0], width, 1}, 1);
    snprintf(text, sizeof text, "%s.bn1", out);
    batch_norm(m, n[0], text, width);
    node(m, "Relu", text, n[1], NULL);
    conv(m, n[1], n[2], (int[]){width, width, 3}, stride);
    snprintf(text, sizeof text, "%s.bn2", out);
    batch_norm(m, n[2], text, width);
    node(m, "Relu", text, n[3], NULL);
    conv(m, n[3], n[4], (int[]){width, 4 * width, 1}, 1);
    snprintf(text, sizeof text, "%s.bn3", out);
    batch_norm(m, n[4], text, 4 * width);
    snprintf(text, sizeof text, "%s.bn3 %s", out, in);
    if (size[0] != 4 * width) {
        conv(m, in, n[5], (int[]){size[0], 4 * width, 1}, stride);
        snprintf(text, sizeof text, "%s.bn4", out);
        batch_norm(m, n[5], text, 4 * width);
        snprintf(text, sizeof text, "%s.bn3 %s.bn4", out, out);
    }
    char sum[40];
    snprintf(sum, sizeof sum, "%s.sum", out);
    node(m, "Add", text, sum, NULL);
    node(m, "Relu", sum, out, NULL);
}

static void resnet50(void **state)
{
    static const int blocks[] = {3, 4, 6, 3};
    (void)state;
    model m = {0};
    char from[16] = "p", to[16];
    int channels = 64;
    input(&m, "x", "N 3 224 224");
    conv(&m, "x", "c", (int[]){3, 64, 7}, 2);
    batch_norm(&m, "c", "b", 64);
    node(&m, "Relu", "b", "r", NULL);
    node(&m, "MaxPool", "r", "p", "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]");
    for (int s = 0; s < 4; s++)
        for (int i = 0; i < blocks[s]; i++) {
            snprintf(to, sizeof to, "b%d%d", s, i);
            bottleneck(&m, from, to, (int[]){channels, 64 << s}, s && i == 0 ? 2 : 1);
            channels = 256 << s;
            snprintf(from, sizeof from, "%s", to);
        }
    node(&m, "GlobalAveragePool", from, "gap", NULL);
    node(&m, "Flatten", "gap", "flat", NULL);
    biased(&m, "Gemm", "flat", "y", "1000 2048", "transB=1");
    rlt_opgraph *g = read_model(&m, (test_options){.accelerator = flops, .batch = 1});
    assert_true(parameters(g) == 25557032);
    assert_true(fabs(count(g, NULL) / (2 * 4.1e9) - 1) < 0.01);
    rlt_opgraph_free(g);
    rlt__pb_out_free(&m.graph);
}

/* ---- operators ---- */

/* Shapes, seen through the bytes of the output, and FLOPs. */
static void operators(void **state)
{
    static const struct {
        const char *kind, *input, *others, *attributes; /* others: weights, "name=shape", or "name:numbers" */
        double elements, flop;
    } rows[] = {
        {"Conv", "N 8 9 9", "w=8 1 3 3", "group=8", 8 * 49, 2 * 8 * 49 * 9},
        {"Conv", "N 8 9 9", "w=4 8 3 3", "auto_pad=SAME_UPPER strides=[2,2]", 4 * 25, 2 * 4 * 25 * 72},
        {"Conv", "N 8 9 9", "w=4 8 3 3", "dilations=[2,2]", 4 * 25, 2 * 4 * 25 * 72},
        {"Conv", "N 2 7", "w=4 2 3", "pads=[1,1]", 4 * 7, 2 * 4 * 7 * 6},
        {"ConvTranspose", "N 8 9 9", "w=8 4 2 2", "strides=[2,2]", 4 * 324, 2 * 8 * 81 * 16},
        {"MaxPool", "N 2 6 6", "", "kernel_shape=[3,3] strides=[2,2]", 2 * 4, 2 * 4 * 9},
        {"MaxPool", "N 2 6 6", "", "kernel_shape=[3,3] strides=[2,2] ceil_mode=1", 2 * 9, 2 * 9 * 9},
        {"AveragePool", "N 2 6 6", "", "kernel_shape=[2,2]", 2 * 25, 2 * 25 * 4},
        {"GlobalAveragePool", "N 2 6 6", "", NULL, 2, 72},
        {"Gemm", "N 6", "w=6 5", NULL, 5, 60},
        {"MatMul", "N 3 6", "w=6", NULL, 3, 36},
        {"MatMul", "N 3 6", "w=6 4", NULL, 12, 2 * 12 * 6},
        {"Concat", "N 3 6", "w=1 3 2", "axis=2", 24, 0},
        {"Slice", "N 3 6", "s:1 e:5 a:2 t:2", NULL, 6, 0},
        {"Slice", "N 3 6", "s:-1 e:-100 a:2 t:-1", NULL, 18, 0},
        {"Slice", "N 3 6", "", "starts=[1] ends=[9223372036854775807] axes=[1]", 12, 0},
        {"Transpose", "N 3 6", "", NULL, 18, 0},
        {"Gather", "N 3 6", "i:0,2", "axis=1", 12, 0},
        {"Pad", "N 3 6", "p:0,1,0,0,1,2", NULL, 40, 0},
        {"Expand", "N 1 6", "e:1,4,1", NULL, 24, 0},
        {"Tile", "N 3 6", "q:1,2,1", NULL, 36, 0},
        {"ReduceMean", "N 3 6", "", "axes=[2] keepdims=0", 3, 18},
        {"ReduceSum", "N 3 6", "a:1", NULL, 6, 18},
        {"Clip", "N 3 6", "", NULL, 18, 36},
        {"LRN", "N 3 6 6", "", "size=5", 108, 108 * 8},
        {"Resize", "N 2 4 4", "- - s:1,2,8,8", NULL, 128, 128 * 4},
        {"DepthToSpace", "N 8 2 2", "", "blocksize=2", 32, 0},
        {"PRelu", "N 3 6", "w=6", NULL, 18, 36},
        {"ArgMax", "N 3 6", "", "axis=2", 3 * 2, 18}, /* int64: two floats each */
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        model m = {0};
        char names[128] = "r", others[128], *rest = others;
        input(&m, "x", rows[i].input);
        node(&m, "Relu", "x", "r", NULL); /* a graph needs a time */
        snprintf(others, sizeof others, "%s", rows[i].others);
        bool shape = strchr(others, '=') != NULL;
        for (char *word; (word = shape ? strtok_r(rest, "", &rest) : strtok_r(rest, " ", &rest));) {
            char *cut = strpbrk(word, "=:");
            char name[2] = {*word, '\0'};
            snprintf(names + strlen(names), sizeof names - strlen(names), " %s", name);
            for (char *c = word; *c; c++)
                *c = *c == ',' ? ' ' : *c;
            if (cut && shape)
                weight(&m, name, cut + 1);
            else if (cut)
                numbers(&m, name, cut + 1);
        }
        node(&m, rows[i].kind, names, "y", rows[i].attributes);
        rlt_opgraph *g = read_model(&m, (test_options){.accelerator = flops, .batch = 1});
        const rlt_operator *o = find(g, "y");
        if ((double)o->kept_bytes != 4 * rows[i].elements || (double)o->time_ps != 1000 * rows[i].flop)
            fail_msg("row %zu, %s: %" PRIu64 " bytes, %g FLOP", i, rows[i].kind, o->kept_bytes,
                     (double)o->time_ps / 1000);
        rlt_opgraph_free(g);
        rlt__pb_out_free(&m.graph);
    }
}

/* Each output of a Split is a layer with its own size; a value read twice by a node is one edge. */
static void outputs(void **state)
{
    (void)state;
    model m = {0};
    input(&m, "x", "N 12");
    node(&m, "Relu", "x", "r", NULL);
    node(&m, "Split", "r", "a b c", "axis=1");
    node(&m, "Mul", "a b", "ab", NULL);
    node(&m, "Mul", "c c", "cc", NULL);
    node(&m, "Unsqueeze", "cc", "view", "axes=[1]");
    node(&m, "Squeeze", "view", "back", "axes=[1]");
    node(&m, "Add", "ab back", "y", NULL);
    rlt_opgraph *g = read_model(&m, (test_options){.accelerator = flops, .batch = 1});
    assert_int_equal(forward_ops(g), 8);
    assert_int_equal(find(g, "a.1")->kept_bytes, 16);
    uint32_t cc = 0;
    for (uint32_t i = 0; i < g->n_tensors; i++)
        cc += strcmp(g->ops[g->tensors[i].dst].name, "cc") == 0;
    assert_int_equal(cc, 1);
    rlt_opgraph_free(g);
    rlt__pb_out_free(&m.graph);
}

/* Weights made by ConstantOfShape, tied weights, and constants that are no weights. */
static void weights(void **state)
{
    (void)state;
    model m = {0};
    input(&m, "x", "N 5");
    numbers(&m, "shape", "7 6");
    node(&m, "ConstantOfShape", "shape", "w0", NULL);
    node(&m, "Transpose", "w0", "w", NULL);
    numbers(&m, "target", "-1 6");
    weight(&m, "e", "5 6");
    weight(&m, "scale", "1");
    node(&m, "MatMul", "x e", "h", NULL);
    node(&m, "MatMul", "h w", "l", NULL);  /* 6 x 7 */
    node(&m, "MatMul", "l w0", "b", NULL); /* the same again */
    node(&m, "Mul", "b scale", "y", NULL); /* a number in a formula */
    node(&m, "Reshape", "y target", "z", NULL);
    node(&m, "Shape", "z", "s", NULL);
    node(&m, "ConstantOfShape", "s", "zeros", NULL);
    node(&m, "Add", "z zeros", "end", NULL); /* zeros of the size of an activation */
    rlt_opgraph *g = read_model(&m, (test_options){.accelerator = flops, .batch = 3});
    assert_true(parameters(g) == 30 + 42);
    rlt_opgraph_free(g);
    rlt__pb_out_free(&m.graph);
}

/* ---- refused models ---- */

static void refusals(void **state)
{
    (void)state;
    model m = {0};
    input(&m, "x", "N 8");
    node(&m, "Foo", "x", "a", NULL);
    node(&m, "Bar", "a", "b", NULL);
    node(&m, "Foo", "b", "c", NULL);
    refused(&m, RLT_EUNSUPPORTED, "Foo (2), Bar (1)");

    m = (model){0};
    input(&m, "x", "N 8");
    node(&m, "Add", "x c", "a", NULL);
    node(&m, "Relu", "a", "b", NULL);
    node(&m, "Relu", "b", "c", NULL);
    node(&m, "Relu", "c", "d", NULL);
    refused(&m, RLT_EMALFORMED, "cycle");

    m = (model){0};
    input(&m, "x", "");
    node(&m, "Relu", "x", "y", NULL);
    refused(&m, RLT_EMALFORMED, "no input with a batch");

    m = (model){0};
    input(&m, "x", "N length 8");
    node(&m, "Relu", "x", "y", NULL);
    refused(&m, RLT_EMALFORMED, "input 'x' leaves dimension 1 ('length') open");

    m = (model){0};
    input(&m, "x", "N 8");
    input(&m, "t", "2");
    node(&m, "Reshape", "x t", "y", NULL);
    node(&m, "Relu", "y", "z", NULL);
    refused(&m, RLT_EMALFORMED, "node 'y' (Reshape): the shape of its output 'y' depends on contents");

    m = (model){0};
    input(&m, "x", "N 8");
    input(&m, "t", "1");
    numbers(&m, "e", "5");
    node(&m, "Slice", "x t e", "y", NULL);
    node(&m, "Relu", "y", "z", NULL);
    refused(&m, RLT_EMALFORMED, "node 'y' (Slice): the shape of its output 'y' depends on contents");

    m = (model){0};
    input(&m, "x", "N 8");
    node(&m, "Relu", "gone", "y", NULL);
    refused(&m, RLT_EMALFORMED, "node 'y' (Relu): nothing writes its input 'gone'");

    m = (model){0};
    input(&m, "x", "N 8");
    node(&m, "Relu", "x", "y", NULL);
    node(&m, "Relu", "x", "y", NULL);
    refused(&m, RLT_EMALFORMED, "'y' is written twice");

    m = (model){0};
    input(&m, "x", "N 8");
    weight(&m, "w", "7 4");
    node(&m, "MatMul", "x w", "y", NULL);
    refused(&m, RLT_EMALFORMED, "node 'y' (MatMul): matrices with inner sizes 8 and 7");

    m = (model){0};
    input(&m, "x", "N 8 2 2");
    node(&m, "Relu", "x", "r", NULL);
    node(&m, "DepthToSpace", "r", "y", NULL);
    refused(&m, RLT_EMALFORMED,
            "node 'y' (DepthToSpace): expected 4 dimensions and a block size of at least 1");

    static const char *const short_lists[] = {"strides=[2]", "dilations=[1]", "pads=[1]", "pads=[1,1,1]"};
    for (int i = 0; i < 4; i++) {
        m = (model){0};
        input(&m, "x", "N 8 9 9");
        weight(&m, "w", "4 8 3 3");
        node(&m, "Conv", "x w", "y", short_lists[i]);
        refused(&m, RLT_EMALFORMED, "which is too few");
    }

    for (int opset = 6; opset <= 25; opset++) { /* 7 to 24 are known */
        m = (model){.opset = opset};
        input(&m, "x", "N 8");
        node(&m, "Relu", "x", "y", NULL);
        if (opset == 6 || opset == 25) {
            refused(&m, RLT_EUNSUPPORTED, opset == 6 ? "operator set 6" : "operator set 25");
        } else {
            rlt_opgraph_free(read_model(&m, (test_options){.accelerator = flops}));
            rlt__pb_out_free(&m.graph);
        }
    }
}

/* A shape that the file declares stands in for one that cannot be inferred; the batch's symbol has a number. */
static void declared(void **state)
{
    (void)state;
    model m = {0};
    input(&m, "x", "N 8");
    input(&m, "t", "2");
    node(&m, "Reshape", "x t", "y", NULL);
    node(&m, "Relu", "y", "z", NULL);
    value(&m, 13, "y", "N 2 4");
    assert_true(flops_of(&m, 4, "Relu") == 32);
}

static void external(void **state)
{
    (void)state;
    model m = {0};
    rlt_growing notes = {0};
    rlt_pb_out t = {0};
    input(&m, "x", "N 8");
    tensor_dims(&t, "8 4");
    rlt__pb_put_uint(&t, 2, 1);
    put_text(&t, 8, "w");
    rlt__pb_put_uint(&t, 14, 1);
    put(&m.graph, 5, &t);
    node(&m, "MatMul", "x w", "y", NULL);
    rlt_opgraph *g = read_model(&m, (test_options){.accelerator = flops, .batch = 1, .notes = &notes});
    assert_true(parameters(g) == 32);
    assert_non_null(strstr(notes.text, "1 tensors have their contents in other files"));
    rlt_opgraph_free(g);
    rlt__pb_out_free(&m.graph);
    free(notes.text);
}

/* ---- damaged files ---- */

static void check_damaged(const uint8_t *data, size_t length)
{
    rlt_opgraph *g;
    int rc = read_bytes(data, length, (test_options){.accelerator = flops, .batch = 2}, &g);
    if (rc) {
        assert_null(g);
        assert_int_equal(err.code, rc);
        assert_true(err.what[0] && !strchr(err.what, '\n'));
    }
    rlt_opgraph_free(g);
}

static void damaged(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++) {
        model m = which ? transformer() : lenet();
        rlt_pb_out o = model_bytes(&m);
        for (size_t n = 0; n < o.length; n++) {
            check_damaged(o.data, n);
            assert_int_not_equal(err.code, 0);
        }
        /* Cut in the graph: the message has the byte. */
        check_damaged(o.data, 200);
        assert_int_equal(err.code, RLT_EMALFORMED);
        assert_non_null(strstr(err.where, "net.onnx: byte "));
        /* One to three bytes at a time. */
        uint8_t *copy = malloc(o.length);
        assert_non_null(copy);
        for (uint32_t i = 0; i < 20000; i++) {
            memcpy(copy, o.data, o.length);
            for (uint32_t k = 0; k <= i % 3; k++)
                copy[rlt_random_below(1, (uint32_t)which, 2 * k, i, o.length)] =
                    (uint8_t)(rlt_random_u64(1, (uint32_t)which, 2 * k + 1, i) >> (i % 2 ? 60 : 56));
            check_damaged(copy, o.length);
        }
        free(copy);
        rlt__pb_out_free(&o);
        rlt__pb_out_free(&m.graph);
    }
}

/* Found by content among the formats. */
static void recognised(void **state)
{
    (void)state;
    model m = lenet();
    rlt_pb_out o = model_bytes(&m);
    char path[128];
    snprintf(path, sizeof path, "%s/lenet.v1.onnx", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(o.data, 1, o.length, f), o.length);
    assert_int_equal(fclose(f), 0);
    rlt_graph_options options = RLT_GRAPH_OPTIONS_DEFAULT;
    rlt_opgraph *g = NULL;
    options.accelerator_dirs = "workload/accelerators";
    err = (rlt_error){0};
    if (rlt_opgraph_read(path, &options, &g, &err))
        fail_msg("%s: %s", err.where, err.what);
    assert_string_equal(g->name, "lenet");
    rlt_opgraph_free(g);
    assert_false(rlt__graph_onnx.probe("node1 -- Input", 14));
    assert_false(rlt__graph_onnx.probe("{\"nodes\": []}", 13));
    assert_false(rlt__graph_onnx.probe("", 0));
    unlink(path);
    rlt__pb_out_free(&o);
    rlt__pb_out_free(&m.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lenet),       cmocka_unit_test(test_batch), cmocka_unit_test(residual),
        cmocka_unit_test(test_transformer), cmocka_unit_test(vgg19),      cmocka_unit_test(resnet50),
        cmocka_unit_test(operators),        cmocka_unit_test(outputs),    cmocka_unit_test(weights),
        cmocka_unit_test(refusals),         cmocka_unit_test(declared),   cmocka_unit_test(external),
        cmocka_unit_test(recognised),       cmocka_unit_test(damaged),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
