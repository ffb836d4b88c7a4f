/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A study: options of `run` or `coll` (`base`), axes that change values in them by JSON pointer, and rules
 * for the wanted combinations. Memory does not grow with the number of points: point i is computed from i.
 *
 * Numbering. Let axis j have n_j values. The grid has n_1 n_2 ... n_m places, numbered in mixed radix with
 * the last axis fastest. A draw is a place of the grid: place d itself for draw d; in a random sample, place
 * d of a permutation; in an adaptive sample, item d of a list that grows round by round. Draws that a filter
 * drops leave gaps. Point number = draw * replicas + replica; named points follow all draws. Example: axes of
 * 3 and 4 values and 5 replicas. Point 38 is replica 3 of draw 7, which in the grid has the values 1 and 3
 * (from 0).
 *
 * Coupled axes. A derived axis has an expression in place of values. It adds no places to the grid: its value
 * follows from the coordinates on other axes. Its n values are those that occur, in the grid's order. A place
 * is dropped if a filter or a rule drops it, if a derived value is a fraction of whole numbers, or if the
 * caller's test (skip_impossible) does. Each dropped place counts for its first reason.
 *
 * Baseline. A study may name the values of an axis that the others are compared with, by an SQL condition
 * over the columns: "baseline": {"axis": "algorithm", "where": "peak_occupancy is null"}. Points that differ
 * only in this axis form a case. Let f be the first objective of a point, and f_b the best one of a baseline
 * in its case. Its gain is f_b / f, or f / f_b if f is maximised.
 */
#ifndef RLT_TOOLS_SWEEP_STUDY_STUDY_H
#define RLT_TOOLS_SWEEP_STUDY_STUDY_H

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/text/json.h"
#include "sim/text/tree.h"
#include "tools/base/command.h"
#include "workload/experiment/figures.h"

enum {
    RLT_SWEEP_AXES = 32,
    RLT_SWEEP_POINTS = 10000000,
    RLT_SWEEP_VALUES = 1000000,
    RLT_SWEEP_OBJECTIVES = 8
};

/* A place in base, and the option that it belongs to. */
typedef struct rlt_sweep_place {
    const char *pointer;
    rlt_tree_place place;
    uint32_t option;
} rlt_sweep_place;

/* Values between two ends. `from` and `to` are logarithms if it is logarithmic. */
typedef struct rlt_sweep_range {
    double from, to;
    bool logarithmic;
    const char *first, *last, *unit; /* ends as in the file, and the unit that follows a number */
    rlt_json at;
} rlt_sweep_range;

typedef struct rlt_sweep_expression rlt_sweep_expression; /* expression.h */

typedef struct rlt_sweep_axis {
    const char *name;
    rlt_sweep_place *places;      /* changed together */
    uint32_t n_places, n;         /* n: number of values */
    const rlt_json_tree **shown;  /* value i as in the file; NULL: a range */
    const rlt_json_tree **values; /* with several places: n * n_places; else NULL */
    rlt_sweep_range range;
    /* A derived axis: its expression (else NULL), the axes that it depends on, the index of its value by
     * their coordinates (RLT_NONE: not whole), and the number of the reason for that. */
    const rlt_sweep_expression *from;
    bool *on;
    uint32_t *table, uneven;
} rlt_sweep_axis;

typedef struct rlt_sweep_named {
    const char *name, *text; /* text: that of "set" */
    rlt_sweep_place *places;
    const rlt_json_tree **values;
    uint32_t n;
} rlt_sweep_named;

/* A rule applies if all its terms hold. It then drops the point ("unless"); "only" drops all other points. */
typedef struct rlt_sweep_term {
    uint32_t axis;
    bool *holds; /* by value */
} rlt_sweep_term;
typedef struct rlt_sweep_rule {
    bool only;
    rlt_sweep_term *terms;
    uint32_t n;
} rlt_sweep_rule;

/* An expression that holds at every place that is kept. */
typedef struct rlt_sweep_condition {
    const rlt_sweep_expression *holds;
    rlt_json at;
    uint32_t reason;
} rlt_sweep_condition;

/* Why places are dropped, and how many points that takes away, with replicas. */
typedef struct rlt_sweep_reasons {
    const char *text;
    uint64_t points;
} rlt_sweep_reasons;

typedef struct rlt_sweep_objective {
    rlt_figure column;
    bool max;
} rlt_sweep_objective;

typedef enum rlt_sweep_sample { RLT_SWEEP_GRID, RLT_SWEEP_RANDOM, RLT_SWEEP_ADAPTIVE } rlt_sweep_sample;
/* A member of base. */
typedef struct rlt_sweep_member {
    const rlt_json_tree *node;
    uint32_t option;
    bool touched;           /* an axis or a named point changes part of it */
    rlt_option_texts texts; /* if not touched */
} rlt_sweep_member;

typedef struct rlt_sweep_study rlt_sweep_study;
struct rlt_sweep_study {
    rlt_arena arena;
    rlt_json_doc *doc, *topology; /* topology: file named by base, if pointers lead into it */
    const char *path, *name;
    char hash[17];
    const rlt_command *command;
    rlt_json_tree *base;
    rlt_sweep_member *members;
    uint32_t n_members;
    rlt_sweep_axis axes[RLT_SWEEP_AXES];
    uint32_t n_axes;
    rlt_sweep_named *named;
    uint32_t n_named;
    rlt_sweep_rule *rules;
    uint32_t n_rules;
    rlt_sweep_condition *conditions;
    uint32_t n_conditions;
    bool skip_impossible;
    /* The caller's test of places that all else keeps: returns a number from rlt_sweep_reason, or RLT_NONE to
     * keep the place. NULL: keeps all. */
    uint32_t (*test)(void *ctx, const rlt_sweep_study *s, const uint32_t at[RLT_SWEEP_AXES]);
    void *test_ctx;
    rlt_sweep_reasons *reasons;
    uint32_t n_reasons, reasons_capacity;
    uint32_t replicas, seed_option;
    bool one_network; /* all points stand on the same network model */
    rlt_sweep_sample sample;
    uint64_t sample_seed;
    uint32_t wanted, round; /* draws of a sample; of a round, if adaptive */
    rlt_sweep_objective aim;
    rlt_sweep_objective objectives[RLT_SWEEP_OBJECTIVES];
    uint32_t n_objectives;
    const char *baseline_axis, *baseline_where; /* NULL: none */
    rlt_figure columns[RLT_FIGURES];
    uint32_t n_columns; /* 0: all */
    rlt_figure_links links;
    uint64_t grid;    /* number of places */
    uint64_t draws;   /* including dropped ones */
    uint64_t points;  /* wanted ones, with replicas */
    uint64_t *chosen; /* adaptive: place of each draw so far */
    uint32_t n_chosen;
};

/* Reads and checks a study. RLT_EMALFORMED, RLT_ESCHEMA with file:line:column; RLT_ERANGE: too many points.
 * Free in every case. */
int rlt_sweep_study_read(const char *path, rlt_sweep_study *out, rlt_error *err) RLT_MUST_USE;
/* The same from a text. `name` stands for the file in messages. */
int rlt_sweep_study_parse(const char *name, const char *text, rlt_sweep_study *out,
                          rlt_error *err) RLT_MUST_USE;
void rlt_sweep_study_free(rlt_sweep_study *s);

typedef struct rlt_sweep_point {
    uint64_t id;
    uint32_t named; /* index of a named point, or RLT_NONE */
    uint32_t replica;
    uint64_t place; /* in the grid */
    uint32_t at[RLT_SWEEP_AXES];
} rlt_sweep_point;
/* Returns the last id + 1. */
uint64_t rlt_sweep_end(const rlt_sweep_study *s);
/* Counts points, draws and reasons again, after a test was set. For an adaptive or random sample the reasons
 * count the places that were looked at. RLT_ESCHEMA: a rule is wrong, or no point is left. */
int rlt_sweep_count(rlt_sweep_study *s, rlt_error *err) RLT_MUST_USE;
/* Returns the number of a reason; adds it if it is new. */
int rlt_sweep_reason(rlt_sweep_study *s, const char *text, uint32_t *reason, rlt_error *err) RLT_MUST_USE;
/* Writes "638 dropped: 420 ..., 218 ..." with the most frequent reasons; false: none are. */
bool rlt_sweep_dropped(const rlt_sweep_study *s, char *buffer, size_t size);
/* Computes point `id`. False: it is dropped. */
bool rlt_sweep_point_at(const rlt_sweep_study *s, uint64_t id, rlt_sweep_point *out);
/* Reads a shard: "2/3" is shard 1 of 3 (from 0). NULL: 0 of 1. RLT_EUSAGE. */
int rlt_sweep_shard(const char *text, uint32_t *shard, uint32_t *shards, rlt_error *err) RLT_MUST_USE;
/* Counts the points whose number is `shard` modulo `shards`. The study must not be adaptive. O(points). */
uint64_t rlt_sweep_share(const rlt_sweep_study *s, uint32_t shard, uint32_t shards);
/* Returns true if a place of the grid is kept. Sets its coordinates. */
bool rlt_sweep_keeps(const rlt_sweep_study *s, uint64_t place, uint32_t at[RLT_SWEEP_AXES]);
/* Returns the place with these coordinates; those on derived axes do not matter. */
uint64_t rlt_sweep_place_at(const rlt_sweep_study *s, const uint32_t at[RLT_SWEEP_AXES]);
/* Returns place k of a random order of all places. */
uint64_t rlt_sweep_permute(const rlt_sweep_study *s, uint64_t k);
/* Finds value i of an axis. A value of a range belongs to the arena, others to the study. */
int rlt_sweep_axis_value(const rlt_sweep_axis *a, uint32_t i, rlt_arena *arena, const rlt_json_tree **out,
                         rlt_error *err) RLT_MUST_USE;
/* Makes the point's options, in the order of the command's tables. Texts belong to the arena or the study. */
int rlt_sweep_options(const rlt_sweep_study *s, const rlt_sweep_point *p, rlt_arena *arena,
                      rlt_option_texts *out, rlt_error *err) RLT_MUST_USE;
/* Formats the indices of the values, such as [0,2,1]; all -1 for a named point. */
void rlt_sweep_coordinates(const rlt_sweep_study *s, const rlt_sweep_point *p, char *buffer, size_t size);
/* Returns {"pointer": value} for a named point, else NULL. Belongs to the study. */
const char *rlt_sweep_named_text(const rlt_sweep_study *s, const rlt_sweep_point *p);

/* Parts of the reader; internal. */
int rlt__sweep_axes(rlt_sweep_study *s, rlt_json list, rlt_error *err) RLT_MUST_USE;
int rlt__sweep_range(rlt_sweep_study *s, rlt_json v, rlt_sweep_axis *a, rlt_error *err) RLT_MUST_USE;
int rlt__sweep_filters(rlt_sweep_study *s, rlt_json list, rlt_error *err) RLT_MUST_USE;
/* Reads the expression of a derived axis and finds its values. */
int rlt__sweep_derive(rlt_sweep_study *s, rlt_sweep_axis *a, rlt_json text, rlt_error *err) RLT_MUST_USE;
/* Returns the index of a derived axis's value; RLT_NONE: it is not whole. */
uint32_t rlt__sweep_derived(const rlt_sweep_study *s, const rlt_sweep_axis *a,
                            const uint32_t at[RLT_SWEEP_AXES]);
/* Read rules, and evaluate one. */
int rlt__sweep_conditions(rlt_sweep_study *s, rlt_json list, rlt_error *err) RLT_MUST_USE;
int rlt__sweep_meets(const rlt_sweep_condition *c, const uint32_t at[RLT_SWEEP_AXES], bool *holds,
                     rlt_error *err) RLT_MUST_USE;
/* Sets the coordinates of a place. *reason RLT_NONE: it is kept; else why not. */
enum { RLT_SWEEP_FILTERED = 0 };
int rlt__sweep_judge(const rlt_sweep_study *s, uint64_t place, uint32_t at[RLT_SWEEP_AXES], uint32_t *reason,
                     rlt_error *err) RLT_MUST_USE;
/* Puts all points on packets if one of them needs packets and no option names the network. */
int rlt__sweep_network(rlt_sweep_study *s, rlt_error *err) RLT_MUST_USE;
/* Reads and checks a pointer into base. */
int rlt__sweep_place_of(rlt_sweep_study *s, rlt_json at, const char *pointer, rlt_sweep_place *out,
                        rlt_error *err) RLT_MUST_USE;

#endif
