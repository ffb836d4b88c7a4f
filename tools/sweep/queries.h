/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queries of a sweep's database: verbs of `ringlet sweep`. */
#ifndef RLT_TOOLS_SWEEP_QUERIES_H
#define RLT_TOOLS_SWEEP_QUERIES_H

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "tools/base/command.h"
#include "tools/output/output.h"
#include "tools/sweep/store/store.h"
#include "tools/sweep/study/study.h"

extern const rlt_command rlt_sweep_query, rlt_sweep_top, rlt_sweep_pareto, rlt_sweep_sensitivity,
    rlt_sweep_compare, rlt_sweep_merge, rlt_sweep_wins;

/* Prints one line on standard output. */
int rlt_sweep_status(const char *db, rlt_error *err) RLT_MUST_USE;

#endif
