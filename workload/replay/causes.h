/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Causes of the time of a rank. Every picosecond of a run has one cause on every rank, so that the causes of
 * a rank add up to the time of the run.
 *
 * Compute, host and idle are the rank's states (replay.h). Exposed communication is divided by what holds up
 * the rank. From the operation that ends a gap in compute, the causes of its start are followed back to the
 * beginning of the gap. Each communication on that chain is, until its last member arrives, a wait; then it
 * is a transfer for its purpose (rlt_purpose). A wait for another pipeline stage is the pipeline's bubble.
 * Any other is start skew as far as the rank from which the member's work came started later than the one
 * from which this rank's own work came; the rest is waiting for other ranks, which have more to do or are
 * slower. Start skew also counts before the rank's start, the bubble also after its end until the last stage
 * of its pipeline ends.
 *
 * The bubble has three parts. Warm-up ends when the rank first computes in an iteration. Drain begins after
 * its last compute operation there (an optimizer step is memory work, not counted), and lasts until the
 * last rank of its pipeline has ended its own. The bubble between two iterations is divided at that time.
 *
 * Example: two stages take 1 ms for each pass of 2 microbatches, and messages take no time. Stage 1 waits
 * 1 ms for its first message (warm-up) and 1 ms after its last pass for stage 0 to end (drain). Stage 0 waits
 * 2 ms for gradients, inside: bubble 2 ms of 6 ms on both.
 */
#ifndef RLT_WORKLOAD_REPLAY_CAUSES_H
#define RLT_WORKLOAD_REPLAY_CAUSES_H

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rlt_cause {
    RLT_CAUSE_COMPUTE,
    RLT_CAUSE_BUBBLE, /* waits for another pipeline stage */
    RLT_CAUSE_SKEW,   /* waits for a rank that started later, or starts late itself */
    RLT_CAUSE_WAIT,   /* waits for a rank that is late for any other reason */
    /* exposed communication, by purpose */
    RLT_CAUSE_TP,
    RLT_CAUSE_CP,
    RLT_CAUSE_EP,
    RLT_CAUSE_DP,
    RLT_CAUSE_PP,
    RLT_CAUSE_OFFLOAD,
    RLT_CAUSE_COMM, /* of unknown purpose, or under way beside host work that holds up the rank */
    RLT_CAUSE_HOST,
    RLT_CAUSE_IDLE,
    RLT_CAUSE_ENDED, /* after its end and that of its pipeline, until the run ends */
    RLT_CAUSES
} rlt_cause;

typedef enum rlt_bubble_part {
    RLT_BUBBLE_WARM_UP,
    RLT_BUBBLE_INSIDE,
    RLT_BUBBLE_DRAIN,
    RLT_BUBBLES
} rlt_bubble_part;

typedef struct rlt_rank_causes {
    rlt_time ps[RLT_CAUSES];
    rlt_time bubble_ps[RLT_BUBBLES]; /* parts of the bubble, which they add up to */
} rlt_rank_causes;

/* Returns the name for people, such as "pipeline bubble". */
const char *rlt_cause_name(rlt_cause c);
/* Returns its name in results, such as "bubble_ps"; NULL for compute, host and idle, which are states. */
const char *rlt_cause_key(rlt_cause c);
/* Return the same for a part of the bubble: "warm-up", "bubble_warm_up_ps". */
const char *rlt_bubble_name(rlt_bubble_part b);
const char *rlt_bubble_key(rlt_bubble_part b);
/* Finds the causes of all ranks of a replay that ran; `out` has room for them. */
int rlt_replay_causes(const rlt_replay *r, rlt_rank_causes *out, rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
