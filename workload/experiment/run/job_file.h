/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A workload from a file: JSON as for --config. Its options say what runs (trace, model, accelerator, layout,
 * train, strategy, any-memory and the reading of traces), not where it runs.
 */
#ifndef RLT_WORKLOAD_EXPERIMENT_RUN_JOB_FILE_H
#define RLT_WORKLOAD_EXPERIMENT_RUN_JOB_FILE_H

#include <stdbool.h>

#include "net/topology/placement.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "workload/experiment/run/run.h"
#include "workload/program/program.h"

/* Returns true if the name is that of a JSON file which no trace reader recognises. */
bool rlt_is_job_file(const char *path);
/* Builds the program for the ranks placed by `on`, and the slowdown of its work beside communication.
 * order=auto is chosen on the run's network without other jobs (overwrites run->options). Errors name file,
 * line and column. Wrong usage in the file is RLT_ESCHEMA. */
int rlt_job_file_open(const char *path, rlt_run *run, const rlt_placement *on, rlt_program **out,
                      double *overlap_slowdown, rlt_error *err) RLT_MUST_USE;
/* Builds it from settings that name a model. */
int rlt_job_train(const rlt_run_settings *s, rlt_run *run, const rlt_placement *on, rlt_program **out,
                  double *overlap_slowdown, rlt_error *err) RLT_MUST_USE;
/* Checks a file as far as possible without ranks. `whole`: option groups of a run, including a topology;
 * their settings have `size` bytes and begin with rlt_run_settings. NULL: those of a job. */
int rlt_job_file_check(const char *path, const rlt_option_group *whole, size_t size,
                       rlt_error *err) RLT_MUST_USE;

#endif
