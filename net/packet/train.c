/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Trains of packets. While one flow is alone at the port of its host, its packets follow each other without a
 * gap, and only what the host itself puts between them delays them. Nothing else can tell that a packet is on
 * the link before it reaches the next node. So the port needs no event for each packet: it lags behind, and
 * catches up
 *
 *   before an answer or another flow comes to the port,
 *   before the first packet that it owes reaches the next node: after the latency d of the link,
 *   when the last packet of the message is due, since the client hears of its departure.
 *
 *   Example: tau = 80 ns, d = 500 ns. The port is free for packet 1 at 80 ns. Its event comes at 580 ns, and
 *   puts packets 1 to 7 on the link as of 80, 160, ... 560 ns.
 *
 * A port becomes free in class RLT_SOLVE, after all else of the instant. So a port that catches up in an
 * earlier class was not free yet at the present instant.
 *
 * In a part of a network, a flow whose packets go from their first link to another part has no trains: that
 * part must know of them in time.
 *
 * The port of an accelerator lags only if all its links lead to and from one node, one of them away: no route
 * leads through such a host, and no other port of it acts within the same instant.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/packet/internal.h"
#include "net/packet/packets.h"
#include "net/packet/packets_internal.h"
#include "net/route.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/sim.h"

#define MANY (RLT_NONE - 1)

/* Sends the first packet of a message, or the last one, as of `when`. Returns the time at which it has
 * left. */
static inline rlt_time send_edge(rlt__packet_net *net, rlt__source *s, rlt__flow *f, rlt_time when)
{
    rlt_packet p = f->whole;
    p.bytes = rlt__flow_payload(net, f, p.data, &s->tells, &s->tx) + (uint32_t)net->set.header;
    p.key = s->tells;
    if (s->tells) {
        f->heard = p.data + 1;
        p.flags = 0;
    }
    f->tail_at = rlt__message_at(net, f->sending)->end - 1;
    if (s->tells && !rlt__is_own(net, f->dst))
        rlt__flow_drop_head(net, f); /* the receiver's part has its own copy */
    return rlt_packets_send_as_of(net->packets, &p, when);
}

/* Sends the next packet of a flow as of `when`. */
static inline __attribute__((always_inline)) void send_next(rlt__packet_net *net, rlt__source *s,
                                                            rlt__flow *f, rlt_time when)
{
    uint64_t packet = f->next++;
    s->busy = true;
    f->whole.data = packet;
    f->whole.flags = RLT_PACKET_UNHEARD;
    if (f->next - f->heard >= net->set.ack && net->set.ack) {
        f->heard = f->next;
        f->whole.flags = 0;
    }
    s->free_ps = packet < f->tail_at ? rlt_packets_send_as_of(net->packets, &f->whole, when)
                                     : send_edge(net, s, f, when);
}

/* Sends the next packet of the flow at the head of a round as of `when`, and moves the flow to the end of the
 * round. The same as send_one() and rlt__flow_offer(). */
static inline void take_turn(rlt__packet_net *net, rlt__source *s, rlt_time when)
{
    uint32_t index = s->head;
    rlt__flow *f = &net->flows[index];
    if (f->next + 1 == f->end) {
        s->head = f->turn;
        f->in_round = false;
    } else if (f->turn != RLT_NONE) {
        s->head = f->turn;
        rlt__join_round(net, s, index);
    }
    send_next(net, s, f, when);
}

/* Serves a busy port as of the times up to `until` at which it was free, the first of which must have come.
 * Stops at a packet whose departure the client hears. */
static inline void serve(rlt__packet_net *net, rlt__source *s, rlt_time until)
{
    do {
        rlt_sim_also(net->core.sim);
        s->busy = s->tells = false;
        if (s->head != RLT_NONE)
            take_turn(net, s, s->free_ps);
    } while (s->busy && !s->tells && s->free_ps <= until);
}

/* Returns how long after the port has become free its event may come. */
static inline rlt_time lag_of(const rlt__packet_net *net, const rlt__source *s)
{
    if (s->lag_packets == 0 || s->tells || s->head == RLT_NONE)
        return 0;
    const rlt__flow *f = &net->flows[s->head];
    if (f->turn != RLT_NONE || f->next >= f->tail_at || f->far)
        return 0;
    uint64_t left = f->tail_at - f->next;
    return left < s->lag_packets ? (rlt_time)left * s->whole_ps : s->lag_ps;
}

/* Posts the event of a busy port. */
static inline void await(rlt__packet_net *net, rlt__source *s, uint32_t port)
{
    s->due_ps = s->free_ps + lag_of(net, s);
    rlt_sim_post_at(net->core.sim, s->due_ps, RLT_SOLVE, s->tag, port);
}

void rlt__source_catch_up(rlt__packet_net *net, rlt__source *s)
{
    rlt_time until = rlt_sim_now(net->core.sim) - (rlt_sim_class(net->core.sim) < RLT_SOLVE);
    if (s->busy && s->free_ps <= until)
        serve(net, s, until);
}

void rlt__flow_offer_quietly(rlt__packet_net *net, uint32_t index)
{
    rlt__flow *f = &net->flows[index];
    if (f->in_round || f->next == f->end || f->blocked != RLT_NONE)
        return;
    uint32_t port = f->port;
    rlt__source *s = &net->sources[port];
    if (!s->busy) { /* there is no round */
        if (f->next + 1 < f->end)
            rlt__join_round(net, s, index);
        send_next(net, s, f, rlt_sim_now(net->core.sim));
        await(net, s, port);
        return;
    }
    if (rlt__source_lags(s))
        rlt__source_catch_up(net, s);
    rlt__join_round(net, s, index);
    if (rlt__source_lags(s)) /* the flow in front is alone no more */
        await(net, s, port);
}

void rlt__source_free(void *ctx, uint64_t port)
{
    rlt__packet_net *net = ctx;
    rlt__source *s = &net->sources[port];
    rlt_time now = rlt_sim_now(net->core.sim);
    bool tells = s->tells;
    uint64_t tx = s->tx;
    if (s->due_ps != now || !s->busy) { /* an earlier event has replaced this one */
        rlt_sim_not(net->core.sim);
        return;
    }
    if (s->head == RLT_NONE) {
        s->busy = s->tells = false;
    } else {
        rlt_sim_not(net->core.sim); /* serve() counts */
        if (s->free_ps <= now)
            serve(net, s, now);
        if (s->busy)
            await(net, s, (uint32_t)port);
    }
    if (tells)
        net->core.client.injected(net->core.client.ctx, tx);
}

void rlt__trains_end(rlt__packet_net *net)
{
    uint32_t links = rlt_topology_links(rlt_router_topology(net->core.router));
    for (uint32_t i = 0; i < links; i++) {
        rlt__source *s = &net->sources[i];
        bool lags = rlt__source_lags(s);
        if (lags)
            rlt__source_catch_up(net, s);
        s->lag_packets = 0;
        if (lags && s->busy)
            await(net, s, i);
    }
}

/* Notes, by node, the neighbour at the other ends of its links, or MANY; and the number of links away. */
static void find_neighbours(const rlt_topology *t, uint32_t *neighbour, uint32_t *away)
{
    uint32_t links = rlt_topology_links(t), nodes = rlt_topology_nodes(t);
    memset(neighbour, 0xff, nodes * sizeof *neighbour);
    for (uint32_t i = 0; i < links; i++) {
        rlt_link l = rlt_topology_link(t, i);
        uint32_t *a = &neighbour[l.src], *b = &neighbour[l.dst];
        *a = *a == RLT_NONE || *a == l.dst ? l.dst : MANY;
        *b = *b == RLT_NONE || *b == l.src ? l.src : MANY;
        away[l.src]++;
    }
}

/* Returns how long after a packet was put on a link the network may be told. */
static rlt_time longest_lag(const rlt_packets *n, uint32_t link)
{
    const rlt__port *p = &n->ports[link];
    return n->plain && p->flags & RLT__PORT_EASY ? p->after_ps : 0;
}

int rlt__trains_create(rlt__packet_net *net, rlt_error *err)
{
    const rlt_topology *t = rlt_router_topology(net->core.router);
    uint32_t links = rlt_topology_links(t), nodes = rlt_topology_nodes(t);
    uint32_t *neighbour = calloc(2 * ((size_t)nodes + 1), sizeof *neighbour), *away = neighbour + nodes;
    if (!neighbour)
        return rlt_nomem(err);
    find_neighbours(t, neighbour, away);
    for (uint32_t i = 0; i < links; i++) {
        rlt__source *s = &net->sources[i];
        uint32_t host = rlt_topology_link(t, i).src;
        rlt_time lag = longest_lag(net->packets, i);
        if (rlt_topology_node_kind(t, host) != RLT_ACCELERATOR || neighbour[host] == MANY ||
            away[host] != 1 || lag == 0)
            continue;
        s->lag_ps = lag;
        s->whole_ps = rlt__port_span(&net->packets->ports[i], (uint32_t)(net->set.mtu + net->set.header));
        s->lag_packets = (uint64_t)lag / (uint64_t)s->whole_ps + 1;
    }
    free(neighbour);
    return 0;
}
