/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random files of accelerators: each field is read as it is written, has its default where it is absent, and is
 * refused out of its bounds, of another type, or where it must not be absent. */
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/say.h"
#include "test/support/support.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/models/stack.h"

enum { NUMBER, COUNT, SIZE, RATE, TIME, TEXT };
enum { TOP, KERNELS, MOST, STACK, STACK_MOST, OBJECTS };

/* A field of an object. Numbers have bounds, texts a room in bytes (`most`). `usual` is the default; NEEDED:
 * none. */
typedef struct field {
    int object, type;
    const char *key;
    double least, most, usual;
    size_t at;
} field;

#define NEEDED      (-1)
#define A(f)        offsetof(rlt_accelerator, f)
#define S(f)        offsetof(rlt_stack, f)
#define LEAST_SHARE 1e-6

static const field fields[] = {
    {TOP, TEXT, "name", 0, 64, NEEDED, A(name)},
    {TOP, TEXT, "also", 0, 64, 0, A(also)},
    {TOP, TEXT, "generation", 0, 32, 0, A(generation)},
    {TOP, TEXT, "processor", 0, 16, 0, A(processor)},
    {TOP, TEXT, "source", 0, 512, NEEDED, A(source)},
    {TOP, SIZE, "memory", 1, 0, NEEDED, A(memory_bytes)},
    {TOP, RATE, "bandwidth", 1, 0, NEEDED, A(memory_Bps)},
    {TOP, COUNT, "multiprocessors", 0, 1e6, 0, A(multiprocessors)},
    {TOP, NUMBER, "power_w", 0, 1e5, 0, A(power_w)},
    {TOP, TIME, "launch", 0, 0, 0, A(launch_ps)},
    {TOP, NUMBER, "overlap_slowdown", 1, 100, 1, A(overlap_slowdown)},
    {KERNELS, NUMBER, "memory", LEAST_SHARE, 1, NEEDED, A(kernels.memory)},
    {KERNELS, NUMBER, "rows_half", 0, 1e12, 0, A(kernels.rows_half)},
    {KERNELS, NUMBER, "outputs_half", 0, 1e12, 0, A(kernels.outputs_half)},
    {KERNELS, NUMBER, "inputs_half", 0, 1e12, 0, A(kernels.inputs_half)},
    {KERNELS, NUMBER, "area_half", 0, 1e12, 0, A(kernels.area_half)},
    {KERNELS, NUMBER, "backward", LEAST_SHARE, 1, 1, A(kernels.backward)},
    {KERNELS, NUMBER, "host", 0, 1e12, 1, A(kernels.host)},
    {KERNELS, TEXT, "source", 0, 512, 0, A(kernels.source)},
    {MOST, NUMBER, "matmul", LEAST_SHARE, 1, NEEDED, A(kernels.most[RLT_WORK_MATMUL])},
    {MOST, NUMBER, "attention", LEAST_SHARE, 1, NEEDED, A(kernels.most[RLT_WORK_ATTENTION])},
    {MOST, NUMBER, "convolution", LEAST_SHARE, 1, NEEDED, A(kernels.most[RLT_WORK_CONVOLUTION])},
    {MOST, NUMBER, "lookup", LEAST_SHARE, 1, NEEDED, A(kernels.most[RLT_WORK_LOOKUP])},
    {MOST, NUMBER, "vector", LEAST_SHARE, 1, NEEDED, A(kernels.most[RLT_WORK_VECTOR])},
    {STACK, TEXT, "name", 0, 32, NEEDED, S(name)},
    {STACK, TEXT, "source", 0, 512, 0, S(source)},
    {STACK, TIME, "host_kernel", 0, 0, 0, S(host_kernel_ps)},
    {STACK, TIME, "host_expert", 0, 0, 0, S(host_expert_ps)},
    {STACK, TIME, "host_pass", 0, 0, 0, S(host_pass_ps)},
    {STACK, TIME, "host_handover", 0, 0, 0, S(host_handover_ps)},
    {STACK, TIME, "host_image", 0, 0, 0, S(host_image_ps)},
    {STACK, TIME, "host", 0, 0, 0, S(host_ps)},
    {STACK, NUMBER, "score_passes", 0, 100, 0, S(score_passes)},
    {STACK_MOST, NUMBER, "matmul", 0.01, 10, 1, S(most[RLT_WORK_MATMUL])},
    {STACK_MOST, NUMBER, "attention", 0.01, 10, 1, S(most[RLT_WORK_ATTENTION])},
    {STACK_MOST, NUMBER, "convolution", 0.01, 10, 1, S(most[RLT_WORK_CONVOLUTION])},
    {STACK_MOST, NUMBER, "lookup", 0.01, 10, 1, S(most[RLT_WORK_LOOKUP])},
    {STACK_MOST, NUMBER, "vector", 0.01, 10, 1, S(most[RLT_WORK_VECTOR])},
};
enum { FIELDS = sizeof fields / sizeof *fields };

/* A file to write. */
typedef struct doc {
    dice d;
    char text[1 << 15];
    size_t used;
    rlt_accelerator want;
    const field *bad; /* this field gets the text `instead`; "": it is left out */
    const char *instead;
    const char *extra[OBJECTS]; /* more text at the end of objects; NULL: none */
} doc;

static void draw_text(doc *x, const field *f, char *out)
{
    uint32_t n = below(&x->d, 3) ? 1 + below(&x->d, 9) : (uint32_t)f->most - 1;
    memset(out, 0, (size_t)f->most);
    for (uint32_t i = 0; i < n; i++)
        out[i] = (char)('a' + below(&x->d, 26));
}

/* Writes a drawn value, and puts it where it is expected. */
static void value(doc *x, const field *f, char *base)
{
    void *at = base + f->at;
    uint64_t n = (uint64_t)f->least + below(&x->d, 1000);
    double step = (f->most - f->least) * below(&x->d, 1000) / 1000;
    double v = !below(&x->d, 4) ? f->most : f->least + (below(&x->d, 4) ? step : 0);
    switch (f->type) {
    case TEXT:
        draw_text(x, f, at);
        TEST_SAY(x, "\"%s\"", (char *)at);
        break;
    case SIZE:
    case RATE:
        *(uint64_t *)at = n * 1000000000;
        TEST_SAY(x, "\"%lluGB%s\"", (unsigned long long)n, f->type == RATE ? "/s" : "");
        break;
    case TIME:
        *(rlt_time *)at = (rlt_time)n * RLT_US;
        TEST_SAY(x, "\"%lluus\"", (unsigned long long)n);
        break;
    case COUNT:
        *(uint32_t *)at = (uint32_t)v;
        TEST_SAY(x, "%u", (uint32_t)v);
        break;
    default:
        *(double *)at = v;
        TEST_SAY(x, "%.17g", v);
        break;
    }
}

static void separate(doc *x)
{
    if (x->text[x->used - 1] != '{' && x->text[x->used - 1] != '[')
        TEST_SAY(x, ",\n");
}

static void write_fields(doc *x, int object, char *base)
{
    for (int i = 0; i < FIELDS; i++) {
        const field *f = &fields[i];
        bool skipped = below(&x->d, 3) == 0;
        if (f->object != object)
            continue;
        if (f->type == NUMBER)
            *(double *)(base + f->at) = f->usual;
        if (f == x->bad ? !*x->instead : skipped && f->usual != NEEDED)
            continue;
        separate(x);
        TEST_SAY(x, "\"%s\": ", f->key);
        if (f == x->bad)
            TEST_SAY(x, "%s", x->instead);
        else
            value(x, f, base);
    }
    if (x->extra[object]) {
        separate(x);
        TEST_SAY(x, "%s", x->extra[object]);
    }
}

/* Up to the largest number of precisions, the first of the longest name that there may be. */
static void write_factors(doc *x, rlt_precision_factors *f)
{
    f->n = below(&x->d, RLT_MAX_PEAKS + 1);
    separate(x);
    TEST_SAY(x, "\"precisions\": {");
    for (uint32_t i = 0; i < f->n; i++) {
        snprintf(f->at[i].precision, sizeof f->at[i].precision, i ? "p%u" : "p%014u", i);
        f->at[i].factor = i == 1 ? 0.01 : i == 2 ? 10 : 0.01 * (1 + below(&x->d, 1000));
        TEST_SAY(x, "%s\"%s\": %.17g", i ? ", " : "", f->at[i].precision, f->at[i].factor);
    }
    TEST_SAY(x, "}");
}

static void write_spread(doc *x, rlt_spread *s)
{
    s->low = !below(&x->d, 4) ? 1e-3 : 0.25 * (1 + below(&x->d, 6));
    s->high = !below(&x->d, 4) ? s->low : !below(&x->d, 4) ? 1e3 : s->low + below(&x->d, 3);
    TEST_SAY(x, "\"low\": %.17g, \"high\": %.17g", s->low, s->high);
}

static void write_stack(doc *x, rlt_stack *s)
{
    separate(x);
    TEST_SAY(x, "{");
    write_fields(x, STACK, (char *)s);
    if (x->bad || x->extra[STACK_MOST] || below(&x->d, 2)) {
        TEST_SAY(x, ", \"most\": {");
        write_fields(x, STACK_MOST, (char *)s);
        TEST_SAY(x, "}");
    } else {
        for (int k = 0; k < RLT_WORK_KINDS; k++)
            s->most[k] = 1;
    }
    if (below(&x->d, 2))
        write_factors(x, &s->precisions);
    if (below(&x->d, 2)) {
        static const char *const names[] = {"dense", "experts"};
        TEST_SAY(x, ", \"spread\": {");
        for (uint32_t k = 0; k < 2; k++)
            if (below(&x->d, 2)) {
                separate(x);
                TEST_SAY(x, "\"%s\": {", names[k]);
                write_spread(x, &s->spread[k]);
                TEST_SAY(x, "}");
            }
        TEST_SAY(x, "}");
    }
    TEST_SAY(x, "}");
}

static void write_evidence(doc *x, rlt_evidence *e, uint32_t i)
{
    separate(x);
    snprintf(e->stack, sizeof e->stack, i ? "s%u" : "s%030u", i);
    e->kind = below(&x->d, 2) ? RLT_KIND_DENSE : RLT_KIND_EXPERTS;
    e->rows = below(&x->d, 3) ? below(&x->d, 3) : UINT32_MAX;
    TEST_SAY(x, "{\"stack\": \"%s\", \"kind\": \"%s\", \"rows\": %u, ", e->stack,
             e->kind == RLT_KIND_DENSE ? "dense" : "experts", e->rows);
    if (below(&x->d, 2)) {
        snprintf(e->precision, sizeof e->precision, "p%014u", i);
        TEST_SAY(x, "\"precision\": \"%s\", ", e->precision);
    }
    write_spread(x, &e->spread);
    TEST_SAY(x, "}");
}

/* Writes a whole file. The numbers of peaks, stacks and evidence are drawn up to their limits. */
static void write_doc(doc *x, uint32_t stacks)
{
    rlt_accelerator *a = &x->want;
    TEST_SAY(x, "{");
    write_fields(x, TOP, (char *)a);
    a->n_peaks = 1 + below(&x->d, RLT_MAX_PEAKS);
    TEST_SAY(x, ", \"peaks\": {");
    for (uint32_t i = 0; i < a->n_peaks; i++) {
        snprintf(a->peaks[i].precision, sizeof a->peaks[i].precision, i ? "p%u" : "p%014u", i);
        a->peaks[i].Flops = 1 + below(&x->d, 1000);
        TEST_SAY(x, "%s\"%s\": \"%lluFLOPS\"", i ? ", " : "", a->peaks[i].precision,
                 (unsigned long long)a->peaks[i].Flops);
    }
    TEST_SAY(x, "}, \"kernels\": {");
    write_fields(x, KERNELS, (char *)a);
    TEST_SAY(x, ", \"most\": {");
    write_fields(x, MOST, (char *)a);
    TEST_SAY(x, "}");
    if (below(&x->d, 2))
        write_factors(x, &a->kernels.precisions);
    TEST_SAY(x, "}, \"stacks\": [");
    for (; a->n_stacks < stacks; a->n_stacks++)
        write_stack(x, &a->stacks[a->n_stacks]);
    TEST_SAY(x, "]");
    if (below(&x->d, 2)) {
        uint32_t n = below(&x->d, 4) ? below(&x->d, 5) : RLT_MAX_EVIDENCE;
        TEST_SAY(x, ", \"evidence\": [");
        for (; a->n_evidence < n; a->n_evidence++)
            write_evidence(x, &a->evidence[a->n_evidence], a->n_evidence);
        TEST_SAY(x, "]");
    }
    TEST_SAY(x, "}");
}

static char folder[] = "/tmp/ringlet-fields-XXXXXX";

static void put(const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static int load(const doc *x, rlt_accelerator *a, rlt_error *err)
{
    char path[200];
    put("chips/one.json", x->text);
    snprintf(path, sizeof path, "%s/chips/one.json", folder);
    *err = (rlt_error){0};
    memset(a, 0x5a, sizeof *a);
    return rlt_accelerator_load(path, NULL, a, err);
}

static void same_field(const field *f, const char *got, const char *want)
{
    bool same = f->type == NUMBER  ? *(const double *)(got + f->at) == *(const double *)(want + f->at)
                : f->type == TEXT  ? strcmp(got + f->at, want + f->at) == 0
                : f->type == COUNT ? *(const uint32_t *)(got + f->at) == *(const uint32_t *)(want + f->at)
                                   : *(const uint64_t *)(got + f->at) == *(const uint64_t *)(want + f->at);
    if (!same)
        fail_msg("object %d: '%s' differs", f->object, f->key);
}

static void same_factors(const rlt_precision_factors *got, const rlt_precision_factors *want)
{
    assert_int_equal(got->n, want->n);
    for (uint32_t i = 0; i < want->n; i++) {
        assert_string_equal(got->at[i].precision, want->at[i].precision);
        assert_true(got->at[i].factor == want->at[i].factor);
    }
}

static void same_stack(const rlt_stack *got, const rlt_stack *want)
{
    for (int i = 0; i < FIELDS; i++)
        if (fields[i].object == STACK || fields[i].object == STACK_MOST)
            same_field(&fields[i], (const char *)got, (const char *)want);
    same_factors(&got->precisions, &want->precisions);
    for (int k = 0; k < RLT_KINDS; k++) {
        assert_true(got->spread[k].low == want->spread[k].low);
        assert_true(got->spread[k].high == want->spread[k].high);
    }
}

static void same(const rlt_accelerator *got, const rlt_accelerator *want)
{
    for (int i = 0; i < FIELDS; i++)
        if (fields[i].object < STACK)
            same_field(&fields[i], (const char *)got, (const char *)want);
    same_factors(&got->kernels.precisions, &want->kernels.precisions);
    assert_int_equal(got->n_peaks, want->n_peaks);
    for (uint32_t i = 0; i < want->n_peaks; i++) {
        assert_string_equal(got->peaks[i].precision, want->peaks[i].precision);
        assert_int_equal(got->peaks[i].Flops, want->peaks[i].Flops);
    }
    assert_int_equal(got->n_stacks, want->n_stacks);
    for (uint32_t i = 0; i < want->n_stacks; i++)
        same_stack(&got->stacks[i], &want->stacks[i]);
    assert_int_equal(got->n_evidence, want->n_evidence);
    for (uint32_t i = 0; i < want->n_evidence; i++) {
        const rlt_evidence *g = &got->evidence[i], *w = &want->evidence[i];
        assert_string_equal(g->stack, w->stack);
        assert_string_equal(g->precision, w->precision);
        assert_int_equal(g->kind, w->kind);
        assert_int_equal(g->rows, w->rows);
        assert_true(g->spread.low == w->spread.low && g->spread.high == w->spread.high);
    }
    assert_int_equal(got->n_dispatchers, 0);
}

static doc x;
static rlt_accelerator a;

static void start(uint64_t seed)
{
    x = (doc){.d = {seed, 0}};
}

static void fields_are_read(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        rlt_error err;
        start(seed);
        write_doc(&x, below(&x.d, 4));
        if (load(&x, &a, &err))
            fail_msg("seed %llu: %s: %s\n%s", (unsigned long long)seed, err.where, err.what, x.text);
        same(&a, &x.want);
    }
}

static void refuses(const field *f, const char *instead, int code, const char *what)
{
    rlt_error err;
    start(7);
    x.bad = f;
    x.instead = instead;
    write_doc(&x, 1);
    int rc = load(&x, &a, &err);
    if (rc != code || err.code != code || (what && !strstr(err.what, what)))
        fail_msg("object %d, '%s' as '%s': %d, %s: %s", f->object, f->key, instead, rc, err.where, err.what);
}

/* Just inside of the bounds, a value passes; see fields_are_read. */
static void bounds(void **state)
{
    (void)state;
    for (int i = 0; i < FIELDS; i++) {
        const field *f = &fields[i];
        char text[700] = "\"", what[100];
        snprintf(what, sizeof what, "missing '%s'", f->key);
        if (f->usual == NEEDED)
            refuses(f, "", RLT_ESCHEMA, what);
        refuses(f, "[]", RLT_ESCHEMA, NULL);
        if (f->type == TEXT) {
            refuses(f, "\"\"", RLT_ERANGE, NULL);
            for (int k = 0; k < (int)f->most; k++)
                strcat(text, "x");
            refuses(f, strcat(text, "\""), RLT_ERANGE, NULL);
        } else if (f->type == SIZE || f->type == RATE) {
            refuses(f, f->type == SIZE ? "\"0GB\"" : "\"0GB/s\"", RLT_ERANGE, "above 0");
        } else if (f->type != TIME) {
            snprintf(text, sizeof text, "%.17g", f->least > 0 ? f->least * 0.999 : -1e-9);
            refuses(f, text, RLT_ERANGE, NULL);
            snprintf(text, sizeof text, "%.17g", f->most * 1.001);
            refuses(f, text, RLT_ERANGE, NULL);
        } else {
            refuses(f, "\"3GB\"", RLT_EMALFORMED, NULL);
        }
    }
}

static void refuses_extra(int object, const char *text, int code, const char *what)
{
    rlt_error err;
    start(7);
    x.extra[object] = text;
    write_doc(&x, 1);
    int rc = load(&x, &a, &err);
    if (rc != code || !strstr(err.what, what))
        fail_msg("object %d with '%s': %d, %s: %s", object, text, rc, err.where, err.what);
}

static void unknown_keys(void **state)
{
    (void)state;
    for (int o = 0; o < OBJECTS; o++)
        refuses_extra(o, "\"no such\": 1", RLT_ESCHEMA, "no such");
}

/* The smallest file with these peaks, and this text at the ends of its kernels and of the whole. */
static int load_small(const char *peaks, const char *kernels, const char *rest, rlt_error *err)
{
    x = (doc){.used = 0};
    TEST_SAY(&x,
             "{\"name\": \"x\", \"source\": \"y\", \"memory\": \"1GB\", \"bandwidth\": \"1GB/s\", "
             "\"peaks\": {%s}, \"kernels\": {\"memory\": 1, \"most\": {\"matmul\": 1, \"attention\": 1, "
             "\"convolution\": 1, \"lookup\": 1, \"vector\": 1}%s}%s}",
             peaks, kernels, rest);
    return load(&x, &a, err);
}

#define PEAK    "\"bf16\": \"1FLOPS\""
#define SIXTEEN "\"0123456789abcdef\""
#define EIGHT(v)                                                                                             \
    "\"a\": " v ", \"b\": " v ", \"c\": " v ", \"d\": " v ", \"e\": " v ", \"f\": " v ", \"g\": " v          \
    ", \"h\": " v
#define ENTRY(stack, kind, rows, low, high)                                                                  \
    ", \"evidence\": [{\"stack\": " stack ", \"kind\": " kind ", \"rows\": " rows ", \"low\": " low          \
    ", \"high\": " high "}]"
#define SPREAD(text) ", \"stacks\": [{\"name\": \"s\", \"spread\": " text "}]"

static void lists(void **state)
{
    static const struct {
        const char *peaks, *kernels, *rest;
        int code;
        const char *what;
    } rows[] = {
        {PEAK, "", "", 0, NULL},
        {"", "", "", RLT_ESCHEMA, "expected 'peaks'"},
        {"\"\": \"1FLOPS\"", "", "", RLT_ESCHEMA, "name of a precision"},
        {SIXTEEN ": \"1FLOPS\"", "", "", RLT_ESCHEMA, "name of a precision"},
        {EIGHT("\"1FLOPS\""), "", "", 0, NULL},
        {EIGHT("\"1FLOPS\"") ", \"i\": \"1FLOPS\"", "", "", RLT_ERANGE, "more than 8 precisions"},
        {"\"bf16\": \"0FLOPS\", \"fp8\": \"1FLOPS\"", "", "", RLT_ERANGE, "above 0"},
        {PEAK, ", \"precisions\": {" EIGHT("1") "}", "", 0, NULL},
        {PEAK, ", \"precisions\": {" EIGHT("1") ", \"i\": 1}", "", RLT_ESCHEMA, "at most 8"},
        {PEAK, ", \"precisions\": {\"\": 1}", "", RLT_ESCHEMA, "at most 8"},
        {PEAK, ", \"precisions\": {" SIXTEEN ": 1}", "", RLT_ESCHEMA, "at most 8"},
        {PEAK, ", \"precisions\": {\"a\": 0.0099, \"b\": 1}", "", RLT_ERANGE, "0.01 to 10"},
        {PEAK, ", \"precisions\": {\"a\": 10.01}", "", RLT_ERANGE, "0.01 to 10"},
        {PEAK, ", \"precisions\": []", "", RLT_ESCHEMA, "expected an object"},
        {PEAK, "", ", \"stacks\": [{\"name\": \"s\", \"most\": 1}]", RLT_ESCHEMA, "expected an object"},
        {PEAK, "", ", \"stacks\": [{\"name\": \"s\", \"precisions\": 1}]", RLT_ESCHEMA, "expected an object"},
        {PEAK, "", SPREAD("{\"dense\": {\"low\": 1, \"high\": 1}}"), 0, NULL},
        {PEAK, "", SPREAD("1"), RLT_ESCHEMA, "expected an object"},
        {PEAK, "", SPREAD("{\"dense\": {\"low\": 1}}"), RLT_ESCHEMA, "missing 'high'"},
        {PEAK, "", SPREAD("{\"experts\": {\"high\": 1}}"), RLT_ESCHEMA, "missing 'low'"},
        {PEAK, "", SPREAD("{\"dense\": {\"low\": 0.0009, \"high\": 1}}"), RLT_ERANGE, "0.001 to 1000"},
        {PEAK, "", SPREAD("{\"dense\": {\"low\": 1, \"high\": 1001}}"), RLT_ERANGE, "0.001 to 1000"},
        {PEAK, "", SPREAD("{\"dense\": {\"low\": 1, \"high\": 0.999}}"), RLT_ERANGE, "at least low, 1"},
        {PEAK, "", ENTRY("\"s\"", "\"dense\"", "4294967295", "1", "1"), 0, NULL},
        {PEAK, "", ENTRY("\"s\"", "\"dense\"", "4294967296", "1", "1"), RLT_ERANGE, ""},
        {PEAK, "", ENTRY("\"s\"", "\"experts\"", "-1", "1", "1"), RLT_ERANGE, ""},
        {PEAK, "", ENTRY("\"s\"", "\"other\"", "1", "1", "1"), RLT_ESCHEMA, "dense or experts"},
        {PEAK, "", ENTRY("\"s\"", "\"0123456789abcdef\"", "1", "1", "1"), RLT_ERANGE, "1 to 15 bytes"},
        {PEAK, "", ENTRY("1", "\"dense\"", "1", "1", "1"), RLT_ESCHEMA, ""},
        {PEAK, "", ENTRY("\"s\"", "\"dense\"", "1", "2", "1"), RLT_ERANGE, "at least low, 2"},
        {PEAK, "", ENTRY("\"s\"", "\"dense\"", "1", "1", "1, \"no\": 1"), RLT_ESCHEMA, "no"},
        {PEAK, "", ENTRY("\"s\"", "\"dense\"", "1", "1", "1, \"precision\": " SIXTEEN), RLT_ERANGE,
         "1 to 15"},
        {PEAK, "", ", \"evidence\": [{\"kind\": \"dense\"}]", RLT_ESCHEMA, "missing 'stack'"},
        {PEAK, "", ", \"evidence\": [{\"stack\": \"s\"}]", RLT_ESCHEMA, "missing 'kind'"},
        {PEAK, "", ", \"evidence\": [{\"stack\": \"s\", \"kind\": \"dense\"}]", RLT_ESCHEMA,
         "missing 'rows'"},
    };
    char many[8192] = ", \"evidence\": [";
    rlt_error err;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int rc = load_small(rows[i].peaks, rows[i].kernels, rows[i].rest, &err);
        if (rc != rows[i].code || (rc && !strstr(err.what, rows[i].what)))
            fail_msg("case %zu: %d, %s: %s", i, rc, err.where, err.what);
    }
    for (int i = 0; i <= RLT_MAX_EVIDENCE; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many),
                 "%s{\"stack\": \"s\", \"kind\": \"dense\", \"rows\": 1, \"low\": 1, \"high\": 1}",
                 i ? "," : "");
    strcat(many, "]");
    assert_int_equal(load_small(PEAK, "", many, &err), RLT_ERANGE);
    assert_non_null(strstr(err.what, "more than 48 entries"));
}

/* ---- the way to a file ---- */

static void put_chip(const char *file, const char *name, const char *also)
{
    rlt_error err;
    char to[200], from[200];
    snprintf(to, sizeof to, "%s%s%s", ", \"also\": \"", also, "\"");
    assert_int_equal(load_small(PEAK, "", *also ? to : "", &err), 0);
    char *at = strstr(x.text, "\"x\"");
    assert_non_null(at);
    at[1] = *name;
    snprintf(from, sizeof from, "chips/%s", file);
    put(from, x.text);
}

static void found(void **state)
{
    static const char *const chips[] = {"chips/one.json", "chips/b.json", "chips/c.json", "chips/bad.json"};
    char dirs[200], path[PATH_MAX], want[220], spec[PATH_MAX + 10];
    rlt_error err = {0};
    (void)state;
    put_chip("b.json", "b", "bee");
    put_chip("c.json", "c", "");
    put("chips/bad.json", "{");
    put("stacks/s.json", "{\"name\": \"s\", \"host\": \"7us\"}");
    put("stacks/t.json", "{\"name\": \"t\", \"host\": \"8us\"}");
    snprintf(dirs, sizeof dirs, "%s/chips", folder);
    snprintf(want, sizeof want, "%s/b.json", dirs);
    for (int i = 0; i < 3; i++) {
        const char *names[] = {"b", "bee", want};
        assert_int_equal(rlt_accelerator_load(names[i], dirs, &a, &err), 0);
        assert_string_equal(a.name, "b");
        assert_int_equal(a.n_stacks, 2);
        assert_string_equal(a.stacks[1].name, "t");
        assert_int_equal(a.stacks[1].host_ps, 8 * RLT_US);
        assert_true(rlt_accelerator_path(names[i], dirs, path, strlen(want) + 1));
        assert_string_equal(path, want);
        assert_false(rlt_accelerator_path(names[i], dirs, path, strlen(want)));
    }
    assert_true(rlt_accelerator_path("c", dirs, path, sizeof path));
    assert_false(rlt_accelerator_path("d", dirs, path, sizeof path));
    assert_false(rlt_accelerator_path("", dirs, path, sizeof path));
    assert_false(rlt_accelerator_path("../chips/b", dirs, path, sizeof path));
    assert_int_equal(rlt_accelerator_load("bad", dirs, &a, &err), RLT_EMALFORMED);
    memset(spec, 'b', sizeof spec);
    spec[sizeof spec - 1] = 0;
    err = (rlt_error){0};
    assert_int_equal(rlt_accelerator_load(spec, dirs, &a, &err), RLT_ENAME);
    /* A stack of the accelerator's own file goes first; each folder's files add those that are new. */
    assert_int_equal(load_small(PEAK, "", ", \"stacks\": [{\"name\": \"s\", \"host\": \"9us\"}]", &err), 0);
    assert_int_equal(rlt_accelerator_load("one", dirs, &a, &err), 0);
    assert_int_equal(a.n_stacks, 2);
    assert_string_equal(a.stacks[0].name, "s");
    assert_int_equal(a.stacks[0].host_ps, 9 * RLT_US);
    put("stacks/t.json", "{\"name\": \"t\", \"host\": 8}");
    assert_int_equal(rlt_accelerator_load("one", dirs, &a, &err), RLT_EMALFORMED);
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, chips[i]);
        unlink(path);
    }
}

static int make_folder(void **state)
{
    (void)state;
    char path[200];
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/chips", folder);
    if (mkdir(path, 0700))
        return -1;
    snprintf(path, sizeof path, "%s/stacks", folder);
    return mkdir(path, 0700);
}

static int remove_folder(void **state)
{
    static const char *const names[] = {"/chips/one.json", "/stacks/s.json", "/stacks/t.json",
                                        "/chips",          "/stacks",        ""};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[200];
        snprintf(path, sizeof path, "%s%s", folder, names[i]);
        remove(path);
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_read), cmocka_unit_test(bounds), cmocka_unit_test(unknown_keys),
        cmocka_unit_test(lists),           cmocka_unit_test(found),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
