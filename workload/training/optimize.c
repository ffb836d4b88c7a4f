/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The end of an iteration: optimizer steps, on the accelerator or with state in the host's memory. */
#include "sim/base/time.h"
#include "workload/models/model.h"
#include "workload/program/program.h"
#include "workload/training/internal.h"
#include "workload/training/optimizers.h"
#include "workload/training/training.h"
#include "workload/training/work.h"

/* Sums the whole gradients of both copies of tied parameters. */
void rlt__work_reduce_tied(rlt__work *w)
{
    const rlt_training *t = w->t;
    if (w->groups[RLT__GROUP_TIED] == RLT_NONE || !t->tie || t->lora_rank)
        return;
    const rlt_model_layer *l = &t->model->layers[t->copies];
    double n = (double)l->tied_parameters / (l->sharded ? t->size[RLT_AXIS_TP] : 1);
    uint64_t bytes = (uint64_t)(n * t->gradient_bytes * (1 - t->sparsity) + 0.5);
    rlt__work_flush(w, "backward");
    rlt__work_reduction(
        w, rlt__work_collective(w, w->gradients, RLT__GROUP_TIED, RLT_ALL_REDUCE, bytes, "tied gradients"));
}

/* Returns the FLOPs of the products with which Muon orthogonalises a rank's matrices of a layer. A rank of a
 * tensor-parallel group takes 1 / tp of those of the whole matrices. With ZeRO, whole matrices are spread
 * over the ranks. */
static double orthogonal_flop(const rlt_training *t, const rlt_model_layer *l)
{
    double held = rlt__held(t, l) + rlt__held_experts(t, l),
           all = (double)(l->parameters + l->expert_parameters);
    return all > 0 ? rlt__optimizer_at(t->optimizer)->iterations * l->orthogonal_flop * held / all : 0;
}

void rlt__work_optimize(rlt__work *w)
{
    const rlt_training *t = w->t;
    double dense = 0, experts = 0, flop = 0, dp = rlt__shards(t), dense_bytes = 0, expert_bytes = 0;
    rlt_op_desc d = rlt_op_desc_init(RLT_OP_MEMORY, w->rank);
    for (uint32_t c = 0; c < t->vp; c++) {
        uint32_t first, end;
        rlt__work_layers(w, rlt__chunk_at(t, w->at[RLT_AXIS_PP], c), &first, &end);
        bool repeats = false;
        for (uint32_t i = first; i < end; i++) {
            const rlt_model_layer *l = &t->model->layers[i];
            repeats = rlt__repeats(t->model, i, repeats);
            double each = t->lora_rank ? t->element_bytes : rlt__weight_bytes(t, l, repeats);
            dense_bytes += rlt__learning(t, l) * each;
            expert_bytes += rlt__learning_experts(t, l) * each;
            dense += rlt__learning(t, l);
            experts += rlt__learning_experts(t, l);
            flop += orthogonal_flop(t, l);
        }
    }
    d.duration_ps =
        rlt__training_step(t, dense / (t->zero ? dp : 1) + experts / (t->zero ? rlt__expert_shards(t) : 1),
                           flop / (t->zero ? dp : 1));
    d.resource = w->compute;
    d.name = rlt__work_name(w, "optimizer");
    uint32_t op = rlt__work_op(w, &d, w->last);
    for (uint32_t i = 0; i < w->n_reductions; i++)
        rlt__work_dep(w, op, w->reductions[i]);
    w->last = op;
    if (t->zero == 1 || t->zero == 2) {
        rlt__work_communicate(w, RLT__GROUP_DP, RLT_ALL_GATHER, dense_bytes, "weights");
        rlt__work_communicate(w, RLT__GROUP_EXPERT_DP, RLT_ALL_GATHER, expert_bytes, "expert weights");
    }
    if (t->sync_every > 1 && (w->step + 1) % t->sync_every == 0)
        rlt__work_communicate(w, RLT__GROUP_DP, RLT_ALL_REDUCE, (dense + experts) * t->gradient_bytes,
                              "parameters");
}

/* Steps the optimizer with offloaded state, which comes from the host and returns there in buckets. During
 * the step over one chunk of buckets, the gradients of the next chunk are summed. */
void rlt__work_optimize_offloaded(rlt__work *w)
{
    const rlt_training *t = w->t;
    uint64_t left = w->bucket[0], chunk = (uint64_t)t->offload_bucket * t->offload_chunk;
    uint32_t begin, sum = RLT_NONE, step;
    w->bucket[0] = 0;
    rlt__work_flush(w, "backward");
    for (begin = step = w->last; left; left -= chunk) {
        chunk = chunk < left ? chunk : left;
        w->last = begin;
        if (w->groups[RLT__GROUP_DP] != RLT_NONE)
            sum = rlt__work_collective(w, w->gradients, RLT__GROUP_DP, RLT_ALL_REDUCE,
                                       chunk * t->gradient_bytes, "gradients");
        rlt_op_desc d = rlt_op_desc_init(RLT_OP_MEMORY, w->rank);
        double bytes = 2.0 * t->state_bytes * (double)chunk;
        d.duration_ps = (rlt_time)(bytes / (double)t->offload_Bps * 1e12 + 0.5);
        d.resource = w->compute;
        d.name = rlt__work_name(w, "offloaded optimizer");
        d.purpose = RLT_FOR_OFFLOAD;
        step = rlt__work_op(w, &d, step);
        if (sum != RLT_NONE)
            rlt__work_dep(w, step, sum);
        for (uint32_t i = 0; i < w->n_reductions; i++) /* sums of tied gradients, before the first step */
            rlt__work_dep(w, step, w->reductions[i]);
        w->n_reductions = 0;
    }
    w->last = step;
}
