/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A deployment as a search problem. */
#include <stdlib.h>

#include "sim/base/error.h"
#include "tools/base/progress.h"
#include "tools/deploy/deploy.h"
#include "tools/deploy/guide.h"
#include "tools/search/search.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/judge.h"
#include "workload/deploy/opgraph.h"
#include "workload/deploy/strategy.h"

static uint32_t find_action(const rlt_deployment *d, uint32_t placement, rlt_use use)
{
    for (uint32_t i = 0; i < d->n_actions; i++)
        if (d->actions[i].placement == placement && d->actions[i].use == use)
            return i;
    return 0;
}

static int judge_all(rlt_deployment *d, uint32_t action, rlt_verdict *v, rlt_error *err)
{
    for (uint32_t i = 0; i < d->grouping->n; i++) {
        d->baseline[i] = (uint16_t)action;
        d->strategies[0].actions[i] = d->actions[action];
    }
    return rlt_judge_tag(d->judges[0], &d->strategies[0], v, NULL, err);
}

/* All groups on all devices with all-reduce; model parallel if that does not fit. */
static int find_baseline(rlt_deployment *d, rlt_error *err)
{
    uint32_t all = (1u << d->cluster->n_groups) - 1;
    rlt_verdict v;
    int rc = judge_all(d, find_action(d, all, RLT_USE_ALL_REDUCE), &v, err);
    if (!rc && v.over && d->cluster->n_devices > 1)
        rc = judge_all(d, find_action(d, all, RLT_USE_MODEL), &v, err);
    return rc;
}

static int make_trials(rlt_deployment *d, rlt_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < d->trials && !rc; i++) {
        rc = rlt_judge_create(d->graph, d->grouping, d->cluster, &d->judges[i], err);
        if (!rc)
            rc = rlt_strategy_uniform(d->grouping->n, d->actions[0], &d->strategies[i], err);
    }
    return rc;
}

static void find_equals(rlt_deployment *d)
{
    for (uint32_t i = 0; i < d->graph->n_tensors; i++)
        if (d->graph->tensors[i].kind == RLT_TENSOR_GRADIENT)
            d->reduces[d->grouping->of_op[d->graph->tensors[i].dst]] = 1;
    for (uint32_t a = 0; a < d->n_actions; a++)
        d->instead[a] = (uint16_t)(d->actions[a].use == RLT_USE_PS
                                       ? find_action(d, d->actions[a].placement, RLT_USE_ALL_REDUCE)
                                       : a);
}

int rlt_deployment_make(const rlt_opgraph *g, const rlt_grouping *p, const rlt_cluster *c, bool duplicate,
                        uint32_t trials, rlt_deployment *out, rlt_error *err)
{
    *out = (rlt_deployment){.graph = g, .grouping = p, .cluster = c, .trials = trials};
    int rc = rlt_actions_list(c, duplicate, &out->actions, &out->n_actions, err);
    if (rc)
        return rc;
    out->options = malloc(p->n * sizeof *out->options);
    out->baseline = malloc(p->n * sizeof *out->baseline);
    out->judges = calloc(trials, sizeof(*out->judges));
    out->strategies = calloc(trials, sizeof *out->strategies);
    out->verdicts = calloc(trials, sizeof *out->verdicts);
    out->reduces = calloc(p->n, sizeof *out->reduces);
    out->instead = calloc(out->n_actions, sizeof *out->instead);
    if (!out->options || !out->baseline || !out->judges || !out->strategies || !out->verdicts ||
        !out->reduces || !out->instead)
        rc = rlt_nomem(err);
    for (uint32_t i = 0; i < p->n && !rc; i++)
        out->options[i] = out->n_actions;
    if (!rc)
        find_equals(out);
    if (!rc && !(rc = make_trials(out, err)))
        rc = find_baseline(out, err);
    if (rc)
        rlt_deployment_free(out);
    return rc;
}

void rlt_deployment_free(rlt_deployment *d)
{
    for (uint32_t i = 0; i < d->trials; i++) {
        if (d->judges)
            rlt_judge_free(d->judges[i]);
        if (d->strategies)
            rlt_strategy_free(&d->strategies[i]);
    }
    free(d->actions);
    free(d->options);
    free(d->baseline);
    free(d->judges);
    free(d->strategies);
    free(d->verdicts);
    free(d->reduces);
    free(d->instead);
    *d = (rlt_deployment){0};
}

const rlt_strategy *rlt_deployment_strategy(rlt_deployment *d, uint32_t trial, const uint16_t *point)
{
    for (uint32_t i = 0; i < d->grouping->n; i++)
        d->strategies[trial].actions[i] = d->actions[point[i]];
    return &d->strategies[trial];
}

/* Moves the bar on, for all trials: only the first one may, since they run on several threads. */
static void tell(rlt_deployment *d, uint32_t trial)
{
    if (d->progress && trial == 0)
        rlt_progress_update(d->progress, d->judged += d->trials, d->to_judge);
}

static int judge_by(rlt_deployment *d, bool network, uint32_t trial, const uint16_t *point, rlt_judged *out,
                    rlt_error *err)
{
    const rlt_strategy *s = rlt_deployment_strategy(d, trial, point);
    rlt_verdict *v = &d->verdicts[trial];
    int rc = network ? rlt_judge_network(d->judges[trial], s, v, err)
                     : rlt_judge_tag(d->judges[trial], s, v, NULL, err);
    *out = (rlt_judged){v->time_ps, v->over};
    tell(d, trial);
    return rc;
}

static int judge(void *ctx, uint32_t trial, const uint16_t *point, rlt_judged *out, rlt_error *err)
{
    return judge_by(ctx, false, trial, point, out, err);
}

static int judge_network(void *ctx, uint32_t trial, const uint16_t *point, rlt_judged *out, rlt_error *err)
{
    return judge_by(ctx, true, trial, point, out, err);
}

/* A group into which no gradient flows has none to reduce: ps and all_reduce are the same. */
static void canonical(void *ctx, uint16_t *point)
{
    const rlt_deployment *d = ctx;
    for (uint32_t i = 0; i < d->grouping->n; i++)
        if (!d->reduces[i])
            point[i] = d->instead[point[i]];
}

rlt_search_problem rlt_deployment_problem(rlt_deployment *d, bool network)
{
    return (rlt_search_problem){.n = d->grouping->n,
                                .options = d->options,
                                .baseline = d->baseline,
                                .ctx = d,
                                .judge = network ? judge_network : judge,
                                .canonical = canonical,
                                .prior = d->guide ? rlt_guide_prior : NULL};
}
