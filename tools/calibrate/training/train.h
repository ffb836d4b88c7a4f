/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The parts of `ringlet calibrate-training`: measured training runs, their settings in ringlet (model,
 * accelerator, network, layout), the prediction of an iteration, and the joint fit of the efficiencies of
 * accelerators and software stacks.
 */
#ifndef RLT_TOOLS_CALIBRATE_TRAINING_TRAIN_H
#define RLT_TOOLS_CALIBRATE_TRAINING_TRAIN_H

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "tools/calibrate/calibrate.h"
#include "tools/output/output.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/models/stack.h"
#include "workload/training/training.h"

enum { RLT_MAX_TRAIN_ROWS = 1 << 16, RLT_TRAIN_NAME = 64, RLT_TRAIN_PATH = 256, RLT_MAX_FIT = 64 };

/* Rows that are left out of a fit together. */
typedef enum rlt_leave {
    RLT_LEAVE_GROUP, /* accelerator x stack x family */
    RLT_LEAVE_ACCELERATOR,
    RLT_LEAVE_SOURCE,
    RLT_LEAVE_GENERATION,
    RLT_LEAVE_ROW,
    RLT_LEAVES
} rlt_leave;

/* A measured run. */
typedef struct rlt_train_row {
    uint32_t line, file; /* file: index in the order read */
    char model[RLT_TRAIN_NAME], precision[32];
    double measured_s;
    char reason[512];                 /* why the row is not covered; "": it is covered and the rest is set */
    char spec[256];                   /* model, as --model takes it */
    char accelerator[RLT_TRAIN_PATH]; /* name or file */
    /* Topologies: as sold, for the messages of pipelines; as an all-reduce was measured on it, for
     * collectives. Equal where nothing was measured. */
    char network[RLT_TRAIN_PATH], collective[RLT_TRAIN_PATH];
    char family[32], source[RLT_TRAIN_NAME];
    char layouts[RLT_TRAIN_NAME];  /* its group of layouts, or "" */
    char note[RLT_TRAIN_NAME * 2]; /* remark of names.json on the system's measurements, or "" */
    uint32_t node;                 /* accelerators of a node; 0: not known */
    char dispatcher[32];           /* as the table calls it; "": none is said */
    uint64_t alike;                /* hash of what the table says of the run, except the dispatcher */
    bool dense;
    rlt_training training; /* without model and accelerator */
    uint32_t ranks;
    /* Input of the predictor: */
    rlt_model shape;
    uint32_t machine, on, collectives_on; /* indices of the accelerator and the networks */
    uint32_t group;                       /* accelerator x stack x family */
    double weight;
    double predicted_s;            /* 0: not predicted */
    double left_out_s[RLT_LEAVES]; /* left out of the fit with others; 0: not predicted */
} rlt_train_row;

typedef struct rlt_train_rows {
    rlt_train_row *rows;
    uint32_t n, room, covered, files;
    uint32_t malformed;        /* rows with a cell that cannot be read; they are not covered */
    char first_malformed[512]; /* line of the first one, and why */
} rlt_train_rows;

/* How rows are read. Systems and models that `names` does not know are accelerators and models by name or
 * file. */
typedef struct rlt_train_reading {
    const char *names;       /* JSON file of systems and models by the names in tables */
    bool measured;           /* times collectives on the networks of sites as measured, where that is known */
    const char *accelerator; /* accelerator of all rows; NULL: that of each row */
    const char *topology;    /* topology of rows that name none; NULL: none */
} rlt_train_reading;
/* Reads the rows of a table. Errors name line and column; RLT_ESCHEMA names a missing column. Rows that
 * cannot be read or covered are kept with the reason. A table without a row that can be read is an error. */
int rlt_train_rows_read(rlt_train_rows *t, const char *path, const rlt_train_reading *how,
                        rlt_error *err) RLT_MUST_USE;
void rlt_train_rows_free(rlt_train_rows *t);

/* Predicts iterations of rows. It caches networks and durations of collectives. Not thread-safe. */
typedef struct rlt_train_predictor rlt_train_predictor;
int rlt_train_predictor_open(rlt_train_rows *t, rlt_train_predictor **out, rlt_error *err) RLT_MUST_USE;
void rlt_train_predictor_free(rlt_train_predictor *p);
/* Adds the shipped accelerators of the same generations: they get what is fitted to their generation. */
int rlt_train_predictor_relatives(rlt_train_predictor *p, rlt_error *err) RLT_MUST_USE;
rlt_accelerator *rlt_train_machine(rlt_train_predictor *p, uint32_t i);       /* NULL past the end */
const char *rlt_train_machine_spec(const rlt_train_predictor *p, uint32_t i); /* its name or file */
/* Predicts with the machine's current constants. With `quick`, only a few of many microbatches are simulated,
 * and the rest is extrapolated. */
int rlt_train_predict(rlt_train_predictor *p, const rlt_train_row *row, bool quick, double *iteration_s,
                      rlt_error *err) RLT_MUST_USE;

/* Sets the constants that a fit changes to those before any fit. */
void rlt_train_priors(rlt_accelerator *a);

/* Pairs of runs that differ in the dispatcher of their experts only. */
typedef struct rlt_train_pairs {
    uint32_t n, apart,
        right; /* apart: measured more than 6 % apart; right: of these, predicted on that side */
} rlt_train_pairs;
extern const rlt_columns rlt_train_pair_table;
/* Adds a row to the table for each pair, once both are predicted; NULL: only counts them. */
rlt_train_pairs rlt_train_pairs_of(const rlt_train_rows *t, rlt_table *table);

/*
 * A joint fit. Each parameter is the logarithm of a factor on constants of all machines that it names, with a
 * prior of mean 0 and a width. Minimised is the sum over rows of w rho(log(predicted / measured)), plus the
 * squares of parameter / width. rho is quadratic up to 10 % and linear beyond; w is the size of the row's
 * group to the power -0.6, so that a large group does not decide alone. Gauss-Newton with numeric
 * derivatives. It starts from assumed constants, the same on all accelerators and stacks: shipped ones were
 * fitted to rows that may be left out now.
 */
typedef struct rlt_train_fit {
    bool own; /* fits one machine of the user's own, from the constants in its file */
    uint32_t n;
    char names[RLT_MAX_FIT][RLT_TRAIN_NAME];
    double at[RLT_MAX_FIT]; /* the solution */
    double *slopes;         /* n_rows x n derivatives of log(predicted) at the solution */
    double *residuals;      /* log(predicted / measured) at the solution */
    rlt_accelerator *start; /* the machines before the fit */
    uint32_t n_machines;
} rlt_train_fit;

/* With `own`, from the accelerators' constants, and only their efficiencies: all that few rows of one machine
 * can tell. */
int rlt_train_fit_run(rlt_train_predictor *p, rlt_train_rows *t, uint32_t rounds, bool own,
                      rlt_train_fit *out, rlt_error *err) RLT_MUST_USE;
void rlt_train_fit_free(rlt_train_fit *f);
/* Solves again without the rows for which skip(ctx, row) is true, from the derivatives at hand, and sets the
 * machines to that solution. */
void rlt_train_fit_without(rlt_train_predictor *p, const rlt_train_rows *t, rlt_train_fit *f,
                           bool (*skip)(const void *ctx, const rlt_train_row *row), const void *ctx);
/* Sets the machines to parameters x (NULL: to the solution). */
void rlt_train_fit_apply(rlt_train_predictor *p, const rlt_train_fit *f, const double *x);

/* ---- rows left out ---- */

const char *rlt_leave_name(rlt_leave by); /* "group"; NULL past the end */
/* Returns true if both rows are left out together. */
bool rlt_train_together(rlt_leave by, const rlt_train_row *a, const rlt_train_row *b);
/* Predicts each row by constants fitted without it and those that are left out with it. */
int rlt_train_leave_out(rlt_train_predictor *p, rlt_train_rows *t, rlt_train_fit *f, rlt_leave by,
                        rlt_error *err) RLT_MUST_USE;

/*
 * The 80 % interval of a run like `of`: a factor down and up, the 80 % quantile of
 * |log(measured / predicted)| over rows that were left out. Each group weighs the same, whatever its size;
 * groups of the same accelerator and stack weigh three times, those of its generation or of its stack twice
 * as much. Dense models and experts are apart. `without`: rows left out together with this one do not count,
 * so that the interval of a row does not rest on its own error. NULL: all count.
 *
 * Example: five groups of other accelerators with one row each, off by 2, 5, 8, 9 and 20 %: the fourth
 * reaches 80 % of the weight, and the interval is 1 / 1.09 to 1.09. If the last is of the same accelerator
 * and stack, it weighs 3 of 7, the other four do not reach 5.6, and the interval is 1 / 1.2 to 1.2.
 */
typedef struct rlt_train_like {
    const rlt_accelerator *accelerator; /* NULL: a generation without rows */
    const char *stack;
    bool dense;
    rlt_leave by;
    const rlt_train_row *without;
} rlt_train_like;
rlt_spread rlt_train_spread(const rlt_train_rows *t, const rlt_train_like *of);

/* ---- layouts ---- */

/* How well predictions rank layouts of the same training. */
typedef struct rlt_ranking {
    uint32_t rows;
    double tau;    /* Kendall's, of all pairs */
    double regret; /* measured time of the layout that is predicted to be the fastest / least measured - 1 */
} rlt_ranking;
/* `time`: the predicted times beside the measured ones. */
rlt_ranking rlt_ranking_of(const double *measured, const double *time, uint32_t n);

/* ---- files ---- */

/* Writes the files of accelerators and stacks to `dir`/accelerators and `dir`/stacks, with fitted constants
 * and the evidence behind them. With `own`, only accelerators. */
int rlt_train_write(rlt_train_predictor *p, const rlt_train_rows *t, bool own, const char *dir,
                    const char *source, rlt_error *err) RLT_MUST_USE;

#endif
