/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Operations of a rank of random trainings against a second model, which says what a rank does as a list:
 * compute, communication that compute waits for, communication beside it. Neighbouring compute is one
 * operation. All of each operation is compared: its name, stream, time, collective, bytes and members, and the
 * operations that it waits for. The times of layers are those of times_twin.c, the order of the passes is that
 * of the schedule.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/trainings/drawn_training.h"
#include "test/support/trainings/training.h"
#include "workload/models/model.h"
#include "workload/models/precision.h"
#include "workload/program/program.h"
#include "workload/training/internal.h"
#include "workload/training/training.h"

enum { TRIALS = 2000, MOST_OPS = 6000, NOTHING = -1 };

typedef enum group { TP, CP, DP, EP, EXPERT_TP, EXPERT_DP, SHARD, REPLICA } group;
static const char *const group_names[] = {"tp",    "cp",        "dp",       "ep",
                                          "ep tp", "expert-dp", "dp-shard", "dp-replica"};
static const char compute_stream[] = "compute stream", gradient_stream[] = "gradient stream",
                  tensor_stream[] = "tensor stream";

typedef struct expected {
    const char *name, *stream; /* stream NULL: none */
    rlt_op_kind kind;
    rlt_time duration_ps; /* -1: any */
    rlt_coll_kind coll;
    group of;
    uint64_t bytes;
    int after, other; /* operations that it waits for; NOTHING */
    bool reduction;   /* the optimizer of its iteration waits for it */
    bool optimizer;
    uint32_t step;
} expected;

/* A rank and what it did so far. */
typedef struct rank {
    const drawn *x;
    const rlt_training *t;
    rlt__times times;
    uint32_t stage, step;
    expected ops[MOST_OPS];
    int n, last, wait;
    rlt_time held;    /* compute that is no operation yet */
    const char *word; /* its name */
    int ahead;        /* gather of the weights of the next block */
    double bucket[2];
    bool first_bucket;
} rank;

static uint32_t members(const rlt_training *t, group g)
{
    uint32_t tp = t->size[RLT_AXIS_TP], cp = t->size[RLT_AXIS_CP], dp = t->size[RLT_AXIS_DP],
             etp = rlt_training_etp(t);
    switch (g) {
    case TP:
        return tp;
    case CP:
        return cp;
    case DP:
        return cp * dp;
    case EP:
        return t->ep;
    case EXPERT_TP:
        return etp < tp ? etp : 1;
    case EXPERT_DP:
        return tp * cp * dp / (etp * t->ep);
    case SHARD:
        return t->shard ? t->shard : 1;
    default:
        return t->shard ? cp * dp / t->shard : 1;
    }
}

/* What a rank does */

static expected *push(rank *r, const char *name, const char *stream, rlt_op_kind kind)
{
    assert_true(r->n < MOST_OPS);
    expected *e = &r->ops[r->n++];
    *e = (expected){.name = name, .stream = stream, .kind = kind, .step = r->step};
    e->after = r->last;
    e->other = NOTHING;
    return e;
}

static void end_compute(rank *r, const char *name)
{
    if (!r->held && r->wait == NOTHING)
        return;
    expected *e = push(r, name, compute_stream, RLT_OP_COMPUTE);
    e->duration_ps = r->held;
    e->other = r->wait;
    r->last = r->n - 1;
    r->held = 0;
    r->wait = NOTHING;
}

/* Shares of gathers and reduce-scatters have one size. */
static int collective(rank *r, const char *stream, group g, rlt_coll_kind kind, double bytes,
                      const char *name)
{
    expected *e = push(r, name, stream, RLT_OP_COLLECTIVE);
    uint64_t n = members(r->t, g);
    e->of = g;
    e->coll = kind;
    e->bytes = (uint64_t)(bytes + 0.5);
    if (kind == RLT_ALL_GATHER || kind == RLT_REDUCE_SCATTER)
        e->bytes = (e->bytes + n - 1) / n * n;
    return r->n - 1;
}

/* Communication that the compute behind it waits for. */
static void exposed(rank *r, group g, rlt_coll_kind kind, double bytes, const char *name)
{
    if (members(r->t, g) < 2 || bytes < 1)
        return;
    end_compute(r, r->word);
    r->last = collective(r, compute_stream, g, kind, bytes, name);
}

/* Parameters */

static double dense_held(const rlt_training *t, const rlt_model_layer *l)
{
    return (double)l->parameters / (l->sharded ? t->size[RLT_AXIS_TP] : 1);
}
static double experts_held(const rlt_training *t, const rlt_model_layer *l)
{
    return (double)l->expert_parameters / t->ep / (l->sharded ? rlt_training_etp(t) : 1);
}
/* Those that are trained: dense ones or adapters (0), experts' (1). */
static double trained(const rlt_training *t, const rlt_model_layer *l, int which)
{
    if (t->lora_rank)
        return which ? 0 : (double)t->lora_rank * (double)l->sides;
    return which ? experts_held(t, l) : dense_held(t, l);
}

static bool in_block(const rlt_model *m, uint32_t i)
{
    while (i > 0 && m->layers[i - 1].block == m->layers[i].block)
        i--;
    return m->layers[i].movable;
}
static double weight_bytes(const rlt_training *t, uint32_t i)
{
    bool narrow = t->model->layers[i].work == RLT_WORK_MATMUL && in_block(t->model, i);
    return rlt_precision_bytes(narrow ? t->param_precision : 0, t->element_bytes);
}

static bool whole_kept(const rlt_training *t)
{
    return t->zero == 3 &&
           (t->reshard == RLT_RESHARD_OFF || (t->reshard == RLT_RESHARD_AUTO && t->size[RLT_AXIS_PP] > 1));
}

static group state_group(const rlt_training *t, int which)
{
    return t->shard ? SHARD : which ? EXPERT_DP : DP;
}

/* Reductions */

static void reduce(rank *r, int which)
{
    const rlt_training *t = r->t;
    double bytes = r->bucket[which] * t->gradient_bytes * (1 - t->sparsity);
    group g = state_group(t, which);
    bool some = r->bucket[which] > 0 && t->sync_every < 2;
    int n = r->n, op = NOTHING;
    r->bucket[which] = 0;
    if (some && members(t, g) > 1) {
        end_compute(r, "backward");
        op = collective(r, gradient_stream, g, t->zero ? RLT_REDUCE_SCATTER : RLT_ALL_REDUCE, bytes,
                        which ? "expert gradients" : "gradients");
    }
    if (some && members(t, REPLICA) > 1) {
        end_compute(r, "backward");
        op = collective(r, gradient_stream, REPLICA, RLT_ALL_REDUCE, bytes / t->shard, "gradients of copies");
    }
    if (op != NOTHING)
        r->ops[op].reduction = true;
    r->first_bucket &= r->n == n;
}

/* Gradients go to buckets, which are reduced when they are full; ZeRO 3 reduces those of a block. */
static void give(rank *r, uint32_t i)
{
    const rlt_training *t = r->t;
    for (int which = 0; which < 2; which++) {
        uint64_t limit = r->first_bucket ? t->first_bucket_bytes : t->bucket_bytes;
        r->bucket[which] += (double)(uint64_t)(trained(t, &t->model->layers[i], which) + 0.5);
        if (t->overlap && t->zero < 3 && r->bucket[which] * t->gradient_bytes >= (double)limit)
            reduce(r, which);
    }
}

/* Weights of ZeRO 3 */

static int gather(rank *r, const char *stream, uint32_t first, uint32_t end)
{
    const rlt_training *t = r->t;
    int op = NOTHING;
    for (int which = 0; which < 2; which++) {
        double bytes = 0;
        for (uint32_t i = first; i < end; i++) {
            const rlt_model_layer *l = &t->model->layers[i];
            bytes += (which ? experts_held(t, l) : dense_held(t, l)) * weight_bytes(t, i);
            bytes += which ? 0 : (double)t->lora_rank * (double)l->sides * t->element_bytes;
        }
        if (members(t, state_group(t, which)) > 1 && bytes >= 1)
            op = collective(r, stream, state_group(t, which), RLT_ALL_GATHER, bytes,
                            which ? "expert weights" : "weights");
    }
    return op;
}

/* Before a block, its weights; with prefetching they came with the block before, and those of the next one are
 * gathered beside this one. `next` to `next_end` are the layers of the next block. */
static void weights_of(rank *r, uint32_t first, uint32_t end, uint32_t next, uint32_t next_end)
{
    bool prefetch = r->t->prefetch;
    int own = r->ahead;
    end_compute(r, r->word);
    if (own == NOTHING)
        own = gather(r, prefetch ? gradient_stream : compute_stream, first, end);
    r->ahead = prefetch && next < next_end ? gather(r, gradient_stream, next, next_end) : NOTHING;
    r->wait = own;
}

/* Layers */

/* Bytes per rank of elements per sample. */
static double bytes_of(const rlt_training *t, uint64_t elements)
{
    return (double)elements * t->microbatch * t->element_bytes / t->size[RLT_AXIS_CP];
}

static bool dense_product(const rlt_model_layer *l)
{
    return l->first_product + l->n_products == 2; /* the second one is not an expert's */
}

/* An exchange with experts. With sequence parallelism, or where the ranks of a tensor-parallel group have
 * different experts, each rank sends its part of the tokens. */
static void exchange(rank *r, const rlt_model_layer *l, bool back_again)
{
    const rlt_training *t = r->t;
    uint32_t tp = t->size[RLT_AXIS_TP], etp = rlt_training_etp(t);
    double bytes = bytes_of(t, l->ep_elements) / (t->sequence_parallel || etp < tp ? tp : 1);
    if (back_again)
        exposed(r, EXPERT_TP, RLT_REDUCE_SCATTER, bytes * etp, "expert reduce-scatter");
    exposed(r, EP, RLT_ALL_TO_ALL, bytes, back_again ? "expert combine" : "expert dispatch");
    if (!back_again)
        exposed(r, EXPERT_TP, RLT_ALL_GATHER, bytes * etp, "expert all-gather");
}

/* A layer with its communication. tp_inputs are gathered instead of tp_elements where the layer begins, so in
 * front of the forward pass and behind the backward pass. weights_ps: what compute adds for weights; i: its
 * gradients are given, if `gives`. */
static void layer(rank *r, uint32_t i, rlt_time ps, bool back, rlt_time weights_ps, bool gives)
{
    const rlt_training *t = r->t;
    const rlt_model_layer *l = &t->model->layers[i];
    bool sp = t->sequence_parallel, spread = l->ep_elements && rlt_training_etp(t) < t->size[RLT_AXIS_TP];
    double all = bytes_of(t, l->tp_elements), narrow = l->tp_inputs ? bytes_of(t, l->tp_inputs) : all,
           in = back ? all : narrow, out = back ? narrow : all;
    double context =
        (double)l->cp_elements * t->microbatch * t->element_bytes / (l->sharded ? t->size[RLT_AXIS_TP] : 1);
    bool beside = t->tp_overlap && !spread && l->work == RLT_WORK_MATMUL && members(t, TP) > 1 && all >= 1;
    if (sp && !beside && !(spread && !dense_product(l)))
        exposed(r, TP, RLT_ALL_GATHER, in, "tp all-gather");
    exchange(r, l, false);
    exposed(r, CP, back ? RLT_REDUCE_SCATTER : RLT_ALL_GATHER, context, "context keys and values");
    if (beside) {
        end_compute(r, r->word);
        collective(r, tensor_stream, TP, RLT_ALL_GATHER, in, "tp all-gather");
        int scatter = collective(r, tensor_stream, TP, RLT_REDUCE_SCATTER, out, "tp reduce-scatter");
        r->held += ps;
        end_compute(r, r->word);
        r->wait = scatter;
    } else
        r->held += ps;
    r->held += weights_ps;
    if (gives)
        give(r, i);
    exchange(r, l, true);
    if (!beside && (!spread || dense_product(l)))
        exposed(r, TP, sp ? RLT_REDUCE_SCATTER : RLT_ALL_REDUCE, out,
                sp ? "tp reduce-scatter" : "tp all-reduce");
    if (spread && !sp)
        exposed(r, TP, RLT_ALL_GATHER, out, "tp all-gather");
}

/* Passes */

static uint32_t block_after(const rlt_model *m, uint32_t i, uint32_t end)
{
    uint32_t block = m->layers[i].block;
    while (i < end && m->layers[i].block == block)
        i++;
    return i;
}

static void forward(rank *r, uint32_t first, uint32_t end, bool gathers)
{
    const rlt_model *m = r->t->model;
    r->held += r->t->pass_ps + r->times.pass_ps;
    for (uint32_t i = first, stop; i < end; i = stop) {
        stop = block_after(m, i, end);
        if (gathers)
            weights_of(r, i, stop, stop, stop < end ? block_after(m, stop, end) : stop);
        for (uint32_t k = i; k < stop; k++)
            layer(r, k, r->times.forward[k], false, 0, false);
    }
    end_compute(r, "forward");
}

/* Lists where the blocks of a chunk begin, and its end. */
static uint32_t blocks_of(const rlt_model *m, uint32_t first, uint32_t end, uint32_t *begins)
{
    uint32_t n = 0;
    for (uint32_t i = first; i < end; i = block_after(m, i, end))
        begins[n++] = i;
    begins[n] = end;
    return n;
}

static void backward(rank *r, uint32_t first, uint32_t end, const rlt__turn *turn, bool gives)
{
    const rlt_training *t = r->t;
    uint32_t begins[DRAWN_LAYERS + 1], n = blocks_of(t->model, first, end, begins);
    bool inputs = turn->pass == RLT__PASS_BACKWARD, weights = !turn->apart;
    r->held += inputs ? t->pass_ps + r->times.pass_ps : 0;
    for (uint32_t b = n; b-- > 0;) {
        if (inputs && t->zero == 3 && !whole_kept(t))
            weights_of(r, begins[b], begins[b + 1], b ? begins[b - 1] : 0, b ? begins[b] : 0);
        r->word = "recomputed forward";
        for (uint32_t i = begins[b]; inputs && i < begins[b + 1]; i++)
            if (t->recompute == RLT_RECOMPUTE_FULL && in_block(t->model, i))
                layer(r, i, r->times.again[i], false, 0, false);
            else
                r->held += r->times.again[i];
        r->word = inputs ? "backward" : "weight gradients";
        for (uint32_t i = begins[b + 1]; i-- > begins[b];) {
            rlt_time more = weights ? r->times.weights[i] : 0;
            if (weights && t->sparsity > 0)
                more += (rlt_time)(dense_held(t, &t->model->layers[i]) / t->compress_rate * 1e12);
            if (inputs)
                layer(r, i, r->times.backward[i], true, more, weights && gives);
            else {
                r->held += more;
                if (weights && gives)
                    give(r, i);
            }
        }
        for (int which = 0; which < 2 && weights && gives && t->zero == 3; which++)
            reduce(r, which);
    }
    end_compute(r, r->word);
}

/* A message; `by`: to or from the stage before (-1) or after (1). Returns NOTHING at the ends of the pipeline,
 * and where one stage has both chunks. */
static int message(rank *r, rlt_op_kind kind, uint32_t chunk, int by, bool back)
{
    const rlt_training *t = r->t;
    uint32_t pp = t->size[RLT_AXIS_PP], first, end;
    if (pp == 1 || (by < 0 ? chunk == 0 : chunk + 1 == pp * t->vp))
        return NOTHING;
    rlt_training_layers(t, by < 0 ? chunk - 1 : chunk, &first, &end);
    expected *e = push(r, back ? "gradient of activations" : "activations", NULL, kind);
    double parts = t->sequence_parallel || t->scatter_gather ? t->size[RLT_AXIS_TP] : 1;
    e->bytes = (uint64_t)(bytes_of(t, t->model->layers[end - 1].output_elements) / parts + 0.5);
    return r->n - 1;
}

/* A pass of a microbatch, from its message to the one it sends. */
static void turn_of(rank *r, const rlt__turn *turn)
{
    const rlt_training *t = r->t;
    uint32_t chunk = r->stage + turn->chunk * t->size[RLT_AXIS_PP], first, end;
    bool back = turn->pass != RLT__PASS_FORWARD, alone = turn->pass == RLT__PASS_WEIGHTS;
    bool last = turn->microbatch + 1 == rlt_training_microbatches(t),
         each = !whole_kept(t) && (t->zero == 3 || (t->zero == 2 && t->overlap));
    r->word = alone ? "weight gradients" : back ? "backward" : "forward";
    r->wait = alone ? NOTHING : message(r, RLT_OP_RECV, chunk, back ? 1 : -1, back);
    if (r->wait != NOTHING && t->scatter_gather && !t->sequence_parallel) {
        rlt_training_layers(t, back ? chunk : chunk - 1, &first, &end);
        exposed(r, TP, RLT_ALL_GATHER, bytes_of(t, t->model->layers[end - 1].output_elements),
                "tp all-gather");
    }
    rlt_training_layers(t, chunk, &first, &end);
    if (back)
        backward(r, first, end, turn, !turn->apart && (each || last));
    else
        forward(r, first, end, t->zero == 3 && (turn->microbatch == 0 || !whole_kept(t)));
    if (!alone)
        message(r, RLT_OP_SEND, chunk, back ? -1 : 1, back);
}

/* The optimizer, and what follows. */
static void step_of(rank *r)
{
    const rlt_training *t = r->t;
    double elements[2] = {0, 0}, bytes[2] = {0, 0};
    reduce(r, 0);
    reduce(r, 1);
    expected *e = push(r, "optimizer", compute_stream, RLT_OP_MEMORY);
    e->optimizer = true;
    e->duration_ps = -1;
    r->last = r->n - 1;
    for (uint32_t c = 0; c < t->vp; c++) {
        uint32_t first, end;
        rlt_training_layers(t, r->stage + c * t->size[RLT_AXIS_PP], &first, &end);
        for (uint32_t i = first; i < end; i++)
            for (int which = 0; which < 2; which++) {
                double n = trained(t, &t->model->layers[i], which);
                elements[which] += n;
                bytes[which] += n * (t->lora_rank ? t->element_bytes : weight_bytes(t, i));
            }
    }
    if (t->zero == 1 || t->zero == 2) {
        exposed(r, DP, RLT_ALL_GATHER, bytes[0], "weights");
        exposed(r, EXPERT_DP, RLT_ALL_GATHER, bytes[1], "expert weights");
    }
    if (t->sync_every > 1 && r->step % t->sync_every == t->sync_every - 1)
        exposed(r, DP, RLT_ALL_REDUCE, (elements[0] + elements[1]) * t->gradient_bytes, "parameters");
    if (t->host_ps + r->times.host_ps > 0) {
        e = push(r, "host", compute_stream, RLT_OP_HOST);
        e->duration_ps = t->host_ps + r->times.host_ps;
        r->last = r->n - 1;
    }
}

static void expect(rank *r)
{
    rlt_error err = {0};
    rlt__turn *turns;
    uint32_t n;
    r->last = r->wait = r->ahead = NOTHING;
    assert_int_equal(rlt__training_times(r->t, &r->times, &err), 0);
    assert_int_equal(rlt__training_turns(r->t, r->stage, &turns, &n, &err), 0);
    for (r->step = 0; r->step < r->t->steps; r->step++) {
        r->first_bucket = true;
        r->bucket[0] = r->bucket[1] = 0;
        for (uint32_t i = 0; i < n; i++)
            turn_of(r, &turns[i]);
        step_of(r);
    }
    free(turns);
    rlt__training_times_free(&r->times);
}

/* Comparison */

typedef struct place {
    uint32_t trial, op;
} place;

static void numbers(place at, const char *what, double got, double wanted)
{
    if (got < wanted || got > wanted)
        fail_msg("trial %u, operation %u: %s %.0f, expected %.0f", at.trial, at.op, what, got, wanted);
}

static void words(place at, const char *what, const char *got, const char *wanted)
{
    if (strcmp(got, wanted) != 0)
        fail_msg("trial %u, operation %u: %s '%s', expected '%s'", at.trial, at.op, what, got, wanted);
}

static void compare_deps(place at, const rlt_program *p, uint32_t first, const rlt_op *op, const rank *r)
{
    static uint8_t marks[MOST_OPS];
    const expected *e = &r->ops[at.op];
    memset(marks, 0, sizeof marks);
    for (int i = 0; i < r->n && e->optimizer; i++)
        marks[i] = r->ops[i].reduction && r->ops[i].step == e->step;
    if (e->after != NOTHING)
        marks[e->after] = 1;
    if (e->other != NOTHING)
        marks[e->other] = 1;
    for (uint32_t i = 0; i < op->n_deps; i++) {
        uint32_t on = p->deps[op->first_dep + i] - first;
        if (on >= (uint32_t)r->n || !marks[on])
            fail_msg("trial %u, operation %u waits for %u", at.trial, at.op, on);
        marks[on] = 2;
    }
    for (int i = 0; i < r->n; i++)
        if (marks[i] == 1)
            fail_msg("trial %u, operation %u does not wait for %d", at.trial, at.op, i);
}

static void compare_collective(place at, const rlt_program *p, const rlt_comm *c, const rank *r)
{
    const expected *e = &r->ops[at.op];
    char label[64];
    numbers(at, "collective", c->kind, e->coll);
    numbers(at, "bytes", (double)c->bytes, (double)e->bytes);
    numbers(at, "members", p->group_first[c->group + 1] - p->group_first[c->group], members(r->t, e->of));
    snprintf(label, sizeof label, "%s of rank %u", group_names[e->of],
             p->group_ranks[p->group_first[c->group]]);
    words(at, "group", rlt_program_string(p, p->group_names[c->group]), label);
}

static void compare(uint32_t trial, const rlt_program *p, uint32_t index, const rank *r)
{
    uint32_t first = p->rank_first[index], n = p->rank_first[index + 1] - first;
    for (uint32_t i = 0; i < n && i < (uint32_t)r->n; i++) {
        const rlt_op *op = &p->ops[first + i];
        const expected *e = &r->ops[i];
        place at = {trial, i};
        words(at, "name", rlt_program_string(p, op->name), e->name);
        numbers(at, "kind", op->kind, e->kind);
        numbers(at, "step", op->step, e->step);
        words(at, "stream",
              op->resource == RLT_NONE ? "" : rlt_program_string(p, p->resources[op->resource].name),
              e->stream ? e->stream : "");
        if (e->duration_ps >= 0)
            numbers(at, "duration", (double)op->duration_ps, (double)e->duration_ps);
        if (e->kind == RLT_OP_COLLECTIVE)
            compare_collective(at, p, &p->comms[op->comm], r);
        if (e->kind == RLT_OP_SEND || e->kind == RLT_OP_RECV)
            numbers(at, "bytes", (double)p->comms[op->comm].bytes, (double)e->bytes);
        compare_deps(at, p, first, op, r);
    }
    assert_int_equal(n, r->n);
}

static void as_listed(void **state)
{
    dice d = {.seed = 11};
    uint32_t planned = 0;
    (void)state;
    for (uint32_t k = 0; k < TRIALS; k++) {
        static drawn x;
        static rank r;
        if (!drawn_training(&x, &d, 2))
            continue;
        memset(&r, 0, sizeof r);
        r.x = &x;
        r.t = &x.f.t;
        uint32_t index = below(&d, rlt_training_ranks(r.t)), at[RLT_AXES_OF_LAYOUT];
        rlt_program *p = NULL;
        rlt_error err = {0};
        rlt_training_place(r.t, index, at);
        r.stage = at[RLT_AXIS_PP];
        if (rlt_training_program(r.t, &p, &err))
            fail_msg("trial %u: %s: %s", k, err.where, err.what);
        expect(&r);
        compare(k, p, index, &r);
        rlt_program_free(p);
        planned++;
    }
    printf("# %u of %d planned\n", planned, TRIALS);
    assert_true(planned > TRIALS / 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_listed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
