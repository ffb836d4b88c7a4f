/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rules and memory of the points of a space, as an odometer that skips. */
#include "workload/plan/fits.h"

#include <string.h>

#include "sim/base/error.h"
#include "sim/base/words.h"
#include "sim/watch.h"
#include "workload/plan/plan.h"
#include "workload/training/training.h"

/* The digits of the odometer, the slowest first, in groups: of sizes, microbatch, pipeline, the rest. */
typedef struct digits {
    uint32_t axis[RLT_LAYOUT_AXES], n;
    uint32_t sizes, batch, pipeline; /* digits up to the end of that group */
} digits;

static void add_axes(const rlt_layout_space *s, const char *const *names, digits *d)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (rlt_is_one_of(s->axes[i].name, names))
            d->axis[d->n++] = i;
}

static digits order_digits(const rlt_layout_space *s)
{
    static const char *const batch[] = {"microbatch", NULL}, *const pipeline[] = {"schedule", "vp", NULL};
    static const char *const apart[] = {"microbatch", "schedule", "vp", "order", NULL};
    digits d = {.n = 0};
    for (uint32_t i = 0; i < s->known[RLT_LAYOUT_SIZES]; i++)
        d.axis[d.n++] = i;
    d.sizes = d.n;
    add_axes(s, batch, &d);
    d.batch = d.n;
    add_axes(s, pipeline, &d);
    d.pipeline = d.n;
    for (uint32_t i = d.sizes; i < s->n; i++)
        if (!rlt_is_one_of(s->axes[i].name, apart))
            d.axis[d.n++] = i;
    return d;
}

/* Returns the number of digits on which a rule depends. */
static uint32_t depends_on(const digits *d, const char *rule)
{
    static const char *const sizes[] = {"tp", "cp", "ep", "etp", "layout", "ranks", NULL};
    static const char *const pipeline[] = {"pp", "vp", "schedule", "split", NULL};
    return rlt_is_one_of(rule, sizes)      ? d->sizes
           : strcmp(rule, "batch") == 0    ? d->batch
           : rlt_is_one_of(rule, pipeline) ? d->pipeline
                                           : d->n;
}

/* Returns how late a rule is looked at when a training is planned. Points that pass more rules are nearer to
 * what is possible. */
static int turn_of(const char *rule)
{
    static const char *const turns[] = {"ranks", "layout", "tp", "cp",    "ep",      "etp",
                                        "batch", "vp",     "pp", "split", "schedule"};
    int n = sizeof turns / sizeof *turns, i = 0;
    while (i < n && strcmp(turns[i], rule) != 0)
        i++;
    return i;
}

/* Steps to the next point with another value among the first n digits. Returns false at the end. */
static bool step(const rlt_layout_space *s, const digits *d, uint32_t n, uint16_t *at)
{
    for (uint32_t i = n; i < d->n; i++)
        at[d->axis[i]] = 0;
    while (n-- > 0) {
        if (++at[d->axis[n]] < s->axes[d->axis[n]].n)
            return true;
        at[d->axis[n]] = 0;
    }
    return false;
}

/* Returns true if only digits of the last group have values left, so that the next step would change the
 * pipeline or more. */
static bool last_of_pipeline(const rlt_layout_space *s, const digits *d, const uint16_t *at)
{
    for (uint32_t i = d->pipeline; i < d->n; i++)
        if (at[d->axis[i]] + 1u < s->axes[d->axis[i]].n)
            return false;
    return true;
}

int rlt_layout_first_fit(const rlt_layout_space *s, const rlt_training *base, uint32_t ranks, double room,
                         const rlt_watch *watch, rlt_layout_fit *out, rlt_error *err)
{
    digits d = order_digits(s);
    rlt_layout_point p = {.bound_ps = 0};
    uint32_t changes = 0;
    bool first = true;
    *out = (rlt_layout_fit){.possible = false};
    do {
        rlt_training t;
        rlt_error why = {0};
        if (rlt_watch_stopped(watch))
            return rlt_fail(err, RLT_ECANCELLED, NULL, "stopped");
        changes = d.n;
        if (rlt_layout_training(s, base, ranks, &p, &t, &why)) {
            if (first || turn_of(why.where) > turn_of(out->why.where))
                out->why = why;
            first = false;
            changes = depends_on(&d, why.where);
            continue;
        }
        p.memory_bytes = rlt_training_fullest(&t, NULL);
        if (!out->possible || p.memory_bytes < out->point.memory_bytes)
            out->point = p;
        out->possible = true;
        out->fits = p.memory_bytes <= room;
        if (out->fits)
            return 0;
        if (t.schedule == RLT_SCHEDULE_1F1B && t.vp == 1 && last_of_pipeline(s, &d, p.at))
            changes = d.batch;
    } while (step(s, &d, changes, p.at));
    return 0;
}
