/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Flows of the packet model, shared by the files that move them. Internal to net/. */
#ifndef RLT_NET_PACKET_INTERNAL_H
#define RLT_NET_PACKET_INTERNAL_H

#include "net/network.h"
#include "net/network_internal.h"
#include "net/packet/dcqcn.h"
#include "net/packet/packet.h"
#include "net/packet/packets.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/sim.h"

enum { RLT__DATA, RLT__DATA_ASKS, RLT__ACK, RLT__ACK_ALL, RLT__NAK, RLT__CNP }; /* kinds of packets */

/* A message of a flow: its packets first .. end-1. */
typedef struct rlt__flow_message {
    uint64_t first, end;
    uint64_t bytes, tail_bytes; /* payload of the message; payload of its last packet */
    uint64_t tx, rx;
    rlt_time delay_ps; /* delay from its last packet to delivery */
    uint32_t next;
} rlt__flow_message;

/* A run of packets to be retransmitted. */
typedef struct rlt__hole {
    uint64_t first, n;
    uint32_t next;
    bool asks; /* its last packet asks what is still missing */
} rlt__hole;

typedef struct rlt__flow {
    uint32_t src, dst; /* ranks */
    uint64_t key;
    uint32_t src_node, dst_node;
    uint32_t number; /* index in the part of its sender */
    uint32_t route, back;
    uint32_t port, back_port;                /* ports by which the next packet and the next answer leave */
    uint32_t turn;                           /* next flow in the port's round */
    uint32_t same_hash;                      /* next flow of equal hash */
    uint32_t head, tail, sending, receiving; /* messages of the flow, or RLT_NONE */
    uint32_t holes, last_hole;
    uint32_t blocked; /* failed link that no route avoids, or RLT_NONE */
    bool in_round, paced, armed, sprayed;
    bool far; /* the end of its first link belongs to another part */
    /* Sender, packet numbers: first not acknowledged, next to send, end of packets sent at least once, end of
     * the last message. */
    uint64_t acked, next, sent, end;
    rlt_time progress_ps; /* time of the last acknowledgement, or of the first packet after rest */
    rlt_time pace_ps;     /* earliest time of the next packet */
    uint32_t tries;       /* consecutive timeouts */
    /* Quiet: packet after the last one that is heard; last packet of message `sending`, 0 if unknown. */
    uint64_t heard, tail_at;
    rlt_packet whole; /* quiet: a data packet with a full payload, the next one that is sent */
    /* Receiver, packet numbers: first missing one, the one after the highest received, answered so far. */
    bool asked; /* go-back-N: `expected` has been asked for */
    uint64_t expected, high, answered;
    uint64_t receiving_end; /* end of the message being received */
    uint64_t *seen;         /* selective: one bit per packet from `expected` on, at number modulo seen_bits */
    uint32_t seen_bits;
    rlt_dcqcn rate;
} rlt__flow;

/* A port of a source. Flows take turns. */
typedef struct rlt__source {
    uint32_t head, tail;
    rlt_tag tag;      /* handler and place of the event of a free port */
    bool busy, tells; /* tells: the packet on the port is the last one of message tx */
    uint64_t tx;
    /* Quiet, while busy: time at which the port is free for the next packet; time of its event. The event may
     * come later, see train.c. */
    rlt_time free_ps, due_ps;
    rlt_time lag_ps, whole_ps; /* longest lag; time of a whole packet on the link */
    uint64_t lag_packets;      /* whole packets that take longer than lag_ps; 0: the port must not lag */
} rlt__source;

typedef struct rlt__late {
    uint64_t bytes, tx, rx;
} rlt__late;

typedef struct rlt__packet_net {
    rlt_net_core core;
    rlt_packet_settings set;
    rlt_packets *packets;
    rlt__source *sources; /* one per link */
    uint32_t *last;       /* last flow of each rank */
    rlt_pool messages, holes, late;
    rlt__flow *flows;
    uint32_t n_flows, flows_room;
    rlt_map by_hash;
    uint32_t first_place; /* place of node 0 in the order of events */
    bool reliable;        /* true if no packet can be lost */
    bool back_pressure;
    /* True if packets arrive in order and nothing waits for answers: the sender knows which packets the
     * receiver will answer, and the others need not be heard. */
    bool quiet;
    bool selective, spray;
    int free_port, pace, timeout, deliver; /* event handlers */
    /* For a part of a network; see parts.c. */
    const rlt_net_part *part;       /* NULL: this is the whole */
    struct rlt__numbers *far_flows; /* by part of the sender */
    uint32_t n_parts;
} rlt__packet_net;

static inline rlt__flow_message *rlt__message_at(const rlt__packet_net *net, uint32_t i)
{
    return (rlt__flow_message *)(void *)net->messages.items + i;
}

/* Returns true if the rank belongs to this part of the network. */
static inline bool rlt__is_own(const rlt__packet_net *net, uint32_t rank)
{
    return !net->part || net->part->of_rank[rank] == net->part->self;
}

/* Puts a flow at the end of the round of a port. */
static inline void rlt__join_round(rlt__packet_net *net, rlt__source *s, uint32_t index)
{
    rlt__flow *f = &net->flows[index];
    f->in_round = true;
    f->turn = RLT_NONE;
    if (s->head == RLT_NONE)
        s->head = index;
    else
        net->flows[s->tail].turn = index;
    s->tail = index;
}

/* Returns true if the port may have been free without an event. */
static inline bool rlt__source_lags(const rlt__source *s)
{
    return s->due_ps > s->free_ps;
}

/* Creates the flow of a message, or the half of it that is in this part: `number` is its number in the
 * sender's. Returns false on failure, which has gone to rlt_sim_fail. */
bool rlt__flow_make(rlt__packet_net *net, const rlt_message *m, uint32_t number, uint64_t line_Bps,
                    uint32_t *out);
bool rlt__flow_add(rlt__packet_net *net, uint32_t flow, const rlt_message *msg, uint64_t wire_bytes,
                   rlt_time delay_ps);
/* parts.c: tells the part of the receiver of a message; finds the flow of a packet of data. */
bool rlt__part_announce(rlt__packet_net *net, uint32_t flow, const rlt_message *m, uint64_t wire_bytes,
                        rlt_time delay_ps);
/* Returns true if packets on a route go from their first link to another part. */
bool rlt__part_is_far(const rlt__packet_net *net, uint32_t route);
uint32_t rlt__part_flow(const rlt__packet_net *net, const rlt_packet *p);
int rlt__part_create(rlt__packet_net *net, rlt_error *err) RLT_MUST_USE;
void rlt__part_free(rlt__packet_net *net);
void rlt__packet_no_memory(rlt__packet_net *net);
/* train.c: ports of a quiet network. rlt__flow_offer there; the event of a free port; serves a port as of the
 * times up to now at which it was free. */
void rlt__flow_offer_quietly(rlt__packet_net *net, uint32_t flow);
void rlt__source_free(void *ctx, uint64_t port);
void rlt__source_catch_up(rlt__packet_net *net, rlt__source *s);
/* Finds the ports that may lag; forbids lags from now on. */
int rlt__trains_create(rlt__packet_net *net, rlt_error *err) RLT_MUST_USE;
void rlt__trains_end(rlt__packet_net *net);
/* Returns the payload of a packet of a flow, whether it is the last of its message, and that one's cookie. */
uint32_t rlt__flow_payload(rlt__packet_net *net, rlt__flow *f, uint64_t packet, bool *last, uint64_t *tx);
/* Frees the first message of a flow, of which nothing more is needed. */
void rlt__flow_drop_head(rlt__packet_net *net, rlt__flow *f);
/* Puts a flow that may have something to send into the round of its port. */
void rlt__flow_offer(rlt__packet_net *net, uint32_t flow);
/* Finds the route of a flow's next packet. Returns false if the flow is blocked, or on failure, which has
 * gone to rlt_sim_fail. */
bool rlt__flow_take_route(rlt__packet_net *net, rlt__flow *f);
/* As rlt__flow_take_route, for the flow's answers, if any. */
bool rlt__flow_take_back(rlt__packet_net *net, rlt__flow *f);
void rlt__packet_relink(rlt_net *net, const uint32_t *links, uint32_t n); /* links.c */
/* repair.c: missing packets at the receiver; unacknowledged packets at the sender. */
void rlt__repair_data(rlt__packet_net *net, uint32_t flow, const rlt_packet *p);
void rlt__repair_nak(rlt__packet_net *net, uint32_t flow, const rlt_packet *p);
void rlt__repair_ack_all(rlt__packet_net *net, uint32_t flow);
void rlt__repair_arm(rlt__packet_net *net, uint32_t flow);
void rlt__repair_timeout(void *ctx, uint64_t payload);
/* Takes the next packet number from the holes. */
bool rlt__repair_next(rlt__packet_net *net, rlt__flow *f, uint64_t *packet, uint8_t *kind);
/* Receiver: sends an answer for what has arrived. */
void rlt__flow_answer(rlt__packet_net *net, uint32_t flow, rlt_packet answer);
/* Receiver: delivers complete messages after `expected` has advanced. */
void rlt__flow_received(rlt__packet_net *net, uint32_t flow);

#endif
