/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A network of packets in parts, each simulated by a thread of its own (sim/windows.h). Its places are dealt:
 * the ports of a switch one by one, an accelerator as a whole with its ports.
 *
 *   hosts     in the order of nodes, equally many ranks to each part
 *   ports     at a switch: to the part of the host that the link leads to; between switches, to the part of
 *             the end that is nearer to hosts
 *
 *   Example: 4 hosts on one switch in 2 parts. A packet from host 0 to host 3 is put on its first link by
 *   part 0. Part 1 has the port of the switch towards host 3, so the packet becomes a letter there. The parts
 *   are as far apart as the latency of the first link.
 *
 * A part knows only its own half of a flow that crosses: the sender's or the receiver's. The sender's part
 * tells the other one of each message, before its packets.
 */
#ifndef RLT_NET_PACKET_PARTS_H
#define RLT_NET_PACKET_PARTS_H

#include <stdint.h>

#include "net/network.h"
#include "sim/base/error.h"
#include "sim/base/time.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_packet_parts {
    uint32_t n;
    rlt_time ahead;   /* least time of a packet from one part to another */
    uint8_t *owner;   /* part of each place: links, then nodes */
    uint8_t *of_rank; /* part of each rank */
} rlt_packet_parts;

/* Deals a network to n parts, or fewer if there are fewer ranks. RLT_EUNSUPPORTED, with the reason, if it
 * cannot be in parts. Zero-initialise `out`, and free it in every case. */
int rlt_packet_deal(const rlt_net_config *cfg, uint32_t n, rlt_packet_parts *out,
                    rlt_error *err) RLT_MUST_USE;
void rlt_packet_parts_free(rlt_packet_parts *p);
/* Tells a part that its own work has ended. */
void rlt_packet_part_ended(rlt_net *net);
/* Adds the accounts of part `from` to those of part `to`, after the run. */
void rlt_packet_gather(rlt_net *to, const rlt_net *from);

#ifdef __cplusplus
}
#endif
#endif
