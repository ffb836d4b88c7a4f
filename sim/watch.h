/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who looks on while something is simulated, which may be several simulations one after the other: it can
 * stop them, and learns how far they are. Each function may be NULL; all get `ctx`. A watch is of one thread.
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
    /* From now on this simulation runs: rlt_sim_stop, from any thread or a signal's handler, ends it with
     * RLT_ECANCELLED. NULL, before it is freed: it runs no more. */
    void (*running)(void *ctx, rlt_sim *sim);
    /* Now and then, on the thread that simulates; total 0: unknown. */
    void (*progress)(void *ctx, uint64_t done, uint64_t total);
    /* Whether it asked for the end: a run that stopped without was stopped by its own limit. */
    bool (*stopped)(void *ctx);
    /* What the user should know of what was loaded, in a sentence. */
    void (*note)(void *ctx, const char *text);
} rlt_watch;

/* For whoever simulates; `w` NULL: nobody looks on. */
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
