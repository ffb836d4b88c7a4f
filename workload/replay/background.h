/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Background traffic of a replay. A flow sends messages of one size from one placed rank to another at a
 * rate, either always or in turns of on and off. Flows begin at time 0. They occupy links and no rank's time.
 * At most two messages of a flow are leaving their source at once: if the network gives less than the rate,
 * the flow gets what the network gives. The run ends with the last operation of the program. Background
 * traffic stops if the program has not moved for one second and cannot move any more. A run that would stall
 * without background therefore also stalls with it.
 */
#ifndef RLT_WORKLOAD_REPLAY_BACKGROUND_H
#define RLT_WORKLOAD_REPLAY_BACKGROUND_H

#include <stdint.h>

#include "sim/base/time.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_background {
    uint32_t src, dst;      /* placed ranks, usually outside the program */
    uint64_t rate_Bps;      /* > 0; while the flow is on */
    uint64_t bytes;         /* per message, > 0 */
    rlt_time on_ps, off_ps; /* off_ps 0: always on */
} rlt_background;

typedef struct rlt_background_result {
    uint64_t messages, bytes; /* that have arrived */
} rlt_background_result;

#ifdef __cplusplus
}
#endif
#endif
