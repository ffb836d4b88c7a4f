/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random small trainings: layers in front, blocks of which many are like the one before, and a head; layouts,
 * schedules, ZeRO stages and settings of communication. Numbers are small and uneven, so that sums tell which
 * of them are in them.
 */
#ifndef RLT_TEST_SUPPORT_TRAININGS_DRAWN_TRAINING_H
#define RLT_TEST_SUPPORT_TRAININGS_DRAWN_TRAINING_H

#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/trainings/training.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/models/stack.h"
#include "workload/training/training.h"

enum { DRAWN_LAYERS = 64 };

typedef struct drawn {
    fixture f;
    rlt_model_layer layers[DRAWN_LAYERS];
    rlt_model_product products[2]; /* of an expert, and one that tensor parallelism divides */
} drawn;

static inline void drawn_layer(drawn *x, dice *d, uint32_t block, bool experts)
{
    static const rlt_work_kind kinds[] = {RLT_WORK_MATMUL, RLT_WORK_MATMUL, RLT_WORK_ATTENTION,
                                          RLT_WORK_VECTOR};
    rlt_model_layer *l = &x->layers[x->f.model.n_layers++];
    *l = (rlt_model_layer){.work = (uint8_t)kinds[below(d, 4)], .sharded = below(d, 3) > 0, .block = block};
    l->parameters = below(d, 4) ? 1 + below(d, below(d, 5) ? 999 : 2) : 0;
    l->sides = l->parameters / 10;
    l->forward_flop = below(d, 8) ? 1e3 * (1 + below(d, 5000)) : 0;
    l->backward_flop = 2 * l->forward_flop;
    l->output_elements = 1 + below(d, 30);
    l->tp_elements = below(d, 3) ? 1 + below(d, below(d, 5) ? 90 : 2) : 0;
    l->tp_inputs = l->tp_elements && below(d, 3) == 0 ? 1 + below(d, 90) : 0;
    l->cp_elements = below(d, 4) == 0 ? 1 + below(d, 90) : 0;
    if (experts && l->work == RLT_WORK_MATMUL && below(d, 2)) {
        l->experts = 8;
        l->expert_parameters = 8 * (1 + below(d, 200));
        l->ep_elements = 1 + below(d, below(d, 5) ? 90 : 1);
        l->first_product = below(d, 2); /* the second one alone, or both, or that of an expert */
        l->n_products = l->first_product ? 1 : 1 + below(d, 2);
    }
}

static inline void drawn_model(drawn *x, dice *d, bool experts)
{
    uint32_t block = 0, from = 0, n = 0, *layers = &x->f.model.n_layers;
    x->products[0] =
        (rlt_model_product){.rows = 1, .in = 9, .out = 7, .expert = true, .split = RLT_SPLIT_OUT};
    x->products[1] = (rlt_model_product){.rows = 1, .in = 8, .out = 8, .split = RLT_SPLIT_IN};
    x->f.model = (rlt_model){.layers = x->layers, .tokens = 1, .products = x->products, .n_products = 2};
    for (uint32_t i = below(d, 3); i > 0; i--)
        drawn_layer(x, d, block, false);
    block += *layers > 0;
    for (uint32_t i = 1 + below(d, 9); i > 0; i--, block++) {
        uint32_t begin = *layers;
        if (n && below(d, 4)) {
            for (uint32_t k = 0; k < n; k++, ++*layers) {
                x->layers[*layers] = x->layers[from + k];
                x->layers[*layers].block = block;
            }
        } else {
            n = 1 + below(d, 3);
            for (uint32_t k = 0; k < n; k++)
                drawn_layer(x, d, block, experts);
        }
        x->layers[begin].movable = true;
        from = begin;
    }
    for (uint32_t i = below(d, 3); i > 0; i--)
        drawn_layer(x, d, block, false);
}

/* Settings of the layout and the schedule. */
static inline void drawn_layout(rlt_training *t, dice *d, bool experts)
{
    static const rlt_schedule schedules[] = {RLT_SCHEDULE_1F1B, RLT_SCHEDULE_GPIPE, RLT_SCHEDULE_ZERO_BUBBLE,
                                             RLT_SCHEDULE_INTERLEAVED};
    t->schedule = schedules[below(d, 4)];
    t->vp = t->schedule == RLT_SCHEDULE_INTERLEAVED ? 1 + below(d, 3) : 1;
    t->size[RLT_AXIS_TP] = 1u << below(d, 3);
    t->size[RLT_AXIS_CP] = 1 + (below(d, 3) == 0);
    t->size[RLT_AXIS_DP] = 1 + below(d, 3);
    t->size[RLT_AXIS_PP] = 1 + below(d, 4);
    t->microbatch = 1 + below(d, 3);
    t->batch = t->size[RLT_AXIS_DP] * t->microbatch * t->size[RLT_AXIS_PP] * (1 + below(d, 2));
    t->ep = experts ? 1u << below(d, 3) : 1;
    t->etp = experts && below(d, 2) ? 1u << below(d, 3) : 0;
    t->sequence_parallel = below(d, 2);
    t->tp_overlap = t->sequence_parallel && below(d, 2);
    t->scatter_gather = below(d, 2);
    t->recompute = (rlt_recompute)(below(d, 2) ? RLT_RECOMPUTE_FULL : below(d, 4));
}

static inline void drawn_order(rlt_training *t, dice *d)
{
    for (uint32_t i = RLT_AXES_OF_LAYOUT - 1; i > 0; i--) {
        uint32_t k = below(d, i + 1);
        rlt_axis other = t->order[k];
        t->order[k] = t->order[i];
        t->order[i] = other;
    }
}

/* Settings of gradients and of the state. */
static inline void drawn_state(rlt_training *t, dice *d)
{
    t->zero = below(d, 4);
    t->reshard = (rlt_reshard)below(d, 3);
    t->shard = t->zero == 3 && below(d, 3) == 0 ? 1 + below(d, 2) : 0;
    t->sync_every = t->zero == 0 && below(d, 4) == 0 ? 2 : 1;
    t->lora_rank = below(d, 6) == 0 ? 1 + below(d, 3) : 0;
    t->sparsity = below(d, 4) == 0 ? 0.75 : 0;
    t->compress_rate = 1e8;
    t->prefetch = below(d, 2);
    t->overlap = below(d, 4) > 0;
    t->bucket_bytes = 500 + roll(d, 3000);
    t->first_bucket_bytes = 1 + roll(d, 1000);
    t->element_bytes = 1u << below(d, 3);
    t->gradient_bytes = below(d, 2) ? 4 : 2;
    t->param_precision = below(d, 3) == 0 ? 1 + below(d, 3) : 0;
    t->tie = false;
}

/* Draws a training of `steps` iterations. Returns false if it cannot be planned. */
static inline bool drawn_training(drawn *x, dice *d, uint32_t steps)
{
    rlt_training *t = &x->f.t;
    rlt_error err = {0};
    memset(x, 0, sizeof *x);
    bool experts = below(d, 2);
    drawn_model(x, d, experts);
    test_begin(&x->f);
    snprintf(t->dispatcher, sizeof t->dispatcher, "alltoall");
    drawn_layout(t, d, experts);
    drawn_state(t, d);
    rlt_stack *own = &x->f.accelerator.stacks[0];
    *own = (rlt_stack){.name = "one", .most = {1, 1, 1, 1, 1}};
    x->f.accelerator.n_stacks = 1;
    own->host_pass_ps = (rlt_time)roll(d, 50);
    own->host_ps = (rlt_time)roll(d, 50);
    snprintf(t->stack, sizeof t->stack, "one");
    drawn_order(t, d);
    t->pass_ps = (rlt_time)roll(d, 100);
    t->host_ps = (rlt_time)roll(d, 100);
    t->steps = steps;
    return rlt_training_plan(t, 0, &err) == 0;
}

#endif
