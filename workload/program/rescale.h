/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program at another scale: one of its parallel groups gets more or fewer members, so
 * that a trace of N ranks tells about M.
 *
 * The groups of that kind divide the ranks. Member j of the new group does what member j mod N of the old one
 * did, in the same time (the work of a rank stays: weak scaling). Everything among ranks of one place in
 * their groups (a tensor-parallel group, a pipeline's messages) is there once for every new place. A group
 * that holds all members of the groups it touches (the world) grows with them.
 *
 * Bytes of collectives stay as collectives/collective.h counts them: for an all-reduce or all-to-all the
 * buffer of a rank, for an all-gather or reduce-scatter the whole that is sharded, so that a share shrinks.
 * Counts of a v-collective are divided among the members that take a member's place, and gone with one that
 * goes. Communication of recorded time keeps it.
 *
 * Ranks a constant distance apart in their groups keep that distance (rank = (outer * M + j) * distance +
 * inner); others are numbered copy after copy.
 */
#ifndef RLT_WORKLOAD_PROGRAM_RESCALE_H
#define RLT_WORKLOAD_PROGRAM_RESCALE_H

#include "sim/base/error.h"
#include "workload/program/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * `group`: what the groups are called ("dp" takes "dp", "dp 0", "dp_group 3", Kineto's "group dp"), or "@8":
 * those of 8 ranks. They must have equally many members, two or more, and hold every rank once. RLT_EUSAGE
 * where they do not, or there are none; RLT_EUNSUPPORTED for a group that holds some of their members and
 * lacks others, and for messages between members. Time and memory grow with the new program.
 */
RLT_API int rlt_program_rescale(const rlt_program *p, const char *group, uint32_t members, rlt_program **out,
                                rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
