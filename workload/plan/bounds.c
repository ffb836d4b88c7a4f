/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bounds of points and partial points. */
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/watch.h"
#include "workload/models/layer.h"
#include "workload/plan/internal.h"
#include "workload/plan/plan.h"
#include "workload/replay/alone.h"
#include "workload/timing/timing.h"
#include "workload/training/cost.h"
#include "workload/training/internal.h"
#include "workload/training/training.h"

enum { MAX_ORDERS = 1 << 26 };

/* Sets the axes that a level knows, and for the others what asks for least. */
int rlt__search_training(const rlt__search *s, const uint16_t *at, rlt_layout_level level, rlt_training *t,
                         rlt_error *err)
{
    int rc = 0;
    *t = s->base;
    if (level < RLT_LAYOUT_STAGES) {
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
        rc = rlt_training_set(t, s->space->axes[i].name, s->space->axes[i].values[at[i]], err);
    return rc;
}

/* Returns true if the rule that a partial point is against holds for all its points. Rules of sizes come
 * first when a training is planned, then that of the batch. */
bool rlt__holds_below(const rlt_error *why, rlt_layout_level level)
{
    static const char *const sizes[] = {"tp", "cp", "pp", "ep", "etp", "layout", "ranks", "batch"};
    size_t n = sizeof sizes / sizeof *sizes - (level < RLT_LAYOUT_KERNELS);
    for (size_t i = 0; i < n; i++)
        if (strcmp(why->where, sizes[i]) == 0)
            return true;
    return false;
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

double rlt__capacity(const rlt__search *s)
{
    double all = (double)s->plan->base->accelerator->memory_bytes * (1 - s->plan->headroom);
    return s->plan->capacity_bytes > 0 && s->plan->capacity_bytes < all ? s->plan->capacity_bytes : all;
}

static const rlt_layout_axis *axis_of(const rlt_layout_space *s, const char *name)
{
    uint32_t i = 0;
    while (strcmp(s->axes[i].name, name) != 0)
        i++;
    return &s->axes[i];
}

/* Returns the least mean memory over the stages of ZeRO, or the first that fits. The last value needs least,
 * mostly. */
static double least_of_zero(const rlt__search *s, const rlt_training *t)
{
    const rlt_layout_axis *zero = axis_of(s->space, "zero");
    double least = -1;
    for (uint32_t i = zero->n; i-- > 0 && (least < 0 || least > rlt__capacity(s));) {
        rlt_training other = *t;
        rlt_error why = {0};
        if (rlt_training_set(&other, zero->name, zero->values[i], &why))
            return 0;
        double mean = mean_memory(&other);
        least = least < 0 || mean < least ? mean : least;
    }
    return least;
}

/* 0 if there is no bound: DualPipeV may hold tied parameters once where other pipelines hold them twice. */
double rlt__least_memory(const rlt__search *s, const rlt_training *t, rlt_layout_level level)
{
    const double rounded = 1 - 1e-9; /* sums in another order */
    const rlt_layout_axis *recompute = axis_of(s->space, "recompute");
    double least = s->two_ways ? 0 : level < RLT_LAYOUT_KERNELS ? -1 : least_of_zero(s, t);
    for (uint32_t i = 0; i < recompute->n && (least < 0 || least > rlt__capacity(s)); i++) {
        rlt_training other = *t;
        rlt_error why = {0};
        if (level == RLT_LAYOUT_KERNELS ||
            rlt_training_set(&other, recompute->name, recompute->values[i], &why))
            break;
        double each = least_of_zero(s, &other);
        least = least < 0 || each < least ? each : least;
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

void rlt__search_begin(rlt__search *s, const rlt_layout_search *p)
{
    const rlt_layout_axis *schedule = axis_of(p->space, "schedule");
    *s = (rlt__search){.plan = p, .space = p->space, .base = *p->base, .in_a_row = true};
    rlt__find_blocks(&s->base);
    for (uint32_t v = 0; v < schedule->n; v++) {
        const char *word = schedule->values[v];
        s->two_ways |= strncmp(word, "dual", 4) == 0 || strcmp(word, "message") == 0;
        s->in_a_row &= strcmp(word, "1f1b") == 0 || strcmp(word, "gpipe") == 0;
    }
}

/* A schedule may compute weight gradients apart; the two times of a layer are then rounded, not their sum:
 * they are 1 ps less at most. Accelerators of another speed divide that by the speed, and round twice once
 * more. */
int rlt__bound_by_cost(rlt__search *s, const rlt_training *t, rlt_layout_level level,
                       rlt_cost_communication communication, rlt_time *bound_ps, rlt_error *err)
{
    rlt_training_cost c = {0};
    double speed = s->plan->how->compute_scale, each = speed < 1 || speed > 1 ? 3 + 1 / speed : 1;
    rlt_time rounded = rlt_time_of(each * t->model->n_layers * rlt_training_microbatches(t));
    int rc = rlt__search_alone(s, err);
    if (rc)
        return rc;
    rlt_watch_running(s->plan->watch, rlt_timing_alone_sim(s->alone));
    rc = rlt_training_cost_of(t, s->spans, communication, level < RLT_LAYOUT_STAGES, &c, err);
    if (!rc)
        *bound_ps = level >= RLT_LAYOUT_STAGES || s->in_a_row ? rlt_training_bound(t, &c)
                                                              : mean_work(t, &c) - rounded;
    if (!rc && s->plan->wrong > 0)
        *bound_ps = (rlt_time)((double)*bound_ps * s->plan->wrong);
    rlt_training_cost_free(&c);
    rlt_watch_running(s->plan->watch, NULL);
    return rc;
}

/* Bounds a layout with these values of the microbatch and of sequence parallelism. bound_ps is then the least
 * of them. */
static int bound_kernels_of(rlt__search *s, const rlt_training *layout, const char *microbatch,
                            const char *sp, rlt_time *bound_ps, rlt_error *err)
{
    rlt_training t = *layout;
    rlt_error why = {0};
    rlt_time bound = 0;
    int rc = rlt_training_set(&t, "microbatch", microbatch, err);
    if (!rc)
        rc = rlt_training_set(&t, "sp", sp, err);
    if (rc || (!t.sequence_parallel && t.tp_overlap))
        return rc;
    if (rlt_training_plan(&t, s->plan->ranks, &why)) {
        if (!rlt__holds_below(&why, RLT_LAYOUT_KERNELS))
            *bound_ps = 0; /* other schedules may be possible */
        return 0;
    }
    rc = rlt__bound_by_cost(s, &t, RLT_LAYOUT_SIZES, RLT_COST_NONE, &bound, err);
    *bound_ps = bound < *bound_ps ? bound : *bound_ps;
    return rc;
}

/* Which value of sequence parallelism computes faster is the kernels' matter: both count. */
int rlt__bound_layout(rlt__search *s, const rlt_training *layout, rlt_time *bound_ps, rlt_error *err)
{
    const rlt_layout_axis *microbatch = axis_of(s->space, "microbatch"), *sp = axis_of(s->space, "sp");
    int rc = 0;
    *bound_ps = RLT_TIME_MAX;
    for (uint32_t i = 0; i < microbatch->n; i++)
        for (uint32_t k = 0; k < sp->n && !rc; k++)
            rc = bound_kernels_of(s, layout, microbatch->values[i], sp->values[k], bound_ps, err);
    return rc;
}

int rlt__bound_order(rlt__search *s, const uint16_t *at, rlt_time *bound_ps, rlt_error *err)
{
    const rlt_layout_space *space = s->space;
    uint16_t key[RLT_LAYOUT_AXES];
    uint32_t n = space->known[RLT_LAYOUT_KERNELS], order = space->known[RLT_LAYOUT_STAGES];
    rlt_training t;
    rlt_error why = {0};
    memcpy(key, at, n * sizeof *key);
    for (uint32_t i = order; i < space->n; i++)
        key[n++] = at[i];
    uint32_t index = rlt_intern_find(&s->orders, (const char *)key, n * sizeof *key);
    if (index != RLT_NONE) {
        *bound_ps = s->of_orders[index];
        return 0;
    }
    *bound_ps = 0;
    int rc = rlt__search_training(s, at, RLT_LAYOUT_KERNELS, &t, err);
    for (uint32_t i = order; i < space->n && !rc; i++)
        rc = rlt_training_set(&t, space->axes[i].name, space->axes[i].values[at[i]], err);
    if (!rc && !rlt_training_plan(&t, s->plan->ranks, &why))
        rc = rlt__bound_by_cost(s, &t, RLT_LAYOUT_KERNELS, RLT_COST_EXACT, bound_ps, err);
    if (!rc)
        rc = rlt_grow(&s->of_orders, &s->orders_room, sizeof *s->of_orders, (uint64_t)s->n_orders + 1,
                      MAX_ORDERS, "orders", err);
    if (rc)
        return rc;
    if (rlt_intern(&s->orders, (const char *)key, n * sizeof *key) == RLT_NONE)
        return rlt_nomem(err);
    s->of_orders[s->n_orders++] = *bound_ps;
    return 0;
}

int rlt__search_alone(rlt__search *s, rlt_error *err)
{
    rlt_training t;
    int rc = s->alone ? 0 : rlt_timing_alone(s->plan->how, &s->alone, err);
    if (rc || s->spans)
        return rc;
    rc = rlt_spans_create(s->plan->how, s->alone, &s->spans, err);
    for (uint32_t i = s->space->known[RLT_LAYOUT_STAGES]; i < s->space->n && !rc; i++)
        for (uint32_t v = 0; v < s->space->axes[i].n && !rc; v++) {
            t = *s->plan->base;
            rc = rlt_training_set(&t, s->space->axes[i].name, s->space->axes[i].values[v], err);
            if (!rc)
                rc = rlt_spans_add_order(s->spans, t.order, err);
        }
    return rc;
}

void rlt__search_free(rlt__search *s)
{
    rlt_spans_free(s->spans);
    rlt_timing_free(s->alone);
    rlt_strings_free(&s->orders);
    free(s->of_orders);
}
