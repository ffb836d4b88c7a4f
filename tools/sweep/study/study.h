/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A study: options of `run` or `coll` (`base`), axes that change values in them by JSON pointer, and which of
 * their combinations are wanted. Nothing in it grows with the number of points: point i is worked out from i.
 *
 * A study may say which of the values of an axis are the baseline of the others, by an SQL condition over
 * the columns: "baseline": {"axis": "algorithm", "where": "peak_occupancy is null"}. Points that differ in
 * this axis alone are a case; the gain of a point is the first objective of the best baseline of its case
 * over its own (of one to be as large as possible the other way round).
 *
 * The grid is mixed radix in the axes, the last one fastest. A draw is a place of the grid (in a random
 * sample, of a permutation of it; in an adaptive one, of a list that grows round by round); draws that a
 * filter drops leave gaps in the numbering. Points are numbered draw * replicas + replica; named points come
 * after all draws.
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

/* Values between two ends; of a logarithmic one `from` and `to` are logarithms. */
typedef struct rlt_sweep_range {
    double from, to;
    bool logarithmic;
    const char *first, *last, *unit; /* the ends as the file has them; what follows each number */
    rlt_json at;
} rlt_sweep_range;

typedef struct rlt_sweep_axis {
    const char *name;
    rlt_sweep_place *places;      /* changed together */
    uint32_t n_places, n;         /* n values */
    const rlt_json_tree **shown;  /* value i as the file has it; NULL: of a range */
    const rlt_json_tree **values; /* of several places: n * n_places; else NULL */
    rlt_sweep_range range;
} rlt_sweep_axis;

typedef struct rlt_sweep_named {
    const char *name, *text; /* text: of "set" */
    rlt_sweep_place *places;
    const rlt_json_tree **values;
    uint32_t n;
} rlt_sweep_named;

/* All terms hold: the point is dropped ("unless") or kept ("only"). */
typedef struct rlt_sweep_term {
    uint32_t axis;
    bool *holds; /* by value */
} rlt_sweep_term;
typedef struct rlt_sweep_rule {
    bool only;
    rlt_sweep_term *terms;
    uint32_t n;
} rlt_sweep_rule;

typedef struct rlt_sweep_objective {
    rlt_figure column;
    bool max;
} rlt_sweep_objective;

typedef enum rlt_sweep_sample { RLT_SWEEP_GRID, RLT_SWEEP_RANDOM, RLT_SWEEP_ADAPTIVE } rlt_sweep_sample;
/* A member of base. */
typedef struct rlt_sweep_member {
    const rlt_json_tree *node;
    uint32_t option;
    bool touched;           /* an axis or a named point changes something in it */
    rlt_option_texts texts; /* of one that is not touched */
} rlt_sweep_member;

typedef struct rlt_sweep_study {
    rlt_arena arena;
    rlt_json_doc *doc, *topology; /* topology: the file that base names, where pointers lead into it */
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
    uint32_t replicas, seed_option;
    rlt_sweep_sample sample;
    uint64_t sample_seed;
    uint32_t wanted, round; /* of a sample; of an adaptive one: how many at a time */
    rlt_sweep_objective aim;
    rlt_sweep_objective objectives[RLT_SWEEP_OBJECTIVES];
    uint32_t n_objectives;
    const char *baseline_axis, *baseline_where; /* NULL: none */
    rlt_figure columns[RLT_FIGURES];
    uint32_t n_columns; /* 0: all */
    rlt_figure_links links;
    uint64_t grid;    /* places */
    uint64_t draws;   /* of which some are dropped */
    uint64_t points;  /* that are wanted, replicas included */
    uint64_t *chosen; /* adaptive: places by draw, as far as they are known */
    uint32_t n_chosen;
} rlt_sweep_study;

/* Reads and checks all of it. RLT_EMALFORMED, RLT_ESCHEMA with file:line:column; RLT_ERANGE: too many points.
 * Free in every case. */
int rlt_sweep_study_read(const char *path, rlt_sweep_study *out, rlt_error *err) RLT_MUST_USE;
/* The same from a text; `name` is what messages call it. */
int rlt_sweep_study_parse(const char *name, const char *text, rlt_sweep_study *out,
                          rlt_error *err) RLT_MUST_USE;
void rlt_sweep_study_free(rlt_sweep_study *s);

typedef struct rlt_sweep_point {
    uint64_t id;
    uint32_t named; /* or RLT_NONE */
    uint32_t replica;
    uint64_t place; /* of the grid */
    uint32_t at[RLT_SWEEP_AXES];
} rlt_sweep_point;
/* One past the last id. */
uint64_t rlt_sweep_end(const rlt_sweep_study *s);
/* False: dropped by a filter. */
bool rlt_sweep_point_at(const rlt_sweep_study *s, uint64_t id, rlt_sweep_point *out);
/* "2/3": shard 1 of 3. NULL: 0 of 1. RLT_EUSAGE. */
int rlt_sweep_shard(const char *text, uint32_t *shard, uint32_t *shards, rlt_error *err) RLT_MUST_USE;
/* How many points have a number that is `shard` modulo `shards`,
 * of a study that is not adaptive. O(points). */
uint64_t rlt_sweep_share(const rlt_sweep_study *s, uint32_t shard, uint32_t shards);
/* Whether filters keep a place of the grid; its coordinates. */
bool rlt_sweep_keeps(const rlt_sweep_study *s, uint64_t place, uint32_t at[RLT_SWEEP_AXES]);
uint64_t rlt_sweep_place_at(const rlt_sweep_study *s, const uint32_t at[RLT_SWEEP_AXES]);
/* The k-th of a random order of all places. */
uint64_t rlt_sweep_permute(const rlt_sweep_study *s, uint64_t k);
/* A value of an axis; one of a range belongs to the arena, others to the study. */
int rlt_sweep_axis_value(const rlt_sweep_axis *a, uint32_t i, rlt_arena *arena, const rlt_json_tree **out,
                         rlt_error *err) RLT_MUST_USE;
/* The point's options, in the order of the command's tables; texts belong to the arena or the study. */
int rlt_sweep_options(const rlt_sweep_study *s, const rlt_sweep_point *p, rlt_arena *arena,
                      rlt_option_texts *out, rlt_error *err) RLT_MUST_USE;
/* [0,2,1]: the values' numbers; -1 each for a named point. */
void rlt_sweep_coordinates(const rlt_sweep_study *s, const rlt_sweep_point *p, char *buffer, size_t size);
/* {"pointer": value} of a named point; NULL for the others. Belongs to the study. */
const char *rlt_sweep_named_text(const rlt_sweep_study *s, const rlt_sweep_point *p);

/* The parts of the reader; internal. */
int rlt__sweep_axes(rlt_sweep_study *s, rlt_json list, rlt_error *err) RLT_MUST_USE;
int rlt__sweep_range(rlt_sweep_study *s, rlt_json v, rlt_sweep_axis *a, rlt_error *err) RLT_MUST_USE;
int rlt__sweep_filters(rlt_sweep_study *s, rlt_json list, rlt_error *err) RLT_MUST_USE;
/* A pointer into base, checked. */
int rlt__sweep_place_of(rlt_sweep_study *s, rlt_json at, const char *pointer, rlt_sweep_place *out,
                        rlt_error *err) RLT_MUST_USE;

#endif
