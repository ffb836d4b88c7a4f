/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pictures of a sweep's database, as SVG: a figure over one axis with a line for each value of another, and
 * two objectives against each other. Of points that share their place in the picture, the best is shown,
 * of replicas, among which nobody can choose, the mean.
 */
#ifndef RLT_TOOLS_SWEEP_CHART_H
#define RLT_TOOLS_SWEEP_CHART_H

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "tools/output/plot.h"
#include "tools/sweep/asked.h"

typedef struct rlt_chart_settings {
    const char *path;                /* NULL: no picture */
    const char *x, *y, *by, *panels; /* NULL: chosen */
    const char *where;               /* not an option here */
} rlt_chart_settings;
extern const rlt_option rlt_chart_options[]; /* of lines */
extern const rlt_option rlt_front_options[]; /* of a front: --plot and --by */

/* RLT_EUSAGE: no such axis or column, or more values than can be told apart; RLT_ESCHEMA: nothing to show. */
int rlt_chart_lines(rlt_asked *a, const rlt_chart_settings *s, rlt_error *err) RLT_MUST_USE;
/* The second objective on x, the first on y; the front as n points of it, in order. */
int rlt_chart_front(rlt_asked *a, const rlt_chart_settings *s, const double *x, const double *y, uint32_t n,
                    rlt_error *err) RLT_MUST_USE;

/* Internal to tools/sweep/chart*.c: an axis as a picture has it. */
typedef struct rlt_chart_axis {
    uint32_t number; /* RLT_NONE: none */
    const char **names;
    double *values; /* NULL: not numbers, or such that neither scale fits */
    uint32_t n;
    rlt_plot_unit unit;
    bool logarithmic, doubles; /* doubles: all powers of two */
} rlt_chart_axis;
int rlt__chart_axis(rlt_asked *a, uint32_t number, rlt_chart_axis *out, rlt_error *err) RLT_MUST_USE;
/* RLT_NONE: with the nearest name. */
uint32_t rlt__chart_find(const rlt_asked *a, const char *name, const char *option, rlt_error *err);
/* "time", "memory", "busbw, GB/s"; the unit, and what a value is to be multiplied with. */
const char *rlt__chart_label(rlt_asked *a, const char *column, rlt_plot_unit *unit, double *factor);
/* Whether a linear scale shows them better: not above zero, or within a factor of eight. */
bool rlt__chart_linear(const double *values, size_t n);

#endif
