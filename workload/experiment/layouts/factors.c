/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A search under other factors, as settings of a run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/watch.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/experiment/layouts/world.h"
#include "workload/experiment/run/run.h"
#include "workload/plan/plan.h"
#include "workload/replay/alone.h"
#include "workload/timing/timing.h"
#include "workload/training/training.h"

static bool is_one(double x)
{
    return x >= 1 && x <= 1;
}

/* Returns the value that six digits state. */
static double six_digits(double x)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", x);
    return strtod(text, NULL);
}

/* Adds DIM=X for the outermost dimension behind the dimensions that are scaled already. */
static int state_bandwidth(rlt_layouts *l, uint32_t dims, double x, rlt_texts *scales, rlt_error *err)
{
    l->dim_scales = malloc(((size_t)scales->n + 1) * sizeof *l->dim_scales);
    if (!l->dim_scales)
        return rlt_nomem(err);
    if (scales->n)
        memcpy(l->dim_scales, scales->items, scales->n * sizeof *scales->items);
    snprintf(l->stated[0], sizeof l->stated[0], "dim-scale=%u=%.6g", dims - 1, x);
    l->dim_scales[scales->n] = strchr(l->stated[0], '=') + 1;
    *scales = (rlt_texts){.items = l->dim_scales, .n = scales->n + 1};
    return 0;
}

static int state_half_sizes(rlt_layouts *l, double x, const char **train, rlt_error *err)
{
    size_t size = (*train ? strlen(*train) : 0) + 40;
    l->factored_train = malloc(size);
    if (!l->factored_train)
        return rlt_nomem(err);
    snprintf(l->factored_train, size, "%s%shalf_sizes=%.6g", *train ? *train : "", *train ? "," : "", x);
    *train = l->factored_train;
    return 0;
}

int rlt_layouts_open_as(rlt_layouts *l, const rlt_layouts *as, const rlt_layout_factors *f, rlt_error *err)
{
    rlt_run_settings s = *as->asked;
    double speed = six_digits(s.compute_scale * f->efficiency);
    int rc = 0;
    if (!is_one(f->bandwidth))
        rc = state_bandwidth(l, rlt_topology_dims(as->run.setup.topology), f->bandwidth, &s.sim.dim_scale,
                             err);
    if (!rc && !is_one(f->half_sizes))
        rc = state_half_sizes(l, f->half_sizes, &s.train, err);
    if (!is_one(f->efficiency)) {
        snprintf(l->stated[1], sizeof l->stated[1], "compute-scale=%.6g", speed);
        s.compute_scale = speed;
    }
    if (!rc)
        rc = rlt_layouts_open(l, &s, as->run.args, err);
    l->asked = as->asked;
    return rc;
}

int rlt__world_open(rlt__world *w, const rlt_layouts *as, const rlt_layout_factors *f, rlt_error *err)
{
    *w = (rlt__world){0};
    int rc = rlt_layouts_open_as(&w->l, as, f, err);
    return rc ? rc : rlt_timing_alone(&w->l.run.options, &w->alone, err);
}

int rlt__world_simulate(rlt__world *w, const rlt_training *t, const rlt_watch *watch, rlt_time *time_ps,
                        rlt_error *err)
{
    if (rlt_watch_stopped(watch))
        return rlt_fail(err, RLT_ECANCELLED, NULL, "stopped");
    return rlt_layout_simulate(t, &w->l.run.options, true, w->alone, watch, time_ps, err);
}

void rlt__world_close(rlt__world *w)
{
    rlt_timing_free(w->alone);
    rlt_layouts_close(&w->l);
}
