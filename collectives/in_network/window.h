/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The window of each worker: j->window places for chunks under way, with timers. A chunk is retransmitted
 * when its timer expires, and the run fails when it has been sent too often. The timer of a place has the
 * number worker * j->window + chunk mod j->window. Protocols may use timers from j->workers * j->window on
 * for themselves.
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
    rlt_time rto;   /* retransmission timeout; 0: never */
    uint64_t tries; /* limit of retransmissions of a chunk */
    /* the timeout doubles after every `backoff` retransmissions, ten times at most; 0: never */
    uint64_t backoff;
} rlt_window;

/* Creates the places; workers and window must be settled. */
int rlt_window_create(rlt_window *w, const rlt_fabric_job *j, rlt_error *err) RLT_MUST_USE;
void rlt_window_free(rlt_window *w);

static inline rlt_window_place *rlt_window_at(const rlt_window *w, const rlt_fabric_job *j, uint32_t worker,
                                              uint32_t chunk)
{
    return &w->places[(size_t)worker * j->window + chunk % j->window];
}
/* Gives a chunk its place before its first transmission. */
static inline rlt_window_place *rlt_window_take(const rlt_window *w, const rlt_fabric_job *j, uint32_t worker,
                                                uint32_t chunk)
{
    rlt_window_place *p = rlt_window_at(w, j, worker, chunk);
    *p = (rlt_window_place){.chunk = chunk};
    return p;
}
/* Starts the timer of a place: the chunk's packet leaves at `leaves`, and times out one rto later. */
void rlt_window_wait(const rlt_window *w, rlt_fabric_job *j, uint32_t worker, rlt_window_place *p,
                     rlt_time leaves);
/* Stops the timer of a chunk whose result has arrived. */
static inline void rlt_window_got(const rlt_window *w, rlt_fabric_job *j, uint32_t worker, uint32_t chunk)
{
    rlt_sim_cancel(j->sim, rlt_window_at(w, j, worker, chunk)->timer);
}
/* Handles timer `what`. Returns the place to retransmit, and its worker; NULL if the chunk was sent too
 * often, which fails the run. */
rlt_window_place *rlt_window_late(const rlt_window *w, rlt_fabric_job *j, uint64_t what, uint32_t *worker);

#ifdef __cplusplus
}
#endif
#endif
