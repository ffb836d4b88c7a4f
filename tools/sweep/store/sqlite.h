/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A store, as seen by the files of this room, the only ones here that use SQLite. Internal to
 * tools/sweep/store/. */
#ifndef RLT_TOOLS_SWEEP_STORE_SQLITE_H
#define RLT_TOOLS_SWEEP_STORE_SQLITE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"

enum {
    HAS,
    FIND,
    POINT,
    RESULT,
    LINK,
    COPY_STATUS,
    COPY_RESULT,
    COPY_LINKS,
    INPUT,
    PROGRESS,
    KEPT,
    KEPT_STATUS,
    KEPT_RESULT,
    KEPT_LINKS,
    DROP_POINT,
    DROP_RESULT,
    DROP_LINKS,
    STATEMENTS
};

struct rlt_sweep_study;

struct rlt_store {
    sqlite3 *db;
    sqlite3_stmt *statements[STATEMENTS];
    char *path;
    int lock;  /* descriptor of the locked file; -1: none */
    bool open; /* a transaction is open */
    bool half; /* it has part of a point: it must not be committed */
    bool kept; /* the tables of kept points are there */
    uint32_t pending;
    uint64_t added;
    double began_s, committed_s;
};

/* Fills err from SQLite's last error. */
int rlt__store_fail(struct rlt_store *s, rlt_error *err);
int rlt__store_execute(struct rlt_store *s, const char *sql, rlt_error *err) RLT_MUST_USE;
/* Opens a transaction unless one is open. */
int rlt__store_begin(struct rlt_store *s, rlt_error *err) RLT_MUST_USE;
/* Runs a statement that returns no rows. */
int rlt__store_finish(struct rlt_store *s, sqlite3_stmt *q, rlt_error *err) RLT_MUST_USE;
double rlt__store_now_s(void);
/* Adds the figures that a table of an earlier version lacks. */
int rlt__store_add_figures(struct rlt_store *s, const char *table, rlt_error *err) RLT_MUST_USE;

/* Parts of rlt_store_begin, in grow.c: record what is dropped; move the points of an earlier version away,
 * after a check that the study may replace it. */
int rlt__store_scope_put(struct rlt_store *s, const struct rlt_sweep_study *study, const char *shard,
                         rlt_error *err) RLT_MUST_USE;
int rlt__store_grow(struct rlt_store *s, const struct rlt_sweep_study *study, rlt_error *err) RLT_MUST_USE;
/* Notes whether points are kept. */
int rlt__store_kept_open(struct rlt_store *s, rlt_error *err) RLT_MUST_USE;
/* Merges what another database, attached as "other", keeps and drops. Forgets what is kept and is a point. */
int rlt__store_kept_merge(struct rlt_store *s, rlt_error *err) RLT_MUST_USE;
int rlt__store_kept_settle(struct rlt_store *s, rlt_error *err) RLT_MUST_USE;
struct rlt_store_cell;
/* For rlt_store_query: reads a row of integers into int64_t[]. */
int rlt__store_counts(void *ctx, const struct rlt_store_cell *cells, uint32_t n, rlt_error *err);

#endif
