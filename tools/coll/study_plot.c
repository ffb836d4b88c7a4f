/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The study as curves: time over size, gain over each axis of numbers that has several values, and the slots
 * in use over time. What a panel does not vary is the largest size, the most workers and slots, the first
 * number of tenants, loss, straggler and placement.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "tools/coll/study.h"
#include "tools/output/plot.h"
#include "tools/settings/settings.h"

enum { PANELS = 7, LINES = 40, OCCUPANCY_LINES = 12, NAME = 80 };

typedef struct curves {
    const rlt_ina_study *s;
    rlt_plot_panel panels[PANELS];
    uint32_t n_panels;
    rlt_plot_line lines[PANELS][LINES];
    char names[PANELS][LINES][NAME];
    double *numbers; /* `room` of them */
    size_t used;
} curves;

static rlt_ina_point usual_point(const rlt_ina_study *s)
{
    rlt_ina_point p = {{0}};
    p.at[RLT_AXIS_SIZE] = s->axes[RLT_AXIS_SIZE].n - 1;
    p.at[RLT_AXIS_WORKERS] = s->axes[RLT_AXIS_WORKERS].n - 1;
    p.at[RLT_AXIS_SLOTS] = s->axes[RLT_AXIS_SLOTS].n - 1;
    return p;
}

static double value_at(const rlt_ina_study *s, rlt_study_axis axis, uint32_t i)
{
    const rlt_study_values *v = &s->axes[axis];
    if (axis == RLT_AXIS_LOSS)
        return v->real[i];
    return axis == RLT_AXIS_STRAGGLER ? (double)v->count[i] * 1e-12 : (double)v->count[i];
}

/* An algorithm's time in seconds, or its gain, over an axis. */
static void add_line(curves *c, rlt_study_axis axis, uint32_t algorithm, bool gain)
{
    const rlt_ina_study *s = c->s;
    rlt_plot_panel *panel = &c->panels[c->n_panels];
    rlt_ina_point p = usual_point(s);
    double *x = c->numbers + c->used, *y = x + s->axes[axis].n;
    if (panel->n_lines == LINES)
        return;
    for (uint32_t i = 0; i < s->axes[axis].n; i++) {
        p.at[axis] = i;
        rlt_time t = rlt_study_time(s, algorithm, &p);
        uint32_t base = rlt_study_best(s, &p, false);
        x[i] = value_at(s, axis, i);
        y[i] = t <= 0             ? 0
               : !gain            ? (double)t * 1e-12
               : base == RLT_NONE ? 0
                                  : (double)rlt_study_time(s, base, &p) / (double)t;
    }
    c->used += 2 * (size_t)s->axes[axis].n;
    c->lines[c->n_panels][panel->n_lines++] =
        (rlt_plot_line){.name = s->algorithms[algorithm].name, .x = x, .y = y, .n = s->axes[axis].n};
}

static void add_parity(curves *c, rlt_study_axis axis)
{
    rlt_plot_panel *panel = &c->panels[c->n_panels];
    uint32_t n = c->s->axes[axis].n;
    double *x = c->numbers + c->used, *y = x + n;
    if (panel->n_lines == LINES)
        return;
    for (uint32_t i = 0; i < n; i++) {
        x[i] = value_at(c->s, axis, i);
        y[i] = 1;
    }
    c->used += 2 * (size_t)n;
    c->lines[c->n_panels][panel->n_lines++] =
        (rlt_plot_line){.name = "best baseline", .x = x, .y = y, .n = n, .reference = true};
}

static void add_panel(curves *c, rlt_study_axis axis, const char *x_label, bool gain)
{
    rlt_plot_panel *panel = &c->panels[c->n_panels];
    *panel = (rlt_plot_panel){.title = gain ? "gain" : "time",
                              .x_label = x_label,
                              .y_label = gain ? "best baseline / own time" : "time",
                              .x_unit = axis == RLT_AXIS_SIZE        ? RLT_PLOT_BYTES
                                        : axis == RLT_AXIS_STRAGGLER ? RLT_PLOT_SECONDS
                                                                     : RLT_PLOT_NUMBER,
                              .y_unit = gain ? RLT_PLOT_NUMBER : RLT_PLOT_SECONDS,
                              .lines = c->lines[c->n_panels]};
    for (uint32_t a = 0; a < c->s->n_algorithms; a++)
        if (!gain || c->s->algorithms[a].adds)
            add_line(c, axis, a, gain);
    if (gain)
        add_parity(c, axis);
    c->n_panels++;
}

/* What its line stands for, short: the legend has room for some twenty letters. */
static void name_occupancy(const rlt_ina_study *s, uint32_t algorithm, uint32_t loss, uint32_t late,
                           char *name)
{
    const char *of = s->algorithms[algorithm].name;
    if (loss)
        snprintf(name, NAME, "%s, loss %s", of, s->axes[RLT_AXIS_LOSS].text[loss]);
    else if (late)
        snprintf(name, NAME, "%s, +%s", of, s->axes[RLT_AXIS_STRAGGLER].text[late]);
    else
        snprintf(name, NAME, "%s", of);
}

/* Slots in use in the course of the largest reductions, with each loss and each straggler. */
static void add_occupancy(curves *c)
{
    const rlt_ina_study *s = c->s;
    rlt_plot_panel *panel = &c->panels[c->n_panels];
    rlt_ina_point p = usual_point(s);
    *panel = (rlt_plot_panel){.title = "slots in use at the fullest switch",
                              .x_label = "time",
                              .y_label = "slots",
                              .x_unit = RLT_PLOT_SECONDS,
                              .lines = c->lines[c->n_panels]};
    for (uint32_t a = 0; a < s->n_algorithms; a++)
        for (uint32_t l = 0; l < s->axes[RLT_AXIS_LOSS].n; l++)
            for (uint32_t d = 0; d < s->axes[RLT_AXIS_STRAGGLER].n; d++) {
                p.at[RLT_AXIS_LOSS] = l;
                p.at[RLT_AXIS_STRAGGLER] = d;
                const rlt_study_result *r = rlt_study_at(s, a, &p);
                if (!s->algorithms[a].adds || (l && d) || r->bins == 0 || panel->n_lines == OCCUPANCY_LINES)
                    continue;
                double *x = c->numbers + c->used, *y = x + r->bins;
                char *name = c->names[c->n_panels][panel->n_lines];
                for (uint32_t i = 0; i < r->bins; i++) {
                    x[i] = ((double)i + 0.5) * (double)r->bin_ps * 1e-12;
                    y[i] = r->occupancy[i];
                }
                c->used += 2 * (size_t)r->bins;
                name_occupancy(s, a, l, d, name);
                c->lines[c->n_panels][panel->n_lines++] =
                    (rlt_plot_line){.name = name, .x = x, .y = y, .n = r->bins};
            }
    c->n_panels += panel->n_lines > 0;
}

/* Numbers that all lines take, at most. */
static size_t room_of(const rlt_ina_study *s)
{
    size_t room = 0, bins = 0;
    for (int a = 0; a < RLT_AXES; a++)
        room += 2 * (size_t)s->axes[a].n * (s->n_algorithms + 1);
    for (uint32_t i = 0; i < s->n_results; i++)
        bins = s->results[i].bins > bins ? s->results[i].bins : bins;
    return 2 * room + 2 * bins * OCCUPANCY_LINES + 1;
}

int rlt_study_plot(const rlt_ina_study *s, rlt_error *err)
{
    curves *c = calloc(1, sizeof *c);
    char title[400];
    int rc;
    if (!c || !(c->numbers = calloc(room_of(s), sizeof *c->numbers))) {
        free(c);
        return rlt_nomem(err);
    }
    c->s = s;
    add_panel(c, RLT_AXIS_SIZE, "size", false);
    add_panel(c, RLT_AXIS_SIZE, "size", true);
    if (s->axes[RLT_AXIS_WORKERS].n > 1)
        add_panel(c, RLT_AXIS_WORKERS, "workers", true);
    if (s->axes[RLT_AXIS_TENANTS].n > 1)
        add_panel(c, RLT_AXIS_TENANTS, "tenants at once", true);
    if (s->axes[RLT_AXIS_SLOTS].n > 1)
        add_panel(c, RLT_AXIS_SLOTS, "slots", true);
    if (s->axes[RLT_AXIS_STRAGGLER].n > 2)
        add_panel(c, RLT_AXIS_STRAGGLER, "straggler", true);
    add_occupancy(c);
    rlt_setup_line(s->setup, title, sizeof title);
    rc = rlt_plot_write(s->plot, title, c->panels, c->n_panels, 2, err);
    free(c->numbers);
    free(c);
    return rc;
}
