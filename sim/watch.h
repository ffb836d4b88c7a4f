/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A watch observes a piece of work that may run several simulations one after the other. It can stop them and
 * it learns their progress. Each function may be NULL; all get `ctx`. A watch belongs to one thread.
 */
#ifndef RLT_SIM_WATCH_H
#define RLT_SIM_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_watch {
    void *ctx;
    /* Called when a simulation starts to run, and with NULL before it is freed. While it runs, rlt_sim_stop
     * ends it with RLT_ECANCELLED, from any thread or a signal handler. */
    void (*running)(void *ctx, rlt_sim *sim);
    /* Called now and then on the simulating thread. total is 0 if unknown. */
    void (*progress)(void *ctx, uint64_t done, uint64_t total);
    /* Returns true if the watch asked for the end. A run that stopped otherwise was stopped by its own
     * limit. */
    bool (*stopped)(void *ctx);
    /* Passes on one sentence about loaded input that the user should know. */
    void (*note)(void *ctx, const char *text);
} rlt_watch;

/* Helpers for simulating code; `w` may be NULL (no watch). */
static inline void rlt_watch_running(const rlt_watch *w, rlt_sim *sim)
{
    if (w && w->running)
        w->running(w->ctx, sim);
}
static inline void rlt_watch_progress(const rlt_watch *w, uint64_t done, uint64_t total)
{
    if (w && w->progress)
        w->progress(w->ctx, done, total);
}
static inline bool rlt_watch_stopped(const rlt_watch *w)
{
    return w && w->stopped && w->stopped(w->ctx);
}

#ifdef __cplusplus
}
#endif
#endif
