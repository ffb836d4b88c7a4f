/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pairwise exchange: n - 1 strict rounds. In each, a member sends to one partner and receives from one (R.
 * Thakur, R. Rabenseifner, W. Gropp: "Optimization of Collective Communication Operations in MPICH", IJHPCA
 * 2005). If n is a power of two, both are r ^ round; otherwise they are r + round and r - round. This is the
 * direct exchange with a window of one.
 */
#include "collectives/algorithm.h"
#include "collectives/algorithms/direct.h"
#include "collectives/lanes.h"
#include "net/endpoint/internode.h"
#include "sim/base/error.h"
#include "sim/base/param.h"

static int pairwise_plan(rlt_plan *plan, rlt_error *err)
{
    uint32_t n = plan->req.n;
    plan->req.params.window = 1;
    plan->words[RLT_DIRECT_XOR] = (n & (n - 1)) == 0;
    return rlt_direct.plan(plan, err);
}

static uint32_t pairwise_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    return rlt_direct.steps(plan, member, lane);
}

static void pairwise_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    rlt_direct.step(plan, member, lane, k, out);
}

static uint32_t pairwise_symmetry(const rlt_plan *plan, uint32_t *sizes)
{
    return rlt_direct.symmetry(plan, sizes);
}

static const rlt_param parameters[] = {RLT_HAS_CHANNELS("1"), RLT_HAS_CHUNKS("1"), {0}};

const rlt_algorithm rlt_pairwise = {
    .name = "pairwise",
    .summary = "n - 1 strict rounds of exchanges between pairs; with counts too",
    .parameters = parameters,
    .kinds = 1u << RLT_ALL_REDUCE | 1u << RLT_REDUCE_SCATTER | 1u << RLT_ALL_GATHER | 1u << RLT_ALL_TO_ALL |
             1u << RLT_BARRIER,
    .counted = 1u << RLT_ALL_TO_ALL | 1u << RLT_ALL_GATHER | 1u << RLT_REDUCE_SCATTER,
    .hop = RLT_HOP_DIRECT,
    .plan = pairwise_plan,
    .steps = pairwise_steps,
    .step = pairwise_step,
    .symmetry = pairwise_symmetry,
};
