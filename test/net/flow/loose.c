/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Links whose rounding is not carried on (rlt_maxmin_drain): those that some route crosses with another of their
 * kind, and no others. Random messages over networks whose routes have one kind of link, or several.
 */
#include <stdio.h>

#include "net/endpoint/endpoint.h"
#include "net/flow/internal.h"
#include "net/flow/maxmin.h"
#include "net/import/import.h"
#include "net/network.h"
#include "net/network_internal.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "test/support/dice.h"
#include "test/support/support.h"

enum { MOST_LINKS = 512, MESSAGES = 30, CASES = 40 };

static void nothing(void *ctx, uint64_t tx)
{
    (void)ctx, (void)tx;
}

static void nothing_either(void *ctx, uint64_t tx, uint64_t rx)
{
    (void)ctx, (void)tx, (void)rx;
}

static void same_kinds(const char *spec, uint64_t seed, uint32_t counted[2])
{
    dice d = {.seed = seed};
    bool loose[MOST_LINKS] = {false};
    rlt_topology *t = NULL;
    rlt_placement place;
    rlt_router *router = NULL, *other = NULL;
    rlt_sim *sim = NULL;
    rlt_net *net = NULL;
    rlt_error err = {0};
    if (rlt_topology_load(spec, NULL, &t, &err))
        fail_msg("%s: %s", err.where, err.what);
    uint32_t ranks = rlt_topology_accelerators(t), links = rlt_topology_links(t);
    rlt_routing routing = below(&d, 2) ? RLT_ROUTE_ECMP : RLT_ROUTE_DMODK;
    assert_in_range(links, 1, MOST_LINKS);
    assert_int_equal(rlt_placement_identity(t, ranks, &place, NULL), 0);
    assert_int_equal(rlt_router_create(t, &place, routing, &router, NULL), 0);
    assert_int_equal(rlt_router_create(t, &place, routing, &other, NULL), 0);
    assert_int_equal(rlt_sim_create(&sim, NULL), 0);
    rlt_net_config cfg = {.sim = sim,
                          .router = router,
                          .endpoint = rlt_endpoint_default(),
                          .bandwidth_scale = 1,
                          .latency_scale = 1,
                          .client = {NULL, nothing, nothing_either}};
    assert_int_equal(rlt_net_flow.create(&cfg, &net, NULL), 0);
    const rlt_maxmin *mm = ((const rlt__flow_net *)(const void *)net)->mm;
    for (uint32_t i = 0; i < 1 + below(&d, MESSAGES); i++) {
        rlt_message m = {.src = below(&d, ranks),
                         .dst = below(&d, ranks),
                         .bytes = 1 + below(&d, 1000),
                         .route_key = rlt_route_key(below(&d, 2), below(&d, 3)),
                         .tx = i,
                         .rx = i};
        rlt_path p;
        (void)rlt_net_send(net, &m);
        assert_int_equal(rlt_route(other, m.src, m.dst, m.route_key, &p), 0);
        for (uint32_t a = 0; a < p.n; a++)
            for (uint32_t b = 0; b < p.n; b++)
                if (a != b && mm->kind[p.links[a]] == mm->kind[p.links[b]])
                    loose[p.links[a]] = true;
        if (below(&d, 3) == 0)
            assert_int_equal(rlt_sim_run(sim, RLT_TIME_MAX, NULL), 0);
    }
    assert_int_equal(rlt_sim_run(sim, RLT_TIME_MAX, NULL), 0);
    for (uint32_t i = 0; i < links; i++) {
        if (mm->loose[i] != loose[i])
            fail_msg("%s, seed %u: link %u", spec, (unsigned)seed, i);
        counted[loose[i]]++;
    }
    rlt_net_free(net);
    rlt_sim_free(sim);
    rlt_router_free(other);
    rlt_router_free(router);
    rlt_placement_free(&place);
    rlt_topology_free(t);
}

static void links_of_one_kind(void **state)
{
    static const char *const specs[] = {
        "ring:7@10GB/s,100ns",
        "torus:3x4@10GB/s,100ns",
        "switch:4@10GB/s,100ns",
        "switch:3@10GB/s,100ns*ring:3@5GB/s,1us",
        "mesh:3@10GB/s,100ns*switch:2@5GB/s,1us",
        "fat-tree:8@10GB/s,100ns,hosts_per_leaf=2,spines=2",
        "fat-tree:8@10GB/s,100ns,levels=3,hosts_per_leaf=2,leaves_per_pod=2,spines=2,cores=2"};
    uint32_t counted[2] = {0};
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        for (uint64_t seed = 1; seed <= CASES; seed++)
            same_kinds(specs[i], seed, counted);
    assert_true(counted[0] > 1000 && counted[1] > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(links_of_one_kind)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
