/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps of the phases in which all members act alike. */
#include "collectives/algorithms/grid.h"

#include "sim/base/time.h"

typedef struct view {
    const rlt_grid *g;
    const rlt_grid_dim *d;
    const rlt_lane *l;
    const rlt_phase *p;
    uint32_t member, lane;
    uint32_t own; /* block with the member's digits */
} view;

/* Next coordinate upwards or downwards, cyclically. */
static inline uint32_t neighbour(const rlt_grid_dim *d, uint32_t x, bool up)
{
    return up ? rlt_next(x, d->size) : rlt_previous(x, d->size);
}

/*
 * Blocks that have the member's digits in all dimensions scattered before, and `digit` in this one, whose
 * digits are `stride` blocks apart and repeat every `step` blocks. Free are the digits below the phase's run,
 * and those from `step` (or `apart`) up to its end.
 */
static inline rlt_blocks digit_span(const view *v, uint32_t stride, uint32_t step, uint32_t digit)
{
    const rlt_phase *p = v->p;
    uint32_t own = v->own;
    if (p->plain)
        return (rlt_blocks){
            .first = own % stride + digit * stride, .run = 1, .stride = step, .reps = p->end / step};
    uint32_t above = own / p->end * p->end;
    if (!p->apart)
        return (rlt_blocks){.first = own % stride / p->run * p->run + digit * stride + above,
                            .run = p->run,
                            .stride = step,
                            .reps = p->end / step};
    uint32_t fixed = own % p->apart / p->run * p->run + above - own / stride % v->d->digits * stride;
    return (rlt_blocks){
        .first = fixed + digit * stride, .run = p->run, .stride = p->apart, .reps = p->end / p->apart};
}

/* Blocks with `digit` in the dimension, whatever their other digits. */
static inline rlt_blocks slice_span(const rlt_grid_dim *d, uint32_t n, uint32_t digit)
{
    uint32_t step = d->stride * d->size;
    return (rlt_blocks){.first = digit * d->stride, .run = d->stride, .stride = step, .reps = n / step};
}

/* Bytes of a span that does not wrap past the last block. */
static inline uint64_t even_bytes(const rlt_lane *l, rlt_blocks s)
{
    uint64_t bytes = (uint64_t)s.reps * s.run * l->base;
    if (l->rest > s.first) {
        uint32_t before = l->rest - s.first, whole = before / s.stride, part = before % s.stride;
        if (whole >= s.reps)
            bytes += (uint64_t)s.reps * s.run;
        else
            bytes += (uint64_t)whole * s.run + (part < s.run ? part : s.run);
    }
    return bytes;
}

/* Bytes of a digit_span. Sums of counts are stored by level; the levels of a dimension are spans of two,
 * four, ... times its stride, or of all of it. */
static inline uint64_t digit_bytes(const view *v, uint32_t step, rlt_blocks s)
{
    if (!v->g->sums)
        return even_bytes(v->l, s);
    const rlt_grid_dim *d = v->d;
    uint64_t level = d->inside == RLT_IN_HALVING ? step - 2 * d->block_stride : 0;
    return v->g->sums[v->lane * v->g->sums_lane + d->sums + level + s.first];
}

static inline void send_digit(const view *v, uint32_t stride, uint32_t step, uint32_t digit, rlt_step *out)
{
    out->send = out->land = digit_span(v, stride, step, digit);
    out->send_bytes = digit_bytes(v, step, out->send);
}

/* A step of the ring algorithm within a dimension. */
static inline void ring_in(const view *v, uint32_t j, rlt_step *out)
{
    const rlt_grid_dim *d = v->d;
    bool scatter = v->p->op == RLT_OP_SCATTER;
    uint32_t x = rlt_coordinate(d, v->member), back = scatter ? j + 1 : j; /* < size */
    uint32_t digit = v->l->reverse ? rlt_plus(x, back, d->size) : rlt_minus(x, back, d->size);
    out->send_to = rlt_with_coordinate(d, v->member, x, neighbour(d, x, !v->l->reverse));
    out->recv_from = rlt_with_coordinate(d, v->member, x, neighbour(d, x, v->l->reverse));
    out->recv_count = 1;
    out->peer_step = v->p->first + j;
    out->reduce = scatter;
    send_digit(v, v->p->stride, v->p->stride * d->size, digit, out);
}

/* Step j < size-1 sends to the peer j+1 places on; the last step waits for all messages. */
static void direct_in(const view *v, uint32_t j, rlt_step *out)
{
    const rlt_grid_dim *d = v->d;
    const rlt_phase *p = v->p;
    uint32_t x = rlt_coordinate(d, v->member);
    if (j == d->size - 1) {
        out->recv_count = d->size - 1;
        return;
    }
    uint32_t to = v->l->reverse ? rlt_minus(x, j + 1, d->size) : rlt_plus(x, j + 1, d->size);
    out->send_to = rlt_with_coordinate(d, v->member, x, to);
    out->nowait = 1;
    out->peer_step = p->first + p->steps - 1;
    out->reduce = p->op == RLT_OP_SCATTER;
    if (p->op == RLT_OP_EXCHANGE) {
        /* One set of blocks for `to` for each way in which sources can have filled the digits below. */
        out->send = slice_span(d, v->g->blocks, to);
        out->land = slice_span(d, v->g->blocks, x);
        out->send_buffer = p->from;
        out->land_buffer = p->to;
        out->send_bytes = d->stride * even_bytes(v->l, digit_span(v, d->stride, d->stride * d->size, to));
    } else {
        send_digit(v, v->p->stride, v->p->stride * d->size, out->reduce ? to : x, out);
    }
}

/* Step j of an exchange: a copy of the member's own blocks to the other buffer, then the direct pattern. */
static void exchange_in(const view *v, uint32_t j, rlt_step *out)
{
    if (j > 0) {
        direct_in(v, j - 1, out);
        return;
    }
    out->copy = 1;
    out->send_buffer = v->p->from;
    out->land_buffer = v->p->to;
    out->send = out->land = slice_span(v->d, v->g->blocks, rlt_coordinate(v->d, v->member));
}

/* A member outside the core sends all its working data to a core member, or receives the result (back). */
static void fold_in(const view *v, uint32_t j, bool back, rlt_step *out)
{
    const rlt_grid_dim *d = v->d;
    uint32_t x = rlt_coordinate(d, v->member);
    bool extra = x >= d->core;
    if (!extra && x >= d->size - d->core)
        return;
    uint32_t peer = rlt_with_coordinate(d, v->member, x, extra ? x - d->core : x + d->core);
    if (extra == back) {
        out->recv_from = peer;
        out->recv_count = 1;
        return;
    }
    out->send_to = peer;
    out->peer_step = v->p->first + j;
    out->reduce = !back;
    send_digit(v, v->p->stride, v->p->stride, 0, out);
}

/* An exchange at distance 2^s: of halves (halving_doubling), or of everything (recursive_doubling). */
static void swap_in(const view *v, uint32_t j, uint32_t s, rlt_step *out)
{
    const rlt_grid_dim *d = v->d;
    uint32_t x = rlt_coordinate(d, v->member), bit = x >> s & 1, stride = v->p->stride << s;
    if (x >= d->core)
        return;
    out->send_to = out->recv_from = rlt_with_coordinate(d, v->member, x, x ^ 1u << s);
    out->recv_count = 1;
    out->peer_step = v->p->first + j;
    out->reduce = v->p->op != RLT_OP_GATHER;
    if (d->inside == RLT_IN_RECURSIVE)
        send_digit(v, v->p->stride, v->p->stride, 0, out);
    else
        send_digit(v, stride, 2 * stride, out->reduce ? 1 - bit : bit, out);
}

/* A step of nvls. If data are not ready from the start, members first announce to each other that they
 * are. */
static void nvls_in(const view *v, uint32_t j, uint32_t n, rlt_step *out)
{
    const rlt_grid_dim *d = v->d;
    uint32_t x = rlt_coordinate(d, v->member);
    bool scatter = v->p->op == RLT_OP_SCATTER;
    if (v->p->announced && j < d->size) {
        out->recv_count = j == d->size - 1 ? j : 0;
        out->nowait = j < d->size - 1;
        if (out->nowait)
            out->send_to = rlt_with_coordinate(d, v->member, x, rlt_plus(x, j + 1, d->size));
        out->peer_step = v->p->first + d->size - 1;
        return;
    }
    out->verb = scatter ? RLT_VERB_REDUCE : RLT_VERB_MULTICAST;
    out->send_to = scatter ? v->member : n;
    out->recv_count = scatter ? 1 : d->size;
    out->peer_step = v->p->first + j;
    send_digit(v, v->p->stride, v->p->stride * d->size, x, out);
}

static void logarithmic_in(const view *v, uint32_t j, rlt_step *out)
{
    const rlt_grid_dim *d = v->d;
    bool folds = d->core < d->size, in = folds && v->p->op != RLT_OP_GATHER,
         back = folds && v->p->op != RLT_OP_SCATTER;
    if (in && j == 0)
        fold_in(v, j, false, out);
    else if (back && j == v->p->steps - 1)
        fold_in(v, j, true, out);
    else
        swap_in(v, j, v->p->op == RLT_OP_GATHER ? d->rounds - 1 - j : j - in, out);
}

/* Whether the member has handed its data over in an earlier dimension, and so takes no part in this one. */
static bool idle(const view *v)
{
    for (uint32_t i = 0; i < v->g->n_dims; i++) {
        const rlt_grid_dim *d = &v->g->dims[i];
        if ((v->p->before >> i & 1) && d->inside == RLT_IN_HALVING && rlt_coordinate(d, v->member) >= d->core)
            return true;
    }
    return false;
}

/* Block with the member's digits, if blocks have other digits than members. In a dimension in which the
 * member takes no part, its digit is 0. */
static uint32_t own_block(const rlt_grid *g, const rlt_order *o, uint32_t member)
{
    uint32_t block = 0;
    for (uint32_t i = 0; i < g->n_dims; i++) {
        uint32_t x = rlt_coordinate(&g->dims[i], member);
        block += x < g->dims[i].digits ? x * o->strides[i] : 0;
    }
    return block;
}

static inline const rlt_order *order_of(const rlt_grid *g, const rlt_lane *l)
{
    if (g->n_orders == 1)
        return g->orders;
    return &g->orders[g->scheduled ? l->chunk : l->channel % g->n_orders];
}

/* Lets a chunk follow the chunk before it, or the chunk that its dimension serves before it. */
static inline void enter(const view *v, rlt_step *out)
{
    const rlt_phase *p = v->p;
    if (!v->g->scheduled) {
        if (v->l->chunk > 0) {
            out->wait_lane = v->lane - 1;
            out->wait_step = p->first + p->steps - 1;
        }
    } else if (p->after_chunk != RLT_NONE && p->after_chunk != v->l->chunk) {
        out->wait_lane = v->lane - v->l->chunk + p->after_chunk;
        out->wait_step = p->after_step;
    }
}

static inline const rlt_phase *phase_at(const rlt_order *o, uint32_t k)
{
    const rlt_phase *p = o->phases;
    while (k >= p->first + p->steps)
        p++;
    return p;
}

uint32_t rlt_grid_steps(const rlt_grid *g, uint32_t lane)
{
    return order_of(g, &g->lanes[lane])->n_steps;
}

void rlt_grid_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    const rlt_grid *g = plan->data;
    const rlt_lane *l = &g->lanes[lane];
    const rlt_order *o = order_of(g, l);
    const rlt_phase *p = phase_at(o, k);
    view v = {.g = g, .d = &g->dims[p->dim], .l = l, .p = p, .member = member, .lane = lane, .own = member};
    if (k == p->first)
        enter(&v, out);
    if (g->recoded) {
        if (idle(&v))
            return;
        v.own = own_block(g, o, member);
    }
    if (p->op == RLT_OP_EXCHANGE) {
        exchange_in(&v, k - p->first, out);
        return;
    }
    out->send_buffer = p->from;
    out->land_buffer = p->to;
    if (v.d->inside == RLT_IN_RING)
        ring_in(&v, k - p->first, out);
    else if (v.d->inside == RLT_IN_DIRECT)
        direct_in(&v, k - p->first, out);
    else if (v.d->inside == RLT_IN_NVLS)
        nvls_in(&v, k - p->first, plan->req.n, out);
    else
        logarithmic_in(&v, k - p->first, out);
}

void rlt_grid_reach(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_reach *out)
{
    const rlt_grid *g = plan->data;
    const rlt_grid_dim *d = &g->dims[phase_at(order_of(g, &g->lanes[lane]), k)->dim];
    *out = (rlt_reach){.first = rlt_with_coordinate(d, member, rlt_coordinate(d, member), 0),
                       .stride = d->stride,
                       .n = d->size};
}

bool rlt__grid_free(uint32_t dim, uint32_t left, uint32_t *low, uint32_t *from, uint32_t *to)
{
    *low = 0;
    while (left >> *low & 1)
        ++*low;
    left = left >> *low << *low;
    *from = *low;
    while (left && !(left >> *from & 1))
        ++*from;
    if (!left)
        *from = dim + 1;
    *to = *from;
    while (left >> *to & 1)
        ++*to;
    return left >> *to == 0;
}

bool rlt_grid_spans(const rlt_grid *g, uint32_t dim, uint32_t left)
{
    uint32_t low, from, to;
    return rlt__grid_free(dim, left, &low, &from, &to) &&
           (from == dim + 1 || g->dims[dim].inside != RLT_IN_HALVING);
}
