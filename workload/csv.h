/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Traces that are tables of comma-separated cells: one line at a time; quotes are not used in these files. */
#ifndef RLT_CSV_H
#define RLT_CSV_H

#include <stddef.h>
#include <stdint.h>

#include "sim/error.h"

enum { RLT_CSV_CELLS = 32, RLT_CSV_CELL_LENGTH = 200 };

typedef struct rlt_csv {
    const char *file, *at, *end; /* text left to read; borrowed */
    uint32_t line, n;            /* of the line last read: its number from 1, its cells */
    char text[RLT_CSV_CELLS][RLT_CSV_CELL_LENGTH + 1];
} rlt_csv;

/* A failure with file and line. */
int rlt__csv_fail(const rlt_csv *c, int code, rlt_error *err, const char *fmt, ...) RLT_PRINTF(4);
/* The next line that is not empty; n == 0: there is none. */
int rlt__csv_next(rlt_csv *c, rlt_error *err) RLT_MUST_USE;
/* Column of a name in the line last read, or -1. */
int rlt__csv_find(const rlt_csv *c, const char *name);
/* The cell of a column; "" where the line has none. */
const char *rlt__csv_cell(const rlt_csv *c, int column);
/* A whole number (also "4.0") of at most `max`; `name` is the column's. */
int rlt__csv_whole(const rlt_csv *c, int column, const char *name, uint64_t max, uint64_t *out,
                   rlt_error *err) RLT_MUST_USE;

#endif
