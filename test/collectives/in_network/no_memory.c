/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The k-th allocation fails, for each k: in each protocol of in-network aggregation from its request to its
 * end, in Libra's choice of hot parameters, in tables of floating-point numbers, and in sums. The result is
 * the same, or there is no memory; and all memory is given back.
 */
#include "test/support/failing.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "collectives/in_network/libra/float_tables.h"
#include "collectives/in_network/libra/place.h"
#include "collectives/in_network/libra/quantise.h"
#include "collectives/in_network/libra/workload.h"
#include "collectives/in_network/reactive.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "test/support/networks/fabric.h"
#include "test/support/networks/leaves.h"

/* Borrowed by the tasks, made outside of them. */
static rlt_topology *topology;
static rlt_placement place;

static int run_protocol(const void *what, uint64_t *result, rlt_error *err)
{
    rlt_fabric_config cfg = test_fabric_config();
    rlt_fabric *f = NULL;
    uint32_t job = 0;
    cfg.packets.topology = topology;
    cfg.placement = &place;
    int rc = rlt_fabric_create(&cfg, &f, err);
    if (!rc)
        rc = rlt_fabric_add(f, what, &job, err);
    if (!rc)
        rc = rlt_fabric_run(f, err);
    *result = rc ? 0 : (uint64_t)rlt_fabric_end(f);
    rlt_fabric_free(f);
    return rc;
}

static void protocols(void **state)
{
    static const test_leaves net = {.workers = 4,
                                    .leaves = 2,
                                    .spines = 1,
                                    .leaf_can = "reduce+multicast",
                                    .spine_can = "reduce+multicast"};
    unsigned long failed = 0;
    uint32_t n = 0;
    (void)state;
    topology = test_leaves_build(&net);
    assert_int_equal(rlt_placement_identity(topology, 4, &place, NULL), 0);
    for (uint32_t i = 0; rlt_reactive_at(i); i++) {
        const char *name = rlt_reactive_name(rlt_reactive_at(i));
        rlt_react_request q = test_request(name, "", rlt_reactive_can(rlt_reactive_at(i)) ? 4 : 3, 20000);
        rlt_error err = {0};
        uint64_t end;
        if (!rlt_reactive_does(q.protocol, RLT_ALL_REDUCE) || run_protocol(&q, &end, &err))
            continue;
        failed += test_each_allocation(name, run_protocol, &q, false);
        n++;
    }
    rlt_placement_free(&place);
    rlt_topology_free(topology);
    printf("# %u protocols, %lu allocations failed\n", n, failed);
    assert_true(n >= 4 && (failed > 200 || !TEST_COUNTED));
}

static int choose_hot(const void *what, uint64_t *result, rlt_error *err)
{
    rlt_skew k = {0};
    rlt_hot_set h = {0};
    rlt_hot_layout l = {0};
    const rlt_hot_request q = {.workers = 4, .updates = 20, .steps = 30, .sampled = 0.5, .hot = 6};
    int rc = rlt_skew_parse(what, strlen(what), "counts", &k, err);
    if (!rc)
        rc = rlt_hot_find(&k, &q, &h, err);
    *result = rc ? 0 : rlt_hash_bytes(h.ranks, h.n * sizeof *h.ranks, h.n);
    if (!rc)
        rc = rlt_hot_place(h.n, 3, 2, RLT_PLACE_RANDOM, 1, &l, err);
    rlt_hot_layout_free(&l);
    rlt_hot_free(&h);
    rlt_skew_free(&k);
    return rc;
}

static int make_tables(const void *what, uint64_t *result, rlt_error *err)
{
    static const rlt_float_shape shape = {5, 10, 5, 6, 4, 4, 4};
    rlt_float_tables t = {0};
    (void)what;
    int rc = rlt_float_tables_create(&shape, &t, err);
    *result = rc ? 0 : rlt_hash_bytes(t.plus, t.n_plus * sizeof *t.plus, t.bytes);
    rlt_float_tables_free(&t);
    return rc;
}

static int add_up(const void *what, uint64_t *result, rlt_error *err)
{
    static const float values[] = {1, 2, 3}, *const x[] = {values, values};
    double sum[3] = {0};
    rlt_num_report r;
    int rc = rlt_num_sum(what, 2, 3, x, sum, &r, err);
    *result = rc ? 0 : rlt_hash_bytes(sum, sizeof sum, r.table_bytes);
    return rc;
}

static void hot_parameters(void **state)
{
    (void)state;
    assert_true(test_each_allocation("hot", choose_hot, "90\n40\n30\n20\n10\n5\n5\n5\n5\n5\n1\n", false) >
                    4 ||
                !TEST_COUNTED);
    assert_true(test_each_allocation("tables", make_tables, NULL, false) == 4 || !TEST_COUNTED);
    const rlt_num_config native = {.mode = RLT_NUM_NATIVE}, wide = {.mode = RLT_NUM_TABLE32};
    assert_true(test_each_allocation("native", add_up, &native, false) == 1 || !TEST_COUNTED);
    assert_true(test_each_allocation("table32", add_up, &wide, false) == 5 || !TEST_COUNTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(protocols), cmocka_unit_test(hot_parameters)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
