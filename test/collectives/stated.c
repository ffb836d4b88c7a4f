/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Algorithms that a topology states, as the default choice of requests; statements that cannot hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/plan.h"
#include "collectives/stated.h"
#include "net/import/import.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"

/* Two nodes of four: without a statement an all-reduce is hierarchical. */
static rlt_topology *machine(const char *stated)
{
    char text[600];
    rlt_topology *t = NULL;
    rlt_error err = {0};
    snprintf(
        text, sizeof text,
        "{\"name\": \"m\", \"auto\": {%s}, \"dims\": [{\"shape\": \"switch\", \"size\": 4, \"bandwidth\": \"100GB/s\","
        " \"latency\": \"1us\"}, {\"shape\": \"switch\", \"size\": 2, \"bandwidth\": \"25GB/s\", \"latency\": \"1us\"}]}",
        stated);
    if (rlt_topology_read("m", text, strlen(text), NULL, &t, &err))
        fail_msg("%s: %s", err.where, err.what);
    return t;
}

static const rlt_algorithm *choice(const rlt_topology *t, rlt_coll_kind kind, uint64_t bytes)
{
    rlt_placement p = {.n = 8};
    rlt_group g;
    rlt_error err = {0};
    assert_int_equal(rlt_group_create(t, &p, NULL, 8, &g, &err), 0);
    rlt_coll_request req = rlt_group_request(&g, kind, bytes);
    req.topology = t;
    req.placement = &p;
    const rlt_algorithm *a = rlt_algorithm_choose(&req);
    rlt_group_free(&g);
    return a;
}

static void statements_win(void **state)
{
    (void)state;
    rlt_topology *t = machine("\"all_reduce\": \"tree:64KiB:ring\", \"all_to_all\": \"pairwise\"");
    assert_int_equal(rlt_stated_check(t, NULL), 0);
    assert_ptr_equal(choice(t, RLT_ALL_REDUCE, 65535), &rlt_tree);
    assert_ptr_equal(choice(t, RLT_ALL_REDUCE, 65536), &rlt_ring);
    assert_ptr_equal(choice(t, RLT_ALL_TO_ALL, 8), &rlt_pairwise);
    assert_ptr_equal(choice(t, RLT_ALL_GATHER, 8), &rlt_hierarchical);
    rlt_topology_free(t);
    t = machine("\"all_reduce\": \"auto:1MiB:ring\"");
    assert_int_equal(rlt_stated_check(t, NULL), 0);
    assert_ptr_equal(choice(t, RLT_ALL_REDUCE, 1 << 19), &rlt_hierarchical);
    assert_ptr_equal(choice(t, RLT_ALL_REDUCE, 1 << 20), &rlt_ring);
    rlt_topology_free(t);
}

/* A stated algorithm that cannot do the request gives way to the usual choice. */
static void statements_that_cannot_hold(void **state)
{
    (void)state;
    rlt_topology *t = machine("\"all_reduce\": \"nvls\"");
    assert_ptr_equal(choice(t, RLT_ALL_REDUCE, 1 << 20), &rlt_hierarchical);
    rlt_topology_free(t);
    static const char *const wrong[][2] = {
        {"\"all_reduce\": \"rign\"", "did you mean 'ring'"},
        {"\"all_reduces\": \"ring\"", "all_reduce, reduce_scatter"},
        {"\"all_reduce\": \"bruck\"", "bruck does not support all_reduce"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rlt_error err = {0};
        t = machine(wrong[i][0]);
        assert_int_equal(rlt_stated_check(t, &err), RLT_ESCHEMA);
        if (!strstr(err.what, wrong[i][1]) || !strstr(err.where, "m: auto.all_reduce"))
            fail_msg("%s: %s: %s", wrong[i][0], err.where, err.what);
        rlt_topology_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statements_win),
        cmocka_unit_test(statements_that_cannot_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
