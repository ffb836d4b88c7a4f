/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A sweep under way: points handed out in the study's order, results taken in the same order, so that what
 * is in the database is the same for any number of threads or ranks.
 */
#ifndef RLT_TOOLS_SWEEP_SWEEP_H
#define RLT_TOOLS_SWEEP_SWEEP_H

#include "sim/base/error.h"
#include "tools/base/progress.h"
#include "tools/sweep/inputs.h"
#include "tools/sweep/point.h"
#include "tools/sweep/store/store.h"
#include "tools/sweep/study/study.h"
#include "workload/experiment/shared.h"

typedef struct rlt_sweep_slot {
    rlt_point_job experiment;
    int64_t same_as; /* -1: it is run */
} rlt_sweep_slot;

/* Inputs that were read before there was a database to note them in; texts owned. */
typedef struct rlt_sweep_note {
    char *what, *path;
    uint64_t hash;
} rlt_sweep_note;

typedef struct rlt_sweep {
    const rlt_sweep_study *study;
    rlt_store *store;
    rlt_sweep_inputs inputs;
    rlt_sweep_note *notes;
    uint32_t n_notes, notes_capacity;
    uint32_t shard, shards; /* points whose number is `shard` modulo `shards` */
    uint32_t jobs;          /* threads; of ranks: each has one */
    bool remote;            /* points are prepared where they are run */
    rlt_sweep_slot *slots;
    uint64_t (*keys)[2];                      /* of the experiments in slots, close together to be searched */
    uint32_t n_slots, first_flying, n_flying; /* by job number */
    uint64_t next, end;                       /* points still to be looked at, of this stretch */
    int64_t last;                             /* the highest point that was there at the start */
    uint64_t done, failed, total;
    double began_s;
    rlt_progress progress;
    char label[96];
    char first_error[200]; /* of the points that failed now */
    int fatal;             /* that an input has changed, say */
    rlt_error why;
} rlt_sweep;

/* Loads what all points take from base:
 * the error that each of them would end with. Before there is a store. */
int rlt_sweep_probe(rlt_sweep *w, const rlt_sweep_study *study, rlt_error *err) RLT_MUST_USE;
/* Runs what is missing. `study` grows where it is adaptive.
 * RLT_ECANCELLED after Ctrl-C: what was done is committed. */
int rlt_sweep_run(rlt_sweep *w, rlt_sweep_study *study, rlt_error *err) RLT_MUST_USE;
void rlt_sweep_free(rlt_sweep *w);

/* Callbacks of a pool, and of what takes its place between ranks. */
int rlt__sweep_prepare(void *ctx, uint32_t i, uint32_t slot, rlt_error *err) RLT_MUST_USE;
int rlt__sweep_take(void *ctx, uint32_t i, uint32_t slot, rlt_error *err) RLT_MUST_USE;
/* The next places of an adaptive sample, from the results so far. */
int rlt__sweep_choose(rlt_sweep_study *study, rlt_store *store, rlt_error *err) RLT_MUST_USE;

#endif
