/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Causes that hold up each rank: gaps in its compute, followed back along the causes of starts. */
#include "workload/replay/causes.h"

#include <stdlib.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "workload/program/program.h"
#include "workload/replay/internal.h"
#include "workload/replay/replay.h"

const char *rlt_cause_name(rlt_cause c)
{
    static const char *const names[RLT_CAUSES] = {
        [RLT_CAUSE_COMPUTE] = "compute",
        [RLT_CAUSE_BUBBLE] = "pipeline bubble",
        [RLT_CAUSE_SKEW] = "start skew",
        [RLT_CAUSE_TP] = "exposed TP communication",
        [RLT_CAUSE_CP] = "exposed CP communication",
        [RLT_CAUSE_EP] = "exposed EP communication",
        [RLT_CAUSE_DP] = "exposed DP communication",
        [RLT_CAUSE_PP] = "exposed PP communication",
        [RLT_CAUSE_OFFLOAD] = "exposed offloading",
        [RLT_CAUSE_COMM] = "exposed communication",
        [RLT_CAUSE_HOST] = "host",
        [RLT_CAUSE_IDLE] = "idle",
        [RLT_CAUSE_ENDED] = "ended before the others",
    };
    return names[c];
}

const char *rlt_cause_key(rlt_cause c)
{
    static const char *const keys[RLT_CAUSES] = {
        [RLT_CAUSE_BUBBLE] = "bubble_ps",      [RLT_CAUSE_SKEW] = "start_skew_ps",
        [RLT_CAUSE_TP] = "exposed_tp_ps",      [RLT_CAUSE_CP] = "exposed_cp_ps",
        [RLT_CAUSE_EP] = "exposed_ep_ps",      [RLT_CAUSE_DP] = "exposed_dp_ps",
        [RLT_CAUSE_PP] = "exposed_pp_ps",      [RLT_CAUSE_OFFLOAD] = "exposed_offload_ps",
        [RLT_CAUSE_COMM] = "exposed_other_ps", [RLT_CAUSE_ENDED] = "ended_ps",
    };
    return keys[c];
}

static rlt_cause cause_of(rlt_purpose p)
{
    static const rlt_cause causes[RLT_PURPOSES] = {
        [RLT_FOR_UNKNOWN] = RLT_CAUSE_COMM,   [RLT_FOR_TP] = RLT_CAUSE_TP, [RLT_FOR_CP] = RLT_CAUSE_CP,
        [RLT_FOR_EP] = RLT_CAUSE_EP,          [RLT_FOR_DP] = RLT_CAUSE_DP, [RLT_FOR_PP] = RLT_CAUSE_PP,
        [RLT_FOR_OFFLOAD] = RLT_CAUSE_OFFLOAD};
    return causes[p];
}

/* Adds the part [from, to) of an operation that holds up its rank. */
static void add_part(const rlt_replay *r, uint32_t index, rlt_time from, rlt_time to, rlt_time *ps)
{
    const rlt_op *op = &r->program->ops[index];
    rlt_time begun = from;
    if (rlt__replay_state(op) != RANK_COMM)
        return;
    if (op->comm != RLT_NONE)
        begun = r->comms[op->comm].result.last_arrival_ps;
    begun = begun < from ? from : begun > to ? to : begun;
    ps[op->purpose == RLT_FOR_PP ? RLT_CAUSE_BUBBLE : RLT_CAUSE_SKEW] += begun - from;
    ps[cause_of((rlt_purpose)op->purpose)] += to - begun;
}

/* Follows the causes back from an operation that ended at `to`, the end of a gap in compute. */
static void add_gap(const rlt_replay *r, uint32_t op, rlt_time from, rlt_time to, rlt_time *ps)
{
    while (op != RLT_NONE && to > from) {
        rlt_time start = r->ops[op].start_ps > from ? r->ops[op].start_ps : from;
        if (start < to) {
            add_part(r, op, start, to, ps);
            to = start;
        }
        op = r->ops[op].cause;
    }
}

typedef struct stretch {
    rlt_time start_ps, end_ps;
    uint32_t op;
} stretch;

static int by_start(const void *a, const void *b)
{
    const stretch *x = a, *y = b;
    if (x->start_ps != y->start_ps)
        return x->start_ps < y->start_ps ? -1 : 1;
    return (x->op > y->op) - (x->op < y->op);
}

/* Lists when a rank computes, in order. *last: its operation that ended last. */
static uint32_t find_compute(const rlt_replay *r, uint32_t rank, stretch *list, uint32_t *last)
{
    const rlt_program *p = r->program;
    uint32_t n = 0;
    bool sorted = true;
    *last = RLT_NONE;
    for (uint32_t i = p->rank_first[rank]; i < p->rank_first[rank + 1]; i++) {
        const op_state *st = &r->ops[i];
        if (st->end_ps < 0)
            continue;
        if (*last == RLT_NONE || st->end_ps > r->ops[*last].end_ps)
            *last = i;
        if (rlt__replay_state(&p->ops[i]) != RANK_COMPUTE || st->end_ps == st->start_ps)
            continue;
        sorted = sorted && (n == 0 || list[n - 1].start_ps <= st->start_ps);
        list[n++] = (stretch){st->start_ps, st->end_ps, i};
    }
    if (!sorted)
        qsort(list, n, sizeof *list, by_start);
    return n;
}

static void find_causes(const rlt_replay *r, uint32_t rank, stretch *list, rlt_time *ps)
{
    rlt_rank_result k = rlt_replay_rank(r, rank);
    rlt_time busy_until = k.start_ps, known = 0;
    uint32_t last, n = find_compute(r, rank, list, &last);
    for (uint32_t i = 0; i < n; i++) {
        add_gap(r, r->ops[list[i].op].cause, busy_until, list[i].start_ps, ps);
        if (list[i].end_ps > busy_until)
            busy_until = list[i].end_ps;
    }
    if (last != RLT_NONE)
        add_gap(r, last, busy_until, r->ops[last].end_ps, ps);
    for (int c = 0; c < RLT_CAUSES; c++)
        known += c == RLT_CAUSE_COMM ? 0 : ps[c];
    ps[RLT_CAUSE_COMM] = k.exposed_comm_ps - known;
    ps[RLT_CAUSE_COMPUTE] = k.compute_ps;
    ps[RLT_CAUSE_HOST] = k.host_ps;
    ps[RLT_CAUSE_IDLE] = k.idle_ps;
    ps[RLT_CAUSE_SKEW] += k.start_ps;
}

/* Pipelines are the sets of ranks that messages between stages connect. */

static uint32_t find_root(uint32_t *root, uint32_t rank)
{
    while (root[rank] != rank)
        rank = root[rank] = root[root[rank]];
    return rank;
}

static void connect(const rlt_replay *r, uint32_t *root)
{
    const rlt_program *p = r->program;
    for (uint32_t i = 0; i < p->n_ranks; i++)
        root[i] = i;
    for (uint32_t c = 0; c < p->n_comms; c++) {
        const uint32_t *ops = &p->comm_ops[p->comms[c].first_op];
        for (uint32_t m = 1; p->ops[ops[0]].purpose == RLT_FOR_PP && m < r->comms[c].n; m++)
            root[find_root(root, p->ops[ops[m]].rank)] = find_root(root, p->ops[ops[0]].rank);
    }
}

/* Adds what follows the end of a rank. A rank that never began has no other time. */
static int add_ends(const rlt_replay *r, rlt_rank_causes *out, rlt_error *err)
{
    uint32_t n = r->program->n_ranks;
    uint32_t *root = malloc(n * sizeof *root);
    rlt_time *end = calloc(n, sizeof *end), all = r->end_ps;
    if (root && end) {
        connect(r, root);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t k = find_root(root, i);
            end[k] = r->ranks[i].end_ps > end[k] ? r->ranks[i].end_ps : end[k];
            all = end[k] > all ? end[k] : all;
        }
        for (uint32_t i = 0; i < n; i++) {
            rlt_time last = end[find_root(root, i)];
            out[i].ps[RLT_CAUSE_BUBBLE] += last - r->ranks[i].end_ps;
            out[i].ps[RLT_CAUSE_ENDED] += all - last;
        }
    }
    bool failed = !root || !end;
    free(root);
    free(end);
    return failed ? rlt_nomem(err) : 0;
}

int rlt_replay_causes(const rlt_replay *r, rlt_rank_causes *out, rlt_error *err)
{
    const rlt_program *p = r->program;
    uint32_t most = 0;
    for (uint32_t i = 0; i < p->n_ranks; i++)
        if (p->rank_first[i + 1] - p->rank_first[i] > most)
            most = p->rank_first[i + 1] - p->rank_first[i];
    stretch *list = malloc(((size_t)most + 1) * sizeof *list);
    if (!list)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < p->n_ranks; i++) {
        out[i] = (rlt_rank_causes){{0}};
        find_causes(r, i, list, out[i].ps);
    }
    free(list);
    return add_ends(r, out, err);
}
