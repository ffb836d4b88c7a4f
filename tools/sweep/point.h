/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A point of a study as an experiment: options in, figures out. Described and prepared on the calling
 * thread, which loads what several share (and does all that igraph has a part in); run on any thread, which
 * only reads what is shared.
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
    uint64_t key[2]; /* equal: the options are */
    void *settings;
    rlt_parsed parsed;
    rlt_prepared prepared;
    bool ready; /* to be run; else the outcome is there already */
    rlt_outcome outcome;
} rlt_point_job;

/* False: there is no such point. A point whose options cannot be made has its outcome already. */
int rlt_point_describe(rlt_point_job *e, const rlt_sweep_study *s, uint64_t id, bool *there,
                       rlt_error *err) RLT_MUST_USE;
/* Loads what all points take from base as it stands, by what the first one needs: the error that each of them
 * would end with. */
int rlt_point_probe(const rlt_sweep_study *s, rlt_shared *inputs, rlt_error *err) RLT_MUST_USE;
/* What is wrong with a point becomes its outcome; RLT_ENOMEM and the like end the sweep. */
int rlt_point_prepare(rlt_point_job *e, rlt_shared *inputs, rlt_error *err) RLT_MUST_USE;
/* The same. RLT_ECANCELLED: stopped, no outcome. */
int rlt_point_run(rlt_point_job *e, rlt_task *job, rlt_error *err) RLT_MUST_USE;
/* Lets go of what was shared, on the preparing thread; the struct may be used again. */
void rlt_point_reset(rlt_point_job *e);
/* Also frees what is kept for the next one. */
void rlt_point_free(rlt_point_job *e);

#endif
