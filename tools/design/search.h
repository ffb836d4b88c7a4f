/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shapes that `ringlet design dimensions` compares, and the best split of each. */
#ifndef RLT_TOOLS_DESIGN_SEARCH_H
#define RLT_TOOLS_DESIGN_SEARCH_H

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "tools/design/design.h"
#include "workload/design/design.h"

enum { RLT_MAX_SHAPES = 1 << 16 };

typedef struct rlt_design_search {
    uint64_t accelerators;
    uint32_t min_dims, max_dims, largest; /* largest: size limit of inner dimensions; 0: none */
    rlt_block inner[RLT_BLOCKS], outer;   /* blocks allowed for inner dimensions; block of the outermost */
    uint32_t n_inner;
    rlt_time latency_ps;
} rlt_design_search;

typedef struct rlt_point {
    rlt_design_net net;
    rlt_split split;
    double time_s, cost, rank_s; /* rank_s: least of the times that differ from time_s only by rounding */
    bool front;                  /* on the Pareto front of time and cost */
} rlt_point;

typedef struct rlt_points {
    rlt_point *items; /* owned */
    uint32_t n, room;
    /* Shapes left out, by reason: groups do not divide them; limits or deadline not met; a part has no
     * price. */
    uint32_t misfits, infeasible, unpriced;
} rlt_points;

/* Reads the blocks: `list` of inner dimensions, such as "ring,switch", and `outer`. */
int rlt_design_search_shapes(rlt_design_search *s, const char *list, const char *outer,
                             rlt_error *err) RLT_MUST_USE;
/* Solves every ordered factorisation into the allowed numbers of dimensions and blocks. Blocks with equal
 * cost and closed form are equivalent: only the first named is tried. */
int rlt_design_search_run(const rlt_design_search *s, const rlt_design_setup *u, rlt_design_goal goal,
                          double deadline_s, rlt_points *out, rlt_error *err) RLT_MUST_USE;
/* Marks the Pareto front and sorts by time. */
void rlt_points_order(rlt_points *p);
void rlt_points_free(rlt_points *p);
/* Returns the bandwidth of an accelerator's network interfaces: that at the pod level. */
double rlt_point_nic(const rlt_point *p);

/* Reports the saving by each added dimension (study.c), under these columns. */
extern const rlt_columns rlt_added_columns;
int rlt_design_added(const rlt_parsed *args, rlt_design_setup *u, const rlt_design_search *s,
                     const char *plot, rlt_error *err) RLT_MUST_USE;

#endif
