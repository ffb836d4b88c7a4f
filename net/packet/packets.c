/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Moves packets from port to port. Without back-pressure a packet's departure is known when it is queued, so
 * there is one event per hop, when the next node handles it.
 */
#include <math.h>

#include "net/packet/packets.h"
#include "net/packet/packets_internal.h"
#include "net/topology/topology.h"
#include "net/usage_internal.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
#include "sim/sim.h"

/* For functions with a constant argument. */
#define INLINE static inline __attribute__((always_inline))

static void no_memory(rlt_packets *n)
{
    rlt_sim_fail(n->cfg.sim, RLT_ENOMEM, NULL, "no memory for one more packet; %llu are under way",
                 (unsigned long long)n->live);
}

rlt_time rlt__port_span_slow(rlt__port *p, uint32_t bytes)
{
    if (bytes != p->memo_bytes) {
        p->memo_bytes = bytes;
        p->memo_ps = rlt_transfer_time(bytes, p->bw_Bps);
    }
    return p->memo_ps;
}

/* Returns the time of the part of a packet that the node at the end of the link waits for. */
static rlt_time awaited(const rlt_packets *n, const rlt__slot *s, const rlt__port *p, rlt_time span)
{
    bool last = s->at + 1 == s->end && !(s->p.flags & RLT_PACKET_UNHEARD);
    if (n->cfg.header_bytes >= s->p.bytes || (last && !(p->flags & RLT__PORT_TO_SWITCH)))
        return span;
    if (!last && n->ports[n->links[s->at + 1]].bw_Bps > p->bw_Bps)
        return span;
    return rlt_transfer_time(n->cfg.header_bytes, p->bw_Bps);
}

rlt_time rlt__packet_onward(const rlt_packets *n, const rlt__slot *s, rlt_time span)
{
    const rlt__port *p = &n->ports[n->links[s->at]];
    return rlt_time_add(n->cfg.cut_through ? awaited(n, s, p, span) : span, p->after_ps);
}

/* In a part of a network whose own work has ended: notes a charge, in case that the work of all parts has
 * ended before it. */
static inline void note(rlt_packets *n, rlt_time now, rlt_time was, rlt_time span, uint32_t link,
                        uint32_t bytes)
{
    if (n->n_notes < n->notes_room || rlt__part_more_notes(n))
        n->notes[n->n_notes++] = (rlt__note){now, was, span, link, bytes};
}

void rlt__packet_charge(rlt_packets *n, uint32_t link, uint32_t bytes, rlt_time from, rlt_time to,
                        rlt_time was)
{
    rlt_account *a = &n->usage->links[link];
    a->messages++;
    /* Copies of packets may still be queued when the work has ended: they are no part of its accounts. */
    if (n->usage->horizon >= 0)
        return;
    a->bytes += bytes;
    a->active += to - from;
    if (n->notes_charges)
        note(n, rlt_sim_now(n->cfg.sim), was, to - from, link, bytes);
    if (n->usage->series && rlt__usage_spread(n->usage, link, from, to, bytes) != 0)
        no_memory(n);
}

bool rlt__packet_is_lost(rlt_packets *n, uint32_t link)
{
    uint64_t before = n->usage->links[link].messages;
    bool lost = n->cfg.loss > 0 && rlt_random_unit(n->cfg.seed, link, RLT_RANDOM_LOSS, before) < n->cfg.loss;
    for (uint32_t i = 0; i < n->cfg.lose.n && !lost; i++)
        lost = n->cfg.lose.items[i].link == link && n->cfg.lose.items[i].number == before + 1;
    n->counts[link].losses += lost;
    return lost;
}

void rlt__packet_mark(rlt_packets *n, rlt__slot *s, uint32_t link, double bytes)
{
    double low = (double)n->cfg.ecn_min_bytes, high = (double)n->cfg.ecn_max_bytes;
    if (n->cfg.ecn_max_bytes == 0 || !(s->p.flags & RLT_PACKET_ECT) || bytes <= low)
        return;
    if (bytes <= high &&
        rlt_random_unit(n->cfg.seed, link, RLT_RANDOM_MARK, n->usage->links[link].messages) >=
            n->cfg.ecn_probability * (bytes - low) / (high - low))
        return;
    s->p.flags |= RLT_PACKET_CE;
    n->counts[link].marks++;
}

void rlt__packet_drop(rlt_packets *n, uint32_t i, uint32_t link)
{
    rlt_packet p = rlt__slot_at(n, i)->p;
    rlt__packet_done(n, i);
    const rlt_packets_client *c = rlt__client_of(n, &p);
    if (c->dropped)
        c->dropped(c->ctx, &p, link);
}

__attribute__((noinline)) static void arrive(rlt_packets *n, uint32_t i)
{
    rlt_packet p = rlt__slot_at(n, i)->p;
    if (n->queues)
        rlt__pause_consumed(n, rlt__slot_at(n, i));
    rlt__packet_done(n, i);
    const rlt_packets_client *c = rlt__client_of(n, &p);
    c->arrived(c->ctx, &p);
}

/* Schedules the report that the last byte has left the source. The packet itself may be gone by then. */
void rlt__packet_tell_left(rlt_packets *n, const rlt_packet *p, rlt_time when)
{
    uint32_t copy = rlt_pool_get(&n->copies);
    if (copy == RLT_NONE) {
        no_memory(n);
        return;
    }
    *(rlt_packet *)rlt_pool_at(&n->copies, copy) = *p;
    rlt_sim_post_at(n->cfg.sim, when, RLT_COMPLETE,
                    rlt_tag_at(rlt_sim_tag(n->left), rlt_packets_place(n, p->src)), copy);
}

static void on_left(void *ctx, uint64_t payload)
{
    rlt_packets *n = ctx;
    rlt_packet p = *(const rlt_packet *)rlt_pool_at(&n->copies, (uint32_t)payload);
    rlt_pool_put(&n->copies, (uint32_t)payload);
    const rlt_packets_client *c = rlt__client_of(n, &p);
    c->left(c->ctx, &p);
}

/* Returns true if a switch port has room for a packet. */
static bool has_room(const rlt_packets *n, uint32_t link, uint32_t bytes, rlt_time wait, rlt_time span)
{
    rlt_time now = rlt_sim_now(n->cfg.sim);
    if (!n->cfg.buffer_bytes || !rlt__port_is_mixed(n, link, now))
        return wait <= n->ports[link].limit_ps - span;
    return rlt__port_unsent(n, link, now, now + wait) + bytes <= (double)n->cfg.buffer_bytes + 0.5;
}

/* Admits a packet to a switch port: drops what does not fit, may mark the rest. Returns false if it was
 * dropped. */
static bool admit(rlt_packets *n, uint32_t i, uint32_t link, rlt_time wait, rlt_time span)
{
    rlt_time now = rlt_sim_now(n->cfg.sim);
    if (!has_room(n, link, rlt__slot_at(n, i)->p.bytes, wait, span)) {
        n->counts[link].drops++;
        rlt__packet_drop(n, i, link);
        return false;
    }
    if (n->cfg.ecn_max_bytes)
        rlt__packet_mark(n, rlt__slot_at(n, i), link, rlt__port_unsent(n, link, now, now + wait));
    return true;
}

/* Notes the longest queue of a port, which ends at `end`. */
static void note_depth(rlt_packets *n, uint32_t link, rlt_time now, rlt_time end)
{
    rlt__port *p = &n->ports[link];
    if (rlt__port_is_mixed(n, link, now)) {
        uint64_t bytes = (uint64_t)nearbyint(rlt__port_unsent(n, link, now, end));
        rlt_port_counts *c = &n->counts[link];
        c->peak_bytes = bytes > c->peak_bytes ? bytes : c->peak_bytes;
    } else if (end - now > p->deepest_ps) {
        p->deepest_ps = end - now;
    }
}

/* Loses a packet that is on a failed link, or came to its port. */
static void lose(rlt_packets *n, uint32_t i, uint32_t link)
{
    const rlt__slot *s = rlt__slot_at(n, i);
    n->counts[link].losses++;
    if (s->p.hop == 0 && rlt__client_of(n, &s->p)->left)
        rlt__packet_tell_left(n, &s->p, rlt_sim_now(n->cfg.sim));
    if (n->queues)
        rlt__pause_consumed(n, s);
    rlt__packet_drop(n, i, link);
}

/* Schedules what happens to a packet at the end of a link: here, or in another part of the network if this is
 * `part` of one. */
INLINE void forward(rlt_packets *n, uint32_t i, const rlt__slot *s, rlt_time then, bool part)
{
    rlt_tag tag = n->tags[s->at];
    if (part && n->owner[rlt_tag_place(tag)] != n->self)
        rlt__part_send(n, i, n->owner[rlt_tag_place(tag)], then);
    else
        rlt_sim_post_at(n->cfg.sim, then, RLT_COMPLETE, tag, i);
}

/* Queues a packet at a port that may mark, drop or lose it, or has a series. */
static void transmit_anyhow(rlt_packets *n, uint32_t i)
{
    rlt__slot *s = rlt__slot_at(n, i);
    uint32_t link = n->links[s->at];
    rlt__port *p = &n->ports[link];
    rlt_time now = rlt_sim_now(n->cfg.sim), was = p->free_ps, start = was > now ? was : now;
    rlt_time span = rlt__port_span(p, s->p.bytes), end = rlt_time_add(start, span);
    if ((p->flags & RLT__PORT_INNER) && !admit(n, i, link, start - now, span))
        return;
    p->free_ps = end;
    note_depth(n, link, now, end);
    bool lost = rlt__packet_is_lost(n, link);
    rlt__packet_charge(n, link, s->p.bytes, start, end, was);
    if (s->p.hop == 0 && rlt__client_of(n, &s->p)->left)
        rlt__packet_tell_left(n, &s->p, end);
    if (lost) {
        rlt__packet_drop(n, i, link);
        return;
    }
    rlt_time then = rlt_time_add(start, rlt__packet_onward(n, s, span));
    s->at++;
    s->p.hop++;
    s->next = p->cuts;
    forward(n, i, s, then, n->owner != NULL);
}

/* Queues a packet at the next port of its route, whatever the settings. */
__attribute__((noinline)) static void transmit(rlt_packets *n, uint32_t i)
{
    uint32_t link = n->links[rlt__slot_at(n, i)->at];
    if (n->ports[link].flags & RLT__PORT_FAILED)
        lose(n, i, link);
    else if (n->queues)
        rlt__pause_queue(n, i);
    else
        transmit_anyhow(n, i);
}

/* Puts a packet of a plain network on the link of port p, as of `now`. It keeps the link busy for `span`.
 * Returns the time at which it has left. */
INLINE rlt_time occupy(rlt_packets *n, const rlt__slot *s, rlt__port *p, rlt_time span, rlt_time now,
                       bool part)
{
    rlt_account *a = &n->usage->links[n->links[s->at]];
    rlt_time was = p->free_ps, start = was > now ? was : now;
    rlt_time end = rlt_time_add(start, span);
    a->messages++;
    p->free_ps = end;
    /* Busy intervals of a port do not overlap: the link is active for their sum. rlt_packets_settle takes off
     * what lies after it. */
    a->active += span;
    if (end - now > p->deepest_ps)
        p->deepest_ps = end - now;
    a->bytes += s->p.bytes;
    if (part && n->notes_charges)
        note(n, now, was, span, n->links[s->at], s->p.bytes);
    return end;
}

/* Sends a packet that will have left port p at `end`. */
INLINE void onward_plain(rlt_packets *n, uint32_t i, const rlt__port *p, rlt_time end, bool part)
{
    rlt__slot *s = rlt__slot_at(n, i);
    s->at++;
    s->p.hop++;
    forward(n, i, s, end + p->after_ps, part);
}

/* Puts an unheard packet on its last link, and forgets it. */
INLINE void transmit_last(rlt_packets *n, uint32_t i, rlt__port *p, rlt_time span, bool part)
{
    rlt_time then = occupy(n, rlt__slot_at(n, i), p, span, rlt_sim_now(n->cfg.sim), part) + p->after_ps;
    if (then > n->unheard_ps)
        n->unheard_ps = then;
    if (then >= RLT_TIME_MAX) /* the simulation refuses the event */
        rlt_sim_post(n->cfg.sim, then, RLT_COMPLETE, n->hop, i);
    rlt_sim_also(n->cfg.sim);
    rlt__packet_done(n, i);
}

static inline rlt_time easy_span(const rlt__slot *s, const rlt__port *p)
{
    return (rlt_time)((uint64_t)s->p.bytes * p->ps_per_byte);
}

/* Puts a packet on the link of an easy port in a plain network, as of `now`. Returns the time at which it has
 * left. */
INLINE rlt_time transmit_easily(rlt_packets *n, uint32_t i, rlt__port *p, rlt_time now, bool part)
{
    const rlt__slot *s = rlt__slot_at(n, i);
    rlt_time end = occupy(n, s, p, easy_span(s, p), now, part);
    onward_plain(n, i, p, end, part);
    return end;
}

/* The same in a part of a network. */
__attribute__((noinline)) static rlt_time transmit_in_part(rlt_packets *n, uint32_t i, rlt__port *p,
                                                           rlt_time now)
{
    return transmit_easily(n, i, p, now, true);
}

/* The same in either. */
INLINE rlt_time transmit_easy(rlt_packets *n, uint32_t i, rlt__port *p, rlt_time now)
{
    return __builtin_expect(n->owner != NULL, 0) ? transmit_in_part(n, i, p, now)
                                                 : transmit_easily(n, i, p, now, false);
}

/* transmit() in a plain network, at a port that is not easy. Returns the time at which the packet has left;
 * 0 for one that is not heard on its last link. */
__attribute__((noinline)) static rlt_time transmit_odd(rlt_packets *n, uint32_t i)
{
    rlt__slot *s = rlt__slot_at(n, i);
    rlt__port *p = &n->ports[n->links[s->at]];
    rlt_time span = rlt__port_span(p, s->p.bytes);
    if (s->at == s->end) {
        transmit_last(n, i, p, span, n->owner != NULL);
        return 0;
    }
    rlt_time end = occupy(n, s, p, span, rlt_sim_now(n->cfg.sim), n->owner != NULL);
    onward_plain(n, i, p, n->cfg.cut_through ? end - span + awaited(n, s, p, span) : end, n->owner != NULL);
    return end;
}

static bool is_taken(rlt_packets *n, uint32_t i)
{
    rlt_packet p = rlt__slot_at(n, i)->p;
    uint32_t last = n->links[rlt__slot_at(n, i)->at - 1];
    if (!(n->ports[last].flags & RLT__PORT_TO_SWITCH))
        return false;
    const rlt_packets_client *c = rlt__client_of(n, &p);
    if (!c->pass || !c->pass(c->ctx, rlt_topology_link(n->cfg.topology, last).dst, &p))
        return false;
    if (n->queues)
        rlt__pause_consumed(n, rlt__slot_at(n, i));
    rlt__packet_done(n, i);
    return true;
}

/* Returns true if the link by which the packet came has failed in the meantime. */
static bool was_cut(const rlt_packets *n, const rlt__slot *s)
{
    return s->p.hop > 0 && n->ports[n->links[s->at - 1]].cuts != s->next;
}

/* A node handles a packet, whatever the settings. */
__attribute__((noinline)) static void handle(rlt_packets *n, uint32_t i)
{
    rlt__slot *s = rlt__slot_at(n, i);
    if (s->p.flags & RLT_PACKET_UNHEARD) { /* the network is plain no more: heard like any other */
        s->p.flags &= (uint8_t)~RLT_PACKET_UNHEARD;
        s->end++;
    }
    if (n->cfg.links_fail && was_cut(n, s))
        lose(n, i, n->links[s->at - 1]);
    else if (s->at == s->end)
        arrive(n, i);
    else if (!(s->p.flags & RLT_PACKET_PROBE) || !is_taken(n, i))
        transmit(n, i);
}

/* A node handles a packet. `part` is constant: the whole need not ask on each hop. */
INLINE void hop(rlt_packets *n, uint32_t i, bool part)
{
    rlt__slot *s = rlt__slot_at(n, i);
    if (!n->plain || (s->p.flags & RLT_PACKET_PROBE)) {
        handle(n, i);
        return;
    }
    bool last = s->at == s->end;
    if (last && !(s->p.flags & RLT_PACKET_UNHEARD)) {
        arrive(n, i);
        return;
    }
    rlt__port *p = &n->ports[n->links[s->at]];
    if (!(p->flags & RLT__PORT_EASY))
        transmit_odd(n, i);
    else if (last)
        transmit_last(n, i, p, easy_span(s, p), part);
    else
        transmit_easily(n, i, p, rlt_sim_now(n->cfg.sim), part);
}

static void on_hop(void *ctx, uint64_t payload)
{
    hop(ctx, (uint32_t)payload, false);
}

static void on_hop_in_part(void *ctx, uint64_t payload)
{
    hop(ctx, (uint32_t)payload, true);
}

/* Ranks the packets that a node handles at one instant by the links by which they came. */
static uint32_t came_by(void *ctx, uint32_t payload)
{
    const rlt_packets *n = ctx;
    const rlt__slot *s = rlt__slot_at(n, payload);
    return s->p.hop ? n->links[s->at - 1] : 0;
}

int rlt_packets_order(rlt_packets *n)
{
    rlt_sim_ranks(n->cfg.sim, n->hop, came_by);
    return rlt_sim_places(n->cfg.sim, n->n + rlt_topology_nodes(n->cfg.topology));
}

uint32_t rlt_packets_place(const rlt_packets *n, uint32_t node)
{
    return n->n + node;
}

/* Makes a packet that stands before the first port of its route. RLT_NONE on failure, which has gone to
 * rlt_sim_fail. */
static inline uint32_t make(rlt_packets *n, const rlt_packet *packet)
{
    if (packet->route >= n->routes_used) {
        rlt_sim_fail(n->cfg.sim, RLT_EUSAGE, NULL, "a packet on an unknown route");
        return RLT_NONE;
    }
    uint32_t i = rlt_pool_get(&n->slots);
    if (i == RLT_NONE) {
        no_memory(n);
        return RLT_NONE;
    }
    const rlt__route *r = &n->routes[packet->route];
    rlt__slot *s = rlt__slot_at(n, i);
    s->p = *packet;
    s->p.hop = 0;
    s->at = r->first;
    s->end = r->first + r->n;
    if (packet->flags & RLT_PACKET_UNHEARD) {
        if (n->plain && !(packet->flags & RLT_PACKET_PROBE) && r->n > 1)
            s->end--;
        else
            s->p.flags &= (uint8_t)~RLT_PACKET_UNHEARD;
    }
    n->live++;
    return i;
}

void rlt_packets_send(rlt_packets *n, const rlt_packet *packet)
{
    uint32_t i = make(n, packet);
    if (i == RLT_NONE)
        return;
    rlt__slot *s = rlt__slot_at(n, i);
    if (s->at == s->end) { /* not within this call: the sender has not finished */
        rlt_sim_post_at(n->cfg.sim, rlt_sim_now(n->cfg.sim), RLT_COMPLETE,
                        rlt_tag_at(rlt_sim_tag(n->hop), rlt_packets_place(n, packet->dst)), i);
        return;
    }
    rlt__port *p = &n->ports[n->links[s->at]];
    if (!n->plain)
        transmit(n, i);
    else if (p->flags & RLT__PORT_EASY)
        transmit_easy(n, i, p, rlt_sim_now(n->cfg.sim));
    else
        transmit_odd(n, i);
}

rlt_time rlt_packets_send_as_of(rlt_packets *n, const rlt_packet *packet, rlt_time then)
{
    if (!n->plain) {
        rlt_time leaves = rlt_packets_leaves(n, packet->route, packet->bytes);
        rlt_packets_send(n, packet);
        return leaves;
    }
    uint32_t i = make(n, packet);
    if (i == RLT_NONE)
        return RLT_TIME_MAX;
    rlt__port *p = &n->ports[n->links[rlt__slot_at(n, i)->at]];
    return p->flags & RLT__PORT_EASY ? transmit_easy(n, i, p, then) : transmit_odd(n, i);
}

rlt_time rlt_packets_leaves(const rlt_packets *n, uint32_t route, uint32_t bytes)
{
    rlt_time now = rlt_sim_now(n->cfg.sim);
    if (n->routes[route].n == 0)
        return now;
    rlt__port *p = &n->ports[n->links[n->routes[route].first]];
    return rlt_time_add(p->free_ps > now ? p->free_ps : now, rlt__port_span(p, bytes));
}

void rlt_packets_guest(rlt_packets *n, const rlt_packets_client *guest)
{
    n->guest = *guest;
    n->plain &= !guest->left;
}

int rlt__packets_handlers(rlt_packets *n, rlt_error *err)
{
    const rlt_handler_entry handlers[] = {{n->owner ? on_hop_in_part : on_hop, &n->hop}, {on_left, &n->left}};
    return rlt_sim_register(n->cfg.sim, n, handlers, sizeof handlers / sizeof *handlers, err);
}
