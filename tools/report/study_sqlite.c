/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a study's results from SQLite. Among the two files that know SQLite this one reads, the other
 * writes. */
#ifdef RLT_WITH_SQLITE
#include <errno.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "tools/report/study_data.h"

enum { SCHEMA_VERSION = 2, PATIENCE_MS = 3000 };

struct rlt_study {
    char *path;
    sqlite3 *db;
    sqlite3_stmt *head, *axes, *points, *one, *links;
};

static int complain(rlt_study *s, rlt_error *err)
{
    int code = sqlite3_extended_errcode(s->db) & 0xff;
    if (code == SQLITE_NOMEM)
        return rlt_nomem(err);
    if (code == SQLITE_ERROR) /* no such table or column */
        return rlt_fail(err, RLT_ESCHEMA, s->path, "not the results of a study: %s", sqlite3_errmsg(s->db));
    return rlt_fail(err, code == SQLITE_NOTADB || code == SQLITE_CORRUPT ? RLT_EMALFORMED : RLT_EIO, s->path,
                    "cannot read: %s", sqlite3_errmsg(s->db));
}

static int prepare(rlt_study *s, const char *sql, sqlite3_stmt **out, rlt_error *err)
{
    return sqlite3_prepare_v2(s->db, sql, -1, out, NULL) == SQLITE_OK ? 0 : complain(s, err);
}

/* Returns 1: a row, whose texts are at hand, 0: the end, or a negative error. */
static int step(rlt_study *s, sqlite3_stmt *q, rlt_error *err)
{
    int rc = sqlite3_step(q);
    for (int i = 0; rc == SQLITE_ROW && i < sqlite3_column_count(q); i++)
        if (sqlite3_column_type(q, i) == SQLITE_TEXT && !sqlite3_column_text(q, i))
            return rlt_nomem(err);
    return rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : complain(s, err);
}

/* Returns 1 if the table of results has a column, 0 if not, or a negative error. */
static int has_column(rlt_study *s, const char *name, rlt_error *err)
{
    sqlite3_stmt *q = NULL;
    int rc = prepare(s, "SELECT 1 FROM pragma_table_info('result') WHERE name = ?1", &q, err);
    if (!rc && sqlite3_bind_text(q, 1, name, -1, SQLITE_STATIC) != SQLITE_OK)
        rc = complain(s, err);
    rc = rc ? rc : step(s, q, err);
    sqlite3_finalize(q);
    return rc;
}

static int prepare_points(rlt_study *s, const char *which, sqlite3_stmt **out, rlt_error *err)
{
    char sql[1600] =
        "SELECT p.point, p.replica, p.name, p.coordinates, p.options, p.status, p.error, p.same_as, "
        "r.busiest_link";
    for (uint32_t i = 0; rlt_study_figure_name(i); i++) {
        const char *name = rlt_study_figure_name(i);
        int there = i < RLT_STUDY_OWN ? 1 : has_column(s, name, err);
        if (there < 0)
            return there;
        snprintf(sql + strlen(sql), sizeof sql - strlen(sql), ", %s%s", there ? "r." : "",
                 there ? name : "NULL");
    }
    snprintf(sql + strlen(sql), sizeof sql - strlen(sql),
             " FROM point p LEFT JOIN result r ON r.point = COALESCE(p.same_as, p.point) %s", which);
    return prepare(s, sql, out, err);
}

int rlt_study_open(const char *path, rlt_study **out, rlt_error *err)
{
    rlt_study *s = calloc(1, sizeof *s);
    int rc = 0;
    *out = NULL;
    if (!s || !(s->path = strdup(path))) {
        free(s);
        return rlt_nomem(err);
    }
    if (sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) {
        int code = s->db ? sqlite3_system_errno(s->db) : 0;
        rc = s->db ? rlt_fail(err, RLT_EIO, path, "cannot open: %s",
                              code ? strerror(code) : sqlite3_errmsg(s->db))
                   : rlt_nomem(err);
        goto fail;
    }
    sqlite3_busy_timeout(s->db, PATIENCE_MS);
    /* One transaction, so that all reads see the same snapshot. */
    if (sqlite3_exec(s->db, "PRAGMA trusted_schema = OFF; BEGIN", NULL, NULL, NULL) != SQLITE_OK) {
        rc = complain(s, err);
        goto fail;
    }
    if ((rc = prepare(s,
                      "SELECT schema_version, name, text, hash, ringlet, points, objectives, shard, "
                      "command, columns FROM study",
                      &s->head, err)) ||
        (rc = prepare(s, "SELECT name, pointers, \"values\" FROM axis ORDER BY axis", &s->axes, err)) ||
        (rc = prepare_points(s, "ORDER BY p.point", &s->points, err)) ||
        (rc = prepare_points(s, "WHERE p.point = ?1", &s->one, err)) ||
        (rc = prepare(s,
                      "SELECT point, id, dim, count, bytes, busy_ps, utilization FROM link ORDER BY point, "
                      "utilization DESC, id",
                      &s->links, err)))
        goto fail;
    *out = s;
    return 0;
fail:
    rlt_study_close(s);
    return rc;
}

void rlt_study_close(rlt_study *s)
{
    if (!s)
        return;
    sqlite3_finalize(s->head);
    sqlite3_finalize(s->axes);
    sqlite3_finalize(s->points);
    sqlite3_finalize(s->one);
    sqlite3_finalize(s->links);
    sqlite3_close(s->db);
    free(s->path);
    free(s);
}

static const char *text(sqlite3_stmt *q, int column)
{
    return (const char *)sqlite3_column_text(q, column);
}

int rlt_study_head_of(rlt_study *s, rlt_study_head *out, rlt_error *err)
{
    int rc;
    sqlite3_reset(s->head);
    if ((rc = step(s, s->head, err)) < 0)
        return rc;
    if (rc == 0)
        return rlt_fail(err, RLT_ESCHEMA, s->path, "not the results of a study: 'study' is empty");
    if (sqlite3_column_int64(s->head, 0) != SCHEMA_VERSION)
        return rlt_fail(err, RLT_ESCHEMA, s->path, "schema version %lld is unknown; expected %d",
                        (long long)sqlite3_column_int64(s->head, 0), SCHEMA_VERSION);
    *out = (rlt_study_head){.name = text(s->head, 1),
                            .text = text(s->head, 2),
                            .hash = text(s->head, 3),
                            .ringlet = text(s->head, 4),
                            .points = sqlite3_column_int64(s->head, 5),
                            .objectives = text(s->head, 6),
                            .shard = text(s->head, 7),
                            .command = text(s->head, 8),
                            .columns = text(s->head, 9)};
    return 0;
}

int rlt_study_next_axis(rlt_study *s, const char **name, const char **pointers, const char **values,
                        rlt_error *err)
{
    int rc = step(s, s->axes, err);
    if (rc <= 0)
        return rc;
    *name = text(s->axes, 0);
    *pointers = text(s->axes, 1);
    *values = text(s->axes, 2);
    return 1;
}

static rlt_study_figure figure(sqlite3_stmt *q, int column)
{
    switch (sqlite3_column_type(q, column)) {
    case SQLITE_INTEGER:
        return (rlt_study_figure){.kind = RLT_FIGURE_WHOLE, .whole = sqlite3_column_int64(q, column)};
    case SQLITE_FLOAT:
        return (rlt_study_figure){.kind = RLT_FIGURE_REAL, .real = sqlite3_column_double(q, column)};
    default:
        return (rlt_study_figure){.kind = RLT_FIGURE_NONE};
    }
}

static rlt_study_point point(sqlite3_stmt *q)
{
    rlt_study_point p = (rlt_study_point){
        .point = sqlite3_column_int64(q, 0),
        .replica = sqlite3_column_int64(q, 1),
        .name = text(q, 2),
        .coordinates = text(q, 3),
        .options = text(q, 4),
        .failed = sqlite3_column_int64(q, 5) != 0,
        .error = text(q, 6),
        .same_as = sqlite3_column_type(q, 7) == SQLITE_NULL ? -1 : sqlite3_column_int64(q, 7),
        .busiest_link = text(q, 8)};
    for (int i = 0; rlt_study_figure_name((uint32_t)i); i++)
        p.figures[i] = figure(q, 9 + i);
    return p;
}

int rlt_study_next_point(rlt_study *s, rlt_study_point *out, rlt_error *err)
{
    int rc = step(s, s->points, err);
    if (rc > 0)
        *out = point(s->points);
    return rc;
}

int rlt_study_point_of(rlt_study *s, int64_t number, rlt_study_point *out, rlt_error *err)
{
    sqlite3_reset(s->one);
    sqlite3_bind_int64(s->one, 1, number);
    int rc = step(s, s->one, err);
    if (rc == 0)
        return rlt_fail(err, RLT_ERANGE, s->path, "has no point %lld", (long long)number);
    if (rc > 0)
        *out = point(s->one);
    return rc > 0 ? 0 : rc;
}

int rlt_study_next_link(rlt_study *s, rlt_study_link *out, rlt_error *err)
{
    sqlite3_stmt *q = s->links;
    int rc = step(s, q, err);
    if (rc > 0)
        *out = (rlt_study_link){.point = sqlite3_column_int64(q, 0),
                                .id = text(q, 1),
                                .dim = sqlite3_column_int64(q, 2),
                                .count = sqlite3_column_int64(q, 3),
                                .bytes = sqlite3_column_int64(q, 4),
                                .busy_ps = sqlite3_column_int64(q, 5),
                                .utilization = sqlite3_column_double(q, 6)};
    return rc;
}
#endif
