/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A simulation: a clock and its event queue. It is a plain value without globals. One thread runs it; any
 * number of simulations may exist at a time.
 *
 * An event is (time, class, handler, payload). At one instant, completions run before starts, and starts
 * before the solve, so that a model sees every change of an instant before it computes rates once. Within a
 * class, events run in the order in which they were scheduled. An event that is scheduled for the present
 * instant, in a class that has already run, runs in the current class.
 *
 * A model whose result must not depend on the order of scheduling says at which place an event happens
 * (rlt_sim_post_at), and how events of one place are ranked (rlt_sim_ranks). Events of one instant and class
 * at one place then run in the order of handler, rank and scheduling, except that those scheduled for the
 * instant and class that is running come last. Events at different places must not affect each other within
 * an instant: their order is free.
 *
 * Handlers are registered once and named by a small number. Scheduling reuses slots and allocates nothing. A
 * handler that fails calls rlt_sim_fail; the run then stops and returns that error.
 */
#ifndef RLT_SIM_SIM_H
#define RLT_SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/time.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rlt_class {
    RLT_COMPLETE = 0, /* something ended */
    RLT_START = 1,    /* something begins */
    RLT_SOLVE = 2,    /* rates are computed, and ports choose, from the state of the instant */
    RLT_OBSERVE = 3,  /* samples and limits: runs after the solve */
} rlt_class;

typedef struct rlt_sim rlt_sim;
typedef void (*rlt_handler)(void *ctx, uint64_t payload);

/* A cancellable event. {0} and stale handles are harmless. */
typedef struct rlt_event {
    uint32_t slot, generation;
} rlt_event;

RLT_API int rlt_sim_create(rlt_sim **out, rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_sim_free(rlt_sim *sim);

/* Registers a handler. Returns its number for rlt_sim_at, or a negative code (at most 255 handlers). ctx is
 * borrowed. */
RLT_API int rlt_sim_handler(rlt_sim *sim, rlt_handler fn, void *ctx) RLT_MUST_USE;

/* A handler, and where its number goes. */
typedef struct rlt_handler_entry {
    rlt_handler fn;
    int *number;
} rlt_handler_entry;

/* Registers n handlers with one context, and writes their numbers. Errors: RLT_ERANGE, "too many event
 * handlers in one simulation"; the handlers before that one stay registered. */
RLT_API int rlt_sim_register(rlt_sim *sim, void *ctx, const rlt_handler_entry *entries, size_t n,
                             rlt_error *err) RLT_MUST_USE;

/* Returns the number of handlers. */
RLT_API int rlt_sim_handlers(const rlt_sim *sim);
/* Forgets the handlers from number `first` on. None of their events may be pending. */
RLT_API void rlt_sim_forget(rlt_sim *sim, int first);

/* First member of a simulation, public so that reading it costs no call. Read only. */
typedef struct rlt_sim_head {
    rlt_time now;
    uint64_t scheduled, events;
    rlt_class running; /* class of the instant; RLT_OBSERVE between runs */
} rlt_sim_head;

static inline rlt_time rlt_sim_now(const rlt_sim *sim)
{
    return ((const rlt_sim_head *)(const void *)sim)->now;
}
/* Returns a counter that grows with each event scheduled and is never 0. A caller that finds it unchanged
 * since its own last event knows that nothing was scheduled in between. That event may then stand for one
 * more at the same time and class: see rlt_sim_also. */
static inline uint64_t rlt_sim_scheduled(const rlt_sim *sim)
{
    return ((const rlt_sim_head *)(const void *)sim)->scheduled;
}
/* Counts one more event. For a handler whose event stands for several. */
static inline void rlt_sim_also(rlt_sim *sim)
{
    ((rlt_sim_head *)(void *)sim)->events++;
}
/* Does not count the event that is being handled. For one that turns out to stand for none. */
static inline void rlt_sim_not(rlt_sim *sim)
{
    ((rlt_sim_head *)(void *)sim)->events--;
}
/* Returns the class of events that is running, the last one between runs. */
static inline rlt_class rlt_sim_class(const rlt_sim *sim)
{
    return ((const rlt_sim_head *)(const void *)sim)->running;
}
/* Schedules an event. Fails the simulation (see rlt_sim_fail) and returns {0} for a time in the past, a time
 * at or beyond RLT_TIME_MAX, or when memory runs out. */
RLT_API rlt_event rlt_sim_at(rlt_sim *sim, rlt_time when, rlt_class cls, int handler, uint64_t payload);
/* As rlt_sim_at, for an event that is never cancelled and has a 32-bit payload. Cheaper: it needs no slot. */
RLT_API void rlt_sim_post(rlt_sim *sim, rlt_time when, rlt_class cls, int handler, uint32_t payload);
/* Events have places from now on, `n` of them. RLT_ENOMEM. */
RLT_API int rlt_sim_places(rlt_sim *sim, uint32_t n) RLT_MUST_USE;
/* A handler and a place. Places whose low RLT_PLACE_BITS are equal count as one. */
typedef uint32_t rlt_tag;
#define RLT_PLACE_BITS 23
/* Returns the tag of a registered handler at place 0; place it. */
static inline rlt_tag rlt_sim_tag(int handler)
{
    return 0x80000000u | (uint32_t)handler << RLT_PLACE_BITS;
}
static inline rlt_tag rlt_tag_at(rlt_tag tag, uint32_t place)
{
    return tag | (place & ((1u << RLT_PLACE_BITS) - 1));
}
static inline uint32_t rlt_tag_place(rlt_tag tag)
{
    return tag & ((1u << RLT_PLACE_BITS) - 1);
}
/* As rlt_sim_post, for an event at a place. An event of a handler that is not
 * registered fails when its time has come. */
RLT_API void rlt_sim_post_at(rlt_sim *sim, rlt_time when, rlt_class cls, rlt_tag tag, uint32_t payload);
/* Returns the rank of an event; its low RLT_PLACE_BITS count. Gets the ctx of the handler. Without it the
 * rank is 0. */
typedef uint32_t (*rlt_rank_of)(void *ctx, uint32_t payload);
RLT_API void rlt_sim_ranks(rlt_sim *sim, int handler, rlt_rank_of fn);
/* Cancels an event. Returns true if it was still pending. */
RLT_API bool rlt_sim_cancel(rlt_sim *sim, rlt_event ev);
/* Returns true while the event is pending. */
RLT_API bool rlt_sim_pending(const rlt_sim *sim, rlt_event ev);

/* Runs until nothing is pending, a handler failed, rlt_sim_stop was called, or the next event lies beyond
 * `until` (RLT_TIME_MAX: no limit). The clock then stands at `until` in the last case, otherwise at the last
 * event handled. Returns 0 or the error. */
RLT_API int rlt_sim_run(rlt_sim *sim, rlt_time until, rlt_error *err) RLT_MUST_USE;
/* Records an error and stops the run; called from a handler. The first error stays. Returns code. */
RLT_API int rlt_sim_fail(rlt_sim *sim, int code, const char *where, const char *fmt, ...) RLT_PRINTF(4);
/* Stops the simulation before the next event. May be called from a handler or from outside
 * (async-signal-safe, other threads too). rlt_sim_run then returns RLT_ECANCELLED with the state of that
 * instant intact, so partial results can be read. */
RLT_API void rlt_sim_stop(rlt_sim *sim);

/* Calls fn(ctx, sim) about every `every` events, for progress. Not part of the simulated state. */
RLT_API void rlt_sim_on_progress(rlt_sim *sim, uint64_t every, void (*fn)(void *ctx, const rlt_sim *sim),
                                 void *ctx);

RLT_API uint64_t rlt_sim_events(const rlt_sim *sim); /* events handled so far */
RLT_API bool rlt_sim_more(const rlt_sim *sim);       /* true while events are pending */
/* Reads a time before which no pending event lies. Returns false if none is pending. */
RLT_API bool rlt_sim_next(rlt_sim *sim, rlt_time *when);

#ifdef __cplusplus
}
#endif
#endif
