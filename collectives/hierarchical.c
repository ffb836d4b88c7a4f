/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hierarchical algorithms: one phase a dimension, inside which members that differ in that coordinate only
 * talk. all-reduce      reduce-scatter up the dimensions, then all-gather down: 2 s_d (g_d-1)/g_d bytes in
 * dimension d, where s_0 = bytes and s_(d+1) = s_d / g_d reduce-scatter, all-gather   its first and its
 * second half all-to-all      dimension by dimension between two buffers: s (g_d-1)/g_d bytes in each
 *   broadcast       outermost dimension first, then inwards; reduce is its mirror image
 *   barrier         an all-reduce of zero bytes
 * Block indices are mixed radix like members. Inside a dimension the pattern is direct for a fully-connected
 * one and for all-to-all (nowait sends, then a step that waits for all), else a ring (broadcast and reduce: a
 * chain).
 *
 * Lanes are channels x directions x chunks. A chunk enters a phase when the chunk before it (same channel and
 * direction) has left it, so that chunks follow each other through the dimensions. Every member keeps the
 * same order: no deadlock.
 */
#include <stdlib.h>
#include <string.h>

#include "collectives/lanes.h"
#include "sim/time.h"

/* Pieces of a broadcast or reduce, as the ring algorithm has them; every one is a lane of every member, so
 * they are bounded. */
#define PIECE_BYTES ((uint64_t)512 << 10)
enum { DEFAULT_CHUNKS = 4, MAX_PIECES = 256, MAX_PHASES = 2 * RLT_MAX_DIMS };

typedef enum operation { SCATTER, GATHER, EXCHANGE } operation;

typedef struct dimension {
    uint32_t size, stride; /* stride: product of the sizes below it */
    bool direct;
} dimension;

typedef struct phase {
    operation op;
    uint32_t dim;
    uint32_t first, steps;
    uint8_t from, to; /* buffers */
} phase;

typedef struct hierarchy {
    uint32_t n_dims, n_phases, n_steps;
    dimension dims[RLT_MAX_DIMS];
    phase phases[MAX_PHASES]; /* of the kinds in which all members do the same; broadcast and reduce have none
                               */
    rlt_lane lanes[];
} hierarchy;

static inline uint32_t coordinate(const dimension *d, uint32_t member)
{
    return member / d->stride % d->size;
}

/* The member with another coordinate in that dimension. */
static inline uint32_t with_coordinate(const dimension *d, uint32_t member, uint32_t from, uint32_t to)
{
    return member - from * d->stride + to * d->stride;
}

/* Neighbour `forward` or back along the lane's way round. */
static inline uint32_t neighbour(const dimension *d, uint32_t x, bool up)
{
    return up ? rlt_next(x, d->size) : rlt_previous(x, d->size);
}

/* Blocks whose digits below the dimension are the member's and whose digit in it is `digit`. */
static inline rlt_span digit_span(const dimension *d, uint32_t n, uint32_t member, uint32_t digit)
{
    uint32_t step = d->stride * d->size;
    return (rlt_span){
        .first = member % d->stride + digit * d->stride, .run = 1, .stride = step, .reps = n / step};
}

/* Blocks whose digit in the dimension is `digit`, whatever the others. */
static inline rlt_span slice_span(const dimension *d, uint32_t n, uint32_t digit)
{
    uint32_t step = d->stride * d->size;
    return (rlt_span){.first = digit * d->stride, .run = d->stride, .stride = step, .reps = n / step};
}

static uint64_t span_bytes(const rlt_lane *l, rlt_span s)
{
    uint64_t bytes = (uint64_t)s.reps * l->base;
    if (l->rest > s.first)
        bytes += s.stride ? (l->rest - s.first + s.stride - 1) / s.stride < s.reps
                                ? (l->rest - s.first + s.stride - 1) / s.stride
                                : s.reps
                          : s.reps;
    return bytes;
}

/* Ring pattern of a reduce-scatter or all-gather inside a dimension, as in the ring algorithm. */
static void ring_in(const dimension *d, uint32_t n, const rlt_lane *l, uint32_t member, const phase *p,
                    uint32_t j, rlt_step *out)
{
    uint32_t x = coordinate(d, member), back = p->op == SCATTER ? j + 1 : j; /* < size */
    uint32_t digit = l->reverse ? rlt_plus(x, back, d->size) : rlt_minus(x, back, d->size);
    out->send_to = with_coordinate(d, member, x, neighbour(d, x, !l->reverse));
    out->recv_from = with_coordinate(d, member, x, neighbour(d, x, l->reverse));
    out->recv_count = 1;
    out->peer_step = p->first + j;
    out->reduce = p->op == SCATTER;
    out->send = out->land = digit_span(d, n, member, digit);
    out->send_bytes = span_bytes(l, out->send);
}

/* Direct pattern: step j < size-1 sends to the peer j+1 places on, the last step waits for all. */
static void direct_in(const dimension *d, uint32_t n, const rlt_lane *l, uint32_t member, const phase *p,
                      uint32_t j, rlt_step *out)
{
    uint32_t x = coordinate(d, member), fan_in = p->first + p->steps - 1;
    if (j == d->size - 1) {
        out->recv_count = d->size - 1;
        return;
    }
    uint32_t to = l->reverse ? rlt_minus(x, j + 1, d->size) : rlt_plus(x, j + 1, d->size);
    out->send_to = with_coordinate(d, member, x, to);
    out->nowait = 1;
    out->peer_step = fan_in;
    out->reduce = p->op == SCATTER;
    if (p->op == EXCHANGE) {
        /* For each way in which the digits below can have been filled by sources, one set of blocks for `to`.
         */
        out->send = slice_span(d, n, to);
        out->land = slice_span(d, n, x);
        out->send_buffer = p->from;
        out->land_buffer = p->to;
        out->send_bytes = d->stride * span_bytes(l, digit_span(d, n, member, to));
    } else {
        out->send = out->land = digit_span(d, n, member, p->op == SCATTER ? to : x);
        out->send_bytes = span_bytes(l, out->send);
    }
}

/* Step j of an exchange: first its own blocks change buffers, then the direct pattern. */
static void exchange_in(const dimension *d, uint32_t n, const rlt_lane *l, uint32_t member, const phase *p,
                        uint32_t j, rlt_step *out)
{
    if (j > 0) {
        direct_in(d, n, l, member, p, j - 1, out);
        return;
    }
    out->copy = 1;
    out->send_buffer = p->from;
    out->land_buffer = p->to;
    out->send = out->land = slice_span(d, n, coordinate(d, member));
}

static void phase_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    const hierarchy *h = plan->data;
    const phase *p = h->phases;
    while (k >= p->first + p->steps)
        p++;
    const dimension *d = &h->dims[p->dim];
    const rlt_lane *l = &h->lanes[lane];
    if (p->op == EXCHANGE)
        exchange_in(d, plan->req.n, l, member, p, k - p->first, out);
    else if (d->direct)
        direct_in(d, plan->req.n, l, member, p, k - p->first, out);
    else
        ring_in(d, plan->req.n, l, member, p, k - p->first, out);
    if (k == p->first && l->chunk > 0) {
        out->wait_lane = lane - 1;
        out->wait_step = p->first + p->steps - 1;
    }
}

/*
 * Broadcast and reduce. Let f be the innermost dimension in which a member's coordinate is not the root's
 * (n_dims for the root). Broadcast: the member receives in dimension f (its step 0), passes on in the chain
 * of f, then is the head in dimensions f-1 .. 0. Reduce: it is the tail in dimensions 0 .. f-1 (one step
 * each), then receives and sends in f.
 */
typedef struct tree_view {
    const hierarchy *h;
    uint32_t member, root, f;
    bool reverse;
} tree_view;

static tree_view look(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    const hierarchy *h = plan->data;
    tree_view v = {.h = h, .member = member, .root = plan->req.root, .reverse = h->lanes[lane].reverse};
    while (v.f < h->n_dims && coordinate(&h->dims[v.f], member) == coordinate(&h->dims[v.f], v.root))
        v.f++;
    return v;
}

/* How far the member is from the root along the way round of dimension d. */
static uint32_t distance(const tree_view *v, const dimension *d)
{
    uint32_t x = coordinate(d, v->member), r = coordinate(d, v->root);
    return v->reverse ? rlt_minus(r, x, d->size) : rlt_minus(x, r, d->size);
}

static uint32_t peer_at(const tree_view *v, const dimension *d, uint32_t from_root)
{
    uint32_t x = coordinate(d, v->member), r = coordinate(d, v->root);
    uint32_t to = v->reverse ? rlt_minus(r, from_root, d->size) : rlt_plus(r, from_root, d->size);
    return with_coordinate(d, v->member, x, to);
}

/* Sends a head makes in a dimension. */
static uint32_t head_sends(const dimension *d)
{
    return d->direct ? d->size - 1 : 1;
}

/* Whether a member inside dimension f's chain passes on (broadcast), or receives before it sends (reduce):
 * not its last. */
static bool inner_link(const tree_view *v)
{
    const dimension *d = &v->h->dims[v->f];
    return !d->direct && distance(v, d) + 1 < d->size;
}

static uint32_t broadcast_steps(const tree_view *v)
{
    uint32_t steps = v->f < v->h->n_dims ? 1 + inner_link(v) : 0;
    for (uint32_t d = 0; d < v->f; d++)
        steps += head_sends(&v->h->dims[d]);
    return steps;
}

static void wait_for_chunk(const rlt_lane *l, uint32_t lane, uint32_t last_step, rlt_step *out)
{
    if (l->chunk > 0) {
        out->wait_lane = lane - 1;
        out->wait_step = last_step;
    }
}

static void tree_send(const rlt_plan *plan, const tree_view *v, uint32_t lane, uint32_t to,
                      uint32_t peer_step, rlt_step *out)
{
    out->send_to = to;
    out->peer_step = peer_step;
    out->reduce = plan->req.kind == RLT_REDUCE;
    out->send = out->land = rlt_span_run(0, 1);
    out->send_bytes = rlt_block_bytes(&v->h->lanes[lane], 0);
}

static void broadcast_step(const rlt_plan *plan, const tree_view *v, uint32_t lane, uint32_t k, rlt_step *out)
{
    const hierarchy *h = v->h;
    const rlt_lane *l = &h->lanes[lane];
    uint32_t first = 0;
    if (v->f < h->n_dims) {
        const dimension *d = &h->dims[v->f];
        uint32_t place = distance(v, d);
        first = 1 + inner_link(v);
        if (k == 0) {
            out->recv_from = peer_at(v, d, d->direct ? 0 : place - 1);
            out->recv_count = 1;
            wait_for_chunk(l, lane, first - 1, out);
            return;
        }
        if (k == 1 && first == 2) {
            tree_send(plan, v, lane, peer_at(v, d, place + 1), 0, out);
            return;
        }
    }
    for (uint32_t i = v->f; i-- > 0;) {
        const dimension *d = &h->dims[i];
        uint32_t sends = head_sends(d);
        if (k < first + sends) {
            tree_send(plan, v, lane, peer_at(v, d, k - first + 1), 0, out);
            out->nowait = d->direct;
            if (k == first)
                wait_for_chunk(l, lane, first + sends - 1, out);
            return;
        }
        first += sends;
    }
}

static uint32_t reduce_steps(const tree_view *v)
{
    return v->f + (v->f < v->h->n_dims ? 1 + inner_link(v) : 0);
}

static void reduce_step(const rlt_plan *plan, const tree_view *v, uint32_t lane, uint32_t k, rlt_step *out)
{
    const rlt_lane *l = &v->h->lanes[lane];
    const dimension *d = &v->h->dims[k < v->f ? k : v->f];
    if (k < v->f) { /* the tail of dimension k */
        out->recv_count = head_sends(d);
        out->recv_from = out->recv_count == 1 ? peer_at(v, d, 1) : RLT_NONE;
        wait_for_chunk(l, lane, k, out);
        return;
    }
    uint32_t place = distance(v, d);
    bool receives = inner_link(v);
    if (k == v->f)
        wait_for_chunk(l, lane, v->f + receives, out);
    if (receives && k == v->f) {
        out->recv_from = peer_at(v, d, place + 1);
        out->recv_count = 1;
        return;
    }
    tree_send(plan, v, lane, peer_at(v, d, d->direct ? 0 : place - 1), v->f, out);
}

static uint32_t hierarchical_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    const hierarchy *h = plan->data;
    if (plan->req.kind != RLT_BROADCAST && plan->req.kind != RLT_REDUCE)
        return h->n_steps;
    tree_view v = look(plan, member, lane);
    return plan->req.kind == RLT_BROADCAST ? broadcast_steps(&v) : reduce_steps(&v);
}

static void hierarchical_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    if (plan->req.kind != RLT_BROADCAST && plan->req.kind != RLT_REDUCE) {
        phase_step(plan, member, lane, k, out);
        return;
    }
    tree_view v = look(plan, member, lane);
    if (plan->req.kind == RLT_BROADCAST)
        broadcast_step(plan, &v, lane, k, out);
    else
        reduce_step(plan, &v, lane, k, out);
}

static void add_phase(hierarchy *h, operation op, uint32_t dim)
{
    const dimension *d = &h->dims[dim];
    phase *p = &h->phases[h->n_phases];
    *p = (phase){.op = op, .dim = dim, .first = h->n_steps};
    p->steps = op == EXCHANGE ? d->size + 1 : d->direct ? d->size : d->size - 1;
    if (op == EXCHANGE) {
        p->from = h->n_phases % 2;
        p->to = (uint8_t)(1 - p->from);
    }
    h->n_phases++;
    h->n_steps += p->steps;
}

static void add_phases(hierarchy *h, rlt_coll_kind kind)
{
    bool up = kind == RLT_ALL_REDUCE || kind == RLT_BARRIER || kind == RLT_REDUCE_SCATTER;
    bool down = kind == RLT_ALL_REDUCE || kind == RLT_BARRIER || kind == RLT_ALL_GATHER;
    for (uint32_t d = 0; up && d < h->n_dims; d++)
        add_phase(h, SCATTER, d);
    for (uint32_t d = h->n_dims; down && d-- > 0;)
        add_phase(h, GATHER, d);
    for (uint32_t d = 0; kind == RLT_ALL_TO_ALL && d < h->n_dims; d++)
        add_phase(h, EXCHANGE, d);
}

static bool is(const char *shape, const char *name)
{
    return shape && strcmp(shape, name) == 0;
}

/* The dimensions of more than one member; without any given, one of all. True if one of them is a real ring.
 */
static bool add_dims(hierarchy *h, const rlt_coll_request *req)
{
    bool ring = false;
    uint32_t stride = 1;
    for (uint32_t i = 0; i < req->n_dims; i++) {
        if (req->dims[i] == 1)
            continue;
        h->dims[h->n_dims++] = (dimension){
            .size = req->dims[i], .stride = stride, .direct = is(req->shapes[i], "fully-connected")};
        ring |= req->dims[i] > 2 && (is(req->shapes[i], "ring") || is(req->shapes[i], "torus"));
        stride *= req->dims[i];
    }
    if (req->n_dims == 0 && req->n > 1)
        h->dims[h->n_dims++] = (dimension){.size = req->n, .stride = 1};
    return ring;
}

static bool is_tree(rlt_coll_kind kind)
{
    return kind == RLT_BROADCAST || kind == RLT_REDUCE;
}

/* A chain carries its data as often as it has links: only small pieces keep all of them at work at once. */
static uint32_t default_chunks(const rlt_coll_request *req, uint32_t n_dims, uint32_t ways)
{
    uint32_t chunks = n_dims > 1 && req->kind != RLT_BARRIER ? DEFAULT_CHUNKS : 1;
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
    if (req->counts)
        return rlt_fail(err, RLT_EUNSUPPORTED, "hierarchical", "does no all-to-all with counts; direct does");
    hierarchy shape = {0};
    bool ring = add_dims(&shape, req);
    uint32_t channels = req->channels ? req->channels : 1;
    uint32_t directions = req->directions ? req->directions : ring && req->kind != RLT_BARRIER ? 2 : 1;
    uint32_t ways = channels < RLT_MAX_LANES ? channels * directions : channels;
    uint32_t chunks = req->chunks ? req->chunks : default_chunks(req, shape.n_dims, ways);
    int rc = rlt_lanes_set(plan, channels, directions, chunks, err);
    if (rc)
        return rc;
    plan->blocks = is_tree(req->kind) ? 1 : req->n;
    plan->buffers = req->kind == RLT_ALL_TO_ALL && req->n > 1 ? 2 : 1;
    plan->result = req->kind == RLT_ALL_TO_ALL ? shape.n_dims % 2 : 0;
    hierarchy *h = malloc(sizeof *h + plan->lanes * sizeof h->lanes[0]);
    if (!h)
        return rlt_nomem(err);
    *h = shape;
    add_phases(h, req->kind);
    for (uint32_t i = 0; i < plan->lanes; i++)
        h->lanes[i] = rlt_lane_at(plan, i, chunks);
    plan->data = h;
    return 0;
}

const rlt_algorithm rlt_hierarchical = {
    .name = "hierarchical",
    .summary =
        "dimension by dimension, chunks following each other: reduce-scatter inwards-out, all-gather back",
    .parameters =
        "channels (1), chunks (4; 1 in one dimension; broadcast and reduce: pieces of 512 KiB, at most "
        "256), directions (2 where a dimension is a ring or torus, else 1)",
    .kinds = 1u << RLT_ALL_REDUCE | 1u << RLT_REDUCE_SCATTER | 1u << RLT_ALL_GATHER | 1u << RLT_ALL_TO_ALL |
             1u << RLT_BROADCAST | 1u << RLT_REDUCE | 1u << RLT_BARRIER,
    .plan = hierarchical_plan,
    .steps = hierarchical_steps,
    .step = hierarchical_step,
};
