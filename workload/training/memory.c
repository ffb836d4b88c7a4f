/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory of a rank of a stage, in bytes. With n parameters on the rank, divided over D data-parallel ranks:
 *
 *   ZeRO  weights     gradients         optimizer state
 *   0     n e         n (e + g)         n o
 *   1     n e         n (e + g)         n o / D
 *   2     n e         n (e + g) / D     n o / D
 *   3     n e / D     n (e + g) / D     n o / D
 *
 * e is `element_bytes`, o `state_bytes`, and g `main_gradient_bytes`, the full-precision gradients of AxoNN
 * (else 0). `accumulate` takes the place of e + g. Mixed-precision Adam has e = 2, g = 0 and o = 12. Example:
 * n = 1.3e9 and D = 8 take 20.8, 7.2, 4.9 and 2.6 GB. Megatron-LM sums gradients in 32 bits only: with
 * accumulate 4 and ZeRO 1 it holds 6 + 12 / D bytes per parameter.
 *
 * With a fraction p of the weights pruned, f = 1 - p, SAMO takes n (2 + 24 f) bytes (IPDPS 2023, section
 * III): weights 2, gradients f (2 + 4), state f 12, indices f 4 and a temporary copy f 2. Example: p = 0.9
 * takes 4.4 bytes per parameter, where dense training with g = 4 takes 20.
 *
 * With param_precision, weights of products inside blocks take its bytes in place of e, except with ZeRO 3,
 * where only gathered copies do. With activation_precision of b bytes, inputs of these products take b
 * bytes each; those that a fused attention kernel reads, too, take e + b.
 *
 * Activations: kept * K * microbatch * e / cp + B, where K are the elements that one microbatch keeps per
 * sample, `kept` the microbatches kept at once, and B the bytes that a backward pass adds (allocator.c).
 */
#include <stdio.h>

#include "sim/base/error.h"
#include "workload/models/model.h"
#include "workload/models/precision.h"
#include "workload/training/internal.h"
#include "workload/training/training.h"

enum { INDEX_BYTES = 4 };

static double kept(const rlt_training *t, const rlt_model_layer *l, bool scores)
{
    double tp = t->size[RLT_AXIS_TP], whole = l->saved_whole, split = l->saved_split;
    if (l->experts > 0 && l->work == RLT_WORK_MATMUL)
        split *= t->load.experts;
    double narrow = rlt_precision_bytes(t->activation_precision, t->element_bytes) / t->element_bytes;
    if (narrow < 1 || narrow > 1) { /* another format */
        whole -= (1 - narrow) * l->inputs_whole;
        split += narrow * l->inputs_shared - (1 - narrow) * l->inputs_split;
    }
    return whole / (t->sequence_parallel ? tp : 1) + (split + (scores ? l->saved_scores : 0)) / tp;
}

/* Returns the elements that one microbatch keeps per sample in a chunk. *more: elements added while it is
 * recomputed. Layers outside blocks that repeat are not recomputed. */
static double chunk_elements(const rlt_training *t, uint32_t chunk, double *more)
{
    uint32_t first, end, blocks = 0;
    double whole = 0, block = 0, largest = 0, boundary = 0;
    bool full = t->recompute == RLT_RECOMPUTE_FULL, products = t->recompute == RLT_RECOMPUTE_PRODUCTS,
         repeats = false;
    rlt_training_layers(t, chunk, &first, &end);
    for (uint32_t i = first; i < end; i++) {
        const rlt_model_layer *l = &t->model->layers[i];
        bool begins = i == first || l->block != l[-1].block;
        repeats = rlt__repeats(t->model, i, repeats);
        if (!(full || products) || !repeats) {
            whole += kept(t, l, t->recompute != RLT_RECOMPUTE_SELECTIVE);
            whole -= rlt__loss_once(t) ? 2 * l->logits / t->size[RLT_AXIS_TP] : 0;
            continue;
        }
        if (begins) {
            block = 0;
            blocks++;
            double in = i ? (double)l[-1].output_elements : 0;
            boundary += in / (t->sequence_parallel ? t->size[RLT_AXIS_TP] : 1);
        }
        whole += products ? l->saved_products / t->size[RLT_AXIS_TP] : 0;
        block += kept(t, l, true);
        largest = block > largest ? block : largest;
    }
    uint32_t checkpoint = products ? 1 : t->checkpoint, apart = checkpoint < blocks ? checkpoint : blocks;
    *more = largest * apart;
    return whole + boundary / (apart ? apart : 1);
}

/* Moves state to the host's memory, with full-precision gradients unless `accumulate` stands for both.
 * A bucket at a time is on the accelerator (4 + 12 bytes per element for Adam). */
static void offload_state(const rlt_training *t, double parameters, rlt_training_memory *m)
{
    double bucket = t->offload_bucket < parameters ? t->offload_bucket : parameters;
    m->gradients -= t->accumulate_bytes ? 0 : parameters * t->main_gradient_bytes;
    m->optimizer = 0;
    m->buffers += bucket * (t->main_gradient_bytes + t->state_bytes);
}

static void state_of(const rlt_training *t, uint32_t stage, rlt_training_memory *m)
{
    double dp = rlt__shards(t), f = 1 - t->sparsity, parameters = 0,
           gradient = t->accumulate_bytes ? t->accumulate_bytes : t->element_bytes + t->main_gradient_bytes;
    for (uint32_t c = 0; c < t->vp; c++) {
        uint32_t first, end;
        rlt_training_layers(t, rlt__chunk_at(t, stage, c), &first, &end);
        bool repeats = false;
        for (uint32_t i = first; i < end; i++) {
            const rlt_model_layer *l = &t->model->layers[i];
            repeats = rlt__repeats(t->model, i, repeats);
            double weight = t->zero >= 3 ? t->element_bytes : rlt__weight_bytes(t, l, repeats);
            for (int expert = 0; expert < 2; expert++) {
                double n = expert ? rlt__held_experts(t, l) : rlt__held(t, l),
                       learning = expert ? rlt__learning_experts(t, l) : rlt__learning(t, l),
                       over = expert ? rlt__expert_shards(t) : dp;
                if (t->lora_rank) { /* frozen weights have no state; adapters are weights too */
                    m->parameters += (expert ? 0 : learning) * t->element_bytes / (t->zero >= 3 ? over : 1);
                    m->optimizer += learning * t->state_bytes / (t->zero >= 1 ? over : 1);
                }
                parameters += n;
                m->parameters += n * weight / (t->zero >= 3 ? over : 1);
                if (t->sparsity > 0) {
                    m->gradients += f * n * (t->element_bytes + t->main_gradient_bytes);
                    m->optimizer += f * n * (t->state_bytes + INDEX_BYTES);
                    m->buffers += f * n * t->element_bytes;
                } else {
                    m->gradients += learning * gradient / (t->zero >= 2 ? over : 1);
                    m->optimizer += (t->lora_rank ? 0 : n) * t->state_bytes / (t->zero >= 1 ? over : 1);
                }
            }
        }
    }
    if (t->offload)
        offload_state(t, parameters, m);
}

static double sample_bytes(const rlt_training *t)
{
    return (double)t->microbatch * t->element_bytes / t->size[RLT_AXIS_CP];
}

rlt__kept rlt__training_kept(const rlt_training *t, uint32_t stage)
{
    rlt__kept k = {0};
    double most = 0;
    for (uint32_t c = 0; c < t->vp; c++) {
        double more;
        k.elements += chunk_elements(t, rlt__chunk_at(t, stage, c), &more) / t->vp;
        most = more > most ? more : most;
    }
    k.backward_bytes = rlt__backward_bytes(t, stage, most * sample_bytes(t));
    return k;
}

double rlt__kept_bytes(const rlt_training *t, const rlt__kept *k, uint32_t microbatches, bool backward)
{
    return k->elements * microbatches * sample_bytes(t) + (backward ? k->backward_bytes : 0);
}

void rlt__memory_sum(const rlt_training *t, rlt_training_memory *m)
{
    m->allocated = m->parameters + m->gradients + m->optimizer + m->activations + m->buffers + m->gathered;
    m->reserved = m->allocated * t->fragmentation;
    m->total = m->reserved + (double)t->context_bytes;
}

rlt_training_memory rlt_training_memory_of(const rlt_training *t, uint32_t stage)
{
    rlt_training_memory m = {.in_flight = rlt__training_in_flight(t, stage)};
    rlt__kept k = rlt__training_kept(t, stage);
    state_of(t, stage, &m);
    m.gathered = rlt__gathered_bytes(t, stage);
    m.activations = rlt__kept_bytes(t, &k, m.in_flight, true);
    m.backward = k.backward_bytes;
    rlt__memory_sum(t, &m);
    return m;
}

double rlt_training_fullest(const rlt_training *t, uint32_t *stage)
{
    double most = 0;
    for (uint32_t i = 0; i < t->size[RLT_AXIS_PP]; i++) {
        double total = rlt_training_memory_of(t, i).total;
        if (stage && total > most)
            *stage = i;
        most = total > most ? total : most;
    }
    return most;
}

bool rlt_training_saves_nothing(const rlt_training *t)
{
    bool attends = false;
    for (uint32_t i = 0; i < t->model->n_layers; i++) {
        if (t->model->layers[i].saved_scores > 0)
            return false;
        attends |= t->model->layers[i].work == RLT_WORK_ATTENTION;
    }
    return attends && t->recompute == RLT_RECOMPUTE_SELECTIVE;
}

/* Returns advice for a training that does not fit: the first of these changes that makes it fit. */
static const char *advice(const rlt_training *t, uint32_t stage, char *text, size_t size)
{
    rlt_training other = *t;
    double room = (double)t->accelerator->memory_bytes;
    other.recompute = RLT_RECOMPUTE_FULL;
    if (t->recompute != RLT_RECOMPUTE_FULL && rlt_training_memory_of(&other, stage).total <= room)
        return "recompute=full would fit";
    for (other.zero = t->zero + 1; other.zero <= 3; other.zero++)
        for (int both = 0; both < 2; both++) {
            other.recompute = both ? RLT_RECOMPUTE_FULL : t->recompute;
            if (rlt_training_memory_of(&other, stage).total > room)
                continue;
            snprintf(text, size, "%szero=%u would fit", both ? "recompute=full with " : "", other.zero);
            return text;
        }
    for (uint32_t i = 0; i < t->model->n_layers; i++)
        if (t->model->layers[i].experts > t->ep)
            return "more expert parallelism (ep), pipeline stages or tensor parallelism are needed";
    return "more pipeline stages or tensor parallelism are needed";
}

int rlt_training_fits(const rlt_training *t, rlt_error *err)
{
    double room = (double)t->accelerator->memory_bytes;
    for (uint32_t s = 0; s < t->size[RLT_AXIS_PP]; s++) {
        rlt_training_memory m = rlt_training_memory_of(t, s);
        char text[80], other[48] = "";
        double beside = m.buffers + m.gathered + m.total - m.allocated;
        if (m.total <= room)
            continue;
        if (beside > 0)
            snprintf(other, sizeof other, ", other %.1f", beside / 1e9);
        return rlt_fail(err, RLT_ERANGE, "memory",
                        "stage %u needs %.1f GB (weights %.1f, gradients %.1f, optimizer %.1f, activations "
                        "%.1f of %u microbatch%s%s), more than the %.1f GB of %s: %s",
                        s, m.total / 1e9, m.parameters / 1e9, m.gradients / 1e9, m.optimizer / 1e9,
                        m.activations / 1e9, m.in_flight, m.in_flight == 1 ? "" : "es", other, room / 1e9,
                        t->accelerator->name, advice(t, s, text, sizeof text));
    }
    return 0;
}
