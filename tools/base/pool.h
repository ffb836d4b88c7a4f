/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An ordered parallel for: jobs 0 .. n-1 run on several threads, and their results are taken one after the
 * other, in order, on the calling thread, as they become ready. What is taken, and the error that is
 * reported, is therefore the same for any number of threads: the error of the lowest job that has one; later
 * jobs are then stopped. Ctrl-C stops all of them: RLT_ECANCELLED, after the results before the first
 * unfinished one were taken.
 *
 * Results live in slots that the caller provides: a job has its slot to itself from its start until its
 * result was taken. Jobs share nothing else that changes.
 */
#ifndef RLT_TOOLS_BASE_POOL_H
#define RLT_TOOLS_BASE_POOL_H

#include <stdint.h>

#include "sim/base/error.h"
#include "sim/sim.h"
#include "sim/watch.h"
#include "tools/base/progress.h"

enum { RLT_POOL_THREADS = 1024 }; /* libuv has no more */

typedef struct rlt_task rlt_task;

typedef struct rlt_pool_work {
    uint32_t n;
    uint32_t slots; /* from 1 on; no job starts more than this many after the first that is not yet taken */
    void *ctx;
    /* On the calling thread, in order, just before the job starts; NULL: nothing. An error ends all. */
    int (*prepare)(void *ctx, uint32_t i, uint32_t slot, rlt_error *err);
    /* On any thread. After an error or when stopped, the slot must be empty again. */
    int (*run)(void *ctx, rlt_task *job, uint32_t i, uint32_t slot, rlt_error *err);
    /* On the calling thread, in order. Not called for all: slots may be full when rlt_pool_run returns. */
    int (*take)(void *ctx, uint32_t i, uint32_t slot, rlt_error *err);
    rlt_progress *progress; /* started by the caller; may be NULL */
} rlt_pool_work;

/* Threads for what the user asked for; 0: as many as there are processors to run on. */
uint32_t rlt_pool_threads(uint64_t asked);
/* With one thread or one job all happens on the calling thread. The first call's number of threads holds for
 * the whole process. 0, or the error of a job or of `take`. */
int rlt_pool_run(const rlt_pool_work *work, uint32_t threads, rlt_error *err) RLT_MUST_USE;

/* From `run`: the simulation to stop when this job is no longer wanted; NULL before it is freed. Without a
 * job: what Ctrl-C stops. */
void rlt_task_watch(rlt_task *job, rlt_sim *sim);
/* From `run`: how far the job is, for the bar. total 0: unknown. */
void rlt_job_progress(rlt_task *job, uint64_t done, uint64_t total);

/* The same as the library asks for it (sim/watch.h); rlt_interrupt_watcher has the rest. */
rlt_watch rlt_task_watcher(rlt_task *job);

/* Version of libuv. */
const char *rlt_pool_version(void);

#endif
