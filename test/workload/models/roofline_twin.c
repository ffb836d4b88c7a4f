/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A second model of rooflines and of the evidence behind them: the products of an accelerator's and a stack's
 * constants, the time of a kernel by the header's formula, and the grounds of a prediction. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "test/support/trainings/kernel.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/models/precision.h"
#include "workload/models/stack.h"

static const char *const precisions[] = {"bf16", "fp16", "fp32", "tf32", "fp8", "mxfp4", "tf32x", "fp32x"};
enum { PRECISIONS = sizeof precisions / sizeof *precisions };
static const char *const stacks[] = {"s", "t", "any", "u"};
enum { STACKS = sizeof stacks / sizeof *stacks };

static double thousandths(dice *d)
{
    return (1 + below(d, 1000)) / 1000.0;
}

static void draw_factors(dice *d, rlt_precision_factors *f)
{
    for (uint32_t i = 0; i < PRECISIONS; i++)
        if (below(d, 2)) {
            snprintf(f->at[f->n].precision, sizeof f->at[0].precision, "%s", precisions[i]);
            f->at[f->n++].factor = 2 * thousandths(d);
        }
}

static void draw_stack(dice *d, rlt_stack *s, const char *name)
{
    snprintf(s->name, sizeof s->name, "%s", name);
    for (int k = 0; k < RLT_WORK_KINDS; k++)
        s->most[k] = 2 * thousandths(d);
    draw_factors(d, &s->precisions);
    rlt_time *times[] = {&s->host_kernel_ps,   &s->host_expert_ps, &s->host_pass_ps,
                         &s->host_handover_ps, &s->host_image_ps,  &s->host_ps};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        *times[i] = below(d, 100000);
    s->score_passes = below(d, 5);
    for (int k = 0; k < RLT_KIND_OTHER; k++)
        if (below(d, 2))
            s->spread[k] = (rlt_spread){thousandths(d), 1 + thousandths(d)};
}

static void draw_evidence(dice *d, rlt_accelerator *a)
{
    for (uint32_t n = below(d, 9); a->n_evidence < n; a->n_evidence++) {
        rlt_evidence *e = &a->evidence[a->n_evidence];
        snprintf(e->stack, sizeof e->stack, "%s", stacks[below(d, STACKS)]);
        snprintf(e->precision, sizeof e->precision, "%s", below(d, 2) ? precisions[below(d, 3)] : "");
        e->kind = below(d, 2) ? RLT_KIND_DENSE : RLT_KIND_EXPERTS;
        e->rows = below(d, 3);
        /* Few spreads, so that some are equally wide. */
        e->spread = (rlt_spread){1.0 / (1 + below(d, 3)), 1 + below(d, 3)};
    }
}

/* Places beyond the end of a list hold what would be taken before all others. */
static void fill_beyond(rlt_accelerator *a)
{
    for (uint32_t i = a->n_evidence; i < RLT_MAX_EVIDENCE; i++)
        a->evidence[i] =
            (rlt_evidence){.stack = "s", .kind = i % 2 ? RLT_KIND_DENSE : RLT_KIND_EXPERTS, .spread = {1, 1}};
    for (uint32_t i = a->n_peaks; i < RLT_MAX_PEAKS; i++) {
        snprintf(a->peaks[i].precision, sizeof a->peaks[i].precision, "bf16");
        a->peaks[i].Flops = 1;
    }
    for (uint32_t i = a->n_stacks; i < RLT_MAX_STACKS; i++)
        snprintf(a->stacks[i].name, sizeof a->stacks[i].name, "%s", i % 2 ? "any" : "none");
}

static void draw(dice *d, rlt_accelerator *a)
{
    *a = (rlt_accelerator){.name = "chip", .memory_Bps = 1 + below(d, 1000000), .launch_ps = below(d, 1000)};
    for (uint32_t i = 0, at = below(d, PRECISIONS); i < PRECISIONS; i++, at = (at + 1) % PRECISIONS)
        if (below(d, 3) || i == 0) {
            snprintf(a->peaks[a->n_peaks].precision, sizeof a->peaks[0].precision, "%s", precisions[at]);
            a->peaks[a->n_peaks++].Flops = 1 + below(d, 1000);
        }
    for (int k = 0; k < RLT_WORK_KINDS; k++)
        a->kernels.most[k] = thousandths(d);
    a->kernels.rows_half = below(d, 3) ? below(d, 1000) : 0;
    a->kernels.outputs_half = below(d, 3) ? below(d, 1000) : 0;
    a->kernels.inputs_half = below(d, 3) ? below(d, 1000) : 0;
    a->kernels.area_half = below(d, 3) ? below(d, 1000000) : 0;
    a->kernels.memory = thousandths(d);
    a->kernels.backward = below(d, 3) ? thousandths(d) : 0;
    a->kernels.host = 2 * thousandths(d);
    draw_factors(d, &a->kernels.precisions);
    for (uint32_t i = 0; i < STACKS; i++)
        if (below(d, 3))
            draw_stack(d, &a->stacks[a->n_stacks++], stacks[i]);
    draw_evidence(d, a);
    fill_beyond(a);
}

/* ---- the second model ---- */

static const rlt_stack *stack_of(const rlt_accelerator *a, const char *name)
{
    for (uint32_t i = 0; name && i < a->n_stacks; i++)
        if (strcmp(a->stacks[i].name, name) == 0)
            return &a->stacks[i];
    return NULL;
}

/* 0: none. */
static uint64_t peak_of(const rlt_accelerator *a, const char *precision)
{
    for (uint32_t i = 0; i < a->n_peaks; i++)
        if (strcmp(a->peaks[i].precision, precision) == 0)
            return a->peaks[i].Flops;
    return 0;
}

/* Attention runs at 16 bits, or at a wider precision as the products do; never faster than these. */
static uint64_t attention_of(const rlt_accelerator *a, const char *precision)
{
    uint64_t own = peak_of(a, precision), bf16 = peak_of(a, "bf16"), fp16 = peak_of(a, "fp16");
    uint64_t wide = bf16 ? bf16 : fp16 ? fp16 : own;
    bool is_wider = strstr(precision, "fp32") == precision || strstr(precision, "tf32") == precision;
    return is_wider || wide > own ? own : wide;
}

static double factor_of(const rlt_precision_factors *f, const char *precision)
{
    double factor = 1;
    for (uint32_t i = 0; i < f->n; i++)
        if (strcmp(f->at[i].precision, precision) == 0)
            factor = f->at[i].factor;
    return factor;
}

static bool near(double x, double y)
{
    return fabs(x - y) <= 1e-9 * fmax(fabs(x), fabs(y));
}

static bool same(const rlt_roofline *x, const rlt_roofline *y)
{
    for (int k = 0; k < RLT_WORK_KINDS; k++)
        if (!near(x->most[k], y->most[k]))
            return false;
    return strcmp(x->stack, y->stack) == 0 && x->peak_Flops == y->peak_Flops &&
           x->peak_16_Flops == y->peak_16_Flops && x->memory_Bps == y->memory_Bps &&
           x->launch_ps == y->launch_ps && near(x->rows_half, y->rows_half) &&
           near(x->outputs_half, y->outputs_half) && near(x->inputs_half, y->inputs_half) &&
           near(x->area_half, y->area_half) && near(x->memory, y->memory) && near(x->backward, y->backward) &&
           near(x->host_kernel_ps, y->host_kernel_ps) && near(x->host_expert_ps, y->host_expert_ps) &&
           near(x->host_pass_ps, y->host_pass_ps) && near(x->host_handover_ps, y->host_handover_ps) &&
           near(x->host_image_ps, y->host_image_ps) && near(x->host_ps, y->host_ps) &&
           near(x->score_passes, y->score_passes);
}

static rlt_roofline roofline(const rlt_accelerator *a, const char *stack, const char *precision)
{
    static const rlt_stack plain = {.name = "any", .most = {1, 1, 1, 1, 1}};
    const rlt_kernels *k = &a->kernels;
    const rlt_stack *s = stack_of(a, stack);
    s = s ? s : stack_of(a, "any");
    s = s ? s : &plain;
    rlt_roofline r = {.stack = s->name,
                      .peak_Flops = peak_of(a, precision),
                      .peak_16_Flops = attention_of(a, precision),
                      .memory_Bps = a->memory_Bps,
                      .launch_ps = a->launch_ps,
                      .rows_half = k->rows_half,
                      .outputs_half = k->outputs_half,
                      .inputs_half = k->inputs_half,
                      .area_half = k->area_half,
                      .memory = k->memory,
                      .backward = k->backward == 0 ? 1 : k->backward,
                      .host_kernel_ps = k->host * (double)s->host_kernel_ps,
                      .host_expert_ps = k->host * (double)s->host_expert_ps,
                      .host_pass_ps = k->host * (double)s->host_pass_ps,
                      .host_handover_ps = k->host * (double)s->host_handover_ps,
                      .host_image_ps = k->host * (double)s->host_image_ps,
                      .host_ps = k->host * (double)s->host_ps,
                      .score_passes = s->score_passes};
    for (int i = 0; i < RLT_WORK_KINDS; i++)
        r.most[i] = fmin(1, k->most[i] * s->most[i]);
    r.most[RLT_WORK_MATMUL] =
        fmin(1, k->most[RLT_WORK_MATMUL] * s->most[RLT_WORK_MATMUL] * factor_of(&k->precisions, precision) *
                    factor_of(&s->precisions, precision));
    return r;
}

static double size(dice *d)
{
    static const double some[] = {0, 1, 127, 128, 129, 4095, 4096, 4097, 8192};
    return below(d, 2) ? some[below(d, sizeof some / sizeof *some)] : below(d, 20000);
}

static void check_times(dice *d, const rlt_roofline *r)
{
    for (int i = 0; i < 20; i++) {
        rlt_work w = {.kind = (rlt_work_kind)below(d, RLT_WORK_KINDS),
                      .flop = below(d, 4) ? below(d, 100000) : 0,
                      .bytes = below(d, 4) ? below(d, 100000000) : 0,
                      .m = size(d),
                      .n = size(d),
                      .k = size(d)};
        double ps = 1e12 * kernel_seconds(r, &w) + (double)r->launch_ps;
        double got = (double)rlt_roofline_time(r, &w);
        double want = ps < (double)RLT_TIME_MAX ? ps : (double)RLT_TIME_MAX;
        if (fabs(got - want) > 0.5 + 1e-9 * want)
            fail_msg("kind %d, %g x %g x %g, %g FLOP, %g B: %.17g ps, expected %.17g", w.kind, w.m, w.n, w.k,
                     w.flop, w.bytes, got, want);
    }
}

static rlt_accelerator a;

static void rooflines(void **state)
{
    static const char *const asked[] = {"s", "t", "any", "u", "none", NULL};
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        dice d = {.seed = seed};
        draw(&d, &a);
        for (int i = 0; i < 8; i++) {
            const char *stack = asked[below(&d, 6)], *precision = precisions[below(&d, PRECISIONS)];
            rlt_error err = {0};
            rlt_roofline got, want = roofline(&a, stack, precision);
            uint64_t peak = 0;
            int rc = rlt_accelerator_roofline(&a, stack, precision, &got, &err);
            assert_int_equal(rc, peak_of(&a, precision) ? 0 : RLT_EUNSUPPORTED);
            assert_int_equal(rlt_accelerator_peak(&a, precision, &peak, &err), rc);
            assert_int_equal(peak, peak_of(&a, precision));
            assert_ptr_equal(rlt_accelerator_stack(&a, stack ? stack : "none"), stack_of(&a, stack));
            if (rc)
                continue;
            if (!same(&got, &want))
                fail_msg("seed %llu, %s with %s", (unsigned long long)seed, precision,
                         stack ? stack : "none");
            check_times(&d, &got);
        }
    }
}

/* The nearest picosecond; the largest time is the end. */
static void ends(void **state)
{
    rlt_roofline r = {.peak_Flops = 1000000000000, .memory_Bps = 1, .memory = 1, .most = {1}, .launch_ps = 3};
    static const struct {
        double flop;
        rlt_time ps;
    } rows[] = {{0, 3},
                {0.49, 3},
                {0.51, 4},
                {1, 4},
                {1.49, 4},
                {1.51, 5},
                {1e6, 1000003},
                {1e15, 1000000000000003},
                {1e18, 1000000000000000003},
                {1e19, RLT_TIME_MAX}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(rlt_roofline_time(&r, &(rlt_work){.flop = rows[i].flop}), rows[i].ps);
    r.most[RLT_WORK_MATMUL] = 0;
    assert_int_equal(rlt_roofline_time(&r, &(rlt_work){.flop = 0}), 3);
}

/* ---- evidence ---- */

/* Where nothing of a stack was measured: its own spread on any accelerator, else that of the stack "any". */
static rlt_spread elsewhere(const char *stack, rlt_model_kind kind)
{
    const rlt_stack *own = stack_of(&a, stack), *any = stack_of(&a, "any");
    kind = kind == RLT_KIND_OTHER ? RLT_KIND_DENSE : kind;
    return own && own->spread[kind].low > 0 ? own->spread[kind] : any ? any->spread[kind] : (rlt_spread){0};
}

static const rlt_evidence *entry(const char *stack, const char *precision, rlt_model_kind kind)
{
    for (uint32_t i = 0; i < a.n_evidence; i++) {
        const rlt_evidence *e = &a.evidence[i];
        if (e->kind == kind && (!stack || strcmp(e->stack, stack) == 0) &&
            (!precision || strcmp(e->precision, precision) == 0))
            return e;
    }
    return NULL;
}

static rlt_grounds grounds(const char *stack, const char *precision, rlt_model_kind kind)
{
    const rlt_evidence *own = entry(stack, precision, kind), *other = entry(stack, "", kind);
    if (own)
        return (rlt_grounds){own->rows ? RLT_BASIS_FITTED : RLT_BASIS_DERIVED, own->rows, own->spread};
    if (other)
        return (rlt_grounds){RLT_BASIS_DERIVED, 0, other->spread};
    return (rlt_grounds){entry(NULL, NULL, kind) ? RLT_BASIS_DERIVED : RLT_BASIS_ASSUMED, 0,
                         elsewhere(stack, kind)};
}

static double rank_of(rlt_grounds g)
{
    return 1e9 * (int)g.basis + g.spread.high / g.spread.low;
}

/* Stacks with an entry for the precision, or for any; the first of those that are as good. */
static const char *best(const char *precision, rlt_model_kind kind)
{
    const char *found = "any";
    double least = INFINITY;
    for (uint32_t i = 0; i < a.n_evidence; i++) {
        const rlt_evidence *e = &a.evidence[i];
        if (e->kind != kind || !stack_of(&a, e->stack))
            continue;
        if (!entry(e->stack, precision, kind) && !entry(e->stack, "", kind))
            continue;
        double rank = rank_of(grounds(e->stack, precision, kind));
        /* An entry of another precision says nothing about the order. */
        bool counts = !*e->precision || strcmp(e->precision, precision) == 0;
        if (counts && rank < least) {
            least = rank;
            found = e->stack;
        }
    }
    return found;
}

static void evidence(void **state)
{
    static const char *const asked[] = {"s", "t", "any", "u", "none"};
    (void)state;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        dice d = {.seed = seed, .k = 1000000};
        draw(&d, &a);
        for (int i = 0; i < 10; i++) {
            const char *stack = asked[below(&d, 5)], *precision = precisions[below(&d, 4)];
            rlt_model_kind kind = (rlt_model_kind)below(&d, RLT_KINDS);
            rlt_grounds got = rlt_accelerator_grounds(&a, stack, precision, kind);
            rlt_grounds want = grounds(stack, precision, kind);
            if (got.basis != want.basis || got.rows != want.rows || got.spread.low != want.spread.low ||
                got.spread.high != want.spread.high)
                fail_msg("seed %llu: %s in %s", (unsigned long long)seed, stack, precision);
            assert_string_equal(rlt_accelerator_best_stack(&a, precision, kind), best(precision, kind));
        }
    }
}

static void words(void **state)
{
    char text[200];
    rlt_accelerator chip = {.name = "chip"};
    (void)state;
    assert_string_equal(rlt_grounds_text((rlt_grounds){.basis = RLT_BASIS_FITTED, .rows = 1}, &chip, "s",
                                         "bf16", text, sizeof text),
                        "fitted: 1 measured run on chip with s in bf16");
    assert_string_equal(rlt_grounds_text((rlt_grounds){.basis = RLT_BASIS_FITTED, .rows = 2}, &chip, "s",
                                         "bf16", text, sizeof text),
                        "fitted: 2 measured runs on chip with s in bf16");
    assert_string_equal(
        rlt_grounds_text((rlt_grounds){.basis = RLT_BASIS_DERIVED}, &chip, "s", "bf16", text, sizeof text),
        "derived: measured runs on chip, none of them on chip with s in bf16");
    snprintf(chip.generation, sizeof chip.generation, "age");
    assert_string_equal(
        rlt_grounds_text((rlt_grounds){.basis = RLT_BASIS_DERIVED}, &chip, "s", "bf16", text, sizeof text),
        "derived: measured runs on age, none of them on chip with s in bf16");
    assert_string_equal(
        rlt_grounds_text((rlt_grounds){.basis = RLT_BASIS_ASSUMED}, &chip, "s", "bf16", text, sizeof text),
        "assumed: no measured run of such a model on chip or its generation");
}

/* Convolutions and states were never measured; experts are layers that have some, unless they are lookups. */
static void kinds(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        dice d = {.seed = seed, .k = 2000000};
        rlt_model_layer layers[4] = {{.work = RLT_WORK_MATMUL}};
        rlt_model m = {.layers = layers, .n_layers = below(&d, 5), .recurrent = !below(&d, 6)};
        bool convolution = false, experts = false, attention = false;
        for (uint32_t i = 0; i < m.n_layers; i++) {
            layers[i].work = (uint8_t)below(&d, RLT_WORK_KINDS);
            layers[i].experts = below(&d, 3) ? 0 : 8;
            convolution |= layers[i].work == RLT_WORK_CONVOLUTION;
            experts |= layers[i].experts && layers[i].work != RLT_WORK_LOOKUP;
            attention |= layers[i].work == RLT_WORK_ATTENTION;
        }
        rlt_model_kind want = convolution || m.recurrent ? RLT_KIND_OTHER
                              : experts                  ? RLT_KIND_EXPERTS
                              : attention                ? RLT_KIND_DENSE
                                                         : RLT_KIND_OTHER;
        assert_int_equal(rlt_model_kind_of(&m), want);
    }
}

/* Sizes of the formats, with their shares of scales: OCP Microscaling 1.0 has 8 bits for 32 elements. */
static void formats(void **state)
{
    static const struct {
        const char *name;
        double bytes;
    } rows[] = {{"element", 3},       {"fp32", 4},          {"bf16", 2},
                {"fp16", 2},          {"fp8", 1},           {"mxfp8", 33.0 / 32},
                {"mxfp6", 25.0 / 32}, {"mxfp4", 17.0 / 32}, {"nvfp4", 9.0 / 16}};
    uint32_t n = sizeof rows / sizeof *rows;
    (void)state;
    for (uint32_t i = 0; i < n; i++) {
        assert_string_equal(rlt_precision_word(i), rows[i].name);
        assert_true(rlt_precision_bytes(i, 3) == rows[i].bytes);
    }
    assert_null(rlt_precision_word(n));
    assert_null(rlt_precision_at(n));
}

/* A product of more rows, outputs or inputs takes at least as long. */
static void larger_takes_longer(void **state)
{
    dice d = {.seed = 77};
    uint32_t filled = 0;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        rlt_roofline r = {.peak_Flops = 1000000000000,
                          .peak_16_Flops = 1000000000000,
                          .memory_Bps = 1000000000000,
                          .memory = 1,
                          .most = {.8, .8, .8, .8, .8},
                          .rows_half = below(&d, 500),
                          .outputs_half = below(&d, 500),
                          .inputs_half = below(&d, 500),
                          .area_half = below(&d, 2000000)};
        rlt_work w = {.kind = RLT_WORK_MATMUL, .m = 1 + size(&d), .n = 1 + size(&d), .k = 1 + size(&d)},
                 x = w;
        x.m += below(&d, 2) * below(&d, 1000);
        x.n += below(&d, 2) * below(&d, 1000);
        x.k += below(&d, 2) * below(&d, 9000);
        w.flop = 2 * w.m * w.n * w.k;
        x.flop = 2 * x.m * x.n * x.k;
        rlt_time small = rlt_roofline_time(&r, &w), large = rlt_roofline_time(&r, &x);
        if (small > large + 1)
            fail_msg("%g x %g x %g takes %lld ps, %g x %g x %g %lld ps", w.m, w.n, w.k, (long long)small, x.m,
                     x.n, x.k, (long long)large);
        filled += x.flop > w.flop && small >= large - 1;
    }
    assert_true(filled > 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(larger_takes_longer),
        cmocka_unit_test(rooflines),
        cmocka_unit_test(ends),
        cmocka_unit_test(evidence),
        cmocka_unit_test(words),
        cmocka_unit_test(kinds),
        cmocka_unit_test(formats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
