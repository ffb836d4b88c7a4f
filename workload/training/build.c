/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Builds the execution graph of a training from passes (pass.c). Every rank has a compute stream and a stream
 * of gradient communication. A receive is posted when a stage has nothing else left to do; the message-driven
 * schedule posts one in each direction at once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/topology/placement.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "workload/models/model.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"
#include "workload/timing/timing.h"
#include "workload/training/internal.h"
#include "workload/training/memory_time.h"
#include "workload/training/passes.h"
#include "workload/training/training.h"
#include "workload/training/work.h"

/* Between stages */

/* Returns whether another rank has the chunk before (-1) or after (1) that of an index, and which. */
static bool neighbour(const rlt__work *w, uint32_t index, int by, uint32_t *rank)
{
    uint32_t at[RLT_AXES_OF_LAYOUT];
    memcpy(at, w->at, sizeof at);
    if (!rlt__next_stage(w->t, w->at[RLT_AXIS_PP], index, by, &at[RLT_AXIS_PP]))
        return false;
    *rank = rlt_folded_rank(w->t, w->folds, at);
    return true;
}

/* Returns the bytes of activations at the end of a chunk. */
static double boundary(const rlt__work *w, uint32_t chunk)
{
    uint32_t first, end;
    rlt__work_layers(w, chunk, &first, &end);
    return rlt__work_bytes(w, (double)w->t->model->layers[end - 1].output_elements);
}

/* Returns true if the ranks of a tensor-parallel group, which hold the same activations, each send a part of
 * them to the next stage, which gathers the parts (Narayanan et al., arXiv 2104.04473, section 4.1). */
static bool scatters(const rlt__work *w)
{
    return w->t->scatter_gather && !w->t->sequence_parallel && w->t->schedule != RLT_SCHEDULE_MESSAGE;
}

/* Adds a message between a chunk and the one before (by < 0) or after it, in the forward or the backward
 * pass. */
static uint32_t message(rlt__work *w, rlt_op_kind kind, uint32_t index, int by, bool back,
                        uint32_t microbatch, uint32_t after)
{
    uint32_t peer, chunk = rlt__chunk_at(w->t, w->at[RLT_AXIS_PP], index),
                   border = by < 0 ? chunk - 1 : chunk;
    bool divided = w->t->sequence_parallel || scatters(w);
    rlt_op_desc d = rlt_op_desc_init(kind, w->rank);
    if (!neighbour(w, index, by, &peer))
        return RLT_NONE;
    d.peer = peer;
    d.bytes = (uint64_t)(boundary(w, border) / (divided ? w->t->size[RLT_AXIS_TP] : 1) + 0.5);
    d.purpose = RLT_FOR_PP;
    d.tag = (border * 2 + back) * rlt_training_microbatches(w->t) + microbatch;
    d.name = rlt__work_name(w, back ? "gradient of activations" : "activations");
    return rlt__work_op(w, &d, after);
}

void rlt__work_gather_parts(rlt__work *w, const rlt__turn *turn)
{
    uint32_t peer, chunk = rlt__chunk_at(w->t, w->at[RLT_AXIS_PP], turn->chunk);
    bool back = turn->pass != RLT__PASS_FORWARD;
    if (turn->pass == RLT__PASS_WEIGHTS || !scatters(w) || !neighbour(w, turn->chunk, back ? 1 : -1, &peer))
        return;
    w->doing = back ? "backward" : "forward"; /* the name of what waits for the message */
    rlt__work_communicate(w, RLT__GROUP_TP, RLT_ALL_GATHER, boundary(w, back ? chunk : chunk - 1),
                          "tp all-gather");
}

static uint32_t of_rank(const rlt__work *w, uint32_t op)
{
    return op == RLT_NONE ? RLT_NONE : op - w->origin;
}

static void record(rlt__work *w, const rlt__turn *turn, uint32_t first, uint32_t last)
{
    const rlt_training_pass pass = {of_rank(w, first), of_rank(w, last),     turn->microbatch,
                                    turn->chunk,       (rlt_pass)turn->pass, turn->apart};
    rlt_error err = {0};
    if (w->records && rlt__passes_add(w->t->passes, w->at[RLT_AXIS_PP], &pass, &err))
        rlt__work_fail(w, &err);
}

/* Adds the receive before a turn, or the message after it. */
static uint32_t turn_message(rlt__work *w, rlt_op_kind kind, const rlt__turn *turn)
{
    bool back = turn->pass != RLT__PASS_FORWARD;
    int by = (kind == RLT_OP_RECV) == back ? 1 : -1;
    if (turn->pass == RLT__PASS_WEIGHTS)
        return RLT_NONE;
    return message(w, kind, turn->chunk, by, back, turn->microbatch, w->last);
}

/* Adds the layers of a turn. each: gradients are reduced after each microbatch, not after the last only. */
static void turn_layers(rlt__work *w, const rlt__turn *turn, bool each)
{
    uint32_t first, n, stage = w->at[RLT_AXIS_PP], chunk = rlt__chunk_at(w->t, stage, turn->chunk);
    rlt__microbatches_of(w->t, stage, turn->chunk, &first, &n);
    bool last = turn->microbatch + 1 == first + n;
    rlt__work_gather_parts(w, turn);
    w->opened = RLT_NONE;
    if (turn->pass == RLT__PASS_FORWARD)
        rlt__work_forward(w, chunk, turn->microbatch == first);
    else
        rlt__work_backward(w, chunk, turn, !turn->apart && (each || last));
    rlt__work_flush(w, "forward");
    record(w, turn, w->opened, w->last);
}

/* Adds a forward pass and the backward pass beside it. Both begin when both messages are there, and their
 * results are sent when both have ended. Compute of one goes on during communication of the other. */
static void pair(rlt__work *w, const rlt__turn *turns, bool each)
{
    uint32_t begin, end, other = turn_message(w, RLT_OP_RECV, &turns[1]);
    w->pending_after = turn_message(w, RLT_OP_RECV, &turns[0]);
    if (w->pending_after == RLT_NONE) {
        w->pending_after = other;
        other = RLT_NONE;
    }
    rlt__work_flush(w, "forward and backward");
    if (other != RLT_NONE)
        rlt__work_dep(w, w->last, other);
    begin = w->last;
    w->aside = w->ways[0];
    turn_layers(w, &turns[0], each);
    end = w->last;
    w->last = begin;
    w->aside = w->ways[1];
    turn_layers(w, &turns[1], each);
    w->aside = RLT_NONE;
    w->pending_after = end;
    rlt__work_flush(w, "forward and backward");
    turn_message(w, RLT_OP_SEND, &turns[0]);
    turn_message(w, RLT_OP_SEND, &turns[1]);
}

/* Builds an iteration in the fixed order of a schedule. */
static int static_order(rlt__work *w, rlt_error *err)
{
    const rlt_training *t = w->t;
    uint32_t n;
    rlt__turn *turns;
    int rc = rlt__training_turns(t, w->at[RLT_AXIS_PP], &turns, &n, err);
    /* Divided gradients are not accumulated over microbatches, if a stream can reduce them meanwhile. */
    bool each = !rlt__keeps_whole(t) && (t->zero == 3 || (t->zero == 2 && t->overlap));
    for (uint32_t i = 0; i < n && !rc; i++) {
        if (turns[i].paired) {
            pair(w, &turns[i++], each);
            continue;
        }
        w->pending_after = turn_message(w, RLT_OP_RECV, &turns[i]);
        turn_layers(w, &turns[i], each);
        turn_message(w, RLT_OP_SEND, &turns[i]);
    }
    if (!rc)
        free(turns);
    return rc;
}

/* Builds an iteration driven by messages. The passes of a microbatch depend only on their messages. The first
 * stage starts a new microbatch when one has come back. */
static void message_driven(rlt__work *w, uint32_t begin)
{
    const rlt_training *t = w->t;
    uint32_t m = rlt_training_microbatches(t), pp = t->size[RLT_AXIS_PP], stage = w->at[RLT_AXIS_PP];
    uint32_t from[2] = {begin, begin}, *done = malloc(((size_t)m + 1) * sizeof *done);
    uint32_t *latest = done, end = begin;
    if (!done) {
        rlt_error e = {.code = RLT_ENOMEM, .what = "out of memory"};
        rlt__work_fail(w, &e);
        return;
    }
    for (uint32_t i = 0; i < m; i++) {
        const rlt__turn turns[] = {{.pass = RLT__PASS_FORWARD, .microbatch = i},
                                   {.pass = RLT__PASS_BACKWARD, .microbatch = i}};
        uint32_t in = message(w, RLT_OP_RECV, 0, -1, false, i, from[0]);
        from[0] = in == RLT_NONE ? from[0] : in;
        w->last = in != RLT_NONE ? in : i >= pp ? latest[i - pp] : begin;
        w->opened = RLT_NONE;
        rlt__work_forward(w, stage, true);
        /* The last stage begins the backward pass at once. */
        if (stage + 1 < pp) {
            rlt__work_flush(w, "forward");
            message(w, RLT_OP_SEND, 0, 1, false, i, w->last);
            w->pending_after = from[1] = message(w, RLT_OP_RECV, 0, 1, true, i, from[1]);
        }
        uint32_t opened = w->opened;
        end = w->last;
        bool joined = w->gathered > 0; /* both passes share an operation */
        w->opened = RLT_NONE;
        rlt__work_backward(w, stage, &turns[1], false);
        if (joined) {
            end = w->opened;
            opened = opened == RLT_NONE ? end : opened;
        }
        record(w, &turns[0], opened, end);
        record(w, &turns[1], w->opened, w->last);
        message(w, RLT_OP_SEND, 0, -1, true, i, w->last);
        latest[i] = w->last;
    }
    /* The optimizer begins after all passes. */
    rlt_op_desc d = rlt_op_desc_init(RLT_OP_COMPUTE, w->rank);
    d.resource = w->compute;
    d.name = rlt__work_name(w, "all microbatches");
    end = rlt__work_op(w, &d, RLT_NONE);
    for (uint32_t i = 0; i < m; i++)
        rlt__work_dep(w, end, latest[i]);
    free(done);
    w->last = end;
    uint32_t first, stop;
    rlt__work_layers(w, stage, &first, &stop);
    for (uint32_t i = stop; i-- > first;)
        rlt__work_give_gradients(w, &t->model->layers[i]);
}

/* An iteration of a rank */

void rlt__work_end(rlt__work *w)
{
    const rlt_training *t = w->t;
    if (t->drain)
        rlt__work_communicate(w, RLT__GROUP_PP, RLT_BARRIER, 0, "drain");
    if (t->offload) {
        rlt__work_reduce_tied(w);
        rlt__work_optimize_offloaded(w);
    } else {
        rlt__work_reduce_bucket(w, 0);
        rlt__work_reduce_bucket(w, 1);
        rlt__work_reduce_tied(w);
        rlt__work_optimize(w);
    }
    if (t->host_ps + w->times.host_ps > 0) {
        rlt_op_desc d = rlt_op_desc_init(RLT_OP_HOST, w->rank);
        d.resource = w->compute;
        d.duration_ps = t->host_ps + w->times.host_ps;
        d.name = rlt__work_name(w, "host");
        w->last = rlt__work_op(w, &d, w->last);
    }
}

static int iteration(rlt__work *w, rlt_error *err)
{
    const rlt_training *t = w->t;
    int rc = 0;
    w->n_reductions = 0;
    w->bucket[0] = w->bucket[1] = 0;
    w->first_bucket = true;
    if (t->schedule == RLT_SCHEDULE_MESSAGE)
        message_driven(w, w->last);
    else
        rc = static_order(w, err);
    rlt__work_end(w);
    return rc;
}

/* Groups */

static void open_group(rlt__work *w, int group, uint32_t *ranks, uint32_t n)
{
    rlt_error err = {0};
    char label[48];
    w->groups[group] = RLT_NONE;
    w->members[group] = n;
    if (n < 2)
        return;
    if (rlt__folded_away(w->folded, group)) {
        if (rlt__folded_group(w->folded, ranks, n, &w->groups[group], &err))
            rlt__work_fail(w, &err);
        return;
    }
    snprintf(label, sizeof label, "%s of rank %u", rlt__group_name(group), ranks[0]);
    for (uint32_t i = 0; i < n && w->folds; i++) {
        uint32_t at[RLT_AXES_OF_LAYOUT];
        rlt_training_place(w->t, ranks[i], at);
        ranks[i] = rlt_folded_rank(w->t, w->folds, at);
    }
    w->groups[group] = rlt_build_group(w->b, label, ranks, n);
    for (uint32_t i = 0; i < n; i++)
        w->known[(size_t)group * w->ranks + ranks[i]] = (rlt__opened){w->groups[group], n};
}

/* Opens the groups of a rank, or takes those that other members have opened. `ranks` has room for all
 * ranks. */
static void open_groups(rlt__work *w, uint32_t *ranks)
{
    for (int g = 0; g < RLT__GROUPS; g++) {
        rlt__opened known = w->known[(size_t)g * w->ranks + w->rank];
        w->groups[g] = known.group;
        w->members[g] = known.members;
        if (!known.members)
            open_group(w, g, ranks, rlt__training_members(w->t, w->at, (rlt__group)g, ranks));
    }
}

static int build_rank(rlt__work *w, uint32_t rank, uint32_t *ranks, rlt_error *err)
{
    const rlt_training *t = w->t;
    int rc = 0;
    w->rank = rank;
    w->last = w->pending_after = w->ahead = w->opened = w->aside = RLT_NONE;
    w->n_ops = 0;
    w->beside = RLT_NONE;
    rlt_folded_place(t, w->folds, rank, w->at);
    w->records = t->passes && rank == rlt_stage_rank(t, t->passes, w->at[RLT_AXIS_PP]);
    open_groups(w, ranks);
    w->compute = rlt_build_resource(
        w->b, rank, t->schedule == RLT_SCHEDULE_MESSAGE ? RLT_RES_ARRIVAL : RLT_RES_STREAM, "compute stream");
    w->gradients = rlt_build_resource(w->b, rank, RLT_RES_STREAM, "gradient stream");
    for (int i = 0; i < 2 && rlt__two_ways(t); i++)
        w->ways[i] = rlt_build_resource(w->b, rank, RLT_RES_STREAM,
                                        i ? "backward communication" : "forward communication");
    w->tensors = t->tp_overlap ? rlt_build_resource(w->b, rank, RLT_RES_STREAM, "tensor stream") : RLT_NONE;
    w->experts = t->expert_overlap || t->dispatch.message_ps
                     ? rlt_build_resource(w->b, rank, RLT_RES_STREAM, "expert stream")
                     : RLT_NONE;
    for (uint32_t s = 0; s < t->steps && !rc; s++) {
        w->step = (uint16_t)s;
        rc = iteration(w, err);
    }
    if (w->records)
        t->passes->stages[w->at[RLT_AXIS_PP]].n_ops = w->n_ops;
    return rc;
}

/* Refuses programs that are too large before building them: each microbatch is at least one operation per
 * rank. */
static int check_work(const rlt_training *t, uint32_t ranks, rlt_error *err)
{
    double least = (double)ranks * rlt_training_microbatches(t) * t->steps;
    return least <= RLT_MAX_OPS
               ? 0
               : rlt_fail(err, RLT_ERANGE, "batch",
                          "%u ranks x %u microbatches x %u steps exceed the limit of %d operations in a run",
                          ranks, rlt_training_microbatches(t), t->steps, RLT_MAX_OPS);
}

static int build(const rlt_training *t, rlt__folded *folded, rlt_program **out, rlt_error *err)
{
    rlt__work w = {.t = t, .folded = folded, .folds = folded ? folded->axes : 0};
    uint32_t n = rlt_folded_ranks(t, w.folds);
    uint32_t *ranks = malloc(((size_t)rlt_training_ranks(t) + 1) * sizeof *ranks);
    w.ranks = n;
    w.known = calloc((size_t)n * RLT__GROUPS, sizeof *w.known);
    int rc = ranks && w.known ? check_work(t, n, err) : rlt_nomem(err);
    if (!rc)
        rc = rlt_builder_create(n, &w.b, err);
    if (!rc && !(rc = rlt__work_chunks(&w, err)))
        rc = rlt__training_times(t, &w.times, err);
    if (!rc && t->passes)
        rc = rlt__passes_begin(t->passes, t->size[RLT_AXIS_PP], w.folds, err);
    for (uint32_t r = 0; r < n && !rc && !rlt_build_failed(w.b); r++)
        rc = build_rank(&w, r, ranks, err);
    if (!rc) {
        rc = rlt_builder_finish(w.b, "training", out, err);
        w.b = NULL;
    }
    rlt_builder_free(w.b);
    rlt__training_times_free(&w.times);
    free(w.firsts);
    free(w.reductions);
    free(w.known);
    free(ranks);
    return rc;
}

int rlt_training_program(const rlt_training *t, rlt_program **out, rlt_error *err)
{
    return build(t, NULL, out, err);
}

int rlt_training_fold(const rlt_training *t, uint32_t axes, const rlt_replay_options *how, rlt_timing *alone,
                      rlt_program **out, rlt_placement *where, rlt_error *err)
{
    uint32_t n = rlt_folded_ranks(t, axes);
    rlt_placement identity = {.n = rlt_training_ranks(t)};
    rlt__folded f = {.axes = axes,
                     .spread = rlt__experts_spread(t),
                     .how = how,
                     .where = how->placement ? how->placement : &identity,
                     .alone = alone};
    *where = (rlt_placement){.n = n, .accelerator = malloc(n * sizeof(uint32_t))};
    int rc = where->accelerator ? build(t, &f, out, err) : rlt_nomem(err);
    for (uint32_t r = 0; r < n && !rc; r++) {
        uint32_t at[RLT_AXES_OF_LAYOUT];
        rlt_folded_place(t, axes, r, at);
        where->accelerator[r] = rlt_placed(f.where, rlt_training_rank(t, at));
    }
    if (rc)
        rlt_placement_free(where);
    rlt__folded_free(&f);
    return rc;
}
