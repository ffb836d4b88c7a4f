/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The checker with somebody looking on. Internal to collectives/. */
#ifndef RLT_COLLECTIVES_CHECK_OBSERVE_H
#define RLT_COLLECTIVES_CHECK_OBSERVE_H

#include "collectives/algorithm.h"
#include "sim/base/error.h"

/* Told of each step that sends blocks which are not at their own places: which original blocks they are, in
 * the order of the span. A return other than 0 ends the check. */
typedef int rlt_send_observer(void *ctx, uint32_t member, uint32_t lane, uint32_t step, const uint32_t *tags,
                              uint32_t n, rlt_error *err);
int rlt_plan_check_observed(const rlt_plan *plan, rlt_send_observer *observer, void *ctx,
                            rlt_error *err) RLT_MUST_USE;

#endif
