/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `--strategy daso`: a whole training by DASO and by Horovod. Each distinct epoch is a run. */
#ifndef RLT_WORKLOAD_EXPERIMENT_RUN_DASO_H
#define RLT_WORKLOAD_EXPERIMENT_RUN_DASO_H

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/watch.h"
#include "workload/daso/daso.h"
#include "workload/experiment/run/run.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/setup/settings.h"

typedef struct rlt_daso_case {
    const rlt_parsed *args;
    const rlt_run_settings *settings;
    rlt_setup setup;
    rlt_model model;
    rlt_accelerator accelerator;
    rlt_daso daso;
    rlt_time batch_ps;                  /* measured compute time per batch; 0: from the accelerator */
    rlt_time *forward_ps, *backward_ps; /* by layer */
    rlt_daso_result *result;
} rlt_daso_case;

/* Returns the settings of `daso:` beside rlt_daso_parameters, of an rlt_daso_case. */
const rlt_param *rlt_daso_case_parameters(void);
bool rlt_run_is_daso(const rlt_run_settings *s);
/* Call them on a zeroed struct with args and settings; close frees in every case. */
int rlt_daso_case_load(rlt_daso_case *r, rlt_error *err) RLT_MUST_USE;
int rlt_daso_case_simulate(rlt_daso_case *r, rlt_error *err) RLT_MUST_USE;
void rlt_daso_case_close(rlt_daso_case *r);

#endif
