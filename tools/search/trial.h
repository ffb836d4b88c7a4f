/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A trial of a search, as methods see it. Internal to tools/search. */
#ifndef RLT_TOOLS_SEARCH_TRIAL_H
#define RLT_TOOLS_SEARCH_TRIAL_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "tools/search/search.h"

struct rlt_trial {
    const rlt_search_problem *problem;
    uint64_t seed, drawn;
    uint32_t number;
    uint64_t budget; /* points it may judge in all */
    uint64_t limit;  /* points it may judge in this phase */
    uint64_t judged, remembered, idle;
    uint16_t *points;  /* judged points, n options each */
    uint16_t *meant;   /* the canonical form of a point; NULL until needed */
    rlt_judged *found; /* their judgements */
    uint32_t *same;    /* next point of equal hash, or RLT_NONE */
    uint32_t points_room, found_room, same_room;
    rlt_map known; /* hash -> the latest point */
    uint32_t best; /* index of the best point */
    rlt_search_step *curve;
    uint32_t n_curve, curve_room;
    bool stopped;
};

void rlt__trial_free(rlt_trial *t); /* what it holds */
/* Judges a point, from memory if it was judged before. Returns 0 with the judgement, 1 when the budget is
 * spent, the search was stopped, or memory has answered very many requests in a row (nothing new is found),
 * or an error. */
int rlt__trial_judge(rlt_trial *t, const uint16_t *point, rlt_judged *out, rlt_error *err) RLT_MUST_USE;
/* Returns the index of a point that was judged, or RLT_NONE. */
uint32_t rlt__trial_known(rlt_trial *t, const uint16_t *point);
uint64_t rlt__trial_random(rlt_trial *t, uint64_t n); /* uniform in [0, n) */
double rlt__trial_unit(rlt_trial *t);                 /* uniform in [0, 1) */
/* A random allowed option of a variable. */
uint16_t rlt__trial_option(rlt_trial *t, uint32_t variable);
bool rlt__trial_allowed(const rlt_trial *t, uint32_t variable, uint32_t option);
/* Points judged so far over those of this phase, 0 to 1. */
double rlt__trial_progress(const rlt_trial *t);
static inline const uint16_t *rlt__trial_best(const rlt_trial *t)
{
    return t->points + (size_t)t->best * t->problem->n;
}
/* Fills a point with one option for all variables; a variable that may not take it keeps the baseline's. */
void rlt__trial_uniform(const rlt_trial *t, uint32_t option, uint16_t *point);
uint32_t rlt__trial_most_options(const rlt_trial *t);

/* PUCT (Rosin, 2011; Silver et al., 2017): the value of visiting a child. c = sqrt(children / 10) in TAG.
 * Example: 9 visits of the parent, 2 of the child, Q 0.1, P 0.2, 45 children: 0.5243. */
static inline double rlt__puct(double q, double p, uint64_t parent_visits, uint64_t visits, uint32_t children)
{
    return q + sqrt(children / 10.0) * p * sqrt((double)parent_visits) / (1 + (double)visits);
}

/* Coordinate descent from `point`, which becomes the best one found. Ends when a pass brings nothing. */
int rlt__descend(rlt_trial *t, uint16_t *point, rlt_error *err) RLT_MUST_USE;
/* How to anneal: from heat `hot` to `cold`, as shares of the cost. */
typedef struct rlt__annealing {
    double hot, cold;
    double together;  /* probability of moving several variables; 0: always one, to a random option */
    bool of_baseline; /* shares of the baseline's cost, not of the present one */
} rlt__annealing;
/* Anneals from `point` over the budget of this phase. `point` becomes the last one accepted. */
int rlt__anneal(rlt_trial *t, const rlt__annealing *how, uint16_t *point, rlt_error *err) RLT_MUST_USE;
/* Judges every uniform point. Returns as rlt__trial_judge. */
int rlt__try_uniform(rlt_trial *t, rlt_error *err) RLT_MUST_USE;
/* The portfolio, until the phase is over; the best point so far is one of its starts. */
int rlt__refine(rlt_trial *t, rlt_error *err) RLT_MUST_USE;

extern const rlt_search_method rlt__search_portfolio, rlt__search_uniform, rlt__search_random,
    rlt__search_anneal, rlt__search_descent, rlt__search_genetic, rlt__search_exhaustive, rlt__search_mcts;

#endif
