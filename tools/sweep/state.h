/* SPDX-License-Identifier: GPL-3.0-or-later */
/* State of a running sweep, shared by the ways of handing out points: threads and ranks. */
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
    int64_t same_as; /* lower point with the same options; -1: none, this one is run */
    int64_t kept;    /* result of an earlier version of the study that it takes instead; -1: none */
} rlt_sweep_slot;

/* Inputs read before the database exists, to be recorded later; texts are owned. */
typedef struct rlt_sweep_note {
    char *what, *path;
    uint64_t hash;
} rlt_sweep_note;

typedef struct rlt_sweep {
    const rlt_sweep_study *study;
    rlt_store *store;
    rlt_shared inputs;
    struct rlt_sweep_judge *judge; /* test of "skip_impossible"; NULL: none */
    rlt_sweep_note *notes;
    uint32_t n_notes, notes_capacity;
    uint32_t shard, shards; /* runs points whose number is `shard` modulo `shards` */
    uint32_t jobs;          /* threads; with MPI: one per rank */
    bool remote;            /* points are prepared on the rank that runs them */
    rlt_sweep_slot *slots;
    uint64_t (*keys)[2];                      /* by slot: keys of the experiments, contiguous for searching */
    uint32_t n_slots, first_flying, n_flying; /* flying: jobs in progress, by job number */
    uint64_t next, end;                       /* points of this stretch still to be looked at */
    int64_t last;                             /* highest point in the database at the start; -1: none */
    uint64_t done, failed, total;
    uint64_t reused, copied;   /* points of this run that took a kept result, or that of an equal point */
    bool assumed, measured;    /* points of this run rest on nothing measured; on measured runs */
    char stack[32], other[32]; /* stacks chosen for points of this run: the first, and one that differs */
    double began_s;
    rlt_progress progress;
    char label[96];
    char first_error[800]; /* error of the first point that failed in this run */
    int fatal;             /* error that ends the sweep, such as a changed input */
    rlt_error why;
} rlt_sweep;

#endif
