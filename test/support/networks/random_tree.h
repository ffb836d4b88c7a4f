/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random cases for network models: hosts and switches in a tree whose links differ, and messages that follow
 * each other. A test has a plain model of its own, and compares it with the run of ringlet's.
 */
#ifndef RLT_TEST_SUPPORT_NETWORKS_RANDOM_TREE_H
#define RLT_TEST_SUPPORT_NETWORKS_RANDOM_TREE_H

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
#include "test/support/dice.h"
#include "test/support/support.h"

enum { HOSTS = 5, SWITCHES = 4, NODES = HOSTS + SWITCHES, LINKS = 2 * (NODES - 1), NOBODY = 999 };
enum { MESSAGES = 60, CHAINS = 8, TURNS = 6 };

typedef struct wire {
    uint32_t src, dst;
    uint64_t bw_Bps;
    rlt_time latency_ps;
} wire;

typedef struct wanted {
    uint32_t dst, key;
    uint64_t bytes;
} wanted;

/* Links that change at a time: their bandwidth is multiplied, or they fail. */
typedef struct turn {
    rlt_time at;
    double factor;
    uint32_t n, links[LINKS];
} turn;

typedef struct outcome {
    rlt_time injected[MESSAGES], delivered[MESSAGES];
    rlt_time busy[LINKS], active[LINKS];
    uint64_t packets[LINKS], bytes[LINKS], drops[LINKS], losses[LINKS], marks[LINKS];
    uint64_t events, waits; /* waits: flows that are not done, of which `text` names the first */
    char text[400];
    bool gave_up;
} outcome;

typedef struct test_case {
    wire wires[LINKS], built[LINKS]; /* as simulated; as the topology has them, before they are scaled */
    uint32_t up[NODES];              /* the parent of a node in the tree */
    rlt_packet_settings set;         /* of packets */
    double bandwidth_scale, latency_scale;
    bool spray; /* a tree has one way, but the network does not know */
    turn turns[TURNS];
    uint32_t n_turns;
    rlt_injection injection;
    rlt_time until;          /* when the run is stopped; 0: at its end */
    uint32_t from[MESSAGES]; /* of the first CHAINS messages; of later ones, where an earlier one arrived */
    wanted messages[MESSAGES];
} test_case;

/* Even numbers: half of them is one, too. */
static inline uint64_t some_bandwidth(dice *d, bool may_be_round)
{
    static const uint64_t round[] = {1000000000, 4000000000, 10000000000, 25000000000};
    return may_be_round && below(d, 2) ? round[below(d, 4)] : 1000000000 + 2 * roll(d, UINT64_C(15000000000));
}

/* Draws links and messages. `mtu`: the size of messages, roughly. */
static inline void tree_draw(test_case *c, dice *d, bool round, uint64_t mtu)
{
    static const double scales[] = {1, 1, 2, 0.5};
    c->bandwidth_scale = scales[below(d, 4)];
    c->latency_scale = scales[below(d, 4)];
    for (uint32_t node = 0; node < NODES; node++) {
        /* Hosts are leaves of a tree of switches, whose root is the first one. */
        c->up[node] = node < HOSTS    ? HOSTS + below(d, SWITCHES)
                      : node == HOSTS ? NOBODY
                                      : HOSTS + below(d, node - HOSTS);
        if (node == HOSTS)
            continue;
        wire *w = &c->built[2 * (node < HOSTS ? node : node - 1)];
        w[0] = (wire){node, c->up[node], some_bandwidth(d, round), (rlt_time)(2 + 2 * roll(d, 750000))};
        w[1] = (wire){c->up[node], node, some_bandwidth(d, round), (rlt_time)(2 + 2 * roll(d, 750000))};
    }
    for (uint32_t i = 0; i < LINKS; i++) {
        c->wires[i] = c->built[i];
        c->wires[i].bw_Bps = (uint64_t)((double)c->built[i].bw_Bps * c->bandwidth_scale);
        c->wires[i].latency_ps = (rlt_time)((double)c->built[i].latency_ps * c->latency_scale);
    }
    for (uint32_t i = 0; i < MESSAGES; i++) {
        uint64_t most = below(d, 4) ? 4 * mtu : 30 * mtu;
        c->from[i] = below(d, HOSTS);
        c->messages[i] = (wanted){1 + below(d, HOSTS - 1), below(d, 2), below(d, 8) ? roll(d, most) : mtu};
    }
}

static inline rlt_time span_of(const wire *w, uint64_t bytes)
{
    return (rlt_time)(((unsigned __int128)bytes * 1000000000000 + w->bw_Bps / 2) / w->bw_Bps);
}

/* Returns the wire by which a node sends to a host: down the tree, or up. */
static inline uint32_t wire_to(const test_case *c, uint32_t node, uint32_t host)
{
    uint32_t below_it = host;
    while (below_it != NOBODY && c->up[below_it] != node)
        below_it = c->up[below_it];
    for (uint32_t i = 0; i < LINKS; i++)
        if (c->wires[i].src == node && c->wires[i].dst == (below_it == NOBODY ? c->up[node] : below_it))
            return i;
    fail_msg("node %u has no way to host %u", node, host);
    return 0;
}

/* ---- ringlet ---- */

typedef struct subject {
    const test_case *c;
    outcome out;
    rlt_sim *sim;
    rlt_net *net;
    uint32_t to[MESSAGES];
    void (*look)(struct subject *s, void *ctx); /* at the network, after the run; may be NULL */
    void *ctx;
} subject;

static inline void send_message(subject *s, uint32_t i, uint32_t src)
{
    const wanted *w = &s->c->messages[i];
    s->to[i] = (src + w->dst) % HOSTS;
    rlt_message m = {
        .src = src, .dst = s->to[i], .bytes = w->bytes, .route_key = w->key, .tx = i, .rx = i + MESSAGES};
    rlt_time t = rlt_net_send(s->net, &m);
    if (t >= 0) /* known at once */
        s->out.injected[i] = t;
}

static inline void note_injected(void *ctx, uint64_t tx)
{
    subject *s = ctx;
    assert_int_equal(s->out.injected[tx], -1);
    s->out.injected[tx] = rlt_sim_now(s->sim);
}

static inline void note_delivered(void *ctx, uint64_t tx, uint64_t rx)
{
    subject *s = ctx;
    assert_int_equal(rx, tx + MESSAGES);
    assert_int_equal(s->out.delivered[tx], -1);
    s->out.delivered[tx] = rlt_sim_now(s->sim);
    if (tx + CHAINS < MESSAGES)
        send_message(s, (uint32_t)tx + CHAINS, s->to[tx]);
}

static inline void on_turn(void *ctx, uint64_t i)
{
    subject *s = ctx;
    const turn *t = &s->c->turns[i];
    rlt_net_link_event(s->net, t->links, t->n, t->factor);
}

static inline rlt_topology *tree_build(const test_case *c)
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
        links[i] = (rlt_graph_link){c->built[i].src, c->built[i].dst, c->built[i].bw_Bps,
                                    c->built[i].latency_ps, NULL};
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

/* Runs a case under a network model. */
static inline void run_ringlet(subject *s, const rlt_net_model *model, bool local, rlt_time bin_ps)
{
    rlt_topology *t = tree_build(s->c);
    rlt_placement place;
    rlt_router *router = NULL;
    rlt_error err = {0};
    assert_int_equal(rlt_placement_identity(t, HOSTS, &place, NULL), 0);
    rlt_routing routing = s->c->spray ? RLT_ROUTE_SPRAY : RLT_ROUTE_DMODK;
    assert_int_equal(rlt_router_create(t, &place, routing, &router, NULL), 0);
    assert_int_equal(rlt_sim_create(&s->sim, NULL), 0);
    rlt_net_config cfg = {.sim = s->sim,
                          .router = router,
                          .endpoint = rlt_endpoint_default(),
                          .client = {s, note_injected, note_delivered},
                          .bandwidth_scale = s->c->bandwidth_scale,
                          .latency_scale = s->c->latency_scale,
                          .local = local,
                          .series_bin_ps = bin_ps,
                          .changes = s->c->n_turns ? RLT_LINKS_FAIL : RLT_LINKS_STAY,
                          .packet = &s->c->set};
    cfg.endpoint.injection = s->c->injection;
    if (model->create(&cfg, &s->net, &err))
        fail_msg("%s: %s", err.where, err.what);
    for (uint32_t i = 0; i < MESSAGES; i++)
        s->out.injected[i] = s->out.delivered[i] = -1;
    for (uint32_t i = 0, handler = 0; i < s->c->n_turns; i++) {
        handler = i ? handler : (uint32_t)rlt_sim_handler(s->sim, on_turn, s);
        rlt_sim_post_at(s->sim, s->c->turns[i].at, RLT_COMPLETE, rlt_sim_tag((int)handler), i);
    }
    for (uint32_t i = 0; i < CHAINS; i++)
        send_message(s, i, s->c->from[i]);
    int rc = rlt_sim_run(s->sim, s->c->until ? s->c->until : RLT_TIME_MAX, &err);
    if (rc < 0 && rc != RLT_ESTALL)
        fail_msg("%s: %s", err.where, err.what);
    s->out.gave_up = rc != 0;
    s->out.events = rlt_sim_events(s->sim);
    if (model->waits)
        s->out.waits = model->waits(s->net, s->out.text, sizeof s->out.text);
    rlt_net_settle(s->net);
    for (uint32_t i = 0; i < LINKS; i++) {
        rlt_port_counts n = {0};
        rlt_link_usage u = rlt_usage_link(s->net->usage, i);
        bool counts = rlt_usage_port(s->net->usage, i, &n);
        s->out.packets[i] = counts ? n.packets : u.messages;
        s->out.bytes[i] = u.bytes;
        s->out.busy[i] = u.busy_ps;
        s->out.active[i] = u.active_ps;
        s->out.drops[i] = n.drops;
        s->out.losses[i] = n.losses;
        s->out.marks[i] = n.marks;
    }
    if (s->look)
        s->look(s, s->ctx);
    rlt_net_free(s->net);
    rlt_sim_free(s->sim);
    rlt_router_free(router);
    rlt_placement_free(&place);
    rlt_topology_free(t);
}

#endif
