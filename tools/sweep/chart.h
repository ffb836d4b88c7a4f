/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Plots of a sweep's database as SVG: a figure over one axis with a line for each value of another, and two
 * objectives against each other. Of points at the same place in the plot the best is shown; of replicas,
 * which cannot be chosen, the mean.
 */
#ifndef RLT_TOOLS_SWEEP_CHART_H
#define RLT_TOOLS_SWEEP_CHART_H

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "tools/output/plot.h"
#include "tools/sweep/asked.h"

typedef struct rlt_chart_settings {
    const char *path;                /* NULL: no plot */
    const char *x, *y, *by, *panels; /* axes; NULL: chosen automatically */
    const char *where;               /* filter; not an option here */
} rlt_chart_settings;
extern const rlt_option rlt_chart_options[]; /* for lines */
extern const rlt_option rlt_front_options[]; /* for a front: --plot and --by */

/* Plots lines. RLT_EUSAGE: no such axis or column, or too many values for one plot; RLT_ESCHEMA: no data. */
int rlt_chart_lines(rlt_asked *a, const rlt_chart_settings *s, rlt_error *err) RLT_MUST_USE;
/* Plots a front. x: second objective, y: first; n points in order. */
int rlt_chart_front(rlt_asked *a, const rlt_chart_settings *s, const double *x, const double *y, uint32_t n,
                    rlt_error *err) RLT_MUST_USE;

/* Internal to tools/sweep/chart*.c: an axis as it is plotted. */
typedef struct rlt_chart_axis {
    uint32_t number; /* RLT_NONE: none */
    const char **names;
    double *values; /* NULL: not numbers, or no scale suits them */
    uint32_t n;
    rlt_plot_unit unit;
    bool logarithmic, doubles; /* doubles: all are powers of two */
} rlt_chart_axis;
int rlt__chart_axis(rlt_asked *a, uint32_t number, rlt_chart_axis *out, rlt_error *err) RLT_MUST_USE;
/* Returns the axis with this name; RLT_NONE with an error that names the nearest. */
uint32_t rlt__chart_find(const rlt_asked *a, const char *name, const char *option, rlt_error *err);
/* Returns the label of a column, such as "time", "memory" or "busbw, GB/s"; sets its unit and the factor for
 * values. */
const char *rlt__chart_label(rlt_asked *a, const char *column, rlt_plot_unit *unit, double *factor);
/* Returns true if a linear scale is better: a value is not above zero, or all are within a factor of
 * eight. */
bool rlt__chart_linear(const double *values, size_t n);

#endif
