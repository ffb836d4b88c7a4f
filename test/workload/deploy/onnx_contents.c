/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contents of ONNX tensors, and dimensions that follow from them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/base/error.h"
#include "sim/text/protowire.h"
#include "test/support/traces/onnx.h"
#include "workload/deploy/opgraph.h"

/* Contents of 1024 numbers are kept, from the file or computed; of 1025 none: the last one is then unknown. */
static void longest_contents(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 6; i++) {
        uint32_t n = 1024 + i % 2;
        char last[16], length[16];
        model m = {0};
        snprintf(last, sizeof last, "%u", n - 1);
        snprintf(length, sizeof length, "%u", n);
        input(&m, "x", "N 8");
        numbers(&m, "last", last);
        numbers(&m, "length", length);
        numbers(&m, "four", "4");
        if (i / 2 == 2) {
            node(&m, "Expand", "four length", "list", NULL);
        } else {
            rlt_pb_out t = {0}, data = {0};
            for (uint32_t k = 0; k < n; k++) {
                uint8_t number[8] = {k == n - 1 ? 4 : 1};
                rlt__pb_put_raw(&data, number, i / 2 ? 8 : 1); /* raw, or a number of one byte */
            }
            rlt__pb_put_uint(&t, 1, n);
            rlt__pb_put_uint(&t, 2, 7);
            put_text(&t, 8, "list");
            put(&t, i / 2 ? 9 : 7, &data);
            put(&m.graph, 5, &t);
        }
        numbers(&m, "two", "2");
        node(&m, "Gather", "list last", "found", NULL);
        node(&m, "Concat", "two found", "shape", "axis=0");
        node(&m, "Reshape", "x shape", "y", NULL);
        node(&m, "Gemm", "y w", "z", NULL);
        weight(&m, "w", "4 3");
        if (i % 2) {
            refused(&m, RLT_EMALFORMED, "depends on contents");
            continue;
        }
        assert_true(flops_of(&m, 1, "Gemm") == 2 * 2 * 4 * 3);
    }
}

/* Squeeze without axes takes all dimensions of 1, here to two of them, as Gemm wants. */
static void squeeze_all(void **state)
{
    (void)state;
    model m = {0};
    input(&m, "x", "N 1 6 1");
    weight(&m, "w", "6 4");
    node(&m, "Squeeze", "x", "s", NULL);
    node(&m, "Gemm", "s w", "y", NULL);
    assert_true(flops_of(&m, 3, "Gemm") == 2 * 3 * 6 * 4);
}

/* An input that has nothing but its batch. */
static void batch_alone(void **state)
{
    (void)state;
    model m = {0};
    input(&m, "x", "N");
    node(&m, "Relu", "x", "y", NULL);
    assert_true(flops_of(&m, 7, "Relu") == 7);
}

/* Scales are floats: from a list of them, or raw. Twice as high and half as wide. */
static void float_contents(void **state)
{
    static const float scales[] = {1, 1, 2, 0.5f};
    (void)state;
    for (int raw = 0; raw < 2; raw++) {
        model m = {0};
        rlt_pb_out t = {0};
        input(&m, "x", "N 3 4 8");
        rlt__pb_put_uint(&t, 1, 4);
        rlt__pb_put_uint(&t, 2, 1);
        put_text(&t, 8, "scales");
        rlt__pb_put_bytes(&t, raw ? 9 : 4, scales, sizeof scales);
        put(&m.graph, 5, &t);
        node(&m, "Resize", "x - scales", "y", NULL);
        node(&m, "Relu", "y", "z", NULL);
        assert_true(flops_of(&m, 2, "Relu") == 2 * 3 * 8 * 4);
    }
}

/* What is worked out from data has no contents, whatever its shape: a target of a Reshape may not come from it. */
static void from_data(void **state)
{
    static const char *const kinds[] = {"ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin"};
    (void)state;
    for (int i = 0; i < 4; i++) {
        model m = {0};
        input(&m, "x", "N 8");
        node(&m, "Cast", "x", "whole", "to=7");
        node(&m, kinds[i], "whole", "target", "keepdims=0");
        numbers(&m, "one", "1");
        node(&m, "Reshape", "target one", "list", NULL);
        node(&m, "Expand", "x list", "y", NULL);
        refused(&m, RLT_EMALFORMED, "depends on contents");
    }
}

/* A transposed convolution of so many channels that their number does not fit 64 bits. */
static void too_many_channels(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        model m = {0};
        input(&m, "x", "N 1 4 4");
        weight(&m, "w", i ? "1 1099511627776 1 1" : "1 2 1 1");
        node(&m, "ConvTranspose", "x w", "y", i ? "group=16777216" : "group=3");
        if (i)
            refused(&m, RLT_EMALFORMED, "");
        else
            assert_true(flops_of(&m, 1, "ConvTranspose") > 0);
    }
}

/* A shape that the file declares for an output that depends on contents; a scalar has no dimensions. */
static void declared_shapes(void **state)
{
    static const struct {
        const char *shape;
        double elements;
    } rows[] = {{"", 1}, {"7", 7}, {"N 3", 5 * 3}, {"2 N 2", 2 * 5 * 2}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        model m = {0};
        input(&m, "x", "N 8");
        input(&m, "t", "2");
        node(&m, "Reshape", "x t", "y", NULL);
        value(&m, 13, "y", rows[i].shape);
        node(&m, "Relu", "y", "z", NULL);
        node(&m, "Relu", "x", "other", NULL);
        assert_true(flops_of(&m, 5, "Relu") == rows[i].elements + 5 * 8);
    }
}

/* A file without a graph, and one that does not name an operator set. Fields of other numbers are skipped. */
static void halves_of_files(void **state)
{
    static const struct {
        bool graph, opset;
        const char *what;
    } rows[] = {{false, false, "the file ends without a graph"},
                {false, true, "the file ends without a graph"},
                {true, false, "operator set 0 of ONNX: expected one from"},
                {true, true, NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        model m = {0};
        rlt_pb_out o = {0}, opset = {0}, empty = {0};
        rlt_opgraph *g;
        input(&m, "x", "N 8");
        node(&m, "Relu", "x", "y", NULL);
        rlt__pb_put_uint(&opset, 2, 17);
        put(&o, 6, &empty);
        if (rows[i].opset)
            put(&o, 8, &opset);
        if (rows[i].graph)
            put(&o, 7, &m.graph);
        int rc = read_bytes(o.data, o.length, (test_options){.accelerator = flops, .batch = 1}, &g);
        assert_int_equal(rc != 0, rows[i].what != NULL);
        if (rc && !strstr(err.what, rows[i].what))
            fail_msg("row %zu: %s", i, err.what);
        rlt_opgraph_free(g);
        rlt__pb_out_free(&o);
        rlt__pb_out_free(&m.graph);
        rlt__pb_out_free(&opset);
    }
}

/* Unknown operators are listed as long as there is room; the others are counted. */
static void unknown_kinds(void **state)
{
    (void)state;
    for (uint32_t n = 52; n <= 60; n += 4) {
        char kind[16], end[48];
        model m = {0};
        input(&m, "x", "N 8");
        for (uint32_t i = 0; i < n; i++) {
            snprintf(kind, sizeof kind, "Kind%03u", i);
            node(&m, kind, "x", kind, NULL);
        }
        snprintf(end, sizeof end, n > 52 ? "Kind051 (1), and %u more kinds" : "Kind051 (1)", n - 52);
        refused(&m, RLT_EUNSUPPORTED, end);
        assert_string_equal(strstr(err.what, "Kind051"), end);
    }
}

/* The batch is the first dimension of inputs: not of what the file declares for others, nor of a weight. A
 * scalar input has none. */
static void batches(void **state)
{
    static const char *const inputs[][2] = {{"6 4", ""}, {"", "6 4"}, {"6 4", "1 1"}, {"6 4", "4"}};
    (void)state;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        model m = {0};
        weight(&m, "w", "9 4");
        value(&m, 13, "y", "9 4");
        input(&m, "a", inputs[i][0]);
        input(&m, "b", inputs[i][1]);
        node(&m, "Add", "a b", "c", NULL);
        node(&m, "Concat", "c w", "all", "axis=0");
        node(&m, "Relu", "all", "y", NULL);
        assert_true(flops_of(&m, 12, "Add") == 12 * 4);
    }
}

/* A node that reads its own output; an output whose declared shape is half open. */
static void circles_and_open_ends(void **state)
{
    model m = {0};
    (void)state;
    input(&m, "x", "N 8");
    node(&m, "Add", "x a", "a", NULL);
    refused(&m, RLT_EMALFORMED, "node 'a' (Add): it waits for itself: the graph has a cycle");
    m = (model){0};
    input(&m, "x", "N 8");
    input(&m, "t", "2");
    node(&m, "Split", "x t", "y z", "axis=1");
    value(&m, 13, "y", "N K");
    refused(&m, RLT_EMALFORMED, "dimension 1 of its output 'y' depends on contents that are not known");
}

/* An input of a type: numbers of TensorProto.DataType. Fields besides its tensor type are skipped. */
static void typed_input(model *m, const char *name, uint32_t number, uint32_t n)
{
    rlt_pb_out info = {0}, type = {0}, tensor = {0}, dims = {0}, batch = {0}, dim = {0};
    put_text(&batch, 2, "N");
    rlt__pb_put_uint(&dim, 1, n);
    put(&dims, 1, &batch);
    put(&dims, 1, &dim);
    rlt__pb_put_uint(&tensor, 1, number);
    put(&tensor, 2, &dims);
    put_text(&type, 6, "TENSOR");
    put(&type, 1, &tensor);
    put_text(&info, 1, name);
    put(&info, 2, &type);
    put(&m->graph, 11, &info);
}

/* Bytes of an element, by its type: those of numbers that are trained with are of the precision, here 4. */
static void bytes_of_types(void **state)
{
    static const uint8_t sizes[] = {4, 4, 1, 1, 2, 2, 4, 8, 4, 1, 4, 4, 4, 8, 4, 4, 4};
    (void)state;
    for (uint32_t type = 1; type < sizeof sizes; type++) {
        model m = {0};
        typed_input(&m, "x", type, 8);
        node(&m, "Relu", "x", "y", NULL);
        rlt_opgraph *g = read_model(&m, (test_options){.accelerator = bytes, .batch = 3});
        assert_true(count(g, "Relu") == 2.0 * 3 * 8 * sizes[type]);
        rlt_opgraph_free(g);
        rlt__pb_out_free(&m.graph);
    }
}

/* Whole numbers of 32 bits, of one byte or more, and negative ones. */
static void short_numbers(void **state)
{
    model m = {0};
    rlt_pb_out t = {0}, data = {0};
    (void)state;
    rlt__pb_put_varint(&data, UINT64_MAX); /* -1 */
    rlt__pb_put_varint(&data, 300);
    rlt__pb_put_uint(&t, 1, 2);
    rlt__pb_put_uint(&t, 2, 6);
    put_text(&t, 8, "to");
    put(&t, 5, &data);
    input(&m, "x", "N 2 150");
    put(&m.graph, 5, &t);
    node(&m, "Reshape", "x to", "y", NULL);
    weight(&m, "w", "300 2");
    node(&m, "Gemm", "y w", "z", NULL);
    assert_true(flops_of(&m, 4, "Gemm") == 2 * 4 * 300 * 2);
}

/* Declares a value of two dimensions, a symbol, which may be "", and 8; or of none at all. */
static void declare(model *m, uint32_t field, const char *name, const char *symbol)
{
    rlt_pb_out info = {0}, type = {0}, tensor = {0}, dims = {0}, first = {0}, dim = {0};
    put_text(&info, 1, name);
    if (symbol) {
        put_text(&first, 2, symbol);
        rlt__pb_put_uint(&dim, 1, 8);
        put(&dims, 1, &first);
        put(&dims, 1, &dim);
        rlt__pb_put_uint(&tensor, 1, 1);
        put(&tensor, 2, &dims);
        put(&type, 1, &tensor);
        put(&info, 2, &type);
    }
    put(&m->graph, field, &info);
}

/* The symbol of the batch stands for it elsewhere. One without a name is another dimension each time. */
static void symbols(void **state)
{
    static const struct {
        const char *batch, *output;
        bool known;
    } rows[] = {{"N", "N", true}, {"", "", false}, {"N", "", false}, {"N", "K", false}, {"", "N", false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        model m = {0};
        declare(&m, 11, "x", rows[i].batch);
        input(&m, "t", "2");
        node(&m, "Reshape", "x t", "y", NULL);
        declare(&m, 13, "y", rows[i].output);
        node(&m, "Relu", "y", "z", NULL);
        if (rows[i].known)
            assert_true(flops_of(&m, 3, "Relu") == 3 * 8);
        else
            refused(&m, RLT_EMALFORMED, "dimension 0 of its output 'y' depends on contents");
    }
    /* Of two inputs the first one with a name says it. */
    static const char *const pairs[][3] = {{"", "N", "N"}, {"N", "", "N"}, {"N", "K", "N"}, {"K", "N", NULL}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        model two = {0};
        declare(&two, 11, "x", pairs[i][0]);
        declare(&two, 11, "also", pairs[i][1]);
        input(&two, "t", "2");
        node(&two, "Reshape", "x t", "y", NULL);
        declare(&two, 13, "y", "N");
        node(&two, "Add", "y also", "z", NULL);
        if (pairs[i][2])
            assert_true(flops_of(&two, 3, "Add") == 3 * 8);
        else
            refused(&two, RLT_EMALFORMED, "dimension 0 of its output 'y' depends on contents");
    }
    model m = {0};
    declare(&m, 11, "bare", NULL);
    declare(&m, 11, "x", "N");
    node(&m, "Add", "x bare", "y", NULL);
    refused(&m, RLT_EMALFORMED, "input 'bare' has no shape");
}

/* A node with a name and a domain. */
static void named_node(model *m, const char *name, const char *domain)
{
    rlt_pb_out n = {0};
    put_text(&n, 1, "x");
    put_text(&n, 2, "y");
    put_text(&n, 3, name);
    put_text(&n, 4, "Relu");
    put_text(&n, 7, domain);
    put(&m->graph, 1, &n);
}

/* Operators of ONNX's own domain, which has two names; characters that do not print become others. */
static void names_and_domains(void **state)
{
    static const char *const domains[] = {"", "ai.onnx", "ai.onnx.ml", "a", "zz"};
    (void)state;
    for (size_t i = 0; i < sizeof domains / sizeof *domains; i++) {
        char what[40];
        model m = {0};
        input(&m, "x", "N 8");
        named_node(&m, "a\nb", domains[i]);
        snprintf(what, sizeof what, "%s.Relu (1)", domains[i]);
        if (i >= 2) {
            refused(&m, RLT_EUNSUPPORTED, what);
            continue;
        }
        rlt_opgraph *g = read_model(&m, (test_options){.accelerator = flops, .batch = 2});
        assert_true(find(g, "a?b")->time_ps == 1000 * 2 * 8);
        rlt_opgraph_free(g);
        rlt__pb_out_free(&m.graph);
    }
}

/* The type of what is looked up is that of the table, not of its indices. */
static void type_of_looked_up(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        model m = {0};
        input(&m, "x", "N 8");
        typed_input(&m, "at", 7, 8);
        node(&m, i ? "Gather" : "GatherElements", "x at", "y", "axis=0");
        node(&m, "Relu", "y", "z", NULL);
        rlt_opgraph *g = read_model(&m, (test_options){.accelerator = bytes, .batch = 2});
        assert_true(count(g, "Relu") == 2.0 * 4 * (i ? 2 * 8 * 8 : 2 * 8));
        rlt_opgraph_free(g);
        rlt__pb_out_free(&m.graph);
    }
}

/* A node without a first output has a number for its name. */
static void nodes_without_outputs(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        model m = {0};
        input(&m, "x", "N 8");
        node(&m, "Relu", "x", "y", NULL);
        node(&m, "Relu", "x", i ? "- z" : "", NULL);
        refused(&m, RLT_EMALFORMED, "node 'node 1' (Relu): it has no output");
    }
}

/* Parts of sizes that nobody knows. Each has the shape that the file declares; one without may stand unread. */
static void declared_parts(void **state)
{
    static const struct {
        const char *shape;
        double elements; /* -1: not known */
    } rows[] = {{"N 5", 2 * 5}, {"", 1}, {"N K", -1}, {"K 5", -1}, {NULL, -1}};
    (void)state;
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        const bool read = i % 2, known = rows[i / 2].elements >= 0;
        model m = {0};
        input(&m, "x", "N 8");
        input(&m, "t", "2");
        node(&m, "Split", "x t", "y z", "axis=1");
        value(&m, 13, "y", "N 3");
        if (rows[i / 2].shape)
            value(&m, 13, "z", rows[i / 2].shape);
        node(&m, "Relu", read ? "z" : "y", "r", NULL);
        if (read && !known) {
            refused(&m, RLT_EMALFORMED, "node 'r' (Relu): the shape of its input 'z' is not known");
            continue;
        }
        rlt_opgraph *g = read_model(&m, (test_options){.accelerator = bytes, .batch = 2});
        const double size = known ? 4 * rows[i / 2].elements : 0;
        assert_true((double)find(g, "y.1")->kept_bytes == size);
        assert_true((double)find(g, "y.1")->time_ps == 1000 * 2 * size);
        assert_true((double)find(g, "r")->time_ps == 1000 * 2 * (read ? size : 4 * 2 * 3));
        rlt_opgraph_free(g);
        rlt__pb_out_free(&m.graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(longest_contents),
        cmocka_unit_test(squeeze_all),
        cmocka_unit_test(batch_alone),
        cmocka_unit_test(float_contents),
        cmocka_unit_test(from_data),
        cmocka_unit_test(too_many_channels),
        cmocka_unit_test(declared_shapes),
        cmocka_unit_test(declared_parts),
        cmocka_unit_test(halves_of_files),
        cmocka_unit_test(unknown_kinds),
        cmocka_unit_test(batches),
        cmocka_unit_test(circles_and_open_ends),
        cmocka_unit_test(bytes_of_types),
        cmocka_unit_test(short_numbers),
        cmocka_unit_test(nodes_without_outputs),
        cmocka_unit_test(symbols),
        cmocka_unit_test(names_and_domains),
        cmocka_unit_test(type_of_looked_up),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
