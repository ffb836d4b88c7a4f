/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Trains of packets: where an answer, or another flow, comes to the port of a host within a picosecond of the
 * time at which the port is free, a run with trains takes the times of a run with an event for each packet.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/endpoint/endpoint.h"
#include "net/network.h"
#include "net/packet/packet.h"
#include "net/packet/packets.h"
#include "net/route.h"
#include "net/topology/build.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "test/support/networks/graph.h"
#include "test/support/support.h"

/* 1000 bytes at 12.5 GB/s: 80 ns a packet. */
enum { MTU = 936, HEADER = 64, TAU = 80000, LATENCY = 500000, MOST = 24, MESSAGES = 2 };

typedef struct outcome {
    rlt_time injected[MESSAGES], delivered[MESSAGES];
    uint64_t packets[2], bytes[2], events;
    rlt_time active[2];
} outcome;

typedef struct run {
    rlt_sim *sim;
    rlt_net *net;
    uint32_t turned; /* the message that is posted when its time has come */
    outcome out;
} run;

static void note_injected(void *ctx, uint64_t tx)
{
    run *r = ctx;
    r->out.injected[tx] = rlt_sim_now(r->sim);
}

static void note_delivered(void *ctx, uint64_t tx, uint64_t rx)
{
    run *r = ctx;
    (void)rx;
    r->out.delivered[tx] = rlt_sim_now(r->sim);
}

static void post(run *r, uint32_t i, uint32_t src, uint64_t packets)
{
    const rlt_message m = {
        .src = src, .dst = 1 - src, .bytes = packets * MTU, .route_key = i, .tx = i, .rx = i};
    rlt_time t = rlt_net_send(r->net, &m);
    if (t >= 0)
        r->out.injected[i] = t;
}

/* One packet from the other host, or from the first one beside its train. */
static void on_time(void *ctx, uint64_t src)
{
    run *r = ctx;
    post(r, 1, (uint32_t)src, 1);
}

static outcome run_with(bool trains, uint32_t ack, uint64_t length, uint32_t src, rlt_time when)
{
    const rlt_graph_node nodes[] = {{.name = "a", .kind = RLT_ACCELERATOR},
                                    {.name = "b", .kind = RLT_ACCELERATOR}};
    const rlt_graph_link links[] = {{0, 1, UINT64_C(12500000000), LATENCY, NULL},
                                    {1, 0, UINT64_C(12500000000), LATENCY, NULL}};
    rlt_topology *t = test_graph(nodes, 2, links, 2);
    const rlt_placement place = {.n = 2};
    rlt_router *router = NULL;
    rlt_packet_settings set = rlt_packet_default();
    run r = {.out = {.injected = {-1, -1}, .delivered = {-1, -1}}};
    set.mtu = MTU;
    set.header = HEADER;
    set.ack_bytes = 100;
    set.ack = ack;
    assert_int_equal(rlt_sim_create(&r.sim, NULL), 0);
    assert_int_equal(rlt_router_create(t, &place, RLT_ROUTE_DMODK, &router, NULL), 0);
    const rlt_net_config cfg = {.sim = r.sim,
                                .router = router,
                                .endpoint = rlt_endpoint_default(),
                                .client = {&r, note_injected, note_delivered},
                                .bandwidth_scale = 1,
                                .latency_scale = 1,
                                .local = trains,
                                .packet = &set};
    assert_int_equal(rlt_net_packet.create(&cfg, &r.net, NULL), 0);
    int handler = rlt_sim_handler(r.sim, on_time, &r);
    assert_true(handler >= 0);
    rlt_sim_post_at(r.sim, when, RLT_COMPLETE, rlt_sim_tag(handler), src);
    post(&r, 0, 0, length);
    assert_int_equal(rlt_sim_run(r.sim, RLT_TIME_MAX, NULL), 0);
    rlt_net_settle(r.net);
    for (uint32_t i = 0; i < 2; i++) {
        const rlt_link_usage u = rlt_usage_link(r.net->usage, i);
        r.out.packets[i] = u.messages;
        r.out.bytes[i] = u.bytes;
        r.out.active[i] = u.active_ps;
    }
    r.out.events = rlt_sim_events(r.sim);
    rlt_net_free(r.net);
    rlt_router_free(router);
    rlt_sim_free(r.sim);
    rlt_topology_free(t);
    return r.out;
}

/* The other message, or its answers, come to the port of the train around the time at which it is free. */
static void as_without_trains(void **state)
{
    static const rlt_time near[] = {-2, -1, 0, 1, 2, TAU / 2};
    (void)state;
    for (uint32_t src = 0; src < 2; src++)
        for (uint32_t ack = 0; ack<6; ack += ack> 1 ? 2 : 1)
            for (uint32_t k = 1; k < MOST + 12; k++)
                for (size_t i = 0; i < sizeof near / sizeof *near; i++) {
                    rlt_time then = k * (rlt_time)TAU + near[i] - (src ? TAU + LATENCY : 0);
                    if (then < 0)
                        continue;
                    const uint64_t length = k % 3 ? MOST : 1 + k % MOST;
                    const outcome a = run_with(true, ack, length, src, then),
                                  b = run_with(false, ack, length, src, then);
                    if (memcmp(&a, &b, sizeof a) != 0)
                        fail_msg("from %u, ack %u, free %u, %lld ps: %lld %lld, without trains %lld %lld",
                                 src, ack, k, (long long)near[i], (long long)a.delivered[0],
                                 (long long)a.delivered[1], (long long)b.delivered[0],
                                 (long long)b.delivered[1]);
                }
}

/* Trains of each length, alone. */
static void each_length(void **state)
{
    (void)state;
    for (uint32_t ack = 0; ack < 4; ack++)
        for (uint64_t length = 1; length < 3 * MOST; length++) {
            const outcome a = run_with(true, ack, length, 0, RLT_S),
                          b = run_with(false, ack, length, 0, RLT_S);
            assert_memory_equal(&a, &b, sizeof a);
            assert_int_equal(a.injected[0], (rlt_time)length * TAU);
            assert_int_equal(a.delivered[0], (rlt_time)length * TAU + LATENCY);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_without_trains), cmocka_unit_test(each_length)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
