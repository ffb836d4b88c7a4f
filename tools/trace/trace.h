/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of `ringlet trace` that its files share with `ringlet check`. */
#ifndef RLT_TOOLS_TRACE_TRACE_H
#define RLT_TOOLS_TRACE_TRACE_H

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "tools/base/command.h"
#include "tools/output/report_options.h"
#include "workload/program/program.h"
#include "workload/setup/trace_options.h"

/* Settings of a trace that is not run. The network is needed only for the sizes of its dimensions. */
typedef struct rlt_trace_source {
    rlt_trace_settings reading;
    const char *topology;
} rlt_trace_source;
extern const rlt_option rlt_trace_network_options[]; /* offsets in rlt_trace_source */

/* Reads the trace that the operands name. */
int rlt_trace_open(const rlt_parsed *args, const rlt_trace_source *s, rlt_program **out,
                   rlt_error *err) RLT_MUST_USE;
/* Prints what a trace contains and lacks. RLT_ECHECK if it lacks something. */
int rlt_trace_check(const char *const *specs, uint32_t n, const rlt_trace_settings *s,
                    rlt_error *err) RLT_MUST_USE;

typedef struct rlt_trace_write_settings {
    const char *output, *prefix;
} rlt_trace_write_settings;
extern const rlt_option rlt_trace_write_options[]; /* offsets in rlt_trace_write_settings */
/* Writes Chakra execution traces, and prints a line about them. */
int rlt_trace_write(const rlt_program *p, const rlt_trace_write_settings *w, rlt_error *err) RLT_MUST_USE;

extern const rlt_command rlt_trace_info, rlt_trace_generate, rlt_trace_diff;

#endif
