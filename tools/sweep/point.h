/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A point of a study as an experiment: options in, figures out. It is described and prepared on the calling
 * thread, which loads shared inputs (and makes all igraph calls). It runs on any thread, which only reads
 * shared inputs.
 */
#ifndef RLT_TOOLS_SWEEP_POINT_H
#define RLT_TOOLS_SWEEP_POINT_H

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/options.h"
#include "sim/text/tree.h"
#include "tools/base/pool.h"
#include "tools/sweep/study/study.h"
#include "workload/experiment/figures.h"
#include "workload/experiment/shared.h"

typedef struct rlt_point_job {
    const rlt_sweep_study *study;
    rlt_sweep_point point;
    rlt_arena arena;
    rlt_option_texts texts;
    uint64_t key[2]; /* equal keys: equal options */
    void *settings;
    rlt_parsed parsed;
    rlt_prepared prepared;
    bool ready; /* to be run; false: it has its outcome already */
    rlt_outcome outcome;
} rlt_point_job;

/* Describes point `id`. *there false: no such point. A point with invalid options gets its outcome at
 * once. */
int rlt_point_describe(rlt_point_job *e, const rlt_sweep_study *s, uint64_t id, bool *there,
                       rlt_error *err) RLT_MUST_USE;
/* Loads the inputs that base fixes for all points, using the first point. Returns the error that every point
 * would end with. */
int rlt_point_probe(const rlt_sweep_study *s, rlt_shared *inputs, rlt_error *err) RLT_MUST_USE;
/* Judges a training by its options, without building its program. *why is empty if it can run, or if its
 * options are wrong for another reason, which then is the point's error. Else it says why the layout is
 * impossible: "tp: N heads are not a multiple of tp N". N stands for numbers, so that equal reasons have
 * equal texts. `e` has a study and a point; reset it afterwards. */
int rlt_point_judge(rlt_point_job *e, rlt_shared *inputs, char *why, size_t size,
                    rlt_error *err) RLT_MUST_USE;
/* Loads the inputs of a point. Its errors become its outcome; RLT_ENOMEM and the like end the sweep. */
int rlt_point_prepare(rlt_point_job *e, rlt_shared *inputs, rlt_error *err) RLT_MUST_USE;
/* Runs a point, with the same treatment of errors. RLT_ECANCELLED: stopped, no outcome. */
int rlt_point_run(rlt_point_job *e, rlt_task *job, rlt_error *err) RLT_MUST_USE;
/* Releases shared inputs, on the preparing thread; the struct may be used again. */
void rlt_point_reset(rlt_point_job *e);
/* Also frees the memory kept for the next point. */
void rlt_point_free(rlt_point_job *e);

#endif
