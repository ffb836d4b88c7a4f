/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shapes of ONNX operators that move elements or rename dimensions, in random chains: after each one, as many
 * elements as a walk over the places of its result finds (onnx.ai). A product with a weight at the end sees the
 * last dimension, too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/base/error.h"
#include "sim/text/protowire.h"
#include "test/support/dice.h"
#include "test/support/traces/onnx.h"
#include "workload/deploy/opgraph.h"

enum { CASES = 600, RANK = 8, MOST_STEPS = 10 };

typedef struct chain {
    model m;
    dice d;
    int64_t dims[RANK];
    uint32_t rank, n, n_lists;
    char now[20]; /* the value that the next operator reads */
    int64_t want[MOST_STEPS + 1];
} chain;

static int64_t elements(const chain *c)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < c->rank; i++)
        n *= c->dims[i];
    return n;
}

/* Puts a list into the file, and its name behind `in`. */
static void add_list(chain *c, char *in, size_t size, const int64_t *list, uint32_t n)
{
    char text[128] = "", name[20];
    for (uint32_t i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%lld", i ? " " : "", (long long)list[i]);
    snprintf(name, sizeof name, "l%u", c->n_lists++);
    numbers(&c->m, name, text);
    snprintf(in + strlen(in), size - strlen(in), " %s", name);
}

/* Adds the operator and a Relu, whose elements are compared. */
static void step(chain *c, const char *kind, const char *in, const char *more_out, const char *attributes)
{
    char out[64], relu[20];
    snprintf(out, sizeof out, "y%u%s", c->n, more_out);
    node(&c->m, kind, in, out, attributes);
    snprintf(out, sizeof out, "y%u", c->n);
    snprintf(relu, sizeof relu, "r%u", c->n);
    node(&c->m, "Relu", out, relu, NULL);
    snprintf(c->now, sizeof c->now, "%s", relu);
    c->want[c->n++] = elements(c);
}

/* An axis, sometimes counted from the end. */
static int64_t shown(chain *c, uint32_t axis, uint32_t rank)
{
    return below(&c->d, 2) ? (int64_t)axis : (int64_t)axis - rank;
}

static void slice(chain *c)
{
    uint32_t axis = below(&c->d, c->rank);
    int64_t d = c->dims[axis], from = (int64_t)below(&c->d, (uint32_t)(2 * d + 4)) - d - 2,
            to = (int64_t)below(&c->d, (uint32_t)(2 * d + 4)) - d - 2, by = 1 + below(&c->d, 3), n = 0;
    if (below(&c->d, 2))
        by = -by;
    int64_t start = from < 0 ? from + d : from, stop = to < 0 ? to + d : to;
    start = start < 0 ? 0 : by < 0 && start >= d ? d - 1 : start;
    for (int64_t i = start; by > 0 ? i < stop && i < d : i >= 0 && i > stop; i += by)
        n++;
    if (n == 0)
        return;
    char in[80];
    int64_t at = shown(c, axis, c->rank);
    snprintf(in, sizeof in, "%s", c->now);
    add_list(c, in, sizeof in, &from, 1);
    add_list(c, in, sizeof in, &to, 1);
    add_list(c, in, sizeof in, &at, 1);
    add_list(c, in, sizeof in, &by, 1);
    c->dims[axis] = n;
    step(c, "Slice", in, "", NULL);
}

static void pad_or_tile(chain *c)
{
    char in[80];
    int64_t list[2 * RANK];
    bool tile = below(&c->d, 2);
    snprintf(in, sizeof in, "%s", c->now);
    for (uint32_t i = 0; i < c->rank; i++) {
        list[i] = tile ? 1 + below(&c->d, 3) / 2 : below(&c->d, 2);
        list[c->rank + i] = below(&c->d, 2);
        c->dims[i] = tile ? c->dims[i] * list[i] : c->dims[i] + list[i] + list[c->rank + i];
    }
    add_list(c, in, sizeof in, list, tile ? c->rank : 2 * c->rank);
    step(c, tile ? "Tile" : "Pad", in, "", NULL);
}

static void transpose(chain *c)
{
    char text[80] = "perm=[";
    int64_t dims[RANK];
    uint32_t from[RANK];
    bool listed = below(&c->d, 3) > 0; /* without a list the order is reversed */
    for (uint32_t i = 0; i < c->rank; i++)
        from[i] = listed ? i : c->rank - 1 - i;
    for (uint32_t i = 0; i < c->rank && listed; i++) {
        uint32_t k = i + below(&c->d, c->rank - i), other = from[k];
        from[k] = from[i];
        from[i] = other;
    }
    for (uint32_t i = 0; i < c->rank; i++) {
        dims[i] = c->dims[from[i]];
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%u", i ? "," : "", from[i]);
    }
    memcpy(c->dims, dims, c->rank * sizeof *dims);
    snprintf(text + strlen(text), sizeof text - strlen(text), "]");
    step(c, "Transpose", c->now, "", listed ? text : NULL);
}

static void unsqueeze(chain *c)
{
    char text[40];
    uint32_t axis = below(&c->d, c->rank + 1);
    if (c->rank >= RANK)
        return;
    for (uint32_t i = c->rank; i > axis; i--)
        c->dims[i] = c->dims[i - 1];
    c->dims[axis] = 1;
    c->rank++;
    snprintf(text, sizeof text, "axes=[%lld]", (long long)shown(c, axis, c->rank));
    step(c, "Unsqueeze", c->now, "", text);
}

static void squeeze(chain *c)
{
    char text[40];
    uint32_t axis = 0;
    while (axis < c->rank && c->dims[axis] != 1)
        axis++;
    if (axis == c->rank || c->rank < 2)
        return;
    snprintf(text, sizeof text, "axes=[%lld]", (long long)shown(c, axis, c->rank));
    for (uint32_t i = axis; i + 1 < c->rank; i++)
        c->dims[i] = c->dims[i + 1];
    c->rank--;
    step(c, "Squeeze", c->now, "", text);
}

static void split_or_concat(chain *c)
{
    char in[80], text[40];
    uint32_t axis = below(&c->d, c->rank);
    int64_t d = c->dims[axis], sizes[2] = {1 + (int64_t)below(&c->d, (uint32_t)d), 0};
    snprintf(text, sizeof text, "axis=%lld", (long long)shown(c, axis, c->rank));
    snprintf(in, sizeof in, "%s", c->now);
    if (below(&c->d, 2)) {
        snprintf(in, sizeof in, "%s %s", c->now, c->now);
        c->dims[axis] = 2 * d;
        step(c, "Concat", in, "", text);
    } else if (d > 1 && below(&c->d, 2)) { /* without sizes the last part is the smaller one */
        char other[20];
        snprintf(other, sizeof other, " z%u", c->n);
        c->dims[axis] = (d + 1) / 2;
        step(c, "Split", in, other, text);
    } else if (sizes[0] < d) {
        char other[20];
        sizes[1] = d - sizes[0];
        add_list(c, in, sizeof in, sizes, 2);
        snprintf(other, sizeof other, " z%u", c->n);
        c->dims[axis] = sizes[0];
        step(c, "Split", in, other, text);
    }
}

/* Some of the dimensions copied, some open, some multiplied. */
static void reshape_or_flatten(chain *c)
{
    char in[80], text[40];
    int64_t target[RANK], left = 1, right = 1;
    uint32_t axis = below(&c->d, c->rank + 1);
    snprintf(in, sizeof in, "%s", c->now);
    for (uint32_t i = 0; i < c->rank; i++)
        *(i < axis ? &left : &right) *= c->dims[i];
    if (below(&c->d, 2)) {
        snprintf(text, sizeof text, "axis=%u", axis);
        c->dims[0] = left;
        c->dims[1] = right;
        c->rank = 2;
        step(c, "Flatten", in, "", text);
        return;
    }
    if (c->rank < 2)
        return;
    uint32_t at = below(&c->d, c->rank - 1); /* this dimension and the next become one */
    for (uint32_t i = 0; i + 1 < c->rank; i++) {
        int64_t d = i == at ? c->dims[i] * c->dims[i + 1] : i < at ? c->dims[i] : c->dims[i + 1];
        target[i] = i < at && below(&c->d, 2) ? 0 : d;
        c->dims[i] = d;
    }
    c->rank--;
    if (below(&c->d, 2))
        target[at] = -1;
    add_list(c, in, sizeof in, target, c->rank);
    step(c, "Reshape", in, "", NULL);
}

static void expand_or_gather(chain *c)
{
    char in[80], text[40];
    snprintf(in, sizeof in, "%s", c->now);
    if (below(&c->d, 2)) {
        int64_t target[RANK];
        for (uint32_t i = 0; i < c->rank; i++) {
            if (c->dims[i] == 1)
                c->dims[i] = 1 + below(&c->d, 3);
            target[i] = c->dims[i];
        }
        add_list(c, in, sizeof in, target, c->rank);
        step(c, "Expand", in, "", NULL);
        return;
    }
    uint32_t axis = below(&c->d, c->rank), n = 1 + below(&c->d, 4);
    int64_t list[4];
    for (uint32_t i = 0; i < n; i++)
        list[i] = (int64_t)below(&c->d, (uint32_t)c->dims[axis]);
    add_list(c, in, sizeof in, list, n);
    snprintf(text, sizeof text, "axis=%lld", (long long)shown(c, axis, c->rank));
    c->dims[axis] = n;
    step(c, "Gather", in, "", text);
}

/* Blocks of height and width become channels, or come from them. */
static void depth_and_space(chain *c)
{
    char text[40];
    int64_t *d = c->dims, b = 2 + (int64_t)below(&c->d, 2);
    bool to_space = below(&c->d, 2);
    if (c->rank != 4 || (to_space ? d[1] % (b * b) : d[2] % b + d[3] % b))
        return;
    d[1] = to_space ? d[1] / b / b : d[1] * b * b;
    for (uint32_t i = 2; i < 4; i++)
        d[i] = to_space ? d[i] * b : d[i] / b;
    snprintf(text, sizeof text, "blocksize=%lld", (long long)b);
    step(c, to_space ? "DepthToSpace" : "SpaceToDepth", c->now, "", text);
}

static void check(chain *c, uint64_t seed)
{
    char shape[40], in[40];
    int64_t last = c->dims[c->rank - 1];
    snprintf(shape, sizeof shape, "%lld 5", (long long)last);
    weight(&c->m, "w", shape);
    snprintf(in, sizeof in, "%s w", c->now);
    node(&c->m, "MatMul", in, "product", NULL);
    rlt_opgraph *g = read_model(&c->m, (test_options){.accelerator = flops, .batch = 2});
    for (uint32_t i = 0; i < c->n; i++) {
        char name[20];
        snprintf(name, sizeof name, "r%u", i);
        if (find(g, name)->time_ps != 1000 * c->want[i])
            fail_msg("case %llu: step %u has %lld elements, not %lld", (unsigned long long)seed, i,
                     (long long)find(g, name)->time_ps / 1000, (long long)c->want[i]);
    }
    assert_int_equal(find(g, "product")->time_ps, 1000 * 2 * 5 * elements(c));
    rlt_opgraph_free(g);
}

static void chains(void **state)
{
    static void (*const steps[])(chain *) = {
        slice,           pad_or_tile,        transpose,        unsqueeze,       squeeze,
        split_or_concat, reshape_or_flatten, expand_or_gather, depth_and_space, depth_and_space};
    (void)state;
    for (uint64_t seed = 0; seed < CASES; seed++) {
        chain c = {
            .d = {.seed = seed}, .dims = {2}, .rank = 2 + below(&(dice){.seed = seed, .k = 100000}, 3)};
        char shape[80] = "N";
        for (uint32_t i = 1; i < c.rank; i++) {
            c.dims[i] = 1 + below(&c.d, 5);
            snprintf(shape + strlen(shape), sizeof shape - strlen(shape), " %lld", (long long)c.dims[i]);
        }
        input(&c.m, "x", shape);
        step(&c, "Identity", "x", "", NULL);
        for (uint32_t k = 1 + below(&c.d, 2 * MOST_STEPS); k > 0 && c.n < MOST_STEPS && elements(&c) < 20000;
             k--)
            steps[below(&c.d, 10)](&c);
        check(&c, seed);
        rlt__pb_out_free(&c.m.graph);
    }
}

typedef struct one_node {
    const char *kind, *lists[4], *attributes, *what;
} one_node;

/* An operator on a value, and these lists: "-" leaves one out, "?" is data. */
static void add_one(model *m, const one_node *row, const char *of)
{
    char in[80], name[20];
    snprintf(in, sizeof in, "%s", of);
    for (uint32_t k = 0; k < 4 && row->lists[k]; k++) {
        const char c = row->lists[k][0];
        if (c == '?')
            snprintf(name, sizeof name, "data");
        else if (strcmp(row->lists[k], "-") == 0)
            snprintf(name, sizeof name, "-");
        else {
            snprintf(name, sizeof name, "l%u", k);
            numbers(m, name, row->lists[k]);
        }
        snprintf(in + strlen(in), sizeof in - strlen(in), " %s", name);
    }
    node(m, row->kind, in, strcmp(row->kind, "Split") == 0 ? "y z" : "y", row->attributes);
}

/* Operators that read x, 32 x 4 x 6 x 8, and these lists, and cannot have them. */

static void refusals(void **state)
{
    static const one_node rows[] = {
        {"Flatten", {NULL}, "axis=5", "axis 5"},
        {"Flatten", {NULL}, "axis=-5", "axis -5"},
        {"Reshape", {"2 2 -1 -1"}, NULL, "a target with more than one open dimension"},
        {"Reshape", {"2 -2 8"}, NULL, "a target with more than one open dimension"},
        {"Reshape", {"384 1 1 1 1 1 1 1 1"}, NULL, "a target of more than 8 dimensions"},
        {"Reshape", {"5"}, NULL, "6144 elements do not fit a target of 5"},
        {"Reshape", {"5 -1"}, NULL, "6144 elements do not fit a target of 6140"},
        {"Reshape", {"0 0 0 0 0"}, NULL, "6144 elements do not fit a target of 0"},
        {"Reshape", {"0 0 0 8"}, "allowzero=1", "6144 elements do not fit a target of 0"},
        {"Transpose", {NULL}, "perm=[0,1,2]", "a permutation of 3 for 4 dimensions"},
        {"Transpose", {NULL}, "perm=[0,1,1,2]", "expected a permutation of the dimensions"},
        {"Transpose", {NULL}, "perm=[0,1,2,4]", "expected a permutation of the dimensions"},
        {"Transpose", {NULL}, "perm=[0,1,2,-1]", "expected a permutation of the dimensions"},
        {"Concat", {"1 2"}, "axis=1", "inputs 0 and 1 differ beside axis 1"},
        {"Concat", {"-", "1 2"}, "axis=1", "input 1 is missing"},
        {"Concat", {NULL}, "axis=4", "axis 4"},
        {"Split", {"1 2 3"}, "axis=2", "3 sizes for 2 outputs"},
        {"Split", {"5 2"}, "axis=2", "sizes that sum to more than the 6 of axis 2"},
        {"Split", {"-1 7"}, "axis=2", "sizes that sum to more than the 6 of axis 2"},
        {"Split", {NULL}, "axis=4", "axis 4"},
        {"Slice", {"0 0", "1"}, NULL, "starts, ends, axes and steps of unequal lengths"},
        {"Slice", {"0", "1", "1 2"}, NULL, "starts, ends, axes and steps of unequal lengths"},
        {"Slice", {"0", "1", "1", "1 1"}, NULL, "starts, ends, axes and steps of unequal lengths"},
        {"Slice", {"0", "1", "1", "0"}, NULL, "a step of 0"},
        {"Slice", {"0", "1", "1", "2147483648"}, NULL, "a step of 2147483648"},
        {"Slice", {"0", "1", "1", "-2147483648"}, NULL, "a step of -2147483648"},
        {"Slice", {"0", "1", "4"}, NULL, "axis 4"},
        {"Squeeze", {"1"}, NULL, "dimension 1 is 4: expected 1"},
        {"Squeeze", {"1 -3"}, NULL, "axis 1 twice"},
        {"Squeeze", {"4"}, NULL, "axis 4"},
        {"Unsqueeze", {"0 -6"}, NULL, "axis 0 twice"},
        {"Unsqueeze", {"5"}, NULL, "axis 5"},
        {"Unsqueeze", {"0 1 2 3 4"}, NULL, "an output of more than 8 dimensions"},
        {"Gather", {"0"}, "axis=4", "axis 4"},
        {"Expand", {"1 1 1 1 1 2 4 6 8"}, NULL, "a target of more than 8 dimensions"},
        {"Expand", {"5 8"}, NULL, "shapes that do not broadcast: 5 and 6 in dimension -2"},
        {"Tile", {"1 1 1"}, NULL, "3 repeats for 4 dimensions"},
        {"Tile", {"1 -1 1 1"}, NULL, "-1 repeats"},
        {"Tile", {"1 1 1 140737488355329"}, NULL, "140737488355329 repeats"}, /* 2^47 + 1 */
        {"Pad", {"1 1 1 1"}, NULL, "4 pads for 4 dimensions: expected two for each"},
        {"Pad", {"1 1 1", "-", "1"}, NULL, "3 pads for 1 dimensions"},
        {"Pad", {"1 1", "-", "4"}, NULL, "axis 4"},
        {"DepthToSpace", {NULL}, NULL, "expected 4 dimensions and a block size of at least 1"},
        {"DepthToSpace", {NULL}, "blocksize=32768", "a block size of at least 1"},
        {"DepthToSpace", {NULL}, "blocksize=4", "blocks of 4 do not divide its input"},
        {"SpaceToDepth", {NULL}, "blocksize=4", "blocks of 4 do not divide its input"},
        {"SpaceToDepth", {NULL}, "blocksize=3", "blocks of 3 do not divide its input"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        model m = {0};
        input(&m, "x", "N 4 6 8");
        add_one(&m, &rows[i], "x");
        refused(&m, RLT_EMALFORMED, rows[i].what);
    }
    for (int i = 0; i < 2; i++) {
        model m = {0};
        input(&m, "x", "N 4 6 8");
        weight(&m, "w", i ? "32 1 6 9" : "32 1 6");
        node(&m, "Concat", "x w", "y", "axis=1");
        refused(&m, RLT_EMALFORMED, "inputs 0 and 1 differ beside axis 1");
    }
}

/* Lists at their limits, and defaults. `what`: the elements for N = 1. */
static void limits(void **state)
{
    static const one_node rows[] = {
        {"Slice", {"7", "-100", "3", "-2147483647"}, NULL, "24"},
        {"Slice", {"0", "100", "3", "2147483647"}, NULL, "24"},
        {"Slice", {"-9223372036854775807", "9223372036854775807", "3"}, NULL, "192"},
        {"Slice", {"9223372036854775807", "-9223372036854775807", "3", "-3"}, NULL, "72"},
        {"Slice", {"0", "-100", "3"}, NULL, "0"},
        {"Slice", {"7", "-100", "3", "-1"}, NULL, "192"},
        {"Slice", {"100", "0", "3", "-1"}, NULL, "168"},
        {"Slice", {"-1", "-3", "3", "-1"}, NULL, "48"},
        {"Slice", {"2", "6", "3", "2"}, NULL, "48"},
        {"Slice", {"1 1", "3 100"}, "", "0"}, /* of the first dimensions; nothing of the batch */
        {"Flatten", {NULL}, "axis=4", "192"},
        {"Flatten", {NULL}, "axis=-4", "192"},
        {"Reshape", {"2 1 1 1 1 1 1 96"}, NULL, "192"},
        {"DepthToSpace", {NULL}, "blocksize=1", "192"},
        {"SpaceToDepth", {NULL}, "blocksize=1", "192"},
        {"Unsqueeze", {"0 1 2 3"}, NULL, "192"},
        {"Expand", {"3 1 1 1 4 6 8"}, NULL, "576"},
        {"Tile", {"1 1 1 0"}, NULL, "0"},
        {"Pad", {"0 0 -1 0 0 0 0 1"}, NULL, "180"},
        {"Pad", {"1 -3", "-", "-1"}, NULL, "144"},
        {"Split", {"6 0"}, "axis=2", "192"},
        {"Squeeze", {"0"}, NULL, "192"},
        {"Identity", {NULL}, NULL, "192"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        model m = {0};
        input(&m, "x", "N 4 6 8");
        add_one(&m, &rows[i], "x");
        node(&m, "Relu", "y", "r", NULL);
        node(&m, "Relu", "x", "other", NULL);
        double n = flops_of(&m, 1, "Relu") - 192;
        if (n != (double)atoll(rows[i].what))
            fail_msg("row %zu: %g elements, not %s", i, n, rows[i].what);
    }
}

/* Blocks of up to 32767; a Concat that names no axis; a target in a Constant. */
static void others(void **state)
{
    model m = {0};
    (void)state;
    input(&m, "x", "N 1 32767 32767");
    node(&m, "SpaceToDepth", "x", "y", "blocksize=32767");
    weight(&m, "w", "1 2");
    node(&m, "MatMul", "y w", "z", NULL); /* its last dimension is 1 */
    assert_true(flops_of(&m, 1, "MatMul") == 2.0 * 32767 * 32767 * 2);
    m = (model){0};
    input(&m, "x", "N 3 5");
    weight(&m, "w", "11 2");
    node(&m, "Concat", "x x", "y", NULL);
    node(&m, "Constant", "", "target", "value_ints=[-1,11]");
    node(&m, "Gather", "x l", "t", "axis=1");
    numbers(&m, "l", "0");
    node(&m, "Flatten", "y", "flat", NULL);
    node(&m, "Concat", "flat one", "all", "axis=1"); /* 2 x 30 and 2 x 3 */
    weight(&m, "one", "2 3");
    node(&m, "Reshape", "all target", "b", NULL);
    node(&m, "MatMul", "b w", "z", NULL);
    node(&m, "Relu", "t", "r", NULL);
    assert_true(flops_of(&m, 2, "MatMul") == 2 * 6 * 11 * 2);
    m = (model){0};
    input(&m, "x", "N 3");
    numbers(&m, "l", "0 -1");
    node(&m, "Reshape", "x l", "kept", NULL); /* N x 3 */
    numbers(&m, "none", "0");
    node(&m, "Slice", "kept none none", "empty", "axes=[0]");
    node(&m, "Reshape", "empty l", "y", "allowzero=1"); /* 0 x 0 */
    weight(&m, "w", "0 2");
    node(&m, "MatMul", "y w", "z", NULL);
    node(&m, "Relu", "x", "other", NULL);
    assert_true(flops_of(&m, 2, "Relu") == 2 * 3);
}

/* How many dimensions a Shape lists. */
static void shapes(void **state)
{
    static const struct {
        const char *attributes;
        int n;
    } rows[] = {{NULL, 4},       {"end=-1", 3},        {"end=100", 4},      {"start=1", 3},
                {"start=-1", 1}, {"start=2 end=1", 0}, {"start=-100", 4},   {"start=100", 0},
                {"end=-100", 0}, {"start=1 end=3", 2}, {"end=1 start=0", 1}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        model m = {0};
        input(&m, "x", "N 4 6 8");
        node(&m, "Shape", "x", "s", rows[i].attributes);
        node(&m, "Cast", "s", "c", "to=1");
        node(&m, "Unsqueeze", "c", "u", "axes=[0]");
        weightf(&m, "w", "%d 3", rows[i].n);
        node(&m, "Gemm", "u w", "y", NULL);
        node(&m, "Relu", "x", "other", NULL);
        assert_true(flops_of(&m, 1, "Relu") == 192);
    }
}

/* Lists that depend on data: the file's shape of the output counts, without one the model is refused. */
static void unknown_lists(void **state)
{
    static const one_node rows[] = {
        {"Reshape", {"?"}, NULL, NULL},
        {"Slice", {"?", "1"}, NULL, NULL},
        {"Slice", {"1", "?"}, NULL, NULL},
        {"Slice", {"1", "2", "?"}, NULL, NULL},
        {"Slice", {"1", "2", "1", "?"}, NULL, NULL},
        {"Squeeze", {"?"}, NULL, NULL},
        {"Unsqueeze", {"?"}, NULL, NULL},
        {"Expand", {"?"}, NULL, NULL},
        {"Tile", {"?"}, NULL, NULL},
        {"Pad", {"?"}, NULL, NULL},
        {"Pad", {"1 1", "-", "?"}, NULL, NULL},
        {"Split", {"?"}, NULL, NULL},
    };
    (void)state;
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        model m = {0};
        input(&m, "x", "N 4 6 8");
        input(&m, "data", "1");
        add_one(&m, &rows[i / 2], "x");
        node(&m, "Relu", "y", "r", NULL);
        node(&m, "Relu", "x", "other", NULL);
        if (i % 2) {
            refused(&m, RLT_EMALFORMED, "depends on contents");
            continue;
        }
        value(&m, 13, "y", "5 7");
        value(&m, 13, "z", "5 7");
        assert_true(flops_of(&m, 1, "Relu") == 192 + 5 * 7);
    }
    for (int i = 0; i < 2; i++) {
        model m = {0};
        input(&m, "x", "N 4");
        input(&m, "data", "2");
        node(&m, "ConstantOfShape", "data", "y", NULL);
        node(&m, "Add", "x y", "z", NULL);
        if (i)
            value(&m, 13, "y", "3 4");
        if (i)
            assert_true(flops_of(&m, 1, "Add") == 3 * 4);
        else
            refused(&m, RLT_EMALFORMED, "depends on contents");
    }
}

/* How many numbers a Range has; without each of its three numbers nobody knows. */
static void ranges(void **state)
{
    static const struct {
        const char *from, *to, *by;
        int n; /* -1: refused, -2: not known */
    } rows[] = {{"0", "6", "2", 3},    {"0", "7", "2", 4},    {"7", "0", "-2", 4}, {"3", "3", "1", 0},
                {"3", "0", "1", 0},    {"0", "5", "0", -1},   {"0", "0", "0", -1}, {"0 1", "5", "1", -2},
                {"0", "5 6", "1", -2}, {"0", "5", "1 2", -2}, {"?", "5", "1", -2}, {"0", "?", "1", -2},
                {"0", "5", "?", -2}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const one_node range = {"Range", {rows[i].to, rows[i].by}, NULL, NULL};
        model m = {0};
        input(&m, "x", "N 4");
        input(&m, "data", "1");
        if (rows[i].from[0] != '?')
            numbers(&m, "from", rows[i].from);
        add_one(&m, &range, rows[i].from[0] == '?' ? "data" : "from");
        node(&m, "Unsqueeze", "y", "u", "axes=[0]");
        node(&m, "Cast", "u", "c", "to=1");
        weightf(&m, "w", "%d 3", rows[i].n < 0 ? 1 : rows[i].n);
        node(&m, "Gemm", "c w", "z", NULL);
        node(&m, "Relu", "x", "other", NULL);
        if (rows[i].n < 0) {
            refused(&m, RLT_EMALFORMED, rows[i].n == -1 ? "a range without end" : "depends on contents");
            continue;
        }
        assert_true(flops_of(&m, 1, "Relu") == 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(chains),        cmocka_unit_test(refusals),
                                       cmocka_unit_test(limits),        cmocka_unit_test(others),
                                       cmocka_unit_test(unknown_lists), cmocka_unit_test(ranges),
                                       cmocka_unit_test(shapes)};
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
