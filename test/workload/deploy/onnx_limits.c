/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Limits of ONNX files: sizes of tensors and inputs, contents that do not fit their tensor or are of other types,
 * lists of attributes. Of random graphs that may have cycles those are refused that have one, by the name of a
 * node on it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
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

enum { CASES = 300, NODES = 9 };
#define MOST "N 1 1 1 1 1 1 2"

/* Reads r = Relu(x) of 8 numbers beside what the model has. `what`: NULL: it is read. */
static void check(model *m, int code, const char *what)
{
    input(m, "x", "N 8");
    node(m, "Relu", "x", "r", NULL);
    if (code)
        refused(m, code, what);
    else
        assert_true(flops_of(m, 3, "Relu") == 3 * 8);
}

static void tensors(void **state)
{
    static const struct {
        const char *dims;
        const char *what;
    } rows[] = {
        {"1 1 1 1 1 1 1 2", NULL},
        {"1 1 1 1 1 1 1 1 2", "a tensor of more than 8 dimensions"},
        {"0 1 1 1 1 1 1 1 2", "a tensor of more than 8 dimensions"},
        {"1125899906842624", NULL}, /* 2^50 */
        {"33554432 33554432", NULL},
        {"33554432 33554433", "a tensor with a negative dimension, or of more than 2^50 elements"},
        {"1125899906842625", "a tensor with a negative dimension, or of more than 2^50 elements"},
        {"2 18446744073709551615", "a tensor with a negative dimension, or of more than 2^50 elements"},
        {"0 18446744073709551615", "a tensor with a negative dimension, or of more than 2^50 elements"},
        {"0 33554432", NULL},
        {"", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        model m = {0};
        weight(&m, "w", rows[i].dims);
        check(&m, rows[i].what ? RLT_EMALFORMED : 0, rows[i].what);
    }
}

static void inputs(void **state)
{
    static const struct {
        const char *dims;
        int code;
        const char *what;
    } rows[] = {
        {"N 1 1 1 1 1 1 2", 0, NULL},
        {"N 1 1 1 1 1 1 1 2", RLT_EMALFORMED, "a value of more than 8 dimensions"},
        {"3 33554432 11184810", 0, NULL}, /* 2^50 - 2^26 elements */
        {"2 33554432 16777216", 0, NULL},
        {"2 33554432 16777217", RLT_ERANGE, "input 'y' has more than 2^50 elements"},
        {"1125899906842625", RLT_ERANGE, "input 'y' has more than 2^50 elements"},
        {"N K", RLT_EMALFORMED,
         "input 'y' leaves dimension 1 ('K') open: expected numbers in all but the first"},
        {"2 ?", RLT_EMALFORMED, "input 'y' leaves dimension 1 ('') open"},
        {"2 3 N", 0, NULL}, /* the symbol of the batch, which x has */
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        model m = {0};
        if (i == 8)
            input(&m, "b", "N");
        input(&m, "y", rows[i].dims);
        check(&m, rows[i].code, rows[i].what);
    }
}

/* A list of 1024 whole numbers in an attribute is read, one of 1025 is not. */
static void attributes(void **state)
{
    (void)state;
    for (uint32_t n = 1024; n <= 1025; n++) {
        model m = {0};
        rlt_pb_out a = {0}, o = {0};
        put_text(&a, 1, "value_ints");
        for (uint32_t i = 0; i < n; i++)
            rlt__pb_put_uint(&a, 8, i);
        put_text(&o, 2, "c");
        put_text(&o, 4, "Constant");
        put(&o, 5, &a);
        put(&m.graph, 1, &o);
        numbers(&m, "last", "1023");
        node(&m, "Gather", "c last", "k", NULL); /* 1023 */
        weight(&m, "w", "1 1");
        node(&m, "Expand", "w k", "wide", NULL);
        input(&m, "y", "N 1");
        node(&m, "Gemm", "y wide", "z", NULL); /* connects nothing */
        node(&m, "ReduceSum", "z", "sum", "axes=[1]");
        node(&m, "Add", "sum r", "end", NULL);
        if (n > 1024) {
            check(&m, RLT_EMALFORMED, "expected at most 1024 integers in an attribute that ends here");
            continue;
        }
        input(&m, "x", "N 8");
        node(&m, "Relu", "x", "r", NULL);
        assert_true(flops_of(&m, 3, "Gemm") == 2 * 3 * 1023);
    }
}

/* A tensor of n elements of a type, with `held` numbers of `size` bytes, raw or in field 7. */
static void target(model *m, uint32_t type, uint32_t n, uint32_t held, uint32_t size)
{
    rlt_pb_out t = {0}, data = {0};
    for (uint32_t i = 0; i < held; i++) {
        const uint8_t number[8] = {i == 0 ? 6 : 4};
        rlt__pb_put_raw(&data, number, size ? size : 1);
    }
    rlt__pb_put_uint(&t, 1, n);
    rlt__pb_put_uint(&t, 2, type);
    put_text(&t, 8, "to");
    put(&t, size ? 9 : 7, &data);
    put(&m->graph, 5, &t);
}

/* Contents are known if there are as many as elements, of a type that shapes have. */
static void contents(void **state)
{
    static const struct {
        uint32_t type, n, held, size;
        bool known;
    } rows[] = {{7, 2, 2, 0, true},       {7, 2, 3, 0, false},       {7, 2, 1, 0, false},
                {7, 1024, 1024, 0, true}, {7, 1024, 1025, 0, false}, {7, 1024, 1023, 0, false},
                {7, 2, 2, 8, true},       {7, 2, 3, 8, false},       {7, 2, 1, 8, false},
                {6, 2, 2, 4, true},       {6, 2, 3, 4, false},       {2, 2, 2, 1, false},
                {3, 2, 2, 1, false},      {4, 2, 2, 2, false},       {5, 2, 4, 1, false},
                {12, 2, 2, 4, false},     {13, 2, 2, 8, false},      {10, 2, 2, 2, false},
                {7, 1024, 1024, 8, true}, {7, 1024, 1025, 8, false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        model m = {0};
        target(&m, rows[i].type, rows[i].n, rows[i].held, rows[i].size);
        input(&m, "x", "N 4");
        numbers(&m, "first", "0 1");
        node(&m, "Gather", "to first", "two", NULL);
        node(&m, "Cast", "two", "whole", "to=7");
        node(&m, "Expand", "one whole", "e", NULL); /* 6 x 4 */
        weight(&m, "one", "1 1");
        node(&m, "Gemm", "x e", "y", "transB=1");
        if (rows[i].known)
            assert_true(flops_of(&m, 1, "Gemm") == 2 * 4 * 6);
        else
            refused(&m, RLT_EMALFORMED, "depends on contents that are not known");
    }
}

/* Weights are floating-point numbers of any length: TensorProto's types 1, 10, 11 and 16 to 20. */
static void types_of_weights(void **state)
{
    (void)state;
    for (uint32_t type = 0; type <= 300; type++) {
        const bool real = type == 1 || type == 10 || type == 11 || (type >= 16 && type <= 20);
        rlt_pb_out t = {0};
        model m = {0};
        rlt__pb_put_uint(&t, 1, 8);
        rlt__pb_put_uint(&t, 1, 3);
        rlt__pb_put_uint(&t, 2, type);
        put_text(&t, 8, "w");
        put(&m.graph, 5, &t);
        input(&m, "x", "N 8");
        node(&m, "MatMul", "x w", "y", NULL);
        rlt_opgraph *g = read_model(&m, (test_options){.accelerator = flops, .batch = 1});
        assert_true(parameters(g) == (real ? 24 : 0));
        rlt_opgraph_free(g);
        rlt__pb_out_free(&m.graph);
    }
}

/* A message that is written as a number is empty, and stands where the number ends. */
static void numbers_for_messages(void **state)
{
    (void)state;
    for (uint32_t field = 1; field <= 15; field++) {
        model m = {0};
        rlt__pb_put_uint(&m.graph, field, 1);
        if (field == 15) {
            refused(&m, RLT_EMALFORMED, "a sparse initializer, which is not supported");
            assert_string_equal(err.where, "net.onnx: byte 12"); /* 10 before the graph, and 2 of the field */
        } else if (field == 1) {
            check(&m, RLT_EUNSUPPORTED, "operators that are not known, with their numbers:  (1)");
        } else {
            check(&m, 0, NULL);
        }
    }
}

/* A node may not write an input, a tensor of the file, or what another node writes. */
static void written_twice(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        model m = {0};
        if (i == 1)
            input(&m, "y", "N 8");
        if (i == 2)
            weight(&m, "y", "8");
        if (i == 3)
            node(&m, "Identity", "x", "y", NULL);
        node(&m, "Dropout", "x", "first y", NULL);
        check(&m, i ? RLT_EMALFORMED : 0, "its output 'y' is written twice");
    }
}

/* Windows and sizes at their limits. `elements`: of y; -1: refused. */
static void operators(void **state)
{
    static const struct {
        const char *kind, *input, *others, *more;
        double elements;
        const char *what;
    } rows[] = {
        {"MaxPool", "N 1 5", "", "kernel_shape=[5] strides=[2147483647]", 1, NULL},
        {"MaxPool", "N 1 5", "", "kernel_shape=[5] strides=[2147483648]", -1, "expected 0 to 2^31 - 1"},
        {"MaxPool", "N 1 5", "", "kernel_shape=[5] pads=[-1,0]", -1, "expected 0 to 2^31 - 1"},
        {"MaxPool", "N 1 5", "", "kernel_shape=[5] pads=[0,2147483647]", 2147483648.0, NULL},
        {"MaxPool", "N 1 5", "", "kernel_shape=[0]", -1, "of at least 1"},
        {"MaxPool", "N 1 5", "", "kernel_shape=[1] strides=[0]", -1, "of at least 1"},
        {"MaxPool", "N 1 5", "", "kernel_shape=[1] dilations=[0]", -1, "of at least 1"},
        {"MaxPool", "N 1 5", "", "kernel_shape=[6]", 0, NULL}, /* no room */
        {"MaxPool", "N 5", "", "kernel_shape=[1]", -1, "expected 'kernel_shape' and at least 3 dimensions"},
        {"MaxPool", "N 1 5", "", NULL, -1, "expected 'kernel_shape' and at least 3 dimensions"},
        {"Resize", "N 3", "- - s:1,0", NULL, 0, NULL},
        {"Resize", "N 3", "- - s:1,-1", NULL, -1, "dimension 1 becomes -1"},
        {"Resize", "N 3", "- - s:1,1125899906842624", NULL, 1125899906842624.0, NULL},
        {"Resize", "N 3", "- - s:1,1125899906842625", NULL, -1, "dimension 1 becomes"},
        {"Resize", "N 3", "- - s:2", NULL, -1, "expected a size or scale for each of 2 dimensions"},
        {"Resize", "N 3", "- s:1,2,2", NULL, -1, "expected a size or scale for each of 2 dimensions"},
        {"Upsample", "N 3", "s:2,4", NULL, 24, NULL},
        {"Expand", "1 1", "s:33554432,33554432", NULL, 1125899906842624.0, NULL},
        {"Expand", "1 1", "s:33554432,33554433", NULL, -1, "at most 2^50 elements in all"},
        {"Expand", "1 1", "s:1125899906842625,0", NULL, -1, "dimension 0 of its output is 1125899906842625"},
        {"Expand", "1 1", "s:-1,1", NULL, -1, "dimension 0 of its output is -1"},
        {"ConvTranspose", "N 2 3", "w=2,3,1", "group=1", 9, NULL},
        {"ConvTranspose", "N 2 3", "w=2,3,1", "group=2", 18, NULL},
        {"ConvTranspose", "N 2 3", "w=2,3,1", "group=0", -1, "expected weights of as many dimensions"},
        {"ConvTranspose", "N 2 3", "w=2,3,1", "group=2147483648", -1, "expected weights of as many"},
        {"ConvTranspose", "N 2 3", "w=3,3,1", NULL, -1, "expected weights of as many dimensions"},
        {"ConvTranspose", "N 2 3", "w=2,3,1,1", NULL, -1, "expected weights of as many dimensions"},
        {"ConvTranspose", "N 2", "w=2,3", NULL, -1, "expected weights of as many dimensions"},
        {"Conv", "N 2 3", "w=4,2,1", "group=1", 12, NULL},
        {"Conv", "N 2 3", "w=4,2,1", "group=0", -1, "2 channels in 0 groups do not fit weights for 2"},
        {"Conv", "N 3 3", "w=4,1,1", "group=2", -1, "3 channels in 2 groups do not fit weights for 1"},
        {"Conv", "N 2 3", "w=4,3,1", NULL, -1, "2 channels in 1 groups do not fit weights for 3"},
        {"Conv", "N 2 3", "w=4,2", NULL, -1, "expected an input and weights of equally many dimensions"},
        {"Conv", "N 2", "w=4,2", NULL, -1, "expected an input and weights of equally many dimensions"},
        /* of eight dimensions, as many as there may be */
        {"Resize", MOST, "- - s:1,1,1,1,1,1,1,5", NULL, 5, NULL},
        {"Tile", MOST, "s:1,1,1,1,1,1,1,5", NULL, 10, NULL},
        {"Pad", MOST, "s:0,0,0,0,0,0,0,1,0,0,0,0,0,0,1,1", NULL, 8, NULL},
        {"Expand", MOST, "s:3,1,1,1,1,1,1,2", NULL, 6, NULL},
        {"Reshape", MOST, "s:1,2,1,1,1,1,1,1", NULL, 2, NULL},
        {"Reshape", MOST, "s:0,0,0,0,0,0,0,0", NULL, 2, NULL},
        {"Reshape", MOST, "s:1,1,1,1,1,1,1,1,2", NULL, -1, "a target of more than 8 dimensions"},
        {"Expand", MOST, "s:1,1,1,1,1,1,1,1,2", NULL, -1, "a target of more than 8 dimensions"},
        {"Slice", MOST, "s:1 e:2 a:7", NULL, 1, NULL},
        {"Transpose", MOST, "", "perm=[7,6,5,4,3,2,1,0]", 2, NULL},
        {"Transpose", MOST, "", NULL, 2, NULL},
        {"Flatten", MOST, "", "axis=7", 2, NULL},
        {"Squeeze", MOST, "", NULL, 2, NULL},
        {"Squeeze", MOST, "s:0,1,2,3,4,5,6", NULL, 2, NULL},
        {"Unsqueeze", "N 1 1 1 1 1 2", "s:7", NULL, 2, NULL},
        {"Unsqueeze", MOST, "s:8", NULL, -1, "more than 8 dimensions"},
        {"Split", MOST, "", "axis=7", 2, NULL},
        {"ReduceSum", MOST, "", "axes=[7,-8]", 1, NULL},
        {"ArgMax", MOST, "", "axis=7", 2, NULL}, /* int64 */
        {"GlobalAveragePool", MOST, "", NULL, 1, NULL},
        {"MaxPool", MOST, "", "kernel_shape=[1,1,1,1,1,2]", 1, NULL},
        {"Relu", MOST, "", NULL, 2, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char in[64] = "x", others[64], *rest = others;
        model m = {0};
        input(&m, "x", rows[i].input);
        snprintf(others, sizeof others, "%s", rows[i].others);
        for (char *word;
             (word = strtok_r(rest, " ", &rest));) { /* NAME:NUMBER,..., NAME=SIZE,..., or one left out */
            char *list = strchr(word, ':'), *size = strchr(word, '=');
            for (char *c = word; *c; c++)
                *c = *c == ',' ? ' ' : *c;
            if (list) {
                *list = '\0';
                numbers(&m, word, list + 1);
            }
            if (size) {
                *size = '\0';
                weight(&m, word, size + 1);
            }
            snprintf(in + strlen(in), sizeof in - strlen(in), " %s", word);
        }
        node(&m, rows[i].kind, in, "y", rows[i].more);
        node(&m, "Relu", "x", "other", NULL);
        if (rows[i].elements < 0) {
            refused(&m, RLT_EMALFORMED, rows[i].what);
            continue;
        }
        rlt_opgraph *g = read_model(&m, (test_options){.batch = 1}); /* a fast one, or it takes too long */
        const bool view = strstr("Reshape Flatten Squeeze Unsqueeze", rows[i].kind) != NULL;
        if (!view)
            assert_true((double)find(g, strcmp(rows[i].kind, "Split") == 0 ? "y.0" : "y")->kept_bytes ==
                        4 * rows[i].elements);
        rlt_opgraph_free(g);
        rlt__pb_out_free(&m.graph);
    }
}

/* ---- cycles ---- */

static bool reaches[NODES][NODES]; /* the second one follows from the first one, over one node or more */

static void close_paths(uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t j = 0; j < n; j++)
                reaches[i][j] = reaches[i][j] || (reaches[i][k] && reaches[k][j]);
}

static void cycles(void **state)
{
    uint32_t found = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        dice d = {.seed = seed};
        uint32_t n = 1 + below(&d, NODES), named;
        bool cycle = false;
        model m = {0};
        input(&m, "x", "N 8");
        memset(reaches, 0, sizeof reaches);
        for (uint32_t i = 0; i < n; i++) {
            char in[64] = "", out[16];
            for (uint32_t k = 0, count_of_inputs = 1 + below(&d, 3); k < count_of_inputs; k++) {
                /* mostly nodes that stand before it, or behind it in half of the files */
                uint32_t from = below(&d, 3) ? below(&d, i + 1) : below(&d, n);
                from = seed % 2 ? n - 1 - from : from;
                if (below(&d, 3) == 0 || (from == i && below(&d, 4)))
                    snprintf(in + strlen(in), sizeof in - strlen(in), " x");
                else {
                    snprintf(in + strlen(in), sizeof in - strlen(in), " v%u", from);
                    reaches[from][i] = true;
                }
            }
            snprintf(out, sizeof out, "v%u", i);
            node(&m, "Sum", in, out, NULL);
        }
        close_paths(n);
        for (uint32_t i = 0; i < n; i++)
            cycle = cycle || reaches[i][i];
        found += cycle;
        if (!cycle) {
            assert_true(flops_of(&m, 2, "Sum") == 2 * 8 * n);
            continue;
        }
        refused(&m, RLT_EMALFORMED, "it waits for itself: the graph has a cycle");
        assert_int_equal(sscanf(err.what, "node 'v%u' (Sum): it waits", &named), 1);
        assert_true(named < n && reaches[named][named]);
    }
    assert_true(found > CASES / 3 && found < CASES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tensors),
                                       cmocka_unit_test(inputs),
                                       cmocka_unit_test(attributes),
                                       cmocka_unit_test(contents),
                                       cmocka_unit_test(written_twice),
                                       cmocka_unit_test(numbers_for_messages),
                                       cmocka_unit_test(types_of_weights),
                                       cmocka_unit_test(operators),
                                       cmocka_unit_test(cycles)};
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
