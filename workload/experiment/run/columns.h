/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a run tells of each rank and of each communication, as columns: tables, CSV and JSON are written from
 * these lists. A column without a title is left out of tables, one without a name stands in tables only.
 */
#ifndef RLT_WORKLOAD_EXPERIMENT_RUN_COLUMNS_H
#define RLT_WORKLOAD_EXPERIMENT_RUN_COLUMNS_H

#include <stdint.h>

#include "sim/base/column.h"
#include "workload/experiment/run/run.h"

typedef struct rlt_run_column {
    rlt_column shape;
    const char *meaning;
    /* The value of rank or communication i; absent where there is none. NULL: a list, see exposed.h. */
    rlt_value (*value)(const rlt_run *r, uint32_t i);
} rlt_run_column;

/* These end with a row without a meaning. */
extern const rlt_run_column rlt_rank_columns[], rlt_comm_columns[];

#endif
