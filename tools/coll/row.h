/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of the table of `ringlet coll`: their columns, and their values from a simulation. */
#ifndef RLT_TOOLS_COLL_ROW_H
#define RLT_TOOLS_COLL_ROW_H

#include "net/links.h"
#include "sim/base/column.h"
#include "sim/base/time.h"
#include "workload/experiment/coll/one.h"
#include "workload/experiment/coll/tenants.h"

/* Numbers of columns: of plain rows, with reactive protocols, and with tenants as well. */
enum { RLT_ROW_OF_STEPS = 17, RLT_ROW_OF_PROTOCOLS = 21, RLT_ROW_COLUMNS = 24 };
enum {
    RLT_ROW_COLLECTIVE = 0,
    RLT_ROW_BYTES = 1,
    RLT_ROW_ALGORITHM = 2,
    RLT_ROW_MARK = 5,
    RLT_ROW_BOUND = 8,
    RLT_ROW_BOTTLENECK = 11,
    RLT_ROW_FACTOR = 12,
};
extern const rlt_column rlt_row_columns[RLT_ROW_COLUMNS];

typedef struct rlt_coll_row {
    rlt_value values[RLT_ROW_COLUMNS]; /* the caller sets BOTTLENECK to `bottleneck`, at the final place */
    char bottleneck[sizeof((rlt_busiest *)0)->name];
    rlt_time time_ps;
} rlt_coll_row;

/* Fills the row of a run that has ended. `tenants` has an empty list if there are none. */
void rlt_row_of(rlt_coll_row *row, const rlt_coll_result *r, const rlt_tenants *tenants);

#endif
