/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The database of a sweep: studies that grow, and what their rules drop. */
#include "tools/sweep/store/store.h"

#ifdef RLT_WITH_SQLITE
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/text.h"
#include "sim/text/json.h"
#include "sim/text/tree.h"
#include "tools/sweep/store/sqlite.h"
#include "tools/sweep/study/study.h"
#include "workload/experiment/figures.h"

enum { SHOWN = 80, PATH = 200 };

/* Returns true if the database ("main", "other") has a table. */
static bool has_table(rlt_store *s, const char *database, const char *table)
{
    return sqlite3_table_column_metadata(s->db, database, table, NULL, NULL, NULL, NULL, NULL, NULL) ==
           SQLITE_OK;
}

/* Writes a value for a message; "nothing" for NULL. */
static void show_value(const rlt_json_tree *t, char *buffer)
{
    char *text = NULL;
    size_t length;
    snprintf(buffer, SHOWN, "nothing");
    FILE *f = t ? rlt_text_stream(&text, &length) : NULL;
    if (f) {
        rlt_tree_write(t, NULL, f);
        if (!fclose(f))
            snprintf(buffer, SHOWN, "%.60s%s", text, length > 60 ? "..." : "");
    }
    free(text);
}

/* Finds the first place in which two values differ. Appends it to `path`. */
static void find_difference(const rlt_json_tree *old, const rlt_json_tree *new, char path[PATH],
                            const rlt_json_tree *at[2])
{
    at[0] = old;
    at[1] = new;
    if (!old || !new || old->kind != new->kind || old->kind != RLT_TREE_OBJECT)
        return;
    for (int pass = 0; pass < 2; pass++)
        for (const rlt_json_tree *c = pass ? new->first : old->first; c; c = c->next) {
            const rlt_json_tree *other = rlt_tree_get(pass ? old : new, c->key);
            if (other && rlt_tree_same(c, other))
                continue;
            size_t used = strlen(path);
            snprintf(path + used, PATH - used, "/%.60s", c->key);
            find_difference(pass ? other : c, pass ? c : other, path, at);
            return;
        }
}

static int refuse(const rlt_store *s, const rlt_sweep_study *study, const char *what, const char *old,
                  const char *new, rlt_error *err)
{
    return rlt_fail(
        err, RLT_ESCHEMA, s->path,
        "is of another study than %s: %s is %s in the database and %s in the study; axes, points, "
        "rules, objectives and columns may change, else use another database",
        study->path, what, old, new);
}

static int compare_bases(const rlt_store *s, const rlt_sweep_study *old, const rlt_sweep_study *new,
                         rlt_error *err)
{
    rlt_arena arena = {0};
    rlt_json_tree *a = NULL, *b = NULL;
    const rlt_json_tree *at[2];
    char path[PATH] = "base", texts[2][SHOWN];
    int rc = rlt_tree_make(&arena, rlt_json_get(rlt_json_root(old->doc), "base"), &a, err);
    if (!rc)
        rc = rlt_tree_make(&arena, rlt_json_get(rlt_json_root(new->doc), "base"), &b, err);
    if (!rc && !rlt_tree_same(a, b)) {
        find_difference(a, b, path, at);
        for (int i = 0; i < 2; i++)
            show_value(at[i], texts[i]);
        rc = refuse(s, new, path, texts[0], texts[1], err);
    }
    rlt_arena_free(&arena);
    return rc;
}

static int compare_studies(const rlt_store *s, const rlt_sweep_study *old, const rlt_sweep_study *new,
                           rlt_error *err)
{
    static const char *const links[] = {"none", "summary", "all"};
    if (old->command != new->command)
        return refuse(s, new, "command", old->command->name, new->command->name, err);
    if (old->links != new->links)
        return refuse(s, new, "links", links[old->links], links[new->links], err);
    return compare_bases(s, old, new, err);
}

static int see_text(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err)
{
    char **text = ctx;
    (void)n;
    *text = strdup(c[0].kind == RLT_CELL_TEXT ? c[0].text : "");
    return *text ? 0 : rlt_nomem(err);
}

static int check_growth(rlt_store *s, const rlt_sweep_study *study, rlt_error *err)
{
    char *text = NULL;
    rlt_sweep_study old = {0};
    rlt_error why = {0};
    int rc = rlt_store_query(s, "SELECT text FROM main.study", see_text, &text, err);
    if (!rc && (rc = rlt_sweep_study_parse("study.text", text ? text : "", &old, &why)))
        rc = rlt_fail(err, rc == RLT_ENOMEM ? rc : RLT_ESCHEMA, s->path,
                      "is of another study than %s, which cannot be read any more: %.100s: %.200s",
                      study->path, why.where, why.what);
    if (!rc)
        rc = compare_studies(s, &old, study, err);
    rlt_sweep_study_free(&old);
    free(text);
    return rc;
}

static int create_kept(rlt_store *s, rlt_error *err)
{
    char figures[RLT_FIGURE_LIST], sql[RLT_FIGURE_LIST + 100];
    int rc = rlt__store_execute(
        s,
        "CREATE TABLE IF NOT EXISTS kept_point(kept INTEGER PRIMARY KEY, key BLOB UNIQUE, status INTEGER, "
        "error TEXT);"
        "CREATE TABLE IF NOT EXISTS kept_link(kept INTEGER, id TEXT, dim INTEGER, count INTEGER, bytes "
        "INTEGER, busy_ps INTEGER, active_ps INTEGER, utilization REAL, PRIMARY KEY(kept,id)) WITHOUT ROWID;",
        err);
    snprintf(sql, sizeof sql, "CREATE TABLE IF NOT EXISTS kept_result(kept INTEGER PRIMARY KEY, %s)",
             rlt_figure_list("", true, figures));
    if (!rc)
        rc = rlt__store_execute(s, sql, err);
    return rc ? rc : rlt__store_add_figures(s, "kept_result", err);
}

/* Adds points with results and links to what is kept. `from` has the points, with the column `number`. Of
 * equal options the first counts. */
static int keep(rlt_store *s, const char *from, const char *number, rlt_error *err)
{
    static const char *const prefixes[] = {"main.", "other.kept_"};
    const char *p = prefixes[strcmp(number, "kept") == 0];
    char figures[RLT_FIGURE_LIST], plain[RLT_FIGURE_LIST], sql[2 * RLT_FIGURE_LIST + 300];
    snprintf(sql, sizeof sql,
             "INSERT OR IGNORE INTO main.kept_point(key,status,error) SELECT key,status,error FROM %s ORDER "
             "BY %s",
             from, number);
    int rc = rlt__store_execute(s, sql, err);
    snprintf(sql, sizeof sql,
             "INSERT OR IGNORE INTO main.kept_result(kept,%s) SELECT k.kept,%s FROM %sresult r JOIN %s p "
             "USING(%s) JOIN main.kept_point k ON k.key=p.key ORDER BY p.%s",
             rlt_figure_list("", false, plain), rlt_figure_list("r.", false, figures), p, from, number,
             number);
    if (!rc)
        rc = rlt__store_execute(s, sql, err);
    snprintf(sql, sizeof sql,
             "INSERT OR IGNORE INTO main.kept_link SELECT k.kept,l.id,l.dim,l.count,l.bytes,l.busy_ps,"
             "l.active_ps,l.utilization FROM %slink l JOIN %s p USING(%s) JOIN main.kept_point k ON "
             "k.key=p.key ORDER BY p.%s",
             p, from, number, number);
    return rc ? rc : rlt__store_execute(s, sql, err);
}

static int create_scope(rlt_store *s, rlt_error *err)
{
    return rlt__store_execute(
        s,
        "CREATE TABLE IF NOT EXISTS main.dropped(reason TEXT PRIMARY KEY, points INTEGER) WITHOUT ROWID;"
        "CREATE TABLE IF NOT EXISTS main.share(id INTEGER PRIMARY KEY CHECK(id=1), points INTEGER);",
        err);
}

int rlt__store_grow(rlt_store *s, const rlt_sweep_study *study, rlt_error *err)
{
    int rc = check_growth(s, study, err);
    if (rc || (rc = create_kept(s, err)) || (rc = keep(s, "main.point", "point", err)))
        return rc;
    return rlt__store_execute(s,
                              "DELETE FROM point; DELETE FROM result; DELETE FROM link; DELETE FROM axis; "
                              "DELETE FROM study;",
                              err);
}

int rlt__store_kept_open(rlt_store *s, rlt_error *err)
{
    uint64_t n = 0;
    int rc = rlt_store_hidden(s, &n, err);
    s->kept = n > 0;
    return rc || !s->kept ? rc : create_kept(s, err);
}

int rlt__store_kept_merge(rlt_store *s, rlt_error *err)
{
    int rc = 0;
    if (has_table(s, "other", "dropped") && !(rc = create_scope(s, err)))
        rc = rlt__store_execute(s, "INSERT OR IGNORE INTO main.dropped SELECT * FROM other.dropped", err);
    if (rc || !has_table(s, "other", "kept_point"))
        return rc;
    return (rc = create_kept(s, err)) ? rc : keep(s, "other.kept_point", "kept", err);
}

int rlt__store_kept_settle(rlt_store *s, rlt_error *err)
{
    if (!has_table(s, "main", "kept_point"))
        return 0;
    return rlt__store_execute(s,
                              "DELETE FROM kept_point WHERE key IN (SELECT key FROM point);"
                              "DELETE FROM kept_result WHERE kept NOT IN (SELECT kept FROM kept_point);"
                              "DELETE FROM kept_link WHERE kept NOT IN (SELECT kept FROM kept_point);",
                              err);
}

int rlt_store_hidden(rlt_store *s, uint64_t *n, rlt_error *err)
{
    int64_t count = 0;
    int rc = has_table(s, "main", "kept_point")
                 ? rlt_store_query(s, "SELECT count(*) FROM kept_point", rlt__store_counts, &count, err)
                 : 0;
    *n = (uint64_t)count;
    return rc;
}

int rlt__store_scope_put(rlt_store *s, const rlt_sweep_study *study, const char *shard, rlt_error *err)
{
    uint32_t i = 0, shards = 1;
    char sql[160];
    sqlite3_stmt *q = NULL;
    int rc = rlt_sweep_shard(shard, &i, &shards, err);
    uint64_t points = rc ? 0 : rlt_sweep_share(study, i, shards);
    snprintf(sql, sizeof sql, "INSERT INTO share VALUES(1,%llu)", (unsigned long long)points);
    if (rc || (rc = create_scope(s, err)) ||
        (rc = rlt__store_execute(s, "DELETE FROM dropped; DELETE FROM share;", err)) ||
        (rc = rlt__store_execute(s, sql, err)))
        return rc;
    if (sqlite3_prepare_v2(s->db, "INSERT INTO dropped VALUES(?1,?2)", -1, &q, NULL) != SQLITE_OK)
        return rlt__store_fail(s, err);
    for (i = 0; i < study->n_reasons && !rc; i++) {
        if (!study->reasons[i].points)
            continue;
        sqlite3_bind_text(q, 1, study->reasons[i].text, -1, SQLITE_STATIC);
        sqlite3_bind_int64(q, 2, (sqlite3_int64)study->reasons[i].points);
        rc = rlt__store_finish(s, q, err);
    }
    sqlite3_finalize(q);
    return rc;
}

typedef struct reasons {
    char *buffer;
    size_t size, used;
} reasons;

static int see_reason(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err)
{
    reasons *r = ctx;
    (void)n;
    (void)err;
    if (!r->used)
        r->used = (size_t)snprintf(r->buffer, r->size, "%lld dropped:", (long long)c[2].integer);
    if (r->used + 1 < r->size)
        r->used += (size_t)snprintf(r->buffer + r->used, r->size - r->used, "%s %lld %s",
                                    r->buffer[r->used - 1] == ':' ? "" : ";", (long long)c[1].integer,
                                    c[0].kind == RLT_CELL_TEXT ? c[0].text : "");
    return 0;
}

int rlt_store_scope(rlt_store *s, char *dropped, size_t size, int64_t *points, rlt_error *err)
{
    reasons r = {dropped, size, 0};
    int rc = 0;
    *dropped = '\0';
    *points = -1;
    if (has_table(s, "main", "share"))
        rc = rlt_store_query(s, "SELECT points FROM share", rlt__store_counts, points, err);
    if (!rc && has_table(s, "main", "dropped"))
        rc = rlt_store_query(
            s, "SELECT reason, points, sum(points) OVER () FROM dropped ORDER BY points DESC, reason",
            see_reason, &r, err);
    return rc;
}
#endif
