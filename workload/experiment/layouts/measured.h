/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Factors learned from a handful of the user's own runs, with the simulator as model.
 *
 * x = (log bandwidth, log efficiency, log half_sizes) are logarithms of rlt_layout_factors, with a normal
 * prior of mean 0 and widths w. Run i took m_i, and takes T_i(x) in the folded simulation. Minimised is
 *
 *   sum over i of (log(T_i(x) / m_i) / s)^2 + sum over k of (x_k / w_k)^2          s = 3 %, noise of a run
 *
 * by Gauss-Newton with numeric derivatives J, from several bandwidths: while communication hides behind
 * compute, its derivative is 0. What the runs leave open is the normal distribution around the solution with
 *
 *   C = (J'J / s'^2 + diag(1 / w^2))^-1        s' = s, or the rms of the residuals where that is larger
 *
 * A layout with derivatives g of its log(time) is predicted up to sqrt(g' C g). The next one to measure is
 * that for which this is largest, among the near best: the run says most where the answer is least known.
 * Left out: each run predicted with the factors that the others give, from the derivatives at the solution.
 */
#ifndef RLT_WORKLOAD_EXPERIMENT_LAYOUTS_MEASURED_H
#define RLT_WORKLOAD_EXPERIMENT_LAYOUTS_MEASURED_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/watch.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/plan/plan.h"
#include "workload/training/training.h"

enum { RLT_MEASURED_RUNS = 1000 };

/* A measured run. */
typedef struct rlt_measured_run {
    uint32_t line;
    char settings[320]; /* as --layout and --train take them */
    double measured_s, predicted_s;
    double left_out_s; /* 0: fewer than 3 runs */
} rlt_measured_run;

typedef struct rlt_measured {
    char path[200];
    rlt_measured_run *runs;
    uint32_t n;
    rlt_layout_factors factors;
    double sd[RLT_LAYOUT_FACTORS]; /* standard deviations of the logarithms */
    double covariance[RLT_LAYOUT_FACTORS][RLT_LAYOUT_FACTORS];
    bool bandwidth_is_fixed; /* the outermost dimension is a graph, whose links have no common factor */
    double error, left_out;  /* mean of |log(predicted / measured)|; left_out 0: fewer than 3 runs */
} rlt_measured;

/* Reads a CSV file. Columns: seconds (or iteration_s, iteration_time_s), and settings of a training by their
 * names (tp, pp, dp, microbatch, ...; also micro_batch, global_batch, as for ringlet calibrate-training).
 * Columns model, accelerator, source and note are for people; model and accelerator must be the same in all
 * rows. Empty cells: as the search has it fixed, else the default. Errors name file and line: a column that
 * is not known, a layout that is against a rule, larger than the topology, or more than 25 % beyond the
 * memory: a run that was measured did fit. */
int rlt_measured_read(const rlt_layouts *l, const char *path, rlt_measured *out, rlt_error *err) RLT_MUST_USE;
/* Learns the factors. */
int rlt_measured_fit(const rlt_layouts *l, const rlt_watch *watch, rlt_measured *m,
                     rlt_error *err) RLT_MUST_USE;
/* Finds how uncertain the predicted time of each point is: the standard deviation of its logarithm. */
int rlt_measured_uncertain(const rlt_layouts *l, const rlt_measured *m, const rlt_watch *watch,
                           const rlt_layout_point *points, uint32_t n, double *sd,
                           rlt_error *err) RLT_MUST_USE;
/* Returns true if a point of the search is one of the runs. */
bool rlt_measured_has(const rlt_layouts *l, const rlt_measured *m, const rlt_layout_point *p);
void rlt_measured_free(rlt_measured *m);

/* measured_read.c: makes the training of a run. Errors name file and line. */
int rlt__measured_training(const rlt_layouts *l, const rlt_measured *m, const rlt_measured_run *run,
                           rlt_training *out, rlt_error *err) RLT_MUST_USE;

#endif
