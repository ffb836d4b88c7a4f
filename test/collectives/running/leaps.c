/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Repeated steps of a collective that is folded to one lane: random runs of equal steps, over a network
 * whose messages take times by their size. They end when they would if every step ran, the accounts count
 * every message, and few of a run's messages are simulated. Then: lanes that are reached at one instant go
 * on in their order.
 */
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "collectives/fold.h"
#include "net/endpoint/endpoint.h"
#include "net/import/import.h"
#include "net/network.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "test/support/dice.h"
#include "test/support/support.h"

enum { CASES = 2000, STEPS = 200, FLIGHTS = STEPS + 1, SORTS = 4, MEMBERS = 3, LANES = 3 };

typedef struct flight {
    uint64_t tx, rx, bytes;
} flight;

static struct {
    uint32_t n, n_steps, asked, runs, n_order;
    rlt_step steps[STEPS];
    rlt_time latency[SORTS], injection[SORTS], ended;
    bool later[SORTS];
    flight flights[FLIGHTS];
    uint32_t order[MEMBERS * LANES];
    rlt_sim *sim;
    rlt_net *net;
    rlt_net_client client;
    int on_injected, on_delivered;
    rlt_exec *x;
    rlt_plan other;
    rlt_fold fold;
} c;

static void on_injected(void *ctx, uint64_t number)
{
    (void)ctx;
    c.client.injected(c.client.ctx, c.flights[number].tx);
}

static void on_delivered(void *ctx, uint64_t number)
{
    (void)ctx;
    c.net->bytes_delivered += c.flights[number].bytes;
    c.client.delivered(c.client.ctx, c.flights[number].tx, c.flights[number].rx);
}

static rlt_time net_send(rlt_net *net, const rlt_message *m)
{
    uint32_t count = m->count ? m->count : 1, sort = (uint32_t)m->bytes % SORTS;
    rlt_time now = rlt_sim_now(c.sim);
    assert_true(c.asked < FLIGHTS);
    c.net = net;
    c.flights[c.asked] = (flight){m->tx, m->rx, m->bytes * count};
    net->messages += count;
    net->bytes_offered += count * m->bytes;
    if (c.n_steps == 0 && m->bytes)
        c.order[c.n_order++] = m->src * LANES + (uint32_t)m->route_key;
    if (c.later[sort])
        rlt_sim_at(c.sim, now + c.injection[sort], RLT_COMPLETE, c.on_injected, c.asked);
    rlt_sim_at(c.sim, now + c.latency[sort], RLT_COMPLETE, c.on_delivered, c.asked++);
    return c.later[sort] ? -1 : now + c.injection[sort];
}

static int net_create(const rlt_net_config *cfg, rlt_net **out, rlt_error *err);

static void net_destroy(rlt_net *net)
{
    rlt_net_alpha_beta.destroy(net);
}

static const rlt_net_model sized = {
    .name = "sized", .create = net_create, .destroy = net_destroy, .send = net_send};

/* Creates another model's network, for its accounts, and takes its place. */
static int net_create(const rlt_net_config *cfg, rlt_net **out, rlt_error *err)
{
    c.client = cfg->client;
    int rc = rlt_net_alpha_beta.create(cfg, out, err);
    if (!rc)
        (*out)->model = &sized;
    return rc;
}

static uint32_t steps_of(const rlt_plan *plan, uint32_t member, uint32_t number)
{
    (void)plan, (void)member, (void)number;
    return c.n_steps;
}

static void step_of(const rlt_plan *plan, uint32_t member, uint32_t number, uint32_t k, rlt_step *out)
{
    (void)plan, (void)number;
    assert_int_equal(member, 0);
    *out = c.steps[k];
}

static void on_done(void *ctx, uint64_t cookie)
{
    (void)ctx, (void)cookie;
    c.ended = rlt_sim_now(c.sim);
}

static const rlt_exec_client client = {.done = on_done};

/* Another collective, of one message, comes meanwhile. */
static uint32_t one_step(const rlt_plan *plan, uint32_t member, uint32_t number)
{
    (void)plan, (void)member, (void)number;
    return 1;
}

static void one_message(const rlt_plan *plan, uint32_t member, uint32_t number, uint32_t k, rlt_step *out)
{
    (void)plan, (void)member, (void)number, (void)k;
    *out = (rlt_step){.send_to = 1, .send_bytes = 5, .recv_count = 1, .wait_lane = RLT_NONE};
}

static void on_other(void *ctx, uint64_t payload)
{
    (void)ctx;
    rlt_exec_arrive_all(c.x, (uint32_t)payload);
}

/* Runs of equal steps. A step's message is awaited in that step, or now and then in a later one. */
static bool draw(dice *d)
{
    bool all_at_once = below(d, 2);
    c.n = 2 + below(d, 4);
    for (uint32_t i = 0; i < SORTS; i++) {
        c.latency[i] = 1 + (rlt_time)roll(d, 1000);
        c.injection[i] = (rlt_time)roll(d, (uint64_t)c.latency[i] + 1);
        c.later[i] = below(d, 2);
    }
    c.n_steps = below(d, 4) ? 1 + below(d, STEPS - 1) : 1 + below(d, 6);
    for (uint32_t k = 0; k < c.n_steps; k++)
        rlt_step_clear(&c.steps[k]);
    for (uint32_t k = 0; k < c.n_steps; c.runs++) {
        uint32_t most = below(d, 2) ? 4 : 60, length = 1 + below(d, most), to = 1 + below(d, c.n - 1);
        uint32_t ahead = all_at_once || below(d, 3) ? 0 : 1 + below(d, 2);
        uint64_t bytes = below(d, 8);
        bool nowait = below(d, 3) == 0, sends = below(d, 8) > 0;
        for (uint32_t i = 0; i < length && k < c.n_steps; i++, k++) {
            rlt_step *s = &c.steps[k];
            s->nowait = nowait;
            if (!sends || k + ahead >= c.n_steps)
                continue;
            s->send_to = to;
            s->send_bytes = bytes;
            s->peer_step = k + ahead;
            c.steps[k + ahead].recv_count++;
            c.steps[k + ahead].recv_from = c.n - to;
        }
    }
    return all_at_once;
}

/* When the last step ends, step by step. */
static rlt_time plain_end(bool blocking, uint64_t *messages, uint64_t *bytes)
{
    rlt_time now = 0, released = 0, arrival[STEPS] = {0};
    for (uint32_t k = 0; k < c.n_steps; k++) {
        const rlt_step *s = &c.steps[k];
        if (s->send_to != RLT_NONE) {
            uint32_t sort = (uint32_t)s->send_bytes % SORTS;
            rlt_time there = now + c.latency[sort], free = blocking ? there : now + c.injection[sort];
            arrival[s->peer_step] = there > arrival[s->peer_step] ? there : arrival[s->peer_step];
            released = free > released ? free : released;
            *messages += c.n;
            *bytes += c.n * s->send_bytes;
        }
        now = arrival[k] > now ? arrival[k] : now;
        now = !s->nowait && released > now ? released : now;
    }
    return released > now ? released : now;
}

static rlt_exec *on_network(rlt_router *router, bool blocking, bool orderly)
{
    rlt_error err = {0};
    rlt_exec *x = NULL;
    assert_int_equal(rlt_sim_create(&c.sim, &err), 0);
    rlt_net_config cfg = {
        .sim = c.sim, .router = router, .bandwidth_scale = 1, .latency_scale = 1, .orderly = orderly};
    cfg.endpoint.injection = blocking ? RLT_INJECT_BLOCKING : RLT_INJECT_NIC;
    assert_int_equal(rlt_exec_create(&sized, &cfg, &x, &err), 0);
    c.on_injected = rlt_sim_handler(c.sim, on_injected, NULL);
    c.on_delivered = rlt_sim_handler(c.sim, on_delivered, NULL);
    assert_true(c.on_injected >= 0 && c.on_delivered >= 0);
    return x;
}

static void run_case(uint32_t number, rlt_router *router)
{
    static const rlt_algorithm algorithm = {.name = "runs", .steps = steps_of, .step = step_of};
    static const rlt_algorithm single = {.name = "single", .steps = one_step, .step = one_message};
    dice d = {.seed = number};
    rlt_error err = {0};
    uint64_t messages = 0, bytes = 0;
    uint32_t first = 0;
    memset(&c, 0, sizeof c);
    bool few = draw(&d), blocking = below(&d, 2);
    rlt_time end = plain_end(blocking, &messages, &bytes);
    rlt_plan plan = {.algorithm = &algorithm, .req = {.kind = RLT_ALL_REDUCE, .n = c.n}, .lanes = 1};
    c.fold = (rlt_fold){.n_classes = 1, .rep = &first, .size = &c.n};
    rlt_exec *x = c.x = on_network(router, blocking, false);
    uint32_t id = rlt_exec_add_folded(x, &plan, &c.fold, &client, 0, 0);
    if (below(&d, 3) == 0) {
        c.other = plan;
        c.other.algorithm = &single;
        int other = rlt_sim_handler(c.sim, on_other, NULL);
        assert_true(other >= 0);
        rlt_sim_at(c.sim, (rlt_time)roll(&d, (uint64_t)end + 1), RLT_START, other,
                   rlt_exec_add_folded(x, &c.other, &c.fold, NULL, 0, 0));
        few = false;
        messages += c.n;
        bytes += 5ull * c.n;
    }
    rlt_exec_arrive_all(x, id);
    if (rlt_sim_run(c.sim, RLT_TIME_MAX, &err))
        fail_msg("case %u: %s: %s", number, err.where, err.what);
    if (c.ended != end)
        fail_msg("case %u: ends at %lld, expected %lld", number, (long long)c.ended, (long long)end);
    assert_int_equal(rlt_exec_net(x)->messages, messages);
    assert_int_equal(rlt_exec_net(x)->bytes_offered, bytes);
    assert_int_equal(rlt_exec_net(x)->bytes_delivered, bytes);
    if (few && c.asked > 3 * c.runs)
        fail_msg("case %u: %u messages for %u runs", number, c.asked, c.runs);
    rlt_exec_free(x);
    rlt_sim_free(c.sim);
}

static rlt_topology *topology;
static rlt_placement place;
static rlt_router *router;

static int open_network(void **state)
{
    rlt_error err = {0};
    (void)state;
    return rlt_topology_load("switch:8@50GB/s,500ns", NULL, &topology, &err) ||
           rlt_placement_identity(topology, 8, &place, &err) ||
           rlt_router_create(topology, &place, RLT_ROUTE_DMODK, &router, &err);
}

static int close_network(void **state)
{
    (void)state;
    rlt_router_free(router);
    rlt_placement_free(&place);
    rlt_topology_free(topology);
    return 0;
}

static void equal_steps(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < CASES; i++)
        run_case(i, router);
}

/* Step 0 of member m sends nothing but bytes of 0 to the member after it; step 1 tells that the lane
 * goes on. */
static uint32_t two_steps(const rlt_plan *plan, uint32_t member, uint32_t number)
{
    (void)plan, (void)member, (void)number;
    return 2;
}

static void turn_round(const rlt_plan *plan, uint32_t member, uint32_t number, uint32_t k, rlt_step *out)
{
    (void)number;
    out->send_to = (member + 1) % plan->req.n;
    out->send_bytes = k;
    out->peer_step = k;
    out->peer_shift = 1;
    out->recv_count = 1;
    out->nowait = 1;
}

static void lanes_in_order(void **state)
{
    static const rlt_algorithm algorithm = {.name = "turns", .steps = two_steps, .step = turn_round};
    (void)state;
    for (int orderly = 0; orderly < 2; orderly++) {
        rlt_error err = {0};
        memset(&c, 0, sizeof c);
        c.latency[0] = c.latency[1] = 1000;
        rlt_plan plan = {
            .algorithm = &algorithm, .req = {.kind = RLT_ALL_REDUCE, .n = MEMBERS}, .lanes = LANES};
        rlt_exec *x = on_network(router, false, orderly);
        uint32_t id = rlt_exec_add(x, &plan, NULL, 0, 0);
        rlt_exec_arrive_all(x, id);
        assert_int_equal(rlt_sim_run(c.sim, RLT_TIME_MAX, &err), 0);
        assert_int_equal(rlt_sim_now(c.sim), 2000);
        assert_int_equal(c.n_order, MEMBERS * LANES);
        /* Out of order, a lane goes on when its message comes: that of the member and the lane before. */
        for (uint32_t i = 0; i < c.n_order; i++) {
            uint32_t member = i / LANES, number = i % LANES;
            uint32_t after = (member + 1) % MEMBERS * LANES + (number + 1) % LANES;
            assert_int_equal(c.order[i], orderly ? i : after);
        }
        rlt_exec_free(x);
        rlt_sim_free(c.sim);
    }
    rlt_exec_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(equal_steps), cmocka_unit_test(lanes_in_order)};
    return cmocka_run_group_tests(tests, open_network, close_network);
}
