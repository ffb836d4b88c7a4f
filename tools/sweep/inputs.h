/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inputs that points of a sweep share: those of experiments (workload/experiment/shared.h), and what
 * collectives read from files. */
#ifndef RLT_TOOLS_SWEEP_INPUTS_H
#define RLT_TOOLS_SWEEP_INPUTS_H

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/text/tree.h"
#include "tools/coll/single.h"
#include "tools/sweep/study/study.h"
#include "workload/experiment/kept.h"
#include "workload/experiment/shared.h"

typedef struct rlt_shared_files {
    rlt_kept kept;
    rlt_coll_files files;
} rlt_shared_files;

typedef struct rlt_sweep_inputs {
    rlt_shared shared;
    rlt_kept_all files;
} rlt_sweep_inputs;

/* Those of a point of `coll`, entered in its settings. *out NULL: it reads none. */
int rlt_shared_files_of(rlt_sweep_inputs *s, const rlt_option_texts *texts, const rlt_parsed *parsed,
                        void *settings, const rlt_shared_net *net, rlt_shared_files **out,
                        rlt_error *err) RLT_MUST_USE;
void rlt_sweep_inputs_free(rlt_sweep_inputs *s);

/* Whether points of the study differ in what a kind of input is made from. */
bool rlt_shared_net_varies(const rlt_sweep_study *s);
bool rlt_shared_work_varies(const rlt_sweep_study *s);
bool rlt_shared_files_vary(const rlt_sweep_study *s);

#endif
