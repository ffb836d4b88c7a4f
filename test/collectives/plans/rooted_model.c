/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Broadcast, scatter, reduce and gather by hierarchical against a plain plan, written from the trees that grid.h and
 * the head of grid_rooted.c state: random grids, patterns, roots, lanes and counts, every field of every step.
 */
#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/plan.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/plain_plan.h"

enum { CASES = 2500, DIMS = 3 };

static plain_plan plain;

/* The request in plain words, and how far each member is. */
static struct {
    rlt_coll_request r;
    uint32_t n_dims, sizes[DIMS], strides[DIMS];
    enum { CHAIN, FLAT, BINOMIAL } trees[DIMS];
    bool down, shares, reverse;
    uint32_t lane, chunk, next[PLAIN_MEMBERS];
} c;

static uint64_t counts[PLAIN_MEMBERS];

static uint64_t size_of(uint32_t block)
{
    if (c.r.counts)
        return plain_cut(counts[block], plain.lanes, c.lane);
    return plain_cut(plain_cut(c.r.bytes, c.shares ? c.r.n : 1, block), plain.lanes, c.lane);
}

static uint32_t coordinate(uint32_t member, uint32_t d)
{
    return member / c.strides[d] % c.sizes[d];
}

/* Member at a place of the tree in dimension d that the member `head` leads. */
static uint32_t at_place(uint32_t head, uint32_t d, uint32_t place)
{
    uint32_t root = coordinate(c.r.root, d), size = c.sizes[d];
    uint32_t x = c.shares && c.trees[d] == BINOMIAL ? place ^ root
                 : c.reverse                        ? (root + size - place) % size
                                                    : (root + place) % size;
    return head + (x - root) * c.strides[d];
}

static uint32_t parent_of(uint32_t d, uint32_t place)
{
    if (c.trees[d] == CHAIN)
        return place - 1;
    uint32_t bit = 1;
    while (!(place & bit))
        bit *= 2;
    return c.trees[d] == FLAT ? 0 : place - bit;
}

/* Whether a place is below another one, or the same. */
static bool below_place(uint32_t d, uint32_t place, uint32_t top)
{
    while (place > top)
        place = parent_of(d, place);
    return place == top;
}

/* Fills in what the message between a place and its parent carries: everything, or the shares of the place's subtree
 * and of all dimensions inside. */
static void carry(rlt_step *s, uint32_t head, uint32_t d, uint32_t place)
{
    uint32_t low = UINT32_MAX, many = 0;
    s->reduce = c.r.kind == RLT_REDUCE;
    if (!c.shares) {
        s->send = s->land = plain_run(0, 1);
        s->send_bytes = size_of(0);
        return;
    }
    for (uint32_t p = place; p < c.sizes[d]; p++) {
        if (!below_place(d, p, place))
            continue;
        uint32_t inside = at_place(head, d, p) / c.strides[d] * c.strides[d];
        low = inside < low ? inside : low;
        for (uint32_t i = 0; i < c.strides[d]; i++, many++)
            s->send_bytes += size_of(inside + i);
    }
    s->send = s->land = plain_run(low, many);
}

/* The first step of a phase waits for the last step that the chunk before takes in it. */
static void follow(uint32_t member, uint32_t first)
{
    rlt_step *s = plain_step(&plain, member, c.lane, first);
    if (c.chunk == 0)
        return;
    s->wait_lane = c.lane - 1;
    s->wait_step = c.next[member] - 1;
}

static void lead_down(uint32_t head, uint32_t d)
{
    for (uint32_t p = 0; p < c.sizes[d]; p++) {
        uint32_t member = at_place(head, d, p), first = p ? 0 : c.next[member];
        for (uint32_t child = c.sizes[d] - 1, nth = 0; child > p; child--) {
            /* flat trees from the nearest place on, others from the largest subtree on */
            uint32_t to = c.trees[d] == FLAT ? 1 + nth : child;
            if (parent_of(d, to) != p)
                continue;
            nth++;
            rlt_step *s = plain_message(&plain, c.lane, member, c.next[member]++, at_place(head, d, to), 0);
            carry(s, head, d, to);
            s->nowait = c.trees[d] == FLAT;
            c.next[at_place(head, d, to)] = 1;
        }
        if (c.next[member] > first)
            follow(member, first);
    }
}

static void lead_up(uint32_t head, uint32_t d)
{
    for (uint32_t p = 1; p < c.sizes[d]; p++) {
        uint32_t member = at_place(head, d, p), k = d;
        for (uint32_t child = p + 1; child < c.sizes[d]; child++)
            k = parent_of(d, child) == p ? d + 1 : k;
        rlt_step *s = plain_message(&plain, c.lane, member, k, at_place(head, d, parent_of(d, p)), d);
        carry(s, head, d, p);
        c.next[member] = k + 1;
        follow(member, d);
    }
    c.next[head] = d + 1;
    follow(head, d);
}

/* Whether a member has the root's coordinates in the dimensions up to d. */
static bool leads(uint32_t member, uint32_t d)
{
    for (uint32_t i = 0; i <= d; i++)
        if (coordinate(member, i) != coordinate(c.r.root, i))
            return false;
    return true;
}

static void plain_lane(uint32_t lane, uint32_t directions, uint32_t chunks)
{
    c.lane = lane;
    c.chunk = lane % chunks;
    c.reverse = lane / chunks % directions == 1;
    memset(c.next, 0, sizeof c.next);
    for (uint32_t i = 0; i < c.n_dims; i++) {
        uint32_t d = c.down ? c.n_dims - 1 - i : i;
        for (uint32_t head = 0; head < c.r.n; head++)
            if (leads(head, d)) {
                if (c.down)
                    lead_down(head, d);
                else
                    lead_up(head, d);
            }
    }
}

static void draw_dims(dice *d)
{
    static const char *const shapes[] = {"ring", "switch", "fully-connected", NULL};
    static const char *const patterns[] = {NULL, "ring", "direct", "halving_doubling", "recursive_doubling"};
    static const uint32_t odd[] = {1, 2, 3, 4, 5, 6, 7}, powers[] = {1, 2, 4, 8};
    uint32_t n_dims = 1 + below(d, DIMS);
    c.r.n = 1;
    for (uint32_t i = 0; i < n_dims; i++) {
        uint32_t pattern = below(d, 5);
        uint32_t size = pattern > 2 && c.shares ? powers[below(d, 4)] : odd[below(d, 7)];
        c.r.dims[i] = size = c.r.n * size > PLAIN_MEMBERS ? 1 : size;
        c.r.shapes[i] = shapes[below(d, 4)];
        c.r.axes[i] = RLT_NONE;
        c.r.params.patterns[i] = patterns[pattern];
        c.r.n_dims = i + 1;
        if (size > 1) {
            bool direct = c.r.shapes[i] && c.r.shapes[i] == shapes[2];
            c.sizes[c.n_dims] = size;
            c.strides[c.n_dims] = c.r.n;
            c.trees[c.n_dims++] = pattern > 2                                            ? BINOMIAL
                                  : pattern == 2 || (pattern == 0 && direct) || c.shares ? FLAT
                                                                                         : CHAIN;
        }
        c.r.n *= size;
    }
    if (n_dims == 1 && below(d, 2)) { /* the same without a grid, whose shape is unknown */
        c.r.n_dims = 0;
        c.trees[0] = c.r.params.patterns[0] || c.shares ? c.trees[0] : CHAIN;
    }
}

/* Directions if the request leaves them open: two if a dimension is a real ring. */
static uint32_t usual_directions(void)
{
    for (uint32_t i = 0; i < c.r.n_dims; i++)
        if (c.r.shapes[i] && strcmp(c.r.shapes[i], "ring") == 0 && c.r.dims[i] > 2)
            return 2;
    return 1;
}

static void one_case(uint32_t number)
{
    static const rlt_coll_kind kinds[] = {RLT_BROADCAST, RLT_SCATTER, RLT_REDUCE, RLT_GATHER};
    dice d = {.seed = number};
    uint32_t sizes[RLT_MAX_TRANSLATIONS];
    rlt_plan plan;
    rlt_error err = {0};
    memset(&c, 0, sizeof c);
    c.r.kind = kinds[below(&d, 4)];
    c.down = c.r.kind == RLT_BROADCAST || c.r.kind == RLT_SCATTER;
    c.shares = c.r.kind == RLT_SCATTER || c.r.kind == RLT_GATHER;
    draw_dims(&d);
    c.r.root = below(&d, c.r.n);
    c.r.bytes = roll(&d, below(&d, 2) ? 100 : 400000);
    if (c.shares && below(&d, 2)) {
        c.r.counts = counts;
        c.r.bytes = 0;
        for (uint32_t i = 0; i < c.r.n; i++)
            c.r.bytes += counts[i] = below(&d, 4) ? roll(&d, 1000) : 0;
    }
    c.r.params.channels = below(&d, 3);
    c.r.params.directions = below(&d, 3);
    c.r.params.chunks = 1 + below(&d, 3);
    uint32_t directions = c.r.params.directions ? c.r.params.directions : usual_directions();
    plain_clear(&plain, c.r.n, (c.r.params.channels == 2 ? 2 : 1) * directions * c.r.params.chunks);
    for (uint32_t lane = 0; lane < plain.lanes; lane++)
        plain_lane(lane, directions, c.r.params.chunks);
    if (rlt_plan_create(&rlt_hierarchical, &c.r, &plan, &err))
        fail_msg("%s: %s", err.where, err.what);
    plain_compare(&plain, &plan);
    assert_int_equal(rlt_hierarchical.symmetry(&plan, sizes), 0); /* the root differs */
    rlt_plan_free(&plan);
}

static void as_stated(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < CASES; i++)
        one_case(i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_stated)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
