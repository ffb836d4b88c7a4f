/* SPDX-License-Identifier: GPL-3.0-or-later */
/* RCCL's orders of eight fully connected GPUs use all directed links evenly. */
#include "collectives/nodes/xgmi.h"

#include "collectives/algorithm.h"
#include "collectives/check/checker.h"
#include "collectives/collective.h"
#include "collectives/plan.h"
#include "net/network.h"
#include "sim/base/error.h"
#include "test/support/support.h"

static uint32_t links[RLT_XGMI_GPUS][RLT_XGMI_GPUS]; /* hops over each */

/* Counts the hops of an order, which must visit each GPU once. */
static void walk(const uint32_t *order, bool closed)
{
    uint32_t seen = 0;
    for (uint32_t i = 0; i < RLT_XGMI_GPUS; i++) {
        seen |= 1u << order[i];
        if (i)
            links[order[i - 1]][order[i]]++;
    }
    assert_int_equal(seen, 0xff);
    if (closed)
        links[order[RLT_XGMI_GPUS - 1]][order[0]]++;
}

static void even(uint32_t hops)
{
    for (uint32_t a = 0; a < RLT_XGMI_GPUS; a++)
        for (uint32_t b = 0; b < RLT_XGMI_GPUS; b++)
            assert_int_equal(links[a][b], a != b ? hops : 0);
}

static void paths_use_each_link_once(void **state)
{
    const uint32_t(*paths)[RLT_XGMI_GPUS] = rlt_xgmi_paths();
    uint32_t ends = 0;
    (void)state;
    memset(links, 0, sizeof links);
    for (uint32_t k = 0; k < RLT_XGMI_PATHS; k++) {
        assert_int_equal(paths[k][0], k);
        ends |= 1u << paths[k][RLT_XGMI_GPUS - 1];
        walk(paths[k], false);
    }
    assert_int_equal(ends, 0xff);
    even(1);
}

static void rings_use_each_link_twice(void **state)
{
    (void)state;
    memset(links, 0, sizeof links);
    for (uint32_t k = 0; k < RLT_XGMI_RINGS; k++)
        walk(rlt_xgmi_rings()[k], true);
    even(2);
}

/* Inside every node, rings use each directed link once. A ring leaves a node at the GPU of the number at which
 * it enters the next one, but for the way back to the first of an odd number of nodes. */
static void rings_over_nodes(void **state)
{
    (void)state;
    for (uint32_t nodes = 2; nodes <= 5; nodes++) {
        uint32_t n = 8 * nodes, hops[5][8][8] = {{{0}}}, entered[40] = {0};
        for (uint32_t k = 0; k < RLT_XGMI_PATHS; k++)
            for (uint32_t place = 0; place < n; place++) {
                uint32_t m = rlt_xgmi_ring_at(k, place), next = rlt_xgmi_ring_at(k, (place + 1) % n);
                assert_int_equal(m / 8, place / 8);
                if (m / 8 == next / 8)
                    hops[m / 8][m % 8][next % 8]++;
                else if (nodes % 2 == 0 || (place + 1) / 8 + 1 < nodes)
                    assert_int_equal(m % 8, next % 8);
                entered[m] += place % 8 == 0;
            }
        for (uint32_t m = 0; m < n; m++) {
            assert_int_equal(entered[m], 1);
            for (uint32_t to = 0; to < 8; to++)
                assert_int_equal(hops[m / 8][m % 8][to], m % 8 != to);
        }
    }
}

static rlt_coll_request request(rlt_coll_kind kind, uint32_t nodes)
{
    return (rlt_coll_request){.kind = kind,
                              .n = 8 * nodes,
                              .node = 8,
                              .bytes = 100003,
                              .n_dims = 2,
                              .dims = {8, nodes},
                              .shapes = {"fully-connected", "switch"}};
}

/* Proven by the checker: even and odd numbers of nodes, channels that are a multiple of the paths or not. */
static void proof(void **state)
{
    static const rlt_coll_kind kinds[] = {RLT_ALL_REDUCE, RLT_REDUCE_SCATTER, RLT_ALL_GATHER, RLT_BROADCAST};
    static const rlt_algorithm *const algorithms[] = {&rlt_ring, &rlt_tree};
    (void)state;
    for (uint32_t i = 0; i < 2 * 4 * 3 * 3; i++) {
        static const uint32_t channels[] = {0, 3, 16};
        const rlt_algorithm *a = algorithms[i % 2];
        rlt_coll_request req = request(kinds[i / 2 % 4], 2 + i / 8 % 3);
        rlt_plan plan;
        rlt_error err = {0};
        req.params.channels = channels[i / 24];
        assert_true(rlt_xgmi_nodes(&req));
        if (!(a->kinds & 1u << req.kind))
            continue;
        assert_int_equal(rlt_plan_create(a, &req, &plan, &err), 0);
        if (rlt_plan_check(&plan, &err) != 0)
            fail_msg("%s, %u nodes: %s: %s", a->name, req.n / 8, err.where, err.what);
        rlt_plan_free(&plan);
    }
}

static void where_not(void **state)
{
    (void)state;
    rlt_coll_request req = request(RLT_ALL_REDUCE, 2);
    req.shapes[0] = "switch";
    assert_false(rlt_xgmi_nodes(&req));
    req = request(RLT_ALL_REDUCE, 1);
    assert_false(rlt_xgmi_nodes(&req));
    req = request(RLT_ALL_REDUCE, 2);
    req.node = req.dims[0] = 4;
    assert_false(rlt_xgmi_nodes(&req));
}

/* Two boxes with fast networks: the 56 links of 48 GB/s carry 8 rings, so bus bandwidth is 8 * 48 = 384 GB/s;
 * a tree's chains carry the data up and down, so it moves 192 GB/s of data, less the time to fill them. */
static void bandwidth(void **state)
{
    const uint64_t bytes = (uint64_t)1 << 30;
    (void)state;
    for (int tree = 0; tree < 2; tree++) {
        test_net net = {.topology = "fully-connected:8@336GB/s,0ns*switch:2@100GB/s,0ns",
                        .model = &rlt_net_flow,
                        .algorithm = tree ? "tree" : "ring"};
        double GBps =
            (double)bytes * 1000 / (double)test_collective(&net, RLT_ALL_REDUCE, bytes, NULL).time_ps;
        double most = tree ? 192 : 384 * 16 / 30.;
        assert_true(GBps <= most * 1.0001 && GBps >= most * (tree ? 0.95 : 0.999));
    }
}

/* Dimensions of one member before the nodes say nothing; nor does one of eight behind another. */
static void who_has_boxes(void **state)
{
    static const struct {
        uint32_t n_dims, dims[3], node, n;
        const char *shapes[3];
        bool boxes;
    } rows[] = {
        {2, {8, 3}, 8, 24, {"fully-connected", "switch"}, true},
        {3, {1, 8, 3}, 8, 24, {"switch", "fully-connected", "switch"}, true},
        {3, {1, 1, 8}, 8, 24, {"switch", "switch", "fully-connected"}, true},
        {3, {1, 1, 1}, 8, 24, {"switch", "switch", "switch"}, false},
        {2, {3, 8}, 8, 24, {"switch", "fully-connected"}, false},
        {1, {8}, 8, 8, {"fully-connected"}, false},
        {2, {8, 3}, 8, 24, {"switch", "fully-connected"}, false},
        {2, {8, 3}, 8, 24, {NULL, "fully-connected"}, false},
        {2, {8, 3}, 4, 24, {"fully-connected", "switch"}, false},
        {2, {4, 6}, 8, 24, {"fully-connected", "switch"}, false},
        {0, {0}, 8, 24, {0}, false},
        {1, {1, 8}, 8, 24, {"switch", "fully-connected"}, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_coll_request req = {
            .kind = RLT_ALL_REDUCE, .n = rows[i].n, .node = rows[i].node, .n_dims = rows[i].n_dims};
        memcpy(req.dims, rows[i].dims, sizeof rows[i].dims);
        memcpy(req.shapes, rows[i].shapes, sizeof rows[i].shapes);
        if (rlt_xgmi_nodes(&req) != rows[i].boxes)
            fail_msg("row %zu", i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_use_each_link_once),
        cmocka_unit_test(rings_use_each_link_twice),
        cmocka_unit_test(rings_over_nodes),
        cmocka_unit_test(proof),
        cmocka_unit_test(where_not),
        cmocka_unit_test(bandwidth),
        cmocka_unit_test(who_has_boxes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
