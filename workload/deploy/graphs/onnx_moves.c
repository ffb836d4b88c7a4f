/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ONNX operators that move elements, rename dimensions, or make constants. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/deploy/graphs/onnx.h"

enum { INT64 = 7, FLOAT = 1 };

static int flatten(rlt__onnx *m, const rlt__onnx_node *n)
{
    const rlt__onnx_value *v = rlt__onnx_in(m, n, 0);
    int64_t axis = rlt__onnx_int(n, "axis", 1), dims[2] = {1, 1};
    int rc = 0;
    if (axis != v->rank)
        rc = rlt__onnx_axis(m, n, axis, v->rank, &axis);
    for (int64_t i = 0; i < v->rank; i++)
        dims[i >= axis] *= v->dims[i];
    return rc ? rc : rlt__onnx_set(m, n, 0, dims, 2, v->type);
}

static int reshape(rlt__onnx *m, const rlt__onnx_node *n)
{
    const rlt__onnx_value *v = rlt__onnx_in(m, n, 0);
    rlt__onnx_list to;
    int64_t open = -1;
    double elements = 1;
    rlt__onnx_ints(m, n, "shape", 1, &to);
    if (!to.known)
        return 0;
    if (to.n > RLT__ONNX_RANK)
        return rlt__onnx_bad(m, n, "a target of more than 8 dimensions");
    for (uint32_t i = 0; i < to.n; i++) {
        if (to.at[i] == 0 && !rlt__onnx_int(n, "allowzero", 0) && i < (uint32_t)v->rank)
            to.at[i] = v->dims[i];
        if (to.at[i] == -1 && open < 0)
            open = i;
        else if (to.at[i] < 0)
            return rlt__onnx_bad(m, n, "a target with more than one open dimension");
        else
            elements *= (double)to.at[i];
    }
    if (open >= 0)
        to.at[open] = elements > 0 ? (int64_t)(rlt__onnx_elements(v) / elements) : 0;
    if (open >= 0 && elements > 0)
        elements *= (double)to.at[open];
    if (elements != rlt__onnx_elements(v))
        return rlt__onnx_bad(m, n, "%.0f elements do not fit a target of %.0f", rlt__onnx_elements(v),
                             elements);
    return rlt__onnx_set(m, n, 0, to.at, to.n, v->type);
}

static int transpose(rlt__onnx *m, const rlt__onnx_node *n)
{
    const rlt__onnx_value *v = rlt__onnx_in(m, n, 0);
    const rlt__onnx_attribute *perm = rlt__onnx_find(n, "perm");
    int64_t dims[RLT__ONNX_RANK];
    uint32_t met = 0;
    if (perm && perm->n_ints != (uint32_t)v->rank)
        return rlt__onnx_bad(m, n, "a permutation of %u for %d dimensions", perm->n_ints, v->rank);
    for (int64_t i = 0; i < v->rank; i++) {
        int64_t from = perm ? perm->ints[i] : v->rank - 1 - i;
        if (from < 0 || from >= v->rank || met >> from & 1)
            return rlt__onnx_bad(m, n, "expected a permutation of the dimensions");
        met |= 1u << from;
        dims[i] = v->dims[from];
    }
    return rlt__onnx_set(m, n, 0, dims, v->rank, v->type);
}

static int concat(rlt__onnx *m, const rlt__onnx_node *n)
{
    const rlt__onnx_value *first = rlt__onnx_in(m, n, 0);
    int64_t axis, dims[RLT__ONNX_RANK];
    int rc = rlt__onnx_axis(m, n, rlt__onnx_int(n, "axis", 1), first->rank, &axis);
    if (rc)
        return rc;
    memcpy(dims, first->dims, sizeof dims);
    for (uint32_t k = 1; k < n->n_inputs; k++) {
        const rlt__onnx_value *v = rlt__onnx_in(m, n, k);
        if (!v)
            return rlt__onnx_bad(m, n, "input %u is missing", k);
        for (int64_t i = 0; i < first->rank; i++)
            if (v->rank != first->rank || (i != axis && v->dims[i] != first->dims[i]))
                return rlt__onnx_bad(m, n, "inputs 0 and %u differ beside axis %lld", k, (long long)axis);
        dims[axis] += v->dims[axis];
        if (dims[axis] > (int64_t)RLT__ONNX_ELEMENTS)
            return rlt__onnx_bad(m, n, "an output of more than 2^50 elements");
    }
    return rlt__onnx_set(m, n, 0, dims, first->rank, first->type);
}

static int split(rlt__onnx *m, const rlt__onnx_node *n)
{
    const rlt__onnx_value *v = rlt__onnx_in(m, n, 0);
    int64_t axis, dims[RLT__ONNX_RANK], left, part;
    rlt__onnx_list sizes;
    int rc = rlt__onnx_axis(m, n, rlt__onnx_int(n, "axis", 0), v->rank, &axis);
    rlt__onnx_ints(m, n, "split", 1, &sizes);
    if (rc || !sizes.known)
        return rc;
    if (sizes.given && sizes.n != n->n_outputs)
        return rlt__onnx_bad(m, n, "%u sizes for %u outputs", sizes.n, n->n_outputs);
    memcpy(dims, v->dims, sizeof dims);
    left = v->dims[axis];
    part = (left + n->n_outputs - 1) / n->n_outputs;
    for (uint32_t k = 0; k < n->n_outputs && !rc; k++) {
        dims[axis] = sizes.given ? sizes.at[k] : left < part ? left : part;
        if (dims[axis] < 0 || dims[axis] > left)
            return rlt__onnx_bad(m, n, "sizes that sum to more than the %lld of axis %lld",
                                 (long long)v->dims[axis], (long long)axis);
        left -= dims[axis];
        rc = rlt__onnx_set(m, n, k, dims, v->rank, v->type);
    }
    return rc;
}

static int64_t clamp(int64_t x, int64_t least, int64_t most)
{
    return x < least ? least : x > most ? most : x;
}

static int slice(rlt__onnx *m, const rlt__onnx_node *n)
{
    const rlt__onnx_value *v = rlt__onnx_in(m, n, 0);
    rlt__onnx_list starts, ends, axes, steps;
    int64_t dims[RLT__ONNX_RANK], axis;
    rlt__onnx_ints(m, n, "starts", 1, &starts);
    rlt__onnx_ints(m, n, "ends", 2, &ends);
    rlt__onnx_ints(m, n, "axes", 3, &axes);
    rlt__onnx_ints(m, n, "steps", 4, &steps);
    if (!starts.known || !ends.known || !axes.known || !steps.known)
        return 0;
    if (starts.n != ends.n || (axes.given && axes.n != starts.n) || (steps.given && steps.n != starts.n))
        return rlt__onnx_bad(m, n, "starts, ends, axes and steps of unequal lengths");
    memcpy(dims, v->dims, sizeof dims);
    for (uint32_t i = 0; i < starts.n; i++) {
        int rc = rlt__onnx_axis(m, n, axes.given ? axes.at[i] : i, v->rank, &axis);
        if (rc)
            return rc;
        int64_t d = v->dims[axis], by = steps.given ? steps.at[i] : 1, from = starts.at[i], to = ends.at[i];
        if (by == 0 || by < -INT32_MAX || by > INT32_MAX)
            return rlt__onnx_bad(m, n, "a step of %lld", (long long)by);
        from = clamp(from < 0 ? from + d : from, 0, by > 0 ? d : d - 1);
        to = clamp(to < 0 ? to + d : to, by > 0 ? 0 : -1, d);
        int64_t span = by > 0 ? to - from + by - 1 : from - to - by - 1;
        dims[axis] = span <= 0 ? 0 : span / (by > 0 ? by : -by);
    }
    return rlt__onnx_set(m, n, 0, dims, v->rank, v->type);
}

/* Marks the axes that a list names, counted in `rank` dimensions. */
static int mark(const rlt__onnx *m, const rlt__onnx_node *n, const rlt__onnx_list *axes, int64_t rank,
                bool *marked)
{
    int64_t axis;
    int rc = 0;
    memset(marked, 0, RLT__ONNX_RANK * sizeof *marked);
    if (rank > RLT__ONNX_RANK)
        return rlt__onnx_bad(m, n, "an output of more than 8 dimensions");
    for (uint32_t i = 0; i < axes->n && !rc; i++)
        if (!(rc = rlt__onnx_axis(m, n, axes->at[i], rank, &axis))) {
            if (marked[axis])
                rc = rlt__onnx_bad(m, n, "axis %lld twice", (long long)axis);
            marked[axis] = true;
        }
    return rc;
}

static int squeeze(rlt__onnx *m, const rlt__onnx_node *n)
{
    const rlt__onnx_value *v = rlt__onnx_in(m, n, 0);
    bool gone[RLT__ONNX_RANK];
    int64_t dims[RLT__ONNX_RANK], rank = 0;
    rlt__onnx_list axes;
    rlt__onnx_ints(m, n, "axes", 1, &axes);
    if (!axes.known)
        return 0;
    int rc = mark(m, n, &axes, v->rank, gone);
    for (int64_t i = 0; i < v->rank && !rc; i++)
        if (axes.given ? !gone[i] : v->dims[i] != 1)
            dims[rank++] = v->dims[i];
        else if (v->dims[i] != 1)
            rc = rlt__onnx_bad(m, n, "dimension %lld is %lld: expected 1", (long long)i,
                               (long long)v->dims[i]);
    return rc ? rc : rlt__onnx_set(m, n, 0, dims, rank, v->type);
}

static int unsqueeze(rlt__onnx *m, const rlt__onnx_node *n)
{
    const rlt__onnx_value *v = rlt__onnx_in(m, n, 0);
    bool added[RLT__ONNX_RANK];
    int64_t dims[RLT__ONNX_RANK], at = 0;
    rlt__onnx_list axes;
    rlt__onnx_ints(m, n, "axes", 1, &axes);
    if (!axes.known)
        return 0;
    int64_t rank = v->rank + (int64_t)axes.n;
    int rc = mark(m, n, &axes, rank, added);
    for (int64_t i = 0; i < rank && !rc; i++)
        dims[i] = added[i] ? 1 : v->dims[at++];
    return rc ? rc : rlt__onnx_set(m, n, 0, dims, rank, v->type);
}

static int gather(rlt__onnx *m, const rlt__onnx_node *n)
{
    const rlt__onnx_value *v = rlt__onnx_in(m, n, 0), *at = rlt__onnx_in(m, n, 1);
    int64_t axis, dims[2 * RLT__ONNX_RANK], rank = 0;
    int rc = rlt__onnx_axis(m, n, rlt__onnx_int(n, "axis", 0), v->rank, &axis);
    if (rc)
        return rc;
    for (int64_t i = 0; i < axis; i++)
        dims[rank++] = v->dims[i];
    for (int64_t i = 0; i < at->rank; i++)
        dims[rank++] = at->dims[i];
    for (int64_t i = axis + 1; i < v->rank; i++)
        dims[rank++] = v->dims[i];
    return rlt__onnx_set(m, n, 0, dims, rank, v->type);
}

static int gather_elements(rlt__onnx *m, const rlt__onnx_node *n)
{
    const rlt__onnx_value *v = rlt__onnx_in(m, n, 0), *at = rlt__onnx_in(m, n, 1);
    return rlt__onnx_set(m, n, 0, at->dims, at->rank, v->type);
}

static int expand(rlt__onnx *m, const rlt__onnx_node *n)
{
    const rlt__onnx_value *v = rlt__onnx_in(m, n, 0);
    rlt__onnx_list to;
    rlt__onnx_ints(m, n, "shape", 1, &to);
    if (!to.known)
        return 0;
    if (to.n > RLT__ONNX_RANK)
        return rlt__onnx_bad(m, n, "a target of more than 8 dimensions");
    int64_t rank = to.n;
    int rc = rlt__onnx_broadcast(m, n, v, to.at, &rank);
    return rc ? rc : rlt__onnx_set(m, n, 0, to.at, rank, v->type);
}

static int tile(rlt__onnx *m, const rlt__onnx_node *n)
{
    const rlt__onnx_value *v = rlt__onnx_in(m, n, 0);
    rlt__onnx_list times;
    rlt__onnx_ints(m, n, "repeats", 1, &times);
    if (!times.known)
        return 0;
    if (times.n != (uint32_t)v->rank)
        return rlt__onnx_bad(m, n, "%u repeats for %d dimensions", times.n, v->rank);
    for (uint32_t i = 0; i < times.n; i++) {
        if (times.at[i] < 0 || (double)times.at[i] * (double)v->dims[i] > RLT__ONNX_ELEMENTS)
            return rlt__onnx_bad(m, n, "%lld repeats", (long long)times.at[i]);
        times.at[i] *= v->dims[i];
    }
    return rlt__onnx_set(m, n, 0, times.at, v->rank, v->type);
}

static int pad(rlt__onnx *m, const rlt__onnx_node *n)
{
    const rlt__onnx_value *v = rlt__onnx_in(m, n, 0);
    rlt__onnx_list pads, axes;
    int64_t dims[RLT__ONNX_RANK], axis;
    rlt__onnx_ints(m, n, "pads", 1, &pads);
    rlt__onnx_ints(m, n, "axes", 3, &axes);
    if (!pads.known || !axes.known)
        return 0;
    uint32_t count = axes.given ? axes.n : (uint32_t)v->rank;
    if (pads.n != 2 * count)
        return rlt__onnx_bad(m, n, "%u pads for %u dimensions: expected two for each", pads.n, count);
    memcpy(dims, v->dims, sizeof dims);
    for (uint32_t i = 0; i < count; i++) {
        int rc = rlt__onnx_axis(m, n, axes.given ? axes.at[i] : i, v->rank, &axis);
        if (rc)
            return rc;
        dims[axis] +=
            clamp(pads.at[i], INT32_MIN, INT32_MAX) + clamp(pads.at[count + i], INT32_MIN, INT32_MAX);
    }
    return rlt__onnx_set(m, n, 0, dims, v->rank, v->type);
}

/* DepthToSpace and SpaceToDepth: batch, channels, height and width. */
static int between_depth_and_space(rlt__onnx *m, const rlt__onnx_node *n)
{
    const rlt__onnx_value *v = rlt__onnx_in(m, n, 0);
    int64_t b = rlt__onnx_int(n, "blocksize", 0), d[4];
    bool to_space = n->kind[0] == 'D';
    if (v->rank != 4 || b < 1 || b > INT16_MAX)
        return rlt__onnx_bad(m, n, "expected 4 dimensions and a block size of at least 1");
    memcpy(d, v->dims, sizeof d);
    if (to_space ? d[1] % (b * b) != 0 : d[2] % b != 0 || d[3] % b != 0)
        return rlt__onnx_bad(m, n, "blocks of %lld do not divide its input", (long long)b);
    d[1] = to_space ? d[1] / (b * b) : d[1] * b * b;
    d[2] = to_space ? d[2] * b : d[2] / b;
    d[3] = to_space ? d[3] * b : d[3] / b;
    return rlt__onnx_set(m, n, 0, d, 4, v->type);
}

static int cast(rlt__onnx *m, const rlt__onnx_node *n)
{
    const rlt__onnx_value *v = rlt__onnx_in(m, n, 0), *like = rlt__onnx_in(m, n, 1);
    int64_t to = like ? like->type : rlt__onnx_int(n, "to", v->type);
    return rlt__onnx_set(m, n, 0, v->dims, v->rank, (uint8_t)clamp(to, 0, UINT8_MAX));
}

/* ---- constants ---- */

static int shape(rlt__onnx *m, const rlt__onnx_node *n)
{
    const rlt__onnx_value *v = rlt__onnx_in(m, n, 0);
    int64_t from = rlt__onnx_int(n, "start", 0), to = rlt__onnx_int(n, "end", v->rank);
    from = clamp(from < 0 ? from + v->rank : from, 0, v->rank);
    to = clamp(to < 0 ? to + v->rank : to, from, v->rank);
    return rlt__onnx_set(m, n, 0, (int64_t[]){to - from}, 1, INT64);
}

static int size(rlt__onnx *m, const rlt__onnx_node *n)
{
    return rlt__onnx_set(m, n, 0, NULL, 0, INT64);
}

static int constant(rlt__onnx *m, const rlt__onnx_node *n)
{
    const rlt__onnx_attribute *value = rlt__onnx_find(n, "value"), *ints = rlt__onnx_find(n, "value_ints");
    if (value && value->tensor != RLT_NONE) {
        const rlt__onnx_value *t = &m->values[value->tensor];
        return rlt__onnx_set(m, n, 0, t->dims, t->rank, t->type);
    }
    if (ints)
        return rlt__onnx_set(m, n, 0, (int64_t[]){ints->n_ints}, 1, INT64);
    if (rlt__onnx_find(n, "value_int") || rlt__onnx_find(n, "value_float"))
        return rlt__onnx_set(m, n, 0, NULL, 0, rlt__onnx_find(n, "value_int") ? INT64 : FLOAT);
    return 0;
}

static int constant_of_shape(rlt__onnx *m, const rlt__onnx_node *n)
{
    const rlt__onnx_attribute *value = rlt__onnx_find(n, "value");
    rlt__onnx_list to;
    rlt__onnx_ints(m, n, "shape", 0, &to);
    if (!to.known)
        return 0;
    uint8_t type = value && value->tensor != RLT_NONE ? m->values[value->tensor].type : FLOAT;
    return rlt__onnx_set(m, n, 0, to.at, to.n, type);
}

static int range(rlt__onnx *m, const rlt__onnx_node *n)
{
    const rlt__onnx_value *from = rlt__onnx_in(m, n, 0), *to = rlt__onnx_in(m, n, 1),
                          *by = rlt__onnx_in(m, n, 2);
    if (!from->data || !to->data || !by->data || from->n_data != 1 || to->n_data != 1 || by->n_data != 1)
        return 0;
    double count = ceil((to->data[0] - from->data[0]) / by->data[0]);
    if (!(count <= RLT__ONNX_ELEMENTS))
        return rlt__onnx_bad(m, n, "a range without end");
    return rlt__onnx_set(m, n, 0, (int64_t[]){count > 0 ? (int64_t)count : 0}, 1, from->type);
}

enum { ALL = 0xff, VIEW = RLT__ONNX_VIEW, MOVE = RLT__ONNX_MOVE, CONSTANT = RLT__ONNX_CONSTANT };

const rlt__onnx_kind rlt__onnx_moves[] = {
    {.name = "Identity", .infer = rlt__onnx_same, .cost = VIEW, .inputs = 1},
    {.name = "Flatten", .infer = flatten, .cost = VIEW, .inputs = 1},
    {.name = "Reshape", .infer = reshape, .cost = VIEW, .inputs = 1},
    {.name = "Squeeze", .infer = squeeze, .cost = VIEW, .inputs = 1},
    {.name = "Unsqueeze", .infer = unsqueeze, .cost = VIEW, .inputs = 1},
    {.name = "Transpose", .infer = transpose, .cost = MOVE, .inputs = 1},
    {.name = "Concat", .infer = concat, .cost = MOVE, .inputs = 1, .weights = ALL},
    {.name = "Split", .infer = split, .cost = MOVE, .inputs = 1},
    {.name = "Slice", .infer = slice, .cost = MOVE, .inputs = 1},
    {.name = "Expand", .infer = expand, .cost = MOVE, .inputs = 2},
    {.name = "Tile", .infer = tile, .cost = MOVE, .inputs = 2},
    {.name = "Pad", .infer = pad, .cost = MOVE, .inputs = 1},
    {.name = "DepthToSpace", .infer = between_depth_and_space, .cost = MOVE, .inputs = 1},
    {.name = "SpaceToDepth", .infer = between_depth_and_space, .cost = MOVE, .inputs = 1},
    {.name = "Cast", .infer = cast, .cost = MOVE, .inputs = 1},
    {.name = "CastLike", .infer = cast, .cost = MOVE, .inputs = 2},
    {.name = "Gather", .infer = gather, .cost = RLT__ONNX_LOOKUP, .inputs = 2, .weights = 1},
    {.name = "GatherElements", .infer = gather_elements, .cost = RLT__ONNX_LOOKUP, .inputs = 2, .weights = 1},
    {.name = "Shape", .infer = shape, .cost = CONSTANT, .inputs = 1},
    {.name = "Size", .infer = size, .cost = CONSTANT, .inputs = 1},
    {.name = "Constant", .infer = constant, .cost = CONSTANT},
    {.name = "ConstantOfShape", .infer = constant_of_shape, .cost = MOVE, .inputs = 1},
    {.name = "Range", .infer = range, .cost = MOVE, .inputs = 3},
    {.name = NULL},
};
