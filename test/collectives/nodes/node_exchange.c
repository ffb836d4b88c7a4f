/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All-to-all over nodes: proof on composed machines whose accelerators have NICs of their own or share them,
 * and bus bandwidths. With n members, g of them a node, and NICs of b for each, every member sends (n-g)/n of its
 * bytes over b: a bus bandwidth of b (n-1)/(n-g).
 */
#include "collectives/algorithm.h"
#include "collectives/check/checker.h"
#include "collectives/collective.h"
#include "collectives/plan.h"
#include "net/network.h"
#include "sim/base/error.h"
#include "test/support/support.h"

static const rlt_algorithm *const algorithms[] = {&rlt_direct, &rlt_rail, &rlt_two_level, &rlt_pairwise};
enum { N_ALGORITHMS = sizeof algorithms / sizeof *algorithms };

static void proof(void **state)
{
    static const char *const machines[] = {
        "switch:4@300GB/s,500ns*rail:3@25GB/s,1us",
        "switch:4@300GB/s,500ns*rail:3@25GB/s,1us,pxn=off",
        "switch:8@300GB/s,500ns*fat-tree:4@25GB/s,1us,nics=4",
        "switch:8@300GB/s,500ns*fat-tree:4@25GB/s,1us,nics=4,planes=1",
        "switch:6@300GB/s,500ns*rail:2@25GB/s,1us,nics=2",
        "hgx-h100-8*rail:2@400Gbps,2us",
    };
    (void)state;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        for (int a = 0; a < N_ALGORITHMS; a++) {
            test_group s;
            test_group_open(&s, machines[i], 0);
            for (uint64_t bytes = 0; bytes < 3000; bytes += 1003) {
                rlt_coll_request req = rlt_group_request(&s.g, RLT_ALL_TO_ALL, bytes);
                rlt_plan plan;
                rlt_error err = {0};
                if (rlt_plan_create(algorithms[a], &req, &plan, &err) || rlt_plan_check(&plan, &err))
                    fail_msg("%s on %s: %s: %s", algorithms[a]->name, machines[i], err.where, err.what);
                rlt_plan_free(&plan);
            }
            test_group_close(&s);
        }
}

/* A node whose members are known without dimensions, as in a graph. */
static void nodes_without_dimensions(void **state)
{
    (void)state;
    for (int a = 1; a <= 2; a++) {
        rlt_coll_request req = {.kind = RLT_ALL_TO_ALL, .n = 12, .node = 4, .bytes = 12000};
        rlt_plan plan;
        rlt_error err = {0};
        assert_int_equal(rlt_plan_create(algorithms[a], &req, &plan, &err), 0);
        assert_int_equal(rlt_plan_check(&plan, &err), 0);
        rlt_plan_free(&plan);
        req.node = 12;
        assert_int_equal(rlt_plan_create(algorithms[a], &req, &plan, &err), RLT_ETOPOLOGY);
    }
}

static void bandwidth(void **state)
{
    static const struct {
        const char *topology;
        double b_GBps;
        uint32_t n, g;
    } rows[] = {
        {"switch:8@450GB/s,500ns*rail:2@50GB/s,500ns", 50, 16, 8},
        {"switch:8@450GB/s,500ns*rail:4@50GB/s,500ns", 50, 32, 8},
        {"switch:8@450GB/s,500ns*rail:16@50GB/s,500ns", 50, 128, 8},
        {"switch:8@450GB/s,500ns*rail:4@50GB/s,500ns,pxn=off", 50, 32, 8},
        {"switch:8@450GB/s,500ns*rail:4@50GB/s,500ns,nics=4", 25, 32, 8},
        {"switch:8@450GB/s,500ns*fat-tree:4@50GB/s,500ns,nics=4", 25, 32, 8},
        {"switch:8@450GB/s,500ns*fat-tree:4@50GB/s,500ns,nics=4,planes=1", 25, 32, 8},
        {"switch:8@450GB/s,500ns*rail:3@50GB/s,500ns,nics=2", 12.5, 24, 8},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int a = 0; a < 2; a++) {
            test_net net = {
                .topology = rows[i].topology, .model = &rlt_net_flow, .algorithm = algorithms[a]->name};
            uint64_t bytes = (uint64_t)1 << 30;
            uint32_t n = rows[i].n;
            test_run r = test_collective(&net, RLT_ALL_TO_ALL, bytes, NULL);
            double busbw = (double)bytes / (double)r.time_ps * 1e3 * (n - 1) / n,
                   form = rows[i].b_GBps * (n - 1) / (n - rows[i].g);
            /* rail: the first node's shares move inside alone */
            if (busbw < (a ? 0.9 : 0.999) * form || busbw > form ||
                (double)r.bound_ps < 0.99 * (double)r.time_ps * busbw / form)
                fail_msg("%s on %s: %.2f GB/s of %.2f", algorithms[a]->name, rows[i].topology, busbw, form);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proof),
        cmocka_unit_test(nodes_without_dimensions),
        cmocka_unit_test(bandwidth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
