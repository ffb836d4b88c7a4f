/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ordered parallel for, on libuv's thread pool. */
#include "tools/base/pool.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "tools/base/interrupt.h"

enum { PART = 1000, TICK_MS = 50 };

typedef struct pool {
    const rlt_pool_work *work;
    bool serial;
    uv_loop_t loop;
    uv_timer_t timer;
    uv_mutex_t lock; /* protects `sim` of every job */
    rlt_task *jobs;
    uint32_t slots;
    uint32_t started, taken;
    uint32_t threads, unfinished; /* jobs that are queued or run */
    atomic_uint limit;            /* jobs from this index on are no longer wanted */
    int rc;
    rlt_error *err;
} pool;

struct rlt_task {
    uv_work_t request;
    pool *pool;
    uint32_t index, slot;
    bool ended; /* only the calling thread reads and writes it */
    int rc;
    rlt_error err;
    rlt_sim *sim;
    atomic_uint part; /* share that is done, as a number out of PART */
};

uint32_t rlt_pool_threads(uint64_t asked)
{
    uint64_t n = asked ? asked : uv_available_parallelism();
    return n < RLT_POOL_THREADS ? (uint32_t)n : RLT_POOL_THREADS;
}

const char *rlt_pool_version(void)
{
    return uv_version_string();
}

static bool is_unwanted(const rlt_task *job)
{
    return rlt_interrupted() || job->index >= atomic_load(&job->pool->limit);
}

void rlt_task_watch(rlt_task *job, rlt_sim *sim)
{
    pool *p = job ? job->pool : NULL;
    if (!p || p->serial) {
        rlt_interrupt_watch(sim);
        return;
    }
    uv_mutex_lock(&p->lock);
    job->sim = sim;
    uv_mutex_unlock(&p->lock);
    /* The job may have become unwanted just before. */
    if (sim && is_unwanted(job))
        rlt_sim_stop(sim);
}

static void watch_running(void *job, rlt_sim *sim)
{
    rlt_task_watch(job, sim);
}

static void watch_progress(void *job, uint64_t done, uint64_t total)
{
    rlt_job_progress(job, done, total);
}

rlt_watch rlt_task_watcher(rlt_task *job)
{
    rlt_watch w = rlt_interrupt_watcher();
    w.ctx = job;
    w.running = watch_running;
    w.progress = watch_progress;
    return w;
}

static void show_progress(const pool *p)
{
    uint64_t done = (uint64_t)p->taken * PART;
    if (!p->work->progress)
        return;
    for (uint32_t i = p->taken; i < p->started; i++)
        done += atomic_load(&p->jobs[i % p->slots].part);
    rlt_progress_update(p->work->progress, done, (uint64_t)p->work->n * PART);
}

void rlt_job_progress(rlt_task *job, uint64_t done, uint64_t total)
{
    if (!job)
        return;
    double part = total && done < total ? (double)done / (double)total : 1;
    atomic_store(&job->part, (unsigned)(part * PART));
    if (job->pool->serial)
        show_progress(job->pool);
}

static void run_job(rlt_task *job)
{
    const rlt_pool_work *w = job->pool->work;
    if (is_unwanted(job))
        job->rc = RLT_ECANCELLED;
    else
        job->rc = w->run(w->ctx, job, job->index, job->slot, &job->err);
    atomic_store(&job->part, PART);
}

/* Returns the next job, in its slot. NULL: it cannot begin; p->rc says why. */
static rlt_task *next_job(pool *p)
{
    uint32_t slot = p->started % p->slots;
    rlt_task *job = &p->jobs[slot];
    *job = (rlt_task){.pool = p, .index = p->started, .slot = slot};
    if (p->work->prepare && (p->rc = p->work->prepare(p->work->ctx, job->index, slot, p->err)))
        return NULL;
    p->started++;
    return job;
}

/* Asks jobs from `first` on to end soon. */
static void stop_from(pool *p, uint32_t first)
{
    if (first < atomic_load(&p->limit))
        atomic_store(&p->limit, first);
    uv_mutex_lock(&p->lock);
    for (uint32_t i = p->taken; i < p->started; i++) {
        rlt_task *job = &p->jobs[i % p->slots];
        if (i >= first && job->sim)
            rlt_sim_stop(job->sim);
    }
    uv_mutex_unlock(&p->lock);
}

/* Takes the result of the first job whose result was not taken yet. */
static void take_one(pool *p)
{
    rlt_task *job = &p->jobs[p->taken % p->slots];
    p->rc = job->rc;
    if (p->rc && p->err)
        *p->err = job->err;
    if (!p->rc)
        p->rc = p->work->take(p->work->ctx, job->index, job->slot, p->err);
    p->taken++;
    show_progress(p);
}

static void on_work(uv_work_t *request)
{
    run_job(request->data);
}

static void submit(pool *p);

static void on_worked(uv_work_t *request, int status)
{
    rlt_task *job = request->data;
    pool *p = job->pool;
    (void)status;
    job->ended = true;
    p->unfinished--;
    if (p->work->ended)
        p->work->ended(p->work->ctx, job->slot);
    if (job->rc)
        stop_from(p, job->index + 1);
    while (!p->rc && p->taken < p->started && p->jobs[p->taken % p->slots].ended)
        take_one(p);
    if (p->rc)
        stop_from(p, p->taken);
    submit(p);
}

/* Returns true if another job may be prepared. Each thread has one to run and one that waits, whatever the
 * memory. */
static bool has_room(const pool *p)
{
    return p->started - p->taken < p->slots &&
           (!p->work->room || p->unfinished < 2 * p->threads || p->work->room(p->work->ctx));
}

static void submit(pool *p)
{
    uint32_t limit = atomic_load(&p->limit);
    while (!p->rc && p->started < limit && !rlt_interrupted() && has_room(p)) {
        rlt_task *job = next_job(p);
        if (!job) {
            stop_from(p, p->taken);
            return;
        }
        job->request.data = job;
        p->unfinished++;
        (void)uv_queue_work(&p->loop, &job->request, on_work, on_worked); /* can fail only without on_work */
    }
}

static void on_tick(uv_timer_t *timer)
{
    pool *p = timer->data;
    if (rlt_interrupted())
        stop_from(p, 0);
    show_progress(p);
}

/* Submits the first job, which starts libuv's threads. They block all signals, which the calling thread
 * handles. */
static void begin(pool *p, uint32_t threads)
{
    sigset_t all, before;
    char number[16];
    snprintf(number, sizeof number, "%u", threads);
    setenv("UV_THREADPOOL_SIZE", number, 1);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    submit(p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static int run_parallel(pool *p, uint32_t threads)
{
    int rc = uv_mutex_init(&p->lock);
    if (rc)
        return rlt_fail(p->err, RLT_EIO, "--jobs", "cannot start threads: %s", uv_strerror(rc));
    rc = uv_loop_init(&p->loop);
    if (rc) {
        uv_mutex_destroy(&p->lock);
        return rlt_fail(p->err, RLT_EIO, "--jobs", "cannot start threads: %s", uv_strerror(rc));
    }
    uv_timer_init(&p->loop, &p->timer);
    p->timer.data = p;
    uv_timer_start(&p->timer, on_tick, TICK_MS, TICK_MS);
    uv_unref((uv_handle_t *)&p->timer); /* the loop ends with the last job, not with the timer */
    begin(p, threads);
    uv_run(&p->loop, UV_RUN_DEFAULT);
    uv_close((uv_handle_t *)&p->timer, NULL);
    uv_run(&p->loop, UV_RUN_DEFAULT);
    uv_loop_close(&p->loop);
    uv_mutex_destroy(&p->lock);
    return p->rc;
}

static int run_serial(pool *p)
{
    while (!p->rc && p->started < p->work->n) {
        rlt_task *job = next_job(p);
        if (!job)
            break;
        run_job(job);
        if (p->work->ended)
            p->work->ended(p->work->ctx, job->slot);
        take_one(p);
    }
    return p->rc;
}

int rlt_pool_run(const rlt_pool_work *work, uint32_t threads, rlt_error *err)
{
    bool serial = threads < 2 || work->n < 2;
    pool p = {
        .work = work, .serial = serial, .slots = serial ? 1 : work->slots, .threads = threads, .err = err};
    int rc;
    p.slots = p.slots < work->n ? p.slots : work->n;
    if (work->n == 0)
        return 0;
    atomic_init(&p.limit, work->n);
    p.jobs = calloc(p.slots, sizeof *p.jobs);
    if (!p.jobs)
        return rlt_nomem(err);
    rc = serial ? run_serial(&p) : run_parallel(&p, threads);
    if (!rc && p.taken < work->n)
        rc = RLT_ECANCELLED;
    free(p.jobs);
    return rc;
}
