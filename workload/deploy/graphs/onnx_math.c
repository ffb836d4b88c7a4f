/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ONNX operators that compute. FLOPs of an element, beside matrix products, convolutions and windows, are
 * counted as the usual formula has operations, a transcendental function as 4; such operators are bound by
 * memory anyway.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "sim/base/error.h"
#include "workload/deploy/graphs/onnx.h"

enum { BOOL = 9 };

/* ---- element by element ---- */

static int broadcast_to(rlt__onnx *m, const rlt__onnx_node *n, uint8_t type)
{
    int64_t dims[RLT__ONNX_RANK], rank = 0;
    int rc = 0;
    for (uint32_t i = 0; i < n->n_inputs && !rc; i++) {
        const rlt__onnx_value *v = rlt__onnx_in(m, n, i);
        if (v)
            rc = rlt__onnx_broadcast(m, n, v, dims, &rank);
    }
    return rc ? rc : rlt__onnx_set(m, n, 0, dims, rank, type);
}

static int broadcast(rlt__onnx *m, const rlt__onnx_node *n)
{
    return broadcast_to(m, n, rlt__onnx_in(m, n, 0)->type);
}

static int compare(rlt__onnx *m, const rlt__onnx_node *n)
{
    return broadcast_to(m, n, BOOL);
}

static int where(rlt__onnx *m, const rlt__onnx_node *n)
{
    return broadcast_to(m, n, rlt__onnx_in(m, n, 1)->type);
}

static int dropout(rlt__onnx *m, const rlt__onnx_node *n)
{
    const rlt__onnx_value *v = rlt__onnx_in(m, n, 0);
    int rc = rlt__onnx_same(m, n);
    return rc ? rc : rlt__onnx_set(m, n, 1, v->dims, v->rank, BOOL);
}

static int resize(rlt__onnx *m, const rlt__onnx_node *n)
{
    const rlt__onnx_value *v = rlt__onnx_in(m, n, 0), *scales = rlt__onnx_in(m, n, n->n_inputs > 2 ? 2 : 1);
    int64_t dims[RLT__ONNX_RANK];
    rlt__onnx_list sizes;
    rlt__onnx_ints(m, n, "sizes", 3, &sizes);
    bool by_size = sizes.known && sizes.n > 0;
    if (!by_size && (!scales || !scales->data))
        return 0;
    if ((by_size ? sizes.n : scales->n_data) != (uint32_t)v->rank)
        return rlt__onnx_bad(m, n, "expected a size or scale for each of %d dimensions", v->rank);
    for (int64_t i = 0; i < v->rank; i++) {
        double d = by_size ? (double)sizes.at[i] : floor((double)v->dims[i] * scales->data[i]);
        if (!(d >= 0 && d <= RLT__ONNX_ELEMENTS))
            return rlt__onnx_bad(m, n, "dimension %lld becomes %g", (long long)i, d);
        dims[i] = (int64_t)d;
    }
    return rlt__onnx_set(m, n, 0, dims, v->rank, v->type);
}

/* ---- windows ---- */

/* A window in one dimension: kernel, stride, dilation, padding before and after. */
typedef struct window {
    int64_t kernel, stride, dilation, before, after;
} window;

/* Reads entry i of a list of integers of a node. */
static int entry(const rlt__onnx *m, const rlt__onnx_node *n, const char *name, uint32_t i, int64_t *x)
{
    const rlt__onnx_attribute *a = rlt__onnx_find(n, name);
    if (a && i >= a->n_ints)
        return rlt__onnx_bad(m, n, "'%s' has %u entries, which is too few", name, a->n_ints);
    *x = a ? a->ints[i] : *x;
    if (*x < 0 || *x > INT32_MAX)
        return rlt__onnx_bad(m, n, "'%s' has the entry %lld: expected 0 to 2^31 - 1", name, (long long)*x);
    return 0;
}

/* Reads the window of spatial dimension i of `spatial`, over an input of size d. */
static int read_window(const rlt__onnx *m, const rlt__onnx_node *n, uint32_t i, uint32_t spatial, int64_t d,
                       window *w)
{
    const rlt__onnx_attribute *aut = rlt__onnx_find(n, "auto_pad");
    int rc;
    w->stride = w->dilation = 1;
    w->before = w->after = 0;
    if ((rc = entry(m, n, "kernel_shape", i, &w->kernel)) || (rc = entry(m, n, "strides", i, &w->stride)) ||
        (rc = entry(m, n, "dilations", i, &w->dilation)) || (rc = entry(m, n, "pads", i, &w->before)) ||
        (rc = entry(m, n, "pads", i + spatial, &w->after)))
        return rc;
    if (w->kernel < 1 || w->stride < 1 || w->dilation < 1)
        return rlt__onnx_bad(m, n, "expected a kernel, strides and dilations of at least 1");
    if (aut && aut->text && strncmp(aut->text, "SAME", 4) == 0) {
        int64_t reach = (w->kernel - 1) * w->dilation + 1;
        int64_t all = ((d + w->stride - 1) / w->stride - 1) * w->stride + reach - d;
        w->before = 0; /* half of it stands before, but only the sum counts */
        w->after = all > 0 ? all : 0;
    }
    return 0;
}

/* Returns the number of windows over a dimension d, 0 if there is no room for one. */
static int64_t windows(const window *w, int64_t d, bool round_up)
{
    int64_t room = d + w->before + w->after - ((w->kernel - 1) * w->dilation + 1);
    if (room < 0)
        return 0;
    int64_t count = (room + (round_up ? w->stride - 1 : 0)) / w->stride + 1;
    /* The last window begins inside the input or the padding before it. */
    if (round_up && (count - 1) * w->stride >= d + w->before)
        count--;
    return count;
}

static int conv(rlt__onnx *m, const rlt__onnx_node *n)
{
    const rlt__onnx_value *v = rlt__onnx_in(m, n, 0), *k = rlt__onnx_in(m, n, 1);
    int64_t group = rlt__onnx_int(n, "group", 1), dims[RLT__ONNX_RANK];
    window w;
    int rc = 0;
    if (v->rank < 3 || k->rank != v->rank)
        return rlt__onnx_bad(m, n, "expected an input and weights of equally many dimensions, at least 3");
    if (group < 1 || v->dims[1] % group || v->dims[1] / group != k->dims[1])
        return rlt__onnx_bad(m, n, "%lld channels in %lld groups do not fit weights for %lld",
                             (long long)v->dims[1], (long long)group, (long long)k->dims[1]);
    dims[0] = v->dims[0];
    dims[1] = k->dims[0];
    for (uint32_t i = 2; i < (uint32_t)v->rank && !rc; i++) {
        w.kernel = k->dims[i];
        rc = read_window(m, n, i - 2, (uint32_t)v->rank - 2, v->dims[i], &w);
        dims[i] = rc ? 0 : windows(&w, v->dims[i], false);
    }
    return rc ? rc : rlt__onnx_set(m, n, 0, dims, v->rank, v->type);
}

static int conv_transpose(rlt__onnx *m, const rlt__onnx_node *n)
{
    const rlt__onnx_value *v = rlt__onnx_in(m, n, 0), *k = rlt__onnx_in(m, n, 1);
    const rlt__onnx_attribute *wanted = rlt__onnx_find(n, "output_shape"),
                              *aut = rlt__onnx_find(n, "auto_pad");
    int64_t group = rlt__onnx_int(n, "group", 1), dims[RLT__ONNX_RANK];
    bool same = aut && aut->text && strncmp(aut->text, "SAME", 4) == 0;
    window w;
    int rc = 0;
    if (v->rank < 3 || k->rank != v->rank || group < 1 || group > INT32_MAX || v->dims[1] != k->dims[0])
        return rlt__onnx_bad(m, n, "expected weights of as many dimensions and input channels as the input");
    dims[0] = v->dims[0];
    dims[1] = (double)k->dims[1] * (double)group > RLT__ONNX_ELEMENTS ? -1 : k->dims[1] * group;
    for (uint32_t i = 2; i < (uint32_t)v->rank && !rc; i++) {
        int64_t more = 0;
        w.kernel = k->dims[i];
        if (wanted)
            rc = entry(m, n, "output_shape", wanted->n_ints == (uint32_t)v->rank ? i : i - 2, &dims[i]);
        else if (!(rc = read_window(m, n, i - 2, (uint32_t)v->rank - 2, v->dims[i], &w)) &&
                 !(rc = entry(m, n, "output_padding", i - 2, &more)))
            dims[i] = (double)v->dims[i] * (double)w.stride > RLT__ONNX_ELEMENTS ? -1
                      : same                                                     ? v->dims[i] * w.stride
                             : (v->dims[i] - 1) * w.stride + more + (w.kernel - 1) * w.dilation + 1 -
                                   w.before - w.after;
    }
    return rc ? rc : rlt__onnx_set(m, n, 0, dims, v->rank, v->type);
}

static int pool(rlt__onnx *m, const rlt__onnx_node *n)
{
    const rlt__onnx_value *v = rlt__onnx_in(m, n, 0);
    bool round_up = rlt__onnx_int(n, "ceil_mode", 0) != 0;
    int64_t dims[RLT__ONNX_RANK];
    window w;
    int rc = 0;
    if (v->rank < 3 || !rlt__onnx_find(n, "kernel_shape"))
        return rlt__onnx_bad(m, n, "expected 'kernel_shape' and at least 3 dimensions");
    memcpy(dims, v->dims, sizeof dims);
    for (uint32_t i = 2; i < (uint32_t)v->rank && !rc; i++) {
        w.kernel = 1;
        rc = read_window(m, n, i - 2, (uint32_t)v->rank - 2, v->dims[i], &w);
        dims[i] = rc ? 0 : windows(&w, v->dims[i], round_up);
    }
    if (!rc && !(rc = rlt__onnx_set(m, n, 0, dims, v->rank, v->type)))
        rc = rlt__onnx_set(m, n, 1, dims, v->rank, v->type);
    return rc;
}

static int global_pool(rlt__onnx *m, const rlt__onnx_node *n)
{
    const rlt__onnx_value *v = rlt__onnx_in(m, n, 0);
    int64_t dims[RLT__ONNX_RANK];
    for (int64_t i = 0; i < v->rank; i++)
        dims[i] = i < 2 ? v->dims[i] : 1;
    return rlt__onnx_set(m, n, 0, dims, v->rank, v->type);
}

/* ---- products ---- */

static int gemm(rlt__onnx *m, const rlt__onnx_node *n)
{
    const rlt__onnx_value *a = rlt__onnx_in(m, n, 0), *b = rlt__onnx_in(m, n, 1);
    if (a->rank != 2 || b->rank != 2)
        return rlt__onnx_bad(m, n, "expected two matrices, got %d and %d dimensions", a->rank, b->rank);
    bool ta = rlt__onnx_int(n, "transA", 0) != 0, tb = rlt__onnx_int(n, "transB", 0) != 0;
    if (a->dims[!ta] != b->dims[tb])
        return rlt__onnx_bad(m, n, "matrices with inner sizes %lld and %lld", (long long)a->dims[!ta],
                             (long long)b->dims[tb]);
    return rlt__onnx_set(m, n, 0, (int64_t[]){a->dims[ta], b->dims[!tb]}, 2, a->type);
}

static int matmul(rlt__onnx *m, const rlt__onnx_node *n)
{
    const rlt__onnx_value *a = rlt__onnx_in(m, n, 0);
    rlt__onnx_value b = *rlt__onnx_in(m, n, 1);
    int64_t dims[RLT__ONNX_RANK], rank = a->rank - 2;
    if (a->rank < 1 || b.rank < 1)
        return rlt__onnx_bad(m, n, "expected two matrices or vectors");
    int64_t inner = a->dims[a->rank - 1], other = b.dims[b.rank > 1 ? b.rank - 2 : 0];
    if (inner != other)
        return rlt__onnx_bad(m, n, "matrices with inner sizes %lld and %lld", (long long)inner,
                             (long long)other);
    bool vector = b.rank == 1;
    int64_t columns = b.dims[b.rank - 1];
    rank = rank < 0 ? 0 : rank;
    memcpy(dims, a->dims, sizeof dims);
    b.rank = (int8_t)(vector ? 0 : b.rank - 2);
    int rc = rlt__onnx_broadcast(m, n, &b, dims, &rank);
    if (rc)
        return rc;
    if (rank + 2 > RLT__ONNX_RANK)
        return rlt__onnx_bad(m, n, "an output of more than 8 dimensions");
    if (a->rank > 1)
        dims[rank++] = a->dims[a->rank - 2];
    if (!vector)
        dims[rank++] = columns;
    return rlt__onnx_set(m, n, 0, dims, rank, a->type);
}

/* ---- reductions ---- */

static int reduce_over(rlt__onnx *m, const rlt__onnx_node *n, const rlt__onnx_list *axes, uint8_t type)
{
    const rlt__onnx_value *v = rlt__onnx_in(m, n, 0);
    bool keep = rlt__onnx_int(n, "keepdims", 1) != 0, gone[RLT__ONNX_RANK] = {false};
    int64_t dims[RLT__ONNX_RANK], rank = 0, axis;
    int rc = 0;
    for (uint32_t i = 0; i < axes->n && !rc; i++)
        if (!(rc = rlt__onnx_axis(m, n, axes->at[i], v->rank, &axis)))
            gone[axis] = true;
    bool all = axes->n == 0 && !rlt__onnx_int(n, "noop_with_empty_axes", 0);
    for (int64_t i = 0; i < v->rank && !rc; i++)
        if (!all && !gone[i])
            dims[rank++] = v->dims[i];
        else if (keep)
            dims[rank++] = 1;
    return rc ? rc : rlt__onnx_set(m, n, 0, dims, rank, type);
}

static int reduce(rlt__onnx *m, const rlt__onnx_node *n)
{
    rlt__onnx_list axes;
    rlt__onnx_ints(m, n, "axes", 1, &axes);
    return axes.known ? reduce_over(m, n, &axes, rlt__onnx_in(m, n, 0)->type) : 0;
}

static int arg(rlt__onnx *m, const rlt__onnx_node *n)
{
    enum { INT64 = 7 };
    rlt__onnx_list axes = {.at = {rlt__onnx_int(n, "axis", 0)}, .n = 1};
    return reduce_over(m, n, &axes, INT64);
}

/* ---- the table ---- */

#define ONE(n, f)                                                                                            \
    {                                                                                                        \
        .name = n, .infer = rlt__onnx_same, .flop = f, .cost = RLT__ONNX_ELEMENT, .inputs = 1                \
    }
#define NORM(n, f)                                                                                           \
    {                                                                                                        \
        .name = n, .infer = rlt__onnx_same, .flop = f, .cost = RLT__ONNX_NORM, .inputs = 1, .weights = 6     \
    }
#define MANY(n, f, least)                                                                                    \
    {                                                                                                        \
        .name = n, .infer = broadcast, .flop = f, .cost = RLT__ONNX_ELEMENT, .inputs = least,                \
        .weights = 0xff                                                                                      \
    }
#define COMPARE(n)                                                                                           \
    {                                                                                                        \
        .name = n, .infer = compare, .flop = 1, .cost = RLT__ONNX_ELEMENT, .inputs = 2                       \
    }
#define REDUCE(n, i, f)                                                                                      \
    {                                                                                                        \
        .name = n, .infer = i, .flop = f, .cost = RLT__ONNX_REDUCE, .inputs = 1                              \
    }
#define POOL(n)                                                                                              \
    {                                                                                                        \
        .name = n, .infer = pool, .flop = 1, .cost = RLT__ONNX_POOL, .inputs = 1                             \
    }

const rlt__onnx_kind rlt__onnx_math[] = {
    {.name = "Conv", .infer = conv, .cost = RLT__ONNX_CONV, .inputs = 2, .weights = 6},
    {.name = "ConvTranspose", .infer = conv_transpose, .cost = RLT__ONNX_DECONV, .inputs = 2, .weights = 6},
    {.name = "Gemm", .infer = gemm, .cost = RLT__ONNX_PRODUCT, .inputs = 2, .weights = 7},
    {.name = "MatMul", .infer = matmul, .cost = RLT__ONNX_PRODUCT, .inputs = 2, .weights = 3},
    POOL("MaxPool"),
    POOL("AveragePool"),
    POOL("LpPool"),
    REDUCE("GlobalAveragePool", global_pool, 1),
    REDUCE("GlobalMaxPool", global_pool, 1),
    NORM("BatchNormalization", 2),
    NORM("InstanceNormalization", 8),
    NORM("GroupNormalization", 8),
    NORM("LayerNormalization", 8),
    {.name = "RMSNormalization",
     .infer = rlt__onnx_same,
     .flop = 5,
     .cost = RLT__ONNX_NORM,
     .inputs = 2,
     .weights = 2},
    {.name = "PRelu", .infer = rlt__onnx_same, .flop = 2, .cost = RLT__ONNX_NORM, .inputs = 2, .weights = 2},
    {.name = "Dropout", .infer = dropout, .flop = 2, .cost = RLT__ONNX_ELEMENT, .inputs = 1},
    {.name = "Where", .infer = where, .flop = 1, .cost = RLT__ONNX_ELEMENT, .inputs = 3, .weights = 6},
    {.name = "Resize", .infer = resize, .flop = 4, .cost = RLT__ONNX_ELEMENT, .inputs = 1},
    {.name = "Upsample", .infer = resize, .flop = 4, .cost = RLT__ONNX_ELEMENT, .inputs = 1},
    ONE("Relu", 1),
    ONE("LeakyRelu", 2),
    ONE("ThresholdedRelu", 1),
    ONE("Elu", 6),
    ONE("Selu", 6),
    ONE("Celu", 6),
    ONE("Sigmoid", 6),
    ONE("HardSigmoid", 3),
    ONE("HardSwish", 4),
    ONE("Swish", 7),
    ONE("Mish", 12),
    ONE("Tanh", 4),
    ONE("Gelu", 8),
    ONE("Erf", 4),
    ONE("Exp", 4),
    ONE("Log", 4),
    ONE("Sqrt", 4),
    ONE("Sin", 4),
    ONE("Cos", 4),
    ONE("Softplus", 8),
    ONE("Softsign", 3),
    ONE("Reciprocal", 1),
    ONE("Abs", 1),
    ONE("Neg", 1),
    ONE("Sign", 1),
    ONE("Floor", 1),
    ONE("Ceil", 1),
    ONE("Round", 1),
    ONE("Not", 1),
    ONE("Clip", 2),
    ONE("CumSum", 1),
    ONE("Trilu", 1),
    ONE("LRN", 8),
    ONE("LpNormalization", 4),
    ONE("MeanVarianceNormalization", 6),
    ONE("Softmax", 8),
    ONE("LogSoftmax", 8),
    MANY("Add", 1, 2),
    MANY("Sub", 1, 2),
    MANY("Mul", 1, 2),
    MANY("Div", 1, 2),
    MANY("Sum", 1, 1),
    MANY("Mean", 1, 1),
    MANY("Min", 1, 1),
    MANY("Max", 1, 1),
    {.name = "Pow", .infer = broadcast, .flop = 4, .cost = RLT__ONNX_ELEMENT, .inputs = 2},
    {.name = "Mod", .infer = broadcast, .flop = 1, .cost = RLT__ONNX_ELEMENT, .inputs = 2},
    COMPARE("Equal"),
    COMPARE("Less"),
    COMPARE("LessOrEqual"),
    COMPARE("Greater"),
    COMPARE("GreaterOrEqual"),
    COMPARE("And"),
    COMPARE("Or"),
    COMPARE("Xor"),
    REDUCE("ReduceMean", reduce, 1),
    REDUCE("ReduceSum", reduce, 1),
    REDUCE("ReduceMax", reduce, 1),
    REDUCE("ReduceMin", reduce, 1),
    REDUCE("ReduceProd", reduce, 1),
    REDUCE("ReduceL1", reduce, 2),
    REDUCE("ReduceL2", reduce, 2),
    REDUCE("ReduceSumSquare", reduce, 2),
    REDUCE("ReduceLogSum", reduce, 2),
    REDUCE("ReduceLogSumExp", reduce, 5),
    REDUCE("ArgMax", arg, 1),
    REDUCE("ArgMin", arg, 1),
    {.name = NULL},
};
