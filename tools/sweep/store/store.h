/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A sweep's database: SQLite, known to store.c and study.c alone. One process writes at a time; any
 * number may read.
 *
 * Written in transactions of some tenths of a second, in write-ahead mode: what was committed survives the
 * end of the process at any instant. When the machine stops, the last commits may be lost with it, never
 * more: SQLite syncs the log before it goes into the database (synchronous=NORMAL), and skips commits at its
 * end that are not whole, so that the database is always one that stood there before. Once all is
 * done the log goes, and what remains is one file. Schema, version 2:
 *
 *   study   one row: the study's file (text, hash), ringlet's version, the number of points, objectives and
 *           columns as JSON, the shard ("1/4") that this database holds, or NULL
 *   axis    axis number, name, its pointers and values as JSON lists
 *   point   number in the study's order; name of a named one; coordinates: numbers of the axes' values as a
 *           JSON list, -1 each for a named point; replica; options: what a named point sets, as JSON; key:
 *           128-bit hash of its options; same_as: the lowest point with the same options, where that is
 *           another: it was run instead, and its results stand here too; status: the exit status that the
 *           point alone would have had, 0: done; error
 *   result  figures of the points with status 0
 *   link    links of a point, where the study asks for them
 *   input   files that were read, with the hash of what was in them
 *   progress one row: when the latest run began and last committed (seconds since 1970), and how many points
 *           it has added
 */
#ifndef RLT_TOOLS_SWEEP_STORE_STORE_H
#define RLT_TOOLS_SWEEP_STORE_STORE_H

#include "sim/base/error.h"
#include "tools/sweep/study/study.h"
#include "workload/experiment/figures.h"

typedef struct rlt_store rlt_store;

typedef struct rlt_store_row {
    const rlt_sweep_study *study;
    const rlt_sweep_point *point;
    const uint64_t *key;
    int64_t same_as; /* -1: itself */
    const rlt_outcome *outcome;
} rlt_store_row;

typedef enum rlt_store_mode { RLT_STORE_READ, RLT_STORE_WRITE } rlt_store_mode;

/* Version of SQLite, or "not built in". */
const char *rlt_store_version(void);
/* To write: made where it is not there. RLT_EIO, RLT_EUNSUPPORTED (built without SQLite). */
int rlt_store_open(const char *path, rlt_store_mode mode, rlt_store **out, rlt_error *err) RLT_MUST_USE;
void rlt_store_close(rlt_store *s);
/* Enters the study, or checks that it is the one that is there: RLT_ESCHEMA. shard NULL: all of it. */
int rlt_store_begin(rlt_store *s, const rlt_sweep_study *study, const char *shard,
                    rlt_error *err) RLT_MUST_USE;
/* The same from another database with the same study (of another shard). */
int rlt_store_merge(rlt_store *s, const char *from, rlt_error *err) RLT_MUST_USE;
/* After merges: points that were run twice refer to the lowest one of them. */
int rlt_store_settle(rlt_store *s, rlt_error *err) RLT_MUST_USE;

/* How many points there are, how many failed, the highest (-1: none). */
int rlt_store_count(rlt_store *s, uint64_t *done, uint64_t *failed, int64_t *last,
                    rlt_error *err) RLT_MUST_USE;
int rlt_store_has(rlt_store *s, uint64_t point, bool *there, rlt_error *err) RLT_MUST_USE;
/* The lowest point with these options below `before`, or -1. */
int rlt_store_find(rlt_store *s, const uint64_t key[2], uint64_t before, int64_t *point,
                   rlt_error *err) RLT_MUST_USE;
int rlt_store_failed(rlt_store *s, uint64_t point, bool *failed, rlt_error *err) RLT_MUST_USE;
/* A point's figure; *there false: it failed, or has none. */
int rlt_store_figure(rlt_store *s, uint64_t point, rlt_figure f, double *value, bool *there,
                     rlt_error *err) RLT_MUST_USE;
/* Adds a point; commits when it is time. */
int rlt_store_put(rlt_store *s, const rlt_store_row *row, rlt_error *err) RLT_MUST_USE;
/* An input by name: RLT_ESCHEMA where it is there with another hash. */
int rlt_store_input(rlt_store *s, const char *what, const char *path, uint64_t hash,
                    rlt_error *err) RLT_MUST_USE;
int rlt_store_commit(rlt_store *s, rlt_error *err) RLT_MUST_USE;
/* All is in it: makes it one file, that readers need no others beside, unless somebody reads just now. */
void rlt_store_done(rlt_store *s);

/* From here on statements may only read: for those that users have a part in. */
void rlt_store_guard(rlt_store *s);
/* Runs one statement; `row` sees each row, as texts and kinds, until it fails. RLT_EUSAGE: not
 * one statement, or one that is not allowed. */
typedef struct rlt_store_cell {
    enum { RLT_CELL_NULL, RLT_CELL_INTEGER, RLT_CELL_REAL, RLT_CELL_TEXT } kind;
    int64_t integer;
    double real;
    const char *text; /* of TEXT; during the call */
    const char *name; /* of the column */
} rlt_store_cell;
int rlt_store_query(rlt_store *s, const char *sql,
                    int (*row)(void *ctx, const rlt_store_cell *cells, uint32_t n, rlt_error *err), void *ctx,
                    rlt_error *err) RLT_MUST_USE;

#endif
