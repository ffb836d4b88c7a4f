/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ONNX models, written by a small encoder, and read for two accelerators that turn times into counts: on
 * one a FLOP takes 1 ns and bytes nothing, on the other a byte takes 1 ns and FLOPs nothing. Include after
 * cmocka.h.
 */
#ifndef RLT_TEST_SUPPORT_TRACES_ONNX_H
#define RLT_TEST_SUPPORT_TRACES_ONNX_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/text/protowire.h"
#include "workload/deploy/graphs/graphs.h"
#include "workload/deploy/opgraph.h"

static char folder[] = "/tmp/ringlet-onnx-XXXXXX";
static char flops[64], bytes[64]; /* files of the two accelerators */
static rlt_error err;

/* ---- the encoder ---- */

typedef struct model {
    rlt_pb_out graph; /* body of the GraphProto */
    int opset;
    uint32_t n;
} model;

static inline void put_text(rlt_pb_out *o, uint32_t field, const char *s)
{
    rlt__pb_put_bytes(o, field, s, strlen(s));
}

/* Puts a message into another one, and frees it. */
static inline void put(rlt_pb_out *o, uint32_t field, rlt_pb_out *message)
{
    rlt__pb_put_bytes(o, field, message->data, message->length);
    rlt__pb_out_free(message);
}

/* A value: `shape` has dimensions separated by spaces; a word is a symbol, "?" a dimension without a name. */
static inline void value(model *m, uint32_t field, const char *name, const char *shape)
{
    rlt_pb_out info = {0}, type = {0}, tensor = {0}, dims = {0};
    char text[128], *rest = text;
    snprintf(text, sizeof text, "%s", shape);
    for (char *word; (word = strtok_r(rest, " ", &rest));) {
        rlt_pb_out dim = {0};
        if (*word >= '0' && *word <= '9')
            rlt__pb_put_uint(&dim, 1, strtoull(word, NULL, 10));
        else if (*word != '?')
            put_text(&dim, 2, word);
        put(&dims, 1, &dim);
    }
    rlt__pb_put_uint(&tensor, 1, 1);
    put(&tensor, 2, &dims);
    put(&type, 1, &tensor);
    put_text(&info, 1, name);
    put(&info, 2, &type);
    put(&m->graph, field, &info);
}

static inline void input(model *m, const char *name, const char *shape)
{
    value(m, 11, name, shape);
}

static inline void tensor_dims(rlt_pb_out *t, const char *shape)
{
    char text[128], *rest = text;
    snprintf(text, sizeof text, "%s", shape);
    for (char *word; (word = strtok_r(rest, " ", &rest));)
        rlt__pb_put_uint(t, 1, strtoull(word, NULL, 10));
}

/* A float initializer without contents: only its size counts. */
static inline void weight(model *m, const char *name, const char *shape)
{
    rlt_pb_out t = {0};
    tensor_dims(&t, shape);
    rlt__pb_put_uint(&t, 2, 1);
    put_text(&t, 8, name);
    put(&m->graph, 5, &t);
}

static inline void weightf(model *m, const char *name, const char *fmt, ...) RLT_PRINTF(3);
static inline void weightf(model *m, const char *name, const char *fmt, ...)
{
    char shape[128];
    va_list args;
    va_start(args, fmt);
    vsnprintf(shape, sizeof shape, fmt, args);
    va_end(args);
    weight(m, name, shape);
}

static inline rlt_pb_out int_tensor(const char *name, const char *numbers, bool raw)
{
    rlt_pb_out t = {0}, data = {0};
    char text[128], *rest = text;
    uint32_t n = 0;
    snprintf(text, sizeof text, "%s", numbers);
    for (char *word; (word = strtok_r(rest, " ", &rest)); n++) {
        int64_t v = strtoll(word, NULL, 10);
        if (raw)
            for (int i = 0; i < 8; i++)
                rlt__pb_put_raw(&data, &(uint8_t){(uint8_t)((uint64_t)v >> 8 * i)}, 1);
        else
            rlt__pb_put_varint(&data, (uint64_t)v);
    }
    rlt__pb_put_uint(&t, 1, n);
    rlt__pb_put_uint(&t, 2, 7);
    if (name)
        put_text(&t, 8, name);
    put(&t, raw ? 9 : 7, &data);
    return t;
}

/* An int64 initializer, a list. */
static inline void numbers(model *m, const char *name, const char *list)
{
    rlt_pb_out t = int_tensor(name, list, m->n % 2);
    put(&m->graph, 5, &t);
}

/* A node. `in` and `out` are names separated by spaces, "-" one left out. `attributes` are words NAME=NUMBER,
 * NAME=[N,N,...], NAME=text, and NAME=#N,N,... for a tensor. */
static inline void node(model *m, const char *kind, const char *in, const char *out, const char *attributes)
{
    rlt_pb_out n = {0};
    char text[256], *rest;
    for (uint32_t field = 1; field <= 2; field++) {
        snprintf(text, sizeof text, "%s", field == 1 ? in : out);
        rest = text;
        for (char *word; (word = strtok_r(rest, " ", &rest));)
            put_text(&n, field, strcmp(word, "-") == 0 ? "" : word);
    }
    put_text(&n, 4, kind);
    snprintf(text, sizeof text, "%s", attributes ? attributes : "");
    rest = text;
    for (char *word; (word = strtok_r(rest, " ", &rest));) {
        rlt_pb_out a = {0};
        char *equals = strchr(word, '=');
        assert_non_null(equals);
        *equals = '\0';
        char *v = equals + 1;
        put_text(&a, 1, word);
        if (*v == '[') {
            v++;
            for (char *one; (one = strtok_r(v, ",]", &v));)
                rlt__pb_put_uint(&a, 8, (uint64_t)strtoll(one, NULL, 10));
        } else if (*v == '#') {
            for (char *s = v; *s; s++)
                if (*s == ',' || *s == '#')
                    *s = ' ';
            rlt_pb_out t = int_tensor(NULL, v, true);
            put(&a, 5, &t);
        } else if ((*v >= '0' && *v <= '9') || *v == '-') {
            rlt__pb_put_uint(&a, 3, (uint64_t)strtoll(v, NULL, 10));
        } else {
            put_text(&a, 4, v);
        }
        put(&n, 5, &a);
    }
    put(&m->graph, 1, &n);
    m->n++;
}

static inline rlt_pb_out model_bytes(const model *m)
{
    rlt_pb_out o = {0}, opset = {0};
    rlt__pb_put_uint(&o, 1, 8);
    put_text(&o, 2, "test");
    rlt__pb_put_bytes(&o, 7, m->graph.data, m->graph.length);
    put_text(&opset, 1, "");
    rlt__pb_put_uint(&opset, 2, m->opset ? (uint64_t)m->opset : 17);
    put(&o, 8, &opset);
    assert_false(o.failed);
    return o;
}

/* ---- reading ---- */

typedef struct test_options {
    const char *accelerator; /* NULL: v100 */
    uint32_t batch;
    const char *precision;
    rlt_growing *notes;
} test_options;

static inline int read_bytes(const uint8_t *data, size_t length, test_options t, rlt_opgraph **g)
{
    rlt_graph_options o = RLT_GRAPH_OPTIONS_DEFAULT;
    o.accelerator = t.accelerator;
    o.accelerator_dirs = "workload/accelerators";
    o.batch = t.batch;
    o.precision = t.precision;
    o.notes = t.notes;
    char *copy = malloc(length ? length : 1); /* a sanitizer sees reads behind it */
    assert_non_null(copy);
    memcpy(copy, data, length);
    *g = NULL;
    err = (rlt_error){0};
    int rc = rlt__graph_onnx.read("net.onnx", copy, length, &o, g, &err);
    free(copy);
    return rc;
}

static inline rlt_opgraph *read_model(const model *m, test_options t)
{
    rlt_pb_out o = model_bytes(m);
    rlt_opgraph *g;
    if (read_bytes(o.data, o.length, t, &g))
        fail_msg("%s: %s", err.where, err.what);
    rlt__pb_out_free(&o);
    return g;
}

/* Reads a model that is refused, and frees it. */
static inline void refused(model *m, int code, const char *what)
{
    rlt_pb_out o = model_bytes(m);
    rlt_opgraph *g;
    assert_int_equal(read_bytes(o.data, o.length, (test_options){.accelerator = flops}, &g), code);
    assert_null(g);
    if (!strstr(err.what, what) && !strstr(err.where, what))
        fail_msg("'%s: %s' does not contain '%s'", err.where, err.what, what);
    rlt__pb_out_free(&o);
    rlt__pb_out_free(&m->graph);
}

static inline const rlt_operator *find(const rlt_opgraph *g, const char *name)
{
    for (uint32_t i = 0; i < g->n_ops; i++)
        if (strcmp(g->ops[i].name, name) == 0)
            return &g->ops[i];
    fail_msg("no operator '%s'", name);
    return NULL;
}

/* Sum of the times of all forward operators of a kind (NULL: all), in ns: FLOPs or bytes. */
static inline double count(const rlt_opgraph *g, const char *kind)
{
    double sum = 0;
    for (uint32_t i = 0; i < g->n_ops; i++)
        if (g->ops[i].pass == RLT_OPERATOR_FORWARD && (!kind || strcmp(g->ops[i].kind, kind) == 0))
            sum += (double)g->ops[i].time_ps / 1000;
    return sum;
}

/* Reads a model for counts of FLOPs, and frees it. Returns `count` of a kind. */
static inline double flops_of(model *m, uint32_t batch, const char *kind)
{
    rlt_opgraph *g = read_model(m, (test_options){.accelerator = flops, .batch = batch});
    double n = count(g, kind);
    rlt_opgraph_free(g);
    rlt__pb_out_free(&m->graph);
    return n;
}

static inline uint32_t forward_ops(const rlt_opgraph *g)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_ops; i++)
        n += g->ops[i].pass == RLT_OPERATOR_FORWARD;
    return n;
}

static inline double parameters(const rlt_opgraph *g)
{
    return (double)g->parameter_bytes / 4;
}

static inline int write_accelerator(char *path, const char *name, const char *peak, const char *bandwidth)
{
    snprintf(path, 64, "%s/%s.json", folder, name);
    FILE *f = fopen(path, "w");
    if (!f)
        return -1;
    fprintf(
        f,
        "{\"name\": \"%s\", \"source\": \"counts\", \"memory\": \"1GB\", \"bandwidth\": \"%s\", \"peaks\": "
        "{\"fp32\": \"%s\"}, \"kernels\": {\"most\": {\"matmul\": 1, \"attention\": 1, \"convolution\": 1, "
        "\"lookup\": 1, \"vector\": 1}, \"memory\": 1}}\n",
        name, bandwidth, peak);
    return fclose(f);
}

static inline int make_files(void **state)
{
    (void)state;
    return mkdtemp(folder) && !write_accelerator(flops, "flops", "1GFLOPS", "1000000000GB/s") &&
                   !write_accelerator(bytes, "bytes", "9000PFLOPS", "1GB/s")
               ? 0
               : -1;
}

static inline int remove_files(void **state)
{
    (void)state;
    return unlink(flops) || unlink(bytes) || rmdir(folder);
}

#endif
