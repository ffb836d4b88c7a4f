/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The clock and the events. An event owns a slot, which holds its handler and payload. The queue holds a key
 * and the slot's number and generation. Firing or cancelling an event raises the slot's generation and frees
 * the slot, so handles and queue entries of earlier generations are stale. A slot that has used up its
 * generations is retired.
 */
#include "sim/sim.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/queue.h"

#define CLASS_BITS   2
#define CLASS_MASK   ((1u << CLASS_BITS) - 1)
#define MAX_HANDLERS 255
#define NUMBERS      (1u << (31 - RLT_PLACE_BITS)) /* handlers that a tag can name */
/* Stale entries below which a compaction is not worth its cost. */
#define STALE_MIN 64
/* Slots (256 KiB) that stay in a core's cache without prefetching. */
#define CACHED_SLOTS 16384
#define FETCH_AHEAD  8
/* Entries with generations from here on own no slot: the index is the payload, the low bits are the place,
 * the bits above them the handler. */
#define POSTED     0x80000000u /* as in rlt_sim_tag */
#define PLACE_MASK ((1u << RLT_PLACE_BITS) - 1)
/* Last generation of a slot, never given to an event. */
#define RETIRED POSTED

typedef struct slot {
    uint64_t payload;
    uint32_t generation;
    uint32_t handler; /* while free: the next free slot, or RLT_NONE */
} slot;

typedef struct handler {
    rlt_handler fn;
    void *ctx;
} handler;

struct rlt_sim {
    rlt_sim_head head; /* first: sim.h relies on it */
    uint32_t free_slot, slots_used, slots_capacity;
    int handlers_used;
    slot *slots;
    uint64_t progress_at;
    atomic_int halt; /* HALT_* */
    bool running;
    uint64_t stale; /* entries in the queue whose event was cancelled */
    uint64_t progress_every;
    void (*progress)(void *ctx, const rlt_sim *sim);
    void *progress_ctx;
    /* by place: number of the last instant that had an event there; NULL: no places */
    uint32_t *busy, busy_mask, instant;
    rlt_queue queue;
    handler handlers[NUMBERS];  /* those that are not registered fail */
    rlt_rank_of ranks[NUMBERS]; /* by handler; NULL: 0 */
    rlt_error error;
};

enum { HALT_NO, HALT_YES };

static void not_registered(void *ctx, uint64_t payload)
{
    (void)payload;
    rlt_sim_fail(ctx, RLT_EUSAGE, NULL, "an event of a handler that is not registered");
}

/* Makes the handlers from number `first` on fail. */
static void unregister(rlt_sim *sim, int first)
{
    for (unsigned i = (unsigned)first; i < NUMBERS; i++) {
        sim->handlers[i] = (handler){not_registered, sim};
        sim->ranks[i] = NULL;
    }
    sim->handlers_used = first;
}

int rlt_sim_create(rlt_sim **out, rlt_error *err)
{
    *out = NULL;
    rlt_sim *sim = calloc(1, sizeof *sim);
    if (!sim)
        return rlt_nomem(err);
    sim->free_slot = RLT_NONE;
    sim->head.scheduled = 1;
    sim->head.running = RLT_OBSERVE;
    unregister(sim, 0);
    sim->progress_at = UINT64_MAX;
    atomic_init(&sim->halt, HALT_NO); /* the queue of zeroes is an empty one */
    *out = sim;
    return 0;
}

void rlt_sim_free(rlt_sim *sim)
{
    if (!sim)
        return;
    rlt_queue_free(&sim->queue);
    free(sim->busy);
    free(sim->slots);
    free(sim);
}

int rlt_sim_handler(rlt_sim *sim, rlt_handler fn, void *ctx)
{
    if (!fn)
        return RLT_EUSAGE;
    if (sim->handlers_used == MAX_HANDLERS)
        return RLT_ERANGE;
    sim->handlers[sim->handlers_used] = (handler){fn, ctx};
    return sim->handlers_used++;
}

int rlt_sim_register(rlt_sim *sim, void *ctx, const rlt_handler_entry *entries, size_t n, rlt_error *err)
{
    for (size_t i = 0; i < n; i++) {
        int number = *entries[i].number = rlt_sim_handler(sim, entries[i].fn, ctx);
        if (number < 0)
            return rlt_fail(err, number, NULL, "too many event handlers in one simulation");
    }
    return 0;
}

int rlt_sim_handlers(const rlt_sim *sim)
{
    return sim->handlers_used;
}

void rlt_sim_forget(rlt_sim *sim, int first)
{
    if (first >= 0 && first < sim->handlers_used)
        unregister(sim, first);
}

uint64_t rlt_sim_events(const rlt_sim *sim)
{
    return sim->head.events;
}

bool rlt_sim_more(const rlt_sim *sim)
{
    return sim->queue.pending > sim->stale;
}

bool rlt_sim_next(rlt_sim *sim, rlt_time *when)
{
    uint64_t key;
    if (!rlt_sim_more(sim) || !rlt_queue_peek(&sim->queue, &key))
        return false;
    *when = (rlt_time)(key >> CLASS_BITS);
    return true;
}

static uint32_t new_slot(rlt_sim *sim)
{
    if (sim->slots_used == sim->slots_capacity &&
        rlt_grow(&sim->slots, &sim->slots_capacity, sizeof *sim->slots, (uint64_t)sim->slots_used + 1,
                 UINT32_MAX - 1, "events", NULL) < 0)
        return RLT_NONE;
    sim->slots[sim->slots_used].generation = 1;
    return sim->slots_used++;
}

static inline void free_slot(rlt_sim *sim, uint32_t i)
{
    slot *s = &sim->slots[i];
    if (++s->generation == RETIRED)
        return;
    s->handler = sim->free_slot;
    sim->free_slot = i;
}

static uint64_t key_of(const rlt_sim *sim, rlt_time when, rlt_class cls)
{
    uint64_t key = (uint64_t)when << CLASS_BITS | (unsigned)cls;
    return key < sim->queue.last ? sim->queue.last : key; /* its class has passed: use the current one */
}

static inline bool is_time(const rlt_sim *sim, rlt_time when, rlt_class cls)
{
    return __builtin_expect(
               (uint64_t)when - (uint64_t)sim->head.now < (uint64_t)(RLT_TIME_MAX - sim->head.now), 1) &&
           __builtin_expect((unsigned)cls <= CLASS_MASK, 1);
}

static inline bool is_allowed(const rlt_sim *sim, rlt_time when, rlt_class cls, int number)
{
    return __builtin_expect((unsigned)number < (unsigned)sim->handlers_used, 1) && is_time(sim, when, cls);
}

static rlt_event refuse(rlt_sim *sim, rlt_time when, rlt_class cls, int number)
{
    if ((unsigned)number >= (unsigned)sim->handlers_used)
        rlt_sim_fail(sim, RLT_EUSAGE, NULL, "no event handler has the number %d", number);
    else if ((unsigned)cls > CLASS_MASK)
        rlt_sim_fail(sim, RLT_EUSAGE, NULL, "no event class has the number %u", (unsigned)cls);
    else if (when < sim->head.now)
        rlt_sim_fail(sim, RLT_ERANGE, NULL, "an event at %lld ps is in the past; now is %lld ps",
                     (long long)when, (long long)sim->head.now);
    else
        rlt_sim_fail(sim, RLT_ERANGE, NULL,
                     "an event is after the end of simulated time (2^61 ps, 26 days); now is %lld ps",
                     (long long)sim->head.now);
    return (rlt_event){0};
}

static void no_memory_for_event(rlt_sim *sim)
{
    rlt_sim_fail(sim, RLT_ENOMEM, NULL, "no memory for one more event; %llu are pending",
                 (unsigned long long)sim->queue.pending);
}

/* Slow path of rlt_sim_at: makes a slot or room in the queue, or refuses the event. */
__attribute__((noinline)) static rlt_event at_slow(rlt_sim *sim, rlt_time when, rlt_class cls, int number,
                                                   uint64_t payload)
{
    if (!is_allowed(sim, when, cls, number))
        return refuse(sim, when, cls, number);
    uint32_t i = sim->free_slot;
    if (i != RLT_NONE)
        sim->free_slot = sim->slots[i].handler;
    else
        i = new_slot(sim);
    if (i != RLT_NONE) {
        slot *s = &sim->slots[i];
        s->payload = payload;
        s->handler = (uint32_t)number;
        rlt_event ev = {i, s->generation};
        sim->head.scheduled++;
        if (rlt_queue_push(&sim->queue, (rlt_entry){key_of(sim, when, cls), i, s->generation}) == 0)
            return ev;
        free_slot(sim, i);
    }
    no_memory_for_event(sim);
    return (rlt_event){0};
}

rlt_event rlt_sim_at(rlt_sim *sim, rlt_time when, rlt_class cls, int number, uint64_t payload)
{
    uint32_t i = sim->free_slot;
    if (!is_allowed(sim, when, cls, number) || i == RLT_NONE)
        return at_slow(sim, when, cls, number, payload);
    slot *s = &sim->slots[i];
    rlt_event ev = {i, s->generation};
    if (!rlt_queue_push_fast(&sim->queue, (rlt_entry){key_of(sim, when, cls), i, ev.generation}))
        return at_slow(sim, when, cls, number, payload);
    sim->head.scheduled++;
    sim->free_slot = s->handler;
    s->payload = payload;
    s->handler = (uint32_t)number;
    return ev;
}

__attribute__((noinline)) static void post_slow(rlt_sim *sim, rlt_time when, rlt_class cls, rlt_tag tag,
                                                uint32_t payload)
{
    sim->head.scheduled++;
    if (!is_time(sim, when, cls))
        refuse(sim, when, cls, (int)((tag ^ POSTED) >> RLT_PLACE_BITS));
    else if (rlt_queue_push(&sim->queue, (rlt_entry){key_of(sim, when, cls), payload, tag}) != 0)
        no_memory_for_event(sim);
}

void rlt_sim_post_at(rlt_sim *sim, rlt_time when, rlt_class cls, rlt_tag tag, uint32_t payload)
{
    if (!is_time(sim, when, cls) ||
        !rlt_queue_push_fast(&sim->queue, (rlt_entry){key_of(sim, when, cls), payload, tag}))
        post_slow(sim, when, cls, tag, payload);
    else
        sim->head.scheduled++;
}

void rlt_sim_post(rlt_sim *sim, rlt_time when, rlt_class cls, int number, uint32_t payload)
{
    if ((unsigned)number >= (unsigned)sim->handlers_used)
        refuse(sim, when, cls, number);
    else
        rlt_sim_post_at(sim, when, cls, rlt_sim_tag(number), payload);
}

int rlt_sim_places(rlt_sim *sim, uint32_t n)
{
    uint32_t room = 1;
    while (room < n && room <= PLACE_MASK)
        room *= 2;
    uint32_t *busy = calloc(room, sizeof *busy);
    if (!busy)
        return RLT_ENOMEM;
    free(sim->busy);
    sim->busy = busy;
    sim->busy_mask = room - 1;
    sim->instant = 0;
    return 0;
}

void rlt_sim_ranks(rlt_sim *sim, int number, rlt_rank_of fn)
{
    sim->ranks[number] = fn;
}

bool rlt_sim_pending(const rlt_sim *sim, rlt_event ev)
{
    /* The generation of a free slot has not been given to any event yet. */
    return ev.slot < sim->slots_used && ev.generation != 0 && ev.generation != RETIRED &&
           sim->slots[ev.slot].generation == ev.generation;
}

static bool is_live(void *ctx, const rlt_entry *e)
{
    const rlt_sim *sim = ctx;
    return e->generation >= POSTED || sim->slots[e->index].generation == e->generation;
}

static void drop_cancelled(rlt_sim *sim)
{
    rlt_queue_filter(&sim->queue, is_live, sim);
    sim->stale = 0;
}

bool rlt_sim_cancel(rlt_sim *sim, rlt_event ev)
{
    if (!rlt_sim_pending(sim, ev))
        return false;
    free_slot(sim, ev.slot);
    sim->stale++;
    if (sim->stale > STALE_MIN && sim->stale * 2 > sim->queue.pending)
        drop_cancelled(sim);
    return true;
}

int rlt_sim_fail(rlt_sim *sim, int code, const char *where, const char *fmt, ...)
{
    if (sim->error.code == 0) {
        va_list args;
        va_start(args, fmt);
        rlt_vfail(&sim->error, code, where, fmt, args);
        va_end(args);
    }
    if (sim->error.code != 0)
        atomic_store_explicit(&sim->halt, HALT_YES, memory_order_relaxed);
    return code;
}

void rlt_sim_stop(rlt_sim *sim)
{
    atomic_store_explicit(&sim->halt, HALT_YES, memory_order_relaxed);
}

void rlt_sim_on_progress(rlt_sim *sim, uint64_t every, void (*fn)(void *ctx, const rlt_sim *sim), void *ctx)
{
    sim->progress = fn;
    sim->progress_ctx = ctx;
    sim->progress_every = every;
    sim->progress_at =
        fn && every && every <= UINT64_MAX - sim->head.events ? sim->head.events + every : UINT64_MAX;
}

static void report_progress(rlt_sim *sim)
{
    sim->progress_at = sim->head.events + sim->progress_every;
    sim->progress(sim->progress_ctx, sim);
}

/* Drops the cancelled events if the next one is at `until`. Otherwise their classes would count as passed
 * when the run continues. */
static void drop_cancelled_at(rlt_sim *sim, rlt_time until)
{
    uint64_t key = 0;
    if (rlt_queue_peek(&sim->queue, &key) && (rlt_time)(key >> CLASS_BITS) == until)
        drop_cancelled(sim);
}

/* Returns true if two events of the present instant and class may be at one place. Entries with a slot have
 * none: taking their generation for it costs at most a needless arrangement. */
static bool clashes(rlt_sim *sim, const rlt_bucket *b)
{
    const rlt_entry *end = b->items + b->n;
    uint32_t *busy = sim->busy, mask = sim->busy_mask;
    if (++sim->instant == 0) {
        memset(busy, 0, ((size_t)mask + 1) * sizeof *busy);
        sim->instant = 1;
    }
    uint32_t instant = sim->instant;
#pragma GCC unroll 4
    for (const rlt_entry *e = b->items; e < end; e++) {
        uint32_t *last = &busy[e->generation & mask];
        if (*last == instant)
            return true;
        *last = instant;
    }
    return false;
}

/* Puts the events of the present instant and class in the order of handler and rank, those with a slot
 * first. Their places are no longer needed: ranks replace them. */
static int arrange(rlt_sim *sim, const rlt_bucket *b)
{
    for (rlt_entry *e = b->items; e < b->items + b->n; e++) {
        if (e->generation < POSTED)
            continue;
        uint32_t number = (e->generation ^ POSTED) >> RLT_PLACE_BITS;
        e->generation &= ~PLACE_MASK;
        if (sim->ranks[number])
            e->generation |= sim->ranks[number](sim->handlers[number].ctx, e->index) & PLACE_MASK;
    }
    return rlt_queue_arrange(&sim->queue, POSTED);
}

/* Moves the clock to the next instant and class with a live event. Returns false when there is nothing to
 * run; the clock then stands at `until` if events are left. */
static bool advance(rlt_sim *sim, rlt_time until)
{
    rlt_queue *q = &sim->queue;
    uint64_t most = until < RLT_TIME_MAX ? (uint64_t)until << CLASS_BITS | CLASS_MASK : UINT64_MAX;
    for (;;) {
        if (q->pending == sim->stale) {
            /* Only cancelled events are left; their times must not move the clock. */
            drop_cancelled(sim);
            return false;
        }
        if (sim->stale > 0 && until < RLT_TIME_MAX)
            drop_cancelled_at(sim, until);
        int rc = rlt_queue_advance(q, most);
        if (rc == 0) {
            sim->head.now = until;
            return false;
        }
        const rlt_bucket *b = &q->buckets[q->last % RLT_QUEUE_VALUES];
        if (sim->busy && rc > 0 && b->n > 1 && q->head == 0 && clashes(sim, b))
            rc = arrange(sim, b);
        if (rc < 0) {
            rlt_sim_fail(sim, rc, NULL, "no memory to sort %llu pending events",
                         (unsigned long long)q->pending);
            return false;
        }
        if (is_live(sim, rlt_queue_tie(q)))
            break;
        rlt_queue_take(q);
        sim->stale--;
    }
    sim->head.now = (rlt_time)(q->last >> CLASS_BITS);
    sim->head.running = (rlt_class)(q->last & CLASS_MASK);
    return true;
}

/* Pops and handles the queue's next entry e, which owns a slot. */
static inline void handle_slot(rlt_sim *sim, const rlt_entry *e)
{
    uint32_t i = e->index;
    slot *s = &sim->slots[i];
    if (sim->slots_used > CACHED_SLOTS) {
        /* Slots of one instant's events are scattered in memory: prefetch. (In a function of its own gcc
         * drops the prefetch.) */
        const rlt_bucket *b = &sim->queue.buckets[sim->queue.last % RLT_QUEUE_VALUES];
        if (b->items + b->n - e > FETCH_AHEAD)
            __builtin_prefetch(&sim->slots[e[FETCH_AHEAD].index]);
    }
    bool live = s->generation == e->generation;
    rlt_queue_take(&sim->queue);
    if (!live) {
        sim->stale--;
        return;
    }
    const handler *h = &sim->handlers[s->handler];
    uint64_t payload = s->payload;
    free_slot(sim, i);
    sim->head.events++;
    h->fn(h->ctx, payload);
}

static inline void handle(rlt_sim *sim, const rlt_entry *e)
{
    if (e->generation >= POSTED) {
        const handler *h = &sim->handlers[(e->generation ^ POSTED) >> RLT_PLACE_BITS];
        uint32_t payload = e->index;
        rlt_queue_take(&sim->queue);
        sim->head.events++;
        h->fn(h->ctx, payload);
    } else {
        handle_slot(sim, e);
    }
    if (sim->head.events >= sim->progress_at)
        report_progress(sim);
}

static bool is_halted(const rlt_sim *sim)
{
    return atomic_load_explicit(&sim->halt, memory_order_relaxed) != HALT_NO;
}

/* Handles the events of the queue's last key, those included that it gets meanwhile. */
static void run_instant(rlt_sim *sim)
{
    const rlt_queue *q = &sim->queue;
    const rlt_bucket *b = &q->buckets[q->last % RLT_QUEUE_VALUES];
    while (q->head < b->n && !is_halted(sim))
        handle(sim, &b->items[q->head]);
}

int rlt_sim_run(rlt_sim *sim, rlt_time until, rlt_error *err)
{
    if (sim->running)
        return rlt_fail(err, RLT_EUSAGE, NULL, "the simulation is already running");
    sim->running = true;
    sim->head.running = (rlt_class)(sim->queue.last & CLASS_MASK);
    if (until >= sim->head.now) {
        do
            run_instant(sim);
        while (!is_halted(sim) && advance(sim, until));
    }
    sim->running = false;
    sim->head.running = RLT_OBSERVE;
    if (sim->error.code != 0)
        return rlt_fail(err, sim->error.code, sim->error.where, "%s", sim->error.what);
    if (atomic_exchange_explicit(&sim->halt, HALT_NO, memory_order_relaxed) != HALT_NO)
        return rlt_fail(err, RLT_ECANCELLED, NULL, "stopped on request at %lld ps", (long long)sim->head.now);
    return 0;
}
