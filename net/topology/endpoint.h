/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Endpoints: what a message costs at its two ends, and when its sender may go on. Two tables of parameters,
 * of the endpoint and of each of its protocols, are filled from the topology file's "endpoint" object and
 * overridden from the command line (--set name=value). The output names the rule in force.
 *
 * A message of m bytes from a rank over a path costs: message_ps + m * byte_fs/1000 of delay before its last
 * byte is delivered (delays of different messages overlap), and m * wire_num / wire_den bytes on each link
 * (rounded up): LL carries 8 B of data in 16 B, LL128 120 in 128 (NCCL). With protocol "auto" each message
 * takes the protocol with the smallest message_ps + wire bytes / path bandwidth.
 *
 * Where the endpoint has `channels` (thread blocks that a collective may use), whole collectives are tuned: a
 * protocol is chosen for all messages of one (collectives/selector.h), and these are its costs. A message
 * goes over `channels` of them, w is the time of its wire bytes on the path (of all those that its sender has
 * under way together), and it is there after
 *     max(w + fill * min(w, time of fill_bytes a channel), message + lines + share * w)
 * where `lines` is line_ps for each line_bytes that a channel carries. `share` below 1: one channel's latency
 * hides behind the transfers of others. `fill`: what the receiver copies out cannot begin before a whole
 * buffer is there. Once for each collective: start_ps, member_ps for each other member, and the copy of the
 * own share: `copy` times what it would take on the links or, where there are lines, copy_lines for each.
 *
 * A kernel's times are instructions: with `clock`, in GHz, launch and the times of protocols are those of a
 * clock of 1 GHz and shrink with it, so that machines of one family can share them.
 */
#ifndef RLT_NET_TOPOLOGY_ENDPOINT_H
#define RLT_NET_TOPOLOGY_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/time.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rlt_injection {
    RLT_INJECT_NIC,      /* the sender goes on when the message is serialised */
    RLT_INJECT_BLOCKING, /* the sender goes on when the message is delivered */
} rlt_injection;

/* Which algorithms a protocol is for. */
typedef enum rlt_serves {
    RLT_FOR_STEPS,  /* rings, trees, and all whose steps wait for each other */
    RLT_FOR_DIRECT, /* every member to every other at once */
    RLT_FOR_NVLS,   /* added up and replicated in the switch */
} rlt_serves;

typedef struct rlt_protocol {
    char name[16];
    rlt_time message_ps;
    uint32_t wire_num, wire_den; /* wire bytes = bytes * num / den; num >= den >= 1 */
    /* The rest counts for tuned collectives only. */
    rlt_serves serves;
    rlt_time start_ps, member_ps, line_ps;
    uint64_t line_bytes;          /* 0: no lines */
    uint64_t channel_bytes;       /* of a message, for each channel; 0: all channels */
    uint64_t limit_bytes;         /* of a message; 0: none */
    uint32_t share_ppm, fill_ppm; /* millionths */
    uint64_t fill_bytes;
    /* What the tuner believes: base + step for each step, and a ring's bus bandwidth; not used for timing. */
    rlt_time tuner_base_ps, tuner_step_ps;
    uint64_t tuner_Bps;
} rlt_protocol;

enum { RLT_MAX_PROTOCOLS = 8, RLT_PROTOCOL_AUTO = -1, RLT_MAX_CHANNELS = 1024 };

typedef struct rlt_endpoint {
    rlt_injection injection;
    rlt_time launch_ps;   /* once per rank and collective, before its first step */
    rlt_time message_ps;  /* per message */
    uint32_t byte_fs;     /* per byte, femtoseconds */
    int protocol;         /* index, or RLT_PROTOCOL_AUTO */
    uint32_t n_protocols; /* 0: plain messages, no protocol cost */
    rlt_protocol protocols[RLT_MAX_PROTOCOLS];
    uint32_t channels, peer_channels; /* at most; for one peer of n: peer_channels / n. 0: not tuned */
    uint32_t clock_ppm;               /* GHz in millionths, see above; 0: as 1 GHz */
    uint32_t copy_ppm;                /* of the time on the links: a local copy */
    uint64_t narrow_Bps;              /* what adding elements of one byte costs more; 0: nothing */
    uint32_t copy_lines_ppm, reduce_lines_ppm; /* lines for each line copied; time of a line that is added */
} rlt_endpoint;

/* nic, all costs zero, no protocols. */
RLT_API rlt_endpoint rlt_endpoint_default(void);
/* A protocol without a name and cost. */
RLT_API rlt_protocol rlt_protocol_default(void);
/* The parameters of an rlt_endpoint ("protocol" looks among the protocols that it has), and of an
 * rlt_protocol. */
RLT_API const rlt_param *rlt_endpoint_parameters(void);
RLT_API const rlt_param *rlt_protocol_parameters(void);
/* One value by name, with units as in the file; "LL.message" is a parameter of one protocol. */
RLT_API int rlt_endpoint_set(rlt_endpoint *e, const char *name, const char *value,
                             rlt_error *err) RLT_MUST_USE;

/* Delay and wire bytes of a message of `bytes` over a path of bandwidth bw_Bps. */
typedef struct rlt_message_cost {
    rlt_time delay_ps;
    uint64_t wire_bytes;
} rlt_message_cost;
RLT_API rlt_message_cost rlt_endpoint_cost(const rlt_endpoint *e, uint64_t bytes, uint64_t bw_Bps);
/* What a time of a kernel is under the endpoint's clock. */
RLT_API rlt_time rlt_endpoint_kernel(const rlt_endpoint *e, rlt_time at_1GHz_ps);

/* What was chosen for one collective. */
typedef struct rlt_tuning {
    bool on;               /* false: each message for itself */
    rlt_protocol protocol; /* as this collective sees it */
    uint32_t index;        /* of the endpoint's protocols */
    uint32_t channels;     /* in use */
    uint32_t together;     /* messages of one sender under way at once */
    rlt_time setup_ps;     /* once, beside the endpoint's launch */
} rlt_tuning;
/* The cost of a message under a tuning. */
RLT_API rlt_message_cost rlt_tuning_cost(const rlt_endpoint *e, const rlt_tuning *t, uint64_t bytes,
                                         uint64_t bw_Bps);
/* Time that `bytes` take in lines over `channels`. */
RLT_API rlt_time rlt_protocol_lines(const rlt_protocol *p, uint64_t bytes, uint32_t channels);

#ifdef __cplusplus
}
#endif
#endif
