/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Packets on links: the ground of the packet model and of in-network aggregation. Every link is a port with a
 * queue, first in, first out. A packet of b bytes occupies the link for b / bandwidth (tau), then travels for
 * the link's latency (d). A switch handles it a fixed latency (s) after its last byte (store and forward) or
 * its header (cut through) has arrived, and queues it at the next port. Hosts take no time. Hosts and
 * aggregators above decide what is sent, retransmitted and answered.
 *
 * Without back-pressure the time at which a packet leaves a port is known when it arrives there: one event a
 * hop. A queue is what has not left the port yet. Without back-pressure it includes the unsent part of the
 * packet on the wire; with back-pressure it includes the whole packet.
 *
 * Time is integer picoseconds; b / bandwidth is rounded to nearest once per packet. At one instant packets
 * are handled in the order in which they were put on their last links, so a run repeats itself bit for bit.
 */
#ifndef RLT_NET_PACKET_PACKETS_H
#define RLT_NET_PACKET_PACKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A packet on its way. Held by index; the pool may move: look it up again after anything that sends. */
typedef struct rlt_packet {
    uint32_t bytes;    /* on the wire, headers included */
    uint32_t src, dst; /* nodes */
    uint32_t route;    /* rlt_packets_route */
    uint16_t hop;      /* links behind it */
    uint8_t kind;      /* the sender's; 0 .. 255 */
    uint8_t flags;     /* rlt_packet_flag */
    uint32_t flow;     /* the sender's: what drops and marks are counted for */
    uint32_t key, aux; /* the sender's: chunk, slot, worker ... */
    uint64_t data;     /* the sender's */
} rlt_packet;

typedef enum rlt_packet_flag {
    RLT_PACKET_ECT = 1,    /* may be marked */
    RLT_PACKET_CE = 2,     /* was marked: congestion experienced */
    RLT_PACKET_RESEND = 4, /* sent again */
    RLT_PACKET_PROBE = 8,  /* shown to the `pass` of switches on its way */
    RLT_PACKET_GUEST = 32, /* the guest's: see rlt_packets_guest */
} rlt_packet_flag;

/* Purposes of random streams (sim/base/random.h): the entity is the link, the counter its packets so far. */
enum { RLT_RANDOM_LOSS = 0x706b6c00, RLT_RANDOM_MARK = 0x706b6d00 };

/* Who sends packets, and is told of them. */
typedef struct rlt_packets_client {
    void *ctx;
    /* At its destination (a host, or the switch it was sent to). The packet is gone afterwards. */
    void (*arrived)(void *ctx, const rlt_packet *p);
    /* At each switch on the way of a PROBE packet, after its latency. Returning true takes the packet off the
     * network. NULL: never. */
    bool (*pass)(void *ctx, uint32_t node, const rlt_packet *p);
    /* Dropped, or lost on a link (told when it is put there); may be NULL. link: where. */
    void (*dropped)(void *ctx, const rlt_packet *p, uint32_t link);
    /* Injected: its last byte has left its source; may be NULL. */
    void (*left)(void *ctx, const rlt_packet *p);
} rlt_packets_client;

typedef enum rlt_pause { RLT_PAUSE_NONE, RLT_PAUSE_PFC, RLT_PAUSE_CREDIT } rlt_pause;

typedef struct rlt_packets_config {
    rlt_sim *sim;
    const rlt_topology *topology;
    rlt_time switch_ps; /* s */
    /* A switch waits for `header_bytes` instead of the whole packet, unless the next port is faster. */
    bool cut_through;
    uint32_t header_bytes;
    /* Buffer of a switch port (a switch is any node but an accelerator); 0: no limit. A packet that does not
     * fit is dropped. With credits the limit holds for the packets of one incoming link, and a packet that
     * does not fit is held back. With PFC the limit is not used: pauses keep the queue near pause_bytes. */
    uint64_t buffer_bytes;
    /* The marking probability rises between these queue lengths, from 0 to ecn_probability; max 0: none. */
    uint64_t ecn_min_bytes, ecn_max_bytes;
    double ecn_probability;
    rlt_pause pause;                    /* back-pressure instead of drops */
    uint64_t pause_bytes, resume_bytes; /* PFC: of a port's ingress */
    double loss;                        /* probability that a packet is lost on a link */
    uint64_t seed;
    double bandwidth_scale, latency_scale;
    rlt_time series_bin_ps;
    bool links_fail; /* rlt_packets_link will be called with 0 */
    rlt_packets_client client;
} rlt_packets_config;

typedef struct rlt_packets rlt_packets;

RLT_API int rlt_packets_create(const rlt_packets_config *cfg, rlt_packets **out, rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_packets_free(rlt_packets *p);
/* A second client of the same links, once: its packets have RLT_PACKET_GUEST. */
RLT_API void rlt_packets_guest(rlt_packets *p, const rlt_packets_client *guest);
/* A route, kept until the end: `links` lead from one node to the next. Equal routes share a number. RLT_NONE:
 * out of memory. */
RLT_API uint32_t rlt_packets_route(rlt_packets *p, const uint32_t *links, uint32_t n);
/* Queues a packet now at the first port of its route (hop 0). A route of no links arrives at once. Failures
 * go to rlt_sim_fail. */
RLT_API void rlt_packets_send(rlt_packets *p, const rlt_packet *packet);
RLT_API uint32_t rlt_packets_first_link(const rlt_packets *p, uint32_t route); /* RLT_NONE: no links */
/* When a packet of so many bytes that is sent now would leave the first port of that route. */
RLT_API rlt_time rlt_packets_leaves(const rlt_packets *p, uint32_t route, uint32_t bytes);
/* From now on a link has this bandwidth, for what is queued from now on (with back-pressure: sent from now
 * on); 0: it has failed. What is on it then, or waits at its port, or comes there while it has failed, is
 * lost. RLT_ENOMEM. */
RLT_API int rlt_packets_link(rlt_packets *p, uint32_t link, uint64_t bw_Bps) RLT_MUST_USE;
RLT_API rlt_usage *rlt_packets_usage(rlt_packets *p);
/* Closes the accounts at the present instant; once, after the run and before the usage is read. */
RLT_API void rlt_packets_settle(rlt_packets *p);

/* What happened at a link's port. */
RLT_API rlt_port_counts rlt_packets_port(const rlt_packets *p, uint32_t link);
/* Packets under way, for the report of a stall; text names one that waits and for what. */
RLT_API uint64_t rlt_packets_pending(const rlt_packets *p, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
