/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Results per rank and per communication as columns. Tables, CSV and JSON are written from these lists. A
 * column without a title is left out of tables; a column without a name is in tables only.
 */
#ifndef RLT_WORKLOAD_EXPERIMENT_RUN_COLUMNS_H
#define RLT_WORKLOAD_EXPERIMENT_RUN_COLUMNS_H

#include <stdint.h>

#include "sim/base/column.h"
#include "workload/experiment/run/run.h"

typedef struct rlt_run_column {
    rlt_column shape;
    /* Value of rank or communication i; absent if it has none. NULL: a list, see exposed.h. */
    rlt_value (*value)(const rlt_run *r, uint32_t i);
} rlt_run_column;

/* Each list ends with an empty row, which has no meaning. */
extern const rlt_run_column rlt_rank_columns[], rlt_comm_columns[];

#endif
