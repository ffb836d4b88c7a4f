/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Symbolic check of a plan: runs it without time, tracking for every (member, lane, buffer, block) which
 * contributions it holds, as a set of members in which none may appear twice. Refuses a lost, doubled or
 * misplaced contribution, a message that no step waits for, a step that waits for a message nobody sends, and
 * a deadlock, naming member, lane and step. Memory n^2 * blocks * lanes / 8 bytes: meant for n up to a few
 * hundred (RLT_ERANGE above its limit).
 */
#ifndef RLT_COLLECTIVES_CHECK_CHECKER_H
#define RLT_COLLECTIVES_CHECK_CHECKER_H

#include "collectives/algorithm.h"
#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* 0, or RLT_ECHECK with the step that is wrong. */
RLT_API int rlt_plan_check(const rlt_plan *plan, rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
