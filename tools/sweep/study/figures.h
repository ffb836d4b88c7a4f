/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What one point of a sweep yields: its exit status, figures by column, and links. */
#ifndef RLT_TOOLS_SWEEP_STUDY_FIGURES_H
#define RLT_TOOLS_SWEEP_STUDY_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "tools/output/output.h"

typedef enum rlt_figure {
    RLT_FIG_TIME,
    RLT_FIG_ITERATION, /* the mean of all iterations, rounded down */
    RLT_FIG_COMPUTE,   /* this and the next three: of the rank that ends last */
    RLT_FIG_COMM,
    RLT_FIG_HOST,
    RLT_FIG_IDLE,
    RLT_FIG_EVENTS,
    RLT_FIG_MESSAGES,
    RLT_FIG_BYTES, /* offered to the network, without protocol overhead */
    RLT_FIG_BUSIEST_LINK,
    RLT_FIG_BUSIEST,
    RLT_FIG_MEMORY, /* of the fullest stage of a training */
    RLT_FIG_MFU,
    RLT_FIG_TOKENS,
    RLT_FIG_BUSBW,
    RLT_FIG_BOUND,
    RLT_FIGURES
} rlt_figure;

typedef enum rlt_figure_kind { RLT_FIG_INTEGER, RLT_FIG_REAL, RLT_FIG_TEXT } rlt_figure_kind;

typedef struct rlt_figure_info {
    const char *name; /* of the column */
    rlt_figure_kind kind;
} rlt_figure_info;
extern const rlt_figure_info rlt_figure_infos[RLT_FIGURES];

/* How a table shows it: times and sizes with a unit that fits, shares in per cent, rates with four digits.
 * RLT_FIGURES: a text. The names are left to the caller. */
rlt_column rlt_figure_column(rlt_figure f);
/* A number for such a column, which is not one of texts. */
rlt_value rlt_figure_value(const rlt_column *c, bool is_real, int64_t integer, double real);

typedef struct rlt_link_figures {
    char id[168];
    uint32_t dim, count;
    uint64_t bytes;
    int64_t busy_ps, active_ps;
    double utilization;
} rlt_link_figures;

/* Plain data but for the links, which are malloc'ed: rlt_outcome_free. */
typedef struct rlt_outcome {
    int32_t status; /* exit status that a run of its own would have had */
    uint32_t n_links;
    bool there[RLT_FIGURES];
    int64_t integer[RLT_FIGURES];
    double real[RLT_FIGURES];
    char busiest[160];
    char error[700];
    rlt_link_figures *links;
} rlt_outcome;

void rlt_outcome_integer(rlt_outcome *o, rlt_figure f, int64_t value);
void rlt_outcome_real(rlt_outcome *o, rlt_figure f, double value);
/* The row of a point that failed. */
void rlt_outcome_fail(rlt_outcome *o, int code, const rlt_error *err);
void rlt_outcome_free(rlt_outcome *o);
/* Number of a column, or RLT_FIGURES with the nearest one in the error. */
rlt_figure rlt_figure_find(const char *name, rlt_error *err);

#endif
