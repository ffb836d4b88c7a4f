/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shares of a budget of bandwidth: for each of several items (layouts) the split over the dimensions of a
 * network with the least time, the fastest items first, with a proof. Branch and bound over boxes of splits;
 * the caller is the judge of times.
 *
 * The budget has `steps` equal parts, and a split gives each dimension at least one of them: at[0] + ... +
 * at[n-1] = steps. A box has all splits with lo[d] <= at[d] <= hi[d]. Its corner is hi: each dimension has
 * the most that a split of the box gives it, all together more than the budget.
 *
 * Bound: time(split) >= time(corner) for each split of the box, if more bandwidth never makes an item slower.
 * So it is where times are sums and maxima of latency + bytes / bandwidth. Elsewhere it is an assumption:
 * each time is compared with that of the larger corner that it comes from, and `faster` counts those that are
 * smaller. With one of these, nothing is proven.
 *
 * A box is cut at the dimension in which hi / lo is largest, at their geometric mean. A part of a box gives
 * up what its splits cannot reach: hi[d] <= steps - sum of the other lo, lo[d] >= steps - sum of the other
 * hi. The box with the least bound is next; the first split that comes up is the best of its item.
 *
 * Example: 8 steps, 2 dimensions: 7 splits, corner (7, 7). It is cut at 2: the parts have the corners (2, 7)
 * and (7, 5).
 */
#ifndef RLT_WORKLOAD_PLAN_SHARES_H
#define RLT_WORKLOAD_PLAN_SHARES_H

#include <stdbool.h>
#include <stdint.h>

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/watch.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RLT_MAX_STEPS = 4096 };

typedef struct rlt_share_point {
    uint32_t item;
    uint16_t at[RLT_MAX_DIMS]; /* steps of each dimension */
    rlt_time time_ps;
} rlt_share_point;

typedef struct rlt_share_search {
    uint32_t n_dims, steps, n_items;
    /* By item: its time where each dimension has steps - n_dims + 1 steps. NULL: found here. */
    const rlt_time *bound_ps;
    /* Judges an item, with at[d] steps in each dimension; their sum may be above `steps`. */
    int (*time)(void *ctx, uint32_t item, const uint16_t at[RLT_MAX_DIMS], rlt_time *time_ps, rlt_error *err);
    void *ctx;
    rlt_time known_ps;      /* a time that is known to be possible; RLT_TIME_MAX: none */
    double within;          /* all items within this share of the best are found */
    double gap;             /* stops when the best is proven within this share of the optimum; 0: proven */
    uint64_t most;          /* judgements at most; 0: any number */
    const rlt_watch *watch; /* NULL: never stopped */
} rlt_share_search;

/* pairs = (items x splits) = judged + pruned + passed. */
typedef struct rlt_share_result {
    rlt_share_point *points; /* the best split of an item, the fastest first */
    uint32_t n, room;
    double pairs, judged, pruned;
    double passed;          /* other splits of an item whose best is known */
    uint64_t corners;       /* times that were judged, of splits and of corners */
    uint64_t faster;        /* times below that of a corner with more bandwidth */
    double most_faster;     /* the largest such difference, as a share */
    rlt_time least_open_ps; /* least bound of what is pruned; RLT_TIME_MAX: nothing is */
    bool proven;
} rlt_share_result;

/* Returns the number of splits of steps over dimensions. */
double rlt_shares_count(uint32_t n_dims, uint32_t steps);
/* Searches. RLT_ECANCELLED if stopped: the result is then what was found, not proven. RLT_ERANGE for fewer
 * steps than dimensions, and for more than RLT_MAX_STEPS. Free the result in every case. */
int rlt_shares_find(const rlt_share_search *s, rlt_share_result *out, rlt_error *err) RLT_MUST_USE;
void rlt_share_result_free(rlt_share_result *r);

#ifdef __cplusplus
}
#endif
#endif
