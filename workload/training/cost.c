/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Passes built without a program: their times are added up by stream. */
#include "workload/training/cost.h"

#include <stdlib.h>
#include <string.h>

#include "net/topology/placement.h"
#include "workload/models/model.h"
#include "workload/training/internal.h"
#include "workload/training/work.h"

/* Returns the time added to a stream since the last call, and forgets it. */
static rlt_time take(rlt__work *w, int stream)
{
    rlt_time spent = w->spent[stream];
    w->spent[stream] = 0;
    return spent;
}

static int begin_stage(rlt__work *w, uint32_t stage, uint32_t *ranks, rlt_error *err)
{
    const rlt_training *t = w->t;
    w->rank = stage;
    w->last = w->pending_after = w->ahead = w->opened = w->beside = RLT_NONE;
    w->bucket[0] = w->bucket[1] = 0;
    w->n_reductions = 0;
    w->first_bucket = true;
    w->compute = RLT__WORK_COMPUTE;
    w->gradients = RLT__WORK_GRADIENTS;
    w->tensors = w->experts = w->ways[0] = w->ways[1] = RLT__WORK_BESIDE;
    /* Communication of a pass may go on beside another pass. */
    w->aside = rlt__two_ways(t) || t->schedule == RLT_SCHEDULE_MESSAGE ? RLT__WORK_BESIDE : RLT_NONE;
    rlt_folded_place(t, w->folds, stage, w->at);
    return rlt__spans_groups(w, ranks, err);
}

static rlt_time pass(rlt__work *w, uint32_t chunk, const rlt__turn *turn, bool gradients)
{
    uint32_t at = rlt__chunk_at(w->t, w->at[RLT_AXIS_PP], chunk);
    rlt__work_gather_parts(w, turn);
    if (turn->pass == RLT__PASS_FORWARD)
        rlt__work_forward(w, at, false);
    else
        rlt__work_backward(w, at, turn, gradients);
    rlt__work_flush(w, "forward");
    w->ahead = RLT_NONE;
    return take(w, RLT__WORK_COMPUTE);
}

/* Adds up the reductions of ZeRO 2, where a bucket that a microbatch leaves is filled by the next one. *last:
 * those of the last pass. */
static int carried(rlt__work *w, rlt_time *all, rlt_time *last, rlt_error *err)
{
    const rlt_training *t = w->t;
    rlt__turn *turns;
    uint32_t n, first, end;
    int rc = rlt__training_turns(t, w->at[RLT_AXIS_PP], &turns, &n, err);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < n; i++) {
        if (turns[i].pass == RLT__PASS_FORWARD || turns[i].apart)
            continue;
        rlt__work_layers(w, rlt__chunk_at(t, w->at[RLT_AXIS_PP], turns[i].chunk), &first, &end);
        while (end-- > first)
            rlt__work_give_gradients(w, &t->model->layers[end]);
        *last = take(w, RLT__WORK_GRADIENTS);
        *all = rlt_time_add(*all, *last);
    }
    free(turns);
    return 0;
}

/* Finds the parts of a stage. Gradients are given to buckets by the last microbatch, or by each. */
static int stage_cost(rlt__work *w, bool passes_only, rlt_chunk_cost *chunks, rlt_stage_cost *out,
                      rlt_error *err)
{
    const rlt_training *t = w->t;
    bool apart = rlt__defers_weights(t),
         carries = t->zero == 2 && t->overlap && !rlt__keeps_whole(t) && t->schedule != RLT_SCHEDULE_MESSAGE,
         each = t->zero == 3 && !rlt__keeps_whole(t);
    uint32_t first, m;
    int rc = 0;
    rlt_time all = 0, last = 0;
    *out = (rlt_stage_cost){0};
    for (uint32_t c = t->vp; c-- > 0;) {
        rlt_chunk_cost *k = &chunks[c];
        rlt__turn forward = {.pass = RLT__PASS_FORWARD, .chunk = c},
                  backward = {.pass = RLT__PASS_BACKWARD, .chunk = c, .apart = apart},
                  weights = {.pass = RLT__PASS_WEIGHTS, .chunk = c}, whole = backward;
        rlt__microbatches_of(t, w->at[RLT_AXIS_PP], c, &first, &m);
        *k = (rlt_chunk_cost){.forward_ps = pass(w, c, &forward, false)};
        rlt_time gathers = take(w, RLT__WORK_GRADIENTS), again;
        k->inputs_ps = pass(w, c, &backward, false);
        again = take(w, RLT__WORK_GRADIENTS);
        k->weights_ps = apart ? pass(w, c, &weights, false) : 0;
        k->exposed_ps = take(w, RLT__WORK_EXPOSED);
        if (passes_only)
            continue;
        whole.apart = false;
        pass(w, c, &whole, !carries);
        last = take(w, RLT__WORK_GRADIENTS) - again;
        take(w, RLT__WORK_EXPOSED);
        all = rlt_time_add(all, rlt_time_mul(rlt_time_add(gathers, again), m));
        all = rlt_time_add(all, rlt_time_mul(last, each ? m : 1));
    }
    if (passes_only)
        return 0;
    if (carries)
        rc = carried(w, &all, &last, err);
    rlt__work_end(w);
    rlt_time buckets = take(w, RLT__WORK_GRADIENTS), step = take(w, RLT__WORK_COMPUTE);
    buckets = t->offload ? 0 : buckets; /* its sums go on beside its steps */
    out->step_ps = step;
    out->end_ps = rlt_time_add(buckets, step);
    out->gradients_ps = rlt_time_add(all, buckets);
    out->last_ps = apart ? 0 : rlt_time_add(last, buckets);
    take(w, RLT__WORK_EXPOSED);
    return rc;
}

/* Returns true if two layers do the same, on this training. */
static bool alike(const rlt__work *w, uint32_t a, uint32_t b)
{
    const rlt_training *t = w->t;
    if (a >= t->blocks.alike && b >= t->blocks.alike && a < t->blocks.alike_end && b < t->blocks.alike_end)
        return a % t->blocks.period == b % t->blocks.period;
    const rlt_model_layer *x = &t->model->layers[a], *y = &t->model->layers[b];
    rlt_model_layer one = *x, other = *y;
    const rlt__times *at = &w->times;
    memset(one.name, 0, sizeof one.name);
    memset(other.name, 0, sizeof other.name);
    one.block = other.block = one.first_product = other.first_product = 0;
    return memcmp(&one, &other, sizeof one) == 0 && at->forward[a] == at->forward[b] &&
           at->backward[a] == at->backward[b] && at->weights[a] == at->weights[b] &&
           at->again[a] == at->again[b] && (a == t->copies) == (b == t->copies) &&
           (!x->ep_elements || rlt__divides_dense(t->model, x) == rlt__divides_dense(t->model, y));
}

/* Returns true if a chunk of two stages has the same layers in the same blocks, and receives and sends, or
 * not. Layers at the end of blocks, and the embeddings before, are told apart by what they do. */
static bool same_chunk(const rlt__work *w, uint32_t a, uint32_t b, uint32_t chunk)
{
    const rlt_training *t = w->t;
    const rlt_model_layer *layers = t->model->layers;
    uint32_t x, x_end, y, y_end, peer;
    rlt__work_layers(w, rlt__chunk_at(t, a, chunk), &x, &x_end);
    rlt__work_layers(w, rlt__chunk_at(t, b, chunk), &y, &y_end);
    for (int by = -1; by <= 1; by += 2)
        if (rlt__next_stage(t, a, chunk, by, &peer) != rlt__next_stage(t, b, chunk, by, &peer))
            return false;
    if (x_end - x != y_end - y)
        return false;
    uint32_t before_x = x ? x - 1 : x, before_y = y ? y - 1 : y;
    if (x < x_end && layers[before_x].output_elements != layers[before_y].output_elements)
        return false;
    for (uint32_t i = 0; i < x_end - x; i++)
        if (layers[x + i].block - layers[x].block != layers[y + i].block - layers[y].block ||
            !alike(w, x + i, y + i))
            return false;
    return true;
}

/* Returns true if stage `s` has the times of the one before, which has these `groups` and `members`. With
 * several chunks, ZeRO 2 may carry gradients from one to another in another order. */
static bool same_stage(const rlt__work *w, uint32_t s, const uint32_t *groups, const uint32_t *members,
                       bool passes_only)
{
    const rlt_training *t = w->t;
    if (s == 0 || rlt__two_ways(t) || t->schedule == RLT_SCHEDULE_MESSAGE ||
        (t->zero == 2 && t->vp > 1 && !passes_only) || memcmp(groups, w->groups, sizeof w->groups) != 0 ||
        memcmp(members, w->members, sizeof w->members) != 0 ||
        (w->speeds && (w->speeds[s] < w->speeds[s - 1] || w->speeds[s] > w->speeds[s - 1])))
        return false;
    for (uint32_t c = 0; c < t->vp; c++)
        if (!same_chunk(w, s - 1, s, c))
            return false;
    return true;
}

/* Finds the parts of all stages. `ranks` has room for all ranks. */
static int find_stages(rlt__work *w, bool passes_only, uint32_t *ranks, rlt_training_cost *out,
                       rlt_error *err)
{
    uint32_t groups[RLT__GROUPS], members[RLT__GROUPS];
    int rc = 0;
    for (uint32_t s = 0; s < out->pp && !rc; s++) {
        rlt_chunk_cost *chunks = &out->chunks[(size_t)s * out->vp];
        memcpy(groups, w->groups, sizeof groups);
        memcpy(members, w->members, sizeof members);
        if ((rc = begin_stage(w, s, ranks, err)))
            break;
        w->speed = w->speeds ? w->speeds[s] : 1;
        if (same_stage(w, s, groups, members, passes_only)) {
            memcpy(chunks, chunks - out->vp, out->vp * sizeof *chunks);
            out->stages[s] = out->stages[s - 1];
            continue;
        }
        rc = stage_cost(w, passes_only, chunks, &out->stages[s], err);
        if (!rc && w->failed.code)
            rc = rlt_fail(err, w->failed.code, w->failed.where, "%s", w->failed.what);
    }
    return rc;
}

int rlt_training_cost_of(const rlt_training *t, rlt_spans *spans, rlt_cost_communication communication,
                         bool passes_only, rlt_training_cost *out, rlt_error *err)
{
    const rlt_replay_options *how = rlt__spans_how(spans);
    rlt__folded f = {.axes = RLT_FOLD_STAGES, .spread = rlt__experts_spread(t), .how = how};
    uint32_t pp = t->size[RLT_AXIS_PP], n = rlt_training_ranks(t), *ranks = malloc((n + 1) * sizeof *ranks);
    /* Only in a known order is it known which ranks are in a stage. */
    bool stragglers = how->rank_compute_scale && communication == RLT_COST_EXACT && !passes_only;
    double *speeds = stragglers ? malloc(((size_t)n + 1) * sizeof *speeds) : NULL;
    rlt__work w = {.t = t,
                   .folded = &f,
                   .folds = f.axes,
                   .spans = spans,
                   .communication = (int)communication,
                   .speeds = speeds};
    rlt__spans_begin(spans, n);
    *out = (rlt_training_cost){.pp = pp,
                               .vp = t->vp,
                               .slowdown = how->overlap_slowdown,
                               .chunks = calloc((size_t)pp * t->vp, sizeof *out->chunks),
                               .stages = calloc(pp, sizeof *out->stages)};
    int rc = ranks && out->chunks && out->stages && (speeds || !stragglers) ? rlt__work_chunks(&w, err)
                                                                            : rlt_nomem(err);
    if (!rc && stragglers)
        rlt_folded_speeds(t, f.axes, how->rank_compute_scale, speeds);
    if (!rc)
        rc = rlt__training_times(t, &w.times, err);
    if (!rc)
        rc = find_stages(&w, passes_only, ranks, out, err);
    rlt__folded_free(&f);
    rlt__training_times_free(&w.times);
    free(w.firsts);
    free(w.reductions);
    free(speeds);
    free(ranks);
    return rc;
}

int rlt_training_cost_find(const rlt_training *t, const rlt_replay_options *how, rlt_timing *alone,
                           bool passes_only, rlt_training_cost *out, rlt_error *err)
{
    rlt_spans *spans;
    *out = (rlt_training_cost){0};
    int rc = rlt_spans_create(how, alone, &spans, err);
    if (!rc)
        rc = rlt_training_cost_of(t, spans, alone ? RLT_COST_EXACT : RLT_COST_NONE, passes_only, out, err);
    rlt_spans_free(spans);
    return rc;
}

void rlt_training_cost_free(rlt_training_cost *c)
{
    free(c->chunks);
    free(c->stages);
    *c = (rlt_training_cost){0};
}

/* Parts of a backward pass that a bound counts. */
typedef enum counted { ALL, WITHOUT_WEIGHTS } counted;

static rlt_time backward_of(const rlt_chunk_cost *c, counted what)
{
    return rlt_time_add(c->inputs_ps, what == ALL ? c->weights_ps : 0);
}

static rlt_time busy_of(const rlt_training *t, const rlt_training_cost *c, uint32_t stage, counted what)
{
    rlt_time busy = 0;
    for (uint32_t k = 0; k < c->vp; k++) {
        const rlt_chunk_cost *chunk = &c->chunks[(size_t)stage * c->vp + k];
        uint32_t first, m;
        rlt__microbatches_of(t, stage, k, &first, &m);
        busy = rlt_time_add(busy, rlt_time_mul(rlt_time_add(chunk->forward_ps, backward_of(chunk, what)), m));
    }
    return busy;
}

/* Returns the most that can follow the last pass of a stage: its own end, or that of an earlier stage, after
 * the passes in between. */
static rlt_time tail_of(const rlt_training_cost *c, uint32_t stage, counted what)
{
    rlt_time most = c->stages[stage].end_ps, back = 0;
    for (uint32_t u = stage; u-- > 0;) {
        back = rlt_time_add(back, backward_of(&c->chunks[(size_t)u * c->vp], what));
        rlt_time all = rlt_time_add(back, c->stages[u].end_ps);
        most = all > most ? all : most;
    }
    return most;
}

/* Returns what gradients on the wire add to compute beside them, at least. */
static rlt_time slowed(const rlt_training *t, const rlt_training_cost *c, uint32_t stage, rlt_time head)
{
    const double rounded = 1 - 1e-6; /* times of operations are whole picoseconds */
    rlt_time hidden = head;
    for (uint32_t k = 0; k < c->vp; k++) {
        uint32_t first, m;
        rlt__microbatches_of(t, stage, k, &first, &m);
        hidden = rlt_time_add(hidden, rlt_time_mul(c->chunks[(size_t)stage * c->vp + k].exposed_ps, m));
    }
    rlt_time beside = c->stages[stage].gradients_ps - hidden;
    return beside > 0 && c->slowdown > 1 ? (rlt_time)((double)beside * (1 - 1 / c->slowdown) * rounded) : 0;
}

/* Returns the bound by one stage. head: the passes that it waits for at first. */
static rlt_time bound_by(const rlt_training *t, const rlt_training_cost *c, uint32_t stage, rlt_time head)
{
    bool ordered = t->schedule == RLT_SCHEDULE_GPIPE || t->schedule == RLT_SCHEDULE_1F1B ||
                   t->schedule == RLT_SCHEDULE_INTERLEAVED,
         zero_bubble = t->schedule == RLT_SCHEDULE_ZERO_BUBBLE;
    const rlt_stage_cost *s = &c->stages[stage];
    rlt_time begun = ordered || zero_bubble ? head : 0, done = rlt_time_add(begun, busy_of(t, c, stage, ALL)),
             most = rlt_time_add(done, s->end_ps);
    rlt_time ways[] = {
        rlt_time_add(s->gradients_ps, s->step_ps), ordered ? rlt_time_add(done, tail_of(c, stage, ALL)) : 0,
        zero_bubble ? rlt_time_add(rlt_time_add(begun, busy_of(t, c, stage, WITHOUT_WEIGHTS)),
                                   tail_of(c, stage, WITHOUT_WEIGHTS))
                    : 0,
        ordered ? rlt_time_add(rlt_time_add(done, slowed(t, c, stage, head)), s->step_ps) : 0,
        ordered ? rlt_time_add(
                      rlt_time_add(done - backward_of(&c->chunks[(size_t)stage * c->vp], ALL), s->last_ps),
                      s->step_ps)
                : 0};
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++)
        most = ways[k] > most ? ways[k] : most;
    return most;
}

rlt_time rlt_training_bound(const rlt_training *t, const rlt_training_cost *c)
{
    rlt_time bound = 0, head = 0;
    for (uint32_t s = 0; s < c->pp; s++) {
        rlt_time by = bound_by(t, c, s, head);
        bound = by > bound ? by : bound;
        head = rlt_time_add(head, c->chunks[(size_t)s * c->vp].forward_ps);
    }
    return bound;
}
