/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The layout with the least worst regret over what is uncertain.
 *
 * Each uncertain factor has a range. Cases are the corners of the ranges, and the nominal one (all factors
 * 1). With T_c(x) the time of layout x in case c, and T*_c that of the fastest layout of case c:
 *
 *   regret(x) = max over c of T_c(x) / T*_c - 1
 *
 * Search: first the fastest layout of each case. The layouts simulated on the way have regrets; let R be the
 * least. A layout of a lesser regret is within R of the fastest in every case, so in any one. So all layouts
 * within R in one case are found, and tried in the others. The case is the one in which that takes the fewest
 * simulations: all are tried with a limit, which grows. A layout is left as soon as its bound or its time in
 * one case is above R. What remains has the least regret of the space, proven for these cases, in the folded
 * simulation. Between the corners the regret may be larger.
 *
 * Example: T*_c = 10 and 20 s. Layout a takes 10 and 26 s, regret 30 %; b takes 11 and 21 s, regret 10 %.
 */
#ifndef RLT_WORKLOAD_EXPERIMENT_LAYOUTS_ROBUST_H
#define RLT_WORKLOAD_EXPERIMENT_LAYOUTS_ROBUST_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/plan/plan.h"

enum { RLT_ROBUST_CASES = 9 }; /* 2^RLT_LAYOUT_FACTORS corners, and the nominal case */

/* Range of each factor, in the order of rlt_layout_factors; low and high 0: 1. */
typedef struct rlt_layout_ranges {
    double low[RLT_LAYOUT_FACTORS], high[RLT_LAYOUT_FACTORS];
} rlt_layout_ranges;
/* Parses "bandwidth=0.1:1,efficiency=0.8:1.1,half_sizes=0.5:2". RLT_EUSAGE. */
int rlt_layout_ranges_parse(const char *text, rlt_layout_ranges *out, rlt_error *err) RLT_MUST_USE;

typedef struct rlt_robust_case {
    rlt_layout_factors at;
    rlt_layout_point best;
} rlt_robust_case;

typedef struct rlt_robust_point {
    rlt_layout_point point; /* as in the nominal case */
    rlt_time time_ps[RLT_ROBUST_CASES];
    double worst;   /* regret */
    uint32_t where; /* case of the worst regret */
} rlt_robust_point;

typedef struct rlt_robust {
    uint32_t n_cases;
    rlt_robust_case cases[RLT_ROBUST_CASES]; /* the first is the nominal one */
    rlt_robust_point nominal;                /* the fastest layout of the nominal case */
    rlt_robust_point *points;                /* the least regret first; of equals, the fastest nominally */
    uint32_t n;
    uint32_t searched;  /* case in which all layouts within the regret were found */
    uint64_t simulated; /* in all cases together */
} rlt_robust;

/* Searches. All layouts are found whose regret is at most the least plus how->within. `l` is open. `how` must
 * not stop early (most, gap). Free the result in every case. RLT_ECANCELLED if stopped. */
int rlt_robust_find(const rlt_layouts *l, const rlt_layout_ranges *ranges, const rlt_layout_search *how,
                    rlt_robust *out, rlt_error *err) RLT_MUST_USE;
void rlt_robust_free(rlt_robust *r);

#endif
