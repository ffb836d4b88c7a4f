/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ringlet deploy evaluate` and `ringlet deploy judges`: methods, and the two timings, compared. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
#include "sim/base/words.h"
#include "tools/base/interrupt.h"
#include "tools/base/numbers.h"
#include "tools/base/pool.h"
#include "tools/base/progress.h"
#include "tools/deploy/deploy.h"
#include "tools/deploy/guide.h"
#include "tools/deploy/policy/policy.h"
#include "tools/deploy/report.h"
#include "tools/output/sheet.h"
#include "tools/search/search.h"
#include "workload/deploy/judge.h"
#include "workload/deploy/strategy.h"

enum { PURPOSE = 0xde9107 };

/* Work that is done for each graph on each cluster. */
typedef struct pairs {
    const rlt_deploy_settings *settings;
    rlt_deploy_items graphs, clusters, methods;
    rlt_policy *policy; /* NULL: no method needs it */
    rlt_sheet sheet;
    rlt_progress progress;
    uint64_t done, all;
} pairs;

typedef int (*work_of)(pairs *p, const rlt_deploy_case *c, rlt_deployment *d, rlt_error *err);

static int do_case(pairs *p, const char *graph, const char *cluster, work_of work, rlt_error *err)
{
    rlt_deploy_case c;
    rlt_deployment d;
    int rc = rlt_deploy_load(graph, cluster, p->settings, &c, err);
    if (rc)
        return rc;
    rc = rlt_deployment_make(c.graph, &c.grouping, &c.cluster, p->settings->duplicate, 1, &d, err);
    if (!rc) {
        rc = work(p, &c, &d, err);
        rlt_deployment_free(&d);
    }
    rlt_deploy_unload(&c);
    return rc;
}

static int do_all(const rlt_parsed *args, pairs *p, const char *command, const rlt_columns *columns,
                  work_of work, const char *legend, rlt_error *err)
{
    const rlt_deploy_settings *s = p->settings;
    int rc = rlt_deploy_split(s->graph, ',', "--graphs", &p->graphs, err);
    if (!rc)
        rc = rlt_deploy_split(s->topology, ';', "--topologies", &p->clusters, err);
    if (!rc)
        rc = rlt_sheet_open(&p->sheet, &s->report, command, args, NULL, err);
    if (!rc) {
        p->all *= (uint64_t)p->graphs.n * p->clusters.n;
        rlt_progress_start(&p->progress, "judging");
        rlt_sheet_heading(&p->sheet, columns->list, columns->n);
        for (uint32_t i = 0; i < p->graphs.n && !rc; i++)
            for (uint32_t k = 0; k < p->clusters.n && !rc; k++)
                rc = do_case(p, p->graphs.text[i], p->clusters.text[k], work, err);
        rlt_progress_clear();
        rc = rlt_sheet_close(&p->sheet, rc, legend, err);
    }
    free(p->graphs.text);
    free(p->clusters.text);
    return rc;
}

static int stopped(rlt_error *err)
{
    return rlt_fail(err, RLT_ECANCELLED, "deploy", "stopped on request");
}

/* ---- evaluate ---- */

/* A method with all seeds, on threads. */
typedef struct seeds {
    pairs *all;
    const rlt_deployment *of;
    const rlt_search_method *method;
    bool guided;
    double *times; /* by seed */
    uint64_t *judged;
} seeds;

static int search_seed(void *ctx, rlt_task *job, uint32_t i, uint32_t slot, rlt_error *err)
{
    seeds *x = ctx;
    const rlt_deploy_settings *s = x->all->settings;
    rlt_deployment d;
    rlt_guide *guide = NULL;
    rlt_search_result r = {0};
    rlt_search_settings how = {.method = x->method,
                               .budget = s->budget,
                               .seed = s->seed + i,
                               .trials = 1,
                               .threads = 1,
                               .polish = s->polish};
    (void)job;
    (void)slot;
    int rc = rlt_deployment_make(x->of->graph, x->of->grouping, x->of->cluster, s->duplicate, 1, &d, err);
    if (rc)
        return rc;
    if (x->guided)
        rc = rlt_guide_make(&d, x->all->policy, &guide, err);
    rlt_search_problem problem = rlt_deployment_problem(&d, false);
    if (!rc)
        rc = rlt_search_run(&problem, &how, &r, err);
    if (!rc && r.stopped)
        rc = stopped(err);
    x->times[i] = (double)r.best.cost;
    x->judged[i] = r.judged;
    rlt_search_free(&r);
    rlt_guide_free(guide);
    rlt_deployment_free(&d);
    return rc;
}

static int take_seed(void *ctx, uint32_t i, uint32_t slot, rlt_error *err)
{
    seeds *x = ctx;
    (void)i;
    (void)slot;
    (void)err;
    rlt_progress_update(&x->all->progress, ++x->all->done, x->all->all);
    return 0;
}

/* Searches with all seeds. times: one per seed, sorted. */
static int search_seeds(pairs *p, const rlt_deployment *d, const char *method, double *times,
                        uint64_t *judged, rlt_error *err)
{
    uint32_t n = p->settings->seeds;
    seeds x = {.all = p, .of = d, .times = times, .judged = calloc(n, sizeof *x.judged)};
    rlt_pool_work work = {.n = n, .slots = n, .ctx = &x, .run = search_seed, .take = take_seed};
    int rc = x.judged ? rlt_deploy_method_find(method, &x.method, &x.guided, err) : rlt_nomem(err);
    if (!rc)
        rc = rlt_pool_run(&work, rlt_pool_threads(p->settings->jobs), err);
    *judged = 0;
    for (uint32_t i = 0; i < n && !rc; i++)
        *judged += x.judged[i];
    if (!rc)
        qsort(times, n, sizeof *times, rlt_by_value);
    free(x.judged);
    return rc;
}

static double median(const double *sorted, uint32_t n)
{
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

static int evaluate_case(pairs *p, const rlt_deploy_case *c, rlt_deployment *d, rlt_error *err)
{
    uint32_t n = p->settings->seeds;
    double *times = malloc(n * sizeof *times), uniform = 0;
    rlt_search_problem problem = rlt_deployment_problem(d, false);
    rlt_judged base;
    uint64_t judged;
    int rc = times ? problem.judge(d, 0, d->baseline, &base, err) : rlt_nomem(err);
    if (!rc)
        rc = search_seeds(p, d, "uniform", times, &judged, err);
    if (!rc)
        uniform = times[0];
    p->done = 0;
    for (uint32_t m = 0; m < p->methods.n && !rc; m++) {
        if ((rc = search_seeds(p, d, p->methods.text[m], times, &judged, err)))
            break;
        double middle = median(times, n);
        rlt_value v[RLT_EVALUATION_COLUMNS] = {rlt_text(c->graph->name),
                                               rlt_text(c->cluster.name),
                                               rlt_count(d->grouping->n),
                                               rlt_text(p->methods.text[m]),
                                               rlt_ps(base.cost),
                                               rlt_ps((rlt_time)uniform),
                                               rlt_ps((rlt_time)middle),
                                               rlt_ps((rlt_time)times[0]),
                                               rlt_ps((rlt_time)times[n - 1]),
                                               rlt_real((double)base.cost / middle),
                                               rlt_count(judged)};
        rlt_sheet_row(&p->sheet, v);
    }
    free(times);
    return rc;
}

int rlt_deploy_evaluate(const rlt_parsed *args, const rlt_deploy_settings *s, rlt_error *err)
{
    pairs p = {.settings = s};
    const rlt_search_method *method;
    bool guided;
    int rc = rlt_deploy_split(s->method, ',', "--methods", &p.methods, err);
    for (uint32_t m = 0; m < p.methods.n && !rc; m++)
        rc = rlt_deploy_method_find(p.methods.text[m], &method, &guided, err);
    for (uint32_t m = 0; m < p.methods.n && !rc && !p.policy; m++)
        if (strcmp(p.methods.text[m], rlt_deploy_method_at(0)) == 0)
            rc = rlt_guide_policy(s->weights, &p.policy, err);
    p.all = (uint64_t)p.methods.n * s->seeds;
    if (!rc)
        rc = do_all(
            args, &p, "deploy evaluate", &rlt_deploy_evaluations, evaluate_case,
            "# uniform: the best strategy that treats all groups alike; gain: data parallelism / median\n",
            err);
    rlt_policy_free(p.policy);
    free(p.methods.text);
    return rc;
}

/* ---- judges ---- */

typedef struct pair {
    double tag, network, rank;
} pair;

static int by_tag(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    return x->tag < y->tag ? -1 : x->tag > y->tag;
}

static int by_network(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    return x->network < y->network ? -1 : x->network > y->network;
}

/* Replaces the values by their ranks; equal values share the mean of theirs. */
static void rank(pair *list, uint32_t n, bool network)
{
    qsort(list, n, sizeof *list, network ? by_network : by_tag);
    for (uint32_t i = 0, k; i < n; i = k) {
        for (k = i; k < n && (network ? list[k].network <= list[i].network : list[k].tag <= list[i].tag); k++)
            list[k].rank = 0;
        for (uint32_t m = i; m < k; m++)
            list[m].rank = (i + k - 1) / 2.0;
    }
    for (uint32_t i = 0; i < n; i++)
        *(network ? &list[i].network : &list[i].tag) = list[i].rank;
}

/* Spearman's coefficient: Pearson's, of the ranks. */
static double correlation(pair *list, uint32_t n)
{
    double xy = 0, xx = 0, yy = 0, mean = (n - 1) / 2.0;
    rank(list, n, false);
    rank(list, n, true);
    for (uint32_t i = 0; i < n; i++) {
        xy += (list[i].tag - mean) * (list[i].network - mean);
        xx += (list[i].tag - mean) * (list[i].tag - mean);
        yy += (list[i].network - mean) * (list[i].network - mean);
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

static int judge_random(pairs *p, rlt_deployment *d, pair *list, double *ratios, rlt_error *err)
{
    rlt_strategy *s = &d->strategies[0];
    rlt_verdict tag, network;
    int rc = 0;
    for (uint32_t i = 0; i < p->settings->budget && !rc; i++) {
        for (uint32_t g = 0; g < d->grouping->n; g++)
            s->actions[g] = d->actions[rlt_random_below(p->settings->seed, g, PURPOSE, i, d->n_actions)];
        rc = rlt_judge_tag(d->judges[0], s, &tag, NULL, err);
        if (!rc)
            rc = rlt_judge_network(d->judges[0], s, &network, err);
        if (!rc && rlt_interrupted())
            rc = stopped(err);
        if (rc)
            break;
        list[i] = (pair){(double)tag.time_ps, (double)network.time_ps, 0};
        ratios[i] = list[i].network / list[i].tag;
        rlt_progress_update(&p->progress, ++p->done, p->all);
    }
    return rc;
}

static int judges_case(pairs *p, const rlt_deploy_case *c, rlt_deployment *d, rlt_error *err)
{
    uint32_t n = (uint32_t)p->settings->budget;
    pair *list = malloc(n * sizeof *list);
    double *ratios = malloc(n * sizeof *ratios);
    int rc = list && ratios ? judge_random(p, d, list, ratios, err) : rlt_nomem(err);
    if (!rc) {
        qsort(ratios, n, sizeof *ratios, rlt_by_value);
        rlt_value v[RLT_CORRELATION_COLUMNS] = {rlt_text(c->graph->name), rlt_text(c->cluster.name),
                                                rlt_count(n), rlt_real(correlation(list, n)),
                                                rlt_real(median(ratios, n))};
        rlt_sheet_row(&p->sheet, v);
    }
    free(list);
    free(ratios);
    return rc;
}

int rlt_deploy_judges(const rlt_parsed *args, const rlt_deploy_settings *s, rlt_error *err)
{
    pairs p = {.settings = s, .all = s->budget};
    return do_all(args, &p, "deploy judges", &rlt_deploy_correlations, judges_case,
                  "# rank corr.: Spearman's; ratio: median of the network's time / the reference timing's\n",
                  err);
}
