/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Access to the nodes and values of an ONNX model. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/text.h"
#include "sim/base/time.h"
#include "workload/deploy/graphs/onnx.h"

enum { MAX_VALUES = 1 << 22 };

int rlt__onnx_bad(const rlt__onnx *m, const rlt__onnx_node *n, const char *fmt, ...)
{
    char what[700];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    return rlt_fail(m->err, RLT_EMALFORMED, m->path, "node '%.150s' (%.80s): %s", n->name, n->kind, what);
}

void rlt__onnx_note(const rlt__onnx *m, const char *fmt, ...)
{
    char what[700];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    rlt_make_printable(what);
    if (m->options->notes)
        rlt_growing_add(m->options->notes, "%s\n", what);
}

uint32_t rlt__onnx_value_of(rlt__onnx *m, const char *name, size_t length)
{
    uint32_t i = rlt_intern(&m->names, name, length);
    if (i == RLT_NONE || i < m->n_values)
        return i;
    if (rlt_grow(&m->values, &m->values_room, sizeof *m->values, (uint64_t)i + 1, MAX_VALUES, "tensors",
                 m->err))
        return RLT_NONE;
    m->values[i] = (rlt__onnx_value){
        .rank = -1, .declared_rank = -1, .producer = RLT_NONE, .layer = RLT_NONE, .root = i};
    m->n_values = i + 1;
    return i;
}

rlt__onnx_value *rlt__onnx_in(const rlt__onnx *m, const rlt__onnx_node *n, uint32_t i)
{
    return i < n->n_inputs && n->inputs[i] != RLT_NONE ? &m->values[n->inputs[i]] : NULL;
}

const rlt__onnx_attribute *rlt__onnx_find(const rlt__onnx_node *n, const char *name)
{
    for (uint32_t i = 0; i < n->n_attributes; i++)
        if (strcmp(n->attributes[i].name, name) == 0)
            return &n->attributes[i];
    return NULL;
}

int64_t rlt__onnx_int(const rlt__onnx_node *n, const char *name, int64_t otherwise)
{
    const rlt__onnx_attribute *a = rlt__onnx_find(n, name);
    return a ? a->i : otherwise;
}

int rlt__onnx_axis(const rlt__onnx *m, const rlt__onnx_node *n, int64_t axis, int64_t rank, int64_t *out)
{
    *out = 0;
    if (axis < -rank || axis >= rank)
        return rlt__onnx_bad(m, n, "axis %lld of %lld dimensions", (long long)axis, (long long)rank);
    *out = axis < 0 ? axis + rank : axis;
    return 0;
}

static int64_t whole(double x)
{
    return x > 0x1p62 ? (int64_t)1 << 62 : x < -0x1p62 ? -((int64_t)1 << 62) : x == x ? (int64_t)x : 0;
}

void rlt__onnx_ints(const rlt__onnx *m, const rlt__onnx_node *n, const char *attribute, uint32_t input,
                    rlt__onnx_list *out)
{
    const rlt__onnx_attribute *a = rlt__onnx_find(n, attribute);
    const rlt__onnx_value *v = rlt__onnx_in(m, n, input);
    out->n = 0;
    out->given = a || v;
    out->known = a || !v || v->data;
    if (a) {
        out->n = a->n_ints;
        memcpy(out->at, a->ints, a->n_ints * sizeof *out->at);
    } else if (v && v->data) {
        out->n = v->n_data;
        for (uint32_t i = 0; i < v->n_data; i++)
            out->at[i] = whole(v->data[i]);
    }
}

int rlt__onnx_set(rlt__onnx *m, const rlt__onnx_node *n, uint32_t output, const int64_t *dims, int64_t rank,
                  uint8_t type)
{
    double elements = 1;
    if (output >= n->n_outputs || n->outputs[output] == RLT_NONE)
        return 0;
    rlt__onnx_value *v = &m->values[n->outputs[output]];
    if (rank > RLT__ONNX_RANK)
        return rlt__onnx_bad(m, n, "an output of more than 8 dimensions");
    for (int64_t i = 0; i < rank; i++) {
        elements *= (double)dims[i];
        if (dims[i] < 0 || elements > RLT__ONNX_ELEMENTS)
            return rlt__onnx_bad(m, n,
                                 "dimension %lld of its output is %lld: expected at least 0, and at most "
                                 "2^50 elements in all",
                                 (long long)i, (long long)dims[i]);
        v->dims[i] = dims[i];
    }
    v->rank = (int8_t)rank;
    v->type = type;
    return 0;
}

double rlt__onnx_elements(const rlt__onnx_value *v)
{
    double elements = 1;
    for (int64_t i = 0; i < v->rank; i++)
        elements *= (double)v->dims[i];
    return elements;
}

bool rlt__onnx_real(uint8_t type)
{
    enum { FLOAT = 1, FLOAT16 = 10, DOUBLE = 11, BFLOAT16 = 16, FLOAT8_LAST = 20 };
    return type == FLOAT || type == FLOAT16 || type == DOUBLE || (type >= BFLOAT16 && type <= FLOAT8_LAST);
}

int rlt__onnx_broadcast(const rlt__onnx *m, const rlt__onnx_node *n, const rlt__onnx_value *v, int64_t *dims,
                        int64_t *rank)
{
    int64_t r = v->rank > *rank ? v->rank : *rank, out[RLT__ONNX_RANK];
    for (int64_t i = 1; i <= r; i++) {
        int64_t a = i <= *rank ? dims[*rank - i] : 1, b = i <= v->rank ? v->dims[v->rank - i] : 1;
        if (a != b && a != 1 && b != 1)
            return rlt__onnx_bad(m, n, "shapes that do not broadcast: %lld and %lld in dimension -%lld",
                                 (long long)a, (long long)b, (long long)i);
        out[r - i] = a == 1 ? b : a;
    }
    memcpy(dims, out, (size_t)r * sizeof *out);
    *rank = r;
    return 0;
}

int rlt__onnx_same(rlt__onnx *m, const rlt__onnx_node *n)
{
    const rlt__onnx_value *v = rlt__onnx_in(m, n, 0);
    return rlt__onnx_set(m, n, 0, v->dims, v->rank, v->type);
}

const rlt__onnx_kind *rlt__onnx_kind_of(const char *name)
{
    const rlt__onnx_kind *const tables[] = {rlt__onnx_math, rlt__onnx_moves};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const rlt__onnx_kind *k = tables[t]; k->name; k++)
            if (strcmp(k->name, name) == 0)
                return k;
    return NULL;
}
