/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Custom collectives as Chakra traces, one file per rank, as ASTRA-sim takes them: COMM_SEND and COMM_RECV
 * nodes (comm_dst, comm_src, comm_size, comm_tag) and COMP nodes for reductions, with dependencies.
 *
 * Nodes do not tell the content of messages. If the metadata keep the MSCCL XML that the trace was made from
 * (attribute "input_file"), the plan is read from it, and the nodes must agree: the same sends and receives
 * in the same order, with sizes in proportion. Otherwise the plan is untracked. The attribute "collective" or
 * the caller gives the kind of collective. Durations of reductions are not used: in a plan they take no time.
 */
#ifndef RLT_WORKLOAD_READERS_CHAKRA_CUSTOM_H
#define RLT_WORKLOAD_READERS_CHAKRA_CUSTOM_H

#include "collectives/formats/plan_file.h"
#include "collectives/listed.h"
#include "sim/base/error.h"

/* Loads a plan. specs as for rlt_trace_files: a directory, a PREFIX, or the files. rlt_listed_check proves
 * the plan. */
int rlt_chakra_custom_load(const char *const *specs, uint32_t n_specs, const rlt_goal_hint *hint,
                           rlt_listed *out, rlt_error *err) RLT_MUST_USE;

#endif
