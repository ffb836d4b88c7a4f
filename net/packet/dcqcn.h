/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * DCQCN, the rate control of RoCE (Zhu et al.: "Congestion control for large-scale RDMA deployments",
 * SIGCOMM'15). The receiver of a marked packet tells the sender at most every 50 us; the sender then cuts its
 * rate by alpha / 2, and recovers by a timer and by bytes sent: five times half-way back to where it was,
 * then additively, then faster. Timers are applied when the rate is next needed, which gives the same rates.
 */
#ifndef RLT_NET_PACKET_DCQCN_H
#define RLT_NET_PACKET_DCQCN_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/time.h"

typedef struct rlt_dcqcn {
    double line, rate, target, alpha; /* bytes a second */
    rlt_time alpha_at, timer_at;      /* when they are next due */
    rlt_time told_at;                 /* receiver: when it last told the sender, or -1 */
    uint64_t bytes;
    uint32_t timers, counters;
} rlt_dcqcn;

void rlt__dcqcn_init(rlt_dcqcn *d, uint64_t line_Bps);
/* Receiver: a marked packet came; whether to tell the sender. */
bool rlt__dcqcn_tells(rlt_dcqcn *d, rlt_time now);
/* Sender: was told. */
void rlt__dcqcn_cut(rlt_dcqcn *d, rlt_time now);
/* Sender: sends so many bytes; how long until the next may follow, 0: at line rate. */
rlt_time rlt__dcqcn_sends(rlt_dcqcn *d, rlt_time now, uint32_t bytes);

#endif
