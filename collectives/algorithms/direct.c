/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Direct exchange: every member exchanges with every other one. In round j (0 .. n-2) member r sends to r+j+1
 * and receives from r-j-1.
 *
 *   window = 0 (default)  All sends at once, then one step that waits for all n-1 messages.
 *   window = w            Step j sends round j and waits for the message of round j-(w-1), so at most w
 *                         rounds are under way. w = 1: strict rounds of exchanges.
 *
 * All-reduce is a reduce-scatter followed by an all-gather. Broadcast, scatter, reduce and gather send
 * directly from or to the root, whatever the window. Lanes are channels x chunks, independent of each other.
 * If words[RLT_DIRECT_XOR] is set, the partner of round j is r ^ (j + 1) in both directions; n must be a
 * power of two.
 */

#include "collectives/algorithms/direct.h"
#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/lanes.h"
#include "net/endpoint/endpoint.h"
#include "net/endpoint/internode.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/time.h"

static inline const rlt_lane *lane_of(const rlt_plan *plan, uint32_t lane)
{
    return (const rlt_lane *)plan->data + lane;
}

/* Number of steps of one pass over all peers. */
static uint32_t pass_steps(const rlt_plan *plan)
{
    uint32_t rounds = plan->req.n - 1;
    return plan->window ? rounds + plan->window - 1 : rounds + 1;
}

/* Kinds whose messages land in buffer 1, since buffer 0 has yet to be sent and must not change. */
static inline bool lands_apart(rlt_coll_kind kind)
{
    return kind == RLT_ALL_TO_ALL || kind == RLT_BARRIER;
}

/* Message from member r to d: r's block for d (reductions, all-to-all), or r's own block (all-gather). */
static void fill_message(const rlt_plan *plan, uint32_t r, uint32_t d, uint32_t lane, bool reduce,
                         rlt_step *out)
{
    const rlt_coll_request *req = &plan->req;
    const rlt_lane *l = lane_of(plan, lane);
    uint32_t block = 0, land;
    bool gather = !reduce && req->kind != RLT_ALL_TO_ALL;
    if (req->kind != RLT_BARRIER)
        block = gather ? r : d;
    land = block;
    out->send_to = d;
    out->reduce = reduce;
    out->land_buffer = lands_apart(req->kind);
    if (req->kind == RLT_ALL_TO_ALL)
        land = r;
    out->send = rlt_blocks_run(block, 1);
    out->land = rlt_blocks_run(land, 1);
    if (req->counts && req->kind == RLT_ALL_TO_ALL) {
        uint64_t bytes = req->counts[(uint64_t)r * req->n + d];
        out->send_bytes = plan->lanes == 1 ? bytes : rlt_part_size(bytes, plan->lanes, lane);
    } else {
        out->send_bytes = rlt_share_bytes(plan, l, lane, block);
    }
}

/* Members to which r sends, and from which it receives, in round j. */
static inline uint32_t receiver(const rlt_plan *plan, uint32_t r, uint32_t j)
{
    return plan->words[RLT_DIRECT_XOR] ? r ^ (j + 1) : rlt_plus(r, j + 1, plan->req.n);
}
static inline uint32_t sender(const rlt_plan *plan, uint32_t r, uint32_t j)
{
    return plan->words[RLT_DIRECT_XOR] ? r ^ (j + 1) : rlt_minus(r, j + 1, plan->req.n);
}

/* Step j of a pass that begins at step `begin` of the lane. */
static void pass(const rlt_plan *plan, uint32_t r, uint32_t lane, uint32_t begin, uint32_t j, bool reduce,
                 rlt_step *out)
{
    uint32_t rounds = plan->req.n - 1, w = plan->window;
    if (j < rounds) {
        fill_message(plan, r, receiver(plan, r, j), lane, reduce, out);
        out->nowait = w != 1;
        out->peer_step = begin + (w ? j + w - 1 : rounds);
    }
    if (w == 0 && j == rounds) {
        out->recv_count = rounds;
    } else if (w && j + 1 >= w) {
        out->recv_count = 1;
        out->recv_from = sender(plan, r, j - (w - 1));
    }
}

static inline bool from_root(rlt_coll_kind kind)
{
    return kind == RLT_BROADCAST || kind == RLT_SCATTER;
}

static void rooted(const rlt_plan *plan, uint32_t r, uint32_t lane, uint32_t k, rlt_step *out)
{
    uint32_t n = plan->req.n, root = plan->req.root;
    rlt_coll_kind kind = plan->req.kind;
    if ((r == root) != from_root(kind)) {
        out->recv_count = r == root ? n - 1 : 1;
        out->recv_from = r == root ? RLT_NONE : root;
        return;
    }
    out->send_to = r == root ? rlt_plus(root, k + 1, n) : root;
    out->nowait = plan->window != 1;
    out->reduce = kind == RLT_REDUCE;
    uint32_t block = kind == RLT_SCATTER ? out->send_to : kind == RLT_GATHER ? r : 0;
    out->send = out->land = rlt_blocks_run(block, 1);
    out->send_bytes = rlt_share_bytes(plan, lane_of(plan, lane), lane, block);
}

static uint32_t direct_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    (void)lane;
    if (plan->req.n == 1)
        return 0;
    switch (plan->req.kind) {
    case RLT_ALL_REDUCE:
        return 2 * pass_steps(plan);
    case RLT_ALL_TO_ALL:
    case RLT_BARRIER:
        return 1 + pass_steps(plan);
    case RLT_BROADCAST:
    case RLT_SCATTER:
        return member == plan->req.root ? plan->req.n - 1 : 1;
    case RLT_REDUCE:
    case RLT_GATHER:
        return 1;
    default:
        return pass_steps(plan);
    }
}

static void direct_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    switch (plan->req.kind) {
    case RLT_ALL_REDUCE: {
        uint32_t half = pass_steps(plan);
        bool reduce = k < half;
        pass(plan, member, lane, reduce ? 0 : half, reduce ? k : k - half, reduce, out);
        break;
    }
    case RLT_REDUCE_SCATTER:
        pass(plan, member, lane, 0, k, true, out);
        break;
    case RLT_ALL_GATHER:
        pass(plan, member, lane, 0, k, false, out);
        break;
    case RLT_ALL_TO_ALL:
    case RLT_BARRIER:
        if (k == 0) { /* its own share */
            out->copy = 1;
            out->land_buffer = 1;
            out->send = out->land = rlt_blocks_run(plan->req.kind == RLT_BARRIER ? 0 : member, 1);
        } else {
            pass(plan, member, lane, 1, k - 1, plan->req.kind == RLT_BARRIER, out);
        }
        break;
    default:
        rooted(plan, member, lane, k, out);
        break;
    }
}

static int direct_plan(rlt_plan *plan, rlt_error *err)
{
    const rlt_coll_request *req = &plan->req;
    uint32_t chunks = req->params.chunks ? req->params.chunks : 1;
    int rc = rlt_lanes_set(plan, req->params.channels ? req->params.channels : 1, 1, chunks, err);
    if (rc)
        return rc;
    bool single = req->kind == RLT_BROADCAST || req->kind == RLT_REDUCE || req->kind == RLT_BARRIER;
    plan->blocks = single ? 1 : req->n;
    plan->buffers = 1;
    if (lands_apart(req->kind) && req->n > 1) {
        plan->buffers = 2;
        plan->result = 1;
    }
    plan->window = req->params.window >= req->n ? req->n - 1 : req->params.window;
    return rlt_lanes_list(plan, err);
}

/* Members of rooted kinds differ. */
static uint32_t direct_symmetry(const rlt_plan *plan, uint32_t *sizes)
{
    if (rlt_coll_rooted(plan->req.kind))
        return 0;
    return plan->words[RLT_DIRECT_XOR] ? rlt_exclusive_or(plan, sizes) : rlt_one_cycle(plan, sizes);
}

static const rlt_param parameters[] = {RLT_HAS_CHANNELS("1"),
                                       RLT_HAS_CHUNKS("1"),
                                       RLT_HAS_WINDOW("0: everything at once; w: at most w rounds in flight"),
                                       {0}};

const rlt_algorithm rlt_direct = {
    .name = "direct",
    .summary = "every member exchanges with every other, at once or in rounds; with counts too",
    .parameters = parameters,
    .served_by = RLT_FOR_DIRECT,
    .kinds = 1u << RLT_ALL_REDUCE | 1u << RLT_REDUCE_SCATTER | 1u << RLT_ALL_GATHER | 1u << RLT_ALL_TO_ALL |
             1u << RLT_BROADCAST | 1u << RLT_REDUCE | 1u << RLT_BARRIER | 1u << RLT_GATHER |
             1u << RLT_SCATTER,
    .counted = 1u << RLT_ALL_TO_ALL | 1u << RLT_ALL_GATHER | 1u << RLT_REDUCE_SCATTER | 1u << RLT_GATHER |
               1u << RLT_SCATTER,
    .hop = RLT_HOP_DIRECT,
    .plan = direct_plan,
    .steps = direct_steps,
    .step = direct_step,
    .symmetry = direct_symmetry,
};
