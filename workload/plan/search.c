/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers to the questions of a search: what a point is against, needs, and takes at least. */
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/watch.h"
#include "workload/plan/internal.h"
#include "workload/plan/plan.h"
#include "workload/timing/timing.h"
#include "workload/training/cost.h"
#include "workload/training/training.h"

typedef rlt__search search;
typedef rlt_layout_task node; /* as much of a node as its answer depends on */

static void put_reason(rlt_layout_outcome *out, const rlt_error *why)
{
    snprintf(out->where, sizeof out->where, "%.63s", why->where);
    snprintf(out->what, sizeof out->what, "%.255s", why->what);
}

/* Says what holds for a point or a partial point, and bounds it. */
static int consider(search *s, const node *n, rlt_layout_outcome *out, rlt_error *err)
{
    rlt_layout_level level = n->level;
    rlt_training t;
    rlt_error why = {0};
    int rc = rlt__search_training(s, n->at, level, &t, err);
    if (rc)
        return rc;
    out->state = RLT_LAYOUT_OPEN;
    if (rlt_training_plan(&t, s->plan->ranks, &why)) {
        if (level >= RLT_LAYOUT_STAGES || rlt__holds_below(&why, level)) {
            out->state = RLT_LAYOUT_AGAINST_RULE;
            put_reason(out, &why);
        }
        return 0;
    }
    if (level >= RLT_LAYOUT_STAGES && rlt__layout_repeats(s->space, &t, n->at, level)) {
        out->state = RLT_LAYOUT_REPEATED;
        return 0;
    }
    if (level == RLT_LAYOUT_POINT)
        return s->plan->no_bounds || s->two_ways ? 0 : rlt__bound_order(s, n->at, &out->ps, err);
    out->memory_bytes =
        level == RLT_LAYOUT_STAGES ? rlt_training_fullest(&t, NULL) : rlt__least_memory(s, &t, level);
    if (out->memory_bytes > rlt__capacity(s)) {
        out->state = RLT_LAYOUT_OUT_OF_MEMORY;
        return 0;
    }
    if (s->plan->no_bounds)
        return 0;
    bool least = level == RLT_LAYOUT_STAGES;
    return level == RLT_LAYOUT_SIZES
               ? rlt__bound_layout(s, &t, &out->ps, err)
               : rlt__bound_by_cost(s, &t, level, least ? RLT_COST_LEAST : RLT_COST_NONE, &out->ps, err);
}

/* Bounds kernels with the least communication of any order. */
static int bound_kernels(search *s, const node *n, rlt_layout_outcome *out, rlt_error *err)
{
    rlt_training t;
    rlt_error why = {0};
    int rc = rlt__search_training(s, n->at, n->level, &t, err);
    out->state = RLT_LAYOUT_OPEN;
    if (rc || rlt_training_plan(&t, s->plan->ranks, &why))
        return rc;
    return rlt__bound_by_cost(s, &t, n->level, RLT_COST_LEAST, &out->ps, err);
}

/* Bounds a point with its communication, or simulates it. */
static int look_at_point(search *s, const node *n, rlt_layout_outcome *out, rlt_error *err)
{
    rlt_layout_point p = {.bound_ps = 0};
    rlt_training t;
    memcpy(p.at, n->at, sizeof p.at);
    int rc = rlt_layout_training(s->space, s->plan->base, s->plan->ranks, &p, &t, err);
    if (!rc)
        rc = rlt__search_alone(s, err);
    if (!rc)
        rc = n->what == RLT_LAYOUT_BOUND
                 ? rlt__bound_by_cost(s, &t, RLT_LAYOUT_POINT, RLT_COST_EXACT, &out->ps, err)
                 : rlt_layout_simulate(&t, s->plan->how, true, s->alone, s->plan->watch, &out->ps, err);
    out->state = RLT_LAYOUT_OPEN;
    return rc;
}

void rlt__search_answer(search *worker, const rlt_layout_task *t, const rlt_watch *watch,
                        rlt_layout_outcome *out)
{
    rlt_layout_search plan = *worker->plan;
    search s = *worker;
    rlt_error err = {0};
    plan.watch = watch;
    s.plan = &plan;
    *out = (rlt_layout_outcome){.state = RLT_LAYOUT_UNANSWERED};
    int rc = t->what == RLT_LAYOUT_CONSIDER   ? consider(&s, t, out, &err)
             : t->level == RLT_LAYOUT_KERNELS ? bound_kernels(&s, t, out, &err)
                                              : look_at_point(&s, t, out, &err);
    s.plan = worker->plan;
    *worker = s;
    if (!rc)
        return;
    *out = (rlt_layout_outcome){.state = rc == RLT_ECANCELLED ? RLT_LAYOUT_UNANSWERED : RLT_LAYOUT_FAILED,
                                .code = rc};
    put_reason(out, &err);
}
