/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two binary trees, each for half of the bytes (P. Sanders, J. Speck, J. L. Träff: "Two-tree algorithms for
 * full bandwidth broadcast, reduction and scan", Parallel Computing 2009; NCCL's tree algorithm). The members
 * other than the root stand in order in the first tree, and are shifted by one place in the second. Odd
 * places are leaves, so an inner member of one tree is a leaf of the other, and no member carries more than
 * twice the bytes.
 *
 *   reduce       up both trees to the root   broadcast    down both trees   all-reduce   up to member 0 and
 * down again
 *
 * Lanes are channels x trees x chunks. Chunks follow each other: a member's sends of a chunk in one direction
 * (up, down) begin when those of the chunk before are out. Every wait is for an earlier chunk, so there is no
 * deadlock.
 *
 * An all-reduce over nodes of several members uses NCCL's trees: double_tree.h over the nodes, a chain
 * inside. Channel c of C begins the chain at member c g / C of each of the g members, so that all NICs are
 * used. In nodes of eight fully connected members the chain is RCCL's path from there (xgmi.h).
 *
 *   scatter      One binomial tree: the holder of the blocks of a run of members sends the latter half to the
 *                first member of that half, until it is alone. ceil(log2(n)) rounds of (n-1)/n M bytes in all
 *                (E. Chan et al.: "Collective communication: theory, practice, and experience", CCPE 2007).
 *   gather       the reverse
 *
 * Their lanes are channels x chunks, independent of each other.
 */
#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/lanes.h"
#include "collectives/nodes/double_tree.h"
#include "collectives/nodes/xgmi.h"
#include "net/endpoint/internode.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/time.h"

#define PIECE_BYTES ((uint64_t)512 << 10)
enum { TREES = 2, MAX_PIECES = 256, LONG_PIECES = 11, LEAST_PIECE = 256 };

/* Position of a member in a lane's tree. `place` and what follows are places; the root's place is 0, and its
 * parent RLT_NONE. Over nodes of g members, place k g + q is q places behind the head of node k. */
typedef struct node {
    uint32_t n, root, shift;
    uint32_t g, head;     /* g 0: the tree is over members */
    const uint32_t *path; /* order of a node's members from its head on; NULL: natural */
    uint32_t place, parent, n_children, children[3];
} node;

static uint32_t place_of(const node *t, uint32_t member)
{
    uint32_t place = rlt_minus(member, t->root, t->n);
    return place == 0 || t->shift == 0 ? place : place == t->n - 1 ? 1 : place + 1;
}

static uint32_t member_at(const node *t, uint32_t place)
{
    if (t->g)
        return place - place % t->g +
               (t->path ? t->path[place % t->g] : rlt_plus(t->head, place % t->g, t->g));
    if (place > 0 && t->shift)
        place = place == 1 ? t->n - 1 : place - 1;
    return rlt_plus(place, t->root, t->n);
}

/*
 * In-order numbering. A place with lowest set bit b has the children -b/2 and +b/2. If +b/2 is past the end,
 * the second child is the first of +b/4, +b/8, ... that is not. The child of the root, place 0, is the
 * largest power of two.
 */
static uint32_t parent_of(uint32_t place, uint32_t n)
{
    uint32_t bit = place & (0u - place), up = (place ^ bit) | bit << 1;
    return up < n ? up : place ^ bit;
}

/* A chain inside each node, which begins at its head; NCCL's trees over the nodes. The head has the parent
 * and the first child, the second of the chain has the second child (NCCL's balanced tree,
 * src/graph/search.cc). */
static void add_neighbours(node *t)
{
    uint32_t nodes = t->n / t->g, k = t->place / t->g, q = t->place % t->g;
    rlt_tree_place at = rlt_double_tree(nodes, k, t->shift);
    t->n_children = 0;
    if (q < 2 && q < at.n_children)
        t->children[t->n_children++] = at.children[q] * t->g;
    if (q + 1 < t->g)
        t->children[t->n_children++] = t->place + 1;
    t->parent = t->place - 1;
    if (q == 0 && at.parent != RLT_NONE) {
        rlt_tree_place up = rlt_double_tree(nodes, at.parent, t->shift);
        t->parent = at.parent * t->g + (up.children[0] != k);
    } else if (q == 0) {
        t->parent = RLT_NONE;
    }
}

static void add_children(node *t)
{
    if (t->g) {
        add_neighbours(t);
        return;
    }
    uint32_t half = (t->place ? t->place & (0u - t->place) : 1u << (rlt_log2(t->n) + 1)) >> 1;
    t->n_children = 0;
    if (t->place && half)
        t->children[t->n_children++] = t->place - half;
    while (half && t->place + half >= t->n)
        half >>= 1;
    if (half)
        t->children[t->n_children++] = t->place + half;
}

/* Whether the trees are over nodes: rooted kinds go from any member. */
static bool over_nodes(const rlt_coll_request *req)
{
    return req->kind == RLT_ALL_REDUCE && req->node > 1 && req->node < req->n;
}

/* Place in its node of the node's member i. */
static uint32_t place_inside(const node *t, uint32_t i)
{
    uint32_t place = 0;
    if (!t->path)
        return rlt_minus(i, t->head, t->g);
    while (t->path[place] != i)
        place++;
    return place;
}

static node node_of(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    const rlt_coll_request *req = &plan->req;
    node t = {.n = req->n, .shift = lane / plan->chunks % TREES};
    t.root = req->kind == RLT_ALL_REDUCE ? 0 : req->root;
    if (over_nodes(req)) {
        t.g = req->node;
        t.head = (uint32_t)((uint64_t)(lane / plan->chunks / TREES) * t.g / plan->channels) % t.g;
        t.path = rlt_xgmi_nodes(req) ? rlt_xgmi_paths()[t.head] : NULL;
        t.place = member - member % t.g + place_inside(&t, member % t.g);
    } else {
        t.place = place_of(&t, member);
        t.parent = t.place ? parent_of(t.place, t.n) : RLT_NONE;
    }
    add_children(&t);
    return t;
}

/*
 * Steps of a member. Up: it receives from its children and sends to its parent. Down: it receives from its
 * parent and sends to each child.
 */
static uint32_t up_steps(const rlt_plan *plan, const node *t)
{
    return plan->req.kind == RLT_BROADCAST ? 0 : (uint32_t)(t->n_children > 0) + (t->parent != RLT_NONE);
}

static uint32_t down_steps(const rlt_plan *plan, const node *t)
{
    return plan->req.kind == RLT_REDUCE ? 0 : (uint32_t)(t->parent != RLT_NONE) + t->n_children;
}

static void send_to(const rlt_plan *plan, const node *t, uint32_t lane, uint32_t place, uint32_t peer_step,
                    rlt_step *out)
{
    out->send_to = member_at(t, place);
    out->peer_step = peer_step;
    out->send = out->land = rlt_blocks_run(0, 1);
    out->send_bytes = rlt_lane_bytes(plan, lane);
}

static void wait_for_chunk(const rlt_plan *plan, uint32_t lane, uint32_t step, rlt_step *out)
{
    if (lane % plan->chunks > 0) {
        out->wait_lane = lane - 1;
        out->wait_step = step;
    }
}

static void up_step(const rlt_plan *plan, const node *t, uint32_t lane, uint32_t k, rlt_step *out)
{
    if (t->n_children && k == 0) {
        out->recv_count = t->n_children;
        out->recv_from = t->n_children == 1 ? member_at(t, t->children[0]) : RLT_NONE;
    } else {
        send_to(plan, t, lane, t->parent, 0, out);
        out->reduce = 1;
        wait_for_chunk(plan, lane, k, out);
    }
}

/*
 * Step k of the way down, which begins at step `begin` of the lane. Both children are served at once: each
 * gets half the bandwidth, and each receives as much along the other tree.
 */
static void down_step(const rlt_plan *plan, const node *t, uint32_t lane, uint32_t k, uint32_t begin,
                      rlt_step *out)
{
    uint32_t receives = t->parent != RLT_NONE;
    if (k < receives) {
        out->recv_from = member_at(t, t->parent);
        out->recv_count = 1;
        return;
    }
    node child = *t;
    child.place = t->children[k - receives];
    child.parent = t->place;
    add_children(&child);
    send_to(plan, t, lane, child.place, up_steps(plan, &child), out);
    out->nowait = k + 1 < down_steps(plan, t);
    if (k == receives)
        wait_for_chunk(plan, lane, begin + down_steps(plan, t) - 1, out);
}

static inline bool halves(rlt_coll_kind kind)
{
    return kind == RLT_GATHER || kind == RLT_SCATTER;
}

/* Position in the binomial tree. A member is the first of a run of `size` places, which it receives from
 * `parent`, and which it halves `children` times. Places count from the root. */
typedef struct branch {
    uint32_t place, size, parent;
    uint32_t rank; /* index among the parent's children */
    uint32_t children;
} branch;

static inline uint32_t halvings(uint32_t size)
{
    return size > 1 ? rlt_log2(size - 1) + 1 : 0;
}

static branch branch_of(uint32_t place, uint32_t n)
{
    branch b = {.size = n, .parent = RLT_NONE};
    uint32_t rank = 0;
    while (b.place != place) {
        uint32_t kept = b.size - b.size / 2;
        if (place >= b.place + kept) {
            b = (branch){.place = b.place + kept, .size = b.size / 2, .parent = b.place, .rank = rank};
            rank = 0;
        } else {
            b.size = kept;
            rank++;
        }
    }
    b.children = halvings(b.size);
    return b;
}

/* First place of child i, and the size of its run. */
static void child_of(const branch *b, uint32_t i, uint32_t *place, uint32_t *size)
{
    uint32_t kept = b->size;
    for (uint32_t k = 0; k < i; k++)
        kept -= kept / 2;
    *size = kept / 2;
    *place = b->place + kept - kept / 2;
}

static inline uint32_t from_root(const rlt_plan *plan, uint32_t place)
{
    return rlt_plus(place, plan->req.root, plan->req.n);
}

static void send_run(const rlt_plan *plan, uint32_t lane, uint32_t to, uint32_t peer_step, uint32_t place,
                     uint32_t size, rlt_step *out)
{
    out->send_to = from_root(plan, to);
    out->peer_step = peer_step;
    out->send = out->land = rlt_blocks_run(from_root(plan, place), size);
    out->send_bytes = rlt_blocks_bytes(plan, lane, out->send);
}

/* A scatter step: receives from the parent, then serves the children, larger runs first. */
static void scatter_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    branch b = branch_of(rlt_minus(member, plan->req.root, plan->req.n), plan->req.n);
    uint32_t received = b.place > 0, place, size;
    if (k < received) {
        out->recv_from = from_root(plan, b.parent);
        out->recv_count = 1;
        return;
    }
    child_of(&b, k - received, &place, &size);
    send_run(plan, lane, place, 0, place, size, out);
}

/* A gather step: receives from the children, smaller runs first, then sends everything to the parent. */
static void gather_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    branch b = branch_of(rlt_minus(member, plan->req.root, plan->req.n), plan->req.n);
    uint32_t place, size;
    if (k < b.children) {
        child_of(&b, b.children - 1 - k, &place, &size);
        out->recv_from = from_root(plan, place);
        out->recv_count = 1;
        return;
    }
    branch parent = branch_of(b.parent, plan->req.n);
    send_run(plan, lane, b.parent, parent.children - 1 - b.rank, b.place, b.size, out);
}

static uint32_t tree_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    if (plan->req.n == 1)
        return 0;
    if (halves(plan->req.kind)) {
        branch b = branch_of(rlt_minus(member, plan->req.root, plan->req.n), plan->req.n);
        return b.children + (b.place > 0);
    }
    node t = node_of(plan, member, lane);
    return up_steps(plan, &t) + down_steps(plan, &t);
}

static void tree_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    if (halves(plan->req.kind)) {
        (plan->req.kind == RLT_SCATTER ? scatter_step : gather_step)(plan, member, lane, k, out);
        return;
    }
    node t = node_of(plan, member, lane);
    uint32_t up = up_steps(plan, &t);
    if (k < up)
        up_step(plan, &t, lane, k, out);
    else
        down_step(plan, &t, lane, k - up, up, out);
}

static uint32_t default_chunks(const rlt_coll_request *req, uint64_t lane_bytes, uint32_t ways)
{
    uint64_t piece = PIECE_BYTES;
    if (over_nodes(req)) { /* chains are long: NCCL makes pieces smaller when there are few */
        piece = lane_bytes / LONG_PIECES;
        piece = piece < LEAST_PIECE ? LEAST_PIECE : piece > PIECE_BYTES ? PIECE_BYTES : piece;
    }
    uint64_t pieces = lane_bytes / piece;
    uint32_t most = RLT_MAX_LANES / ways < MAX_PIECES ? RLT_MAX_LANES / ways : MAX_PIECES;
    return pieces < 1 ? 1 : pieces > most ? most : (uint32_t)pieces;
}

static int tree_plan(rlt_plan *plan, rlt_error *err)
{
    const rlt_coll_request *req = &plan->req;
    uint32_t channels = req->params.channels ? req->params.channels : over_nodes(req) ? req->node : 1;
    plan->buffers = 1;
    if (halves(req->kind)) {
        plan->blocks = req->n;
        return rlt_lanes_set(plan, channels, 1, req->params.chunks ? req->params.chunks : 1, err);
    }
    uint32_t ways = channels < RLT_MAX_LANES / TREES ? channels * TREES : RLT_MAX_LANES;
    uint32_t chunks = req->params.chunks ? req->params.chunks : default_chunks(req, req->bytes / ways, ways);
    int rc = rlt_lanes_set(plan, channels, TREES, chunks, err);
    if (rc)
        return rc;
    plan->blocks = 1;
    return 0;
}

static const rlt_param parameters[] = {
    RLT_HAS_CHANNELS("1; all-reduce over nodes: one for each member of a node"),
    RLT_HAS_CHUNKS("per tree, pieces of 512 KiB, at most 256; gather, scatter: 1"),
    {0}};

const rlt_algorithm rlt_tree = {
    .name = "tree",
    .summary =
        "two binary trees with half the bytes each, chunks following each other; gather and scatter: one "
        "binomial tree",
    .parameters = parameters,
    .kinds =
        1u << RLT_ALL_REDUCE | 1u << RLT_BROADCAST | 1u << RLT_REDUCE | 1u << RLT_GATHER | 1u << RLT_SCATTER,
    .counted = 1u << RLT_GATHER | 1u << RLT_SCATTER,
    .hop = RLT_HOP_TREE,
    .plan = tree_plan,
    .steps = tree_steps,
    .step = tree_step,
};
