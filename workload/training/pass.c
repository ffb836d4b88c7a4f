/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Passes of a microbatch through a chunk: compute, communication of layers, gathered weights, gradients given
 * to buckets. Uninterrupted compute is one operation: it ends where a layer communicates or where a bucket of
 * gradients is full. Communication of layers holds up the compute that follows.
 */
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/models/model.h"
#include "workload/program/program.h"
#include "workload/training/internal.h"
#include "workload/training/training.h"
#include "workload/training/work.h"

int rlt__work_chunks(rlt__work *w, rlt_error *err)
{
    uint32_t chunks = rlt__chunks(w->t);
    w->firsts = malloc(((size_t)chunks + 1) * sizeof *w->firsts);
    if (!w->firsts)
        return rlt_nomem(err);
    for (uint32_t c = 0; c < chunks; c++)
        rlt_training_layers(w->t, c, &w->firsts[c], &w->firsts[c + 1]);
    return 0;
}

/* Returns the group that divides weights and gradients: of dense layers (0) or of experts (1). */
static int state_group(const rlt_training *t, int which)
{
    return t->shard ? RLT__GROUP_SHARD : which ? RLT__GROUP_EXPERT_DP : RLT__GROUP_DP;
}

void rlt__work_reduce_bucket(rlt__work *w, int which)
{
    const rlt_training *t = w->t;
    int group = state_group(t, which);
    uint64_t elements = w->bucket[which];
    uint32_t op = RLT_NONE;
    w->bucket[which] = 0;
    if (elements == 0 || t->sync_every > 1)
        return;
    double bytes = (double)elements * t->gradient_bytes * (1 - t->sparsity);
    if (w->groups[group] != RLT_NONE) {
        rlt__work_flush(w, "backward");
        op = rlt__work_collective(w, w->gradients, group, t->zero ? RLT_REDUCE_SCATTER : RLT_ALL_REDUCE,
                                  (uint64_t)(bytes + 0.5), which ? "expert gradients" : "gradients");
    }
    if (w->groups[RLT__GROUP_REPLICA] != RLT_NONE) { /* on the stream of the gradients, so after those */
        rlt__work_flush(w, "backward");
        op = rlt__work_collective(w, w->gradients, RLT__GROUP_REPLICA, RLT_ALL_REDUCE,
                                  (uint64_t)(bytes / t->shard + 0.5), "gradients of copies");
    }
    if (op == RLT_NONE)
        return;
    rlt__work_reduction(w, op);
    w->first_bucket = false;
}

/* Adds the gradients of a layer to the bucket. */
void rlt__work_give_gradients(rlt__work *w, const rlt_model_layer *l)
{
    const rlt_training *t = w->t;
    double held[2] = {rlt__learning(t, l), rlt__learning_experts(t, l)};
    for (int which = 0; which < 2; which++) {
        uint64_t limit = w->first_bucket && t->overlap ? t->first_bucket_bytes : t->bucket_bytes;
        w->bucket[which] += (uint64_t)(held[which] + 0.5);
        if (t->overlap && t->zero < 3 && w->bucket[which] * t->gradient_bytes >= limit)
            rlt__work_reduce_bucket(w, which);
    }
}

/* Returns the bytes that tensor parallelism moves before a layer (0) or after it (1). */
static double tp_bytes(const rlt__work *w, const rlt_model_layer *l, int after, bool back)
{
    bool inputs = !after != back && l->tp_inputs;
    return rlt__work_bytes(w, (double)(inputs ? l->tp_inputs : l->tp_elements));
}

/* Returns true if the tensor-parallel communication of a layer overlaps its products. */
static bool overlaps(const rlt__work *w, const rlt_model_layer *l)
{
    bool spread = l->ep_elements > 0 && rlt__experts_spread(w->t);
    return w->t->tp_overlap && !spread && l->work == RLT_WORK_MATMUL &&
           w->groups[RLT__GROUP_TP] != RLT_NONE && rlt__work_bytes(w, (double)l->tp_elements) >= 1;
}

/* Adds the communication of a layer before it (0) or after it (1), in the forward or the backward pass. */
static void layer_comm(rlt__work *w, const rlt_model_layer *l, int after, bool back)
{
    const rlt_training *t = w->t;
    bool spread = l->ep_elements > 0 && rlt__experts_spread(t);
    double tp = tp_bytes(w, l, after, back), cp = (double)l->cp_elements * t->microbatch * t->element_bytes /
                                                  (l->sharded ? t->size[RLT_AXIS_TP] : 1);
    if (!after) {
        if (t->sequence_parallel && !overlaps(w, l) && (!spread || rlt__divides_dense(t->model, l)))
            rlt__work_communicate(w, RLT__GROUP_TP, RLT_ALL_GATHER, tp, "tp all-gather");
        rlt__work_exchange(w, l, false, !back);
        rlt__work_communicate(w, RLT__GROUP_CP, back ? RLT_REDUCE_SCATTER : RLT_ALL_GATHER, cp,
                              "context keys and values");
        return;
    }
    rlt__work_exchange(w, l, true, false);
    if (spread)
        rlt__work_join_parts(w, l, tp);
    else if (!overlaps(w, l))
        rlt__work_communicate(w, RLT__GROUP_TP, t->sequence_parallel ? RLT_REDUCE_SCATTER : RLT_ALL_REDUCE,
                              tp, t->sequence_parallel ? "tp reduce-scatter" : "tp all-reduce");
}

/* Computes a layer beside its own gather and scatter, which go on piece by piece with its products. The layer
 * ends with the last of them. */
static void compute_beside(rlt__work *w, const rlt_model_layer *l, rlt_time duration_ps, bool back)
{
    uint64_t in = (uint64_t)(tp_bytes(w, l, 0, back) + 0.5), out = (uint64_t)(tp_bytes(w, l, 1, back) + 0.5);
    rlt__work_flush(w, w->doing);
    rlt__work_collective(w, w->tensors, RLT__GROUP_TP, RLT_ALL_GATHER, in, "tp all-gather");
    uint32_t scatter =
        rlt__work_collective(w, w->tensors, RLT__GROUP_TP, RLT_REDUCE_SCATTER, out, "tp reduce-scatter");
    w->gathered += duration_ps;
    rlt__work_flush(w, w->doing);
    w->pending_after = scatter;
}

static void compute_layer(rlt__work *w, const rlt_model_layer *l, rlt_time duration_ps, bool back)
{
    if (overlaps(w, l))
        compute_beside(w, l, duration_ps, back);
    else
        w->gathered += duration_ps;
}

/* Gathers the weights of layers [first, end) on a stream, after the compute so far. Returns the last such
 * operation. */
static uint32_t gather(rlt__work *w, uint32_t stream, uint32_t first, uint32_t end)
{
    const rlt_training *t = w->t;
    double all[2] = {0, 0};
    uint32_t op = RLT_NONE;
    bool repeats = false;
    for (uint32_t i = first; i < end; i++) {
        const rlt_model_layer *l = &t->model->layers[i];
        repeats = rlt__repeats(t->model, i, repeats);
        double each = rlt__weight_bytes(t, l, repeats);
        all[0] += rlt__held(t, l) * each + rlt__adapters(t, l) * t->element_bytes;
        all[1] += rlt__held_experts(t, l) * each;
    }
    for (int which = 0; which < 2; which++) {
        int group = state_group(t, which);
        if (w->groups[group] != RLT_NONE && all[which] >= 1)
            op = rlt__work_collective(w, stream, group, RLT_ALL_GATHER, (uint64_t)(all[which] + 0.5),
                                      which ? "expert weights" : "weights");
    }
    return op;
}

/* Gathers the weights of the block [first, end) before it is computed. [next, next_end) is the next block of
 * the pass, empty at its end. With prefetching, weights are gathered while the block before is computed, on
 * the stream of the gradients: both use one communicator. */
static void gather_block(rlt__work *w, uint32_t first, uint32_t end, uint32_t next, uint32_t next_end)
{
    const rlt_training *t = w->t;
    if (t->zero < 3)
        return;
    rlt__work_flush(w, w->doing);
    uint32_t own = w->ahead;
    if (own == RLT_NONE)
        own = gather(w, t->prefetch ? w->gradients : w->compute, first, end);
    w->ahead = t->prefetch && next < next_end ? gather(w, w->gradients, next, next_end) : RLT_NONE;
    w->pending_after = own;
}

/* Returns the end of the block that begins at layer i. */
static uint32_t block_end(const rlt_model *m, uint32_t i, uint32_t end)
{
    uint32_t k = i + 1;
    while (k < end && m->layers[k].block == m->layers[i].block)
        k++;
    return k;
}
static uint32_t block_begin(const rlt_model *m, uint32_t end, uint32_t first)
{
    uint32_t k = end - 1;
    while (k > first && m->layers[k - 1].block == m->layers[end - 1].block)
        k--;
    return k;
}

static void forward_layers(rlt__work *w, uint32_t first, uint32_t end, const rlt_time *times, bool comm)
{
    for (uint32_t i = first; i < end; i++) {
        const rlt_model_layer *l = &w->t->model->layers[i];
        if (comm)
            layer_comm(w, l, 0, false);
        if (comm)
            compute_layer(w, l, times[i], false);
        else
            w->gathered += times[i];
        if (comm)
            layer_comm(w, l, 1, false);
    }
}

/* Time added to each stream so far, with what is accumulated. */
typedef struct spent {
    rlt_time of[RLT__WORK_TIMES];
} spent;

static spent spent_so_far(const rlt__work *w)
{
    spent s;
    memcpy(s.of, w->spent, sizeof s.of);
    s.of[RLT__WORK_COMPUTE] = rlt_time_add(s.of[RLT__WORK_COMPUTE], w->gathered);
    return s;
}

/* Returns how many more blocks of a pass, up to layer `end` or down from it, are equal to the block that
 * begins at layer i. Where nothing is built, such a block adds the same times as the one before, unless it
 * gathers weights or gives gradients, or times are divided by a speed, which is done after adding up. */
static uint32_t equal_blocks(const rlt__work *w, uint32_t i, uint32_t end)
{
    const rlt_training *t = w->t;
    double speed = w->b ? 1 : w->folded->how->compute_scale * w->speed;
    if (w->b || speed < 1 || speed > 1 || t->zero >= 3 || i < t->blocks.alike || i >= t->blocks.alike_end)
        return 0;
    uint32_t from = end > i ? i + t->blocks.period : end, to = end > i ? end : i;
    from = from > t->blocks.alike ? from : t->blocks.alike;
    to = to < t->blocks.alike_end ? to : t->blocks.alike_end;
    return to > from ? (to - from) / t->blocks.period : 0;
}

/* Adds `n` times what was added since `before`. */
static void add_again(rlt__work *w, const spent *before, uint32_t n)
{
    spent now = spent_so_far(w);
    for (int k = 0; k < RLT__WORK_TIMES; k++)
        w->spent[k] = rlt_time_add(w->spent[k], rlt_time_mul(now.of[k] - before->of[k], n));
}

/* Adds the forward pass of a chunk. gathers: that of its first microbatch. */
void rlt__work_forward(rlt__work *w, uint32_t chunk, bool gathers)
{
    const rlt_model *m = w->t->model;
    uint32_t first, end;
    rlt__work_layers(w, chunk, &first, &end);
    w->doing = "forward";
    w->gathered += w->t->pass_ps + w->times.pass_ps;
    for (uint32_t i = first, k; i < end; i = k) {
        spent before = spent_so_far(w);
        uint32_t n = equal_blocks(w, i, end);
        k = block_end(m, i, end);
        if (gathers || !rlt__keeps_whole(w->t))
            gather_block(w, i, k, k, k < end ? block_end(m, k, end) : k);
        forward_layers(w, i, k, w->times.forward, true);
        add_again(w, &before, n);
        k += n * w->t->blocks.period;
    }
    rlt__work_join_exchanges(w);
}

void rlt__work_backward(rlt__work *w, uint32_t chunk, const rlt__turn *turn, bool gradients)
{
    const rlt_training *t = w->t;
    const rlt_model *m = t->model;
    uint32_t first, end;
    bool inputs = turn->pass == RLT__PASS_BACKWARD, weights = !turn->apart;
    rlt__work_layers(w, chunk, &first, &end);
    w->doing = inputs ? "backward" : "weight gradients";
    w->gathered += inputs ? t->pass_ps + w->times.pass_ps : 0;
    for (uint32_t k = end, i; k > first; k = i) {
        spent before = spent_so_far(w);
        i = block_begin(m, k, first);
        uint32_t n = gradients ? 0 : equal_blocks(w, i, first);
        if (inputs) {
            if (!rlt__keeps_whole(t))
                gather_block(w, i, k, i > first ? block_begin(m, i, first) : i, i);
            w->doing = "recomputed forward";
            forward_layers(w, i, k, w->times.again,
                           t->recompute == RLT_RECOMPUTE_FULL && m->layers[i].movable);
            w->doing = "backward";
        }
        for (uint32_t j = k; j-- > i;) {
            if (inputs)
                layer_comm(w, &m->layers[j], 0, true);
            if (inputs)
                compute_layer(w, &m->layers[j], w->times.backward[j], true);
            w->gathered += weights ? w->times.weights[j] : 0;
            if (weights && t->sparsity > 0)
                w->gathered += (rlt_time)(rlt__held(t, &m->layers[j]) / t->compress_rate * 1e12);
            if (weights && gradients)
                rlt__work_give_gradients(w, &m->layers[j]);
            if (inputs)
                layer_comm(w, &m->layers[j], 1, true);
        }
        /* With ZeRO 3, the whole gradients of a block are reduced at once. */
        if (weights && gradients && t->zero == 3) {
            rlt__work_reduce_bucket(w, 0);
            rlt__work_reduce_bucket(w, 1);
        }
        add_again(w, &before, n);
        i -= n * t->blocks.period;
    }
    rlt__work_flush(w, w->doing);
    rlt__work_join_exchanges(w);
}
