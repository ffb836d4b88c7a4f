/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of the check that needs no run: every step waits for exactly the messages that are addressed to
 * it. Internal to collectives/. */
#ifndef RLT_COLLECTIVES_CHECK_MATCHING_H
#define RLT_COLLECTIVES_CHECK_MATCHING_H

#include "collectives/algorithm.h"
#include "sim/base/error.h"

/* Returns 0, or RLT_ECHECK naming a step that waits for too few or too many messages, or that sends to a step
 * that does not exist. RLT_ERANGE, RLT_ENOMEM. */
int rlt_plan_match(const rlt_plan *plan, rlt_error *err) RLT_MUST_USE;

#endif
