/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers to the questions of a search: what a point is against, needs, and takes at least. */
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/watch.h"
#include "workload/plan/internal.h"
#include "workload/plan/plan.h"
#include "workload/replay/alone.h"
#include "workload/timing/timing.h"
#include "workload/training/cost.h"
#include "workload/training/training.h"

typedef rlt__search search;
typedef rlt_layout_task node; /* as much of a node as its answer depends on */

/* Sets the axes that a level knows, and for the others what asks for least. */
static int make_training(const search *s, const node *n, rlt_layout_level level, rlt_training *t,
                         rlt_error *err)
{
    int rc = 0;
    *t = *s->plan->base;
    if (level < RLT_LAYOUT_POINT) {
        t->schedule = RLT_SCHEDULE_1F1B;
        t->vp = 1;
        t->zero = t->shard ? 3 : 0;
    }
    if (level < RLT_LAYOUT_KERNELS) {
        t->microbatch = 1;
        t->recompute = RLT_RECOMPUTE_NONE;
        t->sequence_parallel = true;
    }
    for (uint32_t i = 0; i < s->space->known[level] && !rc; i++)
        rc = rlt_training_set(t, s->space->axes[i].name, s->space->axes[i].values[n->at[i]], err);
    return rc;
}

/* Returns true if the rule that a partial point is against holds for all its points. Rules of sizes come
 * first when a training is planned, then that of the batch. */
static bool holds_below(const rlt_error *why, rlt_layout_level level)
{
    static const char *const sizes[] = {"tp", "cp", "pp", "ep", "etp", "layout", "ranks", "batch"};
    size_t n = sizeof sizes / sizeof *sizes - (level < RLT_LAYOUT_KERNELS);
    for (size_t i = 0; i < n; i++)
        if (strcmp(why->where, sizes[i]) == 0)
            return true;
    return false;
}

static double capacity(const search *s)
{
    return (double)s->plan->base->accelerator->memory_bytes * (1 - s->plan->headroom);
}

/* Returns the model state and the activations of one microbatch, the mean over the stages. What a backward
 * pass adds is left out: it may be less with several chunks. */
static double mean_memory(const rlt_training *t)
{
    double sum = 0;
    uint32_t pp = t->size[RLT_AXIS_PP];
    for (uint32_t stage = 0; stage < pp; stage++) {
        rlt_training_memory m = rlt_training_memory_of(t, stage);
        sum += m.parameters + m.gradients + m.optimizer + (m.activations - m.backward) / m.in_flight;
    }
    return sum / pp * t->fragmentation + (double)t->context_bytes;
}

/* Returns a lower bound of the memory of the fullest stage of all points below: that with the stage of ZeRO,
 * and as long as it is open, the recomputation that need least. 0 if there is none: DualPipeV may hold tied
 * parameters once where other pipelines hold them twice. */
static double least_memory(const search *s, const rlt_training *t, rlt_layout_level level)
{
    const double rounded = 1 - 1e-9; /* sums in another order */
    static const rlt_recompute open[] = {RLT_RECOMPUTE_NONE, RLT_RECOMPUTE_SELECTIVE, RLT_RECOMPUTE_PRODUCTS,
                                         RLT_RECOMPUTE_FULL};
    uint32_t n = level < RLT_LAYOUT_KERNELS ? sizeof open / sizeof *open : 1;
    double least = -1;
    if (s->two_ways)
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        rlt_training other = *t;
        other.recompute = n > 1 ? open[i] : t->recompute;
        for (other.zero = t->shard ? 3 : 0; other.zero <= 3; other.zero++) {
            double mean = mean_memory(&other);
            least = least < 0 || mean < least ? mean : least;
        }
    }
    return least * rounded;
}

/* Returns m times the mean of what a stage computes for a microbatch. */
static rlt_time mean_work(const rlt_training *t, const rlt_training_cost *c)
{
    rlt_time sum = 0;
    for (uint32_t i = 0; i < c->pp * c->vp; i++)
        sum = rlt_time_add(sum, rlt_time_add(c->chunks[i].forward_ps,
                                             rlt_time_add(c->chunks[i].inputs_ps, c->chunks[i].weights_ps)));
    return rlt_time_mul(sum, rlt_training_microbatches(t)) / c->pp;
}

bool rlt__layout_two_ways(const rlt_layout_search *p)
{
    for (uint32_t i = 0; i < p->space->n; i++)
        for (uint32_t v = 0; v < p->space->axes[i].n && strcmp(p->space->axes[i].name, "schedule") == 0;
             v++) {
            const char *word = p->space->axes[i].values[v];
            if (strncmp(word, "dual", 4) == 0 || strcmp(word, "message") == 0)
                return true;
        }
    return false;
}

/* Bounds a training by its parts; `alone` NULL: without communication. A schedule may compute weight
 * gradients apart; the two times of a layer are then rounded, not their sum. */
static int bound_by_cost(const search *s, const rlt_training *t, rlt_layout_level level, rlt_timing *alone,
                         rlt_time *bound_ps, rlt_error *err)
{
    rlt_training_cost c;
    rlt_time rounded = rlt_time_mul(t->model->n_layers, rlt_training_microbatches(t));
    rlt_watch_running(s->plan->watch, alone ? rlt_timing_alone_sim(alone) : NULL);
    int rc = rlt_training_cost_find(t, s->plan->how, alone, level < RLT_LAYOUT_POINT, &c, err);
    if (!rc)
        *bound_ps = level == RLT_LAYOUT_POINT ? rlt_training_bound(t, &c) : mean_work(t, &c) - rounded;
    if (!rc && s->plan->wrong > 0)
        *bound_ps = (rlt_time)((double)*bound_ps * s->plan->wrong);
    rlt_training_cost_free(&c);
    rlt_watch_running(s->plan->watch, NULL);
    return rc;
}

/* Bounds a layout: the least over the values of the microbatch that divide the batch. */
static int bound_layout(const search *s, const rlt_training *layout, rlt_time *bound_ps, rlt_error *err)
{
    const rlt_layout_space *space = s->space;
    uint32_t axis = space->known[RLT_LAYOUT_SIZES];
    int rc = 0;
    *bound_ps = RLT_TIME_MAX;
    for (uint32_t i = 0; i < space->axes[axis].n && !rc; i++) {
        rlt_training t = *layout;
        rlt_error why = {0};
        rlt_time bound = 0;
        if ((rc = rlt_training_set(&t, space->axes[axis].name, space->axes[axis].values[i], err)))
            break;
        if (rlt_training_plan(&t, s->plan->ranks, &why)) {
            if (!holds_below(&why, RLT_LAYOUT_KERNELS))
                *bound_ps = 0; /* other schedules may be possible */
            continue;
        }
        rc = bound_by_cost(s, &t, RLT_LAYOUT_SIZES, NULL, &bound, err);
        *bound_ps = bound < *bound_ps ? bound : *bound_ps;
    }
    return rc;
}

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
    rlt_layout_point p = {.bound_ps = 0};
    int rc = make_training(s, n, level, &t, err);
    if (rc)
        return rc;
    memcpy(p.at, n->at, sizeof p.at);
    out->state = RLT_LAYOUT_OPEN;
    if (rlt_training_plan(&t, s->plan->ranks, &why)) {
        if (level == RLT_LAYOUT_POINT || holds_below(&why, level)) {
            out->state = RLT_LAYOUT_AGAINST_RULE;
            put_reason(out, &why);
        }
        return 0;
    }
    if (level == RLT_LAYOUT_POINT && rlt_layout_repeats(s->space, &t, &p)) {
        out->state = RLT_LAYOUT_REPEATED;
        return 0;
    }
    out->memory_bytes =
        level == RLT_LAYOUT_POINT ? rlt_training_fullest(&t, NULL) : least_memory(s, &t, level);
    if (out->memory_bytes > capacity(s)) {
        out->state = RLT_LAYOUT_OUT_OF_MEMORY;
        return 0;
    }
    if (s->plan->no_bounds)
        return 0;
    if (level == RLT_LAYOUT_SIZES)
        return bound_layout(s, &t, &out->ps, err);
    bool communicates = level == RLT_LAYOUT_ORDER && !s->two_ways;
    if (communicates && (rc = rlt__search_alone(s, err)))
        return rc;
    return bound_by_cost(s, &t, level, communicates ? s->alone : NULL, &out->ps, err);
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
                 ? bound_by_cost(s, &t, RLT_LAYOUT_POINT, s->alone, &out->ps, err)
                 : rlt_layout_simulate(&t, s->plan->how, true, s->alone, s->plan->watch, &out->ps, err);
    out->state = RLT_LAYOUT_OPEN;
    return rc;
}

int rlt__search_alone(search *s, rlt_error *err)
{
    return s->alone ? 0 : rlt_timing_alone(s->plan->how, &s->alone, err);
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
    int rc = t->what == RLT_LAYOUT_CONSIDER ? consider(&s, t, out, &err) : look_at_point(&s, t, out, &err);
    worker->alone = s.alone;
    if (!rc)
        return;
    *out = (rlt_layout_outcome){.state = rc == RLT_ECANCELLED ? RLT_LAYOUT_UNANSWERED : RLT_LAYOUT_FAILED,
                                .code = rc};
    put_reason(out, &err);
}
