/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shapes that `ringlet design dimensions` looks at, and the best split of each. */
#ifndef RLT_TOOLS_DESIGN_SEARCH_H
#define RLT_TOOLS_DESIGN_SEARCH_H

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "tools/design/design.h"
#include "workload/design/design.h"

enum { RLT_MAX_SHAPES = 1 << 16 };

typedef struct rlt_search {
    uint64_t accelerators;
    uint32_t min_dims, max_dims, largest; /* largest: size of a dimension but the outermost; 0: any */
    rlt_block inner[RLT_BLOCKS], outer;   /* what dimensions may be; the outermost one */
    uint32_t n_inner;
    rlt_time latency_ps;
} rlt_search;

typedef struct rlt_point {
    rlt_design_net net;
    rlt_split split;
    double time_s, cost, rank_s; /* rank_s: the least of the times that differ from this by rounding */
    bool front;                  /* no other is as fast and cheaper, or as cheap and faster */
} rlt_point;

typedef struct rlt_points {
    rlt_point *items; /* owned */
    uint32_t n, room;
    /* Left out: groups that do not divide; limits or deadlines not met; parts without a price. */
    uint32_t misfits, infeasible, unpriced;
} rlt_points;

/* "ring,switch" */
int rlt_search_shapes(rlt_search *s, const char *list, const char *outer, rlt_error *err) RLT_MUST_USE;
/* Every factorisation into so many ordered dimensions of the shapes; those that cost the same are alike in
 * closed form, and the first named stands for them. */
int rlt_search_run(const rlt_search *s, const rlt_design_setup *u, rlt_design_goal goal, double deadline_s,
                   rlt_points *out, rlt_error *err) RLT_MUST_USE;
/* Marks the front, and orders by time. */
void rlt_points_order(rlt_points *p);
void rlt_points_free(rlt_points *p);
/* Bandwidth of an accelerator at the pod: that of its network interfaces. */
double rlt_point_nic(const rlt_point *p);

/* What each added dimension saves (study.c). */
int rlt_design_added(const rlt_parsed *args, rlt_design_setup *u, const rlt_search *s, const char *plot,
                     rlt_error *err) RLT_MUST_USE;

#endif
