/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks and runs an all-reduce: collective TOPOLOGY ALGORITHM BYTES prints its time and its lower bound. */
#include <stdio.h>
#include <stdlib.h>

#include "collectives/algorithm.h"
#include "collectives/bound.h"
#include "collectives/check/checker.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "collectives/plan.h"
#include "net/import/import.h"
#include "net/network.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"

static int run(const rlt_plan *plan, rlt_router *router, rlt_time *time_ps, rlt_error *err)
{
    rlt_sim *sim = NULL;
    rlt_exec *exec = NULL;
    rlt_exec_client nobody = {0};
    int rc = rlt_sim_create(&sim, err);
    rlt_net_config net = {.sim = sim, .router = router, .bandwidth_scale = 1, .latency_scale = 1};
    net.endpoint = *rlt_topology_endpoint(rlt_router_topology(router));
    if (!rc)
        rc = rlt_exec_create(&rlt_net_flow, &net, &exec, err);
    if (!rc) {
        rlt_exec_arrive_all(exec, rlt_exec_add(exec, plan, &nobody, 0, 0));
        rc = rlt_sim_run(sim, RLT_TIME_MAX, err);
        *time_ps = rlt_sim_now(sim);
    }
    rlt_exec_free(exec);
    rlt_sim_free(sim);
    return rc;
}

int main(int argc, char **argv)
{
    rlt_error err = {0};
    rlt_topology *topology = NULL;
    rlt_placement placement = {0};
    rlt_group group = {0};
    rlt_plan plan = {0};
    rlt_router *router = NULL;
    rlt_bound bound = {0};
    rlt_time time_ps = 0;
    if (argc != 4)
        return 2;
    const rlt_algorithm *algorithm = rlt_algorithm_find(argv[2], &err);
    int rc = algorithm ? rlt_topology_load(argv[1], NULL, &topology, &err) : err.code;
    uint32_t n = rc ? 0 : rlt_topology_accelerators(topology);
    if (!rc && !(rc = rlt_placement_identity(topology, n, &placement, &err)) &&
        !(rc = rlt_group_create(topology, &placement, NULL, n, &group, &err))) {
        rlt_coll_request request = rlt_group_request(&group, RLT_ALL_REDUCE, strtoull(argv[3], NULL, 10));
        rc = rlt_plan_create(algorithm, &request, &plan, &err);
    }
    if (!rc && !(rc = rlt_plan_check(&plan, &err)) &&
        !(rc = rlt_router_create(topology, &placement, RLT_ROUTE_DMODK, &router, &err)) &&
        !(rc = rlt_plan_bound(&plan, router, 1, 1, &bound, &err)) &&
        !(rc = run(&plan, router, &time_ps, &err)))
        printf("%s: %lld ps, bound %lld ps\n", argv[2], (long long)time_ps, (long long)bound.time_ps);
    if (rc)
        fprintf(stderr, "%s: %s\n", err.where, err.what);
    rlt_plan_free(&plan);
    rlt_router_free(router);
    rlt_group_free(&group);
    rlt_placement_free(&placement);
    rlt_topology_free(topology);
    return rc ? 1 : 0;
}
