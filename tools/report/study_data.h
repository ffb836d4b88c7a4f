/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Read access to a study's result file: text, axes, points with their figures, and links of a point. A sweep
 * may write the file at the same time: an rlt_study sees one consistent snapshot. Texts live until the next
 * call on the same study.
 */
#ifndef RLT_TOOLS_REPORT_STUDY_DATA_H
#define RLT_TOOLS_REPORT_STUDY_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "workload/replay/causes.h"

typedef struct rlt_study rlt_study;

typedef struct rlt_study_head {
    const char *name, *text, *hash, *ringlet;
    const char *objectives; /* JSON [{"column", "goal"}] */
    const char *shard;
    const char *command; /* "run" or "coll" */
    const char *columns; /* JSON list of figures to show; empty: all */
    int64_t points;      /* planned number */
} rlt_study_head;

/* A figure is an integer, a real number, or absent. */
typedef struct rlt_study_figure {
    enum { RLT_FIGURE_NONE, RLT_FIGURE_WHOLE, RLT_FIGURE_REAL } kind;
    int64_t whole;
    double real;
} rlt_study_figure;

enum {
    RLT_STUDY_OWN = 15,
    RLT_STUDY_FIGURES = RLT_STUDY_OWN + RLT_CAUSES
}; /* causes without a column: none */

typedef struct rlt_study_point {
    int64_t point, replica;
    const char *name, *coordinates, *options, *error; /* coordinates: JSON; NULL: none */
    bool failed;
    int64_t same_as; /* point with the same options, whose figures these are; -1: none */
    rlt_study_figure figures[RLT_STUDY_FIGURES];
    const char *busiest_link;
} rlt_study_point;

typedef struct rlt_study_link {
    int64_t point, dim, count, bytes, busy_ps;
    const char *id;
    double utilization;
} rlt_study_link;

/* Opens a file. RLT_EIO: cannot be read; RLT_EMALFORMED: not a database; RLT_ESCHEMA: not a study. */
int rlt_study_open(const char *path, rlt_study **out, rlt_error *err) RLT_MUST_USE;
void rlt_study_close(rlt_study *s);
/* Returns 1 if the file is an SQLite database, by its first bytes, 0 if not or if there is none, or a
 * negative error if it cannot be read. */
int rlt_is_study(const char *path, rlt_error *err) RLT_MUST_USE;

int rlt_study_head_of(rlt_study *s, rlt_study_head *out, rlt_error *err) RLT_MUST_USE;
/* Returns the column name of figure i in the file, such as "time_ps"; NULL past the end. The causes of time
 * (workload/replay/causes.h) come last. Files of earlier versions lack them: such figures are absent. */
const char *rlt_study_figure_name(uint32_t i);
/* Reads a point. RLT_ERANGE: no such point. */
int rlt_study_point_of(rlt_study *s, int64_t point, rlt_study_point *out, rlt_error *err) RLT_MUST_USE;
/* Iterate in order. Return 1: an item, 0: the end, negative: an error. `pointers` (into a point's options)
 * and `values` are JSON. Links come by point, the busiest first. */
int rlt_study_next_axis(rlt_study *s, const char **name, const char **pointers, const char **values,
                        rlt_error *err) RLT_MUST_USE;
int rlt_study_next_point(rlt_study *s, rlt_study_point *out, rlt_error *err) RLT_MUST_USE;
int rlt_study_next_link(rlt_study *s, rlt_study_link *out, rlt_error *err) RLT_MUST_USE;

#endif
