/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Symbolic check of a plan: a proof without time.
 *
 * A cell (member, lane, buffer, block) holds an original block and a set of contributors. Sending copies a
 * cell. Landing replaces a cell, or adds to it: the union of two sets, which must be disjoint. If the check
 * succeeds, then in every run, whatever the order of messages:
 *   - each block of the result that the kind requires is the right block, and contains every required
 *     contribution exactly once and no other;
 *   - every message is awaited by exactly one step, and every awaited message is sent;
 *   - no member waits for ever.
 *
 * Example: all-reduce of two members, one block. Cells start as {0} and {1}. Member 0 sends; member 1 adds:
 * {0, 1}. Member 1 sends it back as a copy: both hold {0, 1}. If member 0 added it instead, contribution 0
 * would come twice, and the check names that step.
 *
 * Memory n^2 * blocks * lanes / 8 bytes: meant for up to a few hundred members n; RLT_ERANGE above the limit.
 */
#ifndef RLT_COLLECTIVES_CHECK_CHECKER_H
#define RLT_COLLECTIVES_CHECK_CHECKER_H

#include "collectives/algorithm.h"
#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns 0 if the plan is correct, or RLT_ECHECK naming member, lane and step of the first defect. */
RLT_API int rlt_plan_check(const rlt_plan *plan, rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
