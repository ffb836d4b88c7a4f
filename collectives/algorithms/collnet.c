/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Collectives over nodes joined by switches that add up and replicate (SHARP), as NCCL's CollNet Direct
 * (src/transport/coll_net.cc). Each of the g members of a node is a head: it owns one of g slices. The slice
 * of head i in all-gather and reduce-scatter is the shares of the members of number i, one of each node.
 *
 *   inside    A head gets the sum of its slice over its node: from the node's switch if that adds up (NVLS),
 *             else by a message from each member.
 *   between   All-reduce: the network adds up the slices of all heads of one number, and all of them receive
 *             the sum. Reduce-scatter: it adds up each share of the slice for the member that owns it. One of
 *             the heads issues the transfers, another one for each chunk, once the others have announced
 *             theirs. All-gather: the network replicates the share of each head to all heads of its number.
 *   back      A head stores its slice to its node by the switch, else by a message to each member.
 *
 * Reduce-scatter has no way back, all-gather no way inside.
 *
 * M bytes, N nodes of g members with R of all NICs together: every byte leaves a node once and enters it
 * once. So the time is M / R if the links inside are fast enough. All-reduce: a bus bandwidth of 2 R (n-1)/n.
 * Example: 4 nodes of 8 NICs of 50 GB/s: 775 GB/s. All-gather and reduce-scatter: R (n-1)/n, which is what
 * rings reach, too: all data must enter, or leave, every node in any case. They gain latency alone.
 *
 * Lanes are channels x chunks. Chunks follow each other inside; between nodes `window` of them are under way.
 * Every wait is for an earlier chunk, so there is no deadlock.
 *
 * Buffers of reductions. With a switch: 0 the input, 1 the sums of the node, 2 the result. Else the sums are
 * made in 0, and 1 is the result. What a switch fetches is not written again. All-gather has one buffer.
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

static inline bool adds(const rlt_plan *plan)
{
    return plan->req.kind != RLT_ALL_GATHER;
}

static inline bool stores(const rlt_plan *plan)
{
    return plan->req.kind != RLT_REDUCE_SCATTER;
}

static inline uint32_t nodes_of(const rlt_plan *plan)
{
    return plan->req.n / plan->req.node;
}

/* The head that issues the transfers of a lane. */
static inline uint32_t issuer(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    return lane % nodes_of(plan) * plan->req.node + member % plan->req.node;
}

/* The step of the announcements: after the fetch and its arrival, or the messages and their arrival. */
static inline uint32_t announce_step(const rlt_plan *plan)
{
    return plan->words[SWITCHED] ? 2 : plan->req.node;
}

/* First and last step between nodes. Of a reduce-scatter the issuer sends for each node, then waits for its
 * own share. */
static inline uint32_t between_step(const rlt_plan *plan)
{
    return adds(plan) ? announce_step(plan) + 1 : 0;
}

static inline uint32_t arrival_step(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    bool each = !stores(plan) && issuer(plan, member, lane) == member;
    return between_step(plan) + (each ? nodes_of(plan) : 0);
}

static uint32_t collnet_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    uint32_t back = plan->words[SWITCHED] ? 1 : plan->req.node;
    if (plan->req.n == 1)
        return 0;
    return arrival_step(plan, member, lane) + 1 + (stores(plan) ? back : 0);
}

/* The slice of a head: one block, or one of each node. */
static rlt_blocks slice_of(const rlt_plan *plan, uint32_t head)
{
    if (plan->req.kind == RLT_ALL_REDUCE)
        return rlt_blocks_run(head, 1);
    return (rlt_blocks){.first = head, .run = 1, .stride = plan->req.node, .reps = nodes_of(plan)};
}

static void send_blocks(const rlt_plan *plan, uint32_t lane, rlt_blocks blocks, rlt_step *out)
{
    out->send = out->land = blocks;
    out->send_bytes = rlt_blocks_bytes(plan, lane, blocks);
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
    send_blocks(plan, lane, slice_of(plan, member % plan->req.node), out);
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
    send_blocks(plan, lane, slice_of(plan, back ? i : to), out);
    if (k == first)
        follow(plan, lane, 1, last - 1, out);
}

static void announce(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    uint32_t to = issuer(plan, member, lane);
    if (to == member) {
        out->recv_count = nodes_of(plan) - 1;
        return;
    }
    out->send_to = to;
    out->peer_step = k;
}

/* All-reduce: the sum, for all heads. */
static void add_for_all(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    out->recv_count = 1;
    if (issuer(plan, member, lane) != member)
        return;
    out->verb = RLT_VERB_REDUCE_ALL;
    out->send_to = plan->req.n;
    out->peer_step = k;
    out->send_buffer = (uint8_t)(plan->result - 1);
    out->land_buffer = plan->result;
    send_blocks(plan, lane, slice_of(plan, member % plan->req.node), out);
    follow(plan, lane, plan->window, k, out);
}

/* Reduce-scatter: the sum of each share, for the member that owns it; then the arrival of the own one. */
static void add_for_each(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    uint32_t node = k - between_step(plan), to = node * plan->req.node + member % plan->req.node;
    if (k == arrival_step(plan, member, lane)) {
        out->recv_count = 1;
        return;
    }
    out->verb = RLT_VERB_REDUCE;
    out->send_to = to;
    out->peer_step = arrival_step(plan, to, lane);
    out->nowait = node + 1 < nodes_of(plan);
    out->send_buffer = (uint8_t)(plan->result - 1);
    out->land_buffer = plan->result;
    send_blocks(plan, lane, rlt_blocks_run(to, 1), out);
    if (node == 0 && lane % plan->chunks >= plan->window)
        follow(plan, lane, plan->window, arrival_step(plan, member, lane - plan->window), out);
}

/* All-gather: the own share, for all heads. */
static void replicate(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    out->verb = RLT_VERB_MULTICAST;
    out->send_to = plan->req.n;
    out->peer_step = k;
    out->recv_count = nodes_of(plan);
    send_blocks(plan, lane, rlt_blocks_run(member, 1), out);
    follow(plan, lane, plan->window, k, out);
}

static void between(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    if (!adds(plan))
        replicate(plan, member, lane, k, out);
    else if (stores(plan))
        add_for_all(plan, member, lane, k, out);
    else
        add_for_each(plan, member, lane, k, out);
}

static void store(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    out->verb = RLT_VERB_MULTICAST;
    out->send_to = plan->req.n;
    out->peer_step = k;
    out->recv_count = plan->req.node;
    out->send_buffer = out->land_buffer = plan->result;
    send_blocks(plan, lane, slice_of(plan, member % plan->req.node), out);
}

static void collnet_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    uint32_t first = between_step(plan);
    bool switched = plan->words[SWITCHED], back = k > arrival_step(plan, member, lane);
    if (k >= first && !back)
        between(plan, member, lane, k, out);
    else if (k + 1 == first)
        announce(plan, member, lane, k, out);
    else if (!switched)
        exchange(plan, member, lane, k, back, out);
    else if (back)
        store(plan, member, lane, k, out);
    else
        fetch(plan, member, lane, k, out);
}

static void collnet_reach(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_reach *out)
{
    bool heads = k >= between_step(plan) && k <= arrival_step(plan, member, lane);
    *out = heads ? rlt_node_heads(plan, member) : rlt_node_members(plan, member);
}

/* Work of the switches. */
static uint32_t needs(const rlt_plan *plan)
{
    return (adds(plan) ? RLT_CAN_REDUCE : 0) | (stores(plan) ? RLT_CAN_MULTICAST : 0);
}

static int check_plan(const rlt_plan *plan, rlt_error *err)
{
    const rlt_coll_request *req = &plan->req;
    const char *verbs = !adds(plan) ? "replicate" : stores(plan) ? "add up and replicate" : "add up";
    int rc = rlt_nodes_regular(req, "collnet", err);
    if (rc || (rlt_node_switch_can(req, false) & needs(plan)) == needs(plan))
        return rc;
    return rlt_fail(
        err, RLT_EUNSUPPORTED, "collnet",
        "the switches between the nodes of '%s' cannot %s; set in_network=reduce+multicast on the "
        "outer dimension",
        rlt_topology_name(req->topology), verbs);
}

static int collnet_plan(rlt_plan *plan, rlt_error *err)
{
    const rlt_coll_request *req = &plan->req;
    uint32_t channels = req->params.channels ? req->params.channels : 1, chunks = req->params.chunks;
    int rc = req->n > 1 ? check_plan(plan, err) : 0;
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
    plan->words[SWITCHED] = (rlt_node_switch_can(req, true) & needs(plan)) == needs(plan);
    plan->blocks = req->kind == RLT_ALL_REDUCE ? req->node : req->n;
    plan->result = !adds(plan) ? 0 : plan->words[SWITCHED] ? 2 : 1;
    plan->buffers = (uint8_t)(plan->result + 1);
    plan->reduces = adds(plan);
    plan->multicasts = stores(plan);
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
    .kinds = 1u << RLT_ALL_REDUCE | 1u << RLT_ALL_GATHER | 1u << RLT_REDUCE_SCATTER,
    .served_by = RLT_FOR_NVLS,
    .hop = RLT_HOP_COLLNET,
    .plan = collnet_plan,
    .steps = collnet_steps,
    .step = collnet_step,
    .turns = true,
    .reach = collnet_reach,
};
