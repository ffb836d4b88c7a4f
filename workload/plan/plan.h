/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The best layout of a training on a cluster, with a proof: branch and bound, the simulator is the judge.
 *
 * A space has axes, which are settings of a training (tp, cp, pp, ep, microbatch, recompute, sp, order,
 * schedule, vp, zero), each with the values to try. A point has one value of each; dp follows from the number
 * of ranks. A partial point has values for the first axes only: those of the layout, or these and those of
 * the kernels.
 *
 * Bounds, in picoseconds of an iteration, each at most the simulated time of every point below it:
 *
 *   layout    m t / p, the least over the microbatches: m microbatches with compute t of the whole model, on
 *             p stages, one of which has at least the mean
 *   kernels   the same for one microbatch, with what is computed again
 *   order     the same, with the communication that compute waits for (workload/training/cost.h), unless a
 *             schedule of the space lets it go on beside another pass (DualPipe, message)
 *   point     rlt_training_bound (cost.h), at first without communication
 *
 * Memory prunes, too: the fullest stage needs at least the mean of the model state of all stages, and of the
 * activations of one microbatch. Open settings (recomputation, ZeRO) have the values that need least.
 *
 * The search takes the partial point of the least bound, and replaces it by its parts, until a simulated
 * point has the least value. It is then the fastest of the space: every other point was simulated, or is not
 * below a bound that is as large. Equal points are told apart by their values, so that the result does not
 * depend on the order of visiting.
 *
 * The judge is the folded simulation (RLT_FOLD_STAGES). The proof is about its times: where ranks of a stage
 * are not alike, or two communications share a link, the whole simulation takes longer.
 */
#ifndef RLT_WORKLOAD_PLAN_PLAN_H
#define RLT_WORKLOAD_PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/watch.h"
#include "workload/replay/replay.h"
#include "workload/timing/timing.h"
#include "workload/training/training.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RLT_LAYOUT_AXES = 16, RLT_LAYOUT_WORD = 24, RLT_LAYOUT_REASONS = 12 };

typedef struct rlt_layout_axis {
    const char *name; /* a setting of a training */
    uint32_t n;
    char (*values)[RLT_LAYOUT_WORD];
} rlt_layout_axis;

/* A partial point has values for: the sizes of the layout; also what a stage computes; also the order of
 * its groups; all. */
typedef enum rlt_layout_level {
    RLT_LAYOUT_SIZES,
    RLT_LAYOUT_KERNELS,
    RLT_LAYOUT_ORDER,
    RLT_LAYOUT_POINT,
    RLT_LAYOUT_LEVELS
} rlt_layout_level;

/* Axes in the order of the tree; the first known[l] have values at level l. */
typedef struct rlt_layout_space {
    rlt_layout_axis axes[RLT_LAYOUT_AXES];
    uint32_t n, known[RLT_LAYOUT_LEVELS];
} rlt_layout_space;

/* A point: the index of a value of each axis. */
typedef struct rlt_layout_point {
    uint16_t at[RLT_LAYOUT_AXES];
    rlt_time bound_ps, time_ps;
    double memory_bytes; /* needed by the fullest stage */
} rlt_layout_point;

/* Makes the space of a training: each axis with all its values, or with those of `given`, texts such as
 * "tp=2+4+8", "microbatch=1:8" (all values of the axis from 1 to 8), "pp=auto" or "zero=1". An axis that is
 * given twice has the later values. Free it in every case. RLT_EUSAGE for an unknown axis or value, for a
 * value twice ("2+02"), and for an axis without values: microbatch needs the batch.
 * RLT_EMALFORMED for a range of other than two whole numbers. */
int rlt_layout_space_open(const rlt_training *base, uint32_t ranks, const char *const *given,
                          uint32_t n_given, rlt_layout_space *out, rlt_error *err) RLT_MUST_USE;
void rlt_layout_space_free(rlt_layout_space *s);
/* Returns true if `name` is an axis. */
bool rlt_layout_is_axis(const char *name);
/* Returns the number of points, equivalent and impossible ones included. */
double rlt_layout_size(const rlt_layout_space *s);
/* Makes the training of a point and plans it. Returns the error of the rule that the point is against. */
int rlt_layout_training(const rlt_layout_space *s, const rlt_training *base, uint32_t ranks,
                        const rlt_layout_point *p, rlt_training *out, rlt_error *err) RLT_MUST_USE;
/* Returns true if another point stands for this one. `t` is the point's training. It is the same run as with
 * an earlier value of one axis, if that is against no rule:
 *
 *   sp      with tp = 1
 *   zero    0, 1 and 2 with one copy of the weights (dp = cp = ep = 1); 3 gathers them all the same
 *   order   axes of size 1 stand elsewhere
 *
 * Interleaved chunks of one stage (pp = 1) are no layout of their own where 1F1B is in the space. */
bool rlt_layout_repeats(const rlt_layout_space *s, const rlt_training *t, const rlt_layout_point *p);

/* A search: its space, and how far it goes. */
typedef struct rlt_layout_search {
    const rlt_training *base; /* model, accelerator and all settings that are no axes; borrowed */
    const rlt_replay_options *how;
    uint32_t ranks;
    const rlt_layout_space *space;
    const rlt_watch *watch; /* NULL: never stopped */
    double within;          /* all points within this share of the best are found */
    double gap;             /* stops when the best is proven within this share of the optimum; 0: proven */
    double headroom;        /* share of the memory that stays free */
    uint64_t most;          /* simulations at most; 0: any number */
    /* For tests. Without bounds nothing is pruned. `visit` not 0: partial points are taken at random. Bounds
     * are multiplied by `wrong`, if it is not 0: a wrong bound must be noticed. */
    bool no_bounds;
    uint64_t visit;
    double wrong;
} rlt_layout_search;

/* Reasons for which points are impossible: the setting that is against a rule, with one example. */
typedef struct rlt_layout_reason {
    char where[24], what[160];
    double points;
} rlt_layout_reason;

/* Result of a search. total = repeated + against_rules + out_of_memory + pruned + simulated. */
typedef struct rlt_layout_result {
    rlt_layout_point *points; /* simulated, the fastest first */
    uint32_t n;
    double total, repeated, against_rules, out_of_memory, pruned;
    uint64_t bounded; /* points and partial points whose bound was computed */
    rlt_layout_reason reasons[RLT_LAYOUT_REASONS];
    uint32_t n_reasons;
    double least_bytes;       /* that a layout out of memory needs at least; 0: none is */
    rlt_layout_point nearest; /* the layout out of memory that needs least; memory_bytes 0: none */
    rlt_time least_pruned_ps; /* least bound of what was not simulated; RLT_TIME_MAX: nothing is left */
    bool proven; /* false: stopped before the end; then the optimum is at least least_pruned_ps */
} rlt_layout_result;

/* Searches. RLT_ECANCELLED if stopped: the result is then what was found, not proven. RLT_ECHECK, with the
 * point's values, if a bound is above a simulated time. Free the result in every case. */
int rlt_layout_find(const rlt_layout_search *p, rlt_layout_result *out, rlt_error *err) RLT_MUST_USE;
void rlt_layout_result_free(rlt_layout_result *r);

/* Possible points of a space at random: against no rule, equal to no other, and within the memory. Each is
 * drawn from all of them alike, and may be drawn again. */
typedef struct rlt_layout_sample {
    rlt_layout_point
        *points; /* n, as drawn; time_ps 0: not simulated, since its bound is not below than_ps */
    uint32_t n, simulated, faster; /* faster: than than_ps */
    uint64_t drawn;                /* points drawn, with the impossible ones */
    rlt_time than_ps;
} rlt_layout_sample;

/* Draws n possible points of a search's space by rejection, and counts those that are faster than `than_ps`.
 * Points are simulated only if their bound is below it (RLT_TIME_MAX: all are). The same seed draws the same
 * points. out->n is less than n if fewer than one point in 10^5 is possible. RLT_ECANCELLED if stopped. Free
 * the sample in every case. O(points drawn), and a simulation for each point that may be faster. */
int rlt_layout_draw(const rlt_layout_search *p, uint32_t n, uint64_t seed, rlt_time than_ps,
                    rlt_layout_sample *out, rlt_error *err) RLT_MUST_USE;
void rlt_layout_sample_free(rlt_layout_sample *s);

/* Returns true if two orders have the axes above size 1 in the same order. */
bool rlt_layout_same_order(const rlt_training *t, const rlt_axis *a, const rlt_axis *b);

/* Simulates an iteration of a planned training: `folded` to a rank per stage, with the times of `alone`, or
 * whole (`alone` may be NULL). */
int rlt_layout_simulate(const rlt_training *t, const rlt_replay_options *how, bool folded, rlt_timing *alone,
                        const rlt_watch *watch, rlt_time *time_ps, rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
