/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Endpoints: what a message costs at its two ends, and when its sender may go on. One table of settings,
 * filled from the topology file's "endpoint" object and overridden from the command line (--set name=value).
 * The output names the rule in force.
 *
 * A message of m bytes from a rank over a path costs: message_ps + m * byte_fs/1000 of delay before its last
 * byte is delivered (delays of different messages overlap), and m * wire_num / wire_den bytes on each link
 * (rounded up): LL carries 8 B of data in 16 B, LL128 120 in 128 (NCCL). With protocol "auto" each message
 * takes the protocol with the smallest message_ps + wire bytes / path bandwidth.
 */
#ifndef RLT_ENDPOINT_H
#define RLT_ENDPOINT_H

#include <stdint.h>

#include "sim/error.h"
#include "sim/time.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rlt_injection {
    RLT_INJECT_NIC,      /* the sender goes on when the message is serialised */
    RLT_INJECT_BLOCKING, /* the sender goes on when the message is delivered */
} rlt_injection;

typedef struct rlt_protocol {
    char name[16];
    rlt_time message_ps;
    uint32_t wire_num, wire_den; /* wire bytes = bytes * num / den; num >= den >= 1 */
} rlt_protocol;

enum { RLT_MAX_PROTOCOLS = 4, RLT_PROTOCOL_AUTO = -1 };

typedef struct rlt_endpoint {
    rlt_injection injection;
    rlt_time launch_ps;   /* once per rank and collective, before its first step */
    rlt_time message_ps;  /* per message */
    uint32_t byte_fs;     /* per byte, femtoseconds */
    int protocol;         /* index, or RLT_PROTOCOL_AUTO */
    uint32_t n_protocols; /* 0: plain messages, no protocol cost */
    rlt_protocol protocols[RLT_MAX_PROTOCOLS];
} rlt_endpoint;

/* nic, all costs zero, no protocols. */
RLT_API rlt_endpoint rlt_endpoint_default(void);
/* One setting by name ("injection", "launch", "message", "byte", "protocol") with its unit ("nic|blocking",
 * "6.6us", "1us", "0.5ps", protocol name or "auto"). RLT_EUSAGE for an unknown name, listing the known ones.
 */
RLT_API int rlt_endpoint_set(rlt_endpoint *e, const char *name, const char *value,
                             rlt_error *err) RLT_MUST_USE;

/* Delay and wire bytes of a message of `bytes` over a path of bandwidth bw_Bps. */
typedef struct rlt_message_cost {
    rlt_time delay_ps;
    uint64_t wire_bytes;
} rlt_message_cost;
RLT_API rlt_message_cost rlt_endpoint_cost(const rlt_endpoint *e, uint64_t bytes, uint64_t bw_Bps);

#ifdef __cplusplus
}
#endif
#endif
