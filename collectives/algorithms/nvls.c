/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Collectives by a switch that adds up and replicates, as NCCL's NVLS uses NVSwitch's multimem instructions
 * (B. Klenk et al.: "An In-Network Architecture for Accelerating Shared-Memory Multiprocessor Collectives",
 * ISCA 2020). Member i owns the i-th share of the buffer.
 *
 *   all-reduce      A member fetches the sum of its share from all members, itself included, and stores it to
 *                   all: (n+1)/n M bytes leave each member, and as many enter it.
 *   reduce-scatter  the first half: M out, M/n in
 *   all-gather      the second half: M/n out, M in
 *   broadcast       the root stores to all members
 *   reduce          the root fetches the sum
 *
 * Lanes are channels x chunks. In each channel, `window` chunks are being fetched while earlier ones are
 * being stored. The next fetch begins when an earlier one has left its sources, so no latency lies between
 * them. The two halves overlap, and both directions of each link are busy. K chunks take (n+1)/n M / B plus
 * the fetch of the first alone: (n-1)/(n+1)/K more. Results do not overwrite data that is fetched.
 */

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/lanes.h"
#include "collectives/selector.h"
#include "net/endpoint/endpoint.h"
#include "net/shapes/shapes.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/time.h"

/* NCCL's chunk of a member's share: 128 KiB (src/graph/tuning.cc, src/enqueue.cc). */
#define CHUNK_BYTES ((uint64_t)128 << 10)
enum { MAX_CHUNKS = 512, WINDOW = 1 };

static bool fetches(rlt_coll_kind kind)
{
    return kind == RLT_ALL_REDUCE || kind == RLT_REDUCE_SCATTER || kind == RLT_REDUCE;
}

static bool stores(rlt_coll_kind kind)
{
    return kind == RLT_ALL_REDUCE || kind == RLT_ALL_GATHER || kind == RLT_BROADCAST;
}

static bool rooted(const rlt_plan *plan)
{
    return rlt_coll_rooted(plan->req.kind);
}

/* The fetch, and the wait for its sum, if there is one; then the store. */
static uint32_t nvls_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    rlt_coll_kind kind = plan->req.kind;
    (void)lane;
    if (plan->req.n == 1 || (kind == RLT_REDUCE && member != plan->req.root))
        return 0;
    return (fetches(kind) ? 2u : 0u) + stores(kind);
}

static void nvls_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    const rlt_lane *l = (const rlt_lane *)plan->data + lane;
    rlt_coll_kind kind = plan->req.kind;
    uint32_t block = rooted(plan) ? 0 : member;
    bool fetching = fetches(kind) && k == 0;
    if (fetches(kind) && k < 2)
        out->recv_count = k;
    else
        out->recv_count = rooted(plan) ? 1 : plan->req.n;
    if (fetches(kind) && k == 1)
        return;
    out->peer_step = fetching ? 1 : k;
    if (kind == RLT_BROADCAST && member != plan->req.root)
        return;
    out->send = out->land = rlt_blocks_run(block, 1);
    out->send_bytes = rlt_share_bytes(plan, l, lane, block);
    out->send_to = fetching ? member : plan->req.n;
    out->verb = fetching ? RLT_VERB_REDUCE : RLT_VERB_MULTICAST;
    out->send_buffer = !fetching && plan->result;
    out->land_buffer = plan->result;
    if (fetching && lane % plan->chunks >= plan->window) {
        out->wait_lane = lane - plan->window;
        out->wait_step = 0;
    }
}

/* Returns the number of dimensions of a product in which members differ. */
static uint32_t dims_spanned(const rlt_coll_request *req)
{
    uint32_t spanned = 0, first = rlt_member_rank(req, 0);
    if (req->n_dims > 1 || !req->placement)
        return req->n_dims;
    for (uint32_t d = 0, stride = 1; d < rlt_topology_dims(req->topology); d++) {
        uint32_t size = rlt_topology_dim(req->topology, d).size, i = 1;
        while (i < req->n && rlt_placed(req->placement, rlt_member_rank(req, i)) / stride % size ==
                                 rlt_placed(req->placement, first) / stride % size)
            i++;
        spanned += i < req->n;
        stride *= size;
    }
    return spanned;
}

static int check_topology(const rlt_coll_request *req, rlt_error *err)
{
    uint32_t needed = (fetches(req->kind) ? RLT_CAN_REDUCE : 0) | (stores(req->kind) ? RLT_CAN_MULTICAST : 0);
    if (!req->topology)
        return 0;
    uint32_t dims = rlt_topology_is_product(req->topology) ? dims_spanned(req) : 1;
    if (dims > 1)
        return rlt_fail(err, RLT_EUNSUPPORTED, "nvls",
                        "needs members on one switch, but they span %u dimensions of '%s'", dims,
                        rlt_topology_name(req->topology));
    if ((rlt_topology_in_networks(req->topology) & needed) == needed)
        return 0;
    return rlt_fail(err, RLT_EUNSUPPORTED, "nvls", "no switch of '%s' can %s; set in_network on a switch",
                    rlt_topology_name(req->topology),
                    needed == RLT_CAN_REDUCE      ? "add up"
                    : needed == RLT_CAN_MULTICAST ? "replicate"
                                                  : "add up and replicate");
}

/* Returns the dimension of a product that the members span, if it is one of equal links. */
static bool switch_of(const rlt_coll_request *req, rlt_dim *out)
{
    uint32_t d = 0, first = rlt_member_rank(req, 0), next = rlt_member_rank(req, req->n > 1);
    if (!req->topology || !req->placement || !rlt_topology_is_product(req->topology))
        return false;
    uint32_t a = rlt_placed(req->placement, first), b = rlt_placed(req->placement, next);
    for (; d + 1 < rlt_topology_dims(req->topology); d++) {
        uint32_t size = rlt_topology_dim(req->topology, d).size;
        if (a % size != b % size)
            break;
        a /= size;
        b /= size;
    }
    *out = rlt_topology_dim(req->topology, d);
    return out->bw_Bps && out->latency_ps;
}

/* Default number of chunks of an all-reduce, at most MAX_CHUNKS; others have nothing to overlap. A machine
 * whose library is known cuts as NCCL does. Elsewhere the first fetch, (n-1)/n M/B for one chunk, is cut
 * until it costs less than a crossing of the switch. */
static uint32_t usual_chunks(const rlt_coll_request *req, uint32_t channels)
{
    const rlt_endpoint *e = rlt_request_endpoint(req);
    uint64_t chunks = req->bytes / channels / (req->n * CHUNK_BYTES);
    rlt_dim d;
    if (req->kind != RLT_ALL_REDUCE)
        return 1;
    if (!(e && e->channels) && switch_of(req, &d)) {
        rlt_time alone = rlt_transfer_time(req->bytes / channels / req->n * (req->n - 1), d.bw_Bps);
        chunks = (uint64_t)(alone / (2 * d.latency_ps)) + 1;
    }
    return chunks < 1 ? 1 : chunks < MAX_CHUNKS ? (uint32_t)chunks : MAX_CHUNKS;
}

static int nvls_plan(rlt_plan *plan, rlt_error *err)
{
    const rlt_coll_request *req = &plan->req;
    uint32_t channels = req->params.channels ? req->params.channels : 1;
    uint32_t chunks = req->params.chunks ? req->params.chunks : usual_chunks(req, channels);
    int rc = check_topology(req, err);
    if (rc || (rc = rlt_lanes_set(plan, channels, 1, chunks, err)) != 0)
        return rc;
    plan->window = req->params.window ? req->params.window : WINDOW;
    plan->blocks = rooted(plan) ? 1 : req->n;
    plan->buffers = 1;
    if (fetches(req->kind) && req->n > 1) {
        plan->buffers = 2;
        plan->result = 1;
    }
    plan->reduces = fetches(req->kind);
    plan->multicasts = stores(req->kind);
    return rlt_lanes_list(plan, err);
}

static const rlt_param parameters[] = {
    RLT_HAS_CHANNELS("1"),
    RLT_HAS_CHUNKS("1; all-reduce: until the first fetch takes less than a crossing of the switch, or "
                   "NCCL's 128 KiB of a share; at most 512"),
    RLT_HAS_WINDOW("1: chunks of a channel that are being fetched"),
    {0}};

const rlt_algorithm rlt_nvls = {
    .name = "nvls",
    .summary =
        "reduction and multicast by the switch, as in NVSwitch: each member fetches and stores its share",
    .parameters = parameters,
    .served_by = RLT_FOR_NVLS,
    .kinds = 1u << RLT_ALL_REDUCE | 1u << RLT_REDUCE_SCATTER | 1u << RLT_ALL_GATHER | 1u << RLT_BROADCAST |
             1u << RLT_REDUCE,
    .counted = 1u << RLT_ALL_GATHER | 1u << RLT_REDUCE_SCATTER,
    .plan = nvls_plan,
    .steps = nvls_steps,
    .step = nvls_step,
};
