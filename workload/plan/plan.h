/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The best layout of a training on a cluster, with a proof: branch and bound, the simulator is the judge.
 *
 * A space has axes, which are settings of a training (tp, cp, pp, ep, microbatch, recompute, sp, schedule,
 * vp, zero, order), each with the values to try. A point has one value of each; dp follows from the number
 * of ranks. A partial point has values for the first axes only: those of the layout, or these and those of
 * the kernels.
 *
 * Bounds, in picoseconds of an iteration, each at most the simulated time of every point below it:
 *
 *   layout    m t / p, the least over the microbatches and over sp: m microbatches with compute t of the
 *             whole model, on p stages, one of which has at least the mean. If all schedules of the space are
 *             1F1B or GPipe, a stage has one chunk, and rlt_training_bound (workload/training/cost.h) holds,
 *             with the bubble
 *   kernels   the same for one microbatch, with the work that is computed again; then also with the
 *             communication that compute waits for, each collective in the least time of any order, unless a
 *             schedule of the space lets it go on beside another pass (DualPipe, message)
 *   stages    rlt_training_bound with the same communication
 *   point     the bound of the kernels with the communication of its order; then rlt_training_bound
 *
 * Rules, memory and passes do not depend on the order of the groups, so that it comes last.
 *
 * Memory prunes, too: the fullest stage needs at least the mean of the model state of all stages, and of the
 * activations of one microbatch. Open settings (recomputation, ZeRO) have the values that need least.
 *
 * The search takes the partial point of the least bound, and replaces it by its parts, until a simulated
 * point has the least value. It is then the fastest of the space: every other point was simulated, or is not
 * below a bound that is as large. Equal points are told apart by their values, so that the result does not
 * depend on the order of visiting.
 *
 * It goes in rounds. A round takes some nodes of the least bounds, whatever the number of workers. Their
 * questions are answered in any order, and the answers are applied in the order of the questions. So the
 * result, with all counts, is the same for any number of workers and for answers from an earlier search.
 *
 * The judge is the folded simulation (RLT_FOLD_STAGES). The proof is about its times: where ranks of a stage
 * are not alike, or two communications share a link, the whole simulation takes another time, mostly a longer
 * one.
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

/* A partial point has values for: the sizes of the layout; also the kernels; also the stages of the
 * pipeline and of ZeRO; all, with the order of the groups. */
typedef enum rlt_layout_level {
    RLT_LAYOUT_SIZES,
    RLT_LAYOUT_KERNELS,
    RLT_LAYOUT_STAGES,
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
 * given twice has the later values. etp and dispatch_precision are axes only if they are given. Free it in
 * every case. RLT_EUSAGE for an unknown axis or value, for a value twice ("2+02"), and for an axis without
 * values: microbatch needs the batch. RLT_EMALFORMED for a range of other than two whole numbers. */
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

/* A question that a search asks about a point or partial point: whether it is possible, and its bound; the
 * bound of a point with its communication; its time. The answer depends on nothing else of the search. */
typedef enum rlt_layout_question {
    RLT_LAYOUT_CONSIDER,
    RLT_LAYOUT_BOUND,
    RLT_LAYOUT_SIMULATE
} rlt_layout_question;

typedef struct rlt_layout_task {
    rlt_layout_question what;
    rlt_layout_level level;
    uint16_t at[RLT_LAYOUT_AXES]; /* 0 for axes that the level does not know */
} rlt_layout_task;

typedef enum rlt_layout_state {
    RLT_LAYOUT_UNANSWERED, /* stopped before its end */
    RLT_LAYOUT_AGAINST_RULE,
    RLT_LAYOUT_REPEATED,
    RLT_LAYOUT_OUT_OF_MEMORY,
    RLT_LAYOUT_OPEN, /* has a bound or a time */
    RLT_LAYOUT_FAILED
} rlt_layout_state;

/* An answer. It holds no pointers, and can be sent and stored. */
typedef struct rlt_layout_outcome {
    rlt_layout_state state;
    int code;                  /* error code */
    rlt_time ps;               /* bound or time */
    double memory_bytes;       /* needed by the fullest stage, or at least */
    char where[64], what[256]; /* the rule or the error */
} rlt_layout_outcome;

typedef void (*rlt_layout_answer)(void *job, uint32_t i, uint32_t worker, const rlt_watch *watch,
                                  rlt_layout_outcome *out);

/* A search may leave this to its caller. Each function may be NULL; all are called on the thread that
 * searches. */
typedef struct rlt_layout_hooks {
    void *ctx;
    uint32_t workers;
    /* Calls answer(job, i, worker, watch, &out[i]) for each i < n, or takes out[i] from another process that
     * does. Any order, any thread, several at once, but one at a time for each worker < `workers`. out[i] is
     * RLT_LAYOUT_UNANSWERED before. RLT_ECANCELLED: stopped; what is answered counts. NULL: one by one. */
    int (*each)(void *ctx, uint32_t n, rlt_layout_outcome *out, rlt_layout_answer answer, void *job,
                rlt_error *err);
    /* Returns true if the answer is known from before. */
    bool (*recall)(void *ctx, const rlt_layout_task *t, rlt_layout_outcome *out);
    /* Gets each answer that was not recalled, in the order of the tasks. */
    int (*keep)(void *ctx, const rlt_layout_task *t, const rlt_layout_outcome *o, rlt_error *err);
    /* Called after each round. best_ps: fastest so far, least_ps: least open bound; RLT_TIME_MAX: none. */
    void (*seen)(void *ctx, uint64_t simulated, rlt_time best_ps, rlt_time least_ps);
} rlt_layout_hooks;

/* A search: its space, and how far it goes. */
typedef struct rlt_layout_search {
    const rlt_training *base;      /* model, accelerator and all settings that are no axes; borrowed */
    const rlt_replay_options *how; /* rank_compute_scale: 1 at most; rank_host_scale: NULL */
    uint32_t ranks;
    const rlt_layout_space *space;
    const rlt_watch *watch;        /* NULL: never stopped */
    const rlt_layout_hooks *hooks; /* NULL: none */
    double within;                 /* all points within this share of the best are found */
    double gap;            /* stops when the best is proven within this share of the optimum; 0: proven */
    rlt_time until_ps;     /* not 0: all points of at most this time are found, in place of the two above */
    double headroom;       /* share of the memory that stays free */
    uint64_t most;         /* simulations at most; 0: any number */
    rlt_time mark_ps;      /* counts what is left with a bound below this time; 0: counts nothing */
    rlt_time limit_ps;     /* points whose bound is above it are pruned; 0: no limit */
    double capacity_bytes; /* memory that a stage may need at most; 0: the accelerator's, less headroom */
    /* For tests. Without bounds nothing is pruned. `visit` not 0: partial points are taken at random. Bounds
     * are multiplied by `wrong`, if it is not 0: a wrong bound must be noticed. */
    bool no_bounds;
    uint64_t visit;
    double wrong;
} rlt_layout_search;

/* Reasons for which points are impossible: the setting that is against a rule, with one example. */
typedef struct rlt_layout_reason {
    char where[24], what[256];
    double points;
} rlt_layout_reason;

/* Result of a search. total = repeated + against_rules + out_of_memory + pruned + simulated. */
typedef struct rlt_layout_result {
    rlt_layout_point *points; /* simulated, the fastest first */
    uint32_t n;
    double total, repeated, against_rules, out_of_memory, pruned;
    double below_mark; /* pruned points that may take less than the mark */
    uint64_t bounded;  /* points and partial points whose bound was computed */
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
/* Returns true if two planned trainings, which differ in axes of layouts only, are the same run: see
 * rlt_layout_repeats for sp, zero and order. */
bool rlt_layout_same_run(const rlt_training *a, const rlt_training *b);

/* Simulates an iteration of a planned training: `folded` to a rank per stage, with the times of `alone`
 * (NULL: its own), or whole. rank_compute_scale of `how` is by rank; see rlt_folded_speeds. */
int rlt_layout_simulate(const rlt_training *t, const rlt_replay_options *how, bool folded, rlt_timing *alone,
                        const rlt_watch *watch, rlt_time *time_ps, rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
