/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A point of a study as an experiment: options in, figures out. Described and prepared on the calling
 * thread, which loads what several share (and does all that igraph has a part in); run on any thread, which
 * only reads what is shared.
 */
#ifndef RLT_TOOLS_SWEEP_EXPERIMENT_H
#define RLT_TOOLS_SWEEP_EXPERIMENT_H

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/options.h"
#include "tools/base/pool.h"
#include "tools/base/tree.h"
#include "tools/sweep/shared.h"
#include "tools/sweep/study/figures.h"
#include "tools/sweep/study/study.h"

typedef struct rlt_experiment {
    const rlt_sweep_study *study;
    rlt_sweep_point point;
    rlt_arena arena;
    rlt_option_texts texts;
    uint64_t key[2]; /* equal: the options are */
    void *settings;
    rlt_parsed parsed;
    rlt_shared_net *net;
    rlt_shared_work *work;   /* NULL: it loads its own */
    rlt_shared_files *files; /* of coll; the same */
    bool ready;              /* to be run; else the outcome is there already */
    rlt_outcome outcome;
} rlt_experiment;

/* False: there is no such point. A point whose options cannot be made has its outcome already. */
int rlt_experiment_describe(rlt_experiment *e, const rlt_sweep_study *s, uint64_t id, bool *there,
                            rlt_error *err) RLT_MUST_USE;
/* Loads what all points take from base as it stands, by what the first one needs: the error that each of them
 * would end with. */
int rlt_experiment_probe(const rlt_sweep_study *s, rlt_shared *shared, rlt_error *err) RLT_MUST_USE;
/* What is wrong with a point becomes its outcome; RLT_ENOMEM and the like end the sweep. */
int rlt_experiment_prepare(rlt_experiment *e, rlt_shared *shared, rlt_error *err) RLT_MUST_USE;
/* The same. RLT_ECANCELLED: stopped, no outcome. */
int rlt_experiment_run(rlt_experiment *e, rlt_task *job, rlt_error *err) RLT_MUST_USE;
/* Lets go of what was shared, on the preparing thread; the struct may be used again. */
void rlt_experiment_reset(rlt_experiment *e);
/* Also frees what is kept for the next one. */
void rlt_experiment_free(rlt_experiment *e);

/* By command; internal. */
int rlt__experiment_run(rlt_experiment *e, rlt_task *job, rlt_error *err) RLT_MUST_USE;
int rlt__experiment_coll(rlt_experiment *e, rlt_task *job, rlt_error *err) RLT_MUST_USE;

#endif
