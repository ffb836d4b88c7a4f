/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of methods, and how trials are run and put together. */
#include "sim/base/time.h"
#include "tools/search/search.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/words.h"
#include "tools/base/interrupt.h"
#include "tools/base/pool.h"
#include "tools/search/trial.h"

static const rlt_search_method *const methods[] = {
    &rlt__search_portfolio, &rlt__search_mcts,    &rlt__search_anneal, &rlt__search_descent,
    &rlt__search_genetic,   &rlt__search_uniform, &rlt__search_random, &rlt__search_exhaustive,
};

const rlt_search_method *rlt_search_method_at(uint32_t i)
{
    return i < sizeof methods / sizeof *methods ? methods[i] : NULL;
}

const rlt_search_method *rlt_search_method_find(const char *name, rlt_error *err)
{
    const rlt_search_method *m;
    char list[256] = "";
    for (uint32_t i = 0; (m = rlt_search_method_at(i)); i++) {
        if (strcmp(m->name, name) == 0)
            return m;
        rlt_list_name(list, sizeof list, m->name);
    }
    (void)rlt_fail(err, RLT_EUSAGE, "--method", "expected one of %s, got '%.60s'", list, name);
    return NULL;
}

static int check(const rlt_search_problem *p, const rlt_search_settings *s, rlt_error *err)
{
    if (s->budget == 0)
        return rlt_fail(err, RLT_EUSAGE, "search", "expected a budget of at least 1");
    if (p->n == 0)
        return rlt_fail(err, RLT_EUSAGE, "search", "there is nothing to decide");
    if (!(s->polish >= 0 && s->polish <= 1))
        return rlt_fail(err, RLT_EUSAGE, "search", "expected a share from 0 to 1 for polishing, got %g",
                        s->polish);
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->options[i] == 0 || p->options[i] > RLT_SEARCH_MAX_OPTIONS)
            return rlt_fail(err, RLT_EUSAGE, "search", "variable %u has %u options: expected 1 to %d", i,
                            p->options[i], RLT_SEARCH_MAX_OPTIONS);
        if (p->baseline[i] >= p->options[i] || (p->allowed && !p->allowed(p->ctx, i, p->baseline[i])))
            return rlt_fail(err, RLT_EUSAGE, "search",
                            "the baseline gives variable %u an option that is not allowed", i);
    }
    return 0;
}

typedef struct trials {
    const rlt_search_settings *settings;
    rlt_trial *trials;
    uint32_t n;
} trials;

static int run_trial(void *ctx, rlt_task *job, uint32_t i, uint32_t slot, rlt_error *err)
{
    const trials *all = ctx;
    rlt_trial *t = &all->trials[i];
    const rlt_search_method *m = all->settings->method;
    rlt_judged j;
    (void)job;
    (void)slot;
    uint64_t kept = m->polishes ? (uint64_t)((double)t->budget * all->settings->polish) : 0;
    t->limit = t->budget - kept ? t->budget - kept : 1; /* the baseline at least */
    int rc = rlt__trial_judge(t, t->problem->baseline, &j, err);
    if (!rc && t->problem->start)
        rc = rlt__trial_judge(t, t->problem->start, &j, err);
    if (!rc)
        rc = m->run(t, err);
    if (rc >= 0 && kept && !t->stopped) {
        t->limit = t->budget;
        rc = rlt__refine(t, err);
    }
    return rc < 0 ? rc : 0;
}

static int take_trial(void *ctx, uint32_t i, uint32_t slot, rlt_error *err)
{
    (void)ctx;
    (void)i;
    (void)slot;
    (void)err;
    return 0;
}

/* Puts the curves together as if the trials had judged their points in turns. */
static int join_curves(const trials *all, rlt_search_result *out, rlt_error *err)
{
    uint32_t total = 0, n = all->n;
    uint32_t *at = calloc(n, sizeof *at);
    for (uint32_t i = 0; i < n; i++)
        total += all->trials[i].n_curve;
    out->curve = malloc(((size_t)total + 1) * sizeof *out->curve);
    if (!at || !out->curve) {
        free(at);
        return rlt_nomem(err);
    }
    for (;;) {
        uint32_t next = RLT_NONE;
        uint64_t when = UINT64_MAX;
        for (uint32_t i = 0; i < n; i++) {
            const rlt_trial *t = &all->trials[i];
            uint64_t turn = at[i] < t->n_curve ? (t->curve[at[i]].judged - 1) * n + i + 1 : UINT64_MAX;
            if (turn < when) {
                when = turn;
                next = i;
            }
        }
        if (next == RLT_NONE)
            break;
        int64_t cost = all->trials[next].curve[at[next]++].cost;
        if (out->n_curve && cost >= out->curve[out->n_curve - 1].cost)
            continue;
        out->curve[out->n_curve++] = (rlt_search_step){when, cost};
        if (out->first_better == 0 && cost < out->baseline.cost)
            out->first_better = when;
    }
    free(at);
    return 0;
}

static int put_together(const trials *all, const rlt_search_problem *p, rlt_search_result *out,
                        rlt_error *err)
{
    const rlt_trial *best = NULL;
    for (uint32_t i = 0; i < all->n; i++) {
        const rlt_trial *t = &all->trials[i];
        out->judged += t->judged;
        out->remembered += t->remembered;
        out->stopped |= t->stopped;
        if (t->judged && (!best || rlt_judged_better(&t->found[t->best], &best->found[best->best])))
            best = t;
    }
    if (!best)
        return rlt_fail(err, RLT_ECANCELLED, "search", "stopped before a point was judged");
    out->point = malloc(p->n * sizeof *out->point);
    if (!out->point)
        return rlt_nomem(err);
    memcpy(out->point, rlt__trial_best(best), p->n * sizeof *out->point);
    out->best = best->found[best->best];
    out->baseline = best->found[0];
    return join_curves(all, out, err);
}

static void free_trials(trials *all)
{
    for (uint32_t i = 0; all->trials && i < all->n; i++)
        rlt__trial_free(&all->trials[i]);
    free(all->trials);
}

int rlt_search_run(const rlt_search_problem *p, const rlt_search_settings *s, rlt_search_result *out,
                   rlt_error *err)
{
    uint32_t n = s->trials ? s->trials : 1;
    n = n < s->budget ? n : (uint32_t)s->budget;
    trials all = {.settings = s, .n = n};
    *out = (rlt_search_result){0};
    int rc = check(p, s, err);
    if (rc)
        return rc;
    if (!(all.trials = calloc(n, sizeof *all.trials)))
        return rlt_nomem(err);
    for (uint32_t i = 0; i < n; i++)
        all.trials[i] = (rlt_trial){
            .problem = p, .seed = s->seed, .number = i, .budget = s->budget / n + (i < s->budget % n)};
    rlt_pool_work work = {.n = n, .slots = n, .ctx = &all, .run = run_trial, .take = take_trial};
    rc = rlt_pool_run(&work, rlt_pool_threads(s->threads), err);
    if (rc == RLT_ECANCELLED && rlt_interrupted()) {
        out->stopped = true;
        rc = 0;
    }
    if (!rc)
        rc = put_together(&all, p, out, err);
    if (rc)
        rlt_search_free(out);
    free_trials(&all);
    return rc;
}

void rlt_search_free(rlt_search_result *r)
{
    free(r->point);
    free(r->curve);
    r->point = NULL;
    r->curve = NULL;
}
