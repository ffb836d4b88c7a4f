/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rings in a fully connected dimension: they use every directed link equally often, and fill it. */
#include "collectives/nodes/full_rings.h"

#include <stdio.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/plan.h"
#include "net/network.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/support.h"

enum { MOST = 32 };

static void every_link_equally(void **state)
{
    (void)state;
    for (uint32_t n = 3; n <= MOST; n++) {
        uint32_t rings = rlt_full_ring_count(n), used[MOST][MOST] = {{0}}, order[MOST];
        assert_int_equal(rings % (n - 1), 0);
        for (uint32_t c = 0; c < rings; c++) {
            bool seen[MOST] = {false};
            rlt_full_ring(n, c, order);
            for (uint32_t i = 0; i < n; i++) {
                assert_true(order[i] < n && !seen[order[i]]);
                assert_true(c > 0 || order[i] == i);
                seen[order[i]] = true;
                used[order[i]][order[(i + 1) % n]]++;
            }
        }
        for (uint32_t a = 0; a < n; a++)
            for (uint32_t b = 0; b < n; b++)
                assert_int_equal(used[a][b], a == b ? 0 : rings / (n - 1));
        assert_true(n == 8 || n % 2 ? rings == n - 1 : rings == 2 * (n - 1));
    }
}

static test_run ring(const char *topology, rlt_coll_kind kind, uint64_t bytes, uint32_t channels)
{
    test_net net = {.topology = topology, .model = &rlt_net_flow, .algorithm = "ring", .channels = channels};
    return test_collective(&net, kind, bytes, NULL);
}

/*
 * Eight GPUs with seven links of 48 GB/s: M bytes take 2 (7/8) M / 336 GB/s and 14 latencies (RCCL's xGMI
 * boxes; AMD states 48 GB/s a link). One channel: the natural order, over one link of each.
 */
static void bandwidth(void **state)
{
    static const rlt_coll_kind kinds[] = {RLT_ALL_REDUCE, RLT_REDUCE_SCATTER, RLT_ALL_GATHER};
    const uint64_t bytes = 8 * 7 * 48 * 100000;
    (void)state;
    for (uint32_t k = 0; k < 3; k++) {
        rlt_time halves = k ? 1 : 2, steps = 7 * halves;
        const char *box = "fully-connected:8@336GB/s,500ns";
        /* a step moves 1/8 of the bytes over 336 GB/s or over 48 GB/s */
        rlt_time step = (rlt_time)(bytes / 8 / 336) * 1000, alone = step * 7;
        assert_int_equal(ring(box, kinds[k], bytes, 0).time_ps, steps * (step + 500000));
        assert_int_equal(ring(box, kinds[k], bytes, 1).time_ps, steps * (alone + 500000));
    }
}

/* Any size fills all links of a member, whether disjoint rings exist or not. */
static void any_size(void **state)
{
    (void)state;
    for (uint32_t n = 3; n <= 17; n++) {
        char topology[80];
        uint64_t bytes = (uint64_t)n * rlt_full_ring_count(n) * 1000000;
        snprintf(topology, sizeof topology, "fully-connected:%u@%uGB/s,0ns", n, 10 * (n - 1));
        rlt_time step = (rlt_time)(bytes / n / (n - 1)) * 100;
        assert_int_equal(ring(topology, RLT_ALL_REDUCE, bytes, 0).time_ps, 2 * (rlt_time)(n - 1) * step);
    }
}

/* Where the natural order stays: other kinds, other shapes, two directions, many members, rings of a file. */
static void where_not(void **state)
{
    (void)state;
    rlt_coll_request req = {
        .kind = RLT_ALL_REDUCE, .n = 8, .n_dims = 2, .dims = {1, 8}, .shapes = {"switch", "fully-connected"}};
    assert_int_equal(rlt_full_rings(&req), 7);
    req.kind = RLT_BROADCAST;
    assert_int_equal(rlt_full_rings(&req), 0);
    req.kind = RLT_ALL_GATHER;
    req.params.directions = 2;
    assert_int_equal(rlt_full_rings(&req), 0);
    req.params.directions = 1;
    assert_int_equal(rlt_full_rings(&req), 7);
    req.n_rings = 1;
    assert_int_equal(rlt_full_rings(&req), 0);
    req.n_rings = 0;
    req.shapes[1] = "switch";
    assert_int_equal(rlt_full_rings(&req), 0);
    req.shapes[1] = "fully-connected";
    req.n = req.dims[1] = 33;
    assert_int_equal(rlt_full_rings(&req), 0);
}

/* 3 to 32 members of the whole of one fully connected dimension. */
static void how_many_rings(void **state)
{
    static const struct {
        uint32_t n, dims[2], rings;
    } rows[] = {{2, {2, 1}, 0},   {3, {3, 1}, 2}, {4, {4, 1}, 6}, {32, {1, 32}, 62},
                {33, {33, 1}, 0}, {8, {4, 2}, 0}, {8, {8, 1}, 7}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_coll_request req = {.kind = RLT_REDUCE_SCATTER,
                                .n = rows[i].n,
                                .n_dims = 2,
                                .dims = {rows[i].dims[0], rows[i].dims[1]},
                                .shapes = {"fully-connected", "fully-connected"}};
        assert_int_equal(rlt_full_rings(&req), rows[i].rings);
        req.shapes[0] = req.shapes[1] = NULL;
        assert_int_equal(rlt_full_rings(&req), 0);
    }
    /* rings begin again after the last */
    uint32_t first[9], again[9];
    for (uint32_t n = 3; n <= 9; n++) {
        for (uint32_t c = 0; c < rlt_full_ring_count(n); c++) {
            rlt_full_ring(n, c, first);
            rlt_full_ring(n, c + rlt_full_ring_count(n), again);
            assert_memory_equal(first, again, n * sizeof *first);
        }
    }
}

/* What stands in a request beyond its dimensions says nothing of it. */
static void beyond_the_dimensions(void **state)
{
    rlt_coll_request req = {.kind = RLT_ALL_REDUCE, .n = 8, .node = 4, .bytes = 4096, .n_dims = 2};
    (void)state;
    req.dims[0] = 2;
    req.dims[1] = 4;
    req.dims[2] = 8;
    req.shapes[0] = req.shapes[1] = "switch";
    req.shapes[2] = "fully-connected";
    assert_int_equal(rlt_full_rings(&req), 0);
    req.n_dims = 3;
    assert_int_equal(rlt_full_rings(&req), 7);
    req.dims[0] = 4;
    req.dims[1] = 2;
    for (req.n_dims = 0; req.n_dims <= 2; req.n_dims += 2) {
        uint32_t sizes[RLT_MAX_DIMS];
        rlt_plan plan;
        rlt_error err = {0};
        assert_int_equal(rlt_plan_create(&rlt_ring, &req, &plan, &err), 0);
        assert_true(plan.shared);
        assert_int_equal(rlt_ring.symmetry(&plan, sizes), req.n_dims ? 2 : 0);
        rlt_plan_free(&plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_link_equally), cmocka_unit_test(bandwidth),
        cmocka_unit_test(any_size),           cmocka_unit_test(where_not),
        cmocka_unit_test(how_many_rings),     cmocka_unit_test(beyond_the_dimensions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
