/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * FLOPs, bytes and weights of a node. A multiply-add counts as two FLOPs; the addition of a bias is not
 * counted.
 *
 *     Conv            2 * outputs * channels / groups * kernel
 *     ConvTranspose   2 * inputs * channels out / groups * kernel
 *     Gemm, MatMul    2 * outputs * inner size
 *     pools           outputs * kernel
 *     reductions      inputs * FLOPs each;   others   outputs * FLOPs each
 *
 * Bytes are those of all inputs and outputs; a lookup reads what it writes. Example: a convolution of 3 x 3
 * from 64 to 64 channels, on 32 images of 56 x 56: 7.4 GFLOP and 51.5 MB in fp32.
 */
#include <stddef.h>

#include "sim/base/time.h"
#include "workload/deploy/graphs/onnx.h"
#include "workload/models/model.h"

/* TensorProto.DataType */
enum { UINT8 = 2, INT8, UINT16, INT16, INT32, INT64, BOOL = 9, UINT32 = 12, UINT64 };

static uint32_t element_bytes(const rlt__onnx *m, uint8_t type)
{
    switch (type) {
    case UINT8:
    case INT8:
    case BOOL:
        return 1;
    case UINT16:
    case INT16:
        return 2;
    case INT32:
    case UINT32:
        return 4;
    case INT64:
    case UINT64:
        return 8;
    default:
        return m->element;
    }
}

double rlt__onnx_bytes(const rlt__onnx *m, const rlt__onnx_value *v)
{
    if (v->rank < 0)
        return 0;
    return rlt__onnx_elements(v) * element_bytes(m, v->type) * (v->constant ? 1 : m->scale);
}

/* Returns true if input i, a constant, is a weight of the node. */
static bool is_weight(const rlt__onnx_node *n, uint32_t i, const rlt__onnx_value *v)
{
    const rlt__onnx_kind *k = n->op;
    bool element = k->cost == RLT__ONNX_ELEMENT || k->cost == RLT__ONNX_MOVE;
    if (!v->constant || !rlt__onnx_real(v->type) || !(k->weights >> (i < 7 ? i : 7) & 1))
        return false;
    /* Numbers in a formula, such as the 0.5 of a GELU, are no weights. */
    if (element && (v->origin != RLT__ONNX_FROM_FILE || rlt__onnx_elements(v) <= 1))
        return false;
    return v->origin != RLT__ONNX_FROM_SHAPES;
}

static double kernel(const rlt__onnx_node *n)
{
    const rlt__onnx_attribute *a = rlt__onnx_find(n, "kernel_shape");
    double elements = 1;
    for (uint32_t i = 0; a && i < a->n_ints; i++)
        elements *= (double)a->ints[i];
    return elements;
}

static void product(const rlt__onnx *m, const rlt__onnx_node *n, double out, rlt__onnx_work *w)
{
    const rlt__onnx_value *a = rlt__onnx_in(m, n, 0), *b = rlt__onnx_in(m, n, 1);
    int64_t last = a->rank - 1;
    if (n->kind[0] == 'G' && rlt__onnx_int(n, "transA", 0) != 0)
        last = 0;
    double inner = (double)a->dims[last];
    w->flop = 2 * out * inner;
    w->kind = RLT_WORK_ATTENTION;
    w->twice = true;
    if (w->flop <= 0 || (!a->constant && !b->constant))
        return;
    const rlt__onnx_value *weights = b->constant ? b : a, *other = b->constant ? a : b;
    double columns = rlt__onnx_elements(weights) / inner;
    w->kind = RLT_WORK_MATMUL;
    w->rows = rlt__onnx_elements(other) / inner * m->scale;
    w->width = columns < inner ? columns : inner;
}

static void count_flop(const rlt__onnx *m, const rlt__onnx_node *n, double out, rlt__onnx_work *w)
{
    const rlt__onnx_value *k = rlt__onnx_in(m, n, 1);
    double in = rlt__onnx_elements(rlt__onnx_in(m, n, 0));
    w->kind = RLT_WORK_VECTOR;
    switch (n->op->cost) {
    case RLT__ONNX_CONV:
    case RLT__ONNX_DECONV:
        w->kind = RLT_WORK_CONVOLUTION;
        w->twice = true;
        w->flop = 2 * (n->op->cost == RLT__ONNX_CONV ? out : in);
        for (int64_t i = 1; i < k->rank; i++)
            w->flop *= (double)k->dims[i];
        break;
    case RLT__ONNX_PRODUCT:
        product(m, n, out, w);
        break;
    case RLT__ONNX_POOL:
        w->flop = out * kernel(n);
        break;
    case RLT__ONNX_REDUCE:
        w->flop = in * n->op->flop;
        break;
    case RLT__ONNX_LOOKUP:
        w->kind = RLT_WORK_LOOKUP;
        break;
    default:
        w->flop = out * n->op->flop;
    }
    w->flop *= m->scale;
}

void rlt__onnx_work_of(rlt__onnx *m, const rlt__onnx_node *n, rlt__onnx_work *w)
{
    *w = (rlt__onnx_work){0};
    for (uint32_t i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] != RLT_NONE)
            w->bytes += rlt__onnx_bytes(m, &m->values[n->outputs[i]]);
    if (n->op->cost == RLT__ONNX_LOOKUP)
        w->bytes *= 2;
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        const rlt__onnx_value *v = rlt__onnx_in(m, n, i);
        if (!v)
            continue;
        if (n->op->cost != RLT__ONNX_LOOKUP || i > 0)
            w->bytes += rlt__onnx_bytes(m, v);
        rlt__onnx_value *root = &m->values[v->root];
        if (!is_weight(n, i, v))
            continue;
        w->twice = true;
        w->parameters += root->counted ? 0 : rlt__onnx_elements(root);
        root->counted = true;
    }
    count_flop(m, n, rlt__onnx_elements(&m->values[n->outputs[0]]), w);
}
