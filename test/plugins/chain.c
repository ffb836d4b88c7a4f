/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How to add an algorithm: a broadcast down a chain of members, chunk by chunk. */
#include "collectives/algorithm.h"
#include "collectives/algorithms/lanes.h"
#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "workload/plugin/plugin.h"

static int chain_plan(rlt_plan *plan, rlt_error *err)
{
    const rlt_coll_params *given = &plan->req.params;
    plan->blocks = 1;
    plan->buffers = 1;
    return rlt_lanes_set(plan, given->channels ? given->channels : 1, 1, given->chunks ? given->chunks : 4,
                         err);
}

/* Distance from the root along the chain. */
static uint32_t place(const rlt_plan *plan, uint32_t member)
{
    return rlt_minus(member, plan->req.root, plan->req.n);
}

/* All but the root hear, then all but the last tell. */
static uint32_t chain_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    uint32_t at = place(plan, member), n = plan->req.n;
    (void)lane;
    return n == 1 ? 0 : at == 0 || at == n - 1 ? 1 : 2;
}

static void chain_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    uint32_t n = plan->req.n;
    if (k == 0 && place(plan, member) > 0) {
        out->recv_from = rlt_previous(member, n);
        out->recv_count = 1;
        return;
    }
    out->send_to = rlt_next(member, n);
    out->peer_step = 0;
    out->send_bytes = rlt_lane_bytes(plan, lane);
    out->send = out->land = rlt_blocks_run(0, 1);
}

/* A parameter is a line here. */
static const rlt_param parameters[] = {RLT_HAS_CHANNELS("1"), RLT_HAS_CHUNKS("4"), {0}};

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
