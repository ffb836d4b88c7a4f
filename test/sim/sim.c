/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The clock and its events compared with a plain list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/queue.h"
#include "sim/sim.h"
#include "test/support/dice.h"

#define N(a) (sizeof(a) / sizeof *(a))

/* A stream of test numbers, one per call. */
enum { LOG = 4096, LIMIT = 400 };

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
    /* An event in an earlier class of the present runs now, behind those that wait in the current class. A
     * later class still runs later. */
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
    /* The slot is reused: the old handle stays invalid. */
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
    /* Events can still be scheduled between the last event and the cancelled one. */
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
    assert_false(rlt_sim_pending(c->w->sim, c->self)); /* already run */
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
    assert_int_equal(rlt_sim_run(w->sim, 5, NULL), 0); /* a limit in the past: nothing runs */
    assert_int_equal(rlt_sim_now(w->sim), 20);
    assert_true(rlt_sim_more(w->sim));
    rlt_sim_at(w->sim, 20, RLT_COMPLETE, w->handler, 'c');
    assert_int_equal(rlt_sim_run(w->sim, 29, NULL), 0);
    expect_log(w, "abc");
    assert_int_equal(rlt_sim_run(w->sim, 1000, NULL), 0);
    expect_log(w, "abcd");
    assert_int_equal(rlt_sim_now(w->sim), 30); /* nothing pending: time of the last event */
}

/* A cancelled event of a late class, the last one up to the limit, does not make its class pass. */
static void cancelled_at_the_limit(void **state)
{
    world *w = *state;
    rlt_event gone = rlt_sim_at(w->sim, 20, RLT_OBSERVE, w->handler, 'x');
    rlt_sim_at(w->sim, 30, RLT_START, w->handler, 'c');
    assert_true(rlt_sim_cancel(w->sim, gone));
    assert_int_equal(rlt_sim_run(w->sim, 20, NULL), 0);
    assert_int_equal(rlt_sim_now(w->sim), 20);
    rlt_sim_at(w->sim, 20, RLT_OBSERVE, w->handler, 'b');
    rlt_sim_at(w->sim, 20, RLT_COMPLETE, w->handler, 'a');
    assert_int_equal(run_all(w), 0);
    expect_log(w, "abc");
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
    rlt_sim_forget(w->sim, -1);
    rlt_sim_forget(w->sim, 255);
    assert_int_equal(rlt_sim_handlers(w->sim), 255);
    rlt_sim_forget(w->sim, 254);
    assert_int_equal(rlt_sim_handlers(w->sim), 254);
    rlt_sim_forget(w->sim, 0);
    assert_int_equal(rlt_sim_handlers(w->sim), 0);
    rlt_sim_post_at(w->sim, 1, RLT_START, rlt_sim_tag(0), 0);
    assert_int_equal(run_all(w), RLT_EUSAGE);
}

static void a_table_of_handlers_is_registered_up_to_the_bound(void **state)
{
    world *w = *state;
    int first = 0, second = 0, third = 0;
    const rlt_handler_entry table[] = {{record, &first}, {fails, &second}, {record, &third}};
    rlt_error err = {0};
    int before = rlt_sim_handlers(w->sim);
    assert_int_equal(rlt_sim_register(w->sim, w, table, 3, &err), 0);
    assert_int_equal(first, before);
    assert_int_equal(second, before + 1);
    assert_int_equal(third, before + 2);
    rlt_sim_at(w->sim, 1, RLT_START, third, 'a');
    assert_int_equal(run_all(w), 0);
    expect_log(w, "a");
    for (int used = before + 3; used < 253; used++)
        assert_int_equal(rlt_sim_handler(w->sim, record, w), used);
    assert_int_equal(rlt_sim_register(w->sim, w, table, 3, &err), RLT_ERANGE);
    assert_string_equal(err.what, "too many event handlers in one simulation");
    assert_int_equal(first, 253);
    assert_int_equal(second, 254);
    assert_true(third < 0);
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
    rlt_sim_stop(w->sim); /* before a run: that run does not start */
    assert_int_equal(run_all(w), RLT_ECANCELLED);
    expect_log(w, "a");
    assert_int_equal(run_all(w), 0);
    expect_log(w, "ab");
}

static rlt_sim *interrupted;

static void on_signal(int number)
{
    (void)number;
    rlt_sim_stop(interrupted);
}

static void *stop_from_a_thread(void *unused)
{
    rlt_sim_stop(interrupted);
    return unused;
}

/* Ticks for ever. Each third tick does not return before an outsider has asked the run to stop: a signal and a
 * thread in turn. */
static void ticks(void *ctx, uint64_t payload)
{
    world *w = ctx;
    pthread_t thread;
    rlt_sim_at(w->sim, rlt_sim_now(w->sim) + 1, RLT_START, (int)payload, payload);
    w->n++;
    if (w->n % 6 == 0) {
        raise(SIGALRM);
    } else if (w->n % 3 == 0) {
        assert_int_equal(pthread_create(&thread, NULL, stop_from_a_thread, NULL), 0);
        pthread_join(thread, NULL);
    }
}

/* A signal or another thread ends an endless run after the event that it comes in. The run can go on. */
static void outsiders_stop_the_run(void **state)
{
    world *w = *state;
    int h = rlt_sim_handler(w->sim, ticks, w);
    rlt_sim_at(w->sim, 1, RLT_START, h, (uint64_t)h);
    interrupted = w->sim;
    signal(SIGALRM, on_signal);
    for (uint64_t i = 1; i <= 4; i++) {
        assert_int_equal(run_all(w), RLT_ECANCELLED);
        assert_int_equal(rlt_sim_events(w->sim), 3 * i);
    }
    signal(SIGALRM, SIG_DFL);
}

static void stands_for_three(void *ctx, uint64_t payload)
{
    world *w = ctx;
    (void)payload;
    rlt_sim_also(w->sim);
    rlt_sim_also(w->sim);
}

/* Sharing of events relies on this: scheduling any kind of event changes the counter, and nothing else
 * does. */
static void what_is_scheduled_shows(void **state)
{
    world *w = *state;
    int h = rlt_sim_handler(w->sim, stands_for_three, w);
    uint64_t before = rlt_sim_scheduled(w->sim);
    assert_true(before > 0);
    rlt_sim_post(w->sim, 5, RLT_COMPLETE, h, 0);
    assert_true(rlt_sim_scheduled(w->sim) > before);
    before = rlt_sim_scheduled(w->sim);
    rlt_event ev = rlt_sim_at(w->sim, 5, RLT_COMPLETE, h, 0);
    assert_true(rlt_sim_scheduled(w->sim) > before);
    before = rlt_sim_scheduled(w->sim);
    rlt_sim_cancel(w->sim, ev);
    assert_int_equal(run_all(w), 0);
    assert_int_equal(rlt_sim_scheduled(w->sim), before);
    assert_int_equal(rlt_sim_events(w->sim), 3);
}

static void count_progress(void *ctx, const rlt_sim *sim)
{
    uint64_t *calls = ctx;
    ++*calls;
    assert_int_equal(rlt_sim_events(sim), *calls * 10);
}

static void count_later_progress(void *ctx, const rlt_sim *sim)
{
    uint64_t *calls = ctx;
    ++*calls;
    assert_int_equal(rlt_sim_events(sim), 125 + *calls * 150);
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
    /* more than the 125 events before, which do not count */
    calls = 0;
    rlt_sim_on_progress(w->sim, 150, count_later_progress, &calls);
    for (int i = 0; i < 310; i++)
        rlt_sim_at(w->sim, 300, RLT_START, w->handler, 0);
    assert_int_equal(run_all(w), 0);
    assert_int_equal(calls, 2);
}

/* A random program: each event schedules and cancels others. */
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
            if (seed % 2) /* in slices; a slice leaves the key of its last instant */
                until += (rlt_time)roll(&m.d, 1000);
            assert_int_equal(rlt_sim_run(m.w->sim, seed % 2 ? until : RLT_TIME_MAX, NULL), 0);
            if (rlt_sim_now(m.w->sim) > (rlt_time)(m.key / 4))
                m.key = (uint64_t)rlt_sim_now(m.w->sim) * 4;
        }
        assert_int_equal(m.n, 0);
        tear_down(&fresh);
    }
}

/* The most memory since this program began: getrusage() also knows that of the program before exec. */
static long peak_rss_KiB(void)
{
    char line[128];
    long KiB = 0;
    FILE *f = fopen("/proc/self/status", "r");
    assert_non_null(f);
    while (!KiB && fgets(line, sizeof line, f))
        if (strncmp(line, "VmHWM:", 6) == 0)
            KiB = strtol(line + 6, NULL, 10);
    fclose(f);
    assert_true(KiB > 0);
    return KiB;
}

/* Four million timers, each set far ahead and cancelled. If their entries were kept, they would take 64
 * MB. */
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

enum { PLACED = 300 };

/* Payload of a placed event: handler, place, rank, and the place in the order of scheduling. */
static uint32_t rank_of(void *ctx, uint32_t payload)
{
    (void)ctx;
    return payload >> 12 & 15;
}

/* At one instant, events of one place run by handler, rank, scheduling; cancellable ones run first. */
static void places_order_an_instant(void **state)
{
    world *w = *state;
    dice d = {.seed = 7};
    int other = rlt_sim_handler(w->sim, record, w);
    rlt_sim_ranks(w->sim, w->handler, rank_of);
    rlt_sim_ranks(w->sim, other, rank_of);
    assert_int_equal(rlt_sim_places(w->sim, 37), 0);
    for (int round = 0; round < 200; round++) {
        rlt_time t = rlt_sim_now(w->sim) + 1;
        uint32_t n = (uint32_t)roll(&d, PLACED), places = 1 + (uint32_t)roll(&d, 300);
        uint64_t last[300] = {0};
        rlt_event gone = rlt_sim_at(w->sim, t, RLT_COMPLETE, w->handler, 0);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t place = (uint32_t)roll(&d, places), second = (uint32_t)roll(&d, 2);
            uint32_t payload = second << 30 | place << 16 | (uint32_t)roll(&d, 3) << 12 | i;
            rlt_sim_post_at(w->sim, t, RLT_COMPLETE,
                            rlt_tag_at(rlt_sim_tag(second ? other : w->handler), place), payload);
        }
        rlt_sim_at(w->sim, t, RLT_COMPLETE, w->handler, UINT64_MAX);
        rlt_sim_cancel(w->sim, gone);
        w->n = 0;
        assert_int_equal(run_all(w), 0);
        assert_int_equal(w->n, n + 1);
        for (uint32_t k = 0; k < w->n; k++) {
            uint64_t place = w->log[k] >> 16 & 0x3fff;
            if (w->log[k] == UINT64_MAX)
                continue;
            assert_true(w->at[k] == t && (w->log[k] | 1u << 31) > last[place]);
            last[place] = w->log[k] | 1u << 31;
        }
    }
    rlt_sim_post_at(w->sim, RLT_S, RLT_COMPLETE, rlt_sim_tag(other + 1), 0);
    assert_int_equal(run_all(w), RLT_EUSAGE);
}

int main(void)
{
#define WORLD(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WORLD(what_is_scheduled_shows),
        WORLD(classes_order_an_instant),
        WORLD(passed_classes_run_in_the_present_one),
        WORLD(cancelled_events_never_run),
        WORLD(events_cancel_their_neighbours),
        WORLD(until_leaves_the_rest_pending),
        WORLD(cancelled_at_the_limit),
        cmocka_unit_test(wrong_events_fail_the_run),
        WORLD(the_last_moment_is_usable),
        WORLD(failures_stop_the_run),
        WORLD(handlers_are_bounded),
        WORLD(a_table_of_handlers_is_registered_up_to_the_bound),
        WORLD(runs_do_not_nest),
        WORLD(a_stopped_run_can_go_on),
        WORLD(outsiders_stop_the_run),
        WORLD(progress_is_reported),
        cmocka_unit_test(random_programs_follow_the_reference),
        WORLD(cancelled_events_take_no_memory),
        WORLD(places_order_an_instant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
