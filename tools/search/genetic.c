/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A steady-state genetic algorithm (Whitley: "The GENITOR algorithm", 1989). */
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "tools/search/search.h"
#include "tools/search/trial.h"

enum { POPULATION = 40 };

typedef struct population {
    uint16_t *points; /* POPULATION points, then the child */
    rlt_judged judged[POPULATION];
    uint32_t n;
} population;

static uint16_t *member(const rlt_trial *t, const population *p, uint32_t i)
{
    return p->points + (size_t)i * t->problem->n;
}

/* The uniform points first, then random ones. */
static int begin(rlt_trial *t, population *p, rlt_error *err)
{
    uint32_t options = rlt__trial_most_options(t);
    int rc = 0;
    for (; p->n < POPULATION && !rc; p->n += rc == 0) {
        uint16_t *x = member(t, p, p->n);
        if (p->n < options)
            rlt__trial_uniform(t, p->n, x);
        else
            for (uint32_t i = 0; i < t->problem->n; i++)
                x[i] = rlt__trial_option(t, i);
        rc = rlt__trial_judge(t, x, &p->judged[p->n], err);
    }
    return rc;
}

/* The better of two random members. */
static uint32_t tournament(rlt_trial *t, const population *p)
{
    uint32_t a = (uint32_t)rlt__trial_random(t, p->n), b = (uint32_t)rlt__trial_random(t, p->n);
    return rlt_judged_better(&p->judged[b], &p->judged[a]) ? b : a;
}

static int breed(rlt_trial *t, population *p, rlt_error *err)
{
    uint32_t n = t->problem->n, worst = 0, a = tournament(t, p), b = tournament(t, p);
    uint16_t *child = member(t, p, POPULATION);
    rlt_judged j;
    for (uint32_t i = 0; i < n; i++) {
        child[i] = member(t, p, rlt__trial_random(t, 2) ? a : b)[i];
        if (rlt__trial_random(t, n) == 0)
            child[i] = rlt__trial_option(t, i);
    }
    int rc = rlt__trial_judge(t, child, &j, err);
    for (uint32_t i = 1; i < p->n; i++)
        worst = rlt_judged_better(&p->judged[worst], &p->judged[i]) ? i : worst;
    if (!rc && rlt_judged_better(&j, &p->judged[worst])) {
        memcpy(member(t, p, worst), child, n * sizeof *child);
        p->judged[worst] = j;
    }
    return rc;
}

static int run(rlt_trial *t, rlt_error *err)
{
    population p = {.points = malloc((POPULATION + 1) * (size_t)t->problem->n * sizeof *p.points)};
    int rc = p.points ? begin(t, &p, err) : rlt_nomem(err);
    while (!rc)
        rc = breed(t, &p, err);
    free(p.points);
    return rc;
}

const rlt_search_method rlt__search_genetic = {"genetic", "genetic algorithm, 40 points at a time", run,
                                               false};
