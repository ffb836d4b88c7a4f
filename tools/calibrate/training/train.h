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
#include "workload/training/training.h"

enum { RLT_MAX_TRAIN_ROWS = 1 << 16, RLT_TRAIN_NAME = 64, RLT_MAX_FIT = 64 };

/* A measured run. */
typedef struct rlt_train_row {
    uint32_t line, file; /* file: index in the order read */
    char model[RLT_TRAIN_NAME], precision[32];
    double measured_s;
    char reason[256]; /* why the row is not covered; "": it is covered and the rest is set */
    char spec[256];   /* model, as --model takes it */
    char accelerator[RLT_TRAIN_NAME];
    /* Topologies: as sold, for the messages of pipelines; as an all-reduce was measured on it, for collectives.
     * Equal where nothing was measured. */
    char network[192], collective[192];
    char family[32], source[RLT_TRAIN_NAME], layouts[RLT_TRAIN_NAME]; /* layouts: "" or its group of layouts */
    uint32_t node;
    char dispatcher[32]; /* as the table calls it; "": none is said */
    uint64_t alike;      /* hash of what the table says of the run, except the dispatcher */
    bool dense;
    rlt_training training; /* without model and accelerator */
    uint32_t ranks;
    /* Input of the predictor: */
    rlt_model shape;
    uint32_t machine, on, collectives_on; /* indices of the accelerator and the networks */
    uint32_t group;       /* accelerator x stack x family */
    double weight;
    double predicted_s; /* 0: not predicted */
    double left_out_s;  /* with its group left out of the fit; 0: not predicted */
} rlt_train_row;

typedef struct rlt_train_rows {
    rlt_train_row *rows;
    uint32_t n, room, covered, files;
} rlt_train_rows;

/* Reads the rows of a table, with the systems and models that `names` knows (a JSON file). Errors name line
 * and column; RLT_ESCHEMA names a missing column. Rows that cannot be covered are kept with the reason.
 * `measured`: times collectives on the networks of sites as measured, where that is known. */
int rlt_train_rows_read(rlt_train_rows *t, const char *path, const char *names, bool measured,
                        rlt_error *err) RLT_MUST_USE;
void rlt_train_rows_free(rlt_train_rows *t);

/* Predicts iterations of rows. It caches networks and durations of collectives. Not thread-safe. */
typedef struct rlt_train_predictor rlt_train_predictor;
int rlt_train_predictor_open(rlt_train_rows *t, rlt_train_predictor **out, rlt_error *err) RLT_MUST_USE;
void rlt_train_predictor_free(rlt_train_predictor *p);
/* Adds the shipped accelerators of the same generations: they get what is fitted to their generation. */
int rlt_train_predictor_relatives(rlt_train_predictor *p, rlt_error *err) RLT_MUST_USE;
rlt_accelerator *rlt_train_machine(rlt_train_predictor *p, uint32_t i); /* NULL past the end */
/* Predicts with the machine's current constants. With `quick`, only a few of many microbatches are simulated,
 * and the rest is extrapolated. */
int rlt_train_predict(rlt_train_predictor *p, const rlt_train_row *row, bool quick, double *iteration_s,
                      rlt_error *err) RLT_MUST_USE;

/* Pairs of runs that differ in the dispatcher of their experts only. */
typedef struct rlt_train_pairs {
    uint32_t n, apart, right; /* apart: measured more than 6 % apart; right: of these, predicted on that side */
} rlt_train_pairs;
extern const rlt_columns rlt_train_pair_table;
/* Adds a row to the table for each pair, once both are predicted; NULL: only counts them. */
rlt_train_pairs rlt_train_pairs_of(const rlt_train_rows *t, rlt_table *table);

/*
 * A joint fit. Each parameter is the logarithm of a factor on constants of all machines that it names, with a
 * prior of mean 0 and a width. Minimised is the sum over rows of w rho(log(predicted / measured)), plus the
 * squares of parameter / width. rho is quadratic up to 10 % and linear beyond; w is the size of the row's
 * group to the power -0.6, so that a large group does not decide alone. Gauss-Newton with numeric
 * derivatives.
 */
typedef struct rlt_train_fit {
    uint32_t n;
    char names[RLT_MAX_FIT][RLT_TRAIN_NAME];
    double at[RLT_MAX_FIT]; /* the solution */
    double *slopes;         /* n_rows x n derivatives of log(predicted) at the solution */
    double *residuals;      /* log(predicted / measured) at the solution */
    rlt_accelerator *start; /* the machines before the fit */
    uint32_t n_machines;
} rlt_train_fit;

int rlt_train_fit_run(rlt_train_predictor *p, rlt_train_rows *t, uint32_t rounds, rlt_train_fit *out,
                      rlt_error *err) RLT_MUST_USE;
void rlt_train_fit_free(rlt_train_fit *f);
/* Solves again without the rows for which skip(ctx, row) is true, from the derivatives at hand, and sets the
 * machines to that solution. */
void rlt_train_fit_without(rlt_train_predictor *p, const rlt_train_rows *t, rlt_train_fit *f,
                           bool (*skip)(const void *ctx, const rlt_train_row *row), const void *ctx);
/* Sets the machines to parameters x (NULL: to the solution). */
void rlt_train_fit_apply(rlt_train_predictor *p, const rlt_train_fit *f, const double *x);

/* Writes the accelerators' files into `dir`/NAME.json, with fitted constants. */
int rlt_train_write(rlt_train_predictor *p, const char *dir, const char *source, rlt_error *err) RLT_MUST_USE;

#endif
