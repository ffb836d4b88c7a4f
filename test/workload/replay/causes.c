/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Causes against a plain count of them, moment by moment, written from workload/replay/causes.h: random programs of
 * several iterations, whose communications have purposes, and whose ranks start at different times.
 */
#include <stdlib.h>
#include <string.h>

#include "net/import/import.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "test/support/traces/random_program.h"
#include "workload/program/program.h"
#include "workload/replay/causes.h"
#include "workload/replay/replay.h"

enum { CASES = 300, STEPS = 3, MOMENTS = 3 * OPS + RANKS + 2 };

/* A replay that ran, in plain arrays. */
typedef struct ran {
    const rlt_program *p;
    rlt_op_result ops[OPS];
    rlt_comm_result comms[COMMS];
    rlt_rank_result ranks[RANKS];
    rlt_time moments[MOMENTS]; /* whenever anything begins or ends */
    uint32_t n_moments, pipeline[RANKS];
    rlt_time pipeline_end[RANKS], step_end[RANKS][STEPS], end; /* by the first rank of the pipeline */
} ran;

static bool is_compute(const rlt_op *op)
{
    return op->kind == RLT_OP_COMPUTE || (op->kind == RLT_OP_MEMORY && op->purpose != RLT_FOR_OFFLOAD);
}

static bool is_comm(const rlt_op *op)
{
    return op->comm != RLT_NONE || (op->kind == RLT_OP_MEMORY && op->purpose == RLT_FOR_OFFLOAD) ||
           (op->kind == RLT_OP_DELAY && op->purpose != RLT_FOR_UNKNOWN);
}

static bool takes_time(const ran *x, uint32_t op)
{
    return x->ops[op].end_ps > x->ops[op].start_ps;
}

/* Compute proper: memory work left out. */
static bool computes(const ran *x, uint32_t op)
{
    return x->p->ops[op].kind == RLT_OP_COMPUTE && takes_time(x, op);
}

static int by_time(const void *a, const void *b)
{
    const rlt_time *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void join(ran *x, uint32_t a, uint32_t b)
{
    uint32_t from = x->pipeline[a], to = x->pipeline[b];
    for (uint32_t r = 0; r < x->p->n_ranks; r++)
        if (x->pipeline[r] == from || x->pipeline[r] == to)
            x->pipeline[r] = from < to ? from : to;
}

static void take(ran *x, const rlt_program *p, const rlt_replay *r)
{
    memset(x, 0, sizeof *x);
    x->p = p;
    x->moments[x->n_moments++] = 0;
    for (uint32_t i = 0; i < p->n_ranks; i++) {
        x->ranks[i] = rlt_replay_rank(r, i);
        x->pipeline[i] = i;
        x->moments[x->n_moments++] = x->ranks[i].start_ps;
    }
    for (uint32_t i = 0; i < p->n_comms; i++) {
        x->comms[i] = rlt_replay_comm(r, i);
        x->moments[x->n_moments++] = x->comms[i].last_arrival_ps;
    }
    for (uint32_t i = 0; i < p->n_ops; i++) {
        const rlt_op *op = &p->ops[i];
        x->ops[i] = rlt_replay_op(r, i);
        x->moments[x->n_moments++] = x->ops[i].start_ps;
        x->moments[x->n_moments++] = x->ops[i].end_ps;
        for (uint32_t k = 0; k < p->n_ops; k++)
            if (op->comm != RLT_NONE && op->purpose == RLT_FOR_PP && p->ops[k].comm == op->comm)
                join(x, op->rank, p->ops[k].rank);
    }
    for (uint32_t i = 0; i < p->n_ops; i++) {
        rlt_time *end = &x->step_end[x->pipeline[p->ops[i].rank]][p->ops[i].step];
        if (computes(x, i) && x->ops[i].end_ps > *end)
            *end = x->ops[i].end_ps;
    }
    for (uint32_t i = 0; i < p->n_ranks; i++) {
        rlt_time *end = &x->pipeline_end[x->pipeline[i]];
        *end = x->ranks[i].end_ps > *end ? x->ranks[i].end_ps : *end;
        x->end = *end > x->end ? *end : x->end;
        x->moments[x->n_moments++] = *end;
    }
    for (uint32_t i = 0; i < p->n_ranks; i++)
        for (int s = 0; s < STEPS; s++)
            if (x->n_moments < MOMENTS)
                x->moments[x->n_moments++] = x->step_end[i][s];
    qsort(x->moments, x->n_moments, sizeof *x->moments, by_time);
}

/* Where the work came from that ended with an operation: when its rank started. */
static rlt_time origin_of_start(const ran *x, uint32_t op);
static uint32_t beginner(const ran *x, uint32_t op)
{
    uint32_t c = x->p->ops[op].comm;
    if (c == RLT_NONE || !takes_time(x, op))
        return op;
    const rlt_comm_result *k = &x->comms[c];
    bool was_there = x->p->comms[c].kind == RLT_SEND_RECV && k->end_ps <= x->ops[op].start_ps;
    if (was_there || k->last_arrival_ps > x->ops[op].end_ps)
        return op;
    return x->p->comm_ops[x->p->comms[c].first_op + k->last_member];
}

static rlt_time origin_of_end(const ran *x, uint32_t op)
{
    return origin_of_start(x, beginner(x, op));
}

static rlt_time origin_of_start(const ran *x, uint32_t op)
{
    return x->ops[op].cause == RLT_NONE ? x->ops[op].start_ps : origin_of_end(x, x->ops[op].cause);
}

/* The stretch of compute that ends the gap at a moment: the first that begins later; RLT_NONE: none. */
static uint32_t next_compute(const ran *x, uint32_t rank, rlt_time now, bool proper)
{
    uint32_t best = RLT_NONE;
    for (uint32_t i = x->p->rank_first[rank]; i < x->p->rank_first[rank + 1]; i++)
        if (takes_time(x, i) && is_compute(&x->p->ops[i]) && (!proper || computes(x, i)) &&
            x->ops[i].start_ps > now && (best == RLT_NONE || x->ops[i].start_ps < x->ops[best].start_ps))
            best = i;
    return best;
}

/* The last one that began before. */
static uint32_t last_compute(const ran *x, uint32_t rank, rlt_time now)
{
    uint32_t best = RLT_NONE;
    for (uint32_t i = x->p->rank_first[rank]; i < x->p->rank_first[rank + 1]; i++)
        if (computes(x, i) && x->ops[i].start_ps <= now &&
            (best == RLT_NONE || x->ops[i].start_ps >= x->ops[best].start_ps))
            best = i;
    return best;
}

static uint32_t last_op(const ran *x, uint32_t rank)
{
    uint32_t best = RLT_NONE;
    for (uint32_t i = x->p->rank_first[rank]; i < x->p->rank_first[rank + 1]; i++)
        if (best == RLT_NONE || x->ops[i].end_ps > x->ops[best].end_ps)
            best = i;
    return best;
}

static rlt_bubble_part part_of(const ran *x, uint32_t rank, rlt_time now)
{
    uint32_t before = last_compute(x, rank, now), after = next_compute(x, rank, now, true);
    if (before == RLT_NONE)
        return RLT_BUBBLE_WARM_UP;
    if (after == RLT_NONE || next_compute(x, rank, now, false) == RLT_NONE)
        return RLT_BUBBLE_DRAIN;
    uint32_t step = x->p->ops[before].step;
    if (step == x->p->ops[after].step)
        return RLT_BUBBLE_INSIDE;
    return now < x->step_end[x->pipeline[rank]][step] ? RLT_BUBBLE_DRAIN : RLT_BUBBLE_WARM_UP;
}

static rlt_cause for_purpose(uint8_t purpose)
{
    switch (purpose) {
    case RLT_FOR_TP:
        return RLT_CAUSE_TP;
    case RLT_FOR_CP:
        return RLT_CAUSE_CP;
    case RLT_FOR_EP:
        return RLT_CAUSE_EP;
    case RLT_FOR_DP:
        return RLT_CAUSE_DP;
    case RLT_FOR_PP:
        return RLT_CAUSE_PP;
    case RLT_FOR_OFFLOAD:
        return RLT_CAUSE_OFFLOAD;
    default:
        return RLT_CAUSE_COMM;
    }
}

/* What a rank does: compute, communication, host or nothing, the first that applies. */
static rlt_cause state_of(const ran *x, uint32_t rank, rlt_time now)
{
    bool comm = false, host = false;
    for (uint32_t i = x->p->rank_first[rank]; i < x->p->rank_first[rank + 1]; i++) {
        const rlt_op *op = &x->p->ops[i];
        if (x->ops[i].start_ps > now || x->ops[i].end_ps <= now)
            continue;
        if (is_compute(op))
            return RLT_CAUSE_COMPUTE;
        comm = comm || is_comm(op);
        host = host || op->kind == RLT_OP_HOST;
    }
    return comm ? RLT_CAUSE_COMM : host ? RLT_CAUSE_HOST : RLT_CAUSE_IDLE;
}

/* Waits of the gap that ends: start skew as far as the other rank's work came from a later start. */
static void settle(const ran *x, rlt_time waits[OPS], rlt_rank_causes *out)
{
    for (uint32_t i = 0; i < x->p->n_ops; i++) {
        if (!waits[i])
            continue;
        rlt_time late = origin_of_start(x, beginner(x, i)) - origin_of_start(x, i);
        late = late < 0 ? 0 : late > waits[i] ? waits[i] : late;
        out->ps[RLT_CAUSE_SKEW] += late;
        out->ps[RLT_CAUSE_WAIT] += waits[i] - late;
        waits[i] = 0;
    }
}

static void count(const ran *x, uint32_t rank, rlt_rank_causes *out)
{
    rlt_time waits[OPS] = {0};
    uint32_t gap = RLT_NONE;
    *out = (rlt_rank_causes){.ps = {0}};
    for (uint32_t m = 0; m + 1 < x->n_moments && x->moments[m] < x->end; m++) {
        rlt_time now = x->moments[m], span = x->moments[m + 1] - now;
        if (!span)
            continue;
        if (now < x->ranks[rank].start_ps || now >= x->ranks[rank].end_ps) {
            bool drains = now >= x->ranks[rank].end_ps && now < x->pipeline_end[x->pipeline[rank]];
            out->ps[drains                          ? RLT_CAUSE_BUBBLE
                    : now < x->ranks[rank].start_ps ? RLT_CAUSE_SKEW
                                                    : RLT_CAUSE_ENDED] += span;
            out->bubble_ps[RLT_BUBBLE_DRAIN] += drains ? span : 0;
            continue;
        }
        rlt_cause state = state_of(x, rank, now);
        if (state != RLT_CAUSE_COMM) {
            out->ps[state] += span;
            continue;
        }
        uint32_t next = next_compute(x, rank, now, false);
        if (next != gap)
            settle(x, waits, out);
        gap = next;
        uint32_t op = next == RLT_NONE ? last_op(x, rank) : x->ops[next].cause;
        while (op != RLT_NONE && x->ops[op].start_ps > now)
            op = x->ops[op].cause;
        if (op == RLT_NONE || !is_comm(&x->p->ops[op])) {
            out->ps[RLT_CAUSE_COMM] += span;
            continue;
        }
        const rlt_op *holder = &x->p->ops[op];
        if (holder->comm == RLT_NONE || now >= x->comms[holder->comm].last_arrival_ps) {
            out->ps[for_purpose(holder->purpose)] += span;
        } else if (holder->purpose == RLT_FOR_PP) {
            out->ps[RLT_CAUSE_BUBBLE] += span;
            out->bubble_ps[part_of(x, rank, now)] += span;
        } else {
            waits[op] += span;
        }
    }
    settle(x, waits, out);
}

static void draw_purposes(plan *p, dice *d, bool skewed)
{
    static const rlt_purpose of[] = {RLT_FOR_UNKNOWN, RLT_FOR_TP, RLT_FOR_CP,
                                     RLT_FOR_EP,      RLT_FOR_DP, RLT_FOR_PP};
    rlt_purpose by_comm[COMMS];
    bool apart = below(d, 2); /* pipelines of two ranks */
    for (uint32_t c = 0; c < COMMS; c++)
        by_comm[c] = of[below(d, 6)];
    for (uint32_t i = 0; i < p->n; i++) {
        work *w = &p->ops[i];
        w->step = (uint16_t)(i * STEPS / p->n);
        if (w->comm != RLT_NONE) {
            bool message = w->kind != RLT_OP_COLLECTIVE;
            bool far = message && w->rank / 2 != w->peer / 2;
            w->purpose = message && !(apart && far)                ? RLT_FOR_PP
                         : by_comm[w->comm] == RLT_FOR_PP && apart ? RLT_FOR_DP
                                                                   : by_comm[w->comm];
        } else if (below(d, 4) == 0 && (w->kind == RLT_OP_MEMORY || w->kind == RLT_OP_DELAY)) {
            w->purpose = RLT_FOR_OFFLOAD;
        }
    }
    for (uint32_t r = 0; r < RANKS && !skewed; r++)
        p->delays[r] = 0;
}

static void causes_are_those_of_the_count(void **state)
{
    plan *p = malloc(sizeof *p);
    ran *x = malloc(sizeof *x);
    rlt_topology *t = NULL;
    rlt_time sum[RLT_CAUSES] = {0}, bubbles[RLT_BUBBLES] = {0};
    (void)state;
    assert_true(p && x);
    assert_int_equal(rlt_topology_load("switch:4@1GB/s,500ns", NULL, &t, NULL), 0);
    for (uint64_t seed = 0; seed < CASES; seed++) {
        dice d = {.seed = 1000 + seed};
        rlt_replay *r = NULL;
        rlt_placement place;
        rlt_error err = {0};
        rlt_rank_causes got[RANKS], want;
        plan_draw(p, &d, seed % 2);
        draw_purposes(p, &d, seed % 3 > 0);
        rlt_program *program = plan_build(p);
        assert_int_equal(rlt_placement_identity(t, p->n_ranks, &place, &err), 0);
        rlt_replay_options o = plan_options(p);
        o.topology = t;
        o.placement = &place;
        assert_int_equal(rlt_replay_create(program, &o, &r, &err), 0);
        if (rlt_replay_run(r, &err) == 0) {
            take(x, program, r);
            assert_int_equal(rlt_replay_causes(r, got, &err), 0);
            for (uint32_t k = 0; k < p->n_ranks; k++) {
                count(x, k, &want);
                for (int c = 0; c < RLT_CAUSES; c++) {
                    if (got[k].ps[c] != want.ps[c])
                        fail_msg("case %u, rank %u, %s: %lld ps, expected %lld", (unsigned)seed, k,
                                 rlt_cause_name((rlt_cause)c), (long long)got[k].ps[c],
                                 (long long)want.ps[c]);
                    sum[c] += want.ps[c];
                }
                for (int b = 0; b < RLT_BUBBLES; b++) {
                    if (got[k].bubble_ps[b] != want.bubble_ps[b])
                        fail_msg("case %u, rank %u, %s: %lld ps, expected %lld", (unsigned)seed, k,
                                 rlt_bubble_name((rlt_bubble_part)b), (long long)got[k].bubble_ps[b],
                                 (long long)want.bubble_ps[b]);
                    bubbles[b] += want.bubble_ps[b];
                }
            }
        }
        rlt_replay_free(r);
        rlt_program_free(program);
        rlt_placement_free(&place);
    }
    for (int c = 0; c < RLT_CAUSES; c++)
        assert_true(sum[c] > 0);
    for (int b = 0; b < RLT_BUBBLES; b++)
        assert_true(bubbles[b] > 0);
    rlt_topology_free(t);
    free(x);
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(causes_are_those_of_the_count)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
