/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Back-pressure. A port sends one packet at a time and may have to wait: under PFC for the end of a pause,
 * with credits for credit.
 *
 *   PFC     A node counts the bytes that it holds from each incoming link. Above pause_bytes it pauses the
 *           link, until it is down to resume_bytes.
 *   credit  The room for an incoming link at its node. A packet takes credit when it is sent.
 *
 * A node holds a packet from when it is queued at a port there until its last byte has left. Pauses and
 * credits take the link's latency and no bandwidth. Accelerators accept every packet.
 */
#include <stdio.h>
#include <stdlib.h>

#include "net/packet/packets.h"
#include "net/packet/packets_internal.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"

static bool counts_credit(const rlt_packets *n, uint32_t link)
{
    return n->cfg.pause == RLT_PAUSE_CREDIT && !(n->ports[link].flags & RLT__PORT_TO_HOST);
}

static void pause_begins(rlt_packets *n, uint32_t link)
{
    rlt__queue *q = &n->queues[link];
    if (q->paused)
        return;
    q->paused = true;
    q->paused_at = rlt_sim_now(n->cfg.sim);
    n->counts[link].pauses++;
}

static void pause_ends(rlt_packets *n, uint32_t link)
{
    rlt__queue *q = &n->queues[link];
    if (q->paused)
        n->counts[link].paused_ps += rlt_sim_now(n->cfg.sim) - q->paused_at;
    q->paused = false;
}

static void give_credit(rlt_packets *n, uint32_t link, uint32_t bytes, rlt_time when)
{
    when = rlt_time_add(when, rlt__port_latency(n, &n->ports[link]));
    rlt_sim_at(n->cfg.sim, when, RLT_COMPLETE, n->credit, (uint64_t)link << 32 | bytes);
}

static void put_on_link(rlt_packets *n, uint32_t link)
{
    rlt__queue *q = &n->queues[link];
    rlt__port *p = &n->ports[link];
    uint32_t i = q->head;
    rlt__slot *s = rlt__slot_at(n, i);
    rlt_time now = rlt_sim_now(n->cfg.sim), span = rlt__port_span(p, s->p.bytes),
             end = rlt_time_add(now, span);
    q->head = s->next;
    q->busy = true;
    q->leaving_bytes = s->p.bytes;
    q->leaving_by = s->p.hop ? n->links[s->at - 1] : RLT_NONE;
    q->leaving = s->p;
    if (counts_credit(n, link))
        q->credit -= s->p.bytes;
    p->free_ps = end;
    bool lost = rlt__packet_is_lost(n, link);
    rlt__packet_charge(n, link, s->p.bytes, now, end, now);
    rlt_sim_post(n->cfg.sim, end, RLT_COMPLETE, n->departed, link);
    if (lost) {
        if (counts_credit(n, link))
            give_credit(n, link, s->p.bytes, end);
        rlt__packet_drop(n, i, link);
        return;
    }
    rlt_time then = rlt_time_add(now, rlt__packet_onward(n, s, span));
    s->at++;
    s->p.hop++;
    s->next = p->cuts;
    rlt_sim_post(n->cfg.sim, then, RLT_COMPLETE, n->hop, i);
}

static void try_to_send(rlt_packets *n, uint32_t link)
{
    rlt__queue *q = &n->queues[link];
    if (q->busy || q->head == RLT_NONE)
        return;
    if (counts_credit(n, link)) {
        if (q->credit < (int64_t)rlt__slot_at(n, q->head)->p.bytes) {
            pause_begins(n, link);
            return;
        }
        pause_ends(n, link);
    }
    if (!q->paused)
        put_on_link(n, link);
}

/* Counts bytes that came by `link` and are now queued in the node. */
static void hold(rlt_packets *n, uint32_t link, uint32_t bytes)
{
    rlt__queue *q = &n->queues[link];
    q->held += bytes;
    if (n->cfg.pause != RLT_PAUSE_PFC || q->asked || (n->ports[link].flags & RLT__PORT_TO_HOST) ||
        q->held <= n->cfg.pause_bytes)
        return;
    q->asked = true;
    rlt_sim_post(n->cfg.sim, rlt_time_add(rlt_sim_now(n->cfg.sim), rlt__port_latency(n, &n->ports[link])),
                 RLT_COMPLETE, n->pause, link);
}

/* Counts bytes that have left the node. */
static void release(rlt_packets *n, uint32_t link, uint32_t bytes)
{
    rlt__queue *q = &n->queues[link];
    rlt_time now = rlt_sim_now(n->cfg.sim);
    q->held -= bytes;
    if (counts_credit(n, link))
        give_credit(n, link, bytes, now);
    if (!q->asked || q->held > n->cfg.resume_bytes)
        return;
    q->asked = false;
    rlt_sim_post(n->cfg.sim, rlt_time_add(now, rlt__port_latency(n, &n->ports[link])), RLT_COMPLETE,
                 n->resume, link);
}

void rlt__pause_consumed(rlt_packets *n, const rlt__slot *s)
{
    if (s->p.hop && counts_credit(n, n->links[s->at - 1]))
        give_credit(n, n->links[s->at - 1], s->p.bytes, rlt_sim_now(n->cfg.sim));
}

void rlt__pause_queue(rlt_packets *n, uint32_t i)
{
    rlt__slot *s = rlt__slot_at(n, i);
    uint32_t link = n->links[s->at];
    rlt__queue *q = &n->queues[link];
    if (n->ports[link].flags & RLT__PORT_INNER)
        rlt__packet_mark(n, s, link, (double)q->bytes);
    s->next = RLT_NONE;
    if (q->head == RLT_NONE)
        q->head = i;
    else
        rlt__slot_at(n, q->tail)->next = i;
    q->tail = i;
    q->bytes += s->p.bytes;
    if (q->bytes > q->deepest)
        q->deepest = q->bytes;
    if (s->p.hop)
        hold(n, n->links[s->at - 1], s->p.bytes);
    try_to_send(n, link);
}

void rlt__pause_flush(rlt_packets *n, uint32_t link)
{
    rlt__queue *q = &n->queues[link];
    while (q->head != RLT_NONE) {
        uint32_t i = q->head;
        const rlt__slot *s = rlt__slot_at(n, i);
        q->head = s->next;
        q->bytes -= s->p.bytes;
        if (s->p.hop)
            release(n, n->links[s->at - 1], s->p.bytes);
        n->counts[link].losses++;
        if (s->p.hop == 0 && rlt__client_of(n, &s->p)->left)
            rlt__packet_tell_left(n, &s->p, rlt_sim_now(n->cfg.sim));
        rlt__packet_drop(n, i, link);
    }
}

static void on_departed(void *ctx, uint64_t payload)
{
    rlt_packets *n = ctx;
    uint32_t link = (uint32_t)payload;
    rlt__queue *q = &n->queues[link];
    rlt_packet p = q->leaving;
    bool at_source = q->leaving_by == RLT_NONE;
    q->busy = false;
    q->bytes -= q->leaving_bytes;
    if (!at_source)
        release(n, q->leaving_by, q->leaving_bytes);
    try_to_send(n, link);
    const rlt_packets_client *c = rlt__client_of(n, &p);
    if (at_source && c->left)
        c->left(c->ctx, &p);
}

static void on_pause(void *ctx, uint64_t payload)
{
    pause_begins(ctx, (uint32_t)payload);
}

static void on_resume(void *ctx, uint64_t payload)
{
    pause_ends(ctx, (uint32_t)payload);
    try_to_send(ctx, (uint32_t)payload);
}

static void on_credit(void *ctx, uint64_t payload)
{
    rlt_packets *n = ctx;
    n->queues[payload >> 32].credit += (uint32_t)payload;
    try_to_send(n, (uint32_t)(payload >> 32));
}

int rlt__pause_create(rlt_packets *n, rlt_error *err)
{
    n->queues = calloc(n->n ? n->n : 1, sizeof(*n->queues));
    if (!n->queues)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < n->n; i++) {
        n->queues[i].head = RLT_NONE;
        n->queues[i].credit = n->cfg.buffer_bytes > INT64_MAX ? INT64_MAX : (int64_t)n->cfg.buffer_bytes;
    }
    const rlt_handler_entry handlers[] = {
        {on_departed, &n->departed}, {on_pause, &n->pause}, {on_resume, &n->resume}, {on_credit, &n->credit}};
    return rlt_sim_register(n->cfg.sim, n, handlers, sizeof handlers / sizeof *handlers, err);
}

static int node_pair(const rlt_packets *n, uint32_t src, uint32_t dst, const char *arrow, char *text,
                     size_t size)
{
    char a[64], b[64];
    return snprintf(text, size, "%s%s%s", rlt_topology_node_name(n->cfg.topology, src, a, sizeof(a)), arrow,
                    rlt_topology_node_name(n->cfg.topology, dst, b, sizeof(b)));
}

bool rlt__pause_names(const rlt_packets *n, char *text, size_t size)
{
    char packet[140], port[140];
    for (uint32_t i = 0; i < n->n; i++) {
        const rlt__queue *q = &n->queues[i];
        if (q->head == RLT_NONE || q->busy)
            continue;
        const rlt_packet *p = &rlt__slot_at(n, q->head)->p;
        rlt_link l = rlt_topology_link(n->cfg.topology, i);
        node_pair(n, p->src, p->dst, " to ", packet, sizeof(packet));
        node_pair(n, l.src, l.dst, "->", port, sizeof(port));
        if (n->cfg.pause == RLT_PAUSE_CREDIT)
            snprintf(text, size,
                     "a packet of %u B from %s waits at %s for credit (available: %lld B); %llu "
                     "packets are under way",
                     p->bytes, packet, port, (long long)q->credit, (unsigned long long)n->live);
        else
            snprintf(text, size,
                     "a packet of %u B from %s waits at %s, paused since %lld ps; %llu packets are under way",
                     p->bytes, packet, port, (long long)q->paused_at, (unsigned long long)n->live);
        return true;
    }
    return false;
}
