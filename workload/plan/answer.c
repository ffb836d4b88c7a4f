/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers to the questions of a search: what a point is against, needs, and takes at least. */
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/watch.h"
#include "workload/plan/bounds.h"
#include "workload/plan/internal.h"
#include "workload/plan/plan.h"
#include "workload/training/training.h"

static double capacity(const rlt_layout_search *p)
{
    return (double)p->base->accelerator->memory_bytes * (1 - p->headroom);
}

static void put_reason(rlt_layout_outcome *out, const rlt_error *why)
{
    snprintf(out->where, sizeof out->where, "%.63s", why->where);
    snprintf(out->what, sizeof out->what, "%.255s", why->what);
}

/* Says what holds for a point or a partial point, and bounds it. */
static int consider(rlt__bounds *b, const rlt_layout_task *task, rlt_layout_outcome *out, rlt_error *err)
{
    rlt_layout_level level = task->level;
    rlt_training t;
    rlt_error why = {0};
    rlt_layout_point p = {.bound_ps = 0};
    int rc = rlt__bounds_training(b, task->at, level, &t, err);
    if (rc)
        return rc;
    memcpy(p.at, task->at, sizeof p.at);
    out->state = RLT_LAYOUT_OPEN;
    if (rlt_training_plan(&t, b->plan->ranks, &why)) {
        if (level == RLT_LAYOUT_POINT || rlt__holds_below(&why, level)) {
            out->state = RLT_LAYOUT_AGAINST_RULE;
            put_reason(out, &why);
        }
        return 0;
    }
    if (level == RLT_LAYOUT_POINT && rlt_layout_repeats(b->space, &t, &p)) {
        out->state = RLT_LAYOUT_REPEATED;
        return 0;
    }
    out->memory_bytes =
        level == RLT_LAYOUT_POINT ? rlt_training_fullest(&t, NULL) : rlt__least_memory(b, &t, level);
    if (out->memory_bytes > capacity(b->plan)) {
        out->state = RLT_LAYOUT_OUT_OF_MEMORY;
        return 0;
    }
    if (b->plan->no_bounds)
        return 0;
    return level == RLT_LAYOUT_SIZES
               ? rlt__bound_layout(b, &t, &out->ps, err)
               : rlt__bound_by_cost(b, &t, level, level == RLT_LAYOUT_ORDER && !b->two_ways, &out->ps, err);
}

/* Bounds a point with its communication, or simulates it. */
static int look_at_point(rlt__bounds *b, const rlt_layout_task *task, rlt_layout_outcome *out, rlt_error *err)
{
    rlt_layout_point p = {.bound_ps = 0};
    rlt_training t;
    memcpy(p.at, task->at, sizeof p.at);
    out->state = RLT_LAYOUT_OPEN;
    int rc = rlt_layout_training(b->space, b->plan->base, b->plan->ranks, &p, &t, err);
    if (rc)
        return rc;
    return task->what == RLT_LAYOUT_BOUND
               ? rlt__bound_by_cost(b, &t, RLT_LAYOUT_POINT, true, &out->ps, err)
               : rlt_layout_simulate(&t, b->plan->how, true, b->alone, b->plan->watch, &out->ps, err);
}

int rlt__worker_open(rlt__worker *w, rlt_error *err)
{
    if (w->open)
        return 0;
    int rc = rlt__bounds_open(&w->plan, &w->bounds, err);
    w->open = rc == 0;
    if (rc)
        rlt__bounds_close(&w->bounds);
    return rc;
}

void rlt__worker_close(rlt__worker *w)
{
    if (w->open)
        rlt__bounds_close(&w->bounds);
    w->open = false;
}

void rlt__worker_answer(rlt__worker *w, const rlt_layout_task *t, const rlt_watch *watch,
                        rlt_layout_outcome *out)
{
    rlt_error err = {0};
    w->plan.watch = watch;
    *out = (rlt_layout_outcome){.state = RLT_LAYOUT_UNANSWERED};
    int rc = rlt__worker_open(w, &err);
    if (!rc)
        rc = t->what == RLT_LAYOUT_CONSIDER ? consider(&w->bounds, t, out, &err)
                                            : look_at_point(&w->bounds, t, out, &err);
    if (!rc)
        return;
    *out = (rlt_layout_outcome){.state = rc == RLT_ECANCELLED ? RLT_LAYOUT_UNANSWERED : RLT_LAYOUT_FAILED,
                                .code = rc};
    put_reason(out, &err);
}
