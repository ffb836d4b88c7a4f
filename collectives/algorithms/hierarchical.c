/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hierarchical algorithms: one phase per dimension. In the phase of dimension d, members communicate only
 * with members that differ in coordinate d alone, by any pattern (BlueConnect: M. Cho, U. Finkler, D. Kung,
 * H. Hunter, MLSys 2019). Dimension d has g_d members; s is the collective's bytes.
 *   all-reduce          reduce-scatter up the dimensions, then all-gather down: 2 s_d (g_d-1)/g_d bytes in
 *                       dimension d, where s_0 = s and s_(d+1) = s_d / g_d
 *   reduce-scatter      the first half of an all-reduce
 *   all-gather          the second half of an all-reduce
 *   all-to-all          dimension by dimension between two buffers, always direct: s (g_d-1)/g_d bytes in
 *                       each dimension
 *   broadcast, scatter  outermost dimension first, then inwards
 *   reduce, gather      the reverse of broadcast and scatter
 *   barrier             an all-reduce of zero bytes
 * The default pattern is direct for a fully-connected dimension (nowait sends, then a step that waits for
 * all), else a ring.
 *
 * Example: all-reduce of 1 GB over 8 x 4. A member sends 2 * 7/8 GB in dimension 0 and 2 * 3/4 * 1/8 GB in
 * dimension 1, 1.94 GB in all, which is 2 * 31/32 GB.
 *
 * Lanes are channels x directions x chunks. A chunk enters a phase when the chunk before it (same channel and
 * direction) has left it, so chunks follow each other through the dimensions. Every member keeps the same
 * order, so there is no deadlock. A schedule may instead choose the dimensions' order for each chunk, and the
 * chunk that it follows (collectives/algorithms/schedule.h).
 */
#include "collectives/algorithm.h"
#include "collectives/algorithms/grid.h"
#include "collectives/collective.h"
#include "collectives/lanes.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/param.h"

/* Size of a piece of broadcast and reduce, as in the ring algorithm. Each piece is a lane of every member, so
 * their number is limited. */
#define PIECE_BYTES ((uint64_t)512 << 10)
/* SCHEDULED_CHUNKS: as in the publication of Themis. */
enum { DEFAULT_CHUNKS = 4, SCHEDULED_CHUNKS = 64, MAX_PIECES = 256 };

static bool is_tree(rlt_coll_kind kind)
{
    return kind == RLT_BROADCAST || kind == RLT_REDUCE;
}

static bool is_rooted(rlt_coll_kind kind)
{
    return is_tree(kind) || kind == RLT_GATHER || kind == RLT_SCATTER;
}

static uint32_t hierarchical_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    return is_rooted(plan->req.kind) ? rlt_grid_rooted_steps(plan, member, lane)
                                     : rlt_grid_steps(plan->data, lane);
}

static void hierarchical_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    if (is_rooted(plan->req.kind))
        rlt_grid_rooted_step(plan, member, lane, k, out);
    else
        rlt_grid_step(plan, member, lane, k, out);
}

static uint32_t hierarchical_symmetry(const rlt_plan *plan, uint32_t *sizes)
{
    return is_rooted(plan->req.kind) ? 0 : rlt_grid_symmetry(plan, sizes);
}

/* Measures a dimension for a schedule: the bandwidth that its pattern can use, and the latency between two
 * members. */
static void measure(const rlt_coll_request *req, uint32_t i, uint32_t directions, rlt_grid_dim *d)
{
    const rlt_topology *t = req->topology;
    if (i >= req->n_dims || !t || req->axes[i] >= rlt_topology_dims(t))
        return;
    rlt_dim dim = rlt_topology_dim(t, req->axes[i]);
    bool ring = rlt_shape_is(dim.shape, "ring"), all = rlt_shape_is(dim.shape, "fully-connected");
    uint32_t links = ring ? 2 : all ? dim.size - 1 : 1, used = 1;
    if (links > 1)
        used = d->inside == RLT_IN_DIRECT ? links : d->inside == RLT_IN_RING ? directions : 1;
    d->bw_Bps = dim.bw_Bps / links * (used < links ? used : links);
    d->hop_ps = dim.latency_ps * (ring || all ? 1 : 2);
}

/* Adds the dimensions with more than one member; a request without dimensions has one. */
static int add_dims(const rlt_plan *plan, rlt_grid *g, rlt_error *err)
{
    const rlt_coll_request *req = &plan->req;
    bool shares = req->kind == RLT_REDUCE_SCATTER || req->kind == RLT_ALL_GATHER;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < req->n_dims; i++)
        rc = rlt_grid_add(plan, g, req->dims[i], req->shapes[i], req->params.patterns[i], shares, err);
    if (rc == 0 && req->n_dims == 0)
        rc = rlt_grid_add(plan, g, req->n, NULL, req->params.patterns[0], shares, err);
    return rc;
}

/* Whether a schedule is requested and applies: chunks go through phases in which all members act alike. */
static bool is_scheduled(const rlt_coll_request *req)
{
    return req->params.schedule != RLT_PIPELINE && !is_rooted(req->kind);
}

static void measure_dims(const rlt_coll_request *req, uint32_t directions, rlt_grid *g)
{
    for (uint32_t i = 0, d = 0; i < req->n_dims; i++)
        if (req->dims[i] > 1)
            measure(req, i, directions, &g->dims[d++]);
}

/* Default number of chunks. A chain carries its data over every link, so small pieces are needed to keep all
 * links busy. */
static uint32_t default_chunks(const rlt_coll_request *req, uint32_t n_dims, uint32_t ways)
{
    uint32_t several = is_scheduled(req) ? SCHEDULED_CHUNKS : DEFAULT_CHUNKS;
    uint32_t chunks = n_dims > 1 && req->kind != RLT_BARRIER ? several : 1;
    if (!is_tree(req->kind))
        return chunks;
    uint64_t pieces = req->bytes / ways / PIECE_BYTES;
    uint32_t most = RLT_MAX_LANES / ways < MAX_PIECES ? RLT_MAX_LANES / ways : MAX_PIECES;
    if (pieces > most)
        pieces = most;
    return pieces > chunks ? (uint32_t)pieces : chunks;
}

static int hierarchical_plan(rlt_plan *plan, rlt_error *err)
{
    const rlt_coll_request *req = &plan->req;
    rlt_grid g = {.blocks = 1};
    int rc = add_dims(plan, &g, err);
    if (rc)
        return rc;
    uint32_t channels = req->params.channels ? req->params.channels : 1;
    uint32_t directions = req->params.directions               ? req->params.directions
                          : g.ring && req->kind != RLT_BARRIER ? 2
                                                               : 1;
    uint32_t ways = channels < RLT_MAX_LANES ? channels * directions : channels;
    uint32_t chunks = req->params.chunks ? req->params.chunks : default_chunks(req, g.n_dims, ways);
    if ((rc = rlt_lanes_set(plan, channels, directions, chunks, err)))
        return rc;
    plan->blocks = is_tree(req->kind) ? 1 : g.blocks;
    plan->buffers = req->kind == RLT_ALL_TO_ALL && req->n > 1 ? 2 : 1;
    plan->result = req->kind == RLT_ALL_TO_ALL ? g.n_dims % 2 : 0;
    if ((rc = rlt_grid_verbs(plan, &g, err)))
        return rc;
    g.scheduled = is_scheduled(req) && g.n_dims > 0;
    g.renumbered = g.scheduled && (req->kind == RLT_ALL_REDUCE || req->kind == RLT_BARRIER);
    g.recoded = g.recoded || g.renumbered;
    if (g.scheduled)
        measure_dims(req, directions, &g);
    return rlt_grid_create(plan, &g, g.scheduled ? chunks : 1, chunks, err);
}

static const rlt_param parameters[] = {
    RLT_HAS_CHANNELS("1"),
    RLT_HAS_CHUNKS(
        "4; 64 with a schedule; 1 in one dimension; broadcast and reduce: pieces of 512 KiB, at most 256"),
    RLT_HAS_DIRECTIONS("2 if a dimension is a ring or torus, else 1"),
    RLT_HAS_PATTERNS(
        "of each dimension, innermost first: ring, direct, halving_doubling, recursive_doubling, nvls (its "
        "switch adds up and replicates); default: direct if fully connected, else ring; all-to-all: always "
        "direct"),
    RLT_HAS_SCHEDULE(
        "pipeline; baseline: each dimension serves one chunk at a time; themis: also, each chunk starts in "
        "the least loaded dimension; rooted kinds: always pipeline"),
    RLT_HAS_ORDER("fifo; scf: smallest chunk first"),
    {0}};

const rlt_algorithm rlt_hierarchical = {
    .name = "hierarchical",
    .summary =
        "dimension by dimension, chunks following each other: reduce-scatter inwards-out, all-gather back",
    .parameters = parameters,
    .kinds = 1u << RLT_ALL_REDUCE | 1u << RLT_REDUCE_SCATTER | 1u << RLT_ALL_GATHER | 1u << RLT_ALL_TO_ALL |
             1u << RLT_BROADCAST | 1u << RLT_REDUCE | 1u << RLT_BARRIER | 1u << RLT_GATHER |
             1u << RLT_SCATTER,
    .counted = 1u << RLT_REDUCE_SCATTER | 1u << RLT_ALL_GATHER | 1u << RLT_GATHER | 1u << RLT_SCATTER,
    .plan = hierarchical_plan,
    .steps = hierarchical_steps,
    .step = hierarchical_step,
    .symmetry = hierarchical_symmetry,
    .reach = rlt_grid_reach,
};
