/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory that a framework takes beside model state and activations, in bytes. Each term is off by default; a
 * strategy sets it. With e `element_bytes` and r `gradient_bytes`, on one rank:
 *
 *   loss        L logits take L x `loss` bytes while the loss and its gradient are computed, in place of the
 *               4 L that a microbatch keeps. They are gone when blocks go backward. Only GPipe keeps those
 *               of several microbatches.
 *               12: PyTorch's cross entropy, eager. The backward pass has the logarithm of the softmax, the
 *               gradient by it and the gradient by the logits, in 32 bits each. 16: PyTorch's loss parallel,
 *               which has the exponential, too. 6: Megatron-LM, which has logits in 16 bits and overwrites
 *               one copy of them in 32 bits.
 *   gathered    ZeRO 3, layers outside blocks and `gathered` blocks: e per parameter, or the bytes of
 *               param_precision (FSDP2: two, the one that computes and the one that is prefetched).
 *               Without resharding all weights of the stage, and r per parameter for gradients that are
 *               summed until the last microbatch; of one chunk if there are several, and no more
 *               microbatches than stages: a chunk's gradients are then divided before those of the next
 *               begin.
 *   unsharded   ZeRO 3, while a block goes backward: e + r per parameter of the block, its gradients and the
 *               copy in which they are summed, and e per parameter of the head, whose gradients wait.
 *   gradients   inside the layer of a block that has the most, in its backward pass; counted if the loss is.
 *   fragments   `fragmentation` - 1 per allocated byte.
 *   context     `context`: CUDA context, libraries, NCCL's buffers.
 *
 * A backward pass adds the larger of the loss, and of a block (recomputed activations, unsharded gradients
 * and those inside a layer).
 */
#include "workload/models/model.h"
#include "workload/training/internal.h"
#include "workload/training/training.h"

/* Parameters of a stage on a rank: all, those of its largest chunk and block, those outside blocks, and of
 * the latter those behind blocks (`head`). */
typedef struct weights {
    double all, chunk, block, outside, head;
    double all_bytes, block_bytes; /* gathered */
    uint32_t blocks;
} weights;

static void add_chunk(const rlt_training *t, uint32_t chunk, weights *w)
{
    uint32_t first, end;
    double block = 0, block_bytes = 0, all = 0;
    bool repeats = false;
    rlt_training_layers(t, chunk, &first, &end);
    for (uint32_t i = first; i < end; i++) {
        const rlt_model_layer *l = &t->model->layers[i];
        double n = rlt__held(t, l) + rlt__held_experts(t, l);
        bool begins = i == first || l->block != l[-1].block;
        repeats = rlt__repeats(t->model, i, repeats);
        double bytes = n * rlt__weight_bytes(t, l, repeats);
        all += n;
        w->all_bytes += bytes;
        if (!repeats) {
            w->outside += n;
            w->head += i >= t->blocks.head ? n : 0;
            continue;
        }
        block = begins ? n : block + n;
        block_bytes = begins ? bytes : block_bytes + bytes;
        w->block_bytes = block_bytes > w->block_bytes ? block_bytes : w->block_bytes;
        w->blocks += begins;
        w->block = block > w->block ? block : w->block;
    }
    w->all += all;
    w->chunk = all > w->chunk ? all : w->chunk;
}

static weights weights_of(const rlt_training *t, uint32_t stage)
{
    weights w = {0};
    for (uint32_t c = 0; c < t->vp; c++)
        add_chunk(t, rlt__chunk_at(t, stage, c), &w);
    return w;
}

double rlt__gathered_bytes(const rlt_training *t, uint32_t stage)
{
    if (t->zero < 3 || !t->gathered)
        return 0;
    uint32_t pp = t->size[RLT_AXIS_PP];
    weights w = weights_of(t, stage);
    if (!rlt__keeps_whole(t)) {
        uint32_t blocks = t->gathered < w.blocks ? t->gathered : w.blocks;
        return w.outside * t->element_bytes + blocks * w.block_bytes;
    }
    double summed = rlt_training_microbatches(t) <= pp ? w.chunk : w.all;
    return w.all_bytes + summed * t->gradient_bytes;
}

/* Returns the logits of a microbatch on a rank. *inner, which is 0: the most gradients inside a layer of its
 * blocks. */
static double logits_of(const rlt_training *t, uint32_t stage, double *inner)
{
    double n = 0, each = t->microbatch / (double)t->size[RLT_AXIS_TP] / t->size[RLT_AXIS_CP];
    for (uint32_t c = 0; c < t->vp; c++) {
        uint32_t first, end;
        bool repeats = false;
        rlt_training_layers(t, rlt__chunk_at(t, stage, c), &first, &end);
        for (uint32_t i = first; i < end; i++) {
            const rlt_model_layer *l = &t->model->layers[i];
            repeats = rlt__repeats(t->model, i, repeats);
            n += l->logits;
            if (repeats && l->inner_gradients * each > *inner)
                *inner = l->inner_gradients * each;
        }
    }
    return n * each;
}

double rlt__backward_bytes(const rlt_training *t, uint32_t stage, double recomputed)
{
    double block = recomputed, e = t->element_bytes;
    if (t->zero >= 3 && t->gathered) {
        weights w = weights_of(t, stage);
        block += w.block * (e + t->gradient_bytes) + w.head * e;
    }
    if (!t->loss_bytes)
        return block;
    bool split = t->size[RLT_AXIS_TP] > 1 && t->loss_split_bytes;
    double inner = 0, logits = logits_of(t, stage, &inner),
           loss = logits * (split ? t->loss_split_bytes : t->loss_bytes);
    block += inner * e;
    return (loss > block ? loss : block) - (rlt__loss_once(t) ? 0 : logits * 2 * e);
}
