/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Line charts as SVG, in one self-contained file or text that can be read in black and white. Each line has
 * its own colour, marker and dash pattern, and is named in the legend. Panels that mean the same by the same
 * looks share one legend, below all. Axes are logarithmic and points that are not above zero are left out,
 * unless rlt_plot_scales says otherwise.
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
    RLT_PLOT_RATE,    /* labelled 1 GB/s, 10 GB/s, ... */
} rlt_plot_unit;

typedef struct rlt_plot_line {
    const char *name;
    const double *x, *y;
    uint32_t n;
    /* Drawn without markers: a bound, grey and dashed. With `look` it takes that colour; if it also has the
     * name of the line before it, both share one legend entry. */
    bool reference;
    uint32_t look; /* number of its colour, marker and dashes, from 1; 0: its place in the panel */
    bool steps;    /* y holds until the next x; the last point only ends the line, without a marker */
} rlt_plot_line;

typedef struct rlt_plot_panel {
    const char *title, *x_label, *y_label;
    rlt_plot_unit x_unit, y_unit;
    const rlt_plot_line *lines;
    uint32_t n_lines;
} rlt_plot_panel;

/* Scales of all panels; zero: the defaults. */
typedef struct rlt_plot_scales {
    bool x_linear, y_linear;
    bool x_doubles;             /* a logarithmic x is labelled 1, 2, 4, ... */
    bool same_limits;           /* all panels share their limits, so that they can be compared */
    bool scattered;             /* only markers, except for references */
    bool y_from_zero;           /* a linear y begins at 0 */
    uint32_t marks;             /* most markers on a line, offset per line; 0: one at each point */
    const char *const *x_names; /* names of 1, 2, ... on a linear x; NULL: numbers */
    uint32_t n_x_names;
    const char *legend; /* name of what differs between lines, such as "algorithm"; NULL: not said */
} rlt_plot_scales;

/* Writes the panels in rows of `columns`. RLT_EIO. */
int rlt_plot_write(const char *path, const char *title, const rlt_plot_panel *panels, uint32_t n,
                   uint32_t columns, rlt_error *err) RLT_MUST_USE;
int rlt_plot_write_scaled(const char *path, const char *title, const rlt_plot_panel *panels, uint32_t n,
                          uint32_t columns, const rlt_plot_scales *scales, rlt_error *err) RLT_MUST_USE;
/* The same as a text, to stand in a page. *svg is malloc'ed. RLT_EIO, RLT_ENOMEM. */
int rlt_plot_text(const char *title, const rlt_plot_panel *panels, uint32_t n, uint32_t columns, char **svg,
                  rlt_error *err) RLT_MUST_USE;
/* Removes a plot that was written before its report, if the report failed (rc). */
void rlt_plot_keep(const char *path, int rc);

#endif
