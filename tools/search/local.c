/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Methods that change a point a little: coordinate descent and simulated annealing (Kirkpatrick, Gelatt,
 * Vecchi: "Optimization by simulated annealing", 1983), and their combination, which refines the best point.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/random.h"
#include "tools/search/search.h"
#include "tools/search/trial.h"

/* Tries all options of a variable and keeps the best. */
static int best_option(rlt_trial *t, uint16_t *point, uint32_t variable, rlt_judged *now, bool *better,
                       rlt_error *err)
{
    uint16_t best = point[variable];
    rlt_judged j;
    int rc = 0;
    for (uint32_t o = 0; o < t->problem->options[variable] && !rc; o++) {
        if (o == best || !rlt__trial_allowed(t, variable, o))
            continue;
        uint16_t before = point[variable];
        point[variable] = (uint16_t)o;
        rc = rlt__trial_judge(t, point, &j, err);
        if (rc || !rlt_judged_better(&j, now)) {
            point[variable] = before;
            continue;
        }
        *now = j;
        *better = true;
    }
    return rc;
}

/* Shuffles the variables (Fisher and Yates). */
static void shuffle(rlt_trial *t, uint32_t *order, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = n; i > 1; i--) {
        uint32_t k = (uint32_t)rlt__trial_random(t, i), keep = order[i - 1];
        order[i - 1] = order[k];
        order[k] = keep;
    }
}

/* Coordinate descent from `point`, which becomes the best one found. Ends when a pass brings nothing. */
static int descend_from(rlt_trial *t, uint16_t *point, rlt_error *err)
{
    uint32_t n = t->problem->n, *order = malloc(n * sizeof *order);
    bool better = true;
    rlt_judged now;
    int rc = order ? rlt__trial_judge(t, point, &now, err) : rlt_nomem(err);
    while (!rc && better) {
        better = false;
        shuffle(t, order, n);
        for (uint32_t i = 0; i < n && !rc; i++)
            rc = best_option(t, point, order[i], &now, &better, err);
    }
    free(order);
    return rc;
}

/* Proposes another option for a variable: a random one or, if `copies`, half the time that of another
 * variable. */
static uint16_t propose(rlt_trial *t, const uint16_t *point, uint32_t variable, bool copies)
{
    uint16_t o = rlt__trial_option(t, variable);
    if (!copies || rlt__trial_random(t, 2))
        return o;
    uint16_t other = point[rlt__trial_random(t, t->problem->n)];
    return rlt__trial_allowed(t, variable, other) ? other : o;
}

/* Anneals from `point` over the budget of this phase. `copies`: see propose. */
static int anneal_from(rlt_trial *t, uint16_t *point, double heat, bool copies, rlt_error *err)
{
    rlt_judged now, j;
    double base = (double)t->found[0].cost;
    int rc = rlt__trial_judge(t, point, &now, err);
    double from = rlt__trial_progress(t);
    while (!rc) {
        uint32_t i = (uint32_t)rlt__trial_random(t, t->problem->n);
        uint16_t before = point[i];
        double at = from < 1 ? (rlt__trial_progress(t) - from) / (1 - from) : 1;
        double heat_now = heat * (1 - at) + 1e-4, chance = rlt__trial_unit(t);
        point[i] = propose(t, point, i, copies);
        rc = rlt__trial_judge(t, point, &j, err);
        double worse = (double)(j.cost - now.cost) / base / heat_now;
        bool takes = !rc && (rlt_judged_better(&j, &now) ||
                             (!(j.lacks > now.lacks) && worse < 700 && chance < rlt_fixed_exp(-worse)));
        if (takes)
            now = j;
        else
            point[i] = before;
    }
    return rc;
}

/* A phase of annealing from a point until `until` points are judged. Returns 0, or an error. */
static int phase(rlt_trial *t, const uint16_t *from, uint64_t until, double heat, uint16_t *point,
                 rlt_error *err)
{
    t->limit = until;
    t->idle = 0;
    memcpy(point, from, t->problem->n * sizeof *point);
    int rc = anneal_from(t, point, heat, true, err);
    return rc < 0 ? rc : 0;
}

/* Coordinate descent from a point until `until` points are judged. Returns 0, or an error. */
static int descent(rlt_trial *t, const uint16_t *from, uint64_t until, uint16_t *point, rlt_error *err)
{
    t->limit = until;
    t->idle = 0;
    memcpy(point, from, t->problem->n * sizeof *point);
    int rc = descend_from(t, point, err);
    return rc < 0 ? rc : 0;
}

int rlt__refine(rlt_trial *t, rlt_error *err)
{
    size_t bytes = t->problem->n * sizeof(uint16_t);
    uint64_t all = t->limit, left;
    uint16_t *point = malloc(bytes), *uniform = malloc(bytes);
    int rc = point && uniform ? rlt__try_uniform(t, err) : rlt_nomem(err);
    rc = rc < 0 ? rc : 0;
    left = all > t->judged ? all - t->judged : 0;
    if (rc == 0) {
        memcpy(uniform, rlt__trial_best(t), bytes);
        rc = phase(t, t->problem->baseline, all - left / 100 * 65, 0.05, point, err);
    }
    if (rc == 0)
        rc = phase(t, uniform, all - left / 100 * 50, 0.05, point, err);
    if (rc == 0)
        rc = descent(t, uniform, all - left / 100 * 28, point, err);
    while (rc == 0 && !t->stopped && t->judged < all) {
        uint64_t before = t->judged;
        if ((rc = phase(t, rlt__trial_best(t), t->judged + (all - t->judged) / 2, 0.02, point, err)) == 0)
            rc = descent(t, rlt__trial_best(t), all, point, err);
        if (t->judged == before)
            break;
    }
    t->limit = all;
    free(point);
    free(uniform);
    return rc;
}

static int anneal(rlt_trial *t, rlt_error *err)
{
    uint16_t *point = malloc(t->problem->n * sizeof *point);
    int rc = point ? 0 : rlt_nomem(err);
    if (!rc) {
        memcpy(point, t->problem->baseline, t->problem->n * sizeof *point);
        rc = anneal_from(t, point, 0.05, false, err);
    }
    free(point);
    return rc;
}

/* From the best uniform point; after a pass that brought nothing, from a random point. */
static int descend(rlt_trial *t, rlt_error *err)
{
    uint16_t *point = malloc(t->problem->n * sizeof *point);
    int rc = point ? rlt__try_uniform(t, err) : rlt_nomem(err);
    if (!rc)
        memcpy(point, rlt__trial_best(t), t->problem->n * sizeof *point);
    while (!rc) {
        rc = descend_from(t, point, err);
        for (uint32_t i = 0; i < t->problem->n && !rc; i++)
            point[i] = rlt__trial_option(t, i);
    }
    free(point);
    return rc;
}

const rlt_search_method rlt__search_portfolio = {
    "portfolio", "uniform points, annealing from the baseline and from the best, and descent, in turns",
    rlt__refine, false};
const rlt_search_method rlt__search_anneal = {"anneal", "simulated annealing from the baseline", anneal,
                                              false};
const rlt_search_method rlt__search_descent = {"descent", "coordinate descent from the best uniform point",
                                               descend, false};
