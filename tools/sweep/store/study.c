/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The database of a sweep: its schema, its study, and merging. */
#include "tools/sweep/store/store.h"

#ifdef RLT_WITH_SQLITE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/text.h"
#include "sim/text/json.h"
#include "sim/text/tree.h"
#include "tools/base/version.h"
#include "tools/sweep/store/sqlite.h"
#include "tools/sweep/study/study.h"
#include "workload/experiment/figures.h"

enum { SCHEMA_VERSION = 2 };

static const char schema[] =
    "CREATE TABLE study(id INTEGER PRIMARY KEY CHECK(id=1), schema_version INTEGER, name TEXT, text TEXT, "
    "hash TEXT, ringlet TEXT, points INTEGER, objectives TEXT, shard TEXT, command TEXT, columns TEXT);"
    "CREATE TABLE axis(axis INTEGER PRIMARY KEY, name TEXT, pointers TEXT, \"values\" TEXT);"
    "CREATE TABLE point(point INTEGER PRIMARY KEY, name TEXT, coordinates TEXT, replica INTEGER, options "
    "TEXT, "
    "key BLOB, same_as INTEGER, status INTEGER, error TEXT);"
    "CREATE INDEX point_key ON point(key);"
    "CREATE TABLE link(point INTEGER, id TEXT, dim INTEGER, count INTEGER, bytes INTEGER, busy_ps INTEGER, "
    "active_ps INTEGER, utilization REAL, PRIMARY KEY(point,id)) WITHOUT ROWID;"
    "CREATE TABLE input(what TEXT, path TEXT, hash TEXT, PRIMARY KEY(what,path)) WITHOUT ROWID;"
    "CREATE TABLE progress(id INTEGER PRIMARY KEY CHECK(id=1), began_s REAL, committed_s REAL, added "
    "INTEGER);";

typedef struct study_row {
    char hash[17], shard[32];
    bool there;
} study_row;

static int see_study(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err)
{
    study_row *r = ctx;
    (void)n;
    if (c[0].integer != SCHEMA_VERSION)
        return rlt_fail(err, RLT_EUNSUPPORTED, NULL,
                        "the database has schema %lld, this ringlet has schema %d", (long long)c[0].integer,
                        SCHEMA_VERSION);
    r->there = true;
    snprintf(r->hash, sizeof r->hash, "%s", c[1].text ? c[1].text : "");
    snprintf(r->shard, sizeof r->shard, "%s", c[2].text ? c[2].text : "");
    return 0;
}

static int read_study(rlt_store *s, study_row *r, rlt_error *err)
{
    *r = (study_row){.there = false};
    if (sqlite3_table_column_metadata(s->db, "main", "study", "schema_version", NULL, NULL, NULL, NULL,
                                      NULL) != SQLITE_OK) {
        int64_t tables = 0;
        int rc =
            rlt_store_query(s, "SELECT count(*) FROM main.sqlite_schema", rlt__store_counts, &tables, err);
        return rc || !tables ? rc : rlt_fail(err, RLT_ESCHEMA, s->path, "is not a database of a sweep");
    }
    return rlt_store_query(s, "SELECT schema_version, hash, shard FROM main.study", see_study, r, err);
}

static char *objectives_text(const rlt_sweep_study *st)
{
    rlt_jw w;
    rlt_jw_init(&w, false);
    rlt_jw_array(&w, NULL);
    for (uint32_t i = 0; i < st->n_objectives; i++) {
        rlt_jw_object(&w, NULL);
        rlt_jw_string(&w, "column", rlt_figure_infos[st->objectives[i].column].name);
        rlt_jw_string(&w, "goal", st->objectives[i].max ? "max" : "min");
        rlt_jw_end_object(&w);
    }
    rlt_jw_end_array(&w);
    return rlt_jw_finish(&w, NULL);
}

static char *columns_text(const rlt_sweep_study *st)
{
    rlt_jw w;
    rlt_jw_init(&w, false);
    rlt_jw_array(&w, NULL);
    for (uint32_t i = 0; i < st->n_columns; i++)
        rlt_jw_string(&w, NULL, rlt_figure_infos[st->columns[i]].name);
    rlt_jw_end_array(&w);
    return rlt_jw_finish(&w, NULL);
}

static int write_value(const rlt_sweep_axis *a, uint32_t i, FILE *f, rlt_error *err)
{
    rlt_arena own = {0};
    const rlt_json_tree *value;
    int rc = rlt_sweep_axis_value(a, i, &own, &value, err);
    if (!rc)
        rlt_tree_write(value, NULL, f);
    rlt_arena_free(&own);
    return rc;
}

static int insert_axis(rlt_store *s, const rlt_sweep_axis *a, uint32_t number, rlt_error *err)
{
    char *list[2] = {NULL, NULL};
    size_t length;
    sqlite3_stmt *q = NULL;
    int rc = 0;
    for (int k = 0; k < 2 && !rc; k++) {
        FILE *f = rlt_text_stream(&list[k], &length);
        if (!f)
            return rlt_nomem(err);
        putc('[', f);
        for (uint32_t i = 0; i < (k ? a->n : a->n_places); i++) {
            fputs(i ? "," : "", f);
            if (k)
                rc = rc ? rc : write_value(a, i, f, err);
            else
                rlt_tree_write_string(a->places[i].pointer, f);
        }
        putc(']', f);
        rc = fclose(f) && !rc ? rlt_nomem(err) : rc;
    }
    if (!rc && sqlite3_prepare_v2(s->db, "INSERT INTO axis VALUES(?1,?2,?3,?4)", -1, &q, NULL) != SQLITE_OK)
        rc = rlt__store_fail(s, err);
    if (!rc) {
        sqlite3_bind_int64(q, 1, number);
        sqlite3_bind_text(q, 2, a->name, -1, SQLITE_STATIC);
        sqlite3_bind_text(q, 3, list[0], -1, SQLITE_STATIC);
        sqlite3_bind_text(q, 4, list[1], -1, SQLITE_STATIC);
        rc = rlt__store_finish(s, q, err);
    }
    sqlite3_finalize(q);
    free(list[0]);
    free(list[1]);
    return rc;
}

/* Creates the tables. The table of results has a column for each stored figure. */
static int create_tables(rlt_store *s, rlt_error *err)
{
    char figures[RLT_FIGURE_LIST], result[RLT_FIGURE_LIST + 80];
    int rc = rlt__store_execute(s, schema, err);
    snprintf(result, sizeof result, "CREATE TABLE result(point INTEGER PRIMARY KEY, %s)",
             rlt_figure_list("", true, figures));
    return rc ? rc : rlt__store_execute(s, result, err);
}

int rlt__store_add_figures(rlt_store *s, const char *table, rlt_error *err)
{
    int rc = 0;
    for (int i = 0; i < RLT_FIG_STORED && !rc; i++) {
        const rlt_figure_info *f = &rlt_figure_infos[i];
        int64_t there = 0;
        char sql[160];
        snprintf(sql, sizeof sql, "SELECT count(*) FROM pragma_table_info('%s') WHERE name='%s'", table,
                 f->name);
        if ((rc = rlt_store_query(s, sql, rlt__store_counts, &there, err)) || there)
            continue;
        snprintf(sql, sizeof sql, "ALTER TABLE %s ADD COLUMN %s %s", table, f->name, rlt_figure_type(f));
        rc = rlt__store_execute(s, sql, err);
    }
    return rc;
}

static int insert_study(rlt_store *s, const rlt_sweep_study *st, const char *shard, rlt_error *err)
{
    char *objectives = objectives_text(st), *columns = columns_text(st);
    sqlite3_stmt *q = NULL;
    int rc = objectives && columns ? 0 : rlt_nomem(err);
    if (!rc && sqlite3_prepare_v2(s->db, "INSERT INTO study VALUES(1,?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)", -1, &q,
                                  NULL) != SQLITE_OK)
        rc = rlt__store_fail(s, err);
    if (!rc) {
        sqlite3_bind_int(q, 1, SCHEMA_VERSION);
        sqlite3_bind_text(q, 2, st->name, -1, SQLITE_STATIC);
        sqlite3_bind_text(q, 3, rlt_json_text(st->doc), -1, SQLITE_STATIC);
        sqlite3_bind_text(q, 4, st->hash, -1, SQLITE_STATIC);
        sqlite3_bind_text(q, 5, rlt_version, -1, SQLITE_STATIC);
        sqlite3_bind_int64(q, 6, (sqlite3_int64)st->points);
        sqlite3_bind_text(q, 7, objectives, -1, SQLITE_STATIC);
        sqlite3_bind_text(q, 8, shard, -1, SQLITE_STATIC);
        sqlite3_bind_text(q, 9, st->command->name, -1, SQLITE_STATIC);
        sqlite3_bind_text(q, 10, columns, -1, SQLITE_STATIC);
        rc = rlt__store_finish(s, q, err);
    }
    sqlite3_finalize(q);
    free(objectives);
    free(columns);
    for (uint32_t i = 0; i < st->n_axes && !rc; i++)
        rc = insert_axis(s, &st->axes[i], i, err);
    return rc;
}

int rlt_store_begin(rlt_store *s, const rlt_sweep_study *study, const char *shard, rlt_error *err)
{
    study_row r;
    s->began_s = s->committed_s = rlt__store_now_s();
    int rc = read_study(s, &r, err);
    if (rc)
        return rc;
    if (!r.there)
        return (rc = rlt__store_begin(s, err)) || (rc = create_tables(s, err)) ||
                       (rc = insert_study(s, study, shard, err)) ||
                       (rc = rlt__store_scope_put(s, study, shard, err))
                   ? rc
                   : rlt_store_commit(s, err);
    if (strcmp(r.shard, shard ? shard : "") != 0)
        return rlt_fail(err, RLT_ESCHEMA, s->path, "holds %s%s, not %s%s",
                        r.shard[0] ? "shard " : "the whole study", r.shard,
                        shard ? "shard " : "the whole study", shard ? shard : "");
    bool grows = strcmp(r.hash, study->hash) != 0;
    if ((grows && (rc = rlt__store_begin(s, err))) || (rc = rlt__store_add_figures(s, "result", err)))
        return rc;
    if (grows && ((rc = rlt__store_grow(s, study, err)) || (rc = insert_study(s, study, shard, err)) ||
                  (rc = rlt__store_scope_put(s, study, shard, err))))
        return rc;
    rc = rlt__store_kept_open(s, err);
    return rc || !grows ? rc : rlt_store_commit(s, err);
}

int rlt_store_merge(rlt_store *s, const char *from, rlt_error *err)
{
    static const char *const tables[] = {"study", "axis", "point", "link", "input"};
    char figures[RLT_FIGURE_LIST], results[2 * RLT_FIGURE_LIST + 100];
    char *attach = sqlite3_mprintf("ATTACH %Q AS other", from);
    study_row own;
    int64_t same = 0;
    int rc = attach ? access(from, R_OK)
                          ? rlt_fail(err, RLT_EIO, from, "cannot be opened: %s", strerror(errno))
                          : rlt__store_execute(s, attach, err)
                    : rlt_nomem(err);
    sqlite3_free(attach);
    if (rc || (rc = read_study(s, &own, err)) || (rc = rlt__store_begin(s, err)))
        return rc;
    if (!own.there)
        rc = create_tables(s, err);
    else
        rc = rlt_store_query(s, "SELECT count(*) FROM other.study o, main.study m WHERE o.hash=m.hash",
                             rlt__store_counts, &same, err);
    if (!rc && own.there && !same)
        rc = rlt_fail(err, RLT_ESCHEMA, from, "is of another study than %s", s->path);
    for (size_t i = 0; i < sizeof tables / sizeof *tables && !rc; i++) {
        char sql[120];
        snprintf(sql, sizeof sql, "INSERT OR IGNORE INTO main.%s SELECT * FROM other.%s", tables[i],
                 tables[i]);
        rc = rlt__store_execute(s, sql, err);
    }
    rlt_figure_list("", false, figures);
    snprintf(results, sizeof results,
             "INSERT OR IGNORE INTO main.result(point,%s) SELECT point,%s FROM other.result", figures,
             figures);
    if (!rc)
        rc = rlt__store_execute(s, results, err);
    if (!rc)
        rc = rlt__store_kept_merge(s, err);
    if (!rc)
        rc = rlt__store_execute(s, "UPDATE main.study SET shard=NULL", err);
    if (!rc)
        rc = rlt_store_commit(s, err);
    if (!rc)
        rc = rlt__store_execute(s, "DETACH other", err);
    return rc;
}

int rlt_store_settle(rlt_store *s, rlt_error *err)
{
    int rc = rlt__store_begin(s, err);
    if (!rc)
        rc = rlt__store_execute(
            s,
            "UPDATE point SET same_as=(SELECT nullif(min(o.point),point.point) FROM point o WHERE "
            "o.key=point.key)",
            err);
    if (!rc)
        rc = rlt__store_kept_settle(s, err);
    return rc ? rc : rlt_store_commit(s, err);
}
#endif
