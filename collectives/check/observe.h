/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The check with an observer. Internal to collectives/. */
#ifndef RLT_COLLECTIVES_CHECK_OBSERVE_H
#define RLT_COLLECTIVES_CHECK_OBSERVE_H

#include "collectives/algorithm.h"
#include "sim/base/error.h"

/* Called for each step that sends blocks from positions other than their own. `tags` lists the original
 * blocks in the order of the span. A return value other than 0 ends the check. */
typedef int rlt_send_observer(void *ctx, uint32_t member, uint32_t lane, uint32_t step, const uint32_t *tags,
                              uint32_t n, rlt_error *err);
int rlt_plan_check_observed(const rlt_plan *plan, rlt_send_observer *observer, void *ctx,
                            rlt_error *err) RLT_MUST_USE;

#endif
