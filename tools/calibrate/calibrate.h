/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The parts of `ringlet calibrate`: machines whose constants may change, the measurements that they are
 * compared with, the errors, and the fit.
 *
 * A constant is a value in the text of the topology file, named by its path; a fit edits that text and reads
 * it again, so that what is tried is what will be written, and any number of the file can be fitted. Names
 * are looked up in "endpoint" first: "launch", "protocols.LL.message"; then from the top: "dims.1.bandwidth".
 *
 * The file's "_calibration" (or "calibration") says which measured systems it stands for and what ties it to
 * other files: {"systems": ["8x H100-SXM NVSwitch"], "family": "nvswitch", "node": 8}. "node": accelerators
 * of a machine (default: the first dimension's size), for measurements that are spread over several.
 */
#ifndef RLT_TOOLS_CALIBRATE_CALIBRATE_H
#define RLT_TOOLS_CALIBRATE_CALIBRATE_H

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "tools/base/pool.h"
#include "tools/base/progress.h"
#include "tools/calibrate/measure.h"
#include "tools/output/output.h"
#include "tools/output/report_options.h"
#include "workload/setup/settings.h"

enum { RLT_MAX_CONSTANTS = 32, RLT_MAX_MACHINES = 256, RLT_MAX_GROUPS = 64 };

typedef struct rlt_machine_group {
    uint32_t ranks, nodes;
    rlt_group group;
} rlt_machine_group;

typedef struct rlt_machine {
    const rlt_settings *how; /* borrowed */
    char *path, *text;       /* the file, and its text with the constants at hand */
    size_t length;
    rlt_setup setup; /* of this text */
    char *family;    /* NULL: none */
    char **systems;
    uint32_t n_systems, node;
    const char *key; /* "calibration" or "_calibration" */
    rlt_machine_group groups[RLT_MAX_GROUPS];
    uint32_t n_groups;
} rlt_machine;

/* Reads the text and its "calibration"; `spec` is a file or a name. Nothing is built yet: rlt_machine_rebuild
 * does that, with how->network, routing and set. */
int rlt_machine_open(rlt_machine *m, const rlt_settings *how, const char *spec, rlt_error *err) RLT_MUST_USE;
void rlt_machine_free(rlt_machine *m);
bool rlt_machine_claims(const rlt_machine *m, const char *system);
/* Builds what the text says, at first and after edits, with the groups asked for so far. */
int rlt_machine_rebuild(rlt_machine *m, rlt_error *err) RLT_MUST_USE;
/* The group of that many ranks, spread evenly over nodes; RLT_NONE in *index when there is no room. */
int rlt_machine_group_of(rlt_machine *m, uint32_t ranks, uint32_t nodes, uint32_t *index,
                         rlt_error *err) RLT_MUST_USE;

/* A constant, the same in all machines that have it. Values are in the base of their unit: ps, bytes, bytes a
 * second, or none. */
typedef struct rlt_constant {
    char name[64];
    char unit[12]; /* where a machine has no value yet; "": a bare number */
    double before, value, low, high;
    bool whole;  /* a whole number */
    bool absent; /* in some machine: it is put into the endpoint */
} rlt_constant;
/* As a file writes it, to `digits` digits. */
void rlt_constant_text(const rlt_constant *c, double value, const char *unit, int digits, char *buffer,
                       size_t size);
/* The constants that `list` names, "launch,protocols.LL.message=1us", or, with NULL, all
 * durations, rates and fractions of the endpoint but zeros, its clock, and what its tuner believes
 * ("tuner_..."). They begin with the geometric means over the machines. */
int rlt_constants_find(rlt_machine *machines, uint32_t n, const char *list, rlt_constant *out,
                       uint32_t *n_out, rlt_error *err) RLT_MUST_USE;
/* Writes the values into the machine's text and rebuilds it. */
int rlt_constants_apply(rlt_machine *m, const rlt_constant *c, uint32_t n, int digits,
                        rlt_error *err) RLT_MUST_USE;

/* Measurements beside simulations. Equal requests are simulated once. */
typedef struct rlt_trial_case {
    uint32_t machine, group, element;
    rlt_coll_kind kind;
    uint64_t bytes;
    uint32_t row;     /* one that asks for it, for messages */
    bool wanted;      /* by the run at hand */
    rlt_time time_ps; /* 0: not yet simulated */
} rlt_trial_case;
typedef struct rlt_trial_row {
    const rlt_measurement *m;
    uint32_t machine, group, at; /* at: the case */
    bool held_out;
} rlt_trial_row;
typedef struct rlt_trial {
    rlt_machine *machines;
    uint32_t n_machines;
    const rlt_algorithm *algorithms[RLT_COLL_KINDS]; /* NULL: chosen */
    uint32_t threads;
    rlt_trial_row *rows;
    uint32_t n_rows, row_capacity;
    rlt_trial_case *cases;
    uint32_t n_cases;
    uint32_t *todo;    /* the cases of the run at hand */
    uint32_t left_out; /* rows without room on their machines */
    rlt_progress *progress;
} rlt_trial;

/* Enters a measurement for a machine. *entered is false where it cannot be simulated there: more ranks or
 * nodes than there are, or a send_recv of other than two ranks. */
int rlt_trial_add(rlt_trial *t, const rlt_measurement *m, uint32_t machine, bool *entered,
                  rlt_error *err) RLT_MUST_USE;
/* Shares equal cases, after the last row was entered. */
int rlt_trial_freeze(rlt_trial *t, rlt_error *err) RLT_MUST_USE;
/* Simulates the cases of the rows that are held out, of the others, or of both, with the machines as they
 * are. RLT_ECANCELLED. */
enum { RLT_FITTED = 1, RLT_HELD_OUT = 2 };
int rlt_trial_run(rlt_trial *t, int which, rlt_error *err) RLT_MUST_USE;
void rlt_trial_free(rlt_trial *t);

/* Mean of |log(simulated / measured)| over the rows that are not held out: halves and doubles weigh the same,
 * and an outlier counts once, not squared. */
double rlt_trial_misfit(const rlt_trial *t);

/* What a set of errors |simulated / measured - 1| looks like. Percentile p: the least error that at least p %
 * of the rows do not exceed. */
typedef struct rlt_errors {
    uint32_t rows;
    double median, p90, worst;
    double ratio; /* the median of simulated / measured: which way it errs */
} rlt_errors;
/* Errors from the ratios simulated / measured; reorders them. */
rlt_errors rlt_errors_of(double *ratios, uint32_t n);

/* One line of the table. */
enum { RLT_SMALL_BELOW = 1 << 20 };
typedef struct rlt_errors_row {
    const char *system;
    int kind;     /* RLT_COLL_KINDS: all together */
    int small;    /* 1: below RLT_SMALL_BELOW, 0: from there on, -1: both */
    int held_out; /* 0, 1, or -1: both */
    rlt_errors errors;
} rlt_errors_row;
/* By system, collective and size in the order of the rows; then, where there are several, all of the system.
 * *out is malloc'ed. `split`: the held-out rows apart. Only rows with a simulated time. */
int rlt_errors_table(const rlt_trial *t, bool split, rlt_errors_row **out, uint32_t *n,
                     rlt_error *err) RLT_MUST_USE;

/* Least f(x) for low <= x <= high from *x on, by at most `evaluations`; f returns infinity where it cannot
 * be told, and sets *stop to end early. x is the best found. Without NLopt: RLT_EUSAGE. */
typedef struct rlt_fit {
    uint32_t n;
    double x[RLT_MAX_CONSTANTS], low[RLT_MAX_CONSTANTS], high[RLT_MAX_CONSTANTS], step;
    uint32_t evaluations;
    bool smooth; /* but for a kink here and there; at least two variables */
    double (*f)(void *ctx, const double *x, bool *stop);
    void *ctx;
    double least; /* found */
} rlt_fit;
int rlt_fit_run(rlt_fit *fit, rlt_error *err) RLT_MUST_USE;
bool rlt_fit_available(void);
/* NLopt's version, or "none". */
const char *rlt_fit_version(char *buffer, size_t size);

/* A trial fitted: the constants that leave the least misfit over the rows that are not held out. */
typedef struct rlt_calibration {
    rlt_trial *trial;
    rlt_constant constants[RLT_MAX_CONSTANTS];
    uint32_t n_constants;
    uint32_t evaluations, tried; /* at most, and done */
    double misfit_before, misfit;
    rlt_errors_row *before, *after; /* malloc'ed */
    uint32_t n_before, n_after;
    bool partial; /* interrupted: the best so far; `after` then lacks what was not simulated */
    rlt_progress *progress;
} rlt_calibration;
/* The constants are found already. 0 also when interrupted. Leaves the machines with the new constants. */
int rlt_calibrate(rlt_calibration *c, rlt_error *err) RLT_MUST_USE;
void rlt_calibration_free(rlt_calibration *c);
/* The machine's text with the record of the fit in its calibration, to a file. */
int rlt_calibration_write(const rlt_calibration *c, rlt_machine *m, const char *source, const char *path,
                          rlt_error *err) RLT_MUST_USE;

/* What the reports say: tables and JSON of constants, errors and single rows. */
typedef struct rlt_calib_report {
    rlt_format format;
    FILE *out;    /* for table and CSV */
    rlt_jw *json; /* for JSON: inside the open top object */
} rlt_calib_report;
int rlt_report_constants(const rlt_calib_report *r, const rlt_constant *c, uint32_t n,
                         rlt_error *err) RLT_MUST_USE;
/* `before` may be NULL; its rows are found by system, collective, size and set. */
int rlt_report_errors(const rlt_calib_report *r, const rlt_errors_row *rows, uint32_t n,
                      const rlt_errors_row *before, uint32_t n_before, rlt_error *err) RLT_MUST_USE;
int rlt_report_rows(const rlt_calib_report *r, const rlt_trial *t, rlt_error *err) RLT_MUST_USE;
/* Time over size, a panel for each system and collective, a colour for each number of ranks: SVG. A note says
 * which are drawn where there are more than 12. */
int rlt_calib_plot(const char *path, const rlt_trial *t, rlt_error *err) RLT_MUST_USE;

#endif
