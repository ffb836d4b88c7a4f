/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Laws of the steps of plans: steps wait for the messages that come, and name the right sender; chunks enter the
 * phases of a hierarchical collective one after another; a group without dimensions has one; the lanes of each
 * algorithm by default; dimensions of unknown bandwidth.
 */
#include <stdio.h>

#include "collectives/algorithm.h"
#include "collectives/algorithms/grid.h"
#include "collectives/algorithms/schedule.h"
#include "collectives/collective.h"
#include "collectives/plan.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"

enum { MOST_STEPS = 1 << 16 };

static rlt_plan plan_of(const rlt_algorithm *a, const rlt_coll_request *req)
{
    rlt_plan plan;
    rlt_error err = {0};
    if (rlt_plan_create(a, req, &plan, &err))
        fail_msg("%s, %s: %s: %s", a->name, rlt_coll_name(req->kind), err.where, err.what);
    return plan;
}

static rlt_step step_of(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k)
{
    rlt_step s;
    rlt_step_clear(&s);
    plan->algorithm->step(plan, member, lane, k, &s);
    return s;
}

/* ---- senders ---- */

typedef struct arrivals {
    uint32_t n, sender;
} arrivals;

/* Number of a step of a lane of a member, among all. */
static uint32_t place(const rlt_plan *plan, uint32_t most, uint32_t member, uint32_t lane, uint32_t k)
{
    return (member * plan->lanes + lane) * most + k;
}

static void check_senders(const rlt_plan *plan)
{
    uint32_t most = 0, n = plan->req.n;
    for (uint32_t m = 0; m < n; m++)
        for (uint32_t l = 0; l < plan->lanes; l++) {
            uint32_t steps = plan->algorithm->steps(plan, m, l);
            most = steps > most ? steps : most;
        }
    assert_true((uint64_t)n * plan->lanes * most < MOST_STEPS);
    arrivals *at = calloc((size_t)n * plan->lanes * most + 1, sizeof *at);
    assert_non_null(at);
    for (uint32_t m = 0; m < n; m++)
        for (uint32_t l = 0; l < plan->lanes; l++)
            for (uint32_t k = 0; k < plan->algorithm->steps(plan, m, l); k++) {
                rlt_step s = step_of(plan, m, l, k);
                if (s.send_to == RLT_NONE || s.copy)
                    continue;
                arrivals *to =
                    &at[place(plan, most, s.send_to, (l + s.peer_shift) % plan->lanes, s.peer_step)];
                to->n++;
                to->sender = m;
            }
    for (uint32_t m = 0; m < n; m++)
        for (uint32_t l = 0; l < plan->lanes; l++)
            for (uint32_t k = 0; k < plan->algorithm->steps(plan, m, l); k++) {
                rlt_step s = step_of(plan, m, l, k);
                const arrivals *came = &at[place(plan, most, m, l, k)];
                uint32_t sender = came->n == 1 ? came->sender : RLT_NONE;
                bool named = (plan->req.kind == RLT_BROADCAST || plan->req.kind == RLT_SCATTER) &&
                             strcmp(plan->algorithm->name, "ps") != 0;
                if (s.recv_count != came->n || (s.recv_from != sender && (named || s.recv_from != RLT_NONE)))
                    fail_msg(
                        "%s, %s among %u, member %u, lane %u, step %u: %u messages from %u, not %u from %u",
                        plan->algorithm->name, rlt_coll_name(plan->req.kind), n, m, l, k, s.recv_count,
                        s.recv_from, came->n, sender);
            }
    free(at);
}

static void senders_are_named(void **state)
{
    dice r = {.seed = 1};
    uint32_t plans = 0;
    (void)state;
    for (uint32_t i = 0; i < 4000; i++) {
        static const uint32_t grids[][4] = {{2}, {3}, {4}, {5}, {8}, {2, 3}, {4, 2}, {2, 2, 3}, {3, 4}};
        const rlt_algorithm *a = rlt_algorithm_at(i % 32);
        rlt_plan plan;
        rlt_error err = {0};
        rlt_coll_request req = test_grid_request(
            grids[below(&r, 9)], (rlt_coll_kind)below(&r, RLT_COLL_KINDS), 1000 * below(&r, 3));
        req.root = below(&r, req.n);
        req.params.window = below(&r, 4);
        req.params.chunks = below(&r, 3);
        req.params.channels = below(&r, 3);
        if (!a || !(a->kinds >> req.kind & 1) || rlt_plan_create(a, &req, &plan, &err))
            continue;
        if (!plan.reduces && !plan.multicasts)
            check_senders(&plan);
        plans++;
        rlt_plan_free(&plan);
    }
    assert_true(plans > 500);
}

/* ---- phases ---- */

/* The dimension in which a step communicates; RLT_NONE: none. */
static uint32_t dimension(const rlt_plan *plan, uint32_t member, const rlt_step *s)
{
    uint32_t peer = s->send_to != RLT_NONE ? s->send_to : s->recv_from, stride = 1;
    for (uint32_t d = 0; peer != RLT_NONE && d < plan->req.n_dims; stride *= plan->req.dims[d++])
        if (member / stride % plan->req.dims[d] != peer / stride % plan->req.dims[d])
            return d;
    return RLT_NONE;
}

/* From the root down, the first step of a phase waits for the last one of the same phase of the chunk before, and no other waits. */
static void check_order(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    uint32_t n = plan->algorithm->steps(plan, member, lane), chunk = lane % plan->chunks;
    for (uint32_t k = 0, last; k < n; k = last + 1) {
        rlt_step s = step_of(plan, member, lane, k), next;
        uint32_t d = dimension(plan, member, &s);
        for (last = k; last + 1 < n; last++) {
            next = step_of(plan, member, lane, last + 1);
            if (dimension(plan, member, &next) != d)
                break;
            assert_int_equal(next.wait_lane, RLT_NONE);
        }
        uint32_t before = chunk ? lane - 1 : RLT_NONE;
        if (s.wait_lane != before || (chunk && s.wait_step != last))
            fail_msg(
                "%s of %u dims, member %u, root %u, lane %u, step %u: waits for step %u of lane %u, not %u of %u",
                rlt_coll_name(plan->req.kind), plan->req.n_dims, member, plan->req.root, lane, k, s.wait_step,
                s.wait_lane, last, before);
    }
}

static void chunks_follow(void **state)
{
    static const rlt_coll_kind kinds[] = {RLT_BROADCAST, RLT_SCATTER};
    static const uint32_t grids[][4] = {{4}, {2, 3}, {4, 2}, {2, 2, 3}, {3, 4}};
    (void)state;
    for (uint32_t i = 0; i < 5 * 2 * 12; i++) {
        rlt_coll_request req = test_grid_request(grids[i % 5], kinds[i / 5 % 2], 4800);
        req.root = i % req.n;
        req.params.chunks = 1 + i % 3;
        req.params.channels = 1 + i % 2;
        rlt_plan plan = plan_of(&rlt_hierarchical, &req);
        for (uint32_t m = 0; m < req.n; m++)
            for (uint32_t l = 0; l < plan.lanes; l++)
                check_order(&plan, m, l);
        rlt_plan_free(&plan);
    }
}

static void same_steps(const rlt_plan *a, const rlt_plan *b)
{
    assert_int_equal(a->lanes, b->lanes);
    for (uint32_t m = 0; m < a->req.n; m++)
        for (uint32_t l = 0; l < a->lanes; l++) {
            uint32_t n = a->algorithm->steps(a, m, l);
            assert_int_equal(n, b->algorithm->steps(b, m, l));
            for (uint32_t k = 0; k < n; k++) {
                rlt_step x = step_of(a, m, l, k), y = step_of(b, m, l, k);
                assert_true(x.send_to == y.send_to && x.peer_step == y.peer_step &&
                            x.send_bytes == y.send_bytes && x.recv_from == y.recv_from &&
                            x.recv_count == y.recv_count && x.nowait == y.nowait && x.reduce == y.reduce);
            }
        }
}

/* A request that names no dimensions is a request with one, and takes the first pattern. */
static void one_dimension(void **state)
{
    static const char *const patterns[] = {"ring", "direct", "halving_doubling", "recursive_doubling"};
    static const uint32_t grid[] = {8, 0};
    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        rlt_coll_request with = test_grid_request(grid, RLT_ALL_REDUCE, 8000), without = with;
        without.n_dims = 0;
        with.params.patterns[0] = without.params.patterns[0] = patterns[i];
        rlt_plan a = plan_of(&rlt_hierarchical, &with), b = plan_of(&rlt_hierarchical, &without);
        same_steps(&a, &b);
        rlt_plan_free(&a);
        rlt_plan_free(&b);
    }
}

/* ---- defaults ---- */

/* Two directions where a dimension is a ring of more than two members; 4 chunks over several dimensions, 64 by
 * a schedule; pieces of 512 KiB, at most 256, where every member gets or gives the whole. */
static void hierarchical_lanes(void **state)
{
    static const char *const shapes[] = {"ring", "switch", "fully-connected"};
    dice r = {.seed = 2};
    (void)state;
    for (uint32_t i = 0; i < 2000; i++) {
        uint32_t grid[4] = {2 + below(&r, 4), below(&r, 2) * (2 + below(&r, 3)), 0};
        rlt_coll_kind kind = (rlt_coll_kind)below(&r, RLT_COLL_KINDS);
        rlt_coll_request req = test_grid_request(grid, kind, (uint64_t)below(&r, 400) << 18);
        bool ring = false, tree = kind == RLT_BROADCAST || kind == RLT_REDUCE;
        for (uint32_t d = 0; d < req.n_dims; d++) {
            req.shapes[d] = shapes[below(&r, 3)];
            req.axes[d] = RLT_NONE;
            ring |= strcmp(req.shapes[d], "ring") == 0 && req.dims[d] > 2;
        }
        req.params.schedule = below(&r, 2) ? RLT_THEMIS : RLT_PIPELINE;
        req.params.channels = below(&r, 3);
        if (!(rlt_hierarchical.kinds >> kind & 1))
            continue;
        bool scheduled = req.params.schedule == RLT_THEMIS && !rlt_coll_rooted(kind);
        uint32_t channels = req.params.channels ? req.params.channels : 1,
                 directions = ring && kind != RLT_BARRIER ? 2 : 1, ways = channels * directions,
                 chunks = req.n_dims > 1 && kind != RLT_BARRIER ? (scheduled ? 64 : 4) : 1;
        uint64_t pieces = req.bytes / ways / (512 << 10);
        pieces = pieces > 256 ? 256 : pieces;
        chunks = tree && pieces > chunks ? (uint32_t)pieces : chunks;
        rlt_plan plan = plan_of(&rlt_hierarchical, &req);
        if (plan.channels != channels || plan.directions != directions || plan.chunks != chunks ||
            plan.lanes != ways * chunks)
            fail_msg("case %u, %s of %u dims: %u channels, %u directions, %u chunks; expected %u, %u, %u", i,
                     rlt_coll_name(kind), req.n_dims, plan.channels, plan.directions, plan.chunks, channels,
                     directions, chunks);
        rlt_plan_free(&plan);
    }
}

/* A member's slice of each of the two trees, in pieces of 1 MiB; of 512 KiB from four nodes on. */
static void nvls_tree_lanes(void **state)
{
    static const struct {
        const char *network;
        uint64_t bytes;
        uint32_t chunks;
    } cases[] = {{"switch:4@100GB/s,0ns,in_network=reduce+multicast*switch:3@10GB/s,0ns", 64 << 20, 8},
                 {"switch:4@100GB/s,0ns,in_network=reduce+multicast*switch:4@10GB/s,0ns", 64 << 20, 16},
                 {"switch:4@100GB/s,0ns,in_network=reduce+multicast*switch:2@10GB/s,0ns", 7 << 20, 1},
                 {"switch:4@100GB/s,0ns,in_network=reduce+multicast*switch:5@10GB/s,0ns", 8 << 20, 2}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_group g;
        test_group_open(&g, cases[i].network, 0);
        rlt_coll_request req = rlt_group_request(&g.g, RLT_ALL_REDUCE, cases[i].bytes);
        rlt_plan plan = plan_of(&rlt_nvls_tree, &req);
        assert_int_equal(plan.chunks, cases[i].chunks);
        assert_int_equal(plan.lanes, 2 * cases[i].chunks);
        rlt_plan_free(&plan);
        test_group_close(&g);
    }
}

/* A dimension of unknown bandwidth counts as the slowest of the known ones. */
static void unknown_bandwidth(void **state)
{
    static const uint32_t grid[] = {4, 2, 4, 0};
    static const uint64_t rates[][2][3] = {
        {{10, 0, 5}, {10, 5, 5}}, {{0, 7, 0}, {7, 7, 7}}, {{0, 3, 9}, {3, 3, 9}}, {{0, 0, 0}, {1, 1, 1}}};
    (void)state;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        uint8_t orders[2][64][RLT_GRID_DIMS] = {{{0}}};
        rlt_coll_request req = test_grid_request(grid, RLT_ALL_REDUCE, 64 << 20);
        req.params.schedule = RLT_THEMIS;
        for (uint32_t d = 0; d < req.n_dims; d++)
            req.axes[d] = RLT_NONE;
        rlt_plan plan = plan_of(&rlt_hierarchical, &req);
        for (uint32_t k = 0; k < 2; k++) {
            rlt_grid g = *(const rlt_grid *)plan.data;
            for (uint32_t d = 0; d < g.n_dims; d++)
                g.dims[d].bw_Bps = rates[i][k][d] * 1000000000;
            rlt_schedule_orders(&plan, &g, orders[k]);
        }
        assert_memory_equal(orders[0], orders[1], sizeof orders[0]);
        rlt_plan_free(&plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(senders_are_named), cmocka_unit_test(chunks_follow),
        cmocka_unit_test(one_dimension),     cmocka_unit_test(hierarchical_lanes),
        cmocka_unit_test(nvls_tree_lanes),   cmocka_unit_test(unknown_bandwidth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
