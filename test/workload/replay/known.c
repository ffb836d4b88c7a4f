/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A timing that remembers collectives, against one that has seen none: random requests that differ in kind, bytes,
 * root, members, grid, axes with patterns of their own and shapes. Reactive protocols and rules are refused.
 */
#include <stdio.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/in_network/reactive.h"
#include "net/import/import.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "workload/replay/alone.h"
#include "workload/replay/replay.h"
#include "workload/timing/timing.h"

enum { NODES = 12, MEMBERS = 6 };

/* Draws a group of one rank a node, and sometimes the nodes out of order; and its grid. */
static rlt_coll_request draw(dice *k, rlt_group *g, const rlt_topology *t, const rlt_placement *where,
                             const rlt_replay_options *o, uint32_t ranks[MEMBERS])
{
    static const char *const shapes[] = {"switch", "ring", "fully-connected"};
    static const rlt_coll_kind kinds[] = {RLT_ALL_REDUCE, RLT_ALL_GATHER, RLT_REDUCE_SCATTER, RLT_ALL_TO_ALL,
                                          RLT_BROADCAST};
    rlt_error err = {0};
    uint32_t start = below(k, 2), step = 1 + below(k, 2);
    for (uint32_t i = 0; i < MEMBERS; i++)
        ranks[i] = 2 * (start + i * step) % (2 * NODES);
    if (below(k, 2)) {
        uint32_t last = ranks[MEMBERS - 1];
        ranks[MEMBERS - 1] = ranks[1];
        ranks[1] = last;
    }
    *g = (rlt_group){0};
    assert_int_equal(rlt_group_create(t, where, ranks, MEMBERS, g, &err), 0);
    rlt_coll_request req = rlt_group_request(g, kinds[below(k, 5)], (1 + below(k, 2)) << 20);
    req.root = req.kind == RLT_BROADCAST ? below(k, MEMBERS) : 0;
    req.endpoint = &o->endpoint;
    if (below(k, 3) == 0) {
        req.n_dims = 2;
        req.dims[0] = 2 + below(k, 2);
        req.dims[1] = MEMBERS / req.dims[0];
        req.axes[0] = below(k, 2) ? 1 : RLT_NONE;
        req.axes[1] = below(k, 2) ? 1 : RLT_NONE;
    }
    for (uint32_t d = 0; d < req.n_dims; d++)
        req.shapes[d] = shapes[below(k, 3)];
    rlt_request_params(&req, &o->params);
    return req;
}

static void random_requests(void **state)
{
    static const char *const networks[] = {
        "switch:2@300GB/s,100ns*switch:12@50GB/s,500ns",
        "switch:2@300GB/s,100ns*fat-tree:12@50GB/s,500ns,hosts_per_leaf=4"};
    uint32_t patterns = 0, distinct = 0, n = 0;
    rlt_time before = 0;
    (void)state;
    while (rlt_pattern_name(patterns))
        patterns++;
    for (uint32_t c = 0; c < 12; c++) {
        dice k = {.seed = 300 + c};
        rlt_error err = {0};
        rlt_topology *t = NULL;
        rlt_timing *shared = NULL;
        rlt_replay_options o = rlt_replay_options_default();
        rlt_placement where = {.n = 2 * NODES};
        assert_int_equal(rlt_topology_load(networks[c % 2], NULL, &t, &err), 0);
        o.topology = t;
        o.endpoint = *rlt_topology_endpoint(t);
        o.algorithm_where_able = true;
        for (int i = 0; i < RLT_COLL_KINDS; i++)
            o.algorithm[i] = rlt_algorithm_find("hierarchical", &err);
        o.params.patterns[1] = below(&k, 4) ? rlt_pattern_name(below(&k, patterns)) : NULL;
        assert_int_equal(rlt_timing_alone(&o, &shared, &err), 0);
        for (uint32_t i = 0; i < 60; i++) {
            rlt_timing *own = NULL;
            rlt_group g;
            uint32_t ranks[MEMBERS];
            rlt_coll_request req = draw(&k, &g, t, &where, &o, ranks);
            rlt_time known = -1, simulated = -2;
            rlt_error why = {0}, alike = {0};
            assert_int_equal(rlt_timing_alone(&o, &own, &err), 0);
            int rc = own->duration(own, &req, &simulated, &why);
            assert_int_equal(shared->duration(shared, &req, &known, &alike), rc);
            assert_string_equal(alike.what, why.what);
            if (!rc && known != simulated)
                fail_msg("case %u, request %u, %s: %lld ps remembered, %lld simulated", c, i,
                         rlt_coll_name(req.kind), (long long)known, (long long)simulated);
            n += !rc;
            distinct += !rc && simulated != before;
            before = simulated;
            rlt_timing_free(own);
            rlt_group_free(&g);
        }
        rlt_timing_free(shared);
        rlt_topology_free(t);
    }
    print_message("%u of %u requests take another time than the one before\n", distinct, n);
    assert_true(n > 500 && distinct > n / 2);
}

static void refused(void **state)
{
    static const rlt_reacting reacting;
    static const rlt_algorithm_rule rule = {.kind = RLT_ALL_REDUCE, .algorithm = &rlt_ring};
    rlt_error err = {0};
    rlt_topology *t = NULL;
    rlt_timing *timing = NULL;
    (void)state;
    assert_int_equal(rlt_topology_load("switch:4@300GB/s,500ns", NULL, &t, &err), 0);
    for (int k = 0; k <= RLT_COLL_KINDS; k++) {
        rlt_replay_options o = rlt_replay_options_default();
        o.topology = t;
        if (k < RLT_COLL_KINDS)
            o.reacting[k] = &reacting;
        o.rules = &rule;
        o.n_rules = k == RLT_COLL_KINDS;
        err = (rlt_error){0};
        timing = (rlt_timing *)&o;
        assert_int_equal(rlt_timing_alone(&o, &timing, &err), RLT_EUNSUPPORTED);
        assert_null(timing);
        assert_string_equal(err.what,
                            "collectives are timed alone with one algorithm per kind: rules and reactive "
                            "protocols are not supported");
    }
    rlt_topology_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_requests), cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
