/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads CSV (RFC 4180, but without line breaks inside a cell): cuts lines into cells and finds columns by
 * name. A byte order mark and blank lines are skipped.
 */
#ifndef RLT_SIM_TEXT_CSV_H
#define RLT_SIM_TEXT_CSV_H

#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RLT_CSV_CELLS = 64, RLT_CSV_LINE = 1 << 16 };

typedef struct rlt_csv {
    const char *name; /* name of the text in messages */
    const char *at, *end;
    uint32_t line; /* line of the cells, from 1 */
    uint32_t n_cells, n_columns;
    const char *cells[RLT_CSV_CELLS];   /* unquoted, until the next line is read */
    uint32_t begins[RLT_CSV_CELLS];     /* column of each cell's first character, from 1 */
    const char *columns[RLT_CSV_CELLS]; /* cells of the first line */
    char buffer[RLT_CSV_LINE], names[RLT_CSV_LINE];
} rlt_csv;

/* Begins reading; the first line names the columns. The text is not copied. RLT_EMALFORMED if there is no
 * line. */
int rlt_csv_begin(rlt_csv *c, const char *name, const char *text, size_t length, rlt_error *err) RLT_MUST_USE;
/* Reads the next line. Returns 1, 0 at the end, or a negative code. Every line must have as many cells as
 * there are columns. */
int rlt_csv_next(rlt_csv *c, rlt_error *err) RLT_MUST_USE;
/* Returns the index of a column, -1 if there is none with that name. */
int rlt_csv_column(const rlt_csv *c, const char *name);
/* Returns the text of a cell; "" for column -1. */
static inline const char *rlt_csv_cell(const rlt_csv *c, int column)
{
    return column >= 0 && (uint32_t)column < c->n_cells ? c->cells[column] : "";
}
/* Reads a cell as a whole number (also "4.0") of at most `max`. */
int rlt_csv_whole(const rlt_csv *c, int column, uint64_t max, uint64_t *out, rlt_error *err) RLT_MUST_USE;
/* Fails with the place "name:line", plus ":column" of the cell unless `cell` is -1. */
int rlt_csv_fail(const rlt_csv *c, int cell, int code, rlt_error *err, const char *fmt, ...) RLT_PRINTF(5);

#ifdef __cplusplus
}
#endif
#endif
