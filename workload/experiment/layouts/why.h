/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Why no layout can run: settings that cannot go together, and those whose release helps. Settings are the
 * axes that --layout, --train and the strategy fix or limit. Times play no part.
 */
#ifndef RLT_WORKLOAD_EXPERIMENT_LAYOUTS_WHY_H
#define RLT_WORKLOAD_EXPERIMENT_LAYOUTS_WHY_H

#include "sim/base/error.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/experiment/run/run.h"
#include "workload/plan/plan.h"

/* Fails with the reason for which no point of an open search can run; `how` has headroom and watch. Returns 0
 * if one can, or the error:
 *
 *   RLT_ESCHEMA     a least set of settings that cannot go together: if any of them were open, a point would
 *                   be against no rule. It names them and the rule.
 *   RLT_ERANGE      possible layouts need more memory. It says by how much, and the fewest settings whose
 *                   release makes a layout fit: one, or two.
 *   RLT_ECANCELLED  stopped
 *
 * O(settings^2) walks over rules and memory (workload/plan/fits.h). */
int rlt_layouts_why(const rlt_layouts *l, const rlt_layout_search *how, rlt_error *err);

/* Refuses settings that are each possible, but say two things: an axis with two values in --layout, --train
 * and the settings behind a strategy's name (RLT_EUSAGE), or chunks without a pipeline
 * (RLT_ESCHEMA). `s` are the settings with which the search was opened. */
int rlt_layouts_check(const rlt_layouts *l, const rlt_run_settings *s, rlt_error *err) RLT_MUST_USE;

#endif
