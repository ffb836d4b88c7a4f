/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The packet model against a second one (test/support/packet_model.h). Every message is injected and
 * delivered at the same picosecond. Every link carries, drops and loses as many packets and bytes. Trains
 * of packets, and a series over time, change nothing.
 */
#include <stdio.h>

#include "net/endpoint/endpoint.h"
#include "net/network.h"
#include "net/packet/packet.h"
#include "net/route.h"
#include "net/topology/build.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "test/support/packet_model.h"
#include "test/support/support.h"

enum { CASES = 300 };

typedef struct subject {
    const test_case *c;
    outcome out;
    rlt_sim *sim;
    rlt_net *net;
    uint32_t to[MESSAGES];
} subject;

static void send_message(subject *s, uint32_t i, uint32_t src)
{
    const wanted *w = &s->c->messages[i];
    s->to[i] = (src + w->dst) % HOSTS;
    rlt_message m = {
        .src = src, .dst = s->to[i], .bytes = w->bytes, .route_key = w->key, .tx = i, .rx = i + MESSAGES};
    assert_int_equal(rlt_net_send(s->net, &m), -1);
}

static void note_injected(void *ctx, uint64_t tx)
{
    subject *s = ctx;
    assert_int_equal(s->out.injected[tx], -1);
    s->out.injected[tx] = rlt_sim_now(s->sim);
}

static void note_delivered(void *ctx, uint64_t tx, uint64_t rx)
{
    subject *s = ctx;
    assert_int_equal(rx, tx + MESSAGES);
    assert_int_equal(s->out.delivered[tx], -1);
    s->out.delivered[tx] = rlt_sim_now(s->sim);
    if (tx + CHAINS < MESSAGES)
        send_message(s, (uint32_t)tx + CHAINS, s->to[tx]);
}

static rlt_topology *build(const test_case *c)
{
    char names[NODES][8];
    rlt_graph_node nodes[NODES];
    rlt_graph_link links[LINKS];
    rlt_topology *t = NULL;
    rlt_error err = {0};
    for (uint32_t i = 0; i < NODES; i++) {
        snprintf(names[i], sizeof names[i], "n%u", i);
        nodes[i] = (rlt_graph_node){
            .name = names[i], .kind = i < HOSTS ? RLT_ACCELERATOR : RLT_SWITCH, .forwards = -1};
    }
    for (uint32_t i = 0; i < LINKS; i++)
        links[i] = (rlt_graph_link){c->wires[i].src, c->wires[i].dst, c->wires[i].bw_Bps,
                                    c->wires[i].latency_ps, NULL};
    rlt_topology_spec spec = {.name = "tree",
                              .source = "test",
                              .endpoint = rlt_endpoint_default(),
                              .n_nodes = NODES,
                              .n_links = LINKS,
                              .nodes = nodes,
                              .links = links};
    if (rlt_topology_build(&spec, &t, &err))
        fail_msg("%s: %s", err.where, err.what);
    for (uint32_t i = 0; i < LINKS; i++)
        assert_true(rlt_topology_link(t, i).src == links[i].src &&
                    rlt_topology_link(t, i).dst == links[i].dst);
    return t;
}

static void run_ringlet(subject *s, bool local, rlt_time bin_ps)
{
    rlt_topology *t = build(s->c);
    rlt_placement place;
    rlt_router *router = NULL;
    rlt_error err = {0};
    assert_int_equal(rlt_placement_identity(t, HOSTS, &place, NULL), 0);
    assert_int_equal(rlt_router_create(t, &place, RLT_ROUTE_DMODK, &router, NULL), 0);
    assert_int_equal(rlt_sim_create(&s->sim, NULL), 0);
    rlt_net_config cfg = {.sim = s->sim,
                          .router = router,
                          .endpoint = rlt_endpoint_default(),
                          .client = {s, note_injected, note_delivered},
                          .bandwidth_scale = 1,
                          .latency_scale = 1,
                          .local = local,
                          .series_bin_ps = bin_ps,
                          .packet = &s->c->set};
    if (rlt_net_packet.create(&cfg, &s->net, &err))
        fail_msg("%s: %s", err.where, err.what);
    for (uint32_t i = 0; i < MESSAGES; i++)
        s->out.injected[i] = s->out.delivered[i] = -1;
    for (uint32_t i = 0; i < CHAINS; i++)
        send_message(s, i, s->c->from[i]);
    int rc = rlt_sim_run(s->sim, RLT_TIME_MAX, &err);
    if (rc && rc != RLT_ESTALL)
        fail_msg("%s: %s", err.where, err.what);
    s->out.gave_up = rc != 0;
    rlt_net_settle(s->net);
    for (uint32_t i = 0; i < LINKS; i++) {
        rlt_port_counts n;
        assert_true(rlt_usage_port(s->net->usage, i, &n));
        s->out.packets[i] = n.packets;
        s->out.bytes[i] = rlt_usage_link(s->net->usage, i).bytes;
        s->out.drops[i] = n.drops;
        s->out.losses[i] = n.losses;
    }
    rlt_net_free(s->net);
    rlt_sim_free(s->sim);
    rlt_router_free(router);
    rlt_placement_free(&place);
    rlt_topology_free(t);
}

/* Until events of one node met, or to the end. */
static void assert_same(const model *m, const subject *s, uint64_t seed)
{
    const outcome *a = &m->out, *b = &s->out;
    for (uint32_t i = 0; i < MESSAGES; i++) {
        const rlt_time *one[2] = {a->injected, a->delivered}, *two[2] = {b->injected, b->delivered};
        for (uint32_t k = 0; k < 2; k++)
            if (one[k][i] != two[k][i] && (m->tied < 0 || (one[k][i] >= 0 && one[k][i] < m->tied)))
                fail_msg("case %llu, message %u %s: %lld ps, the reference says %lld ps",
                         (unsigned long long)seed, i, k ? "delivered" : "injected", (long long)two[k][i],
                         (long long)one[k][i]);
    }
    if (m->tied >= 0)
        return;
    assert_int_equal(a->gave_up, b->gave_up);
    for (uint32_t i = 0; i < LINKS && !a->gave_up; i++)
        if (a->packets[i] != b->packets[i] || a->bytes[i] != b->bytes[i] || a->drops[i] != b->drops[i] ||
            a->losses[i] != b->losses[i])
            fail_msg("case %llu, link %u", (unsigned long long)seed, i);
}

static void random_cases_take_the_time_of_the_reference(void **state)
{
    (void)state;
    model *m = malloc(sizeof *m);
    test_case *c = malloc(sizeof *c);
    subject *s = malloc(sizeof *s);
    uint32_t whole = 0, gave_up = 0, lossy = 0;
    assert_true(m && c && s);
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        draw_case(c, seed);
        memset(m, 0, sizeof *m);
        m->c = c;
        m->tied = -1;
        run_reference(m);
        for (int way = 0; way < 3; way++) {
            *s = (subject){.c = c};
            run_ringlet(s, way > 0, way > 1 ? 5000000 : 0);
            assert_same(m, s, seed);
        }
        whole += m->tied < 0;
        lossy += can_lose(&c->set);
        gave_up += m->out.gave_up;
    }
    print_message("# %u cases: %u to the end, %u with losses, %u give up\n", CASES, whole, lossy, gave_up);
    assert_true(whole > CASES * 2 / 3 && lossy > CASES / 3 && gave_up > 0);
    free(m);
    free(c);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_cases_take_the_time_of_the_reference)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
