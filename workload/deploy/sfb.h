/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sufficient-factor broadcasting: instead of all-reducing a large weight gradient, gather the inputs of the
 * operator that computes it, and let every replica compute the whole gradient. Lossless. Which operators to
 * duplicate is a 0/1 program, solved exactly as a minimum cut.
 *
 *     minimise  sum_i c_i x_i + sum_p w_p b_p        x, b in {0, 1}
 *     c_i = (M - 1) t_i + alpha - sum over gradients g of i of 2 (M - 1) / M * S_g / B
 *     w_p = (M - 1) / M * S_p / B                    b_p >= x_j - x_p for each consumer j of p's output
 *
 * x_i = 1: operator i is duplicated on its M replicas; t_i is the time of 1 / M of the batch; b_p = 1: the
 * output of p is gathered (once, however many duplicated consumers it has); B is the bottleneck of the
 * placement. x_i is 0 unless i is replicated over M >= 2 devices with all-reduce. The constraints are
 * differences with costs of at least 0: project selection, whose optimum is sum of the negative c_i plus the
 * minimum cut (Picard, 1976).
 */
#ifndef RLT_WORKLOAD_DEPLOY_SFB_H
#define RLT_WORKLOAD_DEPLOY_SFB_H

#include <stdint.h>

#include "sim/base/error.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/opgraph.h"
#include "workload/deploy/strategy.h"

/* The 0/1 program. `forced[i]`: x_i must be 0. */
typedef struct rlt_sfb_problem {
    uint32_t n_ops, n_edges;
    double *cost;   /* c_i, microseconds */
    double *gather; /* w_i, microseconds */
    uint8_t *forced;
    uint32_t *src, *dst; /* b_src >= x_dst - x_src for each */
} rlt_sfb_problem;

/* Builds the program of a strategy, whatever it broadcasts already. alpha: 1 us in the reference. */
int rlt_sfb_problem_make(const rlt_opgraph *g, const rlt_grouping *p, const rlt_cluster *c,
                         const rlt_strategy *s, double alpha_us, rlt_sfb_problem *out,
                         rlt_error *err) RLT_MUST_USE;
void rlt_sfb_problem_free(rlt_sfb_problem *p);
/* Solves it: x[i] = 1 if operator i is duplicated. Of several optima it takes the one that duplicates
 * least: all others contain it. *value: the optimum, microseconds (0 or less); exact to 1 ps if all figures
 * sum to less than 37 minutes. */
int rlt_sfb_solve(const rlt_sfb_problem *p, uint8_t *x, double *value, rlt_error *err) RLT_MUST_USE;

#endif
