/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reading CSV (RFC 4180, but no line breaks inside a cell): lines cut into cells, and columns found by their
 * names. A byte order mark and blank lines are passed over.
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
    const char *name; /* as messages call the text */
    const char *at, *end;
    uint32_t line; /* of the cells, from 1 */
    uint32_t n_cells, n_columns;
    const char *cells[RLT_CSV_CELLS];   /* unquoted, until the next line is read */
    uint32_t begins[RLT_CSV_CELLS];     /* where in the line, from 1 */
    const char *columns[RLT_CSV_CELLS]; /* of the first line */
    char buffer[RLT_CSV_LINE], names[RLT_CSV_LINE];
} rlt_csv;

/* Begins, with the first line as the names of the columns. The text is not copied.
 * RLT_EMALFORMED: there is no line. */
int rlt_csv_begin(rlt_csv *c, const char *name, const char *text, size_t length, rlt_error *err) RLT_MUST_USE;
/* The next line: 1, 0 at the end, or negative. All lines have as many cells as there are columns. */
int rlt_csv_next(rlt_csv *c, rlt_error *err) RLT_MUST_USE;
/* The column of a name, -1: none. */
int rlt_csv_column(const rlt_csv *c, const char *name);
/* The text of a cell; "" for column -1. */
static inline const char *rlt_csv_cell(const rlt_csv *c, int column)
{
    return column >= 0 && (uint32_t)column < c->n_cells ? c->cells[column] : "";
}
/* A cell as a whole number (also "4.0") of at most `max`. */
int rlt_csv_whole(const rlt_csv *c, int column, uint64_t max, uint64_t *out, rlt_error *err) RLT_MUST_USE;
/* Fails with "name:line", and ":column" of a cell unless that is -1. */
int rlt_csv_fail(const rlt_csv *c, int cell, int code, rlt_error *err, const char *fmt, ...) RLT_PRINTF(5);

#ifdef __cplusplus
}
#endif
#endif
