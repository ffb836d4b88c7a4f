/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Settings of the packet model. A message is cut into packets of at most `mtu` bytes, each with a header.
 * Messages of one flow (source, destination, route key) are sent one after the other. Flows that leave by one
 * port take turns, packet by packet.
 *
 * The receiver acknowledges every ack-th packet and the last one of each message. It asks once for a missing
 * packet, which is retransmitted alone (selective) or with all later ones (go-back-N). If the sender makes no
 * progress for `rto`, doubled on each timeout up to 64-fold, it retransmits unasked, at most `retries` times.
 * If nothing can be lost there are no timers.
 */
#ifndef RLT_NET_PACKET_PACKET_H
#define RLT_NET_PACKET_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include "net/packet/packets.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/time.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_packet_settings {
    uint64_t mtu, header, ack_bytes; /* bytes: payload of a packet; its header; an answer on the wire */
    uint64_t ack;                    /* packets per answer; 0: no answers, if nothing waits for them */
    uint64_t window, retries;        /* packets of a flow under way, 0: no limit; timeouts in a row */
    rlt_time rto_ps, switch_ps;
    int selective, cut_through, dcqcn, pause; /* pause is an rlt_pause */
    uint64_t buffer, ecn_min, ecn_max, pause_at, resume_at;
    double ecn_probability, loss;
    rlt_named_losses lose; /* besides `loss` */
    uint64_t seed;
} rlt_packet_settings;

RLT_API rlt_packet_settings rlt_packet_default(void);
/* Returns true if links lose packets, apart from full buffers and failures. */
static inline bool rlt_packet_may_lose(const rlt_packet_settings *s)
{
    return s->loss > 0 || s->lose.n > 0;
}
/* Sets one setting by name, with its unit. RLT_EUSAGE for an unknown name or a wrong value. */
RLT_API int rlt_packet_set(rlt_packet_settings *s, const char *name, const char *value,
                           rlt_error *err) RLT_MUST_USE;
/* Returns the table of all settings. */
RLT_API const rlt_param *rlt_packet_parameters(void);
/* Creates the configuration of links at full speed. The caller adds the client whose packets they carry. */
RLT_API rlt_packets_config rlt_packet_links(const rlt_packet_settings *s);
/* Checks that the settings can be combined, and fills derived ones. */
RLT_API int rlt_packet_check(rlt_packet_settings *s, rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
