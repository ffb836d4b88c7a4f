/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rows of results as a table for people, as CSV, or as JSON objects, from one list of columns. Numbers in CSV
 * and JSON are exact, in the unit that the column's name ends with. Tables round and scale.
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

/* Returns the format of a result. `word` is the value of --format, already checked. If it is NULL, the name
 * of the file decides: .json, .csv, anything else a table. `output` is the value of --output; it may be NULL.
 * Example: (NULL, "s.json") is JSON, ("csv", "s.json") is CSV. */
rlt_format rlt_format_of(const char *word, const char *output);

/* Makes the column at least as wide as this cell. */
void rlt_column_widen(rlt_column *c, const char *cell);

/* From this on, a share is told as a factor: 6 700 x, not 670000.0 %. */
enum { RLT_TIMES = 10 };
/* Formats a number for people: four significant digits, thousands apart. Example: 453412.7 is "453 400". */
char *rlt_format_grouped(char *buffer, size_t size, double value);

/* Formats a cell of a table for people. `size` is at least 512. */
void rlt_cell_text(const rlt_column *c, const rlt_value *v, char *buffer, size_t size);

typedef struct rlt_table {
    rlt_format format;
    const rlt_column *columns;
    uint32_t n;
    FILE *out;    /* for table and CSV */
    rlt_jw *json; /* for JSON: inside an open array */
    bool waiting; /* rows are kept until the end, when the widths are known */
    char **cells;
    uint32_t n_cells, cells_capacity;
    int failed;
} rlt_table;

enum { RLT_MAX_COLUMNS = 32 };

/* Writes the heading, unless it must wait for the widths. At most RLT_MAX_COLUMNS columns. */
void rlt_table_begin(rlt_table *t, rlt_format format, const rlt_column *columns, uint32_t n, FILE *out,
                     rlt_jw *json);
void rlt_table_row(rlt_table *t, const rlt_value *values);
/* Writes the rows that waited, and frees them. RLT_ENOMEM. Write errors are reported when the file is
 * closed. */
int rlt_table_end(rlt_table *t, rlt_error *err) RLT_MUST_USE;

/* Writes the members of a row into an open JSON object. */
void rlt_row_json(rlt_jw *w, const rlt_column *columns, uint32_t n, const rlt_value *values);

/* Writes a text as a cell of CSV. One that a spreadsheet would run as a formula gets a ' before it. */
void rlt_csv_text(FILE *out, const char *text);
/* Writes one line of CSV without its line end, so that a caller may append cells. */
void rlt_csv_heading(FILE *out, const rlt_column *columns, uint32_t n);
void rlt_csv_row(FILE *out, const rlt_column *columns, uint32_t n, const rlt_value *values);

/* Returns the ending of a plural: "" for 1, else "s". */
static inline const char *rlt_s(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* Prints a line, bold if the stream is a terminal that may show it. */
void rlt_heading(FILE *out, const char *fmt, ...) RLT_PRINTF(2);

#endif
