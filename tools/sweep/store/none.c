/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replaces the database in builds without SQLite: reports which package provides it. */
#include "sim/base/error.h"
#include "tools/sweep/store/store.h"
#include "tools/sweep/study/study.h"
#include "workload/experiment/figures.h"

#ifndef RLT_WITH_SQLITE
static int missing(rlt_error *err)
{
    return rlt_fail(err, RLT_EUNSUPPORTED, "sweep",
                    "this ringlet was built without SQLite: apt-get install libsqlite3-dev, then make");
}

const char *rlt_store_version(void)
{
    return "not built in";
}

int rlt_store_open(const char *path, rlt_store_mode mode, rlt_store **out, rlt_error *err)
{
    (void)path;
    (void)mode;
    *out = NULL;
    return missing(err);
}

void rlt_store_done(rlt_store *s)
{
    (void)s;
}

void rlt_store_close(rlt_store *s)
{
    (void)s;
}

void rlt_store_guard(rlt_store *s)
{
    (void)s;
}

int rlt_store_begin(rlt_store *s, const rlt_sweep_study *study, const char *shard, rlt_error *err)
{
    (void)s;
    (void)study;
    (void)shard;
    return missing(err);
}

int rlt_store_merge(rlt_store *s, const char *from, rlt_error *err)
{
    (void)s;
    (void)from;
    return missing(err);
}

int rlt_store_settle(rlt_store *s, rlt_error *err)
{
    (void)s;
    return missing(err);
}

int rlt_store_kept(rlt_store *s, const uint64_t key[2], int64_t *kept, rlt_error *err)
{
    (void)s;
    (void)key;
    (void)kept;
    return missing(err);
}

int rlt_store_hidden(rlt_store *s, uint64_t *n, rlt_error *err)
{
    (void)s;
    (void)n;
    return missing(err);
}

int rlt_store_scope(rlt_store *s, char *dropped, size_t size, int64_t *points, rlt_error *err)
{
    (void)s;
    (void)dropped;
    (void)size;
    (void)points;
    return missing(err);
}

int rlt_store_call(rlt_store *s, const char *name, rlt_store_texter *call, void *ctx, rlt_error *err)
{
    (void)s;
    (void)name;
    (void)call;
    (void)ctx;
    return missing(err);
}

int rlt_store_count(rlt_store *s, uint64_t *done, uint64_t *failed, int64_t *last, rlt_error *err)
{
    (void)s;
    (void)done;
    (void)failed;
    (void)last;
    return missing(err);
}

int rlt_store_has(rlt_store *s, uint64_t point, bool *there, rlt_error *err)
{
    (void)s;
    (void)point;
    (void)there;
    return missing(err);
}

int rlt_store_find(rlt_store *s, const uint64_t key[2], uint64_t before, int64_t *point, rlt_error *err)
{
    (void)s;
    (void)key;
    (void)before;
    (void)point;
    return missing(err);
}

int rlt_store_figure(rlt_store *s, uint64_t point, rlt_figure f, double *value, bool *there, rlt_error *err)
{
    (void)s;
    (void)point;
    (void)f;
    (void)value;
    (void)there;
    return missing(err);
}

int rlt_store_put(rlt_store *s, const rlt_store_row *row, rlt_error *err)
{
    (void)s;
    (void)row;
    return missing(err);
}

int rlt_store_input(rlt_store *s, const char *what, const char *path, uint64_t hash, rlt_error *err)
{
    (void)s;
    (void)what;
    (void)path;
    (void)hash;
    return missing(err);
}

int rlt_store_commit(rlt_store *s, rlt_error *err)
{
    (void)s;
    return missing(err);
}

int rlt_store_query(rlt_store *s, const char *sql,
                    int (*row)(void *ctx, const rlt_store_cell *cells, uint32_t n, rlt_error *err), void *ctx,
                    rlt_error *err)
{
    (void)s;
    (void)sql;
    (void)row;
    (void)ctx;
    return missing(err);
}

int rlt_store_failed(rlt_store *s, uint64_t point, bool *failed, rlt_error *err)
{
    (void)s;
    (void)point;
    (void)failed;
    return missing(err);
}
#endif
