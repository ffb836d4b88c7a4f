/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of the check that needs no run: every step waits for exactly the messages that are addressed to
 * it. Internal to collectives/. */
#ifndef RLT_COLLECTIVES_CHECK_MATCHING_H
#define RLT_COLLECTIVES_CHECK_MATCHING_H

#include <stdint.h>

#include "collectives/algorithm.h"
#include "sim/base/error.h"

/* Returns 0, or RLT_ECHECK naming a step that waits for too few or too many messages, or that sends to a step
 * that does not exist. RLT_ERANGE, RLT_ENOMEM. */
int rlt_plan_match(const rlt_plan *plan, rlt_error *err) RLT_MUST_USE;

/* Reports a defect in a step of place p (member * lanes + lane). Returns RLT_ECHECK. */
int rlt__place_refuse(const rlt_plan *plan, rlt_error *err, uint32_t p, uint32_t step, const char *fmt, ...)
    RLT_PRINTF(5);

#endif
