/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The k-th allocation fails, for each k, while a group is formed, while a collective is planned, folded
 * and run, and while several run at once: it ends when it would, or says that there is no memory; and all
 * memory is given back.
 */
#include "test/support/failing.h"

#include <stdio.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "collectives/fold.h"
#include "collectives/plan.h"
#include "collectives/relay.h"
#include "net/endpoint/endpoint.h"
#include "net/import/import.h"
#include "net/network.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"

typedef struct task {
    const char *topology, *algorithm;
    rlt_coll_kind kind;
    uint32_t n, chunks, together; /* collectives at once; 0: one, folded */
    bool alpha_beta;
} task;

/* Borrowed from the outside of the task, which only looks at the executor's part. */
static rlt_topology *topology;
static rlt_placement place;
static rlt_router *router;
static rlt_group group;

static int run_plan(const task *t, const rlt_plan *plan, const rlt_fold *fold, uint64_t *result,
                    rlt_error *err)
{
    rlt_sim *sim = NULL;
    rlt_exec *x = NULL;
    int rc = rlt_sim_create(&sim, err);
    rlt_net_config cfg = {.sim = sim,
                          .router = router,
                          .endpoint = *rlt_topology_endpoint(topology),
                          .bandwidth_scale = 1,
                          .latency_scale = 1,
                          .fold = fold ? &fold->net : NULL,
                          .orderly = t->alpha_beta};
    if (!rc)
        rc = rlt_exec_create(t->alpha_beta ? &rlt_net_alpha_beta : &rlt_net_flow, &cfg, &x, err);
    for (uint32_t i = 0; !rc && i < (fold ? 1 : t->together); i++) {
        uint32_t id = rlt_exec_add_folded(x, plan, fold, NULL, i, 0);
        if (id == RLT_NONE)
            break;
        rlt_exec_arrive_all(x, id);
    }
    if (!rc)
        rc = rlt_sim_run(sim, RLT_TIME_MAX, err);
    if (!rc)
        *result = (uint64_t)rlt_sim_now(sim) + rlt_exec_pending(x, NULL, 0);
    rlt_exec_free(x);
    rlt_sim_free(sim);
    return rc;
}

static int plan_and_run(const void *what, uint64_t *result, rlt_error *err)
{
    const task *t = what;
    rlt_plan plan = {0};
    rlt_fold fold = {0};
    rlt_fold_options how = {.percent = RLT_FOLD_ANYWAY, .serialises = t->alpha_beta};
    rlt_coll_request req = rlt_group_request(&group, t->kind, 1 << 20);
    req.params.chunks = t->chunks;
    int rc = rlt_plan_create(rlt_algorithm_find(t->algorithm, NULL), &req, &plan, err);
    if (!rc && !t->together)
        rc = rlt_fold_create(&plan, router, &how, &fold, err);
    if (!rc)
        rc = run_plan(t, &plan, t->together ? NULL : &fold, result, err);
    rlt_fold_free(&fold);
    rlt_plan_free(&plan);
    return rc;
}

static void collectives_without_memory(void **state)
{
    static const char nodes[] = "switch:4@200GB/s,500ns,in_network=reduce+multicast*"
                                "switch:2@50GB/s,1us,in_network=reduce+multicast";
    static const char graph[] =
        "{\"nodes\":[{\"id\":\"a\",\"kind\":\"accelerator\",\"count\":3},{\"id\":\"s\",\"kind\":\"switch\"}],"
        "\"links\":[{\"src\":\"a0\",\"dst\":\"s\",\"bandwidth\":\"20GB/s\",\"latency\":\"1us\"},"
        "{\"src\":\"a1\",\"dst\":\"s\",\"bandwidth\":\"20GB/s\",\"latency\":\"1us\"},"
        "{\"src\":\"a2\",\"dst\":\"s\",\"bandwidth\":\"20GB/s\",\"latency\":\"1us\"}]}";
    static const task tasks[] = {
        {nodes, "nvls_tree", RLT_ALL_REDUCE, 8, 4, 2, false},
        {nodes, "hierarchical", RLT_ALL_REDUCE, 8, 8, 3, true},
        {nodes, "direct", RLT_ALL_TO_ALL, 8, 0, 1, true},
        {nodes, "hierarchical", RLT_ALL_REDUCE, 8, 4, 0, false},
        {"ring:8@50GB/s,500ns", "ring", RLT_ALL_REDUCE, 8, 1, 0, false},
        {"switch:8@50GB/s,500ns", "direct", RLT_REDUCE, 8, 0, 0, false}, /* by refinement */
        {"fat-tree:16@50GB/s,500ns,levels=2,hosts_per_leaf=4", "ring", RLT_ALL_GATHER, 16, 2, 0, false},
        {"fat-tree:16@50GB/s,500ns,levels=2,hosts_per_leaf=4", "pairwise", RLT_ALL_TO_ALL, 8, 0, 2, false},
        {"torus:2x3@50GB/s,500ns", "tacos", RLT_ALL_REDUCE, 6, 2, 1, false},
        {graph, "tacos", RLT_ALL_GATHER, 3, 1, 1, false},
    };
    unsigned long failed = 0;
    (void)state;
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        rlt_error err = {0};
        uint32_t n = tasks[i].n;
        assert_int_equal(rlt_topology_load(tasks[i].topology, NULL, &topology, &err), 0);
        assert_int_equal(rlt_placement_identity(topology, n, &place, &err), 0);
        assert_int_equal(rlt_router_create(topology, &place, RLT_ROUTE_DMODK, &router, &err), 0);
        assert_int_equal(rlt_group_create(topology, &place, NULL, n, &group, &err), 0);
        failed += test_each_allocation(tasks[i].algorithm, plan_and_run, &tasks[i], false);
        rlt_group_free(&group);
        rlt_router_free(router);
        rlt_placement_free(&place);
        rlt_topology_free(topology);
    }
    printf("# %lu allocations failed\n", failed);
    assert_true(!TEST_COUNTED || failed > 200);
}

/* The closed form of a ring. */
static int pass_round(const void *what, uint64_t *result, rlt_error *err)
{
    rlt_sim *sim = NULL;
    rlt_plan plan = {0};
    rlt_coll_request req = rlt_group_request(&group, RLT_ALL_REDUCE, 1 << 20);
    rlt_time time_ps = 0;
    (void)what;
    req.params.channels = 1;
    int rc = rlt_plan_create(&rlt_ring, &req, &plan, err);
    if (!rc)
        rc = rlt_sim_create(&sim, err);
    rlt_net_config cfg = {.sim = sim,
                          .router = router,
                          .endpoint = *rlt_topology_endpoint(topology),
                          .bandwidth_scale = 1,
                          .latency_scale = 1};
    if (!rc)
        rc = rlt__relay_time(&plan, &rlt_net_flow, &cfg, &time_ps, err);
    *result = (uint64_t)time_ps;
    rlt_sim_free(sim);
    rlt_plan_free(&plan);
    return rc;
}

static void relays_without_memory(void **state)
{
    static const char *const networks[] = {"switch:6@50GB/s,500ns", "switch:2@50GB/s,0ns*switch:3@1GB/s,5ns"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        rlt_error err = {0};
        assert_int_equal(rlt_topology_load(networks[i], NULL, &topology, &err), 0);
        place = (rlt_placement){.n = 6};
        assert_int_equal(rlt_router_create(topology, &place, RLT_ROUTE_DMODK, &router, &err), 0);
        assert_int_equal(rlt_group_create(topology, &place, NULL, 6, &group, &err), 0);
        unsigned long failed = test_each_allocation("relay", pass_round, NULL, false);
        assert_true(!TEST_COUNTED || failed > 20);
        rlt_group_free(&group);
        rlt_router_free(router);
        rlt_topology_free(topology);
    }
}

/* The ranks of a group, its nodes, and its share of rings that a file recommends. */
static int form_group(const void *what, uint64_t *result, rlt_error *err)
{
    static const uint32_t ranks[] = {3, 0, 2};
    rlt_group g;
    (void)what;
    int rc = rlt_group_create(topology, &place, ranks, 3, &g, err);
    *result = rc ? 0 : g.n_rings + 10 * g.rings[1][0] + 100 * g.node;
    rlt_group_free(&g);
    return rc;
}

static void groups_without_memory(void **state)
{
    static const char graph[] =
        "{\"nodes\":[{\"id\":\"s\",\"kind\":\"switch\"},{\"id\":\"g\",\"count\":4,\"kind\":\"accelerator\"}],"
        "\"links\":["
        "{\"src\":\"g0\",\"dst\":\"s\",\"bandwidth\":\"1GB/s\",\"latency\":\"1us\"},"
        "{\"src\":\"g1\",\"dst\":\"s\",\"bandwidth\":\"1GB/s\",\"latency\":\"1us\"},"
        "{\"src\":\"g2\",\"dst\":\"s\",\"bandwidth\":\"1GB/s\",\"latency\":\"1us\"},"
        "{\"src\":\"g3\",\"dst\":\"s\",\"bandwidth\":\"1GB/s\",\"latency\":\"1us\"}],"
        "\"rings\":[[0,1,2,3],[3,1,0,2]]}";
    rlt_error err = {0};
    (void)state;
    if (rlt_topology_load(graph, NULL, &topology, &err))
        fail_msg("%s: %s", err.where, err.what);
    place = (rlt_placement){.n = 4};
    unsigned long failed = test_each_allocation("group", form_group, NULL, false);
    assert_true(!TEST_COUNTED || failed > 6);
    rlt_topology_free(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(collectives_without_memory),
                                       cmocka_unit_test(relays_without_memory),
                                       cmocka_unit_test(groups_without_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
