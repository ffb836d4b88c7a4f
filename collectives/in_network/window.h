/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the workers of a job wait for: each has places for j->window chunks under way. A chunk whose result
 * does not come in time is sent again, until it was sent too often. A place's timer is number
 * worker * j->window + chunk mod j->window; protocols may have others from j->workers * j->window on.
 */
#ifndef RLT_COLLECTIVES_IN_NETWORK_WINDOW_H
#define RLT_COLLECTIVES_IN_NETWORK_WINDOW_H

#include <stdint.h>

#include "collectives/in_network/reactor.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_window_place {
    uint32_t chunk, tries;
    rlt_event timer;
} rlt_window_place;

typedef struct rlt_window {
    rlt_window_place *places;
    rlt_time rto;     /* 0: waits for ever */
    uint64_t tries;   /* times that a chunk is sent again */
    uint64_t backoff; /* the rto doubles after so many, ten times at most; 0: never */
} rlt_window;

/* Once workers and window are settled. */
int rlt_window_create(rlt_window *w, const rlt_fabric_job *j, rlt_error *err) RLT_MUST_USE;
void rlt_window_free(rlt_window *w);

static inline rlt_window_place *rlt_window_at(const rlt_window *w, const rlt_fabric_job *j, uint32_t worker,
                                              uint32_t chunk)
{
    return &w->places[(size_t)worker * j->window + chunk % j->window];
}
/* A chunk takes its place, for the first time. */
static inline rlt_window_place *rlt_window_take(const rlt_window *w, const rlt_fabric_job *j, uint32_t worker,
                                                uint32_t chunk)
{
    rlt_window_place *p = rlt_window_at(w, j, worker, chunk);
    *p = (rlt_window_place){.chunk = chunk};
    return p;
}
/* Its packet leaves then: from there on it has the rto's time. */
void rlt_window_wait(const rlt_window *w, rlt_fabric_job *j, uint32_t worker, rlt_window_place *p,
                     rlt_time leaves);
/* Its result is there. */
static inline void rlt_window_got(const rlt_window *w, rlt_fabric_job *j, uint32_t worker, uint32_t chunk)
{
    rlt_sim_cancel(j->sim, rlt_window_at(w, j, worker, chunk)->timer);
}
/* Timer `what` is there: the place of *worker to be sent again. NULL: it was too often, and the run fails. */
rlt_window_place *rlt_window_late(const rlt_window *w, rlt_fabric_job *j, uint64_t what, uint32_t *worker);

#ifdef __cplusplus
}
#endif
#endif
