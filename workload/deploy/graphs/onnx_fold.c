/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Contents of small constants. Exporters compute the targets of Reshape, Slice and Expand by short chains of
 * nodes, such as Shape -> Gather -> Concat. What is not computed here stays unknown.
 */
#include <math.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "workload/deploy/graphs/onnx.h"

enum { BOOL = 9 };

static bool is(const rlt__onnx_node *n, const char *kind)
{
    return strcmp(n->kind, kind) == 0;
}

/* Index into v's contents for the element of `out` with the given number: broadcasting from the end. */
static uint32_t index_of(const rlt__onnx_value *v, const rlt__onnx_value *out, uint32_t number)
{
    uint32_t at = 0, step = 1;
    for (int i = 1; i <= out->rank; i++) {
        uint32_t size = (uint32_t)out->dims[out->rank - i], digit = number % size;
        number /= size;
        if (i > v->rank)
            continue;
        uint32_t own = (uint32_t)v->dims[v->rank - i];
        at += (own == size ? digit : 0) * step;
        step *= own;
    }
    return at;
}

static double quotient(double a, double b, bool real)
{
    return real ? a / b : b != 0 ? trunc(a / b) : 0;
}

/* Computes an operator of two operands. Returns false if it is none of those known. */
static bool binary(const rlt__onnx_node *n, bool real, double a, double b, double *out)
{
    static const char *const names[] = {"Add",   "Sub",  "Mul",     "Div",         "Min",           "Max",
                                        "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"};
    size_t k = 0, count = sizeof names / sizeof *names;
    while (k < count && !is(n, names[k]))
        k++;
    if (k == count)
        return false;
    const double results[] = {a + b,         a - b,         a * b,  quotient(a, b, real),
                              a < b ? a : b, a > b ? a : b, a == b, a<b, a> b,
                              a <= b,        a >= b};
    *out = results[k];
    return true;
}

/* Computes an operator of one operand. */
static bool unary(const rlt__onnx_node *n, bool real, double a, double *out)
{
    static const char *const names[] = {"Neg", "Abs", "Floor", "Ceil", "Round", "Sqrt", "Not", "Cast"};
    size_t k = 0, count = sizeof names / sizeof *names;
    while (k < count && !is(n, names[k]))
        k++;
    if (k == count)
        return false;
    bool to_bool = is(n, "Cast") && rlt__onnx_int(n, "to", 0) == BOOL;
    const double results[] = {-a,           fabs(a), floor(a), ceil(a),
                              nearbyint(a), sqrt(a), a == 0,   to_bool ? a != 0 : real ? a : trunc(a)};
    *out = results[k];
    return true;
}

/* Element by element, with one, two or three (Where) operands. */
static bool elements(const rlt__onnx *m, const rlt__onnx_node *n, const rlt__onnx_value *out, double *data)
{
    double x[3];
    bool real = rlt__onnx_real(out->type);
    if (n->n_inputs > 3)
        return false;
    for (uint32_t i = 0; i < out->n_data; i++) {
        for (uint32_t k = 0; k < n->n_inputs; k++) {
            const rlt__onnx_value *v = rlt__onnx_in(m, n, k);
            x[k] = v->data[index_of(v, out, i)];
        }
        bool known = n->n_inputs == 1   ? unary(n, real, x[0], &data[i])
                     : n->n_inputs == 2 ? binary(n, real, x[0], x[1], &data[i])
                                        : is(n, "Where");
        if (!known)
            return false;
        if (n->n_inputs == 3)
            data[i] = x[0] != 0 ? x[1] : x[2];
    }
    return true;
}

/* Concat, Gather and Slice of lists, Range, and reductions of a list to a number. */
static bool lists(const rlt__onnx *m, const rlt__onnx_node *n, const rlt__onnx_value *out, double *data)
{
    const rlt__onnx_value *v = rlt__onnx_in(m, n, 0), *at = rlt__onnx_in(m, n, 1);
    uint32_t used = 0;
    if (v->rank > 1)
        return false;
    if (is(n, "Concat")) {
        for (uint32_t k = 0; k < n->n_inputs; k++) {
            const rlt__onnx_value *part = rlt__onnx_in(m, n, k);
            memcpy(data + used, part->data, part->n_data * sizeof *data);
            used += part->n_data;
        }
        return true;
    }
    if (is(n, "Gather")) {
        for (uint32_t i = 0; i < out->n_data; i++) {
            double k = at->data[i] < 0 ? at->data[i] + v->n_data : at->data[i];
            if (!(k >= 0 && k < v->n_data))
                return false;
            data[i] = v->data[(uint32_t)k];
        }
        return true;
    }
    if (is(n, "Slice")) {
        rlt__onnx_list starts, steps;
        rlt__onnx_ints(m, n, "starts", 1, &starts);
        rlt__onnx_ints(m, n, "steps", 4, &steps);
        if (starts.n > 1)
            return false;
        int64_t by = steps.n ? steps.at[0] : 1, d = v->n_data, from = starts.n ? starts.at[0] : 0;
        from = from < 0 ? from + d : from;
        from = from < 0 ? 0 : from >= d ? d - 1 : from;
        for (uint32_t i = 0; i < out->n_data; i++)
            data[i] = v->data[from + i * by];
        return true;
    }
    if (is(n, "Range")) {
        for (uint32_t i = 0; i < out->n_data; i++)
            data[i] = v->data[0] + i * rlt__onnx_in(m, n, 2)->data[0];
        return true;
    }
    bool sum = is(n, "ReduceSum"), times = is(n, "ReduceProd"), max = is(n, "ReduceMax"),
         min = is(n, "ReduceMin");
    if (!(sum || times || max || min) || out->n_data != 1 || v->n_data == 0)
        return false;
    data[0] = v->data[0];
    for (uint32_t i = 1; i < v->n_data; i++) {
        double x = v->data[i];
        data[0] = sum ? data[0] + x : times ? data[0] * x : max ? fmax(data[0], x) : fmin(data[0], x);
    }
    return true;
}

/* Constant, Shape, Size and ConstantOfShape: contents that do not come from those of the inputs. */
static bool given(const rlt__onnx *m, const rlt__onnx_node *n, const rlt__onnx_value *out, double *data)
{
    const rlt__onnx_value *v = rlt__onnx_in(m, n, 0);
    const rlt__onnx_attribute *value = rlt__onnx_find(n, "value"), *a;
    const double *filling = value && value->tensor != RLT_NONE ? m->values[value->tensor].data : NULL;
    if (is(n, "Shape")) {
        int64_t from = rlt__onnx_int(n, "start", 0);
        from = from < 0 ? from + v->rank : from;
        from = from < 0 ? 0 : from;
        for (uint32_t i = 0; i < out->n_data; i++)
            data[i] = (double)v->dims[from + i];
    } else if (is(n, "Size")) {
        data[0] = rlt__onnx_elements(v);
    } else if (is(n, "ConstantOfShape")) {
        for (uint32_t i = 0; i < out->n_data; i++)
            data[i] = filling ? filling[0] : 0;
        return !value || filling;
    } else if (filling) {
        memcpy(data, filling, out->n_data * sizeof *data);
    } else if ((a = rlt__onnx_find(n, "value_ints")) && a->n_ints == out->n_data) {
        for (uint32_t i = 0; i < out->n_data; i++)
            data[i] = (double)a->ints[i];
    } else if ((a = rlt__onnx_find(n, "value_int"))) {
        data[0] = (double)a->i;
    } else if ((a = rlt__onnx_find(n, "value_float"))) {
        data[0] = a->f;
    } else {
        return false;
    }
    return true;
}

static bool compute(const rlt__onnx *m, const rlt__onnx_node *n, const rlt__onnx_value *out, double *data)
{
    const rlt__onnx_value *v = rlt__onnx_in(m, n, 0);
    if (n->op->cost == RLT__ONNX_CONSTANT || is(n, "ConstantOfShape"))
        return given(m, n, out, data);
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        const rlt__onnx_value *in = rlt__onnx_in(m, n, i);
        if (in && !in->data)
            return false;
        if (!in && !is(n, "Slice"))
            return false;
    }
    if (n->op->cost == RLT__ONNX_VIEW && v->n_data == out->n_data) {
        memcpy(data, v->data, out->n_data * sizeof *data);
        return true;
    }
    if (is(n, "Expand")) {
        for (uint32_t i = 0; i < out->n_data; i++)
            data[i] = v->data[index_of(v, out, i)];
        return true;
    }
    return n->op->cost == RLT__ONNX_ELEMENT || is(n, "Cast") ? elements(m, n, out, data)
                                                             : lists(m, n, out, data);
}

int rlt__onnx_fold(rlt__onnx *m, const rlt__onnx_node *n)
{
    rlt__onnx_value *out = &m->values[n->outputs[0]];
    double count = rlt__onnx_elements(out);
    if (count > RLT__ONNX_DATA)
        return 0;
    double *data = rlt_arena_array(&m->arena, (size_t)count + 1, sizeof *data);
    if (!data)
        return rlt_nomem(m->err);
    out->n_data = (uint32_t)count;
    if (compute(m, n, out, data))
        out->data = data;
    return 0;
}
