/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Schedules of chunks over dimensions: every plan through the symbolic checker, one queue per dimension, and
 * no deadlock whenever members arrive and however slow their links are. Times are tested in
 * test/cli/coll/themis.sh.
 */
#include <stdio.h>

#include "collectives/algorithm.h"
#include "collectives/algorithms/grid.h"
#include "collectives/check/checker.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "collectives/plan.h"
#include "net/endpoint/endpoint.h"
#include "net/network.h"
#include "net/route.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "test/support/support.h"

/* Groups of 2 to 64 members in 2 to 4 dimensions; their bandwidths lead to all kinds of orders. */
static const char *const nets[] = {
    "switch:2@100GB/s,10ns*switch:1@100GB/s,10ns",
    "switch:2@100GB/s,10ns*switch:3@300GB/s,10ns",
    "ring:5@100GB/s,10ns*switch:4@20GB/s,10ns",
    "switch:8@100GB/s,10ns*switch:8@100GB/s,10ns",
    "ring:3@10GB/s,10ns*switch:2@40GB/s,10ns*fully-connected:4@90GB/s,10ns",
    "switch:4@30GB/s,10ns*switch:4@90GB/s,10ns*switch:4@270GB/s,10ns",
    "switch:2@10GB/s,10ns*switch:2@50GB/s,10ns*switch:2@20GB/s,10ns*switch:2@40GB/s,10ns",
    "switch:2@40GB/s,10ns*ring:3@10GB/s,10ns*switch:2@50GB/s,10ns*switch:4@20GB/s,10ns",
    "switch:2@100GB/s,10ns*switch:4@100GB/s,10ns*switch:4@100GB/s,10ns*switch:2@100GB/s,10ns",
};
enum { N_NETS = sizeof nets / sizeof nets[0] };
static const char *const patterns[] = {NULL, "ring", "direct", "halving_doubling", "recursive_doubling"};

/* Request c of a network: parameters, patterns and schedule vary with c. */
static rlt_coll_request request(const test_group *s, rlt_coll_kind kind, uint32_t c)
{
    static const uint64_t bytes[] = {1000003, 64 * 9000, 5, 0};
    rlt_coll_request req = rlt_group_request(&s->g, kind, bytes[c % 4]);
    req.params.schedule = c % 3 ? RLT_THEMIS : RLT_BASELINE;
    req.params.order = c / 2 % 2;
    req.params.chunks = 1 + c * 5 % 13;
    req.params.channels = 1 + c / 3 % 2;
    req.params.directions = 1 + c / 4 % 2;
    req.root = c % req.n;
    for (uint32_t d = 0; d < req.n_dims; d++)
        req.params.patterns[d] = patterns[c * (d + 1) % 5];
    return req;
}

static const rlt_grid *grid_of(const rlt_plan *plan)
{
    return plan->data;
}

/* Orders that the plans had: the test must have met the hard ones. */
typedef struct seen {
    uint32_t proved, turned, apart, runs;
} seen;

static void look(const rlt_plan *plan, seen *all)
{
    const rlt_grid *g = grid_of(plan);
    for (uint32_t o = 0; g->scheduled && o < g->n_orders; o++) {
        const rlt_order *order = &g->orders[o];
        all->turned += order->n_phases > 1 && order->phases[0].dim > order->phases[1].dim;
        for (uint32_t i = 0; i < order->n_phases; i++) {
            all->apart += order->phases[i].apart > 0;
            all->runs += order->phases[i].run > 1;
        }
    }
}

/* Each operation but the first waits for another one of its dimension, and no two wait for the same. */
static void one_queue_a_dimension(const rlt_plan *plan)
{
    const rlt_grid *g = grid_of(plan);
    static bool waited[64][RLT_GRID_PHASES];
    uint32_t first = 0;
    memset(waited, 0, sizeof waited);
    for (uint32_t o = 0; o < g->n_orders; o++) {
        for (uint32_t i = 0; i < g->orders[o].n_phases; i++) {
            const rlt_phase *p = &g->orders[o].phases[i];
            if (p->after_chunk == RLT_NONE) {
                first++;
                continue;
            }
            const rlt_order *before = &g->orders[p->after_chunk];
            uint32_t k = 0;
            while (before->phases[k].first + before->phases[k].steps - 1 != p->after_step)
                k++;
            assert_true(k < before->n_phases);
            assert_int_equal(before->phases[k].dim, p->dim);
            assert_false(waited[p->after_chunk][k]);
            waited[p->after_chunk][k] = true;
        }
    }
    assert_int_equal(first, g->n_dims);
}

static void prove(const rlt_coll_request *req, const char *net, seen *all)
{
    rlt_plan plan;
    rlt_error err = {0};
    int rc = rlt_plan_create(&rlt_hierarchical, req, &plan, &err);
    if (rc == RLT_EUNSUPPORTED && strstr(err.what, "power of two"))
        return;
    if (rc < 0 || rlt_plan_check(&plan, &err) < 0)
        fail_msg("%s on %s, %s, %s, %u chunks: %s: %s", rlt_coll_name(req->kind), net,
                 rlt_chunk_schedule_name(req->params.schedule), rlt_chunk_order_name(req->params.order),
                 req->params.chunks, err.where, err.what);
    all->proved++;
    if (grid_of(&plan)->scheduled)
        one_queue_a_dimension(&plan);
    look(&plan, all);
    rlt_plan_free(&plan);
}

static void every_collective_is_proved(void **state)
{
    (void)state;
    seen all = {0};
    for (uint32_t i = 0; i < N_NETS; i++) {
        test_group s;
        test_group_open(&s, nets[i], 0);
        for (uint32_t kind = 0; kind < RLT_COLL_KINDS; kind++)
            for (uint32_t c = 0; c < 20 && (rlt_hierarchical.kinds >> kind & 1); c++) {
                rlt_coll_request req = request(&s, (rlt_coll_kind)kind, c);
                prove(&req, nets[i], &all);
            }
        test_group_close(&s);
    }
    print_message("%u plans proved; %u chunks out of the natural order, %u operations with runs of blocks, "
                  "%u with runs apart\n",
                  all.proved, all.turned, all.runs, all.apart);
    assert_true(all.proved > 1400 && all.turned > 900 && all.runs > 100 && all.apart > 10);
}

/* A schedule reckons with the bandwidth that the pattern of a dimension can use: of a ring's two links those in its
 * directions, of links to each other member as many, or all if it sends to all at once; and with two hops over a switch. */
static void usable_bandwidth(void **state)
{
    static const struct {
        const char *net, *pattern;
        uint32_t directions, used, of, hops;
    } rows[] = {
        {"ring:4", "ring", 1, 1, 2, 1},
        {"ring:4", "ring", 2, 2, 2, 1},
        {"ring:4", "halving_doubling", 2, 1, 2, 1},
        {"fully-connected:4", "ring", 1, 1, 3, 1},
        {"fully-connected:4", "ring", 2, 2, 3, 1},
        {"fully-connected:4", "direct", 1, 3, 3, 1},
        {"fully-connected:4", "halving_doubling", 1, 1, 3, 1},
        {"fully-connected:2", "ring", 2, 1, 1, 1},
        {"switch:4", "ring", 2, 1, 1, 2},
        {"switch:4", "direct", 1, 1, 1, 2},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char net[100];
        test_group s;
        rlt_plan plan;
        rlt_error err = {0};
        snprintf(net, sizeof net, "%s@60GB/s,7ns*switch:2@30GB/s,10ns", rows[i].net);
        test_group_open(&s, net, 0);
        rlt_coll_request req = rlt_group_request(&s.g, RLT_ALL_REDUCE, 1 << 20);
        req.params.schedule = RLT_THEMIS;
        req.params.chunks = 4;
        req.params.directions = rows[i].directions;
        req.params.patterns[0] = rows[i].pattern;
        if (rlt_plan_create(&rlt_hierarchical, &req, &plan, &err))
            fail_msg("row %zu: %s: %s", i, err.where, err.what);
        rlt_dim whole = rlt_topology_dim(req.topology, 0);
        const rlt_grid_dim *d = &grid_of(&plan)->dims[0];
        if ((double)d->bw_Bps * rows[i].of != (double)whole.bw_Bps * rows[i].used ||
            d->hop_ps != rows[i].hops * whole.latency_ps)
            fail_msg("row %zu: %g of %g B/s, %lld ps", i, (double)d->bw_Bps, (double)whole.bw_Bps,
                     (long long)d->hop_ps);
        rlt_plan_free(&plan);
        test_group_close(&s);
    }
}

/* Shares with counts keep the natural order, one at a time. */
static void counts_are_proved(void **state)
{
    (void)state;
    static const rlt_coll_kind kinds[] = {RLT_REDUCE_SCATTER, RLT_ALL_GATHER, RLT_GATHER, RLT_SCATTER};
    uint64_t counts[64];
    seen all = {0};
    for (uint32_t i = 0; i < N_NETS * 4; i++) {
        test_group s;
        test_group_open(&s, nets[i / 4], 0);
        rlt_coll_request req = request(&s, kinds[i % 4], i);
        req.bytes = 0;
        for (uint32_t b = 0; b < req.n; b++) {
            counts[b] = b % 5 == 2 ? 0 : (uint64_t)b * b * 37 + 1;
            req.bytes += counts[b];
        }
        req.counts = counts;
        prove(&req, nets[i / 4], &all);
        test_group_close(&s);
    }
    assert_true(all.proved >= N_NETS * 2);
}

typedef struct late {
    rlt_exec *x;
    uint32_t id;
} late;

static void arrive(void *ctx, uint64_t member)
{
    late *l = ctx;
    rlt_exec_arrive(l->x, l->id, (uint32_t)member);
}

/* Runs to the end, with one slow link, and members that arrive one by one and begin alone. */
static void ends(const char *net, const rlt_net_model *model, rlt_injection injection, rlt_coll_kind kind,
                 uint32_t c)
{
    test_group s;
    rlt_error err = {0};
    rlt_router *router;
    rlt_sim *sim;
    rlt_plan plan;
    rlt_exec_client client = {0};
    late l;
    test_group_open(&s, net, 0);
    assert_int_equal(rlt_topology_scale_links(s.t, "acc1", 0.03, &err), 0);
    rlt_coll_request req = request(&s, kind, c);
    memset(req.params.patterns, 0, sizeof req.params.patterns);
    assert_int_equal(rlt_plan_create(&rlt_hierarchical, &req, &plan, &err), 0);
    assert_int_equal(rlt_router_create(s.t, &s.p, RLT_ROUTE_DMODK, &router, &err), 0);
    assert_int_equal(rlt_sim_create(&sim, &err), 0);
    rlt_net_config cfg = {.sim = sim,
                          .router = router,
                          .endpoint = *rlt_topology_endpoint(s.t),
                          .bandwidth_scale = 1,
                          .latency_scale = 1};
    cfg.endpoint.injection = injection;
    assert_int_equal(rlt_exec_create(model, &cfg, &l.x, &err), 0);
    l.id = rlt_exec_add(l.x, &plan, &client, 0, RLT_EXEC_EAGER);
    int handler = rlt_sim_handler(sim, arrive, &l);
    for (uint32_t m = 0; m < req.n; m++)
        rlt_sim_at(sim, (rlt_time)(m * 7 % req.n) * RLT_US * (m % 3), RLT_START, handler, m);
    char text[200];
    if (rlt_sim_run(sim, RLT_TIME_MAX, &err) < 0 || rlt_exec_pending(l.x, text, sizeof text))
        fail_msg("%s on %s: %s", rlt_coll_name(kind), net, text);
    rlt_plan_free(&plan);
    rlt_exec_free(l.x);
    rlt_sim_free(sim);
    rlt_router_free(router);
    test_group_close(&s);
}

static void stragglers_stall_nothing(void **state)
{
    (void)state;
    static const rlt_coll_kind kinds[] = {RLT_ALL_REDUCE, RLT_REDUCE_SCATTER, RLT_ALL_GATHER, RLT_ALL_TO_ALL};
    for (uint32_t i = 1; i < N_NETS; i++)
        for (uint32_t c = 0; c < 16; c++)
            ends(nets[i], c % 2 ? &rlt_net_flow : &rlt_net_alpha_beta, (rlt_injection)(c / 2 % 2),
                 kinds[(c / 4 + i) % 4], c + i);
}

/* One chunk goes from the innermost to the outermost dimension and waits for nothing: as without a
 * schedule. */
static void one_chunk_is_the_pipeline(void **state)
{
    (void)state;
    for (uint32_t i = 1; i < N_NETS; i++)
        for (uint32_t kind = 0; kind < RLT_COLL_KINDS; kind++) {
            test_group s;
            rlt_plan plans[2];
            if (!(rlt_hierarchical.kinds >> kind & 1))
                continue;
            test_group_open(&s, nets[i], 0);
            rlt_coll_request req = rlt_group_request(&s.g, (rlt_coll_kind)kind, 64 * 9001);
            req.params.chunks = 1;
            assert_int_equal(rlt_plan_create(&rlt_hierarchical, &req, &plans[0], NULL), 0);
            req.params.schedule = RLT_THEMIS;
            assert_int_equal(rlt_plan_create(&rlt_hierarchical, &req, &plans[1], NULL), 0);
            assert_int_equal(plans[0].lanes, plans[1].lanes);
            for (uint32_t lane = 0; lane < plans[0].lanes; lane++)
                for (uint32_t m = 0; m < req.n; m++)
                    for (uint32_t k = 0; k < rlt_hierarchical.steps(&plans[0], m, lane); k++) {
                        rlt_step a, b;
                        memset(&a, 0, sizeof a);
                        memset(&b, 0, sizeof b);
                        a.send_to = a.recv_from = a.wait_lane = RLT_NONE;
                        b = a;
                        rlt_hierarchical.step(&plans[0], m, lane, k, &a);
                        rlt_hierarchical.step(&plans[1], m, lane, k, &b);
                        assert_memory_equal(&a, &b, sizeof a);
                    }
            rlt_plan_free(&plans[0]);
            rlt_plan_free(&plans[1]);
            test_group_close(&s);
        }
}

static void unknown_words_are_refused(void **state)
{
    (void)state;
    rlt_coll_request req = {.kind = RLT_ALL_REDUCE, .n = 4, .params.schedule = RLT_CHUNK_SCHEDULES};
    rlt_plan plan;
    assert_int_equal(rlt_plan_create(&rlt_hierarchical, &req, &plan, NULL), RLT_ERANGE);
    req.params.schedule = RLT_THEMIS;
    req.params.order = RLT_CHUNK_ORDERS;
    assert_int_equal(rlt_plan_create(&rlt_hierarchical, &req, &plan, NULL), RLT_ERANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usable_bandwidth),          cmocka_unit_test(every_collective_is_proved),
        cmocka_unit_test(counts_are_proved),         cmocka_unit_test(stragglers_stall_nothing),
        cmocka_unit_test(one_chunk_is_the_pipeline), cmocka_unit_test(unknown_words_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
