/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ringlet deploy policy`: what the policy is worth on graphs and clusters that it has not seen. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/options.h"
#include "sim/base/words.h"
#include "tools/base/progress.h"
#include "tools/deploy/deploy.h"
#include "tools/deploy/guide.h"
#include "tools/deploy/lessons.h"
#include "tools/deploy/policy/policy.h"
#include "tools/deploy/random.h"
#include "tools/deploy/report.h"
#include "tools/output/sheet.h"
#include "tools/search/search.h"

enum { MOST_PAIRS = 4096 };

/* The sums of a graph, or of all. */
typedef struct tally {
    uint32_t pairs, wins, ties, losses;
    uint64_t guided[MOST_PAIRS],
        plain[MOST_PAIRS]; /* strategies judged until one was better; UINT64_MAX: none */
    rlt_lesson_scores scores;
} tally;

typedef struct check {
    const rlt_deploy_settings *settings;
    rlt_policy *policy;
    rlt_policy_run *run;
    tally graph, all;
    char name[64]; /* of the graph */
    rlt_progress progress;
} check;

/* Strategies judged until the first that beats the baseline. */
static int first_better(const check *c, rlt_deployment *d, bool guided, uint64_t seed, uint64_t *out,
                        rlt_error *err)
{
    rlt_search_problem p = rlt_deployment_problem(d, false);
    rlt_search_settings how = {.budget = c->settings->budget, .seed = seed, .trials = 1, .threads = 1};
    rlt_search_result r;
    how.method = rlt_search_method_find("mcts", err);
    p.prior = guided ? p.prior : NULL;
    int rc = rlt_search_run(&p, &how, &r, err);
    if (rc)
        return rc;
    *out = r.first_better ? r.first_better : UINT64_MAX;
    rc = r.stopped ? rlt_fail(err, RLT_ECANCELLED, "deploy policy", "stopped on request") : 0;
    rlt_search_free(&r);
    return rc;
}

static void enter(tally *t, uint64_t guided, uint64_t plain)
{
    t->guided[t->pairs] = guided;
    t->plain[t->pairs++] = plain;
    t->wins += guided < plain;
    t->ties += guided == plain;
    t->losses += guided > plain;
}

/* Plays a game and compares the policy with the visits. */
static int compare_visits(check *c, rlt_deployment *d, uint64_t seed, rlt_error *err)
{
    rlt_lessons l = {0};
    int rc = rlt_lessons_play(d, seed, c->settings->playouts, !c->settings->unguided, &l, err);
    if (!rc)
        rc = rlt_lessons_score(&l, 0, c->run, &c->graph.scores, err);
    rlt_lessons_free(&l);
    return rc;
}

/* The k-th pair: a graph and a random cluster of eight devices. */
static int do_pair(check *c, const char *graph, uint32_t k, rlt_error *err)
{
    const rlt_deploy_settings *s = c->settings;
    rlt_deploy_case x;
    rlt_deployment d;
    rlt_guide *guide = NULL;
    uint64_t guided, plain;
    int rc = rlt_deploy_load_graph(graph, s, &x, err);
    if (!rc) {
        snprintf(c->name, sizeof c->name, "%s", x.graph->name);
        rc = rlt_random_cluster(s->seed, k, true, &x.cluster, err);
    }
    if (!rc)
        rc = rlt_deploy_group(x.graph, s->groups, s->balance, &x.grouping, &x.cut, err);
    if (!rc && !(rc = rlt_deployment_make(x.graph, &x.grouping, &x.cluster, false, 1, &d, err))) {
        rc = rlt_guide_make(&d, c->policy, &guide, err);
        if (!rc)
            rc = first_better(c, &d, true, s->seed + k, &guided, err);
        if (!rc)
            rc = first_better(c, &d, false, s->seed + k, &plain, err);
        if (!rc) {
            enter(&c->graph, guided, plain);
            enter(&c->all, guided, plain);
            rc = compare_visits(c, &d, s->seed + k, err);
        }
        rlt_guide_free(guide);
        rlt_deployment_free(&d);
    }
    rlt_deploy_unload(&x);
    return rc;
}

static rlt_value middle(uint64_t *x, uint32_t n)
{
    rlt_sort_u64(x, n);
    return n && x[n / 2] != UINT64_MAX ? rlt_count(x[n / 2]) : rlt_absent();
}

static void show(rlt_sheet *sheet, const char *name, tally *t)
{
    double n = t->scores.n ? t->scores.n : 1;
    rlt_value v[RLT_BENEFIT_COLUMNS] = {rlt_text(name),
                                        rlt_count(t->pairs),
                                        rlt_count(t->wins),
                                        rlt_count(t->ties),
                                        rlt_count(t->losses),
                                        middle(t->guided, t->pairs),
                                        middle(t->plain, t->pairs),
                                        rlt_real(t->scores.cross_entropy / n),
                                        rlt_real(t->scores.least / n),
                                        rlt_real(t->scores.uniform / n)};
    rlt_sheet_row(sheet, v);
}

static int do_graphs(check *c, rlt_sheet *sheet, rlt_error *err)
{
    const rlt_deploy_settings *s = c->settings;
    rlt_deploy_items graphs;
    int rc = rlt_deploy_split(s->graph, ',', "--graphs", &graphs, err);
    for (uint32_t i = 0; i < graphs.n && !rc; i++) {
        memset(&c->graph, 0, sizeof c->graph);
        for (uint32_t k = i; k < s->games && !rc; k += graphs.n) {
            rc = do_pair(c, graphs.text[i], k, err);
            rlt_progress_update(&c->progress, c->all.pairs, s->games);
        }
        c->all.scores.cross_entropy += c->graph.scores.cross_entropy;
        c->all.scores.least += c->graph.scores.least;
        c->all.scores.uniform += c->graph.scores.uniform;
        c->all.scores.n += c->graph.scores.n;
        if (!rc)
            show(sheet, c->name, &c->graph);
    }
    if (!rc)
        show(sheet, "all", &c->all);
    free(graphs.text);
    return rc;
}

/* Sign test: the probability of so many wins or more, without ties, if either side were as likely. */
static double by_chance(const tally *t)
{
    uint32_t n = t->wins + t->losses;
    double p = 0;
    for (uint32_t k = t->wins; k <= n; k++)
        p += exp(lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0) - n * log(2));
    return fmin(p, 1);
}

static const char *legend_of(const tally *t, char *text, size_t size)
{
    snprintf(
        text, size,
        "# guided, plain: strategies judged until one beats data parallelism, median of the pairs; CE: nats\n"
        "# so many wins by chance: probability %.2g (sign test)\n",
        by_chance(t));
    return text;
}

int rlt_deploy_policy(const rlt_parsed *args, const rlt_deploy_settings *s, rlt_error *err)
{
    rlt_sheet sheet;
    char legend[512];
    check *c = calloc(1, sizeof *c);
    if (!c)
        return rlt_nomem(err);
    c->settings = s;
    int rc = rlt_guide_policy(s->weights, &c->policy, err);
    if (!rc)
        rc = rlt_policy_run_create(c->policy, &c->run, err);
    if (!rc && !(rc = rlt_sheet_open(&sheet, &s->report, "deploy policy", args, NULL, err))) {
        rlt_progress_start(&c->progress, "comparing");
        rlt_sheet_heading(&sheet, rlt_deploy_benefits.list, rlt_deploy_benefits.n);
        rc = do_graphs(c, &sheet, err);
        rlt_progress_clear();
        rc = rlt_sheet_close(&sheet, rc, legend_of(&c->all, legend, sizeof legend), err);
    }
    rlt_policy_run_free(c->run);
    rlt_policy_free(c->policy);
    free(c);
    return rc;
}
