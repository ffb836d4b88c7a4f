/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recursive halving and doubling (R. Thakur, R. Rabenseifner, W. Gropp: "Optimization of Collective
 * Communication Operations in MPICH", IJHPCA 2005): log2(n) exchanges in which distances double and sizes
 * halve, then the same backwards. Lanes are channels x chunks, independent of each other.
 *
 *   reduce-scatter  Exchange s is with the member whose bit s differs. Among the blocks that agree with a
 *                   member in the bits below s, the member keeps those that agree in bit s, too, and sends
 *                   the others.
 *   all-gather      The exchanges in the opposite order and direction.
 *   all-reduce      Both: 2 log2(n) exchanges and 2 (n-1)/n of the bytes. A barrier is one of zero bytes.
 *
 * Let p be the largest power of two not above n. Member p + i (i < n - p) sends its data to member i before
 * the exchanges, and receives the result from it after them. Block b belongs to member b mod p in the
 * exchanges, so the blocks of an exchange are evenly spaced for any n. An extra member keeps its own share if
 * that saves bytes. In a reduce-scatter or all-gather, n - 1 blocks leave or reach it, as without the detour.
 */
#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/lanes.h"
#include "sim/base/error.h"
#include "sim/base/param.h"

enum { CORE, ROUNDS }; /* plan->words: p, log2(p) */

static bool scatters(rlt_coll_kind kind)
{
    return kind != RLT_ALL_GATHER;
}

static bool gathers(rlt_coll_kind kind)
{
    return kind != RLT_REDUCE_SCATTER;
}

/* 1 if an extra member relies on this one, else 0. */
static uint32_t folds(const rlt_plan *plan, uint32_t member)
{
    return member < plan->req.n - plan->words[CORE];
}

static void send_span(const rlt_plan *plan, uint32_t lane, uint32_t to, uint32_t peer_step, rlt_blocks span,
                      rlt_step *out)
{
    out->send_to = to;
    out->peer_step = peer_step;
    out->send = out->land = span;
    out->send_bytes = rlt_blocks_bytes(plan, lane, span);
}

/* All blocks except the block of member e. */
static rlt_blocks all_but(uint32_t e, uint32_t n)
{
    return rlt_blocks_run(rlt_next(e, n), n - 1);
}

/* Blocks that extra member e sends before the exchanges. */
static rlt_blocks folded_in(const rlt_plan *plan, uint32_t e)
{
    switch (plan->req.kind) {
    case RLT_REDUCE_SCATTER:
        return all_but(e, plan->req.n);
    case RLT_ALL_GATHER:
        return rlt_blocks_run(e, 1);
    default:
        return rlt_blocks_run(0, plan->blocks);
    }
}

/* Blocks that extra member e receives after them; in a reduce-scatter, the others' sum for its share. */
static rlt_blocks folded_out(const rlt_plan *plan, uint32_t e)
{
    switch (plan->req.kind) {
    case RLT_REDUCE_SCATTER:
        return rlt_blocks_run(e, 1);
    case RLT_ALL_GATHER:
        return all_but(e, plan->req.n);
    default:
        return rlt_blocks_run(0, plan->blocks);
    }
}

static uint32_t exchanges(const rlt_plan *plan)
{
    return plan->words[ROUNDS] * (uint32_t)(scatters(plan->req.kind) + gathers(plan->req.kind));
}

/* Exchange j of a core member. */
static void exchange(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t j, rlt_step *out)
{
    uint32_t rounds = plan->words[ROUNDS];
    bool halving = scatters(plan->req.kind) && j < rounds;
    uint32_t s = halving ? j : scatters(plan->req.kind) ? 2 * rounds - 1 - j : rounds - 1 - j;
    uint32_t peer = member ^ 1u << s, stride = 2u << s;
    uint32_t first = (halving ? peer : member) & (stride - 1);
    rlt_blocks span = {
        .first = first, .run = 1, .stride = stride, .reps = (plan->blocks - first - 1) / stride + 1};
    send_span(plan, lane, peer, folds(plan, peer) + j, span, out);
    out->recv_from = peer;
    out->recv_count = 1;
    out->reduce = halving;
}

static uint32_t halving_doubling_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    (void)lane;
    return member >= plan->words[CORE] ? 1 : exchanges(plan) + 2 * folds(plan, member);
}

static void halving_doubling_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k,
                                  rlt_step *out)
{
    uint32_t core = plan->words[CORE], in = folds(plan, member);
    if (member >= core) {
        send_span(plan, lane, member - core, 0, folded_in(plan, member), out);
        out->reduce = scatters(plan->req.kind);
        out->recv_from = member - core;
        out->recv_count = 1;
    } else if (k < in) {
        out->recv_from = member + core;
        out->recv_count = 1;
    } else if (k - in < exchanges(plan)) {
        exchange(plan, member, lane, k - in, out);
    } else {
        send_span(plan, lane, member + core, 0, folded_out(plan, member + core), out);
        out->reduce = plan->req.kind == RLT_REDUCE_SCATTER;
    }
}

static int halving_doubling_plan(rlt_plan *plan, rlt_error *err)
{
    const rlt_coll_request *req = &plan->req;
    int rc = rlt_lanes_set(plan, req->params.channels ? req->params.channels : 1, 1,
                           req->params.chunks ? req->params.chunks : 1, err);
    if (rc)
        return rc;
    plan->words[ROUNDS] = rlt_log2(req->n);
    plan->words[CORE] = 1u << plan->words[ROUNDS];
    bool shares = req->kind == RLT_REDUCE_SCATTER || req->kind == RLT_ALL_GATHER;
    plan->blocks = shares ? req->n : plan->words[CORE];
    plan->buffers = 1;
    return 0;
}

static const rlt_param parameters[] = {RLT_HAS_CHANNELS("1"), RLT_HAS_CHUNKS("1"), {0}};

const rlt_algorithm rlt_halving_doubling = {
    .name = "halving_doubling",
    .summary = "exchanges at doubling distance with halving size, and back; 2 log2(n) rounds, all bandwidth",
    .parameters = parameters,
    .kinds = 1u << RLT_ALL_REDUCE | 1u << RLT_REDUCE_SCATTER | 1u << RLT_ALL_GATHER | 1u << RLT_BARRIER,
    .counted = 1u << RLT_REDUCE_SCATTER | 1u << RLT_ALL_GATHER,
    .plan = halving_doubling_plan,
    .steps = halving_doubling_steps,
    .step = halving_doubling_step,
    .symmetry = rlt_exclusive_or,
};
