/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The executor against a plain one, written from collectives/executor.h and collectives/algorithm.h: several random
 * plans at once, of lanes that wait for messages and for each other, whose members arrive at random times. Every
 * member ends at the same picosecond. Plans that never end are named alike.
 */
#include <stdio.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
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

enum {
    CASES = 1500,
    PLANS = 3,
    MEMBERS = 6,
    LANES = 3,
    STEPS = 80,
    MESSAGES = PLANS * MEMBERS * LANES * STEPS
};

typedef struct lane {
    uint32_t n;
    rlt_step steps[STEPS];
    /* of the plain executor: */
    uint32_t at, got[STEPS], outstanding;
    rlt_time sent;
    bool issued, begun, done;
} lane;

typedef struct drawing {
    uint32_t n, lanes, ranks[MEMBERS], left[MEMBERS];
    rlt_time arrives[MEMBERS], expected[MEMBERS], ended[MEMBERS];
    bool eager, begun;
    rlt_time expected_begin;
    lane all[MEMBERS][LANES];
    rlt_plan plan;
    uint32_t id, done;
} drawing;

typedef struct message {
    rlt_time at, span;
    drawing *d;
    lane *from, *to;
    uint32_t step, dst;
    bool queued, there;
} message;

/* One case: the network is a crossbar of a port's rate, or of two dimensions that only take time. */
static struct {
    drawing plans[PLANS];
    uint32_t n_plans;
    message messages[MESSAGES];
    uint32_t n_messages;
    bool blocking, ports;
    rlt_time tx_free[MEMBERS], rx_free[MEMBERS], now, setup;
    rlt_sim *sim;
    rlt_exec *x;
    uint64_t sent_bytes;
} c;

/* ---- the plain executor ---- */

static rlt_time latency(uint32_t a, uint32_t b)
{
    if (c.ports)
        return 1000000;
    return (a % 2 != b % 2 ? 2 * 700000 : 0) + (a / 2 != b / 2 ? 2 * 300000 : 0);
}

static void plain_send(drawing *d, uint32_t member, lane *l, const rlt_step *s, uint32_t number)
{
    message *m = &c.messages[c.n_messages++];
    uint32_t src = d->ranks[member], dst = d->ranks[s->send_to];
    rlt_time span = c.ports ? (rlt_time)s->send_bytes * 20 : 0, start = c.now;
    if (c.tx_free[src] > start)
        start = c.tx_free[src];
    c.tx_free[src] = start + span;
    *m = (message){.at = start + span + latency(src, dst),
                   .span = span,
                   .d = d,
                   .from = l,
                   .to = &d->all[s->send_to][(number + s->peer_shift) % d->lanes],
                   .step = s->peer_step,
                   .dst = dst};
    l->outstanding++;
    l->sent = start + span > l->sent ? start + span : l->sent;
    c.sent_bytes += s->send_bytes;
}

static bool held(const lane *l)
{
    return c.blocking ? l->outstanding > 0 : l->sent > c.now;
}

/* Whether the lane could go on. */
static bool plain_step(drawing *d, uint32_t member, uint32_t number)
{
    lane *l = &d->all[member][number];
    if (!l->begun || l->done)
        return false;
    if (l->at == l->n) {
        l->done = !held(l);
        if (l->done && --d->left[member] == 0)
            d->expected[member] = c.now;
        return l->done;
    }
    const rlt_step *s = &l->steps[l->at];
    if (!l->issued) {
        const lane *other = s->wait_lane == RLT_NONE ? NULL : &d->all[member][s->wait_lane];
        if (other && !other->done && other->at <= s->wait_step)
            return false;
        l->issued = true;
        if (s->send_to != RLT_NONE)
            plain_send(d, member, l, s, number);
        return true;
    }
    if (l->got[l->at] < s->recv_count || (!s->nowait && held(l)))
        return false;
    l->at++;
    l->issued = false;
    return true;
}

/* Delivers what has come. A message waits for its port, which takes one after the other. */
static void plain_deliver(void)
{
    for (uint32_t i = 0; i < c.n_messages; i++) {
        message *m = &c.messages[i];
        if (m->there || m->at > c.now)
            continue;
        if (!m->queued) {
            rlt_time at = c.rx_free[m->dst] + m->span;
            m->queued = true;
            m->at = at > m->at ? at : m->at;
            c.rx_free[m->dst] = m->at;
            if (m->at > c.now)
                continue;
        }
        m->there = true;
        m->to->got[m->step]++;
        m->from->outstanding--;
    }
}

static void earlier(rlt_time *next, rlt_time t)
{
    if (t > c.now && t < *next)
        *next = t;
}

static void plain_begin(drawing *d, rlt_time *next)
{
    rlt_time all = 0;
    for (uint32_t m = 0; m < d->n; m++)
        all = d->arrives[m] > all ? d->arrives[m] : all;
    d->expected_begin = all;
    for (uint32_t m = 0; m < d->n; m++) {
        rlt_time at = (d->eager ? d->arrives[m] : all) + c.setup;
        for (uint32_t k = 0; k < d->lanes; k++)
            d->all[m][k].begun = at <= c.now;
        earlier(next, at);
    }
}

static void run_plainly(void)
{
    for (c.now = 0;;) {
        rlt_time next = RLT_TIME_MAX;
        plain_deliver();
        for (uint32_t p = 0; p < c.n_plans; p++)
            plain_begin(&c.plans[p], &next);
        for (bool moved = true; moved;) {
            moved = false;
            for (uint32_t p = 0; p < c.n_plans; p++)
                for (uint32_t m = 0; m < c.plans[p].n; m++)
                    for (uint32_t k = 0; k < c.plans[p].lanes; k++)
                        moved = plain_step(&c.plans[p], m, k) || moved;
        }
        for (uint32_t i = 0; i < c.n_messages; i++)
            earlier(&next, c.messages[i].there ? 0 : c.messages[i].at);
        for (uint32_t p = 0; p < c.n_plans; p++)
            for (uint32_t m = 0; m < c.plans[p].n; m++)
                for (uint32_t k = 0; k < c.plans[p].lanes; k++)
                    earlier(&next, c.plans[p].all[m][k].sent);
        if (next == RLT_TIME_MAX)
            return;
        c.now = next;
    }
}

/* "all_reduce of 3 ranks: rank 5 waits in lane 0 step 4 for rank 2": the first plan's first lane that waits. */
static uint32_t plain_pending(char text[200])
{
    uint32_t pending = 0;
    for (uint32_t p = c.n_plans; p-- > 0;) {
        const drawing *d = &c.plans[p];
        bool over = true;
        for (uint32_t m = d->n; m-- > 0;)
            for (uint32_t k = d->lanes; k-- > 0;) {
                const lane *l = &d->all[m][k];
                over = over && l->done;
                if (l->done || l->at == l->n)
                    continue;
                int n = snprintf(text, 200, "all_reduce of %u ranks: rank %u waits in lane %u step %u", d->n,
                                 d->ranks[m], k, l->at);
                uint32_t from = l->steps[l->at].recv_from;
                if (from != RLT_NONE)
                    snprintf(text + n, 200 - (size_t)n, " for rank %u", d->ranks[from]);
            }
        pending += !over;
    }
    return pending;
}

/* ---- the cases ---- */

static uint32_t steps_of(const rlt_plan *plan, uint32_t member, uint32_t number)
{
    const drawing *d = plan->data;
    return d->all[member][number].n;
}

static void step_of(const rlt_plan *plan, uint32_t member, uint32_t number, uint32_t k, rlt_step *out)
{
    const drawing *d = plan->data;
    *out = d->all[member][number].steps[k];
}

static const rlt_algorithm algorithm = {.name = "drawn", .kinds = ~0u, .steps = steps_of, .step = step_of};

static void draw_message(dice *d, drawing *p, bool wild)
{
    uint32_t member = below(d, p->n), to = below(d, p->n), number = below(d, p->lanes);
    uint32_t there = below(d, p->lanes);
    lane *from = &p->all[member][number], *at = &p->all[to][there];
    if (to == member || !from->n || !at->n)
        return;
    uint32_t k = below(d, from->n), j = below(d, at->n);
    rlt_step *s = &from->steps[k], *r = &at->steps[j];
    if (s->send_to != RLT_NONE || (j < k && !wild))
        return;
    s->send_to = to;
    s->peer_step = j;
    s->peer_shift = (there + p->lanes - number) % p->lanes;
    s->send_bytes = c.ports ? 1000 + roll(d, 100000) : roll(d, 400);
    s->nowait = below(d, 3) == 0;
    r->recv_from = r->recv_count++ ? RLT_NONE : member;
}

static void draw_plan(dice *d, drawing *p)
{
    bool wild = below(d, 10) == 0, is_long = below(d, 4) == 0;
    uint32_t most = is_long ? STEPS : 6, wishes = below(d, is_long ? 300 : 40);
    *p = (drawing){
        .n = 1 + below(d, MEMBERS), .lanes = c.ports ? 1 : 1 + below(d, LANES), .eager = below(d, 3) == 0};
    for (uint32_t m = 0; m < MEMBERS; m++)
        p->ranks[m] = m;
    for (uint32_t m = 0; m < p->n; m++) {
        uint32_t other = m + below(d, MEMBERS - m), rank = p->ranks[m];
        p->ranks[m] = p->ranks[other];
        p->ranks[other] = rank;
        p->left[m] = p->lanes;
        p->arrives[m] = (rlt_time)roll(d, 2000000);
        p->expected[m] = p->ended[m] = -1;
        for (uint32_t k = 0; k < p->lanes; k++) {
            p->all[m][k].n = below(d, most + 1);
            for (uint32_t i = 0; i < p->all[m][k].n; i++)
                rlt_step_clear(&p->all[m][k].steps[i]);
        }
    }
    for (uint32_t i = 0; i < wishes; i++)
        draw_message(d, p, wild);
    for (uint32_t m = 0; m < p->n; m++)
        for (uint32_t k = 0; k < p->lanes; k++)
            for (uint32_t i = 0; i < p->all[m][k].n; i++) {
                uint32_t other = below(d, p->lanes), n = p->all[m][other].n;
                if (other == k || !n || below(d, 4))
                    continue;
                p->all[m][k].steps[i].wait_lane = other;
                p->all[m][k].steps[i].wait_step = below(d, wild || i > n ? n : i < 1 ? 1 : i);
                if (!wild && p->all[m][k].steps[i].wait_step >= i)
                    p->all[m][k].steps[i].wait_lane = RLT_NONE;
            }
    p->plan = (rlt_plan){.algorithm = &algorithm,
                         .req = {.kind = RLT_ALL_REDUCE, .n = p->n, .ranks = p->ranks},
                         .lanes = p->lanes,
                         .data = p};
}

static void on_begun(void *ctx, uint64_t cookie)
{
    (void)ctx;
    drawing *d = &c.plans[cookie];
    assert_false(d->begun);
    assert_int_equal(rlt_sim_now(c.sim), d->expected_begin);
    d->begun = true;
}

static void on_member_done(void *ctx, uint64_t cookie, uint32_t member)
{
    (void)ctx;
    c.plans[cookie].ended[member] = rlt_sim_now(c.sim);
}

static void on_done(void *ctx, uint64_t cookie)
{
    (void)ctx;
    for (uint32_t m = 0; m < c.plans[cookie].n; m++)
        assert_true(c.plans[cookie].ended[m] >= 0);
    c.plans[cookie].done++;
}

static const rlt_exec_client client = {.begun = on_begun, .member_done = on_member_done, .done = on_done};

static void on_arrival(void *ctx, uint64_t payload)
{
    (void)ctx;
    rlt_exec_arrive(c.x, c.plans[payload >> 32].id, (uint32_t)payload);
}

static void run_case(uint32_t number)
{
    dice d = {.seed = number};
    rlt_error err = {0};
    rlt_topology *t = NULL;
    rlt_placement place = {0};
    rlt_router *router = NULL;
    memset(&c, 0, sizeof c);
    c.ports = below(&d, 2);
    c.blocking = below(&d, 2);
    c.setup = below(&d, 2) ? 12345 : 0;
    c.n_plans = 1 + below(&d, PLANS);
    for (uint32_t p = 0; p < c.n_plans; p++)
        draw_plan(&d, &c.plans[p]);
    run_plainly();
    const char *net = c.ports ? "switch:6@50GB/s,500ns" : "switch:2@1000TB/s,700ns*switch:3@1000TB/s,300ns";
    assert_int_equal(rlt_topology_load(net, NULL, &t, &err), 0);
    assert_int_equal(rlt_placement_identity(t, 6, &place, &err), 0);
    assert_int_equal(rlt_router_create(t, &place, RLT_ROUTE_DMODK, &router, &err), 0);
    assert_int_equal(rlt_sim_create(&c.sim, &err), 0);
    rlt_net_config cfg = {.sim = c.sim, .router = router, .bandwidth_scale = 1, .latency_scale = 1};
    cfg.endpoint.injection = c.blocking ? RLT_INJECT_BLOCKING : RLT_INJECT_NIC;
    cfg.endpoint.launch_ps = c.setup;
    cfg.orderly = below(&d, 2);
    assert_int_equal(rlt_exec_create(&rlt_net_alpha_beta, &cfg, &c.x, &err), 0);
    int arrival = rlt_sim_handler(c.sim, on_arrival, NULL);
    assert_true(arrival >= 0);
    for (uint32_t p = 0; p < c.n_plans; p++) {
        drawing *a = &c.plans[p];
        a->id = rlt_exec_add(c.x, &a->plan, &client, p, a->eager ? RLT_EXEC_EAGER : 0);
        for (uint32_t m = 0; m < a->n; m++)
            rlt_sim_at(c.sim, a->arrives[m], RLT_START, arrival, (uint64_t)p << 32 | m);
    }
    assert_int_equal(rlt_sim_run(c.sim, RLT_TIME_MAX, &err), 0);
    char text[200] = "", expected[200] = "";
    uint32_t pending = plain_pending(expected);
    for (uint32_t p = 0; p < c.n_plans; p++) {
        const drawing *a = &c.plans[p];
        bool all = true;
        assert_true(a->begun);
        for (uint32_t m = 0; m < a->n; m++) {
            if (a->ended[m] != a->expected[m])
                fail_msg("case %u, plan %u: member %u ends at %lld, expected %lld", number, p, m,
                         (long long)a->ended[m], (long long)a->expected[m]);
            all = all && a->ended[m] >= 0;
        }
        assert_int_equal(a->done, all);
    }
    assert_int_equal(rlt_exec_pending(c.x, text, sizeof text), pending);
    if (pending)
        assert_string_equal(text, expected);
    assert_int_equal(rlt_exec_net(c.x)->messages, c.n_messages);
    assert_int_equal(rlt_exec_net(c.x)->bytes_delivered, c.sent_bytes);
    rlt_exec_free(c.x);
    rlt_sim_free(c.sim);
    rlt_router_free(router);
    rlt_placement_free(&place);
    rlt_topology_free(t);
}

static void plans_end_when_they_should(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < CASES; i++)
        run_case(i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(plans_end_when_they_should)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
