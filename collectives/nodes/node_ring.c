/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rings over nodes of several members. */
#include "collectives/nodes/node_ring.h"

#include "collectives/lanes.h"
#include "collectives/nodes/xgmi.h"

uint32_t rlt_node_rings(const rlt_coll_request *req)
{
    bool several = req->node > 1 && req->node < req->n;
    return several && req->n_rings == 0 && req->kind != RLT_ALL_TO_ALL ? req->node : 0;
}

uint32_t rlt_node_ring_at(uint32_t node, uint32_t start, uint32_t place)
{
    uint32_t at = place / node, in = place % node;
    bool back = at % 2;
    return at * node + (back ? rlt_minus(rlt_previous(start, node), in, node) : rlt_plus(start, in, node));
}

bool rlt_node_ring_closed(const rlt_coll_request *req)
{
    bool symmetric = req->kind == RLT_ALL_REDUCE || req->kind == RLT_REDUCE_SCATTER ||
                     req->kind == RLT_ALL_GATHER || req->kind == RLT_BARRIER;
    return rlt_node_rings(req) && !rlt_xgmi_nodes(req) && symmetric && !req->counts &&
           req->n / req->node % 2 == 0 && req->params.directions < 2 && req->params.channels % req->node == 0;
}

void rlt_node_ring_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, uint32_t first,
                        rlt_step *out)
{
    uint32_t n = plan->req.n, g = plan->req.node, place = lane % g, i = member % g, at = member / g;
    bool back = at % 2;
    uint32_t start = back ? rlt_plus(rlt_next(i, g), place, g) : rlt_minus(i, place, g);
    uint32_t e = at * g + place, q = e + 2 * n - 1 - k; /* k <= 2n - 3 */
    q -= q >= 2 * n ? 2 * n : q >= n ? n : 0;
    uint32_t owner = rlt_node_ring_at(g, start, q), block = owner * plan->channels + lane / g * g + start;
    out->send_to = rlt_node_ring_at(g, start, rlt_next(e, n));
    out->recv_from = rlt_node_ring_at(g, start, rlt_previous(e, n));
    out->recv_count = 1;
    out->peer_step = k - first;
    out->peer_shift = place + 1 < g ? 1 : plan->lanes - (g - 1);
    out->reduce = k < n - 1;
    out->send = out->land = rlt_blocks_run(block, 1);
    out->send_bytes = rlt_part_size(plan->req.bytes, plan->blocks, block);
}
