/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Disturbances of a run, from options to settings of a replay: changing links, noise, failures. */
#ifndef RLT_WORKLOAD_EXPERIMENT_RUN_FAULTS_H
#define RLT_WORKLOAD_EXPERIMENT_RUN_FAULTS_H

#include <stdio.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/text/json.h"
#include "workload/experiment/run/run.h"
#include "workload/replay/replay.h"

extern const rlt_option rlt_fault_options[]; /* offsets are in rlt_fault_settings */

/* Fills the options of a replay, which borrow from *out. RLT_EUSAGE. */
int rlt_faults_open(const rlt_fault_settings *s, rlt_replay_options *o, rlt_faults *out,
                    rlt_error *err) RLT_MUST_USE;
void rlt_faults_free(rlt_faults *f);

#endif
