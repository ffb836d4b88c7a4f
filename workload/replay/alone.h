/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A timing of collectives that simulates each of them alone. */
#ifndef RLT_WORKLOAD_REPLAY_ALONE_H
#define RLT_WORKLOAD_REPLAY_ALONE_H

#include "sim/base/error.h"
#include "sim/sim.h"
#include "workload/replay/replay.h"
#include "workload/timing/timing.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Simulates each collective once, alone on the network, and remembers its duration by kind, bytes, root and
 * members. Groups of members that an exchange of nodes, leaves or pods takes to each other are one, and
 * members that such an exchange makes alike are simulated once (collectives/fold.h), which changes no time.
 * Nor does it to compute the time of a ring whose members share no link (collectives/relay.h).
 * The result is exact if collectives that overlap share no link, and too short if they do. Meant for
 * programs in which a few distinct collectives occur thousands of times. `how` gives topology, placement,
 * routing, model, endpoint, scale and algorithms by kind, and is borrowed. RLT_EUNSUPPORTED if it has rules
 * or reactive protocols.
 */
int rlt_timing_alone(const rlt_replay_options *how, rlt_timing **out, rlt_error *err) RLT_MUST_USE;
/* Returns the simulation that it runs, so that it can be stopped (rlt_sim_stop): `duration` then fails with
 * RLT_ECANCELLED, and the timing can only be freed. */
rlt_sim *rlt_timing_alone_sim(rlt_timing *t);

#ifdef __cplusplus
}
#endif
#endif
