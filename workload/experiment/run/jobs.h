/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Several jobs on one network, and background traffic: from options to programs and flows. */
#ifndef RLT_WORKLOAD_EXPERIMENT_RUN_JOBS_H
#define RLT_WORKLOAD_EXPERIMENT_RUN_JOBS_H

#include <stdio.h>

#include "net/topology/placement.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "workload/experiment/run/run.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/replay/background.h"
#include "workload/replay/replay.h"

extern const rlt_option rlt_job_options[]; /* offsets are in rlt_job_settings */

/* Returns the settings after the colon of --background, of an rlt_background. */
const rlt_param *rlt_background_parameters(void);

/* Reads the other jobs and joins all into one program, which replaces the run's own. Finds the ranks of
 * background traffic. */
int rlt_jobs_open(rlt_run *r, const rlt_read_options *o, rlt_error *err) RLT_MUST_USE;
/* Fills the options of a replay, which borrow. */
void rlt_jobs_options(const rlt_jobs *j, rlt_replay_options *o);
void rlt_jobs_free(rlt_jobs *j);
/* Returns when the last rank of a job ended. */
rlt_time rlt_jobs_time(const rlt_run *r, uint32_t job);
/* With --alone: replays each job without the others and without background traffic. */
int rlt_jobs_alone(rlt_run *r, rlt_error *err) RLT_MUST_USE;

#endif
