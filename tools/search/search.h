/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Anytime search for the cheapest point of a product of finite choices: n variables, variable i with options
 * 0 .. options[i] - 1. It knows nothing of what it searches: a callback judges a point. Deployments and
 * layouts are searched with it.
 *
 * A search runs as several independent trials, each with its share of the budget, on the threads of the pool.
 * The number of trials does not depend on the number of threads, so that a seed gives the same result for any
 * number of threads. A trial remembers the points it has judged and judges none of them twice. Ctrl-C ends
 * the search: the best point so far is the result.
 *
 * Rewards, as in TAG: -1 for a point that does not fit; else r = baseline / cost - 1, and r^(1/4) if r > 1.
 */
#ifndef RLT_TOOLS_SEARCH_SEARCH_H
#define RLT_TOOLS_SEARCH_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"

enum { RLT_SEARCH_MAX_OPTIONS = 4096 };

typedef struct rlt_judged {
    int64_t cost; /* time in ps, or another cost above 0 */
    double lacks; /* 0: the point fits; else how much it misses, for comparing points that do not fit */
} rlt_judged;

typedef struct rlt_search_problem {
    uint32_t n;
    const uint32_t *options;  /* n numbers, each 1 to RLT_SEARCH_MAX_OPTIONS */
    const uint16_t *baseline; /* the point that rewards are relative to; every search judges it first */
    const uint16_t *start;    /* a known good point (resumed search), judged second; NULL: none */
    void *ctx;
    /* Judges a point. Trials run on different threads; `trial` tells them apart. */
    int (*judge)(void *ctx, uint32_t trial, const uint16_t *point, rlt_judged *out, rlt_error *err);
    /* Gives the probabilities of the options of variable `decided`, where variables 0 .. decided - 1 are
     * decided and the others copy variable 0 (decided 0: the baseline). NULL: uniform. Only method mcts asks,
     * once for each state that it expands. */
    int (*prior)(void *ctx, uint32_t trial, const uint16_t *point, uint32_t decided, double *probability,
                 rlt_error *err);
    /* Replaces a point by the one that stands for all that mean the same, so that only that one is judged.
     * NULL: no two points mean the same. */
    void (*canonical)(void *ctx, uint16_t *point);
    /* True if variable i may take option o; NULL: all may. */
    bool (*allowed)(void *ctx, uint32_t variable, uint32_t option);
} rlt_search_problem;

typedef struct rlt_search_settings {
    const struct rlt_search_method *method;
    uint64_t budget; /* points judged, all trials together; points judged before do not count */
    uint64_t seed;
    uint32_t trials;  /* 0: 1 */
    uint32_t threads; /* 0: one for each processor */
    double polish;    /* share of the budget left to coordinate descent from the best point, 0 to 1 */
} rlt_search_settings;

/* A point of the curve: the best cost after `judged` points. */
typedef struct rlt_search_step {
    uint64_t judged;
    int64_t cost;
} rlt_search_step;

typedef struct rlt_search_result {
    uint16_t *point; /* n options: the best that fits, else the one that misses least */
    rlt_judged best, baseline;
    uint64_t judged, remembered; /* points judged; requests answered from memory */
    uint64_t first_better;       /* points judged until one was better than the baseline; 0: none */
    rlt_search_step *curve;      /* whenever the best improves; trials interleaved one point at a time */
    uint32_t n_curve;
    bool stopped; /* by Ctrl-C */
} rlt_search_result;

/* State of a trial, which methods use through the calls below. */
typedef struct rlt_trial rlt_trial;

/* A method is one file with one struct, entered in the table of search.c. */
typedef struct rlt_search_method {
    const char *name, *summary;
    /* Runs a trial until rlt_trial_judge returns 1. Returns 0, or an error. */
    int (*run)(rlt_trial *t, rlt_error *err);
    bool polishes; /* the share `polish` of the budget goes to refining the best point */
} rlt_search_method;

const rlt_search_method *rlt_search_method_at(uint32_t i);
const rlt_search_method *rlt_search_method_find(const char *name, rlt_error *err);

/* Searches. Frees nothing of the problem. RLT_EUSAGE for a budget of 0, no variable, a number of options out
 * of range, or a baseline that is not allowed. An interrupted search returns 0 with `stopped`. */
int rlt_search_run(const rlt_search_problem *p, const rlt_search_settings *s, rlt_search_result *out,
                   rlt_error *err) RLT_MUST_USE;
void rlt_search_free(rlt_search_result *r);

/* A game for the training of a prior: method mcts, which decides one variable after the other. Before each
 * decision it plays until the root has `playouts` visits; then the next variable takes an option that is
 * drawn by its share of the visits. */
typedef struct rlt_search_game {
    uint64_t seed, playouts;
    uint32_t decisions; /* variables to decide, at most all */
    void *ctx;
    /* Gets each root: as for `prior`, with the share of the visits of each option. */
    int (*learn)(void *ctx, const uint16_t *point, uint32_t decided, const double *share, rlt_error *err);
} rlt_search_game;
/* Plays a game. RLT_ECANCELLED after Ctrl-C. */
int rlt_search_play(const rlt_search_problem *p, const rlt_search_game *g, rlt_error *err) RLT_MUST_USE;

/* True if `a` is better than `b`: it fits and b does not; both fit and it costs less; neither fits and it
 * lacks less. */
bool rlt_judged_better(const rlt_judged *a, const rlt_judged *b);
/* See above. */
double rlt_search_reward(const rlt_judged *baseline, const rlt_judged *j);

#endif
