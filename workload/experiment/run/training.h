/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model on an accelerator in a layout, as the workload of a run. */
#ifndef RLT_WORKLOAD_EXPERIMENT_RUN_TRAINING_H
#define RLT_WORKLOAD_EXPERIMENT_RUN_TRAINING_H

#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "workload/experiment/run/run.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/program/reader.h"
#include "workload/training/training.h"

extern const rlt_option rlt_training_options[]; /* offsets are in rlt_run_settings */
/* Default accelerator of a model. */
#define RLT_DEFAULT_ACCELERATOR "h100-sxm"

/* Applies settings such as "dp=64,pp=8" to a training. RLT_EUSAGE. */
int rlt_training_apply(rlt_training *t, const char *list, const char *where, rlt_error *err) RLT_MUST_USE;
/* Reads --model, --accelerator, --strategy, --layout and --train without planning. Free the model in every
 * case. Settings of the training may also follow the model: "transformer:layers=4,ranks=8". */
int rlt_training_read(const rlt_run_settings *s, rlt_model *m, rlt_accelerator *a, rlt_training *t,
                      rlt_error *err) RLT_MUST_USE;
/* Plans a training that was read for the ranks that are placed, and checks that it fits into the memory;
 * --map places the ranks anew. An error says why the layout is impossible. */
int rlt_training_settle(const rlt_run_settings *s, const rlt_topology *topology, rlt_placement *where,
                        rlt_training *t, rlt_error *err) RLT_MUST_USE;
/* Reads them and plans the training for the ranks that are placed; --map places them anew. The training
 * borrows model and accelerator; free the model in every case. */
int rlt_training_open(const rlt_run_settings *s, const rlt_topology *topology, rlt_placement *where,
                      rlt_model *m, rlt_accelerator *a, rlt_training *t, rlt_error *err) RLT_MUST_USE;
/* Builds the program into the run. */
int rlt_run_train(rlt_run *r, rlt_error *err) RLT_MUST_USE;
/* Builds it with identical ranks simulated once (--fold, --fold-stages), and places these. RLT_EUSAGE if an
 * option makes ranks different. */
int rlt_run_fold(rlt_run *r, rlt_error *err) RLT_MUST_USE;
/* Opens the durations with which a reader folds a trace whose ranks are identical. End it also after a
 * failure. */
int rlt_run_fold_begin(rlt_run *r, rlt_read_fold *fold, rlt_error *err) RLT_MUST_USE;
void rlt_run_fold_end(rlt_read_fold *fold);

/* Simulates every rank of a folded run that ended. RLT_ECHECK if an iteration takes another time. */
int rlt_run_verify_fold(const rlt_run *r, rlt_error *err) RLT_MUST_USE;

#endif
