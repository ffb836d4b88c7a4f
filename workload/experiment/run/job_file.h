/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A workload from a file: the JSON that --config takes, of options that say what runs (trace, model,
 * accelerator, layout, train, strategy, any-memory and how a trace is read) and none that say where.
 */
#ifndef RLT_WORKLOAD_EXPERIMENT_RUN_JOB_FILE_H
#define RLT_WORKLOAD_EXPERIMENT_RUN_JOB_FILE_H

#include <stdbool.h>

#include "net/topology/placement.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "workload/experiment/run/run.h"
#include "workload/program/program.h"

/* Whether a name is that of a JSON file which no reader of traces takes for its own. */
bool rlt_is_job_file(const char *path);
/* The program for the ranks that are placed there, and how much slower its work is beside communication.
 * order=auto is chosen by the run's network alone (run->options are overwritten). Errors name the file, line
 * and column; what would be wrong use on a command line is RLT_ESCHEMA. */
int rlt_job_file_open(const char *path, rlt_run *run, const rlt_placement *on, rlt_program **out,
                      double *overlap_slowdown, rlt_error *err) RLT_MUST_USE;
/* The same of settings that name a model. */
int rlt_job_train(const rlt_run_settings *s, rlt_run *run, const rlt_placement *on, rlt_program **out,
                  double *overlap_slowdown, rlt_error *err) RLT_MUST_USE;
/* Whether such a file can be used, as far as that shows without ranks; `whole`: one of these options, with a
 * topology among them, whose settings have `size` bytes and begin as rlt_run_settings. NULL: of a job. */
int rlt_job_file_check(const char *path, const rlt_option_group *whole, size_t size,
                       rlt_error *err) RLT_MUST_USE;

#endif
