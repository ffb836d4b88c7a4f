/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A result of rows under columns, written where --output says, in the format of --format: open it, add rows,
 * close it. JSON is a document with a manifest; the rows are its array "results".
 */
#ifndef RLT_TOOLS_OUTPUT_SHEET_H
#define RLT_TOOLS_OUTPUT_SHEET_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/text/json.h"
#include "tools/base/file.h"
#include "tools/output/output.h"
#include "tools/output/report_options.h"
#include "workload/setup/inputs.h"

typedef struct rlt_sheet {
    rlt_format format;
    const char *path;
    rlt_file file; /* for table and CSV; lines above the heading may be written to it */
    rlt_jw json;   /* for JSON; members beside "results" may be added to it */
    rlt_table table;
} rlt_sheet;

int rlt_sheet_open(rlt_sheet *s, const rlt_report_settings *how, const char *command, const rlt_parsed *args,
                   const rlt_inputs *in, rlt_error *err) RLT_MUST_USE;
void rlt_sheet_heading(rlt_sheet *s, const rlt_column *columns, uint32_t n);
void rlt_sheet_row(rlt_sheet *s, const rlt_value *values);
/* Ends the result. `rc` is how the work ended. 0 and RLT_ECANCELLED keep the rows; after RLT_ECANCELLED JSON
 * and the error say that they are partial. After any other error nothing is written. `legend` stands below a
 * table. Returns rc, or the error met here. Call it for every sheet that was opened. */
int rlt_sheet_close(rlt_sheet *s, int rc, const char *legend, rlt_error *err) RLT_MUST_USE;

#endif
