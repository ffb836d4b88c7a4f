/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Background traffic of a replay: messages of one size from one placed rank to another at a rate, all the
 * time or by turns on and off, from time 0 on. They use links and no rank's time. At most two of a flow are
 * leaving their source: where the network gives less than the rate, the flow gets what it gives. The run ends
 * with the last operation of the program; when nothing of that has moved for a second, and nothing is under
 * way that could, background traffic ceases, so that the run stalls as it would have without.
 */
#ifndef RLT_WORKLOAD_REPLAY_BACKGROUND_H
#define RLT_WORKLOAD_REPLAY_BACKGROUND_H

#include <stdint.h>

#include "sim/base/time.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_background {
    uint32_t src, dst;      /* placed ranks; mostly, not the program's */
    uint64_t rate_Bps;      /* > 0, while it is on */
    uint64_t bytes;         /* of a message, > 0 */
    rlt_time on_ps, off_ps; /* off_ps 0: always on */
} rlt_background;

typedef struct rlt_background_result {
    uint64_t messages, bytes; /* that arrived */
} rlt_background_result;

#ifdef __cplusplus
}
#endif
#endif
