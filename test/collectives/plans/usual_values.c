/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Channels, directions and chunks that algorithms take when a request leaves them open, against what their
 * parameters' help promises: random kinds, grids and bytes, many of them at whole numbers of pieces. Levels of
 * two_level and rail by hand; a group without dimensions has one.
 */
#include "collectives/algorithm.h"
#include "collectives/check/checker.h"
#include "collectives/collective.h"
#include "collectives/plan.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"

enum { CASES = 4000, DIMS = 3, LANES = 4096 };

typedef struct values {
    uint32_t channels, directions, chunks;
} values;

static const uint64_t piece = (uint64_t)512 << 10;

static uint32_t within(uint64_t x, uint64_t low, uint64_t high)
{
    return (uint32_t)(x < low ? low : x > high ? high : x);
}

static bool is_chain(rlt_coll_kind kind)
{
    return kind == RLT_BROADCAST || kind == RLT_REDUCE;
}

static uint32_t real_dims(const rlt_coll_request *r)
{
    uint32_t many = 0;
    for (uint32_t d = 0; d < r->n_dims; d++)
        many += r->dims[d] > 1;
    return many;
}

/* Two directions round a ring or torus of more than two. */
static uint32_t ways_round(const rlt_coll_request *r)
{
    for (uint32_t d = 0; d < r->n_dims; d++)
        if (r->dims[d] > 2 && (strcmp(r->shapes[d], "ring") == 0 || strcmp(r->shapes[d], "torus") == 0))
            return 2;
    return 1;
}

static values of_hierarchical(const rlt_coll_request *r, uint32_t channels)
{
    values v = {channels, r->kind == RLT_BARRIER ? 1 : ways_round(r), 1};
    bool scheduled = r->params.schedule != RLT_PIPELINE && !rlt_coll_rooted(r->kind);
    uint32_t lanes = v.channels * v.directions;
    if (real_dims(r) > 1 && r->kind != RLT_BARRIER)
        v.chunks = scheduled ? 64 : 4;
    if (is_chain(r->kind))
        v.chunks =
            within(within(r->bytes / lanes / piece, 0, within(LANES / lanes, 0, 256)), v.chunks, LANES);
    return v;
}

static values expected(const rlt_algorithm *a, const rlt_coll_request *r)
{
    uint32_t channels = r->params.channels ? r->params.channels : 1;
    values v = {channels, 1, 1};
    if (a == &rlt_hierarchical)
        return of_hierarchical(r, channels);
    if (a == &rlt_torus) {
        v.channels = r->params.channels ? channels : within(real_dims(r), 1, DIMS);
        v.directions = ways_round(r);
    }
    if (a == &rlt_tree && (is_chain(r->kind) || r->kind == RLT_ALL_REDUCE)) {
        v.directions = 2; /* two trees */
        v.chunks = within(r->bytes / (2 * channels) / piece, 1, within(LANES / (2 * channels), 1, 256));
    }
    if (a == &rlt_pat)
        v.chunks = within(r->bytes / r->n / channels / piece, 1, channels > LANES / 64 ? 1 : 64);
    if (a == &rlt_ring && is_chain(r->kind)) /* the last piece may be smaller */
        v.chunks = within((r->bytes / channels + piece - 1) / piece, 1, 1 << 16);
    return v;
}

static void draw_request(dice *d, const rlt_algorithm *a, rlt_coll_request *r)
{
    static const char *const shapes[] = {"ring", "switch", "fully-connected", "torus"};
    *r = (rlt_coll_request){.n = 1, .n_dims = 1 + below(d, DIMS)};
    do
        r->kind = (rlt_coll_kind)below(d, RLT_COLL_KINDS);
    while (!(a->kinds >> r->kind & 1));
    for (uint32_t i = 0; i < r->n_dims; i++) {
        r->dims[i] = 1 + below(d, 4);
        r->shapes[i] = a == &rlt_ring ? "switch" : shapes[below(d, 4)];
        r->axes[i] = RLT_NONE;
        r->n *= r->dims[i];
    }
    static const uint32_t bounds[] = {7, 8, 9, 15, 16, 17, 63, 64, 65, 1024};
    r->params.channels = below(d, 2) ? 0 : below(d, 2) ? 1 + below(d, 40) : bounds[below(d, 10)];
    r->params.schedule = a == &rlt_hierarchical ? below(d, RLT_CHUNK_SCHEDULES) : 0;
    uint32_t channels = r->params.channels ? r->params.channels : 1;
    if (r->kind != RLT_BARRIER)
        r->bytes =
            piece * channels * (1 + below(d, 2)) * roll(d, below(d, 2) ? 8 : 600) * (below(d, 2) ? r->n : 1) +
            below(d, 3) - (r->kind > 0);
    if (r->bytes > (uint64_t)1 << 50)
        r->bytes = 0;
}

static void as_promised(void **state)
{
    static const rlt_algorithm *const list[] = {&rlt_hierarchical,
                                                &rlt_hierarchical,
                                                &rlt_torus,
                                                &rlt_tree,
                                                &rlt_pat,
                                                &rlt_ring,
                                                &rlt_direct,
                                                &rlt_bruck,
                                                &rlt_pairwise,
                                                &rlt_halving_doubling,
                                                &rlt_recursive_doubling,
                                                &rlt_parameter_server};
    dice d = {.seed = 5};
    (void)state;
    for (uint32_t i = 0; i < CASES; i++) {
        const rlt_algorithm *a = list[i % (sizeof list / sizeof *list)];
        rlt_coll_request r;
        rlt_plan plan;
        rlt_error err = {0};
        draw_request(&d, a, &r);
        values v = expected(a, &r);
        if (rlt_plan_create(a, &r, &plan, &err)) {
            if (v.channels * v.directions * v.chunks <= LANES)
                fail_msg("case %u: %s by %s: %s", i, rlt_coll_name(r.kind), a->name, err.what);
            continue;
        }
        if (plan.channels != v.channels || plan.directions != v.directions || plan.chunks != v.chunks)
            fail_msg(
                "case %u: %s by %s of %u, %llu bytes, %u channels asked: %u x %u x %u, expected %u x %u x %u",
                i, rlt_coll_name(r.kind), a->name, r.n, (unsigned long long)r.bytes, r.params.channels,
                plan.channels, plan.directions, plan.chunks, v.channels, v.directions, v.chunks);
        rlt_plan_free(&plan);
    }
}

static rlt_step step_of(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k)
{
    rlt_step s;
    rlt_step_clear(&s);
    plan->algorithm->step(plan, member, lane, k, &s);
    return s;
}

/* A node is the first dimension of several members, or what the request says if that is all. A member then sends to
 * the others of its node and to those of its number on other nodes. */
static void levels(void **state)
{
    static const struct {
        uint32_t dims[DIMS], n_dims, node, inner;
    } rows[] = {{{3, 4}, 2, 0, 3},  {{1, 3, 4}, 3, 0, 3}, {{3, 4}, 2, 6, 3},    {{12}, 1, 3, 3},
                {{1, 12}, 2, 4, 4}, {{2, 2, 3}, 3, 0, 2}, {{12}, 1, 2, 2},      {{12}, 1, 0, 0},
                {{12}, 1, 1, 0},    {{12}, 1, 12, 0},     {{1, 1, 12}, 3, 0, 0}};
    static const rlt_algorithm *const list[] = {&rlt_two_level, &rlt_rail};
    (void)state;
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        rlt_coll_request r = {.kind = RLT_ALL_TO_ALL, .n = 12, .bytes = 1200, .node = rows[i / 2].node};
        rlt_plan plan;
        rlt_error err = {0};
        bool met[12] = {false};
        uint32_t inner = rows[i / 2].inner;
        r.n_dims = rows[i / 2].n_dims;
        memcpy(r.dims, rows[i / 2].dims, sizeof rows[i / 2].dims);
        assert_int_equal(rlt_plan_create(list[i % 2], &r, &plan, &err), inner ? 0 : RLT_ETOPOLOGY);
        if (!inner)
            continue;
        for (uint32_t k = 0; k < plan.algorithm->steps(&plan, 0, 0); k++) {
            rlt_step s = step_of(&plan, 0, 0, k);
            if (s.send_to != RLT_NONE)
                met[s.send_to] = true;
        }
        for (uint32_t m = 1; m < 12; m++)
            assert_int_equal(met[m], m < inner || m % inner == 0);
        rlt_plan_free(&plan);
    }
}

/* One member, of whose place nothing is known: a plan without messages. */
static void alone(void **state)
{
    const rlt_algorithm *a;
    uint32_t done = 0;
    (void)state;
    for (uint32_t i = 0; (a = rlt_algorithm_at(i)); i++)
        for (uint32_t kind = 0; kind < RLT_COLL_KINDS; kind++) {
            rlt_coll_request r = {
                .kind = (rlt_coll_kind)kind, .n = 1, .bytes = kind == RLT_BARRIER ? 0 : 1000};
            rlt_plan plan;
            rlt_error err = {0};
            if (!(a->kinds >> kind & 1) || rlt_plan_create(a, &r, &plan, &err))
                continue;
            assert_true(plan.lanes > 0 && plan.blocks > 0 && plan.buffers > plan.result);
            for (uint32_t k = 0; k < a->steps(&plan, 0, 0); k++) {
                rlt_step s;
                rlt_step_clear(&s);
                a->step(&plan, 0, 0, k, &s);
                assert_true(s.send_to == RLT_NONE && s.recv_count == 0);
            }
            if (rlt_plan_check(&plan, &err))
                fail_msg("%s by %s: %s: %s", rlt_coll_name(r.kind), a->name, err.where, err.what);
            rlt_plan_free(&plan);
            done++;
        }
    print_message("%u plans\n", done);
    assert_true(done > 50);
}

/* A torus of the topology counts as its own dimensions, with a ring of each; members without a grid are one ring. */
static void tori(void **state)
{
    static const struct {
        const char *net;
        uint32_t rings;
    } rows[] = {{"torus:4x2@100GB/s,10ns", 2},
                {"torus:3x2x2@100GB/s,10ns", 3},
                {"torus:3x2@100GB/s,10ns*switch:2@10GB/s,10ns", 3},
                {"switch:6@100GB/s,10ns", 1}};
    rlt_error err = {0};
    rlt_plan plan;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        test_group s;
        test_group_open(&s, rows[i].net, 0);
        rlt_coll_request r = rlt_group_request(&s.g, RLT_ALL_REDUCE, 12000);
        assert_int_equal(rlt_plan_create(&rlt_torus, &r, &plan, &err), 0);
        assert_int_equal(plan.channels, rows[i].rings);
        assert_int_equal(rlt_plan_check(&plan, &err), 0);
        rlt_plan_free(&plan);
        test_group_close(&s);
    }
    rlt_coll_request r = {.kind = RLT_ALL_REDUCE, .n = 6, .bytes = 6000};
    assert_int_equal(rlt_plan_create(&rlt_torus, &r, &plan, &err), 0);
    assert_int_equal(rlt_plan_check(&plan, &err), 0);
    assert_int_equal(rlt_torus.steps(&plan, 0, 0), 10);
    rlt_plan_free(&plan);
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
        rlt_plan a, b;
        rlt_error err = {0};
        assert_int_equal(rlt_plan_create(&rlt_hierarchical, &with, &a, &err), 0);
        assert_int_equal(rlt_plan_create(&rlt_hierarchical, &without, &b, &err), 0);
        same_steps(&a, &b);
        rlt_plan_free(&a);
        rlt_plan_free(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_promised), cmocka_unit_test(levels),
                                       cmocka_unit_test(tori), cmocka_unit_test(alone),
                                       cmocka_unit_test(one_dimension)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
