/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * PAT, parallel aggregated trees: all-gather and reduce-scatter in ceil(log2(n)) rounds for any n (NCCL since
 * 2.23: S. Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale", arXiv
 * 2506.20252). Each member is the root of a binomial tree for its own share. Place p of a tree is p members
 * behind the root; with lowest set bit 2^s its parent is p - 2^s. The n trees run at once.
 *
 *   all-gather      far first: rounds s = L-1 .. 0, L = ceil(log2(n)). A member sends to the one 2^s behind
 *                   it the shares for which it is at a place p that 2^(s+1) divides, and p + 2^s < n. So the
 *                   first and farthest messages are the smallest, unlike Bruck's.
 *   reduce-scatter  the reverse: near first, sums instead of copies
 *
 *   Example, n = 5: round 2 sends one share by 4, round 1 one share by 2 (p = 0; 4 + 2 is past the end),
 *   round 0 two shares by 1 (p = 0, 2).
 *
 * A message aggregates shares up to `aggregate` bytes, in a power of two of shares, but at least one. Shares
 * that do not fit go in further messages of the same round, one after another. With shares of at least half
 * that size these are n - 1 messages of a share. n members, messages of latency L and shares of s bytes at B:
 *
 *   time  ceil(log2(n)) L + (n-1) s/B
 *
 * Derived. Not known: the exact aggregation of NCCL, and the number of warps that run trees at once.
 * NCCL walks trees that do not fit in depth-first order with a few buffers. Here a round ends before the next
 * begins, which carries the same bytes over the same distances.
 *
 * Lanes are channels x chunks. A chunk enters a round when the one before it has sent all of it.
 */
#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/lanes.h"
#include "sim/base/error.h"
#include "sim/base/param.h"

enum { AGGREGATE };      /* own parameter */
enum { ROUNDS, SHARES }; /* plan->words: ceil(log2(n)); most shares of a message */
enum { MAX_CHUNKS = 64 };
#define CHUNK_BYTES                                                                                          \
    ((uint64_t)512 << 10) /* NCCL's step: a buffer of 4 MiB in 8 slots (src/include/device.h) */

/* Round number r of a lane: the distance, and the shares that move by it. */
typedef struct round {
    uint32_t distance, shares, messages;
} round_of;

static round_of round_at(const rlt_plan *plan, uint32_t r)
{
    uint32_t n = plan->req.n, s = plan->req.kind == RLT_ALL_GATHER ? plan->words[ROUNDS] - 1 - r : r;
    round_of x = {.distance = 1u << s};
    x.shares =
        (uint32_t)(((uint64_t)n - x.distance + 2 * (uint64_t)x.distance - 1) / (2 * (uint64_t)x.distance));
    x.messages = (x.shares + plan->words[SHARES] - 1) / plan->words[SHARES];
    return x;
}

/* Each round ends with a step that waits for all its messages. */
static uint32_t pat_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    uint32_t steps = 0;
    (void)member, (void)lane;
    for (uint32_t r = 0; r < plan->words[ROUNDS]; r++)
        steps += round_at(plan, r).messages + 1;
    return steps;
}

/* Shares i * SHARES onwards of a round, farthest place last. */
static rlt_blocks span(const rlt_plan *plan, uint32_t member, const round_of *x, uint32_t i)
{
    uint32_t n = plan->req.n, first = i * plan->words[SHARES], left = x->shares - first;
    uint64_t stride = 2 * (uint64_t)x->distance;
    uint32_t owner = plan->req.kind == RLT_ALL_GATHER ? member : rlt_minus(member, x->distance, n);
    rlt_blocks b = {.run = 1, .reps = left < plan->words[SHARES] ? left : plan->words[SHARES]};
    b.first = rlt_minus(owner, (uint32_t)(first * stride % n), n);
    b.stride = (uint32_t)(n - stride % n) % n;
    return b;
}

static void pat_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    uint32_t n = plan->req.n, r = 0, first = 0;
    bool gather = plan->req.kind == RLT_ALL_GATHER;
    round_of x = round_at(plan, 0);
    while (k - first > x.messages) {
        first += x.messages + 1;
        x = round_at(plan, ++r);
    }
    uint32_t last = first + x.messages;
    if (k == last) {
        out->recv_count = x.messages;
        out->recv_from = gather ? rlt_minus(member, x.distance, n) : rlt_plus(member, x.distance, n);
        return;
    }
    out->send_to = gather ? rlt_plus(member, x.distance, n) : rlt_minus(member, x.distance, n);
    out->peer_step = last;
    out->reduce = !gather;
    out->send = out->land = span(plan, member, &x, k - first);
    out->send_bytes = rlt_blocks_bytes(plan, lane, out->send);
    if (k == first && lane % plan->chunks > 0) {
        out->wait_lane = lane - 1;
        out->wait_step = last - 1;
    }
}

/* Most shares of a message: a power of two. */
static uint32_t aggregated(const rlt_plan *plan)
{
    uint64_t share = plan->req.bytes / plan->req.n / plan->lanes, most = plan->own[AGGREGATE].u;
    uint32_t shares = 1;
    while (shares < plan->req.n && 2 * shares * share <= most)
        shares *= 2;
    return shares;
}

static int pat_plan(rlt_plan *plan, rlt_error *err)
{
    const rlt_coll_request *req = &plan->req;
    uint32_t channels = req->params.channels ? req->params.channels : 1;
    uint64_t pieces = req->bytes / req->n / channels / CHUNK_BYTES;
    uint32_t chunks = pieces < 1 ? 1 : pieces > MAX_CHUNKS ? MAX_CHUNKS : (uint32_t)pieces;
    if (!req->params.chunks && channels > RLT_MAX_LANES / MAX_CHUNKS)
        chunks = 1;
    int rc = rlt_lanes_set(plan, channels, 1, req->params.chunks ? req->params.chunks : chunks, err);
    if (rc)
        return rc;
    plan->blocks = req->n;
    plan->buffers = 1;
    plan->words[ROUNDS] = req->n > 1 ? rlt_log2(req->n - 1) + 1 : 0;
    plan->words[SHARES] = aggregated(plan);
    return 0;
}

static const rlt_param parameters[] = {RLT_HAS_CHANNELS("1"),
                                       RLT_HAS_CHUNKS("512 KiB of a member's share, at most 64"),
                                       {"aggregate", .kind = RLT_PARAM_SIZE, RLT_SLOT(AGGREGATE),
                                        .preset = "512KiB", .min = 1,
                                        .help = "bytes up to which a message holds several shares"},
                                       {0}};

const rlt_algorithm rlt_pat = {
    .name = "pat",
    .summary = "parallel aggregated trees, the farthest member first: log2 of the members' number of rounds",
    .parameters = parameters,
    .kinds = 1u << RLT_ALL_GATHER | 1u << RLT_REDUCE_SCATTER,
    .counted = 1u << RLT_ALL_GATHER | 1u << RLT_REDUCE_SCATTER,
    .plan = pat_plan,
    .steps = pat_steps,
    .step = pat_step,
    .symmetry = rlt_one_cycle,
};
