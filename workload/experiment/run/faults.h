/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What disturbs a run: links that change, noise. What is asked for, and what is made of it. */
#ifndef RLT_WORKLOAD_EXPERIMENT_RUN_FAULTS_H
#define RLT_WORKLOAD_EXPERIMENT_RUN_FAULTS_H

#include <stdio.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/text/json.h"
#include "workload/replay/failures.h"
#include "workload/replay/noise.h"
#include "workload/replay/replay.h"

typedef struct rlt_fault_settings {
    rlt_texts link_event, noise;
    const char *failures;
    uint64_t seed, iterations;
} rlt_fault_settings;
extern const rlt_option rlt_fault_options[]; /* offsets in rlt_fault_settings */

/* The settings resolved. */
typedef struct rlt_faults {
    rlt_link_event *link_events;
    rlt_noise *noise;
    uint32_t n_link_events, n_noise;
    rlt_failures failures;
    bool fails; /* they were asked for */
} rlt_faults;

/* Into options of a replay, which borrow from *out. RLT_EUSAGE. */
int rlt_faults_open(const rlt_fault_settings *s, rlt_replay_options *o, rlt_faults *out,
                    rlt_error *err) RLT_MUST_USE;
void rlt_faults_free(rlt_faults *f);

#endif
