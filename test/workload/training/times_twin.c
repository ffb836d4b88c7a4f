/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Times of the layers of random trainings against a second model: which constants apply inside and outside of
 * blocks, what recomputation repeats, what the host adds to a block, and that equal blocks, which are timed
 * once, have the times that each has by itself. The time of a single layer is layer.h's, which
 * test/workload/models/layer_twin.c tests. The time of an optimizer step, by its bytes and products.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/trainings/training.h"
#include "workload/models/accelerator.h"
#include "workload/models/layer.h"
#include "workload/models/model.h"
#include "workload/models/stack.h"
#include "workload/training/internal.h"
#include "workload/training/training.h"

enum { MOST = 40, TRIALS = 600 };

/* A training, and what is expected of each of its layers. */
typedef struct trial {
    fixture f;
    rlt_model_layer layers[MOST];
    double forward[MOST], backward[MOST], weights[MOST], again[MOST];
} trial;

static void add_layer(trial *x, dice *d, uint32_t block)
{
    static const rlt_work_kind kinds[] = {RLT_WORK_MATMUL, RLT_WORK_MATMUL, RLT_WORK_ATTENTION,
                                          RLT_WORK_VECTOR, RLT_WORK_CONVOLUTION};
    rlt_model_layer *l = &x->layers[x->f.model.n_layers++];
    l->work = (uint8_t)kinds[below(d, 5)];
    l->sharded = below(d, 2);
    l->block = block;
    l->parameters = below(d, 3) ? 1 + below(d, 1000) : 0;
    l->forward_flop = below(d, 4) ? 1e6 * (1 + below(d, 50)) : 0;
    l->backward_flop = 2 * l->forward_flop;
    l->moved_elements = below(d, 3) ? 1000 * below(d, 50) : 0;
    l->tp_elements = below(d, 2) ? 10 : 0;
    if (l->work == RLT_WORK_MATMUL && below(d, 3) == 0) {
        l->experts = 8;
        l->expert_parameters = 1 + below(d, 4000);
        l->ep_elements = below(d, 1000);
    }
}

/* Repeats the layers from `from` on in a block of their own. */
static void add_again(trial *x, uint32_t from, uint32_t n, uint32_t block)
{
    for (uint32_t i = 0; i < n; i++) {
        x->layers[x->f.model.n_layers] = x->layers[from + i];
        x->layers[x->f.model.n_layers++].block = block;
    }
}

/* Draws layers in front, blocks of which some are like the one before, and a head. */
static void draw_model(trial *x, dice *d)
{
    uint32_t block = 0, from = 0, n = 0;
    x->f.model = (rlt_model){.layers = x->layers, .tokens = 1 + below(d, 50), .hidden = 1 + below(d, 50)};
    snprintf(x->f.model.sample, sizeof x->f.model.sample, below(d, 2) ? "image" : "sequence");
    for (uint32_t i = below(d, 3); i > 0; i--)
        add_layer(x, d, block);
    block += x->f.model.n_layers > 0;
    for (uint32_t i = 1 + below(d, 6); i > 0; i--, block++) {
        uint32_t begin = x->f.model.n_layers;
        if (n && below(d, 3))
            add_again(x, from, n, block);
        else {
            n = 1 + below(d, 3);
            for (uint32_t k = 0; k < n; k++)
                add_layer(x, d, block);
        }
        x->layers[begin].movable = true;
        from = begin;
    }
    for (uint32_t i = below(d, 3); i > 0; i--)
        add_layer(x, d, block);
}

static void draw_accelerator(rlt_accelerator *a, dice *d)
{
    a->memory_Bps = 1000000000 + roll(d, 1000000000);
    a->launch_ps = (rlt_time)roll(d, 1000000);
    a->n_peaks = 2 + below(d, 2);
    snprintf(a->peaks[0].precision, sizeof a->peaks[0].precision, below(d, 2) ? "bf16" : "fp16");
    a->peaks[0].Flops = 1000000000000u;
    snprintf(a->peaks[1].precision, sizeof a->peaks[1].precision, "fp8");
    a->peaks[1].Flops = 2000000000000u;
    snprintf(a->peaks[2].precision, sizeof a->peaks[2].precision, "fp32");
    a->peaks[2].Flops = 200000000000u;
    a->kernels.rows_half = below(d, 30);
    a->kernels.area_half = below(d, 300);
    a->kernels.backward = 0.8;
    a->kernels.host = 1.5;
    rlt_stack *s = &a->stacks[0];
    *s = (rlt_stack){.name = "one", .most = {1, 1, 1, 1, 1}};
    a->n_stacks = 1;
    s->host_kernel_ps = below(d, 2) ? (rlt_time)roll(d, 20000000) : 0;
    s->host_expert_ps = below(d, 2) ? (rlt_time)roll(d, 20000000) : 0;
    s->host_pass_ps = (rlt_time)roll(d, 1000);
    s->host_handover_ps = (rlt_time)roll(d, 1000);
    s->host_image_ps = (rlt_time)roll(d, 1000);
    s->host_ps = (rlt_time)roll(d, 1000);
}

static void draw_training(trial *x, dice *d)
{
    static const char *const schedules[] = {"1f1b", "gpipe", "zero-bubble"};
    rlt_training *t = &x->f.t;
    test_begin(&x->f);
    draw_accelerator(&x->f.accelerator, d);
    snprintf(t->stack, sizeof t->stack, "one");
    snprintf(t->precision, sizeof t->precision, "%s",
             x->f.accelerator.peaks[below(d, x->f.accelerator.n_peaks)].precision);
    test_set(&x->f, "schedule", schedules[below(d, 3)]);
    t->recompute = (rlt_recompute)below(d, 4);
    t->size[RLT_AXIS_TP] = 1u << below(d, 3);
    t->size[RLT_AXIS_CP] = 1 + below(d, 2);
    t->size[RLT_AXIS_PP] = 1 + below(d, 2);
    t->size[RLT_AXIS_DP] = 1u << below(d, 3);
    t->microbatch = 1 + below(d, 4);
    t->batch = t->size[RLT_AXIS_DP] * t->microbatch * (2 + below(d, 3));
    t->sequence_parallel = below(d, 2);
    t->main_gradient_bytes = below(d, 2) ? 4 : 0;
    t->half_sizes = below(d, 2) ? 1 : 2.5;
    t->slowdown = below(d, 2) ? 1 : 1.5;
    bool experts = false;
    for (uint32_t i = 0; i < x->f.model.n_layers; i++)
        experts |= x->layers[i].experts > 0;
    t->ep = experts ? 1u << below(d, 3) : 1;
    t->expert_overlap = experts && below(d, 2);
}

/* The share of a layer's forward pass that the backward pass computes again. */
static double repeated(const rlt_training *t, const rlt_model_layer *l, bool inside)
{
    bool attends = l->work == RLT_WORK_ATTENTION;
    if (t->recompute == RLT_RECOMPUTE_FULL)
        return inside ? 1 : 0;
    if (t->recompute == RLT_RECOMPUTE_SELECTIVE)
        return attends ? 1 : 0;
    if (t->recompute == RLT_RECOMPUTE_PRODUCTS && inside && !attends)
        return l->work == RLT_WORK_MATMUL ? 0.5 : 1;
    return 0;
}

static rlt_roofline constants(const rlt_training *t, const char *precision)
{
    rlt_roofline f;
    rlt_error err = {0};
    if (rlt_accelerator_roofline(t->accelerator, t->stack, precision, &f, &err))
        fail_msg("%s: %s", err.where, err.what);
    f.rows_half *= t->half_sizes;
    f.area_half *= t->half_sizes;
    return f;
}

/* Sets the times of layers without the host. Layers outside blocks run in 16 bits if products do in 8. */
static void expect_layers(trial *x)
{
    const rlt_training *t = &x->f.t;
    const rlt_model *m = &x->f.model;
    bool narrow = strcmp(t->precision, "fp8") == 0;
    rlt_roofline in = constants(t, t->precision),
                 out = constants(t, narrow ? t->accelerator->peaks[0].precision : t->precision);
    bool apart = t->schedule == RLT_SCHEDULE_ZERO_BUBBLE, inside = false;
    for (uint32_t i = 0; i < m->n_layers; i++) {
        const rlt_model_layer *l = &x->layers[i];
        if (i == 0 || l->block != x->layers[i - 1].block)
            inside = l->movable;
        rlt_layer_share share = {.samples = (double)t->microbatch / t->size[RLT_AXIS_CP],
                                 .tp = t->size[RLT_AXIS_TP],
                                 .ep = t->ep,
                                 .etp = rlt_training_etp(t),
                                 .sequence_parallel = t->sequence_parallel,
                                 .element_bytes = t->element_bytes,
                                 .gradient_bytes = t->main_gradient_bytes ? 4 : t->element_bytes,
                                 .load = t->load.experts,
                                 .packed = t->dispatch.moved,
                                 .slowdown = t->slowdown};
        if (inside && t->expert_overlap)
            share.busy = 1 / (1 - t->dispatch.multiprocessors);
        const rlt_roofline *f = inside ? &in : &out;
        double inputs = rlt_layer_time(m, i, f, &share, RLT_LAYER_INPUTS),
               weights = rlt_layer_time(m, i, f, &share, RLT_LAYER_WEIGHTS);
        x->forward[i] = (double)rlt_time_of(rlt_layer_time(m, i, f, &share, RLT_LAYER_FORWARD));
        x->backward[i] = (double)rlt_time_of(apart ? inputs : inputs + weights);
        x->weights[i] = apart ? (double)rlt_time_of(weights) : 0;
        x->again[i] = floor(x->forward[i] * repeated(t, l, inside));
    }
}

/* A block whose kernels take d, and whose host takes h to launch them, takes (d^4 + h^4)^(1/4). */
static void stretch(double *times, uint32_t first, uint32_t end, double host)
{
    double device = 0;
    for (uint32_t i = first; i < end; i++)
        device += times[i];
    for (uint32_t i = first; i < end && device > 0 && host > 0; i++)
        times[i] = round(times[i] * pow(pow(device, 4) + pow(host, 4), 0.25) / device);
}

/* The host launches each kernel, collectives of tensor parallelism as two, and twice as many backward. A layer
 * of experts takes a third of its time in the forward pass. */
static void expect_host(trial *x)
{
    const rlt_training *t = &x->f.t;
    rlt_roofline f = constants(t, t->precision);
    for (uint32_t first = 0, end; first < x->f.model.n_layers; first = end) {
        double host = 0;
        for (end = first; end < x->f.model.n_layers && x->layers[end].block == x->layers[first].block;
             end++) {
            const rlt_model_layer *l = &x->layers[end];
            double kernels = (l->forward_flop > 0) + 2 * (l->moved_elements > 0) +
                             (l->tp_elements && t->size[RLT_AXIS_TP] > 1 ? 2 : 0);
            host += kernels * f.host_kernel_ps + (l->experts > 0 ? f.host_expert_ps / 3 : 0);
        }
        stretch(x->forward, first, end, host);
        stretch(x->backward, first, end, 2 * host);
        stretch(x->again, first, end, host);
    }
}

/* Compares to a picosecond: pow and two roots round differently. */
static void same(const char *what, uint32_t k, uint32_t i, rlt_time got, double expected)
{
    if (fabs((double)got - expected) > 1.5)
        fail_msg("trial %u, layer %u: %s %lld, expected %.0f", k, i, what, (long long)got, expected);
}

static void compare(const trial *x, uint32_t k)
{
    const rlt_training *t = &x->f.t;
    const rlt_stack *s = &t->accelerator->stacks[0];
    rlt__times got = {0};
    rlt_error err = {0};
    rlt_time forward[MOST], backward[MOST];
    assert_int_equal(rlt__training_times(t, &got, &err), 0);
    assert_int_equal(rlt_training_layer_times(t, forward, backward, &err), 0);
    for (uint32_t i = 0; i < x->f.model.n_layers; i++) {
        same("forward", k, i, got.forward[i], x->forward[i]);
        same("backward", k, i, got.backward[i], x->backward[i]);
        same("weights", k, i, got.weights[i], x->weights[i]);
        same("again", k, i, got.again[i], x->again[i]);
        assert_int_equal(forward[i], got.forward[i]);
        assert_int_equal(backward[i], got.backward[i] + got.weights[i]);
    }
    double factor = t->accelerator->kernels.host,
           images = strcmp(x->f.model.sample, "image") == 0 ? (double)(t->batch / t->size[RLT_AXIS_DP]) : 0,
           handover = t->size[RLT_AXIS_PP] > 1 ? (double)s->host_handover_ps : 0;
    assert_int_equal(got.host_ps,
                     (rlt_time)(factor * ((double)s->host_ps + images * (double)s->host_image_ps) + 0.5));
    assert_int_equal(got.pass_ps, (rlt_time)(factor * ((double)s->host_pass_ps + handover) + 0.5));
    rlt__training_times_free(&got);
}

static void as_counted(void **state)
{
    dice d = {.seed = 1};
    uint32_t planned = 0;
    (void)state;
    for (uint32_t k = 0; k < TRIALS; k++) {
        static trial x;
        memset(&x, 0, sizeof x);
        draw_model(&x, &d);
        draw_training(&x, &d);
        if (rlt_training_plan(&x.f.t, 0, &x.f.err))
            continue; /* more stages than blocks, or experts that ranks cannot share */
        x.f.t.dispatch.multiprocessors = 0.25; /* as plans find them for dispatchers, and for routing */
        x.f.t.dispatch.moved = 1.5;
        x.f.t.load.experts = 1.25;
        expect_layers(&x);
        expect_host(&x);
        compare(&x, k);
        planned++;
    }
    assert_true(planned > TRIALS / 2);
}

/* A step reads and writes the state, reads gradients and writes weights: at 1 GB/s, 1 ns per byte. Products run
 * in bf16 at 1 TFLOPS, 1 ps each, or at the training's precision where there is no bf16. */
static void steps(void **state)
{
    static const struct {
        const char *peak;
        uint32_t state, gradient, element;
        double sparsity, parameters, flop, ps;
    } rows[] = {
        {"bf16", 12, 2, 2, 0, 1000, 0, 28e6},     {"bf16", 8, 4, 2, 0, 500, 0, 11e6},
        {"bf16", 12, 2, 4, 0.5, 1000, 0, 15e6},   {"bf16", 12, 2, 2, 0, 0, 5e6, 5e6},
        {"bf16", 12, 2, 2, 0, 1000, 7e6, 35e6},   {"fp16", 12, 2, 2, 0, 1000, 7e6, 35e6},
        {"bf16", 12, 2, 2, 0, 1000, 1, 28e6 + 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture f = {.err = {0}};
        test_blocks(&f.model, 1);
        test_begin(&f);
        f.accelerator.memory_Bps = 1000000000;
        snprintf(f.accelerator.peaks[0].precision, sizeof f.accelerator.peaks[0].precision, "%s",
                 rows[i].peak);
        snprintf(f.t.precision, sizeof f.t.precision, "%s", rows[i].peak);
        f.t.state_bytes = rows[i].state;
        f.t.gradient_bytes = rows[i].gradient;
        f.t.element_bytes = rows[i].element;
        f.t.sparsity = rows[i].sparsity;
        assert_int_equal(rlt__training_step(&f.t, rows[i].parameters, rows[i].flop), (rlt_time)rows[i].ps);
        rlt_model_free(&f.model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_counted), cmocka_unit_test(steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
