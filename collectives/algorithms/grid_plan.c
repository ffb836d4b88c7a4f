/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Creates a grid: its dimensions and their patterns, the phases of its lanes, sums of counts. */
#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/algorithms/grid.h"
#include "collectives/algorithms/schedule.h"
#include "collectives/collective.h"
#include "collectives/lanes.h"
#include "net/shapes/shapes.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/time.h"

static const char *const patterns[] = {
    [RLT_IN_RING] = "ring",
    [RLT_IN_DIRECT] = "direct",
    [RLT_IN_HALVING] = "halving_doubling",
    [RLT_IN_RECURSIVE] = "recursive_doubling",
    [RLT_IN_NVLS] = "nvls",
};
enum { N_PATTERNS = sizeof patterns / sizeof patterns[0] };

const char *rlt_pattern_name(uint32_t i)
{
    return i < N_PATTERNS ? patterns[i] : NULL;
}

const rlt_param rlt_pattern_parameter = {"pattern", .kind = RLT_PARAM_CHOICE, .word_at = rlt_pattern_name,
                                         .width = sizeof(uint8_t), .help = "pattern inside a dimension"};

static int find_pattern(const rlt_plan *plan, const char *shape, const char *name, uint8_t *inside,
                        rlt_error *err)
{
    rlt_error why = {0};
    *inside = rlt_shape_is(shape, "fully-connected") ? RLT_IN_DIRECT : RLT_IN_RING;
    if (!name || !rlt_param_read(&rlt_pattern_parameter, inside, name, NULL, &why))
        return 0;
    return rlt_fail(err, RLT_ESCHEMA, plan->algorithm->name, "pattern: %s", why.what);
}

static bool needs_power_of_two(rlt_coll_kind kind, bool shares)
{
    return shares ? kind != RLT_ALL_TO_ALL : kind == RLT_GATHER || kind == RLT_SCATTER;
}

/* Kinds for which the pattern nvls is accepted. An all-to-all is direct under every pattern. */
static bool nvls_does(rlt_coll_kind kind)
{
    return kind == RLT_ALL_REDUCE || kind == RLT_REDUCE_SCATTER || kind == RLT_ALL_GATHER ||
           kind == RLT_BARRIER || kind == RLT_ALL_TO_ALL;
}

int rlt_grid_add(const rlt_plan *plan, rlt_grid *g, uint32_t size, const char *shape, const char *pattern,
                 bool shares, rlt_error *err)
{
    rlt_coll_kind kind = plan->req.kind;
    rlt_grid_dim d = {.size = size, .stride = 1, .digits = size, .block_stride = 1};
    int rc = find_pattern(plan, shape, pattern, &d.inside, err);
    if (rc || size == 1)
        return rc;
    if (g->n_dims == RLT_GRID_DIMS)
        return rlt_fail(err, RLT_ERANGE, plan->algorithm->name, "more than %d dimensions", RLT_GRID_DIMS);
    d.rounds = (uint8_t)rlt_log2(size);
    d.core = 1u << d.rounds;
    if (g->n_dims) {
        const rlt_grid_dim *below = &g->dims[g->n_dims - 1];
        d.stride = below->stride * below->size;
        d.block_stride = below->block_stride * below->digits;
    }
    bool sums = kind == RLT_ALL_REDUCE || kind == RLT_BARRIER;
    if (d.inside == RLT_IN_RECURSIVE && (shares || !sums))
        d.inside = RLT_IN_HALVING;
    if (d.inside == RLT_IN_NVLS && !nvls_does(kind))
        return rlt_fail(err, RLT_EUNSUPPORTED, plan->algorithm->name, "the pattern nvls does not support %s",
                        rlt_coll_name(kind));
    g->n_nvls += d.inside == RLT_IN_NVLS;
    if (d.inside == RLT_IN_HALVING && d.core < size && needs_power_of_two(kind, shares))
        return rlt_fail(err, RLT_EUNSUPPORTED, plan->algorithm->name,
                        "the pattern %s needs a power of two in %s, but a dimension has %u members", pattern,
                        rlt_coll_name(kind), size);
    if (sums && d.inside == RLT_IN_HALVING)
        d.digits = d.core;
    if (d.inside == RLT_IN_RECURSIVE)
        d.digits = 1;
    g->recoded = g->recoded || d.digits < size;
    g->ring = g->ring || (size > 2 && (rlt_shape_is(shape, "ring") || rlt_shape_is(shape, "torus")));
    g->blocks = d.block_stride * d.digits;
    g->dims[g->n_dims++] = d;
    return 0;
}

static int check_switches(const rlt_coll_request *req, uint32_t needed, rlt_error *err)
{
    const rlt_topology *t = req->topology;
    for (uint32_t i = 0; t && needed && (i < req->n_dims || i == 0); i++) {
        bool product = rlt_topology_is_product(t) && i < req->n_dims && req->axes[i] != RLT_NONE;
        uint32_t can = product ? rlt_topology_dim(t, req->axes[i]).in_network : rlt_topology_in_networks(t);
        if (req->params.patterns[i] && strcmp(req->params.patterns[i], patterns[RLT_IN_NVLS]) == 0 &&
            (req->n_dims == 0 || req->dims[i] > 1) && (can & needed) != needed)
            return rlt_fail(err, RLT_EUNSUPPORTED, "nvls",
                            "no switch in dimension %u of '%s' can %s; set in_network on a switch there",
                            i + 1, rlt_topology_name(t),
                            needed == RLT_CAN_REDUCE      ? "add up"
                            : needed == RLT_CAN_MULTICAST ? "replicate"
                                                          : "add up and replicate");
    }
    return 0;
}

int rlt_grid_verbs(rlt_plan *plan, const rlt_grid *g, rlt_error *err)
{
    rlt_coll_kind kind = plan->req.kind;
    bool both = kind == RLT_ALL_REDUCE || kind == RLT_BARRIER;
    plan->reduces = g->n_nvls && (both || kind == RLT_REDUCE_SCATTER);
    plan->multicasts = g->n_nvls && (both || kind == RLT_ALL_GATHER);
    if (kind != RLT_ALL_TO_ALL) {
        plan->result = plan->reduces ? (uint8_t)g->n_nvls : 0;
        plan->buffers = (uint8_t)(plan->result + 1);
    }
    return check_switches(
        &plan->req, (plan->reduces ? RLT_CAN_REDUCE : 0u) | (plan->multicasts ? RLT_CAN_MULTICAST : 0u), err);
}

static uint32_t phase_steps(const rlt_grid_dim *d, rlt_grid_op op, bool announced)
{
    if (op == RLT_OP_EXCHANGE)
        return d->size + 1;
    switch (d->inside) {
    case RLT_IN_RING:
        return d->size - 1;
    case RLT_IN_DIRECT:
        return d->size;
    case RLT_IN_HALVING:
        return d->rounds + (uint32_t)(d->digits < d->size);
    case RLT_IN_NVLS:
        return announced ? d->size + 1 : 1;
    default:
        return d->rounds + 2 * (uint32_t)(d->core < d->size);
    }
}

static uint32_t stride_of(const rlt_grid *g, uint32_t dim)
{
    return dim < g->n_dims ? g->dims[dim].block_stride : g->blocks;
}

/* Sets the free blocks of a phase, for a lane that has scattered in its dimension, with the dimensions in
 * `left` still to come. */
static void shape_free(const rlt_grid *g, rlt_phase *p, uint32_t left)
{
    uint32_t low, from, to;
    rlt__grid_free(p->dim, left, &low, &from, &to);
    p->run = stride_of(g, low);
    p->apart = from == p->dim + 1u ? 0 : stride_of(g, from);
    p->end = stride_of(g, to);
    p->plain = p->run == 1 && !p->apart && p->end == g->blocks;
}

/* Appends a phase in dimension sequence[i]. */
static void add_phase(const rlt_grid *g, rlt_order *o, rlt_grid_op op, const uint8_t *sequence, uint32_t i)
{
    rlt_phase *p = &o->phases[o->n_phases];
    uint32_t dim = sequence[i], left = 0, below = 0;
    bool fetches = op == RLT_OP_SCATTER && g->dims[dim].inside == RLT_IN_NVLS;
    *p = (rlt_phase){.op = (uint8_t)op,
                     .dim = (uint8_t)dim,
                     .stride = o->strides[dim],
                     .first = o->n_steps,
                     .steps = phase_steps(&g->dims[dim], op, fetches && i > 0),
                     .announced = fetches && i > 0,
                     .after_chunk = RLT_NONE};
    for (uint32_t k = 0; k < i; k++) {
        p->before |= 1u << sequence[k];
        below += g->dims[sequence[k]].inside == RLT_IN_NVLS;
    }
    for (uint32_t k = i + 1; k < g->n_dims; k++)
        left |= 1u << sequence[k];
    if (g->renumbered) {
        p->plain = true;
        p->run = 1;
        p->end = g->blocks;
    } else {
        shape_free(g, p, left);
    }
    if (op == RLT_OP_EXCHANGE) {
        p->from = o->n_phases % 2;
        p->to = (uint8_t)(1 - p->from);
    } else if (o->sums) {
        p->from = (uint8_t)(op == RLT_OP_GATHER ? g->n_nvls : below);
        p->to = (uint8_t)(p->from + fetches);
    }
    o->n_phases++;
    o->n_steps += p->steps;
}

/* Appends the phases of a kind: through the dimensions in sequence, and back. */
static void add_phases(const rlt_grid *g, rlt_order *o, rlt_coll_kind kind, const uint8_t *sequence)
{
    bool sums = kind == RLT_ALL_REDUCE || kind == RLT_BARRIER, up = sums || kind == RLT_REDUCE_SCATTER,
         down = sums || kind == RLT_ALL_GATHER;
    uint32_t stride = 1;
    *o = (rlt_order){.sums = up};
    for (uint32_t i = 0; i < g->n_dims; i++) {
        const rlt_grid_dim *d = &g->dims[sequence[i]];
        o->strides[sequence[i]] = g->renumbered ? stride : d->block_stride;
        stride *= d->digits;
    }
    for (uint32_t i = 0; up && i < g->n_dims; i++)
        add_phase(g, o, g->dims[sequence[i]].inside == RLT_IN_RECURSIVE ? RLT_OP_REDUCE : RLT_OP_SCATTER,
                  sequence, i);
    for (uint32_t i = g->n_dims; down && i-- > 0;)
        if (g->dims[sequence[i]].inside != RLT_IN_RECURSIVE)
            add_phase(g, o, RLT_OP_GATHER, sequence, i);
    for (uint32_t i = 0; kind == RLT_ALL_TO_ALL && i < g->n_dims; i++)
        add_phase(g, o, RLT_OP_EXCHANGE, sequence, i);
}

/* Fills all orders: upwards and cyclically from each dimension, or as the schedule says. */
static int add_orders(const rlt_plan *plan, rlt_grid *g, rlt_error *err)
{
    uint8_t(*sequences)[RLT_GRID_DIMS] = malloc(sizeof *sequences * g->n_orders);
    if (!sequences)
        return rlt_nomem(err);
    if (g->scheduled)
        rlt_schedule_orders(plan, g, sequences);
    for (uint32_t o = 0; o < g->n_orders; o++) {
        for (uint32_t i = 0; i < g->n_dims && !g->scheduled; i++)
            sequences[o][i] = (uint8_t)((o + i) % g->n_dims);
        add_phases(g, &g->orders[o], plan->req.kind, sequences[o]);
    }
    free(sequences);
    return g->scheduled ? rlt_schedule_queues(plan, g, err) : 0;
}

static bool rooted_shares(rlt_coll_kind kind)
{
    return kind == RLT_GATHER || kind == RLT_SCATTER;
}

/* Number of sums of counts that a lane needs. Gather and scatter: prefix sums over the blocks. Else: sums
 * over the blocks that are equal modulo each step of the dimensions. */
static uint64_t lay_sums(rlt_grid *g, const rlt_coll_request *req)
{
    uint64_t total = 0;
    if (rooted_shares(req->kind))
        return (uint64_t)req->n + 1;
    for (uint32_t i = 0; i < g->n_dims; i++) {
        rlt_grid_dim *d = &g->dims[i];
        d->sums = total;
        uint64_t step = (uint64_t)d->block_stride * d->digits;
        total += d->inside == RLT_IN_HALVING ? 2 * step - 2 * d->block_stride : step;
    }
    return total;
}

/* Sums over the blocks that are equal modulo `step`, from the sums modulo above_step, a multiple of step. */
static void fold_level(uint64_t *sums, const uint64_t *above, uint64_t step, uint64_t above_step)
{
    memset(sums, 0, step * sizeof *sums);
    for (uint64_t b = 0, low = 0; b < above_step; b++, low = low + 1 == step ? 0 : low + 1)
        sums[low] += above[b];
}

static void fill_levels(const rlt_grid *g, uint64_t *sums, const uint64_t *blocks)
{
    const uint64_t *above = blocks;
    uint64_t above_step = g->blocks;
    for (uint32_t i = g->n_dims; i-- > 0;) {
        const rlt_grid_dim *d = &g->dims[i];
        uint64_t stride = d->block_stride, lowest = d->inside == RLT_IN_HALVING ? 2 : d->digits;
        for (uint64_t digits = d->digits; digits >= lowest && digits > 1; digits /= 2) {
            uint64_t *level =
                sums + d->sums + (d->inside == RLT_IN_HALVING ? stride * digits - 2 * stride : 0);
            fold_level(level, above, stride * digits, above_step);
            above = level;
            above_step = stride * digits;
        }
    }
}

static void fill_sums(const rlt_plan *plan, rlt_grid *g, uint64_t *blocks)
{
    for (uint32_t lane = 0; lane < plan->lanes; lane++) {
        uint64_t *sums = g->sums + lane * g->sums_lane;
        for (uint32_t b = 0; b < plan->req.n; b++)
            blocks[b] = rlt_counted_bytes(plan, lane, b);
        if (!rooted_shares(plan->req.kind)) {
            fill_levels(g, sums, blocks);
            continue;
        }
        sums[0] = 0;
        for (uint32_t b = 0; b < plan->req.n; b++)
            sums[b + 1] = sums[b] + blocks[b];
    }
}

int rlt_grid_create(rlt_plan *plan, const rlt_grid *shape, uint32_t orders, uint32_t chunks, rlt_error *err)
{
    rlt_grid lay = *shape;
    bool counted = rlt_shares_counted(&plan->req);
    lay.sums_lane = counted ? lay_sums(&lay, &plan->req) : 0; /* below 2^26, for at most 2^12 lanes */
    size_t sums = sizeof *lay.sums * plan->lanes * lay.sums_lane, lanes = sizeof *lay.lanes * plan->lanes;
    uint64_t *blocks = counted ? malloc(sizeof *blocks * plan->req.n) : NULL;
    rlt_grid *g = malloc(sizeof *g + sums + lanes + sizeof *lay.orders * orders);
    if (!g || (counted && !blocks)) {
        free(blocks);
        free(g);
        return rlt_nomem(err);
    }
    *g = lay;
    g->n_orders = orders;
    g->sums = (uint64_t *)(g + 1);
    g->lanes = (rlt_lane *)(void *)((char *)(g + 1) + sums);
    g->orders = (rlt_order *)(void *)(g->lanes + plan->lanes);
    int rc = add_orders(plan, g, err);
    for (uint32_t i = 0; i < plan->lanes; i++)
        g->lanes[i] = rlt_lane_at(plan, i, chunks);
    if (counted)
        fill_sums(plan, g, blocks);
    else
        g->sums = NULL;
    free(blocks);
    plan->data = g;
    return rc;
}

/* Rings and direct exchanges look the same from every member, exchanges of pairs under exclusive-or. */
uint32_t rlt_grid_symmetry(const rlt_plan *plan, uint32_t *sizes)
{
    const rlt_grid *g = plan->data;
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_dims; i++) {
        const rlt_grid_dim *d = &g->dims[i];
        bool pairs = d->inside == RLT_IN_HALVING || d->inside == RLT_IN_RECURSIVE;
        if (plan->req.kind == RLT_ALL_TO_ALL || !pairs)
            sizes[n++] = d->size;
        else if (d->core < d->size)
            return 0;
        for (uint32_t s = 0; plan->req.kind != RLT_ALL_TO_ALL && pairs && s < d->rounds; s++)
            sizes[n++] = 2;
    }
    return n;
}
