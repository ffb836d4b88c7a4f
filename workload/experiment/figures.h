/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The outcome of an experiment: its exit status, figures by column, and links. */
#ifndef RLT_WORKLOAD_EXPERIMENT_FIGURES_H
#define RLT_WORKLOAD_EXPERIMENT_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "net/links.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/time.h"

typedef enum rlt_figure {
    RLT_FIG_TIME,
    RLT_FIG_ITERATION, /* mean of all iterations, rounded down */
    RLT_FIG_COMPUTE,   /* this and the next three: of the rank that ends last */
    RLT_FIG_COMM,
    RLT_FIG_HOST,
    RLT_FIG_IDLE,
    RLT_FIG_EVENTS,
    RLT_FIG_MESSAGES,
    RLT_FIG_BYTES, /* offered to the network, without protocol overhead */
    RLT_FIG_BUSIEST_LINK,
    RLT_FIG_BUSIEST,
    RLT_FIG_MEMORY, /* fullest stage of a training */
    RLT_FIG_MFU,
    RLT_FIG_TOKENS,
    RLT_FIG_BUSBW,
    RLT_FIG_BOUND,
    /* number of columns of a study that names none; the ones from here on are shown on request */
    RLT_FIG_USUAL,
    RLT_FIG_RETRANSMISSIONS = RLT_FIG_USUAL,
    RLT_FIG_FALLBACK, /* share of contributions that reached a server without being aggregated */
    RLT_FIG_PEAK,     /* slots in use at the fullest switch: most, and average */
    RLT_FIG_MEAN,
    RLT_FIG_SERVER_BYTES,
    RLT_FIG_COLLIDED, /* share of the packets at switches whose slot another job held */
    RLT_FIG_FAIRNESS, /* Jain's index of the tenants' rates */
    /* causes of the time of the rank that ends last */
    RLT_FIG_BUBBLE,
    RLT_FIG_SKEW,
    RLT_FIG_WAIT,
    RLT_FIG_EXPOSED_TP,
    RLT_FIG_EXPOSED_CP,
    RLT_FIG_EXPOSED_EP,
    RLT_FIG_EXPOSED_DP,
    RLT_FIG_EXPOSED_PP,
    RLT_FIG_EXPOSED_OFFLOAD,
    RLT_FIG_EXPOSED_OTHER,
    RLT_FIG_ENDED,
    /* columns before this one are stored in the database, later ones are derived from them */
    RLT_FIG_STORED,
    RLT_FIG_GAIN = RLT_FIG_STORED, /* objective of the best baseline over that of this point (study.h) */
    RLT_FIGURES
} rlt_figure;

typedef enum rlt_figure_kind { RLT_FIG_INTEGER, RLT_FIG_REAL, RLT_FIG_TEXT } rlt_figure_kind;

typedef struct rlt_figure_info {
    const char *name; /* name of the column */
    rlt_figure_kind kind;
    const char *meaning; /* for people */
} rlt_figure_info;
extern const rlt_figure_info rlt_figure_infos[RLT_FIGURES];
const char *rlt_figure_type(const rlt_figure_info *f); /* as SQL has it: "INTEGER" */
/* Writes "BEFOREtime_psAFTER, BEFOREiteration_time_psAFTER, ..." for the stored figures; if `typed`, each is
 * followed by INTEGER, REAL or TEXT. Returns the buffer. */
enum { RLT_FIGURE_LIST = 1600 };
char *rlt_figure_list(const char *before, bool typed, char buffer[RLT_FIGURE_LIST]);

/* Returns how a table shows a figure: times and sizes with a unit that fits, shares in per cent, rates with
 * four digits. RLT_FIGURES: a text. The caller sets names. */
rlt_column rlt_figure_column(rlt_figure f);
/* Returns the value of a number in such a column; the column must not hold texts. */
rlt_value rlt_figure_value(const rlt_column *c, bool is_real, int64_t integer, double real);

typedef struct rlt_link_figures {
    char id[168];
    uint32_t dim, count;
    uint64_t bytes;
    int64_t busy_ps, active_ps;
    double utilization;
} rlt_link_figures;

/* Links of an outcome: none, classes of identical links, or all. */
typedef enum rlt_figure_links {
    RLT_FIGURE_LINKS_NONE,
    RLT_FIGURE_LINKS_SUMMARY,
    RLT_FIGURE_LINKS_ALL,
} rlt_figure_links;

/* Plain data except the links, which are malloc'ed; rlt_outcome_free frees them. */
typedef struct rlt_outcome {
    int32_t status; /* exit status that `ringlet run` or `coll` would have had */
    uint32_t n_links;
    bool there[RLT_FIGURES];
    bool assumed, measured; /* the time of a training rests on nothing measured; on measured runs */
    char stack[32];         /* chosen for a training; "": none, or named by the user */
    int64_t integer[RLT_FIGURES];
    double real[RLT_FIGURES];
    char busiest[160];
    char error[700];
    rlt_link_figures *links;
} rlt_outcome;

void rlt_outcome_integer(rlt_outcome *o, rlt_figure f, int64_t value);
void rlt_outcome_real(rlt_outcome *o, rlt_figure f, double value);
/* Fills the row of a failure, with the exit status that a run of its own would have had. */
void rlt_outcome_fail(rlt_outcome *o, int32_t status, const rlt_error *err);
/* Fills in the busiest link, and the links asked for. */
int rlt_link_figures_of(const rlt_topology *t, const rlt_usage *u, rlt_time time_ps, rlt_figure_links links,
                        rlt_outcome *o, rlt_error *err) RLT_MUST_USE;
void rlt_outcome_free(rlt_outcome *o);
/* Returns the number of a column, or RLT_FIGURES with the nearest name in the error. */
rlt_figure rlt_figure_find(const char *name, rlt_error *err);

#endif
