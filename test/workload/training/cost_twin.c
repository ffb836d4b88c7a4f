/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parts of an iteration of random trainings against the program of a rank per stage, where each communication
 * is a delay: the time of every pass, the streams of compute and of gradients, what is exposed, and what
 * follows the passes are the sums over its operations. And the bound of parts at random, by the formulas of
 * cost.h.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "net/import/import.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/trainings/drawn_training.h"
#include "test/support/trainings/training.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"
#include "workload/timing/timing.h"
#include "workload/training/cost.h"
#include "workload/training/passes.h"
#include "workload/training/training.h"

enum { TRIALS = 4000, BOUNDS = 4000, RANKS = 128 };

/* A duration in which all of a request is told apart. */
static int duration(rlt_timing *t, const rlt_coll_request *req, rlt_time *duration_ps, rlt_error *err)
{
    (void)t;
    (void)err;
    *duration_ps = 1000 * (rlt_time)(req->kind + 1) + 3 * (rlt_time)req->bytes + 17 * (rlt_time)req->n;
    for (uint32_t i = 0; i < req->n; i++)
        *duration_ps += (rlt_time)((i + 1) * (req->ranks ? req->ranks[i] : i));
    return 0;
}

static rlt_timing closed_form = {.name = "closed form", .duration = duration};

/* The program of a training with one rank for each stage, and its parts. */
typedef struct both {
    const rlt_training *t;
    const rlt_replay_options *how;
    rlt_program *p;
    rlt_training_passes passes;
    rlt_training_cost cost;
    double speeds[RANKS];
    uint32_t trial, stage;
} both;

static void same(const both *x, const char *what, rlt_time got, rlt_time wanted)
{
    if (got != wanted)
        fail_msg("trial %u, stage %u: %s %lld, expected %lld", x->trial, x->stage, what, (long long)got,
                 (long long)wanted);
}

/* The time of operations [first, end) of the stage on a stream; only of collectives, or of reductions. */
typedef enum only { ALL, COLLECTIVES, REDUCTIONS } only;
static rlt_time sum(const both *x, uint32_t first, uint32_t end, const char *stream, only what)
{
    rlt_time all = 0;
    for (uint32_t i = first; i < end; i++) {
        const rlt_op *op = &x->p->ops[x->p->rank_first[x->stage] + i];
        if (op->resource == RLT_NONE ||
            strcmp(rlt_program_string(x->p, x->p->resources[op->resource].name), stream) != 0)
            continue;
        if (what == COLLECTIVES && op->kind != RLT_OP_DELAY)
            continue;
        if (what == REDUCTIONS && !strstr(rlt_program_string(x->p, op->name), "gradients"))
            continue;
        all += rlt_replay_scaled(x->how, (rlt_op_kind)op->kind, x->speeds[x->stage], op->duration_ps);
    }
    return all;
}

static void compare_passes(const both *x)
{
    const rlt_stage_passes *s = &x->passes.stages[x->stage];
    for (uint32_t i = 0, begin = 0; i < s->n; i++) {
        const rlt_training_pass *pass = &x->passes.at[s->first + i];
        const rlt_chunk_cost *c = &x->cost.chunks[x->stage * x->cost.vp + pass->chunk];
        uint32_t end = pass->last == RLT_NONE ? begin : pass->last + 1;
        rlt_time expected = pass->kind == RLT_PASS_FORWARD ? c->forward_ps
                            : pass->kind == RLT_PASS_WEIGHTS
                                ? c->weights_ps
                                : c->inputs_ps + (pass->apart ? 0 : c->weights_ps);
        same(x, "pass", expected, sum(x, begin, end, "compute stream", ALL));
        begin = end > begin ? end : begin;
    }
}

/* Buckets left over are the last of the reductions [first, end); with ZeRO 3 there are none, and without overlap
 * they are all. Else returns `claimed`, if it is the time of some last ones. */
static rlt_time left_over(const both *x, uint32_t first, uint32_t end, rlt_time claimed)
{
    if (!x->t->overlap && x->t->zero < 3)
        return sum(x, first, end, "gradient stream", ALL);
    for (uint32_t i = first; i <= end && x->t->zero < 3; i++)
        if (sum(x, i, end, "gradient stream", ALL) == claimed)
            return claimed;
    return 0;
}

static void compare_stage(const both *x)
{
    const rlt_stage_passes *s = &x->passes.stages[x->stage];
    const rlt_stage_cost *c = &x->cost.stages[x->stage];
    const rlt_training_pass *last = &x->passes.at[s->first + s->n - 1];
    uint32_t m = rlt_training_microbatches(x->t),
             n = x->p->rank_first[x->stage + 1] - x->p->rank_first[x->stage];
    uint32_t passed = last->last + 1;
    rlt_time exposed = 0;
    for (uint32_t k = 0; k < x->cost.vp; k++)
        exposed += m * x->cost.chunks[x->stage * x->cost.vp + k].exposed_ps;
    same(x, "exposed", exposed, sum(x, 0, passed, "compute stream", COLLECTIVES));
    same(x, "step", c->step_ps, sum(x, passed, n, "compute stream", ALL));
    same(x, "end", c->end_ps, c->step_ps + left_over(x, passed, n, c->end_ps - c->step_ps));
    same(x, "stream of gradients", c->gradients_ps, sum(x, 0, n, "gradient stream", ALL));
    bool apart = x->t->schedule == RLT_SCHEDULE_ZERO_BUBBLE;
    same(x, "last reductions", c->last_ps, apart ? 0 : sum(x, last->first, n, "gradient stream", REDUCTIONS));
}

/* Only the times of chunks are found, without and with communication. Ranks' own speeds are not among them. */
static void compare_passes_only(both *x, const rlt_training *t)
{
    rlt_error err = {0};
    rlt_replay_options how = *x->how;
    how.rank_compute_scale = NULL;
    for (int alone = 0; alone < 2; alone++) {
        rlt_training_cost all, some;
        size_t n = (size_t)x->cost.pp * x->cost.vp;
        assert_int_equal(rlt_training_cost_find(t, &how, alone ? &closed_form : NULL, false, &all, &err), 0);
        assert_int_equal(rlt_training_cost_find(t, x->how, alone ? &closed_form : NULL, true, &some, &err),
                         0);
        assert_int_equal(some.pp, t->size[RLT_AXIS_PP]);
        assert_int_equal(some.vp, t->vp);
        assert_memory_equal(some.chunks, all.chunks, n * sizeof *all.chunks);
        for (size_t k = 0; k < n && !alone; k++)
            same(x, "without communication", all.chunks[k].exposed_ps, 0);
        for (uint32_t s = 0; s < some.pp; s++)
            same(x, "stage that is not asked for",
                 some.stages[s].gradients_ps + some.stages[s].last_ps + some.stages[s].end_ps +
                     some.stages[s].step_ps,
                 0);
        rlt_training_cost_free(&all);
        rlt_training_cost_free(&some);
    }
}

static void compare(both *x, dice *d)
{
    rlt_training t = *x->t;
    rlt_placement where;
    rlt_error err = {0};
    double slow[RANKS];
    rlt_replay_options how = *x->how;
    for (uint32_t r = 0; r < RANKS; r++)
        slow[r] = below(d, 8) ? 1 : 0.5;
    how.rank_compute_scale = below(d, 2) ? slow : NULL;
    how.compute_scale = below(d, 2) ? 1 : 0.25;
    t.passes = &x->passes;
    x->how = &how;
    for (uint32_t r = 0; r < RANKS; r++)
        x->speeds[r] = 1;
    if (how.rank_compute_scale)
        rlt_folded_speeds(&t, RLT_FOLD_STAGES, slow, x->speeds);
    if (rlt_training_fold(&t, RLT_FOLD_STAGES, &how, &closed_form, &x->p, &where, &err) ||
        rlt_training_cost_find(&t, &how, &closed_form, false, &x->cost, &err))
        fail_msg("trial %u: %s: %s", x->trial, err.where, err.what);
    for (x->stage = 0; x->stage < x->p->n_ranks; x->stage++) {
        compare_passes(x);
        compare_stage(x);
    }
    compare_passes_only(x, &t);
    rlt_training_cost_free(&x->cost);
    assert_int_equal(x->cost.pp + x->cost.vp, 0);
    assert_null(x->cost.chunks);
    rlt_training_passes_free(&x->passes);
    rlt_program_free(x->p);
    rlt_placement_free(&where);
}

/* ZeRO 3 that keeps what it has gathered gathers in the first passes only, which the parts leave out. */
static bool keeps(const rlt_training *t)
{
    return t->zero == 3 &&
           (t->reshard == RLT_RESHARD_OFF || (t->reshard == RLT_RESHARD_AUTO && t->size[RLT_AXIS_PP] > 1));
}

static void sums_of_the_program(void **state)
{
    dice d = {.seed = 5};
    rlt_error err = {0};
    rlt_topology *topology = NULL;
    rlt_replay_options how = rlt_replay_options_default();
    uint32_t planned = 0;
    (void)state;
    assert_int_equal(rlt_topology_load("switch:128@1GB/s,0ns", NULL, &topology, &err), 0);
    how.topology = topology;
    how.endpoint = *rlt_topology_endpoint(topology);
    for (uint32_t k = 0; k < TRIALS; k++) {
        static drawn x;
        if (!drawn_training(&x, &d, 1) || keeps(&x.f.t))
            continue;
        both b = {.t = &x.f.t, .how = &how, .trial = k};
        compare(&b, &d);
        planned++;
    }
    rlt_topology_free(topology);
    printf("# %u of %d planned\n", planned, TRIALS);
    assert_true(planned > TRIALS / 3);
}

/* The bound */

typedef struct parts {
    uint32_t pp, vp, m;
    double busy[8], busy_no_weights[8], forward[8], inputs[8], weights[8], exposed[8], f;
    const rlt_stage_cost *stages;
} parts;

static double most(double a, double b)
{
    return a > b ? a : b;
}

static double tail(const parts *x, uint32_t s, bool weights)
{
    double all = 0;
    for (uint32_t u = 0; u <= s; u++) {
        double one = (double)x->stages[u].end_ps;
        for (uint32_t v = u; v < s; v++)
            one += x->inputs[v] + (weights ? x->weights[v] : 0);
        all = most(all, one);
    }
    return all;
}

static double bound(const parts *x, rlt_schedule schedule)
{
    double all = 0, head = 0;
    for (uint32_t s = 0; s < x->pp; head += x->forward[s], s++) {
        const rlt_stage_cost *c = &x->stages[s];
        double busy = x->busy[s], step = (double)c->step_ps, gradients = (double)c->gradients_ps;
        all = most(all, gradients + step);
        if (schedule == RLT_SCHEDULE_ZERO_BUBBLE) {
            all = most(all, head + busy + (double)c->end_ps);
            all = most(all, head + x->busy_no_weights[s] + tail(x, s, false));
        } else if (schedule == RLT_SCHEDULE_1F1B || schedule == RLT_SCHEDULE_GPIPE ||
                   schedule == RLT_SCHEDULE_INTERLEAVED) {
            all = most(all, head + busy + tail(x, s, true));
            all = most(all, head + busy + (gradients - x->exposed[s] - head) * (1 - 1 / x->f) + step);
            all = most(all, head + busy - x->inputs[s] - x->weights[s] + (double)c->last_ps + step);
        } else
            all = most(all, busy + (double)c->end_ps);
    }
    return all;
}

/* Draws the parts of a training, some of which are much larger than the others. */
static void draw_parts(rlt_training *t, rlt_training_cost *c, parts *x, dice *d)
{
    static const uint64_t sizes[] = {10, 1000, 1000000};
    uint64_t gradients = sizes[below(d, 3)] * 20, ends = sizes[below(d, 3)], each = sizes[below(d, 3)];
    bool halves = t->schedule == RLT_SCHEDULE_DUALPIPE;
    x->f = c->slowdown = 1 + below(d, 4) * 0.5;
    for (uint32_t s = 0; s < c->pp; s++) {
        rlt_stage_cost *e = &c->stages[s];
        e->gradients_ps = (rlt_time)roll(d, gradients);
        e->last_ps = (rlt_time)roll(d, gradients);
        e->step_ps = (rlt_time)roll(d, ends);
        e->end_ps = e->step_ps + (rlt_time)roll(d, ends);
        for (uint32_t k = 0; k < c->vp; k++) {
            rlt_chunk_cost *of = &c->chunks[s * c->vp + k];
            *of = (rlt_chunk_cost){(rlt_time)roll(d, each), (rlt_time)roll(d, each), (rlt_time)roll(d, each),
                                   (rlt_time)roll(d, each)};
            double n = x->m / (halves ? 2.0 : 1);
            x->busy_no_weights[s] += n * (double)(of->forward_ps + of->inputs_ps);
            x->busy[s] += n * (double)(of->forward_ps + of->inputs_ps + of->weights_ps);
            x->exposed[s] += n * (double)of->exposed_ps;
        }
        const rlt_chunk_cost *first = &c->chunks[s * c->vp];
        x->forward[s] = (double)first->forward_ps;
        x->inputs[s] = (double)first->inputs_ps;
        x->weights[s] = (double)first->weights_ps;
    }
}

/* The term with f is rounded down by a millionth, since operations take whole picoseconds. */
static void bounds(void **state)
{
    dice d = {.seed = 9};
    (void)state;
    for (uint32_t k = 0; k < BOUNDS; k++) {
        rlt_chunk_cost chunks[16];
        rlt_stage_cost stages[8];
        rlt_training t = rlt_training_default();
        t.schedule = (rlt_schedule)below(&d, RLT_SCHEDULES);
        t.size[RLT_AXIS_PP] = t.schedule == RLT_SCHEDULE_DUALPIPE ? 2 * (1 + below(&d, 3)) : 1 + below(&d, 6);
        t.vp = 1 + below(&d, 2);
        t.size[RLT_AXIS_DP] = t.microbatch = 1;
        t.batch = 2 * (1 + below(&d, 6));
        rlt_training_cost c = {.pp = t.size[RLT_AXIS_PP], .vp = t.vp, .chunks = chunks, .stages = stages};
        parts x = {.pp = c.pp, .vp = c.vp, .m = (uint32_t)t.batch, .stages = stages};
        draw_parts(&t, &c, &x, &d);
        double got = (double)rlt_training_bound(&t, &c), wanted = bound(&x, t.schedule);
        if (got > wanted || got < wanted * (1 - 1e-6) - 1)
            fail_msg("trial %u, schedule %d: bound %.0f, expected %.0f", k, (int)t.schedule, got, wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_of_the_program), cmocka_unit_test(bounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
