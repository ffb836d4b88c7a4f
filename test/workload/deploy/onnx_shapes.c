/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shapes and FLOPs of random ONNX nodes: convolutions, pools, products, reductions and elementwise
 * operators, worked out here from the operators' specification (onnx.ai) by counting places, and from the
 * formulas of onnx_cost.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/base/error.h"
#include "sim/text/protowire.h"
#include "test/support/dice.h"
#include "test/support/traces/onnx.h"
#include "workload/deploy/opgraph.h"

enum { CASES = 150, RANK = 5 };

/* One node, which reads r = Relu(x) and perhaps a weight w. */
typedef struct asked {
    char kind[24], x[80], w[80], more[200];
} asked;

static void dims_text(char *text, size_t size, const int64_t *dims, uint32_t n)
{
    text[0] = '\0';
    for (uint32_t i = 0; i < n; i++)
        snprintf(text + strlen(text), size - strlen(text), "%s%lld", i ? " " : "", (long long)dims[i]);
}

static void add(asked *a, const char *fmt, ...) RLT_PRINTF(2);
static void add(asked *a, const char *fmt, ...)
{
    size_t used = strlen(a->more);
    va_list args;
    va_start(args, fmt);
    vsnprintf(a->more + used, sizeof a->more - used, fmt, args);
    va_end(args);
}

/* Adds a list, one number for each dimension. */
static void add_list(asked *a, const char *name, const int64_t *list, uint32_t n)
{
    add(a, "%s%s=[", *a->more ? " " : "", name);
    for (uint32_t i = 0; i < n; i++)
        add(a, "%s%lld", i ? "," : "", (long long)list[i]);
    add(a, "]");
}

static void check(const asked *a, uint64_t seed, double elements, double flop)
{
    model m = {0};
    input(&m, "x", a->x);
    node(&m, "Relu", "x", "r", NULL);
    if (*a->w)
        weight(&m, "w", a->w);
    node(&m, a->kind, *a->w ? "r w" : "r", "y", a->more);
    rlt_pb_out o = model_bytes(&m);
    rlt_opgraph *g = NULL;
    int rc = read_bytes(o.data, o.length,
                        (test_options){.accelerator = flops, .batch = (uint32_t)strtoul(a->x, NULL, 10)}, &g);
    if (elements < 0) { /* refused */
        assert_true(rc < 0);
    } else {
        if (rc)
            fail_msg("case %llu: %s of %s with %s, %s: %s: %s", (unsigned long long)seed, a->kind, a->x, a->w,
                     a->more, err.where, err.what);
        const rlt_operator *y = find(g, "y");
        if ((double)y->kept_bytes != 4 * elements || (double)y->time_ps != 1000 * flop)
            fail_msg("case %llu: %s of %s with %s, %s: %g elements, %g FLOP, not %g and %g",
                     (unsigned long long)seed, a->kind, a->x, a->w, a->more, (double)y->kept_bytes / 4,
                     (double)y->time_ps / 1000, elements, flop);
    }
    rlt_opgraph_free(g);
    rlt__pb_out_free(&o);
    rlt__pb_out_free(&m.graph);
}

/* How often a window fits, found by moving it until it ends at the end or beyond. Rounding up, one that
 * hangs over the end counts, and none that begins in the padding behind the input. */
static int64_t fits(int64_t d, int64_t before, int64_t after, int64_t reach, int64_t stride, bool up)
{
    int64_t n = 0, end = before + d + after;
    bool done = reach > end;
    for (int64_t at = 0; !done && at < (up ? before + d : end); at += stride) {
        done = at + reach >= end;
        n += up || at + reach <= end;
    }
    return n;
}

/* Convolutions and pools. */
static void windows(void **state)
{
    static const char *const kinds[] = {"Conv", "MaxPool", "AveragePool"};
    (void)state;
    for (uint64_t seed = 1; seed <= 3 * CASES; seed++) {
        dice d = {.seed = seed};
        uint32_t n = 1 + below(&d, 3);
        bool conv = seed % 3 == 0, up = !conv && below(&d, 2), same = !up && below(&d, 4) == 0;
        int64_t group = 1 + below(&d, 2), in = 1 + below(&d, 3), out = group * (1 + below(&d, 3));
        int64_t x[RANK] = {1, group * in}, w[RANK] = {out, in}, stride[3], dilation[3], pads[6], volume = 1;
        double elements = conv ? (double)out : (double)x[1];
        asked a = {.kind = ""};
        snprintf(a.kind, sizeof a.kind, "%s", kinds[seed % 3]);
        for (uint32_t i = 0; i < n; i++) {
            x[2 + i] = 1 + below(&d, 9);
            w[2 + i] = 1 + below(&d, 3);
            stride[i] = 1 + below(&d, 3);
            dilation[i] = 1 + below(&d, 2);
            pads[i] = below(&d, 2);
            pads[n + i] = below(&d, 2);
            int64_t reach = (w[2 + i] - 1) * dilation[i] + 1;
            volume *= w[2 + i];
            elements *= same ? (double)((x[2 + i] + stride[i] - 1) / stride[i])
                             : (double)fits(x[2 + i], pads[i], pads[n + i], reach, stride[i], up);
        }
        dims_text(a.x, sizeof a.x, x, 2 + n);
        if (conv)
            dims_text(a.w, sizeof a.w, w, 2 + n);
        if (!conv || below(&d, 2))
            add_list(&a, "kernel_shape", w + 2, n);
        add_list(&a, "strides", stride, n);
        add_list(&a, "dilations", dilation, n);
        if (same)
            add(&a, " auto_pad=SAME_UPPER");
        else
            add_list(&a, "pads", pads, 2 * n);
        if (conv)
            add(&a, " group=%lld", (long long)group);
        if (up)
            add(&a, " ceil_mode=1");
        check(&a, seed, elements, conv ? 2 * elements * (double)(in * volume) : elements * (double)volume);
    }
}

/* A transposed convolution spreads each place of the input over a window. */
static void spread(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        dice d = {.seed = seed};
        uint32_t n = 1 + below(&d, 2);
        bool same = below(&d, 4) == 0;
        int64_t group = 1 + below(&d, 2), x[RANK] = {1, 2 * group}, w[RANK] = {2 * group, 1 + below(&d, 3)};
        int64_t stride[2], dilation[2], more[2], pads[4], volume = 1, places = x[1];
        double elements = (double)(group * w[1]);
        asked a = {.kind = "ConvTranspose"};
        for (uint32_t i = 0; i < n; i++) {
            x[2 + i] = 2 + below(&d, 6);
            w[2 + i] = 1 + below(&d, 3);
            stride[i] = 1 + below(&d, 3);
            dilation[i] = 1 + below(&d, 3);
            more[i] = below(&d, (uint32_t)stride[i]);
            pads[i] = 0;
            pads[n + i] = below(&d, 2);
            int64_t last = (x[2 + i] - 1) * stride[i] + (w[2 + i] - 1) * dilation[i] + 1;
            elements *= same ? (double)(x[2 + i] * stride[i]) : (double)(last + more[i] - pads[n + i]);
            volume *= w[2 + i];
            places *= x[2 + i];
        }
        dims_text(a.x, sizeof a.x, x, 2 + n);
        dims_text(a.w, sizeof a.w, w, 2 + n);
        add_list(&a, "strides", stride, n);
        add_list(&a, "dilations", dilation, n);
        add_list(&a, "output_padding", more, n);
        if (same)
            add(&a, " auto_pad=SAME_LOWER");
        else
            add_list(&a, "pads", pads, 2 * n);
        add(&a, " group=%lld", (long long)group);
        check(&a, seed, elements, 2 * (double)places * (double)(w[1] * volume));
    }
}

/* Gemm, turned or not, and MatMul of stacks that are repeated where one has a single matrix. */
static void products(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        dice d = {.seed = seed};
        int64_t rows = 1 + below(&d, 5), inner = 1 + below(&d, 5), columns = 1 + below(&d, 5);
        bool fit = below(&d, 8) != 0;
        int64_t other = fit ? inner : inner + 1;
        asked a = {.kind = "Gemm"};
        double elements = (double)(rows * columns);
        if (seed % 2) {
            bool ta = below(&d, 2), tb = below(&d, 2);
            int64_t x[] = {ta ? inner : rows, ta ? rows : inner},
                    w[] = {tb ? columns : other, tb ? other : columns};
            dims_text(a.x, sizeof a.x, x, 2);
            dims_text(a.w, sizeof a.w, w, 2);
            add(&a, "transA=%d transB=%d", ta, tb);
        } else {
            int64_t x[RANK] = {1 + below(&d, 3), 1 + 2 * below(&d, 2), rows, inner}, w[RANK];
            uint32_t n = 1 + below(&d, 4); /* dimensions of the weight */
            w[3] = columns;
            w[2] = other;
            w[1] = below(&d, 2) ? 1 : x[1];
            w[0] = below(&d, 2) ? 1 : x[0];
            snprintf(a.kind, sizeof a.kind, "MatMul");
            dims_text(a.x, sizeof a.x, x, 4);
            dims_text(a.w, sizeof a.w, n == 1 ? w + 2 : w + 4 - n, n == 1 ? 1 : n);
            elements = (double)(x[0] * x[1] * rows) * (n == 1 ? 1 : (double)columns);
        }
        check(&a, seed, fit ? elements : -1, 2 * elements * (double)inner);
    }
}

/* Reductions over some axes, and the places of all of them. */
static void reductions(void **state)
{
    static const struct {
        const char *kind;
        int flop, bytes; /* bytes of an element, in floats */
    } rows[] = {{"ReduceMean", 1, 1},
                {"ReduceL2", 2, 1},
                {"ReduceLogSumExp", 5, 1},
                {"ArgMax", 1, 2},
                {"GlobalMaxPool", 1, 1}};
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        dice d = {.seed = seed};
        uint32_t n = 3 + below(&d, 2), which = (uint32_t)(seed % 5), k = 0;
        int64_t x[RANK], axes[RANK];
        double in = 1, left = 1;
        bool keep = below(&d, 2), none = which < 3 && below(&d, 4) == 0, noop = none && below(&d, 2);
        asked a = {.kind = ""};
        snprintf(a.kind, sizeof a.kind, "%s", rows[which].kind);
        for (uint32_t i = 0; i < n; i++) {
            x[i] = i ? 1 + below(&d, 5) : 1;
            bool gone = which == 4 ? i >= 2 : which == 3 ? i == 1 : none ? !noop : i > 0 && below(&d, 2);
            if (gone && !none && which < 4)
                axes[k++] = below(&d, 2) ? i : (int64_t)i - (int64_t)n;
            in *= (double)x[i];
            left *= gone ? 1 : (double)x[i];
        }
        if (which < 3 && !none && !k) { /* an empty list would mean all */
            axes[k++] = 0;
        }
        dims_text(a.x, sizeof a.x, x, n);
        if (which < 4)
            add(&a, "keepdims=%d", keep);
        if (which < 3 && k)
            add_list(&a, "axes", axes, k);
        if (which == 3)
            add(&a, " axis=%lld", (long long)axes[0]);
        if (noop)
            add(&a, " noop_with_empty_axes=1");
        check(&a, seed, left * rows[which].bytes, in * rows[which].flop);
    }
}

/* Shapes are repeated where one has a 1, or nothing at all. */
static void broadcasts(void **state)
{
    static const struct {
        const char *kind;
        int flop;
        double bytes; /* of an element, in floats */
    } rows[] = {{"Add", 1, 1}, {"Pow", 4, 1}, {"Less", 1, 0.25}};
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        dice d = {.seed = seed};
        uint32_t n = 2 + below(&d, 3), m = 1 + below(&d, n), which = below(&d, 3);
        int64_t x[RANK], w[RANK];
        double elements = 1;
        bool fits_all = true;
        asked a = {.kind = ""};
        snprintf(a.kind, sizeof a.kind, "%s", rows[which].kind);
        for (uint32_t i = 0; i < n; i++) {
            x[i] = i ? 1 + below(&d, 4) : 1;
            w[i] = below(&d, 3) == 0 ? 1 : i && x[i] == 1 ? 4 : below(&d, 12) ? x[i] : x[i] + 1;
            bool there = i >= n - m;
            fits_all = fits_all && (!there || x[i] == w[i] || x[i] == 1 || w[i] == 1);
            elements *= (double)(there && x[i] == 1 ? w[i] : x[i]);
        }
        dims_text(a.x, sizeof a.x, x, n);
        dims_text(a.w, sizeof a.w, w + n - m, m);
        check(&a, seed, fits_all ? elements * rows[which].bytes : -1, elements * rows[which].flop);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows),    cmocka_unit_test(spread),     cmocka_unit_test(products),
        cmocka_unit_test(reductions), cmocka_unit_test(broadcasts),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
