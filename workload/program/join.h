/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Several programs as one, to be replayed at the same time on one network: the ranks, groups and
 * communications of each follow those of the one before; they share nothing but the network and the numbers
 * of their steps.
 */
#ifndef RLT_WORKLOAD_PROGRAM_JOIN_H
#define RLT_WORKLOAD_PROGRAM_JOIN_H

#include "sim/base/error.h"
#include "workload/program/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Copies; first_rank[i] of n + 1 tells where part i begins.
 * RLT_ERANGE where limits of programs are passed. */
int rlt_program_join(const rlt_program *const *parts, uint32_t n, rlt_program **out, uint32_t *first_rank,
                     rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
