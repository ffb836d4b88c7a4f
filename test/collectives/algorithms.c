/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Given rings, dimension splits and windows through the symbolic checker (everything else: grid.c). The bytes
 * that each member sends against closed forms. The shape of steps (neighbours only, exchanges, windows).
 * Names, default choices and refusals.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collectives/algorithm.h"
#include "collectives/check/checker.h"
#include "collectives/collective.h"
#include "collectives/plan.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/registry.h"
#include "sim/base/time.h"

enum { MAX_N = 48 };

static const uint32_t sizes[] = {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 24, 32, 48};
enum { N_SIZES = sizeof sizes / sizeof sizes[0] };
static const rlt_algorithm *const algorithms[] = {
    &rlt_ring,  &rlt_direct, &rlt_hierarchical, &rlt_halving_doubling, &rlt_recursive_doubling,
    &rlt_bruck, &rlt_tree,   &rlt_pairwise,     &rlt_parameter_server};
enum { N_ALGORITHMS = sizeof algorithms / sizeof algorithms[0] };
static const char *const kinds_of_shape[] = {"ring", "fully-connected", "switch"};

static bool does(const rlt_algorithm *a, int kind)
{
    return a->kinds >> kind & 1;
}

static rlt_plan make(const rlt_algorithm *a, const rlt_coll_request *req)
{
    rlt_plan plan;
    rlt_error err = {0};
    if (rlt_plan_create(a, req, &plan, &err) < 0)
        fail_msg("%s: %s", err.where, err.what);
    return plan;
}

static rlt_step step_of(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k)
{
    rlt_step s;
    rlt_step_clear(&s);
    plan->algorithm->step(plan, member, lane, k, &s);
    return s;
}

static void check(const rlt_algorithm *a, const rlt_coll_request *req)
{
    rlt_plan plan = make(a, req);
    rlt_error err = {0};
    if (rlt_plan_check(&plan, &err) < 0)
        fail_msg("%s of %u, %llu bytes, root %u, %u channels, %u chunks, %u directions, window %u, %u dims "
                 "(%u, %u, %u): %s: %s",
                 rlt_coll_name(req->kind), req->n, (unsigned long long)req->bytes, req->root,
                 req->params.channels, req->params.chunks, req->params.directions, req->params.window,
                 req->n_dims, req->dims[0], req->dims[1], req->dims[2], err.where, err.what);
    rlt_plan_free(&plan);
}

/* Bytes that a member sends: to all members, or (dim not RLT_NONE) to members that differ from it in that
 * dimension only. */
static uint64_t sent_bytes(const rlt_plan *plan, uint32_t member, uint32_t dim)
{
    uint64_t bytes = 0;
    uint32_t stride = 1;
    for (uint32_t d = 0; dim != RLT_NONE && d < dim; d++)
        stride *= plan->req.dims[d];
    for (uint32_t lane = 0; lane < plan->lanes; lane++) {
        for (uint32_t k = 0; k < plan->algorithm->steps(plan, member, lane); k++) {
            rlt_step s = step_of(plan, member, lane, k);
            if (s.send_to == RLT_NONE)
                continue;
            uint32_t size = dim == RLT_NONE ? 1 : plan->req.dims[dim];
            uint32_t a = member / stride % size, b = s.send_to / stride % size;
            if (dim == RLT_NONE || (a != b && member - a * stride == s.send_to - b * stride))
                bytes += s.send_bytes;
        }
    }
    return bytes;
}

/* Split number `which` of n into dimensions: 0 is the whole, then two and three factors. False past the
 * end. */
static bool split(uint32_t n, uint32_t which, rlt_coll_request *req)
{
    req->n_dims = 1;
    req->dims[0] = n;
    if (which == 0)
        return true;
    uint32_t number = 0;
    for (uint32_t a = 1; a < n; a++) {
        for (uint32_t b = 2; b <= n / a; b++) {
            uint32_t c = n / a / b;
            if (a * b * c != n || c < 2)
                continue;
            if (++number == which) {
                req->n_dims = 3;
                req->dims[0] = a == 1 ? b : a;
                req->dims[1] = a == 1 ? c : b;
                req->dims[2] = a == 1 ? 1 : c;
                return true;
            }
        }
    }
    return false;
}

/* Checks every combination of parameters that the algorithm has. */
static void check_parameters(const rlt_algorithm *a, rlt_coll_request req)
{
    uint32_t directions = a == &rlt_direct ? 1 : 2, windows = a == &rlt_direct ? 4 : 1;
    for (uint32_t i = 0; i < 4 * directions * windows; i++) {
        req.params.channels = 1 + i % 2;
        req.params.chunks = 1 + i / 2 % 2 * 2;
        req.params.directions = 1 + i / 4 % directions;
        req.params.window = i / 4 / directions; /* 0 .. 3 */
        check(a, &req);
    }
}

static void every_combination(const rlt_algorithm *a, uint64_t bytes, uint32_t max_n)
{
    for (uint32_t i = 0; i < N_SIZES && sizes[i] <= max_n; i++) {
        for (int kind = 0; kind < RLT_COLL_KINDS; kind++) {
            if (!does(a, kind))
                continue;
            rlt_coll_request req = {.kind = (rlt_coll_kind)kind, .n = sizes[i], .bytes = bytes};
            req.root = kind == RLT_BROADCAST || kind == RLT_SCATTER ? sizes[i] / 2 : sizes[i] - 1;
            for (uint32_t s = 0; s == 0 || a == &rlt_hierarchical; s++) {
                if (!split(sizes[i], s, &req))
                    break;
                for (uint32_t d = 0; d < req.n_dims; d++)
                    req.shapes[d] = kinds_of_shape[(s + d) % 3];
                check_parameters(a, req);
            }
        }
    }
}

static void all_dimensions_pass(void **state)
{
    (void)state;
    every_combination(&rlt_hierarchical, 1000003, MAX_N);
    every_combination(&rlt_hierarchical, 1, 12);
}

/* Every window, also windows wider than the number of rounds. */
static void all_windows_pass(void **state)
{
    (void)state;
    every_combination(&rlt_direct, 1000003, MAX_N);
}

/* Ring orders other than the natural one: backwards, evens before odds, and a stride. */
static void given_rings_pass(void **state)
{
    (void)state;
    uint32_t orders[3][MAX_N];
    const uint32_t *rings[3] = {orders[0], orders[1], orders[2]};
    for (uint32_t n = 2; n <= 13; n++) {
        for (uint32_t i = 0; i < n; i++) {
            orders[0][i] = n - 1 - i;
            orders[1][i] = i < (n + 1) / 2 ? 2 * i : 2 * (i - (n + 1) / 2) + 1;
            orders[2][i] = n % 5 ? i * 5 % n : i;
        }
        for (int kind = 0; kind < RLT_COLL_KINDS; kind++) {
            if (!does(&rlt_ring, kind))
                continue;
            rlt_coll_request req = {.kind = (rlt_coll_kind)kind,
                                    .n = n,
                                    .root = n / 3,
                                    .bytes = 1003,
                                    .n_rings = 3,
                                    .rings = rings};
            check(&rlt_ring, &req); /* one channel per ring */
            check_parameters(&rlt_ring, req);
        }
    }
}

/* All-to-all with counts: every pair gets exactly what the table says, empty entries included. */
static void counts_are_kept(void **state)
{
    (void)state;
    enum { N = 7 };
    uint64_t counts[N * N];
    for (uint32_t i = 0; i < N * N; i++)
        counts[i] = i % 5 == 0 ? 0 : (uint64_t)i * i * 37;
    for (uint32_t w = 0; w < 4; w++) {
        rlt_coll_request req = {
            .kind = RLT_ALL_TO_ALL, .n = N, .counts = counts, .params.channels = 2, .params.window = w};
        check(&rlt_direct, &req);
        rlt_plan plan = make(&rlt_direct, &req);
        uint64_t got[N * N] = {0};
        for (uint32_t m = 0; m < N; m++) {
            for (uint32_t l = 0; l < plan.lanes; l++) {
                for (uint32_t k = 0; k < plan.algorithm->steps(&plan, m, l); k++) {
                    rlt_step s = step_of(&plan, m, l, k);
                    if (s.send_to != RLT_NONE)
                        got[m * N + s.send_to] += s.send_bytes;
                }
            }
        }
        for (uint32_t i = 0; i < N * N; i++)
            assert_int_equal(got[i], i % (N + 1) == 0 ? 0 : counts[i]);
        rlt_plan_free(&plan);
    }
}

/* Number of times that a share crosses the network between the root, member 0, and member m. */
static uint32_t hops(const rlt_algorithm *a, rlt_coll_kind kind, uint32_t n, uint32_t m)
{
    uint32_t count = 0;
    if (a == &rlt_ring)
        return kind == RLT_SCATTER ? m : n - m;
    if (a != &rlt_tree)
        return 1;
    for (uint32_t size = n; size > 1;) { /* one message whenever the share is in the latter half */
        uint32_t kept = size - size / 2;
        count += m >= kept;
        size = m >= kept ? size / 2 : kept;
        m -= m >= kept ? kept : 0;
    }
    return count;
}

/*
 * Total bytes sent by all members. M bytes cross n-1 times for a sum or for a copy to all, twice that for
 * both. An all-to-all moves all but the own share; over a ring a share moves as often as its distance, 1 +
 * ... + (n-1) for each destination. Hierarchical all-to-all: M n (g-1)/g in each dimension, exact here if M
 * is a multiple of n.
 */
static uint64_t expected_total(const rlt_algorithm *a, const rlt_coll_request *req)
{
    uint64_t n = req->n, others = (n - 1) * req->bytes, total = 0;
    switch (req->kind) {
    case RLT_ALL_REDUCE:
        if (a == &rlt_recursive_doubling) {
            uint64_t p = 1, rounds = 0;
            for (; 2 * p <= n; p *= 2)
                rounds++;
            return (p * rounds + 2 * (n - p)) * req->bytes;
        }
        return 2 * others;
    case RLT_ALL_TO_ALL:
        if (a == &rlt_ring)
            return n * (n - 1) / 2 * req->bytes;
        if (a == &rlt_bruck) {
            for (uint64_t d = 1; d < n; d++)
                total += (uint64_t)__builtin_popcountll(d) * req->bytes;
            return total;
        }
        for (uint32_t d = 0; a == &rlt_hierarchical && d < req->n_dims; d++)
            total += n / req->dims[d] * (req->dims[d] - 1) * req->bytes;
        return a == &rlt_hierarchical ? total : others;
    case RLT_GATHER:
    case RLT_SCATTER:
        for (uint32_t m = 1; m < n; m++)
            total += rlt_part_size(req->bytes, n, m) * hops(a, req->kind, (uint32_t)n, m);
        return total;
    case RLT_BARRIER:
        return 0;
    case RLT_REDUCE: /* through the server, and to the root */
        return others + (a == &rlt_parameter_server ? req->bytes : 0);
    default:
        return others;
    }
}

static void totals_are_exact(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < N_ALGORITHMS * N_SIZES; i++) {
        const rlt_algorithm *a = algorithms[i % N_ALGORITHMS];
        for (int kind = 0; kind < RLT_COLL_KINDS; kind++) {
            bool over_dims = a == &rlt_hierarchical && (kind == RLT_GATHER || kind == RLT_SCATTER);
            if (!does(a, kind) || over_dims)
                continue;
            uint32_t n = sizes[i / N_ALGORITHMS];
            rlt_coll_request req = {.kind = (rlt_coll_kind)kind,
                                    .n = n,
                                    .bytes = 1000003,
                                    .params.channels = 2,
                                    .params.chunks = 3};
            if (kind == RLT_ALL_TO_ALL && a == &rlt_hierarchical)
                req.bytes = (uint64_t)n * 1001;
            if (!split(n, 2, &req))
                split(n, 0, &req);
            rlt_plan plan = make(a, &req);
            uint64_t total = 0;
            for (uint32_t m = 0; m < n; m++)
                total += sent_bytes(&plan, m, RLT_NONE);
            if (total != expected_total(a, &req))
                fail_msg("%s %s of %u: %llu", a->name, rlt_coll_name(req.kind), n, (unsigned long long)total);
            rlt_plan_free(&plan);
        }
    }
}

/* If bytes are a multiple of n, each member sends the same: 2(n-1)/n or (n-1)/n of the buffer. Halving and
 * doubling at powers of two. */
static void members_send_equally(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 4 * N_SIZES; i++) {
        for (int kind = 0; kind <= RLT_ALL_TO_ALL; kind++) {
            const rlt_algorithm *a = algorithms[i % 4];
            uint64_t n = sizes[i / 4], block = 1001;
            if (kind == RLT_ALL_TO_ALL && a != &rlt_direct)
                continue;
            if (a == &rlt_halving_doubling && (n & (n - 1)) != 0)
                continue;
            rlt_coll_request req = {.kind = (rlt_coll_kind)kind,
                                    .n = (uint32_t)n,
                                    .bytes = n * block,
                                    .params.channels = 2,
                                    .params.directions = 2};
            if (!split(req.n, 1, &req))
                split(req.n, 0, &req);
            rlt_plan plan = make(a, &req);
            for (uint32_t m = 0; m < n; m++)
                assert_int_equal(sent_bytes(&plan, m, RLT_NONE),
                                 (kind == RLT_ALL_REDUCE ? 2 : 1) * (n - 1) * block);
            rlt_plan_free(&plan);
        }
    }
}

/* Bytes in dimension d: V_d = 2 m (g_d - 1) / (g_0 ... g_d). For g = 2, 8, 8, 8: m times 1, 0.875, 0.109375,
 * 0.013671875 (Won et al., LIBRA). An all-gather of shards m/n in the opposite order takes half of it. */
static void dimensions_carry_their_share(void **state)
{
    (void)state;
    const uint64_t m = 1 << 20;
    const double v[4] = {1, 0.875, 0.109375, 0.013671875};
    rlt_coll_request req = {.n = 1024, .bytes = m, .n_dims = 4, .dims = {2, 8, 8, 8}};
    static const rlt_coll_kind kinds[] = {RLT_ALL_REDUCE, RLT_REDUCE_SCATTER, RLT_ALL_GATHER, RLT_ALL_TO_ALL};
    for (int i = 0; i < 8; i++) {
        req.kind = kinds[i % 4];
        for (uint32_t d = 0; d < 4; d++)
            req.shapes[d] = i < 4 ? "ring" : "fully-connected";
        rlt_plan plan = make(&rlt_hierarchical, &req);
        for (uint32_t member = 0; member < 1024; member += 341) {
            for (uint32_t d = 0; d < 4; d++) {
                double share = req.kind == RLT_ALL_REDUCE   ? v[d]
                               : req.kind == RLT_ALL_TO_ALL ? 1.0 - 1.0 / req.dims[d]
                                                            : v[d] / 2;
                assert_int_equal(sent_bytes(&plan, member, d), (uint64_t)(share * (double)m));
            }
        }
        rlt_plan_free(&plan);
    }
}

/* Ring all-reduce: 2(n-1) steps; each sends to one neighbour and receives from the other. Reversed lanes run
 * the other way. */
static void rings_talk_to_neighbours(void **state)
{
    (void)state;
    enum { N = 6 };
    static const uint32_t order[N] = {3, 0, 5, 2, 4, 1};
    const uint32_t *rings[] = {order};
    rlt_coll_request req = {
        .kind = RLT_ALL_REDUCE, .n = N, .bytes = 600, .params.directions = 2, .n_rings = 1, .rings = rings};
    rlt_plan plan = make(&rlt_ring, &req);
    assert_int_equal(plan.lanes, 2);
    for (uint32_t p = 0; p < N; p++) {
        uint32_t next = order[(p + 1) % N], previous = order[(p + N - 1) % N];
        for (uint32_t lane = 0; lane < 2; lane++) {
            assert_int_equal(plan.algorithm->steps(&plan, order[p], lane), 2 * (N - 1));
            for (uint32_t k = 0; k < 2 * (N - 1); k++) {
                rlt_step s = step_of(&plan, order[p], lane, k);
                assert_int_equal(s.send_to, lane ? previous : next);
                assert_int_equal(s.recv_from, lane ? next : previous);
                assert_int_equal(s.recv_count, 1);
                assert_int_equal(s.nowait, 0);
                assert_int_equal(s.peer_step, k);
                assert_int_equal(s.send_bytes, 50);
                assert_int_equal(s.wait_lane, RLT_NONE);
            }
        }
    }
    rlt_plan_free(&plan);
}

/* A ring broadcast of C pieces: an inner member passes a piece on while the next one arrives. */
static void broadcasts_are_pipelined(void **state)
{
    (void)state;
    rlt_coll_request req = {.kind = RLT_BROADCAST, .n = 4, .root = 1, .bytes = 1000, .params.chunks = 10};
    rlt_plan plan = make(&rlt_ring, &req);
    static const uint32_t steps[4] = {10, 10, 11, 11}; /* 1 is the root, 0 the last */
    for (uint32_t m = 0; m < 4; m++)
        assert_int_equal(plan.algorithm->steps(&plan, m, 0), steps[m]);
    for (uint32_t k = 1; k < 10; k++) {
        rlt_step s = step_of(&plan, 2, 0, k);
        assert_int_equal(s.send_to, 3);
        assert_int_equal(s.recv_from, 1);
        assert_int_equal(s.send_bytes, 100);
    }
    rlt_plan_free(&plan);
    req.params.chunks = 0;
    req.bytes = 10u << 20; /* pieces of 512 KiB */
    plan = make(&rlt_ring, &req);
    assert_int_equal(plan.blocks, 20);
    rlt_plan_free(&plan);
}

/* When step k begins, at most w - 1 of the messages sent before can still be under way in a symmetric
 * exchange. */
static void windows_hold(void **state)
{
    (void)state;
    enum { N = 9 };
    for (uint32_t w = 1; w <= N; w++) {
        rlt_coll_request req = {.kind = RLT_REDUCE_SCATTER, .n = N, .bytes = 900, .params.window = w};
        rlt_plan plan = make(&rlt_direct, &req);
        uint32_t sent = 0, received = 0, most = 0;
        for (uint32_t k = 0; k < plan.algorithm->steps(&plan, 5, 0); k++) {
            rlt_step s = step_of(&plan, 5, 0, k);
            sent += s.send_to != RLT_NONE;
            most = sent - received > most ? sent - received : most;
            received += s.recv_count;
        }
        assert_int_equal(sent, N - 1);
        assert_int_equal(received, N - 1);
        assert_int_equal(most, w < N ? w : N - 1);
        rlt_plan_free(&plan);
    }
}

/* A chunk enters each phase after the chunk before it has left it: the waits of a 2 x 3 all-reduce on rings,
 * by hand. */
static void chunks_follow_each_other(void **state)
{
    (void)state;
    rlt_coll_request req = {
        .kind = RLT_ALL_REDUCE, .n = 6, .bytes = 600, .n_dims = 2, .dims = {2, 3}, .params.chunks = 3};
    rlt_plan plan = make(&rlt_hierarchical, &req);
    /* last step of the phase that begins at each step */
    static const uint32_t last[6] = {0, 2, RLT_NONE, 4, RLT_NONE, 5};
    assert_int_equal(plan.lanes, 3);
    assert_int_equal(plan.algorithm->steps(&plan, 4, 0), 6);
    for (uint32_t lane = 0; lane < 3; lane++) {
        for (uint32_t k = 0; k < 6; k++) {
            rlt_step s = step_of(&plan, 4, lane, k);
            bool waits = lane > 0 && last[k] != RLT_NONE;
            assert_int_equal(s.wait_lane, waits ? lane - 1 : RLT_NONE);
            if (waits)
                assert_int_equal(s.wait_step, last[k]);
        }
    }
    rlt_plan_free(&plan);
}

static void spans_are_measured(void **state)
{
    (void)state;
    rlt_plan plan = {
        .req = {.bytes = 23}, .lanes = 1, .blocks = 10}; /* blocks 0, 1, 2 have 3 bytes, the others 2 */
    static const struct {
        rlt_blocks span;
        uint64_t bytes;
    } cases[] = {
        {{0, 10, 0, 1}, 23}, {{0, 1, 1, 10}, 23}, {{1, 1, 3, 3}, 7}, {{8, 4, 0, 1}, 10}, {{2, 2, 5, 2}, 9},
        {{0, 1, 9, 3}, 7},   {{5, 1, 9, 5}, 12},  {{9, 0, 0, 1}, 0}, {{9, 1, 1, 0}, 0},  {{1, 1, 0, 2}, 6},
    };
    assert_int_equal(rlt_lane_bytes(&plan, 0), 23);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(rlt_blocks_bytes(&plan, 0, cases[i].span), cases[i].bytes);
    plan.lanes = 4;
    uint64_t total = 0;
    for (uint32_t l = 0; l < 4; l++)
        total += rlt_lane_bytes(&plan, l);
    assert_int_equal(total, 23);
}

static void names_and_choices(void **state)
{
    (void)state;
    rlt_coll_kind kind;
    rlt_error err = {0};
    assert_int_equal(rlt_coll_parse("AllReduce", &kind, &err), 0);
    assert_int_equal(kind, RLT_ALL_REDUCE);
    assert_int_equal(rlt_coll_parse("all-to-all", &kind, &err), 0);
    assert_int_equal(kind, RLT_ALL_TO_ALL);
    assert_int_equal(rlt_coll_parse("all_reduces", &kind, &err), RLT_ESCHEMA);
    assert_non_null(strstr(err.what, "all_reduce, reduce_scatter"));
    for (int k = 0; k < RLT_COLL_KINDS; k++) {
        assert_int_equal(rlt_coll_parse(rlt_coll_name((rlt_coll_kind)k), &kind, NULL), 0);
        assert_int_equal(kind, k);
    }
    assert_true(rlt_busbw_factor(RLT_ALL_REDUCE, 8) == 1.75);
    assert_true(rlt_busbw_factor(RLT_ALL_TO_ALL, 4) == 0.75);
    assert_true(rlt_busbw_factor(RLT_BROADCAST, 4) == 1.0);

    memset(&err, 0, sizeof err);
    assert_ptr_equal(rlt_algorithm_find("direct", &err), &rlt_direct);
    assert_null(rlt_algorithm_find("round", &err));
    assert_non_null(strstr(err.what, "hierarchical"));
    uint32_t count = 0;
    while (rlt_algorithm_at(count))
        assert_ptr_equal(rlt_algorithm_find(rlt_algorithm_at(count)->name, NULL), rlt_algorithm_at(count)),
            count++;
    assert_true(count >= 4);

    uint64_t counts[16] = {0};
    rlt_coll_request req = {.kind = RLT_ALL_REDUCE, .n = 4, .n_dims = 2, .dims = {1, 4}};
    assert_ptr_equal(rlt_algorithm_choose(&req), &rlt_ring);
    req.kind = RLT_ALL_TO_ALL;
    assert_ptr_equal(rlt_algorithm_choose(&req), &rlt_direct);
    req.dims[0] = req.dims[1] = 2;
    assert_ptr_equal(rlt_algorithm_choose(&req), &rlt_direct);
    req.kind = RLT_REDUCE_SCATTER;
    assert_ptr_equal(rlt_algorithm_choose(&req), &rlt_hierarchical);
    req.counts = counts;
    assert_ptr_equal(rlt_algorithm_choose(&req), &rlt_direct);
    req = (rlt_coll_request){.kind = RLT_GATHER, .n = 4};
    assert_ptr_equal(rlt_algorithm_choose(&req), &rlt_direct);
}

static void refused(const rlt_algorithm *a, rlt_coll_request req, int code)
{
    rlt_plan plan;
    rlt_error err = {0};
    assert_int_equal(rlt_plan_create(a, &req, &plan, &err), code);
    assert_int_equal(err.code, code);
    assert_true(err.what[0] != '\0');
    assert_null(plan.data);
}

static void impossible_requests_are_refused(void **state)
{
    (void)state;
    static const uint32_t twice[4] = {0, 1, 1, 3}, outside[4] = {0, 1, 2, 4};
    const uint32_t *bad[2][1] = {{twice}, {outside}};
    uint64_t counts[16] = {0};
    rlt_coll_request ok = {.kind = RLT_ALL_REDUCE, .n = 4, .bytes = 100}, r;
    refused(&rlt_point_to_point, ok, RLT_EUNSUPPORTED);
    r = ok, r.n = 0, refused(&rlt_ring, r, RLT_ERANGE);
    r = ok, r.n = RLT_MAX_MEMBERS + 1, refused(&rlt_ring, r, RLT_ERANGE);
    r = ok, r.kind = RLT_COLL_KINDS, refused(&rlt_ring, r, RLT_ERANGE);
    r = ok, r.bytes = UINT64_MAX, refused(&rlt_ring, r, RLT_ERANGE);
    r = ok, r.kind = RLT_REDUCE, r.root = 4, refused(&rlt_ring, r, RLT_ERANGE);
    r = ok, r.kind = RLT_SEND_RECV, refused(&rlt_point_to_point, r, RLT_ETOPOLOGY);
    r = ok, r.params.directions = 3, refused(&rlt_ring, r, RLT_ERANGE);
    r = ok, r.params.channels = 64, r.params.chunks = 65, refused(&rlt_direct, r, RLT_ERANGE);
    r = ok, r.params.channels = UINT32_MAX, r.params.chunks = UINT32_MAX, refused(&rlt_direct, r, RLT_ERANGE);
    r = ok, r.n_dims = 2, r.dims[0] = 3, r.dims[1] = 2, refused(&rlt_hierarchical, r, RLT_ETOPOLOGY);
    r = ok, r.n_dims = 2, r.dims[0] = 4, r.dims[1] = 0, refused(&rlt_hierarchical, r, RLT_ETOPOLOGY);
    r = ok, r.n_dims = 9, refused(&rlt_hierarchical, r, RLT_ERANGE);
    r = ok, r.n_rings = 1, r.rings = bad[0], refused(&rlt_ring, r, RLT_ETOPOLOGY);
    r = ok, r.n_rings = 1, r.rings = bad[1], refused(&rlt_ring, r, RLT_ETOPOLOGY);
    r = ok, r.kind = RLT_ALL_TO_ALL, r.counts = counts, refused(&rlt_ring, r, RLT_EUNSUPPORTED);
    refused(&rlt_hierarchical, r, RLT_EUNSUPPORTED);
    refused(&rlt_bruck, r, RLT_EUNSUPPORTED);
    r = ok, r.counts = counts, refused(&rlt_ring, r, RLT_EUNSUPPORTED);
    /* counts for 100 bytes */
    r = ok, r.kind = RLT_GATHER, r.counts = counts, refused(&rlt_direct, r, RLT_ESCHEMA);
    counts[0] = 100, counts[3] = 1, refused(&rlt_direct, r, RLT_ESCHEMA);
    counts[3] = 0, counts[1] = (uint64_t)1 << 49, refused(&rlt_direct, r, RLT_ERANGE);
    for (int i = 0; i < 4; i++)
        counts[i] = (uint64_t)1 << 48;
    refused(&rlt_direct, r, RLT_ERANGE);
    r = ok, r.kind = RLT_GATHER, r.root = 4, refused(&rlt_tree, r, RLT_ERANGE);
    r.kind = RLT_SCATTER, refused(&rlt_ring, r, RLT_ERANGE);
    r = ok, r.params.servers = 5, refused(&rlt_parameter_server, r, RLT_ERANGE);
    r = ok, r.params.chunks = UINT32_MAX;
    refused(&rlt_parameter_server, r, RLT_ERANGE);
    refused(&rlt_tree, r, RLT_ERANGE);
    refused(&rlt_pairwise, r, RLT_ERANGE);
    refused(&rlt_bruck, r, RLT_EUNSUPPORTED); /* all-reduce */
    r.kind = RLT_SCATTER, refused(&rlt_tree, r, RLT_ERANGE);
    refused(&rlt_ring, r, RLT_ERANGE);
    r = ok, r.kind = RLT_BROADCAST, r.params.chunks = 1 << 30, refused(&rlt_ring, r, RLT_ERANGE);
}

/* An algorithm with a parameter of its own: one row in its table, which is read, limited, preset and kept. */
static void a_parameter_of_its_own(void **state)
{
    static const rlt_param rows[] = {
        RLT_HAS_CHANNELS("1"),
        {"alpha", .kind = RLT_PARAM_COUNT, RLT_SLOT(2), .preset = "3", .min = 1, .max = 9, .help = "of mine"},
        {0}};
    static rlt_algorithm mine;
    rlt_coll_request req = {.kind = RLT_ALL_GATHER, .n = 4, .bytes = 400};
    rlt_plan plan;
    rlt_error err = {0};
    char text[64];
    (void)state;
    assert_null(rlt_coll_parameter("alpha"));
    assert_int_equal(rlt_coll_params_set(&req.params, "alpha", "4", NULL), RLT_EUSAGE);
    mine = rlt_direct;
    mine.name = "mine";
    mine.parameters = rows;
    assert_int_equal(rlt_registry_add(rlt_algorithms(), &mine, "this test", NULL), 0);
    assert_non_null(rlt_coll_parameter("alpha"));
    assert_non_null(rlt_coll_parameter("mine.alpha"));
    assert_int_equal(rlt_plan_create(&mine, &req, &plan, NULL), 0);
    assert_int_equal(plan.own[2].u, 3);
    rlt_plan_free(&plan);
    assert_int_equal(rlt_coll_params_set(&req.params, "alpha", "10", &err), RLT_EUSAGE);
    assert_string_equal(err.what, "expected 1 to 9, got '10'");
    assert_int_equal(rlt_coll_params_set(&req.params, "alpha", "6", NULL), 0);
    assert_int_equal(rlt_coll_params_set(&req.params, "mine.alpha", "7", NULL), 0);
    assert_int_equal(req.params.n_own, 1);
    assert_int_equal(rlt_plan_create(&mine, &req, &plan, NULL), 0);
    assert_int_equal(plan.own[2].u, 7);
    rlt_plan_free(&plan);
    assert_int_equal(rlt_plan_create(&rlt_direct, &req, &plan, NULL), 0);
    assert_int_equal(plan.own[2].u, 0);
    rlt_plan_free(&plan);
    assert_ptr_equal(rlt_coll_params_idle(&req.params, &rlt_direct, 0, text, sizeof text), &rows[1]);
    assert_string_equal(text, "7");
    assert_null(rlt_coll_params_idle(&req.params, &mine, 0, text, sizeof text));
    assert_string_equal(rlt_params_describe(rows, text, sizeof text), "channels (1), alpha=3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_dimensions_pass),
        cmocka_unit_test(all_windows_pass),
        cmocka_unit_test(given_rings_pass),
        cmocka_unit_test(counts_are_kept),
        cmocka_unit_test(totals_are_exact),
        cmocka_unit_test(members_send_equally),
        cmocka_unit_test(dimensions_carry_their_share),
        cmocka_unit_test(rings_talk_to_neighbours),
        cmocka_unit_test(broadcasts_are_pipelined),
        cmocka_unit_test(windows_hold),
        cmocka_unit_test(chunks_follow_each_other),
        cmocka_unit_test(spans_are_measured),
        cmocka_unit_test(names_and_choices),
        cmocka_unit_test(impossible_requests_are_refused),
        cmocka_unit_test(a_parameter_of_its_own),
    };
    return cmocka_run_group_tests_name("algorithms", tests, NULL, NULL);
}
