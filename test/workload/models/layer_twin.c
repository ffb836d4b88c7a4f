/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Times of random layers against a second model, written from layer.h, model.h and accelerator.h. It first
 * lists the matrices that one rank multiplies, each with its rows, and then sums up kernels.
 */
#include "test/support/trainings/kernel.h"
#include "workload/models/layer.h"

#include <math.h>

#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"

enum { TRIALS = 6000, MOST = 4 };

static double kernel_ps(const rlt_roofline *f, const rlt_work *w)
{
    return floor(kernel_seconds(f, w) * 1e12 + 0.5) + (double)f->launch_ps;
}

/* The share of the tokens of a microbatch that a rank multiplies by a matrix outside the experts. */
static double part_of_tokens(const rlt_model_layer *l, const rlt_model_product *p, const rlt_layer_share *s)
{
    if (!l->sharded || p->split != RLT_SPLIT_NONE)
        return 1;
    if (s->sequence_parallel)
        return 1.0 / s->tp;
    return l->experts && s->etp ? (double)s->etp / s->tp : 1;
}

/* The products of one matrix shape on a rank: all matrices of experts that it holds are one kernel. */
static double product_ps(const rlt_model_layer *l, const rlt_model_product *p, const rlt_roofline *f,
                         const rlt_layer_share *s, rlt_layer_pass pass)
{
    double tp = l->sharded ? s->tp : 1, etp = l->sharded && s->etp ? s->etp : tp, matrices = 1, rows;
    if (p->expert) {
        matrices = fmax(1, (double)l->experts / s->ep);
        rows = p->rows * s->samples / matrices * etp / tp * (s->load > 0 ? s->load : 1);
        tp = etp;
    } else
        rows = p->rows * s->samples * part_of_tokens(l, p, s);
    double in = p->split == RLT_SPLIT_IN ? (double)p->in / tp : (double)p->in,
           out = p->split == RLT_SPLIT_OUT ? (double)p->out / tp : (double)p->out;
    double weight = pass == RLT_LAYER_WEIGHTS ? 2.0 * s->gradient_bytes : s->element_bytes;
    double read = l->work == RLT_WORK_CONVOLUTION ? 2 * out : in + out;
    rlt_work x = {.kind = (rlt_work_kind)l->work,
                  .flop = 2 * matrices * rows * in * out * s->slowdown,
                  .bytes = matrices * (rows * read * s->element_bytes + in * out * weight)};
    if (pass != RLT_LAYER_FORWARD)
        x.flop /= f->backward;
    x.m = pass == RLT_LAYER_WEIGHTS ? in : rows;
    x.n = pass == RLT_LAYER_INPUTS ? in : out;
    x.k = pass == RLT_LAYER_FORWARD ? in : pass == RLT_LAYER_INPUTS ? out : rows;
    return kernel_ps(f, &x);
}

/* Scores that the stack computes apart: two products forward, four backward. */
static double scores_ps(const rlt_model_layer *l, const rlt_roofline *f, const rlt_layer_share *s,
                        rlt_layer_pass pass)
{
    double scores = l->scores * s->samples / (l->sharded ? s->tp : 1);
    if (pass == RLT_LAYER_WEIGHTS)
        return 0;
    rlt_work into = {.kind = RLT_WORK_MATMUL, .flop = 2 * scores * l->head}, out = into;
    into.m = out.m = scores / l->keys;
    into.n = out.k = l->keys;
    into.k = l->head;
    out.n = l->value_head;
    out.flop = 2 * scores * l->value_head;
    if (pass == RLT_LAYER_FORWARD)
        return kernel_ps(f, &into) + kernel_ps(f, &out);
    into.flop /= f->backward;
    out.flop /= f->backward;
    return kernel_ps(f, &into) + 3 * kernel_ps(f, &out);
}

/* A layer without products: one product of the model's width, or none. */
static double width_ps(const rlt_model *m, const rlt_model_layer *l, const rlt_roofline *f,
                       const rlt_layer_share *s, rlt_layer_pass pass)
{
    double tp = l->sharded ? s->tp : 1, etp = l->sharded && s->etp ? s->etp : tp;
    double dense = (double)l->parameters + (double)l->tied_parameters, own = (double)l->expert_parameters;
    double forward = l->executed_forward > 0 ? l->executed_forward : l->forward_flop,
           backward = l->executed_backward > 0 ? l->executed_backward : l->backward_flop;
    bool learns = dense + own > 0;
    double flop = pass == RLT_LAYER_FORWARD   ? forward
                  : learns                    ? backward / 2 / f->backward
                  : pass == RLT_LAYER_WEIGHTS ? 0
                                              : backward / f->backward;
    double weight = pass == RLT_LAYER_WEIGHTS ? 2.0 * s->gradient_bytes : s->element_bytes;
    rlt_work x = {.kind = (rlt_work_kind)l->work,
                  .flop = flop * s->samples / tp,
                  .bytes = (dense / tp + own / s->ep / etp) * weight,
                  .m = m->hidden ? s->samples * m->tokens : 0,
                  .n = m->hidden,
                  .k = m->hidden};
    if (l->work == RLT_WORK_MATMUL || l->work == RLT_WORK_CONVOLUTION)
        x.flop *= s->slowdown;
    return x.flop > 0 ? kernel_ps(f, &x) : 0;
}

/* Element-wise kernels: 1.6 times as many elements in the backward pass. */
static double moved_ps(const rlt_model_layer *l, const rlt_roofline *f, const rlt_layer_share *s,
                       rlt_layer_pass pass)
{
    bool spreads = l->experts && l->work == RLT_WORK_MATMUL;
    double elements = l->moved_elements;
    if (f->score_passes > 0 && l->scores > 0)
        elements += f->score_passes * l->scores - l->moved_scores;
    if (spreads)
        elements = (elements + s->packed * (double)l->ep_elements) * (s->load > 0 ? s->load : 1);
    if (l->sharded || s->sequence_parallel)
        elements /= s->tp;
    rlt_work x = {.kind = RLT_WORK_VECTOR, .bytes = elements * s->samples * s->element_bytes};
    x.bytes *= pass == RLT_LAYER_INPUTS ? 1.6 : 1;
    return x.bytes > 0 && pass != RLT_LAYER_WEIGHTS ? kernel_ps(f, &x) : 0;
}

static double adapters_ps(const rlt_model *m, const rlt_model_layer *l, const rlt_roofline *f,
                          const rlt_layer_share *s, rlt_layer_pass pass)
{
    double flop = s->adapter_rank * l->sides_flop * s->samples;
    rlt_work x = {.kind = RLT_WORK_MATMUL,
                  .flop = flop,
                  .m = s->samples * m->tokens,
                  .n = s->adapter_rank,
                  .k = m->hidden};
    x.flop *= pass == RLT_LAYER_FORWARD ? 1 : 2;
    return flop > 0 ? kernel_ps(f, &x) : 0;
}

static double layer_ps(const rlt_model *m, const rlt_roofline *f, const rlt_layer_share *s,
                       rlt_layer_pass pass)
{
    const rlt_model_layer *l = m->layers;
    double ps = 0;
    if (pass == RLT_LAYER_WEIGHTS && s->adapter_rank)
        return 0;
    for (uint32_t i = 0; i < l->n_products; i++)
        ps += product_ps(l, &m->products[l->first_product + i], f, s, pass);
    if (!l->n_products)
        ps += f->score_passes > 0 && l->scores > 0 ? scores_ps(l, f, s, pass) : width_ps(m, l, f, s, pass);
    if (s->adapter_rank)
        ps += adapters_ps(m, l, f, s, pass);
    return (ps + moved_ps(l, f, s, pass)) * (s->busy > 0 ? s->busy : 1);
}

static double often(dice *d, double value)
{
    return below(d, 2) ? value : 0;
}

static void draw_roofline(rlt_roofline *f, dice *d)
{
    *f = (rlt_roofline){.peak_Flops = 1000000000 * (1 + roll(d, 900)),
                        .peak_16_Flops = 1000000000 * (1 + roll(d, 900)),
                        .memory_Bps = 100000000 * (1 + roll(d, 900)),
                        .launch_ps = (rlt_time)often(d, below(d, 100000000)),
                        .rows_half = often(d, below(d, 500)),
                        .outputs_half = often(d, below(d, 500)),
                        .inputs_half = often(d, below(d, 500)),
                        .area_half = often(d, below(d, 100000)),
                        .memory = 0.1 + below(d, 9) / 10.0,
                        .backward = 0.5 + below(d, 5) / 10.0,
                        .score_passes = often(d, 1 + below(d, 6))};
    for (int i = 0; i < RLT_WORK_KINDS; i++)
        f->most[i] = 0.1 + below(d, 9) / 10.0;
}

static void draw_products(rlt_model *m, dice *d)
{
    rlt_model_layer *l = m->layers;
    l->first_product = below(d, MOST);
    l->n_products = below(d, 2) ? below(d, MOST - l->first_product + 1) : 0;
    for (uint32_t i = 0; i < MOST; i++)
        m->products[i] = (rlt_model_product){.rows = 1 + below(d, 4000),
                                             .in = 1 + below(d, 20000),
                                             .out = 1 + below(d, 20000),
                                             .split = (rlt_product_split)below(d, 3),
                                             .expert = l->experts && below(d, 2)};
}

static void draw_layer(rlt_model *m, dice *d)
{
    static const rlt_work_kind kinds[] = {RLT_WORK_MATMUL, RLT_WORK_MATMUL, RLT_WORK_ATTENTION,
                                          RLT_WORK_CONVOLUTION, RLT_WORK_VECTOR};
    rlt_model_layer *l = m->layers;
    *l = (rlt_model_layer){.work = (uint8_t)kinds[below(d, 5)], .sharded = below(d, 3) > 0};
    l->experts = below(d, 2) ? 1u << below(d, 6) : 0;
    l->ep_elements = l->experts ? below(d, 100000) : 0;
    l->parameters = below(d, 2) ? roll(d, 1000000) : 0;
    l->tied_parameters = below(d, 4) ? 0 : roll(d, 1000000);
    l->expert_parameters = l->experts ? roll(d, 9000000) : 0;
    l->forward_flop = often(d, 1e6 * below(d, 9000));
    l->backward_flop = 2 * l->forward_flop;
    l->executed_forward = often(d, l->forward_flop / 2);
    l->executed_backward = often(d, l->forward_flop * 1.25);
    l->moved_elements = often(d, 1000.0 * below(d, 9000));
    l->moved_scores = l->moved_elements / 2;
    l->scores = often(d, 1000.0 * (1 + below(d, 9000)));
    l->keys = 1 + below(d, 4000);
    l->head = 1 + below(d, 256);
    l->value_head = 1 + below(d, 256);
    l->sides_flop = often(d, 1e5 * below(d, 90));
    m->tokens = 1 + below(d, 4000);
    m->hidden = below(d, 3) ? 1 + below(d, 9000) : 0;
    draw_products(m, d);
}

static void draw_share(rlt_layer_share *s, dice *d)
{
    *s = (rlt_layer_share){.samples = below(d, 3) ? 1 + below(d, 8) : 0.25,
                           .tp = 1u << below(d, 4),
                           .ep = 1u << below(d, 4),
                           .sequence_parallel = below(d, 2),
                           .element_bytes = 1u << below(d, 3),
                           .gradient_bytes = 2 + 2 * below(d, 2),
                           .load = often(d, 1 + below(d, 10) / 10.0),
                           .busy = often(d, 1 + below(d, 10) / 10.0),
                           .packed = often(d, below(d, 10) / 4.0),
                           .slowdown = 1 + below(d, 10) / 10.0,
                           .adapter_rank = below(d, 4) ? 0 : 1 + below(d, 64)};
    s->etp = below(d, 2) ? 1 + below(d, s->tp) : 0;
}

/* A picosecond of each kernel may be rounded otherwise. */
static void agree(void **state)
{
    dice d = {.seed = 91};
    (void)state;
    for (int trial = 0; trial < TRIALS; trial++) {
        static rlt_model_layer layer;
        static rlt_model_product products[MOST];
        rlt_model m = {.layers = &layer, .n_layers = 1, .products = products, .n_products = MOST};
        rlt_roofline f;
        rlt_layer_share s;
        draw_roofline(&f, &d);
        draw_layer(&m, &d);
        draw_share(&s, &d);
        for (int pass = RLT_LAYER_FORWARD; pass <= RLT_LAYER_WEIGHTS; pass++) {
            double got = rlt_layer_time(&m, 0, &f, &s, (rlt_layer_pass)pass),
                   due = layer_ps(&m, &f, &s, (rlt_layer_pass)pass);
            if (fabs(got - due) > 20 + 1e-12 * due)
                fail_msg("trial %d, pass %d: %.17g ps, expected %.17g", trial, pass, got, due);
        }
        double kernels = layer.n_products ? layer.n_products : layer.forward_flop > 0;
        kernels += layer.moved_elements > 0 ? 2 : 0;
        assert_true(fabs(rlt_layer_kernels(&layer) - kernels) < 0.5);
    }
}

/* A half rounds up; a time that does not fit is the longest. */
static void rounds(void **state)
{
    (void)state;
    assert_int_equal(rlt_time_of(0.49), 0);
    assert_int_equal(rlt_time_of(0.5), 1);
    assert_int_equal(rlt_time_of(41.5), 42);
    assert_int_equal(rlt_time_of((double)RLT_TIME_MAX), RLT_TIME_MAX);
    assert_int_equal(rlt_time_of(1e30), RLT_TIME_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(agree), cmocka_unit_test(rounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
