/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ringlet deploy`: loads, groups, searches, and judges what was found under contention. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/text.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/base/words.h"
#include "tools/base/message.h"
#include "tools/deploy/deploy.h"
#include "tools/deploy/report.h"
#include "tools/search/search.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/graphs/graphs.h"
#include "workload/deploy/judge.h"
#include "workload/deploy/opgraph.h"
#include "workload/deploy/sfb.h"
#include "workload/deploy/strategy.h"
#include "workload/setup/inputs.h"
#include "workload/setup/locate.h"

int rlt_deploy_become(char **argv, rlt_error *err)
{
    (void)argv;
    (void)err;
    return 0;
}

const char *rlt_deploy_version(void)
{
    return "METIS";
}

/* Prints the assumptions of a reader, one a line. */
static void tell(const char *notes)
{
    const char *cursor = notes, *line;
    size_t length;
    while (notes && (line = rlt_next_item(&cursor, '\n', &length)))
        if (length)
            rlt_note("%.*s", (int)length, line);
}

int rlt_deploy_load(const char *graph, const char *topology, const rlt_deploy_settings *s,
                    rlt_deploy_case *out, rlt_error *err)
{
    rlt_dirs accelerators = rlt_accelerator_dirs();
    rlt_graph_options options = RLT_GRAPH_OPTIONS_DEFAULT;
    rlt_growing notes = {0};
    options.batch = s->batch;
    options.accelerator = s->accelerator;
    options.accelerator_dirs = accelerators.list;
    options.precision = s->precision;
    options.notes = &notes;
    *out = (rlt_deploy_case){0};
    int rc = rlt_opgraph_read(graph, &options, &out->graph, err);
    tell(notes.text);
    free(notes.text);
    if (!rc)
        rc = rlt_cluster_load(topology, rlt_topology_dirs().list, s->devices, &out->cluster, err);
    if (!rc)
        rc = rlt_deploy_group(out->graph, s->groups, s->balance, &out->grouping, &out->cut, err);
    if (rc)
        rlt_deploy_unload(out);
    return rc;
}

void rlt_deploy_unload(rlt_deploy_case *c)
{
    rlt_grouping_free(&c->grouping);
    rlt_cluster_free(&c->cluster);
    rlt_opgraph_free(c->graph);
    c->graph = NULL;
}

/* Times a strategy by both judges. */
static int judge_both(rlt_deployment *d, const rlt_strategy *s, const char *name, rlt_deploy_plan *out,
                      rlt_error *err)
{
    *out = (rlt_deploy_plan){.name = name, .judged_network = d->cluster->topology != NULL};
    int rc = rlt_judge_tag(d->judges[0], s, &out->tag, NULL, err);
    if (!rc && out->judged_network)
        rc = rlt_judge_network(d->judges[0], s, &out->network, err);
    return rc;
}

/* Finds the best strategy that treats all groups alike. */
static int best_uniform(rlt_deployment *d, uint16_t *point, rlt_error *err)
{
    uint16_t best = d->baseline[0];
    rlt_judged least = {0}, j;
    rlt_search_problem p = rlt_deployment_problem(d);
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

/* What each group contributes: the iteration if only this group is spread as under data parallelism. */
static int find_alone(rlt_deploy_found *f, uint16_t *point, rlt_error *err)
{
    rlt_deployment *d = f->deployment;
    rlt_search_problem p = rlt_deployment_problem(d);
    rlt_judged j;
    int rc = 0;
    memcpy(point, f->point, d->grouping->n * sizeof *point);
    for (uint32_t i = 0; i < d->grouping->n && !rc; i++) {
        point[i] = d->baseline[i];
        rc = p.judge(d, 0, point, &j, err);
        f->alone_ps[i] = j.cost;
        point[i] = f->point[i];
    }
    return rc;
}

/* True if the network is faster with `a`, or if only `a` fits. */
static bool beats(const rlt_deploy_plan *a, const rlt_deploy_plan *b)
{
    if (a->tag.over || b->tag.over)
        return !a->tag.over;
    return a->judged_network && a->network.time_ps < b->network.time_ps;
}

/* Time by which a plan is chosen: over the network, if it was judged there. */
static rlt_time time_of(const rlt_deploy_plan *p)
{
    return p->judged_network ? p->network.time_ps : p->tag.time_ps;
}

/* Duplicates operators whose inputs are cheaper to gather than their gradients are to reduce, if that makes
 * the strategy found faster. */
static int add_factors(rlt_deploy_found *f, const rlt_search_result *r, rlt_error *err)
{
    const double alpha_us = 1; /* as in the reference */
    rlt_deployment *d = f->deployment;
    rlt_strategy s = *rlt_deployment_strategy(d, 0, r->point);
    rlt_sfb_problem p;
    rlt_deploy_plan with;
    double value;
    uint32_t n = 0;
    int rc = rlt_sfb_problem_make(d->graph, d->grouping, d->cluster, &s, alpha_us, &p, err);
    if (rc)
        return rc;
    s.broadcast = malloc(d->graph->n_ops);
    rc = s.broadcast ? rlt_sfb_solve(&p, s.broadcast, &value, err) : rlt_nomem(err);
    for (uint32_t i = 0; i < d->graph->n_ops && !rc; i++)
        n += s.broadcast[i];
    if (!rc && n)
        rc = judge_both(d, &s, "found", &with, err);
    if (!rc && n && with.tag.over <= f->found.tag.over && time_of(&with) < time_of(&f->found)) {
        f->found = with;
        f->duplicated = n;
        f->broadcast = s.broadcast;
        s.broadcast = NULL;
    }
    free(s.broadcast);
    rlt_sfb_problem_free(&p);
    return rc;
}

/* Judges what the report shows, and decides what is returned. `factors`: with sufficient factors. `uniform`
 * is filled with the best uniform point. */
static int conclude(rlt_deploy_found *f, const rlt_search_result *r, bool factors, uint16_t *uniform,
                    uint16_t *point, rlt_error *err)
{
    rlt_deployment *d = f->deployment;
    int rc =
        judge_both(d, rlt_deployment_strategy(d, 0, d->baseline), "data parallel", &f->data_parallel, err);
    if (!rc && !(rc = best_uniform(d, uniform, err)))
        rc = judge_both(d, rlt_deployment_strategy(d, 0, uniform), "best uniform", &f->uniform, err);
    if (!rc)
        rc = judge_both(d, rlt_deployment_strategy(d, 0, r->point), "found", &f->found, err);
    f->plain_ps = f->found.tag.time_ps;
    if (!rc && factors)
        rc = add_factors(f, r, err);
    if (rc)
        return rc;
    f->search = r;
    f->returned = &f->found;
    f->point = r->point;
    if (beats(&f->uniform, f->returned)) {
        f->returned = &f->uniform;
        f->point = uniform;
    }
    if (beats(&f->data_parallel, f->returned)) {
        f->returned = &f->data_parallel;
        f->point = d->baseline;
    }
    if (f->returned != &f->found)
        f->plain_ps = f->returned->tag.time_ps;
    return find_alone(f, point, err);
}

/* Says what is missing if nothing fits. */
static int nothing_fits(const rlt_deploy_found *f, rlt_error *err)
{
    const rlt_verdict *v = &f->returned->tag;
    const rlt_cluster *c = f->deployment->cluster;
    const rlt_device_group *g = &c->groups[c->group_of[v->worst_device]];
    char needs[32], has[32];
    return rlt_fail(
        err, RLT_ECHECK, f->deployment->graph->name,
        "no strategy found fits into memory: the best one needs %s on a %s, which has %s (device %u; %u "
        "devices lack memory)",
        rlt_format_size(needs, sizeof needs, v->worst_bytes), g->name,
        rlt_format_size(has, sizeof has, g->memory_bytes), v->worst_device, v->over);
}

/* Reads the strategy to begin with as a point of this deployment. */
static int read_start(const rlt_deploy_settings *s, const rlt_deployment *d, uint16_t *start, rlt_error *err)
{
    rlt_grouping p;
    rlt_strategy given;
    int rc = rlt_strategy_read(s->resume, d->graph, d->cluster, &p, &given, err);
    if (rc)
        return rc;
    memcpy(start, d->baseline, d->grouping->n * sizeof *start);
    /* The group's action is that of its first operator in the file. */
    for (uint32_t i = d->graph->n_ops; i-- > 0;)
        for (uint32_t a = 0; a < d->n_actions; a++)
            if (memcmp(&d->actions[a], &given.actions[p.of_op[i]], sizeof d->actions[a]) == 0)
                start[d->grouping->of_op[i]] = (uint16_t)a;
    rlt_grouping_free(&p);
    rlt_strategy_free(&given);
    return 0;
}

static int search(const rlt_parsed *args, const rlt_deploy_settings *s, const rlt_deploy_case *c,
                  rlt_deployment *d, rlt_error *err)
{
    rlt_search_problem p = rlt_deployment_problem(d);
    rlt_search_result r = {0};
    rlt_deploy_found f = {.deployment = d, .cut = c->cut};
    rlt_inputs in = {0};
    size_t bytes = d->grouping->n * sizeof(uint16_t);
    uint16_t *point = malloc(bytes), *start = malloc(bytes), *uniform = malloc(bytes);
    rlt_search_settings how = {
        .budget = s->budget, .seed = s->seed, .trials = 1, .threads = 1, .polish = s->polish};
    f.alone_ps = malloc(d->grouping->n * sizeof *f.alone_ps);
    int rc = point && start && uniform && f.alone_ps ? 0 : rlt_nomem(err);
    if (!rc && !(how.method = rlt_search_method_find(s->method, err)))
        rc = RLT_EUSAGE;
    if (!rc && s->resume && !(rc = read_start(s, d, start, err)))
        p.start = start;
    if (!rc && !(rc = rlt_search_run(&p, &how, &r, err)))
        rc = conclude(&f, &r, !s->no_factors, uniform, point, err);
    if (!rc && f.returned->tag.over)
        rc = nothing_fits(&f, err);
    if (!rc) {
        rlt_inputs_add(&in, "graph", s->graph, c->graph->hash);
        rlt_inputs_add(&in, "topology", s->topology, c->cluster.hash);
        rc = rlt_deploy_report(&f, args, s, &in, r.stopped ? RLT_ECANCELLED : 0, err);
    }
    rlt_search_free(&r);
    free(point);
    free(start);
    free(uniform);
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
    rc = rlt_deployment_make(c.graph, &c.grouping, &c.cluster, s->duplicate, 1, &d, err);
    if (!rc) {
        rc = search(args, s, &c, &d, err);
        rlt_deployment_free(&d);
    }
    rlt_deploy_unload(&c);
    return rc;
}
