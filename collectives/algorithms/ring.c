/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ring algorithms: every member communicates only with its two neighbours. Lanes are channels x directions x
 * chunks and run independently. Channel c follows the recommended ring c mod rings; over nodes of several
 * members, the ring of node_ring.h; in a fully connected dimension, that of full_rings.h, the first of which
 * is the natural order. With directions = 2, half the lanes run backwards.
 *
 * Positions count along the lane's direction: e is a member's position, e + 1 that of its right neighbour.
 *   all-reduce      2(n-1) exchanges: step k sends the block of position e-1-k to the right and receives that
 *                   of e-2-k from the left. The first n-1 steps add, the others replace (Patarasuk, Yuan,
 *                   JPDC 2009).
 *   reduce-scatter  the first half of an all-reduce
 *   all-gather      the second half of an all-reduce
 *   broadcast       a chain from the root in `chunks` pieces: a member passes on piece k-1 while piece k
 *                   arrives
 *   reduce          the same chain, ending at the root
 *   scatter         the chain from the root, the block of the farthest member first; a member passes on all
 *                   blocks but its own
 *   gather          the chain to the root: a member's own block first, then the blocks from behind it
 *   all-to-all      n-1 phases: data for other members move one place on, with one block less each time
 *   barrier         an all-reduce of zero bytes
 *
 * Example: in an all-reduce of n = 3, member 0 sends block 2, the partial sum of block 1, then the complete
 * sums of blocks 0 and 2.
 */
#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/algorithms/grid.h"
#include "collectives/collective.h"
#include "collectives/lanes.h"
#include "collectives/nodes/full_rings.h"
#include "collectives/nodes/node_ring.h"
#include "collectives/nodes/xgmi.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/time.h"

/* NCCL moves pieces of 512 KiB under its Simple protocol: a buffer of 4 MiB in 8 slots (NCCL's
 * src/include/device.h). */
#define PIECE_BYTES ((uint64_t)512 << 10)
enum { MAX_PIECES = 1 << 16, MAX_TURNS = 128, MAX_ENTRIES = 1 << 26 };

typedef struct ring_lane {
    rlt_lane lane;
    bool upwards; /* natural order, not reversed, without counts */
    /* member at each place of the ring, and place of each member; NULL: natural order */
    const uint32_t *order, *position;
    /* per member: number of earlier rings that step to the same next member; NULL: none */
    const uint32_t *turn;
    /* all-to-all on given rings: number of members at places [0, i) with a larger block */
    const uint32_t *larger;
    const void *owned; /* lane 0: rings over nodes; NULL: none */
} ring_lane;

/* A lane as seen by one member. */
typedef struct view {
    const ring_lane *lane;
    uint32_t n, e;
} view;

static inline uint32_t member_at(const ring_lane *l, uint32_t n, uint32_t e)
{
    uint32_t place = l->lane.reverse ? n - 1 - e : e;
    return l->order ? l->order[place] : place;
}

static inline uint32_t position_of(const ring_lane *l, uint32_t n, uint32_t member)
{
    uint32_t place = l->position ? l->position[member] : member;
    return l->lane.reverse ? n - 1 - place : place;
}

static inline view look(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    const ring_lane *l = (const ring_lane *)plan->data + lane;
    return (view){.lane = l, .n = plan->req.n, .e = position_of(l, plan->req.n, member)};
}

static inline uint32_t right_of(const view *v)
{
    return member_at(v->lane, v->n, rlt_next(v->e, v->n));
}
static inline uint32_t left_of(const view *v)
{
    return member_at(v->lane, v->n, rlt_previous(v->e, v->n));
}

/* Step k of an all-reduce. Its halves: a reduce-scatter is steps 0 .. n-2, an all-gather steps n-1 ..
 * 2n-3. */
static void circulate(const rlt_plan *plan, const view *v, uint32_t lane, uint32_t k, uint32_t first_k,
                      rlt_step *out)
{
    uint32_t n = v->n;
    int64_t q = (int64_t)v->e - 1 - (int64_t)k; /* >= -(2n - 2) */
    q += q < 0 ? n : 0;
    q += q < 0 ? n : 0;
    uint32_t block = member_at(v->lane, n, (uint32_t)q);
    out->send_to = right_of(v);
    out->recv_from = left_of(v);
    out->recv_count = 1;
    out->peer_step = k - first_k;
    out->reduce = k < n - 1;
    out->send_bytes = rlt_share_bytes(plan, &v->lane->lane, lane, block);
    out->send = out->land = rlt_blocks_run(block, 1);
}

/* Place of a member in the chain. Broadcast and scatter: the root is first. Reduce and gather: the root is
 * last. */
static uint32_t chain_place(const rlt_plan *plan, const view *v)
{
    uint32_t root = position_of(v->lane, v->n, plan->req.root);
    uint32_t distance = rlt_minus(v->e, root, v->n);
    bool out = plan->req.kind == RLT_BROADCAST || plan->req.kind == RLT_SCATTER;
    return out ? distance : rlt_previous(distance, v->n);
}

static uint32_t chain_steps(const rlt_plan *plan, const view *v)
{
    uint32_t place = chain_place(plan, v);
    if (plan->req.kind == RLT_SCATTER)
        return place == 0 ? v->n - 1 : v->n - place;
    if (plan->req.kind == RLT_GATHER)
        return place == v->n - 1 ? place : place + 1;
    return place == 0 || place == v->n - 1 ? plan->blocks : plan->blocks + 1;
}

static void chain(const rlt_plan *plan, const view *v, uint32_t k, rlt_step *out)
{
    uint32_t place = chain_place(plan, v);
    bool head = place == 0, tail = place == v->n - 1;
    if (!head && k < plan->blocks) {
        out->recv_from = left_of(v);
        out->recv_count = 1;
    }
    if (tail || (!head && k == 0))
        return;
    uint32_t piece = head ? k : k - 1;
    out->send_to = right_of(v);
    out->peer_step = piece;
    out->reduce = plan->req.kind == RLT_REDUCE;
    out->send_bytes = rlt_block_bytes(&v->lane->lane, piece);
    out->send = out->land = rlt_blocks_run(piece, 1);
}

/* Step k: receives block k, counted from the far end, and sends block k - 1; the root sends block k. */
static void scatter(const rlt_plan *plan, const view *v, uint32_t lane, uint32_t k, rlt_step *out)
{
    uint32_t place = chain_place(plan, v), back = place ? 1 : 0;
    if (place) {
        out->recv_from = left_of(v);
        out->recv_count = 1;
    }
    if (k < back)
        return;
    out->send_to = right_of(v);
    out->peer_step = k - back; /* block e + n-1-place belongs to the farthest member */
    uint32_t to = rlt_plus(v->e, v->n - 1 - place - (k - back), v->n), block = member_at(v->lane, v->n, to);
    out->send = out->land = rlt_blocks_run(block, 1);
    out->send_bytes = rlt_share_bytes(plan, &v->lane->lane, lane, block);
}

/* Step k: sends the block of the member k places behind, and receives the next one. */
static void gather(const rlt_plan *plan, const view *v, uint32_t lane, uint32_t k, rlt_step *out)
{
    uint32_t place = chain_place(plan, v);
    if (k < place) {
        out->recv_from = left_of(v);
        out->recv_count = 1;
    }
    if (place == v->n - 1)
        return;
    uint32_t block = member_at(v->lane, v->n, rlt_minus(v->e, k, v->n));
    out->send_to = right_of(v);
    out->peer_step = k;
    out->send = out->land = rlt_blocks_run(block, 1);
    out->send_bytes = rlt_share_bytes(plan, &v->lane->lane, lane, block);
}

/* Returns how many of the blocks for `count` members, from place `first` on round the ring, are larger by one
 * byte. */
static uint64_t larger_blocks(const ring_lane *l, uint32_t n, uint32_t first, uint32_t count)
{
    uint32_t rest = l->lane.rest, end = first + count, wrap = end > n ? end - n : 0;
    end -= wrap;
    if (rest == 0)
        return 0;
    if (l->larger)
        return l->larger[end] - l->larger[first] + l->larger[wrap];
    uint32_t low = first < rest ? first : rest, high = end < rest ? end : rest;
    return high - low + (wrap < rest ? wrap : rest);
}

/*
 * Phase s of the all-to-all: data that came from position e-s moves on to e+1, without the block for e. A
 * member's blocks in the travelling buffer are numbered by place. At position e, a block from position o for
 * position t is stored at o - (t-e). So the block for e itself stays at its sender's place, and blocks still
 * travelling never cover it.
 */
static void all_to_all_phase(const rlt_plan *plan, const view *v, uint32_t s, rlt_step *out)
{
    const ring_lane *l = v->lane;
    uint32_t n = v->n, count = n - 1 - s, from = rlt_minus(v->e, s, n), next = rlt_next(v->e, n);
    bool back = l->lane.reverse;
    uint32_t up = back ? n - 1 : 1, down = back ? 1 : n - 1; /* strides are modulo n */
#define PLACE(e) (back ? n - 1 - (e) : (e))
    uint8_t home = plan->result > 1 ? 1 : 0;
    out->send_to = right_of(v);
    out->recv_from = left_of(v);
    out->recv_count = 1;
    out->send_buffer = s == 0 ? home : (uint8_t)(home + 1);
    out->land_buffer = (uint8_t)(home + 1);
    out->send.first = s == 0 ? PLACE(next) : PLACE(rlt_previous(from, n));
    out->send.stride = s == 0 ? up : down;
    out->land.first = PLACE(from);
    out->land.stride = down;
    out->send.run = out->land.run = 1;
    out->send.reps = out->land.reps = count;
    uint32_t lowest = back ? PLACE(rlt_plus(v->e, count, n)) : next;
    out->send_bytes = count * l->lane.base + larger_blocks(l, n, lowest, count);
#undef PLACE
}

static void copy_block(rlt_step *out, uint8_t from_buffer, uint32_t from, uint8_t to_buffer, uint32_t to)
{
    out->copy = 1;
    out->send_buffer = from_buffer;
    out->land_buffer = to_buffer;
    out->send = rlt_blocks_run(from, 1);
    out->land = rlt_blocks_run(to, 1);
}

/* On given rings, blocks are first sorted from members to places, and sorted back at the end. The copies take
 * no time. */
static void all_to_all(const rlt_plan *plan, const view *v, uint32_t k, rlt_step *out)
{
    const ring_lane *l = v->lane;
    uint32_t n = v->n, sort = l->order ? n : 0;
    uint32_t place = l->lane.reverse ? n - 1 - v->e : v->e;
    uint8_t home = l->order ? 1 : 0;
    if (k < sort) {
        copy_block(out, 0, l->order[k], 1, k);
    } else if (k == sort) {
        copy_block(out, home, place, (uint8_t)(home + 1), place);
    } else if (k < sort + n) {
        all_to_all_phase(plan, v, k - sort - 1, out);
        out->peer_step = k;
    } else {
        copy_block(out, 2, k - sort - n, 3, l->order[k - sort - n]);
    }
}

static uint32_t ring_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    uint32_t n = plan->req.n;
    if (n == 1)
        return 0;
    switch (plan->req.kind) {
    case RLT_ALL_REDUCE:
    case RLT_BARRIER:
        return 2 * (n - 1);
    case RLT_REDUCE_SCATTER:
    case RLT_ALL_GATHER:
        return n - 1;
    default:
        break;
    }
    view v = look(plan, member, lane);
    if (plan->req.kind == RLT_ALL_TO_ALL)
        return v.lane->order ? 3 * n : n;
    return chain_steps(plan, &v);
}

/* circulate() for members in natural order in upward direction, where most runs spend their time. */
static void circulate_upwards(const ring_lane *l, uint32_t n, uint32_t e, uint32_t k, rlt_step *out)
{
    uint32_t block = e + 2 * n - 1 - k; /* e - 1 - k modulo n; k <= 2n - 3 */
    block -= block >= 2 * n ? 2 * n : block >= n ? n : 0;
    out->send_to = rlt_next(e, n);
    out->recv_from = rlt_previous(e, n);
    out->recv_count = 1;
    out->peer_step = k;
    out->reduce = k < n - 1;
    out->send_bytes = rlt_block_bytes(&l->lane, block);
    out->send = out->land = rlt_blocks_run(block, 1);
}

/* Any step. Out of line, so that it costs the common path no registers. */
__attribute__((noinline)) static void any_step(const rlt_plan *plan, uint32_t member, uint32_t lane,
                                               uint32_t k, rlt_step *out)
{
    view v = look(plan, member, lane);
    switch (plan->req.kind) {
    case RLT_ALL_REDUCE:
    case RLT_BARRIER:
    case RLT_REDUCE_SCATTER:
        circulate(plan, &v, lane, k, 0, out);
        break;
    case RLT_ALL_GATHER:
        circulate(plan, &v, lane, k + v.n - 1, v.n - 1, out);
        break;
    case RLT_SCATTER:
        scatter(plan, &v, lane, k, out);
        break;
    case RLT_GATHER:
        gather(plan, &v, lane, k, out);
        break;
    case RLT_ALL_TO_ALL:
        all_to_all(plan, &v, k, out);
        break;
    default:
        chain(plan, &v, k, out);
        break;
    }
}

static void ring_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    const ring_lane *l = (const ring_lane *)plan->data + lane;
    if (plan->shared) {
        uint32_t first = plan->req.kind == RLT_ALL_GATHER ? plan->req.n - 1 : 0;
        rlt_node_ring_step(plan, member, lane, k + first, first, out);
        return;
    }
    if (l->upwards && plan->req.kind <= RLT_REDUCE_SCATTER)
        circulate_upwards(l, plan->req.n, member, k, out);
    else
        any_step(plan, member, lane, k, out);
    if (l->turn)
        out->turn = (uint16_t)l->turn[member];
}

static bool natural_order(const rlt_coll_request *req)
{
    for (uint32_t r = 0; r < req->n_rings; r++) {
        for (uint32_t i = 0; i < req->n; i++) {
            if (req->rings[r][i] != i)
                return false;
        }
    }
    return true;
}

/* Inverts a ring order. Refuses an order that is not a permutation. */
static int invert(const uint32_t *order, uint32_t n, uint32_t *position, uint32_t ring, rlt_error *err)
{
    for (uint32_t i = 0; i < n; i++)
        position[i] = RLT_NONE;
    for (uint32_t i = 0; i < n; i++) {
        if (order[i] >= n || position[order[i]] != RLT_NONE)
            return rlt_fail(err, RLT_ETOPOLOGY, "ring",
                            "ring order %u is not a permutation of the %u members: member %u at "
                            "position %u is repeated or does not exist",
                            ring, n, order[i], i);
        position[order[i]] = i;
    }
    return 0;
}

/* Counts the larger blocks before each place; `rest` blocks are larger. */
static void count_larger(const uint32_t *order, uint32_t n, uint32_t rest, uint32_t *larger)
{
    larger[0] = 0;
    for (uint32_t i = 0; i < n; i++)
        larger[i + 1] = larger[i] + (order[i] < rest);
}

static uint32_t next_on(const uint32_t *order, const uint32_t *position, uint32_t n, uint32_t member,
                        bool reverse)
{
    uint32_t place = position[member];
    return order[reverse ? rlt_previous(place, n) : rlt_next(place, n)];
}

/* Counts the turns of parallel links. Directed ring d is ring d / directions, backwards if there are two
 * directions and d is odd. turns[d * n + member] is the number of directed rings before d that step from the
 * member to the same next one; they take parallel links in turn. */
static void count_turns(const rlt_coll_request *req, const uint32_t *tables, size_t per_ring,
                        uint32_t directions, uint32_t *turns)
{
    uint32_t n = req->n;
    for (uint32_t d = 0; d < req->n_rings * directions; d++) {
        for (uint32_t m = 0; m < n; m++) {
            uint32_t r = d / directions,
                     to = next_on(req->rings[r], tables + r * per_ring, n, m, d % directions), turn = 0;
            for (uint32_t e = 0; e < d; e++)
                turn += next_on(req->rings[e / directions], tables + e / directions * per_ring, n, m,
                                e % directions) == to;
            turns[(size_t)d * n + m] = turn;
        }
    }
}

/* Makes the lanes, and for each given ring a table of positions and (all-to-all) a table of larger blocks. A
 * lane with larger blocks has bytes % n of them. */
static int make_lanes(rlt_plan *plan, uint32_t chunks, rlt_error *err)
{
    const rlt_coll_request *req = &plan->req;
    bool given = !natural_order(req), counted = given && req->kind == RLT_ALL_TO_ALL;
    uint32_t rings = given ? req->n_rings : 0;
    size_t per_ring = req->n + (counted ? (size_t)req->n + 1 : 0);
    if (rings > RLT_MAX_LANES)
        return rlt_fail(err, RLT_ERANGE, "ring", "%u ring orders are too many; the limit is %d", rings,
                        RLT_MAX_LANES);
    if (rings && per_ring > SIZE_MAX / 2 / sizeof(uint32_t) / rings)
        return rlt_nomem(err);
    uint32_t directed = rings * plan->directions;
    bool turned = rings && directed <= MAX_TURNS;
    ring_lane *lanes = malloc(plan->lanes * sizeof *lanes + rings * per_ring * sizeof(uint32_t) +
                              (turned ? (size_t)directed * req->n * sizeof(uint32_t) : 0));
    if (!lanes)
        return rlt_nomem(err);
    lanes[0] = (ring_lane){.owned = NULL}; /* the plan frees it, also after an error below */
    plan->data = lanes;
    uint32_t *tables = (uint32_t *)(void *)(lanes + plan->lanes);
    for (uint32_t r = 0; r < rings; r++) {
        uint32_t *t = tables + r * per_ring;
        int rc = invert(req->rings[r], req->n, t, r, err);
        if (rc)
            return rc;
        if (counted)
            count_larger(req->rings[r], req->n, (uint32_t)(req->bytes % req->n), t + req->n);
    }
    uint32_t *turns = tables + rings * per_ring;
    if (turned)
        count_turns(req, tables, per_ring, plan->directions, turns);
    for (uint32_t i = 0; i < plan->lanes; i++) {
        lanes[i] = (ring_lane){.lane = rlt_lane_at(plan, i, chunks)};
        lanes[i].upwards = !given && !lanes[i].lane.reverse && !req->counts;
        if (!given)
            continue;
        uint32_t r = lanes[i].lane.channel % rings;
        lanes[i].order = req->rings[r];
        lanes[i].position = tables + r * per_ring;
        if (turned)
            lanes[i].turn = turns + (size_t)(r * plan->directions + lanes[i].lane.reverse) * req->n;
        lanes[i].larger = counted ? lanes[i].position + req->n : NULL;
    }
    return 0;
}

/* Lists the rings over nodes, or those of a fully connected dimension. They belong to the plan. */
static int list_rings(rlt_plan *plan, uint32_t rings, bool full, rlt_error *err)
{
    uint32_t n = plan->req.n, node = plan->req.node;
    bool xgmi = rlt_xgmi_nodes(&plan->req);
    uint32_t **list = malloc(rings * (sizeof *list + n * sizeof **list));
    if (!list)
        return rlt_nomem(err);
    for (uint32_t c = 0; c < rings; c++) {
        list[c] = (uint32_t *)(void *)(list + rings) + (size_t)c * n;
        if (full)
            rlt_full_ring(n, c, list[c]);
        for (uint32_t place = 0; place < n && !full; place++)
            list[c][place] =
                xgmi ? rlt_xgmi_ring_at(c, place)
                     : rlt_node_ring_at(node, (uint32_t)((uint64_t)c * node / rings) % node, place);
    }
    plan->req.n_rings = rings;
    plan->req.rings = (const uint32_t *const *)list;
    return 0;
}

static bool is_chain(rlt_coll_kind kind)
{
    return kind == RLT_BROADCAST || kind == RLT_REDUCE;
}

static uint32_t default_pieces(uint64_t lane_bytes)
{
    uint64_t pieces = (lane_bytes + PIECE_BYTES - 1) / PIECE_BYTES;
    return pieces < 1 ? 1 : pieces > MAX_PIECES ? MAX_PIECES : (uint32_t)pieces;
}

/* Plans rings over nodes in closed form. */
static int plan_nodes(rlt_plan *plan, rlt_error *err)
{
    const rlt_coll_request *req = &plan->req;
    uint32_t channels = req->params.channels ? req->params.channels : req->node;
    uint32_t chunks = req->params.chunks ? req->params.chunks : 1;
    if (channels > RLT_MAX_LANES / chunks)
        return rlt_lanes_set(plan, channels, 1, chunks, err);
    int rc = rlt_lanes_set(plan, channels * chunks, 1, 1, err);
    if (rc)
        return rc;
    plan->shared = true;
    plan->buffers = 1;
    plan->blocks = req->n * plan->channels;
    plan->data = calloc(1, sizeof(ring_lane));
    return plan->data ? 0 : rlt_nomem(err);
}

static int plan_lanes(rlt_plan *plan, rlt_error *err)
{
    const rlt_coll_request *req = &plan->req;
    uint32_t channels = req->params.channels ? req->params.channels : req->n_rings ? req->n_rings : 1;
    uint32_t directions = req->params.directions ? req->params.directions : 1;
    uint32_t chunks = req->params.chunks && !is_chain(req->kind) ? req->params.chunks : 1;
    int rc = rlt_lanes_set(plan, channels, directions, chunks, err);
    if (rc)
        return rc;
    plan->blocks = req->n;
    plan->buffers = 1;
    if (is_chain(req->kind)) {
        if (req->params.chunks > MAX_PIECES)
            return rlt_fail(err, RLT_ERANGE, "ring", "%u chunks are too many; the limit is %d",
                            req->params.chunks, MAX_PIECES);
        plan->chunks = req->params.chunks ? req->params.chunks : default_pieces(req->bytes / plan->lanes);
        plan->blocks = plan->chunks;
    } else if (req->kind == RLT_ALL_TO_ALL && req->n > 1) {
        bool sorted = !natural_order(req);
        plan->buffers = sorted ? 4 : 2;
        plan->result = sorted ? 3 : 1;
    }
    return make_lanes(plan, chunks, err);
}

static int ring_plan(rlt_plan *plan, rlt_error *err)
{
    uint32_t full = rlt_full_rings(&plan->req), rings = full ? full : rlt_node_rings(&plan->req);
    if (rlt_node_ring_closed(&plan->req) && (uint64_t)plan->req.n * RLT_MAX_LANES < UINT32_MAX / 2)
        return plan_nodes(plan, err);
    if (rings && plan->req.params.channels)
        rings = plan->req.params.channels;
    if (!rings || (uint64_t)rings * plan->req.n > MAX_ENTRIES)
        return plan_lanes(plan, err);
    int rc = list_rings(plan, rings, full > 0, err);
    if (rc)
        return rc;
    const uint32_t *const *list = plan->req.rings;
    rc = plan_lanes(plan, err);
    if (plan->data)
        ((ring_lane *)plan->data)->owned = list;
    else
        free((void *)(uintptr_t)list);
    return rc;
}

static void ring_release(rlt_plan *plan)
{
    free((void *)(uintptr_t)((ring_lane *)plan->data)->owned);
}

/* Whether members of a node reach each other over switches alone: nodes that are visited backwards then look
 * the same. */
static bool node_is_switched(const rlt_coll_request *req)
{
    uint32_t filled = 1, d = 0;
    for (; d < req->n_dims && filled < req->node && rlt_shape_is(req->shapes[d], "switch"); d++)
        filled *= req->dims[d];
    return filled == req->node;
}

/* Members differ on given rings, and in rooted kinds. */
static uint32_t ring_symmetry(const rlt_plan *plan, uint32_t *sizes)
{
    const ring_lane *l = plan->data;
    if (plan->shared) {
        if (!node_is_switched(&plan->req))
            return 0;
        sizes[0] = plan->req.node;
        sizes[1] = plan->req.n / plan->req.node;
        return 2;
    }
    return rlt_coll_rooted(plan->req.kind) || l->order ? 0 : rlt_one_cycle(plan, sizes);
}

/* Whatever the order of a ring, each member passes on as much to the next one. */
static bool ring_alike(const rlt_plan *plan)
{
    return !rlt_coll_rooted(plan->req.kind);
}

static bool ring_relays(const rlt_plan *plan)
{
    return !plan->shared && !rlt_coll_rooted(plan->req.kind) && plan->req.kind != RLT_ALL_TO_ALL;
}

static const rlt_param parameters[] = {
    RLT_HAS_CHANNELS("1; one per recommended ring, member of a node, or disjoint ring of a fully "
                     "connected dimension"),
    RLT_HAS_DIRECTIONS("1; 2: half the bytes in each direction"),
    RLT_HAS_CHUNKS("1; broadcast and reduce: pieces of 512 KiB"),
    {0}};

const rlt_algorithm rlt_ring = {
    .name = "ring",
    .summary = "neighbours along a ring only; bandwidth-optimal, latency grows with the members",
    .parameters = parameters,
    .kinds = 1u << RLT_ALL_REDUCE | 1u << RLT_REDUCE_SCATTER | 1u << RLT_ALL_GATHER | 1u << RLT_ALL_TO_ALL |
             1u << RLT_BROADCAST | 1u << RLT_REDUCE | 1u << RLT_BARRIER | 1u << RLT_GATHER |
             1u << RLT_SCATTER,
    .counted = 1u << RLT_ALL_GATHER | 1u << RLT_REDUCE_SCATTER | 1u << RLT_GATHER | 1u << RLT_SCATTER,
    .plan = ring_plan,
    .steps = ring_steps,
    .step = ring_step,
    .symmetry = ring_symmetry,
    .alike = ring_alike,
    .relays = ring_relays,
    .release = ring_release,
};
