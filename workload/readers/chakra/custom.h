/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Custom collectives as Chakra traces, one file a rank, as ASTRA-sim takes them: COMM_SEND and COMM_RECV
 * nodes (comm_dst, comm_src, comm_size, comm_tag) and COMP nodes for reductions, with dependencies.
 *
 * The nodes say nothing of what is in the messages. Where the metadata keep the MSCCL XML that the trace was
 * made of (attribute "input_file"), the plan is read from there, and the nodes must agree with it: the same
 * sends and receives in the same order, with sizes in proportion. Else the plan is untracked. What the
 * collective is stands in the attribute "collective", or is given. Durations of reductions are not used: in a
 * plan they take no time.
 */
#ifndef RLT_WORKLOAD_READERS_CHAKRA_CUSTOM_H
#define RLT_WORKLOAD_READERS_CHAKRA_CUSTOM_H

#include "collectives/formats/plan_file.h"
#include "collectives/listed.h"
#include "sim/base/error.h"

/* specs as rlt_trace_files takes them: a directory, a PREFIX, or the files. Proven by rlt_listed_check. */
int rlt_chakra_custom_load(const char *const *specs, uint32_t n_specs, const rlt_goal_hint *hint,
                           rlt_listed *out, rlt_error *err) RLT_MUST_USE;

#endif
