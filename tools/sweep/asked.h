/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sweep's database, opened for queries: study, columns and rows. */
#ifndef RLT_TOOLS_SWEEP_ASKED_H
#define RLT_TOOLS_SWEEP_ASKED_H

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "tools/sweep/store/store.h"
#include "tools/sweep/study/study.h"

/* The study in the database, and its views. `points` has a column for each axis, those of point and result,
 * and the gain over the study's baseline. With replicas there is also `means`: one row for all replicas of a
 * draw, with the number of the first and the means of figures; it is failed if any replica failed. */
typedef struct rlt_asked_axis {
    char *name;   /* name of its column */
    char **parts; /* for a zipped axis: short names of its pointers */
    uint32_t n_parts;
} rlt_asked_axis;
typedef struct rlt_asked {
    rlt_store *store;
    const char *baseline; /* SQL condition; NULL: the study has no baseline */
    uint32_t compared;    /* axis that distinguishes the points of a case; RLT_NONE */
    rlt_asked_axis axes[RLT_SWEEP_AXES];
    char **columns; /* names */
    bool usual;     /* the study names no columns: these are the usual ones */
    bool *max;      /* goal of objective i */
    char **objectives;
    uint32_t n_axes, n_columns, n_objectives;
    int64_t replicas;
    const char *ranked;            /* view to rank by: `means`; without replicas `points` */
    struct rlt_asked_study *study; /* read when a command is first asked for */
    rlt_arena arena;
} rlt_asked;
int rlt_asked_open(rlt_asked *a, const char *db, rlt_error *err) RLT_MUST_USE;
void rlt_asked_close(rlt_asked *a);
/* Runs a query and writes its rows as "table", "csv" or "json" (JSON lines). A table leaves out empty
 * columns, and has at most `most`: the point, objectives and time before others; 0: all columns. A column
 * "command" follows the table, line by line. */
int rlt_asked_write(rlt_asked *a, const char *sql, uint32_t most, const char *format, const char *path,
                    rlt_error *err) RLT_MUST_USE;
/* Makes the columns of a SELECT from a list such as "bw,time_ps". NULL: "point", name, axes, replica, status,
 * error and the study's columns; for people the objectives follow the axes. "command" is a column, too.
 * RLT_EUSAGE names the nearest column. */
int rlt_asked_select(rlt_asked *a, const char *chosen, bool people, char **out, rlt_error *err) RLT_MUST_USE;
/* Reads the study in the database. Free in every case. */
int rlt_asked_study_of(const rlt_asked *a, rlt_sweep_study *out, rlt_error *err) RLT_MUST_USE;
/* Finds the place of a point in the study, by its number in the database. RLT_ESCHEMA. */
int rlt_asked_point(const rlt_asked *a, const rlt_sweep_study *s, int64_t number, rlt_sweep_point *out,
                    rlt_error *err) RLT_MUST_USE;
/* Makes the SQL function ringlet_command(point) known: the command that repeats a point. Internal, as is the
 * end of what it uses; `a` must not move in between. */
int rlt_asked_commands(rlt_asked *a, rlt_error *err) RLT_MUST_USE;
void rlt_asked_study_free(rlt_asked *a);
/* Formats an axis's value for people: "tp=2,pp=1" for a zipped "[2,1]", the name of an object that has one,
 * "16" for "switch.slots=16" of an axis called slots. The text belongs to the arena. NULL: err says why. */
const char *rlt_asked_shown(rlt_arena *arena, const rlt_asked_axis *x, const char *text,
                            rlt_error *err) RLT_MUST_USE;
/* For rlt_store_query: reads the first cell into an int64_t. */
int rlt_asked_integer(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err);
/* Tells whether a list of columns has a name; internal. */
bool rlt__asked_listed(char *const *list, uint32_t n, const char *name);
/* Checks that a statement may use a column of results by this name. RLT_EUSAGE names the nearest. */
int rlt_asked_column(const char *name, const char *where, rlt_error *err) RLT_MUST_USE;

/* Computes the first-order share of the variance of a column for each axis. */
int rlt_asked_shares(rlt_asked *a, const char *column, double *shares, rlt_error *err) RLT_MUST_USE;

/* Writes by how much the best of the other points beat the best baseline, and in how many cases, for each
 * value of each axis, as table, CSV or JSON; "-": standard output. RLT_EUSAGE: the study has no baseline. */
int rlt_asked_wins(rlt_asked *a, const char *format, const char *path, rlt_error *err) RLT_MUST_USE;

#endif
