/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ringlet deploy`: loads, groups, searches, and judges what was found under contention. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/base/words.h"
#include "sim/text/json.h"
#include "tools/base/progress.h"
#include "tools/deploy/deploy.h"
#include "tools/deploy/guide.h"
#include "tools/deploy/policy/policy.h"
#include "tools/deploy/report.h"
#include "tools/search/search.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/judge.h"
#include "workload/deploy/opgraph.h"
#include "workload/deploy/sfb.h"
#include "workload/deploy/strategy.h"
#include "workload/setup/inputs.h"

int rlt_deploy_become(char **argv, rlt_error *err)
{
    (void)argv;
    (void)err;
    return 0;
}

const char *rlt_deploy_version(void)
{
    return "METIS, OpenBLAS";
}

/* Times a strategy by both judges. */
static int judge_both(rlt_deployment *d, const rlt_strategy *s, const uint16_t *point, rlt_deploy_plan *out,
                      rlt_error *err)
{
    *out = (rlt_deploy_plan){.there = true, .judged_network = d->cluster->topology != NULL, .point = point};
    int rc = rlt_judge_tag(d->judges[0], s, &out->tag, NULL, err);
    if (!rc && out->judged_network)
        rc = rlt_judge_network(d->judges[0], s, &out->network, err);
    return rc;
}

/* Time by which plans are compared: over the network, if they were judged there. */
static rlt_time time_of(const rlt_deploy_plan *p)
{
    return p->judged_network ? p->network.time_ps : p->tag.time_ps;
}

/* Times a plan. The best so far stays the best unless this one is faster, or the only one that fits. */
static int enter(rlt_deploy_found *f, int plan, const rlt_strategy *s, const uint16_t *point, rlt_error *err)
{
    rlt_deploy_plan *p = &f->plans[plan];
    const rlt_deploy_plan *best = &f->plans[f->best];
    int rc = judge_both(f->deployment, s, point, p, err);
    bool fits = p->tag.over <= best->tag.over;
    if (!rc && (p->tag.over < best->tag.over || (fits && time_of(p) <= time_of(best))))
        f->best = plan;
    return rc;
}

static int enter_point(rlt_deploy_found *f, int plan, const uint16_t *point, rlt_error *err)
{
    return enter(f, plan, rlt_deployment_strategy(f->deployment, 0, point), point, err);
}

/* Finds the best strategy that treats all groups alike. */
static int best_uniform(rlt_deployment *d, uint16_t *point, rlt_error *err)
{
    uint16_t best = d->baseline[0];
    rlt_judged least = {0}, j;
    rlt_search_problem p = rlt_deployment_problem(d, false);
    int rc = p.judge(d, 0, d->baseline, &least, err);
    for (uint32_t a = 0; a < d->n_actions && !rc; a++) {
        for (uint32_t i = 0; i < d->grouping->n; i++)
            point[i] = (uint16_t)a;
        rc = p.judge(d, 0, point, &j, err);
        if (!rc && rlt_judged_better(&j, &least)) {
            least = j;
            best = (uint16_t)a;
        }
    }
    for (uint32_t i = 0; i < d->grouping->n; i++)
        point[i] = best;
    return rc;
}

/* A search with a progress bar. */
static int run_search(rlt_deployment *d, const char *what, const rlt_search_problem *p,
                      const rlt_search_settings *how, rlt_search_result *r, rlt_error *err)
{
    rlt_progress bar;
    rlt_progress_start(&bar, what);
    d->progress = &bar;
    d->judged = 0;
    d->to_judge = how->budget;
    int rc = rlt_search_run(p, how, r, err);
    d->progress = NULL;
    rlt_progress_clear();
    return rc;
}

/* Searches on over the network, from the best so far. */
static int refine(rlt_deploy_found *f, const rlt_deploy_settings *s, rlt_search_result *r, rlt_error *err)
{
    rlt_search_problem p = rlt_deployment_problem(f->deployment, true);
    rlt_search_settings how = {.budget = s->refine, .seed = s->seed, .trials = 1, .threads = 1};
    how.method = rlt_search_method_find("portfolio", err);
    p.baseline = f->plans[f->best].point;
    p.start = f->search->point; /* it may be the better start, though slower over the network */
    int rc = run_search(f->deployment, "refining", &p, &how, r, err);
    f->refined = rc ? NULL : r;
    return rc ? rc : enter_point(f, RLT_PLAN_REFINED, r->point, err);
}

/* Duplicates operators whose inputs are cheaper to gather than their gradients are to reduce, if that makes
 * the best strategy faster. */
static int add_factors(rlt_deploy_found *f, rlt_error *err)
{
    const double alpha_us = 1; /* as in the reference */
    rlt_deployment *d = f->deployment;
    const uint16_t *point = f->plans[f->best].point;
    rlt_strategy s = *rlt_deployment_strategy(d, 0, point);
    rlt_sfb_problem p;
    double value;
    int rc = rlt_sfb_problem_make(d->graph, d->grouping, d->cluster, &s, alpha_us, &p, err);
    if (rc)
        return rc;
    s.broadcast = f->broadcast = malloc(d->graph->n_ops);
    rc = s.broadcast ? rlt_sfb_solve(&p, s.broadcast, &value, err) : rlt_nomem(err);
    for (uint32_t i = 0; i < d->graph->n_ops && !rc; i++)
        f->duplicated += s.broadcast[i];
    if (!rc && f->duplicated)
        rc = enter(f, RLT_PLAN_FACTORS, &s, point, err);
    rlt_sfb_problem_free(&p);
    return rc;
}

/* Contribution of each group: the iteration if only this group is spread as under data parallelism. Last:
 * the iteration without such a change. Both by the reference's timing, without sufficient factors. */
static int find_alone(rlt_deploy_found *f, uint16_t *point, rlt_error *err)
{
    rlt_deployment *d = f->deployment;
    const uint16_t *best = f->plans[f->best].point;
    rlt_search_problem p = rlt_deployment_problem(d, false);
    rlt_judged j;
    int rc = 0;
    memcpy(point, best, d->grouping->n * sizeof *point);
    for (uint32_t i = 0; i < d->grouping->n && !rc; i++) {
        point[i] = d->baseline[i];
        rc = p.judge(d, 0, point, &j, err);
        f->alone_ps[i] = j.cost;
        point[i] = best[i];
    }
    if (!rc)
        rc = p.judge(d, 0, point, &j, err);
    f->alone_ps[d->grouping->n] = j.cost;
    return rc;
}

/* Judges the plans. `uniform` and `point` are room for points. */
static int conclude(rlt_deploy_found *f, const rlt_deploy_settings *s, rlt_search_result *refined,
                    uint16_t *uniform, uint16_t *point, rlt_error *err)
{
    rlt_deployment *d = f->deployment;
    int rc = enter_point(f, RLT_PLAN_DATA_PARALLEL, d->baseline, err);
    if (!rc && !(rc = best_uniform(d, uniform, err)))
        rc = enter_point(f, RLT_PLAN_UNIFORM, uniform, err);
    if (!rc)
        rc = enter_point(f, RLT_PLAN_FOUND, f->search->point, err);
    if (!rc && s->refine && d->cluster->topology && !f->search->stopped)
        rc = refine(f, s, refined, err);
    if (!rc && !s->no_factors && !d->graph->unsized) /* inputs of unknown size would look free to gather */
        rc = add_factors(f, err);
    return rc ? rc : find_alone(f, point, err);
}

/* Says what is missing if nothing fits. */
static int nothing_fits(const rlt_deploy_found *f, rlt_error *err)
{
    const rlt_verdict *v = &f->plans[f->best].tag;
    const rlt_cluster *c = f->deployment->cluster;
    const rlt_device_group *g = &c->groups[c->group_of[v->worst_device]];
    char needs[32], has[32];
    return rlt_fail(err, RLT_ECHECK, f->deployment->graph->name,
                    "no strategy found fits into memory: the best one needs %s on a %s, which has %s (device "
                    "%u; %u devices lack memory)",
                    rlt_format_size(needs, sizeof needs, v->worst_bytes), g->name,
                    rlt_format_size(has, sizeof has, g->memory_bytes), v->worst_device, v->over);
}

/* Reads the strategy to begin with as a point of this deployment. */
static int read_start(const rlt_deploy_settings *s, const rlt_deployment *d, uint16_t *start, rlt_error *err)
{
    rlt_grouping p;
    rlt_strategy given;
    rlt_json_doc *doc = NULL;
    int rc = rlt_json_load(s->resume, &doc, err);
    if (!rc)
        rc = rlt_strategy_read(doc, d->graph, d->cluster, &p, &given, err);
    rlt_json_free(doc);
    if (rc)
        return rc;
    memcpy(start, d->baseline, d->grouping->n * sizeof *start);
    /* The group's action is that of its first operator in the file. */
    for (uint32_t i = d->graph->n_ops; i-- > 0;)
        for (uint32_t a = 0; a < d->n_actions; a++)
            if (d->actions[a].placement == given.actions[p.of_op[i]].placement &&
                d->actions[a].use == given.actions[p.of_op[i]].use)
                start[d->grouping->of_op[i]] = (uint16_t)a;
    rlt_grouping_free(&p);
    rlt_strategy_free(&given);
    return 0;
}

static int search(const rlt_parsed *args, const rlt_deploy_settings *s, const rlt_deploy_case *c,
                  rlt_deployment *d, rlt_error *err)
{
    rlt_search_problem p = rlt_deployment_problem(d, false);
    rlt_search_result r = {0}, refined = {0};
    rlt_deploy_found f = {.deployment = d, .cut = c->cut, .notes = c->notes, .search = &r};
    rlt_inputs in = {0};
    rlt_policy *policy = NULL;
    rlt_guide *guide = NULL;
    bool guided;
    uint32_t n = d->grouping->n;
    uint16_t *points = malloc(3 * (size_t)n * sizeof *points);
    rlt_search_settings how = {
        .budget = s->budget, .seed = s->seed, .trials = s->trials, .threads = s->jobs, .polish = s->polish};
    f.alone_ps = malloc(((size_t)n + 1) * sizeof *f.alone_ps);
    int rc = points && f.alone_ps ? 0 : rlt_nomem(err);
    if (!rc)
        rc = rlt_deploy_method_find(s->method, &how.method, &guided, err);
    if (!rc && guided && !(rc = rlt_guide_policy(s->weights, &policy, err)))
        rc = rlt_guide_make(d, policy, &guide, err);
    p.prior = rlt_deployment_problem(d, false).prior;
    if (!rc && s->resume && !(rc = read_start(s, d, points, err)))
        p.start = points;
    if (!rc && !(rc = run_search(d, "searching", &p, &how, &r, err)))
        rc = conclude(&f, s, &refined, points + n, points + 2 * (size_t)n, err);
    if (!rc && f.plans[f.best].tag.over)
        rc = nothing_fits(&f, err);
    if (!rc) {
        bool stopped = r.stopped || refined.stopped;
        rlt_inputs_add(&in, "graph", s->graph, c->graph->hash);
        rlt_inputs_add(&in, "topology", s->topology, c->cluster.hash);
        rc = rlt_deploy_report(&f, args, s, &in, stopped ? RLT_ECANCELLED : 0, err);
    }
    rlt_search_free(&r);
    rlt_search_free(&refined);
    rlt_guide_free(guide);
    rlt_policy_free(policy);
    free(points);
    free(f.alone_ps);
    free(f.broadcast);
    return rc;
}

int rlt_deploy_search(const rlt_parsed *args, const rlt_deploy_settings *s, rlt_error *err)
{
    rlt_deploy_case c;
    rlt_deployment d;
    int rc = rlt_deploy_load(s->graph, s->topology, s, &c, err);
    if (rc)
        return rc;
    rc = rlt_deployment_make(c.graph, &c.grouping, &c.cluster, s->duplicate, s->trials, &d, err);
    if (!rc) {
        rc = search(args, s, &c, &d, err);
        rlt_deployment_free(&d);
    }
    rlt_deploy_unload(&c);
    return rc;
}
