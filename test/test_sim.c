/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The simulation core: event queue and clock, each against a plain reference; memory, maps, random streams.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sim/map.h"
#include "sim/mem.h"
#include "sim/queue.h"
#include "sim/random.h"
#include "sim/sim.h"

#define N(a) (sizeof(a) / sizeof *(a))

/* A stream of test numbers: one per call. */
typedef struct dice {
    uint64_t seed, k;
} dice;

static uint64_t roll(dice *d, uint64_t n)
{
    return rlt_random_below(d->seed, 0, 0, d->k++, n);
}

/* ---- queue ---- */

enum { LIMIT = 400 };

/* The reference: entries in the order of their pushes; the next is the first one with the least key. */
typedef struct reference {
    rlt_entry entries[LIMIT];
    unsigned n;
} reference;

static unsigned next_of(const reference *r)
{
    unsigned next = 0;
    for (unsigned i = 1; i < r->n; i++)
        if (r->entries[i].key < r->entries[next].key)
            next = i;
    return next;
}

static void remove_at(reference *r, unsigned i)
{
    memmove(&r->entries[i], &r->entries[i + 1], (r->n - i - 1) * sizeof r->entries[0]);
    r->n--;
}

static bool keep_two_thirds(void *ctx, const rlt_entry *e)
{
    (void)ctx;
    return e->index % 3 != 0;
}

/* Every entry lies in the bucket that its key asks for, and the books are right. */
static void check_shape(const rlt_queue *q)
{
    uint64_t pending = 0, room = 0;
    for (unsigned b = 0; b < RLT_QUEUE_BUCKETS; b++) {
        const rlt_bucket *bucket = &q->buckets[b];
        bool current = b == q->last % RLT_QUEUE_VALUES, marked = q->occupied[b / 64] >> (b % 64) & 1;
        unsigned from = current ? q->head : 0;
        assert_true(from <= bucket->n && bucket->n <= bucket->capacity);
        assert_true(marked || bucket->n == 0);
        assert_true(!marked || bucket->n > 0);
        for (unsigned i = from; i < bucket->n; i++)
            assert_int_equal(rlt_queue_bucket(bucket->items[i].key, q->last), b);
        pending += bucket->n - from;
        room += bucket->capacity;
    }
    assert_true(pending == q->pending && room == q->room);
}

static uint64_t later_key(dice *d, uint64_t last, int kind)
{
    uint64_t delay;
    switch (kind) {
    case 0: /* ties */
        delay = roll(d, 4);
        break;
    case 1: /* all magnitudes */
        delay = rlt_random_u64(d->seed, 1, 0, d->k++) >> roll(d, 64);
        break;
    case 2: /* few distinct delays, as in training traffic */
        delay = (uint64_t[]){0, 1000, 1000000, 4000000}[roll(d, 4)];
        break;
    default:
        delay = roll(d, 5000);
    }
    return delay > UINT64_MAX - last ? UINT64_MAX : last + delay;
}

static void queue_against_reference(int kind, uint64_t seed)
{
    static rlt_queue q;
    static reference r;
    dice d = {seed, 0};
    rlt_queue_init(&q);
    r.n = 0;
    for (uint32_t i = 0; i < 12000; i++) {
        /* Phases of growth and of shrinking. */
        if (r.n < LIMIT && roll(&d, 100) < (i / 1000 % 2 ? 45u : 55u)) {
            rlt_entry e = {later_key(&d, q.last, kind), i, ~i};
            assert_int_equal(rlt_queue_push(&q, e), 0);
            r.entries[r.n++] = e;
        } else {
            rlt_entry e = {0};
            int error = 1;
            uint64_t key = 0;
            unsigned next = next_of(&r);
            assert_int_equal(rlt_queue_peek(&q, &key), r.n > 0);
            assert_int_equal(rlt_queue_pop(&q, &e, &error), r.n > 0);
            assert_int_equal(error, 0);
            if (r.n > 0) {
                assert_true(key == r.entries[next].key);
                assert_true(q.last == key);
                assert_memory_equal(&e, &r.entries[next], sizeof e);
                remove_at(&r, next);
            }
        }
        if (roll(&d, 500) == 0) {
            rlt_queue_filter(&q, keep_two_thirds, NULL);
            for (unsigned k = r.n; k-- > 0;)
                if (r.entries[k].index % 3 == 0)
                    remove_at(&r, k);
        }
        if (i % 16 == 0)
            check_shape(&q);
        assert_int_equal(q.pending, r.n);
    }
    rlt_queue_free(&q);
}

static void queue_pops_in_order(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++)
        for (uint64_t seed = 1; seed <= 3; seed++)
            queue_against_reference(kind, seed);
}

static void queue_refuses_the_past(void **state)
{
    (void)state;
    static rlt_queue q;
    rlt_entry e;
    rlt_queue_init(&q);
    assert_int_equal(rlt_queue_push(&q, (rlt_entry){100, 1, 1}), 0);
    assert_int_equal(rlt_queue_push(&q, (rlt_entry){UINT64_MAX, 2, 1}), 0);
    assert_true(rlt_queue_pop(&q, &e, NULL));
    assert_int_equal(rlt_queue_push(&q, (rlt_entry){99, 3, 1}), RLT_ERANGE);
    assert_int_equal(rlt_queue_push(&q, (rlt_entry){100, 4, 1}), 0);
    assert_int_equal(q.pending, 2);
    assert_true(rlt_queue_pop(&q, &e, NULL) && e.index == 4);
    assert_true(rlt_queue_pop(&q, &e, NULL) && e.index == 2 && e.key == UINT64_MAX);
    assert_false(rlt_queue_pop(&q, &e, NULL));
    assert_int_equal(rlt_queue_push(&q, (rlt_entry){UINT64_MAX - 1, 5, 1}), RLT_ERANGE);
    rlt_queue_free(&q);
}

/* A bucket that claims to be as large as can be: neither a push nor a redistribution may lose or reorder
 * anything. */
static void queue_survives_lack_of_room(void **state)
{
    (void)state;
    static rlt_queue q;
    static const uint64_t keys[] = {0x100, 0x145, 0x123, 0x123, 0x188, 0x100};
    rlt_queue_init(&q);
    for (uint32_t i = 0; i < N(keys); i++)
        assert_int_equal(rlt_queue_push(&q, (rlt_entry){keys[i], i, 1}), 0);
    rlt_bucket *blocked = &q.buckets[rlt_queue_bucket(0x123, 0x100)];
    blocked->n = blocked->capacity = UINT32_MAX;
    int error = 0;
    rlt_entry e;
    assert_false(rlt_queue_pop(&q, &e, &error));
    assert_int_equal(error, RLT_ENOMEM);
    assert_int_equal(blocked->n, 0);
    blocked->capacity = 0;
    check_shape(&q);
    static const uint32_t order[] = {0, 5, 2, 3, 1, 4};
    for (unsigned i = 0; i < N(order); i++)
        assert_true(rlt_queue_pop(&q, &e, &error) && e.index == order[i] && e.key == keys[order[i]]);

    rlt_bucket *far = &q.buckets[rlt_queue_bucket(0x5000, q.last)];
    rlt_bucket saved = *far;
    far->n = far->capacity = UINT32_MAX;
    assert_int_equal(rlt_queue_push(&q, (rlt_entry){0x5000, 9, 1}), RLT_ENOMEM);
    assert_int_equal(q.pending, 0);
    *far = saved;
    rlt_queue_free(&q);
}

/* What is kept allocated follows what is pending: 64 bytes an entry and 1 MiB, whatever the peak was. */
static void queue_gives_memory_back(void **state)
{
    (void)state;
    static rlt_queue q;
    dice d = {11, 0};
    rlt_entry e = {0};
    rlt_queue_init(&q);
    const uint32_t peak = 300000;
    for (uint32_t i = 0; i < peak; i++)
        assert_int_equal(rlt_queue_push(&q, (rlt_entry){roll(&d, 1u << 20), i, 1}), 0);
    uint64_t last = q.last;
    for (uint32_t i = 0; i < 2 * peak; i++) { /* wander through all buckets */
        assert_true(rlt_queue_pop(&q, &e, NULL));
        if (e.key !=
            last) /* a new instant: nothing was pushed since the arrays were looked at, but one entry */
            assert_true(q.room <= 4 * (q.pending + 1) + 65536 + 2 * (uint64_t)peak);
        last = e.key;
        e.key += roll(&d, 1u << 20);
        assert_int_equal(rlt_queue_push(&q, e), 0);
    }
    while (rlt_queue_pop(&q, &e, NULL))
        ;
    assert_true(q.room <= 65536);
    check_shape(&q);
    /* Two events that call each other forever at one instant do not pile up. */
    assert_int_equal(rlt_queue_push(&q, e), 0);
    assert_int_equal(rlt_queue_push(&q, e), 0);
    for (uint32_t i = 0; i < 1000000; i++) {
        assert_true(rlt_queue_pop(&q, &e, NULL));
        assert_int_equal(rlt_queue_push(&q, e), 0);
    }
    assert_true(q.room <= 65536 + 1024);
    rlt_queue_free(&q);
}

/* ---- sim ---- */

enum { LOG = 4096 };

typedef struct world {
    rlt_sim *sim;
    int handler;
    uint64_t log[LOG];
    rlt_time at[LOG];
    unsigned n;
} world;

static void record(void *ctx, uint64_t payload)
{
    world *w = ctx;
    assert_true(w->n < LOG);
    w->at[w->n] = rlt_sim_now(w->sim);
    w->log[w->n++] = payload;
}

static int set_up(void **state)
{
    world *w = calloc(1, sizeof *w);
    if (!w || rlt_sim_create(&w->sim, NULL) < 0)
        return -1;
    w->handler = rlt_sim_handler(w->sim, record, w);
    *state = w;
    return w->handler < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
    world *w = *state;
    rlt_sim_free(w->sim);
    free(w);
    return 0;
}

static int run_all(world *w)
{
    return rlt_sim_run(w->sim, RLT_TIME_MAX, NULL);
}

static void expect_log(const world *w, const char *expected)
{
    char got[LOG + 1];
    for (unsigned i = 0; i < w->n; i++)
        got[i] = (char)w->log[i];
    got[w->n] = '\0';
    assert_string_equal(got, expected);
}

static void classes_order_an_instant(void **state)
{
    world *w = *state;
    rlt_sim_at(w->sim, 10, RLT_OBSERVE, w->handler, 'g');
    rlt_sim_at(w->sim, 10, RLT_SOLVE, w->handler, 'e');
    rlt_sim_at(w->sim, 10, RLT_START, w->handler, 'c');
    rlt_sim_at(w->sim, 10, RLT_COMPLETE, w->handler, 'a');
    rlt_sim_at(w->sim, 10, RLT_COMPLETE, w->handler, 'b');
    rlt_sim_at(w->sim, 10, RLT_START, w->handler, 'd');
    rlt_sim_at(w->sim, 10, RLT_SOLVE, w->handler, 'f');
    rlt_sim_at(w->sim, 9, RLT_OBSERVE, w->handler, '0');
    rlt_sim_at(w->sim, 11, RLT_COMPLETE, w->handler, 'h');
    assert_true(rlt_sim_more(w->sim));
    assert_int_equal(run_all(w), 0);
    expect_log(w, "0abcdefgh");
    assert_int_equal(rlt_sim_now(w->sim), 11);
    assert_int_equal(rlt_sim_events(w->sim), 9);
    assert_false(rlt_sim_more(w->sim));
}

static void in_solve(void *ctx, uint64_t payload)
{
    world *w = ctx;
    record(w, payload);
    /* Earlier classes of the present run now, behind what waits in this class; the later one still comes
     * later. */
    rlt_sim_at(w->sim, 10, RLT_OBSERVE, w->handler, 'o');
    rlt_sim_at(w->sim, 10, RLT_COMPLETE, w->handler, 'c');
    rlt_sim_at(w->sim, 10, RLT_SOLVE, w->handler, 's');
    rlt_sim_at(w->sim, 11, RLT_COMPLETE, w->handler, 'n');
}

static void passed_classes_run_in_the_present_one(void **state)
{
    world *w = *state;
    int solve = rlt_sim_handler(w->sim, in_solve, w);
    rlt_sim_at(w->sim, 10, RLT_SOLVE, solve, '1');
    rlt_sim_at(w->sim, 10, RLT_SOLVE, w->handler, '2');
    assert_int_equal(run_all(w), 0);
    expect_log(w, "12cson");
}

static void cancelled_events_never_run(void **state)
{
    world *w = *state;
    rlt_event a = rlt_sim_at(w->sim, 5, RLT_START, w->handler, 'a');
    rlt_event b = rlt_sim_at(w->sim, 5, RLT_START, w->handler, 'b');
    assert_true(rlt_sim_pending(w->sim, a));
    assert_true(rlt_sim_cancel(w->sim, a));
    assert_false(rlt_sim_pending(w->sim, a));
    assert_false(rlt_sim_cancel(w->sim, a));
    /* The slot is used again: the old handle stays dead. */
    rlt_event c = rlt_sim_at(w->sim, 4, RLT_START, w->handler, 'c');
    assert_false(rlt_sim_cancel(w->sim, a));
    assert_true(rlt_sim_pending(w->sim, c));
    rlt_event late = rlt_sim_at(w->sim, 100, RLT_START, w->handler, 'x');
    assert_true(rlt_sim_cancel(w->sim, late));
    assert_int_equal(run_all(w), 0);
    expect_log(w, "cb");
    assert_int_equal(rlt_sim_now(w->sim), 5); /* not 100: a cancelled event does not move the clock */
    assert_false(rlt_sim_pending(w->sim, b));
    assert_false(rlt_sim_cancel(w->sim, b));
    assert_false(rlt_sim_cancel(w->sim, (rlt_event){0}));
    assert_false(rlt_sim_cancel(w->sim, (rlt_event){12345, 1}));
    assert_false(rlt_sim_pending(w->sim, (rlt_event){0, UINT32_MAX}));
    /* Between the last event and the cancelled one there is still time. */
    assert_int_not_equal(rlt_sim_at(w->sim, 6, RLT_START, w->handler, 'd').generation, 0);
    assert_int_equal(run_all(w), 0);
    expect_log(w, "cbd");
    assert_int_equal(rlt_sim_now(w->sim), 6);
}

typedef struct self_cancel {
    world *w;
    rlt_event self, other;
} self_cancel;

static void cancel_others(void *ctx, uint64_t payload)
{
    self_cancel *c = ctx;
    record(c->w, payload);
    assert_false(rlt_sim_pending(c->w->sim, c->self)); /* it has come */
    assert_false(rlt_sim_cancel(c->w->sim, c->self));
    assert_true(rlt_sim_cancel(c->w->sim, c->other));
}

static void events_cancel_their_neighbours(void **state)
{
    world *w = *state;
    self_cancel c = {.w = w};
    int h = rlt_sim_handler(w->sim, cancel_others, &c);
    c.self = rlt_sim_at(w->sim, 5, RLT_START, h, '1');
    c.other = rlt_sim_at(w->sim, 5, RLT_START, w->handler, 'x');
    rlt_sim_at(w->sim, 5, RLT_START, w->handler, '2');
    assert_int_equal(run_all(w), 0);
    expect_log(w, "12");
}

static void until_leaves_the_rest_pending(void **state)
{
    world *w = *state;
    rlt_sim_at(w->sim, 10, RLT_START, w->handler, 'a');
    rlt_sim_at(w->sim, 20, RLT_OBSERVE, w->handler, 'b');
    rlt_sim_at(w->sim, 30, RLT_START, w->handler, 'd');
    rlt_event gone = rlt_sim_at(w->sim, 20, RLT_OBSERVE, w->handler, 'x');
    assert_true(rlt_sim_cancel(w->sim, gone));
    assert_int_equal(rlt_sim_run(w->sim, 9, NULL), 0);
    expect_log(w, "");
    assert_int_equal(rlt_sim_now(w->sim), 9);
    assert_int_equal(rlt_sim_run(w->sim, 20, NULL), 0);
    expect_log(w, "ab");
    assert_int_equal(rlt_sim_now(w->sim), 20);
    assert_int_equal(rlt_sim_run(w->sim, 5, NULL), 0); /* the past: nothing happens */
    assert_int_equal(rlt_sim_now(w->sim), 20);
    assert_true(rlt_sim_more(w->sim));
    rlt_sim_at(w->sim, 20, RLT_COMPLETE, w->handler, 'c');
    assert_int_equal(rlt_sim_run(w->sim, 29, NULL), 0);
    expect_log(w, "abc");
    assert_int_equal(rlt_sim_run(w->sim, 1000, NULL), 0);
    expect_log(w, "abcd");
    assert_int_equal(rlt_sim_now(w->sim), 30); /* nothing pending: the last event's time */
}

static void expect_refusal(world *w, rlt_event ev, int code)
{
    assert_int_equal(ev.generation, 0);
    rlt_error err = {0};
    assert_int_equal(rlt_sim_run(w->sim, RLT_TIME_MAX, &err), code);
    assert_int_equal(err.code, code);
    assert_true(strlen(err.what) > 10);
    assert_int_equal(w->n, 0);
}

static void wrong_events_fail_the_run(void **state)
{
    (void)state;
    for (int wrong = 0; wrong < 6; wrong++) {
        void *fresh = NULL;
        assert_int_equal(set_up(&fresh), 0);
        world *w = fresh;
        assert_int_equal(rlt_sim_run(w->sim, 0, NULL), 0);
        rlt_time when = wrong == 0 ? -1 : wrong == 1 ? RLT_TIME_MAX : wrong == 2 ? INT64_MIN : 5;
        if (wrong == 5)
            when = INT64_MAX;
        rlt_class cls = wrong == 3 ? (rlt_class)4 : RLT_START;
        int handler = wrong == 4 ? w->handler + 1 : w->handler;
        expect_refusal(w, rlt_sim_at(w->sim, when, cls, handler, 0),
                       wrong == 3 || wrong == 4 ? RLT_EUSAGE : RLT_ERANGE);
        tear_down(&fresh);
    }
}

static void the_last_moment_is_usable(void **state)
{
    world *w = *state;
    rlt_sim_at(w->sim, RLT_TIME_MAX - 1, RLT_OBSERVE, w->handler, 'z');
    assert_int_equal(run_all(w), 0);
    assert_int_equal(rlt_sim_now(w->sim), RLT_TIME_MAX - 1);
    assert_int_equal(rlt_sim_at(w->sim, RLT_TIME_MAX - 2, RLT_START, w->handler, 0).generation, 0);
    assert_int_equal(run_all(w), RLT_ERANGE);
}

static void fails(void *ctx, uint64_t payload)
{
    world *w = ctx;
    record(w, payload);
    assert_int_equal(rlt_sim_fail(w->sim, RLT_ECHECK, "rank 3", "lost %d bytes", 7), RLT_ECHECK);
    assert_int_equal(rlt_sim_fail(w->sim, RLT_EIO, "rank 4", "a consequence"), RLT_EIO);
}

static void failures_stop_the_run(void **state)
{
    world *w = *state;
    int h = rlt_sim_handler(w->sim, fails, w);
    rlt_sim_at(w->sim, 1, RLT_START, h, 'a');
    rlt_sim_at(w->sim, 1, RLT_START, w->handler, 'b');
    for (int i = 0; i < 2; i++) { /* it stays failed */
        rlt_error err = {0};
        assert_int_equal(rlt_sim_run(w->sim, RLT_TIME_MAX, &err), RLT_ECHECK);
        assert_string_equal(err.where, "rank 3");
        assert_string_equal(err.what, "lost 7 bytes");
    }
    expect_log(w, "a");
}

static void handlers_are_bounded(void **state)
{
    world *w = *state;
    assert_int_equal(rlt_sim_handler(w->sim, NULL, w), RLT_EUSAGE);
    for (int i = 1; i < 255; i++)
        assert_true(rlt_sim_handler(w->sim, record, w) > 0);
    assert_true(rlt_sim_handler(w->sim, record, w) < 0);
}

static void runs_again(void *ctx, uint64_t payload)
{
    world *w = ctx;
    record(w, payload);
    assert_int_equal(rlt_sim_run(w->sim, RLT_TIME_MAX, NULL), RLT_EUSAGE);
}

static void runs_do_not_nest(void **state)
{
    world *w = *state;
    rlt_sim_at(w->sim, 1, RLT_START, rlt_sim_handler(w->sim, runs_again, w), 'a');
    rlt_sim_at(w->sim, 2, RLT_START, w->handler, 'b');
    assert_int_equal(run_all(w), 0);
    expect_log(w, "ab");
}

static void stops(void *ctx, uint64_t payload)
{
    world *w = ctx;
    record(w, payload);
    rlt_sim_stop(w->sim);
}

static void a_stopped_run_can_go_on(void **state)
{
    world *w = *state;
    rlt_sim_at(w->sim, 1, RLT_START, rlt_sim_handler(w->sim, stops, w), 'a');
    rlt_sim_at(w->sim, 1, RLT_START, w->handler, 'b');
    assert_int_equal(run_all(w), RLT_ECANCELLED);
    expect_log(w, "a");
    assert_int_equal(rlt_sim_now(w->sim), 1);
    rlt_sim_stop(w->sim); /* before a run: that run does not begin */
    assert_int_equal(run_all(w), RLT_ECANCELLED);
    expect_log(w, "a");
    assert_int_equal(run_all(w), 0);
    expect_log(w, "ab");
}

static void ticks(void *ctx, uint64_t payload)
{
    world *w = ctx;
    rlt_sim_at(w->sim, rlt_sim_now(w->sim) + 1, RLT_START, (int)payload, payload);
}

static rlt_sim *interrupted;

static void on_signal(int number)
{
    (void)number;
    rlt_sim_stop(interrupted);
}

static void *stop_from_thread(void *sim)
{
    usleep(2000);
    rlt_sim_stop(sim);
    return NULL;
}

/* An endless run ends when a signal or another thread says so. */
static void outsiders_stop_the_run(void **state)
{
    world *w = *state;
    int h = rlt_sim_handler(w->sim, ticks, w);
    rlt_sim_at(w->sim, 1, RLT_START, h, (uint64_t)h);
    interrupted = w->sim;
    signal(SIGALRM, on_signal);
    ualarm(2000, 0);
    assert_int_equal(run_all(w), RLT_ECANCELLED);
    signal(SIGALRM, SIG_DFL);
    uint64_t events = rlt_sim_events(w->sim);
    assert_true(events > 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, stop_from_thread, w->sim), 0);
    assert_int_equal(run_all(w), RLT_ECANCELLED);
    pthread_join(thread, NULL);
    assert_true(rlt_sim_events(w->sim) > events);
}

static void count_progress(void *ctx, const rlt_sim *sim)
{
    uint64_t *calls = ctx;
    ++*calls;
    assert_int_equal(rlt_sim_events(sim), *calls * 10);
}

static void progress_is_reported(void **state)
{
    world *w = *state;
    uint64_t calls = 0;
    rlt_sim_on_progress(w->sim, 10, count_progress, &calls);
    for (int i = 0; i < 105; i++)
        rlt_sim_at(w->sim, i, RLT_START, w->handler, 0);
    assert_int_equal(run_all(w), 0);
    assert_int_equal(calls, 10);
    rlt_sim_on_progress(w->sim, 0, count_progress, &calls);
    for (int i = 0; i < 20; i++)
        rlt_sim_at(w->sim, 200, RLT_START, w->handler, 0);
    assert_int_equal(run_all(w), 0);
    assert_int_equal(calls, 10);
}

/* A random program: each event schedules and cancels others. The reference is a plain list. */
typedef struct model_event {
    uint64_t key, payload;
    rlt_event handle;
} model_event;

typedef struct model {
    world *w;
    dice d;
    int handler;
    model_event list[LIMIT];
    unsigned n;
    uint64_t made, key; /* key of the running event */
} model;

static void model_schedule(model *m)
{
    rlt_time delay = (rlt_time)(roll(&m->d, 3) ? roll(&m->d, 4) : roll(&m->d, 100000));
    unsigned cls = (unsigned)roll(&m->d, 4);
    rlt_time when = rlt_sim_now(m->w->sim) + delay;
    uint64_t key = (uint64_t)when * 4 + cls, payload = m->made++;
    rlt_event ev = rlt_sim_at(m->w->sim, when, (rlt_class)cls, m->handler, payload);
    assert_int_not_equal(ev.generation, 0);
    m->list[m->n++] = (model_event){key < m->key ? m->key : key, payload, ev};
}

static void model_remove(model *m, unsigned i)
{
    memmove(&m->list[i], &m->list[i + 1], (m->n - i - 1) * sizeof m->list[0]);
    m->n--;
}

static void model_step(void *ctx, uint64_t payload)
{
    model *m = ctx;
    unsigned next = 0;
    for (unsigned i = 1; i < m->n; i++)
        if (m->list[i].key < m->list[next].key)
            next = i;
    assert_true(m->n > 0);
    assert_int_equal(payload, m->list[next].payload);
    assert_int_equal(rlt_sim_now(m->w->sim), m->list[next].key / 4);
    m->key = m->list[next].key;
    model_remove(m, next);
    for (uint64_t k = roll(&m->d, 6); k > 0 && m->n < LIMIT && m->made < 40000; k--)
        model_schedule(m);
    for (uint64_t k = roll(&m->d, 5); k > 0 && m->n > 3; k--) {
        unsigned i = (unsigned)roll(&m->d, m->n);
        assert_true(rlt_sim_pending(m->w->sim, m->list[i].handle));
        assert_true(rlt_sim_cancel(m->w->sim, m->list[i].handle));
        assert_false(rlt_sim_pending(m->w->sim, m->list[i].handle));
        model_remove(m, i);
    }
    assert_int_equal(rlt_sim_more(m->w->sim), m->n > 0);
}

static void random_programs_follow_the_reference(void **state)
{
    (void)state;
    static model m;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        void *fresh = NULL;
        assert_int_equal(set_up(&fresh), 0);
        m = (model){.w = fresh, .d = {seed, 0}};
        m.handler = rlt_sim_handler(m.w->sim, model_step, &m);
        rlt_time until = 0;
        while (m.made < 40000 || m.n > 0) {
            while (m.n < 40 && m.made < 40000)
                model_schedule(&m);
            if (seed % 2) /* in slices; a slice leaves the key of its last instant behind */
                until += (rlt_time)roll(&m.d, 1000);
            assert_int_equal(rlt_sim_run(m.w->sim, seed % 2 ? until : RLT_TIME_MAX, NULL), 0);
            if (rlt_sim_now(m.w->sim) > (rlt_time)(m.key / 4))
                m.key = (uint64_t)rlt_sim_now(m.w->sim) * 4;
        }
        assert_int_equal(m.n, 0);
        tear_down(&fresh);
    }
}

static long peak_rss_KiB(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;
}

/* Four million timers, each set far ahead and cancelled: kept, their entries would take 64 MB. */
static void cancelled_events_take_no_memory(void **state)
{
    world *w = *state;
    rlt_event live[100];
    for (unsigned i = 0; i < 100; i++)
        live[i] = rlt_sim_at(w->sim, RLT_S + i, RLT_START, w->handler, i);
    long before = peak_rss_KiB();
    for (uint64_t i = 0; i < 4000000; i++)
        assert_true(
            rlt_sim_cancel(w->sim, rlt_sim_at(w->sim, RLT_S + (rlt_time)i, RLT_START, w->handler, 0)));
    assert_true(peak_rss_KiB() - before < 16384);
    for (unsigned i = 0; i < 100; i++)
        assert_true(rlt_sim_pending(w->sim, live[i]));
    assert_int_equal(run_all(w), 0);
    assert_int_equal(w->n, 100);
    for (unsigned i = 0; i < 100; i++)
        assert_true(w->log[i] == i && w->at[i] == RLT_S + i);
}

/* ---- memory ---- */

static void arenas(void **state)
{
    (void)state;
    rlt_arena a = {0};
    dice d = {5, 0};
    enum { COUNT = 3000 };
    static unsigned char *blocks[COUNT];
    static size_t sizes[COUNT];
    for (int round = 0; round < 2; round++) { /* usable again after free */
        size_t total = 0;
        for (unsigned i = 0; i < COUNT; i++) {
            sizes[i] = i % 500 == 0 ? 3000000 : (size_t)roll(&d, 300);
            blocks[i] = rlt_arena_alloc(&a, sizes[i]);
            assert_non_null(blocks[i]);
            assert_int_equal((uintptr_t)blocks[i] % 16, 0);
            for (size_t k = 0; k < sizes[i]; k += 97)
                assert_int_equal(blocks[i][k], 0);
            memset(blocks[i], (int)(i % 251) + 1, sizes[i]);
            total += sizes[i];
        }
        assert_true(a.used_bytes >= total);
        for (unsigned i = 0; i < COUNT; i++) /* nobody wrote over a neighbour */
            for (size_t k = 0; k < sizes[i]; k += 31)
                assert_int_equal(blocks[i][k], i % 251 + 1);
        assert_null(rlt_arena_array(&a, SIZE_MAX / 2, 3));
        assert_null(rlt_arena_alloc(&a, SIZE_MAX));
        assert_null(rlt_arena_alloc(&a, SIZE_MAX - 40));
        assert_non_null(rlt_arena_array(&a, 0, 8));
        assert_string_equal(rlt_arena_strdup(&a, "abc"), "abc");
        assert_string_equal(rlt_arena_strndup(&a, "abcdef", 2), "ab");
        assert_string_equal(rlt_arena_strndup(&a, "ab", 100), "ab");
        assert_string_equal(rlt_arena_printf(&a, "%d-%s", 42, "x"), "42-x");
        rlt_arena_free(&a);
        assert_int_equal(a.used_bytes, 0);
    }
}

static void growing_arrays(void **state)
{
    (void)state;
    uint64_t *items = NULL;
    uint32_t capacity = 0, moves = 0, before = 0;
    for (uint32_t i = 0; i < 100000; i++) {
        assert_int_equal(rlt_grow(&items, &capacity, sizeof *items, i + 1, 100000, "things", NULL), 0);
        assert_true(capacity > i && capacity <= 100000);
        moves += capacity != before;
        before = capacity;
        items[i] = i;
    }
    assert_true(moves < 20);
    for (uint32_t i = 0; i < 100000; i++)
        assert_int_equal(items[i], i);
    uint64_t *same = items;
    rlt_error err = {0};
    assert_int_equal(rlt_grow(&items, &capacity, sizeof *items, 100001, 100000, "things", &err), RLT_ERANGE);
    assert_non_null(strstr(err.what, "things"));
    assert_non_null(strstr(err.what, "100000"));
    assert_ptr_equal(items, same);
    assert_int_equal(capacity, 100000);
    assert_int_equal(rlt_grow(&items, &capacity, SIZE_MAX / 4, 200000, UINT64_MAX, "things", NULL),
                     RLT_ENOMEM);
    assert_int_equal(rlt_grow(&items, &capacity, 1, UINT64_MAX, UINT64_MAX, "things", NULL), RLT_ERANGE);
    assert_ptr_equal(items, same);
    free(items);
}

static void pools(void **state)
{
    (void)state;
    enum { COUNT = 2000 };
    static uint32_t held[COUNT];
    rlt_pool p;
    rlt_pool_init(&p, 24);
    for (uint32_t i = 0; i < COUNT; i++) {
        held[i] = rlt_pool_get(&p);
        assert_int_equal(held[i], i);
        memset(rlt_pool_at(&p, held[i]), (int)(i % 256), 24);
    }
    for (uint32_t i = 0; i < COUNT; i++)
        for (unsigned k = 0; k < 24; k++)
            assert_int_equal(((unsigned char *)rlt_pool_at(&p, held[i]))[k], i % 256);
    for (uint32_t i = 0; i < COUNT; i += 2)
        rlt_pool_put(&p, held[i]);
    static bool taken[COUNT];
    memset(taken, 0, sizeof taken);
    for (uint32_t i = 0; i < COUNT / 2; i++) { /* exactly the freed ones come back, each once */
        uint32_t k = rlt_pool_get(&p);
        assert_true(k < COUNT && k % 2 == 0 && !taken[k]);
        taken[k] = true;
    }
    assert_int_equal(rlt_pool_get(&p), COUNT);
    rlt_pool_free(&p);
    assert_int_equal(rlt_pool_get(&p), 0);
    rlt_pool_free(&p);
}

static void write_file(const char *path, const void *data, size_t length)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, length, f), length);
    assert_int_equal(fclose(f), 0);
}

static void files(void **state)
{
    (void)state;
    char path[] = "/tmp/rlt-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    static char data[200000];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)(i * 7 % 251); /* NULs among them */
    static const size_t lengths[] = {0, 1, 65535, 65536, 65537, sizeof data};
    for (size_t i = 0; i < N(lengths); i++) {
        size_t n = lengths[i], length = 99;
        char *text = NULL;
        write_file(path, data, n);
        assert_int_equal(rlt_read_file(path, n, &text, &length, NULL), 0); /* the limit itself is allowed */
        assert_int_equal(length, n);
        assert_memory_equal(text, data, n);
        assert_int_equal(text[n], 0);
        free(text);
        if (n > 0) {
            rlt_error err = {0};
            assert_int_equal(rlt_read_file(path, n - 1, &text, &length, &err), RLT_ERANGE);
            assert_null(text);
            assert_string_equal(err.where, path);
        }
        /* The same through standard input, where no length is known beforehand. */
        int saved = dup(STDIN_FILENO), file = open(path, O_RDONLY);
        dup2(file, STDIN_FILENO);
        close(file);
        int rc = rlt_read_file("-", sizeof data, &text, &length, NULL);
        dup2(saved, STDIN_FILENO);
        close(saved);
        assert_int_equal(rc, 0);
        assert_int_equal(length, n);
        assert_memory_equal(text, data, n);
        free(text);
    }
    remove(path);
    char *text;
    size_t length;
    rlt_error missing = {0}, directory = {0};
    assert_int_equal(rlt_read_file(path, 10, &text, &length, &missing), RLT_EIO);
    assert_string_equal(missing.where, path);
    assert_int_equal(rlt_read_file("/tmp", SIZE_MAX, &text, &length, &directory), RLT_EIO);
    assert_non_null(strstr(directory.what, "directory"));
    assert_int_equal(rlt_read_file("/dev/zero", 300000, &text, &length, NULL),
                     RLT_ERANGE); /* without an end */
    assert_null(text);
}

static void *fill_pipe(void *ctx)
{
    int fd = *(int *)ctx;
    static char data[4096];
    memset(data, 'p', sizeof data);
    for (int i = 0; i < 100; i++)
        for (size_t done = 0; done < sizeof data;) {
            ssize_t n = write(fd, data + done, sizeof data - done);
            if (n < 0)
                return NULL;
            done += (size_t)n;
        }
    close(fd);
    return NULL;
}

static void pipes(void **state)
{
    (void)state;
    int ends[2], saved = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, fill_pipe, &ends[1]), 0);
    char *text;
    size_t length;
    int rc = rlt_read_file("-", 409600, &text, &length, NULL);
    pthread_join(thread, NULL);
    dup2(saved, STDIN_FILENO);
    close(saved);
    assert_int_equal(rc, 0);
    assert_int_equal(length, 409600);
    for (size_t i = 0; i < length; i++)
        assert_int_equal(text[i], 'p');
    free(text);
}

/* ---- maps ---- */

static void maps_follow_a_plain_array(void **state)
{
    (void)state;
    enum { KEYS = 700 };
    static uint32_t want[KEYS];
    /* Keys in a row, keys that differ in high bits only, and random ones. */
    for (int kind = 0; kind < 3; kind++) {
        rlt_map m = {0};
        dice d = {(uint64_t)kind + 20, 0};
        uint32_t n = 0;
        memset(want, 0xff, sizeof want);
        for (int step = 0; step < 60000; step++) {
            uint32_t i = (uint32_t)roll(&d, KEYS);
            uint64_t key = kind == 0 ? i : kind == 1 ? (uint64_t)i << 54 : rlt_random_u64(9, i, 0, 0);
            assert_int_equal(rlt_map_get(&m, key), want[i]);
            if (roll(&d, 100) < (step / 5000 % 2 ? 30u : 70u)) {
                uint32_t value = (uint32_t)roll(&d, UINT32_MAX);
                assert_int_equal(rlt_map_put(&m, key, value), 0);
                n += want[i] == UINT32_MAX;
                want[i] = value;
            } else {
                rlt_map_remove(&m, key);
                n -= want[i] != UINT32_MAX;
                want[i] = UINT32_MAX;
            }
            assert_int_equal(m.n, n);
        }
        for (uint32_t i = 0; i < KEYS; i++) {
            uint64_t key = kind == 0 ? i : kind == 1 ? (uint64_t)i << 54 : rlt_random_u64(9, i, 0, 0);
            assert_int_equal(rlt_map_get(&m, key), want[i]);
        }
        rlt_map_free(&m);
        assert_int_equal(rlt_map_get(&m, 1), UINT32_MAX);
        rlt_map_remove(&m, 1);
        assert_int_equal(rlt_map_put(&m, 1, UINT32_MAX), RLT_EUSAGE); /* the mark of an empty slot */
        rlt_map_free(&m);
    }
}

static void strings(void **state)
{
    (void)state;
    rlt_strings t = {0};
    char text[32];
    assert_int_equal(rlt_intern_find(&t, "x", 1), UINT32_MAX);
    for (uint32_t i = 0; i < 50000; i++) {
        int n = snprintf(text, sizeof text, "rank.%u", i * 7);
        assert_int_equal(rlt_intern(&t, text, (size_t)n), i);
        assert_int_equal(rlt_intern(&t, text, (size_t)n), i);
    }
    for (uint32_t i = 0; i < 50000; i++) {
        int n = snprintf(text, sizeof text, "rank.%u", i * 7);
        assert_string_equal(rlt_interned(&t, i), text);
        assert_int_equal(rlt_intern_find(&t, text, (size_t)n), i);
    }
    assert_int_equal(rlt_intern_find(&t, "rank.1", 6), UINT32_MAX);
    assert_int_equal(rlt_intern(&t, "", 0), 50000);
    assert_int_equal(rlt_intern(&t, NULL, 0), 50000);
    assert_int_equal(rlt_intern(&t, "a\0b", 3), 50001); /* a NUL is a byte like others */
    assert_int_equal(rlt_intern(&t, "a", 1), 50002);
    assert_int_equal(rlt_intern(&t, "a\0c", 3), 50003);
    assert_string_equal(rlt_interned(&t, 50003), "a");
    assert_string_equal(rlt_interned(&t, UINT32_MAX), "");
    for (uint32_t i = 0; i < 2000; i++) { /* a part of its own text, across many moves of it */
        const char *whole = rlt_interned(&t, i);
        size_t n = strlen(whole);
        char copy[32];
        memcpy(copy, whole + 1, n);
        assert_string_equal(rlt_interned(&t, rlt_intern(&t, whole + 1, n - 1)), copy);
    }
    rlt_strings_free(&t);
    assert_int_equal(rlt_intern(&t, "again", 5), 0);
    rlt_strings_free(&t);
}

/* Published values: FNV-1a of "foobar" (Fowler, Noll, Vo) and splitmix64's first output from seed 0 (Vigna).
 */
static void hashes(void **state)
{
    (void)state;
    assert_true(rlt_mix64(0x9e3779b97f4a7c15u) == 0xe220a8397b1dcdafu);
    assert_true(rlt_hash_bytes("foobar", 6, 0) == rlt_mix64(0x85944171f73967e8u));
    assert_true(rlt_hash_bytes("", 0, 0) == rlt_mix64(0xcbf29ce484222325u));
    assert_true(rlt_hash_bytes("foobar", 6, 1) != rlt_hash_bytes("foobar", 6, 0));
}

/* ---- random ---- */

/* Known answers of Random123's kat_vectors for philox4x32-10. */
static void philox_known_answers(void **state)
{
    (void)state;
    static const uint32_t vectors[][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d, 0x41c83b0e,
         0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09, 0x94fdcceb,
         0x5001e420, 0x24126ea1},
    };
    for (size_t i = 0; i < N(vectors); i++) {
        uint32_t out[4];
        rlt_philox4x32(vectors[i], vectors[i] + 4, out);
        assert_memory_equal(out, vectors[i] + 6, sizeof out);
    }
}

static void streams_are_uniform_and_apart(void **state)
{
    (void)state;
    enum { DRAWS = 200000, CELLS = 64 };
    unsigned counts[CELLS] = {0}, small[7] = {0};
    double sum = 0, products = 0;
    for (uint64_t k = 0; k < DRAWS; k++) {
        double u = rlt_random_unit(42, 7, 1, k), v = rlt_random_unit(42, 8, 1, k);
        assert_true(u >= 0 && u < 1);
        counts[(unsigned)(u * CELLS)]++;
        sum += u;
        products += (u - 0.5) * (v - 0.5);
        uint64_t below = rlt_random_below(42, 7, 2, k, 7);
        assert_true(below < 7);
        small[below]++;
    }
    double chi2 = 0, chi2_small = 0;
    for (unsigned i = 0; i < CELLS; i++) {
        double off = counts[i] - (double)DRAWS / CELLS;
        chi2 += off * off / ((double)DRAWS / CELLS);
    }
    for (unsigned i = 0; i < 7; i++) {
        double off = small[i] - DRAWS / 7.0;
        chi2_small += off * off / (DRAWS / 7.0);
    }
    assert_true(chi2 < 120);      /* 63 degrees of freedom: beyond 120 once in 10^5 seeds */
    assert_true(chi2_small < 30); /* 6 degrees of freedom: beyond 30 once in 2 * 10^4 */
    /* Six standard deviations: 1/sqrt(12 n) of the mean, 1/(12 sqrt n) of the correlation. */
    assert_true(sum / DRAWS > 0.5 - 0.0039 && sum / DRAWS < 0.5 + 0.0039);
    assert_true(products / DRAWS > -0.00112 && products / DRAWS < 0.00112);
    uint64_t base = rlt_random_u64(1, 2, 3, 4);
    assert_true(base != rlt_random_u64(2, 2, 3, 4) && base != rlt_random_u64(1, 3, 3, 4));
    assert_true(base != rlt_random_u64(1, 2, 4, 4) && base != rlt_random_u64(1, 2, 3, 5));
    assert_true(base != rlt_random_u64(1 + (UINT64_C(1) << 32), 2, 3, 4));
    assert_true(base != rlt_random_u64(1, 2, 3, 4 + (UINT64_C(1) << 32)));
    assert_int_equal(rlt_random_below(1, 2, 3, 4, 1), 0);
}

int main(void)
{
#define WORLD(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queue_pops_in_order),
        cmocka_unit_test(queue_refuses_the_past),
        cmocka_unit_test(queue_survives_lack_of_room),
        cmocka_unit_test(queue_gives_memory_back),
        WORLD(classes_order_an_instant),
        WORLD(passed_classes_run_in_the_present_one),
        WORLD(cancelled_events_never_run),
        WORLD(events_cancel_their_neighbours),
        WORLD(until_leaves_the_rest_pending),
        cmocka_unit_test(wrong_events_fail_the_run),
        WORLD(the_last_moment_is_usable),
        WORLD(failures_stop_the_run),
        WORLD(handlers_are_bounded),
        WORLD(runs_do_not_nest),
        WORLD(a_stopped_run_can_go_on),
        WORLD(outsiders_stop_the_run),
        WORLD(progress_is_reported),
        cmocka_unit_test(random_programs_follow_the_reference),
        WORLD(cancelled_events_take_no_memory),
        cmocka_unit_test(arenas),
        cmocka_unit_test(growing_arrays),
        cmocka_unit_test(pools),
        cmocka_unit_test(files),
        cmocka_unit_test(pipes),
        cmocka_unit_test(maps_follow_a_plain_array),
        cmocka_unit_test(strings),
        cmocka_unit_test(hashes),
        cmocka_unit_test(philox_known_answers),
        cmocka_unit_test(streams_are_uniform_and_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
