/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A front, or the rows of an answer, as a picture. */
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "tools/output/plot.h"
#include "tools/plan/plan.h"
#include "workload/experiment/layouts/layouts.h"

/* An axis of the picture. Dollars and energy are those to the tokens. */
typedef struct axis {
    const char *word, *label;
    rlt_plot_unit unit;
} axis;
static const axis axes[] = {{"time", "time of an iteration", RLT_PLOT_SECONDS},
                            {"memory", "memory of the fullest stage", RLT_PLOT_BYTES},
                            {"accelerators", "accelerators", RLT_PLOT_NUMBER},
                            {"cost", "price", RLT_PLOT_DOLLARS},
                            {"energy", "energy, kWh", RLT_PLOT_NUMBER}};

static double value(const rlt_plan_worth *w, const axis *a, const rlt_planned *row)
{
    switch (a - axes) {
    case 0:
        return (double)row->point->time_ps / 1e12;
    case 1:
        return row->point->memory_bytes;
    case 2:
        return rlt_layouts_ranks(row->from);
    case 3:
        return rlt_plan_dollars(w, row);
    default:
        return rlt_plan_kWh(w, row);
    }
}

static const axis *find(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++)
        if (strlen(axes[i].word) == length && strncmp(axes[i].word, word, length) == 0)
            return &axes[i];
    return axes;
}

int rlt_plan_front_draw(const rlt_plan_asked *s, const rlt_planned *rows, uint32_t n, rlt_error *err)
{
    const double wide = 10;
    const char *goals = s->front ? s->front : s->accelerators ? "accelerators,time" : "time,memory";
    size_t comma = strcspn(goals, ",");
    const axis *x = find(goals, comma), *y = find(goals + comma + 1, strlen(goals + comma + 1));
    double *at = calloc(2 * (size_t)n + 2, sizeof *at);
    if (!at)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < n; i++) {
        at[i] = value(&s->worth, x, &rows[i]);
        at[n + i] = value(&s->worth, y, &rows[i]);
    }
    rlt_plot_line line = {.name = "layouts", .x = at, .y = at + n, .n = n};
    rlt_plot_panel panel = {.title = goals,
                            .x_label = x->label,
                            .y_label = y->label,
                            .x_unit = x->unit,
                            .y_unit = y->unit,
                            .lines = &line,
                            .n_lines = 1};
    double low = n ? at[0] : 0, high = low;
    for (uint32_t i = 0; i < n; i++) {
        low = at[i] < low ? at[i] : low;
        high = at[i] > high ? at[i] : high;
    }
    const rlt_plot_scales scales = {.x_linear = high < wide * low, .y_linear = true, .scattered = true};
    const char *title = s->front ? "Layouts that no other one beats in both" : "The best layouts";
    int rc = rlt_plot_write_scaled(s->plot, title, &panel, 1, 1, &scales, err);
    free(at);
    return rc;
}
