/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sweep under way, as those see it who hand out its points: to threads, and to ranks. */
#ifndef RLT_TOOLS_SWEEP_STATE_H
#define RLT_TOOLS_SWEEP_STATE_H

#include "sim/base/error.h"
#include "tools/base/progress.h"
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
    rlt_shared inputs;
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

#endif
