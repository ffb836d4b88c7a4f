/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A sweep's database in SQLite. One process writes at a time; any number may read.
 *
 * Writing: transactions of some tenths of a second, in write-ahead mode. Committed data survive the end of
 * the process at any moment. If the machine stops, the last commits may be lost, but nothing more: SQLite
 * syncs the log before it copies it into the database (synchronous=NORMAL), and skips incomplete commits at
 * the end of the log. So the database always is in a state that was committed. When the sweep is done the log
 * is removed and one file remains.
 *
 * Growing. If the study was changed but has the same command, base and links, all points are moved in one
 * transaction to tables apart. A point of the new study whose options are there gets their result, in its
 * turn, instead of a run. So the points are the same bytes as those of a new database. What is left belongs
 * to values that were removed: it is not shown, and used if the values come back.
 *
 * Schema, version 2:
 *
 *   study     one row: text and hash of the study's file, ringlet's version, number of points, objectives and
 *             columns as JSON, the shard ("1/4") in this database, or NULL
 *   axis      axis number, name, its pointers and values as JSON lists
 *   point     number in the study's order; name of a named point; coordinates: indices of the axes' values as
 *             a JSON list, all -1 for a named point; replica; options: settings of a named point as JSON;
 *             key: 128-bit hash of its options; same_as: lowest other point with the same options, which
 *             was run instead and whose results are copied here; status: exit status of the point,
 *             0: done; error
 *   result    figures of the points with status 0
 *   link      links of a point, if the study asks for them
 *   input     files that were read, with the hash of their contents
 *   dropped   reasons for which the study's rules and skip_impossible drop points, with numbers of points
 *   share     one row: number of points of this database, less than the study's in a shard
 *   kept_point, kept_result, kept_link
 *             points of earlier versions of the study that the current one does not have, or not yet: by the
 *             key of their options, otherwise as above
 *   progress  one row: begin and last commit of the latest run (seconds since 1970), and the number of points
 *             that it added
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
    int64_t kept;    /* number from rlt_store_kept: takes this result; -1: none */
    const rlt_outcome *outcome;
} rlt_store_row;

typedef enum rlt_store_mode { RLT_STORE_READ, RLT_STORE_WRITE } rlt_store_mode;

/* Returns the version of SQLite, or "not built in". */
const char *rlt_store_version(void);
/* Opens a database; creates it if `mode` writes. RLT_EIO, RLT_EUNSUPPORTED (built without SQLite). */
int rlt_store_open(const char *path, rlt_store_mode mode, rlt_store **out, rlt_error *err) RLT_MUST_USE;
void rlt_store_close(rlt_store *s);
/* Records the study. If the database has another one, grows it, or refuses: RLT_ESCHEMA says what differs.
 * shard NULL: all points. */
int rlt_store_begin(rlt_store *s, const rlt_sweep_study *study, const char *shard,
                    rlt_error *err) RLT_MUST_USE;
/* Adds the points of another database of the same study (another shard). */
int rlt_store_merge(rlt_store *s, const char *from, rlt_error *err) RLT_MUST_USE;
/* After merges: a point that was run twice refers to the lowest point with its options. */
int rlt_store_settle(rlt_store *s, rlt_error *err) RLT_MUST_USE;

/* Finds the result that was kept for these options; -1: none. */
int rlt_store_kept(rlt_store *s, const uint64_t key[2], int64_t *kept, rlt_error *err) RLT_MUST_USE;
/* Counts the results that are kept and not shown. */
int rlt_store_hidden(rlt_store *s, uint64_t *n, rlt_error *err) RLT_MUST_USE;
/* Writes "638 dropped: 420 ...", the reasons that are recorded; "" without. Sets the number of points of this
 * database; -1: unknown, in databases of earlier versions. */
int rlt_store_scope(rlt_store *s, char *dropped, size_t size, int64_t *points, rlt_error *err) RLT_MUST_USE;
/* Counts the points and the failed ones; sets *last to the highest point (-1: none). */
int rlt_store_count(rlt_store *s, uint64_t *done, uint64_t *failed, int64_t *last,
                    rlt_error *err) RLT_MUST_USE;
int rlt_store_has(rlt_store *s, uint64_t point, bool *there, rlt_error *err) RLT_MUST_USE;
/* Finds the lowest point below `before` with these options; -1: none. */
int rlt_store_find(rlt_store *s, const uint64_t key[2], uint64_t before, int64_t *point,
                   rlt_error *err) RLT_MUST_USE;
int rlt_store_failed(rlt_store *s, uint64_t point, bool *failed, rlt_error *err) RLT_MUST_USE;
/* Reads a point's figure; *there false: it failed or has none. */
int rlt_store_figure(rlt_store *s, uint64_t point, rlt_figure f, double *value, bool *there,
                     rlt_error *err) RLT_MUST_USE;
/* Adds a point; commits from time to time. After a failure nothing more is committed. */
int rlt_store_put(rlt_store *s, const rlt_store_row *row, rlt_error *err) RLT_MUST_USE;
/* Records an input by name. RLT_ESCHEMA if it is recorded with another hash. */
int rlt_store_input(rlt_store *s, const char *what, const char *path, uint64_t hash,
                    rlt_error *err) RLT_MUST_USE;
int rlt_store_commit(rlt_store *s, rlt_error *err) RLT_MUST_USE;
/* Ends a complete database: makes it one file without side files, unless a reader prevents that. */
void rlt_store_done(rlt_store *s);

/* Allows only reading from here on. For statements that contain text from users. */
void rlt_store_guard(rlt_store *s);
/* Makes a function of a number known to statements. `call` returns a malloc'ed text, or leaves it NULL. */
typedef int rlt_store_texter(void *ctx, int64_t number, char **text, rlt_error *err);
int rlt_store_call(rlt_store *s, const char *name, rlt_store_texter *call, void *ctx,
                   rlt_error *err) RLT_MUST_USE;
/* Runs one statement and passes each row to `row`, as texts and kinds, until `row` fails. RLT_EUSAGE: not
 * exactly one statement, or a forbidden one. */
typedef struct rlt_store_cell {
    enum { RLT_CELL_NULL, RLT_CELL_INTEGER, RLT_CELL_REAL, RLT_CELL_TEXT } kind;
    int64_t integer;
    double real;
    const char *text; /* set for TEXT; valid during the call */
    const char *name; /* column name */
} rlt_store_cell;
int rlt_store_query(rlt_store *s, const char *sql,
                    int (*row)(void *ctx, const rlt_store_cell *cells, uint32_t n, rlt_error *err), void *ctx,
                    rlt_error *err) RLT_MUST_USE;

#endif
