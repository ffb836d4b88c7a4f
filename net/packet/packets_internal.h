/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ports and packets under way, shared by the files that move them. Internal to net/.
 *
 * A port's queue is stored as a time: when everything queued so far will have left. With back-pressure that
 * time is unknown, and ports get lists and events of their own (packets_pause.c).
 */
#ifndef RLT_NET_PACKET_PACKETS_INTERNAL_H
#define RLT_NET_PACKET_PACKETS_INTERNAL_H

#include "net/packet/packets.h"
#include "net/usage.h"
#include "net/usage_internal.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/sim.h"

/* One cache line. */
typedef struct rlt__port {
    rlt_time free_ps;    /* time at which everything queued will have left */
    rlt_time after_ps;   /* latency of the link plus that of the switch at its end */
    rlt_time deepest_ps; /* longest queue, as its serialisation time */
    rlt_time limit_ps;   /* buffer, as its serialisation time; RLT_TIME_MAX: no limit */
    uint64_t bw_Bps;
    uint32_t ps_per_byte; /* picoseconds a byte; 0: not a whole number */
    uint32_t memo_bytes;  /* in that case: last packet size, and memo_ps its time */
    rlt_time memo_ps;
    uint32_t flags;
    uint32_t cuts; /* number of failures of the link */
} rlt__port;

enum {
    RLT__PORT_INNER = 1,     /* port of a node that is no accelerator: finite buffer, marks */
    RLT__PORT_TO_SWITCH = 2, /* leads to a switch, whose latency is in after_ps */
    RLT__PORT_TO_HOST = 4,   /* leads to a host, which accepts every packet */
    RLT__PORT_FAILED = 8,
    RLT__PORT_EASY = 16, /* a byte takes whole picoseconds, and switches wait for the last one of a packet */
};

/* A packet under way. One cache line. */
typedef struct rlt__slot {
    rlt_packet p;
    /* Its next link and the end of its route, indices into `links`. The end for an unheard packet is its last
     * link: the port there is the last place that handles it. */
    uint32_t at, end;
    uint32_t next; /* next packet in a port's list; on a link: failures of the link so far */
} rlt__slot;

/* State of a port under back-pressure. */
typedef struct rlt__queue {
    uint32_t head, tail; /* waiting packets, or RLT_NONE */
    uint64_t bytes;      /* bytes queued, including the packet being sent */
    uint64_t deepest;
    int64_t credit;           /* room at the other end */
    uint64_t held;            /* bytes that came by this link and are still in the node at its other end */
    bool busy, paused, asked; /* asked: the node at the other end has asked for a pause */
    rlt_time paused_at;
    /* The packet being sent. */
    uint32_t leaving_bytes, leaving_by; /* by: link by which it came, or RLT_NONE at its source */
    rlt_packet leaving;                 /* the packet itself, if it is at its source */
} rlt__queue;

typedef struct rlt__route {
    uint32_t first, n;
    uint32_t next; /* next route of equal hash */
    uint64_t sent; /* parts that know it, one bit each */
} rlt__route;

/* Own numbers of what another part has numbered; RLT_NONE: none. */
typedef struct rlt__numbers {
    uint32_t *of, room;
} rlt__numbers;

/* What a port has queued until `until`, it sends at a bandwidth that it had. */
typedef struct rlt__stretch {
    rlt_time until;
    uint64_t bw_Bps;
    uint32_t before; /* the stretch before it, or RLT_NONE */
} rlt__stretch;

/* Bytes queued at a port at `now`, which keep it busy for `span`. `was`: until when it had been busy. */
typedef struct rlt__note {
    rlt_time now, was, span;
    uint32_t link, bytes;
} rlt__note;

struct rlt_packets {
    rlt_packets_config cfg;
    rlt_packets_client guest;
    rlt_usage *usage;
    rlt__port *ports;
    rlt_port_counts *counts; /* see rlt_packets_port */
    rlt__queue *queues;      /* NULL: no back-pressure */
    rlt_pool slots;
    uint64_t live;
    rlt_time unheard_ps; /* latest arrival of a packet that is not heard */
    uint32_t n;          /* number of links */
    uint32_t *links, links_used, links_room;
    /* by index into `links`: handler and place of the event that queues a packet there; at the end of a
     * route, of its arrival */
    rlt_tag *tags;
    uint32_t tags_room;
    rlt__route *routes;
    uint32_t routes_used, routes_room;
    rlt_map known;   /* hash of links -> route */
    rlt_pool copies; /* copies of packets for cfg.left */
    rlt_pool stretches;
    uint32_t *stretch; /* the last one of each link, or RLT_NONE; NULL: none changed with packets queued */
    bool plain;        /* packets are only sent: no marks, drops, losses, series; accounts are open */
    int hop, left, departed, pause, resume, credit; /* event handlers */
    /* For a part of a network; see parts.c. */
    const uint8_t *owner; /* part of each place; NULL: this is the whole */
    uint32_t self;
    rlt__numbers *known_routes; /* by part */
    bool notes_charges;
    rlt__note *notes;
    uint32_t n_notes, notes_room;
};

static inline const rlt_packets_client *rlt__client_of(const rlt_packets *n, const rlt_packet *p)
{
    return p->flags & RLT_PACKET_GUEST ? &n->guest : &n->cfg.client;
}

static inline rlt__slot *rlt__slot_at(const rlt_packets *n, uint32_t i)
{
    return (rlt__slot *)(void *)n->slots.items + i;
}

rlt_time rlt__port_span_slow(rlt__port *p, uint32_t bytes);

/* Returns the serialisation time of a packet at a port. */
static inline rlt_time rlt__port_span(rlt__port *p, uint32_t bytes)
{
    return p->ps_per_byte ? (rlt_time)((uint64_t)bytes * p->ps_per_byte) : rlt__port_span_slow(p, bytes);
}

static inline rlt_time rlt__port_latency(const rlt_packets *n, const rlt__port *p)
{
    return p->flags & RLT__PORT_TO_SWITCH ? p->after_ps - n->cfg.switch_ps : p->after_ps;
}

static inline void rlt__packet_done(rlt_packets *n, uint32_t i)
{
    rlt_pool_put(&n->slots, i);
    n->live--;
}

/* Returns the bytes that a port whose queue ends at `until` has not sent by `now`. */
double rlt__port_unsent(const rlt_packets *n, uint32_t link, rlt_time now, rlt_time until);
/* Returns true if a port has queued packets at different bandwidths. */
static inline bool rlt__port_is_mixed(const rlt_packets *n, uint32_t link, rlt_time now)
{
    return n->stretch && n->stretch[link] != RLT_NONE &&
           ((const rlt__stretch *)rlt_pool_at(&n->stretches, n->stretch[link]))->until > now;
}

/* Returns the time from the start of a packet's transmission until the next node handles it. */
rlt_time rlt__packet_onward(const rlt_packets *n, const rlt__slot *s, rlt_time span);
/* Charges the account of a link that sends `bytes` in [from, to). `was`: until when the port had been
 * busy. */
void rlt__packet_charge(rlt_packets *n, uint32_t link, uint32_t bytes, rlt_time from, rlt_time to,
                        rlt_time was);
/* Closes the accounts as of `when`. free_ps: ends of the queues of all ports at that time. */
void rlt__packets_settle_at(rlt_packets *n, rlt_time when, const rlt_time *free_ps);
/* Decides, and counts, whether the next packet on the link is lost. */
bool rlt__packet_is_lost(rlt_packets *n, uint32_t link);
/* Marks a packet, with the probability that belongs to `bytes` queued in front of it. */
void rlt__packet_mark(rlt_packets *n, rlt__slot *s, uint32_t link, double bytes);
void rlt__packet_drop(rlt_packets *n, uint32_t i, uint32_t link);
/* Schedules the report that the last byte of a packet has left the source. */
void rlt__packet_tell_left(rlt_packets *n, const rlt_packet *p, rlt_time when);
int rlt__packets_handlers(rlt_packets *n, rlt_error *err) RLT_MUST_USE;

/* parts.c: hands a packet over to another part, where it is handled at `then`; makes room for one more
 * note. */
void rlt__part_send(rlt_packets *n, uint32_t i, uint32_t to, rlt_time then);
bool rlt__part_more_notes(rlt_packets *n);

/* packets_pause.c */
int rlt__pause_create(rlt_packets *n, rlt_error *err) RLT_MUST_USE;
void rlt__pause_queue(rlt_packets *n, uint32_t i);
/* Gives back the credit that a packet took on its way into a node. Call it when the packet is gone. */
void rlt__pause_consumed(rlt_packets *n, const rlt__slot *s);
/* Loses all packets that wait at a port whose link has failed. */
void rlt__pause_flush(rlt_packets *n, uint32_t link);
bool rlt__pause_names(const rlt_packets *n, char *text, size_t size);

#endif
