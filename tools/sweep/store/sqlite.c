/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sweep's database: helpers for SQLite. */
#ifdef RLT_WITH_SQLITE
#include "tools/sweep/store/sqlite.h"

#include <errno.h>
#include <time.h>

double rlt__store_now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int rlt__store_fail(struct rlt_store *s, rlt_error *err)
{
    int code = sqlite3_extended_errcode(s->db);
    if ((code & 0xff) == SQLITE_NOMEM || code == SQLITE_IOERR_NOMEM)
        return rlt_nomem(err);
    if ((code & 0xff) == SQLITE_NOTADB || (code & 0xff) == SQLITE_CORRUPT)
        return rlt_fail(err, RLT_EMALFORMED, s->path, "is not a database of a sweep: %s",
                        sqlite3_errmsg(s->db));
    /* SQLite reports a full disk for its side files only as an I/O error. */
    bool full = (code & 0xff) == SQLITE_FULL ||
                ((code & 0xff) == SQLITE_IOERR && sqlite3_system_errno(s->db) == ENOSPC);
    return rlt_fail(err, RLT_EIO, s->path, "%s%s", full ? "database or disk is full" : sqlite3_errmsg(s->db),
                    full ? "; committed points are safe, and the same command continues" : "");
}

int rlt__store_execute(struct rlt_store *s, const char *sql, rlt_error *err)
{
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : rlt__store_fail(s, err);
}

int rlt__store_begin(struct rlt_store *s, rlt_error *err)
{
    int rc = s->open ? 0 : rlt__store_execute(s, "BEGIN IMMEDIATE", err);
    s->open |= rc == 0;
    return rc;
}

int rlt__store_finish(struct rlt_store *s, sqlite3_stmt *q, rlt_error *err)
{
    int rc = sqlite3_step(q) == SQLITE_DONE ? 0 : rlt__store_fail(s, err);
    sqlite3_reset(q);
    return rc;
}
#endif
