/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A sweep under way: points handed out in the study's order, results taken in the same order, so that what
 * is in the database is the same for any number of threads or ranks.
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

/* Loads what all points take from base:
 * the error that each of them would end with. Before there is a store. */
int rlt_sweep_probe(rlt_sweep *w, const rlt_sweep_study *study, rlt_error *err) RLT_MUST_USE;
/* Runs what is missing. `study` grows where it is adaptive.
 * RLT_ECANCELLED after Ctrl-C: what was done is committed. */
int rlt_sweep_run(rlt_sweep *w, rlt_sweep_study *study, rlt_error *err) RLT_MUST_USE;
void rlt_sweep_free(rlt_sweep *w);

/* The next places of an adaptive sample, from the results so far. */
int rlt__sweep_choose(rlt_sweep_study *study, rlt_store *store, rlt_error *err) RLT_MUST_USE;

#endif
