/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collectives/lanes.h"

#include <stdlib.h>

#include "sim/base/error.h"

int rlt_lanes_set(rlt_plan *plan, uint32_t channels, uint32_t directions, uint32_t chunks, rlt_error *err)
{
    uint64_t per_channel = (uint64_t)directions * chunks; /* directions <= 2 */
    if (channels > RLT_MAX_LANES || per_channel > RLT_MAX_LANES || channels * per_channel > RLT_MAX_LANES)
        return rlt_fail(err, RLT_ERANGE, plan->algorithm->name,
                        "%u channels x %u directions x %u chunks are more than %d lanes", channels,
                        directions, chunks, RLT_MAX_LANES);
    plan->channels = channels;
    plan->directions = directions;
    plan->chunks = chunks;
    plan->lanes = (uint32_t)(channels * per_channel);
    return 0;
}

rlt_lane rlt_lane_at(const rlt_plan *plan, uint32_t lane, uint32_t chunks)
{
    uint64_t bytes = rlt_lane_bytes(plan, lane);
    return (rlt_lane){
        .base = bytes / plan->blocks,
        .rest = (uint32_t)(bytes % plan->blocks),
        .channel = lane / chunks / plan->directions,
        .chunk = lane % chunks,
        .reverse = (uint8_t)(lane / chunks % plan->directions),
    };
}

int rlt_lanes_list(rlt_plan *plan, rlt_error *err)
{
    rlt_lane *lanes = malloc(plan->lanes * sizeof *lanes);
    if (!lanes)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < plan->lanes; i++)
        lanes[i] = rlt_lane_at(plan, i, plan->chunks);
    plan->data = lanes;
    return 0;
}
