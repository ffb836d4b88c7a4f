/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A network of packets in parts, each on a thread, against the second model (test/support/networks/packet_model.h):
 * every message is injected and delivered at the same picosecond, and every link carries, drops and loses as
 * much, until the last message has come.
 */
#include <math.h>

#include "net/endpoint/endpoint.h"
#include "net/network.h"
#include "net/packet/packets.h"
#include "net/packet/parts.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "sim/windows.h"
#include "test/support/dice.h"
#include "test/support/networks/packet_case.h"
#include "test/support/networks/packet_model.h"
#include "test/support/networks/random_tree.h"
#include "test/support/support.h"

enum { CASES = 60 };

typedef struct whole whole;

typedef struct part {
    whole *all;
    rlt_sim *sim;
    rlt_router *router;
    rlt_net *net;
    rlt_net_part place;
    uint32_t due; /* messages that have yet to come here */
    rlt_time last;
} part;

/* Threads write different elements of `out`. */
struct whole {
    const test_case *c;
    outcome out;
    uint32_t from[MESSAGES], to[MESSAGES];
    rlt_topology *t;
    rlt_placement ranks;
    rlt_packet_parts dealt;
    rlt_windows *windows;
    part of[HOSTS];
    uint32_t gathers; /* the part to which the accounts of the others are added */
    rlt_time active[LINKS];
    uint64_t messages, offered, delivered;
};

static void post_here(part *p, uint32_t i)
{
    const wanted *w = &p->all->c->messages[i];
    rlt_message m = {.src = p->all->from[i],
                     .dst = p->all->to[i],
                     .bytes = w->bytes,
                     .route_key = w->key,
                     .tx = i,
                     .rx = i + MESSAGES};
    rlt_time t = rlt_net_send(p->net, &m);
    if (t >= 0) /* known at once */
        p->all->out.injected[i] = t;
}

static void on_injected(void *ctx, uint64_t tx)
{
    part *p = ctx;
    p->all->out.injected[tx] = rlt_sim_now(p->sim);
}

static void on_delivered(void *ctx, uint64_t tx, uint64_t rx)
{
    part *p = ctx;
    p->all->out.delivered[rx - MESSAGES] = p->last = rlt_sim_now(p->sim);
    if (tx + CHAINS < MESSAGES)
        post_here(p, (uint32_t)tx + CHAINS);
    if (--p->due == 0)
        rlt_packet_part_ended(p->net);
}

static rlt_time ended(void *ctx)
{
    const part *p = ctx;
    return p->due ? -1 : p->last;
}

static rlt_net_config config_of(const whole *all, part *p)
{
    return (rlt_net_config){.sim = p->sim,
                            .router = p->router,
                            .endpoint = rlt_endpoint_default(),
                            .client = {p, on_injected, on_delivered},
                            .bandwidth_scale = all->c->bandwidth_scale,
                            .latency_scale = all->c->latency_scale,
                            .local = true,
                            .packet = &all->c->set,
                            .part = all->windows ? &p->place : NULL};
}

static void open_network(whole *all, part *p)
{
    assert_int_equal(rlt_router_create(all->t, &all->ranks, RLT_ROUTE_DMODK, &p->router, NULL), 0);
    assert_int_equal(rlt_sim_create(&p->sim, NULL), 0);
}

static void open_part(whole *all, uint32_t self)
{
    part *p = &all->of[self];
    rlt_error err = {0};
    p->all = all;
    p->place = (rlt_net_part){&all->dealt, all->windows, all->dealt.of_rank, self};
    if (self > 0)
        open_network(all, p);
    rlt_net_config cfg = config_of(all, p);
    if (rlt_net_packet.create(&cfg, &p->net, &err))
        fail_msg("%s: %s", err.where, err.what);
    rlt_windows_join(all->windows, self, p->sim, ended, p);
    for (uint32_t i = 0; i < MESSAGES; i++)
        p->due += all->dealt.of_rank[all->to[i]] == self;
    for (uint32_t i = 0; i < CHAINS; i++)
        if (all->dealt.of_rank[all->from[i]] == self)
            post_here(p, i);
    if (!p->due)
        rlt_packet_part_ended(p->net);
}

static void read_accounts(whole *all)
{
    rlt_net *net = all->of[all->gathers].net;
    uint64_t peaks[LINKS];
    for (uint32_t i = 0; i < LINKS; i++) { /* known to the part that has the port */
        rlt_port_counts n = {0};
        assert_true(rlt_usage_port(all->of[all->dealt.owner[i]].net->usage, i, &n));
        peaks[i] = n.peak_bytes;
    }
    for (uint32_t i = 0; i < all->dealt.n; i++)
        if (i != all->gathers)
            rlt_packet_gather(net, all->of[i].net);
    for (uint32_t i = 0; i < LINKS; i++) {
        rlt_port_counts n = {0};
        assert_true(rlt_usage_port(net->usage, i, &n));
        assert_int_equal(n.peak_bytes, peaks[i]);
        all->out.packets[i] = n.packets;
        all->out.bytes[i] = rlt_usage_link(net->usage, i).bytes;
        all->active[i] = rlt_usage_link(net->usage, i).active_ps;
        all->out.drops[i] = n.drops;
        all->out.losses[i] = n.losses;
        all->out.marks[i] = n.marks;
    }
    uint64_t sent = 0;
    for (uint32_t i = 0; i < LINKS; i++)
        sent += all->out.packets[i];
    for (uint32_t i = 0; i < all->dealt.n; i++) /* no part has packets under way that none has sent */
        assert_true(rlt_packets_pending(rlt_net_packets(all->of[i].net), NULL, 0) <= sent);
    all->messages = net->messages;
    all->offered = net->bytes_offered;
    all->delivered = net->bytes_delivered;
}

static void run_in_parts(whole *all, const test_case *c, uint32_t parts)
{
    rlt_error err = {0};
    *all = (whole){.c = c, .t = tree_build(c), .gathers = (uint32_t)(c->set.seed % parts)};
    for (uint32_t i = 0; i < MESSAGES; i++) {
        all->from[i] = i < CHAINS ? c->from[i] : all->to[i - CHAINS];
        all->to[i] = (all->from[i] + c->messages[i].dst) % HOSTS;
        all->out.injected[i] = all->out.delivered[i] = -1;
    }
    assert_int_equal(rlt_placement_identity(all->t, HOSTS, &all->ranks, NULL), 0);
    open_network(all, &all->of[0]);
    rlt_net_config cfg = config_of(all, &all->of[0]);
    if (rlt_packet_deal(&cfg, parts, &all->dealt, &err))
        fail_msg("%s", err.what);
    assert_int_equal(all->dealt.n, parts);
    assert_int_equal(rlt_windows_create(parts, all->dealt.ahead, &all->windows, NULL), 0);
    for (uint32_t i = 0; i < parts; i++)
        open_part(all, i);
    int rc = rlt_windows_run(all->windows, &err);
    if (rc && rc != RLT_ESTALL)
        fail_msg("%s: %s", err.where, err.what);
    all->out.gave_up = rc != 0;
    read_accounts(all);
    for (uint32_t i = 0; i < parts; i++) {
        rlt_net_free(all->of[i].net);
        rlt_sim_free(all->of[i].sim);
        rlt_router_free(all->of[i].router);
    }
    rlt_windows_free(all->windows);
    rlt_packet_parts_free(&all->dealt);
    rlt_placement_free(&all->ranks);
    rlt_topology_free(all->t);
}

static void compare_times(const model *m, const rlt_time *one, const rlt_time *other, const char *what)
{
    for (uint32_t i = 0; i < MESSAGES; i++)
        if (one[i] != other[i] && (m->tied < 0 || (one[i] >= 0 && one[i] < m->tied)))
            fail_msg("message %u %s: %lld ps, the model says %lld ps", i, what, (long long)other[i],
                     (long long)one[i]);
}

static void compare(const model *m, const whole *all)
{
    const outcome *a = &m->out, *b = &all->out;
    if (a->gave_up) /* the other parts may be ahead of the one that does */
        return;
    compare_times(m, a->injected, b->injected, "injected");
    compare_times(m, a->delivered, b->delivered, "delivered");
    if (m->tied >= 0)
        return;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < MESSAGES; i++)
        bytes += m->c->messages[i].bytes;
    assert_false(b->gave_up);
    assert_int_equal(all->messages, MESSAGES);
    assert_int_equal(all->offered, bytes);
    assert_int_equal(all->delivered, bytes);
    for (uint32_t i = 0; i < LINKS; i++) {
        double carried = m->carried[i], got = (double)b->bytes[i];
        assert_int_equal(m->active[i], all->active[i]);
        if (a->packets[i] != b->packets[i] || a->drops[i] != b->drops[i] || a->losses[i] != b->losses[i] ||
            a->marks[i] != b->marks[i])
            fail_msg("link %u: %llu packets, %llu dropped, %llu lost; the model says %llu, %llu, %llu", i,
                     (unsigned long long)b->packets[i], (unsigned long long)b->drops[i],
                     (unsigned long long)b->losses[i], (unsigned long long)a->packets[i],
                     (unsigned long long)a->drops[i], (unsigned long long)a->losses[i]);
        if (got > carried + 0.02 || got < carried - 1.02) /* a byte counts as a whole */
            fail_msg("link %u: %g bytes, the model says %g", i, got, carried);
    }
}

static void begin_model(model *m, const test_case *c, rlt_time closes)
{
    memset(m, 0, sizeof *m);
    m->c = c;
    m->tied = -1;
    m->closes = closes;
    run_reference(m);
}

static void parts_take_the_time_of_the_reference(void **state)
{
    (void)state;
    model *m = malloc(sizeof *m);
    test_case *c = malloc(sizeof *c);
    whole *all = malloc(sizeof *all);
    uint32_t n = 0, to_the_end = 0;
    assert_true(m && c && all);
    for (uint64_t seed = 1001; n < CASES; seed++) {
        rlt_time last = 0;
        draw_case(c, seed);
        if (c->set.pause != RLT_PAUSE_NONE || c->spray || c->n_turns)
            continue;
        n++;
        begin_model(m, c, RLT_TIME_MAX);
        for (uint32_t i = 0; i < MESSAGES; i++)
            last = m->out.delivered[i] > last ? m->out.delivered[i] : last;
        begin_model(m, c, last);
        run_in_parts(all, c, 2 + (uint32_t)(seed % 4));
        compare(m, all);
        to_the_end += m->tied < 0 && !m->out.gave_up;
    }
    print_message("# %u of %u cases to the end\n", to_the_end, n);
    assert_true(to_the_end > n / 2);
    free(m);
    free(c);
    free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(parts_take_the_time_of_the_reference)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
