/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * "rings": the ring algorithm along rings found in the network, as NCCL builds its channels. The graph
 * consists of the direct links between members. A link with k times the slowest link's bandwidth, or k
 * parallel links, takes part in k rings. Edge-disjoint Hamiltonian cycles of the graph
 * (collectives/check/cycles.h) are each used in both directions. If no two members are neighbours, all paths
 * lead through switches. One ring then fills every port, and the ring algorithm's own order is used.
 */
#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/check/cycles.h"
#include "collectives/collective.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/param.h"
#include "sim/base/time.h"

enum { MAX_LINKS = 1 << 22, MAX_SHARE = 15 };

/* Private data of the plan. */
typedef struct rings {
    rlt_plan inner; /* plan of the ring algorithm */
    const uint32_t **orders;
    uint32_t *members; /* members in all orders */
} rings;

/* Fills bw_Bps[a * n + b] with the bandwidth of the direct links from member a to member b. */
static int measure_links(const rlt_coll_request *req, uint64_t *bw_Bps, rlt_error *err)
{
    const rlt_topology *t = req->topology;
    rlt_map member = {0};
    int rc = 0;
    for (uint32_t m = 0; m < req->n && rc == 0; m++)
        if (rlt_map_put(&member, rlt_placed(req->placement, rlt_member_rank(req, m)), m))
            rc = rlt_nomem(err);
    for (uint32_t i = 0; i < rlt_topology_links(t) && rc == 0; i++) {
        rlt_link l = rlt_topology_link(t, i);
        uint32_t a = rlt_map_get(&member, l.src), b = rlt_map_get(&member, l.dst);
        if (a != RLT_NONE && b != RLT_NONE)
            bw_Bps[(size_t)a * req->n + b] += l.bw_Bps;
    }
    rlt_map_free(&member);
    return rc;
}

/* Converts bandwidths to numbers of edges, in units of the slowest pair of neighbours; the slower direction
 * counts. Returns false if no two members are neighbours. */
static bool count_edges(const uint64_t *bw_Bps, uint32_t n, uint8_t *capacity)
{
    uint64_t unit = UINT64_MAX;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t a = 0; a < n; a++) {
            for (uint32_t b = 0; b < n; b++) {
                uint64_t there = bw_Bps[(size_t)a * n + b], back = bw_Bps[(size_t)b * n + a];
                uint64_t both = there < back ? there : back;
                if (pass == 0)
                    unit = both && both < unit ? both : unit;
                else
                    capacity[(size_t)a * n + b] =
                        (uint8_t)(both / unit > MAX_SHARE ? MAX_SHARE : both / unit);
            }
        }
    }
    return unit != UINT64_MAX;
}

/* Stores the cycles found, and each of them backwards. */
static int keep_orders(rings *r, const uint32_t *cycles, uint32_t found, uint32_t n, rlt_error *err)
{
    r->orders = malloc(2 * (size_t)found * sizeof *r->orders);
    r->members = malloc(2 * (size_t)found * n * sizeof *r->members);
    if (!r->orders || !r->members)
        return rlt_nomem(err);
    for (uint32_t c = 0; c < found; c++) {
        uint32_t *there = r->members + (size_t)c * n, *back = there + (size_t)found * n;
        memcpy(there, cycles + (size_t)c * n, n * sizeof *there);
        for (uint32_t i = 0; i < n; i++)
            back[i] = there[n - 1 - i];
        r->orders[c] = there;
        r->orders[found + c] = back;
    }
    r->inner.req.n_rings = 2 * found;
    r->inner.req.rings = r->orders;
    return 0;
}

static int find_rings(rings *r, rlt_error *err)
{
    const rlt_coll_request *req = &r->inner.req;
    uint32_t n = req->n, found = 0;
    uint64_t *bw_Bps = calloc((size_t)n * n, sizeof *bw_Bps);
    uint8_t *capacity = calloc((size_t)n * n, 1);
    uint32_t *cycles = malloc((size_t)n * n * sizeof *cycles);
    int rc = bw_Bps && capacity && cycles ? measure_links(req, bw_Bps, err) : rlt_nomem(err);
    if (rc || !count_edges(bw_Bps, n, capacity))
        goto out;
    if (n == 2) /* one ring uses both directions */
        r->inner.req.n_rings = 0;
    else if ((rc = rlt_cycles_find(n, capacity, n, cycles, &found, err)) == 0 && found == 0)
        rc = rlt_fail(err, RLT_ETOPOLOGY, "rings",
                      "no ring through all %u members along links in both directions was found", n);
    else if (rc == 0)
        rc = keep_orders(r, cycles, found, n, err);
out:
    free(cycles);
    free(capacity);
    free(bw_Bps);
    return rc;
}

static void rings_release(rlt_plan *plan)
{
    rings *r = plan->data;
    rlt_plan_free(&r->inner);
    free(r->members);
    free(r->orders);
}

static int rings_plan(rlt_plan *plan, rlt_error *err)
{
    const rlt_coll_request *req = &plan->req;
    if (!req->topology || !req->placement)
        return rlt_fail(err, RLT_EUNSUPPORTED, "rings", "needs the topology and the placement of the ranks");
    if (req->n > RLT_CYCLES_MAX_NODES || rlt_topology_links(req->topology) > MAX_LINKS)
        return rlt_fail(err, RLT_EUNSUPPORTED, "rings", "searches for at most %d members and %d links",
                        RLT_CYCLES_MAX_NODES, MAX_LINKS);
    rings *r = calloc(1, sizeof *r);
    if (!r)
        return rlt_nomem(err);
    plan->data = r;
    r->inner = *plan;
    r->inner.data = NULL;
    r->inner.algorithm = &rlt_ring;
    int rc = find_rings(r, err);
    if (rc == 0)
        rc = rlt_ring.plan(&r->inner, err);
    plan->lanes = r->inner.lanes;
    plan->blocks = r->inner.blocks;
    plan->buffers = r->inner.buffers;
    plan->result = r->inner.result;
    plan->shared = r->inner.shared;
    plan->chunks = r->inner.chunks;
    plan->channels = r->inner.channels;
    plan->directions = r->inner.directions;
    return rc;
}

static uint32_t rings_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    return rlt_ring.steps(&((const rings *)plan->data)->inner, member, lane);
}

static void rings_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    rlt_ring.step(&((const rings *)plan->data)->inner, member, lane, k, out);
}

static const rlt_param parameters[] = {RLT_HAS_CHANNELS("one per ring found and direction"),
                                       RLT_HAS_DIRECTIONS("1"),
                                       RLT_HAS_CHUNKS("as for ring"),
                                       {0}};

const rlt_algorithm rlt_rings = {
    .name = "rings",
    .summary = "ring along edge-disjoint rings searched in the network's direct links, at most 256 members",
    .parameters = parameters,
    .kinds = 1u << RLT_ALL_REDUCE | 1u << RLT_REDUCE_SCATTER | 1u << RLT_ALL_GATHER | 1u << RLT_ALL_TO_ALL |
             1u << RLT_BROADCAST | 1u << RLT_REDUCE | 1u << RLT_BARRIER,
    .plan = rings_plan,
    .steps = rings_steps,
    .step = rings_step,
    .release = rings_release,
};
