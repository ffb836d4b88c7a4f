/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the executor asks of its network, and what follows: random plans, whole, folded, eager and in a part
 * of a network, whose steps use every verb, over a network that is nothing but drawn times. Every message
 * is asked for once with the addresses and numbers that collectives/algorithm.h and net/network.h promise,
 * every member ends at the picosecond of a plain executor, records are reused, and what never ends is
 * named.
 */
#include <stdio.h>
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
#include "test/support/networks/plain_executor.h"
#include "test/support/support.h"

enum { CASES = 1200 };

/* ---- the network: it takes the times that were drawn ---- */

static message *asked(uint64_t bytes, uint64_t key, const rlt_tuning *tuning)
{
    assert_true(bytes < c.n_messages);
    message *m = &c.messages[bytes];
    const rlt_step *s = &m->d->all[m->place][m->number].steps[m->step];
    assert_false(m->asked);
    m->asked = true;
    assert_int_equal(key, rlt_route_key(m->number, s->turn));
    assert_true(tuning == (m->d->plan.tuning.on ? &m->d->plan.tuning : NULL));
    return m;
}

static rlt_time takes(message *m, uint64_t tx, uint64_t rx)
{
    rlt_time now = rlt_sim_now(c.sim);
    uint64_t number = (uint64_t)(m - c.messages);
    m->tx = tx;
    m->rx = rx;
    m->d->n_sent++;
    if (m->later)
        rlt_sim_at(c.sim, now + m->injection, RLT_COMPLETE, c.on_injected, number);
    rlt_sim_at(c.sim, now + m->latency, RLT_COMPLETE, c.on_delivered, number);
    return m->later ? -1 : now + m->injection;
}

static uint32_t one(uint32_t count)
{
    return count ? count : 1;
}

static rlt_time net_send(rlt_net *net, const rlt_message *a)
{
    (void)net;
    message *m = asked(a->bytes, a->route_key, a->tuning);
    const drawing *d = m->d;
    const rlt_step *s = &d->all[m->place][m->number].steps[m->step];
    assert_int_equal(m->verb, RLT_VERB_SEND);
    assert_int_equal(a->src, d->ranks[d->rep[m->place]]);
    assert_int_equal(a->dst, d->ranks[s->send_to]);
    assert_int_equal(one(a->count), d->size[m->place]);
    assert_int_equal(one(a->fan_in), d->size[m->place] / d->size[d->class_of[s->send_to]]);
    return takes(m, a->tx, a->rx);
}

static rlt_time net_tree(const rlt_tree_message *a, bool reduce)
{
    message *m = asked(a->bytes, a->route_key, a->tuning);
    const drawing *d = m->d;
    const lane *from = &d->all[m->place][m->number];
    rlt_reach r = from->reach[m->step];
    uint32_t root = m->verb == RLT_VERB_REDUCE ? from->steps[m->step].send_to : d->rep[m->place];
    assert_int_equal(reduce, m->verb != RLT_VERB_MULTICAST);
    assert_int_equal(a->all, m->verb == RLT_VERB_REDUCE_ALL);
    assert_int_equal(a->root, d->ranks[root]);
    assert_int_equal(a->n, r.n);
    assert_int_equal(one(a->count), d->size[m->place]);
    for (uint32_t i = 0; i < r.n; i++)
        assert_int_equal(a->ranks ? a->ranks[i] : i, d->ranks[r.first + i * r.stride]);
    return takes(m, a->tx, a->rx);
}

static rlt_time net_reduce(rlt_net *net, const rlt_tree_message *a)
{
    (void)net;
    return net_tree(a, true);
}

static rlt_time net_multicast(rlt_net *net, const rlt_tree_message *a)
{
    (void)net;
    return net_tree(a, false);
}

static void on_injected(void *ctx, uint64_t number)
{
    (void)ctx;
    c.client.injected(c.client.ctx, c.messages[number].tx);
}

static void on_delivered(void *ctx, uint64_t number)
{
    (void)ctx;
    c.client.delivered(c.client.ctx, c.messages[number].tx, c.messages[number].rx);
}

static int net_create(const rlt_net_config *cfg, rlt_net **out, rlt_error *err);

static void net_destroy(rlt_net *net)
{
    rlt_net_alpha_beta.destroy(net);
}

static const rlt_net_model drawn_net = {.name = "drawn",
                                        .create = net_create,
                                        .destroy = net_destroy,
                                        .send = net_send,
                                        .reduce_to = net_reduce,
                                        .multicast = net_multicast};
static const rlt_net_model plain_net = {
    .name = "plain", .create = net_create, .destroy = net_destroy, .send = net_send};
static const rlt_net_model *chosen;

/* Creates another model's network, for its accounts, and takes its place. */
static int net_create(const rlt_net_config *cfg, rlt_net **out, rlt_error *err)
{
    rlt_net_config own = *cfg;
    own.part = NULL;
    c.client = cfg->client;
    int rc = rlt_net_alpha_beta.create(&own, out, err);
    if (!rc)
        (*out)->model = chosen;
    return rc;
}

/* ---- the cases ---- */

static uint32_t steps_of(const rlt_plan *plan, uint32_t member, uint32_t number)
{
    const drawing *d = plan->data;
    assert_int_equal(d->rep[d->class_of[member]], member);
    return d->all[d->class_of[member]][number].n;
}

static void step_of(const rlt_plan *plan, uint32_t member, uint32_t number, uint32_t k, rlt_step *out)
{
    const drawing *d = plan->data;
    *out = d->all[d->class_of[member]][number].steps[k];
}

static void reach_of(const rlt_plan *plan, uint32_t member, uint32_t number, uint32_t k, rlt_reach *out)
{
    const drawing *d = plan->data;
    assert_int_equal(d->rep[d->class_of[member]], member);
    *out = d->all[d->class_of[member]][number].reach[k];
}

static const rlt_algorithm whole = {.name = "whole", .kinds = ~0u, .steps = steps_of, .step = step_of};
static const rlt_algorithm reaching = {
    .name = "reaching", .kinds = ~0u, .steps = steps_of, .step = step_of, .reach = reach_of};

static void note_message(dice *d, drawing *p, uint32_t place, uint32_t number, uint32_t k)
{
    rlt_step *s = &p->all[place][number].steps[k];
    rlt_time latency = below(d, 2) ? 1000 * (1 + (rlt_time)roll(d, 50)) : (rlt_time)roll(d, 100000);
    s->send_bytes = c.n_messages;
    s->turn = (uint16_t)below(d, 5);
    s->nowait = below(d, 3) == 0;
    c.messages[c.n_messages++] = (message){.d = p,
                                           .place = place,
                                           .number = number,
                                           .step = k,
                                           .verb = s->verb,
                                           .latency = latency,
                                           .injection = (rlt_time)roll(d, (uint64_t)latency + 1),
                                           .later = below(d, 2)};
}

/* A message from a place to all members, or to those that the step reaches. */
static void draw_tree(dice *d, drawing *p, uint32_t place, uint32_t number, uint32_t k)
{
    rlt_step *s = &p->all[place][number].steps[k];
    uint32_t there = below(d, p->lanes), from = p->rep[place], j = k;
    rlt_reach *r = &p->all[place][number].reach[k];
    if (p->plan.algorithm == &reaching && below(d, 4)) {
        r->stride = 1 + below(d, 3);
        uint32_t before = below(d, from / r->stride + 1);
        r->first = from - before * r->stride;
        r->n = before + 1 + below(d, (p->n - 1 - from) / r->stride + 1);
    } else if (p->plan.algorithm == &whole) {
        j = k + below(d, 3);
    }
    for (uint32_t i = 0; i < r->n; i++)
        if (p->all[p->class_of[r->first + i * r->stride]][there].n <= j) {
            *r = (rlt_reach){0, 1, p->n};
            return;
        }
    for (uint32_t i = 0; i < r->n; i++)
        p->all[p->class_of[r->first + i * r->stride]][there].steps[j].recv_count++;
    s->verb = below(d, 2) ? RLT_VERB_MULTICAST : RLT_VERB_REDUCE_ALL;
    s->send_to = p->n;
    s->peer_step = j;
    s->peer_shift = (there + p->lanes - number) % p->lanes;
    note_message(d, p, place, number, k);
}

static void draw_message(dice *d, drawing *p, bool wild, bool trees)
{
    uint32_t place = below(d, p->places), to = below(d, p->n), number = below(d, p->lanes);
    uint32_t there = below(d, p->lanes), end = p->class_of[to];
    lane *from = &p->all[place][number], *at = &p->all[end][there];
    bool reduces = trees && below(d, 4) == 0;
    if (!from->n)
        return;
    uint32_t k = below(d, from->n), j = at->n ? below(d, at->n) : 0;
    if (from->steps[k].send_to != RLT_NONE)
        return;
    if (trees && below(d, 4) == 0) {
        draw_tree(d, p, place, number, k);
        return;
    }
    rlt_step *s = &from->steps[k], *r = &at->steps[j];
    if (!at->n || (j < k && !wild) || p->size[place] % p->size[end] || (to == p->rep[place] && !reduces))
        return;
    if (!p->here[place] || !p->here[end])
        return;
    s->send_to = to;
    s->verb = reduces ? RLT_VERB_REDUCE : RLT_VERB_SEND;
    s->peer_step = j;
    s->peer_shift = (there + p->lanes - number) % p->lanes;
    r->recv_from = r->recv_count ? RLT_NONE : p->rep[place];
    r->recv_count += p->size[place] / p->size[end];
    note_message(d, p, place, number, k);
}

static void draw_waits(dice *d, drawing *p, bool wild)
{
    for (uint32_t m = 0; m < p->places; m++)
        for (uint32_t k = 0; k < p->lanes; k++)
            for (uint32_t i = 0; i < p->all[m][k].n; i++) {
                uint32_t other = below(d, p->lanes), n = p->all[m][other].n;
                if (other == k || !n || below(d, 4))
                    continue;
                rlt_step *s = &p->all[m][k].steps[i];
                s->wait_step = below(d, wild || i > n ? n : i < 1 ? 1 : i);
                s->wait_lane = wild || s->wait_step < i ? other : RLT_NONE;
            }
}

/* Classes of members; all of one size if `even`. */
static void draw_classes(dice *d, drawing *p, bool even)
{
    uint32_t size = 1 + below(d, 3), classes = even ? (p->n + size - 1) / size : 1 + below(d, p->n);
    p->n = even ? classes * size : p->n;
    uint32_t open = 0;
    for (uint32_t m = 0; m < p->n; m++) {
        bool full = true;
        for (uint32_t k = 0; k < open && even; k++)
            full = full && p->size[k] == size;
        uint32_t k = open;
        if (open == classes || (!(even && full) && open && below(d, 2) && classes - open < p->n - m))
            do
                k = below(d, open);
            while (even && p->size[k] == size);
        if (k == open)
            p->rep[open++] = m;
        p->class_of[m] = k;
        p->size[k]++;
    }
    p->places = classes;
    p->fold = (rlt_fold){.n_classes = classes,
                         .rep = p->rep,
                         .size = p->size,
                         .of_member = classes > 1 || below(d, 2) ? p->class_of : NULL};
}

static void draw_members(dice *d, drawing *p)
{
    bool shuffled = below(d, 3) > 0, all_come = below(d, 6) > 0;
    uint32_t order[RANKS];
    for (uint32_t r = 0; r < RANKS; r++)
        order[r] = r;
    for (uint32_t m = 0; m < p->n; m++) {
        uint32_t other = m + below(d, RANKS - m), rank = order[m];
        if (shuffled) {
            order[m] = order[other];
            order[other] = rank;
        }
        p->ranks[m] = order[m];
        p->arrives[m] = p->together && m ? p->arrives[0] : p->added + (rlt_time)roll(d, 400000);
        if (!p->folded) {
            p->rep[m] = p->class_of[m] = m;
            p->size[m] = 1;
        }
        p->expected[m] = p->ended[m] = -1;
    }
    if (!all_come && !p->together)
        p->arrives[below(d, p->n)] = RLT_TIME_MAX;
    for (uint32_t k = 0; k < p->places; k++) {
        p->left[k] = p->lanes;
        p->here[k] = !c.parts || c.of_rank[p->ranks[k]] == 1;
        if (!p->here[k] && p->eager)
            p->arrives[k] = RLT_TIME_MAX;
    }
    p->plan = (rlt_plan){.algorithm = below(d, 2) ? &whole : &reaching,
                         .req = {.kind = (rlt_coll_kind)below(d, RLT_COLL_KINDS),
                                 .n = p->n,
                                 .ranks = shuffled ? p->ranks : NULL},
                         .lanes = p->lanes,
                         .data = p};
    p->plan.tuning.on = below(d, 2);
    p->plan.tuning.setup_ps = below(d, 2) ? (rlt_time)roll(d, 90000) : 0;
}

static void draw_plan(dice *d, drawing *p)
{
    bool wild = below(d, 10) == 0, is_long = below(d, 4) == 0, even = below(d, 2);
    uint32_t most = is_long ? STEPS : 6, wishes = below(d, is_long ? 300 : 40);
    *p = (drawing){.n = 1 + below(d, MEMBERS),
                   .lanes = 1 + below(d, LANES),
                   .added = (rlt_time)roll(d, 1000000),
                   .folded = !c.parts && below(d, 2)};
    p->eager = !p->folded && below(d, 3) == 0;
    p->together = p->folded || (!c.parts && below(d, 4) == 0);
    p->places = p->n;
    if (p->folded) {
        p->n = even && p->n > 4 ? 4 : p->n;
        draw_classes(d, p, even);
    }
    draw_members(d, p);
    bool short_lane = below(d, 2), trees = !c.parts && !p->eager && (!p->folded || even);
    uint32_t steps = below(d, most + 1);
    for (uint32_t m = 0; m < p->places; m++)
        for (uint32_t k = 0; k < p->lanes; k++) {
            lane *l = &p->all[m][k];
            l->n = short_lane ? below(d, most + 1) : steps;
            for (uint32_t i = 0; i < l->n; i++) {
                rlt_step_clear(&l->steps[i]);
                l->reach[i] = (rlt_reach){0, 1, p->n};
            }
        }
    for (uint32_t i = 0; i < wishes; i++)
        draw_message(d, p, wild, trees);
    draw_waits(d, p, wild);
}

static void on_begun(void *ctx, uint64_t cookie)
{
    drawing *d = &c.plans[cookie];
    assert_true(ctx == &c);
    assert_false(d->begun);
    assert_int_equal(rlt_sim_now(c.sim), d->begins);
    d->begun = true;
}

static void on_arrived(void *ctx, uint64_t cookie)
{
    assert_true(ctx == &c);
    assert_true(c.plans[cookie].eager);
    c.plans[cookie].delivered++;
}

static void on_member_done(void *ctx, uint64_t cookie, uint32_t member)
{
    drawing *d = &c.plans[cookie];
    assert_true(ctx == &c);
    assert_true(d->rep[d->class_of[member]] == member && d->ended[d->class_of[member]] < 0 && !d->done);
    d->ended[d->class_of[member]] = rlt_sim_now(c.sim);
}

static void on_done(void *ctx, uint64_t cookie)
{
    drawing *d = &c.plans[cookie];
    assert_true(ctx == &c);
    for (uint32_t m = 0; m < d->places; m++)
        assert_true(d->ended[m] >= 0 || !d->here[m]);
    d->done++;
    d->live = false;
    c.in_flight--;
    d->plan.algorithm = NULL; /* nobody looks at it again */
}

static const rlt_exec_client client = {
    .ctx = &c, .begun = on_begun, .delivered = on_arrived, .member_done = on_member_done, .done = on_done};
static const rlt_exec_client silent = {.ctx = &c, .member_done = on_member_done, .done = on_done};

static void on_add(void *ctx, uint64_t p)
{
    (void)ctx;
    drawing *d = &c.plans[p];
    const rlt_exec_client *who = p == 1 ? &silent : &client;
    int flags = d->eager ? RLT_EXEC_EAGER : 0;
    d->id = d->folded ? rlt_exec_add_folded(c.x, &d->plan, &d->fold, who, p, flags)
                      : rlt_exec_add(c.x, &d->plan, who, p, flags);
    for (uint32_t i = 0; i < c.n_plans; i++)
        assert_false(c.plans[i].live && c.plans[i].id == d->id);
    d->live = true;
    if (++c.in_flight > c.most_in_flight)
        c.most_in_flight = c.in_flight;
    assert_true(d->id < c.most_in_flight);
}

static void on_arrival(void *ctx, uint64_t payload)
{
    (void)ctx;
    const drawing *d = &c.plans[payload >> 32];
    if (d->together)
        rlt_exec_arrive_all(c.x, d->id);
    else
        rlt_exec_arrive(c.x, d->id, (uint32_t)payload);
}

static void on_look(void *ctx, uint64_t payload)
{
    (void)ctx;
    (void)payload;
    c.seen = rlt_exec_pending(c.x, NULL, 0);
}

static void check_plan(uint32_t number, uint32_t p)
{
    const drawing *a = &c.plans[p];
    for (uint32_t m = 0; m < a->places; m++)
        if (a->ended[m] != a->expected[m])
            fail_msg("case %u, plan %u: member %u ends at %lld, expected %lld", number, p, a->rep[m],
                     (long long)a->ended[m], (long long)a->expected[m]);
    assert_int_equal(a->done, ever_ends(a));
    assert_int_equal(a->begun, a->begins != RLT_TIME_MAX && p != 1);
    assert_int_equal(a->delivered, a->eager && p != 1 ? a->n_sent : 0);
}

static void check_pending(void)
{
    char text[200] = "x", expected[200] = "";
    uint32_t pending = 0, at_look = 0;
    const drawing *first = NULL;
    for (uint32_t p = 0; p < c.n_plans; p++) {
        const drawing *d = &c.plans[p];
        at_look += has_any(d) && d->added <= c.look && plain_end(d) > c.look;
        if (!has_any(d) || ever_ends(d))
            continue;
        pending++;
        if (!first || d->id < first->id)
            first = d;
    }
    assert_int_equal(c.seen, at_look);
    assert_int_equal(rlt_exec_pending(c.x, text, sizeof text), pending);
    if (first)
        plain_text(first, expected);
    assert_string_equal(text, expected);
}

static void on_network(const rlt_endpoint *endpoint, bool orderly, rlt_router *router)
{
    static const rlt_net_part part_of = {.of_rank = c.of_rank, .self = 1};
    rlt_error err = {0};
    rlt_net_config cfg = {.sim = c.sim,
                          .router = router,
                          .endpoint = *endpoint,
                          .bandwidth_scale = 1,
                          .latency_scale = 1,
                          .orderly = orderly,
                          .part = c.parts ? &part_of : NULL};
    assert_int_equal(rlt_exec_create(chosen, &cfg, &c.x, &err), 0);
    c.on_injected = rlt_sim_handler(c.sim, on_injected, NULL);
    c.on_delivered = rlt_sim_handler(c.sim, on_delivered, NULL);
    int add = rlt_sim_handler(c.sim, on_add, NULL), arrival = rlt_sim_handler(c.sim, on_arrival, NULL);
    int look = rlt_sim_handler(c.sim, on_look, NULL);
    assert_true(c.on_injected >= 0 && c.on_delivered >= 0 && add >= 0 && arrival >= 0 && look >= 0);
    for (uint32_t p = 0; p < c.n_plans; p++) {
        const drawing *a = &c.plans[p];
        rlt_sim_at(c.sim, a->added, RLT_COMPLETE, add, p);
        for (uint32_t m = 0; m < (a->together ? 1 : a->n); m++)
            if (a->arrives[m] != RLT_TIME_MAX)
                rlt_sim_at(c.sim, a->arrives[m], RLT_START, arrival, (uint64_t)p << 32 | m);
    }
    rlt_sim_at(c.sim, c.look, RLT_OBSERVE, look, 0);
}

static rlt_router *open_network(rlt_topology **t, rlt_placement *place)
{
    rlt_error err = {0};
    rlt_router *router = NULL;
    assert_int_equal(rlt_topology_load("switch:8@50GB/s,500ns", NULL, t, &err), 0);
    assert_int_equal(rlt_placement_identity(*t, RANKS, place, &err), 0);
    assert_int_equal(rlt_router_create(*t, place, RLT_ROUTE_DMODK, &router, &err), 0);
    return router;
}

static void run_case(uint32_t number, rlt_router *router)
{
    dice d = {.seed = number};
    rlt_error err = {0};
    memset(&c, 0, sizeof c);
    chosen = &drawn_net;
    c.parts = below(&d, 5) == 0;
    c.blocking = below(&d, 2);
    c.setup = below(&d, 2) ? 12345 : 0;
    c.look = 500 + 1000 * (rlt_time)roll(&d, 1500);
    for (uint32_t r = 0; r < RANKS; r++)
        c.of_rank[r] = (uint8_t)below(&d, 2);
    c.n_plans = 1 + below(&d, PLANS);
    for (uint32_t p = 0; p < c.n_plans; p++)
        draw_plan(&d, &c.plans[p]);
    run_plainly();
    rlt_endpoint endpoint = {.injection = c.blocking ? RLT_INJECT_BLOCKING : RLT_INJECT_NIC,
                             .launch_ps = c.setup};
    assert_int_equal(rlt_sim_create(&c.sim, &err), 0);
    on_network(&endpoint, below(&d, 2), router);
    if (rlt_sim_run(c.sim, RLT_TIME_MAX, &err))
        fail_msg("case %u: %s: %s", number, err.where, err.what);
    for (uint32_t p = 0; p < c.n_plans; p++)
        check_plan(number, p);
    for (uint32_t i = 0; i < c.n_messages; i++)
        assert_int_equal(c.messages[i].asked, c.messages[i].sent);
    check_pending();
    rlt_exec_free(c.x);
    rlt_sim_free(c.sim);
}

static void messages_and_ends(void **state)
{
    rlt_topology *t = NULL;
    rlt_placement place = {0};
    rlt_router *router = open_network(&t, &place);
    (void)state;
    for (uint32_t i = 0; i < CASES; i++)
        run_case(i, router);
    rlt_router_free(router);
    rlt_placement_free(&place);
    rlt_topology_free(t);
}

/* A network without a verb is named, and so is the verb. */
static void verbs_that_a_network_lacks(void **state)
{
    static const char *const lacks[] = {"", "in-network reduction", "multicast", "in-network reduction"};
    rlt_topology *t = NULL;
    rlt_placement place = {0};
    rlt_router *router = open_network(&t, &place);
    (void)state;
    for (uint8_t verb = RLT_VERB_REDUCE; verb <= RLT_VERB_REDUCE_ALL; verb++) {
        rlt_error err = {0};
        char expected[100];
        dice d = {.seed = verb};
        memset(&c, 0, sizeof c);
        chosen = &plain_net;
        c.n_plans = 1;
        drawing *p = &c.plans[0];
        *p = (drawing){.n = 2, .lanes = 1, .places = 2};
        draw_members(&d, p);
        p->arrives[0] = p->arrives[1] = 0;
        p->plan.algorithm = &whole;
        for (uint32_t m = 0; m < 2; m++) {
            p->all[m][0].n = 1;
            p->all[m][0].reach[0] = (rlt_reach){0, 1, 2};
            rlt_step_clear(&p->all[m][0].steps[0]);
        }
        p->all[0][0].steps[0].verb = verb;
        p->all[0][0].steps[0].send_to = RLT_LANDS_AT_ALL(verb) ? 2 : 1;
        assert_int_equal(rlt_sim_create(&c.sim, &err), 0);
        on_network(&(rlt_endpoint){0}, false, router);
        assert_int_equal(rlt_sim_run(c.sim, RLT_TIME_MAX, &err), RLT_EUNSUPPORTED);
        snprintf(expected, sizeof expected, "the network model 'plain' has no %s", lacks[verb]);
        assert_string_equal(err.what, expected);
        assert_string_equal(err.where, "whole");
        rlt_exec_free(c.x);
        rlt_sim_free(c.sim);
    }
    rlt_router_free(router);
    rlt_placement_free(&place);
    rlt_topology_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(messages_and_ends),
                                       cmocka_unit_test(verbs_that_a_network_lacks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
