/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The parts of `ringlet calibrate`: machines whose constants may change, the measurements to compare with,
 * the errors, and the fit.
 *
 * A constant is a value in the text of the topology file, named by its path. A fit edits that text and reads
 * it again. So the values that are tried are those that will be written, and any number of the file can be
 * fitted. Names are looked up in "endpoint" first: "launch", "protocols.LL.message"; then from the top:
 * "dims.1.bandwidth".
 *
 * The file's "_calibration" (or "calibration") names the measured systems that the file stands for, and what
 * ties it to other files: {"systems": ["8x H100-SXM NVSwitch"], "family": "nvswitch", "node": 8}. "node" is
 * the number of accelerators of a machine, for measurements over several machines (default: the size of the
 * first dimension). For --leave-one-out it may say how machines of a family differ by their data sheets:
 * "scales": {"copy": "dims.0.bandwidth/thread_blocks"} (the constant is a shared number times that product),
 * and "harness": "launch", the constant that belongs to the measuring program on each machine.
 */
#ifndef RLT_TOOLS_CALIBRATE_CALIBRATE_H
#define RLT_TOOLS_CALIBRATE_CALIBRATE_H

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "tools/base/pool.h"
#include "tools/base/progress.h"
#include "tools/calibrate/measure/measure.h"
#include "tools/output/output.h"
#include "tools/output/report_options.h"
#include "workload/setup/settings.h"

enum { RLT_MAX_CONSTANTS = 64, RLT_MAX_MACHINES = 256, RLT_MAX_GROUPS = 64, RLT_MAX_SCALES = 32 };

typedef struct rlt_machine_group {
    uint32_t ranks, nodes;
    rlt_group group;
} rlt_machine_group;

typedef struct rlt_machine {
    const rlt_settings *how; /* borrowed */
    char *path, *text;       /* the file, and its text with the current constants */
    size_t length;
    rlt_setup setup; /* built from `text` */
    char *family;    /* NULL: none */
    char *site;      /* NULL: none */
    char **systems;
    uint32_t n_systems, node;
    const char *key; /* "calibration" or "_calibration" */
    rlt_machine_group groups[RLT_MAX_GROUPS];
    uint32_t n_groups;
    /* Set by rlt_machines_relate. */
    struct rlt_machine_scale {
        char name[64];
        double factor;
    } scales[RLT_MAX_SCALES];
    uint32_t n_scales;
    char harness[64];                       /* "": none */
    const rlt_algorithm *const *algorithms; /* its own, by kind; NULL: the trial's */
} rlt_machine;

/* Reads the text and its "calibration"; `spec` is a file or a name. Builds nothing: rlt_machine_rebuild does
 * that, with how->network, routing and set. */
int rlt_machine_open(rlt_machine *m, const rlt_settings *how, const char *spec, rlt_error *err) RLT_MUST_USE;
void rlt_machine_free(rlt_machine *m);
bool rlt_machine_claims(const rlt_machine *m, const char *system);
/* Builds the machine from its text, at first and after edits, with all groups requested so far. */
int rlt_machine_rebuild(rlt_machine *m, rlt_error *err) RLT_MUST_USE;
/* Finds or makes the group of `ranks` ranks, spread evenly over `nodes` nodes. *index is RLT_NONE if they do
 * not fit. */
int rlt_machine_group_of(rlt_machine *m, uint32_t ranks, uint32_t nodes, uint32_t *index,
                         rlt_error *err) RLT_MUST_USE;

/* Reads "scales" and "harness" of a family's machines. Factors are relative to their geometric mean. With
 * `shared`, the harness's constant counts as shared. RLT_ESCHEMA if machines contradict each other. */
int rlt_machines_relate(rlt_machine *machines, uint32_t n, bool shared, rlt_error *err) RLT_MUST_USE;
/* Returns the factor of a constant on this machine; 1 without a relation. */
double rlt_machine_scale(const rlt_machine *m, const char *name);
/* Reads a number of the file by its path, in the endpoint first. Returns false if there is none above 0. */
bool rlt_machine_number(const rlt_machine *m, rlt_json root, const char *name, double *value);

/* Why a constant is not fitted. */
typedef enum rlt_frozen {
    RLT_FREE,
    RLT_UNTOUCHED,  /* no fitted row depends on it */
    RLT_DEGENERATE, /* its effect on all fitted rows is a combination of other constants' effects */
    RLT_SET,        /* solved from one row, which does not count as a prediction */
} rlt_frozen;

/* A constant, with the same value in all machines that have it, apart from their scales. Values are in base
 * units: ps, bytes, bytes a second, or plain numbers. */
typedef struct rlt_constant {
    char name[64];
    char unit[12]; /* for machines that have no value yet; "": a plain number */
    double before, value, low, high;
    bool whole;     /* it is an integer */
    bool absent;    /* some machine lacks it: a fit adds it to the endpoint */
    const char *of; /* path of the only machine that it is for; NULL: all */
    rlt_frozen frozen;
    char with[64]; /* constant most like a degenerate one */
    /* The fitted rows whose time it changes by more than 0.1 %: number, kinds (bits), smallest, largest. */
    uint32_t rows, kinds;
    uint64_t least, most;
    bool bounded; /* the rows bound its value, by this interval of 95 % */
    double from, to;
} rlt_constant;
/* Formats the constant as in a file, with `digits` significant digits. */
void rlt_constant_text(const rlt_constant *c, double value, const char *unit, int digits, char *buffer,
                       size_t size);
/* Finds the constants that `list` names, such as "launch,protocols.LL.message=1us". With NULL: all durations,
 * rates and fractions of the endpoint except zeros, its clock, and the tuner's estimates ("tuner_...").
 * Initial values are the geometric means over the machines. */
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
    uint32_t row;     /* first row with this request, for messages */
    bool wanted;      /* needed by the current run */
    bool settled;     /* keeps the time that it has */
    rlt_time time_ps; /* 0: not simulated yet */
} rlt_trial_case;
typedef struct rlt_trial_row {
    const rlt_measurement *m;
    const char *group;           /* its line of the table of errors: the system, unless others were set */
    double interpolated;         /* interpolated / measured; 0: none */
    uint32_t machine, ranks, at; /* indices of the machine, its group of ranks, the case */
    bool held_out;
} rlt_trial_row;
typedef struct rlt_trial {
    rlt_machine *machines;
    uint32_t n_machines;
    const rlt_algorithm *algorithms[RLT_COLL_KINDS]; /* per kind; NULL: the simulation chooses */
    uint32_t threads;
    rlt_trial_row *rows;
    uint32_t n_rows, row_capacity;
    rlt_trial_case *cases;
    uint32_t n_cases;
    uint32_t *todo;    /* cases of the current run */
    uint32_t left_out; /* rows that do not fit on their machines */
    rlt_progress *progress;
} rlt_trial;

/* Adds a measurement for a machine. *entered is false if the machine cannot simulate it: too many ranks or
 * nodes, or a send_recv of more than two ranks. */
int rlt_trial_add(rlt_trial *t, const rlt_measurement *m, uint32_t machine, bool *entered,
                  rlt_error *err) RLT_MUST_USE;
/* Merges equal cases. Call after the last row was added. */
int rlt_trial_freeze(rlt_trial *t, rlt_error *err) RLT_MUST_USE;
/* Simulates the cases of the fitted rows, the held-out rows, or both, on the current machines.
 * RLT_ECANCELLED. */
enum { RLT_FITTED = 1, RLT_HELD_OUT = 2 };
int rlt_trial_run(rlt_trial *t, int which, rlt_error *err) RLT_MUST_USE;
void rlt_trial_free(rlt_trial *t);

/* Returns the mean of |log(simulated / measured)| over the rows that are not held out. Half and double weigh
 * the same. An outlier counts once, not squared. */
double rlt_trial_misfit(const rlt_trial *t);

/* Statistics of the errors |simulated / measured - 1|. Percentile p is the smallest error that at least p %
 * of the rows do not exceed. */
typedef struct rlt_errors {
    uint32_t rows;
    double median, p90, worst;
    double ratio; /* median of simulated / measured: above 1 is too slow */
} rlt_errors;
/* Computes errors from the ratios simulated / measured. Reorders them. */
rlt_errors rlt_errors_of(double *ratios, uint32_t n);

/* One line of the table. */
enum { RLT_SMALL_BELOW = 1 << 20 };
typedef struct rlt_errors_row {
    const char *system;
    int kind;     /* RLT_COLL_KINDS: all kinds together */
    int small;    /* 1: below RLT_SMALL_BELOW bytes, 0: not below, -1: both */
    int held_out; /* 0, 1, or -1: both */
    rlt_errors errors;
} rlt_errors_row;
typedef struct rlt_errors_list {
    rlt_errors_row *rows; /* malloc'ed */
    uint32_t n;
} rlt_errors_list;
/* Lists errors by group, collective and size class, with groups in the order of their names. A group with
 * several collectives also gets rows for all of them together. With `split` held-out rows have their own
 * lines. With `interpolated`, the errors are those of the interpolated times. Rows without a time are
 * ignored. */
int rlt_errors_table(const rlt_trial *t, bool split, bool interpolated, rlt_errors_list *out,
                     rlt_error *err) RLT_MUST_USE;
/* Returns the median error of the rows from RLT_SMALL_BELOW bytes on that were fitted; 0 if there are
 * none. */
double rlt_trial_large_error(const rlt_trial *t);
/* Interpolates the time of each held-out row between the fitted rows of its series (same system, collective,
 * ranks, nodes, type and buffers), linearly in the logarithms of size and time. */
void rlt_trial_interpolate(rlt_trial *t);
/* The same for the residuals log(measured / simulated) of the fitted rows, put on top of the simulated times
 * of the held-out rows. Beyond the last fitted size its residual holds. */
void rlt_trial_correct(rlt_trial *t);

/* Minimises f(x) within low <= x <= high, from *x on, with at most `evaluations` calls. f returns infinity
 * where it is undefined, and sets *stop to end early. x becomes the best point found. RLT_EUSAGE without
 * NLopt. */
typedef struct rlt_fit {
    uint32_t n;
    double x[RLT_MAX_CONSTANTS], low[RLT_MAX_CONSTANTS], high[RLT_MAX_CONSTANTS], step;
    uint32_t evaluations;
    bool smooth; /* f is smooth apart from a few kinks; needs n >= 2 */
    double (*f)(void *ctx, const double *x, bool *stop);
    void *ctx;
    double least; /* smallest value found */
} rlt_fit;
int rlt_fit_run(rlt_fit *fit, rlt_error *err) RLT_MUST_USE;
bool rlt_fit_available(void);
/* Formats NLopt's version, or "none". */
const char *rlt_fit_version(char *buffer, size_t size);

/* A fit of a trial: the constants with the least misfit over the rows that are not held out. */
typedef struct rlt_calibration {
    rlt_trial *trial;
    rlt_constant constants[RLT_MAX_CONSTANTS];
    uint32_t n_constants;
    uint32_t evaluations, tried; /* most evaluations, and those made */
    double misfit_before, misfit;
    rlt_errors_list before, after;
    bool partial; /* interrupted: best so far; `after` lacks what was not simulated */
    rlt_progress *progress;
} rlt_calibration;
/* Fits constants that rlt_constants_find has found. Returns 0 also if interrupted. The machines keep the new
 * constants. */
int rlt_calibrate(rlt_calibration *c, rlt_error *err) RLT_MUST_USE;
/* Searches for the free constants with the least misfit, from their values on. */
int rlt_calibration_seek(rlt_calibration *c, rlt_error *err) RLT_MUST_USE;
/* Writes the constants into the machines with `digits` significant digits. A frozen constant of a single
 * machine stays as it is in the file. */
enum { RLT_SEARCH_DIGITS = 6 };
int rlt_calibration_apply(rlt_calibration *c, int digits, rlt_error *err) RLT_MUST_USE;
/* Freezes the constants that the fitted rows do not determine, at their present values. */
int rlt_constants_freeze(rlt_calibration *c, rlt_error *err) RLT_MUST_USE;
/* Computes intervals of the fitted constants and the rows that determine them. */
int rlt_constants_bound(rlt_calibration *c, rlt_error *err) RLT_MUST_USE;
/* Finds the constant that is not free and would lower the median error of large fitted rows most. */
typedef struct rlt_advice {
    double now, reach; /* that error, and what a fit with the constant leaves */
    char name[64];     /* "": none lowers it by a tenth */
} rlt_advice;
int rlt_calibration_advise(const rlt_calibration *c, rlt_advice *out, rlt_error *err) RLT_MUST_USE;
void rlt_calibration_free(rlt_calibration *c);
/* Writes the machine's text, with the record of the fit in its calibration, to a file. */
int rlt_calibration_write(const rlt_calibration *c, rlt_machine *m, const char *source, const char *path,
                          rlt_error *err) RLT_MUST_USE;

/* Contents of the reports: tables and JSON of constants, errors and single rows. */
typedef struct rlt_calib_report {
    rlt_format format;
    FILE *out;    /* for table and CSV */
    rlt_jw *json; /* for JSON: inside the open top object */
} rlt_calib_report;
/* Columns of the three tables, in the order of the functions below. */
extern const rlt_columns rlt_calib_tables[3];
int rlt_report_constants(const rlt_calib_report *r, const rlt_constant *c, uint32_t n,
                         rlt_error *err) RLT_MUST_USE;
/* Writes the errors, and beside them those of other lists, matched by group, collective, size and set: before
 * the fit, of a fit to all rows, of the interpolation. NULL: no such columns. */
typedef struct rlt_errors_beside {
    const rlt_errors_list *before, *in_sample, *interpolated;
} rlt_errors_beside;
int rlt_report_errors(const rlt_calib_report *r, const rlt_errors_list *rows, const rlt_errors_beside *beside,
                      rlt_error *err) RLT_MUST_USE;
int rlt_report_rows(const rlt_calib_report *r, const rlt_trial *t, rlt_error *err) RLT_MUST_USE;
/* Plots time over size as SVG: a panel for each system and collective, a colour for each number of ranks. At
 * most 12 panels; a note names those drawn if there are more. */
int rlt_calib_plot(const char *path, const rlt_trial *t, rlt_error *err) RLT_MUST_USE;

#endif
