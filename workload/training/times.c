/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times of layers and of the optimizer on the accelerator. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/models/accelerator.h"
#include "workload/models/layer.h"
#include "workload/models/model.h"
#include "workload/training/internal.h"
#include "workload/training/training.h"

typedef struct speed {
    const rlt_training *t;
    rlt_roofline in_blocks, outside; /* layers outside blocks (logits) run in 16 bits at least */
    rlt_layer_share share;
} speed;

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

/* Computes the times of layer i. Weight gradients are computed apart, or with those of inputs. */
static void set_times(const speed *s, uint32_t i, bool in_block, bool apart, rlt__times *out)
{
    const rlt_model *m = s->t->model;
    const rlt_roofline *f = in_block ? &s->in_blocks : &s->outside;
    rlt_layer_share share = s->share;
    if (in_block && s->t->expert_overlap)
        share.busy = 1 / (1 - s->t->dispatch.multiprocessors);
    double weights = rlt_layer_time(m, i, f, &share, RLT_LAYER_WEIGHTS);
    out->forward[i] = rlt_time_of(rlt_layer_time(m, i, f, &share, RLT_LAYER_FORWARD));
    out->backward[i] = rlt_time_of(rlt_layer_time(m, i, f, &share, RLT_LAYER_INPUTS) + (apart ? 0 : weights));
    out->weights[i] = apart ? rlt_time_of(weights) : 0;
}

/* Returns the time of a block whose kernels take `device`, if the host takes `host` to launch them. */
static double with_host(double device, double host)
{
    double d = device * device, h = host * host;
    return host > 0 ? sqrt(sqrt(d * d + h * h)) : device;
}

/* Stretches the times of the layers [first, end), a block, to those with the host. */
static void add_host(const speed *s, uint32_t first, uint32_t end, rlt__times *out)
{
    const rlt_training *t = s->t;
    const rlt_roofline *f = &s->in_blocks;
    rlt_time *const all[] = {out->forward, out->backward, out->weights, out->again};
    double kernels = 0, expert = 0;
    for (uint32_t i = first; i < end; i++) {
        const rlt_model_layer *l = &t->model->layers[i];
        kernels += rlt_layer_kernels(l) + (t->size[RLT_AXIS_TP] > 1 && l->tp_elements ? 2 : 0);
        expert += t->model->layers[i].experts > 0 && t->model->layers[i].work == RLT_WORK_MATMUL;
    }
    double once = kernels * f->host_kernel_ps + expert * f->host_expert_ps / 3;
    const double host[] = {once, 2 * once, 0, once};
    for (int k = 0; k < 4; k++) {
        double device = 0;
        for (uint32_t i = first; i < end; i++)
            device += (double)all[k][i];
        double factor = device > 0 ? with_host(device, host[k]) / device : 1;
        for (uint32_t i = first; i < end && factor > 1; i++)
            all[k][i] = rlt_time_of((double)all[k][i] * factor);
    }
}

static int roofline(const rlt_training *t, const char *precision, rlt_roofline *out, rlt_error *err)
{
    int rc = rlt_accelerator_roofline(t->accelerator, t->stack, precision, out, err);
    out->rows_half *= t->half_sizes;
    out->area_half *= t->half_sizes;
    return rc;
}

/* Finds the constants inside and outside of blocks. */
static int find_speed(const rlt_training *t, speed *s, rlt_error *err)
{
    const char *wide = t->precision;
    uint64_t Flops;
    uint32_t gradient_bytes = t->main_gradient_bytes ? t->main_gradient_bytes : t->element_bytes;
    *s = (speed){.t = t,
                 .share = {.samples = (double)t->microbatch / t->size[RLT_AXIS_CP],
                           .tp = t->size[RLT_AXIS_TP],
                           .ep = t->ep,
                           .etp = rlt_training_etp(t),
                           .load = t->load.experts,
                           .packed = t->dispatch.moved,
                           .sequence_parallel = t->sequence_parallel,
                           .element_bytes = t->element_bytes,
                           .gradient_bytes = gradient_bytes,
                           .slowdown = t->slowdown,
                           .adapter_rank = t->lora_rank}};
    int rc = roofline(t, t->precision, &s->in_blocks, err);
    if (rc)
        return rc;
    if (s->in_blocks.peak_16_Flops < s->in_blocks.peak_Flops)
        wide = rlt_accelerator_peak(t->accelerator, "bf16", &Flops, NULL) ? "fp16" : "bf16";
    return roofline(t, wide, &s->outside, err);
}

int rlt__training_times(const rlt_training *t, rlt__times *out, rlt_error *err)
{
    speed s;
    uint32_t n = t->model->n_layers, first = 0;
    rlt_time **const all[] = {&out->forward, &out->backward, &out->weights, &out->again};
    int rc = find_speed(t, &s, err);
    if (rc)
        return rc;
    for (size_t k = 0; k < 4; k++)
        if (!(*all[k] = calloc(n, sizeof(rlt_time))))
            return rlt_nomem(err);
    bool images = strcmp(t->model->sample, "image") == 0;
    double loaded = images ? (double)(t->batch / t->size[RLT_AXIS_DP]) : 0;
    out->host_ps = rlt_time_of(s.in_blocks.host_ps + loaded * s.in_blocks.host_image_ps);
    bool pipeline = t->size[RLT_AXIS_PP] > 1;
    out->pass_ps = rlt_time_of(s.in_blocks.host_pass_ps + (pipeline ? s.in_blocks.host_handover_ps : 0));
    bool apart = rlt__defers_weights(t), repeats = false;
    for (uint32_t i = 0; i < n; i++) {
        const rlt_model_layer *l = &t->model->layers[i];
        if (i >= t->blocks.alike + t->blocks.period && i < t->blocks.alike_end) { /* the block before */
            for (size_t k = 0; k < 4; k++)
                (*all[k])[i] = (*all[k])[i - t->blocks.period];
            first = i + 1;
            repeats = true;
            continue;
        }
        repeats = rlt__repeats(t->model, i, repeats);
        set_times(&s, i, repeats, apart, out);
        out->again[i] = (rlt_time)((double)out->forward[i] * recomputed(t, l, repeats));
        if (i + 1 == n || t->model->layers[i + 1].block != l->block) {
            add_host(&s, first, i + 1, out);
            first = i + 1;
        }
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
static rlt_time products(const rlt_training *t, double flop)
{
    rlt_work x = {.kind = RLT_WORK_MATMUL, .flop = flop, .n = t->model->hidden, .k = t->model->hidden};
    rlt_roofline s;
    if (flop <= 0 || (rlt_accelerator_roofline(t->accelerator, t->stack, "bf16", &s, NULL) &&
                      rlt_accelerator_roofline(t->accelerator, t->stack, t->precision, &s, NULL)))
        return 0;
    return rlt_roofline_time(&s, &x);
}

rlt_time rlt__training_step(const rlt_training *t, double parameters, double flop)
{
    rlt_roofline s;
    /* State is read and written, gradients are read, weights written. */
    double each = 2.0 * t->state_bytes + t->gradient_bytes + t->element_bytes;
    rlt_work step = {.kind = RLT_WORK_VECTOR, .bytes = parameters * (1 - t->sparsity) * each};
    if (rlt_accelerator_roofline(t->accelerator, t->stack, t->precision, &s, NULL))
        return 0;
    return rlt_time_add(rlt_roofline_time(&s, &step), products(t, flop));
}
