/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Member 0 sends one message per channel to member 1. */
#include "collectives/algorithm.h"
#include "collectives/lanes.h"
#include "net/endpoint/endpoint.h"
#include "net/endpoint/internode.h"
#include "sim/base/error.h"
#include "sim/base/param.h"

static int plan(rlt_plan *p, rlt_error *err)
{
    p->blocks = 1;
    p->buffers = 1;
    return rlt_lanes_set(p, p->req.params.channels ? p->req.params.channels : 1, 1, 1, err);
}

static uint32_t steps(const rlt_plan *p, uint32_t member, uint32_t lane)
{
    (void)p, (void)member, (void)lane;
    return 1;
}

static void step(const rlt_plan *p, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    (void)k;
    if (member == 0) {
        out->send_to = 1;
        out->send_bytes = rlt_lane_bytes(p, lane);
        out->send = out->land = rlt_blocks_run(0, 1);
    } else {
        out->recv_from = 0;
        out->recv_count = 1;
    }
}

static const rlt_param parameters[] = {RLT_HAS_CHANNELS(NULL), {0}};

const rlt_algorithm rlt_point_to_point = {
    .name = "point_to_point",
    .summary = "member 0 sends one message to member 1",
    .parameters = parameters,
    .served_by = RLT_FOR_DIRECT,
    .kinds = 1u << RLT_SEND_RECV,
    .hop = RLT_HOP_DIRECT,
    .plan = plan,
    .steps = steps,
    .step = step,
};
