/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Endpoints: the cost of a message at its two ends, and the time when its sender may go on. There are two
 * parameter tables, for the endpoint and for each of its protocols. The "endpoint" object of the topology
 * file fills them; the command line overrides them (--set name=value). The output names the rule in force.
 *
 * Plain messages. A message of m bytes costs
 *
 *   delay = message_ps + m * byte_fs / 1000      before its last byte is delivered; delays of different
 *                                                messages overlap
 *   wire  = m * wire_num / wire_den (rounded up) bytes on each link
 *
 * LL carries 8 B of data in 16 B, LL128 120 B in 128 B (NCCL). With protocol "auto" each message takes the
 * protocol with the smallest message_ps + wire bytes / path bandwidth.
 *
 * Tuned collectives. If the endpoint has `channels` (thread blocks that a collective may use), one protocol
 * is chosen for all messages of a collective (collectives/selector.h). Let
 *
 *   w      time of the message's wire bytes on the path, times the messages that its sender has under way
 *   q      the same time for fill_bytes on each of `channels` channels, at most w
 *   lines  line_ps for each line_bytes that a channel carries
 *
 * The message arrives after
 *
 *   max(w + fill * q, message + lines + share * w)
 *
 * `fill`: the receiver cannot begin to copy before a whole buffer has arrived. `share` below 1: the latency
 * of one channel hides behind the transfers of others. Once for each collective: start_ps, member_ps for each
 * other member, and the copy of the own share, which takes `copy` times its time on the links or, if there
 * are lines, copy_lines for each.
 *
 *   Example: w = 10 us, fill = 0, message + lines = 4 us, share = 1: max(10, 14) = 14 us.
 *
 * Times of a kernel scale with its clock: with `clock` in GHz, launch and protocol times are those at 1 GHz,
 * divided by it, so that machines of one family can share them.
 */
#ifndef RLT_NET_ENDPOINT_ENDPOINT_H
#define RLT_NET_ENDPOINT_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/endpoint/internode.h"
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

/* Algorithms that a protocol serves. */
typedef enum rlt_serves {
    RLT_FOR_STEPS,  /* rings, trees, and all others whose steps wait for each other */
    RLT_FOR_DIRECT, /* every member sends to every other at once */
    RLT_FOR_NVLS,   /* summed and replicated in the switch */
} rlt_serves;

/* Generations of GPUs, and vendors of host processors, as NCCL's tuner tells them apart. */
typedef enum rlt_gpu {
    RLT_GPU_UNKNOWN,
    RLT_GPU_VOLTA,
    RLT_GPU_AMPERE,
    RLT_GPU_HOPPER,
    RLT_GPU_BLACKWELL,
    RLT_GPU_CDNA3
} rlt_gpu;
typedef enum rlt_host { RLT_HOST_INTEL, RLT_HOST_AMD, RLT_HOST_ARM, RLT_HOST_POWER } rlt_host;

typedef struct rlt_protocol {
    char name[16];
    rlt_time message_ps;
    uint32_t wire_num, wire_den; /* wire bytes = bytes * num / den; num >= den >= 1 */
    /* The rest applies to tuned collectives only. */
    rlt_serves serves;
    rlt_time start_ps, member_ps, line_ps;
    uint64_t line_bytes;          /* bytes of a line; 0: no lines */
    uint64_t channel_bytes;       /* message bytes per channel; 0: all channels */
    uint64_t limit_bytes;         /* largest message; 0: no limit */
    uint32_t share_ppm, fill_ppm; /* millionths */
    uint64_t fill_bytes;
    /* Model of NCCL's tuner: base + step for each step, and the bus bandwidth of a ring. Not used for
     * timing. */
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
    uint32_t channels, peer_channels; /* most channels; to one of n peers: peer_channels / n. 0: not tuned */
    uint32_t clock_ppm;               /* GHz in millionths, see above; 0: 1 GHz */
    uint32_t copy_ppm;                /* time of a local copy, relative to its time on the links */
    uint64_t narrow_Bps;              /* bandwidth whose time is added for one-byte elements; 0: none */
    uint32_t copy_lines_ppm, reduce_lines_ppm; /* lines charged per line copied; time of a summed line */
    rlt_gpu gpu;                               /* for the tuner, as are host and nccl */
    rlt_host host;
    uint32_t
        ramp_ppm; /* trees over nodes: time of a piece in each step, relative to its time on links that all
                          channels share */
    uint32_t nvls_tree_ppm;  /* wire bytes of NVLS in nvls_tree, relative to NVLS alone */
    uint32_t nccl;           /* version that chooses (net/endpoint/version.h); 0: the newest published */
    rlt_internode internode; /* network between nodes */
} rlt_endpoint;

/* Returns the default endpoint: nic rule, all costs zero, no protocols. */
RLT_API rlt_endpoint rlt_endpoint_default(void);
/* Returns a protocol without a name and costs. */
RLT_API rlt_protocol rlt_protocol_default(void);
/* Return the parameter tables of an rlt_endpoint (its "protocol" names one that it has) and of an
 * rlt_protocol. */
RLT_API const rlt_param *rlt_endpoint_parameters(void);
RLT_API const rlt_param *rlt_protocol_parameters(void);
/* Sets one value by name, with units as in the file; "LL.message" is a parameter of one protocol. */
RLT_API int rlt_endpoint_set(rlt_endpoint *e, const char *name, const char *value,
                             rlt_error *err) RLT_MUST_USE;

/* Delay and wire bytes of a message of `bytes` over a path of bandwidth bw_Bps. */
typedef struct rlt_message_cost {
    rlt_time delay_ps;
    uint64_t wire_bytes;
} rlt_message_cost;
RLT_API rlt_message_cost rlt_endpoint_cost(const rlt_endpoint *e, uint64_t bytes, uint64_t bw_Bps);
/* Returns a kernel time under the endpoint's clock. */
RLT_API rlt_time rlt_endpoint_kernel(const rlt_endpoint *e, rlt_time at_1GHz_ps);

/* The choice made for one collective. */
typedef struct rlt_tuning {
    bool on;               /* false: every message chooses for itself */
    rlt_protocol protocol; /* the protocol, adapted to this collective */
    uint32_t index;        /* index of that protocol in the endpoint */
    uint32_t channels;     /* channels in use */
    uint32_t together;     /* messages that one sender has under way at once */
    rlt_time setup_ps;     /* time once per collective, in addition to the endpoint's launch */
    uint32_t ramp_ppm;     /* added to each message inside a node, relative to its time on the links */
    /* Over nodes a channel moves this much at once, of which a message may be a part: the least bytes that
     * its lines count, for each channel, and that the ramp counts. */
    uint64_t line_least, ramp_least;
    bool far; /* steps between nodes cost `step`; false: messages cost the same everywhere */
    rlt_internode_step step;
} rlt_tuning;
/* Returns the cost of a message under a tuning, inside a node. */
RLT_API rlt_message_cost rlt_tuning_cost(const rlt_endpoint *e, const rlt_tuning *t, uint64_t bytes,
                                         uint64_t bw_Bps);
/* Returns the cost of a message under a tuning whose `far` is set, between nodes. */
RLT_API rlt_message_cost rlt_tuning_far_cost(const rlt_endpoint *e, const rlt_tuning *t, uint64_t bytes,
                                             uint64_t bw_Bps);
/* Returns the time that `bytes` take in lines over `channels` channels. */
RLT_API rlt_time rlt_protocol_lines(const rlt_protocol *p, uint64_t bytes, uint32_t channels);

#ifdef __cplusplus
}
#endif
#endif
