/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sweep's database opened to be asked: its study, its columns, its rows. */
#ifndef RLT_TOOLS_SWEEP_ASKED_H
#define RLT_TOOLS_SWEEP_ASKED_H

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "tools/sweep/store/store.h"
#include "tools/sweep/study/study.h"

/* The study as it stands in it, and a view `points` with a column for each
 * axis beside those of point and result, and with the gain over the study's baseline. With replicas also
 * `means`, the same with a row for all of a draw: the first one's number, and the means of figures, failed
 * if any did. */
typedef struct rlt_asked_axis {
    char *name;   /* of its column */
    char **parts; /* of a zipped one: what its pointers are called for short */
    uint32_t n_parts;
} rlt_asked_axis;
typedef struct rlt_asked {
    rlt_store *store;
    const char *baseline; /* SQL condition; NULL: the study has no baseline */
    uint32_t compared;    /* axis in which the points of a case differ; RLT_NONE */
    rlt_asked_axis axes[RLT_SWEEP_AXES];
    char **columns; /* names */
    bool *max;      /* goal of objective i */
    char **objectives;
    uint32_t n_axes, n_columns, n_objectives;
    int64_t replicas;
    const char *ranked; /* view to rank by: means, or points where there are no replicas */
    rlt_arena arena;
} rlt_asked;
int rlt_asked_open(rlt_asked *a, const char *db, rlt_error *err) RLT_MUST_USE;
void rlt_asked_close(rlt_asked *a);
/* Runs a query and writes its rows, "table", "csv" or "json" (JSON lines). A table leaves out what no row
 * has, unless `all`. */
int rlt_asked_write(rlt_asked *a, const char *sql, bool all, const char *format, const char *path,
                    rlt_error *err) RLT_MUST_USE;
/* What stands behind SELECT: the columns of a list, "bw,time_ps"; NULL: "point", name, axes, replica, status,
 * error, and the study's, its objectives behind the axes for people. RLT_EUSAGE with the nearest one. */
int rlt_asked_select(rlt_asked *a, const char *chosen, bool people, char **out, rlt_error *err) RLT_MUST_USE;
/* An axis' value for people: "tp=2,pp=1" of a zipped "[2,1]", the name of an object that has one, "16" of
 * "switch.slots=16" where the axis is called slots. Belongs to the arena; NULL: err says why. */
const char *rlt_asked_shown(rlt_arena *arena, const rlt_asked_axis *x, const char *text,
                            rlt_error *err) RLT_MUST_USE;
/* For rlt_store_query: the first cell into an int64_t. */
int rlt_asked_integer(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err);
/* A column of results by name, for a statement. RLT_EUSAGE with the nearest one. */
int rlt_asked_column(const char *name, const char *where, rlt_error *err) RLT_MUST_USE;

/* First-order shares of the variance of a column, by axis. */
int rlt_asked_shares(rlt_asked *a, const char *column, double *shares, rlt_error *err) RLT_MUST_USE;

/* Where the best of the others beat the best baseline, and by how much, by each axis: as table, CSV or JSON
 * to a file, "-" being standard output. RLT_EUSAGE: the study has no baseline. */
int rlt_asked_wins(rlt_asked *a, const char *format, const char *path, rlt_error *err) RLT_MUST_USE;

#endif
