/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Methods that change a point a little: coordinate descent and simulated annealing (Kirkpatrick, Gelatt,
 * Vecchi: "Optimization by simulated annealing", 1983).
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

int rlt__descend(rlt_trial *t, uint16_t *point, rlt_error *err)
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

/* A random option or, half the time, that of another variable. */
static uint16_t propose(rlt_trial *t, const uint16_t *point, uint32_t variable)
{
    uint16_t o = rlt__trial_option(t, variable);
    if (rlt__trial_random(t, 2))
        return o;
    uint16_t other = point[rlt__trial_random(t, t->problem->n)];
    return rlt__trial_allowed(t, variable, other) ? other : o;
}

/* Changes one variable or, with probability `together`, the variables that have one option: all or half of
 * them take another. */
static void move(rlt_trial *t, const rlt__annealing *how, uint16_t *point)
{
    uint32_t n = t->problem->n, at = (uint32_t)rlt__trial_random(t, n);
    if (!(how->together > 0)) {
        point[at] = rlt__trial_option(t, at);
        return;
    }
    if (rlt__trial_unit(t) >= how->together) {
        point[at] = propose(t, point, at);
        return;
    }
    uint16_t from = point[rlt__trial_random(t, n)];
    uint16_t to = rlt__trial_random(t, 2) ? rlt__trial_option(t, at) : point[at];
    bool all = rlt__trial_random(t, 2);
    for (uint32_t i = 0; i < n; i++)
        if (point[i] == from && (all || rlt__trial_random(t, 2)) && rlt__trial_allowed(t, i, to))
            point[i] = to;
}

int rlt__anneal(rlt_trial *t, const rlt__annealing *how, uint16_t *point, rlt_error *err)
{
    size_t bytes = t->problem->n * sizeof *point;
    uint16_t *before = malloc(bytes);
    rlt_judged now, j;
    int rc = before ? rlt__trial_judge(t, point, &now, err) : rlt_nomem(err);
    double from = rlt__trial_progress(t);
    while (!rc) {
        double at = from < 1 ? (rlt__trial_progress(t) - from) / (1 - from) : 1;
        double heat = how->hot + (how->cold - how->hot) * at, chance = rlt__trial_unit(t);
        memcpy(before, point, bytes);
        move(t, how, point);
        rc = rlt__trial_judge(t, point, &j, err);
        double worse =
            (double)(j.cost - now.cost) / (double)(how->of_baseline ? t->found[0].cost : now.cost) / heat;
        bool takes = !rc && (rlt_judged_better(&j, &now) ||
                             (!(j.lacks > now.lacks) && worse < 700 && chance < rlt_fixed_exp(-worse)));
        if (takes)
            now = j;
        else
            memcpy(point, before, bytes);
    }
    free(before);
    return rc;
}

static int anneal(rlt_trial *t, rlt_error *err)
{
    static const rlt__annealing how = {.hot = 0.0501, .cold = 1e-4, .of_baseline = true};
    uint16_t *point = malloc(t->problem->n * sizeof *point);
    int rc = point ? 0 : rlt_nomem(err);
    if (!rc) {
        memcpy(point, t->problem->baseline, t->problem->n * sizeof *point);
        rc = rlt__anneal(t, &how, point, err);
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
        rc = rlt__descend(t, point, err);
        for (uint32_t i = 0; i < t->problem->n && !rc; i++)
            point[i] = rlt__trial_option(t, i);
    }
    free(point);
    return rc;
}

const rlt_search_method rlt__search_anneal = {"anneal", "simulated annealing from the baseline", anneal,
                                              false};
const rlt_search_method rlt__search_descent = {"descent", "coordinate descent from the best uniform point",
                                               descend, false};
