/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Algorithms of ceil(log2(n)) rounds for any n (J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby:
 * "Efficient Algorithms for All-to-All Communications in Multiport Message-Passing Systems", IEEE TPDS 1997).
 * Lanes are channels x chunks, independent of each other. Copies within a member take no time.
 *
 *   all-gather   Round k: member r has the 2^k blocks r, r+1, ... and sends as many as r - 2^k still lacks to
 *                that member.
 *   all-to-all   A block with distance d to go moves on by 2^k in round k if bit k of d is set: about half of
 *                all bytes per round. Blocks are stored in slot d of buffer 1. If n cuts the last run of a
 *                round's slots short, the slots are not evenly spaced; they are then packed into buffer 2 and
 *                unpacked after the round.
 *   barrier      Dissemination: a member that knows of w members up to itself learns of as many before those.
 *                To count nobody twice for any n, w grows as ceil(n / 2^(rounds - k)). If the next value is
 *                2w - 1, members send what they know without themselves, over a distance shorter by one.
 *
 * Example: all-to-all of n = 4. Distance 3 = 1 + 2: the block moves by 1 in round 0 and by 2 in round 1.
 */
#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/lanes.h"
#include "net/endpoint/internode.h"
#include "sim/base/error.h"
#include "sim/base/param.h"

enum { ROUNDS }; /* plan->words: ceil(log2(n)) */

/* Slots of round k of an all-to-all: `full` runs of 2^k slots, from 2^k on, 2^(k+1) apart, then a run of
 * `tail` slots. */
typedef struct slots {
    uint32_t run, full, tail;
} slots;

static inline slots slots_of(uint32_t n, uint32_t k)
{
    uint32_t run = 1u << k, rest = n % (2 * run);
    slots s = {.run = run, .full = n / (2 * run)};
    s.tail = rest > run ? rest - run : 0;
    return s;
}

static inline bool packed(const slots *s)
{
    return s->full && s->tail;
}

static inline rlt_blocks full_runs(const slots *s)
{
    return (rlt_blocks){.first = s->run, .run = s->run, .stride = 2 * s->run, .reps = s->full};
}

static inline rlt_blocks last_run(const slots *s)
{
    return rlt_blocks_run((2 * s->full + 1) * s->run, s->tail);
}

static inline uint32_t slot_count(const slots *s)
{
    return s->full * s->run + s->tail;
}

/* Returns how many of the `reps` numbers first, first + stride, ... lie below `limit`. */
static uint64_t below(uint64_t first, uint64_t stride, uint64_t reps, uint64_t limit)
{
    uint64_t count = first < limit ? (limit - first - 1) / stride + 1 : 0;
    return count < reps ? count : reps;
}

/*
 * Bytes of a round's slots at member r. The slots from j 2^k on (j odd) hold blocks for member r + j 2^k.
 * Among these destinations, modulo n, the first `rest` have blocks larger by one byte.
 */
static uint64_t round_bytes(const rlt_plan *plan, uint32_t lane, uint32_t r, const slots *s)
{
    uint64_t n = plan->req.n, bytes = rlt_lane_bytes(plan, lane), base = bytes / n, rest = bytes % n;
    uint64_t first = r + s->run, stride = 2 * (uint64_t)s->run, tail = first + s->full * stride;
    uint64_t larger = below(first, stride, s->full, rest) + below(first, stride, s->full, n + rest) -
                      below(first, stride, s->full, n);
    bool tail_larger = (tail < n ? tail : tail - n) < rest;
    return slot_count(s) * base + larger * s->run + (tail_larger ? s->tail : 0);
}

static void copy(rlt_step *out, uint8_t from, rlt_blocks send, uint8_t to, rlt_blocks land)
{
    out->copy = 1;
    out->send_buffer = from;
    out->send = send;
    out->land_buffer = to;
    out->land = land;
}

/* Exchange of a round, step k of the lane. */
static void exchange_slots(const rlt_plan *plan, uint32_t r, uint32_t lane, const slots *s, uint32_t k,
                           rlt_step *out)
{
    out->send_to = rlt_plus(r, s->run, plan->req.n);
    out->recv_from = rlt_minus(r, s->run, plan->req.n);
    out->recv_count = 1;
    out->peer_step = k;
    out->send_buffer = out->land_buffer = packed(s) ? 2 : 1;
    out->send = packed(s) ? rlt_blocks_run(0, slot_count(s)) : s->full ? full_runs(s) : last_run(s);
    out->land = out->send;
    out->send_bytes = round_bytes(plan, lane, r, s);
}

/* Step j of a round. A packed round has five steps: two copies, the exchange, two copies back. */
static void round_step(const rlt_plan *plan, uint32_t r, uint32_t lane, const slots *s, uint32_t j,
                       uint32_t k, rlt_step *out)
{
    rlt_blocks front = rlt_blocks_run(0, s->full * s->run), back = rlt_blocks_run(s->full * s->run, s->tail);
    switch (packed(s) ? j : 2) {
    case 0:
        copy(out, 1, full_runs(s), 2, front);
        break;
    case 1:
        copy(out, 1, last_run(s), 2, back);
        break;
    case 2:
        exchange_slots(plan, r, lane, s, k, out);
        break;
    case 3:
        copy(out, 2, front, 1, full_runs(s));
        break;
    default:
        copy(out, 2, back, 1, last_run(s));
        break;
    }
}

static void all_to_all(const rlt_plan *plan, uint32_t r, uint32_t lane, uint32_t k, rlt_step *out)
{
    uint32_t n = plan->req.n, begin = 1;
    if (k == 0) { /* from destinations to distances */
        copy(out, 0, rlt_blocks_run(r, n), 1, rlt_blocks_run(0, n));
        return;
    }
    for (uint32_t round = 0; round < plan->words[ROUNDS]; round++) {
        slots s = slots_of(n, round);
        uint32_t steps = packed(&s) ? 5 : 1;
        if (k < begin + steps) {
            round_step(plan, r, lane, &s, k - begin, k, out);
            return;
        }
        begin += steps;
    }
    /* A block that came over distance d is from member r - d. */
    copy(out, 1, rlt_blocks_run(0, n), 2, (rlt_blocks){.first = r, .run = 1, .stride = n - 1, .reps = n});
}

static uint32_t all_to_all_steps(const rlt_plan *plan)
{
    uint32_t steps = 2;
    for (uint32_t round = 0; round < plan->words[ROUNDS]; round++) {
        slots s = slots_of(plan->req.n, round);
        steps += packed(&s) ? 5 : 1;
    }
    return steps;
}

static void all_gather(const rlt_plan *plan, uint32_t r, uint32_t lane, uint32_t k, rlt_step *out)
{
    uint32_t n = plan->req.n, have = 1u << k;
    out->send_to = rlt_minus(r, have, n);
    out->recv_from = rlt_plus(r, have, n);
    out->recv_count = 1;
    out->peer_step = k;
    out->send = out->land = rlt_blocks_run(r, have < n - have ? have : n - have);
    out->send_bytes = rlt_blocks_bytes(plan, lane, out->send);
}

/* Step k of a barrier. Buffer 0: everything the member knows; 1: the same without itself; 2: what has just
 * arrived, added to both. */
static void barrier(const rlt_plan *plan, uint32_t r, uint32_t k, rlt_step *out)
{
    uint32_t n = plan->req.n, round = k / 3, shift = plan->words[ROUNDS] - round;
    uint32_t known = (n - 1) >> shift, next = (n - 1) >> (shift - 1); /* each minus one */
    bool others = next == 2 * known;                                  /* next is 2w - 1: without itself */
    uint32_t distance = others ? known : known + 1;
    if (k % 3 > 0) {
        copy(out, 2, rlt_blocks_run(0, 1), k % 3 == 1 ? 0 : 1, rlt_blocks_run(0, 1));
        out->reduce = 1;
        return;
    }
    out->send_to = rlt_plus(r, distance, n);
    out->recv_from = rlt_minus(r, distance, n);
    out->recv_count = 1;
    out->peer_step = k;
    out->send_buffer = others;
    out->land_buffer = 2;
    out->send = out->land = rlt_blocks_run(0, 1);
}

static uint32_t bruck_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    (void)member;
    (void)lane;
    if (plan->req.n == 1)
        return 0;
    switch (plan->req.kind) {
    case RLT_ALL_TO_ALL:
        return all_to_all_steps(plan);
    case RLT_ALL_GATHER:
        return plan->words[ROUNDS];
    default:
        return 3 * plan->words[ROUNDS];
    }
}

static void bruck_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    switch (plan->req.kind) {
    case RLT_ALL_TO_ALL:
        all_to_all(plan, member, lane, k, out);
        break;
    case RLT_ALL_GATHER:
        all_gather(plan, member, lane, k, out);
        break;
    default:
        barrier(plan, member, k, out);
        break;
    }
}

static int bruck_plan(rlt_plan *plan, rlt_error *err)
{
    const rlt_coll_request *req = &plan->req;
    int rc = rlt_lanes_set(plan, req->params.channels ? req->params.channels : 1, 1,
                           req->params.chunks ? req->params.chunks : 1, err);
    if (rc)
        return rc;
    plan->words[ROUNDS] = req->n > 1 ? rlt_log2(req->n - 1) + 1 : 0;
    plan->blocks = req->kind == RLT_BARRIER ? 1 : req->n;
    plan->buffers = 1;
    if (req->n > 1 && req->kind != RLT_ALL_GATHER)
        plan->buffers = 3;
    if (req->n > 1 && req->kind == RLT_ALL_TO_ALL)
        plan->result = 2;
    return 0;
}

static const rlt_param parameters[] = {RLT_HAS_CHANNELS("1"), RLT_HAS_CHUNKS("1"), {0}};

const rlt_algorithm rlt_bruck = {
    .name = "bruck",
    .summary =
        "ceil(log2(n)) rounds at any n: all-to-all of small messages, all-gather, dissemination barrier",
    .parameters = parameters,
    .kinds = 1u << RLT_ALL_TO_ALL | 1u << RLT_ALL_GATHER | 1u << RLT_BARRIER,
    .counted = 1u << RLT_ALL_GATHER,
    .hop = RLT_HOP_DIRECT,
    .plan = bruck_plan,
    .steps = bruck_steps,
    .step = bruck_step,
    .symmetry = rlt_one_cycle,
};
