/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Branch and bound, best first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/heap.h"
#include "sim/base/mem.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
#include "sim/watch.h"
#include "workload/models/layer.h"
#include "workload/plan/plan.h"
#include "workload/replay/alone.h"
#include "workload/timing/timing.h"
#include "workload/training/cost.h"
#include "workload/training/training.h"

enum { MAX_NODES = 1 << 28 };

typedef struct node {
    rlt_time bound_ps;
    uint64_t turn; /* in tests: a random order among nodes */
    double memory_bytes;
    uint16_t level, at[RLT_LAYOUT_AXES];
    bool communicates; /* a point: its bound has communication */
} node;

typedef struct search {
    const rlt_layout_search *plan;
    const rlt_layout_space *space;
    rlt_timing *alone;
    rlt_layout_result *out;
    node *open;
    uint32_t n_open, room, points_room;
    rlt_time best_ps;
    bool two_ways; /* some schedule lets communication of a pass go on beside another pass */
} search;

static int compare_values(const rlt_layout_space *s, const uint16_t *a, const uint16_t *b)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

/* Nodes of the least bound first; among them partial points, so that all points of a bound are known before
 * the next bound is taken. */
static bool sooner(const search *s, const node *a, const node *b)
{
    if (a->turn != b->turn)
        return a->turn < b->turn;
    if (a->bound_ps != b->bound_ps)
        return a->bound_ps < b->bound_ps;
    if (a->level != b->level)
        return a->level < b->level;
    return compare_values(s->space, a->at, b->at) < 0;
}
RLT_HEAP(nodes, node, search, sooner)

static int push(search *s, node one, rlt_error *err)
{
    int rc = rlt_grow(&s->open, &s->room, sizeof *s->open, (uint64_t)s->n_open + 1, MAX_NODES,
                      "layouts under way", err);
    if (rc)
        return rc;
    if (s->plan->visit)
        one.turn = rlt_random_u64(s->plan->visit, 0, 0, s->out->bounded);
    nodes_push(s, s->open, &s->n_open, one);
    s->out->bounded++;
    return 0;
}

/* Returns the number of points of a partial point. */
static double points_below(const rlt_layout_space *s, rlt_layout_level level)
{
    double n = 1;
    for (uint32_t i = s->known[level]; i < s->n; i++)
        n *= s->axes[i].n;
    return n;
}

static void against_rule(search *s, const rlt_error *why, double points)
{
    rlt_layout_result *r = s->out;
    uint32_t i = 0;
    r->against_rules += points;
    while (i < r->n_reasons && strncmp(r->reasons[i].where, why->where, sizeof r->reasons[i].where - 1) != 0)
        i++;
    if (i == RLT_LAYOUT_REASONS)
        return;
    rlt_layout_reason *reason = &r->reasons[i];
    if (i == r->n_reasons) {
        r->n_reasons++;
        *reason = (rlt_layout_reason){.points = 0};
        snprintf(reason->where, sizeof reason->where, "%.23s", why->where);
        snprintf(reason->what, sizeof reason->what, "%.159s", why->what);
    }
    reason->points += points;
}

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

/* Returns true if a schedule of the space is none of those in a fixed order, one pass after the other. */
static bool goes_two_ways(const rlt_layout_search *p)
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
 * gradients apart; the two times of a layer are then rounded, not their sum: they are 1 ps less at most.
 * Accelerators of another speed divide that by the speed, and round twice once more. */
static int bound_by_cost(const search *s, const rlt_training *t, rlt_layout_level level, rlt_timing *alone,
                         rlt_time *bound_ps, rlt_error *err)
{
    rlt_training_cost c;
    double speed = s->plan->how->compute_scale;
    double each = speed < 1 || speed > 1 ? 3 + 1 / speed : 1;
    rlt_time rounded = rlt_time_of(each * t->model->n_layers * rlt_training_microbatches(t));
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

static void out_of_memory(search *s, const node *n, double needs, rlt_layout_level level)
{
    rlt_layout_point *nearest = &s->out->nearest;
    s->out->out_of_memory += points_below(s->space, level);
    if (s->out->least_bytes <= 0 || needs < s->out->least_bytes)
        s->out->least_bytes = needs;
    if (level < RLT_LAYOUT_POINT || (nearest->memory_bytes > 0 && nearest->memory_bytes <= needs))
        return;
    *nearest = (rlt_layout_point){.memory_bytes = needs};
    memcpy(nearest->at, n->at, sizeof nearest->at);
}

/* Takes a point or a partial point into the queue, unless it is impossible or repeats another one. */
static int consider(search *s, const node *n, rlt_layout_level level, rlt_time parent_ps, rlt_error *err)
{
    node one = *n;
    rlt_training t;
    rlt_error why = {0};
    rlt_layout_point p = {.bound_ps = 0};
    double points = points_below(s->space, level), memory;
    int rc = make_training(s, n, level, &t, err);
    if (rc)
        return rc;
    one.level = (uint16_t)level;
    one.bound_ps = parent_ps;
    memcpy(p.at, n->at, sizeof p.at);
    if (rlt_training_plan(&t, s->plan->ranks, &why)) {
        if (level == RLT_LAYOUT_POINT || holds_below(&why, level)) {
            against_rule(s, &why, points);
            return 0;
        }
        return push(s, one, err);
    }
    if (level == RLT_LAYOUT_POINT && rlt_layout_repeats(s->space, &t, &p)) {
        s->out->repeated++;
        return 0;
    }
    memory = level == RLT_LAYOUT_POINT ? rlt_training_fullest(&t, NULL) : least_memory(s, &t, level);
    if (memory > capacity(s)) {
        out_of_memory(s, n, memory, level);
        return 0;
    }
    one.memory_bytes = memory;
    rlt_time bound = 0;
    if (!s->plan->no_bounds)
        rc = level == RLT_LAYOUT_SIZES
                 ? bound_layout(s, &t, &bound, err)
                 : bound_by_cost(s, &t, level, level == RLT_LAYOUT_ORDER && !s->two_ways ? s->alone : NULL,
                                 &bound, err);
    one.bound_ps = bound > parent_ps ? bound : parent_ps;
    return rc ? rc : push(s, one, err);
}

/* Counts points that are left as they are. */
static void leave(search *s, double points, rlt_time bound_ps)
{
    s->out->pruned += points;
    s->out->least_pruned_ps = bound_ps < s->out->least_pruned_ps ? bound_ps : s->out->least_pruned_ps;
}

/* Replaces a partial point by its parts at the next level that has axes of its own. */
static int expand(search *s, const node *from, rlt_layout_level level, rlt_error *err)
{
    const rlt_layout_space *space = s->space;
    uint32_t begin = level ? space->known[level - 1] : 0, end = space->known[level];
    node one = *from;
    double left = level ? points_below(space, (rlt_layout_level)(level - 1)) : rlt_layout_size(space);
    int rc = 0;
    memset(one.at + begin, 0, sizeof one.at - begin * sizeof *one.at);
    for (;;) {
        uint32_t i = end;
        if (rlt_watch_stopped(s->plan->watch))
            rc = RLT_ECANCELLED;
        if (rc || (rc = consider(s, &one, level, from->bound_ps, err))) {
            leave(s, left, from->bound_ps);
            return rc;
        }
        left -= points_below(space, level);
        while (i-- > begin && ++one.at[i] == space->axes[i].n)
            one.at[i] = 0;
        if (i + 1 == begin || begin == end)
            return 0;
    }
}

/* Makes the training of a point. */
static int point_training(const search *s, const node *n, rlt_layout_point *p, rlt_training *t,
                          rlt_error *err)
{
    *p = (rlt_layout_point){.bound_ps = n->bound_ps, .memory_bytes = n->memory_bytes};
    memcpy(p->at, n->at, sizeof p->at);
    return rlt_layout_training(s->space, s->plan->base, s->plan->ranks, p, t, err);
}

/* Bounds a point with its communication, and puts it back. */
static int bound_point(search *s, const node *n, rlt_error *err)
{
    node one = *n;
    rlt_layout_point p;
    rlt_training t;
    rlt_time bound = 0;
    int rc = point_training(s, n, &p, &t, err);
    if (!rc)
        rc = bound_by_cost(s, &t, RLT_LAYOUT_POINT, s->alone, &bound, err);
    one.communicates = true;
    one.bound_ps = bound > n->bound_ps ? bound : n->bound_ps;
    return rc ? rc : push(s, one, err);
}

/* Fails with the values of a point whose bound is above its time. */
static int refuse_bound(const search *s, const rlt_layout_point *p, rlt_error *err)
{
    char values[200] = "";
    size_t length = 0;
    for (uint32_t i = 0; i < s->space->n && length < sizeof values; i++)
        length += (size_t)snprintf(values + length, sizeof values - length, "%s%s=%s", i ? "," : "",
                                   s->space->axes[i].name, s->space->axes[i].values[p->at[i]]);
    return rlt_fail(err, RLT_ECHECK, "bound", "%lld ps is above the simulated %lld ps: %s",
                    (long long)p->bound_ps, (long long)p->time_ps, values);
}

static int simulate(search *s, const node *n, rlt_error *err)
{
    rlt_layout_result *r = s->out;
    rlt_layout_point p;
    rlt_training t;
    int rc = point_training(s, n, &p, &t, err);
    if (!rc)
        rc = rlt_layout_simulate(&t, s->plan->how, true, s->alone, s->plan->watch, &p.time_ps, err);
    if (!rc && p.time_ps < p.bound_ps)
        rc = refuse_bound(s, &p, err);
    if (!rc)
        rc = rlt_grow(&r->points, &s->points_room, sizeof *r->points, (uint64_t)r->n + 1, MAX_NODES, "points",
                      err);
    if (rc)
        return rc;
    r->points[r->n++] = p;
    s->best_ps = p.time_ps < s->best_ps ? p.time_ps : s->best_ps;
    return 0;
}

/* Returns the bound above which nothing is looked for. */
static rlt_time limit_of(const search *s)
{
    if (s->best_ps == RLT_TIME_MAX)
        return RLT_TIME_MAX;
    double share = s->plan->within > 0 ? 1 + s->plan->within : 1 / (1 + s->plan->gap);
    double limit = (double)s->best_ps * share;
    if (limit >= (double)RLT_TIME_MAX)
        return RLT_TIME_MAX;
    return share > 1 || share < 1 ? (rlt_time)limit : s->best_ps;
}

static int look(search *s, rlt_error *err)
{
    node root = {.bound_ps = 0};
    int rc = expand(s, &root, RLT_LAYOUT_SIZES, err);
    while (!rc && s->n_open) {
        if (rlt_watch_stopped(s->plan->watch) || (s->plan->most && s->out->n >= s->plan->most))
            return RLT_ECANCELLED;
        node next = nodes_pop(s, s->open, &s->n_open);
        if (next.bound_ps > limit_of(s)) {
            if (!s->plan->visit) { /* as are all others */
                nodes_push(s, s->open, &s->n_open, next);
                break;
            }
            leave(s, points_below(s->space, (rlt_layout_level)next.level), next.bound_ps);
            continue;
        }
        if (next.level < RLT_LAYOUT_POINT)
            rc = expand(s, &next, (rlt_layout_level)(next.level + 1), err);
        else
            rc = next.communicates || s->plan->no_bounds ? simulate(s, &next, err)
                                                         : bound_point(s, &next, err);
        if (rc && next.level == RLT_LAYOUT_POINT)
            leave(s, 1, next.bound_ps);
        rlt_watch_progress(s->plan->watch, s->out->n, 0);
    }
    return rc;
}

static int by_time(const void *a, const void *b)
{
    const rlt_layout_point *x = a, *y = b;
    if (x->time_ps != y->time_ps)
        return x->time_ps < y->time_ps ? -1 : 1;
    for (int i = 0; i < RLT_LAYOUT_AXES; i++)
        if (x->at[i] != y->at[i])
            return x->at[i] < y->at[i] ? -1 : 1;
    return 0;
}

int rlt_layout_find(const rlt_layout_search *p, rlt_layout_result *out, rlt_error *err)
{
    search s = {.plan = p, .space = p->space, .out = out, .best_ps = RLT_TIME_MAX};
    s.two_ways = goes_two_ways(p);
    *out = (rlt_layout_result){.least_pruned_ps = RLT_TIME_MAX, .total = rlt_layout_size(p->space)};
    int rc = rlt_timing_alone(p->how, &s.alone, err);
    if (!rc)
        rc = look(&s, err);
    out->proven = rc == 0;
    for (uint32_t i = 0; i < s.n_open; i++)
        leave(&s, points_below(p->space, (rlt_layout_level)s.open[i].level), s.open[i].bound_ps);
    if (out->n)
        qsort(out->points, out->n, sizeof *out->points, by_time);
    rlt_timing_free(s.alone);
    free(s.open);
    return rc == RLT_ECANCELLED ? rlt_fail(err, rc, NULL, "stopped") : rc;
}

void rlt_layout_result_free(rlt_layout_result *r)
{
    free(r->points);
    *r = (rlt_layout_result){0};
}
