/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The parts of `ringlet calibrate-training`: measured training runs, their settings in ringlet (model,
 * accelerator, network, layout), the prediction of an iteration, and the fit of efficiency surfaces.
 */
#ifndef RLT_TOOLS_CALIBRATE_TRAINING_TRAIN_H
#define RLT_TOOLS_CALIBRATE_TRAINING_TRAIN_H

#include "sim/base/error.h"
#include "tools/calibrate/calibrate.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/training/training.h"

enum { RLT_MAX_TRAIN_ROWS = 1 << 16 };

/* A measured run. */
typedef struct rlt_train_row {
    uint32_t line; /* in the file */
    char model[64], precision[32];
    double measured_s;
    char reason[256]; /* why the row is not covered; "": it is covered and the rest is set */
    char spec[96];    /* model, as --model takes it */
    char accelerator[32], network[128];
    bool dense, v100;
    rlt_training training; /* without model and accelerator */
    uint32_t ranks;
    /* Input of the predictor: */
    rlt_model shape;
    uint32_t group, on; /* indices of the efficiency surface and the network */
    double predicted_s; /* 0: not predicted */
    double left_out_s;  /* by a surface fitted without the row's model */
} rlt_train_row;

typedef struct rlt_train_rows {
    rlt_train_row *rows;
    uint32_t n, room, covered;
} rlt_train_rows;

/* Reads the rows. Errors name line and column; RLT_ESCHEMA names a missing column. Rows that cannot be
 * covered are kept with the reason. */
int rlt_train_rows_read(rlt_train_rows *t, const char *path, rlt_error *err) RLT_MUST_USE;
void rlt_train_rows_free(rlt_train_rows *t);

/* Rows of one accelerator, precision and stack share a surface. */
typedef struct rlt_train_group {
    char accelerator[32], precision[16], stack[32];
    uint32_t rows, models;   /* numbers of dense ones */
    rlt_accelerator machine; /* its only surface is the one being tried */
    rlt_surface start;       /* start of fits: the file's surface for any stack and precision */
    rlt_surface fitted;
    uint32_t n_fitted; /* fitted parameters; 0: not fitted */
    double misfit;
    uint32_t tried;
} rlt_train_group;

/* Predicts iterations of rows. It caches networks and durations of collectives. Not thread-safe. */
typedef struct rlt_train_predictor rlt_train_predictor;
int rlt_train_predictor_open(rlt_train_rows *t, rlt_train_predictor **out, rlt_error *err) RLT_MUST_USE;
void rlt_train_predictor_free(rlt_train_predictor *p);
rlt_train_group *rlt_train_group_at(rlt_train_predictor *p, uint32_t i); /* NULL past the end */
/* Predicts with the group's current surface. With `quick`, only a few of many microbatches are simulated, and
 * the rest is extrapolated. */
int rlt_train_predict(rlt_train_predictor *p, const rlt_train_row *row, bool quick, double *iteration_s,
                      rlt_error *err) RLT_MUST_USE;

/* Fits the surface of a group to its dense rows, without those of the model `but` (NULL: with all). The
 * group's machine then has the surface. */
int rlt_train_fit(rlt_train_predictor *p, rlt_train_rows *t, uint32_t group, const char *but,
                  uint32_t evaluations, rlt_error *err) RLT_MUST_USE;
/* Writes the accelerators' files into `dir`/NAME.json, with fitted "surfaces". */
int rlt_train_write(rlt_train_predictor *p, const char *dir, const char *source, rlt_error *err) RLT_MUST_USE;

#endif
