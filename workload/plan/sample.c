/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Possible points of a space at random. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "sim/base/error.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
#include "sim/watch.h"
#include "workload/plan/plan.h"
#include "workload/replay/alone.h"
#include "workload/timing/timing.h"
#include "workload/training/cost.h"
#include "workload/training/training.h"

/* Draws a point, and plans its training. Returns true if it is possible: against no rule, not equal to
 * another, and within the memory. */
static bool draw(const rlt_layout_search *p, uint64_t seed, uint64_t k, rlt_layout_point *point,
                 rlt_training *t)
{
    const rlt_layout_space *s = p->space;
    rlt_error why = {0};
    *point = (rlt_layout_point){.bound_ps = 0};
    for (uint32_t i = 0; i < s->n; i++)
        point->at[i] = (uint16_t)rlt_random_below(seed, i, 0, k, s->axes[i].n);
    if (rlt_layout_training(s, p->base, p->ranks, point, t, &why) || rlt_layout_repeats(s, t, point))
        return false;
    point->memory_bytes = rlt_training_fullest(t, NULL);
    return point->memory_bytes <= (double)p->base->accelerator->memory_bytes * (1 - p->headroom);
}

/* Bounds a point, and simulates it if it may be faster than `than_ps`. */
static int judge(const rlt_layout_search *p, const rlt_training *t, rlt_timing *alone, rlt_time than_ps,
                 rlt_layout_point *point, rlt_error *err)
{
    rlt_training_cost c;
    int rc = rlt_training_cost_find(t, p->how, NULL, false, &c, err);
    point->bound_ps = rc ? 0 : rlt_training_bound(t, &c);
    rlt_training_cost_free(&c);
    if (rc || point->bound_ps >= than_ps)
        return rc;
    rlt_watch_running(p->watch, rlt_timing_alone_sim(alone));
    rc = rlt_training_cost_find(t, p->how, alone, false, &c, err);
    rlt_time bound_ps = rc ? 0 : rlt_training_bound(t, &c);
    rlt_training_cost_free(&c);
    rlt_watch_running(p->watch, NULL);
    if (bound_ps > point->bound_ps)
        point->bound_ps = bound_ps;
    if (rc || point->bound_ps >= than_ps)
        return rc;
    return rlt_layout_simulate(t, p->how, true, alone, p->watch, &point->time_ps, err);
}

int rlt_layout_draw(const rlt_layout_search *p, uint32_t n, uint64_t seed, rlt_time than_ps,
                    rlt_layout_sample *out, rlt_error *err)
{
    const uint64_t most_drawn = (uint64_t)n * 100000;
    rlt_training t;
    rlt_timing *alone = NULL;
    *out = (rlt_layout_sample){.than_ps = than_ps};
    out->points = calloc((size_t)n + 1, sizeof *out->points);
    int rc = out->points ? rlt_timing_alone(p->how, &alone, err) : rlt_nomem(err);
    while (!rc && out->n < n && out->drawn < most_drawn) {
        rlt_layout_point *point = &out->points[out->n];
        if (rlt_watch_stopped(p->watch))
            rc = rlt_fail(err, RLT_ECANCELLED, NULL, "stopped");
        else if (draw(p, seed, out->drawn++, point, &t) && !(rc = judge(p, &t, alone, than_ps, point, err))) {
            out->n++;
            out->simulated += point->time_ps > 0;
            out->faster += point->time_ps > 0 && point->time_ps < than_ps;
        }
    }
    rlt_timing_free(alone);
    return rc;
}

void rlt_layout_sample_free(rlt_layout_sample *s)
{
    free(s->points);
    *s = (rlt_layout_sample){0};
}
