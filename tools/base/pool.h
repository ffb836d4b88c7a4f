/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An ordered parallel for: jobs 0 .. n-1 run on several threads. Their results are taken one after the other,
 * in order, on the calling thread, as they become ready. So the results taken and the error reported are the
 * same for any number of threads: the error is that of the lowest failing job, and later jobs are stopped.
 * Ctrl-C stops all jobs: results before the first unfinished job are taken, then RLT_ECANCELLED is returned.
 *
 * Results live in slots that the caller provides. A job has its slot to itself from its start until its
 * result is taken. Jobs share no other mutable state.
 */
#ifndef RLT_TOOLS_BASE_POOL_H
#define RLT_TOOLS_BASE_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/sim.h"
#include "sim/watch.h"
#include "tools/base/progress.h"

enum { RLT_POOL_THREADS = 1024 }; /* libuv's maximum */

typedef struct rlt_task rlt_task;

typedef struct rlt_pool_work {
    uint32_t n;
    uint32_t slots; /* at least 1; job i starts only if i < first job not yet taken + slots */
    void *ctx;
    /* Called on the calling thread, in order, just before the job starts. An error ends the loop. NULL:
     * nothing. */
    int (*prepare)(void *ctx, uint32_t i, uint32_t slot, rlt_error *err);
    /* Runs on any thread. After an error or a stop the slot must be empty again. */
    int (*run)(void *ctx, rlt_task *job, uint32_t i, uint32_t slot, rlt_error *err);
    /* Called on the calling thread before a job is prepared that no thread waits for. False: not yet, as
     * memory is short; it is asked again when a job has ended. NULL: there is room. */
    bool (*room)(void *ctx);
    /* Called on the calling thread when `run` has ended, in any order, perhaps long before `take`: inputs may
     * be released. NULL: nothing. */
    void (*ended)(void *ctx, uint32_t slot);
    /* Called on the calling thread, in order. After an error it is not called for the rest, so slots may be
     * full when rlt_pool_run returns. */
    int (*take)(void *ctx, uint32_t i, uint32_t slot, rlt_error *err);
    rlt_progress *progress; /* started by the caller; may be NULL */
} rlt_pool_work;

/* Returns the number of threads to use. `asked` is what the user gave; 0: one per processor available. */
uint32_t rlt_pool_threads(uint64_t asked);
/* Runs all jobs. With one thread or one job everything happens on the calling thread. The first call's number
 * of threads holds for the whole process. Returns 0, or the error of a job or of `take`. */
int rlt_pool_run(const rlt_pool_work *work, uint32_t threads, rlt_error *err) RLT_MUST_USE;

/* Called from `run`: sets the simulation to stop when this job is no longer wanted. Call with NULL before it
 * is freed. With job NULL, Ctrl-C stops it. */
void rlt_task_watch(rlt_task *job, rlt_sim *sim);
/* Called from `run`: reports progress to the bar. total 0: unknown. */
void rlt_job_progress(rlt_task *job, uint64_t done, uint64_t total);

/* The same as an interface of the library (sim/watch.h); rlt_interrupt_watcher supplies the rest. */
rlt_watch rlt_task_watcher(rlt_task *job);

/* Version of libuv. */
const char *rlt_pool_version(void);

#endif
