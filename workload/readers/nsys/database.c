/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads SQLite databases. */
#include "workload/readers/nsys/database.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef RLT_WITH_SQLITE
#include <sqlite3.h>

#include "sim/late.h"

#define CALLS(X)                                                                                             \
    X(open_v2)                                                                                               \
    X(close)                                                                                                 \
    X(exec)                                                                                                  \
    X(busy_timeout)                                                                                          \
    X(errmsg)                                                                                                \
    X(extended_errcode)                                                                                      \
    X(prepare_v2)                                                                                            \
    X(step)                                                                                                  \
    X(finalize)                                                                                              \
    X(column_int64)                                                                                          \
    X(column_text)                                                                                           \
    X(column_blob)                                                                                           \
    X(column_bytes)                                                                                          \
    X(column_type)                                                                                           \
    X(bind_text)
#define POINTER(f) __typeof__(sqlite3_##f) *f;
#define NAME(f)    "sqlite3_" #f,
static struct {
    CALLS(POINTER)
} sq;
static const char *const names[] = {CALLS(NAME) NULL};
static const rlt_late_library library = {"libsqlite3.so.0", "libsqlite3-0", names, &sq};

enum { PATIENCE_MS = 3000 };

struct rlt_database {
    const char *path;
    sqlite3 *db;
};

struct rlt_rows {
    rlt_database *d;
    sqlite3_stmt *q;
};

static int complain(const rlt_database *d, rlt_error *err)
{
    int code = sq.extended_errcode(d->db) & 0xff;
    if (code == SQLITE_NOMEM)
        return rlt_fail(err, RLT_ENOMEM, d->path,
                        "SQLite is out of memory, or so it says: it may mean a damaged file");
    int kind = code == SQLITE_ERROR                              ? RLT_ESCHEMA /* no such table or column */
               : code == SQLITE_NOTADB || code == SQLITE_CORRUPT ? RLT_EMALFORMED
                                                                 : RLT_EIO;
    return rlt_fail(err, kind, d->path, "cannot read the database: %s", sq.errmsg(d->db));
}

int rlt__database_open(const char *path, rlt_database **out, rlt_error *err)
{
    *out = NULL;
    int rc = rlt_late_load(&library, err);
    if (rc)
        return rc;
    rlt_database *d = calloc(1, sizeof *d);
    if (!d)
        return rlt_nomem(err);
    d->path = path;
    if (sq.open_v2(path, &d->db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) {
        rc = d->db ? rlt_fail(err, RLT_EIO, path, "cannot open: %s", sq.errmsg(d->db)) : rlt_nomem(err);
        rlt__database_close(d);
        return rc;
    }
    sq.busy_timeout(d->db, PATIENCE_MS);
    /* One transaction, so that all queries see the same state. Views of a stranger's file run no
     * functions. The first query tells a damaged file from one without the tables. */
    if (sq.exec(d->db, "PRAGMA trusted_schema = OFF; BEGIN; SELECT 1 FROM sqlite_master", NULL, NULL, NULL) !=
        SQLITE_OK) {
        rc = complain(d, err);
        rlt__database_close(d);
        return rc;
    }
    *out = d;
    return 0;
}

void rlt__database_close(rlt_database *d)
{
    if (!d)
        return;
    sq.close(d->db);
    free(d);
}

bool rlt__database_has(rlt_database *d, const char *table, const char *column)
{
    sqlite3_stmt *q = NULL;
    bool has = sq.prepare_v2(d->db, "SELECT 1 FROM pragma_table_info(?1) WHERE ?2 = '' OR name = ?2", -1, &q,
                             NULL) == SQLITE_OK &&
               sq.bind_text(q, 1, table, -1, SQLITE_STATIC) == SQLITE_OK &&
               sq.bind_text(q, 2, column ? column : "", -1, SQLITE_STATIC) == SQLITE_OK &&
               sq.step(q) == SQLITE_ROW;
    sq.finalize(q);
    return has;
}

int rlt__rows_open(rlt_database *d, const char *sql, rlt_rows **out, rlt_error *err)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return rlt_nomem(err);
    (*out)->d = d;
    if (sq.prepare_v2(d->db, sql, -1, &(*out)->q, NULL) == SQLITE_OK)
        return 0;
    int rc = complain(d, err);
    rlt__rows_close(*out);
    *out = NULL;
    return rc;
}

int rlt__rows_next(rlt_rows *r, rlt_error *err)
{
    int rc = sq.step(r->q);
    return rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : complain(r->d, err);
}

void rlt__rows_close(rlt_rows *r)
{
    if (!r)
        return;
    sq.finalize(r->q);
    free(r);
}

int64_t rlt__row_number(rlt_rows *r, int column)
{
    return sq.column_int64(r->q, column);
}

bool rlt__row_is_null(rlt_rows *r, int column)
{
    return sq.column_type(r->q, column) == SQLITE_NULL;
}

const char *rlt__row_text(rlt_rows *r, int column)
{
    const char *text = (const char *)sq.column_text(r->q, column);
    return text ? text : "";
}

const unsigned char *rlt__row_bytes(rlt_rows *r, int column, uint32_t *n)
{
    const unsigned char *bytes = sq.column_blob(r->q, column);
    int size = sq.column_bytes(r->q, column);
    *n = bytes && size > 0 ? (uint32_t)size : 0;
    return bytes;
}
#else
int rlt__database_open(const char *path, rlt_database **out, rlt_error *err)
{
    *out = NULL;
    return rlt_fail(err, RLT_EUNSUPPORTED, path,
                    "this build reads no databases: SQLite was missing; apt-get install libsqlite3-dev");
}

void rlt__database_close(rlt_database *d)
{
    (void)d;
}

bool rlt__database_has(rlt_database *d, const char *table, const char *column)
{
    (void)d, (void)table, (void)column;
    return false;
}

int rlt__rows_open(rlt_database *d, const char *sql, rlt_rows **out, rlt_error *err)
{
    (void)d, (void)sql, (void)err;
    *out = NULL;
    return RLT_EUNSUPPORTED;
}

int rlt__rows_next(rlt_rows *r, rlt_error *err)
{
    (void)r, (void)err;
    return 0;
}

void rlt__rows_close(rlt_rows *r)
{
    (void)r;
}

int64_t rlt__row_number(rlt_rows *r, int column)
{
    (void)r, (void)column;
    return 0;
}

bool rlt__row_is_null(rlt_rows *r, int column)
{
    (void)r, (void)column;
    return true;
}

const char *rlt__row_text(rlt_rows *r, int column)
{
    (void)r, (void)column;
    return "";
}

const unsigned char *rlt__row_bytes(rlt_rows *r, int column, uint32_t *n)
{
    (void)r, (void)column;
    *n = 0;
    return NULL;
}
#endif
