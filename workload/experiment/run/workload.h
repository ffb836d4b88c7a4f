/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The workload of a run: recorded or generated. */
#ifndef RLT_WORKLOAD_EXPERIMENT_RUN_WORKLOAD_H
#define RLT_WORKLOAD_EXPERIMENT_RUN_WORKLOAD_H

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "workload/experiment/run/run.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

extern const rlt_option rlt_workload_options[]; /* offsets are in rlt_run_settings */
/* Refuses settings of the workload that do not go together. RLT_EUSAGE. */
int rlt_workload_check(const rlt_run_settings *s, const char *operand, rlt_error *err) RLT_MUST_USE;
/* Reads the trace of --trace and of operands. */
int rlt_workload_trace(const rlt_run_settings *s, char *const *operands, uint32_t n_operands,
                       const rlt_read_options *o, rlt_program **out, rlt_error *err) RLT_MUST_USE;

#endif
