/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The portfolio: coordinate descent from the best uniform point, then chains of annealing from several
 * points. After each round the better half of them goes on (successive halving: Jamieson, Talwalkar, AISTATS
 * 2016). Then descent and annealing in turns from the best point.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "tools/search/search.h"
#include "tools/search/trial.h"

enum { CHAINS = 4 };
static const double hot = 0.04, cold = 1e-4, warm = 0.02, together = 0.2;
static const double descent_share = 0.35, chains_share = 0.7; /* of the budget left */

typedef struct chain {
    uint16_t *point; /* the best of the chain */
    rlt_judged judged;
} chain;

typedef struct portfolio {
    rlt_trial *trial;
    chain chains[CHAINS];
    uint32_t n;
    uint16_t *points, *work;
} portfolio;

static int forgive(int rc)
{
    return rc < 0 ? rc : 0;
}

static bool has_start(const portfolio *p, const uint16_t *point)
{
    size_t bytes = p->trial->problem->n * sizeof *point;
    for (uint32_t i = 0; i < p->n; i++)
        if (memcmp(p->chains[i].point, point, bytes) == 0)
            return true;
    return false;
}

static void add_start(portfolio *p, uint32_t known)
{
    uint32_t n = p->trial->problem->n;
    const uint16_t *point = p->trial->points + (size_t)known * n;
    if (has_start(p, point) || p->n == CHAINS)
        return;
    chain *c = &p->chains[p->n];
    c->point = p->points + (size_t)p->n++ * n;
    c->judged = p->trial->found[known];
    memcpy(c->point, point, n * sizeof *c->point);
}

/* Finds the best uniform point among those judged. */
static uint32_t best_uniform(portfolio *p)
{
    const rlt_trial *t = p->trial;
    uint32_t best = 0;
    for (uint32_t o = 0; o < rlt__trial_most_options(t); o++) {
        rlt__trial_uniform(t, o, p->work);
        uint32_t i = rlt__trial_known(p->trial, p->work);
        if (i != RLT_NONE && rlt_judged_better(&t->found[i], &t->found[best]))
            best = i;
    }
    return best;
}

/* Starts: the best uniform point, the best point so far, the baseline, and the next best points so far. */
static void choose_starts(portfolio *p)
{
    const rlt_trial *t = p->trial;
    add_start(p, best_uniform(p));
    add_start(p, t->best);
    add_start(p, 0);
    while (p->n < CHAINS) {
        uint32_t best = RLT_NONE;
        for (uint32_t i = 0; i < t->judged; i++)
            if ((best == RLT_NONE || rlt_judged_better(&t->found[i], &t->found[best])) &&
                !has_start(p, t->points + (size_t)i * t->problem->n))
                best = i;
        if (best == RLT_NONE)
            return;
        add_start(p, best);
    }
}

/* Makes the best point judged since the first one given the point of a chain, if it is better. */
static void take_best(portfolio *p, chain *c, uint64_t first)
{
    const rlt_trial *t = p->trial;
    size_t n = t->problem->n;
    for (uint64_t i = first; i < t->judged; i++)
        if (rlt_judged_better(&t->found[i], &c->judged)) {
            c->judged = t->found[i];
            memcpy(c->point, t->points + i * n, n * sizeof *c->point);
        }
}

/* Descends from the best uniform point with a share of what is left until `all`, if a pass fits into it. */
static int descend(portfolio *p, uint64_t all, rlt_error *err)
{
    rlt_trial *t = p->trial;
    uint64_t share = (uint64_t)(descent_share * (double)(all - t->judged)), pass = 0, first = t->judged;
    for (uint32_t i = 0; i < t->problem->n; i++)
        pass += t->problem->options[i];
    if (share < pass)
        return 0;
    t->limit = t->judged + share;
    t->idle = 0;
    memcpy(p->work, p->chains[0].point, t->problem->n * sizeof *p->work);
    int rc = forgive(rlt__descend(t, p->work, err));
    take_best(p, &p->chains[0], first);
    return rc;
}

/* Runs a chain until `limit` points are judged. It goes on from the best point that it meets. */
static int run_chain(portfolio *p, chain *c, const rlt__annealing *how, uint64_t limit, rlt_error *err)
{
    rlt_trial *t = p->trial;
    uint64_t first = t->judged;
    if (limit <= first)
        return 0;
    t->limit = limit;
    t->idle = 0;
    memcpy(p->work, c->point, t->problem->n * sizeof *p->work);
    int rc = rlt__anneal(t, how, p->work, err);
    take_best(p, c, first);
    return forgive(rc);
}

/* Keeps the better half. */
static void halve(portfolio *p)
{
    uint32_t keep = (p->n + 1) / 2;
    for (uint32_t i = 0; i < keep; i++)
        for (uint32_t k = i + 1; k < p->n; k++)
            if (rlt_judged_better(&p->chains[k].judged, &p->chains[i].judged)) {
                chain c = p->chains[i];
                p->chains[i] = p->chains[k];
                p->chains[k] = c;
            }
    p->n = keep;
}

static int run_chains(portfolio *p, uint64_t until, rlt_error *err)
{
    rlt_trial *t = p->trial;
    uint64_t began = t->judged, span = until > began ? until - began : 0;
    uint32_t rounds = 1;
    int rc = 0;
    for (uint32_t n = p->n; n > 1; n = (n + 1) / 2)
        rounds++;
    for (uint32_t r = 0; r < rounds && rc == 0 && !t->stopped; r++) {
        rlt__annealing how = {.hot = hot * (rounds - r) / rounds + cold,
                              .cold = hot * (rounds - r - 1) / rounds + cold,
                              .together = together};
        for (uint32_t i = 0; i < p->n && rc == 0; i++)
            rc = run_chain(p, &p->chains[i], &how, began + span * r / rounds + span / rounds * (i + 1) / p->n,
                           err);
        halve(p);
    }
    return rc;
}

/* Descent and annealing in turns from the best point, until `all` points are judged or nothing is new. */
static int finish(portfolio *p, uint64_t all, rlt_error *err)
{
    static const rlt__annealing how = {.hot = warm, .cold = cold, .together = together};
    rlt_trial *t = p->trial;
    size_t bytes = t->problem->n * sizeof *p->work;
    int rc = 0;
    for (uint64_t before = UINT64_MAX; rc == 0 && !t->stopped && t->judged < all && t->judged != before;) {
        before = t->judged;
        t->limit = all;
        t->idle = 0;
        memcpy(p->work, rlt__trial_best(t), bytes);
        rc = forgive(rlt__descend(t, p->work, err));
        t->limit = t->judged + (all - t->judged + 1) / 2;
        t->idle = 0;
        memcpy(p->work, rlt__trial_best(t), bytes);
        if (rc == 0)
            rc = forgive(rlt__anneal(t, &how, p->work, err));
    }
    return rc;
}

int rlt__refine(rlt_trial *t, rlt_error *err)
{
    size_t bytes = t->problem->n * sizeof(uint16_t);
    uint64_t all = t->limit;
    portfolio p = {.trial = t, .points = malloc(CHAINS * bytes), .work = malloc(bytes)};
    int rc = p.points && p.work ? forgive(rlt__try_uniform(t, err)) : rlt_nomem(err);
    if (rc == 0) {
        choose_starts(&p);
        rc = descend(&p, all, err);
    }
    if (rc == 0 && !t->stopped) {
        rc = run_chains(&p, t->judged + (uint64_t)(chains_share * (double)(all - t->judged)), err);
    }
    if (rc == 0)
        rc = finish(&p, all, err);
    t->limit = all;
    free(p.points);
    free(p.work);
    return rc;
}

const rlt_search_method rlt__search_portfolio = {
    "portfolio", "descent, then chains of annealing from several points, of which the better half goes on",
    rlt__refine, false};
