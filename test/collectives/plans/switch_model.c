/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * collnet and nvls_tree against plain plans, written from the stages at the head of their files: random nodes, lanes,
 * windows and switches, every field of every step, and the members that the network's verbs reach. Chunks by hand.
 */
#include <stdio.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/nodes/double_tree.h"
#include "collectives/plan.h"
#include "net/import/import.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/plain_plan.h"
#include "test/support/support.h"

enum { CASES = 1200, WINDOW = 8 };

static plain_plan plain;

static struct {
    rlt_coll_kind kind;
    uint64_t bytes;
    uint32_t n, g, nodes, chunks, window, blocks, lane;
    bool switched;
    uint8_t result;
    uint32_t between_first, between_last; /* steps of the verbs that reach the heads of one number */
} c;

static uint64_t size_of(rlt_blocks span)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < span.reps; i++)
        sum += plain_cut(plain_cut(c.bytes, c.blocks, span.first + i * span.stride), plain.lanes, c.lane);
    return sum;
}

/* The slice of the heads of a number: a block of an all-reduce, else the shares of all members of that number. */
static rlt_blocks slice(uint32_t number)
{
    if (c.blocks == c.g)
        return plain_run(number, 1);
    return (rlt_blocks){.first = number, .run = 1, .stride = c.g, .reps = c.nodes};
}

static void carry(rlt_step *s, rlt_blocks span, uint32_t from, uint32_t to)
{
    s->send = s->land = span;
    s->send_bytes = size_of(span);
    s->send_buffer = (uint8_t)from;
    s->land_buffer = (uint8_t)to;
}

/* The chunk so many before must have gone past its step. */
static void follow(rlt_step *s, uint32_t back, uint32_t step)
{
    if (c.lane % c.chunks < back)
        return;
    s->wait_lane = c.lane - back;
    s->wait_step = step;
}

static rlt_step *verb(uint32_t member, uint32_t k, rlt_verb v, uint32_t to, uint32_t heard)
{
    rlt_step *s = plain_step(&plain, member, c.lane, k);
    s->verb = (uint8_t)v;
    s->send_to = to;
    s->peer_step = heard;
    return s;
}

static void hears(uint32_t member, uint32_t k, uint32_t count)
{
    rlt_step *s = plain_step(&plain, member, c.lane, k);
    s->recv_count = count;
    s->recv_from = RLT_NONE;
}

/* A message from each member of a node to each other one, from step k on; all are heard in step k + g - 1. */
static void exchange(uint32_t m, uint32_t k, bool back)
{
    for (uint32_t j = 1; j < c.g; j++) {
        uint32_t to = m / c.g * c.g + (m + j) % c.g;
        rlt_step *s = plain_message(&plain, c.lane, m, k + j - 1, to, k + c.g - 1);
        carry(s, slice(back ? m % c.g : to % c.g), back ? c.result : 0, back ? c.result : 0);
        s->reduce = !back;
        s->nowait = j < c.g - 1;
        if (j == 1)
            follow(s, 1, k + c.g - 2);
    }
}

static uint32_t fetches(uint32_t m, uint32_t to_buffer)
{
    rlt_step *s = verb(m, 0, RLT_VERB_REDUCE, m, 1);
    carry(s, slice(m % c.g), 0, to_buffer);
    follow(s, 1, 0);
    hears(m, 1, 1);
    return 2;
}

static void stores(uint32_t m, uint32_t k)
{
    carry(verb(m, k, RLT_VERB_MULTICAST, c.n, k), slice(m % c.g), c.result, c.result);
    hears(m, k, c.g);
}

static uint32_t issuer_of(uint32_t m, uint32_t lane)
{
    return lane % c.nodes * c.g + m % c.g;
}

/* Step in which a member gets its share of a reduce-scatter, whose verbs begin in step k. */
static uint32_t share_comes(uint32_t m, uint32_t lane, uint32_t k)
{
    return issuer_of(m, lane) == m ? k + c.nodes : k;
}

static void add_shares(uint32_t m, uint32_t k)
{
    for (uint32_t v = 0; v < c.nodes && issuer_of(m, c.lane) == m; v++) {
        uint32_t to = v * c.g + m % c.g;
        rlt_step *s = verb(m, k + v, RLT_VERB_REDUCE, to, share_comes(to, c.lane, k));
        carry(s, plain_run(to, 1), c.result - 1u, c.result);
        s->nowait = v + 1 < c.nodes;
        if (v == 0 && c.lane % c.chunks >= c.window)
            follow(s, c.window, share_comes(m, c.lane - c.window, k));
    }
    hears(m, share_comes(m, c.lane, k), 1);
    c.between_last = k + c.nodes;
}

static void over_nodes(uint32_t m, uint32_t k)
{
    c.between_last = k;
    if (c.kind == RLT_ALL_GATHER) {
        carry(verb(m, k, RLT_VERB_MULTICAST, c.n, k), plain_run(m, 1), 0, 0);
        follow(plain_step(&plain, m, c.lane, k), c.window, k);
        hears(m, k, c.nodes);
    } else if (c.kind == RLT_REDUCE_SCATTER) {
        add_shares(m, k);
    } else {
        if (issuer_of(m, c.lane) == m) {
            carry(verb(m, k, RLT_VERB_REDUCE_ALL, c.n, k), slice(m % c.g), c.result - 1u, c.result);
            follow(plain_step(&plain, m, c.lane, k), c.window, k);
        }
        hears(m, k, 1);
    }
}

static void plain_collnet(void)
{
    uint32_t k = 0;
    for (uint32_t m = 0; m < c.n && c.kind != RLT_ALL_GATHER; m++) {
        if (c.switched)
            fetches(m, 1);
        else
            exchange(m, 0, false);
    }
    if (c.kind != RLT_ALL_GATHER) {
        k = c.switched ? 2 : c.g;
        for (uint32_t m = 0; m < c.n; m++) {
            uint32_t to = issuer_of(m, c.lane);
            if (to != m)
                plain_message(&plain, c.lane, m, k, to, k);
        }
        for (uint32_t i = 0; i < c.g; i++)
            hears(issuer_of(i, c.lane), k, c.nodes - 1);
        k++;
    }
    c.between_first = k;
    for (uint32_t m = 0; m < c.n; m++)
        over_nodes(m, k);
    for (uint32_t m = 0; m < c.n && c.kind != RLT_REDUCE_SCATTER; m++) {
        if (c.switched)
            stores(m, k + 1);
        else
            exchange(m, k + 1, true);
    }
    for (uint32_t m = 0; m < c.n && !c.switched && c.g == 2; m++) /* a step that waits for all names nobody */
        for (uint32_t j = 0; j < plain.steps[m][c.lane]; j++)
            plain_step(&plain, m, c.lane, j)->recv_from = RLT_NONE;
}

static void plain_tree(void)
{
    uint32_t tree = c.lane / c.chunks % 2;
    for (uint32_t m = 0; m < c.n; m++) {
        rlt_tree_place t = rlt_double_tree(c.nodes, m / c.g, tree);
        uint32_t k = fetches(m, 1);
        k += t.n_children > 0;
        if (t.parent != RLT_NONE) {
            rlt_step *s = plain_message(&plain, c.lane, m, k, t.parent * c.g + m % c.g, 2);
            carry(s, slice(m % c.g), 1, 1);
            s->reduce = 1;
            follow(s, 1, k);
            k += 2;
        }
        for (uint32_t i = 0; i < t.n_children; i++) {
            rlt_tree_place below = rlt_double_tree(c.nodes, t.children[i], tree);
            rlt_step *s = plain_message(&plain, c.lane, m, k + i, t.children[i] * c.g + m % c.g,
                                        below.n_children ? 4 : 3);
            carry(s, slice(m % c.g), 1, 1);
            s->nowait = i + 1 < t.n_children;
            if (i == 0)
                follow(s, 1, k + t.n_children - 1);
        }
        stores(m, k + t.n_children);
    }
    for (uint32_t m = 0; m < c.n; m++)
        for (uint32_t k = 0; k < plain.steps[m][c.lane]; k++)
            plain_step(&plain, m, c.lane, k)->recv_from = RLT_NONE;
}

static void reaches(const rlt_plan *plan, uint32_t m, bool tree)
{
    for (uint32_t k = 0; k < plain.steps[m][c.lane]; k++) {
        rlt_reach r = rlt_reach_of(plan, m, c.lane, k);
        uint8_t v = plain.at[m][c.lane][k].verb;
        bool heads = !tree && k >= c.between_first && k <= c.between_last;
        if (v == RLT_VERB_SEND)
            continue;
        assert_int_equal(r.first, heads ? m % c.g : m / c.g * c.g);
        assert_int_equal(r.stride, heads ? c.g : 1);
        assert_int_equal(r.n, heads ? c.nodes : c.g);
    }
}

static void draw(dice *d, bool tree)
{
    static const rlt_coll_kind kinds[] = {RLT_ALL_REDUCE, RLT_ALL_GATHER, RLT_REDUCE_SCATTER};
    c.g = 2 + below(d, 4);
    c.nodes = 2 + below(d, PLAIN_MEMBERS / c.g - 1);
    c.n = c.g * c.nodes;
    c.kind = tree ? RLT_ALL_REDUCE : kinds[below(d, 3)];
    c.switched = tree || below(d, 2);
    c.bytes = roll(d, below(d, 2) ? 50 : 100000);
    c.blocks = c.kind == RLT_ALL_REDUCE ? c.g : c.n;
    c.result = tree ? 1 : c.kind == RLT_ALL_GATHER ? 0 : c.switched ? 2 : 1;
}

static void one_case(uint32_t number)
{
    dice d = {.seed = number};
    test_group s;
    rlt_plan plan;
    rlt_error err = {0};
    char net[200];
    memset(&c, 0, sizeof c);
    bool tree = below(&d, 3) == 0;
    draw(&d, tree);
    static const char *const needs[] = {[RLT_ALL_REDUCE] = "reduce+multicast",
                                        [RLT_ALL_GATHER] = "multicast",
                                        [RLT_REDUCE_SCATTER] = "reduce"};
    const char *can = needs[c.kind];
    snprintf(net, sizeof net, "switch:%u@100GB/s,500ns%s%s*switch:%u@10GB/s,1us,in_network=%s", c.g,
             c.switched ? ",in_network=" : "", c.switched ? can : "", c.nodes, can);
    test_group_open(&s, net, 0);
    rlt_coll_request r = rlt_group_request(&s.g, c.kind, c.bytes);
    r.params.channels = below(&d, 3);
    r.params.chunks = below(&d, 6);
    c.chunks = r.params.chunks ? r.params.chunks : 1;
    if (!tree)
        r.params.window = below(&d, 4);
    c.window = r.params.window ? r.params.window : WINDOW;
    plain_clear(&plain, c.n, (r.params.channels == 2 ? 2u : 1u) * (tree ? 2u : 1u) * c.chunks);
    if (plain.lanes <= PLAIN_LANES) {
        if (rlt_plan_create(tree ? &rlt_nvls_tree : &rlt_collnet, &r, &plan, &err))
            fail_msg("%s: %s", err.where, err.what);
        for (c.lane = 0; c.lane < plain.lanes; c.lane++) {
            (tree ? plain_tree : plain_collnet)();
            for (uint32_t m = 0; m < c.n; m++)
                reaches(&plan, m, tree);
        }
        plain_compare(&plain, &plan);
        assert_int_equal(plan.result, c.result);
        assert_int_equal(plan.buffers, c.result + 1);
        rlt_plan_free(&plan);
    }
    test_group_close(&s);
}

static void as_stated(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < CASES; i++)
        one_case(i);
}

/* A head's slice in pieces: of 128 KiB for collnet; for nvls_tree, half a slice in each tree, of 1 MiB, and of 512 KiB
 * from four nodes on. At most 256. */
static void usual_chunks(void **state)
{
    static const struct {
        const rlt_algorithm *a;
        uint32_t nodes, channels;
        uint64_t slice_kib;
        uint32_t chunks;
    } rows[] = {
        {&rlt_collnet, 2, 1, 128 * 7, 7},
        {&rlt_collnet, 5, 2, 256 * 7 - 1, 6},
        {&rlt_collnet, 2, 1, 128 * 255, 255},
        {&rlt_collnet, 2, 1, 128 * 257, 256},
        {&rlt_collnet, 2, 1, 1, 1},
        {&rlt_nvls_tree, 2, 1, 2048 * 7, 7},
        {&rlt_nvls_tree, 3, 1, 2048 * 7 - 1, 6},
        {&rlt_nvls_tree, 3, 2, 4096 * 7, 7},
        {&rlt_nvls_tree, 4, 1, 1024 * 7, 7},
        {&rlt_nvls_tree, 5, 1, 1024 * 7 - 1, 6},
        {&rlt_nvls_tree, 2, 1, 2048 * 255, 255},
        {&rlt_nvls_tree, 2, 1, 2048 * 257, 256},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_coll_request r = {.kind = RLT_ALL_REDUCE,
                              .n = 4 * rows[i].nodes,
                              .node = 4,
                              .bytes = (rows[i].slice_kib << 10) * 4,
                              .params.channels = rows[i].channels};
        rlt_plan plan;
        rlt_error err = {0};
        if (rlt_plan_create(rows[i].a, &r, &plan, &err) || plan.chunks != rows[i].chunks)
            fail_msg("row %zu: %u chunks; %s", i, plan.chunks, err.what);
        rlt_plan_free(&plan);
    }
}

/* nvls serves members that differ in one dimension of a product, whatever their number there. */
static void one_switch(void **state)
{
    static const struct {
        uint32_t ranks[4], n, dims;
    } rows[] = {{{0, 1, 2, 3}, 4, 1}, {{1, 3}, 2, 1},    {{0, 4}, 2, 1},       {{2, 6}, 2, 1},
                {{0, 5}, 2, 2},       {{0, 1, 6}, 3, 2}, {{0, 1, 4, 5}, 4, 2}, {{7, 4, 5}, 3, 1}};
    rlt_topology *t = NULL;
    rlt_placement p = {0};
    rlt_error err = {0};
    (void)state;
    assert_int_equal(rlt_topology_load("switch:4@100GB/s,500ns,in_network=reduce+multicast*"
                                       "switch:2@10GB/s,1us,in_network=reduce+multicast",
                                       NULL, &t, &err),
                     0);
    assert_int_equal(rlt_placement_identity(t, 8, &p, &err), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_group g;
        rlt_plan plan;
        rlt_error why = {0};
        char text[100];
        assert_int_equal(rlt_group_create(t, &p, rows[i].ranks, rows[i].n, &g, &err), 0);
        rlt_coll_request r = rlt_group_request(&g, RLT_ALL_REDUCE, 1200);
        int rc = rlt_plan_create(&rlt_nvls, &r, &plan, &why);
        snprintf(text, sizeof text, "they span %u dimensions of", rows[i].dims);
        if (rc != (rows[i].dims > 1 ? RLT_EUNSUPPORTED : 0) || (rc && !strstr(why.what, text)))
            fail_msg("row %zu: %s", i, why.what);
        if (!rc)
            rlt_plan_free(&plan);
        rlt_group_free(&g);
    }
    rlt_placement_free(&p);
    rlt_topology_free(t);
}

/* A group of `n` along dimension `dim` of a product of two switches. */
static void fetched(dice *d, uint32_t n, uint32_t dim)
{
    static const uint32_t rates[] = {1, 4, 5, 20, 50, 100, 250};
    uint32_t sizes[2] = {2 + below(d, 4), 2 + below(d, 4)}, GBps[2], ns[2], ranks[8];
    rlt_topology *t = NULL;
    rlt_placement p = {0};
    rlt_group g;
    rlt_plan plan;
    rlt_error err = {0};
    char net[200];
    sizes[dim] = n;
    for (uint32_t i = 0; i < 2; i++) {
        GBps[i] = rates[below(d, 7)];
        ns[i] = 1 + below(d, 900);
    }
    for (uint32_t i = 0, other = below(d, sizes[1 - dim]); i < n; i++)
        ranks[i] = dim ? i * sizes[0] + other : other * sizes[0] + i;
    snprintf(
        net, sizeof net,
        "switch:%u@%uGB/s,%uns,in_network=reduce+multicast*switch:%u@%uGB/s,%uns,in_network=reduce+multicast",
        sizes[0], GBps[0], ns[0], sizes[1], GBps[1], ns[1]);
    assert_int_equal(rlt_topology_load(net, NULL, &t, &err), 0);
    assert_int_equal(rlt_placement_identity(t, sizes[0] * sizes[1], &p, &err), 0);
    assert_int_equal(rlt_group_create(t, &p, ranks, n, &g, &err), 0);
    uint64_t channels = 1 + below(d, 3), share = 1 + roll(d, below(d, 2) ? 3000 : 1000000);
    if (n == 2 && below(d, 2)) /* as many crossings exactly */
        share = (uint64_t)(1 + below(d, 8)) * 2 * ns[dim] * GBps[dim];
    uint64_t fetch_ps = (2 * share * (n - 1) * 1000 + GBps[dim]) / (2 * GBps[dim]),
             crossing_ps = UINT64_C(2000) * ns[dim], chunks = 1;
    rlt_coll_request r = rlt_group_request(&g, RLT_ALL_REDUCE, share * channels * n);
    r.params.channels = (uint32_t)channels;
    while (chunks < 512 && fetch_ps >= crossing_ps * chunks)
        chunks++;
    if (rlt_plan_create(&rlt_nvls, &r, &plan, &err) || plan.chunks != chunks)
        fail_msg("%s, %llu B to %u: %u chunks, expected %u; %s", net, (unsigned long long)r.bytes, n,
                 plan.chunks, (unsigned)chunks, err.what);
    rlt_plan_free(&plan);
    rlt_group_free(&g);
    rlt_placement_free(&p);
    rlt_topology_free(t);
}

/* Chunks of nvls: as few as let the first fetch take less than a crossing of its switch, 512 at most. */
static void first_fetches(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 400; i++) {
        dice d = {.seed = i};
        uint32_t n = 2 + below(&d, 7);
        fetched(&d, n, below(&d, 2));
    }
}

/* A member alone does nothing, whatever its network cannot do. */
static void alone(void **state)
{
    (void)state;
    for (uint32_t nodes = 0; nodes < 2; nodes++) {
        rlt_coll_request r = {.kind = RLT_ALL_REDUCE, .n = 1, .node = nodes, .bytes = 100};
        rlt_plan plan;
        rlt_error err = {0};
        assert_int_equal(rlt_plan_create(&rlt_nvls_tree, &r, &plan, &err), 0);
        assert_false(plan.reduces || plan.multicasts || plan.result);
        assert_int_equal(plan.chunks, 1);
        for (uint32_t lane = 0; lane < plan.lanes; lane++)
            assert_int_equal(plan.algorithm->steps(&plan, 0, lane), 0);
        rlt_plan_free(&plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_stated), cmocka_unit_test(usual_chunks),
                                       cmocka_unit_test(one_switch), cmocka_unit_test(first_fetches),
                                       cmocka_unit_test(alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
