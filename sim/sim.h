/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A simulation: a clock and its event queue. It is a value: no globals, one thread each, any number at a
 * time.
 *
 * An event is (time, class, handler, payload). At one instant, completions run before starts, and starts
 * before the solve, so that a model sees every change of an instant before it computes rates once. Within a
 * class events run in the order in which they were scheduled. An event scheduled for the present in a class
 * that has passed runs in the class that is running.
 *
 * Handlers are registered once and named by a small number; scheduling allocates nothing (slots are reused).
 * A handler that fails calls rlt_sim_fail; the run then stops and returns that error.
 */
#ifndef RLT_SIM_SIM_H
#define RLT_SIM_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/time.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rlt_class {
    RLT_COMPLETE = 0, /* something ended */
    RLT_START = 1,    /* something begins */
    RLT_SOLVE = 2,    /* rates are computed from the state of the instant */
    RLT_OBSERVE = 3,  /* samples and limits: sees the instant settled */
} rlt_class;

typedef struct rlt_sim rlt_sim;
typedef void (*rlt_handler)(void *ctx, uint64_t payload);

/* An event that can be cancelled. {0} and stale handles are harmless. */
typedef struct rlt_event {
    uint32_t slot, generation;
} rlt_event;

RLT_API int rlt_sim_create(rlt_sim **out, rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_sim_free(rlt_sim *sim);

/* A number for rlt_sim_at, or a negative code (at most 255 handlers). ctx is borrowed. */
RLT_API int rlt_sim_handler(rlt_sim *sim, rlt_handler fn, void *ctx) RLT_MUST_USE;

/* What a simulation begins with, so that reading it costs no call; not for changing. */
typedef struct rlt_sim_head {
    rlt_time now;
    uint64_t scheduled, events;
} rlt_sim_head;

static inline rlt_time rlt_sim_now(const rlt_sim *sim)
{
    return ((const rlt_sim_head *)(const void *)sim)->now;
}
/* Grows with each event scheduled, and is never 0. Who has just scheduled one knows by it that nothing came
 * after, and may have that event stand for one more at the same time and class: see rlt_sim_also. */
static inline uint64_t rlt_sim_scheduled(const rlt_sim *sim)
{
    return ((const rlt_sim_head *)(const void *)sim)->scheduled;
}
/* From a handler whose event stands for several: one more of them is being handled. */
static inline void rlt_sim_also(rlt_sim *sim)
{
    ((rlt_sim_head *)(void *)sim)->events++;
}
/* Schedules; a time in the past, at or beyond RLT_TIME_MAX, or no memory fails the simulation (see
 * rlt_sim_fail) and returns {0}. */
RLT_API rlt_event rlt_sim_at(rlt_sim *sim, rlt_time when, rlt_class cls, int handler, uint64_t payload);
/* The same for an event that is never cancelled and has a 32-bit payload: cheaper, as it needs no slot. */
RLT_API void rlt_sim_post(rlt_sim *sim, rlt_time when, rlt_class cls, int handler, uint32_t payload);
/* True if the event was still to come. */
RLT_API bool rlt_sim_cancel(rlt_sim *sim, rlt_event ev);
/* True while the event is still to come. */
RLT_API bool rlt_sim_pending(const rlt_sim *sim, rlt_event ev);

/* Runs until nothing is pending, a handler failed, rlt_sim_stop was called, or the next event lies beyond
 * `until` (RLT_TIME_MAX: no limit). In that last case the clock is then at `until`; else at the last event
 * handled. 0, or the error. */
RLT_API int rlt_sim_run(rlt_sim *sim, rlt_time until, rlt_error *err) RLT_MUST_USE;
/* From a handler: record the error and stop. The first one stays. Returns code. */
RLT_API int rlt_sim_fail(rlt_sim *sim, int code, const char *where, const char *fmt, ...) RLT_PRINTF(4);
/* Stops the simulation before the next event. May be called from a handler or from outside
 * (async-signal-safe, other threads too). rlt_sim_run then returns RLT_ECANCELLED with the state of that
 * instant intact, so partial results can be read. */
RLT_API void rlt_sim_stop(rlt_sim *sim);

/* Called about every `every` events with ctx, for progress; not part of the simulated state. */
RLT_API void rlt_sim_on_progress(rlt_sim *sim, uint64_t every, void (*fn)(void *ctx, const rlt_sim *sim),
                                 void *ctx);

RLT_API uint64_t rlt_sim_events(const rlt_sim *sim); /* handled so far */
RLT_API bool rlt_sim_more(const rlt_sim *sim);       /* events are still to come */

#ifdef __cplusplus
}
#endif
#endif
