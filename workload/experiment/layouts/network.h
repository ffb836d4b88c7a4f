/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Layout and network together: the split of a budget of bandwidth over the dimensions of a network, and the
 * layout, that are the fastest together.
 *
 * The budget is cut into equal steps, and each dimension gets a whole number of them, at least one. The
 * relaxed network gives each dimension all steps but one for each of the others. A layout takes at least its
 * time there on each split, if more bandwidth never makes it slower (workload/plan/shares.h). So it goes in
 * three steps:
 *
 *   1. the fastest layout L on the network as it is given, scaled to the budget, and the best split for L
 *   2. all layouts that are not slower than that on the relaxed network (workload/plan/plan.h)
 *   3. for these, branch and bound over pairs of layout and box of splits (workload/plan/shares.h)
 *
 * Each layout that is left out takes longer on the relaxed network than what was found. The judge is the
 * folded simulation, as for a search of layouts.
 */
#ifndef RLT_WORKLOAD_EXPERIMENT_LAYOUTS_NETWORK_H
#define RLT_WORKLOAD_EXPERIMENT_LAYOUTS_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/experiment/run/run.h"
#include "workload/plan/plan.h"
#include "workload/plan/shares.h"

/* A budget: what one dimension gets if it is spent on it alone, in bytes a second of an accelerator. */
typedef struct rlt_network_budget {
    const char *setting; /* that states it, for errors */
    uint32_t steps;
    double most_Bps[RLT_MAX_DIMS];
} rlt_network_budget;

/* A layout on a split; layout.time_ps is its time there. */
typedef struct rlt_network_point {
    rlt_layout_point layout;
    uint64_t bw_Bps[RLT_MAX_DIMS];
    char *topology; /* text of the network with these bandwidths, owned */
} rlt_network_point;

typedef struct rlt_network_plan {
    rlt_network_budget budget;
    const rlt_run_settings *settings; /* borrowed, as is args */
    const rlt_parsed *args;
    uint32_t n_dims;
    /* The search on the given network; its space is that of all. And on the relaxed network. */
    rlt_layouts given, relaxed;
    rlt_network_point *points; /* the fastest first; each layout with its best split */
    uint32_t n;
    rlt_network_point as_given; /* the fastest layout on the given network; topology NULL: not known */
    rlt_network_point resplit;  /* the best split for that layout; topology NULL: not known */
    rlt_share_result shares;    /* certificate of step 3; items are the layouts of `relaxed` */
    rlt_time least_ps;          /* nothing that was left out is faster than this */
    bool proven;                /* points[0] is the optimum of the space, or within the gap */
    char *given_text, *relaxed_text;
} rlt_network_plan;

/* Returns RLT_EUSAGE if a topology is not written out as dimensions with one bandwidth each:
 * "ring:4@200GB/s,500ns*switch:8@50GB/s,2us", with no setting besides in_network. */
int rlt_network_check(const char *topology, rlt_error *err) RLT_MUST_USE;
/* Opens a search on a zeroed struct, as rlt_layouts_open; close it in every case. RLT_ERANGE for a budget of
 * which a dimension gets less than a byte a second, or with fewer steps than dimensions. */
int rlt_network_open(rlt_network_plan *p, const rlt_network_budget *budget, const rlt_run_settings *s,
                     const rlt_parsed *args, rlt_error *err) RLT_MUST_USE;
/* Searches; `how` is as for rlt_layouts_find. `most` limits each of the steps. RLT_ECANCELLED if stopped: the
 * points are then what was found. */
int rlt_network_find(rlt_network_plan *p, const rlt_layout_search *how, rlt_error *err) RLT_MUST_USE;
void rlt_network_close(rlt_network_plan *p);

#endif
