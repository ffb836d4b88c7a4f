/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * DCQCN, the rate control of RoCE (Zhu et al.: "Congestion control for large-scale RDMA deployments",
 * SIGCOMM'15). The receiver of marked packets notifies the sender, at most once in 50 us.
 *
 * Symbols: current rate R, target rate T, congestion estimate a (`alpha`), gain g = 1/256.
 *
 *   notification      T = R;  R = R (1 - a/2);  a = (1 - g) a + g
 *   55 us without     a = (1 - g) a
 *   recovery step     R = (R + T) / 2, at most the line rate; one step every 55 us and one every 10 MB sent
 *
 * The first five steps of either kind leave T alone. Later steps first add 5 MB/s to T, and once both kinds
 * have made more than five, i * 50 MB/s with i = the lesser count - 5.
 *
 *   Example: R = 50 GB/s and a = 1. A notification sets R = 25 GB/s; the next two steps set 37.5 and 43.75.
 *
 * Timers are applied when the rate is next needed; the rates are the same as with events.
 */
#ifndef RLT_NET_PACKET_DCQCN_H
#define RLT_NET_PACKET_DCQCN_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/time.h"

typedef struct rlt_dcqcn {
    double line, rate, target, alpha; /* rates, bytes a second; alpha is a fraction */
    rlt_time alpha_at, timer_at;      /* next expiry of the alpha timer and of the increase timer */
    rlt_time told_at;                 /* receiver: time of its last notification, or -1 */
    uint64_t bytes;
    uint32_t timers, counters;
} rlt_dcqcn;

void rlt__dcqcn_init(rlt_dcqcn *d, uint64_t line_Bps);
/* Receiver: handles a marked packet. Returns true if the sender must be notified. */
bool rlt__dcqcn_tells(rlt_dcqcn *d, rlt_time now);
/* Sender: handles a notification. */
void rlt__dcqcn_cut(rlt_dcqcn *d, rlt_time now);
/* Sender: accounts for `bytes` sent. Returns the delay before the next packet; 0 at line rate. */
rlt_time rlt__dcqcn_sends(rlt_dcqcn *d, rlt_time now, uint32_t bytes);

#endif
