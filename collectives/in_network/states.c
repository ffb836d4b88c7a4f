/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Initial and final state of each kind of collective. */
#include "collectives/in_network/states.h"

#include "collectives/collective.h"

/* Member whose share a block belongs to. */
static uint32_t owner_of(const rlt_plan *plan, uint32_t block)
{
    return (uint32_t)((uint64_t)block * plan->req.n / plan->blocks);
}

/* Whether the blocks of a kind are shares of members; counts may then give their sizes. */
static bool has_shares(rlt_coll_kind kind)
{
    return kind == RLT_ALL_GATHER || kind == RLT_REDUCE_SCATTER || kind == RLT_GATHER || kind == RLT_SCATTER;
}

int rlt_states_check(const rlt_plan *plan, rlt_error *err)
{
    const rlt_coll_request *r = &plan->req;
    if (r->kind == RLT_ALL_TO_ALL && (plan->blocks % r->n != 0 || (r->counts && plan->blocks != r->n)))
        return rlt_fail(err, RLT_ECHECK, plan->algorithm->name,
                        "an all-to-all of %u members has %u blocks; expected %s %u", r->n, plan->blocks,
                        r->counts ? "one per member:" : "a multiple of", r->n);
    if (r->counts && has_shares(r->kind) && plan->blocks != r->n)
        return rlt_fail(err, RLT_ECHECK, plan->algorithm->name,
                        "%s with counts has %u blocks; expected one per member: %u", rlt_coll_name(r->kind),
                        plan->blocks, r->n);
    return 0;
}

bool rlt_block_held(const rlt_plan *plan, uint32_t member, uint32_t block)
{
    switch (plan->req.kind) {
    case RLT_ALL_GATHER:
    case RLT_GATHER:
        return owner_of(plan, block) == member;
    case RLT_BROADCAST:
    case RLT_SCATTER:
        return member == plan->req.root;
    case RLT_SEND_RECV:
        return member == 0;
    default:
        return true;
    }
}

bool rlt_block_wanted(const rlt_plan *plan, uint32_t member, uint32_t block, rlt_wanted *out)
{
    uint32_t owner = owner_of(plan, block), per_member = plan->blocks / plan->req.n;
    *out = (rlt_wanted){.tag = block, .one = owner};
    switch (plan->req.kind) {
    case RLT_ALL_REDUCE:
    case RLT_BARRIER:
        out->all = true;
        return true;
    case RLT_REDUCE:
        out->all = true;
        return member == plan->req.root;
    case RLT_REDUCE_SCATTER:
        out->all = true;
        return owner == member;
    case RLT_ALL_GATHER:
        return true;
    case RLT_GATHER:
        return member == plan->req.root;
    case RLT_SCATTER:
        out->one = plan->req.root;
        return owner == member;
    case RLT_ALL_TO_ALL:
        out->tag = member * per_member + block % per_member;
        return true;
    case RLT_BROADCAST:
        out->one = plan->req.root;
        return true;
    default:
        out->one = 0;
        return member == 1;
    }
}

uint64_t rlt_block_size(const rlt_plan *plan, uint32_t lane, uint32_t from, uint32_t tag)
{
    const rlt_coll_request *r = &plan->req;
    uint64_t whole;
    if (r->counts && r->kind == RLT_ALL_TO_ALL)
        whole = r->counts[(uint64_t)from * r->n + tag];
    else if (r->counts && has_shares(r->kind))
        whole = r->counts[tag];
    else
        return rlt_part_size(rlt_lane_bytes(plan, lane), plan->blocks, tag);
    return plan->shared ? whole : rlt_part_size(whole, plan->lanes, lane);
}
