/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The database of a sweep: points and queries. */
#include "tools/sweep/store/store.h"

#ifdef RLT_WITH_SQLITE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sim/base/time.h"
#include "tools/sweep/store/sqlite.h"

enum { COMMIT_POINTS = 4096, BUSY_MS = 10000, SOON_MS = 500, LOCK_TRIES = 200 };
#define COMMIT_S 0.3

static const char *const texts[STATEMENTS] = {
    [HAS] = "SELECT 1 FROM point WHERE point=?1",
    [FIND] = "SELECT min(point) FROM point WHERE key=?1 AND point<?2",
    [POINT] = "INSERT INTO point VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9)",
    [LINK] = "INSERT INTO link VALUES(?1,?2,?3,?4,?5,?6,?7,?8)",
    [COPY_STATUS] =
        "UPDATE point SET (status,error)=(SELECT status,error FROM point WHERE point=?2) WHERE point=?1",
    [COPY_LINKS] = ("INSERT INTO link SELECT ?1,id,dim,count,bytes,busy_ps,active_ps,utilization FROM link "
                    "WHERE point=?2"),
    [INPUT] = "INSERT INTO input VALUES(?1,?2,?3) ON CONFLICT DO UPDATE SET hash=hash RETURNING hash",
    [KEPT] = "SELECT kept FROM kept_point WHERE key=?1",
    [KEPT_STATUS] = "UPDATE point SET (status,error)=(SELECT status,error FROM kept_point WHERE kept=?2) "
                    "WHERE point=?1",
    [KEPT_LINKS] = ("INSERT INTO link SELECT ?1,id,dim,count,bytes,busy_ps,active_ps,utilization FROM "
                    "kept_link WHERE kept=?2"),
    [DROP_POINT] = "DELETE FROM kept_point WHERE kept=?2",
    [DROP_RESULT] = "DELETE FROM kept_result WHERE kept=?2",
    [DROP_LINKS] = "DELETE FROM kept_link WHERE kept=?2",
    [PROGRESS] = "INSERT OR REPLACE INTO progress VALUES(1,?1,?2,?3)",
};

const char *rlt_store_version(void)
{
    return sqlite3_libversion();
}

/* Writes a statement, with a placeholder or a name for each figure. */
static const char *text_of(int which, char *buffer, size_t size)
{
    char names[RLT_FIGURE_LIST];
    size_t used;
    if (which == COPY_RESULT || which == KEPT_RESULT) {
        rlt_figure_list("", false, names);
        snprintf(buffer, size, "INSERT INTO result(point,%s) SELECT ?1,%s FROM %s=?2", names, names,
                 which == COPY_RESULT ? "result WHERE point" : "kept_result WHERE kept");
    } else if (which == RESULT) {
        used = (size_t)snprintf(buffer, size, "INSERT INTO result(point,%s) VALUES(?1",
                                rlt_figure_list("", false, names));
        for (int f = 0; f < RLT_FIG_STORED; f++)
            used += (size_t)snprintf(buffer + used, size - used, ",?%d", f + 2);
        snprintf(buffer + used, size - used, ")");
    }
    return texts[which] ? texts[which] : buffer;
}

static sqlite3_stmt *statement(rlt_store *s, int which, rlt_error *err)
{
    char buffer[2 * RLT_FIGURE_LIST + 100];
    if (!s->statements[which] &&
        sqlite3_prepare_v3(s->db, text_of(which, buffer, sizeof buffer), -1, SQLITE_PREPARE_PERSISTENT,
                           &s->statements[which], NULL) != SQLITE_OK)
        rlt__store_fail(s, err);
    return s->statements[which];
}

/* Takes the lock, held while the database is open. SQLite's own locks would be lost when any descriptor of
 * the file is closed. */
static int lock(rlt_store *s, rlt_error *err)
{
    s->lock = open(s->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (s->lock < 0)
        return rlt_fail(err, RLT_EIO, s->path, "cannot be opened: %s", strerror(errno));
    /* A writer that was just killed may take a moment to end. */
    for (int i = 0; i < LOCK_TRIES; i++) {
        struct timespec t = {.tv_nsec = 10000000};
        if (flock(s->lock, LOCK_EX | LOCK_NB) == 0)
            return 0;
        nanosleep(&t, NULL);
    }
    return rlt_fail(err, RLT_EIO, s->path, "another sweep is writing it");
}

/* Switches to write-ahead logging. If a reader prevents this, a finished database keeps its mode: nothing is
 * missing in it. */
static int write_ahead(rlt_store *s, rlt_error *err)
{
    rlt_error why = {0};
    sqlite3_busy_timeout(s->db, SOON_MS);
    int rc = rlt__store_execute(s, "PRAGMA journal_mode=WAL", &why);
    if (rc && (sqlite3_errcode(s->db) & 0xff) != SQLITE_BUSY)
        return rlt_fail(err, rc, why.where, "%s", why.what);
    return rlt__store_execute(
        s, "PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=1000; PRAGMA cache_size=-256", err);
}

int rlt_store_open(const char *path, rlt_store_mode mode, rlt_store **out, rlt_error *err)
{
    bool write = mode == RLT_STORE_WRITE;
    rlt_store *s = calloc(1, sizeof *s);
    struct stat st;
    int rc = 0;
    *out = NULL;
    if (!s)
        return rlt_nomem(err);
    s->lock = -1;
    s->path = strdup(path);
    if (!s->path)
        rc = rlt_nomem(err);
    if (!rc && !write && access(path, R_OK))
        rc = rlt_fail(err, RLT_EIO, path, "cannot be opened: %s", strerror(errno));
    if (!rc && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        rc = rlt_fail(err, RLT_EIO, path, "cannot be opened: %s", strerror(EISDIR));
    if (!rc && write)
        rc = lock(s, err);
    if (!rc && sqlite3_open_v2(path, &s->db, write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY, NULL) !=
                   SQLITE_OK)
        rc = s->db ? rlt__store_fail(s, err) : rlt_nomem(err);
    if (!rc) {
        rc = write ? write_ahead(s, err)
                   : rlt__store_execute(s, "PRAGMA trusted_schema=OFF; SELECT count(*) FROM sqlite_schema",
                                        err);
        sqlite3_busy_timeout(s->db, BUSY_MS);
    }
    if (rc)
        rlt_store_close(s);
    else
        *out = s;
    return rc;
}

void rlt_store_close(rlt_store *s)
{
    if (!s)
        return;
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(s->statements[i]);
    if (s->open)
        (void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_close(s->db);
    if (s->lock >= 0)
        close(s->lock);
    free(s->path);
    free(s);
}

int rlt__store_counts(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err)
{
    int64_t *out = ctx;
    (void)err;
    for (uint32_t i = 0; i < n; i++)
        out[i] = c[i].integer;
    return 0;
}

int rlt_store_count(rlt_store *s, uint64_t *done, uint64_t *failed, int64_t *last, rlt_error *err)
{
    int64_t v[3] = {0, 0, -1};
    int rc =
        rlt_store_query(s, "SELECT count(*), coalesce(sum(status<>0),0), coalesce(max(point),-1) FROM point",
                        rlt__store_counts, v, err);
    *done = (uint64_t)v[0];
    *failed = (uint64_t)v[1];
    *last = v[2];
    return rc;
}

int rlt_store_has(rlt_store *s, uint64_t point, bool *there, rlt_error *err)
{
    sqlite3_stmt *q = statement(s, HAS, err);
    if (!q)
        return RLT_EIO;
    sqlite3_bind_int64(q, 1, (sqlite3_int64)point);
    int got = sqlite3_step(q);
    *there = got == SQLITE_ROW;
    int rc = got == SQLITE_ROW || got == SQLITE_DONE ? 0 : rlt__store_fail(s, err);
    sqlite3_reset(q);
    return rc;
}

int rlt_store_find(rlt_store *s, const uint64_t key[2], uint64_t before, int64_t *point, rlt_error *err)
{
    sqlite3_stmt *q = statement(s, FIND, err);
    if (!q)
        return RLT_EIO;
    sqlite3_bind_blob(q, 1, key, 16, SQLITE_STATIC);
    sqlite3_bind_int64(q, 2, (sqlite3_int64)before);
    int rc = sqlite3_step(q) == SQLITE_ROW ? 0 : rlt__store_fail(s, err);
    *point = rc || sqlite3_column_type(q, 0) == SQLITE_NULL ? -1 : sqlite3_column_int64(q, 0);
    sqlite3_reset(q);
    return rc;
}

int rlt_store_failed(rlt_store *s, uint64_t point, bool *failed, rlt_error *err)
{
    char sql[80];
    int64_t status = 0;
    snprintf(sql, sizeof sql, "SELECT status FROM point WHERE point=%llu", (unsigned long long)point);
    int rc = rlt_store_query(s, sql, rlt__store_counts, &status, err);
    *failed = status != 0;
    return rc;
}

typedef struct one_figure {
    double value;
    bool there;
} one_figure;

static int see_figure(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err)
{
    one_figure *f = ctx;
    (void)n;
    (void)err;
    f->there = c->kind == RLT_CELL_INTEGER || c->kind == RLT_CELL_REAL;
    f->value = c->kind == RLT_CELL_INTEGER ? (double)c->integer : c->real;
    return 0;
}

int rlt_store_figure(rlt_store *s, uint64_t point, rlt_figure f, double *value, bool *there, rlt_error *err)
{
    char sql[120];
    one_figure x = {0};
    snprintf(sql, sizeof sql, "SELECT %s FROM result WHERE point=%llu", rlt_figure_infos[f].name,
             (unsigned long long)point);
    int rc = rlt_store_query(s, sql, see_figure, &x, err);
    *value = x.value;
    *there = x.there;
    return rc;
}

static int put_point(rlt_store *s, const rlt_store_row *row, rlt_error *err)
{
    const rlt_sweep_point *p = row->point;
    const rlt_outcome *o = row->outcome;
    char coordinates[RLT_SWEEP_AXES * 12 + 16];
    sqlite3_stmt *q = statement(s, POINT, err);
    if (!q)
        return RLT_EIO;
    rlt_sweep_coordinates(row->study, p, coordinates, sizeof coordinates);
    sqlite3_bind_int64(q, 1, (sqlite3_int64)p->id);
    sqlite3_bind_text(q, 2, p->named == RLT_NONE ? NULL : row->study->named[p->named].name, -1,
                      SQLITE_STATIC);
    sqlite3_bind_text(q, 3, coordinates, -1, SQLITE_STATIC);
    sqlite3_bind_int64(q, 4, p->replica);
    sqlite3_bind_text(q, 5, rlt_sweep_named_text(row->study, p), -1, SQLITE_STATIC);
    sqlite3_bind_blob(q, 6, row->key, 16, SQLITE_STATIC);
    if (row->same_as >= 0)
        sqlite3_bind_int64(q, 7, row->same_as);
    else
        sqlite3_bind_null(q, 7);
    sqlite3_bind_int(q, 8, o->status);
    sqlite3_bind_text(q, 9, o->status ? o->error : NULL, -1, SQLITE_STATIC);
    return rlt__store_finish(s, q, err);
}

static int put_result(rlt_store *s, uint64_t point, const rlt_outcome *o, rlt_error *err)
{
    sqlite3_stmt *q = statement(s, RESULT, err);
    if (!q)
        return RLT_EIO;
    sqlite3_bind_int64(q, 1, (sqlite3_int64)point);
    for (int f = 0; f < RLT_FIG_STORED; f++) {
        if (!o->there[f])
            sqlite3_bind_null(q, f + 2);
        else if (rlt_figure_infos[f].kind == RLT_FIG_INTEGER)
            sqlite3_bind_int64(q, f + 2, o->integer[f]);
        else if (rlt_figure_infos[f].kind == RLT_FIG_REAL)
            sqlite3_bind_double(q, f + 2, o->real[f]);
        else
            sqlite3_bind_text(q, f + 2, o->busiest, -1, SQLITE_STATIC);
    }
    int rc = rlt__store_finish(s, q, err);
    for (uint32_t i = 0; i < o->n_links && !rc; i++) {
        const rlt_link_figures *l = &o->links[i];
        if (!(q = statement(s, LINK, err)))
            return RLT_EIO;
        sqlite3_bind_int64(q, 1, (sqlite3_int64)point);
        sqlite3_bind_text(q, 2, l->id, -1, SQLITE_STATIC);
        sqlite3_bind_int64(q, 3, l->dim);
        sqlite3_bind_int64(q, 4, l->count);
        sqlite3_bind_int64(q, 5, (sqlite3_int64)l->bytes);
        sqlite3_bind_int64(q, 6, l->busy_ps);
        sqlite3_bind_int64(q, 7, l->active_ps);
        sqlite3_bind_double(q, 8, l->utilization);
        rc = rlt__store_finish(s, q, err);
    }
    return rc;
}

static int copy(rlt_store *s, int which, uint64_t to, int64_t from, rlt_error *err)
{
    sqlite3_stmt *q = statement(s, which, err);
    if (!q)
        return RLT_EIO;
    sqlite3_bind_int64(q, 1, (sqlite3_int64)to);
    sqlite3_bind_int64(q, 2, from);
    return rlt__store_finish(s, q, err);
}

/* Copies status and figures of the point with the same options that was run. */
static int put_same(rlt_store *s, const rlt_store_row *row, rlt_error *err)
{
    int rc = put_point(s, row, err);
    if (!rc)
        rc = copy(s, COPY_STATUS, row->point->id, row->same_as, err);
    if (!rc)
        rc = copy(s, COPY_RESULT, row->point->id, row->same_as, err);
    return rc ? rc : copy(s, COPY_LINKS, row->point->id, row->same_as, err);
}

/* Moves the result that was kept for these options. */
static int put_kept(rlt_store *s, const rlt_store_row *row, rlt_error *err)
{
    int rc = put_point(s, row, err);
    for (int which = KEPT_STATUS; which <= DROP_LINKS && !rc; which++)
        rc = copy(s, which, row->point->id, row->kept, err);
    return rc;
}

int rlt_store_kept(rlt_store *s, const uint64_t key[2], int64_t *kept, rlt_error *err)
{
    *kept = -1;
    if (!s->kept)
        return 0;
    sqlite3_stmt *q = statement(s, KEPT, err);
    if (!q)
        return RLT_EIO;
    sqlite3_bind_blob(q, 1, key, 16, SQLITE_STATIC);
    int got = sqlite3_step(q);
    int rc = got == SQLITE_ROW || got == SQLITE_DONE ? 0 : rlt__store_fail(s, err);
    if (got == SQLITE_ROW)
        *kept = sqlite3_column_int64(q, 0);
    sqlite3_reset(q);
    return rc;
}

int rlt_store_put(rlt_store *s, const rlt_store_row *row, rlt_error *err)
{
    int rc = rlt__store_begin(s, err);
    if (!rc && row->same_as >= 0)
        rc = put_same(s, row, err);
    else if (!rc && row->kept >= 0)
        rc = put_kept(s, row, err);
    else if (!rc && !(rc = put_point(s, row, err)) && row->outcome->status == 0)
        rc = put_result(s, row->point->id, row->outcome, err);
    if (rc) { /* a point without its figures would count as done */
        s->half = true;
        return rc;
    }
    s->pending++;
    s->added++;
    return s->pending >= COMMIT_POINTS || rlt__store_now_s() - s->committed_s > COMMIT_S
               ? rlt_store_commit(s, err)
               : 0;
}

int rlt_store_input(rlt_store *s, const char *what, const char *path, uint64_t hash, rlt_error *err)
{
    char text[17];
    sqlite3_stmt *q;
    int rc = rlt__store_begin(s, err);
    if (rc || !(q = statement(s, INPUT, err)))
        return rc ? rc : RLT_EIO;
    snprintf(text, sizeof text, "%016llx", (unsigned long long)hash);
    sqlite3_bind_text(q, 1, what, -1, SQLITE_STATIC);
    sqlite3_bind_text(q, 2, path, -1, SQLITE_STATIC);
    sqlite3_bind_text(q, 3, text, -1, SQLITE_STATIC);
    rc = sqlite3_step(q) == SQLITE_ROW ? 0 : rlt__store_fail(s, err);
    const char *known = rc ? "" : (const char *)sqlite3_column_text(q, 0);
    if (!known)
        rc = rlt_nomem(err);
    bool same = !rc && strcmp(known, text) == 0;
    sqlite3_reset(q);
    return rc || same
               ? rc
               : rlt_fail(err, RLT_ESCHEMA, path,
                          "has changed since the sweep of %s began: results of both versions would be mixed",
                          s->path);
}

int rlt_store_commit(rlt_store *s, rlt_error *err)
{
    s->open = s->open && !sqlite3_get_autocommit(s->db); /* a full disk may have ended the transaction */
    if (!s->open || s->half)
        return 0;
    sqlite3_stmt *q = statement(s, PROGRESS, err);
    if (!q)
        return RLT_EIO;
    s->committed_s = rlt__store_now_s();
    sqlite3_bind_double(q, 1, s->began_s);
    sqlite3_bind_double(q, 2, s->committed_s);
    sqlite3_bind_int64(q, 3, (sqlite3_int64)s->added);
    int rc = rlt__store_finish(s, q, err);
    if (!rc)
        rc = rlt__store_execute(s, "COMMIT", err);
    s->open = sqlite3_get_autocommit(s->db) == 0;
    s->pending = 0;
    return rc;
}

void rlt_store_done(rlt_store *s)
{
    sqlite3_busy_timeout(s->db, 0);
    (void)sqlite3_exec(s->db, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL);
    sqlite3_busy_timeout(s->db, BUSY_MS);
}

static int allow(void *ctx, int action, const char *first, const char *second, const char *database,
                 const char *by)
{
    (void)ctx;
    (void)first;
    (void)database;
    (void)by;
    bool reads = action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_RECURSIVE ||
                 (action == SQLITE_FUNCTION && second && sqlite3_stricmp(second, "load_extension") != 0);
    return reads ? SQLITE_OK : SQLITE_DENY;
}

void rlt_store_guard(rlt_store *s)
{
    sqlite3_set_authorizer(s->db, allow, NULL);
}

typedef struct texter {
    rlt_store_texter *call;
    void *ctx;
} texter;

static void run_texter(sqlite3_context *c, int n, sqlite3_value **v)
{
    const texter *t = sqlite3_user_data(c);
    rlt_error why = {0};
    char *text = NULL;
    (void)n;
    int rc = t->call(t->ctx, sqlite3_value_int64(v[0]), &text, &why);
    if (rc == RLT_ENOMEM)
        sqlite3_result_error_nomem(c);
    else if (rc)
        sqlite3_result_error(c, why.what, -1);
    if (rc)
        free(text);
    else
        sqlite3_result_text(c, text, -1, free);
}

int rlt_store_call(rlt_store *s, const char *name, rlt_store_texter *call, void *ctx, rlt_error *err)
{
    texter *t = malloc(sizeof *t);
    if (!t)
        return rlt_nomem(err);
    *t = (texter){call, ctx};
    return sqlite3_create_function_v2(s->db, name, 1, SQLITE_UTF8, t, run_texter, NULL, NULL, free) ==
                   SQLITE_OK
               ? 0
               : rlt__store_fail(s, err);
}

/* Mistakes of a query's author: no such column, a table that may not be read. SQLite tells the latter before
 * the first row or with it, depending on its version. */
static int query_fail(rlt_store *s, int code, rlt_error *err)
{
    if (code == SQLITE_ERROR || (code & 0xff) == SQLITE_AUTH)
        return rlt_fail(err, RLT_EUSAGE, s->path, "%s", sqlite3_errmsg(s->db));
    return rlt__store_fail(s, err);
}

int rlt_store_query(rlt_store *s, const char *sql,
                    int (*row)(void *ctx, const rlt_store_cell *cells, uint32_t n, rlt_error *err), void *ctx,
                    rlt_error *err)
{
    enum { MOST = 128 };
    rlt_store_cell cells[MOST];
    sqlite3_stmt *q = NULL;
    int rc = 0, got;
    const char *rest = NULL;
    if ((got = sqlite3_prepare_v2(s->db, sql, -1, &q, &rest)) != SQLITE_OK)
        return query_fail(s, got, err);
    if (!q || rest[strspn(rest, " \n;")]) {
        sqlite3_finalize(q);
        return rlt_fail(err, RLT_EUSAGE, s->path, "expected one expression, not several statements");
    }
    int n = sqlite3_column_count(q);
    n = n < MOST ? n : MOST;
    while (!rc && (got = sqlite3_step(q)) != SQLITE_DONE) {
        if (got != SQLITE_ROW) {
            rc = (got & 0xff) == SQLITE_AUTH ? query_fail(s, got, err) : rlt__store_fail(s, err);
            break;
        }
        for (int i = 0; i < n; i++) {
            int kind = sqlite3_column_type(q, i);
            cells[i] = (rlt_store_cell){.name = sqlite3_column_name(q, i)};
            cells[i].kind = kind == SQLITE_INTEGER ? RLT_CELL_INTEGER
                            : kind == SQLITE_FLOAT ? RLT_CELL_REAL
                            : kind == SQLITE_TEXT  ? RLT_CELL_TEXT
                                                   : RLT_CELL_NULL;
            if (cells[i].kind == RLT_CELL_INTEGER)
                cells[i].integer = sqlite3_column_int64(q, i);
            else if (cells[i].kind == RLT_CELL_REAL)
                cells[i].real = sqlite3_column_double(q, i);
            else if (cells[i].kind == RLT_CELL_TEXT &&
                     !(cells[i].text = (const char *)sqlite3_column_text(q, i)))
                rc = rlt_nomem(err);
        }
        rc = row && !rc ? row(ctx, cells, (uint32_t)n, err) : rc;
    }
    sqlite3_finalize(q);
    return rc;
}

#endif
