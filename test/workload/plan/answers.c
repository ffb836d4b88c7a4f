/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Each answer of a search against what its header promises: rules, repeated points, least memory and bounds,
 * worked out anew from the parts of workload/training.
 */
#include "test/support/trainings/answers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "test/support/trainings/layouts.h"
#include "workload/models/layer.h"
#include "workload/plan/plan.h"
#include "workload/training/cost.h"
#include "workload/training/training.h"

enum { CASES = 140 };

/* Rules of sizes hold whatever is open; that of the batch once the microbatch is known. */
static bool holds(const char *rule, rlt_layout_level level)
{
    static const char *const sizes[] = {"tp", "cp", "pp", "ep", "etp", "layout", "ranks"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (strcmp(rule, sizes[i]) == 0)
            return true;
    return level >= RLT_LAYOUT_STAGES || (level == RLT_LAYOUT_KERNELS && strcmp(rule, "batch") == 0);
}

static bool same_order(const rlt_training *t, const rlt_axis *a, const rlt_axis *b)
{
    rlt_axis x[RLT_AXES_OF_LAYOUT], y[RLT_AXES_OF_LAYOUT];
    uint32_t n = 0, k = 0;
    for (uint32_t i = 0; i < RLT_AXES_OF_LAYOUT; i++) {
        if (t->size[a[i]] > 1)
            x[n++] = a[i];
        if (t->size[b[i]] > 1)
            y[k++] = b[i];
    }
    return n == k && memcmp(x, y, n * sizeof *x) == 0;
}

/* The same run as with an earlier value of this axis. */
static bool repeats_axis(const asked *m, const rlt_training *t, const uint16_t *at, uint32_t axis_at)
{
    const rlt_layout_axis *a = &m->l.space.axes[axis_at];
    bool one_copy = t->size[RLT_AXIS_DP] == 1 && t->size[RLT_AXIS_CP] == 1 && t->ep == 1;
    for (uint32_t v = 0; v < at[axis_at]; v++) {
        rlt_error why = {0};
        rlt_training other = *t;
        set(&other, a->name, a->values[v]);
        bool same = strcmp(a->name, "sp") == 0      ? t->size[RLT_AXIS_TP] == 1
                    : strcmp(a->name, "zero") == 0  ? one_copy && t->zero < 3 && other.zero < 3
                    : strcmp(a->name, "order") == 0 ? same_order(t, t->order, other.order)
                                                    : false;
        if (same && !rlt_training_plan(&other, 0, &why))
            return true;
    }
    return false;
}

static bool repeats(const asked *m, const rlt_training *t, const uint16_t *at, rlt_layout_level level)
{
    const uint32_t *known = m->l.space.known;
    rlt_training plain = *t;
    rlt_error why = {0};
    if (level == RLT_LAYOUT_POINT) {
        for (uint32_t i = known[RLT_LAYOUT_STAGES]; i < m->l.space.n; i++)
            if (repeats_axis(m, t, at, i))
                return true;
        return false;
    }
    for (uint32_t i = 0; i < known[level]; i++)
        if (repeats_axis(m, t, at, i))
            return true;
    if (t->size[RLT_AXIS_PP] > 1 || t->schedule != RLT_SCHEDULE_INTERLEAVED ||
        !has(axis(m, "schedule"), "1f1b") || !has(axis(m, "vp"), "1"))
        return false;
    set(&plain, "schedule", "1f1b");
    set(&plain, "vp", "1");
    return !rlt_training_plan(&plain, 0, &why);
}

/* The least over ZeRO, from its last value, and over recomputation while it is open; the first within the room. */
static double least_memory(const asked *m, const rlt_training *t, rlt_layout_level level)
{
    const rlt_layout_axis *zero = axis(m, "zero"), *recompute = axis(m, "recompute");
    double least = HUGE_VAL;
    if (m->two_ways)
        return 0;
    for (uint32_t i = 0; i < (level == RLT_LAYOUT_SIZES ? recompute->n : 1) && least > m->room; i++) {
        rlt_training other = *t;
        double of_zero = HUGE_VAL;
        if (level == RLT_LAYOUT_SIZES)
            set(&other, "recompute", recompute->values[i]);
        for (uint32_t v = zero->n; v-- > 0 && of_zero > m->room;) {
            set(&other, "zero", zero->values[v]);
            of_zero = fmin(of_zero, mean_memory(&other));
        }
        least = fmin(least, of_zero);
    }
    return least * (1 - 1e-9);
}

/* m times the mean work of a stage, less what is rounded; or the bound of workload/training/cost.h. */
static rlt_time bound_of(const asked *m, const rlt_training *t, rlt_layout_level level,
                         rlt_cost_communication with)
{
    rlt_error err = {0};
    rlt_training_cost c = {0};
    bool passes_only = level < RLT_LAYOUT_STAGES;
    int rc = with == RLT_COST_LEAST
                 ? rlt_training_cost_of(t, m->spans, with, passes_only, &c, &err)
                 : rlt_training_cost_find(t, &m->l.how, with == RLT_COST_NONE ? NULL : m->alone, passes_only,
                                          &c, &err);
    if (rc)
        fail_msg("%s: %s", err.where, err.what);
    rlt_time bound = rlt_training_bound(t, &c), work = 0, passes = rlt_training_microbatches(t);
    if (passes_only && !m->in_a_row) {
        double speed = m->l.how.compute_scale, rounded = speed == 1 ? 1 : 3 + 1 / speed;
        for (uint32_t i = 0; i < c.pp * c.vp; i++)
            work += c.chunks[i].forward_ps + c.chunks[i].inputs_ps + c.chunks[i].weights_ps;
        bound = work * passes / c.pp - rlt_time_of(rounded * t->model->n_layers * (double)passes);
    }
    rlt_training_cost_free(&c);
    return m->s.wrong > 0 ? (rlt_time)((double)bound * m->s.wrong) : bound;
}

/* The least over sequence parallelism and the microbatches that divide the batch; 0 if schedules may make more
 * possible. */
static rlt_time bound_of_sizes(const asked *m, const rlt_training *sizes)
{
    const rlt_layout_axis *a = axis(m, "microbatch"), *sp = axis(m, "sp");
    rlt_time least = RLT_TIME_MAX;
    for (uint32_t v = 0; v < a->n * sp->n; v++) {
        rlt_training t = *sizes;
        rlt_error why = {0};
        set(&t, "microbatch", a->values[v / sp->n]);
        set(&t, "sp", sp->values[v % sp->n]);
        if (t.tp_overlap && !t.sequence_parallel)
            continue;
        bool possible = !rlt_training_plan(&t, m->l.ranks, &why);
        if (!possible && holds(why.where, RLT_LAYOUT_KERNELS))
            continue;
        rlt_time bound = possible ? bound_of(m, &t, RLT_LAYOUT_SIZES, RLT_COST_NONE) : 0;
        least = bound < least ? bound : least;
    }
    return least;
}

/* Kernels with the communication of an order. */
static rlt_time bound_of_order(const asked *m, const uint16_t *at)
{
    rlt_error why = {0};
    rlt_training t = training_of(m, at, RLT_LAYOUT_KERNELS);
    for (uint32_t i = m->l.space.known[RLT_LAYOUT_STAGES]; i < m->l.space.n; i++)
        set(&t, m->l.space.axes[i].name, m->l.space.axes[i].values[at[i]]);
    return rlt_training_plan(&t, m->l.ranks, &why) ? 0 : bound_of(m, &t, RLT_LAYOUT_KERNELS, RLT_COST_EXACT);
}

static rlt_layout_outcome considered(const asked *m, const rlt_layout_task *q)
{
    rlt_layout_outcome o = {.state = RLT_LAYOUT_OPEN};
    rlt_layout_level level = q->level;
    rlt_error why = {0};
    rlt_training t = training_of(m, q->at, level);
    if (rlt_training_plan(&t, m->l.ranks, &why)) {
        if (holds(why.where, level)) {
            o.state = RLT_LAYOUT_AGAINST_RULE;
            snprintf(o.where, sizeof o.where, "%.63s", why.where);
            snprintf(o.what, sizeof o.what, "%.255s", why.what);
        }
        return o;
    }
    if (level >= RLT_LAYOUT_STAGES && repeats(m, &t, q->at, level)) {
        o.state = RLT_LAYOUT_REPEATED;
        return o;
    }
    if (level == RLT_LAYOUT_POINT) {
        o.ps = m->s.no_bounds || m->two_ways ? 0 : bound_of_order(m, q->at);
        return o;
    }
    for (uint32_t stage = 0; level == RLT_LAYOUT_STAGES && stage < t.size[RLT_AXIS_PP]; stage++)
        o.memory_bytes = fmax(o.memory_bytes, rlt_training_memory_of(&t, stage).total);
    if (level < RLT_LAYOUT_STAGES)
        o.memory_bytes = least_memory(m, &t, level);
    if (o.memory_bytes > m->room)
        o.state = RLT_LAYOUT_OUT_OF_MEMORY;
    else if (!m->s.no_bounds)
        o.ps = level == RLT_LAYOUT_SIZES     ? bound_of_sizes(m, &t)
               : level == RLT_LAYOUT_KERNELS ? bound_of(m, &t, level, RLT_COST_NONE)
                                             : bound_of(m, &t, level, RLT_COST_LEAST);
    return o;
}

static rlt_layout_outcome answer(const asked *m, const rlt_layout_task *q)
{
    rlt_layout_outcome o = {.state = RLT_LAYOUT_OPEN};
    rlt_error err = {0};
    if (q->what == RLT_LAYOUT_CONSIDER)
        return considered(m, q);
    rlt_training t = training_of(m, q->at, q->level);
    bool possible = !rlt_training_plan(&t, m->l.ranks, &err);
    if (q->level == RLT_LAYOUT_KERNELS) {
        o.ps = possible ? bound_of(m, &t, q->level, RLT_COST_LEAST) : 0;
        return o;
    }
    assert_true(possible && q->level == RLT_LAYOUT_POINT);
    if (q->what == RLT_LAYOUT_BOUND)
        o.ps = bound_of(m, &t, q->level, RLT_COST_EXACT);
    else
        assert_int_equal(rlt_layout_simulate(&t, &m->l.how, true, NULL, NULL, &o.ps, &err), 0);
    return o;
}

static void check_answers(const asked *m, uint32_t i)
{
    for (uint32_t k = 0; k < m->n; k++) {
        const rlt_layout_task *q = &m->log[k].task;
        const rlt_layout_outcome *o = &m->log[k].outcome;
        rlt_layout_outcome e = answer(m, q);
        char text[400];
        layouts_values(&m->l, q->at, text, sizeof text);
        if (o->state != e.state || o->ps != e.ps || o->memory_bytes != e.memory_bytes ||
            strcmp(o->where, e.where) != 0 || strcmp(o->what, e.what) != 0 || o->code != 0)
            fail_msg("%s: question %d, level %d of%s: %d, %lld ps, %.17g bytes %s; expected %d, %lld ps, "
                     "%.17g bytes %s",
                     layouts_name(&m->l, i, "answers"), (int)q->what, (int)q->level, text, (int)o->state,
                     (long long)o->ps, o->memory_bytes, o->what, (int)e.state, (long long)e.ps,
                     e.memory_bytes, e.what);
    }
}

static void as_promised(void **state)
{
    asked m = empty();
    dice r = {.seed = 31};
    uint32_t all = 0;
    (void)state;
    for (uint32_t i = 0; i < CASES; i++) {
        begin(&m, &r, i);
        for (int k = 0; k < 2; k++) {
            rlt_layout_result result;
            (void)!search(&m, &result);
            check_answers(&m, i);
            all += m.n;
            if (k == 0) {
                limit(&m, i, &result);
                shrink(&m, &r);
            }
            rlt_layout_result_free(&result);
        }
        end(&m);
    }
    printf("# %u answers\n", all);
    for (int what = 0; what < 3; what++)
        for (int level = 0; level < 4; level++)
            printf("# question %d, level %d: %u against rules, %u repeated, %u out of memory, %u open\n",
                   what, level, m.seen[what][level][1], m.seen[what][level][2], m.seen[what][level][3],
                   m.seen[what][level][4]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_promised)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
