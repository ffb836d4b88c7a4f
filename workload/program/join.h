/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Several programs as one, to be replayed at the same time on one network: the ranks, groups and
 * communications of each follow those of the one before; they share nothing but the network and the numbers
 * of their steps.
 */
#ifndef RLT_WORKLOAD_PROGRAM_JOIN_H
#define RLT_WORKLOAD_PROGRAM_JOIN_H

#include "workload/replay/replay.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Copies; first_rank[i] of n + 1 tells where part i begins.
 * RLT_ERANGE where limits of programs are passed. */
int rlt_program_join(const rlt_program *const *parts, uint32_t n, rlt_program **out, uint32_t *first_rank,
                     rlt_error *err) RLT_MUST_USE;

/* What became of the ranks [first, end) of a joined program. */
typedef struct rlt_part_result {
    rlt_time end_ps;    /* of their last operation */
    uint32_t last_rank; /* whose that is */
    uint32_t n_steps;
    rlt_time *step_ps; /* malloc'ed: of each step, from the end of the one before (0 for the first) */
} rlt_part_result;
int rlt_part_result_of(const rlt_program *p, const rlt_replay *r, uint32_t first, uint32_t end,
                       rlt_part_result *out, rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
