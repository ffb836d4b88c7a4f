/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory, draws and budget of a trial. */
#include "tools/search/trial.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
#include "tools/base/interrupt.h"
#include "tools/search/search.h"

enum { PURPOSE = 0x5ea2c4, MAX_IDLE = 20000, MAX_POINTS = 1 << 30 };

void rlt__trial_free(rlt_trial *t)
{
    free(t->points);
    free(t->meant);
    free(t->found);
    free(t->same);
    free(t->curve);
    rlt_map_free(&t->known);
}

uint64_t rlt__trial_random(rlt_trial *t, uint64_t n)
{
    return rlt_random_below(t->seed, t->number, PURPOSE, t->drawn++, n);
}

double rlt__trial_unit(rlt_trial *t)
{
    return rlt_random_unit(t->seed, t->number, PURPOSE, t->drawn++);
}

bool rlt__trial_allowed(const rlt_trial *t, uint32_t variable, uint32_t option)
{
    const rlt_search_problem *p = t->problem;
    return option < p->options[variable] && (!p->allowed || p->allowed(p->ctx, variable, option));
}

uint16_t rlt__trial_option(rlt_trial *t, uint32_t variable)
{
    uint32_t n = t->problem->options[variable], o = (uint32_t)rlt__trial_random(t, n);
    for (uint32_t i = 0; i < n && !rlt__trial_allowed(t, variable, o); i++)
        o = (o + 1) % n;
    return (uint16_t)o;
}

uint32_t rlt__trial_most_options(const rlt_trial *t)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < t->problem->n; i++)
        most = t->problem->options[i] > most ? t->problem->options[i] : most;
    return most;
}

void rlt__trial_uniform(const rlt_trial *t, uint32_t option, uint16_t *point)
{
    for (uint32_t i = 0; i < t->problem->n; i++)
        point[i] = rlt__trial_allowed(t, i, option) ? (uint16_t)option : t->problem->baseline[i];
}

double rlt__trial_progress(const rlt_trial *t)
{
    return t->limit ? (double)t->judged / (double)t->limit : 1;
}

bool rlt_judged_better(const rlt_judged *a, const rlt_judged *b)
{
    if (a->lacks > 0 || b->lacks > 0)
        return a->lacks < b->lacks || (!(a->lacks > b->lacks) && a->cost < b->cost);
    return a->cost < b->cost;
}

double rlt_search_reward(const rlt_judged *baseline, const rlt_judged *j)
{
    if (j->lacks > 0)
        return -1;
    double r = (double)baseline->cost / (double)j->cost - 1;
    return r > 1 ? sqrt(sqrt(r)) : r;
}

static uint32_t remembered(const rlt_trial *t, const uint16_t *point, uint64_t hash)
{
    uint32_t i = rlt_map_get(&t->known, hash);
    while (i != RLT_NONE &&
           memcmp(t->points + (size_t)i * t->problem->n, point, t->problem->n * sizeof *point) != 0)
        i = t->same[i];
    return i;
}

static int remember(rlt_trial *t, const uint16_t *point, uint64_t hash, const rlt_judged *j, rlt_error *err)
{
    uint32_t n = t->problem->n, i = (uint32_t)t->judged;
    int rc;
    if ((rc = rlt_grow(&t->points, &t->points_room, sizeof *t->points, ((uint64_t)i + 1) * n, UINT32_MAX,
                       "points", err)) ||
        (rc = rlt_grow(&t->found, &t->found_room, sizeof *t->found, (uint64_t)i + 1, MAX_POINTS, "points",
                       err)) ||
        (rc = rlt_grow(&t->same, &t->same_room, sizeof *t->same, (uint64_t)i + 1, MAX_POINTS, "points", err)))
        return rc;
    memcpy(t->points + (size_t)i * n, point, n * sizeof *point);
    t->found[i] = *j;
    t->same[i] = rlt_map_get(&t->known, hash);
    if (rlt_map_put(&t->known, hash, i) != 0)
        return rlt_nomem(err);
    t->judged++;
    if (i > 0 && !rlt_judged_better(j, &t->found[t->best]))
        return 0;
    t->best = i;
    rc = rlt_grow(&t->curve, &t->curve_room, sizeof *t->curve, (uint64_t)t->n_curve + 1, MAX_POINTS, "steps",
                  err);
    if (!rc)
        t->curve[t->n_curve++] = (rlt_search_step){t->judged, j->cost};
    return rc;
}

/* Puts the canonical form of a point into t->meant. */
static int find_meaning(rlt_trial *t, const uint16_t *point, rlt_error *err)
{
    size_t bytes = t->problem->n * sizeof *point;
    if (!t->meant && !(t->meant = malloc(bytes)))
        return rlt_nomem(err);
    memcpy(t->meant, point, bytes);
    if (t->problem->canonical)
        t->problem->canonical(t->problem->ctx, t->meant);
    return 0;
}

uint32_t rlt__trial_known(rlt_trial *t, const uint16_t *point)
{
    if (find_meaning(t, point, NULL))
        return RLT_NONE;
    return remembered(t, t->meant, rlt_hash_bytes(t->meant, t->problem->n * sizeof *point, 0));
}

int rlt__trial_judge(rlt_trial *t, const uint16_t *point, rlt_judged *out, rlt_error *err)
{
    int rc = find_meaning(t, point, err);
    if (rc)
        return rc;
    uint64_t hash = rlt_hash_bytes(t->meant, t->problem->n * sizeof *point, 0);
    uint32_t i = remembered(t, t->meant, hash);
    if (i != RLT_NONE) {
        *out = t->found[i];
        t->remembered++;
        return ++t->idle > MAX_IDLE;
    }
    t->idle = 0;
    t->stopped = t->stopped || rlt_interrupted();
    if (t->stopped || t->judged >= t->limit)
        return 1;
    rc = t->problem->judge(t->problem->ctx, t->number, t->meant, out, err);
    return rc ? rc : remember(t, t->meant, hash, out, err);
}
