/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload/experiment/layouts/fleets.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/watch.h"
#include "workload/experiment/layouts/fleets_internal.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/training/training.h"

enum { MAX_FOUND = 1 << 20 };

/* Returns the best efficiency of an accelerator's kernels with any stack, and its peak. */
static double best_efficiency(const rlt_training *t, uint64_t *peak)
{
    const rlt_accelerator *a = t->accelerator;
    double best = 0;
    for (uint32_t i = 0; i <= a->n_stacks; i++) {
        rlt_roofline f;
        if (rlt_accelerator_roofline(a, i < a->n_stacks ? a->stacks[i].name : NULL, t->precision, &f, NULL))
            return 0;
        *peak = f.peak_Flops;
        for (int k = 0; k < RLT_WORK_KINDS; k++)
            best = f.most[k] > best ? f.most[k] : best;
    }
    return best;
}

/* Returns F / (P e) of a batch in accelerator-picoseconds; 0: unknown. */
static double floor_work(const rlt_training *t)
{
    const double rounded = 1 - 1e-6; /* times of kernels are rounded */
    uint64_t peak = 0;
    double flop = 0, best = best_efficiency(t, &peak);
    for (uint32_t i = 0; i < t->model->n_layers; i++) {
        const rlt_model_layer *l = &t->model->layers[i];
        if (l->experts)
            return 0;
        flop += l->executed_forward > 0 ? l->executed_forward : l->forward_flop;
        flop += l->executed_backward > 0 ? l->executed_backward : l->backward_flop;
    }
    if (best <= 0 || !peak || t->lora_rank || t->slowdown < 1)
        return 0;
    return flop * (double)t->batch / ((double)peak * best) * 1e12 * rounded;
}

int rlt_fleets_open(rlt_fleets *c, const char *list, const rlt_run_settings *s, const rlt_parsed *args,
                    rlt_error *err)
{
    c->settings = *s;
    c->args = args;
    int rc = rlt_layouts_open(&c->given, s, args, err);
    if (!rc)
        rc = rlt__fleets_list(c, list, err);
    if (!rc)
        c->floor_work = floor_work(&c->given.run.training);
    return rc;
}

static double value_of(rlt_goal goal, uint32_t ranks, const rlt_layout_point *p)
{
    switch (goal) {
    case RLT_GOAL_WORK:
        return (double)p->time_ps * ranks;
    case RLT_GOAL_ACCELERATORS:
        return ranks;
    case RLT_GOAL_MEMORY:
        return p->memory_bytes;
    default:
        return (double)p->time_ps;
    }
}

/* Returns the time from which on `ranks` accelerators are no better than a value of a goal. */
static double no_better_from(rlt_goal goal, uint32_t ranks, double value)
{
    switch (goal) {
    case RLT_GOAL_TIME:
        return value;
    case RLT_GOAL_WORK:
        return value / ranks;
    case RLT_GOAL_ACCELERATORS:
        return ranks > value ? 0 : INFINITY;
    default:
        return INFINITY;
    }
}

/* Returns the longest time of an iteration that is looked for on so many accelerators; 0: none is. */
static rlt_time limit_of(const rlt_fleets *c, uint32_t ranks)
{
    double limit = c->deadline_ps ? (double)c->deadline_ps : INFINITY;
    for (uint32_t i = 0; i < c->n_found; i++) {
        double from = 0;
        for (uint32_t g = 0; g < c->n_goals; g++)
            from = fmax(from, no_better_from(c->goals[g], ranks, c->found[i].value[g] * (1 + c->within)));
        limit = fmin(limit, from);
    }
    return limit < (double)RLT_TIME_MAX ? (rlt_time)limit : RLT_TIME_MAX;
}

static int add_found(rlt_fleets *c, uint32_t i, const rlt_layout_point *p, rlt_error *err)
{
    int rc = rlt_grow(&c->found, &c->found_room, sizeof *c->found, (uint64_t)c->n_found + 1, MAX_FOUND,
                      "layouts", err);
    if (rc)
        return rc;
    rlt_fleet_layout *one = &c->found[c->n_found++];
    *one = (rlt_fleet_layout){.fleet = i, .point = *p};
    for (uint32_t g = 0; g < c->n_goals; g++)
        one->value[g] = value_of(c->goals[g], c->at[i].ranks, p);
    return 0;
}

/* Returns the fastest point within the limit, among equals that of least memory; NULL: there is none. */
static const rlt_layout_point *best_of(const rlt_layout_result *r, rlt_time limit_ps)
{
    const rlt_layout_point *best = r->n && r->points[0].time_ps <= limit_ps ? r->points : NULL;
    for (uint32_t i = 1; best && i < r->n && r->points[i].time_ps == best->time_ps; i++)
        if (r->points[i].memory_bytes < best->memory_bytes)
            best = &r->points[i];
    return best;
}

/* Notes the rule that is against a fleet. */
static int note_rule(rlt_fleet *one, const char *where, const char *what, rlt_error *err)
{
    size_t size = strlen(where) + strlen(what) + 3;
    free(one->why);
    if (!(one->why = malloc(size)))
        return rlt_nomem(err);
    snprintf(one->why, size, "%s%s%s", where, *where ? ": " : "", what);
    return 0;
}

/* Notes how the search of a fleet ended, from its result. */
static int end_of(rlt_fleet *one, const rlt_layout_result *r, bool found, rlt_error *err)
{
    const rlt_layout_reason *most = NULL;
    rlt_time fastest = r->n ? r->points[0].time_ps : RLT_TIME_MAX;
    one->least_ps = r->least_pruned_ps < fastest ? r->least_pruned_ps : fastest;
    one->end = found                          ? RLT_FLEET_FOUND
               : one->least_ps < RLT_TIME_MAX ? RLT_FLEET_SLOWER
               : r->out_of_memory > 0         ? RLT_FLEET_FULL
                                              : RLT_FLEET_AGAINST;
    if (one->end == RLT_FLEET_FULL || one->end == RLT_FLEET_AGAINST)
        one->least_ps = 0;
    for (uint32_t i = 0; i < r->n_reasons; i++)
        most = !most || r->reasons[i].points > most->points ? &r->reasons[i] : most;
    return one->end == RLT_FLEET_AGAINST && most ? note_rule(one, most->where, most->what, err) : 0;
}

static bool wants_memory(const rlt_fleets *c)
{
    return c->goals[0] == RLT_GOAL_MEMORY || (c->n_goals > 1 && c->goals[1] == RLT_GOAL_MEMORY);
}

/* Searches a fleet: once, or with memory as a goal, until nothing fits below the layout found last. Keeps
 * the first result. */
static int walk(rlt_fleets *c, uint32_t i, const rlt_layout_search *how, rlt_error *err)
{
    rlt_fleet *one = &c->at[i];
    rlt_layouts *l = one->layouts;
    rlt_layout_search p = *how;
    rlt_layout_result first = {0};
    const rlt_layout_point *best = NULL;
    int rc;
    p.within = 0;
    p.limit_ps = limit_of(c, one->ranks);
    do {
        rc = rlt_layouts_find(l, &p, err);
        c->searches++;
        c->simulated += l->result.n;
        bool ended = rc && rc != RLT_ECANCELLED;
        best = ended ? NULL : best_of(&l->result, p.limit_ps);
        if (best) {
            int added = add_found(c, i, best, err);
            rc = added ? added : rc;
            p.capacity_bytes = nextafter(best->memory_bytes, 0);
        }
        if (first.total <= 0) {
            int noted = end_of(one, &l->result, best != NULL, err);
            rc = noted ? noted : rc;
            first = l->result;
        } else
            rlt_layout_result_free(&l->result);
        l->result = (rlt_layout_result){0};
    } while (!rc && best && wants_memory(c));
    if (rc && one->end != RLT_FLEET_FOUND)
        one->end = RLT_FLEET_OPEN;
    l->result = first;
    return rc;
}

static int open_one(rlt_fleets *c, rlt_fleet *one, rlt_error *err)
{
    rlt_run_settings s = c->settings;
    rlt_error why = {0};
    if (one->topology)
        s.sim.topology = one->topology;
    if (!(one->layouts = calloc(1, sizeof *one->layouts)))
        return rlt_nomem(err);
    int rc = rlt_layouts_open(one->layouts, &s, c->args, &why);
    if (!rc)
        return 0;
    if (rc == RLT_ENOMEM || rc == RLT_EIO || rc == RLT_ENAME || !one->topology)
        return rlt_fail(err, rc, why.where, "%s", why.what);
    one->end = RLT_FLEET_AGAINST;
    return note_rule(one, why.where, why.what, err);
}

static void close_one(rlt_fleet *one)
{
    if (one->layouts)
        rlt_layouts_close(one->layouts);
    free(one->layouts);
    one->layouts = NULL;
}

static int look_at(rlt_fleets *c, uint32_t i, const rlt_layout_search *how, rlt_error *err)
{
    rlt_fleet *one = &c->at[i];
    rlt_time floor_ps = (rlt_time)fmin(c->floor_work / one->ranks, 0x1p62);
    uint32_t before = c->n_found;
    rlt_time limit = limit_of(c, one->ranks);
    if (floor_ps > limit || limit == 0) {
        one->end = RLT_FLEET_SKIPPED;
        one->least_ps = floor_ps;
        return 0;
    }
    int rc = open_one(c, one, err);
    if (!rc && one->end != RLT_FLEET_AGAINST)
        rc = walk(c, i, how, err);
    if (one->least_ps && one->least_ps < floor_ps)
        one->least_ps = floor_ps;
    for (uint32_t k = before; k < c->n_found; k++)
        if (c->found[k].point.time_ps < floor_ps)
            return rlt_fail(err, RLT_ECHECK, "bound",
                            "%lld ps on %u accelerators is below the floor, %lld ps",
                            (long long)c->found[k].point.time_ps, one->ranks, (long long)floor_ps);
    if (one->end != RLT_FLEET_FOUND)
        close_one(one);
    return rc;
}

/* By the first goal, then the second, then fewer accelerators. */
static int by_value(const void *a, const void *b)
{
    const rlt_fleet_layout *x = a, *y = b;
    for (int g = 0; g < 2; g++)
        if (x->value[g] < y->value[g] || x->value[g] > y->value[g])
            return x->value[g] < y->value[g] ? -1 : 1;
    if (x->fleet != y->fleet)
        return x->fleet < y->fleet ? -1 : 1;
    return x->point.time_ps < y->point.time_ps ? -1 : x->point.time_ps > y->point.time_ps;
}

/* Returns true if a layout of the sorted answer is kept: with one goal, if it is within the share of the
 * best; with two, if no earlier one is as good in the second. */
static bool is_kept(const rlt_fleets *c, const rlt_fleet_layout *one, uint32_t kept)
{
    if (!kept)
        return true;
    if (c->n_goals == 1)
        return one->value[0] <= c->found[0].value[0] * (1 + c->within);
    return one->value[1] < c->found[kept - 1].value[1];
}

/* Sorts the answer, leaves out what is not kept, and closes fleets without a layout in it. */
static void settle(rlt_fleets *c)
{
    uint32_t kept = 0;
    if (c->n_found)
        qsort(c->found, c->n_found, sizeof *c->found, by_value);
    for (uint32_t i = 0; i < c->n_found; i++)
        if (is_kept(c, &c->found[i], kept))
            c->found[kept++] = c->found[i];
    c->n_found = kept;
    for (uint32_t i = 0; i < c->n; i++) {
        uint32_t k = 0;
        while (k < kept && c->found[k].fleet != i)
            k++;
        if (k == kept)
            close_one(&c->at[i]);
    }
}

int rlt_fleets_find(rlt_fleets *c, const rlt_layout_search *how, rlt_error *err)
{
    /* Large fleets are fast, small ones are few accelerators and little work: these come first. */
    bool down = c->n_goals == 1 && c->goals[0] == RLT_GOAL_TIME;
    int rc = 0;
    for (uint32_t k = 0; k < c->n && !rc; k++) {
        if (rlt_watch_stopped(how->watch))
            rc = rlt_fail(err, RLT_ECANCELLED, NULL, "stopped");
        else
            rc = look_at(c, down ? c->n - 1 - k : k, how, err);
    }
    c->proven = rc == 0;
    settle(c);
    return rc;
}

void rlt_fleets_close(rlt_fleets *c)
{
    for (uint32_t i = 0; i < c->n; i++) {
        close_one(&c->at[i]);
        free(c->at[i].topology);
        free(c->at[i].why);
    }
    free(c->at);
    free(c->found);
    rlt_layouts_close(&c->given);
    *c = (rlt_fleets){0};
}
