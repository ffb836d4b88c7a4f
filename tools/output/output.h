/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rows of results as a table for people, as CSV, or as JSON objects, from one list of columns. Numbers in CSV
 * and JSON are exact and in the unit that the column's name ends with; tables round and scale.
 */
#ifndef RLT_TOOLS_OUTPUT_OUTPUT_H
#define RLT_TOOLS_OUTPUT_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/text/json.h"

typedef enum rlt_format { RLT_FORMAT_TABLE, RLT_FORMAT_CSV, RLT_FORMAT_JSON } rlt_format;

/* For the option "--format table|csv|json", already checked. */
rlt_format rlt_format_of(const char *word);

/* At least as wide as this cell. */
void rlt_column_widen(rlt_column *c, const char *cell);

/* A cell of a table for people; size at least 512. */
void rlt_cell_text(const rlt_column *c, const rlt_value *v, char *buffer, size_t size);

typedef struct rlt_table {
    rlt_format format;
    const rlt_column *columns;
    uint32_t n;
    FILE *out;    /* for table and CSV */
    rlt_jw *json; /* for JSON: inside an open array */
    bool waiting; /* for the end, to know the widths */
    char **cells;
    uint32_t n_cells, cells_capacity;
    int failed;
} rlt_table;

enum { RLT_MAX_COLUMNS = 24 };

/* Writes the heading, unless it has to wait. At most RLT_MAX_COLUMNS columns. */
void rlt_table_begin(rlt_table *t, rlt_format format, const rlt_column *columns, uint32_t n, FILE *out,
                     rlt_jw *json);
void rlt_table_row(rlt_table *t, const rlt_value *values);
/* Writes what waited, and frees. RLT_ENOMEM; write errors show when the file is closed. */
int rlt_table_end(rlt_table *t, rlt_error *err) RLT_MUST_USE;

/* The members of a row inside an open JSON object. */
void rlt_row_json(rlt_jw *w, const rlt_column *columns, uint32_t n, const rlt_value *values);

/* One line of CSV without its end, so that a caller may append cells. */
void rlt_csv_heading(FILE *out, const rlt_column *columns, uint32_t n);
void rlt_csv_row(FILE *out, const rlt_column *columns, uint32_t n, const rlt_value *values);

/* The ending of a plural. */
static inline const char *rlt_s(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* A bold line for people where the stream is a terminal that may show it, else plain. */
void rlt_heading(FILE *out, const char *fmt, ...) RLT_PRINTF(2);

#endif
