/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A timing of collectives that simulates them. */
#ifndef RLT_WORKLOAD_REPLAY_ALONE_H
#define RLT_WORKLOAD_REPLAY_ALONE_H

#include "sim/base/error.h"
#include "workload/replay/replay.h"
#include "workload/timing/timing.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Each collective simulated once, alone on the network, and remembered by kind, bytes, root and members:
 * exact where collectives that overlap share no link, too short where they do. For programs in which few
 * distinct ones come thousands of times. `how`: topology, placement, routing, model, endpoint, scale and
 * algorithms by kind, borrowed; RLT_EUNSUPPORTED where it has rules or protocols that react.
 */
int rlt_timing_alone(const rlt_replay_options *how, rlt_timing **out, rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
