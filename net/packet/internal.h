/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Flows of the packet model, for the files that move them. Internal to net/. */
#ifndef RLT_NET_PACKET_INTERNAL_H
#define RLT_NET_PACKET_INTERNAL_H

#include "net/network.h"
#include "net/network_internal.h"
#include "net/packet/dcqcn.h"
#include "net/packet/packet.h"
#include "net/packet/packets.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"

enum { RLT__DATA, RLT__DATA_ASKS, RLT__ACK, RLT__ACK_ALL, RLT__NAK, RLT__CNP }; /* kinds of packets */

/* Packets first .. end-1 of its flow. */
typedef struct rlt__flow_message {
    uint64_t first, end;
    uint64_t bytes, tail_bytes; /* of the client; payload of the last packet */
    uint64_t tx, rx;
    rlt_time delay_ps; /* from its last packet to delivery */
    uint32_t next;
} rlt__flow_message;

/* To be sent again. */
typedef struct rlt__hole {
    uint64_t first, n;
    uint32_t next;
    bool asks; /* its last packet wants to know what is still missing */
} rlt__hole;

typedef struct rlt__flow {
    uint32_t src, dst; /* ranks */
    uint64_t key;
    uint32_t src_node, dst_node;
    uint32_t route, back;
    uint32_t port;                           /* by which the next packet leaves */
    uint32_t turn;                           /* next in the port's round */
    uint32_t same_hash;                      /* next flow */
    uint32_t head, tail, sending, receiving; /* messages, or RLT_NONE */
    uint32_t holes, last_hole;
    uint32_t blocked; /* the failed link that no route goes around, or RLT_NONE */
    bool in_round, paced, armed, sprayed;
    /* Sender, in packets: acknowledged, next to send, sent at least once, end of the last message. */
    uint64_t acked, next, sent, end;
    rlt_time progress_ps; /* when something was last acknowledged, or sent from rest */
    rlt_time pace_ps;     /* not before */
    uint32_t tries;       /* times in a row that it ran out */
    /* Receiver: the first packet not there; the one after the last that came; answered up to. */
    bool asked; /* go-back-N: for `expected` */
    uint64_t expected, high, answered;
    uint64_t receiving_end; /* of the message being received */
    uint64_t *seen;         /* selective: bits of packets from `expected` on, by number modulo seen_bits */
    uint32_t seen_bits;
    rlt_dcqcn rate;
} rlt__flow;

/* A port of a source: flows take turns. */
typedef struct rlt__source {
    uint32_t head, tail;
    bool busy, tells; /* tells: the packet on the port is the last of message tx */
    uint64_t tx;
} rlt__source;

typedef struct rlt__late {
    uint64_t bytes, tx, rx;
} rlt__late;

typedef struct rlt__packet_net {
    rlt_net_core core;
    rlt_packet_settings set;
    rlt_packets *packets;
    rlt__source *sources; /* of each link */
    uint32_t *last;       /* of each rank: its last flow */
    rlt_pool messages, holes, late;
    rlt__flow *flows;
    uint32_t n_flows, flows_room;
    rlt_map by_hash;
    bool reliable; /* nothing can be lost */
    bool back_pressure;
    bool selective, spray;
    int free_port, pace, timeout, deliver; /* event handlers */
} rlt__packet_net;

static inline rlt__flow_message *rlt__message_at(const rlt__packet_net *net, uint32_t i)
{
    return (rlt__flow_message *)(void *)net->messages.items + i;
}

void rlt__packet_no_memory(rlt__packet_net *net);
/* The flow may have something to send: it takes its turn at its port. */
void rlt__flow_offer(rlt__packet_net *net, uint32_t flow);
/* The route of a flow's next packet. False: told to the simulation, or the flow is blocked. */
bool rlt__flow_take_route(rlt__packet_net *net, rlt__flow *f);
/* The route of its answers, where there are any. The same. */
bool rlt__flow_take_back(rlt__packet_net *net, rlt__flow *f);
void rlt__packet_relink(rlt_net *net, const uint32_t *links, uint32_t n); /* links.c */
/* repair.c: what is missing at the receiver, and at the sender what is not answered. */
void rlt__repair_data(rlt__packet_net *net, uint32_t flow, const rlt_packet *p);
void rlt__repair_nak(rlt__packet_net *net, uint32_t flow, const rlt_packet *p);
void rlt__repair_ack_all(rlt__packet_net *net, uint32_t flow);
void rlt__repair_arm(rlt__packet_net *net, uint32_t flow);
void rlt__repair_timeout(void *ctx, uint64_t payload);
/* Takes packet numbers from the holes. */
bool rlt__repair_next(rlt__packet_net *net, rlt__flow *f, uint64_t *packet, uint8_t *kind);
/* Receiver: sends an answer about what came. */
void rlt__flow_answer(rlt__packet_net *net, uint32_t flow, rlt_packet answer);
/* Receiver: `expected` has moved on; delivers what is complete. */
void rlt__flow_received(rlt__packet_net *net, uint32_t flow);

#endif
