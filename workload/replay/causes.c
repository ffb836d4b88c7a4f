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
        [RLT_CAUSE_WAIT] = "waiting for other ranks",
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
        [RLT_CAUSE_BUBBLE] = "bubble_ps",
        [RLT_CAUSE_SKEW] = "start_skew_ps",
        [RLT_CAUSE_WAIT] = "peer_wait_ps",
        [RLT_CAUSE_TP] = "exposed_tp_ps",
        [RLT_CAUSE_CP] = "exposed_cp_ps",
        [RLT_CAUSE_EP] = "exposed_ep_ps",
        [RLT_CAUSE_DP] = "exposed_dp_ps",
        [RLT_CAUSE_PP] = "exposed_pp_ps",
        [RLT_CAUSE_OFFLOAD] = "exposed_offload_ps",
        [RLT_CAUSE_COMM] = "exposed_other_ps",
        [RLT_CAUSE_ENDED] = "ended_ps",
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

const char *rlt_bubble_name(rlt_bubble_part b)
{
    static const char *const names[RLT_BUBBLES] = {"warm-up", "inside", "drain"};
    return names[b];
}

const char *rlt_bubble_key(rlt_bubble_part b)
{
    static const char *const keys[RLT_BUBBLES] = {"bubble_warm_up_ps", "bubble_inside_ps", "bubble_drain_ps"};
    return keys[b];
}

typedef struct stretch {
    rlt_time start_ps, end_ps;
    uint32_t op;
    uint32_t
        next; /* iteration of this compute operation or the next one; RLT_NONE: only memory work follows */
} stretch;

/* State of a search over all ranks. The ranks of a pipeline form a list from its root. */
typedef struct search {
    const rlt_replay *r;
    uint32_t *root, *first, *next;
    stretch *list;       /* room for the compute of a rank */
    rlt_time *end_ps;    /* when each iteration ends in the pipeline at hand */
    rlt_time *origin_ps; /* see origin_of_end, by operation; -1: not known yet. NULL: all ranks start at 0 */
} search;

/* The end of an operation has a cause, which has a cause, and so on, back to the start of some rank. Returns
 * when that rank started. Notes it for each operation on the way, so that none is visited twice. */
static rlt_time origin_of_end(const search *s, uint32_t op)
{
    const rlt_replay *r = s->r;
    rlt_time *origin = s->origin_ps, begin;
    uint32_t at = op;
    while (origin[at] < 0) {
        uint32_t from = rlt__replay_beginner(r, at, &begin);
        if (r->ops[from].cause == RLT_NONE)
            origin[at] = r->ops[from].start_ps;
        else
            at = r->ops[from].cause;
    }
    for (rlt_time found = origin[at]; origin[op] < 0; op = r->ops[rlt__replay_beginner(r, op, &begin)].cause)
        origin[op] = found;
    return origin[at];
}

/* The same for the start of an operation, which ranks that wait for it wait for. */
static rlt_time origin_of_start(const search *s, uint32_t op)
{
    const op_state *st = &s->r->ops[op];
    return st->cause == RLT_NONE ? st->start_ps : origin_of_end(s, st->cause);
}

/* Returns how much of a wait of an operation comes from the later start of the rank it waits for. */
static rlt_time late_start(const search *s, uint32_t op, rlt_time wait)
{
    rlt_time begin;
    if (!s->origin_ps || wait <= 0)
        return 0;
    uint32_t last = rlt__replay_beginner(s->r, op, &begin);
    rlt_time late = origin_of_start(s, last) - origin_of_start(s, op);
    return late < 0 ? 0 : late > wait ? wait : late;
}

/* Parts of the bubble in a gap of compute: those before and after a time. */
typedef struct border {
    rlt_time at_ps;
    rlt_bubble_part before, after;
} border;

static void add_bubble(const border *b, rlt_time from, rlt_time to, rlt_rank_causes *out)
{
    rlt_time at = b->at_ps < from ? from : b->at_ps > to ? to : b->at_ps;
    out->ps[RLT_CAUSE_BUBBLE] += to - from;
    out->bubble_ps[b->before] += at - from;
    out->bubble_ps[b->after] += to - at;
}

/* Adds the part [from, to) of an operation that holds up its rank. */
static void add_part(const search *s, uint32_t index, rlt_time from, rlt_time to, const border *b,
                     rlt_rank_causes *out)
{
    const rlt_replay *r = s->r;
    const rlt_op *op = &r->program->ops[index];
    rlt_time begun = from;
    if (rlt__replay_state(op) != RANK_COMM)
        return;
    if (op->comm != RLT_NONE)
        begun = r->comms[op->comm].result.last_arrival_ps;
    begun = begun < from ? from : begun > to ? to : begun;
    if (op->purpose == RLT_FOR_PP) {
        add_bubble(b, from, begun, out);
    } else {
        rlt_time late = late_start(s, index, begun - from);
        out->ps[RLT_CAUSE_SKEW] += late;
        out->ps[RLT_CAUSE_WAIT] += begun - from - late;
    }
    out->ps[cause_of((rlt_purpose)op->purpose)] += to - begun;
}

/* Follows the causes back from an operation that ended at `to`, the end of a gap in compute. */
static void add_gap(const search *s, uint32_t op, rlt_time from, rlt_time to, const border *b,
                    rlt_rank_causes *out)
{
    const rlt_replay *r = s->r;
    while (op != RLT_NONE && to > from) {
        rlt_time start = r->ops[op].start_ps > from ? r->ops[op].start_ps : from;
        if (start < to) {
            add_part(s, op, start, to, b, out);
            to = start;
        }
        op = r->ops[op].cause;
    }
}

static int by_start(const void *a, const void *b)
{
    const stretch *x = a, *y = b;
    if (x->start_ps != y->start_ps)
        return x->start_ps < y->start_ps ? -1 : 1;
    return (x->op > y->op) - (x->op < y->op);
}

/* Returns true if an operation ran and computed, memory work left out. */
static bool computed(const rlt_replay *r, uint32_t op)
{
    return r->program->ops[op].kind == RLT_OP_COMPUTE && r->ops[op].end_ps > r->ops[op].start_ps;
}

/* Lists when a rank computes, in order. *last: its operation that ended last. */
static uint32_t find_compute(const rlt_replay *r, uint32_t rank, stretch *list, uint32_t *last)
{
    const rlt_program *p = r->program;
    uint32_t n = 0, next = RLT_NONE;
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
        list[n++] = (stretch){st->start_ps, st->end_ps, i, RLT_NONE};
    }
    if (!sorted)
        qsort(list, n, sizeof *list, by_start);
    for (uint32_t i = n; i-- > 0;)
        list[i].next = next = computed(r, list[i].op) ? p->ops[list[i].op].step : next;
    return n;
}

/* Returns the border in a gap between compute of iterations `before` and `after`; RLT_NONE: none. end_ps:
 * when each iteration ends in the pipeline. */
static border border_of(uint32_t before, uint32_t after, const rlt_time *end_ps)
{
    if (before == RLT_NONE)
        return (border){0, RLT_BUBBLE_WARM_UP, RLT_BUBBLE_WARM_UP};
    if (after == RLT_NONE)
        return (border){0, RLT_BUBBLE_DRAIN, RLT_BUBBLE_DRAIN};
    if (before == after)
        return (border){0, RLT_BUBBLE_INSIDE, RLT_BUBBLE_INSIDE};
    return (border){end_ps[before], RLT_BUBBLE_DRAIN, RLT_BUBBLE_WARM_UP};
}

static void find_causes(const search *s, uint32_t rank, rlt_rank_causes *out)
{
    const rlt_replay *r = s->r;
    const stretch *list = s->list;
    rlt_rank_result k = rlt_replay_rank(r, rank);
    rlt_time busy_until = k.start_ps, known = 0;
    uint32_t last, before = RLT_NONE, n = find_compute(r, rank, s->list, &last);
    border b;
    for (uint32_t i = 0; i < n; i++) {
        b = border_of(before, list[i].next, s->end_ps);
        add_gap(s, r->ops[list[i].op].cause, busy_until, list[i].start_ps, &b, out);
        if (list[i].end_ps > busy_until)
            busy_until = list[i].end_ps;
        before = computed(r, list[i].op) ? list[i].next : before;
    }
    b = border_of(before, RLT_NONE, s->end_ps);
    if (last != RLT_NONE)
        add_gap(s, last, busy_until, r->ops[last].end_ps, &b, out);
    for (int c = 0; c < RLT_CAUSES; c++)
        known += c == RLT_CAUSE_COMM ? 0 : out->ps[c];
    out->ps[RLT_CAUSE_COMM] = k.exposed_comm_ps - known;
    out->ps[RLT_CAUSE_COMPUTE] = k.compute_ps;
    out->ps[RLT_CAUSE_HOST] = k.host_ps;
    out->ps[RLT_CAUSE_IDLE] = k.idle_ps;
    out->ps[RLT_CAUSE_SKEW] += k.start_ps;
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

/* Notes when the iterations of a rank end, or forgets it. */
static void note_ends(const search *s, uint32_t rank, bool forget)
{
    const rlt_program *p = s->r->program;
    for (uint32_t i = p->rank_first[rank]; i < p->rank_first[rank + 1]; i++) {
        rlt_time *end = &s->end_ps[p->ops[i].step], own = s->r->ops[i].end_ps;
        *end = forget ? 0 : computed(s->r, i) && own > *end ? own : *end;
    }
}

/* Finds the causes of the ranks of a pipeline, and when the last of them ends. */
static rlt_time search_pipeline(const search *s, uint32_t root, rlt_rank_causes *out)
{
    rlt_time end = 0;
    for (uint32_t i = s->first[root]; i != RLT_NONE; i = s->next[i]) {
        note_ends(s, i, false);
        end = s->r->ranks[i].end_ps > end ? s->r->ranks[i].end_ps : end;
    }
    for (uint32_t i = s->first[root]; i != RLT_NONE; i = s->next[i]) {
        const border after = {0, RLT_BUBBLE_DRAIN, RLT_BUBBLE_DRAIN};
        find_causes(s, i, &out[i]);
        add_bubble(&after, s->r->ranks[i].end_ps, end, &out[i]);
        out[i].ps[RLT_CAUSE_ENDED] = end; /* for now */
    }
    for (uint32_t i = s->first[root]; i != RLT_NONE; i = s->next[i])
        note_ends(s, i, true);
    return end;
}

/* Finds all causes. A rank that never began has no time before the end of its pipeline. */
static void search_all(const search *s, rlt_rank_causes *out)
{
    uint32_t n = s->r->program->n_ranks;
    rlt_time all = s->r->end_ps;
    connect(s->r, s->root);
    for (uint32_t i = 0; i < n; i++) {
        s->first[i] = RLT_NONE;
        out[i] = (rlt_rank_causes){.ps = {0}};
    }
    for (uint32_t i = n; i-- > 0;) {
        uint32_t k = find_root(s->root, i);
        s->next[i] = s->first[k];
        s->first[k] = i;
    }
    for (uint32_t i = 0; i < n; i++) {
        rlt_time end = s->first[i] == RLT_NONE ? 0 : search_pipeline(s, i, out);
        all = end > all ? end : all;
    }
    for (uint32_t i = 0; i < n; i++)
        out[i].ps[RLT_CAUSE_ENDED] = all - out[i].ps[RLT_CAUSE_ENDED];
}

/* Makes room for origins if ranks start at different times. */
static int make_origins(search *s, rlt_error *err)
{
    const rlt_program *p = s->r->program;
    bool differ = false;
    for (uint32_t i = 0; i < p->n_ranks; i++)
        differ = differ || s->r->ranks[i].start_ps > 0;
    if (!differ)
        return 0;
    s->origin_ps = malloc(((size_t)p->n_ops + 1) * sizeof *s->origin_ps);
    if (!s->origin_ps)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < p->n_ops; i++)
        s->origin_ps[i] = -1;
    return 0;
}

int rlt_replay_causes(const rlt_replay *r, rlt_rank_causes *out, rlt_error *err)
{
    const rlt_program *p = r->program;
    uint32_t most = 0, steps = 0, n = p->n_ranks;
    for (uint32_t i = 0; i < n; i++)
        if (p->rank_first[i + 1] - p->rank_first[i] > most)
            most = p->rank_first[i + 1] - p->rank_first[i];
    for (uint32_t i = 0; i < p->n_ops; i++)
        steps = p->ops[i].step > steps ? p->ops[i].step : steps;
    uint32_t *ranks = malloc(((size_t)n * 3 + 1) * sizeof *ranks);
    search s = {.r = r,
                .root = ranks,
                .list = malloc(((size_t)most + 1) * sizeof *s.list),
                .end_ps = calloc((size_t)steps + 1, sizeof *s.end_ps)};
    int rc = ranks && s.list && s.end_ps ? make_origins(&s, err) : rlt_nomem(err);
    if (!rc) {
        s.first = ranks + n;
        s.next = s.first + n;
        search_all(&s, out);
    }
    free(ranks);
    free(s.list);
    free(s.end_ps);
    free(s.origin_ps);
    return rc;
}
