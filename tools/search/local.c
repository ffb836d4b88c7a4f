/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Methods that change a point a little: coordinate descent and simulated annealing (Kirkpatrick, Gelatt,
 * Vecchi: "Optimization by simulated annealing", 1983), and their combination, which refines the best point.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
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

static double envd(const char *n, double d) { return getenv(n) ? atof(getenv(n)) : d; }
/* Moves several variables: all that have one option, or half of them, take another. */
static void recolour(rlt_trial *t, uint16_t *point)
{
    uint32_t n = t->problem->n;
    uint16_t from = point[rlt__trial_random(t, n)];
    uint32_t at = (uint32_t)rlt__trial_random(t, n);
    uint16_t to = rlt__trial_random(t, 2) ? rlt__trial_option(t, at) : point[at];
    bool all = rlt__trial_random(t, 2);
    for (uint32_t i = 0; i < n; i++)
        if (point[i] == from && (all || rlt__trial_random(t, 2)) && rlt__trial_allowed(t, i, to))
            point[i] = to;
}

static int anneal2(rlt_trial *t, uint16_t *point, double hot, double cold, double many, rlt_error *err)
{
    uint32_t n = t->problem->n;
    uint16_t *before = malloc(n * sizeof *before);
    rlt_judged now, j;
    int rc = rlt__trial_judge(t, point, &now, err);
    double from = rlt__trial_progress(t);
    while (!rc) {
        double at = from < 1 ? (rlt__trial_progress(t) - from) / (1 - from) : 1;
        double heat_now = hot + (cold - hot) * at, chance = rlt__trial_unit(t);
        memcpy(before, point, n * sizeof *before);
        if (rlt__trial_unit(t) < many)
            recolour(t, point);
        else {
            uint32_t i = (uint32_t)rlt__trial_random(t, n);
            point[i] = propose(t, point, i, true);
        }
        rc = rlt__trial_judge(t, point, &j, err);
        double worse = (double)(j.cost - now.cost) / (double)now.cost / heat_now;
        if (!rc && (rlt_judged_better(&j, &now) || (!(j.lacks > now.lacks) && worse < 700 && chance < rlt_fixed_exp(-worse))))
            now = j;
        else
            memcpy(point, before, n * sizeof *before);
    }
    free(before);
    return rc;
}

enum { CHAINS = 8 };
static int halving(rlt_trial *t, rlt_error *err)
{
    size_t n = t->problem->n;
    uint64_t all = t->limit;
    uint32_t chains = (uint32_t)envd("CHAINS", 6);
    uint16_t *p = malloc(n * CHAINS * sizeof *p);
    double hot = envd("HOT", 0.05), many = envd("MANY", 0.2), last = envd("LAST", 0.3);
    int rc = rlt__try_uniform(t, err);
    rc = rc < 0 ? rc : 0;
    /* starts: the best so far, the baseline, best other points judged */
    uint32_t used = 0, order[CHAINS];
    order[used++] = t->best;
    if (t->best != 0) order[used++] = 0;
    while (used < chains) {
        uint32_t best = RLT_NONE;
        for (uint32_t i = 0; i < t->judged; i++) {
            bool has = false;
            for (uint32_t k = 0; k < used; k++) has |= order[k] == i;
            if (!has && (best == RLT_NONE || rlt_judged_better(&t->found[i], &t->found[best]))) best = i;
        }
        if (best == RLT_NONE) break;
        order[used++] = best;
    }
    if (rc == 0 && envd("DESC", 0) > 0) {
        t->limit = t->judged + (uint64_t)((double)(all - t->judged) * envd("DESC", 0));
        t->idle = 0;
        uint16_t *q = malloc(n * 2); memcpy(q, rlt__trial_best(t), n * 2);
        rc = descend_from(t, q, err); free(q); order[0] = t->best;
        rc = rc < 0 ? rc : 0;
    }
    rlt_judged state[CHAINS];
    for (uint32_t k = 0; k < used; k++) { memcpy(p + k * n, t->points + order[k] * n, n * 2); state[k] = t->found[order[k]]; }
    uint32_t rounds = 0;
    for (uint32_t k = used; k > 1; k = (k + 1) / 2) rounds++;
    rounds++;
    uint64_t begin = t->judged, span = all > begin ? (uint64_t)((double)(all - begin) * (1 - last)) : 0;
    for (uint32_t r = 0; r < rounds && rc == 0 && !t->stopped; r++) {
        for (uint32_t k = 0; k < used && rc == 0; k++) {
            t->limit = begin + span * r / rounds + span / rounds * (k + 1) / used;
            if (t->limit <= t->judged) continue;
            t->idle = 0;
            uint32_t first = (uint32_t)t->judged;
            double h0 = hot * (1 - (double)r / rounds), h1 = hot * (1 - (double)(r + 1) / rounds) + 1e-4;
            rc = anneal2(t, p + k * n, h0, h1, many, err);
            rc = rc < 0 ? rc : 0;
            /* the chain goes on from its best point of this round */
            for (uint32_t i = first; i < t->judged; i++)
                if (rlt_judged_better(&t->found[i], &state[k])) { state[k] = t->found[i]; memcpy(p + k * n, t->points + i * n, n * 2); }
        }
        uint32_t keep = (used + 1) / 2;
        for (uint32_t k = 0; k < keep; k++) /* selection sort */
            for (uint32_t m = k + 1; m < used; m++)
                if (rlt_judged_better(&state[m], &state[k])) {
                    rlt_judged x = state[k]; state[k] = state[m]; state[m] = x;
                    for (size_t i = 0; i < n; i++) { uint16_t y = p[k * n + i]; p[k * n + i] = p[m * n + i]; p[m * n + i] = y; }
                }
        used = keep;
    }
    while (rc == 0 && !t->stopped && t->judged < all) {
        uint64_t before = t->judged;
        t->limit = all; t->idle = 0;
        memcpy(p, rlt__trial_best(t), n * 2);
        rc = descend_from(t, p, err);
        rc = rc < 0 ? rc : 0;
        t->limit = t->judged + (all - t->judged) / 2; t->idle = 0;
        memcpy(p, rlt__trial_best(t), n * 2);
        if (rc == 0 && t->judged < t->limit) { rc = anneal2(t, p, 0.02, 1e-4, many, err); rc = rc < 0 ? rc : 0; }
        if (t->judged == before) break;
    }
    t->limit = all;
    free(p);
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
    if (getenv("HALVE")) return halving(t, err);
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
