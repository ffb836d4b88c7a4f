/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/plan/workers.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/base/time.h"
#include "sim/watch.h"
#include "tools/base/interrupt.h"
#include "tools/base/pool.h"
#include "tools/sweep/ranks.h"

enum { PARTS = 4 }; /* parts of a round, for each thread: some take longer */

/* Questions of a round. Part i has each `parts`-th of those of this rank. */
typedef struct questions {
    rlt_plan_workers *w;
    uint32_t n, parts;
    rlt_layout_outcome *out;
    rlt_layout_answer answer;
    void *job;
} questions;

/* Takes a worker that is free. There are as many as threads. */
static uint32_t engage(rlt_plan_workers *w)
{
    uint32_t i = 0;
    while (atomic_flag_test_and_set(&w->busy[i]))
        i = (i + 1) % w->threads;
    return i;
}

static int run_part(void *ctx, rlt_task *task, uint32_t i, uint32_t slot, rlt_error *err)
{
    questions *r = ctx;
    rlt_watch watch = rlt_task_watcher(task);
    uint32_t worker = engage(r->w);
    uint64_t step = (uint64_t)r->w->ranks * r->parts;
    (void)slot;
    (void)err;
    for (uint64_t at = r->w->rank + (uint64_t)r->w->ranks * i; at < r->n && !rlt_interrupted(); at += step)
        r->answer(r->job, (uint32_t)at, worker, &watch, &r->out[at]);
    atomic_flag_clear(&r->w->busy[worker]);
    return rlt_interrupted() ? RLT_ECANCELLED : 0;
}

static int take_part(void *ctx, uint32_t i, uint32_t slot, rlt_error *err)
{
    (void)ctx;
    (void)i;
    (void)slot;
    (void)err;
    return 0;
}

static int each(void *ctx, uint32_t n, rlt_layout_outcome *out, rlt_layout_answer answer, void *job,
                rlt_error *err)
{
    rlt_plan_workers *w = ctx;
    uint32_t own = n > w->rank ? (n - w->rank - 1) / w->ranks + 1 : 0, most = w->threads * PARTS;
    questions r = {w, n, own < most ? own : most, out, answer, job};
    rlt_pool_work work = {.n = r.parts, .slots = r.parts, .ctx = &r, .run = run_part, .take = take_part};
    int rc = w->answers ? rlt_answers_flush(w->answers, err) : 0;
    if (!rc && own)
        rc = rlt_pool_run(&work, w->threads, err);
    if (w->ranks > 1) {
        rc = rlt_ranks_share(out, sizeof *out, n, rc, err);
        w->told = rc != 0;
    }
    return rc;
}

static bool recall(void *ctx, const rlt_layout_task *t, rlt_layout_outcome *out)
{
    const rlt_plan_workers *w = ctx;
    return rlt_answers_recall(w->answers, t, out);
}

static int keep(void *ctx, const rlt_layout_task *t, const rlt_layout_outcome *o, rlt_error *err)
{
    rlt_plan_workers *w = ctx;
    return rlt_answers_keep(w->answers, t, o, err);
}

static void seen(void *ctx, uint64_t simulated, rlt_time best_ps, rlt_time least_ps)
{
    rlt_plan_workers *w = ctx;
    double best = (double)best_ps, gap = least_ps < best_ps ? 100 * (1 - (double)least_ps / best) : 0;
    if (!w->bar.label)
        return;
    if (best_ps == RLT_TIME_MAX)
        snprintf(w->label, sizeof w->label, "none simulated, least bound %.4g s ", (double)least_ps / 1e12);
    else
        snprintf(w->label, sizeof w->label, "%llu simulated, best %.4g s, gap %.1f %% ",
                 (unsigned long long)simulated, best / 1e12, gap);
    rlt_progress_update(&w->bar, 0, 0);
}

int rlt_plan_workers_open(rlt_plan_workers *w, uint64_t jobs, rlt_error *err)
{
    *w = (rlt_plan_workers){.threads = 1, .ranks = 1};
    int rc = rlt_ranks_begin(&w->ranks, &w->rank, err);
    if (rc)
        return rc;
    w->threads = jobs || w->ranks == 1 ? rlt_pool_threads(jobs) : 1;
    w->busy = malloc(w->threads * sizeof *w->busy);
    for (uint32_t i = 0; w->busy && i < w->threads; i++)
        atomic_flag_clear(&w->busy[i]);
    return w->busy ? 0 : rlt_nomem(err);
}

void rlt_plan_workers_close(rlt_plan_workers *w)
{
    free(w->busy);
    rlt_ranks_end(w->rank, false);
}

int rlt_plan_agree(rlt_plan_workers *w, int rc, rlt_error *err)
{
    if (w->ranks == 1 || w->told)
        return rc;
    rc = rlt_ranks_share(NULL, 0, 0, rc, err);
    w->told = rc != 0;
    return rc;
}

int rlt_plan_watched(rlt_plan_workers *w, bool quiet, const rlt_layout_search *how, rlt_plan_search *search,
                     void *of, rlt_error *err)
{
    rlt_layout_search p = *how;
    w->hooks = (rlt_layout_hooks){.ctx = w, .workers = w->threads, .each = each, .seen = seen};
    w->watch = rlt_interrupt_watcher();
    if (w->answers) {
        w->hooks.recall = recall;
        w->hooks.keep = keep;
    }
    if (w->ranks > 1) /* ranks stop together, in a round */
        w->watch.stopped = NULL;
    p.watch = &w->watch;
    p.hooks = &w->hooks;
    if (!quiet && w->rank == 0)
        rlt_progress_start(&w->bar, w->label);
    int rc = search(of, &p, err);
    if (w->bar.label)
        rlt_progress_clear();
    w->bar.label = NULL;
    int flushed = w->answers ? rlt_answers_flush(w->answers, rc ? NULL : err) : 0;
    return rlt_plan_agree(w, rc ? rc : flushed, err);
}
