/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Databases that profilers write (SQLite), read row by row. The library is loaded when the first one is
 * opened; RLT_EUNSUPPORTED if it is missing. A database belongs to one thread.
 */
#ifndef RLT_WORKLOAD_READERS_NSYS_DATABASE_H
#define RLT_WORKLOAD_READERS_NSYS_DATABASE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"

typedef struct rlt_database rlt_database;
typedef struct rlt_rows rlt_rows;

/* Opens a file for reading. `path` is borrowed. *out is NULL if it fails. */
int rlt__database_open(const char *path, rlt_database **out, rlt_error *err) RLT_MUST_USE;
void rlt__database_close(rlt_database *d);
/* Returns true if there is such a table or view, with such a column. column NULL: any. */
bool rlt__database_has(rlt_database *d, const char *table, const char *column);

/* Begins a query. Close the rows before the database. */
int rlt__rows_open(rlt_database *d, const char *sql, rlt_rows **out, rlt_error *err) RLT_MUST_USE;
/* Moves to the next row. Returns 1, 0 after the last one, or a negative error. */
int rlt__rows_next(rlt_rows *r, rlt_error *err) RLT_MUST_USE;
void rlt__rows_close(rlt_rows *r);
/* Values of the row; valid until the next one. */
int64_t rlt__row_number(rlt_rows *r, int column); /* 0 for NULL */
bool rlt__row_is_null(rlt_rows *r, int column);
const char *rlt__row_text(rlt_rows *r, int column); /* "" for NULL */
const unsigned char *rlt__row_bytes(rlt_rows *r, int column, uint32_t *n);

#endif
