/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rescales a program: one kind of parallel group gets more or fewer members, so that a trace of N ranks tells
 * about M.
 *
 * The groups of that kind divide the ranks: each rank is member j of exactly one of them, its place. Let N be
 * the members of an old group and M those of a new one. New member j does what old member j mod N did, in the
 * same time: the work of a rank stays (weak scaling). Communication among ranks of one place, such as a
 * tensor-parallel group or the messages of a pipeline, is copied for every new place. A group that holds all
 * members of the groups it touches (the world) grows with them.
 *
 * Example: 8 ranks, dp groups {0, 2, 4, 6} and {1, 3, 5, 7}, tp groups {0, 1}, {2, 3}, {4, 5}, {6, 7}.
 * Rescaling dp from N = 4 to M = 8 gives 16 ranks, dp groups of 8, and 8 tp groups of 2. The new ranks 8 and
 * 9 (place 4) do what ranks 0 and 1 (place 0) did. The world has 16 members.
 *
 * The bytes of a collective stay, counted as in collectives/collective.h. For an all-reduce or all-to-all
 * that is the buffer of a rank. For an all-gather or reduce-scatter it is the whole buffer, so that a shard
 * shrinks. A count of a v-collective is divided among the copies of its member; a member that is removed
 * takes its counts with it. Communication with a recorded time keeps that time.
 *
 * If members stand a constant distance d apart in all groups, they keep it: rank = (outer * M + j) * d +
 * inner. Otherwise ranks are numbered copy after copy.
 */
#ifndef RLT_WORKLOAD_PROGRAM_RESCALE_H
#define RLT_WORKLOAD_PROGRAM_RESCALE_H

#include "sim/base/error.h"
#include "workload/program/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Rescales the groups `group` to `members` members. `group` is a name ("dp" matches "dp", "dp 0", "dp_group
 * 3", and Kineto's "group dp") or a size ("@8" matches groups of 8 ranks). The groups must have equal sizes
 * of two or more and hold every rank exactly once; RLT_EUSAGE if they do not, or if no group matches.
 * RLT_EUNSUPPORTED if another group holds only some of their members, or if a message connects two members.
 * Time and memory grow with the new program.
 */
RLT_API int rlt_program_rescale(const rlt_program *p, const char *group, uint32_t members, rlt_program **out,
                                rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
