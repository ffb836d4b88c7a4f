/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times of layers and of the optimizer on the accelerator. */
#include <stdlib.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/training/internal.h"
#include "workload/training/training.h"

typedef struct speed {
    const rlt_training *t;
    const rlt_surface *surface;
    uint64_t peak_Flops;
} speed;

/* Returns the bytes of weights that a pass reads once, however many tokens the microbatch has. The backward
 * pass reads them again for the gradient of the inputs. Returns 0 for an embedding table: only the rows that
 * are looked up are read, and these are among the moved elements. */
static double weights_bytes(const rlt_training *t, const rlt_model_layer *l)
{
    double used = (double)(l->parameters + l->tied_parameters) / (l->sharded ? t->size[RLT_AXIS_TP] : 1);
    return l->work == RLT_WORK_LOOKUP ? 0 : (used + rlt__held_experts(t, l)) * t->element_bytes;
}

/* Returns the bytes of weight gradients that a microbatch reads and writes to add its own, in the precision
 * kept. */
static double gradients_bytes(const rlt_training *t, const rlt_model_layer *l)
{
    uint32_t kept = t->main_gradient_bytes ? t->main_gradient_bytes : t->element_bytes;
    return (t->lora_rank ? rlt__adapters(t, l) : weights_bytes(t, l) / t->element_bytes) * 2 * kept;
}

/* Returns the time of a layer; `elements` of activations are per sample. */
static rlt_time time_of(const speed *s, const rlt_model_layer *l, double flop, double elements,
                        double weights)
{
    const rlt_training *t = s->t;
    double split = (l->sharded ? t->size[RLT_AXIS_TP] : 1) * (double)t->size[RLT_AXIS_CP];
    bool matrix = l->work == RLT_WORK_MATMUL || l->work == RLT_WORK_CONVOLUTION;
    rlt_work x = {.kind = (rlt_work_kind)l->work,
                  .flop = flop * t->microbatch / split * (matrix ? t->slowdown : 1),
                  .bytes = elements * t->microbatch * t->element_bytes / split + weights,
                  .width = t->model->hidden,
                  .tokens = (double)t->microbatch * t->model->tokens / t->size[RLT_AXIS_CP],
                  .tp = l->sharded ? t->size[RLT_AXIS_TP] : 1};
    return x.flop > 0 || x.bytes > 0 ? rlt_accelerator_time(t->accelerator, s->surface, s->peak_Flops, &x)
                                     : 0;
}

/* Returns the share of a layer that the backward pass computes again. Full recomputation repeats blocks,
 * neither embeddings nor logits (Megatron-LM, DeepSpeed, AxoNN); selective recomputation repeats attention;
 * `products` repeats half of the matrix products of blocks, and all of their layers bound by memory. */
static double recomputed(const rlt_training *t, const rlt_model_layer *l, bool repeats)
{
    switch (t->recompute) {
    case RLT_RECOMPUTE_FULL:
        return repeats;
    case RLT_RECOMPUTE_SELECTIVE:
        return l->work == RLT_WORK_ATTENTION;
    case RLT_RECOMPUTE_PRODUCTS:
        return !repeats || l->work == RLT_WORK_ATTENTION ? 0 : l->work == RLT_WORK_MATMUL ? 0.5 : 1;
    default:
        return 0;
    }
}

int rlt__training_times(const rlt_training *t, rlt__times *out, rlt_error *err)
{
    speed s = {.t = t};
    uint32_t n = t->model->n_layers;
    rlt_time **const all[] = {&out->forward, &out->backward, &out->weights, &out->again};
    int rc;
    if ((rc = rlt_accelerator_surface(t->accelerator, t->stack, t->precision, &s.surface, err)) ||
        (rc = rlt_accelerator_peak(t->accelerator, t->precision, &s.peak_Flops, err)))
        return rc;
    for (size_t k = 0; k < 4; k++)
        if (!(*all[k] = calloc(n, sizeof(rlt_time))))
            return rlt_nomem(err);
    double slower = s.surface->backward > 0 ? 1 / s.surface->backward : 1;
    out->host_ps = s.surface->host_ps;
    bool apart = t->schedule == RLT_SCHEDULE_ZERO_BUBBLE, repeats = false;
    for (uint32_t i = 0; i < n; i++) {
        const rlt_model_layer *l = &t->model->layers[i];
        repeats = rlt__repeats(t->model, i, repeats);
        double back = rlt__backward_flop(t, l), weights = t->lora_rank ? 0 : rlt__weights_flop(l);
        double moved = l->moved_elements, read = weights_bytes(t, l), added = gradients_bytes(t, l);
        out->forward[i] = time_of(&s, l, l->forward_flop + rlt__adapter_flop(t, l), moved, read);
        /* Half of the bytes that the backward pass moves are for weight gradients. */
        bool split = apart && weights > 0;
        out->backward[i] = time_of(&s, l, (split ? back - weights : back) * slower, (split ? 1 : 2) * moved,
                                   read + (split ? 0 : added));
        out->weights[i] = split ? time_of(&s, l, weights * slower, moved, added) : 0;
        out->again[i] = (rlt_time)((double)out->forward[i] * recomputed(t, l, repeats));
    }
    return 0;
}

int rlt_training_layer_times(const rlt_training *t, rlt_time *forward_ps, rlt_time *backward_ps,
                             rlt_error *err)
{
    rlt__times x = {0};
    int rc = rlt__training_times(t, &x, err);
    for (uint32_t i = 0; !rc && i < t->model->n_layers; i++) {
        forward_ps[i] = x.forward[i];
        backward_ps[i] = x.backward[i] + x.weights[i];
    }
    rlt__training_times_free(&x);
    return rc;
}

void rlt__training_times_free(rlt__times *x)
{
    free(x->forward);
    free(x->backward);
    free(x->weights);
    free(x->again);
}

/* Returns the time of the products of a step, in bf16 if the accelerator has it. */
static rlt_time products(const rlt_training *t, const rlt_surface *s, double flop)
{
    rlt_work x = {.kind = RLT_WORK_MATMUL, .flop = flop, .width = t->model->hidden, .tp = 1};
    uint64_t peak;
    if (flop <= 0 || (rlt_accelerator_peak(t->accelerator, "bf16", &peak, NULL) &&
                      rlt_accelerator_peak(t->accelerator, t->precision, &peak, NULL)))
        return 0;
    return rlt_accelerator_time(t->accelerator, s, peak, &x);
}

rlt_time rlt__training_step(const rlt_training *t, double parameters, double flop)
{
    const rlt_surface *s;
    /* State is read and written, gradients are read, weights written. */
    double each = 2.0 * t->state_bytes + t->gradient_bytes + t->element_bytes;
    rlt_work step = {.kind = RLT_WORK_VECTOR, .bytes = parameters * (1 - t->sparsity) * each, .tp = 1};
    if (rlt_accelerator_surface(t->accelerator, t->stack, t->precision, &s, NULL))
        return 0;
    return rlt_accelerator_time(t->accelerator, s, 1, &step) + products(t, s, flop);
}
