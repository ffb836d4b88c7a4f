/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recursive doubling (R. Thakur, R. Rabenseifner, W. Gropp: "Optimization of Collective Communication
 * Operations in MPICH", IJHPCA 2005): log2(n) exchanges with the member whose bit s differs, s = 0, 1, ...
 * Lanes are channels x chunks, independent of each other.
 *
 *   all-reduce   each exchange carries the whole vector: fewest rounds, log2(n) times the bytes
 *   all-gather   each exchange carries everything gathered so far, so messages double
 *   barrier      an all-reduce of zero bytes
 *
 * Let p be the largest power of two not above n. Member 2i + 1, i < n - p, sends its data to member 2i before
 * the exchanges and receives the result after them. The other members are numbered 0 .. p - 1 in order, so
 * the blocks that a core member has gathered are one run.
 */
#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/lanes.h"
#include "sim/base/error.h"
#include "sim/base/param.h"

enum { CORE, ROUNDS }; /* plan->words: p, log2(p) */

static inline uint32_t extras(const rlt_plan *plan)
{
    return plan->req.n - plan->words[CORE];
}

static inline bool is_extra(const rlt_plan *plan, uint32_t member)
{
    return member < 2 * extras(plan) && member % 2 == 1;
}

/* Member with number v in the exchanges; v = p gives n. */
static inline uint32_t member_of(const rlt_plan *plan, uint32_t v)
{
    return v < extras(plan) ? 2 * v : v + extras(plan);
}

static inline uint32_t number_of(const rlt_plan *plan, uint32_t member)
{
    return member < 2 * extras(plan) ? member / 2 : member - extras(plan);
}

/* Fills in a message: the gathered span of an all-gather, or the whole vector of any other kind. */
static void send_span(const rlt_plan *plan, uint32_t lane, uint32_t to, uint32_t peer_step,
                      rlt_blocks gathered, rlt_step *out)
{
    out->send_to = to;
    out->peer_step = peer_step;
    out->send = out->land = plan->req.kind == RLT_ALL_GATHER ? gathered : rlt_blocks_run(0, 1);
    out->send_bytes = rlt_blocks_bytes(plan, lane, out->send);
}

static void exchange(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t s, rlt_step *out)
{
    uint32_t v = number_of(plan, member), to = v ^ 1u << s, begin = v >> s << s;
    uint32_t first = member_of(plan, begin), end = member_of(plan, begin + (1u << s));
    send_span(plan, lane, member_of(plan, to), s + (to < extras(plan)), rlt_blocks_run(first, end - first),
              out);
    out->recv_from = out->send_to;
    out->recv_count = 1;
    out->reduce = plan->req.kind != RLT_ALL_GATHER;
}

static uint32_t recursive_doubling_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    (void)lane;
    if (is_extra(plan, member))
        return 1;
    return plan->words[ROUNDS] + (member < 2 * extras(plan) ? 2 : 0);
}

static void recursive_doubling_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k,
                                    rlt_step *out)
{
    uint32_t n = plan->req.n, in = member < 2 * extras(plan);
    if (is_extra(plan, member)) {
        send_span(plan, lane, member - 1, 0, rlt_blocks_run(member, 1), out);
        out->reduce = plan->req.kind != RLT_ALL_GATHER;
        out->recv_from = member - 1;
        out->recv_count = 1;
    } else if (k < in) {
        out->recv_from = member + 1;
        out->recv_count = 1;
    } else if (k - in < plan->words[ROUNDS]) {
        exchange(plan, member, lane, k - in, out);
    } else { /* everything but the extra member's own block */
        send_span(plan, lane, member + 1, 0, rlt_blocks_run(rlt_next(member + 1, n), n - 1), out);
    }
}

static int recursive_doubling_plan(rlt_plan *plan, rlt_error *err)
{
    const rlt_coll_request *req = &plan->req;
    int rc = rlt_lanes_set(plan, req->params.channels ? req->params.channels : 1, 1,
                           req->params.chunks ? req->params.chunks : 1, err);
    if (rc)
        return rc;
    plan->words[ROUNDS] = rlt_log2(req->n);
    plan->words[CORE] = 1u << plan->words[ROUNDS];
    plan->blocks = req->kind == RLT_ALL_GATHER ? req->n : 1;
    plan->buffers = 1;
    return 0;
}

static const rlt_param parameters[] = {RLT_HAS_CHANNELS("1"), RLT_HAS_CHUNKS("1"), {0}};

const rlt_algorithm rlt_recursive_doubling = {
    .name = "recursive_doubling",
    .summary = "exchanges of everything at doubling distance; log2(n) rounds, for small sizes",
    .parameters = parameters,
    .kinds = 1u << RLT_ALL_REDUCE | 1u << RLT_ALL_GATHER | 1u << RLT_BARRIER,
    .counted = 1u << RLT_ALL_GATHER,
    .plan = recursive_doubling_plan,
    .steps = recursive_doubling_steps,
    .step = recursive_doubling_step,
    .symmetry = rlt_exclusive_or,
};
