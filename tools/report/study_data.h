/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a study's result file holds, read only: its text, its axes, its points with their figures, and the
 * links of a point. A file that a sweep still writes to may be read at the same time: what one rlt_study sees
 * is of one instant. Texts live until the next call on the same study.
 */
#ifndef RLT_TOOLS_REPORT_STUDY_DATA_H
#define RLT_TOOLS_REPORT_STUDY_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"

typedef struct rlt_study rlt_study;

typedef struct rlt_study_head {
    const char *name, *text, *hash, *ringlet;
    const char *objectives; /* JSON [{"column", "goal"}] */
    const char *shard;
    const char *command; /* "run" or "coll" */
    const char *columns; /* JSON: figures to show; empty: all */
    int64_t points;      /* planned */
} rlt_study_head;

/* A figure is whole, or not, or not known. */
typedef struct rlt_study_figure {
    enum { RLT_FIGURE_NONE, RLT_FIGURE_WHOLE, RLT_FIGURE_REAL } kind;
    int64_t whole;
    double real;
} rlt_study_figure;

enum { RLT_STUDY_FIGURES = 15 };

typedef struct rlt_study_point {
    int64_t point, replica;
    const char *name, *coordinates, *options, *error; /* coordinates: JSON; NULL: none */
    bool failed;
    int64_t same_as; /* whose figures these are; -1: its own */
    rlt_study_figure figures[RLT_STUDY_FIGURES];
    const char *busiest_link;
} rlt_study_point;

typedef struct rlt_study_link {
    int64_t point, dim, count, bytes, busy_ps;
    const char *id;
    double utilization;
} rlt_study_link;

/* RLT_EIO: no such file; RLT_EMALFORMED: not a database; RLT_ESCHEMA: not of a study. */
int rlt_study_open(const char *path, rlt_study **out, rlt_error *err) RLT_MUST_USE;
void rlt_study_close(rlt_study *s);
/* Whether the file is an SQLite database, by its first bytes. */
bool rlt_is_study(const char *path);

int rlt_study_head_of(rlt_study *s, rlt_study_head *out, rlt_error *err) RLT_MUST_USE;
/* Column of figure i, as in the file: "time_ps"; NULL past the end. */
const char *rlt_study_figure_name(uint32_t i);
/* RLT_ERANGE: no such point. */
int rlt_study_point_of(rlt_study *s, int64_t point, rlt_study_point *out, rlt_error *err) RLT_MUST_USE;
/* Iteration, in order: 1: one more, 0: the end, negative: an error. `pointers` (into a point's options) and
 * `values` are JSON. Links of each point the busiest first. */
int rlt_study_next_axis(rlt_study *s, const char **name, const char **pointers, const char **values,
                        rlt_error *err) RLT_MUST_USE;
int rlt_study_next_point(rlt_study *s, rlt_study_point *out, rlt_error *err) RLT_MUST_USE;
int rlt_study_next_link(rlt_study *s, rlt_study_link *out, rlt_error *err) RLT_MUST_USE;

#endif
