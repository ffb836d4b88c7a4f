/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What each rank of a random training does in all iterations, against a second model: every collective with its
 * members and bytes, and how often; messages between stages; compute, optimizer steps and the host. The times of
 * single layers are times_twin.c's, their division over stages split_twin.c's. Exchanges of experts and the order
 * of operations have tests of their own.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/trainings/training.h"
#include "workload/models/model.h"
#include "workload/program/program.h"
#include "workload/training/internal.h"
#include "workload/training/training.h"

enum { MOST = 24, ROWS = 400, TRIALS = 500 };

/* Collectives of one name, kind and size. */
typedef struct row {
    const char *name;
    rlt_coll_kind kind;
    uint64_t bytes, members; /* members: a bit for each rank */
    int n;
} row;

/* One rank's part of an iteration. */
typedef struct twin {
    const rlt_training *t;
    uint32_t ranks, rank, at[RLT_AXES_OF_LAYOUT];
    uint32_t step;
    row rows[ROWS];
    uint32_t n_rows;
    double filled[2]; /* elements in the buckets of dense gradients and those of experts */
    bool first_bucket;
    double compute_ps, optimizer_ps, host_ps;
    uint64_t sends, sent;
} twin;

typedef struct trial {
    fixture f;
    rlt_model_layer layers[MOST];
} trial;

/* ---- random trainings ---- */

static bool draw_model(trial *x, dice *d)
{
    uint32_t blocks = 4 + below(d, 8), experts = below(d, 3) == 0;
    rlt_model *m = &x->f.model;
    *m = (rlt_model){.layers = x->layers, .tokens = 4};
    for (uint32_t b = 0; b < blocks + 2; b++)
        for (uint32_t k = b % (blocks + 1) ? 1 + below(d, 2) : 1; k > 0; k--) {
            rlt_model_layer *l = &x->layers[m->n_layers++];
            *l = (rlt_model_layer){.work = (uint8_t)(below(d, 4) ? RLT_WORK_MATMUL : RLT_WORK_ATTENTION)};
            l->block = b;
            l->movable = b > 0 && b <= blocks && (m->n_layers < 2 || l[-1].block != b);
            l->sharded = below(d, 3) > 0;
            l->parameters = below(d, 5) ? 1 + below(d, 3000) : 0;
            l->forward_flop = 1e6 * below(d, 9);
            l->backward_flop = 2 * l->forward_flop;
            l->tp_elements = below(d, 2) ? below(d, 500) : 0;
            l->tp_inputs = below(d, 3) ? 0 : below(d, 500);
            l->cp_elements = below(d, 2) ? below(d, 500) : 0;
            l->output_elements = 1 + below(d, 500);
            l->sides = below(d, 100);
            if (experts && l->work == RLT_WORK_MATMUL && below(d, 2)) {
                l->experts = 8;
                l->expert_parameters = 8 * below(d, 1000);
            }
        }
    if (below(d, 2))
        x->layers[m->n_layers - 1].tied_parameters = x->layers[0].parameters;
    return experts;
}

static void draw_training(trial *x, dice *d, bool experts)
{
    static const char *const schedules[] = {"1f1b",        "gpipe",     "zero-bubble",
                                            "interleaved", "dualpipev", "dualpipe"};
    static const char *const axes[] = {"tp", "cp", "dp", "pp"};
    static const char *const orders[] = {"tp-cp-dp-pp", "pp-tp-dp-cp", "dp-pp-cp-tp"};
    rlt_training *t = &x->f.t;
    char text[24];
    test_begin(&x->f);
    x->f.accelerator.launch_ps = (rlt_time)below(d, 1000);
    x->f.accelerator.memory_Bps = 1000000 + roll(d, 1000000);
    test_set(&x->f, "schedule", schedules[below(d, 6)]);
    test_set(&x->f, "order", orders[below(d, 3)]);
    for (int a = 0; a < 4; a++) {
        bool copies = a == 3 && t->schedule == RLT_SCHEDULE_DUALPIPE;
        snprintf(text, sizeof text, "%u", copies ? 2 + 2 * below(d, 2) : 1 + below(d, 3));
        test_set(&x->f, axes[a], text);
    }
    t->vp = t->schedule == RLT_SCHEDULE_INTERLEAVED ? 2 : 1;
    uint32_t over = t->size[RLT_AXIS_CP] * t->size[RLT_AXIS_DP];
    t->ep = experts && over % 2 == 0 ? over % 4 ? 2 : 4 : 1;
    t->microbatch = 1 + below(d, 2);
    t->batch = (uint64_t)t->size[RLT_AXIS_DP] * t->microbatch * t->size[RLT_AXIS_PP] * (1 + below(d, 3));
    if (t->schedule == RLT_SCHEDULE_DUALPIPE)
        t->batch *= 2;
    t->steps = 1 + below(d, 2);
    t->zero = below(d, t->schedule == RLT_SCHEDULE_DUALPIPE ? 3 : 4);
    t->recompute = (rlt_recompute)(below(d, 3) ? RLT_RECOMPUTE_NONE : RLT_RECOMPUTE_FULL);
    t->sequence_parallel = below(d, 2);
    t->tp_overlap = t->sequence_parallel && below(d, 2);
    t->scatter_gather = below(d, 2);
    t->overlap = below(d, 3) > 0;
    t->prefetch = below(d, 2);
    t->reshard = (rlt_reshard)below(d, 3);
    t->tie = below(d, 2);
    t->drain = below(d, 4) == 0;
    t->bucket_bytes = 1 + below(d, 9000);
    t->first_bucket_bytes = 1 + below(d, 3000);
    if (t->schedule >= RLT_SCHEDULE_DUALPIPE) /* buckets begin in some order of passes */
        t->bucket_bytes = t->first_bucket_bytes = (uint64_t)1 << 40;
    t->gradient_bytes = 2 + 2 * below(d, 2);
    t->state_bytes = 8 + below(d, 9);
    t->pass_ps = below(d, 1000);
    t->host_ps = below(d, 3) ? below(d, 1000) : 0;
    if (below(d, 5) == 0) {
        t->sparsity = 0.75;
        t->compress_rate = 1e9;
    }
    t->lora_rank = t->size[RLT_AXIS_TP] > 1 || t->ep > 1 || t->sparsity > 0 ? 0 : below(d, 5);
    t->sync_every = t->zero || t->size[RLT_AXIS_CP] > 1 || t->ep > 1 ? 1 : 1 + below(d, 3);
    t->offload = t->zero == 0 && !t->overlap && t->ep == 1 && !(t->sparsity > 0) && !t->lora_rank &&
                 t->sync_every == 1 && below(d, 2);
    t->offload_bucket = 1 + below(d, 900);
    t->offload_chunk = 1 + below(d, 9);
    t->offload_Bps = 1000000000;
    t->shard = t->zero == 3 && t->ep == 1 && t->sync_every == 1 ? below(d, 4) : 0;
}

/* ---- the second model ---- */

static uint32_t place(const rlt_training *t, uint32_t rank, uint32_t at[RLT_AXES_OF_LAYOUT])
{
    for (int i = 0; i < RLT_AXES_OF_LAYOUT; i++) {
        rlt_axis a = t->order[i];
        at[a] = rank % t->size[a];
        rank /= t->size[a];
    }
    return rank;
}

static uint32_t chunks_of(const rlt_training *t)
{
    return t->size[RLT_AXIS_PP] * (t->schedule == RLT_SCHEDULE_DUALPIPE ? 1 : t->vp);
}

/* The stage of a chunk, of its first copy. */
static uint32_t stage_of(const rlt_training *t, uint32_t chunk)
{
    uint32_t pp = t->size[RLT_AXIS_PP], down = chunk % (2 * pp);
    if (t->schedule == RLT_SCHEDULE_DUALPIPEV)
        return down < pp ? down : 2 * pp - 1 - down;
    return chunk % pp;
}

/* Which ranks communicate: those of a stage in a row of tp, cp and dp, or across stages. DualPipe has a copy
 * of each chunk on the opposite stage. */
typedef enum among { TP, CP, DP, EXPERT_DP, TIED, SHARD, REPLICA, PP } among;

static bool together(const rlt_training *t, among g, const uint32_t a[], const uint32_t b[])
{
    bool tp = a[RLT_AXIS_TP] == b[RLT_AXIS_TP], cp = a[RLT_AXIS_CP] == b[RLT_AXIS_CP],
         dp = a[RLT_AXIS_DP] == b[RLT_AXIS_DP], pp = a[RLT_AXIS_PP] == b[RLT_AXIS_PP];
    bool copy = pp || (t->schedule == RLT_SCHEDULE_DUALPIPE &&
                       a[RLT_AXIS_PP] + b[RLT_AXIS_PP] == t->size[RLT_AXIS_PP] - 1);
    uint32_t i = a[RLT_AXIS_DP] * t->size[RLT_AXIS_CP] + a[RLT_AXIS_CP],
             j = b[RLT_AXIS_DP] * t->size[RLT_AXIS_CP] + b[RLT_AXIS_CP];
    switch (g) {
    case TP:
        return cp && dp && pp;
    case CP:
        return tp && dp && pp;
    case DP:
        return tp && copy;
    case EXPERT_DP: /* ep sets of tp ranks have all experts between them */
        return tp && copy && i % t->ep == j % t->ep;
    case TIED:
        return tp && cp && dp && (b[RLT_AXIS_PP] == 0 || b[RLT_AXIS_PP] == stage_of(t, chunks_of(t) - 1));
    case SHARD:
        return tp && pp && i / t->shard == j / t->shard;
    case REPLICA:
        return tp && pp && i % t->shard == j % t->shard;
    case PP:
        break;
    }
    return tp && cp && dp;
}

static uint64_t members_of(const twin *w, among g, uint32_t *n)
{
    uint64_t all = 0;
    *n = 0;
    for (uint32_t r = 0; r < w->ranks; r++) {
        uint32_t at[RLT_AXES_OF_LAYOUT];
        place(w->t, r, at);
        if (together(w->t, g, w->at, at)) {
            all |= (uint64_t)1 << r;
            ++*n;
        }
    }
    return all;
}

static void count(twin *w, const char *name, rlt_coll_kind kind, uint64_t bytes, uint64_t members, int by)
{
    uint32_t i = 0;
    while (i < w->n_rows && (strcmp(w->rows[i].name, name) != 0 || w->rows[i].kind != kind ||
                             w->rows[i].bytes != bytes || w->rows[i].members != members))
        i++;
    if (i == w->n_rows) {
        assert_true(w->n_rows < ROWS);
        w->rows[w->n_rows++] = (row){name, kind, bytes, members, 0};
    }
    w->rows[i].n += by;
}

/* Shares of a collective are equal: the last one is filled up. */
static void expect(twin *w, among g, rlt_coll_kind kind, double bytes, const char *name)
{
    uint32_t n;
    uint64_t members = members_of(w, g, &n), whole = (uint64_t)(bytes + 0.5);
    if (n < 2 || (bytes < 1 && kind != RLT_BARRIER))
        return;
    while ((kind == RLT_REDUCE_SCATTER || kind == RLT_ALL_GATHER) && whole % n)
        whole++;
    count(w, name, kind, whole, members, 1);
}

static bool has_copy(const twin *w, const rlt_model_layer *l)
{
    uint32_t last = chunks_of(w->t) - 1; /* opposite stages of DualPipe have all that they share */
    return l->tied_parameters && w->t->schedule != RLT_SCHEDULE_DUALPIPE && stage_of(w->t, last) != 0;
}

/* Parameters of a layer on the rank, and those of them that are trained. */
static double held(const twin *w, const rlt_model_layer *l)
{
    uint64_t n = l->parameters + (has_copy(w, l) ? l->tied_parameters : 0);
    return (double)n / (l->sharded ? w->t->size[RLT_AXIS_TP] : 1);
}

static double held_by_experts(const twin *w, const rlt_model_layer *l)
{
    return (double)l->expert_parameters / w->t->ep / (l->sharded ? w->t->size[RLT_AXIS_TP] : 1);
}

static double trained(const twin *w, const rlt_model_layer *l, int expert)
{
    const rlt_training *t = w->t;
    if (t->lora_rank)
        return expert ? 0 : (double)t->lora_rank * (double)l->sides;
    return expert ? held_by_experts(w, l) : held(w, l);
}

/* Tensor and context parallelism around a layer. */
static void around(twin *w, const rlt_model_layer *l, bool back)
{
    const rlt_training *t = w->t;
    double each = (double)t->microbatch * t->element_bytes / t->size[RLT_AXIS_CP];
    double narrow = (double)(l->tp_inputs ? l->tp_inputs : l->tp_elements) * each,
           wide = (double)l->tp_elements * each, before = back ? wide : narrow, after = back ? narrow : wide;
    double keys = (double)l->cp_elements * t->microbatch * t->element_bytes;
    if (t->sequence_parallel) {
        expect(w, TP, RLT_ALL_GATHER, before, "tp all-gather");
        expect(w, TP, RLT_REDUCE_SCATTER, after, "tp reduce-scatter");
    } else
        expect(w, TP, RLT_ALL_REDUCE, after, "tp all-reduce");
    expect(w, CP, back ? RLT_REDUCE_SCATTER : RLT_ALL_GATHER, keys / (l->sharded ? t->size[RLT_AXIS_TP] : 1),
           "context keys and values");
}

static void empty_bucket(twin *w, int expert)
{
    const rlt_training *t = w->t;
    uint32_t n, copies = 0;
    double bytes = floor(w->filled[expert]) * t->gradient_bytes * (1 - t->sparsity);
    among g = t->shard ? SHARD : expert ? EXPERT_DP : DP;
    bool any = w->filled[expert] > 0 && t->sync_every == 1;
    w->filled[expert] = 0;
    if (!any)
        return;
    members_of(w, g, &n);
    if (n > 1) /* however few bytes */
        expect(w, g, t->zero ? RLT_REDUCE_SCATTER : RLT_ALL_REDUCE, fmax(bytes, 1),
               expert ? "expert gradients" : "gradients");
    if (t->shard) {
        members_of(w, REPLICA, &copies);
        expect(w, REPLICA, RLT_ALL_REDUCE, fmax(bytes / t->shard, 1), "gradients of copies");
    }
    w->first_bucket &= n < 2 && copies < 2;
}

static void give_gradients(twin *w, const rlt_model_layer *l)
{
    const rlt_training *t = w->t;
    for (int expert = 0; expert < 2; expert++) {
        uint64_t most = w->first_bucket ? t->first_bucket_bytes : t->bucket_bytes;
        w->filled[expert] += floor(trained(w, l, expert) + 0.5);
        if (t->overlap && t->zero < 3 && w->filled[expert] * t->gradient_bytes >= (double)most)
            empty_bucket(w, expert);
    }
}

/* The weights of a block, gathered with ZeRO 3. */
static void gather_block(twin *w, uint32_t first, uint32_t end)
{
    const rlt_training *t = w->t;
    double bytes[2] = {0, 0};
    for (uint32_t i = first; i < end; i++) {
        const rlt_model_layer *l = &t->model->layers[i];
        bytes[0] += (held(w, l) + (double)t->lora_rank * (double)l->sides) * t->element_bytes;
        bytes[1] += held_by_experts(w, l) * t->element_bytes;
    }
    for (int expert = 0; expert < 2; expert++)
        expect(w,
               t->shard ? SHARD
               : expert ? EXPERT_DP
                        : DP,
               RLT_ALL_GATHER, bytes[expert], expert ? "expert weights" : "weights");
}

static uint32_t end_of_block(const rlt_model *m, uint32_t i, uint32_t end)
{
    uint32_t k = i;
    while (k < end && m->layers[k].block == m->layers[i].block)
        k++;
    return k;
}

/* A message between stages, forward or backward, and its parts that the receiver gathers. */
static void message(twin *w, uint32_t border, bool receives)
{
    const rlt_training *t = w->t;
    uint32_t first, end, tp = t->size[RLT_AXIS_TP];
    rlt_training_layers(t, border, &first, &end);
    double bytes = (double)t->model->layers[end - 1].output_elements * t->microbatch * t->element_bytes /
                   t->size[RLT_AXIS_CP];
    bool in_parts = t->scatter_gather && !t->sequence_parallel;
    if (receives && in_parts)
        expect(w, TP, RLT_ALL_GATHER, bytes, "tp all-gather");
    if (!receives) {
        w->sends++;
        w->sent += (uint64_t)(bytes / (in_parts || t->sequence_parallel ? tp : 1) + 0.5);
    }
}

static bool has_chunk(const twin *w, uint32_t chunk)
{
    uint32_t own = w->at[RLT_AXIS_PP], stage = stage_of(w->t, chunk);
    return stage == own ||
           (w->t->schedule == RLT_SCHEDULE_DUALPIPE && stage == w->t->size[RLT_AXIS_PP] - 1 - own);
}

/* Whether a chunk and the next are on different stages. */
static bool parts(const rlt_training *t, uint32_t chunk)
{
    return chunk + 1 < chunks_of(t) && stage_of(t, chunk) != stage_of(t, chunk + 1);
}

/* Microbatch i of m through a chunk, there and back. */
static void microbatch(twin *w, uint32_t chunk, uint32_t i, uint32_t m)
{
    const rlt_training *t = w->t;
    uint32_t first, end;
    bool keeps = t->zero == 3 && (t->reshard == RLT_RESHARD_OFF ||
                                  (t->reshard == RLT_RESHARD_AUTO && t->size[RLT_AXIS_PP] > 1));
    bool each = !keeps && (t->zero == 3 || (t->zero == 2 && t->overlap)), reduces = each || i + 1 == m;
    rlt_training_layers(t, chunk, &first, &end);
    for (int back = 0; back < 2; back++) {
        bool above = chunk > 0 && parts(t, chunk - 1), below = parts(t, chunk), from = back ? below : above,
             to = back ? above : below;
        if (from)
            message(w, back ? chunk : chunk - 1, true);
        if (to)
            message(w, back ? chunk - 1 : chunk, false);
    }
    for (uint32_t b = first, e; b < end; b = e) {
        e = end_of_block(t->model, b, end);
        for (int times = 0; t->zero == 3 && times < (keeps ? i == 0 : 2); times++)
            gather_block(w, b, e);
        for (uint32_t k = b; k < e; k++) {
            around(w, &t->model->layers[k], false);
            around(w, &t->model->layers[k], true);
            if (t->recompute == RLT_RECOMPUTE_FULL && t->model->layers[b].movable)
                around(w, &t->model->layers[k], false);
        }
    }
    for (uint32_t k = end; k-- > first && reduces;) {
        give_gradients(w, &t->model->layers[k]);
        for (int expert = 0; expert < 2; expert++)
            if (t->zero == 3 && (k == first || t->model->layers[k - 1].block != t->model->layers[k].block))
                empty_bucket(w, expert);
    }
}

/* State in the host's memory is brought over and back in chunks, whose gradients are summed before. */
static void step_in_chunks(twin *w)
{
    const rlt_training *t = w->t;
    double each = (double)t->offload_bucket * t->offload_chunk;
    for (double left = w->filled[0]; left > 0; left -= each) {
        double some = left < each ? left : each;
        expect(w, DP, RLT_ALL_REDUCE, some * t->gradient_bytes, "gradients");
        w->optimizer_ps += floor(2 * t->state_bytes * some / (double)t->offload_Bps * 1e12 + 0.5);
    }
    w->filled[0] = 0;
}

static void end_iteration(twin *w)
{
    const rlt_training *t = w->t;
    double all[2] = {0, 0}, over = t->shard ? t->shard : t->size[RLT_AXIS_DP] * t->size[RLT_AXIS_CP];
    over *= t->schedule == RLT_SCHEDULE_DUALPIPE ? 2 : 1;
    if (t->drain)
        expect(w, PP, RLT_BARRIER, 0, "drain");
    for (int expert = 0; expert < 2 && !t->offload; expert++)
        empty_bucket(w, expert);
    for (uint32_t c = 0; c < chunks_of(t); c++) {
        uint32_t first, end;
        rlt_training_layers(t, c, &first, &end);
        for (uint32_t i = first; i < end && has_chunk(w, c); i++)
            for (int expert = 0; expert < 2; expert++)
                all[expert] += trained(w, &t->model->layers[i], expert);
    }
    const rlt_model_layer *l = &t->model->layers[t->model->n_layers - 1];
    bool mine = w->at[RLT_AXIS_PP] == 0 || w->at[RLT_AXIS_PP] == stage_of(t, chunks_of(t) - 1);
    if (has_copy(w, l) && mine && t->tie && !t->lora_rank)
        expect(w, TIED, RLT_ALL_REDUCE,
               (double)l->tied_parameters / (l->sharded ? t->size[RLT_AXIS_TP] : 1) * t->gradient_bytes *
                   (1 - t->sparsity),
               "tied gradients");
    w->host_ps += (double)t->host_ps;
    if (t->offload) {
        step_in_chunks(w);
        return;
    }
    /* The state is read and written, gradients are read, weights are written. */
    double mine_to_step = t->zero ? all[0] / over + all[1] / (over / t->ep) : all[0] + all[1];
    w->optimizer_ps += floor(mine_to_step * (1 - t->sparsity) *
                                 (2.0 * t->state_bytes + t->gradient_bytes + t->element_bytes) /
                                 (double)t->accelerator->memory_Bps * 1e12 +
                             0.5) +
                       (double)t->accelerator->launch_ps;
    if (t->zero == 1 || t->zero == 2) {
        expect(w, DP, RLT_ALL_GATHER, all[0] * t->element_bytes, "weights");
        expect(w, EXPERT_DP, RLT_ALL_GATHER, all[1] * t->element_bytes, "expert weights");
    }
    if (t->sync_every > 1 && w->step % t->sync_every == t->sync_every - 1)
        expect(w, DP, RLT_ALL_REDUCE, (all[0] + all[1]) * t->gradient_bytes, "parameters");
}

/* Compute: each layer there, back and again, and the time of a pass; compression of sparse gradients. */
static void compute(twin *w, const rlt__times *x, uint32_t chunk)
{
    const rlt_training *t = w->t;
    uint32_t first, end;
    rlt_training_layers(t, chunk, &first, &end);
    w->compute_ps += 2.0 * (double)t->pass_ps;
    for (uint32_t i = first; i < end; i++) {
        w->compute_ps += (double)(x->forward[i] + x->backward[i] + x->weights[i] + x->again[i]);
        if (t->sparsity > 0)
            w->compute_ps += floor(held(w, &t->model->layers[i]) / t->compress_rate * 1e12);
    }
}

static void iterate(twin *w, const rlt__times *x)
{
    const rlt_training *t = w->t;
    uint32_t m = (uint32_t)(t->batch / t->size[RLT_AXIS_DP] / t->microbatch), pp = t->size[RLT_AXIS_PP];
    m /= t->schedule == RLT_SCHEDULE_DUALPIPE ? 2 : 1;                /* half of them from each end */
    uint32_t each = t->schedule == RLT_SCHEDULE_INTERLEAVED ? pp : m; /* pass a chunk one after the other */
    for (w->step = 0; w->step < t->steps; w->step++) {
        w->first_bucket = true;
        for (uint32_t i = 0; i < m; i += each)
            for (uint32_t c = chunks_of(t); c-- > 0;)
                for (uint32_t k = i; k < i + each && has_chunk(w, c); k++) {
                    compute(w, x, c);
                    microbatch(w, c, k, m);
                }
        end_iteration(w);
    }
}

/* ---- comparison ---- */

static void subtract(twin *w, const rlt_program *p, const rlt_op *op)
{
    const rlt_comm *c = op->comm == RLT_NONE ? NULL : &p->comms[op->comm];
    uint64_t members = 0;
    if (op->kind == RLT_OP_COMPUTE)
        w->compute_ps -= (double)op->duration_ps;
    if (op->kind == RLT_OP_MEMORY)
        w->optimizer_ps -= (double)op->duration_ps;
    if (op->kind == RLT_OP_HOST)
        w->host_ps -= (double)op->duration_ps;
    if (op->kind == RLT_OP_SEND) {
        w->sends--;
        w->sent -= c->bytes;
    }
    if (op->kind != RLT_OP_COLLECTIVE)
        return;
    for (uint32_t i = p->group_first[c->group]; i < p->group_first[c->group + 1]; i++)
        members |= (uint64_t)1 << p->group_ranks[i];
    count(w, rlt_program_string(p, op->name), c->kind, c->bytes, members, -1);
}

static void compare(const trial *x, const rlt_program *p, const rlt__times *times, int k)
{
    static twin w;
    for (uint32_t r = 0; r < p->n_ranks; r++) {
        w = (twin){.t = &x->f.t, .ranks = p->n_ranks, .rank = r};
        place(w.t, r, w.at);
        iterate(&w, times);
        for (uint32_t i = p->rank_first[r]; i < p->rank_first[r + 1]; i++)
            subtract(&w, p, &p->ops[i]);
        for (uint32_t i = 0; i < w.n_rows; i++)
            if (w.rows[i].n)
                fail_msg("trial %d, rank %u: '%s' of %llu bytes among %llx: %d times too few", k, r,
                         w.rows[i].name, (unsigned long long)w.rows[i].bytes,
                         (unsigned long long)w.rows[i].members, w.rows[i].n);
        if (fabs(w.compute_ps) > 0 || fabs(w.optimizer_ps) > 0 || fabs(w.host_ps) > 0 || w.sends || w.sent)
            fail_msg("trial %d, rank %u: %g ps of compute, %g of steps, %g of the host, %lld messages of "
                     "%lld bytes too few",
                     k, r, w.compute_ps, w.optimizer_ps, w.host_ps, (long long)w.sends, (long long)w.sent);
    }
}

static void agree(void **state)
{
    dice d = {.seed = 5};
    uint32_t planned = 0, apart[10] = {0};
    (void)state;
    for (int k = 0; k < TRIALS; k++) {
        static trial x;
        rlt_program *p = NULL;
        rlt__times times = {0};
        rlt_error err = {0};
        draw_training(&x, &d, draw_model(&x, &d));
        rlt_training *t = &x.f.t;
        uint32_t ranks = t->size[0] * t->size[1] * t->size[2] * t->size[3];
        if (ranks > 54 || rlt_training_plan(t, ranks, &err) || rlt_training_etp(t) != t->size[RLT_AXIS_TP])
            continue; /* such settings do not go together */
        if (rlt_training_program(t, &p, &err) || rlt__training_times(t, &times, &err))
            fail_msg("%s: %s", err.where, err.what);
        compare(&x, p, &times, k);
        rlt__training_times_free(&times);
        rlt_program_free(p);
        planned++;
        apart[0] += t->ep > 1;
        apart[1] += t->shard > 1;
        apart[2] += t->sync_every > 1;
        apart[3] += t->lora_rank > 0;
        apart[4] += t->home != t->away;
        apart[5] += t->zero == 3;
        apart[6] += t->schedule == RLT_SCHEDULE_DUALPIPEV;
        apart[7] += t->sparsity > 0;
        apart[8] += t->schedule == RLT_SCHEDULE_DUALPIPE;
        apart[9] += t->offload;
    }
    assert_true(planned > TRIALS / 2);
    for (int i = 0; i < 10; i++)
        assert_true(apart[i] > 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
