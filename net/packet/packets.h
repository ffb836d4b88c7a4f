/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Packets on links: the basis of the packet model and of in-network aggregation. Every link is a port with a
 * queue, first in, first out. Hosts and aggregators above decide what is sent, retransmitted and answered.
 *
 * Symbols: a packet of b bytes occupies a link for tau = b / bandwidth, then travels for the latency d of the
 * link. A switch handles it a fixed latency s after its last byte (store and forward) or its header (cut
 * through) has arrived, and queues it at the next port. Hosts take no time.
 *
 *   Example: 3 packets over host - switch - host, tau = 80 ns, d = 500 ns, s = 300 ns, store and forward.
 *   The last one leaves the host after 3 tau and arrives after 3 tau + d + s + tau + d = 1620 ns.
 *
 * Without back-pressure, the time at which a packet leaves a port is known when it arrives there: one event
 * per hop. The queue of a port is the data that has not left it. Without back-pressure it includes the unsent
 * part of the packet on the wire; with back-pressure it includes the whole packet.
 *
 * Time is integer picoseconds; tau is rounded to nearest once per packet. At one instant, packets are handled
 * in the order in which they were put on their last links, so that a run repeats bit for bit. After
 * rlt_packets_order, a port queues the packets of one instant in the order of the links by which they came.
 * That order does not depend on which of two nodes an earlier instant handled first, so that nodes may be
 * dealt to several threads. Free ports of sources choose last, in class RLT_SOLVE.
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

/* A packet on its way, addressed by index. The pool may move: look the packet up again after anything that
 * sends. */
typedef struct rlt_packet {
    uint32_t bytes;    /* bytes on the wire, headers included */
    uint32_t src, dst; /* nodes */
    uint32_t route;    /* see rlt_packets_route */
    uint16_t hop;      /* number of links already crossed */
    uint8_t kind;      /* free for the sender, 0 .. 255 */
    uint8_t flags;     /* rlt_packet_flag */
    uint32_t flow;     /* flow of the sender, for its counts of drops and marks */
    uint32_t key, aux; /* free for the sender: chunk, slot, worker ... */
    uint64_t data;     /* free for the sender */
} rlt_packet;

/* Flag 16 is free for the sender. */
typedef enum rlt_packet_flag {
    RLT_PACKET_ECT = 1,    /* may be marked */
    RLT_PACKET_CE = 2,     /* was marked: congestion experienced */
    RLT_PACKET_RESEND = 4, /* retransmission */
    RLT_PACKET_PROBE = 8,  /* shown to `pass` at the switches on its way */
    RLT_PACKET_GUEST = 32, /* packet of the guest, see rlt_packets_guest */
    /* Nothing depends on its arrival, of which the client is not told if the network is so simple that the
     * event can be spared. The event still counts, as soon as the packet is put on its last link. */
    RLT_PACKET_UNHEARD = 64,
} rlt_packet_flag;

/* Purposes of random streams (sim/base/random.h). The entity is the link, the counter its packets so far. */
enum { RLT_RANDOM_LOSS = 0x706b6c00, RLT_RANDOM_MARK = 0x706b6d00 };

/* A client, which sends packets and receives these calls. */
typedef struct rlt_packets_client {
    void *ctx;
    /* A packet arrived at its destination (a host, or the switch it was sent to). It is freed afterwards. */
    void (*arrived)(void *ctx, const rlt_packet *p);
    /* A PROBE packet was handled at a switch on its way (after the switch's latency). Return true to take it
     * off the network. NULL: never called. */
    bool (*pass)(void *ctx, uint32_t node, const rlt_packet *p);
    /* A packet was dropped, or lost on `link` (reported when it is put there). May be NULL. */
    void (*dropped)(void *ctx, const rlt_packet *p, uint32_t link);
    /* The last byte of a packet has left its source. May be NULL. */
    void (*left)(void *ctx, const rlt_packet *p);
} rlt_packets_client;

typedef enum rlt_pause { RLT_PAUSE_NONE, RLT_PAUSE_PFC, RLT_PAUSE_CREDIT } rlt_pause;

/* Packets to lose: the number-th packet that a link carries, from 1, acknowledgements and retransmissions
 * included. */
enum { RLT_NAMED_LOSSES = 16, RLT_NAMED_LINK = 100 };
typedef struct rlt_named_losses {
    struct {
        uint64_t number;
        uint32_t link;
        char name[RLT_NAMED_LINK]; /* in place of `link`, for rlt_topology_find_links; empty: none */
    } items[RLT_NAMED_LOSSES];
    uint32_t n;
} rlt_named_losses;

typedef struct rlt_packets_config {
    rlt_sim *sim;
    const rlt_topology *topology;
    rlt_time switch_ps; /* latency s of a switch */
    /* Cut through: a switch waits for `header_bytes` instead of the whole packet, unless the next port is
     * faster. */
    bool cut_through;
    uint32_t header_bytes;
    /* Buffer of a switch port (a switch is any node except an accelerator); 0: no limit. A packet that does
     * not fit is dropped. With credits the limit is per incoming link, and a packet that does not fit is held
     * back. With PFC the limit is not used: pauses keep the queue near pause_bytes. */
    uint64_t buffer_bytes;
    /* ECN: the marking probability rises from 0 to ecn_probability between these queue lengths; max 0: no
     * marks. */
    uint64_t ecn_min_bytes, ecn_max_bytes;
    double ecn_probability;
    rlt_pause pause;                    /* back-pressure instead of drops */
    uint64_t pause_bytes, resume_bytes; /* PFC thresholds at a port's ingress */
    double loss;                        /* probability that a packet is lost on a link */
    rlt_named_losses lose;              /* packets that are lost whatever the probability */
    uint64_t seed;
    double bandwidth_scale, latency_scale;
    rlt_time series_bin_ps;
    bool links_fail;                 /* rlt_packets_link may be called with bandwidth 0 */
    const struct rlt_net_part *part; /* only its ports act (net/packet/parts.h); NULL: all */
    rlt_packets_client client;
} rlt_packets_config;

typedef struct rlt_packets rlt_packets;

RLT_API int rlt_packets_create(const rlt_packets_config *cfg, rlt_packets **out, rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_packets_free(rlt_packets *p);
/* Orders the packets of one instant by link (see above). Call it before any is sent, without back-pressure.
 * All that the client posts must have a place then: rlt_packets_place of the node at which it happens.
 * RLT_ENOMEM. */
RLT_API int rlt_packets_order(rlt_packets *p) RLT_MUST_USE;
RLT_API uint32_t rlt_packets_place(const rlt_packets *p, uint32_t node);
/* Adds a second client of the same links; call at most once. Its packets have RLT_PACKET_GUEST. */
RLT_API void rlt_packets_guest(rlt_packets *p, const rlt_packets_client *guest);
/* Adds a route and returns its number; `links` lead from one node to the next. Equal routes share a number,
 * and routes are kept until the end. RLT_NONE when out of memory. */
RLT_API uint32_t rlt_packets_route(rlt_packets *p, const uint32_t *links, uint32_t n);
/* Queues a packet now at the first port of its route (hop 0). A packet whose route has no links arrives at
 * once. Failures go to rlt_sim_fail. */
RLT_API void rlt_packets_send(rlt_packets *p, const rlt_packet *packet);
/* As rlt_packets_send, as of `then`: now, or earlier if nothing can tell (train.c). Returns the time at which
 * the last byte leaves the source. The route must have links, and there must be no back-pressure, under which
 * that time is unknown. */
RLT_API rlt_time rlt_packets_send_as_of(rlt_packets *p, const rlt_packet *packet, rlt_time then);
RLT_API uint32_t rlt_packets_first_link(const rlt_packets *p, uint32_t route); /* RLT_NONE: no links */
/* Returns the time at which a packet of `bytes` bytes, sent now, would leave the first port of the route. */
RLT_API rlt_time rlt_packets_leaves(const rlt_packets *p, uint32_t route, uint32_t bytes);
/* Sets the bandwidth of a link from now on. It applies to packets that are queued later (with back-pressure:
 * sent later). 0 makes the link fail: packets on it, waiting at its port, or arriving there while it is down
 * are lost. RLT_ENOMEM. */
RLT_API int rlt_packets_link(rlt_packets *p, uint32_t link, uint64_t bw_Bps) RLT_MUST_USE;
RLT_API rlt_usage *rlt_packets_usage(rlt_packets *p);
/* Closes the accounts at the present instant, when the work has ended and before reading usage. Packets may
 * still be under way (copies that a timeout sent again): no account counts them from now on. Later calls do
 * nothing. */
RLT_API void rlt_packets_settle(rlt_packets *p);

/* Returns the packet events at the port of a link. */
RLT_API rlt_port_counts rlt_packets_port(const rlt_packets *p, uint32_t link);
/* Returns the number of packets under way, for the report of a stall. `text` names one that waits, and for
 * what. */
RLT_API uint64_t rlt_packets_pending(const rlt_packets *p, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
