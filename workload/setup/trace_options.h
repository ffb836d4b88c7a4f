/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading of traces: one option group for every command that reads them. */
#ifndef RLT_WORKLOAD_SETUP_TRACE_OPTIONS_H
#define RLT_WORKLOAD_SETUP_TRACE_OPTIONS_H

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

typedef struct rlt_trace_settings {
    const char *host_trace, *steps, *step_mark;
    rlt_texts replicate, rescale;
    uint64_t trace_ranks;
    bool ideal;
} rlt_trace_settings;
extern const rlt_option rlt_trace_option_table[]; /* offsets are in rlt_trace_settings */

/* Fills the options of readers; *replicate is malloc'ed and must outlive the reading. RLT_EUSAGE. */
int rlt_trace_read_options(const rlt_trace_settings *s, rlt_read_options *out, rlt_replicate **replicate,
                           rlt_error *err) RLT_MUST_USE;
/* Sets the dimensions of a network, for traces that name dimensions. */
void rlt_trace_dimensions(const rlt_topology *t, rlt_read_options *out);
/* Rescales the program as the settings say and replaces *program. RLT_EUSAGE, RLT_EUNSUPPORTED. */
int rlt_trace_rescale(const rlt_trace_settings *s, rlt_program **program, rlt_error *err) RLT_MUST_USE;

#endif
