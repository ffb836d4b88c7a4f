/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * tree against a plain plan, written from the head of its file: both trees over members or over nodes and their chains,
 * and the binomial tree of gather and scatter. Random sizes, roots, lanes and counts, every field of every step.
 */
#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/nodes/double_tree.h"
#include "collectives/plan.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/plain_plan.h"

enum { CASES = 2500, KIDS = 8 };

static plain_plan plain;
static uint64_t counts[PLAIN_MEMBERS];

static struct {
    rlt_coll_request r;
    uint32_t n, lane, chunks, channels;
    uint32_t parent[PLAIN_MEMBERS], kids[PLAIN_MEMBERS][KIDS], n_kids[PLAIN_MEMBERS];
} c;

static void join(uint32_t parent, uint32_t kid)
{
    assert_int_equal(c.parent[kid], RLT_NONE);
    c.parent[kid] = parent;
    c.kids[parent][c.n_kids[parent]++] = kid;
}

static void cut_all_edges(void)
{
    memset(c.n_kids, 0, sizeof c.n_kids);
    for (uint32_t m = 0; m < c.n; m++)
        c.parent[m] = RLT_NONE;
}

/* Member at a place: places count from the root; in the second tree all but the root's are one further on. */
static uint32_t at_place(uint32_t place, bool second)
{
    uint32_t root = c.r.kind == RLT_ALL_REDUCE ? 0 : c.r.root;
    if (place && second)
        place = place == 1 ? c.n - 1 : place - 1;
    return (root + place) % c.n;
}

/* Joins the in-order tree over the places between `low` and `low` + size, a power of two, to a parent. The middle leads,
 * unless it is past the end. */
static void join_range(uint32_t parent, uint32_t low, uint32_t size, bool second)
{
    while (size > 1 && low + size / 2 >= c.n)
        size /= 2;
    if (size == 1)
        return;
    uint32_t middle = low + size / 2, member = at_place(middle, second);
    join(parent, member);
    join_range(member, low, size / 2, second);
    join_range(member, middle, size / 2, second);
}

/* NCCL's trees over nodes: the head of a node's chain has the first child, the second of the chain the second. */
static void join_nodes(uint32_t channel, bool second)
{
    uint32_t g = c.r.node, head = channel * g / c.channels % g;
    for (uint32_t k = 0; k < c.n / g; k++) {
        rlt_tree_place t = rlt_double_tree(c.n / g, k, second);
        for (uint32_t q = 0; q < g; q++) {
            uint32_t member = k * g + (head + q) % g;
            if (q < t.n_children)
                join(member, t.children[q] * g + head);
            if (q + 1 < g)
                join(member, k * g + (head + q + 1) % g);
        }
    }
}

static void follow(rlt_step *s, uint32_t step)
{
    if (c.lane % c.chunks == 0)
        return;
    s->wait_lane = c.lane - 1;
    s->wait_step = step;
}

static void carry_all(rlt_step *s)
{
    s->send = s->land = plain_run(0, 1);
    s->send_bytes = plain_cut(c.r.bytes, plain.lanes, c.lane);
}

static uint32_t up_steps(uint32_t m)
{
    return c.r.kind == RLT_BROADCAST ? 0 : (c.n_kids[m] > 0 ? 1u : 0u) + (c.parent[m] != RLT_NONE);
}

static void climb(uint32_t m)
{
    uint32_t k = c.n_kids[m] > 0;
    if (c.parent[m] == RLT_NONE)
        return;
    rlt_step *s = plain_message(&plain, c.lane, m, k, c.parent[m], 0);
    s->reduce = 1;
    carry_all(s);
    follow(s, k);
}

static void descend(uint32_t m)
{
    uint32_t k = up_steps(m) + (c.parent[m] != RLT_NONE), last = k + c.n_kids[m] - 1;
    for (uint32_t i = 0; i < c.n_kids[m]; i++) {
        uint32_t kid = c.kids[m][i];
        rlt_step *s = plain_message(&plain, c.lane, m, k + i, kid, up_steps(kid));
        s->nowait = k + i < last;
        carry_all(s);
        if (i == 0)
            follow(s, last);
    }
}

static void carry_run(rlt_step *s, uint32_t place, uint32_t size)
{
    s->send = s->land = plain_run((c.r.root + place) % c.n, size);
    for (uint32_t i = 0; i < size; i++) {
        uint32_t block = (c.r.root + place + i) % c.n;
        s->send_bytes +=
            plain_cut(c.r.counts ? counts[block] : plain_cut(c.r.bytes, c.n, block), plain.lanes, c.lane);
    }
}

/* The holder of a run of places gives the latter half away until it is alone. A gather is the reverse. */
static void halve(uint32_t place, uint32_t size)
{
    uint32_t many = 0, first = place > 0;
    for (uint32_t left = size; left > 1; left -= left / 2)
        many++;
    for (uint32_t i = 0; size > 1; i++) {
        uint32_t given = size / 2, to = place + size - given, grand = 0;
        uint32_t from = (c.r.root + place) % c.n, there = (c.r.root + to) % c.n;
        size -= given;
        for (uint32_t left = given; left > 1; left -= left / 2)
            grand++;
        rlt_step *s = c.r.kind == RLT_SCATTER
                          ? plain_message(&plain, c.lane, from, first + i, there, 0)
                          : plain_message(&plain, c.lane, there, grand, from, many - 1 - i);
        carry_run(s, to, given);
        halve(to, given);
    }
}

static void plain_lane(void)
{
    uint32_t tree = c.lane / c.chunks % 2, channel = c.lane / c.chunks / 2, size = 1;
    if (c.r.kind == RLT_GATHER || c.r.kind == RLT_SCATTER) {
        halve(0, c.n);
        return;
    }
    cut_all_edges();
    while (size < c.n)
        size *= 2;
    if (c.r.kind == RLT_ALL_REDUCE && c.r.node > 1 && c.r.node < c.n)
        join_nodes(channel, tree);
    else
        join_range(at_place(0, false), 0, size, tree);
    for (uint32_t m = 0; m < c.n && c.r.kind != RLT_BROADCAST; m++)
        climb(m);
    for (uint32_t m = 0; m < c.n && c.r.kind != RLT_REDUCE; m++)
        descend(m);
}

static void one_case(uint32_t number)
{
    static const rlt_coll_kind kinds[] = {RLT_ALL_REDUCE, RLT_ALL_REDUCE, RLT_BROADCAST,
                                          RLT_REDUCE,     RLT_GATHER,     RLT_SCATTER};
    dice d = {.seed = number};
    rlt_plan plan;
    rlt_error err = {0};
    memset(&c, 0, sizeof c);
    c.r.kind = kinds[below(&d, 6)];
    c.n = 1 + below(&d, PLAIN_MEMBERS);
    if (below(&d, 2)) { /* nodes */
        c.r.node = 1 + below(&d, 5);
        c.n = c.r.node * (1 + below(&d, PLAIN_MEMBERS / c.r.node));
    }
    c.r.n = c.n;
    c.r.root = below(&d, c.n);
    c.r.bytes = roll(&d, below(&d, 2) ? 60 : 100000);
    bool halves = c.r.kind == RLT_GATHER || c.r.kind == RLT_SCATTER;
    plain_draw_counts(&d, &rlt_tree, &c.r, counts, c.n);
    bool over = c.r.kind == RLT_ALL_REDUCE && c.r.node > 1 && c.r.node < c.n;
    c.r.params.channels = below(&d, 3);
    c.chunks = c.r.params.chunks = 1 + below(&d, 2);
    c.channels = c.r.params.channels ? c.r.params.channels : over ? c.r.node : 1;
    plain_clear(&plain, c.n, c.channels * c.chunks * (halves ? 1 : 2));
    for (c.lane = 0; c.lane < plain.lanes && c.n > 1; c.lane++)
        plain_lane();
    if (rlt_plan_create(&rlt_tree, &c.r, &plan, &err))
        fail_msg("%s: %s", err.where, err.what);
    plain_compare(&plain, &plan);
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
