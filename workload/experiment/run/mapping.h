/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Maps the axes of a layout to the dimensions of a topology: pinned, or chosen by simulation. */
#ifndef RLT_WORKLOAD_EXPERIMENT_RUN_MAPPING_H
#define RLT_WORKLOAD_EXPERIMENT_RUN_MAPPING_H

#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/watch.h"
#include "workload/experiment/run/run.h"
#include "workload/models/accelerator.h"
#include "workload/replay/replay.h"
#include "workload/training/training.h"

/* Returns the settings of --map. */
const rlt_param *rlt_mapping_parameters(void);
/* Applies "tp=0,pp=1,dp=2": sets the order of the axes, dp if it is open, and the placement of the ranks.
 * RLT_EUSAGE names what does not fit. */
int rlt_mapping_pin(const char *map, const rlt_topology *t, rlt_training *tr, rlt_placement *where,
                    rlt_error *err) RLT_MUST_USE;
/* Simulates every distinct order on the given placement and takes the fastest. `folded`: simulates one rank
 * per stage, which large trainings always do. */
int rlt_mapping_choose(rlt_training *t, const rlt_replay_options *how, bool folded, const rlt_watch *watch,
                       rlt_mapping *m, rlt_error *err) RLT_MUST_USE;
/* Fills r->options as far as orders depend on them. */
int rlt_mapping_options(rlt_run *r, const rlt_accelerator *a, rlt_error *err) RLT_MUST_USE;

#endif
