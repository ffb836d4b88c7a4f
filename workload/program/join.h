/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Joins several programs into one, so that they are replayed at the same time on one network. Ranks, groups
 * and communications of a part follow those of the part before. The parts share only the network and the step
 * numbers.
 */
#ifndef RLT_WORKLOAD_PROGRAM_JOIN_H
#define RLT_WORKLOAD_PROGRAM_JOIN_H

#include "sim/base/error.h"
#include "workload/program/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Copies the parts. Part i gets the ranks first_rank[i] up to first_rank[i + 1]; first_rank has n + 1
 * entries. RLT_ERANGE if the result exceeds the limits of a program. */
int rlt_program_join(const rlt_program *const *parts, uint32_t n, rlt_program **out, uint32_t *first_rank,
                     rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
