/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Helpers for test programs: CMocka's includes, and one collective run on a network in compact form. */
#ifndef RLT_TEST_SUPPORT_SUPPORT_H
#define RLT_TEST_SUPPORT_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collectives/algorithm.h"
#include "collectives/bound.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "collectives/plan.h"
#include "net/endpoint/endpoint.h"
#include "net/import/import.h"
#include "net/network.h"
#include "net/packet/packet.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"

/* The first `ranks` ranks (0: all) of a topology given by name or text. */
typedef struct test_group {
    rlt_topology *t;
    rlt_placement p;
    rlt_group g;
} test_group;

static inline void test_group_open(test_group *s, const char *topology, uint32_t ranks)
{
    rlt_error err = {0};
    if (rlt_topology_load(topology, "topologies", &s->t, &err) < 0)
        fail_msg("%s: %s", err.where, err.what);
    uint32_t n = ranks ? ranks : rlt_topology_accelerators(s->t);
    assert_int_equal(rlt_placement_identity(s->t, n, &s->p, &err), 0);
    assert_int_equal(rlt_group_create(s->t, &s->p, NULL, n, &s->g, &err), 0);
}

static inline void test_group_close(test_group *s)
{
    rlt_group_free(&s->g);
    rlt_placement_free(&s->p);
    rlt_topology_free(s->t);
}

typedef struct test_run {
    rlt_time time_ps, bound_ps;
    uint64_t messages, offered, delivered, events;
    double max_utilization;
    int rc;
    rlt_error err;
} test_run;

typedef struct test_net {
    const char *topology;
    const rlt_net_model *model;
    rlt_routing routing;
    rlt_injection injection;
    const char *algorithm; /* NULL: selected automatically */
    uint32_t ranks;        /* 0: all accelerators */
    uint32_t channels, chunks, window, directions;
    const char *patterns[RLT_MAX_DIMS]; /* pattern per dimension of the topology */
    uint32_t root, servers;
    const rlt_endpoint *endpoint; /* NULL: that of the topology; its injection rule is not used */
    uint32_t element;
    const rlt_packet_settings *packet; /* NULL: the defaults */
} test_net;

/* Runs a collective that was added to an executor to its end, and reads its totals. Returns its network. */
static inline const rlt_net *test_to_end(rlt_sim *sim, rlt_exec *x, uint32_t id, test_run *out)
{
    char text[200];
    assert_int_not_equal(id, RLT_NONE);
    rlt_exec_arrive_all(x, id);
    out->rc = rlt_sim_run(sim, RLT_TIME_MAX, &out->err);
    if (out->rc)
        fail_msg("%s: %s", out->err.where, out->err.what);
    assert_int_equal(rlt_exec_pending(x, text, sizeof text), 0);
    rlt_net *net = rlt_exec_net(x);
    rlt_net_settle(net);
    out->time_ps = rlt_sim_now(sim);
    out->messages = net->messages;
    out->offered = net->bytes_offered;
    out->delivered = net->bytes_delivered;
    out->events = rlt_sim_events(sim);
    return net;
}

/* Runs `kind` with `bytes` to its end; asserts that every account balances. */
static inline test_run test_collective(const test_net *n, rlt_coll_kind kind, uint64_t bytes,
                                       const uint64_t *counts)
{
    test_run out = {0};
    test_group s;
    rlt_router *router = NULL;
    rlt_sim *sim = NULL;
    rlt_exec *x = NULL;
    rlt_plan plan = {0};
    rlt_bound bound = {0};
    rlt_exec_client client = {0};
    const rlt_algorithm *algorithm = NULL;
    test_group_open(&s, n->topology, n->ranks);
    assert_int_equal(rlt_router_create(s.t, &s.p, n->routing, &router, &out.err), 0);
    assert_int_equal(rlt_sim_create(&sim, &out.err), 0);
    rlt_net_config cfg = {.sim = sim,
                          .router = router,
                          .endpoint = *rlt_topology_endpoint(s.t),
                          .bandwidth_scale = 1,
                          .latency_scale = 1,
                          .packet = n->packet};
    if (n->endpoint)
        cfg.endpoint = *n->endpoint;
    cfg.endpoint.injection = n->injection;
    if (rlt_exec_create(n->model, &cfg, &x, &out.err) < 0)
        fail_msg("%s: %s", out.err.where, out.err.what);
    rlt_coll_request req = rlt_group_request(&s.g, kind, bytes);
    req.counts = counts;
    req.params.channels = n->channels;
    req.params.chunks = n->chunks;
    req.params.window = n->window;
    req.params.directions = n->directions;
    rlt_request_patterns(&req, n->patterns);
    req.root = n->root;
    req.params.servers = n->servers;
    req.element = n->element;
    req.endpoint = n->endpoint;
    if (n->algorithm) {
        algorithm = rlt_algorithm_find(n->algorithm, &out.err);
        assert_non_null(algorithm);
    }
    if (rlt_plan_create(algorithm, &req, &plan, &out.err) < 0)
        fail_msg("%s: %s", out.err.where, out.err.what);
    const rlt_net *net = test_to_end(sim, x, rlt_exec_add(x, &plan, &client, 0, 0), &out);
    assert_int_equal(out.offered + net->bytes_replicated, out.delivered + net->bytes_absorbed);
    assert_int_equal(rlt_plan_bound(&plan, router, 1, 1, &bound, &out.err), 0);
    out.bound_ps = rlt_bound_under(&bound, n->model);
    assert_true(out.time_ps >= out.bound_ps);
    for (uint32_t i = 0; i < rlt_topology_links(s.t); i++) {
        rlt_link_usage u = rlt_usage_link(net->usage, i);
        assert_true(u.active_ps <= out.time_ps);
        double utilization = out.time_ps ? (double)u.busy_ps / (double)out.time_ps : 0;
        if (utilization > out.max_utilization)
            out.max_utilization = utilization;
    }
    if (n->model == &rlt_net_flow)
        assert_true(out.max_utilization <= 1.0);
    rlt_plan_free(&plan);
    rlt_exec_free(x);
    rlt_sim_free(sim);
    rlt_router_free(router);
    test_group_close(&s);
    return out;
}

/* Makes a request of all members of a grid; 0 ends the list of its sizes. */
static inline rlt_coll_request test_grid_request(const uint32_t *grid, rlt_coll_kind kind, uint64_t bytes)
{
    rlt_coll_request req = {.kind = kind, .n = 1, .bytes = bytes};
    for (; grid[req.n_dims]; req.n_dims++) {
        req.dims[req.n_dims] = grid[req.n_dims];
        req.n *= grid[req.n_dims];
    }
    return req;
}

#endif
