/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What links did, into an outcome. Internal to tools/sweep/experiment_*.c. */
#ifndef RLT_TOOLS_SWEEP_EXPERIMENT_LINKS_H
#define RLT_TOOLS_SWEEP_EXPERIMENT_LINKS_H

#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "tools/sweep/experiment.h"
#include "tools/sweep/study/figures.h"

/* The busiest link, and those that the study asks for. */
int rlt__experiment_links(const rlt_experiment *e, const rlt_topology *t, const rlt_usage *u,
                          rlt_time time_ps, rlt_outcome *o, rlt_error *err) RLT_MUST_USE;

#endif
