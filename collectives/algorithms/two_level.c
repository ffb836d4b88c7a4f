/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All-to-all over nodes: L members per node (the innermost dimension; in a graph, those of a node), N nodes.
 *
 * Data for another node first goes, inside the sender's node, to the member with the destination's number. So
 * between nodes only members of the same number communicate, over their own rail if each number has its own
 * network. Every message carries the data of a whole node for one member. N - 1 messages of L shares leave a
 * member, instead of L (N - 1) messages of one share.
 *
 *   two_level  First everything inside: N shares to each of the L - 1 others. Then everything between nodes
 *              (C. Hwang et al., "Tutel", MLSys 2023: two-dimensional hierarchical all-to-all).
 *   rail       Node after node: one share to each of the others. A message leaves on the rail as soon as the
 *              shares for its node are there, so the rails work while the next node's shares move inside
 *              (NCCL's PXN).
 *
 * In both, a member sends (L-1) N shares inside and (N-1) L shares between nodes. Time for shares of s bytes,
 * with inner bandwidth B_i and rail bandwidth B_r, plus one latency of each:
 *
 *   two_level  (L-1) N s / B_i + (N-1) L s / B_r
 *   rail       (L-1) s / B_i + (N-1) L s / B_r, if the rails are the slower part
 *
 * Example: L = 8, N = 4, s = 1 MB, B_i = 400 GB/s, B_r = 50 GB/s: 70 + 480 us for two_level, 17.5 + 480 us
 * for rail.
 *
 * Buffers: 0 is the input. 1 collects from the node's members; the share of member s for this number on node
 * b is at s + L b. 2 is the result. Lanes are channels x chunks, independent of each other.
 */
#include <stdlib.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/lanes.h"
#include "net/endpoint/internode.h"
#include "sim/base/error.h"
#include "sim/base/param.h"

typedef struct levels {
    uint32_t inner, outer; /* L, N */
    bool streamed;
    uint64_t *inside; /* with counts: bytes from member m to number l of its node, at (lane n + m) L + l */
    /* with counts: bytes from member m to the same number on node b, at (lane n + m) N + b */
    uint64_t *between;
    rlt_lane lanes[];
} levels;

enum { INPUT, COLLECTED, RESULT };

typedef struct view {
    const rlt_plan *plan;
    const levels *v;
    uint32_t member, lane, number, node;
} view;

/* One share for that number on every node. */
static rlt_blocks slice(const levels *v, uint32_t number)
{
    return (rlt_blocks){.first = number, .run = 1, .stride = v->inner, .reps = v->outer};
}

static rlt_blocks node_run(const levels *v, uint32_t node)
{
    return rlt_blocks_run(node * v->inner, v->inner);
}

static uint64_t share_bytes(const view *w, uint32_t to)
{
    const rlt_coll_request *req = &w->plan->req;
    if (req->counts)
        return rlt_part_size(req->counts[(uint64_t)w->member * req->n + to], w->plan->lanes, w->lane);
    return rlt_block_bytes(&w->v->lanes[w->lane], to);
}

static uint64_t inside_bytes(const view *w, uint32_t number)
{
    const levels *v = w->v;
    const rlt_lane *l = &v->lanes[w->lane];
    if (v->inside)
        return v->inside[((uint64_t)w->lane * w->plan->req.n + w->member) * v->inner + number];
    uint32_t larger = l->rest > number ? (l->rest - number - 1) / v->inner + 1 : 0;
    return (uint64_t)v->outer * l->base + larger;
}

static uint64_t between_bytes(const view *w, uint32_t node)
{
    const levels *v = w->v;
    if (v->between)
        return v->between[((uint64_t)w->lane * w->plan->req.n + w->member) * v->outer + node];
    return v->inner * rlt_block_bytes(&v->lanes[w->lane], node * v->inner + w->number);
}

static void copy(uint8_t from, uint8_t to, rlt_blocks span, rlt_step *out)
{
    out->copy = 1;
    out->send_buffer = from;
    out->land_buffer = to;
    out->send = out->land = span;
}

/* Sends the node's collected data for this number on another node. */
static void send_between(const view *w, uint32_t j, uint32_t last, rlt_step *out)
{
    const levels *v = w->v;
    uint32_t node = rlt_plus(w->node, j + 1, v->outer);
    out->send_to = node * v->inner + w->number;
    out->peer_step = last;
    out->nowait = 1;
    out->send_buffer = COLLECTED;
    out->land_buffer = RESULT;
    out->send = node_run(v, node);
    out->land = node_run(v, w->node);
    out->send_bytes = between_bytes(w, node);
}

/* Addresses number + j + 1 within the node, and returns it. The step of the last such send waits for as many
 * messages. */
static uint32_t send_inside(const view *w, uint32_t j, uint32_t first, rlt_step *out)
{
    const levels *v = w->v;
    uint32_t number = rlt_plus(w->number, j + 1, v->inner);
    out->send_to = w->node * v->inner + number;
    out->peer_step = first + v->inner - 2;
    out->nowait = 1;
    out->recv_count = j == v->inner - 2 ? v->inner - 1 : 0;
    return number;
}

static void land_share(const view *w, uint32_t node, uint32_t number, uint8_t buffer, rlt_step *out)
{
    uint32_t to = node * w->v->inner + number;
    out->send_buffer = INPUT;
    out->land_buffer = buffer;
    out->send = rlt_blocks_run(to, 1);
    out->land = rlt_blocks_run(node * w->v->inner + w->number, 1);
    out->send_bytes = share_bytes(w, to);
}

static uint32_t two_level_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    (void)member, (void)lane;
    const levels *v = plan->data;
    if (plan->req.n == 1)
        return 1;
    if (v->streamed)
        return 2 + v->inner * (v->outer - 1) + v->inner;
    return 1 + (v->inner - 1) + 1 + (v->outer - 1) + 1;
}

static void inside_first(const view *w, uint32_t k, rlt_step *out)
{
    const levels *v = w->v;
    uint32_t between = v->inner + 1, last = between + v->outer - 1;
    if (k == 0) {
        copy(INPUT, COLLECTED, slice(v, w->number), out);
    } else if (k < v->inner) {
        uint32_t number = send_inside(w, k - 1, 1, out);
        out->send_buffer = INPUT;
        out->land_buffer = COLLECTED;
        out->send = slice(v, number);
        out->land = slice(v, w->number);
        out->send_bytes = inside_bytes(w, number);
    } else if (k == v->inner) {
        copy(COLLECTED, RESULT, node_run(v, w->node), out);
    } else if (k < last) {
        send_between(w, k - between, last, out);
    } else {
        out->recv_count = v->outer - 1;
    }
}

/* Steps 0 and 1: own shares. Then L steps per node. At the end: own node, and the rails. */
static void node_by_node(const view *w, uint32_t k, rlt_step *out)
{
    const levels *v = w->v;
    uint32_t last = two_level_steps(w->plan, w->member, w->lane) - 1;
    if (k == 0) {
        copy(INPUT, COLLECTED, slice(v, w->number), out);
        return;
    }
    if (k == 1) {
        copy(INPUT, RESULT, rlt_blocks_run(w->member, 1), out);
        return;
    }
    uint32_t turn = (k - 2) / v->inner, j = (k - 2) % v->inner;
    if (turn < v->outer - 1) {
        if (j == v->inner - 1)
            send_between(w, turn, last, out);
        else
            land_share(w, rlt_plus(w->node, turn + 1, v->outer), send_inside(w, j, k - j, out), COLLECTED,
                       out);
    } else if (k < last) {
        land_share(w, w->node, send_inside(w, j, k - j, out), RESULT, out);
        out->peer_step = last;
        out->recv_count = 0;
    } else {
        out->recv_count = v->inner - 1 + v->outer - 1;
    }
}

static void two_level_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    const levels *v = plan->data;
    view w = {.plan = plan, .v = v, .member = member, .lane = lane};
    if (plan->req.n == 1) {
        copy(INPUT, RESULT, rlt_blocks_run(0, 1), out);
        return;
    }
    w.number = member % v->inner;
    w.node = member / v->inner;
    if (v->streamed)
        node_by_node(&w, k, out);
    else
        inside_first(&w, k, out);
}

static uint32_t two_level_symmetry(const rlt_plan *plan, uint32_t *sizes)
{
    const levels *v = plan->data;
    sizes[0] = v->inner;
    sizes[1] = v->outer;
    return 2;
}

static void fill_sums(const rlt_plan *plan, levels *v)
{
    const rlt_coll_request *req = &plan->req;
    uint32_t n = req->n;
    for (uint32_t lane = 0; lane < plan->lanes; lane++) {
        for (uint32_t m = 0; m < n; m++) {
            uint32_t first = m - m % v->inner; /* first member of its node */
            for (uint32_t to = 0; to < n; to++) {
                uint64_t bytes = rlt_part_size(req->counts[(uint64_t)m * n + to], plan->lanes, lane);
                uint32_t number = to % v->inner, node = to / v->inner;
                v->inside[((uint64_t)lane * n + m) * v->inner + number] += bytes;
                v->between[((uint64_t)lane * n + first + number) * v->outer + node] += bytes;
            }
        }
    }
}

static int make_plan(rlt_plan *plan, bool streamed, rlt_error *err)
{
    const rlt_coll_request *req = &plan->req;
    uint32_t chunks = req->params.chunks ? req->params.chunks : 1, inner = 1;
    for (uint32_t d = 0; inner == 1 && d < req->n_dims; d++)
        inner = req->dims[d];
    if ((inner == 1 || inner == req->n) && req->node > 1)
        inner = req->node;
    if (req->n > 1 && (inner == 1 || inner == req->n))
        return rlt_fail(err, RLT_ETOPOLOGY, plan->algorithm->name,
                        "needs at least two nodes of several members, or a group of at least two dimensions");
    int rc = rlt_lanes_set(plan, req->params.channels ? req->params.channels : 1, 1, chunks, err);
    if (rc)
        return rc;
    plan->blocks = req->n;
    plan->buffers = RESULT + 1;
    plan->result = RESULT;
    uint32_t outer = req->n / inner;
    size_t lanes = plan->lanes * sizeof(rlt_lane), cells = (size_t)plan->lanes * req->n * (inner + outer);
    levels *v = calloc(1, sizeof *v + lanes + (req->counts ? cells * sizeof(uint64_t) : 0));
    if (!v)
        return rlt_nomem(err);
    plan->data = v;
    v->inner = inner;
    v->outer = outer;
    v->streamed = streamed;
    for (uint32_t i = 0; i < plan->lanes; i++)
        v->lanes[i] = rlt_lane_at(plan, i, chunks);
    if (req->counts) {
        v->inside = (uint64_t *)(void *)(v->lanes + plan->lanes);
        v->between = v->inside + (size_t)plan->lanes * req->n * inner;
        fill_sums(plan, v);
    }
    return 0;
}

static int two_level_plan(rlt_plan *plan, rlt_error *err)
{
    return make_plan(plan, false, err);
}

static int rail_plan(rlt_plan *plan, rlt_error *err)
{
    return make_plan(plan, true, err);
}

static const rlt_param parameters[] = {RLT_HAS_CHANNELS("1"), RLT_HAS_CHUNKS("1"), {0}};

const rlt_algorithm rlt_two_level = {
    .name = "two_level",
    .summary =
        "inside the node first, to the destination's number there, then few large messages between nodes",
    .parameters = parameters,
    .kinds = 1u << RLT_ALL_TO_ALL,
    .counted = 1u << RLT_ALL_TO_ALL,
    .hop = RLT_HOP_DIRECT,
    .plan = two_level_plan,
    .steps = two_level_steps,
    .step = two_level_step,
    .symmetry = two_level_symmetry,
};

const rlt_algorithm rlt_rail = {
    .name = "rail",
    .summary =
        "as two_level, but node after node: each member's rail works while the next shares move inside",
    .parameters = parameters,
    .kinds = 1u << RLT_ALL_TO_ALL,
    .counted = 1u << RLT_ALL_TO_ALL,
    .hop = RLT_HOP_DIRECT,
    .plan = rail_plan,
    .steps = two_level_steps,
    .step = two_level_step,
    .symmetry = two_level_symmetry,
};
