/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Line charts as SVG, in one self-contained file that reads in black and white too: each line has a colour, a
 * marker and a dash pattern of its own, and is named in the legend. Axes are logarithmic, and points that are
 * not above zero left out, unless told otherwise.
 */
#ifndef RLT_TOOLS_OUTPUT_PLOT_H
#define RLT_TOOLS_OUTPUT_PLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"

typedef enum rlt_plot_unit {
    RLT_PLOT_NUMBER,
    RLT_PLOT_BYTES,   /* labelled 1 KiB, 4 KiB, ... */
    RLT_PLOT_SECONDS, /* labelled 1 us, 10 us, ... */
    RLT_PLOT_DOLLARS, /* labelled $500 k, $1 M, ... */
    RLT_PLOT_COUNT,   /* a few whole numbers, each labelled */
    RLT_PLOT_RATE,    /* bytes a second: 1 GB/s, 10 GB/s, ... */
} rlt_plot_unit;

typedef struct rlt_plot_line {
    const char *name;
    const double *x, *y;
    uint32_t n;
    /* Without markers: a bound, grey and dashed; with a look, in its colour, and where it has the name of the
     * line before it, in one place of the legend with that. */
    bool reference;
    uint32_t look; /* number of its colour, marker and dashes, from 1; 0: by its place in the panel */
} rlt_plot_line;

typedef struct rlt_plot_panel {
    const char *title, *x_label, *y_label;
    rlt_plot_unit x_unit, y_unit;
    const rlt_plot_line *lines;
    uint32_t n_lines;
} rlt_plot_panel;

/* How all panels are drawn, where not as usual. */
typedef struct rlt_plot_scales {
    bool x_linear, y_linear;
    bool x_doubles;             /* a logarithmic x is labelled 1, 2, 4, ... */
    bool same_limits;           /* for all panels, so that they compare */
    bool scattered;             /* markers alone, but for references */
    bool y_from_zero;           /* a linear y begins at 0 */
    uint32_t marks;             /* markers of a line at most, in other places than its neighbours'; 0: all */
    const char *const *x_names; /* what 1, 2, ... on a linear x stand for; NULL: numbers */
    uint32_t n_x_names;
} rlt_plot_scales;

/* Panels in rows of `columns`. RLT_EIO. */
int rlt_plot_write(const char *path, const char *title, const rlt_plot_panel *panels, uint32_t n,
                   uint32_t columns, rlt_error *err) RLT_MUST_USE;
int rlt_plot_write_scaled(const char *path, const char *title, const rlt_plot_panel *panels, uint32_t n,
                          uint32_t columns, const rlt_plot_scales *scales, rlt_error *err) RLT_MUST_USE;
/* For a plot that is written before its report: removes it where the report failed. */
void rlt_plot_keep(const char *path, int rc);

#endif
