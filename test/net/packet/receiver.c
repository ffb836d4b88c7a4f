/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A receiver with selective repeat keeps 2^22 packets from the first missing one on; later ones are lost. */
#include <stdint.h>
#include <stdlib.h>

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

static void ignore_injected(void *ctx, uint64_t tx)
{
    (void)ctx;
    (void)tx;
}

static void count(void *ctx, uint64_t tx, uint64_t rx)
{
    (void)tx;
    (void)rx;
    ++*(uint32_t *)ctx;
}

/* Sends a message of one packet, then, as if the flow had gone on, packets with these numbers, the last of
 * which may ask what is missing (kind 1). Returns how many answers have left the receiver before any of them
 * arrives. */
static uint64_t answers_to(const uint64_t *numbers, uint32_t n_numbers, bool asks)
{
    const rlt_graph_node nodes[] = {{.name = "a", .kind = RLT_ACCELERATOR},
                                    {.name = "b", .kind = RLT_ACCELERATOR}};
    const rlt_graph_link links[] = {{0, 1, 1000000000, 1000000, NULL}, {1, 0, 1000000000, 900000000, NULL}};
    const uint32_t way = 0;
    uint32_t delivered = 0;
    rlt_topology *t = test_graph(nodes, 2, links, 2);
    rlt_placement place = {.n = 2};
    rlt_router *router = NULL;
    rlt_sim *sim = NULL;
    rlt_net *net = NULL;
    rlt_packet_settings set = rlt_packet_default();
    set.selective = 1;
    set.loss = 1e-18; /* so that the network repairs losses */
    set.rto_ps = RLT_S;
    assert_int_equal(rlt_sim_create(&sim, NULL), 0);
    assert_int_equal(rlt_router_create(t, &place, RLT_ROUTE_DMODK, &router, NULL), 0);
    const rlt_net_config cfg = {.sim = sim,
                                .router = router,
                                .endpoint = rlt_endpoint_default(),
                                .client = {&delivered, ignore_injected, count},
                                .bandwidth_scale = 1,
                                .latency_scale = 1,
                                .packet = &set};
    assert_int_equal(rlt_net_packet.create(&cfg, &net, NULL), 0);
    const rlt_message m = {.src = 0, .dst = 1, .bytes = 1};
    rlt_net_send(net, &m);
    rlt_packets *packets = rlt_net_packets(net);
    for (uint32_t i = 0; i < n_numbers; i++) {
        const rlt_packet p = {.bytes = 100,
                              .src = 0,
                              .dst = 1,
                              .route = rlt_packets_route(packets, &way, 1),
                              .kind = asks && i + 1 == n_numbers,
                              .data = numbers[i]};
        rlt_packets_send(packets, &p);
    }
    assert_int_equal(rlt_sim_run(sim, 500000000, NULL), 0);
    assert_int_equal(delivered, 1);
    const uint64_t n = rlt_usage_link(net->usage, 1).messages;
    rlt_net_free(net);
    rlt_router_free(router);
    rlt_sim_free(sim);
    rlt_topology_free(t);
    return n;
}

static uint64_t answers(uint64_t number)
{
    return answers_to(&number, 1, false);
}

/* The first answer is that of the message. A packet that came before is answered again; one that is kept asks
 * for those before it; one that counts as lost does not. */
static void keeps_packets_ahead(void **state)
{
    (void)state;
    const uint64_t most = UINT64_C(1) << 22;
    assert_int_equal(answers(0), 2);
    assert_int_equal(answers(2), 2);
    assert_int_equal(answers(most - 1), 2);
    assert_int_equal(answers(most), 2);
    assert_int_equal(answers(most + 1), 1);
    assert_int_equal(answers(UINT64_C(1) << 40), 1);
}

/* Of every second packet each asks for the one before it. One that asks is told of all runs that are missing,
 * of 64 at most; or that none is. */
static void lists_runs(void **state)
{
    (void)state;
    for (uint32_t n = 0; n < 70; n += n < 60 ? 20 : 1) {
        uint64_t numbers[71];
        for (uint32_t i = 0; i <= n; i++)
            numbers[i] = 2 + 2 * i;
        assert_int_equal(answers_to(numbers, n + 1, true), 1 + n + (n + 1 < 64 ? n + 1 : 64));
    }
    const uint64_t filled[] = {3, 2, 1, 3};
    /* the message, a gap, its end, and that none is missing */
    assert_int_equal(answers_to(filled, 4, true), 1 + 1 + 1 + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(keeps_packets_ahead), cmocka_unit_test(lists_runs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
