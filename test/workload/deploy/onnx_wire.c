/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an ONNX file may look like: fields in any order, lists packed or not, contents raw or as numbers, unknown
 * fields in between, names of ONNX's own domain. All give the same graph. An unknown field that is damaged is
 * named by its byte. Which files are taken for ONNX models: a plain model on random sequences of fields.
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
#include "sim/base/text.h"
#include "sim/text/protowire.h"
#include "test/support/dice.h"
#include "test/support/traces/onnx.h"
#include "workload/deploy/graphs/graphs.h"
#include "workload/deploy/opgraph.h"

enum { CASES = 300, PIECES = 64, PROBES = 20000 };

/* ---- an encoder with choices ---- */

static dice d;
static bool plain; /* no choices */

static uint32_t choice(uint32_t n)
{
    return plain ? 0 : below(&d, n);
}

/* The fields of a message. */
typedef struct bag {
    rlt_pb_out at[PIECES];
    uint32_t number[PIECES];
    uint32_t n;
} bag;

static rlt_pb_out *piece(bag *b, uint32_t number)
{
    assert_true(b->n < PIECES);
    b->number[b->n] = number;
    b->at[b->n] = (rlt_pb_out){0};
    return &b->at[b->n++];
}

static void key(rlt_pb_out *o, uint32_t number, uint32_t wire)
{
    rlt__pb_put_varint(o, (uint64_t)number << 3 | wire);
}

static void uint_field(bag *b, uint32_t number, uint64_t v)
{
    rlt__pb_put_uint(piece(b, number), number, v);
}

static void text_field(bag *b, uint32_t number, const char *s)
{
    rlt__pb_put_bytes(piece(b, number), number, s, strlen(s));
}

static void float_field(bag *b, uint32_t number, float v)
{
    rlt_pb_out *o = piece(b, number);
    key(o, number, RLT_PB_FIXED32);
    rlt__pb_put_raw(o, &v, sizeof v);
}

/* A field of a number that no message has, of any wire type. It begins with two bytes, 0xc0 to 0xc5 and 0x3e,
 * which stand for lengths that no message here has. */
static void unknown(bag *b)
{
    static const uint8_t zeros[12] = {0};
    uint32_t wire = (uint32_t[]){0, 1, 2, 5}[below(&d, 4)];
    rlt_pb_out *o = piece(b, 1000);
    key(o, 1000, wire);
    if (wire == 2)
        rlt__pb_put_varint(o, sizeof zeros);
    rlt__pb_put_raw(o, zeros, wire == 0 ? 1 : wire == 1 ? 8 : wire == 5 ? 4 : sizeof zeros);
}

/* Writes the fields in a random order, in which those of one number stay one after the other, and frees them. */
static rlt_pb_out message(bag *b)
{
    rlt_pb_out o = {0};
    uint32_t order[PIECES];
    while (choice(3) == 1 && b->n < PIECES)
        unknown(b);
    for (uint32_t i = 0; i < b->n; i++) {
        uint32_t j = plain ? i : below(&d, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (uint32_t i = 0; i < b->n; i++)
        for (uint32_t j = i + 1; j < b->n; j++)
            if (b->number[order[i]] == b->number[order[j]] && order[j] < order[i]) {
                uint32_t other = order[i];
                order[i] = order[j];
                order[j] = other;
            }
    for (uint32_t i = 0; i < b->n; i++)
        rlt__pb_put_raw(&o, b->at[order[i]].data, b->at[order[i]].length);
    for (uint32_t i = 0; i < b->n; i++)
        rlt__pb_out_free(&b->at[i]);
    b->n = 0;
    return o;
}

static void message_field(bag *b, uint32_t number, bag *inner)
{
    rlt_pb_out o = message(inner);
    put(piece(b, number), number, &o);
}

/* A list of whole numbers: each a field, or some of them packed. */
static void ints_field(bag *b, uint32_t number, const int64_t *list, uint32_t n)
{
    for (uint32_t i = 0; i < n;) {
        uint32_t together = 1 + choice(n - i);
        if (together == 1 && choice(2) == 0) {
            uint_field(b, number, (uint64_t)list[i++]);
            continue;
        }
        rlt_pb_out packed = {0};
        for (uint32_t k = 0; k < together; k++)
            rlt__pb_put_varint(&packed, (uint64_t)list[i++]);
        put(piece(b, number), number, &packed);
    }
}

/* ---- parts of a model ---- */

enum { FLOAT = 1, INT32 = 6, INT64 = 7, DOUBLE = 11 };

/* Writes a number as it stands in raw contents. Returns its bytes. */
static size_t little(uint8_t raw[8], double v, uint32_t type)
{
    switch (type) {
    case FLOAT:
        memcpy(raw, &(float){(float)v}, 4);
        return 4;
    case INT32:
        memcpy(raw, &(int32_t){(int32_t)v}, 4);
        return 4;
    case INT64:
        memcpy(raw, &(int64_t){(int64_t)v}, 8);
        return 8;
    default:
        memcpy(raw, &v, 8);
        return 8;
    }
}

/* A list of numbers with contents: raw, or in the field of its type, packed or not. */
static void contents(bag *b, uint32_t type, const double *list, uint32_t n)
{
    uint32_t how = choice(3), number = type == FLOAT ? 4 : type == DOUBLE ? 10 : type == INT32 ? 5 : 7;
    rlt_pb_out all = {0};
    uint8_t raw[8];
    if (number == 7 && choice(2))
        number = 11; /* uint64_data */
    ints_field(b, 1, (int64_t[]){n}, 1);
    uint_field(b, 2, type);
    for (uint32_t i = 0; i < n; i++) {
        size_t size = little(raw, list[i], type);
        bool whole = type == INT32 || type == INT64;
        if (how == 2 && !whole) {
            rlt_pb_out *o = piece(b, number);
            key(o, number, size == 4 ? RLT_PB_FIXED32 : RLT_PB_FIXED64);
            rlt__pb_put_raw(o, raw, size);
        } else if (how == 2) {
            uint_field(b, number, (uint64_t)(int64_t)list[i]);
        } else if (how == 1 && whole) {
            rlt__pb_put_varint(&all, (uint64_t)(int64_t)list[i]);
        } else {
            rlt__pb_put_raw(&all, raw, size);
        }
    }
    if (how < 2)
        rlt__pb_put_bytes(piece(b, how ? number : 9), how ? number : 9, all.data, all.length);
    rlt__pb_out_free(&all);
}

static void list_of(bag *graph, const char *name, uint32_t type, const double *list, uint32_t n)
{
    bag t = {0};
    contents(&t, type, list, n);
    text_field(&t, 8, name);
    message_field(graph, 5, &t);
}

static void weights_of(bag *graph, const char *name, const int64_t *dims, uint32_t n)
{
    bag t = {0};
    ints_field(&t, 1, dims, n);
    uint_field(&t, 2, FLOAT);
    text_field(&t, 8, name);
    message_field(graph, 5, &t);
}

/* Declares a value; the dimension 0 is the symbol N. */
static void declares(bag *graph, uint32_t field, const char *name, const int64_t *dims, uint32_t n)
{
    bag info = {0}, type = {0}, tensor = {0}, shape = {0}, dim = {0};
    for (uint32_t i = 0; i < n; i++) {
        if (dims[i])
            uint_field(&dim, 1, (uint64_t)dims[i]);
        else
            text_field(&dim, 2, "N");
        message_field(&shape, 1, &dim);
    }
    uint_field(&tensor, 1, FLOAT);
    message_field(&tensor, 2, &shape);
    message_field(&type, 1, &tensor);
    text_field(&info, 1, name);
    message_field(&info, 2, &type);
    message_field(graph, field, &info);
}

/* Begins a node; `names` are its inputs, "-" one left out. */
static bag begins(const char *kind, const char *name, const char *names, const char *out)
{
    bag n = {0};
    char text[128], *rest = text;
    snprintf(text, sizeof text, "%s", names);
    for (char *word; (word = strtok_r(rest, " ", &rest));)
        text_field(&n, 1, strcmp(word, "-") == 0 ? "" : word);
    text_field(&n, 2, out);
    text_field(&n, 4, kind);
    if (*name)
        text_field(&n, 3, name);
    else if (choice(2))
        text_field(&n, 3, "");
    switch (choice(3)) {
    case 1:
        text_field(&n, 7, "");
        break;
    case 2:
        text_field(&n, 7, "ai.onnx");
        break;
    }
    if (choice(2))
        text_field(&n, 6, "documentation");
    return n;
}

static void number_attribute(bag *n, const char *name, int64_t v)
{
    bag a = {0};
    text_field(&a, 1, name);
    uint_field(&a, 3, (uint64_t)v);
    message_field(n, 5, &a);
}

static void ints_attribute(bag *n, const char *name, const int64_t *list, uint32_t size)
{
    bag a = {0};
    text_field(&a, 1, name);
    ints_field(&a, 8, list, size);
    message_field(n, 5, &a);
}

static void text_attribute(bag *n, const char *name, const char *text)
{
    bag a = {0};
    text_field(&a, 1, name);
    text_field(&a, 4, text);
    message_field(n, 5, &a);
}

static void float_attribute(bag *n, const char *name, float v)
{
    bag a = {0};
    text_field(&a, 1, name);
    float_field(&a, 2, v);
    message_field(n, 5, &a);
}

static void add_nodes(bag *graph)
{
    static const double one_and_half[] = {1, 1.5, 2};
    bag n = begins("Resize", "bigger", "x - scales", "r"), a = {0}, t = {0};
    message_field(graph, 1, &n); /* N 6 12 */
    n = begins("Reshape", "", "r target", "s");
    message_field(graph, 1, &n); /* N 72 */
    n = begins("Gemm", "", "s w b", "g");
    number_attribute(&n, "transB", 1);
    float_attribute(&n, "alpha", 0.5f);
    message_field(graph, 1, &n); /* N 300 */
    n = begins("Reshape", "", "g given", "y");
    message_field(graph, 1, &n); /* N 4 75, as the file says */
    n = begins("Conv", "slides", "y k", "c");
    ints_attribute(&n, "strides", (int64_t[]){2}, 1);
    text_attribute(&n, "auto_pad", "SAME_UPPER");
    ints_attribute(&n, "kernel_shape", (int64_t[]){3}, 1);
    message_field(graph, 1, &n); /* N 5 38 */
    n = begins("Constant", "", "", "list");
    ints_attribute(&n, "value_ints", (int64_t[]){-1, 10, 19}, 3);
    message_field(graph, 1, &n);
    n = begins("Reshape", "", "c list", "cut");
    message_field(graph, 1, &n); /* N 10 19 */
    n = begins("Constant", "", "", "more");
    contents(&t, choice(2) ? DOUBLE : FLOAT, one_and_half, 3);
    text_field(&a, 1, "value");
    message_field(&a, 5, &t);
    message_field(&n, 5, &a);
    message_field(graph, 1, &n);
    n = begins("Resize", "", "cut - more", "last"); /* N 15 38 */
    message_field(graph, 1, &n);
}

static rlt_pb_out encoded(void)
{
    static const double scales[] = {1, 1.5, 2}, target[] = {-1, 72};
    bag graph = {0}, m = {0}, set = {0};
    declares(&graph, 11, "x", (int64_t[]){0, 4, 6}, 3);
    declares(&graph, 11, "given", (int64_t[]){3}, 1);
    if (choice(2)) /* as files of old versions list them */
        declares(&graph, 11, "w", (int64_t[]){300, 72}, 2);
    declares(&graph, 12 + choice(2), "y", (int64_t[]){0, 4, 75}, 3);
    add_nodes(&graph);
    list_of(&graph, "scales", choice(2) ? DOUBLE : FLOAT, scales, 3);
    list_of(&graph, "target", choice(2) ? INT32 : INT64, target, 2);
    weights_of(&graph, "w", (int64_t[]){300, 72}, 2);
    weights_of(&graph, "b", (int64_t[]){300}, 1);
    weights_of(&graph, "k", (int64_t[]){5, 4, 3}, 3);
    uint_field(&m, 1, 8);
    if (choice(2))
        text_field(&m, 2, "a producer");
    if (choice(2)) { /* operators that no node is of */
        text_field(&set, 1, "com.example");
        uint_field(&set, 2, 1);
        message_field(&m, 8, &set);
    }
    if (choice(2))
        text_field(&set, 1, choice(2) ? "" : "ai.onnx");
    uint_field(&set, 2, 17);
    message_field(&m, 8, &set);
    message_field(&m, 7, &graph);
    return message(&m);
}

static rlt_opgraph *read_it(const rlt_pb_out *o, const char *accelerator)
{
    rlt_opgraph *g = NULL;
    if (read_bytes(o->data, o->length, (test_options){.accelerator = accelerator, .batch = 2}, &g))
        fail_msg("case %llu: %s: %s", (unsigned long long)d.seed, err.where, err.what);
    return g;
}

/* Damages an unknown field: the error names its byte. */
static void damage(rlt_pb_out *o)
{
    uint32_t found = 0, chosen = 0;
    for (uint32_t i = 0; i + 1 < o->length; i++)
        if (o->data[i] >= 0xc0 && o->data[i] <= 0xc5 && o->data[i + 1] == 0x3e && below(&d, ++found) == 0)
            chosen = i;
    if (found == 0)
        return;
    char where[64];
    rlt_opgraph *g = NULL;
    o->data[chosen] = (uint8_t)(0xc3 + below(&d, 2)); /* groups, which nobody writes any more */
    snprintf(where, sizeof where, "net.onnx: byte %u", chosen);
    assert_int_equal(read_bytes(o->data, o->length, (test_options){.accelerator = flops}, &g),
                     RLT_EMALFORMED);
    assert_null(g);
    assert_string_equal(err.where, where);
    assert_string_equal(err.what, "truncated or damaged: expected a field of an ONNX model");
}

static void encodings(void **state)
{
    static const char *const names[] = {"bigger", "x", "g", "slides", "last"};
    (void)state;
    plain = true;
    rlt_pb_out o = encoded();
    rlt_opgraph *one = read_it(&o, flops);
    rlt__pb_out_free(&o);
    for (uint32_t i = 0; i < 5; i++)
        assert_string_equal(one->ops[i].name, names[i]);
    assert_true(find(one, "bigger")->time_ps == 1000 * 4 * 2 * 6 * 12);
    assert_true(find(one, "g")->time_ps == 1000LL * 2 * 2 * 72 * 300);
    assert_true(find(one, "slides")->time_ps == 1000 * 2 * 2 * 5 * 38 * 12);
    assert_true(find(one, "last")->time_ps == 1000 * 4 * 2 * 15 * 38);
    assert_true(parameters(one) == 300 * 72 + 300 + 5 * 4 * 3);
    plain = false;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        d = (dice){.seed = seed};
        o = encoded();
        rlt_opgraph *g = read_it(&o, flops);
        if (g->hash != one->hash)
            fail_msg("case %llu: another graph", (unsigned long long)seed);
        rlt_opgraph_free(g);
        damage(&o);
        rlt__pb_out_free(&o);
    }
    rlt_opgraph_free(one);
}

/* ---- which files are models ---- */

typedef struct drawn_field {
    uint32_t number, wire;
    size_t body, end; /* where its key ends, and it itself */
} drawn_field;

/* Says whether the first n bytes are of a model: fields of a ModelProto up to its graph, at least two. A field
 * that is cut off counts, if its key is there. */
static bool model_begins(const drawn_field *f, uint32_t count_of_fields, size_t n)
{
    uint32_t met = 0;
    size_t from = 0;
    for (uint32_t i = 0; i < count_of_fields && from < n; from = f[i++].end) {
        uint32_t k = f[i].number;
        bool number = k == 1 || k == 5, message = k == 2 || k == 3 || k == 4 || (k >= 6 && k <= 8) || k == 14;
        if (f[i].body > n || !(number ? f[i].wire == 0 : message && f[i].wire == 2))
            return false;
        met++;
        if (k == 7)
            break;
    }
    return met >= 2;
}

static void probes(void **state)
{
    uint32_t taken = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= PROBES; seed++) {
        drawn_field f[8];
        rlt_pb_out o = {0};
        d = (dice){.seed = seed, .stream = 1};
        uint32_t n = below(&d, 6);
        for (uint32_t i = 0; i < n; i++) {
            static const uint8_t zeros[8] = {0};
            uint32_t k = 1 + below(&d, below(&d, 4) ? 8 : 40);
            bool fits = below(&d, 12) != 0;
            f[i].number = k;
            f[i].wire = fits ? (k == 1 || k == 5 ? 0 : 2) : (uint32_t[]){0, 1, 2, 5}[below(&d, 4)];
            key(&o, k, f[i].wire);
            f[i].body = o.length;
            if (f[i].wire == 2)
                rlt__pb_put_varint(&o, 4);
            rlt__pb_put_raw(&o, zeros, f[i].wire == 0 ? 1 : f[i].wire == 1 ? 8 : 4);
            f[i].end = o.length;
        }
        size_t cut = below(&d, 2) ? o.length : below(&d, (uint32_t)o.length + 1);
        bool want = model_begins(f, n, cut);
        char *copy = malloc(cut + 1); /* a sanitizer sees reads behind it */
        assert_non_null(copy);
        if (cut)
            memcpy(copy, o.data, cut);
        if (rlt__graph_onnx.probe(copy, cut) != want)
            fail_msg("case %llu: %zu bytes of %u fields are not told apart", (unsigned long long)seed, cut,
                     n);
        taken += want;
        free(copy);
        rlt__pb_out_free(&o);
    }
    assert_true(taken > PROBES / 5 && taken < PROBES / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(encodings), cmocka_unit_test(probes)};
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
