/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All-reduce over nodes whose inner switch adds up and replicates (NCCL's NVLSTree: src/transport/nvls.cc,
 * src/device/all_reduce.h). Each of the g members of a node is a head: it owns one of g slices.
 *
 *   fetch     A head fetches the sum of its slice from the members of its node through their switch.
 *   up, down  The heads of one number add up along NCCL's double binary tree over the nodes (double_tree.h),
 *             by their own NICs, and the sum comes back down.
 *   store     A head stores the sum of its slice to all members of its node.
 *
 * Lanes are channels x trees x chunks. Chunks follow each other in each of the stages, so that the stages of
 * different chunks overlap. Every wait is for an earlier chunk, so there is no deadlock.
 *
 * M bytes, N nodes, each with links of V to the switch and R of all NICs together: (g+1)/g M cross a link to
 * the switch each way. The busiest node moves 1, 1.5 or 2 M between nodes, for 2, 3 or more nodes, over both
 * trees. Example: two nodes of 8 with V = 450 GB/s and R = 400 GB/s: min(400, 450 * 8/9) = 400 GB/s.
 *
 * Buffers: 0 is the input, which switches fetch. 1 has the sums.
 */
#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/lanes.h"
#include "collectives/nodes/double_tree.h"
#include "collectives/nodes/node_switch.h"
#include "net/endpoint/endpoint.h"
#include "net/endpoint/internode.h"
#include "net/shapes/shapes.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/time.h"

/* NCCL moves 128 KiB of a head in each of 8 channels of a tree at once, from four nodes on 64 KiB
 * (src/enqueue.cc). */
#define CHUNK_BYTES ((uint64_t)1 << 20)
enum { TREES = 2, MAX_CHUNKS = 256, MANY_NODES = 4 };

/* Steps of a lane: the fetch, its sum, the children's sums, up, from above, down to each child, the store. */
enum { FETCH, FETCHED, CHILDREN };

static rlt_tree_place place_of(const rlt_plan *plan, uint32_t node, uint32_t lane)
{
    return rlt_double_tree(plan->req.n / plan->req.node, node, lane / plan->chunks % TREES);
}

/* Step in which a place gets the sum from its parent, and the first step after it. */
static uint32_t from_above(const rlt_tree_place *t)
{
    return CHILDREN + (t->n_children > 0 ? 2u : 1u);
}
static uint32_t first_down(const rlt_tree_place *t)
{
    return CHILDREN + (t->n_children > 0 ? 1u : 0u) + (t->parent != RLT_NONE ? 2u : 0u);
}

static uint32_t nvls_tree_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    if (plan->req.n == 1)
        return 0;
    rlt_tree_place t = place_of(plan, member / plan->req.node, lane);
    return first_down(&t) + t.n_children + 1;
}

/* Lets a chunk follow the one before it. */
static void follow(const rlt_plan *plan, uint32_t lane, uint32_t step, rlt_step *out)
{
    if (lane % plan->chunks > 0) {
        out->wait_lane = lane - 1;
        out->wait_step = step;
    }
}

static void fetch(const rlt_plan *plan, uint32_t member, uint32_t lane, rlt_step *out)
{
    out->verb = RLT_VERB_REDUCE;
    out->send_to = member;
    out->peer_step = FETCHED;
    out->send_buffer = 0;
    follow(plan, lane, FETCH, out);
}

static void send_to(const rlt_plan *plan, uint32_t member, uint32_t node, uint32_t peer_step, rlt_step *out)
{
    out->send_to = node * plan->req.node + member % plan->req.node;
    out->peer_step = peer_step;
}

/* Steps between the heads of one number. Both children are served at once. */
static void climb(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, const rlt_tree_place *t,
                  rlt_step *out)
{
    uint32_t down = first_down(t);
    if (t->parent != RLT_NONE && k == from_above(t) - 1) {
        send_to(plan, member, t->parent, CHILDREN, out);
        out->reduce = 1;
        follow(plan, lane, k, out);
        return;
    }
    uint32_t child = t->children[k - down];
    rlt_tree_place below = place_of(plan, child, lane);
    send_to(plan, member, child, from_above(&below), out);
    out->nowait = k - down + 1 < t->n_children;
    if (k == down)
        follow(plan, lane, down + t->n_children - 1, out);
}

static void store(const rlt_plan *plan, uint32_t k, rlt_step *out)
{
    out->verb = RLT_VERB_MULTICAST;
    out->send_to = plan->req.n;
    out->peer_step = k;
    out->recv_count = plan->req.node;
}

static void nvls_tree_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    rlt_tree_place t = place_of(plan, member / plan->req.node, lane);
    uint32_t store_step = first_down(&t) + t.n_children, block = member % plan->req.node;
    if (k == FETCHED || (t.parent != RLT_NONE && k == from_above(&t))) {
        out->recv_count = 1;
        return;
    }
    if (t.n_children && k == CHILDREN) {
        out->recv_count = t.n_children;
        return;
    }
    out->send = out->land = rlt_blocks_run(block, 1);
    out->send_bytes = rlt_blocks_bytes(plan, lane, out->send);
    out->send_buffer = out->land_buffer = 1;
    if (k == FETCH)
        fetch(plan, member, lane, out);
    else if (k == store_step)
        store(plan, k, out);
    else
        climb(plan, member, lane, k, &t, out);
}

static void nvls_tree_reach(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_reach *out)
{
    (void)lane, (void)k;
    *out = rlt_node_members(plan, member);
}

static int nvls_tree_plan(rlt_plan *plan, rlt_error *err)
{
    const rlt_coll_request *req = &plan->req;
    const uint32_t both = RLT_CAN_REDUCE | RLT_CAN_MULTICAST;
    uint32_t channels = req->params.channels ? req->params.channels : 1;
    int rc = req->n > 1 ? rlt_nodes_regular(req, "nvls_tree", err) : 0;
    if (rc)
        return rc;
    if (req->n > 1 && (rlt_node_switch_can(req, true) & both) != both)
        return rlt_fail(
            err, RLT_EUNSUPPORTED, "nvls_tree",
            "the nodes of '%s' have no switch that can add up and replicate; set in_network on it",
            rlt_topology_name(req->topology));
    uint32_t chunks = 1;
    if (req->params.chunks)
        chunks = req->params.chunks;
    else if (req->n > 1)
        chunks = rlt_node_chunks(req, channels * TREES,
                                 req->n / req->node < MANY_NODES ? CHUNK_BYTES : CHUNK_BYTES / 2, MAX_CHUNKS);
    if ((rc = rlt_lanes_set(plan, channels, TREES, chunks, err)) != 0)
        return rc;
    plan->blocks = req->n > 1 ? req->node : 1;
    plan->buffers = req->n > 1 ? 2 : 1;
    plan->result = plan->buffers - 1;
    plan->reduces = plan->multicasts = req->n > 1;
    plan->inside = true;
    return 0;
}

static const rlt_param parameters[] = {
    RLT_HAS_CHANNELS("1"),
    RLT_HAS_CHUNKS("per tree, 1 MiB of a member's slice (512 KiB from four nodes on), at most 256"),
    {0}};

const rlt_algorithm rlt_nvls_tree = {
    .name = "nvls_tree",
    .summary = "over nodes: the node's switch adds up, a double binary tree joins the nodes, the switch "
               "replicates (NVLSTree)",
    .parameters = parameters,
    .kinds = 1u << RLT_ALL_REDUCE,
    .served_by = RLT_FOR_NVLS,
    .hop = RLT_HOP_NVLS_TREE,
    .plan = nvls_tree_plan,
    .steps = nvls_tree_steps,
    .step = nvls_tree_step,
    .turns = true,
    .reach = nvls_tree_reach,
};
