/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How to add an algorithm with a parameter: a broadcast down a chain, one chunk after the other. */
#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/lanes.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "workload/plugin/plugin.h"

/* All that is needed for the parameter to appear in --set, lists, help and studies. */
enum { WAY };
static const rlt_param parameters[] = {RLT_HAS_CHANNELS("1"),
                                       RLT_HAS_CHUNKS("4"),
                                       {"way", .kind = RLT_PARAM_CHOICE,
                                        .help = "to the next member, or to the one before",
                                        .words = "up|down", .preset = "up", RLT_SLOT(WAY)},
                                       {0}};

static int chain_plan(rlt_plan *plan, rlt_error *err)
{
    const rlt_coll_params *p = &plan->req.params;
    plan->blocks = 1;
    plan->buffers = 1;
    return rlt_lanes_set(plan, p->channels ? p->channels : 1, 1, p->chunks ? p->chunks : 4, err);
}

static uint32_t after(const rlt_plan *plan, uint32_t member)
{
    return plan->own[WAY].u ? rlt_previous(member, plan->req.n) : rlt_next(member, plan->req.n);
}

static uint32_t before(const rlt_plan *plan, uint32_t member)
{
    return plan->own[WAY].u ? rlt_next(member, plan->req.n) : rlt_previous(member, plan->req.n);
}

/* All members but the root receive; all but the last one send. */
static uint32_t chain_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    (void)lane;
    if (plan->req.n == 1)
        return 0;
    return member == plan->req.root || after(plan, member) == plan->req.root ? 1 : 2;
}

static void chain_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    if (k == 0 && member != plan->req.root) {
        out->recv_from = before(plan, member);
        out->recv_count = 1;
        return;
    }
    out->send_to = after(plan, member);
    out->peer_step = 0;
    out->send_bytes = rlt_lane_bytes(plan, lane);
    out->send = out->land = rlt_blocks_run(0, 1);
}

static const rlt_algorithm chain = {
    .name = "chain",
    .summary = "broadcast from member to member, chunk by chunk",
    .parameters = parameters,
    .kinds = 1u << RLT_BROADCAST,
    .plan = chain_plan,
    .steps = chain_steps,
    .step = chain_step,
};

static const rlt_algorithm *const algorithms[] = {&chain, NULL};
RLT_PLUGIN = {.abi = RLT_PLUGIN_ABI,
              .name = "chain",
              .version = "1.0",
              .summary = "an algorithm",
              .algorithms = algorithms};
