/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The workload of a run: a recording, or one that is generated. */
#ifndef RLT_WORKLOAD_EXPERIMENT_RUN_WORKLOAD_H
#define RLT_WORKLOAD_EXPERIMENT_RUN_WORKLOAD_H

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "workload/experiment/run/run.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

extern const rlt_option rlt_workload_options[]; /* offsets in rlt_run_settings */
/* What of the workload's settings does not go together. RLT_EUSAGE. */
int rlt_workload_check(const rlt_run_settings *s, const char *operand, rlt_error *err) RLT_MUST_USE;
/* The recording of --trace and operands. */
int rlt_workload_trace(const rlt_run_settings *s, char *const *operands, uint32_t n_operands,
                       const rlt_read_options *o, rlt_program **out, rlt_error *err) RLT_MUST_USE;

#endif
