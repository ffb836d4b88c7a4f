/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Broadcast, reduce, gather and scatter over a grid. Let f be the innermost dimension in which a member's
 * coordinate differs from the root's (n_dims for the root itself).
 *
 *   broadcast, scatter   A member receives in dimension f (its step 0), passes on in the tree of f, then is
 *                        the head in dimensions f-1 .. 0.
 *   reduce, gather       A member is the tail in dimensions 0 .. f-1 (one step each), then receives from its
 *                        children in f, if it has any, and sends.
 *
 * The tree of a dimension joins places 0 .. size-1; the root's coordinate has place 0. It is one of
 *
 *   a chain     ring
 *   flat        direct: all places are children of the head; also ring in a gather or scatter, where a chain
 *               would carry all data through every link
 *   binomial    the children of place p are p + 2^i, for every 2^i below the lowest set bit of p
 *
 * In a scatter a message carries the blocks of the child's subtree. In a binomial tree the place is then the
 * coordinate exclusive-or the root's coordinate, so that a subtree is a run of digits.
 */
#include "collectives/algorithms/grid.h"

#include "collectives/algorithm.h"
#include "collectives/lanes.h"
#include "sim/base/time.h"

typedef struct view {
    const rlt_plan *plan;
    const rlt_grid *g;
    const rlt_lane *l;
    uint32_t member, root, lane, f;
    bool shares; /* gather or scatter */
} view;

static view look(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    const rlt_grid *g = plan->data;
    view v = {.plan = plan,
              .g = g,
              .l = &g->lanes[lane],
              .member = member,
              .root = plan->req.root,
              .lane = lane,
              .shares = plan->req.kind == RLT_GATHER || plan->req.kind == RLT_SCATTER};
    while (v.f < g->n_dims && rlt_coordinate(&g->dims[v.f], member) == rlt_coordinate(&g->dims[v.f], v.root))
        v.f++;
    return v;
}

static bool binomial(const rlt_grid_dim *d)
{
    return d->inside == RLT_IN_HALVING || d->inside == RLT_IN_RECURSIVE;
}

static bool chain(const view *v, const rlt_grid_dim *d)
{
    return d->inside == RLT_IN_RING && !v->shares;
}

/* Place of coordinate x, counted from the root along the lane's direction, and its inverse. Reversed lanes
 * and exclusive-or are their own inverses. */
static uint32_t place_of(const view *v, const rlt_grid_dim *d, uint32_t x)
{
    uint32_t r = rlt_coordinate(d, v->root);
    if (v->shares && binomial(d))
        return x ^ r;
    return v->l->reverse ? rlt_minus(r, x, d->size) : rlt_minus(x, r, d->size);
}

static uint32_t coordinate_at(const view *v, const rlt_grid_dim *d, uint32_t place)
{
    uint32_t r = rlt_coordinate(d, v->root);
    if (v->shares && binomial(d))
        return place ^ r;
    return v->l->reverse ? rlt_minus(r, place, d->size) : rlt_plus(r, place, d->size);
}

static uint32_t own_place(const view *v, const rlt_grid_dim *d)
{
    return place_of(v, d, rlt_coordinate(d, v->member));
}

static uint32_t peer_at(const view *v, const rlt_grid_dim *d, uint32_t place)
{
    return rlt_with_coordinate(d, v->member, rlt_coordinate(d, v->member), coordinate_at(v, d, place));
}

static uint32_t lowest_bit(uint32_t place)
{
    return place & (~place + 1);
}

static uint32_t children(const view *v, const rlt_grid_dim *d, uint32_t place)
{
    if (chain(v, d))
        return place + 1 < d->size;
    if (!binomial(d))
        return place == 0 ? d->size - 1 : 0;
    uint32_t count = 0; /* powers of two below the place's lowest set bit, as long as they stay inside */
    for (uint32_t bit = 1; (place == 0 || bit < lowest_bit(place)) && bit < d->size - place; bit *= 2)
        count++;
    return count;
}

/* Child i of a place, the largest subtree first. */
static uint32_t child(const view *v, const rlt_grid_dim *d, uint32_t place, uint32_t i)
{
    if (!binomial(d))
        return place + 1 + i;
    return place + (1u << (children(v, d, place) - 1 - i));
}

static uint32_t parent(const view *v, const rlt_grid_dim *d, uint32_t place)
{
    if (chain(v, d))
        return place - 1;
    return binomial(d) ? place - lowest_bit(place) : 0;
}

/* Blocks of the members in the subtree of a place, with all dimensions below. */
static rlt_blocks subtree(const view *v, const rlt_grid_dim *d, uint32_t place)
{
    uint32_t step = d->stride * d->size, digits = binomial(d) ? lowest_bit(place) : 1;
    uint32_t digit = coordinate_at(v, d, place) / digits * digits;
    return rlt_blocks_run(v->member / step * step + digit * d->stride, digits * d->stride);
}

static uint64_t run_bytes(const view *v, rlt_blocks s)
{
    if (v->g->sums) {
        const uint64_t *sums = v->g->sums + v->lane * v->g->sums_lane;
        return sums[s.first + s.run] - sums[s.first];
    }
    uint32_t before = v->l->rest > s.first ? v->l->rest - s.first : 0;
    return s.run * v->l->base + (before < s.run ? before : s.run);
}

/* Fills in the message between `place` and its parent in dimension d, in either direction. */
static void send(const view *v, const rlt_grid_dim *d, uint32_t place, uint32_t to, uint32_t peer_step,
                 rlt_step *out)
{
    out->send_to = to;
    out->peer_step = peer_step;
    out->reduce = v->plan->req.kind == RLT_REDUCE;
    out->send = out->land = v->shares ? subtree(v, d, place) : rlt_blocks_run(0, 1);
    out->send_bytes = run_bytes(v, out->send);
}

static void wait_for_chunk(const view *v, uint32_t last_step, rlt_step *out)
{
    if (v->l->chunk > 0) {
        out->wait_lane = v->lane - 1;
        out->wait_step = last_step;
    }
}

static uint32_t down_steps(const view *v)
{
    uint32_t steps = 0;
    if (v->f < v->g->n_dims)
        steps = 1 + children(v, &v->g->dims[v->f], own_place(v, &v->g->dims[v->f]));
    for (uint32_t d = 0; d < v->f; d++)
        steps += children(v, &v->g->dims[d], 0);
    return steps;
}

/* Send i of the member's sends in dimension d. */
static void hand_down(const view *v, const rlt_grid_dim *d, uint32_t place, uint32_t i, rlt_step *out)
{
    uint32_t to = child(v, d, place, i);
    send(v, d, to, peer_at(v, d, to), 0, out);
    out->nowait = !chain(v, d) && !binomial(d);
}

/* Step k of a broadcast or scatter. */
static void down_step(const view *v, uint32_t k, rlt_step *out)
{
    const rlt_grid *g = v->g;
    uint32_t first = 0;
    if (v->f < g->n_dims) {
        const rlt_grid_dim *d = &g->dims[v->f];
        uint32_t place = own_place(v, d);
        first = 1 + children(v, d, place);
        if (k == 0) {
            out->recv_from = peer_at(v, d, parent(v, d, place));
            out->recv_count = 1;
            wait_for_chunk(v, first - 1, out);
            return;
        }
        if (k < first) {
            hand_down(v, d, place, k - 1, out);
            return;
        }
    }
    for (uint32_t i = v->f; i-- > 0;) {
        const rlt_grid_dim *d = &g->dims[i];
        uint32_t sends = children(v, d, 0);
        if (k < first + sends) {
            hand_down(v, d, 0, k - first, out);
            if (k == first)
                wait_for_chunk(v, first + sends - 1, out);
            return;
        }
        first += sends;
    }
}

static uint32_t up_steps(const view *v)
{
    if (v->f == v->g->n_dims)
        return v->f;
    const rlt_grid_dim *d = &v->g->dims[v->f];
    return v->f + 1 + (children(v, d, own_place(v, d)) > 0);
}

static void receive_children(const view *v, const rlt_grid_dim *d, uint32_t place, rlt_step *out)
{
    out->recv_count = children(v, d, place);
    out->recv_from = out->recv_count == 1 ? peer_at(v, d, child(v, d, place, 0)) : RLT_NONE;
}

/* Step k of a reduce or gather. */
static void up_step(const view *v, uint32_t k, rlt_step *out)
{
    const rlt_grid_dim *d = &v->g->dims[k < v->f ? k : v->f];
    if (k < v->f) { /* the tail of dimension k */
        receive_children(v, d, 0, out);
        wait_for_chunk(v, k, out);
        return;
    }
    uint32_t place = own_place(v, d);
    bool receives = children(v, d, place) > 0;
    if (k == v->f)
        wait_for_chunk(v, v->f + receives, out);
    if (receives && k == v->f)
        receive_children(v, d, place, out);
    else
        send(v, d, place, peer_at(v, d, parent(v, d, place)), v->f, out);
}

static bool goes_down(const view *v)
{
    return v->plan->req.kind == RLT_BROADCAST || v->plan->req.kind == RLT_SCATTER;
}

uint32_t rlt_grid_rooted_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    view v = look(plan, member, lane);
    return goes_down(&v) ? down_steps(&v) : up_steps(&v);
}

void rlt_grid_rooted_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    view v = look(plan, member, lane);
    if (goes_down(&v))
        down_step(&v, k, out);
    else
        up_step(&v, k, out);
}
