/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All-reduce over nodes joined by switches that add up and replicate (SHARP), as NCCL's CollNet
 * (src/transport/coll_net.cc). Each of the g members of a node is a head: it owns one of g slices.
 *
 *   inside    A head gets the sum of its slice over its node: from the node's switch if that adds up (NVLS),
 *             else by a message from each member.
 *   between   The network adds up the slices of all heads of one number, and all of them receive the sum. One
 *             of them issues the transfer, another one for each chunk, once the others have announced theirs.
 *   back      A head stores the sum to its node by the switch, else by a message to each member.
 *
 * M bytes, N nodes of g members with R of all NICs together: every byte leaves a node once and enters it
 * once. So the time is M / R, a bus bandwidth of 2 R (n-1)/n, if the links inside are fast enough. Example: 4
 * nodes of 8 NICs of 50 GB/s: 775 GB/s.
 *
 * Lanes are channels x chunks. Chunks follow each other inside; between nodes `window` of them are under way.
 * Every wait is for an earlier chunk, so there is no deadlock.
 *
 * Buffers. With a switch: 0 the input, 1 the sums of the node, 2 the result. Else the sums are made in 0, and
 * 1 is the result. What a switch fetches is not written again.
 */
#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/lanes.h"
#include "collectives/nodes/node_switch.h"
#include "net/endpoint/endpoint.h"
#include "net/endpoint/internode.h"
#include "net/shapes/shapes.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/param.h"

/* NCCL's chunk of a head (src/enqueue.cc). */
#define CHUNK_BYTES ((uint64_t)128 << 10)
enum { MAX_CHUNKS = 256, WINDOW = 8 };
enum { SWITCHED }; /* index in plan->words: whether the node's switch adds up and replicates */

/* First step of the announcements: after the fetch and its arrival, or the messages and their arrival. */
static inline uint32_t announce_step(const rlt_plan *plan)
{
    return plan->words[SWITCHED] ? 2 : plan->req.node;
}

/* The step between nodes, then that of the way back. */
static inline uint32_t between_step(const rlt_plan *plan)
{
    return announce_step(plan) + 1;
}

static uint32_t collnet_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    (void)member, (void)lane;
    if (plan->req.n == 1)
        return 0;
    return between_step(plan) + 1 + (plan->words[SWITCHED] ? 1 : plan->req.node);
}

static void send_block(const rlt_plan *plan, uint32_t lane, uint32_t block, rlt_step *out)
{
    out->send = out->land = rlt_blocks_run(block, 1);
    out->send_bytes = rlt_blocks_bytes(plan, lane, out->send);
}

static void follow(const rlt_plan *plan, uint32_t lane, uint32_t back, uint32_t step, rlt_step *out)
{
    if (lane % plan->chunks >= back) {
        out->wait_lane = lane - back;
        out->wait_step = step;
    }
}

/* Step k of the way in, by the switch: the fetch, then the wait for its sum. */
static void fetch(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    out->recv_count = k;
    if (k == 1)
        return;
    out->verb = RLT_VERB_REDUCE;
    out->send_to = member;
    out->peer_step = 1;
    out->land_buffer = 1;
    send_block(plan, lane, member % plan->req.node, out);
    out->land_buffer = 1;
    follow(plan, lane, 1, 0, out);
}

/* Steps 0 .. g-2 of the way in, by messages: the slice of each other member of the node. Step g-1: the wait
 * for theirs. Back the same with the member's own slice. */
static void exchange(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, bool back,
                     rlt_step *out)
{
    uint32_t g = plan->req.node, i = member % g, first = back ? between_step(plan) + 1 : 0,
             last = first + g - 1;
    if (k == last) {
        out->recv_count = g - 1;
        return;
    }
    uint32_t to = rlt_plus(i, k - first + 1, g);
    out->send_to = member - i + to;
    out->peer_step = last;
    out->nowait = k + 1 < last;
    out->reduce = !back;
    out->send_buffer = out->land_buffer = back ? plan->result : 0;
    send_block(plan, lane, back ? i : to, out);
    if (k == first)
        follow(plan, lane, 1, last - 1, out);
}

/* The head that issues the transfer of a lane. */
static inline uint32_t issuer(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    uint32_t g = plan->req.node;
    return lane % (plan->req.n / g) * g + member % g;
}

static void announce(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    uint32_t to = issuer(plan, member, lane);
    if (to == member) {
        out->recv_count = plan->req.n / plan->req.node - 1;
        return;
    }
    out->send_to = to;
    out->peer_step = k;
}

static void between(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    out->recv_count = 1;
    if (issuer(plan, member, lane) != member)
        return;
    out->verb = RLT_VERB_REDUCE_ALL;
    out->send_to = plan->req.n;
    out->peer_step = k;
    out->send_buffer = (uint8_t)(plan->result - 1);
    out->land_buffer = plan->result;
    send_block(plan, lane, member % plan->req.node, out);
    follow(plan, lane, plan->window, k, out);
}

static void store(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    out->verb = RLT_VERB_MULTICAST;
    out->send_to = plan->req.n;
    out->peer_step = k;
    out->recv_count = plan->req.node;
    out->send_buffer = out->land_buffer = plan->result;
    send_block(plan, lane, member % plan->req.node, out);
}

static void collnet_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    uint32_t ready = announce_step(plan);
    bool switched = plan->words[SWITCHED];
    if (k == ready)
        announce(plan, member, lane, k, out);
    else if (k == ready + 1)
        between(plan, member, lane, k, out);
    else if (!switched)
        exchange(plan, member, lane, k, k > ready, out);
    else if (k < ready)
        fetch(plan, member, lane, k, out);
    else
        store(plan, member, lane, k, out);
}

static void collnet_reach(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_reach *out)
{
    (void)lane;
    *out = k == between_step(plan) ? rlt_node_heads(plan, member) : rlt_node_members(plan, member);
}

static int check_request(const rlt_coll_request *req, rlt_error *err)
{
    const uint32_t both = RLT_CAN_REDUCE | RLT_CAN_MULTICAST;
    int rc = rlt_nodes_regular(req, "collnet", err);
    if (rc || (rlt_node_switch_can(req, false) & both) == both)
        return rc;
    return rlt_fail(err, RLT_EUNSUPPORTED, "collnet",
                    "the switches between the nodes of '%s' cannot add up and replicate; set "
                    "in_network=reduce+multicast on the outer dimension",
                    rlt_topology_name(req->topology));
}

static int collnet_plan(rlt_plan *plan, rlt_error *err)
{
    const rlt_coll_request *req = &plan->req;
    const uint32_t both = RLT_CAN_REDUCE | RLT_CAN_MULTICAST;
    uint32_t channels = req->params.channels ? req->params.channels : 1, chunks = req->params.chunks;
    int rc = req->n > 1 ? check_request(req, err) : 0;
    if (rc)
        return rc;
    if (!chunks)
        chunks = req->n > 1 ? rlt_node_chunks(req, channels, CHUNK_BYTES, MAX_CHUNKS) : 1;
    if ((rc = rlt_lanes_set(plan, channels, 1, chunks, err)) != 0)
        return rc;
    plan->window = req->params.window ? req->params.window : WINDOW;
    plan->blocks = plan->buffers = 1;
    if (req->n == 1)
        return 0;
    plan->words[SWITCHED] = (rlt_node_switch_can(req, true) & both) == both;
    plan->blocks = req->node;
    plan->result = plan->words[SWITCHED] ? 2 : 1;
    plan->buffers = (uint8_t)(plan->result + 1);
    plan->reduces = plan->multicasts = true;
    return 0;
}

static const rlt_param parameters[] = {
    RLT_HAS_CHANNELS("1"),
    RLT_HAS_CHUNKS("128 KiB of a member's slice, at most 256"),
    RLT_HAS_WINDOW("8: chunks of a channel that are under way between the nodes"),
    {0}};

const rlt_algorithm rlt_collnet = {
    .name = "collnet",
    .summary =
        "over nodes: switches between them add up and replicate (SHARP), so each byte leaves a node once",
    .parameters = parameters,
    .kinds = 1u << RLT_ALL_REDUCE,
    .served_by = RLT_FOR_NVLS,
    .hop = RLT_HOP_COLLNET,
    .plan = collnet_plan,
    .steps = collnet_steps,
    .step = collnet_step,
    .turns = true,
    .reach = collnet_reach,
};
