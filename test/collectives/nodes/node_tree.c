/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trees over nodes of several members: NCCL's double binary tree, their proof, and the bandwidth that is
 * left. */
#include "collectives/nodes/double_tree.h"

#include "collectives/algorithm.h"
#include "collectives/check/checker.h"
#include "collectives/collective.h"
#include "collectives/plan.h"
#include "net/network.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/support.h"

static void by_hand(void **state)
{
    static const uint32_t six[2][6] = {{RLT_NONE, 2, 4, 2, 0, 4}, {1, 5, 3, 1, 3, RLT_NONE}};
    static const uint32_t five[2][5] = {{RLT_NONE, 2, 4, 2, 0}, {1, RLT_NONE, 3, 0, 3}};
    (void)state;
    for (uint32_t tree = 0; tree < 2; tree++)
        for (uint32_t p = 0; p < 6; p++) {
            assert_int_equal(rlt_double_tree(6, p, tree).parent, six[tree][p]);
            if (p < 5)
                assert_int_equal(rlt_double_tree(5, p, tree).parent, five[tree][p]);
        }
}

/* Children name their parents, every place hangs on the root, the depth is that of a binary tree, and a place
 * with two children in one tree has at most one in the other, but for a few. */
static void forms_trees(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 130; n++) {
        uint32_t both = 0;
        for (uint32_t tree = 0; tree < 2; tree++) {
            uint32_t roots = 0, links = 0;
            for (uint32_t p = 0; p < n; p++) {
                rlt_tree_place t = rlt_double_tree(n, p, tree);
                uint32_t depth = 0;
                roots += t.parent == RLT_NONE;
                links += t.n_children;
                for (uint32_t i = 0; i < t.n_children; i++)
                    assert_int_equal(rlt_double_tree(n, t.children[i], tree).parent, p);
                for (uint32_t at = p; (at = rlt_double_tree(n, at, tree).parent) != RLT_NONE; depth++)
                    assert_true(at < n && depth < 9);
                both += tree && t.n_children == 2 && rlt_double_tree(n, p, 0).n_children == 2;
            }
            assert_int_equal(roots, 1);
            assert_int_equal(links, n - 1);
        }
        assert_true(both <= 1);
    }
}

/* Largest load of a place over both trees: 2 messages for two places, 3 for three, 4 for more. */
static void loads(void **state)
{
    (void)state;
    assert_int_equal(rlt_double_tree_load(1), 0);
    for (uint32_t n = 2; n <= 1030; n++)
        assert_int_equal(rlt_double_tree_load(n), n < 4 ? n : 4);
}

static void proof(void **state)
{
    (void)state;
    for (uint32_t nodes = 2; nodes <= 9; nodes++)
        for (uint32_t g = 2; g <= 5; g++)
            for (uint32_t channels = 0; channels <= 7; channels++)
                for (uint32_t chunks = 0; chunks <= 3; chunks++) {
                    rlt_coll_request req = {.kind = RLT_ALL_REDUCE,
                                            .n = nodes * g,
                                            .node = g,
                                            .bytes = 1003,
                                            .params = {.channels = channels, .chunks = chunks}};
                    rlt_plan plan;
                    rlt_error err = {0};
                    assert_int_equal(rlt_plan_create(&rlt_tree, &req, &plan, &err), 0);
                    if (rlt_plan_check(&plan, &err) != 0)
                        fail_msg("%u nodes of %u, %u channels: %s: %s", nodes, g, channels, err.where,
                                 err.what);
                    rlt_plan_free(&plan);
                }
}

/*
 * A node of g members with NVLink V and all NICs together R sends 1, 1.5 or 2 times the bytes for 2, 3, or
 * more nodes, over both trees; the chain inside carries the data up and down: V g / (2 (g - 1)) at most.
 */
static void bandwidth(void **state)
{
    static const struct {
        const char *topology;
        double algbw_GBps;
    } machines[] = {
        {"switch:8@450GB/s,500ns*rail:2@50GB/s,500ns", 450 * 8 / 14.0},
        {"switch:8@450GB/s,500ns*rail:2@25GB/s,500ns", 200},
        {"switch:8@450GB/s,500ns*rail:3@50GB/s,500ns", 450 * 8 / 14.0},
        {"switch:8@450GB/s,500ns*rail:3@25GB/s,500ns", 200 / 1.5},
        {"switch:8@450GB/s,500ns*rail:4@50GB/s,500ns", 400 / 2.0},
        {"switch:8@450GB/s,500ns*rail:9@50GB/s,500ns", 400 / 2.0},
        {"switch:8@300GB/s,500ns*fat-tree:4@25GB/s,500ns,nics=4,planes=1", 100 / 2.0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        test_net net = {.topology = machines[i].topology, .model = &rlt_net_flow, .algorithm = "tree"};
        uint64_t bytes = (uint64_t)1 << 30;
        double seconds = (double)test_collective(&net, RLT_ALL_REDUCE, bytes, NULL).time_ps / 1e12;
        double algbw = (double)bytes / seconds / 1e9;
        if (algbw < 0.92 * machines[i].algbw_GBps || algbw > 1.001 * machines[i].algbw_GBps)
            fail_msg("%s: %.1f GB/s of %.1f", machines[i].topology, algbw, machines[i].algbw_GBps);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand), cmocka_unit_test(forms_trees), cmocka_unit_test(loads),
        cmocka_unit_test(proof),   cmocka_unit_test(bandwidth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
