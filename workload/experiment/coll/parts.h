/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One simulation of collectives on several threads: the network in parts (net/packet/parts.h), each with an
 * executor for its own ranks. The results are those of one thread. */
#ifndef RLT_WORKLOAD_EXPERIMENT_COLL_PARTS_H
#define RLT_WORKLOAD_EXPERIMENT_COLL_PARTS_H

#include "sim/base/error.h"
#include "workload/experiment/coll/steps.h"

/* Simulates the plans of a run on how->threads threads, and fills its simulation, network and times as one
 * thread would. RLT_EUNSUPPORTED, with the reason, if its network cannot be in parts. After any error the run
 * is as before. Only after RLT_ECANCELLED need the error be that of one thread: which part fails first depends
 * on their number. */
int rlt_coll_simulate_parts(rlt_coll_run *run, const rlt_coll_how *how, rlt_error *err) RLT_MUST_USE;

#endif
