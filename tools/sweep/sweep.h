/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A running sweep. Points are handed out in the study's order, and results are taken in that order. So the
 * database is the same for any number of threads or ranks.
 */
#ifndef RLT_TOOLS_SWEEP_SWEEP_H
#define RLT_TOOLS_SWEEP_SWEEP_H

#include "sim/base/error.h"
#include "tools/base/progress.h"
#include "tools/sweep/point.h"
#include "tools/sweep/state.h"
#include "tools/sweep/store/store.h"
#include "tools/sweep/study/study.h"
#include "workload/experiment/shared.h"

/* Loads the inputs that base fixes for all points, before there is a store. Returns the error that every
 * point would end with. */
int rlt_sweep_probe(rlt_sweep *w, const rlt_sweep_study *study, rlt_error *err) RLT_MUST_USE;
/* Installs the test that "skip_impossible" asks for, and counts the study's points again. The study must
 * outlive it; rlt_sweep_free removes it. */
int rlt_sweep_skip(rlt_sweep *w, rlt_sweep_study *study, rlt_error *err) RLT_MUST_USE;
/* Runs the missing points. `study` grows if it is adaptive. RLT_ECANCELLED after Ctrl-C: finished points are
 * committed. */
int rlt_sweep_run(rlt_sweep *w, rlt_sweep_study *study, rlt_error *err) RLT_MUST_USE;
void rlt_sweep_free(rlt_sweep *w);

/* Returns the error with which a test ended, if any; internal, as are the following. */
int rlt__sweep_skipped(const rlt_sweep *w, rlt_error *err) RLT_MUST_USE;
void rlt__sweep_skip_free(rlt_sweep *w);
/* Lets shared inputs be recorded in the database. */
void rlt__sweep_note_inputs(rlt_sweep *w);
/* Chooses the next places of an adaptive sample from the results so far. */
int rlt__sweep_choose(rlt_sweep_study *study, rlt_store *store, rlt_error *err) RLT_MUST_USE;

#endif
