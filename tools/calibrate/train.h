/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The parts of `ringlet calibrate-training`: measured training runs, what each is here (model, accelerator,
 * network, layout), the prediction of its iteration, and the fit of efficiency surfaces.
 */
#ifndef RLT_TOOLS_CALIBRATE_TRAIN_H
#define RLT_TOOLS_CALIBRATE_TRAIN_H

#include "sim/base/error.h"
#include "tools/calibrate/calibrate.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/training/training.h"

enum { RLT_MAX_TRAIN_ROWS = 1 << 16 };

/* A measured run. */
typedef struct rlt_train_row {
    uint32_t line; /* of the file */
    char model[64], precision[32];
    double measured_s;
    char reason[256]; /* why it is not covered; "": it is, and the rest is set */
    char spec[96];    /* of the model, as --model takes it */
    char accelerator[32], network[128];
    bool dense, v100;
    rlt_training training; /* but for model and accelerator */
    uint32_t ranks;
    /* What the predictor needs: */
    rlt_model shape;
    uint32_t group, on; /* efficiency surface, network */
    double predicted_s; /* 0: none */
    double left_out_s;  /* by a surface fitted without its model */
} rlt_train_row;

typedef struct rlt_train_rows {
    rlt_train_row *rows;
    uint32_t n, room, covered;
} rlt_train_rows;

/* Errors in the file name line and column; RLT_ESCHEMA names a missing column. Rows that cannot be covered
 * are kept with the reason. */
int rlt_train_rows_read(rlt_train_rows *t, const char *path, rlt_error *err) RLT_MUST_USE;
void rlt_train_rows_free(rlt_train_rows *t);

/* Rows of one accelerator, precision and stack share a surface. */
typedef struct rlt_train_group {
    char accelerator[32], precision[16], stack[32];
    uint32_t rows, models;   /* dense ones */
    rlt_accelerator machine; /* with the surface being tried as its only one */
    rlt_surface start;       /* of fits: what the file says of any stack and precision */
    rlt_surface fitted;
    uint32_t n_fitted; /* parameters; 0: not fitted */
    double misfit;
    uint32_t tried;
} rlt_train_group;

/* Predicts iterations of rows. Networks and durations of collectives are kept from one to the next. Not for
 * several threads. */
typedef struct rlt_train_predictor rlt_train_predictor;
int rlt_train_predictor_open(rlt_train_rows *t, rlt_train_predictor **out, rlt_error *err) RLT_MUST_USE;
void rlt_train_predictor_free(rlt_train_predictor *p);
rlt_train_group *rlt_train_group_at(rlt_train_predictor *p, uint32_t i); /* NULL past the end */
/* By the group's machine as it is. `quick`:
 * of many microbatches a few are simulated and the rest added in proportion. */
int rlt_train_predict(rlt_train_predictor *p, const rlt_train_row *row, bool quick, double *iteration_s,
                      rlt_error *err) RLT_MUST_USE;

/* Fits the surface of a group to its dense rows, but for those of one model (NULL:
 * all). The machine has it afterwards. */
int rlt_train_fit(rlt_train_predictor *p, rlt_train_rows *t, uint32_t group, const char *but,
                  uint32_t evaluations, rlt_error *err) RLT_MUST_USE;
/* "surfaces" of an accelerator's file with the fitted ones, into dir/NAME.json. */
int rlt_train_write(rlt_train_predictor *p, const char *dir, const char *source, rlt_error *err) RLT_MUST_USE;

#endif
